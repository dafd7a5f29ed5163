/* dist.c - what operators and solvers over ranks take: pylops-mpi's rows of ../shared/peers/dist_peers.py and
 * bench/dist_peers.py, and the two problems that more devices shall halve.
 *
 *     mpirun -n P bench/dist [DEVICES [SIDE [SENSE [COILS]]]]
 *     HALCYON_DIST=threads@ranks=P bench/dist ...
 *
 * cpu@threads=1; 512: the side of the cube of CGLS, 0: without; 256: that of SENSE's images with 10^6 points, 0:
 * without; 32 coils.  Milliseconds, the best of seven, each that of the slowest rank; rank 0 prints a line a job.
 */
#include "dist_job.h"

#include <string.h>
#include <time.h>

enum { CUBE = 400, TRANSFORMED = 256, ROWS = 2000, COLUMNS = 200, BLOCK = 1500, POINTS = 1000000, FULL_RUN = 50 };
enum { LONG = 100000000, FEW_ROWS = 32, MANY_ROWS = 256, HIDING_ROUNDS = 50 };

static void tell(const char *what, double seconds)
{
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    CHECK(hcy_dist_get_info(&info, ranks.all));
    if (!ranks.rank)
        printf("%d rank%s, %s%s%s  %-60s %10.3f ms\n", ranks.n_ranks, ranks.n_ranks > 1 ? "s" : "", info.transport,
               *info.device_transport ? "+" : "", info.device_transport, what, 1e3 * seconds);
    fflush(stdout);
}

static void tell_job(const char *what, struct job *j)
{
    tell(what, time_job(j));
    end_job(j);
}

/* --- Matrices --- */

/* A matrix a rank, of `rows` x `rows` numbers, that this rank's slice of y is made with. */
static void make_matrices(hcy_operator **own, int64_t rows, int64_t columns)
{
    hcy_array *a = NULL;
    CHECK(hcy_array_empty(&a, ranks.dev, HCY_FLOAT32, 3, (int64_t[]){ 1, rows, rows }));
    CHECK(HCY_EVAL(ranks.queue, "a = normal(r, index)", hcy_op_array("a", a), hcy_op_integer("r", ranks.rank)));
    CHECK(hcy_operator_matrices(own, a, columns));
    hcy_array_release(a);
}

/* x is replicated or dealt out by slices, y is dealt out. */
static void make_stack(struct job *j, int64_t rows, int64_t columns, int is_replicated)
{
    const int64_t one[3] = { 1, rows, columns }, all[3] = { ranks.n_ranks, rows, columns };
    hcy_dist_layout *from = NULL, *to = NULL;
    hcy_operator *own = NULL;
    make_matrices(&own, rows, columns);
    if (is_replicated)
        CHECK(hcy_dist_layout_replicated(&from, ranks.all, 3, one));
    else
        CHECK(hcy_dist_layout_blocks(&from, ranks.all, 3, all, 0, NULL));
    CHECK(hcy_dist_layout_blocks(&to, ranks.all, 3, all, 0, NULL));
    CHECK(hcy_dist_operator(&j->op, to, from, own));
    fill_part(&j->x, from, HCY_FLOAT32);
    fill_part(&j->y, to, HCY_FLOAT32);
    hcy_operator_release(own);
    hcy_dist_layout_release(from);
    hcy_dist_layout_release(to);
}

static void time_matrices(void)
{
    struct job stack = { 0 }, adjoint = { .adjoint = 1 }, blocks = { 0 };
    make_stack(&stack, ROWS, COLUMNS, 1);
    tell_job("VStack of MatrixMult 2000^2 x 200, forward", &stack);
    make_stack(&adjoint, ROWS, COLUMNS, 1);
    tell_job("... adjoint", &adjoint);
    make_stack(&blocks, BLOCK, 1, 0);
    make_solver(&blocks, blocks.op, HCY_SOLVER_CGLS, FULL_RUN);
    tell("cgls, 50 iterations, BlockDiag of 1500^2 a rank", FULL_RUN * time_job(&blocks));
    end_job(&blocks);
}

/* --- Differences, dots --- */

