/* Where pixels fall: plans of small detectors against sums that pyFAI made of the same ones
 * (reference/make_azint.py). Every splitting, unit, orientation, range and correction; no test data needed.
 */
#include "azint_oracle.h"
#include "reference/azint_cases.h"
#include "tap.h"

#include <halcyon/azint.h>

#define N_PIXELS  (CASE_HEIGHT * CASE_WIDTH)
#define FROM_NORM (1.0 / 1099511627776.0)
#define ONE       (HCY_AZINT_ONE / 16777216.0)

static hcy_azint_plan *make_plan(const struct azint_case *c)
{
    const double *g = case_geometry[c->geometry];
    hcy_poni poni = HCY_PONI_INIT;
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
    uint8_t mask[N_PIXELS];
    hcy_azint_plan *p = NULL;

    poni.dist = g[0];
    poni.poni1 = g[1];
    poni.poni2 = g[2];
    poni.rot1 = g[3];
    poni.rot2 = g[4];
    poni.rot3 = g[5];
    poni.wavelength = g[6];
    poni.pixel1 = CASE_PIXEL1;
    poni.pixel2 = CASE_PIXEL2;
    poni.orientation = c->orientation;
    for (int i = 0; i < N_PIXELS; i++)
        mask[i] = c->masked && (7 * (i / CASE_WIDTH) + 13 * (i % CASE_WIDTH)) % 11 == 0;
    o.npt = CASE_NPT;
    o.unit = c->unit;
    o.split = c->split;
    memcpy(o.radial_range, c->radial_range, sizeof o.radial_range);
    memcpy(o.azimuth_range, c->azimuth_range, sizeof o.azimuth_range);
    o.mask = mask;
    o.mask_height = CASE_HEIGHT;
    o.mask_width = CASE_WIDTH;
    o.use_polarization = c->use_polarization;
    o.polarization = c->polarization;
    o.polarization_offset = c->polarization_offset;
    if (hcy_azint_plan_create(&p, &poni, CASE_HEIGHT, CASE_WIDTH, &o))
        bail_out("%s", hcy_last_error()->text);
    return p;
}

/* The largest deviation of a row from pyFAI's, relative to the row's largest number, but for `ends` bins at each. */
static double deviation(const double *got, const double *want, int ends)
{
    double worst = 0, most = 0;

    for (int k = ends; k < CASE_NPT - ends; k++) {
        worst = fabs(got[k] - want[k]) > worst ? fabs(got[k] - want[k]) : worst;
        most = fabs(want[k]) > most ? fabs(want[k]) : most;
    }
    return worst / most;
}

static void check_case(const struct azint_case *c, int number)
{
    static const char *const splits[] = { "no", "bbox", "full" };
    double weight[CASE_NPT] = { 0 }, moment[CASE_NPT] = { 0 }, norm[CASE_NPT], norm2[CASE_NPT],
           count[CASE_NPT];
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    hcy_azint_plan *p = make_plan(c);
    const hcy_azint_bin_norm *norms = hcy_azint_plan_norms(p);
    hcy_span spans[HCY_AZINT_SPANS];
    const uint8_t *at, *w;

    if (hcy_azint_plan_get_info(&info, p))
        bail_out("%s", hcy_last_error()->text);
    hcy_azint_plan_tables(spans, p);
    at = spans[1].data;
    for (int i = 0; i < N_PIXELS; i++) {
        uint32_t word;

        do {
            word = oracle_run(&at, &w);
            for (uint32_t k = 0; k < HCY_AZINT_RUN_N(word); k++) {
                double x = oracle_weight(w, k) / (double)HCY_AZINT_ONE;

                weight[HCY_AZINT_RUN_BIN(word) + k] += x;
                moment[HCY_AZINT_RUN_BIN(word) + k] += x * (i + 1);
            }
        } while (HCY_AZINT_RUN_MORE(word));
    }
    for (int k = 0; k < CASE_NPT; k++) {
        count[k] = (double)norms[k].count / HCY_AZINT_ONE;
        norm[k] = (norms[k].norm[0] + 0x1p64 * norms[k].norm[1]) * FROM_NORM / ONE;
        norm2[k] = (norms[k].norm2[0] + 0x1p64 * norms[k].norm2[1]) * FROM_NORM / (ONE * ONE);
    }
    /* pyFAI gives the first and the last bin what lies outside a range. */
    int ends = c->split != HCY_SPLIT_FULL && c->radial_range[0] != c->radial_range[1];
    const double worst[] = { deviation(weight, c->weight, ends),
                             deviation(moment, c->moment, ends),
                             deviation(count, c->weight, ends),
                             deviation(norm, c->norm, ends),
                             deviation(norm2, c->norm2, ends),
                             fabs(info.radial[0] / c->radial[0] - 1),
                             fabs(info.radial[CASE_NPT - 1] / c->radial[1] - 1) };
    /* pyFAI's corners of units that have no fast path in it come from positions in single precision. */
    double most = c->split == HCY_SPLIT_NO ? 1e-7 : 5e-6, all = 0;
    for (size_t i = 0; i < sizeof worst / sizeof worst[0]; i++)
        all = worst[i] > all || isnan(worst[i]) ? worst[i] : all;
    if (!ok(all <= most, "case %d: %s, %s, geometry %d, orientation %d: within %g of pyFAI", number, c->unit,
            splits[c->split], c->geometry, c->orientation, most))
        diag("weights %.2g, moments %.2g, counts %.2g, norms %.2g, squares %.2g, axis %.2g %.2g", worst[0],
             worst[1], worst[2], worst[3], worst[4], worst[5], worst[6]);
    hcy_azint_plan_release(p);
}

