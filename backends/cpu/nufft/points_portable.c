/* points_portable.c - points of non-uniform FFTs with 16-byte vectors, which every compiler turns into what
 * there is. */
#include "cpu_nufft.h"

#define VECTOR 16
#include "variant.h"

const struct nufft_ops nufft_ops_portable[2] = { OPS(f32, 4), OPS(f64, 8) };
