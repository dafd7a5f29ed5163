/* scans.c - scans against plain C: every function, type, layout and axis, inclusive and exclusive, by the rule of
 * eval_format.h; what is refused.  All of it on one device.
 *
 *     tests/scans [DEVICE [few]]        few: fewer types, where each means a compilation
 */
#include "cts_array.h"

#include <halcyon/eval.h>
#include <math.h>

static hcy_device *dev;
static hcy_queue *queue;
static bool few;

enum { MOST = 1 << 15, PIECE = 1024, RUN = 8, RANK = 3 };

/* --- The oracle: one function, on a span as doubles or as integers --- */

enum function { SUM, PROD, MIN, MAX };
static const char *const names[] = { "cumsum", "cumprod", "cummin", "cummax" };

struct number {
    double real;
    int64_t whole;
};
static bool wraps_unsigned;

static struct number join(enum function f, struct number a, struct number b)
{
    bool less = wraps_unsigned ? (uint64_t)a.whole < (uint64_t)b.whole : a.whole < b.whole;
    switch (f) {
    case SUM:
        return (struct number){ a.real + b.real, (int64_t)((uint64_t)a.whole + (uint64_t)b.whole) };
    case PROD:
        return (struct number){ a.real * b.real, (int64_t)((uint64_t)a.whole * (uint64_t)b.whole) };
    case MIN:
        return (struct number){ isnan(a.real) || a.real < b.real ? a.real : b.real, less ? a.whole : b.whole };
    default:
        return (struct number){ isnan(a.real) || a.real > b.real ? a.real : b.real, less ? b.whole : a.whole };
    }
}

/* A piece's number of a reduction: the carries are made of these. */
static struct number reduce_piece(enum function f, const struct number *x, size_t n)
{
    struct number lane[128];
    for (size_t i = 0; i < n; i++)
        lane[i % 128] = i < 128 ? x[i] : join(f, lane[i % 128], x[i]);
    for (size_t far = 64; far; far /= 2)
        for (size_t l = 0; l < far && l + far < n; l++)
            lane[l] = join(f, lane[l], lane[l + far]);
    return lane[0];
}

static void scan_span(struct number *to, enum function f, const struct number *x, size_t n, const struct number *first)
{
    struct number totals[MOST / PIECE + 1], carries[MOST / PIECE + 1];
    size_t pieces = 0;
    for (size_t at = 0; at < n; at += PIECE)
        totals[pieces++] = reduce_piece(f, x + at, n - at < PIECE ? n - at : PIECE);
    /* What the first carry is does not matter: nothing reads it. */
    if (pieces > 1)
        scan_span(carries, f, totals, pieces, &totals[0]);
    for (size_t p = 0; p < pieces; p++) {
        struct number own[PIECE], run[PIECE / RUN], before[PIECE / RUN];
        size_t begin = p * PIECE, size = n - begin < PIECE ? n - begin : PIECE, runs = (size - 1) / RUN + 1;
        for (size_t i = 0; i < size; i++) {
            own[i] = i % RUN ? join(f, own[i - 1], x[begin + i]) : x[begin + i];
            run[i / RUN] = own[i];
        }
        for (size_t w = 1; w < runs; w *= 2) {
            memcpy(before, run, sizeof run);
            for (size_t r = w; r < runs; r++)
                run[r] = join(f, before[r - w], before[r]);
        }
        for (size_t i = 0; i < size; i++) {
            struct number y = own[i];
            bool none = false;
            if (first && i % RUN == 0) {
                none = i == 0;
                y = none ? *first : run[i / RUN - 1];
            } else if (i / RUN)
                y = join(f, run[i / RUN - 1], own[first ? i - 1 : i]);
            else if (first)
                y = own[i - 1];
            if (p)
                y = none ? carries[p] : join(f, carries[p], y);
            to[begin + i] = y;
        }
    }
}

/* --- Numbers in memory --- */

