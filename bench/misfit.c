/* misfit.c - what gradients of a NUFFT's misfit cost, in forward transforms of the same plan and run.
 *
 *     bench/misfit [DEVICE [EPS]]        cpu, 1e-6 (doubles: 1e-9)
 *
 * A radial trajectory of 400 spokes of 512 samples on 256 x 256, and a 3-D kooshball of 1500 spokes of 128 on 64^3.
 * The best of fifteen rounds, in each of which all are timed once.
 */
#include "bench.h"

#include <halcyon/eval.h>
#include <halcyon/nufft.h>
#include <halcyon/solve.h>
#include <math.h>

enum { ROUNDS = 15, N_TIMED = 3 };

static hcy_device *dev;
static hcy_queue *queue;

/* --- Spokes through the middle, each a turn of the golden ratio further --- */

static void fill_spokes(double *x[3], int dim, int spokes, int samples)
{
    const double pi = 3.14159265358979, golden = 0.6180339887498949;
    for (int i = 0; i < spokes; i++) {
        const double turn = (dim == 2 ? pi : 2 * pi) * golden * i, up = dim == 2 ? 0 : (i + 0.5) / spokes;
        const double along[3] = { sqrt(1 - up * up) * cos(turn), sqrt(1 - up * up) * sin(turn), up };
        for (int j = 0; j < samples; j++)
            for (int d = 0; d < dim; d++)
                x[d][i * samples + j] = 2 * pi * ((j + 0.25) / samples - 0.5) * along[d];
    }
}

static void set_spokes(hcy_nufft *plan, int dim, int precision, int spokes, int samples)
{
    const size_t n = (size_t)spokes * (size_t)samples;
    double *x[3] = { NULL, NULL, NULL };
    for (int d = 0; d < dim; d++)
        x[d] = bench_need(malloc(n * sizeof *x[d]));
    fill_spokes(x, dim, spokes, samples);
    for (int d = 0; precision == HCY_F32 && d < dim; d++)
        for (size_t i = 0; i < n; i++) /* in place: never ahead of what is still to be read */
            ((float *)(void *)x[d])[i] = (float)x[d][i];
    CHECK(hcy_nufft_set_points(plan, (int64_t)n, (const void *[]){ x[0], x[1], x[2] }, 0, NULL));
    for (int d = 0; d < dim; d++)
        free(x[d]);
}

/* --- What is timed --- */

static hcy_array *make_vector(const hcy_space *s)
{
    hcy_array *a;
    CHECK(hcy_array_full(&a, queue, s->dtype, s->rank, s->shape, 1));
    return a;
}

static void show(int dim, int precision, int64_t modes, int spokes, int samples, double eps)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    hcy_nufft *plan;
    hcy_operator *op;
    hcy_misfit *misfit;
    double best[N_TIMED] = { 1e9, 1e9, 1e9 };
    desc.type = 2;
    desc.dim = dim;
    desc.precision = precision;
    desc.sign = -1;
    desc.eps = eps;
    for (int d = 0; d < dim; d++)
        desc.modes[d] = modes;
    CHECK(hcy_nufft_create(&plan, dev, &desc, NULL));
    set_spokes(plan, dim, precision, spokes, samples);
    CHECK(hcy_operator_nufft(&op, plan));
    CHECK(hcy_operator_get_info(&info, op));
    CHECK(hcy_misfit_create(&misfit, plan));
    const hcy_space points = { precision == HCY_F32 ? HCY_FLOAT32 : HCY_FLOAT64, 2, { dim, spokes * samples }, NULL };
    hcy_array *m = make_vector(&info.domain), *gm = make_vector(&info.domain), *d = make_vector(&info.range),
              *y = make_vector(&info.range), *gx = make_vector(&points);
    for (int round = -1; round < ROUNDS; round++)
        for (int i = 0; i < N_TIMED; i++) {
            const double begin = timer_now();
            if (!i)
                CHECK(hcy_operator_apply(queue, y, op, m));
            else
                CHECK(hcy_misfit_gradient(queue, NULL, gm, NULL, i > 1 ? gx : NULL, misfit, m, d));
            CHECK(hcy_queue_finish(queue));
            const double seconds = timer_now() - begin;
            /* The first one compiles. */
            if (round >= 0 && seconds < best[i])
                best[i] = seconds;
        }
    printf("%d-D %s %.0e: forward %8.3f ms, gradient in the image %5.2f forwards, in image and points %5.2f\n", dim,
           precision == HCY_F32 ? "single" : "double", eps, 1e3 * best[0], best[1] / best[0], best[2] / best[0]);
    fflush(stdout);
    hcy_array *const arrays[] = { m, gm, d, y, gx };
    for (int i = 0; i < 5; i++)
        hcy_array_release(arrays[i]);
    hcy_misfit_destroy(misfit);
    hcy_operator_release(op);
    hcy_nufft_destroy(plan);
}

int main(int argc, char **argv)
{
    double eps = 0;
    if (argc > 3 || (argc > 2 && !bench_number(&eps, argv[2], 1e-15)))
        return fprintf(stderr, "usage: misfit [DEVICE [EPS]]\n"), 2;
    CHECK(hcy_device_open(&dev, argc > 1 ? argv[1] : "cpu"));
    CHECK(hcy_queue_create(&queue, dev));
    for (int precision = HCY_F32; precision <= HCY_F64; precision++) {
        const double asked = eps > 0 ? eps : precision == HCY_F32 ? 1e-6 : 1e-9;
        show(2, precision, 256, 400, 512, asked);
        show(3, precision, 64, 1500, 128, asked);
    }
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return 0;
}
