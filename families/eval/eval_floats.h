/* eval_floats.h - functions of eval_maths.h and eval_angles.h for floats, made of floats: a vector has twice as many of
 * them as doubles, and many GPUs have but few units for doubles.
 *
 * What the last sums lost is carried along, so that results are within 0.52 to 0.85 of a last place (doc/design.md), of
 * all floats.  Where it would not be faster (far arguments, tan, pow, hypot and others) they are made in double and
 * rounded once, some with shorter polynomials, whose errors are below a hundredth of a float's last place.
 */
#ifndef HCY_EVAL_FLOATS_H
#define HCY_EVAL_FLOATS_H

#include "eval_angles.h"

/* As TO_INTEGER_F64, below 2^22. */
#define TO_INTEGER_F32 12582912.0f
#define INFINITE_F32   FLOAT_OF_BITS(0x7f800000u)
#define NO_NUMBER_F32  FLOAT_OF_BITS(0x7fc00000u)

/* hi + lo; of a sum, what its rounding lost. */
typedef struct {
    f32 hi, lo;
} pair32;

/* Exact, where |a| >= |b|, or a is 0. */
HELPER pair32 ordered_sum_f32(f32 a, f32 b)
{
    pair32 s;
    s.hi = a + b;
    s.lo = (a - s.hi) + b;
    return s;
}

/* a/b, with one quotient; what is left over is of few bits. */
HELPER pair32 pair_quotient_f32(pair32 a, pair32 b)
{
    f32 inverse = DIVIDE_F32(1.0f, b.hi);
    pair32 q;
    q.hi = a.hi * inverse;
    q.lo = (FUSED_F32(-q.hi, b.hi, a.hi) + FUSED_F32(-q.hi, b.lo, a.lo)) * inverse;
    return q;
}

HELPER f32 with_sign_f32(f32 x, f32 y)
{
    return FLOAT_OF_BITS((BITS_OF_FLOAT(x) & 0x7fffffffu) | (BITS_OF_FLOAT(y) & 0x80000000u));
}

/* --- Exponentials --- */

/* Up to here neither e^x nor e^-x is subnormal. */
#define NEAR_EXP_F32 87.0f

/* e^(r + rest), |r| <= ln(2)/2: 1 + r (1 + r/2 + r^2 P) as two sums, each with what its rounding lost. */
HELPER pair32 small_power_f32(f32 r, f32 rest)
{
    f32 w = FUSED_F32(0.5f, r, 1.0f), w_lo = FUSED_F32(0.5f, r, 1.0f - w);
    f32 y = FUSED_F32(r, w, 1.0f), y_lo = FUSED_F32(r, w, 1.0f - y);
    y_lo = FUSED_F32(r, FUSED_F32(r * r, float_exp_polynomial(r), w_lo), y_lo);
    pair32 p = { y, FUSED_F32(rest, y + y_lo, y_lo) };
    return p;
}

/* x = k ln(2) + hi + lo, k in the last bits of t. */
typedef struct {
    f32 t, hi, lo;
} exponent32;

HELPER exponent32 exponent_of_e(f32 x)
{
    exponent32 e;
    e.t = FUSED_F32(x, 1.44269502f, TO_INTEGER_F32);
    f32 k = e.t - TO_INTEGER_F32;
    /* Exact, as in power_of_e(); what ln(2) lacks as a float comes behind. */
    e.hi = FUSED_F32(-k, 0.693147182f, x);
    e.lo = k * 1.90465426e-9f;
    return e;
}

/* x 2^k of a k that stands in the last bits of t. */
HELPER f32 scaled_f32(f32 x, f32 t)
{
    return FLOAT_OF_BITS(BITS_OF_FLOAT(x) + (BITS_OF_FLOAT(t) << 23));
}

/* e^x of a near x, to 0.53 of a last place. */
HELPER f32 near_exp_f32(f32 x)
{
    exponent32 e = exponent_of_e(x);
    pair32 p = small_power_f32(e.hi, e.lo);
    return scaled_f32(p.hi + p.lo, e.t);
}

