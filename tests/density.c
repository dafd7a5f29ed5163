/* density - weights for points that are not equally dense: on a grid, along spokes, of PyNUFFT's trajectory; what they
 * are for: an image that is gridded with them.
 *
 *     tests/density [DEVICE]        (cpu@threads=2)
 */
#include "tap.h"
#include <complex.h>
#include <halcyon/density.h>
#include <halcyon/host_array.h>
#include <halcyon/nufft.h>

#define PI 3.14159265358979323846
static hcy_device *dev;

static int weigh(double *weights, int method, int dim, int64_t modes, int iterations, size_t n,
                 const double *const *x)
{
    hcy_density_desc desc = HCY_DENSITY_DESC_INIT;
    desc.method = method;
    desc.dim = dim;
    desc.modes[0] = desc.modes[1] = desc.modes[2] = modes;
    desc.iterations = iterations;
    return hcy_density_weights(weights, dev, &desc, (int64_t)n, (const void *const *)x);
}

/* What differs most from an equal share of the whole. */
static double find_worst(const double *w, size_t n)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++)
        worst = fmax(worst, fabs(w[i] * (double)n - 1));
    return worst;
}

/* Every point of a grid stands for as much; with three at each place, for a third.  Where points are as few as modes,
 * the sum over them is not quite the kernel's integral, 0.45 % on each axis; with twice as many on each axis it is. */
static void test_grids(void)
{
    static double x[1024], y[1024], w[1024];
    double worst = 0;
    const double *const points[3] = { x, y, x };
    for (size_t i = 0; i < 256; i++) {
        x[i] = 2 * PI * (double)(i / 16) / 16 - PI;
        y[i] = 2 * PI * (double)(i % 16) / 16 + 40 * PI;
    }
    for (int method = HCY_DENSITY_PIPE; method <= HCY_DENSITY_VORONOI; method++) {
        is_int(weigh(w, method, 2, 16, 20, 256, points), 0, "a grid, method %d", method);
        worst = find_worst(w, 256);
        ok(worst < (method == HCY_DENSITY_PIPE ? 0.0095 : method == HCY_DENSITY_CELLS ? 1e-14 : 1e-9),
           "... each point has its share of the whole: %.1e", worst);
    }
    /* The same points three times. */
    memcpy(x + 256, x, 256 * sizeof *x);
    memcpy(y + 256, y, 256 * sizeof *y);
    memcpy(x + 512, x, 256 * sizeof *x);
    memcpy(y + 512, y, 256 * sizeof *y);
    for (int method = HCY_DENSITY_PIPE; method <= HCY_DENSITY_VORONOI; method++) {
        is_int(weigh(w, method, 2, 16, 20, 768, points), 0, "three points at each place, method %d", method);
        worst = find_worst(w, 768);
        ok(worst < (method == HCY_DENSITY_PIPE ? 0.0095 : method == HCY_DENSITY_CELLS ? 1e-14 : 1e-9), "... have a third each: %.1e", worst);
    }
    for (size_t i = 0; i < 1024; i++) {
        x[i] = 2 * PI * (double)(i / 32) / 32;
        y[i] = 2 * PI * (double)(i % 32) / 32;
    }
    is_int(weigh(w, HCY_DENSITY_PIPE, 2, 16, 20, 1024, points), 0, "a grid twice as dense");
    worst = find_worst(w, 1024);
    ok(worst < 2e-4, "... each point has its share: %.1e", worst);
    float xf[256], wf[256];
    const void *const floats[1] = { xf };
    hcy_density_desc desc = HCY_DENSITY_DESC_INIT;
    desc.dim = 1;
    desc.modes[0] = 256;
    desc.precision = HCY_F32;
    for (size_t i = 0; i < 256; i++)
        xf[i] = (float)(2 * PI * (double)i / 256);
    is_int(hcy_density_weights(wf, dev, &desc, 256, floats), 0, "one axis, in float");
    worst = 0;
    for (size_t i = 0; i < 256; i++)
        worst = fmax(worst, fabs((double)wf[i] * 256 - 1));
    ok(worst < 0.005, "... its shares: %.1e", worst);
}

