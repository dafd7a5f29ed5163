/* cl_priv.h - the OpenCL backend's own types.
 *
 * A device is a context of its own.  A queue is the HAL's host queue, whose thread hands each command to an OpenCL
 * command queue (a LANE) and waits for it: events of all kinds of devices, sticky failures and skipped commands are
 * then the same as on every device with such a queue, and drivers see nothing but single commands in order.  What
 * the wait costs is hidden by a second queue.
 */
#ifndef HCY_CL_PRIV_H
#define HCY_CL_PRIV_H

#include "cl_api.h"

#include "gpu.h"

#include <halcyon/backend.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* What a platform is known to do (quirks.c); the last entry of the table fits all. */
struct cl_quirk {
    const char *platform; /* how its name begins, */
    const char *nick;     /* and what it is called in device strings */
    bool shared; /* a buffer made of host memory is that memory, for kernels too, without mapping it */
    bool second; /* another backend drives this hardware as well */
    bool lazy;   /* memory is taken when it is first used, not when it is allocated */
    int spaces;  /* how our kernels' pointers reach any memory: backends/gpu/dialect.h */
    bool lanes;  /* NVIDIA's 32 lanes in step */
};
const struct cl_quirk *cl_quirk_of(const char *platform);

/* One device as the platforms name it. */
struct cl_found {
    cl_platform_id platform;
    cl_device_id device;
    const struct cl_quirk *quirk;
    hcy_device_info info;
};

struct cl_lane {
    struct cl_lane *next;
    struct cl_device *dev;
    cl_command_queue queue;
};

struct cl_device {
    hcy_device *dev; /* not a reference */
    struct cl_found at;
    cl_context context;
    bool shared;              /* the quirk, unless "discrete=1" */
    bool measures;            /* its queues say when commands ran */
    uint64_t memory, largest; /* bytes: in all, of one allocation */
    size_t align;             /* of a sub-buffer */
    uint64_t key;             /* of the device and its compiler, for the cache */
    atomic_uint_least64_t used;
    bool alone;           /* a processor */
    bool atomics32;       /* no atomic sums of 64 bits */
    bool own_fft;         /* nobody is given VkFFT's */
    int capability;       /* of NVIDIA's devices: 9 */
    struct gpu_choice choice;
    char options[120];    /* for the compiler of our kernels */
    char lacks[60];       /* what they need and it has not; "" if nothing */
    pthread_mutex_t lock; /* of the lanes that are free */
    struct cl_lane *lanes;
};

/* A block's handle. */
struct cl_memory {
    cl_mem mem;
    void *host;   /* mapped (pinned memory, a cl_mem of others'), or allocated and to be freed (shared) */
    void *tables; /* a plan's host side, malloced */
};

/* Failures: 0, or the status with OpenCL's code and words; fatal ones lose the device.  `ran`: commands have run. */
int cl_fail_at(const char *file, int line, struct cl_device *d, cl_int code, bool ran, const char *what);
#define cl_fail(d, code, what)      cl_fail_at(__FILE__, __LINE__, d, code, false, what)
#define cl_check(d, call, what)     cl_check_at(__FILE__, __LINE__, d, call, false, what)
#define cl_check_ran(d, call, what) cl_check_at(__FILE__, __LINE__, d, call, true, what)
static inline int cl_check_at(const char *file, int line, struct cl_device *d, cl_int code, bool ran,
                              const char *what)
{
    return code == CL_SUCCESS ? 0 : cl_fail_at(file, line, d, code, ran, what);
}

/* --- Devices (list.c, device.c) --- */
/* All devices of all platforms, in the platforms' order; this process becomes their user.  *found is malloced. */
int cl_find(struct cl_found **found, size_t *n);
int cl_list(hcy_device_info **infos, size_t *n);
int cl_open(void **impl, hcy_device_info *info, hcy_device *dev, const hcy_spec *spec);
void cl_close(void *impl);
int cl_get_i64(int64_t *value, void *impl, const char *key);
int cl_mem_info(uint64_t *free_bytes, uint64_t *total_bytes, void *impl);
/* A number of the device's, 0 if it has none. */
uint64_t cl_number(cl_device_id device, cl_uint what);
void cl_text(cl_device_id device, cl_uint what, char *text, size_t size);
struct cl_lane *cl_lane_take(struct cl_device *d); /* NULL with a failure */
void cl_lane_give(struct cl_lane *lane);
/* Around what a command of the HAL's queue enqueues; the second waits for it, and says when it ran if that is
 * measured. */
