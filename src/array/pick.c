/* pick.c - elements by their numbers along an axis: views of one shape, then one launch (eval_pick.h). */
#include "pick.h"

#include "eval_pick_job.h"
#include "layout.h"
#include "types.h"

#include <halcyon/eval.h>
#include <string.h>

/* --- What all of these ask and make --- */

static int check_array(const char *function, hcy_queue *queue, const hcy_array *a)
{
    if (!a || hcy__array_device(a) == hcy_queue_device(queue))
        return 0;
    return hcy_fail(HCY_EINVAL, "%s: an array is not on the queue's device; hcy_array_to_device() copies", function);
}

int hcy__check_move(const char *function, hcy_queue *queue, const hcy_array *dst, const hcy_array *src,
                    const hcy_array *numbers)
{
    if (!queue || !dst || !src)
        return hcy_fail(HCY_EINVAL, "%s: no %s", function, queue ? "array" : "queue");
    int status = hcy_fork_check();
    if (!status)
        status = check_array(function, queue, dst);
    if (!status)
        status = check_array(function, queue, src);
    if (!status)
        status = check_array(function, queue, numbers);
    if (!status && !hcy__is_one_to_one(dst))
        status = hcy_fail(HCY_EINVAL, "%s: elements of what is written share memory, or its axes step into one "
                          "another: write to an array of its own", function);
    return status;
}

int hcy__find_axis(int *axis, const char *function, int rank, int given)
{
    *axis = given < 0 ? given + rank : given;
    if (*axis >= 0 && *axis < rank)
        return 0;
    return hcy_fail(HCY_EINVAL, "%s: axis %d is not in an array of %d axes", function, given, rank);
}

int hcy__check_shape(const char *function, const hcy_array *a, const hcy_array *of)
{
    char have[200], want[200];
    if (a->rank == of->rank && !memcmp(a->shape, of->shape, sizeof *a->shape * (size_t)a->rank))
        return 0;
    return hcy_fail(HCY_EINVAL, "%s: a result of shape %s does not fit an array of %s", function,
                    hcy__shape_text(want, of->rank, of->shape), hcy__shape_text(have, a->rank, a->shape));
}

int hcy__aside_begin(hcy_array **to, hcy_array *dst, const hcy_array *src, const hcy_array *numbers)
{
    *to = dst;
    if (!hcy__shares_memory(dst, src) && !(numbers && hcy__shares_memory(dst, numbers)))
        return 0;
    *to = NULL;
    return hcy_array_empty(to, hcy__array_device(dst), dst->dtype, dst->rank, dst->shape);
}

int hcy__aside_end(hcy_queue *queue, hcy_array *dst, hcy_array *to, int status)
{
    if (to == dst)
        return status;
    if (!status)
        status = hcy_array_copy(queue, dst, to);
    hcy_array_release(to);
    return status;
}

int hcy__new_numbers(hcy_array **numbers, hcy_queue *queue, int rank, const int64_t *shape)
{
    return hcy_array_empty(numbers, hcy_queue_device(queue), HCY_INT64, rank, shape);
}

/* Numbers as a launch wants them: themselves, where `as_they_are` will do, or a copy. */
static int own_numbers(hcy_array **out, const char *function, hcy_queue *queue, const hcy_array *numbers,
                       bool as_they_are)
{
    if (as_they_are && numbers->dtype == HCY_INT64)
        return hcy__array_view(out, numbers);
    if (hcy__kind_of(numbers->dtype) != HCY__KIND_INTEGER)
        return hcy_fail(HCY_EINVAL, "%s: elements are numbered by integers, not by %s", function,
                        hcy_dtype_name(numbers->dtype));
    int status = hcy__new_numbers(out, queue, numbers->rank, numbers->shape);
    if (status || !numbers->count)
        return status;
    /* The largest numbers shall not become such that count from the end. */
    bool large = numbers->dtype == HCY_UINT64;
    return HCY_EVAL(queue, large ? "k = int64(minimum(n, most))" : "k = int64(n)", hcy_op_array("k", *out),
                    hcy_op_array("n", (hcy_array *)numbers), hcy_op_integer("most", INT64_MAX));
}

/* --- The launch --- */

