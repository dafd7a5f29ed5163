/* proximal.c - regularisers: making and releasing them, those that the library has, and the map of g(K x).
 *
 * A regulariser is its desc and a count of references, constant once it is made.  Memory is its user's: a solver's
 * (struct hcy__prox_map), or that of one call of hcy_proximal_apply().
 */
#include "proximal_priv.h"
#include "sized.h"

#include <halcyon/eval.h>
#include <halcyon/solve.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Making and releasing --- */

static int check_proximal(const hcy_proximal_desc *d, const hcy_device *dev)
{
    char is[240], wants[240];
    if (!d->map)
        return hcy_fail(HCY_EINVAL, "hcy_proximal_create: no function that maps");
    int status = hcy__space_check(&d->space, "hcy_proximal_create");
    if (status)
        return status;
    if (!(d->norm >= 0) || isinf(d->norm))
        return hcy_fail(HCY_EINVAL, "hcy_proximal_create: a norm of %g", d->norm);
    if (!d->analysis)
        return 0;
    if (d->analysis->dev != dev)
        return hcy_fail(HCY_EINVAL, "hcy_proximal_create: operator %s is of another device", d->analysis->desc.name);
    if (!d->analysis->desc.adjoint)
        return hcy_fail(HCY_EINVAL, "hcy_proximal_create: operator %s has no adjoint", d->analysis->desc.name);
    if (!hcy__space_same(&d->space, &d->analysis->desc.range))
        return hcy_fail(HCY_EINVAL, "hcy_proximal_create: a map of %s, where operator %s gives %s",
                        hcy__space_text(is, &d->space), d->analysis->desc.name,
                        hcy__space_text(wants, &d->analysis->desc.range));
    return 0;
}

int hcy_proximal_create(hcy_proximal **out, hcy_device *dev, const hcy_proximal_desc *user)
{
    hcy_proximal_desc desc = HCY_PROXIMAL_DESC_INIT;
    if (!out || !dev)
        return hcy_fail(HCY_EINVAL, "hcy_proximal_create: no %s", out ? "device" : "place for it");
    int status = hcy__sized_read(&desc, sizeof desc, user, "hcy_proximal_desc");
    if (!status)
        status = check_proximal(&desc, dev);
    if (!status)
        status = hcy_fork_check();
    if (status)
        return status;
    const char *name = desc.name ? desc.name : "function";
    size_t bytes = strlen(name) + 1;
    /* The name stands behind the record. */
    hcy_proximal *p = calloc(1, sizeof *p + bytes);
    if (!p)
        return hcy_fail(HCY_ENOMEM, "out of memory for a regulariser");
    atomic_init(&p->refs, 1);
    p->dev = hcy_device_retain(dev);
    p->desc = desc;
    p->desc.name = memcpy(p + 1, name, bytes);
    p->kept = hcy__vectors_retain(desc.space.vectors);
    hcy_operator_retain(desc.analysis);
    *out = p;
    return 0;
}

hcy_proximal *hcy_proximal_retain(hcy_proximal *p)
{
    if (p)
        atomic_fetch_add(&p->refs, 1);
    return p;
}

void hcy_proximal_release(hcy_proximal *p)
{
    if (!p || atomic_fetch_sub(&p->refs, 1) != 1)
        return;
    if (p->desc.destroy)
        p->desc.destroy(p->desc.user);
    hcy_operator_release(p->desc.analysis);
    hcy__vectors_release(p->kept);
    hcy_device_release(p->dev);
    free(p);
}

/* --- Those that are there --- */

/* What the maps below are made of. */
struct weight {
    double lambda, low, high;
    int axes; /* how many arrays of the first axis an absolute value is made of; 0: none is */
};

/* Finishes a desc, whose K and name are the caller's to set, with a weight of its own. */
static int make_weighted(hcy_proximal **p, hcy_device *dev, hcy_proximal_desc *desc, struct weight weight)
{
    struct weight *w = malloc(sizeof *w);
    if (!w)
        return hcy_fail(HCY_ENOMEM, "out of memory for a regulariser");
    *w = weight;
    desc->user = w;
    desc->destroy = free;
    int status = hcy_proximal_create(p, dev, desc);
    if (status)
        free(w);
    return status;
}

static int check_lambda(double lambda, const char *function)
{
    if (lambda >= 0 && !isinf(lambda))
        return 0;
    return hcy_fail(HCY_EINVAL, "%s: a lambda of %g; finite and not below 0", function, lambda);
}

/* A desc of g without K. */
static int describe_plain(hcy_proximal_desc *desc, const hcy_space *space, const char *function)
{
    int status = hcy__space_check(space, function);
    if (status)
        return status;
    desc->name = function + strlen("hcy_proximal_");
    desc->space = *space;
    return 0;
}