/* e^x for x from -150 to 130, to 2^-32. */
HELPER f64 short_exp(f64 x)
{
    f64 t = FUSED_F64(x, 1.4426950408889634, TO_INTEGER_F64);
    f64 r = FUSED_F64(-(t - TO_INTEGER_F64), LN2_HI_F64, x), y = FUSED_F64(r * r, short_exp_polynomial(r), r) + 1.0;
    return DOUBLE_OF_BITS(BITS_OF_DOUBLE(y) + (BITS_OF_DOUBLE(t) << 52));
}

HELPER f32 far_exp_f32(f32 a)
{
    f32 low = a < -150.0f ? -150.0f : a;
    return (f32)short_exp((f64)(low > 130.0f ? 130.0f : low));
}

HELPER f32 exp_f32(f32 a)
{
    return ABSOLUTE_F32(a) < NEAR_EXP_F32 ? near_exp_f32(a) : far_exp_f32(a);
}

/* 2^x.  Beyond the ends results are 0 or infinite; subnormal ones are rounded twice, to 0.76 of a last place. */
HELPER f32 exp2_f32(f32 x)
{
    f32 low = x < -151.0f ? -151.0f : x, end = low > 129.0f ? 129.0f : low;
    f32 t = end + TO_INTEGER_F32, part = end - (t - TO_INTEGER_F32), r = part * 0.693147182f;
    pair32 p = small_power_f32(r, FUSED_F32(part, -1.90465421e-9f, FUSED_F32(part, 0.693147182f, -r)));
    /* By two powers of two, the first of which leaves the result exact. */
    const u32 k = BITS_OF_FLOAT(t) - BITS_OF_FLOAT(TO_INTEGER_F32) + 256, step = k >> 1;
    return (p.hi + p.lo) * FLOAT_OF_BITS((step - 1) << 23) * FLOAT_OF_BITS((k - step - 1) << 23);
}

/* e^x - 1 = 2^k (1 - 2^-k + r + r^2/2 + r^3 P). */
HELPER f32 expm1_f32(f32 x)
{
    f32 low = x < -18.0f ? -18.0f : x;
    exponent32 e = exponent_of_e(low > 89.0f ? 89.0f : low);
    f32 r = e.hi, halved = 0.5f * r, square = halved * r, square_lo = FUSED_F32(halved, r, -square);
    pair32 s = ordered_sum_f32(r, square);
    f32 s_lo = FUSED_F32(r * r * r, float_exp_polynomial(r), s.lo + square_lo);
    s_lo += FUSED_F32(e.lo, s.hi, e.lo);
    /* Above 2^60 the 1 has no weight. */
    const u32 k = BITS_OF_FLOAT(e.t) - BITS_OF_FLOAT(TO_INTEGER_F32);
    f32 one = (i32)k > 60 ? 0.0f : FLOAT_OF_BITS((127 - k) << 23), rest = 1.0f - one;
    f32 of_one = rest - 1.0f, rest_lo = (1.0f - (rest - of_one)) + (-one - of_one);
    pair32 y = ordered_sum_f32(rest, s.hi);
    f32 sum = y.hi + (y.lo + (rest_lo + s_lo));
    /* 2^128 is made of two steps. */
    sum = sum * FLOAT_OF_BITS((k + 126) << 23) * 2.0f;
    return ABSOLUTE_F32(x) < 1e-9f ? x : sum;
}

/* e^x/4, for x from 0 to 89.5: neither this nor its inverse is infinite. */
HELPER pair32 quarter_power_f32(f32 x)
{
    exponent32 e = exponent_of_e(x);
    pair32 p = small_power_f32(e.hi, e.lo);
    p = ordered_sum_f32(p.hi, p.lo);
    f32 scale = FLOAT_OF_BITS((BITS_OF_FLOAT(e.t) - BITS_OF_FLOAT(TO_INTEGER_F32) + 125) << 23);
    p.hi *= scale;
    p.lo *= scale;
    return p;
}

