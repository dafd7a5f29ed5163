/* primal_dual.c - least squares with regularisers by steps in x and in a dual vector of each K.
 *
 * L. Condat, J. Optim. Theory Appl. 158 (2013) 460; B. C. Vu, Adv. Comput. Math. 38 (2013) 667; A. Chambolle, T. Pock,
 * Math. Program. 159 (2016) 253: what is smooth goes by its gradient, each g by the map of its conjugate, which is
 * Moreau's: u + sigma v - sigma map(u / sigma + v, 1 / sigma).  One product with A, A^H and each K, K^H a step.
 */
#include "solve_priv.h"

enum { GRADIENT, NEXT, CHANGE };
enum { SQUARE, TOTAL, NUMBERS };

/* NEXT = x - step (A^H (A x - b) + l2 x + the sum of K^H u); CHANGE is how far that is. */
static int descend(hcy_solver *s)
{
    hcy_array *g = s->d[GRADIENT], *x = s->x, *z = s->d[NEXT], *c = s->d[CHANGE];
    int status = hcy__solver_gradient(s, g, s->r[0], x);
    for (int i = 0; !status && i < s->n_terms; i++)
        status = hcy__proximal_add_back(s->queue, g, s->terms[i].p, 1, s->terms[i].dual, c);
    if (!status)
        status = SOLVER_EVAL(s, "z = x - step*(g + l2*x); c = z - x", OPERAND(z), OPERAND(x), OPERAND(g), OPERAND(c),
                             hcy_op_real("step", s->opts.step), hcy_op_real("l2", s->opts.l2));
    return status;
}

/* The step in a dual vector, from where x goes and as far again; its square goes to the total. */
static int climb(hcy_solver *s, struct hcy__term *term, hcy_array *ahead)
{
    hcy_array *v = term->point, *z = term->mapped, *u = term->dual, *sum = term->sum, *total = s->n[TOTAL];
    int status = hcy__proximal_analyse(s->queue, v, term->p, ahead);
    if (!status)
        status = SOLVER_EVAL(s, "v += f*u", OPERAND(v), OPERAND(u), hcy_op_real("f", 1 / term->sigma));
    if (!status)
        status = term->p->desc.map(s->queue, z, term->p->desc.user, v, 1 / term->sigma);
    if (!status)
        status = SOLVER_EVAL(s, "v = f*(v - z) - u; u += v", OPERAND(v), OPERAND(z), OPERAND(u),
                             hcy_op_real("f", term->sigma));
    if (!status)
        status = hcy__vector_dot(s->queue, sum, &term->p->desc.space, v, v);
    return status ? status
                  : SOLVER_EVAL(s, "total += f*real(sum)", OPERAND(total), OPERAND(sum),
                                hcy_op_real("f", 1 / (term->sigma * s->opts.step)));
}

/* The total begins with the step in x. */
static int begin_total(hcy_solver *s)
{
    hcy_array *c = s->d[CHANGE], *square = s->n[SQUARE], *total = s->n[TOTAL];
    int status = hcy__solver_dot(s, square, false, c, c);
    return status ? status
                  : SOLVER_EVAL(s, "total = f*f*square", OPERAND(total), OPERAND(square),
                                hcy_op_real("f", 1 / s->opts.step));
}

static int start_primal_dual(hcy_solver *s, hcy_array *b)
{
    (void)b;
    /* The first residual is that of x0: the step from it is made once to know it. */
    int status = descend(s);
    if (!status)
        status = begin_total(s);
    return status ? status : hcy__solver_note(s, s->n[TOTAL]);
}

static int step_primal_dual(hcy_solver *s)
{
    hcy_array *x = s->x, *z = s->d[NEXT], *c = s->d[CHANGE];
    int status = descend(s);
    if (!status)
        status = begin_total(s);
    if (!status)
        status = SOLVER_EVAL(s, "x = z; z += c", OPERAND(x), OPERAND(z), OPERAND(c));
    for (int i = 0; !status && i < s->n_terms; i++)
        status = climb(s, &s->terms[i], z);
    return status ? status : hcy__solver_note(s, s->n[TOTAL]);
}

const struct hcy__method hcy__method_primal_dual = { .name = "primal_dual",
                                                     .n_domain = 3,
                                                     .n_range = 1,
                                                     .n_numbers = NUMBERS,
                                                     .n_terms = HCY_SOLVER_MAX_PROXIMALS,
                                                     .has_step = true,
                                                     .is_damped = true,
                                                     .needs_adjoint = true,
                                                     .start = start_primal_dual,
                                                     .step = step_primal_dual };
