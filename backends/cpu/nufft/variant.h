/* variant.h - rows.h for float and double with vectors of VECTOR bytes (16, 32, 64), and the
 * lists of lanes it permutes by. OPS(precision) is the table of what comes out. */
#include <stdlib.h>
#include <string.h>

#define INLINE inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define PERMUTE(v, lanes) SHUFFLE(v, lanes)
#define SHUFFLE(v, ...) __builtin_shufflevector(v, v, __VA_ARGS__)

#define REAL float
#define NAME(x) f32_##x
#define LANES (VECTOR / 4)
#include "lane_lists.h"
#ifdef SHIFT_F32
#define SHIFT SHIFT_F32
#define HALVES HALVES_F32
#endif
#include "rows.h"
#undef REAL
#undef NAME
#undef LANES
#undef SHIFT
#undef HALVES

#define REAL double
#define NAME(x) f64_##x
#define LANES (VECTOR / 8)
#include "lane_lists.h"
#ifdef SHIFT_F64
#define SHIFT SHIFT_F64
#define HALVES HALVES_F64
#define SPREAD_PAIR SPREAD_PAIR_F64
#endif
#include "rows.h"

#ifdef SHIFT
#define ALIGNED(size) (VECTOR / 2 / (size))
#else
#define ALIGNED(size) 1
#endif
#define OPS(x, size)                                                                                         \
    {                                                                                                        \
        VECTOR / (size), ALIGNED(size), x##_spread, x##_interp, x##_slopes, x##_add, x##_weigh,              \
            x##_multiply, x##_mix, x##_keys, x##_scatter, x##_order, x##_settle, NULL                       \
    }
