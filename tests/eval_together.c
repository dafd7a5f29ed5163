/* eval_together.c - statements that run as one kernel have the bits that they have one after the other, also where
 * memory is shared, shapes differ or values are rounded where they are stored. */
#include "cts.h"

#include <halcyon/eval.h>

enum { N = 3001, ARRAYS = 13, MOST = 16 };

/* What texts name: views of one memory each but w, which shares that of a. */
static const struct {
    const char *name;
    int dtype, rank;
} kinds[ARRAYS] = { { "a", HCY_FLOAT32, 1 },   { "b", HCY_FLOAT32, 1 },    { "c", HCY_FLOAT32, 1 },
                    { "d", HCY_FLOAT64, 1 },   { "k", HCY_INT8, 1 },       { "t", HCY_BOOL, 1 },
                    { "h", HCY_FLOAT16, 1 },   { "u", HCY_COMPLEX64, 1 },  { "v", HCY_COMPLEX64, 1 },
                    { "s", HCY_FLOAT64, 0 },   { "r", HCY_FLOAT64, 0 },    { "z", HCY_COMPLEX128, 0 },
                    { "w", HCY_FLOAT32, 1 } };

static const char *const texts[] = {
    "a = 2*b + c; b = a - c; c = a*b",
    "a += b; b += a; a -= c",
    "a = b; b = 2*b; c = a",
    "b = a; a = b; c = a + b",
    "a = 2*b; s = sum(float64(a)*float64(a))",
    "a -= float32(s)*b; c += float32(s)*b; r = dot(float64(a), float64(a)); s = r/2",
    "a = b + 1; s = max(a); c = a - float32(s); r = min(c)",
    "a = b + mean(b); c = a*a; s = sum(c)",
    "u = v*v; v = conj(u) + u; z = vdot(complex128(v), complex128(u))",
    "u = 1j*u; z = sum(complex128(u)); s = real(z)",
    "k = int8(100*a); d = k + 100; s = sum(k)",
    "t = a > 0.5; a = where(t, a, b); s = count(t)",
    "h = float16(a/3); c = float32(h); d = h",
    "d = float64(a) - float64(a)*0; d = (d - d)/(d - d); b = float32(copysign(1.0, d)); s = sum(b)",
    "s = sum(a); r = sum(b); s = s + r; r = 2*s",
    "a = index; b = a + index; s = sum(b)",
    "a = w; b = a; s = sum(float64(b))",
    "b = a + w; a = b; w = 2*w; c = w",
    "c = s; s = 3*s; b = c + s",
    "a = cumsum(b); c = a + 1; r = sum(c)",
    "a = exp(b); s = var(a); c = a - float32(s)",
    "a = b; s = argmax(a); r = norm(a)",
};

static hcy_array *made[2][ARRAYS];

static int make_arrays(hcy_queue *queue, int side)
{
    const int64_t n = N;
    int status = 0;
    hcy_device *dev = hcy_queue_device(queue);
    for (int i = 0; i + 1 < ARRAYS; i++)
        status = cts_first(status, hcy_array_empty(&made[side][i], dev, kinds[i].dtype, kinds[i].rank, &n));
    return cts_first(status, hcy_array_slice(&made[side][ARRAYS - 1], made[side][0], "::-1"));
}

static int fill_arrays(hcy_queue *queue, int side)
{
    static const char *const fills[ARRAYS - 1] = { "x = float32(normal(1, index))",
                                                   "x = float32(normal(2, index))",
                                                   "x = uniform32(3, index)",
                                                   "x = normal(4, index)",
                                                   "x = int8(index % 100)",
                                                   "x = index % 3 == 0",
                                                   "x = float16(uniform(5, index))",
                                                   "x = complex(float32(normal(6, index)), uniform32(7, index))",
                                                   "x = complex(uniform32(8, index), float32(normal(9, index)))",
                                                   "x = 0.3",
                                                   "x = -0.7",
                                                   "x = 1 + 2j" };
    int status = 0;
    for (int i = 0; !status && i + 1 < ARRAYS; i++)
        status = HCY_EVAL(queue, fills[i], hcy_op_array("x", made[side][i]));
    return status;
}

/* The text at once, or each statement by itself. */
static int run_text(hcy_queue *queue, int side, const char *text, bool one_by_one)
{
    hcy_operand operands[ARRAYS];
    char part[256];
    int status = 0;
    for (int i = 0; i < ARRAYS; i++)
        operands[i] = hcy_op_array(kinds[i].name, made[side][i]);
    while (!status && *text) {
        size_t length = one_by_one ? strcspn(text, ";") : strlen(text);
        snprintf(part, sizeof part, "%.*s", (int)length, text);
        status = hcy_eval(queue, part, operands, ARRAYS);
        text += length + (text[length] == ';');
    }
    return status;
}

static bool is_same(hcy_queue *queue, int i)
{
    static unsigned char bytes[2][N * MOST];
    const size_t size = (kinds[i].rank ? N : 1) * hcy_dtype_size(kinds[i].dtype);
    for (int side = 0; side < 2; side++)
        if (hcy_array_to_host(bytes[side], queue, made[side][i]))
            return false;
    return !memcmp(bytes[0], bytes[1], size);
}

