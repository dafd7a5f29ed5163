# The family nufft: its folders.
AM_CPPFLAGS += -I$(srcdir)/families/nufft -I$(srcdir)/src/nufft
include $(srcdir)/src/nufft/local.mk
include $(srcdir)/backends/cpu/nufft/local.mk
include $(srcdir)/backends/gpu/nufft/local.mk
