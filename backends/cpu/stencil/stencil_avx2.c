/* stencil_avx2.c - the loops of sums of neighbours, compiled for AVX2. */
#define LOOPS cpu_stencil_avx2
#include "stencil_loops.h"
