/* eval_layouts.c - every operation of every type on arrays of every layout has the bits that it has on arrays whose
 * elements lie in order, and leaves alone what is beside the result.
 *
 *     tests/eval_layouts [DEVICE [few]]        few: some operations of each type, in a layout each
 *
 * That those are right is other programs' to say: eval.c, maths.c, numpy.t.
 */
#include "eval_layouts.h"

#include <halcyon/eval.h>

enum { MOST = 3200, WIDE = 16 };

static hcy_device *dev;
static hcy_queue *queue;
static bool few;

/* What a result is beside the operands' type. */
enum result { SAME, TRUTH, PART, COUNT };
struct operation {
    const char *text;
    enum result result;
};
static const struct operation of_bools[] = {
    { "y = a & b", SAME }, { "y = a | b", SAME }, { "y = a ^ b", SAME }, { "y = !a", SAME },
    { "y = a == b", SAME }, { "y = where(a, b, c)", SAME }, { "y = a + 2", COUNT }, { "y = a && b || c", SAME },
};
static const struct operation of_integers[] = {
    { "y = a + b", SAME }, { "y = a - b", SAME }, { "y = a * b", SAME }, { "y = -a", SAME }, { "y = a // b", SAME },
    { "y = a % b", SAME }, { "y = a & b", SAME }, { "y = a | b", SAME }, { "y = a ^ b", SAME }, { "y = ~a", SAME },
    { "y = a ** 3", SAME }, { "y = abs(a)", SAME }, { "y = sign(a)", SAME }, { "y = minimum(a, b)", SAME },
    { "y = maximum(a, b)", SAME }, { "y = clip(a, 3, 9)", SAME }, { "y = where(a < b, b, c)", SAME },
    { "y = a < b", TRUTH }, { "y = a <= b", TRUTH }, { "y = a == b", TRUTH }, { "y = a != b", TRUTH },
    { "y = a && b", TRUTH },
};
static const struct operation of_reals[] = {
    { "y = a + b", SAME }, { "y = a - b", SAME }, { "y = a * b", SAME }, { "y = a / b", SAME }, { "y = -a", SAME },
    { "y = abs(a)", SAME }, { "y = sign(a)", SAME }, { "y = sqrt(a)", SAME }, { "y = rsqrt(a)", SAME },
    { "y = floor(a)", SAME }, { "y = ceil(a)", SAME }, { "y = round(a)", SAME }, { "y = minimum(a, b)", SAME },
    { "y = maximum(a, b)", SAME }, { "y = clip(a, b, c)", SAME }, { "y = fma(a, b, c)", SAME },
    { "y = where(a < b, b, c)", SAME }, { "y = exp(a)", SAME }, { "y = exp2(a)", SAME }, { "y = expm1(a)", SAME },
    { "y = log(a)", SAME }, { "y = log2(a)", SAME }, { "y = log10(a)", SAME }, { "y = log1p(a)", SAME },
    { "y = sin(a)", SAME }, { "y = cos(a)", SAME }, { "y = tan(a)", SAME }, { "y = asin(a)", SAME },
    { "y = acos(a)", SAME }, { "y = atan(a)", SAME }, { "y = sinh(a)", SAME }, { "y = cosh(a)", SAME },
    { "y = tanh(a)", SAME }, { "y = erf(a)", SAME }, { "y = a ** b", SAME }, { "y = atan2(a, b)", SAME },
    { "y = hypot(a, b)", SAME }, { "y = fmod(a, b)", SAME }, { "y = copysign(a, b)", SAME },
    { "y = ldexp(a, 3)", SAME }, { "y = fraction(a)", SAME }, { "y = exponent(a)", COUNT }, { "y = isnan(a)", TRUTH },
    { "y = a < b", TRUTH }, { "y = a <= b", TRUTH }, { "y = a == b", TRUTH }, { "y = a != b", TRUTH },
};
static const struct operation of_complex[] = {
    { "y = a + b", SAME }, { "y = a - b", SAME }, { "y = a * b", SAME }, { "y = a / b", SAME }, { "y = -a", SAME },
    { "y = conj(a)", SAME }, { "y = exp(a)", SAME }, { "y = log(a)", SAME }, { "y = sqrt(a)", SAME },
    { "y = a ** b", SAME }, { "y = where(real(a) < imag(b), b, c)", SAME }, { "y = complex(real(a), imag(b))", SAME },
    { "y = real(a)", PART }, { "y = imag(a)", PART }, { "y = abs(a)", PART }, { "y = abs2(a)", PART },
    { "y = angle(a)", PART }, { "y = a == b", TRUTH }, { "y = a != b", TRUTH },
};

static int result_type(enum result result, int dtype)
{
    if (result == PART)
        return dtype == HCY_COMPLEX64 ? HCY_FLOAT32 : HCY_FLOAT64;
    return result == TRUTH ? HCY_BOOL : result == COUNT ? HCY_INT64 : dtype;
}

