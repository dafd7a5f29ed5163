/* share.c - a GPU's memory that other processes can have, by the driver's handles.  Thread-safe.
 *
 * The driver hands out whole pages, of which small allocations share one: here each begins and ends with its own.
 */
#include "cuda_priv.h"

#include <stdlib.h>
#include <string.h>

#define PAGE ((size_t)2 << 20)

struct share {
    CUdeviceptr at;
    bool others; /* another process has allocated it */
};
_Static_assert(sizeof(struct cuda_ipc) == HCY_SHARE_NAME, "a name is a handle of the driver's");

/* Also what a driver without these functions says. */
static int begin_share(struct cuda_device *d, struct share **share)
{
    if (!cu.cuIpcGetMemHandle || !cu.cuIpcOpenMemHandle || !cu.cuIpcCloseMemHandle)
        return hcy_fail(HCY_EUNSUPPORTED, "%s: this driver shares no memory between processes (cuIpcOpenMemHandle)",
                        hcy_device_get_info(d->dev)->name);
    *share = calloc(1, sizeof **share);
    if (!*share)
        return hcy_fail(HCY_ENOMEM, "out of memory for a share's record");
    int status = cuda_enter(d);
    if (status)
        free(*share);
    return status;
}

/* Leaves the context; the record is the caller's, or gone. */
static int end_share(void **out, hcy_block *block, struct share *share, size_t size, int status)
{
    cuda_leave();
    if (status) {
        free(share);
        return status;
    }
    *block = (hcy_block){ .handle = (void *)(uintptr_t)share->at, .address = share->at, .size = size };
    *out = share;
    return 0;
}

int cuda_share_create(hcy_block *block, void **out, void *impl, size_t size)
{
    struct cuda_device *d = impl;
    struct share *share = NULL;
    size_t room = 0;
    int status = hcy_size_add(&room, size, PAGE - 1);
    if (!status)
        status = begin_share(d, &share);
    if (status)
        return status;
    status = cuda_check(d, cu.cuMemAlloc(&share->at, room / PAGE * PAGE), "allocating memory for other processes");
    return end_share(out, block, share, size, status);
}

int cuda_share_name(unsigned char name[HCY_SHARE_NAME], void *impl, void *object)
{
    struct cuda_device *d = impl;
    const struct share *share = object;
    struct cuda_ipc handle;
    int status = cuda_enter(d);
    if (status)
        return status;
    status = cuda_check(d, cu.cuIpcGetMemHandle(&handle, share->at), "making a handle of memory");
    cuda_leave();
    if (!status)
        memcpy(name, &handle, sizeof handle);
    return status;
}

int cuda_share_open(hcy_block *block, void **out, void *impl, const unsigned char name[HCY_SHARE_NAME], size_t size)
{
    struct cuda_device *d = impl;
    struct share *share = NULL;
    struct cuda_ipc handle;
    int status = begin_share(d, &share);
    if (status)
        return status;
    memcpy(&handle, name, sizeof handle);
    CUresult r = cu.cuIpcOpenMemHandle(&share->at, handle, CUDA_IPC_LAZY_PEER_ACCESS);
    share->others = true;
    if (r)
        status = cuda_fail(d, r, "opening another process's memory");
    /* What the driver does not know is no failure of the GPU's. */
    if (status && status != HCY_ELOST && status != HCY_ENOMEM)
        status = hcy_fail_vendor(HCY_ENOENT, r, "cuIpcOpenMemHandle",
                                 "%s does not know that memory of another process's: it has released it or ended, or "
                                 "the handle is made up",
                                 hcy_device_get_info(d->dev)->name);
    return end_share(out, block, share, size, status);
}

void cuda_share_close(void *impl, void *object)
{
    struct cuda_device *d = impl;
    struct share *share = object;
    /* Of a lost device nothing can be freed: it goes with the process. */
    if (!cu.cuCtxPushCurrent(d->context)) {
        if (share->others)
            cu.cuIpcCloseMemHandle(share->at);
        else
            cu.cuMemFree(share->at);
        cuda_leave();
    }
    free(share);
}
