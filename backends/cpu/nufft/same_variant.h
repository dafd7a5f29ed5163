/* same_variant.h - same.h for float and double (REAL, and WORD of its bits) with vectors of VECTOR bytes (16, 32, 64).
 * SAME_OPS(precision, size) is the table of what comes out. */
#include "nufft/nufft_bits.h"

#include <string.h>

#define INLINE inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

/* What is known of a double's bits: shares of cells are rounded where 1.5 2^52, to which they are added, has its last
 * bit. */
#define DOUBLES (VECTOR / 8)
typedef double wide __attribute__((vector_size(VECTOR)));
/* Without a sign, as strengths that are no numbers leave any bits there, whose sums may wrap around. */
typedef uint64_t longs __attribute__((vector_size(VECTOR)));
typedef uint64_t loose_longs __attribute__((vector_size(VECTOR), aligned(8), may_alias));
#define MIDDLE      6755399441055744.0
#define MIDDLE_BITS 0x4338000000000000

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
#define SAME_OPS(x, size)                                                                                        \
    {                                                                                                            \
        VECTOR / (size), 1, x##_spread, x##_interp, NULL, same_add, x##_weigh, MULTIPLY(x), x##_keys,              \
            x##_scatter, NULL, NULL                                                                              \
    }
