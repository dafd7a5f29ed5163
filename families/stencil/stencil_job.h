/* stencil_job.h - what a launch of `stencil` says, held against its buffers: whoever runs it trusts it then.  Host side
 * alone; every device refuses the same, in the same words. */
#ifndef HCY_STENCIL_JOB_H
#define HCY_STENCIL_JOB_H

#include "begin.h"
#include "stencil_arguments.h"
#define HELPER static inline
#include "stencil_rows.h"

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
    if (!v->block || hcy__begin(v) % bytes || at < 0 || low < -at || hcy_size_mul(&far, (size_t)step, terms - 1) ||
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

/* How far all axes together go from the first element: reals that are read, and the last one that is written; behind
 * it a complex number's second part. */
struct hcy__stencil_range {
    int64_t low, high, end, part;
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

static inline void hcy__stencil_read(hcy_stencil_job *job, const hcy_value *values, const struct hcy__stencil_at *at)
{
    memcpy(job, values[at->job].bytes, offsetof(hcy_stencil_job, axes));
    for (int i = 0; i < HCY_STENCIL_AXES / 2; i++)
        memcpy(&job->axes[2 * i], values[at->pairs[i]].bytes, 2 * sizeof job->axes[0]);
}

/* A job of so many axes, and how far they go together; HCY_EINVAL: it is none. */
static inline int hcy__stencil_check_axes(struct hcy__stencil_range *r, const hcy_stencil_job *job)
{
    bool fits = job->rank - 1 < HCY_STENCIL_AXES && (job->bytes == 4 || job->bytes == 8);
    memset(r, 0, sizeof *r);
    for (uint32_t d = 0; fits && d < job->rank; d++)
        fits = hcy__stencil_add_axis(r, &job->axes[d]);
    /* Of complex numbers there is the second part, too. */
    r->part = fits ? job->axes[job->rank - 1].stride - 1 : 0;
    if (!fits || !r->terms || r->part > 1)
        return hcy_fail(HCY_EINVAL, "stencil: a job whose numbers do not fit");
    return 0;
}

/* The launch; HCY_EINVAL, HCY_ERANGE: it is none. */
static inline int hcy__stencil_open(hcy_stencil_job *job, const hcy_value *values)
{
    static const struct hcy__stencil_at at = HCY__STENCIL_AT(stencil);
    struct hcy__stencil_range r;
    hcy__stencil_read(job, values, &at);
    int status = hcy__stencil_check_axes(&r, job);
    if (status)
        return status;
    if (!hcy__stencil_fits(&values[at.from], job->from, r.low, r.high + r.part, job->from_step, r.terms, job->bytes) ||
        !hcy__stencil_fits(&values[at.to], job->to, 0, r.end + r.part, job->to_step, r.terms, job->bytes))
        return hcy_fail(HCY_ERANGE, "stencil: an operand does not lie in its buffer");
    return 0;
}

/* Whether all neighbours of element i are there: own ones, or ghosts of an element that is not inside. */
static inline bool hcy__stencil_has_all(const hcy_stencil_axis *a, const hcy_stencil_faces *f, int64_t i)
{
    const int64_t size = (int64_t)a->size;
    const bool is_inside = i >= f->front && i < size - f->back;
    const int8_t *row = a->rows[row_of_element((uint64_t)i, a->size, a->head, a->tail)];
    bool all = true;
    for (int k = 0; k < HCY_STENCIL_TAPS; k++) {
        const int64_t at = i + k - HCY_STENCIL_REACH;
        if (row[k] && at < 0)
            all = all && -at <= f->before && !is_inside;
        if (row[k] && at >= size)
            all = all && at - size < f->after && !is_inside;
    }
    return all;
}

/* Whether an axis is that of a whole part, contiguous behind it, with the ghosts that it needs. */
static inline bool hcy__stencil_face_fits(const hcy_stencil_axis *a, const hcy_stencil_faces *f, int64_t stride)
{
    const int64_t size = (int64_t)a->size;
    bool fits = !a->first && a->size == a->extent && a->stride == stride &&
                (uint64_t)f->front + f->back <= a->size && f->before <= HCY_STENCIL_REACH &&
                f->after <= HCY_STENCIL_REACH;
    for (int64_t i = 0; fits && a->is_term && i < HCY_STENCIL_REACH && i < size; i++)
        fits = hcy__stencil_has_all(a, f, i) && hcy__stencil_has_all(a, f, size - 1 - i);
    return fits;
}

/* The launch of `stencil_faces`; HCY_EINVAL, HCY_ERANGE: it is none. */
static inline int hcy__stencil_open_faces(hcy_stencil_job *job, hcy_stencil_faces *faces, const hcy_value *values)
{
    static const struct hcy__stencil_at at = HCY__STENCIL_AT(stencil_faces);
    const hcy_value *ghosts = &values[HCY_ARG_AT(stencil_faces, ghosts)];
    struct hcy__stencil_range r;
    hcy__stencil_read(job, values, &at);
    memcpy(faces, values[HCY_ARG_AT(stencil_faces, faces)].bytes, HCY_STENCIL_AXES * sizeof *faces);
    int status = hcy__stencil_check_axes(&r, job);
    if (status)
        return status;
    bool fits = true;
    int64_t stride = r.part + 1;
    for (uint32_t d = job->rank; fits && d-- > 0; stride *= (int64_t)job->axes[d].size)
        fits = hcy__stencil_face_fits(&job->axes[d], &faces[d], stride);
    if (!fits)
        return hcy_fail(HCY_EINVAL, "stencil: faces whose numbers do not fit");
    const int64_t last = r.end + r.part;
    fits = hcy__stencil_fits(&values[at.from], job->from, 0, last, job->from_step, r.terms, job->bytes) &&
           hcy__stencil_fits(&values[at.to], job->to, 0, last, job->to_step, r.terms, job->bytes);
    for (uint32_t d = 0; fits && d < job->rank; d++) {
        const uint64_t rows = (uint64_t)faces[d].before + faces[d].after;
        fits = !rows || (faces[d].row == (uint64_t)(last + 1) / job->axes[d].size &&
                         hcy__stencil_fits(ghosts, faces[d].ghosts, 0, (int64_t)(faces[d].row * rows) - 1, 0, 1,
                                           job->bytes));
    }
    return fits ? 0 : hcy_fail(HCY_ERANGE, "stencil: an operand does not lie in its buffer");
}

#endif
