/* trajectory - gradients that come late, are filtered, and are found: against places by formulas, a direct convolution,
 * and k-space of Gaussians, which is known everywhere.
 *
 *     tests/trajectory [DEVICE]        (cpu@threads=2)
 */
#include "tap.h"
#include <complex.h>
#include <halcyon/fft.h>
#include <halcyon/trajectory.h>

#define PI 3.14159265358979323846
enum { SPOKES = 24, SAMPLES = 64, MOST = 400 * 64 };
static hcy_device *dev;
static double points[3][MOST], actual[3][MOST];
static void *const to[3] = { actual[0], actual[1], actual[2] };
static const void *const from[3] = { points[0], points[1], points[2] };

/* --- Trajectories, `late` samples late on each axis --- */

/* Readout r: a spoke of a plane or of space, or an interleaf of a spiral from the centre out. */
enum kind { SPOKE, SPACE, SPIRAL };

static double place_of(enum kind kind, int axis, size_t r, double t)
{
    const double angle = 2.3999632297 * (double)r, length = 2 * PI * (t / SAMPLES - 0.5);
    if (kind == SPIRAL) {
        const double turn = angle + 3 * 2 * PI * t / SAMPLES, out = PI * t / SAMPLES;
        return t < 0 ? 0 : out * (axis ? cos(turn) : sin(turn));
    }
    if (kind == SPOKE)
        return length * (axis ? cos(angle) : sin(angle));
    const double z = fmod(0.4655712 * (double)r, 1), flat = sqrt(1 - z * z);
    return length * (axis == 0 ? z : flat * (axis == 1 ? sin(angle) : cos(angle)));
}

static void fill(double (*x)[MOST], enum kind kind, int dim, size_t readouts, const double *late)
{
    for (int a = 0; a < dim; a++)
        for (size_t i = 0; i < readouts * SAMPLES; i++)
            x[a][i] = place_of(kind, a, i / SAMPLES, (double)(i % SAMPLES) - late[a]);
}

static hcy_trajectory_desc describe(int dim, size_t readouts)
{
    hcy_trajectory_desc desc = HCY_TRAJECTORY_DESC_INIT;
    desc.dim = dim;
    desc.readouts = (int64_t)readouts;
    desc.samples = SAMPLES;
    return desc;
}

static double find_worst(double (*x)[MOST], double (*y)[MOST], int dim, size_t n)
{
    double worst = 0;
    for (int a = 0; a < dim; a++)
        for (size_t i = 0; i < n; i++)
            worst = fmax(worst, fabs(x[a][i] - y[a][i]));
    return worst;
}

/* --- Delays --- */

static const double none[3], late[3] = { 0.7, -1.3, 2.25 };

static void test_delays(void)
{
    static double want[3][MOST];
    static float single[2][MOST];
    void *const floats[2] = { single[0], single[1] };
    hcy_trajectory_desc desc = describe(3, SPOKES);
    const size_t n = SPOKES * SAMPLES;
    fill(points, SPACE, 3, SPOKES, none);
    fill(want, SPACE, 3, SPOKES, late);
    is_int(hcy_trajectory_delay(to, &desc, from, late), 0, "spokes that come late");
    ok(find_worst(actual, want, 3, n) < 1e-13, "... are where they were, beyond their ends too: %.1e",
       find_worst(actual, want, 3, n));
    desc.dwell = 2e-6;
    const double seconds[3] = { 2e-6 * late[0], 2e-6 * late[1], 2e-6 * late[2] };
    is_int(hcy_trajectory_delay(to, &desc, from, seconds), 0, "... by seconds");
    ok(find_worst(actual, want, 3, n) < 1e-13, "... the same");
    desc = describe(2, SPOKES);
    fill(points, SPIRAL, 2, SPOKES, none);
    fill(want, SPIRAL, 2, SPOKES, late);
    is_int(hcy_trajectory_delay(to, &desc, from, late), 0, "spirals, at rest before they begin");
    /* The last samples go on straight, where the spiral would have turned. */
    for (size_t i = 0; i < 2 * n; i++)
        if (i % SAMPLES > SAMPLES - 3)
            actual[i / n][i % n] = want[i / n][i % n];
    ok(find_worst(actual, want, 2, n) < 1e-3, "... are there but for a cubic's error: %.1e",
       find_worst(actual, want, 2, n));
    is_int(hcy_trajectory_delay(to, &desc, from, none), 0, "no delay");
    ok(find_worst(actual, points, 2, n) == 0, "... changes no bit");
    for (size_t i = 0; i < 2 * n; i++)
        single[i / n][i % n] = (float)points[i / n][i % n];
    desc.precision = HCY_F32;
    is_int(hcy_trajectory_delay(floats, &desc, (const void *const *)floats, late), 0, "floats, in place");
    desc.precision = HCY_F64;
    is_int(hcy_trajectory_delay(to, &desc, from, late), 0, "... and doubles");
    double worst = 0;
    for (size_t i = 0; i < 2 * n; i++)
        worst = fmax(worst, fabs((double)single[i / n][i % n] - actual[i / n][i % n]));
    ok(worst < 1e-6, "... are the same: %.1e", worst);
}

