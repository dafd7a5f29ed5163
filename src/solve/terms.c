/* terms.c - the regularisers of a solver: their memory, and the steps that go with their norms. */
#include "solve_priv.h"

#include <math.h>

/* Vectors of K's range, or the memory of the map of the whole. */
static int make_term(hcy_solver *s, hcy_proximal *p)
{
    struct hcy__term *term = &s->terms[s->n_terms++];
    term->p = hcy_proximal_retain(p);
    if (s->method->maps_whole)
        return hcy__prox_map_make(&term->whole, s->queue, p);
    hcy_array **const arrays[] = { &term->dual, &term->point, &term->mapped };
    int status = hcy__proximal_norm(&term->norm, s->queue, p);
    for (int i = 0; !status && i < 3; i++)
        status = hcy__space_vector(arrays[i], p->dev, &p->desc.space);
    return status ? status : hcy__new_number(&term->sum, p->dev, hcy__dot_type(&p->desc.space));
}

static int check_term(const hcy_solver *s, const hcy_proximal *p, size_t i)
{
    char is[240], wants[240];
    if (!p)
        return hcy_fail(HCY_EINVAL, "hcy_solver_create: regulariser %zu is none", i);
    if (p->dev != s->op->dev)
        return hcy_fail(HCY_EINVAL, "hcy_solver_create: regulariser %zu (%s) is of another device", i, p->desc.name);
    if (!hcy__space_same(hcy__proximal_domain(p), &s->op->desc.domain))
        return hcy_fail(HCY_EINVAL, "hcy_solver_create: regulariser %zu (%s) is of %s, the operator of %s", i,
                        p->desc.name, hcy__space_text(is, hcy__proximal_domain(p)),
                        hcy__space_text(wants, &s->op->desc.domain));
    return 0;
}

int hcy__terms_make(hcy_solver *s)
{
    int status = 0;
    if (s->opts.l1 > 0) {
        hcy_proximal *l1 = NULL;
        status = hcy_proximal_l1(&l1, s->op->dev, &s->op->desc.domain, s->opts.l1);
        if (!status)
            status = make_term(s, l1);
        hcy_proximal_release(l1);
    }
    for (size_t i = 0; !status && i < s->opts.n_proximals; i++) {
        status = check_term(s, s->opts.proximals[i], i);
        if (!status)
            status = make_term(s, s->opts.proximals[i]);
    }
    return status;
}

void hcy__terms_free(hcy_solver *s)
{
    for (int i = 0; i < s->n_terms; i++) {
        struct hcy__term *term = &s->terms[i];
        hcy_array *const arrays[] = { term->dual, term->point, term->mapped, term->sum };
        for (int k = 0; k < 4; k++)
            hcy_array_release(arrays[k]);
        hcy__prox_map_free(&term->whole);
        hcy_proximal_release(term->p);
    }
}

int hcy__terms_reset(hcy_solver *s)
{
    int status = 0;
    for (int i = 0; !status && i < s->n_terms; i++)
        status = s->method->maps_whole ? hcy__prox_map_reset(s->queue, &s->terms[i].whole)
                                       : hcy__vector_zero(s->queue, s->terms[i].dual);
    return status;
}

/* The largest curvature of what is smooth.  The power iteration comes from below: a twentieth more is safe, and costs a
 * twentieth of the speed. */
static int find_curvature(double *most, hcy_solver *s)
{
    enum { ITERATIONS = 30 };
    double norm = 0;
    hcy_operator *op = s->op;
    /* A Gram operator is its own adjoint, and need not say so. */
    hcy_operator gram = { .dev = op->dev, .desc = op->desc };
    gram.desc.adjoint = gram.desc.apply;
    int status = hcy_operator_norm(&norm, s->queue, s->opts.is_gram ? &gram : op, ITERATIONS, 1);
    *most = 1.05 * (s->opts.is_gram ? norm : norm * norm) + s->opts.l2;
    if (!status && !(*most >= 0 && isfinite(*most)))
        status = hcy_fail(HCY_EINVAL, "hcy_solver_create: no step for an operator of norm %g", norm);
    return status;
}

/* The mean eigenvalue of A^H A, and l2: what |A v|^2 / |v|^2 of random v is near to (Hutchinson). */
static int find_mean(double *mean, hcy_solver *s)
{
    hcy_array *v = s->d[0], *av = s->r[0];
    double squares[2] = { 0, 0 };
    int status = hcy__vector_random(s->queue, v, &s->op->desc.domain, 1, 0);
    if (!status)
        status = hcy__solver_apply(s, av, v);
    if (!status)
        status = hcy__solver_dot(s, s->n[0], false, v, v);
    if (!status)
        status = hcy__solver_dot(s, s->n[1], true, s->opts.is_gram ? v : av, av);
    for (int i = 0; !status && i < 2; i++)
        status = hcy_array_to_host(&squares[i], s->queue, s->n[i]);
    if (status)
        return status;
    *mean = squares[0] > 0 ? squares[1] / squares[0] + s->opts.l2 : s->opts.l2;
    if (!(*mean >= 0) || isinf(*mean))
        return hcy_fail(HCY_EINVAL, "hcy_solver_create: no weight for an operator that makes %g of 1", *mean);
    return 0;
}

int hcy__terms_find_steps(hcy_solver *s)
{
    hcy_solver_options *o = &s->opts;
    double most = 0, mean = 0, squares = 0, duals = 0;
    const bool wants_step = s->method->has_step && o->step == 0,
               wants_sigma = s->method->has_step && !s->method->maps_whole && o->sigma == 0 && s->n_terms,
               wants_rho = s->method->has_penalty && o->rho == 0;
    int status = wants_step || wants_sigma ? find_curvature(&most, s) : 0;
    if (!status && wants_rho)
        status = find_mean(&mean, s);
    if (status)
        return status;
    /* An operator that makes 0 of all, as weights of 0 do, has no gradient that a step could be too long for. */
    if (wants_step && most == 0)
        most = 1;
    /* What the steps in duals take from the step in x: as much as the operator does, or what a given one leaves. */
    const double share = wants_sigma && !wants_step ? 1 / o->step - most : most;
    if (wants_sigma && !(share > 0))
        return hcy_fail(HCY_EINVAL, "hcy_solver_create: a step of %g leaves none in the duals; take less than %g, or 0",
                        o->step, 1 / most);
    for (int i = 0; i < s->n_terms; i++) {
        struct hcy__term *term = &s->terms[i];
        const double square = term->norm * term->norm;
        squares += square;
        term->sigma = wants_sigma ? share / (square * s->n_terms) : o->sigma;
        duals += term->sigma * square;
    }
    if (wants_step)
        o->step = 1 / (most + duals);
    if (wants_rho)
        o->rho = squares * mean > 0 ? mean / (4 * squares) : 1;
    return 0;
}
