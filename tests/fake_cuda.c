/* fake_cuda.c - a driver of CUDA's (libcuda.so.1) without a GPU; an FFT (libcufft.so, with -DFAKE_CUFFT) and the
 * management library (libnvidia-ml.so.1, with -DFAKE_NVML) and a compiler (libnvrtc.so, with -DFAKE_NVRTC) beside it.
 *
 * Two GPUs whose memory is the host's; streams do at once what they are told.  It holds the backend to CUDA's rules:
 * a call without a current context fails, what was not released is counted (fakeLive), a thread's contexts are a stack
 * (fakeDepth), events' records can be refused (fakeRefuse), copies are counted (fakeCopied); with -DFAKE_OLD it lacks
 * the profiler's calls, cooperative launches and how many parameters a kernel has.  Programs are not looked at: the
 * kernel "add" adds, "fault" poisons its context, all others do nothing.
 * Memory of whole pages of 2 MiB can be other processes' too.  tests/fake_cuda.t builds it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "cuda_api.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if !defined FAKE_CUFFT && !defined FAKE_NVML && !defined FAKE_NVRTC

enum { GPUS = 2, DEPTH = 32, LIMIT = 1 << 30, ILLEGAL_ADDRESS = 700, NO_CONTEXT = 201, INVALID = 1 };
enum { SHARED_PAGE = 2 << 20 };

struct CUctx_st {
    int gpu;
    atomic_int users;
    atomic_bool poisoned;
};
struct CUstream_st {
    CUcontext context;
};
struct CUevent_st {
    atomic_ullong ns;
};
struct CUmod_st {
    CUcontext context;
};

static struct CUctx_st primary[GPUS] = { { 0, 0, 0 }, { 1, 0, 0 } };
static _Thread_local CUcontext stack[DEPTH];
static _Thread_local int depth;
static atomic_long live[5], taken;
enum { STREAMS, EVENTS, MODULES, BLOCKS, CONTEXTS };
static atomic_bool started;

static struct block {
    struct block *next;
    CUdeviceptr at;
    size_t size;
    int fd; /* of memory that others can have, else -1 */
    bool others;
    int device;
} * blocks;
/* Host memory that is registered, or was so until lately: no GPU may use it then. */
static struct range {
    struct range *next;
    uintptr_t begins, ends;
    CUcontext context; /* with which it leaves, as NVIDIA's */
    bool left;
} * registered;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What the next cuEventRecords are: refused; how often streams were waited for; copies. */
static atomic_int refused, synchronized, copied;

long fakeLive(void);
int fakeDepth(void);
void fakeRefuse(int n);
int fakeRefused(void);
int fakeSynchronized(void);
int fakeCopied(void);
void fakeRefuse(int n)
{
    refused = n;
}
int fakeRefused(void)
{
    return refused;
}
int fakeCopied(void)
{
    return copied;
}
int fakeSynchronized(void)
{
    return synchronized;
}
long fakeLive(void)
{
    return live[STREAMS] + live[EVENTS] + live[MODULES] + live[BLOCKS] + live[CONTEXTS];
}
int fakeDepth(void)
{
    return depth;
}

static CUresult state(void)
{
    if (!started)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!depth || !stack[depth - 1])
        return NO_CONTEXT;
    return stack[depth - 1]->poisoned ? ILLEGAL_ADDRESS : CUDA_SUCCESS;
}
#define CHECK                                                                                                \
    do {                                                                                                     \
        CUresult r_ = state();                                                                               \
        if (r_)                                                                                              \
            return r_;                                                                                       \
    } while (0)

#define F(name, ...)                                                                                         \
    CUresult name(__VA_ARGS__);                                                                              \
    CUresult name(__VA_ARGS__)

/* --- Devices and contexts --- */