/* Spokes: a ramp, in absolute numbers. */
static void test_radial(void)
{
    enum { SIZE = 64, SPOKES = 101, SAMPLES = 128, POINTS = SPOKES * SAMPLES };
    static double x[POINTS], y[POINTS], w[POINTS], again[POINTS];
    const double *const points[2] = { y, x };
    double worst = 0, worst_cells = 0, mean = 0;
    size_t n = 0;
    for (size_t i = 0; i < POINTS; i++) {
        double angle = PI * (double)(i / SAMPLES) / SPOKES,
               place = 2 * PI * ((double)(i % SAMPLES) / SAMPLES - 0.5);
        y[i] = place * sin(angle);
        x[i] = place * cos(angle);
    }
    is_int(weigh(w, HCY_DENSITY_PIPE, 2, SIZE, 30, POINTS, points), 0, "spokes");
    for (size_t i = 0; i < POINTS; i++) {
        double place = fabs(2 * PI * ((double)(i % SAMPLES) / SAMPLES - 0.5));
        double want = place * (PI / SPOKES) * (2 * PI / SAMPLES) / (4 * PI * PI);
        if (place > 0.15 * PI && place < 0.85 * PI) {
            worst = fmax(worst, fabs(w[i] / want - 1));
            mean += w[i] / want;
            n++;
        }
    }
    ok(worst < 0.03 && fabs(mean / (double)n - 1) < 0.002,
       "... weights are the ramp: %.3f at most, %.4f in the mean", worst, mean / (double)n);
    is_int(weigh(again, HCY_DENSITY_CELLS, 2, SIZE, 1, POINTS, points), 0, "spokes by cells");
    for (int ring = 4; ring < 28; ring++) {
        double sum = 0, want = 0;
        for (size_t i = 0; i < POINTS; i++) {
            double place = fabs((double)(i % SAMPLES) - SAMPLES / 2) / 2;
            if (place >= ring && place < ring + 1) {
                sum += again[i];
                want += place * 2 * (PI / SPOKES) * (2 * PI / SAMPLES) * (2 * PI / SAMPLES) / (4 * PI * PI);
            }
        }
        worst_cells = fmax(worst_cells, fabs(sum / want - 1));
    }
    ok(worst_cells < 0.2, "... have the volume of each ring: %.3f at most", worst_cells);
}

/* Spokes by Voronoi's cells: sectors of rings, whose shares are the ramp itself. */
static void test_voronoi_spokes(void)
{
    enum { SIZE = 32, SPOKES = 60, SAMPLES = 64, POINTS = SPOKES * SAMPLES };
    static double x[POINTS], y[POINTS], w[POINTS];
    const double *const points[2] = { y, x };
    double worst = 0, middle = 0;
    for (size_t i = 0; i < POINTS; i++) {
        double angle = PI * (double)(i / SAMPLES) / SPOKES, place = 2 * PI * ((double)(i % SAMPLES) / SAMPLES - 0.5);
        y[i] = place * sin(angle);
        x[i] = place * cos(angle);
    }
    is_int(weigh(w, HCY_DENSITY_VORONOI, 2, SIZE, 1, POINTS, points), 0, "spokes by Voronoi's cells");
    for (size_t i = 0; i < POINTS; i++) {
        /* A cell is a trapezoid between the lines half-way to the neighbours. */
        double ring = fabs((double)(i % SAMPLES) - SAMPLES / 2),
               want = 2 * ring * tan(PI / SPOKES / 2) / SAMPLES / SAMPLES;
        if (ring > 0 && ring < 0.8 * SAMPLES / 2)
            worst = fmax(worst, fabs(w[i] / want - 1));
        if (ring == 0)
            middle += w[i];
    }
    ok(worst < 1e-9, "... are trapezoids: off by %.1e", worst);
    /* The polygon of twice as many sides about the middle, half a sample from it. */
    double polygon = 2 * SPOKES * tan(PI / SPOKES / 2) / 4 / SAMPLES / SAMPLES;
    ok(fabs(middle / polygon - 1) < 1e-9, "... and the middle is one polygon of all spokes: off by %.1e",
       fabs(middle / polygon - 1));
}

