/* scan.cl - counts to places: what sorting points (sort.cl) does without knowing what points are. */
#pragma once
#include "nufft/group_sums.cl"

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
    /* The fullest slab bounds how many terms a cell's sum can have. */
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
    /* Items read far memory side by side, and sum keys that follow one another from near memory. */
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
