# Several processes on one problem: communicators, arrays that are dealt out.
AM_CPPFLAGS += -I$(srcdir)/src/dist
libcore_la_SOURCES += hal/transport.h src/dist/dist_priv.h src/dist/transports.c src/dist/dist_threads.h src/dist/dist_threads.c src/dist/dist_meetings.c src/dist/dist_run.c src/dist/dist.c src/dist/dist_device.c src/dist/dist_timer.c \
    src/dist/collectives.c src/dist/exchange.c src/dist/layout.c src/dist/dist_sum.h src/dist/dist_sum.c src/dist/dist_norms.c src/dist/move.c src/dist/dist_operator.c \
    src/dist/halo.c src/dist/dist_overlap.c src/dist/dist_differences.c src/dist/dist_files.c src/dist/dist_read.c \
    src/dist/dist_nufft.c src/dist/dist_transpose.c src/dist/dist_fft.c src/dist/dist_dealt.c \
    src/dist/dist_matrix.c src/dist/dist_convolve.c
halcyoninclude_HEADERS += src/dist/halcyon/dist.h
dist_man_MANS += doc/halcyon_dist.3
