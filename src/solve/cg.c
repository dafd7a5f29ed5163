/* cg.c - conjugate gradients: for self-adjoint operators, for normal equations, and for least squares (CGLS).
 *
 * Hestenes and Stiefel, 1952; numbers stay on the device.  A direction whose product is not above 0 is the end:
 * the residual's square is made 0, with which alpha and beta are 0 from there on, and x stays; CG says so.  So it is
 * when the residual, or the gradient of CGLS, is 2^-100 of the first: x has not changed for long, but the recursion
 * goes on to make it smaller, until squares leave the numbers' range and the quotients of what is left of them are
 * anything, or until it is rounding alone, of which steps grow that lead away from x. CG without a tolerance ends
 * sooner, where the residual is within the rounding of b (lift_floor): of a singular A what is left is what A takes to
 * 0. CGLS and normal equations, whose gradients are of misfits that may stay, end too where a gradient that was near
 * its rounding grows (turn_scaled, watch_gradient): of an A that has not full rank the next directions are ones that A
 * takes to 0.
 */
#include "solve_priv.h"

#include <math.h>

enum { RESIDUAL = HCY__CG_RESIDUAL, DIRECTION = HCY__CG_DIRECTION, PRODUCT = HCY__CG_PRODUCT };
enum {
    SQUARE = HCY__CG_SQUARE,
    NEXT_SQUARE = HCY__CG_NEXT_SQUARE,
    FLOOR = HCY__CG_FLOOR,
    CURVATURE = HCY__CG_CURVATURE,
    ALPHA = HCY__CG_ALPHA,
    BETA = HCY__CG_BETA,
    LENGTH = HCY__CG_LENGTH, /* |p|^2, of CGLS |p / SCALE|^2: a square with SCALE^2 in it may be beyond a double */
    LARGEST = HCY__CG_LARGEST,
    SQUARE_NUMBERS = HCY__CG_NUMBERS,
    VALUE = SQUARE_NUMBERS,
    LOWEST,
    NORMAL_NUMBERS,
    SCALE = NORMAL_NUMBERS,
    KEPT,
    CGLS_NUMBERS
};

/* The square of 64 times half of the last bit: what a gradient's over |A|^2 and the misfit's is when it is near its
 * rounding. */
static double near_rounding(const hcy_solver *s)
{
    return ldexp(1, hcy__is_single(&s->op->desc.domain) ? -36 : -94);
}

/* z = (A^H A + l2) p, or (A + l2) p. */
static int multiply_equations(hcy_solver *s, hcy_array *z, hcy_array *p)
{
    int status = 0;
    if (s->method->n_range) {
        status = hcy__solver_apply(s, s->r[0], p);
        if (!status)
            status = hcy__solver_adjoint(s, z, s->r[0]);
    } else
        status = hcy__solver_apply(s, z, p);
    if (!status && s->opts.l2 > 0)
        status = SOLVER_EVAL(s, "z += l2*p", OPERAND(z), OPERAND(p), hcy_op_real("l2", s->opts.l2));
    return status;
}

int hcy__cg_begin(hcy_solver *s)
{
    hcy_array *rr = s->n[SQUARE], *least = s->n[FLOOR];
    int status = hcy_array_copy(s->queue, s->d[DIRECTION], s->d[RESIDUAL]);
    if (!status)
        status = hcy__solver_dot(s, rr, false, s->d[RESIDUAL], s->d[RESIDUAL]);
    return status ? status : SOLVER_EVAL(s, "least = ldexp(rr, -200)", OPERAND(least), OPERAND(rr));
}

/* A product that is within the rounding of the largest that a direction has shown says nothing of A, and a step by it
 * may be of any length: so it is none.  (|p|^2 follows from the one before, as the residual is orthogonal to it.) */
