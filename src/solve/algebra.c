/* algebra.c - identity, weights, and operators that are made of others: multiples, adjoints, chains, other shapes.
 *
 * The user data of each is a structure of its own, with references to what it is made of; memory for what stands
 * between two operators is made with it, and used by one application at a time (struct hcy__turn).
 */
#include "operator_priv.h"

#include <halcyon/eval.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Identity and weights --- */

static int copy_vector(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    (void)user;
    return hcy_array_copy(queue, y, x);
}

int hcy_operator_identity(hcy_operator **op, hcy_device *dev, const hcy_space *space)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    if (!space)
        return hcy_fail(HCY_EINVAL, "hcy_operator_identity: no space");
    desc.name = "identity";
    desc.domain = desc.range = *space;
    desc.apply = desc.adjoint = copy_vector;
    return hcy_operator_create(op, dev, &desc);
}

static int widen_vector(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    (void)user;
    return HCY_EVAL(queue, "y = x", hcy_op_array("y", y), hcy_op_array("x", x));
}

static int narrow_vector(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    (void)user;
    return HCY_EVAL(queue, "x = real(y)", hcy_op_array("x", x), hcy_op_array("y", y));
}

int hcy_operator_complex(hcy_operator **op, hcy_device *dev, const hcy_space *space)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    int status = hcy__space_check(space, "hcy_operator_complex");
    if (!status && hcy__space_is_complex(space))
        status = hcy_fail(HCY_EINVAL, "hcy_operator_complex: of real vectors, not of %s", hcy_dtype_name(space->dtype));
    if (status)
        return status;
    desc.name = "complex";
    desc.domain = desc.range = *space;
    desc.range.dtype = hcy__is_single(space) ? HCY_COMPLEX64 : HCY_COMPLEX128;
    desc.apply = widen_vector;
    desc.adjoint = narrow_vector;
    return hcy_operator_create(op, dev, &desc);
}

static int weigh_vector(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    return HCY_EVAL(queue, "y = w * x", hcy_op_array("y", y), hcy_op_array("w", user), hcy_op_array("x", x));
}

static int weigh_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    return HCY_EVAL(queue, "x = conj(w) * y", hcy_op_array("x", x), hcy_op_array("w", user),
                    hcy_op_array("y", y));
}

static void release_weights(void *user)
{
    hcy_array_release(user);
}

int hcy_operator_diagonal(hcy_operator **op, const hcy_space *space, hcy_array *weights)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    hcy_array *all = NULL;
    int status = hcy__array_check(weights, "hcy_operator_diagonal");
    if (!status)
        status = hcy__space_check(space, "hcy_operator_diagonal");
    const bool complex_weights =
        !status && (weights->dtype == HCY_COMPLEX64 || weights->dtype == HCY_COMPLEX128);
    if (!status && complex_weights && !hcy__space_is_complex(space))
        status = hcy_fail(HCY_EINVAL, "hcy_operator_diagonal: complex weights of real vectors");
    /* This view is what says whether shapes go together. */
    if (!status)
        status = hcy_array_broadcast(&all, weights, space->rank, space->shape);
    if (status)
        return status;
    desc.name = "diagonal";
    desc.domain = desc.range = *space;
    desc.apply = weigh_vector;
    /* Real weights are their own adjoint, and there is no conj() of them to compile. */
    desc.adjoint = complex_weights ? weigh_adjoint : weigh_vector;
    desc.destroy = release_weights;
    desc.user = all;
    return hcy__operator_make(op, hcy__array_device(weights), &desc);
}

/* --- One operator in another guise --- */

struct guise {
    hcy_operator *of;
    double factor[2];
};

static void free_guise(void *user)
{
    struct guise *g = user;
    hcy_operator_release(g->of);
    free(g);
}

/* Finishes `desc`, whose spaces and functions are the caller's to set. */
static int make_guise(hcy_operator **op, hcy_operator *a, hcy_operator_desc *desc, double real, double imag)
{
    struct guise *g = malloc(sizeof *g);
    if (!g)
        return hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    *g = (struct guise){ hcy_operator_retain(a), { real, imag } };
    desc->destroy = free_guise;
    desc->user = g;
    return hcy__operator_make(op, a->dev, desc);
}