int hcy__array_pick(hcy_queue *queue, const struct hcy__picking *p)
{
    struct hcy__room *room = p->array->room;
    struct hcy__operands o = { .n = HCY_PICK_OPERANDS, .target = p->owners ? HCY_PICK_ARRAY : HCY_PICK_PICKED };
    struct hcy__launch l = { 0 };
    hcy_kernel *kernel = NULL;
    const struct hcy__pick_at at = hcy__pick_at(!p->owners);
    hcy_arg args[HCY_MAX_ARGS];
    const int64_t parts = hcy__kind_of(p->array->dtype) == HCY__KIND_COMPLEX ? 2 : 1;
    o.arrays[HCY_PICK_PICKED] = p->picked;
    o.arrays[HCY_PICK_ARRAY] = p->array;
    o.arrays[HCY_PICK_NUMBERS] = p->numbers;
    hcy__lay_out(&l, &o, p->picked->rank, p->picked->shape, NULL);
    l.job.values[HCY_PICK_EXTENT] = (uint64_t)p->extent;
    l.job.values[HCY_PICK_STEP] = (uint64_t)(p->step * parts);
    l.job.values[HCY_PICK_BYTES] = hcy_dtype_size(p->array->dtype) / (size_t)parts;
    l.job.values[HCY_PICK_PARTS] = (uint64_t)parts;
    int status = hcy__room_move(&kernel, room, p->owners ? HCY__MOVE_PUT : HCY__MOVE_TAKE);
    args[at.job] = hcy_arg_struct(&l.job, sizeof l.job);
    args[at.strides] = hcy_arg_struct(&l.strides[0], sizeof l.strides[0]);
    for (int k = 0; k < HCY_PICK_OPERANDS; k++)
        args[at.operands[k]] = hcy_arg_buf(o.arrays[k]->buffer);
    if (p->owners)
        args[HCY_ARG_AT(eval_put, owners)] = hcy_arg_buf(p->owners->buffer);
    if (!status)
        status = hcy_launch(queue, kernel, 1, args, at.n);
    return status;
}

int hcy__tabulate(hcy_queue *queue, hcy_array *table, hcy_buffer *numbers, int64_t n)
{
    const uint64_t none = 0;
    const size_t size = hcy_dtype_size(table->dtype);
    const bool owns = table->dtype == HCY_UINT32;
    hcy_eval_job job = { .n = (uint64_t)n };
    hcy_kernel *kernel = NULL;
    hcy_arg args[HCY_MAX_ARGS];
    job.values[HCY_PICK_EXTENT] = (uint64_t)table->count;
    int status = hcy_buffer_fill(queue, table->buffer, 0, size * (size_t)table->count, &none, size);
    /* Numbers that there are none of have no buffer. */
    if (status || !n)
        return status;
    status = hcy__room_move(&kernel, table->room, owns ? HCY__MOVE_OWN : HCY__MOVE_COUNT);
    if (status)
        return status;
    args[owns ? HCY_ARG_AT(eval_own, job) : HCY_ARG_AT(eval_count, job)] = hcy_arg_struct(&job, sizeof job);
    args[owns ? HCY_ARG_AT(eval_own, numbers) : HCY_ARG_AT(eval_count, numbers)] = hcy_arg_buf(numbers);
    args[owns ? HCY_ARG_AT(eval_own, owners) : HCY_ARG_AT(eval_count, counts)] = hcy_arg_buf(table->buffer);
    return hcy_launch(queue, kernel, 1, args, owns ? HCY_N_ARGS(eval_own) : HCY_N_ARGS(eval_count));
}

/* --- Take and put --- */

/* What array[..., numbers, ...] is: its shape, with the numbers from `axis` on, and the views that have it. */
static int make_views(struct hcy__picking *p, const char *function, const hcy_array *array, const hcy_array *numbers,
                      int axis)
{
    int rank = array->rank - 1 + numbers->rank, behind = axis + numbers->rank;
    int64_t count = 0, shape[2 * HCY_ARRAY_MAX_RANK];
    p->extent = array->shape[axis];
    p->step = array->strides[axis];
    for (int d = 0; d < rank; d++)
        shape[d] = d < axis ? array->shape[d]
                   : d < behind ? numbers->shape[d - axis]
                                : array->shape[d - numbers->rank + 1];
    int status = rank > HCY_ARRAY_MAX_RANK
                     ? hcy_fail(HCY_EINVAL, "%s: a result of %d axes; arrays have up to %d", function, rank,
                                HCY_ARRAY_MAX_RANK)
                     : hcy__shape_count(&count, rank, shape);
    if (!status)
        status = hcy__array_view(&p->array, array);
    if (!status)
        status = hcy__array_view(&p->numbers, numbers);
    for (int d = 0; !status && d < rank; d++) {
        bool own = d >= axis && d < behind;
        p->array->shape[d] = p->numbers->shape[d] = shape[d];
        p->array->strides[d] = own ? 0 : array->strides[d < axis ? d : d - numbers->rank + 1];
        p->numbers->strides[d] = own ? numbers->strides[d - axis] : 0;
    }
    if (!status) {
        p->array->rank = p->numbers->rank = rank;
        p->array->count = p->numbers->count = count;
    }
    return status;
}

