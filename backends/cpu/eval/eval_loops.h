/* eval_loops.h - every operation of eval_ops.h as a loop over a piece, for the variant that includes this: the table
 * LOOPS. */
#include "cpu_eval.h"

#include <math.h>
#include <string.h>

typedef int32_t b32, i32;
typedef int8_t i8;
typedef int16_t i16;
typedef int64_t i64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef float f32;
typedef double f64;

/* A function that was called would keep its loop from becoming vectors. */
#define HELPER static inline __attribute__((always_inline))
#define DIVIDE_F32(a, b) ((a) / (b))
#define DIVIDE_F64(a, b) ((a) / (b))
#define ABSOLUTE_F32(a) fabsf(a)
#define ABSOLUTE_F64(a) fabs(a)
#define SQUARE_ROOT_F32(a) sqrtf(a)
#define SQUARE_ROOT_F64(a) sqrt(a)
#define FLOOR_F32(a) floorf(a)
#define FLOOR_F64(a) floor(a)
#define CEILING_F32(a) ceilf(a)
#define CEILING_F64(a) ceil(a)
#define ROUND_F32(a) rintf(a)
#define ROUND_F64(a) rint(a)
#define FUSED_F32(a, b, c) fmaf((a), (b), (c))
#define FUSED_F64(a, b, c) fma((a), (b), (c))

