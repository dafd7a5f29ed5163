/* cuda_priv.h - the CUDA backend's own types.
 *
 * A device retains its GPU's primary context and makes it current for the length of each call, so a program's own
 * context is never disturbed.  A queue is a stream, a list of commands whose objects are still in use, and a thread
 * that releases these when the stream has passed them; the same thread submits what had to wait for another device.
 */
#ifndef HCY_CUDA_PRIV_H
#define HCY_CUDA_PRIV_H

#include "cuda_api.h"

#include "gpu.h"

#include <halcyon/backend.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#define CUDA_MAX_PEERS 64

/* Released CUevents, for the next to use. */
struct cuda_event_pool {
    CUevent *list;
    size_t n, room;
};

struct cuda_device {
    hcy_device *dev; /* not a reference */
    CUdevice device;
    int ordinal, arch, units; /* arch: 90 */
    size_t local_bytes;       /* of a group at most */
    struct gpu_choice choice; /* parameters of its kernels */
    bool without_nvrtc;       /* as if it were not here */
    bool own_fft;             /* nobody is given cuFFT's */
    CUcontext context;
    atomic_bool lost;
    pthread_mutex_t lock; /* of what follows */
    struct cuda_event_pool timed, plain;
    CUevent base;   /* its time is base_ns on the host's clock */
    CUstream clock; /* where it is recorded */
    uint64_t base_ns;
    struct cuda_staging *staging; /* made when it is needed */
    unsigned char peer[CUDA_MAX_PEERS]; /* by ordinal: access to it has been asked for */
};

/* Failures: 0, or the status with the vendor's code and words; fatal ones lose the device. */
int cuda_fail_at(const char *file, int line, struct cuda_device *d, CUresult r, const char *what);
#define cuda_fail(d, r, what)     cuda_fail_at(__FILE__, __LINE__, d, r, what)
#define cuda_check(d, call, what) cuda_check_at(__FILE__, __LINE__, d, call, what)
static inline int cuda_check_at(const char *file, int line, struct cuda_device *d, CUresult r,
                                const char *what)
{
    return r == CUDA_SUCCESS ? 0 : cuda_fail_at(file, line, d, r, what);
}

/* The device's context made current, and the one before it again. */
int cuda_enter(struct cuda_device *d);
void cuda_leave(void);

/* --- Devices (device.c) --- */
int cuda_list(hcy_device_info **infos, size_t *n);
int cuda_open(void **impl, hcy_device_info *info, hcy_device *dev, const hcy_spec *spec);
void cuda_close(void *impl);
int cuda_get_i64(int64_t *value, void *impl, const char *key);
int cuda_profile(void *impl, int begin);

/* What listing and opening both say of a GPU; its name and memory are set by the caller. */
void cuda_describe(hcy_device_info *info, const char *name, const char *uuid, unsigned units, int major,
                   int minor);

/* --- A profiler's ranges (nvtx.c) --- */
/* Commands are ranges from here on, if this process is profiled. */
void cuda_nvtx_attach(void);

/* --- The management library (nvml.c) --- */
/* False: it is not here, or cannot tell which GPUs CUDA will count how. */
bool cuda_nvml_list(hcy_device_info **infos, size_t *n);
bool cuda_nvml_knows(const char *key);
int cuda_nvml_read(int64_t *value, const char *uuid, const char *key);

/* --- Memory (memory.c) --- */
int cuda_mem_info(uint64_t *free_bytes, uint64_t *total_bytes, void *impl);
int cuda_alloc(hcy_block *block, void *impl, int mem, size_t size);
void cuda_free(void *impl, int mem, hcy_block *block);
int cuda_import_host(hcy_block *block, void *impl, void *host, size_t size);
int cuda_import_device(hcy_block *block, void *impl, uint64_t handle, size_t size);
void cuda_unimport(void *impl, hcy_block *block);
int cuda_buffer_i64(int64_t *value, void *impl, const hcy_block *block, size_t offset, const char *key);

/* --- Host memory of others' (registered.c) --- */
/* In a context.  Not counted is what the program, or CUDA itself, has pinned; HCY_EUNSUPPORTED if a part of the memory
 * alone is imported already. */
