/* program.c - source text, PTX and machine code to modules; the user's own programs.
 *
 * Source is compiled to machine code for the very GPU, and kept in the cache under a hash of the text, the options,
 * the GPU's architecture and the compiler's version, but where it includes files.  Without a compiler there is the PTX
 * of embedded.h.
 */
#include "cuda_priv.h"

#include "embedded.h"
#include "gpu_cache.h"

#include <stdlib.h>
#include <string.h>

#define LOG_BYTES   8192
#define MAX_OPTIONS 64

struct program {
    struct cuda_device *dev;
    CUmodule module;
};

/* --- Compiling --- */

/* Two hashes from different starts: 128 bits in all. */
static uint64_t hash_source(uint64_t start, const struct nvrtc_api *rtc, const char *text,
                            const char *const *options, int n)
{
    start = (start ^ (uint64_t)rtc->major) * 1099511628211u;
    return cuda_hash((start ^ (uint64_t)rtc->minor) * 1099511628211u, text, options, n);
}

static char *nvrtc_log(const struct nvrtc_api *rtc, nvrtcProgram program)
{
    size_t size = 0;
    /* An empty log has its zero byte alone, and is none. */
    if (rtc->nvrtcGetProgramLogSize(program, &size) || size < 2)
        return NULL;
    char *log = malloc(size);
    if (log && rtc->nvrtcGetProgramLog(program, log)) {
        free(log);
        log = NULL;
    }
    return log;
}

static int compile_now(void **cubin, size_t *size, char **log, const struct nvrtc_api *rtc, const char *text,
                       const char *const *options, int n)
{
    nvrtcProgram program;
    if (rtc->nvrtcCreateProgram(&program, text, "kernel.cu", 0, NULL, NULL))
        return hcy_fail(HCY_ENOMEM, "out of memory for a compilation");
    int failed = rtc->nvrtcCompileProgram(program, n, options), status = 0;
    /* Warnings stand in the log of a good compilation too, so it is read before the result is looked at. */
    char *words = nvrtc_log(rtc, program);
    *cubin = NULL;
    if (failed)
        status = hcy_fail_vendor(HCY_ECOMPILE, failed, "NVRTC", "CUDA source does not compile: %s",
                                 words ? words : "");
    else if (rtc->nvrtcGetCUBINSize(program, size) || !*size || !(*cubin = malloc(*size)) ||
             rtc->nvrtcGetCUBIN(program, *cubin))
        status = hcy_fail(HCY_ECOMPILE, "NVRTC %d.%d made no code for this GPU", rtc->major, rtc->minor);
    rtc->nvrtcDestroyProgram(&program);
    if (status) {
        free(*cubin);
        *cubin = NULL;
    }
    if (log)
        *log = words;
    else
        free(words);
    return status;
}

const struct nvrtc_api *cuda_compiler(const struct cuda_device *d)
{
    if (!d->without_nvrtc)
        return nvrtc_load();
    hcy_fail(HCY_EUNSUPPORTED, "kernels cannot be made without CUDA's run-time compiler, as @nvrtc=0 asked");
    return NULL;
}

/* What the failure of cuda_compiler() says is kept if there is no PTX either. */
static int use_embedded(const struct cuda_device *d, const char *text, const char *const *options, int n, void **ptx)
{
    char words[300] = "";
    /* Looking for PTX may set another error; the first one says what the user can do. */
    const hcy_error e = *hcy_last_error();
    *ptx = d->arch >= CUDA_PTX_ARCH ? cuda_ptx_find(text, options, n) : NULL;
    for (int i = 0; i < n; i++)
        snprintf(words + strlen(words), sizeof words - strlen(words), " %s", options[i]);
    return *ptx ? 0
                : hcy_fail_vendor(HCY_EUNSUPPORTED, 0, e.vendor, "%s; nor is there PTX of this one in the module:%s",
                                  e.text, words);
}

int cuda_compile(void **image, size_t *size, char **log, struct cuda_device *d, const char *text,
                 const char *const *options, int n_options)
{
    const struct nvrtc_api *rtc = cuda_compiler(d);
    const char *all[MAX_OPTIONS + 1];
    char arch[32];
    bool kept = !gpu_cache_includes(text);
    if (!rtc)
        return use_embedded(d, text, options, n_options, image);
    if (n_options > MAX_OPTIONS)
        return hcy_fail(HCY_ERANGE, "more than %d options for the compiler", MAX_OPTIONS);
    /* Machine code for this very GPU is loaded as it is, without a second compilation in the driver. */
    snprintf(arch, sizeof arch, "-arch=sm_%d", d->arch);
    all[0] = arch;
    for (int i = 0; i < n_options; i++) {
        all[i + 1] = options[i];
        kept = kept && !gpu_cache_includes(options[i]);
    }
    uint64_t key = hash_source(CUDA_HASH_KEY, rtc, text, all, n_options + 1);
    uint64_t check = hash_source(CUDA_HASH_CHECK, rtc, text, all, n_options + 1);
    *image = kept ? gpu_cache_read("cuda", key, check, size) : NULL;
    if (*image)
        return 0;
    int status = compile_now(image, size, log, rtc, text, all, n_options + 1);
    if (!status && kept)
        gpu_cache_write("cuda", key, check, *image, *size);
    return status;
}

/* --- Modules --- */

