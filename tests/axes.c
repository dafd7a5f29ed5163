/* axes.c - reductions along axes against plain C: every reduction, type and layout, by the tree of eval_format.h; what
 * is refused.  All of it on one device.
 *
 *     tests/axes [DEVICE [few]]        few: fewer types, where each means a compilation
 */
#include "cts_array.h"

#include <halcyon/eval.h>
#include <math.h>

static hcy_device *dev;
static hcy_queue *queue;
static bool few;

enum { MOST = 1 << 16, RANK = 3 };

/* --- The oracle: numbers as doubles and as integers, rounded to the type where it computes in floats --- */

struct numbers {
    double re[MOST], im[MOST];
    int64_t whole[MOST];
};
static struct numbers all, row; /* an array's elements as they lie; those of one result */
static size_t n_row;
static bool single; /* float32 and complex64 */

static double rounded(double x)
{
    /* A double has more than twice a float's bits: rounding twice is rounding once.  Where two of these stand side by
     * side, gcc 12 at -O2 makes them vectors that keep more bits than a float, which a volatile one has not. */
    volatile float narrow = (float)x;
    return single ? narrow : x;
}

static double tree(const double *x, size_t n)
{
    double pieces[MOST / 1024 + 1], lane[128];
    size_t n_pieces = 0;
    for (size_t at = 0; at < n; at += 1024) {
        size_t size = n - at < 1024 ? n - at : 1024;
        for (size_t i = 0; i < size; i++)
            lane[i % 128] = i < 128 ? x[at + i] : lane[i % 128] + x[at + i];
        for (size_t far = 64; far; far /= 2)
            for (size_t l = 0; l < far && l + far < size; l++)
                lane[l] += lane[l + far];
        pieces[n_pieces++] = lane[0];
    }
    return n_pieces == 0 ? 0 : n_pieces == 1 ? pieces[0] : tree(pieces, n_pieces);
}

struct result {
    double re, im;
    int64_t whole;
};

static struct result find_extreme(bool largest, bool absolute)
{
    struct result r = { row.re[0], 0, 0 };
    for (size_t i = 0; i < n_row; i++) {
        double x = absolute ? fabs(row.re[i]) : row.re[i];
        if (i == 0 || (!isnan(r.re) && (isnan(x) || (largest ? x > r.re : x < r.re))))
            r = (struct result){ x, 0, (int64_t)i };
    }
    return r;
}
static struct result take_min(void)
{
    return find_extreme(false, false);
}
static struct result take_max(void)
{
    return find_extreme(true, false);
}
static struct result take_norminf(void)
{
    return find_extreme(true, true);
}
static struct result take_sum(void)
{
    struct result r = { rounded(tree(row.re, n_row)), rounded(tree(row.im, n_row)), 0 };
    for (size_t i = 0; i < n_row; i++)
        r.whole += row.whole[i];
    return r;
}
static struct result take_prod(void)
{
    /* The same tree: factors whose products are exact need not follow it. */
    uint64_t whole = 1;
    double product = 1;
    for (size_t i = 0; i < n_row; i++) {
        whole *= (uint64_t)row.whole[i];
        product *= row.re[i];
    }
    return (struct result){ rounded(product), 0, (int64_t)whole };
}
static struct result take_mean(void)
{
    struct result r = take_sum();
    return (struct result){ rounded(r.re / rounded((double)n_row)), rounded(r.im / rounded((double)n_row)), 0 };
}
static double square(double re, double im)
{
    return rounded(rounded(re * re) + rounded(im * im));
}
static struct result take_var(void)
{
    struct result mean = take_mean();
    static double squares[MOST];
    for (size_t i = 0; i < n_row; i++)
        squares[i] = square(rounded(row.re[i] - mean.re), rounded(row.im[i] - mean.im));
    return (struct result){ rounded(rounded(tree(squares, n_row)) / rounded((double)n_row)), 0, 0 };
}
static struct result take_std(void)
{
    return (struct result){ rounded(sqrt(take_var().re)), 0, 0 };
}
static struct result take_norm(void)
{
    static double squares[MOST];
    for (size_t i = 0; i < n_row; i++)
        squares[i] = square(row.re[i], row.im[i]);
    return (struct result){ rounded(sqrt(rounded(tree(squares, n_row)))), 0, 0 };
}
static struct result take_norm1(void)
{
    struct result r = { 0 };
    static double sizes[MOST];
    for (size_t i = 0; i < n_row; i++) {
        sizes[i] = fabs(row.re[i]);
        r.whole += llabs(row.whole[i]);
    }
    r.re = rounded(tree(sizes, n_row));
    return r;
}
static struct result take_count(void)
{
    struct result r = { 0 };
    for (size_t i = 0; i < n_row; i++)
        r.whole += row.re[i] != 0 || row.im[i] != 0;
    return r;
}
static struct result take_any(void)
{
    return (struct result){ .whole = take_count().whole != 0 };
}
static struct result take_all(void)
{
    return (struct result){ .whole = take_count().whole == (int64_t)n_row };
}
static struct result take_dot(void)
{
    struct result r = { 0 };
    static double re[MOST], im[MOST];
    for (size_t i = 0; i < n_row; i++) {
        re[i] = rounded(rounded(row.re[i] * row.re[i]) - rounded(row.im[i] * row.im[i]));
        im[i] = rounded(rounded(row.re[i] * row.im[i]) + rounded(row.im[i] * row.re[i]));
        r.whole += row.whole[i] * row.whole[i];
    }
    r.re = rounded(tree(re, n_row));
    r.im = rounded(tree(im, n_row));
    return r;
}
static struct result take_vdot(void)
{
    struct result r = { 0 };
    static double re[MOST], im[MOST];
    for (size_t i = 0; i < n_row; i++) {
        re[i] = rounded(rounded(row.re[i] * row.re[i]) - rounded(-row.im[i] * row.im[i]));
        im[i] = rounded(rounded(row.re[i] * row.im[i]) + rounded(-row.im[i] * row.re[i]));
        r.whole += row.whole[i] * row.whole[i];
    }
    r.re = rounded(tree(re, n_row));
    r.im = rounded(tree(im, n_row));
    return r;
}

