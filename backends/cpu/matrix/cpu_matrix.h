/* cpu_matrix.h - products of matrices on the CPU: the loops that each SIMD variant has. */
#ifndef HCY_CPU_MATRIX_H
#define HCY_CPU_MATRIX_H

#include "cpu_priv.h"

#include "matrix_format.h"

/* Of a, in numbers of k, and of a and b: what a thread has at hand, as doubles, in a core's own cache.  Blocks are
 * multiples of each variant's tiles, and of 2, for parts of complex numbers. */
enum { CPU_MATRIX_DEPTH = 256, CPU_MATRIX_ROWS = 96, CPU_MATRIX_COLUMNS = 192 };
/* From a row of a's block to the next: lines of several rows are in different sets of a cache. */
enum { CPU_MATRIX_PITCH = CPU_MATRIX_DEPTH + 8 };

/* Numbers of two axes; places are in the numbers' own. */
struct cpu_matrix_view {
    void *at;
    ptrdiff_t outer, inner;
};
/* to = factor * from, n_outer x n_inner numbers; one side is doubles, the other reals of the matrices.  Factors are 1
 * and -1. */
typedef void cpu_matrix_copy(struct cpu_matrix_view to, struct cpu_matrix_view from, size_t n_outer, size_t n_inner,
                             double factor);
struct cpu_matrix_loops {
    size_t rows, columns; /* of a tile */
    /* c[i][j], lines `pitch` apart, += sum over k of a[i][k] b[k][j], in the order of k; rows of a are
     * CPU_MATRIX_PITCH apart, b stands as it is read. */
    void (*tile)(double *c, size_t pitch, const double *a, const double *b, size_t depth, bool is_whole);
    struct {
        cpu_matrix_copy *in, *out;
    } f32, f64;
};
extern const struct cpu_matrix_loops cpu_matrix_portable, cpu_matrix_avx2, cpu_matrix_avx512;

#endif
