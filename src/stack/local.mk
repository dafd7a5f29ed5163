# HDF5 in, HDF5 and text out.  What needs HDF5 stands inside the condition.
halcyoninclude_HEADERS += src/stack/halcyon/stack.h src/stack/halcyon/host_array.h
libcore_la_SOURCES += src/stack/stack_priv.h src/stack/pixel.c src/stack/npy.h src/stack/npy.c src/stack/npz.h src/stack/npz.c src/stack/host_array.h src/stack/host_array.c src/stack/stack.c src/stack/uncached.c src/stack/guard.c src/stack/image.c src/stack/numbered.c \
    src/stack/files.h src/stack/list.c src/stack/files.c src/stack/bytes.c src/stack/edf.c src/stack/cbf.c src/stack/fit2d_mask.c src/stack/tiff.c \
    src/stack/writer.h src/stack/writer.c src/stack/npy_writer.c src/stack/image_writer.c src/stack/suffix.c src/stack/host_array_npz.c src/stack/cfl.c src/stack/nifti.c \
    src/stack/curves_priv.h src/stack/curves.c src/stack/curves_dat.c \
    src/stack/curves_edf.c src/stack/numbers.c src/stack/curves_config.c src/stack/config_file.h src/stack/config_read.c src/stack/config_options.c src/stack/config_old.c src/stack/config_old.h \
    src/stack/sparse_file.c src/stack/results.h src/stack/results.c src/stack/results_edf.c src/stack/results_text.c
libcore_la_SOURCES += src/stack/isolate.h src/stack/isolate.c src/stack/packet.h
libcore_la_SOURCES += src/stack/shard.c src/stack/detector_info.c src/stack/corrections.h src/stack/corrections.c
# Products must not be fused with sums: the same bits everywhere.
noinst_LTLIBRARIES += libraw.la
libcore_la_LIBADD += libraw.la
libraw_la_CFLAGS = $(AM_CFLAGS) $(HCY_NO_CONTRACT) $(HCY_VECTORIZE)
libraw_la_SOURCES = src/stack/raw.c src/stack/spline.h src/stack/spline.c
if HAVE_HDF5
libcore_la_SOURCES += src/stack/h5_detector.h src/stack/h5_detector.c src/stack/h5_axes.c src/stack/h5_corrections.c
libcore_la_SOURCES += src/stack/h5.h src/stack/h5.c src/stack/h5_find.c src/stack/h5_visit.h src/stack/h5_visit.c src/stack/h5_driver.h src/stack/h5_driver.c \
    src/stack/h5_layout.h src/stack/h5_layout.c src/stack/h5_stack.c src/stack/h5_virtual.h src/stack/h5_virtual.c src/stack/h5_file.h src/stack/h5_file.c src/stack/h5_writer.c \
    src/stack/curves_h5.h src/stack/curves_h5.c src/stack/curves_h5_head.c src/stack/curves_h5_azint.c \
    src/stack/h5_read.h src/stack/h5_read.c src/stack/h5_read_files.c src/stack/results_h5.c \
    src/stack/host_array_h5.c src/stack/h5_mrd.h src/stack/h5_mrd.c src/stack/h5_mrd_record.h src/stack/h5_mrd_record.c \
    src/stack/h5_mrd_grid.c src/stack/h5_mrd_epi.c src/stack/h5_mrd_image.c \
    src/stack/h5_shard.h src/stack/h5_shard.c src/stack/h5_merge.c src/stack/sparse_merge.c \
    src/stack/packet.c src/stack/isolated.c src/stack/h5_try.c src/stack/isolated_stack.c src/stack/isolated_results.c
endif
if HAVE_ZSTD
libcore_la_SOURCES += src/stack/zstd.c
endif