int cuda_module_load(CUmodule *module, char **log, struct cuda_device *d, const void *image)
{
    static char nothing[1];
    char *words = calloc(1, LOG_BYTES);
    int options[] = { CUDA_JIT_ERROR_BUFFER, CUDA_JIT_ERROR_SIZE };
    void *values[] = { words ? words : nothing, (void *)(uintptr_t)(words ? LOG_BYTES - 1 : 0) };
    CUresult r = cu.cuModuleLoadDataEx(module, image, 2, options, values);
    /* The driver's log says what PTX it does not accept; codes alone do not. */
    int status = 0;
    /* These are the device's failures and not the program's, so the text is not to blame. */
    if (r == CUDA_ERROR_OUT_OF_MEMORY || (r >= 700 && r < 800))
        status = cuda_fail(d, r, "loading a program");
    else if (r) {
        const char *name = "";
        cu.cuGetErrorString(r, &name);
        status = hcy_fail_vendor(HCY_ECOMPILE, r, name, "a program is not accepted: %s",
                                 words && *words ? words : name);
    }
    if (log && words && *words && !*log)
        *log = words;
    else
        free(words);
    return status;
}

/* Options separated by blanks, in a copy that is cut up; one more than there may be is kept for who refuses it. */
static int split_options(char *text, const char **options)
{
    int n = 0;
    char *save = NULL;
    for (char *word = strtok_r(text, " \t\n", &save); word && n <= MAX_OPTIONS;
         word = strtok_r(NULL, " \t\n", &save))
        options[n++] = word;
    return n;
}

static int compile_source(void **cubin, char **log, struct cuda_device *d, const char *text, const char *options)
{
    const char *list[MAX_OPTIONS + 1];
    size_t size;
    char *copy = strdup(options);
    if (!copy)
        return hcy_fail(HCY_ENOMEM, "out of memory for a program's options");
    int n = split_options(copy, list);
    int status = cuda_compile(cubin, &size, log, d, text, list, n);
    free(copy);
    return status;
}

/* --- The user's programs --- */

int cuda_program_create(void **pimpl, char **log, void *impl, const char *format, const void *data, size_t size,
                        const char *options)
{
    struct cuda_device *d = impl;
    bool source = !strcmp(format, "cuda-c");
    void *image = NULL;
    if (!source && strcmp(format, "ptx") && strcmp(format, "cubin") && strcmp(format, "fatbin"))
        return hcy_fail(HCY_EUNSUPPORTED,
                        "CUDA does not know the format \"%s\" of a program; it knows \"cuda-c\", \"ptx\","
                        " \"cubin\" and \"fatbin\"",
                        format);
    /* Formats are refused before anything is allocated. */
    struct program *p = calloc(1, sizeof *p);
    char *text = p ? malloc(size + 1) : NULL; /* text must end in a zero, which the caller's need not have */
    if (!text) {
        free(p);
        return hcy_fail(HCY_ENOMEM, "out of memory for a program");
    }
    memcpy(text, data, size);
    text[size] = 0;
    p->dev = d;
    /* PTX, cubins and fatbins go to the driver as they are, because it recognises them. */
    int status = source ? compile_source(&image, log, d, text, options) : 0;
    if (!status)
        status = cuda_enter(d);
    if (!status) {
        status = cuda_module_load(&p->module, log, d, source ? image : text);
        cuda_leave();
    }
    free(image);
    free(text);
    if (status)
        free(p);
    else
        *pimpl = p;
    return status;
}

void cuda_program_release(void *pimpl)
{
    struct program *p = pimpl;
    if (!atomic_load(&p->dev->lost) && !cu.cuCtxPushCurrent(p->dev->context)) {
        cu.cuModuleUnload(p->module);
        cuda_leave();
    }
    free(p);
}

/* A launch with fewer arguments than a kernel takes would have the driver read behind them. */
static void count_params(struct cuda_kernel *k)
{
    size_t offset, size;
    CUresult r = cu.cuFuncGetParamInfo ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
    while (!r && !(r = cu.cuFuncGetParamInfo(k->function, k->n_params, &offset, &size)))
        k->n_params++;
    k->knows_params = r == CUDA_ERROR_INVALID_VALUE; /* there is no such parameter */
}

int cuda_program_kernel(void **kimpl, void *pimpl, const char *name, const hcy_signature *signature)
{
    struct program *p = pimpl;
    struct cuda_kernel *k = calloc(1, sizeof *k);
    (void)signature;
    if (!k)
        return hcy_fail(HCY_ENOMEM, "out of memory for a kernel");
    k->dev = p->dev;
    int status = cuda_enter(p->dev);
    if (!status) {
        CUresult r = cu.cuModuleGetFunction(&k->function, p->module, name);
        /* C++ mangles names unless told otherwise, which is the usual reason. */
        status = r == CUDA_ERROR_NOT_FOUND
                     ? hcy_fail(HCY_ENOENT, "the program has no kernel \"%s\" (is it extern \"C\"?)", name)
                     : cuda_check(p->dev, r, "finding a kernel");
        if (!status)
            count_params(k);
        cuda_leave();
    }
    if (status)
        free(k);
    else
        *kimpl = k;
    return status;
}

int cuda_program_global(hcy_block *block, void *pimpl, const char *name)
{
    struct program *p = pimpl;
    CUdeviceptr address = 0;
    size_t size = 0;
    int status = cuda_enter(p->dev);
    if (status)
        return status;
    CUresult r = cu.cuModuleGetGlobal(&address, &size, p->module, name);
    status = r == CUDA_ERROR_NOT_FOUND
                 ? hcy_fail(HCY_ENOENT, "the program has no variable \"%s\" (is it extern \"C\"?)", name)
                 : cuda_check(p->dev, r, "finding a variable");
    cuda_leave();
    *block = (hcy_block){ .handle = (void *)(uintptr_t)address, .address = address, .size = size };
    return status;
}
