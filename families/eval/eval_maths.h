/* eval_maths.h - exp, log, sin and so on, in C that all devices' compilers take: one text, the same bits everywhere.
 *
 * Only +, -, *, /, sqrt, fma and operations on integers are used, each of which has one result on every device,
 * and nothing may be contracted.  Functions of doubles aim at 1 unit in the last place, which tests/maths
 * measures: what would be lost in rounding is carried along in a second double.  Functions of floats have a text of
 * their own (eval_floats.h).  There are neither branches nor tables but in what says so (far arguments of sin, cos,
 * tan; fmod), so that a CPU's loop becomes vectors.
 * (A CPU without an instruction for fma takes C's, which has the same bits and is slow.)
 *
 * Whoever includes this has included eval_helpers.h and defined what that wants, and TABLE, how a constant array is
 * declared.
 */
#ifndef HCY_EVAL_MATHS_H
#define HCY_EVAL_MATHS_H

#include "eval_polynomials.h"

/* --- Parts --- */

/* hi + lo, of which lo is what hi lacks. */
typedef struct {
    f64 hi, lo;
} pair64;

#define INFINITE_F64 DOUBLE_OF_BITS(0x7ff0000000000000u)
#define NO_NUMBER_F64 DOUBLE_OF_BITS(0x7ff8000000000000u)
#define SIGN_BIT_F64 0x8000000000000000u
/* Added to a number below 2^51, it leaves the nearest integer in the last bits. */
#define TO_INTEGER_F64 6755399441055744.0
#define LN2_HI_F64 0.69314718055994529
#define LN2_LO_F64 2.3190468138462996e-17

/* Exact, where |a| >= |b|, or a is 0. */
HELPER pair64 ordered_sum(f64 a, f64 b)
{
    pair64 s;
    s.hi = a + b;
    s.lo = (a - s.hi) + b;
    return s;
}

/* Exact. */
HELPER pair64 exact_sum(f64 a, f64 b)
{
    pair64 s;
    s.hi = a + b;
    f64 of_b = s.hi - a;
    s.lo = (a - (s.hi - of_b)) + (b - of_b);
    return s;
}

HELPER pair64 exact_product(f64 a, f64 b)
{
    pair64 p;
    p.hi = a * b;
    p.lo = FUSED_F64(a, b, -p.hi);
    return p;
}

/* To 100 bits and more. */
HELPER pair64 pair_product(pair64 a, pair64 b)
{
    pair64 p = exact_product(a.hi, b.hi);
    return ordered_sum(p.hi, p.lo + FUSED_F64(a.hi, b.lo, a.lo * b.hi));
}

HELPER pair64 pair_quotient(pair64 a, pair64 b)
{
    f64 q = DIVIDE_F64(a.hi, b.hi);
    f64 rest = FUSED_F64(-q, b.hi, a.hi) + FUSED_F64(-q, b.lo, a.lo);
    return ordered_sum(q, DIVIDE_F64(rest, b.hi));
}

/* 2^k for a k from -1022 to 1023.  What comes of a NaN is any k, and no number stays none. */
HELPER f64 power_of_two(i64 k)
{
    return DOUBLE_OF_BITS(((u64)k + 1023) << 52);
}

/* x 2^k for k from -2044 to 2046 and an x near 1: in two steps, the first of which is exact. */
HELPER f64 scale_f64(f64 x, i64 k)
{
    u64 step = (((u64)k + 4096) >> 1) - 2048;
    return x * power_of_two((i64)step) * power_of_two((i64)((u64)k - step));
}

/* The size of x with the sign of y. */
HELPER f64 with_sign_f64(f64 x, f64 y)
{
    return DOUBLE_OF_BITS((BITS_OF_DOUBLE(x) & ~SIGN_BIT_F64) | (BITS_OF_DOUBLE(y) & SIGN_BIT_F64));
}

