/* formula.c - expressions that are built by calls: each operation has the bits that its text has, terms that are shared
 * and deep, statements, functions of one's own, and what is refused. */
#include "cts.h"

#include <halcyon/formula.h>
#include <math.h>

enum { N = 300, BYTES = N * 16 };

static hcy_device *dev;
static hcy_queue *queue;
/* x, y: float32; k, m: int32; b: bool; c, d: complex64. */
static hcy_array *x, *y, *k, *m, *b, *c, *d;

static hcy_array *array_by(int dtype, const char *text)
{
    const int64_t n = N;
    hcy_array *a = NULL;
    if (hcy_array_empty(&a, dev, dtype, 1, &n) || HCY_EVAL(queue, text, hcy_op_array("a", a)))
        bail_out("no array: %s", hcy_last_error()->text);
    return a;
}

static void make_arrays(void)
{
    x = array_by(HCY_FLOAT32, "a = float32(uniform(1, index)) * 4 - 1.5");
    y = array_by(HCY_FLOAT32, "a = float32(uniform(2, index)) * 4 - 2");
    k = array_by(HCY_INT32, "a = int32(below(40, random(3, index))) - 20");
    m = array_by(HCY_INT32, "a = int32(below(9, random(4, index))) + 1");
    b = array_by(HCY_BOOL, "a = uniform(5, index) < 0.5");
    c = array_by(HCY_COMPLEX64, "a = complex(float32(uniform(6, index)) - 0.5, float32(uniform(7, index)))");
    d = array_by(HCY_COMPLEX64, "a = complex(float32(uniform(8, index)) + 0.5, float32(uniform(9, index)))");
}

static hcy_array *operand_by(const char *name)
{
    hcy_array *const arrays[] = { x, y, k, m, b, c, d };
    return arrays[strchr("xykmbcd", *name) - "xykmbcd"];
}

static hcy_formula *new_formula(void)
{
    hcy_formula *f = NULL;
    if (hcy_formula_create(&f, 0))
        bail_out("no formula: %s", hcy_last_error()->text);
    return f;
}

static hcy_term term_of(hcy_formula *f, const char *name)
{
    return hcy_formula_operand(f, hcy_op_array(name, operand_by(name)));
}

static void read_bytes(unsigned char *bytes, const hcy_array *a)
{
    memset(bytes, 0, BYTES);
    if (hcy_array_to_host(bytes, queue, a))
        bail_out("no numbers: %s", hcy_last_error()->text);
}

/* --- Each operation --- */

