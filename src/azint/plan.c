/* plan.c - making, sharing and asking a plan.  Immutable after its creation; the count of references is
 * atomic.
 *
 * Everything that enters a plan is checked (check.c) and put into one plain form here (the detector's mask and
 * the user's become one, ranges are brought into the scale's own values), hashed (hash.c), and built (build.c).
 */
#include "build.h"
#include "detector.h"
#include "sized.h"
#include "thread.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define MAX_PIXELS UINT32_MAX
#define MAX_THREADS 64u
#define MAX_FILTERED_EXPONENT 32 /* of dark currents that filters square: HCY_AZINT_SQUARE_MAX */
#define NORMS_MEMORY ((size_t)256 << 20) /* for all threads' own bin norms */

enum { NORM_BITS = 20, VARIANCE_BITS = 40 }; /* below the largest one's; what is left of 40 and 62 is precise enough */

/* --- From options to what is built --- */

static double to_radians(double degrees)
{
    double turns = fmod(degrees / 180.0, 2.0);

    /* Whole turns are taken off in degrees, where they are exact. */
    turns += turns < 0 ? 2 : 0;
    return (turns >= 1 ? turns - 2 : turns) * AZINT_PI;
}

static void set_azimuth_range(struct azint_grid *grid, const double degrees[2])
{
    grid->check_chi = degrees[0] != degrees[1];
    grid->chi_min = to_radians(degrees[0]);
    grid->chi_max = to_radians(degrees[1]);
    /* A range may lead across +-pi; then its end is more than a half turn. */
    if (grid->chi_max <= grid->chi_min)
        grid->chi_max += 2 * AZINT_PI;
    /* Degrees that went through radians may miss a whole turn by a rounding. */
    grid->is_sector = grid->check_chi && grid->chi_max - grid->chi_min < 2 * AZINT_PI * (1 - 1e-12);
}

/* Of an axis that does not go round. */
static void set_straight_range(struct azint_grid *grid, const double range[2], double scale)
{
    grid->is_straight = 1;
    grid->check_chi = grid->is_sector = range[0] != range[1];
    grid->chi_min = (range[0] < range[1] ? range[0] : range[1]) / scale;
    grid->chi_max = (range[0] < range[1] ? range[1] : range[0]) / scale;
}

static size_t count_workers(const hcy_azint_options *o, size_t n_bins)
{
    size_t n = o->threads ? o->threads : hcy_processors();
    /* Each worker has sums of its own: with very many bins fewer threads need less memory. */
    size_t room = NORMS_MEMORY / (n_bins * AZINT_SUM_BYTES);

    n = n < MAX_THREADS ? n : MAX_THREADS;
    n = n < room ? n : room;
    return n ? n : 1;
}

static int corners_are_finite(const float *corners)
{
    for (int i = 0; i < 12; i++)
        if (!isfinite(corners[i]))
            return 0;
    return 1;
}

/* Of the image's i-th pixel. */
static const float *corners_of(const hcy_azint_plan *plan, size_t i)
{
    size_t height = plan->head.height, width = plan->head.width, row = i / width, column = i % width;

    row = hcy__azint_turns(&plan->poni, 1) ? height - 1 - row : row;
    column = hcy__azint_turns(&plan->poni, 2) ? width - 1 - column : column;
    return plan->poni.corners + 12 * (row * width + column);
}

static int make_plan_mask(uint8_t **mask, size_t *n_masked, const hcy_azint_plan *plan, const uint8_t *user)
{
    size_t height = plan->head.height, width = plan->head.width, n = height * width;
    int rc = 0;

    if (!(*mask = calloc(n, 1)))
        return hcy_fail(HCY_ENOMEM, "no memory for the mask of %zu x %zu pixels", height, width);
    /* A detector that brings its corners brings its mask as well, which the caller adds to the user's. */
    if (plan->options.detector_mask && !plan->poni.corners)
        rc = hcy_detector_mask(*mask, plan->poni.detector, height, width);
    *n_masked = 0;
    if (rc)
        return rc;
    for (size_t i = 0; plan->poni.corners && i < n; i++)
        (*mask)[i] |= !corners_are_finite(corners_of(plan, i));
    /* Loops that compilers make vectors of: each plan passes here, those from the cache too. */
    for (size_t i = 0; user && i < n; i++)
        (*mask)[i] |= user[i] != 0;
    for (size_t i = 0; i < n; i++)
        *n_masked += (*mask)[i];
    return 0;
}

