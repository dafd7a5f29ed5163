/* density.c - weights for points that are not equally dense (halcyon/density.h).
 *
 * Pipe and Menon's weights are those for which sum over j of w_j C(x_i - x_j) is the same at every point, where C is a
 * kernel about as wide as the image's resolution.  C is what spreading to a grid of twice the modes and interpolating
 * from it make of a point: positive, so that dividing by the sum is all that an iteration has to do.  The division is
 * the host's: it takes little beside the transforms.
 */
#include "nufft_priv.h"
#include "sized.h"
#include "voronoi.h"

#include <halcyon/density.h>
#include <halcyon/nufft.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The kernel reaches three of the grid's cells to each side, one and a half of the image's resolution. */
enum { KERNEL_WIDTH = 6, MOST_ITERATIONS = 1000 };
#define KERNEL_UPSAMPLING 2
/* Frequencies to each side, as far as a Voronoi cell goes. */
#define VORONOI_REACH 0.5

struct density {
    const hcy_density_desc *desc;
    hcy_nufft *plan;
    size_t n, cells, real;  /* points; of the grid; bytes of a number */
    void *strengths, *grid; /* complex */
};

static double get_real(const void *reals, size_t i, size_t real)
{
    return real == 8 ? ((const double *)reals)[i] : (double)((const float *)reals)[i];
}

static void set_real(void *reals, size_t i, size_t real, double value)
{
    if (real == 8)
        ((double *)reals)[i] = value;
    else
        ((float *)reals)[i] = (float)value;
}

static int check_density_desc(const hcy_density_desc *d, int64_t n)
{
    if (d->method < HCY_DENSITY_PIPE || d->method > HCY_DENSITY_VORONOI)
        return hcy_fail(HCY_EINVAL, "density: method %d is none; 1 is Pipe's, 2 counts cells, 3 is Voronoi's",
                        d->method);
    if (d->precision != HCY_F64 && d->precision != HCY_F32)
        return hcy_fail(HCY_EINVAL, "density: precision %d is none; HCY_F64 and HCY_F32 are", d->precision);
    if (d->dim < 1 || d->dim > 3 || n < 0)
        return hcy_fail(HCY_EINVAL, "density: %lld points on %d axes; 0 points or more are needed, on 1 to 3 axes",
                        (long long)n, d->dim);
    for (int i = 0; i < d->dim; i++)
        if (d->modes[i] < 1)
            return hcy_fail(HCY_EINVAL, "density: %lld modes on axis %d; set hcy_density_desc.modes, the image's sizes, 1 at least",
                            (long long)d->modes[i], i);
    if (d->iterations < 1 || d->iterations > MOST_ITERATIONS)
        return hcy_fail(HCY_EINVAL, "density: %d iterations; 1 to %d are needed", d->iterations,
                        MOST_ITERATIONS);
    return 0;
}

/* --- Cells --- */

/* A coordinate in periods; HCY_EINVAL if it is no number. */
static int find_turns(double *turns, const void *const *points, int axis, size_t i, size_t real)
{
    *turns = get_real(points[axis], i, real) / 6.283185307179586476925;
    if (!isfinite(*turns))
        return hcy_fail(HCY_EINVAL, "density: coordinate %d of point %zu is no number", axis, i);
    return 0;
}

/* The cell of a point; HCY_EINVAL if it is no number. */
static int find_cell(size_t *cell, const hcy_density_desc *d, const void *const *points, size_t i,
                     size_t real)
{
    *cell = 0;
    for (int axis = 0; axis < d->dim; axis++) {
        double x, modes = (double)d->modes[axis];
        int status = find_turns(&x, points, axis, i, real);
        if (status)
            return status;
        /* Cells lie around the modes' own frequencies, so that a grid's points have one each. */
        double place = floor((x - floor(x)) * modes + 0.5);
        *cell = *cell * (size_t)d->modes[axis] + (place >= modes ? 0 : (size_t)place);
    }
    return 0;
}

