# Decoding on FPGA cards.
EXTRA_DIST += kernels_hls/bslz4/bslz4_engine.h kernels_hls/bslz4/bslz4_parse.h kernels_hls/bslz4/bslz4.cpp
if HAVE_CXX
libhls_la_SOURCES += kernels_hls/bslz4/bslz4.cpp
endif
