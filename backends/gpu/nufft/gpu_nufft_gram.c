/* gpu_nufft_gram.c - launches of nufft_gram: passes over the axes, without zeros (gram.cl).
 *
 * With n numbers of an image's axis and m of the grid's, a coil in 3-D goes from the image to [planes][n1][m2], to
 * [n0][m1][m2], there along the first axis and back in place, and the same way back.  The first and the last of these
 * are only a chunk of planes large, small enough to stay in a device's cache between two passes.  In 2-D all coils of a
 * launch go at once, by [items][n0][m1].  The host waits for nothing.
 */
#include "fft_plan.h"
#include "gpu_priv.h"

#include <stdio.h>

#define AT(name) HCY_ARG_AT(nufft_gram, name)

enum {
    MOST_ROWS = 65535,        /* of groups in the second direction of a grid */
    MOST_PASSES = 6,          /* gram.cl's radices */
    LINE_BYTES = 75 << 10,    /* local memory of a group, so that three fit a multiprocessor; */
    LEAST_LINE_BYTES = 32768, /* what devices have that do not say */
    CHUNK_BYTES = 24 << 20,
    MOST_LINES = 8,           /* of a group: 64 bytes side by side in float */
    MOST_ITEMS = 512
};

struct gram {
    const struct gpu_call *call;
    const hcy_nufft_job *job;
    size_t number, pixels, cells; /* bytes of a number; numbers of an image, of the grid */
    uint32_t dim, last;
    uint32_t lines[3], items[3];  /* of a group that has lines of an axis */
    size_t roots[3], roots_bytes; /* where an axis has its own, bytes */
    size_t planes, chunk, bytes;  /* 3-D: of a chunk; its bytes; scratch memory in all */
    struct gpu_variant *variants[3];
};

/* Lines and items of groups on an axis.  HCY_EUNSUPPORTED: its lines do not fit. */
static int set_axis(struct gram *g, uint32_t d)
{
    const struct gpu_ops *ops = g->call->kernel->ops;
    const size_t length = (size_t)g->job->grid[d];
    const size_t has = ops->local_bytes ? ops->local_bytes : LEAST_LINE_BYTES;
    const size_t most = has < LINE_BYTES ? has : LINE_BYTES;
    unsigned list[HCY_FFT_MOST_PASSES];
    if (!g->job->modes[d] || g->job->modes[d] > g->job->grid[d] || length > LINE_BYTES)
        return hcy_fail(HCY_EUNSUPPORTED, "nufft_gram: axis %u has %llu numbers of %llu", d,
                        (unsigned long long)g->job->modes[d], (unsigned long long)g->job->grid[d]);
    const unsigned passes = hcy_fft_factor(list, length);
    if (!passes || passes > MOST_PASSES)
        return hcy_fail(HCY_EUNSUPPORTED, "nufft_gram: axis %u has %zu numbers, which are no product of few radices", d,
                        length);
    const size_t line = 2 * (length + length / 8) * g->number;
    g->lines[d] = MOST_LINES;
    while (g->lines[d] > 1 && g->lines[d] * line > most)
        g->lines[d] /= 2;
    if (g->lines[d] * line > most)
        return hcy_fail(HCY_EUNSUPPORTED, "nufft_gram: a line of %zu numbers does not fit local memory", length);
    /* An item for each transform of eight numbers. */
    size_t items = (g->lines[d] * length / 8 + 31) / 32 * 32;
    g->items[d] = gpu_group(g->call, (uint32_t)(items < MOST_ITEMS ? items : MOST_ITEMS));
    g->roots[d] = g->roots_bytes;
    g->roots_bytes += length * g->number;
    return 0;
}

static int set_scratch(struct gram *g)
{
    const hcy_nufft_job *job = g->job;
    size_t plane, whole;
    if (g->dim == 2) {
        int status = hcy_size_mul(&whole, (size_t)job->modes[0] * (size_t)job->grid[1] * g->number, g->call->items);
        g->bytes = status ? 0 : whole;
        return status;
    }
    plane = (size_t)job->modes[1] * (size_t)job->grid[2] * g->number;
    g->planes = plane < CHUNK_BYTES ? CHUNK_BYTES / plane : 1;
    if (g->planes > job->modes[0])
        g->planes = (size_t)job->modes[0];
    g->chunk = (g->planes * plane + 255) / 256 * 256;
    int status = hcy_size_mul(&whole, (size_t)job->modes[0] * (size_t)job->grid[1], (size_t)job->grid[2] * g->number);
    return status ? status : hcy_size_add(&g->bytes, whole, g->chunk);
}

