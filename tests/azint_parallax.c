/* Thick sensors: pixels are where the photons that they count came in, by an integral over the depth at which these
 * are absorbed and by pyFAI's own numbers; what the PONI file says of it is read, written and, where it cannot be,
 * refused. */
#include "tap.h"

#include <halcyon/azint.h>
#include <halcyon/calibrate.h>

enum { HEIGHT = 60, WIDTH = 80, N_PLACES = 5 };
#define KEV_METRES 12.398419843320026e-10
#define PI         3.14159265358979323846

static const size_t places[N_PLACES][2] = { { 0, 0 }, { 20, 79 }, { 45, 3 }, { 59, 79 }, { 19, 29 } };

/* `pyfai`: degrees of 2 theta that pyFAI 2026.9 has there (center_array() after enable_parallax()). */
static const struct sensor {
    const char *material;
    double thickness, energy, mu;
    double pyfai[N_PLACES];
} sensors[] = {
    { "Si", 450e-6, 20, 1039.6656, { 24.859969178, 51.372482274, 41.674398953, 63.339253320, 12.033407288 } },
    { "CdTe", 1e-3, 60, 3827.07, { 24.859652623, 51.383065091, 41.675102931, 63.359642968, 12.033882697 } },
    { "Ge", 0, 10, 19933.634, { 24.944427991, 51.463655546, 41.758658462, 63.431048743, 12.031023764 } },
    /* Between two energies of the table absorption is a power of the energy; pyFAI draws a straight line. */
    { "Si", 450e-6, 12.4, 0, { 0 } },
};
enum { N_SENSORS = sizeof sensors / sizeof sensors[0] };

static double mu_of(const struct sensor *s)
{
    return s->mu > 0 ? s->mu : 232.9 * 33.89 * pow(1.24, log(10.34 / 33.89) / log(1.5));
}

static hcy_poni geometry(const struct sensor *s)
{
    hcy_poni p = HCY_PONI_INIT;
    p.dist = 0.05;
    p.poni1 = 0.02;
    p.poni2 = 0.03;
    p.rot1 = 0.1;
    p.rot2 = -0.2;
    p.rot3 = 0.3;
    p.wavelength = KEV_METRES / s->energy;
    p.pixel1 = p.pixel2 = 1e-3;
    p.height = HEIGHT;
    p.width = WIDTH;
    snprintf(p.sensor_material, sizeof p.sensor_material, "%s", s->material);
    p.sensor_thickness = s->thickness;
    p.parallax = 1;
    return p;
}

/* Where photons that come in at r are seen: the mean of where they are absorbed, by Simpson's rule. */
static double seen_at(double r, double dist, double mu, double thickness)
{
    enum { STEPS = 400 };
    double angle = atan2(r, dist), length = (thickness > 0 ? thickness / cos(angle) : 40 / mu), sum = 0, mean = 0;
    for (int k = 0; k <= STEPS; k++) {
        double s = length * k / STEPS, weight = (k == 0 || k == STEPS ? 1 : k % 2 ? 4 : 2) * exp(-mu * s);
        sum += weight;
        mean += weight * s;
    }
    return r + sin(angle) * mean / sum;
}

/* 2 theta in degrees of a place in metres from the point of normal incidence. */
static double oracle(const struct sensor *s, double p1, double p2)
{
    double seen = hypot(p1, p2), low = 0, high = seen;
    for (int k = 0; k < 52; k++) {
        double r = (low + high) / 2;
        *(seen_at(r, 0.05, mu_of(s), s->thickness) > seen ? &high : &low) = r;
    }
    p1 *= low / seen;
    p2 *= low / seen;
    /* rot1, rot2 (left-handed), rot3, one after another. */
    double y = p1, x = p2 * cos(0.1) + 0.05 * sin(0.1), z = -p2 * sin(0.1) + 0.05 * cos(0.1);
    double up = y * cos(-0.2) - z * sin(-0.2), along = y * sin(-0.2) + z * cos(-0.2);
    return atan2(hypot(up, x), along) * 180 / PI;
}

