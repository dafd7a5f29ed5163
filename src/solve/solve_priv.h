/* solve_priv.h - a solver, as its methods see it.
 *
 * A method is a row of a table: how many vectors and numbers it has, how it starts and how it steps.  Methods know no
 * device and no type: what they write is an expression over vectors and numbers.
 */
#ifndef HCY_SOLVE_PRIV_H
#define HCY_SOLVE_PRIV_H

#include "proximal_priv.h"

#include <halcyon/eval.h>
#include <halcyon/solve.h>

enum { HCY__SOLVER_VECTORS = 7, HCY__SOLVER_NUMBERS = 16 };

struct hcy__method {
    const char *name;
    int n_domain, n_range, n_numbers; /* vectors beside x, of either space, and numbers, each one element */
    int n_twice;                      /* more of the domain where the operator goes twice over what it is in one go */
    bool is_square;
    int n_terms; /* regularisers that it takes at most, l1 among them */
    bool maps_whole; /* it takes the map of g(K x); else K and g's */
    bool has_step, has_penalty;
    bool is_damped; /* l2 is the method's; else the operator is given rows for it */
    bool needs_adjoint, complex_numbers;
    const char *stuck; /* what is said where `stuck` of the solver is not 0; NULL: it has none */
    int (*start)(hcy_solver *solver, hcy_array *b);
    int (*step)(hcy_solver *solver);
};

/* A regulariser of a solver. */
struct hcy__term {
    hcy_proximal *p;
    double norm, sigma;                /* |K|, the dual's step */
    struct hcy__prox_map whole;        /* where the map of g(K x) is taken */
    hcy_array *dual, *point, *mapped;  /* else: vectors of K's range */
    hcy_array *sum;                    /* a dot product of these */
};

struct hcy_solver {
    const struct hcy__method *method;
    hcy_solver_options opts;
    hcy_queue *queue;
    hcy_operator *op, *given; /* what is solved; what was given, of which the former may be made */
    hcy_array *x, *b;
    hcy_array *d[HCY__SOLVER_VECTORS], *r[HCY__SOLVER_VECTORS]; /* of the domain, of the range */
    hcy_array *n[HCY__SOLVER_NUMBERS];                          /* float64, or complex128 */
    hcy_array *sums[2];                                         /* of a dot product in domain and range */
    hcy_array *norms;                                           /* one an iteration */
    struct hcy__term terms[HCY_SOLVER_MAX_PROXIMALS];
    int n_terms;
    hcy_array *padded;                                          /* b with the zeros of l2's rows, or NULL */
    hcy_array *stuck;                                           /* float64: whether the last step led nowhere */
    bool started;
    int64_t iterations;
    double first, last; /* residuals, where a run has looked */
    bool looked;        /* the last run did, at its end */
    bool in_callback;   /* a look's callback is at work, which the run around it goes on behind */
    int reason;
    const char *message;
};

extern const struct hcy__method hcy__method_cg, hcy__method_cg_normal, hcy__method_cgls, hcy__method_lsqr,
    hcy__method_lsmr, hcy__method_bicgstab, hcy__method_ista, hcy__method_fista, hcy__method_primal_dual,
    hcy__method_admm, hcy__method_split_bregman;

/* What hcy_eval() does; '@' in the text is the name of the vectors' real type, '#' that of their own type, so that
 * numbers do not make doubles of vectors of floats. */
int hcy__solver_eval(hcy_solver *solver, const char *text, const hcy_operand *operands, size_t n);
#define SOLVER_EVAL(solver, text, ...)                                                                       \
    hcy__solver_eval((solver), (text), (const hcy_operand[]){ __VA_ARGS__ },                                 \
                     sizeof((const hcy_operand[]){ __VA_ARGS__ }) / sizeof(hcy_operand))
#define OPERAND(name) hcy_op_array(#name, name)