static void test_text(hcy_queue *queue, const char *text)
{
    int status = 0;
    /* Twice: the second run is of layouts that are known. */
    for (int turn = 0; !status && turn < 2; turn++)
        for (int side = 0; side < 2; side++) {
            status = cts_first(status, fill_arrays(queue, side));
            status = cts_first(status, run_text(queue, side, text, side));
        }
    st_ok(status, "%s", text);
    for (int i = 0; !status && i < ARRAYS; i++)
        if (!is_same(queue, i)) {
            ok(false, "%s is as after one statement behind the other", kinds[i].name);
            return;
        }
    ok(!status, "all arrays are as after one statement behind the other");
}

/* A text whose arrays went together once, with others. */
static void test_shapes(hcy_queue *queue)
{
    const int64_t n = 7, m = 5, flat[2] = { 5, 7 };
    hcy_array *a = NULL, *b = NULL, *c = NULL, *turned = NULL;
    hcy_device *dev = hcy_queue_device(queue);
    float got[35];
    int status = hcy_array_empty(&a, dev, HCY_FLOAT32, 1, &n);
    status = cts_first(status, hcy_array_empty(&b, dev, HCY_FLOAT32, 1, &m));
    status = cts_first(status, hcy_array_empty(&c, dev, HCY_FLOAT32, 2, flat));
    status = cts_first(status, hcy_array_transpose(&turned, c, NULL));
    const char *text = "x = 1 + index; y = x + index";
    status = cts_first(status, HCY_EVAL(queue, text, hcy_op_array("x", a), hcy_op_array("y", a)));
    st_is(HCY_EVAL(queue, text, hcy_op_array("x", a), hcy_op_array("y", b)), HCY_EINVAL, "shapes that do not go together");
    status = cts_first(status, HCY_EVAL(queue, "x = 1; y = 2", hcy_op_array("x", a), hcy_op_array("y", b)));
    status = cts_first(status, HCY_EVAL(queue, text, hcy_op_array("x", c), hcy_op_array("y", c)));
    status = cts_first(status, HCY_EVAL(queue, "x = 1; y = 2 + index", hcy_op_array("x", turned), hcy_op_array("y", turned)));
    status = cts_first(status, hcy_array_to_host(got, queue, turned));
    st_ok(status, "other shapes, one array under two names, and one that does not lie in order");
    ok(got[0] == 2 && got[34] == 36, "are all written");
    hcy_array_release(turned);
    hcy_array_release(a);
    hcy_array_release(b);
    hcy_array_release(c);
}

/* A sum of each row or column of what is written before it: rows of whole pieces go with it, others come after it. */
static void test_rows(hcy_queue *queue, int64_t rows, int64_t columns, int axis)
{
    static double got[2][4096];
    static float written[2][3 * 3072];
    const int64_t shape[2] = { rows, columns }, n = axis ? rows : columns;
    hcy_array *a[2] = { NULL, NULL }, *b = NULL, *s[2] = { NULL, NULL };
    hcy_device *dev = hcy_queue_device(queue);
    const char *text = axis ? "a -= 2*b; s = sum(float64(a)*float64(a), axis=1)"
                            : "a -= 2*b; s = sum(float64(a)*float64(a), axis=0)";
    int status = hcy_array_empty(&b, dev, HCY_FLOAT32, 2, shape);
    status = cts_first(status, HCY_EVAL(queue, "b = float32(normal(3, index))", hcy_op_array("b", b)));
    for (int side = 0; side < 2; side++) {
        status = cts_first(status, hcy_array_empty(&a[side], dev, HCY_FLOAT32, 2, shape));
        status = cts_first(status, hcy_array_empty(&s[side], dev, HCY_FLOAT64, 1, &n));
        status = cts_first(status, HCY_EVAL(queue, "a = float32(normal(4, index))", hcy_op_array("a", a[side])));
        const hcy_operand operands[] = { hcy_op_array("a", a[side]), hcy_op_array("b", b), hcy_op_array("s", s[side]) };
        if (side)
            status = cts_first(status, hcy_eval(queue, text, operands, 3));
        else
            status = cts_first(status, hcy_eval(queue, "a -= 2*b", operands, 2));
        status = cts_first(status, side ? 0 : hcy_eval(queue, strchr(text, ';') + 2, operands, 3));
        status = cts_first(status, hcy_array_to_host(got[side], queue, s[side]));
        status = cts_first(status, hcy_array_to_host(written[side], queue, a[side]));
    }
    st_ok(status, "%d rows of %d, summed along axis %d, with what is written before", (int)rows, (int)columns, axis);
    ok(!memcmp(got[0], got[1], sizeof got[0]) && !memcmp(written[0], written[1], sizeof written[0]), "as after one statement behind the other");
    for (int side = 0; side < 2; side++) {
        hcy_array_release(a[side]);
        hcy_array_release(s[side]);
    }
    hcy_array_release(b);
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    hcy_device *dev = cts_open();
    hcy_queue *queue = cts_queue(dev);
    if (make_arrays(queue, 0) || make_arrays(queue, 1))
        bail_out("%s", hcy_last_error()->text);
    const size_t step = argc > 2 && !strcmp(argv[2], "few") ? 4 : 1;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i += step)
        test_text(queue, texts[i]);
    test_shapes(queue);
    test_rows(queue, 5, 1024, 1);
    test_rows(queue, 3, 3072, 1);
    test_rows(queue, 3, 1000, 1);
    test_rows(queue, 1024, 3, 0);
    for (int i = 0; i < 2 * ARRAYS; i++)
        hcy_array_release(made[i / ARRAYS][i % ARRAYS]);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
