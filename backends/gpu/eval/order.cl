/* order.cl - rows of keys by size (eval_merge.h): an item sorts, or makes of what is merged, HCY_SORT_RUN elements. */
#pragma once
#include "dialect.h"
#define HELPER DEVICE
#include "eval_merge.h"

#define EACH(i, n) (u64 i = ITEM_OF_ALL; i < (n); i += (u64)GROUPS * GROUP_SIZE)
/* Run i of all rows: its row's first element, and where it is in that. */
#define RUNS(length) (((length) - 1) / HCY_SORT_RUN + 1)
#define FIND_RUN(i, length)                                                                    \
    u64 row = (i) / RUNS(length) * (length), begin = (i) % RUNS(length) * HCY_SORT_RUN,        \
        end = (length) - begin < HCY_SORT_RUN ? (length) : begin + HCY_SORT_RUN;

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_eval_runs(u64 n, u64 length, BUFFER(i64, to_keys), BUFFER(i64, to_places), BUFFER(const i64, keys))
{
    OPEN(i64, to_keys) OPEN(i64, to_places) OPEN(const i64, keys)
    for EACH(i, n / length * RUNS(length)) {
        FIND_RUN(i, length)
        sort_run(to_keys + row, to_places + row, keys + row, begin, end);
    }
}

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_eval_merge(u64 n, u64 length, u64 width, BUFFER(i64, to_keys), BUFFER(i64, to_places),
                    BUFFER(const i64, keys), BUFFER(const i64, places))
{
    OPEN(i64, to_keys) OPEN(i64, to_places) OPEN(const i64, keys) OPEN(const i64, places)
    for EACH(i, n / length * RUNS(length)) {
        FIND_RUN(i, length)
        merge_runs(to_keys + row, to_places + row, keys + row, places + row, length, width, begin, end);
    }
}
