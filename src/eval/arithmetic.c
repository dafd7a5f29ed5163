/* arithmetic.c - what an operation is for each type, as steps.  Complex numbers are taken apart here: devices know real
 * ones alone, so that their products and quotients are the same everywhere. */
#include "emit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* An operation by the type of its registers; 0: there is none. */
typedef enum hcy_eval_op op_row[HCY_EVAL_TYPES];
#define ROW_ALL(op)                                                                                          \
    {                                                                                                        \
        0, HCY_EVAL_##op##_I64, HCY_EVAL_##op##_U64, HCY_EVAL_##op##_F32, HCY_EVAL_##op##_F64                \
    }
#define ROW_BITS(op)                                                                                         \
    {                                                                                                        \
        HCY_EVAL_##op##_B32, HCY_EVAL_##op##_I64, HCY_EVAL_##op##_U64, 0, 0                                  \
    }
#define ROW_REAL(op)                                                                                         \
    {                                                                                                        \
        0, 0, 0, HCY_EVAL_##op##_F32, HCY_EVAL_##op##_F64                                                    \
    }
#define ROW_INTEGER(op)                                                                                      \
    {                                                                                                        \
        0, HCY_EVAL_##op##_I64, HCY_EVAL_##op##_U64, 0, 0                                                    \
    }
static const op_row adds = ROW_ALL(ADD), subs = ROW_ALL(SUB), muls = ROW_ALL(MUL), divs = ROW_REAL(DIV),
                    negs = ROW_ALL(NEG), mins = ROW_ALL(MIN), maxs = ROW_ALL(MAX), lts = ROW_ALL(LT),
                    les = ROW_ALL(LE), eqs = ROW_ALL(EQ), nes = ROW_ALL(NE),
                    absolutes = { 0, HCY_EVAL_ABS_I64, 0, HCY_EVAL_ABS_F32, HCY_EVAL_ABS_F64 },
                    signs = { 0, HCY_EVAL_SIGN_I64, 0, HCY_EVAL_SIGN_F32, HCY_EVAL_SIGN_F64 },
                    floors = ROW_REAL(FLOOR), ceils = ROW_REAL(CEIL),
                    rounds = ROW_REAL(ROUND), fmas = ROW_REAL(FMA), ands = ROW_BITS(AND), ors = ROW_BITS(OR),
                    xors = ROW_BITS(XOR), inverts = ROW_BITS(NOT), quotients = ROW_INTEGER(FLOORDIV),
                    rests = ROW_INTEGER(MOD),
                    wheres = { HCY_EVAL_WHERE_B32, HCY_EVAL_WHERE_I64, HCY_EVAL_WHERE_U64, HCY_EVAL_WHERE_F32,
                               HCY_EVAL_WHERE_F64 };

/* From a type, by row, to another. */
static const op_row conversions[HCY_EVAL_TYPES] = {
    { 0, HCY_EVAL_TOI64_B32, HCY_EVAL_TOU64_B32, HCY_EVAL_TOF32_B32, HCY_EVAL_TOF64_B32 },
    { HCY_EVAL_TOB_I64, 0, HCY_EVAL_TOU64_I64, HCY_EVAL_TOF32_I64, HCY_EVAL_TOF64_I64 },
    { HCY_EVAL_TOB_U64, HCY_EVAL_TOI64_U64, 0, HCY_EVAL_TOF32_U64, HCY_EVAL_TOF64_U64 },
    { HCY_EVAL_TOB_F32, HCY_EVAL_TOI64_F32, HCY_EVAL_TOU64_F32, 0, HCY_EVAL_TOF64_F32 },
    { HCY_EVAL_TOB_F64, HCY_EVAL_TOI64_F64, HCY_EVAL_TOU64_F64, HCY_EVAL_TOF32_F64, 0 },
};

static const struct hcy__made nothing = { { HCY_INT64, true }, -1, -1 };

static bool is_complex(const struct hcy__made *x)
{
    return x->im >= 0;
}

/* --- One register --- */

