/* buffer.c - buffers: made, imported, viewed, released.  Copies between them are in copy.c.  Thread-safe. */
#include "hal_priv.h"

#include <stdlib.h>

static void destroy_buffer(void *object)
{
    hcy_buffer *buf = object;
    const hcy_backend_ops *ops = buf->dev->backend->ops;
    /* A child of fork has none of the driver's state: to free anything there would undo what the parent still
     * uses. */
    if (hcy__forked())
        return;
    switch (buf->origin) {
    case HCY__POOLED:
        hcy__pool_free(buf->dev->pool, buf->mem, &buf->block);
        break;
    case HCY__TABLES:
        /* The backend allocated the tables itself, so their size is none of the pool's classes. */
        ops->free(buf->dev->impl, buf->mem, &buf->block);
        break;
    case HCY__IMPORTED:
        /* The caller may give the memory back in done(), so the device has to let go of it before. */
        if (HCY_HAS_OP(ops, unimport))
            ops->unimport(buf->dev->impl, &buf->block);
        if (buf->done && !(HCY_HAS_OP(ops, hangs) && ops->hangs(buf->dev->impl)))
            buf->done(buf->payload);
        break;
    case HCY__SHARED:
        ops->share_close(buf->dev->impl, buf->share);
        break;
    case HCY__SUB:
        /* A view owns nothing but its reference on the buffer that it looks into. */
        hcy_buffer_release(buf->parent);
        break;
    }
    /* The device comes last: pool and backend were needed until here. */
    hcy_device_release(buf->dev);
    free(buf);
}

hcy_buffer *hcy__buffer_new(hcy_device *dev, enum hcy__origin origin, int mem, size_t size)
{
    hcy_buffer *buf = calloc(1, sizeof *buf);
    if (!buf) {
        hcy_fail(HCY_ENOMEM, "out of memory for a buffer's record");
        return NULL;
    }
    hcy__object_init(buf, destroy_buffer);
    buf->dev = hcy_device_retain(dev);
    buf->origin = origin;
    buf->mem = mem;
    buf->size = size;
    return buf;
}

void hcy__buffer_drop(hcy_buffer *buf)
{
    /* hcy_buffer_release would hand a block to the pool that was never allocated. */
    hcy_device_release(buf->dev);
    free(buf);
}

int hcy_buffer_create(hcy_buffer **out, hcy_device *dev, int mem, size_t size)
{
    int status = hcy__device_check(dev);
    if (status)
        return status;
    if (!out || !size)
        return hcy_fail(HCY_EINVAL, "hcy_buffer_create: %s", out ? "0 bytes" : "no place for the buffer");
    if (mem < HCY_MEM_DEVICE || mem > HCY_MEM_SHARED)
        return hcy_fail(HCY_EINVAL, "hcy_buffer_create: the kind of memory is not one of HCY_MEM_*");
    if (mem == HCY_MEM_SHARED)
        return hcy__share_create(out, dev, size);
    /* A backend need not look at kinds that it does not have: its capabilities say it here. */
    if (mem == HCY_MEM_MAPPED && !(dev->info.caps & HCY_CAP_MAPPED))
        return hcy__unsupported(dev, "mapped memory");
    if (!HCY_HAS_OP(dev->backend->ops, alloc))
        return hcy__unsupported(dev, "memory");
    /* The record comes first: where there is no memory for it, the device has not been asked for anything. */
    hcy_buffer *buf = hcy__buffer_new(dev, HCY__POOLED, mem, size);
    if (!buf)
        return HCY_ENOMEM;
    status = hcy__pool_alloc(dev->pool, mem, size, &buf->block);
    if (status)
        hcy__buffer_drop(buf);
    else
        *out = buf;
    return status;
}

int hcy__buffer_tables(hcy_buffer **out, hcy_device *dev, const hcy_block *block)
{
    hcy_buffer *buf = hcy__buffer_new(dev, HCY__TABLES, HCY_MEM_DEVICE, block->size);
    if (!buf)
        return HCY_ENOMEM;
    /* From here on the block is the buffer's; if there was no memory, it still is the caller's. */
    buf->block = *block;
    *out = buf;
    return 0;
}

