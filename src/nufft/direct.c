/* direct.c - small problems as the sums they are, on the host, whatever the device: cheaper there than what spreading
 * and launches take, the same bits everywhere, and more exact.
 *
 * All is done in double. Of every point there is a row of exp(i k x), axis after axis, the last one padded with zeros
 * to whole groups of LANES, real parts behind each other and imaginary parts behind each other: loops over groups are
 * of constant length, for compilers to make vectors of.  Type 3 is one axis of all targets.  What a plan has of this
 * is only read by executions.
 */
#include "nufft_priv.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846
enum { LANES = 8 };

struct direct {
    size_t n[3]; /* values of an axis; the last axis: padded */
    size_t real_n, row; /* of the last axis without padding; values a point */
    double *re, *im;    /* [point][row] */
    /* What the grid is given, once stages or queues ask for it, and the plan that has it, under the lock. */
    void *copies[6];
    pthread_mutex_t lock;
    hcy_nufft *gridded;
};

static struct direct *direct_of(const hcy_nufft *p)
{
    return p->state;
}

static size_t padded(size_t n)
{
    return (n + LANES - 1) / LANES * LANES;
}

/* ns of a transform of one vector, measured, and a tenth of what setting the points takes: sines and cosines. */
static double direct_cost(const hcy_nufft *p, double n_points, size_t n_targets)
{
    size_t last = p->desc.type == 3 ? n_targets : (size_t)p->job.modes[p->desc.dim - 1];
    double rows = p->desc.type == 3 ? 1 : (double)p->n_modes / (double)last, sum = 0;
    for (int d = 0; d < p->desc.dim; d++)
        sum += p->desc.type == 3 ? 20 * (double)n_targets / p->desc.dim : 100 + 2 * (double)p->job.modes[d];
    return n_points * (5 + rows * (3 + 0.65 * (double)padded(last)) + 0.1 * sum);
}

bool hcy__nufft_is_direct(const hcy_nufft *p, size_t n_points, size_t n_targets, double grid_ns)
{
    const hcy_nufft_options *o = &p->opts;
    const double launches = p->desc.type == 3 ? 1e5 : 1e4, little = 1e5; /* ns; launches: and a tenth of the tables */
    if (!n_points || (p->desc.type == 3 && !n_targets) || o->method == HCY_NUFFT_GRID)
        return false;
    if (o->method == HCY_NUFFT_DIRECT)
        return true;
    double ns = direct_cost(p, (double)n_points, n_targets);
    /* One thread does it: beyond a little only where a grid on several threads is no match. */
    return p->may_be_direct && ns < grid_ns + launches && (ns < little || 16 * ns < grid_ns);
}

static void forget_direct(hcy_nufft *p)
{
    struct direct *d = direct_of(p);
    if (!d)
        return;
    hcy_nufft_destroy(d->gridded);
    pthread_mutex_destroy(&d->lock);
    for (int i = 0; i < 6; i++)
        free(d->copies[i]);
    free(d->re);
    free(d->im);
    free(d);
}

static double real_of(const hcy_nufft *p, const void *values, size_t i)
{
    return p->desc.precision == HCY_F64 ? ((const double *)values)[i] : (double)((const float *)values)[i];
}

/* exp(i k x) for k = -(n/2) ..., or from 0 up and then from the negative ones up, of a whole turn times `turns`: powers
 * are products of as few as can be. */
static void powers(double turns, size_t n, bool zero_first, double *re, double *im)
{
    size_t below = n / 2, zero = zero_first ? 0 : below, most = n - below - 1;
    double *pr = re + zero, *pi = im + zero;
    /* From 0 up: a doubling at a time, so that errors grow with the logarithm of n only.  Whole turns count nothing and
     * are taken off while it is exact. */
    turns -= rint(turns);
    pr[0] = 1;
    pi[0] = 0;
    for (size_t have = 1; have <= most; have *= 2) { /* k below `have` are there */
        double t = turns * (double)have, r, i;
        t -= rint(t); /* exact: `have` is a power of 2 */
        r = cos(2 * PI * t);
        i = sin(2 * PI * t);
        for (size_t k = 0; k < have && have + k <= most; k++) {
            pr[have + k] = r * pr[k] - i * pi[k];
            pi[have + k] = r * pi[k] + i * pr[k];
        }
    }
    /* Below 0 the conjugates are. */
    for (size_t k = 1; k <= below; k++) {
        size_t at = zero_first ? n - k : below - k;
        if (k <= most) {
            re[at] = pr[k];
            im[at] = -pi[k];
        } else { /* the one mode below 0 that has none above */
            double t = turns * (double)k;
            t -= rint(t);
            re[at] = cos(2 * PI * t);
            im[at] = -sin(2 * PI * t);
        }
    }
}

