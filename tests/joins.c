/* joins.c - what a text names itself: functions, locals, and functions that join numbers, in reductions and in scans.
 * Against plain C that goes by the rules of eval_format.h; what is refused, and where.  All of it on one device.
 *
 *     tests/joins [DEVICE [few]]        few: fewer cases, where each means a compilation
 */
#include "cts_array.h"

#include <complex.h>
#include <halcyon/eval.h>
#include <math.h>

static hcy_device *dev;
static hcy_queue *queue;
static bool few;

enum { PIECE = 1024, RUN = 8, LANES = 128, MOST = 3 * PIECE * PIECE / 256 };

/* --- The oracle: a function of two numbers, none of which may be put together in another order --- */

struct number {
    double re, im;
    int64_t whole;
};
typedef struct number join_fn(struct number a, struct number b);

/* No wider integer would do: what is wrapped is compared. */
static struct number join_i8(struct number a, struct number b)
{
    int8_t sum = (int8_t)(uint8_t)(3 * (uint64_t)a.whole + 5 * (uint64_t)b.whole + 7);
    return (struct number){ 0, 0, sum > -100 ? sum : -100 };
}
static struct number join_u64(struct number a, struct number b)
{
    return (struct number){ 0, 0, (int64_t)(3 * (uint64_t)a.whole + 5 * (uint64_t)b.whole + 7) };
}
static struct number join_f32(struct number a, struct number b)
{
    float half = (float)a.re * 0.5f;
    return (struct number){ half + (float)b.re, 0, 0 };
}
static struct number join_f64(struct number a, struct number b)
{
    double t = fabs(b.re) + 0.25, quotient = a.re / t;
    return (struct number){ quotient - b.re, 0, 0 };
}
/* Both components at once: what one becomes depends on both that were. */
static struct number join_c128(struct number a, struct number b)
{
    double re = b.im - a.re, im = a.im * 0.5;
    return (struct number){ re, im + b.re, 0 };
}

static struct number reduce_numbers(join_fn *join, const struct number *x, size_t n)
{
    struct number lane[LANES], *pieces = NULL;
    if (n > PIECE) {
        size_t count = (n - 1) / PIECE + 1;
        pieces = calloc(count, sizeof *pieces);
        if (!pieces)
            bail_out("out of memory");
        for (size_t p = 0; p < count; p++)
            pieces[p] = reduce_numbers(join, x + p * PIECE, n - p * PIECE < PIECE ? n - p * PIECE : PIECE);
        lane[0] = reduce_numbers(join, pieces, count);
        free(pieces);
        return lane[0];
    }
    size_t runs = (n - 1) / RUN + 1;
    for (size_t i = 0; i < n; i++)
        lane[i / RUN] = i % RUN ? join(lane[i / RUN], x[i]) : x[i];
    for (size_t w = 1; w < runs; w *= 2)
        for (size_t r = 0; r + w < runs; r += 2 * w)
            lane[r] = join(lane[r], lane[r + w]);
    return lane[0];
}

/* Of one piece: what is before it joins last. */
static void scan_one_piece(struct number *to, join_fn *join, const struct number *x, size_t n, bool exclusive,
                           const struct number *carry, struct number nothing)
{
    struct number own[PIECE], run[PIECE / RUN], before[PIECE / RUN];
    size_t runs = (n - 1) / RUN + 1;
    for (size_t i = 0; i < n; i++)
        run[i / RUN] = own[i] = i % RUN ? join(own[i - 1], x[i]) : x[i];
    for (size_t w = 1; w < runs; w *= 2) {
        memcpy(before, run, sizeof run);
        for (size_t r = w; r < runs; r++)
            run[r] = join(before[r - w], before[r]);
    }
    for (size_t i = 0; i < n; i++) {
        bool first = i == 0 && exclusive, begins = i % RUN == 0 && exclusive;
        struct number y = begins ? run[i ? i / RUN - 1 : 0] : own[i - exclusive];
        if (i / RUN && !begins)
            y = join(run[i / RUN - 1], y);
        if (first)
            to[i] = carry ? *carry : nothing;
        else
            to[i] = carry ? join(*carry, y) : y;
    }
}

