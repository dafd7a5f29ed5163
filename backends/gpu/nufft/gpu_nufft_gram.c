/* gpu_nufft_gram.c - launches of nufft_gram: passes over the axes, without zeros (gram.cl).
 *
 * With n numbers of an image's axis and h = half the grid's, the coils of a launch go in 3-D from the image to
 * [items][2][n0][n1][h2], the halves of the fastest axis' frequencies, together, so that the image is read, and their
 * sum is written, once.  From there a slab of a coil's goes to [n0][2][h1][slab], along the first axis there and back
 * in place, and back.  Slabs are large: of those that stay in a device's cache launches are so short that their ends
 * take longer (256^3 on an H200: 1.58 ms a coil by 32 MB, 1.40 by 256).  In 2-D all coils do all of that at once, in
 * [items][2][n0][h1].  The host waits for nothing.
 */
#include "gpu_priv.h"

#include <stdio.h>

#define AT(name) HCY_ARG_AT(nufft_gram, name)

enum {
    SLAB_BYTES = 1 << 28, /* long launches: what an H200's cache saves of shorter slabs, their ends cost */
};

/* Lines of an axis. */
struct axis {
    size_t n, half;
    struct gpu_line line;
    size_t roots;                 /* where it has its own, bytes */
    struct gpu_variant *variant;
};

struct gram {
    const struct gpu_call *call;
    const hcy_nufft_job *job;
    size_t number, pixels, cells; /* bytes of a number; numbers of an image, of the grid */
    uint32_t dim, last;
    struct axis axes[3];
    size_t roots_bytes;
    size_t slab, slab_at, bytes;  /* 3-D: numbers of the fastest axis in a slab; where it is; scratch memory in all */
};

/* HCY_EUNSUPPORTED: an axis' lines do not fit a group. */
static int set_axis(struct gram *g, uint32_t d)
{
    struct axis *a = &g->axes[d];
    a->n = (size_t)g->job->modes[d];
    a->half = (size_t)g->job->grid[d] / 2;
    /* gram.cl reads an item's first number, if no other. */
    if (!a->n || a->n > a->half || 2 * a->n < a->half || g->job->grid[d] % 2)
        return hcy_fail(HCY_EUNSUPPORTED, "nufft_gram: axis %u has %llu numbers of %llu", d,
                        (unsigned long long)g->job->modes[d], (unsigned long long)g->job->grid[d]);
    int status = gpu_line_of(&a->line, g->call, a->half, g->number, d < g->last, false);
    a->roots = g->roots_bytes;
    g->roots_bytes += 2 * a->half * g->number;
    return status;
}

