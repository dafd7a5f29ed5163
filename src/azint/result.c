/* result.c - a frame's curve from its sums.  Pure functions: sums in, doubles out, the same bits everywhere.
 *
 * Fixed point is taken apart at the end: 128-bit sums become doubles (one rounding, to nearest even), are
 * scaled by powers of two (exact) and divided.  A weight of 1.0 is ONE = 2^24 - 1, not 2^24; that cancels in
 * the curve and its errors, and is divided out of the sums.
 */
#include "azint_priv.h"

#include <bslz4/bslz4_format.h>
#include <math.h>
#include <string.h>

#define WEIGHT (1.0 / 16777216.0)        /* 2^-24 */
#define NORM (1.0 / 1099511627776.0)     /* 2^-40 */
#define ONE (HCY_AZINT_ONE / 16777216.0) /* 1.0 as a weight, on that scale */

static int is_float(const hcy_azint_job *job)
{
    return job->pixel_type == HCY_PIXEL_F32 || job->pixel_type == HCY_PIXEL_F64;
}

static double sum_of(const uint64_t *sums, size_t n, size_t bin, int row, int is_float)
{
    uint64_t lo = sums[(size_t)row * n + bin], hi = sums[((size_t)row + 1) * n + bin];
    double x;

    if (!is_float)
        return azint_signed_double(lo, hi);
    memcpy(&x, &lo, sizeof x);
    return x;
}

/* A constant sum of the plan, less what was lost in the frame: lost[0], and lost[n] its high word. */
static double remaining(const uint64_t norm[2], const uint64_t *lost, size_t n)
{
    uint64_t lo = norm[0], hi = norm[1];

    if (lost) {
        hi -= lost[n] + (lo < lost[0]);
        lo -= lost[0];
    }
    return azint_double(lo, hi);
}

/* What the curve needs in one bin. */
struct bin_sums {
    double signal, variance, norm, norm2, count; /* scaled, but for ONE and the normalisation */
};

/* The signal of integer pixels less the dark current, before it is rounded. */
static double clean_signal(const struct azint_bin_extra *extra, const uint64_t *sums, size_t n, size_t i)
{
    uint64_t signal[2] = { sums[HCY_SUM_SIGNAL_LO * n + i], sums[HCY_SUM_SIGNAL_HI * n + i] };
    uint64_t dark[2] = { extra->dark[0], extra->dark[1] };

    azint_negate(dark);
    azint_add(signal, dark[0], dark[1]);
    return azint_signed_double(signal[0], signal[1]);
}

/* Dark current and given variances, on the scale of the sums. */
static void add_extra(struct bin_sums *s, const hcy_azint_plan *plan, const uint64_t *sums, int is_float,
                      size_t i)
{
    const struct azint_bin_extra *extra = &plan->extra[i];
    size_t n = plan->head.n_bins;

    if (plan->darks && is_float)
        s->signal -= ldexp(azint_signed_double(extra->dark_fine[0], extra->dark_fine[1]),
                           -plan->head.dark_shift);
    else if (plan->darks)
        s->signal = clean_signal(extra, sums, n, i);
    if (plan->variances && is_float)
        s->variance = ldexp(azint_double(extra->variance[0], extra->variance[1]), -plan->head.variance_shift) -
                      s->variance;
    else if (plan->variances)
        s->variance = ldexp(remaining(extra->variance, sums + HCY_SUM_VARIANCE_LO * n + i, n),
                            -plan->head.variance_shift);
    if (s->variance < 0) /* a rounding of doubles, of a bin that has lost its pixels */
        s->variance = 0;
}

