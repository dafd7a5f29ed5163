/* job.c - which pixel values are invalid, for each type of pixel; how frames are filtered.  Pure functions.
 *
 * A dummy is a number, compared as such.  The detectors' reserved value is -2 with a tolerance of 1.5, cast
 * to the pixels' type (pyFAI's rule): -3 to -1, or the three top values of unsigned types.
 */
#include "azint_priv.h"

#include "azint_pixels.h"

#include <math.h>
#include <string.h>

/* A dark current of 2^18 counts and a value of 16 bits, times 2^16, stay below HCY_AZINT_SQUARE_MAX. */
#define LEAST_SHIFT (AZINT_MAX_EXPONENT - 18)

#define DETECTOR_DUMMY (-2.0)
#define DETECTOR_DELTA 1.5

static void add_range(hcy_azint_job *job, uint64_t lo, uint64_t hi)
{
    job->invalid[job->n_invalid].lo = lo;
    job->invalid[job->n_invalid].hi = hi;
    job->n_invalid++;
}

static uint64_t bits_of_double(double x)
{
    uint64_t u;

    memcpy(&u, &x, sizeof u);
    return u;
}

/* The values of a type from ceil(lo) to floor(hi), if there are any. */
static void add_interval(hcy_azint_job *job, const struct hcy_pixel_type *t, double lo, double hi)
{
    double top = ldexp(1, t->kind == 'i' ? 8 * t->bytes - 1 : 8 * t->bytes), bottom = t->kind == 'i' ? -top : 0;

    /* Only whole numbers are pixels' values, and the comparison below also turns NaN away. */
    lo = ceil(lo);
    hi = floor(hi);
    if (!(lo <= hi) || hi < bottom || lo >= top)
        return;
    /* A double cannot hold the largest 64-bit numbers: those ends are made of bits, all others by
     * conversion. */
    if (t->kind == 'i')
        add_range(job, (uint64_t)(lo <= bottom ? (int64_t)bottom : (int64_t)lo),
                  (uint64_t)(hi >= top ? (int64_t)(((uint64_t)1 << (8 * t->bytes - 1)) - 1) : (int64_t)hi));
    else
        add_range(job, lo <= 0 ? 0 : (uint64_t)lo,
                  hi >= top ? UINT64_MAX >> (64 - 8 * t->bytes) : (uint64_t)hi);
}

static void add_dummy(hcy_azint_job *job, const struct hcy_pixel_type *t, double dummy, double delta)
{
    if (isnan(dummy))
        return; /* NaN pixels are invalid anyway */
    if (t->kind != 'f')
        add_interval(job, t, dummy - delta, dummy + delta);
    /* The ends are rounded to the pixels' own type here, once for all devices. */
    else if (8 * t->bytes == 32)
        add_range(job, bits_of_double((float)(dummy - delta)), bits_of_double((float)(dummy + delta)));
    else
        add_range(job, bits_of_double(dummy - delta), bits_of_double(dummy + delta));
}

/* Reserved values of the detector: those of its rule, or those that most detectors use.  The ends of signed types are
 * left to the limits that leave them out: with a dummy there is room for four ranges. */
static void add_sentinels(hcy_azint_job *job, const struct hcy_pixel_type *t, const hcy_azint_options *o, int has_rule)
{
    uint64_t top = UINT64_MAX >> (64 - 8 * t->bytes);

    if (t->kind == 'u') {
        add_range(job, top - (has_rule ? 2 : 1), top);
    } else if (has_rule) {
        add_dummy(job, t, DETECTOR_DUMMY, DETECTOR_DELTA);
    } else if (t->kind == 'i') {
        uint64_t least = ~(uint64_t)0 << (8 * t->bytes - 1);

        if (!o->use_underload || o->underload <= -ldexp(1, 8 * t->bytes - 1))
            add_range(job, least, least);
        if (!(o->saturation > 0) || o->saturation >= (double)(top >> 1))
            add_range(job, top >> 1, top >> 1);
    }
}

