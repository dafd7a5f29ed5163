/* copy.c - copies and fills: ranges checked here, carried out by a backend, staged where no backend can.
 *
 * A copy is rows x slices with strides; a plain one has one row.  Where both buffers are on one device, or one of
 * them can be reached as host memory, the queue's backend does it alone.  Between two devices that see neither
 * each other nor the other's memory, the bytes go through a pinned host buffer in pieces, ordered by events.
 */
#include "hal_priv.h"

#include <string.h>

#define STAGE_BYTES ((size_t)8 << 20)

static hcy_place buffer_place(const hcy_buffer *buf, size_t offset)
{
    hcy_place place = { .block = &buf->block, .mem = buf->mem, .dev = buf->dev };
    /* Places count from the block, views from their buffer. */
    place.offset = buf->offset + offset;
    return place;
}

static hcy_place host_place(const void *host)
{
    /* A copy's source is not written to; one type serves both directions. */
    return (hcy_place){ .host = (void *)(uintptr_t)host };
}

static int check_buffer_range(const hcy_buffer *buf, size_t offset, size_t size, const char *what)
{
    /* Compared by a difference, because a sum could wrap. */
    if (offset > buf->size || size > buf->size - offset)
        return hcy_fail(HCY_ERANGE, "%s of %zu bytes at %zu is past the buffer's %zu", what, size, offset,
                        buf->size);
    return 0;
}

static int check_command(hcy_queue *queue, const hcy_buffer *buf, const char *what)
{
    if (!queue || !buf)
        return hcy_fail(HCY_EINVAL, "%s: no %s", what, queue ? "buffer" : "queue");
    return hcy__queue_check(queue);
}

/* Hands a copy to the queue's backend with references on both buffers. */
static int submit_copy(hcy_queue *queue, const hcy_copy *copy, hcy_buffer *a, hcy_buffer *b)
{
    if (!HCY_HAS_OP(queue->dev->backend->ops, copy))
        return hcy__unsupported(queue->dev, "copies");
    /* Buffers may be released as soon as this returns; the command needs them until it has run. */
    hcy_keep *keep = hcy__keep_new(queue->dev, 2, 0, NULL);
    if (!keep)
        return hcy_fail(HCY_ENOMEM, "out of memory for a copy's record");
    hcy__keep_add(keep, a);
    hcy__keep_add(keep, b);
    int status;
    HCY__ON_QUEUE(status, queue, queue->dev->backend->ops->copy(queue->impl, copy, keep));
    /* A backend takes the references over only with a command that it accepts. */
    if (status)
        hcy_keep_release(keep);
    return status;
}

static int host_copy(hcy_queue *queue, hcy_buffer *buf, size_t offset, const void *host, size_t size,
                     bool write)
{
    const char *what = write ? "a write" : "a read";
    int status = check_command(queue, buf, what);
    if (!status && !host && size)
        status = hcy_fail(HCY_EINVAL, "%s: no host memory", what);
    /* The queue could not order what it does against the other commands of that device. */
    if (!status && buf->dev != queue->dev)
        status = hcy_fail(HCY_EINVAL, "%s: the buffer is on device %s, the queue on %s%s", what, buf->dev->info.name,
                          queue->dev->info.name, hcy__opened_twice(buf->dev, queue->dev));
    if (!status)
        status = check_buffer_range(buf, offset, size, what);
    if (status || !size)
        return status;
    /* No rows: strides are not looked at where there is but one. */
    hcy_place here = buffer_place(buf, offset), there = host_place(host);
    hcy_copy copy = { write ? here : there, write ? there : here, { size, 1, 1 } };
    return submit_copy(queue, &copy, buf, NULL);
}

int hcy_buffer_write(hcy_queue *queue, hcy_buffer *dst, size_t offset, const void *src, size_t size)
{
    return host_copy(queue, dst, offset, src, size, true);
}

int hcy_buffer_read(hcy_queue *queue, void *dst, hcy_buffer *src, size_t offset, size_t size)
{
    return host_copy(queue, src, offset, dst, size, false);
}

/* --- Buffer to buffer --- */

/* Where a block begins, 0 if nobody knows. */
static uint64_t address_of(const hcy_block *block)
{
    return block->address ? block->address : (uint64_t)(uintptr_t)block->host;
}

bool hcy__begins_at_multiple(const hcy_buffer *buf, size_t size)
{
    return (address_of(&buf->block) + buf->offset) % size == 0;
}

/* Views of one buffer share its block, whose handle tells it from the others of its device; what a backend has no
 * handle for has an address. */
static bool has_one_handle(const hcy_block *a, const hcy_block *b)
{
    return a->handle == b->handle && (a->handle || !address_of(a) || !address_of(b));
}