static void scan_numbers(struct number *to, join_fn *join, const struct number *x, size_t n, bool exclusive,
                         struct number nothing)
{
    size_t count = (n - 1) / PIECE + 1;
    struct number *totals = calloc(2 * count, sizeof *totals), *carries = totals + count;
    if (!totals)
        bail_out("out of memory");
    for (size_t p = 0; p < count; p++)
        totals[p] = reduce_numbers(join, x + p * PIECE, n - p * PIECE < PIECE ? n - p * PIECE : PIECE);
    if (count > 1)
        scan_numbers(carries, join, totals, count, true, nothing);
    for (size_t p = 0; p < count; p++)
        scan_one_piece(to + p * PIECE, join, x + p * PIECE, n - p * PIECE < PIECE ? n - p * PIECE : PIECE, exclusive,
                       p ? &carries[p] : NULL, nothing);
    free(totals);
}

/* --- Numbers in memory --- */

static const struct type_case {
    int dtype;
    const char *function;
    join_fn *join;
} types[] = {
    { HCY_COMPLEX128, "f(a, b) = complex(imag(b) - real(a), imag(a) * k + real(b));", join_c128 },
    { HCY_INT8, "g(a) = 3 * a; f(a, b) = maximum(g(a) + 5 * b + 7, -100);", join_i8 },
    { HCY_UINT64, "f(a, b) = 3 * a + 5 * b + 7; # no order but one\n", join_u64 },
    { HCY_FLOAT32, "f(a, b) = a * k + b;", join_f32 },
    { HCY_FLOAT64, "f(a, b) = a / (abs(b) + 0.25) - b;", join_f64 },
};

static void put_number(void *to, int dtype, size_t i, struct number x)
{
    float narrow = (float)x.re;
    if (dtype == HCY_FLOAT32)
        memcpy((char *)to + 4 * i, &narrow, 4);
    else if (dtype == HCY_FLOAT64)
        memcpy((char *)to + 8 * i, &x.re, 8);
    else if (dtype == HCY_COMPLEX128)
        memcpy((char *)to + 16 * i, &x, 16);
    else
        memcpy((char *)to + i * hcy_dtype_size(dtype), &x.whole, hcy_dtype_size(dtype));
}

static struct number all[MOST], wanted[MOST];
static char data[16 * MOST], got[16 * MOST], want[16 * MOST];

static void make_numbers(int dtype, size_t n)
{
    uint64_t seed = 9;
    for (size_t i = 0; i < n; i++) {
        uint64_t r = cts_random(&seed);
        double re = (double)(int64_t)r * 0x1p-61, im = (double)(r >> 40) * 0x1p-24;
        int64_t whole = dtype == HCY_INT8 ? (int8_t)r : (int64_t)r;
        all[i] = (struct number){ dtype == HCY_FLOAT32 ? (float)re : re, im, whole };
        put_number(data, dtype, i, all[i]);
    }
}

/* The text's y of x, of so many rows, against `wanted`: an array like x, or a number of each row. */
static void compare_rows(const struct type_case *t, const char *text, size_t rows, size_t n, bool scans)
{
    size_t count = scans ? rows * n : rows;
    const int64_t shape[2] = { (int64_t)rows, (int64_t)n }, results = (int64_t)count;
    hcy_array *x = NULL, *y = NULL, *flat = NULL;
    char whole[512];
    snprintf(whole, sizeof whole, "%s%s", t->function, text);
    st_ok(hcy_array_from_host(&x, dev, t->dtype, 2, shape, data), "rows");
    st_ok(hcy_array_empty(&flat, dev, t->dtype, 1, &results), "results");
    st_ok(hcy_array_reshape(&y, flat, scans ? 2 : 1, scans ? shape : &results), "in shape");
    st_ok(HCY_EVAL(queue, whole, hcy_op_array("x", x), hcy_op_array("y", y), hcy_op_real("k", 0.5),
                   hcy_op_integer("none", 3)),
          "%s of %zu rows of %zu %s", whole, rows, n, hcy_dtype_name(t->dtype));
    st_ok(hcy_array_to_host(got, queue, flat), "is read");
    for (size_t i = 0; i < count; i++)
        put_number(want, t->dtype, i, wanted[i]);
    ok(!memcmp(got, want, count * hcy_dtype_size(t->dtype)), "and has every bit");
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_array_release(flat);
}

