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

/* What the sums of signal and variance are made of: two words, one, or doubles. */
enum form { WIDE, NARROW, FLOATS };

static enum form form_of_sums(const hcy_azint_job *job)
{
    if (job->pixel_type == HCY_PIXEL_F32 || job->pixel_type == HCY_PIXEL_F64)
        return FLOATS;
    return job->flags & HCY_AZINT_NARROW ? NARROW : WIDE;
}

static double read_sum(const uint64_t *sums, size_t n, size_t bin, int row, enum form form)
{
    uint64_t lo = sums[(size_t)row * n + bin];
    double x;

    if (form == WIDE)
        return azint_signed_double(lo, sums[((size_t)row + 1) * n + bin]);
    if (form == NARROW)
        return (double)(int64_t)lo;
    memcpy(&x, &lo, sizeof x);
    return x;
}

/* A constant sum of the plan, less what was lost in the frame: lost[0], and lost[n] its high word. */
static double remaining(const uint64_t norm[2], const uint64_t *lost, size_t n)
{
    uint64_t lo = norm[0], hi = norm[1];

    if (lost) {
        /* Subtraction of 128 bits: the second term is the borrow of the low word. */
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

    /* Subtracted as integers, where it is exact; of doubles the small difference of two large sums would
     * lose digits. */
    azint_negate(dark);
    azint_add(signal, dark[0], dark[1]);
    return azint_signed_double(signal[0], signal[1]);
}

/* Dark current and given variances, on the scale of the sums. */
static void add_bin_extra(struct bin_sums *s, const hcy_azint_plan *plan, const uint64_t *sums, int is_float,
                      size_t i)
{
    const struct azint_bin_extra *extra = &plan->extra[i];
    size_t n = plan->head.n_bins;

    /* Float pixels have no integer sum to subtract from; their dark current is on a finer scale instead. */
    if (plan->darks && is_float)
        s->signal -= ldexp(azint_signed_double(extra->dark_fine[0], extra->dark_fine[1]),
                           -plan->head.dark_shift);
    else if (plan->darks)
        s->signal = clean_signal(extra, sums, n, i);
    /* The sums of a frame have what it lost, and the plan what all of its pixels have. */
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
    const enum form form = form_of_sums(job);
    size_t n = job->n_bins;
    const uint64_t *at = sums + i;
    struct bin_sums s;

    s.signal = read_sum(sums, n, i, HCY_SUM_SIGNAL_LO, form);
    s.variance = read_sum(sums, n, i, HCY_SUM_VARIANCE_LO, form);
    /* Dark current comes off before the sums are scaled, while they are whole numbers. */
    if (plan->extra)
        add_bin_extra(&s, plan, sums, form == FLOATS, i);
    s.signal *= WEIGHT;
    s.variance *= WEIGHT;
    /* Norms are sums of the plan less what this frame lost, so that a frame which lost nothing costs
     * nothing. */
    s.norm = remaining(norm->norm, lost ? at + HCY_SUM_LOST_NORM_LO * n : NULL, n) * NORM;
    s.norm2 = remaining(norm->norm2, lost ? at + HCY_SUM_LOST_NORM2_LO * n : NULL, n) * NORM;
    s.count = (double)(norm->count - (lost ? at[HCY_SUM_LOST_COUNT * n] : 0)) * WEIGHT;
    return s;
}

/* What pixels have that a filter kept: complete sums. */
static struct bin_sums kept_sums(const hcy_azint_plan *plan, const hcy_azint_job *job, const uint64_t *sums,
                                 size_t i)
{
    const enum form form = form_of_sums(job);
    const int floats = form == FLOATS;
    int shift = plan->darks && !floats ? HCY_AZINT_SQUARE_SHIFT(hcy__azint_pixel_bytes(job->pixel_type)) : 0;
    size_t n = job->n_bins;
    const uint64_t *at = sums + i;
    struct bin_sums s;

    /* A filter sums what it keeps, so the rows that otherwise hold what was lost hold what is left. */
    s.signal = read_sum(sums, n, i, HCY_SUM_SIGNAL_LO, form) * WEIGHT;
    s.variance = read_sum(sums, n, i, HCY_SUM_VARIANCE_LO, form) * WEIGHT;
    s.norm = azint_double(at[HCY_SUM_LOST_NORM_LO * n], at[HCY_SUM_LOST_NORM_HI * n]) * NORM;
    s.norm2 = azint_double(at[HCY_SUM_LOST_NORM2_LO * n], at[HCY_SUM_LOST_NORM2_HI * n]) * NORM;
    s.count = (double)at[HCY_SUM_LOST_COUNT * n] * WEIGHT;
    /* Integer pixels add given variances on the plan's scale, float pixels as they are. */
    if (plan->options.error_model == HCY_ERRORS_VARIANCE && !floats)
        s.variance = ldexp(s.variance, -plan->head.variance_shift);
    if (plan->options.error_model != HCY_ERRORS_AZIMUTHAL)
        return s;
    /* The azimuthal model takes the pixels' deviations from the bin's mean as its variance, from sums of squares. */
    if (floats) {
        s.variance = read_sum(sums, n, i, HCY_SUM_SQUARE_LO, FLOATS) * WEIGHT;
    } else {
        const uint64_t square[2] = { at[HCY_SUM_SQUARE_LO * n], at[HCY_SUM_SQUARE_HI * n] };
        const uint64_t cross[2] = { at[HCY_SUM_CROSS_LO * n], at[HCY_SUM_CROSS_HI * n] };
        const uint64_t norm2[2] = { at[HCY_SUM_NORM24_LO * n], at[HCY_SUM_NORM24_HI * n] };
        /* The squares are taken about zero and moved to the mean in 128 bits: their difference as doubles
         * would be rounding alone. */
        double mean = s.norm > 0 ? ldexp(s.signal / s.norm, shift) : 0;

        s.variance = ldexp(azint_deviation_sum(square, cross, norm2, mean, shift), -2 * shift) * WEIGHT;
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
static void convert_wide(double *restrict to, const uint64_t *lo, const uint64_t *hi, size_t step, double scale,
                         size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t low = lo[i * step], high = hi[i * step];

        /* Most sums fit into one word, and one conversion is much faster than putting two together. */
        to[i] = scale * (((low >> 63) + high) ? azint_signed_double(low, high) : (double)(int64_t)low);
    }
}

int hcy__azint_set_norms(hcy_azint_plan *plan)
{
    hcy_azint_bin_norm *norm = plan->bin_norms;
    const size_t step = sizeof *norm / sizeof *norm->norm, n = plan->head.n_bins;

    /* One piece of memory, whose owner is the first. */
    plan->full_norms = malloc(3 * n * sizeof *plan->full_norms);
    if (!plan->full_norms)
        return hcy_fail(HCY_ENOMEM, "no memory for a plan of %zu bins", n);
    plan->full_norms2 = plan->full_norms + n;
    plan->full_counts = plan->full_norms2 + n;
    /* Converted once a plan: most frames lose no pixel and are divided by just these. */
    convert_wide(plan->full_norms, &norm->norm[0], &norm->norm[1], step, NORM, n);
    convert_wide(plan->full_norms2, &norm->norm2[0], &norm->norm2[1], step, NORM, n);
    /* The largest count of weights as they are bounds every sum of a frame: see hcy_azint_plan_narrow(). */
    for (size_t i = 0; i < n; i++)
        plan->max_count = norm[i].count > plan->max_count ? norm[i].count : plan->max_count;
    /* Weights of an unweighted mean are no shares: what they were made of is in the norms. */
    for (size_t i = 0; i < n && plan->least_norm > 0; i++)
        norm[i].count = (uint64_t)(plan->full_norms[i] / (plan->least_norm * WEIGHT) + 0.5);
    for (size_t i = 0; i < n; i++)
        plan->full_counts[i] = (double)norm[i].count * WEIGHT;
    return 0;
}

/* The same below 2^63: halves of 32 bits are made doubles by their bits, so one addition rounds, as a conversion would;
 * x86-64 has none for several integers at once. */
static void convert_narrow(double *restrict to, const uint64_t *x, double scale, size_t n)
{
    const uint64_t two_52 = 0x4330000000000000u, two_84 = 0x4530000000000000u; /* these powers, as doubles */

    for (size_t i = 0; i < n; i++) {
        uint64_t low = (x[i] & 0xffffffffu) | two_52, high = x[i] >> 32 | two_84;
        double l, h;

        memcpy(&l, &low, sizeof l);
        memcpy(&h, &high, sizeof h);
        to[i] = scale * ((h - (0x1p84 + 0x1p52)) + l);
    }
}

/* Bins [at, at + n) of a plan without extras and filter, of a frame of integers that has lost nothing: what its means
 * need, and with `all` the rest. */
static void plain_block(struct block *b, const hcy_azint_plan *plan, const hcy_azint_job *job,
                        const uint64_t *sums, int all, size_t at, size_t n)
{
    const uint64_t *signal = sums + HCY_SUM_SIGNAL_LO * (size_t)plan->head.n_bins + at;
    const uint64_t *variance = sums + HCY_SUM_VARIANCE_LO * (size_t)plan->head.n_bins + at;
    const int with_variance = job->flags & HCY_AZINT_WANT_VARIANCE;

    /* One word a sum where the job has proved that it suffices. */
    if (job->flags & HCY_AZINT_NARROW) {
        convert_narrow(b->signal, signal, WEIGHT, n);
        if (with_variance)
            convert_narrow(b->variance, variance, WEIGHT, n);
    } else {
        convert_wide(b->signal, signal, signal + plan->head.n_bins, 1, WEIGHT, n);
        if (with_variance)
            convert_wide(b->variance, variance, variance + plan->head.n_bins, 1, WEIGHT, n);
    }
    memcpy(b->norm, plan->full_norms + at, n * sizeof *b->norm);
    /* Results of means alone have no arrays for the rest. */
    if (!all)
        return;
    memcpy(b->norm2, plan->full_norms2 + at, n * sizeof *b->norm2);
    memcpy(b->count, plan->full_counts + at, n * sizeof *b->count);
}

static void divide(double *restrict to, const double *restrict from, double by, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from[i] / by;
}

/* Bins [at, at + n) of the curve.  An empty one has no norm; what it is divided by instead does not matter. */
static void set_means(hcy_azint_result *r, const struct block *b, double factor, size_t at, size_t n)
{
    double *restrict intensity = r->intensity + at, *restrict sigma = r->sigma ? r->sigma + at : NULL;

    for (size_t i = 0; i < n; i++) {
        double full = b->norm[i] > 0 ? b->norm[i] * factor : 1;

        intensity[i] = (b->norm[i] > 0 ? b->signal[i] : 0) / full;
    }
    for (size_t i = 0; sigma && i < n; i++) {
        double full = b->norm[i] > 0 ? fabs(b->norm[i] * factor) : 1;

        sigma[i] = sqrt(b->norm[i] > 0 ? b->variance[i] : 0) / full;
    }
}

/* Bins [at, at + n) of the other arrays, which results of means alone do not have.  least: see least_norm of a plan. */
static void set_sums(hcy_azint_result *r, const struct block *b, double least, double factor, size_t at, size_t n)
{
    double *restrict sum_norm = r->sum_norm + at, *restrict sum_norm2 = r->sum_norm2 + at;
    const double squared = factor * factor;

    divide(r->sum_signal + at, b->signal, ONE, n);
    /* Weights of an unweighted mean have the norm divided out, so that it is sums of norms that count pixels. */
    divide(r->count + at, least > 0 ? b->norm : b->count, least > 0 ? least * ONE : ONE, n);
    for (size_t i = 0; i < n; i++) {
        sum_norm[i] = b->norm[i] * factor / ONE;
        sum_norm2[i] = b->norm2[i] * squared / (ONE * ONE);
    }
    if (!r->sigma)
        return;
    double *restrict std = r->std + at;

    divide(r->sum_variance + at, b->variance, ONE * ONE, n);
    for (size_t i = 0; i < n; i++) {
        double full = b->norm2[i] > 0 ? b->norm2[i] * squared : 1;
        double variance = b->norm[i] > 0 && b->norm2[i] > 0 ? b->variance[i] : 0;

        std[i] = sqrt(variance / full);
    }
}

/* The variance of a bin in which each pixel counted one: the sum of c^2, which no result has.  It follows from the sums
 * that it has, exactly for pixels of equal norms, and a bin's pixels have nearly equal ones. */
static double least_variance(double count, double norm, double norm2)
{
    double pixel = norm != 0 ? count / norm : 0;

    return norm2 * pixel * pixel;
}

/* The errors of a frame that is part of a sum, if it is looked at by itself: its bins have a least variance, its sums,
 * which are added, do not. */
static void set_part_errors(hcy_azint_result *r)
{
    for (size_t i = 0; i < r->n_bins; i++) {
        double norm = fabs(r->sum_norm[i]), norm2 = r->sum_norm2[i];
        double variance = fmax(r->sum_variance[i], least_variance(r->count[i], norm, norm2));

        r->sigma[i] = norm > 0 ? sqrt(variance) / norm : 0;
        r->std[i] = norm2 > 0 ? sqrt(variance / norm2) : 0;
    }
}

int hcy_azint_finish(hcy_azint_result *result, const hcy_azint_plan *plan, const hcy_azint_job *job,
                     const uint64_t *sums, const struct hcy_frame_report *report, double normalization)
{
    int lost = report && report->n_lost;
    int plain = plan && job && !plan->filtered && !plan->extra && !lost && form_of_sums(job) != FLOATS;
    double factor;

    if (!result || !plan || !job || !sums)
        return hcy_fail(HCY_EINVAL, "hcy_azint_finish: result, plan, job or sums is NULL");
    /* A job or a result of another plan has arrays of other lengths, which would be read past their ends. */
    if (result->n_bins != plan->head.n_bins || job->n_bins != plan->head.n_bins ||
        job->n_pixels != plan->head.n_pixels || !result->sigma != (plan->options.error_model == HCY_ERRORS_NONE) ||
        !(job->flags & HCY_AZINT_WANT_VARIANCE) != !hcy__azint_is_poisson(plan))
        return hcy_fail(HCY_EINVAL, "hcy_azint_finish: the result or the job is not of this plan");
    /* A frame that could not be decoded has no curve; its own status is the caller's answer. */
    if (report && report->status)
        return report->status;
    /* The plan's scale of norms is divided out here together with the caller's factors. */
    factor = plan->options.normalization * plan->norm_scale * normalization;
    if (factor == 0 || !isfinite(factor))
        return hcy_fail(HCY_EINVAL, "the frame's normalization is %g: its curve cannot be divided by that",
                        normalization);
    /* In blocks that stay in the processor's first cache between their steps. */
    for (size_t at = 0; at < result->n_bins; at += BLOCK) {
        size_t n = result->n_bins - at < BLOCK ? result->n_bins - at : BLOCK;
        struct block b;

        /* The usual frame goes through loops that compilers make vectors of; any other takes its bins one
         * by one. */
        if (plain)
            plain_block(&b, plan, job, sums, result->sum_signal != NULL, at, n);
        for (size_t i = 0; i < n && !plain; i++) {
            struct bin_sums s =
                plan->filtered ? kept_sums(plan, job, sums, at + i) : bin_sums(plan, job, sums, lost, at + i);

            put_bin(&b, &s, i);
        }
        set_means(result, &b, factor, at, n);
        if (result->sum_signal)
            set_sums(result, &b, plan->least_norm, factor, at, n);
    }
    if (result->part_of_sum && result->sum_signal)
        set_part_errors(result);
    result->n_lost = report ? report->n_lost : 0;
    return 0;
}

int hcy_azint_plan_get_norms(double *norms, const hcy_azint_plan *plan)
{
    if (!norms || !plan)
        return hcy_fail(HCY_EINVAL, "hcy_azint_plan_get_norms: norms and plan must not be NULL");
    /* As set_sums() has them, to the bit. */
    const double factor = plan->options.normalization * plan->norm_scale;
    for (size_t i = 0; i < plan->head.n_bins; i++)
        norms[i] = plan->full_norms[i] * factor / ONE;
    return 0;
}

int hcy_azint_result_add(hcy_azint_result *sum, const hcy_azint_result *frame, uint64_t n)
{
    if (!sum || !frame || sum->n_bins != frame->n_bins || !sum->sigma != !frame->sigma)
        return hcy_fail(HCY_EINVAL, "hcy_azint_result_add: the sum and the frame are not of one plan");
    if (!sum->sum_signal || !frame->sum_signal)
        return hcy_fail(HCY_EINVAL, "hcy_azint_result_add: a result of means alone has no sums");
    double *const to[] = { sum->sum_signal, sum->sum_norm, sum->sum_norm2, sum->count, sum->sum_variance };
    const double *const from[] = { frame->sum_signal, frame->sum_norm, frame->sum_norm2, frame->count,
                                   frame->sum_variance };
    /* The first frame replaces what the arrays held, so that nobody has to clear them. */
    for (size_t k = 0; k < sizeof to / sizeof to[0]; k++)
        for (size_t i = 0; to[k] && i < sum->n_bins; i++)
            to[k][i] = (n ? to[k][i] : 0) + from[k][i];
    sum->n_lost = (n ? sum->n_lost : 0) + frame->n_lost;
    return 0;
}

int hcy_azint_result_merge(hcy_azint_result *sum, uint64_t n, double normalization)
{
    if (!sum || !n || !sum->sum_signal)
        return hcy_fail(HCY_EINVAL, "hcy_azint_result_merge: there is no frame in the sum");
    if (normalization == 0 || !isfinite(normalization))
        return hcy_fail(HCY_EINVAL, "the frames' normalization is %g: their curve cannot be divided by that",
                        normalization);
    for (size_t i = 0; i < sum->n_bins; i++) {
        /* Norms and counts become means over the frames, signal and variance stay sums: intensities then
         * are sums over frames, as of one long exposure. */
        double norm = sum->sum_norm[i] /= (double)n, norm2 = sum->sum_norm2[i] /= (double)n;
        sum->count[i] /= (double)n;
        /* Zeros in each of many frames are one zero in their sum: only here is a bin given a least variance. */
        if (sum->sigma && sum->part_of_sum)
            sum->sum_variance[i] = fmax(sum->sum_variance[i], least_variance(sum->count[i], norm, norm2));
        sum->sum_norm[i] = norm *= normalization;
        sum->sum_norm2[i] = norm2 *= normalization * normalization;
        sum->intensity[i] = norm != 0 ? sum->sum_signal[i] / norm : 0;
        if (sum->sigma) {
            sum->sigma[i] = norm != 0 ? sqrt(sum->sum_variance[i]) / fabs(norm) : 0;
            sum->std[i] = norm2 > 0 ? sqrt(sum->sum_variance[i] / norm2) : 0;
        }
    }
    return 0;
}

/* Makes a result with all arrays, or with intensity and sigma alone, which stand first. */
static int create_result(hcy_azint_result **result, const hcy_azint_plan *plan, int all)
{
    size_t n, axes, bytes, rows;
    double *a;
    int errors;

    if (!result || !plan)
        return hcy_fail(HCY_EINVAL, "hcy_azint_result_create: %s is NULL", result ? "plan" : "result");
    n = plan->head.n_bins;
    axes = plan->options.npt + plan->options.npt_azim;
    errors = plan->options.error_model != HCY_ERRORS_NONE;
    /* How many arrays there are follows from whether there are errors and whether sums are wanted. */
    rows = all ? 5 : 1;
    if (errors)
        rows += all ? 3 : 1;
    /* One block for the axes and all arrays, which is freed by its first. */
    if (hcy_size_mul(&bytes, n * rows + axes, sizeof(double)) || !(*result = malloc(sizeof(**result))))
        return hcy_fail(HCY_ENOMEM, "no memory for a curve of %zu bins", n);
    if (!(a = calloc(1, bytes))) {
        free(*result);
        *result = NULL;
        return hcy_fail(HCY_ENOMEM, "no memory for a curve of %zu bins", n);
    }
    /* A copy of the axes, so that the result may outlive the plan. */
    memcpy(a, plan->radial, axes * sizeof(double));
    **result = (hcy_azint_result){ .n_bins = n, .radial = a, .azimuthal = a + plan->options.npt,
                                   .n_radial = plan->options.npt, .n_azim = plan->options.npt_azim,
                                   .part_of_sum = hcy__azint_is_part_of_sum(plan) };
    /* In this order the first two are what results of means alone have. */
    double **const arrays[] = { &(*result)->intensity, errors ? &(*result)->sigma : NULL,
                                &(*result)->sum_signal, &(*result)->sum_norm, &(*result)->sum_norm2,
                                &(*result)->count, errors ? &(*result)->std : NULL,
                                errors ? &(*result)->sum_variance : NULL };
    a += axes;
    for (size_t i = 0; i < (all ? sizeof arrays / sizeof arrays[0] : 2); i++)
        if (arrays[i]) {
            *arrays[i] = a;
            a += n;
        }
    return 0;
}

int hcy_azint_result_create(hcy_azint_result **result, const hcy_azint_plan *plan)
{
    return create_result(result, plan, 1);
}

int hcy_azint_result_create_means(hcy_azint_result **result, const hcy_azint_plan *plan)
{
    return create_result(result, plan, 0);
}

void hcy_azint_result_destroy(hcy_azint_result *result)
{
    if (!result)
        return;
    free(result->radial);
    free(result);
}
