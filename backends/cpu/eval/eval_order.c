/* eval_order.c - rows of keys by size on the CPU: blocks that fit a core's cache are sorted by a thread each, and
 * merged by all threads, each making a piece of what is merged. */
#include "cpu_eval.h"

#include "eval_pick_job.h"

typedef int64_t i64;
typedef uint64_t u64;
#define HELPER static inline
#include "eval_merge.h"

/* Elements of a block, and of a piece of what is merged: HCY_SORT_RUN times a power of two. */
#define BLOCK 4096u

struct half {
    int64_t *keys, *places;
};

struct order {
    struct half from, to; /* of a merge */
    size_t length, width, blocks; /* of a row */
    int64_t *keys;        /* as they came */
};

/* The elements of block i of all rows. */
struct block {
    size_t row, begin, end; /* the row's first element, and within it */
};

static struct block find_block(const struct order *o, size_t i)
{
    struct block b = { i / o->blocks * o->length, i % o->blocks * BLOCK, 0 };
    b.end = o->length - b.begin < BLOCK ? o->length : b.begin + BLOCK;
    return b;
}

static void merge_block(struct half to, struct half from, const struct order *o, const struct block *b, size_t width)
{
    for (size_t begin = b->begin, end; begin < b->end; begin = end) {
        end = b->end - begin < 2 * width ? b->end : begin + 2 * width;
        merge_runs(to.keys + b->row, to.places + b->row, from.keys + b->row, from.places + b->row, o->length, width,
                   begin, end);
    }
}

static void sort_blocks(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct order *o = context;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        struct block b = find_block(o, i);
        struct half from = o->from, to = o->to;
        for (size_t k = b.begin; k < b.end; k += HCY_SORT_RUN)
            sort_run(from.keys + b.row, from.places + b.row, o->keys + b.row, k,
                     b.end - k < HCY_SORT_RUN ? b.end : k + HCY_SORT_RUN);
        for (size_t width = HCY_SORT_RUN; width < BLOCK && width < o->length; width *= 2) {
            merge_block(to, from, o, &b, width);
            struct half other = from;
            from = to;
            to = other;
        }
    }
}

static void merge_blocks(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct order *o = context;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        struct block b = find_block(o, i);
        merge_block(o->to, o->from, o, &b, o->width);
    }
}

int cpu_eval_sort(const struct cpu_call *call)
{
    const hcy_eval_job *job = call->values[HCY_ARG_AT(eval_sort, job)].bytes;
    int status = hcy__pick_check_sort(job, call->values);
    if (status || !job->n)
        return status;
    struct half main = { cpu_arg(call, HCY_ARG_AT(eval_sort, keys)), cpu_arg(call, HCY_ARG_AT(eval_sort, places)) },
                spare = { cpu_arg(call, HCY_ARG_AT(eval_sort, spare_keys)),
                          cpu_arg(call, HCY_ARG_AT(eval_sort, spare_places)) };
    struct order o = { .from = main, .to = spare, .length = (size_t)job->span, .keys = main.keys };
    o.blocks = (o.length - 1) / BLOCK + 1;
    size_t all = (size_t)job->n / o.length * o.blocks;
    /* Each merge goes to the other half, and the last one shall go to the first. */
    if (count_merges(o.length) % 2) {
        o.from = spare;
        o.to = main;
    }
    cpu_pool_for(call->pool, all, 1, sort_blocks, &o);
    /* Within blocks that was an odd number of merges: 8 to 4096. */
    _Static_assert(BLOCK == HCY_SORT_RUN << 9, "blocks are of so many merges");
    for (o.width = BLOCK; o.width < o.length; o.width *= 2) {
        struct half other = o.from;
        o.from = o.to;
        o.to = other;
        cpu_pool_for(call->pool, all, 1, merge_blocks, &o);
    }
    return 0;
}
