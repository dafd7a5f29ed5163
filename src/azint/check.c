/* check.c - what a caller gives for a plan: checked, and nothing in the geometry left open.  No state; any thread. */
#include "azint_priv.h"
#include "detector.h"

#include <math.h>
#include <string.h>

static int check_finite(const char *name, double x)
{
    return isfinite(x) ? 0 : hcy_fail(HCY_EINVAL, "%s is %g, not a finite number", name, x);
}

/* Checks pixels that bring their own corners. */
static int resolve_corners(const hcy_poni *p, size_t height, size_t width)
{
    if (!(p->dist > 0))
        return hcy_fail(HCY_EINVAL, "the distance is %g m: it has to be positive", p->dist);
    if (p->height != height || p->width != width)
        return hcy_fail(HCY_EINVAL, "the image has %zu x %zu pixels, the detector's corners are of %u x %u", height,
                        width, p->height, p->width);
    if (p->orientation < 1 || p->orientation > 4 || p->corners_orientation < 0 || p->corners_orientation > 4)
        return hcy_fail(HCY_EINVAL, "the orientation of a detector with corners is not 1, 2, 3 or 4");
    return 0;
}

/* Pixels for images of this shape, binned or whole. */
static int resolve_shape(hcy_poni *p, size_t height, size_t width)
{
    const hcy_detector *d = p->detector;
    double mode = hcy__detector_mode(d, height, width), ratio1, ratio2;
    uint32_t bin[2];

    /* Pixels near those of the mode are calibrated ones; others are of another mode. */
    if (mode > 0) {
        p->height = (uint32_t)height;
        p->width = (uint32_t)width;
        p->pixel1 = fabs(p->pixel1 / mode - 1) < 0.1 ? p->pixel1 : mode;
        p->pixel2 = fabs(p->pixel2 / mode - 1) < 0.1 ? p->pixel2 : mode;
        return 0;
    }
    /* A generic detector has no pixels of its own, so its images cannot be told to be binned. */
    if (hcy__detector_binning(bin, p->height, p->width, height, width) || (!d->pixel1 && (bin[0] > 1 || bin[1] > 1)))
        return hcy_fail(HCY_EINVAL, "the image has %zu x %zu pixels, the geometry's detector (%s) %u x %u: the "
                                    "geometry is of another detector, or names a wrong one",
                        height, width, d->name, p->height, p->width);
    /* Pixels given are those of a binned detector already, or of the whole one; beside a shape that the geometry gives,
     * or of a detector that has none, they are those of that shape. */
    int has_own_shape = p->height != d->height || p->width != d->width || !d->height;
    ratio1 = !has_own_shape && d->pixel1 > 0 ? floor(p->pixel1 / d->pixel1 + 0.5) : 1;
    ratio2 = !has_own_shape && d->pixel2 > 0 ? floor(p->pixel2 / d->pixel2 + 0.5) : 1;
    if (has_own_shape && p->height) {
        p->height = (uint32_t)height;
        p->width = (uint32_t)width;
    }
    p->pixel1 *= bin[0] / (ratio1 >= 1 ? ratio1 : 1);
    p->pixel2 *= bin[1] / (ratio2 >= 1 ? ratio2 : 1);
    /* A binned pixel at the edge of a chip would be wider than the others by an amount that the corners do
     * not model. */
    if ((bin[0] > 1 || bin[1] > 1) && (d->chip[0] || d->chip[1] || d->has_corners) &&
        hcy__detector_layout(d)->pixels != DETECTOR_BENT)
        return hcy_fail(HCY_EUNSUPPORTED, "binned images of the %s are not supported: its pixels differ", d->name);
    return 0;
}

