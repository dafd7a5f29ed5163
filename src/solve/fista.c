/* fista.c - least squares with a regulariser by proximal gradients: ISTA, and FISTA with its momentum.
 *
 * A. Beck, M. Teboulle, SIAM J. Imaging Sci. 2 (2009) 183; the restart is the gradient scheme of B. O'Donoghue,
 * E. Candes, Found. Comput. Math. 15 (2015) 715.
 */
#include "solve_priv.h"

/* Vectors of the domain: where the gradient is taken, the gradient (then x that comes next), and their difference. */
enum { POINT, NEXT, CHANGE };
enum { MOMENTUM, NEXT_MOMENTUM, FACTOR, UPHILL, SQUARE, NUMBERS };

/* NEXT = map(y - step (A^H (A y - b) + l2 y), step). */
static int descend_from(hcy_solver *s, hcy_array *y)
{
    struct hcy__term *term = s->n_terms ? &s->terms[0] : NULL;
    hcy_array *z = s->d[term ? CHANGE : NEXT];
    int status = hcy__solver_gradient(s, z, s->r[0], y);
    if (!status)
        status = SOLVER_EVAL(s, "z = y - step*(z + l2*y)", OPERAND(z), OPERAND(y),
                             hcy_op_real("step", s->opts.step), hcy_op_real("l2", s->opts.l2));
    if (!status && term)
        status = hcy__prox_map_run(s->queue, s->d[NEXT], &term->whole, z, s->opts.step,
                                   s->opts.inner ? s->opts.inner : 10);
    return status;
}

/* The residual: how far a step goes, over its length. */
static int note_change(hcy_solver *s, hcy_array *from)
{
    hcy_array *change = s->d[CHANGE], *z = s->d[NEXT], *square = s->n[SQUARE];
    int status = SOLVER_EVAL(s, "change = from - z", OPERAND(change), OPERAND(from), OPERAND(z));
    if (!status)
        status = hcy__solver_dot(s, square, false, change, change);
    if (!status)
        status = SOLVER_EVAL(s, "square = square * scale * scale", OPERAND(square),
                             hcy_op_real("scale", 1 / s->opts.step));
    return status ? status : hcy__solver_note(s, square);
}

static int start_ista(hcy_solver *s, hcy_array *b)
{
    (void)b;
    /* The first residual is that of x0: the step from it is made once to know it. */
    int status = descend_from(s, s->x);
    return status ? status : note_change(s, s->x);
}

static int step_ista(hcy_solver *s)
{
    int status = descend_from(s, s->x);
    if (!status)
        status = note_change(s, s->x);
    return status ? status : hcy_array_copy(s->queue, s->x, s->d[NEXT]);
}

const struct hcy__method hcy__method_ista = { .name = "ista",
                                              .n_domain = 3,
                                              .n_range = 1,
                                              .n_numbers = NUMBERS,
                                              .n_terms = 1,
                                              .maps_whole = true,
                                              .has_step = true,
                                              .is_damped = true,
                                              .needs_adjoint = true,
                                              .start = start_ista,
                                              .step = step_ista };

static int start_fista(hcy_solver *s, hcy_array *b)
{
    hcy_array *t = s->n[MOMENTUM];
    int status = start_ista(s, b);
    if (!status)
        status = hcy_array_copy(s->queue, s->d[POINT], s->x);
    return status ? status : SOLVER_EVAL(s, "t = 1", OPERAND(t));
}

static int step_fista(hcy_solver *s)
{
    hcy_array *x = s->x, *y = s->d[POINT], *z = s->d[NEXT], *change = s->d[CHANGE], *t = s->n[MOMENTUM],
              *next = s->n[NEXT_MOMENTUM], *factor = s->n[FACTOR], *uphill = s->n[UPHILL];
    int status = descend_from(s, y);
    if (!status)
        status = note_change(s, y);
    /* Where y - z, the gradient, points along z - x, the momentum leads uphill. */
    if (!status)
        status = SOLVER_EVAL(s, "x = z - x", OPERAND(x), OPERAND(z));
    if (!status && s->opts.restart)
        status = hcy__solver_dot(s, uphill, false, change, x);
    else if (!status)
        status = SOLVER_EVAL(s, "uphill = 0", OPERAND(uphill));
    if (!status)
        status = SOLVER_EVAL(s,
                             "t = where(uphill > 0, 1, t); next = (1 + sqrt(1 + 4 * t * t)) / 2;"
                             "factor = (t - 1) / next; t = next; y = z + @(factor)*x; x = z",
                             OPERAND(t), OPERAND(uphill), OPERAND(next), OPERAND(factor), OPERAND(y),
                             OPERAND(z), OPERAND(x));
    return status;
}

const struct hcy__method hcy__method_fista = { .name = "fista",
                                               .n_domain = 3,
                                               .n_range = 1,
                                               .n_numbers = NUMBERS,
                                               .n_terms = 1,
                                               .maps_whole = true,
                                               .has_step = true,
                                               .is_damped = true,
                                               .needs_adjoint = true,
                                               .start = start_fista,
                                               .step = step_fista };