static void test_sizes(const struct type_case *t)
{
    static const size_t sizes[][2] = { { 3, 2500 }, { 5, 100 }, { 2, 1 },    { 1, 2 },   { 2, 7 },    { 1, 9 },
                                       { 4, 127 },  { 1, 129 }, { 2, 1023 }, { 1, 1025 }, { 1, MOST } };
    const struct number nothing = { 3, 0, 3 };
    for (size_t s = 0; s < (few ? 3 : sizeof sizes / sizeof sizes[0]); s++) {
        size_t rows = sizes[s][0], n = sizes[s][1];
        make_numbers(t->dtype, rows * n);
        for (size_t r = 0; r < rows; r++)
            wanted[r] = reduce_numbers(t->join, all + r * n, n);
        compare_rows(t, "y = reduce(f, x, axis=1)", rows, n, false);
        for (int exclusive = 0; exclusive < 2; exclusive++) {
            for (size_t r = 0; r < rows; r++)
                scan_numbers(wanted + r * n, t->join, all + r * n, n, exclusive, nothing);
            compare_rows(t, exclusive ? "y = scan(f, x, none, axis=1, exclusive=True)" : "y = scan(f, x, axis=-1)",
                         rows, n, true);
        }
    }
    /* All to one, of more than a piece of pieces. */
    make_numbers(t->dtype, MOST);
    wanted[0] = reduce_numbers(t->join, all, MOST);
    compare_rows(t, "y = reduce(f, x, 0)", 1, MOST, false);
}

/* --- Elementwise --- */

static void test_locals(void)
{
    enum { N = 3000 };
    static float x[N], y[N], z[N];
    const int64_t n = N;
    hcy_array *a = NULL, *b = NULL, *c = NULL;
    static const char text[] = "# a kernel of one's own\n"
                               "soft(v, t) = sign(v) * maximum(abs(v) - t, 0);\n"
                               "both(u, v) = soft(u, 0.5) - soft(v, 0.25);\n"
                               "r = both(x, y);\n"
                               "r = where # of each\n"
                               "    (r > 1, 1 + -r, r);   # folded back\n"
                               "r *= 2;\n"
                               "z = r * r + r;\n"
                               "y = z + reduce(maximum, x) - reduce(minimum, x);";
    for (int i = 0; i < N; i++) {
        x[i] = (float)(i % 97) / 16 - 3;
        y[i] = (float)(i % 89) / 8 - 5;
    }
    st_ok(hcy_array_from_host(&a, dev, HCY_FLOAT32, 1, &n, x), "x");
    st_ok(hcy_array_from_host(&b, dev, HCY_FLOAT32, 1, &n, y), "y");
    st_ok(hcy_array_empty(&c, dev, HCY_FLOAT32, 1, &n), "z");
    st_ok(HCY_EVAL(queue, text, hcy_op_array("x", a), hcy_op_array("y", b), hcy_op_array("z", c)),
          "functions and locals");
    st_ok(hcy_array_to_host(z, queue, c), "z is read");
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        float u = copysignf(fmaxf(fabsf(x[i]) - 0.5f, 0), x[i]), v = copysignf(fmaxf(fabsf(y[i]) - 0.25f, 0), y[i]),
              r = u - v;
        r = 2 * (r > 1 ? 1 - r : r);
        wrong += z[i] != r * r + r;
    }
    is_int(wrong, 0, "and right");
    st_ok(hcy_array_to_host(y, queue, b), "y is read");
    for (int i = 0; i < N; i++)
        wrong += y[i] != z[i] + 6;
    is_int(wrong, 0, "and right");
    hcy_array_release(a);
    hcy_array_release(b);
    hcy_array_release(c);
}

/* What a name stands for reads what is there, a reduction and a scan of it too, where another array's name has written
 * that memory between two statements. */
static void test_shared(void)
{
    static const struct {
        const char *text;
        double y, z;
    } cases[] = {
        { "t = sum(a); y = t; b = 10 * b; z = t", 10, 73 },
        { "t = a - mean(a); y = t; b = 10 * b; z = t", 1.5, 21.75 },
        { "t = cumsum(a); y = t + 0; b = 10 * b; z = t + 0", 10, 73 },
        { "t = sum(a); y = t; w = 10 * w; z = t", 10, 10 },
    };
    enum { N = 4, ALL = 8 };
    double numbers[ALL];
    const int64_t n = ALL;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hcy_array *all = NULL, *a = NULL, *b = NULL, *w = NULL, *y = NULL, *z = NULL, *results = NULL;
        for (int k = 0; k < ALL; k++)
            numbers[k] = k + 1;
        st_ok(hcy_array_from_host(&all, dev, HCY_FLOAT64, 1, &n, numbers), "numbers");
        st_ok(hcy_array_empty(&results, dev, HCY_FLOAT64, 1, &n), "results");
        st_ok(hcy_array_slice(&a, all, ":4"), "a");
        st_ok(hcy_array_slice(&b, all, "2:6"), "b, which begins in a");
        st_ok(hcy_array_slice(&y, results, ":4"), "y");
        st_ok(hcy_array_slice(&z, results, "4:"), "z");
        st_ok(hcy_array_slice(&w, all, "4:"), "w, which does not");
        st_ok(HCY_EVAL(queue, cases[i].text, hcy_op_array("a", a), hcy_op_array("b", b), hcy_op_array("w", w),
                       hcy_op_array("y", y), hcy_op_array("z", z)), "%s", cases[i].text);
        st_ok(hcy_array_to_host(numbers, queue, results), "are read");
        ok(numbers[N - 1] == cases[i].y && numbers[ALL - 1] == cases[i].z, "%s: %g, %g", cases[i].text, numbers[N - 1],
           numbers[ALL - 1]);
        hcy_array *const made[] = { all, a, b, w, y, z, results };
        for (size_t k = 0; k < sizeof made / sizeof made[0]; k++)
            hcy_array_release(made[k]);
    }
}