/* What it is, its operands by their letters, the type of the result; and a text, where it is not that of the calls. */
static const struct operation {
    const char *what, *operands;
    int dtype;
    const char *text;
} operations[] = {
    { "+", "xy", HCY_FLOAT32, "z = x + y" }, { "-", "kx", HCY_FLOAT64, "z = k - x" }, { "*", "cd", HCY_COMPLEX64, "z = c * d" },
    { "/", "km", HCY_FLOAT64, "z = k / m" }, { "//", "km", HCY_INT32, "z = k // m" }, { "%", "km", HCY_INT32, "z = k % m" },
    { "**", "dy", HCY_COMPLEX64, "z = d ** y" }, { "&", "km", HCY_INT32, "z = k & m" }, { "|", "km", HCY_INT32, "z = k | m" },
    { "^", "km", HCY_INT32, "z = k ^ m" }, { "&&", "kb", HCY_BOOL, "z = k && b" }, { "||", "kb", HCY_BOOL, "z = k || b" },
    { "==", "km", HCY_BOOL, "z = k == m" }, { "!=", "km", HCY_BOOL, "z = k != m" }, { "<", "xy", HCY_BOOL, "z = x < y" },
    { "<=", "km", HCY_BOOL, "z = k <= m" }, { ">", "xy", HCY_BOOL, "z = x > y" }, { ">=", "km", HCY_BOOL, "z = k >= m" },
    { "-", "k", HCY_INT32, "z = -k" }, { "~", "k", HCY_INT32, "z = ~k" }, { "!", "k", HCY_BOOL, "z = !k" },
    { "abs", "c", HCY_FLOAT32, NULL }, { "abs2", "c", HCY_FLOAT32, NULL }, { "sign", "k", HCY_INT32, NULL },
    { "sqrt", "c", HCY_COMPLEX64, NULL }, { "floor", "x", HCY_FLOAT32, NULL }, { "ceil", "x", HCY_FLOAT32, NULL },
    { "round", "x", HCY_FLOAT32, NULL }, { "conj", "c", HCY_COMPLEX64, NULL }, { "real", "c", HCY_FLOAT32, NULL },
    { "imag", "c", HCY_FLOAT32, NULL }, { "complex", "xy", HCY_COMPLEX64, NULL }, { "minimum", "xy", HCY_FLOAT32, NULL },
    { "maximum", "xk", HCY_FLOAT64, NULL }, { "clip", "xym", HCY_FLOAT64, NULL }, { "where", "bxk", HCY_FLOAT64, NULL },
    { "fma", "xyx", HCY_FLOAT32, NULL }, { "isnan", "x", HCY_BOOL, NULL }, { "copysign", "xy", HCY_FLOAT32, NULL },
    { "exp", "c", HCY_COMPLEX64, NULL }, { "exp2", "x", HCY_FLOAT32, NULL }, { "expm1", "x", HCY_FLOAT32, NULL },
    { "log", "d", HCY_COMPLEX64, NULL }, { "log2", "m", HCY_FLOAT64, NULL }, { "log10", "m", HCY_FLOAT64, NULL },
    { "log1p", "m", HCY_FLOAT64, NULL }, { "sin", "x", HCY_FLOAT32, NULL }, { "cos", "x", HCY_FLOAT32, NULL },
    { "tan", "x", HCY_FLOAT32, NULL }, { "asin", "y", HCY_FLOAT32, NULL }, { "acos", "y", HCY_FLOAT32, NULL },
    { "atan", "x", HCY_FLOAT32, NULL }, { "atan2", "xy", HCY_FLOAT32, NULL }, { "angle", "c", HCY_FLOAT32, NULL },
    { "sinh", "x", HCY_FLOAT32, NULL }, { "cosh", "x", HCY_FLOAT32, NULL }, { "tanh", "x", HCY_FLOAT32, NULL },
    { "erf", "x", HCY_FLOAT32, NULL }, { "rsqrt", "m", HCY_FLOAT64, NULL }, { "hypot", "xy", HCY_FLOAT32, NULL },
    { "fmod", "xy", HCY_FLOAT32, NULL }, { "ldexp", "xk", HCY_FLOAT32, NULL }, { "fraction", "x", HCY_FLOAT32, NULL },
    { "exponent", "x", HCY_INT64, NULL }, { "random", "km", HCY_UINT64, NULL }, { "uniform", "kmk", HCY_FLOAT64, NULL },
    { "uniform32", "km", HCY_FLOAT32, NULL }, { "normal", "km", HCY_FLOAT64, NULL }, { "below", "mk", HCY_INT64, NULL },
    { "poisson", "mk", HCY_INT64, NULL }, { "int8", "k", HCY_INT8, NULL }, { "complex128", "x", HCY_COMPLEX128, NULL },
    { "min", "xy", HCY_FLOAT32, NULL }, { "sum", "c", HCY_COMPLEX64, NULL }, { "prod", "m", HCY_INT64, NULL },
    { "min", "x", HCY_FLOAT32, NULL }, { "max", "k", HCY_INT32, NULL }, { "any", "b", HCY_BOOL, NULL },
    { "all", "b", HCY_BOOL, NULL }, { "count", "k", HCY_INT64, NULL }, { "mean", "k", HCY_FLOAT64, NULL },
    { "var", "x", HCY_FLOAT32, NULL }, { "std", "c", HCY_FLOAT32, NULL }, { "dot", "cd", HCY_COMPLEX64, NULL },
    { "vdot", "cd", HCY_COMPLEX64, NULL }, { "norm", "c", HCY_FLOAT32, NULL }, { "norm1", "x", HCY_FLOAT32, NULL },
    { "norminf", "x", HCY_FLOAT32, NULL }, { "argmin", "x", HCY_INT64, NULL }, { "argmax", "x", HCY_INT64, NULL },
    { "cumsum", "c", HCY_COMPLEX64, NULL }, { "cumprod", "y", HCY_FLOAT32, NULL }, { "cummin", "x", HCY_FLOAT32, NULL },
    { "cummax", "k", HCY_INT32, NULL },
};