static int shrink_vector(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x, double t)
{
    const struct weight *w = user;
    return HCY_EVAL(queue, "y = x * where(abs(x) > t, 1 - t / abs(x), 0)", hcy_op_array("y", y),
                    hcy_op_array("x", x), hcy_op_real("t", t * w->lambda));
}

int hcy_proximal_l1(hcy_proximal **p, hcy_device *dev, const hcy_space *space, double lambda)
{
    hcy_proximal_desc desc = HCY_PROXIMAL_DESC_INIT;
    int status = check_lambda(lambda, "hcy_proximal_l1");
    if (!status)
        status = describe_plain(&desc, space, "hcy_proximal_l1");
    desc.map = shrink_vector;
    return status ? status : make_weighted(p, dev, &desc, (struct weight){ .lambda = lambda });
}

static int damp_vector(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x, double t)
{
    const struct weight *w = user;
    return HCY_EVAL(queue, "y = f * x", hcy_op_array("y", y), hcy_op_array("x", x),
                    hcy_op_real("f", 1 / (1 + t * w->lambda)));
}

int hcy_proximal_l2(hcy_proximal **p, hcy_device *dev, const hcy_space *space, double lambda)
{
    hcy_proximal_desc desc = HCY_PROXIMAL_DESC_INIT;
    int status = check_lambda(lambda, "hcy_proximal_l2");
    if (!status)
        status = describe_plain(&desc, space, "hcy_proximal_l2");
    desc.map = damp_vector;
    return status ? status : make_weighted(p, dev, &desc, (struct weight){ .lambda = lambda });
}

static int bound_vector(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x, double t)
{
    const struct weight *w = user;
    (void)t;
    return HCY_EVAL(queue, "y = clip(real(x), low, high)", hcy_op_array("y", y), hcy_op_array("x", x),
                    hcy_op_real("low", w->low), hcy_op_real("high", w->high));
}

int hcy_proximal_box(hcy_proximal **p, hcy_device *dev, const hcy_space *space, double low, double high)
{
    hcy_proximal_desc desc = HCY_PROXIMAL_DESC_INIT;
    if (!(low <= high) || low == INFINITY || high == -INFINITY)
        return hcy_fail(HCY_EINVAL, "hcy_proximal_box: from %g to %g", low, high);
    int status = describe_plain(&desc, space, "hcy_proximal_box");
    desc.map = bound_vector;
    return status ? status : make_weighted(p, dev, &desc, (struct weight){ .low = low, .high = high });
}

int hcy_proximal_wavelet(hcy_proximal **p, hcy_device *dev, const hcy_space *space, int n_axes, int taps, int levels,
                         double lambda)
{
    hcy_proximal_desc desc = HCY_PROXIMAL_DESC_INIT;
    int status = check_lambda(lambda, "hcy_proximal_wavelet");
    if (!status)
        status = hcy_operator_wavelet(&desc.analysis, dev, space, n_axes, taps, levels);
    if (!status)
        status = describe_plain(&desc, space, "hcy_proximal_wavelet");
    desc.map = shrink_vector;
    desc.is_orthogonal = 1;
    desc.norm = 1;
    if (!status)
        status = make_weighted(p, dev, &desc, (struct weight){ .lambda = lambda });
    hcy_operator_release(desc.analysis);
    return status;
}

hcy_operand hcy__proximal_unit(double *limit, double t, int dtype)
{
    const double least = dtype == HCY_FLOAT32 || dtype == HCY_COMPLEX64 ? 0x1p-120 : 0x1p-1000;
    const double unit = 1 / fmax(t, least);
    *limit = t * unit;
    return hcy_op_real("u", unit);
}

/* Each of the first axis' arrays, times what their common length leaves of 1. */
static int shrink_together(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x, double t)
{
    static const char *const texts[4] = {
        NULL, NULL, "y = x * where(sqrt(abs2(u*a) + abs2(u*b)) > t, 1 - t / sqrt(abs2(u*a) + abs2(u*b)), 0)",
        "y = x * where(sqrt(abs2(u*a) + abs2(u*b) + abs2(u*c)) > t, 1 - t / sqrt(abs2(u*a) + abs2(u*b) + abs2(u*c)), 0)"
    };
    static const char *const names[3] = { "a", "b", "c" };
    const struct weight *w = user;
    double limit;
    const hcy_operand unit = hcy__proximal_unit(&limit, t * w->lambda, x->dtype);
    hcy_operand operands[7] = { hcy_op_array("y", y), hcy_op_array("x", x), hcy_op_real("t", limit), unit };
    hcy_array *parts[3] = { NULL };
    int status = 0;
    for (int i = 0; !status && i < w->axes; i++) {
        status = hcy_array_slice(&parts[i], x, "%d", i);
        operands[4 + i] = hcy_op_array(names[i], parts[i]);
    }
    if (!status)
        status = hcy_eval(queue, texts[w->axes], operands, 4 + (size_t)w->axes);
    for (int i = 0; i < w->axes; i++)
        hcy_array_release(parts[i]);
    return status;
}

