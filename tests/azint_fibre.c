/* Axes that are seen from the sample (fibres, grazing incidence) against rotations written out as matrices, in long
 * double; pixels whose values jump; plans that are refused.  tests/sample.t holds the same against pyFAI. */
#include "tap.h"

#include <halcyon/azint.h>
#include <math.h>
#include <string.h>

enum { HEIGHT = 11, WIDTH = 13, N = HEIGHT * WIDTH };

static hcy_poni geometry(void)
{
    hcy_poni poni = HCY_PONI_INIT;

    poni.dist = 0.05;
    poni.poni1 = 0.0041;
    poni.poni2 = 0.0067;
    poni.rot1 = 0.21;
    poni.rot2 = -0.13;
    poni.rot3 = 0.4;
    poni.wavelength = 1.3e-10;
    poni.pixel1 = poni.pixel2 = 1e-3;
    return poni;
}

static hcy_azint_options options_of(const char *unit, const char *other, int orientation)
{
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;

    o.npt = 7;
    o.npt_azim = 5;
    o.unit = unit;
    o.azimuth_unit = other;
    o.split = HCY_SPLIT_NO;
    o.incident_angle = 0.03;
    o.tilt_angle = -0.2;
    o.sample_orientation = orientation;
    return o;
}

/* y = (c -s; s c) x in the plane of two axes. */
static void turn(long double v[3], int a, int b, long double angle)
{
    long double p = v[a], q = v[b];

    v[a] = cosl(angle) * p - sinl(angle) * q;
    v[b] = sinl(angle) * p + cosl(angle) * q;
}

/* Pixel (i, j)'s centre in the lab: x, y, z. */
static void place(long double v[3], const hcy_poni *p, size_t i, size_t j)
{
    long double at[3] = { (j + 0.5L) * p->pixel2 - p->poni2, (i + 0.5L) * p->pixel1 - p->poni1, p->dist };

    /* rot1 about axis 1 and rot2 about axis 2 are left-handed, rot3 about the beam right-handed. */
    turn(at, 0, 2, -(long double)p->rot1);
    turn(at, 1, 2, p->rot2);
    turn(at, 0, 1, -(long double)p->rot3);
    memcpy(v, at, sizeof at);
}

/* As the sample lies: x and y of the image turned over and round, written out. */
static void lay(long double v[3], int orientation)
{
    long double x = v[0], y = v[1];
    const long double to[8][2] = { { x, y },   { -x, y }, { -x, -y }, { x, -y },
                                   { -y, -x }, { -y, x }, { y, x },   { y, -x } };

    v[0] = to[orientation - 1][0];
    v[1] = to[orientation - 1][1];
}

/* The unit's value, by its name. */
static long double value_of(const char *unit, long double v[3], const hcy_azint_options *o, long double wavelength)
{
    const long double pi = acosl(-1), r = sqrtl(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    long double scale = strstr(unit, "_A") ? 0.1L : 1, k = 2e-9L * pi / wavelength, q[3];

    if (strstr(unit, "deg"))
        scale = 180 / pi;
    lay(v, o->sample_orientation);
    q[0] = k * v[0] / r;
    q[1] = k * v[1] / r;
    q[2] = k * (v[2] / r - 1);
    turn(q, 1, 2, o->incident_angle); /* up and along the beam */
    turn(q, 0, 1, -(long double)o->tilt_angle);
    if (!strncmp(unit, "exit", 4)) {
        turn(v, 1, 2, -(long double)o->incident_angle);
        turn(v, 0, 1, o->tilt_angle);
    }
    long double ip = copysignl(sqrtl(q[0] * q[0] + q[2] * q[2]), q[0]);
    const struct {
        const char *name;
        long double value;
    } values[] = { { "qxgi", q[0] }, { "qygi", q[1] }, { "qzgi", q[2] }, { "qip", ip }, { "qoop", q[1] },
                   { "qtot", sqrtl(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]) }, { "chigi", atan2l(ip, q[1]) } };

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (!strncmp(unit, values[i].name, strlen(values[i].name)))
            return scale * values[i].value;
    return scale * (strstr(unit, "vert") ? atan2l(v[1], hypotl(v[0], v[2])) : atan2l(v[0], v[2]));
}

static void test_values(const hcy_azint_unit *unit)
{
    hcy_poni poni = geometry();
    int wrong = 0;

    for (int orientation = 1; orientation <= 8; orientation++) {
        hcy_azint_options o = options_of(unit->name, NULL, orientation);
        hcy_azint_plan *plan = NULL;
        float got[N];

        if (hcy_azint_plan_create(&plan, &poni, HEIGHT, WIDTH, &o) || hcy_azint_radius(got, plan, &poni))
            bail_out("%s: %s", unit->name, hcy_last_error()->text);
        for (size_t k = 0; k < N; k++) {
            long double at[3];

            place(at, &poni, k / WIDTH, k % WIDTH);
            long double want = value_of(unit->name, at, &o, poni.wavelength);
            wrong += !(fabsl(got[k] - want) <= 2e-7L * fabsl(want) + 1e-7L);
        }
        hcy_azint_plan_release(plan);
    }
    is_int(wrong, 0, "%s: every pixel, lying in eight ways", unit->name);
}

