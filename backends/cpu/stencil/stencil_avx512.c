/* stencil_avx512.c - the loops of sums of neighbours, compiled for AVX-512. */
#define LOOPS cpu_stencil_avx512
#include "stencil_loops.h"