/* Of which type the result is, by that of the elements. */
enum kind { SAME, WIDE, REAL, INDEX, TRUTH };
static const struct operation {
    const char *text; /* %s: the axes */
    struct result (*take)(void);
    enum kind kind;
    bool complex_too, wants_some;
} operations[] = {
    { "y = sum(x, %s)", take_sum, WIDE, true, false },
    { "y = prod(x, %s)", take_prod, WIDE, false, false },
    { "y = min(x, %s)", take_min, SAME, false, true },
    { "y = max(x, %s)", take_max, SAME, false, true },
    { "y = argmin(x, %s)", take_min, INDEX, false, true },
    { "y = argmax(x, %s)", take_max, INDEX, false, true },
    { "y = any(x, %s)", take_any, TRUTH, true, false },
    { "y = all(x, %s)", take_all, TRUTH, true, false },
    { "y = count(x, %s)", take_count, INDEX, true, false },
    { "y = mean(x, %s)", take_mean, REAL, true, false },
    { "y = var(x, %s)", take_var, REAL, true, false },
    { "y = std(x, %s)", take_std, REAL, true, false },
    { "y = norm(x, %s)", take_norm, REAL, true, false },
    { "y = norm1(x, %s)", take_norm1, WIDE, false, false },
    { "y = norminf(x, %s)", take_norminf, SAME, false, true },
    { "y = dot(x, x, %s)", take_dot, WIDE, true, false },
    { "y = vdot(x, x, %s)", take_vdot, WIDE, true, false },
};
enum { N_OPERATIONS = sizeof operations / sizeof operations[0] };

static bool is_complex(int dtype)
{
    return dtype >= HCY_COMPLEX64;
}

static int result_type(const struct operation *op, int dtype)
{
    bool is_unsigned = dtype == HCY_UINT8 || dtype == HCY_UINT16 || dtype == HCY_UINT32 || dtype == HCY_UINT64;
    int real = dtype == HCY_FLOAT32 || dtype == HCY_COMPLEX64 ? HCY_FLOAT32 : HCY_FLOAT64;
    switch (op->kind) {
    case WIDE:
        return dtype >= HCY_FLOAT32 ? dtype : is_unsigned ? HCY_UINT64 : HCY_INT64;
    case REAL:
        return op->take == take_mean && is_complex(dtype) ? dtype : real;
    case INDEX:
        return HCY_INT64;
    case TRUTH:
        return HCY_BOOL;
    default:
        return dtype;
    }
}

