/* eval_random.h - random numbers by Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as
 * 1, 2, 3; 2011): a number of a seed, an index and a stream, and of nothing before, so that devices and threads agree.
 */
#ifndef HCY_EVAL_RANDOM_H
#define HCY_EVAL_RANDOM_H

#include "eval_angles.h"

/* Words of 32 bits. */
typedef struct {
    u64 a, b, c, d;
} words32;

HELPER words32 philox_round(words32 w, u64 key, u64 round)
{
    const u64 p = w.a * 0xd2511f53u, q = w.c * 0xcd9e8d57u;
    const u64 low = (key & 0xffffffffu) + round * 0x9e3779b9u, high = (key >> 32) + round * 0xbb67ae85u;
    words32 n;
    n.a = (q >> 32) ^ w.b ^ (low & 0xffffffffu);
    n.b = q & 0xffffffffu;
    n.c = (p >> 32) ^ w.d ^ (high & 0xffffffffu);
    n.d = p & 0xffffffffu;
    return n;
}

/* Written out, as a loop within a CPU's loop would keep that from becoming vectors. */
HELPER words32 philox(u64 seed, u64 index, u64 stream)
{
    words32 w = { index & 0xffffffffu, index >> 32, stream & 0xffffffffu, stream >> 32 };
    w = philox_round(philox_round(w, seed, 0), seed, 1);
    w = philox_round(philox_round(w, seed, 2), seed, 3);
    w = philox_round(philox_round(w, seed, 4), seed, 5);
    w = philox_round(philox_round(w, seed, 6), seed, 7);
    return philox_round(philox_round(w, seed, 8), seed, 9);
}

/* From 0 to less than 1, a multiple of 2^-52. */
HELPER f64 unit_of_bits(u64 low, u64 high)
{
    return DOUBLE_OF_BITS((low | high << 32) >> 12 | 0x3ff0000000000000u) - 1.0;
}

HELPER u64 random_u64(u64 seed, u64 index, u64 stream)
{
    words32 w = philox(seed, index, stream);
    return w.a | w.b << 32;
}

HELPER f64 uniform_f64(u64 seed, u64 index, u64 stream)
{
    words32 w = philox(seed, index, stream);
    return unit_of_bits(w.a, w.b);
}

/* A multiple of 2^-23, as a double that is rounded might become 1. */
HELPER f32 uniform_f32(u64 seed, u64 index, u64 stream)
{
    return FLOAT_OF_BITS((u32)(philox(seed, index, stream).a >> 9) | 0x3f800000u) - 1.0f;
}

/* Box's and Muller's. */
HELPER f64 normal_f64(u64 seed, u64 index, u64 stream)
{
    words32 w = philox(seed, index, stream);
    f64 size = SQUARE_ROOT_F64(-2.0 * log_f64(1.0 - unit_of_bits(w.a, w.b)));
    return size * sine_of(reduce_near(6.2831853071795862 * unit_of_bits(w.c, w.d)), 1);
}

/* --- Made of 64 random bits --- */

/* An integer from 0 to n - 1: the upper half of the product.  Each has its share of the 2^64, off by one at most. */
HELPER u64 below_u64(u64 n, u64 bits)
{
    const u64 low = (n & 0xffffffffu) * (bits & 0xffffffffu), a = (n >> 32) * (bits & 0xffffffffu),
              b = (n & 0xffffffffu) * (bits >> 32);
    const u64 middle = (low >> 32) + (a & 0xffffffffu) + (b & 0xffffffffu);
    return (n >> 32) * (bits >> 32) + (a >> 32) + (b >> 32) + (middle >> 32);
}

/* The logarithm of Poisson's probability of k.  Stirling's series where it holds, in terms that do not cancel: only how
 * far k is from the mean counts. */
HELPER f64 log_poisson(f64 mean, f64 k)
{
    if (k < 8.0) {
        f64 factorial = 1.0;
        for (f64 i = 2.0; i <= k; i += 1.0)
            factorial *= i;
        return k * log_f64(mean) - mean - log_f64(factorial);
    }
    const f64 far = k - mean, r = DIVIDE_F64(1.0, k), rr = r * r;
    const f64 tail = 0.00079365079365079365 - rr * (0.00059523809523809529 - rr * 0.00084175084175084171);
    const f64 series = r * (0.083333333333333329 - rr * (0.0027777777777777779 - rr * tail));
    return far - k * log1p_f64(DIVIDE_F64(far, mean)) - 0.5 * log_f64(6.2831853071795862 * k) - series;
}

/* Few: the distribution is added up until it passes the number. */
HELPER i64 poisson_few(f64 mean, u64 bits)
{
    const f64 u = unit_of_bits(bits & 0xffffffffu, bits >> 32);
    f64 part = exp_f64(-mean), sum = part;
    i64 k = 0;
    /* A number behind all that adds up in doubles ends here. */
    for (; k < 100 && u >= sum; k++) {
        part *= DIVIDE_F64(mean, (f64)(k + 1));
        sum += part;
    }
    return k;
}

/* Many: W. Hoermann, The transformed rejection method for generating Poisson random variables (1993), PTRS; each turn
 * has numbers of its own. */
HELPER i64 poisson_many(f64 mean, u64 bits)
{
    const f64 b = 0.931 + 2.53 * SQUARE_ROOT_F64(mean), a = -0.059 + 0.02483 * b,
              inverse = 1.1239 + DIVIDE_F64(1.1328, b - 3.4), quick = 0.9277 - DIVIDE_F64(3.6224, b - 2.0);
    for (u64 turn = 1; turn < 1000; turn++) {
        const words32 w = philox(bits, turn, 0x506f6973u);
        const f64 u = unit_of_bits(w.a, w.b) - 0.5, v = unit_of_bits(w.c, w.d), s = 0.5 - ABSOLUTE_F64(u);
        const f64 k = FLOOR_F64((DIVIDE_F64(2.0 * a, s) + b) * u + mean + 0.43);
        if (s >= 0.07 && v <= quick)
            return to_i64(k);
        if (!(k >= 0.0) || (s < 0.013 && v > s))
            continue;
        if (log_f64(DIVIDE_F64(v * inverse, DIVIDE_F64(a, s * s) + b)) <= log_poisson(mean, k))
            return to_i64(k);
    }
    /* Nine turns of ten end with a number: nobody comes here. */
    return to_i64(mean);
}

/* Of no mean 0; of one that is beyond 2^62 the mean, next to which the deviation is nothing. */
HELPER i64 poisson_i64(f64 mean, u64 bits)
{
    if (!(mean > 0.0))
        return 0;
    if (mean < 10.0)
        return poisson_few(mean, bits);
    return mean < 4611686018427387904.0 ? poisson_many(mean, bits) : to_i64(mean);
}

#endif