int hcy_azint_plan_job(hcy_azint_job *job, const hcy_azint_plan *plan, uint32_t pixel_type)
{
    const hcy_azint_options *o;
    const struct hcy_pixel_type *t;

    if (!job || !plan)
        return hcy_fail(HCY_EINVAL, "hcy_azint_plan_job: %s is NULL", job ? "plan" : "job");
    t = hcy_pixel_type(pixel_type);
    if (!t)
        return hcy_fail(HCY_EINVAL, "%u is not a pixel type, HCY_PIXEL_*", pixel_type);
    memset(job, 0, sizeof(*job));
    o = &plan->options;
    /* A filter limits what it squares: a larger dark current would be cut to that limit without a word. */
    if (plan->filtered && plan->darks && t->kind != 'f' && t->bytes <= 2 && plan->head.dark_shift < LEAST_SHIFT)
        return hcy_fail(HCY_ERANGE, "the dark current is up to 2^%d counts: of pixels of %d bits, with a filter or "
                        "azimuthal errors, 2^%d is the most", AZINT_MAX_EXPONENT - plan->head.dark_shift, 8 * t->bytes,
                        AZINT_MAX_EXPONENT - LEAST_SHIFT);
    job->n_pixels = plan->head.n_pixels;
    job->n_bins = plan->head.n_bins;
    job->pixel_type = pixel_type;
    job->flags = hcy__azint_is_poisson(plan) ? HCY_AZINT_WANT_VARIANCE : 0;
    if (hcy__azint_is_part_of_sum(plan))
        job->flags |= HCY_AZINT_PART_OF_SUM;
    /* At most four ranges come together: dummy, detector's values and the two limits. */
    if (o->use_dummy)
        add_dummy(job, t, o->dummy, o->delta_dummy);
    if (o->sentinels == HCY_SENTINELS_ALWAYS ||
        (o->sentinels == HCY_SENTINELS_AUTO && !o->use_dummy && plan->poni.detector->has_dummy))
        add_sentinels(job, t, o, plan->poni.detector->has_dummy);
    /* The limits are open ends; add_interval() cuts them to what the type can hold. */
    if (o->saturation > 0 && t->kind != 'f')
        add_interval(job, t, floor(o->saturation) + 1, INFINITY);
    if (o->use_underload && t->kind != 'f')
        add_interval(job, t, -INFINITY, ceil(o->underload) - 1);
    return 0;
}

/* No sum exceeds that of the bin's weights, each at the largest value: c2 is c at most. */
int hcy_azint_plan_narrow(hcy_azint_job *job, const hcy_azint_plan *plan)
{
    const struct hcy_pixel_type *t;

    if (!job || !plan || !hcy__azint_pixel_bytes(job->pixel_type))
        return hcy_fail(HCY_EINVAL, "hcy_azint_plan_narrow: %s",
                        !job || !plan ? "job or plan is NULL" : "not a job of hcy_azint_plan_job()");
    t = hcy_pixel_type(job->pixel_type);
    /* The bound is on the plan's fullest bin with all pixels at the type's largest value, whatever the
     * frames hold. */
    if (t->kind == 'u' && !plan->extra && !plan->filtered &&
        plan->max_count <= (uint64_t)INT64_MAX / (UINT64_MAX >> (64 - 8 * t->bytes)))
        job->flags |= HCY_AZINT_NARROW;
    return 0;
}

uint32_t hcy__azint_pixel_bytes(uint32_t pixel_type)
{
    const struct hcy_pixel_type *t = hcy_pixel_type(pixel_type);

    return t ? t->bytes : 0;
}

int hcy_azint_plan_filter(hcy_azint_filter *filter, const hcy_azint_plan *plan)
{
    const hcy_azint_options *o;

    if (!filter || !plan)
        return hcy_fail(HCY_EINVAL, "hcy_azint_plan_filter: %s is NULL", filter ? "plan" : "filter");
    if (!plan->filtered)
        return hcy_fail(HCY_EINVAL, "hcy_azint_plan_filter: the plan's frames are not filtered");
    memset(filter, 0, sizeof(*filter));
    o = &plan->options;
    filter->kind = (uint32_t)o->filter;
    /* A percentile is found in one go, and rounds of clipping would have no meaning for it. */
    filter->max_iter = o->filter == HCY_FILTER_SIGMA_CLIP ? o->max_iter : 0;
    filter->threshold[0] = o->threshold;
    filter->threshold[1] = o->threshold_above >= 0 ? o->threshold_above : o->threshold;
    if (o->error_model == HCY_ERRORS_AZIMUTHAL)
        filter->flags = HCY_AZINT_CLIP_DEVIATION | HCY_AZINT_WANT_DEVIATION;
    else if (o->error_model == HCY_ERRORS_HYBRID)
        filter->flags = HCY_AZINT_CLIP_DEVIATION;
    /* Rounded outwards, so that a pixel whose edge is at a percentile is in, whatever its digits are in binary. */
    filter->quantile[0] = (uint64_t)floor(o->percentile[0] / 100 * 4294967296.0);
    filter->quantile[1] = (uint64_t)ceil(o->percentile[1] / 100 * 4294967296.0);
    /* The table of logarithms is made here, by one libm, so that all devices clip at the same bits. */
    for (int i = 0; i <= HCY_AZINT_LOG_STEPS; i++)
        filter->log[i] = log1p((double)i / HCY_AZINT_LOG_STEPS);
    filter->log_root = 0.5 * log(2 * AZINT_PI);
    return 0;
}
