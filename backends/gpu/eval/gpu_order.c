/* gpu_order.c - launches of sorts: of values, of keys with their places.  Both go by digits (digits.cl), keys of up to
 * 4 bytes in one word with their places; only rows whose keys are longer are merged (order.cl) where that is less. */
#include "gpu_order.h"

#include "eval_pick_job.h"

#include <stdio.h>

#define GROUP 256u
typedef int64_t i64;
typedef uint64_t u64;
#define HELPER static inline
#include "eval_merge.h"

enum { DIGITS = 256 };

/* Words, and their places if they go by themselves: what passes and merges go from, and to. */
struct lane {
    struct gpu_arg words, places;
};

/* How rows are sorted by digits: in so many passes, by the bytes of a word that begin at bit `shift`. */
struct digits {
    struct gpu_order order;
    uint32_t group, tile, shift;
    unsigned passes, bytes; /* bytes: of a word */
    bool floats, places;
};

static struct digits digits_of(const struct gpu_call *call, const hcy_eval_job *job, unsigned passes, unsigned bytes)
{
    struct digits d = { .group = gpu_group(call, GROUP), .tile = GPU_SORT_TILE, .passes = passes, .bytes = bytes };
    /* Lanes in step have so many elements each, and a short row has fewer of them. */
    for (; call->kernel->ops->lanes && d.group > GPU_LANES && job->span <= d.tile / 2; d.group /= 2)
        d.tile /= 2;
    d.order.rows = job->n / job->span;
    d.order.length = job->span;
    d.order.tiles = (job->span - 1) / d.tile + 1;
    return d;
}

/* A tile has a count for each digit, and a row what they come to; n has been checked. */
static size_t digits_bytes(const struct digits *d)
{
    return d->order.tiles > 1 ? (size_t)(d->order.rows * (d->order.tiles + 1)) * DIGITS * sizeof(uint32_t) : 0;
}

static int find_variant(struct gpu_variant **v, const struct gpu_call *call, const struct digits *d)
{
    char options[GPU_OPTIONS_BYTES];
    snprintf(options, sizeof options, "-DGROUP_SIZE=%u -DTILE=%u -DWORD=uint%u_t -DFLOATS=%d -DPLACES=%d", d->group,
             d->tile, 8 * d->bytes, d->floats, d->places);
    return gpu_variant_get(v, call->kernel, gpu_text_eval_digits, options);
}

static struct gpu_grid over_tiles(const struct gpu_call *call, const struct digits *d)
{
    return gpu_groups_over(call, d->order.rows * d->order.tiles * d->group, d->group, 1);
}

/* Rows of several tiles, pass after pass from `first` to lanes by turns, so that the last one goes to lanes[0]. */
static int launch_passes(const struct gpu_call *call, struct gpu_variant *v, const struct digits *d,
                         struct lane first, const struct lane lanes[2], const hcy_value *scratch)
{
    const struct gpu_order *o = &d->order;
    const uint64_t all = o->rows * DIGITS;
    const struct gpu_grid tiles = over_tiles(call, d), digits = gpu_groups_over(call, all * d->group, d->group, 1);
    const struct gpu_arg counts = gpu_at(scratch, (size_t)all * sizeof(uint32_t)), totals = gpu_at(scratch, 0);
    struct lane from = first;
    int status = 0;
    if (!scratch->block || scratch->bytes_left < digits_bytes(d))
        return hcy_fail(HCY_EINVAL, "a sort: too little scratch memory");
    for (unsigned pass = 0; !status && pass < d->passes; pass++) {
        const struct lane to = lanes[(d->passes - 1 - pass) % 2];
        const uint32_t shift = d->shift + 8 * pass;
        status = GPU_STEP(call, v, "gpu_eval_digits", &tiles, GPU_BYTES(*o), GPU_BYTES(shift), from.words, counts);
        if (!status)
            status = GPU_STEP(call, v, "gpu_eval_starts", &digits, GPU_BYTES(all), GPU_BYTES(o->tiles), counts, totals);
        if (!status)
            status = GPU_STEP(call, v, "gpu_eval_deal", &tiles, GPU_BYTES(*o), GPU_BYTES(shift), to.words, to.places,
                              from.words, from.places, counts, totals);
        from = to;
    }
    return status;
}

/* Words alone to `sorted`; `spare` has room for as many, and `from` is not `sorted`.  No kernel looks at what stands
 * for their places. */
