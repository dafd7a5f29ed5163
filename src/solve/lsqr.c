/* lsqr.c - least squares by Golub and Kahan's bidiagonalisation: LSQR and LSMR.
 *
 * C. C. Paige, M. A. Saunders: LSQR, ACM Trans. Math. Softw. 8 (1982) 43; D. C.-L. Fong, M. A. Saunders: LSMR, SIAM J.
 * Sci. Comput. 33 (2011) 2950.  Their names of numbers are kept.  From a start that is not 0 they solve for what is
 * missing; l2 is rows of the operator's (solver.c), so that it holds for all of x.
 *
 * |A^H r| / |r| of LSQR's misfit r is |rho_bar|, LSMR's alpha_bar.  Where that is |A| times rounding (A shows a part of
 * its norm in each alpha and beta) the least squares are solved, and the next direction is rounding alone: of an A that
 * has not full rank it would soon be one that A takes to 0, along which x goes any way.  So x stays from there on.
 */
#include "solve_priv.h"

#include <float.h>

/* Vectors of the domain, and of the range. */
enum { V, NEXT_V, W, H_BAR };
enum { U, NEXT_U };
/* Numbers; SCALE is for one moment. */
enum {
    ALPHA,
    BETA,
    SCALE,
    RHO_BAR,
    PHI_BAR,
    RHO,
    C,
    S,
    THETA,
    RATIO,
    LARGEST,
    ALPHA_BAR = RHO_BAR,
    ZETA_BAR = PHI_BAR,
    OLD = LARGEST + 1,
    R_BAR,
    C_BAR,
    S_BAR,
    ZETA,
    NUMBERS
};

/* norm = |v| of its square, v /= norm; 0 stays. */
static int divide_by_norm(hcy_solver *s, hcy_array *norm, hcy_array *v)
{
    hcy_array *scale = s->n[SCALE];
    return SOLVER_EVAL(s, "norm = sqrt(norm); scale = where(norm > 0, 1 / norm, 0); v *= @(scale)", OPERAND(norm),
                       OPERAND(scale), OPERAND(v));
}

/* norm = |v|, v /= norm. */
static int normalize_vector(hcy_solver *s, hcy_array *norm, hcy_array *v, bool of_range)
{
    int status = hcy__solver_dot(s, norm, of_range, v, v);
    return status ? status : divide_by_norm(s, norm, v);
}

static int start_bidiagonal(hcy_solver *s, hcy_array *b)
{
    int status = hcy__solver_misfit(s, s->r[U], b);
    if (!status)
        status = normalize_vector(s, s->n[BETA], s->r[U], true);
    if (!status)
        status = hcy__solver_adjoint(s, s->d[V], s->r[U]);
    if (!status)
        status = normalize_vector(s, s->n[ALPHA], s->d[V], false);
    if (!status)
        status = hcy_array_copy(s->queue, s->n[LARGEST], s->n[ALPHA]);
    return status ? status : hcy_array_copy(s->queue, s->d[W], s->d[V]);
}

/* What |rho_bar| over the largest alpha or beta is above, unless it is rounding. */
static double rounding_of(const hcy_solver *s)
{
    return hcy__is_single(&s->op->desc.domain) ? FLT_EPSILON : DBL_EPSILON;
}

static int step_bidiagonal(hcy_solver *s)
{
    hcy_array *u = s->r[U], *av = s->r[NEXT_U], *v = s->d[V], *au = s->d[NEXT_V], *alpha = s->n[ALPHA],
              *beta = s->n[BETA];
    int status = hcy__solver_apply(s, av, v);
    if (!status)
        status = SOLVER_EVAL_SQUARE(s, beta, true, "u = av - @(alpha)*u", OPERAND(u), OPERAND(av), OPERAND(alpha));
    if (!status)
        status = divide_by_norm(s, beta, u);
    if (!status)
        status = hcy__solver_adjoint(s, au, u);
    if (!status)
        status = SOLVER_EVAL_SQUARE(s, alpha, false, "v = au - @(beta)*v", OPERAND(v), OPERAND(au), OPERAND(beta));
    return status ? status : divide_by_norm(s, alpha, v);
}

