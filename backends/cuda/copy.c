/* copy.c - copies and fills on a stream.
 *
 * Host memory, pinned or not, and the GPUs' share one range of addresses, so a plain copy needs no directions.
 * Between GPUs the driver copies directly where peer access is possible, else through the host.
 */
#include "cuda_priv.h"

#include <string.h>

static bool is_on_gpu(const hcy_place *p)
{
    return p->block && p->mem == HCY_MEM_DEVICE;
}

static CUdeviceptr place_address(const hcy_place *p)
{
    if (is_on_gpu(p))
        return p->block->address + p->offset;
    /* With unified addressing a host pointer is a valid address for every copy. */
    return (CUdeviceptr)(uintptr_t)(p->block ? p->block->host : p->host) + p->offset;
}

static struct cuda_device *place_device(const struct cuda_queue *q, const hcy_place *p)
{
    return p->block ? hcy_device_impl(p->dev) : q->dev;
}

/* Asked for once a pair; without it the driver goes through the host. */
static void enable_peer(struct cuda_device *d, struct cuda_device *peer)
{
    if (peer->ordinal >= CUDA_MAX_PEERS)
        return;
    pthread_mutex_lock(&d->lock);
    /* The answer is remembered even if it was no: asking costs a call of the driver, and it does not
     * change. */
    bool asked = d->peer[peer->ordinal];
    d->peer[peer->ordinal] = 1;
    pthread_mutex_unlock(&d->lock);
    int can = 0;
    /* This may fail without harm, because the copy then goes through the host. */
    if (!asked && !cu.cuDeviceCanAccessPeer(&can, d->device, peer->device) && can)
        cu.cuCtxEnablePeerAccess(peer->context, 0);
}

static int copy_rect(struct cuda_queue *q, const hcy_copy *c)
{
    struct cuda_memcpy3d r = { .width = c->extent[0], .height = 1, .depth = 1 };
    r.src_type = is_on_gpu(&c->src) ? CUDA_MEMORY_DEVICE : CUDA_MEMORY_HOST;
    r.dst_type = is_on_gpu(&c->dst) ? CUDA_MEMORY_DEVICE : CUDA_MEMORY_HOST;
    r.height = c->extent[1];
    /* A single row may have a stride of 0 or a huge one, which CUDA would refuse as a pitch. */
    r.src_pitch = c->extent[1] > 1 ? c->src.row_stride : c->extent[0];
    r.dst_pitch = c->extent[1] > 1 ? c->dst.row_stride : c->extent[0];
    int status = 0;
    /* CUDA wants a slice's stride in whole rows, which ours need not be: each slice is a copy of its own. */
    for (size_t z = 0; !status && z < c->extent[2]; z++) {
        CUdeviceptr src = place_address(&c->src) + z * c->src.slice_stride,
                    dst = place_address(&c->dst) + z * c->dst.slice_stride;
        /* The driver reads the field that the type names, so setting both needs no distinction. */
        r.src_device = src;
        r.dst_device = dst;
        r.src_host = (const void *)(uintptr_t)src;
        r.dst_host = (void *)(uintptr_t)dst;
        status = cuda_check(q->dev, cu.cuMemcpy3DAsync(&r, q->stream), "a copy with strides");
    }
    return status;
}

static int copy_rect_peer(struct cuda_queue *q, const hcy_copy *c, struct cuda_device *to,
                          struct cuda_device *from)
{
    struct cuda_memcpy3d_peer r = { .width = c->extent[0],
                                    .height = c->extent[1],
                                    .depth = 1,
                                    .src_type = CUDA_MEMORY_DEVICE,
                                    .dst_type = CUDA_MEMORY_DEVICE,
                                    .src_context = from->context,
                                    .dst_context = to->context };
    /* The pitches and slices obey the same rules as in copy_rect(). */
    r.src_pitch = c->extent[1] > 1 ? c->src.row_stride : c->extent[0];
    r.dst_pitch = c->extent[1] > 1 ? c->dst.row_stride : c->extent[0];
    int status = 0;
    for (size_t z = 0; !status && z < c->extent[2]; z++) {
        r.src_device = place_address(&c->src) + z * c->src.slice_stride;
        r.dst_device = place_address(&c->dst) + z * c->dst.slice_stride;
        status =
            cuda_check(q->dev, cu.cuMemcpy3DPeerAsync(&r, q->stream), "a copy with strides between GPUs");
    }
    return status;
}

