/* array_formula.c - an expression that is data until the program runs: a network of a few sines, whose layers come from
 * the command line, becomes one kernel; a number of it changes from call to call.
 *
 * usage: array_formula [DEVICE [LAYERS]]        cpu and 6 unless they are given; cuda:0, opencl:0 and so on
 *
 * Each layer is u = sin(w * u + u of the layer before the last), with its own w; the result is y = a * u, and s the sum
 * of its squares, for several a.  A text that does the same is written out by hand and must have the same bits.
 */
#include <halcyon/formula.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 10000, MOST_LAYERS = 20, STEPS = 5 };

static double weight_of(int layer)
{
    return 1.25 - 0.125 * (layer % 7);
}

/* y = a * u; s = sum(y * y). */
static int build(hcy_formula **f, hcy_array *x, hcy_array *y, hcy_array *s, int layers)
{
    int status = hcy_formula_create(f, 0);
    if (status)
        return status;
    /* The first failure stays, so that none of these is looked at. */
    hcy_term u = hcy_formula_operand(*f, hcy_op_array("x", x)), before = u,
             a = hcy_formula_operand(*f, hcy_op_real("a", 1));
    for (int i = 0; i < layers; i++) {
        hcy_term weighted = HCY_TERM(*f, "*", hcy_formula_real(*f, weight_of(i)), u),
                 next = HCY_TERM(*f, "sin", HCY_TERM(*f, "+", weighted, before));
        before = u;
        u = next;
    }
    (void)hcy_formula_operand(*f, hcy_op_array("y", y));
    (void)hcy_formula_operand(*f, hcy_op_array("s", s));
    status = hcy_formula_assign(*f, "y", HCY_TERM(*f, "*", a, u));
    /* A term is what its operands were when it was made: what y is from here on is another. */
    hcy_term written = hcy_formula_operand(*f, hcy_op_array("y", y));
    if (!status)
        status = hcy_formula_assign(*f, "s", HCY_TERM(*f, "sum", HCY_TERM(*f, "*", written, written)));
    return status;
}

/* The same, as one would write it. */
static int eval_by_hand(hcy_queue *queue, hcy_array *x, hcy_array *y, double a, int layers)
{
    char text[MOST_LAYERS * 40 + 40], *at = text;
    at += sprintf(at, "u0 = x; u1 = sin(%.3f * u0 + u0);", weight_of(0));
    for (int i = 1; i < layers; i++)
        at += sprintf(at, "u%d = sin(%.3f * u%d + u%d);", i + 1, weight_of(i), i, i - 1);
    sprintf(at, "y = a * u%d", layers);
    return HCY_EVAL(queue, text, hcy_op_array("x", x), hcy_op_array("y", y), hcy_op_real("a", a));
}

int main(int argc, char **argv)
{
    static float got[N], want[N];
    const int layers = argc > 2 ? atoi(argv[2]) : 6;
    const int64_t n = N;
    const char *text = "";
    hcy_device *dev = NULL;
    hcy_queue *queue = NULL;
    hcy_array *x = NULL, *y = NULL, *z = NULL, *s = NULL;
    hcy_formula *f = NULL;
    int wrong = 0;
    if (layers < 1 || layers > MOST_LAYERS) {
        fprintf(stderr, "array_formula: from 1 to %d layers\n", MOST_LAYERS);
        return 2;
    }
    int status = hcy_device_open(&dev, argc > 1 ? argv[1] : "cpu");
    if (!status)
        status = hcy_queue_create(&queue, dev);
    if (!status)
        status = hcy_array_empty(&x, dev, HCY_FLOAT32, 1, &n);
    if (!status)
        status = hcy_array_empty(&y, dev, HCY_FLOAT32, 1, &n);
    if (!status)
        status = hcy_array_empty(&z, dev, HCY_FLOAT32, 1, &n);
    if (!status)
        status = hcy_array_empty(&s, dev, HCY_FLOAT32, 0, NULL);
    if (!status)
        status = HCY_EVAL(queue, "x = 2 * uniform32(1, index) - 1", hcy_op_array("x", x));
    if (!status)
        status = build(&f, x, y, s, layers);
    if (!status)
        status = hcy_formula_text(&text, f);
    for (int i = 0; !status && i < STEPS; i++) {
        float sum = 0;
        status = hcy_formula_set(f, hcy_op_real("a", 0.5 * i));
        if (!status)
            status = hcy_formula_eval(queue, f);
        if (!status)
            status = eval_by_hand(queue, x, z, 0.5 * i, layers);
        if (!status)
            status = hcy_array_to_host(got, queue, y);
        if (!status)
            status = hcy_array_to_host(want, queue, z);
        if (!status)
            status = hcy_array_to_host(&sum, queue, s);
        wrong += !status && memcmp(got, want, sizeof got) != 0;
        if (!status)
            printf("a = %g: the squares' sum is %.7g\n", 0.5 * i, (double)sum);
    }
    if (status)
        fprintf(stderr, "array_formula: %s\n", hcy_last_error()->text);
    else
        printf("%sin %d of %d steps bits differ from those of a text\n", text, wrong, STEPS);
    hcy_formula_release(f);
    hcy_array_release(x);
    hcy_array_release(y);
    hcy_array_release(z);
    hcy_array_release(s);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return status || wrong;
}
