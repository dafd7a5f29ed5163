/* sort.cl - points to records in the order of pencils and slabs (gpu_format.h), by counting.
 *
 * Every point is counted under its key, which also gives its rank among those of the key; the counts are summed to
 * where keys begin; every point is put where it belongs.  The host waits for none of this.  A point's place is found
 * twice, because that is cheaper than to keep it: reading its coordinates again is all it takes.  Coordinates are
 * folded to one period in double: in float a cell of a million would be off by a tenth.
 */
#pragma once
#include "nufft/point.cl"

/* A coordinate to its place. */
DEVICE u64 fold(const struct gpu_nufft *job, int axis, POINT x, int *bad)
{
    double turns = (double)x * 0.15915494309189533577;
    *bad |= hcy_nufft_is_far(turns);
    return hcy_nufft_place(turns, job->offset[axis], job->n[axis], job->scale[axis], PLACES);
}

/* The slab's number; where points are few, slabs that follow one another have one key, and no order among them. */
DEVICE u32 key_of_cell(const struct gpu_nufft *job, const u32 *cell)
{
#if DIM == 1
    u32 slab = cell[0] / ZS;
#elif DIM == 2
    u32 slab = cell[0] / XB * job->slabs + cell[1] / ZS;
#else
    u32 slab = (cell[1] / YB * job->bins[0] + cell[0] / XB) * job->slabs + cell[2] / ZS;
#endif
    return slab >> job->coarse;
}

/* A point, folded. */
struct point {
    u64 place[3];
    int bad;
};
DEVICE struct point point_of(const struct gpu_nufft *job, POINT x, POINT y, POINT z)
{
    struct point p;
    p.bad = 0;
    p.place[0] = fold(job, 0, x, &p.bad);
    p.place[1] = DIM > 1 ? fold(job, 1, y, &p.bad) : 0;
    p.place[2] = DIM > 2 ? fold(job, 2, z, &p.bad) : 0;
    return p;
}
DEVICE struct point point_at(const struct gpu_nufft *job, const POINT *x, const POINT *y, const POINT *z, u64 i)
{
    return point_of(job, x[i], DIM > 1 ? y[i] : 0, DIM > 2 ? z[i] : 0);
}

DEVICE u32 key_at(const struct gpu_nufft *job, const u64 *place)
{
    u32 cell[DIM];
    for (int d = 0; d < DIM; d++)
        cell[d] = cell_of(job, d, place[d]);
    return key_of_cell(job, cell);
}

#define EACH(i, n) (u64 i = ITEM_OF_ALL; i < (n); i += (u64)GROUPS * GROUP_SIZE)

/* Counts a point; its rank among those of its key.  Where many lanes have one key, as in a dense cluster, they are
 * counted at once: a device adds to one number as slowly as ever. */
DEVICE u32 count_one(u32 *counts, u32 key, int there)
{
#ifdef SHUFFLE
    u32 theirs = SHUFFLE(key, 0), same = BALLOT(there && key == theirs), lane = ITEM % GPU_LANES;
    if (POPCOUNT(same) > 8) {
        u32 first = lane ? 0 : ATOMIC_ADD32(&counts[key], POPCOUNT(same));
        first = SHUFFLE(first, 0);
        if (same >> lane & 1)
            return first + POPCOUNT(same & (((u32)1 << lane) - 1));
    }
#endif
    return there ? ATOMIC_ADD32(&counts[key], 1) : 0;
}

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_count(struct gpu_nufft job, BUFFER(const POINT, x), BUFFER(const POINT, y), BUFFER(const POINT, z),
                     BUFFER(u32, counts), BUFFER(u32, ranks), BUFFER(struct gpu_nufft_head, head))
{
    OPEN(const POINT, x) OPEN(const POINT, y) OPEN(const POINT, z)
    OPEN(u32, counts) OPEN(u32, ranks) OPEN(struct gpu_nufft_head, head)
    for (u64 at = (u64)GROUP * GROUP_SIZE; at < job.n_points; at += (u64)GROUPS * GROUP_SIZE) {
        u64 i = at + ITEM;
        int there = i < job.n_points;
        struct point p = point_at(&job, x, y, z, there ? i : 0);
        u32 key = key_at(&job, p.place), rank = count_one(counts, key, there);
        if (!there)
            continue;
        ranks[i] = rank;
        if (p.bad)
            ATOMIC_MIN32(&head->first_bad, i);
    }
}

/* Points of some keys, `n_keys` from `first_key` on: what is written at a time shall be little enough for the device's
 * cache to put it together. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_scatter(struct gpu_nufft job, u32 first_key, u32 n_keys, BUFFER(const POINT, x),
                       BUFFER(const POINT, y), BUFFER(const POINT, z), BUFFER(const u32, starts),
                       BUFFER(const u32, ranks), BUFFER(const struct gpu_nufft_head, head),
                       BUFFER(struct record, records), BUFFER(hcy_nufft_report, report))
{
    OPEN(const POINT, x) OPEN(const POINT, y) OPEN(const POINT, z) OPEN(const u32, starts) OPEN(const u32, ranks)
    OPEN(const struct gpu_nufft_head, head) OPEN(struct record, records) OPEN(hcy_nufft_report, report)
    if (ITEM_OF_ALL == 0)
        report->first_bad = head->first_bad == 0xffffffffu ? 0xffffffffffffffffu : head->first_bad;
    for EACH(i, job.n_points) {
        struct point p = point_at(&job, x, y, z, i);
        u32 key = key_at(&job, p.place);
        if (key - first_key < n_keys)
            records[starts[key] + ranks[i]] = record_of(p.place, (u32)i);
    }
}