/* An operation on registers of one type; HCY_EINVAL, naming the function, where that type has none. */
static int emit_row(struct hcy__emitter *e, const op_row row, const struct hcy__node *node, int dtype, int a,
                    int b, int c)
{
    enum hcy_eval_op op = row[hcy__register_of(dtype)];
    /* HCY_EVAL_VALUE is 0 and stands in no row, so that 0 can say that there is no such operation. */
    if (op)
        return hcy__emit(e, op, a, b, c);
    char what[64];
    snprintf(what, sizeof what, "there is no %s of ", hcy__function_name(node));
    return hcy__emit_refuse(e, what, hcy_dtype_name(dtype));
}

/* What a type of less than 64 bits keeps of an integer. */
static int emit_wrapped(struct hcy__emitter *e, int dtype, int x)
{
    enum hcy_eval_op wrap = hcy__wrap_of(dtype);
    return wrap ? hcy__emit(e, wrap, x, -1, -1) : x;
}

/* Whether an integer type has all numbers of another. */
static bool holds_all(int wide, int narrow)
{
    size_t n = hcy_dtype_size(wide), m = hcy_dtype_size(narrow);
    if (hcy__kind_of(narrow) == HCY__KIND_BOOL)
        return true;
    if (hcy__kind_of(narrow) != HCY__KIND_INTEGER)
        return false;
    if (hcy__is_unsigned(wide) == hcy__is_unsigned(narrow))
        return m <= n;
    /* No unsigned type has the negative numbers of a signed one, and a signed type those of an unsigned one only if
     * it is wider. */
    return !hcy__is_unsigned(wide) && m < n;
}

/* A number of the job's as another type: converted once, not for every element.  -1: it is none. */
static int cast_value(struct hcy__emitter *e, int x, enum hcy_eval_type to)
{
    const hcy_eval_step *step = &e->steps->step[x];
    if (step->op != HCY_EVAL_VALUE || (to != HCY_EVAL_F32 && to != HCY_EVAL_F64))
        return -1;
    /* What the text made a float has a float's digits. */
    if (step->memory == HCY_EVAL_F32)
        return -1;
    struct hcy__value value = e->stage->values[step->a];
    /* Numbers for floats of both widths travel as doubles: a literal becomes one here, an integer of the caller's at
     * the launch, as its source is not known before. */
    if (value.is_integer && value.source == HCY__LITERAL) {
        double real = (double)(int64_t)value.bits;
        memcpy(&value.bits, &real, sizeof real);
    }
    value.is_integer = 0;
    return hcy__emit_value(e, value, to);
}

static int cast_register(struct hcy__emitter *e, int x, int from, int to)
{
    enum hcy_eval_type a = hcy__register_of(from), b = hcy__register_of(to);
    /* A half is made of a float, which for it is not to be rounded to the nearest before. */
    const bool half = to == HCY_FLOAT16 && a == HCY_EVAL_F64;
    int value = x < 0 || a == b || half ? -1 : cast_value(e, x, b);
    if (x < 0 || value >= 0)
        return value;
    if (a != b)
        x = hcy__emit(e, half ? HCY_EVAL_ODD_F64 : conversions[a][b], x, -1, -1);
    /* Types of 8 to 64 bits share a register, so that a narrower one is only a matter of cutting off what it could
     * not have stored. */
    return hcy__kind_of(to) == HCY__KIND_INTEGER && !holds_all(to, from) ? emit_wrapped(e, to, x) : x;
}

void hcy__emit_fit(struct hcy__emitter *e, const struct hcy__value *value, int dtype)
{
    struct hcy__compiled *c = e->compiled;
    if (dtype == HCY_INT64)
        return;
    if (value->source == HCY__LITERAL && !hcy__fits(dtype, (int64_t)value->bits))
        hcy__emit_refuse(e, "this number does not fit ", hcy_dtype_name(dtype));
    /* The caller's integers differ from call to call while what is compiled stays, so that these are checked at each
     * call. */
    if (value->source != HCY__SCALAR)
        return;
    if (c->n_checks == HCY__CHECKS)
        hcy__emit_full(e, "integers");
    else
        c->checks[c->n_checks++] = (struct hcy__check){ value->which, dtype };
}

