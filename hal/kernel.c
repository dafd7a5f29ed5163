/* kernel.c - kernels: signatures looked up and checked here, run by a backend.  Thread-safe.
 *
 * A launch's arguments are taken apart once, into values that live with the command (in its keep): the backend gets
 * memory it may keep pointing to until the command has run.
 */
#include "hal_priv.h"
#include "thread.h"

#include <stdlib.h>
#include <string.h>

/* Of a launch that may run at once: as many as a kernel of the library's has at most. */
enum { MOST_VALUES_NOW = 12 };

static void destroy_kernel(void *object)
{
    hcy_kernel *kernel = object;
    if (hcy__forked())
        return;
    if (HCY_HAS_OP(kernel->dev->backend->ops, kernel_release))
        kernel->dev->backend->ops->kernel_release(kernel->impl);
    hcy_program_release(kernel->program);
    hcy_device_release(kernel->dev);
    free(kernel->own_signature);
    free(kernel);
}

hcy_kernel *hcy__kernel_new(hcy_device *dev, const hcy_signature *signature)
{
    hcy_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel) {
        hcy_fail(HCY_ENOMEM, "out of memory for a kernel's record");
        return NULL;
    }
    hcy__object_init(kernel, destroy_kernel);
    kernel->dev = dev;
    kernel->signature = signature;
    kernel->variant = "";
    return kernel;
}

/* Gets the backend's own kernel of that name. */
static int get_own(hcy_kernel *kernel)
{
    const hcy_device *dev = kernel->dev;
    if (!HCY_HAS_OP(dev->backend->ops, kernel_get))
        return hcy__unsupported(dev, kernel->signature->name);
    return dev->backend->ops->kernel_get(&kernel->impl, &kernel->variant, dev->impl, kernel->signature);
}

/* That which its family brought along for such a backend. */
static int get_code(hcy_kernel *kernel, const hcy_kernel_code *code)
{
    hcy_program *program = NULL;
    int status = hcy_program_create(&program, kernel->dev, code->format, code->data, code->size, code->options);
    if (!status)
        status = kernel->dev->backend->ops->program_kernel(&kernel->impl, program->impl, code->kernel,
                                                           kernel->signature);
    if (status) {
        hcy_program_release(program);
        return status;
    }
    kernel->program = program;
    kernel->code = code;
    kernel->variant = code->format;
    return 0;
}

int hcy_kernel_get(hcy_kernel **out, hcy_device *dev, const char *name)
{
    int status = hcy__device_check(dev);
    if (status)
        return status;
    if (!out || !name)
        return hcy_fail(HCY_EINVAL, "hcy_kernel_get: %s", out ? "no name" : "no place for the kernel");
    const hcy_signature *signature = hcy__signature_find(name);
    if (!signature)
        return hcy_fail(HCY_ENOENT, "no kernel family of this library, or registered, has a kernel \"%s\"", name);
    hcy_kernel *kernel = hcy__kernel_new(dev, signature);
    if (!kernel)
        return HCY_ENOMEM;
    status = get_own(kernel);
    const hcy_kernel_code *code = status == HCY_EUNSUPPORTED ? hcy__code_find(name, dev->backend->name) : NULL;
    if (code)
        status = get_code(kernel, code);
    if (status) {
        free(kernel);
        return status;
    }
    hcy_device_retain(dev);
    *out = kernel;
    return 0;
}

hcy_kernel *hcy_kernel_retain(hcy_kernel *kernel)
{
    return hcy__retain(kernel);
}

void hcy_kernel_release(hcy_kernel *kernel)
{
    hcy__release(kernel);
}

const hcy_signature *hcy_kernel_signature(const hcy_kernel *kernel)
{
    return kernel ? kernel->signature : NULL;
}

int hcy_kernel_get_i64(int64_t *value, hcy_kernel *kernel, const char *key)
{
    if (!value || !kernel)
        return hcy_fail(HCY_EINVAL, "hcy_kernel_get_i64: no %s", value ? "kernel" : "place for the value");
    if (!key)
        return hcy_fail(HCY_EINVAL, "hcy_kernel_get_i64: no key");
    int status = hcy__device_check(kernel->dev);
    if (status)
        return status;
    if (!HCY_HAS_OP(kernel->dev->backend->ops, kernel_i64))
        return hcy_fail(HCY_ENOENT, "a kernel of %s has no number \"%s\"", kernel->dev->info.name, key);
    return kernel->dev->backend->ops->kernel_i64(value, kernel->impl, key);
}

const char *hcy_kernel_variant(const hcy_kernel *kernel)
{
    return kernel ? kernel->variant : "";
}

