# The FPGA kernels, as the host's compiler makes them, and the table of their arguments.
EXTRA_DIST += kernels_hls/call.h
noinst_LTLIBRARIES += libhls_args.la
libhls_args_la_SOURCES = kernels_hls/args.c kernels_hls/args.h
