/* exchange.c - parts of arrays to and from other ranks: in one call, or begun and ended.
 *
 * Directly where a transport reaches their memory, else through pinned memory of the host, the communicator's or the
 * exchange's own.  A transport sees contiguous memory of others alone: what has gaps is packed into an array of its own
 * first, and what a rank sends to itself is copied on its device.
 */
#include "dist_priv.h"

#include <stdlib.h>
#include <string.h>

enum { STAGING_UNIT = 64 };

/* --- Memory --- */

size_t hcy__bytes_of(const hcy_array *a)
{
    return (size_t)a->count * hcy_dtype_size(a->dtype);
}

size_t hcy__offset_of(const hcy_array *a)
{
    return (size_t)a->offset * hcy_dtype_size(a->dtype);
}

void *hcy__within_reach(const hcy_dist *comm, const hcy_array *a)
{
    char *data = hcy_buffer_host(a->buffer);
    if (!data && comm->reaches_device && hcy__array_device(a) == comm->device)
        data = comm->transport->address(comm->impl, a->buffer);
    return data ? data + hcy__offset_of(a) : NULL;
}

int hcy__need_staging(char **memory, hcy_buffer **staging, hcy_queue *queue, size_t bytes)
{
    hcy_device *dev = hcy_queue_device(queue);
    *memory = NULL;
    if (!bytes)
        return 0;
    if (!*staging || hcy_buffer_device(*staging) != dev || hcy_buffer_size(*staging) < bytes) {
        hcy_buffer_release(*staging);
        *staging = NULL;
        int status = hcy_buffer_create(staging, dev, HCY_MEM_PINNED, bytes);
        if (status)
            return status;
    }
    *memory = hcy_buffer_host(*staging);
    return 0;
}

int hcy__new_packed(hcy_array **packed, hcy_queue *queue, const hcy_array *a)
{
    return hcy_array_empty(packed, hcy_queue_device(queue), a->dtype, a->rank, a->shape);
}

int hcy__follow(hcy_queue *queue, hcy_queue *other)
{
    hcy_event *event = NULL;
    int status = hcy_event_record(&event, other);
    if (!status)
        status = hcy_queue_wait(queue, event);
    hcy_event_release(event);
    return status;
}

/* --- Legs --- */

/* A part that is on its way: contiguous, and where the host has it. */
struct leg {
    const struct hcy__dist_part *part; /* the exchange's own */
    hcy_array *array;                  /* the part's, or packed */
    size_t staged;    /* its place in the staging memory */
    bool is_staged;
};

static int pack_leg(struct leg *leg, hcy_queue *queue)
{
    const struct hcy__dist_part *part = leg->part;
    if (hcy__is_contiguous(part->array))
        return 0;
    hcy_array_release(leg->array);
    leg->array = NULL;
    int status = hcy__new_packed(&leg->array, queue, part->array);
    return status || !part->sends ? status : hcy_array_copy(queue, leg->array, part->array);
}

static bool is_alike(const hcy_array *a, const hcy_array *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           !memcmp(a->shape, b->shape, sizeof *a->shape * (size_t)a->rank);
}

/* As they lie, or byte by byte where one is to be the other's in another shape. */
static int copy_leg(hcy_queue *queue, struct leg *to, struct leg *from)
{
    if (is_alike(to->array, from->array))
        return from->array->count ? hcy_array_copy(queue, to->array, from->array) : 0;
    int status = pack_leg(from, queue);
    if (!status)
        status = pack_leg(to, queue);
    const hcy_array *dst = to->array, *src = from->array;
    return status || !src->count ? status
                                 : hcy_buffer_copy(queue, dst->buffer, hcy__offset_of(dst), src->buffer,
                                                   hcy__offset_of(src), hcy__bytes_of(src));
}