/* (e^size + sign e^-size)/4, with which a result at the end of floats is finite. */
HELPER f32 half_of_powers_f32(f32 size, f32 sign)
{
    pair32 p = quarter_power_f32(size > 89.5f ? 89.5f : size), part = { 0.0625f * sign, 0.0f };
    pair32 q = pair_quotient_f32(part, p), s = ordered_sum_f32(p.hi, q.hi);
    return s.hi + (s.lo + (p.lo + q.lo));
}

HELPER f32 sinh_f32(f32 x)
{
    f32 z = x * x, near = FUSED_F32(x * z, float_sinh_polynomial(z), x);
    f32 far = with_sign_f32(2.0f * half_of_powers_f32(ABSOLUTE_F32(x), -1.0f), x);
    return ABSOLUTE_F32(x) < 1.0f ? near : far;
}

HELPER f32 cosh_f32(f32 x)
{
    return 2.0f * half_of_powers_f32(ABSOLUTE_F32(x), 1.0f);
}

/* Of near ones x + x^3 P, of others 1 - 2/(e^(2|x|) + 1), in quarters. */
HELPER f32 tanh_f32(f32 x)
{
    f32 size = ABSOLUTE_F32(x), z = x * x, near = FUSED_F32(x * z, float_tanh_polynomial(z), x);
    pair32 p = quarter_power_f32(size > 10.0f ? 20.0f : 2.0f * size), two = { 0.5f, 0.0f };
    pair32 s = ordered_sum_f32(p.hi, 0.25f);
    s.lo += p.lo;
    pair32 q = pair_quotient_f32(two, s), y = ordered_sum_f32(1.0f, -q.hi);
    return with_sign_f32(size < 0.625f ? near : y.hi + (y.lo - q.lo), x);
}

/* --- Logarithms --- */

/* Neither 0 nor subnormal, infinite or negative. */
#define IS_NEAR_LOG_F32(x) (BITS_OF_FLOAT(x) - 0x00800000u < 0x7f000000u)

/* k ln(2) + log(1 + f), f from sqrt(1/2) - 1 to sqrt(2) - 1. */
HELPER pair32 log_near_one_f32(f32 k, f32 f)
{
    /* k ln(2) is exact but for what comes last; then + f and - f^2/2, each with what its rounding lost. */
    f32 far = k * 0.693145752f, s = far + f, s_lo = (far - s) + f;
    f32 z = f * f, z_lo = FUSED_F32(f, f, -z), y = FUSED_F32(-0.5f, z, s), y_lo = FUSED_F32(-0.5f, z, s - y);
    y_lo = FUSED_F32(k, 1.42860677e-6f, FUSED_F32(-0.5f, z_lo, s_lo + y_lo));
    /* + f^3 P */
    f32 cube = f * z, cube_lo = FUSED_F32(f, z_lo, FUSED_F32(f, z, -cube)), p = float_log_polynomial(f);
    pair32 l = { y, FUSED_F32(cube, p, FUSED_F32(cube_lo, p, y_lo)) };
    return l;
}

/* A number as 2^k (1 + f), from its bits. */
typedef struct {
    f32 f;
    u32 k;
} binary32;

HELPER binary32 binary_of_f32(u32 bits)
{
    /* The exponent changes at sqrt(1/2). */
    binary32 b;
    b.k = ((bits - 0x3f3504f3u + 0x40000000u) >> 23) - 128;
    b.f = FLOAT_OF_BITS(bits - (b.k << 23)) - 1.0f;
    return b;
}

/* log(x 2^-less) of the bits of a near x, to 0.59 of a last place. */
HELPER f32 near_log_f32(u32 bits, u32 less)
{
    binary32 b = binary_of_f32(bits);
    pair32 l = log_near_one_f32((f32)(i32)(b.k - less), b.f);
    return l.hi + l.lo;
}

/* The logarithm of x 2^-less, as that, to a base: with 1/log(base) in two floats, and log(2)/log(base) in two of which
 * the first is short. */
