/* eval_angles.h - angles, and sines of them: the part of eval_maths.h that goes round in circles. */
#ifndef HCY_EVAL_ANGLES_H
#define HCY_EVAL_ANGLES_H

#include "eval_maths.h"

/* --- Angles --- */

/* The angle of (x, y), neither of them negative: arctan of the smaller over the larger, or from the
 * diagonal where that is nearer.  `behind`: of (-x, y). */
HELPER f64 angle_of(pair64 y, pair64 x, i64 behind)
{
    const i64 swap = y.hi > x.hi;
    pair64 small = swap ? x : y, large = swap ? y : x, n = small, d = large;
    const i64 far = small.hi > 0.41421356237309503 * large.hi;
    pair64 less = exact_sum(small.hi, -large.hi), more = exact_sum(large.hi, small.hi);
    n.hi = far ? less.hi : small.hi;
    n.lo = far ? less.lo + (small.lo - large.lo) : small.lo;
    d.hi = far ? more.hi : large.hi;
    d.lo = far ? more.lo + (small.lo + large.lo) : large.lo;
    f64 t = DIVIDE_F64(n.hi, d.hi), rest = FUSED_F64(-t, d.hi, n.hi) + FUSED_F64(-t, d.lo, n.lo);
    f64 t_lo = DIVIDE_F64(rest, d.hi);
    /* Both 0: the angle is 0. */
    t = large.hi == 0 ? 0.0 : t;
    t_lo = large.hi == 0 ? 0.0 : t_lo;
    f64 z = t * t;
    f64 tail = FUSED_F64(t * z, atan_polynomial(z), FUSED_F64(-z, t_lo, t_lo));
    /* Mirrored at the diagonal, then at the upright axis. */
    const i64 mirrored = swap ^ behind;
    f64 eighths = behind ? 4.0 : 0.0;
    eighths = swap ? 2.0 : eighths;
    eighths = far ? (behind ? 3.0 : 1.0) : eighths;
    pair64 base = exact_product(eighths, 0.78539816339744828);
    pair64 s = ordered_sum(base.hi, mirrored ? -t : t);
    return s.hi + (s.lo + (FUSED_F64(eighths, 3.061616997868383e-17, base.lo) + (mirrored ? -tail : tail)));
}

HELPER f64 atan_f64(f64 x)
{
    pair64 y = { ABSOLUTE_F64(x), 0.0 }, one = { 1.0, 0.0 };
    /* From 2^60 on the angle is a right one; an infinity would be divided by itself. */
    y.hi = y.hi > 1152921504606846976.0 ? 1152921504606846976.0 : y.hi;
    return with_sign_f64(angle_of(y, one, 0), x);
}

HELPER f64 atan2_f64(f64 y, f64 x)
{
    pair64 a = { ABSOLUTE_F64(y), 0.0 }, b = { ABSOLUTE_F64(x), 0.0 };
    f64 large = a.hi > b.hi ? a.hi : b.hi;
    const i64 a_ends = a.hi == INFINITE_F64, b_ends = b.hi == INFINITE_F64, endless = a_ends | b_ends;
    /* Sums must be finite, and remainders not be lost. */
    f64 scale = large > 1e300 ? 8.6361685550944446e-78 : 1.0;
    scale = large < 1e-200 ? 1.157920892373162e+77 : scale;
    /* Beside an infinity all else is 0. */
    scale = endless ? 0.0 : scale;
    a.hi = a_ends ? 1.0 : a.hi * scale;
    b.hi = b_ends ? 1.0 : b.hi * scale;
    /* The sign of -0.0 counts too. */
    f64 angle = angle_of(a, b, with_sign_f64(1.0, x) < 0);
    const i64 none = (x != x) | (y != y);
    return none ? NO_NUMBER_F64 : with_sign_f64(angle, y);
}

