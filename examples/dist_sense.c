/* dist_sense.c - an image from fewer samples than pixels, by several coils that are dealt out to several processes.
 *
 * usage: mpirun -n 4 dist_sense [DEVICES]    "cpu", "cuda" (a GPU for each process of a host); HALCYON_DIST=mpi,-nccl
 *
 * Each process knows its own coils and what they receive; the image is on all, and each iteration adds up over them.
 * Samples are sums over pixels made here, so that the transform is checked as well.
 */
#include "dist_tutorial.h"

#include <math.h>
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

static _Thread_local double places[2][POINTS], image[2 * PIXELS];

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

static int reconstruct(struct problem *p, const struct ranks *r)
{
    const int own = (COILS - r->info.rank + r->info.n_ranks - 1) / r->info.n_ranks, coils = own > 0 ? own : 0;
    double *maps = malloc((size_t)(2 * coils * PIXELS + 1) * sizeof *maps),
           *samples = malloc((size_t)(2 * coils * POINTS + 1) * sizeof *samples);
    int status = hcy_dist_agree(r->comm, maps && samples ? 0 : HCY_ENOMEM);
    if (!status)
        receive(maps, samples, r->info.rank, r->info.n_ranks);
    if (!status)
        status = make_sense(p, r->comm, maps, samples, coils);
    if (!status)
        status = solve_for(&p->x, &p->solver, r, p->sense, HCY_SOLVER_CGLS, ITERATIONS, p->samples, NULL);
    if (!status)
        status = hcy_array_to_host(image, p->queue, p->x);
    free(maps);
    free(samples);
    return status;
}

/* The largest error of a pixel. */
static double compare_pixels(void)
{
    double worst = 0;
    for (int i = 0; i < PIXELS; i++) {
        const double off = hypot(image[2 * i] - true_value(i / SIDE, i % SIDE), image[2 * i + 1]);
        worst = off <= worst ? worst : off;
    }
    return worst;
}

static int solve_sense(double *error, struct ranks *r)
{
    struct problem p = { .dev = r->dev, .queue = r->queue };
    choose_points();
    int status = reconstruct(&p, r);
    *error = compare_pixels();
    hcy_solver_destroy(p.solver);
    hcy_operator_release(p.sense);
    hcy_nufft_destroy(p.plan);
    hcy_array_release(p.maps);
    hcy_array_release(p.samples);
    hcy_array_release(p.x);
    return status;
}

int main(int argc, char **argv)
{
    return run_tutorial("dist_sense", solve_sense, 1e-3, argc > 1 ? argv[1] : NULL);
}
