/* cpu_device.h - an open CPU device: for backend.c and memory.c alone. */
#ifndef HCY_CPU_DEVICE_H
#define HCY_CPU_DEVICE_H

#include "cpu_priv.h"

struct cpu_device {
    hcy_device *dev; /* not a reference */
    struct cpu_pool *pool;
    enum cpu_simd simd;
    enum cpu_fft_choice fft;
    bool discrete, pinned;    /* pinned: to cores */
    uint64_t memory;          /* limit */
    atomic_uint_least64_t used;
};

/* Of the backend's table; impl: a struct cpu_device. */
int cpu_memory_info(uint64_t *free_bytes, uint64_t *total_bytes, void *impl);
int cpu_memory_alloc(hcy_block *block, void *impl, int mem, size_t size);
void cpu_memory_free(void *impl, int mem, hcy_block *block);
int cpu_memory_import_host(hcy_block *block, void *impl, void *host, size_t size);
int cpu_memory_import_device(hcy_block *block, void *impl, uint64_t handle, size_t size);
int cpu_memory_share_create(hcy_block *block, void **share, void *impl, size_t size);
int cpu_memory_share_name(unsigned char name[HCY_SHARE_NAME], void *impl, void *share);
int cpu_memory_share_open(hcy_block *block, void **share, void *impl, const unsigned char name[HCY_SHARE_NAME],
                          size_t size);
void cpu_memory_share_close(void *impl, void *share);

/* Tables of a kernel become a block of the device; they are freed where it has no memory for them. */
int cpu_memory_take_tables(hcy_block *tables, struct cpu_device *d, void *blob, size_t size);

#endif
