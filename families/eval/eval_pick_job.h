/* eval_pick_job.h - what launches of eval_take, eval_put, eval_own, eval_count and the sorts say, held against their
 * buffers: whoever runs one trusts it then.  Host side alone; every device refuses the same, in the same words. */
#ifndef HCY_EVAL_PICK_JOB_H
#define HCY_EVAL_PICK_JOB_H

#include "arguments.h"
#include "begin.h"
#include "eval_pick.h"

#include <halcyon/backend.h>
#include <stdbool.h>

/* Where eval_take, or eval_put, has the arguments that both have. */
struct hcy__pick_at {
    size_t job, strides, operands[HCY_PICK_OPERANDS], n; /* n: of all arguments */
};
#define HCY__PICK_AT(kernel)                                                                                       \
    (struct hcy__pick_at)                                                                                          \
    {                                                                                                              \
        HCY_ARG_AT(kernel, job), HCY_ARG_AT(kernel, strides),                                                      \
            { HCY_ARG_AT(kernel, picked), HCY_ARG_AT(kernel, array), HCY_ARG_AT(kernel, numbers) },                \
            HCY_N_ARGS(kernel)                                                                                     \
    }
static inline struct hcy__pick_at hcy__pick_at(bool takes)
{
    return takes ? HCY__PICK_AT(eval_take) : HCY__PICK_AT(eval_put);
}

/* A launch of eval_take or eval_put. */
struct hcy__pick {
    const hcy_eval_job *job;
    const hcy_eval_strides *strides;
    const hcy_value *operands[HCY_PICK_OPERANDS];
};

/* One more axis for what an operand reaches below and above its first element. */
static inline bool hcy__pick_reach(size_t *below, size_t *above, int64_t stride, uint64_t size)
{
    size_t far = 0, step = stride < 0 ? (size_t)0 - (size_t)stride : (size_t)stride;
    size_t *side = stride < 0 ? below : above;
    return !hcy_size_mul(&far, step, (size_t)size - 1) && !hcy_size_add(side, *side, far);
}

/* Whether all elements of an operand lie in its buffer, which has none of 0 elements along any axis. */
static inline bool hcy__pick_fits(const struct hcy__pick *p, int k)
{
    const hcy_eval_job *job = p->job;
    bool of_array = k != HCY_PICK_NUMBERS;
    size_t below = 0, above = of_array ? (size_t)job->values[HCY_PICK_PARTS] - 1 : 0,
           bytes = of_array ? (size_t)job->values[HCY_PICK_BYTES] : 8, offset = (size_t)job->offset[k];
    bool fits = hcy__begin(p->operands[k]) % bytes == 0;
    for (uint32_t d = 0; d < job->rank; d++)
        fits = fits && hcy__pick_reach(&below, &above, p->strides->of[k][d], job->shape[d]);
    if (k == HCY_PICK_ARRAY)
        fits = fits && hcy__pick_reach(&below, &above, (int64_t)job->values[HCY_PICK_STEP],
                                       job->values[HCY_PICK_EXTENT]);
    fits = fits && !hcy_size_add(&above, above, offset);
    return fits && below <= offset && above < p->operands[k]->bytes_left / bytes;
}

/* The launch; HCY_EINVAL, HCY_ERANGE: it is none.  Without elements (job->n 0) there is nothing to run. */
static inline int hcy__pick_open(struct hcy__pick *p, const char *who, const hcy_value *values, bool takes)
{
    const struct hcy__pick_at at = hcy__pick_at(takes);
    size_t n = 1;
    int status = 0;
    p->job = values[at.job].bytes;
    p->strides = values[at.strides].bytes;
    for (int k = 0; k < HCY_PICK_OPERANDS; k++)
        p->operands[k] = &values[at.operands[k]];
    const uint64_t *v = p->job->values;
    for (uint32_t d = 0; !status && p->job->rank <= HCY_EVAL_AXES && d < p->job->rank; d++)
        status = hcy_size_mul(&n, n, (size_t)p->job->shape[d]);
    bool bytes = v[HCY_PICK_BYTES] == 1 || v[HCY_PICK_BYTES] == 2 || v[HCY_PICK_BYTES] == 4 || v[HCY_PICK_BYTES] == 8;
    if (status || p->job->rank > HCY_EVAL_AXES || n != p->job->n || !bytes || v[HCY_PICK_PARTS] - 1 > 1 ||
        !v[HCY_PICK_EXTENT])
        return hcy_fail(HCY_EINVAL, "%s: a job whose numbers do not fit", who);
    for (int k = 0; n && k < HCY_PICK_OPERANDS; k++)
        if (!hcy__pick_fits(p, k))
            return hcy_fail(HCY_ERANGE, "%s: operand %d does not lie in its buffer", who, k);
    /* An owner stands for each element of the axis; numbers lie in one piece, so that the buffer says how many. */
    if (!takes && values[HCY_ARG_AT(eval_put, owners)].bytes_left / 4 < v[HCY_PICK_EXTENT])
        return hcy_fail(HCY_ERANGE, "%s: fewer owners than the axis has elements", who);
    return 0;
}