static int open_gram(struct gram *g, const struct gpu_call *call)
{
    const hcy_nufft_job *job = call->values[AT(job)].bytes;
    if (job->dim < 2 || job->dim > 3 || job->precision < 1 || job->precision > 2)
        return hcy_fail(HCY_EUNSUPPORTED, "nufft_gram: a job with %u axes, precision %u", job->dim, job->precision);
    *g = (struct gram){ .call = call, .job = job, .number = job->precision == HCY_F64 ? 16 : 8, .pixels = 1, .cells = 1,
                        .dim = job->dim, .last = job->dim - 1 };
    int status = 0;
    for (uint32_t d = 0; d < g->dim && !status; d++) {
        status = set_axis(g, d);
        /* Axes are short enough that these products cannot overflow. */
        g->pixels *= (size_t)job->modes[d];
        g->cells *= (size_t)job->grid[d];
    }
    return status ? status : set_scratch(g);
}

int gpu_nufft_gram_scratch(size_t *size, const struct gpu_call *call)
{
    struct gram g;
    int status = open_gram(&g, call);
    *size = status ? 0 : g.bytes;
    return status;
}

static bool has_bytes(const hcy_value *v, size_t n, size_t size)
{
    return v->block && v->bytes_left / size >= n;
}

static int check_gram(const struct gram *g)
{
    const hcy_value *values = g->call->values;
    size_t maps;
    if (hcy_size_mul(&maps, g->pixels, g->job->flags & HCY_NUFFT_GRAM_PLAIN ? 1 : g->call->items) ||
        !has_bytes(&values[AT(image)], g->pixels, g->number) || !has_bytes(&values[AT(maps)], maps, g->number) ||
        !has_bytes(&values[AT(spectrum)], g->cells, g->number / 2) ||
        !has_bytes(&values[AT(result)], g->pixels, g->number) ||
        !has_bytes(&values[AT(roots)], g->roots_bytes, 1) || !has_bytes(&values[AT(scratch)], g->bytes, 1))
        return hcy_fail(HCY_EINVAL, "nufft_gram: a buffer is smaller than the job says");
    return 0;
}

static int compile_axis(struct gram *g, uint32_t d)
{
    char options[GPU_OPTIONS_BYTES];
    unsigned list[HCY_FFT_MOST_PASSES];
    const unsigned passes = hcy_fft_factor(list, (size_t)g->job->grid[d]);
    int used = snprintf(options, sizeof options,
                        "-DGROUP_SIZE=%u -DREAL=%s -DLENGTH=%uu -DLINES=%uu -DSTRIDED=%d -DPASSES=%u", g->items[d],
                        g->number == 16 ? "double" : "float", (unsigned)g->job->grid[d], g->lines[d], d < g->last,
                        passes);
    for (unsigned i = 0; i < passes; i++)
        used += snprintf(options + used, sizeof options - (size_t)used, " -DR%u=%u", i, list[i]);
    return gpu_variant_get(&g->variants[d], g->call->kernel, gpu_text_nufft_gram, options);
}

/* Groups for `inner` lines side by side or one behind the other, in `outer` blocks. */
static struct gpu_grid grid_of(const struct gram *g, uint32_t d, uint64_t inner, uint64_t outer)
{
    const size_t line = 2 * (size_t)(g->job->grid[d] + g->job->grid[d] / 8) * g->number;
    return (struct gpu_grid){ { (uint32_t)((inner + g->lines[d] - 1) / g->lines[d]),
                                (uint32_t)(outer < MOST_ROWS ? outer : MOST_ROWS) },
                              g->items[d],
                              (uint32_t)(g->lines[d] * line) };
}

static struct gpu_arg roots_of(const struct gram *g, uint32_t d)
{
    return gpu_at(&g->call->values[AT(roots)], g->roots[d]);
}

/* Rows of the image from `row` on, times maps of coils from `item` on, to the begin of scratch memory. */
static int launch_first(const struct gram *g, size_t item, size_t items, size_t row, size_t rows)
{
    const hcy_value *values = g->call->values;
    const bool plain = g->job->flags & HCY_NUFFT_GRAM_PLAIN;
    const struct gpu_nufft_gram gram = { .inner = rows, .outer = items, .coil = g->pixels,
                                         .n = (uint32_t)g->job->modes[g->last], .plain = plain };
    const struct gpu_grid grid = grid_of(g, g->last, rows, items);
    const size_t at = row * gram.n * g->number, of_item = plain ? 0 : item * g->pixels * g->number;
    return GPU_STEP(g->call, g->variants[g->last], "gpu_gram_first", &grid, GPU_BYTES(gram),
                    gpu_at(&values[AT(image)], at), gpu_at(&values[AT(maps)], at + of_item), roots_of(g, g->last),
                    gpu_at(&values[AT(scratch)], 0));
}

