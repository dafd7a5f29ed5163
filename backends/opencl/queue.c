/* queue.c - queues, and the commands that are copies and fills.
 *
 * Each command runs on the host queue's thread and is waited for there, but for launches that follow one another.  The
 * host's memory is on one side of most copies; where it is on both, no driver is asked.
 */
#include "cl_priv.h"

#include <stdlib.h>
#include <string.h>

int cl_queue_create(void **qimpl, void *impl, hcy_queue *queue)
{
    struct cl_device *d = impl;
    struct cl_queue *q = malloc(sizeof *q);
    if (!q)
        return hcy_fail(HCY_ENOMEM, "out of memory for a queue");
    /* The lane comes first, so that the thread finds it as soon as it runs. */
    q->lane = cl_lane_take(d);
    int status = q->lane ? hcy_hostqueue_create(&q->host, d->dev, queue) : hcy_last_error()->status;
    if (!status) {
        *qimpl = q;
        return 0;
    }
    if (q->lane)
        cl_lane_give(q->lane);
    free(q);
    return status;
}

void cl_queue_destroy(void *qimpl)
{
    struct cl_queue *q = qimpl;
    cl_lane_give(q->lane); /* it stays there as long as the device, which the last command keeps */
    hcy_hostqueue_destroy(q->host);
    free(q);
}

int cl_queue_finish(void *qimpl)
{
    return hcy_hostqueue_finish(((struct cl_queue *)qimpl)->host);
}

int cl_queue_finished(void *qimpl)
{
    return hcy_hostqueue_finished(((struct cl_queue *)qimpl)->host);
}

int cl_queue_status(void *qimpl)
{
    return hcy_hostqueue_status(((struct cl_queue *)qimpl)->host);
}

int cl_queue_record(void **eimpl, void *qimpl)
{
    return hcy_hostqueue_record(eimpl, ((struct cl_queue *)qimpl)->host);
}

int cl_queue_wait(void *qimpl, hcy_event *event)
{
    return hcy_hostqueue_wait(((struct cl_queue *)qimpl)->host, event);
}

int cl_queue_i64(int64_t *value, void *qimpl, const char *key)
{
    struct cl_queue *q = qimpl;
    if (strcmp(key, "cl_command_queue"))
        return hcy_fail(HCY_ENOENT, "an OpenCL queue has no number \"%s\" (cl_command_queue)", key);
    *value = (int64_t)(intptr_t)q->lane->queue;
    return 0;
}

/* What others have put into the lane is the driver's alone to know. */
static int pass_lane(void *command)
{
    struct cl_lane *lane = *(struct cl_lane **)command;
    return cl_check_ran(lane->dev, cl.clFinish(lane->queue), "others' commands");
}

int cl_queue_keep(void *qimpl, hcy_keep *keep)
{
    struct cl_queue *q = qimpl;
    return hcy_hostqueue_submit(q->host, "others' commands", 0, pass_lane, &q->lane, sizeof q->lane, keep);
}

/* --- Copies --- */

struct copy {
    struct cl_lane *lane;
    hcy_copy copy;
};

/* The host's address of a place, NULL if it is the device's. */
static unsigned char *mapped_address(const hcy_place *p)
{
    unsigned char *base = p->block ? p->block->host : p->host;
    return base ? base + p->offset : NULL;
}

static size_t offset_in_place(const hcy_place *p, size_t y, size_t z)
{
    return z * p->slice_stride + y * p->row_stride;
}

static cl_int enqueue_row(struct cl_lane *lane, const hcy_copy *c, size_t y, size_t z)
{
    unsigned char *to = mapped_address(&c->dst), *from = mapped_address(&c->src);
    size_t dst = offset_in_place(&c->dst, y, z), src = offset_in_place(&c->src, y, z), size = c->extent[0];
    /* The calls do not block: the rows of a copy are waited for together. */
    if (from)
        return cl.clEnqueueWriteBuffer(lane->queue, cl_mem_of(c->dst.block), 0, c->dst.offset + dst, size,
                                       from + src, 0, NULL, NULL);
    if (to)
        return cl.clEnqueueReadBuffer(lane->queue, cl_mem_of(c->src.block), 0, c->src.offset + src, size,
                                      to + dst, 0, NULL, NULL);
    return cl.clEnqueueCopyBuffer(lane->queue, cl_mem_of(c->src.block), cl_mem_of(c->dst.block),
                                  c->src.offset + src, c->dst.offset + dst, size, 0, NULL, NULL);
}

