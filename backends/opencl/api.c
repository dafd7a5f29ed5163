/* api.c - opening OpenCL's loader, once, and words for its results; thread-safe. */
#include "cl_priv.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct cl_api cl;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char missing[200];

static void *find_in_loader(void *library, const char *symbol)
{
    void *p = dlsym(library, symbol);
    if (!p && !*missing)
        snprintf(missing, sizeof missing, "it has no %s(): it is older than OpenCL 1.2", symbol);
    return p;
}

static void open_loader(void)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(missing, sizeof missing, "%s", dlerror());
        return;
    }
#define CL(type, name, params)       *(void **)&cl.name = find_in_loader(library, #name);
#define CL_NEWER(type, name, params) *(void **)&cl.name = dlsym(library, #name);
#include "cl_syms.def"
#undef CL
#undef CL_NEWER
}

int cl_load(void)
{
    pthread_once(&once, open_loader);
    /* The reason is kept for every later call, because the loader is only tried once. */
    if (!*missing)
        return 0;
    return hcy_fail_vendor(HCY_ENODEV, 0, missing, "there is no usable OpenCL here (libOpenCL.so.1): %s",
                           missing);
}

/* --- Failures --- */

static const char *opencl_words(cl_int code)
{
    /* OpenCL has no call for this, so the codes that its users may meet stand here under the names of its
     * header. */
    static const struct {
        cl_int code;
        const char *words;
    } table[] = {
        { -1, "CL_DEVICE_NOT_FOUND" },
        { -2, "CL_DEVICE_NOT_AVAILABLE" },
        { -3, "CL_COMPILER_NOT_AVAILABLE" },
        { -4, "CL_MEM_OBJECT_ALLOCATION_FAILURE" },
        { -5, "CL_OUT_OF_RESOURCES" },
        { -6, "CL_OUT_OF_HOST_MEMORY" },
        { -11, "CL_BUILD_PROGRAM_FAILURE" },
        { -12, "CL_MAP_FAILURE" },
        { -13, "CL_MISALIGNED_SUB_BUFFER_OFFSET" },
        { -14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST" },
        { -30, "CL_INVALID_VALUE" },
        { -33, "CL_INVALID_DEVICE" },
        { -34, "CL_INVALID_CONTEXT" },
        { -36, "CL_INVALID_COMMAND_QUEUE" },
        { -38, "CL_INVALID_MEM_OBJECT" },
        { -42, "CL_INVALID_BINARY" },
        { -43, "CL_INVALID_BUILD_OPTIONS" },
        { -44, "CL_INVALID_PROGRAM" },
        { -45, "CL_INVALID_PROGRAM_EXECUTABLE" },
        { -46, "CL_INVALID_KERNEL_NAME" },
        { -48, "CL_INVALID_KERNEL" },
        { -49, "CL_INVALID_ARG_INDEX" },
        { -50, "CL_INVALID_ARG_VALUE" },
        { -51, "CL_INVALID_ARG_SIZE" },
        { -52, "CL_INVALID_KERNEL_ARGS" },
        { -54, "CL_INVALID_WORK_GROUP_SIZE" },
        { -55, "CL_INVALID_WORK_ITEM_SIZE" },
        { -59, "CL_INVALID_OPERATION" },
        { -61, "CL_INVALID_BUFFER_SIZE" },
        { -1001, "CL_PLATFORM_NOT_FOUND_KHR" },
        { CL_NVIDIA_FAULT, "illegal read or write to a buffer" },
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].code == code)
            return table[i].words;
    return "an OpenCL error";
}

/* After these nothing in the context works any more.  A queue that has become invalid, or has run out of resources,
 * while commands ran is how drivers report a kernel's fault. */
static bool breaks_context(cl_int code, bool ran)
{
    return code == CL_NVIDIA_FAULT || code == CL_DEVICE_NOT_AVAILABLE ||
           (ran && (code == CL_OUT_OF_RESOURCES || code == CL_INVALID_COMMAND_QUEUE));
}

static int status_of_code(cl_int code)
{
    if (code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY ||
        code == CL_OUT_OF_RESOURCES || code == CL_INVALID_BUFFER_SIZE)
        return HCY_ENOMEM;
    return code == CL_DEVICE_NOT_FOUND || code == CL_PLATFORM_NOT_FOUND_KHR ? HCY_ENODEV : HCY_EBACKEND;
}

int cl_fail_at(const char *file, int line, struct cl_device *d, cl_int code, bool ran, const char *what)
{
    if (d && breaks_context(code, ran))
        return hcy_device_lose(
            d->dev, "%s failed with OpenCL error %d, %s; the device is unusable until it is opened anew",
            what, code, opencl_words(code));
    return hcy_fail_vendor_at(file, line, status_of_code(code), code, opencl_words(code), "%s: %s failed",
                              d ? hcy_device_get_info(d->dev)->name : "OpenCL", what);
}
