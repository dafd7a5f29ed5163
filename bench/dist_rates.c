/* dist_rates.c - what `halcyon scale-model` is told, and held against: a machine's latency and rates, and its
 * jobs on the ranks that there are.
 *
 *     mpirun -n P bench/dist_rates [DEVICES [N [COUNT [SIDE [COILS]]]]]
 *
 * cpu@threads=1, cubes of 256^3, a reduction of 2*10^7 floats, SENSE of 64^3 with 8 coils and 10^5 points.
 * Rank 0 prints one JSON object.  "local_s" is a job on one rank while every other rank does the same by
 * itself, "measured_s" the job over all ranks; the best of seven, each that of the slowest rank.  "command"
 * is the model of it.  There are to be as many cores as threads: ranks that share one tell nothing.
 */
#include "bench.h"

#include <halcyon/dist.h>
#include <halcyon/eval.h>
#include <halcyon/solve.h>
#include <math.h>

enum { ROUNDS = 7, SMALL_IN_A_ROW = 200, BIG = 16 << 20, POINTS = 100000, ITERATIONS = 4 };

static hcy_dist *all, *alone; /* all ranks; this one by itself */
static hcy_device *dev;
static hcy_queue *queue;
static int rank, n_ranks;
static int64_t coils;

/* --- Jobs --- */

/* What is timed, some times in a row. */
struct job {
    hcy_operator *op;
    hcy_solver *solver; /* its iterations, if there is one */
    hcy_dist_layout *layout;
    hcy_array *x, *y, *z; /* z: what x is multiplied with */
    int partner, times; /* of messages to and fro; below 0: none */
};

static void run_once(const struct job *j)
{
    if (j->solver) {
        CHECK(hcy_solver_start(j->solver, j->y, NULL));
        CHECK(hcy_solver_run(j->solver, ITERATIONS));
    } else if (j->op)
        CHECK(hcy_operator_apply(queue, j->y, j->op, j->x));
    else if (j->layout)
        CHECK(hcy_dist_dot(queue, j->y, j->layout, j->x, j->z));
    else if (j->times > 0)
        CHECK(hcy_dist_sendrecv(queue, j->y, all, j->partner, j->x, j->partner));
    else
        CHECK(hcy_array_copy(queue, j->y, j->x));
}

/* Seconds: all ranks begin together, the slowest counts. */
static double time_job(const struct job *j)
{
    double best = INFINITY;
    for (int round = -1; round < ROUNDS; round++) {
        CHECK(hcy_dist_barrier(all));
        const double begin = timer_now();
        for (int i = 0; i < (j->times > 0 ? j->times : 1); i++)
            run_once(j);
        CHECK(hcy_queue_finish(queue));
        double took = timer_now() - begin;
        CHECK(hcy_dist_allreduce_host(&took, all, HCY_FLOAT64, 1, HCY_REDUCE_MAX));
        /* The first one compiles. */
        if (round >= 0)
            best = fmin(best, took);
    }
    return best / (j->times > 0 ? j->times : 1) / (j->solver ? ITERATIONS : 1);
}

static void end_job(struct job *j)
{
    hcy_solver_destroy(j->solver);
    hcy_operator_release(j->op);
    hcy_array_release(j->x);
    hcy_array_release(j->y);
    hcy_array_release(j->z);
    hcy_dist_layout_release(j->layout);
}

static void fill_part(hcy_array **part, hcy_dist_layout *layout, int dtype)
{
    CHECK(hcy_dist_array(part, dev, layout, dtype));
    CHECK(HCY_EVAL(queue, "a = index % 1000", hcy_op_array("a", *part)));
}

static void make_cube(struct job *j, hcy_dist *comm, int64_t n, int dtype)
{
    CHECK(hcy_dist_layout_blocks(&j->layout, comm, 3, (int64_t[]){ n, n, n }, 0, NULL));
    fill_part(&j->x, j->layout, dtype);
    fill_part(&j->y, j->layout, dtype);
}

static double time_halo(hcy_dist *comm, int64_t n)
{
    struct job j = { 0 };
    make_cube(&j, comm, n, HCY_FLOAT32);
    CHECK(hcy_dist_laplacian(&j.op, dev, j.layout, HCY_FLOAT32, NULL));
    const double seconds = time_job(&j);
    end_job(&j);
    return seconds;
}