bool hcy__same_block(const hcy_buffer *a, const hcy_buffer *b)
{
    if (a->dev != b->dev)
        return false;
    if (has_one_handle(&a->block, &b->block))
        return true;
    /* The pool's lie apart, which is what nearly all commands ask; but memory may have been lent twice. */
    if (a->origin == HCY__POOLED && b->origin == HCY__POOLED)
        return false;
    const uint64_t x = address_of(&a->block), y = address_of(&b->block);
    return x && y && x < y + b->block.size && y < x + a->block.size;
}

bool hcy__overlap(const hcy_buffer *a, size_t a_at, size_t a_size, const hcy_buffer *b, size_t b_at,
                  size_t b_size)
{
    if (!hcy__same_block(a, b))
        return false;
    const bool one = has_one_handle(&a->block, &b->block);
    const uint64_t x = (one ? 0 : address_of(&a->block)) + a->offset + a_at,
                   y = (one ? 0 : address_of(&b->block)) + b->offset + b_at;
    return x < y + b_size && y < x + a_size;
}

/* A place on another device, as host memory if it can be. */
static hcy_place as_seen_from(hcy_place place, const hcy_device *dev)
{
    /* An offset into the block is one into its host memory as well, so it stays. */
    if (place.block && place.dev != dev && place.block->host) {
        place.host = place.block->host;
        place.block = NULL;
    }
    return place;
}

/* What `after` gets from now on waits for what `before` has got so far. */
static int order_queues(hcy_queue *after, hcy_queue *before)
{
    hcy_event *event = NULL;
    int status = hcy_event_record(&event, before);
    if (!status)
        status = hcy_queue_wait(after, event);
    /* The queue that waits holds a reference of its own. */
    hcy_event_release(event);
    return status;
}

/* A copy through `stage`, with a queue on each side; nothing is waited for here. */
struct staged {
    hcy_queue *queue, *other; /* the caller's; one on the other device */
    hcy_buffer *dst, *src, *stage;
};

static int stage_piece(const struct staged *s, size_t dst_at, size_t src_at, size_t size)
{
    bool from_other = s->src->dev != s->queue->dev;
    /* Each half is done by the queue of the device whose memory it touches, the stage being the host's. */
    hcy_queue *first = from_other ? s->other : s->queue, *second = from_other ? s->queue : s->other;
    /* What the caller has queued before may still write to the source, or read what the stage holds of the last
     * piece. */
    int status = from_other ? order_queues(s->other, s->queue) : 0;
    if (!status)
        status = hcy_buffer_copy(first, s->stage, 0, s->src, src_at, size);
    if (!status)
        /* The stage is full only when the first half is done. */
        status = order_queues(second, first);
    if (!status)
        status = hcy_buffer_copy(second, s->dst, dst_at, s->stage, 0, size);
    /* Commands that the caller queues behind this copy must see it done, and so must the next piece, which uses
     * the same stage. */
    return !status && !from_other ? order_queues(s->queue, s->other) : status;
}

static int stage_row(const struct staged *s, size_t dst_at, size_t src_at, size_t size)
{
    int status = 0;
    for (size_t done = 0; !status && done < size; done += STAGE_BYTES) {
        /* All pieces go through one stage, so that a copy of any size takes little pinned memory. */
        size_t n = size - done < STAGE_BYTES ? size - done : STAGE_BYTES;
        status = stage_piece(s, dst_at + done, src_at + done, n);
    }
    return status;
}

static int check_pair(hcy_queue *queue, hcy_buffer *dst, hcy_buffer *src)
{
    int status = check_command(queue, dst, "a copy");
    if (!status)
        status = check_command(queue, src, "a copy");
    /* A third device could order the copy against neither of them. */
    if (!status && dst->dev != queue->dev && src->dev != queue->dev)
        status = hcy_fail(HCY_EINVAL, "a copy from %s to %s cannot be queued on %s, which has neither buffer",
                          src->dev->info.name, dst->dev->info.name, queue->dev->info.name);
    if (!status)
        status = hcy__device_check(dst->dev);
    /* Both devices may have been lost, and each has reasons of its own. */
    return status ? status : hcy__device_check(src->dev);
}

static size_t row_offset(const hcy_place *place, size_t y, size_t z)
{
    return place->offset + z * place->slice_stride + y * place->row_stride;
}

static int copy_staged(hcy_queue *queue, hcy_buffer *dst, hcy_buffer *src, const hcy_copy *copy)
{
    struct staged s = { .queue = queue, .dst = dst, .src = src };
    size_t row = copy->extent[0];
    int status = hcy_queue_create(&s.other, src->dev != queue->dev ? src->dev : dst->dev);
    if (!status)
        /* Pinned, since from other memory drivers copy only while the host waits. */
        status = hcy_buffer_create(&s.stage, queue->dev, HCY_MEM_PINNED,
                                   row < STAGE_BYTES ? row : STAGE_BYTES);
    for (size_t z = 0; !status && z < copy->extent[2]; z++)
        for (size_t y = 0; !status && y < copy->extent[1]; y++)
            status = stage_row(&s, row_offset(&copy->dst, y, z) - dst->offset,
                               row_offset(&copy->src, y, z) - src->offset, row);
    /* Commands in flight hold what they use, so nothing is waited for here. */
    hcy_buffer_release(s.stage);
    hcy_queue_release(s.other);
    return status;
}

