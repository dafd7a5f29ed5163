/* dist_tutorial.h - what dist_sense, dist_poststack, dist_migration and dist_deconvolution have in common: they join
 * the ranks, open a device on each, solve, and end well where the result is right on every one.  Ranks are processes
 * (mpirun -n 4), or threads of one (HALCYON_DIST=threads@ranks=4).
 */
#ifndef DIST_TUTORIAL_H
#define DIST_TUTORIAL_H

#include <halcyon/dist.h>
#include <halcyon/solve.h>
#include <stdio.h>

struct ranks {
    hcy_dist *comm;
    hcy_dist_info info;
    hcy_device *dev;
    hcy_queue *queue;
};

/* x, which the solver keeps until it is destroyed, of op x = b by a method, after so many iterations from x0, or 0. */
static inline int solve_for(hcy_array **x, hcy_solver **solver, const struct ranks *ranks, hcy_operator *op,
                            int method, int64_t iterations, hcy_array *b, hcy_array *x0)
{
    hcy_solver_options how = HCY_SOLVER_OPTIONS_INIT;
    how.method = method;
    how.max_iterations = iterations;
    int status = hcy_solver_create(solver, ranks->queue, op, &how);
    if (!status)
        status = hcy_solver_start(*solver, b, x0);
    if (!status)
        status = hcy_solver_run(*solver, iterations);
    return status ? status : hcy_solver_get_x(x, *solver);
}

/* The sum of |a - b|^2 over this process's elements. */
static inline int sum_squares(double *sum, const struct ranks *ranks, hcy_array *a, hcy_array *b)
{
    hcy_array *number = NULL;
    int status = hcy_array_empty(&number, ranks->dev, HCY_FLOAT64, 0, NULL);
    if (!status)
        status = HCY_EVAL(ranks->queue, "n = sum(abs(a - b) * abs(a - b))", hcy_op_array("n", number),
                          hcy_op_array("a", a), hcy_op_array("b", b));
    if (!status)
        status = hcy_array_to_host(sum, ranks->queue, number);
    hcy_array_release(number);
    return status;
}

struct tutorial {
    const char *name;
    int (*solve)(double *error, struct ranks *ranks);
    double bound; /* that the error of each rank's result is below */
    const char *devices;
};

static inline int run_on_rank(hcy_dist *comm, void *user)
{
    const struct tutorial *t = user;
    struct ranks r = { comm, HCY_DIST_INFO_INIT, NULL, NULL };
    double error = 0;
    int32_t wrong = 0;
    int status = hcy_dist_device(&r.dev, comm, t->devices);
    if (!status)
        status = hcy_dist_get_info(&r.info, comm);
    if (!status)
        status = hcy_queue_create(&r.queue, r.dev);
    if (!status)
        status = t->solve(&error, &r);
    wrong = !(error < t->bound);
    /* What one rank finds wrong all have to say. */
    if (!status)
        status = hcy_dist_allreduce_host(&wrong, comm, HCY_INT32, 1, HCY_REDUCE_SUM);
    if (status) {
        fprintf(stderr, "%s: %s %s\n", t->name, hcy_last_error()->text, hcy_last_error()->vendor);
        hcy_dist_abort(comm, 1);
    } else
        printf("rank %d of %d, %s, %s%s%s: error %.3g, %d wrong\n", r.info.rank, r.info.n_ranks,
               hcy_device_get_info(r.dev)->name, r.info.transport, *r.info.device_transport ? "+" : "",
               r.info.device_transport, error, (int)wrong);
    hcy_queue_release(r.queue);
    hcy_device_release(r.dev);
    return status ? status : wrong != 0;
}

/* The exit status. */
static inline int run_tutorial(const char *name, int (*solve)(double *error, struct ranks *ranks), double bound,
                               const char *devices)
{
    struct tutorial t = { name, solve, bound, devices };
    const int status = hcy_dist_run(run_on_rank, &t, NULL);
    if (status < 0)
        fprintf(stderr, "%s: %s %s\n", name, hcy_last_error()->text, hcy_last_error()->vendor);
    return status != 0;
}

#endif
