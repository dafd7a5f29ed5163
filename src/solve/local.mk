# Linear operators, and what solves equations of them.
AM_CPPFLAGS += -I$(srcdir)/src/solve
libcore_la_SOURCES += src/solve/operator_priv.h src/solve/operator.c src/solve/algebra.c src/solve/vectors.h \
    src/solve/vectors.c src/solve/dot_test.c src/solve/blocks.c src/solve/matrix.c src/solve/stencil.c src/solve/transform.c
halcyoninclude_HEADERS += src/solve/halcyon/operator.h
dist_man_MANS += doc/halcyon_operator.3
