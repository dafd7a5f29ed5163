/* maths.c - exp, log, sin and so on as steps: each is an operation of real numbers; of complex numbers those that a
 * few real ones make. */
#include "emit.h"

#include <math.h>

/* An operation by a real register. */
#define PAIR(op)                                                                                             \
    {                                                                                                        \
        HCY_EVAL_##op##_F32, HCY_EVAL_##op##_F64                                                             \
    }
static const enum hcy_eval_op maths_rows[][2] = {
    [HCY__FN_EXP] = PAIR(EXP),           [HCY__FN_EXP2] = PAIR(EXP2),   [HCY__FN_EXPM1] = PAIR(EXPM1),
    [HCY__FN_LOG] = PAIR(LOG),           [HCY__FN_LOG2] = PAIR(LOG2),   [HCY__FN_LOG10] = PAIR(LOG10),
    [HCY__FN_LOG1P] = PAIR(LOG1P),       [HCY__FN_SIN] = PAIR(SIN),     [HCY__FN_COS] = PAIR(COS),
    [HCY__FN_TAN] = PAIR(TAN),           [HCY__FN_ASIN] = PAIR(ASIN),   [HCY__FN_ACOS] = PAIR(ACOS),
    [HCY__FN_ATAN] = PAIR(ATAN),         [HCY__FN_ATAN2] = PAIR(ATAN2), [HCY__FN_SINH] = PAIR(SINH),
    [HCY__FN_COSH] = PAIR(COSH),         [HCY__FN_TANH] = PAIR(TANH),   [HCY__FN_ERF] = PAIR(ERF),
    [HCY__FN_RSQRT] = PAIR(RSQRT),       [HCY__FN_HYPOT] = PAIR(HYPOT), [HCY__FN_FMOD] = PAIR(FMOD),
    [HCY__FN_COPYSIGN] = PAIR(COPYSIGN), [HCY__FN_LDEXP] = PAIR(LDEXP), [HCY__FN_FRACTION] = PAIR(FRACTION),
    [HCY__FN_EXPONENT] = PAIR(EXPONENT), [HCY__FN_ANGLE] = PAIR(ATAN2),
};
static const enum hcy_eval_op roots[] = PAIR(SQRT), products[] = PAIR(MUL), quotients[] = PAIR(DIV),
                              sums[] = PAIR(ADD), sizes[] = PAIR(ABS), equals[] = PAIR(EQ),
                              orders[] = PAIR(LE), choices[] = PAIR(WHERE), log_sizes[] = PAIR(LOGHYPOT),
                              signs_of[] = PAIR(COPYSIGN);

static bool has_imaginary(const struct hcy__made *x)
{
    return x->im >= 0;
}

/* A step of real registers of x's type; b and c may be -1. */
static int real_step(struct hcy__emitter *e, const enum hcy_eval_op *row, const struct hcy__made *x, int a,
                     int b, int c)
{
    return hcy__emit(e, row[hcy__register_of(x->type.dtype) == HCY_EVAL_F64], a, b, c);
}

static int real_number(struct hcy__emitter *e, const struct hcy__made *x, double number)
{
    return hcy__emit_literal(e, number, hcy__register_of(x->type.dtype));
}

struct hcy__made hcy__emit_as_real(struct hcy__emitter *e, struct hcy__made x)
{
    struct hcy__type type = x.type;
    if (hcy__kind_of(type.dtype) >= HCY__KIND_REAL)
        return x;
    x = hcy__emit_cast(e, x, HCY_FLOAT64);
    x.type.weak = type.weak;
    return x;
}

/* --- Complex numbers --- */

struct hcy__made hcy__emit_size(struct hcy__emitter *e, struct hcy__made x)
{
    struct hcy__made y = { { hcy__part_of(x.type.dtype), x.type.weak }, -1, -1 };
    y.re = real_step(e, maths_rows[HCY__FN_HYPOT], &x, x.re, x.im, -1);
    return y;
}

/* e^re (cos(im) + j sin(im)) */
static struct hcy__made complex_exp(struct hcy__emitter *e, struct hcy__made x)
{
    struct hcy__made y = x;
    int size = real_step(e, maths_rows[HCY__FN_EXP], &x, x.re, -1, -1);
    int real = real_step(e, equals, &x, x.im, real_number(e, &x, 0), -1);
    y.re = real_step(e, products, &x, size, real_step(e, maths_rows[HCY__FN_COS], &x, x.im, -1, -1), -1);
    y.im = real_step(e, products, &x, size, real_step(e, maths_rows[HCY__FN_SIN], &x, x.im, -1, -1), -1);
    /* An infinity on the real axis stays there. */
    y.re = real_step(e, choices, &x, real, size, y.re);
    y.im = real_step(e, choices, &x, real, x.im, y.im);
    return y;
}

static struct hcy__made complex_log(struct hcy__emitter *e, struct hcy__made x)
{
    struct hcy__made y = x;
    y.re = real_step(e, log_sizes, &x, x.re, x.im, -1);
    y.im = real_step(e, maths_rows[HCY__FN_ATAN2], &x, x.im, x.re, -1);
    return y;
}

