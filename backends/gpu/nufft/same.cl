/* same.cl - interpolation with the same bits on every device: SHARE items have a point (shares.cl), each some of its
 * columns, and add up in the order that all devices have (nufft/same.h on the CPU): a column along z in the order of y
 * within it, then the columns. */
#pragma once
#include "nufft/shares.cl"

struct ALIGNED near_points {
    REAL table[COEFS * PITCH], k[POINTS][3][WIDTH], sums[POINTS][WIDTH][2];
};

/* The weights of a point on an axis, two at a time, as weights_of() has them. */
DEVICE void weigh_axis(const NEAR REAL *table, REAL t, u32 lane, NEAR REAL *k)
{
    REAL u = t * t;
    for (u32 j = lane; j < HALF; j += SHARE) {
        REAL a = table[j], b = table[PITCH + j];
        for (u32 c = 2; c < COEFS; c++) {
            REAL more = table[c * PITCH + j];
            if (c % 2)
                b = b * u + more;
            else
                a = a * u + more;
        }
        REAL even = EVEN_FIRST ? a : b, odd = (EVEN_FIRST ? b : a) * t;
        k[j] = even + odd;
        k[WIDTH - 1 - j] = even - odd;
    }
}

/* This item's columns of a point, weighed. */
DEVICE void sum_columns(const struct gpu_nufft *job, const u32 *cell, const NEAR REAL k[3][WIDTH], u32 lane,
                        const REAL *grid, NEAR REAL sums[WIDTH][2])
{
    REAL re[XS], im[XS];
    u32 at[XS];
    find_columns(job, cell[0], lane, at);
    EACH_COLUMN(s)
        re[s] = im[s] = 0;
    NOT_UNROLLED
    for (u32 z = 0; z < ROWS_Z; z++) {
        UNROLL_4
        for (u32 y = 0; y < ROWS_Y; y++) {
            const REAL *cells = row_of(job, cell, y, z, grid);
            REAL weight = (DIM > 1 ? k[Z][z] : 1) * (DIM > 2 ? k[1 % DIM][y] : 1);
            EACH_COLUMN(s)
            {
                re[s] += weight * cells[2 * at[s]];
                im[s] += weight * cells[2 * at[s] + 1];
            }
        }
    }
    EACH_COLUMN(s)
    {
        u32 x = s * SHARE + lane;
        if (x >= WIDTH)
            continue;
        sums[x][0] = k[0][x] * re[s];
        sums[x][1] = k[0][x] * im[s];
    }
}

/* A range of points, GROUP the range, GROUP_Y the vector. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_interp(struct gpu_nufft job, BUFFER(const struct record, records), BUFFER(const REAL, table),
                      BUFFER(const REAL, grids), BUFFER(REAL, strengths))
{
    OPEN(const struct record, records) OPEN(const REAL, table) OPEN(const REAL, grids) OPEN(REAL, strengths)
    LOCAL struct near_points near[1];
    REAL *c = strengths + 2 * job.n_points * GROUP_Y;
    const REAL *grid = grids + 2 * job.cells * GROUP_Y;
    u64 first = (u64)GROUP * job.range, last = first + job.range < job.n_points ? first + job.range : job.n_points;
    u32 mine = ITEM / SHARE, lane = ITEM % SHARE;
    take_table(near->table, table);
    BARRIER();
    for (u64 p = first; p < last; p += POINTS) {
        /* Behind the last point items work on that one again, as they must meet the others at the barriers. */
        struct record r = records[p + mine < last ? p + mine : last - 1];
        u32 cell[3] = { 0, 0, 0 };
        for (int d = 0; d < DIM; d++) {
            u64 place = place_on_axis(&r, d);
            cell[d] = cell_of(&job, d, place);
            weigh_axis(near->table, t_of(&job, d, place), lane, near->k[mine][d]);
        }
        BARRIER();
        sum_columns(&job, cell, near->k[mine], lane, grid, near->sums[mine]);
        BARRIER();
        if (lane == 0 && p + mine < last) {
            REAL re = 0, im = 0;
            for (u32 x = 0; x < WIDTH; x++) {
                re += near->sums[mine][x][0];
                im += near->sums[mine][x][1];
            }
            c[2 * (u64)number_of(&r)] = re;
            c[2 * (u64)number_of(&r) + 1] = im;
        }
    }
}
