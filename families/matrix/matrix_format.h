/* matrix_format.h - products of matrices: what a launch says.  Plain data.
 *
 * c[s, i, j] = sum over k of a[s, i, k] b[s, k, j], of as many slices s as there are; with ADDS c's own number is what
 * the sum begins with, else 0.  Steps say where the next slice, row or column is, so that a transposed matrix is one
 * with other steps, and one matrix of many slices has a step of 0.  With CONJUGATE a counts conjugated.
 *
 * A sum is a double, to which one product after the other is added in the order of k, each with one rounding (fused);
 * the last one is rounded to c's type.  Of complex numbers the real part adds Re a Re b and then -Im a Im b, the
 * imaginary one Im a Re b and then Re a Im b.  So bits depend on the numbers alone.
 */
#ifndef HCY_MATRIX_FORMAT_H
#define HCY_MATRIX_FORMAT_H

#include <stdint.h>

enum { HCY_MATRIX_CONJUGATE = 1, HCY_MATRIX_ADDS = 2 };

typedef struct hcy_matrix_job {
    uint32_t bytes, parts;                  /* 4 or 8 of a real; 2 reals of a complex number, else 1 */
    uint32_t flags, unused;
    uint64_t slices, rows, depth, columns;  /* 1 to 2^31 - 1 each */
    int64_t a, b, c;                        /* places of the first numbers, in numbers, as steps are */
    int64_t a_steps[3];                     /* to the next slice, row, k */
    int64_t b_steps[3];                     /* slice, k, column */
    int64_t c_steps[3];                     /* slice, row, column */
} hcy_matrix_job;

/* The longest row of a that matrix_twice takes: some rows of it stay in a core's cache until they were used twice. */
enum { HCY_MATRIX_TWICE_BYTES = 1 << 15 };

/* q = a p, g = a^T m, s = a^T (by q), with the bits that hcy_eval() has for q = sum(a * p, axis=1), and for
 * g = sum(a * m, axis=0) of m as a column, and s of q as it was written times a number of the same type: a product is
 * rounded to that, and sums follow the tree of eval_format.h. */
typedef struct hcy_matrix_twice_job {
    uint32_t bytes, unused;        /* 4 or 8 of a number */
    uint64_t rows, columns;        /* 1 to 2^31 - 1 each */
    int64_t step;                  /* from a row of a to the next, in numbers, as places are; columns or more */
    int64_t a, p, m, q, g, s, by;  /* places of the first numbers; by's in doubles */
} hcy_matrix_twice_job;

#endif