int hcy_buffer_sub(hcy_buffer **out, hcy_buffer *parent, size_t offset, size_t size)
{
    if (!out || !parent)
        return hcy_fail(HCY_EINVAL, "hcy_buffer_sub: %s", out ? "no parent" : "no place for the buffer");
    if (!size)
        return hcy_fail(HCY_EINVAL, "hcy_buffer_sub: 0 bytes");
    int status = hcy__device_check(parent->dev);
    if (status)
        return status;
    /* The difference cannot wrap, because the offset was found to be no larger. */
    if (offset > parent->size || size > parent->size - offset)
        return hcy_fail(HCY_ERANGE, "a view of %zu bytes at %zu is past the buffer's %zu", size, offset,
                        parent->size);
    hcy_buffer *buf = hcy__buffer_new(parent->dev, HCY__SUB, parent->mem, size);
    if (!buf)
        return HCY_ENOMEM;
    buf->parent = hcy_buffer_retain(parent);
    /* The offset counts from the block's start, so that a view of a view costs backends nothing. */
    buf->block = parent->block;
    buf->offset = parent->offset + offset;
    *out = buf;
    return 0;
}

typedef int (*import_fn)(hcy_block *block, hcy_device *dev, uint64_t what, size_t size);

static int import_host_memory(hcy_block *block, hcy_device *dev, uint64_t what, size_t size)
{
    if (!HCY_HAS_OP(dev->backend->ops, import_host))
        return hcy__unsupported(dev, "import of host memory");
    return dev->backend->ops->import_host(block, dev->impl, (void *)(uintptr_t)what, size);
}

static int import_device_memory(hcy_block *block, hcy_device *dev, uint64_t what, size_t size)
{
    if (!HCY_HAS_OP(dev->backend->ops, import_device))
        return hcy__unsupported(dev, "import of device memory");
    return dev->backend->ops->import_device(block, dev->impl, what, size);
}

static int wrap_import(hcy_buffer **out, hcy_device *dev, import_fn fn, int mem, uint64_t what, size_t size,
                  void (*done)(void *), void *payload)
{
    int status = hcy__device_check(dev);
    if (status)
        return status;
    if (!out || !size)
        return hcy_fail(HCY_EINVAL, "import of memory: %s", out ? "0 bytes" : "no place for the buffer");
    if (!what)
        return hcy_fail(HCY_EINVAL, "import of memory: no address");
    hcy_buffer *buf = hcy__buffer_new(dev, HCY__IMPORTED, mem, size);
    if (!buf)
        return HCY_ENOMEM;
    /* The buffer is not complete yet: after a failure done() must not be called, since the memory stays the
     * caller's. */
    status = fn(&buf->block, dev, what, size);
    if (status) {
        hcy__buffer_drop(buf);
        return status;
    }
    /* Whatever size the backend noted, the memory ends where the caller said. */
    buf->block.size = size;
    buf->done = done;
    buf->payload = payload;
    *out = buf;
    return 0;
}

int hcy_buffer_import_host(hcy_buffer **buf, hcy_device *dev, void *host, size_t size, void (*done)(void *),
                           void *payload)
{
    return wrap_import(buf, dev, import_host_memory, HCY_MEM_MAPPED, (uintptr_t)host, size, done, payload);
}

int hcy_buffer_import_device(hcy_buffer **buf, hcy_device *dev, uint64_t handle, size_t size,
                             void (*done)(void *), void *payload)
{
    return wrap_import(buf, dev, import_device_memory, HCY_MEM_DEVICE, handle, size, done, payload);
}

hcy_buffer *hcy_buffer_retain(hcy_buffer *buf)
{
    return hcy__retain(buf);
}

void hcy_buffer_release(hcy_buffer *buf)
{
    hcy__release(buf);
}

size_t hcy_buffer_size(const hcy_buffer *buf)
{
    return buf ? buf->size : 0;
}

int hcy_buffer_mem(const hcy_buffer *buf)
{
    return buf ? buf->mem : 0;
}

int hcy_buffer_get_i64(int64_t *value, hcy_buffer *buf, const char *key)
{
    if (!value || !buf)
        return hcy_fail(HCY_EINVAL, "hcy_buffer_get_i64: no %s", value ? "buffer" : "place for the value");
    if (!key)
        return hcy_fail(HCY_EINVAL, "hcy_buffer_get_i64: no key");
    int status = hcy__device_check(buf->dev);
    if (status)
        return status;
    if (!HCY_HAS_OP(buf->dev->backend->ops, buffer_i64))
        return hcy_fail(HCY_ENOENT, "a buffer of %s has no number \"%s\"", buf->dev->info.name, key);
    return buf->dev->backend->ops->buffer_i64(value, buf->dev->impl, &buf->block, buf->offset, key);
}

hcy_device *hcy_buffer_device(const hcy_buffer *buf)
{
    return buf ? buf->dev : NULL;
}

void *hcy_buffer_host(const hcy_buffer *buf)
{
    /* NULL says that the host does not reach the memory, which is the usual case on GPUs. */
    return buf && buf->block.host ? (char *)buf->block.host + buf->offset : NULL;
}