/* The part that is larger is sqrt((|re| + |x|)/2); the other one is im over twice that. */
static struct hcy__made complex_root(struct hcy__emitter *e, struct hcy__made x)
{
    struct hcy__made y = x, scaled = x;
    bool is_double = hcy__register_of(x.type.dtype) == HCY_EVAL_F64;
    int zero = real_number(e, &x, 0), two = real_number(e, &x, 2);
    int re = real_step(e, sizes, &x, x.re, -1, -1), im = real_step(e, sizes, &x, x.im, -1, -1);
    /* Scaled by half of a power of 4, which costs no bit, and the root is divided by that of the power: by 1/8, so that
     * no sum is infinite, or so much that what is tiny has all its bits. */
    int little = real_number(e, &x, is_double ? 0x1p-54 : 0x1p-24),
        much = real_number(e, &x, is_double ? 0x1p107 : 0x1p47);
    int tiny = real_step(e, orders, &x, real_step(e, sums, &x, re, im, -1), little, -1);
    int scale = real_step(e, choices, &x, tiny, much, real_number(e, &x, 0.125));
    scaled.re = real_step(e, products, &x, re, scale, -1);
    scaled.im = real_step(e, products, &x, im, scale, -1);
    int root = real_step(e, roots, &x, real_step(e, sums, &x, scaled.re, hcy__emit_size(e, scaled).re, -1), -1, -1);
    int large = real_step(e, products, &x, root, real_step(e, choices, &x, tiny, little, two), -1);
    int small = real_step(e, quotients, &x, im, real_step(e, products, &x, large, two, -1), -1);
    /* The root of 0, where the quotient is none, and infinite imaginary parts. */
    small = real_step(e, choices, &x, real_step(e, equals, &x, im, zero, -1), zero, small);
    int endless = real_step(e, equals, &x, im, real_number(e, &x, HUGE_VAL), -1);
    small = real_step(e, choices, &x, endless, im, small);
    int right = real_step(e, orders, &x, zero, x.re, -1);
    y.re = real_step(e, choices, &x, right, large, small);
    y.im = real_step(e, signs_of, &x, real_step(e, choices, &x, right, small, large), x.im, -1);
    return y;
}

struct hcy__made hcy__emit_root(struct hcy__emitter *e, struct hcy__made x)
{
    x = hcy__emit_as_real(e, x);
    if (has_imaginary(&x))
        return complex_root(e, x);
    x.re = real_step(e, roots, &x, x.re, -1, -1);
    return x;
}

/* e^(y log(x)); 0 to a power is 0, but to 0 it is 1. */
static struct hcy__made complex_power(struct hcy__emitter *e, struct hcy__made x, struct hcy__made y)
{
    static const struct hcy__node product = { .kind = HCY__CALL, .function = HCY__FN_MUL };
    struct hcy__made args[3] = { y, complex_log(e, x), y },
                     z = complex_exp(e, hcy__emit_call(e, &product, args));
    int zero = real_number(e, &x, 0), one = real_number(e, &x, 1);
    int nothing = hcy__emit(e, HCY_EVAL_AND_B32, real_step(e, equals, &x, x.re, zero, -1),
                            real_step(e, equals, &x, x.im, zero, -1), -1);
    int none = hcy__emit(e, HCY_EVAL_AND_B32, real_step(e, equals, &x, y.re, zero, -1),
                         real_step(e, equals, &x, y.im, zero, -1), -1);
    z.re = real_step(e, choices, &x, none, one, real_step(e, choices, &x, nothing, zero, z.re));
    z.im = real_step(e, choices, &x, hcy__emit(e, HCY_EVAL_OR_B32, nothing, none, -1), zero, z.im);
    return z;
}

/* --- Calls --- */

struct hcy__made hcy__emit_any_power(struct hcy__emitter *e, struct hcy__made *args)
{
    struct hcy__made y = { { 0, false }, -1, -1 };
    hcy__emit_together(e, args, 2, &y.type);
    switch (hcy__kind_of(y.type.dtype)) {
    case HCY__KIND_COMPLEX:
        args[0] = complex_power(e, args[0], args[1]);
        /* Both were brought to one type, which makes the power of two numbers no array's. */
        args[0].type.weak = y.type.weak;
        return args[0];
    case HCY__KIND_REAL:
        y.re = real_step(e, (const enum hcy_eval_op[])PAIR(POW), &y, args[0].re, args[1].re, -1);
        return y;
    case HCY__KIND_BOOL:
        hcy__emit_refuse(e, "there is no ** of ", hcy_dtype_name(y.type.dtype));
        return y;
    }
    bool is_unsigned = hcy__is_unsigned(y.type.dtype);
    enum hcy_eval_op wrap = hcy__wrap_of(y.type.dtype);
    y.re = hcy__emit(e, is_unsigned ? HCY_EVAL_POW_U64 : HCY_EVAL_POW_I64, args[0].re, args[1].re, -1);
    if (wrap)
        y.re = hcy__emit(e, wrap, y.re, -1, -1);
    return y;
}

