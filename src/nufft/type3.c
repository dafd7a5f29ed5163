/* type3.c - type 3: both ends anywhere.
 *
 * With points within X of their centre C and targets within S of D (per axis), x = C + gamma x', gamma such
 * that the x' stay clear of the period's ends and the frequencies gamma (s - D) are within what the fine
 * grid resolves:
 *
 *     exp(i s x) = exp(i D x) exp(i (s - D) C) exp(i gamma (s - D) x')
 *
 * So strengths are turned by the first factor and spread at x' to a grid of n cells; that grid, transformed
 * to the frequencies gamma (s - D), is a type 2 with n modes at s' = 2 pi gamma (s - D) / n; results are
 * divided by the window's transform there and turned by the second factor (Lee, Greengard 2005; sizes as
 * FINUFFT has them).
 */
#include "nufft_priv.h"

#include <math.h>
#include <stdlib.h>

#define PI 3.14159265358979323846

/* An axis: centres and half widths of points and targets, and the scale. */
struct axis {
    double c, x, d, s, gamma;
};

static double at(const hcy_nufft *p, const void *const *points, int axis, size_t i)
{
    return p->desc.precision == HCY_F64 ? ((const double *)points[axis])[i]
                                        : (double)((const float *)points[axis])[i];
}

static int reach(const hcy_nufft *p, const void *const *points, int axis, size_t n, const char *what,
                 double *centre, double *half)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        double v = at(p, points, axis, i);
        if (!isfinite(v))
            return hcy_fail(HCY_EINVAL, "%s %zu has a coordinate that is no number or infinite", what,
                            i + (what[0] == 'p' ? p->first_number : 0));
        low = fmin(low, v);
        high = fmax(high, v);
    }
    *centre = n ? 0.5 * low + 0.5 * high : 0;
    *half = n ? 0.5 * high - 0.5 * low : 0;
    return 0;
}

static int choose_axis(hcy_nufft *p, struct axis *a, int d)
{
    double x = a->x, s = a->s, least = p->job.width + 1;
    if (x == 0)
        x = s == 0 ? 1 : 1 / s;
    s = fmax(s, 1 / x);
    x = fmax(x, 1 / s);
    double cells = 2 * p->upsampling * s * x / PI + least;
    if (!(cells < INT32_MAX))
        return hcy_fail(HCY_ERANGE,
                        "points within %g and targets within %g of their centres on axis %d need %g cells",
                        a->x, a->s, d, cells);
    p->job.grid[d] = hcy__nufft_smooth((uint64_t)fmax(ceil(cells), 2 * p->job.width));
    p->job.modes[d] = p->job.grid[d];
    a->gamma = (double)p->job.grid[d] / (2 * p->upsampling * s);
    return 0;
}

/* Window and grid for an upsampling. */
static int try_upsampling(hcy_nufft *p, struct axis *axes, double upsampling)
{
    size_t bytes = 2 * hcy__nufft_real(p) * p->batch;
    int status = 0;
    p->upsampling = upsampling;
    p->job.width = hcy__nufft_width_for(p, upsampling);
    for (int d = 0; d < p->desc.dim && !status; d++) {
        status = choose_axis(p, &axes[d], d);
        if (!status && hcy_size_mul(&bytes, bytes, (size_t)p->job.grid[d]))
            status =
                hcy_fail(HCY_ERANGE, "points and targets need a grid that is beyond what can be addressed");
    }
    return status;
}

/* The type 2's part of the error: it is divided by the window's transform, which is smallest where errors are largest,
 * and targets may all be there. */
static double inner_eps(const hcy_nufft *p)
{
    return fmax(p->desc.eps / 5, p->desc.precision == HCY_F32 ? 0x1p-23 : 0x1p-52);
}

int hcy__nufft_inner_job(const hcy_nufft *p, hcy_nufft_job *job)
{
    hcy_nufft inner = { .desc = p->desc, .opts = p->opts, .job = p->job };
    inner.desc.type = 2;
    inner.desc.eps = inner_eps(p);
    int status = hcy__nufft_choose(&inner, p->n_targets);
    *job = inner.job;
    job->n_points = p->n_targets;
    return status;
}

/* Of the spreading, and of the type 2 that follows. */
static int cost(const hcy_nufft *p, size_t n, double *ns)
{
    hcy_nufft_job inner;
    int status = hcy__nufft_inner_job(p, &inner);
    *ns = status ? INFINITY : hcy__nufft_cost(&p->job, n) + hcy__nufft_cost(&inner, p->n_targets);
    return status;
}

