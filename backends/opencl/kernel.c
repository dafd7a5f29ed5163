/* kernel.c - launches.
 *
 * A kernel's arguments belong to it, not to a launch: they are set, and the launch handed over, under the kernel's
 * lock.  Beside arguments a user's kernel may want local memory of a size given at the launch: that is one more
 * argument behind the others, a __local pointer.
 */
#include "cl_priv.h"

#include <stdlib.h>

#define MAX_PARTS 64

struct launch {
    struct cl_lane *lane;
    struct cl_kernel_object *kernel;
    const hcy_launch_desc *desc; /* lives as long as the command's keep */
};

/* A buffer's part as a cl_mem of its own, for the length of a launch. */
static int part_of(struct cl_device *d, const hcy_value *v, cl_mem *part)
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
    if (v->block && v->offset) {
        if (parts->n == MAX_PARTS)
            return hcy_fail(HCY_ERANGE, "a launch takes up to %d views of buffers", MAX_PARTS);
        status = part_of(d, v, &mem);
        if (!status)
            parts->list[parts->n++] = mem;
    }
    return status ? status
                  : cl_check(d, cl.clSetKernelArg(kernel, i, sizeof mem, &mem), "setting an argument");
}

static int run_user(const struct launch *l, struct parts *parts)
{
    struct cl_device *d = l->lane->dev;
    const hcy_grid *g = l->desc->grid;
    size_t items[3], group[3];
    int status = 0;
    for (int i = 0; i < 3; i++) {
        group[i] = g->group[i];
        items[i] = (size_t)g->groups[i] * g->group[i];
    }
    pthread_mutex_lock(&l->kernel->lock);
    for (cl_uint i = 0; !status && i < l->desc->n_values; i++)
        status = set_user_argument(d, l->kernel->user, i, &l->desc->values[i], parts);
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

static int run_launch(void *command)
{
    const struct launch *l = command;
    struct cl_device *d = l->lane->dev;
    if (cl_strikes(&d->lose_launch))
        return hcy_device_lose(d->dev, "a launch, as @lose-launch asked");
    if (cl_strikes(&d->fail_launch))
        return hcy_fail(HCY_ELAUNCH, "a launch, as @fail-launch asked");
    struct parts parts = { .n = 0 };
    int status = run_user(l, &parts), ran = cl_check_ran(d, cl.clFinish(l->lane->queue), "a kernel");
    while (parts.n)
        cl.clReleaseMemObject(parts.list[--parts.n]);
    return status ? status : ran;
}

int cl_launch(void *qimpl, void *kimpl, const hcy_launch_desc *launch, hcy_keep *keep)
{
    struct cl_queue *q = qimpl;
    struct launch l = { q->lane, kimpl, launch };
    return hcy_hostqueue_submit(q->host, "user's kernel", 0, run_launch, &l, sizeof l, keep);
}

void cl_kernel_release(void *kimpl)
{
    struct cl_kernel_object *k = kimpl;
    if (k->user) {
        cl.clReleaseKernel(k->user);
        pthread_mutex_destroy(&k->lock);
    }
    free(k);
}
