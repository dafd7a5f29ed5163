/* collectives.c - arrays that go between ranks: directly where a transport reaches their memory, else through pinned
 * memory of the host, which the communicator keeps.
 *
 * A transport sees contiguous memory of others alone: what has gaps is packed into an array of its own first, and
 * what a rank sends to itself is copied on its device.
 */
#include "dist_priv.h"

#include <stdlib.h>
#include <string.h>

enum { STAGING_UNIT = 64 };

static size_t bytes_of(const hcy_array *a)
{
    return (size_t)a->count * hcy_dtype_size(a->dtype);
}

static size_t offset_of(const hcy_array *a)
{
    return (size_t)a->offset * hcy_dtype_size(a->dtype);
}

static size_t staged_size(size_t bytes)
{
    return (bytes + STAGING_UNIT - 1) / STAGING_UNIT * STAGING_UNIT;
}

/* The array's memory where the host may use it; NULL: it has to be staged. */
static void *host_memory(const hcy_array *a)
{
    char *data = hcy_buffer_host(a->buffer);
    return data ? data + offset_of(a) : NULL;
}

static bool goes_by_itself(const hcy_dist *comm, const hcy_array *a)
{
    return comm->on_device && hcy__array_device(a) == comm->device;
}

/* Pinned memory of so many bytes at least, for a queue's device. */
static int need_staging(char **memory, hcy_queue *queue, hcy_dist *comm, size_t bytes)
{
    hcy_device *dev = hcy_queue_device(queue);
    *memory = NULL;
    if (!bytes)
        return 0;
    if (!comm->staging || hcy_buffer_device(comm->staging) != dev || hcy_buffer_size(comm->staging) < bytes) {
        hcy_buffer_release(comm->staging);
        comm->staging = NULL;
        int status = hcy_buffer_create(&comm->staging, dev, HCY_MEM_PINNED, bytes);
        if (status)
            return status;
    }
    *memory = hcy_buffer_host(comm->staging);
    return 0;
}

static int new_packed(hcy_array **packed, hcy_queue *queue, const hcy_array *a)
{
    return hcy_array_empty(packed, hcy_queue_device(queue), a->dtype, a->rank, a->shape);
}

/* --- One array, the same on all ranks --- */

struct collective {
    bool reduces;
    int reduction, root;
};

static int run_on_device(hcy_queue *queue, hcy_dist *comm, const hcy_array *a, const struct collective *c,
                         int dtype, size_t count)
{
    const struct hcy_device_transport *t = comm->on_device;
    return c->reduces
               ? t->allreduce(queue, comm->device_impl, a->buffer, offset_of(a), count, dtype, c->reduction)
               : t->broadcast(queue, comm->device_impl, a->buffer, offset_of(a), bytes_of(a), c->root);
}

static int run_on_host(void *data, const hcy_dist *comm, const struct collective *c, int dtype, size_t count,
                       size_t bytes)
{
    const struct hcy_transport *t = comm->transport;
    return c->reduces ? t->allreduce(data, comm->impl, count, dtype, c->reduction)
                      : t->broadcast(data, comm->impl, bytes, c->root);
}

static int run_through_host(hcy_queue *queue, hcy_dist *comm, const hcy_array *a, const struct collective *c,
                            int dtype, size_t count)
{
    const size_t bytes = bytes_of(a);
    char *memory = host_memory(a);
    const bool staged = !memory;
    int status = staged ? need_staging(&memory, queue, comm, bytes) : 0;
    if (!status && staged)
        status = hcy_buffer_read(queue, memory, a->buffer, offset_of(a), bytes);
    if (!status)
        status = hcy_queue_finish(queue);
    if (!status)
        status = run_on_host(memory, comm, c, dtype, count, bytes);
    /* The staging memory is the next call's. */
    if (!status && staged)
        status = hcy_buffer_write(queue, a->buffer, offset_of(a), memory, bytes);
    if (!status && staged)
        status = hcy_queue_finish(queue);
    return status;
}

