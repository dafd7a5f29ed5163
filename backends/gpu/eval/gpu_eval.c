/* gpu_eval.c - launches of what moves elements of arrays: by their numbers, by their order. */
#include "gpu_priv.h"

#include "eval_pick_job.h"

#include <stdio.h>

#define GROUP 256u
typedef int64_t i64;
typedef uint64_t u64;
#define HELPER static inline
#include "eval_merge.h"

/* A text of whole numbers of `bytes`, `parts` of them an element. */
static int find_variant(struct gpu_variant **v, const struct gpu_call *call, const char *text, unsigned bytes,
                        unsigned parts)
{
    char options[GPU_OPTIONS_BYTES];
    snprintf(options, sizeof options, "-DGROUP_SIZE=%u -DWORD=uint%u_t -DPARTS=%u", gpu_group(call, GROUP), 8 * bytes,
             parts);
    return gpu_variant_get(v, call->kernel, text, options);
}

/* --- By number --- */

static int launch_pick(const struct gpu_call *call, bool takes)
{
    struct hcy__pick p;
    struct gpu_variant *v = NULL;
    int status = hcy__pick_open(&p, takes ? "eval_take" : "eval_put", call->values, takes);
    if (status || !p.job->n)
        return status;
    status = find_variant(&v, call, gpu_text_eval_pick, (unsigned)p.job->values[HCY_PICK_BYTES],
                          (unsigned)p.job->values[HCY_PICK_PARTS]);
    if (status)
        return status;
    const struct gpu_grid grid = gpu_groups_over(call, p.job->n, gpu_group(call, GROUP), 1);
    const struct gpu_arg picked = gpu_at(p.operands[HCY_PICK_PICKED], 0), array = gpu_at(p.operands[HCY_PICK_ARRAY], 0),
                         numbers = gpu_at(p.operands[HCY_PICK_NUMBERS], 0);
    if (takes)
        return GPU_STEP(call, v, "gpu_eval_take", &grid, GPU_BYTES(*p.job), GPU_BYTES(*p.strides), picked, array,
                        numbers);
    return GPU_STEP(call, v, "gpu_eval_put", &grid, GPU_BYTES(*p.job), GPU_BYTES(*p.strides), picked, array, numbers,
                    gpu_at(&call->values[HCY_ARG_AT(eval_put, owners)], 0));
}

static int launch_take(const struct gpu_call *call)
{
    return launch_pick(call, true);
}

static int launch_put(const struct gpu_call *call)
{
    return launch_pick(call, false);
}

/* Numbers to what a table has of each: 4 bytes, or 8. */
static int launch_table(const struct gpu_call *call, const char *who, const char *function, const hcy_eval_job *job,
                        const hcy_value *numbers, const hcy_value *table, size_t size)
{
    struct gpu_variant *v = NULL;
    int status = hcy__pick_check_table(job, who, numbers, table, size);
    if (!status && job->n)
        status = find_variant(&v, call, gpu_text_eval_pick, 8, 1);
    if (status || !job->n)
        return status;
    const struct gpu_grid grid = gpu_groups_over(call, job->n, gpu_group(call, GROUP), 1);
    return GPU_STEP(call, v, function, &grid, GPU_BYTES(job->n), GPU_BYTES(job->values[HCY_PICK_EXTENT]),
                    gpu_at(numbers, 0), gpu_at(table, 0));
}

static int launch_own(const struct gpu_call *call)
{
    const hcy_value *values = call->values;
    return launch_table(call, "eval_own", "gpu_eval_own", values[HCY_ARG_AT(eval_own, job)].bytes,
                        &values[HCY_ARG_AT(eval_own, numbers)], &values[HCY_ARG_AT(eval_own, owners)], 4);
}