/* Which of the points is nearest in a period, counted over a grid that is finer than the cells. */
static void count_nearest(double *shares, int dim, size_t n, const double *const *points, size_t fine)
{
    size_t all = 1;
    for (int d = 0; d < dim; d++)
        all *= fine;
    for (size_t i = 0; i < all; i++) {
        size_t best = 0, at = i;
        double least = INFINITY, place[3];
        for (int d = 0; d < dim; d++, at /= fine)
            place[d] = 2 * PI * ((double)(at % fine) + 0.5) / (double)fine;
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (int d = 0; d < dim; d++)
                sum += pow(remainder(points[d][j] - place[d], 2 * PI), 2);
            best = sum < least ? j : best;
            least = fmin(sum, least);
        }
        shares[best] += 1. / (double)all;
    }
}

/* Points anywhere, of which two are at one place, a period apart: what is nearest to each, in 1-D to 3-D. */
static void test_voronoi_cells(void)
{
    enum { FEW = 24 };
    static const size_t fine[4] = { 0, 10000, 250, 40 };
    static const double bound[4] = { 0, 3e-4, 1e-3, 4e-3 };
    double x[3][FEW], w[FEW], counted[FEW];
    const double *const points[3] = { x[0], x[1], x[2] };
    uint32_t seed = 7;
    for (int i = 0; i < 3 * FEW; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i % 3][i / 3] = seed / 4294967296. * 2 * PI;
    }
    for (int d = 0; d < 3; d++)
        x[d][FEW - 1] = x[d][0] - 4 * PI;
    for (int dim = 1; dim <= 3; dim++) {
        double sum = 0, worst = 0;
        memset(counted, 0, sizeof counted);
        count_nearest(counted, dim, FEW - 1, points, fine[dim]);
        counted[FEW - 1] = counted[0] /= 2;
        is_int(weigh(w, HCY_DENSITY_VORONOI, dim, 1, 1, FEW, points), 0, "points anywhere, %d axes", dim);
        for (int i = 0; i < FEW; i++) {
            sum += w[i];
            worst = fmax(worst, fabs(w[i] - counted[i]));
        }
        ok(fabs(sum - 1) < 1e-9, "... share the period: %g", sum - 1);
        ok(worst < bound[dim], "... by what is nearest: off by %.1e", worst);
    }
}

/* Gridded with the weights, samples of an image are nearly that image. */
static void test_trajectory(void)
{
    const char *data = getenv("HALCYON_TEST_DATA");
    char path[500];
    hcy_host_array om = HCY_HOST_ARRAY_INIT, image = HCY_HOST_ARRAY_INIT;
    snprintf(path, sizeof path, "%s/nufft/om2D.npz", data ? data : "");
    int status = hcy_host_array_read(&om, path);
    snprintf(path, sizeof path, "%s/nufft/phantom_256_256.npz", data ? data : "");
    if (status || hcy_host_array_read(&image, path)) {
        skip(3, "no om2D.npz and phantom_256_256.npz in HALCYON_TEST_DATA, or no zlib");
        hcy_host_array_free(&om);
        return;
    }
    enum { SIZE = 256, PIXELS = SIZE * SIZE };
    size_t n = (size_t)om.shape[0];
    double *x = malloc(2 * n * sizeof *x), *w = malloc(n * sizeof *w), bad = 0, all = 0;
    double complex *c = malloc(n * sizeof *c), *f = malloc(PIXELS * sizeof *f);
    for (size_t i = 0; i < 2 * n; i++)
        x[i % 2 * n + i / 2] = ((double *)om.data)[i];
    for (size_t i = 0; i < PIXELS; i++)
        f[i] = ((double *)image.data)[image.is_complex ? 2 * i : i];
    const double *const points[2] = { x, x + n };
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    desc.type = 2;
    desc.sign = -1;
    desc.dim = 2;
    desc.modes[0] = desc.modes[1] = SIZE;
    is_int(weigh(w, HCY_DENSITY_PIPE, 2, SIZE, 20, n, points), 0, "PyNUFFT's trajectory");
    status = hcy_nufft_run(dev, &desc, (int64_t)n, (const void *const *)points, 0, NULL, c, f);
    for (size_t i = 0; i < n; i++)
        c[i] *= w[i];
    desc.type = 1;
    desc.sign = 1;
    is_int(status ? status
                  : hcy_nufft_run(dev, &desc, (int64_t)n, (const void *const *)points, 0, NULL, c, f),
           0, "... its phantom, sampled and gridded with weights");
    for (size_t i = 0; i < PIXELS; i++) {
        double want = ((double *)image.data)[image.is_complex ? 2 * i : i];
        bad += (cabs(f[i]) - want) * (cabs(f[i]) - want);
        all += want * want;
    }
    /* PyNUFFT 2025.2's own, solve(y, 'dc', maxiter=20) with 512 x 512 and 6 x 6, leave 0.1824. */
    ok(sqrt(bad / all) < 0.182, "... is the phantom: %.3f", sqrt(bad / all));
    free(x);
    free(w);
    free(c);
    free(f);
    hcy_host_array_free(&om);
    hcy_host_array_free(&image);
}

