/* fft_plan.h - what a Fourier transform of many passes (Stockham's order) is made of: the factors of a length, and the
 * roots of unity between passes.  Host code, one text for the CPU's own transforms and for those of GPUs, so that both
 * compute the same.  Pure functions.
 */
#ifndef HCY_FFT_PLAN_H
#define HCY_FFT_PLAN_H

#include <math.h>
#include <stddef.h>

enum { HCY_FFT_MOST_PASSES = 64 }; /* one for each factor of n */

struct hcy_fft_number {
    double re, im;
};

/* The radices whose product is n, or 0 where there is another prime factor.  Large ones first: fewer passes over the
 * numbers. */
static inline unsigned hcy_fft_factor(unsigned out[HCY_FFT_MOST_PASSES], size_t n)
{
    static const unsigned radices[] = { 8, 7, 5, 4, 3, 2 };
    unsigned count = 0;
    for (size_t i = 0; i < sizeof radices / sizeof radices[0]; i++)
        while (n % radices[i] == 0 && n > 1) {
            /* Four twos that are left go as 4 x 4, since 8 x 2 moves as much for less work in the second pass. */
            if (radices[i] == 8 && n % 16 == 0 && n % 32 != 0)
                break;
            out[count++] = radices[i];
            n /= radices[i];
        }
    return n == 1 ? count : 0;
}

/* exp(-2 pi i k / n) from an angle of at most an eighth of the circle, where sine and cosine are most accurate. */
static inline struct hcy_fft_number hcy_fft_root(size_t k, size_t n)
{
    const double pi = 3.14159265358979323846;
    k %= n;
    const size_t eighth = 8 * k / n;
    double re, im;
    /* The angle from the nearest quarter: exact as a fraction of n. */
    const size_t quarter = (eighth + 1) / 2;
    const double rest = 2 * pi * ((double)(4 * k) - (double)(quarter * n)) / (4 * (double)n);
    const double c = cos(rest), s = sin(rest);
    switch (quarter % 4) {
    case 0: re = c, im = s; break;
    case 1: re = -s, im = c; break;
    case 2: re = -c, im = -s; break;
    default: re = s, im = -c; break;
    }
    return (struct hcy_fft_number){ re, -im };
}

#endif