static int launch_count(const struct gpu_call *call)
{
    const hcy_value *values = call->values;
    return launch_table(call, "eval_count", "gpu_eval_count", values[HCY_ARG_AT(eval_count, job)].bytes,
                        &values[HCY_ARG_AT(eval_count, numbers)], &values[HCY_ARG_AT(eval_count, counts)], 8);
}

/* --- By order --- */

/* Keys and places, twice: merges and digits' passes go from one to the other. */
struct sorted_half {
    struct gpu_arg keys, places;
};

static void find_halves(struct sorted_half half[2], const struct gpu_call *call)
{
    const hcy_value *values = call->values;
    half[0] = (struct sorted_half){ gpu_at(&values[HCY_ARG_AT(eval_sort, keys)], 0),
                                    gpu_at(&values[HCY_ARG_AT(eval_sort, places)], 0) };
    half[1] = (struct sorted_half){ gpu_at(&values[HCY_ARG_AT(eval_sort, spare_keys)], 0),
                                    gpu_at(&values[HCY_ARG_AT(eval_sort, spare_places)], 0) };
}

static int launch_merges(const struct gpu_call *call, const hcy_eval_job *job)
{
    struct gpu_variant *v = NULL;
    struct sorted_half half[2];
    int status = find_variant(&v, call, gpu_text_eval_order, 8, 1);
    if (status)
        return status;
    const uint64_t runs = job->n / job->span * ((job->span - 1) / HCY_SORT_RUN + 1);
    const struct gpu_grid grid = gpu_groups_over(call, runs, gpu_group(call, GROUP), 1);
    find_halves(half, call);
    /* Each merge goes to the other half, and the last one shall go to the first. */
    unsigned from = count_merges(job->span) % 2;
    status = GPU_STEP(call, v, "gpu_eval_runs", &grid, GPU_BYTES(job->n), GPU_BYTES(job->span), half[from].keys,
                      half[from].places, half[0].keys);
    for (uint64_t width = HCY_SORT_RUN; !status && width < job->span; width *= 2) {
        status = GPU_STEP(call, v, "gpu_eval_merge", &grid, GPU_BYTES(job->n), GPU_BYTES(job->span), GPU_BYTES(width),
                          half[1 - from].keys, half[1 - from].places, half[from].keys, half[from].places);
        from = 1 - from;
    }
    return status;
}

/* Rows that are sorted by digits (digits.cl): in so many passes, an even number, so that the last one goes to the first
 * half; 0: they are merged. */
struct digits {
    uint64_t tiles, rows; /* tiles of a row */
    unsigned passes;
    bool has_sign;
};

static struct digits find_digits(const hcy_eval_job *job)
{
    static const unsigned char passes[HCY_EVAL_MEMORIES] = {
        [HCY_EVAL_M_BOOL] = 2, [HCY_EVAL_M_I8] = 2,  [HCY_EVAL_M_U8] = 2,  [HCY_EVAL_M_I16] = 2,
        [HCY_EVAL_M_U16] = 2,  [HCY_EVAL_M_I32] = 4, [HCY_EVAL_M_U32] = 4, [HCY_EVAL_M_I64] = 8,
        [HCY_EVAL_M_U64] = 8,  [HCY_EVAL_M_F16] = 2, [HCY_EVAL_M_F32] = 4, [HCY_EVAL_M_F64] = 8,
    };
    struct digits d = { .passes = 0 };
    const uint64_t memory = job->values[HCY_PICK_MEMORY];
    /* A pass reads and writes a quarter more than a merge; counts are of 32 bits. */
    if (memory >= HCY_EVAL_MEMORIES || job->span < GPU_SORT_TILE || job->span > INT32_MAX ||
        count_merges(job->span) <= passes[memory])
        return d;
    d.passes = passes[memory];
    /* Of the largest integers order.c has turned the sign. */
    d.has_sign = memory != HCY_EVAL_M_U16 && memory != HCY_EVAL_M_U32;
    d.rows = job->n / job->span;
    d.tiles = (job->span - 1) / GPU_SORT_TILE + 1;
    return d;
}

