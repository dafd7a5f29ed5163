/* azint_filter_avx512.c - azint_filter's loops for AVX-512. */
#include "azint_filter_loops.h"

const struct filter_ops filter_ops_avx512 = FILTER_OPS;
