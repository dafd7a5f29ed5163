/* recon_cg.c - an image from samples of its Fourier transform along spokes, by conjugate gradients.
 *
 * The object is made of ellipses, whose transform is known in closed form: no image is transformed to make the samples.
 * What comes out is held against the ellipses on the image's grid.
 *
 * usage: recon_cg [DEVICE]        cpu unless it is given
 */
#define _XOPEN_SOURCE 700 /* j1 */
#include <halcyon/solve.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 64, SPOKES = 110, READ = 128, POINTS = SPOKES * READ };
static const double pi = 3.14159265358979323846;

/* Intensity, half axes and centre in pixels, angle: ellipses that are there together. */
static const struct ellipse {
    double value, a, b, x, y, angle;
} ellipses[] = { { 1, 24, 18, 0, 0, 0.3 }, { -0.6, 20, 14.5, 0, 0.5, 0.3 }, { 0.4, 6, 4, 7, -2, 1.1 },
                 { 0.3, 4, 7, -8, 1, -0.4 } };

/* The sum over ellipses of their transform at frequencies in radians a pixel: 2 pi a b J1(r) / r. */
static double transform_at(double *imag, double kx, double ky)
{
    double re = 0;
    *imag = 0;
    for (size_t i = 0; i < sizeof ellipses / sizeof ellipses[0]; i++) {
        const struct ellipse *e = &ellipses[i];
        double c = cos(e->angle), s = sin(e->angle);
        double r = hypot(e->a * (c * kx + s * ky), e->b * (c * ky - s * kx)), turn = kx * e->x + ky * e->y;
        double size = e->value * 2 * pi * e->a * e->b * (r > 1e-6 ? j1(r) / r : 0.5);
        re += size * cos(turn);
        *imag -= size * sin(turn);
    }
    return re;
}

/* How much of a pixel each ellipse covers, by 8 x 8 places in it. */
static double value_at(int row, int column)
{
    double sum = 0;
    for (int k = 0; k < 64; k++) {
        double y = row - SIDE / 2 + (k / 8 - 3.5) / 8, x = column - SIDE / 2 + (k % 8 - 3.5) / 8;
        for (size_t i = 0; i < sizeof ellipses / sizeof ellipses[0]; i++) {
            const struct ellipse *e = &ellipses[i];
            double c = cos(e->angle), s = sin(e->angle), dx = x - e->x, dy = y - e->y;
            sum += hypot((c * dx + s * dy) / e->a, (c * dy - s * dx) / e->b) <= 1 ? e->value / 64 : 0;
        }
    }
    return sum;
}

static double places[2][POINTS], samples[2 * POINTS], image[2 * SIDE * SIDE];

static void sample_spokes(void)
{
    for (int j = 0; j < POINTS; j++) {
        double angle = pi * (j / READ) / SPOKES, radius = (j % READ - READ / 2) * 2 * pi / READ;
        places[0][j] = radius * sin(angle);
        places[1][j] = radius * cos(angle);
        samples[2 * j] = transform_at(&samples[2 * j + 1], places[1][j], places[0][j]);
    }
}

static int report(void *user, hcy_solver *solver, int64_t iteration, double residual)
{
    (void)user, (void)solver;
    printf("iteration %2lld: residual %.3g\n", (long long)iteration, residual);
    return 0;
}

/* The plan and the operator are the caller's to end, whatever comes back. */
static int reconstruct(hcy_nufft **plan, hcy_operator **nufft, hcy_solver **solver, hcy_queue *queue)
{
    hcy_device *dev = hcy_queue_device(queue);
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_solver_options how = HCY_SOLVER_OPTIONS_INIT;
    hcy_array *data = NULL, *x = NULL;
    const int64_t points = POINTS;
    desc.type = 2;
    desc.dim = 2;
    desc.modes[0] = desc.modes[1] = SIDE;
    desc.sign = -1;
    desc.eps = 1e-9;
    how.method = HCY_SOLVER_CG_NORMAL;
    how.max_iterations = 30;
    how.tolerance = 1e-4;
    how.check_every = 5;
    how.callback = report;
    int status = hcy_nufft_create(plan, dev, &desc, NULL);
    if (!status)
        status = hcy_nufft_set_points(*plan, points, (const void *[]){ places[0], places[1] }, 0, NULL);
    if (!status)
        status = hcy_operator_nufft(nufft, *plan);
    if (!status)
        status = hcy_array_from_host(&data, dev, HCY_COMPLEX128, 1, &points, samples);
    if (!status)
        status = hcy_solver_create(solver, queue, *nufft, &how);
    if (!status)
        status = hcy_solver_start(*solver, data, NULL);
    if (!status)
        status = hcy_solver_run(*solver, how.max_iterations);
    if (!status)
        status = hcy_solver_get_x(&x, *solver);
    if (!status)
        status = hcy_array_to_host(image, queue, x);
    hcy_array_release(data);
    hcy_array_release(x);
    return status;
}

/* The image's distance from the ellipses, over their own norm. */
static double compare_image(void)
{
    double off = 0, norm = 0;
    for (int i = 0; i < SIDE * SIDE; i++) {
        double want = value_at(i / SIDE, i % SIDE);
        off += pow(image[2 * i] - want, 2) + pow(image[2 * i + 1], 2);
        norm += want * want;
    }
    return sqrt(off / norm);
}

int main(int argc, char **argv)
{
    hcy_device *dev = NULL;
    hcy_queue *queue = NULL;
    hcy_nufft *plan = NULL;
    hcy_operator *nufft = NULL;
    hcy_solver *solver = NULL;
    double off = HUGE_VAL;
    sample_spokes();
    int status = hcy_device_open(&dev, argc > 1 ? argv[1] : "cpu");
    if (!status)
        status = hcy_queue_create(&queue, dev);
    if (!status)
        status = reconstruct(&plan, &nufft, &solver, queue);
    if (status)
        fprintf(stderr, "recon_cg: %s\n", hcy_last_error()->text);
    else
        printf("off by %.3f of the ellipses' norm\n", off = compare_image());
    hcy_solver_destroy(solver);
    hcy_operator_release(nufft);
    hcy_nufft_destroy(plan);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    /* Edges that no finite number of frequencies has are what is missing. */
    return status || !(off < 0.07) ? EXIT_FAILURE : EXIT_SUCCESS;
}