static double time_axes(hcy_dist *comm, int64_t n, const int *axes, int n_axes)
{
    struct job j = { 0 };
    make_cube(&j, comm, n, HCY_COMPLEX64);
    CHECK(hcy_dist_fft(&j.op, dev, j.layout, HCY_COMPLEX64, axes, n_axes));
    const double seconds = time_job(&j);
    end_job(&j);
    return seconds;
}

/* Several ranks transform the first axis when it has become the last one, which is another transform than
 * that of a rank that has all: what a rank does by itself is the last two axes, and the last one. */
static double time_transpose(hcy_dist *comm, int64_t n)
{
    const int axes[] = { 0, 1, 2 };
    return comm == alone && n_ranks > 1 ? time_axes(comm, n, axes + 1, 2) + time_axes(comm, n, axes + 2, 1)
                                        : time_axes(comm, n, axes, 3);
}

static double time_reduction(hcy_dist *comm, int64_t n)
{
    struct job j = { 0 };
    CHECK(hcy_dist_layout_blocks(&j.layout, comm, 1, &n, 0, NULL));
    fill_part(&j.x, j.layout, HCY_FLOAT32);
    fill_part(&j.z, j.layout, HCY_FLOAT32);
    CHECK(hcy_array_empty(&j.y, dev, HCY_FLOAT64, 0, NULL));
    const double seconds = time_job(&j);
    end_job(&j);
    return seconds;
}

/* --- SENSE --- */

static void make_plan(hcy_nufft **plan, int64_t n)
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
        float *x = places[d] = bench_need(malloc(POINTS * sizeof *x));
        /* Weyl sequences: spread evenly, and along no lines. */
        for (int i = 0; i < POINTS; i++)
            x[i] = (float)(6.28318 * (fmod(i * pow(0.8191725, d + 1), 1) - 0.5));
    }
    CHECK(hcy_nufft_create(plan, dev, &desc, NULL));
    CHECK(hcy_nufft_set_points(*plan, POINTS, (const void *const *)places, 0, NULL));
    for (int d = 0; d < 3; d++)
        free(places[d]);
}

static double time_sense(hcy_dist *comm, int64_t n)
{
    struct job j = { 0 };
    hcy_dist_layout *dealt = NULL;
    hcy_dist_layout_info part = HCY_DIST_LAYOUT_INFO_INIT;
    hcy_nufft *plan = NULL;
    hcy_array *maps = NULL;
    hcy_operator *sense = NULL, *back = NULL;
    hcy_solver_options how = HCY_SOLVER_OPTIONS_INIT;
    CHECK(hcy_dist_layout_blocks(&dealt, comm, 1, &coils, 0, NULL));
    CHECK(hcy_dist_layout_get_info(&part, dealt));
    make_plan(&plan, n);
    CHECK(hcy_array_empty(&maps, dev, HCY_COMPLEX64, 4, (int64_t[]){ part.local_shape[0], n, n, n }));
    CHECK(HCY_EVAL(queue, "m = complex(normal(1, index), normal(2, index))", hcy_op_array("m", maps)));
    CHECK(hcy_dist_sense(&sense, NULL, comm, plan, maps, NULL, 0));
    CHECK(hcy_operator_adjoint(&back, sense));
    CHECK(hcy_operator_compose(&j.op, (hcy_operator *[]){ back, sense }, 2));
    CHECK(hcy_array_full(&j.y, queue, HCY_COMPLEX64, 3, (int64_t[]){ n, n, n }, 1));
    how.method = HCY_SOLVER_CG;
    how.max_iterations = ITERATIONS;
    CHECK(hcy_solver_create(&j.solver, queue, j.op, &how));
    const double seconds = time_job(&j);
    end_job(&j);
    hcy_operator_release(back);
    hcy_operator_release(sense);
    hcy_array_release(maps);
    hcy_nufft_destroy(plan);
    hcy_dist_layout_release(dealt);
    return seconds;
}

/* --- The machine --- */

/* Seconds of so many bytes to a neighbour while as many come back. */
static double time_messages(int64_t bytes, int times)
{
    struct job j = { .partner = (rank ^ 1) < n_ranks ? rank ^ 1 : -1, .times = times };
    CHECK(hcy_array_full(&j.x, queue, HCY_UINT8, 1, &bytes, 1));
    CHECK(hcy_array_full(&j.y, queue, HCY_UINT8, 1, &bytes, 1));
    const double seconds = time_job(&j);
    end_job(&j);
    return seconds;
}