static bool is_float(int dtype)
{
    return dtype >= HCY_FLOAT32;
}
static bool is_unsigned(int dtype)
{
    return dtype == HCY_UINT8 || dtype == HCY_UINT16 || dtype == HCY_UINT32 || dtype == HCY_UINT64;
}

static void put(void *to, int dtype, size_t i, struct number x)
{
    if (dtype == HCY_FLOAT32) {
        float narrow = (float)x.real;
        memcpy((char *)to + 4 * i, &narrow, 4);
    } else if (dtype == HCY_FLOAT64)
        memcpy((char *)to + 8 * i, &x.real, 8);
    else
        memcpy((char *)to + i * hcy_dtype_size(dtype), &x.whole, hcy_dtype_size(dtype));
}

static struct number all[MOST]; /* as they lie */

static void fill(void *data, int dtype, size_t n, enum function f)
{
    uint64_t seed = 5;
    for (size_t i = 0; i < n; i++) {
        uint64_t r = cts_random(&seed) >> 16;
        int64_t whole = dtype == HCY_BOOL ? (int64_t)(r & 1) : (int64_t)(r % 100) - (is_unsigned(dtype) ? 0 : 50);
        /* Products near 1, of which many are still numbers. */
        double real = f == PROD ? 1 + ((double)(r % 2001) - 1000) * 1e-5 : (double)(r % 2000003) / 512 - 1900;
        all[i] = (struct number){ is_float(dtype) ? (float)real : 0, whole };
        if (f == MIN && i == n - 1)
            all[i].real = NAN;
        put(data, dtype, i, all[i]);
    }
}

static int result_type(enum function f, int dtype)
{
    if (f == MIN || f == MAX || is_float(dtype))
        return dtype;
    return is_unsigned(dtype) ? HCY_UINT64 : HCY_INT64;
}

/* What nothing joins to. */
static struct number begin_of(enum function f, int dtype)
{
    int64_t most = dtype == HCY_BOOL     ? 1
                   : is_unsigned(dtype) ? (int64_t)(UINT64_MAX >> (64 - 8 * hcy_dtype_size(dtype)))
                                        : INT64_MAX >> (64 - 8 * hcy_dtype_size(dtype)),
            least = dtype == HCY_BOOL || is_unsigned(dtype) ? 0 : -most - 1;
    const struct number begins[] = { { 0, 0 }, { 1, 1 }, { INFINITY, most }, { -INFINITY, least } };
    return begins[f];
}

/* --- One scan of one view --- */

static const struct layout {
    const char *what;
    int64_t shape[RANK];
    const char *slice;
} layouts[] = {
    { "contiguous", { 5, 7, 41 }, ":" },         { "with gaps", { 6, 13, 40 }, "1::2, ::3, 2::5" },
    { "backwards", { 4, 5, 33 }, "::-1, :, ::-2" }, { "none", { 3, 0, 5 }, ":" },
    { "one element", { 2, 2, 2 }, "1:, :1, 1:" },   { "rows", { 2, 3, 5000 }, ":" },
    { "columns", { 5000, 2, 3 }, ":" },            { "long", { 1, 1, 30000 }, ":" },
    { "a piece", { 1, 30, 1024 }, ":" },           { "half", { 1, 30, 513 }, ":" },
};
enum { N_LAYOUTS = sizeof layouts / sizeof layouts[0] };

/* What the scan along these axes (bits) makes, in C order of the view. */
static void compute_want(void *want, const hcy_array_info *x, enum function f, unsigned axes, bool exclusive)
{
    static struct number span[MOST], scanned[MOST];
    static int64_t places[MOST];
    struct number first = begin_of(f, x->dtype);
    int64_t outer = 1, inner = 1;
    for (int d = 0; d < RANK; d++)
        *(axes >> d & 1u ? &inner : &outer) *= x->shape[d];
    for (int64_t o = 0; o < outer; o++) {
        for (int64_t i = 0; i < inner; i++) {
            int64_t left[2] = { o, i }, at = x->offset, place = 0, step = 1;
            for (int d = RANK; d-- > 0; step *= x->shape[d]) {
                int64_t *rest = &left[axes >> d & 1u], index = *rest % x->shape[d];
                *rest /= x->shape[d];
                at += index * x->strides[d];
                place += index * step;
            }
            span[i] = all[at];
            places[i] = place;
        }
        scan_span(scanned, f, span, (size_t)inner, exclusive ? &first : NULL);
        for (int64_t i = 0; i < inner; i++)
            put(want, result_type(f, x->dtype), (size_t)places[i], scanned[i]);
    }
}

