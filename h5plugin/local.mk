# HDF5 filter plugins, for any HDF5 program: they need neither libhalcyon nor HDF5 to be linked.
EXTRA_DIST += h5plugin/README.md
if SHARED
h5plugindir = $(libdir)/hdf5/plugin
h5plugin_LTLIBRARIES = libh5halcyon.la libh5halcyon_lz4.la
h5plugin_sources = h5plugin/host.h h5plugin/host.c h5plugin/codec.h h5plugin/codec.c \
    h5plugin/filters.c src/bslz4/table.c src/bslz4/walk.c src/bslz4/encode.c hal/status.c hal/object.c
h5plugin_ldflags = $(HCY_LDFLAGS) -module -avoid-version -shared -no-undefined $(HCY_NO_UNDEFINED) \
    -export-symbols-regex '^H5PLget_plugin_(type|info)$$'
libh5halcyon_la_CPPFLAGS = $(AM_CPPFLAGS) $(ZSTD_CFLAGS) -DHCY_H5_FILTER=32008
libh5halcyon_la_LDFLAGS = $(h5plugin_ldflags)
libh5halcyon_la_LIBADD = libcpu_block.la $(LZ4_LIBS) $(ZSTD_LIBS)
libh5halcyon_la_SOURCES = $(h5plugin_sources)
libh5halcyon_lz4_la_CPPFLAGS = $(AM_CPPFLAGS) $(ZSTD_CFLAGS) -DHCY_H5_FILTER=32004
libh5halcyon_lz4_la_LDFLAGS = $(h5plugin_ldflags)
libh5halcyon_lz4_la_LIBADD = $(libh5halcyon_la_LIBADD)
libh5halcyon_lz4_la_SOURCES = $(h5plugin_sources)
endif