/* The rows of types 1 and 2; coordinates that are none count as 0, and *bad is the first one. */
static void fill_modes(const hcy_nufft *p, struct direct *d, const void *const *points, size_t *bad)
{
    for (size_t j = 0; j < p->n_points; j++) {
        double *re = d->re + j * d->row, *im = d->im + j * d->row;
        for (int a = 0; a < p->desc.dim; a++) {
            double turns = real_of(p, points[a], j) / (2 * PI);
            /* Beyond that double has no digits left for the part of a turn; a NaN fails both comparisons. */
            if (!(turns < 0x1p40 && turns > -0x1p40)) {
                *bad = j < *bad ? j : *bad;
                turns = 0;
            }
            powers(turns, (size_t)p->job.modes[a], p->opts.order != HCY_NUFFT_CENTRED, re, im);
            re += d->n[a];
            im += d->n[a];
        }
    }
}

static void fill_targets(const hcy_nufft *p, struct direct *d, const void *const *points,
                         const void *const *targets)
{
    for (size_t j = 0; j < p->n_points; j++)
        for (size_t k = 0; k < p->n_targets; k++) {
            double phase = 0;
            for (int a = 0; a < p->desc.dim; a++)
                phase += real_of(p, points[a], j) * real_of(p, targets[a], k);
            d->re[j * d->row + k] = cos(phase);
            d->im[j * d->row + k] = sin(phase);
        }
}

static int copy_ends(const hcy_nufft *p, struct direct *d, const void *const *points,
                     const void *const *targets)
{
    for (int i = 0; i < 3 + p->desc.dim && (i < 3 || p->desc.type == 3); i++) {
        /* The first three are points, the others targets; types 1 and 2 have none of those. */
        size_t n = i < 3 ? p->n_points : p->n_targets;
        if (i % 3 >= p->desc.dim)
            continue;
        d->copies[i] = malloc(n * hcy__nufft_real(p));
        if (!d->copies[i])
            return hcy_fail(HCY_ENOMEM, "out of memory for %zu points", n);
        memcpy(d->copies[i], i < 3 ? points[i] : targets[i - 3], n * hcy__nufft_real(p));
    }
    return 0;
}

static int set_direct_points(hcy_nufft *p, const void *const *points, const void *const *targets)
{
    struct direct *d = calloc(1, sizeof *d);
    size_t bad = SIZE_MAX, all;
    if (!d)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu points", p->n_points);
    p->state = d;
    pthread_mutex_init(&d->lock, NULL);
    hcy__nufft_drop(&p->table); /* no execution needs it, and it may be another grid's */
    /* A point's row has its axes one behind the other; the last one is padded, for it is what inner loops run over. */
    int axes = p->desc.type == 3 ? 1 : p->desc.dim;
    for (int a = 0; a < 3; a++)
        d->n[a] = a < axes && p->desc.type != 3 ? (size_t)p->job.modes[a] : 1;
    d->real_n = p->desc.type == 3 ? p->n_targets : d->n[axes - 1];
    d->n[axes - 1] = padded(d->real_n);
    for (int a = 0; a < axes; a++)
        d->row += d->n[a];
    /* calloc, because the padding is added up as well and must be 0. */
    int status = hcy_size_mul(&all, p->n_points, d->row);
    if (!status) {
        d->re = calloc(all, sizeof *d->re);
        d->im = calloc(all, sizeof *d->im);
    }
    if (status || !d->re || !d->im)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu points times %zu values", p->n_points, d->row);
    /* The caller's points go when this returns, but a grid may be asked for later. */
    status = copy_ends(p, d, points, targets);
    if (status)
        return status;
    if (p->desc.type == 3)
        fill_targets(p, d, points, targets);
    else
        fill_modes(p, d, points, &bad);
    return bad != SIZE_MAX && p->opts.check_points ? hcy__nufft_bad_point(p, bad) : 0;
}

/* --- Execution --- */

/* f += (r + i s) e, and the sum over f times conj(e) or e; n: whole groups. */
static void add_to_modes(double *restrict fr, double *restrict fi, const double *restrict er, const double *restrict ei,
                         double r, double s, size_t n)
{
    for (size_t k = 0; k < n; k += LANES)
        for (size_t l = k; l < k + LANES; l++) {
            fr[l] += r * er[l] - s * ei[l];
            fi[l] += r * ei[l] + s * er[l];
        }
}