/* A number that stands for itself must fit the type that it takes. */
static void check_fit(struct hcy__emitter *e, const struct hcy__made *x, int dtype)
{
    /* Only a number that stands alone is checked; what was computed of numbers wraps as all integers do. */
    bool asked = x->type.weak && x->re >= 0 && hcy__kind_of(x->type.dtype) == HCY__KIND_INTEGER &&
                 hcy__kind_of(dtype) == HCY__KIND_INTEGER && e->steps->step[x->re].op == HCY_EVAL_VALUE;
    if (asked)
        hcy__emit_fit(e, &e->stage->values[e->steps->step[x->re].a], dtype);
}

struct hcy__made hcy__emit_cast(struct hcy__emitter *e, struct hcy__made x, int dtype)
{
    check_fit(e, &x, dtype);
    int from = hcy__part_of(x.type.dtype), to = hcy__part_of(dtype);
    /* Once it has been given a type a number is weak no longer. */
    struct hcy__made y = { { dtype, false }, -1, -1 };
    /* A complex number is true where a part of it is. */
    if (dtype == HCY_BOOL && is_complex(&x)) {
        y.re = hcy__emit(e, HCY_EVAL_OR_B32, cast_register(e, x.re, from, to),
                         cast_register(e, x.im, from, to), -1);
        return y;
    }
    /* The imaginary part is dropped only where the text names a real type: a statement that would lose it is
     * refused. */
    y.re = cast_register(e, x.re, from, to);
    if (hcy__kind_of(dtype) != HCY__KIND_COMPLEX)
        return y;
    y.im =
        is_complex(&x) ? cast_register(e, x.im, from, to) : hcy__emit_literal(e, 0, hcy__register_of(dtype));
    return y;
}

/* --- Complex numbers --- */

static struct hcy__made multiply_complex(struct hcy__emitter *e, enum hcy_eval_type t, struct hcy__made a,
                                         struct hcy__made b)
{
    struct hcy__made c = a;
    /* These products and sums are rounded one by one on every device: fused in some places, the bits would
     * differ. */
    c.re = hcy__emit(e, subs[t], hcy__emit(e, muls[t], a.re, b.re, -1), hcy__emit(e, muls[t], a.im, b.im, -1),
                     -1);
    c.im = hcy__emit(e, adds[t], hcy__emit(e, muls[t], a.re, b.im, -1), hcy__emit(e, muls[t], a.im, b.re, -1),
                     -1);
    return c;
}

/* Smith's: by the divisor's larger part first, so that no square overflows. */
static struct hcy__made divide_complex(struct hcy__emitter *e, enum hcy_eval_type t, struct hcy__made a,
                                       struct hcy__made b)
{
    struct hcy__made c = a;
    int real_larger = hcy__emit(e, les[t], hcy__emit(e, absolutes[t], b.im, -1, -1),
                                hcy__emit(e, absolutes[t], b.re, -1, -1), -1);
    int large = hcy__emit(e, wheres[t], real_larger, b.re, b.im),
        small = hcy__emit(e, wheres[t], real_larger, b.im, b.re);
    int p = hcy__emit(e, wheres[t], real_larger, a.re, a.im),
        q = hcy__emit(e, wheres[t], real_larger, a.im, a.re);
    /* The ratio is at most 1 in size, so that its products stay within what they are made of. */
    int ratio = hcy__emit(e, divs[t], small, large, -1);
    int scale = hcy__emit(e, adds[t], large, hcy__emit(e, muls[t], small, ratio, -1), -1);
    /* With the parts exchanged, the imaginary part changes its sign. */
    int re = hcy__emit(e, adds[t], p, hcy__emit(e, muls[t], q, ratio, -1), -1);
    int im = hcy__emit(e, subs[t], q, hcy__emit(e, muls[t], p, ratio, -1), -1);
    im = hcy__emit(e, wheres[t], real_larger, im, hcy__emit(e, negs[t], im, -1, -1));
    c.re = hcy__emit(e, divs[t], re, scale, -1);
    c.im = hcy__emit(e, divs[t], im, scale, -1);
    /* Over 0 both parts are divided by it, as NumPy does. */
    int zero = hcy__emit(e, eqs[t], large, hcy__emit_literal(e, 0, t), -1),
        size = hcy__emit(e, absolutes[t], large, -1, -1);
    c.re = hcy__emit(e, wheres[t], zero, hcy__emit(e, divs[t], a.re, size, -1), c.re);
    c.im = hcy__emit(e, wheres[t], zero, hcy__emit(e, divs[t], a.im, size, -1), c.im);
    return c;
}

