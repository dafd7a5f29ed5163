/* same_portable.c - points of non-uniform FFTs with the same bits everywhere, with 16-byte vectors, which every
 * compiler turns into what there is. */
#include "cpu_nufft.h"

#define VECTOR 16
#include "same_variant.h"

const struct nufft_ops nufft_same_portable[2] = { SAME_OPS(f32, 4), SAME_OPS(f64, 8) };
