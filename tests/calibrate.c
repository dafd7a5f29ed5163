/* Calibrants' rings, derivatives of angles in the geometry, and the geometry from places on rings.  With the argument
 * `print`: every calibrant's rings, for peers.t to hold against pyFAI's. */
#include "tap.h"

#include <halcyon/calibrate.h>

enum { P = HCY_PONI_PARAMETERS, HEIGHT = 1065, WIDTH = 1030 }; /* Eiger 1M's */
#define PI 3.14159265358979323846

static const hcy_calibrant *find(const char *name)
{
    const hcy_calibrant *found = NULL;
    if (hcy_calibrant_find(&found, name))
        bail_out("%s", hcy_last_error()->text);
    return found;
}

static int print_rings(void)
{
    static double spacings[4000];
    size_t n, rings;
    const hcy_calibrant *all = hcy_calibrant_list(&n);
    for (size_t i = 0; i < n; i++) {
        /* Large cells have so many reflections that pyFAI's lists end early, too. */
        double most = fmax(all[i].a, all[i].c), shortest = most > 30 ? 1.1e-10 : most > 6 ? 0.4e-10 : 0.07e-10;
        if (hcy_calibrant_spacings(spacings, &rings, 4000, &all[i], shortest))
            bail_out("%s", hcy_last_error()->text);
        for (size_t k = 0; k < rings; k++)
            printf("%s %.10f\n", all[i].name, 1e10 * spacings[k]);
    }
    return 0;
}

static void check_calibrants(void)
{
    double d[100];
    size_t n = 0, count;
    const hcy_calibrant *any = hcy_calibrant_list(&count), *no = NULL;
    int falling = 1;
    for (size_t i = 0; i < count; i++) {
        falling &= !hcy_calibrant_spacings(d, &n, 100, &any[i], 0.9e-10) && n > 1;
        for (size_t k = 1; k < n; k++)
            falling &= d[k] < d[k - 1] && d[k] >= 0.9e-10 && d[k] * (1 + 1e-7) < d[k - 1];
    }
    ok(falling, "every calibrant has rings, the largest spacing first, none twice");
    ok(find("ceo2") == find("Ce O-2") && !strcmp(find("CEO2")->name, "CeO2"), "case, blanks and dashes do not count");
    is_int(hcy_calibrant_find(&no, "cheese"), HCY_ENOENT, "cheese is none");
    ok(strstr(hcy_last_error()->text, "LaB6") && !no, "and the words say which there are");
    ok(!hcy_calibrant_spacings(d, &n, 3, find("Si"), 1e-10) && n == 3 && fabs(1e10 * d[1] - 1.92021727) < 1e-8,
       "no more than there is room for: silicon's second is 220");
    ok(!hcy_calibrant_spacings(d, &n, 100, find("AgBh"), 10e-10) && n == 5 && fabs(1e10 * d[4] - 11.676) < 1e-9,
       "layers");
    is_int(hcy_calibrant_spacings(d, &n, 100, find("Si"), 0), HCY_EINVAL, "a shortest spacing of 0");
    is_int(hcy_calibrant_spacings(d, &n, 100, find("Si"), 1e-15), HCY_ERANGE, "one that is too short");
}

/* --- Derivatives --- */

static double *parameter(hcy_poni *p, int k)
{
    double *const all[P] = { &p->dist, &p->poni1, &p->poni2, &p->rot1, &p->rot2, &p->rot3, &p->wavelength };
    return all[k];
}

static hcy_poni tilted(const char *detector, int orientation)
{
    hcy_poni p = HCY_PONI_INIT;
    if (hcy_detector_find(&p.detector, detector))
        bail_out("%s", hcy_last_error()->text);
    p.dist = 0.15;
    p.poni1 = 0.045;
    p.poni2 = 0.03;
    p.rot1 = 0.2;
    p.rot2 = -0.35;
    p.rot3 = 0.7;
    p.wavelength = 0.5e-10;
    p.orientation = orientation;
    return p;
}

static const double places[] = { 0.5, 0.5, 700.25, 20.75, 1064.5, 1029.5, 300, 500, -200, 1500, 256.1, 256.9 };
enum { PLACES = sizeof places / sizeof places[0] / 2 };

/* The largest difference from central differences, relative to the largest derivative in that parameter, or to the
 * value where there is none. */