static int run_contiguous(hcy_queue *queue, hcy_dist *comm, const hcy_array *a, const struct collective *c)
{
    int dtype = a->dtype;
    size_t count = (size_t)a->count;
    /* Complex numbers are added as their parts are. */
    if (dtype == HCY_COMPLEX64 || dtype == HCY_COMPLEX128) {
        dtype = dtype == HCY_COMPLEX64 ? HCY_FLOAT32 : HCY_FLOAT64;
        count *= 2;
    }
    /* Transports of devices add no integers of two bytes. */
    const bool is_short = c->reduces && (dtype == HCY_INT16 || dtype == HCY_UINT16);
    return goes_by_itself(comm, a) && !is_short ? run_on_device(queue, comm, a, c, dtype, count)
                                                : run_through_host(queue, comm, a, c, dtype, count);
}

static int run_collective(hcy_queue *queue, hcy_array *a, hcy_dist *comm, const struct collective *c)
{
    if (comm->place.n_ranks == 1 || !a->count)
        return 0;
    if (hcy__is_contiguous(a))
        return run_contiguous(queue, comm, a, c);
    hcy_array *packed = NULL;
    int status = new_packed(&packed, queue, a);
    if (!status)
        status = hcy_array_copy(queue, packed, a);
    if (!status)
        status = run_contiguous(queue, comm, packed, c);
    if (!status)
        status = hcy_array_copy(queue, a, packed);
    hcy_array_release(packed);
    return status;
}

static int check_array(const hcy_queue *queue, const hcy_array *array, const hcy_dist *comm, int rank,
                       const char *function)
{
    int status = hcy__dist_check(comm, rank, function);
    if (!status)
        status = hcy__array_check(array, function);
    if (!status && (!queue || (array->count && hcy_queue_device(queue) != hcy__array_device(array))))
        status =
            hcy_fail(HCY_EINVAL, "%s: %s", function, queue ? "the queue is of another device" : "no queue");
    return status;
}

int hcy_dist_broadcast(hcy_queue *queue, hcy_array *array, hcy_dist *comm, int root)
{
    int status = check_array(queue, array, comm, root, "hcy_dist_broadcast");
    return status ? status : run_collective(queue, array, comm, &(struct collective){ false, 0, root });
}

int hcy_dist_allreduce(hcy_queue *queue, hcy_array *array, hcy_dist *comm, int reduction)
{
    int status = check_array(queue, array, comm, 0, "hcy_dist_allreduce");
    if (status)
        return status;
    bool is_complex = array->dtype == HCY_COMPLEX64 || array->dtype == HCY_COMPLEX128;
    if (reduction < HCY_REDUCE_SUM || reduction > HCY_REDUCE_MAX)
        return hcy_fail(HCY_EINVAL, "hcy_dist_allreduce: there is no reduction %d", reduction);
    if (array->dtype == HCY_BOOL || array->dtype == HCY_FLOAT16 ||
        (is_complex && reduction != HCY_REDUCE_SUM))
        return hcy_fail(HCY_EINVAL, "hcy_dist_allreduce: numbers of %s %s", hcy_dtype_name(array->dtype),
                        is_complex ? "have no order" : "are not reduced");
    return run_collective(queue, array, comm, &(struct collective){ true, reduction, 0 });
}

/* --- Messages --- */

/* A part that is on its way: contiguous, and where the host has it. */
struct leg {
    const struct hcy__dist_part *part;
    hcy_array *array; /* the part's, or packed */
    size_t staged;    /* its place in the staging memory */
    bool is_staged;
};

static void end_legs(struct leg *legs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hcy_array_release(legs[i].array);
}

static int begin_leg(struct leg *leg, hcy_queue *queue, const struct hcy__dist_part *part)
{
    leg->part = part;
    if (hcy__is_contiguous(part->array)) {
        leg->array = hcy_array_retain(part->array);
        return 0;
    }
    int status = new_packed(&leg->array, queue, part->array);
    return status || !part->sends ? status : hcy_array_copy(queue, leg->array, part->array);
}

