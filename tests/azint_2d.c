/* Plans in radius and azimuth: against sums that pyFAI made of the same small detector
 * (reference/make_azint_2d.py), against one another, and through the CPU's kernels. */
#include "azint_oracle.h"
#include "azint_sums.h"
#include "reference/azint_2d.h"
#include "tap.h"

#include <halcyon/azint.h>
#include <halcyon/kernel.h>

enum { N = CAKE_HEIGHT * CAKE_WIDTH, BINS = CAKE_NPT * CAKE_AZIM };
#define FROM_NORM (1.0 / 1099511627776.0)
#define ONE       (HCY_AZINT_ONE / 16777216.0)

static hcy_poni make_poni(const double *g, int orientation)
{
    hcy_poni poni = HCY_PONI_INIT;

    poni.dist = g[0];
    poni.poni1 = g[1];
    poni.poni2 = g[2];
    poni.rot1 = g[3];
    poni.rot2 = g[4];
    poni.rot3 = g[5];
    poni.wavelength = g[6];
    poni.pixel1 = CAKE_PIXEL1;
    poni.pixel2 = CAKE_PIXEL2;
    poni.orientation = orientation;
    return poni;
}

static hcy_azint_plan *must_plan(const hcy_poni *poni, const hcy_azint_options *o)
{
    hcy_azint_plan *p = NULL;

    if (hcy_azint_plan_create(&p, poni, CAKE_HEIGHT, CAKE_WIDTH, o))
        bail_out("%s", hcy_last_error()->text);
    return p;
}

static hcy_azint_plan_info must_info(const hcy_azint_plan *p)
{
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;

    if (hcy_azint_plan_get_info(&info, p))
        bail_out("%s", hcy_last_error()->text);
    return info;
}

static const char *const splits[] = { "no", "bbox", "full" };

/* Leaves the first and the last bin of ranges out, to which pyFAI gives what lies outside. */
static void clear_ends(double *row, const struct cake_case *c)
{
    int radial = c->radial_range[0] != c->radial_range[1], azimuthal = c->azimuth_range[0] != c->azimuth_range[1];

    for (int b = 0; b < BINS && c->split != HCY_SPLIT_FULL; b++) {
        int k = b % CAKE_NPT, a = b / CAKE_NPT;

        if ((radial && (k == 0 || k == CAKE_NPT - 1)) || (azimuthal && (a == 0 || a == CAKE_AZIM - 1)))
            row[b] = 0;
    }
}

static double deviates(const double *got, const double *want, const struct cake_case *c)
{
    double a[BINS], b[BINS];

    memcpy(a, got, sizeof a);
    memcpy(b, want, sizeof b);
    clear_ends(a, c);
    clear_ends(b, c);
    return deviation(a, b, BINS);
}

static void check_case(const struct cake_case *c)
{
    hcy_poni poni = make_poni(cake_geometry[c->geometry], c->orientation);
    double weight[BINS] = { 0 }, moment[BINS] = { 0 }, norm[BINS];
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
    uint8_t mask[N];

    for (int i = 0; i < N; i++)
        mask[i] = c->masked && (7 * (i / CAKE_WIDTH) + 13 * (i % CAKE_WIDTH)) % 11 == 0;
    o.npt = CAKE_NPT;
    o.npt_azim = CAKE_AZIM;
    o.unit = c->unit;
    o.split = c->split;
    memcpy(o.radial_range, c->radial_range, sizeof o.radial_range);
    memcpy(o.azimuth_range, c->azimuth_range, sizeof o.azimuth_range);
    o.mask = mask;
    o.mask_height = CAKE_HEIGHT;
    o.mask_width = CAKE_WIDTH;
    hcy_azint_plan *p = must_plan(&poni, &o);
    hcy_azint_plan_info info = must_info(p);
    const hcy_azint_bin_norm *norms = hcy_azint_plan_norms(p);
    int wrong = sum_weights(weight, moment, p, N);
    for (int b = 0; b < BINS; b++)
        norm[b] = ((double)norms[b].norm[1] * 18446744073709551616.0 + (double)norms[b].norm[0]) * FROM_NORM / ONE;
    double axis = fabs(info.radial[0] - c->radial[0]) + fabs(info.radial[CAKE_NPT - 1] - c->radial[1]) +
                  fabs(info.azimuthal[0] - c->azimuthal[0]) +
                  fabs(info.azimuthal[CAKE_AZIM - 1] - c->azimuthal[1]);
    double w = deviates(weight, c->weight, c), m = deviates(moment, c->moment, c), n = deviates(norm, c->norm, c);
    int cut = c->split == HCY_SPLIT_BBOX && (c->radial_range[1] > 0 || c->azimuth_range[1] > 0);
    if (!ok((!wrong || cut) && info.n_bins == BINS && info.n_radial == CAKE_NPT && info.n_azim == CAKE_AZIM &&
                axis < 1e-5 && w < 1e-6 && m < 1e-6 && n < 1e-6,
            "%s, splitting %s, orientation %d%s%s%s", c->unit, splits[c->split], c->orientation,
            c->radial_range[1] > 0 ? ", radial range" : "", c->azimuth_range[1] > 0 ? ", azimuthal range" : "",
            c->masked ? ", mask" : ""))
        diag("%d pixels are not whole; off by: axes %.2g, weights %.2g, moments %.2g, norms %.2g", wrong, axis, w, m,
             n);
    hcy_azint_plan_release(p);
}

