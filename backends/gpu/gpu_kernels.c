/* gpu_kernels.c - a launch of the HAL as launches of kernels: texts and their options, scratch memory, order.
 *
 * A text is compiled for each combination of options that is asked for (the element's size, the pixels' type, ...),
 * when the scratch size is asked for or at the first launch, and kept with the kernel.
 */
#include "gpu_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct gpu_kernel_kind *find_kernel_kind(const char *name)
{
    for (const struct gpu_kernel_kind *const *table = gpu_kernel_tables; *table; table++)
        for (const struct gpu_kernel_kind *k = *table; k->name; k++)
            if (!strcmp(k->name, name))
                return k;
    return NULL;
}

int gpu_kernel_get(struct gpu_kernel **out, const struct gpu_ops *ops, void *device, const char *name)
{
    const struct gpu_kernel_kind *found = find_kernel_kind(name);
    if (!found)
        return hcy_fail(HCY_EUNSUPPORTED, "a GPU has no kernel \"%s\"", name);
    /* Sums of 64-bit integers can be made of two halves, sums of doubles cannot. */
    if (ops->atomics32 && found->doubles)
        return hcy_fail(HCY_EUNSUPPORTED, "the kernel \"%s\" needs atomics of 64 bits, which this device lacks", name);
    struct gpu_kernel *k = calloc(1, sizeof *k);
    if (!k)
        return hcy_fail(HCY_ENOMEM, "out of memory for a kernel");
    k->ops = ops;
    k->device = device;
    k->kind = found;
    pthread_mutex_init(&k->lock, NULL);
    *out = k;
    return 0;
}

const char *gpu_kernel_name(const struct gpu_kernel *k)
{
    return k->kind->name;
}

void gpu_kernel_release(struct gpu_kernel *k)
{
    while (k->variants) {
        struct gpu_variant *v = k->variants;
        k->variants = v->next;
        k->ops->module_release(k->device, v->module);
        free(v);
    }
    pthread_mutex_destroy(&k->lock);
    free(k);
}

/* --- Variants --- */

static int make_variant(struct gpu_variant **out, struct gpu_kernel *k, const char *text, const char *options)
{
    const char *list[GPU_MAX_OPTIONS];
    char copy[GPU_OPTIONS_BYTES], *save = NULL;
    int n = 0;
    struct gpu_variant *v = calloc(1, sizeof *v);
    if (!v)
        return hcy_fail(HCY_ENOMEM, "out of memory for a kernel");
    snprintf(v->options, sizeof v->options, "%s", options);
    memcpy(copy, v->options, sizeof copy);
    /* The options are cut up in a copy: they are compared as one string later. */
    char *word = strtok_r(copy, " ", &save);
    for (; word && n < GPU_MAX_OPTIONS; word = strtok_r(NULL, " ", &save))
        list[n++] = word;
    if (word) {
        free(v);
        return hcy_fail(HCY_ERANGE, "a kernel's text with more than %d options", GPU_MAX_OPTIONS);
    }
    v->text = text;
    /* Compiling goes on under the kernel's lock: a second thread that wants the same text shall wait for
     * it and not compile it again. */
    int status = k->ops->compile(k->device, text, list, n, &v->module);
    if (status) {
        free(v);
        return status;
    }
    v->next = k->variants;
    k->variants = v;
    *out = v;
    return 0;
}

int gpu_variant_get(struct gpu_variant **out, struct gpu_kernel *k, const char *text, const char *options)
{
    int status = 0;
    pthread_mutex_lock(&k->lock);
    /* There are a handful of variants at most, and texts are told apart by address. */
    for (*out = k->variants; *out; *out = (*out)->next)
        if ((*out)->text == text && !strcmp((*out)->options, options))
            break;
    if (!*out)
        status = make_variant(out, k, text, options);
    pthread_mutex_unlock(&k->lock);
    return status;
}

