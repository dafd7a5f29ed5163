/* group_sums.cl - sums over a group's items: for scan.cl, settle.cl and eval/digits.cl. */
#pragma once
#include "dialect.h"
#include "nufft/nufft_format.h"
#include "gpu_format.h"

#ifdef SHUFFLE
#define ROOM_TO_SUM ((GROUP_SIZE + GPU_LANES - 1) / GPU_LANES)
#else
#define ROOM_TO_SUM GROUP_SIZE
#endif

/* Sums of the items before this one; all items' sum. */
DEVICE u32 sum_before(NEAR u32 *room, u32 mine, u32 *all)
{
#if GROUP_SIZE == 1
    (void)room;
    *all = mine;
    return 0;
#elif defined SHUFFLE
    /* Lanes sum by shuffles; only each warp's total goes through local memory. */
    u32 lane = ITEM % GPU_LANES, sum = mine, before = 0;
    UNROLL
    for (u32 step = 1; step < GPU_LANES; step *= 2) {
        u32 more = SHUFFLE(sum, lane - step);
        sum += lane >= step ? more : 0;
    }
    if (lane == GPU_LANES - 1)
        room[ITEM / GPU_LANES] = sum;
    BARRIER();
    *all = 0;
    /* There are so few warps that every item adds up their totals itself. */
    for (u32 w = 0; w < GROUP_SIZE / GPU_LANES; w++) {
        before += w < ITEM / GPU_LANES ? room[w] : 0;
        *all += room[w];
    }
    BARRIER();
    return before + sum - mine;
#else
    room[ITEM] = mine;
    BARRIER();
    /* Without lanes in step the sums double their reach from barrier to barrier. */
    for (u32 step = 1; step < GROUP_SIZE; step *= 2) {
        u32 more = ITEM >= step ? room[ITEM - step] : 0;
        BARRIER();
        room[ITEM] += more;
        BARRIER();
    }
    u32 before = room[ITEM] - mine;
    *all = room[GROUP_SIZE - 1];
    BARRIER();
    return before;
#endif
}