HELPER f32 log_to_base_f32(u32 bits, u32 less, pair32 per, pair32 of_two)
{
    binary32 b = binary_of_f32(bits);
    f32 k = (f32)(i32)(b.k - less), far = k * of_two.hi;
    pair32 l = log_near_one_f32(0.0f, b.f), m = ordered_sum_f32(l.hi, l.lo);
    f32 p = m.hi * per.hi, p_lo = FUSED_F32(m.hi, per.hi, -p);
    pair32 s = ordered_sum_f32(far, p);
    return s.hi + (s.lo + (k * of_two.lo + (m.lo * per.hi + (m.hi * per.lo + p_lo))));
}

HELPER f32 near_log2_f32(u32 bits, u32 less)
{
    pair32 per = { 1.44269502f, 1.92596303e-8f }, of_two = { 1.0f, 0.0f };
    return log_to_base_f32(bits, less, per, of_two);
}

HELPER f32 near_log10_f32(u32 bits, u32 less)
{
    pair32 per = { 0.434294492f, -1.01030503e-8f }, of_two = { 0.301025391f, 4.60503907e-6f };
    return log_to_base_f32(bits, less, per, of_two);
}

/* What log() is where its argument is not near; y where it is. */
HELPER f32 log_edges_f32(f32 x, f32 y)
{
    y = x > 0 ? y : NO_NUMBER_F32;
    y = x == 0 ? -INFINITE_F32 : y;
    return x < INFINITE_F32 ? y : x;
}

/* What is subnormal is multiplied by 2^23. */
#define LOG_OF_FLOATS(function)                                                                                  \
    HELPER f32 function##_f32(f32 x)                                                                             \
    {                                                                                                            \
        const u32 less = (u32)(x < 1.17549435e-38f) * 23u;                                                       \
        f32 y = near_##function##_f32(BITS_OF_FLOAT(x * FLOAT_OF_BITS(0x3f800000u + (less << 23))), less);       \
        return log_edges_f32(x, y);                                                                              \
    }
LOG_OF_FLOATS(log)
LOG_OF_FLOATS(log2)
LOG_OF_FLOATS(log10)

/* log(u + lo) of u = 1 + x: what the sum lost is multiplied by 1/u. */
HELPER f32 log1p_f32(f32 x)
{
    f32 u = 1.0f + x, of_x = u - 1.0f, lo = (1.0f - (u - of_x)) + (x - of_x);
    binary32 b = binary_of_f32(BITS_OF_FLOAT(u));
    f32 f = b.f, slope_less_one = f * FUSED_F32(f, 1.0f - f, -1.0f);
    /* Above 2^60 nothing is lost that has weight. */
    f32 f_lo = (i32)b.k > 60 ? 0.0f : lo * FLOAT_OF_BITS((127 - b.k) << 23);
    pair32 l = log_near_one_f32((f32)(i32)b.k, f);
    pair32 s = ordered_sum_f32(l.hi, f_lo);
    f32 y = log_edges_f32(u, s.hi + (s.lo + FUSED_F32(f_lo, slope_less_one, l.lo)));
    return x == 0 ? x : y;
}

/* --- Powers --- */

/* log(x) to 2^-38 of itself; x is positive and finite. */
HELPER f64 short_log(f64 x)
{
    u64 bits = BITS_OF_DOUBLE(x), exponent = (bits - 0x3fe6a09e667f3bcdu + 0x4000000000000000u) >> 52;
    f64 k = DOUBLE_OF_BITS(exponent + 0x4338000000000000u - 1024) - TO_INTEGER_F64;
    f64 f = DOUBLE_OF_BITS(bits - ((exponent - 1024) << 52)) - 1.0, s = DIVIDE_F64(f, 2.0 + f), z = s * s;
    return FUSED_F64(k, LN2_HI_F64, FUSED_F64(s * z, short_log_polynomial(z), s + s));
}

DEFINE_POW_EDGES(F32, f32, i32)

/* A product's error grows with it, so that the logarithm is one of doubles; floats end before 2^150. */
HELPER f32 pow_f32(f32 x, f32 y)
{
    f64 log = short_log((f64)ABSOLUTE_F32(x));
    return pow_edges_f32(x, y, (f32)short_exp(within_f64(log * (f64)y, -150.0, 130.0)));
}