/* --- Numbers in memory --- */

static void put(void *to, int dtype, size_t i, struct result x)
{
    switch (dtype) {
    case HCY_FLOAT32:
        ((float *)to)[i] = (float)x.re;
        break;
    case HCY_FLOAT64:
        ((double *)to)[i] = x.re;
        break;
    case HCY_COMPLEX64:
        ((float *)to)[2 * i] = (float)x.re;
        ((float *)to)[2 * i + 1] = (float)x.im;
        break;
    case HCY_COMPLEX128:
        ((double *)to)[2 * i] = x.re;
        ((double *)to)[2 * i + 1] = x.im;
        break;
    default:
        /* Little-endian machines alone run this. */
        memcpy((char *)to + i * hcy_dtype_size(dtype), &x.whole, hcy_dtype_size(dtype));
    }
}

/* Small numbers, whose products are exact too; some floats are none. */
static void fill(void *data, int dtype, size_t n, bool odd)
{
    uint64_t seed = 11;
    bool is_float = dtype >= HCY_FLOAT32, has_sign = dtype != HCY_BOOL && dtype != HCY_UINT8 && dtype != HCY_UINT16 &&
                                                     dtype != HCY_UINT32 && dtype != HCY_UINT64;
    for (size_t i = 0; i < n; i++) {
        uint64_t r = cts_random(&seed) >> 20;
        struct result x = { 0 };
        x.whole = dtype == HCY_BOOL ? (int64_t)(r & 1) : (int64_t)(r % 12) - (has_sign ? 4 : 0);
        x.re = is_float ? (double)(r % 1000003) / 1024 - 300 : (double)x.whole;
        if (is_float)
            x.re = (float)x.re;
        if (is_float && odd && r % 97 == 0)
            x.re = r % 2 ? NAN : INFINITY;
        if (is_complex(dtype))
            x.im = (float)((double)(r >> 20 & 0xffff) / 7 - 4000);
        put(data, dtype, i, x);
        all.re[i] = x.re;
        all.im[i] = x.im;
        all.whole[i] = x.whole;
    }
}

/* --- One reduction of one view --- */

static const struct axes {
    const char *text;
    unsigned gone;
    bool keep;
} axes_of[] = {
    { "axis=0", 1, false },
    { "axis=1", 2, false },
    { "axis=-1", 4, false },
    { "axis=(0, 2)", 5, false },
    { "axis=(-1, 1), keepdims=True", 6, true },
    { "axis=(0, 1, 2)", 7, false },
    { "keepdims=True, axis=0", 1, true },
};
enum { N_AXES = sizeof axes_of / sizeof axes_of[0] };

static int64_t result_shape(int64_t *shape, int *rank, const hcy_array_info *x, const struct axes *axes)
{
    int64_t n = 1;
    *rank = 0;
    for (int d = 0; d < RANK; d++) {
        bool gone = axes->gone >> d & 1u;
        if (!gone)
            n *= x->shape[d];
        if (!gone || axes->keep)
            shape[(*rank)++] = gone ? 1 : x->shape[d];
    }
    return n;
}

/* The elements of result k, in C order. */
static void gather(const hcy_array_info *x, const struct axes *axes, int64_t k)
{
    int64_t at[RANK] = { 0 };
    for (int d = RANK; d-- > 0;)
        if (!(axes->gone >> d & 1u)) {
            at[d] = k % x->shape[d];
            k /= x->shape[d];
        }
    n_row = 0;
    for (;;) {
        int64_t place = x->offset;
        int d = RANK;
        for (int e = 0; e < RANK; e++)
            place += at[e] * x->strides[e];
        row.re[n_row] = all.re[place];
        row.im[n_row] = all.im[place];
        row.whole[n_row++] = all.whole[place];
        while (d-- > 0) {
            if (!(axes->gone >> d & 1u))
                continue;
            if (++at[d] < x->shape[d])
                break;
            at[d] = 0;
        }
        if (d < 0)
            return;
    }
}

