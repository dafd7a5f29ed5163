/* dist_sense.c - an image from fewer samples than pixels, by several coils that are dealt out to several processes.
 *
 * usage: mpirun -n 4 dist_sense [DEVICES]    "cpu", "cuda" (a GPU for each process of a host); HALCYON_DIST=mpi,-nccl
 *
 * Each process knows its own coils and what they receive; the image is on all, and each iteration adds up over them.
 * Samples are sums over pixels made here, so that the transform is checked as well.
 */
#include <halcyon/dist.h>
#include <halcyon/solve.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 20, PIXELS = SIDE * SIDE, POINTS = 270, COILS = 6, ITERATIONS = 120 };
static const double pi = 3.14159265358979323846;

struct problem {
    hcy_device *dev;
    hcy_queue *queue;
    hcy_nufft *plan;
    hcy_operator *sense;
    hcy_solver *solver;
    hcy_array *maps, *samples, *x;
};

static double places[2][POINTS], image[2 * PIXELS];

/* Points are spread evenly, and along no lines. */
static void choose_points(void)
{
    for (int j = 0; j < POINTS; j++) {
        places[0][j] = pi * (2.0 * j / POINTS - 1);
        places[1][j] = pi * (2 * fmod(j * 0.6180339887498949, 1) - 1);
    }
}

static double true_value(int row, int column)
{
    return hypot(row - 9.0, column - 8.0) < 7 ? 1 + 0.05 * column + (row < column ? 0.5 : 0) : 0;
}

/* Coils stand around the image; what they receive fades with the distance. */
static void map_at(double *map, int coil, int row, int column)
{
    double angle = 2 * pi * coil / COILS, y = (row - SIDE / 2.0) / SIDE - 0.6 * sin(angle),
           x = (column - SIDE / 2.0) / SIDE - 0.6 * cos(angle), size = exp(-2.5 * (x * x + y * y));
    map[0] = size * cos(2 * x + angle);
    map[1] = size * sin(2 * x + angle);
}

/* Maps [coils][pixels] and samples [coils][points] of this process's coils: first, first + step and so on. */
static void receive(double *maps, double *samples, int first, int step)
{
    for (int coil = first; coil < COILS; coil += step, maps += 2 * PIXELS, samples += 2 * POINTS) {
        for (int i = 0; i < PIXELS; i++)
            map_at(maps + 2 * i, coil, i / SIDE, i % SIDE);
        for (int j = 0; j < 2 * POINTS; j++)
            samples[j] = 0;
        for (int j = 0; j < POINTS; j++)
            for (int i = 0; i < PIXELS; i++) {
                const double value = true_value(i / SIDE, i % SIDE), *map = maps + 2 * i,
                             turn = places[0][j] * (i / SIDE - SIDE / 2) + places[1][j] * (i % SIDE - SIDE / 2),
                             c = value * cos(turn), s = -value * sin(turn);
                samples[2 * j] += c * map[0] - s * map[1];
                samples[2 * j + 1] += c * map[1] + s * map[0];
            }
    }
}

static int make_sense(struct problem *p, hcy_dist *comm, const double *maps, const double *samples, int64_t own_coils)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    desc.type = 2;
    desc.precision = HCY_F64;
    desc.dim = 2;
    desc.modes[0] = desc.modes[1] = SIDE;
    desc.sign = -1;
    desc.n_transforms = 2;
    desc.eps = 1e-9;
    int status = hcy_nufft_create(&p->plan, p->dev, &desc, NULL);
    if (!status)
        status = hcy_nufft_set_points(p->plan, POINTS, (const void *[]){ places[0], places[1] }, 0, NULL);
    if (!status)
        status = hcy_array_from_host(&p->maps, p->dev, HCY_COMPLEX128, 3, (int64_t[]){ own_coils, SIDE, SIDE }, maps);
    if (!status)
        status = hcy_array_from_host(&p->samples, p->dev, HCY_COMPLEX128, 2, (int64_t[]){ own_coils, POINTS }, samples);
    /* What fails here on one process fails on all. */
    status = hcy_dist_agree(comm, status);
    return status ? status : hcy_dist_sense(&p->sense, NULL, comm, p->plan, p->maps, NULL, 0);
}

static int solve(struct problem *p)
{
    hcy_solver_options how = HCY_SOLVER_OPTIONS_INIT;
    how.method = HCY_SOLVER_CGLS;
    how.max_iterations = ITERATIONS;
    int status = hcy_solver_create(&p->solver, p->queue, p->sense, &how);
    if (!status)
        status = hcy_solver_start(p->solver, p->samples, NULL);
    if (!status)
        status = hcy_solver_run(p->solver, ITERATIONS);
    if (!status)
        status = hcy_solver_get_x(&p->x, p->solver);
    return status ? status : hcy_array_to_host(image, p->queue, p->x);
}

static int reconstruct(struct problem *p, hcy_dist *comm, const hcy_dist_info *info)
{
    const int own = (COILS - info->rank + info->n_ranks - 1) / info->n_ranks, coils = own > 0 ? own : 0;
    double *maps = malloc((size_t)(2 * coils * PIXELS + 1) * sizeof *maps),
           *samples = malloc((size_t)(2 * coils * POINTS + 1) * sizeof *samples);
    int status = hcy_dist_agree(comm, maps && samples ? 0 : HCY_ENOMEM);
    if (!status)
        receive(maps, samples, info->rank, info->n_ranks);
    if (!status)
        status = make_sense(p, comm, maps, samples, coils);
    if (!status)
        status = solve(p);
    free(maps);
    free(samples);
    return status;
}

/* Pixels that are off by 1e-3 or more. */
static int count_wrong(void)
{
    int wrong = 0;
    for (int i = 0; i < PIXELS; i++)
        wrong += !(hypot(image[2 * i] - true_value(i / SIDE, i % SIDE), image[2 * i + 1]) < 1e-3);
    return wrong;
}

static void release_all(struct problem *p)
{
    hcy_solver_destroy(p->solver);
    hcy_operator_release(p->sense);
    hcy_nufft_destroy(p->plan);
    hcy_array_release(p->maps);
    hcy_array_release(p->samples);
    hcy_array_release(p->x);
    hcy_queue_release(p->queue);
    hcy_device_release(p->dev);
}

int main(int argc, char **argv)
{
    struct problem p = { NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL };
    hcy_dist *comm = NULL;
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    int32_t wrong = 0;
    choose_points();
    int status = hcy_dist_open(&comm, NULL);
    if (!status)
        status = hcy_dist_device(&p.dev, comm, argc > 1 ? argv[1] : NULL);
    if (!status)
        status = hcy_dist_get_info(&info, comm);
    if (!status)
        status = hcy_queue_create(&p.queue, p.dev);
    if (!status)
        status = reconstruct(&p, comm, &info);
    if (!status)
        wrong = count_wrong();
    /* What one process finds wrong all have to say. */
    if (!status)
        status = hcy_dist_allreduce_host(&wrong, comm, HCY_INT32, 1, HCY_REDUCE_SUM);
    if (status) {
        fprintf(stderr, "dist_sense: %s %s\n", hcy_last_error()->text, hcy_last_error()->vendor);
        hcy_dist_abort(comm, 1);
        return 1;
    }
    printf("rank %d of %d, %s, %s%s%s: %d of %d wrong\n", info.rank, info.n_ranks, hcy_device_get_info(p.dev)->name,
           info.transport, *info.device_transport ? "+" : "", info.device_transport, (int)wrong, PIXELS * info.n_ranks);
    release_all(&p);
    hcy_dist_release(comm);
    return wrong != 0;
}