static double against_differences(const hcy_poni *poni, size_t height, size_t width, const char *unit)
{
    double exact[PLACES * P], up[PLACES], down[PLACES], worst = 0;
    if (hcy_poni_gradients(NULL, exact, poni, height, width, unit, places, PLACES))
        bail_out("%s", hcy_last_error()->text);
    for (int k = 0; k < P; k++) {
        double h = k == HCY_PONI_WAVELENGTH ? 1e-15 : 1e-6, largest = 0, off = 0;
        hcy_poni moved = *poni;
        *parameter(&moved, k) += h;
        int status = hcy_poni_gradients(up, NULL, &moved, height, width, unit, places, PLACES);
        *parameter(&moved, k) -= 2 * h;
        if (status || hcy_poni_gradients(down, NULL, &moved, height, width, unit, places, PLACES))
            bail_out("%s", hcy_last_error()->text);
        for (int i = 0; i < PLACES; i++) {
            largest = fmax(largest, fmax(fabs(exact[P * i + k]), fabs(up[i])));
            off = fmax(off, fabs((up[i] - down[i]) / (2 * h) - exact[P * i + k]));
        }
        worst = fmax(worst, off / largest);
    }
    return worst;
}

/* The formula of pyFAI's documentation, written out, for a pixel's centre of a plain detector. */
static double angle_of(const hcy_poni *p, double pixel, int i, int j)
{
    double p1 = pixel * (i + 0.5) - p->poni1, p2 = pixel * (j + 0.5) - p->poni2, l = p->dist;
    double c1 = cos(p->rot1), c2 = cos(p->rot2), c3 = cos(p->rot3);
    double s1 = sin(p->rot1), s2 = sin(p->rot2), s3 = sin(p->rot3);
    double y = p1 * c2 * c3 + p2 * (c3 * s1 * s2 - c1 * s3) - l * (c1 * c3 * s2 + s1 * s3);
    double x = p1 * c2 * s3 + p2 * (c1 * c3 + s1 * s2 * s3) - l * (c1 * s2 * s3 - c3 * s1);
    double z = p1 * s2 - p2 * c2 * s1 + l * c1 * c2;
    return atan2(hypot(x, y), z);
}

static void check_gradients(void)
{
    static const struct {
        const char *detector;
        size_t height, width;
    } kinds[] = { { "Eiger1M", HEIGHT, WIDTH }, { "Pilatus1M", 1043, 981 }, { "ImXPadS140", 240, 560 },
                  { "Pixirad1", 476, 512 }, { "Aarhus", 1000, 16000 } };
    static const char *const units[] = { "2th_rad", "2th_deg", "q_nm^-1", "q_A^-1", "d_nm" };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        double worst = 0;
        for (int orientation = 1; orientation <= 4; orientation++) {
            hcy_poni poni = tilted(kinds[i].detector, orientation);
            for (size_t u = 0; u < sizeof units / sizeof units[0]; u++)
                worst = fmax(worst, against_differences(&poni, kinds[i].height, kinds[i].width, units[u]));
        }
        ok(worst < 1e-6, "%s: derivatives are those that differences show (%.1e) in 4 orientations and 5 units",
           kinds[i].detector, worst);
    }
    hcy_poni poni = tilted("Eiger1M", 3);
    double values[PLACES], gradient[P], at[] = { 700.5, 20.5 }, middle[2];
    ok(!hcy_poni_gradients(values, NULL, &poni, HEIGHT, WIDTH, "2th_rad", at, 1) &&
           fabs(values[0] - angle_of(&poni, 75e-6, 700, 20)) < 1e-14,
       "2 theta is that of the formula");
    poni.rot1 = poni.rot2 = poni.rot3 = 0;
    middle[0] = poni.poni1 / 75e-6;
    middle[1] = poni.poni2 / 75e-6;
    ok(!hcy_poni_gradients(values, gradient, &poni, HEIGHT, WIDTH, "2th_rad", middle, 1) && fabs(values[0]) < 1e-12 &&
           fabs(gradient[0]) < 1e-9,
       "in the middle of the beam nothing is infinite");
    /* Edges on powers of two, so that the place is the middle exactly. */
    hcy_poni exact = HCY_PONI_INIT;
    exact.dist = 0.125;
    exact.pixel1 = exact.pixel2 = exact.poni1 = exact.poni2 = 0x1p-13;
    exact.wavelength = 1e-10;
    double one[] = { 1, 1 };
    for (size_t u = 0; u < sizeof units / sizeof units[0]; u++) {
        int status = hcy_poni_gradients(values, gradient, &exact, 2, 2, units[u], one, 1), zeros = !status;
        for (int k = 0; k < P; k++)
            zeros = zeros && gradient[k] == 0;
        ok(zeros, "%s: no gradient there", units[u]);
    }
    is_int(hcy_poni_gradients(values, NULL, &poni, HEIGHT, WIDTH, "r_mm", places, 1), HCY_EUNSUPPORTED, "lengths: no");
    is_int(hcy_poni_gradients(values, NULL, &poni, HEIGHT, WIDTH, "inches", places, 1), HCY_ENOENT, "inches: no");
    poni.wavelength = 0;
    is_int(hcy_poni_gradients(values, NULL, &poni, HEIGHT, WIDTH, "q_nm^-1", places, 1), HCY_EINVAL,
           "q without a wavelength");
}

