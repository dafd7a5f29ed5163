/* eval_avx2.c - the loops of expressions, compiled for AVX2. */
#define LOOPS cpu_eval_avx2
#include "eval_loops.h"
