/* cut.cl - between modes and the transformed grid, and multiplication by phases.  Rows are of the last axis. */
#pragma once
#include "dialect.h"
#include "nufft/nufft_format.h"
#include "gpu_format.h"

#define EACH(i, n) (u64 i = ITEM_OF_ALL; i < (n); i += (u64)GROUPS * GROUP_SIZE)
/* A group's items take several rows at a time where there are many: finding a row is dear. */
#define ROWS_AT_ONCE (GROUP_SIZE / cut.row_items)
#define EACH_ROW(row, n)                                                                    \
    (u64 row = (u64)GROUP_Y * ROWS_AT_ONCE + ITEM / cut.row_items; row < (n); \
     row += (u64)GROUPS_Y * ROWS_AT_ONCE)
#define EACH_IN_ROW(i, n) \
    (u64 i = GROUP * cut.row_items + ITEM % cut.row_items; i < (n); i += (u64)GROUPS * cut.row_items)

/* Of an axis: where mode k = i - m / 2 stands among the modes and in the grid. */
DEVICE u64 mode_at(u64 i, u64 m, u32 fft_order)
{
    u64 below = m / 2;
    return !fft_order ? i : i < below ? i + m - below : i - below;
}
DEVICE u64 cell_of_mode(u64 i, u64 m, u64 n)
{
    u64 below = m / 2;
    return i < below ? n - below + i : i - below;
}
/* The factor of modes i, j of the axes before the last. */
DEVICE REAL factor_of(const struct gpu_nufft_cut *cut, const REAL *factors, u64 i, u64 j)
{
    REAL f = cut->dim > 1 ? factors[cut->factors[1] + j] : 1;
    return cut->dim > 2 ? f * factors[i] : f;
}
/* The mode (as i above) of a cell; 0 for one that has none. */
DEVICE int mode_of(u64 cell, u64 m, u64 n, u64 *i)
{
    u64 below = m / 2;
    *i = cell < m - below ? cell + below : cell - (n - below);
    return cell < m - below || cell >= n - below;
}

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_crop(struct gpu_nufft_cut cut, BUFFER(const REAL, grid), BUFFER(const REAL, factors),
                    BUFFER(REAL, modes))
{
    OPEN(const REAL, grid) OPEN(const REAL, factors) OPEN(REAL, modes)
    u64 rows = cut.items * cut.modes[0] * cut.modes[1];
    for EACH_ROW(row, rows) {
        u64 j = row % cut.modes[1], i = row / cut.modes[1] % cut.modes[0], item = row / cut.modes[1] / cut.modes[0];
        REAL f = factor_of(&cut, factors, i, j);
        /* Row by row: all that is the same for a row is found before its loop. */
        const REAL *from = grid + 2 * cut.grid[2] * (cell_of_mode(j, cut.modes[1], cut.grid[1]) + cut.grid[1] *
                                                     (cell_of_mode(i, cut.modes[0], cut.grid[0]) + cut.grid[0] * item));
        REAL *to = modes + 2 * cut.modes[2] * (mode_at(j, cut.modes[1], cut.fft_order) + cut.modes[1] *
                                               (mode_at(i, cut.modes[0], cut.fft_order) + cut.modes[0] * item));
        for EACH_IN_ROW(k, cut.modes[2]) {
            u64 a = 2 * cell_of_mode(k, cut.modes[2], cut.grid[2]), b = 2 * mode_at(k, cut.modes[2], cut.fft_order);
            REAL s = f * factors[cut.factors[2] + k];
            to[b] = from[a] * s;
            to[b + 1] = from[a + 1] * s;
        }
    }
}

/* Cell by cell, so that zeros and modes are written in one go. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_pad(struct gpu_nufft_cut cut, BUFFER(const REAL, modes), BUFFER(const REAL, factors),
                   BUFFER(REAL, grid))
{
    OPEN(const REAL, modes) OPEN(const REAL, factors) OPEN(REAL, grid)
    u64 rows = cut.items * cut.grid[0] * cut.grid[1];
    for EACH_ROW(row, rows) {
        u64 i = 0, j = 0, item = row / cut.grid[1] / cut.grid[0];
        /* A row without modes is all zeros, and is written the same way. */
        int some = mode_of(row % cut.grid[1], cut.modes[1], cut.grid[1], &j) &
                   mode_of(row / cut.grid[1] % cut.grid[0], cut.modes[0], cut.grid[0], &i);
        REAL f = some ? factor_of(&cut, factors, i, j) : 0;
        const REAL *from = modes + 2 * cut.modes[2] * (mode_at(j, cut.modes[1], cut.fft_order) + cut.modes[1] *
                                                       (mode_at(i, cut.modes[0], cut.fft_order) + cut.modes[0] * item));
        for EACH_IN_ROW(cell, cut.grid[2]) {
            u64 k, at = 2 * (row * cut.grid[2] + cell);
            REAL re = 0, im = 0;
            if (mode_of(cell, cut.modes[2], cut.grid[2], &k) && some) {
                REAL s = f * factors[cut.factors[2] + k];
                u64 b = 2 * mode_at(k, cut.modes[2], cut.fft_order);
                re = from[b] * s;
                im = from[b + 1] * s;
            }
            grid[at] = re;
            grid[at + 1] = im;
        }
    }
}

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_scale(u64 n, u32 conjugate, BUFFER(const REAL, in), BUFFER(const REAL, factors), BUFFER(REAL, out))
{
    OPEN(const REAL, in) OPEN(const REAL, factors) OPEN(REAL, out)
    u64 row = 2 * n * GROUP_Y;
    for EACH(i, n) {
        /* Backward the phases are the conjugates of those that are kept. */
        REAL fr = factors[2 * i], fi = conjugate ? -factors[2 * i + 1] : factors[2 * i + 1];
        REAL re = in[row + 2 * i], im = in[row + 2 * i + 1];
        out[row + 2 * i] = re * fr - im * fi;
        out[row + 2 * i + 1] = re * fi + im * fr;
    }
}
