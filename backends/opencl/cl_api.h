/* cl_api.h - what is used of OpenCL, declared here and loaded at run time.
 *
 * No header of OpenCL's is needed to build, and nothing of it to load the module: the loader of drivers,
 * libOpenCL.so.1, is opened when the backend is first asked for, and stays open for ever.
 */
#ifndef HCY_CL_API_H
#define HCY_CL_API_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_ulong;
typedef struct _cl_platform_id *cl_platform_id;
typedef struct _cl_device_id *cl_device_id;
typedef struct _cl_context *cl_context;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_mem *cl_mem;
typedef struct _cl_program *cl_program;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;
typedef void (*cl_notify)(const char *words, const void *data, size_t size, void *payload);
typedef void (*cl_notify_built)(cl_program program, void *payload);

/* Results that are told apart; all others are failures of the call. */
enum {
    CL_SUCCESS = 0,
    CL_DEVICE_NOT_FOUND = -1,
    CL_DEVICE_NOT_AVAILABLE = -2,
    CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
    CL_OUT_OF_RESOURCES = -5,
    CL_OUT_OF_HOST_MEMORY = -6,
    CL_BUILD_PROGRAM_FAILURE = -11,
    CL_INVALID_COMMAND_QUEUE = -36,
    CL_INVALID_BUFFER_SIZE = -61,
    CL_INVALID_KERNEL_NAME = -46,
    CL_PLATFORM_NOT_FOUND_KHR = -1001,
    CL_NVIDIA_FAULT = -9999 /* "illegal read or write to a buffer" */
};

/* What is asked for. */
enum {
    CL_PLATFORM_VERSION = 0x0901,
    CL_PLATFORM_NAME = 0x0902,
    CL_PLATFORM_VENDOR = 0x0903,
    CL_DEVICE_TYPE = 0x1000,
    CL_DEVICE_VENDOR_ID = 0x1001,
    CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
    CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS = 0x1003,
    CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
    CL_DEVICE_MAX_WORK_ITEM_SIZES = 0x1005,
    CL_DEVICE_MAX_CLOCK_FREQUENCY = 0x100C,
    CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
    CL_DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019, /* in bits */
    CL_DEVICE_SINGLE_FP_CONFIG = 0x101B,
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
    CL_DEVICE_NAME = 0x102B,
    CL_DEVICE_VENDOR = 0x102C,
    CL_DRIVER_VERSION = 0x102D,
    CL_DEVICE_VERSION = 0x102F,
    CL_DEVICE_EXTENSIONS = 0x1030,
    CL_DEVICE_DOUBLE_FP_CONFIG = 0x1032,
    CL_DEVICE_IL_VERSION = 0x105B,
    CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT = 0x1069,
    CL_DEVICE_GLOBAL_FREE_MEMORY_AMD = 0x4039, /* in KiB */
    CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV = 0x4000,
    CL_CONTEXT_PLATFORM = 0x1084,
    CL_MEM_SIZE = 0x1102,
    CL_PROGRAM_BINARY_SIZES = 0x1165,
    CL_PROGRAM_BINARIES = 0x1166,
    CL_PROGRAM_BUILD_LOG = 0x1183,
    CL_KERNEL_NUM_ARGS = 0x1191,
    CL_KERNEL_WORK_GROUP_SIZE = 0x11B0,
    CL_KERNEL_LOCAL_MEM_SIZE = 0x11B2,
    CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE = 0x11B3,
    CL_KERNEL_PRIVATE_MEM_SIZE = 0x11B4,
    CL_BUFFER_CREATE_TYPE_REGION = 0x1220,
    CL_PROFILING_COMMAND_QUEUED = 0x1280,
    CL_PROFILING_COMMAND_END = 0x1283
};

/* Bits. */
#define CL_DEVICE_TYPE_CPU    ((cl_ulong)1 << 1)
#define CL_DEVICE_TYPE_GPU    ((cl_ulong)1 << 2)
#define CL_DEVICE_TYPE_ALL    ((cl_ulong)0xffffffff)
#define CL_MEM_READ_WRITE     ((cl_ulong)1 << 0)
#define CL_MEM_READ_ONLY      ((cl_ulong)1 << 2)
#define CL_MEM_USE_HOST_PTR   ((cl_ulong)1 << 3)
#define CL_MEM_ALLOC_HOST_PTR ((cl_ulong)1 << 4)
#define CL_MEM_COPY_HOST_PTR  ((cl_ulong)1 << 5)
#define CL_MAP_READ_WRITE     ((cl_ulong)3)
#define CL_QUEUE_PROFILING    ((cl_ulong)1 << 1)
#define CL_FP_DENORM          ((cl_ulong)1 << 0)

struct cl_region {
    size_t at, size;
};

struct cl_api {
#define CL(type, name, params)       type(*name) params;
#define CL_NEWER(type, name, params) CL(type, name, params)
#include "cl_syms.def"
#undef CL
#undef CL_NEWER
};

/* The loader of drivers: 0, or HCY_ENODEV.  `cl` is valid once this has succeeded; CL_NEWER's may be NULL in it. */
int cl_load(void);
extern struct cl_api cl;

#endif
