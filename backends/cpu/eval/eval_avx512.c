/* eval_avx512.c - the loops of expressions, compiled for AVX-512. */
#define LOOPS cpu_eval_avx512
#include "eval_loops.h"
