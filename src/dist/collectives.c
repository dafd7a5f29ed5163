/* collectives.c - arrays that are the same on all ranks, sums of all ranks', and arrays from one rank to another:
 * directly where a transport reaches their memory, else through pinned memory of the host, which the communicator
 * keeps.
 *
 * A transport sees contiguous memory alone: what has gaps is packed into an array of its own first.
 */
#include "dist_priv.h"
#include "layout.h"

#include <stdlib.h>
#include <string.h>

/* --- One array, the same on all ranks --- */

struct collective {
    bool reduces;
    int reduction, root;
};

/* Transports of devices add no integers of two bytes. */
static bool goes_by_itself(const hcy_dist *comm, const hcy_array *a, const struct collective *c)
{
    const bool is_short = c->reduces && (a->dtype == HCY_INT16 || a->dtype == HCY_UINT16);
    return comm->on_device && hcy__array_device(a) == comm->device && !is_short;
}

static int run_on_device(hcy_queue *queue, hcy_dist *comm, const hcy_array *a, const struct collective *c,
                         int dtype, size_t count)
{
    const struct hcy_device_transport *t = comm->on_device;
    return c->reduces
               ? t->allreduce(queue, comm->device_impl, a->buffer, hcy__offset_of(a), count, dtype, c->reduction)
               : t->broadcast(queue, comm->device_impl, a->buffer, hcy__offset_of(a), hcy__bytes_of(a), c->root);
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
    const size_t bytes = hcy__bytes_of(a);
    char *memory = hcy__within_reach(comm, a);
    const bool staged = !memory;
    int status = staged ? hcy__need_staging(&memory, &comm->staging, queue, bytes) : 0;
    if (!status && staged)
        status = hcy_buffer_read(queue, memory, a->buffer, hcy__offset_of(a), bytes);
    if (!status)
        status = hcy_queue_finish(queue);
    if (!status)
        status = run_on_host(memory, comm, c, dtype, count, bytes);
    /* The staging memory is the next call's. */
    if (!status && staged)
        status = hcy_buffer_write(queue, a->buffer, hcy__offset_of(a), memory, bytes);
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
    return goes_by_itself(comm, a, c) ? run_on_device(queue, comm, a, c, dtype, count)
                                      : run_through_host(queue, comm, a, c, dtype, count);
}

static int run_collective(hcy_queue *queue, hcy_array *a, hcy_dist *comm, const struct collective *c)
{
    if (comm->place.n_ranks == 1 || !a->count)
        return 0;
    if (hcy__is_contiguous(a))
        return run_contiguous(queue, comm, a, c);
    hcy_array *packed = NULL;
    int status = hcy__new_packed(&packed, queue, a);
    if (!status)
        status = hcy_array_copy(queue, packed, a);
    if (!status)
        status = run_contiguous(queue, comm, packed, c);
    if (!status)
        status = hcy_array_copy(queue, a, packed);
    if (!status && !goes_by_itself(comm, packed, c))
        status = hcy_queue_finish(queue);
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

/* --- Whether all ranks have the same --- */

/* What is compared: a sum of the bits, and of what they are numbers of. */
static int sum_bits(uint64_t *sum, hcy_queue *queue, hcy_array *a)
{
    const size_t bytes = hcy__bytes_of(a);
    void *copy = malloc(bytes + 1);
    int status = copy ? hcy_array_to_host(copy, queue, a) : hcy_fail(HCY_ENOMEM, "out of memory for %zu bytes", bytes);
    if (!status)
        *sum = hcy_cache_sum(copy, bytes) ^ ((uint64_t)a->count * 64 + (uint64_t)a->dtype);
    free(copy);
    return status;
}

int hcy_dist_compare(hcy_queue *queue, hcy_array *array, hcy_dist *comm)
{
    uint64_t sum = 0, first = 0;
    int status = hcy__dist_check(comm, 0, "hcy_dist_compare");
    if (status)
        return status;
    status = check_array(queue, array, comm, 0, "hcy_dist_compare");
    if (!status)
        status = sum_bits(&sum, queue, array);
    /* A rank that has no array must not leave the others in what follows. */
    status = hcy_dist_agree(comm, status);
    first = sum;
    if (!status)
        status = hcy_dist_broadcast_host(&first, comm, sizeof first, 0);
    int32_t other = first == sum ? comm->place.n_ranks : comm->place.rank;
    if (!status)
        status = hcy_dist_allreduce_host(&other, comm, HCY_INT32, 1, HCY_REDUCE_MIN);
    if (!status && other < comm->place.n_ranks)
        status = hcy_fail(HCY_ECORRUPT, "rank %d has other numbers than rank 0 where all are to have the same",
                          (int)other);
    return status;
}

int hcy__layout_compare(hcy_queue *queue, hcy_array *part, const hcy_dist_layout *layout)
{
    return layout->is_checked && layout->comm->place.n_ranks > 1 ? hcy_dist_compare(queue, part, layout->comm) : 0;
}

/* --- Rows, and messages by number --- */

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
    if (!status && from >= 0 && to >= 0 && hcy__shares_memory(received, sent))
        status = hcy_fail(HCY_EINVAL, "hcy_dist_sendrecv: the two arrays share memory");
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
    if (!status && hcy__shares_memory(received, sent))
        status = hcy_fail(HCY_EINVAL, "hcy_dist_alltoall: the two arrays share memory");
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
