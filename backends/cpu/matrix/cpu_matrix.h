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
/* Rows that are used twice before others come: a lane of a sum's piece (eval_format.h). */
enum { CPU_TWICE_ROWS = 8 };
/* matrix_twice, of one type. */
struct cpu_twice_loops {
    /* *q = the sum of a[j] p[j] as hcy_eval() has it, n up to HCY_MATRIX_TWICE_BYTES. */
    void (*dot)(void *q, const void *a, const void *p, size_t n);
    /* g[j] = the sum over `n` rows, up to CPU_TWICE_ROWS, of rows[i][j] times m at i * apart, one after the other;
     * s[j] of those times `by` q. */
    void (*spread)(double *g, double *s, const void *const *rows, size_t n, const void *m, const void *q, size_t apart,
                   double by, size_t columns);
    void (*store)(void *to, const double *from, size_t n);
};
struct cpu_matrix_loops {
    size_t rows, columns; /* of a tile */
    /* c[i][j], lines `pitch` apart, += sum over k of a[i][k] b[k][j], in the order of k; rows of a are
     * CPU_MATRIX_PITCH apart, b stands as it is read. */
    void (*tile)(double *c, size_t pitch, const double *a, const double *b, size_t depth, bool is_whole);
    struct {
        cpu_matrix_copy *in, *out;
    } f32, f64;
    struct cpu_twice_loops twice_f32, twice_f64;
    void (*add)(double *to, const double *from, size_t n);
};
/* The best variant not above. */
const struct cpu_matrix_loops *cpu_matrix_loops_of(enum cpu_simd simd);
/* cpu_twice.c */
int cpu_run_twice(const struct cpu_call *call);
int cpu_twice_scratch(size_t *size, const struct cpu_call *call);
extern const struct cpu_matrix_loops cpu_matrix_portable, cpu_matrix_avx2, cpu_matrix_avx512;

#endif
