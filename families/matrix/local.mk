# The family matrix: its folders.  Its host side is part of the operators (src/solve/multiply.c).
AM_CPPFLAGS += -I$(srcdir)/families/matrix
nobase_backend_DATA += families/matrix/kernels.def families/matrix/matrix_format.h
include $(srcdir)/backends/cpu/matrix/local.mk
include $(srcdir)/backends/gpu/matrix/local.mk
