/* dist_fftw.c - FFTW's transforms over MPI ranks beside ours: why no option chooses FFTW-MPI.  A program by itself, no
 * part of the build or of the library; Debian has FFTW-MPI in libfftw3-mpi-dev:
 *
 *     mpicc -O2 $(pkg-config --cflags halcyon) -o dist_fftw bench/dist_fftw.c -lfftw3f_mpi -lfftw3f -lhalcyon -lm
 *     mpirun -n 2 ./dist_fftw
 *
 * A cube of 256^3 single complex numbers in blocks of its first axis, forwards, a thread a rank: ours, and FFTW's of
 * FFTW_MEASURE in place, to another array, and with the axes left turned (FFTW_MPI_TRANSPOSED_OUT), in turns; the best
 * of nine, each that of the slowest rank. */
#include <fftw3-mpi.h>
#include <halcyon/dist.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 256, ROUNDS = 9 };
enum { OURS, IN_PLACE, APART, TURNED, N_WAYS };

#define CHECK(x) \
    do { \
        if (x) { \
            fprintf(stderr, "%s: %s\n", #x, hcy_last_error()->text); \
            MPI_Abort(MPI_COMM_WORLD, 1); \
        } \
    } while (0)

static struct {
    hcy_dist *comm;
    hcy_device *dev;
    hcy_queue *queue;
    hcy_operator *op;
    hcy_array *x, *y;
    fftwf_complex *from, *to;
    fftwf_plan plans[N_WAYS];
    int64_t count; /* of this rank's numbers */
} b;

static void make_ours(void)
{
    const int64_t shape[3] = { N, N, N };
    const int axes[3] = { 0, 1, 2 };
    hcy_dist_layout *layout = NULL;
    hcy_dist_info info = HCY_DIST_INFO_INIT;
    CHECK(hcy_dist_open(&b.comm, "mpi"));
    CHECK(hcy_dist_get_info(&info, b.comm));
    /* Ours deals other rows out than FFTW does. */
    CHECK(N % info.n_ranks && hcy_fail(HCY_EINVAL, "%d rows are not divided by %d ranks", N, info.n_ranks));
    CHECK(hcy_dist_device(&b.dev, b.comm, "cpu@threads=1"));
    CHECK(hcy_queue_create(&b.queue, b.dev));
    CHECK(hcy_dist_layout_blocks(&layout, b.comm, 3, shape, 0, NULL));
    CHECK(hcy_dist_fft(&b.op, b.dev, layout, HCY_COMPLEX64, axes, 3));
    CHECK(hcy_dist_array(&b.x, b.dev, layout, HCY_COMPLEX64));
    CHECK(hcy_dist_array(&b.y, b.dev, layout, HCY_COMPLEX64));
    hcy_dist_layout_release(layout);
}

/* Plans, then numbers, which planning writes over. */
static void make_theirs(void)
{
    ptrdiff_t rows, first, most = fftwf_mpi_local_size_3d(N, N, N, MPI_COMM_WORLD, &rows, &first);
    b.from = fftwf_alloc_complex((size_t)most);
    b.to = fftwf_alloc_complex((size_t)most);
    b.count = (int64_t)rows * N * N;
    for (int way = IN_PLACE; way < N_WAYS; way++)
        b.plans[way] = fftwf_mpi_plan_dft_3d(N, N, N, b.from, way == IN_PLACE ? b.from : b.to, MPI_COMM_WORLD,
                                             FFTW_FORWARD,
                                             FFTW_MEASURE | (way == TURNED ? FFTW_MPI_TRANSPOSED_OUT : 0));
    CHECK(HCY_EVAL(b.queue, "x = complex64(complex(normal(1, index + n), normal(2, index + n)))",
                   hcy_op_array("x", b.x), hcy_op_integer("n", (int64_t)first * N * N)));
    CHECK(hcy_array_to_host(b.from, b.queue, b.x));
}

/* The largest difference of the two results over the largest number. */
static double find_difference(void)
{
    float *ours = malloc((size_t)b.count * sizeof(fftwf_complex) + 1), *theirs = (float *)b.to;
    double of[2] = { 0, 0 };
    CHECK(hcy_array_to_host(ours, b.queue, b.y));
    for (int64_t i = 0; i < 2 * b.count; i++) {
        of[0] = fmax(of[0], fabs((double)ours[i] - theirs[i]));
        of[1] = fmax(of[1], fabs((double)theirs[i]));
    }
    free(ours);
    MPI_Allreduce(MPI_IN_PLACE, of, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return of[0] / of[1];
}

static double time_way(int way)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = MPI_Wtime();
    if (way == OURS) {
        CHECK(hcy_operator_apply(b.queue, b.y, b.op, b.x));
        CHECK(hcy_queue_finish(b.queue));
    } else
        fftwf_execute(b.plans[way]);
    seconds = MPI_Wtime() - seconds;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds;
}

int main(int argc, char **argv)
{
    double best[N_WAYS] = { 1e9, 1e9, 1e9, 1e9 }, apart = 0;
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fftwf_mpi_init();
    make_ours();
    make_theirs();
    for (int round = 0; round < ROUNDS; round++)
        for (int way = 0; way < N_WAYS; way++) {
            best[way] = fmin(best[way], time_way(way));
            if (way == IN_PLACE)
                CHECK(hcy_array_to_host(b.from, b.queue, b.x));
            if (way == APART && !round)
                apart = find_difference();
        }
    if (!rank)
        printf("ours %.1f ms; FFTW-MPI in place %.1f, to another array %.1f, turned %.1f; %.0e apart\n",
               1e3 * best[OURS], 1e3 * best[IN_PLACE], 1e3 * best[APART], 1e3 * best[TURNED], apart);
    for (int way = IN_PLACE; way < N_WAYS; way++)
        fftwf_destroy_plan(b.plans[way]);
    fftwf_free(b.from);
    fftwf_free(b.to);
    hcy_operator_release(b.op);
    hcy_array_release(b.x);
    hcy_array_release(b.y);
    hcy_queue_release(b.queue);
    hcy_device_release(b.dev);
    hcy_dist_release(b.comm);
    MPI_Finalize();
    return 0;
}
