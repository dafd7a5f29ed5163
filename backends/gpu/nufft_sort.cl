/* nufft_sort.cl - points to records in the order of pencils and slabs (gpu_format.h), by counting.
 *
 * Every point is counted under its key, which also gives its rank among those of the key; the counts are summed to
 * places; every point is put where it belongs.  The host waits for none of this.  A point's cell and its place
 * between cells are found twice, because that is cheaper than to keep them: reading its coordinates again is all it
 * takes.  Coordinates are folded to one period in double: in float a cell of a million would be off by a tenth.
 *
 * FIXED: points of a key keep their order, which ranks do not do; points are then sorted by keys digit by digit, from
 * the lowest (nufft_scan.cl).
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
#define FOLD_ALL r.cell[0] = fold(&job, 0, x[n], &r.t[0], &bad)
#elif DIM == 2
#define FOLD_ALL r.cell[0] = fold(&job, 0, x[n], &r.t[0], &bad), r.cell[1] = fold(&job, 1, y[n], &r.t[1], &bad)
#else
#define FOLD_ALL                                                                                \
    r.cell[0] = fold(&job, 0, x[n], &r.t[0], &bad), r.cell[1] = fold(&job, 1, y[n], &r.t[1], &bad), \
    r.cell[2] = fold(&job, 2, z[n], &r.t[2], &bad)
#endif
#define EACH(i, n) (u64 i = ITEM_OF_ALL; i < (n); i += (u64)GROUPS * GROUP_SIZE)

#if FIXED
#define RANK struct gpu_nufft_pair
#else
#define RANK u32
#endif

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_count(struct gpu_nufft job, BUFFER(const POINT, x), BUFFER(const POINT, y), BUFFER(const POINT, z),
                     BUFFER(u32, counts), BUFFER(RANK, ranks), BUFFER(struct gpu_nufft_head, head))
{
    OPEN(const POINT, x) OPEN(const POINT, y) OPEN(const POINT, z)
    OPEN(u32, counts) OPEN(RANK, ranks) OPEN(struct gpu_nufft_head, head)
    for EACH(i, job.n_points) {
        struct record r;
        int bad = 0;
        u32 n = (u32)i;
        FOLD_ALL;
        u32 key = key_of(&job, r.cell), rank = ATOMIC_ADD32(&counts[key], 1);
#if FIXED
        ranks[i].key = key;
        ranks[i].number = (u32)i;
#else
        ranks[i] = rank;
#endif
        if (bad)
            ATOMIC_MIN32(&head->first_bad, i);
    }
}

/* Where a point's record comes to stand: i, its rank, what the keys' points begin with. */
#if FIXED
#define PLACE i
#define NUMBER ranks[i].number
#else
#define PLACE starts[key_of(&job, r.cell)] + ranks[i]
#define NUMBER (u32)i
#endif

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_scatter(struct gpu_nufft job, BUFFER(const POINT, x), BUFFER(const POINT, y), BUFFER(const POINT, z),
                       BUFFER(const u32, starts), BUFFER(const RANK, ranks), BUFFER(const struct gpu_nufft_head, head),
                       BUFFER(struct record, records), BUFFER(hcy_nufft_report, report))
{
    OPEN(const POINT, x) OPEN(const POINT, y) OPEN(const POINT, z) OPEN(const u32, starts) OPEN(const RANK, ranks)
    OPEN(const struct gpu_nufft_head, head) OPEN(struct record, records) OPEN(hcy_nufft_report, report)
    if (ITEM_OF_ALL == 0)
        report->first_bad = head->first_bad == 0xffffffffu ? 0xffffffffffffffffu : head->first_bad;
    for EACH(i, job.n_points) {
        struct record r;
        int bad = 0;
        u32 n = NUMBER;
        FOLD_ALL;
        r.number = n;
        records[PLACE] = r;
    }
}
