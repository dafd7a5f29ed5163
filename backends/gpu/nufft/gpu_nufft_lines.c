/* gpu_nufft_lines.c - launches of nufft_lines: all axes, one after the other; a launch each where a group has room for
 * its lines (whole.cl), else a launch for each pass, to and fro between the grid and scratch memory.  To modes the
 * fastest axis comes first, to the grid the slowest, as on the CPU; lines that are cut away afterwards, or are zero
 * before, are left out.  The host waits for nothing. */
#include "fft_plan.h"
#include "gpu_priv.h"
#include "nufft/nufft_arguments.h"

#include <stdio.h>

#define AT(name) HCY_ARG_AT(nufft_lines, name)

struct lines {
    const struct gpu_call *call;
    const hcy_nufft_job *job;
    struct gpu_variant *variant;
    const hcy_value *memory[2]; /* the grid, scratch */
    int now;                    /* which of them has the numbers */
    size_t number, bytes, roots_bytes;
    size_t roots[3];            /* of an axis: where its first pass's begin, bytes */
};

/* Modes stand at both ends of an axis. */
static struct gpu_nufft_ends ends_of(const hcy_nufft_job *job, uint32_t axis)
{
    const uint64_t modes = job->modes[axis], below = modes / 2;
    return (struct gpu_nufft_ends){ modes, modes - below, job->grid[axis] - modes };
}

/* A pass over an axis, all but its radix: which lines there are, and how they lie. */
static struct gpu_nufft_pass lines_of(const struct lines *l, uint32_t axis)
{
    const hcy_nufft_job *job = l->job;
    const uint32_t last = job->dim - 1;
    struct gpu_nufft_pass p = { .n = job->grid[axis], .done = 1, .inner = 1, .outer = l->call->items,
                                .row = job->grid[last], .from_zero = UINT64_MAX, .backward = job->sign > 0 };
    p.ends[0] = p.ends[1] = (struct gpu_nufft_ends){ 1, 1, 0 };
    for (uint32_t d = 0; d < axis; d++)
        p.outer *= job->grid[d];
    for (uint32_t d = axis + 1; d <= last; d++) {
        p.inner *= job->grid[d];
        p.ends[last - d] = ends_of(job, d);
    }
    return p;
}

/* Checks the job, and finds sizes. */
static int open_lines(struct lines *l, const struct gpu_call *call)
{
    const hcy_nufft_job *job = call->values[AT(job)].bytes;
    unsigned list[HCY_FFT_MOST_PASSES];
    size_t cells = call->items;
    if (job->dim < 1 || job->dim > 3 || job->precision < 1 || job->precision > 2)
        return hcy_fail(HCY_EINVAL, "nufft_lines: a job with %u axes, precision %u", job->dim, job->precision);
    *l = (struct lines){ .call = call, .job = job, .number = job->precision == HCY_F64 ? 16 : 8 };
    for (uint32_t d = 0; d < job->dim; d++) {
        if (job->grid[d] < 2 || job->grid[d] > INT32_MAX || job->modes[d] > job->grid[d] ||
            hcy_size_mul(&cells, cells, (size_t)job->grid[d]))
            return hcy_fail(HCY_EINVAL, "nufft_lines: axis %u has %llu cells", d, (unsigned long long)job->grid[d]);
        const unsigned passes = hcy_fft_factor(list, (size_t)job->grid[d]);
        if (!passes)
            return hcy_fail(HCY_EUNSUPPORTED, "nufft_lines: axis %u has %llu cells, a number with prime factors above 7",
                            d, (unsigned long long)job->grid[d]);
        l->roots[d] = l->roots_bytes;
        size_t left = (size_t)job->grid[d];
        for (unsigned i = 0; i < passes; i++) {
            left /= list[i];
            l->roots_bytes += left * (list[i] - 1) * l->number;
        }
    }
    return hcy_size_mul(&l->bytes, cells, l->number);
}

/* Passes go to and fro; whole lines stay where they are. */
static bool goes_to_and_fro(const struct lines *l)
{
    struct gpu_nufft_whole whole;
    for (uint32_t d = 0; d < l->job->dim; d++) {
        const struct gpu_nufft_pass p = lines_of(l, d);
        if (!gpu_whole_lines(&whole, l->call->kernel->ops, &p, l->number))
            return true;
    }
    return false;
}

int gpu_nufft_lines_scratch(size_t *size, const struct gpu_call *call)
{
    struct lines l;
    int status = open_lines(&l, call);
    *size = status || !goes_to_and_fro(&l) ? 0 : l.bytes;
    return status;
}

