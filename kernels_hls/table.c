/* table.c - which kernels a library of compiled FPGA kernels has: the virtual board and mkxclbin look for this. */
#include "args.h"

#define KERNELS K(bslz4_decode) K(azint_image) K(bslz4_azint)

#define K(name) void name##_run(unsigned char *memory, const uint64_t *args);
KERNELS
#undef K

#define K(name) { #name, name##_run },
__attribute__((visibility("default"))) const hcy_hls_kernel hcy_hls_kernels[] = { KERNELS{ NULL, NULL } };
