/* null.c - the backend that is all form and no work: the skeleton to copy when porting (README.md is the
 * guide).
 *
 * Memory is the host's, queues are the HAL's host queues, so buffers, copies, events and failures work as
 * they do everywhere.  Kernels are unsupported, unless "@kernels=noop" asks for kernels that complete and
 * compute nothing: for the tests of schedulers, which may then also want slow devices, failing ones and lost
 * ones.
 *
 * Ownership: a device owns nothing but its settings; blocks are posix_memalign()ed, one allocation each.
 * Threads: settings do not change after open, the counter is atomic.
 */
#include "families.h"

#include <halcyon/backend.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_DEVICES 4 /* "null", "null:1", "null:2", "null:3" */
#define ALIGNMENT 64
#define MEMORY    ((uint64_t)1 << 30) /* more at once is refused */

struct null_device {
    hcy_device *dev; /* not a reference: it owns us */
    int noop, wait_on_host;
    int64_t delay_us;
    atomic_uint_fast64_t launches;
};

struct null_kernel {
    struct null_device *device;
    const char *name; /* the signature's, which stays */
};

struct null_queue {
    struct null_device *device;
    hcy_hostqueue *host;
};

/* --- Devices --- */

static void describe_null(hcy_device_info *info, size_t i)
{
    *info = (hcy_device_info){
        .backend = "null",
        .description = "computes nothing: a skeleton, and a stand-in for tests",
        .kind = HCY_KIND_OTHER,
        .caps = HCY_CAP_F64 | HCY_CAP_HOST_MEMORY | HCY_CAP_MAPPED | HCY_CAP_IMPORT_HOST | HCY_CAP_VIRTUAL,
        .units = 1,
        .memory = MEMORY,
    };
    snprintf(info->name, sizeof info->name, i ? "null:%zu" : "null", i);
    snprintf(info->stable, sizeof info->stable, "null:%zu", i);
}

static int null_list(hcy_device_info **infos, size_t *n)
{
    hcy_device_info *list = malloc(N_DEVICES * sizeof *list);
    if (!list)
        return hcy_fail(HCY_ENOMEM, "out of memory for the list of null devices");
    /* The list is given away: the HAL frees it. */
    for (size_t i = 0; i < N_DEVICES; i++)
        describe_null(&list[i], i);
    *infos = list;
    *n = N_DEVICES;
    return 0;
}

static const hcy_option options[] = {
    { "kernels", HCY_OPTION_WORD, offsetof(struct null_device, noop), "which kernels there are", 0, 0, "none noop" },
    { "wait", HCY_OPTION_WORD, offsetof(struct null_device, wait_on_host), "who waits for events", 0, 0, "queue host" },
    { "delay-us", HCY_OPTION_INT, offsetof(struct null_device, delay_us), "microseconds an item", 0, INT64_MAX, NULL },
    { .key = NULL },
};

/* The number in a selector: "" is the first device. */
static int find_null(size_t *i, const hcy_spec *spec)
{
    for (*i = 0; *i < N_DEVICES; ++*i)
        if (spec->selector[0] == (char)('0' + *i) && !spec->selector[1])
            return 0;
    /* The loop has left the number behind the last device. */
    *i = 0;
    return *spec->selector ? hcy_fail(HCY_ENODEV, "\"%s\": there are null:0 to null:%d", spec->text, N_DEVICES - 1) : 0;
}

static int null_open(void **impl, hcy_device_info *info, hcy_device *dev, const hcy_spec *spec)
{
    size_t i;
    int status = find_null(&i, spec);
    if (status)
        return status;
    struct null_device *d = calloc(1, sizeof *d);
    if (!d)
        return hcy_fail(HCY_ENOMEM, "out of memory for a null device");
    d->dev = dev;
    /* The table says where each option goes; what is not in it is refused with the names that are. */
    status = hcy_options_read(d, spec, options);
    if (status) {
        free(d);
        return status;
    }
    /* Nothing can fail any more; the HAL takes `impl` over with the 0. */
    describe_null(info, i);
    *impl = d;
    return 0;
}

static void null_close(void *impl)
{
    free(impl);
}

