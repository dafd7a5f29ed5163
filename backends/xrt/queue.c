/* queue.c - queues, copies and fills.
 *
 * Each command runs on the host queue's thread.  A copy to the card goes into the host's side of the buffer and from
 * there over the bus, row by row; where both ends are the host's, no card is asked.
 */
#include "xrt_priv.h"

#include <stdlib.h>
#include <string.h>

int xrt_queue_create(void *impl, hcy_queue *queue, void **qimpl)
{
    struct xrt_device *d = impl;
    struct xrt_queue *q = malloc(sizeof *q);
    (void)queue;
    if (!q)
        return hcy_fail(HCY_ENOMEM, "out of memory for a queue");
    q->device = d;
    int status = hcy_hostqueue_create(&q->host, d->dev);
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

int xrt_status(void *qimpl)
{
    return hcy_hostqueue_status(((struct xrt_queue *)qimpl)->host);
}

int xrt_record(void *qimpl, void **eimpl)
{
    return hcy_hostqueue_record(((struct xrt_queue *)qimpl)->host, eimpl);
}

int xrt_wait(void *qimpl, hcy_event *event)
{
    return hcy_hostqueue_wait(((struct xrt_queue *)qimpl)->host, event);
}

/* --- Copies --- */

/* The buffer on the card that a place is in; NULL: the host's memory. */
static struct xrt_memory *card_of(const hcy_place *p)
{
    return p->block && !p->block->host ? p->block->handle : NULL;
}

static unsigned char *host_of(const hcy_place *p)
{
    return (p->block ? card_of(p) ? card_of(p)->host : (unsigned char *)p->block->host
                     : (unsigned char *)p->host) +
           p->offset;
}

static int copy_row(const hcy_copy *c, size_t to, size_t from, size_t size)
{
    struct xrt_memory *dst = card_of(&c->dst), *src = card_of(&c->src);
    int status = src ? xrt_transfer(src, c->src.offset + from, size, false) : 0;
    if (status)
        return status;
    memmove(host_of(&c->dst) + to, host_of(&c->src) + from, size);
    return dst ? xrt_transfer(dst, c->dst.offset + to, size, true) : 0;
}

static int run_copy(void *command)
{
    const hcy_copy *c = command;
    int status = 0;
    if (!card_enter())
        return xrt_ends();
    for (size_t z = 0; !status && z < c->extent[2]; z++)
        for (size_t y = 0; !status && y < c->extent[1]; y++)
            status = copy_row(c, z * c->dst.slice_stride + y * c->dst.row_stride,
                              z * c->src.slice_stride + y * c->src.row_stride, c->extent[0]);
    card_leave();
    return status;
}

/* The card's own memory, or memory that the host reaches. */
static bool is_ours(const struct xrt_queue *q, const hcy_place *p)
{
    return !p->block || p->block->host || hcy_device_impl(p->dev) == q->device;
}

int xrt_copy(void *qimpl, const hcy_copy *copy, hcy_keep *keep)
{
    struct xrt_queue *q = qimpl;
    const char *name = !copy->src.block ? "write" : !copy->dst.block ? "read" : "copy";
    if (!is_ours(q, &copy->dst) || !is_ours(q, &copy->src))
        return hcy_fail(HCY_EUNSUPPORTED, "an FPGA card cannot reach another device's memory");
    uint64_t bytes = (uint64_t)copy->extent[0] * copy->extent[1] * copy->extent[2];
    return hcy_hostqueue_submit(q->host, name, bytes, run_copy, copy, sizeof *copy, keep);
}

/* --- Fills --- */

struct fill {
    hcy_place dst;
    size_t size, pattern_size;
    unsigned char pattern[8];
};

static int run_fill(void *command)
{
    const struct fill *f = command;
    struct xrt_memory *m = card_of(&f->dst);
    unsigned char *to = host_of(&f->dst);
    if (!card_enter())
        return xrt_ends();
    for (size_t i = 0; i < f->size; i += f->pattern_size)
        memcpy(to + i, f->pattern, f->pattern_size);
    card_leave();
    return m ? xrt_transfer(m, f->dst.offset, f->size, true) : 0;
}

int xrt_fill(void *qimpl, const hcy_place *dst, size_t size, const void *pattern, size_t pattern_size,
             hcy_keep *keep)
{
    struct xrt_queue *q = qimpl;
    struct fill f = { .dst = *dst, .size = size, .pattern_size = pattern_size };
    memcpy(f.pattern, pattern, pattern_size);
    return hcy_hostqueue_submit(q->host, "fill", size, run_fill, &f, sizeof f, keep);
}
