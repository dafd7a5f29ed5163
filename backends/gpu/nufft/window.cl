/* window.cl - what the kernels between points (point.cl) and grid have in common: the weights of a point's
 * window, cells beyond an axis's end. */
#pragma once
#include "nufft/point.cl"

#define COEFS HCY_NUFFT_COEFS(WIDTH)
/* Rows in near memory that are read 16 bytes at once. */
#define WHOLE(n) (((n)*PRECISION + 3) / 4 * 4 / PRECISION)
#define PITCH WHOLE(WIDTH)
#if GROUP_SIZE == 1
#define UNROLLED
#else
#define UNROLLED UNROLL
#endif
#define NOT_UNROLLED _Pragma("unroll 1")
#define Z (DIM - 1) /* the ring's axis */
#define NO_KEY 0xffffffffu
#if PRECISION == 2
#define ATOMIC_ADD_PAIR ATOMIC_ADD_PAIR_F64
#else
#define ATOMIC_ADD_PAIR ATOMIC_ADD_PAIR_F32
#endif

/* A group takes VECTORS of them at once, the last one maybe fewer: what points have in common is found once. */
#define FIRST_VECTOR (GROUP_Y * VECTORS)
#define IS_VECTOR(job, v) ((VECTORS == 1) | (FIRST_VECTOR + (v) < (job)->vectors))
#define EACH_VECTOR(v) \
    UNROLLED           \
    for (int v = 0; v < VECTORS; v++)

/* Windows are even, so polynomials j and WIDTH - 1 - j have the same coefficients but for the signs of odd powers. */
#define HALF ((WIDTH + 1) / 2)
#define EVEN_FIRST (COEFS % 2) /* the first coefficient is that of an even power */

/* The weights at t on some axes, at once what fits the registers.  The loop over coefficients stays one: unrolled, it
 * would fill them with the table. */
#define MOST_WEIGHTS 32 /* of a row, with the zeros around it */
DEVICE void weights_of(const NEAR REAL *table, const REAL *t, int axes, REAL k[][MOST_WEIGHTS])
{
    REAL a[3][HALF], b[3][HALF], u[3];
    UNROLLED
    for (int d = 0; d < axes; d++) {
        /* Horner's rule for even and odd powers at once, in t squared: half the steps wait for one
         * another. */
        u[d] = t[d] * t[d];
        UNROLLED
        for (int j = 0; j < HALF; j++) {
            a[d][j] = table[j];
            b[d][j] = table[PITCH + j];
        }
    }
    NOT_UNROLLED
    for (u32 c = 2; c + 1 < COEFS; c += 2) {
        table += 2 * PITCH;
        UNROLLED
        for (int j = 0; j < HALF; j++) {
            /* A coefficient is read once and serves all axes. */
            REAL more_a = table[j], more_b = table[PITCH + j];
            UNROLLED
            for (int d = 0; d < axes; d++) {
                a[d][j] = a[d][j] * u[d] + more_a;
                b[d][j] = b[d][j] * u[d] + more_b;
            }
        }
    }
    UNROLLED
    for (int j = 0; j < HALF; j++) {
        UNROLLED
        for (int d = 0; d < axes; d++) {
            if (EVEN_FIRST)
                a[d][j] = a[d][j] * u[d] + table[2 * PITCH + j];
            /* Polynomials j and WIDTH - 1 - j differ in the signs of odd powers alone. */
            REAL even = EVEN_FIRST ? a[d][j] : b[d][j], odd = (EVEN_FIRST ? b[d][j] : a[d][j]) * t[d];
            k[d][j] = even + odd;
            k[d][WIDTH - 1 - j] = even - odd;
        }
    }
}

DEVICE void take_table(NEAR REAL *near, const REAL *table)
{
    for (u32 i = ITEM; i < COEFS * WIDTH; i += GROUP_SIZE)
        near[i / WIDTH * PITCH + i % WIDTH] = table[i / WIDTH * HCY_NUFFT_MAX_WIDTH + i % WIDTH];
}

/* Cells of an axis from its end on are those from its start; no piece is longer than its axis and a cell. */
DEVICE u32 wrapped(u32 i, u32 n)
{
    return i >= n ? i - n : i;
}

/* Where a plane of the ring's axis begins in the grid. */
DEVICE u64 plane_at(const struct gpu_nufft *job, u32 plane)
{
    u64 stride = DIM == 1 ? 1 : DIM == 2 ? job->n[0] : (u64)job->n[0] * job->n[1];
    return wrapped(plane, job->n[Z]) * stride;
}
