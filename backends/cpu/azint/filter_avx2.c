/* filter_avx2.c - azint_filter's loops for AVX2. */
#include "filter_loops.h"

const struct filter_ops filter_ops_avx2 = FILTER_OPS;