/* What a rank sends to itself: the first that is sent is the first that is received, and so on. */
static int copy_own(hcy_queue *queue, const struct leg *legs, size_t n, int rank)
{
    size_t to = 0;
    int status = 0;
    for (size_t i = 0; !status && i < n; i++) {
        if (!legs[i].part->sends || legs[i].part->rank != rank)
            continue;
        while (to < n && (legs[to].part->sends || legs[to].part->rank != rank))
            to++;
        if (to == n || bytes_of(legs[to].array) != bytes_of(legs[i].array))
            return hcy_fail(HCY_EINVAL, "a rank sends itself something else than it receives");
        const hcy_array *dst = legs[to++].array, *src = legs[i].array;
        if (src->count)
            status = hcy_buffer_copy(queue, dst->buffer, offset_of(dst), src->buffer, offset_of(src),
                                     bytes_of(src));
    }
    return status;
}

static size_t list_messages(struct hcy__message *messages, const struct leg *legs, size_t n, int rank,
                            char *staging)
{
    size_t listed = 0;
    for (size_t i = 0; i < n; i++) {
        const hcy_array *a = legs[i].array;
        if (legs[i].part->rank == rank || !a->count)
            continue;
        messages[listed++] = (struct hcy__message){
            .rank = legs[i].part->rank,
            .sends = legs[i].part->sends,
            .data = legs[i].is_staged ? staging + legs[i].staged : host_memory(a),
            .buffer = a->buffer,
            .offset = offset_of(a),
            .bytes = bytes_of(a),
        };
    }
    return listed;
}

static int copy_staged(hcy_queue *queue, const struct leg *legs, size_t n, char *staging, bool sends)
{
    int status = 0;
    for (size_t i = 0; !status && i < n; i++) {
        const hcy_array *a = legs[i].array;
        if (!legs[i].is_staged || legs[i].part->sends != sends)
            continue;
        status =
            sends ? hcy_buffer_read(queue, staging + legs[i].staged, a->buffer, offset_of(a), bytes_of(a))
                  : hcy_buffer_write(queue, a->buffer, offset_of(a), staging + legs[i].staged, bytes_of(a));
    }
    return status;
}

static int exchange_through_host(hcy_queue *queue, hcy_dist *comm, struct leg *legs, size_t n,
                                 struct hcy__message *messages)
{
    char *staging = NULL;
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        const hcy_array *a = legs[i].array;
        legs[i].is_staged = a->count && legs[i].part->rank != comm->place.rank && !host_memory(a);
        legs[i].staged = bytes;
        bytes += legs[i].is_staged ? staged_size(bytes_of(a)) : 0;
    }
    int status = need_staging(&staging, queue, comm, bytes);
    if (!status)
        status = copy_staged(queue, legs, n, staging, true);
    if (!status)
        status = hcy_queue_finish(queue);
    if (!status)
        status = comm->transport->exchange(comm->impl, messages,
                                           list_messages(messages, legs, n, comm->place.rank, staging));
    if (!status)
        status = copy_staged(queue, legs, n, staging, false);
    /* The staging memory is the next call's. */
    return status || !bytes ? status : hcy_queue_finish(queue);
}

static int exchange_legs(hcy_queue *queue, hcy_dist *comm, struct leg *legs, size_t n)
{
    int status = copy_own(queue, legs, n, comm->place.rank);
    bool all_on_device = comm->on_device != NULL;
    for (size_t i = 0; i < n; i++)
        all_on_device = all_on_device && (!legs[i].array->count || goes_by_itself(comm, legs[i].array));
    if (status || comm->place.n_ranks == 1)
        return status;
    struct hcy__message *messages = malloc((n + 1) * sizeof *messages);
    if (!messages)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu messages", n);
    status = all_on_device
                 ? comm->on_device->exchange(queue, comm->device_impl, messages,
                                             list_messages(messages, legs, n, comm->place.rank, NULL))
                 : exchange_through_host(queue, comm, legs, n, messages);
    free(messages);
    return status;
}