/* --- Fits --- */

static uint64_t state;

/* Uniform from -1 to 1. */
static double random_number(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)(state >> 11 << 11) / 0x1p63;
}

/* Places on rings, moved at random by `noise` pixels across them; how many. */
static size_t points_on_rings(hcy_ring_point *points, size_t most, const hcy_poni *poni, double noise)
{
    double d[12], angle, g[P], pixel = poni->detector->pixel1;
    size_t rings, n = 0;
    if (hcy_calibrant_spacings(d, &rings, 12, find("CeO2"), 1e-10))
        bail_out("%s", hcy_last_error()->text);
    state = 1;
    for (int tries = 0; n < most && tries < 100000; tries++) {
        double want = 2 * asin(poni->wavelength / (2 * d[tries % (int)rings]));
        double at[2] = { HEIGHT * (0.5 + 0.5 * random_number()), WIDTH * (0.5 + 0.5 * random_number()) };
        /* Newton's steps across the ring: where poni moves, places move against it. */
        for (int step = 0; step < 8; step++) {
            if (hcy_poni_gradients(&angle, g, poni, HEIGHT, WIDTH, "2th_rad", at, 1))
                bail_out("%s", hcy_last_error()->text);
            double by = (want - angle) / (g[1] * g[1] + g[2] * g[2]) / pixel;
            if (step == 7)
                by += noise * random_number() / hypot(g[1], g[2]);
            at[0] -= g[1] * by * (poni->orientation == 1 || poni->orientation == 2 ? -1 : 1);
            at[1] -= g[2] * by * (poni->orientation == 1 || poni->orientation == 4 ? -1 : 1);
        }
        if (at[0] >= 0 && at[0] < HEIGHT && at[1] >= 0 && at[1] < WIDTH)
            points[n++] = (hcy_ring_point){ at[0], at[1], d[tries % (int)rings] };
    }
    return n;
}

static int found(const hcy_poni *poni, const hcy_poni *truth, double lengths, double angles)
{
    return fabs(poni->dist - truth->dist) < lengths && fabs(poni->poni1 - truth->poni1) < lengths &&
           fabs(poni->poni2 - truth->poni2) < lengths && fabs(poni->rot1 - truth->rot1) < angles &&
           fabs(poni->rot2 - truth->rot2) < angles;
}

static hcy_poni displaced(const hcy_poni *truth)
{
    hcy_poni poni = *truth;
    poni.dist *= 1.02;
    poni.poni1 += 8e-4;
    poni.poni2 -= 8e-4;
    poni.rot1 += 0.02;
    poni.rot2 -= 0.02;
    return poni;
}

