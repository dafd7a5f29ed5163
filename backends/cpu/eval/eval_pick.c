/* eval_pick.c - elements by their numbers on the CPU: taken, put, counted.  Threads share the elements out; what they
 * write is theirs alone. */
#include "cpu_eval.h"

#include "eval_pick_job.h"

#include <stdlib.h>
#include <string.h>

/* Elements that a thread takes at once. */
#define GRAIN 8192

struct pick {
    struct hcy__pick of;
    char *picked, *array;
    const int64_t *numbers;
    const uint32_t *owners; /* NULL: elements are taken */
    size_t bytes;           /* of an element */
};

/* Consecutive elements along the last axis: where the first one is, and how far it is to the next. */
struct picked_run {
    char *picked, *array;
    const int64_t *numbers;
    ptrdiff_t picked_step, array_step, numbers_step;
    size_t n;
};

static inline __attribute__((always_inline)) void pick_run(const struct pick *p, const struct picked_run *r,
                                                           size_t bytes)
{
    const uint64_t *v = p->of.job->values, extent = v[HCY_PICK_EXTENT];
    const ptrdiff_t step = (ptrdiff_t)v[HCY_PICK_STEP] * (ptrdiff_t)v[HCY_PICK_BYTES];
    for (ptrdiff_t i = 0; i < (ptrdiff_t)r->n; i++) {
        const int64_t *number = r->numbers + i * r->numbers_step;
        uint64_t k = (uint64_t)*number + (*number < 0 ? extent : 0);
        bool inside = k < extent;
        char *picked = r->picked + i * r->picked_step,
             *array = r->array + i * r->array_step + (inside ? (ptrdiff_t)k * step : 0);
        if (!p->owners && inside)
            memcpy(picked, array, bytes);
        else if (!p->owners)
            memset(picked, 0, bytes);
        else if (inside && p->owners[k] == (uint64_t)(number - p->numbers) + 1)
            memcpy(array, picked, bytes);
    }
}

/* With a size that is known, copies are single instructions. */
static void pick_run_of_any(const struct pick *p, const struct picked_run *r)
{
    switch (p->bytes) {
    case 1:
        pick_run(p, r, 1);
        break;
    case 2:
        pick_run(p, r, 2);
        break;
    case 4:
        pick_run(p, r, 4);
        break;
    case 8:
        pick_run(p, r, 8);
        break;
    default:
        pick_run(p, r, 16);
    }
}

static void pick_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct pick *p = context;
    const hcy_eval_job *job = p->of.job;
    const ptrdiff_t bytes = (ptrdiff_t)job->values[HCY_PICK_BYTES];
    const uint32_t last = job->rank ? job->rank - 1 : 0;
    const size_t inner = job->rank ? (size_t)job->shape[last] : 1;
    (void)thread;
    while (begin < end) {
        ptrdiff_t at[HCY_PICK_OPERANDS] = { 0 }, steps[HCY_PICK_OPERANDS] = { 0 };
        size_t rest = begin, left = inner - begin % inner;
        for (uint32_t d = job->rank; d-- > 0; rest /= (size_t)job->shape[d])
            for (int k = 0; k < HCY_PICK_OPERANDS; k++)
                at[k] += (ptrdiff_t)(rest % job->shape[d]) * (ptrdiff_t)p->of.strides->of[k][d];
        for (int k = 0; k < HCY_PICK_OPERANDS && job->rank; k++)
            steps[k] = (ptrdiff_t)p->of.strides->of[k][last];
        struct picked_run r = { p->picked + at[HCY_PICK_PICKED] * bytes, p->array + at[HCY_PICK_ARRAY] * bytes,
                                p->numbers + at[HCY_PICK_NUMBERS], steps[HCY_PICK_PICKED] * bytes,
                                steps[HCY_PICK_ARRAY] * bytes, steps[HCY_PICK_NUMBERS],
                                left < end - begin ? left : end - begin };
        pick_run_of_any(p, &r);
        begin += r.n;
    }
}

