/* dist_overlap.c - differences along the axis of the blocks, computed while ghost rows are on their way.
 *
 * Most rows of a rank's result need no ghosts: they are made of the part as it is, and submitted before anything waits
 * for another rank.  The few at its ends are made of a strip: the part's outermost rows with the ghosts around them.
 * A transport of host memory runs on the caller's thread while the queue computes; one of devices on a queue of its
 * own.  Memory and the list of messages are made once.
 */
#include "dist_priv.h"
#include "operator_priv.h"
#include "stencil_format.h"

#include <stdlib.h>
#include <string.h>

enum { REACH = HCY_STENCIL_REACH, STAGING_UNIT = 64 };

/* Between the strip (what comes), or the part (what goes), and another rank. */
struct message {
    int rank;
    bool sends;
    size_t place, bytes, staged; /* staged: the place in the staging memory */
};

struct overlap {
    hcy_dist_layout *to, *from;
    hcy_operator *own;           /* of this rank's rows with ghosts around them */
    int64_t rows, before, after; /* this rank's own rows, and its ghosts */
    int64_t front, back;         /* first and last rows of the result, which are made of the strip */
    int64_t head, tail;          /* the strip: so many first rows of the part with its ghosts, so many last ones */
    int64_t slabs;               /* in front of the axis of the blocks: each has rows of its own */
    size_t row;                  /* bytes of a row of a slab */
    hcy_array *strip;            /* NULL: no ghosts */
    hcy_buffer *staging;         /* NULL: messages take the arrays as they lie, or there are none */
    hcy_event *received;         /* what lay in the staging memory last is on the device */
    hcy_queue *side;             /* of a transport of devices; NULL: through the host */
    struct message *list;
    struct hcy__message *messages; /* of the call */
    size_t n;
    struct hcy__turn turn;
};

static void free_overlap(void *user)
{
    struct overlap *o = user;
    /* Commands that copy from the host's memory do not keep it. */
    if (o->received)
        (void)!hcy_event_wait(o->received, HCY_FOREVER);
    hcy_event_release(o->received);
    hcy__turn_end(&o->turn);
    hcy_queue_release(o->side);
    hcy_buffer_release(o->staging);
    hcy_array_release(o->strip);
    hcy_operator_release(o->own);
    hcy_dist_layout_release(o->to);
    hcy_dist_layout_release(o->from);
    free(o->list);
    free(o->messages);
    free(o);
}

/* --- The strip --- */

/* Rows of the part with its ghosts that the strip leaves out. */
static int64_t count_left_out(const struct overlap *o)
{
    return o->before + o->rows + o->after - o->head - o->tail;
}

/* A part of few rows is all strip. */
static void size_strip(struct overlap *o)
{
    if (!o->before && !o->after)
        return;
    if (o->rows <= 4 * REACH) {
        o->front = o->rows;
        o->head = o->before + o->rows + o->after;
        return;
    }
    o->front = o->before ? REACH : 0;
    o->head = o->before ? o->before + 2 * REACH : 0;
    o->back = o->after ? REACH : 0;
    o->tail = o->after ? o->after + 2 * REACH : 0;
}

/* `count` rows of the part from `first` on, of each slab, to row `at` of the strip. */
static int copy_rows(hcy_queue *queue, const struct overlap *o, const hcy_array *x, int64_t at, int64_t first,
                     int64_t count)
{
    int status = 0;
    for (int64_t k = 0; !status && count && k < o->slabs; k++)
        status = hcy_buffer_copy(queue, o->strip->buffer,
                                 hcy__offset_of(o->strip) + (size_t)(k * (o->head + o->tail) + at) * o->row, x->buffer,
                                 hcy__offset_of(x) + (size_t)(k * o->rows + first) * o->row, (size_t)count * o->row);
    return status;
}

static int fill_strip(hcy_queue *queue, const struct overlap *o, const hcy_array *x)
{
    const int64_t front = o->front == o->rows ? o->rows : o->front * 2, back = o->back * 2;
    if (!o->strip)
        return 0;
    int status = copy_rows(queue, o, x, o->before, 0, front);
    return status ? status : copy_rows(queue, o, x, o->head, o->rows - back, back);
}

/* --- Messages --- */