/* --- The user's arrays --- */

/* |a * b| of a pixel, or 0 where it does not count: masked pixels often hold absurd values, and must not set the scale
 * of all others. */
static double size_of(const float *a, const float *b, const uint8_t *mask, size_t i)
{
    double x = fabs((double)(a ? a[i] : 1) * (b ? b[i] : 1));

    return !(mask && mask[i]) && isfinite(x) ? x : 0;
}

/* The exponent of the power of two above all sizes; 0 if there is none above 0. */
static int exponent_of(const float *a, const float *b, const uint8_t *mask, size_t n)
{
    double most = 0;
    int exponent = 0;

    for (size_t i = 0; i < n; i++) {
        double x = size_of(a, b, mask, i);

        most = x > most ? x : most;
    }
    frexp(most, &exponent);
    return most > 0 ? exponent : 0;
}

/* On one scale for all pixels a few absurd ones leave the others no bits: HCY_ERANGE where most pixels lie `bits` bits
 * below the largest. */
static int check_scale(const char *what, const float *a, const float *b, const uint8_t *mask, size_t n, int exponent,
                       int bits)
{
    const double little = ldexp(1, exponent - bits);
    size_t n_little = 0, n_all = 0, at = 0;
    double most = 0;

    for (size_t i = 0; i < n; i++) {
        double x = size_of(a, b, mask, i);

        n_all += x > 0;
        n_little += x > 0 && x < little;
        at = x > most ? i : at;
        most = x > most ? x : most;
    }
    return n_little <= n_all / 2
               ? 0
               : hcy_fail(HCY_ERANGE, "%s goes up to %g (pixel %zu), and most pixels are below %g: mask those that are so large",
                          what, most, at, little);
}

static int copy_array(float **copy, const float *from, size_t n)
{
    if (!from)
        return 0;
    if (!(*copy = malloc(n * sizeof(float))))
        return hcy_fail(HCY_ENOMEM, "no memory for %zu pixels' dark current or variance", n);
    memcpy(*copy, from, n * sizeof(float));
    return 0;
}

/* Takes the user's arrays in: their scales, and copies of those that devices look up. */
static int set_arrays(hcy_azint_plan *plan, struct build *b, const hcy_azint_options *user)
{
    size_t n = plan->head.n_pixels;
    /* Devices look dark currents and variances up in each frame, so that the plan has copies; flat field
     * and absorption are in the norms. */
    const float *areas = user->solid_angle && plan->poni.corners ? plan->poni.areas : NULL;
    int rc = copy_array(&plan->darks, user->dark, n), exponent = 0;

    if (!rc)
        rc = copy_array(&plan->variances, user->variance, n);
    b->has_arrays = user->flat || user->absorption || user->dark || user->variance || areas;
    if (rc || !b->has_arrays)
        return rc;
    b->flat = user->flat;
    b->absorption = user->absorption;
    b->dark = plan->darks;
    b->variance = plan->variances;
    /* Norms near 1 use all bits of their fixed point.  The scale is a power of two, and divides out
     * exactly. */
    if (b->flat || b->absorption) {
        exponent = exponent_of(b->flat, b->absorption, b->mask, n);
        if ((rc = check_scale(!b->absorption ? "the flat field" : !b->flat ? "the absorption"
                                                                           : "the flat field times the absorption",
                              b->flat, b->absorption, b->mask, n, exponent, NORM_BITS)))
            return rc;
    }
    /* Areas lie as the corners do, which the mask need not. */
    if (areas)
        exponent += exponent_of(areas, NULL, NULL, n);
    plan->norm_scale = ldexp(1, exponent);
    b->gain = 1 / plan->norm_scale;
    if (!b->dark && !b->variance)
        return 0;
    /* The version tells devices whether there is anything to look up. */
    plan->head.version = HCY_AZINT_VERSION_FULL;
    /* Dark currents are whole numbers on a scale on which the largest just fits, so that sums of them are
     * exact. */
    if (b->dark) {
        int exponent = exponent_of(b->dark, NULL, b->mask, n);

        int most = plan->filtered ? MAX_FILTERED_EXPONENT : AZINT_MAX_EXPONENT;

        if (exponent > most)
            return hcy_fail(HCY_ERANGE, "the dark current is up to 2^%d counts: 2^%d is the most%s", exponent, most,
                            plan->filtered ? " with a filter or azimuthal errors" : "");
        plan->head.dark_shift = exponent > 0 ? AZINT_MAX_EXPONENT - exponent : AZINT_MAX_EXPONENT;
    }
    /* Variances have no sign and are not squared: they always fit on their own scale. */
    if (b->variance) {
        exponent = exponent_of(b->variance, NULL, b->mask, n);
        if ((rc = check_scale("the variance", b->variance, NULL, b->mask, n, exponent, VARIANCE_BITS)))
            return rc;
        plan->head.variance_shift = AZINT_MAX_EXPONENT - exponent;
    }
    b->dark_shift = plan->head.dark_shift;
    b->dark_scale = ldexp(1, b->dark_shift);
    b->variance_scale = ldexp(1, plan->head.variance_shift);
    plan->extra = calloc(plan->head.n_bins, sizeof(*plan->extra));
    b->extra = plan->extra;
    return plan->extra ? 0 : hcy_fail(HCY_ENOMEM, "no memory for a plan of %u bins", plan->head.n_bins);
}