/* *least: ns with the grid chosen, or infinite with one that was asked for. */
static int choose(hcy_nufft *p, struct axis *axes, size_t n, const void *const *points, size_t n_targets,
                  const void *const *targets, double *least)
{
    double best = 0, ns, s;
    *least = INFINITY;
    int status = 0;
    for (int d = 0; d < p->desc.dim && !status; d++) {
        status = reach(p, points, d, n, "point", &axes[d].c, &axes[d].x);
        if (!status)
            status = reach(p, targets, d, n_targets, "target", &axes[d].d, &axes[d].s);
    }
    if (p->opts.upsampling > 0)
        return status ? status : try_upsampling(p, axes, p->opts.upsampling);
    for (size_t i = 0; !status && (s = hcy__nufft_candidate(p, i)) != 0; i++) {
        int failed = try_upsampling(p, axes, s); /* a coarser grid may fit where a finer one does not */
        if (!failed)
            failed = cost(p, n, &ns);
        if (!failed && ns < *least) {
            *least = ns;
            best = s;
        }
    }
    return status ? status : try_upsampling(p, axes, best > 0 ? best : 2);
}

/* Points to x', or targets to s', and the factors of one end. */
static void turn(const hcy_nufft *p, const struct axis *axes, const void *const *points, size_t n,
                 bool is_target, double *const *moved, double *factors)
{
    for (size_t i = 0; i < n; i++) {
        double phase = 0, weight = 1;
        for (int d = 0; d < p->desc.dim; d++) {
            const struct axis *a = &axes[d];
            double v = at(p, points, d, i), cells = (double)p->job.grid[d];
            if (is_target) {
                phase += (v - a->d) * a->c;
                weight /= hcy__window_hat(&p->window, a->gamma * (v - a->d), cells);
                moved[d][i] = 2 * PI / cells * a->gamma * (v - a->d);
            } else {
                phase += a->d * v;
                moved[d][i] = (v - a->c) / a->gamma;
            }
        }
        factors[2 * i] = weight * cos(phase);
        factors[2 * i + 1] = weight * p->desc.sign * sin(phase);
    }
}

/* Moved coordinates of one end, and its factors to the device; what is done with the coordinates. */
static int take_end(hcy_nufft *p, const struct axis *axes, const void *const *points, size_t n,
                    bool is_target, hcy_buffer **factors, hcy_nufft *to)
{
    double *room = n <= SIZE_MAX / 40 ? malloc(n * 5 * sizeof *room) : NULL;
    if (!room)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu points", n);
    double *moved[3] = { room + 2 * n, room + 3 * n, room + 4 * n };
    const void *const coordinates[3] = { moved[0], moved[1], moved[2] };
    turn(p, axes, points, n, is_target, moved, room);
    int status = hcy__nufft_upload_reals(factors, p, room, 2 * n);
    if (!status)
        status = is_target ? hcy_nufft_set_points(to, (int64_t)n, coordinates, 0, NULL)
                           : hcy__nufft_sort(to, n, coordinates);
    free(room);
    return status;
}

static int make_inner(hcy_nufft *p)
{
    hcy_nufft_options o = p->opts;
    hcy_nufft_desc desc = p->desc;
    for (int d = 0; d < p->desc.dim; d++)
        desc.modes[d] = (int64_t)p->job.grid[d];
    desc.type = 2;
    desc.n_transforms = (int64_t)p->batch;
    desc.eps = inner_eps(p);
    o.order = HCY_NUFFT_ZERO_FIRST; /* cell n - 1 stands at x' = -2 pi / n */
    o.max_batch = p->batch;
    o.method = HCY_NUFFT_GRID;
    o.check_points = 0;
    int status = hcy_nufft_create(&p->inner, p->dev, &desc, &o);
    if (status)
        return status;
    p->inner->whole = true;
    p->inner->job.flags |= HCY_NUFFT_WIDE_POINTS;
    return 0;
}

int hcy__nufft_set_type3(hcy_nufft *p, size_t n, const void *const *points, size_t n_targets,
                         const void *const *targets)
{
    struct axis axes[3];
    size_t length;
    p->n_points = n;
    if (!n || !n_targets)
        return 0;
    p->job.flags |= HCY_NUFFT_WIDE_POINTS;
    double ns;
    int status = choose(p, axes, n, points, n_targets, targets, &ns);
    if (!status && hcy__nufft_is_direct(p, n, n_targets, ns))
        return hcy__nufft_set_direct(p, points, targets);
    if (!status)
        status = hcy__nufft_piece_length(p, n, &length);
    if (!status && length)
        return hcy__nufft_set_pieces(p, points, targets, length);
    if (!status)
        status = hcy__nufft_tables(p, false);
    if (!status)
        status = make_inner(p);
    if (!status)
        status = take_end(p, axes, points, n, false, &p->before, p);
    if (!status)
        status = take_end(p, axes, targets, n_targets, true, &p->after, p->inner);
    return status;
}