static int apply_other(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    const struct guise *g = user;
    return hcy__operator_run(queue, x, g->of, y, true);
}

static int apply_same(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    const struct guise *g = user;
    return hcy__operator_run(queue, y, g->of, x, false);
}

int hcy_operator_adjoint(hcy_operator **op, hcy_operator *a)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    if (!a)
        return hcy_fail(HCY_EINVAL, "hcy_operator_adjoint: no operator");
    if (!a->desc.adjoint)
        return hcy_fail(HCY_EUNSUPPORTED, "operator %s has no adjoint", a->desc.name);
    desc.name = "adjoint";
    desc.domain = a->desc.range;
    desc.range = a->desc.domain;
    desc.apply = apply_other;
    desc.adjoint = apply_same;
    return make_guise(op, a, &desc, 1, 0);
}

static int multiply_vector(hcy_queue *queue, hcy_array *y, double real, double imag)
{
    if (imag == 0)
        return HCY_EVAL(queue, "y *= a", hcy_op_array("y", y), hcy_op_real("a", real));
    return HCY_EVAL(queue, "y *= a", hcy_op_array("y", y), hcy_op_complex("a", real, imag));
}

static int apply_scaled(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    const struct guise *g = user;
    int status = hcy__operator_run(queue, y, g->of, x, false);
    return status ? status : multiply_vector(queue, y, g->factor[0], g->factor[1]);
}

static int apply_scaled_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    const struct guise *g = user;
    int status = hcy__operator_run(queue, x, g->of, y, true);
    return status ? status : multiply_vector(queue, x, g->factor[0], -g->factor[1]);
}

int hcy_operator_scale(hcy_operator **op, hcy_operator *a, double real, double imag)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    if (!a)
        return hcy_fail(HCY_EINVAL, "hcy_operator_scale: no operator");
    /* Both, because the adjoint multiplies vectors of the domain. */
    if (imag != 0 && !(hcy__space_is_complex(&a->desc.domain) && hcy__space_is_complex(&a->desc.range)))
        return hcy_fail(HCY_EINVAL, "hcy_operator_scale: a complex factor of real vectors");
    desc.name = "scale";
    desc.domain = a->desc.domain;
    desc.range = a->desc.range;
    desc.apply = apply_scaled;
    desc.adjoint = a->desc.adjoint ? apply_scaled_adjoint : NULL;
    return make_guise(op, a, &desc, real, imag);
}

static int run_reshaped(hcy_queue *queue, hcy_array *y, const struct guise *g, hcy_array *x, bool adjoint)
{
    const hcy_operator_desc *d = &g->of->desc;
    hcy_array *from = NULL, *to = NULL;
    int status = hcy__vector_part(&from, x, 0, adjoint ? &d->range : &d->domain);
    if (!status)
        status = hcy__vector_part(&to, y, 0, adjoint ? &d->domain : &d->range);
    if (!status)
        status = hcy__operator_run(queue, to, g->of, from, adjoint);
    hcy_array_release(from);
    hcy_array_release(to);
    return status;
}

static int apply_reshaped(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    return run_reshaped(queue, y, user, x, false);
}

static int apply_reshaped_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    return run_reshaped(queue, x, user, y, true);
}

static int check_reshaped(const hcy_space *wanted, const hcy_space *is)
{
    char text[240], other[240];
    int status = hcy__space_check(wanted, "hcy_operator_reshape");
    if (!status && (wanted->dtype != is->dtype || !hcy__vectors_same(wanted->vectors, is->vectors) ||
                    hcy__space_count(wanted) != hcy__space_count(is)))
        status = hcy_fail(HCY_EINVAL, "hcy_operator_reshape: %s is no other shape of %s",
                          hcy__space_text(text, wanted), hcy__space_text(other, is));
    return status;
}