static inline f32 float_from_bits(u32 bits)
{
    f32 x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline f64 double_from_bits(u64 bits)
{
    f64 x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline u32 bits_from_float(f32 x)
{
    u32 bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
static inline u64 bits_from_double(f64 x)
{
    u64 bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
#define FLOAT_OF_BITS(x) float_from_bits(x)
#define DOUBLE_OF_BITS(x) double_from_bits(x)
#define BITS_OF_FLOAT(x) bits_from_float(x)
#define BITS_OF_DOUBLE(x) bits_from_double(x)
#define TABLE static const
#include "eval_helpers.h"
#include "eval_floats.h"
#include "eval_random.h"

/* Operations as functions of three numbers, of which they use what they have. */
#define DEFINE_OPERATION(name, t, arity, ta, tb, tc, ...)                                          \
    HELPER t op_##name(ta a, tb b, tc c)                                                           \
    {                                                                                              \
        (void)a, (void)b, (void)c;                                                                 \
        return (__VA_ARGS__);                                                                      \
    }
HCY_EVAL_OPS(DEFINE_OPERATION)

#define ARGUMENTS_1(tb, tc) (void)b_, (void)c_;
#define ARGUMENTS_2(tb, tc) const tb *b = b_; (void)c_;
#define ARGUMENTS_3(tb, tc) const tb *b = b_; const tc *c = c_;
#define CALL_1(name) op_##name(a[i], 0, 0)
#define CALL_2(name) op_##name(a[i], b[i], 0)
#define CALL_3(name) op_##name(a[i], b[i], c[i])
#define DEFINE_LOOP(name, t, arity, ta, tb, tc, ...)                                               \
    static void loop_##name(void *to_, const void *a_, const void *b_, const void *c_, size_t n)   \
    {                                                                                              \
        t *restrict to = to_;                                                                      \
        const ta *a = a_;                                                                          \
        ARGUMENTS_##arity(tb, tc)                                                                  \
        for (size_t i = 0; i < n; i++)                                                             \
            to[i] = CALL_##arity(name);                                                            \
    }
HCY_EVAL_SIMPLE_OPS(DEFINE_LOOP)

/* Near arguments of exp, log, sin and rsqrt have a shorter way, and far ones of sines a branch, which would keep all
 * others from becoming vectors: whole stretches of near ones are done without.  Their results are numbers, to which a
 * store does nothing (stored_loop_). */
enum { NEAR_STRETCH = 128 };
#define DEFINE_NEAR_OR_FAR(loop, name, t, is_near, near, stored)                                   \
    static void loop##_##name(void *to_, const void *a_, const void *b_, const void *c_, size_t n) \
    {                                                                                              \
        t *restrict to = to_;                                                                      \
        const t *a = a_;                                                                           \
        (void)b_, (void)c_;                                                                        \
        for (size_t some; n; n -= some, a += some, to += some) {                                   \
            int far = 0;                                                                           \
            some = n < NEAR_STRETCH ? n : NEAR_STRETCH;                                            \
            for (size_t i = 0; i < some; i++)                                                      \
                far |= !(is_near);                                                                 \
            if (far)                                                                               \
                for (size_t i = 0; i < some; i++)                                                  \
                    to[i] = stored(op_##name(a[i], 0, 0));                                         \
            else                                                                                   \
                for (size_t i = 0; i < some; i++)                                                  \
                    to[i] = near;                                                                  \
        }                                                                                          \
    }
#define AS_IT_IS(x)    (x)
#define IS_NEAR_ANGLE  (fabs((f64)a[i]) < NEAR_F64)
/* X(name, type, is_near, near): ways of HCY_EVAL_NEAR_OR_FAR. */
#define NEAR_WAYS(X)                                                                               \
    X(EXP_F32, f32, fabsf(a[i]) < NEAR_EXP_F32, near_exp_f32(a[i]))                                \
    X(EXP_F64, f64, fabs(a[i]) < NEAR_EXP_F64, near_exp_f64(a[i]))                                 \
    X(LOG_F32, f32, IS_NEAR_LOG_F32(a[i]), near_log_f32(BITS_OF_FLOAT(a[i]), 0))                   \
    X(LOG_F64, f64, IS_NEAR_LOG_F64(a[i]), log_pair(a[i], 0.0).hi)                                 \
    X(SIN_F32, f32, fabsf(a[i]) < NEAR_SINE_F32, near_sin_f32(a[i]))                               \
    X(COS_F32, f32, fabsf(a[i]) < NEAR_SINE_F32, near_sine_f32(a[i], 1))                           \
    X(TAN_F32, f32, IS_NEAR_ANGLE, short_tan_of(a[i], reduce_near_short((f64)a[i])))               \
    X(SIN_F64, f64, IS_NEAR_ANGLE, sin_of(a[i], reduce_near(a[i])))                                \
    X(COS_F64, f64, IS_NEAR_ANGLE, sine_of(reduce_near(a[i]), 1))                                  \
    X(TAN_F64, f64, IS_NEAR_ANGLE, tan_of(a[i], reduce_near(a[i])))                                \
    X(RSQRT_F32, f32, IS_NEAR_RSQRT_F32(a[i]), near_rsqrt_f32(a[i]))                               \
    X(RSQRT_F64, f64, IS_NEAR_RSQRT_F64(a[i]), near_rsqrt_f64(a[i]))
#define DEFINE_NEAR_LOOP(name, t, is_near, near) DEFINE_NEAR_OR_FAR(loop, name, t, is_near, near, AS_IT_IS)
NEAR_WAYS(DEFINE_NEAR_LOOP)

/* The tree of eval_format.h.  Lanes without elements are in no sum.  A whole piece in a core's cache is summed up lane
 * by lane, which keeps lanes in registers; from memory that would be eight streams, which come slower than one. */
_Static_assert(HCY_EVAL_PIECE == 8 * HCY_EVAL_LANES && HCY_EVAL_LANES == 128, "128 lanes of eight elements");
#define JOIN_8(join, x, far)                                                                       \
    op_##join(op_##join(op_##join(op_##join(op_##join(op_##join(op_##join((x)[0], (x)[far], 0),    \
        (x)[2 * far], 0), (x)[3 * far], 0), (x)[4 * far], 0), (x)[5 * far], 0), (x)[6 * far], 0),  \
        (x)[7 * far], 0)
