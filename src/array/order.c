/* order.c - arrays by size along an axis: keys, which are integers in the order of the numbers, are sorted with the
 * places that they had, and elements are taken from there.  Where a device sorts values themselves, it does that
 * instead; the result is the same. */
#include "pick.h"

#include "arguments.h"
#include "eval_pick.h"
#include "layout.h"
#include "types.h"

#include <halcyon/eval.h>

/* Elements of a row that a sort of values is worth it for. */
enum { VALUES_LEAST = 64 };

/* How a type's bits become keys. */
struct key_rule {
    int dtype; /* that the bits are seen as; 0: its own */
    const char *text;
    int64_t mask, largest, quiet;
};
static const struct key_rule integer_rule = { 0, "k = int64(x)", 0, 0, 0 };
/* The largest of these are beyond int64: turning the sign keeps the order of their bits. */
static const struct key_rule wide_rule = { HCY_INT64, "k = x ^ mask", INT64_MIN, 0, 0 };
/* Floats are a sign and a size, of which NaNs have the largest: all of them that of the quiet one, so that keys reach
 * no further than the type's bits. */
#define FLOAT_TEXT "k = where((int64(x) & mask) > largest, quiet, where(x < 0, -(int64(x) & mask), int64(x)))"
static const struct key_rule float_rules[] = {
    [HCY_FLOAT16] = { HCY_INT16, FLOAT_TEXT, 0x7fff, 0x7c00, 0x7e00 },
    [HCY_FLOAT32] = { HCY_INT32, FLOAT_TEXT, 0x7fffffff, 0x7f800000, 0x7fc00000 },
    [HCY_FLOAT64] = { HCY_INT64, FLOAT_TEXT, INT64_MAX, 0x7ff0000000000000, 0x7ff8000000000000 },
};

static int order_keys(hcy_queue *queue, hcy_array *keys, const hcy_array *src)
{
    const struct key_rule *r = &integer_rule;
    hcy_array *bits = NULL;
    if (hcy__kind_of(src->dtype) == HCY__KIND_REAL)
        r = &float_rules[src->dtype];
    else if (src->dtype == HCY_UINT64)
        r = &wide_rule;
    int status = hcy__array_view(&bits, src);
    if (!status && r->dtype)
        bits->dtype = r->dtype;
    if (!status)
        status = HCY_EVAL(queue, r->text, hcy_op_array("k", keys), hcy_op_array("x", bits),
                          hcy_op_integer("mask", r->mask), hcy_op_integer("largest", r->largest),
                          hcy_op_integer("quiet", r->quiet));
    hcy_array_release(bits);
    return status;
}

/* `places` gets where keys of rows were, by their size. */
static int sort_keys(hcy_queue *queue, hcy_array *places, hcy_array *keys, int64_t length, int dtype)
{
    hcy_eval_job job = { .n = (uint64_t)keys->count, .span = (uint64_t)length };
    hcy_array *spares[2] = { NULL, NULL };
    hcy_kernel *kernel = NULL;
    job.values[HCY_PICK_MEMORY] = (uint64_t)hcy__memory_of(dtype);
    int status = hcy__room_move(&kernel, keys->room, HCY__MOVE_SORT);
    for (int i = 0; !status && i < 2; i++)
        status = hcy__new_numbers(&spares[i], queue, 1, &keys->count);
    if (!status) {
        hcy_arg args[HCY_N_ARGS(eval_sort)];
        args[HCY_ARG_AT(eval_sort, job)] = hcy_arg_struct(&job, sizeof job);
        args[HCY_ARG_AT(eval_sort, keys)] = hcy_arg_buf(keys->buffer);
        args[HCY_ARG_AT(eval_sort, places)] = hcy_arg_buf(places->buffer);
        args[HCY_ARG_AT(eval_sort, spare_keys)] = hcy_arg_buf(spares[0]->buffer);
        args[HCY_ARG_AT(eval_sort, spare_places)] = hcy_arg_buf(spares[1]->buffer);
        status = hcy__room_launch(queue, kernel, args, HCY_N_ARGS(eval_sort), HCY_ARG_AT(eval_sort, scratch));
    }
    hcy_array_release(spares[0]);
    hcy_array_release(spares[1]);
    return status;
}

