/* own_kernels.c - kernels of one's own from a text: elementwise, a reduction, a scan.  One text for all devices, with
 * the same bits on each; no compiler is needed where there is none.
 *
 * usage: own_kernels [DEVICE]        cpu unless it is given; cuda:0, opencl:0 and so on
 */
#include <halcyon/eval.h>
#include <stdio.h>

enum { N = 100000 };

/* Elementwise: y becomes what is left of x beyond a threshold, folded at 1. */
static const char shrink[] = "soft(v, t) = sign(v) * maximum(abs(v) - t, 0);\n"
                             "r = soft(x, t);\n"
                             "y = where(abs(r) > 1, r / abs(r), r);";

/* A reduction: of two numbers the one that is farther from the centre.  All of x to one; -1 if there were none. */
static const char farthest[] = "far(a, b) = where(abs(b - centre) > abs(a - centre), b, a);\n"
                               "result = reduce(far, x, -1);";

/* A scan: steps z -> m * z + c one after the other, as pairs (m, c) in complex numbers.  Two of them are one such. */
static const char compose[] = "then(a, b) = complex(real(b) * real(a), real(b) * imag(a) + imag(b));\n"
                              "z = imag(scan(then, complex(m, c)));";

static hcy_array *make(int *status, hcy_device *dev, const double *numbers)
{
    const int64_t n = N;
    hcy_array *a = NULL;
    if (!*status)
        *status = hcy_array_from_host(&a, dev, HCY_FLOAT64, 1, &n, numbers);
    return a;
}

/* All of it by loops.  The numbers are such that no step is rounded. */
static int compare(const double *x, const double *y, const double *z, double result)
{
    double state = 0, best = x[0];
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        double size = x[i] < 0 ? -x[i] : x[i], left = size > 0.25 ? size - 0.25 : 0;
        wrong += y[i] != (x[i] < 0 ? -1 : 1) * (left > 1 ? 1 : left);
        double distance = x[i] - 0.5, most = best - 0.5;
        best = distance * distance > most * most ? x[i] : best;
        state = (i % 3 ? 1 : 0.5) * (i % 7 ? state : 0) + i % 5;
        wrong += z[i] != state;
    }
    return wrong + (result != best);
}

int main(int argc, char **argv)
{
    static double x[N], m[N], c[N], y[N], z[N];
    const int64_t one = 1;
    double result = 0;
    hcy_device *dev = NULL;
    hcy_queue *queue = NULL;
    hcy_array *found = NULL;
    int wrong = 0, status = hcy_device_open(&dev, argc > 1 ? argv[1] : "cpu");
    for (int i = 0; i < N; i++) {
        x[i] = (i * 7919 % 4001 - 2000) / 1024.0;
        m[i] = (i % 3 ? 1 : 0.5) * (i % 7 ? 1 : 0);
        c[i] = i % 5;
    }
    if (!status)
        status = hcy_queue_create(&queue, dev);
    hcy_array *in = make(&status, dev, x), *out = make(&status, dev, x), *factor = make(&status, dev, m),
              *term = make(&status, dev, c), *states = make(&status, dev, c);
    if (!status)
        status = hcy_array_empty(&found, dev, HCY_FLOAT64, 1, &one);
    if (!status)
        status = HCY_EVAL(queue, shrink, hcy_op_array("x", in), hcy_op_array("y", out), hcy_op_real("t", 0.25));
    if (!status)
        status = HCY_EVAL(queue, farthest, hcy_op_array("x", in), hcy_op_array("result", found),
                          hcy_op_real("centre", 0.5));
    if (!status)
        status = HCY_EVAL(queue, compose, hcy_op_array("z", states), hcy_op_array("m", factor),
                          hcy_op_array("c", term));
    if (!status)
        status = hcy_array_to_host(y, queue, out);
    if (!status)
        status = hcy_array_to_host(z, queue, states);
    if (!status)
        status = hcy_array_to_host(&result, queue, found);
    if (status)
        fprintf(stderr, "own_kernels: %s\n", hcy_last_error()->text);
    else {
        wrong = compare(x, y, z, result);
        printf("farthest from the centre: %g; the last state: %g; %d numbers wrong\n", result, z[N - 1], wrong);
    }
    hcy_array_release(in);
    hcy_array_release(out);
    hcy_array_release(factor);
    hcy_array_release(term);
    hcy_array_release(states);
    hcy_array_release(found);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return status || wrong;
}