/* So many that the numbers of pieces fill pieces of their own; joined by what has one answer in any order. */
static void test_many(void)
{
    const int64_t n = (int64_t)PIECE * PIECE + PIECE + 3;
    hcy_array *x = NULL;
    static int32_t y[PIECE * PIECE + PIECE + 3];
    st_ok(hcy_array_empty(&x, dev, HCY_INT32, 1, &n), "many numbers");
    st_ok(HCY_EVAL(queue, "x = index % 7; add(a, b) = a + b; x = scan(add, x)", hcy_op_array("x", x)), "are scanned");
    st_ok(hcy_array_to_host(y, queue, x), "and read");
    int32_t sum = 0, wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += (int32_t)(i % 7);
        wrong += y[i] != sum;
    }
    is_int(wrong, 0, "and right");
    hcy_array_release(x);
}

/* What no elements make. */
static void test_nothing(void)
{
    static double y[3];
    float complex z = 0;
    const int64_t shape[2] = { 3, 0 }, three = 3, one = 1;
    hcy_array *x = NULL, *to = NULL, *w = NULL;
    st_ok(hcy_array_empty(&x, dev, HCY_FLOAT64, 2, shape), "no elements");
    st_ok(hcy_array_empty(&to, dev, HCY_FLOAT64, 1, &three), "three results");
    st_ok(hcy_array_empty(&w, dev, HCY_COMPLEX64, 1, &one), "a complex one");
    st_ok(HCY_EVAL(queue, "f(a, b) = a + b; y = reduce(f, x, none, axis=1)", hcy_op_array("x", x),
                   hcy_op_array("y", to), hcy_op_real("none", 2.5)),
          "are reduced to what the text says");
    st_ok(hcy_array_to_host(y, queue, to), "is read");
    ok(y[0] == 2.5 && y[2] == 2.5, "in each place");
    st_ok(HCY_EVAL(queue, "f(a, b) = a + b; y = reduce(f, complex64(x), 2j)", hcy_op_array("x", x),
                   hcy_op_array("y", w)),
          "and of complex numbers");
    st_ok(hcy_array_to_host(&z, queue, w), "is read");
    ok(crealf(z) == 0 && cimagf(z) == 2, "both parts");
    st_says(HCY_EVAL(queue, "y = reduce(maximum, x, axis=1)", hcy_op_array("x", x), hcy_op_array("y", to)),
            HCY_EINVAL, "of reduce(f, x, 0)", "without it there is none");
    st_says(HCY_EVAL(queue, "y = reduce(maximum, int8(x), 300)", hcy_op_array("x", x), hcy_op_array("y", w)),
            HCY_EINVAL, "column 30: this number does not fit int8", "it is of the elements' type");
    st_says(HCY_EVAL(queue, "y = reduce(maximum, int8(x), n)", hcy_op_array("x", x), hcy_op_array("y", w),
                     hcy_op_integer("n", 300)),
            HCY_ERANGE, "n is 300, which does not fit int8", "the caller's, too");
    hcy_array_release(x);
    hcy_array_release(to);
    hcy_array_release(w);
}

/* --- What is refused, and where --- */