static bool same_number(const void *got, const void *want, int dtype, size_t i)
{
    size_t size = hcy_dtype_size(dtype), part = is_complex(dtype) ? size / 2 : size;
    for (size_t at = i * size; at < (i + 1) * size; at += part) {
        const char *a = (const char *)got + at, *b = (const char *)want + at;
        double x = dtype == HCY_FLOAT32 || dtype == HCY_COMPLEX64 ? *(const float *)b : 0;
        if (dtype == HCY_FLOAT64 || dtype == HCY_COMPLEX128)
            x = *(const double *)b;
        static const uint32_t quiet = 0x7fc00000u;
        static const uint64_t quiet_double = 0x7ff8000000000000u;
        if (isnan(x) ? memcmp(a, part == 4 ? (const void *)&quiet : &quiet_double, part) : memcmp(a, b, part))
            return false;
    }
    return true;
}

/* For people: of a complex number the real part. */
static double number_at(const void *x, int dtype, size_t i)
{
    if (dtype >= HCY_FLOAT32) {
        i *= is_complex(dtype) ? 2 : 1;
        return dtype == HCY_FLOAT32 || dtype == HCY_COMPLEX64 ? ((const float *)x)[i] : ((const double *)x)[i];
    }
    int64_t whole = 0;
    memcpy(&whole, (const char *)x + i * hcy_dtype_size(dtype), hcy_dtype_size(dtype));
    return (double)whole;
}

/* How many results are wrong; -1: there are none. */
static int64_t reduce_view(hcy_array *x, const struct operation *op, const struct axes *axes)
{
    static double want[2 * MOST], got[2 * MOST];
    hcy_array_info view = info_of(x);
    hcy_array *y = NULL;
    int64_t shape[RANK], wrong = 0;
    int rank = 0, type = result_type(op, view.dtype);
    char text[100];
    int64_t n = result_shape(shape, &rank, &view, axes);
    snprintf(text, sizeof text, op->text, axes->text);
    single = view.dtype == HCY_FLOAT32 || view.dtype == HCY_COMPLEX64;
    for (int64_t k = 0; k < n; k++) {
        n_row = 0;
        if (view.count)
            gather(&view, axes, k);
        struct result r = op->take();
        /* Of a smallest or largest the oracle says where it is. */
        if (op->kind == SAME)
            r.whole = (int64_t)r.re;
        put(want, type, (size_t)k, r);
    }
    if (hcy_array_empty(&y, dev, type, rank, shape) ||
        hcy_eval(queue, text, (hcy_operand[]){ hcy_op_array("x", x), hcy_op_array("y", y) }, 2) ||
        hcy_array_to_host(got, queue, y)) {
        diag("%s of %s: %s", text, hcy_dtype_name(view.dtype), hcy_last_error()->text);
        hcy_array_release(y);
        return -1;
    }
    for (int64_t k = 0; k < n; k++)
        if (!same_number(got, want, type, (size_t)k) && !wrong++)
            diag("%s of %s, number %lld: %.17g is not %.17g", text, hcy_dtype_name(view.dtype), (long long)k,
                 number_at(got, type, (size_t)k), number_at(want, type, (size_t)k));
    hcy_array_release(y);
    return wrong;
}

/* --- Layouts --- */

static const struct layout {
    const char *what;
    int64_t shape[RANK]; /* of the array that is made, */
    const char *slice;   /* of the view of it, */
    int repeat;          /* which is repeated along its first axis */
    bool odd;            /* with numbers that are none */
} layouts[] = {
    { "contiguous", { 5, 6, 131 }, ":", 0, true },
    { "with gaps", { 6, 13, 40 }, "1::2, ::3, 2::5", 0, false },
    { "backwards", { 4, 5, 33 }, "::-1, :, ::-2", 0, false },
    { "repeated", { 1, 4, 9 }, ":", 7, false },
    { "none", { 3, 0, 5 }, ":", 0, false },
    { "one element", { 2, 2, 2 }, "1:, :1, 1:", 0, false },
};
enum { N_LAYOUTS = sizeof layouts / sizeof layouts[0] };

