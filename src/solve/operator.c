/* operator.c - operators: making and releasing them, what may be applied to what, spaces of vectors.
 *
 * An operator is its desc and a count of references; all else is its user data.  It is constant once it is made.
 */
#include "operator_priv.h"
#include "layout.h"
#include "sized.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Spaces --- */

bool hcy__space_is_complex(const hcy_space *space)
{
    return space->dtype == HCY_COMPLEX64 || space->dtype == HCY_COMPLEX128;
}

bool hcy__is_single(const hcy_space *space)
{
    return space->dtype == HCY_FLOAT32 || space->dtype == HCY_COMPLEX64;
}

const char *hcy__real_name(int dtype)
{
    return hcy__is_single(&(hcy_space){ .dtype = dtype }) ? "float32" : "float64";
}

int hcy__space_check(const hcy_space *space, const char *what)
{
    int64_t count = 0;
    if (!space)
        return hcy_fail(HCY_EINVAL, "%s: no space", what);
    if (space->dtype < HCY_FLOAT32 || space->dtype > HCY_COMPLEX128)
        return hcy_fail(HCY_EINVAL, "%s: vectors are of float32, float64, complex64 or complex128, not of %s",
                        what, hcy_dtype_name(space->dtype));
    return hcy__shape_count(&count, space->rank, space->shape);
}

int64_t hcy__space_count(const hcy_space *space)
{
    int64_t count = 0;
    /* Spaces of operators were checked, so that this does not fail. */
    (void)!hcy__shape_count(&count, space->rank, space->shape);
    return count;
}

bool hcy__space_same(const hcy_space *a, const hcy_space *b)
{
    return a->dtype == b->dtype && a->rank == b->rank && hcy__vectors_same(a->vectors, b->vectors) &&
           !memcmp(a->shape, b->shape, sizeof *a->shape * (size_t)a->rank);
}

const char *hcy__space_text(char text[240], const hcy_space *space)
{
    char shape[200];
    snprintf(text, 240, "%s %s", hcy_dtype_name(space->dtype),
             hcy__shape_text(shape, space->rank, space->shape));
    return text;
}

int hcy__space_vector(hcy_array **vector, hcy_device *dev, const hcy_space *space)
{
    return hcy_array_empty(vector, dev, space->dtype, space->rank, space->shape);
}

int hcy__vector_part(hcy_array **out, const hcy_array *vector, int64_t first, const hcy_space *space)
{
    hcy_array *part = NULL;
    int status = hcy__array_view(&part, vector);
    if (status)
        return status;
    part->rank = space->rank;
    part->count = hcy__space_count(space);
    part->offset = vector->offset + first;
    memcpy(part->shape, space->shape, sizeof part->shape);
    hcy__c_strides(part->strides, part->rank, part->shape);
    *out = part;
    return 0;
}

int hcy__vector_rows(hcy_array **view, const hcy_array *a, int axis, int64_t first, int64_t count)
{
    int status = hcy__array_view(view, a);
    if (status)
        return status;
    (*view)->offset += first * a->strides[axis];
    (*view)->shape[axis] = count;
    (*view)->count = a->shape[axis] ? a->count / a->shape[axis] * count : 0;
    return 0;
}

/* --- Turns --- */

void hcy__turn_init(struct hcy__turn *turn)
{
    pthread_mutex_init(&turn->lock, NULL);
    turn->last = NULL;
}

int hcy__turn_take(struct hcy__turn *turn, hcy_queue *queue)
{
    hcy_event *event = NULL;
    int status = 0;
    pthread_mutex_lock(&turn->lock);
    if (turn->last == queue)
        return 0;
    /* A queue that has failed does nothing more, and must not take this one with it. */
    if (turn->last && !hcy_queue_status(turn->last))
        status = hcy_event_record(&event, turn->last);
    if (!status && event)
        status = hcy_queue_wait(queue, event);
    hcy_event_release(event);
    if (!status) {
        hcy_queue_release(turn->last);
        turn->last = hcy_queue_retain(queue);
    }
    return status;
}

void hcy__turn_give(struct hcy__turn *turn)
{
    pthread_mutex_unlock(&turn->lock);
}

void hcy__turn_end(struct hcy__turn *turn)
{
    hcy_queue_release(turn->last);
    pthread_mutex_destroy(&turn->lock);
}

/* --- Making and releasing --- */

static int check_desc(const hcy_operator_desc *desc)
{
    if (!desc->apply)
        return hcy_fail(HCY_EINVAL, "hcy_operator_create: no function that applies the operator");
    int status = hcy__space_check(&desc->domain, "an operator's domain");
    return status ? status : hcy__space_check(&desc->range, "an operator's range");
}

int hcy_operator_create(hcy_operator **out, hcy_device *dev, const hcy_operator_desc *user)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    if (!out || !dev)
        return hcy_fail(HCY_EINVAL, "hcy_operator_create: no %s", out ? "device" : "place for the operator");
    int status = hcy__sized_read(&desc, sizeof desc, user, "hcy_operator_desc");
    if (!status)
        status = check_desc(&desc);
    if (!status)
        status = hcy_fork_check();
    if (status)
        return status;
    const char *name = desc.name ? desc.name : "function";
    size_t bytes = strlen(name) + 1;
    /* The name stands behind the record. */
    hcy_operator *op = calloc(1, sizeof *op + bytes);
    if (!op)
        return hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    atomic_init(&op->refs, 1);
    op->dev = hcy_device_retain(dev);
    op->desc = desc;
    op->desc.name = memcpy(op + 1, name, bytes);
    op->kept[0] = hcy__vectors_retain(desc.domain.vectors);
    op->kept[1] = hcy__vectors_retain(desc.range.vectors);
    *out = op;
    return 0;
}

