/* matrix_job.h - what a launch of `matrix` says, held against its buffers: whoever runs it trusts it then.  Host side
 * alone; every device refuses the same, in the same words. */
#ifndef HCY_MATRIX_JOB_H
#define HCY_MATRIX_JOB_H

#include "arguments.h"
#include "matrix_format.h"

#include <halcyon/backend.h>
#include <stdbool.h>
#include <string.h>

/* Whether all numbers of an operand lie in its buffer. */
static inline bool hcy__matrix_fits(const hcy_value *v, const hcy_matrix_job *job, int64_t at, const int64_t *steps,
                                    const uint64_t *sizes)
{
    const uint64_t width = (uint64_t)job->bytes * job->parts;
    int64_t low = at, high = at;
    for (int d = 0; d < 3; d++) {
        const int64_t n = (int64_t)sizes[d] - 1;
        /* Each axis may go so far that all three together still fit. */
        if (n && (steps[d] > INT64_MAX / 8 / n || steps[d] < -(INT64_MAX / 8 / n)))
            return false;
        *(steps[d] < 0 ? &low : &high) += n * steps[d];
    }
    return v->block && v->offset % job->bytes == 0 && low >= 0 && (uint64_t)high < v->bytes_left / width;
}

/* HCY_EINVAL, HCY_ERANGE: there is no such product. */
static inline int hcy__matrix_open(hcy_matrix_job *job, const hcy_value *values)
{
    memcpy(job, values[HCY_ARG_AT(matrix, job)].bytes, sizeof *job);
    const uint64_t n = job->slices, rows = job->rows, depth = job->depth, columns = job->columns;
    const uint64_t sizes[4] = { n, rows, depth, columns };
    const int64_t places[3] = { job->a, job->b, job->c };
    bool fits = (job->bytes == 4 || job->bytes == 8) && job->parts - 1 < 2;
    for (int i = 0; i < 4; i++)
        fits = fits && sizes[i] - 1 < INT32_MAX;
    for (int i = 0; i < 3; i++)
        fits = fits && places[i] >= 0 && places[i] < INT64_MAX / 8;
    if (!fits)
        return hcy_fail(HCY_EINVAL, "matrix: a job whose numbers do not fit");
    const uint64_t of_a[3] = { n, rows, depth }, of_b[3] = { n, depth, columns }, of_c[3] = { n, rows, columns };
    if (!hcy__matrix_fits(&values[HCY_ARG_AT(matrix, a)], job, job->a, job->a_steps, of_a) ||
        !hcy__matrix_fits(&values[HCY_ARG_AT(matrix, b)], job, job->b, job->b_steps, of_b) ||
        !hcy__matrix_fits(&values[HCY_ARG_AT(matrix, c)], job, job->c, job->c_steps, of_c))
        return hcy_fail(HCY_ERANGE, "matrix: an operand does not lie in its buffer");
    return 0;
}

#endif