static void test_refused(void)
{
    double x[3] = { 0, NAN, 1 }, w[3];
    const double *const points[1] = { x };
    const void *const none[1] = { NULL };
    hcy_density_desc desc = HCY_DENSITY_DESC_INIT;
    for (int method = HCY_DENSITY_PIPE; method <= HCY_DENSITY_VORONOI; method++)
        is_int(weigh(w, method, 1, 8, 5, 3, points), HCY_EINVAL, "a coordinate that is no number, method %d",
               method);
    is_int(weigh(w, 4, 1, 8, 5, 1, points), HCY_EINVAL, "no method");
    is_int(weigh(w, HCY_DENSITY_PIPE, 4, 8, 5, 1, points), HCY_EINVAL, "four axes");
    is_int(weigh(w, HCY_DENSITY_PIPE, 1, 0, 5, 1, points), HCY_EINVAL, "no modes");
    is_int(weigh(w, HCY_DENSITY_PIPE, 1, 8, 0, 1, points), HCY_EINVAL, "no iteration");
    is_int(weigh(w, HCY_DENSITY_PIPE, 1, 8, 5, 0, points), 0, "no points");
    /* Sizes that nobody has set are not 1, which one cell for all points would be. */
    double places[2] = { 0, 1 };
    for (desc.dim = 1; desc.dim <= 3; desc.dim++)
        for (desc.method = HCY_DENSITY_PIPE; desc.method <= HCY_DENSITY_VORONOI; desc.method++)
            is_int(hcy_density_weights(w, dev, &desc, 2, (const void *const[]){ places, places, places }), HCY_EINVAL,
                   "modes that are not set, %d axes, method %d", desc.dim, desc.method);
    ok(strstr(hcy_last_error()->text, "set hcy_density_desc.modes") != NULL, "... which is said");
    desc.method = HCY_DENSITY_PIPE;
    desc.dim = 1;
    desc.modes[0] = 8;
    is_int(hcy_density_weights(w, dev, &desc, 1, none), HCY_EINVAL, "points that are NULL");
    is_int(hcy_density_weights(w, dev, &desc, -1, none), HCY_EINVAL, "fewer points than none");
    ok(strstr(hcy_last_error()->text, "0 points or more") != NULL, "and how many there may be is said");
    is_int(hcy_density_weights(NULL, dev, &desc, 1, (const void *const *)points), HCY_EINVAL, "no place");
    is_int(hcy_density_weights(w, NULL, &desc, 1, (const void *const[]){ places }), HCY_EINVAL, "no device");
    for (desc.method = HCY_DENSITY_CELLS; desc.method <= HCY_DENSITY_VORONOI; desc.method++)
        is_int(hcy_density_weights(w, NULL, &desc, 2, (const void *const[]){ places }), 0, "... which method %d needs none of",
               desc.method);
    desc.method = HCY_DENSITY_CELLS;
    desc.dim = 3;
    desc.modes[0] = desc.modes[1] = desc.modes[2] = (int64_t)1 << 40;
    is_int(hcy_density_weights(w, dev, &desc, 1, (const void *const[]){ x, x, x }), HCY_ERANGE,
           "too many cells");
}

int main(int argc, char **argv)
{
    if (hcy_device_open(&dev, argc > 1 ? argv[1] : "cpu@threads=2"))
        skip_all("%s", hcy_last_error()->text);
    if (!(hcy_device_get_info(dev)->caps & HCY_CAP_FFT))
        skip_all("%s has no FFT", argc > 1 ? argv[1] : "the CPU");
    test_refused();
    test_grids();
    test_radial();
    test_voronoi_spokes();
    test_voronoi_cells();
    test_trajectory();
    hcy_device_release(dev);
    return done_testing();
}