static void set_axis_centres(double *axis, size_t n, double min, double max, double delta, double scale)
{
    double first = min + 0.5 * delta, last = max - 0.5 * delta;
    double step = n > 1 ? (last - first) / (double)(n - 1) : 0;

    for (size_t i = 0; i < n; i++)
        axis[i] = (first + (double)i * step) * scale;
    /* The last centre is set, since first + (n - 1) * step may miss it by a rounding. */
    if (n > 1)
        axis[n - 1] = last * scale;
}

static void set_plan_axes(hcy_azint_plan *plan, const struct build *b)
{
    const double degrees = plan->azimuth.scale;

    set_axis_centres(plan->radial, b->grid.n_bins, b->grid.min, b->max, b->grid.delta, plan->scale.scale);
    set_axis_centres(plan->azimuthal, b->grid.n_azim, b->grid.chi_min, b->grid.chi_end, b->grid.chi_delta, degrees);
    if (b->grid.n_azim) {
        plan->azimuth_min = b->grid.chi_min * degrees;
        plan->azimuth_max = b->grid.chi_end * degrees;
    }
    plan->min = b->grid.min * plan->scale.scale;
    plan->max = b->max * plan->scale.scale;
}

static void set_build(struct build *b, const hcy_azint_plan *plan)
{
    const hcy_azint_options *o = &plan->options;
    double r0 = o->radial_range[0] / plan->scale.scale, r1 = o->radial_range[1] / plan->scale.scale;

    b->scale = plan->scale;
    b->split = o->split;
    b->grid.n_bins = o->npt;
    b->grid.n_azim = o->npt_azim;
    b->n_bins = plan->head.n_bins;
    b->azimuth = plan->azimuth;
    if (plan->scale.unit->needs_sample)
        set_straight_range(&b->grid, o->azimuth_range, plan->azimuth.scale);
    else
        set_azimuth_range(&b->grid, o->azimuth_range);
    b->has_range = r0 != r1;
    /* The ends may come in either order, as pyFAI takes them. */
    b->range[0] = r0 < r1 ? r0 : r1;
    b->range[1] = r0 < r1 ? r1 : r0;
    b->use_solid_angle = o->solid_angle;
    b->use_polarization = o->use_polarization;
    b->polarization = o->polarization;
    b->cos_offset = cos(2 * o->polarization_offset);
    b->sin_offset = sin(2 * o->polarization_offset);
    b->unweighted = o->unweighted;
    b->gain = 1;
    b->n_workers = count_workers(o, b->n_bins);
    b->loops = hcy__azint_loops();
}

/* The hash of everything that enters a plan, so that no other plan is taken for it. */
static struct azint_hash cache_key(const hcy_azint_plan *plan, const struct build *b)
{
    struct azint_hash key = AZINT_HASH_INIT;
    size_t n = plan->head.n_pixels;

    hcy__azint_hash_inputs(&key, plan);
    /* Another version may make other tables of the same inputs. */
    hcy__azint_hash(&key, hcy_version(), strlen(hcy_version()));
    hcy__azint_hash(&key, plan->poni.detector->name, strlen(plan->poni.detector->name));
    hcy__azint_hash(&key, b->mask, n);
    if (b->flat)
        hcy__azint_hash(&key, b->flat, n * sizeof(float));
    if (b->absorption)
        hcy__azint_hash(&key, b->absorption, n * sizeof(float));
    return key;
}

