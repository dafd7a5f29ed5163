/* kernel.c - launches.
 *
 * A kernel's arguments belong to it, not to a launch: they are set, and the launch handed over, under the kernel's
 * lock.  Beside arguments a user's kernel may want local memory of a size given at the launch: that is one more
 * argument behind the others, a __local pointer.
 */
#include "cl_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARTS 64

/* --- The operations of backends/gpu --- */

struct function {
    cl_kernel kernel;
    pthread_mutex_t lock;
    struct function *next;
};

struct module {
    cl_program program;
    struct function *functions;
};

static int build_module(void *device, const char *text, const char *const *options, int n, void **out)
{
    struct cl_device *d = device;
    char all[1024];
    size_t used = (size_t)snprintf(all, sizeof all, "%s", d->options);
    struct module *m = calloc(1, sizeof *m);
    if (!m)
        return hcy_fail(HCY_ENOMEM, "out of memory for a kernel");
    /* snprintf tells what it would have written: beyond the end the options are incomplete and refused. */
    for (int i = 0; i < n && used < sizeof all; i++)
        used += (size_t)snprintf(all + used, sizeof all - used, " %s", options[i]);
    int status = used < sizeof all ? cl_build(&m->program, NULL, d, text, all)
                                   : hcy_fail(HCY_ERANGE, "too many options for a kernel's compiler");
    if (status)
        free(m);
    else
        *out = m;
    return status;
}

static void release_module(void *device, void *module)
{
    struct module *m = module;
    (void)device;
    /* Kernels refer to their program, so it goes last. */
    while (m->functions) {
        struct function *f = m->functions;
        m->functions = f->next;
        cl.clReleaseKernel(f->kernel);
        pthread_mutex_destroy(&f->lock);
        free(f);
    }
    cl.clReleaseProgram(m->program);
    free(m);
}

static int create_function(void *device, void *module, const char *name, uint32_t local_bytes, void **out)
{
    struct cl_device *d = device;
    struct module *m = module;
    cl_int error = 0;
    struct function *f = calloc(1, sizeof *f);
    /* Our texts have static local memory under OpenCL, so nothing must be allowed for a launch. */
    (void)local_bytes;
    if (!f)
        return hcy_fail(HCY_ENOMEM, "out of memory for a kernel");
    f->kernel = cl.clCreateKernel(m->program, name, &error);
    if (error) {
        free(f);
        return cl_fail(d, error, "finding a kernel");
    }
    pthread_mutex_init(&f->lock, NULL);
    /* The caller holds the kernel's lock, so the list needs none of its own. */
    f->next = m->functions;
    m->functions = f;
    *out = f;
    return 0;
}

/* A buffer is two arguments: the whole of it, and where its part begins. */
static int set_cl_arguments(struct cl_device *d, cl_kernel kernel, const struct gpu_arg *args, size_t n)
{
    cl_int code = CL_SUCCESS;
    cl_uint at = 0;
    for (size_t i = 0; !code && i < n; i++) {
        if (!args[i].buffer) {
            code = cl.clSetKernelArg(kernel, at++, args[i].size, args[i].bytes);
            continue;
        }
        /* OpenCL 1.2 has no addresses to add to, so the text adds the offset itself (OPEN in dialect.h). */
        cl_mem mem = cl_mem_of(args[i].buffer->block);
        cl_ulong offset = args[i].buffer->offset + args[i].offset;
        code = cl.clSetKernelArg(kernel, at++, sizeof mem, &mem);
        if (!code)
            code = cl.clSetKernelArg(kernel, at++, sizeof offset, &offset);
    }
    return cl_check(d, code, "setting a kernel's arguments");
}

static int enqueue_step(void *queue, void *function, const struct gpu_grid *grid, const struct gpu_arg *args,
                        size_t n)
{
    struct cl_lane *lane = queue;
    struct function *f = function;
    size_t group[2] = { grid->group, 1 },
           items[2] = { (size_t)grid->groups[0] * grid->group, grid->groups[1] };
    /* The driver copies arguments when the kernel is enqueued, so the lock need not be held while it runs. */
    pthread_mutex_lock(&f->lock);
    int status = set_cl_arguments(lane->dev, f->kernel, args, n);
    if (!status)
        status =
            cl_check(lane->dev,
                     cl.clEnqueueNDRangeKernel(lane->queue, f->kernel, 2, NULL, items, group, 0, NULL, NULL),
                     "launching a kernel");
    pthread_mutex_unlock(&f->lock);
    return status;
}