/* Readouts of one, two and three samples have no cubics, but lines. */
static void test_short(void)
{
    double x[3] = { 1, 2, 3 };
    void *const place[1] = { x };
    hcy_trajectory_desc desc = HCY_TRAJECTORY_DESC_INIT;
    desc.dim = desc.readouts = 1;
    for (int64_t n = 1; n <= 3; n++) {
        desc.samples = n;
        x[0] = 1, x[1] = 2, x[2] = 3;
        is_int(hcy_trajectory_delay(place, &desc, (const void *const *)place, (double[]){ 0.5 }), 0,
               "%" PRId64 " samples", n);
        ok(fabs(x[0] - (n > 1 ? 0.5 : 1)) < 1e-15 && fabs(x[n - 1] - (n > 1 ? (double)n - 0.5 : 1)) < 1e-15,
           "... %g, %g", x[0], x[n - 1]);
    }
}

/* --- Responses --- */

/* H of taps at samples `first` on, at frequencies `from` on. */
static void fill_response(double complex *h, const double *taps, int n_taps, int first, const hcy_girf *girf)
{
    for (int64_t i = 0; i < girf->n; i++) {
        const double f = girf->first + (double)i * girf->step;
        h[i] = 0;
        for (int t = 0; t < n_taps; t++)
            h[i] += taps[t] * cexp(-2 * PI * I * f * (double)(t + first));
    }
}

/* The gradient of a readout at a time, as far before and behind it as one likes. */
static double gradient_at(const double *row, int i)
{
    const bool rests = row[0] == 0;
    if (i < 0)
        return rests ? 0 : row[1] - row[0];
    return i < SAMPLES - 1 ? row[i + 1] - row[i] : row[SAMPLES - 1] - row[SAMPLES - 2];
}

/* Places by summing k itself, extended: each gradient's filter is that of its sum. */
static double convolve_at(const double *row, int at, const double *taps, int n_taps, int first)
{
    double sum = 0;
    for (int t = 0; t < n_taps; t++) {
        int i = at - t - first;
        double place = row[0];
        for (int k = 0; k < i; k++)
            place += gradient_at(row, k);
        for (int k = i; k < 0; k++)
            place -= gradient_at(row, k);
        sum += taps[t] * place;
    }
    return sum;
}

static double find_worst_convolved(const double *taps, int n_taps, int first, size_t readouts)
{
    double worst = 0;
    for (int a = 0; a < 2; a++)
        for (size_t i = 0; i < readouts * SAMPLES; i++)
            worst = fmax(worst, fabs(actual[a][i] - convolve_at(points[a] + i / SAMPLES * SAMPLES,
                                                                (int)(i % SAMPLES), taps, n_taps, first)));
    return worst;
}

