# Azimuthal integration on FPGA cards, and what the host makes of a plan for it.
libhls_plan_la_SOURCES += kernels_hls/azint/plan.c kernels_hls/azint/plan.h
EXTRA_DIST += kernels_hls/azint/azint_engine.h kernels_hls/azint/azint_feed.h kernels_hls/azint/azint.cpp
if HAVE_CXX
libhls_la_SOURCES += kernels_hls/azint/azint.cpp
endif