static int weigh_by_cells(void *weights, const hcy_density_desc *d, size_t n, const void *const *points)
{
    size_t cells = 1, bytes = 0, cell, real = d->precision == HCY_F64 ? 8 : 4;
    for (int axis = 0; axis < d->dim; axis++)
        if ((uint64_t)d->modes[axis] > SIZE_MAX || hcy_size_mul(&cells, cells, (size_t)d->modes[axis]))
            return hcy_fail(HCY_ERANGE, "density: more cells than can be addressed");
    if (hcy_size_mul(&bytes, cells, sizeof(uint32_t)))
        return hcy_fail(HCY_ERANGE, "density: more cells than can be addressed");
    uint32_t *counts = calloc(cells, sizeof *counts);
    int status = counts ? 0 : hcy_fail(HCY_ENOMEM, "density: no memory for %zu cells", cells);
    for (size_t i = 0; !status && i < n; i++) {
        status = find_cell(&cell, d, points, i, real);
        if (!status)
            counts[cell]++;
    }
    for (size_t i = 0; !status && i < n; i++) {
        status = find_cell(&cell, d, points, i, real);
        if (!status)
            set_real(weights, i, real, 1 / ((double)cells * counts[cell]));
    }
    free(counts);
    return status;
}

/* --- Voronoi --- */

/* A host's own: as many as the device has, where that is the host's processors. */
static unsigned threads_beside(const hcy_device *dev)
{
    const hcy_device_info *info = dev ? hcy_device_get_info(dev) : NULL;
    return info && info->kind == HCY_KIND_CPU ? info->units : hcy_processors();
}

static int weigh_by_voronoi(void *weights, hcy_device *dev, const hcy_density_desc *d, size_t n,
                            const void *const *points)
{
    const size_t dim = (size_t)d->dim, real = d->precision == HCY_F64 ? 8 : 4;
    double reach[3] = { 0.5, 0.5, 0.5 }, *turns = calloc(n, dim * sizeof *turns), *volumes = calloc(n, sizeof *volumes);
    int status = turns && volumes ? 0 : hcy_fail(HCY_ENOMEM, "density: no memory for %zu points", n);
    for (size_t i = 0; !status && i < n * dim; i++) {
        status = find_turns(&turns[i], points, (int)(i % dim), i / dim, real);
        turns[i] -= floor(turns[i] + 0.5);
    }
    /* What no point is near to, as the corners about spokes, is not the outer points' because nobody else wants it. */
    for (size_t k = 0; k < dim; k++)
        reach[k] = fmin(VORONOI_REACH / (double)d->modes[k], 0.5);
    if (!status)
        status = hcy__voronoi_volumes(volumes, turns, d->dim, reach, n, threads_beside(dev));
    for (size_t i = 0; !status && i < n; i++)
        set_real(weights, i, real, volumes[i]);
    free(turns);
    free(volumes);
    return status;
}

/* --- Pipe and Menon --- */

static int make_density_plan(struct density *s, hcy_device *dev, const void *const *points)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_nufft_options options = HCY_NUFFT_OPTIONS_INIT;
    hcy_nufft_info info = HCY_NUFFT_INFO_INIT;
    desc.precision = s->desc->precision;
    desc.dim = s->desc->dim;
    memcpy(desc.modes, s->desc->modes, sizeof desc.modes);
    desc.eps = 1e-3; /* the width says what is used */
    options.upsampling = KERNEL_UPSAMPLING;
    options.width = KERNEL_WIDTH;
    options.method = HCY_NUFFT_GRID;
    options.deterministic = s->desc->deterministic;
    int status = hcy_nufft_create(&s->plan, dev, &desc, &options);
    if (!status)
        status = hcy_nufft_set_points(s->plan, (int64_t)s->n, points, 0, NULL);
    if (!status)
        status = hcy_nufft_get_info(&info, s->plan);
    s->cells = 1;
    for (int d = 0; !status && d < desc.dim; d++)
        s->cells *= info.grid[d]; /* the plan has proved that this can be addressed */
    return status;
}