int cuda_register(bool *counted, struct cuda_device *d, void *host, size_t size);
/* Of what was counted.  Outside of a context, of a lost device, the driver keeps the pages. */
void cuda_unregister(void *host, bool in_context);

/* --- Memory for other processes (share.c) --- */
int cuda_share_create(hcy_block *block, void **share, void *impl, size_t size);
int cuda_share_name(unsigned char name[HCY_SHARE_NAME], void *impl, void *share);
int cuda_share_open(hcy_block *block, void **share, void *impl, const unsigned char name[HCY_SHARE_NAME], size_t size);
void cuda_share_close(void *impl, void *share);

/* A GPU's memory, or the host's that CUDA has pinned or registered. */
bool cuda_knows(const void *address);

/* --- Commands (queue.c) --- */
struct cuda_queue;
struct cuda_event;

/* What a command needs when it is submitted to the stream; copied if that is later. */
struct cuda_command {
    const char *name; /* a constant, for the trace */
    uint64_t bytes;
    int (*run)(struct cuda_queue *q, const struct cuda_command *c); /* the context is current */
    union {
        hcy_copy copy;
        struct {
            hcy_place dst;
            size_t size, pattern_size;
            unsigned char pattern[8];
        } fill;
        struct {
            void *kernel;
            const hcy_launch_desc *desc; /* lives as long as the command's keep */
        } launch;
        struct {
            void *fft;
            int direction;
            const hcy_value *in, *out, *work; /* likewise */
        } fft;
    } of;
};

struct cuda_queue {
    struct cuda_device *dev;
    const hcy_queue *lane; /* its row in the trace */
    CUstream stream;
    CUevent mark; /* behind the commands whose objects the thread releases next */
    hcy_device *keeps_dev;        /* a reference: the thread outlives the HAL's queue */
    atomic_uint wanted;           /* how many wait for the lock who submit nothing */
    pthread_mutex_t lock;         /* of everything below */
    pthread_cond_t work, changed; /* something for the thread to do; something is done */
    struct cuda_held *held, **held_end;
    struct cuda_pending *pending, **pending_end;
    struct cuda_pending *spare; /* records for commands to come */
    unsigned n_spare;
    uint64_t submitted; /* commands */
    bool closing, reaping; /* a thread releases commands' objects */
    hcy_error error; /* the first failure; status 0: none */
};

/* Takes the command to the stream, or behind what is held; the keep is taken over unless an error is returned. */
int cuda_submit(struct cuda_queue *q, const struct cuda_command *c, hcy_keep *keep);

int cuda_queue_create(void **qimpl, void *impl, hcy_queue *queue);
int cuda_queue_create_urgent(void **qimpl, void *impl, hcy_queue *queue);
void cuda_queue_destroy(void *qimpl);
int cuda_queue_finish(void *qimpl);
int cuda_queue_finished(void *qimpl);
int cuda_queue_status(void *qimpl);
int cuda_queue_record(void **eimpl, void *qimpl);
int cuda_queue_wait(void *qimpl, hcy_event *event);
int cuda_queue_keep(void *qimpl, hcy_keep *keep);
int cuda_queue_i64(int64_t *value, void *qimpl, const char *key);

/* --- Events (event.c) --- */
CUevent cuda_event_take(struct cuda_device *d, bool timed); /* NULL with a failure */
void cuda_event_give(struct cuda_device *d, CUevent event, bool timed);
void cuda_event_pools_free(struct cuda_device *d);
/* When a completed timed event completed, on the host's clock. */
int cuda_event_when(uint64_t *ns, struct cuda_device *d, CUevent event);

/* An event: shared by the HAL's event and, until it is recorded, by the queue. */
struct cuda_event {
    atomic_uint refs;
    struct cuda_device *dev;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    CUevent event;
    bool recorded;
    uint64_t recorded_ns, time_ns; /* time_ns: 0 until it is known */
    hcy_error error;               /* that of its queue; status 0: none */
};
struct cuda_event *cuda_event_new(struct cuda_device *d);
/* Records it behind what the stream has; `error` is the queue's. */
void cuda_event_record(struct cuda_event *e, CUstream stream, const hcy_error *error);
/* 1 if it is on a stream, with its failure if it has one. */
bool cuda_event_is_recorded(struct cuda_event *e, hcy_error *error);
int cuda_event_wait(void *eimpl, uint64_t timeout_ns);
int cuda_event_query(int *done, void *eimpl);
int cuda_event_time(uint64_t *ns, void *eimpl);
void cuda_event_destroy(void *eimpl);

