/* azint_wide.h - arithmetic that hosts and devices have to do alike: sums of more than 64 bits, how far a bin's
 * pixels are from their mean, Chauvenet's criterion.
 *
 * Integers of 64-bit words, low word first, and single IEEE operations in double: the same bits everywhere.  No
 * state; backends may include this file beside azint_format.h.  Kernels' compilers want a word of their own before
 * functions (AZINT_FUNCTION), products that they do not fuse with sums (AZINT_PRODUCT), and their own way from bits to
 * a double (AZINT_AS_DOUBLE).
 */
#ifndef HCY_AZINT_WIDE_H
#define HCY_AZINT_WIDE_H

#include "azint_format.h"

#ifndef AZINT_FUNCTION
#include <math.h>
#include <string.h>
#define AZINT_FUNCTION static inline
#define AZINT_PRODUCT(a, b) ((a) * (b))
#define AZINT_AS_DOUBLE(bits) azint_as_double(bits)
static inline double azint_as_double(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}
#endif

/* The square of a weight (azint_format.h). */
AZINT_FUNCTION uint32_t azint_square(uint32_t c)
{
    return (uint32_t)(((uint64_t)c * c + (1u << 23)) >> 24);
}

/* --- Sums of 128 bits, two's complement where they have a sign --- */

AZINT_FUNCTION void azint_add(uint64_t sum[2], uint64_t lo, uint64_t hi)
{
    sum[0] += lo;
    sum[1] += hi + (sum[0] < lo);
}

AZINT_FUNCTION void azint_negate(uint64_t x[2])
{
    x[0] = ~x[0] + 1;
    x[1] = ~x[1] + !x[0];
}

/* a * b. */
AZINT_FUNCTION void azint_mul(uint64_t p[2], uint64_t a, uint64_t b)
{
    uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
    /* Neither sum wraps: (2^32 - 1)^2 + 2^32 - 1 is below 2^64. */
    uint64_t mid = a1 * b0 + (a0 * b0 >> 32), mid2 = a0 * b1 + (mid & 0xffffffffu);

    p[0] = mid2 << 32 | (a0 * b0 & 0xffffffffu);
    p[1] = a1 * b1 + (mid >> 32) + (mid2 >> 32);
}

/* (a * b + 2^(shift - 1)) >> shift, where that is below 2^64; shift from 1 to 63. */
AZINT_FUNCTION uint64_t azint_mul_shift(uint64_t a, uint64_t b, unsigned shift)
{
    uint64_t p[2];

    azint_mul(p, a, b);
    /* Half of the last place, so that the shift rounds to nearest. */
    azint_add(p, (uint64_t)1 << (shift - 1), 0);
    return p[0] >> shift | p[1] << (64 - shift);
}

/* sum += c * x, without a rounding. */
AZINT_FUNCTION void azint_add_product(uint64_t sum[2], uint32_t c, uint64_t x)
{
    /* Both products stay below 2^64, because c has 32 bits and so has each half of x. */
    uint64_t high = c * (x >> 32);

    azint_add(sum, c * (x & 0xffffffffu), 0);
    azint_add(sum, high << 32, high >> 32);
}

/* Rounded to nearest, ties to even: 64 significant bits with a sticky last one, converted once. */
AZINT_FUNCTION double azint_double(uint64_t lo, uint64_t hi)
{
    unsigned shift = 0;
    uint64_t top;

    if (!(hi | lo >> 63)) /* mostly, and quicker than what follows */
        return (double)(int64_t)lo;
    if (!hi)
        return (double)lo;
    while (!(hi >> 63)) {
        hi = hi << 1 | lo >> 63;
        lo <<= 1;
        shift++;
    }
    top = hi | (lo != 0);
    return ldexp((double)top, 64 - (int)shift);
}

AZINT_FUNCTION double azint_signed_double(uint64_t lo, uint64_t hi)
{
    /* The high word repeats the sign, so 64 bits say it all. */
    if (lo >> 63 ? !~hi : !hi)
        return (double)(int64_t)lo;
    if (!(hi >> 63))
        return azint_double(lo, hi);
    /* Rounding is symmetric, so the magnitude may be rounded and the sign put back. */
    return -azint_double(~lo + 1, ~hi + (lo == 0));
}

/* --- 256 bits --- */

/* sum += x << shift, where nothing is lost at the top; shift from 0 to 191. */
AZINT_FUNCTION void azint_add_256(uint64_t sum[4], const uint64_t x[4], unsigned shift)
{
    unsigned words = shift / 64, bits = shift % 64;
    uint64_t carry = 0, below = 0;

    for (unsigned i = words; i < 4; i++) {
        uint64_t word = bits ? x[i - words] << bits | below >> (64 - bits) : x[i - words], s = sum[i] + word;
        /* The two additions cannot both carry: after the first one has, the sum is at most 2^64 - 2. */
        uint64_t over = s < word;

        below = x[i - words];
        sum[i] = s + carry;
        carry = over | (sum[i] < carry);
    }
}