static void write_call_of(char text[100], const struct operation *o)
{
    int at = snprintf(text, 100, "z = %s(%c", o->what, o->operands[0]);
    for (size_t i = 1; o->operands[i]; i++)
        at += snprintf(text + at, 100 - (size_t)at, ", %c", o->operands[i]);
    snprintf(text + at, 100 - (size_t)at, ")");
}

static int eval_text(hcy_array *z, const char *text)
{
    return HCY_EVAL(queue, text, hcy_op_array("x", x), hcy_op_array("y", y), hcy_op_array("k", k), hcy_op_array("m", m),
                    hcy_op_array("b", b), hcy_op_array("c", c), hcy_op_array("d", d), hcy_op_array("z", z),
                    hcy_op_integer("n", 3), hcy_op_real("r", -0.0), hcy_op_complex("w", 1, -2));
}

/* Of the text and of the calls. */
static int same_bits(hcy_array *z, const char *text, hcy_formula *f)
{
    static unsigned char want[BYTES], got[BYTES];
    int status = eval_text(z, text);
    read_bytes(want, z);
    if (!status)
        status = HCY_EVAL(queue, "z = z != z", hcy_op_array("z", z));
    if (!status)
        status = hcy_formula_eval(queue, f);
    read_bytes(got, z);
    return status ? status : memcmp(want, got, BYTES) ? -1 : 0;
}

/* Each step-th: drivers that compile for a processor take long, and a text's operations have tests of their own. */
static void test_operations(size_t step)
{
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i += step) {
        const struct operation *o = &operations[i];
        const char *made = NULL;
        char text[100];
        hcy_formula *f = new_formula();
        hcy_term arguments[3];
        hcy_array *z = array_by(o->dtype, o->dtype == HCY_BOOL ? "a = index < 0" : "a = index * 0");
        size_t n = strlen(o->operands);
        for (size_t j = 0; j < n; j++)
            arguments[j] = term_of(f, (const char[]){ o->operands[j], 0 });
        (void)hcy_formula_operand(f, hcy_op_array("z", z));
        write_call_of(text, o);
        int status = hcy_formula_assign(f, "z", hcy_formula_apply(f, o->what, arguments, n));
        st_ok(status ? status : same_bits(z, o->text ? o->text : text, f), "%s", o->text ? o->text : text);
        if (!o->text && (hcy_formula_text(&made, f) || strncmp(made, text, strlen(text))))
            ok(false, "the text of the calls is %s", made);
        hcy_formula_release(f);
        hcy_array_release(z);
    }
}

/* --- Numbers --- */

static void test_numbers(void)
{
    static const struct {
        double real;
        const char *text;
    } cases[] = { { 2, "z = complex128(2.0)" },           { 0.1, "z = complex128(0.1)" },
                  { -0.5, "z = complex128(-0.5)" },       { 1e-300, "z = complex128(1e-300)" },
                  { 5e-324, "z = complex128(5e-324)" },   { 1.7976931348623157e308, "z = complex128(1.7976931348623157e308)" },
                  { -0.0, "z = complex128(r)" },          { INFINITY, "z = complex128(1e999)" },
                  { -INFINITY, "z = complex128(-1e999)" }, { NAN, "z = complex128(1e999 - 1e999)" } };
    hcy_array *z = array_by(HCY_COMPLEX128, "a = index");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hcy_formula *f = new_formula();
        (void)hcy_formula_operand(f, hcy_op_array("z", z));
        int status = hcy_formula_assign(f, "z", HCY_TERM(f, "complex128", hcy_formula_real(f, cases[i].real)));
        st_ok(status ? status : same_bits(z, cases[i].text, f), "the number %g", cases[i].real);
        hcy_formula_release(f);
    }
    hcy_formula *f = new_formula();
    (void)hcy_formula_operand(f, hcy_op_array("z", z));
    hcy_term minus = hcy_formula_integer(f, -7), w = hcy_formula_operand(f, hcy_op_complex("w", 1, -2)),
             n = hcy_formula_operand(f, hcy_op_integer("n", 3)), turn = hcy_formula_complex(f, 0.25, -2);
    hcy_term powers = HCY_TERM(f, "**", HCY_TERM(f, "*", term_of(f, "c"), n), minus),
             pi = hcy_formula_apply(f, "pi", NULL, 0), index = hcy_formula_apply(f, "index", NULL, 0);
    hcy_term sum = HCY_TERM(f, "+", HCY_TERM(f, "+", HCY_TERM(f, "*", w, turn), powers), HCY_TERM(f, "*", pi, index));
    int status = hcy_formula_assign(f, "z", sum);
    st_ok(status ? status : same_bits(z, "z = w * complex(0.25, -2.0) + (c * n) ** -7 + pi * index", f), "numbers of all kinds");
    hcy_formula_release(f);
    hcy_array_release(z);
}