static bool scan_view(hcy_array *x, enum function f, int axis, bool exclusive, bool within)
{
    static double want[MOST], got[MOST];
    hcy_array_info view = info_of(x);
    hcy_array *y = NULL;
    int type = result_type(f, view.dtype);
    char text[100], where[20];
    unsigned axes = axis < 0 ? 7u : 1u << axis;
    snprintf(where, sizeof where, ", axis=%d", axis);
    if (axis < 0)
        *where = 0;
    /* Within an expression it has room of its own, else it writes to the array. */
    snprintf(text, sizeof text, "y = %s%s(x%s%s)%s", within ? "(" : "", names[f], where,
             exclusive ? ", exclusive=True" : "", within ? ") * 1" : "");
    wraps_unsigned = is_unsigned(view.dtype) || view.dtype == HCY_BOOL;
    if (view.count)
        compute_want(want, &view, f, axes, exclusive);
    int status = hcy_array_empty(&y, dev, type, RANK, view.shape);
    if (!status)
        status = HCY_EVAL(queue, text, hcy_op_array("x", x), hcy_op_array("y", y));
    if (!status)
        status = hcy_array_to_host(got, queue, y);
    if (status)
        diag("%s of %s: %s", text, hcy_dtype_name(view.dtype), hcy_last_error()->text);
    size_t size = hcy_dtype_size(type), wrong = 0;
    for (size_t i = 0; !status && i < (size_t)view.count; i++) {
        const char *a = (const char *)got + i * size, *b = (const char *)want + i * size;
        double real = 0, other = 0;
        if (is_float(type)) {
            real = type == HCY_FLOAT32 ? *(const float *)a : *(const double *)a;
            other = type == HCY_FLOAT32 ? *(const float *)b : *(const double *)b;
        }
        bool right = isnan(other) ? isnan(real) : !memcmp(a, b, size);
        if (!right && !wrong++)
            diag("%s of %s: number %zu is not the oracle's", text, hcy_dtype_name(view.dtype), i);
    }
    hcy_array_release(y);
    return !status && !wrong;
}

static void test_type(int dtype)
{
    static double data[MOST];
    size_t asked = 0, wrong = 0;
    for (size_t l = 0; l < N_LAYOUTS; l++)
        for (int f = SUM; f <= MAX; f++) {
            hcy_array *whole = NULL, *x = NULL;
            const int64_t *s = layouts[l].shape;
            fill(data, dtype, (size_t)(s[0] * s[1] * s[2]), f);
            if (hcy_array_from_host(&whole, dev, dtype, RANK, s, data) ||
                hcy_array_slice(&x, whole, "%s", layouts[l].slice))
                bail_out("no array: %s", hcy_last_error()->text);
            for (int axis = -1; axis < RANK; axis++)
                for (int form = 0; form < 4; form++) {
                    bool within = form & 2 && dtype != HCY_BOOL;
                    /* Types differ in what is computed, which every form shows; axes differ alike for all of them. */
                    if (dtype != HCY_FLOAT32 && dtype != HCY_INT32 && axis >= 0 && axis != (int)l % RANK)
                        continue;
                    if (few && (f % 3 || (axis & 1) || form != f || (l != 1 && l != 5 && l != 6 && l != 9)))
                        continue;
                    wrong += !scan_view(x, f, axis, form & 1, within);
                    asked++;
                }
            hcy_array_release(x);
            hcy_array_release(whole);
        }
    ok(asked && !wrong, "%s: %zu scans, %zu wrong", hcy_dtype_name(dtype), asked, wrong);
}