static hcy_array *make_view(const struct layout *l, int dtype)
{
    static double data[2 * MOST];
    hcy_array *whole = NULL, *view = NULL, *repeated = NULL;
    fill(data, dtype, (size_t)(l->shape[0] * l->shape[1] * l->shape[2]), l->odd);
    if (hcy_array_from_host(&whole, dev, dtype, RANK, l->shape, data) || hcy_array_slice(&view, whole, "%s", l->slice))
        bail_out("no array: %s", hcy_last_error()->text);
    hcy_array_release(whole);
    if (!l->repeat)
        return view;
    const int64_t shape[RANK] = { l->repeat, l->shape[1], l->shape[2] };
    if (hcy_array_broadcast(&repeated, view, RANK, shape))
        bail_out("no array: %s", hcy_last_error()->text);
    hcy_array_release(view);
    return repeated;
}

static void test_type(int dtype)
{
    int64_t wrong = 0, asked = 0;
    for (size_t l = 0; l < N_LAYOUTS; l++) {
        hcy_array *x = make_view(&layouts[l], dtype);
        for (size_t o = 0; o < N_OPERATIONS; o++)
            for (size_t a = 0; a < N_AXES; a++) {
                bool refused = is_complex(dtype) && !operations[o].complex_too;
                /* There is no smallest of nothing; along other axes there are no results. */
                refused = refused || (operations[o].wants_some && !info_of(x).count && axes_of[a].gone & 2u);
                /* Products of many floats would not be exact. */
                refused = refused || (operations[o].take == take_prod && dtype >= HCY_FLOAT32 && l != 5);
                refused = refused || (few && (l != 1 || o % N_AXES != a));
                if (refused)
                    continue;
                wrong += reduce_view(x, &operations[o], &axes_of[a]) != 0;
                asked++;
            }
        hcy_array_release(x);
    }
    ok(asked && !wrong, "%s: %lld reductions, %lld wrong", hcy_dtype_name(dtype), (long long)asked,
       (long long)wrong);
}

/* Spans of several pieces, and of a piece and a bit. */
static void test_long(void)
{
    static const struct layout lengths[] = {
        { "rows", { 2, 3, 5000 }, ":", 0, false },   { "columns", { 5000, 2, 3 }, ":", 0, false },
        { "a piece", { 1, 31, 1024 }, ":", 0, false }, { "and one", { 1, 31, 1025 }, ":", 0, false },
        { "half", { 1, 62, 512 }, ":", 0, false },     { "over half", { 1, 62, 513 }, ":", 0, false },
        { "lanes", { 1, 250, 128 }, ":", 0, false },   { "and a lane", { 1, 250, 129 }, ":", 0, false },
        { "short", { 1, 9000, 3 }, ":", 0, false },    { "single", { 1, 9000, 1 }, ":", 0, false },
        /* Spans beside one another: some of a row, of several rows, in two pieces and in more than one register. */
        { "side by side", { 900, 1, 36 }, ":", 0, false }, { "in slices", { 2, 403, 40 }, ":", 0, false },
        { "few rows", { 31, 1, 131 }, ":", 0, false }, { "some rows", { 100, 1, 40 }, ":", 0, false },
        { "and a row", { 1025, 1, 63 }, ":, :, ::-1", 0, false }, { "wide", { 3, 5, 2101 }, ":", 0, false },
    };
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        hcy_array *x = make_view(&lengths[i], HCY_FLOAT32);
        int64_t wrong = 0;
        for (size_t a = 0; a < N_AXES; a++)
            if (!few)
                wrong += reduce_view(x, &operations[0], &axes_of[a]) + reduce_view(x, &operations[4], &axes_of[a]);
            else if (a == 0 || a == 2)
                wrong += reduce_view(x, &operations[0], &axes_of[a]);
        is_int(wrong, 0, "long and short spans: %s", lengths[i].what);
        hcy_array_release(x);
    }
}