static void check_fits(void)
{
    static hcy_ring_point points[600];
    const unsigned fixed = 1u << HCY_PONI_WAVELENGTH;
    for (int orientation = 1; orientation <= 4; orientation++) {
        hcy_poni truth = tilted("Eiger1M", orientation), poni = displaced(&truth);
        hcy_poni_fit fit = HCY_PONI_FIT_INIT;
        size_t n = points_on_rings(points, 300, &truth, 0);
        int status = hcy_poni_refine(&poni, &fit, HEIGHT, WIDTH, points, n, fixed);
        ok(!status && n == 300 && fit.converged && found(&poni, &truth, 1e-9, 1e-8) && fit.rms_pixels < 1e-6,
           "orientation %d: the geometry comes back from points without noise (%u steps)", orientation, fit.iterations);
    
    }
    hcy_poni truth = tilted("Eiger1M", 3), poni = displaced(&truth);
    hcy_poni_fit fit = HCY_PONI_FIT_INIT;
    size_t n = points_on_rings(points, 600, &truth, 0.3);
    /* A sixth of the points belong to the ring before. */
    for (size_t i = 0; i < n; i += 6)
        points[i].row += 12;
    int status = hcy_poni_refine(&poni, &fit, HEIGHT, WIDTH, points, n, fixed);
    int within = 1;
    for (int k = 0; k < HCY_PONI_ROT3; k++)
        within &= fit.sigma[k] > 0 && fabs(*parameter(&poni, k) - *parameter(&truth, k)) < 4 * fit.sigma[k];
    ok(!status && fit.converged && within,
       "with noise and outliers every parameter is within 4 of its standard deviations");
    ok(fit.rms_pixels > 0.12 && fit.rms_pixels < 0.22 && fit.n_used < n - n / 12 && fit.n_used > n * 3 / 4,
       "the scatter is the noise's (%.3f pixels), outliers are left out (%zu of %zu count)", fit.rms_pixels,
       fit.n_used, n);
    ok(fit.sigma[HCY_PONI_ROT3] == 0 && poni.rot3 == truth.rot3 && fit.sigma[HCY_PONI_WAVELENGTH] == 0 &&
           poni.wavelength == truth.wavelength, "what is fixed stays");
    n = points_on_rings(points, 600, &truth, 0);
    poni = displaced(&truth);
    poni.wavelength *= 1.01;
    status = hcy_poni_refine(&poni, &fit, HEIGHT, WIDTH, points, n, 1u << HCY_PONI_ROT3);
    ok(!status && found(&poni, &truth, 1e-7, 1e-6) && fabs(poni.wavelength / truth.wavelength - 1) < 1e-6,
       "the wavelength, too, where rings are far from the beam");
    hcy_poni before = poni;
    is_int(hcy_poni_refine(&poni, &fit, HEIGHT, WIDTH, points, 4, fixed), HCY_EINVAL, "4 points for 5 parameters");
    points[0].row = NAN;
    is_int(hcy_poni_refine(&poni, &fit, HEIGHT, WIDTH, points, n, fixed), HCY_EINVAL, "a point that is nowhere");
    points[0] = points[1];
    points[0].spacing = 1e-12;
    is_int(hcy_poni_refine(&poni, &fit, HEIGHT, WIDTH, points, n, fixed), HCY_EINVAL, "planes without a ring");
    for (size_t i = 0; i < n; i++)
        points[i] = points[1];
    is_int(hcy_poni_refine(&poni, &fit, HEIGHT, WIDTH, points, n, fixed), HCY_ERANGE, "one place, many times");
    ok(!memcmp(&poni, &before, sizeof poni), "a geometry that cannot be fitted is left alone");
}

/* A pixel of a detector's file without a place says nothing of the geometry, and must not stop the others from it. */
static void check_lost_pixel(void)
{
    enum { SIDE = 20, N = 40, LOST = 7 * SIDE + 6 };
    static float corners[SIDE * SIDE][4][3];
    hcy_ring_point points[N];
    hcy_poni poni = HCY_PONI_INIT;
    hcy_poni_fit fit = HCY_PONI_FIT_INIT;
    const unsigned fixed = ~(1u << HCY_PONI_DIST | 1u << HCY_PONI_PONI1 | 1u << HCY_PONI_PONI2);
    for (size_t i = 0; i < SIDE * SIDE; i++)
        for (size_t k = 0; k < 4; k++) {
            corners[i][k][1] = (float)(1e-3 * (double)(i / SIDE + (k == 1 || k == 2)));
            corners[i][k][2] = (float)(1e-3 * (double)(i % SIDE + (k >= 2)));
        }
    for (size_t i = 0; i < N; i++) {
        double radius = i % 2 ? 8 : 4.5, at = 6.283185307179586 * (double)i / N;
        points[i] = (hcy_ring_point){ 10 + radius * sin(at), 10 + radius * cos(at),
                                      1e-10 / (2 * sin(atan(radius * 1e-3 / 0.1) / 2)) };
    }
    poni.corners = &corners[0][0][0];
    poni.height = poni.width = SIDE;
    poni.pixel1 = poni.pixel2 = 1e-3;
    poni.dist = 0.102;
    poni.poni1 = 0.0102;
    poni.poni2 = 0.0099;
    poni.wavelength = 1e-10;
    poni.orientation = 3;
    hcy_poni before = poni;
    int status = hcy_poni_refine(&poni, &fit, SIDE, SIDE, points, N, fixed);
    ok(!status && fabs(poni.dist - 0.1) < 1e-7 && fabs(poni.poni1 - 0.01) < 1e-8, "pixels with corners of their own: %g m",
       poni.dist);
    poni = before;
    memset(corners[LOST], 0xff, sizeof corners[LOST]); /* not a number */
    points[1].row = 7.5;
    points[1].column = 6.5;
    is_int(hcy_poni_refine(&poni, &fit, SIDE, SIDE, points, N, fixed), HCY_EINVAL, "a point in a pixel without a place: %s",
           hcy_last_error()->text);
}