static void test_filters(enum kind kind, const char *name)
{
    static const double low[5] = { 0.1, 0.2, 0.4, 0.2, 0.1 }, gain[3] = { 0.5, 0.35, 0.1 };
    static double complex h[4096];
    static double want[2][MOST];
    hcy_trajectory_desc desc = describe(2, SPOKES);
    hcy_girf girf = HCY_GIRF_INIT;
    double one[4] = { 1, 0, 1, 0 };
    const size_t n = SPOKES * SAMPLES;
    fill(points, kind, 2, SPOKES, none);
    girf.n = 2;
    girf.first = -0.25;
    girf.step = 0.5;
    girf.response = one;
    is_int(hcy_trajectory_filter(to, dev, &desc, from, &girf), 0, "%s: a response of 1", name);
    ok(find_worst(actual, points, 2, n) < 1e-13, "... changes nothing: %.1e", find_worst(actual, points, 2, n));
    girf.n = 4096;
    girf.step = 1.0 / 4096;
    girf.first = -0.5;
    girf.response = (double *)h;
    fill_response(h, low, 5, -1, &girf);
    is_int(hcy_trajectory_filter(to, dev, &desc, from, &girf), 0, "... a low-pass");
    ok(find_worst_convolved(low, 5, -1, SPOKES) < 1e-5, "... is the convolution: %.1e",
       find_worst_convolved(low, 5, -1, SPOKES));
    fill_response(h, gain, 3, 0, &girf);
    is_int(hcy_trajectory_filter(to, dev, &desc, from, &girf), 0, "... one that lets pass 0.95");
    ok(find_worst_convolved(gain, 3, 0, SPOKES) < 1e-5, "... is its convolution: %.1e",
       find_worst_convolved(gain, 3, 0, SPOKES));
    memcpy(want, actual, sizeof want);
    /* Frequencies of 0 and above say all of real gradients; in seconds; in place. */
    desc.dwell = 4e-6;
    girf.first = 0;
    girf.step = 0.5 / 4095;
    fill_response(h, gain, 3, 0, &girf);
    girf.step /= desc.dwell;
    is_int(hcy_trajectory_filter((void *const *)from, dev, &desc, from, &girf), 0, "... its half, in seconds, in place");
    ok(find_worst(points, want, 2, n) < 1e-5, "... the same: %.1e", find_worst(points, want, 2, n));
}

/* A phase that falls evenly is a delay, of each axis its own. */
/* Between samples a spiral's beginning, from rest, is for cubics and Fourier transforms not the same. */
static void test_ramps(enum kind kind, const double *delays, double limit, const char *name)
{
    static double complex h[2][4096];
    static double want[2][MOST];
    hcy_trajectory_desc desc = describe(2, SPOKES);
    hcy_girf girf = HCY_GIRF_INIT;
    void *const there[2] = { want[0], want[1] };
    girf.rows = 2;
    girf.n = 4096;
    girf.step = 1.0 / 4096;
    girf.first = -0.5;
    girf.response = (double *)h;
    for (int a = 0; a < 2; a++)
        for (int64_t i = 0; i < girf.n; i++)
            h[a][i] = cexp(-2 * PI * I * (girf.first + (double)i * girf.step) * delays[a]);
    fill(points, kind, 2, SPOKES, none);
    is_int(hcy_trajectory_filter(to, dev, &desc, from, &girf) || hcy_trajectory_delay(there, &desc, from, delays),
           0, "%s: phases of a delay", name);
    ok(find_worst(actual, want, 2, SPOKES * SAMPLES) < limit, "... are that delay: %.1e",
       find_worst(actual, want, 2, SPOKES * SAMPLES));
}