static int square_sum(struct hcy__emitter *e, enum hcy_eval_type t, struct hcy__made x)
{
    return hcy__emit(e, adds[t], hcy__emit(e, muls[t], x.re, x.re, -1), hcy__emit(e, muls[t], x.im, x.im, -1),
                     -1);
}

/* --- Calls --- */

void hcy__emit_together(struct hcy__emitter *e, struct hcy__made *args, int n, struct hcy__type *type)
{
    /* The type is made of all arguments before the first is converted, since a number that was converted is weak no
     * longer. */
    *type = args[0].type;
    for (int i = 1; i < n; i++)
        *type = hcy__promote(*type, args[i].type);
    for (int i = 0; i < n; i++)
        args[i] = hcy__emit_cast(e, args[i], type->dtype);
}

static struct hcy__made truth_of(struct hcy__emitter *e, struct hcy__made x)
{
    return x.type.dtype == HCY_BOOL ? x : hcy__emit_cast(e, x, HCY_BOOL);
}

static struct hcy__made call_truth(struct hcy__emitter *e, int function, struct hcy__made a,
                                   struct hcy__made b)
{
    struct hcy__made y = { { HCY_BOOL, false }, -1, -1 };
    a = truth_of(e, a);
    if (function == HCY__FN_TRUTH_NOT) {
        y.re = hcy__emit(e, HCY_EVAL_NOT_B32, a.re, -1, -1);
        return y;
    }
    /* Programs have no branches: both sides are computed, which nobody can tell, as steps have no effects. */
    b = truth_of(e, b);
    y.re = hcy__emit(e, function == HCY__FN_TRUTH_AND ? HCY_EVAL_AND_B32 : HCY_EVAL_OR_B32, a.re, b.re, -1);
    return y;
}

static struct hcy__made call_comparison(struct hcy__emitter *e, const struct hcy__node *node,
                                        struct hcy__made *args)
{
    /* The parser turns > and >= around, so that two orders are enough. */
    const enum hcy_eval_op *row = node->function == HCY__FN_EQ   ? eqs
                                  : node->function == HCY__FN_NE ? nes
                                  : node->function == HCY__FN_LT ? lts
                                                                 : les;
    struct hcy__made y = { { HCY_BOOL, false }, -1, -1 };
    struct hcy__type type;
    bool equality = row == eqs || row == nes;
    hcy__emit_together(e, args, 2, &type);
    /* Booleans are compared as the integers that they are. */
    int dtype = type.dtype == HCY_BOOL ? HCY_UINT8 : type.dtype;
    for (int i = 0; i < 2; i++)
        args[i] = hcy__emit_cast(e, args[i], dtype);
    if (is_complex(&args[0]) && !equality)
        hcy__emit_refuse(e, "complex numbers have no order", "");
    y.re = emit_row(e, row, node, dtype, args[0].re, args[1].re, -1);
    /* Two complex numbers are equal where both parts are, and different where one of them is. */
    if (is_complex(&args[0]))
        y.re = hcy__emit(e, row == eqs ? HCY_EVAL_AND_B32 : HCY_EVAL_OR_B32, y.re,
                         emit_row(e, row, node, dtype, args[0].im, args[1].im, -1), -1);
    return y;
}