static int make_tables(hcy_azint_plan *plan, struct build *b)
{
    int rc = hcy__azint_geometry_init(&b->g, &plan->poni, plan->head.height, plan->head.width);

    b->g.azimuth = b->grid.is_straight ? &b->azimuth : NULL;
    if (!rc) {
        hcy__azint_hash_inputs(&b->hash, plan);
        rc = hcy__azint_build(b);
    }
    /* The tables are handed over also after a failure, so that releasing the plan frees them. */
    plan->runs = b->runs;
    plan->run_bytes = b->run_bytes;
    plan->starts = b->starts;
    plan->norms = b->norms;
    plan->head.n_weights = b->n_weights;
    plan->head.hash = b->hash.a;
    plan->least_norm = b->unweighted ? b->least_norm : 0;
    plan->full_hash = b->hash;
    if (!rc)
        set_plan_axes(plan, b);
    hcy__azint_geometry_free(&b->g);
    return rc;
}

static int build_plan(hcy_azint_plan *plan, const hcy_azint_options *user)
{
    struct build b = { .hash = AZINT_HASH_INIT };
    struct azint_hash key = AZINT_HASH_INIT;
    uint8_t *mask = NULL;
    int rc;

    set_build(&b, plan);
    b.bin_norms = plan->bin_norms;
    rc = make_plan_mask(&mask, &plan->n_masked, plan, user->mask);
    b.mask = mask;
    if (!rc)
        rc = set_arrays(plan, &b, user);
    /* The key is made after the arrays were taken in, since their scales are part of it. */
    if (!rc && user->cache)
        key = cache_key(plan, &b);
    /* A cached plan that is missing or damaged is no failure: the tables are made and saved again. */
    if (!rc && (!user->cache || hcy__azint_cache_load(plan, user->cache, &key, b.n_workers))) {
        rc = make_tables(plan, &b);
        if (!rc && user->cache)
            hcy__azint_cache_save(plan, user->cache, &key, b.n_workers);
    }
    snprintf(plan->hash, sizeof plan->hash, "%016llx%016llx", (unsigned long long)plan->full_hash.a,
             (unsigned long long)plan->full_hash.b);
    free(mask);
    return rc;
}

/* --- The interface --- */

/* The units of both axes. */
static int set_axes(hcy_azint_plan *plan)
{
    hcy_azint_options *o = &plan->options;
    struct azint_scale *const axes[] = { &plan->scale, &plan->azimuth };
    int rc = hcy__azint_scale_init(&plan->scale, o->unit, plan->poni.wavelength);

    if (rc)
        return rc;
    if (!plan->scale.unit->needs_sample) {
        plan->azimuth.unit = hcy_azint_unit_find("chi_deg");
        plan->azimuth.scale = 180 / AZINT_PI;
        if (o->azimuth_unit && hcy_azint_unit_find(o->azimuth_unit) != plan->azimuth.unit)
            return hcy_fail(HCY_EINVAL, "the unit %s goes with azimuth in degrees (chi_deg), not with %s", o->unit,
                            o->azimuth_unit);
        /* Taken round, of 0 to 400 degrees 0 to 40 would be left. */
        if (fabs(o->azimuth_range[1] - o->azimuth_range[0]) > 360 * (1 + 1e-12))
            return hcy_fail(HCY_EINVAL, "an azimuthal range from %g to %g degrees is more than a turn", o->azimuth_range[0],
                            o->azimuth_range[1]);
        o->azimuth_unit = NULL;
        return 0;
    }
    if ((rc = hcy__azint_scale_init(&plan->azimuth, o->azimuth_unit ? o->azimuth_unit : "qoop_nm^-1",
                                    plan->poni.wavelength)))
        return rc;
    o->azimuth_unit = plan->azimuth.unit->name;
    if (!plan->azimuth.unit->needs_sample)
        return hcy_fail(HCY_EINVAL, "the unit %s is seen from the sample, so the other axis has to be, too: not %s", o->unit,
                        o->azimuth_unit);
    if (o->sample_orientation < 1 || o->sample_orientation > 8)
        return hcy_fail(HCY_EINVAL, "the sample's orientation is %d: it has to be from 1 to 8", o->sample_orientation);
    if (o->split != HCY_SPLIT_NO && o->split != HCY_SPLIT_BBOX)
        return hcy_fail(HCY_EUNSUPPORTED, "units that are seen from the sample (%s) leave holes that outlines of pixels would "
                        "cover: no splitting, or bbox", o->unit);
    for (int i = 0; i < 2; i++)
        hcy__azint_sample_init(&axes[i]->sample, o->incident_angle, o->tilt_angle, o->sample_orientation);
    return 0;
}