/* From there to the result's rows. */
static int launch_last(const struct gram *g, size_t item, size_t items, size_t row, size_t rows)
{
    const hcy_value *values = g->call->values;
    const bool plain = g->job->flags & HCY_NUFFT_GRAM_PLAIN;
    const struct gpu_nufft_gram gram = { .inner = rows, .outer = items, .coil = g->pixels,
                                         .n = (uint32_t)g->job->modes[g->last], .plain = plain,
                                         .adds = item || g->job->flags & HCY_NUFFT_GRAM_ADDS };
    const struct gpu_grid grid = grid_of(g, g->last, rows, 1);
    const size_t at = row * gram.n * g->number, of_item = plain ? 0 : item * g->pixels * g->number;
    return GPU_STEP(g->call, g->variants[g->last], "gpu_gram_last", &grid, GPU_BYTES(gram),
                    gpu_at(&values[AT(scratch)], 0), gpu_at(&values[AT(maps)], at + of_item), roots_of(g, g->last),
                    gpu_at(&values[AT(result)], at));
}

/* Along the first axis there and back: `inner` lines side by side in each of `outer` blocks, at `offset` in scratch. */
static int launch_through(const struct gram *g, uint64_t inner, uint64_t outer, size_t offset)
{
    const hcy_value *values = g->call->values;
    const struct gpu_nufft_gram gram = { .inner = inner, .outer = outer, .n = (uint32_t)g->job->modes[0] };
    const struct gpu_grid grid = grid_of(g, 0, inner, outer);
    return GPU_STEP(g->call, g->variants[0], "gpu_gram_through", &grid, GPU_BYTES(gram),
                    gpu_at(&values[AT(scratch)], offset), roots_of(g, 0), gpu_at(&values[AT(spectrum)], 0));
}

/* 3-D: the second axis of a chunk's planes, whose first is `plane`; `out`: from the chunk to the planes behind it. */
static int launch_planes(const struct gram *g, size_t plane, size_t planes, bool out)
{
    const hcy_nufft_job *job = g->job;
    const struct gpu_nufft_gram gram = { .inner = job->grid[2], .outer = planes, .n = (uint32_t)job->modes[1] };
    const struct gpu_grid grid = grid_of(g, 1, gram.inner, planes);
    const size_t at = g->chunk + plane * (size_t)job->grid[1] * (size_t)job->grid[2] * g->number;
    const hcy_value *scratch = &g->call->values[AT(scratch)];
    return GPU_STEP(g->call, g->variants[1], out ? "gpu_gram_out" : "gpu_gram_in", &grid, GPU_BYTES(gram),
                    gpu_at(scratch, out ? 0 : at), roots_of(g, 1), gpu_at(scratch, out ? at : 0));
}

static int convolve_volume(const struct gram *g, size_t item)
{
    const size_t planes = (size_t)g->job->modes[0], rows = (size_t)g->job->modes[1];
    int status = 0;
    for (size_t p = 0; p < planes && !status; p += g->planes) {
        const size_t now = planes - p < g->planes ? planes - p : g->planes;
        status = launch_first(g, item, 1, p * rows, now * rows);
        if (!status)
            status = launch_planes(g, p, now, true);
    }
    if (!status)
        status = launch_through(g, g->job->grid[1] * g->job->grid[2], 1, g->chunk);
    for (size_t p = 0; p < planes && !status; p += g->planes) {
        const size_t now = planes - p < g->planes ? planes - p : g->planes;
        status = launch_planes(g, p, now, false);
        if (!status)
            status = launch_last(g, item, 1, p * rows, now * rows);
    }
    return status;
}

int gpu_nufft_gram_launch(const struct gpu_call *call)
{
    struct gram g;
    int status = open_gram(&g, call);
    if (!status)
        status = check_gram(&g);
    /* All texts are compiled before anything is launched. */
    for (uint32_t d = 0; !status && d < g.dim; d++)
        status = compile_axis(&g, d);
    if (!status && g.dim == 2) {
        const size_t rows = (size_t)g.job->modes[0];
        status = launch_first(&g, 0, call->items, 0, rows);
        if (!status)
            status = launch_through(&g, g.job->grid[1], call->items, 0);
        return status ? status : launch_last(&g, 0, call->items, 0, rows);
    }
    for (size_t i = 0; i < call->items && !status; i++)
        status = convolve_volume(&g, i);
    return status;
}