HELPER f64 short_sine_of(quarter64 q, i64 quarters)
{
    f64 r = q.hi, z = r * r;
    f64 s = FUSED_F64(r * z, short_sin_polynomial(z), r);
    f64 c = FUSED_F64(z * z, short_cos_polynomial(z), FUSED_F64(-0.5, z, 1.0));
    const u64 turned = (u64)(q.quarters + quarters);
    return DOUBLE_OF_BITS(BITS_OF_DOUBLE(turned & 1 ? c : s) ^ (turned >> 1 << 63));
}

HELPER quarter64 reduce_near_short(f64 x)
{
    quarter64 q;
    f64 t = FUSED_F64(x, 0.63661977236758138, TO_INTEGER_F64), n = t - TO_INTEGER_F64;
    q.quarters = (i64)(BITS_OF_DOUBLE(t) - BITS_OF_DOUBLE(TO_INTEGER_F64));
    q.hi = FUSED_F64(-n, 6.123233995736766e-17, FUSED_F64(-n, 1.5707963267948966, x));
    q.lo = 0.0;
    return q;
}

/* The far ones are few: they cost what those of doubles do. */
HELPER quarter64 reduce_f32(f64 x)
{
    quarter64 q = { 0, NO_NUMBER_F64, 0.0 };
    if (ABSOLUTE_F64(x) < NEAR_F64)
        return reduce_near_short(x);
    return ABSOLUTE_F64(x) < INFINITE_F64 ? reduce_far(x) : q;
}

/* Of an odd number of quarters it is -cos/sin. */
HELPER f32 short_tan_of(f32 x, quarter64 q)
{
    quarter64 first = q;
    first.quarters = 0;
    f64 s = short_sine_of(first, 0), c = short_sine_of(first, 1);
    const i64 odd = q.quarters & 1;
    return x == 0 ? x : (f32)DIVIDE_F64(odd ? -c : s, odd ? s : c);
}

/* Up to here the nearest number of quarters is told by one product of floats. */
#define NEAR_SINE_F32 65536.0f

/* The sine of a near x, a number of quarters on, to 0.79 of a last place. */
HELPER f32 near_sine_f32(f32 x, u32 quarters)
{
    f32 t = FUSED_F32(x, 0.636619747f, TO_INTEGER_F32), n = t - TO_INTEGER_F32;
    /* The first product and difference are exact together, as in reduce_near(); pi/2 is three floats. */
    f32 first = FUSED_F32(-n, 1.57079637f, x), p = n * -4.37113883e-8f, r = first - p, z = r * r;
    f32 lo = FUSED_F32(n, 1.71512451e-15f, ((first - r) - p) - FUSED_F32(n, -4.37113883e-8f, -p));
    /* 1 - z/2, and what its rounding lost. */
    f32 w = FUSED_F32(-0.5f, z, 1.0f), w_lo = FUSED_F32(-0.5f, z, 1.0f - w);
    f32 s = r + FUSED_F32(r * z, float_sin_polynomial(z), lo * w);
    f32 c = w + FUSED_F32(z * z, float_cos_polynomial(z), FUSED_F32(-r, lo, w_lo));
    const u32 turned = BITS_OF_FLOAT(t) + quarters;
    return FLOAT_OF_BITS(BITS_OF_FLOAT(turned & 1 ? c : s) ^ (turned >> 1 << 31));
}

HELPER f32 near_sin_f32(f32 x)
{
    return x == 0 ? x : near_sine_f32(x, 0);
}

HELPER f32 sin_f32(f32 x)
{
    return ABSOLUTE_F32(x) < NEAR_SINE_F32 ? near_sin_f32(x) : (f32)short_sine_of(reduce_f32((f64)x), 0);
}

HELPER f32 cos_f32(f32 x)
{
    return ABSOLUTE_F32(x) < NEAR_SINE_F32 ? near_sine_f32(x, 1) : (f32)short_sine_of(reduce_f32((f64)x), 1);
}