static struct bin_sums bin_sums(const hcy_azint_plan *plan, const hcy_azint_job *job, const uint64_t *sums,
                                int lost, size_t i)
{
    const hcy_azint_bin_norm *norm = &plan->bin_norms[i];
    int floats = is_float(job);
    size_t n = job->n_bins;
    const uint64_t *at = sums + i;
    struct bin_sums s;

    s.signal = sum_of(sums, n, i, HCY_SUM_SIGNAL_LO, floats);
    s.variance = sum_of(sums, n, i, HCY_SUM_VARIANCE_LO, floats);
    if (plan->extra)
        add_extra(&s, plan, sums, floats, i);
    s.signal *= WEIGHT;
    s.variance *= WEIGHT;
    s.norm = remaining(norm->norm, lost ? at + HCY_SUM_LOST_NORM_LO * n : NULL, n) * NORM;
    s.norm2 = remaining(norm->norm2, lost ? at + HCY_SUM_LOST_NORM2_LO * n : NULL, n) * NORM;
    s.count = (double)(norm->count - (lost ? at[HCY_SUM_LOST_COUNT * n] : 0)) * WEIGHT;
    return s;
}

/* What pixels have that a filter kept: complete sums. */
static struct bin_sums kept_sums(const hcy_azint_plan *plan, const hcy_azint_job *job, const uint64_t *sums,
                                 size_t i)
{
    int floats = is_float(job);
    int shift = plan->darks && !floats ? HCY_AZINT_SQUARE_SHIFT(hcy__azint_pixel_bytes(job->pixel_type)) : 0;
    size_t n = job->n_bins;
    const uint64_t *at = sums + i;
    struct bin_sums s;

    s.signal = sum_of(sums, n, i, HCY_SUM_SIGNAL_LO, floats) * WEIGHT;
    s.variance = sum_of(sums, n, i, HCY_SUM_VARIANCE_LO, floats) * WEIGHT;
    s.norm = azint_double(at[HCY_SUM_LOST_NORM_LO * n], at[HCY_SUM_LOST_NORM_HI * n]) * NORM;
    s.norm2 = azint_double(at[HCY_SUM_LOST_NORM2_LO * n], at[HCY_SUM_LOST_NORM2_HI * n]) * NORM;
    s.count = (double)at[HCY_SUM_LOST_COUNT * n] * WEIGHT;
    if (plan->options.error_model == HCY_ERRORS_VARIANCE && !floats)
        s.variance = ldexp(s.variance, -plan->head.variance_shift);
    if (plan->options.error_model != HCY_ERRORS_AZIMUTHAL)
        return s;
    if (floats) {
        s.variance = sum_of(sums, n, i, HCY_SUM_SQUARE_LO, 1) * WEIGHT;
    } else {
        const uint64_t square[2] = { at[HCY_SUM_SQUARE_LO * n], at[HCY_SUM_SQUARE_HI * n] };
        const uint64_t cross[2] = { at[HCY_SUM_CROSS_LO * n], at[HCY_SUM_CROSS_HI * n] };
        const uint64_t norm2[2] = { at[HCY_SUM_NORM24_LO * n], at[HCY_SUM_NORM24_HI * n] };
        double mean = s.norm > 0 ? ldexp(s.signal / s.norm, shift) : 0;

        s.variance = ldexp(azint_spread(square, cross, norm2, mean), -2 * shift) * WEIGHT;
    }
    return s;
}

/* Bins whose sums are doubles already, so that compilers divide several at once. */
enum { BLOCK = 256 };
struct block {
    double signal[BLOCK], variance[BLOCK], norm[BLOCK], norm2[BLOCK], count[BLOCK];
};

static void put_bin(struct block *b, const struct bin_sums *s, size_t i)
{
    b->signal[i] = s->signal;
    b->variance[i] = s->variance;
    b->norm[i] = s->norm;
    b->norm2[i] = s->norm2;
    b->count[i] = s->count;
}

/* n numbers of 128 bits, low and high words `step` apart in rows, to doubles. */
static void convert(double *restrict to, const uint64_t *lo, const uint64_t *hi, size_t step, double scale, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t low = lo[i * step], high = hi[i * step];

        to[i] = scale * (((low >> 63) + high) ? azint_signed_double(low, high) : (double)(int64_t)low);
    }
}