int hcy_proximal_tv(hcy_proximal **p, hcy_device *dev, const hcy_space *space, int n_axes, int kind, double lambda)
{
    hcy_proximal_desc desc = HCY_PROXIMAL_DESC_INIT;
    int status = check_lambda(lambda, "hcy_proximal_tv");
    if (!status && (kind < HCY_TV_ISOTROPIC || kind > HCY_TV_ANISOTROPIC))
        status = hcy_fail(HCY_EINVAL, "hcy_proximal_tv: %d is no kind of total variation", kind);
    if (!status && (n_axes < 1 || n_axes > 3))
        status = hcy_fail(HCY_EINVAL, "hcy_proximal_tv: along %d axes; 1 to 3 are possible", n_axes);
    if (!status && !dev)
        status = hcy_fail(HCY_EINVAL, "hcy_proximal_tv: no device");
    if (!status)
        status =
            hcy__gradient_of(&desc.analysis, dev, space, n_axes, HCY_DIFFERENCE_FORWARD, "hcy_proximal_tv");
    if (!status)
        status = describe_plain(&desc, &desc.analysis->desc.range, "hcy_proximal_tv");
    /* Along one axis both kinds are one. */
    const bool together = kind == HCY_TV_ISOTROPIC && n_axes > 1;
    desc.map = together ? shrink_together : shrink_vector;
    /* Of a sequence that changes its sign from element to element a difference doubles it, at most. */
    desc.norm = 2 * sqrt(n_axes);
    if (!status)
        status = make_weighted(p, dev, &desc, (struct weight){ .lambda = lambda, .axes = together ? n_axes : 0 });
    hcy_operator_release(desc.analysis);
    return status;
}

/* --- K --- */

const hcy_space *hcy__proximal_domain(const hcy_proximal *p)
{
    return p->desc.analysis ? &p->desc.analysis->desc.domain : &p->desc.space;
}

int hcy__proximal_analyse(hcy_queue *queue, hcy_array *y, const hcy_proximal *p, hcy_array *x)
{
    return p->desc.analysis ? hcy__operator_run(queue, y, p->desc.analysis, x, false)
                            : hcy_array_copy(queue, y, x);
}

int hcy__proximal_add_back(hcy_queue *queue, hcy_array *y, const hcy_proximal *p, double factor, hcy_array *z,
                           hcy_array *aside)
{
    int status = p->desc.analysis ? hcy__operator_run(queue, aside, p->desc.analysis, z, true) : 0;
    return status ? status
                  : HCY_EVAL(queue, "y += f*z", hcy_op_array("y", y), hcy_op_real("f", factor),
                             hcy_op_array("z", p->desc.analysis ? aside : z));
}

int hcy__proximal_norm(double *norm, hcy_queue *queue, const hcy_proximal *p)
{
    enum { ITERATIONS = 30 };
    *norm = p->desc.analysis && !p->desc.is_orthogonal ? p->desc.norm : 1;
    if (*norm > 0)
        return 0;
    int status = hcy_operator_norm(norm, queue, p->desc.analysis, ITERATIONS, 1);
    if (!status && !isfinite(*norm))
        status = hcy_fail(HCY_EINVAL, "regulariser %s: its operator has a norm of %g", p->desc.name, *norm);
    /* The power iteration comes from below; an operator that makes 0 of all has steps of any length. */
    *norm = *norm > 0 ? 1.05 * *norm : 1;
    return status;
}

/* --- The map of the whole --- */

int hcy__prox_map_make(struct hcy__prox_map *m, hcy_queue *queue, hcy_proximal *p)
{
    const bool has_dual = p->desc.analysis && !p->desc.is_orthogonal;
    hcy_array **const arrays[] = { &m->analysed, &m->mapped, &m->dual, &m->ahead };
    *m = (struct hcy__prox_map){ .p = hcy_proximal_retain(p) };
    int status = hcy__proximal_norm(&m->norm, queue, p);
    for (int i = 0; !status && i < (has_dual ? 4 : p->desc.analysis ? 2 : 0); i++)
        status = hcy__space_vector(arrays[i], p->dev, &p->desc.space);
    return status ? status : hcy__prox_map_reset(queue, m);
}