/* --- Terms that are shared, or deep --- */

static void test_shared(void)
{
    const char *text = NULL;
    hcy_array *z = array_by(HCY_FLOAT32, "a = 0");
    hcy_formula *f = new_formula();
    (void)hcy_formula_operand(f, hcy_op_array("z", z));
    hcy_term t = HCY_TERM(f, "*", term_of(f, "x"), hcy_formula_real(f, 0.5)), of_y = term_of(f, "y");
    /* 2^40 products, if each was written where it is read. */
    for (int i = 0; i < 40; i++)
        t = HCY_TERM(f, "*", t, t);
    st_ok(hcy_formula_assign(f, "z", t), "squares of squares");
    st_ok(hcy_formula_eval(queue, f), "are computed");
    st_ok(hcy_formula_text(&text, f), "their text");
    ok(strlen(text) < 2000 && !strncmp(text, "hcy_1 = (x * 0.5);\nhcy_2 = (hcy_1 * hcy_1);\n", 44), "has each once");
    hcy_formula_release(f);
    f = new_formula();
    (void)hcy_formula_operand(f, hcy_op_array("z", z));
    t = term_of(f, "x");
    of_y = term_of(f, "y");
    for (int i = 0; i < 60; i++)
        t = HCY_TERM(f, i % 2 ? "-" : "+", of_y, t);
    int status = hcy_formula_assign(f, "z", t);
    char want[1000] = "t = x;\n";
    for (int i = 0; i < 60; i++)
        strcat(want, i % 20 == 19 ? "t = y - t;\n" : i % 2 ? "t=y-t;" : "t=y+t;");
    strcat(want, "z = t");
    st_ok(status ? status : same_bits(z, want, f), "sixty calls within one another");
    hcy_formula_release(f);
    hcy_array_release(z);
}

/* Terms of one statement that another reads, in locals of which one is never written again. */
static void test_statements(void)
{
    hcy_array *z = array_by(HCY_FLOAT32, "a = 0"), *s = array_by(HCY_FLOAT32, "a = 1");
    hcy_formula *f = new_formula();
    (void)hcy_formula_operand(f, hcy_op_array("z", z));
    hcy_term of_s = hcy_formula_operand(f, hcy_op_array("s", s)),
             u = HCY_TERM(f, "+", term_of(f, "x"), term_of(f, "y")),
             t = HCY_TERM(f, "sin", u), v = HCY_TERM(f, "cos", u);
    int status = hcy_formula_assign(f, "z", HCY_TERM(f, "*", t, t));
    if (!status)
        status = hcy_formula_assign(f, "z", HCY_TERM(f, "*", v, v));
    if (!status)
        status = hcy_formula_assign(f, "z", HCY_TERM(f, "-", t, v));
    if (!status)
        status = hcy_formula_assign(f, "s", HCY_TERM(f, "sum", hcy_formula_operand(f, hcy_op_array("z", z))));
    st_ok(status ? status : same_bits(z, "z = sin(x + y) - cos(x + y)", f), "statements with terms of earlier ones");
    st_is(hcy_formula_assign(f, "z", HCY_TERM(f, "+", t, of_s)), HCY_EINVAL, "a term of what was written since");
    ok(strstr(hcy_last_error()->text, "reads s as it was") != NULL, "names it");
    st_is(hcy_formula_eval(queue, f), HCY_EINVAL, "and the formula has failed");
    hcy_formula_release(f);
    hcy_array_release(s);
    hcy_array_release(z);
}

/* --- Axes, functions --- */

