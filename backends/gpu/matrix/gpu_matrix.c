/* gpu_matrix.c - launches of products of matrices: how large tiles are, and the text for them. */
#include "gpu_priv.h"

#include "matrix_job.h"

#include <stdio.h>

/* A tile, and what of it an item makes; what a sum takes beside other shapes'. */
struct matrix_shape {
    uint32_t rows, columns, side_y, side_x, cost;
};
static const struct matrix_shape shapes[] = { { 64, 32, 4, 4, 10 }, { 32, 32, 4, 4, 12 } };
/* Of an item that is alone. */
static const struct matrix_shape lone = { 4, 4, 4, 4, 1 };

struct matrix_tiling {
    const struct matrix_shape *shape;
    uint32_t group, counts[2], all; /* items of a group; tiles along columns and rows */
};

/* HCY_ERANGE: a launch numbers tiles by 32 bits. */
static int count_tiles(struct matrix_tiling *t, const struct matrix_shape *shape, const hcy_matrix_job *job)
{
    const uint64_t across = (job->columns - 1) / shape->columns + 1,
                   down = (job->rows * job->parts - 1) / shape->rows + 1;
    if (across > INT32_MAX / down || across * down > INT32_MAX / job->slices)
        return hcy_fail(HCY_ERANGE, "matrix: more than 2^31 tiles in a launch");
    t->shape = shape;
    t->group = shape->rows / shape->side_y * (shape->columns / shape->side_x);
    t->counts[0] = (uint32_t)across;
    t->counts[1] = (uint32_t)down;
    t->all = (uint32_t)(across * down * job->slices);
    return 0;
}

/* Larger tiles read less, but a multiprocessor that has one tile more than the others lets these wait: what the
 * last one takes.  (64 x 64, of which registers leave one group a multiprocessor: 4096^3 12.0 ms on one H200,
 * 64 x 32 8.9, 32 x 32 9.6; 2000^2 x 200 0.20, 0.15, 0.18.) */
static int choose_tiling(struct matrix_tiling *t, const struct gpu_call *call, const hcy_matrix_job *job)
{
    const uint32_t units = call->kernel->ops->units ? call->kernel->ops->units : 1;
    uint64_t least = UINT64_MAX;
    struct matrix_tiling one;
    int status = 0;
    if (call->kernel->ops->alone)
        return count_tiles(t, &lone, job);
    for (size_t i = 0; !status && i < sizeof shapes / sizeof shapes[0]; i++) {
        status = count_tiles(&one, &shapes[i], job);
        const uint64_t last = status ? least
                                     : (uint64_t)((one.all - 1) / units + 1) * shapes[i].rows * shapes[i].columns *
                                           shapes[i].cost;
        if (last < least)
            *t = one;
        least = last < least ? last : least;
    }
    return status;
}

static int find_matrix(struct gpu_variant **v, const struct gpu_call *call, const hcy_matrix_job *job,
                       const struct matrix_tiling *t)
{
    char options[GPU_OPTIONS_BYTES];
    const struct matrix_shape *shape = t->shape;
    snprintf(options, sizeof options,
             "-DGROUP_SIZE=%u -DREAL=%s -DPARTS=%u -DTILE_ROWS=%u -DTILE_COLUMNS=%u -DSIDE_Y=%u -DSIDE_X=%u "
             "-DA_BY_ROWS=%d",
             t->group, job->bytes == 4 ? "float" : "double", job->parts, shape->rows, shape->columns, shape->side_y,
             shape->side_x, job->a_steps[1] == 1);
    return gpu_variant_get(v, call->kernel, gpu_text_matrix, options);
}

static int launch_matrix(const struct gpu_call *call)
{
    hcy_matrix_job job;
    struct gpu_variant *v = NULL;
    struct matrix_tiling t = { .shape = &lone };
    int status = hcy__matrix_open(&job, call->values);
    if (!status)
        status = choose_tiling(&t, call, &job);
    if (!status)
        status = find_matrix(&v, call, &job, &t);
    if (status)
        return status;
    const struct gpu_grid grid = gpu_groups_over(call, (uint64_t)t.all * t.group, t.group, 1);
    return GPU_STEP(call, v, "gpu_matrix", &grid, GPU_BYTES(job), GPU_BYTES(t.counts[0]), GPU_BYTES(t.counts[1]),
                    GPU_BYTES(t.all), gpu_at(&call->values[HCY_ARG_AT(matrix, a)], 0),
                    gpu_at(&call->values[HCY_ARG_AT(matrix, b)], 0), gpu_at(&call->values[HCY_ARG_AT(matrix, c)], 0));
}

const struct gpu_kernel_kind gpu_matrix_kernels[] = {
    { "matrix", launch_matrix, gpu_no_scratch, NULL, GPU_BATCH, false },
    { .name = NULL },
};
