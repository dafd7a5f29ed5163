/* azint_detectors - every detector that pyFAI lists (reference/make_detectors.py): spellings, pixels, masks, binned
 * images, where pixels' corners are; other orientations against the same pixels counted from the other end. */
#include "azint_priv.h"
#include "detector.h"
#include "reference/azint_detectors.h"
#include "tap.h"

#include <math.h>
#include <string.h>

#define N_DETECTORS (sizeof azint_detectors / sizeof azint_detectors[0])
#define N_BINNINGS  (sizeof azint_binnings / sizeof azint_binnings[0])

static int is_close(double a, double b, double most)
{
    return fabs(a - b) <= most * fabs(b);
}

/* As make_detectors.py's: what is masked, and where. */
static unsigned masked_of(unsigned *hash, const hcy_detector *d, size_t height, size_t width)
{
    uint8_t *mask = malloc(height * width);
    uint64_t sum = 0;
    unsigned masked = 0;

    if (!mask || hcy_detector_mask(mask, d, height, width))
        bail_out("%s", hcy_last_error()->text);
    for (size_t i = 0; i < height * width; i++)
        if (mask[i]) {
            sum += (i + 1) * ((i + 1) ^ 0x9e3779b9u);
            masked++;
        }
    free(mask);
    *hash = (unsigned)sum;
    return masked;
}

static int same_spellings(const struct azint_detector *d, const hcy_detector *found)
{
    char name[64];

    for (const char *at = d->names, *end; *at; at = end + (*end == '|')) {
        const hcy_detector *other = NULL;

        end = at + strcspn(at, "|");
        snprintf(name, sizeof name, "%.*s", (int)(end - at), at);
        if (hcy_detector_find(&other, name) || other != found) {
            diag("%s is spelled '%s' too", d->name, name);
            return 0;
        }
    }
    return 1;
}

static void test_names(const struct azint_detector *d)
{
    const hcy_detector *found = NULL;
    unsigned hash = 0, masked = 0;

    if (hcy_detector_find(&found, d->name) || strcmp(found->name, d->name)) {
        ok(0, "%s is known", d->name);
        return;
    }
    /* Binned as pyFAI has it before it sees an image, its mask is one of the other list. */
    if (d->height && d->masked)
        masked = masked_of(&hash, found, d->height, d->width);
    ok(same_spellings(d, found) && found->height == d->height && found->width == d->width &&
           found->has_dummy == (int)d->has_dummy && is_close(found->pixel1, d->pixel1, 2e-6) &&
           is_close(found->pixel2, d->pixel2, 2e-6) && masked == d->masked && hash == d->mask_hash,
       "%s: spellings, shape, pixels, %u masked", d->name, d->masked);
}

/* A geometry whose lab is the detector's plane: y and x are its axes, z is z. */
static void open_geometry(struct azint_geometry *g, hcy_poni *poni, const hcy_detector *d, int orientation)
{
    static const hcy_poni init = HCY_PONI_INIT;

    *poni = init;
    poni->dist = 1;
    poni->detector = d;
    poni->orientation = orientation;
    if (hcy__azint_resolve_poni(poni, d->height, d->width) ||
        hcy__azint_geometry_init(g, poni, d->height, d->width))
        bail_out("%s: %s", d->name, hcy_last_error()->text);
}

/* Corner k of pixel (i, j) as z, y, x: from the row of all corners, or from the edges. */
static void corner_of(double out[3], const struct azint_geometry *g, const struct azint_row *row, size_t i, size_t j,
                      unsigned k)
{
    size_t at = g->own * j + k;

    if (g->own) {
        out[0] = row->z[at] - 1;
        out[1] = row->y[at];
        out[2] = row->x[at];
    } else {
        out[0] = 0;
        out[1] = g->corner1[i + (k == 1 || k == 2)];
        out[2] = g->corner2[j + (k >= 2)];
    }
}

static int same_place(const double got[3], const double want[3])
{
    int same = 1;

    /* pyFAI's are single precision. */
    for (int k = 0; k < 3; k++)
        same &= fabs(got[k] - want[k]) <= 1e-6 * fabs(want[k]) + 2e-8;
    return same;
}