/* Booleans add up to "or" and multiply to "and", as NumPy's do. */
static const enum hcy_eval_op *row_of_arithmetic(int function, int dtype)
{
    bool truth = dtype == HCY_BOOL;
    /* Rows that have nothing for booleans, as those of -, // and %, are left to emit_row() to refuse. */
    switch (function) {
    case HCY__FN_ADD:
        return truth ? ors : adds;
    case HCY__FN_MUL:
        return truth ? ands : muls;
    case HCY__FN_SUB:
        return subs;
    case HCY__FN_DIV:
        return divs;
    case HCY__FN_FLOORDIV:
        return quotients;
    case HCY__FN_MOD:
        return rests;
    case HCY__FN_AND:
        return ands;
    case HCY__FN_OR:
        return ors;
    case HCY__FN_XOR:
        return xors;
    case HCY__FN_MINIMUM:
        /* Of 0 and 1 the smaller is their "and" and the larger their "or"; booleans' registers have no other
         * operation for it. */
        return truth ? ands : mins;
    default:
        return truth ? ors : maxs;
    }
}

/* A real number scales both parts of a complex one, and divides them. */
static bool scale_complex(struct hcy__emitter *e, struct hcy__made *y, int function, const struct hcy__made *args)
{
    /* Products may be turned around; a quotient may not, so that a real number over a complex one is divided as two
     * complex ones are. */
    bool swaps = function == HCY__FN_MUL && is_complex(&args[1]) && !is_complex(&args[0]);
    struct hcy__made x = args[swaps ? 1 : 0], real = args[swaps ? 0 : 1];
    if ((function != HCY__FN_MUL && function != HCY__FN_DIV) || !is_complex(&x) || is_complex(&real))
        return false;
    /* With the real number as a complex one, its part of 0 would make NaNs of infinities. */
    y->type = hcy__promote(x.type, real.type);
    enum hcy_eval_type t = hcy__register_of(y->type.dtype);
    enum hcy_eval_op op = function == HCY__FN_MUL ? muls[t] : divs[t];
    x = hcy__emit_cast(e, x, y->type.dtype);
    real = hcy__emit_cast(e, real, hcy__part_of(y->type.dtype));
    y->re = hcy__emit(e, op, x.re, real.re, -1);
    y->im = hcy__emit(e, op, x.im, real.re, -1);
    return true;
}

static struct hcy__made call_arithmetic(struct hcy__emitter *e, const struct hcy__node *node,
                                        struct hcy__made *args)
{
    struct hcy__type type;
    int function = node->function;
    struct hcy__made scaled;
    if (scale_complex(e, &scaled, function, args))
        return scaled;
    /* A quotient of integers is real: they are made so before they meet, so that 256 and -1 need not fit a uint8. */
    if (function == HCY__FN_DIV && hcy__kind_of(args[0].type.dtype) < HCY__KIND_REAL &&
        hcy__kind_of(args[1].type.dtype) < HCY__KIND_REAL)
        for (int i = 0; i < 2; i++)
            args[i] = hcy__emit_as_real(e, args[i]);
    hcy__emit_together(e, args, 2, &type);
    struct hcy__made a = args[0], b = args[1], y = { type, -1, -1 };
    enum hcy_eval_type t = hcy__register_of(type.dtype);
    if (is_complex(&a)) {
        if (function == HCY__FN_MUL || function == HCY__FN_DIV) {
            y = function == HCY__FN_MUL ? multiply_complex(e, t, a, b) : divide_complex(e, t, a, b);
            y.type = type;
            return y;
        }
        if (function != HCY__FN_ADD && function != HCY__FN_SUB) {
            hcy__emit_refuse(e, "complex numbers have no ", hcy__function_name(node));
            return nothing;
        }
        y.im = hcy__emit(e, row_of_arithmetic(function, type.dtype)[t], a.im, b.im, -1);
    }
    y.re = emit_row(e, row_of_arithmetic(function, type.dtype), node, type.dtype, a.re, b.re, -1);
    /* Operations on bits, rests and the smaller of two numbers stay within a type; these leave it, // as well, where
     * the least number is divided by -1. */
    bool leaves = function == HCY__FN_ADD || function == HCY__FN_SUB || function == HCY__FN_MUL ||
                  function == HCY__FN_FLOORDIV;
    if (leaves)
        y.re = emit_wrapped(e, type.dtype, y.re);
    return y;
}