/* A view whose last axis is `axis`, so that what is sorted lies together; `back` turns it again. */
static int turn_axis(hcy_array **rows, int back[HCY_ARRAY_MAX_RANK], const hcy_array *array, int axis)
{
    int axes[HCY_ARRAY_MAX_RANK], n = 0;
    for (int d = 0; d < array->rank; d++)
        if (d != axis)
            axes[n++] = d;
    axes[n] = axis;
    for (int d = 0; d < array->rank; d++)
        back[axes[d]] = d;
    return hcy_array_transpose(rows, array, axes);
}

/* Can places be made in that array?  They are written many times, so it shall be in the device's own memory. */
static bool takes_places(const hcy_array *array, int axis)
{
    return axis == array->rank - 1 && !array->offset && hcy__is_contiguous(array) &&
           hcy_buffer_mem(array->buffer) == HCY_MEM_DEVICE;
}

/* Where in its row each element of the sorted array is, as a view of src's shape; of `wanted`, if that is not NULL and
 * takes them. */
static int find_places(hcy_array **view, hcy_queue *queue, const hcy_array *src, int axis, const hcy_array *wanted)
{
    hcy_array *rows = NULL, *keys = NULL, *places = NULL;
    int back[HCY_ARRAY_MAX_RANK];
    int status = turn_axis(&rows, back, src, axis);
    if (!status)
        status = hcy__new_numbers(&keys, queue, rows->rank, rows->shape);
    if (!status)
        status = wanted && takes_places(wanted, axis) ? hcy__array_view(&places, wanted)
                                                      : hcy__new_numbers(&places, queue, rows->rank, rows->shape);
    /* Keys are there before the first place is written, also where these stand in the place of what is sorted. */
    if (!status)
        status = order_keys(queue, keys, rows);
    if (!status)
        status = sort_keys(queue, places, keys, src->shape[axis], src->dtype);
    if (!status)
        status = hcy_array_transpose(view, places, back);
    hcy_array_release(rows);
    hcy_array_release(keys);
    hcy_array_release(places);
    return status;
}

/* --- Values by themselves --- */

/* Contiguous rows of `rows`: themselves, a reference, or a new array. */
static int own_rows(hcy_array **own, const hcy_array *rows, bool fits)
{
    if (fits && hcy__is_contiguous(rows))
        return hcy__array_view(own, rows);
    return hcy_array_empty(own, hcy__array_device(rows), rows->dtype, rows->rank, rows->shape);
}

static int launch_values(hcy_queue *queue, hcy_kernel *kernel, const hcy_array *sorted,
                         const hcy_array *values, int64_t length)
{
    hcy_eval_job job = { .n = (uint64_t)values->count, .span = (uint64_t)length };
    hcy_array *spare = NULL;
    hcy_arg args[HCY_N_ARGS(eval_sort_values)];
    job.offset[0] = (uint64_t)values->offset;
    job.offset[1] = (uint64_t)sorted->offset;
    job.values[HCY_PICK_MEMORY] = (uint64_t)hcy__memory_of(values->dtype);
    int status = hcy_array_empty(&spare, hcy__array_device(values), values->dtype, 1, &values->count);
    if (!status) {
        args[HCY_ARG_AT(eval_sort_values, job)] = hcy_arg_struct(&job, sizeof job);
        args[HCY_ARG_AT(eval_sort_values, values)] = hcy_arg_buf(values->buffer);
        args[HCY_ARG_AT(eval_sort_values, sorted)] = hcy_arg_buf(sorted->buffer);
        args[HCY_ARG_AT(eval_sort_values, spare)] = hcy_arg_buf(spare->buffer);
        status = hcy__room_launch(queue, kernel, args, HCY_N_ARGS(eval_sort_values),
                                  HCY_ARG_AT(eval_sort_values, scratch));
    }
    hcy_array_release(spare);
    return status;
}