/* A detector that is turned, and a range that is turned with it, across 180 degrees or up to there: the same image. */
static void test_turned(int split, double angle)
{
    double geometry[7], weight[2][BINS] = { { 0 } }, moment[2][BINS] = { { 0 } }, axis[2];
    double most = split == HCY_SPLIT_FULL ? 2e-3 : 1e-5; /* a polygon's corners and areas are in single precision */
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;

    o.npt = CAKE_NPT;
    o.npt_azim = CAKE_AZIM;
    o.split = split;
    memcpy(geometry, cake_geometry[0], sizeof geometry);
    geometry[5] = 0;
    for (int k = 0; k < 2; k++) {
        hcy_poni poni = make_poni(geometry, 3);

        poni.rot3 = k ? -angle * 3.14159265358979323846 / 180 : 0;
        o.azimuth_range[0] = -20 + k * angle;
        o.azimuth_range[1] = 60 + k * angle;
        o.radial_range[0] = 5;
        o.radial_range[1] = 30;
        hcy_azint_plan *p = must_plan(&poni, &o);
        axis[k] = must_info(p).azimuthal[3];
        (void)sum_weights(weight[k], moment[k], p, N);
        hcy_azint_plan_release(p);
    }
    double turns = (axis[1] - axis[0] - angle) / 360;
    ok(fabs(turns - round(turns)) < 1e-6 && deviation(weight[1], weight[0], BINS) < most &&
           deviation(moment[1], moment[0], BINS) < most,
       "detector and range turned by %g degrees, splitting %s", angle, splits[split]);
}

/* One bin in azimuth is the curve; and what the kernels make of an image adds up to it. */
static void test_curve(int split)
{
    hcy_poni poni = make_poni(cake_geometry[0], 3);
    double flat[2][BINS] = { { 0 } }, moment[2][BINS] = { { 0 } }, chi[BINS] = { 0 }, chi_moment[BINS] = { 0 },
           cake[BINS] = { 0 }, cake_moment[BINS] = { 0 }, along[CAKE_AZIM] = { 0 };
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
    hcy_azint_plan *p;

    o.npt = CAKE_NPT;
    o.split = split;
    o.azimuth_range[0] = -180;
    o.azimuth_range[1] = 180;
    for (int k = 0; k < 2; k++) {
        o.npt_azim = (size_t)k;
        p = must_plan(&poni, &o);
        (void)sum_weights(flat[k], moment[k], p, N);
        hcy_azint_plan_release(p);
    }
    ok(deviation(flat[1], flat[0], CAKE_NPT) < 1e-2 && deviation(moment[1], moment[0], CAKE_NPT) < 1e-2,
       "one bin in azimuth, splitting %s: the curve", splits[split]);
    o.npt_azim = CAKE_AZIM;
    p = must_plan(&poni, &o);
    (void)sum_weights(cake, cake_moment, p, N);
    hcy_azint_plan_release(p);
    o.npt = 1;
    p = must_plan(&poni, &o);
    (void)sum_weights(chi, chi_moment, p, N);
    hcy_azint_plan_release(p);
    for (int b = 0; b < BINS; b++)
        along[b / CAKE_NPT] += cake[b];
    ok(deviation(along, chi, CAKE_AZIM) < 1e-2, "one bin in radius, splitting %s: along chi", splits[split]);
}