static void time_differences(void)
{
    struct job laplacian = { 0 }, first = { 0 }, gradient = { 0 }, dot = { 0 };
    hcy_dist_layout *range = NULL;
    make_cube(&laplacian, ranks.all, CUBE, HCY_FLOAT32);
    CHECK(hcy_dist_laplacian(&laplacian.op, ranks.dev, laplacian.layout, HCY_FLOAT32, NULL));
    tell_job("Laplacian 400^3", &laplacian);
    make_cube(&first, ranks.all, CUBE, HCY_FLOAT32);
    CHECK(hcy_dist_difference(&first.op, ranks.dev, first.layout, HCY_FLOAT32, 0, HCY_DIFFERENCE_CENTRED, 1));
    tell_job("first derivative 400^3", &first);
    make_cube(&gradient, ranks.all, CUBE, HCY_FLOAT32);
    CHECK(hcy_dist_gradient(&gradient.op, &range, ranks.dev, gradient.layout, HCY_FLOAT32, HCY_DIFFERENCE_CENTRED));
    hcy_array_release(gradient.y);
    fill_part(&gradient.y, range, HCY_FLOAT32);
    tell_job("gradient 400^3", &gradient);
    /* Of a vector with itself, as pylops-mpi's is. */
    make_dot(&dot, ranks.all, (int64_t)CUBE * CUBE * CUBE);
    hcy_array_release(dot.z);
    dot.z = hcy_array_retain(dot.x);
    tell_job("dot 400^3", &dot);
    hcy_dist_layout_release(range);
}

/* What has other ghosts than whole rows: blocks of the last axis, and, of four ranks or more, a grid. */
static void time_grid(const int *grid)
{
    struct job laplacian = { 0 }, gradient = { 0 };
    hcy_dist_layout *range = NULL;
    char what[80];
    CHECK(hcy_dist_layout_grid(&laplacian.layout, ranks.all, 3, (int64_t[]){ CUBE, CUBE, CUBE }, grid, NULL));
    fill_part(&laplacian.x, laplacian.layout, HCY_FLOAT32);
    fill_part(&laplacian.y, laplacian.layout, HCY_FLOAT32);
    gradient.layout = hcy_dist_layout_retain(laplacian.layout);
    gradient.x = hcy_array_retain(laplacian.x);
    CHECK(hcy_dist_laplacian(&laplacian.op, ranks.dev, laplacian.layout, HCY_FLOAT32, NULL));
    CHECK(hcy_dist_gradient(&gradient.op, &range, ranks.dev, gradient.layout, HCY_FLOAT32, HCY_DIFFERENCE_CENTRED));
    fill_part(&gradient.y, range, HCY_FLOAT32);
    snprintf(what, sizeof what, "Laplacian 400^3, ranks %d x %d x %d", grid[0], grid[1], grid[2]);
    tell_job(what, &laplacian);
    tell("... gradient", time_job(&gradient));
    gradient.adjoint = 1;
    tell("... its adjoint", time_job(&gradient));
    end_job(&gradient);
    hcy_dist_layout_release(range);
}

static void time_grids(void)
{
    time_grid((const int[]){ 1, ranks.n_ranks, 1 });
    time_grid((const int[]){ 1, 1, ranks.n_ranks });
    if (ranks.n_ranks >= 4 && ranks.n_ranks % 2 == 0)
        time_grid((const int[]){ ranks.n_ranks / 2, 1, 2 });
}

/* --- What bounds them --- */

/* Seconds in which every rank's core reads so many bytes of its own, the best of some: no expression, no message. */
static double time_reading(size_t bytes)
{
    enum { LANES = 8 };
    const size_t n = bytes / sizeof(uint64_t) / LANES * LANES;
    uint64_t *memory = bench_need(malloc(bytes + 1)), sums[LANES] = { 0 }, all = 0;
    double best = 1e300;
    memset(memory, 1, bytes);
    for (int round = 0; round < JOB_ROUNDS; round++) {
        CHECK(hcy_dist_barrier(ranks.all));
        const double begin = timer_now();
        for (size_t i = 0; i < n; i += LANES)
            for (int k = 0; k < LANES; k++)
                sums[k] += memory[i + (size_t)k];
        double took = timer_now() - begin;
        CHECK(hcy_dist_allreduce_host(&took, ranks.all, HCY_FLOAT64, 1, HCY_REDUCE_MAX));
        best = took < best ? took : best;
    }
    for (int k = 0; k < LANES; k++)
        all += sums[k];
    /* What nobody looks at need not be read. */
    if (all == 1)
        fprintf(stderr, "dist: %llu\n", (unsigned long long)all);
    free(memory);
    return best;
}