/* --- Arguments --- */

static const char *const type_names[] = { /* in the order of enum hcy_arg_type */
    "?", "buffer", "buffer", "buffer", "scratch buffer", "tables", "int32", "uint32", "int64", "uint64", "float",
    "double", "structure"
};

static bool is_buffer(int type)
{
    return type >= HCY_ARG_IN && type <= HCY_ARG_TABLES;
}

static const char *type_name(int type)
{
    return type > 0 && (size_t)type < sizeof type_names / sizeof type_names[0] ? type_names[type]
                                                                               : type_names[0];
}

static uint32_t scalar_size(int type, uint32_t struct_size)
{
    switch (type) {
    case HCY_ARG_I32:
    case HCY_ARG_U32:
    case HCY_ARG_F32:
        return 4;
    case HCY_ARG_I64:
    case HCY_ARG_U64:
    case HCY_ARG_F64:
        return 8;
    default:
        return struct_size;
    }
}

/* What argument i is called in messages. */
static const char *arg_name(const hcy_kernel *kernel, size_t i)
{
    return kernel->signature ? kernel->signature->args[i].name : "of the user's kernel";
}

static const char *kernel_name(const hcy_kernel *kernel)
{
    return kernel->signature ? kernel->signature->name : "user's kernel";
}

static int check_type(const hcy_kernel *kernel, const hcy_arg *arg, size_t i)
{
    const hcy_arg_decl *want = &kernel->signature->args[i];
    bool same = is_buffer(want->type) ? is_buffer(arg->type) : arg->type == want->type;
    if (!same)
        return hcy_fail(HCY_EINVAL, "kernel %s: argument %zu (%s) is a %s, it must be a %s",
                        kernel_name(kernel), i + 1, want->name, type_name(arg->type), type_name(want->type));
    if (want->type == HCY_ARG_STRUCT && arg->size != want->size)
        return hcy_fail(HCY_EINVAL,
                        "kernel %s: argument %zu (%s) is a structure of %u bytes, it must have %u",
                        kernel_name(kernel), i + 1, want->name, arg->size, want->size);
    return 0;
}

static int check_buffer(const hcy_kernel *kernel, const hcy_arg *arg, int type, size_t i, bool may_be_absent)
{
    const hcy_buffer *buf = arg->v.buf;
    if (!buf && !may_be_absent && type != HCY_ARG_SCRATCH)
        return hcy_fail(HCY_EINVAL, "kernel %s: argument %zu (%s) is NULL, not a buffer", kernel_name(kernel),
                        i + 1, arg_name(kernel, i));
    if (buf && buf->dev != kernel->dev)
        return hcy_fail(
            HCY_EINVAL, "kernel %s: argument %zu (%s) is a buffer of device %s, the kernel is on %s",
            kernel_name(kernel), i + 1, arg_name(kernel, i), buf->dev->info.name, kernel->dev->info.name);
    if (buf && type == HCY_ARG_TABLES && buf->origin != HCY__TABLES)
        return hcy_fail(
            HCY_EINVAL,
            "kernel %s: argument %zu (%s) is a plain buffer, it must come from hcy_kernel_prepare()",
            kernel_name(kernel), i + 1, arg_name(kernel, i));
    return 0;
}

static inline void set_buffer_value(hcy_value *v, const hcy_buffer *buf, int type)
{
    /* One by one: compilers put a compound value together on the stack, of pieces that are read again as one before
     * they are written, which stalls longer than all else that a small launch takes. */
    v->type = type;
    v->size = 0;
    v->block = &buf->block;
    v->offset = buf->offset;
    v->bytes_left = buf->size;
    v->bytes = NULL;
}

/* Whether all are buffers and structures of which nothing needs to be said: small launches have little else to do.
 * Where they are, they are in `values` too, if that is not NULL. */
static bool are_plain(hcy_value *values, const hcy_kernel *kernel, const hcy_arg *args, size_t n)
{
    const hcy_device *dev = kernel->dev;
    const hcy_arg_decl *want = kernel->signature ? kernel->signature->args : NULL;
    for (size_t i = 0; i < n; i++) {
        const hcy_arg *arg = &args[i];
        const hcy_buffer *buf = arg->v.buf;
        const int type = want ? want[i].type : arg->type;
        if (type == HCY_ARG_STRUCT) {
            if (arg->type != HCY_ARG_STRUCT || (want && arg->size != want[i].size) || !arg->v.bytes ||
                arg->size > HCY_ARG_STRUCT_MAX)
                return false;
            if (values)
                values[i] = (hcy_value){ .type = type, .size = arg->size, .bytes = arg->v.bytes };
        } else {
            if (type > HCY_ARG_INOUT || !is_buffer(arg->type) || !buf || buf->dev != dev)
                return false;
            if (values)
                set_buffer_value(&values[i], buf, type);
        }
    }
    return true;
}

