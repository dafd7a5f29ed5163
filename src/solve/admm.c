/* admm.c - least squares with regularisers by splitting: ADMM, and split Bregman, which adds the data's rest back.
 *
 * S. Boyd et al., Found. Trends Mach. Learn. 3 (2010) 1; T. Goldstein, S. Osher, SIAM J. Imaging Sci. 2 (2009) 323.
 * Each K x has a vector z, which g is asked of, and a scaled multiplier u: x by steps of CG from where it is, on
 * (A^H A + l2 + rho sum of K^H K) x = A^H b + rho sum of K^H (z - u), then z = map(K x + u, 1 / rho), u += K x - z.
 * What a term keeps is u, and z - u in `mapped`.  Between iterations the residual of these equations is CG's first.
 *
 * Without a term and l2 nothing makes the equations of full rank: behind the solution the residual is rounding, and the
 * next directions may be ones that A takes to 0, along which a step has any length.  So CG stays there
 * (stay_at_rounding).
 */
#include "solve_priv.h"

/* Vectors of the domain behind CG's, of the range, and numbers behind CG's. */
enum { ASIDE = HCY__CG_VECTORS, VECTORS };
enum { MISFIT, ADDED };
enum { LEFT = HCY__CG_NUMBERS, DATA, NUMBERS };

/* z = (A^H A + l2 + rho sum of K^H K) p. */
static int multiply_split(hcy_solver *s, hcy_array *z, hcy_array *p)
{
    double own = s->opts.l2;
    int status = hcy__solver_apply(s, s->opts.is_gram ? z : s->r[MISFIT], p);
    if (!status && !s->opts.is_gram)
        status = hcy__solver_adjoint(s, z, s->r[MISFIT]);
    for (int i = 0; !status && i < s->n_terms; i++) {
        const struct hcy__term *term = &s->terms[i];
        /* K^H K of the others is 1. */
        if (!term->p->desc.analysis || term->p->desc.is_orthogonal) {
            own += s->opts.rho;
            continue;
        }
        status = hcy__proximal_analyse(s->queue, term->point, term->p, p);
        if (!status)
            status = hcy__proximal_add_back(s->queue, z, term->p, s->opts.rho, term->point, s->d[ASIDE]);
    }
    if (!status && own > 0)
        status = SOLVER_EVAL(s, "z += own*p", OPERAND(z), OPERAND(p), hcy_op_real("own", own));
    return status;
}

/* MISFIT = b - A x, and of split Bregman that with what was added back, to which it is added where `adds`. */
static int make_misfit(hcy_solver *s, bool adds)
{
    hcy_array *m = s->r[MISFIT], *more = s->r[ADDED], *left = s->n[LEFT];
    int status = hcy__solver_misfit(s, m, s->b);
    if (status || !more)
        return status;
    status = hcy__solver_dot(s, left, true, m, m);
    if (!status)
        status = hcy__solver_note(s, left);
    if (!status && adds)
        status = SOLVER_EVAL(s, "more += m", OPERAND(more), OPERAND(m));
    return status ? status : SOLVER_EVAL(s, "m += more", OPERAND(m), OPERAND(more));
}

/* The residual of the equations for x, with which CG begins. */
static int make_residual(hcy_solver *s, bool adds)
{
    hcy_array *r = s->d[HCY__CG_RESIDUAL], *m = s->r[MISFIT], *x = s->x;
    int status = make_misfit(s, adds);
    if (!status)
        status = s->opts.is_gram ? hcy_array_copy(s->queue, r, m) : hcy__solver_adjoint(s, r, m);
    if (!status && s->opts.l2 > 0)
        status = SOLVER_EVAL(s, "r -= l2*x", OPERAND(r), OPERAND(x), hcy_op_real("l2", s->opts.l2));
    for (int i = 0; !status && i < s->n_terms; i++) {
        struct hcy__term *term = &s->terms[i];
        hcy_array *v = term->point, *z = term->mapped;
        status = hcy__proximal_analyse(s->queue, v, term->p, x);
        if (!status)
            status = SOLVER_EVAL(s, "v = z - v", OPERAND(v), OPERAND(z));
        if (!status)
            status = hcy__proximal_add_back(s->queue, r, term->p, s->opts.rho, v, s->d[ASIDE]);
    }
    if (!status)
        status = hcy__cg_begin(s);
    /* Of split Bregman what is left of the data was noted. */
    return status || s->r[ADDED] ? status : hcy__solver_note(s, s->n[HCY__CG_SQUARE]);
}

static bool may_lack_rank(const hcy_solver *s)
{
    return !s->n_terms && !(s->opts.l2 > 0);
}