enum { DIGITS = 256 };

/* A tile has a count for each digit, and a row what they come to; n has been checked. */
static size_t digits_bytes(const struct digits *d)
{
    return d->passes ? (size_t)(d->rows * (d->tiles + 1)) * DIGITS * sizeof(uint32_t) : 0;
}

static int order_scratch(size_t *size, const struct gpu_call *call)
{
    const hcy_eval_job *job = call->values[HCY_ARG_AT(eval_sort, job)].bytes;
    *size = 0;
    /* What is no job is refused when it is launched. */
    if (job->span && job->n <= SIZE_MAX / 16) {
        const struct digits d = find_digits(job);
        *size = digits_bytes(&d);
    }
    return 0;
}

static int launch_digits(const struct gpu_call *call, const hcy_eval_job *job, const struct digits *d)
{
    const hcy_value *scratch = &call->values[HCY_ARG_AT(eval_sort, scratch)];
    struct gpu_variant *v = NULL;
    struct sorted_half half[2];
    if (!scratch->block || scratch->bytes_left < digits_bytes(d))
        return hcy_fail(HCY_EINVAL, "eval_sort: too little scratch memory");
    int status = find_variant(&v, call, gpu_text_eval_digits, 8, 1);
    const uint32_t group = gpu_group(call, GROUP);
    const uint64_t all = d->rows * DIGITS;
    const struct gpu_grid over_tiles = gpu_groups_over(call, d->rows * d->tiles * group, group, 1),
                          over_digits = gpu_groups_over(call, all * group, group, 1);
    const struct gpu_arg counts = gpu_at(scratch, (size_t)all * sizeof(uint32_t)), totals = gpu_at(scratch, 0);
    find_halves(half, call);
    for (unsigned pass = 0; !status && pass < d->passes; pass++) {
        const struct sorted_half *from = &half[pass % 2], *to = &half[1 - pass % 2];
        const uint32_t shift = 8 * pass, turn = d->has_sign && pass + 1 == d->passes ? 128 : 0;
        status = GPU_STEP(call, v, "gpu_eval_digits", &over_tiles, GPU_BYTES(job->n), GPU_BYTES(job->span),
                          GPU_BYTES(d->tiles), GPU_BYTES(shift), GPU_BYTES(turn), from->keys, counts);
        if (!status)
            status = GPU_STEP(call, v, "gpu_eval_starts", &over_digits, GPU_BYTES(all), GPU_BYTES(d->tiles), counts,
                              totals);
        if (!status)
            status = GPU_STEP(call, v, "gpu_eval_deal", &over_tiles, GPU_BYTES(job->n), GPU_BYTES(job->span),
                              GPU_BYTES(d->tiles), GPU_BYTES(shift), GPU_BYTES(turn), to->keys, to->places, from->keys,
                              from->places, counts, totals);
    }
    return status;
}

static int launch_order(const struct gpu_call *call)
{
    const hcy_eval_job *job = call->values[HCY_ARG_AT(eval_sort, job)].bytes;
    int status = hcy__pick_check_sort(job, call->values);
    if (status || !job->n)
        return status;
    const struct digits d = find_digits(job);
    return d.passes ? launch_digits(call, job, &d) : launch_merges(call, job);
}

const struct gpu_kernel_kind gpu_eval_kernels[] = {
    { "eval_take", launch_take, gpu_no_scratch, NULL, GPU_BATCH, false },
    { "eval_put", launch_put, gpu_no_scratch, NULL, GPU_BATCH, false },
    { "eval_own", launch_own, gpu_no_scratch, NULL, GPU_BATCH, false },
    { "eval_count", launch_count, gpu_no_scratch, NULL, GPU_BATCH, false },
    { "eval_sort", launch_order, order_scratch, NULL, GPU_BATCH, false },
    { .name = NULL },
};
