/* gpu_nufft_cut.c - launches of nufft_crop, nufft_pad and nufft_scale: modes cut out of the grid or laid into it, and
 * factors of points.  A launch checks its buffers and hands its kernels to the queue; the host waits for nothing. */
#include "gpu_priv.h"
#include "nufft/nufft_arguments.h"

#include <stdio.h>

#define SCALE_AT(name) HCY_ARG_AT(nufft_scale, name)
/* Of groups in the second direction of a grid. */
#define MOST_COLUMNS 65535u

static int cut_variant(const struct gpu_call *call, const hcy_nufft_job *job, uint32_t group,
                       struct gpu_variant **v)
{
    char options[GPU_OPTIONS_BYTES];
    int used = gpu_nufft_bits_option(options, sizeof options, call, job);
    snprintf(options + used, sizeof options - (size_t)used, " -DGROUP_SIZE=%u -DREAL=%s", group,
             job->precision == HCY_F64 ? "double" : "float");
    return gpu_variant_get(v, call->kernel, gpu_text_nufft_cut, options);
}

/* Few items a row where there are rows enough to fill a device, and groups side by side where there are not. */
static struct gpu_grid cut_grid(const struct gpu_call *call, uint64_t rows, uint64_t columns, uint32_t *row_items)
{
    uint32_t group = gpu_group(call, GPU_NUFFT_GROUP), share = group < GPU_LANES ? group : GPU_LANES;
    uint64_t enough = (uint64_t)call->kernel->ops->units * 2048;
    /* Finding a row takes divisions, so items stay in one while others keep the device busy. */
    while (share < group && share < columns && rows * share < enough)
        share *= 2;
    uint64_t high = (rows + group / share - 1) / (group / share);
    struct gpu_grid grid = gpu_groups_over(call, columns, share, (uint32_t)(high < MOST_COLUMNS ? high : MOST_COLUMNS));
    grid.group = group;
    if (rows * share >= enough)
        grid.groups[0] = 1;
    *row_items = share;
    return grid;
}

static int launch_cut(const struct gpu_call *call, bool crops)
{
    const struct hcy_nufft_cut_at *at = hcy_nufft_cut_at(crops, false);
    const hcy_value *values = call->values, *cells = &values[at->grid], *coefficients = &values[at->modes];
    const hcy_nufft_job *job = values[at->job].bytes;
    struct gpu_variant *v;
    struct gpu_nufft_cut c = { .items = (uint32_t)call->items,
                               .dim = job->dim,
                               .fft_order = (job->flags & HCY_NUFFT_FFT_ORDER) != 0 };
    uint32_t group = gpu_group(call, GPU_NUFFT_GROUP);
    size_t factors = 0, modes = call->items, cells_of_one, all_cells;
    int status = gpu_nufft_check_job(&cells_of_one, job);
    /* Missing axes come first and have one mode and one cell, so the kernel has no cases for them. */
    for (uint32_t d = 0; !status && d < 3; d++) {
        bool there = d + job->dim >= 3;
        uint32_t axis = there ? d + job->dim - 3 : 0;
        c.modes[d] = there ? job->modes[axis] : 1;
        c.grid[d] = there ? job->grid[axis] : 1;
        c.factors[d] = factors;
        factors += there ? c.modes[d] : 0;
        status = hcy_size_mul(&modes, modes, (size_t)c.modes[d]);
    }
    if (status)
        return status;
    size_t real = job->precision == HCY_F64 ? 8 : 4;
    if (hcy_size_mul(&all_cells, cells_of_one, call->items) ||
        !gpu_holds(cells, all_cells, 2 * real) || !gpu_holds(coefficients, modes, 2 * real) ||
        !gpu_holds(&values[at->factors], factors, real))
        return hcy_fail(HCY_EINVAL, "nufft: grid, modes or factors are smaller than the job says, or begin between numbers");
    /* Both directions walk over what they write, so that no item adds to another's. */
    uint64_t *along = crops ? c.modes : c.grid, rows = call->items * along[0] * along[1];
    struct gpu_grid grid = cut_grid(call, rows, along[2], &c.row_items);
    status = cut_variant(call, job, group, &v);
    return status ? status
                  : GPU_STEP(call, v, crops ? "gpu_nufft_crop" : "gpu_nufft_pad", &grid, GPU_BYTES(c),
                             gpu_at(crops ? cells : coefficients, 0), gpu_at(&values[at->factors], 0),
                             gpu_at(crops ? coefficients : cells, 0));
}

int gpu_nufft_crop_launch(const struct gpu_call *call)
{
    return launch_cut(call, true);
}

int gpu_nufft_pad_launch(const struct gpu_call *call)
{
    return launch_cut(call, false);
}

int gpu_nufft_scale_launch(const struct gpu_call *call)
{
    const hcy_value *values = call->values;
    const hcy_nufft_job *job = values[SCALE_AT(job)].bytes;
    struct gpu_variant *v;
    uint32_t group = gpu_group(call, GPU_NUFFT_GROUP), conjugate = job->sign < 0;
    size_t complex_ = job->precision == HCY_F64 ? 16 : 8, n = (size_t)job->n_points, all;
    if (hcy_size_mul(&all, n, call->items) || !gpu_holds(&values[SCALE_AT(in)], all, complex_) ||
        !gpu_holds(&values[SCALE_AT(out)], all, complex_) ||
        !gpu_holds(&values[SCALE_AT(factors)], n, complex_))
        return hcy_fail(HCY_EINVAL, "nufft_scale: the buffers are smaller than the job says, or begin between numbers");
    int status = cut_variant(call, job, group, &v);
    /* Vectors are the grid's second direction, which has room for 65535 of them. */
    for (size_t done = 0; !status && done < call->items; done += MOST_COLUMNS) {
        size_t rows = call->items - done < MOST_COLUMNS ? call->items - done : MOST_COLUMNS;
        struct gpu_grid grid = gpu_groups_over(call, n, group, (uint32_t)rows);
        status = GPU_STEP(call, v, "gpu_nufft_scale", &grid, GPU_BYTES(job->n_points), GPU_BYTES(conjugate),
                          gpu_at(&values[SCALE_AT(in)], done * n * complex_), gpu_at(&values[SCALE_AT(factors)], 0),
                          gpu_at(&values[SCALE_AT(out)], done * n * complex_));
    }
    return status;
}
