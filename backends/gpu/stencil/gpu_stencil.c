/* gpu_stencil.c - launches of sums of neighbours: tiles, and the text for a type and a number of axes. */
#include "gpu_priv.h"

#include "stencil_job.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* As stencil.cl has them. */
enum { GROUP = 256, TILE_REALS = 128, TILE_ROWS = 8, MARCH = 8, LEAST_RANK = 3 };

/* How a launch is cut into tiles (stencil.cl). */
struct tiling {
    bool across;
    uint32_t march, counts[3], all; /* tiles along the last three axes, the last one first */
};

/* Axes of one element stand for those that are missing in front. */
static void pad_axes(hcy_stencil_job *job)
{
    const uint32_t more = job->rank < LEAST_RANK ? LEAST_RANK - job->rank : 0;
    memmove(job->axes + more, job->axes, job->rank * sizeof *job->axes);
    for (uint32_t d = 0; d < more; d++)
        job->axes[d] = (hcy_stencil_axis){ .size = 1, .extent = 1, .stride = 1 };
    job->rank += more;
}

/* HCY_ERANGE: a launch numbers tiles by 32 bits. */
static int count_tiles(struct tiling *t, const hcy_stencil_job *job)
{
    const uint32_t sides[3] = { TILE_REALS, TILE_ROWS * (t->across ? t->march : 1), t->across ? 1 : t->march };
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
            t->counts[i] = (uint32_t)count;
    }
    t->all = (uint32_t)n;
    return 0;
}

/* Long ways, as far as every multiprocessor has some groups. */
static int choose_tiling(struct tiling *t, const struct gpu_call *call, const hcy_stencil_job *job)
{
    const struct gpu_ops *ops = call->kernel->ops;
    int status;
    t->across = !ops->alone && job->axes[job->rank - 3].size == 1;
    for (t->march = MARCH;; t->march /= 2) {
        status = count_tiles(t, job);
        if (status || t->march == 1 || t->all >= ops->units * 8)
            return status;
    }
}

/* Reals from the first element's to behind the last one's. */
static uint64_t span_of(const hcy_stencil_job *job)
{
    uint64_t span = 1;
    for (uint32_t d = 0; d < job->rank; d++)
        span += (job->axes[d].size - 1) * (uint64_t)job->axes[d].stride;
    /* The last axis's elements may be two reals each. */
    return span + (uint64_t)job->axes[job->rank - 1].stride - 1;
}

static bool any_row_has(const hcy_stencil_axis *a, uint32_t k)
{
    bool any = false;
    for (uint32_t r = 0; r < HCY_STENCIL_ROWS; r++)
        any = any || a->rows[r][k];
    return any;
}

/* Whether a coefficient rounds to 0: the text with INNER would take it for one that does not count, which matters
 * where it meets what is infinite. */
static bool any_vanishes(const hcy_stencil_job *job)
{
    bool any = false;
    for (uint32_t d = 0; d < job->rank; d++)
        for (uint32_t r = 0; job->axes[d].is_term && r < HCY_STENCIL_ROWS; r++)
            for (uint32_t k = 0; k < HCY_STENCIL_TAPS; k++) {
                const hcy_stencil_axis *a = &job->axes[d];
                const double c = a->rows[r][k] * a->scale;
                any = any || (a->rows[r][k] && (job->bytes == 4 ? (double)(float)c : c) == 0);
            }
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
    snprintf(options, size, " -DINNER=%lluul -DTERMS=%u -DFROM_APART=%d -DTO_APART=%d -DWHOLE=%d -DBESIDE=%d",
             (unsigned long long)inner, terms, job->from_step != 0, job->to_step != 0,
             last->size * (uint64_t)last->stride >= TILE_REALS, (int)last->stride);
}

/* What both texts know; how many characters that are. */
static int start_options(char *options, const struct gpu_call *call, const hcy_stencil_job *job)
{
    const char *option = call->kernel->ops->no_contraction;
    return snprintf(options, GPU_OPTIONS_BYTES, "-DGROUP_SIZE=%u -DREAL=%s -DREAL_BITS=%u -DRANK=%u%s%s",
                    gpu_group(call, GROUP), job->bytes == 4 ? "float" : "double", 8 * job->bytes, job->rank,
                    option ? " " : "", option ? option : "");
}

