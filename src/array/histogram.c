/* histogram.c - numbers counted by bins: the bin of each as an expression, as NumPy finds it, and then counts. */
#include "pick.h"

#include "arguments.h"
#include "eval_pick.h"
#include "layout.h"
#include "types.h"

#include <halcyon/eval.h>
#include <math.h>

/* A division finds the bin but for its rounding; the bins' edges, which are low + k * step, decide. */
#define GUESS "minimum(int64((float64(x) - low) / (high - low) * n), n - 1)"
#define LOWER "(" GUESS " - where(float64(x) < " GUESS " * step + low, 1, 0))"
#define RIGHT "where(float64(x) >= (" LOWER " + 1) * step + low && " LOWER " != n - 1, 1, 0)"
#define BIN   "k = where(float64(x) >= low && float64(x) <= high, " LOWER " + " RIGHT ", -1)"

static int count_numbers(hcy_queue *queue, hcy_array *counts, hcy_array *numbers)
{
    const uint64_t none = 0;
    hcy_eval_job job = { 0 };
    hcy_kernel *kernel = NULL;
    hcy_arg args[HCY_N_ARGS(eval_count)];
    job.n = (uint64_t)numbers->count;
    job.values[HCY_PICK_EXTENT] = (uint64_t)counts->count;
    int status = hcy_buffer_fill(queue, counts->buffer, 0, sizeof none * (size_t)counts->count, &none, sizeof none);
    /* Numbers that there are none of have no buffer. */
    if (status || !job.n)
        return status;
    status = hcy__room_move(&kernel, counts->room, HCY__MOVE_COUNT);
    args[HCY_ARG_AT(eval_count, job)] = hcy_arg_struct(&job, sizeof job);
    args[HCY_ARG_AT(eval_count, numbers)] = hcy_arg_buf(numbers->buffer);
    args[HCY_ARG_AT(eval_count, counts)] = hcy_arg_buf(counts->buffer);
    return status ? status : hcy_launch(queue, kernel, 1, args, HCY_N_ARGS(eval_count));
}

static int check_histogram(hcy_queue *queue, const hcy_array *dst, const hcy_array *src, double low, double high)
{
    int status = hcy__check_move("hcy_array_histogram", queue, dst, src, NULL);
    if (!status && (dst->rank != 1 || !dst->count || (dst->dtype != HCY_INT64 && dst->dtype != HCY_UINT64)))
        status = hcy_fail(HCY_EINVAL, "hcy_array_histogram: counts are int64 or uint64 along one axis, at least one");
    if (!status && hcy__kind_of(src->dtype) == HCY__KIND_COMPLEX)
        status = hcy_fail(HCY_EINVAL, "hcy_array_histogram: complex numbers have no order");
    if (!status && !(isfinite(low) && isfinite(high) && low < high && isfinite(high - low)))
        status = hcy_fail(HCY_EINVAL, "hcy_array_histogram: from %g to %g are no bins", low, high);
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
        status = count_numbers(queue, counts, numbers);
    if (!status)
        status = HCY_EVAL(queue, dst->dtype == HCY_INT64 ? "c = k" : "c = uint64(k)", hcy_op_array("c", dst),
                          hcy_op_array("k", counts));
    hcy_array_release(numbers);
    hcy_array_release(counts);
    return status;
}
