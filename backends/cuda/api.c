/* api.c - opening the libraries of the driver, the run-time compiler and the FFT, each once; thread-safe. */
#include "cuda_priv.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct cuda_api cu;
static struct nvrtc_api nvrtc;
static struct cufft_api cufft;

static pthread_once_t cuda_once = PTHREAD_ONCE_INIT, nvrtc_once = PTHREAD_ONCE_INIT, cufft_once = PTHREAD_ONCE_INIT;
static bool cuda_there, nvrtc_there, cufft_is_there;
static char cuda_words[200], nvrtc_words[200], cufft_words[200];

/* The symbol, or NULL and its name noted as what is missing. */
static void *find_in_driver(void *library, const char *symbol, char *words, size_t size)
{
    void *p = dlsym(library, symbol);
    if (!p && !*words)
        snprintf(words, size, "it has no %s(): it is too old", symbol);
    return p;
}

static void open_cuda(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(cuda_words, sizeof cuda_words, "%s", dlerror());
        return;
    }
#define CU(name, symbol, params) *(void **)&cu.name = find_in_driver(library, symbol, cuda_words, sizeof cuda_words);
#define CU_MAY(name, symbol, params) *(void **)&cu.name = dlsym(library, symbol);
#include "cuda_syms.def"
#undef CU
    /* One missing symbol rules the driver out: later calls go through the table without looking. */
    cuda_there = !*cuda_words;
}

const struct cuda_api *cuda_load(void)
{
    pthread_once(&cuda_once, open_cuda);
    if (cuda_there)
        return &cu;
    hcy_fail_vendor(HCY_ENODEV, 0, cuda_words, "there is no usable NVIDIA driver here (libcuda.so.1)");
    return NULL;
}

/* The first of the names that opens, NULL at their end; NULL with the last one's reason. */
static void *open_one_of(const char *const *names, char *words, size_t size)
{
    void *library = NULL;
    while (!library && *names)
        library = dlopen(*names++, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        snprintf(words, size, "%s", dlerror());
    return library;
}

static void open_nvrtc(void)
{
    /* The plain name comes from development packages; run-time packages have versions alone, newest first. */
    static const char *const names[] = { "libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12",
                                         "libnvrtc.so.11.2", "/usr/local/cuda/lib64/libnvrtc.so", NULL };
    void *library = open_one_of(names, nvrtc_words, sizeof nvrtc_words);
    if (!library)
        return;
#define RTC(name, params) *(void **)&nvrtc.name = find_in_driver(library, #name, nvrtc_words, sizeof nvrtc_words);
#include "nvrtc_syms.def"
#undef RTC
    nvrtc_there = !*nvrtc_words && !nvrtc.nvrtcVersion(&nvrtc.major, &nvrtc.minor);
}

const struct nvrtc_api *nvrtc_load(void)
{
    pthread_once(&nvrtc_once, open_nvrtc);
    if (nvrtc_there)
        return &nvrtc;
    hcy_fail_vendor(HCY_EUNSUPPORTED, 0, nvrtc_words,
                    "CUDA's run-time compiler is not here (libnvrtc.so): kernels cannot be made");
    return NULL;
}

static void open_cufft(void)
{
    /* As NVRTC's: the plain name first, then the versions that run-time packages install. */
    static const char *const names[] = { "libcufft.so", "libcufft.so.12", "libcufft.so.11",
                                         "libcufft.so.10", "/usr/local/cuda/lib64/libcufft.so", NULL };
    void *library = open_one_of(names, cufft_words, sizeof cufft_words);
    if (!library)
        return;
#define FFT(name, params) *(void **)&cufft.name = find_in_driver(library, #name, cufft_words, sizeof cufft_words);
#include "cufft_syms.def"
#undef FFT
    cufft_is_there = !*cufft_words;
}

bool cufft_there(void)
{
    pthread_once(&cufft_once, open_cufft);
    return cufft_is_there;
}

const struct cufft_api *cufft_load(void)
{
    if (cufft_there())
        return &cufft;
    hcy_fail_vendor(HCY_EUNSUPPORTED, 0, cufft_words, "CUDA's FFT is not here (libcufft.so, of the CUDA toolkit)");
    return NULL;
}

/* --- Failures --- */

/* Results after which a context is of no more use, until the process ends. */
static bool ruins_context(CUresult r)
{
    /* The faults of kernels and of hardware, after which CUDA answers every call in the context with the
     * same error. */
    static const short fatal[] = { 214, 220, 226, 700, 702, 709, 710, 714,
                                   715, 716, 717, 718, 719, 721, 911, 999 };
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
        if (fatal[i] == r)
            return true;
    return false;
}

static const char *driver_words(CUresult r)
{
    const char *text = NULL;
    return cu.cuGetErrorString(r, &text) || !text ? "unknown" : text;
}

int cuda_fail_at(const char *file, int line, struct cuda_device *d, CUresult r, const char *what)
{
    const char *name = d ? hcy_device_get_info(d->dev)->name : "CUDA";
    if (d && ruins_context(r)) {
        /* This comes first: whoever releases objects from now on must not call into the dead context. */
        atomic_store(&d->lost, true);
        return hcy_device_lose(
            d->dev, "%s failed with CUDA error %d, %s; the GPU's context is unusable until this process ends",
            what, r, driver_words(r));
    }
    int status = HCY_EBACKEND;
    if (r == CUDA_ERROR_OUT_OF_MEMORY)
        status = HCY_ENOMEM;
    if (r == CUDA_ERROR_NO_DEVICE)
        status = HCY_ENODEV;
    return hcy_fail_vendor_at(file, line, status, r, driver_words(r), "%s: %s failed", name, what);
}

int cuda_enter(struct cuda_device *d)
{
    /* The context is pushed and not set, so that what the calling program had current comes back
     * afterwards. */
    return cuda_check(d, cu.cuCtxPushCurrent(d->context), "entering the context");
}

void cuda_leave(void)
{
    CUcontext context;
    cu.cuCtxPopCurrent(&context);
}
