/* halcyon/solve.h - solvers of linear equations and inverse problems, for any operator of <halcyon/operator.h>.
 *
 * A solver is made for an operator A and a method, with all its vectors; it is started with data b, and takes step
 * after step.  A step is submitted to the solver's queue and does not wait: the numbers that it computes with (alpha,
 * beta, norms) stay on the device.  For example:
 *
 *     static int solve(hcy_queue *queue, hcy_array **x, hcy_operator *a, hcy_array *b)
 *     {
 *         hcy_solver *solver = NULL;
 *         hcy_solver_options how = HCY_SOLVER_OPTIONS_INIT; // CGLS
 *         how.l2 = 1e-3;
 *         how.tolerance = 1e-6;
 *         how.max_iterations = 50;
 *         int status = hcy_solver_create(&solver, queue, a, &how);
 *         if (!status)
 *             status = hcy_solver_start(solver, b, NULL);
 *         if (!status)
 *             status = hcy_solver_run(solver, how.max_iterations);
 *         if (!status)
 *             status = hcy_solver_get_x(x, solver);
 *         hcy_solver_destroy(solver);
 *         return status;
 *     }
 *
 * Terms l1 |x|_1 and regularisers g(K x) of <halcyon/proximal.h> are what the methods from ISTA on are for.
 *
 * Sums are <halcyon/eval.h>'s: where the operator has the same bits on every device and for any number of threads, so
 * has the result (but for CGLS, below).  The numbers are float64, whatever the vectors are.
 *
 * A solver is one thread's at a time.
 */
#ifndef HALCYON_SOLVE_H
#define HALCYON_SOLVE_H

#include <halcyon/proximal.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hcy_solver hcy_solver;

/* What is solved, and what its residual is. */
enum hcy_solver_method {
    /* (A + l2) x = b, A self-adjoint and positive (a Gram operator): |b - (A + l2) x|; a direction that A + l2 is not
     * positive along is a breakdown */
    HCY_SOLVER_CG = 1,
    /* least squares, |A x - b|^2 + l2 |x|^2, by its normal equations: |A^H (b - A x) - l2 x|.  Of floats and an A that
     * has not full rank, without l2 and a tolerance, x may be lost behind the solution: CGLS stays there. */
    HCY_SOLVER_CG_NORMAL,
    /* The same, with less loss by rounding, as A^H A is never formed.  A real matrix that a CPU has, with
     * rows of up to 32 KiB without gaps, is read once a step for A p, A^H of the misfit, and A^H A p: its next gradient
     * is the second less a multiple of the third, which is as exact as A^H of the next misfit, and has other bits. */
    HCY_SOLVER_CGLS,
    HCY_SOLVER_LSQR,      /* the same by bidiagonalisation, for ill-conditioned A (Paige and Saunders) */
    HCY_SOLVER_LSMR,      /* the same, whose residual never grows (Fong and Saunders) */
    HCY_SOLVER_BICGSTAB,  /* A x = b, A square, without its adjoint: |b - A x| */
    /* |A x - b|^2 / 2 + l2 |x|^2 / 2 + l1 |x|_1, or g(K x) in place of l1: |x - its next| / step */
    HCY_SOLVER_ISTA,
    HCY_SOLVER_FISTA,     /* the same with momentum (Beck and Teboulle) */
    /* The same with several regularisers, which are added up. */
    HCY_SOLVER_PRIMAL_DUAL, /* Chambolle and Pock, Condat and Vu: how far a step goes in x, over its length, and in the
                               dual vectors, each change over sqrt(step sigma) */
    HCY_SOLVER_ADMM,        /* by steps of CG: the residual of the equations for x */
    /* The least l2 |x|^2 / 2 + l1 |x|_1 + g(K x) + ... of all x with A x = b, from smooth ones on: what is stopped
     * where |b - A x|, its residual, is the data's noise (Goldstein and Osher). */
    HCY_SOLVER_SPLIT_BREGMAN
};
/* Regularisers of a solver, l1 among them. */
#define HCY_SOLVER_MAX_PROXIMALS 4

/* Why a run ended. */
enum hcy_solver_reason {
    HCY_SOLVER_ITERATIONS = 1, /* those that were asked for are done */
    HCY_SOLVER_TOLERANCE,
    HCY_SOLVER_CALLBACK, /* said so */
    HCY_SOLVER_BREAKDOWN,     /* the residual is no number, or the method can go no further: `message` says which */
    HCY_SOLVER_MAX_ITERATIONS /* fewer than were asked for: the solver was made for no more */
};