static void test_places(const struct sensor *s)
{
    static double map[HEIGHT * WIDTH], by_hand[2 * N_PLACES], values[N_PLACES];
    hcy_poni p = geometry(s);
    double off = 0, far_from_pyfai = 0, other = 0;
    if (hcy_azint_map(map, NULL, &p, HEIGHT, WIDTH, "2th_deg", 1))
        bail_out("%s", hcy_last_error()->text);
    for (int k = 0; k < N_PLACES; k++) {
        size_t i = places[k][0], j = places[k][1];
        by_hand[2 * k] = (double)i + 0.5;
        by_hand[2 * k + 1] = (double)j + 0.5;
        double angle = map[i * WIDTH + j], y = by_hand[2 * k] * 1e-3 - 0.02, x = by_hand[2 * k + 1] * 1e-3 - 0.03;
        off = fmax(off, fabs(angle - oracle(s, y, x)));
        if (s->mu > 0)
            far_from_pyfai = fmax(far_from_pyfai, fabs(angle - s->pyfai[k]));
    }
    /* The sum over the depth has an error of its own, as pyFAI's table of 1024 angles has. */
    if (!ok(off < (s->thickness > 0 ? 2e-9 : 1e-6), "%s at %g keV: pixels are where an integral over the depth puts them",
            s->material, s->energy))
        diag("%g degrees off", off);
    if (s->mu > 0 && !ok(far_from_pyfai < 2e-6, "and where pyFAI does"))
        diag("%g degrees off", far_from_pyfai);
    if (hcy_poni_gradients(values, NULL, &p, HEIGHT, WIDTH, "2th_deg", by_hand, N_PLACES))
        bail_out("%s", hcy_last_error()->text);
    for (int k = 0; k < N_PLACES; k++)
        other = fmax(other, fabs(values[k] - map[places[k][0] * WIDTH + places[k][1]]));
    ok(other < 1e-11, "and where a calibration looks for them");
}

/* The same pixels as a grid and as corners. */
static const float *grid_corners(void)
{
    static float corners[HEIGHT * WIDTH * 12];
    for (size_t i = 0; i < HEIGHT * WIDTH * 4; i++) {
        size_t k = i % 4, row = i / 4 / WIDTH + (k == 1 || k == 2), column = i / 4 % WIDTH + (k >= 2);
        corners[3 * i + 1] = (float)(1e-3 * (double)row);
        corners[3 * i + 2] = (float)(1e-3 * (double)column);
    }
    return corners;
}

static void test_plans(void)
{
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
    hcy_azint_plan_info info[4];
    hcy_azint_plan *plan[4];
    hcy_poni p = geometry(&sensors[0]);
    o.npt = 8;
    o.unit = "2th_deg";
    for (int k = 0; k < 4; k++) {
        p.corners = k == 1 ? grid_corners() : NULL;
        p.sensor_thickness = k == 2 ? 300e-6 : 450e-6;
        p.parallax = k != 3;
        if (hcy_azint_plan_create(&plan[k], &p, HEIGHT, WIDTH, &o))
            bail_out("%s", hcy_last_error()->text);
        info[k] = (hcy_azint_plan_info)HCY_AZINT_PLAN_INFO_INIT;
        if (hcy_azint_plan_get_info(&info[k], plan[k]))
            bail_out("%s", hcy_last_error()->text);
    }
    /* The centres of pyFAI's bins, bbox split, with the same sensor. */
    ok(fabs(info[0].radial[0] - 3.9784481440023285) < 2e-5 && fabs(info[0].radial[7] - 59.676722160034934) < 2e-5,
       "bins begin and end where pyFAI's do");
    ok(fabs(info[1].radial[0] - info[0].radial[0]) < 1e-5 && fabs(info[1].radial[7] - info[0].radial[7]) < 1e-5,
       "the same of pixels with corners of their own");
    ok(strcmp(info[0].hash, info[2].hash) && strcmp(info[0].hash, info[3].hash), "another sensor is another plan");
    ok(info[3].radial[7] > info[0].radial[7] + 0.05, "without the correction angles are larger");
    for (int k = 0; k < 4; k++)
        hcy_azint_plan_release(plan[k]);
    p.parallax = 1;
    snprintf(p.sensor_material, sizeof p.sensor_material, "Sn");
    is_int(hcy_azint_plan_create(&plan[0], &p, HEIGHT, WIDTH, &o), HCY_EUNSUPPORTED, "a sensor of tin");
    ok(strstr(hcy_last_error()->text, "'Sn' is not known, but those of Si, Ge,") && strstr(hcy_last_error()->text, ", CZT"),
       "... whose absorption is not known, and whose is");
}