/* Results of reductions within expressions, and of reductions of these. */
static void test_expressions(void)
{
    enum { ROWS = 37, COLUMNS = 1100 };
    static float x[ROWS * COLUMNS], y[ROWS * COLUMNS];
    const int64_t shape[2] = { ROWS, COLUMNS };
    hcy_array *a = NULL, *v = NULL, *c = NULL;
    size_t wrong = 0;
    float largest = 0, got = 0, v_want[ROWS], v_got[ROWS];
    static double products[COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (float)(i * 7919 % 10007) / 64;
    st_ok(hcy_array_from_host(&a, dev, HCY_FLOAT32, 2, shape, x), "a matrix");
    st_ok(hcy_array_empty(&v, dev, HCY_FLOAT32, 1, shape), "a vector");
    st_ok(hcy_array_from_host(&c, dev, HCY_FLOAT32, 1, shape + 1, x), "another one");
    st_ok(HCY_EVAL(queue, "v = 2*dot(a, c, axis=-1) + index; a = a - max(a, axis=1, keepdims=True)",
                   hcy_op_array("v", v), hcy_op_array("a", a), hcy_op_array("c", c)),
          "products with a vector, and rows less their largest");
    st_ok(hcy_array_to_host(v_got, queue, v), "are read");
    st_ok(hcy_array_to_host(y, queue, a), "both");
    single = true;
    for (int r = 0; r < ROWS; r++) {
        float most = 0;
        for (int k = 0; k < COLUMNS; k++) {
            products[k] = x[r * COLUMNS + k] * x[k];
            most = fmaxf(most, x[r * COLUMNS + k]);
        }
        v_want[r] = 2 * (float)tree(products, COLUMNS) + (float)r;
        for (int k = 0; k < COLUMNS; k++)
            wrong += y[r * COLUMNS + k] != x[r * COLUMNS + k] - most;
        largest = fmaxf(largest, v_want[r]);
    }
    ok(!memcmp(v_got, v_want, sizeof v_got), "and right");
    is_int((intmax_t)wrong, 0, "both");
    hcy_array *s = NULL;
    st_ok(hcy_array_empty(&s, dev, HCY_FLOAT32, 0, NULL), "a number");
    st_ok(HCY_EVAL(queue, "s = max(v) + 0*sum(max(a, axis=0))", hcy_op_array("s", s), hcy_op_array("v", v),
                   hcy_op_array("a", a)),
          "a reduction of a reduction");
    st_ok(hcy_array_to_host(&got, queue, s), "is read");
    ok(got == largest, "and is right");
    /* Of 0 to 3 again and again all that is added up is exact. */
    st_ok(HCY_EVAL(queue,
                   "c = index % 4; s = var(c) + var(2*c) + var(c + 1) + var(-c) + var(c - 2) + var(4*c) + var(c > 1)",
                   hcy_op_array("s", s), hcy_op_array("c", c)),
          "as many variances as a text has room for");
    st_ok(hcy_array_to_host(&got, queue, s), "are read");
    ok(got == 30.25f, "and right: %g", (double)got);
    hcy_array_release(a);
    hcy_array_release(c);
    hcy_array_release(v);
    hcy_array_release(s);
}

/* More than 1024 pieces, so that their numbers are of several pieces too. */
static void test_many_pieces(void)
{
    const int64_t shape[2] = { 2, (1 << 20) + 5 }, two = 2;
    hcy_array *x = NULL, *y = NULL;
    double got[2], want[2] = { 0, 0 };
    st_ok(hcy_array_empty(&x, dev, HCY_FLOAT64, 2, shape), "two long rows");
    st_ok(hcy_array_empty(&y, dev, HCY_FLOAT64, 1, &two), "two numbers");
    st_ok(HCY_EVAL(queue, "x = index % 7; y = sum(x, axis=1)", hcy_op_array("x", x), hcy_op_array("y", y)),
          "which the rows add up to");
    st_ok(hcy_array_to_host(got, queue, y), "are read");
    for (int64_t i = 0; i < 2 * shape[1]; i++)
        want[i / shape[1]] += (double)(i % 7);
    ok(got[0] == want[0] && got[1] == want[1], "and right: %.17g, %.17g", got[0], got[1]);
    hcy_array_release(x);
    hcy_array_release(y);
}

static void test_refusals(void)
{
    static const struct {
        const char *text, *words;
        int status;
    } cases[] = {
        { "y = sum(x, axis=2)", "axis 2 is not in an array of 2 axes", HCY_EINVAL },
        { "y = sum(x, axis=-3)", "axis -3 is not in", HCY_EINVAL },
        { "y = sum(x, axis=(0, -2))", "axis -2 stands twice", HCY_EINVAL },
        { "y = sum(x, axis=y)", "column 17: the number of an axis", HCY_EINVAL },
        { "y = sum(x, axis=10)", "the number of an axis", HCY_EINVAL },
        { "y = sum(x, axis=(0, 1)", "closing parenthesis is wanted after the arguments", HCY_EINVAL },
        { "y = sum(x, axis=(0, 1", "closing parenthesis is wanted after the axes", HCY_EINVAL },
        { "y = sum(x, axis=(0,0,0,0,0,0,0,0,0))", "the number of an axis", HCY_EINVAL },
        { "y = sum(x, keepdims=True)", "keepdims= wants axis=", HCY_EINVAL },
        { "y = sum(x, axis=0, keepdims=1)", "True or False", HCY_EINVAL },
        { "y = sqrt(x, axis=0)", "there is no axis= of sqrt", HCY_EINVAL },
        { "y = min(x, x, axis=0)", "of min", HCY_EINVAL },
        { "y = sum(axis=0)", "nothing is called axis", HCY_EINVAL },
        { "y = sum(x, axis=0)", "shape (3,) does not go with one of (4,)", HCY_EINVAL },
        { "y = sum(index*x, axis=0)", "`index` is not to be had", HCY_EUNSUPPORTED },
        { "y = max(none, axis=0)", "no smallest or largest", HCY_EINVAL },
        { "y = sum(x, axis=0, axis=1)", "column 20: this argument stands twice", HCY_EINVAL },
        { "y = sum(x, axis=0, keepdims=True, keepdims=False)", "column 35: this argument stands twice", HCY_EINVAL },
        { "y = cumsum(x, exclusive=False, exclusive=False)", "column 32: this argument stands twice", HCY_EINVAL },
        { "y = min(x, axis=0,  y)", "column 21: an argument without a name behind one with a name", HCY_EINVAL },
        { "y = where(x, axis=0, x, x)", "column 22: an argument without a name", HCY_EINVAL },
    };
    const int64_t shape[2] = { 3, 4 }, nothing[2] = { 0, 3 };
    hcy_array *x = NULL, *y = NULL, *none = NULL;
    st_ok(hcy_array_full(&x, queue, HCY_FLOAT32, 2, shape, 1), "an array");
    st_ok(hcy_array_full(&y, queue, HCY_FLOAT32, 1, shape, 1), "one of its rows' number");
    st_ok(hcy_array_empty(&none, dev, HCY_FLOAT32, 2, nothing), "none");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        st_says(HCY_EVAL(queue, cases[i].text, hcy_op_array("x", x), hcy_op_array("y", y),
                         hcy_op_array("none", none)),
                cases[i].status, cases[i].words, "\"%s\" is refused", cases[i].text);
    st_ok(HCY_EVAL(queue, "y = sum(index*x, axis=1)", hcy_op_array("x", x), hcy_op_array("y", y)),
          "along the last axis elements have their numbers");
    float got[3];
    st_ok(hcy_array_to_host(got, queue, y), "it is read");
    ok(got[0] == 6 && got[1] == 22 && got[2] == 38, "and right");
    const int64_t tall[2] = { (int64_t)1 << 32, 1 }, wide[2] = { 1, (int64_t)1 << 32 }, one[2] = { 1, 1 };
    hcy_array *single_one = NULL, *a = NULL, *b = NULL;
    st_ok(hcy_array_full(&single_one, queue, HCY_FLOAT32, 2, one, 1), "a number");
    st_ok(hcy_array_broadcast(&a, single_one, 2, tall), "repeated 2^32 times");
    st_ok(hcy_array_broadcast(&b, single_one, 2, wide), "either way");
    st_says(HCY_EVAL(queue, "y = sum(a*b, axis=0)", hcy_op_array("y", y), hcy_op_array("a", a), hcy_op_array("b", b)),
            HCY_ERANGE, "larger than can be addressed", "2^64 elements");
    hcy_array_release(single_one);
    hcy_array_release(a);
    hcy_array_release(b);
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_array_release(none);
}

/* A result that is stored as it is is written by the reduction itself, but not where it is read: in the first and in
 * the last of what is added up, beside it, in columns of a larger array, and as another type. */
static void test_own_memory(void)
{
    enum { ROWS = 40, COLUMNS = 37, N = ROWS * COLUMNS };
    static const char *const places[] = { "0, :", "39, :", "40, :", ":37, 3" };
    hcy_array *a = NULL, *inner = NULL, *to = NULL, *narrow = NULL;
    double got[(ROWS + 1) * COLUMNS], sums[COLUMNS];
    float few_bits[COLUMNS];
    int wrong = 0, status = 0;
    for (int i = 0; i < COLUMNS; i++)
        sums[i] = ROWS * i + COLUMNS * (ROWS * (ROWS - 1) / 2);
    for (size_t k = 0; k < sizeof places / sizeof places[0]; k++) {
        status = cts_first(status, hcy_array_full(&a, queue, HCY_FLOAT64, 2, (int64_t[]){ ROWS + 1, COLUMNS }, 0));
        status = cts_first(status, HCY_EVAL(queue, "a = index", hcy_op_array("a", a)));
        status = cts_first(status, hcy_array_slice(&inner, a, ":40, :"));
        status = cts_first(status, hcy_array_slice(&to, a, "%s", places[k]));
        status = cts_first(status, HCY_EVAL(queue, "s = sum(x, axis=0)", hcy_op_array("s", to),
                                            hcy_op_array("x", inner)));
        status = cts_first(status, hcy_array_to_host(got, queue, to));
        wrong += status || memcmp(got, sums, sizeof sums) != 0;
        /* The others stay what they are. */
        status = cts_first(status, hcy_array_to_host(got, queue, a));
        for (int i = 0; i < (ROWS + 1) * COLUMNS; i++) {
            const int row = i / COLUMNS, column = i % COLUMNS;
            const bool is_target = k == 3 ? row < 37 && column == 3 : row == (k ? ROWS - 2 + (int)k : 0);
            wrong += !is_target && got[i] != i;
        }
        hcy_array_release(to);
        hcy_array_release(inner);
        hcy_array_release(a);
    }
    st_ok(status, "sums into the memory of what is added up");
    is_int(wrong, 0, "... are right, and leave the rest alone");
    status = hcy_array_full(&a, queue, HCY_FLOAT64, 2, (int64_t[]){ ROWS, COLUMNS }, 0.1);
    status = cts_first(status, hcy_array_full(&narrow, queue, HCY_FLOAT32, 1, (int64_t[]){ COLUMNS }, 0));
    status = cts_first(status, HCY_EVAL(queue, "s = sum(x, axis=0)", hcy_op_array("s", narrow), hcy_op_array("x", a)));
    status = cts_first(status, hcy_array_to_host(few_bits, queue, narrow));
    ok(!status && fabs((double)few_bits[0] - 4) < 1e-6 && few_bits[36] == few_bits[0], "and as floats");
    hcy_array_release(narrow);
    hcy_array_release(a);
}

int main(int argc, char **argv)
{
    static const int types[] = { HCY_FLOAT32, HCY_INT32,  HCY_COMPLEX64, HCY_BOOL,   HCY_INT8,   HCY_UINT8,
                                 HCY_INT16,   HCY_UINT16, HCY_UINT32,    HCY_INT64, HCY_UINT64, HCY_FLOAT64,
                                 HCY_COMPLEX128 };
    cts_begin(argc, argv);
    few = argc > 2 && !strcmp(argv[2], "few");
    dev = cts_open();
    queue = cts_queue(dev);
    for (size_t i = 0; i < (few ? 1 : sizeof types / sizeof types[0]); i++)
        test_type(types[i]);
    test_long();
    test_expressions();
    test_many_pieces();
    test_own_memory();
    test_refusals();
    /* A driver that still compiles for the last command must not meet the end of the process. */
    (void)!hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