static int fill_plan(hcy_azint_plan *plan, const hcy_poni *poni, size_t height, size_t width,
                     const hcy_azint_options *options)
{
    static const hcy_poni poni_init = HCY_PONI_INIT;
    static const hcy_azint_options options_init = HCY_AZINT_OPTIONS_INIT;
    hcy_azint_options user;
    size_t n;
    int rc;

    /* Structures of callers that were compiled against an older header are shorter: what they lack keeps
     * its default. */
    plan->poni = poni_init;
    plan->options = options_init;
    if ((rc = hcy__sized_read(&plan->poni, sizeof plan->poni, poni, "hcy_poni")) ||
        (rc = hcy__sized_read(&plan->options, sizeof plan->options, options, "hcy_azint_options")))
        return rc;
    /* First the size, for everything that is checked below is measured against it. */
    if (hcy_size_mul(&n, height, width) || n > MAX_PIXELS || !n)
        return hcy_fail(height && width ? HCY_ERANGE : HCY_EINVAL,
                        "an image of %zu x %zu pixels: there have to be from 1 to %u", height, width,
                        MAX_PIXELS);
    if (!plan->options.unit)
        plan->options.unit = options_init.unit;
    if ((rc = hcy__azint_check_options(&plan->options, height, width)) ||
        (rc = hcy__azint_resolve_poni(&plan->poni, height, width)) ||
        (rc = set_axes(plan)))
        return rc;
    /* Across 0 of such a unit a pixel's contour crosses itself, which is undone for quadrilaterals alone. */
    if (plan->scale.is_component && plan->options.split == HCY_SPLIT_FULL && !plan->poni.corners &&
        hcy__detector_layout(plan->poni.detector)->pixels == DETECTOR_HEXAGONS)
        return hcy_fail(HCY_EUNSUPPORTED, "full splitting of hexagons in %s: use bbox", plan->options.unit);
    /* The plan lives on after the caller's arrays are gone: it forgets their addresses, and `user` has
     * them while it is built. */
    user = plan->options;
    plan->options.mask = NULL;
    plan->options.mask_height = plan->options.mask_width = 0;
    plan->options.flat = plan->options.absorption = plan->options.dark = plan->options.variance = NULL;
    plan->options.cache = NULL;
    plan->has_flat = user.flat != NULL;
    plan->has_absorption = user.absorption != NULL;
    /* What the hash and the tables depend on stands in the plan before either is made. */
    plan->norm_scale = 1;
    plan->filtered = user.filter != HCY_FILTER_NONE || user.error_model == HCY_ERRORS_AZIMUTHAL;
    plan->options.unit = plan->scale.unit->name;
    plan->head.version = HCY_AZINT_VERSION;
    plan->head.n_bins = (uint32_t)(user.npt * (user.npt_azim ? user.npt_azim : 1));
    plan->head.n_pixels = n;
    plan->head.height = (uint32_t)height;
    plan->head.width = (uint32_t)width;
    /* One block for both axes, as the cache reads it. */
    plan->radial = malloc((user.npt + user.npt_azim) * sizeof(double));
    plan->bin_norms = calloc(plan->head.n_bins, sizeof(*plan->bin_norms));
    if (!plan->radial || !plan->bin_norms)
        return hcy_fail(HCY_ENOMEM, "no memory for a plan of %u bins", plan->head.n_bins);
    plan->azimuthal = plan->radial + user.npt;
    rc = build_plan(plan, &user);
    /* The corners are the caller's memory too, and what they said is in the tables by now. */
    plan->poni.corners = plan->poni.areas = NULL;
    return rc ? rc : hcy__azint_set_norms(plan);
}

int hcy_azint_plan_create(hcy_azint_plan **plan, const hcy_poni *poni, size_t height, size_t width,
                          const hcy_azint_options *options)
{
    hcy_azint_plan *p;
    fenv_t floats;
    int rc;

    if (!plan)
        return hcy_fail(HCY_EINVAL, "hcy_azint_plan_create: plan is NULL");
    if (!(p = calloc(1, sizeof(*p))))
        return hcy_fail(HCY_ENOMEM, "no memory for a plan");
    atomic_init(&p->refs, 1);
    /* The host's thread has a share in the rows, whose bits must be those of the other threads'. */
    hcy__plain_floats(&floats);
    rc = fill_plan(p, poni, height, width, options);
    fesetenv(&floats);
    if (rc) {
        hcy_azint_plan_release(p);
        return rc;
    }
    *plan = p;
    return 0;
}

