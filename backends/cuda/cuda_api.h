/* cuda_api.h - what is used of CUDA's driver interface, run-time compiler and FFT, declared here and loaded at run
 * time.
 *
 * No header of CUDA's is needed to build, and nothing of CUDA's to load the module: libcuda.so.1 is opened when the
 * backend is first asked for, libcufft with the first list of devices (it is a capability of theirs), libnvrtc when
 * something is first compiled.  They stay open for ever.
 */
#ifndef HCY_CUDA_API_H
#define HCY_CUDA_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct _nvrtcProgram *nvrtcProgram;
typedef struct CUuuid {
    unsigned char bytes[16];
} CUuuid;

/* CUipcMemHandle. */
struct cuda_ipc {
    char bytes[64];
};

/* Results that are told apart; all others are failures of the call. */
enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_DEINITIALIZED = 4,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_NOT_READY = 600,
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
    CUDA_ERROR_TOO_MANY_TOGETHER = 720
};

enum cuda_attribute {
    CUDA_ATTR_WARP_SIZE = 10,
    CUDA_ATTR_UNITS = 16,
    CUDA_ATTR_BUS = 33,
    CUDA_ATTR_PCI_DEVICE = 34,
    CUDA_ATTR_DOMAIN = 50,
    CUDA_ATTR_MAJOR = 75,
    CUDA_ATTR_MINOR = 76,
    CUDA_ATTR_LOCAL_BYTES = 97 /* of a group at most, when asked for */
};

enum {
    CUDA_HOST_PORTABLE = 1,
    CUDA_HOST_DEVICEMAP = 2,
    CUDA_IPC_LAZY_PEER_ACCESS = 1,
    CUDA_STREAM_NON_BLOCKING = 1,
    CUDA_EVENT_BLOCKING_SYNC = 1,
    CUDA_EVENT_DISABLE_TIMING = 2,
    CUDA_POINTER_MEMORY_TYPE = 2,
    CUDA_POINTER_IS_MANAGED = 8,
    CUDA_POINTER_DEVICE = 9,
    CUDA_MEMORY_HOST = 1,
    CUDA_MEMORY_DEVICE = 2,
    CUDA_FUNC_MOST_ITEMS = 0,
    CUDA_FUNC_STATIC_LOCAL = 1,
    CUDA_FUNC_PRIVATE = 3,
    CUDA_FUNC_REGISTERS = 4,
    CUDA_FUNC_LOCAL_BYTES = 8,
    CUDA_JIT_INFO_BUFFER = 3,
    CUDA_JIT_INFO_SIZE = 4,
    CUDA_JIT_ERROR_BUFFER = 5,
    CUDA_JIT_ERROR_SIZE = 6
};

/* cuFFT's kinds of transforms. */
enum {
    CUFFT_C2C = 0x29,
    CUFFT_R2C = 0x2a,
    CUFFT_C2R = 0x2c,
    CUFFT_Z2Z = 0x69,
    CUFFT_D2Z = 0x6a,
    CUFFT_Z2D = 0x6c
};

/* CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER: the same but for the places marked. */
struct cuda_memcpy3d {
    size_t src_x, src_y, src_z, src_lod;
    unsigned src_type;
    const void *src_host;
    CUdeviceptr src_device;
    void *src_array, *reserved0;
    size_t src_pitch, src_height;
    size_t dst_x, dst_y, dst_z, dst_lod;
    unsigned dst_type;
    void *dst_host;
    CUdeviceptr dst_device;
    void *dst_array, *reserved1;
    size_t dst_pitch, dst_height;
    size_t width, height, depth;
};
struct cuda_memcpy3d_peer {
    size_t src_x, src_y, src_z, src_lod;
    unsigned src_type;
    const void *src_host;
    CUdeviceptr src_device;
    void *src_array;
    CUcontext src_context;
    size_t src_pitch, src_height;
    size_t dst_x, dst_y, dst_z, dst_lod;
    unsigned dst_type;
    void *dst_host;
    CUdeviceptr dst_device;
    void *dst_array;
    CUcontext dst_context;
    size_t dst_pitch, dst_height;
    size_t width, height, depth;
};

struct cuda_api {
#define CU(name, symbol, params) CUresult(*name) params;
#include "cuda_syms.def"
#undef CU
};
struct nvrtc_api {
#define RTC(name, params) int(*name) params;
#include "nvrtc_syms.def"
#undef RTC
    int major, minor;
};
struct cufft_api {
#define FFT(name, params) int(*name) params;
#include "cufft_syms.def"
#undef FFT
};

/* The driver, or NULL with HCY_ENODEV as this thread's failure.  `cu` is valid once this has succeeded. */
const struct cuda_api *cuda_load(void);
extern struct cuda_api cu;
/* The run-time compiler, or NULL with HCY_EUNSUPPORTED. */
const struct nvrtc_api *nvrtc_load(void);
/* cuFFT, or NULL with HCY_EUNSUPPORTED. */
const struct cufft_api *cufft_load(void);
bool cufft_there(void);

#endif