/* sqrt(1 - x^2), exactly as far as a pair has it. */
HELPER pair64 cathetus_of(f64 x)
{
    pair64 square = exact_product(x, x), s = ordered_sum(1.0, -square.hi), c;
    c.hi = SQUARE_ROOT_F64(s.hi);
    f64 rest = FUSED_F64(-c.hi, c.hi, s.hi) + (s.lo - square.lo);
    c.lo = c.hi == 0 ? 0.0 : DIVIDE_F64(rest, 2.0 * c.hi);
    return c;
}

HELPER f64 asin_f64(f64 x)
{
    pair64 y = { ABSOLUTE_F64(x), 0.0 };
    return with_sign_f64(angle_of(y, cathetus_of(x), 0), x);
}

HELPER f64 acos_f64(f64 x)
{
    pair64 size = { ABSOLUTE_F64(x), 0.0 };
    return angle_of(cathetus_of(x), size, x < 0);
}

/* --- Sines --- */

/* x = quarters pi/2 + hi + lo, |hi| <= pi/4 */
typedef struct {
    i64 quarters;
    f64 hi, lo;
} quarter64;

#define NEAR_F64 67108864.0 /* 2^26: up to here a few products reduce an argument */

HELPER quarter64 reduce_near(f64 x)
{
    quarter64 q;
    f64 t = FUSED_F64(x, 0.63661977236758138, TO_INTEGER_F64), n = t - TO_INTEGER_F64;
    q.quarters = (i64)(BITS_OF_DOUBLE(t) - BITS_OF_DOUBLE(TO_INTEGER_F64));
    /* Exact: a multiple of x's last place, or pi/2's, that is below 1. */
    f64 r = FUSED_F64(-n, 1.5707963267948966, x);
    pair64 p = exact_product(n, 6.123233995736766e-17), s = exact_sum(r, -p.hi);
    s = ordered_sum(s.hi, s.lo - FUSED_F64(n, -1.4973849048591698e-33, p.lo));
    q.hi = s.hi;
    q.lo = s.lo;
    return q;
}

/* 64 zeros, and 2/pi behind the point. */
TABLE u64 two_over_pi[20] = {
    0x0000000000000000u, 0xa2f9836e4e441529u, 0xfc2757d1f534ddc0u, 0xdb6295993c439041u, 0xfe5163abdebbc561u,
    0xb7246e3a424dd2e0u, 0x06492eea09d1921cu, 0xfe1deb1cb129a73eu, 0xe88235f52ebb4484u, 0xe99c7026b45f7e41u,
    0x3991d639835339f4u, 0x9c845f8bbdf9283bu, 0x1ff897ffde05980fu, 0xef2f118b5a0a6d1fu, 0x6d367ecf27cb09b7u,
    0x4f463f669e5fea2du, 0x7527bac7ebe5f17bu, 0x3d0739f78a5292eau, 0x6bfb5fb11f8d5d08u, 0x56033046fc7b6babu,
};

HELPER u64 high_product(u64 a, u64 b)
{
    u64 a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
    u64 middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & 0xffffffffu);
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

