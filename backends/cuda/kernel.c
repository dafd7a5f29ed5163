/* kernel.c - launches: the user's kernels on their grid, and ours through the GPU kernels' host side. */
#include "cuda_priv.h"

#include "embedded.h"
#include "gpu.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ARGS 64
#define DEFAULT_LOCAL_BYTES                                                                                  \
    (32u << 10) /* what a group gets without asking, beside what its kernel has by itself */

/* --- The operations of backends/gpu --- */

struct module {
    struct cuda_device *dev;
    CUmodule module;
};

static int compile_module(void *device, const char *text, const char *const *options, int n, void **out)
{
    struct cuda_device *d = device;
    struct module *m = malloc(sizeof *m);
    void *cubin = NULL;
    size_t size;
    if (!m)
        return hcy_fail(HCY_ENOMEM, "out of memory for a kernel");
    /* Compiling takes seconds and needs no context, so it is done before one is entered. */
    int status = cuda_compile(&cubin, &size, NULL, d, text, options, n);
    if (!status)
        status = cuda_enter(d);
    if (!status) {
        status = cuda_module_load(&m->module, NULL, d, cubin);
        cuda_leave();
    }
    free(cubin);
    if (status)
        free(m);
    else
        *out = m;
    return status;
}

static void unload_module(void *device, void *module)
{
    struct cuda_device *d = device;
    struct module *m = module;
    /* A lost context has taken its modules along. */
    if (!atomic_load(&d->lost) && !cu.cuCtxPushCurrent(d->context)) {
        cu.cuModuleUnload(m->module);
        cuda_leave();
    }
    free(m);
}

static int allow_local(struct cuda_device *d, CUfunction f, uint32_t bytes)
{
    /* Up to here a kernel need not ask. */
    if (bytes <= DEFAULT_LOCAL_BYTES)
        return 0;
    if (bytes > d->local_bytes)
        return hcy_fail(HCY_EINVAL, "%s: a group has at most %zu bytes of local memory, not %u",
                        hcy_device_get_info(d->dev)->name, d->local_bytes, bytes);
    int allowed = 0;
    /* Only raised, since other queues may be about to launch this function with what they asked for. */
    pthread_mutex_lock(&d->lock);
    CUresult r = cu.cuFuncGetAttribute(&allowed, CUDA_FUNC_LOCAL_BYTES, f);
    if (!r && allowed < (int)bytes)
        r = cu.cuFuncSetAttribute(f, CUDA_FUNC_LOCAL_BYTES, (int)bytes);
    pthread_mutex_unlock(&d->lock);
    return cuda_check(d, r, "asking for local memory");
}

static int find_function(void *device, void *module, const char *name, uint32_t local_bytes, void **out)
{
    struct cuda_device *d = device;
    CUfunction f = NULL;
    int status = cuda_enter(d);
    if (status)
        return status;
    status = cuda_check(d, cu.cuModuleGetFunction(&f, ((struct module *)module)->module, name),
                        "finding a kernel");
    /* What a launch will want is allowed once, here, and not at each launch. */
    if (!status)
        status = allow_local(d, f, local_bytes);
    cuda_leave();
    *out = f;
    return status;
}

static CUdeviceptr argument_address(const hcy_value *v)
{
    return v->block ? v->block->address + v->offset : 0;
}

static int launch_step(void *queue, void *f, const struct gpu_grid *grid, const struct gpu_arg *args, size_t n)
{
    struct cuda_queue *q = queue;
    CUdeviceptr addresses[MAX_ARGS];
    void *params[MAX_ARGS];
    for (size_t i = 0; i < n; i++) {
        /* CUDA reads the parameters through pointers before the launch returns, so the addresses may lie
         * on this stack. */
        if (args[i].buffer)
            addresses[i] = argument_address(args[i].buffer) + args[i].offset;
        params[i] = args[i].buffer ? (void *)&addresses[i] : (void *)(uintptr_t)args[i].bytes;
    }
    return cuda_check(q->dev,
                      cu.cuLaunchKernel(f, grid->groups[0], grid->groups[1], 1, grid->group, 1, 1,
                                        grid->local_bytes, q->stream, params, NULL),
                      "launching a kernel");
}

static int zero_on_stream(void *queue, const hcy_value *buffer, size_t offset, size_t size)
{
    struct cuda_queue *q = queue;
    return cuda_check(q->dev, cu.cuMemsetD8Async(argument_address(buffer) + offset, 0, size, q->stream),
                      "zeroing memory");
}

static int upload_pieces(struct cuda_device *d, const struct gpu_piece *pieces, size_t n, CUdeviceptr to)
{
    /* The default stream would wait for all others, and the caller's queue may be busy for long. */
    CUstream stream = NULL;
    int status = cuda_check(d, cu.cuStreamCreate(&stream, CUDA_STREAM_NON_BLOCKING), "making a stream");
    for (size_t i = 0; !status && i < n; i++)
        if (pieces[i].size)
            status = cuda_check(d,
                                cu.cuMemcpyAsync(to + pieces[i].at, (CUdeviceptr)(uintptr_t)pieces[i].data,
                                                 pieces[i].size, stream),
                                "copying a plan's tables");
    /* The pieces are the caller's and are freed after this call, so the copies must be over, even after a
     * failure. */
    if (stream) {
        int waited = cuda_check(d, cu.cuStreamSynchronize(stream), "copying a plan's tables");
        status = status ? status : waited;
        cu.cuStreamDestroy(stream);
    }
    return status;
}

