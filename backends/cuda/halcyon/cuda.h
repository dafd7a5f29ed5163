/* halcyon/cuda.h - CUDA's own handles of a device, a queue, a buffer, as plain types; numbers of a kernel.
 *
 * For example:
 *
 *     void *stream;
 *     uint64_t address;
 *     hcy_cuda_stream(&stream, queue);
 *     hcy_cuda_address(&address, buffer);
 *     cudaMemsetAsync((void *)address, 0, bytes, (cudaStream_t)stream);
 *
 * They belong to the object that they come from and live as long.  The context is the GPU's primary one, which
 * CUDA's run-time library uses too; Halcyon makes it current for the length of a call and leaves the caller's as
 * it was.  What was submitted to a queue is in its stream by then, unless it waits for an event of another kind of
 * device: behind such a wait finish the queue first.  Objects of other backends have none of these: HCY_ENOENT.
 */
#ifndef HALCYON_CUDA_H
#define HALCYON_CUDA_H

#include <halcyon/kernel.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The user's programs: CUDA C with NVRTC's options (kernels are extern "C"), and what nvcc makes. */
#define HCY_CUDA_C      "cuda-c"
#define HCY_CUDA_PTX    "ptx"
#define HCY_CUDA_CUBIN  "cubin"
#define HCY_CUDA_FATBIN "fatbin"

/* A CUdevice. */
static inline int hcy_cuda_device(int *device, hcy_device *dev)
{
    int64_t value = 0;
    int status = hcy_device_get_i64(&value, dev, "cu_device");
    *device = (int)value;
    return status;
}
/* A CUcontext; NULL with a failure. */
static inline int hcy_cuda_context(void **context, hcy_device *dev)
{
    int64_t value = 0;
    int status = hcy_device_get_i64(&value, dev, "cu_context");
    *context = (void *)(intptr_t)value;
    return status;
}
/* A CUstream; NULL with a failure.  hcy_queue_keep() keeps buffers that a program's own commands there use. */
static inline int hcy_cuda_stream(void **stream, hcy_queue *queue)
{
    int64_t value = 0;
    int status = hcy_queue_get_i64(&value, queue, "cu_stream");
    *stream = (void *)(intptr_t)value;
    return status;
}
/* A CUdeviceptr, where the buffer begins.  hcy_buffer_import_device() makes a buffer of one. */
static inline int hcy_cuda_address(uint64_t *address, hcy_buffer *buf)
{
    int64_t value = 0;
    int status = hcy_buffer_get_i64(&value, buf, "cu_deviceptr");
    *address = (uint64_t)value;
    return status;
}

/* How many groups of a user's kernel a multiprocessor runs at once, of so many items and dynamic local memory. */
static inline int hcy_cuda_occupancy(int64_t *groups, hcy_kernel *kernel, uint32_t items, uint32_t local_bytes)
{
    char key[64];
    snprintf(key, sizeof key, "groups_per_unit:%lu:%lu", (unsigned long)items, (unsigned long)local_bytes);
    return hcy_kernel_get_i64(groups, kernel, key);
}

#ifdef __cplusplus
}
#endif
#endif