/* Of each bin of the second axis as many pixels as there are. */
static void test_second_axis(const char *unit)
{
    hcy_poni poni = geometry();
    hcy_azint_options o = options_of("qxgi_nm^-1", unit, 6);
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    hcy_azint_plan *plan = NULL;
    double count[5] = { 0 }, got = 0;
    int wrong = 0;

    o.npt = 1;
    if (hcy_azint_plan_create(&plan, &poni, HEIGHT, WIDTH, &o) || hcy_azint_plan_get_info(&info, plan))
        bail_out("%s", hcy_last_error()->text);
    for (size_t k = 0; k < N; k++) {
        long double at[3];

        place(at, &poni, k / WIDTH, k % WIDTH);
        long double x = value_of(unit, at, &o, poni.wavelength);
        count[(int)((x - info.azimuth_min) / (info.azimuth_max - info.azimuth_min) * 5)]++;
    }
    for (int k = 0; k < 5; k++) {
        got = (double)hcy_azint_plan_norms(plan)[k].count / HCY_AZINT_ONE;
        wrong += got != count[k];
    }
    ok(!wrong && info.azimuth_unit && !strcmp(info.azimuth_unit->name, unit), "%s as the second axis", unit);
    hcy_azint_plan_release(plan);
}

/* In the plane and across the beam values jump from one sign to the other: such a pixel is not shared. */
static void test_jump(void)
{
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    hcy_azint_plan *plan = NULL;
    double sum = 0;
    int hole = 1;

    poni.dist = 0.1;
    poni.poni1 = -0.02; /* above the horizon */
    poni.poni2 = 0.0065; /* between columns 6 and 7: the beam's plane goes through column 6 */
    poni.wavelength = 1e-10;
    poni.pixel1 = poni.pixel2 = 1e-3;
    o.unit = "qip_nm^-1";
    o.split = HCY_SPLIT_BBOX;
    o.npt = 101;
    o.incident_angle = 0.05;
    if (hcy_azint_plan_create(&plan, &poni, HEIGHT, WIDTH, &o) || hcy_azint_plan_get_info(&info, plan))
        bail_out("%s", hcy_last_error()->text);
    for (size_t k = 0; k < o.npt; k++) {
        double count = (double)hcy_azint_plan_norms(plan)[k].count / HCY_AZINT_ONE;

        sum += count;
        /* Nothing is nearer to 0 than what a wave along the beam has: less than the half of that of the lowest row. */
        hole &= fabs(info.radial[k]) > 0.3 || count == 0;
    }
    ok(fabs(sum - N) < 1e-3, "bbox: every pixel counts once");
    ok(hole, "... and none in the hole that has no pixels");
    hcy_azint_plan_release(plan);
}

static void refuse(int status, const char *word, const char *unit, const char *other, int split, int orientation)
{
    hcy_poni poni = geometry();
    hcy_azint_options o = options_of(unit, other, orientation);
    hcy_azint_plan *plan = NULL;

    o.split = split;
    int got = hcy_azint_plan_create(&plan, &poni, HEIGHT, WIDTH, &o);
    ok(got == status && strstr(hcy_last_error()->text, word), "%s, %s: '%s'", unit, other ? other : "-", word);
}

/* The pixel that the beam goes through has the largest value of a unit that is nowhere above 0. */
static void test_beam(void)
{
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    hcy_azint_plan *plan = NULL;
    double pixels = 0;

    poni.dist = 0.1;
    poni.pixel1 = poni.pixel2 = 1e-4;
    poni.poni1 = poni.poni2 = 5.5e-4;
    poni.wavelength = 1e-10;
    o.npt = 50;
    o.unit = "qzgi_nm^-1";
    o.split = HCY_SPLIT_NO;
    is_int(hcy_azint_plan_create(&plan, &poni, 11, 11, &o), 0, "a plan of 11 x 11 pixels around the beam");
    if (plan && !hcy_azint_plan_get_info(&info, plan))
        for (size_t i = 0; i < info.n_bins; i++)
            pixels += (double)hcy_azint_plan_norms(plan)[i].count / HCY_AZINT_ONE;
    ok(pixels == 121, "none of which is lost: %g", pixels);
    hcy_azint_plan_release(plan);
}

int main(void)
{
    size_t n, of_sample = 0;
    const hcy_azint_unit *units = hcy_azint_unit_list(&n);

    for (size_t i = 0; i < n; i++)
        if (units[i].needs_sample) {
            test_values(&units[i]);
            of_sample++;
        }
    is_int(of_sample, 20, "pyFAI's eighteen, and chi in degrees and radians");
    test_second_axis("qoop_A^-1");
    test_second_axis("exit_angle_vert_deg");
    test_second_axis("chigi_deg");
    test_jump();
    test_beam();
    refuse(HCY_EUNSUPPORTED, "no splitting, or bbox", "qip_nm^-1", "qoop_nm^-1", HCY_SPLIT_FULL, 1);
    refuse(HCY_EUNSUPPORTED, "no splitting, or bbox", "qip_nm^-1", NULL, HCY_SPLIT_PSEUDO, 1);
    refuse(HCY_EINVAL, "from 1 to 8", "qip_nm^-1", NULL, HCY_SPLIT_NO, 9);
    refuse(HCY_EINVAL, "from 1 to 8", "qip_nm^-1", NULL, HCY_SPLIT_NO, 0);
    refuse(HCY_EINVAL, "seen from the sample", "qip_nm^-1", "q_nm^-1", HCY_SPLIT_NO, 1);
    refuse(HCY_EINVAL, "goes with azimuth", "q_nm^-1", "qoop_nm^-1", HCY_SPLIT_NO, 1);
    refuse(HCY_ENOENT, "no unit is called", "qip_nm^-1", "qop", HCY_SPLIT_NO, 1);
    refuse(HCY_ENOENT, "no unit is called", "chi_deg", NULL, HCY_SPLIT_NO, 1);
    ok(!hcy_azint_unit_find(NULL) && !hcy_azint_unit_find("none") && hcy_azint_unit_find("chi_deg"), "units by name");
    return done_testing();
}