static int start_admm(hcy_solver *s, hcy_array *b)
{
    int status = s->r[ADDED] ? hcy__vector_zero(s->queue, s->r[ADDED]) : 0;
    if (!status)
        status = SOLVER_EVAL(s, "stuck = 0; largest = 0", hcy_op_array("stuck", s->stuck),
                             hcy_op_array("largest", s->n[HCY__CG_LARGEST]));
    if (!status && may_lack_rank(s))
        status = hcy__solver_dot(s, s->n[DATA], !s->opts.is_gram, b, b);
    for (int i = 0; !status && i < s->n_terms; i++)
        status = hcy__proximal_analyse(s->queue, s->terms[i].mapped, s->terms[i].p, s->x);
    return status ? status : make_residual(s, false);
}

static int split(hcy_solver *s, struct hcy__term *term)
{
    hcy_array *v = term->point, *z = term->mapped, *u = term->dual;
    int status = hcy__proximal_analyse(s->queue, v, term->p, s->x);
    if (!status)
        status = SOLVER_EVAL(s, "v += u", OPERAND(v), OPERAND(u));
    if (!status)
        status = term->p->desc.map(s->queue, z, term->p->desc.user, v, 1 / s->opts.rho);
    return status ? status : SOLVER_EVAL(s, "u = v - z; z -= u", OPERAND(u), OPERAND(v), OPERAND(z));
}

/* A residual that is within the rounding of A^H b (of a Gram operator of b, which is that) leads nowhere: its square is
 * 0, with which x stays. */
static int begin_where_it_leads(hcy_solver *s)
{
    hcy_array *rr = s->n[HCY__CG_SQUARE], *next = s->n[HCY__CG_NEXT_SQUARE], *least = s->n[HCY__CG_FLOOR],
              *beta = s->n[HCY__CG_BETA], *length = s->n[HCY__CG_LENGTH], *largest = s->n[HCY__CG_LARGEST],
              *data = s->n[DATA];
    return SOLVER_EVAL(s,
                       "least = maximum(least, near * where(gram > 0, 1, largest) * data);"
                       "next = rr; beta = 0; length = 0; rr = where(rr > least, rr, 0)",
                       OPERAND(rr), OPERAND(next), OPERAND(least), OPERAND(beta), OPERAND(length), OPERAND(largest),
                       OPERAND(data), hcy_op_real("near", hcy__rounding_square(s)),
                       hcy_op_real("gram", s->opts.is_gram));
}

/* So does a direction whose product is within the rounding of the largest that one has shown (cg.c: drop_rounding). */
static int stay_at_rounding(hcy_solver *s)
{
    hcy_array *rr = s->n[HCY__CG_SQUARE], *next = s->n[HCY__CG_NEXT_SQUARE], *pz = s->n[HCY__CG_CURVATURE],
              *beta = s->n[HCY__CG_BETA], *length = s->n[HCY__CG_LENGTH], *largest = s->n[HCY__CG_LARGEST];
    return SOLVER_EVAL(s,
                       "length = next + beta * beta * length;"
                       "rr = where(largest > 0 && abs(pz) <= tiny * largest * length, 0, rr);"
                       "pz = where(rr > 0, pz, 1);"
                       "largest = where(rr > 0 && length > 0, maximum(largest, pz / length), largest)",
                       OPERAND(length), OPERAND(next), OPERAND(beta), OPERAND(rr), OPERAND(largest), OPERAND(pz),
                       hcy_op_real("tiny", hcy__rounding(s)));
}

static int step_admm(hcy_solver *s)
{
    const bool keeps = may_lack_rank(s);
    int status = keeps ? begin_where_it_leads(s) : 0;
    for (int i = 0; !status && i < (s->opts.inner ? s->opts.inner : 5); i++)
        status = hcy__cg_step(s, multiply_split, keeps ? stay_at_rounding : NULL);
    for (int i = 0; !status && i < s->n_terms; i++)
        status = split(s, &s->terms[i]);
    return status ? status : make_residual(s, s->iterations % s->opts.add_back == 0);
}

/* The products p (A^H A + ...) p of what is not 0 are above 0 but where they leave the numbers' range. */
#define OUT_OF_RANGE                                                                                          \
    "the steps of CG are stuck: A^H A of their direction leaves the range of the vectors' type; a multiple of " \
    "the operator and the data, or double, does not"

const struct hcy__method hcy__method_admm = { .name = "admm",
                                              .n_domain = VECTORS,
                                              .n_range = 1,
                                              .n_numbers = NUMBERS,
                                              .n_terms = HCY_SOLVER_MAX_PROXIMALS,
                                              .has_penalty = true,
                                              .is_damped = true,
                                              .needs_adjoint = true,
                                              .stuck = OUT_OF_RANGE,
                                              .start = start_admm,
                                              .step = step_admm };
const struct hcy__method hcy__method_split_bregman = { .name = "split_bregman",
                                                       .n_domain = VECTORS,
                                                       .n_range = 2,
                                                       .n_numbers = NUMBERS,
                                                       .n_terms = HCY_SOLVER_MAX_PROXIMALS,
                                                       .has_penalty = true,
                                                       .is_damped = true,
                                                       .needs_adjoint = true,
                                                       .stuck = OUT_OF_RANGE,
                                                       .start = start_admm,
                                                       .step = step_admm };
