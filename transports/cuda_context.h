/* cuda_context.h - the context of a CUDA device, made current for the length of a call, through CUDA's driver, which is
 * found at run time.  Of transports that hand a device's memory to others: each module that includes it has its own.
 */
#ifndef HCY_CUDA_CONTEXT_H
#define HCY_CUDA_CONTEXT_H

#include <dlfcn.h>
#include <halcyon/device.h>
#include <halcyon/status.h>
#include <pthread.h>
#include <string.h>

static struct {
    int (*push)(void *context);
    int (*pop)(void **context);
    int (*synchronize)(void *stream);
    int complete;
} cuda;
static pthread_once_t cuda_once = PTHREAD_ONCE_INIT;

static int find_function(void *to, void *library, const char *name)
{
    void *function = library ? dlsym(library, name) : NULL;
    memcpy(to, &function, sizeof function);
    return function != NULL;
}

/* The library is never closed. */
static void load_cuda(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    cuda.complete = find_function(&cuda.push, library, "cuCtxPushCurrent_v2") &&
                    find_function(&cuda.pop, library, "cuCtxPopCurrent_v2") &&
                    find_function(&cuda.synchronize, library, "cuStreamSynchronize");
}

/* The context of a device of CUDA's; NULL: another device, or there is no driver. */
static void *find_context(hcy_device *dev)
{
    int64_t context = 0;
    pthread_once(&cuda_once, load_cuda);
    return cuda.complete && !hcy_device_get_i64(&context, dev, "cu_context") ? (void *)(intptr_t)context : NULL;
}

static int enter_context(void *context)
{
    int code = cuda.push(context);
    return code ? hcy_fail_vendor(HCY_EBACKEND, code, "", "CUDA takes the context of a device no more") : 0;
}

static void leave_context(void)
{
    void *context = NULL;
    cuda.pop(&context);
}

#endif
