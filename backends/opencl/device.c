/* device.c - opening and closing OpenCL devices, and their lanes.  Thread-safe.
 *
 * A device is "opencl:N", counted over all platforms, or "opencl:PLATFORM/N", counted over those of one name, with
 * options:
 *   memory=BYTES    a limit for its buffers
 *   profile=1       events and the trace have the device's own times, as they do whenever there is a trace
 *   discrete=1      device memory is not the host's, where it could be (for tests of that path)
 *   atomics=32      kernels do without atomic sums of 64 bits, as they must where the device has none (tests)
 *   row=N, keep=1   which row of parameters kernels are compiled with (gpu_tuning.h); the one to have from now on
 */
#include "cl_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if HAVE_VKFFT
#define HAS_VKFFT true
#else
#define HAS_VKFFT false
#endif

struct settings {
    uint64_t memory;
    bool discrete, profile;
    int atomics32; /* 0: yes; -1: not said */
    int fft;
    struct gpu_choice choice;
};

static const hcy_option options[] = {
    { "memory", HCY_OPTION_SIZE, offsetof(struct settings, memory), "a limit for its buffers", 0, 0, NULL },
    { "discrete", HCY_OPTION_BOOL, offsetof(struct settings, discrete), "device memory is not the host's", 0, 0, NULL },
    { "profile", HCY_OPTION_BOOL, offsetof(struct settings, profile), "the device's own times", 0, 0, NULL },
    { "atomics", HCY_OPTION_WORD, offsetof(struct settings, atomics32), "no atomic sums of 64 bits", 0, 0, "32" },
    GPU_FFT_OPTION(struct settings, "own vkfft"),
    GPU_ROW_OPTION(struct settings),
    GPU_KEEP_OPTION(struct settings),
    { .key = NULL },
};

/* The device that the selector names: "", a number, or what follows "opencl:" in a stable name. */
static int select_device(const hcy_spec *spec, const struct cl_found *found, size_t n, struct cl_found *one)
{
    const char *s = *spec->selector ? spec->selector : "0";
    for (size_t i = 0; i < n; i++) {
        const char *number = strchr(found[i].info.name, ':') + 1,
                   *stable = strchr(found[i].info.stable, ':') + 1;
        /* "opencl:pocl" alone means the platform's first device, which comes first in the list. */
        if (!strcmp(s, number) || !strcmp(s, stable) || !strcmp(s, found[i].quirk->nick)) {
            *one = found[i];
            return 0;
        }
    }
    return hcy_fail(HCY_ENODEV,
                    "\"%s\": there is no such OpenCL device (%zu here; `halcyon devices` names them)",
                    spec->text, n);
}

/* What a compiled kernel depends on besides its text. */
static uint64_t compiler_key(const struct cl_found *f)
{
    static const cl_uint texts[] = { CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION, CL_DRIVER_VERSION };
    uint64_t h = 14695981039346656037u;
    char text[256] = "";
    /* A driver's update changes what it makes of the same text, and old binaries must not be found then. */
    for (size_t i = 0; i <= sizeof texts / sizeof texts[0]; i++) {
        if (i < sizeof texts / sizeof texts[0])
            cl_text(f->device, texts[i], text, sizeof text);
        else
            cl.clGetPlatformInfo(f->platform, CL_PLATFORM_VERSION, sizeof text - 1, text, NULL);
        for (const char *p = text; *p; p++)
            h = (h ^ (unsigned char)*p) * 1099511628211u;
    }
    return h;
}

/* What our kernels are compiled with, and whether they can be. */
static void set_up_kernels(struct cl_device *d, const struct settings *s)
{
    char extensions[8192], version[40];
    int spaces = d->at.quirk->spaces;
    cl_text(d->at.device, CL_DEVICE_EXTENSIONS, extensions, sizeof extensions);
    cl_text(d->at.device, CL_DEVICE_VERSION, version, sizeof version);
    d->alone = d->at.info.kind == HCY_KIND_CPU;
    /* Sums of 64 bits from two halves are slower and the same; the option forces them where the device
     * could do better. */
    d->atomics32 = s->atomics32 == 0 || !strstr(extensions, "cl_khr_int64_base_atomics");
    /* A device that lacks something is still opened: the user's own programs and copies need none of it. */
    if (!(d->at.info.caps & HCY_CAP_F64))
        snprintf(d->lacks, sizeof d->lacks, "double precision");
    /* Generic pointers are optional in OpenCL C 3.0, but in 2.0 any compiler has them. */
    const bool is_first = !strncmp(version, "OpenCL 1.", 9), is_second = !strncmp(version, "OpenCL 2.", 9);
    const char *language = spaces != 3 ? "" : is_second ? " -cl-std=CL2.0" : " -cl-std=CL3.0";
    if (!*d->lacks && spaces == 3 && !is_second &&
        (is_first || !cl_number(d->at.device, CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT)))
        snprintf(d->lacks, sizeof d->lacks, "OpenCL C 2.0's generic pointers");
    if (d->at.quirk->lanes)
        d->capability = (int)cl_number(d->at.device, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV);
    snprintf(d->options, sizeof d->options, "-DSPACES=%d -DLANES=%d -DATOMICS=%d%s", spaces,
             d->at.quirk->lanes, d->atomics32 ? 32 : 64, language);
}

