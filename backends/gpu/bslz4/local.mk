# Decoding on GPUs.
gpu_kernel_tables += bslz4
libgpu_la_SOURCES += backends/gpu/bslz4/gpu_bslz4.c
gpu_cl += families/bslz4/bslz4_format.h backends/gpu/bslz4/blocks.cl backends/gpu/bslz4/decode.cl \
    backends/gpu/bslz4/decode_rest.cl backends/gpu/bslz4/decode_fast.cl backends/gpu/bslz4/fast.cl \
    backends/gpu/bslz4/parse_lanes.cl backends/gpu/bslz4/rest.cl
gpu_texts += decode:bslz4/decode_rest.cl decode_fast:bslz4/decode_fast.cl
