/* share.c - buffers for several processes: created, exported to a handle, imported from one.  Thread-safe.
 *
 * A share's memory begins with a page of its own, in which its creator has left a key that nobody can guess.  The
 * handle has that key too, so that memory which a backend finds by a handle's name is believed only if it says the
 * same: a handle that is stale, made up, or of another process of that number opens nothing.  What the caller has is a
 * view behind that page.
 */
#include "hal_priv.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { HEAD_BYTES = 4096, HANDLE_VERSION = 1 };
static const char magic[8] = "HCYSHARE";

/* What the shared memory begins with, and what a handle repeats of it. */
struct share_head {
    char magic[8];
    uint64_t key[2];
    uint64_t size; /* of all, this page included */
};
struct share_handle {
    char magic[8];
    uint32_t version, bytes;
    char device[96];     /* the stable name, without options */
    uint64_t process[2]; /* the exporter's */
    struct share_head head;
    uint64_t offset, size; /* of the view */
    unsigned char name[HCY_SHARE_NAME];
    uint64_t sum; /* of all before */
};
_Static_assert(sizeof(struct share_handle) <= sizeof(hcy_buffer_handle), "a handle has room for all of it");

static int make_key(uint64_t key[2])
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, key, 2 * sizeof *key);
    if (fd >= 0)
        close(fd);
    return n == 2 * (ssize_t)sizeof *key ? 0 : hcy_fail(HCY_EIO, "/dev/urandom gives no key for shared memory");
}

/* What tells this process from all others; a number of its own would not, across containers. */
static uint64_t process_key[2];
static int process_status;
static pthread_once_t process_once = PTHREAD_ONCE_INIT;

static void make_process_key(void)
{
    process_status = make_key(process_key);
}

static int find_process_key(void)
{
    pthread_once(&process_once, make_process_key);
    return process_status ? hcy_fail(process_status, "/dev/urandom gives no key for this process") : 0;
}

/* Options change how a device computes, not whose memory it has. */
static void name_device(char name[96], const hcy_device *dev)
{
    const char *stable = dev->info.stable;
    memset(name, 0, 96);
    memcpy(name, stable, strnlen(stable, strcspn(stable, "@") < 95 ? strcspn(stable, "@") : 95));
}

static int check_shares(const hcy_device *dev)
{
    const hcy_backend_ops *ops = dev->backend->ops;
    return HCY_HAS_OP(ops, share_close) && ops->share_create && ops->share_name && ops->share_open
               ? 0
               : hcy__unsupported(dev, "memory that other processes can have; cpu and cuda devices have");
}

/* The view of a share behind its head, which keeps it. */
static int show_share(hcy_buffer **out, hcy_buffer *share, size_t offset, size_t size)
{
    int status = hcy_buffer_sub(out, share, offset, size);
    hcy_buffer_release(share);
    return status;
}

/* As the pool does: what it keeps may be all that is missing. */
static int alloc_share(hcy_buffer *share, size_t size)
{
    hcy_device *dev = share->dev;
    int status = dev->backend->ops->share_create(&share->block, &share->share, dev->impl, size);
    if (status != HCY_ENOMEM)
        return status;
    hcy__pool_trim(dev->pool);
    return dev->backend->ops->share_create(&share->block, &share->share, dev->impl, size);
}

int hcy__share_create(hcy_buffer **out, hcy_device *dev, size_t size)
{
    struct share_head head;
    size_t all = 0;
    int status = check_shares(dev);
    if (!status)
        status = hcy_size_add(&all, size, HEAD_BYTES);
    if (!status)
        status = make_key(head.key);
    if (!status)
        status = hcy__fault_alloc(dev);
    hcy_buffer *share = status ? NULL : hcy__buffer_new(dev, HCY__SHARED, HCY_MEM_DEVICE, all);
    if (!share)
        return status ? status : HCY_ENOMEM;
    status = alloc_share(share, all);
    if (status) {
        hcy__buffer_drop(share);
        return status;
    }
    memcpy(head.magic, magic, sizeof magic);
    head.size = all;
    status = hcy_buffer_write_now(share, 0, &head, sizeof head);
    if (!status)
        return show_share(out, share, HEAD_BYTES, size);
    hcy_buffer_release(share);
    return status;
}