static int drop_rounding(hcy_solver *s)
{
    hcy_array *next = s->n[NEXT_SQUARE], *pz = s->n[CURVATURE], *beta = s->n[BETA], *length = s->n[LENGTH],
              *largest = s->n[LARGEST];
    return SOLVER_EVAL(s,
                       "length = next + beta * beta * length;"
                       "largest = where(length > 0, maximum(largest, pz / length), largest);"
                       "pz = where(pz > tiny * largest * length, pz, 0)",
                       OPERAND(length), OPERAND(next), OPERAND(beta), OPERAND(largest), OPERAND(pz),
                       hcy_op_real("tiny", hcy__rounding(s)));
}

int hcy__cg_step(hcy_solver *s, int (*multiply)(hcy_solver *s, hcy_array *z, hcy_array *p), int (*check)(hcy_solver *s))
{
    hcy_array *x = s->x, *p = s->d[DIRECTION], *r = s->d[RESIDUAL], *z = s->d[PRODUCT], *rr = s->n[SQUARE],
              *next = s->n[NEXT_SQUARE], *pz = s->n[CURVATURE], *alpha = s->n[ALPHA], *beta = s->n[BETA],
              *least = s->n[FLOOR];
    int status = multiply(s, z, p);
    if (!status)
        status = hcy__solver_dot(s, pz, false, p, z);
    if (!status && check)
        status = check(s);
    if (!status)
        status = SOLVER_EVAL_SQUARE(s, next, false,
                                    "alpha = where(pz > 0, rr / pz, 0); rr = where(pz > 0, rr, 0); x += @(alpha)*p;"
                                    "r -= @(alpha)*z",
                                    OPERAND(r), OPERAND(alpha), OPERAND(rr), OPERAND(pz), OPERAND(x), OPERAND(p),
                                    OPERAND(z));
    /* The residual's square stays 0 once it is; where x stays although there is a residual, the method is stuck. */
    if (!status && s->method->stuck)
        return SOLVER_EVAL(s,
                           "beta = where(rr > 0, next / rr, 0); rr = where(rr > 0 && next > least, next, 0);"
                           "p = r + @(beta)*p; stuck = where(pz > 0, stuck, where(next > least, 1, stuck))",
                           OPERAND(beta), OPERAND(rr), OPERAND(next), OPERAND(least), OPERAND(p), OPERAND(r),
                           OPERAND(pz), hcy_op_array("stuck", s->stuck));
    return status ? status
                  : SOLVER_EVAL(
                        s,
                        "beta = where(rr > 0, next / rr, 0); rr = where(rr > 0 && next > least, next, 0);"
                        "p = r + @(beta)*p",
                        OPERAND(beta), OPERAND(rr), OPERAND(next), OPERAND(least), OPERAND(p), OPERAND(r));
}

/* VALUE = |b|^2 + |A x|^2, whose rounding is in the first gradient, and stays in those that are made of it. */
static int watch_from(hcy_solver *s, hcy_array *b)
{
    hcy_array *ax = s->r[0], *value = s->n[VALUE], *more = s->n[LENGTH], *largest = s->n[LARGEST];
    int status = hcy__solver_dot(s, value, true, b, b);
    if (!status)
        status = hcy__solver_dot(s, more, true, ax, ax);
    return status ? status
                  : SOLVER_EVAL(s, "value += more; largest = 0", OPERAND(value), OPERAND(more), OPERAND(largest));
}

/* As CGLS does (turn_scaled): where the gradient is 4 times the lowest, and that was near its rounding, x stays. */
static int watch_gradient(hcy_solver *s)
{
    hcy_array *rr = s->n[SQUARE], *next = s->n[NEXT_SQUARE], *pz = s->n[CURVATURE], *beta = s->n[BETA],
              *length = s->n[LENGTH], *largest = s->n[LARGEST], *value = s->n[VALUE], *lowest = s->n[LOWEST];
    return SOLVER_EVAL(s,
                       "largest = where(length > 0, maximum(largest, pz / length), largest);"
                       "lowest = minimum(lowest, next);"
                       "rr = where(next <= 16 * lowest || lowest > near * largest * value, rr, 0);"
                       "length = next + beta * beta * length",
                       OPERAND(largest), OPERAND(length), OPERAND(pz), OPERAND(lowest), OPERAND(next), OPERAND(rr),
                       OPERAND(value), OPERAND(beta), hcy_op_real("near", near_rounding(s)));
}

