/* device.c - which GPUs there are, opening and closing them.
 *
 * Listing asks NVML, or the driver for attributes, and makes no context.  A device is "cuda:0" or "cuda:GPU-<uuid>"; an
 * ordinal counts as CUDA does (CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER).  Options: row=N, keep=1
 * (gpu_tuning.h), nvrtc=0.
 */
#include "cuda_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The process that started the driver: it does not survive a fork, even if it was only asked for its devices. */
static atomic_long started_by;

static int start_driver(void)
{
    /* The first process to come here is noted even if cuInit() failed, because a failed start does not
     * survive a fork either. */
    long expected = 0;
    CUresult r = cu.cuInit(0);
    if (!atomic_compare_exchange_strong(&started_by, &expected, (long)getpid()) && expected != (long)getpid())
        return hcy_fail(HCY_EFORK,
                        "CUDA was started before this process forked: open its devices after the fork");
    if (r == CUDA_ERROR_NO_DEVICE)
        return hcy_fail(HCY_ENODEV, "the NVIDIA driver is here, and no GPU of its kind");
    return cuda_check(NULL, r, "starting the driver (cuInit)");
}

static int read_attribute(CUdevice device, enum cuda_attribute which)
{
    int value = 0;
    return cu.cuDeviceGetAttribute(&value, (int)which, device) ? 0 : value;
}

