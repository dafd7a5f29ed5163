/* nufft_format.h - what host and devices agree on about non-uniform FFTs: the job of a launch, layouts of
 * arrays.
 *
 * Grids and modes are complex numbers of the job's precision, [vector][axis 0]...[axis dim-1], the last axis
 * fastest.  Cell l of an axis of the fine grid stands at x = 2 pi l / grid.  Modes of an axis are k = -(n/2)
 * ... (n-1)/2, in this order, or, with HCY_NUFFT_FFT_ORDER, from 0 up and then from the negative ones up.
 *
 * THE WINDOW has the width of `width` cells and is given by pieces: with u = grid x / (2 pi) - width / 2, a
 * point reaches the cells i = ceil(u) + j, j = 0 ... width - 1, with the weight p_j(t), t = 2 (ceil(u) - u)
 * - 1 in [-1, 1); p_j(t) = sum of table[c][j] t^(n - 1 - c), n = HCY_NUFFT_COEFS(width), rows of
 * HCY_NUFFT_MAX_WIDTH reals.  Windows are even: p_(width - 1 - j)(t) = p_j(-t).
 */
#ifndef HCY_NUFFT_FORMAT_H
#define HCY_NUFFT_FORMAT_H

#include <stdint.h>

#define HCY_NUFFT_VERSION 1u
#define HCY_NUFFT_MIN_WIDTH 2u
#define HCY_NUFFT_MAX_WIDTH 16u
#define HCY_NUFFT_COEFS(width) ((width) + 2u)
#define HCY_NUFFT_MAX_COEFS HCY_NUFFT_COEFS(HCY_NUFFT_MAX_WIDTH)

enum hcy_nufft_job_flag {
    HCY_NUFFT_FIXED_ORDER = 1, /* the same bits for any number of threads and, of the points, in any order */
    HCY_NUFFT_FFT_ORDER = 2,   /* of modes */
    HCY_NUFFT_DOUBLE_POINTS = 4, /* coordinates are doubles, whatever the precision of the data */
    HCY_NUFFT_SAME_BITS = 8,     /* on every device, and all that a fixed order promises */
    HCY_NUFFT_LINES_TO_GRID = 16, /* nufft_lines, nufft_axes: from modes, else to modes */
    HCY_NUFFT_GRAM_ADDS = 32,     /* nufft_gram: to what the result is */
    HCY_NUFFT_GRAM_PLAIN = 64,    /* nufft_gram: without maps, of one item */
    HCY_NUFFT_MIX_REAL = 128      /* nufft_mix: by real spectra */
};
#define HCY_NUFFT_MIX_MOST 32u /* images */

/* What the launches of a plan have in common; `sign` is that of the exponent in this launch. */
typedef struct hcy_nufft_job {
    uint32_t dim;       /* 1 to 3 */
    uint32_t precision; /* 1: float, 2: double (hcy_precision) */
    uint32_t width;     /* of the window, cells */
    uint32_t flags;     /* HCY_NUFFT_* above */
    int32_t sign;       /* +1, -1 */
    uint32_t reserved;
    uint64_t n_points;
    uint64_t modes[3], grid[3]; /* of each axis; 1 beyond dim */
} hcy_nufft_job;

/* What nufft_sort found: the first point with a coordinate that is no number, infinite, or 2^40 periods away
 * (such coordinates count as 0), or UINT64_MAX. */
typedef struct hcy_nufft_report {
    uint64_t first_bad;
} hcy_nufft_report;

#endif