/* The halves of the fastest axis' frequencies, and a slab of them. */
static int set_scratch(struct gram *g)
{
    const struct axis *a = g->axes, *fast = &g->axes[g->last];
    /* Axes are short enough that these products cannot overflow. */
    size_t rows = g->dim == 2 ? a[0].n : a[0].n * a[1].n;
    int status = hcy_size_mul(&g->bytes, rows * 2 * fast->half, g->number);
    if (!status)
        status = hcy_size_mul(&g->bytes, g->bytes, g->call->items);
    if (g->dim == 2)
        return status;
    const size_t column = a[0].n * 2 * a[1].half * g->number, side = GPU_SIDE_BYTES / g->number;
    g->slab = SLAB_BYTES / column / side * side;
    g->slab = g->slab < side ? side : g->slab;
    if (g->slab > fast->half)
        g->slab = fast->half;
    if (!status)
        status = hcy_size_add(&g->slab_at, g->bytes, 255);
    g->slab_at = g->slab_at / 256 * 256;
    return status ? status : hcy_size_add(&g->bytes, g->slab_at, g->slab * column);
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

static int check_gram(const struct gram *g)
{
    const hcy_value *values = g->call->values;
    size_t maps;
    if (hcy_size_mul(&maps, g->pixels, g->job->flags & HCY_NUFFT_GRAM_PLAIN ? 1 : g->call->items) ||
        !gpu_holds(&values[AT(image)], g->pixels, g->number) ||
        !gpu_holds(&values[AT(maps)], maps, g->number) ||
        !gpu_holds(&values[AT(spectrum)], g->cells, g->number / 2) ||
        !gpu_holds(&values[AT(result)], g->pixels, g->number) ||
        !gpu_holds(&values[AT(roots)], g->roots_bytes / g->number, g->number) ||
        !gpu_holds(&values[AT(scratch)], g->bytes / g->number, g->number))
        return hcy_fail(HCY_EINVAL, "nufft_gram: a buffer is smaller than the job says, or begins between numbers");
    return 0;
}

static int compile_axis(struct gram *g, uint32_t d)
{
    struct axis *a = &g->axes[d];
    char more[32];
    snprintf(more, sizeof more, "-DN=%uu", (unsigned)a->n);
    return gpu_line_compile(&a->variant, g->call, gpu_text_nufft_gram, &a->line, more);
}

static struct gpu_arg roots_of(const struct gram *g, const struct axis *a)
{
    return gpu_at(&g->call->values[AT(roots)], a->roots);
}

/* Along the fastest axis: all rows of the image, times maps, to scratch memory, or from there to the result. */
static int launch_rows(const struct gram *g, bool out)
{
    const hcy_value *values = g->call->values;
    const struct axis *a = &g->axes[g->last];
    const bool plain = g->job->flags & HCY_NUFFT_GRAM_PLAIN;
    const uint64_t rows = g->pixels / a->n;
    const struct gpu_nufft_gram gram = { .width = rows, .far_half = rows * a->half, .outer = g->call->items,
                                         .coil = g->pixels, .plain = plain,
                                         .adds = g->job->flags & HCY_NUFFT_GRAM_ADDS };
    const struct gpu_grid grid = gpu_line_groups(&a->line, rows, 1, out ? g->call->items : 1);
    const struct gpu_arg maps = gpu_at(&values[AT(maps)], 0);
    const struct gpu_arg scratch = gpu_at(&values[AT(scratch)], 0);
    if (out)
        return GPU_STEP(g->call, a->variant, "gpu_gram_first", &grid, GPU_BYTES(gram), gpu_at(&values[AT(image)], 0),
                        maps, roots_of(g, a), scratch);
    return GPU_STEP(g->call, a->variant, "gpu_gram_last", &grid, GPU_BYTES(gram), scratch, maps, roots_of(g, a),
                    gpu_at(&values[AT(result)], 0));
}

/* Along the first axis there and back, in scratch memory from `offset` on; `factor` is the spectrum's first number. */
static int launch_through(const struct gram *g, const struct gpu_nufft_gram *gram, uint64_t rows, size_t offset,
                          size_t factor)
{
    const hcy_value *values = g->call->values;
    const struct axis *a = &g->axes[0];
    const struct gpu_grid grid = gpu_line_groups(&a->line, gram->width, rows, 1);
    return GPU_STEP(g->call, a->variant, "gpu_gram_through", &grid, GPU_BYTES(*gram),
                    gpu_at(&values[AT(scratch)], offset), roots_of(g, a),
                    gpu_at(&values[AT(spectrum)], factor * (g->number / 2)));
}

/* 3-D: the second axis of a slab of `width` numbers from `at` on, in numbers of scratch memory; `out`: to the slab. */
static int launch_planes(const struct gram *g, size_t at, size_t width, bool out)
{
    const struct axis *a = &g->axes[1], *fast = &g->axes[2];
    const struct gpu_nufft_gram gram = { .width = width, .row = a->n * fast->half, .step = fast->half,
                                         .far_row = 2 * a->half * width, .far_step = width,
                                         .far_half = a->half * width };
    const struct gpu_grid grid = gpu_line_groups(&a->line, width, g->axes[0].n, 1);
    const hcy_value *scratch = &g->call->values[AT(scratch)];
    const struct gpu_arg rows = gpu_at(scratch, at * g->number), slab = gpu_at(scratch, g->slab_at);
    return GPU_STEP(g->call, a->variant, out ? "gpu_gram_out" : "gpu_gram_in", &grid, GPU_BYTES(gram),
                    out ? rows : slab, roots_of(g, a), out ? slab : rows);
}

/* 3-D: numbers from `at` on of a half of the fastest axis' frequencies of a coil. */
static int convolve_slab(const struct gram *g, size_t item, size_t half, size_t at, size_t width)
{
    const struct axis *a = g->axes;
    const size_t rows = 2 * a[1].half, from = (2 * item + half) * a[0].n * a[1].n * a[2].half + at;
    const struct gpu_nufft_gram through = { .width = width, .row = width, .step = rows * width, .far_row = a[2].half,
                                            .far_step = rows * a[2].half, .far_half = a[0].half * rows * a[2].half,
                                            .far_rows = rows };
    int status = launch_planes(g, from, width, true);
    if (!status)
        status = launch_through(g, &through, rows, g->slab_at, half * 2 * through.far_half + at);
    return status ? status : launch_planes(g, from, width, false);
}

static int convolve_volumes(const struct gram *g)
{
    const size_t half = g->axes[2].half;
    int status = launch_rows(g, true);
    for (size_t i = 0; i < 2 * g->call->items; i++)
        for (size_t at = 0; at < half && !status; at += g->slab)
            status = convolve_slab(g, i / 2, i % 2, at, half - at < g->slab ? half - at : g->slab);
    return status ? status : launch_rows(g, false);
}

/* 2-D: all coils, by rows of lines for each of them and each half of the fastest axis' frequencies. */
static int convolve_images(const struct gram *g)
{
    const struct axis *a = g->axes;
    const struct gpu_nufft_gram through = { .width = a[1].half, .row = a[0].n * a[1].half, .step = a[1].half,
                                            .far_row = 2 * a[0].half * a[1].half, .far_step = a[1].half,
                                            .far_half = a[0].half * a[1].half, .far_rows = 2 };
    int status = launch_rows(g, true);
    if (!status)
        status = launch_through(g, &through, 2 * g->call->items, 0, 0);
    return status ? status : launch_rows(g, false);
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
    if (status)
        return status;
    return g.dim == 2 ? convolve_images(&g) : convolve_volumes(&g);
}
