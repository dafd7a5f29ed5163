/* dist_rates.c - what `halcyon scale-model` is told, and held against: a machine's latency and rates, and its
 * jobs on the ranks that there are.
 *
 *     mpirun -n P bench/dist_rates [DEVICES [N [COUNT [SIDE [COILS]]]]]
 *
 * cpu@threads=1, cubes of 256^3, a reduction of 2*10^7 floats, SENSE of 64^3 with 8 coils and 10^5 points.
 * Rank 0 prints one JSON object.  "local_s" is a job on one rank while every other rank does the same by
 * itself, "measured_s" the job over all ranks; the best of seven, each that of the slowest rank.  "command"
 * is the model of it.  There are to be as many cores as threads: ranks that share one tell nothing.  What is
 * modelled goes by messages, between CPUs of one host too with HALCYON_DIST=mpi,-shared.
 */
#include "dist_job.h"

enum { SMALL_IN_A_ROW = 200, BIG = 16 << 20, POINTS = 100000 };

static _Thread_local int64_t coils;

static double time_halo(hcy_dist *comm, int64_t n)
{
    struct job j = { 0 };
    make_cube(&j, comm, n, HCY_FLOAT32);
    CHECK(hcy_dist_laplacian(&j.op, ranks.dev, j.layout, HCY_FLOAT32, NULL));
    const double seconds = time_job(&j);
    end_job(&j);
    return seconds;
}

static double time_axes(hcy_dist *comm, int64_t n, const int *axes, int n_axes)
{
    struct job j = { 0 };
    make_cube(&j, comm, n, HCY_COMPLEX64);
    CHECK(hcy_dist_fft(&j.op, ranks.dev, j.layout, HCY_COMPLEX64, axes, n_axes));
    const double seconds = time_job(&j);
    end_job(&j);
    return seconds;
}

static int turns_axes(void)
{
    return !(hcy_device_get_info(ranks.dev)->caps & HCY_CAP_HOST_MEMORY);
}

/* On GPUs several ranks transform the first axis when it has become the last one, which is another transform than
 * that of a rank that has all: what a rank does by itself is the last two axes, and the last one. */
static double time_transpose(hcy_dist *comm, int64_t n)
{
    const int axes[] = { 0, 1, 2 };
    return comm == ranks.alone && ranks.n_ranks > 1 && turns_axes()
               ? time_axes(comm, n, axes + 1, 2) + time_axes(comm, n, axes + 2, 1)
               : time_axes(comm, n, axes, 3);
}

static double time_reduction(hcy_dist *comm, int64_t n)
{
    struct job j = { 0 };
    make_dot(&j, comm, n);
    const double seconds = time_job(&j);
    end_job(&j);
    return seconds;
}

static double time_sense(hcy_dist *comm, int64_t n)
{
    struct job j = { 0 };
    make_sense(&j, comm, n, coils, POINTS);
    const double seconds = time_job(&j);
    end_job(&j);
    return seconds;
}

/* --- The machine --- */

/* Seconds of so many bytes to a neighbour while as many come back. */
static double time_messages(int64_t bytes, int times)
{
    struct job j = { .partner = (ranks.rank ^ 1) < ranks.n_ranks ? ranks.rank ^ 1 : -1, .times = times };
    CHECK(hcy_array_full(&j.x, ranks.queue, HCY_UINT8, 1, &bytes, 1));
    CHECK(hcy_array_full(&j.y, ranks.queue, HCY_UINT8, 1, &bytes, 1));
    const double seconds = time_job(&j);
    end_job(&j);
    return seconds;
}

static double time_copy(int64_t n)
{
    struct job j = { 0 };
    CHECK(hcy_array_full(&j.x, ranks.queue, HCY_FLOAT32, 1, &n, 1));
    CHECK(hcy_array_full(&j.y, ranks.queue, HCY_FLOAT32, 1, &n, 1));
    const double seconds = time_job(&j);
    end_job(&j);
    return seconds;
}