int hcy__azint_resolve_poni(hcy_poni *p, size_t height, size_t width)
{
    const struct {
        const char *name;
        double x;
    } numbers[] = { { "the distance", p->dist }, { "poni1", p->poni1 }, { "poni2", p->poni2 },
                    { "rot1", p->rot1 }, { "rot2", p->rot2 }, { "rot3", p->rot3 },
                    { "the wavelength", p->wavelength }, { "pixel1", p->pixel1 }, { "pixel2", p->pixel2 },
                    { "the radius", p->radius } };
    int rc = 0;

    /* NaN would pass the comparisons below, and infinite numbers make every bin empty. */
    for (size_t i = 0; !rc && i < sizeof(numbers) / sizeof(numbers[0]); i++)
        rc = check_finite(numbers[i].name, numbers[i].x);
    if (rc)
        return rc;
    /* What was left open is the detector's; what the caller gave stays. */
    if (!p->detector)
        p->detector = hcy__detector_generic();
    if (!p->height || !p->width) {
        p->height = p->detector->height;
        p->width = p->detector->width;
    }
    p->pixel1 = p->pixel1 > 0 ? p->pixel1 : p->detector->pixel1;
    p->pixel2 = p->pixel2 > 0 ? p->pixel2 : p->detector->pixel2;
    p->orientation = p->orientation ? p->orientation : p->detector->orientation;
    /* Integrating with the generic detector instead would give a curve that looks right and is not. */
    if (*p->detector_file && !p->detector_is_read)
        return hcy_fail(HCY_EINVAL, "the geometry's detector is in %s, which was not read: hcy_detector_read()",
                        p->detector_file);
    if (p->corners)
        return resolve_corners(p, height, width);
    if (!(p->dist > 0))
        return hcy_fail(HCY_EINVAL, "the distance is %g m: it has to be positive", p->dist);
    if (!(p->pixel1 > 0) || !(p->pixel2 > 0))
        return hcy_fail(HCY_EINVAL, "the geometry has no pixel size, and the detector '%s' none of its own",
                        p->detector->name);
    if (p->wavelength < 0 || p->orientation < 1 || p->orientation > 4)
        return hcy_fail(HCY_EINVAL, "the geometry's %s",
                        p->wavelength < 0 ? "wavelength is negative" : "orientation is not 1, 2, 3 or 4");
    return resolve_shape(p, height, width);
}

static int check_filter(const hcy_azint_options *o)
{
    const double *p = o->percentile;

    if (o->filter < HCY_FILTER_NONE || o->filter > HCY_FILTER_PERCENTILE)
        return hcy_fail(HCY_EINVAL, "filter is %d, not one of HCY_FILTER_*", o->filter);
    if (o->filter == HCY_FILTER_SIGMA_CLIP && o->error_model == HCY_ERRORS_NONE)
        return hcy_fail(HCY_EINVAL, "sigma clipping needs an error model: azimuthal, hybrid, poisson or variance");
    /* Comparisons are written so that NaN fails them. */
    if (o->filter == HCY_FILTER_SIGMA_CLIP && !(o->threshold >= 0 && isfinite(o->threshold)))
        return hcy_fail(HCY_EINVAL, "the threshold of clipping is %g: it has to be 0 or more", o->threshold);
    if (o->filter == HCY_FILTER_SIGMA_CLIP && !isfinite(o->threshold_above))
        return hcy_fail(HCY_EINVAL, "the threshold of clipping above the mean is %g: it has to be finite",
                        o->threshold_above);
    if (o->filter == HCY_FILTER_PERCENTILE && !(p[0] >= 0 && p[0] <= p[1] && p[1] <= 100))
        return hcy_fail(HCY_EINVAL, "the percentiles are %g and %g: they have to be from 0 to 100, in order", p[0],
                        p[1]);
    /* Filters count pixels by their weights, which are no pixels any more here. */
    if (o->unweighted && (o->filter != HCY_FILTER_NONE || o->error_model == HCY_ERRORS_AZIMUTHAL))
        return hcy_fail(HCY_EUNSUPPORTED, "an unweighted mean goes with no filter and no azimuthal errors");
    return 0;
}