F(cuInit, unsigned flags)
{
    started = true;
    return flags ? INVALID : CUDA_SUCCESS;
}
F(cuDriverGetVersion, int *version)
{
    return *version = 13000, CUDA_SUCCESS;
}
F(cuGetErrorName, CUresult r, const char **text)
{
    return *text = r == ILLEGAL_ADDRESS ? "ILLEGAL" : "ERROR", 0;
}
F(cuGetErrorString, CUresult r, const char **text)
{
    return *text = r == ILLEGAL_ADDRESS ? "an illegal memory access was encountered" : "a fake's error", 0;
}
F(cuDeviceGetCount, int *n)
{
    return *n = GPUS, started ? 0 : CUDA_ERROR_NOT_INITIALIZED;
}
F(cuDeviceGet, CUdevice *device, int ordinal)
{
    return *device = ordinal, ordinal < GPUS ? 0 : 101;
}
F(cuDeviceGetName, char *name, int size, CUdevice device)
{
    return snprintf(name, (size_t)size, "Fake GPU"), 0;
}
F(cuDeviceGetUuid, CUuuid *uuid, CUdevice device)
{
    return memset(uuid, device + 1, sizeof *uuid), 0;
}
F(cuDeviceGetAttribute, int *value, int attribute, CUdevice device)
{
    (void)device;
    *value = attribute == CUDA_ATTR_WARP_SIZE     ? 32
             : attribute == CUDA_ATTR_LOCAL_BYTES ? 100 << 10
             : attribute == CUDA_ATTR_MAJOR       ? 7 /* too old for PTX that a module may have */
                                                  : 9;
    return 0;
}
F(cuDeviceTotalMem_v2, size_t *bytes, CUdevice device)
{
    return (void)device, *bytes = LIMIT, 0;
}
F(cuDeviceCanAccessPeer, int *can, CUdevice a, CUdevice b)
{
    return *can = a != b, 0;
}
F(cuDevicePrimaryCtxRetain, CUcontext *context, CUdevice device)
{
    *context = &primary[device];
    live[CONTEXTS]++;
    (*context)->users++;
    return 0;
}
F(cuDevicePrimaryCtxRelease_v2, CUdevice device)
{
    live[CONTEXTS]--;
    pthread_mutex_lock(&lock);
    for (struct range *q = registered; q && primary[device].users == 1; q = q->next)
        if (q->context == &primary[device] && !q->left)
            q->left = true, live[BLOCKS]--;
    pthread_mutex_unlock(&lock);
    return primary[device].users-- > 0 ? 0 : INVALID;
}
F(cuCtxCreate_v2, CUcontext *context, unsigned flags, CUdevice device)
{
    *context = calloc(1, sizeof **context);
    (*context)->gpu = device;
    stack[depth++] = *context;
    return (void)flags, 0;
}
F(cuCtxDestroy_v2, CUcontext context)
{
    if (depth && stack[depth - 1] == context)
        depth--;
    return free(context), 0;
}
F(cuCtxGetCurrent, CUcontext *context)
{
    return *context = depth ? stack[depth - 1] : NULL, 0;
}
F(cuCtxPushCurrent_v2, CUcontext context)
{
    if (!started || depth == DEPTH)
        return INVALID;
    for (int i = 0; i < GPUS; i++)
        if (context == &primary[i] && !primary[i].users)
            return NO_CONTEXT;
    return stack[depth++] = context, 0;
}
F(cuCtxPopCurrent_v2, CUcontext *context)
{
    if (!depth)
        return NO_CONTEXT;
    return *context = stack[--depth], 0;
}
F(cuCtxEnablePeerAccess, CUcontext peer, unsigned flags)
{
    return (void)peer, (void)flags, state();
}

/* --- The profiler --- */

static atomic_int profiled; /* between its start and its stop */

int fakeProfiled(void);
int fakeProfiled(void)
{
    return profiled;
}

#ifndef FAKE_OLD
F(cuProfilerStart, void)
{
    CHECK;
    return profiled = 1, 0;
}
F(cuProfilerStop, void)
{
    CHECK;
    return profiled = 0, 0;
}
#endif

/* --- Memory --- */