static void uuid_text(char text[48], CUdevice device)
{
    CUuuid u = { { 0 } };
    cu.cuDeviceGetUuid(&u, device);
    char *p = text + sprintf(text, "GPU-");
    for (int i = 0; i < 16; i++)
        p += sprintf(p, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", u.bytes[i]);
}

void cuda_describe(hcy_device_info *info, const char *name, const char *uuid, unsigned units, int major,
                   int minor)
{
    snprintf(info->stable, sizeof info->stable, "cuda:%.80s", uuid);
    snprintf(info->backend, sizeof info->backend, "cuda");
    snprintf(info->description, sizeof info->description, "%.80s (%u multiprocessors, sm_%d%d)", name, units,
             major, minor);
    info->units = units;
    info->kind = HCY_KIND_GPU;
    info->caps =
        HCY_CAP_F64 | HCY_CAP_MAPPED | HCY_CAP_IMPORT_HOST | HCY_CAP_IMPORT_DEVICE | HCY_CAP_PROGRAMS;
    if (cufft_there() || nvrtc_load())
        info->caps |= HCY_CAP_FFT;
    /* GPUs of that generation and later can, where the driver has the call. */
    if (major >= 6 && cu.cuLaunchCooperativeKernel)
        info->caps |= HCY_CAP_TOGETHER;
}

static void describe_by_driver(hcy_device_info *info, int ordinal, CUdevice device)
{
    char name[80] = "", uuid[48];
    size_t memory = 0;
    cu.cuDeviceGetName(name, sizeof name, device);
    cu.cuDeviceTotalMem(&memory, device);
    uuid_text(uuid, device);
    cuda_describe(info, name, uuid, (unsigned)read_attribute(device, CUDA_ATTR_UNITS),
                  read_attribute(device, CUDA_ATTR_MAJOR), read_attribute(device, CUDA_ATTR_MINOR));
    snprintf(info->name, sizeof info->name, "cuda:%d", ordinal);
    info->memory = memory;
}

int cuda_list(hcy_device_info **infos, size_t *n)
{
    int count = 0;
    /* Listing must leave the process free to fork, as long as nobody has opened a device. */
    if (atomic_load(&started_by) != (long)getpid() && cuda_nvml_list(infos, n))
        return 0;
    int status = start_driver();
    if (!status)
        status = cuda_check(NULL, cu.cuDeviceGetCount(&count), "counting the GPUs");
    if (status)
        return status;
    *infos = calloc((size_t)count + 1, sizeof **infos);
    if (!*infos)
        return hcy_fail(HCY_ENOMEM, "out of memory for the list of devices");
    *n = 0;
    for (int i = 0; i < count; i++) {
        CUdevice device;
        if (!cu.cuDeviceGet(&device, i))
            describe_by_driver(&(*infos)[(*n)++], i, device);
    }
    return 0;
}

/* --- Opening --- */

static int find_by_number(int *ordinal, const hcy_spec *spec, int count)
{
    char *end;
    errno = 0;
    long value = strtol(spec->selector, &end, 10);
    /* "0x1", "1 " and numbers that overflow are mistakes, never another device. */
    if (*end || errno || value < 0)
        return hcy_fail(HCY_ENODEV, "\"%s\": a GPU's number or GPU-<uuid> must follow the ':'", spec->text);
    if (value >= count)
        return hcy_fail(HCY_ENODEV, "\"%s\": there are %d GPUs, counted from 0", spec->text, count);
    *ordinal = (int)value;
    return 0;
}

static int find_by_uuid(int *ordinal, const hcy_spec *spec, int count)
{
    for (int i = 0; i < count; i++) {
        CUdevice device;
        char uuid[48];
        /* A GPU that is broken must not keep the others from being found. */
        if (cu.cuDeviceGet(&device, i))
            continue;
        uuid_text(uuid, device);
        if (!strcmp(uuid, spec->selector)) {
            *ordinal = i;
            return 0;
        }
    }
    return hcy_fail(HCY_ENODEV, "\"%s\": none of the %d GPUs here has that UUID", spec->text, count);
}

static int find_gpu(int *ordinal, const hcy_spec *spec)
{
    int count = 0;
    int status = start_driver();
    if (!status)
        status = cuda_check(NULL, cu.cuDeviceGetCount(&count), "counting the GPUs");
    if (status)
        return status;
    /* Without a selector the first one is meant, as CUDA itself orders them. */
    *ordinal = 0;
    if (!*spec->selector)
        return count ? 0 : hcy_fail(HCY_ENODEV, "\"%s\": there is no GPU", spec->text);
    if (!strncmp(spec->selector, "GPU-", 4))
        return find_by_uuid(ordinal, spec, count);
    return find_by_number(ordinal, spec, count);
}

/* A context that a fault has poisoned answers every call with that fault. */
static int check_context(struct cuda_device *d)
{
    size_t a, b;
    CUresult r = cu.cuCtxPushCurrent(d->context);
    /* Pushing a context may succeed after a fault, so a call that reaches the GPU is made. */
    if (!r) {
        r = cu.cuMemGetInfo(&a, &b);
        cuda_leave();
    }
    const char *words = "";
    if (!r)
        return 0;
    cu.cuGetErrorString(r, &words);
    return hcy_fail_vendor(HCY_ELOST, r, words,
                           "cuda:%d was lost to a fault: it cannot be used again in this process",
                           d->ordinal);
}

struct settings {
    struct gpu_choice choice;
    bool nvrtc; /* false: as if the run-time compiler were not here (tests) */
    int fft;
};

static const hcy_option options[] = {
    GPU_ROW_OPTION(struct settings),
    GPU_KEEP_OPTION(struct settings),
    { "nvrtc", HCY_OPTION_BOOL, offsetof(struct settings, nvrtc), "CUDA's run-time compiler", 0, 0, NULL },
    GPU_FFT_OPTION(struct settings, "own cufft"),
    { .key = NULL },
};

/* Which parameters its kernels have: by the GPU's name and its driver's version. */
static int settle_choice(struct cuda_device *d)
{
    char name[80] = "";
    int driver = 0;
    uint64_t key = 14695981039346656037u;
    cu.cuDeviceGetName(name, sizeof name, d->device);
    cu.cuDriverGetVersion(&driver);
    /* A new driver may compile the same text to other code, whose best row is another: so it is part of
     * the key. */
    for (const char *p = name; *p; p++)
        key = (key ^ (unsigned char)*p) * 1099511628211u;
    const struct gpu_tuned tuned = { "cuda", (key ^ (uint64_t)driver) * 1099511628211u, d->local_bytes, false };
    return gpu_choice_settle(&d->choice, &tuned);
}

int cuda_open(void **impl, hcy_device_info *info, hcy_device *dev, const hcy_spec *spec)
{
    int ordinal;
    struct settings s = { .choice.row = GPU_NO_ROW, .nvrtc = true, .fft = -1 };
    int status = hcy_options_read(&s, spec, options);
    if (!status)
        status = find_gpu(&ordinal, spec);
    if (!status)
        status = gpu_check_fft(s.fft, cufft_there(), "cufft");
    if (status)
        return status;
    /* Options and selector are checked first, so that a typing error does not cost the time of making a
     * context. */
    struct cuda_device *d = calloc(1, sizeof *d);
    if (!d)
        return hcy_fail(HCY_ENOMEM, "out of memory for a device");
    d->dev = dev;
    d->ordinal = ordinal;
    status = cuda_check(NULL, cu.cuDeviceGet(&d->device, ordinal), "finding the GPU");
    if (!status)
        status =
            cuda_check(NULL, cu.cuDevicePrimaryCtxRetain(&d->context, d->device), "making the GPU's context");
    if (!status)
        status = check_context(d); /* a lost one is not given back: that would reset it under others */
    if (status) {
        free(d);
        return status;
    }
    /* What kernels are compiled and launched by is asked for once: these numbers are read at every launch. */
    d->arch = read_attribute(d->device, CUDA_ATTR_MAJOR) * 10 + read_attribute(d->device, CUDA_ATTR_MINOR);
    d->units = read_attribute(d->device, CUDA_ATTR_UNITS);
    d->local_bytes = (size_t)read_attribute(d->device, CUDA_ATTR_LOCAL_BYTES);
    d->choice = s.choice;
    d->without_nvrtc = !s.nvrtc;
    d->own_fft = s.fft == 0 || !cufft_there();
    status = settle_choice(d);
    if (status) {
        cu.cuDevicePrimaryCtxRelease(d->device);
        free(d);
        return status;
    }
    cuda_nvtx_attach();
    pthread_mutex_init(&d->lock, NULL);
    describe_by_driver(info, ordinal, d->device);
    /* Our own transforms are kernels, which there is no PTX of in the module. */
    if (d->own_fft && !cuda_compiler(d))
        info->caps &= ~(uint32_t)HCY_CAP_FFT;
    /* The device is named as the user has asked for it, options included, so that the name opens the same
     * device again. */
    const char *said = spec->text + strcspn(spec->text, "@");
    strncat(info->name, said, sizeof info->name - strlen(info->name) - 1);
    *impl = d;
    return 0;
}

void cuda_close(void *impl)
{
    struct cuda_device *d = impl;
    /* A lost context stays with the process: releasing it would reset the GPU under other users of the
     * primary context. */
    if (!atomic_load(&d->lost) && !cu.cuCtxPushCurrent(d->context)) {
        cuda_staging_free(d);
        cuda_event_pools_free(d);
        if (d->clock)
            cu.cuStreamDestroy(d->clock);
        cuda_leave();
        cu.cuDevicePrimaryCtxRelease(d->device);
    }
    free(d->staging); /* of a lost context, with which its pinned memory stays */
    free(d->timed.list);
    free(d->plain.list);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

int cuda_get_i64(int64_t *value, void *impl, const char *key)
{
    static const struct {
        const char *key;
        enum cuda_attribute attribute;
    } numbers[] = {
        { "multiprocessors", CUDA_ATTR_UNITS }, { "compute_major", CUDA_ATTR_MAJOR },
        { "compute_minor", CUDA_ATTR_MINOR },   { "warp_size", CUDA_ATTR_WARP_SIZE },
        { "pci_domain", CUDA_ATTR_DOMAIN },     { "pci_bus", CUDA_ATTR_BUS },
        { "pci_device", CUDA_ATTR_PCI_DEVICE }, { "local_bytes", CUDA_ATTR_LOCAL_BYTES },
    };
    struct cuda_device *d = impl;
    /* Attributes are asked for each time: they are constant, and nobody asks in a loop. */
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!strcmp(key, numbers[i].key)) {
            *value = read_attribute(d->device, numbers[i].attribute);
            return 0;
        }
    if (!strcmp(key, "cu_device") || !strcmp(key, "cu_context")) {
        *value = key[3] == 'd' ? (int64_t)d->device : (int64_t)(intptr_t)d->context;
        return 0;
    }
    /* kDLCUDA, whose devices count as CUDA's do. */
    if (!strcmp(key, "dlpack_type") || !strcmp(key, "dlpack_id")) {
        *value = key[7] == 't' ? 2 : d->ordinal;
        return 0;
    }
    /* Tuning, then sensors: each knows its own keys, and this function need not. */
    if (gpu_choice_number(value, &d->choice, key))
        return 0;
    if (!strcmp(key, GPU_OWN_FFT)) {
        *value = d->own_fft;
        return 0;
    }
    if (cuda_nvml_knows(key))
        return cuda_nvml_read(value, hcy_device_get_info(d->dev)->stable + strlen("cuda:"), key);
    return hcy_fail(HCY_ENOENT,
                    "a GPU has no number \"%s\" (multiprocessors, compute_major, compute_minor, warp_size,"
                    " local_bytes, tuning_rows, tuning_row, own_fft, pci_domain, pci_bus, pci_device, power_mw, clock_mhz,"
                    " memory_clock_mhz, temperature_c, cu_device, cu_context)",
                    key);
}

int cuda_profile(void *impl, int begin)
{
    struct cuda_device *d = impl;
    CUresult (*tell)(void) = begin ? cu.cuProfilerStart : cu.cuProfilerStop;
    if (!tell)
        return hcy_fail(HCY_EUNSUPPORTED, "the NVIDIA driver here has no cuProfiler%s()", begin ? "Start" : "Stop");
    int status = cuda_enter(d);
    if (status)
        return status;
    status = cuda_check(d, tell(), begin ? "starting the profiler" : "stopping the profiler");
    cuda_leave();
    return status;
}
