/* matrix_job.h - what a launch of `matrix` says, held against its buffers: whoever runs it trusts it then.  Host side
 * alone; every device refuses the same, in the same words. */
#ifndef HCY_MATRIX_JOB_H
#define HCY_MATRIX_JOB_H

#include "arguments.h"
#include "begin.h"
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
    return v->block && hcy__begin(v) % job->bytes == 0 && low >= 0 && (uint64_t)high < v->bytes_left / width;
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

/* Whether a vector's numbers lie in its buffer. */
static inline bool hcy__twice_fits(const hcy_value *v, uint32_t bytes, int64_t at, uint64_t n)
{
    const uint64_t room = v->bytes_left / bytes;
    return v->block && hcy__begin(v) % bytes == 0 && at >= 0 && (uint64_t)at <= room && n <= room - (uint64_t)at;
}

/* HCY_EINVAL: numbers that matrix_twice does not take, whatever its buffers are. */
static inline int hcy__twice_read(hcy_matrix_twice_job *job, const hcy_value *values)
{
    memcpy(job, values[HCY_ARG_AT(matrix_twice, job)].bytes, sizeof *job);
    const uint64_t rows = job->rows, columns = job->columns;
    if ((job->bytes != 4 && job->bytes != 8) || rows - 1 >= INT32_MAX || columns - 1 >= INT32_MAX ||
        columns * job->bytes > HCY_MATRIX_TWICE_BYTES || job->step < (int64_t)columns ||
        job->step > INT64_MAX / 16 / (int64_t)rows)
        return hcy_fail(HCY_EINVAL, "matrix_twice: a job whose numbers do not fit");
    return 0;
}

/* HCY_EINVAL, HCY_ERANGE, as hcy__matrix_open(). */
static inline int hcy__twice_open(hcy_matrix_twice_job *job, const hcy_value *values)
{
    int status = hcy__twice_read(job, values);
    if (status)
        return status;
    const uint32_t bytes = job->bytes;
    const uint64_t rows = job->rows, columns = job->columns;
    const uint64_t all = (rows - 1) * (uint64_t)job->step + columns;
    if (!hcy__twice_fits(&values[HCY_ARG_AT(matrix_twice, a)], bytes, job->a, all) ||
        !hcy__twice_fits(&values[HCY_ARG_AT(matrix_twice, p)], bytes, job->p, columns) ||
        !hcy__twice_fits(&values[HCY_ARG_AT(matrix_twice, m)], bytes, job->m, rows) ||
        !hcy__twice_fits(&values[HCY_ARG_AT(matrix_twice, q)], bytes, job->q, rows) ||
        !hcy__twice_fits(&values[HCY_ARG_AT(matrix_twice, g)], bytes, job->g, columns) ||
        !hcy__twice_fits(&values[HCY_ARG_AT(matrix_twice, s)], bytes, job->s, columns) ||
        !hcy__twice_fits(&values[HCY_ARG_AT(matrix_twice, by)], sizeof(double), job->by, 1))
        return hcy_fail(HCY_ERANGE, "matrix_twice: an operand does not lie in its buffer");
    return 0;
}

#endif
