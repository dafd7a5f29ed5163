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

/* The plan's state; its own grid and sorted points are those of the spreading. */
struct type3 {
    hcy_nufft *inner; /* a type 2, whose modes are the cells of the plan's grid */
    hcy_buffer *before, *after; /* factors: of strengths; of results */
};

static struct type3 *type3_of(const hcy_nufft *p)
{
    return p->state;
}

static double coordinate_of(const hcy_nufft *p, const void *const *points, int axis, size_t i)
{
    return p->desc.precision == HCY_F64 ? ((const double *)points[axis])[i]
                                        : (double)((const float *)points[axis])[i];
}

static int centre_and_reach(const hcy_nufft *p, const void *const *points, int axis, size_t n, const char *what,
                            double *centre, double *half)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        double v = coordinate_of(p, points, axis, i);
        if (!isfinite(v))
            return hcy_fail(HCY_EINVAL, "%s %zu has a coordinate that is not a number or infinite", what,
                            i + (what[0] == 'p' ? p->first_number : 0));
        low = fmin(low, v);
        high = fmax(high, v);
    }
    /* Halved before they are added, as the sum of two large numbers may be infinite. */
    *centre = n ? 0.5 * low + 0.5 * high : 0;
    *half = n ? 0.5 * high - 0.5 * low : 0;
    return 0;
}

static int choose_axis(hcy_nufft *p, struct hcy__nufft_axis *a, int d)
{
    const double tiny = 1e-300; /* whose reciprocal still is a number */
    double x = a->x > tiny ? a->x : 0, s = a->s > tiny ? a->s : 0, least = p->job.width + 1;
    /* A single point, or one place for all, has no reach: any will do whose product with the other end's is 1 at
     * least, and the grid then is the smallest one. */
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
    /* The grid that points are spread to is the coefficients' array of the type 2 that follows. */
    p->job.modes[d] = p->job.grid[d];
    a->gamma = (double)p->job.grid[d] / (2 * p->upsampling * s);
    return 0;
}

/* Sets window and grid for an upsampling. */
static int try_upsampling(hcy_nufft *p, struct hcy__nufft_axis *axes, double upsampling)
{
    size_t bytes = 2 * hcy__nufft_real(p) * p->batch;
    int status = hcy__nufft_check_reach(p, upsampling);
    /* Both follow from the upsampling: a finer grid does with a narrower window. */
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
    /* No plan, only what the choice reads and writes: description, options and job. */
    hcy_nufft inner = { .desc = p->desc, .opts = p->opts, .job = p->job };
    inner.desc.type = 2;
    inner.desc.eps = inner_eps(p);
    int status = hcy__nufft_choose(&inner, p->n_targets);
    *job = inner.job;
    job->n_points = p->n_targets;
    return status;
}

/* What the spreading and the type 2 that follows it cost. */
static int type3_cost(const hcy_nufft *p, double *ns)
{
    hcy_nufft_job inner;
    int status = hcy__nufft_inner_job(p, &inner);
    *ns = status ? INFINITY : hcy__nufft_cost(&p->job, p->n_points) + hcy__nufft_cost(&inner, p->n_targets);
    return status;
}

int hcy__nufft_choose_type3(hcy_nufft *p, const void *const *points, const void *const *targets, double *least)
{
    struct hcy__nufft_axis *axes = p->axes;
    double best = 0, ns, s;
    int status = 0;
    *least = INFINITY;
    p->job.flags |= HCY_NUFFT_DOUBLE_POINTS; /* points are moved, in double */
    for (int d = 0; d < p->desc.dim && !status; d++) {
        status = centre_and_reach(p, points, d, p->n_points, "point", &axes[d].c, &axes[d].x);
        if (!status)
            status = centre_and_reach(p, targets, d, p->n_targets, "target", &axes[d].d, &axes[d].s);
    }
    if (p->opts.upsampling > 0)
        /* The user's own upsampling is taken whatever it costs. */
        return status ? status : try_upsampling(p, axes, p->opts.upsampling);
    for (size_t i = 0; !status && (s = hcy__nufft_candidate(p, i)) != 0; i++) {
        int failed = try_upsampling(p, axes, s); /* a coarser grid may fit where a finer one does not */
        if (!failed)
            failed = type3_cost(p, &ns);
        if (!failed && ns < *least) {
            *least = ns;
            best = s;
        }
    }
    /* The last one tried is not the best one; if none fits, the finest says why. */
    return status ? status : try_upsampling(p, axes, best > 0 ? best : 2);
}

