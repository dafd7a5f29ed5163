/* misfit.c - the gradient in a NUFFT's points is the derivative of what is computed, however coarse the window: of each
 * variant of the CPU's, or of a device, against differences of the values.
 *
 *     tests/misfit [DEVICE [few]]      few: where kernels are compiled as they are met, some windows alone
 *
 * A window of few cells is far from the exact sums, so a gradient that is theirs (a transform an axis, for devices
 * without nufft_slopes) fails here.
 */
#include "cts.h"

#include <complex.h>
#include <halcyon/solve.h>

enum { POINTS = 30, MODES = 9, MOST_MODES = MODES * MODES * MODES, FRAMES = 3 };
/* Of each axis its own, so that an axis that is taken for another one shows. */
static const int cells[3] = { 32, 40, 36 };

static hcy_device *dev;
static hcy_queue *queue;

struct problem {
    int dim, frames;
    unsigned width;
    double x[3][POINTS];
    double complex m[FRAMES * MOST_MODES], d[FRAMES * POINTS];
};

static double next_real(uint64_t *seed)
{
    return (double)(int64_t)cts_random(seed) / 0x1p63;
}

static void fill_problem(struct problem *p, int dim, unsigned width)
{
    uint64_t seed = 40 + width;
    *p = (struct problem){ .dim = dim, .frames = 1 + (int)width % FRAMES, .width = width };
    /* Values jump a little where the window moves on by a cell, at whole cells or halves: points stand between. */
    for (int i = 0; i < 3 * POINTS; i++) {
        const int cell = (int)(cts_random(&seed) % (unsigned)cells[i % 3]);
        p->x[i % 3][i / 3] = 2 * 3.14159265358979 / cells[i % 3] * (cell + 0.25 + 0.15 * next_real(&seed));
    }
    for (int i = 0; i < FRAMES * MOST_MODES; i++)
        p->m[i] = next_real(&seed) + I * next_real(&seed);
    for (int i = 0; i < FRAMES * POINTS; i++)
        p->d[i] = next_real(&seed) + I * next_real(&seed);
}

static int make_plan(hcy_nufft **plan, const struct problem *p, int precision)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_nufft_options opts = HCY_NUFFT_OPTIONS_INIT;
    static float single[3][POINTS];
    const void *x[3];
    desc.type = 2;
    desc.dim = p->dim;
    desc.precision = precision;
    desc.sign = -1;
    desc.n_transforms = p->frames;
    desc.eps = precision == HCY_F32 ? 1e-6 : 1e-9;
    opts.width = p->width;
    opts.max_batch = 2; /* so that three transforms are two batches */
    for (int d = 0; d < 3; d++) {
        desc.modes[d] = MODES;
        opts.grid[d] = d < p->dim ? (size_t)cells[d] : 0;
        for (int j = 0; j < POINTS; j++)
            single[d][j] = (float)p->x[d][j];
        x[d] = precision == HCY_F32 ? (const void *)single[d] : p->x[d];
    }
    int status = hcy_nufft_create(plan, dev, &desc, &opts);
    return status ? status : hcy_nufft_set_points(*plan, POINTS, x, 0, NULL);
}

static hcy_array *array_of(const hcy_space *s, const double complex *from)
{
    static float complex single[FRAMES * MOST_MODES];
    hcy_array *a = NULL;
    int64_t n = 1;
    for (int d = 0; d < s->rank; d++)
        n *= s->shape[d];
    for (int64_t i = 0; from && i < n; i++)
        single[i] = (float complex)from[i];
    if (from ? hcy_array_from_host(&a, dev, s->dtype, s->rank, s->shape,
                                   s->dtype == HCY_COMPLEX64 ? (const void *)single : from)
             : hcy_array_empty(&a, dev, s->dtype, s->rank, s->shape))
        bail_out("no array: %s", hcy_last_error()->text);
    return a;
}

/* The value and, unless it is NULL, the gradient in the points. */
static int differentiate(double *value, double g[3][POINTS], const struct problem *p, int precision)
{
    hcy_nufft *plan = NULL;
    hcy_operator *op = NULL;
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    hcy_misfit *misfit = NULL;
    static double bytes[3 * POINTS];
    int status = make_plan(&plan, p, precision);
    if (!status)
        status = hcy_operator_nufft(&op, plan);
    if (!status)
        status = hcy_operator_get_info(&info, op);
    if (!status)
        status = hcy_misfit_create(&misfit, plan);
    if (status)
        bail_out("no misfit: %s", hcy_last_error()->text);
    const hcy_space points = { precision == HCY_F32 ? HCY_FLOAT32 : HCY_FLOAT64, 2, { p->dim, POINTS }, NULL },
                    number = { HCY_FLOAT64, 0, { 0 }, NULL };
    hcy_array *const a[] = { array_of(&info.domain, p->m), array_of(&info.range, p->d), array_of(&points, NULL),
                             array_of(&number, NULL) };
    status = hcy_misfit_gradient(queue, a[3], NULL, NULL, g ? a[2] : NULL, misfit, a[0], a[1]);
    if (!status)
        status = hcy_array_to_host(value, queue, a[3]);
    if (!status && g)
        status = hcy_array_to_host(bytes, queue, a[2]);
    for (int i = 0; g && i < p->dim * POINTS; i++)
        g[i / POINTS][i % POINTS] = precision == HCY_F32 ? (double)((float *)(void *)bytes)[i] : bytes[i];
    for (int i = 0; i < 4; i++)
        hcy_array_release(a[i]);
    hcy_misfit_destroy(misfit);
    hcy_operator_release(op);
    hcy_nufft_destroy(plan);
    return status;
}