/* The sums of the kernel over the grid, the same wherever it stands; as a mean over points. */
static int measure_kernel(double *sum, struct density *s)
{
    double all = 0;
    for (size_t i = 0; i < 2 * s->cells; i++)
        set_real(s->grid, i, s->real, i % 2 == 0);
    int status = hcy_nufft_execute_stage(s->strengths, s->plan, HCY_NUFFT_INTERPOLATE, s->grid);
    for (size_t i = 0; !status && i < s->n; i++)
        all += get_real(s->strengths, 2 * i, s->real);
    *sum = all / (double)s->n;
    return status;
}

static int iterate_density(void *weights, struct density *s)
{
    for (size_t i = 0; i < s->n; i++) {
        set_real(s->strengths, 2 * i, s->real, get_real(weights, i, s->real));
        set_real(s->strengths, 2 * i + 1, s->real, 0);
    }
    int status = hcy_nufft_execute_stage(s->grid, s->plan, HCY_NUFFT_SPREAD, s->strengths);
    if (!status)
        status = hcy_nufft_execute_stage(s->strengths, s->plan, HCY_NUFFT_INTERPOLATE, s->grid);
    for (size_t i = 0; !status && i < s->n; i++) {
        double around = get_real(s->strengths, 2 * i, s->real);
        /* A point's own share of the sum is above 0; what rounding has made of it must not turn a weight over. */
        if (around > 0)
            set_real(weights, i, s->real, get_real(weights, i, s->real) / around);
    }
    return status;
}

static int weigh_by_pipe(void *weights, hcy_device *dev, const hcy_density_desc *d, size_t n,
                         const void *const *points)
{
    struct density s = { .desc = d, .n = n, .real = d->precision == HCY_F64 ? 8 : 4 };
    double sum = 0;
    int status = make_density_plan(&s, dev, points);
    if (!status) {
        s.strengths = calloc(n, 2 * s.real);
        s.grid = calloc(s.cells, 2 * s.real);
        if (!s.strengths || !s.grid)
            status =
                hcy_fail(HCY_ENOMEM, "density: no memory for %zu points and a grid of %zu cells", n, s.cells);
    }
    if (!status)
        status = measure_kernel(&sum, &s);
    for (size_t i = 0; !status && i < n; i++)
        set_real(weights, i, s.real, 1);
    for (int i = 0; !status && i < d->iterations; i++)
        status = iterate_density(weights, &s);
    /* Where weights are volumes, the sums are the kernel's mean over the period, and not 1: the mean of what one point
     * spreads, times that of what interpolating gathers. */
    for (size_t i = 0; !status && i < n; i++)
        set_real(weights, i, s.real, get_real(weights, i, s.real) * (sum * sum / (double)s.cells));
    free(s.grid);
    free(s.strengths);
    hcy_nufft_destroy(s.plan);
    return status;
}

int hcy_density_weights(void *weights, hcy_device *dev, const hcy_density_desc *desc, int64_t n_points,
                        const void *const *points)
{
    hcy_density_desc d = HCY_DENSITY_DESC_INIT;
    int status = hcy__sized_read(&d, sizeof d, desc, "hcy_density_desc");
    if (!status)
        status = check_density_desc(&d, n_points);
    if (status)
        return status;
    const bool needs_device = d.method == HCY_DENSITY_PIPE;
    if ((!dev && needs_device) || !points || (n_points && !weights))
        return hcy_fail(HCY_EINVAL, "density: no %s",
                        !dev && needs_device ? "device"
                        : points             ? "place for weights"
                                             : "points");
    for (int axis = 0; axis < d.dim; axis++)
        if (n_points && !points[axis])
            return hcy_fail(HCY_EINVAL, "density: points of axis %d are NULL", axis);
    if (!n_points)
        return 0;
    if (d.method == HCY_DENSITY_CELLS)
        return weigh_by_cells(weights, &d, (size_t)n_points, points);
    return d.method == HCY_DENSITY_VORONOI ? weigh_by_voronoi(weights, dev, &d, (size_t)n_points, points)
                                           : weigh_by_pipe(weights, dev, &d, (size_t)n_points, points);
}
