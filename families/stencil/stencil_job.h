/* stencil_job.h - what a launch of `stencil` says, held against its buffers: whoever runs it trusts it then.  Host side
 * alone; every device refuses the same, in the same words. */
#ifndef HCY_STENCIL_JOB_H
#define HCY_STENCIL_JOB_H

#include "arguments.h"
#include "stencil_format.h"

#include <halcyon/backend.h>
#include <stdbool.h>
#include <string.h>

/* Elements [*low, *high] of an axis that its elements read, from its first one that is computed. */
static inline void hcy__stencil_reach(int64_t *low, int64_t *high, const hcy_stencil_axis *a)
{
    const uint64_t end = a->first + a->size;
    *low = 0;
    *high = (int64_t)a->size - 1;
    for (uint32_t r = 0; a->is_term && r < HCY_STENCIL_ROWS; r++) {
        /* The elements of this row, of those that are computed. */
        uint64_t begin = r < a->head ? r : a->head, behind = r < a->head ? r + 1 : a->extent - a->tail;
        if (r > HCY_STENCIL_EDGE) {
            begin = a->extent - (HCY_STENCIL_ROWS - r);
            behind = begin + 1;
        }
        bool there = r == HCY_STENCIL_EDGE || r < a->head ||
                     (r > HCY_STENCIL_EDGE && HCY_STENCIL_ROWS - r <= a->tail);
        begin = begin > a->first ? begin : a->first;
        behind = behind < end ? behind : end;
        for (int k = 0; there && begin < behind && k < HCY_STENCIL_TAPS; k++) {
            int64_t first = (int64_t)(begin - a->first) + k - HCY_STENCIL_REACH,
                    last = (int64_t)(behind - 1 - a->first) + k - HCY_STENCIL_REACH;
            if (a->rows[r][k] && first < *low)
                *low = first;
            if (a->rows[r][k] && last > *high)
                *high = last;
        }
    }
}

/* Whether reals [low, high] about `at` lie in a buffer, and the same for as many further on. */
static inline bool hcy__stencil_fits(const hcy_value *v, int64_t at, int64_t low, int64_t high, uint64_t step,
                                     uint32_t terms, uint32_t bytes)
{
    size_t far = 0, last = 0;
    if (!v->block || v->offset % bytes || at < 0 || low < -at || hcy_size_mul(&far, (size_t)step, terms - 1) ||
        hcy_size_add(&last, (size_t)at, (size_t)high) || hcy_size_add(&last, last, far))
        return false;
    return last < v->bytes_left / bytes;
}

static inline bool hcy__stencil_axis_fits(const hcy_stencil_axis *a)
{
    return a->size && a->extent <= INT64_MAX && a->first <= a->extent && a->size <= a->extent - a->first &&
           a->stride > 0 && a->head <= HCY_STENCIL_EDGE && a->tail <= HCY_STENCIL_EDGE &&
           (uint64_t)a->head + a->tail <= a->extent;
}

/* How far all axes together go from the first element: reals that are read, and the last one that is written. */
struct hcy__stencil_range {
    int64_t low, high, end;
    uint32_t terms;
};
static inline bool hcy__stencil_add_axis(struct hcy__stencil_range *r, const hcy_stencil_axis *a)
{
    int64_t low, high;
    if (!hcy__stencil_axis_fits(a))
        return false;
    hcy__stencil_reach(&low, &high, a);
    /* Each axis may go so far that sums of eight still fit. */
    if (high >= (INT64_MAX >> 4) / a->stride)
        return false;
    r->low += low * a->stride;
    r->high += high * a->stride;
    r->end += ((int64_t)a->size - 1) * a->stride;
    r->terms += a->is_term != 0;
    return true;
}

/* The launch; HCY_EINVAL, HCY_ERANGE: it is none. */
static inline int hcy__stencil_open(hcy_stencil_job *job, const hcy_value *values)
{
    static const size_t pairs[] = { HCY_ARG_AT(stencil, axes0), HCY_ARG_AT(stencil, axes2), HCY_ARG_AT(stencil, axes4),
                                    HCY_ARG_AT(stencil, axes6) };
    const hcy_value *from = &values[HCY_ARG_AT(stencil, from)], *to = &values[HCY_ARG_AT(stencil, to)];
    struct hcy__stencil_range r = { 0, 0, 0, 0 };
    memcpy(job, values[HCY_ARG_AT(stencil, job)].bytes, offsetof(hcy_stencil_job, axes));
    for (int i = 0; i < HCY_STENCIL_AXES / 2; i++)
        memcpy(&job->axes[2 * i], values[pairs[i]].bytes, 2 * sizeof job->axes[0]);
    bool fits = job->rank - 1 < HCY_STENCIL_AXES && (job->bytes == 4 || job->bytes == 8);
    for (uint32_t d = 0; fits && d < job->rank; d++)
        fits = hcy__stencil_add_axis(&r, &job->axes[d]);
    /* Of complex numbers there is the second part, too. */
    const int64_t part = fits ? job->axes[job->rank - 1].stride - 1 : 0;
    if (!fits || !r.terms || part > 1)
        return hcy_fail(HCY_EINVAL, "stencil: a job whose numbers do not fit");
    if (!hcy__stencil_fits(from, job->from, r.low, r.high + part, job->from_step, r.terms, job->bytes) ||
        !hcy__stencil_fits(to, job->to, 0, r.end + part, job->to_step, r.terms, job->bytes))
        return hcy_fail(HCY_ERANGE, "stencil: an operand does not lie in its buffer");
    return 0;
}

#endif
