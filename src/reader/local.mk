# halcyon-h5-reader: HDF5 in a process of its own.  It has the library's objects, those that it needs, and no backends.
if HAVE_HDF5
pkglibexec_PROGRAMS += halcyon-h5-reader
halcyon_h5_reader_SOURCES = src/reader/reader.c src/reader/sandbox.h src/reader/sandbox.c backends/no_static.c
halcyon_h5_reader_CPPFLAGS = $(AM_CPPFLAGS)
if SANITIZER
halcyon_h5_reader_CPPFLAGS += -DHCY_SANITIZED
endif
halcyon_h5_reader_LDFLAGS = $(HCY_LDFLAGS)
halcyon_h5_reader_LDADD = libcore.la
endif
