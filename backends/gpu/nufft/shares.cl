/* shares.cl - points one by one, each by SHARE items side by side: an item has some columns of a point's cells, so that
 * neighbours read cells side by side.  What same.cl and slopes.cl have in common.
 */
#pragma once
#include "nufft/window.cl"

#if GROUP_SIZE == 1
#define SHARE 1
#elif WIDTH > 8
#define SHARE 16
#else
#define SHARE 8
#endif
#define POINTS (GROUP_SIZE / SHARE)          /* of a group at once */
#define XS ((WIDTH + SHARE - 1) / SHARE)     /* columns of an item */
#define ROWS_Y (DIM > 2 ? WIDTH : 1)
#define ROWS_Z (DIM > 1 ? WIDTH : 1)
#define EACH_COLUMN(s) \
    UNROLL             \
    for (int s = 0; s < XS; s++)

/* An item's columns in a row of the grid; those beyond the window are its last one again. */
DEVICE void find_columns(const struct gpu_nufft *job, u32 cell, u32 lane, u32 *at)
{
    EACH_COLUMN(s)
    {
        u32 x = s * SHARE + lane;
        at[s] = wrapped(cell + (x < WIDTH ? x : WIDTH - 1), job->n[0]);
    }
}

/* Row y of plane z of a point's cells, in the grid. */
DEVICE const REAL *row_of(const struct gpu_nufft *job, const u32 *cell, u32 y, u32 z, const REAL *grid)
{
    u64 plane = DIM > 1 ? wrapped(cell[Z] + z, job->n[Z]) : 0;
    u64 row = DIM > 2 ? plane * job->n[1] + wrapped(cell[1 % DIM] + y, job->n[1]) : plane;
    return grid + 2 * row * job->n[0];
}