/* What a rank sends to itself: the first that is sent is the first that is received, and so on. */
static int copy_own(hcy_queue *queue, struct leg *legs, size_t n, int rank)
{
    size_t to = 0;
    int status = 0;
    for (size_t i = 0; !status && i < n; i++) {
        if (!legs[i].part->sends || legs[i].part->rank != rank)
            continue;
        while (to < n && (legs[to].part->sends || legs[to].part->rank != rank))
            to++;
        if (to == n || hcy__bytes_of(legs[to].array) != hcy__bytes_of(legs[i].array))
            return hcy_fail(HCY_EINVAL, "a rank sends itself something else than it receives");
        status = copy_leg(queue, &legs[to++], &legs[i]);
    }
    while (to < n && (legs[to].part->sends || legs[to].part->rank != rank))
        to++;
    return status || to == n ? status : hcy_fail(HCY_EINVAL, "a rank receives from itself what it does not send");
}

static size_t list_messages(struct hcy__message *messages, const struct leg *legs, size_t n, const hcy_dist *comm,
                            char *staging)
{
    const int rank = comm->place.rank;
    size_t listed = 0;
    for (size_t i = 0; i < n; i++) {
        const hcy_array *a = legs[i].array;
        if (legs[i].part->rank == rank || !a->count)
            continue;
        messages[listed++] = (struct hcy__message){
            .rank = legs[i].part->rank,
            .sends = legs[i].part->sends,
            .data = legs[i].is_staged ? staging + legs[i].staged : hcy__within_reach(comm, a),
            .buffer = a->buffer,
            .offset = hcy__offset_of(a),
            .bytes = hcy__bytes_of(a),
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
            sends ? hcy_buffer_read(queue, staging + legs[i].staged, a->buffer, hcy__offset_of(a), hcy__bytes_of(a))
                  : hcy_buffer_write(queue, a->buffer, hcy__offset_of(a), staging + legs[i].staged, hcy__bytes_of(a));
    }
    return status;
}

/* --- An exchange --- */

struct hcy__exchange {
    hcy_dist *comm;
    struct hcy__dist_part *parts;
    struct leg *legs;
    struct hcy__message *messages;
    size_t n, n_messages, room; /* room: parts that there is memory for */
    bool on_device, is_begun;
    hcy_queue *side;     /* that messages of a device go by; NULL: the caller's */
    hcy_buffer *staging; /* its own; NULL: the communicator's is used */
    hcy_event *sent;     /* what goes through the host is there */
    hcy_event *received; /* what came through its own staging memory is on the device */
};

int hcy__exchange_new(struct hcy__exchange **out, hcy_dist *comm)
{
    struct hcy__exchange *x = calloc(1, sizeof *x);
    if (!x)
        return hcy_fail(HCY_ENOMEM, "out of memory for messages");
    x->comm = hcy_dist_retain(comm);
    *out = x;
    return 0;
}

/* What one exchange has, or what it got so far; the next one uses its memory again. */
static void clear_exchange(struct hcy__exchange *x)
{
    for (size_t i = 0; i < x->n; i++) {
        hcy_array_release(x->legs[i].array);
        hcy_array_release(x->parts[i].array);
    }
    hcy_event_release(x->sent);
    x->sent = NULL;
    x->n = 0;
    x->is_begun = false;
}

static void free_room(struct hcy__exchange *x)
{
    free(x->legs);
    free(x->parts);
    free(x->messages);
    x->legs = NULL;
    x->parts = NULL;
    x->messages = NULL;
    x->room = 0;
}

/* Until the staging memory may be written again, or freed: commands that copy from it do not keep it. */
static int wait_for_staging(struct hcy__exchange *x)
{
    const int status = x->received ? hcy_event_wait(x->received, HCY_FOREVER) : 0;
    hcy_event_release(x->received);
    x->received = NULL;
    return status;
}

void hcy__exchange_cancel(hcy_queue *queue, struct hcy__exchange *x)
{
    /* What the other queue has got still uses what the caller may release. */
    if (x->is_begun && x->on_device && x->side)
        (void)!hcy__follow(queue, x->side);
    if (x->sent)
        (void)!hcy_event_wait(x->sent, HCY_FOREVER);
    clear_exchange(x);
}

void hcy__exchange_free(struct hcy__exchange *x)
{
    if (!x)
        return;
    if (x->sent)
        (void)!hcy_event_wait(x->sent, HCY_FOREVER);
    (void)!wait_for_staging(x);
    clear_exchange(x);
    free_room(x);
    hcy_queue_release(x->side);
    hcy_buffer_release(x->staging);
    hcy_dist_release(x->comm);
    free(x);
}

static int take_parts(struct hcy__exchange *x, const struct hcy__dist_part *parts, size_t n)
{
    if (n > x->room) {
        free_room(x);
        x->legs = calloc(n, sizeof *x->legs);
        x->parts = calloc(n, sizeof *x->parts);
        x->messages = malloc(n * sizeof *x->messages);
        if (!x->legs || !x->parts || !x->messages) {
            free_room(x);
            return hcy_fail(HCY_ENOMEM, "out of memory for %zu messages", n);
        }
        x->room = n;
    }
    x->n = n;
    for (size_t i = 0; i < n; i++) {
        x->parts[i] = parts[i];
        x->legs[i] = (struct leg){ .part = &x->parts[i], .array = hcy_array_retain(parts[i].array) };
        hcy_array_retain(parts[i].array);
    }
    return 0;
}

static bool is_on_device(const hcy_dist *comm, const struct leg *legs, size_t n)
{
    bool all = comm->on_device != NULL;
    for (size_t i = 0; i < n; i++)
        all = all && (!legs[i].array->count || hcy__array_device(legs[i].array) == comm->device);
    return all;
}

/* What is sent to memory of the host, as the queue comes to it. */
static int send_to_host(hcy_queue *queue, struct hcy__exchange *x, hcy_buffer **staging)
{
    char *memory = NULL;
    size_t bytes = 0;
    for (size_t i = 0; i < x->n; i++) {
        const hcy_array *a = x->legs[i].array;
        x->legs[i].is_staged =
            a->count && x->parts[i].rank != x->comm->place.rank && !hcy__within_reach(x->comm, a);
        x->legs[i].staged = bytes;
        bytes += x->legs[i].is_staged ? (hcy__bytes_of(a) + STAGING_UNIT - 1) / STAGING_UNIT * STAGING_UNIT : 0;
    }
    int status = hcy__need_staging(&memory, staging, queue, bytes);
    if (!status)
        status = copy_staged(queue, x->legs, x->n, memory, true);
    if (!status)
        x->n_messages = list_messages(x->messages, x->legs, x->n, x->comm, memory);
    return status;
}

/* All that may lack memory, before anything goes to another rank. */
static int prepare_parts(hcy_queue *queue, struct hcy__exchange *x, const struct hcy__dist_part *parts, size_t n,
                         hcy_buffer **staging)
{
    int status = take_parts(x, parts, n);
    for (size_t i = 0; !status && i < n; i++)
        if (parts[i].rank != x->comm->place.rank)
            status = pack_leg(&x->legs[i], queue);
    if (!status)
        status = copy_own(queue, x->legs, n, x->comm->place.rank);
    x->on_device = !status && is_on_device(x->comm, x->legs, n);
    if (status || x->comm->place.n_ranks == 1)
        return status;
    if (!x->on_device)
        return send_to_host(queue, x, staging);
    x->n_messages = list_messages(x->messages, x->legs, n, x->comm, NULL);
    return 0;
}

/* What goes by a device's transport, which has the rest of the queue wait for it. */
static int submit_parts(hcy_queue *queue, struct hcy__exchange *x)
{
    if (!x->on_device || x->comm->place.n_ranks == 1)
        return 0;
    hcy_queue *by = x->side ? x->side : queue;
    int status = x->side ? hcy__follow(x->side, queue) : 0;
    return status ? status : x->comm->on_device->exchange(by, x->comm->device_impl, x->messages, x->n_messages);
}

static int end_parts(hcy_queue *queue, struct hcy__exchange *x, char *staging)
{
    int status = 0;
    if (x->comm->place.n_ranks > 1 && !x->on_device) {
        status = x->comm->transport->exchange(x->comm->impl, x->messages, x->n_messages);
        if (!status)
            status = copy_staged(queue, x->legs, x->n, staging, false);
    }
    for (size_t i = 0; !status && i < x->n; i++)
        if (!x->parts[i].sends && x->legs[i].array != x->parts[i].array)
            status = hcy_array_copy(queue, x->parts[i].array, x->legs[i].array);
    return status;
}

void hcy__exchange_forget(hcy_dist *comm)
{
    if (comm->plain)
        comm->plain->comm = NULL;
    hcy__exchange_free(comm->plain);
    comm->plain = NULL;
}

static int prepare_plain(hcy_queue *queue, hcy_dist *comm, const struct hcy__dist_part *parts, size_t n)
{
    if (!comm->plain)
        comm->plain = calloc(1, sizeof *comm->plain);
    if (!comm->plain)
        return hcy_fail(HCY_ENOMEM, "out of memory for messages");
    comm->plain->comm = comm;
    return prepare_parts(queue, comm->plain, parts, n, &comm->staging);
}

/* What prepare_plain() has made ready, if it has. */
static int exchange_plain(hcy_queue *queue, hcy_dist *comm, int status)
{
    struct hcy__exchange *x = comm->plain;
    if (!x)
        return status;
    if (!status)
        status = submit_parts(queue, x);
    const bool by_host = comm->place.n_ranks > 1 && !x->on_device;
    if (!status && by_host)
        status = hcy_queue_finish(queue);
    if (!status)
        status = end_parts(queue, x, comm->staging ? hcy_buffer_host(comm->staging) : NULL);
    /* Arrays are there on return; and the staging memory is the next call's, after a failure too, when some of the
     * copies may be under way. */
    const int finished = by_host ? hcy_queue_finish(queue) : 0;
    clear_exchange(x);
    return status ? status : finished;
}

int hcy__dist_exchange(hcy_queue *queue, hcy_dist *comm, const struct hcy__dist_part *parts, size_t n)
{
    return exchange_plain(queue, comm, prepare_plain(queue, comm, parts, n));
}

int hcy__dist_exchange_agreed(hcy_queue *queue, hcy_dist *comm, const struct hcy__dist_part *parts, size_t n,
                              int status)
{
    if (!status)
        status = prepare_plain(queue, comm, parts, n);
    return exchange_plain(queue, comm, hcy_dist_agree(comm, status));
}

int hcy__exchange_begin(hcy_queue *queue, struct hcy__exchange *x, const struct hcy__dist_part *parts, size_t n)
{
    int status = 0;
    if (x->is_begun)
        return hcy_fail(HCY_ESTATE, "an exchange that was begun has not been ended yet");
    if (x->comm->on_device && !x->side)
        status = hcy_queue_create_urgent(&x->side, hcy_queue_device(queue));
    if (!status)
        status = wait_for_staging(x);
    if (!status)
        status = prepare_parts(queue, x, parts, n, &x->staging);
    if (!status)
        status = submit_parts(queue, x);
    if (!status && !x->on_device)
        status = hcy_event_record(&x->sent, queue);
    if (status) {
        /* Copies to its own memory that are under way do not keep that. */
        if (x->staging)
            (void)!hcy_queue_finish(queue);
        clear_exchange(x);
    }
    x->is_begun = !status;
    return status;
}

int hcy__exchange_end(hcy_queue *queue, struct hcy__exchange *x)
{
    int status = 0;
    if (!x->is_begun)
        return hcy_fail(HCY_ESTATE, "an exchange that is ended has not been begun");
    if (x->sent)
        status = hcy_event_wait(x->sent, HCY_FOREVER);
    if (x->on_device && x->side)
        status = hcy__follow(queue, x->side);
    if (!status)
        status = end_parts(queue, x, x->staging ? hcy_buffer_host(x->staging) : NULL);
    /* Even after a failure some of it may be on its way. */
    const int recorded = x->staging && !x->on_device ? hcy_event_record(&x->received, queue) : 0;
    if (recorded)
        (void)!hcy_queue_finish(queue);
    clear_exchange(x);
    return status ? status : recorded;
}