bool gpu_holds(const hcy_value *v, size_t n, size_t size)
{
    const size_t divides = size & (~size + 1), least = divides < 16 ? divides : 16;
    return v->block && v->bytes_left / size >= n && hcy__begin(v) % least == 0;
}

int gpu_step(const struct gpu_call *call, struct gpu_variant *v, const char *name,
             const struct gpu_grid *grid, const struct gpu_arg *args, size_t n)
{
    const struct gpu_ops *ops = call->kernel->ops;
    void *function = NULL;
    int status = 0;
    size_t i = 0;
    pthread_mutex_lock(&call->kernel->lock);
    /* Functions are looked up when they are first launched, as few launches use all that a text has, and again when one
     * wants more local memory than those before. */
    while (i < v->n_functions && strcmp(v->functions[i].name, name))
        i++;
    if (i < GPU_MAX_FUNCTIONS && (i == v->n_functions || grid->local_bytes > v->functions[i].local_bytes)) {
        status = ops->function(call->kernel->device, v->module, name, grid->local_bytes,
                               &v->functions[i].function);
        v->functions[i].name = name;
        if (!status)
            v->functions[i].local_bytes = grid->local_bytes;
        v->n_functions += !status && i == v->n_functions;
    }
    if (!status && i < v->n_functions)
        function = v->functions[i].function;
    pthread_mutex_unlock(&call->kernel->lock);
    /* Nothing of the kernel is locked while it is launched, because functions are never taken away. */
    if (!status && !function)
        status = hcy_fail(HCY_ERANGE, "a module with more than %d kernels", GPU_MAX_FUNCTIONS);
    return status ? status : ops->launch(call->queue, function, grid, args, n);
}

/* --- The HAL's calls --- */

static int open_call(struct gpu_call *call, struct gpu_kernel *k, void *queue, size_t items,
                     const hcy_value *values)
{
    *call = (struct gpu_call){ .kernel = k, .queue = queue, .items = items, .values = values };
    /* Kernels number items with 32 bits, and products of two such numbers have 64. */
    if (items > UINT32_MAX / 2)
        return hcy_fail(HCY_ERANGE, "%s: %zu items in one launch", k->kind->name, items);
    return 0;
}

int gpu_kernel_launch(struct gpu_kernel *k, void *queue, const hcy_launch_desc *launch)
{
    struct gpu_call call;
    int status = open_call(&call, k, queue, launch->items, launch->values);
    return status ? status : k->kind->launch(&call);
}

int gpu_kernel_scratch_size(size_t *size, struct gpu_kernel *k, size_t items, const hcy_value *values, size_t n)
{
    struct gpu_call call;
    (void)n;
    int status = open_call(&call, k, NULL, items, values);
    return status ? status : k->kind->scratch(size, &call);
}

int gpu_no_scratch(size_t *size, const struct gpu_call *call)
{
    (void)call;
    *size = 0;
    return 0;
}

int gpu_kernel_preferred_batch(size_t *items, struct gpu_kernel *k, const hcy_value *values, size_t n)
{
    /* How many frames fill a device depends on the kernel, hardly on the job. */
    (void)values;
    (void)n;
    *items = k->kind->batch;
    return 0;
}

struct put {
    struct gpu_kernel *kernel;
    hcy_block *block;
};

static int put_plan_tables(void *context, const struct gpu_piece *pieces, size_t n, size_t size,
                           struct gpu_plan *plan)
{
    struct put *p = context;
    return p->kernel->ops->tables(p->kernel->device, pieces, n, size, plan, p->block);
}

int gpu_kernel_prepare(struct gpu_kernel *k, const hcy_span *spans, size_t n, hcy_block *tables)
{
    struct put put = { k, tables };
    /* Only integrations have plans whose tables a device keeps. */
    if (!k->kind->tables)
        return hcy_fail(HCY_EUNSUPPORTED, "kernel %s takes no tables", k->kind->name);
    return k->kind->tables(spans, n, put_plan_tables, &put);
}