/* Bins [at, at + n) of a plan without extras and filter, of a frame of integers that has lost nothing. */
static void plain_block(struct block *b, const hcy_azint_plan *plan, const uint64_t *sums, size_t at, size_t n)
{
    const hcy_azint_bin_norm *norm = plan->bin_norms + at;
    const uint64_t *signal = sums + HCY_SUM_SIGNAL_LO * (size_t)plan->head.n_bins + at;
    const uint64_t *variance = sums + HCY_SUM_VARIANCE_LO * (size_t)plan->head.n_bins + at;
    const size_t step = sizeof *norm / sizeof *norm->norm;

    convert(b->signal, signal, signal + plan->head.n_bins, 1, WEIGHT, n);
    convert(b->variance, variance, variance + plan->head.n_bins, 1, WEIGHT, n);
    convert(b->norm, &norm->norm[0], &norm->norm[1], step, NORM, n);
    convert(b->norm2, &norm->norm2[0], &norm->norm2[1], step, NORM, n);
    for (size_t i = 0; i < n; i++)
        b->count[i] = (double)norm[i].count * WEIGHT;
}

static void divide(double *restrict to, const double *restrict from, double by, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from[i] / by;
}

/* Bins [at, at + n) of the curve.  An empty one has no norm; what it is divided by instead does not matter. */
static void set_block(hcy_azint_result *r, const struct block *b, double factor, size_t at, size_t n)
{
    double *restrict intensity = r->intensity + at, *restrict sum_norm = r->sum_norm + at;
    double *restrict sum_norm2 = r->sum_norm2 + at;
    const double squared = factor * factor;

    divide(r->sum_signal + at, b->signal, ONE, n);
    divide(r->count + at, b->count, ONE, n);
    for (size_t i = 0; i < n; i++) {
        double norm = b->norm[i] * factor, full = b->norm[i] > 0 ? norm : 1;

        sum_norm[i] = norm / ONE;
        sum_norm2[i] = b->norm2[i] * squared / (ONE * ONE);
        intensity[i] = (b->norm[i] > 0 ? b->signal[i] : 0) / full;
    }
    if (!r->sigma)
        return;
    double *restrict sigma = r->sigma + at, *restrict std = r->std + at;

    divide(r->sum_variance + at, b->variance, ONE * ONE, n);
    for (size_t i = 0; i < n; i++) {
        double full = b->norm[i] > 0 ? fabs(b->norm[i] * factor) : 1, norm2 = b->norm2[i] * squared;
        double variance = b->norm[i] > 0 ? b->variance[i] : 0;
        double spread = b->norm2[i] > 0 ? variance : 0, full2 = b->norm2[i] > 0 ? norm2 : 1;

        sigma[i] = sqrt(variance) / full;
        std[i] = sqrt(spread / full2);
    }
}

int hcy_azint_finish(hcy_azint_result *result, const hcy_azint_plan *plan, const hcy_azint_job *job,
                     const uint64_t *sums, const struct hcy_frame_report *report, double normalization)
{
    int lost = report && report->n_lost;
    int plain = plan && job && !plan->filtered && !plan->extra && !lost && !is_float(job);
    double factor;

    if (!result || !plan || !job || !sums)
        return hcy_fail(HCY_EINVAL, "hcy_azint_finish: result, plan, job or sums is NULL");
    if (result->n_bins != plan->head.n_bins || job->n_bins != plan->head.n_bins ||
        job->n_pixels != plan->head.n_pixels || !result->sigma != (plan->options.error_model == HCY_ERRORS_NONE) ||
        !(job->flags & HCY_AZINT_WANT_VARIANCE) != !hcy__azint_is_poisson(plan))
        return hcy_fail(HCY_EINVAL, "hcy_azint_finish: the result or the job is not of this plan");
    if (report && report->status)
        return report->status;
    factor = plan->options.normalization * plan->norm_scale * normalization;
    if (factor == 0 || !isfinite(factor))
        return hcy_fail(HCY_EINVAL, "the frame's normalization is %g: its curve cannot be divided by that",
                        normalization);
    for (size_t at = 0; at < result->n_bins; at += BLOCK) {
        size_t n = result->n_bins - at < BLOCK ? result->n_bins - at : BLOCK;
        struct block b;

        if (plain)
            plain_block(&b, plan, sums, at, n);
        for (size_t i = 0; i < n && !plain; i++) {
            struct bin_sums s =
                plan->filtered ? kept_sums(plan, job, sums, at + i) : bin_sums(plan, job, sums, lost, at + i);

            put_bin(&b, &s, i);
        }
        set_block(result, &b, factor, at, n);
    }
    return 0;
}

