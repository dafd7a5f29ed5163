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

/* MOST_LENGTH: what tiles tell one another has two bits beside the number. */
enum { DIGITS = 256, MOST_LENGTH = (1 << 30) - 1 };

/* Words, and their places if they go by themselves: what passes and merges go from, and to. */
struct lane {
    struct gpu_arg words, places;
};

/* How rows are sorted by digits: in so many passes, by the bytes of a word that begin at bit `shift`. */
struct digits {
    struct gpu_order order;
    uint32_t group, tile, shift;
    unsigned passes, bytes; /* bytes: of a word */
    bool floats, places, packed; /* packed: keys and places in one word */
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

/* Is a pass one launch?  Else it is several. */
static bool sweeps(const struct gpu_call *call)
{
    return call->kernel->ops->lanes;
}

/* Words of scratch: of each pass's digits by row, of each digit by tile, and two of each pass.  Where a pass is several
 * launches, passes have the same ones.  n has been checked. */
struct scratch {
    uint64_t totals, tiles, passes;
};

static struct scratch scratch_of(const struct gpu_call *call, const struct digits *d)
{
    const bool all = sweeps(call);
    return (struct scratch){ d->order.rows * DIGITS * (all ? d->passes : 1), d->order.rows * d->order.tiles * DIGITS,
                             all ? 2 * d->passes : 0 };
}

static size_t digits_bytes(const struct gpu_call *call, const struct digits *d)
{
    const struct scratch s = scratch_of(call, d);
    return d->order.tiles > 1 ? (size_t)(s.totals + s.tiles + s.passes) * sizeof(uint32_t) : 0;
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

/* A pass of launches that count, sum up and deal (digits_plain.cl). */
static int launch_pass(const struct gpu_call *call, struct gpu_variant *v, const struct digits *d, unsigned pass,
                       struct lane to, struct lane from, const hcy_value *scratch)
{
    const struct gpu_order *o = &d->order;
    const uint64_t all = o->rows * DIGITS;
    const uint32_t shift = d->shift + 8 * pass;
    const struct gpu_grid tiles = over_tiles(call, d), digits = gpu_groups_over(call, all * d->group, d->group, 1);
    const struct gpu_arg counts = gpu_at(scratch, (size_t)all * sizeof(uint32_t)), totals = gpu_at(scratch, 0);
    int status =
        GPU_STEP(call, v, "gpu_eval_digits", &tiles, GPU_BYTES(*o), GPU_BYTES(shift), from.words, counts);
    if (!status)
        status = GPU_STEP(call, v, "gpu_eval_starts", &digits, GPU_BYTES(all), GPU_BYTES(o->tiles), counts, totals);
    if (!status)
        status = GPU_STEP(call, v, "gpu_eval_deal", &tiles, GPU_BYTES(*o), GPU_BYTES(shift), to.words, to.places,
                          from.words, from.places, counts, totals);
    return status;
}

/* Rows of several tiles, pass after pass from `first` to lanes by turns, so that the last one goes to lanes[0]. */
static int launch_passes(const struct gpu_call *call, struct gpu_variant *v, const struct digits *d,
                         struct lane first, const struct lane lanes[2], const hcy_value *scratch)
{
    struct lane from = first;
    int status = 0;
    for (unsigned pass = 0; !status && pass < d->passes; pass++) {
        const struct lane to = lanes[(d->passes - 1 - pass) % 2];
        status = launch_pass(call, v, d, pass, to, from, scratch);
        from = to;
    }
    return status;
}

/* What sweeps go from and to (digits_lanes.cl): packed words are made of `keys` in words[0]; `ends`: words shall end in
 * words[1], else places alone in places[0]. */
struct swept {
    struct gpu_arg keys, words[3], places[2];
    uint32_t ends;
};

/* All passes' digits are counted in one go, in which keys become words. */
static int launch_totals(const struct gpu_call *call, struct gpu_variant *v, const struct digits *d,
                         const struct swept *w, const hcy_value *scratch)
{
    const struct gpu_order *o = &d->order;
    const struct scratch s = scratch_of(call, d);
    const uint64_t all = s.totals + s.tiles + s.passes;
    /* Few groups that count much each, because what they have counted is added to what others have. */
    const uint64_t busy = (uint64_t)call->kernel->ops->units * 4, wanted = o->rows < busy ? busy / o->rows : 1,
                   parts = wanted < o->tiles ? wanted : o->tiles;
    const uint32_t passes = d->passes, pack = d->packed;
    const struct gpu_grid clear = gpu_groups_over(call, all, d->group, 1),
                          count = gpu_groups_over(call, o->rows * parts * d->group, d->group, 1),
                          scan = gpu_groups_over(call, o->rows * passes * d->group, d->group, 1);
    const struct gpu_arg totals = gpu_at(scratch, 0),
                         needed = gpu_at(scratch, (size_t)(s.totals + s.tiles) * sizeof(uint32_t));
    int status = GPU_STEP(call, v, "gpu_eval_clear", &clear, GPU_BYTES(all), totals);
    if (!status)
        status = GPU_STEP(call, v, "gpu_eval_totals", &count, GPU_BYTES(*o), GPU_BYTES(d->shift), GPU_BYTES(passes),
                          GPU_BYTES(parts), GPU_BYTES(pack), w->words[0], w->keys, totals);
    return status ? status
                  : GPU_STEP(call, v, "gpu_eval_bases", &scan, GPU_BYTES(*o), GPU_BYTES(passes), totals, needed);
}

/* Rows of several tiles, where a pass is one launch. */
static int launch_sweeps(const struct gpu_call *call, struct gpu_variant *v, const struct digits *d,
                         const struct swept *w, const hcy_value *scratch)
{
    const struct scratch s = scratch_of(call, d);
    const struct gpu_grid tiles = over_tiles(call, d);
    const uint32_t passes = d->passes;
    const uint64_t place_bits = d->packed ? ((uint64_t)1 << d->shift) - 1 : 0;
    const struct gpu_arg told = gpu_at(scratch, (size_t)s.totals * sizeof(uint32_t)),
                         needed = gpu_at(scratch, (size_t)(s.totals + s.tiles) * sizeof(uint32_t)),
                         tickets = gpu_at(scratch, (size_t)(s.totals + s.tiles + passes) * sizeof(uint32_t));
    int status = launch_totals(call, v, d, w, scratch);
    for (uint32_t pass = 0; !status && pass < passes; pass++) {
        const uint32_t shift = d->shift + 8 * pass;
        status = GPU_STEP(call, v, "gpu_eval_sweep", &tiles, GPU_BYTES(d->order), GPU_BYTES(shift), GPU_BYTES(pass),
                          GPU_BYTES(passes), GPU_BYTES(w->ends), GPU_BYTES(place_bits), w->words[0], w->words[1],
                          w->words[2], w->places[0], w->places[1], gpu_at(scratch, 0), told, needed, tickets);
    }
    return status;
}

static int check_scratch(const struct gpu_call *call, const struct digits *d, const hcy_value *scratch)
{
    const size_t bytes = digits_bytes(call, d);
    return bytes && (!scratch->block || scratch->bytes_left < bytes)
               ? hcy_fail(HCY_EINVAL, "a sort: too little scratch memory")
               : 0;
}

/* Words alone to `sorted`; `spare` has room for as many, and `from` is not `sorted`.  No kernel looks at what stands
 * for their places. */
static int launch_words(const struct gpu_call *call, struct gpu_variant *v, const struct digits *d,
                        struct gpu_arg sorted, struct gpu_arg spare, struct gpu_arg from, const hcy_value *scratch)
{
    const struct gpu_grid tiles = over_tiles(call, d);
    const struct swept w = { from, { from, sorted, spare }, { sorted, spare }, true };
    if (d->order.tiles == 1)
        return GPU_STEP(call, v, "gpu_eval_rows", &tiles, GPU_BYTES(d->order), GPU_BYTES(d->shift), sorted, from);
    return sweeps(call) ? launch_sweeps(call, v, d, &w, scratch)
                        : launch_passes(call, v, d, (struct lane){ from, from },
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
        *size = digits_bytes(call, &d);
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
    if (job->span > MOST_LENGTH)
        return hcy_fail(HCY_EUNSUPPORTED, "eval_sort_values: rows of more than %d values", MOST_LENGTH);
    const struct digits d = value_digits(call, job);
    const struct gpu_arg values = gpu_at(&given[HCY_ARG_AT(eval_sort_values, values)], job->offset[0] * bytes),
                         sorted = gpu_at(&given[HCY_ARG_AT(eval_sort_values, sorted)], job->offset[1] * bytes),
                         spare = gpu_at(&given[HCY_ARG_AT(eval_sort_values, spare)], 0);
    const hcy_value *scratch = &given[HCY_ARG_AT(eval_sort_values, scratch)];
    status = check_scratch(call, &d, scratch);
    if (!status)
        status = find_variant(&v, call, &d);
    return status ? status : launch_words(call, v, &d, sorted, spare, values, scratch);
}

/* --- Keys and their places --- */

enum key_way { BY_MERGES, BY_PLACES, PACKED };

static enum key_way choose_way(const hcy_eval_job *job)
{
    const uint64_t memory = job->values[HCY_PICK_MEMORY];
    if (memory >= HCY_EVAL_MEMORIES || job->span > MOST_LENGTH)
        return BY_MERGES;
    if (hcy__sort_rules[memory].bytes <= sizeof(uint32_t))
        return PACKED;
    /* A pass moves as much as a merge, and what counts its digits a quarter more; nine merges make a row of a tile, in
     * place of eight passes. */
    return job->span <= GPU_SORT_TILE ? BY_MERGES : BY_PLACES;
}

static struct digits key_digits(const struct gpu_call *call, const hcy_eval_job *job)
{
    const uint64_t memory = job->values[HCY_PICK_MEMORY];
    const unsigned bytes = hcy__sort_rules[memory].bytes, passes = bytes ? bytes : 1; /* 0: a byte that is a bool */
    struct digits d = digits_of(call, job, passes, sizeof(uint64_t));
    d.places = choose_way(job) == BY_PLACES;
    d.packed = choose_way(job) == PACKED;
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
        *size = digits_bytes(call, &d);
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
static int launch_packed(const struct gpu_call *call, struct gpu_variant *v, const struct digits *d,
                         const struct lane lanes[2], const hcy_value *scratch)
{
    const struct gpu_arg keys = lanes[0].words, spare = lanes[1].words, places = lanes[0].places;
    const struct gpu_grid tiles = over_tiles(call, d);
    const bool one_tile = d->order.tiles == 1, ends_in_keys = one_tile || d->passes % 2;
    const struct gpu_arg sorted = ends_in_keys ? keys : spare;
    if (sweeps(call) && !one_tile)
        return launch_sweeps(call, v, d, &(struct swept){ keys, { spare, keys, spare }, { places, places }, false },
                             scratch);
    int status = GPU_STEP(call, v, "gpu_eval_pack", &tiles, GPU_BYTES(d->order), GPU_BYTES(d->shift), spare, keys);
    if (!status)
        status = launch_words(call, v, d, sorted, ends_in_keys ? spare : keys, spare, scratch);
    return status ? status : GPU_STEP(call, v, "gpu_eval_unpack", &tiles, GPU_BYTES(d->order), GPU_BYTES(d->shift),
                                      places, sorted);
}

/* Keys to spare memory and back, and places with them. */
static int launch_apart(const struct gpu_call *call, struct gpu_variant *v, const struct digits *d,
                        const struct lane lanes[2], const hcy_value *scratch)
{
    const struct swept w = { lanes[0].words, { lanes[0].words, lanes[1].words, lanes[0].words },
                             { lanes[0].places, lanes[1].places }, false };
    return sweeps(call) ? launch_sweeps(call, v, d, &w, scratch) : launch_passes(call, v, d, lanes[0], lanes, scratch);
}

int gpu_sort(const struct gpu_call *call)
{
    const hcy_eval_job *job = call->values[HCY_ARG_AT(eval_sort, job)].bytes;
    const hcy_value *scratch = &call->values[HCY_ARG_AT(eval_sort, scratch)];
    struct gpu_variant *v = NULL;
    struct lane lanes[2];
    int status = hcy__pick_check_sort(job, call->values);
    if (status || !job->n)
        return status;
    const enum key_way way = choose_way(job);
    if (way == BY_MERGES)
        return launch_merges(call, job);
    const struct digits d = key_digits(call, job);
    find_lanes(lanes, call);
    status = check_scratch(call, &d, scratch);
    if (!status)
        status = find_variant(&v, call, &d);
    return status ? status : (way == PACKED ? launch_packed : launch_apart)(call, v, &d, lanes, scratch);
}
