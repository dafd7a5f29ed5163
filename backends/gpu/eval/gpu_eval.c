/* gpu_eval.c - launches of what moves elements of arrays by their numbers; gpu_order.c: by their order. */
#include "gpu_order.h"

#include "eval_pick_job.h"

#include <stdio.h>

#define GROUP 256u

/* The text, of whole numbers of `bytes`, `parts` of them an element. */
static int find_variant(struct gpu_variant **v, const struct gpu_call *call, unsigned bytes, unsigned parts)
{
    char options[GPU_OPTIONS_BYTES];
    snprintf(options, sizeof options, "-DGROUP_SIZE=%u -DWORD=uint%u_t -DPARTS=%u", gpu_group(call, GROUP), 8 * bytes,
             parts);
    return gpu_variant_get(v, call->kernel, gpu_text_eval_pick, options);
}

static int launch_pick(const struct gpu_call *call, bool takes)
{
    struct hcy__pick p;
    struct gpu_variant *v = NULL;
    int status = hcy__pick_open(&p, takes ? "eval_take" : "eval_put", call->values, takes);
    if (status || !p.job->n)
        return status;
    status = find_variant(&v, call, (unsigned)p.job->values[HCY_PICK_BYTES],
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
        status = find_variant(&v, call, 8, 1);
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

const struct gpu_kernel_kind gpu_eval_kernels[] = {
    { "eval_take", launch_take, gpu_no_scratch, NULL, GPU_BATCH, false },
    { "eval_put", launch_put, gpu_no_scratch, NULL, GPU_BATCH, false },
    { "eval_own", launch_own, gpu_no_scratch, NULL, GPU_BATCH, false },
    { "eval_count", launch_count, gpu_no_scratch, NULL, GPU_BATCH, false },
    { "eval_sort", gpu_sort, gpu_sort_scratch, NULL, GPU_BATCH, false },
    { "eval_sort_values", gpu_sort_values, gpu_sort_values_scratch, NULL, GPU_BATCH, false },
    { .name = NULL },
};
