# The family eval: its folders.
AM_CPPFLAGS += -I$(srcdir)/families/eval -I$(srcdir)/src/eval
include $(srcdir)/src/eval/local.mk
include $(srcdir)/backends/cpu/eval/local.mk
include $(srcdir)/backends/gpu/eval/local.mk