#define PONI(detector, config, rest)                                                                     \
    "poni_version: 3\nDetector: " detector "\nDetector_config: {\"orientation\": 3" config "}\nDistance: 0.2\n" \
    "Poni1: 0\nPoni2: 0\nRot1: 0\nRot2: 0\nRot3: 0\n" rest
#define WAVE    "Wavelength: 1e-10\n"
#define SILICON ", \"sensor\": {\"material\": \"Si\", \"thickness\": 0.00045}"

static void test_file(void)
{
    static const char text[] = PONI("Eiger2_4M", SILICON, WAVE "Parallax: True\n"),
                      off[] = PONI("Eiger2_4M", ", \"sensor\": {\"material\": \"Cd}\\\"Te\"}", "Parallax: False\n");
    char again[4096];
    hcy_poni p = HCY_PONI_INIT, q = HCY_PONI_INIT;
    ok(!hcy_poni_parse(&p, text, strlen(text), "a.poni") && p.parallax && !strcmp(p.sensor_material, "Si") &&
           p.sensor_thickness == 450e-6, "a PONI file's sensor and parallax");
    ok(!hcy_poni_format(again, sizeof again, NULL, &p) && strstr(again, "poni_version: 3\n") &&
           strstr(again, "Parallax: True\n") && !hcy_poni_parse(&q, again, strlen(again), "b.poni") && q.parallax &&
           !strcmp(q.sensor_material, "Si") && q.sensor_thickness == 450e-6, "are written and read again");
    ok(!hcy_poni_parse(&p, off, strlen(off), "a.poni") && !p.parallax && p.sensor_thickness == 0 &&
           !strcmp(p.sensor_material, "Cd}\"Te"), "a sensor of any name without it");
    ok(!hcy_poni_format(again, sizeof again, NULL, &p) && strstr(again, "Parallax: False\n") &&
           !hcy_poni_parse(&q, again, strlen(again), "b.poni") && !strcmp(q.sensor_material, "Cd}\"Te"), "is kept, too");
}

static void test_refused(void)
{
    static const struct {
        const char *text, *words, *what;
        int when_read;
    } cases[] = {
        { PONI("Eiger2_4M", "", WAVE "Parallax: True\n"), "a.poni:11: Parallax needs \"sensor\"", "no sensor", 1 },
        { PONI("Eiger2_4M", ", \"sensor\": 7", "Parallax: true\n"), "\"sensor\" of Detector_config is 7", "a number for it", 1 },
        { PONI("Eiger2_4M", ", \"sensor\": {\"material\": \"Si\", \"thickness\": -1}", WAVE "Parallax: True\n"), "\"sensor\"",
          "a thickness below 0", 1 },
        { PONI("Eiger2_4M", ", \"sensor\": {\"material\": \"Wood\"}", WAVE "Parallax: True\n"), "'Wood'", "wood", 0 },
        { PONI("Eiger2_4M", SILICON, "Parallax: True\n"), "wavelength", "no wavelength", 0 },
        { PONI("Eiger2_4M", SILICON, "Wavelength: 1e-8\nParallax: True\n"), "keV", "soft rays", 0 },
        { PONI("Aarhus", SILICON, WAVE "Parallax: True\n"), "not flat", "a bent plate", 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hcy_poni p = HCY_PONI_INIT;
        double value, place[2] = { 1, 1 };
        int status = hcy_poni_parse(&p, cases[i].text, strlen(cases[i].text), "a.poni"), read = !status;
        if (read)
            status = hcy_poni_gradients(&value, NULL, &p, p.height, p.width, "2th_deg", place, 1);
        if (!ok(status && read == !cases[i].when_read && strstr(hcy_last_error()->text, cases[i].words), "%s is refused",
                cases[i].what))
            diag("%d: %s", status, hcy_last_error()->text);
    }
}

int main(void)
{
    for (size_t i = 0; i < N_SENSORS; i++)
        test_places(&sensors[i]);
    test_plans();
    test_file();
    test_refused();
    return done_testing();
}