static int null_get_i64(int64_t *value, void *impl, const char *key)
{
    struct null_device *d = impl;
    if (strcmp(key, "launches"))
        return hcy_fail(HCY_ENOENT, "the null backend knows no \"%s\"", key);
    *value = (int64_t)atomic_load(&d->launches);
    return 0;
}

/* --- Memory --- */

static int null_alloc(hcy_block *block, void *impl, int mem, size_t size)
{
    const struct null_device *d = impl;
    void *p;
    (void)mem; /* all kinds are the host's memory */
    if (size > MEMORY || posix_memalign(&p, ALIGNMENT, size))
        return hcy_fail(HCY_ENOMEM, "the null device has no %zu bytes left", size);
    /* What kernels that do nothing were to write is read all the same, and must be the same in every run. */
    if (d->noop)
        memset(p, 0, size);
    *block = (hcy_block){ .handle = p, .address = (uintptr_t)p, .host = p, .size = size };
    return 0;
}

static void null_free(void *impl, int mem, hcy_block *block)
{
    (void)impl;
    (void)mem;
    free(block->handle);
}

static int null_import_host(hcy_block *block, void *impl, void *host, size_t size)
{
    (void)impl;
    /* The memory stays the caller's: there is no unimport, because nothing was made. */
    *block = (hcy_block){ .handle = host, .address = (uintptr_t)host, .host = host, .size = size };
    return 0;
}

/* --- Queues: the HAL's, a command each --- */

static int null_queue_create(void **qimpl, void *impl, hcy_queue *queue)
{
    struct null_device *d = impl;
    struct null_queue *q = malloc(sizeof *q);
    if (!q)
        return hcy_fail(HCY_ENOMEM, "out of memory for a queue");
    q->device = d;
    /* The host queue holds a reference on the device, so `d` outlives this queue. */
    int status = hcy_hostqueue_create(&q->host, d->dev, queue);
    if (status) {
        free(q);
        return status;
    }
    *qimpl = q;
    return 0;
}

static void null_queue_destroy(void *qimpl)
{
    struct null_queue *q = qimpl;
    /* Commands that are left still run, in the host queue's thread, and look at the device alone. */
    hcy_hostqueue_destroy(q->host);
    free(q);
}

static int null_copy(void *qimpl, const hcy_copy *copy, hcy_keep *keep)
{
    /* Memory of another device that the host does not reach: the HAL goes by way of the host. */
    if ((copy->dst.block && !copy->dst.block->host) || (copy->src.block && !copy->src.block->host))
        return hcy_fail(HCY_EUNSUPPORTED, "the null device cannot reach another device's memory");
    /* Every other place is host memory, which one memcpy a row reaches. */
    return hcy_hostqueue_copy(((struct null_queue *)qimpl)->host, copy, keep);
}

static int null_fill(void *qimpl, const hcy_place *dst, size_t size, const void *pattern, size_t pattern_size,
                     hcy_keep *keep)
{
    return hcy_hostqueue_fill(((struct null_queue *)qimpl)->host, dst, size, pattern, pattern_size, keep);
}

struct launch {
    struct null_device *device;
    uint64_t items;
};

/* Failures that were asked for are made here, when the launch runs, as a real device would have them. */
static int run_noop(void *command)
{
    const struct launch *l = command;
    const struct null_device *d = l->device;
    int status = hcy_fault_launch(d->dev);
    if (status)
        return status;
    uint64_t delay = (uint64_t)d->delay_us, us = delay && l->items > UINT64_MAX / delay ? UINT64_MAX : l->items * delay;
    struct timespec left = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };
    /* A signal ends a nap early; the rest of it is slept then. */
    while (nanosleep(&left, &left) && errno == EINTR)
        ;
    return 0;
}

static int null_launch(void *qimpl, void *kimpl, const hcy_launch_desc *launch, hcy_keep *keep)
{
    struct null_queue *q = qimpl;
    struct launch l = { q->device, launch->items };
    atomic_fetch_add(&q->device->launches, 1);
    return hcy_hostqueue_submit(q->host, ((struct null_kernel *)kimpl)->name, 0, run_noop, &l, sizeof l,
                                keep);
}

