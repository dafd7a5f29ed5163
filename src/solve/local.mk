# Linear operators, and what solves equations of them.
AM_CPPFLAGS += -I$(srcdir)/src/solve
libcore_la_SOURCES += families/stencil/stencil_format.h families/stencil/stencil_rows.h families/stencil/stencil_job.h \
    families/stencil/kernels.def src/solve/differences.h src/solve/differences.c src/solve/operator_priv.h src/solve/operator.c src/solve/algebra.c src/solve/vectors.h \
    src/solve/vectors.c src/solve/dot_test.c src/solve/blocks.c src/solve/matrix.c src/solve/stencil.c src/solve/transform.c \
    src/solve/solve_priv.h src/solve/solver.c src/solve/cg.c src/solve/lsqr.c src/solve/bicgstab.c src/solve/fista.c src/solve/power.c
halcyoninclude_HEADERS += src/solve/halcyon/operator.h src/solve/halcyon/solve.h
dist_man_MANS += doc/halcyon_operator.3 doc/halcyon_solve.3
