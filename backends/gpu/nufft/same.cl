/* same.cl - interpolation with the same bits on every device: a point is one item's, which adds up in the order that all
 * devices have (nufft_bits.h).  Neighbouring items have neighbouring points, so cells come from the cache. */
#pragma once
#include "nufft/window.cl"

#define ROWS_Y (DIM > 2 ? WIDTH : 1)
#define ROWS_Z (DIM > 1 ? WIDTH : 1)

/* Columns first, along z in the order of y within it, then the columns' sums: as nufft/same.h on the CPU. */
DEVICE void take_point(const struct gpu_nufft *job, const NEAR REAL *table, const struct record *r, const REAL *grid,
                       REAL *strength)
{
    REAL t[DIM], k[DIM][MOST_WEIGHTS], re[WIDTH], im[WIDTH], sum_re = 0, sum_im = 0;
    u32 cell[3] = { 0, 0, 0 }, at[WIDTH];
    for (int d = 0; d < DIM; d++) {
        u64 place = place_on_axis(r, d);
        cell[d] = cell_of(job, d, place);
        t[d] = t_of(job, d, place);
        weights_of(table, t + d, 1, k + d);
    }
    UNROLLED
    for (int x = 0; x < WIDTH; x++) {
        at[x] = wrapped(cell[0] + x, job->n[0]);
        re[x] = im[x] = 0;
    }
    NOT_UNROLLED
    for (u32 z = 0; z < ROWS_Z; z++) {
        u64 plane = DIM > 1 ? wrapped(cell[Z] + z, job->n[Z]) : 0;
        NOT_UNROLLED
        for (u32 y = 0; y < ROWS_Y; y++) {
            u64 row = DIM > 2 ? plane * job->n[1] + wrapped(cell[1 % DIM] + y, job->n[1]) : plane;
            const REAL *cells = grid + 2 * row * job->n[0];
            REAL weight = (DIM > 1 ? k[Z][z] : 1) * (DIM > 2 ? k[1 % DIM][y] : 1);
            UNROLLED
            for (int x = 0; x < WIDTH; x++) {
                re[x] += weight * cells[2 * at[x]];
                im[x] += weight * cells[2 * at[x] + 1];
            }
        }
    }
    UNROLLED
    for (int x = 0; x < WIDTH; x++) {
        sum_re += k[0][x] * re[x];
        sum_im += k[0][x] * im[x];
    }
    strength[0] = sum_re;
    strength[1] = sum_im;
}

/* A range of points, GROUP the range, GROUP_Y the vector. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_interp(struct gpu_nufft job, BUFFER(const struct record, records), BUFFER(const REAL, table),
                      BUFFER(const REAL, grids), BUFFER(REAL, strengths))
{
    OPEN(const struct record, records) OPEN(const REAL, table) OPEN(const REAL, grids) OPEN(REAL, strengths)
    LOCAL REAL near[COEFS * PITCH];
    REAL *c = strengths + 2 * job.n_points * GROUP_Y;
    const REAL *grid = grids + 2 * job.cells * GROUP_Y;
    u64 first = (u64)GROUP * job.range, last = first + job.range < job.n_points ? first + job.range : job.n_points;
    take_table(near, table);
    BARRIER();
    for (u64 p = first + ITEM; p < last; p += GROUP_SIZE) {
        struct record r = records[p];
        take_point(&job, near, &r, grid, c + 2 * (u64)r.number);
    }
}
