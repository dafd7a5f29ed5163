/* no_ptx.c - the table of a module without PTX: an empty one. */
#include "embedded.h"

const struct cuda_ptx cuda_ptx[] = { { 0, 0, NULL, 0, 0 } };
const char *const cuda_ptx_kernels[] = { NULL };
