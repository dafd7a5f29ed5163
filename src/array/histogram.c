/* histogram.c - numbers counted by bins: the bin of each as an expression, as NumPy finds it, and then counts. */
#include "pick.h"

#include "types.h"

#include <halcyon/eval.h>
#include <math.h>

/* A division finds the bin but for its rounding; the bins' edges, which are low + k * step, decide. */
#define GUESS "minimum(int64((float64(x) - low) / (high - low) * n), n - 1)"
#define LOWER "(" GUESS " - where(float64(x) < " GUESS " * step + low, 1, 0))"
#define RIGHT "where(float64(x) >= (" LOWER " + 1) * step + low && " LOWER " != n - 1, 1, 0)"
#define BIN   "k = where(float64(x) >= low && float64(x) <= high, " LOWER " + " RIGHT ", -1)"

static int check_histogram(hcy_queue *queue, const hcy_array *dst, const hcy_array *src, double low, double high)
{
    int status = hcy__check_move("hcy_array_histogram", queue, dst, src, NULL);
    if (!status && (dst->rank != 1 || !dst->count || (dst->dtype != HCY_INT64 && dst->dtype != HCY_UINT64)))
        status = hcy_fail(HCY_EINVAL, "hcy_array_histogram: counts are int64 or uint64 along one axis, at least one");
    if (!status && hcy__kind_of(src->dtype) == HCY__KIND_COMPLEX)
        status = hcy_fail(HCY_EINVAL, "hcy_array_histogram: complex numbers have no order");
    if (!status && !(isfinite(low) && isfinite(high) && low < high && isfinite(high - low)))
        status = hcy_fail(HCY_EINVAL, "hcy_array_histogram: from %g to %g are no bins: the low end is to be below the "
                          "high one, and both and their difference finite", low, high);
    return status;
}

int hcy_array_histogram(hcy_queue *queue, hcy_array *dst, const hcy_array *src, double low, double high)
{
    hcy_array *numbers = NULL, *counts = NULL;
    int status = check_histogram(queue, dst, src, low, high);
    if (!status)
        status = hcy__new_numbers(&numbers, queue, src->rank, src->shape);
    if (!status)
        status = hcy__new_numbers(&counts, queue, 1, dst->shape);
    if (!status && src->count)
        status = HCY_EVAL(queue, BIN, hcy_op_array("k", numbers), hcy_op_array("x", (hcy_array *)src),
                          hcy_op_real("low", low), hcy_op_real("high", high),
                          hcy_op_real("step", (high - low) / (double)dst->count), hcy_op_integer("n", dst->count));
    if (!status)
        status = hcy__tabulate(queue, counts, numbers->buffer, numbers->count);
    if (!status)
        status = HCY_EVAL(queue, dst->dtype == HCY_INT64 ? "c = k" : "c = uint64(k)", hcy_op_array("c", dst),
                          hcy_op_array("k", counts));
    hcy_array_release(numbers);
    hcy_array_release(counts);
    return status;
}
