/* halcyon/opencl.h - OpenCL's own handles of a device, a queue, a buffer, as plain pointers.
 *
 * For example:
 *
 *     void *mem;
 *     size_t offset;
 *     hcy_opencl_mem(&mem, &offset, buffer);
 *     clSetKernelArg(cl, 0, sizeof mem, &mem);
 *
 * They belong to the object that they come from and live as long; retain what shall live longer.  Finish a Halcyon
 * queue before OpenCL commands of your own touch what it touches, and these before you submit to it again.
 * Devices, queues and buffers of other backends have none: HCY_ENOENT.
 */
#ifndef HALCYON_OPENCL_H
#define HALCYON_OPENCL_H

#include <halcyon/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The user's programs: OpenCL C text with the compiler's options, or SPIR-V where the device takes it.  A launch
 * with local_bytes gives the kernel one argument more, behind the others: a __local pointer to that many bytes. */
#define HCY_OPENCL_C     "opencl-c"
#define HCY_OPENCL_SPIRV "spirv"

/* A cl_platform_id, a cl_device_id, a cl_context; NULL with a failure. */
static inline int hcy_opencl_of_device(void **handle, hcy_device *dev, const char *key)
{
    int64_t value = 0;
    int status = hcy_device_get_i64(&value, dev, key);
    *handle = (void *)(intptr_t)value;
    return status;
}
static inline int hcy_opencl_platform(void **platform, hcy_device *dev)
{
    return hcy_opencl_of_device(platform, dev, "cl_platform");
}
static inline int hcy_opencl_device(void **device, hcy_device *dev)
{
    return hcy_opencl_of_device(device, dev, "cl_device");
}
static inline int hcy_opencl_context(void **context, hcy_device *dev)
{
    return hcy_opencl_of_device(context, dev, "cl_context");
}

/* A cl_command_queue, in order; while commands of the Halcyon queue run it has theirs in it. */
static inline int hcy_opencl_queue(void **command_queue, hcy_queue *queue)
{
    int64_t value = 0;
    int status = hcy_queue_get_i64(&value, queue, "cl_command_queue");
    *command_queue = (void *)(intptr_t)value;
    return status;
}

/* A cl_mem, and where in it the buffer begins.  hcy_buffer_import_device() makes a buffer of a cl_mem, which stays
 * mapped as long as that where the device has the host's memory (HCY_CAP_HOST_MEMORY). */
static inline int hcy_opencl_mem(void **mem, size_t *offset, hcy_buffer *buf)
{
    int64_t value = 0, at = 0;
    int status = hcy_buffer_get_i64(&value, buf, "cl_mem");
    if (!status)
        status = hcy_buffer_get_i64(&at, buf, "offset");
    *mem = (void *)(intptr_t)value;
    *offset = (size_t)at;
    return status;
}

#ifdef __cplusplus
}
#endif
#endif