static void test_axes(void)
{
    const int64_t shape[3] = { 4, 5, 15 }, few[2] = { 4, 15 };
    hcy_array *cube = NULL, *flat = NULL, *all = NULL;
    unsigned char want[BYTES], got[BYTES];
    if (hcy_array_reshape(&cube, x, 3, shape) || hcy_array_empty(&flat, dev, HCY_FLOAT32, 2, few) ||
        hcy_array_empty(&all, dev, HCY_FLOAT32, 3, shape))
        bail_out("no arrays");
    hcy_formula *f = new_formula();
    hcy_term a = hcy_formula_operand(f, hcy_op_array("a", cube));
    (void)hcy_formula_operand(f, hcy_op_array("s", flat));
    (void)hcy_formula_operand(f, hcy_op_array("z", all));
    hcy_term mean = hcy_formula_along(f, "mean", &a, 1, (const int[]){ -1, 0 }, 2, HCY_FORMULA_KEEPDIMS);
    int status = hcy_formula_assign(f, "s", hcy_formula_along(f, "max", &a, 1, (const int[]){ 1 }, 1, 0));
    hcy_term scan = hcy_formula_along(f, "cumsum", &a, 1, (const int[]){ 1 }, 1, HCY_FORMULA_EXCLUSIVE);
    if (!status)
        status = hcy_formula_assign(f, "z", HCY_TERM(f, "-", scan, mean));
    st_ok(status ? status : hcy_formula_eval(queue, f), "reductions and scans along axes");
    memset(got, 0, BYTES);
    memset(want, 0, BYTES);
    bool same = !hcy_array_to_host(got, queue, all) && !hcy_array_to_host(got + 4 * N, queue, flat) &&
                !HCY_EVAL(queue, "s = max(a, axis=1);"
                                 "z = cumsum(a, axis=1, exclusive=True) - mean(a, axis=(-1, 0), keepdims=True)",
                          hcy_op_array("a", cube), hcy_op_array("s", flat), hcy_op_array("z", all)) &&
                !hcy_array_to_host(want, queue, all) && !hcy_array_to_host(want + 4 * N, queue, flat);
    ok(same && !memcmp(got, want, BYTES), "have the bits of the text");
    hcy_formula_release(f);
    hcy_array_release(all);
    hcy_array_release(flat);
    hcy_array_release(cube);
}

static void test_functions(void)
{
    static const char *const names[] = { "p", "q" };
    hcy_array *z = array_by(HCY_FLOAT32, "a = 0");
    hcy_formula *f = new_formula();
    (void)hcy_formula_operand(f, hcy_op_array("z", z));
    hcy_term p = hcy_formula_parameter(f, "p"), q = hcy_formula_parameter(f, "q"), of_x = term_of(f, "x");
    hcy_term larger = HCY_TERM(f, ">", HCY_TERM(f, "abs", p), HCY_TERM(f, "abs", q)),
             far = hcy_formula_define(f, "far", names, 2, HCY_TERM(f, "where", larger, p, q));
    hcy_term both = HCY_TERM(f, "+", HCY_TERM(f, "reduce", far, of_x, hcy_formula_integer(f, 0)),
                             HCY_TERM(f, "scan", hcy_formula_apply(f, "maximum", NULL, 0), term_of(f, "y")));
    int status = hcy_formula_assign(f, "z", HCY_TERM(f, "far", both, of_x));
    static const char want[] = "far(p, q) = where(abs(p) > abs(q), p, q);"
                               "z = far(reduce(far, x, 0) + scan(maximum, y), x)";
    st_ok(status ? status : same_bits(z, want, f), "functions of one's own, called, reduced and scanned by");
    /* A term that is a local of a statement stands whole in a function. */
    hcy_term size = HCY_TERM(f, "abs", of_x);
    status = hcy_formula_assign(f, "z", HCY_TERM(f, "*", size, size));
    (void)hcy_formula_define(f, "more", names, 1, HCY_TERM(f, "+", size, p));
    if (!status)
        status = hcy_formula_assign(f, "z", HCY_TERM(f, "more", of_x));
    st_ok(status ? status : same_bits(z, "z = abs(x) + x", f), "a function that reads an operand");
    hcy_formula_release(f);
    hcy_array_release(z);
}