static int check_args(const hcy_kernel *kernel, const hcy_arg *args, size_t n, bool may_be_absent)
{
    if (n && !args)
        return hcy_fail(HCY_EINVAL, "kernel %s: no arguments", kernel_name(kernel));
    if (kernel->signature && n != kernel->signature->n_args)
        return hcy_fail(HCY_EINVAL, "kernel %s takes %zu arguments, not %zu", kernel_name(kernel),
                        kernel->signature->n_args, n);
    int status = 0;
    if (are_plain(NULL, kernel, args, n))
        return 0;
    for (size_t i = 0; !status && i < n; i++) {
        int type = kernel->signature ? kernel->signature->args[i].type : args[i].type;
        if (kernel->signature)
            status = check_type(kernel, &args[i], i);
        if (!status && is_buffer(type))
            status = check_buffer(kernel, &args[i], type, i, may_be_absent);
        else if (!status && (type < HCY_ARG_I32 || type > HCY_ARG_STRUCT))
            status = hcy_fail(HCY_EINVAL, "kernel %s: argument %zu has no type of HCY_ARG_*",
                              kernel_name(kernel), i + 1);
        else if (!status && type == HCY_ARG_STRUCT && (!args[i].v.bytes || args[i].size > HCY_ARG_STRUCT_MAX))
            status = hcy_fail(HCY_EINVAL, "kernel %s: argument %zu (%s) is a structure %s",
                              kernel_name(kernel), i + 1, arg_name(kernel, i),
                              args[i].v.bytes ? "that is too large" : "without an address");
    }
    return status;
}

/* What a checked argument is for the backend; scalars and structures stay where the caller has them. */
static void set_value(hcy_value *v, const hcy_kernel *kernel, const hcy_arg *arg, size_t i)
{
    const hcy_buffer *buf = arg->v.buf;
    int type = kernel->signature ? kernel->signature->args[i].type : arg->type;
    if (!is_buffer(type))
        *v = (hcy_value){ .type = type, .size = scalar_size(type, arg->size),
                          .bytes = type == HCY_ARG_STRUCT ? arg->v.bytes : &arg->v };
    else if (buf)
        set_buffer_value(v, buf, type);
    else
        *v = (hcy_value){ .type = type };
}

struct launch {
    hcy_launch_desc desc;
    hcy_grid grid;
    hcy_value *values;
};

/* Values of checked arguments, in the storage of a keep that also holds the buffers and the kernel. */
static int take_args(hcy_keep **out, struct launch **launch, hcy_kernel *kernel, const hcy_arg *args,
                     size_t n)
{
    void *storage;
    size_t slot = HCY_ARG_STRUCT_MAX;
    size_t extra = sizeof(struct launch) + n * (sizeof(hcy_value) + slot);
    /* One allocation holds the references, the values and the scalars, and lives as long as the launch. */
    hcy_keep *keep = hcy__keep_new(kernel->dev, n + 1, extra, &storage);
    if (!keep)
        return hcy_fail(HCY_ENOMEM, "out of memory for a launch's record");
    *launch = memset(storage, 0, sizeof(struct launch) + n * sizeof(hcy_value));
    hcy_value *values = (*launch)->values = (hcy_value *)(*launch + 1);
    char *bytes = (char *)(values + n);
    hcy__keep_add(keep, kernel);
    for (size_t i = 0; i < n; i++) {
        hcy_value *v = &values[i];
        set_value(v, kernel, &args[i], i);
        if (is_buffer(v->type))
            hcy__keep_add(keep, args[i].v.buf);
        else
            /* A copy: the caller's structures may change as soon as the launch is submitted. */
            v->bytes = memcpy(bytes + i * slot, v->bytes, v->size);
    }
    (*launch)->desc.values = values;
    (*launch)->desc.n_values = n;
    *out = keep;
    return 0;
}

/* --- What a launch would need --- */

static int check_kernel_device(hcy_kernel *kernel)
{
    return kernel ? hcy__device_check(kernel->dev) : hcy_fail(HCY_EINVAL, "no kernel");
}

static bool takes_tables(const hcy_kernel *kernel)
{
    for (size_t i = 0; kernel->signature && i < kernel->signature->n_args; i++)
        if (kernel->signature->args[i].type == HCY_ARG_TABLES)
            return true;
    return false;
}

