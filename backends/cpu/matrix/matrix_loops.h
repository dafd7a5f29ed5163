/* matrix_loops.h - a tile of ROWS x VECTORS * LANES sums, which stay in registers while k goes on: each number of b is
 * read once for ROWS sums and each of a for all columns.  A variant's file says what a VECTOR is. */
#include "cpu_matrix.h"

#include "eval_format.h"

#include <math.h>

#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

static inline __attribute__((always_inline)) void sum_tile(double *c, size_t pitch, const double *a, const double *b,
                                                           size_t depth, bool is_whole)
{
    VECTOR sums[ROWS][VECTORS];
#define IS_WHOLE is_whole
    (void)is_whole;
    UNROLL
    for (int i = 0; i < ROWS; i++) {
        UNROLL
        for (int v = 0; v < VECTORS; v++)
            sums[i][v] = LOAD(c + (size_t)i * pitch + v * LANES);
    }
    for (size_t k = 0; k < depth; k++, b += VECTORS * LANES) {
        VECTOR row[VECTORS];
        UNROLL
        for (int v = 0; v < VECTORS; v++)
            row[v] = LOAD(b + v * LANES);
        UNROLL
        for (int i = 0; i < ROWS; i++) {
            const VECTOR x = SPREAD(a[(size_t)i * CPU_MATRIX_PITCH + k]);
            UNROLL
            for (int v = 0; v < VECTORS; v++)
                sums[i][v] = ADD(sums[i][v], x, row[v]);
        }
    }
    UNROLL
    for (int i = 0; i < ROWS; i++) {
        UNROLL
        for (int v = 0; v < VECTORS; v++)
            STORE(c + (size_t)i * pitch + v * LANES, sums[i][v]);
    }
}

static void run_tile(double *c, size_t pitch, const double *a, const double *b, size_t depth, bool is_whole)
{
    if (is_whole)
        sum_tile(c, pitch, a, b, depth, true);
    else
        sum_tile(c, pitch, a, b, depth, false);
}

#define REAL float
#define NAME(x) f32_##x
#include "matrix_numbers.h"
#include "twice_numbers.h"
#undef REAL
#undef NAME

#define REAL double
#define NAME(x) f64_##x
#include "matrix_numbers.h"
#include "twice_numbers.h"

static void add_rows(double *restrict to, const double *restrict from, size_t n)
{
    for (size_t j = 0; j < n; j++)
        to[j] += from[j];
}

const struct cpu_matrix_loops LOOPS = {
    ROWS,
    VECTORS *LANES,
    run_tile,
    { f32_in, f32_out },
    { f64_in, f64_out },
    { f32_dot, f32_spread, f32_store },
    { f64_dot, f64_spread, f64_store },
    add_rows,
};
