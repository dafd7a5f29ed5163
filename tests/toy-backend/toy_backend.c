/* toy_backend.c - a backend from outside of the library: one device on the host's memory, and a family of its own.
 *
 * What tests/toy.t builds against the headers alone, as a vendor would; backends/null is the skeleton with a guide.
 */
#include "toy.h"

#include <halcyon/backend.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HCY_KERNELS_DEF "kernels.def"
#include <halcyon/family.h>

#define MEMORY ((uint64_t)1 << 30)

struct toy_device {
    hcy_device *dev; /* not a reference */
    bool backwards;
};

struct toy_kernel {
    struct toy_device *device;
};

struct toy_queue {
    struct toy_device *device;
    hcy_hostqueue *host;
};

static const hcy_option options[] = {
    { "backwards", HCY_OPTION_BOOL, offsetof(struct toy_device, backwards), "the last row first", 0, 0, NULL },
    { .key = NULL },
};

/* --- Devices and memory --- */

static void describe(hcy_device_info *info, const char *name)
{
    *info = (hcy_device_info){ .backend = "toy", .description = "a backend out of tree", .kind = HCY_KIND_OTHER,
                               .caps = HCY_CAP_F64 | HCY_CAP_HOST_MEMORY | HCY_CAP_VIRTUAL, .units = 1,
                               .memory = MEMORY };
    snprintf(info->name, sizeof info->name, "%s", name);
    snprintf(info->stable, sizeof info->stable, "%s", name);
}

static int toy_list(hcy_device_info **infos, size_t *n)
{
    *infos = malloc(sizeof **infos);
    if (!*infos)
        return hcy_fail(HCY_ENOMEM, "out of memory for the list of devices");
    describe(*infos, "toy");
    *n = 1;
    return 0;
}

static int toy_open(void **impl, hcy_device_info *info, hcy_device *dev, const hcy_spec *spec)
{
    if (*spec->selector)
        return hcy_fail(HCY_ENODEV, "\"%s\": there is one toy", spec->text);
    struct toy_device *d = calloc(1, sizeof *d);
    if (!d)
        return hcy_fail(HCY_ENOMEM, "out of memory for a device");
    d->dev = dev;
    int status = hcy_options_read(d, spec, options);
    if (status) {
        free(d);
        return status;
    }
    describe(info, spec->text);
    *impl = d;
    return 0;
}

static void toy_close(void *impl)
{
    free(impl);
}

static int toy_alloc(hcy_block *block, void *impl, int mem, size_t size)
{
    void *p;
    (void)impl;
    (void)mem;
    if (size > MEMORY || posix_memalign(&p, 64, size))
        return hcy_fail(HCY_ENOMEM, "the toy has no %zu bytes", size);
    *block = (hcy_block){ .handle = p, .address = (uintptr_t)p, .host = p, .size = size };
    return 0;
}

static void toy_free(void *impl, int mem, hcy_block *block)
{
    (void)impl;
    (void)mem;
    free(block->handle);
}

/* --- Queues: the HAL's --- */

static int toy_queue_create(void **qimpl, void *impl, hcy_queue *queue)
{
    struct toy_queue *q = malloc(sizeof *q);
    if (!q)
        return hcy_fail(HCY_ENOMEM, "out of memory for a queue");
    q->device = impl;
    int status = hcy_hostqueue_create(&q->host, q->device->dev, queue);
    if (status)
        free(q);
    else
        *qimpl = q;
    return status;
}

static void toy_queue_destroy(void *qimpl)
{
    struct toy_queue *q = qimpl;
    hcy_hostqueue_destroy(q->host);
    free(q);
}

static int toy_copy(void *qimpl, const hcy_copy *copy, hcy_keep *keep)
{
    if ((copy->dst.block && !copy->dst.block->host) || (copy->src.block && !copy->src.block->host))
        return hcy_fail(HCY_EUNSUPPORTED, "the toy reaches the host's memory alone");
    return hcy_hostqueue_copy(((struct toy_queue *)qimpl)->host, copy, keep);
}

