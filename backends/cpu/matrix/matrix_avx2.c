/* matrix_avx2.c - products of matrices with AVX2 and FMA: 12 of 16 registers are sums. */
#include <immintrin.h>

#define LOOPS        cpu_matrix_avx2
#define ROWS         6
#define VECTORS      2
#define LANES        4
#define VECTOR       __m256d
#define LOAD(p)      _mm256_loadu_pd(p)
#define STORE(p, x)  _mm256_storeu_pd((p), (x))
#define SPREAD(x)    _mm256_set1_pd(x)
#define ADD(s, a, b) _mm256_fmadd_pd((a), (b), (s))
#include "matrix_loops.h"
