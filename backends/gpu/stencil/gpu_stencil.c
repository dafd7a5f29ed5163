/* gpu_stencil.c - launches of sums of neighbours: tiles, and the text for a type and a number of axes. */
#include "gpu_priv.h"

#include "stencil_job.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* As stencil.cl has them. */
enum { GROUP = 256, TILE_REALS = 128, TILE_ROWS = 8, MARCH = 16, LEAST_RANK = 3 };

/* Axes of one element stand for those that are missing in front. */
static void pad_axes(hcy_stencil_job *job)
{
    const uint32_t more = job->rank < LEAST_RANK ? LEAST_RANK - job->rank : 0;
    memmove(job->axes + more, job->axes, job->rank * sizeof *job->axes);
    for (uint32_t d = 0; d < more; d++)
        job->axes[d] = (hcy_stencil_axis){ .size = 1, .extent = 1, .stride = 1 };
    job->rank += more;
}

/* Tiles along the last three axes, and all of them; HCY_ERANGE: a launch numbers them by 32 bits. */
static int count_tiles(uint32_t tiles[3], uint32_t *all, const hcy_stencil_job *job)
{
    static const uint32_t sides[3] = { TILE_REALS, TILE_ROWS, MARCH };
    uint64_t n = 1;
    for (uint32_t i = 0; i < job->rank; i++) {
        const hcy_stencil_axis *a = &job->axes[job->rank - 1 - i];
        const uint64_t size = i ? a->size : a->size * (uint64_t)a->stride,
                       count = i < 3 ? (size - 1) / sides[i] + 1 : size;
        /* Both are at most 32 bits long, so that their product is no more than 64. */
        if (count > INT32_MAX || n * count > INT32_MAX)
            return hcy_fail(HCY_ERANGE, "stencil: more than 2^31 tiles in a launch");
        n *= count;
        if (i < 3)
            tiles[i] = (uint32_t)count;
    }
    *all = (uint32_t)n;
    return 0;
}

static bool any_row_has(const hcy_stencil_axis *a, uint32_t k)
{
    bool any = false;
    for (uint32_t r = 0; r < HCY_STENCIL_ROWS; r++)
        any = any || a->rows[r][k];
    return any;
}

/* What the text knows of most elements: neighbours that count, axes that are terms. */
static void add_inner(char *options, size_t size, const hcy_stencil_job *job)
{
    uint64_t inner = 0;
    uint32_t terms = 0;
    for (uint32_t d = 0; d < job->rank && d < HCY_STENCIL_AXES; d++) {
        const hcy_stencil_axis *a = &job->axes[d];
        terms |= (uint32_t)(a->is_term != 0) << d;
        for (uint32_t k = 0; a->is_term && k < HCY_STENCIL_TAPS; k++)
            inner |= (uint64_t)(d + 1 < job->rank ? a->rows[HCY_STENCIL_EDGE][k] != 0 : any_row_has(a, k))
                      << (HCY_STENCIL_TAPS * d + k);
    }
    const hcy_stencil_axis *last = &job->axes[job->rank - 1];
    snprintf(options, size, " -DINNER=%lluul -DTERMS=%u -DFROM_APART=%d -DTO_APART=%d -DWHOLE=%d",
             (unsigned long long)inner, terms, job->from_step != 0, job->to_step != 0,
             last->size * (uint64_t)last->stride >= TILE_REALS);
}

static int find_stencil(struct gpu_variant **v, const struct gpu_call *call, const hcy_stencil_job *job)
{
    char options[GPU_OPTIONS_BYTES];
    const char *option = call->kernel->ops->no_contraction;
    int used = snprintf(options, sizeof options, "-DGROUP_SIZE=%u -DREAL=%s -DREAL_BITS=%u -DRANK=%u%s%s",
                        gpu_group(call, GROUP), job->bytes == 4 ? "float" : "double", 8 * job->bytes, job->rank,
                        option ? " " : "", option ? option : "");
    if (!call->kernel->ops->alone)
        add_inner(options + used, sizeof options - (size_t)used, job);
    return gpu_variant_get(v, call->kernel, gpu_text_stencil, options);
}

static int launch_stencil(const struct gpu_call *call)
{
    hcy_stencil_job job;
    struct gpu_variant *v = NULL;
    uint32_t tiles[3] = { 0 }, all = 0;
    int status = hcy__stencil_open(&job, call->values);
    if (status)
        return status;
    pad_axes(&job);
    status = count_tiles(tiles, &all, &job);
    if (!status)
        status = find_stencil(&v, call, &job);
    if (status)
        return status;
    const uint32_t group = gpu_group(call, GROUP);
    const struct gpu_grid grid = gpu_groups_over(call, (uint64_t)all * group, group, 1);
    /* The text knows of no axes but those that there are. */
    const struct gpu_arg axes = { .bytes = &job,
                                  .size = offsetof(hcy_stencil_job, axes) + job.rank * sizeof *job.axes };
    return GPU_STEP(call, v, "gpu_stencil", &grid, axes, GPU_BYTES(tiles[0]), GPU_BYTES(tiles[1]), GPU_BYTES(tiles[2]),
                    GPU_BYTES(all), gpu_at(&call->values[HCY_ARG_AT(stencil, from)], 0),
                    gpu_at(&call->values[HCY_ARG_AT(stencil, to)], 0));
}

const struct gpu_kernel_kind gpu_stencil_kernels[] = {
    { "stencil", launch_stencil, gpu_no_scratch, NULL, GPU_BATCH, false },
    { .name = NULL },
};
