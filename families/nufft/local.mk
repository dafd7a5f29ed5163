# The family nufft: its folders.
AM_CPPFLAGS += -I$(srcdir)/families/nufft -I$(srcdir)/src/nufft
nobase_backend_DATA += families/nufft/kernels.def families/nufft/nufft_format.h
include $(srcdir)/src/nufft/local.mk
include $(srcdir)/backends/cpu/nufft/local.mk
include $(srcdir)/backends/gpu/nufft/local.mk