static int zero_buffer(void *queue, const hcy_value *buffer, size_t offset, size_t size)
{
    static const uint64_t zeros;
    struct cl_lane *lane = queue;
    /* Wider patterns are fewer writes; a fill's place and size must be multiples of them. */
    size_t at = buffer->offset + offset, n = at % 8 || size % 8 ? 1 : 8;
    if (!size)
        return 0;
    return cl_check(
        lane->dev,
        cl.clEnqueueFillBuffer(lane->queue, cl_mem_of(buffer->block), &zeros, n, at, size, 0, NULL, NULL),
        "zeroing memory");
}

static int write_pieces(struct cl_device *d, const struct gpu_piece *pieces, size_t n, const hcy_block *block)
{
    struct cl_lane *lane = block->host ? NULL : cl_lane_take(d);
    cl_int code = CL_SUCCESS;
    if (!block->host && !lane)
        return hcy_last_error()->status;
    /* Shared memory is written at once; otherwise the copies follow one another without waits. */
    for (size_t i = 0; !code && i < n; i++)
        if (block->host)
            memcpy((char *)block->host + pieces[i].at, pieces[i].data, pieces[i].size);
        else if (pieces[i].size)
            code = cl.clEnqueueWriteBuffer(lane->queue, cl_mem_of(block), 0, pieces[i].at, pieces[i].size,
                                           pieces[i].data, 0, NULL, NULL);
    if (!lane)
        return 0;
    /* The pieces are freed by the caller, so they are waited for even if a copy has failed. */
    int status = cl_check(d, code, "copying a plan's tables");
    int ran = cl_check_ran(d, cl.clFinish(lane->queue), "copying a plan's tables");
    cl_lane_give(lane);
    return status ? status : ran;
}

static int write_tables(void *device, const struct gpu_piece *pieces, size_t n, size_t size, void *handle,
                        hcy_block *block)
{
    int status = cl_alloc(block, device, HCY_MEM_DEVICE, size);
    if (status)
        return status;
    status = write_pieces(device, pieces, n, block);
    if (status)
        cl_free(device, HCY_MEM_DEVICE, block);
    else
        ((struct cl_memory *)block->handle)->tables = handle;
    return status;
}

static const void *plan_of_block(const hcy_block *block)
{
    return ((const struct cl_memory *)block->handle)->tables;
}

/* --- The user's --- */

struct launch {
    struct cl_lane *lane;
    struct cl_kernel_object *kernel;
    const hcy_launch_desc *desc; /* lives as long as the command's keep */
};

/* A buffer's part as a cl_mem of its own, for the length of a launch. */
static int make_sub_buffer(struct cl_device *d, const hcy_value *v, cl_mem *part)
{
    const struct cl_region region = { v->offset, v->bytes_left };
    cl_int error = 0;
    if (v->offset % d->align)
        return hcy_fail(HCY_EINVAL,
                        "a view at byte %zu of its buffer: %s takes multiples of %zu for an argument",
                        v->offset, hcy_device_get_info(d->dev)->name, d->align);
    *part = cl.clCreateSubBuffer(cl_mem_of(v->block), CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                 &region, &error);
    return cl_check(d, error, "making a part of a buffer");
}

/* Parts are released once the launch has run. */
struct parts {
    cl_mem list[MAX_PARTS];
    size_t n;
};

static int set_user_argument(struct cl_device *d, cl_kernel kernel, cl_uint i, const hcy_value *v,
                             struct parts *parts)
{
    cl_mem mem = v->block ? cl_mem_of(v->block) : NULL;
    int status = 0;
    if (v->bytes)
        return cl_check(d, cl.clSetKernelArg(kernel, i, v->size, v->bytes), "setting an argument");
    /* A view is a sub-buffer, because the user's kernel takes one pointer and knows of no offset. */
    if (v->block && v->offset) {
        if (parts->n == MAX_PARTS)
            return hcy_fail(HCY_ERANGE, "a launch takes up to %d views of buffers", MAX_PARTS);
        status = make_sub_buffer(d, v, &mem);
        if (!status)
            parts->list[parts->n++] = mem;
    }
    return status ? status
                  : cl_check(d, cl.clSetKernelArg(kernel, i, sizeof mem, &mem), "setting an argument");
}

