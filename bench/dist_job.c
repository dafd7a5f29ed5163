/* dist_job.c - jobs over ranks that are timed: dist_job.h. */
#include "dist_job.h"

#include <math.h>

_Thread_local struct job_ranks ranks;

struct work {
    const char *devices;
    void (*time_all)(const int64_t *sizes);
    const int64_t *sizes;
};

static int run_rank(hcy_dist *comm, void *user)
{
    const struct work *w = user;
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    ranks.all = comm;
    CHECK(hcy_dist_get_info(&info, ranks.all));
    ranks.rank = info.rank;
    ranks.n_ranks = info.n_ranks;
    CHECK(hcy_dist_split(&ranks.alone, ranks.all, ranks.rank));
    CHECK(hcy_dist_device(&ranks.dev, ranks.all, w->devices));
    CHECK(hcy_queue_create(&ranks.queue, ranks.dev));
    w->time_all(w->sizes);
    hcy_queue_release(ranks.queue);
    hcy_device_release(ranks.dev);
    hcy_dist_release(ranks.alone);
    return 0;
}

void run_ranks(const char *devices, void (*time_all)(const int64_t *sizes), const int64_t *sizes)
{
    CHECK(hcy_dist_run(run_rank, &(struct work){ devices, time_all, sizes }, NULL));
}

/* --- Jobs --- */

static void run_once(const struct job *j)
{
    if (j->solver) {
        CHECK(hcy_solver_start(j->solver, j->y, NULL));
        CHECK(hcy_solver_run(j->solver, j->iterations));
    } else if (j->op && j->adjoint)
        CHECK(hcy_operator_apply_adjoint(ranks.queue, j->x, j->op, j->y));
    else if (j->op)
        CHECK(hcy_operator_apply(ranks.queue, j->y, j->op, j->x));
    else if (j->layout)
        CHECK(hcy_dist_dot(ranks.queue, j->y, j->layout, j->x, j->z));
    else if (j->times > 0)
        CHECK(hcy_dist_sendrecv(ranks.queue, j->y, ranks.all, j->partner, j->x, j->partner));
    else
        CHECK(hcy_array_copy(ranks.queue, j->y, j->x));
}

static double time_round(const struct job *j)
{
    const int times = j->times > 0 ? j->times : 1;
    CHECK(hcy_dist_barrier(ranks.all));
    const double begin = timer_now();
    for (int i = 0; i < times; i++)
        run_once(j);
    CHECK(hcy_queue_finish(ranks.queue));
    double took = timer_now() - begin;
    CHECK(hcy_dist_allreduce_host(&took, ranks.all, HCY_FLOAT64, 1, HCY_REDUCE_MAX));
    return took / times / (j->solver ? j->iterations : 1);
}

void time_in_turns(double *best, const struct job *jobs, int n, int rounds)
{
    for (int i = 0; i < n; i++)
        best[i] = INFINITY;
    /* The first one compiles. */
    for (int round = -1; round < rounds; round++)
        for (int i = 0; i < n; i++) {
            const double took = time_round(&jobs[i]);
            best[i] = round >= 0 ? fmin(best[i], took) : best[i];
        }
}

double time_job(const struct job *j)
{
    double best;
    time_in_turns(&best, j, 1, JOB_ROUNDS);
    return best;
}

void end_job(struct job *j)
{
    hcy_solver_destroy(j->solver);
    hcy_operator_release(j->op);
    hcy_nufft_destroy(j->plan);
    hcy_array_release(j->x);
    hcy_array_release(j->y);
    hcy_array_release(j->z);
    hcy_dist_layout_release(j->layout);
}

void fill_part(hcy_array **part, hcy_dist_layout *layout, int dtype)
{
    CHECK(hcy_dist_array(part, ranks.dev, layout, dtype));
    CHECK(HCY_EVAL(ranks.queue, "a = index % 1000", hcy_op_array("a", *part)));
}

void make_cube(struct job *j, hcy_dist *comm, int64_t n, int dtype)
{
    CHECK(hcy_dist_layout_blocks(&j->layout, comm, 3, (int64_t[]){ n, n, n }, 0, NULL));
    fill_part(&j->x, j->layout, dtype);
    fill_part(&j->y, j->layout, dtype);
}

void make_dot(struct job *j, hcy_dist *comm, int64_t n)
{
    CHECK(hcy_dist_layout_blocks(&j->layout, comm, 1, &n, 0, NULL));
    fill_part(&j->x, j->layout, HCY_FLOAT32);
    fill_part(&j->z, j->layout, HCY_FLOAT32);
    CHECK(hcy_array_empty(&j->y, ranks.dev, HCY_FLOAT64, 0, NULL));
}

void make_solver(struct job *j, hcy_operator *op, int method, int iterations)
{
    hcy_solver_options how = HCY_SOLVER_OPTIONS_INIT;
    how.method = method;
    how.max_iterations = j->iterations = iterations;
    CHECK(hcy_solver_create(&j->solver, ranks.queue, op, &how));
}

/* --- SENSE --- */

static void make_plan(hcy_nufft **plan, int64_t n, int n_points)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    void *places[3];
    desc.type = 2;
    desc.precision = HCY_F32;
    desc.dim = 3;
    desc.sign = -1;
    desc.eps = 1e-4;
    for (int d = 0; d < 3; d++) {
        desc.modes[d] = n;
        float *x = places[d] = bench_need(malloc((size_t)n_points * sizeof *x));
        /* Weyl sequences: spread evenly, and along no lines. */
        for (int i = 0; i < n_points; i++)
            x[i] = (float)(6.28318 * (fmod(i * pow(0.8191725, d + 1), 1) - 0.5));
    }
    CHECK(hcy_nufft_create(plan, ranks.dev, &desc, NULL));
    CHECK(hcy_nufft_set_points(*plan, (size_t)n_points, (const void *const *)places, 0, NULL));
    for (int d = 0; d < 3; d++)
        free(places[d]);
}

void make_sense(struct job *j, hcy_dist *comm, int64_t n, int64_t coils, int n_points)
{
    hcy_dist_layout *dealt = NULL;
    hcy_dist_layout_info part = HCY_DIST_LAYOUT_INFO_INIT;
    hcy_array *maps = NULL;
    hcy_operator *sense = NULL, *back = NULL;
    CHECK(hcy_dist_layout_blocks(&dealt, comm, 1, &coils, 0, NULL));
    CHECK(hcy_dist_layout_get_info(&part, dealt));
    make_plan(&j->plan, n, n_points);
    CHECK(hcy_array_empty(&maps, ranks.dev, HCY_COMPLEX64, 4, (int64_t[]){ part.local_shape[0], n, n, n }));
    CHECK(HCY_EVAL(ranks.queue, "m = complex(normal(1, index), normal(2, index))", hcy_op_array("m", maps)));
    CHECK(hcy_dist_sense(&sense, NULL, comm, j->plan, maps, NULL, 0));
    CHECK(hcy_operator_adjoint(&back, sense));
    CHECK(hcy_operator_compose(&j->op, (hcy_operator *[]){ back, sense }, 2));
    CHECK(hcy_array_full(&j->y, ranks.queue, HCY_COMPLEX64, 3, (int64_t[]){ n, n, n }, 1));
    make_solver(j, j->op, HCY_SOLVER_CG, 4);
    hcy_operator_release(back);
    hcy_operator_release(sense);
    hcy_array_release(maps);
    hcy_dist_layout_release(dealt);
}