/* Any bits of integers and half floats; of floats numbers of a size that functions have, and any bits among them. */
static void fill_numbers(unsigned char *x, int dtype, size_t n, uint64_t seed)
{
    const bool complex = dtype == HCY_COMPLEX64 || dtype == HCY_COMPLEX128,
               single = dtype == HCY_FLOAT32 || dtype == HCY_COMPLEX64,
               real = dtype == HCY_FLOAT64 || single || complex;
    const size_t size = hcy_dtype_size(dtype) / (complex ? 2 : 1);
    for (size_t i = 0; i < n * (complex ? 2 : 1); i++) {
        uint64_t bits = cts_random(&seed);
        double number = (double)(int64_t)bits * 0x1p-60;
        float narrow = (float)number;
        if (dtype == HCY_BOOL)
            x[i] = bits >> 9 & 1;
        else
            memcpy(x + i * size,
                   !real || bits % 16 == 0 ? (void *)&bits
                   : single                ? (void *)&narrow
                                           : (void *)&number,
                   size);
    }
}

static hcy_array *array_of(int dtype, int rank, const int64_t *shape, const void *data)
{
    hcy_array *a = NULL;
    if (hcy_array_from_host(&a, dev, dtype, rank, shape, data))
        bail_out("no array: %s", hcy_last_error()->text);
    return a;
}

/* Element by element between an array's memory and numbers in order, as a result of this shape sees it. */
static void walk(unsigned char *lying, unsigned char *in_order, const hcy_array_info *v, const hcy_array_info *result,
                 bool lay)
{
    const size_t size = hcy_dtype_size(v->dtype);
    int64_t index[HCY_ARRAY_MAX_RANK] = { 0 };
    for (int64_t i = 0; i < result->count; i++) {
        unsigned char *there = lying + place_of(v, result->rank, index) * size, *here = in_order + (size_t)i * size;
        memcpy(lay ? there : here, lay ? here : there, size);
        for (int d = result->rank; d-- > 0; index[d] = 0)
            if (++index[d] < result->shape[d])
                break;
    }
}

/* Whether the operation on these views makes what it makes of their numbers in order. */
static bool is_the_same(const struct operation *op, int dtype, const struct layout *l)
{
    static unsigned char x[4][MOST * WIDE], ordered[MOST * WIDE], got[MOST * WIDE];
    static const char *const names[] = { "a", "b", "c", "y" };
    hcy_array *whole[4], *view[4], *plain[4];
    hcy_operand lying[4], in_order[4];
    hcy_array_info info[4];
    size_t n = 1;
    for (int d = 0; d < l->rank; d++)
        n *= (size_t)l->shape[d];
    for (int k = 3; k >= 0; k--) {
        const int type = k == 3 ? result_type(op->result, dtype) : dtype;
        fill_numbers(x[k], type, n, 7u + (unsigned)k);
        whole[k] = array_of(type, l->rank, l->shape, x[k]);
        if (hcy_array_slice(&view[k], whole[k], "%s", l->slice[k] ? l->slice[k] : "..."))
            bail_out("no slice: %s", hcy_last_error()->text);
        info[k] = info_of(view[k]);
        walk(x[k], ordered, &info[k], &info[3], false);
        plain[k] = array_of(type, info[3].rank, info[3].shape, ordered);
        lying[k] = hcy_op_array(names[k], view[k]);
        in_order[k] = hcy_op_array(names[k], plain[k]);
    }
    int status = cts_first(hcy_eval(queue, op->text, lying, 4), hcy_eval(queue, op->text, in_order, 4));
    status = cts_first(status, hcy_array_to_host(ordered, queue, plain[3]));
    status = cts_first(status, hcy_array_to_host(got, queue, whole[3]));
    if (!status)
        walk(x[3], ordered, &info[3], &info[3], true);
    else
        diag("%s of %s: %s", op->text, hcy_dtype_name(dtype), hcy_last_error()->text);
    for (int k = 0; k < 4; k++) {
        hcy_array_release(whole[k]);
        hcy_array_release(view[k]);
        hcy_array_release(plain[k]);
    }
    return !status && !memcmp(got, x[3], n * hcy_dtype_size(info[3].dtype));
}

static void test_type(int dtype)
{
    const struct operation *operations = of_reals;
    size_t n = sizeof of_reals / sizeof *of_reals, wrong = 0, tried = 0;
    if (dtype == HCY_BOOL) {
        operations = of_bools;
        n = sizeof of_bools / sizeof *of_bools;
    } else if (dtype == HCY_COMPLEX64 || dtype == HCY_COMPLEX128) {
        operations = of_complex;
        n = sizeof of_complex / sizeof *of_complex;
    } else if (dtype < HCY_FLOAT16) {
        operations = of_integers;
        n = sizeof of_integers / sizeof *of_integers;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++) {
            /* Where each is a compilation: some of each type, backwards or in planes with gaps. */
            if (few && ((i + (size_t)dtype + 3) % 11 || k != 1 + i % 2))
                continue;
            tried++;
            if (!is_the_same(&operations[i], dtype, &layouts[k]) && !wrong++)
                diag("first: %s, %s", operations[i].text, layouts[k].what);
        }
    ok(tried && !wrong, "%zu operations and layouts of %s: %zu wrong", tried, hcy_dtype_name(dtype), wrong);
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    few = argc > 2 && !strcmp(argv[2], "few");
    dev = cts_open();
    queue = cts_queue(dev);
    for (int dtype = HCY_BOOL; dtype <= HCY_COMPLEX128; dtype++)
        test_type(dtype);
    /* A driver that still compiles for the last command must not meet the end of the process. */
    (void)!hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
