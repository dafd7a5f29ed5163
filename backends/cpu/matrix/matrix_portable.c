/* matrix_portable.c - products of matrices for any processor.  Products of floats are whole in a double, so that a
 * rounding more changes nothing; those of doubles ask the C library for one rounding. */
#include <math.h>

#define LOOPS        cpu_matrix_portable
#define ROWS         4
#define VECTORS      4
#define LANES        1
#define VECTOR       double
#define LOAD(p)      (*(p))
#define STORE(p, x)  (*(p) = (x))
#define SPREAD(x)    (x)
#define ADD(s, a, b) (IS_WHOLE ? (s) + (a) * (b) : fma((a), (b), (s)))
#include "matrix_loops.h"
