/* halcyon/buffer.h - memory on a device, or on the host for a device.
 *
 * A buffer keeps its device alive, a sub-buffer its parent.  Commands in flight keep their buffers alive.
 * Ranges are checked: HCY_ERANGE where offset + size is past the end.  Thread-safe; what the bytes hold is the
 * caller's to order, with queues and events.
 */
#ifndef HALCYON_BUFFER_H
#define HALCYON_BUFFER_H

#include <halcyon/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hcy_buffer hcy_buffer;
typedef struct hcy_queue hcy_queue;

enum hcy_mem {
    HCY_MEM_DEVICE = 1, /* the device's own memory */
    HCY_MEM_PINNED = 2, /* host memory that this device's copies reach at full speed and asynchronously */
    HCY_MEM_MAPPED = 3, /* host memory that kernels of this device read and write directly */
    HCY_MEM_SHARED = 4  /* HCY_MEM_DEVICE, which it then is, that other processes can have: hcy_buffer_export() */
};

/* size bytes (> 0), aligned to 64 at least, contents undefined.  Where the
 * device has none left, its pool is emptied and memory waited for that commands under way give back, as long as some
 * comes within 2 s, and up to 20 s (not with HCY_MEM_SHARED); then HCY_ENOMEM.  HCY_EUNSUPPORTED for a kind the device
 * lacks; HCY_EINVAL; HCY_ELOST. */
HCY_API int hcy_buffer_create(hcy_buffer **buf, hcy_device *dev, int mem, size_t size) HCY_MUST_USE;
/* A view of [offset, offset + size) of `parent`. */
HCY_API int hcy_buffer_sub(hcy_buffer **buf, hcy_buffer *parent, size_t offset, size_t size) HCY_MUST_USE;
/* Lends memory of the caller's to the device, without a copy; it must outlive the buffer and every command on it.
 * `done(payload)` is called once when nothing uses it any more (may be NULL), in any thread, a queue's own included:
 * it must not wait for a queue or an event (hcy_queue_finish() is HCY_ESTATE in that queue's thread).  Not at all where
 * the device hangs and may use the memory for ever (an FPGA card whose run does not end): it then stays lent.  Several
 * buffers may be of the same memory; HCY_EUNSUPPORTED where a GPU has been lent a part of it alone, or nothing can be
 * lent. */
HCY_API int hcy_buffer_import_host(hcy_buffer **buf, hcy_device *dev, void *host, size_t size,
                                   void (*done)(void *), void *payload) HCY_MUST_USE;
/* Device memory allocated by someone else (CUdeviceptr, cl_mem as an integer); same ownership rule. */
HCY_API int hcy_buffer_import_device(hcy_buffer **buf, hcy_device *dev, uint64_t handle, size_t size,
                                     void (*done)(void *), void *payload) HCY_MUST_USE;

/* Memory for several processes of one machine: who has created it with HCY_MEM_SHARED exports it, or a view of it, to
 * a handle; its bytes go to another process in any way (a pipe, a file, an argument), which imports them on the same
 * device (of "cpu" any options will do), without a copy: examples/array_share.c.
 *
 * The exporter keeps its buffer until all who import it have released theirs: what is imported after that is refused,
 * and on a GPU what was imported before becomes undefined.  It does not go to the device's pool, so nobody else's
 * numbers are ever seen through a handle.  Who has a handle may read and write all of the buffer that was created.
 * Queues and events order one process alone: finish the queue, then tell the other process.
 * A process started by fork() has to exec, as ever.
 *
 * export: HCY_EINVAL: not of HCY_MEM_SHARED, or imported itself; HCY_EUNSUPPORTED.  import: HCY_EFORMAT: no handle, or
 * another version's; HCY_ECORRUPT: its bytes are damaged; HCY_ENODEV: of another device; HCY_ESTATE: this process has
 * exported it, and retains the buffer instead; HCY_ENOENT: stale or made up, or of a process that this one may not
 * look into (another user's; Linux' ptrace(2) has the rules); HCY_EUNSUPPORTED; HCY_ENOMEM. */
typedef struct hcy_buffer_handle {
    unsigned char bytes[256];
} hcy_buffer_handle;
HCY_API int hcy_buffer_export(hcy_buffer_handle *handle, hcy_buffer *buf) HCY_MUST_USE;
HCY_API int hcy_buffer_import(hcy_buffer **buf, hcy_device *dev, const hcy_buffer_handle *handle) HCY_MUST_USE;

/* Takes one more reference (and returns buf), or gives one back; from any thread.  The memory goes with the last
 * one, after all commands that use it. */
HCY_API hcy_buffer *hcy_buffer_retain(hcy_buffer *buf);
HCY_API void hcy_buffer_release(hcy_buffer *buf);

/* The size in bytes, the kind of memory (HCY_MEM_*), and the device, which is not retained. */
HCY_API size_t hcy_buffer_size(const hcy_buffer *buf);
HCY_API int hcy_buffer_mem(const hcy_buffer *buf);
HCY_API hcy_device *hcy_buffer_device(const hcy_buffer *buf);
/* The host's address of pinned and mapped memory (and of any, where HCY_CAP_HOST_MEMORY); NULL otherwise. */
HCY_API void *hcy_buffer_host(const hcy_buffer *buf);

/* A number by its key; the vendor's handles are such numbers (halcyon/cuda.h, halcyon/opencl.h).  HCY_ENOENT: no
 * such key here. */
HCY_API int hcy_buffer_get_i64(int64_t *value, hcy_buffer *buf, const char *key) HCY_MUST_USE;

/* Asynchronous, in order on `queue`.  Host memory must stay valid until the queue has passed the command.
 * For write and read the buffer is on the queue's device; copy accepts buffers of any two devices (peer copy where
 * the hardware can, staged through pinned memory where not). */
HCY_API int hcy_buffer_write(hcy_queue *queue, hcy_buffer *dst, size_t offset, const void *src,
                             size_t size) HCY_MUST_USE;
HCY_API int hcy_buffer_read(hcy_queue *queue, void *dst, hcy_buffer *src, size_t offset,
                            size_t size) HCY_MUST_USE;
HCY_API int hcy_buffer_copy(hcy_queue *queue, hcy_buffer *dst, size_t dst_offset, hcy_buffer *src,
                            size_t src_offset, size_t size) HCY_MUST_USE;
/* Repeats `pattern`, which has 1, 2, 4 or 8 bytes; offset and size are multiples of its size. */
HCY_API int hcy_buffer_fill(hcy_queue *queue, hcy_buffer *dst, size_t offset, size_t size,
                            const void *pattern, size_t pattern_size) HCY_MUST_USE;

/* extent[0] bytes x extent[1] rows x extent[2] slices; strides in bytes, from row to row and slice to slice
 * (row stride >= extent[0], slice stride >= row stride * (extent[1] - 1) + extent[0]). */
typedef struct hcy_rect {
    size_t offset, row_stride, slice_stride;
} hcy_rect;
HCY_API int hcy_buffer_copy_rect(hcy_queue *queue, hcy_buffer *dst, const hcy_rect *dst_rect, hcy_buffer *src,
                                 const hcy_rect *src_rect, const size_t extent[3]) HCY_MUST_USE;

/* The same, but they return when the copy is done: for set-up and tests. */
HCY_API int hcy_buffer_write_now(hcy_buffer *dst, size_t offset, const void *src, size_t size) HCY_MUST_USE;
HCY_API int hcy_buffer_read_now(void *dst, hcy_buffer *src, size_t offset, size_t size) HCY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