/* --- Another operand, the device's functions --- */

static void test_set(void)
{
    hcy_array *z = array_by(HCY_FLOAT32, "a = 0");
    unsigned char want[BYTES], got[BYTES];
    hcy_formula *f = new_formula();
    (void)hcy_formula_operand(f, hcy_op_array("z", z));
    hcy_term a = hcy_formula_operand(f, hcy_op_real("a", 1));
    int status = hcy_formula_assign(f, "z", HCY_TERM(f, "*", a, term_of(f, "x")));
    st_ok(status ? status : hcy_formula_eval(queue, f), "a formula");
    st_ok(hcy_formula_set(f, hcy_op_real("a", 3)), "another number");
    st_ok(same_bits(z, "z = 3.0 * x", f), "is the one that counts");
    if (!hcy_formula_set(f, hcy_op_array("x", k)) && !hcy_formula_set(f, hcy_op_array("z", y)))
        st_is(hcy_formula_eval(queue, f), 0, "other arrays, of another type");
    read_bytes(got, y);
    (void)!HCY_EVAL(queue, "z = 3.0 * k", hcy_op_array("z", z), hcy_op_array("k", k));
    read_bytes(want, z);
    ok(!memcmp(got, want, BYTES), "are what is read and written");
    st_is(hcy_formula_set(f, hcy_op_real("none", 3)), HCY_EINVAL, "a name that is not there");
    st_is(hcy_formula_set(f, hcy_op_array("x", NULL)), HCY_EINVAL, "no array");
    st_ok(hcy_formula_eval(queue, f), "neither of which has changed it");
    hcy_formula_release(f);
    const char *text = NULL;
    st_ok(hcy_formula_create(&f, HCY_FORMULA_FAST), "the device's own functions");
    (void)hcy_formula_operand(f, hcy_op_array("z", z));
    status = hcy_formula_assign(f, "z", HCY_TERM(f, "exp", term_of(f, "x")));
    st_ok(status ? status : hcy_formula_eval(queue, f), "are asked for");
    ok(!hcy_formula_text(&text, f) && !strcmp(text, "fast:\nz = exp(x);\n"), "by \"fast:\"");
    hcy_formula_release(f);
    hcy_array_release(z);
}

/* --- Memory that runs out --- */

void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *memory, size_t size);
/* Of this thread's: how many succeed from here on, and -1: all; whether one has failed. */
static _Thread_local int left = -1;
static _Thread_local bool has_failed;

static bool may_allocate(void)
{
    has_failed = has_failed || left == 0;
    left -= left > 0;
    return left != 0 || !has_failed;
}

void *__wrap_calloc(size_t n, size_t size)
{
    return may_allocate() ? __real_calloc(n, size) : NULL;
}

void *__wrap_realloc(void *memory, size_t size)
{
    return may_allocate() ? __real_realloc(memory, size) : NULL;
}

/* What the calls return where so many allocations succeed. */
static int build_with(int allocations)
{
    hcy_formula *f = NULL;
    left = allocations;
    has_failed = false;
    int status = hcy_formula_create(&f, 0);
    hcy_term t = status ? (hcy_term){ NULL, -1 } : term_of(f, "x");
    for (int i = 0; !status && i < 20; i++)
        t = HCY_TERM(f, "+", HCY_TERM(f, "*", t, term_of(f, "y")), HCY_TERM(f, "sqrt", t));
    if (!status)
        status = hcy_formula_assign(f, "x", t);
    left = -1;
    hcy_formula_release(f);
    return status;
}

static void test_memory(void)
{
    int n = 0, others = 0, status;
    while ((status = build_with(n)) != 0 && n < 100) {
        others += status != HCY_ENOMEM;
        n++;
    }
    ok(n > 5 && n < 100 && !others, "each of %d allocations may fail", n);
}

/* --- Refusals --- */

static void is_refused(hcy_formula *f, hcy_term term, int status, const char *words)
{
    ok(term.at == -1, "no term is made");
    st_says(hcy_formula_assign(f, "x", term), status, words, "%s", words);
    st_says(hcy_formula_eval(queue, f), status, words, "still");
    hcy_formula_release(f);
}

static hcy_formula *with_x(hcy_term *of_x)
{
    hcy_formula *f = new_formula();
    *of_x = term_of(f, "x");
    return f;
}

