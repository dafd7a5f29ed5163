/* cut.c - the kernels nufft_crop, nufft_pad and nufft_scale: modes out of the fine grid and into it, weighed,
 * and numbers times factors.  Each runs on its queue's thread and is shared out to the device's pool.
 */
#include "cpu_nufft.h"

void nufft_spans(struct nufft_span spans[2], size_t modes, size_t grid, bool fft_order)
{
    size_t below = modes / 2, from_0 = modes - below;
    spans[0] = (struct nufft_span){ 0, fft_order ? 0 : below, below, from_0 };
    spans[1] = (struct nufft_span){ grid - below, fft_order ? from_0 : 0, 0, below };
}

int nufft_take_cut(struct nufft_cut *c, const struct cpu_call *call, bool crops, const struct hcy_nufft_cut_at *at)
{
    struct nufft_layout l;
    c->job = *(const hcy_nufft_job *)call->values[at->job].bytes;
    int status = nufft_layout_of(&l, &c->job);
    if (status)
        return status;
    /* The layout has checked the job, so its sizes can be used. */
    c->ops = nufft_ops_for(call->simd, &c->job);
    c->real = l.real;
    c->cells = l.cells;
    c->all = 1;
    c->crops = crops;
    size_t factors = 0, grid, modes;
    for (int i = 0; i < 3; i++) {
        /* The factors of all axes stand one behind the other, the slowest axis' first. */
        c->factors[i] = (const char *)cpu_arg(call, at->factors) + factors * l.real;
        if (i < (int)l.dim) {
            if (!c->job.modes[i])
                return hcy_fail(HCY_EINVAL, "nufft: axis %d has no modes", i);
            factors += (size_t)c->job.modes[i];
            c->all *= (size_t)c->job.modes[i];
            nufft_spans(c->spans[i], (size_t)c->job.modes[i], (size_t)c->job.grid[i],
                        c->job.flags & HCY_NUFFT_FFT_ORDER);
        }
    }
    /* Products of sizes are checked, as a job may say anything. */
    if (hcy_size_mul(&grid, c->cells * 2 * l.real, call->items) ||
        hcy_size_mul(&modes, c->all * 2 * l.real, call->items) || cpu_arg_size(call, at->grid) < grid ||
        cpu_arg_size(call, at->modes) < modes || cpu_arg_size(call, at->factors) < factors * l.real)
        return hcy_fail(HCY_EINVAL, "nufft: grid, modes or factors are smaller than the job says");
    c->grid = cpu_arg(call, at->grid);
    c->modes = cpu_arg(call, at->modes);
    return 0;
}

double nufft_factor(const struct nufft_cut *c, int axis, size_t i)
{
    if (axis < 0)
        return 1;
    return c->real == 8 ? ((const double *)c->factors[axis])[i]
                        : (double)((const float *)c->factors[axis])[i];
}

/* A row of modes, one of the last axis; the others are [item][i][j]. */
static void cut_row(const struct nufft_cut *c, size_t item, const struct nufft_span *si, size_t i,
                    const struct nufft_span *sj, size_t j)
{
    int last = (int)c->job.dim - 1;
    size_t mode = item * c->all, cell = item * c->cells, n = (size_t)c->job.modes[last];
    /* The factors of the slower axes are one number for the whole row. */
    double s = nufft_factor(c, last - 2, si ? si->factor + i : 0) *
               nufft_factor(c, last - 1, sj ? sj->factor + j : 0);
    size_t mi = si ? si->mode + i : 0, gi = si ? si->grid + i : 0;
    if (sj) {
        mode += (mi * (size_t)c->job.modes[last - 1] + sj->mode + j) * n;
        cell += (gi * (size_t)c->job.grid[last - 1] + sj->grid + j) * (size_t)c->job.grid[last];
    }
    for (int k = 0; k < 2; k++) {
        const struct nufft_span *sk = &c->spans[last][k];
        char *m = c->modes + (mode + sk->mode) * 2 * c->real, *g = c->grid + (cell + sk->grid) * 2 * c->real;
        c->ops->weigh(c->crops ? m : g, c->crops ? g : m, c->factors[last] + sk->factor * c->real, s, sk->n);
    }
}

static void cut_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct nufft_cut *c = context;
    int last = (int)c->job.dim - 1;
    (void)thread;
    for (size_t at = begin; at < end; at++) { /* planes of the slowest axis of 3 */
        size_t planes = last == 2 ? (size_t)c->job.modes[0] : 1, item = at / planes, i = at % planes;
        /* Modes of both signs are counted through, so a plane is found in one of two spans. */
        const struct nufft_span *si = last == 2 ? &c->spans[0][i >= c->spans[0][0].n] : NULL;
        i -= si == &c->spans[0][1] ? c->spans[0][0].n : 0;
        if (last == 0)
            cut_row(c, item, NULL, 0, NULL, 0);
        for (int k = 0; last && k < 2; k++)
            for (size_t j = 0; j < c->spans[last - 1][k].n; j++)
                cut_row(c, item, si, i, &c->spans[last - 1][k], j);
    }
}

static int run_cut(const struct cpu_call *call, bool crops)
{
    struct nufft_cut c;
    int status = nufft_take_cut(&c, call, crops, hcy_nufft_cut_at(crops, false));
    if (status)
        return status;
    /* Padding writes the modes alone; everything between them is zero. */
    if (!crops)
        nufft_zero(call->pool, c.grid, call->items * c.cells * 2 * c.real);
    cpu_pool_for(call->pool, call->items * (c.job.dim == 3 ? (size_t)c.job.modes[0] : 1), 1, cut_range, &c);
    return 0;
}

int nufft_run_crop(const struct cpu_call *call)
{
    return run_cut(call, true);
}

int nufft_run_pad(const struct cpu_call *call)
{
    return run_cut(call, false);
}

struct scale {
    const struct nufft_ops *ops;
    size_t n, complex_;
    const char *in, *factors;
    char *out;
    bool conjugate;
};

static void scale_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct scale *s = context;
    (void)thread;
    for (size_t i = begin; i < end; i++)
        s->ops->multiply(s->out + i * s->n * s->complex_, s->in + i * s->n * s->complex_, s->factors,
                         s->conjugate, s->n);
}

#define AT(name) HCY_ARG_AT(nufft_scale, name)

int nufft_run_scale(const struct cpu_call *call)
{
    const hcy_nufft_job *job = call->values[AT(job)].bytes;
    size_t complex_ = job->precision == HCY_F64 ? 16 : 8, n = (size_t)job->n_points, all, one;
    if (hcy_size_mul(&one, n, complex_) || hcy_size_mul(&all, one, call->items) ||
        cpu_arg_size(call, AT(in)) < all || cpu_arg_size(call, AT(out)) < all ||
        cpu_arg_size(call, AT(factors)) < one)
        return hcy_fail(HCY_EINVAL, "nufft_scale: the buffers are smaller than the job says");
    /* With fused multiply-adds the last of an array, which fill no vector, are rounded otherwise than the rest: a
     * point's bits would be those of its place. */
    const bool same = job->flags & (HCY_NUFFT_SAME_BITS | HCY_NUFFT_FIXED_ORDER);
    struct scale s = { same ? &nufft_same_portable[complex_ == 16] : nufft_ops(call->simd, complex_ == 16),
                       n,
                       complex_,
                       cpu_arg(call, AT(in)),
                       cpu_arg(call, AT(factors)),
                       cpu_arg(call, AT(out)),
                       job->sign < 0 };
    cpu_pool_for(call->pool, call->items, 1, scale_range, &s);
    return 0;
}