static void end_picking(struct hcy__picking *p)
{
    hcy_array_release(p->picked);
    hcy_array_release(p->array);
    hcy_array_release(p->numbers);
    hcy_array_release(p->owners);
}

/* Asks what both ask, and makes numbers and views; `dst` is the array of a put, and what is picked of a take. */
static int begin_picking(struct hcy__picking *p, const char *function, hcy_queue *queue, const hcy_array *dst,
                         const hcy_array *src, const hcy_array *numbers, int axis, bool takes)
{
    const hcy_array *array = takes ? src : dst;
    hcy_array *own = NULL;
    int status = hcy__check_move(function, queue, dst, src, numbers);
    if (!status && !numbers)
        status = hcy_fail(HCY_EINVAL, "%s: no numbers", function);
    if (!status && dst->dtype != src->dtype)
        status = hcy_fail(HCY_EINVAL, "%s: %s to %s; hcy_eval() converts", function, hcy_dtype_name(src->dtype),
                          hcy_dtype_name(dst->dtype));
    if (!status)
        status = hcy__find_axis(&axis, function, array->rank, axis);
    if (!status)
        status = own_numbers(&own, function, queue, numbers, takes);
    if (!status)
        status = make_views(p, function, array, own, axis);
    hcy_array_release(own);
    return status;
}

int hcy_array_take(hcy_queue *queue, hcy_array *dst, const hcy_array *src, const hcy_array *numbers, int axis)
{
    struct hcy__picking p = { .picked = NULL };
    int status = begin_picking(&p, "hcy_array_take", queue, dst, src, numbers, axis, true);
    if (!status)
        status = hcy__check_shape("hcy_array_take", dst, p.array);
    if (!status && dst->count && !p.extent)
        status = hcy_fail(HCY_EINVAL, "hcy_array_take: the axis has no elements");
    if (!status && dst->count) {
        status = hcy__aside_begin(&p.picked, dst, src, numbers);
        if (!status)
            status = hcy__array_pick(queue, &p);
        status = hcy__aside_end(queue, dst, p.picked, status);
        p.picked = NULL;
    }
    end_picking(&p);
    return status;
}

/* Which of the numbers puts to each place of the axis. */
static int find_owners(struct hcy__picking *p, hcy_queue *queue, const hcy_array *numbers)
{
    if (numbers->count > HCY_PICK_MOST)
        return hcy_fail(HCY_ERANGE, "hcy_array_put: %lld numbers; 2^32 - 2 are possible", (long long)numbers->count);
    int status = hcy_array_empty(&p->owners, hcy_queue_device(queue), HCY_UINT32, 1, &p->extent);
    return status ? status : hcy__tabulate(queue, p->owners, p->numbers->buffer, numbers->count);
}

int hcy_array_put(hcy_queue *queue, hcy_array *dst, const hcy_array *src, const hcy_array *numbers, int axis)
{
    struct hcy__picking p = { .picked = NULL };
    hcy_array *copy = NULL;
    int status = begin_picking(&p, "hcy_array_put", queue, dst, src, numbers, axis, false);
    /* What is put may be read from where others are put. */
    if (!status && hcy__shares_memory(dst, src)) {
        status = hcy_array_empty(&copy, hcy_queue_device(queue), src->dtype, src->rank, src->shape);
        if (!status)
            status = hcy_array_copy(queue, copy, src);
    }
    if (!status)
        status = hcy_array_broadcast(&p.picked, copy ? copy : src, p.array->rank, p.array->shape);
    /* Of an axis without elements all numbers are outside, and put nothing. */
    const bool puts = !status && p.picked->count && p.extent;
    if (puts)
        status = find_owners(&p, queue, numbers);
    if (!status && puts)
        status = hcy__array_pick(queue, &p);
    end_picking(&p);
    hcy_array_release(copy);
    return status;
}