/* What drop_rounding() begins with; and without a tolerance FLOOR is where nothing is gained any more. */
static int lift_floor(hcy_solver *s, hcy_array *b)
{
    hcy_array *rr = s->n[SQUARE], *next = s->n[NEXT_SQUARE], *least = s->n[FLOOR], *beta = s->n[BETA],
              *length = s->n[LENGTH], *largest = s->n[LARGEST], *bb = s->n[ALPHA];
    int status = hcy__solver_dot(s, bb, false, b, b);
    return status ? status
                  : SOLVER_EVAL(s, "next = rr; beta = 0; length = 0; largest = 0; least = maximum(least, near * bb)",
                                OPERAND(next), OPERAND(rr), OPERAND(beta), OPERAND(length), OPERAND(largest),
                                OPERAND(least), OPERAND(bb), hcy_op_real("near", hcy__nothing_gained(s)));
}

static int start_cg(hcy_solver *s, hcy_array *b)
{
    hcy_array *r = s->d[RESIDUAL], *z = s->d[PRODUCT];
    int status = multiply_equations(s, z, s->x);
    if (!status && s->method->n_range)
        status = watch_from(s, b);
    /* Of normal equations the right side is A^H b. */
    if (!status && s->method->n_range)
        status = hcy__solver_adjoint(s, r, b);
    else if (!status)
        status = hcy_array_copy(s->queue, r, b);
    if (!status)
        status = SOLVER_EVAL(s, "r -= z; stuck = 0", OPERAND(r), OPERAND(z), hcy_op_array("stuck", s->stuck));
    if (!status)
        status = hcy__cg_begin(s);
    if (!status && s->method->is_square)
        status = lift_floor(s, b);
    if (!status && s->method->n_range)
        status = SOLVER_EVAL(s, "length = rr; lowest = rr", hcy_op_array("length", s->n[LENGTH]),
                             hcy_op_array("lowest", s->n[LOWEST]), hcy_op_array("rr", s->n[SQUARE]));
    return status ? status : hcy__solver_note(s, s->n[SQUARE]);
}

static int step_cg(hcy_solver *s)
{
    int status = hcy__cg_step(s, multiply_equations, s->method->is_square ? drop_rounding : NULL);
    if (!status && s->method->n_range)
        status = watch_gradient(s);
    return status ? status : hcy__solver_note(s, s->n[NEXT_SQUARE]);
}

#define NOT_POSITIVE                                                                                         \
    "CG is stuck: along its direction p the product p A p is not above 0, so that A (with l2) is not "       \
    "positive, or not "                                                                                      \
    "beyond its rounding; more l2 makes it so"

const struct hcy__method hcy__method_cg = { .name = "cg",
                                            .n_domain = HCY__CG_VECTORS,
                                            .n_numbers = SQUARE_NUMBERS,
                                            .is_square = true,
                                            .is_damped = true,
                                            .stuck = NOT_POSITIVE,
                                            .start = start_cg,
                                            .step = step_cg };
const struct hcy__method hcy__method_cg_normal = { .name = "cg_normal",
                                                   .n_domain = HCY__CG_VECTORS,
                                                   .n_range = 1,
                                                   .n_numbers = NORMAL_NUMBERS,
                                                   .is_damped = true,
                                                   .needs_adjoint = true,
                                                   .stuck = NOT_POSITIVE,
                                                   .start = start_cg,
                                                   .step = step_cg };