static void test_places(const struct azint_detector *d)
{
    const hcy_detector *found = NULL;
    struct azint_geometry g;
    struct azint_row row = { .x = NULL };
    hcy_poni poni;
    int same = 1;

    if (!d->n_places || hcy_detector_find(&found, d->name)) {
        ok(!d->n_places, "%s: no pixels of its own", d->name);
        return;
    }
    open_geometry(&g, &poni, found, 3);
    if (g.own && hcy__azint_row_alloc(&row, g.own * g.width))
        bail_out("no memory");
    for (unsigned n = 0; n < d->n_places; n++) {
        const size_t i = d->places[n].i, j = d->places[n].j;
        double first[3], opposite[3];

        if (g.own)
            hcy__azint_quads_eval(&row, &g, NULL, i, 0);
        corner_of(first, &g, &row, i, j, 0);
        corner_of(opposite, &g, &row, i, j, g.own == 6 ? 3 : 2);
        if (same_place(first, d->places[n].first) && same_place(opposite, d->places[n].opposite))
            continue;
        same = 0;
        diag("pixel (%zu, %zu): corners (%.9g %.9g %.9g) (%.9g %.9g %.9g), pyFAI's (%.9g %.9g %.9g) (%.9g %.9g %.9g)", i,
             j, first[0], first[1], first[2], opposite[0], opposite[1], opposite[2], d->places[n].first[0],
             d->places[n].first[1], d->places[n].first[2], d->places[n].opposite[0], d->places[n].opposite[1],
             d->places[n].opposite[2]);
    }
    hcy__azint_row_free(&row);
    hcy__azint_geometry_free(&g);
    /* An assembled image has equal pixels; pyFAI widens those at multiples of 256 as if it were one of chips. */
    if (!strcmp(d->name, "Jungfrau8M"))
        ok(!same, "%s: not pyFAI's corners", d->name);
    else
        ok(same, "%s: corners of %u pixels", d->name, d->n_places);
}

static void test_binning(const struct azint_binning *b)
{
    const hcy_detector *d = NULL;
    unsigned hash = 0, masked = 0;
    hcy_poni poni = HCY_PONI_INIT;

    poni.dist = 1;
    if (hcy_detector_find(&d, b->name))
        bail_out("%s", hcy_last_error()->text);
    poni.detector = d;
    int status = hcy__azint_resolve_poni(&poni, b->height, b->width);
    if (!status && b->masked)
        masked = masked_of(&hash, d, b->height, b->width);
    if (!ok(!status && is_close(poni.pixel1, b->pixel1, 1e-5) && is_close(poni.pixel2, b->pixel2, 1e-5) &&
                masked == b->masked && hash == b->mask_hash,
            "%s of %u x %u: pixels of %g x %g, %u masked", b->name, b->height, b->width, b->pixel1, b->pixel2,
            b->masked))
        diag("%s; %g x %g, %u masked", status ? hcy_last_error()->text : "", poni.pixel1, poni.pixel2, masked);
}

/* Orientations count the same pixels from other ends. */
static void test_turned(const char *name)
{
    const hcy_detector *d = NULL;
    int same = 1;

    if (hcy_detector_find(&d, name))
        bail_out("%s", hcy_last_error()->text);
    for (int o = 1; o <= 4; o++) {
        struct azint_geometry g, straight;
        struct azint_row row = { .x = NULL }, other = { .x = NULL };
        hcy_poni poni;
        const int up = o == 1 || o == 2, left = o == 1 || o == 4;

        open_geometry(&g, &poni, d, o);
        open_geometry(&straight, &poni, d, 3);
        if (hcy__azint_row_alloc(&row, d->width) || hcy__azint_row_alloc(&other, d->width))
            bail_out("no memory");
        for (size_t i = 0; i < d->height; i += d->height / 7 + 1) {
            hcy__azint_centres_eval(&row, &g, NULL, i, 0);
            hcy__azint_centres_eval(&other, &straight, NULL, up ? d->height - 1 - i : i, 0);
            for (size_t j = 0; j < d->width; j++) {
                size_t k = left ? d->width - 1 - j : j;

                same &= row.x[j] == other.x[k] && row.y[j] == other.y[k] && row.z[j] == other.z[k];
            }
        }
        hcy__azint_row_free(&row);
        hcy__azint_row_free(&other);
        hcy__azint_geometry_free(&g);
        hcy__azint_geometry_free(&straight);
    }
    ok(same, "%s: orientations count from other ends", name);
}

