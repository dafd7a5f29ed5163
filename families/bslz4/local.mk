# The family bslz4: its folders.
AM_CPPFLAGS += -I$(srcdir)/families/bslz4 -I$(srcdir)/src/bslz4
nobase_backend_DATA += families/bslz4/kernels.def families/bslz4/bslz4_format.h
include $(srcdir)/src/bslz4/local.mk
include $(srcdir)/backends/cpu/bslz4/local.mk
include $(srcdir)/backends/gpu/bslz4/local.mk
include $(srcdir)/kernels_hls/bslz4/local.mk
