/* sense.c - conjugate gradients of an image that several coils receive (SENSE), with and without Toeplitz's operator.
 *
 *     bench/sense [DEVICE [N [POINTS [COILS [BATCH [DIM [ITERATIONS [double]]]]]]]]
 *
 * cpu, 256, 10^6 points in balls (2-D: discs) as a kooshball has them, 32 coils of which 4 go at once, 3-D, 20
 * iterations, float with eps 1e-4 (double: 1e-6).  Milliseconds of the best of three; bytes are those of the device's
 * buffers, and with them what its pool keeps: the most that there was at once since it was last emptied, or more.
 * With CUFINUFFT=FILE in the environment (cufinufft.h) the last rows are cuFINUFFT's transforms of all coils' images,
 * which a forward and an adjoint cannot do without; maps are not multiplied.
 */
#include "bench.h"
#include "cufinufft.h"

#include <halcyon/eval.h>
#include <halcyon/solve.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { ROUNDS = 3 };

struct problem {
    hcy_device *dev;
    hcy_queue *queue;
    hcy_nufft_desc desc;
    int64_t n, points, coils, iterations;
    int dtype;
    void *places[3];
    hcy_array *maps, *x, *y, *b;
};

/* --- Data --- */

/* Numbers in [0, 1) of a Weyl sequence, one an axis: spread evenly, the same everywhere. */
static double draw(int64_t i, int k)
{
    static const double steps[] = { 0.8191725133961645, 0.6710436067037893, 0.5497004779019703 };
    double x = 0.5 + (double)i * steps[k];
    return x - floor(x);
}

static void make_places(struct problem *p)
{
    const double pi = acos(-1);
    const size_t size = p->desc.precision == HCY_F64 ? 8 : 4;
    for (int d = 0; d < p->desc.dim; d++)
        p->places[d] = bench_need(malloc((size_t)p->points * size));
    for (int64_t i = 0; i < p->points; i++) {
        /* A direction, and how far: evenly along spokes, so that the centre is the densest. */
        const double r = pi * draw(i, 0), angle = 2 * pi * draw(i, 1), z = p->desc.dim > 2 ? 2 * draw(i, 2) - 1 : 0;
        const double flat = sqrt(1 - z * z), at[3] = { r * flat * cos(angle), r * flat * sin(angle), r * z };
        for (int d = 0; d < p->desc.dim; d++)
            if (size == 8)
                ((double *)p->places[d])[i] = at[d];
            else
                ((float *)p->places[d])[i] = (float)at[d];
    }
}

static hcy_array *random_array(const struct problem *p, int rank, const int64_t *shape, int seed)
{
    hcy_array *a;
    CHECK(hcy_array_empty(&a, p->dev, p->dtype, rank, shape));
    CHECK(HCY_EVAL(p->queue, "a = complex(normal(s, index), normal(s, index, 1))", hcy_op_array("a", a),
                   hcy_op_integer("s", seed)));
    return a;
}

static void make_data(struct problem *p)
{
    int64_t shape[4] = { p->coils, p->n, p->n, p->n }, samples[2] = { p->coils, p->points };
    make_places(p);
    p->maps = random_array(p, 1 + p->desc.dim, shape, 1);
    p->x = random_array(p, p->desc.dim, shape + 1, 2);
    p->b = random_array(p, p->desc.dim, shape + 1, 3);
    p->y = random_array(p, 2, samples, 4);
    CHECK(hcy_queue_finish(p->queue));
}

/* --- Measuring --- */

static void tell_memory(const struct problem *p, const char *what)
{
    hcy_pool_stats stats;
    CHECK(hcy_device_pool_stats(&stats, p->dev));
    printf("%-36s %10.3f GB, with what is kept for the next one %.3f GB\n", what, 1e-9 * (double)stats.in_use,
           1e-9 * (double)(stats.in_use + stats.cached));
}

static void time_operator(const struct problem *p, hcy_operator *op, const char *what, hcy_array *to, hcy_array *from,
                          bool adjoint)
{
    double best = INFINITY;
    for (int round = -1; round < ROUNDS; round++) {
        double begin = timer_now();
        CHECK((adjoint ? hcy_operator_apply_adjoint : hcy_operator_apply)(p->queue, to, op, from));
        CHECK(hcy_queue_finish(p->queue));
        /* The first one compiles. */
        if (round >= 0)
            best = timer_best(best, begin);
    }
    printf("%-36s %10.2f ms\n", what, 1e3 * best);
}

static void time_solver(const struct problem *p, hcy_operator *gram, const char *what)
{
    hcy_solver *solver;
    hcy_solver_options how = HCY_SOLVER_OPTIONS_INIT;
    double best = INFINITY;
    how.method = HCY_SOLVER_CG;
    how.max_iterations = p->iterations;
    CHECK(hcy_solver_create(&solver, p->queue, gram, &how));
    for (int round = -1; round < ROUNDS; round++) {
        double begin = timer_now();
        CHECK(hcy_solver_start(solver, p->b, NULL));
        CHECK(hcy_solver_run(solver, p->iterations));
        CHECK(hcy_queue_finish(p->queue));
        if (round >= 0)
            best = timer_best(best, begin);
    }
    printf("%-36s %10.2f ms an iteration, %.3f s for %lld\n", what, 1e3 * best / (double)p->iterations, best,
           (long long)p->iterations);
    hcy_solver_destroy(solver);
}