/* x is written between what was made and its use. */
static void is_stale(hcy_formula *f, hcy_term before, const char *what)
{
    st_says(hcy_formula_assign(f, "z", before), HCY_EINVAL, "reads x as it was", "%s", what);
    hcy_formula_release(f);
}

static const char *const of_p[] = { "p" };

/* x, and the function g(p) = x + p, whose body is returned. */
static hcy_formula *with_g(hcy_array *z, hcy_term *body)
{
    hcy_formula *f = new_formula();
    (void)hcy_formula_operand(f, hcy_op_array("z", z));
    *body = HCY_TERM(f, "+", term_of(f, "x"), hcy_formula_parameter(f, "p"));
    (void)hcy_formula_define(f, "g", of_p, 1, *body);
    return f;
}

static void write_x(hcy_formula *f)
{
    st_ok(hcy_formula_assign(f, "x", hcy_formula_real(f, 1000)), "x is written");
}

static void test_stale(void)
{
    hcy_array *z = array_by(HCY_FLOAT32, "a = 0");
    hcy_term body, call;
    hcy_formula *f = with_g(z, &body);
    call = HCY_TERM(f, "g", term_of(f, "y"));
    write_x(f);
    is_stale(f, call, "a call of a function that reads what was written since");
    f = with_g(z, &body);
    (void)hcy_formula_define(f, "h", of_p, 1, HCY_TERM(f, "g", hcy_formula_parameter(f, "p")));
    call = HCY_TERM(f, "reduce", hcy_formula_apply(f, "h", NULL, 0), term_of(f, "y"), hcy_formula_integer(f, 0));
    write_x(f);
    is_stale(f, call, "the name of one that calls such a function");
    f = with_g(z, &body);
    call = HCY_TERM(f, "h", term_of(f, "y"));
    (void)hcy_formula_define(f, "h", of_p, 1, body);
    write_x(f);
    is_stale(f, call, "a call that was made before its function");
    f = with_g(z, &body);
    write_x(f);
    st_ok(hcy_formula_assign(f, "z", HCY_TERM(f, "g", term_of(f, "y"))), "a call that is made afterwards is not");
    is_stale(f, hcy_formula_define(f, "h", of_p, 1, body), "a function that is made of it");
    f = with_g(z, &body);
    call = hcy_formula_apply(f, "x", NULL, 0);
    write_x(f);
    is_stale(f, call, "an operand's name alone");
    hcy_array_release(z);
}

/* A parameter and an operand of one name, and a parameter where it is none. */
static void test_parameters(void)
{
    static const char *const names[] = { "x", "q" };
    hcy_term t;
    hcy_formula *f = with_x(&t);
    t = HCY_TERM(f, "+", t, hcy_formula_parameter(f, "x"));
    is_refused(f, hcy_formula_define(f, "g", names, 2, t), HCY_EINVAL, "x is a parameter and an operand");
    f = with_x(&t);
    t = HCY_TERM(f, "-", hcy_formula_parameter(f, "q"));
    is_refused(f, hcy_formula_define(f, "g", of_p, 1, t), HCY_EINVAL, "q is a parameter of another function");
    f = with_x(&t);
    st_says(hcy_formula_assign(f, "x", hcy_formula_parameter(f, "x")), HCY_EINVAL,
            "x is a parameter of another function", "a statement has no parameters");
    hcy_formula_release(f);
    f = with_x(&t);
    (void)hcy_formula_define(f, "g", names, 1, HCY_TERM(f, "*", hcy_formula_parameter(f, "x"), hcy_formula_real(f, 2)));
    st_ok(hcy_formula_assign(f, "x", HCY_TERM(f, "g", t)), "an operand that the function does not read may be its like");
    hcy_formula_release(f);
}

static void test_longest(void)
{
    hcy_term t;
    hcy_formula *f = with_x(&t);
    hcy_term one = hcy_formula_integer(f, 1);
    (void)hcy_formula_operand(f, hcy_op_array("xy", x));
    int status = 0;
    for (int i = 0; i < 9360 && !status; i++)
        status = hcy_formula_assign(f, "x", one);
    for (int i = 0; i < 2 && !status; i++)
        status = hcy_formula_assign(f, "xy", one);
    const char *text = "";
    st_ok(status ? status : hcy_formula_text(&text, f), "a text of as many characters as one may have");
    ok(strlen(text) == 65536, "has them: %zu", strlen(text));
    st_says(hcy_formula_assign(f, "x", one), HCY_EUNSUPPORTED, "more than 65536 characters", "one of more");
    hcy_formula_release(f);
}

