/* transfer.c - numbers between arrays, devices and the host. */
#include "array_priv.h"

#include "hal_priv.h"
#include "layout.h"
#include "pick.h"

#include <halcyon/eval.h>
#include <stdio.h>
#include <string.h>

int hcy_array_full(hcy_array **out, hcy_queue *queue, int dtype, int rank, const int64_t *shape, double value)
{
    hcy_array *a = NULL;
    if (!queue || !out)
        return hcy_fail(HCY_EINVAL, "hcy_array_full: no %s", queue ? "place for the array" : "queue");
    int status = hcy_array_empty(&a, hcy_queue_device(queue), dtype, rank, shape);
    /* The type's name around the number: an array of integers may be asked for with a number that is one. */
    char text[64];
    snprintf(text, sizeof text, "a = %s(x)", hcy_dtype_name(dtype));
    if (!status && a->count)
        status = HCY_EVAL(queue, text, hcy_op_array("a", a), hcy_op_real("x", value));
    if (status)
        hcy_array_release(a);
    else
        *out = a;
    return status;
}

static size_t bytes_of(const hcy_array *a)
{
    return (size_t)a->count * hcy_dtype_size(a->dtype);
}

int hcy_array_from_host(hcy_array **out, hcy_device *dev, int dtype, int rank, const int64_t *shape,
                        const void *data)
{
    hcy_array *a = NULL;
    if (!out)
        return hcy_fail(HCY_EINVAL, "hcy_array_from_host: no place for the array");
    int status = hcy_array_empty(&a, dev, dtype, rank, shape);
    if (!status && a->count && !data)
        status = hcy_fail(HCY_EINVAL, "hcy_array_from_host: no data");
    if (!status && a->count)
        status = hcy_buffer_write_now(a->buffer, 0, data, bytes_of(a));
    if (status)
        hcy_array_release(a);
    else
        *out = a;
    return status;
}

/* --- Copies on a device --- */

/* Both parts of complex numbers that are neighbours, one behind the other. */
enum { BOTH_PARTS = -1 };

/* Whether complex numbers go part by part: no register has 128 bits, and those of 64 begin where a float may. */
static bool go_in_parts(const hcy_array *dst, const hcy_array *src)
{
    return dst->dtype == HCY_COMPLEX128 ||
           (dst->dtype == HCY_COMPLEX64 && dst->count && src->count &&
            !(hcy__begins_at_multiple(dst->buffer, 8) && hcy__begins_at_multiple(src->buffer, 8)));
}

/* The same memory as unsigned integers: a copy is of bits, whatever number they are. */
static int view_bits(hcy_array **out, const hcy_array *a, bool in_parts, int part)
{
    /* As floats, all NaNs would be stored as one and the same. */
    static const int types[] = { [HCY_FLOAT16] = HCY_UINT16,
                                 [HCY_FLOAT32] = HCY_UINT32,
                                 [HCY_FLOAT64] = HCY_UINT64,
                                 [HCY_COMPLEX64] = HCY_UINT64 };
    hcy_array *v = NULL;
    int status = in_parts ? hcy_array_part(&v, a, part == BOTH_PARTS ? 0 : part) : hcy__array_view(&v, a);
    if (status)
        return status;
    if (in_parts && part == BOTH_PARTS) {
        v->shape[v->rank - 1] *= 2;
        v->strides[v->rank - 1] = 1;
        v->count *= 2;
    }
    if (v->dtype >= HCY_FLOAT16)
        v->dtype = types[v->dtype];
    *out = v;
    return 0;
}

static int copy_bits(hcy_queue *queue, const hcy_array *dst, const hcy_array *src, bool in_parts, int part)
{
    hcy_array *to = NULL, *from = NULL;
    int status = view_bits(&to, dst, in_parts, part);
    if (!status)
        status = view_bits(&from, src, in_parts, part);
    if (!status)
        status = HCY_EVAL(queue, "to = from", hcy_op_array("to", to), hcy_op_array("from", from));
    hcy_array_release(to);
    hcy_array_release(from);
    return status;
}

/* Whether numbers along the last axis are neighbours in both. */
static bool go_in_rows(const hcy_array *dst, const hcy_array *src)
{
    const int d = dst->rank - 1, s = src->rank - 1;
    return d >= 0 && s >= 0 && dst->strides[d] == 1 && src->strides[s] == 1 && dst->shape[d] == src->shape[s];
}