typedef struct hcy_solver_options {
    size_t size; /* sizeof(hcy_solver_options) */
    int method;
    int64_t max_iterations; /* in all, above 0: that many norms are kept */
    /* A run ends when the residual is at most this times the first one.  0: no residual ends it, and x of CG and
     * BICGSTAB stays once the residual is within the rounding of b (2^-22 |b| of floats, 2^-51 |b| of doubles). */
    double tolerance;
    int check_every;        /* iterations from a look to the next, above 0: a look waits for the device */
    double l2, l1;          /* not below 0; l1: ISTA and those behind it */
    /* ISTA, FISTA: at most 1 / (|A|^2 + l2); PRIMAL_DUAL: at most 1 / (|A|^2 + l2 + the sum of sigma |K|^2).  0: that
     * is found by hcy_operator_norm(), which waits. */
    double step;
    int restart;            /* FISTA: the momentum goes where it leads uphill (O'Donoghue and Candes) */
    /* Called by hcy_solver_run() after every look; another return value than 0 ends the run.  It may read what there is
     * of the solver, which it must not destroy: start, step and run are HCY_ESTATE in it.  NULL: none. */
    int (*callback)(void *user, hcy_solver *solver, int64_t iteration, double residual);
    void *user;
    /* Regularisers, of the domain's vectors, which are retained: one for ISTA and FISTA, and with l1 none; at most
     * HCY_SOLVER_MAX_PROXIMALS with l1 for those behind them. */
    hcy_proximal *const *proximals;
    size_t n_proximals;
    /* ISTA and those behind it: A is A^H A of the problem (a Toeplitz operator, say), and b is A^H b.  |A|^2 above is
     * |A| then, and SPLIT_BREGMAN's residual that of b as it is given. */
    int is_gram;
    /* ISTA, FISTA: iterations of a regulariser's dual (hcy_proximal_apply()) in a step, which go on where the step
     * before ended.  ADMM, SPLIT_BREGMAN: steps of CG.  0: 10 and 5. */
    int inner;
    /* PRIMAL_DUAL: the dual's step; 0: each K's own, (|A|^2 + l2) / (|K|^2 * how many are dual), or with a step that is
     * given what this leaves, 1 / step - |A|^2 - l2 in place of |A|^2 + l2. */
    double sigma;
    /* ADMM, SPLIT_BREGMAN: the weight of |K x - z|^2 / 2; 0: a quarter of the mean eigenvalue of A^H A + l2, which a
     * random vector shows, over the sum of |K|^2. */
    double rho;
    int add_back; /* SPLIT_BREGMAN: iterations from one adding of what is left of the data to the next, above 0 */
} hcy_solver_options;
#define HCY_SOLVER_OPTIONS_INIT \
    { sizeof(hcy_solver_options), HCY_SOLVER_CGLS, 100, 0, 10, 0, 0, 0, 1, NULL, NULL, NULL, 0, 0, 0, 0, 0, 5 }

/* Makes all vectors; the queue and the operator are retained, opts is copied.  HCY_EINVAL: what opts say, a method that
 * wants another operator (CG, BiCGSTAB: domain and range are one; LSQR, LSMR with l2: they have one type), a step that
 * leaves none in the duals; HCY_ERANGE: more iterations than can be counted; HCY_EUNSUPPORTED: the method wants an
 * adjoint; HCY_ENOMEM. */
HCY_API int hcy_solver_create(hcy_solver **solver, hcy_queue *queue, hcy_operator *op,
                              const hcy_solver_options *opts) HCY_MUST_USE;
HCY_API void hcy_solver_destroy(hcy_solver *solver); /* NULL is fine */

/* Begins with the data b, of the operator's range, and at x0, or at 0 (NULL).  Both are read in the queue's order; b is
 * retained, and methods from ISTA on read it in every step.  May be called again, for other data or from where a result
 * has led to: x0, not b, may be the solver's own x.  HCY_EINVAL: another shape, type or device, b that shares memory
 * with the solver's x; what was started before goes on.  HCY_ESTATE: in the solver's own callback. */
