/* eval.c - expressions over arrays against plain C: every operation, type and layout; reductions by their tree; what
 * overlaps; errors.  All of it on one device.
 *
 *     tests/eval [DEVICE [few]]        few: one layout of an operation, where each means a compilation
 */
#include "eval_layouts.h"

#include <fenv.h>
#include <halcyon/eval.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>

static hcy_device *dev;
static hcy_queue *queue;
static bool few;

enum { MOST = 1u << 16 };

/* What an array in the host's memory has, as it lies there. */
union numbers {
    uint8_t u8[MOST * 16];
    int8_t i8[MOST];
    int16_t i16[MOST];
    uint16_t u16[MOST];
    int32_t i32[MOST];
    uint32_t u32[MOST];
    int64_t i64[MOST];
    uint64_t u64[MOST];
    float f32[MOST];
    double f64[MOST];
};
static union numbers in[3], got, want;

static hcy_array *array_of(int dtype, int rank, const int64_t *shape, const void *data)
{
    hcy_array *a = NULL;
    if (hcy_array_from_host(&a, dev, dtype, rank, shape, data))
        bail_out("no array: %s", hcy_last_error()->text);
    return a;
}
static hcy_array *empty_of(int dtype, int rank, const int64_t *shape)
{
    hcy_array *a = NULL;
    if (hcy_array_empty(&a, dev, dtype, rank, shape))
        bail_out("no array: %s", hcy_last_error()->text);
    return a;
}
static hcy_array *slice_of(hcy_array *a, const char *text)
{
    hcy_array *v = NULL;
    if (hcy_array_slice(&v, a, "%s", text))
        bail_out("no slice: %s", hcy_last_error()->text);
    return v;
}

/* --- Elementwise: an array of each layout, against the oracle on its elements --- */

/* Operands of `dtype` with values that matter: small numbers of both signs, ends, zeros, what is no number. */
static void fill_numbers(union numbers *x, int dtype, size_t n, uint64_t seed)
{
    static const double odd[] = { 0.0,    -0.0,     1.0,       -1.0, 0.5, -2.5, 1e30,
                                  -1e-30, INFINITY, -INFINITY, NAN,  3.0, 7.0,  1e-42 };
    for (size_t i = 0; i < n; i++) {
        uint64_t r = cts_random(&seed);
        double real =
            r % 4 ? (double)(int64_t)(r >> 20) / 1e9 - 8000 : odd[(r >> 8) % (sizeof odd / sizeof odd[0])];
        int64_t whole = r % 4 == 0 ? (int64_t)(r >> 3) : (int64_t)(r >> 8 & 31) - 12;
        switch (dtype) {
        case HCY_BOOL:
            x->u8[i] = r >> 9 & 1;
            break;
        case HCY_INT8:
            x->i8[i] = (int8_t)whole;
            break;
        case HCY_UINT8:
            x->u8[i] = (uint8_t)whole;
            break;
        case HCY_INT16:
            x->i16[i] = (int16_t)whole;
            break;
        case HCY_UINT16:
            x->u16[i] = (uint16_t)whole;
            break;
        case HCY_INT32:
            x->i32[i] = (int32_t)whole;
            break;
        case HCY_UINT32:
            x->u32[i] = (uint32_t)whole;
            break;
        case HCY_INT64:
            x->i64[i] = r % 8 ? whole : r % 16 ? INT64_MIN : INT64_MAX;
            break;
        case HCY_UINT64:
            x->u64[i] = (uint64_t)whole;
            break;
        case HCY_FLOAT32:
            x->f32[i] = (float)real;
            break;
        default:
            x->f64[i] = real;
        }
    }
}

/* An oracle: element i of want from a, b and c of `in`. */
typedef void oracle_fn(size_t i, size_t a, size_t b, size_t c);
#define A(t) in[0].t[a]
#define B(t) in[1].t[b]
#define C(t) in[2].t[c]
#define ORACLE(name, t, expression)                                                                          \
    static void name(size_t i, size_t a, size_t b, size_t c)                                                 \
    {                                                                                                        \
        (void)a, (void)b, (void)c;                                                                           \
        want.t[i] = (expression);                                                                            \
    }