/* More readouts than are filtered at once, and some that are left; of floats; and of one sample, which are at rest. */
static void test_rows(void)
{
    static const double low[5] = { 0.1, 0.2, 0.4, 0.2, 0.1 }, gain[2] = { 0.6, 0.35 };
    static double complex h[4096];
    static float single[2][MOST];
    void *const floats[2] = { single[0], single[1] };
    const size_t readouts = MOST / SAMPLES, n = readouts * SAMPLES;
    hcy_trajectory_desc desc = describe(2, readouts);
    hcy_girf girf = HCY_GIRF_INIT;
    girf.n = 4096;
    girf.step = 1.0 / 4096; /* rows of 8192 numbers, 256 at once */
    girf.first = -0.5;
    girf.response = (double *)h;
    fill_response(h, low, 5, -1, &girf);
    fill(points, SPOKE, 2, readouts, none);
    for (size_t i = 0; i < 2 * n; i++)
        single[i / n][i % n] = (float)points[i / n][i % n];
    is_int(hcy_trajectory_filter(to, dev, &desc, from, &girf), 0, "%zu spokes", readouts);
    ok(find_worst_convolved(low, 5, -1, readouts) < 1e-5, "... are convolved, the last ones too: %.1e",
       find_worst_convolved(low, 5, -1, readouts));
    desc.precision = HCY_F32;
    is_int(hcy_trajectory_filter(floats, dev, &desc, (const void *const *)floats, &girf), 0, "... floats, in place");
    double worst = 0;
    for (size_t i = 0; i < 2 * n; i++)
        worst = fmax(worst, fabs((double)single[i / n][i % n] - actual[i / n][i % n]));
    ok(worst < 2e-6, "... are the same: %.1e", worst);
    desc = describe(2, SPOKES);
    desc.samples = 1;
    fill_response(h, gain, 2, 0, &girf);
    is_int(hcy_trajectory_filter(to, dev, &desc, from, &girf), 0, "readouts of one sample");
    worst = 0;
    for (size_t i = 0; i < 2 * SPOKES; i++)
        worst = fmax(worst, fabs(actual[i / SPOKES][i % SPOKES] - 0.95 * points[i / SPOKES][i % SPOKES]));
    ok(worst < 1e-9, "... are what a response makes of rest: %.1e", worst);
}

/* --- Found in data --- */

/* What coils receive of five Gaussians, each with its own sensitivity to each. */
static double complex signal_of(int dim, const double *k, size_t coil)
{
    static const double places[5][3] = { { 4, -9, 2 }, { -7, 3, -3 }, { 6, 6, 1 }, { -3, -8, -4 }, { 0, 1, 3 } };
    double complex sum = 0;
    for (int g = 0; g < 5; g++) {
        double phase = 0, square = 0;
        for (int a = 0; a < dim; a++) {
            phase += k[a] * places[g][a];
            square += k[a] * k[a];
        }
        sum += (1 + 0.3 * cos((double)coil + g) + 0.2 * I * sin(2.0 * (double)coil + g)) *
               exp(-square * (2 + g)) * cexp(-I * phase);
    }
    return sum;
}

static double complex samples[10 * MOST];

static void receive(double (*x)[MOST], int dim, size_t n, size_t coils, double noise)
{
    for (size_t i = 0; i < coils * n; i++) {
        const double k[3] = { x[0][i % n], x[1][i % n], x[2][i % n] };
        /* Something that is as good as noise, and the same everywhere. */
        const double part = fmod(sin((double)i * 12.9898) * 43758.5453, 1);
        samples[i] = signal_of(dim, k, i / n) + noise * part * cexp(I * (double)i);
    }
}

static void find(const char *name, enum kind kind, int dim, size_t readouts, size_t coils, double noise,
                 const double *delays, double limit)
{
    static double x[3][MOST];
    const int64_t modes[3] = { 32, 32, 32 };
    hcy_trajectory_desc desc = describe(dim, readouts);
    double found[3], worst = 0;
    fill(points, kind, dim, readouts, none);
    fill(x, kind, dim, readouts, delays);
    receive(x, dim, readouts * SAMPLES, coils, noise);
    desc.dwell = 3e-6;
    is_int(hcy_trajectory_find_delays(found, &desc, modes, from, samples, (int64_t)coils), 0, "%s", name);
    for (int a = 0; a < dim; a++)
        worst = fmax(worst, fabs(found[a] / 3e-6 - delays[a]));
    ok(worst < limit, "... to %.1e samples", worst);
}