static void set_up_device(struct cl_device *d, const struct settings *s)
{
    set_up_kernels(d, s);
    d->shared = d->at.quirk->shared && !s->discrete;
    /* Profiling costs time with some drivers, so it is off unless somebody reads the times. */
    d->measures = s->profile || hcy_trace_on();
    d->memory = s->memory ? s->memory : d->at.info.memory;
    d->largest = cl_number(d->at.device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    d->align = cl_number(d->at.device, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
    d->align = d->align ? d->align : 1; /* of a driver that does not say */
    d->key = compiler_key(&d->at);
}

static int open_found(struct cl_device *d, const hcy_spec *spec, const struct settings *s,
                      hcy_device_info *info)
{
    /* A context of one device keeps a fault on it from taking others along. */
    const intptr_t properties[] = { CL_CONTEXT_PLATFORM, (intptr_t)d->at.platform, 0 };
    cl_int error = 0;
    d->context = cl.clCreateContext(properties, 1, &d->at.device, NULL, NULL, &error);
    int status = cl_check(NULL, error, "making a context");
    if (status)
        return status;
    set_up_device(d, s);
    /* The names carry the options, so that they open the same device again. */
    const char *said = spec->text + strcspn(spec->text, "@");
    size_t name = strlen(d->at.info.name), stable = strlen(d->at.info.stable);
    snprintf(d->at.info.name + name, sizeof d->at.info.name - name, "%s", said);
    snprintf(d->at.info.stable + stable, sizeof d->at.info.stable - stable, "%s", said);
    d->at.info.memory = d->memory;
    /* What the platform could do is taken back where the option has switched it off. */
    if (!d->shared)
        d->at.info.caps &= ~(uint32_t)(HCY_CAP_HOST_MEMORY | HCY_CAP_MAPPED | HCY_CAP_IMPORT_HOST);
    /* Our own transforms are kernels like the others. */
    d->own_fft = !HAS_VKFFT || !s->fft;
    if (d->own_fft && *d->lacks)
        d->at.info.caps &= ~(uint32_t)HCY_CAP_FFT;
    *info = d->at.info;
    return 0;
}

int cl_open(void **impl, hcy_device_info *info, hcy_device *dev, const hcy_spec *spec)
{
    struct settings s = { .atomics32 = -1, .fft = -1, .choice.row = GPU_NO_ROW };
    struct cl_found *found = NULL;
    size_t n = 0;
    /* Options come before the platforms: a mistake in them must not load drivers. */
    int status = hcy_options_read(&s, spec, options);
    struct cl_device *d = status ? NULL : calloc(1, sizeof *d);
    if (!status && !d)
        status = hcy_fail(HCY_ENOMEM, "out of memory for a device");
    if (!status)
        status = cl_find(&found, &n);
    if (!status)
        status = select_device(spec, found, n, &d->at);
    if (!status)
        status = gpu_check_fft(s.fft, HAS_VKFFT, "vkfft");
    if (!status)
        status = open_found(d, spec, &s, info);
    if (!status) {
        /* Which parameters kernels have is settled once, when the driver's version is known. */
        const struct gpu_tuned tuned = { "opencl", d->key, 0, d->alone };
        d->choice = s.choice;
        status = gpu_choice_settle(&d->choice, &tuned);
        if (status)
            cl.clReleaseContext(d->context);
    }
    free(found);
    if (status) {
        free(d);
        return status;
    }
    d->dev = dev;
    pthread_mutex_init(&d->lock, NULL);
    *impl = d;
    return 0;
}

void cl_close(void *impl)
{
    struct cl_device *d = impl;
    /* All lanes are free by now, because each queue keeps the device until its last command is done. */
    while (d->lanes) {
        struct cl_lane *lane = d->lanes;
        d->lanes = lane->next;
        cl.clReleaseCommandQueue(lane->queue);
        free(lane);
    }
    cl.clReleaseContext(d->context);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

int cl_get_i64(int64_t *value, void *impl, const char *key)
{
    /* The vendor's handles differ from device to device, so their table cannot be static. */
    static const struct {
        const char *key;
        cl_uint what;
    } numbers[] = {
        { "compute_units", CL_DEVICE_MAX_COMPUTE_UNITS },
        { "group_items", CL_DEVICE_MAX_WORK_GROUP_SIZE },
        { "local_bytes", CL_DEVICE_LOCAL_MEM_SIZE },
        { "clock_mhz", CL_DEVICE_MAX_CLOCK_FREQUENCY },
        { "vendor_id", CL_DEVICE_VENDOR_ID },
        { "largest_buffer", CL_DEVICE_MAX_MEM_ALLOC_SIZE },
    };
    struct cl_device *d = impl;
    /* These are asked of the driver each time, as it keeps them anyway. */
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!strcmp(key, numbers[i].key)) {
            *value = (int64_t)cl_number(d->at.device, numbers[i].what);
            return 0;
        }
    if (gpu_choice_number(value, &d->choice, key))
        return 0;
    /* Where floats have none the bits of expressions are the device's there (halcyon_eval(3)). */
    if (!strcmp(key, "subnormals")) {
        *value = (int64_t)(cl_number(d->at.device, CL_DEVICE_SINGLE_FP_CONFIG) & CL_FP_DENORM);
        return 0;
    }
    if (!strcmp(key, GPU_OWN_FFT)) {
        *value = d->own_fft;
        return 0;
    }
    const struct {
        const char *key;
        void *handle;
    } handles[] = { { "cl_platform", d->at.platform },
                    { "cl_device", d->at.device },
                    { "cl_context", d->context } };
    for (size_t i = 0; i < sizeof handles / sizeof handles[0]; i++)
        if (!strcmp(key, handles[i].key)) {
            *value = (int64_t)(intptr_t)handles[i].handle;
            return 0;
        }
    return hcy_fail(
        HCY_ENOENT,
        "an OpenCL device has no number \"%s\" (compute_units, group_items, local_bytes, clock_mhz,"
        " vendor_id, largest_buffer, subnormals, tuning_rows, tuning_row, own_fft, cl_platform, cl_device, cl_context)",
        key);
}

int cl_mem_info(uint64_t *free_bytes, uint64_t *total_bytes, void *impl)
{
    struct cl_device *d = impl;
    uint64_t used = atomic_load(&d->used), free_kib[2] = { 0, 0 };
    *total_bytes = d->memory;
    *free_bytes = used < d->memory ? d->memory - used : 0;
    /* OpenCL knows no free memory; AMD's extension does, and where it says less than our own count, it is
     * right. */
    if (!cl.clGetDeviceInfo(d->at.device, CL_DEVICE_GLOBAL_FREE_MEMORY_AMD, sizeof free_kib, free_kib,
                            NULL) &&
        free_kib[0] && free_kib[0] * 1024 < *free_bytes)
        *free_bytes = free_kib[0] * 1024;
    return 0;
}

/* --- Lanes --- */

/* A lane may come to a new queue while the one before still has commands in it: they only wait for one another. */
struct cl_lane *cl_lane_take(struct cl_device *d)
{
    cl_int error = 0;
    pthread_mutex_lock(&d->lock);
    struct cl_lane *lane = d->lanes;
    if (lane)
        d->lanes = lane->next;
    pthread_mutex_unlock(&d->lock);
    if (lane)
        return lane;
    /* Lanes that are free are used again, so there are no more of them than there were queues at once. */
    lane = calloc(1, sizeof *lane);
    if (!lane) {
        hcy_fail(HCY_ENOMEM, "out of memory for a queue");
        return NULL;
    }
    lane->dev = d;
    lane->queue =
        cl.clCreateCommandQueue(d->context, d->at.device, d->measures ? CL_QUEUE_PROFILING : 0, &error);
    if (!error)
        return lane;
    cl_fail(d, error, "making a command queue");
    free(lane);
    return NULL;
}

void cl_lane_give(struct cl_lane *lane)
{
    struct cl_device *d = lane->dev;
    pthread_mutex_lock(&d->lock);
    lane->next = d->lanes;
    d->lanes = lane;
    pthread_mutex_unlock(&d->lock);
}

struct cl_span cl_lane_begin(struct cl_lane *lane)
{
    /* The host's clock is read before the marker is queued, so that both clocks have one moment in common. */
    struct cl_span span = { NULL, hcy_now_ns() };
    if (lane->dev->measures && cl.clEnqueueMarkerWithWaitList(lane->queue, 0, NULL, &span.began))
        span.began = NULL;
    return span;
}

static bool event_time(cl_event event, cl_uint what, uint64_t *ns)
{
    return !cl.clGetEventProfilingInfo(event, what, sizeof *ns, ns, NULL);
}

/* The device's clock is its own: the first marker was queued, by both clocks, at the same time. */
static void report_times(const struct cl_span *span, cl_event ended)
{
    uint64_t queued, start, end;
    if (event_time(span->began, CL_PROFILING_COMMAND_QUEUED, &queued) &&
        event_time(span->began, CL_PROFILING_COMMAND_END, &start) &&
        event_time(ended, CL_PROFILING_COMMAND_END, &end) &&
        queued <= start && start <= end)
        hcy_hostqueue_ran(span->began_ns + (start - queued), span->began_ns + (end - queued));
}

cl_int cl_lane_finish(struct cl_lane *lane, const struct cl_span *span)
{
    cl_event ended = NULL;
    bool measured = span->began && !cl.clEnqueueMarkerWithWaitList(lane->queue, 0, NULL, &ended);
    /* The wait is here and not in the caller: a command is over for the HAL once its thread goes on. */
    cl_int code = cl.clFinish(lane->queue);
    if (measured && !code)
        report_times(span, ended);
    if (measured)
        cl.clReleaseEvent(ended);
    if (span->began)
        cl.clReleaseEvent(span->began);
    return code;
}
