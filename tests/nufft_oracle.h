/* nufft_oracle.h - problems for non-uniform FFTs, and their direct sums in long double. */
#ifndef NUFFT_ORACLE_H
#define NUFFT_ORACLE_H

#include <complex.h>
#include <halcyon/nufft.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

/* A transform of type 1, 2 or 3 with everything random; reals are float or double as `real` says. */
struct problem {
    int type, dim, sign, n_vectors;
    size_t m, n, real; /* points; modes or targets */
    int64_t modes[3];
    bool zero_first;
    void *x[3], *s[3]; /* points and targets as the library gets them */
    void *c, *f;       /* [n_vectors][m], [n_vectors][n] */
};

static uint64_t oracle_state = 42;
static inline double oracle_uniform(void)
{
    oracle_state = oracle_state * 6364136223846793005u + 1442695040888963407u;
    return (double)(oracle_state >> 11) * 0x1p-53;
}

static inline double oracle_get(const struct problem *p, const void *array, size_t i)
{
    return p->real == 8 ? ((const double *)array)[i] : (double)((const float *)array)[i];
}

static inline void oracle_put(const struct problem *p, void *array, size_t i, double v)
{
    if (p->real == 8)
        ((double *)array)[i] = v;
    else
        ((float *)array)[i] = (float)v;
}

static inline void oracle_fill(struct problem *p)
{
    for (size_t i = 0; i < 2 * p->m * (size_t)p->n_vectors; i++)
        oracle_put(p, p->c, i, oracle_uniform() - 0.5);
    for (size_t i = 0; i < 2 * p->n * (size_t)p->n_vectors; i++)
        oracle_put(p, p->f, i, oracle_uniform() - 0.5);
}

/* n_targets: of type 3, else 0. */
static inline void oracle_open(struct problem *p, int precision, int type, int dim, const int64_t *modes,
                               size_t m, size_t n_targets, int n_vectors)
{
    *p = (struct problem){ .type = type, .dim = dim, .sign = -1, .n_vectors = n_vectors, .m = m, .n = 1 };
    p->real = precision == HCY_F64 ? 8 : 4;
    for (int d = 0; d < dim; d++) {
        p->modes[d] = modes[d];
        p->n *= (size_t)modes[d];
    }
    if (type == 3)
        p->n = n_targets;
    for (int d = 0; d < dim; d++) {
        p->x[d] = malloc((m + 1) * p->real);
        p->s[d] = malloc((n_targets + 1) * p->real);
        for (size_t i = 0; i < m; i++)
            oracle_put(p, p->x[d], i, 2 * PI * (oracle_uniform() - 0.5));
        for (size_t i = 0; i < n_targets; i++)
            oracle_put(p, p->s[d], i, (double)modes[d] * (oracle_uniform() - 0.4));
    }
    p->c = malloc((p->m * (size_t)n_vectors + 1) * 2 * p->real);
    p->f = malloc((p->n * (size_t)n_vectors + 1) * 2 * p->real);
    oracle_fill(p);
}

static inline void oracle_close(struct problem *p)
{
    for (int d = 0; d < p->dim; d++) {
        free(p->x[d]);
        free(p->s[d]);
    }
    free(p->c);
    free(p->f);
}

/* The frequency of mode or target i on an axis. */
static inline long double oracle_frequency(const struct problem *p, size_t i, int axis)
{
    if (p->type == 3)
        return oracle_get(p, p->s[axis], i);
    for (int d = p->dim - 1; d > axis; d--)
        i /= (size_t)p->modes[d];
    int64_t n = p->modes[axis], k = (int64_t)(i % (size_t)n);
    return p->zero_first ? (k < n - n / 2 ? k : k - n) : k - n / 2;
}

/* exp(i k x) of one axis, for all points and frequencies that occur: [m][count]. */
static inline long double complex *oracle_phases(const struct problem *p, int axis, size_t *count)
{
    *count = p->type == 3 ? p->n : (size_t)p->modes[axis];
    long double complex *e = malloc(p->m * *count * sizeof *e);
    size_t stride = 1;
    for (int d = p->dim - 1; d > axis && p->type != 3; d--)
        stride *= (size_t)p->modes[d];
    for (size_t j = 0; j < p->m; j++)
        for (size_t i = 0; i < *count; i++) {
            long double phase =
                p->sign * oracle_frequency(p, i * stride, axis) * oracle_get(p, p->x[axis], j);
            e[j * *count + i] = cosl(phase) + I * sinl(phase);
        }
    return e;
}

/* Relative error in the 2-norm of p->f (to_modes) or p->c against the direct sum over `in`; sums have the
 * sign of p. */