/* Points to x', or targets to s', and the factors of one end. */
static void turn_end(const hcy_nufft *p, const struct hcy__nufft_axis *axes, const void *const *points, size_t n,
                     bool is_target, double *const *moved, double *factors)
{
    for (size_t i = 0; i < n; i++) {
        double phase = 0, weight = 1;
        for (int d = 0; d < p->desc.dim; d++) {
            const struct hcy__nufft_axis *a = &axes[d];
            double v = coordinate_of(p, points, d, i), cells = (double)p->job.grid[d];
            /* A target's phase undoes the shift of the points, its weight the window; a point's phase is the shift
             * of the targets. Moved coordinates are what the spread and the type 2 take. */
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
static int take_end(hcy_nufft *p, const struct hcy__nufft_axis *axes, const void *const *points, size_t n,
                    bool is_target, hcy_buffer **factors, hcy_nufft *to)
{
    /* Factors and three axes in one block, which goes when the device has them. */
    double *room = n <= SIZE_MAX / 40 ? malloc(n * 5 * sizeof *room) : NULL;
    if (!room)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu points", n);
    double *moved[3] = { room + 2 * n, room + 3 * n, room + 4 * n };
    const void *const coordinates[3] = { moved[0], moved[1], moved[2] };
    turn_end(p, axes, points, n, is_target, moved, room);
    int status = hcy__nufft_upload_reals(factors, p, room, 2 * n);
    if (!status)
        status = is_target ? hcy_nufft_set_points(to, (int64_t)n, coordinates, 0, NULL)
                           : hcy__nufft_sort(to, n, coordinates);
    free(room);
    return status;
}

static int make_inner(hcy_nufft *p, hcy_nufft **made)
{
    hcy_nufft_options o = p->opts;
    hcy_nufft_desc desc = p->desc;
    for (int d = 0; d < p->desc.dim; d++)
        desc.modes[d] = (int64_t)p->job.grid[d];
    /* It transforms what was spread: a batch of this plan's grids, whose cells are its modes. */
    desc.type = 2;
    desc.n_transforms = (int64_t)p->batch;
    desc.eps = inner_eps(p);
    o.order = HCY_NUFFT_ZERO_FIRST; /* cell n - 1 stands at x' = -2 pi / n */
    o.max_batch = p->batch;
    o.method = HCY_NUFFT_GRID;
    o.check_points = 0;
    int status = hcy_nufft_create(made, p->dev, &desc, &o);
    if (status)
        return status;
    /* Whether all fits into memory was decided for both plans together (out_of_core.c). */
    (*made)->whole = true;
    (*made)->job.flags |= HCY_NUFFT_DOUBLE_POINTS;
    return 0;
}

/* Nothing is chosen, and no kernel is launched, where there are no points or no targets. */
static int set_type3_points(hcy_nufft *p, const void *const *points, const void *const *targets)
{
    if (!p->n_points || !p->n_targets)
        return 0;
    struct type3 *t = p->state = calloc(1, sizeof *t);
    if (!t)
        return hcy_fail(HCY_ENOMEM, "out of memory for a type 3");
    int status = hcy__nufft_tables(p, false);
    if (!status)
        status = make_inner(p, &t->inner);
    if (!status)
        status = take_end(p, p->axes, points, p->n_points, false, &t->before, p);
    if (!status)
        status = take_end(p, p->axes, targets, p->n_targets, true, &t->after, t->inner);
    return status;
}

static void forget_type3(hcy_nufft *p)
{
    struct type3 *t = type3_of(p);
    if (!t)
        return;
    hcy_nufft_destroy(t->inner);
    hcy__nufft_drop(&t->before);
    hcy__nufft_drop(&t->after);
    free(t);
}

/* --- Execution: strengths, factors, grid, a type 2 to the targets, factors; the adjoint the other way round --- */

#define AT(name) HCY_ARG_AT(nufft_scale, name)

static int scale(hcy_queue *q, const hcy_nufft *p, hcy_buffer *in, hcy_buffer *factors, hcy_buffer *out,
                 size_t n, size_t length, int sign)
{
    hcy_nufft_job job = p->job;
    /* The adjoint multiplies by conjugates: the sign of the job says so to the kernel. */
    job.sign = sign;
    hcy_arg args[HCY_N_ARGS(nufft_scale)] = { [AT(in)] = hcy_arg_buf(in),
                                              [AT(factors)] = hcy_arg_buf(factors),
                                              [AT(job)] = hcy_arg_struct(&job, sizeof job),
                                              [AT(out)] = hcy_arg_buf(out) };
    job.n_points = length;
    return hcy_launch(q, p->kernels[SCALE], n, args, HCY_N_ARGS(nufft_scale));
}

static int type3_vectors(hcy_queue *q, hcy_nufft *p, struct hcy__nufft_work *w, hcy_buffer *c, hcy_buffer *f,
                         size_t n, bool adjoint)
{
    const struct type3 *t = type3_of(p);
    size_t complex_ = 2 * hcy__nufft_real(p);
    /* The inner plan's work stays with this one, so that the next execution finds both. */
    int status = hcy__nufft_need_grid(p, w);
    if (!status)
        status = hcy__nufft_need(&w->scaled, p, p->batch * complex_ * (adjoint ? p->n_targets : p->n_points));
    if (!status && !w->inner)
        status = hcy__nufft_take_work(&w->inner, t->inner, q);
    if (status)
        return status;
    /* The caller's input stays as it is, so its end is multiplied into memory of the work's; the result in place. */
    if (!adjoint) {
        status = scale(q, p, c, t->before, w->scaled, n, p->n_points, 1);
        if (!status)
            status = hcy__nufft_spread(q, p, w, w->scaled, w->grid, n, HCY_NUFFT_PUTS);
        if (!status)
            status = hcy__nufft_grid_vectors(q, t->inner, w->inner, f, w->grid, n, false);
        if (!status)
            status = scale(q, p, f, t->after, f, n, p->n_targets, 1);
    } else {
        status = scale(q, p, f, t->after, w->scaled, n, p->n_targets, -1);
        if (!status)
            status = hcy__nufft_grid_vectors(q, t->inner, w->inner, w->scaled, w->grid, n, true);
        if (!status)
            status = hcy__nufft_spread(q, p, w, c, w->grid, n, HCY_NUFFT_GETS);
        if (!status)
            status = scale(q, p, c, t->before, c, n, p->n_points, -1);
    }
    return status;
}

static int execute_type3(hcy_nufft *p, char *c, char *f, size_t n, bool adjoint)
{
    return hcy__nufft_execute_batches(p, type3_vectors, c, f, n, adjoint);
}

static int submit_type3(hcy_queue *q, hcy_nufft *p, struct hcy__nufft_work *w, struct hcy__nufft_span *c,
                        struct hcy__nufft_span *f, size_t n, bool adjoint)
{
    return hcy__nufft_submit_batches(q, p, type3_vectors, w, c, f, n, adjoint);
}

const struct hcy__nufft_way hcy__nufft_type3 = { set_type3_points, execute_type3, submit_type3, NULL, NULL,
                                                 forget_type3 };
