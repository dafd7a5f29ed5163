/* cts.h - what the conformance programs cts_*.c share.
 *
 * The conformance suite defines the HAL: a backend is right when these programs pass on its devices.  Each
 * takes a device string (its first argument, else HALCYON_CTS_DEVICE, else "cpu") and a second one for what
 * needs two (second argument, HALCYON_CTS_DEVICE2, else the same).  What a device permanently lacks, by its
 * capability bits or HCY_EUNSUPPORTED, is skipped with the reason; everything else must work.  "cpu" and
 * "null" are always there.
 */
#ifndef HCY_TESTS_CTS_H
#define HCY_TESTS_CTS_H

#include "tap.h"

#include <halcyon/fft.h>
#include <halcyon/kernel.h>

#include "bslz4/bslz4_format.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CTS_MS       ((uint64_t)1000000)
#define CTS_SECOND   ((uint64_t)1000000000)
#define CTS_PATIENCE (20 * CTS_SECOND) /* nothing takes that long, however loaded the machine */

static const char *cts_spec = "cpu", *cts_spec2 = "cpu";

/* --- Checks --- */

/* A call's status, with the words behind it if it is not the one wanted. */
#define st_is(got, want, ...) cts_st_is((got), (want), NULL, __VA_ARGS__)
#define st_ok(got, ...)       cts_st_is((got), 0, NULL, __VA_ARGS__)
/* The same, and the record of the failure must have that status and contain `word`. */
#define st_says(got, want, word, ...) cts_st_is((got), (want), (word), __VA_ARGS__)

static inline void cts_st_is(int got, int want, const char *word, const char *fmt, ...) HCY_PRINTF(4, 5);
static inline void cts_st_is(int got, int want, const char *word, const char *fmt, ...)
{
    char what[256];
    va_list ap;
    hcy_error e = *hcy_last_error();
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    bool good = got == want && (!want || (e.status == want && *e.text)) && (!word || strstr(e.text, word));
    ok(good, "%s", what);
    if (!good)
        diag("got %s, wanted %s; last error %s \"%s\" %s, wanted in it \"%s\"", hcy_status_name(got),
             hcy_status_name(want), hcy_status_name(e.status), e.text, e.vendor, word ? word : "");
}

/* Several calls that must all succeed; the first failure is kept and shown once. */
static inline int cts_first(int status, int next)
{
    return status ? status : next;
}

/* --- Children: for what the environment says, and for forks --- */

/* fn(context) in a forked child; its result (0 to 120), or -1 if it crashed. */
static inline int cts_child(int (*fn)(void *), void *context)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(fn(context));
    int how = 0;
    if (pid < 0 || waitpid(pid, &how, 0) != pid || !WIFEXITED(how))
        return -1;
    return WEXITSTATUS(how);
}

/* --- Devices --- */

static inline const char *cts_backend_of(const char *spec)
{
    static char name[24];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(spec, ":@"), spec);
    return name;
}
static inline bool cts_is(const char *backend)
{
    return !strcmp(cts_backend_of(cts_spec), backend);
}

/* `spec` with more options, in a buffer of the caller's. */
static inline const char *cts_with(char *text, size_t size, const char *spec, const char *more)
{
    snprintf(text, size, "%s%s", spec, more);
    return text;
}

/* In a child: says that the program is skipped, or returns 1. */
static inline int cts_skip_if_absent(void *context)
{
    hcy_backend_info *list;
    size_t n;
    (void)context;
    if (hcy_backend_list(&list, &n))
        bail_out("no list of backends: %s", hcy_last_error()->text);
    for (size_t i = 0; i < n && !cts_is("cpu") && !cts_is("null"); i++)
        if (cts_is(list[i].name) && (list[i].status || !list[i].n_devices))
            skip_all("%s: %s", cts_spec, list[i].status ? list[i].reason : "no device");
    hcy_list_free(list);
    return 1;
}

/* Opens a device in a child, so that the parent may still fork: 0, or 1 where it is unsupported. */
static inline int cts_unsupported(void *spec)
{
    hcy_device *dev = NULL;
    int status = hcy_device_open(&dev, spec);
    hcy_device_release(dev);
    return status == HCY_EUNSUPPORTED;
}
/* Skips the whole program where this machine cannot have such a device: launchers know the build alone. */
static inline void cts_want(const char *spec)
{
    char copy[256];
    hcy_device *dev = NULL;
    snprintf(copy, sizeof copy, "%s", spec);
    if (cts_child(cts_unsupported, copy) == 1 && hcy_device_open(&dev, spec) == HCY_EUNSUPPORTED)
        skip_all("%s", hcy_last_error()->text);
    hcy_device_release(dev);
}

/* Reads the arguments; skips the whole program where the backend says that there is none of it here.  A child asks:
 * some vendors' drivers, once started, do not survive a fork, and the programs fork before they open anything. */
static inline void cts_begin(int argc, char **argv)
{
    const char *one = argc > 1 ? argv[1] : getenv("HALCYON_CTS_DEVICE");
    const char *two = argc > 2 ? argv[2] : getenv("HALCYON_CTS_DEVICE2");
    if (one && *one)
        cts_spec = cts_spec2 = one;
    if (two && *two)
        cts_spec2 = two;
    if (!cts_is("cpu") && !cts_is("null") && cts_child(cts_skip_if_absent, NULL) == 0)
        exit(0);
    cts_want(cts_spec);
    if (strcmp(cts_spec, cts_spec2))
        cts_want(cts_spec2);
}

