/* eval_helpers.h - functions of eval_ops.h, in C that all devices' compilers take.
 *
 * Whoever includes this has defined HELPER (how a function is declared), the types b32, u8 to u64, i8 to i64, f32, f64,
 * and the operations in capitals.
 */

/* Towards minus infinity, as NumPy divides integers: anything over 0 is 0, and what cannot be represented wraps. */
HELPER i64 floor_divide_i64(i64 a, i64 b)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return (i64)(0u - (u64)a);
    return a / b - (i64)(a % b != 0 && (a < 0) != (b < 0));
}

/* Of that division, with the divisor's sign. */
HELPER i64 modulo_i64(i64 a, i64 b)
{
    if (b == 0 || b == -1)
        return 0;
    i64 rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

HELPER u64 floor_divide_u64(u64 a, u64 b)
{
    return b == 0 ? 0 : a / b;
}

HELPER u64 modulo_u64(u64 a, u64 b)
{
    return b == 0 ? 0 : a % b;
}

/* By squares, wrapping. */
HELPER u64 power_u64(u64 x, u64 n)
{
    u64 y = 1;
    for (; n; n >>= 1, x *= x)
        y *= n & 1 ? x : 1;
    return y;
}

/* The reciprocal of an integer is one of 1 and -1 alone; others round to 0. */
HELPER i64 power_i64(i64 x, i64 n)
{
    if (n >= 0 || x == 1 || x == -1)
        return (i64)power_u64((u64)x, n < 0 ? 0u - (u64)n : (u64)n);
    return 0;
}

/* -1, 0 or 1; a NaN stays one. */
HELPER f32 sign_of_f32(f32 x)
{
    return x != x ? x : (f32)((x > 0) - (x < 0));
}

HELPER f64 sign_of_f64(f64 x)
{
    return x != x ? x : (f64)((x > 0) - (x < 0));
}

/* Towards zero; what is beyond the type is its end, a NaN is 0. */
HELPER i64 to_i64(f64 x)
{
    if (x >= 9223372036854775808.0)
        return 0x7fffffffffffffff;
    if (x < -9223372036854775808.0)
        return -0x7fffffffffffffff - 1;
    return x == x ? (i64)x : 0;
}

/* The same, but negative numbers wrap, as those of other signed types do. */
HELPER u64 to_u64(f64 x)
{
    if (x >= 18446744073709551616.0)
        return 0xffffffffffffffffu;
    if (x >= 9223372036854775808.0)
        return (u64)(x - 9223372036854775808.0) + 0x8000000000000000u;
    return (u64)to_i64(x);
}

/* IEEE's binary16. */
HELPER f32 float_of_half(u16 half_bits)
{
    u32 sign = (u32)(half_bits & 0x8000u) << 16, rest = half_bits & 0x7fffu;
    if (rest >= 0x7c00u) /* infinity; a NaN */
        return FLOAT_OF_BITS(sign | (rest == 0x7c00u ? 0x7f800000u : 0x7fc00000u));
    /* A small number is an integer of 2^-24. */
    if (rest < 0x0400u)
        return sign ? -((f32)rest * 5.9604644775390625e-8f) : (f32)rest * 5.9604644775390625e-8f;
    return FLOAT_OF_BITS(sign | ((rest << 13) + 0x38000000u));
}

/* What is rounded once more must not have been to the nearest: a number between two floats becomes the odd one, which
 * lies on no edge of a half's. */
HELPER f32 odd_of_f64(f64 x)
{
    f32 y = (f32)x;
    u32 bits = BITS_OF_FLOAT(y);
    if (x != x || (f64)y == x || bits & 1u)
        return y;
    return FLOAT_OF_BITS(ABSOLUTE_F64(x) > ABSOLUTE_F64((f64)y) ? bits + 1u : bits - 1u);
}

/* To the nearest, of two the even one. */
HELPER u16 half_of_float(f32 x)
{
    u32 bits = BITS_OF_FLOAT(x), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u)
        return 0x7e00u;
    if (rest >= 0x477ff000u) /* halfway from the largest to the next */
        return (u16)(sign | 0x7c00u);
    if (rest < 0x38800000u) {
        /* Below 2^-14: added to 0.5, the integer of 2^-24 stands in the last bits, rounded by the addition. */
        u32 sum = BITS_OF_FLOAT(FLOAT_OF_BITS(rest) + 0.5f);
        return (u16)(sign | (sum - 0x3f000000u));
    }
    return (u16)(sign | ((rest + 0xfffu + (rest >> 13 & 1u) - 0x38000000u) >> 13));
}