static int run_user_kernel(const struct launch *l, struct parts *parts)
{
    struct cl_device *d = l->lane->dev;
    const hcy_grid *g = l->desc->grid;
    size_t items[3], group[3];
    int status = 0;
    for (int i = 0; i < 3; i++) {
        group[i] = g->group[i];
        items[i] = (size_t)g->groups[i] * g->group[i];
    }
    /* Arguments belong to the kernel: two queues may launch it at once. */
    pthread_mutex_lock(&l->kernel->lock);
    for (cl_uint i = 0; !status && i < l->desc->n_values; i++)
        status = set_user_argument(d, l->kernel->user, i, &l->desc->values[i], parts);
    /* An argument of a size without bytes is local memory; its place is behind those that the HAL knows. */
    if (!status && g->local_bytes)
        status =
            cl_check(d, cl.clSetKernelArg(l->kernel->user, (cl_uint)l->desc->n_values, g->local_bytes, NULL),
                     "giving a kernel its local memory, behind its other arguments,");
    if (!status)
        status = cl_check(
            d,
            cl.clEnqueueNDRangeKernel(l->lane->queue, l->kernel->user, 3, NULL, items, group, 0, NULL, NULL),
            "launching the user's kernel");
    pthread_mutex_unlock(&l->kernel->lock);
    return status;
}

/* Its parts stay as long as the driver has the launch. */
static int enqueue_launch(const struct launch *l)
{
    struct parts parts = { .n = 0 };
    int status = hcy_fault_launch(l->lane->dev->dev);
    if (!status)
        status = l->kernel->user ? run_user_kernel(l, &parts) : gpu_kernel_launch(l->kernel->ours, l->lane, l->desc);
    while (parts.n)
        cl.clReleaseMemObject(parts.list[--parts.n]);
    return status;
}

static int run_cl_launch(void *command)
{
    const struct launch *l = command;
    const struct cl_span span = cl_lane_begin(l->lane);
    int status = enqueue_launch(l), ran = cl_check_ran(l->lane->dev, cl_lane_finish(l->lane, &span), "a kernel");
    return status ? status : ran;
}

/* Drivers may keep commands for themselves until they are told to begin.  Of a launch that failed, a part may run. */
static int start_cl_launch(void *command)
{
    const struct launch *l = command;
    int status = enqueue_launch(l);
    cl_int code = status ? cl.clFinish(l->lane->queue) : cl.clFlush(l->lane->queue);
    int ran = cl_check_ran(l->lane->dev, code, "a kernel");
    if (!status && ran)
        cl.clFinish(l->lane->queue);
    return status ? status : ran;
}

static int settle_cl_launch(void *command)
{
    const struct launch *l = command;
    return cl_check_ran(l->lane->dev, cl.clFinish(l->lane->queue), "a kernel");
}

/* What a launch does not set would be what an earlier one has, buffers that are gone among it. */
static int check_count(const struct cl_kernel_object *k, const hcy_launch_desc *launch)
{
    const size_t local = launch->grid->local_bytes ? 1 : 0;
    return launch->n_values + local == k->n_args
               ? 0
               : hcy_fail(HCY_EINVAL, "the program's kernel takes %u arguments, not %zu%s", k->n_args, launch->n_values,
                          local ? " and local memory" : "");
}

int cl_launch(void *qimpl, void *kimpl, const hcy_launch_desc *launch, hcy_keep *keep)
{
    struct cl_queue *q = qimpl;
    struct launch l = { q->lane, kimpl, launch };
    const char *name = l.kernel->user ? "user's kernel" : gpu_kernel_name(l.kernel->ours);
    /* Each launch has a time of its own only if it is waited for. */
    const bool timed = q->lane->dev->measures || hcy_trace_on();
    int status = l.kernel->user ? check_count(l.kernel, launch) : 0;
    return status ? status
                  : hcy_hostqueue_start(q->host, name, 0, timed ? run_cl_launch : start_cl_launch,
                                        timed ? NULL : settle_cl_launch, &l, sizeof l, keep);
}