static int null_finish(void *qimpl)
{
    return hcy_hostqueue_finish(((struct null_queue *)qimpl)->host);
}

static int null_finished(void *qimpl)
{
    return hcy_hostqueue_finished(((struct null_queue *)qimpl)->host);
}

static int null_status(void *qimpl)
{
    return hcy_hostqueue_status(((struct null_queue *)qimpl)->host);
}

static int null_record(void **eimpl, void *qimpl)
{
    return hcy_hostqueue_record(eimpl, ((struct null_queue *)qimpl)->host);
}

static int null_wait(void *qimpl, hcy_event *event)
{
    struct null_queue *q = qimpl;
    /* The HAL then waits on the host, which tests want to see as well. */
    if (q->device->wait_on_host)
        return hcy_fail(HCY_EUNSUPPORTED, "this null device does not wait for events, as @wait=host asked");
    return hcy_hostqueue_wait(q->host, event);
}

/* --- Kernels: none, or any --- */

static int null_kernel_get(void **kimpl, const char **variant, void *impl, const hcy_signature *signature)
{
    struct null_device *d = impl;
    if (!d->noop)
        return hcy_fail(HCY_EUNSUPPORTED,
                        "the null device has no kernel \"%s\" (null@kernels=noop takes every one)",
                        signature->name);
    struct null_kernel *k = malloc(sizeof *k);
    if (!k)
        return hcy_fail(HCY_ENOMEM, "out of memory for a kernel");
    /* The signature is static data of the family's, so its name may be kept. */
    *k = (struct null_kernel){ d, signature->name };
    *kimpl = k;
    *variant = "noop";
    return 0;
}

static void null_kernel_release(void *kimpl)
{
    free(kimpl);
}

/* Tables are never looked at: whatever the family hands over becomes one small block. */
static int null_prepare(hcy_block *tables, void *kimpl, const hcy_span *spans, size_t n)
{
    (void)spans;
    (void)n;
    return null_alloc(tables, ((struct null_kernel *)kimpl)->device, HCY_MEM_DEVICE, ALIGNMENT);
}

static int null_scratch_size(size_t *size, void *kimpl, size_t items, const hcy_value *values, size_t n)
{
    (void)kimpl;
    (void)items;
    (void)values;
    (void)n;
    /* What computes nothing needs no space. */
    *size = 0;
    return 0;
}

static int null_preferred_batch(size_t *items, void *kimpl, const hcy_value *values, size_t n)
{
    (void)kimpl;
    (void)values;
    (void)n;
    /* The delay is the same for every item, so that larger launches gain nothing. */
    *items = 1;
    return 0;
}

/* --- What the HAL sees.  A slot that is left out is "unsupported". --- */

static const hcy_backend_ops ops = {
    .size = sizeof(hcy_backend_ops),
    .list = null_list,
    .open = null_open,
    .close = null_close,
    .get_i64 = null_get_i64,
    .alloc = null_alloc,
    .free = null_free,
    .import_host = null_import_host,
    .queue_create = null_queue_create,
    .queue_destroy = null_queue_destroy,
    .copy = null_copy,
    .fill = null_fill,
    .launch = null_launch,
    .finish = null_finish,
    .finished = null_finished,
    .status = null_status,
    .record = null_record,
    .wait = null_wait,
    .event_wait = hcy_hostevent_wait,
    .event_query = hcy_hostevent_query,
    .event_time = hcy_hostevent_time,
    .event_destroy = hcy_hostevent_destroy,
    .kernel_get = null_kernel_get,
    .kernel_release = null_kernel_release,
    .prepare = null_prepare,
    .scratch_size = null_scratch_size,
    .preferred_batch = null_preferred_batch,
};

static const hcy_backend null = {
    .abi = HCY_BACKEND_ABI,
    .size = sizeof(hcy_backend),
    .name = "null",
    .ops = &ops,
    .families = hcy__families,
};

HCY_BACKEND_HEAD(null);

HCY_BACKEND_HEAD(null)
{
    if (host_abi != HCY_BACKEND_ABI)
        return hcy_fail(HCY_EABI, "the null backend speaks interface %u, the library %u", HCY_BACKEND_ABI,
                        host_abi);
    *backend = &null;
    return 0;
}