static void test_refusals(void)
{
    static const struct {
        const char *text, *says;
        int status;
    } cases[] = {
        { "f(a) = a + q; y = x", "column 12: nothing is called q", HCY_EINVAL },
        { "f(a) = a;\ny = f(x, x)", "\"y = f(x, x)\", line 2, column 9: too many arguments for f", HCY_EINVAL },
        { "f(a, b) = a;\n\n  y = f(x)", "line 3, column 11: too few arguments for f", HCY_EINVAL },
        { "f(a) = f(a); y = f(x)", "no function is called f", HCY_EINVAL },
        { "sin(a) = a; y = x", "a function is called so already: sin", HCY_EINVAL },
        { "f(a, a) = a; y = x", "column 6: two parameters have one name", HCY_EINVAL },
        { "f(a, 2) = a; y = x", "the name of a parameter is wanted", HCY_EINVAL },
        { "f(a) = t; t = x; y = t", "nothing is called t", HCY_EINVAL },
        { "t = x; y = x", "column 1: no array to write to is called t", HCY_EINVAL },
        { "t = x", "is called t", HCY_EINVAL },
        { "t += x; y = t", "nothing yet to change", HCY_EINVAL },
        { "a = x; y = x", "no array to write to is called a", HCY_EINVAL },
        { "t = x + y; y = x; x = t", "made of an array that has been written since: y", HCY_EINVAL },
        { "f(a) = a", "no array is written", HCY_EINVAL },
        { "y = reduce(f, x)", "a function of two arguments is wanted, and none is called f", HCY_EINVAL },
        { "f(a) = a; y = reduce(f, x)", "a function of two arguments is wanted, which is not f", HCY_EINVAL },
        { "y = reduce(where, x)", "no function of so many numbers: where", HCY_EINVAL },
        { "y = reduce(dot, x)", "no function of so many numbers: dot", HCY_EINVAL },
        { "f(a, b) = a + x; y = reduce(f, x)", "column 15: what joins two numbers knows", HCY_EINVAL },
        { "f(a, b) = a + index; y = scan(f, x)", "what joins two numbers knows", HCY_EINVAL },
        { "f(a, b) = a + sum(b); y = reduce(f, x)", "what joins two numbers knows", HCY_EINVAL },
        { "f(a, b) = a + 1j; y = reduce(f, x)", "the function makes complex64 of two numbers that are float32",
          HCY_EINVAL },
        { "y = reduce(maximum, x, 2j)", "column 24: what no elements make is no number of theirs", HCY_EINVAL },
        { "y = reduce(maximum, x, x)", "what no elements make is a number", HCY_EINVAL },
        { "y = scan(maximum, x, exclusive=True)", "exclusive=True wants what no elements make", HCY_EINVAL },
        { "y = reduce(maximum, x > 1)", "write uint8() around these truths", HCY_EINVAL },
        { "y = reduce(maximum)", "a comma is wanted", HCY_EINVAL },
        { "y = reduce(maximum, x, 0, 0)", "too many arguments for reduce", HCY_EINVAL },
        { "a0(v) = v; a1(v) = a0(a0(a0(a0(v)))); a2(v) = a1(a1(a1(a1(v)))); a3(v) = a2(a2(a2(a2(v)))); "
          "a4(v) = a3(a3(a3(a3(v)))); a5(v) = a4(a4(a4(a4(v)))); a6(v) = a5(a5(a5(a5(v)))); y = a6(x)",
          "functions that call functions, too many times", HCY_EINVAL },
    };
    const int64_t n = 4;
    hcy_array *x = NULL, *y = NULL;
    st_ok(hcy_array_full(&x, queue, HCY_FLOAT32, 1, &n, 1), "x");
    st_ok(hcy_array_full(&y, queue, HCY_FLOAT32, 1, &n, 1), "y");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        st_says(HCY_EVAL(queue, cases[i].text, hcy_op_array("x", x), hcy_op_array("y", y), hcy_op_real("a", 1)),
                cases[i].status, cases[i].says, "%s", cases[i].text);
    /* Locals that double 30 times: an argument is computed once, however often it is read. */
    st_ok(HCY_EVAL(queue, "d(v) = v + v; q(v) = d(d(d(d(d(v))))); s = q(q(q(q(q(q(x)))))); y = s - s + x",
                   hcy_op_array("x", x), hcy_op_array("y", y)),
          "functions within functions");
    hcy_array_release(x);
    hcy_array_release(y);
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    few = argc > 2 && !strcmp(argv[2], "few");
    dev = cts_open();
    queue = cts_queue(dev);
    test_locals();
    test_shared();
    test_many();
    test_nothing();
    test_refusals();
    for (size_t i = 0; i < (few ? 2 : sizeof types / sizeof types[0]); i++)
        test_sizes(&types[i]);
    /* A driver that still compiles for the last command must not meet the end of the process. */
    (void)!hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