/* How far the gradients are from differences, in double, and from those in single, of the largest. */
static int compare(double *off, double *off_single, int dim, unsigned width)
{
    static struct problem p, moved;
    static double g[3][POINTS], single[3][POINTS];
    const double h = 5e-5, at[4] = { -2, -1, 1, 2 }, weights[4] = { 1, -8, 8, -1 }; /* of fourth order */
    double value, end, sum = 0, slope = 0, scale = 0;
    fill_problem(&p, dim, width);
    int status = differentiate(&value, g, &p, HCY_F64);
    for (int k = 0; k < 4; k++) {
        moved = p;
        for (int i = 0; i < dim * POINTS; i++)
            moved.x[i / POINTS][i % POINTS] += h * at[k] * (i % 5 - 2.25);
        status = cts_first(status, differentiate(&end, NULL, &moved, HCY_F64));
        sum += weights[k] * end / (12 * h);
    }
    /* Windows of more cells than single precision has use for are refused there. */
    *off_single = 0;
    if (width <= 8)
        status = cts_first(status, differentiate(&value, single, &p, HCY_F32));
    for (int i = 0; i < dim * POINTS; i++) {
        slope += g[i / POINTS][i % POINTS] * (i % 5 - 2.25);
        scale = fmax(scale, fabs(g[i / POINTS][i % POINTS]));
        if (width <= 8)
            *off_single = fmax(*off_single, fabs(g[i / POINTS][i % POINTS] - single[i / POINTS][i % POINTS]));
    }
    *off = fabs(sum - slope) / scale;
    *off_single /= scale;
    return status;
}

/* A plan whose points were set again is no longer that of the misfit, unless there are as many. */
static void test_other_points(void)
{
    static struct problem p;
    hcy_nufft *plan = NULL;
    hcy_operator *op = NULL;
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    hcy_misfit *misfit = NULL;
    if (hcy_device_open(&dev, "cpu"))
        bail_out("no cpu: %s", hcy_last_error()->text);
    queue = cts_queue(dev);
    fill_problem(&p, 1, 4);
    if (make_plan(&plan, &p, HCY_F64) || hcy_operator_nufft(&op, plan) || hcy_operator_get_info(&info, op) ||
        hcy_misfit_create(&misfit, plan))
        bail_out("no misfit: %s", hcy_last_error()->text);
    hcy_array *m = array_of(&info.domain, p.m), *d = array_of(&info.range, p.d), *g = array_of(&info.range, NULL);
    int status = hcy_nufft_set_points(plan, POINTS - 1, (const void *[]){ p.x[0] }, 0, NULL);
    ok(!status && hcy_misfit_gradient(queue, NULL, NULL, g, NULL, misfit, m, d) == HCY_ESTATE &&
           strstr(hcy_last_error()->text, "29 now"),
       "a plan with fewer points than the misfit's is refused");
    hcy_array_release(m);
    hcy_array_release(d);
    hcy_array_release(g);
    hcy_misfit_destroy(misfit);
    hcy_operator_release(op);
    hcy_nufft_destroy(plan);
    hcy_queue_release(queue);
    hcy_device_release(dev);
}

static void check_device(const char *name, unsigned step)
{
    if (hcy_device_open(&dev, name)) {
        skip(3, "%s: %s", name, hcy_last_error()->text);
        return;
    }
    queue = cts_queue(dev);
    for (int dim = 1; dim <= 3; dim++) {
        double worst = 0, worst_single = 0;
        int status = 0;
        for (unsigned width = 2; !status && width <= 16; width += step) {
            double off, off_single;
            status = compare(&off, &off_single, dim, width);
            worst = fmax(worst, off);
            worst_single = fmax(worst_single, off_single);
        }
        ok(!status && worst < 3e-10 && worst_single < 1e-4,
           "%s: in %d-D slopes are those of what is computed, windows of 2 to 16 cells (%g; single %g)", name, dim, worst,
           worst_single);
        if (status)
            diag("%s", hcy_last_error()->text);
    }
    (void)!hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "cpu", "cpu@threads=1@simd=portable", "cpu@threads=3@simd=avx2",
                                         "cpu@threads=2@simd=avx512" };
    if (argc > 1) {
        /* Windows of 2, 9 and 16 cells: narrow and wide ones, even and odd. */
        check_device(argv[1], argc > 2 ? 7 : 1);
        return done_testing();
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        check_device(names[i], 1);
    test_other_points();
    return done_testing();
}