static struct hcy__made call_where(struct hcy__emitter *e, struct hcy__made *args)
{
    struct hcy__made y = { { 0, false }, -1, -1 };
    int truth = truth_of(e, args[0]).re;
    /* Both values are computed and one is dropped, so that a division by 0 in the other does no harm. */
    hcy__emit_together(e, args + 1, 2, &y.type);
    enum hcy_eval_op op = wheres[hcy__register_of(y.type.dtype)];
    y.re = hcy__emit(e, op, truth, args[1].re, args[2].re);
    if (is_complex(&args[1]))
        y.im = hcy__emit(e, op, truth, args[1].im, args[2].im);
    return y;
}

/* abs, abs2, and parts: what makes a complex number real. */
static struct hcy__made call_real(struct hcy__emitter *e, const struct hcy__node *node, struct hcy__made x)
{
    struct hcy__made y = { { hcy__part_of(x.type.dtype), x.type.weak }, x.re, -1 };
    enum hcy_eval_type t = hcy__register_of(x.type.dtype);
    bool complex_number = is_complex(&x);
    /* y is the real part as it is: that is all of what real() asks for, and what the others begin with. */
    switch (node->function) {
    case HCY__FN_REAL:
        break;
    case HCY__FN_IMAG:
        /* The 0 is cast, so that it is one of the argument's own type, whichever that is. */
        y.re =
            complex_number
                ? x.im
                : hcy__emit_cast(
                      e, (struct hcy__made){ { HCY_INT64, true }, hcy__emit_literal(e, 0, HCY_EVAL_I64), -1 },
                      x.type.dtype)
                      .re;
        break;
    case HCY__FN_ABS2:
        /* A boolean is its own square, and has no product among integers. */
        if (x.type.dtype != HCY_BOOL)
            y.re = complex_number ? square_sum(e, t, x)
                                  : emit_wrapped(e, x.type.dtype, hcy__emit(e, muls[t], x.re, x.re, -1));
        break;
    default:
        if (complex_number)
            y.re = hcy__emit_size(e, x).re;
        /* Booleans and unsigned numbers have no row and stay; the least number of a signed type has no counterpart
         * and wraps. */
        else if (absolutes[t])
            y.re = emit_wrapped(e, x.type.dtype, hcy__emit(e, absolutes[t], x.re, -1, -1));
    }
    return y;
}

/* Functions of one real number. */
static struct hcy__made call_one(struct hcy__emitter *e, const struct hcy__node *node, struct hcy__made x)
{
    static const enum hcy_eval_op *const rows[] = {
        [HCY__FN_NEG] = negs,   [HCY__FN_SIGN] = signs,   [HCY__FN_FLOOR] = floors,
        [HCY__FN_CEIL] = ceils, [HCY__FN_ROUND] = rounds, [HCY__FN_INVERT] = inverts,
    };
    const enum hcy_eval_op *row = rows[node->function];
    bool rounds_it = row == floors || row == ceils || row == rounds,
         integer = hcy__kind_of(x.type.dtype) < HCY__KIND_REAL;
    struct hcy__made y = x;
    if (is_complex(&x) && row != negs) {
        hcy__emit_refuse(e, "complex numbers have no ", hcy__function_name(node));
        return nothing;
    }
    /* Integers are round already, and unsigned ones have the sign 0 or 1. */
    if (rounds_it && integer)
        return x;
    if (row == signs && hcy__is_unsigned(x.type.dtype)) {
        y.re = hcy__emit(e, HCY_EVAL_TOU64_B32, hcy__emit(e, HCY_EVAL_TOB_U64, x.re, -1, -1), -1, -1);
        return y;
    }
    /* Of booleans only ~ has an operation, of real numbers ~ has none: emit_row() refuses the rest. */
    y.re = emit_row(e, row, node, x.type.dtype, x.re, -1, -1);
    /* Minus the least number, and the bits of an unsigned one turned over, are beyond a narrow type. */
    if (is_complex(&x))
        y.im = emit_row(e, row, node, x.type.dtype, x.im, -1, -1);
    else if (row == negs || (row == inverts && x.type.dtype != HCY_BOOL))
        y.re = emit_wrapped(e, x.type.dtype, y.re);
    return y;
}