/* --- What an expression is around it --- */

static void test_expressions(void)
{
    enum { N = 3000 };
    static float x[N], y[N];
    static struct number real[N], imag[N], want_re[N], want_im[N];
    static float z[2 * N];
    const int64_t n = N;
    size_t wrong = 0;
    uint64_t seed = 3;
    hcy_array *a = NULL, *back = NULL, *c = NULL, *part = NULL;
    for (int i = 0; i < N; i++) {
        x[i] = (float)(cts_random(&seed) % 1000);
        real[i].real = z[2 * i] = (float)(cts_random(&seed) >> 44) / 3;
        imag[i].real = z[2 * i + 1] = (float)(cts_random(&seed) >> 44) / 7;
    }
    st_ok(hcy_array_from_host(&a, dev, HCY_FLOAT32, 1, &n, x), "an array");
    st_ok(hcy_array_from_host(&c, dev, HCY_COMPLEX64, 1, &n, z), "a complex one");
    st_ok(hcy_array_slice(&back, a, "::-1"), "its end first");
    /* In place, and over what is still read: the largest on either side. */
    st_ok(HCY_EVAL(queue, "a = cummax(b)", hcy_op_array("a", a), hcy_op_array("b", back)),
          "a scan that overlaps what it reads");
    st_ok(hcy_array_to_host(y, queue, a), "is read");
    for (int i = 0; i < N; i++) {
        float most = 0;
        for (int k = 0; k <= i; k++)
            most = fmaxf(most, x[N - 1 - k]);
        wrong += y[i] != most;
    }
    is_int((intmax_t)wrong, 0, "as if all was read first");
    st_ok(HCY_EVAL(queue,
                   "c = cumsum(c, exclusive=True); a = cumsum(cumsum(where(index < 2000, 1, 0)*float32(a == a)))",
                   hcy_op_array("a", a), hcy_op_array("c", c)),
          "complex numbers in place, and a scan of a scan");
    st_ok(hcy_array_to_host(z, queue, c), "are read");
    st_ok(hcy_array_to_host(y, queue, a), "both");
    const struct number zero = { 0, 0 };
    scan_span(want_re, SUM, real, N, &zero);
    scan_span(want_im, SUM, imag, N, &zero);
    wrong = 0;
    for (int i = 0; i < N; i++) {
        double k = i < 2000 ? i + 1 : 2000;
        wrong += z[2 * i] != (float)want_re[i].real || z[2 * i + 1] != (float)want_im[i].real;
        wrong += y[i] != (float)(k * (k + 1) / 2 + 2000.0 * (i + 1 - k));
    }
    is_int((intmax_t)wrong, 0, "and right");
    st_says(HCY_EVAL(queue, "a = cumsum(a, axis=1)", hcy_op_array("a", a)), HCY_EINVAL, "axis 1 is not in",
            "an axis that is not there");
    st_says(HCY_EVAL(queue, "a = cumsum(a, axis=0, keepdims=True)", hcy_op_array("a", a)), HCY_EINVAL,
            "there is no keepdims= of cumsum", "no axes to keep");
    st_says(HCY_EVAL(queue, "a = sum(a, exclusive=True)", hcy_op_array("a", a)), HCY_EINVAL,
            "there is no exclusive= of sum", "no exclusive sum");
    st_says(HCY_EVAL(queue, "a = cumsum(2)", hcy_op_array("a", a)), HCY_EINVAL, "there is no array in what is scanned",
            "nothing to scan");
    st_says(HCY_EVAL(queue, "c = cumprod(c)", hcy_op_array("c", c)), HCY_EINVAL, "complex numbers have a sum",
            "no product of complex numbers");
    st_ok(hcy_array_slice(&part, back, ":5"), "a part");
    st_says(HCY_EVAL(queue, "part = cumsum(a)", hcy_op_array("a", a), hcy_op_array("part", part)), HCY_EINVAL,
            "does not go with", "a result of another shape");
    hcy_array_release(part);
    hcy_array_release(a);
    hcy_array_release(back);
    hcy_array_release(c);
}

