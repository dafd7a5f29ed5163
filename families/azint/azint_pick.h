/* azint_pick.h - which pixels stand out of their background: a bin's mean and deviation from the sums of a filter, and
 * a pixel held against what lies between two bins.
 *
 * A pixel is picked if its intensity less the background is above max(noise, cutoff * sqrt(deviation^2 + noise^2)),
 * where the mean and the deviation of the background are interpolated between the middles of bins: pyFAI's sparsify
 * (find_intense of its kernels).  Both sides are multiplied by the pixel's norm and squared, so that no pixel needs a
 * division or a root.  Single IEEE operations in double: the same pixels everywhere.  No state; kernels include this
 * behind azint_wide.h, whose words before functions it takes.
 */
#ifndef HCY_AZINT_PICK_H
#define HCY_AZINT_PICK_H

#include "azint_wide.h"

struct azint_background {
    double mean, deviation;
};

/* Of bin `bin`; one without a pixel has neither, so its background is 0. */
AZINT_FUNCTION struct azint_background azint_background_of(const hcy_azint_pick_job *job, const uint64_t *sums,
                                                           uint64_t n_bins, uint64_t bin)
{
    const double weight = 1.0 / 16777216.0, unit = 1.0 / 1099511627776.0;
    const uint64_t *at = sums + bin;
    struct azint_background b = { 0, 0 };
    double norm = azint_double(at[HCY_SUM_LOST_NORM_LO * n_bins], at[HCY_SUM_LOST_NORM_HI * n_bins]) * unit;
    double norm2 = azint_double(at[HCY_SUM_LOST_NORM2_LO * n_bins], at[HCY_SUM_LOST_NORM2_HI * n_bins]) * unit;
    double variance;
    if (!(norm > 0 && norm2 > 0))
        return b;
    if (job->flags & HCY_AZINT_PICK_FLOAT) {
        uint64_t row = job->flags & HCY_AZINT_PICK_DEVIATION ? HCY_SUM_SQUARE_LO : HCY_SUM_VARIANCE_LO;
        b.mean = AZINT_AS_DOUBLE(at[HCY_SUM_SIGNAL_LO * n_bins]) * weight / norm;
        b.deviation = sqrt(AZINT_AS_DOUBLE(at[row * n_bins]) * weight / norm2);
        return b;
    }
    b.mean = azint_signed_double(at[HCY_SUM_SIGNAL_LO * n_bins], at[HCY_SUM_SIGNAL_HI * n_bins]) * weight / norm;
    if (job->flags & HCY_AZINT_PICK_DEVIATION) {
        uint64_t square[2] = { at[HCY_SUM_SQUARE_LO * n_bins], at[HCY_SUM_SQUARE_HI * n_bins] };
        uint64_t cross[2] = { at[HCY_SUM_CROSS_LO * n_bins], at[HCY_SUM_CROSS_HI * n_bins] };
        uint64_t norm24[2] = { at[HCY_SUM_NORM24_LO * n_bins], at[HCY_SUM_NORM24_HI * n_bins] };
        variance = azint_deviation_sum(square, cross, norm24, ldexp(b.mean, job->dark_shift), job->dark_shift);
        variance = ldexp(variance, -2 * job->dark_shift) * weight;
    } else {
        variance = azint_signed_double(at[HCY_SUM_VARIANCE_LO * n_bins], at[HCY_SUM_VARIANCE_HI * n_bins]);
        variance = ldexp(variance * weight, -job->variance_shift);
    }
    b.deviation = sqrt(variance / norm2);
    return b;
}

/* Whether a pixel is held against the background at all; also of a table of places that is none. */
AZINT_FUNCTION int azint_has_place(const hcy_azint_place *place, uint64_t n_bins)
{
    return (uint64_t)place->bin + (place->share > 0) < n_bins;
}

/* Whether a pixel of this value, which has a place, is picked; `bins` are the frame's. */
AZINT_FUNCTION int azint_stands_out(const hcy_azint_pick_job *job, const hcy_azint_place *place,
                                    const struct azint_background *bins, double value)
{
    const struct azint_background a = bins[place->bin], b = bins[place->bin + (place->share > 0)];
    const double share = (double)place->share, norm = (double)place->norm;
    double mean = a.mean + AZINT_PRODUCT(share, b.mean - a.mean);
    double deviation = a.deviation + AZINT_PRODUCT(share, b.deviation - a.deviation);
    double above = value - (double)place->dark - AZINT_PRODUCT(norm, mean), reach;
    /* Most pixels end here. */
    if (!(above > AZINT_PRODUCT(norm, job->noise)))
        return 0;
    reach = AZINT_PRODUCT(job->cutoff, norm);
    deviation = AZINT_PRODUCT(deviation, deviation) + AZINT_PRODUCT(job->noise, job->noise);
    return AZINT_PRODUCT(above, above) > AZINT_PRODUCT(AZINT_PRODUCT(reach, reach), deviation);
}

#endif