static int launch_words(const struct gpu_call *call, struct gpu_variant *v, const struct digits *d,
                        struct gpu_arg sorted, struct gpu_arg spare, struct gpu_arg from, const hcy_value *scratch)
{
    const struct gpu_grid tiles = over_tiles(call, d);
    if (d->order.tiles == 1)
        return GPU_STEP(call, v, "gpu_eval_rows", &tiles, GPU_BYTES(d->order), GPU_BYTES(d->shift), sorted, from);
    return launch_passes(call, v, d, (struct lane){ from, from },
                         (struct lane[]){ { sorted, sorted }, { spare, spare } }, scratch);
}

/* --- Values --- */

static unsigned value_bytes(const hcy_eval_job *job)
{
    const uint64_t memory = job->values[HCY_PICK_MEMORY];
    return memory < HCY_EVAL_MEMORIES ? hcy__sort_rules[memory].bytes : 0;
}

static struct digits value_digits(const struct gpu_call *call, const hcy_eval_job *job)
{
    const struct hcy__sort_rule *rule = &hcy__sort_rules[job->values[HCY_PICK_MEMORY]];
    struct digits d = digits_of(call, job, rule->bytes, rule->bytes);
    d.floats = rule->infinity != 0;
    d.order.sign = rule->sign;
    d.order.infinity = rule->infinity;
    d.order.nan = rule->nan;
    return d;
}

int gpu_sort_values_scratch(size_t *size, const struct gpu_call *call)
{
    const hcy_eval_job *job = call->values[HCY_ARG_AT(eval_sort_values, job)].bytes;
    *size = 0;
    /* What is no job is refused when it is launched. */
    if (value_bytes(job) && job->span && job->n <= SIZE_MAX / 16) {
        const struct digits d = value_digits(call, job);
        *size = digits_bytes(&d);
    }
    return 0;
}

int gpu_sort_values(const struct gpu_call *call)
{
    const hcy_value *given = call->values;
    const hcy_eval_job *job = given[HCY_ARG_AT(eval_sort_values, job)].bytes;
    const size_t bytes = value_bytes(job);
    struct gpu_variant *v = NULL;
    int status = hcy__pick_check_sort_values(job, given, bytes);
    if (status || !job->n)
        return status;
    if (job->span > INT32_MAX) /* counts are of 32 bits */
        return hcy_fail(HCY_EUNSUPPORTED, "eval_sort_values: rows of more than %d values", INT32_MAX);
    const struct digits d = value_digits(call, job);
    const struct gpu_arg values = gpu_at(&given[HCY_ARG_AT(eval_sort_values, values)], job->offset[0] * bytes),
                         sorted = gpu_at(&given[HCY_ARG_AT(eval_sort_values, sorted)], job->offset[1] * bytes),
                         spare = gpu_at(&given[HCY_ARG_AT(eval_sort_values, spare)], 0);
    status = find_variant(&v, call, &d);
    return status ? status : launch_words(call, v, &d, sorted, spare, values,
                                          &given[HCY_ARG_AT(eval_sort_values, scratch)]);
}

/* --- Keys and their places --- */

enum key_way { BY_MERGES, BY_PLACES, PACKED };

static enum key_way choose_way(const hcy_eval_job *job)
{
    const uint64_t memory = job->values[HCY_PICK_MEMORY];
    if (memory >= HCY_EVAL_MEMORIES || job->span > INT32_MAX)
        return BY_MERGES;
    if (hcy__sort_rules[memory].bytes <= sizeof(uint32_t))
        return PACKED;
    /* A pass moves a quarter more than a merge; nine merges make a row of a tile, in place of eight passes. */
    return job->span <= GPU_SORT_TILE ? BY_MERGES : BY_PLACES;
}

static struct digits key_digits(const struct gpu_call *call, const hcy_eval_job *job)
{
    const uint64_t memory = job->values[HCY_PICK_MEMORY];
    const unsigned bytes = hcy__sort_rules[memory].bytes, passes = bytes ? bytes : 1; /* 0: a byte that is a bool */
    struct digits d = digits_of(call, job, passes, sizeof(uint64_t));
    d.places = choose_way(job) == BY_PLACES;
    d.shift = 64 - 8 * passes;
    /* Keys of 8 bytes all have a sign: order.c has turned it. */
    if (memory != HCY_EVAL_M_BOOL && memory != HCY_EVAL_M_U8 && memory != HCY_EVAL_M_U16 && memory != HCY_EVAL_M_U32)
        d.order.sign = (uint64_t)1 << 63;
    return d;
}