HCY_API int hcy_solver_start(hcy_solver *solver, hcy_array *b, hcy_array *x0) HCY_MUST_USE;
/* One iteration; does not wait.  HCY_ESTATE: not started; HCY_ERANGE: beyond max_iterations. */
HCY_API int hcy_solver_step(hcy_solver *solver) HCY_MUST_USE;
/* So many iterations more, or fewer if tolerance, callback, a breakdown or max_iterations end it, which is no failure:
 * hcy_solver_get_info() has the reason.  Goes on where the last run or step ended.  With neither tolerance nor callback
 * it does not wait.  HCY_ESTATE: not started, or a step has failed since. */
HCY_API int hcy_solver_run(hcy_solver *solver, int64_t iterations) HCY_MUST_USE;
/* The solver's own x, retained: commands of its queue read what the steps so far made; later steps change it. */
HCY_API int hcy_solver_get_x(hcy_array **x, const hcy_solver *solver) HCY_MUST_USE;
/* The residuals of iterations 0 (the start) to that of now; *n: how many there are, of which `capacity` are written.
 * norms may be NULL with a capacity of 0.  Waits. */
HCY_API int hcy_solver_residuals(double *norms, size_t *n, size_t capacity, hcy_solver *solver) HCY_MUST_USE;

typedef struct hcy_solver_info {
    size_t size;         /* sizeof(hcy_solver_info) */
    const char *method;  /* "cgls"; static */
    int64_t iterations;  /* since the start */
    int reason;          /* HCY_SOLVER_ITERATIONS ... of the last run; 0: none has ended */
    double first, last;  /* residuals of the start and where the last run ended; 0: none has */
    double step;         /* ISTA, FISTA, PRIMAL_DUAL */
    const char *message; /* of HCY_SOLVER_BREAKDOWN: what happened; static.  Else NULL */
    double rho;          /* ADMM, SPLIT_BREGMAN */
} hcy_solver_info;
#define HCY_SOLVER_INFO_INIT { sizeof(hcy_solver_info), NULL, 0, 0, 0, 0, 0, NULL, 0 }
/* *info begins with HCY_SOLVER_INFO_INIT.  Waits for the residual after a run that had no reason to look at it
 * (neither tolerance nor callback), as a solution that is no number shows there. */
HCY_API int hcy_solver_get_info(hcy_solver_info *info, const hcy_solver *solver) HCY_MUST_USE;

/* The largest singular value of an operator, by so many iterations from random numbers of `seed`; never too large but
 * for rounding.  HCY_ERANGE: its square, or a vector's, is beyond double.  Waits. */
HCY_API int hcy_operator_norm(double *norm, hcy_queue *queue, hcy_operator *op, int iterations,
                              uint64_t seed) HCY_MUST_USE;

/* --- Gradients of the data's misfit --- */

/* |A m - d|^2 / 2, where A is a NUFFT of type 2 at points x, m an image (its modes) and d the data: several transforms
 * are added up. */
typedef struct hcy_misfit hcy_misfit;

/* The plan's points are set and stay while the misfit and what was submitted need them; the plan is the caller's and
 * outlives it.  HCY_EUNSUPPORTED: another type, transforms with points of their own; HCY_ENOMEM. */
HCY_API int hcy_misfit_create(hcy_misfit **misfit, hcy_nufft *plan) HCY_MUST_USE;
HCY_API void hcy_misfit_destroy(hcy_misfit *misfit); /* NULL is fine */
/* The value (one float64) and its gradients, in the queue's order and without waiting; NULL: is not wanted.  Those in
 * m and d, A^H (A m - d) and d - A m, have their shapes and are g of the change Re<g, dm>; that in the points is
 * [dimensions][points], real, in the order in which the points were set.  All take one transform, that in m its
 * adjoint, to rounding that of the transform as it is computed.  The gradient in the points comes with the transform
 * and is the derivative of what that computes, whatever eps (tested to 3e-10 against differences).  Plans with the
 * same bits everywhere, points beyond a device's memory and problems so small that they are summed directly take one
 * more transform an axis for it: the gradient of the exact sums, which the plan's eps (relative to the largest mode's
 * number) is the error of.  With 1e-13 in double both agree with direct sums to 1e-10.  Any thread.
 * HCY_EINVAL: arrays of other shapes, types or devices, with gaps, or that share memory; HCY_ESTATE: the plan was given
 * another number of points. */
HCY_API int hcy_misfit_gradient(hcy_queue *queue, hcy_array *value, hcy_array *of_image, hcy_array *of_samples,
                                hcy_array *of_points, hcy_misfit *misfit, hcy_array *image,
                                hcy_array *data) HCY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