int hcy_operator_reshape(hcy_operator **op, hcy_operator *a, const hcy_space *domain, const hcy_space *range)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    if (!a)
        return hcy_fail(HCY_EINVAL, "hcy_operator_reshape: no operator");
    int status = check_reshaped(domain, &a->desc.domain);
    if (!status)
        status = check_reshaped(range, &a->desc.range);
    if (status)
        return status;
    desc.name = "reshape";
    desc.domain = *domain;
    desc.range = *range;
    desc.apply = apply_reshaped;
    desc.adjoint = a->desc.adjoint ? apply_reshaped_adjoint : NULL;
    return make_guise(op, a, &desc, 1, 0);
}

/* --- Chains --- */

struct chain {
    size_t n;
    hcy_operator **ops;
    hcy_array **between; /* between[i] is what ops[i] is applied to and ops[i + 1] gives */
    struct hcy__turn turn;
};

static void free_chain(void *user)
{
    struct chain *c = user;
    for (size_t i = 0; i < c->n; i++) {
        hcy_operator_release(c->ops[i]);
        hcy_array_release(c->between[i]);
    }
    hcy__turn_end(&c->turn);
    free(c->ops);
    free(c->between);
    free(c);
}

static int apply_chain(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    struct chain *c = user;
    int status = hcy__turn_take(&c->turn, queue);
    for (size_t i = c->n; !status && i-- > 0;)
        status = hcy__operator_run(queue, i ? c->between[i - 1] : y, c->ops[i],
                                   i + 1 < c->n ? c->between[i] : x, false);
    hcy__turn_give(&c->turn);
    return status;
}

static int apply_chain_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    struct chain *c = user;
    int status = hcy__turn_take(&c->turn, queue);
    for (size_t i = 0; !status && i < c->n; i++)
        status = hcy__operator_run(queue, i + 1 < c->n ? c->between[i] : x, c->ops[i],
                                   i ? c->between[i - 1] : y, true);
    hcy__turn_give(&c->turn);
    return status;
}

static int check_chain(bool *has_adjoint, hcy_operator *const *ops, size_t n)
{
    char gives[240], takes[240];
    int status = hcy__operators_check(ops, n, false, "hcy_operator_compose");
    *has_adjoint = true;
    for (size_t i = 0; !status && i < n; i++) {
        *has_adjoint = *has_adjoint && ops[i]->desc.adjoint;
        if (i + 1 < n && !hcy__space_same(&ops[i]->desc.domain, &ops[i + 1]->desc.range))
            status = hcy_fail(HCY_EINVAL,
                              "hcy_operator_compose: operator %zu (%s) gives %s, operator %zu (%s) takes %s",
                              i + 1, ops[i + 1]->desc.name, hcy__space_text(gives, &ops[i + 1]->desc.range),
                              i, ops[i]->desc.name, hcy__space_text(takes, &ops[i]->desc.domain));
    }
    return status;
}

static int new_chain(struct chain **out, hcy_operator *const *ops, size_t n)
{
    struct chain *c = calloc(1, sizeof *c);
    if (!c)
        return hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    hcy__turn_init(&c->turn);
    c->ops = calloc(n, sizeof *c->ops);
    c->between = calloc(n, sizeof *c->between);
    int status =
        c->ops && c->between ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for a chain of %zu operators", n);
    c->n = status ? 0 : n;
    for (size_t i = 0; i < c->n; i++)
        c->ops[i] = hcy_operator_retain(ops[i]);
    for (size_t i = 0; !status && i + 1 < n; i++)
        status = hcy__space_vector(&c->between[i], ops[i]->dev, &ops[i]->desc.domain);
    if (status)
        free_chain(c);
    else
        *out = c;
    return status;
}

int hcy_operator_compose(hcy_operator **op, hcy_operator *const *ops, size_t n)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    struct chain *c = NULL;
    bool has_adjoint = false;
    int status = check_chain(&has_adjoint, ops, n);
    if (!status)
        status = new_chain(&c, ops, n);
    if (status)
        return status;
    desc.name = "compose";
    desc.domain = ops[n - 1]->desc.domain;
    desc.range = ops[0]->desc.range;
    desc.apply = apply_chain;
    desc.adjoint = has_adjoint ? apply_chain_adjoint : NULL;
    desc.destroy = free_chain;
    desc.user = c;
    return hcy__operator_make(op, ops[0]->dev, &desc);
}