static int prepare_tables(hcy_buffer **tables, hcy_kernel *kernel, const hcy_span *spans, size_t n, bool few)
{
    int status = check_kernel_device(kernel);
    if (status)
        return status;
    if (!tables || (n && !spans))
        return hcy_fail(HCY_EINVAL, "hcy_kernel_prepare: no place for the tables, or no spans");
    if (!takes_tables(kernel))
        return hcy_fail(HCY_EUNSUPPORTED, "kernel %s takes no tables", kernel_name(kernel));
    if (!HCY_HAS_OP(kernel->dev->backend->ops, prepare))
        return hcy__unsupported(kernel->dev, "kernels with tables");
    hcy_block block = { 0 };
    const hcy_backend_ops *ops = kernel->dev->backend->ops;
    const bool is_few = few && HCY_HAS_OP(ops, prepare_few);
    fenv_t floats;
    /* The host's thread has a share in the tables, whose bits must be those that any other thread makes. */
    hcy__plain_floats(&floats);
    status = (is_few ? ops->prepare_few : ops->prepare)(&block, kernel->impl, spans, n);
    if (status == HCY_ENOMEM) { /* tables are no buffers of the pool's, which may be holding what they lack */
        hcy__pool_trim(kernel->dev->pool);
        status = (is_few ? ops->prepare_few : ops->prepare)(&block, kernel->impl, spans, n);
    }
    fesetenv(&floats);
    if (status)
        return status;
    status = hcy__buffer_tables(tables, kernel->dev, &block);
    if (status)
        kernel->dev->backend->ops->free(kernel->dev->impl, HCY_MEM_DEVICE, &block);
    return status;
}

int hcy_kernel_prepare(hcy_buffer **tables, hcy_kernel *kernel, const hcy_span *spans, size_t n)
{
    return prepare_tables(tables, kernel, spans, n, false);
}

int hcy_kernel_prepare_few(hcy_buffer **tables, hcy_kernel *kernel, const hcy_span *spans, size_t n)
{
    return prepare_tables(tables, kernel, spans, n, true);
}

int hcy_kernel_scratch_size(size_t *size, hcy_kernel *kernel, size_t items, const hcy_arg *args, size_t n)
{
    hcy_keep *keep;
    struct launch *launch;
    int status = check_kernel_device(kernel);
    if (!status && !size)
        status = hcy_fail(HCY_EINVAL, "hcy_kernel_scratch_size: no place for the answer");
    if (!status)
        status = check_args(kernel, args, n, true);
    if (status)
        return status;
    *size = 0;
    if (kernel->code)
        return hcy_size_mul(size, items, kernel->code->scratch);
    if (!HCY_HAS_OP(kernel->dev->backend->ops, scratch_size))
        return 0;
    status = take_args(&keep, &launch, kernel, args, n);
    if (status)
        return status;
    status = kernel->dev->backend->ops->scratch_size(size, kernel->impl, items, launch->desc.values, n);
    hcy_keep_release(keep);
    return status;
}

int hcy_kernel_preferred_batch(size_t *items, hcy_kernel *kernel, const hcy_arg *args, size_t n)
{
    hcy_keep *keep;
    struct launch *launch;
    int status = check_kernel_device(kernel);
    if (!status && !items)
        status = hcy_fail(HCY_EINVAL, "hcy_kernel_preferred_batch: no place for the answer");
    if (!status)
        status = check_args(kernel, args, n, true);
    if (status)
        return status;
    *items = 1;
    if (kernel->code) {
        *items = kernel->dev->info.units ? kernel->dev->info.units : 1;
        return 0;
    }
    if (!HCY_HAS_OP(kernel->dev->backend->ops, preferred_batch))
        return 0;
    status = take_args(&keep, &launch, kernel, args, n);
    if (status)
        return status;
    status = kernel->dev->backend->ops->preferred_batch(items, kernel->impl, launch->desc.values, n);
    hcy_keep_release(keep);
    return status;
}

/* --- Launches --- */

static int check_launch(hcy_queue *queue, hcy_kernel *kernel)
{
    if (!queue || !kernel)
        return hcy_fail(HCY_EINVAL, "a launch without a %s", queue ? "kernel" : "queue");
    if (queue->dev != kernel->dev)
        return hcy_fail(HCY_EINVAL, "kernel %s is on device %s, the queue on %s%s", kernel_name(kernel),
                        kernel->dev->info.name, queue->dev->info.name, hcy__opened_twice(kernel->dev, queue->dev));
    int status = hcy__queue_check(queue);
    if (!status && !HCY_HAS_OP(queue->dev->backend->ops, launch))
        status = hcy__unsupported(queue->dev, "launches");
    return status;
}