/* Of a number of lanes that is known when this is compiled, so that they are joined by vectors without a test. */
#define JOIN_HALF(join, half)                                                                      \
    for (size_t l = 0; l < (half); l++)                                                            \
    lane[l] = op_##join(lane[l], lane[l + (half)], 0)
#define DEFINE_REDUCTION(name, t, join)                                                            \
    static void join_lanes_##name(void *to, t *lane, size_t lanes)                                 \
    {                                                                                              \
        for (size_t half = HCY_EVAL_LANES / 2; half; half /= 2)                                    \
            for (size_t l = 0; l < half && l + half < lanes; l++)                                  \
                lane[l] = op_##join(lane[l], lane[l + half], 0);                                   \
        memcpy(to, lane, sizeof *lane);                                                            \
    }                                                                                              \
    static void join_whole_##name(void *to, t *lane)                                               \
    {                                                                                              \
        JOIN_HALF(join, 64);                                                                       \
        JOIN_HALF(join, 32);                                                                       \
        JOIN_HALF(join, 16);                                                                       \
        JOIN_HALF(join, 8);                                                                        \
        JOIN_HALF(join, 4);                                                                        \
        JOIN_HALF(join, 2);                                                                        \
        JOIN_HALF(join, 1);                                                                        \
        memcpy(to, lane, sizeof *lane);                                                            \
    }                                                                                              \
    static void reduce_##name(void *to, const void *from, size_t n)                                \
    {                                                                                              \
        const t *x = from;                                                                         \
        t lane[HCY_EVAL_LANES];                                                                    \
        size_t lanes = n < HCY_EVAL_LANES ? n : HCY_EVAL_LANES, i = HCY_EVAL_LANES;                \
        memcpy(lane, x, lanes * sizeof *x);                                                        \
        for (; i + HCY_EVAL_LANES <= n; i += HCY_EVAL_LANES)                                       \
            for (size_t l = 0; l < HCY_EVAL_LANES; l++)                                            \
                lane[l] = op_##join(lane[l], x[i + l], 0);                                         \
        for (size_t l = 0; i + l < n; l++)                                                         \
            lane[l] = op_##join(lane[l], x[i + l], 0);                                             \
        join_lanes_##name(to, lane, lanes);                                                        \
    }                                                                                              \
    static void reduce_whole_##name(void *to, const void *from, size_t n)                          \
    {                                                                                              \
        const t *x = from;                                                                         \
        t lane[HCY_EVAL_LANES];                                                                    \
        for (size_t l = 0; l < HCY_EVAL_LANES; l++)                                                \
            lane[l] = JOIN_8(join, x + l, HCY_EVAL_LANES);                                         \
        (void)n;                                                                                   \
        join_whole_##name(to, lane);                                                               \
    }
HCY_EVAL_REDUCTIONS(DEFINE_REDUCTION)

/* A whole piece of floats, which become doubles on the way to their sum and not in a register before it. */
static void sum_floats(void *to, const void *from, size_t n)
{
    const f32 *x = from;
    f64 lane[HCY_EVAL_LANES];
    for (size_t l = 0; l < HCY_EVAL_LANES; l++)
        lane[l] = JOIN_8(ADD_F64, x + l, HCY_EVAL_LANES);
    (void)n;
    join_whole_SUM_F64(to, lane);
}