struct cl_span {
    cl_event began; /* NULL: it is not */
    uint64_t began_ns;
};
struct cl_span cl_lane_begin(struct cl_lane *lane);
cl_int cl_lane_finish(struct cl_lane *lane, const struct cl_span *span);

/* --- Memory (memory.c) --- */
int cl_alloc(hcy_block *block, void *impl, int mem, size_t size);
void cl_free(void *impl, int mem, hcy_block *block);
int cl_import_host(hcy_block *block, void *impl, void *host, size_t size);
int cl_import_device(hcy_block *block, void *impl, uint64_t handle, size_t size);
void cl_unimport(void *impl, hcy_block *block);
int cl_buffer_i64(int64_t *value, void *impl, const hcy_block *block, size_t offset, const char *key);
static inline cl_mem cl_mem_of(const hcy_block *block)
{
    return ((struct cl_memory *)block->handle)->mem;
}

/* --- Queues, copies and fills (queue.c) --- */
struct cl_queue {
    hcy_hostqueue *host;
    struct cl_lane *lane;
};
int cl_queue_create(void **qimpl, void *impl, hcy_queue *queue);
void cl_queue_destroy(void *qimpl);
int cl_copy(void *qimpl, const hcy_copy *copy, hcy_keep *keep);
int cl_fill(void *qimpl, const hcy_place *dst, size_t size, const void *pattern, size_t pattern_size,
            hcy_keep *keep);
int cl_queue_finish(void *qimpl);
int cl_queue_finished(void *qimpl);
int cl_queue_status(void *qimpl);
int cl_queue_record(void **eimpl, void *qimpl);
int cl_queue_wait(void *qimpl, hcy_event *event);
int cl_queue_i64(int64_t *value, void *qimpl, const char *key);
int cl_queue_keep(void *qimpl, hcy_keep *keep);

/* --- Programs and kernels (program.c, kernel.c) --- */
/* Source built for the device, from the cache if it is there.  *log (may be NULL) is malloced. */
int cl_build(cl_program *program, char **log, struct cl_device *d, const char *text, const char *options);
int cl_program_create(void **pimpl, char **log, void *impl, const char *format, const void *data, size_t size,
                      const char *options);
void cl_program_release(void *pimpl);
int cl_program_kernel(void **kimpl, void *pimpl, const char *name, const hcy_signature *signature);
void cl_kernel_release(void *kimpl);
int cl_kernel_i64(int64_t *value, void *kimpl, const char *key);
int cl_launch(void *qimpl, void *kimpl, const hcy_launch_desc *launch, hcy_keep *keep);

/* One kernel: the user's, or one of ours. */
struct cl_kernel_object {
    struct cl_device *dev;
    cl_uint n_args; /* of the user's kernel; */
    cl_kernel user; /* NULL: */
    struct gpu_kernel *ours;
    struct gpu_ops ops;
    pthread_mutex_t lock; /* the arguments of a user's kernel belong to it, not to a launch */
};
int cl_kernel_get(void **kimpl, const char **variant, void *impl, const hcy_signature *signature);
int cl_prepare(hcy_block *tables, void *kimpl, const hcy_span *spans, size_t n);
int cl_scratch_size(size_t *size, void *kimpl, size_t items, const hcy_value *values, size_t n);
int cl_preferred_batch(size_t *items, void *kimpl, const hcy_value *values, size_t n);

/* --- Fourier transforms (fft.c); VkFFT's, where it was found (vkfft.c) --- */
int cl_vkfft_create(void **fimpl, size_t *workspace, void *impl, const hcy_fft_desc *desc);
void cl_vkfft_release(void *fimpl);
int cl_vkfft_execute(void *qimpl, const hcy_value *out, void *fimpl, int direction, const hcy_value *in,
                     const hcy_value *work, hcy_keep *keep);
int cl_fft_create(void **fimpl, size_t *workspace, void *impl, const hcy_fft_desc *desc);
void cl_fft_release(void *fimpl);
int cl_fft_execute(void *qimpl, const hcy_value *out, void *fimpl, int direction, const hcy_value *in,
                   const hcy_value *work, hcy_keep *keep);

#endif