/* number = Re<x, y>, of vectors of the domain, or of the range. */
int hcy__solver_dot(hcy_solver *solver, hcy_array *number, bool of_range, hcy_array *x, hcy_array *y);
/* The text, whose last statement writes the vector v, the first operand, and number = Re<v, v> of that: where a sum
 * goes over a process's own numbers, without reading v again. */
int hcy__solver_eval_square(hcy_solver *solver, hcy_array *number, bool of_range, const char *text,
                            const hcy_operand *operands, size_t n);
#define SOLVER_EVAL_SQUARE(solver, number, of_range, text, ...)                                              \
    hcy__solver_eval_square((solver), (number), (of_range), (text), (const hcy_operand[]){ __VA_ARGS__ },    \
                            sizeof((const hcy_operand[]){ __VA_ARGS__ }) / sizeof(hcy_operand))
/* The residual of this iteration is the square root of a number. */
int hcy__solver_note(hcy_solver *solver, hcy_array *square);
/* The same where that is `scale` times too large. */
int hcy__solver_note_over(hcy_solver *solver, hcy_array *square, hcy_array *scale);
/* What |b|^2 is multiplied by for the square of a residual that is rounding: within 4 times half of the last bit of b.
 * 0 where a tolerance says when to end. */
double hcy__nothing_gained(const hcy_solver *solver);
/* The same whatever the tolerance. */
double hcy__rounding_square(const hcy_solver *solver);
/* Half of the last bit of 1. */
double hcy__rounding(const hcy_solver *solver);
/* r = b - A x. */
int hcy__solver_misfit(hcy_solver *solver, hcy_array *r, hcy_array *b);
/* g = A^H (A y - b), or what that is with is_gram; r of the range is written. */
int hcy__solver_gradient(hcy_solver *solver, hcy_array *g, hcy_array *r, hcy_array *y);

/* --- Regularisers (terms.c) --- */

/* The solver's terms with their memory and norms, as its options and its method have them. */
int hcy__terms_make(hcy_solver *solver);
void hcy__terms_free(hcy_solver *solver);
/* The steps and weights that the options leave open; waits for the operator's norm if it has to be found. */
int hcy__terms_find_steps(hcy_solver *solver);
/* All duals begin at 0. */
int hcy__terms_reset(hcy_solver *solver);

/* --- Conjugate gradients (cg.c), which ADMM has inside --- */

/* Vectors of the domain: the residual of the equations, the direction, and the operator's product of that. */
enum { HCY__CG_RESIDUAL, HCY__CG_DIRECTION, HCY__CG_PRODUCT, HCY__CG_VECTORS };
/* Numbers. */
enum {
    HCY__CG_SQUARE,
    HCY__CG_NEXT_SQUARE,
    HCY__CG_FLOOR,
    HCY__CG_CURVATURE,
    HCY__CG_ALPHA,
    HCY__CG_BETA,
    HCY__CG_LENGTH,  /* |p|^2 */
    HCY__CG_LARGEST, /* p H p / |p|^2 so far */
    HCY__CG_NUMBERS
};
/* The first direction is the residual, whose square is made. */
int hcy__cg_begin(hcy_solver *solver);
/* One step to the solution of H x = ..., where `multiply` makes z = H p; HCY__CG_NEXT_SQUARE is the residual's
 * square.  `check` (may be NULL) looks at HCY__CG_CURVATURE, p H p, before the step is taken. */
int hcy__cg_step(hcy_solver *solver, int (*multiply)(hcy_solver *solver, hcy_array *z, hcy_array *p),
                 int (*check)(hcy_solver *solver));

static inline int hcy__solver_apply(hcy_solver *s, hcy_array *y, hcy_array *x)
{
    return hcy__operator_run(s->queue, y, s->op, x, false);
}
static inline int hcy__solver_adjoint(hcy_solver *s, hcy_array *x, hcy_array *y)
{
    return hcy__operator_run(s->queue, x, s->op, y, true);
}

#endif