/* --- CGLS: the residual of the data is kept, and that of the equations made of it each time ---
 *
 * What is solved is SCALE A x = SCALE b, where SCALE is the power of two nearest to 1 / |A| that the first gradient
 * shows: no bit of x changes, and A^H A x is a number even of floats and an A whose square no float can have.  The
 * misfit is kept times SCALE, the gradient is A^H of that, and directions are made of SCALE times the gradient. */

/* Vectors of the range. */
enum { MISFIT, STEP };

static int make_gradient(hcy_solver *s)
{
    hcy_array *r = s->d[RESIDUAL], *x = s->x, *scale = s->n[SCALE];
    int status = hcy__solver_adjoint(s, r, s->r[MISFIT]);
    if (!status && s->opts.l2 > 0)
        status = SOLVER_EVAL(s, "r -= @(l2*scale)*x", OPERAND(r), OPERAND(x), OPERAND(scale),
                             hcy_op_real("l2", s->opts.l2));
    return status;
}

/* SCALE, by the gradient of a misfit of norm 1 to 2; then the misfit is that of the data, times SCALE. */
static int find_scale(hcy_solver *s)
{
    hcy_array *m = s->r[MISFIT], *r = s->d[RESIDUAL], *scale = s->n[SCALE], *unit = s->n[ALPHA],
              *square = s->n[SQUARE], *less = s->n[BETA];
    int status = hcy__solver_dot(s, square, true, m, m);
    if (!status)
        status = SOLVER_EVAL(s, "unit = ldexp(1.0, -exponent(sqrt(square))); m *= @(unit)", OPERAND(unit),
                             OPERAND(square), OPERAND(m));
    if (!status)
        status = hcy__solver_adjoint(s, r, m);
    if (!status)
        status = hcy__solver_dot(s, square, false, r, r);
    /* Of doubles the square may be beyond one. */
    if (!status)
        status = SOLVER_EVAL(s, "less = where(square < 1e308, 1, ldexp(1.0, -600)); r *= @(less)", OPERAND(less),
                             OPERAND(square), OPERAND(r));
    if (!status)
        status = hcy__solver_dot(s, square, false, r, r);
    /* Two factors: the quotient of the powers alone may be beyond a float. */
    if (!status)
        status = SOLVER_EVAL(s, "scale = ldexp(less, -exponent(sqrt(square))); m *= @(scale); m *= @(1/unit)",
                             OPERAND(scale), OPERAND(less), OPERAND(square), OPERAND(m), OPERAND(unit));
    return status;
}

/* VALUE = what is made least, |m / SCALE|^2 + l2 |x|^2.  STEP is written. */
static int sum_value(hcy_solver *s)
{
    hcy_array *m = s->r[MISFIT], *q = s->r[STEP], *x = s->x, *value = s->n[VALUE], *xx = s->n[ALPHA],
              *scale = s->n[SCALE];
    int status = SOLVER_EVAL(s, "q = @(1/scale)*m", OPERAND(q), OPERAND(scale), OPERAND(m));
    if (!status)
        status = hcy__solver_dot(s, value, true, q, q);
    if (!status && s->opts.l2 > 0)
        status = hcy__solver_dot(s, xx, false, x, x);
    if (!status && s->opts.l2 > 0)
        status = SOLVER_EVAL(s, "value += l2*xx", OPERAND(value), OPERAND(xx), hcy_op_real("l2", s->opts.l2));
    return status;
}

/* The gradient's square, which stays 0 once it is, and the next direction.
 *
 * Rounding leaves of a gradient some u sqrt(|A|^2 + l2) sqrt(VALUE), u half of the last bit.  Down there gradients
 * hardly fall, but directions made of them may grow, until x is lost: where one is 4 times the lowest, and that was
 * within 64 u, x stays.  (A condition of 10^4 makes those above that rise and fall again.)  Neither side costs a pass
 * over vectors: |A|^2 + l2, times SCALE^2 as the gradient's square is, is the largest that a direction has shown, whose
 * length follows from that of the one before, because the gradient is orthogonal to it; a step takes ALPHA |gradient|^2
 * off VALUE, which is summed anew now and then, because of differences nothing is left. */