static void set_messages(const struct overlap *o, const hcy_array *x)
{
    char *staging = o->staging ? hcy_buffer_host(o->staging) : NULL;
    for (size_t i = 0; i < o->n; i++) {
        const struct message *m = &o->list[i];
        const hcy_array *a = m->sends ? x : o->strip;
        const size_t offset = hcy__offset_of(a) + m->place;
        char *data = o->side || staging ? NULL : hcy__within_reach(o->from->comm, a);
        o->messages[i] = (struct hcy__message){ m->rank,
                                                m->sends,
                                                staging ? staging + m->staged : data ? data + m->place : NULL,
                                                a->buffer,
                                                offset,
                                                m->bytes };
    }
}

static int copy_staged(hcy_queue *queue, const struct overlap *o, bool sends)
{
    int status = 0;
    for (size_t i = 0; !status && o->staging && i < o->n; i++) {
        const struct hcy__message *m = &o->messages[i];
        if (!m->sends == !sends)
            status = sends ? hcy_buffer_read(queue, m->data, m->buffer, m->offset, m->bytes)
                           : hcy_buffer_write(queue, m->buffer, m->offset, m->data, m->bytes);
    }
    return status;
}

/* What has come, to the device. */
static int receive_staged(hcy_queue *queue, struct overlap *o)
{
    const int status = copy_staged(queue, o, false);
    if (!o->staging)
        return status;
    hcy_event_release(o->received);
    o->received = NULL;
    const int recorded = hcy_event_record(&o->received, queue);
    return status ? status : recorded;
}

/* --- Applying --- */

/* The result's rows that are made of the strip. */
static int make_edges(hcy_queue *queue, hcy_array *y, const struct overlap *o)
{
    int status = 0;
    if (o->front)
        status = hcy__stencil_rows(queue, y, o->own, o->strip, 0, o->front, o->before);
    if (!status && o->back)
        status = hcy__stencil_rows(queue, y, o->own, o->strip, o->rows - o->back, o->rows,
                                   o->before - count_left_out(o));
    return status;
}

static int make_inner(hcy_queue *queue, hcy_array *y, const struct overlap *o, hcy_array *x)
{
    return hcy__stencil_rows(queue, y, o->own, x, o->front, o->rows - o->back, 0);
}

/* All about the strip is the other queue's, which is urgent: its few rows and the messages go before the many rows that
 * wait.  These are started first, for starting messages takes the host long, and the device would do nothing; where
 * that fails the messages still go, which others wait for. */
static int run_beside(hcy_queue *queue, hcy_array *y, struct overlap *o, hcy_array *x)
{
    const hcy_dist *comm = o->from->comm;
    set_messages(o, x);
    int status = hcy__follow(o->side, queue);
    const int inner = status ? 0 : make_inner(queue, y, o, x);
    if (!status)
        status = fill_strip(o->side, o, x);
    if (!status)
        status = comm->on_device->exchange(o->side, comm->device_impl, o->messages, o->n);
    if (!status)
        status = make_edges(o->side, y, o);
    /* Even after a failure: what the other queue has got still uses what the caller may release. */
    const int after = hcy__follow(queue, o->side);
    return status ? status : after ? after : inner;
}

/* Messages go and come while the queue computes, or has failed to: others wait for them. */
static int run_through_host(hcy_queue *queue, hcy_array *y, struct overlap *o, hcy_array *x)
{
    const hcy_dist *comm = o->from->comm;
    const bool alone = comm->place.n_ranks == 1;
    int status = fill_strip(queue, o, x);
    set_messages(o, x);
    if (!status && !alone)
        status = copy_staged(queue, o, true);
    if (!status && !alone)
        status = hcy_queue_finish(queue);
    const int inner = status ? 0 : make_inner(queue, y, o, x);
    if (!status && !alone)
        status = comm->transport->exchange(comm->impl, o->messages, o->n);
    if (!status && !alone)
        status = receive_staged(queue, o);
    if (!status)
        status = make_edges(queue, y, o);
    return status ? status : inner;
}

static int apply_overlapped(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    struct overlap *o = user;
    int status = hcy__turn_take(&o->turn, queue);
    if (!status)
        status = (o->side && o->n ? run_beside : run_through_host)(queue, y, o, x);
    hcy__turn_give(&o->turn);
    return status;
}

/* --- Making --- */

