/* memory.c - a CPU device's memory: what it has of the machine's, counted against its limit.  Any thread. */
#include "cpu_device.h"

int cpu_memory_info(uint64_t *free_bytes, uint64_t *total_bytes, void *impl)
{
    struct cpu_device *d = impl;
    uint64_t used = atomic_load(&d->used);
    *total_bytes = d->memory;
    *free_bytes = used < d->memory ? d->memory - used : 0;
    return 0;
}

static void set_block(const struct cpu_device *d, hcy_block *block, int mem, void *p, size_t size)
{
    /* A discrete device hides what an accelerator would; the address is there all the same. */
    bool hidden = d->discrete && mem == HCY_MEM_DEVICE;
    *block = (hcy_block){ .handle = p, .address = (uintptr_t)p, .host = hidden ? NULL : p, .size = size };
}

/* Counts `size` bytes in if they are within the limit; a request for too much must not disturb others. */
static bool count_memory_in(struct cpu_device *d, size_t size)
{
    uint_least64_t used = atomic_load(&d->used);
    do
        if (used > d->memory || size > d->memory - used)
            return false;
    while (!atomic_compare_exchange_weak(&d->used, &used, used + size));
    return true;
}

static int refuse_size(struct cpu_device *d, size_t size)
{
    return hcy_fail(HCY_ENOMEM, "%s has no %zu bytes (%llu of %llu are in use)", hcy_device_get_info(d->dev)->name,
                    size, (unsigned long long)atomic_load(&d->used), (unsigned long long)d->memory);
}

int cpu_memory_alloc(hcy_block *block, void *impl, int mem, size_t size)
{
    struct cpu_device *d = impl;
    bool taken = count_memory_in(d, size);
    void *p = taken ? cpu_pages_alloc(size, mem != HCY_MEM_MAPPED) : NULL;
    if (!p) {
        /* The count is taken back at once, so that others are not refused for nothing. */
        if (taken)
            atomic_fetch_sub(&d->used, size);
        return refuse_size(d, size);
    }
    set_block(d, block, mem, p, size);
    return 0;
}

/* A block may be tables that other devices share, which go with their last user. */
static void free_tables(const hcy_block *block)
{
    if (!cpu_tables_release(block->handle))
        cpu_blob_free(block->handle, block->size);
}

int cpu_memory_take_tables(hcy_block *tables, struct cpu_device *d, void *blob, size_t size)
{
    set_block(d, tables, HCY_MEM_DEVICE, blob, size);
    if (count_memory_in(d, size))
        return 0;
    int status = refuse_size(d, size);
    free_tables(tables);
    return status;
}

void cpu_memory_free(void *impl, int mem, hcy_block *block)
{
    struct cpu_device *d = impl;
    (void)mem;
    /* Tables count as used by each device that has them, even where several share them. */
    atomic_fetch_sub(&d->used, block->size);
    free_tables(block);
}

int cpu_memory_share_create(hcy_block *block, void **share, void *impl, size_t size)
{
    struct cpu_device *d = impl;
    void *bytes = NULL;
    if (!count_memory_in(d, size))
        return refuse_size(d, size);
    int status = cpu_share_create(share, &bytes, size);
    if (status)
        atomic_fetch_sub(&d->used, size);
    else
        set_block(d, block, HCY_MEM_DEVICE, bytes, size);
    return status;
}

int cpu_memory_share_name(unsigned char name[HCY_SHARE_NAME], void *impl, void *share)
{
    (void)impl;
    return cpu_share_name(name, share);
}

int cpu_memory_share_open(hcy_block *block, void **share, void *impl, const unsigned char name[HCY_SHARE_NAME],
                      size_t size)
{
    void *bytes = NULL;
    int status = cpu_share_open(share, &bytes, name, size);
    if (!status)
        set_block(impl, block, HCY_MEM_DEVICE, bytes, size);
    return status;
}

void cpu_memory_share_close(void *impl, void *share)
{
    struct cpu_device *d = impl;
    atomic_fetch_sub(&d->used, cpu_share_close(share));
}

int cpu_memory_import_host(hcy_block *block, void *impl, void *host, size_t size)
{
    set_block(impl, block, HCY_MEM_MAPPED, host, size);
    return 0;
}

int cpu_memory_import_device(hcy_block *block, void *impl, uint64_t handle, size_t size)
{
    set_block(impl, block, HCY_MEM_DEVICE, (void *)(uintptr_t)handle, size);
    return 0;
}
