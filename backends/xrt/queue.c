/* queue.c - queues, copies and fills.
 *
 * Each command runs on the host queue's thread.  A copy to the card goes into the host's side of the buffer and from
 * there over the bus, row by row; where the host's sides are what counts, no card is asked.
 */
#include "xrt_priv.h"

#include <stdlib.h>
#include <string.h>

int xrt_queue_create(void **qimpl, void *impl, hcy_queue *queue)
{
    struct xrt_device *d = impl;
    struct xrt_queue *q = malloc(sizeof *q);
    if (!q)
        return hcy_fail(HCY_ENOMEM, "out of memory for a queue");
    q->device = d;
    int status = hcy_hostqueue_create(&q->host, d->dev, queue);
    if (status)
        free(q);
    else
        *qimpl = q;
    return status;
}

void xrt_queue_destroy(void *qimpl)
{
    struct xrt_queue *q = qimpl;
    hcy_hostqueue_destroy(q->host);
    free(q);
}

int xrt_finish(void *qimpl)
{
    return hcy_hostqueue_finish(((struct xrt_queue *)qimpl)->host);
}

int xrt_finished(void *qimpl)
{
    return hcy_hostqueue_finished(((struct xrt_queue *)qimpl)->host);
}

int xrt_status(void *qimpl)
{
    return hcy_hostqueue_status(((struct xrt_queue *)qimpl)->host);
}

int xrt_record(void **eimpl, void *qimpl)
{
    return hcy_hostqueue_record(eimpl, ((struct xrt_queue *)qimpl)->host);
}

int xrt_wait(void *qimpl, hcy_event *event)
{
    return hcy_hostqueue_wait(((struct xrt_queue *)qimpl)->host, event);
}

/* --- Copies --- */

/* The buffer that a place is in; NULL: memory of the user's, or another device's that the host reaches. */
static struct xrt_memory *card_memory(const struct xrt_queue *q, const hcy_place *p)
{
    return p->block && hcy_device_impl(p->dev) == q->device ? p->block->handle : NULL;
}

/* Its card's side is what counts. */
static bool on_card(const struct xrt_memory *m)
{
    return m && !m->at_host;
}

static unsigned char *host_side(const struct xrt_memory *m, const hcy_place *p)
{
    return (m ? m->host : (unsigned char *)(p->block ? p->block->host : p->host)) + p->offset;
}

struct copy {
    hcy_copy what;
    struct xrt_memory *to, *from;
};

static int copy_row_over(const struct copy *k, size_t to, size_t from, size_t size)
{
    const hcy_copy *c = &k->what;
    /* The host's side is stale while the card's counts, so the row is fetched before it is read. */
    int status = on_card(k->from) ? xrt_transfer(k->from, c->src.offset + from, size, false) : 0;
    if (status)
        return status;
    /* Source and destination may be rows of one buffer. */
    memmove(host_side(k->to, &c->dst) + to, host_side(k->from, &c->src) + from, size);
    return on_card(k->to) ? xrt_transfer(k->to, c->dst.offset + to, size, true) : 0;
}

static int copy_rows(const struct copy *k)
{
    const hcy_copy *c = &k->what;
    int status = 0;
    for (size_t z = 0; !status && z < c->extent[2]; z++)
        for (size_t y = 0; !status && y < c->extent[1]; y++)
            status = copy_row_over(k, z * c->dst.slice_stride + y * c->dst.row_stride,
                                   z * c->src.slice_stride + y * c->src.row_stride, c->extent[0]);
    return status;
}

/* Holds memory in its place while it is copied. */
static void hold_memory(struct xrt_memory *m)
{
    if (m)
        pthread_rwlock_rdlock(&m->lock);
}

static void let_memory_go(struct xrt_memory *m)
{
    if (m)
        pthread_rwlock_unlock(&m->lock);
}

static int run_card_copy(void *command)
{
    const struct copy *k = command;
    /* A lock is taken once if both ends lie in one buffer. */
    struct xrt_memory *other = k->from == k->to ? NULL : k->from;
    /* Once the process ends XRT's mappings may be gone, which this thread would write to. */
    if (!card_enter())
        return xrt_ends();
    hold_memory(k->to);
    hold_memory(other);
    int status = copy_rows(k);
    let_memory_go(other);
    let_memory_go(k->to);
    card_leave();
    return status;
}

/* The card's own memory, or memory that the host reaches. */
static bool is_card_or_host(const struct xrt_queue *q, const hcy_place *p)
{
    return !p->block || p->block->host || hcy_device_impl(p->dev) == q->device;
}

int xrt_copy(void *qimpl, const hcy_copy *copy, hcy_keep *keep)
{
    struct xrt_queue *q = qimpl;
    /* The HAL then takes the copy through the host. */
    if (!is_card_or_host(q, &copy->dst) || !is_card_or_host(q, &copy->src))
        return hcy_fail(HCY_EUNSUPPORTED, "an FPGA card cannot reach another device's memory");
    struct copy k = { *copy, card_memory(q, &copy->dst), card_memory(q, &copy->src) };
    uint64_t bytes = (uint64_t)copy->extent[0] * copy->extent[1] * copy->extent[2];
    return hcy_hostqueue_submit(q->host, hcy_copy_name(copy), bytes, run_card_copy, &k, sizeof k, keep);
}

/* --- Fills --- */

struct fill {
    struct xrt_memory *memory;
    size_t offset, size, pattern_size;
    unsigned char pattern[8];
};

static int run_card_fill(void *command)
{
    const struct fill *f = command;
    struct xrt_memory *m = f->memory;
    if (!card_enter())
        return xrt_ends();
    hold_memory(m);
    /* The host's side is written first; one transfer then takes all of it over the bus. */
    for (size_t i = 0; i < f->size; i += f->pattern_size)
        memcpy(m->host + f->offset + i, f->pattern, f->pattern_size);
    int status = on_card(m) ? xrt_transfer(m, f->offset, f->size, true) : 0;
    let_memory_go(m);
    card_leave();
    return status;
}

int xrt_fill(void *qimpl, const hcy_place *dst, size_t size, const void *pattern, size_t pattern_size,
             hcy_keep *keep)
{
    struct xrt_queue *q = qimpl;
    struct fill f = { .memory = dst->block->handle, .offset = dst->offset, .size = size,
                      .pattern_size = pattern_size };
    memcpy(f.pattern, pattern, pattern_size);
    return hcy_hostqueue_submit(q->host, "fill", size, run_card_fill, &f, sizeof f, keep);
}