static void test_threads(void)
{
    hcy_poni poni = make_poni(cake_geometry[0], 3);
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
    hcy_span first[HCY_AZINT_SPANS], spans[HCY_AZINT_SPANS];
    hcy_azint_plan *p[2];
    int same = 1;

    o.npt = 300;
    o.npt_azim = 90;
    o.split = HCY_SPLIT_FULL;
    for (unsigned k = 0; k < 2; k++) {
        o.threads = 1 + 4 * k;
        p[k] = must_plan(&poni, &o);
    }
    hcy_azint_plan_tables(first, p[0]);
    hcy_azint_plan_tables(spans, p[1]);
    for (int k = 0; k < HCY_AZINT_SPANS; k++)
        same &= spans[k].size == first[k].size &&
                (!spans[k].size || !memcmp(spans[k].data, first[k].data, spans[k].size));
    same &= !memcmp(hcy_azint_plan_norms(p[0]), hcy_azint_plan_norms(p[1]), 27000 * sizeof(hcy_azint_bin_norm));
    ok(same && !strcmp(must_info(p[0]).hash, must_info(p[1]).hash), "the same tables from 1 and 5 threads");
    o.npt_azim = 91;
    hcy_azint_plan *other = must_plan(&poni, &o);
    ok(strcmp(must_info(p[0]).hash, must_info(other).hash) != 0, "the hash knows of the bins in azimuth");
    hcy_azint_plan_release(other);
    hcy_azint_plan_release(p[0]);
    hcy_azint_plan_release(p[1]);
    o.npt_azim = HCY_AZINT_MAX_BINS / 300 + 1;
    ok(hcy_azint_plan_create(&other, &poni, CAKE_HEIGHT, CAKE_WIDTH, &o) == HCY_EINVAL &&
           strstr(hcy_last_error()->text, "npt_azim"),
       "too many bins");
}

/* Ends at 0, above which an axis has no room: each outline lies in the bins there are, and as a whole. */
static void test_ends(void)
{
    const double ranges[][2] = { { -180, 0 }, { -120, 0 }, { -60, 0 }, { -30, 0 }, { 0, 0 } };
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
    size_t n_plans = 0, n_wrong = 0;

    poni.dist = 0.1;
    poni.pixel1 = poni.pixel2 = 1e-4;
    poni.wavelength = 1e-10;
    o.npt = 49;
    o.split = HCY_SPLIT_FULL;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        for (o.npt_azim = 1; o.npt_azim <= 250; o.npt_azim++) {
            hcy_azint_plan *p;
            double inside = 0;

            /* Without a range all pixels lie on one side of the beam, and their azimuth ends at 0. */
            int all = ranges[i][0] == ranges[i][1];
            memcpy(o.azimuth_range, ranges[i], sizeof o.azimuth_range);
            o.unit = all ? "2th_deg" : "qy_nm^-1";
            o.radial_range[0] = all ? 0 : -1;
            o.radial_range[1] = 0;
            poni.poni1 = all ? CAKE_HEIGHT * poni.pixel1 : 0.001;
            poni.poni2 = all ? -0.001 : 0.001;
            p = must_plan(&poni, &o);
            for (size_t b = 0; b < must_info(p).n_bins; b++)
                inside += (double)hcy_azint_plan_norms(p)[b].count;
            n_plans++;
            /* Of outlines that are in at all the shares add up to 1. */
            n_wrong += fmod(inside, HCY_AZINT_ONE) != 0 || !(inside > 0);
            hcy_azint_plan_release(p);
        }
    ok(!n_wrong, "axes that end at 0: %zu of %zu plans have parts of outlines", n_wrong, n_plans);
}

/* Of pixels that count where their centres lie, those at an azimuth of 0 are in the last bin if no other is above. */
static void test_last_azimuth(void)
{
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
    double pixels = 0;

    poni.dist = 0.1;
    poni.pixel1 = poni.pixel2 = 1e-4;
    poni.poni1 = (CAKE_HEIGHT - 0.5) * poni.pixel1;
    poni.poni2 = -0.001;
    poni.wavelength = 1e-10;
    o.npt = 10;
    o.npt_azim = 5;
    o.split = HCY_SPLIT_NO;
    hcy_azint_plan *p = must_plan(&poni, &o);
    for (size_t b = 0; b < must_info(p).n_bins; b++)
        pixels += (double)hcy_azint_plan_norms(p)[b].count / HCY_AZINT_ONE;
    ok(pixels == N, "an azimuth that ends at 0: %g of %d pixels", pixels, N);
    hcy_azint_plan_release(p);
}

int main(void)
{
    for (size_t i = 0; i < sizeof cake_cases / sizeof cake_cases[0]; i++)
        check_case(&cake_cases[i]);
    for (int split = 0; split < 3; split++) {
        for (int angle = -300; angle <= 360; angle += 30)
            test_turned(split, angle);
        test_turned(split, 170);
        test_curve(split);
    }
    test_threads();
    test_ends();
    test_last_azimuth();
    return done_testing();
}