static int turn_scaled(hcy_solver *s)
{
    enum { STEPS_TO_SUM = 16 };
    hcy_array *p = s->d[DIRECTION], *r = s->d[RESIDUAL], *rr = s->n[SQUARE], *next = s->n[NEXT_SQUARE],
              *beta = s->n[BETA], *scale = s->n[SCALE], *least = s->n[FLOOR], *length = s->n[LENGTH],
              *largest = s->n[LARGEST], *value = s->n[VALUE], *lowest = s->n[LOWEST];
    int status = hcy__solver_dot(s, next, false, r, r);
    if (!status && s->iterations % STEPS_TO_SUM == 0)
        status = sum_value(s);
    if (!status)
        status = SOLVER_EVAL(s,
                             "lowest = minimum(lowest, next); beta = where(rr > 0, next / rr, 0);"
                             "rr = where(rr > 0 && next > least &&"
                             "  (next <= 16 * lowest || lowest > near * largest * value), next, 0);"
                             "length = next + beta * beta * length;"
                             "p = @(scale)*r + @(beta)*p",
                             OPERAND(beta), OPERAND(rr), OPERAND(next), OPERAND(least), OPERAND(p), OPERAND(r),
                             OPERAND(scale), OPERAND(length), OPERAND(largest), OPERAND(value), OPERAND(lowest),
                             hcy_op_real("near", near_rounding(s)));
    return status ? status : hcy__solver_note_over(s, next, scale);
}

static int start_cgls(hcy_solver *s, hcy_array *b)
{
    hcy_array *p = s->d[DIRECTION], *r = s->d[RESIDUAL], *scale = s->n[SCALE], *rr = s->n[SQUARE], *least = s->n[FLOOR],
              *length = s->n[LENGTH], *largest = s->n[LARGEST], *lowest = s->n[LOWEST];
    int status = hcy__solver_misfit(s, s->r[MISFIT], b);
    if (!status)
        status = find_scale(s);
    if (!status)
        status = make_gradient(s);
    if (!status)
        status = SOLVER_EVAL(s, "p = @(scale)*r", OPERAND(p), OPERAND(scale), OPERAND(r));
    if (!status)
        status = hcy__solver_dot(s, rr, false, r, r);
    if (!status)
        status = SOLVER_EVAL(s, "least = ldexp(rr, -200); lowest = rr; length = rr; largest = 0", OPERAND(least),
                             OPERAND(rr), OPERAND(lowest), OPERAND(length), OPERAND(largest));
    if (!status)
        status = sum_value(s);
    return status ? status : hcy__solver_note_over(s, rr, scale);
}

/* The step along the direction p, q = A p: x and the misfit. */
static int step_along(hcy_solver *s)
{
    hcy_array *x = s->x, *p = s->d[DIRECTION], *m = s->r[MISFIT], *q = s->r[STEP], *scale = s->n[SCALE];
    hcy_array *rr = s->n[SQUARE], *qq = s->n[CURVATURE], *pp = s->n[BETA], *alpha = s->n[ALPHA];
    hcy_array *length = s->n[LENGTH], *largest = s->n[LARGEST], *value = s->n[VALUE];
    int status = hcy__solver_dot(s, qq, true, q, q);
    if (!status && s->opts.l2 > 0)
        status = hcy__solver_dot(s, pp, false, p, p);
    if (!status && s->opts.l2 > 0)
        status = SOLVER_EVAL(s, "qq += l2*pp", OPERAND(qq), OPERAND(pp), hcy_op_real("l2", s->opts.l2));
    return status ? status
                  : SOLVER_EVAL(s,
                                "alpha = where(qq > 0, rr / qq, 0); rr = where(qq > 0, rr, 0);"
                                "largest = where(length > 0, maximum(largest, qq / length), largest);"
                                "value = maximum(value - alpha * rr, 0);"
                                "x += @(alpha)*p; m -= @(alpha*scale)*q",
                                OPERAND(alpha), OPERAND(rr), OPERAND(qq), OPERAND(x), OPERAND(p), OPERAND(m),
                                OPERAND(q), OPERAND(scale), OPERAND(length), OPERAND(largest), OPERAND(value));
}

