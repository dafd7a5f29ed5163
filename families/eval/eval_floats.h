/* eval_floats.h - functions of eval_maths.h and eval_angles.h for floats: made in double and rounded once, but for exp,
 * log, sin and cos, which are wanted most and made of floats.
 *
 * The most wanted have shorter polynomials, whose errors are below a hundredth of a float's last place.
 */
#ifndef HCY_EVAL_FLOATS_H
#define HCY_EVAL_FLOATS_H

#include "eval_angles.h"

/* As TO_INTEGER_F64, below 2^22. */
#define TO_INTEGER_F32 12582912.0f
#define INFINITE_F32   FLOAT_OF_BITS(0x7f800000u)
/* Up to here neither e^x nor e^-x is subnormal. */
#define NEAR_EXP_F32 87.0f

/* e^x of a near x, to 0.53 of a last place: a vector has twice as many floats as doubles, and many GPUs have but few
 * units for doubles. */
HELPER f32 near_exp_f32(f32 x)
{
    f32 t = FUSED_F32(x, 1.44269502f, TO_INTEGER_F32), k = t - TO_INTEGER_F32;
    /* Exact, as in power_of_e(); what ln(2) lacks as a float is multiplied by the result. */
    f32 r = FUSED_F32(-k, 0.693147182f, x), rest = k * 1.90465426e-9f, z = r * r;
    /* 1 + r (1 + r/2 + r^2 P): two sums, each with what its rounding lost. */
    f32 w = FUSED_F32(0.5f, r, 1.0f), w_lo = FUSED_F32(0.5f, r, 1.0f - w);
    f32 y = FUSED_F32(r, w, 1.0f), y_lo = FUSED_F32(r, w, 1.0f - y);
    y_lo = FUSED_F32(r, FUSED_F32(z, float_exp_polynomial(r), w_lo), y_lo);
    y_lo = FUSED_F32(rest, y + y_lo, y_lo);
    return FLOAT_OF_BITS(BITS_OF_FLOAT(y + y_lo) + (BITS_OF_FLOAT(t) << 23));
}

HELPER f32 far_exp_f32(f32 a)
{
    f32 low = a < -150.0f ? -150.0f : a;
    f64 x = (f64)(low > 130.0f ? 130.0f : low), t = FUSED_F64(x, 1.4426950408889634, TO_INTEGER_F64);
    f64 r = FUSED_F64(-(t - TO_INTEGER_F64), LN2_HI_F64, x), y = FUSED_F64(r * r, short_exp_polynomial(r), r) + 1.0;
    return (f32)DOUBLE_OF_BITS(BITS_OF_DOUBLE(y) + (BITS_OF_DOUBLE(t) << 52));
}

HELPER f32 exp_f32(f32 a)
{
    return ABSOLUTE_F32(a) < NEAR_EXP_F32 ? near_exp_f32(a) : far_exp_f32(a);
}

/* Neither 0 nor subnormal, infinite or negative. */
#define IS_NEAR_LOG_F32(x) (BITS_OF_FLOAT(x) - 0x00800000u < 0x7f000000u)

/* log(x 2^-less) of the bits of a near x = 2^k (1 + f), to 0.59 of a last place. */
HELPER f32 near_log_f32(u32 bits, u32 less)
{
    /* The exponent changes at sqrt(1/2). */
    u32 exponent = ((bits - 0x3f3504f3u + 0x40000000u) >> 23) - 128;
    f32 k = (f32)(i32)(exponent - less), f = FLOAT_OF_BITS(bits - (exponent << 23)) - 1.0f;
    /* k ln(2) is exact but for what comes last; then + f and - f^2/2, each with what its rounding lost. */
    f32 far = k * 0.693145752f, s = far + f, s_lo = (far - s) + f;
    f32 z = f * f, z_lo = FUSED_F32(f, f, -z), y = FUSED_F32(-0.5f, z, s), y_lo = FUSED_F32(-0.5f, z, s - y);
    y_lo = FUSED_F32(k, 1.42860677e-6f, FUSED_F32(-0.5f, z_lo, s_lo + y_lo));
    /* + f^3 P */
    f32 cube = f * z, cube_lo = FUSED_F32(f, z_lo, FUSED_F32(f, z, -cube)), p = float_log_polynomial(f);
    return y + FUSED_F32(cube, p, FUSED_F32(cube_lo, p, y_lo));
}

HELPER f32 log_f32(f32 x)
{
    /* What is subnormal is multiplied by 2^23. */
    const u32 less = (u32)(x < 1.17549435e-38f) * 23u;
    f32 y = near_log_f32(BITS_OF_FLOAT(x * FLOAT_OF_BITS(0x3f800000u + (less << 23))), less);
    y = x > 0 ? y : FLOAT_OF_BITS(0x7fc00000u);
    y = x == 0 ? -INFINITE_F32 : y;
    return x < INFINITE_F32 ? y : x;
}

HELPER f32 pow_f32(f32 a, f32 b)
{
    /* A product's error grows with it, so that the logarithm is one of doubles; floats end before 2^150. */
    f64 x = (f64)a, y = (f64)b, e = within_f64(log_pair(ABSOLUTE_F64(x), 0.0).hi * y, -150.0, 130.0);
    return (f32)pow_edges(x, y, exp_f64(e));
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

HELPER f32 ldexp_f32(f32 x, i64 n)
{
    return (f32)ldexp_f64((f64)x, n);
}

HELPER i64 exponent_f32(f32 x)
{
    return exponent_f64((f64)x);
}

HELPER f32 rsqrt_f32(f32 x)
{
    return (f32)DIVIDE_F64(1.0, SQUARE_ROOT_F64((f64)x));
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
FLOAT_OF_DOUBLE(exp2)
FLOAT_OF_DOUBLE(expm1)
FLOAT_OF_DOUBLE(log2)
FLOAT_OF_DOUBLE(log10)
FLOAT_OF_DOUBLE(log1p)
FLOAT_OF_DOUBLE(asin)
FLOAT_OF_DOUBLE(acos)
FLOAT_OF_DOUBLE(atan)
FLOAT_OF_DOUBLE(sinh)
FLOAT_OF_DOUBLE(cosh)
FLOAT_OF_DOUBLE(tanh)
FLOAT_OF_DOUBLE(erf)
FLOAT_OF_DOUBLE(fraction)
FLOAT_OF_DOUBLES(atan2)
FLOAT_OF_DOUBLES(fmod)
FLOAT_OF_DOUBLES(loghypot)

HELPER f32 with_sign_f32(f32 x, f32 y)
{
    return (f32)with_sign_f64((f64)x, (f64)y);
}

#endif