int hcy__dist_exchange(hcy_queue *queue, hcy_dist *comm, const struct hcy__dist_part *parts, size_t n)
{
    struct leg *legs = calloc(n + 1, sizeof *legs);
    int status = legs ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for %zu messages", n);
    for (size_t i = 0; !status && i < n; i++)
        status = begin_leg(&legs[i], queue, &parts[i]);
    if (!status)
        status = exchange_legs(queue, comm, legs, n);
    for (size_t i = 0; !status && i < n; i++)
        if (!parts[i].sends && legs[i].array != parts[i].array)
            status = hcy_array_copy(queue, parts[i].array, legs[i].array);
    end_legs(legs, legs ? n : 0);
    free(legs);
    return status;
}

int hcy__rows(hcy_array **rows, const hcy_array *array, int axis, int64_t first, int64_t count)
{
    int status = hcy__array_view(rows, array);
    if (status)
        return status;
    (*rows)->offset += first * array->strides[axis];
    (*rows)->shape[axis] = count;
    return hcy__shape_count(&(*rows)->count, (*rows)->rank, (*rows)->shape);
}

int hcy_dist_sendrecv(hcy_queue *queue, hcy_array *received, hcy_dist *comm, int from, hcy_array *sent,
                      int to)
{
    struct hcy__dist_part parts[2];
    size_t n = 0;
    int status = hcy__dist_check(comm, 0, "hcy_dist_sendrecv");
    if (!status && from >= 0)
        status = check_array(queue, received, comm, from, "hcy_dist_sendrecv");
    if (!status && to >= 0)
        status = check_array(queue, sent, comm, to, "hcy_dist_sendrecv");
    if (status)
        return status;
    if (from >= 0)
        parts[n++] = (struct hcy__dist_part){ from, false, received };
    if (to >= 0)
        parts[n++] = (struct hcy__dist_part){ to, true, sent };
    return hcy__dist_exchange(queue, comm, parts, n);
}

/* The parts that go to, or come from, each rank, one behind the other. */
static int cut_parts(struct hcy__dist_part *parts, const hcy_array *array, const int64_t *counts,
                     const hcy_dist *comm, bool sends)
{
    int64_t first = 0;
    for (int r = 0; r < comm->place.n_ranks; r++) {
        if (counts[r] < 0 || counts[r] > array->shape[0] - first)
            return hcy_fail(HCY_EINVAL,
                            "hcy_dist_alltoall: rank %d's %lld elements from number %lld on, in %lld", r,
                            (long long)counts[r], (long long)first, (long long)array->shape[0]);
        int status = hcy__rows(&parts[r].array, array, 0, first, counts[r]);
        if (status)
            return status;
        parts[r].rank = r;
        parts[r].sends = sends;
        first += counts[r];
    }
    return 0;
}

int hcy_dist_alltoall(hcy_queue *queue, hcy_array *received, hcy_dist *comm, const int64_t *receives,
                      hcy_array *sent, const int64_t *sends)
{
    int status = check_array(queue, received, comm, 0, "hcy_dist_alltoall");
    if (!status)
        status = check_array(queue, sent, comm, 0, "hcy_dist_alltoall");
    if (!status &&
        (!receives || !sends || received->rank != 1 || sent->rank != 1 || received->dtype != sent->dtype))
        status = hcy_fail(HCY_EINVAL,
                          "hcy_dist_alltoall: two arrays of one axis and one type, and counts for each");
    if (status)
        return status;
    const size_t n = (size_t)comm->place.n_ranks;
    struct hcy__dist_part *parts = calloc(2 * n, sizeof *parts);
    if (!parts)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu messages", 2 * n);
    status = cut_parts(parts, received, receives, comm, false);
    if (!status)
        status = cut_parts(parts + n, sent, sends, comm, true);
    if (!status)
        status = hcy__dist_exchange(queue, comm, parts, 2 * n);
    for (size_t i = 0; i < 2 * n; i++)
        hcy_array_release(parts[i].array);
    free(parts);
    return status;
}