/* A ghost is as many messages as there are slabs, in their order at both ends. */
static int list_messages(struct overlap *o, const struct hcy__ghost *ghosts, size_t n)
{
    const hcy_dist *comm = o->from->comm;
    const size_t slabs = (size_t)o->slabs;
    size_t bytes = 0, most = 0;
    int status = hcy_size_mul(&most, n + 1, slabs + 1);
    o->list = status ? NULL : calloc(most, sizeof *o->list);
    o->messages = status ? NULL : calloc(most, sizeof *o->messages);
    if (!o->list || !o->messages)
        return hcy_fail(HCY_ENOMEM, "out of memory for the messages of %zu ghosts", n);
    for (size_t i = 0; o->row && i < n; i++)
        for (size_t k = 0; k < slabs; k++) {
            const struct hcy__ghost *g = &ghosts[i];
            const int64_t first = g->box.first[o->from->axis], count = g->box.end[o->from->axis] - first;
            const int64_t in_strip = first < o->head ? first : first - count_left_out(o);
            const int64_t at = g->gives ? (int64_t)k * o->rows + first
                                        : (int64_t)k * (o->head + o->tail) + in_strip;
            const size_t size = (size_t)count * o->row;
            o->list[o->n++] = (struct message){ g->rank, g->gives, (size_t)at * o->row, size, bytes };
            bytes += (size + STAGING_UNIT - 1) / STAGING_UNIT * STAGING_UNIT;
        }
    if (o->side || !bytes || hcy_device_get_info(o->own->dev)->caps & HCY_CAP_HOST_MEMORY ||
        (comm->reaches_device && comm->device == o->own->dev))
        return 0;
    return hcy_buffer_create(&o->staging, o->own->dev, HCY_MEM_PINNED, bytes);
}

static int make_memory(struct overlap *o, const int64_t reach[2])
{
    const hcy_dist *comm = o->from->comm;
    const int dtype = o->own->desc.domain.dtype;
    struct hcy__widths widths = { { 0 }, { 0 }, false };
    int64_t shape[HCY_ARRAY_MAX_RANK];
    struct hcy__ghost *ghosts = NULL;
    size_t n = 0;
    widths.front[o->from->axis] = reach[0];
    widths.back[o->from->axis] = reach[1];
    memcpy(shape, o->from->local, sizeof shape);
    shape[o->from->axis] = o->head + o->tail;
    int status = hcy__dist_list_ghosts(&ghosts, &n, o->from, &widths);
    if (!status && o->head + o->tail)
        status = hcy_array_empty(&o->strip, o->own->dev, dtype, o->from->rank, shape);
    if (!status && comm->on_device && comm->device == o->own->dev)
        status = hcy_queue_create_urgent(&o->side, o->own->dev);
    if (!status)
        status = list_messages(o, ghosts, n);
    free(ghosts);
    return status;
}

static int new_overlap(struct overlap **out, hcy_dist_layout *to, hcy_dist_layout *from, hcy_operator *own,
                       const hcy_differences_desc *part, const int64_t reach[2])
{
    struct overlap *o = calloc(1, sizeof *o);
    if (!o)
        return hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    hcy__turn_init(&o->turn);
    o->to = hcy_dist_layout_retain(to);
    o->from = hcy_dist_layout_retain(from);
    o->own = hcy_operator_retain(own);
    o->rows = part->rows;
    o->before = part->before;
    o->after = part->after;
    o->slabs = 1;
    o->row = hcy_dtype_size(part->space.dtype);
    for (int d = 0; d < from->axis; d++)
        o->slabs *= from->shape[d];
    for (int d = from->axis + 1; d < from->rank; d++)
        o->row *= (size_t)from->shape[d];
    /* Without elements there is nothing to copy, and nothing to fetch. */
    if (o->row)
        size_strip(o);
    int status = make_memory(o, reach);
    if (status)
        free_overlap(o);
    else
        *out = o;
    return status;
}

int hcy__dist_overlapped(hcy_operator **op, hcy_dist_layout *to, hcy_dist_layout *from, hcy_operator *own,
                         const hcy_differences_desc *part, const int64_t reach[2])
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    struct overlap *o = NULL;
    int status = hcy_dist_space(&desc.range, to, part->space.dtype);
    if (!status)
        status = hcy_dist_space(&desc.domain, from, part->space.dtype);
    if (!status)
        status = new_overlap(&o, to, from, own, part, reach);
    if (status)
        return status;
    desc.name = "differences behind messages";
    desc.apply = apply_overlapped;
    desc.destroy = free_overlap;
    desc.user = o;
    return hcy__operator_make(op, own->dev, &desc);
}