/* --- LSQR --- */

/* |A^H r| is phi_bar alpha |c|. */
static int start_lsqr(hcy_solver *s, hcy_array *b)
{
    hcy_array *alpha = s->n[ALPHA], *beta = s->n[BETA], *rho_bar = s->n[RHO_BAR], *phi_bar = s->n[PHI_BAR],
              *square = s->n[SCALE];
    int status = start_bidiagonal(s, b);
    if (!status)
        status =
            SOLVER_EVAL(s, "rho_bar = alpha; phi_bar = beta; square = (alpha * beta) ** 2", OPERAND(rho_bar),
                        OPERAND(phi_bar), OPERAND(alpha), OPERAND(beta), OPERAND(square));
    return status ? status : hcy__solver_note(s, square);
}

static int step_lsqr(hcy_solver *s)
{
    hcy_array *alpha = s->n[ALPHA], *beta = s->n[BETA], *rho_bar = s->n[RHO_BAR], *phi_bar = s->n[PHI_BAR],
              *rho = s->n[RHO], *c = s->n[C], *sn = s->n[S], *theta = s->n[THETA], *ratio = s->n[RATIO],
              *square = s->n[SCALE], *largest = s->n[LARGEST];
    hcy_array *x = s->x, *v = s->d[V], *w = s->d[W];
    int status = step_bidiagonal(s);
    /* The rotation that takes beta out, whose rho is 0 when all is found. */
    if (!status)
        status = SOLVER_EVAL(
            s,
            "largest = maximum(largest, maximum(alpha, beta));"
            "rho = where(abs(rho_bar) > least * largest, sqrt(rho_bar ** 2 + beta ** 2), 0);"
            "ratio = where(rho > 0, 1 / rho, 0);"
            "c = rho_bar * ratio; sn = beta * ratio; theta = sn * alpha * ratio; rho_bar = -c * alpha;"
            "ratio = c * phi_bar * ratio; phi_bar = sn * phi_bar",
            OPERAND(rho), OPERAND(rho_bar), OPERAND(beta), OPERAND(ratio), OPERAND(c), OPERAND(sn),
            OPERAND(theta), OPERAND(alpha), OPERAND(phi_bar), OPERAND(largest),
            hcy_op_real("least", rounding_of(s)));
    if (!status)
        status = SOLVER_EVAL(s, "x += @(ratio)*w; w = v - @(theta)*w; square = (phi_bar * alpha * c) ** 2",
                             OPERAND(x), OPERAND(ratio), OPERAND(w), OPERAND(v), OPERAND(theta),
                             OPERAND(square), OPERAND(phi_bar), OPERAND(alpha), OPERAND(c));
    return status ? status : hcy__solver_note(s, square);
}

const struct hcy__method hcy__method_lsqr = { .name = "lsqr",
                                              .n_domain = 3,
                                              .n_range = 2,
                                              .n_numbers = LARGEST + 1,
                                              .needs_adjoint = true,
                                              .start = start_lsqr,
                                              .step = step_lsqr };

/* --- LSMR: W is its h --- */

/* |A^H r| is |zeta_bar|. */
static int start_lsmr(hcy_solver *s, hcy_array *b)
{
    hcy_array *alpha = s->n[ALPHA], *beta = s->n[BETA], *alpha_bar = s->n[ALPHA_BAR],
              *zeta_bar = s->n[ZETA_BAR], *square = s->n[SCALE], *rho = s->n[RHO], *r_bar = s->n[R_BAR],
              *c_bar = s->n[C_BAR], *s_bar = s->n[S_BAR];
    int status = start_bidiagonal(s, b);
    if (!status)
        status = hcy__vector_zero(s->queue, s->d[H_BAR]);
    if (!status)
        status = SOLVER_EVAL(
            s,
            "alpha_bar = alpha; zeta_bar = alpha * beta; rho = 1; r_bar = 1; c_bar = 1; s_bar = 0;"
            "square = zeta_bar ** 2",
            OPERAND(alpha_bar), OPERAND(alpha), OPERAND(zeta_bar), OPERAND(beta), OPERAND(rho),
            OPERAND(r_bar), OPERAND(c_bar), OPERAND(s_bar), OPERAND(square));
    return status ? status : hcy__solver_note(s, square);
}

