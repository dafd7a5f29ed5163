/* memory.c - OpenCL buffers, pinned memory, and memory of others'.  Thread-safe.
 *
 * Where the platform is known to share the host's memory, every buffer is made of host memory and the host uses it
 * at once.  Elsewhere pinned memory is a buffer that stays mapped, used as the host's end of copies; kernels do not
 * see it.
 */
#include "cl_priv.h"

#include <stdlib.h>
#include <string.h>

#define ALIGN ((size_t)4096)

/* Counts `size` bytes in if they are within the limit; a request for too much must not disturb others. */
static bool count_in(struct cl_device *d, size_t size)
{
    uint_least64_t used = atomic_load(&d->used);
    do
        if (used > d->memory || size > d->memory - used)
            return false;
    while (!atomic_compare_exchange_weak(&d->used, &used, used + size));
    return true;
}

static void drop_memory(struct cl_device *d, struct cl_memory *m)
{
    if (m->mem)
        cl.clReleaseMemObject(m->mem);
    if (d->shared)
        free(m->host);
    free(m);
}

static int make_shared(struct cl_device *d, size_t size, struct cl_memory *m)
{
    cl_int error = 0;
    if (size > SIZE_MAX - ALIGN || !(m->host = aligned_alloc(ALIGN, (size + ALIGN - 1) / ALIGN * ALIGN)))
        return hcy_fail(HCY_ENOMEM, "there are no %zu bytes of memory", size);
    m->mem = cl.clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size, m->host, &error);
    return cl_check(d, error, "allocating memory");
}

/* Where the driver takes memory late, it is made to take it now: later the failure would be a command's. */
static int take_now(struct cl_device *d, cl_mem mem)
{
    static const unsigned char zero[1];
    struct cl_lane *lane = cl_lane_take(d);
    if (!lane)
        return hcy_last_error()->status;
    cl_int code = cl.clEnqueueWriteBuffer(lane->queue, mem, 1, 0, 1, zero, 0, NULL, NULL);
    cl_lane_give(lane);
    return code == CL_OUT_OF_RESOURCES || code == CL_MEM_OBJECT_ALLOCATION_FAILURE
               ? hcy_fail_vendor(HCY_ENOMEM, code, "out of memory", "the device has no memory left")
               : cl_check_ran(d, code, "taking memory");
}

/* Memory stays mapped for its whole life, so the host needs no call of the driver to use it. */
static int map_memory(struct cl_device *d, struct cl_memory *m, size_t size, const char *what)
{
    cl_int error = 0;
    struct cl_lane *lane = cl_lane_take(d);
    if (!lane)
        return hcy_last_error()->status;
    m->host = cl.clEnqueueMapBuffer(lane->queue, m->mem, 1, CL_MAP_READ_WRITE, 0, size, 0, NULL, NULL, &error);
    cl_lane_give(lane);
    return cl_check(d, error, what);
}

/* Before it is released; the driver must have done so before this returns. */
static void unmap_memory(struct cl_device *d, const struct cl_memory *m)
{
    struct cl_lane *lane = cl_lane_take(d);
    if (!lane)
        return;
    cl.clEnqueueUnmapMemObject(lane->queue, m->mem, m->host, 0, NULL, NULL);
    cl.clFinish(lane->queue);
    cl_lane_give(lane);
}

static int make_own(struct cl_device *d, int mem, size_t size, struct cl_memory *m)
{
    cl_int error = 0;
    cl_ulong flags = CL_MEM_READ_WRITE | (mem == HCY_MEM_DEVICE ? 0 : CL_MEM_ALLOC_HOST_PTR);
    /* OpenCL promises nothing beyond this size, whatever a driver accepts when it is asked. */
    if (d->largest && size > d->largest)
        return hcy_fail(HCY_ENOMEM, "%s has no %zu bytes in one piece (at most %llu)",
                        hcy_device_get_info(d->dev)->name, size, (unsigned long long)d->largest);
    m->mem = cl.clCreateBuffer(d->context, flags, size, NULL, &error);
    int status = cl_check(d, error, "allocating memory");
    if (status || (mem == HCY_MEM_DEVICE && !d->at.quirk->lazy))
        return status;
    return mem == HCY_MEM_DEVICE ? take_now(d, m->mem) : map_memory(d, m, size, "mapping pinned memory");
}