HELPER f32 tan_f32(f32 x)
{
    return short_tan_of(x, reduce_f32((f64)x));
}

/* --- Angles --- */

/* As angle_of(): the arc tangent of small/large, or from the diagonal where that is beyond 1/2; mirrored at the
 * diagonal, and then at the upright axis.  Neither number is negative, and what is large is no zero. */
HELPER f32 angle_of_f32(f32 small, f32 large, u32 swap, u32 behind)
{
    const u32 far = small > 0.5f * large, mirrored = swap ^ behind;
    pair32 more = ordered_sum_f32(large, small), n = { far ? small - large : small, 0.0f }, d;
    d.hi = far ? more.hi : large;
    d.lo = far ? more.lo : 0.0f;
    pair32 t = pair_quotient_f32(n, d);
    f32 z = t.hi * t.hi;
    f32 tail = FUSED_F32(t.hi * z, float_atan_polynomial(z), FUSED_F32(-z, t.lo, t.lo));
    f32 eighths = behind ? 4.0f : 0.0f, odd = behind ? 3.0f : 1.0f;
    eighths = swap ? 2.0f : eighths;
    eighths = far ? odd : eighths;
    f32 base = eighths * 0.785398185f, base_lo = FUSED_F32(eighths, 0.785398185f, -base);
    pair32 s = ordered_sum_f32(base, mirrored ? -t.hi : t.hi);
    base_lo = FUSED_F32(eighths, -2.18556941e-8f, base_lo);
    return s.hi + (s.lo + (base_lo + (mirrored ? -tail : tail)));
}

HELPER f32 atan_f32(f32 x)
{
    f32 size = ABSOLUTE_F32(x);
    const u32 swap = size > 1.0f;
    /* From 2^30 on the angle is a right one, and the quotient is not to be one of an infinity. */
    f32 end = size > 1073741824.0f ? 1073741824.0f : size;
    return with_sign_f32(angle_of_f32(swap ? 1.0f : end, swap ? end : 1.0f, swap, 0), x);
}

HELPER f32 atan2_f32(f32 y, f32 x)
{
    f32 a = ABSOLUTE_F32(y), b = ABSOLUTE_F32(x);
    const u32 swap = a > b, behind = BITS_OF_FLOAT(x) >> 31;
    f32 small = swap ? b : a, large = swap ? a : b;
    /* The inverse must be neither infinite nor subnormal, nor what is left of a quotient, which may be 2^47 times
     * smaller than what is divided: this is raised wherever it may be small.  Beside an infinity all else is 0; two of
     * them are as two 1s, and two zeros as a 0 beside a 1. */
    f32 scale = large > 1e36f ? 8.67361738e-19f : large < 1e18f ? 1.15292150e18f : 1.0f;
    const u32 endless = large == INFINITE_F32;
    f32 end = small == INFINITE_F32 ? 1.0f : 0.0f;
    small = endless ? end : small * scale;
    large = endless || large == 0 ? 1.0f : large * scale;
    f32 angle = with_sign_f32(angle_of_f32(small, large, swap, behind), y);
    return x != x || y != y ? NO_NUMBER_F32 : angle;
}

/* The arc sine of s, which is |x| up to 1/2, and beyond it sqrt((1 - |x|)/2), whose arc sine is half of |x|'s arc
 * cosine: s and what comes behind it. */
HELPER pair32 small_arc_f32(f32 size)
{
    const u32 far = size > 0.5f;
    f32 square = 0.5f - 0.5f * size, z = far ? square : size * size, s = far ? SQUARE_ROOT_F32(square) : size;
    /* What the root's rounding lost needs 1/(2 s) to a few bits. */
    f32 about = FLOAT_OF_BITS(0x5f3759dfu - (BITS_OF_FLOAT(z) >> 1));
    f32 s_lo = far ? FUSED_F32(-s, s, z) * (0.5f * about) : 0.0f;
    pair32 p = { s, FUSED_F32(s * z, float_asin_polynomial(z), s_lo) };
    return p;
}