static int sort_values(hcy_queue *queue, hcy_kernel *kernel, hcy_array *dst, const hcy_array *src, int axis)
{
    hcy_array *from = NULL, *to = NULL, *values = NULL, *sorted = NULL;
    int back[HCY_ARRAY_MAX_RANK];
    int status = turn_axis(&from, back, src, axis);
    if (!status)
        status = turn_axis(&to, back, dst, axis);
    if (!status)
        status = own_rows(&values, from, true);
    if (!status)
        status = own_rows(&sorted, to, !hcy__shares_memory(dst, src));
    if (!status && values->buffer != from->buffer)
        status = hcy_array_copy(queue, values, from);
    if (!status)
        status = launch_values(queue, kernel, sorted, values, src->shape[axis]);
    if (!status && sorted->buffer != to->buffer)
        status = hcy_array_copy(queue, to, sorted);
    hcy_array_release(from);
    hcy_array_release(to);
    hcy_array_release(values);
    hcy_array_release(sorted);
    return status;
}

static int check_order(int *axis, const char *function, hcy_queue *queue, const hcy_array *dst, const hcy_array *src,
                       int dtype, int given)
{
    int status = hcy__check_move(function, queue, dst, src, NULL);
    if (!status && hcy__kind_of(src->dtype) == HCY__KIND_COMPLEX)
        status = hcy_fail(HCY_EINVAL, "%s: complex numbers have no order", function);
    if (!status)
        status = hcy__find_axis(axis, function, src->rank, given);
    if (!status && dst->dtype != (dtype ? dtype : src->dtype))
        status = hcy_fail(HCY_EINVAL, "%s: a result of %s, and an array of %s", function,
                          hcy_dtype_name(dtype ? dtype : src->dtype), hcy_dtype_name(dst->dtype));
    return status ? status : hcy__check_shape(function, dst, src);
}

int hcy_array_argsort(hcy_queue *queue, hcy_array *dst, const hcy_array *src, int axis)
{
    hcy_array *places = NULL;
    int status = check_order(&axis, "hcy_array_argsort", queue, dst, src, HCY_INT64, axis);
    if (status || !dst->count)
        return status;
    status = find_places(&places, queue, src, axis, dst);
    if (!status && places->buffer != dst->buffer)
        status = hcy_array_copy(queue, dst, places);
    hcy_array_release(places);
    return status;
}

/* Elements from where their keys' places are. */
static int take_sorted(hcy_queue *queue, hcy_array *dst, const hcy_array *src, int axis)
{
    struct hcy__picking p = { .picked = NULL };
    hcy_array *to = NULL;
    int status = find_places(&p.numbers, queue, src, axis, NULL);
    if (!status)
        status = hcy__array_view(&p.array, src);
    if (!status) {
        /* Each element has a number of its own, so that the array stays at the beginning of its rows. */
        p.extent = src->shape[axis];
        p.step = src->strides[axis];
        p.array->strides[axis] = 0;
        status = hcy__aside_begin(&to, dst, src, NULL);
    }
    if (to) {
        p.picked = to;
        if (!status)
            status = hcy__array_pick(queue, &p);
        status = hcy__aside_end(queue, dst, to, status);
    }
    hcy_array_release(p.array);
    hcy_array_release(p.numbers);
    return status;
}

int hcy_array_sort(hcy_queue *queue, hcy_array *dst, const hcy_array *src, int axis)
{
    hcy_kernel *kernel = NULL;
    int status = check_order(&axis, "hcy_array_sort", queue, dst, src, 0, axis);
    if (status || !dst->count)
        return status;
    /* A byte that is true has no one value; in short rows the digits' counts would cost more than merges. */
    if (src->shape[axis] < VALUES_LEAST || src->dtype == HCY_BOOL)
        return take_sorted(queue, dst, src, axis);
    status = hcy__room_move(&kernel, src->room, HCY__MOVE_SORT_VALUES);
    if (!status)
        status = sort_values(queue, kernel, dst, src, axis);
    return status == HCY_EUNSUPPORTED ? take_sorted(queue, dst, src, axis) : status;
}
