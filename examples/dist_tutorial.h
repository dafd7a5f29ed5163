/* dist_tutorial.h - what dist_sense, dist_poststack, dist_migration and dist_deconvolution have in common: they join
 * the processes, open a device on each, solve, and end well where the result is right on every one.
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

/* `solve` gives the result's error, of which each process is to have less than `bound`.  The exit status. */
static inline int run_tutorial(const char *name, int (*solve)(double *error, struct ranks *ranks), double bound,
                               const char *devices)
{
    struct ranks r = { NULL, HCY_DIST_INFO_INIT, NULL, NULL };
    double error = 0;
    int32_t wrong = 0;
    int status = hcy_dist_open(&r.comm, NULL);
    if (!status)
        status = hcy_dist_device(&r.dev, r.comm, devices);
    if (!status)
        status = hcy_dist_get_info(&r.info, r.comm);
    if (!status)
        status = hcy_queue_create(&r.queue, r.dev);
    if (!status)
        status = solve(&error, &r);
    wrong = !(error < bound);
    /* What one process finds wrong all have to say. */
    if (!status)
        status = hcy_dist_allreduce_host(&wrong, r.comm, HCY_INT32, 1, HCY_REDUCE_SUM);
    if (status) {
        fprintf(stderr, "%s: %s %s\n", name, hcy_last_error()->text, hcy_last_error()->vendor);
        hcy_dist_abort(r.comm, 1);
        return 1;
    }
    printf("rank %d of %d, %s, %s%s%s: error %.3g, %d wrong\n", r.info.rank, r.info.n_ranks,
           hcy_device_get_info(r.dev)->name, r.info.transport, *r.info.device_transport ? "+" : "",
           r.info.device_transport, error, (int)wrong);
    hcy_queue_release(r.queue);
    hcy_device_release(r.dev);
    hcy_dist_release(r.comm);
    return wrong != 0;
}

#endif
