# Linear operators, and what solves equations of them.
AM_CPPFLAGS += -I$(srcdir)/src/solve
libcore_la_SOURCES += families/stencil/stencil_format.h families/stencil/stencil_rows.h families/stencil/stencil_job.h families/stencil/stencil_arguments.h \
    families/stencil/kernels.def families/matrix/matrix_format.h families/matrix/matrix_job.h families/matrix/kernels.def \
    src/solve/multiply.h src/solve/multiply.c src/solve/differences.h src/solve/differences.c src/solve/operator_priv.h \
    src/solve/operator.c src/solve/algebra.c src/solve/vectors.h \
    src/solve/vectors.c src/solve/stack_space.c src/solve/dot_test.c src/solve/blocks.c src/solve/matrix.c src/solve/stencil.c src/solve/wavelet.c src/solve/transform.c src/solve/transform_real.c \
    src/solve/sparse.c \
    src/solve/solve_priv.h src/solve/solver.c src/solve/cg.c src/solve/lsqr.c src/solve/bicgstab.c src/solve/fista.c src/solve/power.c \
    src/solve/proximal_priv.h src/solve/proximal.c src/solve/terms.c src/solve/tgv.c src/solve/low_rank.c src/solve/primal_dual.c src/solve/admm.c src/solve/misfit.c \
    src/solve/coils.h src/solve/coils.c src/solve/sense.c src/solve/stacked.c src/solve/subspace.c src/solve/toeplitz.c src/solve/grams.h src/solve/grams.c \
    src/solve/hermitian.h src/solve/hermitian.c src/solve/coil_maps_priv.h src/solve/coil_maps.c src/solve/espirit.c src/solve/segments.h src/solve/segments.c \
    src/solve/off_resonance.c src/solve/mixed.h src/solve/mixed.c src/solve/toeplitz_field.c src/solve/toeplitz_subspace.c \
    src/solve/trajectory_priv.h src/solve/trajectory.c src/solve/trajectory_fit.h src/solve/trajectory_fit.c src/solve/trajectory_find.c \
    src/solve/trajectory_filter.c
halcyoninclude_HEADERS += src/solve/halcyon/operator.h src/solve/halcyon/solve.h src/solve/halcyon/coil_maps.h \
    src/solve/halcyon/proximal.h src/solve/halcyon/trajectory.h
dist_man_MANS += doc/halcyon_operator.3 doc/halcyon_solve.3 doc/halcyon_coil_maps.3 doc/halcyon_proximal.3 doc/halcyon_trajectory.3