static struct hcy__made call_complex(struct hcy__emitter *e, struct hcy__made *args)
{
    struct hcy__type type;
    hcy__emit_together(e, args, 2, &type);
    /* Brought together, both are complex if one of them is. */
    if (is_complex(&args[0]))
        hcy__emit_refuse(e, "the parts of a complex number are real", "");
    int dtype = hcy__complex_of(type.dtype);
    struct hcy__made y = hcy__emit_cast(e, args[0], dtype);
    y.im = hcy__emit_cast(e, args[1], hcy__part_of(dtype)).re;
    /* Made of numbers alone it stays weak, so that complex(1, 2) * x is as narrow as x is. */
    y.type.weak = type.weak;
    return y;
}

static struct hcy__made call_fma(struct hcy__emitter *e, const struct hcy__node *node, struct hcy__made *args)
{
    struct hcy__made y = { { 0, false }, -1, -1 };
    hcy__emit_together(e, args, 3, &y.type);
    if (is_complex(&args[0]))
        hcy__emit_refuse(e, "complex numbers have no ", hcy__function_name(node));
    /* Integers have no rounding to save, and no row: emit_row() refuses them. */
    y.re = emit_row(e, fmas, node, y.type.dtype, args[0].re, args[1].re, args[2].re);
    return y;
}

/* Within low and high; a NaN stays one. */
static struct hcy__made call_clip(struct hcy__emitter *e, const struct hcy__node *node,
                                  struct hcy__made *args)
{
    struct hcy__node at_least = *node, at_most = *node;
    at_least.function = HCY__FN_MAXIMUM;
    at_most.function = HCY__FN_MINIMUM;
    /* In this order the upper end wins where the lower one is above it, as NumPy has it. */
    struct hcy__made pair[2] = { args[0], args[1] };
    pair[0] = call_arithmetic(e, &at_least, pair);
    pair[1] = args[2];
    return call_arithmetic(e, &at_most, pair);
}

static struct hcy__made call_isnan(struct hcy__emitter *e, struct hcy__made x)
{
    struct hcy__made y = { { HCY_BOOL, false }, -1, -1 };
    enum hcy_eval_type t = hcy__register_of(x.type.dtype);
    /* Integers are equal to themselves. */
    y.re = t == HCY_EVAL_B32 ? hcy__emit(e, HCY_EVAL_XOR_B32, x.re, x.re, -1)
                             : hcy__emit(e, nes[t], x.re, x.re, -1);
    if (is_complex(&x))
        y.re = hcy__emit(e, HCY_EVAL_OR_B32, y.re, hcy__emit(e, nes[t], x.im, x.im, -1), -1);
    return y;
}

struct hcy__made hcy__emit_power(struct hcy__emitter *e, struct hcy__made x, int64_t n)
{
    static const struct hcy__node product = { .kind = HCY__CALL, .function = HCY__FN_MUL };
    struct hcy__made y = x, one = { { HCY_INT64, true }, hcy__emit_literal(e, 1, HCY_EVAL_I64), -1 };
    /* The first factor is taken as it is: a product with 1 would be a step more, and for complex infinities a
     * NaN. */
    bool made = false;
    /* x ** 0 is 1 even where x is a NaN, as C's pow() has it. */
    if (n == 0) {
        y = hcy__emit_cast(e, one, x.type.dtype);
        /* Of a number alone it is one that takes the arrays' type, as all other powers of it are. */
        y.type.weak = x.type.weak;
        return y;
    }
    /* By squares. */
    for (; n; n >>= 1) {
        if (n & 1) {
            struct hcy__made pair[2] = { y, x };
            y = made ? call_arithmetic(e, &product, pair) : x;
            made = true;
        }
        /* After the last factor a square would be of no use, and steps are few. */
        struct hcy__made square[2] = { x, x };
        if (n > 1)
            x = call_arithmetic(e, &product, square);
    }
    return y;
}

