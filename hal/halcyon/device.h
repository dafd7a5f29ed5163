/* halcyon/device.h - which accelerators there are, and opening them.
 *
 * Device strings: backend[:selector][@key=value]...   "cpu", "cpu@threads=2@cores=0-1+4", "cuda:0", "xrt:0@xclbin=F".
 * In a value ',', '@' and '%' are written %2C, %40, %25.  Kinds: "gpu", "fpga" (the first of that kind).  Lists:
 * "cpu,cuda:0"; "all" (every device there is), "auto" (the first GPU, else FPGA, else the CPU).  NULL or "" means
 * the environment's HALCYON_DEVICE, else "auto".  What cannot be met is an error, never another device.
 *
 * Listing opens nothing: no context, no device memory.  All calls are thread-safe.  Objects are reference counted
 * and may be released from any thread in any order; releasing NULL is fine.  Once a device has been opened,
 * a forked child gets HCY_EFORK from hcy_device_open and everything on inherited devices, or made of them.
 */
#ifndef HALCYON_DEVICE_H
#define HALCYON_DEVICE_H

#include <halcyon/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hcy_device hcy_device;

enum hcy_device_kind { HCY_KIND_CPU = 1, HCY_KIND_GPU = 2, HCY_KIND_FPGA = 3, HCY_KIND_OTHER = 4 };

/* Capabilities, as bits of hcy_device_info.caps. */
enum hcy_device_cap {
    HCY_CAP_F64 = 1 << 0,          /* double precision */
    HCY_CAP_HOST_MEMORY = 1 << 1,  /* device memory is host memory: hcy_buffer_host() works for every kind */
    HCY_CAP_MAPPED = 1 << 2,       /* HCY_MEM_MAPPED is there */
    HCY_CAP_IMPORT_HOST = 1 << 3,  /* hcy_buffer_import_host() is there */
    HCY_CAP_IMPORT_DEVICE = 1 << 4,
    HCY_CAP_FFT = 1 << 5,
    HCY_CAP_PROGRAMS = 1 << 6,     /* the user's own kernels */
    HCY_CAP_VIRTUAL = 1 << 7,      /* functional only: its speed means nothing */
    HCY_CAP_SECOND = 1 << 8,       /* another backend drives the same hardware: "auto" and "all" pass it over */
    HCY_CAP_TOGETHER = 1 << 9      /* hcy_launch_together() is there */
};

typedef struct hcy_device_info {
    char name[256];        /* the string that opens it: "cpu", "cuda:0"; ends in "..." where it was cut */
    char stable[256];      /* the same device whatever the order of enumeration: "cuda:GPU-<uuid>" */
    char backend[24];      /* "cpu" */
    char description[128]; /* "AMD EPYC 9655 (2 of 2 cores, avx512)" */
    int kind;              /* HCY_KIND_* */
    uint32_t caps;         /* HCY_CAP_* */
    uint32_t units;        /* threads, multiprocessors, compute units */
    uint64_t memory;       /* bytes, 0 if unknown */
} hcy_device_info;

/* A backend as `halcyon devices` shows it. */
typedef struct hcy_backend_info {
    char name[24];
    int status;        /* 0, or why there is none of it: HCY_ENODEV, HCY_EABI, HCY_EBACKEND ... */
    char reason[700];  /* the sentence for status, "" if 0 */
    char origin[256];  /* the module's path, or "built in" */
    size_t n_devices;
} hcy_backend_info;

/* All devices of all backends that HALCYON_BACKENDS lets through.  *list is freed with hcy_list_free(). */
HCY_API int hcy_device_list(hcy_device_info **list, size_t *n) HCY_MUST_USE;
/* All backends this library can find, the absent ones with their reason.  *list is freed with hcy_list_free(). */
HCY_API int hcy_backend_list(hcy_backend_info **list, size_t *n) HCY_MUST_USE;
/* A list that one of these functions made; NULL is fine. */
HCY_API void hcy_list_free(void *list);

/* Open one device.  HCY_EINVAL: the string is malformed or names several; HCY_ENODEV: no such device (the reason in
 * the error); HCY_ENOMEM, HCY_EBACKEND, HCY_EFORK. */
HCY_API int hcy_device_open(hcy_device **dev, const char *spec) HCY_MUST_USE;
/* Opens every device that a list names: all of them or none.  *devs has *n entries, each to be released; free *devs
 * with hcy_list_free(). */
HCY_API int hcy_device_open_list(hcy_device ***devs, size_t *n, const char *specs) HCY_MUST_USE;
/* Takes one more reference (and returns dev), or gives one back; from any thread.  The device is closed with the
 * last one. */
HCY_API hcy_device *hcy_device_retain(hcy_device *dev);
HCY_API void hcy_device_release(hcy_device *dev);

HCY_API const hcy_device_info *hcy_device_get_info(const hcy_device *dev); /* belongs to dev */
/* Any further number by its key ("threads", "simd", "pci_bus"...).  HCY_ENOENT: no such key here. */
HCY_API int hcy_device_get_i64(int64_t *value, hcy_device *dev, const char *key) HCY_MUST_USE;
/* Device memory, as far as its driver knows.  HCY_EUNSUPPORTED: it does not. */
HCY_API int hcy_device_mem_info(uint64_t *free_bytes, uint64_t *total_bytes, hcy_device *dev) HCY_MUST_USE;

/* 0, or HCY_ELOST once the device is lost, which is for good; hcy_last_error() then has the cause. */
HCY_API int hcy_device_status(hcy_device *dev) HCY_MUST_USE;

/* Begin and end what a profiler of the vendor's is to look at, for one that was told to wait for it (`nsys profile
 * --capture-range=cudaProfilerApi`, `ncu --profile-from-start off`); without a profiler they do nothing.  The
 * profiler is the process's, whichever of its devices is named; it sees what runs between the two: finish the queues
 * before each.  From any thread.  HCY_EUNSUPPORTED: the device has no such profiler (all but CUDA's), or its driver
 * lacks the call. */
HCY_API int hcy_profiler_start(hcy_device *dev) HCY_MUST_USE;
HCY_API int hcy_profiler_stop(hcy_device *dev) HCY_MUST_USE;

/* The pool that keeps released device memory for the next allocation. */
typedef struct hcy_pool_stats {
    uint64_t in_use, cached, peak; /* bytes; peak of in_use + cached */
    uint64_t hits, misses;         /* allocations served from the pool, and from the device */
} hcy_pool_stats;
HCY_API int hcy_device_pool_stats(hcy_pool_stats *stats, hcy_device *dev) HCY_MUST_USE;
HCY_API int hcy_device_pool_trim(hcy_device *dev) HCY_MUST_USE; /* gives the cached memory back */

#ifdef __cplusplus
}
#endif
#endif