/* Where pixels have six corners, each one's shares are its own: hexagons of a flat image fill every bin alike. */
static void test_hexagons(void)
{
    static const char *const splits[] = { "no", "bbox", "full" };
    const hcy_detector *d = NULL;
    hcy_poni poni = HCY_PONI_INIT;
    double counts[3] = { 0, 0, 0 };

    if (hcy_detector_find(&d, "Pixirad1"))
        bail_out("%s", hcy_last_error()->text);
    poni.dist = 0.1;
    poni.poni1 = -0.001;
    poni.poni2 = -0.001;
    poni.detector = d;
    for (int split = 0; split < 3; split++) {
        hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
        hcy_azint_plan *plan = NULL;
        double least = INFINITY, most = 0;

        o.npt = 200;
        o.unit = "r_mm";
        o.split = split;
        o.solid_angle = 0;
        o.radial_range[0] = 5;
        o.radial_range[1] = 25;
        if (hcy_azint_plan_create(&plan, &poni, d->height, d->width, &o))
            bail_out("%s", hcy_last_error()->text);
        const hcy_azint_bin_norm *norms = hcy_azint_plan_norms(plan);
        /* A quarter of each ring lies on the detector, so pixels of a bin are pi / 2 r dr over one pixel's area. */
        for (int k = 1; k < 199; k++) { /* pixels across the ends of the range are the first's and the last's */
            double r = (5.05 + 0.1 * k) * 1e-3, area = 60e-6 * 60e-6 * sqrt(3) / 2,
                   angle = acos(0.001 / r) - asin(0.001 / r), want = angle * r * 1e-4 / area,
                   got = (double)norms[k].count / HCY_AZINT_ONE / want;

            least = fmin(least, got);
            most = fmax(most, got);
            counts[split] += (double)norms[k].count / HCY_AZINT_ONE;
        }
        hcy_azint_plan_release(plan);
        ok(least > (split == HCY_SPLIT_FULL ? 0.99 : 0.93) && most < (split == HCY_SPLIT_FULL ? 1.01 : 1.07),
           "hexagons, %s: %.4f to %.4f of each ring's pixels", splits[split], least, most);
    }
    hcy_azint_options o = HCY_AZINT_OPTIONS_INIT;
    hcy_azint_plan *plan = NULL;
    poni.wavelength = 1e-10;
    o.unit = "qx_nm^-1";
    o.npt = 20;
    o.split = HCY_SPLIT_FULL;
    is_int(hcy_azint_plan_create(&plan, &poni, d->height, d->width, &o), HCY_EUNSUPPORTED, "hexagons, full, qx");
    ok(is_close(counts[1], counts[0], 2e-3) && is_close(counts[2], counts[0], 2e-3), "... and as many in all");
}

/* Pixels beside a shape that the geometry itself gives, or of a family of detectors, are those of that shape. */
static void test_own_shape(const char *name, uint32_t height, uint32_t width, unsigned bin)
{
    hcy_poni poni = HCY_PONI_INIT;
    int status = 0;

    if (hcy_detector_find(&poni.detector, name))
        bail_out("%s", hcy_last_error()->text);
    poni.dist = 1;
    poni.pixel1 = poni.pixel2 = 344e-6;
    poni.height = height * bin;
    poni.width = width * bin;
    /* A geometry that was completed once is complete. */
    for (int i = 0; i < 2 && !status; i++)
        status = hcy__azint_resolve_poni(&poni, height, width);
    if (!ok(!status && is_close(poni.pixel1, bin ? bin * 344e-6 : 344e-6, 1e-9) && poni.pixel1 == poni.pixel2,
            "%s of %u x %u, images of these binned by %u", name, height * bin, width * bin, bin))
        diag("%s; %g", status ? hcy_last_error()->text : "", poni.pixel1);
}

int main(void)
{
    size_t n;
    const hcy_detector *d = NULL;
    uint8_t mask[4];
    static const char *const turned[] = { "Jungfrau", "ImXPadS140", "Xpad_flat", "Cirpad", "Rapid", "Pixirad1" };

    (void)hcy_detector_list(&n);
    is_int((intmax_t)n, (intmax_t)(N_DETECTORS + 8), "all of pyFAI's, seven families, and that of files");
    for (size_t i = 0; i < N_DETECTORS; i++) {
        test_names(&azint_detectors[i]);
        test_places(&azint_detectors[i]);
    }
    for (size_t i = 0; i < N_BINNINGS; i++)
        test_binning(&azint_binnings[i]);
    for (size_t i = 0; i < sizeof turned / sizeof turned[0]; i++)
        test_turned(turned[i]);
    test_hexagons();
    test_own_shape("Pilatus1M", 521, 490, 1);
    test_own_shape("Pilatus1M", 260, 245, 2);
    test_own_shape("Pilatus", 521, 490, 1);
    test_own_shape("Pilatus", 521, 490, 0);
    ok(!hcy_detector_find(&d, " eiger2-9m") && !strcmp(d->name, "Eiger2_9M"), "spelled in another way");
    is_int(hcy_detector_find(&d, "Eiger3"), HCY_ENOENT, "no such detector");
    is_int(hcy_detector_find(&d, ""), HCY_ENOENT, "no name");
    is_int(hcy_detector_mask(mask, d, 2, 2), HCY_EINVAL, "a mask of another shape");
    ok(!hcy_detector_find(&d, "generic") && !hcy_detector_mask(mask, d, 2, 2) && !mask[0] && !mask[3],
       "the generic detector has no gaps");
    return done_testing();
}