static inline double oracle_error(const struct problem *p, const void *in, bool to_modes)
{
    long double complex *e[3] = { NULL, NULL, NULL };
    size_t count[3] = { 1, 1, 1 }, results = to_modes ? p->n : p->m, terms = to_modes ? p->m : p->n;
    long double bad = 0, all = 0;
    for (int d = 0; d < p->dim; d++)
        e[d] = oracle_phases(p, d, &count[d]);
    long double complex *sum = calloc(results * (size_t)p->n_vectors + 1, sizeof *sum);
    for (size_t j = 0; j < p->m; j++)
        for (size_t k = 0; k < p->n; k++) {
            long double complex w = 1;
            size_t left = k;
            for (int d = p->dim - 1; d >= 0; d--) {
                w *= e[d][j * count[d] + (p->type == 3 ? k : left % count[d])];
                left /= p->type == 3 ? 1 : count[d];
            }
            for (int v = 0; v < p->n_vectors; v++) {
                size_t t = (size_t)v * terms + (to_modes ? j : k),
                       r = (size_t)v * results + (to_modes ? k : j);
                sum[r] += w * (oracle_get(p, in, 2 * t) + I * oracle_get(p, in, 2 * t + 1));
            }
        }
    for (size_t r = 0; r < results * (size_t)p->n_vectors; r++) {
        const void *out = to_modes ? p->f : p->c;
        long double complex off = oracle_get(p, out, 2 * r) + I * oracle_get(p, out, 2 * r + 1) - sum[r];
        bad += creall(off) * creall(off) + cimagl(off) * cimagl(off);
        all += creall(sum[r]) * creall(sum[r]) + cimagl(sum[r]) * cimagl(sum[r]);
    }
    for (int d = 0; d < p->dim; d++)
        free(e[d]);
    free(sum);
    return all > 0 ? (double)sqrtl(bad / all) : bad > 0 ? INFINITY : 0;
}

static inline hcy_nufft_desc oracle_desc(int precision, int type, int dim, const int64_t *modes, int sign,
                                         int64_t n_transforms, double eps)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    desc.type = type;
    desc.precision = precision;
    desc.dim = dim;
    for (int d = 0; modes && d < dim && d < 3; d++)
        desc.modes[d] = modes[d];
    desc.sign = sign;
    desc.n_transforms = n_transforms;
    desc.eps = eps;
    return desc;
}

/* A plan for doubles. */
static inline int oracle_create(hcy_nufft **plan, hcy_device *dev, int type, int dim, const int64_t *modes, int sign,
                                int64_t n_transforms, double eps, const hcy_nufft_options *opts)
{
    const hcy_nufft_desc desc = oracle_desc(HCY_F64, type, dim, modes, sign, n_transforms, eps);
    return hcy_nufft_create(plan, dev, &desc, opts);
}

/* What the problem is, as the library is told. */
static inline hcy_nufft_desc oracle_desc_of(const struct problem *p, double eps)
{
    return oracle_desc(p->real == 8 ? HCY_F64 : HCY_F32, p->type, p->dim, p->modes, p->sign, p->n_vectors, eps);
}

/* A plan for the problem with its points set; *status says how that went. */
static inline hcy_nufft *oracle_plan(const struct problem *p, hcy_device *dev, double eps,
                                     const hcy_nufft_options *opts, int *status)
{
    hcy_nufft *plan = NULL;
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    if (opts)
        o = *opts;
    if (o.method == HCY_NUFFT_AUTO) /* problems are small here */
        o.method = HCY_NUFFT_GRID;
    o.order = p->zero_first ? HCY_NUFFT_ZERO_FIRST : HCY_NUFFT_CENTRED;
    const hcy_nufft_desc desc = oracle_desc_of(p, eps);
    *status = hcy_nufft_create(&plan, dev, &desc, &o);
    if (!*status)
        *status = hcy_nufft_set_points(plan, (int64_t)p->m, (const void *const *)p->x,
                                       p->type == 3 ? (int64_t)p->n : 0, (const void *const *)p->s);
    return plan;
}

/* Executes a plan of the problem and returns the error of what it wrote, or INFINITY. */
static inline double oracle_execute(const struct problem *p, hcy_nufft *plan, bool adjoint)
{
    struct problem turned = *p;
    bool to_modes = (p->type == 2) == adjoint;
    if (adjoint)
        turned.sign = -p->sign;
    int status = adjoint ? hcy_nufft_execute_adjoint(plan, p->c, p->f) : hcy_nufft_execute(plan, p->c, p->f);
    return status ? INFINITY : oracle_error(&turned, to_modes ? p->c : p->f, to_modes);
}

static inline double oracle_run(const struct problem *p, hcy_device *dev, double eps,
                                const hcy_nufft_options *opts)
{
    int status;
    hcy_nufft *plan = oracle_plan(p, dev, eps, opts, &status);
    double error = status ? INFINITY : oracle_execute(p, plan, false);
    hcy_nufft_destroy(plan);
    return error;
}

#endif