static void time_long_dot(void)
{
    struct job dot = { 0 };
    make_dot(&dot, ranks.all, LONG);
    const double seconds = time_job(&dot);
    tell("dot of 10^8 floats", seconds);
    end_job(&dot);
    /* The processor's reading is no bound of another device's. */
    if (!(hcy_device_get_info(ranks.dev)->caps & HCY_CAP_HOST_MEMORY))
        return;
    const double reading = time_reading(2 * sizeof(float) * (size_t)LONG / (size_t)ranks.n_ranks);
    tell("... reading as many bytes", reading);
    if (!ranks.rank)
        printf("... %.1f %% of what can be read\n", 100 * reading / seconds);
}

/* A Laplacian over ranks; that of a rank's rows by themselves; a ghost row to a neighbour, and one from it.  What the
 * first takes longer than the second, of the third, is not hidden: on CPUs whose cores all compute the copies, which
 * are made by these.  In turns, as it is a difference. */
static void time_hiding(int64_t n_rows)
{
    enum { ALL, OWN, GHOST, JOBS };
    struct job jobs[JOBS] = { 0 }, *all = &jobs[ALL], *own = &jobs[OWN], *ghost = &jobs[GHOST];
    const int64_t side = 2 * CUBE, plane = side * side, rows[3] = { n_rows, side, side },
                  shape[3] = { n_rows * ranks.n_ranks, side, side };
    double took[JOBS];
    char what[80];
    CHECK(hcy_dist_layout_blocks(&all->layout, ranks.all, 3, shape, 0, NULL));
    CHECK(hcy_dist_layout_blocks(&own->layout, ranks.alone, 3, rows, 0, NULL));
    for (struct job *j = all; j <= own; j++) {
        fill_part(&j->x, j->layout, HCY_FLOAT32);
        fill_part(&j->y, j->layout, HCY_FLOAT32);
        CHECK(hcy_dist_laplacian(&j->op, ranks.dev, j->layout, HCY_FLOAT32, NULL));
    }
    CHECK(hcy_array_full(&ghost->x, ranks.queue, HCY_FLOAT32, 1, &plane, 1));
    CHECK(hcy_array_full(&ghost->y, ranks.queue, HCY_FLOAT32, 1, &plane, 1));
    ghost->times = 1;
    ghost->partner = (ranks.rank ^ 1) < ranks.n_ranks ? ranks.rank ^ 1 : -1;
    time_in_turns(took, jobs, JOBS, HIDING_ROUNDS);
    snprintf(what, sizeof what, "Laplacian, %d rows of 800^2 a rank", (int)n_rows);
    tell(what, took[ALL]);
    tell("... a rank's rows by themselves", took[OWN]);
    tell("... a ghost row to and fro by itself", took[GHOST]);
    if (!ranks.rank)
        printf("... %.0f %% of that is hidden behind the rows\n", 100 * (1 - (took[ALL] - took[OWN]) / took[GHOST]));
    for (int i = 0; i < JOBS; i++)
        end_job(&jobs[i]);
}

/* --- Transforms --- */

static void time_transform(int dtype, int adjoint)
{
    static const int axes[] = { 0, 1, 2 };
    const int64_t n = TRANSFORMED;
    const int is_real = dtype == HCY_FLOAT32;
    struct job j = { .adjoint = adjoint };
    hcy_dist_layout *range = NULL;
    char what[80];
    make_cube(&j, ranks.all, n, dtype);
    if (is_real) {
        CHECK(hcy_dist_fft_real(&j.op, &range, ranks.dev, j.layout, dtype, axes, 3));
        hcy_array_release(j.y);
        fill_part(&j.y, range, HCY_COMPLEX64);
    } else
        CHECK(hcy_dist_fft(&j.op, ranks.dev, j.layout, dtype, axes, 3));
    snprintf(what, sizeof what, "Fourier transform of %lld^3 %s floats", (long long)n, is_real ? "real" : "complex");
    const clock_t began = clock();
    tell(adjoint ? "... adjoint" : what, time_job(&j));
    /* Of all rounds, the first too, and with the waiting for others: of use where others are on the machine. */
    const double spent = (double)(clock() - began) / CLOCKS_PER_SEC / (JOB_ROUNDS + 1);
    tell("... processors' time of rank 0, or of all that are threads", spent);
    end_job(&j);
    hcy_dist_layout_release(range);
}