void hcy__prox_map_free(struct hcy__prox_map *m)
{
    hcy_array *const arrays[] = { m->analysed, m->mapped, m->dual, m->ahead };
    for (int i = 0; i < 4; i++)
        hcy_array_release(arrays[i]);
    hcy_proximal_release(m->p);
    *m = (struct hcy__prox_map){ .p = NULL };
}

int hcy__prox_map_reset(hcy_queue *queue, struct hcy__prox_map *m)
{
    return m->dual ? hcy__vector_zero(queue, m->dual) : 0;
}

/* The least t |K^H u - x / t|^2 / 2 + g*(u), the dual, by A. Beck and M. Teboulle, IEEE Trans. Image Process. 18 (2009)
 * 2419: steps of 1 / (t |K|^2), whose map is Moreau's, v - map of g, and momentum.  y is x - t K^H u. */
static int run_dual(hcy_queue *queue, hcy_array *y, struct hcy__prox_map *m, hcy_array *x, double t, int iterations)
{
    const hcy_proximal *p = m->p;
    hcy_operator *k = p->desc.analysis;
    const double step = 1 / (t * m->norm * m->norm);
    double momentum = 1;
    int status = hcy_array_copy(queue, m->ahead, m->dual);
    for (int i = 0; !status && i <= iterations; i++) {
        status = hcy__operator_run(queue, y, k, i < iterations ? m->ahead : m->dual, true);
        if (!status)
            status = HCY_EVAL(queue, "y = x - t*y", hcy_op_array("y", y), hcy_op_array("x", x),
                              hcy_op_real("t", t));
        if (status || i == iterations)
            break;
        status = hcy__operator_run(queue, m->analysed, k, y, false);
        if (!status)
            status = HCY_EVAL(queue, "v += f*u", hcy_op_array("v", m->analysed), hcy_op_array("u", m->ahead),
                              hcy_op_real("f", 1 / step));
        if (!status)
            status = p->desc.map(queue, m->mapped, p->desc.user, m->analysed, 1 / step);
        const double next = (1 + sqrt(1 + 4 * momentum * momentum)) / 2;
        if (!status)
            status = HCY_EVAL(queue, "z = s*(v - z); u = z + f*(z - d); d = z", hcy_op_array("z", m->mapped),
                              hcy_op_array("v", m->analysed), hcy_op_array("u", m->ahead),
                              hcy_op_array("d", m->dual), hcy_op_real("s", step),
                              hcy_op_real("f", (momentum - 1) / next));
        momentum = next;
    }
    return status;
}

int hcy__prox_map_run(hcy_queue *queue, hcy_array *y, struct hcy__prox_map *m, hcy_array *x, double t, int iterations)
{
    const hcy_proximal_desc *d = &m->p->desc;
    if (!d->analysis)
        return d->map(queue, y, d->user, x, t);
    if (!d->is_orthogonal)
        return run_dual(queue, y, m, x, t, iterations);
    int status = hcy__operator_run(queue, m->analysed, d->analysis, x, false);
    if (!status)
        status = d->map(queue, m->mapped, d->user, m->analysed, t);
    return status ? status : hcy__operator_run(queue, y, d->analysis, m->mapped, true);
}

int hcy_proximal_apply(hcy_queue *queue, hcy_array *y, hcy_proximal *p, hcy_array *x, double t, int iterations)
{
    struct hcy__prox_map map = { .p = NULL };
    if (!queue || !p)
        return hcy_fail(HCY_EINVAL, "hcy_proximal_apply: no %s", p ? "queue" : "regulariser");
    if (!(t > 0) || isinf(t) || iterations < 1)
        return hcy_fail(HCY_EINVAL, "hcy_proximal_apply: a t of %g and %d iterations", t, iterations);
    /* The checks are an operator's, between two vectors of the domain. */
    hcy_operator like = { .dev = p->dev, .desc = { .name = p->desc.name } };
    int status = hcy__operator_check_vector(x, &like, hcy__proximal_domain(p), "input");
    if (!status)
        status = hcy__operator_check_vector(y, &like, hcy__proximal_domain(p), "output");
    if (!status && hcy__operator_shares_memory(x, y))
        status = hcy_fail(HCY_EINVAL, "hcy_proximal_apply: input and output share memory");
    if (!status && hcy_queue_device(queue) != p->dev)
        status = hcy_fail(HCY_EINVAL, "hcy_proximal_apply: the queue is of another device");
    if (!status)
        status = hcy__prox_map_make(&map, queue, p);
    if (!status)
        status = hcy__prox_map_run(queue, y, &map, x, t, iterations);
    hcy__prox_map_free(&map);
    return status;
}
