/* slopes.cl - interpolation with the derivatives of what it computes in a point's coordinates, from one look at the
 * grid: SHARE items have a point (shares.cl).  Where tensor cores take doubles, pencil_get.cl has those in 2-D and 3-D.
 *
 * A cell is read once and taken twice, by its row's weight and by that weight's slope; the other axes' weights and
 * slopes are multiplied by sums.  Reading is what this costs, so values and slopes take little more than values would.
 */
#pragma once
#include "nufft/shares.cl"

#define WAVES (1 + DIM) /* the value, the slope along each axis */
#define EACH_PART(i) /* of a complex number */ \
    UNROLL                                     \
    for (int i = 0; i < 2; i++)
#define EACH_OTHER_AXIS(d) \
    UNROLL                 \
    for (int d = 1; d < DIM; d++)

struct ALIGNED near_points {
    REAL table[COEFS * PITCH], k[POINTS][3][WIDTH], slope[POINTS][3][WIDTH], sums[POINTS][SHARE][WAVES][2];
};

/* The weights of a point on an axis and what t changes them by, two at a time (weights_of()). */
DEVICE void weigh_sloping(const NEAR REAL *table, REAL t, u32 lane, NEAR REAL *k, NEAR REAL *slope)
{
    REAL u = t * t;
    for (u32 j = lane; j < HALF; j += SHARE) {
        /* Horner's rule for even and odd powers in t squared, and for the derivatives of these two in it. */
        REAL a = table[j], b = table[PITCH + j], of_a = 0, of_b = 0;
        for (u32 c = 2; c < COEFS; c++) {
            REAL more = table[c * PITCH + j];
            if (c % 2) {
                of_b = of_b * u + b;
                b = b * u + more;
            } else {
                of_a = of_a * u + a;
                a = a * u + more;
            }
        }
        REAL even = EVEN_FIRST ? a : b, odd = EVEN_FIRST ? b : a;
        REAL even_slope = 2 * t * (EVEN_FIRST ? of_a : of_b), odd_slope = odd + 2 * u * (EVEN_FIRST ? of_b : of_a);
        k[j] = even + odd * t;
        k[WIDTH - 1 - j] = even - odd * t;
        slope[j] = even_slope + odd_slope;
        slope[WIDTH - 1 - j] = even_slope - odd_slope;
    }
}

/* This item's columns of a point: sums[0] weighed along all axes but the fastest, sums[d] with the slopes of axis d. */
DEVICE void sum_rows(const struct gpu_nufft *job, const u32 *cell, const NEAR REAL k[3][WIDTH],
                     const NEAR REAL slope[3][WIDTH], u32 lane, const REAL *grid, REAL sums[DIM][XS][2])
{
    u32 at[XS];
    find_columns(job, cell[0], lane, at);
    EACH_COLUMN(s)
        UNROLL
        for (int i = 0; i < 2 * DIM; i++)
            sums[i / 2][s][i % 2] = 0;
    NOT_UNROLLED
    for (u32 z = 0; z < ROWS_Z; z++) {
        REAL row[XS][2], sloping[XS][2]; /* the plane's, along y */
        EACH_COLUMN(s)
            row[s][0] = row[s][1] = sloping[s][0] = sloping[s][1] = 0;
        UNROLL_4
        for (u32 y = 0; y < ROWS_Y; y++) {
            const REAL *cells = row_of(job, cell, y, z, grid);
            REAL weight = DIM > 2 ? k[1][y] : 1, change = DIM > 2 ? slope[1][y] : 0;
            EACH_COLUMN(s)
                EACH_PART(i)
                {
                    REAL number = cells[2 * at[s] + i];
                    row[s][i] += weight * number;
                    sloping[s][i] += change * number;
                }
        }
        EACH_COLUMN(s)
            EACH_PART(i)
            {
                sums[0][s][i] += (DIM > 1 ? k[Z][z] : 1) * row[s][i];
                if (DIM > 2)
                    sums[1 % DIM][s][i] += k[Z][z] * sloping[s][i];
                if (DIM > 1)
                    sums[Z][s][i] += slope[Z][z] * row[s][i];
            }
    }
}

/* And along the fastest axis, of all of the item's columns. */
DEVICE void sum_columns(REAL sums[DIM][XS][2], const NEAR REAL *k, const NEAR REAL *slope, u32 lane,
                        NEAR REAL waves[WAVES][2])
{
    EACH_PART(i)
    {
        REAL total[WAVES];
        UNROLL
        for (int w = 0; w < WAVES; w++)
            total[w] = 0;
        EACH_COLUMN(s)
        {
            u32 x = s * SHARE + lane;
            if (x >= WIDTH)
                continue;
            total[0] += k[x] * sums[0][s][i];
            /* Jobs count axes from the slowest, and so do slopes. */
            total[DIM] += slope[x] * sums[0][s][i];
            EACH_OTHER_AXIS(d)
                total[DIM - d] += k[x] * sums[d][s][i];
        }
        UNROLL
        for (int w = 0; w < WAVES; w++)
            waves[w][i] = total[w];
    }
}

/* A range of points, GROUP the range, GROUP_Y the vector. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_slopes(struct gpu_nufft job, BUFFER(const struct record, records), BUFFER(const REAL, table),
                      BUFFER(const REAL, grids), BUFFER(REAL, strengths))
{
    OPEN(const struct record, records) OPEN(const REAL, table) OPEN(const REAL, grids) OPEN(REAL, strengths)
    LOCAL struct near_points near[1];
    REAL *c = strengths + 2 * WAVES * job.n_points * GROUP_Y;
    const REAL *grid = grids + 2 * job.cells * GROUP_Y;
    u64 first = (u64)GROUP * job.range, last = first + job.range < job.n_points ? first + job.range : job.n_points;
    u32 mine = ITEM / SHARE, lane = ITEM % SHARE;
    take_table(near->table, table);
    BARRIER();
    for (u64 p = first; p < last; p += POINTS) {
        /* Behind the last point items work on that one again, as they must meet the others at the barriers. */
        struct record r = records[p + mine < last ? p + mine : last - 1];
        REAL sums[DIM][XS][2];
        u32 cell[3] = { 0, 0, 0 };
        for (int d = 0; d < DIM; d++) {
            u64 place = place_on_axis(&r, d);
            cell[d] = cell_of(&job, d, place);
            weigh_sloping(near->table, t_of(&job, d, place), lane, near->k[mine][d], near->slope[mine][d]);
        }
        BARRIER();
        sum_rows(&job, cell, near->k[mine], near->slope[mine], lane, grid, sums);
        sum_columns(sums, near->k[mine][0], near->slope[mine][0], lane, near->sums[mine][lane]);
        BARRIER();
        for (u32 i = lane; i < 2 * WAVES && p + mine < last; i += SHARE) {
            REAL sum = 0;
            for (u32 n = 0; n < SHARE; n++)
                sum += near->sums[mine][n][i / 2][i % 2];
            /* t falls by 2 from a cell to the next, and an axis's cells are 2 pi. */
            REAL rate = i < 2 ? 1 : (REAL)job.n[DIM - i / 2] * (REAL)-0.31830988618379067;
            c[2 * WAVES * (u64)number_of(&r) + i] = rate * sum;
        }
    }
}