static void test_refusals(void)
{
    static const char *const names[] = { "p" };
    hcy_term t, other;
    hcy_formula *f = with_x(&t), *g = with_x(&other);
    is_refused(f, HCY_TERM(f, "+", t, other), HCY_EINVAL, "a term of another formula");
    f = with_x(&t);
    is_refused(f, HCY_TERM(f, "+", t, ((hcy_term){ f, 40 })), HCY_EINVAL, "there is no such term");
    f = with_x(&t);
    is_refused(f, HCY_TERM(f, "sin(x); x = ", t), HCY_EINVAL, "is no function or sign");
    f = with_x(&t);
    is_refused(f, HCY_TERM(f, "<", t), HCY_EINVAL, "is no function or sign");
    f = with_x(&t);
    is_refused(f, hcy_formula_operand(f, hcy_op_array("hcy_a", y)), HCY_EINVAL, "hcy_a is no name");
    f = with_x(&t);
    is_refused(f, hcy_formula_operand(f, hcy_op_array("1", y)), HCY_EINVAL, "1 is no name");
    f = with_x(&t);
    is_refused(f, hcy_formula_operand(f, hcy_op_array("y", NULL)), HCY_EINVAL, "neither an array nor a number");
    f = with_x(&t);
    is_refused(f, hcy_formula_integer(f, INT64_MIN), HCY_ERANGE, "more than 18 digits");
    f = with_x(&t);
    is_refused(f, hcy_formula_along(f, "sum", &t, 1, (const int[]){ 8 }, 1, 0), HCY_EINVAL, "8 axes at most");
    f = with_x(&t);
    is_refused(f, hcy_formula_define(f, "g", names, 0, t), HCY_EINVAL, "has no parameters");
    f = with_x(&t);
    for (int i = 0; i < 1100; i++)
        t = HCY_TERM(f, "-", t);
    is_refused(f, t, HCY_EUNSUPPORTED, "more than 1024 terms");
    f = with_x(&t);
    t = HCY_TERM(f, "+", t, hcy_formula_parameter(f, "p"));
    for (int i = 0; i < 30; i++)
        t = HCY_TERM(f, "*", t, t);
    is_refused(f, hcy_formula_define(f, "g", names, 1, t), HCY_EUNSUPPORTED, "more than 65536 characters");
    f = with_x(&t);
    st_says(hcy_formula_assign(f, "y", t), HCY_EINVAL, "no array is called y", "an array that is not there");
    hcy_formula_release(f);
    /* What only the text's own checks see: the formula has not failed, and the text is told. */
    t = HCY_TERM(g, "sinus", other);
    st_ok(hcy_formula_assign(g, "x", t), "a function that is none");
    st_says(hcy_formula_eval(queue, g), HCY_EINVAL, "\"x = sinus(x);\", line 1, column 5: no function is called sinus",
            "is refused where it is read");
    hcy_formula_release(g);
    st_is(hcy_formula_create(&f, 64), HCY_EINVAL, "an unknown flag");
    f = with_x(&t);
    for (int i = 0; i < 300; i++)
        t = HCY_TERM(f, "-", t);
    st_ok(hcy_formula_assign(f, "x", t), "more operations than a text may have");
    st_says(hcy_formula_eval(queue, f), HCY_EUNSUPPORTED, "more than 256 operations", "are refused by it");
    hcy_formula_release(f);
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    dev = cts_open();
    queue = cts_queue(dev);
    make_arrays();
    test_operations(argc > 2 && !strcmp(argv[2], "few") ? 4 : 1);
    test_numbers();
    test_shared();
    test_statements();
    test_axes();
    test_functions();
    test_set();
    test_memory();
    test_stale();
    test_parameters();
    test_longest();
    test_refusals();
    hcy_array *const arrays[] = { x, y, k, m, b, c, d };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        hcy_array_release(arrays[i]);
    (void)!hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