static int copy_between(hcy_queue *queue, hcy_buffer *dst, hcy_buffer *src, const hcy_copy *copy)
{
    hcy_copy seen = *copy;
    seen.dst = as_seen_from(copy->dst, queue->dev);
    seen.src = as_seen_from(copy->src, queue->dev);
    int status = submit_copy(queue, &seen, dst, src);
    /* A backend may refuse a place on another device, and then the host carries the bytes; what it refuses
     * within its own device stays refused. */
    bool foreign =
        (seen.dst.block && seen.dst.dev != queue->dev) || (seen.src.block && seen.src.dev != queue->dev);
    return status == HCY_EUNSUPPORTED && foreign ? copy_staged(queue, dst, src, copy) : status;
}

int hcy_buffer_copy(hcy_queue *queue, hcy_buffer *dst, size_t dst_offset, hcy_buffer *src, size_t src_offset,
                    size_t size)
{
    int status = check_pair(queue, dst, src);
    if (!status)
        status = check_buffer_range(dst, dst_offset, size, "a copy");
    if (!status)
        status = check_buffer_range(src, src_offset, size, "a copy");
    /* Backends copy in any order and in parallel, so that the result would not be defined. */
    if (!status && hcy__overlap(dst, dst_offset, size, src, src_offset, size))
        status = hcy_fail(HCY_EINVAL, "a copy's source and destination overlap in one buffer");
    if (status || !size)
        return status;
    hcy_copy copy = { buffer_place(dst, dst_offset), buffer_place(src, src_offset), { size, 1, 1 } };
    return copy_between(queue, dst, src, &copy);
}

/* Bytes from a rectangle's first to behind its last; its strides checked. */
static int rect_span(size_t *span, const hcy_rect *rect, const size_t extent[3])
{
    size_t rows, slices;
    /* With a stride below a row's length rows would overlap; where there is one row, nobody looks at it. */
    if (extent[1] > 1 && rect->row_stride < extent[0])
        return hcy_fail(HCY_EINVAL, "a rectangle's row stride of %zu is less than its %zu bytes a row",
                        rect->row_stride, extent[0]);
    /* The last row and the last slice are not followed by a stride, only by their own bytes. */
    int status = hcy_size_mul(&rows, rect->row_stride, extent[1] - 1);
    if (!status)
        status = hcy_size_add(&rows, rows, extent[0]);
    if (!status && extent[2] > 1 && rect->slice_stride < rows)
        status = hcy_fail(HCY_EINVAL, "a rectangle's slice stride of %zu is less than its %zu bytes a slice",
                          rect->slice_stride, rows);
    if (!status)
        status = hcy_size_mul(&slices, rect->slice_stride, extent[2] - 1);
    return status ? status : hcy_size_add(span, slices, rows);
}

int hcy_buffer_copy_rect(hcy_queue *queue, hcy_buffer *dst, const hcy_rect *dst_rect, hcy_buffer *src,
                         const hcy_rect *src_rect, const size_t extent[3])
{
    size_t dst_span, src_span;
    int status = check_pair(queue, dst, src);
    if (!status && (!dst_rect || !src_rect || !extent))
        status = hcy_fail(HCY_EINVAL, "hcy_buffer_copy_rect: no rectangle, or no extent");
    if (status || !extent[0] || !extent[1] || !extent[2])
        return status;
    /* Spans are bounds: two rectangles whose rows lie between one another's count as overlapping, which is
     * refused rather than found out. */
    status = rect_span(&dst_span, dst_rect, extent);
    if (!status)
        status = rect_span(&src_span, src_rect, extent);
    if (!status)
        status = check_buffer_range(dst, dst_rect->offset, dst_span, "a copy's rectangle");
    if (!status)
        status = check_buffer_range(src, src_rect->offset, src_span, "a copy's rectangle");
    if (!status && hcy__overlap(dst, dst_rect->offset, dst_span, src, src_rect->offset, src_span))
        status = hcy_fail(HCY_EINVAL, "a copy's source and destination overlap in one buffer");
    if (status)
        return status;
    hcy_copy copy = { buffer_place(dst, dst_rect->offset), buffer_place(src, src_rect->offset),
                      { extent[0], extent[1], extent[2] } };
    /* Offsets are in the places already; only strides are missing. */
    copy.dst.row_stride = dst_rect->row_stride;
    copy.dst.slice_stride = dst_rect->slice_stride;
    copy.src.row_stride = src_rect->row_stride;
    copy.src.slice_stride = src_rect->slice_stride;
    return copy_between(queue, dst, src, &copy);
}