hcy_azint_plan *hcy_azint_plan_retain(hcy_azint_plan *plan)
{
    if (plan)
        atomic_fetch_add(&plan->refs, 1);
    return plan;
}

void hcy_azint_plan_release(hcy_azint_plan *plan)
{
    /* Whoever lets go last frees it. */
    if (!plan || atomic_fetch_sub(&plan->refs, 1) != 1)
        return;
    hcy__azint_cache_leave(plan);
    free(plan->darks);
    free(plan->full_norms);
    free(plan->variances);
    /* Tables from the cache are parts of one block and cannot be freed one by one. */
    if (plan->map) {
        hcy__azint_cache_free(plan);
    } else {
        free(plan->runs);
        free(plan->starts);
        free(plan->norms);
        free(plan->extra);
        free(plan->radial);
        free(plan->bin_norms);
    }
    free(plan);
}

void hcy_azint_plan_tables(hcy_span spans[HCY_AZINT_SPANS], const hcy_azint_plan *plan)
{
    if (!spans || !plan) {
        for (int i = 0; spans && i < HCY_AZINT_SPANS; i++)
            spans[i] = (hcy_span){ NULL, 0 };
        return;
    }
    size_t n = plan->head.n_pixels;

    spans[0] = (hcy_span){ &plan->head, sizeof(plan->head) };
    spans[1] = (hcy_span){ plan->runs, plan->run_bytes };
    spans[2] = (hcy_span){ plan->starts,
                           ((n + HCY_AZINT_START_EVERY - 1) / HCY_AZINT_START_EVERY + 1) * sizeof(uint64_t) };
    spans[3] = (hcy_span){ plan->norms, n * sizeof(float) };
    spans[4] = (hcy_span){ plan->darks, plan->darks ? n * sizeof(float) : 0 };
    spans[5] = (hcy_span){ plan->variances, plan->variances ? n * sizeof(float) : 0 };
}

void hcy_azint_plan_tables_kept(hcy_span spans[HCY_AZINT_SPANS_KEPT], const hcy_azint_plan *plan)
{
    const char *kept = plan ? plan->kept : NULL;

    hcy_azint_plan_tables(spans, plan);
    if (spans)
        spans[HCY_AZINT_SPANS] = (hcy_span){ kept, kept ? strlen(kept) : 0 };
}

const hcy_azint_bin_norm *hcy_azint_plan_norms(const hcy_azint_plan *plan)
{
    return plan ? plan->bin_norms : NULL;
}

int hcy_azint_plan_get_info(hcy_azint_plan_info *out, const hcy_azint_plan *plan)
{
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    hcy_span spans[HCY_AZINT_SPANS];

    if (!plan)
        return hcy_fail(HCY_EINVAL, "hcy_azint_plan_get_info: plan is NULL");
    /* The sizes are those that devices are given, not worked out a second time. */
    hcy_azint_plan_tables(spans, plan);
    info.height = plan->head.height;
    info.width = plan->head.width;
    info.n_bins = plan->head.n_bins;
    info.n_masked = plan->n_masked;
    info.n_weights = plan->head.n_weights;
    for (int i = 0; i < HCY_AZINT_SPANS; i++)
        info.table_bytes += spans[i].size;
    /* Addresses in the plan: they hold as long as the caller has a reference to it. */
    info.radial = plan->radial;
    info.radial_min = plan->min;
    info.radial_max = plan->max;
    info.unit = plan->scale.unit;
    info.hash = plan->hash;
    info.options = plan->options;
    info.poni = plan->poni;
    info.has_flat = plan->has_flat;
    info.has_absorption = plan->has_absorption;
    info.has_dark = plan->darks != NULL;
    info.from_cache = plan->map != NULL;
    info.n_radial = plan->options.npt;
    info.n_azim = plan->options.npt_azim;
    info.azimuthal = plan->azimuthal;
    info.azimuth_min = plan->azimuth_min;
    info.azimuth_max = plan->azimuth_max;
    info.filtered = plan->filtered;
    info.n_sums = plan->filtered ? HCY_AZINT_FILTERED : HCY_AZINT_SUMS;
    info.norm_scale = plan->norm_scale;
    info.azimuth_unit = plan->azimuth.unit;
    /* The caller's structure may be older and shorter than ours. */
    return hcy__sized_write(out, &info, sizeof info, "hcy_azint_plan_info");
}
