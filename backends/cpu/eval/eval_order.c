/* eval_order.c - rows by size on the CPU: keys with their places, and values alone.  Short rows of keys are merged, by
 * a thread each; others have a radix sort, long ones by all threads together. */
#include "eval_radix.h"

#include "eval_pick_job.h"

#include <stdlib.h>
#include <string.h>

typedef int64_t i64;
typedef uint64_t u64;
#define HELPER static inline
#include "eval_merge.h"

/* Elements of a row that is merged; of one that is a thread's own if there are enough others. */
enum { MERGED_MOST = 256, OWN_MOST = 65536, GRAIN = 16384 };

/* --- Rows of all kinds --- */

struct order {
    struct cpu_pool *pool;
    struct cpu_radix_part *parts; /* one a thread */
    struct cpu_radix_lane first, second, from; /* from: values, which stay */
    unsigned memory;
    size_t n, length;
    void (*row)(const struct order *o, const struct cpu_radix *r, size_t begin);
};

static void sort_rows(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct order *o = context;
    const struct cpu_radix alone = { &hcy__sort_rules[o->memory], NULL, o->parts + thread };
    for (size_t i = begin; i < end; i++)
        o->row(o, &alone, i * o->length);
}

static int run_order(struct order *o, const struct cpu_call *call)
{
    const size_t rows = o->n / o->length, threads = cpu_pool_threads(call->pool);
    o->pool = call->pool;
    /* Counts are written before they are read. */
    o->parts = malloc(threads * sizeof *o->parts);
    if (!o->parts)
        return hcy_fail(HCY_ENOMEM, "a sort: no memory for the counts of %zu threads", threads);
    if (o->length <= OWN_MOST || rows >= 4 * threads) {
        cpu_pool_for(call->pool, rows, o->length < GRAIN ? GRAIN / o->length : 1, sort_rows, o);
    } else {
        const struct cpu_radix together = { &hcy__sort_rules[o->memory], call->pool, o->parts };
        for (size_t i = 0; i < rows; i++)
            o->row(o, &together, i * o->length);
    }
    free(o->parts);
    return 0;
}

static struct cpu_radix_lane lane_at(struct cpu_radix_lane lane, size_t i, unsigned bytes)
{
    return (struct cpu_radix_lane){ lane.words + i * bytes, lane.places ? lane.places + i : NULL };
}

/* --- Values --- */

static void sort_value_row(const struct order *o, const struct cpu_radix *r, size_t begin)
{
    const unsigned bytes = r->rule->bytes;
    struct cpu_radix_lane from = lane_at(o->from, begin, bytes), to = lane_at(o->first, begin, bytes);
    struct cpu_radix_span span = cpu_radix_measure(r, from, o->length);
    unsigned passes = cpu_radix_passes(&span, o->length);
    if (!passes)
        memcpy(to.words, from.words, o->length * bytes);
    cpu_radix_sort(r, to, lane_at(o->second, begin, bytes), from, o->length, &span, passes);
}

int cpu_eval_sort_values(const struct cpu_call *call)
{
    const hcy_eval_job *job = call->values[HCY_ARG_AT(eval_sort_values, job)].bytes;
    const uint64_t given = job->values[HCY_PICK_MEMORY];
    const unsigned memory = given < HCY_EVAL_MEMORIES ? (unsigned)given : 0;
    const size_t bytes = hcy__sort_rules[memory].bytes;
    int status = hcy__pick_check_sort_values(job, call->values, bytes);
    if (status || !job->n)
        return status;
    struct order o = { .memory = memory, .n = (size_t)job->n, .length = (size_t)job->span };
    o.row = sort_value_row;
    o.from.words = cpu_arg(call, HCY_ARG_AT(eval_sort_values, values));
    o.from.words += (size_t)job->offset[0] * bytes;
    o.first.words = cpu_arg(call, HCY_ARG_AT(eval_sort_values, sorted));
    o.first.words += (size_t)job->offset[1] * bytes;
    o.second.words = cpu_arg(call, HCY_ARG_AT(eval_sort_values, spare));
    return run_order(&o, call);
}

/* --- Keys and their places --- */