static int run_cl_copy(void *command)
{
    const struct copy *c = command;
    cl_int code = CL_SUCCESS;
    /* Where the host reaches both sides, a copy of memory is faster than any driver. */
    if (mapped_address(&c->copy.dst) && mapped_address(&c->copy.src))
        return hcy_host_copy(&c->copy);
    const struct cl_span span = cl_lane_begin(c->lane);
    /* Row by row: OpenCL's copies of rectangles want slices of whole rows, which ours need not have. */
    for (size_t z = 0; !code && z < c->copy.extent[2]; z++)
        for (size_t y = 0; !code && y < c->copy.extent[1]; y++)
            code = enqueue_row(c->lane, &c->copy, y, z);
    int status = cl_check(c->lane->dev, code, "a copy"),
        ran = cl_check_ran(c->lane->dev, cl_lane_finish(c->lane, &span), "a copy");
    return status ? status : ran;
}

/* The device's own memory, or memory that the host reaches. */
static bool is_reached(const struct cl_queue *q, const hcy_place *p)
{
    return mapped_address(p) || hcy_device_impl(p->dev) == q->lane->dev;
}

int cl_copy(void *qimpl, const hcy_copy *copy, hcy_keep *keep)
{
    struct cl_queue *q = qimpl;
    struct copy c = { q->lane, *copy };
    if (!is_reached(q, &copy->dst) || !is_reached(q, &copy->src))
        return hcy_fail(HCY_EUNSUPPORTED, "an OpenCL device cannot reach another device's memory");
    uint64_t bytes = (uint64_t)copy->extent[0] * copy->extent[1] * copy->extent[2];
    return hcy_hostqueue_submit(q->host, hcy_copy_name(copy), bytes, run_cl_copy, &c, sizeof c, keep);
}

/* --- Fills --- */

struct fill {
    struct cl_lane *lane;
    hcy_place dst;
    size_t size, pattern_size;
    unsigned char pattern[8];
};

static cl_int fill_single_bytes(const struct fill *f, size_t from, size_t to)
{
    cl_int code = CL_SUCCESS;
    for (size_t i = from; !code && i < to; i++)
        code =
            cl.clEnqueueFillBuffer(f->lane->queue, cl_mem_of(f->dst.block), &f->pattern[i % f->pattern_size],
                                   1, f->dst.offset + i, 1, 0, NULL, NULL);
    return code;
}

/* A pattern across its natural addresses is turned until it lies along them; the ends are written byte by byte. */
static cl_int fill_buffer(const struct fill *f)
{
    size_t n = f->pattern_size, skew = (n - f->dst.offset % n) % n, whole = (f->size - skew) / n * n;
    /* OpenCL refuses fills at addresses that are not multiples of the pattern's size. */
    unsigned char turned[8];
    for (size_t i = 0; i < n; i++)
        turned[i] = f->pattern[(i + skew) % n];
    cl_int code = fill_single_bytes(f, 0, skew);
    if (!code && whole)
        code = cl.clEnqueueFillBuffer(f->lane->queue, cl_mem_of(f->dst.block), turned, n,
                                      f->dst.offset + skew, whole, 0, NULL, NULL);
    return code ? code : fill_single_bytes(f, skew + whole, f->size);
}

static int run_cl_fill(void *command)
{
    const struct fill *f = command;
    if (f->dst.block->host)
        return hcy_host_fill(&f->dst, f->size, f->pattern, f->pattern_size);
    const struct cl_span span = cl_lane_begin(f->lane);
    int status = cl_check(f->lane->dev, fill_buffer(f), "a fill");
    int ran = cl_check_ran(f->lane->dev, cl_lane_finish(f->lane, &span), "a fill");
    return status ? status : ran;
}

int cl_fill(void *qimpl, const hcy_place *dst, size_t size, const void *pattern, size_t pattern_size,
            hcy_keep *keep)
{
    struct cl_queue *q = qimpl;
    struct fill f = { .lane = q->lane, .dst = *dst, .size = size, .pattern_size = pattern_size };
    memcpy(f.pattern, pattern, pattern_size);
    return hcy_hostqueue_submit(q->host, "fill", size, run_cl_fill, &f, sizeof f, keep);
}
