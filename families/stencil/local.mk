# The family stencil: its folders.  Its host side is part of the operators (src/solve/stencil.c).
AM_CPPFLAGS += -I$(srcdir)/families/stencil
nobase_backend_DATA += families/stencil/kernels.def families/stencil/stencil_format.h
include $(srcdir)/backends/cpu/stencil/local.mk
include $(srcdir)/backends/gpu/stencil/local.mk