F(cuMemGetInfo_v2, size_t *free_bytes, size_t *total)
{
    CHECK;
    return *total = LIMIT, *free_bytes = LIMIT - (size_t)taken, 0;
}
/* The block, which takes the file if it is not -1. */
static CUresult add_block(CUdeviceptr *address, void *p, size_t size, int fd, bool others)
{
    struct block *b = p && p != MAP_FAILED ? malloc(sizeof *b) : NULL;
    if (!b)
        return CUDA_ERROR_OUT_OF_MEMORY;
    live[BLOCKS]++;
    taken += others ? 0 : (long)size;
    pthread_mutex_lock(&lock);
    *address = (CUdeviceptr)(uintptr_t)p;
    *b = (struct block){ blocks, *address, size, fd, others, depth ? stack[depth - 1]->gpu : 0 };
    blocks = b;
    pthread_mutex_unlock(&lock);
    return 0;
}
static CUresult remove_block(CUdeviceptr address, bool others)
{
    pthread_mutex_lock(&lock);
    struct block **at = &blocks;
    while (*at && ((*at)->at != address || (*at)->others != others))
        at = &(*at)->next;
    struct block *b = *at;
    if (b)
        *at = b->next;
    pthread_mutex_unlock(&lock);
    if (!b)
        return INVALID;
    live[BLOCKS]--;
    taken -= others ? 0 : (long)b->size;
    if (b->fd < 0)
        free((void *)(uintptr_t)address);
    else
        munmap((void *)(uintptr_t)address, b->size), close(b->fd);
    return free(b), 0;
}
F(cuMemAlloc_v2, CUdeviceptr *address, size_t size)
{
    CHECK;
    if (size > (size_t)(LIMIT - taken))
        return CUDA_ERROR_OUT_OF_MEMORY;
    int fd = size && size % SHARED_PAGE == 0 ? memfd_create("fake", MFD_CLOEXEC) : -1;
    if (fd < 0 || ftruncate(fd, (off_t)size))
        return add_block(address, aligned_alloc(256, (size + 255) / 256 * 256), size, -1, false);
    return add_block(address, mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), size, fd, false);
}
F(cuMemFree_v2, CUdeviceptr address)
{
    CHECK;
    return remove_block(address, false);
}

