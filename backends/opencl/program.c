/* program.c - source text and SPIR-V to kernels; the user's own programs.
 *
 * What was built from source is kept in the cache as the driver's binary, under a hash of the text, the options, the
 * device and its driver's version, but where it includes files.  A binary that the driver does not take any more
 * is built anew.
 */
#include "cl_priv.h"

#include "gpu_cache.h"

#include <stdlib.h>
#include <string.h>

struct program {
    struct cl_device *dev;
    cl_program program;
};

/* --- Building --- */

static uint64_t mix_text(uint64_t h, const char *text)
{
    do
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    while (*text++);
    return h;
}

static uint64_t hash_for_device(uint64_t start, const struct cl_device *d, const char *text, const char *options)
{
    return mix_text(mix_text(start ^ d->key, options), text);
}

static char *build_log(struct cl_device *d, cl_program program)
{
    size_t size = 0;
    char *log =
        cl.clGetProgramBuildInfo(program, d->at.device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) || size < 2
            ? NULL
            : malloc(size + 1);
    if (log && cl.clGetProgramBuildInfo(program, d->at.device, CL_PROGRAM_BUILD_LOG, size, log, NULL)) {
        free(log);
        return NULL;
    }
    /* The size may leave out the zero at the end, so there is a byte more for it. */
    if (log)
        log[size] = 0;
    return log;
}

/* Builds the program that was created, and releases it if that fails. */
static int build_program_now(char **log, struct cl_device *d, cl_program program, const char *options)
{
    cl_int code = cl.clBuildProgram(program, 1, &d->at.device, options, NULL, NULL);
    char *words = build_log(d, program);
    int status = 0;
    if (code)
        status =
            hcy_fail_vendor(HCY_ECOMPILE, code, "clBuildProgram", "a program does not compile for %s: %s",
                            hcy_device_get_info(d->dev)->name, words ? words : "");
    if (code)
        cl.clReleaseProgram(program);
    if (log)
        *log = words;
    else
        free(words);
    return status;
}

static bool build_cached(struct cl_device *d, uint64_t key, uint64_t check, const char *options,
                         cl_program *program)
{
    size_t size;
    cl_int accepted = 0, error = 0;
    unsigned char *binary = gpu_cache_read("opencl", key, check, &size);
    if (!binary)
        return false;
    *program = cl.clCreateProgramWithBinary(d->context, 1, &d->at.device, &size,
                                            (const unsigned char **)&binary, &accepted, &error);
    free(binary);
    if (error)
        return false;
    /* Binaries want to be built too, which then only links them. */
    if (!accepted && !build_program_now(NULL, d, *program, options))
        return true;
    if (accepted)
        cl.clReleaseProgram(*program);
    return false;
}

static void keep_binary(cl_program program, uint64_t key, uint64_t check)
{
    size_t size = 0;
    unsigned char *binary =
        cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) || !size
            ? NULL
            : malloc(size);
    /* Whatever fails here costs a compilation next time and nothing else. */
    if (binary && !cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL))
        gpu_cache_write("opencl", key, check, binary, size);
    free(binary);
}

int cl_build(cl_program *program, char **log, struct cl_device *d, const char *text, const char *options)
{
    uint64_t key = hash_for_device(14695981039346656037u, d, text, options),
             check = hash_for_device(0x9e3779b97f4a7c15u, d, text, options);
    /* PoCL compiles all kernels of a program once more for its binary, so that none is asked for in vain. */
    const bool kept = gpu_cache_is_on() && !gpu_cache_includes(text) && !gpu_cache_includes(options);
    /* Two hashes from different starts leave no chance that another text's binary fits. */
    cl_int error = 0;
    if (kept && build_cached(d, key, check, options, program))
        return 0;
    *program = cl.clCreateProgramWithSource(d->context, 1, &text, NULL, &error);
    int status = cl_check(d, error, "taking a program's source");
    if (!status)
        status = build_program_now(log, d, *program, options);
    if (!status && kept)
        keep_binary(*program, key, check);
    return status;
}

/* --- The user's programs --- */

static bool takes_spirv(const struct cl_device *d)
{
    char version[80];
    cl_text(d->at.device, CL_DEVICE_IL_VERSION, version, sizeof version);
    return cl.clCreateProgramWithIL && strstr(version, "SPIR-V");
}

static int build_spirv(cl_program *program, char **log, struct cl_device *d, const void *data, size_t size,
                       const char *options)
{
    cl_int error = 0;
    if (!takes_spirv(d))
        return hcy_fail(HCY_EUNSUPPORTED, "%s takes no SPIR-V, only \"opencl-c\"",
                        hcy_device_get_info(d->dev)->name);
    *program = cl.clCreateProgramWithIL(d->context, data, size, &error);
    if (error)
        return hcy_fail_vendor(HCY_ECOMPILE, error, "clCreateProgramWithIL",
                               "a program is not SPIR-V that %s takes", hcy_device_get_info(d->dev)->name);
    return build_program_now(log, d, *program, options);
}

static int build_source(cl_program *program, char **log, struct cl_device *d, const void *data, size_t size,
                        const char *options)
{
    char *text = malloc(size + 1);
    if (!text)
        return hcy_fail(HCY_ENOMEM, "out of memory for a program");
    /* The driver wants a zero at the end, which the caller's text need not have. */
    memcpy(text, data, size);
    text[size] = 0;
    int status = cl_build(program, log, d, text, options);
    free(text);
    return status;
}

int cl_program_create(void **pimpl, char **log, void *impl, const char *format, const void *data, size_t size,
                      const char *options)
{
    struct cl_device *d = impl;
    bool source = !strcmp(format, "opencl-c");
    if (!source && strcmp(format, "spirv"))
        return hcy_fail(HCY_EUNSUPPORTED,
                        "OpenCL does not know the format \"%s\" of a program; it knows \"opencl-c\" and"
                        " \"spirv\"",
                        format);
    struct program *p = calloc(1, sizeof *p);
    if (!p)
        return hcy_fail(HCY_ENOMEM, "out of memory for a program");
    p->dev = d;
    int status = (source ? build_source : build_spirv)(&p->program, log, d, data, size, options);
    if (status)
        free(p);
    else
        *pimpl = p;
    return status;
}

void cl_program_release(void *pimpl)
{
    struct program *p = pimpl;
    cl.clReleaseProgram(p->program);
    free(p);
}

int cl_program_kernel(void **kimpl, void *pimpl, const char *name, const hcy_signature *signature)
{
    struct program *p = pimpl;
    cl_int error = 0;
    struct cl_kernel_object *k = calloc(1, sizeof *k);
    (void)signature;
    if (!k)
        return hcy_fail(HCY_ENOMEM, "out of memory for a kernel");
    k->dev = p->dev;
    k->user = cl.clCreateKernel(p->program, name, &error);
    if (error) {
        free(k);
        return error == CL_INVALID_KERNEL_NAME
                   ? hcy_fail(HCY_ENOENT, "the program has no kernel \"%s\"", name)
                   : cl_fail(p->dev, error, "finding a kernel");
    }
    int status = cl_check(p->dev, cl.clGetKernelInfo(k->user, CL_KERNEL_NUM_ARGS, sizeof k->n_args, &k->n_args, NULL),
                          "asking for a kernel's arguments");
    if (status) {
        cl.clReleaseKernel(k->user);
        free(k);
        return status;
    }
    pthread_mutex_init(&k->lock, NULL);
    *kimpl = k;
    return 0;
}
