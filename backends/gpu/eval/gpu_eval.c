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

/* Keys and places, twice: merges go from one to the other. */
struct sorted_half {
    struct gpu_arg keys, places;
};

static int launch_order(const struct gpu_call *call)
{
    const hcy_value *values = call->values;
    const hcy_eval_job *job = values[HCY_ARG_AT(eval_sort, job)].bytes;
    struct gpu_variant *v = NULL;
    int status = hcy__pick_check_sort(job, values);
    if (!status && job->n)
        status = find_variant(&v, call, gpu_text_eval_order, 8, 1);
    if (status || !job->n)
        return status;
    const uint64_t runs = job->n / job->span * ((job->span - 1) / HCY_SORT_RUN + 1);
    const struct gpu_grid grid = gpu_groups_over(call, runs, gpu_group(call, GROUP), 1);
    const struct sorted_half main = { gpu_at(&values[HCY_ARG_AT(eval_sort, keys)], 0),
                               gpu_at(&values[HCY_ARG_AT(eval_sort, places)], 0) },
                      spare = { gpu_at(&values[HCY_ARG_AT(eval_sort, spare_keys)], 0),
                                gpu_at(&values[HCY_ARG_AT(eval_sort, spare_places)], 0) };
    /* Each merge goes to the other half, and the last one shall go to the first. */
    bool odd = count_merges(job->span) % 2;
    struct sorted_half from = odd ? spare : main, to = odd ? main : spare;
    status = GPU_STEP(call, v, "gpu_eval_runs", &grid, GPU_BYTES(job->n), GPU_BYTES(job->span), from.keys, from.places,
                      main.keys);
    for (uint64_t width = HCY_SORT_RUN; !status && width < job->span; width *= 2) {
        status = GPU_STEP(call, v, "gpu_eval_merge", &grid, GPU_BYTES(job->n), GPU_BYTES(job->span), GPU_BYTES(width),
                          to.keys, to.places, from.keys, from.places);
        struct sorted_half other = from;
        from = to;
        to = other;
    }
    return status;
}

const struct gpu_kernel_kind gpu_eval_kernels[] = {
    { "eval_take", launch_take, gpu_no_scratch, NULL, GPU_BATCH, false },
    { "eval_put", launch_put, gpu_no_scratch, NULL, GPU_BATCH, false },
    { "eval_own", launch_own, gpu_no_scratch, NULL, GPU_BATCH, false },
    { "eval_count", launch_count, gpu_no_scratch, NULL, GPU_BATCH, false },
    { "eval_sort", launch_order, gpu_no_scratch, NULL, GPU_BATCH, false },
    { .name = NULL },
};