/* A handle is the process and its file. */
F(cuIpcGetMemHandle, struct cuda_ipc *handle, CUdeviceptr address)
{
    CHECK;
    memset(handle, 0, sizeof *handle);
    pthread_mutex_lock(&lock);
    struct block *b = blocks;
    while (b && b->at != address)
        b = b->next;
    int fd = b && !b->others ? b->fd : -1;
    pthread_mutex_unlock(&lock);
    snprintf(handle->bytes, sizeof handle->bytes, "/proc/%ld/fd/%d", (long)getpid(), fd);
    return fd < 0 ? INVALID : 0;
}
F(cuIpcOpenMemHandle_v2, CUdeviceptr *address, struct cuda_ipc handle, unsigned flags)
{
    CHECK;
    struct stat st;
    int fd = flags == 1 && !handle.bytes[63] ? open(handle.bytes, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &st) || !st.st_size)
        return 400; /* CUDA_ERROR_INVALID_HANDLE */
    return add_block(address, mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
                     (size_t)st.st_size, fd, true);
}
F(cuIpcCloseMemHandle, CUdeviceptr address)
{
    CHECK;
    return remove_block(address, true);
}
F(cuPointerGetAttribute, void *value, int attribute, CUdeviceptr address)
{
    pthread_mutex_lock(&lock);
    struct block *b = blocks;
    while (b && (address < b->at || address >= b->at + b->size))
        b = b->next;
    *(int *)value = attribute == CUDA_POINTER_DEVICE       ? (b ? b->device : 0)
                    : attribute == CUDA_POINTER_IS_MANAGED ? 0
                                                           : CUDA_MEMORY_DEVICE;
    pthread_mutex_unlock(&lock);
    return b ? 0 : INVALID;
}
F(cuMemHostAlloc, void **host, size_t size, unsigned flags)
{
    CHECK;
    *host = size <= LIMIT ? aligned_alloc(4096, (size + 4095) / 4096 * 4096) : NULL;
    live[BLOCKS] += *host != NULL;
    return (void)flags, *host ? 0 : CUDA_ERROR_OUT_OF_MEMORY;
}
F(cuMemFreeHost, void *host)
{
    CHECK;
    live[BLOCKS]--;
    return free(host), 0;
}
/* As NVIDIA's: a byte once. */
F(cuMemHostRegister_v2, void *host, size_t size, unsigned flags)
{
    CHECK;
    const uintptr_t begins = (uintptr_t)host, ends = begins + size;
    struct range *p = malloc(sizeof *p);
    bool there = !p;
    pthread_mutex_lock(&lock);
    for (struct range *q = registered; q; q = q->next)
        there |= !q->left && begins < q->ends && q->begins < ends;
    if (!there) {
        *p = (struct range){ registered, begins, ends, stack[depth - 1], false };
        registered = p;
    }
    pthread_mutex_unlock(&lock);
    live[BLOCKS] += !there;
    if (there)
        free(p);
    return (void)flags, there ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED : 0;
}
F(cuMemHostUnregister, void *host)
{
    CHECK;
    CUresult r = INVALID;
    pthread_mutex_lock(&lock);
    for (struct range *q = registered; q; q = q->next)
        if (!q->left && q->begins == (uintptr_t)host)
            q->left = true, r = 0;
    pthread_mutex_unlock(&lock);
    live[BLOCKS] -= !r;
    return r;
}
/* Memory that is registered in part only; what was so must have left for a copy, which takes any of the host's. */
static bool is_torn(CUdeviceptr at, size_t size, bool copies)
{
    bool touches = false, lies = false;
    pthread_mutex_lock(&lock);
    for (struct range *q = registered; q; q = q->next) {
        touches |= (!q->left || !copies) && at < q->ends && q->begins < at + size;
        lies |= !q->left && q->begins <= at && at + size <= q->ends;
    }
    for (struct block *b = blocks; b; b = b->next)
        lies |= b->at <= at && at + size <= b->at + b->size;
    pthread_mutex_unlock(&lock);
    return touches && !lies;
}
F(cuMemHostGetDevicePointer_v2, CUdeviceptr *address, void *host, unsigned flags)
{
    CHECK;
    return (void)flags, *address = (CUdeviceptr)(uintptr_t)host, 0;
}

/* --- Copies --- */

#define HOST(address) ((void *)(uintptr_t)(address))
F(cuMemcpyAsync, CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)
{
    CHECK;
    copied++;
    if (is_torn(dst, size, true) || is_torn(src, size, true))
        return INVALID;
    return (void)stream, memcpy(HOST(dst), HOST(src), size), 0;
}
F(cuMemcpyPeerAsync, CUdeviceptr dst, CUcontext to, CUdeviceptr src, CUcontext from, size_t size,
  CUstream stream)
{
    (void)to, (void)from;
    return cuMemcpyAsync(dst, src, size, stream);
}
static CUresult copy_rows(unsigned char *dst, size_t dst_pitch, const unsigned char *src, size_t src_pitch,
                          size_t width, size_t height)
{
    CHECK;
    copied++;
    for (size_t y = 0; y < height; y++)
        memcpy(dst + y * dst_pitch, src + y * src_pitch, width);
    return 0;
}
F(cuMemcpy3DAsync_v2, const struct cuda_memcpy3d *c, CUstream stream)
{
    (void)stream;
    return copy_rows(c->dst_type == CUDA_MEMORY_HOST ? c->dst_host : HOST(c->dst_device), c->dst_pitch,
                     c->src_type == CUDA_MEMORY_HOST ? c->src_host : HOST(c->src_device), c->src_pitch,
                     c->width, c->height);
}
F(cuMemcpy3DPeerAsync, const struct cuda_memcpy3d_peer *c, CUstream stream)
{
    (void)stream;
    return copy_rows(HOST(c->dst_device), c->dst_pitch, HOST(c->src_device), c->src_pitch, c->width,
                     c->height);
}
#define FILL(name, type)                                                                                     \
    F(name, CUdeviceptr dst, type value, size_t n, CUstream stream)                                          \
    {                                                                                                        \
        CHECK;                                                                                               \
        if (is_torn(dst, n * sizeof value, false))                                                           \
            return INVALID;                                                                                  \
        for (size_t i = 0; i < n; i++)                                                                       \
            ((type *)HOST(dst))[i] = value;                                                                  \
        return (void)stream, 0;                                                                              \
    }
