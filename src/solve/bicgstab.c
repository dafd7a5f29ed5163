/* bicgstab.c - BiCGSTAB, for square operators that need not be self-adjoint and have no adjoint.
 *
 * H. A. van der Vorst, SIAM J. Sci. Stat. Comput. 13 (1992) 631.  Its numbers are complex where the vectors are.
 *
 * Without a tolerance x stays once the residual is within the rounding of b (FLOOR), or within 4 times that and not
 * halved by a step: steps made of rounding may be of any length along what a singular A takes to 0.
 */
#include "solve_priv.h"

enum { RESIDUAL, SHADOW, DIRECTION, PRODUCT, SECOND };
enum { RHO, NEXT_RHO, ALPHA, OMEGA, BELOW, BETA, SECOND_SQUARE, FLOOR, LAST, GOES_ON, NUMBERS };

static int start_bicgstab(hcy_solver *s, hcy_array *b)
{
    hcy_array *r = s->d[RESIDUAL], *p = s->d[DIRECTION], *v = s->d[PRODUCT];
    hcy_array *rho = s->n[RHO], *alpha = s->n[ALPHA], *omega = s->n[OMEGA], *least = s->n[FLOOR];
    int status = hcy__solver_misfit(s, r, b);
    if (!status)
        status = hcy_array_copy(s->queue, s->d[SHADOW], r);
    if (!status)
        status = SOLVER_EVAL(s, "p = 0; v = 0; rho = 1; alpha = 1; omega = 1", OPERAND(p), OPERAND(v),
                             OPERAND(rho), OPERAND(alpha), OPERAND(omega));
    if (!status)
        status = hcy__solver_dot(s, least, false, b, b);
    if (!status)
        status = SOLVER_EVAL(s, "least = near * least", OPERAND(least), hcy_op_real("near", hcy__nothing_gained(s)));
    if (!status)
        status = hcy__solver_dot(s, s->n[BELOW], false, r, r);
    if (!status) /* the first step is made */
        status = SOLVER_EVAL(s, "last = 5 * square", hcy_op_array("last", s->n[LAST]), hcy_op_array("square", s->n[BELOW]));
    return status ? status : hcy__solver_note(s, s->n[BELOW]);
}

/* p = r + beta (p - omega v), v = A p, and how far along p; r goes there too. */
static int step_along(hcy_solver *s)
{
    hcy_array *r = s->d[RESIDUAL], *p = s->d[DIRECTION], *v = s->d[PRODUCT], *rho = s->n[RHO],
              *next = s->n[NEXT_RHO], *alpha = s->n[ALPHA], *omega = s->n[OMEGA], *below = s->n[BELOW],
              *beta = s->n[BETA], *least = s->n[FLOOR], *last = s->n[LAST], *on = s->n[GOES_ON];
    int status = SOLVER_EVAL(s,
                             "on = where(real(square) > real(least) &&"
                             "  (real(square) > 16 * real(least) || 4 * real(square) < real(last)), 1, 0); last = square",
                             OPERAND(on), hcy_op_array("square", below), OPERAND(least), OPERAND(last));
    if (!status)
        status = hcy__solver_dot(s, next, false, s->d[SHADOW], r);
    /* Where a product has become 0 the iteration is at its end, and x stays where it is. */
    if (!status)
        status =
            SOLVER_EVAL(s,
                        "beta = rho * omega; beta = where(abs(beta) > 0, next * alpha / beta, 0); rho = next;"
                        "p = r + #(beta)*(p - #(omega)*v)",
                        OPERAND(beta), OPERAND(rho), OPERAND(omega), OPERAND(next), OPERAND(alpha),
                        OPERAND(p), OPERAND(r), OPERAND(v));
    if (!status)
        status = hcy__solver_apply(s, v, p);
    if (!status)
        status = hcy__solver_dot(s, below, false, s->d[SHADOW], v);
    if (!status)
        status = SOLVER_EVAL(s, "alpha = where(real(on) > 0 && abs(below) > 0, rho / below, 0); r -= #(alpha)*v",
                             OPERAND(alpha), OPERAND(on), OPERAND(below), OPERAND(rho), OPERAND(r), OPERAND(v));
    return status;
}

/* Where a residual r is orthogonal to A r, but for rounding, the minimum of |r - omega A r| is at omega = 0, and the
 * method goes nowhere: so it is with every r of a skew-symmetric A. */
static int note_progress(hcy_solver *s)
{
    hcy_array *square = s->n[BELOW], *tt = s->n[SECOND_SQUARE], *omega = s->n[OMEGA], *stuck = s->stuck,
              *least = s->n[FLOOR];
    const bool single = hcy__is_single(&s->op->desc.domain);
    const double rounding = single ? 1e-4 : 1e-13;
    int status = hcy__solver_note(s, square);
    if (!status)
        status = SOLVER_EVAL(s,
                             "stuck = where(real(square) > 16 * real(least) && abs2(omega)*real(tt) <= tiny*real(square), 1, 0)",
                             OPERAND(stuck), OPERAND(least), OPERAND(square), OPERAND(omega), OPERAND(tt),
                             hcy_op_real("tiny", rounding * rounding));
    return status;
}

static int step_bicgstab(hcy_solver *s)
{
    hcy_array *x = s->x, *r = s->d[RESIDUAL], *p = s->d[DIRECTION], *t = s->d[SECOND], *alpha = s->n[ALPHA],
              *omega = s->n[OMEGA], *below = s->n[SECOND_SQUARE], *on = s->n[GOES_ON];
    int status = step_along(s);
    if (!status)
        status = hcy__solver_apply(s, t, r);
    if (!status)
        status = hcy__solver_dot(s, below, false, t, t);
    if (!status)
        status = hcy__solver_dot(s, omega, false, t, r);
    /* The minimum of |r - omega t|; r is still what it was before. */
    if (!status)
        status = SOLVER_EVAL_SQUARE(s, s->n[BELOW], false,
                                    "omega = where(real(on) > 0 && abs(below) > 0, omega / below, 0); x += #(alpha)*p + #(omega)*r;"
                                    "r -= #(omega)*t",
                                    OPERAND(r), OPERAND(omega), OPERAND(on), OPERAND(below), OPERAND(x), OPERAND(alpha),
                                    OPERAND(p), OPERAND(t));
    return status ? status : note_progress(s);
}

const struct hcy__method hcy__method_bicgstab = { .name = "bicgstab",
                                                  .n_domain = 5,
                                                  .n_numbers = NUMBERS,
                                                  .is_square = true,
                                                  .complex_numbers = true,
                                                  .stuck = "BiCGSTAB is stuck: the residual is orthogonal to A times "
                                                           "it, as of every skew-symmetric A; LSQR and CGLS are for "
                                                           "these",
                                                  .start = start_bicgstab,
                                                  .step = step_bicgstab };
