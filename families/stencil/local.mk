# The family stencil: its folders.  Its host side is part of the operators (src/solve/stencil.c).
AM_CPPFLAGS += -I$(srcdir)/families/stencil
include $(srcdir)/backends/cpu/stencil/local.mk
include $(srcdir)/backends/gpu/stencil/local.mk