static int run_stream_copy(struct cuda_queue *q, const struct cuda_command *command)
{
    const hcy_copy *c = &command->of.copy;
    struct cuda_device *to = place_device(q, &c->dst), *from = place_device(q, &c->src);
    bool plain = c->extent[1] == 1 && c->extent[2] == 1,
         between = to->device != from->device && is_on_gpu(&c->dst) && is_on_gpu(&c->src);
    /* The queue's own device may be at either end; access is asked for from its side, because it makes the
     * copy. */
    if (between)
        enable_peer(q->dev, to == q->dev ? from : to);
    if (!plain)
        return between ? copy_rect_peer(q, c, to, from) : copy_rect(q, c);
    /* Plain copies are by far the most, and cost less to submit than those with strides. */
    CUdeviceptr dst = place_address(&c->dst), src = place_address(&c->src);
    if (between)
        return cuda_check(q->dev,
                          cu.cuMemcpyPeerAsync(dst, to->context, src, from->context, c->extent[0], q->stream),
                          "a copy between GPUs");
    /* Memory of the program's that is not pinned would keep the link waiting. */
    const hcy_place *host = is_on_gpu(&c->dst) ? &c->src : &c->dst;
    void *at = (void *)(uintptr_t)(host == &c->src ? src : dst);
    if (is_on_gpu(&c->dst) != is_on_gpu(&c->src) && !host->block && cuda_is_for_staging(at, c->extent[0]))
        return cuda_copy_staged(q, host == &c->src ? dst : src, at, c->extent[0], host == &c->src);
    return cuda_check(q->dev, cu.cuMemcpyAsync(dst, src, c->extent[0], q->stream), "a copy");
}

static bool is_foreign_place(const hcy_place *p)
{
    return p->block && strcmp(hcy_device_get_info(p->dev)->backend, "cuda");
}

int cuda_copy(void *qimpl, const hcy_copy *copy, hcy_keep *keep)
{
    if (is_foreign_place(&copy->dst) || is_foreign_place(&copy->src))
        return hcy_fail(HCY_EUNSUPPORTED, "a GPU cannot reach memory of another kind of device");
    struct cuda_command c = { .name = hcy_copy_name(copy),
                              .bytes = copy->extent[0] * copy->extent[1] * copy->extent[2],
                              .run = run_stream_copy };
    c.of.copy = *copy;
    return cuda_submit(qimpl, &c, keep);
}

/* --- Fills --- */

/* Patterns that no memset has, or that lie across their natural addresses: the first one byte by byte, then what is
 * there is copied behind itself, doubling. */
static int fill_doubling(struct cuda_queue *q, CUdeviceptr dst, size_t size, const unsigned char *pattern,
                         size_t n)
{
    /* A pattern has at most 8 bytes, so this is at most 8 small commands. */
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; !r && i < n; i++)
        r = cu.cuMemsetD8Async(dst + i, pattern[i], 1, q->stream);
    for (size_t done = n; !r && done < size;) {
        /* Source and destination do not overlap: no more is copied than is there. */
        size_t more = done < size - done ? done : size - done;
        r = cu.cuMemcpyAsync(dst + done, dst, more, q->stream);
        done += more;
    }
    return cuda_check(q->dev, r, "a fill");
}

static int run_stream_fill(struct cuda_queue *q, const struct cuda_command *command)
{
    const unsigned char *p = command->of.fill.pattern;
    size_t size = command->of.fill.size, n = command->of.fill.pattern_size;
    CUdeviceptr dst = command->of.fill.dst.block->address + command->of.fill.dst.offset;
    CUresult r;
    /* CUDA has no fill of 8 bytes, but zeros and other repeated words are most of them. */
    if (n == 8 && !memcmp(p, p + 4, 4))
        n = 4;
    /* The driver refuses a pattern at an address that is not a multiple of its size. */
    if (dst % n || n == 8)
        return fill_doubling(q, dst, size, p, n);
    if (n == 1)
        r = cu.cuMemsetD8Async(dst, p[0], size, q->stream);
    else if (n == 2)
        r = cu.cuMemsetD16Async(dst, (unsigned short)(p[0] | p[1] << 8), size / 2, q->stream);
    else
        r = cu.cuMemsetD32Async(dst, p[0] | (unsigned)p[1] << 8 | (unsigned)p[2] << 16 | (unsigned)p[3] << 24,
                                size / 4, q->stream);
    return cuda_check(q->dev, r, "a fill");
}

int cuda_fill(void *qimpl, const hcy_place *dst, size_t size, const void *pattern, size_t pattern_size,
              hcy_keep *keep)
{
    struct cuda_command c = { .name = "fill", .bytes = size, .run = run_stream_fill };
    c.of.fill.dst = *dst;
    c.of.fill.size = size;
    c.of.fill.pattern_size = pattern_size;
    memcpy(c.of.fill.pattern, pattern, pattern_size);
    return cuda_submit(qimpl, &c, keep);
}
