/* tiles.cl - spreading of few points to a large grid of three axes: a group has a tile of it in REGISTERS, a column
 * along z an item, takes all points whose windows reach the tile, and writes the tile once.
 *
 * Why so: where hardly two points share a slab, a group that walks along points (spread_interp.cl, pencil.cl) adds all
 * that a window reaches to the grid atomically, 1.5e11 numbers a second on an H200, to cells that somebody has
 * to have set to zero.  Here a point is looked at by each of the eight tiles that its window may reach, and nothing is
 * added in memory.  Points are sorted by tiles, a key each, so those of a tile and of its neighbours are eight ranges.
 *
 * Dense places, as the middle of k-space, would leave all work to one group: a tile that more than GPU_NUFFT_TILE_MOST
 * points might reach is cut into parts, which gpu_nufft_spread_parts adds to the grid atomically.
 */
#pragma once
#include "nufft/window.cl"

#define NEIGHBOURS 27
#if PRECISION == 2
#define PAIR double2
#else
#define PAIR float2
#endif
#define EACH_PLANE(q) \
    UNROLLED          \
    for (int q = 0; q < ZS; q++)

/* Near memory of a group: the ranges of points that might reach its tile, those of some that do, and the weights of a
 * batch of these, zeros where a window does not reach. */
struct ALIGNED near_tile {
    REAL table[COEFS * PITCH], z[BATCH][ZS], x[BATCH][XB], y[BATCH][YB], c[BATCH][2];
    u32 first[NEIGHBOURS], before[NEIGHBOURS + 1], listed, list[GROUP_SIZE];
};

/* A tile: its bins and its first cells. */
struct tile {
    u32 bin[3], start[3];
};

DEVICE u32 bins_of(const struct gpu_nufft *job, int axis)
{
    return axis == 2 ? job->slabs : job->bins[axis];
}
DEVICE u32 cells_of(int axis)
{
    return axis == 0 ? XB : axis == 1 ? YB : ZS;
}

DEVICE struct tile tile_of(const struct gpu_nufft *job, u32 key)
{
    struct tile t;
    t.bin[2] = key % job->slabs;
    t.bin[0] = key / job->slabs % job->bins[0];
    t.bin[1] = key / job->slabs / job->bins[0];
    UNROLL
    for (int d = 0; d < 3; d++)
        t.start[d] = t.bin[d] * cells_of(d);
    return t;
}

/* From how many bins on an axis windows reach the tile: its own and the one before; where that is the axis's last and
 * shorter than a window, one more. */
DEVICE u32 bins_reaching(const struct gpu_nufft *job, const struct tile *t, int axis)
{
    u32 bins = bins_of(job, axis), last = job->n[axis] - (bins - 1) * cells_of(axis);
    return t->bin[axis] == 0 && last < WIDTH - 1 ? 3 : 2;
}

/* The points that might reach the tile, by bins; how many. */
DEVICE u32 find_ranges(const struct gpu_nufft *job, const struct tile *t, const u32 *starts,
                       NEAR struct near_tile *near)
{
    if (ITEM < NEIGHBOURS) {
        u32 back[3] = { ITEM % 3, ITEM / 3 % 3, ITEM / 9 }, bin[3], there = 1;
        UNROLL
        for (int d = 0; d < 3; d++) {
            there &= back[d] < bins_reaching(job, t, d);
            bin[d] = t->bin[d] >= back[d] ? t->bin[d] - back[d] : t->bin[d] + bins_of(job, d) - back[d];
        }
        u32 key = (bin[1] * job->bins[0] + bin[0]) * job->slabs + bin[2];
        u32 end = key + 1 < job->n_keys ? starts[key + 1] : (u32)job->n_points;
        near->first[ITEM] = starts[key];
        near->before[ITEM + 1] = there ? end - starts[key] : 0;
    }
    BARRIER();
    if (ITEM == 0) {
        near->before[0] = 0;
        for (int i = 0; i < NEIGHBOURS; i++)
            near->before[i + 1] += near->before[i];
    }
    BARRIER();
    return near->before[NEIGHBOURS];
}