int hcy_buffer_export(hcy_buffer_handle *out, hcy_buffer *buf)
{
    struct share_handle h = { .version = HANDLE_VERSION, .bytes = sizeof h };
    if (!out || !buf)
        return hcy_fail(HCY_EINVAL, "hcy_buffer_export: no %s", out ? "buffer" : "place for the handle");
    int status = hcy__device_check(buf->dev);
    if (status)
        return status;
    hcy_buffer *share = buf;
    while (share->origin == HCY__SUB)
        share = share->parent;
    if (share->origin != HCY__SHARED || share->others)
        return hcy_fail(HCY_EINVAL, share->others ? "hcy_buffer_export: the buffer is another process's; hand on the "
                                                    "handle that it came by"
                                                  : "hcy_buffer_export: other processes can have buffers that are "
                                                    "created with HCY_MEM_SHARED, and views of these");
    status = find_process_key();
    if (!status)
        status = hcy_buffer_read_now(&h.head, share, 0, sizeof h.head);
    if (!status)
        status = buf->dev->backend->ops->share_name(h.name, buf->dev->impl, share->share);
    if (status)
        return status;
    memcpy(h.magic, magic, sizeof magic);
    memcpy(h.process, process_key, sizeof h.process);
    name_device(h.device, buf->dev);
    h.offset = buf->offset;
    h.size = buf->size;
    h.sum = hcy_cache_sum(&h, offsetof(struct share_handle, sum));
    memset(out, 0, sizeof *out);
    memcpy(out, &h, sizeof h);
    return 0;
}

/* Whether the bytes are a handle that this library can have written, for this device. */
static int check_handle(const struct share_handle *h, const hcy_device *dev)
{
    char device[96];
    name_device(device, dev);
    if (memcmp(h->magic, magic, sizeof magic))
        return hcy_fail(HCY_EFORMAT, "hcy_buffer_import: these bytes are no handle of a buffer's");
    if (h->version != HANDLE_VERSION || h->bytes != sizeof *h)
        return hcy_fail(HCY_EFORMAT, "a buffer's handle of version %lu; this library has %d", (unsigned long)h->version,
                        HANDLE_VERSION);
    if (h->sum != hcy_cache_sum(h, offsetof(struct share_handle, sum)))
        return hcy_fail(HCY_ECORRUPT, "a buffer's handle whose bytes are damaged");
    if (memcmp(h->device, device, sizeof device))
        return hcy_fail(HCY_ENODEV, "a handle of a buffer on %.*s, which is not that of %s", (int)sizeof h->device,
                        h->device, dev->info.name);
    if (h->head.size > SIZE_MAX || h->offset < HEAD_BYTES || h->offset > h->head.size || !h->size ||
        h->size > h->head.size - h->offset)
        return hcy_fail(HCY_ECORRUPT, "a buffer's handle whose view leaves its memory");
    if (!memcmp(h->process, process_key, sizeof process_key))
        return hcy_fail(HCY_ESTATE, "a handle of a buffer of this process; retain the buffer");
    return 0;
}

/* The memory itself says whether it is what the handle means. */
static int check_head(hcy_buffer *share, const struct share_head *want)
{
    struct share_head head;
    int status = hcy_buffer_read_now(&head, share, 0, sizeof head);
    if (!status && memcmp(&head, want, sizeof head))
        status = hcy_fail(HCY_ENOENT, "a buffer's handle that is stale or made up: there is other memory in its place");
    return status;
}

int hcy_buffer_import(hcy_buffer **out, hcy_device *dev, const hcy_buffer_handle *handle)
{
    struct share_handle h;
    if (!out || !dev || !handle)
        return hcy_fail(HCY_EINVAL, "hcy_buffer_import: no %s",
                        !out ? "place for the buffer"
                        : dev ? "handle"
                              : "device");
    int status = hcy__device_check(dev);
    if (!status)
        status = check_shares(dev);
    if (!status)
        status = find_process_key();
    memcpy(&h, handle, sizeof h);
    if (!status)
        status = check_handle(&h, dev);
    hcy_buffer *share = status ? NULL : hcy__buffer_new(dev, HCY__SHARED, HCY_MEM_DEVICE, (size_t)h.head.size);
    if (!share)
        return status ? status : HCY_ENOMEM;
    status = dev->backend->ops->share_open(&share->block, &share->share, dev->impl, h.name, (size_t)h.head.size);
    if (status) {
        hcy__buffer_drop(share);
        return status;
    }
    share->others = true;
    status = check_head(share, &h.head);
    if (!status)
        return show_share(out, share, (size_t)h.offset, (size_t)h.size);
    hcy_buffer_release(share);
    return status;
}
