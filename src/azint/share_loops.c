/* share_loops.c - the loops over a pixel's bins without instructions of their own, and which variant is taken.  No
 * state; any thread. */
#define SHARE_LOOPS_TEXT
#include "share_loops.h"

#include <math.h>

static void find_azimuths(double *chi, const double *y, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        chi[i] = (float)atan2(y[i], x[i]);
}

static void add_all_weights(const struct azint_sums *sums, size_t first, const uint32_t *weights, size_t n,
                            uint64_t n40)
{
    for (size_t k = 0; k < n; k++)
        add_weight(sums, first + k, weights[k], n40);
}

const struct azint_loops hcy__azint_loops_portable = {
    .add_slant = add_slant_area,
    .cut_interval = cut_whole_bins,
    .divide = divide_shares,
    .round = round_shares,
    .subtract = subtract_shares,
    .pack = pack_weights,
    .add_weights = add_all_weights,
    .azimuths = find_azimuths,
};

const struct azint_loops *hcy__azint_loops(void)
{
#ifdef HCY_AZINT_AVX2
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma"))
        return &hcy__azint_loops_avx2;
#endif
    return &hcy__azint_loops_portable;
}