void cl_kernel_release(void *kimpl)
{
    struct cl_kernel_object *k = kimpl;
    if (k->user) {
        cl.clReleaseKernel(k->user);
        pthread_mutex_destroy(&k->lock);
    } else {
        gpu_kernel_release(k->ours);
    }
    free(k);
}

int cl_kernel_i64(int64_t *value, void *kimpl, const char *key)
{
    static const struct {
        const char *key;
        cl_uint what;
    } numbers[] = { { "group_items", CL_KERNEL_WORK_GROUP_SIZE },
                    { "group_multiple", CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE },
                    { "local_bytes", CL_KERNEL_LOCAL_MEM_SIZE },
                    { "private_bytes", CL_KERNEL_PRIVATE_MEM_SIZE } };
    struct cl_kernel_object *k = kimpl;
    uint64_t number = 0; /* size_t or cl_ulong, of 64 bits both */
    /* A kernel of ours is several kernels of OpenCL, for which no one number would be true. */
    if (!k->user)
        return hcy_fail(HCY_ENOENT, "only a user's kernel has numbers, \"%s\" among them", key);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!strcmp(key, numbers[i].key)) {
            int status = cl_check(k->dev,
                                  cl.clGetKernelWorkGroupInfo(k->user, k->dev->at.device, numbers[i].what,
                                                              sizeof number, &number, NULL),
                                  "asking for a kernel's attribute");
            *value = (int64_t)number;
            return status;
        }
    return hcy_fail(HCY_ENOENT,
                    "an OpenCL kernel has no number \"%s\" (group_items, group_multiple, local_bytes,"
                    " private_bytes)",
                    key);
}

/* --- Ours, as the HAL knows them --- */

int cl_kernel_get(void **kimpl, const char **variant, void *impl, const hcy_signature *signature)
{
    struct cl_device *d = impl;
    const struct cl_quirk *quirk = d->at.quirk;
    if (*d->lacks)
        return hcy_fail(HCY_EUNSUPPORTED, "%s has no kernel \"%s\": it lacks %s",
                        hcy_device_get_info(d->dev)->name, signature->name, d->lacks);
    /* Whether the device can have kernels at all was found when it was opened. */
    struct cl_kernel_object *k = calloc(1, sizeof *k);
    if (!k)
        return hcy_fail(HCY_ENOMEM, "out of memory for a kernel");
    k->dev = d;
    k->ops = (struct gpu_ops){ .compile = build_module, .module_release = release_module, .function = create_function,
                               .launch = enqueue_step, .zero = zero_buffer, .tables = write_tables,
                               .plan = plan_of_block,
                               .units = d->at.info.units, .lanes = quirk->lanes,
                               .products = (d->capability >= 8) + (d->capability >= 9), .alone = d->alone,
                               .static_local = true, .atomics32 = d->atomics32, .row = gpu_row_of(&d->choice),
                               .group_items = (size_t)cl_number(d->at.device, CL_DEVICE_MAX_WORK_GROUP_SIZE) };
    int status = gpu_kernel_get(&k->ours, &k->ops, d, signature->name);
    if (status) {
        free(k);
        return status;
    }
    *kimpl = k;
    *variant = quirk->lanes ? "ptx" : "portable";
    if (d->alone)
        *variant = "processor";
    return 0;
}

static struct gpu_kernel *kernel_of_ours(struct cl_kernel_object *k)
{
    if (!k->ours)
        hcy_fail(HCY_EUNSUPPORTED, "a user's kernel has no tables and asks for no scratch memory");
    return k->ours;
}

int cl_prepare(hcy_block *block, void *kimpl, const hcy_span *spans, size_t n)
{
    struct gpu_kernel *k = kernel_of_ours(kimpl);
    return k ? gpu_kernel_prepare(k, spans, n, block) : HCY_EUNSUPPORTED;
}

int cl_scratch_size(size_t *size, void *kimpl, size_t items, const hcy_value *values, size_t n)
{
    struct gpu_kernel *k = kernel_of_ours(kimpl);
    return k ? gpu_kernel_scratch_size(size, k, items, values, n) : HCY_EUNSUPPORTED;
}

int cl_preferred_batch(size_t *items, void *kimpl, const hcy_value *values, size_t n)
{
    struct gpu_kernel *k = kernel_of_ours(kimpl);
    return k ? gpu_kernel_preferred_batch(items, k, values, n) : HCY_EUNSUPPORTED;
}