static double time_copy(int64_t n)
{
    struct job j = { 0 };
    CHECK(hcy_array_full(&j.x, queue, HCY_FLOAT32, 1, &n, 1));
    CHECK(hcy_array_full(&j.y, queue, HCY_FLOAT32, 1, &n, 1));
    const double seconds = time_job(&j);
    end_job(&j);
    return seconds;
}

/* Of a cube, to one whose first axis is its last: what a transposition packs, or unpacks. */
static double time_turn(int64_t n)
{
    struct job j = { 0 };
    hcy_array *cube = NULL;
    CHECK(hcy_array_full(&j.x, queue, HCY_COMPLEX64, 3, (int64_t[]){ n, n, n }, 1));
    CHECK(hcy_array_full(&cube, queue, HCY_COMPLEX64, 3, (int64_t[]){ n, n, n }, 1));
    CHECK(hcy_array_transpose(&j.y, cube, (int[]){ 2, 0, 1 }));
    const double seconds = time_job(&j);
    end_job(&j);
    hcy_array_release(cube);
    return seconds;
}

/* --- What it says --- */

static void tell_job(const char *name, const char *machine, double (*time)(hcy_dist *, int64_t), int64_t n)
{
    const double local = time(alone, n), measured = time(all, n);
    if (rank)
        return;
    printf("%s\n    { \"job\": \"%s\", \"size\": %lld, \"local_s\": %.6g, \"measured_s\": %.6g,\n",
           time == time_halo ? "" : ",", name, (long long)n, local, measured);
    printf("      \"command\": \"halcyon scale-model %s -n %lld --coils %lld%s --local %.6gs --ranks %d\" }",
           name, (long long)n, (long long)coils, machine, local, n_ranks);
    fflush(stdout);
}

static void tell_all(const int64_t *sizes)
{
    char machine[200];
    const int64_t elements = sizes[0] * sizes[0] * sizes[0];
    const double rate = 8 * (double)elements / time_copy(elements),
                 turn = 16 * (double)elements / time_turn(sizes[0]);
    /* One rank has nobody to send to; its model needs some figures, and uses neither. */
    const double alpha = n_ranks > 1 ? time_messages(1, SMALL_IN_A_ROW) : 1,
                 beta = n_ranks > 1 ? BIG / (time_messages(BIG, 1) - alpha) : 1;
    snprintf(machine, sizeof machine, " --alpha %.4gs --beta %.6gB/s --rate %.6gB/s --turn %.6gB/s", alpha,
             beta, rate, turn);
    if (!rank && n_ranks > 1)
        printf("{ \"ranks\": %d, \"alpha_s\": %.4g, \"beta_bytes_per_s\": %.6g,", n_ranks, alpha, beta);
    else if (!rank)
        printf("{ \"ranks\": 1, \"alpha_s\": null, \"beta_bytes_per_s\": null,");
    if (!rank)
        printf(" \"rate_bytes_per_s\": %.6g, \"turn_bytes_per_s\": %.6g, \"jobs\": [", rate, turn);
    tell_job("halo", machine, time_halo, sizes[0]);
    tell_job("reduction", machine, time_reduction, sizes[1]);
    tell_job("transpose", machine, time_transpose, sizes[0]);
    tell_job("sense", machine, time_sense, sizes[2]);
    if (!rank)
        printf("\n] }\n");
}

int main(int argc, char **argv)
{
    int64_t sizes[] = { 256, 20000000, 64, 8 };
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    for (int i = 2; i < argc && i < 6; i++)
        sizes[i - 2] = atoll(argv[i]);
    for (int i = 0; i < 4; i++)
        if (sizes[i] < 1 || (i != 1 && sizes[i] > 4096) || argc > 6) {
            fprintf(stderr, "usage: dist_rates [DEVICES [N [COUNT [SIDE [COILS]]]]]\n");
            return 2;
        }
    coils = sizes[3];
    CHECK(hcy_dist_open(&all, NULL));
    CHECK(hcy_dist_get_info(&info, all));
    rank = info.rank;
    n_ranks = info.n_ranks;
    CHECK(hcy_dist_split(&alone, all, rank));
    CHECK(hcy_dist_device(&dev, all, argc > 1 ? argv[1] : "cpu@threads=1"));
    CHECK(hcy_queue_create(&queue, dev));
    tell_all(sizes);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    hcy_dist_release(alone);
    hcy_dist_release(all);
    return 0;
}