/* x between the two; a NaN stays one. */
HELPER f64 within_f64(f64 x, f64 low, f64 high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

/* --- Exponentials --- */

/* A number 2^k (1 + hi + lo), |hi| < 0.42. */
typedef struct {
    i64 k;
    f64 hi, lo;
} power64;

/* e^(x + x_lo), for |x| < 1500. */
HELPER power64 power_of_e(f64 x, f64 x_lo)
{
    power64 p;
    f64 t = FUSED_F64(x, 1.4426950408889634, TO_INTEGER_F64), k = t - TO_INTEGER_F64;
    p.k = (i64)(BITS_OF_DOUBLE(t) - BITS_OF_DOUBLE(TO_INTEGER_F64));
    /* The first product and difference are exact together: a multiple of x's last place that is below 1/2. */
    f64 far = FUSED_F64(-k, LN2_HI_F64, x);
    pair64 r = ordered_sum(far, FUSED_F64(-k, LN2_LO_F64, x_lo));
    pair64 s = ordered_sum(r.hi, FUSED_F64(r.hi * r.hi, exp_polynomial(r.hi), FUSED_F64(r.hi, r.lo, r.lo)));
    p.hi = s.hi;
    p.lo = s.lo;
    return p;
}

/* 2^k (1 + hi + lo) of a power, rounded. */
HELPER f64 round_power(power64 p)
{
    pair64 s = ordered_sum(1.0, p.hi);
    return scale_f64(s.hi + (s.lo + p.lo), p.k);
}

/* Up to here neither e^x nor e^-x is subnormal: one step scales. */
#define NEAR_EXP_F64 708.0
HELPER f64 near_exp_f64(f64 x)
{
    power64 p = power_of_e(x, 0.0);
    pair64 s = ordered_sum(1.0, p.hi);
    return DOUBLE_OF_BITS(BITS_OF_DOUBLE(s.hi + (s.lo + p.lo)) + ((u64)p.k << 52));
}

HELPER f64 exp_f64(f64 x)
{
    return round_power(power_of_e(within_f64(x, -746.0, 710.0), 0.0));
}

HELPER f64 exp2_f64(f64 x)
{
    f64 y = within_f64(x, -1080.0, 1025.0), k = (y + TO_INTEGER_F64) - TO_INTEGER_F64;
    pair64 r = exact_product(y - k, LN2_HI_F64);
    power64 p = power_of_e(r.hi, FUSED_F64(y - k, LN2_LO_F64, r.lo));
    p.k = (i64)((u64)p.k + BITS_OF_DOUBLE(y + TO_INTEGER_F64) - BITS_OF_DOUBLE(TO_INTEGER_F64));
    return round_power(p);
}

/* A power less 1, over 2^k. */
HELPER pair64 less_one(power64 p)
{
    pair64 one = exact_sum(1.0, -power_of_two(-p.k)), s = ordered_sum(one.hi, p.hi);
    return ordered_sum(s.hi, s.lo + (p.lo + one.lo));
}

HELPER f64 expm1_f64(f64 x)
{
    power64 p = power_of_e(within_f64(x, -40.0, 710.0), 0.0);
    i64 k = p.k;
    /* Above 2^1022 a power of two has no reciprocal, and 1 no weight. */
    p.k = k > 1000 ? 1000 : k;
    f64 y = scale_f64(less_one(p).hi, k);
    return x == 0 ? x : y;
}

/* e^|x| - 1, for |x| up to 40. */
HELPER pair64 growth_of(f64 x)
{
    power64 p = power_of_e(within_f64(ABSOLUTE_F64(x), 0.0, 40.0), 0.0);
    pair64 t = less_one(p);
    f64 scale = power_of_two(p.k);
    t.hi *= scale;
    t.lo *= scale;
    return t;
}

HELPER pair64 plus_f64(pair64 a, f64 b)
{
    pair64 s = exact_sum(a.hi, b);
    return ordered_sum(s.hi, s.lo + a.lo);
}

/* Half of e^|x|, where e^-|x| has no weight. */
HELPER f64 half_power(f64 x)
{
    power64 p = power_of_e(within_f64(ABSOLUTE_F64(x), 0.0, 720.0), 0.0);
    p.k -= 1;
    return round_power(p);
}

/* (t + t/(1 + t))/2 of t = e^|x| - 1. */
HELPER f64 sinh_f64(f64 x)
{
    pair64 t = growth_of(x), u = pair_quotient(t, plus_f64(t, 1.0));
    pair64 s = ordered_sum(t.hi, u.hi);
    f64 y = 0.5 * (s.hi + (s.lo + (t.lo + u.lo)));
    y = ABSOLUTE_F64(x) > 36.0 ? half_power(x) : y;
    /* What is subnormal loses a bit above. */
    return ABSOLUTE_F64(x) < 1e-9 ? x : with_sign_f64(y, x);
}

HELPER f64 cosh_f64(f64 x)
{
    pair64 one = { 1.0, 0.0 }, e = plus_f64(growth_of(x), 1.0), u = pair_quotient(one, e);
    pair64 s = ordered_sum(e.hi, u.hi);
    f64 y = 0.5 * (s.hi + (s.lo + (e.lo + u.lo)));
    return ABSOLUTE_F64(x) > 36.0 ? half_power(x) : y;
}

/* t/(t + 2) of t = e^(2|x|) - 1. */
HELPER f64 tanh_f64(f64 x)
{
    pair64 t = growth_of(2.0 * x);
    f64 y = pair_quotient(t, plus_f64(t, 2.0)).hi;
    return ABSOLUTE_F64(x) < 1e-9 ? x : with_sign_f64(y, x);
}

/* --- Logarithms --- */

/* A number as 2^k (1 + f), f from sqrt(1/2) - 1 to sqrt(2) - 1. */
typedef struct {
    f64 k, f;
    i64 exponent;
} binary64;

/* Of a positive number that is finite. */
HELPER binary64 binary_of(f64 x)
{
    binary64 b;
    i64 small = x < 2.2250738585072014e-308;
    u64 bits = BITS_OF_DOUBLE(small ? x * 18014398509481984.0 : x);
    /* The exponent changes at sqrt(1/2). */
    u64 raised = bits - 0x3fe6a09e667f3bcdu + 0x4000000000000000u, exponent = raised >> 52;
    b.exponent = (i64)exponent - 1024;
    b.f = DOUBLE_OF_BITS(bits - (u64)b.exponent * 0x0010000000000000u) - 1.0;
    b.exponent -= small ? 54 : 0;
    b.k = DOUBLE_OF_BITS((u64)(b.exponent + 0x4338000000000000)) - TO_INTEGER_F64;
    return b;
}

/* What log() is where its argument is not as binary_of() wants it. */
HELPER f64 log_edges(f64 x, f64 y)
{
    f64 edge = x == 0 ? -INFINITE_F64 : x == INFINITE_F64 ? x : NO_NUMBER_F64;
    return x > 0 && x < INFINITE_F64 ? y : edge;
}

/* log(1 + f + f_lo) = f - f^2/2 + s (f^2/2 + R), with s = f/(2 + f) and artanh's series for R. */
HELPER pair64 log_near_one(f64 f, f64 f_lo)
{
    f64 s = DIVIDE_F64(f, 2.0 + f), z = s * s, square = 0.5 * f * f;
    f64 square_lo = FUSED_F64(0.5 * f, f, -square);
    pair64 c = ordered_sum(f, -square);
    /* 1/(1 + f) = (1 - s)/(1 + s). */
    f64 slope = FUSED_F64(2.0 * s, s, 1.0 - 2.0 * s);
    f64 tail = FUSED_F64(s, square + z * log_polynomial(z), FUSED_F64(f_lo, slope, -square_lo));
    return ordered_sum(c.hi, c.lo + tail);
}

/* log(x + x_lo) of a positive number, which x_lo is small beside. */
HELPER pair64 log_pair(f64 x, f64 x_lo)
{
    binary64 b = binary_of(x);
    /* Far out there is no x_lo that counts, and the exponent may have no counterpart. */
    const i64 far = b.exponent < -1000 || b.exponent > 1000;
    pair64 m = log_near_one(b.f, far ? 0.0 : x_lo * power_of_two(-b.exponent));
    pair64 k = exact_product(b.k, LN2_HI_F64);
    pair64 s = ordered_sum(k.hi, m.hi);
    return ordered_sum(s.hi, s.lo + (FUSED_F64(b.k, LN2_LO_F64, k.lo) + m.lo));
}

#define IS_NEAR_LOG_F64(x) ((x) > 0 && (x) < INFINITE_F64)

HELPER f64 log_f64(f64 x)
{
    return log_edges(x, log_pair(x, 0.0).hi);
}

/* k + log(1 + f)/log(2). */
HELPER f64 log2_f64(f64 x)
{
    binary64 b = binary_of(x);
    pair64 per = { 1.4426950408889634, 2.0355273740931033e-17 };
    pair64 m = pair_product(log_near_one(b.f, 0.0), per), s = ordered_sum(b.k, m.hi);
    return log_edges(x, s.hi + (s.lo + m.lo));
}

HELPER f64 log10_f64(f64 x)
{
    pair64 per = { 0.43429448190325182, 1.0983196502167651e-17 };
    return log_edges(x, pair_product(log_pair(x, 0.0), per).hi);
}

HELPER f64 log1p_f64(f64 x)
{
    pair64 u = exact_sum(1.0, x);
    f64 y = log_edges(u.hi, log_pair(u.hi, u.hi < INFINITE_F64 ? u.lo : 0.0).hi);
    return ABSOLUTE_F64(x) < 1e-17 ? x : y;
}

/* --- Powers --- */

/* log(x) of a positive number to 2^-67 of itself: three terms of artanh's series are carried as pairs. */
HELPER pair64 long_log(f64 x)
{
    binary64 b = binary_of(x);
    pair64 f = { b.f, 0.0 }, one_third = { 0.66666666666666663, 3.7007434154171883e-17 };
    pair64 s = pair_quotient(f, exact_sum(2.0, b.f)), z = pair_product(s, s);
    /* 2/3 + z (2/5 + z T): what follows 2/3 is small enough for a sum of one pair. */
    pair64 fifth =
        ordered_sum(0.40000000000000002, FUSED_F64(z.hi, long_log_polynomial(z.hi), -2.2204460492503132e-17));
    pair64 inner = pair_product(z, fifth), third = ordered_sum(one_third.hi, inner.hi);
    third.lo += inner.lo + one_third.lo;
    pair64 cube = pair_product(pair_product(s, z), third);
    pair64 m = ordered_sum(2.0 * s.hi, cube.hi);
    m.lo += FUSED_F64(2.0, s.lo, cube.lo);
    pair64 k = exact_product(b.k, LN2_HI_F64), all = exact_sum(k.hi, m.hi);
    return ordered_sum(all.hi, all.lo + (FUSED_F64(b.k, LN2_LO_F64, k.lo) + m.lo));
}

/* Of y 0 if it is no integer, 1 if an odd one, 2 if an even one; and the cases of C's pow() that are not e^(y log|x|),
 * and the sign.  Conditions are numbers, of as many bits as y has, joined without branches. */
#define DEFINE_POW_EDGES(T, t, whole_t)                                                                        \
    HELPER whole_t parity_of_##t(t y)                                                                          \
    {                                                                                                          \
        t size = ABSOLUTE_##T(y), halved = (t)0.5 * size;                                                      \
        whole_t whole = FLOOR_##T(size) == size, even = FLOOR_##T(halved) == halved;                           \
        return whole + (whole & even);                                                                         \
    }                                                                                                          \
    HELPER t pow_edges_##t(t x, t y, t size)                                                                   \
    {                                                                                                          \
        const whole_t parity = parity_of_##t(y);                                                               \
        t ax = ABSOLUTE_##T(x), ay = ABSOLUTE_##T(y);                                                          \
        /* Zeros and infinities grow or vanish, as does whatever has an infinite exponent. */                  \
        const whole_t falls = y < 0, zero = ax == 0, below = ax < 1, one = ax == 1;                            \
        const whole_t endless = ax == INFINITE_##T, far = ay == INFINITE_##T, negative = x < 0;                \
        const whole_t none = (x != x) | (y != y) | (negative & (parity == 0) & !endless & !far);               \
        t at_end = zero == falls ? INFINITE_##T : 0, at_far = below == falls ? INFINITE_##T : 0;               \
        size = zero | endless ? at_end : size;                                                                 \
        at_far = one ? 1 : at_far;                                                                             \
        size = far ? at_far : size;                                                                            \
        size = none ? NO_NUMBER_##T : size;                                                                    \
        size = parity == 1 ? with_sign_##t(size, x) : size;                                                    \
        const whole_t unit = (x == 1) | (y == 0);                                                              \
        return unit ? 1 : size;                                                                                \
    }
DEFINE_POW_EDGES(F64, f64, i64)

HELPER f64 pow_f64(f64 x, f64 y)
{
    pair64 l = long_log(ABSOLUTE_F64(x));
    /* Beyond these ends results are 0 or infinite anyway, and products would not be finite. */
    f64 exponent = within_f64(y, -1e20, 1e20);
    pair64 p = exact_product(l.hi, exponent);
    p.lo = FUSED_F64(l.lo, exponent, p.lo);
    f64 e = within_f64(p.hi, -746.0, 710.0);
    return pow_edges_f64(x, y, round_power(power_of_e(e, e == p.hi ? p.lo : 0.0)));
}

/* --- Others --- */

HELPER f64 erf_f64(f64 x)
{
    f64 size = within_f64(ABSOLUTE_F64(x), 0.0, 6.0);
    pair64 square = exact_product(size, size);
    f64 near = FUSED_F64(size, erf_polynomial(square.hi - 0.5), size);
    f64 power = round_power(power_of_e(-square.hi, -square.lo));
    f64 far = FUSED_F64(-power, erfc_polynomial(DIVIDE_F64(size - 2.0, size + 2.0)), 1.0);
    return with_sign_f64(size < 1.0 ? near : far, x);
}

/* From here on neither a root nor what its rounding left is too small. */
#define IS_NEAR_RSQRT_F64(x) ((x) >= 1e-290 && (x) < INFINITE_F64)

/* 1/s of a root s, and what the roundings of both left. */
HELPER f64 near_rsqrt_f64(f64 x)
{
    f64 s = SQUARE_ROOT_F64(x), y = DIVIDE_F64(1.0, s);
    f64 rest = FUSED_F64(-s, s, x), inverse = FUSED_F64(-y, s, 1.0);
    return FUSED_F64(y, FUSED_F64(-0.5 * rest * y, y, inverse), y);
}

HELPER f64 rsqrt_f64(f64 x)
{
    const i64 small = x < 1e-290;
    f64 a = small ? x * 1.157920892373162e+77 : x;
    f64 y = a > 0 && a < INFINITE_F64 ? near_rsqrt_f64(a) : DIVIDE_F64(1.0, SQUARE_ROOT_F64(x));
    return small && x > 0 ? y * 3.4028236692093846e+38 : y;
}

/* By 2^k both are divided, so that their squares neither overflow nor lose bits. */
HELPER i64 scale_of_squares(f64 a, f64 b)
{
    f64 large = ABSOLUTE_F64(a) > ABSOLUTE_F64(b) ? ABSOLUTE_F64(a) : ABSOLUTE_F64(b);
    return large > 1e150 ? 600 : large < 1e-140 ? -600 : 0;
}

HELPER pair64 square_sum(f64 a, f64 b)
{
    pair64 p = exact_product(a, a), q = exact_product(b, b), s = exact_sum(p.hi, q.hi);
    return ordered_sum(s.hi, s.lo + (p.lo + q.lo));
}

/* An infinity counts even beside a NaN. */
HELPER i64 is_endless(f64 a, f64 b)
{
    return ABSOLUTE_F64(a) == INFINITE_F64 || ABSOLUTE_F64(b) == INFINITE_F64;
}

HELPER f64 hypot_f64(f64 x, f64 y)
{
    const i64 k = scale_of_squares(x, y);
    pair64 s = square_sum(x * power_of_two(-k), y * power_of_two(-k));
    f64 root = SQUARE_ROOT_F64(s.hi), rest = FUSED_F64(-root, root, s.hi) + s.lo;
    f64 better = s.hi > 0 ? root + DIVIDE_F64(rest, 2.0 * root) : s.hi;
    return is_endless(x, y) ? INFINITE_F64 : better * power_of_two(k);
}

/* log(hypot(x, y)), without loss where that is near 1. */
HELPER f64 loghypot_f64(f64 x, f64 y)
{
    const i64 k = scale_of_squares(x, y);
    pair64 s = square_sum(x * power_of_two(-k), y * power_of_two(-k)), l = log_pair(s.hi, s.lo);
    f64 scale = k ? (k > 0 ? 600.0 : -600.0) : 0.0, log = FUSED_F64(scale, LN2_HI_F64, 0.5 * l.hi);
    return is_endless(x, y) ? INFINITE_F64 : log_edges(s.hi, log);
}

/* x - n y for the integer n that leaves less than y, with x's sign: exact.  A quotient of up to 2^52 is taken off at
 * once, a larger one by parts. */
HELPER f64 fmod_f64(f64 x, f64 y)
{
    f64 rest = ABSOLUTE_F64(x), divisor = ABSOLUTE_F64(y);
    if (!(rest < INFINITE_F64) || !(divisor > 0))
        return NO_NUMBER_F64;
    if (divisor == INFINITE_F64)
        return x;
    while (rest >= divisor) {
        f64 part = divisor;
        while (part < rest * 2.2204460492503131e-16)
            part *= 1125899906842624.0;
        f64 n = FLOOR_F64(DIVIDE_F64(rest, part));
        rest = FUSED_F64(-n, part, rest);
        /* A quotient that was rounded up to an integer was one too many. */
        rest = rest < 0 ? rest + part : rest;
    }
    return with_sign_f64(rest, x);
}

/* x as a number from 1/2 to 1, or 0, or what is no number; and the power of two that it lacks. */
HELPER f64 fraction_f64(f64 x)
{
    const i64 small = ABSOLUTE_F64(x) < 2.2250738585072014e-308;
    u64 bits = BITS_OF_DOUBLE(small ? x * 18014398509481984.0 : x);
    f64 y = DOUBLE_OF_BITS((bits & 0x800fffffffffffffu) | 0x3fe0000000000000u);
    return x == 0 || x - x != 0 ? x : y;
}

HELPER i64 exponent_f64(f64 x)
{
    const i64 small = ABSOLUTE_F64(x) < 2.2250738585072014e-308;
    u64 bits = BITS_OF_DOUBLE(small ? x * 18014398509481984.0 : x);
    return x == 0 || x - x != 0 ? 0 : (i64)(bits >> 52 & 0x7ffu) - 1022 - (small ? 54 : 0);
}

HELPER f64 ldexp_f64(f64 x, i64 n)
{
    i64 k = n < -3000 ? -3000 : n > 3000 ? 3000 : n, all = k + exponent_f64(x);
    all = all < -1100 ? -1100 : all > 1100 ? 1100 : all;
    return scale_f64(fraction_f64(x), all);
}

#endif