static inline hcy_device *cts_open_spec(const char *spec)
{
    hcy_device *dev = NULL;
    if (hcy_device_open(&dev, spec))
        bail_out("%s does not open: %s %s", spec, hcy_last_error()->text, hcy_last_error()->vendor);
    return dev;
}
static inline hcy_device *cts_open(void)
{
    return cts_open_spec(cts_spec);
}
static inline bool cts_has(hcy_device *dev, uint32_t cap)
{
    return (hcy_device_get_info(dev)->caps & cap) == cap;
}

static inline hcy_queue *cts_queue(hcy_device *dev)
{
    hcy_queue *queue = NULL;
    if (hcy_queue_create(&queue, dev))
        bail_out("no queue: %s", hcy_last_error()->text);
    return queue;
}
static inline hcy_buffer *cts_buffer(hcy_device *dev, size_t size)
{
    hcy_buffer *buf = NULL;
    if (hcy_buffer_create(&buf, dev, HCY_MEM_DEVICE, size))
        bail_out("no buffer of %zu bytes: %s", size, hcy_last_error()->text);
    return buf;
}

/* --- The process --- */

/* "Threads:", or "VmRSS:" in KiB; 0 where /proc is not. */
static inline size_t cts_of_process(const char *what)
{
    char line[128];
    size_t n = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, what, strlen(what)))
            n = strtoul(line + strlen(what), NULL, 10);
    if (f)
        fclose(f);
    return n;
}
/* Waits half a second at most for threads of what was released: queues end by themselves, and a process that ends
 * before them looks as if it had lost their device. */
static inline void cts_wait_alone(void)
{
    const struct timespec a_little = { 0, 5000000 };
    for (int i = 0; i < 100 && cts_of_process("Threads:") > 1; i++)
        nanosleep(&a_little, NULL);
}

/* --- Data --- */

static inline uint64_t cts_random(uint64_t *state) /* splitmix64 */
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static inline unsigned char *cts_bytes(size_t n, uint64_t seed)
{
    unsigned char *p = malloc(n ? n : 1);
    if (!p)
        bail_out("out of memory for a test's data");
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)cts_random(&seed);
    return p;
}

/* --- A launch that any device with named kernels can run --- */

/* One frame that its parse has already refused: the kernel must leave it alone. */
struct cts_work {
    hcy_kernel *kernel;
    hcy_buffer *chunks, *frames, *blocks, *images, *reports, *scratch;
    hcy_bslz4_job job;
    hcy_arg args[7];
};
#define CTS_WORK_ARGS 7

static inline void cts_work_free(struct cts_work *w)
{
    hcy_kernel_release(w->kernel);
    hcy_buffer_release(w->chunks);
    hcy_buffer_release(w->frames);
    hcy_buffer_release(w->blocks);
    hcy_buffer_release(w->images);
    hcy_buffer_release(w->reports);
    hcy_buffer_release(w->scratch);
    memset(w, 0, sizeof *w);
}

static inline int cts_work_make(struct cts_work *w, hcy_device *dev)
{
    hcy_bslz4_frame frame = {
        .size = 64, .block_bytes = 64, .last_bytes = 64, .n_blocks = 1, .status = HCY_ECORRUPT
    };
    hcy_bslz4_block block = { 12, 20 };
    unsigned char zeros[4096] = { 0 };
    memset(w, 0, sizeof *w);
    w->job = (hcy_bslz4_job){ .codec = HCY_CODEC_BSLZ4, .elem_size = 4, .image_bytes = 64 };
    int status = hcy_kernel_get(&w->kernel, dev, "bslz4_decode");
    if (status)
        return status;
    w->chunks = cts_buffer(dev, sizeof zeros);
    w->frames = cts_buffer(dev, sizeof frame);
    w->blocks = cts_buffer(dev, sizeof block);
    w->images = cts_buffer(dev, 64);
    w->reports = cts_buffer(dev, sizeof(hcy_frame_report));
    status = cts_first(status, hcy_buffer_write_now(w->chunks, 0, zeros, sizeof zeros));
    status = cts_first(status, hcy_buffer_write_now(w->frames, 0, &frame, sizeof frame));
    status = cts_first(status, hcy_buffer_write_now(w->blocks, 0, &block, sizeof block));
    w->args[0] = hcy_arg_buf(w->chunks);
    w->args[1] = hcy_arg_buf(w->frames);
    w->args[2] = hcy_arg_buf(w->blocks);
    w->args[3] = hcy_arg_struct(&w->job, sizeof w->job);
    w->args[4] = hcy_arg_buf(w->images);
    w->args[5] = hcy_arg_buf(w->reports);
    w->args[6] = hcy_arg_buf(NULL);
    size_t size = 0;
    status = cts_first(status, hcy_kernel_scratch_size(&size, w->kernel, 1, w->args, CTS_WORK_ARGS));
    if (size)
        w->args[6] = hcy_arg_buf(w->scratch = cts_buffer(dev, size));
    return status;
}

static inline int cts_work_launch(struct cts_work *w, hcy_queue *queue)
{
    return hcy_launch(queue, w->kernel, 1, w->args, CTS_WORK_ARGS);
}

#endif