/* hcy_azint_map() of a detector whose every pixel is known: at right angles to the beam, or turned by rot3 alone. */
static void check_map(void)
{
    enum { H = 7, W = 10, STEP = 3, ROWS = 3, COLUMNS = 4 };
    hcy_poni poni = HCY_PONI_INIT;
    double radial[ROWS * COLUMNS], chi[ROWS * COLUMNS], worst = 0;

    poni.dist = 0.1;
    poni.poni1 = 0.0023;
    poni.poni2 = 0.0041;
    poni.pixel1 = 1e-3;
    poni.pixel2 = 2e-3;
    poni.orientation = 3;
    if (hcy_azint_map(radial, chi, &poni, H, W, "2th_deg", STEP))
        bail_out("%s", hcy_last_error()->text);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        double y = (STEP * (i / COLUMNS) + 0.5) * 1e-3 - 0.0023, x = (STEP * (i % COLUMNS) + 0.5) * 2e-3 - 0.0041;

        worst = fmax(worst, fabs(radial[i] - atan(hypot(x, y) / 0.1) * 57.29577951308232));
        worst = fmax(worst, fabs(chi[i] - atan2(y, x) * 57.29577951308232));
    }
    ok(worst < 1e-12, "a map of every third pixel, in 2 theta and chi");
    poni.rot3 = 0.3;
    if (hcy_azint_map(radial, chi, &poni, H, W, "r_mm", STEP))
        bail_out("%s", hcy_last_error()->text);
    ok(fabs(radial[1] - 1e3 * hypot(0.0005 - 0.0023, 0.007 - 0.0041)) < 1e-12 &&
           fabs(chi[1] - (atan2(0.0005 - 0.0023, 0.007 - 0.0041) - 0.3) * 57.29577951308232) < 1e-11,
       "... turned around the beam, in millimetres");
    is_int(hcy_azint_map(radial, NULL, &poni, H, W, "q_nm^-1", STEP), HCY_EINVAL, "... without a wavelength there is no q");
    is_int(hcy_azint_map(radial, NULL, &poni, H, W, "r_mm", 0), HCY_EINVAL, "... nor a step of 0");
    const double first = radial[0];
    radial[0] = 0;
    if (hcy_azint_map(radial, NULL, &poni, H, W, "r_mm", SIZE_MAX))
        bail_out("%s", hcy_last_error()->text);
    ok(radial[0] == first, "... of one pixel, where the next is far outside");
}

int main(void)
{
    int n = (int)(sizeof azint_cases / sizeof azint_cases[0]);

    plan(n + 5);
    for (int i = 0; i < n; i++)
        check_case(&azint_cases[i], i);
    check_map();
    return done_testing();
}
