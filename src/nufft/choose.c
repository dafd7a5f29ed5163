/* choose.c - how wide the window is and how fine the grid: eps fixes one if the other is known; cost
 * decides.
 *
 * The width is FINUFFT's rule for prolate windows with a margin that is fitted to measured errors: a width is taken
 * if 99 in 100 transforms of random strengths and points keep within 2 eps (tests/nufft_widths.c).  Errors grow towards
 * the highest modes, so in one dimension, on coarse grids and with narrow windows few of them make up the error, and it
 * varies; type 3 may have all of its targets there.  The cost of a choice is that of the window's cells in 64-byte
 * vectors for every point, plus that of the transform; it knows no threads, so that a plan and its points always give
 * the same grid, and of devices only what GPUs do otherwise (cost_on).
 */
#include "nufft_priv.h"

#include <math.h>

#define PI 3.14159265358979323846

/* What a window of this width may be off, over eps at most 2 (see above). */
static double model(unsigned width, int dim, bool type3, double upsampling)
{
    static const double margins[3][2] = { { 1.9, 0.05 }, { 1.45, 0.03 }, { 1.25, 0.04 } };
    double margin = fmax(1, margins[dim - 1][0] - margins[dim - 1][1] * width) * (upsampling < 1.4 ? 1.25 : 1);
    return 0.18 * pow(1.4, dim - 1) * (type3 ? 5 : 1) * margin * exp(-PI * sqrt(1 - 1 / upsampling) * (width - 1));
}

unsigned hcy__nufft_width(double eps, int dim, bool type3, double upsampling)
{
    unsigned width = HCY_NUFFT_MIN_WIDTH;
    while (width < 1000 && model(width, dim, type3, upsampling) > eps)
        width++;
    return width;
}

/* By its factors: stepping through numbers takes a millisecond at 10^6, as long as sorting 10^7 points on a GPU. */
uint64_t hcy__nufft_smooth(uint64_t n)
{
    uint64_t best = 2;
    while (best < n)
        best *= 2;
    for (uint64_t five = 1; five < best; five *= 5)
        for (uint64_t odd = five; odd < best; odd *= 3) {
            uint64_t even = 2 * odd;
            while (even < n)
                even *= 2;
            best = even < best ? even : best;
        }
    return best;
}

static uint64_t power_of_2(uint64_t n)
{
    uint64_t power = 1;
    while (power < n)
        power *= 2;
    return power;
}

static int too_many_modes(const hcy_nufft_job *job, int axis)
{
    return hcy_fail(HCY_ERANGE, "axis %d has %llu modes: %d cells are the most", axis,
                    (unsigned long long)job->modes[axis], INT32_MAX);
}

/* Sets the grid that a width and an upsampling ask for; `quick`: whose fastest axis is a power of two. */
static int set_grid(hcy_nufft_job *job, const hcy_nufft_options *opts, double upsampling, unsigned width, bool quick)
{
    size_t cells = 16;
    job->width = width;
    for (int d = 0; d < 3; d++) {
        /* A window reaches over its own width at most once, so small numbers of modes get a grid of two widths. */
        double wanted = ceil(upsampling * (double)job->modes[d]);
        job->grid[d] = 1;
        if (d >= (int)job->dim)
            continue;
        if (wanted > INT32_MAX)
            return too_many_modes(job, d);
        job->grid[d] = hcy__nufft_smooth(wanted > 2 * width ? (uint64_t)wanted : 2 * width);
        if (quick && d + 1 == (int)job->dim)
            job->grid[d] = power_of_2(job->grid[d]);
        if (job->grid[d] > INT32_MAX)
            return too_many_modes(job, d);
        /* The user's own grid is taken as it is, smooth or not, if the modes and the window fit. */
        if (opts->grid[d]) {
            job->grid[d] = opts->grid[d];
            if (job->grid[d] <= job->modes[d] || job->grid[d] < 2 * width || job->grid[d] > INT32_MAX)
                return hcy_fail(HCY_EINVAL, "a grid of %llu cells for %llu modes and a window of %u cells",
                                (unsigned long long)job->grid[d], (unsigned long long)job->modes[d], width);
        }
        if (hcy_size_mul(&cells, cells, (size_t)job->grid[d]))
            return hcy_fail(HCY_ERANGE, "the fine grid is beyond what can be addressed");
    }
    return 0;
}

static double n_cells(const hcy_nufft_job *job)
{
    double cells = 1;
    for (unsigned d = 0; d < job->dim; d++)
        cells *= (double)job->grid[d];
    return cells;
}

static double cells_cost(const hcy_nufft_job *job)
{
    return n_cells(job) * (job->precision == HCY_F64 ? 8 : 6) * (job->dim == 1 ? 1.5 : 1);
}