/* The two rotations; `old` is what h_bar is taken times, `zeta` what it goes to x times. */
static int rotate_lsmr(hcy_solver *s)
{
    hcy_array *alpha = s->n[ALPHA], *beta = s->n[BETA], *alpha_bar = s->n[ALPHA_BAR],
              *zeta_bar = s->n[ZETA_BAR], *square = s->n[SCALE], *rho = s->n[RHO], *c = s->n[C],
              *sn = s->n[S], *theta = s->n[THETA], *ratio = s->n[RATIO], *old = s->n[OLD],
              *r_bar = s->n[R_BAR], *c_bar = s->n[C_BAR], *s_bar = s->n[S_BAR], *zeta = s->n[ZETA],
              *largest = s->n[LARGEST];
    int status =
        SOLVER_EVAL(s,
                    "largest = maximum(largest, maximum(alpha, beta));"
                    "old = where(rho * r_bar > 0, 1 / (rho * r_bar), 0);"
                    "rho = where(abs(alpha_bar) > least * largest, sqrt(alpha_bar ** 2 + beta ** 2), 0);"
                    "ratio = where(rho > 0, 1 / rho, 0);"
                    "c = alpha_bar * ratio; sn = beta * ratio; theta = sn * alpha; alpha_bar = c * alpha;"
                    "old = s_bar * rho * rho * old",
                    OPERAND(old), OPERAND(rho), OPERAND(r_bar), OPERAND(alpha_bar), OPERAND(beta),
                    OPERAND(ratio), OPERAND(c), OPERAND(sn), OPERAND(theta), OPERAND(alpha), OPERAND(s_bar),
                    OPERAND(largest), hcy_op_real("least", rounding_of(s)));
    if (!status)
        status = SOLVER_EVAL(
            s,
            "r_bar = sqrt((c_bar * rho) ** 2 + theta ** 2); zeta = where(r_bar > 0, 1 / r_bar, 0);"
            "c_bar = c_bar * rho * zeta; s_bar = theta * zeta; theta *= ratio;"
            "zeta = c_bar * zeta_bar * zeta * ratio; zeta_bar = -s_bar * zeta_bar;"
            "square = zeta_bar ** 2",
            OPERAND(r_bar), OPERAND(c_bar), OPERAND(rho), OPERAND(theta), OPERAND(zeta), OPERAND(s_bar),
            OPERAND(ratio), OPERAND(zeta_bar), OPERAND(square));
    return status;
}

static int step_lsmr(hcy_solver *s)
{
    hcy_array *x = s->x, *v = s->d[V], *h = s->d[W], *h_bar = s->d[H_BAR], *old = s->n[OLD],
              *zeta = s->n[ZETA], *theta = s->n[THETA];
    int status = step_bidiagonal(s);
    if (!status)
        status = rotate_lsmr(s);
    if (!status)
        status =
            SOLVER_EVAL(s, "h_bar = h - @(old)*h_bar; x += @(zeta)*h_bar; h = v - @(theta)*h", OPERAND(h_bar),
                        OPERAND(h), OPERAND(old), OPERAND(x), OPERAND(zeta), OPERAND(v), OPERAND(theta));
    return status ? status : hcy__solver_note(s, s->n[SCALE]);
}

const struct hcy__method hcy__method_lsmr = { .name = "lsmr",
                                              .n_domain = 4,
                                              .n_range = 2,
                                              .n_numbers = NUMBERS,
                                              .needs_adjoint = true,
                                              .start = start_lsmr,
                                              .step = step_lsmr };