int hcy_array_copy(hcy_queue *queue, hcy_array *dst, const hcy_array *src)
{
    if (!queue || !dst || !src)
        return hcy_fail(HCY_EINVAL, "hcy_array_copy: no %s",
                        !queue ? "queue"
                        : dst  ? "source"
                               : "destination");
    if (dst->dtype != src->dtype)
        return hcy_fail(HCY_EINVAL, "hcy_array_copy: %s to %s; hcy_eval() converts",
                        hcy_dtype_name(src->dtype), hcy_dtype_name(dst->dtype));
    bool same =
        dst->rank == src->rank && !memcmp(dst->shape, src->shape, sizeof *dst->shape * (size_t)dst->rank);
    /* What lies in one piece, apart from the other, is memory to the device. */
    if (same && dst->count && !hcy__shares_memory(dst, src) && hcy__is_contiguous(dst) &&
        hcy__is_contiguous(src)) {
        size_t size = hcy_dtype_size(dst->dtype);
        return hcy_buffer_copy(queue, dst->buffer, (size_t)dst->offset * size, src->buffer,
                               (size_t)src->offset * size, bytes_of(dst));
    }
    char from[200], to[200];
    /* Else the words would be those of the text below, which is not the caller's. */
    int status = hcy__check_move("hcy_array_copy", queue, dst, src, NULL);
    if (!status && !hcy__is_broadcast_to(src, dst->rank, dst->shape))
        status = hcy_fail(HCY_EINVAL, "hcy_array_copy: an array of shape %s is not broadcast to %s",
                          hcy__shape_text(from, src->rank, src->shape), hcy__shape_text(to, dst->rank, dst->shape));
    if (status)
        return status;
    const bool in_parts = go_in_parts(dst, src);
    if (go_in_rows(dst, src))
        return copy_bits(queue, dst, src, in_parts, BOTH_PARTS);
    status = copy_bits(queue, dst, src, in_parts, 0);
    /* Real and imaginary parts stand in places of their own, so that the second copy finds what it wants. */
    return status || !in_parts ? status : copy_bits(queue, dst, src, in_parts, 1);
}

/* The array itself where it is contiguous, else a copy, as `queue` comes to it. */
static int make_contiguous(const hcy_array **out, hcy_array **made, hcy_queue *queue, const hcy_array *a)
{
    *out = a;
    *made = NULL;
    if (hcy__is_contiguous(a))
        return 0;
    int status = hcy_array_empty(made, hcy__array_device(a), a->dtype, a->rank, a->shape);
    if (!status)
        status = hcy_array_copy(queue, *made, a);
    /* After a failure too: the caller releases what was made. */
    *out = *made;
    return status;
}

int hcy_array_to_host(void *data, hcy_queue *queue, const hcy_array *a)
{
    const hcy_array *from = NULL;
    hcy_array *made = NULL;
    if (!data || !queue || !a)
        return hcy_fail(HCY_EINVAL, "hcy_array_to_host: no %s",
                        !data ? "place for the numbers"
                        : a   ? "queue"
                              : "array");
    /* The call promises to wait, even with nothing to read. */
    if (!a->count)
        return hcy_queue_finish(queue);
    int status = make_contiguous(&from, &made, queue, a);
    if (!status)
        status = hcy_buffer_read(queue, data, from->buffer, (size_t)from->offset * hcy_dtype_size(a->dtype),
                                 bytes_of(from));
    if (!status)
        status = hcy_queue_finish(queue);
    hcy_array_release(made);
    return status;
}

/* --- Between devices --- */

/* What `queue` does next comes after what `before` has now. */
static int queue_after(hcy_queue *queue, hcy_queue *before)
{
    hcy_event *event = NULL;
    /* A queue is in order with itself. */
    if (!before || before == queue)
        return 0;
    int status = hcy_event_record(&event, before);
    if (!status)
        status = hcy_queue_wait(queue, event);
    hcy_event_release(event);
    return status;
}

static int copy_across(hcy_array *to, hcy_queue *queue, const hcy_array *a, hcy_queue *from)
{
    const hcy_array *source = NULL;
    hcy_array *made = NULL;
    hcy_queue *own = NULL;
    int status = 0;
    /* Gaps are taken out where the array is, so that no more than its elements travels. */
    if (!from && !hcy__is_contiguous(a))
        status = hcy_queue_create(&own, hcy__array_device(a));
    if (own)
        from = own;
    if (!status)
        status = make_contiguous(&source, &made, from, a);
    if (!status)
        status = queue_after(queue, from);
    if (!status && a->count)
        status = hcy_buffer_copy(queue, to->buffer, 0, source->buffer,
                                 (size_t)source->offset * hcy_dtype_size(a->dtype), bytes_of(a));
    hcy_array_release(made);
    hcy_queue_release(own);
    return status;
}

int hcy_array_to_device(hcy_array **out, hcy_queue *queue, const hcy_array *a, hcy_queue *from)
{
    hcy_array *to = NULL;
    if (!out || !queue || !a)
        return hcy_fail(HCY_EINVAL, "hcy_array_to_device: no %s",
                        !out ? "place for the copy"
                        : a  ? "queue"
                             : "array");
    if (from && hcy_queue_device(from) != hcy__array_device(a))
        return hcy_fail(HCY_EINVAL, "hcy_array_to_device: `from` is not a queue of the array's device");
    hcy_device *dev = hcy_queue_device(queue);
    int status = hcy_array_empty(&to, dev, a->dtype, a->rank, a->shape);
    if (!status && dev == hcy__array_device(a)) {
        status = queue_after(queue, from);
        if (!status)
            status = hcy_array_copy(queue, to, a);
    } else if (!status)
        status = copy_across(to, queue, a, from);
    if (status)
        hcy_array_release(to);
    else
        *out = to;
    return status;
}
