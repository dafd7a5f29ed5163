# The family azint: its folders.
AM_CPPFLAGS += -I$(srcdir)/families/azint -I$(srcdir)/src/azint
nobase_backend_DATA += families/azint/kernels.def families/azint/azint_format.h
include $(srcdir)/src/azint/local.mk
include $(srcdir)/backends/cpu/azint/local.mk
include $(srcdir)/backends/gpu/azint/local.mk
include $(srcdir)/kernels_hls/azint/local.mk
