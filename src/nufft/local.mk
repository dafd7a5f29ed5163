# Non-uniform FFTs: the window, sizes, plans.
libcore_la_SOURCES += families/nufft/nufft_format.h families/nufft/nufft_arguments.h families/nufft/kernels.def src/nufft/nufft_priv.h src/nufft/window.h \
    src/nufft/window.c src/nufft/choose.c src/nufft/interface.c src/nufft/points.c src/nufft/grid.c src/nufft/each.c src/nufft/type3.c \
    src/nufft/finufft.c src/nufft/stages.c src/nufft/many_devices.c src/nufft/destroyed.c src/nufft/direct.c src/nufft/out_of_core.c src/nufft/density.c src/nufft/voronoi.h src/nufft/voronoi.c
halcyoninclude_HEADERS += src/nufft/halcyon/nufft.h src/nufft/halcyon/finufft.h src/nufft/halcyon/density.h
dist_man_MANS += doc/halcyon_nufft.3 doc/halcyon_finufft.3 doc/halcyon_density.3