int hcy__operator_make(hcy_operator **op, hcy_device *dev, const hcy_operator_desc *desc)
{
    int status = hcy_operator_create(op, dev, desc);
    if (status && desc->destroy)
        desc->destroy(desc->user);
    return status;
}

hcy_operator *hcy_operator_retain(hcy_operator *op)
{
    if (op)
        atomic_fetch_add(&op->refs, 1);
    return op;
}

void hcy_operator_release(hcy_operator *op)
{
    if (!op || atomic_fetch_sub(&op->refs, 1) != 1)
        return;
    if (op->desc.destroy)
        op->desc.destroy(op->desc.user);
    hcy__vectors_release(op->kept[0]);
    hcy__vectors_release(op->kept[1]);
    hcy_device_release(op->dev);
    free(op);
}

int hcy_operator_get_info(hcy_operator_info *info, const hcy_operator *op)
{
    if (!op)
        return hcy_fail(HCY_EINVAL, "hcy_operator_get_info: no operator");
    hcy_operator_info known = { sizeof known,    op->desc.name,  op->dev,
                                op->desc.domain, op->desc.range, op->desc.adjoint != NULL };
    return hcy__sized_write(info, &known, sizeof known, "hcy_operator_info");
}

int hcy__operators_check(hcy_operator *const *ops, size_t n, bool any_device, const char *function)
{
    if (!ops || !n)
        return hcy_fail(HCY_EINVAL, "%s: no operators", function);
    for (size_t i = 0; i < n; i++)
        if (!ops[i])
            return hcy_fail(HCY_EINVAL, "%s: operator %zu is none", function, i);
    for (size_t i = 1; i < n && !any_device; i++)
        if (ops[i]->dev != ops[0]->dev)
            return hcy_fail(HCY_EINVAL, "%s: operators 0 and %zu are of two devices", function, i);
    return 0;
}

/* --- Applying --- */

int hcy__operator_check_vector(const hcy_array *a, const hcy_operator *op, const hcy_space *space,
                               const char *what)
{
    char has[240], wants[240];
    if (!a)
        return hcy_fail(HCY_EINVAL, "operator %s: no %s", op->desc.name, what);
    hcy_space is = { a->dtype, a->rank, { 0 }, space->vectors };
    memcpy(is.shape, a->shape, sizeof is.shape);
    if (hcy__array_device(a) != op->dev)
        return hcy_fail(HCY_EINVAL, "operator %s: the %s is on another device; hcy_array_to_device() copies",
                        op->desc.name, what);
    if (!hcy__space_same(&is, space))
        return hcy_fail(HCY_EINVAL, "operator %s: the %s is %s, where %s is wanted", op->desc.name, what,
                        hcy__space_text(has, &is), hcy__space_text(wants, space));
    if (!hcy__is_contiguous(a))
        return hcy_fail(
            HCY_EINVAL,
            "operator %s: the %s has gaps between its elements; hcy_array_copy() makes one without",
            op->desc.name, what);
    return 0;
}

bool hcy__operator_shares_memory(const hcy_array *a, const hcy_array *b)
{
    return hcy__shares_memory(a, b);
}

int hcy__operator_check(hcy_queue *queue, const hcy_array *y, const hcy_operator *op, const hcy_array *x, bool adjoint)
{
    if (!queue || !op)
        return hcy_fail(HCY_EINVAL, "an operator is applied without %s", op ? "a queue" : "one");
    const hcy_operator_desc *d = &op->desc;
    if (hcy_queue_device(queue) != op->dev)
        return hcy_fail(HCY_EINVAL, "operator %s: the queue is of another device", d->name);
    if (adjoint && !d->adjoint)
        return hcy_fail(HCY_EUNSUPPORTED, "operator %s has no adjoint", d->name);
    int status = hcy__operator_check_vector(x, op, adjoint ? &d->range : &d->domain, "input");
    if (!status)
        status = hcy__operator_check_vector(y, op, adjoint ? &d->domain : &d->range, "output");
    if (!status && hcy__operator_shares_memory(x, y))
        status = hcy_fail(HCY_EINVAL, "operator %s: input and output share memory", d->name);
    return status;
}

int hcy__operator_run(hcy_queue *queue, hcy_array *y, hcy_operator *op, hcy_array *x, bool adjoint)
{
    int status = hcy__operator_check(queue, y, op, x, adjoint);
    if (status)
        return status;
    /* A record from before the call is not the function's: it is put aside, and is back where that returns 0. */
    const hcy_error before = *hcy_last_error();
    const hcy_operator_desc *d = &op->desc;
    hcy_clear_error();
    status = adjoint ? d->adjoint(queue, y, d->user, x) : d->apply(queue, y, d->user, x);
    if (!status)
        hcy_fail_again(&before);
    else if (hcy_last_error()->status != status)
        hcy_fail(status, "operator %s: its %s returned %d (%s), without a word: hcy_fail() gives it one", d->name,
                 adjoint ? "adjoint" : "function", status, hcy_status_name(status));
    return status;
}

int hcy_operator_apply(hcy_queue *queue, hcy_array *y, hcy_operator *op, hcy_array *x)
{
    return hcy__operator_run(queue, y, op, x, false);
}

int hcy_operator_apply_adjoint(hcy_queue *queue, hcy_array *x, hcy_operator *op, hcy_array *y)
{
    return hcy__operator_run(queue, x, op, y, true);
}