/* From the memory that has the numbers to the other one. */
static int launch_pass(struct lines *l, const struct gpu_nufft_pass *p, unsigned radix, size_t roots)
{
    static const char *const names[] = { [1] = "gpu_nufft_pass_1", [2] = "gpu_nufft_pass_2", [3] = "gpu_nufft_pass_3",
                                         [4] = "gpu_nufft_pass_4", [5] = "gpu_nufft_pass_5", [7] = "gpu_nufft_pass_7",
                                         [8] = "gpu_nufft_pass_8" };
    const struct gpu_ops *ops = l->call->kernel->ops;
    const uint32_t group = gpu_group(l->call, GPU_NUFFT_GROUP);
    const uint64_t items = p->n / radix * p->ends[0].n * p->ends[1].n;
    const struct gpu_grid grid = gpu_grid_of(ops, (items + group - 1) / group, p->outer, group);
    int status = GPU_STEP(l->call, l->variant, names[radix], &grid, GPU_BYTES(*p), gpu_at(l->memory[l->now], 0),
                          gpu_at(&l->call->values[AT(roots)], roots), gpu_at(l->memory[1 - l->now], 0));
    l->now = 1 - l->now;
    return status;
}

static int transform_axis(struct lines *l, uint32_t axis, bool to_grid)
{
    unsigned list[HCY_FFT_MOST_PASSES];
    const unsigned passes = hcy_fft_factor(list, (size_t)l->job->grid[axis]);
    struct gpu_nufft_pass p = lines_of(l, axis);
    size_t roots = l->roots[axis], left = (size_t)p.n;
    const struct gpu_nufft_ends ends = ends_of(l->job, axis);
    const hcy_value *now = l->memory[l->now];
    struct gpu_nufft_whole whole;
    int status = 0;
    p.from_zero = to_grid ? ends.first : UINT64_MAX;
    p.to_zero = ends.first + ends.skipped;
    if (gpu_whole_lines(&whole, l->call->kernel->ops, &p, l->number))
        return gpu_whole_launch(l->call, l->variant, gpu_group(l->call, GPU_NUFFT_GROUP), l->number, &whole,
                                gpu_at(now, 0), gpu_at(&l->call->values[AT(roots)], roots), gpu_at(now, 0));
    for (unsigned i = 0; i < passes && !status; i++) {
        left /= list[i];
        status = launch_pass(l, &p, list[i], roots);
        p.done *= list[i];
        /* Only the first pass of an axis meets the cells that no mode was put into. */
        p.from_zero = UINT64_MAX;
        roots += left * (list[i] - 1) * l->number;
    }
    return status;
}

int gpu_nufft_lines_launch(const struct gpu_call *call)
{
    const hcy_value *values = call->values;
    char options[GPU_OPTIONS_BYTES];
    struct lines l;
    int status = open_lines(&l, call);
    if (status)
        return status;
    l.memory[0] = &values[AT(grid)];
    l.memory[1] = &values[AT(scratch)];
    for (int i = 0; i < 1 + goes_to_and_fro(&l); i++)
        if (!gpu_holds(l.memory[i], l.bytes / l.number, l.number))
            return hcy_fail(HCY_EINVAL, "nufft_lines: grid or scratch are smaller than the job says, or begin between numbers");
    if (!gpu_holds(&values[AT(roots)], l.roots_bytes / l.number, l.number))
        return hcy_fail(HCY_EINVAL, "nufft_lines: %zu bytes of roots are needed", l.roots_bytes);
    const char *option = call->kernel->ops->no_contraction;
    snprintf(options, sizeof options, "-DGROUP_SIZE=%u -DREAL=%s %s", gpu_group(call, GPU_NUFFT_GROUP),
             l.number == 16 ? "double" : "float", option ? option : "");
    status = gpu_variant_get(&l.variant, call->kernel, gpu_text_nufft_lines, options);
    /* Bits depend on the order of axes, which is the CPU's. */
    const bool to_grid = l.job->flags & HCY_NUFFT_LINES_TO_GRID;
    for (uint32_t d = 0; d < l.job->dim && !status; d++)
        status = transform_axis(&l, to_grid ? d : l.job->dim - 1 - d, to_grid);
    /* An odd number of passes ends in scratch memory: the lines of the last axis are copied back. */
    if (!status && l.now) {
        struct gpu_nufft_pass p = lines_of(&l, to_grid ? l.job->dim - 1 : 0);
        status = launch_pass(&l, &p, 1, 0);
    }
    return status;
}