/* How far into the tile, on an axis, a window begins; below 0 before it. */
DEVICE i32 offset_in(const struct gpu_nufft *job, const struct tile *t, int axis, u32 cell)
{
    i32 offset = (i32)(cell - t->start[axis]);
    return offset >= (i32)cells_of(axis) ? offset - (i32)job->n[axis] : offset;
}

/* Lists the points of those from `at` on, one an item, that reach the tile. */
DEVICE void list_points(const struct gpu_nufft *job, const struct tile *t, const struct record *records, u32 at, u32 to,
                        NEAR struct near_tile *near)
{
    BARRIER();
    if (ITEM == 0)
        near->listed = 0;
    BARRIER();
    u32 i = at + ITEM, range = 0, reaches = 1;
    if (i < to) {
        while (i >= near->before[range + 1])
            range++;
        i = near->first[range] + i - near->before[range];
        struct record r = records[i];
        UNROLL
        for (int d = 0; d < 3; d++)
            reaches &= offset_in(job, t, d, cell_of(job, d, place_on_axis(&r, d))) > -(i32)WIDTH;
        if (reaches)
            near->list[NEAR_ADD32(&near->listed, 1)] = i;
    }
    BARRIER();
}

/* A window's weights on an axis that fall on `n` cells of the tile. */
DEVICE void put_row(NEAR REAL *row, u32 n, const struct gpu_nufft *job, const struct tile *tile, const struct record *r,
                    int axis, const NEAR REAL *table)
{
    u64 place = place_on_axis(r, axis);
    i32 offset = offset_in(job, tile, axis, cell_of(job, axis, place));
    REAL k[1][MOST_WEIGHTS], t = t_of(job, axis, place);
    weights_of(table, &t, 1, k);
    for (u32 j = 0; j < n; j++)
        row[j] = 0;
    UNROLLED
    for (int j = 0; j < WIDTH; j++)
        if ((u32)(offset + j) < n)
            row[offset + j] = k[0][j];
}

/* The weights of a batch of listed points: an item finds a row.  Axes are constants, which keeps what is indexed by
 * them in registers. */
DEVICE void weigh_listed(const struct gpu_nufft *job, const struct tile *t, const struct record *records, u32 first,
                         u32 n, const PAIR *strengths, NEAR struct near_tile *near)
{
    for (u32 i = ITEM; i < 3 * n; i += GROUP_SIZE) {
        u32 axis = i / n, p = i % n;
        struct record r = records[near->list[first + p]];
        if (axis == 0) {
            PAIR c = strengths[number_of(&r)];
            near->c[p][0] = c.x;
            near->c[p][1] = c.y;
            put_row(near->x[p], XB, job, t, &r, 0, near->table);
        } else if (axis == 1) {
            put_row(near->y[p], YB, job, t, &r, 1, near->table);
        } else {
            put_row(near->z[p], ZS, job, t, &r, 2, near->table);
        }
    }
    BARRIER();
}

/* This item's column of the tile: candidates from..to. */
DEVICE void sum_column(const struct gpu_nufft *job, const struct tile *t, const struct record *records, u32 from,
                       u32 to, const PAIR *strengths, NEAR struct near_tile *near, REAL re[ZS], REAL im[ZS])
{
    u32 x = ITEM % XB, y = ITEM / XB;
    EACH_PLANE(q)
        re[q] = im[q] = 0;
    for (u32 at = from; at < to; at += GROUP_SIZE) {
        list_points(job, t, records, at, to, near);
        for (u32 done = 0; done < near->listed; done += BATCH) {
            u32 n = near->listed - done < BATCH ? near->listed - done : BATCH;
            weigh_listed(job, t, records, done, n, strengths, near);
            for (u32 p = 0; p < n; p++) {
                REAL xy = near->x[p][x] * near->y[p][y];
                /* Half of the rows of items and more lie beside the window, all lanes of them. */
                if (xy == 0)
                    continue;
                REAL a = near->c[p][0] * xy, b = near->c[p][1] * xy;
                EACH_PLANE(q)
                {
                    re[q] += a * near->z[p][q];
                    im[q] += b * near->z[p][q];
                }
            }
            BARRIER();
        }
    }
}

