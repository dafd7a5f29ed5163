/* memory.c - a GPU's memory, pinned and mapped host memory, and memory of others'.  Thread-safe.
 *
 * Pinned and mapped memory are the same to CUDA: page-locked, seen by every GPU at the address the host has.
 */
#include "cuda_priv.h"

#include <stdlib.h>
#include <string.h>

int cuda_mem_info(uint64_t *free_bytes, uint64_t *total_bytes, void *impl)
{
    struct cuda_device *d = impl;
    size_t f = 0, t = 0;
    int status = cuda_enter(d);
    if (status)
        return status;
    status = cuda_check(d, cu.cuMemGetInfo(&f, &t), "asking for free memory");
    cuda_leave();
    /* After a failure both are 0, which callers take for no room. */
    *free_bytes = f;
    *total_bytes = t;
    return status;
}

static int map_host(struct cuda_device *d, void *host, size_t size, hcy_block *block)
{
    CUdeviceptr address = 0;
    int status = cuda_check(d, cu.cuMemHostGetDevicePointer(&address, host, 0), "mapping host memory");
    *block = (hcy_block){ .handle = host, .address = address, .host = host, .size = size };
    return status;
}

static int alloc_host(struct cuda_device *d, size_t size, hcy_block *block)
{
    void *host = NULL;
    /* Memory is portable, so that one buffer can feed several GPUs without a copy. */
    int status = cuda_check(d, cu.cuMemHostAlloc(&host, size, CUDA_HOST_PORTABLE | CUDA_HOST_DEVICEMAP),
                            "allocating pinned memory");
    if (status)
        return status;
    status = map_host(d, host, size, block);
    if (status)
        cu.cuMemFreeHost(host);
    return status;
}

static int alloc_device(struct cuda_device *d, size_t size, hcy_block *block)
{
    CUdeviceptr address = 0;
    CUresult r = cu.cuMemAlloc(&address, size);
    /* The HAL empties its pool and tries again after this status, so it must be told apart from all
     * others. */
    if (r == CUDA_ERROR_OUT_OF_MEMORY)
        return hcy_fail_vendor(HCY_ENOMEM, r, "out of memory", "%s has no %zu bytes free",
                               hcy_device_get_info(d->dev)->name, size);
    *block = (hcy_block){ .handle = (void *)(uintptr_t)address, .address = address, .size = size };
    return cuda_check(d, r, "allocating memory");
}

int cuda_alloc(hcy_block *block, void *impl, int mem, size_t size)
{
    struct cuda_device *d = impl;
    int status = cuda_enter(d);
    if (status)
        return status;
    status = mem == HCY_MEM_DEVICE ? alloc_device(d, size, block) : alloc_host(d, size, block);
    cuda_leave();
    return status;
}

/* Of a lost device nothing can be freed: it goes with the process.  A plan's tables have their host side for a
 * handle, all other memory its own address. */
void cuda_free(void *impl, int mem, hcy_block *block)
{
    struct cuda_device *d = impl;
    if (mem == HCY_MEM_DEVICE && (uintptr_t)block->handle != block->address)
        free(block->handle);
    if (cu.cuCtxPushCurrent(d->context))
        return;
    if (mem == HCY_MEM_DEVICE)
        cu.cuMemFree(block->address);
    else
        cu.cuMemFreeHost(block->host);
    cuda_leave();
}

/* --- Memory of others' --- */

bool cuda_knows(const void *address)
{
    unsigned type = 0;
    return !cu.cuPointerGetAttribute(&type, CUDA_POINTER_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)address);
}

/* What the program itself has registered or allocated is used as it is: its block has no handle. */
int cuda_import_host(hcy_block *block, void *impl, void *host, size_t size)
{
    struct cuda_device *d = impl;
    bool counted = false;
    int status = cuda_enter(d);
    if (status)
        return status;
    status = cuda_register(&counted, d, host, size);
    if (!status) {
        status = map_host(d, host, size, block);
        if (status && counted)
            cuda_unregister(host, true);
        if (!counted)
            block->handle = NULL;
    }
    cuda_leave();
    return status;
}

int cuda_import_device(hcy_block *block, void *impl, uint64_t handle, size_t size)
{
    struct cuda_device *d = impl;
    unsigned type = 0, managed = 0;
    int where = d->device;
    int status = cuda_enter(d);
    if (status)
        return status;
    /* A host pointer, a freed address or another GPU's would only fail in a kernel, which would cost the whole device.
     * Managed memory is where it is used. */
    CUresult r = cu.cuPointerGetAttribute(&type, CUDA_POINTER_MEMORY_TYPE, handle);
    if (!r && !cu.cuPointerGetAttribute(&managed, CUDA_POINTER_IS_MANAGED, handle) && !managed &&
        cu.cuPointerGetAttribute(&where, CUDA_POINTER_DEVICE, handle))
        where = d->device;
    cuda_leave();
    if (r || type != CUDA_MEMORY_DEVICE)
        return hcy_fail_vendor(HCY_EINVAL, r, "cuPointerGetAttribute",
                               "%#llx is not an address of a GPU's memory", (unsigned long long)handle);
    if (where != d->device)
        return hcy_fail(HCY_EUNSUPPORTED, "%#llx is GPU %d's memory, which %s does not reach",
                        (unsigned long long)handle, where, hcy_device_get_info(d->dev)->name);
    *block = (hcy_block){ .handle = (void *)(uintptr_t)handle, .address = handle, .size = size };
    return 0;
}

void cuda_unimport(void *impl, hcy_block *block)
{
    struct cuda_device *d = impl;
    /* Device memory stays the program's, and host memory without a handle was registered by somebody else. */
    if (!block->host || !block->handle)
        return;
    bool in_context = !cu.cuCtxPushCurrent(d->context);
    cuda_unregister(block->host, in_context);
    if (in_context)
        cuda_leave();
}

int cuda_buffer_i64(int64_t *value, void *impl, const hcy_block *block, size_t offset, const char *key)
{
    (void)impl;
    /* The second is any device's name for it, for who knows no vendor. */
    if (strcmp(key, "cu_deviceptr") && strcmp(key, "address"))
        return hcy_fail(HCY_ENOENT, "a GPU's buffer has no number \"%s\" (cu_deviceptr, address)", key);
    *value = (int64_t)(block->address + offset);
    return 0;
}
