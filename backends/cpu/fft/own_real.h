/* own_real.h - a real line of an even number of numbers in its place, between the transform of a complex one of half as
 * many and the first half of the line's own (fft_real.h).  For C and NUMBER of what includes it, after fft_short.h. */
#include "fft_real.h"

/* z [h], of complex numbers, becomes [h + 1]. */
static inline void NAME(split_real)(C *z, size_t h, const NUMBER *w)
{
    for (size_t k = 0; 2 * k <= h; k++) {
        C low, high;
        NAME(split_pair)(&low, &high, z[k], z[k ? h - k : 0], w[k]);
        z[k] = low;
        z[h - k] = high;
    }
}

/* Back; the first number and the last one are real, whatever they are. */
static inline void NAME(join_real)(C *z, size_t h, const NUMBER *w)
{
    memset(&z[0].im, 0, sizeof z[0].im);
    memset(&z[h].im, 0, sizeof z[h].im);
    for (size_t k = 0; 2 * k <= h; k++) {
        C low, high;
        NAME(join_pair)(&low, &high, z[k], z[h - k], w[k]);
        z[k] = low;
        if (k)
            z[h - k] = high;
    }
}