static void sum_over_modes(const double *restrict fr, const double *restrict fi, const double *restrict er,
                           const double *restrict ei, size_t n, double *r, double *s)
{
    /* As many sums as a vector has lanes, added up at the end: compilers may not reorder sums of their own accord. */
    double sr[LANES] = { 0 }, si[LANES] = { 0 };
    for (size_t k = 0; k < n; k += LANES)
        for (size_t l = 0; l < LANES; l++) {
            sr[l] += fr[k + l] * er[k + l] - fi[k + l] * ei[k + l];
            si[l] += fr[k + l] * ei[k + l] + fi[k + l] * er[k + l];
        }
    *r = *s = 0;
    for (size_t l = 0; l < LANES; l++) {
        *r += sr[l];
        *s += si[l];
    }
}

/* One point: strength (*r, *s) to all modes, or their sum to it. */
static void one_point(const hcy_nufft *p, size_t j, double *fr, double *fi, double *r, double *s, bool to_modes)
{
    const struct direct *d = direct_of(p);
    /* A type 3's row has no product of axes: it holds the exponentials of all targets. */
    int axes = p->desc.type == 3 ? 1 : p->desc.dim;
    size_t outer = axes > 2 ? d->n[0] : 1, middle = axes > 1 ? d->n[axes - 2] : 1, last = d->n[axes - 1];
    const double *re = d->re + j * d->row, *im = d->im + j * d->row;
    const double *mr = re + (axes > 2 ? outer : 0), *mi = im + (axes > 2 ? outer : 0);
    const double *lr = re + d->row - last, *li = im + d->row - last;
    double sum_r = 0, sum_i = 0;
    for (size_t o = 0; o < outer; o++)
        for (size_t m = 0; m < middle; m++, fr += last, fi += last) {
            double a = axes > 2 ? re[o] : 1, b = axes > 2 ? im[o] : 0, c = axes > 1 ? mr[m] : 1,
                   e = axes > 1 ? mi[m] : 0, wr = a * c - b * e, wi = a * e + b * c, tr, ti;
            /* The innermost axis goes to loops over vectors; the outer two are one factor of each of its rows. */
            if (to_modes) {
                add_to_modes(fr, fi, lr, li, wr * *r - wi * *s, wr * *s + wi * *r, last);
                continue;
            }
            sum_over_modes(fr, fi, lr, li, last, &tr, &ti);
            sum_r += wr * tr - wi * ti;
            sum_i += wr * ti + wi * tr;
        }
    if (!to_modes) {
        *r = sum_r;
        *s = sum_i;
    }
}

/* Coefficients of one vector between the caller's array and two of doubles with padding; imaginary parts times s. */
static void move_modes(const hcy_nufft *p, char *f, double *fr, double *fi, double s, bool in)
{
    const struct direct *d = direct_of(p);
    size_t last = padded(d->real_n), n = hcy__nufft_results(p);
    for (size_t k = 0; k < n; k++) {
        size_t at = k / d->real_n * last + k % d->real_n;
        if (in) {
            fr[at] = real_of(p, f, 2 * k);
            fi[at] = s * real_of(p, f, 2 * k + 1);
        } else if (p->desc.precision == HCY_F64) {
            ((double *)(void *)f)[2 * k] = fr[at];
            ((double *)(void *)f)[2 * k + 1] = s * fi[at];
        } else {
            ((float *)(void *)f)[2 * k] = (float)fr[at];
            ((float *)(void *)f)[2 * k + 1] = (float)(s * fi[at]);
        }
    }
}

/* A point with its strength, to be summed in an order by what they are. */
struct ordered {
    double x[3], c[2];
    size_t j;
};

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, offsetof(struct ordered, j));
}

/* The points of a sum that is not to depend on the order they came in; NULL: there is no memory. */
static struct ordered *order_by_value(const hcy_nufft *p, const char *c)
{
    struct ordered *points = p->n_points <= SIZE_MAX / sizeof *points ? calloc(p->n_points, sizeof *points) : NULL;
    for (size_t j = 0; points && j < p->n_points; j++) {
        points[j].j = j;
        for (int a = 0; a < p->desc.dim; a++)
            points[j].x[a] = real_of(p, direct_of(p)->copies[a], j);
        for (int i = 0; i < 2; i++)
            points[j].c[i] = real_of(p, c, 2 * j + (size_t)i);
    }
    if (points)
        qsort(points, p->n_points, sizeof *points, compare);
    return points;
}