static void time_transforms(void)
{
    for (int adjoint = 0; adjoint < 2; adjoint++)
        time_transform(HCY_COMPLEX64, adjoint);
    for (int adjoint = 0; adjoint < 2; adjoint++)
        time_transform(HCY_FLOAT32, adjoint);
}

/* --- Solvers --- */

/* (I + L^T L) x = y, whose CG is CGLS of the two stacked. */
static void time_smoothing(int64_t n)
{
    struct job j = { 0 };
    char what[80];
    hcy_space space;
    hcy_operator *laplacian = NULL, *transposed = NULL, *rough = NULL, *same = NULL;
    make_cube(&j, ranks.all, n, HCY_FLOAT32);
    CHECK(hcy_dist_laplacian(&laplacian, ranks.dev, j.layout, HCY_FLOAT32, NULL));
    CHECK(hcy_operator_adjoint(&transposed, laplacian));
    CHECK(hcy_operator_compose(&rough, (hcy_operator *[]){ transposed, laplacian }, 2));
    CHECK(hcy_dist_space(&space, j.layout, HCY_FLOAT32));
    CHECK(hcy_operator_identity(&same, ranks.dev, &space));
    CHECK(hcy_operator_sum(&j.op, (hcy_operator *[]){ same, rough }, 2));
    make_solver(&j, j.op, HCY_SOLVER_CG, FULL_RUN);
    snprintf(what, sizeof what, "(I + L^T L) x = y, %lld^3, an iteration", (long long)n);
    tell(what, time_job(&j));
    /* The residual is summed up where it is made, if ranks' sums need no device's bits. */
    CHECK(hcy_dist_set_sums(ranks.all, HCY_SUMS_FREE));
    tell("... sums free", time_job(&j));
    CHECK(hcy_dist_set_sums(ranks.all, HCY_SUMS_SAME));
    end_job(&j);
    hcy_operator_release(laplacian);
    hcy_operator_release(transposed);
    hcy_operator_release(rough);
    hcy_operator_release(same);
}

static void time_sense(int64_t n, int64_t coils)
{
    struct job j = { 0 };
    char what[80];
    make_sense(&j, ranks.all, n, coils, POINTS);
    snprintf(what, sizeof what, "SENSE's CG, %lld^3, %lld coils, an iteration", (long long)n, (long long)coils);
    tell_job(what, &j);
}

static void time_all(const int64_t *sizes)
{
    time_matrices();
    time_differences();
    if (ranks.n_ranks > 1)
        time_grids();
    time_long_dot();
    /* Few rows, of which ghosts are a good share, and as many as make ghosts' own launches wait for nothing. */
    if (ranks.n_ranks > 1)
        time_hiding(FEW_ROWS);
    if (ranks.n_ranks > 1 && !(hcy_device_get_info(ranks.dev)->caps & HCY_CAP_HOST_MEMORY))
        time_hiding(MANY_ROWS);
    time_transforms();
    if (sizes[0])
        time_smoothing(sizes[0]);
    if (sizes[1])
        time_sense(sizes[1], sizes[2]);
}

int main(int argc, char **argv)
{
    int64_t sizes[] = { 512, 256, 32 };
    bool are_numbers = true;
    for (int i = 2; i < argc && i < 5; i++) {
        double size = 0;
        are_numbers = are_numbers && bench_number(&size, argv[i], 0);
        sizes[i - 2] = (int64_t)size;
    }
    if (argc > 5 || !are_numbers || sizes[2] < 1 || sizes[0] > 2048 || sizes[1] > 1024) {
        fprintf(stderr, "usage: dist [DEVICES [SIDE [SENSE [COILS]]]]\n");
        return 2;
    }
    run_ranks(argc > 1 ? argv[1] : "cpu@threads=1", time_all, sizes);
    return 0;
}
