/* pick.cl - elements by their numbers (eval_pick.h): an item takes or puts one after the other.
 *
 * A component is BYTES long and an element has PARTS of them; WORD is an unsigned integer of that size.
 */
#pragma once
#include "dialect.h"
#include "eval_pick.h"

#define EACH(i, n) (u64 i = ITEM_OF_ALL; i < (n); i += (u64)GROUPS * GROUP_SIZE)

/* Where element i is in each operand, and its number's place along the axis; `inside`: that is there. */
struct picked {
    i64 at[HCY_PICK_OPERANDS];
    u64 k;
    int inside;
};
DEVICE struct picked find_picked(const hcy_eval_job *job, const hcy_eval_strides *strides, const i64 *numbers, u64 i)
{
    struct picked p;
    for (int o = 0; o < HCY_PICK_OPERANDS; o++)
        p.at[o] = (i64)job->offset[o];
    for (u32 d = job->rank; d-- > 0; i /= job->shape[d])
        for (int o = 0; o < HCY_PICK_OPERANDS; o++)
            p.at[o] += (i64)(i % job->shape[d]) * strides->of[o][d];
    i64 number = numbers[p.at[HCY_PICK_NUMBERS]];
    p.k = (u64)number + (number < 0 ? job->values[HCY_PICK_EXTENT] : 0);
    p.inside = p.k < job->values[HCY_PICK_EXTENT];
    if (p.inside)
        p.at[HCY_PICK_ARRAY] += (i64)p.k * (i64)job->values[HCY_PICK_STEP];
    return p;
}

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_eval_take(hcy_eval_job job, hcy_eval_strides strides, BUFFER(WORD, picked), BUFFER(const WORD, array),
                   BUFFER(const i64, numbers))
{
    OPEN(WORD, picked) OPEN(const WORD, array) OPEN(const i64, numbers)
    for EACH(i, job.n) {
        struct picked p = find_picked(&job, &strides, numbers, i);
        for (int part = 0; part < PARTS; part++)
            picked[p.at[HCY_PICK_PICKED] + part] = p.inside ? array[p.at[HCY_PICK_ARRAY] + part] : 0;
    }
}

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_eval_put(hcy_eval_job job, hcy_eval_strides strides, BUFFER(const WORD, picked), BUFFER(WORD, array),
                  BUFFER(const i64, numbers), BUFFER(const u32, owners))
{
    OPEN(const WORD, picked) OPEN(WORD, array) OPEN(const i64, numbers) OPEN(const u32, owners)
    for EACH(i, job.n) {
        struct picked p = find_picked(&job, &strides, numbers, i);
        /* Of equal numbers one alone writes, whatever the order in which items come. */
        if (p.inside && owners[p.k] == (u64)p.at[HCY_PICK_NUMBERS] - job.offset[HCY_PICK_NUMBERS] + 1)
            for (int part = 0; part < PARTS; part++)
                array[p.at[HCY_PICK_ARRAY] + part] = picked[p.at[HCY_PICK_PICKED] + part];
    }
}

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_eval_own(u64 n, u64 extent, BUFFER(const i64, numbers), BUFFER(u32, owners))
{
    OPEN(const i64, numbers) OPEN(u32, owners)
    for EACH(i, n) {
        u64 k = (u64)numbers[i] + (numbers[i] < 0 ? extent : 0);
        if (k < extent)
            ATOMIC_MAX32(&owners[k], (u32)i + 1);
    }
}

/* A group counts in local memory where that has room and a group has as many elements as there are counts: then it adds
 * to these once a count and not once an element.  They are integers, so no order shows. */
#define NEAR_COUNTS 4096
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_eval_count(u64 n, u64 extent, BUFFER(const i64, numbers), BUFFER(u64, counts))
{
    OPEN(const i64, numbers) OPEN(u64, counts)
#if GROUP_SIZE > 1
    LOCAL u32 near[NEAR_COUNTS];
    const u64 share = n / GROUPS;
    /* The second limit keeps 32 bits from running over: no group takes more than its share and a round. */
    if (extent <= NEAR_COUNTS && share >= extent && share < (u64)1 << 31) {
        for (u32 k = ITEM; k < extent; k += GROUP_SIZE)
            near[k] = 0;
        BARRIER();
        for EACH(i, n) {
            if ((u64)numbers[i] < extent)
                NEAR_ADD32(&near[numbers[i]], 1);
        }
        BARRIER();
        for (u32 k = ITEM; k < extent; k += GROUP_SIZE)
            if (near[k])
                ATOMIC_ADD64(&counts[k], near[k]);
        return;
    }
#endif
    for EACH(i, n) {
        if ((u64)numbers[i] < extent)
            ATOMIC_ADD64(&counts[numbers[i]], 1);
    }
}
