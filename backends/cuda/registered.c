/* registered.c - host memory of others' that GPUs have been shown.  Thread-safe.
 *
 * CUDA registers bytes once a process, for all GPUs, and whoever unregisters them takes them from everybody: a buffer
 * that is released would take memory from under another one, whose next kernel would cost the whole device.  So the
 * buffers on each range are counted here.  What is registered also goes, from all GPUs, with the context in which that
 * was done (two H200 were asked, driver 580): a range keeps it, so that its device may be closed.
 *
 * A copy that leaves the range of one call fails (a driver of CUDA 13 was asked), for which reason what lies half in
 * another range is refused.  What lies beside it, on the same page, is not.
 */
#include "cuda_priv.h"

#include <stdlib.h>

struct range {
    struct range *next;
    uintptr_t first, end;
    CUdevice device; /* whose context it keeps */
    int users;
};

static struct range *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Memory that CUDA itself has allocated for the host cannot be registered, and need not be. */
static bool is_pinned(uintptr_t host)
{
    unsigned type = 0;
    return !cu.cuPointerGetAttribute(&type, CUDA_POINTER_MEMORY_TYPE, (CUdeviceptr)host) && type == CUDA_MEMORY_HOST;
}

static struct range *find_range(uintptr_t first, uintptr_t end)
{
    struct range *p = all;
    while (p && (end <= p->first || p->end <= first))
        p = p->next;
    return p;
}

/* Under the lock. */
static int register_new(bool *counted, struct cuda_device *d, uintptr_t first, size_t size)
{
    const uintptr_t end = first + size;
    struct range *p = find_range(first, end);
    *counted = true;
    if (p && p->first <= first && end <= p->end) {
        p->users++;
        return 0;
    }
    if (p)
        return hcy_fail(HCY_EUNSUPPORTED,
                        "%zu bytes at %p lie partly in memory that is imported already: import both as one, or copy them",
                        size, (void *)first);
    p = malloc(sizeof *p);
    if (!p)
        return hcy_fail(HCY_ENOMEM, "no memory to count imports by");
    CUcontext context;
    CUresult r = cu.cuDevicePrimaryCtxRetain(&context, d->device);
    if (!r) {
        r = cu.cuMemHostRegister((void *)first, size, CUDA_HOST_PORTABLE | CUDA_HOST_DEVICEMAP);
        if (!r) {
            *p = (struct range){ all, first, end, d->device, 1 };
            all = p;
            return 0;
        }
        cu.cuDevicePrimaryCtxRelease(d->device);
    }
    free(p);
    *counted = false;
    /* The program's own, or another library's: used as it is. */
    return is_pinned(first) && is_pinned(end - 1) ? 0 : cuda_fail(d, r, "registering host memory");
}

int cuda_register(bool *counted, struct cuda_device *d, void *host, size_t size)
{
    pthread_mutex_lock(&lock);
    int status = register_new(counted, d, (uintptr_t)host, size);
    pthread_mutex_unlock(&lock);
    return status;
}

void cuda_unregister(void *host, bool in_context)
{
    pthread_mutex_lock(&lock);
    struct range **at = &all, *p = find_range((uintptr_t)host, (uintptr_t)host + 1);
    if (p && !--p->users) {
        while (*at != p)
            at = &(*at)->next;
        *at = p->next;
        if (in_context) {
            cu.cuMemHostUnregister((void *)p->first);
            cu.cuDevicePrimaryCtxRelease(p->device);
        }
        free(p);
    }
    pthread_mutex_unlock(&lock);
}