static int upload_tables(void *device, const struct gpu_piece *pieces, size_t n, size_t size, void *handle,
                         hcy_block *block)
{
    struct cuda_device *d = device;
    int status = cuda_alloc(block, d, HCY_MEM_DEVICE, size);
    if (!status)
        status = cuda_enter(d);
    if (status)
        return status;
    status = upload_pieces(d, pieces, n, block->address);
    cuda_leave();
    if (status)
        cuda_free(d, HCY_MEM_DEVICE, block);
    else
        /* From now on the block owns the plan's host side; cuda_free() knows it by this handle. */
        block->handle = handle;
    return status;
}

/* A plan's host side is the handle of its block; other memory has its own address there. */
static const void *plan_behind(const hcy_block *block)
{
    return !block->host && (uintptr_t)block->handle != block->address ? block->handle : NULL;
}

/* --- The HAL's calls --- */

/* Without the compiler there are those of our kernels whose PTX is in the module. */
static int need_compiler(const struct cuda_device *d, const char *kernel)
{
    if (cuda_compiler(d) || (cuda_ptx_has(kernel) && d->arch >= CUDA_PTX_ARCH))
        return 0;
    /* The failure of the compiler says what to install; it is kept behind the name of the kernel. */
    hcy_error e = *hcy_last_error();
    return hcy_fail_vendor(HCY_EUNSUPPORTED, 0, e.vendor, "%s has no kernel \"%s\": %s",
                           hcy_device_get_info(d->dev)->name, kernel, e.text);
}

int cuda_kernel_get(void **kimpl, const char **variant, void *impl, const hcy_signature *signature)
{
    struct cuda_device *d = impl;
    struct cuda_kernel *k = calloc(1, sizeof *k);
    if (!k)
        return hcy_fail(HCY_ENOMEM, "out of memory for a kernel");
    k->dev = d;
    k->ops = (struct gpu_ops){ .compile = compile_module, .module_release = unload_module, .function = find_function,
                               .launch = launch_step, .zero = zero_on_stream, .tables = upload_tables,
                               .plan = plan_behind,
                               .units = (uint32_t)d->units, .lanes = true,
                               .products = (d->arch >= 80) + (d->arch >= 90),
                               .no_contraction = "-fmad=false",
                               .row = gpu_row_of(&d->choice), .local_bytes = d->local_bytes };
    snprintf(k->variant, sizeof k->variant, "sm_%d", d->arch);
    int status = need_compiler(d, signature->name);
    if (!status)
        status = gpu_kernel_get(&k->ours, &k->ops, d, signature->name);
    if (status) {
        free(k);
        return status;
    }
    *kimpl = k;
    *variant = k->variant;
    return 0;
}

void cuda_kernel_release(void *kimpl)
{
    struct cuda_kernel *k = kimpl;
    if (k->ours)
        gpu_kernel_release(k->ours);
    free(k);
}

struct gpu_kernel *cuda_own_kernel(struct cuda_kernel *k)
{
    if (!k->ours)
        hcy_fail(HCY_EUNSUPPORTED, "a user's kernel has no tables and asks for no scratch memory");
    return k->ours;
}

/* "groups_per_unit:ITEMS:LOCAL_BYTES", as halcyon/cuda.h writes it; false for another key. */
static bool parse_occupancy(int *items, size_t *local_bytes, const char *key)
{
    static const char start[] = "groups_per_unit:";
    char *end = NULL;
    if (strncmp(key, start, sizeof start - 1))
        return false;
    unsigned long n = strtoul(key + sizeof start - 1, &end, 10);
    /* CUDA takes an int; what exceeds any group is refused there with its own message. */
    *items = n <= 1u << 20 ? (int)n : 1 << 20;
    if (*end++ != ':')
        return false;
    *local_bytes = strtoul(end, &end, 10);
    return !*end;
}

static int attribute_of(int *value, const struct cuda_kernel *k, const char *key)
{
    static const struct {
        const char *key;
        int attribute;
    } numbers[] = { { "group_items", CUDA_FUNC_MOST_ITEMS },
                    { "local_bytes", CUDA_FUNC_STATIC_LOCAL },
                    { "private_bytes", CUDA_FUNC_PRIVATE },
                    { "registers", CUDA_FUNC_REGISTERS } };
    int items = 0, groups = 0;
    size_t local_bytes = 0;
    /* Plain attributes are looked up in a table; what CUDA calculates from a group's size follows. */
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!strcmp(key, numbers[i].key))
            return cuda_check(k->dev, cu.cuFuncGetAttribute(value, numbers[i].attribute, k->function),
                              "asking for a kernel's attribute");
    if (!strcmp(key, "best_group_items"))
        return cuda_check(k->dev, cu.cuOccupancyMaxPotentialBlockSize(&groups, value, k->function, NULL, 0, 0),
                          "asking for a kernel's best group");
    if (parse_occupancy(&items, &local_bytes, key))
        return cuda_check(
            k->dev, cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(value, k->function, items, local_bytes),
            "asking for a kernel's occupancy");
    return hcy_fail(HCY_ENOENT,
                    "a GPU's kernel has no number \"%s\" (group_items, local_bytes, private_bytes, registers,"
                    " best_group_items, groups_per_unit:ITEMS:LOCAL_BYTES)",
                    key);
}

