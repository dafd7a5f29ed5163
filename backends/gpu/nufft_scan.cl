/* nufft_scan.cl - counts to places: what sorting points (nufft_sort.cl) does without knowing what points are. */
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

#define SHARE (GPU_NUFFT_SCAN / GROUP_SIZE)
#define APART(i) ((i) + (i) / 8) /* so that items do not meet in a bank */

/* Of GPU_NUFFT_SCAN keys. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_sums(struct gpu_nufft job, BUFFER(const u32, counts), BUFFER(u32, sums),
                    BUFFER(struct gpu_nufft_head, head))
{
    OPEN(const u32, counts) OPEN(u32, sums) OPEN(struct gpu_nufft_head, head)
    LOCAL u32 room[ROOM_TO_SUM];
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
    LOCAL u32 room[ROOM_TO_SUM];
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
    LOCAL u32 room[ROOM_TO_SUM], near[APART(GPU_NUFFT_SCAN)];
    u64 first = (u64)GROUP * GPU_NUFFT_SCAN;
    u32 n = job.n_keys - first < GPU_NUFFT_SCAN ? (u32)(job.n_keys - first) : GPU_NUFFT_SCAN, sum = 0, all;
    for (u32 i = ITEM; i < GPU_NUFFT_SCAN; i += GROUP_SIZE)
        near[APART(i)] = i < n ? counts[first + i] : 0;
    BARRIER();
    for (u32 i = ITEM * SHARE; i < (ITEM + 1) * SHARE; i++)
        sum += near[APART(i)];
    sum = sums[GROUP] + sum_before(room, sum, &all);
    for (u32 i = ITEM * SHARE; i < (ITEM + 1) * SHARE; i++) {
        u32 mine = near[APART(i)];
        near[APART(i)] = sum;
        sum += mine;
    }
    BARRIER();
    for (u32 i = ITEM; i < n; i += GROUP_SIZE)
        counts[first + i] = near[APART(i)];
}

/* A group takes GPU_NUFFT_CHUNK points, an item a run of them, and counts each digit of each item: [digit][item]; the
 * group's sums are [digit][group].  What is before an item in its digit is then what is before its group there, and
 * before it in the group: points of equal digits keep their order. */
#define DIGITS (1u << GPU_NUFFT_DIGIT)
#define DIGIT(pair) ((pair).key >> shift & (DIGITS - 1))
#define FIRST_OF_MINE ((u64)GROUP * GPU_NUFFT_CHUNK + ITEM * (GPU_NUFFT_CHUNK / GROUP_SIZE))
#define EACH_OF_MINE(i) \
    (u64 i = FIRST_OF_MINE; i < FIRST_OF_MINE + GPU_NUFFT_CHUNK / GROUP_SIZE && i < job.n_points; i++)

/* Counts of the items' digits to what is before them in the group; the digits' sums if `sums` is not NULL. */
DEVICE void count_digits(NEAR u32 *room, u32 *sums)
{
    BARRIER();
    for (u32 d = ITEM; d < DIGITS; d += GROUP_SIZE) {
        u32 sum = 0;
        for (u32 i = 0; i < GROUP_SIZE; i++) {
            u32 mine = room[d * GROUP_SIZE + i];
            room[d * GROUP_SIZE + i] = sum;
            sum += mine;
        }
        if (sums)
            sums[(u64)d * GROUPS + GROUP] = sum;
    }
    BARRIER();
}

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_digits(struct gpu_nufft job, u32 shift, BUFFER(const struct gpu_nufft_pair, pairs), BUFFER(u32, sums))
{
    OPEN(const struct gpu_nufft_pair, pairs) OPEN(u32, sums)
    LOCAL u32 room[DIGITS * GROUP_SIZE];
    for (u32 d = 0; d < DIGITS; d++)
        room[d * GROUP_SIZE + ITEM] = 0;
    for EACH_OF_MINE(i)
        room[DIGIT(pairs[i]) * GROUP_SIZE + ITEM]++;
    count_digits(room, sums);
}

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_nufft_by_digit(struct gpu_nufft job, u32 shift, BUFFER(const struct gpu_nufft_pair, pairs),
                        BUFFER(const u32, starts), BUFFER(struct gpu_nufft_pair, sorted))
{
    OPEN(const struct gpu_nufft_pair, pairs) OPEN(const u32, starts) OPEN(struct gpu_nufft_pair, sorted)
    LOCAL u32 room[DIGITS * GROUP_SIZE];
    for (u32 d = 0; d < DIGITS; d++)
        room[d * GROUP_SIZE + ITEM] = 0;
    for EACH_OF_MINE(i)
        room[DIGIT(pairs[i]) * GROUP_SIZE + ITEM]++;
    count_digits(room, NULL_PTR);
    for EACH_OF_MINE(i) {
        struct gpu_nufft_pair pair = pairs[i];
        u32 d = DIGIT(pair);
        sorted[starts[(u64)d * GROUPS + GROUP] + room[d * GROUP_SIZE + ITEM]++] = pair;
    }
}