int hcy_azint_result_add(hcy_azint_result *sum, const hcy_azint_result *frame, uint64_t n)
{
    if (!sum || !frame || sum->n_bins != frame->n_bins || !sum->sigma != !frame->sigma)
        return hcy_fail(HCY_EINVAL, "hcy_azint_result_add: the sum and the frame are not of one plan");
    double *const to[] = { sum->sum_signal, sum->sum_norm, sum->sum_norm2, sum->count, sum->sum_variance };
    const double *const from[] = { frame->sum_signal, frame->sum_norm, frame->sum_norm2, frame->count,
                                   frame->sum_variance };
    for (size_t k = 0; k < sizeof to / sizeof to[0]; k++)
        for (size_t i = 0; to[k] && i < sum->n_bins; i++)
            to[k][i] = (n ? to[k][i] : 0) + from[k][i];
    return 0;
}

int hcy_azint_result_merge(hcy_azint_result *sum, uint64_t n, double normalization)
{
    if (!sum || !n)
        return hcy_fail(HCY_EINVAL, "hcy_azint_result_merge: there is no frame in the sum");
    if (normalization == 0 || !isfinite(normalization))
        return hcy_fail(HCY_EINVAL, "the frames' normalization is %g: their curve cannot be divided by that",
                        normalization);
    for (size_t i = 0; i < sum->n_bins; i++) {
        double norm = sum->sum_norm[i] /= (double)n, norm2 = sum->sum_norm2[i] /= (double)n;
        sum->sum_norm[i] = norm *= normalization;
        sum->sum_norm2[i] = norm2 *= normalization * normalization;
        sum->count[i] /= (double)n;
        sum->intensity[i] = norm != 0 ? sum->sum_signal[i] / norm : 0;
        if (sum->sigma) {
            sum->sigma[i] = norm != 0 ? sqrt(sum->sum_variance[i]) / fabs(norm) : 0;
            sum->std[i] = norm2 > 0 ? sqrt(sum->sum_variance[i] / norm2) : 0;
        }
    }
    return 0;
}

int hcy_azint_result_create(hcy_azint_result **result, const hcy_azint_plan *plan)
{
    size_t n, axes, bytes, rows;
    double *a;

    if (!result || !plan)
        return hcy_fail(HCY_EINVAL, "hcy_azint_result_create: %s is NULL", result ? "plan" : "result");
    n = plan->head.n_bins;
    axes = plan->options.npt + plan->options.npt_azim;
    rows = plan->options.error_model == HCY_ERRORS_NONE ? 5 : 8;
    if (hcy_size_mul(&bytes, n * rows + axes, sizeof(double)) || !(*result = malloc(sizeof(**result))))
        return hcy_fail(HCY_ENOMEM, "no memory for a curve of %zu bins", n);
    if (!(a = calloc(1, bytes))) {
        free(*result);
        *result = NULL;
        return hcy_fail(HCY_ENOMEM, "no memory for a curve of %zu bins", n);
    }
    memcpy(a, plan->radial, axes * sizeof(double));
    **result = (hcy_azint_result){ .n_bins = n, .radial = a, .azimuthal = a + plan->options.npt,
                                   .n_radial = plan->options.npt, .n_azim = plan->options.npt_azim };
    a += axes;
    (*result)->intensity = a;
    (*result)->sum_signal = a + n;
    (*result)->sum_norm = a + 2 * n;
    (*result)->sum_norm2 = a + 3 * n;
    (*result)->count = a + 4 * n;
    if (rows > 5) {
        (*result)->sigma = a + 5 * n;
        (*result)->std = a + 6 * n;
        (*result)->sum_variance = a + 7 * n;
    }
    return 0;
}

void hcy_azint_result_destroy(hcy_azint_result *result)
{
    if (!result)
        return;
    free(result->radial);
    free(result);
}