static void merge_row(const struct order *o, size_t begin)
{
    struct cpu_radix_lane from = lane_at(o->first, begin, 8), to = lane_at(o->second, begin, 8);
    const i64 *keys = (const i64 *)(void *)from.words;
    /* Each merge goes to the other half, and the last one shall go to the first. */
    if (count_merges(o->length) % 2) {
        struct cpu_radix_lane other = from;
        from = to;
        to = other;
    }
    for (size_t k = 0; k < o->length; k += HCY_SORT_RUN)
        sort_run((i64 *)(void *)from.words, from.places, keys, k,
                 o->length - k < HCY_SORT_RUN ? o->length : k + HCY_SORT_RUN);
    for (size_t width = HCY_SORT_RUN; width < o->length; width *= 2) {
        for (size_t k = 0; k < o->length; k += 2 * width)
            merge_runs((i64 *)(void *)to.words, to.places, (const i64 *)(const void *)from.words, from.places,
                       o->length, width, k, o->length - k < 2 * width ? o->length : k + 2 * width);
        struct cpu_radix_lane other = from;
        from = to;
        to = other;
    }
}

/* A row whose keys and places fit into words together: half as much moves. */
struct packing {
    uint64_t *words;
    const uint64_t *sorted;
    int64_t *keys, *places;
    struct cpu_radix_span span;
    unsigned places_bits;
    size_t begin;
};

static void pack_words(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct packing *p = context;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        uint64_t key = (uint64_t)p->keys[i] ^ hcy__sort_rules[HCY_EVAL_M_I64].sign;
        p->words[i] = (key - p->span.least) >> p->span.low << p->places_bits | i;
    }
}

static void unpack_words(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct packing *p = context;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        uint64_t word = p->sorted[i], key = (word >> p->places_bits << p->span.low) + p->span.least;
        p->places[i] = (int64_t)(word & (((uint64_t)1 << p->places_bits) - 1));
        p->keys[i] = (int64_t)(key ^ hcy__sort_rules[HCY_EVAL_M_I64].sign);
    }
}

static void for_words(const struct cpu_radix *r, size_t n, cpu_range_fn range, struct packing *p)
{
    if (r->pool)
        cpu_pool_for(r->pool, n, GRAIN, range, p);
    else
        range(p, 0, n, 0);
}

static void sort_packed(const struct cpu_radix *r, struct packing *p, struct cpu_radix_lane row,
                        struct cpu_radix_lane spare, size_t n)
{
    const struct cpu_radix words = { &hcy__sort_rules[HCY_EVAL_M_U64], r->pool, r->parts };
    const struct cpu_radix_span span = { .low = p->places_bits, .bits = p->span.bits };
    const unsigned passes = cpu_radix_passes(&span, n);
    struct cpu_radix_lane lanes[2] = { { row.words, NULL }, { spare.words, NULL } };
    p->keys = (int64_t *)(void *)row.words;
    p->words = (uint64_t *)(void *)row.words;
    p->places = row.places;
    p->sorted = (const uint64_t *)(const void *)lanes[passes % 2].words;
    for_words(r, n, pack_words, p);
    cpu_radix_sort(&words, lanes[passes % 2], lanes[1 - passes % 2], lanes[0], n, &span, passes);
    for_words(r, n, unpack_words, p);
}

static void sort_key_row(const struct order *o, const struct cpu_radix *r, size_t begin)
{
    if (o->length <= MERGED_MOST) {
        merge_row(o, begin);
        return;
    }
    struct cpu_radix_lane row = lane_at(o->first, begin, 8), spare = lane_at(o->second, begin, 8);
    struct packing p = { .span = cpu_radix_measure(r, row, o->length) };
    while ((o->length - 1) >> p.places_bits)
        p.places_bits++;
    unsigned passes = cpu_radix_passes(&p.span, o->length);
    if (p.span.bits + p.places_bits <= 64)
        sort_packed(r, &p, row, spare, o->length);
    else /* An even number of passes ends where it began. */
        cpu_radix_sort(r, row, spare, row, o->length, &p.span, passes + passes % 2);
}

int cpu_eval_sort(const struct cpu_call *call)
{
    const hcy_eval_job *job = call->values[HCY_ARG_AT(eval_sort, job)].bytes;
    int status = hcy__pick_check_sort(job, call->values);
    if (status || !job->n)
        return status;
    struct order o = { .memory = HCY_EVAL_M_I64, .n = (size_t)job->n, .length = (size_t)job->span };
    o.row = sort_key_row;
    o.first.words = cpu_arg(call, HCY_ARG_AT(eval_sort, keys));
    o.first.places = cpu_arg(call, HCY_ARG_AT(eval_sort, places));
    o.second.words = cpu_arg(call, HCY_ARG_AT(eval_sort, spare_keys));
    o.second.places = cpu_arg(call, HCY_ARG_AT(eval_sort, spare_places));
    return run_order(&o, call);
}
