/* power.c - the largest singular value of an operator, by the power iteration on A^H A. */
#include "vectors.h"

#include <halcyon/eval.h>
#include <halcyon/solve.h>
#include <math.h>
#include <stdio.h>

struct power {
    hcy_operator *op;
    hcy_array *v, *av, *vv, *square;
};

static int make_power(struct power *p)
{
    const hcy_space *domain = &p->op->desc.domain, *range = &p->op->desc.range;
    int status = hcy__space_vector(&p->v, p->op->dev, domain);
    if (!status)
        status = hcy__space_vector(&p->av, p->op->dev, range);
    if (!status)
        status = hcy__new_number(&p->vv, p->op->dev, hcy__dot_type(domain));
    if (!status)
        status = hcy__new_number(&p->square, p->op->dev, hcy__dot_type(range));
    return status;
}

/* av times the power of two that its norm is about 1 with: no bit of v / |v| depends on that, and A^H A v is a number
 * of floats whose square none has. */
static int bring_near_one(hcy_queue *queue, const struct power *p)
{
    char text[120];
    snprintf(text, sizeof text, "av *= %s(ldexp(1.0, -exponent(sqrt(real(square)))))",
             hcy__real_name(p->op->desc.range.dtype));
    int status = hcy__vector_dot(queue, p->square, &p->op->desc.range, p->av, p->av);
    return status ? status : HCY_EVAL(queue, text, hcy_op_array("av", p->av), hcy_op_array("square", p->square));
}

/* v /= |v|, av = A v.  An operator that makes 0 of all leaves 0. */
static int apply_unit(hcy_queue *queue, const struct power *p)
{
    char text[96];
    const char *real = hcy__real_name(p->op->desc.domain.dtype);
    snprintf(text, sizeof text, "v *= %s(where(real(vv) > 0, 1 / sqrt(real(vv)), 0))", real);
    int status = hcy__vector_dot(queue, p->vv, &p->op->desc.domain, p->v, p->v);
    if (!status)
        status = HCY_EVAL(queue, text, hcy_op_array("v", p->v), hcy_op_array("vv", p->vv));
    return status ? status : hcy__operator_run(queue, p->av, p->op, p->v, false);
}

static int read_power(double *norm, hcy_queue *queue, const struct power *p)
{
    double square[2] = { 0, 0 };
    int status = hcy__vector_dot(queue, p->square, &p->op->desc.range, p->av, p->av);
    if (!status)
        status = hcy_array_to_host(square, queue, p->square);
    if (!status && !isfinite(square[0]))
        return hcy_fail(HCY_ERANGE, "hcy_operator_norm: the operator makes numbers whose squares are beyond double");
    if (!status)
        *norm = sqrt(square[0]);
    return status;
}

int hcy_operator_norm(double *norm, hcy_queue *queue, hcy_operator *op, int iterations, uint64_t seed)
{
    struct power p = { .op = op };
    if (!norm || !queue || !op || iterations < 1)
        return hcy_fail(HCY_EINVAL, "hcy_operator_norm: no %s",
                        !norm    ? "place for it"
                        : !queue ? "queue"
                        : op     ? "iterations"
                                 : "operator");
    int status = make_power(&p);
    if (!status)
        status = hcy__vector_random(queue, p.v, &op->desc.domain, seed, 0);
    if (!status)
        status = apply_unit(queue, &p);
    for (int i = 0; !status && i < iterations; i++) {
        status = bring_near_one(queue, &p);
        if (!status)
            status = hcy__operator_run(queue, p.v, op, p.av, true);
        if (!status)
            status = apply_unit(queue, &p);
    }
    /* |A v| of a unit vector: it converges twice as fast as |A^H A v| does. */
    if (!status)
        status = read_power(norm, queue, &p);
    hcy_array *const all[] = { p.v, p.av, p.vv, p.square };
    for (int i = 0; i < 4; i++)
        hcy_array_release(all[i]);
    return status;
}