static int find_stencil(struct gpu_variant **v, const struct gpu_call *call, const hcy_stencil_job *job, bool across)
{
    char options[GPU_OPTIONS_BYTES];
    int used = start_options(options, call, job);
    used += snprintf(options + used, sizeof options - (size_t)used, " -DACROSS=%d", across);
    if (!call->kernel->ops->alone && !any_vanishes(job))
        add_inner(options + used, sizeof options - (size_t)used, job);
    return gpu_variant_get(v, call->kernel, gpu_text_stencil, options);
}

static int launch_stencil(const struct gpu_call *call)
{
    hcy_stencil_job job;
    struct gpu_variant *v = NULL;
    struct tiling t = { 0 };
    int status = hcy__stencil_open(&job, call->values);
    if (status)
        return status;
    pad_axes(&job);
    status = choose_tiling(&t, call, &job);
    if (!status)
        status = find_stencil(&v, call, &job, t.across);
    if (status)
        return status;
    const uint32_t group = gpu_group(call, GROUP);
    const struct gpu_grid grid = gpu_groups_over(call, (uint64_t)t.all * group, group, 1);
    const uint64_t span = span_of(&job);
    /* The text knows of no axes but those that there are. */
    const struct gpu_arg axes = { .bytes = &job,
                                  .size = offsetof(hcy_stencil_job, axes) + job.rank * sizeof *job.axes };
    return GPU_STEP(call, v, "gpu_stencil", &grid, axes, GPU_BYTES(t.counts[0]), GPU_BYTES(t.counts[1]),
                    GPU_BYTES(t.counts[2]), GPU_BYTES(t.all), GPU_BYTES(t.march), GPU_BYTES(span),
                    gpu_at(&call->values[HCY_ARG_AT(stencil, from)], 0),
                    gpu_at(&call->values[HCY_ARG_AT(stencil, to)], 0));
}

/* --- Faces --- */

/* As faces.cl has them. */
enum { FACE_LANES = 32, FACE_AT_ONCE = 4 };

/* Items of the largest face; HCY_ERANGE: its reals are numbered by 32 bits. */
static int find_largest(uint64_t *items, const hcy_stencil_job *job, const hcy_stencil_faces *faces)
{
    const uint32_t last = job->rank - 1, side = FACE_LANES * FACE_AT_ONCE;
    *items = 0;
    for (uint32_t face = 0; face < 2 * job->rank; face++) {
        uint64_t lines = 1, length = 0;
        for (uint32_t d = 0; d < job->rank; d++) {
            uint64_t first, end;
            find_face(&first, &end, job, faces, face / 2, face % 2, d);
            length = (end - first) * (uint64_t)job->axes[last].stride;
            lines *= d < last ? end - first : 1;
        }
        const uint64_t width = length < side ? length : ((length - 1) / side + 1) * FACE_LANES;
        if (lines * length > UINT32_MAX)
            return hcy_fail(HCY_ERANGE, "stencil: more than 2^32 numbers in a face");
        *items = lines * width > *items ? lines * width : *items;
    }
    return 0;
}

static int launch_faces(const struct gpu_call *call)
{
    hcy_stencil_faces faces[HCY_STENCIL_AXES];
    hcy_stencil_job job;
    struct gpu_variant *v = NULL;
    char options[GPU_OPTIONS_BYTES];
    uint64_t items = 0;
    int status = hcy__stencil_open_faces(&job, faces, call->values);
    if (!status)
        status = find_largest(&items, &job, faces);
    if (status || !items)
        return status;
    start_options(options, call, &job);
    status = gpu_variant_get(&v, call->kernel, gpu_text_faces, options);
    if (status)
        return status;
    const struct gpu_grid grid = gpu_groups_over(call, items, gpu_group(call, GROUP), 2 * job.rank);
    const struct gpu_arg axes = { .bytes = &job,
                                  .size = offsetof(hcy_stencil_job, axes) + job.rank * sizeof *job.axes };
    const struct gpu_arg around = { .bytes = faces, .size = job.rank * sizeof *faces };
    return GPU_STEP(call, v, "gpu_stencil_faces", &grid, axes, around,
                    gpu_at(&call->values[HCY_ARG_AT(stencil_faces, from)], 0),
                    gpu_at(&call->values[HCY_ARG_AT(stencil_faces, ghosts)], 0),
                    gpu_at(&call->values[HCY_ARG_AT(stencil_faces, to)], 0));
}

const struct gpu_kernel_kind gpu_stencil_kernels[] = {
    { "stencil", launch_stencil, gpu_no_scratch, NULL, GPU_BATCH, false },
    { "stencil_faces", launch_faces, gpu_no_scratch, NULL, GPU_BATCH, false },
    { .name = NULL },
};