/* Whether a buffer has so many elements of this size. */
static inline bool hcy__pick_holds(const hcy_value *v, uint64_t n, size_t size)
{
    return v->block && hcy__begin(v) % size == 0 && v->bytes_left / size >= n;
}

/* A launch of eval_own (owners of 4 bytes) or eval_count (of 8). */
static inline int hcy__pick_check_table(const hcy_eval_job *job, const char *who, const hcy_value *numbers,
                                        const hcy_value *table, size_t size)
{
    if (job->n > (size == 4 ? HCY_PICK_MOST : SIZE_MAX / 8) || !hcy__pick_holds(numbers, job->n, 8) ||
        !hcy__pick_holds(table, job->values[HCY_PICK_EXTENT], size))
        return hcy_fail(HCY_ERANGE, "%s: the buffers are smaller than the job says", who);
    return 0;
}

/* Whether pieces of `bytes` share memory, as far as blocks are different memory. */
static inline bool hcy__pick_overlaps(const hcy_value *a, size_t a_offset, const hcy_value *b,
                                      size_t b_offset, size_t bytes)
{
    const size_t x = a->offset + a_offset, y = b->offset + b_offset;
    return a->block == b->block && (x < y ? y - x : x - y) < bytes;
}

/* How the words of a type (enum hcy_eval_memory) become keys (eval_key.h); infinity 0: they are integers. */
struct hcy__sort_rule {
    unsigned bytes; /* 1, 2, 4, 8; 0: they have no order */
    uint64_t sign, infinity, nan;
};
static const struct hcy__sort_rule hcy__sort_rules[HCY_EVAL_MEMORIES] = {
    [HCY_EVAL_M_I8] = { 1, 0x80, 0, 0 },
    [HCY_EVAL_M_U8] = { 1, 0, 0, 0 },
    [HCY_EVAL_M_I16] = { 2, 0x8000, 0, 0 },
    [HCY_EVAL_M_U16] = { 2, 0, 0, 0 },
    [HCY_EVAL_M_I32] = { 4, 0x80000000, 0, 0 },
    [HCY_EVAL_M_U32] = { 4, 0, 0, 0 },
    [HCY_EVAL_M_I64] = { 8, 0x8000000000000000, 0, 0 },
    [HCY_EVAL_M_U64] = { 8, 0, 0, 0 },
    [HCY_EVAL_M_F16] = { 2, 0x8000, 0x7c00, 0xfe00 },
    [HCY_EVAL_M_F32] = { 4, 0x80000000, 0x7f800000, 0xffc00000 },
    [HCY_EVAL_M_F64] = { 8, 0x8000000000000000, 0x7ff0000000000000, 0xfff8000000000000 },
};

/* A launch of eval_sort. */
static inline int hcy__pick_check_sort(const hcy_eval_job *job, const hcy_value *values)
{
    static const size_t buffers[] = { HCY_ARG_AT(eval_sort, keys), HCY_ARG_AT(eval_sort, places),
                                      HCY_ARG_AT(eval_sort, spare_keys), HCY_ARG_AT(eval_sort, spare_places) };
    if (job->n && (!job->span || job->n % job->span || job->n > SIZE_MAX / 16))
        return hcy_fail(HCY_EINVAL, "eval_sort: a job whose numbers do not fit");
    for (int k = 0; k < 4; k++)
        if (!hcy__pick_holds(&values[buffers[k]], job->n, 8))
            return hcy_fail(HCY_ERANGE, "eval_sort: the buffers are smaller than the job says");
    /* What is counted must not change before it is moved. */
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < k; i++)
            if (hcy__pick_overlaps(&values[buffers[k]], 0, &values[buffers[i]], 0, (size_t)job->n * 8))
                return hcy_fail(HCY_EINVAL, "eval_sort: buffers share memory");
    return 0;
}

/* A launch of eval_sort_values, of values of so many bytes; 0: they have no order. */
static inline int hcy__pick_check_sort_values(const hcy_eval_job *job, const hcy_value *values, size_t bytes)
{
    static const size_t buffers[] = { HCY_ARG_AT(eval_sort_values, values), HCY_ARG_AT(eval_sort_values, sorted),
                                      HCY_ARG_AT(eval_sort_values, spare) };
    size_t offsets[3] = { 0 };
    if (!bytes || (job->n && (!job->span || job->n % job->span || job->n > SIZE_MAX / 16)))
        return hcy_fail(HCY_EINVAL, "eval_sort_values: a job whose numbers do not fit");
    for (int k = 0; k < 3; k++) {
        uint64_t offset = k < 2 ? job->offset[k] : 0;
        if (offset > SIZE_MAX / 16 || !hcy__pick_holds(&values[buffers[k]], offset + job->n, bytes))
            return hcy_fail(HCY_ERANGE, "eval_sort_values: the buffers are smaller than the job says");
        offsets[k] = (size_t)offset * bytes;
    }
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < k; i++)
            if (hcy__pick_overlaps(&values[buffers[k]], offsets[k], &values[buffers[i]], offsets[i],
                                   (size_t)job->n * bytes))
                return hcy_fail(HCY_EINVAL, "eval_sort_values: buffers share memory");
    return 0;
}

#endif