/* Every other readout is of a slice outside of the middle, in which there are more samples than are looked at. */
static void test_slices(const char *name, enum kind kind, const double *delays)
{
    enum { READOUTS = 400 };
    static double x[3][MOST];
    const int64_t modes[3] = { 32, 32, 32 };
    hcy_trajectory_desc desc = describe(3, READOUTS);
    double found[3];
    for (size_t i = 0; i < READOUTS * SAMPLES; i++)
        for (int a = 0; a < 3; a++) {
            const size_t readout = i / SAMPLES;
            const double t = (double)(i % SAMPLES);
            points[a][i] = a ? place_of(kind, a - 1, readout / 2, t) / 4 : readout % 2 ? 0 : -2;
            x[a][i] = a ? place_of(kind, a - 1, readout / 2, t - delays[a]) / 4 : points[a][i];
        }
    receive(x, 3, READOUTS * SAMPLES, 2, 0);
    is_int(hcy_trajectory_find_delays(found, &desc, modes, from, samples, 2), 0, "%s", name);
    ok(fabs(found[1] - delays[1]) < 0.02 && fabs(found[2] - delays[2]) < 0.02, "... %g, %g", found[1], found[2]);
    ok(found[0] == 0, "... and none across slices: %g", found[0]);
}

/* Spokes of some degrees to both sides of an axis. */
static void fill_fan(int readouts, int length, double degrees)
{
    for (int i = 0; i < readouts * length; i++) {
        const double side = 2 * ((double)(i / length) + 0.5) / readouts - 1, angle = PI / 180 * degrees * side,
                     place = 2 * PI * ((double)(i % length) / length - 0.5);
        points[0][i] = place * sin(angle);
        points[1][i] = place * cos(angle);
    }
}

/* Delays that are tried stay within readouts, however short these are and whatever their energy says. */
static void test_within(void)
{
    enum { SIDE = 32, FEW = 30, SHORT = 4, NOISY = 64 };
    const int64_t modes[2] = { 8, 8 }, wide[2] = { 32, 32 };
    hcy_trajectory_desc desc = describe(2, SIDE * SIDE);
    double found[2];
    for (int i = 0; i < SIDE * SIDE; i++) {
        points[0][i] = 2 * PI * ((double)(i / SIDE) / SIDE - 0.5);
        points[1][i] = 2 * PI * ((double)(i % SIDE) / SIDE - 0.5);
    }
    receive(points, 2, SIDE * SIDE, 1, 0);
    desc.samples = 1;
    is_int(hcy_trajectory_find_delays(found, &desc, modes, from, samples, 1), 0, "readouts of one sample");
    ok(found[0] == 0 && found[1] == 0, "... without gradients are not late: %g, %g", found[0], found[1]);
    /* Nearly parallel spokes say nothing of the other axis. */
    desc = describe(2, FEW);
    fill_fan(FEW, SAMPLES, 1);
    receive(points, 2, FEW * SAMPLES, 1, 0.5);
    is_int(hcy_trajectory_find_delays(found, &desc, wide, from, samples, 1), 0, "a narrow fan of spokes");
    /* Of noise alone steps go as far as they may, again and again. */
    desc = describe(2, NOISY);
    desc.samples = SHORT;
    fill_fan(NOISY, SHORT, 16);
    int failures = 0;
    for (int seed = 0; seed < 10; seed++) {
        for (int i = 0; i < NOISY * SHORT; i++)
            samples[i] = cexp(I * 1000 * sin(12.9898 * (i + seed * 1000)));
        failures += hcy_trajectory_find_delays(found, &desc, modes, from, samples, 1) != 0 || fabs(found[0]) > SHORT ||
                    fabs(found[1]) > SHORT;
    }
    is_int(failures, 0, "short readouts of noise");
}

