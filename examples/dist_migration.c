/* dist_migration.c - least-squares migration on several processes: reflectors from what receivers hear of many shots.
 *
 * usage: mpirun -n 4 dist_migration [DEVICES]    "cpu", "cuda" (a GPU for each process of a host)
 *
 * A point that reflects sends back what reaches it, a wavelet after the time from the source and to the receiver
 * (Kirchhoff, at one velocity).  Each process has the shots that are dealt out to it, as rows of a matrix; the image of
 * [depths][places] is on all, and each iteration of CGLS adds up over the processes.
 */
#include "dist_tutorial.h"

#include <math.h>
#include <stdlib.h>

enum { PLACES = 16, DEPTHS = 10, PIXELS = PLACES * DEPTHS, SHOTS = 7, RECEIVERS = 9, TIMES = 60, ITERATIONS = 400 };
enum { ROWS = RECEIVERS * TIMES }; /* of a shot */

struct survey {
    hcy_dist_layout *shots, *image;
    hcy_operator *own, *all;
    hcy_array *matrix, *truth, *data, *found;
    hcy_solver *solver;
};

static double ricker(double t)
{
    return (1 - 2 * t * t) * exp(-t * t);
}

/* A row of the matrix: what a receiver hears at a time, of each pixel. */
static void fill_row(double *row, int shot, int receiver, int time)
{
    for (int i = 0; i < PIXELS; i++) {
        const double z = 4 + 2 * (i / PLACES), x = 2 * (i % PLACES),
                     from = hypot(z, x - 2.0 * PLACES * shot / (SHOTS - 1)),
                     back = hypot(z, x - 2.0 * PLACES * receiver / (RECEIVERS - 1));
        row[i] = ricker(1.2 * (time * 1.2 - (from + back))) / sqrt(from * back);
    }
}

/* Rows of the shots [first, first + n), the truth, and what is heard of it. */
static int make_shots(struct survey *s, const struct ranks *r, int64_t first, int64_t n)
{
    const int64_t pixels = PIXELS;
    double *rows = malloc(((size_t)n * ROWS * PIXELS + 1) * sizeof *rows), truth[PIXELS] = { 0 };
    if (!rows)
        return hcy_fail(HCY_ENOMEM, "out of memory for the rows of %d shots", (int)n);
    for (int64_t k = 0; k < n * ROWS; k++)
        fill_row(rows + k * PIXELS, (int)(first + k / ROWS), (int)(k / TIMES % RECEIVERS), (int)(k % TIMES));
    /* A flat reflector, and one that dips. */
    for (int x = 0; x < PLACES; x++) {
        truth[2 * PLACES + x] = 1;
        truth[(5 + x / 5) * PLACES + x] = -0.7;
    }
    int status = hcy_array_from_host(&s->matrix, r->dev, HCY_FLOAT64, 2, (int64_t[]){ n * ROWS, PIXELS }, rows);
    free(rows);
    return status ? status : hcy_array_from_host(&s->truth, r->dev, HCY_FLOAT64, 1, &pixels, truth);
}

static int make_survey(struct survey *s, const struct ranks *r)
{
    const int64_t rows = SHOTS * ROWS, pixels = PIXELS, n = r->info.n_ranks;
    int64_t *of_rank = calloc((size_t)n, sizeof *of_rank), first = 0;
    int status = hcy_dist_agree(r->comm, of_rank ? 0 : HCY_ENOMEM);
    /* Whole shots: the first processes have one more. */
    for (int64_t i = 0; !status && i < n; i++) {
        of_rank[i] = (SHOTS / n + (i < SHOTS % n)) * ROWS;
        first += i < r->info.rank ? of_rank[i] / ROWS : 0;
    }
    if (!status)
        status = hcy_dist_layout_blocks(&s->shots, r->comm, 1, &rows, 0, of_rank);
    if (!status)
        status = hcy_dist_layout_replicated(&s->image, r->comm, 1, &pixels);
    if (!status)
        status = hcy_dist_agree(r->comm, make_shots(s, r, first, of_rank[r->info.rank] / ROWS));
    if (!status)
        status = hcy_dist_agree(r->comm, hcy_operator_matrix(&s->own, s->matrix));
    free(of_rank);
    return status ? status : hcy_dist_operator(&s->all, s->shots, s->image, s->own);
}

static int migrate(double *error, struct survey *s, const struct ranks *r)
{
    double off = 0;
    int status = make_survey(s, r);
    if (!status)
        status = hcy_dist_array(&s->data, r->dev, s->shots, HCY_FLOAT64);
    if (!status)
        status = hcy_operator_apply(r->queue, s->data, s->all, s->truth);
    if (!status)
        status = solve_for(&s->found, &s->solver, r, s->all, HCY_SOLVER_CGLS, ITERATIONS, s->data, NULL);
    if (!status)
        status = sum_squares(&off, r, s->found, s->truth);
    *error = sqrt(off / (PLACES * (1 + 0.49)));
    return status;
}

static int solve_migration(double *error, struct ranks *r)
{
    struct survey s = { .shots = NULL };
    int status = migrate(error, &s, r);
    hcy_solver_destroy(s.solver);
    hcy_operator_release(s.all);
    hcy_operator_release(s.own);
    hcy_array *const arrays[] = { s.matrix, s.truth, s.data, s.found };
    for (int i = 0; i < 4; i++)
        hcy_array_release(arrays[i]);
    hcy_dist_layout_release(s.shots);
    hcy_dist_layout_release(s.image);
    return status;
}

int main(int argc, char **argv)
{
    return run_tutorial("dist_migration", solve_migration, 0.05, argc > 1 ? argv[1] : NULL);
}
