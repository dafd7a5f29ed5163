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

#endif
