# Arrays on devices: views of buffers.
AM_CPPFLAGS += -I$(srcdir)/src/array
libcore_la_SOURCES += src/array/array_priv.h src/array/array.c src/array/views.c src/array/slice.c src/array/transfer.c \
    src/array/array_files.c src/array/dlpack.c \
    src/array/pick.h src/array/pick.c src/array/order.c src/array/join.c src/array/histogram.c
halcyoninclude_HEADERS += src/array/halcyon/array.h
dist_man_MANS += doc/halcyon_array.3