#define DEFINE_SCAN(name, t, join)                                                                 \
    static void span_##name(t *to, const t *x, const t *carry, const t *first, size_t n)           \
    {                                                                                              \
        t total[HCY_EVAL_LANES], before[HCY_EVAL_LANES];                                           \
        size_t runs = (n - 1) / HCY_EVAL_RUN + 1;                                                  \
        for (size_t r = 0; r < runs; r++) {                                                        \
            size_t i = r * HCY_EVAL_RUN, end = i + HCY_EVAL_RUN < n ? i + HCY_EVAL_RUN : n;        \
            to[i] = x[i];                                                                          \
            while (++i < end)                                                                      \
                to[i] = op_##join(to[i - 1], x[i], 0);                                             \
            total[r] = to[end - 1];                                                                \
        }                                                                                          \
        for (size_t far = 1; far < runs; far *= 2) {                                               \
            memcpy(before, total, runs * sizeof *total);                                           \
            for (size_t r = far; r < runs; r++)                                                    \
                total[r] = op_##join(before[r - far], before[r], 0);                               \
        }                                                                                          \
        for (size_t r = 0; r < runs; r++) {                                                        \
            t *own = to + r * HCY_EVAL_RUN;                                                        \
            size_t left = n - r * HCY_EVAL_RUN, size = left < HCY_EVAL_RUN ? left : HCY_EVAL_RUN;  \
            if (first)                                                                             \
                memmove(own + 1, own, (size - 1) * sizeof *own);                                   \
            for (size_t i = first != NULL; r && i < size; i++)                                     \
                own[i] = op_##join(total[r - 1], own[i], 0);                                       \
            if (first && r)                                                                        \
                own[0] = total[r - 1];                                                             \
            for (size_t i = first && !r; carry && i < size; i++)                                   \
                own[i] = op_##join(*carry, own[i], 0);                                             \
        }                                                                                          \
        if (first)                                                                                 \
            to[0] = carry ? *carry : *first;                                                       \
    }                                                                                              \
    static void scan_##name(void *to, const void *from, const void *carry, const void *first,      \
                            size_t span, size_t n)                                                 \
    {                                                                                              \
        for (size_t done = 0; done < n; done += span)                                              \
            span_##name((t *)to + done, (const t *)from + done, carry, first, span);               \
    }
HCY_EVAL_SCANS(DEFINE_SCAN)

/* Strides that are known when this is compiled: 1, 2 of complex numbers, and none, where one number serves all. */
#define EACH(n, stride, statement)                                                                 \
    if (stride == 1)                                                                               \
        for (size_t i = 0; i < n; i++) {                                                           \
            const ptrdiff_t at = (ptrdiff_t)i;                                                     \
            statement;                                                                             \
        }                                                                                          \
    else if (stride == 2)                                                                          \
        for (size_t i = 0; i < n; i++) {                                                           \
            const ptrdiff_t at = 2 * (ptrdiff_t)i;                                                 \
            statement;                                                                             \
        }                                                                                          \
    else                                                                                           \
        for (size_t i = 0; i < n; i++) {                                                           \
            const ptrdiff_t at = stride * (ptrdiff_t)i;                                            \
            statement;                                                                             \
        }