/* --- Copies and fills (copy.c) --- */
int cuda_copy(void *qimpl, const hcy_copy *copy, hcy_keep *keep);
int cuda_fill(void *qimpl, const hcy_place *dst, size_t size, const void *pattern, size_t pattern_size,
              hcy_keep *keep);

/* --- Large copies of memory that is not pinned (staging.c) --- */
bool cuda_is_for_staging(const void *host, size_t size);
/* On the queue's stream, the context current.  Done with `host` when it returns. */
int cuda_copy_staged(struct cuda_queue *q, CUdeviceptr gpu, void *host, size_t size, bool to_gpu);
/* What a device has for it; the context is current. */
void cuda_staging_free(struct cuda_device *d);

/* --- Programs (program.c) --- */
/* NVRTC, or NULL with HCY_EUNSUPPORTED. */
const struct nvrtc_api *cuda_compiler(const struct cuda_device *d);
/* Source to a module for the device: a cubin, from the cache if it is there; the module's own PTX where there is no
 * NVRTC, and *size is not set.  *image is malloced; *log too (may be NULL). */
int cuda_compile(void **image, size_t *size, char **log, struct cuda_device *d, const char *text,
                 const char *const *options, int n_options);
int cuda_module_load(CUmodule *module, char **log, struct cuda_device *d, const void *image);

int cuda_program_create(void **pimpl, char **log, void *impl, const char *format, const void *data, size_t size,
                        const char *options);
void cuda_program_release(void *pimpl);
int cuda_program_kernel(void **kimpl, void *pimpl, const char *name, const hcy_signature *signature);
int cuda_program_global(hcy_block *block, void *pimpl, const char *name);

/* --- Kernels (kernel.c) --- */

/* One kernel: the user's, or one of ours. */
struct cuda_kernel {
    struct cuda_device *dev;
    CUfunction function; /* the user's, with so many parameters, if the driver says; NULL: */
    size_t n_params;
    bool knows_params;
    struct gpu_kernel *ours;
    struct gpu_ops ops;
    char variant[16];
};
int cuda_launch(void *qimpl, void *kimpl, const hcy_launch_desc *launch, hcy_keep *keep);
void cuda_kernel_release(void *kimpl);
int cuda_kernel_i64(int64_t *value, void *kimpl, const char *key);
struct gpu_kernel *cuda_own_kernel(struct cuda_kernel *k); /* NULL, with a failure: it is the user's */
int cuda_kernel_get(void **kimpl, const char **variant, void *impl, const hcy_signature *signature);
int cuda_prepare(hcy_block *tables, void *kimpl, const hcy_span *spans, size_t n);
int cuda_scratch_size(size_t *size, void *kimpl, size_t items, const hcy_value *values, size_t n);
int cuda_preferred_batch(size_t *items, void *kimpl, const hcy_value *values, size_t n);

/* --- Fourier transforms (fft.c) --- */
/* cuFFT's (cufft.c), and what takes these or our own (fft.c). */
int cuda_cufft_create(void **fimpl, size_t *workspace, void *impl, const hcy_fft_desc *desc);
void cuda_cufft_release(void *fimpl);
int cuda_cufft_execute(void *qimpl, const hcy_value *out, void *fimpl, int direction, const hcy_value *in,
                       const hcy_value *work, hcy_keep *keep);
int cuda_fft_create(void **fimpl, size_t *workspace, void *impl, const hcy_fft_desc *desc);
void cuda_fft_release(void *fimpl);
int cuda_fft_execute(void *qimpl, const hcy_value *out, void *fimpl, int direction, const hcy_value *in,
                     const hcy_value *work, hcy_keep *keep);

#endif