int hcy_buffer_fill(hcy_queue *queue, hcy_buffer *dst, size_t offset, size_t size, const void *pattern,
                    size_t pattern_size)
{
    int status = check_command(queue, dst, "a fill");
    if (status)
        return status;
    /* Commands carry a copy of the pattern, for which they have 8 bytes. */
    if (!pattern || (pattern_size != 1 && pattern_size != 2 && pattern_size != 4 && pattern_size != 8))
        return hcy_fail(HCY_EINVAL, "a fill's pattern has %zu bytes; 1, 2, 4 and 8 are possible",
                        pattern ? pattern_size : (size_t)0);
    /* Drivers want whole patterns at their own alignment. */
    if (offset % pattern_size || size % pattern_size)
        return hcy_fail(HCY_EINVAL, "a fill of %zu bytes at %zu is not a multiple of its pattern's %zu", size,
                        offset, pattern_size);
    /* A fill has no second buffer through which a foreign device could be reached. */
    if (dst->dev != queue->dev)
        return hcy_fail(HCY_EINVAL, "a fill: the buffer is on device %s, the queue on %s%s",
                        dst->dev->info.name, queue->dev->info.name, hcy__opened_twice(dst->dev, queue->dev));
    status = check_buffer_range(dst, offset, size, "a fill");
    if (status || !size)
        return status;
    if (!HCY_HAS_OP(queue->dev->backend->ops, fill))
        return hcy__unsupported(queue->dev, "fills");
    /* The pattern is copied by the backend before this returns, so the buffer alone is kept. */
    hcy_keep *keep = hcy__keep_new(queue->dev, 1, 0, NULL);
    if (!keep)
        return hcy_fail(HCY_ENOMEM, "out of memory for a fill's record");
    hcy__keep_add(keep, dst);
    hcy_place place = buffer_place(dst, offset);
    HCY__ON_QUEUE(status, queue,
                  queue->dev->backend->ops->fill(queue->impl, &place, size, pattern, pattern_size, keep));
    if (status)
        hcy_keep_release(keep);
    return status;
}

/* --- And waited for --- */

static int copy_now(hcy_buffer *buf, size_t offset, const void *host, size_t size, bool write)
{
    hcy_queue *queue = NULL;
    if (!buf)
        return hcy_fail(HCY_EINVAL, "%s: no buffer", write ? "a write" : "a read");
    /* A queue of its own: what others have queued is not waited for. */
    int status = hcy_queue_create(&queue, buf->dev);
    if (!status)
        status = host_copy(queue, buf, offset, host, size, write);
    if (!status)
        status = hcy_queue_finish(queue);
    hcy_queue_release(queue);
    return status;
}

int hcy_buffer_write_now(hcy_buffer *dst, size_t offset, const void *src, size_t size)
{
    return copy_now(dst, offset, src, size, true);
}

int hcy_buffer_read_now(void *dst, hcy_buffer *src, size_t offset, size_t size)
{
    return copy_now(src, offset, dst, size, false);
}

/* --- For backends whose memory the host reaches --- */

/* A block that only pretends to be out of the host's reach has its address as its handle. */
static char *host_address(const hcy_place *place)
{
    char *base = place->host;
    if (place->block)
        base = place->block->host ? place->block->host : place->block->handle;
    return base + place->offset;
}

int hcy_host_copy(const hcy_copy *copy)
{
    if (!copy)
        return hcy_fail(HCY_EINVAL, "hcy_host_copy: no copy");
    char *dst = host_address(&copy->dst);
    const char *src = host_address(&copy->src);
    /* Places were checked by whoever made the copy; rows of one copy do not overlap. */
    for (size_t z = 0; z < copy->extent[2]; z++)
        for (size_t y = 0; y < copy->extent[1]; y++)
            memcpy(dst + z * copy->dst.slice_stride + y * copy->dst.row_stride,
                   src + z * copy->src.slice_stride + y * copy->src.row_stride, copy->extent[0]);
    return 0;
}

/* By doubling: each memcpy repeats all that is there already. */
int hcy_host_fill(const hcy_place *place, size_t size, const void *pattern, size_t pattern_size)
{
    if (!place || !pattern)
        return hcy_fail(HCY_EINVAL, "hcy_host_fill: nothing to fill with");
    char *dst = host_address(place);
    /* The size is a multiple of the pattern's and not 0, so one pattern fits. */
    memcpy(dst, pattern, pattern_size);
    for (size_t done = pattern_size; done < size;) {
        size_t n = done < size - done ? done : size - done;
        memcpy(dst + done, dst, n);
        done += n;
    }
    return 0;
}
