/* gpu_nufft_axes.c - launches of nufft_axes: between modes and the grid with the transform, an axis at a time and a
 * launch each (axes.cl).  To the grid the first axis comes first, so that lines of the others, which have no modes, are
 * neither made nor moved before they must; to modes it comes last.  What is between lies in the grid.  The host waits
 * for nothing. */
#include "gpu_priv.h"

#include <stdio.h>

#define AT(name) HCY_ARG_AT(nufft_axes, name)

struct axes {
    const struct gpu_call *call;
    const hcy_nufft_job *job;
    size_t number, modes, cells; /* bytes of a number; numbers of all vectors */
    size_t factors, roots;       /* of all axes, numbers */
    struct gpu_line lines[3];
};

/* Checks the job, and finds sizes.  HCY_EUNSUPPORTED: lines that do not fit a group. */
static int open_axes(struct axes *a, const struct gpu_call *call)
{
    const hcy_nufft_job *job = call->values[AT(job)].bytes;
    if (job->dim < 2 || job->dim > 3 || job->precision < 1 || job->precision > 2 || job->flags & HCY_NUFFT_SAME_BITS)
        return hcy_fail(HCY_EUNSUPPORTED, "nufft_axes: a job with %u axes, precision %u, flags %u", job->dim,
                        job->precision, job->flags);
    *a = (struct axes){ .call = call, .job = job, .number = job->precision == HCY_F64 ? 16 : 8,
                        .modes = call->items, .cells = call->items };
    for (uint32_t d = 0; d < job->dim; d++) {
        const size_t modes = (size_t)job->modes[d], cells = (size_t)job->grid[d];
        if (!modes || modes > cells)
            return hcy_fail(HCY_EINVAL, "nufft_axes: axis %u has %zu modes of %zu cells", d, modes, cells);
        int status = gpu_line_of(&a->lines[d], call, cells, a->number, d < job->dim - 1, true);
        if (!status)
            status = hcy_size_mul(&a->cells, a->cells, cells);
        if (status)
            return status;
        a->modes *= modes;
        a->factors += modes;
        a->roots += cells;
    }
    /* Groups are counted in 32 bits. */
    return a->cells / (size_t)job->grid[job->dim - 1] <= INT32_MAX
               ? 0
               : hcy_fail(HCY_EUNSUPPORTED, "nufft_axes: %zu cells", a->cells);
}

int gpu_nufft_axes_scratch(size_t *size, const struct gpu_call *call)
{
    struct axes a;
    *size = 0;
    return open_axes(&a, call);
}

/* How lines of an axis lie in memory whose axes have so many numbers. */
static struct gpu_nufft_apart apart_of(const hcy_nufft_job *job, uint32_t axis, const uint64_t *numbers)
{
    struct gpu_nufft_apart apart = { .item = 1, .step = 1 };
    /* In 3-D the planes of the first axis are items of the second one, whose rows are rows of lines of the first. */
    for (uint32_t d = axis == 1 && job->dim == 3; d < job->dim; d++)
        apart.item *= numbers[d];
    for (uint32_t d = axis + 1; d < job->dim; d++)
        apart.step *= numbers[d];
    apart.row = axis == 0 && job->dim == 3 ? numbers[2] : 0;
    return apart;
}

/* An axis, all but its lines' number; how many rows of lines there are of all items. */
static struct gpu_nufft_axis axis_of(const struct axes *a, uint32_t d, uint64_t *rows)
{
    const hcy_nufft_job *job = a->job;
    const uint32_t last = job->dim - 1;
    const uint64_t modes = job->modes[d], cells = job->grid[d], below = modes / 2;
    const bool zero_first = job->flags & HCY_NUFFT_FFT_ORDER;
    struct gpu_nufft_axis axis = { .width = job->modes[last], .rows = d == 0 && last == 2 ? job->modes[1] : 1,
                                   .modes = apart_of(job, d, d ? job->grid : job->modes),
                                   .grid = apart_of(job, d, job->grid), .low = (uint32_t)(zero_first ? 0 : below),
                                   .high = (uint32_t)(cells - (zero_first ? modes : below)),
                                   .backward = job->sign > 0 };
    *rows = a->call->items * axis.rows;
    for (uint32_t e = 0; e < d; e++)
        *rows *= job->grid[e];
    if (d == last) {
        axis.width = *rows;
        *rows = 1;
    }
    return axis;
}

static int launch_axis(const struct axes *a, uint32_t d, bool to_grid)
{
    const hcy_nufft_job *job = a->job;
    const hcy_value *values = a->call->values;
    uint64_t rows;
    const struct gpu_nufft_axis axis = axis_of(a, d, &rows);
    size_t factors = 0, roots = 0;
    char more[48];
    struct gpu_variant *variant;
    for (uint32_t e = 0; e < d; e++) {
        factors += (size_t)job->modes[e];
        roots += (size_t)job->grid[e];
    }
    snprintf(more, sizeof more, "-DM=%uu -DTO_GRID=%d", (unsigned)job->modes[d], to_grid);
    int status = gpu_line_compile(&variant, a->call, gpu_text_nufft_axes, &a->lines[d], more);
    if (status)
        return status;
    const struct gpu_grid groups = gpu_line_groups(&a->lines[d], axis.width, rows, 1);
    return GPU_STEP(a->call, variant, to_grid ? "gpu_axis_to_grid" : "gpu_axis_to_modes", &groups, GPU_BYTES(axis),
                    gpu_at(&values[d ? AT(grid) : AT(modes)], 0),
                    gpu_at(&values[AT(factors)], factors * (a->number / 2)),
                    gpu_at(&values[AT(roots)], roots * a->number), gpu_at(&values[AT(grid)], 0));
}

int gpu_nufft_axes_launch(const struct gpu_call *call)
{
    const hcy_value *values = call->values;
    struct axes a;
    int status = open_axes(&a, call);
    if (status)
        return status;
    if (!gpu_holds(&values[AT(grid)], a.cells, a.number) ||
        !gpu_holds(&values[AT(modes)], a.modes, a.number) ||
        !gpu_holds(&values[AT(factors)], a.factors, a.number / 2) ||
        !gpu_holds(&values[AT(roots)], a.roots, a.number))
        return hcy_fail(HCY_EINVAL, "nufft_axes: a buffer is smaller than the job says, or begins between numbers");
    const bool to_grid = a.job->flags & HCY_NUFFT_LINES_TO_GRID;
    for (uint32_t i = 0; i < a.job->dim && !status; i++)
        status = launch_axis(&a, to_grid ? i : a.job->dim - 1 - i, to_grid);
    return status;
}