/* The same, at most twice as far as the slope along the direction says, <gradient, p> / SCALE, which is the gradient's
 * square but for rounding.  Where a step has taken all of a gradient but its rounding, what is left is no gradient of
 * the next misfit (it may be the difference of two large ones), and the quotient of squares is no step to the least
 * value: the misfit would grow until x is lost.  So no step makes it larger, and where nothing leads down x stays. */
static int step_downhill(hcy_solver *s)
{
    hcy_array *p = s->d[DIRECTION], *r = s->d[RESIDUAL], *rr = s->n[SQUARE], *slope = s->n[BETA], *kept = s->n[KEPT],
              *scale = s->n[SCALE];
    int status = hcy__solver_dot(s, slope, false, r, p);
    if (!status)
        status = SOLVER_EVAL(s, "kept = rr; rr = where(rr > 0, clip(rr, 0, maximum(2 * slope / scale, 0)), 0)", OPERAND(kept),
                             OPERAND(rr), OPERAND(slope), OPERAND(scale));
    if (!status)
        status = step_along(s);
    return status ? status : SOLVER_EVAL(s, "rr = where(rr > 0, kept, 0)", OPERAND(rr), OPERAND(kept));
}

/* Where an operator goes over what it is but once for A p, A^H m and SCALE A^H A p, the next gradient is that of the
 * misfit before the step, which is made anew each time, less what the step takes off it.  So rounding does not add up
 * from step to step, as it would in a gradient that is never made anew. */
static int step_in_one_go(hcy_solver *s)
{
    hcy_array *x = s->x, *p = s->d[DIRECTION], *r = s->d[RESIDUAL], *z = s->d[PRODUCT], *scale = s->n[SCALE],
              *alpha = s->n[ALPHA];
    int status = s->op->twice(s->queue, s->r[STEP], r, z, s->op->desc.user, p, s->r[MISFIT], scale);
    if (!status && s->opts.l2 > 0)
        status = SOLVER_EVAL(s, "r -= @(l2*scale)*x", OPERAND(r), OPERAND(x), OPERAND(scale),
                             hcy_op_real("l2", s->opts.l2));
    if (!status)
        status = step_downhill(s);
    if (!status)
        status = s->opts.l2 > 0
                     ? SOLVER_EVAL(s, "r -= @(alpha)*z; r -= @(alpha*l2*scale)*p", OPERAND(r), OPERAND(z), OPERAND(p),
                                   OPERAND(alpha), OPERAND(scale), hcy_op_real("l2", s->opts.l2))
                     : SOLVER_EVAL(s, "r -= @(alpha)*z", OPERAND(r), OPERAND(z), OPERAND(alpha));
    return status ? status : turn_scaled(s);
}

static int step_cgls(hcy_solver *s)
{
    if (s->op->twice)
        return step_in_one_go(s);
    int status = hcy__solver_apply(s, s->r[STEP], s->d[DIRECTION]);
    /* Without l2 the gradient is A^H of the misfit and no difference. */
    if (!status)
        status = s->opts.l2 > 0 ? step_downhill(s) : step_along(s);
    if (!status)
        status = make_gradient(s);
    return status ? status : turn_scaled(s);
}

const struct hcy__method hcy__method_cgls = { .name = "cgls",
                                              .n_domain = PRODUCT,
                                              .n_twice = 1,
                                              .n_range = 2,
                                              .n_numbers = CGLS_NUMBERS,
                                              .is_damped = true,
                                              .needs_adjoint = true,
                                              .start = start_cgls,
                                              .step = step_cgls };
