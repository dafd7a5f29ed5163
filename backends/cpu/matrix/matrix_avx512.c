/* matrix_avx512.c - products of matrices with AVX-512: 24 of 32 registers are sums. */
#include <immintrin.h>

#define LOOPS        cpu_matrix_avx512
#define ROWS         12
#define VECTORS      2
#define LANES        8
#define VECTOR       __m512d
#define LOAD(p)      _mm512_loadu_pd(p)
#define STORE(p, x)  _mm512_storeu_pd((p), (x))
#define SPREAD(x)    _mm512_set1_pd(x)
#define ADD(s, a, b) _mm512_fmadd_pd((a), (b), (s))
#include "matrix_loops.h"