/* Payne's and Hanek's: of x 2/pi the bits that are no multiples of 4 and weigh enough.  For NEAR_F64 and more. */
HELPER quarter64 reduce_far(f64 x)
{
    const u64 bits = BITS_OF_DOUBLE(x), m = (bits & 0x000fffffffffffffu) | 0x0010000000000000u;
    /* x is m 2^e; what stands before the bit of 2/pi that weighs 2^(1 - e) makes multiples of 4. */
    const u32 from = (u32)(bits >> 52 & 0x7ffu) - 1075 + 62, word = from >> 6, shift = from & 63;
    u64 w[3], p[3];
    for (u32 i = 0; i < 3; i++)
        w[i] = two_over_pi[word + i] << shift | two_over_pi[word + i + 1] >> 1 >> (63 - shift);
    p[2] = m * w[2];
    p[1] = m * w[1];
    u64 carried = high_product(m, w[2]);
    p[1] += carried;
    p[0] = m * w[0] + high_product(m, w[1]) + (p[1] < carried);
    /* A number of quarters in 2 bits, and what is left over, which is made one of both signs. */
    u64 quarters = p[0] >> 62, high = p[0] << 2 | p[1] >> 62, low = p[1] << 2 | p[2] >> 62;
    const u64 up = high >> 63;
    quarters += up;
    high = up ? ~high : high;
    low = up ? ~low : low;
    pair64 s = ordered_sum((f64)(high >> 32) * 2.3283064365386963e-10,
                           (f64)(high & 0xffffffffu) * 5.4210108624275222e-20);
    f64 rest = (f64)(low >> 32) * 1.2621774483536189e-29 + (f64)(low & 0xffffffffu) * 2.9387358770557188e-39;
    pair64 half_pi = { 1.5707963267948966, 6.123233995736766e-17 };
    s = ordered_sum(s.hi, s.lo + rest);
    s = pair_product(s, half_pi);
    quarter64 q;
    const i64 negative = (i64)(bits >> 63);
    q.quarters = negative ? -(i64)quarters : (i64)quarters;
    q.hi = negative != (i64)up ? -s.hi : s.hi;
    q.lo = negative != (i64)up ? -s.lo : s.lo;
    return q;
}

HELPER quarter64 reduce_f64(f64 x)
{
    quarter64 none = { 0, NO_NUMBER_F64, 0.0 };
    if (ABSOLUTE_F64(x) < NEAR_F64)
        return reduce_near(x);
    return ABSOLUTE_F64(x) < INFINITE_F64 ? reduce_far(x) : none;
}

HELPER pair64 sine_near(f64 r, f64 r_lo)
{
    f64 z = r * r;
    return ordered_sum(r, FUSED_F64(r * z, sin_polynomial(z), FUSED_F64(-0.5 * z, r_lo, r_lo)));
}

HELPER pair64 cosine_near(f64 r, f64 r_lo)
{
    pair64 square = exact_product(r, r);
    f64 z = square.hi, halved = 0.5 * z;
    pair64 s = ordered_sum(1.0, -halved);
    f64 tail = FUSED_F64(z * z, cos_polynomial(z), -FUSED_F64(r, r_lo, 0.5 * square.lo));
    return ordered_sum(s.hi, s.lo + tail);
}

/* The sine of an angle that was reduced, a number of quarters on. */
HELPER f64 sine_of(quarter64 q, i64 quarters)
{
    pair64 s = sine_near(q.hi, q.lo), c = cosine_near(q.hi, q.lo);
    const u64 turned = (u64)(q.quarters + quarters);
    f64 y = turned & 1 ? c.hi : s.hi;
    return DOUBLE_OF_BITS(BITS_OF_DOUBLE(y) ^ (turned >> 1 << 63));
}

/* sin(-0.0) is -0.0. */
HELPER f64 sin_of(f64 x, quarter64 q)
{
    return x == 0 ? x : sine_of(q, 0);
}

HELPER f64 tan_of(f64 x, quarter64 q)
{
    pair64 s = sine_near(q.hi, q.lo), c = cosine_near(q.hi, q.lo), n = s, d = c;
    const i64 odd = q.quarters & 1;
    n.hi = odd ? -c.hi : s.hi;
    n.lo = odd ? -c.lo : s.lo;
    d.hi = odd ? s.hi : c.hi;
    d.lo = odd ? s.lo : c.lo;
    return ABSOLUTE_F64(x) < 1e-9 ? x : pair_quotient(n, d).hi;
}

HELPER f64 sin_f64(f64 x)
{
    return sin_of(x, reduce_f64(x));
}

HELPER f64 cos_f64(f64 x)
{
    return sine_of(reduce_f64(x), 1);
}

HELPER f64 tan_f64(f64 x)
{
    return tan_of(x, reduce_f64(x));
}

#endif
