/* halcyon/opencl.h - OpenCL's own handles of a device, a queue, a buffer, as plain pointers.
 *
 * For example:
 *
 *     void *mem;
 *     size_t offset;
 *     hcy_opencl_mem(buffer, &mem, &offset);
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
static inline int hcy_opencl_of_device(hcy_device *dev, const char *key, void **handle)
{
    int64_t value = 0;
    int status = hcy_device_get_i64(dev, key, &value);
    *handle = (void *)(intptr_t)value;
    return status;
}
static inline int hcy_opencl_platform(hcy_device *dev, void **platform)
{
    return hcy_opencl_of_device(dev, "cl_platform", platform);
}
static inline int hcy_opencl_device(hcy_device *dev, void **device)
{
    return hcy_opencl_of_device(dev, "cl_device", device);
}
static inline int hcy_opencl_context(hcy_device *dev, void **context)
{
    return hcy_opencl_of_device(dev, "cl_context", context);
}

/* A cl_command_queue, in order; while commands of the Halcyon queue run it has theirs in it. */
static inline int hcy_opencl_queue(hcy_queue *queue, void **command_queue)
{
    int64_t value = 0;
    int status = hcy_queue_get_i64(queue, "cl_command_queue", &value);
    *command_queue = (void *)(intptr_t)value;
    return status;
}

/* A cl_mem, and where in it the buffer begins.  hcy_buffer_import_device() makes a buffer of a cl_mem. */
static inline int hcy_opencl_mem(hcy_buffer *buf, void **mem, size_t *offset)
{
    int64_t value = 0, at = 0;
    int status = hcy_buffer_get_i64(buf, "cl_mem", &value);
    if (!status)
        status = hcy_buffer_get_i64(buf, "offset", &at);
    *mem = (void *)(intptr_t)value;
    *offset = (size_t)at;
    return status;
}

#ifdef __cplusplus
}
#endif
#endif