AZINT_FUNCTION void azint_negate_256(uint64_t x[4])
{
    uint64_t carry = 1;

    for (unsigned i = 0; i < 4; i++) {
        x[i] = ~x[i] + carry;
        carry = carry && !x[i];
    }
}

AZINT_FUNCTION void azint_mul_256(uint64_t p[4], const uint64_t a[2], const uint64_t b[2])
{
    for (unsigned i = 0; i < 4; i++)
        p[i] = 0;
    for (unsigned i = 0; i < 2; i++)
        for (unsigned j = 0; j < 2; j++) {
            uint64_t part[4] = { 0, 0, 0, 0 };

            azint_mul(part, a[i], b[j]);
            azint_add_256(p, part, 64 * (i + j));
        }
}

/* --- The deviation from a mean --- */

/* A pixel's norm in the sums of squares: 24-bit fixed point, as a weight's.  A plan's norms are 1 at most. */
AZINT_FUNCTION uint32_t azint_norm24(float norm)
{
    return (uint32_t)((double)norm * HCY_AZINT_ONE + 0.5);
}

/* The sum of c2 * (v - mean * n24 / ONE)^2, which cannot be negative, from the three sums of its terms: c2 * v * v,
 * c2 * v * n24 (signed) and c2 * n24 * n24; `shift` is that of v.  The mean is rounded to 32 significant bits, which
 * moves the result by less than 2^-64 of mean^2 times the last sum; nothing else is rounded before the end, so nothing
 * cancels. */
AZINT_FUNCTION double azint_deviation_sum(const uint64_t square[2], const uint64_t cross[2], const uint64_t norm2[2],
                                  double mean, int shift)
{
    uint64_t x[4] = { 0, 0, 0, 0 }, a[4] = { square[0], square[1], 0, 0 }, b[2] = { cross[0], cross[1] }, p[4];
    uint64_t m[2] = { 0, 0 }, mm[2];
    const int coarse = shift == HCY_AZINT_COARSE_SHIFT;
    const unsigned up = coarse ? HCY_AZINT_COARSE_SQUARE : 0, cross_up = coarse ? HCY_AZINT_COARSE_CROSS : 0;
    int exponent, k;
    int negative = (mean < 0) != (int)(b[1] >> 63);

    frexp(mean, &exponent);
    k = 24 + 32 - exponent; /* 2^k mean / ONE has 32 bits, where k has room */
    k = k < 0 ? 0 : k > 64 ? 64 : k;
    if (coarse && k > 47) /* the first sum has room for 2^(2 k + COARSE_SQUARE) */
        k = 47;
    m[0] = (uint64_t)(ldexp(fabs(mean), k) / HCY_AZINT_ONE + 0.5);
    /* The three terms are brought to one scale of 2^(2k): x = 2^(2k) square - 2^(k+1) m cross + m^2 norm2. */
    azint_mul(mm, m[0], m[0]);
    /* Magnitudes are multiplied; `negative` is the sign of mean * cross, and the term is subtracted. */
    if (b[1] >> 63)
        azint_negate(b);
    azint_mul_256(p, m, b);
    if (!negative)
        azint_negate_256(p);
    azint_add_256(x, a, 2 * (unsigned)k + up);
    azint_add_256(x, p, (unsigned)k + 1 + cross_up);
    azint_mul_256(p, mm, norm2);
    azint_add_256(x, p, 0);
    if (x[3] >> 63) /* no sums of pixels give this */
        return 0;
    if (x[3]) /* two words are enough, the lower one with a sticky last bit */
        return ldexp(azint_double(x[2] | (x[1] || x[0]), x[3]), 128 - 2 * k);
    if (x[2])
        return ldexp(azint_double(x[1] | (x[0] != 0), x[2]), 64 - 2 * k);
    return ldexp(azint_double(x[0], x[1]), -2 * k);
}

/* --- Chauvenet's criterion --- */

/* sqrt(2 ln(n / sqrt(2 pi))), n at least 3: how many standard deviations one of n pixels may be off.  ln is
 * interpolated between the host's to the second order: within 2e-5, of about 8. */
AZINT_FUNCTION double azint_chauvenet(const hcy_azint_filter *filter, double n)
{
    const double h = 1.0 / HCY_AZINT_LOG_STEPS;
    int exponent;
    double y = 2 * frexp(n > 3 ? n : 3, &exponent), at = (y - 1) * HCY_AZINT_LOG_STEPS, ln;
    unsigned i = (unsigned)at;

    at -= i;
    /* The straight line between the host's two values, then the term of second order: the second derivative of
     * ln is -1 / y^2. */
    ln = filter->log[i] + AZINT_PRODUCT(at, filter->log[i + 1] - filter->log[i]);
    ln += AZINT_PRODUCT(AZINT_PRODUCT(at, 1 - at), 0.5 * h * h) / AZINT_PRODUCT(y, y);
    ln += AZINT_PRODUCT((double)(exponent - 1), filter->log[HCY_AZINT_LOG_STEPS]) - filter->log_root;
    return sqrt(2 * ln);
}

#endif
