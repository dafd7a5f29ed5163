/* eval_ops.h - what the steps of eval_format.h compute: one table, C code for CPUs and text for compilers at run time.
 *
 *     X(NAME, type of the result, how many arguments, their types, the expression of a, b and c)
 *
 * The types are b32 (0 or 1), i64, u64, f32 and f64; functions that are not C's stand in eval_helpers.h, and these in
 * capitals are the dialect's: ROUND_F32(x) to the nearest even, DIVIDE_F32(a, b) correctly rounded, and so on.  Nothing
 * may be contracted.
 */
#ifndef HCY_EVAL_OPS_H
#define HCY_EVAL_OPS_H

/* Wrapping, as unsigned numbers do. */
#define HCY_EVAL_INTEGERS(X, T, t)                          \
    X(ADD_##T, t, 2, t, t, t, (t)((u64)a + (u64)b))         \
    X(SUB_##T, t, 2, t, t, t, (t)((u64)a - (u64)b))         \
    X(MUL_##T, t, 2, t, t, t, (t)((u64)a * (u64)b))         \
    X(NEG_##T, t, 1, t, t, t, (t)(0u - (u64)a))             \
    X(AND_##T, t, 2, t, t, t, a & b)                        \
    X(OR_##T, t, 2, t, t, t, a | b)                         \
    X(XOR_##T, t, 2, t, t, t, a ^ b)                        \
    X(NOT_##T, t, 1, t, t, t, ~a)                           \
    X(FLOORDIV_##T, t, 2, t, t, t, floor_divide_##t(a, b))  \
    X(MOD_##T, t, 2, t, t, t, modulo_##t(a, b))             \
    X(POW_##T, t, 2, t, t, t, power_##t(a, b))              \
    X(MIN_##T, t, 2, t, t, t, a < b ? a : b)                \
    X(MAX_##T, t, 2, t, t, t, a > b ? a : b)

/* The smaller or greater of two, or a NaN if there is one, the first of two. */
#define HCY_EVAL_REALS(X, T, t)                             \
    X(ADD_##T, t, 2, t, t, t, a + b)                        \
    X(SUB_##T, t, 2, t, t, t, a - b)                        \
    X(MUL_##T, t, 2, t, t, t, a * b)                        \
    X(DIV_##T, t, 2, t, t, t, DIVIDE_##T(a, b))             \
    X(NEG_##T, t, 1, t, t, t, -a)                           \
    X(MIN_##T, t, 2, t, t, t, a < b || a != a ? a : b)      \
    X(MAX_##T, t, 2, t, t, t, a > b || a != a ? a : b)      \
    X(ABS_##T, t, 1, t, t, t, ABSOLUTE_##T(a))              \
    X(SIGN_##T, t, 1, t, t, t, sign_of_##t(a))              \
    X(SQRT_##T, t, 1, t, t, t, SQUARE_ROOT_##T(a))          \
    X(FLOOR_##T, t, 1, t, t, t, FLOOR_##T(a))               \
    X(CEIL_##T, t, 1, t, t, t, CEILING_##T(a))              \
    X(ROUND_##T, t, 1, t, t, t, ROUND_##T(a))               \
    X(FMA_##T, t, 3, t, t, t, FUSED_##T(a, b, c))           \
    X(TOI64_##T, i64, 1, t, t, t, to_i64((f64)a))           \
    X(TOU64_##T, u64, 1, t, t, t, to_u64((f64)a))

/* Functions of eval_maths.h, which have other names for each type.  The first ones have near and far arguments. */
#define HCY_EVAL_NEAR_OR_FAR(X, T, t)                       \
    X(EXP_##T, t, 1, t, t, t, exp_##t(a))                   \
    X(LOG_##T, t, 1, t, t, t, log_##t(a))                   \
    X(SIN_##T, t, 1, t, t, t, sin_##t(a))                   \
    X(COS_##T, t, 1, t, t, t, cos_##t(a))                   \
    X(TAN_##T, t, 1, t, t, t, tan_##t(a))                   \
    X(RSQRT_##T, t, 1, t, t, t, rsqrt_##t(a))
#define HCY_EVAL_MATHS(X, T, t)                             \
    X(EXP2_##T, t, 1, t, t, t, exp2_##t(a))                 \
    X(EXPM1_##T, t, 1, t, t, t, expm1_##t(a))               \
    X(LOG2_##T, t, 1, t, t, t, log2_##t(a))                 \
    X(LOG10_##T, t, 1, t, t, t, log10_##t(a))               \
    X(LOG1P_##T, t, 1, t, t, t, log1p_##t(a))               \
    X(ASIN_##T, t, 1, t, t, t, asin_##t(a))                 \
    X(ACOS_##T, t, 1, t, t, t, acos_##t(a))                 \
    X(ATAN_##T, t, 1, t, t, t, atan_##t(a))                 \
    X(ATAN2_##T, t, 2, t, t, t, atan2_##t(a, b))            \
    X(SINH_##T, t, 1, t, t, t, sinh_##t(a))                 \
    X(COSH_##T, t, 1, t, t, t, cosh_##t(a))                 \
    X(TANH_##T, t, 1, t, t, t, tanh_##t(a))                 \
    X(ERF_##T, t, 1, t, t, t, erf_##t(a))                   \
    X(POW_##T, t, 2, t, t, t, pow_##t(a, b))                \
    X(HYPOT_##T, t, 2, t, t, t, hypot_##t(a, b))            \
    X(FMOD_##T, t, 2, t, t, t, fmod_##t(a, b))              \
    X(LOGHYPOT_##T, t, 2, t, t, t, loghypot_##t(a, b))      \
    X(COPYSIGN_##T, t, 2, t, t, t, with_sign_##t(a, b))     \
    X(LDEXP_##T, t, 2, t, i64, t, ldexp_##t(a, b))          \
    X(FRACTION_##T, t, 1, t, t, t, fraction_##t(a))         \
    X(EXPONENT_##T, i64, 1, t, t, t, exponent_##t(a))

#define HCY_EVAL_ANY(X, T, t)                               \
    X(LT_##T, b32, 2, t, t, t, a < b)                       \
    X(LE_##T, b32, 2, t, t, t, a <= b)                      \
    X(EQ_##T, b32, 2, t, t, t, a == b)                      \
    X(NE_##T, b32, 2, t, t, t, a != b)                      \
    X(WHERE_##T, t, 3, b32, t, t, a ? b : c)                \
    X(TOB_##T, b32, 1, t, t, t, a != 0)                     \
    X(TOF32_##T, f32, 1, t, t, t, (f32)a)                   \
    X(TOF64_##T, f64, 1, t, t, t, (f64)a)

/* Cut down to a type's bits, with its sign. */
#define HCY_EVAL_WRAPS(X)                                                                       \
    X(WRAP_I8, i64, 1, i64, i64, i64, (i64)((((u64)a & 0xffu) ^ 0x80u) - 0x80u))                \
    X(WRAP_I16, i64, 1, i64, i64, i64, (i64)((((u64)a & 0xffffu) ^ 0x8000u) - 0x8000u))         \
    X(WRAP_I32, i64, 1, i64, i64, i64, (i64)((((u64)a & 0xffffffffu) ^ 0x80000000u) - 0x80000000u)) \
    X(WRAP_U8, u64, 1, u64, u64, u64, a & 0xffu)                                                \
    X(WRAP_U16, u64, 1, u64, u64, u64, a & 0xffffu)                                             \
    X(WRAP_U32, u64, 1, u64, u64, u64, a & 0xffffffffu)

#define HCY_EVAL_BOOLS(X)                                                                       \
    X(AND_B32, b32, 2, b32, b32, b32, a & b)                                                    \
    X(OR_B32, b32, 2, b32, b32, b32, a | b)                                                     \
    X(XOR_B32, b32, 2, b32, b32, b32, a ^ b)                                                    \
    X(NOT_B32, b32, 1, b32, b32, b32, a ^ 1)                                                    \
    X(WHERE_B32, b32, 3, b32, b32, b32, a ? b : c)                                              \
    X(TOI64_B32, i64, 1, b32, b32, b32, (i64)a)                                                 \
    X(TOU64_B32, u64, 1, b32, b32, b32, (u64)a)                                                 \
    X(TOF32_B32, f32, 1, b32, b32, b32, (f32)a)                                                 \
    X(TOF64_B32, f64, 1, b32, b32, b32, (f64)a)                                                 \
    X(ODD_F64, f32, 1, f64, f64, f64, odd_of_f64(a))                                            \
    X(HALF_F32, f32, 1, f32, f32, f32, float_of_half(half_of_float(a)))                         \
    X(ABS_I64, i64, 1, i64, i64, i64, a < 0 ? (i64)(0u - (u64)a) : a)                           \
    X(SIGN_I64, i64, 1, i64, i64, i64, (i64)(a > 0) - (i64)(a < 0))                             \
    X(TOU64_I64, u64, 1, i64, i64, i64, (u64)a)                                                 \
    X(TOI64_U64, i64, 1, u64, u64, u64, (i64)a)

/* Of a seed, an index and a stream, or of random bits (eval_random.h). */
#define HCY_EVAL_RANDOMS(X)                                                                     \
    X(RANDOM_U64, u64, 3, u64, u64, u64, random_u64(a, b, c))                                   \
    X(UNIFORM_F32, f32, 3, u64, u64, u64, uniform_f32(a, b, c))                                 \
    X(UNIFORM_F64, f64, 3, u64, u64, u64, uniform_f64(a, b, c))                                 \
    X(NORMAL_F64, f64, 3, u64, u64, u64, normal_f64(a, b, c))                                   \
    X(BELOW_U64, u64, 2, u64, u64, u64, below_u64(a, b))                                        \
    X(POISSON_I64, i64, 2, f64, u64, u64, poisson_i64(a, b))

/* All but HCY_EVAL_NEAR_OR_FAR. */
#define HCY_EVAL_SIMPLE_OPS(X)                                                                  \
    HCY_EVAL_INTEGERS(X, I64, i64) HCY_EVAL_INTEGERS(X, U64, u64)                               \
    HCY_EVAL_REALS(X, F32, f32) HCY_EVAL_REALS(X, F64, f64)                                     \
    HCY_EVAL_ANY(X, I64, i64) HCY_EVAL_ANY(X, U64, u64) HCY_EVAL_ANY(X, F32, f32) HCY_EVAL_ANY(X, F64, f64) \
    HCY_EVAL_WRAPS(X) HCY_EVAL_BOOLS(X)                                                         \
    HCY_EVAL_MATHS(X, F32, f32) HCY_EVAL_MATHS(X, F64, f64) HCY_EVAL_RANDOMS(X)
#define HCY_EVAL_OPS(X)                                                                         \
    HCY_EVAL_SIMPLE_OPS(X) HCY_EVAL_NEAR_OR_FAR(X, F32, f32) HCY_EVAL_NEAR_OR_FAR(X, F64, f64)

/* Reductions: X(NAME, type, the operation that joins two). */
#define HCY_EVAL_REDUCTIONS(X)                                                                  \
    X(SUM_I64, i64, ADD_I64) X(SUM_U64, u64, ADD_U64) X(SUM_F64, f64, ADD_F64)                  \
    X(PROD_I64, i64, MUL_I64) X(PROD_U64, u64, MUL_U64) X(PROD_F64, f64, MUL_F64)               \
    X(LEAST_I64, i64, MIN_I64) X(LEAST_U64, u64, MIN_U64) X(LEAST_F32, f32, MIN_F32) X(LEAST_F64, f64, MIN_F64) \
    X(MOST_I64, i64, MAX_I64) X(MOST_U64, u64, MAX_U64) X(MOST_F32, f32, MAX_F32) X(MOST_F64, f64, MAX_F64)

/* Scans: the same. */
#define HCY_EVAL_SCANS(X)                                                                       \
    X(SCAN_SUM_I64, i64, ADD_I64) X(SCAN_SUM_U64, u64, ADD_U64) X(SCAN_SUM_F64, f64, ADD_F64)   \
    X(SCAN_PROD_I64, i64, MUL_I64) X(SCAN_PROD_U64, u64, MUL_U64) X(SCAN_PROD_F64, f64, MUL_F64) \
    X(SCAN_LEAST_I64, i64, MIN_I64) X(SCAN_LEAST_U64, u64, MIN_U64) X(SCAN_LEAST_F32, f32, MIN_F32) \
    X(SCAN_LEAST_F64, f64, MIN_F64)                                                             \
    X(SCAN_MOST_I64, i64, MAX_I64) X(SCAN_MOST_U64, u64, MAX_U64) X(SCAN_MOST_F32, f32, MAX_F32) \
    X(SCAN_MOST_F64, f64, MAX_F64)

/* The program's own: X(NAME, type).  They stand in the same order, behind the others. */
#define HCY_EVAL_OWN_REDUCTIONS(X) X(OWN_I64, i64) X(OWN_U64, u64) X(OWN_F32, f32) X(OWN_F64, f64)
#define HCY_EVAL_OWN_SCANS(X)      X(SCAN_OWN_I64, i64) X(SCAN_OWN_U64, u64) X(SCAN_OWN_F32, f32) X(SCAN_OWN_F64, f64)

/* Memory: X(NAME, type in memory, type in a register, the loaded x, the stored x).  Floats are stored with one NaN for
 * all, as devices make different ones. */
#define HCY_EVAL_MEMORY(X)                                       \
    X(BOOL, u8, b32, x != 0, (u8)(x != 0))                       \
    X(I8, i8, i64, (i64)x, (i8)x)                                \
    X(U8, u8, u64, (u64)x, (u8)x)                                \
    X(I16, i16, i64, (i64)x, (i16)x)                             \
    X(U16, u16, u64, (u64)x, (u16)x)                             \
    X(I32, i32, i64, (i64)x, (i32)x)                             \
    X(U32, u32, u64, (u64)x, (u32)x)                             \
    X(I64, i64, i64, x, x)                                       \
    X(U64, u64, u64, x, x)                                       \
    X(F16, u16, f32, float_of_half(x), half_of_float(x))         \
    X(F32, f32, f32, x, x == x ? x : FLOAT_OF_BITS(0x7fc00000u)) \
    X(F64, f64, f64, x, x == x ? x : DOUBLE_OF_BITS(0x7ff8000000000000u))

enum hcy_eval_type { HCY_EVAL_B32, HCY_EVAL_I64, HCY_EVAL_U64, HCY_EVAL_F32, HCY_EVAL_F64, HCY_EVAL_TYPES };

enum hcy_eval_op {
    HCY_EVAL_VALUE, /* a number of the job's, for all elements */
    HCY_EVAL_INDEX, /* an element's number, as I64 */
    HCY_EVAL_PLACE, /* its number in its span (eval_format.h), as I64 */
    HCY_EVAL_LOAD,
    HCY_EVAL_CARRY, /* what was before this piece of its span */
    HCY_EVAL_LEFT,  /* of a join: what was before, and what comes behind */
    HCY_EVAL_RIGHT,
    HCY_EVAL_STORE,
    HCY_EVAL_JOINED,
#define HCY_EVAL_ENUM(name, ...) HCY_EVAL_##name,
    HCY_EVAL_OPS(HCY_EVAL_ENUM)
    HCY_EVAL_SCANS(HCY_EVAL_ENUM) HCY_EVAL_OWN_SCANS(HCY_EVAL_ENUM)
    HCY_EVAL_REDUCTIONS(HCY_EVAL_ENUM) HCY_EVAL_OWN_REDUCTIONS(HCY_EVAL_ENUM)
#undef HCY_EVAL_ENUM
    HCY_EVAL_END
};
#define HCY_EVAL_FIRST_OP        HCY_EVAL_ADD_I64
#define HCY_EVAL_FIRST_SCAN      HCY_EVAL_SCAN_SUM_I64
#define HCY_EVAL_FIRST_MATHS     HCY_EVAL_EXP2_F32 /* functions of eval_maths.h, up to scans */
#define HCY_EVAL_FIRST_REDUCTION HCY_EVAL_SUM_I64
/* Of a step: whether its numbers are joined by the program's own join. */
#define HCY_EVAL_IS_OWN(op) \
    ((op) >= HCY_EVAL_OWN_I64 || ((op) >= HCY_EVAL_SCAN_OWN_I64 && (op) < HCY_EVAL_FIRST_REDUCTION))

#endif