static void test_finding(void)
{
    const double large[3] = { 3.5, -3, 2 }, even[3] = { 2, 2, 2 }, small[3] = { 0.02, -0.05, 0 };
    find("spokes of a coil", SPOKE, 2, 60, 1, 0, late, 1e-3);
    find("... with as much on both axes", SPOKE, 2, 60, 1, 0, even, 1e-3);
    find("... of ten coils, few, with noise", SPOKE, 2, 30, 10, 0.05, late, 0.02);
    find("... large delays", SPOKE, 2, 60, 3, 0, large, 1e-3);
    find("... small ones", SPOKE, 2, 60, 3, 0, small, 1e-3);
    find("spirals", SPIRAL, 2, 60, 3, 0, even, 0.02);
    find("spokes without a delay", SPOKE, 2, 60, 2, 0, none, 1e-3);
    test_slices("stars, slices first", SPOKE, (double[]){ 0, 1.5, -0.75 });
#ifndef IS_SANITIZED /* half a minute of the same lines */
    find("spokes in space", SPACE, 3, 400, 2, 0, late, 2e-3);
    test_slices("spirals, slices first", SPIRAL, (double[]){ 0, 2, 2 });
#endif
    test_within();
}

/* --- What is refused --- */

static void test_refused(void)
{
    const int64_t modes[3] = { 32, 32, 32 };
    hcy_trajectory_desc desc = describe(2, SPOKES);
    hcy_girf girf = HCY_GIRF_INIT;
    double one[2] = { 1, 0 }, delays[2] = { 0 };
    fill(points, SPOKE, 2, SPOKES, none);
    const double bad[2] = { 0, NAN }, far[2] = { 65, 0 };
    is_int(hcy_trajectory_delay(to, &desc, from, bad), HCY_EINVAL, "a delay that is no number");
    is_int(hcy_trajectory_delay(to, &desc, from, far), HCY_EINVAL, "... longer than a readout");
    points[1][7] = INFINITY;
    is_int(hcy_trajectory_delay(to, &desc, from, delays), HCY_EINVAL, "an infinite place");
    ok(strstr(hcy_last_error()->text, "coordinate 1 of point 7") != NULL, "... named");
    points[1][7] = 0;
    desc.dwell = 0;
    is_int(hcy_trajectory_delay(to, &desc, from, delays), HCY_EINVAL, "no dwell");
    desc = describe(4, SPOKES);
    is_int(hcy_trajectory_delay(to, &desc, from, delays), HCY_EINVAL, "four axes");
    desc = describe(2, SPOKES);
    girf.n = 1;
    girf.response = one;
    is_int(hcy_trajectory_filter(to, dev, &desc, from, &girf), HCY_EINVAL, "no step of frequencies");
    girf.step = 1;
    girf.rows = 3;
    is_int(hcy_trajectory_filter(to, dev, &desc, from, &girf), HCY_EINVAL, "three rows of two axes");
    girf.rows = 1;
    one[1] = NAN;
    is_int(hcy_trajectory_filter(to, dev, &desc, from, &girf), HCY_EINVAL, "a response that is no number");
    memset(samples, 0, sizeof samples);
    is_int(hcy_trajectory_find_delays(delays, &desc, modes, from, samples, 1), HCY_EINVAL, "samples that are 0");
    receive(points, 2, SPOKES * SAMPLES, 2, 0);
    samples[SPOKES * SAMPLES + SAMPLES / 2] = NAN;
    is_int(hcy_trajectory_find_delays(delays, &desc, modes, from, samples, 2), HCY_EINVAL, "... or no number");
    ok(strstr(hcy_last_error()->text, "coil 1") != NULL, "... named");
    desc.readouts = 1;
    is_int(hcy_trajectory_find_delays(delays, &desc, modes, from, samples, 1), HCY_EINVAL, "a single spoke");
}

int main(int argc, char **argv)
{
    if (hcy_device_open(&dev, argc > 1 ? argv[1] : "cpu@threads=2"))
        skip_all("%s", hcy_last_error()->text);
    test_delays();
    test_short();
    test_filters(SPOKE, "spokes");
    test_filters(SPIRAL, "spirals");
    test_ramps(SPOKE, late, 1e-9, "spokes");
    test_ramps(SPIRAL, (double[]){ 2, -1 }, 1e-5, "spirals");
    test_rows();
    test_finding();
    test_refused();
    hcy_device_release(dev);
    return done_testing();
}