static int toy_fill(void *qimpl, const hcy_place *dst, size_t size, const void *pattern, size_t pattern_size,
                    hcy_keep *keep)
{
    return hcy_hostqueue_fill(((struct toy_queue *)qimpl)->host, dst, size, pattern, pattern_size, keep);
}

static int toy_finish(void *qimpl)
{
    return hcy_hostqueue_finish(((struct toy_queue *)qimpl)->host);
}

static int toy_status(void *qimpl)
{
    return hcy_hostqueue_status(((struct toy_queue *)qimpl)->host);
}

static int toy_record(void **eimpl, void *qimpl)
{
    return hcy_hostqueue_record(eimpl, ((struct toy_queue *)qimpl)->host);
}

static int toy_wait(void *qimpl, hcy_event *event)
{
    return hcy_hostqueue_wait(((struct toy_queue *)qimpl)->host, event);
}

/* --- Kernels: toy_sum --- */

static int toy_kernel_get(void **kimpl, const char **variant, void *impl, const hcy_signature *signature)
{
    struct toy_kernel *k;
    if (strcmp(signature->name, "toy_sum"))
        return hcy_fail(HCY_EUNSUPPORTED, "the toy has no kernel \"%s\"", signature->name);
    if (!(k = malloc(sizeof *k)))
        return hcy_fail(HCY_ENOMEM, "out of memory for a kernel");
    k->device = impl;
    *kimpl = k;
    *variant = "toy";
    return 0;
}

static void toy_kernel_release(void *kimpl)
{
    free(kimpl);
}

struct launch {
    const struct toy_device *device;
    const hcy_launch_desc *desc;
};

static int run_launch(void *command)
{
    const struct launch *l = command;
    void *args[4];
    int status = hcy_fault_launch(l->device->dev);
    for (size_t i = 0; i < 4; i++) {
        const hcy_value *v = &l->desc->values[i];
        args[i] = v->block ? (char *)v->block->host + v->offset : (void *)(uintptr_t)v->bytes;
    }
    for (size_t i = 0; !status && i < l->desc->items; i++) {
        size_t row = l->device->backwards ? l->desc->items - 1 - i : i;
        status = toy_sum(&(hcy_cpu_group){ .id = { (uint32_t)row } }, args);
    }
    return status;
}

static int toy_launch(void *qimpl, void *kimpl, const hcy_launch_desc *desc, hcy_keep *keep)
{
    const struct launch l = { ((struct toy_kernel *)kimpl)->device, desc };
    return hcy_hostqueue_submit(((struct toy_queue *)qimpl)->host, "toy_sum", 0, run_launch, &l, sizeof l, keep);
}

static int toy_scratch_size(size_t *size, void *kimpl, size_t items, const hcy_value *values, size_t n)
{
    (void)kimpl;
    (void)values;
    (void)n;
    return hcy_size_mul(size, items, sizeof(uint64_t));
}

/* --- The table --- */

static const hcy_backend_ops ops = {
    .size = sizeof ops,
    .list = toy_list,
    .open = toy_open,
    .close = toy_close,
    .alloc = toy_alloc,
    .free = toy_free,
    .queue_create = toy_queue_create,
    .queue_destroy = toy_queue_destroy,
    .copy = toy_copy,
    .fill = toy_fill,
    .launch = toy_launch,
    .finish = toy_finish,
    .status = toy_status,
    .record = toy_record,
    .wait = toy_wait,
    .event_wait = hcy_hostevent_wait,
    .event_query = hcy_hostevent_query,
    .event_time = hcy_hostevent_time,
    .event_destroy = hcy_hostevent_destroy,
    .kernel_get = toy_kernel_get,
    .kernel_release = toy_kernel_release,
    .scratch_size = toy_scratch_size,
};

static const hcy_family *const families[] = { &family_toy, NULL };
static const hcy_backend toy = { HCY_BACKEND_ABI, sizeof toy, "toy", &ops, families };

HCY_BACKEND_HEAD(toy);

HCY_BACKEND_HEAD(toy)
{
    if (host_abi != HCY_BACKEND_ABI)
        return hcy_fail(HCY_EABI, "the toy speaks interface %u, the library %u", HCY_BACKEND_ABI, host_abi);
    *backend = &toy;
    return 0;
}