/* ns of one thread, about: a row of cells takes whole vectors. */
double hcy__nufft_cost(const hcy_nufft_job *job, size_t n_points)
{
    bool is_double = job->precision == HCY_F64;
    double lanes = is_double ? 4 : 8, rows = pow(job->width, job->dim - 1);
    double vectors = ceil(job->width / lanes);
    return (double)n_points * (20 + rows * vectors) + cells_cost(job);
}

static bool is_power_of_2(uint64_t n)
{
    return !(n & (n - 1));
}

/* The same bits everywhere take the same grid. */
static bool differs_on_device(const hcy_nufft *p)
{
    return p->desc.dim == 3 && p->dev && !hcy__nufft_is_same(p) && hcy_device_get_info(p->dev)->kind == HCY_KIND_GPU;
}

/* Of a large grid whose axes are powers of two, or the fastest one: their groups of lines are full.  One H200, to and
 * from the grid: 512^3 doubles 1.6 and 1.8 ms, 480^3 1.75 and 2.1; 384 x 384 x 512 floats 0.60 and 0.67,
 * 384 x 384 x 500 0.77 and 0.69. */
static double quick_share(const hcy_nufft_job *job)
{
    const uint64_t *grid = job->grid;
    if (n_cells(job) < 0x1p25 || !is_power_of_2(grid[2]))
        return 1;
    return is_power_of_2(grid[0]) && is_power_of_2(grid[1]) ? 0.73 : 0.83;
}

/* On the plan's device, as hcy__nufft_cost() counts.  GPUs differ in 3-D: by powers of two, and a point of doubles
 * costs 0.04 ns per cell of its width, because tensor cores multiply whole tiles of a window (0.35 ns for 7, 0.42 for
 * 10, 0.55 for 13; a unit here is 0.004 ns of it). */
static double cost_on(const hcy_nufft *p, const hcy_nufft_job *job, size_t n_points)
{
    double cells = cells_cost(job);
    if (!differs_on_device(p))
        return hcy__nufft_cost(job, n_points);
    double points = job->precision == HCY_F64 && !p->opts.deterministic ? (double)n_points * (8 + 9.3 * job->width)
                                                                         : hcy__nufft_cost(job, n_points) - cells;
    return points + cells * quick_share(job);
}

/* The upsampling of the grid that came out: the least of its axes. */
static double upsampling_of(const hcy_nufft_job *job)
{
    double least = 1e300;
    for (unsigned d = 0; d < job->dim; d++)
        least = fmin(least, (double)job->grid[d] / (double)job->modes[d]);
    return least;
}

/* Of few modes the last ones, whose errors are largest, are many.  A single one is the same number at all points, whose
 * errors may all be the largest there is: of points at +-pi 2.7 eps, in 3-D 6.3. */
static double eps_for(const hcy_nufft *p)
{
    bool few = false;
    if (p->desc.type != 3 && p->n_modes == 1)
        return p->desc.eps / 3.5;
    for (int d = 0; d < p->desc.dim; d++)
        few = few || (p->job.modes[d] > 1 && p->job.modes[d] < 16);
    return few ? p->desc.eps / 1.4 : p->desc.eps;
}

unsigned hcy__nufft_widest(int precision, double upsampling)
{
    /* Float loses to rounding what more than 8 cells gain on a coarse grid, where factors at the ends are large. */
    return precision == HCY_F32 && upsampling < 1.4 ? 8 : HCY_NUFFT_MAX_WIDTH;
}

unsigned hcy__nufft_width_for(const hcy_nufft *p, double upsampling)
{
    unsigned most = hcy__nufft_widest(p->desc.precision, upsampling);
    if (p->opts.width)
        return p->opts.width;
    unsigned width = hcy__nufft_width(eps_for(p), p->desc.dim, p->desc.type == 3, upsampling);
    return width < most ? width : most;
}

/* What the widest window that is taken may be off. */
static double reach_of(const hcy_nufft_desc *desc, double upsampling)
{
    return model(hcy__nufft_widest(desc->precision, upsampling), desc->dim, desc->type == 3, upsampling);
}

bool hcy__nufft_reaches(const hcy_nufft_desc *desc, double upsampling)
{
    /* Below this rounding decides, not the window: in float, what the coarsest grid reaches that is ever chosen. */
    const double rounding = desc->precision == HCY_F64 ? 1e-14 : reach_of(desc, 1.25);
    return reach_of(desc, upsampling) <= fmax(desc->eps, rounding);
}

