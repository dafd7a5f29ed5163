/* same_avx2.c - points of non-uniform FFTs with the same bits everywhere, with AVX2. */
#include "cpu_nufft.h"

#define VECTOR 32
#include "same_variant.h"

const struct nufft_ops nufft_same_avx2[2] = { SAME_OPS(f32, 4), SAME_OPS(f64, 8) };