static int one_vector(const hcy_nufft *p, char *c, char *f, double *fr, double *fi, size_t n, bool adjoint)
{
    bool to_modes = (p->desc.type == 2) == adjoint;
    double s = (p->desc.sign > 0) == adjoint ? -1 : 1; /* conjugates go in and come out for exp(-i...) */
    /* Sums over points depend on their order; what goes to a point is a sum over modes, whose order is fixed. */
    struct ordered *order = to_modes && p->opts.deterministic ? order_by_value(p, c) : NULL;
    if (to_modes && p->opts.deterministic && !order)
        return hcy_fail(HCY_ENOMEM, "out of memory for the order of %zu points", p->n_points);
    if (to_modes)
        memset(fr, 0, 2 * n * sizeof *fr);
    else
        move_modes(p, f, fr, fi, s, true);
    /* All in double; what is rounded to float is rounded once, on the way out. */
    for (size_t n_done = 0; n_done < p->n_points; n_done++) {
        size_t j = order ? order[n_done].j : n_done;
        double r = to_modes ? real_of(p, c, 2 * j) : 0, i = to_modes ? s * real_of(p, c, 2 * j + 1) : 0;
        one_point(p, j, fr, fi, &r, &i, to_modes);
        if (!to_modes && p->desc.precision == HCY_F64) {
            ((double *)(void *)c)[2 * j] = r;
            ((double *)(void *)c)[2 * j + 1] = s * i;
        } else if (!to_modes) {
            ((float *)(void *)c)[2 * j] = (float)r;
            ((float *)(void *)c)[2 * j + 1] = (float)(s * i);
        }
    }
    if (to_modes)
        move_modes(p, f, fr, fi, s, false);
    free(order);
    return 0;
}

static int execute_direct(hcy_nufft *p, char *c, char *f, size_t n_vectors, bool adjoint)
{
    const struct direct *d = direct_of(p);
    size_t n = hcy__nufft_results(p) / d->real_n * padded(d->real_n), complex_ = 2 * hcy__nufft_real(p);
    double *room = n <= SIZE_MAX / 32 ? calloc(n, 2 * sizeof *room) : NULL;
    if (!room)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu coefficients", n);
    int status = 0;
    for (size_t v = 0; v < n_vectors && !status; v++)
        status = one_vector(p, c + v * p->n_points * complex_, f + v * hcy__nufft_results(p) * complex_, room, room + n,
                            n, adjoint);
    free(room);
    return status;
}

/* --- Where a grid is asked for all the same --- */

static int make_grid(hcy_nufft *p)
{
    hcy_nufft_options o = p->opts;
    hcy_nufft *made = NULL;
    const struct direct *d = direct_of(p);
    /* A grid is asked for when stages or queues are: sums on the host have no stages and wait for no queue. */
    o.method = HCY_NUFFT_GRID;
    int status = hcy_nufft_create(&made, p->dev, &p->desc, &o);
    if (!status)
        status = hcy_nufft_set_points(made, (int64_t)p->n_points, (const void *const *)d->copies,
                                      (int64_t)p->n_targets, (const void *const *)d->copies + 3);
    if (status)
        hcy_nufft_destroy(made);
    else
        direct_of(p)->gridded = made;
    return status;
}

/* *out belongs to the plan, of which any thread may ask for it. */
static int gridded(hcy_nufft **out, hcy_nufft *p)
{
    struct direct *d = direct_of(p);
    pthread_mutex_lock(&d->lock);
    int status = d->gridded ? 0 : make_grid(p);
    *out = d->gridded;
    pthread_mutex_unlock(&d->lock);
    return status;
}

static int submit_direct(hcy_queue *q, hcy_nufft *p, struct hcy__nufft_work *w, struct hcy__nufft_span *c,
                         struct hcy__nufft_span *f, size_t n, bool adjoint)
{
    hcy_nufft *g;
    int status = gridded(&g, p);
    return status ? status : g->way->submit(q, g, w, c, f, n, adjoint);
}

static int submit_direct_stage(hcy_queue *q, hcy_nufft *p, struct hcy__nufft_work *w, int stage,
                               struct hcy__nufft_span *from, struct hcy__nufft_span *to)
{
    hcy_nufft *g;
    int status = gridded(&g, p);
    return status ? status : g->way->stage(q, g, w, stage, from, to);
}

static int tell_direct(hcy_nufft_info *info, const hcy_nufft *p)
{
    (void)p;
    info->direct = 1;
    return 0;
}

const struct hcy__nufft_way hcy__nufft_direct = { set_direct_points,   execute_direct, submit_direct,
                                                  submit_direct_stage, tell_direct,    forget_direct };
