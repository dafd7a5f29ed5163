/* dist_norms.c - dots and norms over ranks, as users ask for them. */
#include "dist_priv.h"

#include <halcyon/eval.h>
#include <math.h>

static int check_sum(const hcy_queue *queue, const hcy_array *sum, const hcy_dist_layout *layout,
                     const hcy_array *x, const hcy_array *y, const char *function)
{
    int status = hcy__part_check(queue, x, layout, function);
    if (!status)
        status = hcy__part_check(queue, y, layout, function);
    if (!status)
        status = hcy__array_check(sum, function);
    if (status)
        return status;
    const bool is_complex = x->dtype == HCY_COMPLEX64 || x->dtype == HCY_COMPLEX128;
    if (x->dtype < HCY_FLOAT32 || x->dtype > HCY_COMPLEX128 || x->dtype != y->dtype || sum->count != 1 ||
        sum->dtype != (is_complex ? HCY_COMPLEX128 : HCY_FLOAT64))
        return hcy_fail(HCY_EINVAL,
                        "%s: arrays of %s and %s, and a sum of %lld %s, where two of float32 or float64 want one "
                        "float64, two of complex64 or complex128 one complex128",
                        function, hcy_dtype_name(x->dtype), hcy_dtype_name(y->dtype), (long long)sum->count,
                        hcy_dtype_name(sum->dtype));
    if (!hcy__is_contiguous(x) || !hcy__is_contiguous(y))
        return hcy_fail(HCY_EINVAL, "%s: an array with gaps between its elements", function);
    return 0;
}

int hcy_dist_dot(hcy_queue *queue, hcy_array *sum, const hcy_dist_layout *layout, hcy_array *x, hcy_array *y)
{
    int status = check_sum(queue, sum, layout, x, y, "hcy_dist_dot");
    return status ? status : hcy__dist_dot(queue, sum, (void *)layout, x, y);
}

static int check_norm(const hcy_queue *queue, const hcy_array *norm, const hcy_dist_layout *layout, const hcy_array *x,
                      const char *function)
{
    int status = hcy__part_check(queue, x, layout, function);
    if (!status)
        status = hcy__array_check(norm, function);
    if (!status && (norm->count != 1 || norm->dtype != HCY_FLOAT64))
        status = hcy_fail(HCY_EINVAL, "%s: a norm is one float64", function);
    if (!status && (x->dtype < HCY_FLOAT32 || x->dtype > HCY_COMPLEX128))
        status = hcy_fail(HCY_EINVAL, "%s: of numbers of %s there is no norm", function, hcy_dtype_name(x->dtype));
    return status;
}

int hcy_dist_norm(hcy_queue *queue, hcy_array *norm, const hcy_dist_layout *layout, hcy_array *x)
{
    int status = check_norm(queue, norm, layout, x, "hcy_dist_norm");
    if (status)
        return status;
    const bool is_complex = x->dtype == HCY_COMPLEX64 || x->dtype == HCY_COMPLEX128;
    hcy_array *sum = NULL;
    status =
        hcy_array_empty(&sum, hcy_queue_device(queue), is_complex ? HCY_COMPLEX128 : HCY_FLOAT64, 0, NULL);
    if (!status)
        status = hcy_dist_dot(queue, sum, layout, x, x);
    if (!status)
        status = HCY_EVAL(queue, is_complex ? "n = sqrt(real(s))" : "n = sqrt(s)", hcy_op_array("n", norm),
                          hcy_op_array("s", sum));
    hcy_array_release(sum);
    return status;
}

/* --- Norms of other orders --- */

/* One of the ranks' numbers: what is none passes a sum, and need not pass an MPI's or NCCL's largest and smallest. */
static int reduce_extreme(hcy_queue *queue, hcy_array *norm, hcy_dist *comm, int how)
{
    hcy_array *bad = NULL;
    int status = hcy_array_empty(&bad, hcy_queue_device(queue), HCY_FLOAT64, norm->rank, norm->shape);
    if (!status)
        status = HCY_EVAL(queue, "b = where(n == n, 0, n)", hcy_op_array("b", bad), hcy_op_array("n", norm));
    if (!status)
        status = hcy_dist_allreduce(queue, norm, comm, how);
    if (!status)
        status = hcy_dist_allreduce(queue, bad, comm, HCY_REDUCE_SUM);
    if (!status)
        status = HCY_EVAL(queue, "n = where(b == b, n, b)", hcy_op_array("b", bad), hcy_op_array("n", norm));
    hcy_array_release(bad);
    return status;
}

/* The largest or the smallest |x|; a rank without any has what changes nothing. */
static int find_extreme(hcy_queue *queue, hcy_array *norm, const hcy_dist_layout *layout, hcy_array *x, double order)
{
    const char *text = order > 0 ? "n = max(float64(abs(x)))" : "n = min(float64(abs(x)))";
    int status = x->count ? HCY_EVAL(queue, text, hcy_op_array("n", norm), hcy_op_array("x", x))
                          : HCY_EVAL(queue, "n = e", hcy_op_array("n", norm),
                                     hcy_op_real("e", order > 0 ? 0 : INFINITY));
    return status || !hcy__is_dealt(layout)
               ? status
               : reduce_extreme(queue, norm, layout->comm, order > 0 ? HCY_REDUCE_MAX : HCY_REDUCE_MIN);
}

static int sum_powers(hcy_queue *queue, hcy_array *norm, const hcy_dist_layout *layout, hcy_array *x, double order)
{
    const hcy_operand p = hcy_op_real("p", order);
    hcy_array *powers = NULL;
    int status = hcy_dist_array(&powers, hcy_queue_device(queue), layout, HCY_FLOAT64);
    if (!status && x->count)
        status = order == 0   ? HCY_EVAL(queue, "t = x != 0", hcy_op_array("t", powers), hcy_op_array("x", x))
                 : order == 1 ? HCY_EVAL(queue, "t = abs(x)", hcy_op_array("t", powers), hcy_op_array("x", x))
                              : HCY_EVAL(queue, "t = float64(abs(x)) ** p", hcy_op_array("t", powers),
                                         hcy_op_array("x", x), p);
    if (!status && hcy__is_dealt(layout))
        status = hcy__dist_sum(queue, norm, layout, powers, NULL);
    else if (!status)
        status = HCY_EVAL(queue, "n = sum(t)", hcy_op_array("n", norm), hcy_op_array("t", powers));
    if (!status && order > 0 && order != 1)
        status = HCY_EVAL(queue, "n = n ** (1 / p)", hcy_op_array("n", norm), p);
    hcy_array_release(powers);
    return status;
}

int hcy_dist_norm_of(hcy_queue *queue, hcy_array *norm, const hcy_dist_layout *layout, hcy_array *x, double order)
{
    int status = check_norm(queue, norm, layout, x, "hcy_dist_norm_of");
    if (!status && !(order >= 0 || order == -INFINITY))
        status = hcy_fail(HCY_EINVAL, "hcy_dist_norm_of: there is no norm of order %g", order);
    if (status)
        return status;
    if (order == 2)
        return hcy_dist_norm(queue, norm, layout, x);
    return isinf(order) ? find_extreme(queue, norm, layout, x, order) : sum_powers(queue, norm, layout, x, order);
}