int cuda_kernel_i64(int64_t *value, void *kimpl, const char *key)
{
    struct cuda_kernel *k = kimpl;
    int number = 0;
    /* A kernel of ours is several functions in a row, so no single number would describe it. */
    if (k->ours)
        return hcy_fail(HCY_ENOENT, "only a user's kernel has numbers, \"%s\" among them", key);
    int status = cuda_enter(k->dev);
    if (status)
        return status;
    status = attribute_of(&number, k, key);
    cuda_leave();
    *value = number;
    return status;
}

int cuda_prepare(hcy_block *block, void *kimpl, const hcy_span *spans, size_t n)
{
    struct gpu_kernel *k = cuda_own_kernel(kimpl);
    return k ? gpu_kernel_prepare(k, spans, n, block) : HCY_EUNSUPPORTED;
}

int cuda_scratch_size(size_t *size, void *kimpl, size_t items, const hcy_value *values, size_t n)
{
    struct gpu_kernel *k = cuda_own_kernel(kimpl);
    return k ? gpu_kernel_scratch_size(size, k, items, values, n) : HCY_EUNSUPPORTED;
}

int cuda_preferred_batch(size_t *items, void *kimpl, const hcy_value *values, size_t n)
{
    struct gpu_kernel *k = cuda_own_kernel(kimpl);
    return k ? gpu_kernel_preferred_batch(items, k, values, n) : HCY_EUNSUPPORTED;
}

static int run_user_grid(struct cuda_queue *q, struct cuda_kernel *k, const hcy_launch_desc *l)
{
    CUdeviceptr addresses[MAX_ARGS];
    void *params[MAX_ARGS];
    const hcy_grid *g = l->grid;
    if (l->n_values > MAX_ARGS)
        return hcy_fail(HCY_ERANGE, "a kernel of the user's takes up to %d arguments, not %zu", MAX_ARGS,
                        l->n_values);
    for (size_t i = 0; i < l->n_values; i++) {
        /* Bytes are passed as they are; of a buffer, CUDA wants the address of a variable that holds its
         * address. */
        const hcy_value *v = &l->values[i];
        addresses[i] = argument_address(v);
        params[i] = v->bytes ? (void *)(uintptr_t)v->bytes : (void *)&addresses[i];
    }
    /* The size is the launch's own, so it can only be allowed here. */
    int status = allow_local(q->dev, k->function, g->local_bytes);
    if (status)
        return status;
    if (!l->together)
        return cuda_check(q->dev,
                          cu.cuLaunchKernel(k->function, g->groups[0], g->groups[1], g->groups[2], g->group[0],
                                            g->group[1], g->group[2], g->local_bytes, q->stream, params, NULL),
                          "launching the user's kernel");
    CUresult r = cu.cuLaunchCooperativeKernel(k->function, g->groups[0], g->groups[1], g->groups[2], g->group[0],
                                              g->group[1], g->group[2], g->local_bytes, q->stream, params);
    if (r == CUDA_ERROR_TOO_MANY_TOGETHER)
        return hcy_fail(HCY_ERANGE, "%s does not run %u x %u x %u groups of %u x %u x %u items at once",
                        hcy_device_get_info(q->dev->dev)->name, g->groups[0], g->groups[1], g->groups[2], g->group[0],
                        g->group[1], g->group[2]);
    return cuda_check(q->dev, r, "launching the user's kernel");
}

static int run_cuda_launch(struct cuda_queue *q, const struct cuda_command *c)
{
    struct cuda_kernel *k = c->of.launch.kernel;
    int status = hcy_fault_launch(q->dev->dev);
    if (status) {
        q->error = *hcy_last_error(); /* as if it had failed when it ran: not the call's failure */
        return status;
    }
    return k->ours ? gpu_kernel_launch(k->ours, q, c->of.launch.desc) : run_user_grid(q, k, c->of.launch.desc);
}

int cuda_launch(void *qimpl, void *kimpl, const hcy_launch_desc *launch, hcy_keep *keep)
{
    struct cuda_kernel *k = kimpl;
    if (k->knows_params && launch->n_values != k->n_params)
        return hcy_fail(HCY_EINVAL, "the program's kernel takes %zu arguments, not %zu", k->n_params, launch->n_values);
    struct cuda_command c = { .name = k->ours ? gpu_kernel_name(k->ours) : "user's kernel",
                              .run = run_cuda_launch };
    c.of.launch.kernel = k;
    c.of.launch.desc = launch;
    return cuda_submit(qimpl, &c, keep);
}
