/* nufft_sort.cl - points to records in the order of pencils and slabs (gpu_format.h), by counting.
 *
 * Every point is counted under its key, which also gives its rank among those of the key; the counts are summed to
 * places; every point is put where it belongs.  The host waits for none of this.  A point's cell and its place
 * between cells are found twice, because that is cheaper than to keep them: reading its coordinates again is all it
 * takes.  Coordinates are folded to one period in double: in float a cell of a million would be off by a tenth.
 */
struct record {
    REAL t[DIM];
    u32 cell[DIM], number; /* the first cell of the window on each axis */
};

/* The first cell and t of a coordinate; one that is no number or too far away counts as 0. */
DEVICE u32 fold(const struct gpu_nufft *job, int axis, POINT x, REAL *t, int *bad)
{
    double turns = (double)x * 0.15915494309189533577;
    int wrong = !(turns < 1099511627776.0 && turns > -1099511627776.0);
    turns = (wrong ? 0 : turns) - job->offset[axis];
    turns -= floor(turns);
    double u = turns * job->n[axis], up = ceil(u);
    u32 cell = (u32)up;
    *t = (REAL)(2 * (up - u) - 1);
    *bad |= wrong;
    return cell >= job->n[axis] ? 0 : cell;
}

DEVICE u32 key_of(const struct gpu_nufft *job, const u32 *cell)
{
#if DIM == 1
    return cell[0] / ZS;
#elif DIM == 2
    return cell[0] / XB * job->slabs + cell[1] / ZS;
#else
    return (cell[1] / YB * job->bins[0] + cell[0] / XB) * job->slabs + cell[2] / ZS;
#endif
}

#if DIM == 1
#define FOLD_ALL r.cell[0] = fold(&job, 0, x[i], &r.t[0], &bad)
#elif DIM == 2
#define FOLD_ALL r.cell[0] = fold(&job, 0, x[i], &r.t[0], &bad), r.cell[1] = fold(&job, 1, y[i], &r.t[1], &bad)
#else
#define FOLD_ALL                                                                                \
    r.cell[0] = fold(&job, 0, x[i], &r.t[0], &bad), r.cell[1] = fold(&job, 1, y[i], &r.t[1], &bad), \
    r.cell[2] = fold(&job, 2, z[i], &r.t[2], &bad)
#endif
#define EACH(i, n) (u64 i = ITEM_OF_ALL; i < (n); i += (u64)GROUPS * GROUP_SIZE)

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_begin(struct gpu_nufft job, BUFFER(u32, counts), BUFFER(struct gpu_nufft_head, head))
{
    OPEN(u32, counts) OPEN(struct gpu_nufft_head, head)
    if (ITEM_OF_ALL == 0) {
        head->first_bad = 0xffffffffu;
        head->most = 0;
    }
    for EACH(i, job.n_keys)
        counts[i] = 0;
}

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_count(struct gpu_nufft job, BUFFER(const POINT, x), BUFFER(const POINT, y), BUFFER(const POINT, z),
                     BUFFER(u32, counts), BUFFER(u32, ranks), BUFFER(struct gpu_nufft_head, head))
{
    OPEN(const POINT, x) OPEN(const POINT, y) OPEN(const POINT, z)
    OPEN(u32, counts) OPEN(u32, ranks) OPEN(struct gpu_nufft_head, head)
    for EACH(i, job.n_points) {
        struct record r;
        int bad = 0;
        FOLD_ALL;
        ranks[i] = ATOMIC_ADD32(&counts[key_of(&job, r.cell)], 1);
        if (bad)
            ATOMIC_MIN32(&head->first_bad, i);
    }
}

/* Sums of the items before this one; all items' sum. */
DEVICE u32 sum_before(NEAR u32 *room, u32 mine, u32 *all)
{
    u32 before = 0;
#if GROUP_SIZE == 1
    *all = mine;
#else
    room[ITEM] = mine;
    BARRIER();
    for (u32 step = 1; step < GROUP_SIZE; step *= 2) {
        u32 more = ITEM >= step ? room[ITEM - step] : 0;
        BARRIER();
        room[ITEM] += more;
        BARRIER();
    }
    before = room[ITEM] - mine;
    *all = room[GROUP_SIZE - 1];
    BARRIER();
#endif
    return before;
}

#define SHARE (GPU_NUFFT_SCAN / GROUP_SIZE)

/* Of GPU_NUFFT_SCAN keys. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_sums(struct gpu_nufft job, BUFFER(const u32, counts), BUFFER(u32, sums),
                    BUFFER(struct gpu_nufft_head, head))
{
    OPEN(const u32, counts) OPEN(u32, sums) OPEN(struct gpu_nufft_head, head)
    LOCAL u32 room[GROUP_SIZE];
    u32 sum = 0, most = 0, all;
    for (u32 k = 0; k < SHARE; k++) {
        u64 i = (u64)GROUP * GPU_NUFFT_SCAN + k * GROUP_SIZE + ITEM;
        u32 n = i < job.n_keys ? counts[i] : 0;
        sum += n;
        most = MAX32(most, n);
    }
    sum_before(room, sum, &all);
    if (ITEM == 0)
        sums[GROUP] = all;
    ATOMIC_MAX32(&head->most, most);
}

/* Sums to what is before them; one group. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_places(u32 n, BUFFER(u32, sums))
{
    OPEN(u32, sums)
    LOCAL u32 room[GROUP_SIZE];
    u32 share = (n + GROUP_SIZE - 1) / GROUP_SIZE, first = ITEM * share, sum = 0, all;
    u32 last = first + share < n ? first + share : n;
    for (u32 i = first; i < last; i++)
        sum += sums[i];
    sum = sum_before(room, sum, &all);
    for (u32 i = first; i < last; i++) {
        u32 mine = sums[i];
        sums[i] = sum;
        sum += mine;
    }
}

/* Counts to where the points of a key begin. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_starts(struct gpu_nufft job, BUFFER(u32, counts), BUFFER(const u32, sums))
{
    OPEN(u32, counts) OPEN(const u32, sums)
    LOCAL u32 room[GROUP_SIZE];
    u64 first = (u64)GROUP * GPU_NUFFT_SCAN + ITEM * SHARE;
    u32 sum = 0, all;
    for (u32 k = 0; k < SHARE && first + k < job.n_keys; k++)
        sum += counts[first + k];
    sum = sums[GROUP] + sum_before(room, sum, &all);
    for (u32 k = 0; k < SHARE && first + k < job.n_keys; k++) {
        u32 mine = counts[first + k];
        counts[first + k] = sum;
        sum += mine;
    }
}

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_scatter(struct gpu_nufft job, BUFFER(const POINT, x), BUFFER(const POINT, y), BUFFER(const POINT, z),
                       BUFFER(const u32, starts), BUFFER(const u32, ranks), BUFFER(const struct gpu_nufft_head, head),
                       BUFFER(struct record, records), BUFFER(hcy_nufft_report, report))
{
    OPEN(const POINT, x) OPEN(const POINT, y) OPEN(const POINT, z) OPEN(const u32, starts) OPEN(const u32, ranks)
    OPEN(const struct gpu_nufft_head, head) OPEN(struct record, records) OPEN(hcy_nufft_report, report)
    if (ITEM_OF_ALL == 0)
        report->first_bad = head->first_bad == 0xffffffffu ? 0xffffffffffffffffu : head->first_bad;
    for EACH(i, job.n_points) {
        struct record r;
        int bad = 0;
        FOLD_ALL;
        r.number = (u32)i;
        records[starts[key_of(&job, r.cell)] + ranks[i]] = r;
    }
}