/* The item's column in the grid; false if the axes end before it. */
DEVICE int has_column(const struct gpu_nufft *job, const struct tile *t, u64 *cell)
{
    u32 x = t->start[0] + ITEM % XB, y = t->start[1] + ITEM / XB;
    *cell = ((u64)t->start[2] * job->n[1] + y) * job->n[0] + x;
    return x < job->n[0] && y < job->n[1];
}

/* GROUP is the tile, GROUP_Y the vector. */
KERNEL GROUPS_OF(GROUP_SIZE, 4 / PRECISION)
void gpu_nufft_spread(struct gpu_nufft job, BUFFER(const struct record, records), BUFFER(const u32, starts),
                      BUFFER(const REAL, table), BUFFER(const PAIR, strengths), BUFFER(PAIR, grids),
                      BUFFER(u32, n_parts), BUFFER(struct gpu_nufft_part, parts))
{
    OPEN(const struct record, records) OPEN(const u32, starts) OPEN(const REAL, table) OPEN(const PAIR, strengths)
    OPEN(PAIR, grids) OPEN(u32, n_parts) OPEN(struct gpu_nufft_part, parts)
    LOCAL struct near_tile near[1];
    REAL re[ZS], im[ZS];
    struct tile t = tile_of(&job, GROUP);
    u32 many = find_ranges(&job, &t, starts, near);
    int in_parts = many > GPU_NUFFT_TILE_MOST;
    if (in_parts && GROUP_Y == 0 && ITEM == 0) {
        u32 n = (many + GPU_NUFFT_TILE_MOST - 1) / GPU_NUFFT_TILE_MOST, at = ATOMIC_ADD32(n_parts, n);
        for (u32 i = 0; i < n; i++) {
            parts[at + i].tile = GROUP;
            parts[at + i].part = i;
        }
    }
    take_table(near->table, table);
    sum_column(&job, &t, records, 0, in_parts ? 0 : many, strengths + job.n_points * GROUP_Y, near, re, im);
    u64 cell;
    if (!has_column(&job, &t, &cell))
        return;
    PAIR *cells = grids + job.cells * GROUP_Y + cell;
    EACH_PLANE(q)
    {
        PAIR sum;
        sum.x = re[q];
        sum.y = im[q];
        if (t.start[2] + q < job.n[2])
            cells[(u64)q * job.n[0] * job.n[1]] = sum;
    }
}

/* GROUP is the part, if there are so many. */
KERNEL GROUPS_OF(GROUP_SIZE, 4 / PRECISION)
void gpu_nufft_spread_parts(struct gpu_nufft job, BUFFER(const struct record, records), BUFFER(const u32, starts),
                            BUFFER(const REAL, table), BUFFER(const PAIR, strengths), BUFFER(PAIR, grids),
                            BUFFER(const u32, n_parts), BUFFER(const struct gpu_nufft_part, parts))
{
    OPEN(const struct record, records) OPEN(const u32, starts) OPEN(const REAL, table) OPEN(const PAIR, strengths)
    OPEN(PAIR, grids) OPEN(const u32, n_parts) OPEN(const struct gpu_nufft_part, parts)
    LOCAL struct near_tile near[1];
    REAL re[ZS], im[ZS];
    if (GROUP >= *n_parts)
        return;
    struct tile t = tile_of(&job, parts[GROUP].tile);
    u32 many = find_ranges(&job, &t, starts, near), from = parts[GROUP].part * GPU_NUFFT_TILE_MOST;
    u32 to = many - from < GPU_NUFFT_TILE_MOST ? many : from + GPU_NUFFT_TILE_MOST;
    take_table(near->table, table);
    sum_column(&job, &t, records, from, to, strengths + job.n_points * GROUP_Y, near, re, im);
    u64 cell;
    if (!has_column(&job, &t, &cell))
        return;
    PAIR *cells = grids + job.cells * GROUP_Y + cell;
    EACH_PLANE(q)
        if ((re[q] != 0 || im[q] != 0) && t.start[2] + q < job.n[2])
            ATOMIC_ADD_PAIR((REAL *)(cells + (u64)q * job.n[0] * job.n[1]), re[q], im[q]);
}