HELPER f32 asin_f32(f32 x)
{
    f32 size = ABSOLUTE_F32(x);
    pair32 p = small_arc_f32(size), s = ordered_sum_f32(1.57079637f, -2.0f * p.hi);
    f32 far = s.hi + (s.lo + FUSED_F32(-2.0f, p.lo, -4.37113883e-8f));
    return with_sign_f32(size > 0.5f ? far : p.hi + p.lo, x);
}

HELPER f32 acos_f32(f32 x)
{
    f32 size = ABSOLUTE_F32(x);
    pair32 p = small_arc_f32(size);
    const u32 far = size > 0.5f, behind = x < 0, less = far == behind;
    f32 base = far ? (behind ? 3.14159274f : 0.0f) : 1.57079637f;
    f32 base_lo = far ? (behind ? -8.74227766e-8f : 0.0f) : -4.37113883e-8f;
    f32 times = far ? 2.0f : 1.0f, factor = less ? -times : times;
    pair32 s = ordered_sum_f32(base, factor * p.hi);
    return s.hi + (s.lo + FUSED_F32(factor, p.lo, base_lo));
}

/* --- Others --- */

/* Of near ones x + x P, of others 1 - erfc(|x|), with what the last sum of log(erfc()) lost; from 4 on it is 1. */
HELPER f32 erf_f32(f32 x)
{
    f32 size = ABSOLUTE_F32(x), beyond = size > 4.0f ? 3.0f : size - 1.0f;
    f32 near = FUSED_F32(x, float_erf_polynomial(FUSED_F32(x, x, -0.5f)), x);
    f32 p = float_erfc_polynomial(beyond), log = FUSED_F32(beyond, p, -1.84960556f);
    exponent32 e = exponent_of_e(log);
    pair32 y = small_power_f32(e.hi, e.lo + (FUSED_F32(beyond, p, -1.84960556f - log) + 5.03694861e-08f));
    f32 far = 1.0f - scaled_f32(y.hi + y.lo, e.t);
    return size >= 1.0f ? with_sign_f32(far, x) : near;
}

HELPER f32 ldexp_f32(f32 x, i64 n)
{
    return (f32)ldexp_f64((f64)x, n);
}

HELPER i64 exponent_f32(f32 x)
{
    return exponent_f64((f64)x);
}

/* The inverse and its root are neither subnormal nor infinite. */
#define IS_NEAR_RSQRT_F32(x) ((x) > 1e-37f && (x) < 1e37f)

/* A root halves the error of what it is taken of: the root of an inverse is nearer than the inverse of a root, within
 * 0.86 of a last place. */
HELPER f32 near_rsqrt_f32(f32 x)
{
    return SQUARE_ROOT_F32(DIVIDE_F32(1.0f, x));
}

HELPER f32 rsqrt_f32(f32 x)
{
    return IS_NEAR_RSQRT_F32(x) ? near_rsqrt_f32(x) : (f32)DIVIDE_F64(1.0, SQUARE_ROOT_F64((f64)x));
}

/* Squares of floats, and their sum but for its rounding, are doubles; an infinity counts even beside a NaN. */
HELPER f32 hypot_f32(f32 x, f32 y)
{
    f64 a = ABSOLUTE_F64((f64)x), b = ABSOLUTE_F64((f64)y);
    f64 size = SQUARE_ROOT_F64(a * a + b * b);
    return (f32)(a == INFINITE_F64 || b == INFINITE_F64 ? INFINITE_F64 : size);
}

#define FLOAT_OF_DOUBLE(function)                        \
    HELPER f32 function##_f32(f32 x)                     \
    {                                                    \
        return (f32)function##_f64((f64)x);              \
    }
#define FLOAT_OF_DOUBLES(function)                       \
    HELPER f32 function##_f32(f32 x, f32 y)              \
    {                                                    \
        return (f32)function##_f64((f64)x, (f64)y);      \
    }
FLOAT_OF_DOUBLE(fraction)
FLOAT_OF_DOUBLES(fmod)
FLOAT_OF_DOUBLES(loghypot)

#endif