/* Doubles and integers of one type: written down once for each, by other means than the library's table. */
static double nan_min(double x, double y)
{
    return isnan(x) ? x : isnan(y) ? y : fmin(x, y);
}
static double nan_max(double x, double y)
{
    return isnan(x) ? x : isnan(y) ? y : fmax(x, y);
}
#define FLOATS(name, t, suffix)                                                                              \
    ORACLE(name##_add, t, A(t) + B(t))                                                                       \
    ORACLE(name##_sub, t, A(t) - B(t)) ORACLE(name##_mul, t, A(t) * B(t)) ORACLE(name##_div, t, A(t) / B(t)) \
        ORACLE(name##_neg, t, -A(t)) ORACLE(name##_abs, t, fabs##suffix(A(t)))                               \
            ORACLE(name##_sqrt, t, sqrt##suffix(A(t))) ORACLE(name##_floor, t, floor##suffix(A(t)))          \
                ORACLE(name##_ceil, t, ceil##suffix(A(t))) ORACLE(name##_round, t, nearbyint##suffix(A(t)))  \
                    ORACLE(name##_fma, t, fma##suffix(A(t), B(t), C(t)))                                     \
                        ORACLE(name##_sign, t, isnan(A(t)) ? A(t) : (A(t) > 0) - (A(t) < 0))                 \
                            ORACLE(name##_lt, u8, A(t) < B(t)) ORACLE(name##_le, u8, A(t) <= B(t))           \
                                ORACLE(name##_eq, u8, A(t) == B(t)) ORACLE(name##_ne, u8, A(t) != B(t))      \
                                    ORACLE(name##_gt, u8, A(t) > B(t))                                       \
                                        ORACLE(name##_where, t, A(t) > 0 ? B(t) : C(t))                      \
                                            ORACLE(name##_isnan, u8, A(t) != A(t))                           \
                                                ORACLE(name##_triad, t, B(t) * (float)0.5 + C(t))            \
                                                    ORACLE(name##_cube, t, A(t) * (A(t) * A(t)))
FLOATS(f32, f32, f)
FLOATS(f64, f64, )
ORACLE(f64_min, f64, A(f64) == 0 && B(f64) == 0 ? B(f64) : nan_min(A(f64), B(f64)))
ORACLE(f64_max, f64, A(f64) == 0 && B(f64) == 0 ? B(f64) : nan_max(A(f64), B(f64)))
ORACLE(f64_to_f32, f32, (float)A(f64))
ORACLE(f32_to_f64, f64, (double)A(f32))

static int64_t wide_floordiv(int64_t a, int64_t b)
{
    int64_t q = b == 0 ? 0 : a / b;
    return b != 0 && q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}
#define INTEGERS(name, t, u)                                                                                 \
    ORACLE(name##_add, u, (unsigned)A(u) + B(u))                                                             \
    ORACLE(name##_sub, u, (unsigned)A(u) - B(u)) ORACLE(name##_mul, u, (unsigned)((uint64_t)A(u) * B(u)))    \
        ORACLE(name##_neg, u, 0u - A(u)) ORACLE(name##_and, u, A(u) & B(u))                                  \
            ORACLE(name##_or, u, A(u) | B(u)) ORACLE(name##_xor, u, A(u) ^ B(u))                             \
                ORACLE(name##_invert, u, ~(unsigned)A(u)) ORACLE(name##_lt, u8, A(t) < B(t))                 \
                    ORACLE(name##_min, t, A(t) < B(t) ? A(t) : B(t))                                         \
                        ORACLE(name##_max, t, A(t) > B(t) ? A(t) : B(t)) ORACLE(name##_floordiv, t,          \
                                                                                wide_floordiv(A(t), B(t)))   \
                            ORACLE(name##_mod, t, B(t) == 0 ? 0 : A(t) - wide_floordiv(A(t), B(t)) * B(t))   \
                                ORACLE(name##_div, f64, (double)A(t) / (double)B(t))                         \
                                    ORACLE(name##_to_f64, f64, (double)A(t)) ORACLE(name##_clip, t,          \
                                                                                    A(t) < 3   ? 3           \
                                                                                    : A(t) > 9 ? 9           \
                                                                                               : A(t))
INTEGERS(i8, i8, u8)
INTEGERS(u8, u8, u8)
INTEGERS(i16, i16, u16)
INTEGERS(u16, u16, u16)
INTEGERS(i32, i32, u32)
INTEGERS(u32, u32, u32)
ORACLE(i64_add, u64, A(u64) + B(u64))
ORACLE(i64_mul, u64, A(u64) * B(u64))
ORACLE(i64_floordiv, i64, B(i64) == -1 ? (int64_t)(0 - A(u64)) : wide_floordiv(A(i64), B(i64)))
ORACLE(i64_abs, u64, A(i64) < 0 ? 0 - A(u64) : A(u64))
ORACLE(u64_floordiv, u64, B(u64) ? A(u64) / B(u64) : 0)
ORACLE(u64_to_f32, f32, (float)A(u64))
ORACLE(f64_to_i64, i64,
       isnan(A(f64))      ? 0
       : A(f64) >= 0x1p63 ? INT64_MAX
       : A(f64) < -0x1p63 ? INT64_MIN
                          : (int64_t)A(f64))
ORACLE(bool_or, u8, A(u8) | B(u8))
ORACLE(bool_and, u8, A(u8) & B(u8))
ORACLE(bool_not, u8, !A(u8))
ORACLE(bool_sum, i64, (int64_t)A(u8) + 2)
ORACLE(mixed_i8_u8, i16, (int16_t)(A(i8) + B(u8)))
ORACLE(mixed_i32_f32, f64, (double)A(i32) * (double)B(f32))
ORACLE(mixed_u64_i64, f64, (double)A(u64) + (double)B(i64))
ORACLE(mixed_i16_f32, f32, (float)A(i16) - B(f32))

static const struct operation {
    const char *text;
    oracle_fn *oracle;
    int types[3], result;
} operations[] = {
#define FLOAT_ROWS(name, T)                                                                                  \
    { "y = a + b", name##_add, { T, T }, T }, { "y = a - b", name##_sub, { T, T }, T },                      \
        { "y = a * b", name##_mul, { T, T }, T }, { "y = a / b", name##_div, { T, T }, T },                  \
        { "y = -a", name##_neg, { T }, T }, { "y = abs(a)", name##_abs, { T }, T },                          \
        { "y = sqrt(a)", name##_sqrt, { T }, T }, { "y = floor(a)", name##_floor, { T }, T },                \
        { "y = ceil(a)", name##_ceil, { T }, T }, { "y = round(a)", name##_round, { T }, T },                \
        { "y = fma(a, b, c)", name##_fma, { T, T, T }, T }, { "y = sign(a)", name##_sign, { T }, T },        \
        { "y = a < b", name##_lt, { T, T }, HCY_BOOL }, { "y = a <= b", name##_le, { T, T }, HCY_BOOL },     \
        { "y = a == b", name##_eq, { T, T }, HCY_BOOL }, { "y = a != b", name##_ne, { T, T }, HCY_BOOL },    \
        { "y = a > b", name##_gt, { T, T }, HCY_BOOL },                                                      \
        { "y = where(a > 0, b, c)", name##_where, { T, T, T }, T },                                          \
        { "y = isnan(a)", name##_isnan, { T }, HCY_BOOL },                                                   \
        { "y = b * 0.5 + c", name##_triad, { 0, T, T }, T },                                                 \
    {                                                                                                        \
        "y = a ** 3", name##_cube, { T }, T                                                                  \
    }
    FLOAT_ROWS(f32, HCY_FLOAT32),
    FLOAT_ROWS(f64, HCY_FLOAT64),
    { "y = minimum(a, b)", f64_min, { HCY_FLOAT64, HCY_FLOAT64 }, HCY_FLOAT64 },
    { "y = maximum(a, b)", f64_max, { HCY_FLOAT64, HCY_FLOAT64 }, HCY_FLOAT64 },
    { "y = a", f64_to_f32, { HCY_FLOAT64 }, HCY_FLOAT32 },
    { "y = a", f32_to_f64, { HCY_FLOAT32 }, HCY_FLOAT64 },
#define INTEGER_ROWS(name, T)                                                                                \
    { "y = a + b", name##_add, { T, T }, T }, { "y = a - b", name##_sub, { T, T }, T },                      \
        { "y = a * b", name##_mul, { T, T }, T }, { "y = -a", name##_neg, { T }, T },                        \
        { "y = a & b", name##_and, { T, T }, T }, { "y = a | b", name##_or, { T, T }, T },                   \
        { "y = a ^ b", name##_xor, { T, T }, T }, { "y = ~a", name##_invert, { T }, T },                     \
        { "y = a < b", name##_lt, { T, T }, HCY_BOOL }, { "y = min(a, b)", name##_min, { T, T }, T },        \
        { "y = maximum(a, b)", name##_max, { T, T }, T }, { "y = a // b", name##_floordiv, { T, T }, T },    \
        { "y = a % b", name##_mod, { T, T }, T }, { "y = a / b", name##_div, { T, T }, HCY_FLOAT64 },        \
        { "y = a", name##_to_f64, { T }, HCY_FLOAT64 },                                                      \
    {                                                                                                        \
        "y = clip(a, 3, 9)", name##_clip, { T }, T                                                           \
    }
    INTEGER_ROWS(i8, HCY_INT8),
    INTEGER_ROWS(u8, HCY_UINT8),
    INTEGER_ROWS(i16, HCY_INT16),
    INTEGER_ROWS(u16, HCY_UINT16),
    INTEGER_ROWS(i32, HCY_INT32),
    INTEGER_ROWS(u32, HCY_UINT32),
    { "y = a + b", i64_add, { HCY_INT64, HCY_INT64 }, HCY_INT64 },
    { "y = a * b", i64_mul, { HCY_INT64, HCY_INT64 }, HCY_INT64 },
    { "y = a // b", i64_floordiv, { HCY_INT64, HCY_INT64 }, HCY_INT64 },
    { "y = abs(a)", i64_abs, { HCY_INT64 }, HCY_INT64 },
    { "y = a // b", u64_floordiv, { HCY_UINT64, HCY_UINT64 }, HCY_UINT64 },
    { "y = float32(a)", u64_to_f32, { HCY_UINT64 }, HCY_FLOAT32 },
    { "y = int64(a)", f64_to_i64, { HCY_FLOAT64 }, HCY_INT64 },
    { "y = a + b", bool_or, { HCY_BOOL, HCY_BOOL }, HCY_BOOL },
    { "y = a && b", bool_and, { HCY_BOOL, HCY_BOOL }, HCY_BOOL },
    { "y = !a", bool_not, { HCY_BOOL }, HCY_BOOL },
    { "y = a + 2", bool_sum, { HCY_BOOL }, HCY_INT64 },
    { "y = a + b", mixed_i8_u8, { HCY_INT8, HCY_UINT8 }, HCY_INT16 },
    { "y = a * b", mixed_i32_f32, { HCY_INT32, HCY_FLOAT32 }, HCY_FLOAT64 },
    { "y = a + b", mixed_u64_i64, { HCY_UINT64, HCY_INT64 }, HCY_FLOAT64 },
    { "y = a - b", mixed_i16_f32, { HCY_INT16, HCY_FLOAT32 }, HCY_FLOAT32 },
};

static void compute_want(const struct operation *op, hcy_array *const *views, const hcy_array_info *result)
{
    hcy_array_info info[3];
    int64_t index[3] = { 0 };
    for (int k = 0; k < 3; k++)
        info[k] = views[k] ? info_of(views[k]) : *result;
    for (int64_t i = 0; i < result->count; i++) {
        op->oracle(place_of(result, result->rank, index), place_of(&info[0], result->rank, index),
                   place_of(&info[1], result->rank, index), place_of(&info[2], result->rank, index));
        for (int d = result->rank; d-- > 0; index[d] = 0)
            if (++index[d] < result->shape[d])
                break;
    }
}

/* The same bits, but for NaNs, which are compared as such: the oracle's may have others. */
static size_t count_wrong(int dtype, size_t n)
{
    size_t wrong = 0, size = hcy_dtype_size(dtype);
    for (size_t i = 0; i < n; i++) {
        bool nan =
            (dtype == HCY_FLOAT32 && isnan(want.f32[i])) || (dtype == HCY_FLOAT64 && isnan(want.f64[i]));
        bool right =
            nan ? (dtype == HCY_FLOAT32 ? got.u32[i] == 0x7fc00000u : got.u64[i] == 0x7ff8000000000000u)
                : !memcmp(&got.u8[i * size], &want.u8[i * size], size);
        if (!right && !wrong++)
            diag("first at %zu: got %.9g, want %.9g", i, dtype == HCY_FLOAT32 ? got.f32[i] : got.f64[i],
                 dtype == HCY_FLOAT32 ? want.f32[i] : want.f64[i]);
    }
    return wrong;
}

static void test_operation(const struct operation *op, const struct layout *l)
{
    static const char *const names[] = { "a", "b", "c", "y" };
    hcy_array *whole[4] = { NULL }, *views[4] = { NULL };
    hcy_operand operands[4];
    size_t n = 0, all = 1;
    for (int d = 0; d < l->rank; d++)
        all *= (size_t)l->shape[d];
    for (int k = 0; k < 4; k++) {
        int type = k < 3 ? op->types[k] : op->result;
        if (!type)
            continue;
        if (k < 3)
            fill_numbers(&in[k], type, all, 17u + (unsigned)k);
        else
            memset(&want, 0xab, all * hcy_dtype_size(type));
        whole[k] = array_of(type, l->rank, l->shape, k < 3 ? &in[k] : &want);
        views[k] = l->slice[k] ? slice_of(whole[k], l->slice[k]) : hcy_array_retain(whole[k]);
        operands[n++] = hcy_op_array(names[k], views[k]);
    }
    hcy_array_info result = info_of(views[3]);
    compute_want(op, views, &result);
    int status = hcy_eval(queue, op->text, operands, n);
    if (!status)
        status = hcy_array_to_host(&got, queue, whole[3]);
    if (status)
        diag("%s: %s", op->text, hcy_last_error()->text);
    size_t wrong = status ? 1 : count_wrong(op->result, all);
    /* What is beside the view must be as it was, so that the whole is compared. */
    if (status || wrong)
        ok(false, "%s of %s, %s (%zu wrong)", op->text,
           hcy_dtype_name(op->types[0] ? op->types[0] : op->types[1]), l->what, wrong);
    for (int k = 0; k < 4; k++) {
        hcy_array_release(whole[k]);
        hcy_array_release(views[k]);
    }
}

static void test_operations(void)
{
    enum { N = sizeof operations / sizeof operations[0], LAYOUTS = sizeof layouts / sizeof layouts[0] };
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < LAYOUTS; k++)
            /* Where each is a compilation, the operations of one type of each kind, in two layouts. */
            if (!few || (k == 0 && (i < 21 || (i > 45 && i < 62) || i + 18 > N)) || (i % 29 == 0 && k == 2))
                test_operation(&operations[i], &layouts[k]);
    ok(true, "operations, %d there are, in %d layouts", (int)N, (int)LAYOUTS);
}

/* --- Reductions: the tree of eval_format.h, written once more --- */

static double sum_tree(const double *x, size_t n)
{
    double pieces[MOST / 1024 + 1], lanes[128];
    size_t n_pieces = 0;
    for (size_t begin = 0; begin < n; begin += 1024) {
        size_t size = n - begin < 1024 ? n - begin : 1024, used = size < 128 ? size : 128;
        for (size_t i = 0; i < size; i++)
            lanes[i % 128] = i < 128 ? x[begin + i] : lanes[i % 128] + x[begin + i];
        for (size_t width = 64; width; width /= 2)
            for (size_t l = 0; l < width && l + width < used; l++)
                lanes[l] += lanes[l + width];
        pieces[n_pieces++] = lanes[0];
    }
    return n_pieces == 0 ? 0 : n_pieces == 1 ? pieces[0] : sum_tree(pieces, n_pieces);
}

/* What a text makes of x, and of s, a number of this type. */
static int reduce(void *result, int dtype, const char *text, hcy_array *x, hcy_array *y)
{
    hcy_array *s = empty_of(dtype, 0, NULL);
    const hcy_operand operands[] = { hcy_op_array("s", s), hcy_op_array("x", x),
                                     hcy_op_array("y", y ? y : x) };
    int status = hcy_eval(queue, text, operands, 3);
    if (!status)
        status = hcy_array_to_host(result, queue, s);
    hcy_array_release(s);
    return status;
}

static void test_sums(size_t n)
{
    static double x[MOST], y[MOST], products[MOST];
    static float small[MOST];
    int64_t shape = (int64_t)n;
    uint64_t seed = n;
    double s = 1;
    float single = 1;
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)(int64_t)cts_random(&seed) / 1e15;
        y[i] = (double)(int64_t)cts_random(&seed) / 1e18;
        products[i] = x[i] * y[i];
        small[i] = (float)y[i];
    }
    hcy_array *a = array_of(HCY_FLOAT64, 1, &shape, x), *b = array_of(HCY_FLOAT64, 1, &shape, y),
              *c = array_of(HCY_FLOAT32, 1, &shape, small);
    st_ok(reduce(&s, HCY_FLOAT64, "s = sum(x)", a, NULL), "a sum of %zu", n);
    ok(s == sum_tree(x, n), "has the bits of its tree");
    st_ok(reduce(&s, HCY_FLOAT64, "s = dot(x, y)", a, b), "a dot product");
    ok(s == sum_tree(products, n), "too");
    for (size_t i = 0; i < n; i++)
        products[i] = small[i];
    st_ok(reduce(&single, HCY_FLOAT32, "s = sum(x)", c, NULL), "a sum of floats");
    ok(single == (float)sum_tree(products, n), "is made in double");
    for (size_t i = 0; i < n; i++)
        products[i] = x[i] * x[i];
    st_ok(reduce(&s, HCY_FLOAT64, "s = norm(x)", a, NULL), "a norm");
    ok(s == sqrt(sum_tree(products, n)), "is the root of such a sum");
    hcy_array_release(a);
    hcy_array_release(b);
    hcy_array_release(c);
}

static void test_other_reductions(void)
{
    int64_t shape[2] = { 37, 111 }, none = 0, number = 0;
    int32_t x[37 * 111];
    double real = 0;
    uint8_t truth = 2;
    int64_t sum = 0;
    for (int i = 0; i < 37 * 111; i++) {
        x[i] = i * 7919 % 4001 - 2000;
        sum += x[i];
    }
    static const uint16_t counts[2] = { 300, 400 };
    hcy_array *two = array_of(HCY_UINT16, 1, (int64_t[]){ 2 }, counts);
    st_ok(reduce(&real, HCY_FLOAT64, "s = norm(x)", two, NULL), "a norm of integers whose squares are beyond their type");
    ok(real == 500, "is made of real numbers");
    hcy_array_release(two);
    static const int64_t large[2] = { INT64_MAX, INT64_MAX };
    static const uint64_t larger[2] = { UINT64_MAX, UINT64_MAX };
    static const int8_t least[2] = { INT8_MIN, INT8_MIN };
    const struct {
        const char *text;
        int dtype;
        const void *of;
        double want;
    } wide[] = { { "s = mean(x)", HCY_INT64, large, 0x1p63 },   { "s = var(x)", HCY_INT64, large, 0 },
                 { "s = mean(x)", HCY_UINT64, larger, 0x1p64 }, { "s = norm1(x)", HCY_INT8, least, 256 },
                 { "s = norminf(x)", HCY_INT8, least, 128 } };
    for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
        two = array_of(wide[i].dtype, 1, (int64_t[]){ 2 }, wide[i].of);
        st_ok(reduce(&real, HCY_FLOAT64, wide[i].text, two, NULL), "%s of integers at their type's end", wide[i].text);
        ok(real == wide[i].want, "is %g (%g)", wide[i].want, real);
        hcy_array_release(two);
    }
    hcy_array *a = array_of(HCY_INT32, 2, shape, x), *nothing = empty_of(HCY_FLOAT64, 1, &none),
              *back = slice_of(a, "::-1, ::-1");
    st_ok(reduce(&number, HCY_INT64, "s = sum(x)", a, NULL), "a sum of integers");
    is_int(number, sum, "is exact, in 64 bits");
    st_ok(reduce(&number, HCY_INT64, "s = 1000000*max(x) + min(x)", back, NULL),
          "the largest and the smallest");
    is_int(number, 1000000LL * 2000 - 2000, "of integers");
    st_ok(reduce(&number, HCY_INT64, "s = argmax(x)", a, NULL), "where the largest is");
    ok(number >= 0 && number < 37 * 111 && x[number] == 2000, "is found");
    for (int64_t i = 0; i < number; i++)
        if (x[i] == 2000)
            ok(false, "and is the first");
    st_ok(reduce(&number, HCY_INT64, "s = count(x > 0)", a, NULL), "a count");
    for (int i = 0; i < 37 * 111; i++)
        number -= x[i] > 0;
    is_int(number, 0, "of what is true");
    st_ok(reduce(&real, HCY_FLOAT64, "s = mean(x)", a, NULL), "a mean");
    ok(real == (double)sum / (37 * 111), "of integers");
    st_ok(reduce(&truth, HCY_BOOL, "s = any(x == 2000) && !all(x > 0)", a, NULL), "any and all");
    is_int(truth, 1, "are truths");
    st_ok(reduce(&real, HCY_FLOAT64, "s = sum(x) + 2*prod(x)", nothing, NULL),
          "a sum and a product of nothing");
    ok(real == 2, "are 0 and 1");
    st_says(reduce(&real, HCY_FLOAT64, "s = max(x)", nothing, NULL), HCY_EINVAL, "column 5",
            "no largest of nothing");
    hcy_array_release(a);
    hcy_array_release(back);
    hcy_array_release(nothing);
}

/* --- Complex numbers, half floats, scalars --- */

static void test_complex(void)
{
    enum { N = 1500 };
    static float x[2 * N], y[2 * N], z[2 * N];
    static double re[N], im[N];
    int64_t shape = N;
    uint64_t seed = 5;
    size_t wrong = 0;
    double s[2];
    for (size_t i = 0; i < 2 * N; i++) {
        x[i] = (float)(int32_t)cts_random(&seed) * 1e-6f;
        y[i] = (float)(int32_t)cts_random(&seed) * 1e-5f;
    }
    hcy_array *a = array_of(HCY_COMPLEX64, 1, &shape, x), *b = array_of(HCY_COMPLEX64, 1, &shape, y),
              *part = NULL;
    st_ok(HCY_EVAL(queue, "b = a*conj(b) + (2 - 1j)*a", hcy_op_array("a", a), hcy_op_array("b", b)),
          "complex numbers");
    st_ok(hcy_array_to_host(z, queue, b), "are read");
    for (size_t i = 0; i < N; i++) {
        float p = x[2 * i], q = x[2 * i + 1], r = y[2 * i], t = -y[2 * i + 1];
        float want_re = (p * r - q * t) + (2 * p - -1 * q), want_im = (p * t + q * r) + (2 * q + -1 * p);
        wrong += z[2 * i] != want_re || z[2 * i + 1] != want_im;
        re[i] = p * r - q * -t;
        im[i] = p * -t + q * r;
        re[i] = (double)(float)(p * z[2 * i] - -q * z[2 * i + 1]);
        im[i] = (double)(float)(p * z[2 * i + 1] + -q * z[2 * i]);
    }
    is_int((intmax_t)wrong, 0, "and are what real ones make");
    hcy_array *sum = empty_of(HCY_COMPLEX128, 0, NULL);
    st_ok(
        HCY_EVAL(queue, "s = vdot(a, b)", hcy_op_array("s", sum), hcy_op_array("a", a), hcy_op_array("b", b)),
        "vdot");
    st_ok(hcy_array_to_host(s, queue, sum), "is read");
    ok(s[0] == (float)sum_tree(re, N) && s[1] == (float)sum_tree(im, N), "and has the bits of its trees");
    st_ok(hcy_array_part(&part, a, 1), "imaginary parts");
    st_ok(HCY_EVAL(queue, "p = abs(a/b) * 0 + 1; b = a / (0.5*a)", hcy_op_array("p", part),
                   hcy_op_array("a", a), hcy_op_array("b", b)),
          "are written; a quotient");
    st_ok(hcy_array_to_host(z, queue, b), "is read");
    st_ok(hcy_array_to_host(y, queue, a), "with them");
    wrong = 0;
    for (size_t i = 0; i < N; i++)
        wrong += y[2 * i] != x[2 * i] || y[2 * i + 1] != 1 || fabsf(z[2 * i] - 2) > 1e-6f ||
                 fabsf(z[2 * i + 1]) > 1e-6f;
    is_int((intmax_t)wrong, 0, "and is 2; real parts are as they were");
    hcy_array_release(a);
    hcy_array_release(b);
    hcy_array_release(sum);
    hcy_array_release(part);
}

/* Every half float there is to float and back. */
static void test_half(void)
{
    static uint16_t half[MOST], again[MOST];
    static float wide[MOST];
    int64_t shape = MOST;
    size_t wrong = 0;
    for (unsigned i = 0; i < MOST; i++)
        half[i] = (uint16_t)i;
    hcy_array *h = array_of(HCY_FLOAT16, 1, &shape, half), *f = empty_of(HCY_FLOAT32, 1, &shape);
    st_ok(HCY_EVAL(queue, "f = h; h = 2*h/2", hcy_op_array("h", h), hcy_op_array("f", f)),
          "half floats to floats");
    st_ok(hcy_array_to_host(wide, queue, f), "are read");
    st_ok(hcy_array_to_host(again, queue, h), "and those that came back");
    for (unsigned i = 0; i < MOST; i++) {
        int exponent = i >> 10 & 31;
        double fraction = i & 1023,
               size = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
        bool nan = exponent == 31 && fraction != 0;
        if (exponent == 31)
            size = INFINITY;
        wrong += nan ? !isnan(wide[i]) || (again[i] & 0x7fffu) != 0x7e00u
                     : (double)wide[i] != (i & 0x8000u ? -size : size) || again[i] != i;
    }
    is_int((intmax_t)wrong, 0, "each is itself");
    /* Between two of them, the nearer one; of ties the even one. */
    for (unsigned i = 0; i < 0x7c00u; i++)
        wide[i] = wide[i] + (i < 0x7bffu ? (wide[i + 1] - wide[i]) / 2 : 16);
    int64_t finite = 0x7c00;
    hcy_array *ties = array_of(HCY_FLOAT32, 1, &finite, wide), *to = slice_of(h, ":31744");
    st_ok(HCY_EVAL(queue, "h = f", hcy_op_array("h", to), hcy_op_array("f", ties)), "numbers between two");
    st_ok(hcy_array_to_host(again, queue, to), "are read");
    for (unsigned i = 0; i < 0x7c00u; i++)
        wrong += again[i] != (i % 2 ? i + 1 : i);
    is_int((intmax_t)wrong, 0, "and rounded to the even one");
    /* Doubles next to the middle, which as floats would lie there. */
    static double near[2 * 0x7c00];
    static uint16_t rounded[2 * 0x7c00];
    for (unsigned i = 0; i < 2 * 0x7c00u; i++)
        near[i] = (double)wide[i / 2] * (i % 2 ? 1 + 1e-14 : 1 - 1e-14);
    int64_t twice = 2 * 0x7c00;
    hcy_array *doubles = array_of(HCY_FLOAT64, 1, &twice, near), *halves = empty_of(HCY_FLOAT16, 1, &twice);
    st_ok(HCY_EVAL(queue, "h = d", hcy_op_array("h", halves), hcy_op_array("d", doubles)), "doubles next to these");
    st_ok(hcy_array_to_host(rounded, queue, halves), "are read");
    for (unsigned i = 0; i < 2 * 0x7c00u; i++)
        wrong += rounded[i] != i / 2 + i % 2;
    is_int((intmax_t)wrong, 0, "and rounded once");
    const double ends[] = { 0x1p-25 * (1 + 1e-15), -65519.999999999, -0x1p-1074, 1e300, -INFINITY, 65520 };
    static const uint16_t ended[] = { 1, 0xfbff, 0x8000, 0x7c00, 0xfc00, 0x7c00 };
    int64_t six = 6;
    hcy_array *of = array_of(HCY_FLOAT64, 1, &six, ends), *six_halves = slice_of(halves, ":6");
    st_ok(HCY_EVAL(queue, "h = d", hcy_op_array("h", six_halves), hcy_op_array("d", of)), "the ends");
    st_ok(hcy_array_to_host(rounded, queue, six_halves), "are read");
    ok(!memcmp(rounded, ended, sizeof ended), "and right: %x, %x, %x, %x", rounded[0], rounded[1], rounded[2], rounded[3]);
    st_ok(HCY_EVAL(queue, "h = a", hcy_op_array("h", six_halves), hcy_op_real("a", ends[0])), "a number");
    st_ok(hcy_array_to_host(rounded, queue, six_halves), "is read");
    is_int(rounded[5], 1, "and rounded once, too");
    hcy_array_release(of);
    hcy_array_release(six_halves);
    hcy_array_release(doubles);
    hcy_array_release(halves);
    hcy_array_release(ties);
    hcy_array_release(to);
    hcy_array_release(h);
    hcy_array_release(f);
}

static void test_scalars(void)
{
    int64_t shape = 5;
    double x[5] = { 1, 2, 3, 4, 5 }, y[5];
    hcy_array *a = array_of(HCY_FLOAT64, 1, &shape, x), *s = empty_of(HCY_FLOAT64, 0, NULL);
    st_ok(HCY_EVAL(queue, "s = sum(a); a = a / s * n + index + real(z)", hcy_op_array("a", a),
                   hcy_op_array("s", s), hcy_op_integer("n", 30), hcy_op_complex("z", 0.25, 8)),
          "a number of the device's, of the host's, and an element's own");
    st_ok(hcy_array_to_host(y, queue, a), "are read");
    size_t wrong = 0;
    for (int i = 0; i < 5; i++)
        wrong += y[i] != x[i] / 15 * 30 + i + 0.25;
    is_int((intmax_t)wrong, 0, "and are right");
    hcy_array_release(a);
    hcy_array_release(s);
}

/* A power of numbers alone is a number: it takes the arrays' type, as its factors do. */
static void test_powers_of_numbers(void)
{
    static const char *const texts[] = { "y = x + 2 ** 1", "y = x + 2 ** 0", "y = x + n ** 0" };
    const int64_t one = 1;
    const uint8_t most = 255;
    int16_t wrapped = -1;
    hcy_array *x = array_of(HCY_UINT8, 1, &one, &most), *y = empty_of(HCY_INT16, 1, &one),
              *a = empty_of(HCY_FLOAT32, 1, &one), *c = empty_of(HCY_FLOAT32, 1, &one);
    for (size_t i = 0; i < 3; i++) {
        st_ok(HCY_EVAL(queue, texts[i], hcy_op_array("y", y), hcy_op_array("x", x), hcy_op_integer("n", 2)), "%s",
              texts[i]);
        st_ok(hcy_array_to_host(&wrapped, queue, y), "is read");
        is_int(wrapped, i ? 0 : 1, "and wraps as uint8");
    }
    /* What is assigned where it does not fit is told by its type. */
    is_int(HCY_EVAL(queue, "a = c * 2j ** 0.5", hcy_op_array("a", a), hcy_op_array("c", c)), HCY_EINVAL,
           "a complex power is not assigned to floats");
    ok(strstr(hcy_last_error()->text, "complex64 is not"), "as complex64: %s", hcy_last_error()->text);
    hcy_array *const all[] = { x, y, a, c };
    for (size_t i = 0; i < 4; i++)
        hcy_array_release(all[i]);
}

/* A quotient of integers is one of their real numbers: what stands in the text need not fit the array's type. */
static void test_quotients_of_integers(void)
{
    static const char *const texts[] = { "y = x / 256", "y = 1000 / x", "y = x / -3", "y = x / n", "y = x / (2 - 4)" };
    const int64_t one = 1;
    const uint8_t number = 200;
    const double wanted[] = { 200.0 / 256, 5, 200.0 / -3, 0.02, -100 };
    double got = 0;
    hcy_array *x = array_of(HCY_UINT8, 1, &one, &number), *y = empty_of(HCY_FLOAT64, 1, &one);
    for (size_t i = 0; i < 5; i++) {
        st_ok(HCY_EVAL(queue, texts[i], hcy_op_array("y", y), hcy_op_array("x", x), hcy_op_integer("n", 10000)), "%s",
              texts[i]);
        st_ok(hcy_array_to_host(&got, queue, y), "is read");
        ok(got == wanted[i], "and is %g: %g", wanted[i], got);
    }
    hcy_array_release(x);
    hcy_array_release(y);
}

/* Casts to shorter floats round, of numbers as of arrays, whatever is made of them. */
static void test_short_numbers(void)
{
    const int64_t one = 1, three = 3;
    const double tenth = 0.1, x[3] = { 0.1, 1000.3, 1 + 0x1p-30 }, halves[3] = { 0x1.998p-4, 1000.5, 1 };
    double got[3], sums[3];
    hcy_array *a = array_of(HCY_FLOAT64, 1, &one, &tenth), *d = empty_of(HCY_FLOAT64, 1, &one),
              *xs = array_of(HCY_FLOAT64, 1, &three, x), *ys = empty_of(HCY_FLOAT64, 1, &three);
    const hcy_operand numbers[] = { hcy_op_real("a", 0.1), hcy_op_array("a", a), hcy_op_real("a", 0.1),
                                    hcy_op_integer("a", 16777217), hcy_op_complex("a", 0.1, 2) };
    static const char *const texts[] = { "d = float64(float32(a))", "d = float64(float32(a))", "d = d * 0 + float32(0.1) + 0 * a",
                                         "d = float64(float32(a))", "d = real(complex128(complex64(a)))" };
    const double wanted[] = { (double)0.1f, (double)0.1f, (double)0.1f, 16777216, (double)0.1f };
    for (size_t i = 0; i < 5; i++) {
        st_ok(HCY_EVAL(queue, texts[i], hcy_op_array("d", d), numbers[i]), "%s", texts[i]);
        st_ok(hcy_array_to_host(got, queue, d), "is read");
        ok(got[0] == wanted[i], "and rounded: %.17g", got[0]);
    }
    st_ok(HCY_EVAL(queue, "y = float16(x)", hcy_op_array("y", ys), hcy_op_array("x", xs)), "halves of doubles");
    st_ok(hcy_array_to_host(got, queue, ys), "are read");
    ok(!memcmp(got, halves, sizeof got), "and are halves: %.9g %.9g %.9g", got[0], got[1], got[2]);
    st_ok(HCY_EVAL(queue, "y = cumsum(float16(x))", hcy_op_array("y", ys), hcy_op_array("x", xs)), "their sums");
    st_ok(hcy_array_to_host(sums, queue, ys), "are read");
    st_ok(HCY_EVAL(queue, "y = cumsum(float16(x)) + 0", hcy_op_array("y", ys), hcy_op_array("x", xs)), "and within more");
    st_ok(hcy_array_to_host(got, queue, ys), "are read");
    ok(!memcmp(got, sums, sizeof got) && sums[2] == (double)(float)(halves[0] + 1000.5) + 1, "the same: %.9g", got[2]);
    hcy_array *const all[] = { a, d, xs, ys };
    for (size_t i = 0; i < 4; i++)
        hcy_array_release(all[i]);
}

/* --- The host's threads, in which a short call may run --- */

static hcy_array *third;

static void *divide_here(void *status)
{
    *(int *)status = HCY_EVAL(queue, "a = a / 3", hcy_op_array("a", third));
    return NULL;
}

/* Begins a thread with a stack on which registers have no room; 1: the system needs more for any thread. */
static int divide_in_small_thread(int *status)
{
    pthread_attr_t attr;
    pthread_t thread;
    size_t size = (size_t)128 << 10;
    pthread_attr_init(&attr);
    if (size < (size_t)PTHREAD_STACK_MIN)
        size = (size_t)PTHREAD_STACK_MIN;
    int error = pthread_attr_setstacksize(&attr, size);
    error = error ? error : pthread_create(&thread, &attr, divide_here, status);
    pthread_attr_destroy(&attr);
    if (!error)
        pthread_join(thread, NULL);
    return error;
}

static void test_threads(void)
{
    const int64_t shape = 1;
    const float one = 1;
    float got_here = 0;
    int status = 0;
    third = array_of(HCY_FLOAT32, 1, &shape, &one);
    (void)!hcy_queue_finish(queue);
    if (divide_in_small_thread(&status))
        skip(1, "the system gives no thread with a small stack");
    else
        st_ok(status, "a call in a thread with a small stack");
    hcy_array_release(third);
    third = array_of(HCY_FLOAT32, 1, &shape, &one);
    (void)!hcy_queue_finish(queue);
    fesetround(FE_DOWNWARD);
    divide_here(&status);
    fesetround(FE_TONEAREST);
    st_ok(status, "a call in a thread that rounds down");
    st_ok(hcy_array_to_host(&got_here, queue, third), "is read");
    ok(got_here == 1.0f / 3, "and rounded to the nearest, as everywhere (%a)", (double)got_here);
    hcy_array_release(third);
}

/* --- What is read and written at once --- */

static void test_overlap(void)
{
    enum { N = 5000 };
    int64_t shape = N;
    int32_t x[N], y[N];
    for (int i = 0; i < N; i++)
        x[i] = i * i;
    static const struct {
        const char *to, *from;
    } cases[] = { { "1:", ":-1" }, { ":-1", "1:" }, { "::-1", ":" }, { "2500:", "::2" } };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        hcy_array *a = array_of(HCY_INT32, 1, &shape, x), *to = slice_of(a, cases[c].to),
                  *from = slice_of(a, cases[c].from);
        hcy_array_info i_to = info_of(to), i_from = info_of(from);
        int32_t expected[N];
        size_t wrong = 0;
        memcpy(expected, x, sizeof x);
        for (int64_t i = 0; i < i_to.count; i++)
            expected[i_to.offset + i * i_to.strides[0]] = x[i_from.offset + i * i_from.strides[0]] + 1;
        st_ok(HCY_EVAL(queue, "to = from + 1", hcy_op_array("to", to), hcy_op_array("from", from)),
              "[%s] = [%s] + 1", cases[c].to, cases[c].from);
        st_ok(hcy_array_to_host(y, queue, a), "is read");
        for (int i = 0; i < N; i++)
            wrong += y[i] != expected[i];
        is_int((intmax_t)wrong, 0, "as if all was read first");
        hcy_array_release(a);
        hcy_array_release(to);
        hcy_array_release(from);
    }
}

/* --- Errors --- */

static void test_errors(void)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        { "", "column 1: the name of an array" },
        { "y", "column 2: =, +=" },
        { "y = ", "column 5: the text ends" },
        { "y = x +", "column 8: the text ends" },
        { "y = (x", "column 7: a closing" },
        { "y = x)", "column 6: an operator" },
        { "y = q", "column 5: nothing is called q" },
        { "q = x", "column 1: no array to write to is called q" },
        { "y = sin2(x)", "column 5: no function is called sin2" },
        { "y = sqrt(x, x)", "too many arguments for sqrt" },
        { "y = where(x, x)", "too few arguments for where" },
        { "y = x ** 1j", "complex64 is not assigned to float32" },
        { "y = x < x < x", "a comparison of a comparison" },
        { "y = x & x", "column 7: there is no & of float32" },
        { "y = 1j*x", "complex64 is not assigned to float32" },
        { "i = x", "float32 is not assigned to uint8" },
        { "i = i + 300", "does not fit uint8" },
        { "y = 3x", "column 6" },
        { "i = i - n", "n is -1, which does not fit uint8" },
        { "y = z", "shape (4,) does not go" },
        { "y = z + once", "shape (4, 4) does not go with one of (3,)" },
        { "y = x // x", "there is no // of float32" },
        { "n = x", "no array to write to is called n" },
        { "y = x $ x", "column 7: an operator" },
        { "y = sum(2)", "there is no array" },
        { "y == x", "column 3" },
        { "y = 99999999999999999999", "more than 18 digits" },
        { "y = once", "does not fit an array" },
    };
    int64_t four = 4, three = 3;
    hcy_array *x = empty_of(HCY_FLOAT32, 1, &four), *y = empty_of(HCY_FLOAT32, 1, &four),
              *i = empty_of(HCY_UINT8, 1, &four), *z = empty_of(HCY_FLOAT32, 1, &three), *all = NULL;
    const int64_t square[2] = { 4, 4 };
    st_ok(hcy_array_broadcast(&all, x, 2, square), "an array that is repeated");
    const hcy_operand operands[] = {
        hcy_op_array("x", x), hcy_op_array("y", y),    hcy_op_array("i", i),
        hcy_op_array("z", z), hcy_op_integer("n", -1), hcy_op_array("once", all)
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        int status = hcy_eval(queue, cases[c].text, operands, 6);
        ok(status < 0 && strstr(hcy_last_error()->text, cases[c].words), "\"%s\" is refused", cases[c].text);
        if (status >= 0 || !strstr(hcy_last_error()->text, cases[c].words))
            diag("%d: %s", status, hcy_last_error()->text);
    }
    st_says(HCY_EVAL(queue, "a = x", hcy_op_array("a", all), hcy_op_array("x", x)), HCY_EINVAL,
            "share memory", "nor is what is repeated written");
    st_says(HCY_EVAL(queue, "x = x", hcy_op_array("x", x), hcy_op_array("x", y)), HCY_EINVAL, "two operands",
            "one name");
    char deep[400] = "y = ";
    for (int k = 0; k < 100; k++)
        strcat(deep, "(");
    st_says(hcy_eval(queue, deep, operands, 2), HCY_EINVAL, "within one another", "too many parentheses");
    st_ok(hcy_queue_finish(queue), "none of this made the queue fail");
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_array_release(i);
    hcy_array_release(z);
    hcy_array_release(all);
}

/* A text has as much as halcyon_eval(3) says, and no more. */
static void test_limits(void)
{
    static const struct {
        const char *first, *each, *last, *closes; /* `each` has two numbers, k + 1 and k; `closes` is behind all */
        int most, status;
        const char *words;
    } limits[] = {
        { "", "y = x;", "", "", 16, HCY_EINVAL, "too many statements" },
        { "", "f%d(a) = a;", "y = x", "", 16, HCY_EINVAL, "too many functions" },
        { "v0 = x;", "v%d = v%d;", "y = v63", "", 63, HCY_EINVAL, "too many names" },
        { "y = ", "abs(", "x", ")", 31, HCY_EINVAL, "within one another" },
        { "y = x", "-x", "", "", 127, HCY_EUNSUPPORTED, "more than 256 operations" },
    };
    const int64_t shape = 4;
    const float numbers[4] = { 1, 2, 3, 4 };
    hcy_array *x = array_of(HCY_FLOAT32, 1, &shape, numbers), *y = array_of(HCY_FLOAT32, 1, &shape, numbers);
    const hcy_operand operands[] = { hcy_op_array("x", x), hcy_op_array("y", y) };
    for (size_t l = 0; l < sizeof limits / sizeof limits[0]; l++)
        for (int more = 0; more < 2; more++) {
            char text[1000] = "";
            size_t n = (size_t)snprintf(text, sizeof text, "%s", limits[l].first);
            for (int k = 0; k < limits[l].most + more; k++)
                n += (size_t)snprintf(text + n, sizeof text - n, limits[l].each, k + 1, k);
            n += (size_t)snprintf(text + n, sizeof text - n, "%s", limits[l].last);
            for (int k = 0; k < limits[l].most + more; k++)
                n += (size_t)snprintf(text + n, sizeof text - n, "%s", limits[l].closes);
            const int status = hcy_eval(queue, text, operands, 2);
            if (more)
                st_says(status, limits[l].status, limits[l].words, "one more than %d of %s", limits[l].most, limits[l].each);
            else
                st_ok(status, "%d of %s", limits[l].most, limits[l].each);
        }
    st_ok(hcy_queue_finish(queue), "they are computed");
    hcy_array_release(x);
    hcy_array_release(y);
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    few = argc > 2 && !strcmp(argv[2], "few");
    dev = cts_open();
    queue = cts_queue(dev);
    test_operations();
    static const size_t sizes[] = { 1, 2, 127, 129, 1024, 1025, 60001 };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        test_sums(sizes[i]);
    test_other_reductions();
    test_complex();
    test_half();
    test_scalars();
    test_short_numbers();
    test_powers_of_numbers();
    test_quotients_of_integers();
    test_threads();
    test_overlap();
    test_errors();
    if (!few)
        test_limits();
    /* A driver that still compiles for the last command must not meet the end of the process. */
    (void)!hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
