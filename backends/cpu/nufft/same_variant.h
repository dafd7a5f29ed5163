/* same_variant.h - same.h for float and double (REAL, and WORD of its bits) with vectors of VECTOR bytes (16, 32, 64).
 * SAME_OPS(precision, size) is the table of what comes out. */
#include "nufft/nufft_bits.h"

#include <string.h>
#if VECTOR == 64
#include <immintrin.h>
#endif

#define INLINE inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#define DOUBLES (VECTOR / 8)
typedef double wide __attribute__((vector_size(VECTOR)));
/* Without a sign, as strengths that are no numbers leave any bits there, whose sums may wrap around. */
typedef uint64_t longs __attribute__((vector_size(VECTOR)));
typedef uint64_t loose_longs __attribute__((vector_size(VECTOR), aligned(8), may_alias));

/* Shares' nearest integers, the even one of two: without an instruction for that, 1.5 2^52, to which they are added,
 * has its last bit where they are rounded. */
static INLINE longs nearest(wide shares)
{
#if VECTOR == 64
    return (longs)_mm512_cvtpd_epi64((__m512d)shares);
#else
    return (longs)(shares + 6755399441055744.0) - 0x4338000000000000;
#endif
}

/* Of signed sums.  Without an instruction for them: halves as digits of doubles, which are added with one rounding. */
static INLINE wide doubles_of(longs sums)
{
#if VECTOR == 32
    const longs low = (sums & 0xffffffff) | 0x4330000000000000, high = (sums >> 32) ^ 0x4530000080000000;
    return ((wide)high - (0x1p84 + 0x1p63 + 0x1p52)) + (wide)low;
#else
    typedef int64_t signs __attribute__((vector_size(VECTOR)));
    return __builtin_convertvector((signs)sums, wide);
#endif
}

static void same_add(void *grid, const void *local, size_t n)
{
    uint64_t *g = grid;
    const uint64_t *l = local;
    for (size_t i = 0; i < 2 * n; i++)
        g[i] += l[i];
}

/* Of as many words as there are doubles in a vector, every second one. */
#if VECTOR == 16
#define ODD_WORDS 0, -(WORD)1
#elif VECTOR == 32
#define ODD_WORDS 0, -(WORD)1, 0, -(WORD)1
#else
#define ODD_WORDS 0, -(WORD)1, 0, -(WORD)1, 0, -(WORD)1, 0, -(WORD)1
#endif

#define REAL float
#define WORD uint32_t
#define NAME(x) f32_##x
#include "same.h"
#undef REAL
#undef WORD
#undef NAME

#define REAL double
#define WORD uint64_t
#define NAME(x) f64_##x
#include "same.h"

#if VECTOR == 16
#define MULTIPLY(x) x##_multiply
#else
#define MULTIPLY(x) NULL /* those of the portable variant */
#endif
#define SAME_OPS(x, size)                                                                                      \
    {                                                                                                          \
        VECTOR / (size), 1, x##_spread, x##_interp, NULL, same_add, x##_weigh, MULTIPLY(x), NULL, x##_keys,    \
            x##_scatter, NULL, NULL, x##_floats                                                                \
    }
