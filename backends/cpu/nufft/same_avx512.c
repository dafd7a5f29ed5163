/* same_avx512.c - points of non-uniform FFTs with the same bits everywhere, with AVX-512. */
#include "cpu_nufft.h"

#define VECTOR 64
#include "same_variant.h"

const struct nufft_ops nufft_same_avx512[2] = { SAME_OPS(f32, 4), SAME_OPS(f64, 8) };
