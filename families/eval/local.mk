# The family eval: its folders.
AM_CPPFLAGS += -I$(srcdir)/families/eval -I$(srcdir)/src/eval
nobase_backend_DATA += families/eval/kernels.def families/eval/eval_format.h
include $(srcdir)/src/eval/local.mk
include $(srcdir)/backends/cpu/eval/local.mk
include $(srcdir)/backends/gpu/eval/local.mk