FILL(cuMemsetD8Async, unsigned char)
FILL(cuMemsetD16Async, unsigned short)
FILL(cuMemsetD32Async, unsigned)

/* --- Streams and events --- */

F(cuStreamCreate, CUstream *stream, unsigned flags)
{
    CHECK;
    *stream = calloc(1, sizeof **stream);
    (*stream)->context = stack[depth - 1];
    live[STREAMS]++;
    return (void)flags, 0;
}
F(cuStreamCreateWithPriority, CUstream *stream, unsigned flags, int priority)
{
    return priority < -5 || priority > 0 ? 1 /* CUDA_ERROR_INVALID_VALUE */ : cuStreamCreate(stream, flags);
}
F(cuCtxGetStreamPriorityRange, int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return 0;
}
F(cuStreamDestroy_v2, CUstream stream)
{
    live[STREAMS]--;
    return free(stream), 0;
}
F(cuStreamSynchronize, CUstream stream)
{
    atomic_fetch_add(&synchronized, 1);
    return (void)stream, state();
}
F(cuStreamQuery, CUstream stream)
{
    return (void)stream, state();
}
F(cuStreamWaitEvent, CUstream stream, CUevent event, unsigned flags)
{
    return (void)stream, (void)event, (void)flags, state();
}
F(cuEventCreate, CUevent *event, unsigned flags)
{
    CHECK;
    *event = calloc(1, sizeof **event);
    live[EVENTS]++;
    return (void)flags, 0;
}
F(cuEventDestroy_v2, CUevent event)
{
    live[EVENTS]--;
    return free(event), 0;
}
F(cuEventRecord, CUevent event, CUstream stream)
{
    struct timespec t;
    CHECK;
    if (atomic_load(&refused) > 0 && atomic_fetch_sub(&refused, 1) > 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    clock_gettime(CLOCK_MONOTONIC, &t);
    event->ns = (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
    return (void)stream, 0;
}
F(cuEventQuery, CUevent event)
{
    return (void)event, state();
}
F(cuEventSynchronize, CUevent event)
{
    return (void)event, state();
}
F(cuEventElapsedTime, float *ms, CUevent start, CUevent end)
{
    CHECK;
    return *ms = (float)((double)((long long)end->ns - (long long)start->ns) * 1e-6), 0;
}

/* --- Programs --- */

static const char *const kernels[] = { "add", "fault", "other" };
static CUfunction function_of(size_t i)
{
    return (CUfunction)(uintptr_t)(i + 1);
}

F(cuModuleLoadDataEx, CUmodule *module, const void *image, unsigned n, int *options, void **values)
{
    CHECK;
    if (!*(const char *)image)
        return 218; /* no PTX */
    *module = calloc(1, sizeof **module);
    live[MODULES]++;
    return (void)n, (void)options, (void)values, 0;
}
F(cuModuleUnload, CUmodule module)
{
    live[MODULES]--;
    return free(module), 0;
}
F(cuModuleGetFunction, CUfunction *function, CUmodule module, const char *name)
{
    CHECK;
    size_t i = 0;
    while (i < 2 && strcmp(name, kernels[i]))
        i++;
    *function = function_of(i);
    return (void)module, i == 2 && !strncmp(name, "nosuch", 6) ? CUDA_ERROR_NOT_FOUND : 0;
}
static atomic_int user_local = 48 << 10; /* that "add" may be launched with */
F(cuFuncGetAttribute, int *value, int attribute, CUfunction function)
{
    return *value = attribute == CUDA_FUNC_MOST_ITEMS    ? 1024
                    : attribute == CUDA_FUNC_REGISTERS   ? 16
                    : attribute == CUDA_FUNC_LOCAL_BYTES ? function == function_of(0) ? user_local : 48 << 10
                                                         : 0,
           state();
}
/* Less than what another thread may have asked for, and be about to launch with, is refused. */
F(cuFuncSetAttribute, CUfunction function, int attribute, int value)
{
    if (function != function_of(0) || attribute != CUDA_FUNC_LOCAL_BYTES)
        return state();
    return value < atomic_exchange(&user_local, value) ? INVALID : state();
}
F(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *groups, CUfunction function, int items,
  size_t local_bytes)
{
    (void)function, (void)local_bytes;
    return *groups = items > 0 ? 2048 / items : 0, items > 0 ? state() : INVALID;
}
F(cuOccupancyMaxPotentialBlockSize, int *groups, int *items, CUfunction function, size_t (*of)(int),
  size_t local_bytes, int most)
{
    (void)function, (void)of, (void)local_bytes, (void)most;
    return *groups = 18, *items = 1024, state();
}
static double factor = 2;
F(cuModuleGetGlobal_v2, CUdeviceptr *address, size_t *size, CUmodule module, const char *name)
{
    CHECK;
    *address = (CUdeviceptr)(uintptr_t)&factor;
    *size = sizeof factor;
    return (void)module, strcmp(name, "factor") ? CUDA_ERROR_NOT_FOUND : 0;
}
F(cuLaunchKernel, CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
  unsigned local, CUstream stream, void **args, void **extra)
{
    CHECK;
    (void)extra;
    if (stream->context != stack[depth - 1] || (f == function_of(0) && (int)local > user_local))
        return INVALID;
    if (f == function_of(1))
        stream->context->poisoned = true; /* the launch itself succeeds */
    for (size_t i = 0; f == function_of(0) && i < (size_t)gx * gy * gz * bx * by * bz; i++)
        (*(double **)args[0])[i] += *(double *)args[1];
    return 0;
}
#ifndef FAKE_OLD
/* Only of "add" is it known how many there are. */
F(cuFuncGetParamInfo, CUfunction function, size_t i, size_t *offset, size_t *size)
{
    *offset = 8 * i;
    *size = 8;
    return function != function_of(0) ? CUDA_ERROR_NOT_FOUND : i < 2 ? 0 : INVALID;
}
F(cuLaunchCooperativeKernel, CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
  unsigned local, CUstream stream, void **args)
{
    return gx * gy * gz > 1000 ? CUDA_ERROR_TOO_MANY_TOGETHER
                               : cuLaunchKernel(f, gx, gy, gz, bx, by, bz, local, stream, args, NULL);
}
#endif

#elif defined FAKE_NVML /* The same GPUs, told of without starting CUDA. */

struct memory {
    unsigned long long total, free, used;
};
static const char *const uuids[] = { "GPU-01010101-0101-0101-0101-010101010101",
                                     "GPU-02020202-0202-0202-0202-020202020202" };

#define F(name, ...)                                                                                         \
    int name(__VA_ARGS__);                                                                                   \
    int name(__VA_ARGS__)
#define SAYS(name, type, number)                                                                             \
    F(name, uintptr_t device, type *value)                                                                   \
    {                                                                                                        \
        return (void)device, *value = number, 0;                                                             \
    }
F(nvmlInit_v2, void)
{
    return 0;
}
F(nvmlShutdown, void)
{
    return 0;
}
F(nvmlDeviceGetCount_v2, unsigned *n)
{
    return *n = 2, 0;
}
F(nvmlDeviceGetHandleByIndex_v2, unsigned index, uintptr_t *device)
{
    return *device = index, index > 1;
}
F(nvmlDeviceGetHandleByUUID, const char *uuid, uintptr_t *device)
{
    *device = !strcmp(uuid, uuids[1]);
    return strcmp(uuid, uuids[*device]) != 0;
}
F(nvmlDeviceGetName, uintptr_t device, char *name, unsigned size)
{
    return (void)device, snprintf(name, size, "Fake GPU"), 0;
}
F(nvmlDeviceGetUUID, uintptr_t device, char *uuid, unsigned size)
{
    return snprintf(uuid, size, "%s", uuids[device]), 0;
}
F(nvmlDeviceGetMemoryInfo, uintptr_t device, struct memory *memory)
{
    return (void)device, *memory = (struct memory){ 1 << 30, 1 << 30, 0 }, 0;
}
F(nvmlDeviceGetCudaComputeCapability, uintptr_t device, int *major, int *minor)
{
    return (void)device, *major = *minor = 9, 0;
}
F(nvmlDeviceGetMigMode, uintptr_t device, unsigned *now, unsigned *later)
{
    return (void)device, *now = *later = 0, 0;
}
F(nvmlDeviceGetClockInfo, uintptr_t device, int which, unsigned *megahertz)
{
    return (void)device, *megahertz = which == 1 ? 1500 : 3000, 0;
}
F(nvmlDeviceGetTemperature, uintptr_t device, int sensor, unsigned *celsius)
{
    return (void)device, (void)sensor, *celsius = 40, 0;
}
SAYS(nvmlDeviceGetNumGpuCores, unsigned, 9 * 128)
SAYS(nvmlDeviceGetPowerUsage, unsigned, 100000)

#elif defined FAKE_NVRTC /* Takes every text; what comes out is a program for the driver above. */

#define F(name, ...)                                                                                         \
    int name(__VA_ARGS__);                                                                                   \
    int name(__VA_ARGS__)
F(nvrtcVersion, int *major, int *minor)
{
    return *major = 99, *minor = 0;
}
F(nvrtcCreateProgram, nvrtcProgram *program, const char *text, const char *name, int n, const char *const *headers,
  const char *const *names)
{
    *program = malloc(1);
    return (void)text, (void)name, (void)n, (void)headers, (void)names, !*program;
}
F(nvrtcDestroyProgram, nvrtcProgram *program)
{
    return free(*program), 0;
}
F(nvrtcCompileProgram, nvrtcProgram program, int n, const char *const *options)
{
    return (void)program, (void)n, (void)options, 0;
}
static const char made[] = "made of nothing";
#define GIVES(what)                                                                                          \
    F(nvrtcGet##what##Size, nvrtcProgram program, size_t *size)                                              \
    {                                                                                                        \
        return (void)program, *size = sizeof made, 0;                                                        \
    }                                                                                                        \
    F(nvrtcGet##what, nvrtcProgram program, char *out)                                                       \
    {                                                                                                        \
        memcpy(out, made, sizeof made);                                                                      \
        return (void)program, 0;                                                                             \
    }
GIVES(CUBIN)
GIVES(PTX)
GIVES(ProgramLog)

#else /* An FFT through FFTW, which has the same words for a transform's layout. */

#include <fftw3.h>

struct plan {
    int rank, n[3], in_shape[3], out_shape[3], in_distance, out_distance, stride, type, batch, made;
    void *stream;
    unsigned char *work;
};
enum { PLANS = 4096, WORK = 4096 };
static struct plan plans[PLANS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define F(name, ...)                                                                                         \
    int name(__VA_ARGS__);                                                                                   \
    int name(__VA_ARGS__)

F(cufftCreate, int *plan)
{
    int i = 0;
    pthread_mutex_lock(&lock);
    while (i < PLANS && plans[i].made)
        i++;
    if (i < PLANS)
        plans[i] = (struct plan){ .made = 1 };
    pthread_mutex_unlock(&lock);
    return *plan = i, i == PLANS ? 2 : 0;
}
F(cufftDestroy, int plan)
{
    pthread_mutex_lock(&lock);
    plans[plan].made = 0;
    pthread_mutex_unlock(&lock);
    return 0;
}
F(cufftSetAutoAllocation, int plan, int automatic)
{
    return (void)plan, automatic ? 4 : 0;
}
F(cufftMakePlanMany64, int plan, int rank, long long *n, long long *in_shape, long long in_stride,
  long long in_distance, long long *out_shape, long long out_stride, long long out_distance, int type,
  long long batch, size_t *workspace)
{
    struct plan *p = &plans[plan];
    static atomic_int asked;
    const char *fails = getenv("FAKE_CUFFT_FAILS"); /* so many plans find no memory */
    if (fails && atomic_fetch_add(&asked, 1) < atoi(fails))
        return 2;
    if (in_stride != out_stride || in_stride < 1)
        return 4;
    p->stride = (int)in_stride;
    p->rank = rank;
    for (int i = 0; i < rank; i++) {
        p->n[i] = (int)n[i];
        p->in_shape[i] = (int)in_shape[i];
        p->out_shape[i] = (int)out_shape[i];
    }
    p->in_distance = (int)in_distance;
    p->out_distance = (int)out_distance;
    p->type = type;
    p->batch = (int)batch;
    return *workspace = WORK, 0;
}
F(cufftSetWorkArea, int plan, void *workspace)
{
    return plans[plan].work = workspace, 0;
}
F(cufftSetStream, int plan, CUstream stream)
{
    return plans[plan].stream = stream, 0;
}

/* The working space is written, as a transform would. */
static int begin(struct plan *p)
{
    if (!p->stream || !p->work)
        return 13;
    memset(p->work, 0xa5, WORK);
    return 0;
}
#define RUN(call, X)                                                                                         \
    struct plan *p = &plans[plan];                                                                           \
    if (begin(p))                                                                                            \
        return 13;                                                                                           \
    pthread_mutex_lock(&lock);                                                                               \
    X##_plan plan_ = call;                                                                                   \
    pthread_mutex_unlock(&lock);                                                                             \
    X##_execute(plan_);                                                                                      \
    pthread_mutex_lock(&lock);                                                                               \
    X##_destroy_plan(plan_);                                                                                 \
    pthread_mutex_unlock(&lock);                                                                             \
    return 0
#define LAYOUT(in, out)                                                                                      \
    p->rank, p->n, p->batch, in, p->in_shape, p->stride, p->in_distance, out, p->out_shape, p->stride, \
        p->out_distance
F(cufftExecC2C, int plan, void *in, void *out, int direction)
{
    RUN(fftwf_plan_many_dft(LAYOUT(in, out), direction, FFTW_ESTIMATE), fftwf);
}
F(cufftExecZ2Z, int plan, void *in, void *out, int direction)
{
    RUN(fftw_plan_many_dft(LAYOUT(in, out), direction, FFTW_ESTIMATE), fftw);
}
F(cufftExecR2C, int plan, void *in, void *out)
{
    RUN(fftwf_plan_many_dft_r2c(LAYOUT(in, out), FFTW_ESTIMATE), fftwf);
}
F(cufftExecD2Z, int plan, void *in, void *out)
{
    RUN(fftw_plan_many_dft_r2c(LAYOUT(in, out), FFTW_ESTIMATE), fftw);
}
F(cufftExecC2R, int plan, void *in, void *out)
{
    RUN(fftwf_plan_many_dft_c2r(LAYOUT(in, out), FFTW_ESTIMATE), fftwf);
}
F(cufftExecZ2D, int plan, void *in, void *out)
{
    RUN(fftw_plan_many_dft_c2r(LAYOUT(in, out), FFTW_ESTIMATE), fftw);
}

#endif