/* Over the shape of what is read; the result is broadcast to the array, as NumPy's is. */
static void test_broadcast(void)
{
    enum { MANY = 3000 };
    static const struct {
        const char *text;
        double want[6];
    } cases[] = {
        { "y = cumsum(x)", { 1, 3, 6, 1, 3, 6 } },
        { "y = cumsum(x, axis=0)", { 1, 3, 6, 1, 3, 6 } },
        { "y = cumsum(x, axis=-1, exclusive=True)", { 0, 1, 3, 0, 1, 3 } },
        { "y = cumprod(column, axis=1)", { 1, 1, 1, 2, 2, 2 } },
        { "y = cumsum(column)", { 1, 1, 1, 3, 3, 3 } },
        { "y = cumsum(sum(x))", { 6, 6, 6, 6, 6, 6 } },
        { "y = cumsum(max(x, axis=0, keepdims=True) + sum(column, axis=0))", { 6, 6, 6, 6, 6, 6 } },
        { "y = 1; y = cumsum(y * x, axis=0)", { 1, 2, 3, 2, 4, 6 } },
        { "y = 1; y = cumsum(y + x - x)", { 1, 2, 3, 4, 5, 6 } },
        /* What is written several times is scanned once, for an array of a statement's eight; but what was written to
         * since is another one. */
        { "y = cumsum(x) + cumsum(x) + cumsum(x) + cumsum(x) + cumsum(x) + cumsum(x) + cumsum(x) + sum(cumsum(x))",
          { 17, 31, 52, 17, 31, 52 } },
        { "y = 1; y = cumsum(y) + 0; y = cumsum(y) - cumsum(x, axis=0)", { 0, 0, 0, 9, 12, 15 } },
    };
    static double y[2 * MANY];
    const int64_t three = 3, two[2] = { 2, 1 }, six[2] = { 2, 3 }, many[2] = { 2, MANY };
    hcy_array *x = NULL, *column = NULL, *to = NULL, *wide = NULL, *row = NULL;
    st_ok(hcy_array_from_host(&x, dev, HCY_FLOAT64, 1, &three, (const double[]){ 1, 2, 3 }), "a row");
    st_ok(hcy_array_from_host(&column, dev, HCY_FLOAT64, 2, two, (const double[]){ 1, 2 }), "a column");
    st_ok(hcy_array_empty(&to, dev, HCY_FLOAT64, 2, six), "an array of both axes");
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c += few ? 4 : 1) {
        st_ok(HCY_EVAL(queue, cases[c].text, hcy_op_array("x", x), hcy_op_array("column", column),
                       hcy_op_array("y", to)),
              "%s", cases[c].text);
        st_ok(hcy_array_to_host(y, queue, to), "is read");
        ok(!memcmp(y, cases[c].want, sizeof cases[c].want), "and right: %g %g %g %g %g %g", y[0], y[1], y[2], y[3],
           y[4], y[5]);
    }
    st_says(HCY_EVAL(queue, "y = cumsum(x, axis=1)", hcy_op_array("x", x), hcy_op_array("y", to)), HCY_EINVAL,
            "axis 1 is not in an array of 1 axes", "axes are those of what is read");
    st_says(HCY_EVAL(queue, "x = cumsum(y)", hcy_op_array("x", x), hcy_op_array("y", to)), HCY_EINVAL,
            "does not fit", "what is written is not broadcast");
    /* Over pieces, and where the row that is read is the second one that is written. */
    st_ok(hcy_array_empty(&wide, dev, HCY_FLOAT64, 2, many), "long rows");
    st_ok(hcy_array_slice(&row, wide, "1"), "one of them");
    st_ok(HCY_EVAL(queue, "wide = index; wide = cumsum(row)", hcy_op_array("wide", wide), hcy_op_array("row", row)),
          "a scan of a part of what is written");
    st_ok(hcy_array_to_host(y, queue, wide), "is read");
    size_t wrong = 0;
    for (int i = 0; i < 2 * MANY; i++) {
        double k = i % MANY;
        wrong += y[i] != k * (k + 1) / 2 + MANY * (k + 1);
    }
    is_int((intmax_t)wrong, 0, "and right, twice");
    hcy_array_release(x);
    hcy_array_release(column);
    hcy_array_release(to);
    hcy_array_release(wide);
    hcy_array_release(row);
}