static struct hcy__made call_cast(struct hcy__emitter *e, int dtype, struct hcy__made x)
{
    const int is = x.type.dtype;
    switch (dtype) {
    case HCY__CAST_LONG_INTEGERS:
        return is == HCY_INT64 || is == HCY_UINT64 ? hcy__emit_as_real(e, x) : x;
    case HCY__CAST_SIGNED:
        return is == HCY_INT8 || is == HCY_INT16 || is == HCY_INT32 ? hcy__emit_cast(e, x, HCY_INT64) : x;
    case HCY__CAST_INTEGERS:
        return hcy__emit_as_real(e, x);
    case HCY_FLOAT16:
        x = hcy__emit_cast(e, x, dtype);
        x.re = hcy__emit(e, HCY_EVAL_HALF_F32, x.re, -1, -1);
        /* As of a half that is loaded: what is computed of it is of floats. */
        x.type.dtype = HCY_FLOAT32;
        return x;
    default:
        return hcy__emit_cast(e, x, dtype);
    }
}

struct hcy__made hcy__emit_call(struct hcy__emitter *e, const struct hcy__node *node,
                                const struct hcy__made *given)
{
    /* Arguments are copied, since the functions below convert them in place. */
    struct hcy__made args[3] = { given[0], given[1], given[2] };
    /* Reductions do not come here: compile.c takes those by itself, and the parser turned > and >=
     * around. */
    switch (node->function) {
    case HCY__FN_CAST:
        return call_cast(e, node->dtype, args[0]);
    case HCY__FN_TRUTH_AND:
    case HCY__FN_TRUTH_OR:
    case HCY__FN_TRUTH_NOT:
        return call_truth(e, node->function, args[0], args[1]);
    case HCY__FN_EQ:
    case HCY__FN_NE:
    case HCY__FN_LT:
    case HCY__FN_LE:
        return call_comparison(e, node, args);
    case HCY__FN_WHERE:
        return call_where(e, args);
    case HCY__FN_ABS:
    case HCY__FN_ABS2:
    case HCY__FN_REAL:
    case HCY__FN_IMAG:
        return call_real(e, node, args[0]);
    case HCY__FN_CONJ:
        /* A real number is its own conjugate. */
        if (is_complex(&args[0]))
            args[0].im = hcy__emit(e, negs[hcy__register_of(args[0].type.dtype)], args[0].im, -1, -1);
        return args[0];
    case HCY__FN_NEG:
    case HCY__FN_SIGN:
    case HCY__FN_FLOOR:
    case HCY__FN_CEIL:
    case HCY__FN_ROUND:
    case HCY__FN_INVERT:
        return call_one(e, node, args[0]);
    case HCY__FN_COMPLEX:
        return call_complex(e, args);
    case HCY__FN_FMA:
        return call_fma(e, node, args);
    case HCY__FN_CLIP:
        return call_clip(e, node, args);
    case HCY__FN_ISNAN:
        return call_isnan(e, args[0]);
    case HCY__FN_SQRT:
        return hcy__emit_root(e, args[0]);
    case HCY__FN_POW:
        return hcy__emit_any_power(e, args);
    default:
        if (node->function >= HCY__FN_EXP && node->function <= HCY__FN_ANGLE)
            return hcy__emit_maths(e, node, args);
        if (node->function >= HCY__FN_RANDOM && node->function <= HCY__FN_NORMAL)
            return hcy__emit_random(e, node, args);
        if (node->function == HCY__FN_BELOW || node->function == HCY__FN_POISSON)
            return hcy__emit_draw(e, node, args);
        /* All that is left takes two arguments, of the type that they make together. */
        return call_arithmetic(e, node, args);
    }
}