/* A small launch of an idle queue runs here: its arguments are the caller's and outlive it, so that nothing is kept.
 * HCY_EUNSUPPORTED: it is to be submitted, or its arguments have something to be said of. */
static int launch_now(hcy_queue *queue, hcy_kernel *kernel, size_t items, const hcy_arg *args, size_t n)
{
    hcy_value values[MOST_VALUES_NOW];
    const hcy_launch_desc desc = { .items = items, .values = values, .n_values = n };
    const hcy_signature *signature = kernel->signature;
    if (!HCY_HAS_OP(queue->dev->backend->ops, launch_now) || !signature || n > MOST_VALUES_NOW ||
        n != signature->n_args || !args || !are_plain(values, kernel, args, n))
        return HCY_EUNSUPPORTED;
    return queue->dev->backend->ops->launch_now(queue->impl, kernel->impl, &desc);
}

/* `how`: items, or a grid; values come here. */
static int submit_launch(hcy_queue *queue, hcy_kernel *kernel, const hcy_launch_desc *how, const hcy_arg *args,
                         size_t n)
{
    hcy_keep *keep;
    struct launch *launch;
    int status = how->grid ? HCY_EUNSUPPORTED : launch_now(queue, kernel, how->items, args, n);
    if (status != HCY_EUNSUPPORTED)
        return status;
    status = check_args(kernel, args, n, false);
    if (!status)
        status = take_args(&keep, &launch, kernel, args, n);
    if (status)
        return status;
    launch->desc.items = how->items;
    launch->desc.together = how->together;
    if (how->grid) {
        launch->grid = *how->grid;
        launch->desc.grid = &launch->grid;
    }
    HCY__ON_QUEUE(status, queue,
                  queue->dev->backend->ops->launch(queue->impl, kernel->impl, &launch->desc, keep));
    if (status)
        hcy_keep_release(keep);
    return status;
}

/* Registered code: a group of the explicit grid for each item. */
static int submit_code(hcy_queue *queue, hcy_kernel *kernel, size_t items, const hcy_arg *args, size_t n)
{
    const hcy_kernel_code *code = kernel->code;
    if (items > INT32_MAX) /* what all devices take as a number of groups */
        return hcy_fail(HCY_ERANGE, "kernel %s: %zu items in one launch", kernel_name(kernel), items);
    const hcy_grid grid = { { (uint32_t)items, 1, 1 }, { code->group ? code->group : 1, 1, 1 }, code->local_bytes };
    return submit_launch(queue, kernel, &(hcy_launch_desc){ .grid = &grid }, args, n);
}

int hcy_launch(hcy_queue *queue, hcy_kernel *kernel, size_t items, const hcy_arg *args, size_t n)
{
    int status = check_launch(queue, kernel);
    if (status)
        return status;
    if (kernel->program && !kernel->code)
        return hcy_fail(HCY_EINVAL, "a user's kernel is launched with hcy_launch_grid()");
    if (!items)
        return check_args(kernel, args, n, false);
    return kernel->code ? submit_code(queue, kernel, items, args, n)
                        : submit_launch(queue, kernel, &(hcy_launch_desc){ .items = items }, args, n);
}

static int launch_grid(hcy_queue *queue, hcy_kernel *kernel, const hcy_grid *grid, bool together, const hcy_arg *args,
                       size_t n)
{
    int status = check_launch(queue, kernel);
    if (status)
        return status;
    if (!kernel->program || kernel->code)
        return hcy_fail(HCY_EINVAL, "kernel %s is launched with hcy_launch()", kernel_name(kernel));
    for (int d = 0; d < 3; d++)
        if (!grid || !grid->groups[d] || !grid->group[d])
            return hcy_fail(HCY_EINVAL, "a grid launch needs a grid whose sizes are all above 0");
    /* Where groups come one after the other, one that waits for a later one would wait for ever. */
    if (together && !(queue->dev->info.caps & HCY_CAP_TOGETHER))
        return hcy__unsupported(queue->dev, "groups that wait for one another");
    return submit_launch(queue, kernel, &(hcy_launch_desc){ .grid = grid, .together = together }, args, n);
}

int hcy_launch_grid(hcy_queue *queue, hcy_kernel *kernel, const hcy_grid *grid, const hcy_arg *args, size_t n)
{
    return launch_grid(queue, kernel, grid, false, args, n);
}

int hcy_launch_together(hcy_queue *queue, hcy_kernel *kernel, const hcy_grid *grid, const hcy_arg *args, size_t n)
{
    return launch_grid(queue, kernel, grid, true, args, n);
}