/* Piece by piece, with what the rule makes of the numbers of all before; how many of y's are otherwise. */
static int64_t count_wrong(const double *y, const double *x, int64_t n, bool exclusive)
{
    static struct number totals[MOST], carries[MOST], piece[PIECE], scanned[PIECE];
    const struct number zero = { 0, 0 };
    const int64_t pieces = (n - 1) / PIECE + 1;
    int64_t wrong = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t p = 0; p < pieces; p++) {
            const int64_t size = n - p * PIECE < PIECE ? n - p * PIECE : PIECE;
            for (int64_t i = 0; i < size; i++)
                piece[i].real = x[p * PIECE + i];
            if (!pass) {
                totals[p] = reduce_piece(SUM, piece, (size_t)size);
                continue;
            }
            scan_span(scanned, SUM, piece, (size_t)size, exclusive ? &zero : NULL);
            for (int64_t i = 0; i < size; i++) {
                const bool none = exclusive && !i;
                const double want = !p ? scanned[i].real : none ? carries[p].real : carries[p].real + scanned[i].real;
                wrong += y[p * PIECE + i] != want;
            }
        }
        if (!pass)
            scan_span(carries, SUM, totals, (size_t)pieces, &zero);
    }
    return wrong;
}

/* So many pieces that their numbers are of several pieces too, and these of several runs; the last is not whole. */
static void test_many_pieces(void)
{
    const int64_t n = (few ? 2 : 9) * PIECE * PIECE + 5 * RUN * PIECE + 3 * PIECE + 77;
    double *x = malloc((size_t)n * sizeof *x), *y = malloc((size_t)n * sizeof *y);
    hcy_array *a = NULL;
    if (!x || !y)
        bail_out("out of memory");
    st_ok(hcy_array_empty(&a, dev, HCY_FLOAT64, 1, &n), "a long array");
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        st_ok(HCY_EVAL(queue, "a = uniform(7, index) - 0.4", hcy_op_array("a", a)), "of any numbers");
        st_ok(hcy_array_to_host(x, queue, a), "which are read");
        st_ok(HCY_EVAL(queue, exclusive ? "a = cumsum(a, exclusive=True)" : "a = cumsum(a)", hcy_op_array("a", a)),
              "and scanned in their place");
        st_ok(hcy_array_to_host(y, queue, a), "are read");
        is_int(count_wrong(y, x, n, exclusive), 0, "and each is the oracle's");
    }
    hcy_array_release(a);
    free(x);
    free(y);
}

int main(int argc, char **argv)
{
    static const int types[] = { HCY_FLOAT32, HCY_FLOAT64, HCY_INT32,  HCY_UINT8, HCY_BOOL,
                                 HCY_INT8,    HCY_INT16,   HCY_UINT32, HCY_INT64, HCY_UINT64 };
    cts_begin(argc, argv);
    few = TAP_THREAD_SANITIZER || (argc > 2 && !strcmp(argv[2], "few"));
    dev = cts_open();
    queue = cts_queue(dev);
    for (size_t i = 0; i < (few ? 1 : sizeof types / sizeof types[0]); i++)
        test_type(types[i]);
    test_expressions();
    test_broadcast();
    test_many_pieces();
    /* A driver that still compiles for the last command must not meet the end of the process. */
    (void)!hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
