/* registered.c - host memory of others' that GPUs have been shown.  Thread-safe.
 *
 * CUDA registers a page once a process, for all GPUs, and whoever unregisters it takes it from everybody: a buffer that
 * is released would take the pages from under another one, whose next kernel would cost the whole device.  So pages
 * are counted here.  A copy must not leave the range that one call has registered, for which reason a range that lies
 * half inside another one is refused.
 */
#include "cuda_priv.h"

#include <stdlib.h>
#include <unistd.h>

struct pages {
    struct pages *next;
    uintptr_t first, end;
    int users;
};

static struct pages *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Memory that CUDA itself has allocated for the host cannot be registered, and need not be. */
static bool is_pinned(uintptr_t host)
{
    unsigned type = 0;
    return !cu.cuPointerGetAttribute(&type, CUDA_POINTER_MEMORY_TYPE, (CUdeviceptr)host) && type == CUDA_MEMORY_HOST;
}

static struct pages *find_pages(uintptr_t first, uintptr_t end)
{
    struct pages *p = all;
    while (p && (end <= p->first || p->end <= first))
        p = p->next;
    return p;
}

/* Under the lock.  Whole pages: what stands beside these bytes on the last one may be shown next. */
static int register_new(bool *counted, struct cuda_device *d, uintptr_t host, size_t size)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = host & ~(page - 1), end = (host + size + page - 1) & ~(page - 1);
    struct pages *p = find_pages(first, end);
    *counted = true;
    if (p && p->first <= first && end <= p->end) {
        p->users++;
        return 0;
    }
    if (p)
        return hcy_fail(HCY_EUNSUPPORTED,
                        "%zu bytes at %p begin or end on a page of memory that is imported, and reach beyond it; "
                        "import both as one, or copy them",
                        size, (void *)host);
    p = malloc(sizeof *p);
    if (!p)
        return hcy_fail(HCY_ENOMEM, "no memory to count imports by");
    CUresult r = cu.cuMemHostRegister((void *)first, end - first, CUDA_HOST_PORTABLE | CUDA_HOST_DEVICEMAP);
    if (!r) {
        *p = (struct pages){ all, first, end, 1 };
        all = p;
        return 0;
    }
    free(p);
    *counted = false;
    /* The program's own, or another library's: used as it is. */
    return is_pinned(host) && is_pinned(host + size - 1) ? 0 : cuda_fail(d, r, "registering host memory");
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
    struct pages **at = &all, *p = find_pages((uintptr_t)host, (uintptr_t)host + 1);
    if (p && !--p->users) {
        while (*at != p)
            at = &(*at)->next;
        *at = p->next;
        if (in_context)
            cu.cuMemHostUnregister((void *)p->first);
        free(p);
    }
    pthread_mutex_unlock(&lock);
}
