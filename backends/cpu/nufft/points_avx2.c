/* points_avx2.c - points of non-uniform FFTs with AVX2. */
#include "cpu_nufft.h"

#define VECTOR 32
#include "variant.h"

const struct nufft_ops nufft_ops_avx2[2] = { OPS(f32, 4), OPS(f64, 8) };
