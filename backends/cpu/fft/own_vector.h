/* own_vector.h - vectors of LANES numbers of REAL, and their short transforms: what is common to lines side by side
 * (own_loops.h) and rows one by one (own_row.h).  NUMBER: what they are multiplied with.  Pure functions. */
typedef REAL NAME(vec) __attribute__((vector_size(LANES * sizeof(REAL))));
#define V NAME(vec)
typedef struct NAME(cplx) { V re, im; } NAME(cplx);
#define C NAME(cplx)
#include "fft_short.h"
#include "own_real.h"

/* One number of LANES lines, as complex numbers one behind the other, to a vector of each part, and back. */
static inline C NAME(part)(const REAL *numbers)
{
    V a, b;
    memcpy(&a, numbers, sizeof a);
    memcpy(&b, numbers + LANES, sizeof b);
    return (C){ __builtin_shufflevector(a, b, EVEN), __builtin_shufflevector(a, b, ODD) };
}
static inline void NAME(join)(REAL *numbers, C x)
{
#ifdef PAIRS_LOW
    /* gcc makes six shuffles or more of what are four. */
    const V low = __builtin_shufflevector(x.re, x.im, PAIRS_LOW);
    const V high = __builtin_shufflevector(x.re, x.im, PAIRS_HIGH);
    const V a = __builtin_shufflevector(low, high, HALVES_LOW), b = __builtin_shufflevector(low, high, HALVES_HIGH);
#else
    const V a = __builtin_shufflevector(x.re, x.im, JOINED_LOW), b = __builtin_shufflevector(x.re, x.im, JOINED_HIGH);
#endif
    memcpy(numbers, &a, sizeof a);
    memcpy(numbers + LANES, &b, sizeof b);
}

/* A short transform of the numbers GET(k), to PUT(k, number).  Of eight, those at even places are read when the others
 * are not yet, and each pair of results is written when it is there, as few of them have registers. */
#define SHORT(RADIX, GET, PUT)                                                                            \
    C a[RADIX];                                                                                           \
    FFT_UNROLLED for (int k = 0; k < RADIX; k++)                                                          \
        a[k] = GET(k);                                                                                    \
    NAME(short_##RADIX)(a);                                                                               \
    FFT_UNROLLED for (int k = 0; k < RADIX; k++)                                                          \
        PUT(k, a[k]);
#define SHORT_2(GET, PUT) SHORT(2, GET, PUT)
#define SHORT_3(GET, PUT) SHORT(3, GET, PUT)
#define SHORT_4(GET, PUT) SHORT(4, GET, PUT)
#define SHORT_5(GET, PUT) SHORT(5, GET, PUT)
#define SHORT_7(GET, PUT) SHORT(7, GET, PUT)
#define SHORT_8(GET, PUT)                                                                                 \
    C even[4] = { GET(0), GET(2), GET(4), GET(6) };                                                       \
    NAME(short_4)(even);                                                                                  \
    C odd[4] = { GET(1), GET(3), GET(5), GET(7) };                                                        \
    NAME(short_4)(odd);                                                                                   \
    NAME(turn_8)(odd);                                                                                    \
    PUT(0, NAME(add)(even[0], odd[0]));                                                                   \
    PUT(4, NAME(sub)(even[0], odd[0]));                                                                   \
    PUT(1, NAME(add)(even[1], odd[1]));                                                                   \
    PUT(5, NAME(sub)(even[1], odd[1]));                                                                   \
    PUT(2, NAME(less_i)(even[2], odd[2]));                                                                \
    PUT(6, NAME(plus_i)(even[2], odd[2]));                                                                \
    PUT(3, NAME(add)(even[3], odd[3]));                                                                   \
    PUT(7, NAME(sub)(even[3], odd[3]));

/* Backward is forward with the parts exchanged. */
static inline C NAME(exchanged)(C x, bool backward)
{
    return backward ? (C){ x.im, x.re } : x;
}

/* LANES vectors turned: number j of vector i becomes number i of vector j.  Of two vectors EACH apart, blocks of EACH
 * numbers change places: the second of a pair of the one with the first of the other's. */
#define EXCHANGE(EACH)                                                                                    \
    TURN_UNROLLED for (int i = 0; LANES > EACH && i < LANES; i++)                                         \
        if (!(i & EACH)) {                                                                                \
            const V a = v[i], b = v[i | EACH];                                                            \
            v[i] = __builtin_shufflevector(a, b, FIRSTS(EACH));                                           \
            v[i | EACH] = __builtin_shufflevector(a, b, SECONDS(EACH));                                   \
        }
static inline void NAME(turn)(V v[LANES])
{
    EXCHANGE(8)
    EXCHANGE(4)
    EXCHANGE(2)
    EXCHANGE(1)
}
#undef EXCHANGE