#define DEFINE_MEMORY(name, m, t, loaded, stored)                                                  \
    static inline t loaded_##name(m x)                                                             \
    {                                                                                              \
        return (loaded);                                                                           \
    }                                                                                              \
    static inline m stored_##name(t x)                                                             \
    {                                                                                              \
        return (stored);                                                                           \
    }                                                                                              \
    static void load_##name(void *to_, const void *from_, ptrdiff_t stride, size_t n)              \
    {                                                                                              \
        t *restrict to = to_;                                                                      \
        const m *from = from_;                                                                     \
        if (stride == 0) {                                                                         \
            const t one = loaded_##name(*from);                                                    \
            for (size_t i = 0; i < n; i++)                                                         \
                to[i] = one;                                                                       \
        } else                                                                                     \
            EACH(n, stride, to[i] = loaded_##name(from[at]))                                       \
    }                                                                                              \
    static void store_##name(void *to_, ptrdiff_t stride, const void *from_, size_t n)             \
    {                                                                                              \
        m *to = to_;                                                                               \
        const t *from = from_;                                                                     \
        EACH(n, stride, to[at] = stored_##name(from[i]))                                           \
    }
HCY_EVAL_MEMORY(DEFINE_MEMORY)

/* The same loops as above with what a store does to each result: for those that are made where they are to lie. */
#define STORED_f32 stored_F32
#define STORED_f64 stored_F64
#define STORED_i64 stored_I64
#define STORED_u64 stored_U64
#define DEFINE_STORED(name, t, arity, ta, tb, tc, ...)                                             \
    static void stored_loop_##name(void *to_, const void *a_, const void *b_, const void *c_, size_t n) \
    {                                                                                              \
        t *restrict to = to_;                                                                      \
        const ta *a = a_;                                                                          \
        ARGUMENTS_##arity(tb, tc)                                                                  \
        for (size_t i = 0; i < n; i++)                                                             \
            to[i] = STORED_##t(CALL_##arity(name));                                                \
    }
HCY_EVAL_REALS(DEFINE_STORED, F32, f32)
HCY_EVAL_REALS(DEFINE_STORED, F64, f64)
#define DEFINE_NEAR_STORED(name, t, is_near, near) \
    DEFINE_NEAR_OR_FAR(stored_loop, name, t, is_near, near, STORED_##t)
NEAR_WAYS(DEFINE_NEAR_STORED)

#define DEFINE_PAIR(name, t)                                                                       \
    static void load_pair_##name(void *re_, void *im_, const void *from_, size_t n)                \
    {                                                                                              \
        t *restrict re = re_, *restrict im = im_;                                                  \
        const t *restrict from = from_;                                                            \
        for (size_t i = 0; i < n; i++) {                                                           \
            re[i] = from[2 * i];                                                                   \
            im[i] = from[2 * i + 1];                                                               \
        }                                                                                          \
    }                                                                                              \
    static void store_pair_##name(void *to_, const void *re_, const void *im_, size_t n)           \
    {                                                                                              \
        t *restrict to = to_;                                                                      \
        const t *restrict re = re_, *restrict im = im_;                                            \
        for (size_t i = 0; i < n; i++) {                                                           \
            to[2 * i] = stored_##name(re[i]);                                                      \
            to[2 * i + 1] = stored_##name(im[i]);                                                  \
        }                                                                                          \
    }
DEFINE_PAIR(F32, f32)
DEFINE_PAIR(F64, f64)

#define OPERATION_ROW(name, ...) [HCY_EVAL_##name] = loop_##name,
#define STORED_ROW(name, ...) [HCY_EVAL_##name] = stored_loop_##name,
#define REDUCTION_ROW(name, ...) [HCY_EVAL_##name] = reduce_##name,
#define WHOLE_ROW(name, ...) [HCY_EVAL_##name] = reduce_whole_##name,
#define SCAN_ROW(name, ...) [HCY_EVAL_##name] = scan_##name,
#define LOAD_ROW(name, ...) [HCY_EVAL_M_##name] = load_##name,
#define STORE_ROW(name, ...) [HCY_EVAL_M_##name] = store_##name,
const struct cpu_eval_loops LOOPS = {
    .op = { HCY_EVAL_OPS(OPERATION_ROW) },
    .stored = { HCY_EVAL_REALS(STORED_ROW, F32, f32) HCY_EVAL_REALS(STORED_ROW, F64, f64)
                HCY_EVAL_NEAR_OR_FAR(STORED_ROW, F32, f32) HCY_EVAL_NEAR_OR_FAR(STORED_ROW, F64, f64) },
    .reduction = { HCY_EVAL_REDUCTIONS(REDUCTION_ROW) },
    .whole = { HCY_EVAL_REDUCTIONS(WHOLE_ROW) },
    .sum_floats = sum_floats,
    .scan = { HCY_EVAL_SCANS(SCAN_ROW) },
    .load = { HCY_EVAL_MEMORY(LOAD_ROW) },
    .store = { HCY_EVAL_MEMORY(STORE_ROW) },
    .load_pair = { [HCY_EVAL_M_F32] = load_pair_F32, [HCY_EVAL_M_F64] = load_pair_F64 },
    .store_pair = { [HCY_EVAL_M_F32] = store_pair_F32, [HCY_EVAL_M_F64] = store_pair_F64 },
};
