/* operators.c - rates of differences of neighbours beside a copy of the same device in the same run.
 *
 *     bench/operators [DEVICE [SHAPE [TYPE]]]        cpu, 400x400x400, float32
 *
 * GB/s count what must move: each vector once, read or written.  Some calls one after the other, the best of seven.
 */
#include "bench.h"

#include <halcyon/eval.h>
#include <halcyon/operator.h>
#include <string.h>

enum { ROUNDS = 7, IN_A_ROW = 4 };

static hcy_device *dev;
static hcy_queue *queue;
static hcy_space space;
static double copy_rate; /* GB/s */

static double bytes_of(const hcy_space *s)
{
    double bytes = (double)hcy_dtype_size(s->dtype);
    for (int d = 0; d < s->rank; d++)
        bytes *= (double)s->shape[d];
    return bytes;
}

static hcy_array *make_vector(const hcy_space *s)
{
    hcy_array *a;
    CHECK(hcy_array_full(&a, queue, s->dtype, s->rank, s->shape, 0));
    CHECK(HCY_EVAL(queue, "a = index % 1000", hcy_op_array("a", a)));
    return a;
}

/* --- What is timed: y of x, by an operator, or a copy --- */

static void run_once(hcy_array *y, hcy_operator *op, int adjoint, hcy_array *x)
{
    if (op)
        CHECK((adjoint ? hcy_operator_apply_adjoint : hcy_operator_apply)(queue, y, op, x));
    else
        CHECK(HCY_EVAL(queue, "y = x", hcy_op_array("y", y), hcy_op_array("x", x)));
}

/* Seconds a call. */
static double time_calls(hcy_array *y, hcy_operator *op, int adjoint, hcy_array *x)
{
    double best = 1e9;
    for (int round = -1; round < ROUNDS; round++) {
        double begin = timer_now();
        for (int i = 0; i < IN_A_ROW; i++)
            run_once(y, op, adjoint, x);
        CHECK(hcy_queue_finish(queue));
        double seconds = timer_now() - begin;
        /* The first one compiles. */
        if (round >= 0 && seconds < best)
            best = seconds;
    }
    return best / IN_A_ROW;
}

static void show(const char *name, hcy_operator *op)
{
    hcy_operator_info info = HCY_OPERATOR_INFO_INIT;
    info.domain = info.range = space;
    if (op)
        CHECK(hcy_operator_get_info(&info, op));
    for (int adjoint = 0; adjoint < (op ? 2 : 1); adjoint++) {
        hcy_array *x = make_vector(adjoint ? &info.range : &info.domain),
                  *y = make_vector(adjoint ? &info.domain : &info.range);
        double seconds = time_calls(y, op, adjoint, x),
               rate = 1e-9 * (bytes_of(&info.domain) + bytes_of(&info.range)) / seconds;
        if (!op)
            copy_rate = rate;
        printf("%-28s%-8s %9.3f ms %8.2f GB/s %5.0f %% of the copy\n", name, adjoint ? "adjoint" : "", 1e3 * seconds,
               rate, 100 * rate / copy_rate);
        fflush(stdout);
        hcy_array_release(x);
        hcy_array_release(y);
    }
    hcy_operator_release(op);
}

static void show_differences(void)
{
    static const char *const names[] = { "",          "forward",        "backward",        "centred", "second",
                                         "centred 5", "second forward", "second backward", "second 5" };
    hcy_operator *op;
    char name[80];
    for (int kind = HCY_DIFFERENCE_FORWARD; kind <= HCY_DIFFERENCE_SECOND_5; kind++)
        for (int axis = 0; axis < space.rank; axis++) {
            /* Other kinds have no edges of their own. */
            const int forms = kind == HCY_DIFFERENCE_CENTRED || kind == HCY_DIFFERENCE_SECOND ||
                                      kind == HCY_DIFFERENCE_CENTRED_5 || kind == HCY_DIFFERENCE_SECOND_5
                                  ? 2
                                  : 1;
            for (int form = 0; form < forms; form++) {
                snprintf(name, sizeof name, "%s%s, axis %d", names[kind], form ? ", edges" : "", axis);
                CHECK(hcy_operator_difference(&op, dev, &space, axis, kind | (form ? HCY_DIFFERENCE_EDGES : 0), 2));
                show(name, op);
            }
        }
}

static int parse_shape(hcy_space *s, const char *text)
{
    for (s->rank = 0; s->rank < HCY_ARRAY_MAX_RANK - 1; text++) {
        char *end;
        long long n = strtoll(text, &end, 10);
        if (end == text || n < 1)
            return 0;
        s->shape[s->rank++] = n;
        text = end;
        if (!*text)
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    hcy_operator *op;
    for (space.dtype = HCY_FLOAT32; space.dtype <= HCY_COMPLEX128; space.dtype++)
        if (!strcmp(hcy_dtype_name(space.dtype), argc > 3 ? argv[3] : "float32"))
            break;
    if (argc > 4 || space.dtype > HCY_COMPLEX128 || !parse_shape(&space, argc > 2 ? argv[2] : "400x400x400")) {
        fprintf(stderr, "usage: operators [DEVICE [N0xN1... [float32|float64|complex64|complex128]]]\n");
        return 2;
    }
    CHECK(hcy_device_open(&dev, argc > 1 ? argv[1] : "cpu"));
    CHECK(hcy_queue_create(&queue, dev));
    show("copy", NULL);
    CHECK(hcy_operator_laplacian(&op, dev, &space, NULL));
    show("Laplacian", op);
    CHECK(hcy_operator_gradient(&op, dev, &space, HCY_DIFFERENCE_FORWARD));
    show("gradient, forward", op);
    CHECK(hcy_operator_gradient(&op, dev, &space, HCY_DIFFERENCE_CENTRED));
    show("gradient, centred", op);
    show_differences();
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return 0;
}