/* --- Frames for calibrate_cli.t --- */

/* Poisson's numbers: exactly for few, as normal ones for many. */
static uint32_t count_around(double mean)
{
    double limit = exp(-mean), product = 1, sum = 0;
    if (mean > 40) {
        for (int i = 0; i < 12; i++)
            sum += random_number();
        return (uint32_t)fmax(0, mean + sqrt(mean) * sum / 2 + 0.5);
    }
    for (uint32_t n = 0;; n++) {
        product *= fabs(random_number());
        if (product <= limit)
            return n;
    }
}

/* What one pixel sees on average: rings of unlike strength, three pixels wide, on air that falls off. */
static double brightness(double angle, const double *rings, size_t n, double pixel)
{
    double sum = 0.12 * exp(-angle / 0.15) + 0.03;
    for (size_t k = 0; k < n; k++)
        if (fabs(angle - rings[k]) < 6 * pixel)
            sum += (0.25 + (double)(7 * k % 5) / 5) *
                   exp(-rings[k] / 0.4 - pow((angle - rings[k]) / pixel, 2) / 3);
    return sum;
}

static void write_frame(const char *path, const uint32_t *frame, size_t height, size_t width)
{
    char head[118];
    unsigned char magic[10] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 118, 0 };
    int n = snprintf(head, sizeof head, "{'descr': '<u4', 'fortran_order': False, 'shape': (%zu, %zu), }", height,
                     width);
    FILE *f = fopen(path, "wb");
    if (!f)
        bail_out("%s cannot be written", path);
    memset(head + n, ' ', sizeof head - (size_t)n);
    head[sizeof head - 1] = '\n';
    if (fwrite(magic, 1, sizeof magic, f) != sizeof magic || fwrite(head, 1, sizeof head, f) != sizeof head ||
        fwrite(frame, sizeof *frame, height * width, f) != height * width || fclose(f))
        bail_out("%s cannot be written", path);
}

/* FILE HEIGHT WIDTH PIXEL ORIENTATION DIST PONI1 PONI2 ROT1 ROT2 WAVELENGTH CALIBRANT COUNTS STOP: a frame of a powder,
 * with air, noise, hot pixels, a beamstop (its half-angle) and gaps.  CALIBRANT "none": no rings. */
static int make_frame(char **w)
{
    size_t height = (size_t)atoi(w[1]), width = (size_t)atoi(w[2]), n = 0;
    int orientation = atoi(w[4]), has_rings = strcmp(w[11], "none");
    double pixel = atof(w[3]), d[256], counts = atof(w[12]), stop = atof(w[13]);
    hcy_poni poni = HCY_PONI_INIT;
    uint32_t *frame = malloc(height * width * sizeof *frame);
    for (int k = 0; k < HCY_PONI_ROT3; k++)
        *parameter(&poni, k) = atof(w[5 + k]);
    double wavelength = atof(w[10]);
    if (!frame || (has_rings && hcy_calibrant_spacings(d, &n, 256, find(w[11]), 0.6e-10 * wavelength)))
        bail_out("no frame: %s", frame ? hcy_last_error()->text : "no memory");
    for (size_t k = 0; k < n; k++)
        d[k] = 2 * asin(1e-10 * wavelength / (2 * d[k]));
    state = 5;
    for (size_t i = 0; i < height; i++)
        for (size_t j = 0; j < width; j++) {
            size_t row = orientation == 1 || orientation == 2 ? height - 1 - i : i;
            size_t column = orientation == 1 || orientation == 4 ? width - 1 - j : j;
            double angle = angle_of(&poni, pixel, (int)row, (int)column), hot = random_number();
            uint32_t v = angle < stop ? 0 : count_around(counts * brightness(angle, d, n, pixel / poni.dist));
            /* A cross of gaps, and one pixel in ten thousand is hot. */
            if (i % 212 >= 195 || j % 494 >= 487)
                v = UINT32_MAX;
            frame[i * width + j] = hot > 0.9998 ? 100000 : v;
        }
    write_frame(w[0], frame, height, width);
    free(frame);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 16 && !strcmp(argv[1], "frame"))
        return make_frame(argv + 2);
    if (argc > 1 && !strcmp(argv[1], "print"))
        return print_rings();
    check_calibrants();
    check_gradients();
    check_fits();
    check_lost_pixel();
    return done_testing();
}