/* Of a cube, to one whose first axis is its last: what a transposition packs, or unpacks. */
static double time_turn(int64_t n)
{
    struct job j = { 0 };
    hcy_array *cube = NULL;
    CHECK(hcy_array_full(&j.x, ranks.queue, HCY_COMPLEX64, 3, (int64_t[]){ n, n, n }, 1));
    CHECK(hcy_array_full(&cube, ranks.queue, HCY_COMPLEX64, 3, (int64_t[]){ n, n, n }, 1));
    CHECK(hcy_array_transpose(&j.y, cube, (int[]){ 2, 0, 1 }));
    const double seconds = time_job(&j);
    end_job(&j);
    hcy_array_release(cube);
    return seconds;
}

/* --- What it says --- */

static void tell_job(const char *name, const char *machine, double (*time)(hcy_dist *, int64_t), int64_t n)
{
    const double local = time(ranks.alone, n), measured = time(ranks.all, n);
    if (ranks.rank)
        return;
    printf("%s\n    { \"job\": \"%s\", \"size\": %lld, \"local_s\": %.6g, \"measured_s\": %.6g,\n",
           time == time_halo ? "" : ",", name, (long long)n, local, measured);
    printf("      \"command\": \"halcyon scale-model %s -n %lld --coils %lld%s --local %.6gs --ranks %d\" }",
           name, (long long)n, (long long)coils, machine, local, ranks.n_ranks);
    fflush(stdout);
}

static void tell_all(const int64_t *sizes)
{
    coils = sizes[3];
    char machine[200], turning[40] = "", turn_rate[40] = "null";
    const int64_t elements = sizes[0] * sizes[0] * sizes[0];
    const double rate = 8 * (double)elements / time_copy(elements);
    /* One rank has nobody to send to; its model needs some figures, and uses neither. */
    const double alpha = ranks.n_ranks > 1 ? time_messages(1, SMALL_IN_A_ROW) : 1,
                 beta = ranks.n_ranks > 1 ? BIG / (time_messages(BIG, 1) - alpha) : 1;
    if (turns_axes()) {
        snprintf(turn_rate, sizeof turn_rate, "%.6g", 16 * (double)elements / time_turn(sizes[0]));
        snprintf(turning, sizeof turning, " --turn %sB/s", turn_rate);
    }
    snprintf(machine, sizeof machine, " --alpha %.4gs --beta %.6gB/s --rate %.6gB/s%s", alpha, beta, rate, turning);
    if (!ranks.rank && ranks.n_ranks > 1)
        printf("{ \"ranks\": %d, \"alpha_s\": %.4g, \"beta_bytes_per_s\": %.6g,", ranks.n_ranks, alpha, beta);
    else if (!ranks.rank)
        printf("{ \"ranks\": 1, \"alpha_s\": null, \"beta_bytes_per_s\": null,");
    if (!ranks.rank)
        printf(" \"rate_bytes_per_s\": %.6g, \"turn_bytes_per_s\": %s, \"jobs\": [", rate, turn_rate);
    tell_job("halo", machine, time_halo, sizes[0]);
    tell_job("reduction", machine, time_reduction, sizes[1]);
    tell_job("transpose", machine, time_transpose, sizes[0]);
    tell_job("sense", machine, time_sense, sizes[2]);
    if (!ranks.rank)
        printf("\n] }\n");
}

int main(int argc, char **argv)
{
    int64_t sizes[] = { 256, 20000000, 64, 8 };
    for (int i = 2; i < argc && i < 6; i++)
        sizes[i - 2] = atoll(argv[i]);
    for (int i = 0; i < 4; i++)
        if (sizes[i] < 1 || (i != 1 && sizes[i] > 4096) || argc > 6) {
            fprintf(stderr, "usage: dist_rates [DEVICES [N [COUNT [SIDE [COILS]]]]]\n");
            return 2;
        }
    run_ranks(argc > 1 ? argv[1] : "cpu@threads=1", tell_all, sizes);
    return 0;
}