static void run_plain(const struct problem *p)
{
    hcy_nufft *plan;
    hcy_operator *a, *back, *gram;
    double begin = timer_now();
    CHECK(hcy_nufft_create(&plan, p->dev, &p->desc, NULL));
    CHECK(hcy_nufft_set_points(plan, p->points, (const void *const *)p->places, 0, NULL));
    CHECK(hcy_operator_sense(&a, plan, p->maps, NULL));
    printf("%-36s %10.2f ms\n", "plan", 1e3 * (timer_now() - begin));
    time_operator(p, a, "forward", p->y, p->x, false);
    time_operator(p, a, "adjoint", p->b, p->y, true);
    CHECK(hcy_operator_adjoint(&back, a));
    CHECK(hcy_operator_compose(&gram, (hcy_operator *[]){ back, a }, 2));
    time_solver(p, gram, "CG, forward and adjoint");
    tell_memory(p, "maps, samples, plan and CG");
    hcy_operator_release(gram);
    hcy_operator_release(back);
    hcy_operator_release(a);
    hcy_nufft_destroy(plan);
}

static void run_toeplitz(const struct problem *p)
{
    hcy_operator *gram;
    double begin = timer_now();
    CHECK(hcy_operator_toeplitz(&gram, p->dev, &p->desc, p->points, (const void *const *)p->places, p->maps, NULL));
    printf("%-36s %10.2f ms\n", "Toeplitz's spectrum", 1e3 * (timer_now() - begin));
    /* What it was made with is in the pool; the operator has its own. */
    CHECK(hcy_device_pool_trim(p->dev));
    time_operator(p, gram, "Toeplitz", p->b, p->x, false);
    time_solver(p, gram, "CG, Toeplitz");
    tell_memory(p, "maps, samples, Toeplitz and CG");
    hcy_operator_release(gram);
}

static hcy_buffer *buffer_of(const hcy_array *array)
{
    hcy_array_info info = HCY_ARRAY_INFO_INIT;
    CHECK(hcy_array_get_info(&info, array));
    return info.buffer;
}

static void tell_cufinufft(const struct cufinufft *lib, const struct cufinufft_job *job, int method)
{
    const struct cufinufft_times t = method < 0 ? cufinufft_best(lib, job) : cufinufft_time(lib, job, method);
    printf("cuFINUFFT, type %d, %-18s %d %10.2f ms\n", job->desc->type,
           method < 0 ? "best: method" : "its choice: method", t.method, 1e3 * t.run);
}

/* The transforms alone, at the end: they write over the maps. */
static void run_cufinufft(const struct problem *p)
{
    struct cufinufft *lib = cufinufft_open(p->dev);
    hcy_nufft_desc desc = p->desc;
    struct cufinufft_job job = { &desc, p->points, { NULL, NULL, NULL }, buffer_of(p->y), buffer_of(p->maps) };
    const size_t size = (size_t)p->points * (desc.precision == HCY_F64 ? 8 : 4);
    desc.n_transforms = p->coils;
    for (int d = 0; d < desc.dim && lib; d++) {
        CHECK(hcy_buffer_create(&job.points[d], p->dev, HCY_MEM_DEVICE, size));
        CHECK(hcy_buffer_write_now(job.points[d], 0, p->places[d], size));
    }
    for (desc.type = 2; desc.type >= 1 && lib; desc.type--) {
        tell_cufinufft(lib, &job, 0);
        tell_cufinufft(lib, &job, -1);
    }
    for (int d = 0; d < desc.dim; d++)
        hcy_buffer_release(job.points[d]);
    free(lib);
}

int main(int argc, char **argv)
{
    int64_t numbers[] = { 256, 1000000, 32, 4, 3, 20 };
    struct problem p = { 0 };
    for (int i = 2; i < argc && i < 8; i++)
        numbers[i - 2] = atoll(argv[i]);
    const bool is_double = argc > 8 && !strcmp(argv[8], "double");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i] < 1 || numbers[4] < 2 || numbers[4] > 3) {
            fprintf(stderr, "usage: sense [DEVICE [N [POINTS [COILS [BATCH [DIM [ITERATIONS [double]]]]]]]]\n");
            return 2;
        }
    CHECK(hcy_device_open(&p.dev, argc > 1 ? argv[1] : "cpu"));
    CHECK(hcy_queue_create(&p.queue, p.dev));
    p.n = numbers[0];
    p.points = numbers[1];
    p.coils = numbers[2];
    p.iterations = numbers[5];
    p.dtype = is_double ? HCY_COMPLEX128 : HCY_COMPLEX64;
    p.desc = (hcy_nufft_desc)HCY_NUFFT_DESC_INIT;
    p.desc.type = 2;
    p.desc.precision = is_double ? HCY_F64 : HCY_F32;
    p.desc.dim = (int)numbers[4];
    for (int d = 0; d < p.desc.dim; d++)
        p.desc.modes[d] = p.n;
    p.desc.sign = -1;
    p.desc.n_transforms = numbers[3];
    p.desc.eps = is_double ? 1e-6 : 1e-4;
    make_data(&p);
    run_plain(&p);
    CHECK(hcy_device_pool_trim(p.dev));
    run_toeplitz(&p);
    CHECK(hcy_device_pool_trim(p.dev));
    run_cufinufft(&p);
    hcy_array *const arrays[] = { p.maps, p.x, p.y, p.b };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        hcy_array_release(arrays[i]);
    for (int d = 0; d < 3; d++)
        free(p.places[d]);
    hcy_queue_release(p.queue);
    hcy_device_release(p.dev);
    return 0;
}
