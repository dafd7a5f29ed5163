# The FPGA kernels, as the host's compiler makes them, and the table of their arguments.
EXTRA_DIST += kernels_hls/call.h
# For v++, which this build does not call.
EXTRA_DIST += kernels_hls/Makefile kernels_hls/link.cfg kernels_hls/link.sh kernels_hls/kernels.tbl kernels_hls/platforms.tbl kernels_hls/report.sh \
    kernels_hls/lint.awk
noinst_LTLIBRARIES += libhls_args.la
libhls_args_la_SOURCES = kernels_hls/args.c kernels_hls/args.h

# What the host makes of a plan, and the model of the design.
noinst_LTLIBRARIES += libhls_plan.la
libhls_plan_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/kernels_hls
libhls_plan_la_SOURCES = kernels_hls/design.h kernels_hls/model.c kernels_hls/model.h

# The kernels themselves, each family's in its folder, where there is a C++ compiler; sim/ stands for what v++ has.
EXTRA_DIST += kernels_hls/sim/hls_stream.h kernels_hls/hls_common.h kernels_hls/hls_numbers.h
hls_cppflags = -I$(srcdir)/kernels_hls/sim -I$(srcdir)/kernels_hls $(AM_CPPFLAGS) $(HLS_CPPFLAGS)
if HAVE_CXX
noinst_LTLIBRARIES += libhls.la
libhls_la_CPPFLAGS = $(hls_cppflags)
libhls_la_CXXFLAGS = $(HCY_CXXFLAGS)
libhls_la_SOURCES =
endif