/* The angle of a real number is 0 or pi. */
static struct hcy__made call_angle(struct hcy__emitter *e, struct hcy__made x)
{
    struct hcy__made y = { { hcy__part_of(x.type.dtype), x.type.weak }, -1, -1 };
    int im = has_imaginary(&x) ? x.im : real_number(e, &x, 0);
    y.re = real_step(e, maths_rows[HCY__FN_ANGLE], &x, im, x.re, -1);
    return y;
}

static struct hcy__made call_ldexp(struct hcy__emitter *e, const struct hcy__node *node, struct hcy__made x,
                                   struct hcy__made n)
{
    x = hcy__emit_as_real(e, x);
    if (has_imaginary(&x) || hcy__kind_of(n.type.dtype) > HCY__KIND_INTEGER)
        hcy__emit_refuse(e, "a real number and an integer are wanted for ", hcy__function_name(node));
    n = hcy__emit_cast(e, n, HCY_INT64);
    x.re = real_step(e, maths_rows[HCY__FN_LDEXP], &x, x.re, n.re, -1);
    return x;
}

struct hcy__made hcy__emit_maths(struct hcy__emitter *e, const struct hcy__node *node, struct hcy__made *args)
{
    bool two = args[1].re >= 0;
    struct hcy__made x, y = { { 0, false }, -1, -1 };
    if (node->function == HCY__FN_LDEXP)
        return call_ldexp(e, node, args[0], args[1]);
    for (int k = 0; k <= two; k++)
        args[k] = hcy__emit_as_real(e, args[k]);
    hcy__emit_together(e, args, 1 + two, &y.type);
    x = args[0];
    x.type.weak = y.type.weak;
    if (node->function == HCY__FN_ANGLE)
        return call_angle(e, x);
    if (has_imaginary(&x) && (node->function == HCY__FN_EXP || node->function == HCY__FN_LOG))
        return node->function == HCY__FN_EXP ? complex_exp(e, x) : complex_log(e, x);
    if (has_imaginary(&x))
        hcy__emit_refuse(e, "complex numbers have no ", hcy__function_name(node));
    y.re = real_step(e, maths_rows[node->function], &x, x.re, two ? args[1].re : -1, -1);
    /* An exponent is an integer. */
    if (node->function == HCY__FN_EXPONENT)
        y.type.dtype = HCY_INT64;
    return y;
}

struct hcy__made hcy__emit_random(struct hcy__emitter *e, const struct hcy__node *node, struct hcy__made *args)
{
    static const struct {
        enum hcy_eval_op op;
        int dtype;
    } rows[] = {
        { HCY_EVAL_RANDOM_U64, HCY_UINT64 },
        { HCY_EVAL_UNIFORM_F64, HCY_FLOAT64 },
        { HCY_EVAL_UNIFORM_F32, HCY_FLOAT32 },
        { HCY_EVAL_NORMAL_F64, HCY_FLOAT64 },
    };
    int which = node->function - HCY__FN_RANDOM;
    struct hcy__made y = { { rows[which].dtype, false }, -1, -1 };
    /* Without a stream it is the first one. */
    if (args[2].re < 0)
        args[2] = (struct hcy__made){ { HCY_INT64, true }, hcy__emit_literal(e, 0, HCY_EVAL_I64), -1 };
    for (int k = 0; k < 3; k++) {
        if (hcy__kind_of(args[k].type.dtype) > HCY__KIND_INTEGER)
            hcy__emit_refuse(e, "integers are wanted for ", hcy__function_name(node));
        args[k] = hcy__emit_cast(e, args[k], HCY_UINT64);
    }
    y.re = hcy__emit(e, rows[which].op, args[0].re, args[1].re, args[2].re);
    return y;
}

struct hcy__made hcy__emit_draw(struct hcy__emitter *e, const struct hcy__node *node, struct hcy__made *args)
{
    struct hcy__made y = { { HCY_INT64, false }, -1, -1 };
    const bool below = node->function == HCY__FN_BELOW;
    int kinds[2] = { below ? HCY__KIND_INTEGER : HCY__KIND_REAL, HCY__KIND_INTEGER };
    for (int k = 0; k < 2; k++)
        if (hcy__kind_of(args[k].type.dtype) > kinds[k])
            hcy__emit_refuse(e, kinds[k] == HCY__KIND_REAL ? "a real mean is wanted for " : "integers are wanted for ",
                             hcy__function_name(node));
    args[0] = hcy__emit_cast(e, args[0], below ? HCY_UINT64 : HCY_FLOAT64);
    args[1] = hcy__emit_cast(e, args[1], HCY_UINT64);
    y.re = hcy__emit(e, below ? HCY_EVAL_BELOW_U64 : HCY_EVAL_POISSON_I64, args[0].re, args[1].re, -1);
    if (below)
        y.re = hcy__emit(e, HCY_EVAL_TOI64_U64, y.re, -1, -1);
    return y;
}