static int run_pick(const struct cpu_call *call, bool takes)
{
    struct pick p = { .owners = NULL };
    int status = hcy__pick_open(&p.of, takes ? "eval_take" : "eval_put", call->values, takes);
    if (status || !p.of.job->n)
        return status;
    const hcy_eval_job *job = p.of.job;
    const size_t bytes = (size_t)job->values[HCY_PICK_BYTES];
    const void *at[HCY_PICK_OPERANDS];
    for (int k = 0; k < HCY_PICK_OPERANDS; k++)
        at[k] = cpu_arg(call, (size_t)(p.of.operands[k] - call->values));
    p.picked = (char *)at[HCY_PICK_PICKED] + (size_t)job->offset[HCY_PICK_PICKED] * bytes;
    p.array = (char *)at[HCY_PICK_ARRAY] + (size_t)job->offset[HCY_PICK_ARRAY] * bytes;
    p.numbers = (const int64_t *)at[HCY_PICK_NUMBERS] + job->offset[HCY_PICK_NUMBERS];
    p.bytes = bytes * (size_t)job->values[HCY_PICK_PARTS];
    if (!takes)
        p.owners = cpu_arg(call, HCY_ARG_AT(eval_put, owners));
    cpu_pool_for(call->pool, (size_t)job->n, GRAIN, pick_range, &p);
    return 0;
}

int cpu_eval_take(const struct cpu_call *call)
{
    return run_pick(call, true);
}

int cpu_eval_put(const struct cpu_call *call)
{
    return run_pick(call, false);
}

int cpu_eval_own(const struct cpu_call *call)
{
    const hcy_value *values = call->values;
    const hcy_eval_job *job = values[HCY_ARG_AT(eval_own, job)].bytes;
    const int64_t *numbers = cpu_arg(call, HCY_ARG_AT(eval_own, numbers));
    uint32_t *owners = cpu_arg(call, HCY_ARG_AT(eval_own, owners));
    const uint64_t extent = job->values[HCY_PICK_EXTENT];
    int status = hcy__pick_check_table(job, "eval_own", &values[HCY_ARG_AT(eval_own, numbers)],
                                       &values[HCY_ARG_AT(eval_own, owners)], sizeof *owners);
    /* In sequence the last one stays, without an order between threads. */
    for (size_t i = 0; !status && i < job->n; i++) {
        uint64_t k = (uint64_t)numbers[i] + (numbers[i] < 0 ? extent : 0);
        if (k < extent)
            owners[k] = (uint32_t)i + 1;
    }
    return status;
}

/* --- Counts --- */

struct count {
    const int64_t *numbers;
    uint64_t *counts; /* of each part */
    size_t n, extent, parts;
};

static void count_parts(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct count *c = context;
    (void)thread;
    for (size_t part = begin; part < end; part++) {
        uint64_t *counts = c->counts + part * c->extent;
        size_t first = c->n / c->parts * part, last = part + 1 == c->parts ? c->n : first + c->n / c->parts;
        for (size_t i = first; i < last; i++)
            if ((uint64_t)c->numbers[i] < c->extent)
                counts[c->numbers[i]]++;
    }
}

int cpu_eval_count(const struct cpu_call *call)
{
    const hcy_value *values = call->values;
    const hcy_eval_job *job = values[HCY_ARG_AT(eval_count, job)].bytes;
    uint64_t *counts = cpu_arg(call, HCY_ARG_AT(eval_count, counts)), *own = NULL;
    int status = hcy__pick_check_table(job, "eval_count", &values[HCY_ARG_AT(eval_count, numbers)],
                                       &values[HCY_ARG_AT(eval_count, counts)], sizeof *counts);
    if (status || !job->n || !job->values[HCY_PICK_EXTENT])
        return status;
    struct count c = { cpu_arg(call, HCY_ARG_AT(eval_count, numbers)), counts, (size_t)job->n,
                       (size_t)job->values[HCY_PICK_EXTENT], cpu_pool_threads(call->pool) };
    /* Threads have counts of their own where these are few beside what is counted. */
    if (c.n / c.parts / 4 >= c.extent)
        own = calloc(c.parts * c.extent, sizeof *own);
    if (own)
        c.counts = own;
    else
        c.parts = 1;
    cpu_pool_for(call->pool, c.parts, 1, count_parts, &c);
    for (size_t i = 0; own && i < c.parts * c.extent; i++)
        counts[i % c.extent] += own[i];
    free(own);
    return 0;
}