int hcy__azint_check_options(const hcy_azint_options *o, size_t height, size_t width)
{
    const struct {
        const char *name;
        double x;
    } numbers[] = { { "the radial range", o->radial_range[0] }, { "the radial range", o->radial_range[1] },
                    { "the azimuthal range", o->azimuth_range[0] },
                    { "the azimuthal range", o->azimuth_range[1] },
                    { "the polarization factor", o->polarization },
                    { "the polarization's offset", o->polarization_offset },
                    { "the incident angle", o->incident_angle },
                    { "the tilt angle", o->tilt_angle },
                    { "the normalization factor", o->normalization } };
    int rc = 0;

    /* The tests below compare, which NaN would pass. */
    for (size_t i = 0; !rc && i < sizeof(numbers) / sizeof(numbers[0]); i++)
        rc = check_finite(numbers[i].name, numbers[i].x);
    if (rc)
        return rc;
    /* First how many bins there are, since sizes of all tables follow from it; the division keeps their
     * product in bounds. */
    if (o->npt < 1 || o->npt > HCY_AZINT_MAX_BINS)
        return hcy_fail(HCY_EINVAL, "npt is %zu: it has to be from 1 to %u bins", o->npt, HCY_AZINT_MAX_BINS);
    if (o->npt_azim > HCY_AZINT_MAX_BINS / o->npt)
        return hcy_fail(HCY_EINVAL, "npt_azim is %zu: with %zu bins in radius it can be %zu at most (a plan numbers %u bins)",
                        o->npt_azim, o->npt, HCY_AZINT_MAX_BINS / o->npt, HCY_AZINT_MAX_BINS);
    /* Then the choices by number: whoever adds one to the header extends these ranges. */
    if (o->split < HCY_SPLIT_NO || o->split > HCY_SPLIT_PSEUDO)
        return hcy_fail(HCY_EINVAL, "split is %d, not one of HCY_SPLIT_*", o->split);
    if (o->error_model < HCY_ERRORS_NONE || o->error_model > HCY_ERRORS_HYBRID)
        return hcy_fail(HCY_EINVAL, "error_model is %d, not one of HCY_ERRORS_*", o->error_model);
    /* Variances that nobody uses are more likely a forgotten model than a wish. */
    if (!o->variance != (o->error_model != HCY_ERRORS_VARIANCE))
        return hcy_fail(HCY_EINVAL, o->variance ? "variances are given, which the error model does not use"
                                                : "the error model is that of given variances: give them");
    if (o->sentinels < HCY_SENTINELS_OFF || o->sentinels > HCY_SENTINELS_ALWAYS)
        return hcy_fail(HCY_EINVAL, "sentinels is %d, not one of HCY_SENTINELS_*", o->sentinels);
    /* At last what belongs to pixels and to their values. */
    if (o->mask && (o->mask_height != height || o->mask_width != width))
        return hcy_fail(HCY_EINVAL, "the mask has %zu x %zu pixels, the image %zu x %zu", o->mask_height,
                        o->mask_width, height, width);
    if (o->use_polarization && (o->polarization < -1 || o->polarization > 1))
        return hcy_fail(HCY_EINVAL, "the polarization factor is %g: it has to be from -1 to 1",
                        o->polarization);
    if (!(o->saturation >= 0))
        return hcy_fail(HCY_EINVAL, "the saturation is %g: it cannot be negative", o->saturation);
    if (o->use_underload && !isfinite(o->underload))
        return hcy_fail(HCY_EINVAL, "the least valid count is %g: it has to be finite", o->underload);
    if (o->normalization == 0)
        return hcy_fail(HCY_EINVAL, "the normalization factor is 0: curves would be divided by it");
    if (o->use_dummy && (isinf(o->dummy) || !(o->delta_dummy >= 0) || isinf(o->delta_dummy)))
        return hcy_fail(HCY_EINVAL, "the dummy is %g +- %g: neither may be infinite, nor the second negative",
                        o->dummy, o->delta_dummy);
    return check_filter(o);
}