int hcy__nufft_check_reach(const hcy_nufft *p, double upsampling)
{
    if (p->opts.width || hcy__nufft_reaches(&p->desc, upsampling))
        return 0;
    return hcy_fail(HCY_ERANGE, "%.3g cells a mode and the widest window, %u cells, reach an eps of %.1e, not %g: "
                    "upsampling 2 does, or none given; a width that is given is taken as it is",
                    upsampling, hcy__nufft_widest(p->desc.precision, upsampling), reach_of(&p->desc, upsampling),
                    p->desc.eps);
}

/* What rounding is off at the last frequencies of all axes at once, where the window's transform, about as a
 * Kaiser-Bessel window's, is least: type 3 may have all of its targets there. */
static double rounding_at_corners(int dim, unsigned width, double upsampling)
{
    const double middle = PI * width * (1 - 0.5 / upsampling), end = PI * width * 0.5 / upsampling;
    return 0x1p-52 * exp(dim * (middle - sqrt(middle * middle - end * end)));
}

double hcy__nufft_candidate(const hcy_nufft *p, size_t i)
{
    static const double candidates[] = { 2, 1.85, 1.75, 1.65, 1.55, 1.45, 1.35, 1.25 };
    /* Float loses what a coarser grid with a wider window gains. */
    const unsigned widest = p->desc.precision == HCY_F64 ? HCY_NUFFT_MAX_WIDTH : HCY_NUFFT_MAX_WIDTH / 2;
    if (i >= sizeof candidates / sizeof candidates[0])
        return 0;
    const unsigned width = hcy__nufft_width(p->desc.eps, p->desc.dim, p->desc.type == 3, candidates[i]);
    const bool is_exact = p->desc.type != 3 || p->desc.precision != HCY_F64 ||
                          rounding_at_corners(p->desc.dim, width, candidates[i]) <= p->desc.eps;
    return !i || p->opts.width || (width <= widest && is_exact) ? candidates[i] : 0;
}

/* Vectors at once share launches and points' weights, but every one has a grid of its own.  Where points are few the
 * grids are most of a transform, and one that is large has a device busy: then they are no more than this, or one. */
#define FEW(points, cells) ((double)(points) * 16 < (cells))
#define BATCH_BYTES        0x1p29

size_t hcy__nufft_batch(const hcy_nufft *p, size_t n_points)
{
    const double cells = n_cells(&p->job), grid = cells * 2 * (double)hcy__nufft_real(p);
    size_t batch = p->opts.max_batch ? p->opts.max_batch : 4;
    if (!p->opts.max_batch && n_points && FEW(n_points, cells) && (double)batch * grid > BATCH_BYTES)
        batch = grid < BATCH_BYTES ? (size_t)(BATCH_BYTES / grid) : 1;
    return batch < p->n_transforms ? batch : p->n_transforms;
}

static int choose_grid(hcy_nufft *p, size_t n_points)
{
    double best = 0, given = p->opts.upsampling;
    hcy_nufft_job job = p->job;
    bool own_grid = p->opts.grid[0] != 0;
    /* A grid outright says its upsampling, whatever else is asked for: the least of the axes', which the width must do
     * for. */
    if (own_grid) {
        given = 1e300;
        for (int d = 0; d < p->desc.dim; d++)
            given = fmin(given, (double)p->opts.grid[d] / (double)job.modes[d]);
        if (!(given > 1))
            return hcy_fail(HCY_EINVAL, "the grid given is not finer than the modes");
    }
    /* One of two is known, so there is nothing to weigh. */
    if (given) {
        int status = set_grid(&job, &p->opts, given, hcy__nufft_width_for(p, given), false);
        if (status)
            return status;
        p->job = job;
        p->upsampling = upsampling_of(&job);
        return hcy__nufft_check_reach(p, p->upsampling);
    }
    /* Coarser grids want wider windows.  The first candidate that fits always counts, as a coarser grid may where a
     * finer one does not; of equals the finer one is kept. */
    const size_t forms = differs_on_device(p) ? 2 : 1;
    int refused = 0;
    double s;
    for (size_t i = 0; (s = hcy__nufft_candidate(p, i / forms)) != 0; i++) {
        const bool quick = i % forms;
        int status = set_grid(&job, &p->opts, s, hcy__nufft_width_for(p, s), quick);
        if (status && !quick)
            refused = status;
        if (status)
            continue;
        job.width = hcy__nufft_width_for(p, upsampling_of(&job)); /* sizes of small factors are often larger */
        double now = cost_on(p, &job, n_points);
        if (!best || now < best) {
            best = now;
            p->job = job;
        }
    }
    /* Costs are above 0. */
    if (!best)
        return refused;
    p->upsampling = upsampling_of(&p->job);
    return 0;
}

int hcy__nufft_choose(hcy_nufft *p, size_t n_points)
{
    int status = choose_grid(p, n_points);
    if (!status)
        p->batch = hcy__nufft_batch(p, n_points);
    return status;
}
