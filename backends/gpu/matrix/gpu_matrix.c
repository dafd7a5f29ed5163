/* gpu_matrix.c - launches of products of matrices: how large tiles are, and the text for them. */
#include "gpu_priv.h"

#include "matrix_job.h"

#include <stdio.h>

enum { SIDE = 4, SIDES = 3 }; /* of an item's sums, as matrix.cl has it */

struct matrix_tiling {
    uint32_t rows, columns, counts[2], all; /* of a tile; tiles along columns and rows */
};

/* HCY_ERANGE: a launch numbers tiles by 32 bits. */
static int count_tiles(struct matrix_tiling *t, const hcy_matrix_job *job)
{
    const uint64_t across = (job->columns - 1) / t->columns + 1, down = (job->rows * job->parts - 1) / t->rows + 1;
    if (across > INT32_MAX / down || across * down > INT32_MAX / job->slices)
        return hcy_fail(HCY_ERANGE, "matrix: more than 2^31 tiles in a launch");
    t->counts[0] = (uint32_t)across;
    t->counts[1] = (uint32_t)down;
    t->all = (uint32_t)(across * down * job->slices);
    return 0;
}

/* Large tiles read least: an item's sums of small ones wait for near memory.  But a multiprocessor that has one tile
 * more than the others lets these wait.  What the last one takes, in sums of a tile times what one costs. */
static int choose_tiling(struct matrix_tiling *t, const struct gpu_call *call, const hcy_matrix_job *job)
{
    static const struct {
        uint32_t rows, columns, cost;
    } sides[SIDES] = { { 64, 64, 10 }, { 64, 32, 12 }, { 32, 32, 16 } };
    const uint32_t units = call->kernel->ops->units ? call->kernel->ops->units : 1;
    uint64_t least = UINT64_MAX;
    struct matrix_tiling one = { .rows = SIDE, .columns = SIDE };
    int status = 0;
    if (call->kernel->ops->alone) {
        *t = one;
        return count_tiles(t, job);
    }
    for (int i = 0; !status && i < SIDES; i++) {
        one.rows = sides[i].rows;
        one.columns = sides[i].columns;
        status = count_tiles(&one, job);
        const uint64_t last = (uint64_t)((one.all - 1) / units + 1) * one.rows * one.columns * sides[i].cost;
        if (status || last >= least)
            continue;
        least = last;
        *t = one;
    }
    return status;
}

static int find_matrix(struct gpu_variant **v, const struct gpu_call *call, const hcy_matrix_job *job,
                       const struct matrix_tiling *t)
{
    char options[GPU_OPTIONS_BYTES];
    snprintf(options, sizeof options, "-DGROUP_SIZE=%u -DREAL=%s -DPARTS=%u -DTILE_ROWS=%u -DTILE_COLUMNS=%u -DA_BY_ROWS=%d",
             t->rows * t->columns / (SIDE * SIDE), job->bytes == 4 ? "float" : "double", job->parts, t->rows, t->columns,
             job->a_steps[1] == 1);
    return gpu_variant_get(v, call->kernel, gpu_text_matrix, options);
}

static int launch_matrix(const struct gpu_call *call)
{
    hcy_matrix_job job;
    struct gpu_variant *v = NULL;
    struct matrix_tiling t = { 0 };
    int status = hcy__matrix_open(&job, call->values);
    if (!status)
        status = choose_tiling(&t, call, &job);
    if (!status)
        status = find_matrix(&v, call, &job, &t);
    if (status)
        return status;
    const uint32_t group = t.rows * t.columns / (SIDE * SIDE);
    const struct gpu_grid grid = gpu_groups_over(call, (uint64_t)t.all * group, group, 1);
    return GPU_STEP(call, v, "gpu_matrix", &grid, GPU_BYTES(job), GPU_BYTES(t.counts[0]), GPU_BYTES(t.counts[1]),
                    GPU_BYTES(t.all), gpu_at(&call->values[HCY_ARG_AT(matrix, a)], 0),
                    gpu_at(&call->values[HCY_ARG_AT(matrix, b)], 0), gpu_at(&call->values[HCY_ARG_AT(matrix, c)], 0));
}

const struct gpu_kernel_kind gpu_matrix_kernels[] = {
    { "matrix", launch_matrix, gpu_no_scratch, NULL, GPU_BATCH, false },
    { .name = NULL },
};