int gpu_sort_scratch(size_t *size, const struct gpu_call *call)
{
    const hcy_eval_job *job = call->values[HCY_ARG_AT(eval_sort, job)].bytes;
    *size = 0;
    if (job->span && job->n <= SIZE_MAX / 16 && choose_way(job) != BY_MERGES) {
        const struct digits d = key_digits(call, job);
        *size = digits_bytes(&d);
    }
    return 0;
}

static void find_lanes(struct lane lanes[2], const struct gpu_call *call)
{
    const hcy_value *values = call->values;
    lanes[0] = (struct lane){ gpu_at(&values[HCY_ARG_AT(eval_sort, keys)], 0),
                              gpu_at(&values[HCY_ARG_AT(eval_sort, places)], 0) };
    lanes[1] = (struct lane){ gpu_at(&values[HCY_ARG_AT(eval_sort, spare_keys)], 0),
                              gpu_at(&values[HCY_ARG_AT(eval_sort, spare_places)], 0) };
}

static int launch_merges(const struct gpu_call *call, const hcy_eval_job *job)
{
    struct gpu_variant *v = NULL;
    struct lane lanes[2];
    char options[GPU_OPTIONS_BYTES];
    snprintf(options, sizeof options, "-DGROUP_SIZE=%u", gpu_group(call, GROUP));
    int status = gpu_variant_get(&v, call->kernel, gpu_text_eval_order, options);
    if (status)
        return status;
    const uint64_t runs = job->n / job->span * ((job->span - 1) / HCY_SORT_RUN + 1);
    const struct gpu_grid grid = gpu_groups_over(call, runs, gpu_group(call, GROUP), 1);
    find_lanes(lanes, call);
    /* Each merge goes to the other lane, and the last one shall go to the first. */
    unsigned from = count_merges(job->span) % 2;
    status = GPU_STEP(call, v, "gpu_eval_runs", &grid, GPU_BYTES(job->n), GPU_BYTES(job->span), lanes[from].words,
                      lanes[from].places, lanes[0].words);
    for (uint64_t width = HCY_SORT_RUN; !status && width < job->span; width *= 2) {
        status = GPU_STEP(call, v, "gpu_eval_merge", &grid, GPU_BYTES(job->n), GPU_BYTES(job->span), GPU_BYTES(width),
                          lanes[1 - from].words, lanes[1 - from].places, lanes[from].words, lanes[from].places);
        from = 1 - from;
    }
    return status;
}

/* A key's bytes above its place, in a word: half as much moves.  Words go from spare memory to that of the keys, and
 * to and fro. */
static int launch_packed(const struct gpu_call *call, struct gpu_variant *v, const struct digits *d)
{
    const struct gpu_grid tiles = over_tiles(call, d);
    const bool ends_in_keys = d->order.tiles == 1 || d->passes % 2;
    struct lane lanes[2];
    find_lanes(lanes, call);
    const struct gpu_arg keys = lanes[0].words, spare = lanes[1].words, sorted = ends_in_keys ? keys : spare;
    int status = GPU_STEP(call, v, "gpu_eval_pack", &tiles, GPU_BYTES(d->order), GPU_BYTES(d->shift), spare, keys);
    if (!status)
        status = launch_words(call, v, d, sorted, ends_in_keys ? spare : keys, spare,
                              &call->values[HCY_ARG_AT(eval_sort, scratch)]);
    if (!status)
        status = GPU_STEP(call, v, "gpu_eval_unpack", &tiles, GPU_BYTES(d->order), GPU_BYTES(d->shift), keys,
                          lanes[0].places, sorted);
    return status;
}

int gpu_sort(const struct gpu_call *call)
{
    const hcy_eval_job *job = call->values[HCY_ARG_AT(eval_sort, job)].bytes;
    struct gpu_variant *v = NULL;
    struct lane lanes[2];
    int status = hcy__pick_check_sort(job, call->values);
    if (status || !job->n)
        return status;
    const enum key_way way = choose_way(job);
    if (way == BY_MERGES)
        return launch_merges(call, job);
    const struct digits d = key_digits(call, job);
    status = find_variant(&v, call, &d);
    if (!status && way == PACKED)
        return launch_packed(call, v, &d);
    find_lanes(lanes, call);
    return status ? status : launch_passes(call, v, &d, lanes[0], lanes, &call->values[HCY_ARG_AT(eval_sort, scratch)]);
}
