/* join.c - arrays one behind the other: copies to parts of an array. */
#include "pick.h"

#include "layout.h"

#include <string.h>

/* A joined part: `size` elements along the axis, from `at` on; without the axis, where it is of one element alone. */
static int view_part(hcy_array **out, const hcy_array *dst, int axis, int64_t at, int64_t size, bool stacks)
{
    hcy_array *v = NULL;
    int status = hcy__array_view(&v, dst);
    if (status)
        return status;
    v->offset += at * v->strides[axis];
    v->shape[axis] = size;
    if (stacks) {
        size_t behind = (size_t)(--v->rank - axis);
        memmove(&v->shape[axis], &v->shape[axis + 1], behind * sizeof *v->shape);
        memmove(&v->strides[axis], &v->strides[axis + 1], behind * sizeof *v->strides);
    }
    v->count = dst->shape[axis] ? dst->count / dst->shape[axis] * size : 0;
    *out = v;
    return 0;
}

/* The arrays go with dst, which has room for all of them and no more; whether one shares memory with it. */
static int check_arrays(bool *shares, int *axis, const char *function, hcy_queue *queue, const hcy_array *dst,
                        const hcy_array *const *arrays, size_t n, bool stacks)
{
    int64_t sum = 0;
    int status = arrays && n ? 0 : hcy_fail(HCY_EINVAL, "%s: no arrays", function);
    for (size_t i = 0; !status && i < n; i++) {
        const hcy_array *a = arrays[i];
        status = hcy__check_move(function, queue, dst, a, NULL);
        if (!status && !i)
            status = hcy__find_axis(axis, function, dst->rank, *axis);
        if (!status && (a->dtype != dst->dtype || a->rank != dst->rank - stacks))
            status = hcy_fail(HCY_EINVAL, "%s: array %zu is %s of %d axes, the result %s of %d", function, i,
                              hcy_dtype_name(a->dtype), a->rank, hcy_dtype_name(dst->dtype), dst->rank);
        for (int d = 0; !status && d < dst->rank; d++)
            if (d != *axis && a->shape[d - (stacks && d > *axis)] != dst->shape[d])
                status = hcy_fail(HCY_EINVAL, "%s: array %zu has another size than the result along axis %d", function,
                                  i, d);
        if (status)
            break;
        int64_t size = stacks ? 1 : a->shape[*axis];
        if (size > dst->shape[*axis] - sum)
            status = hcy_fail(HCY_EINVAL, "%s: array %zu is beyond the result's end along axis %d", function, i, *axis);
        sum += size;
        *shares = *shares || hcy__shares_memory(dst, a);
    }
    if (!status && sum != dst->shape[*axis])
        status = hcy_fail(HCY_EINVAL, "%s: %lld elements along axis %d, where the result has %lld", function,
                          (long long)sum, *axis, (long long)dst->shape[*axis]);
    return status;
}

static int join_arrays(const char *function, hcy_queue *queue, hcy_array *dst, const hcy_array *const *arrays,
                       size_t n, int axis, bool stacks)
{
    hcy_array *to = dst;
    int64_t at = 0;
    bool shares = false;
    int status = check_arrays(&shares, &axis, function, queue, dst, arrays, n, stacks);
    if (status)
        return status;
    if (shares)
        status = hcy__aside_begin(&to, dst, dst, NULL);
    for (size_t i = 0; !status && i < n; i++) {
        int64_t size = stacks ? 1 : arrays[i]->shape[axis];
        hcy_array *part = NULL;
        status = view_part(&part, to, axis, at, size, stacks);
        if (!status && part->count)
            status = hcy_array_copy(queue, part, arrays[i]);
        hcy_array_release(part);
        at += size;
    }
    return hcy__aside_end(queue, dst, to, status);
}

int hcy_array_concatenate(hcy_queue *queue, hcy_array *dst, const hcy_array *const *arrays, size_t n, int axis)
{
    return join_arrays("hcy_array_concatenate", queue, dst, arrays, n, axis, false);
}

int hcy_array_stack(hcy_queue *queue, hcy_array *dst, const hcy_array *const *arrays, size_t n, int axis)
{
    return join_arrays("hcy_array_stack", queue, dst, arrays, n, axis, true);
}