int cl_alloc(hcy_block *block, void *impl, int mem, size_t size)
{
    struct cl_device *d = impl;
    if (!count_in(d, size))
        return hcy_fail(HCY_ENOMEM, "%s has no %zu bytes (%llu of %llu are in use)",
                        hcy_device_get_info(d->dev)->name, size, (unsigned long long)atomic_load(&d->used),
                        (unsigned long long)d->memory);
    /* The bytes are counted before the driver is asked: of two threads, one would else exceed the limit. */
    struct cl_memory *m = calloc(1, sizeof *m);
    int status;
    if (!m)
        status = hcy_fail(HCY_ENOMEM, "out of memory for a buffer");
    else
        status = d->shared ? make_shared(d, size, m) : make_own(d, mem, size, m);
    if (status) {
        atomic_fetch_sub(&d->used, size);
        if (m)
            drop_memory(d, m);
        return status;
    }
    *block = (hcy_block){ .handle = m, .host = m->host, .size = size };
    return 0;
}

void cl_free(void *impl, int mem, hcy_block *block)
{
    struct cl_device *d = impl;
    struct cl_memory *m = block->handle;
    if (mem != HCY_MEM_DEVICE && !d->shared && m->host)
        unmap_memory(d, m);
    atomic_fetch_sub(&d->used, block->size);
    free(m->tables);
    drop_memory(d, m);
}

int cl_buffer_i64(int64_t *value, void *impl, const hcy_block *block, size_t offset, const char *key)
{
    (void)impl;
    if (!strcmp(key, "cl_mem"))
        *value = (int64_t)(intptr_t)cl_mem_of(block);
    else if (!strcmp(key, "offset"))
        *value = (int64_t)offset;
    else
        return hcy_fail(HCY_ENOENT, "an OpenCL buffer has no number \"%s\" (cl_mem, offset)", key);
    return 0;
}

/* --- Memory of others' --- */

static int wrap_mem(hcy_block *block, cl_mem mem, void *host, size_t size)
{
    struct cl_memory *m = calloc(1, sizeof *m);
    if (!m) {
        cl.clReleaseMemObject(mem);
        return hcy_fail(HCY_ENOMEM, "out of memory for a buffer");
    }
    m->mem = mem;
    *block = (hcy_block){ .handle = m, .host = host, .size = size };
    return 0;
}

int cl_import_host(hcy_block *block, void *impl, void *host, size_t size)
{
    struct cl_device *d = impl;
    cl_int error = 0;
    if (!d->shared)
        return hcy_fail(HCY_EUNSUPPORTED, "%s does not use the host's memory in place",
                        hcy_device_get_info(d->dev)->name);
    cl_mem mem = cl.clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size, host, &error);
    int status = cl_check(d, error, "importing host memory");
    return status ? status : wrap_mem(block, mem, host, size);
}

/* A cl_mem, kept by a reference of ours.  Where all buffers have an address of the host's, so has this one. */
int cl_import_device(hcy_block *block, void *impl, uint64_t handle, size_t size)
{
    struct cl_device *d = impl;
    cl_mem mem = (cl_mem)(uintptr_t)handle;
    size_t there = 0;
    /* The size is asked for because reading behind a cl_mem's end would lose the device. */
    int status = cl_check(d, cl.clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof there, &there, NULL),
                          "importing a cl_mem");
    if (!status && size > there)
        status = hcy_fail(HCY_ERANGE, "the cl_mem has %zu bytes, not %zu", there, size);
    if (!status)
        status = cl_check(d, cl.clRetainMemObject(mem), "importing a cl_mem");
    if (!status)
        status = wrap_mem(block, mem, NULL, size);
    if (status || !d->shared)
        return status;
    struct cl_memory *m = block->handle;
    status = map_memory(d, m, size, "mapping a cl_mem for the host");
    if (status)
        cl_unimport(d, block);
    else
        block->host = m->host;
    return status;
}

void cl_unimport(void *impl, hcy_block *block)
{
    struct cl_memory *m = block->handle;
    if (m->host)
        unmap_memory(impl, m);
    cl.clReleaseMemObject(m->mem);
    free(m);
}
