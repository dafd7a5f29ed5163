/* program.c - the user's own C functions as kernels: a table of them, called for every group of a grid. */
#include "cpu_priv.h"

#include <halcyon/cpu.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ARGS 64

struct program {
    size_t n;
    hcy_cpu_function functions[];
};

int cpu_program_create(void **pimpl, char **log, void *impl, const char *format, const void *data, size_t size,
                       const char *options)
{
    (void)impl;
    (void)options;
    (void)log;
    if (strcmp(format, HCY_CPU_FUNCTIONS))
        return hcy_fail(HCY_EUNSUPPORTED,
                        "the CPU does not know the format \"%s\" of a program; it knows \"%s\"", format,
                        HCY_CPU_FUNCTIONS);
    if (size % sizeof(hcy_cpu_function))
        return hcy_fail(HCY_EINVAL, "%zu bytes are not a table of hcy_cpu_function", size);
    /* The table is copied, because the caller may free it. */
    struct program *p = malloc(sizeof *p + size);
    if (!p)
        return hcy_fail(HCY_ENOMEM, "out of memory for a program");
    p->n = size / sizeof(hcy_cpu_function);
    memcpy(p->functions, data, size);
    *pimpl = p;
    return 0;
}

void cpu_program_release(void *pimpl)
{
    free(pimpl);
}

int cpu_program_find(void *pimpl, const char *name, void **function)
{
    struct program *p = pimpl;
    for (size_t i = 0; i < p->n; i++)
        if (p->functions[i].name && p->functions[i].fn && !strcmp(p->functions[i].name, name)) {
            *function = &p->functions[i];
            return 0;
        }
    return hcy_fail(HCY_ENOENT, "the program has no function \"%s\"", name);
}

struct run {
    const hcy_cpu_function *function;
    const hcy_grid *grid;
    void *args[MAX_ARGS];
    atomic_int failure;
    atomic_bool no_memory; /* no function has run there */
};

static void run_groups(void *context, size_t begin, size_t end, unsigned thread)
{
    struct run *run = context;
    const uint32_t *n = run->grid->groups;
    /* Groups of a range run one after the other, so they share the local memory. */
    void *local = run->grid->local_bytes ? malloc(run->grid->local_bytes) : NULL;
    (void)thread;
    if (run->grid->local_bytes && !local) {
        atomic_store(&run->no_memory, true);
        return;
    }
    for (size_t i = begin; i < end && !atomic_load_explicit(&run->failure, memory_order_relaxed); i++) {
        uint32_t x = (uint32_t)(i % n[0]), y = (uint32_t)(i / n[0] % n[1]), z = (uint32_t)(i / n[0] / n[1]);
        hcy_cpu_group g = { { x, y, z },
                            { n[0], n[1], n[2] },
                            { run->grid->group[0], run->grid->group[1], run->grid->group[2] },
                            local };
        /* Of several failures any one is kept, as each fails the launch. */
        int result = run->function->fn(&g, run->args);
        if (result)
            atomic_store(&run->failure, result);
    }
    free(local);
}

int cpu_program_run(struct cpu_pool *pool, void *function, const hcy_launch_desc *launch)
{
    struct run run = { .function = function, .grid = launch->grid };
    size_t total = 0;
    if (launch->n_values > MAX_ARGS)
        return hcy_fail(HCY_ERANGE, "a function of the user's takes up to %d arguments, not %zu", MAX_ARGS,
                        launch->n_values);
    for (size_t i = 0; i < launch->n_values; i++) {
        const hcy_value *v = &launch->values[i];
        /* Buffers are passed by their address, other arguments by that of their bytes. */
        run.args[i] = v->block ? (char *)v->block->handle + v->offset : (void *)(uintptr_t)v->bytes;
    }
    int status = hcy_size_mul(&total, launch->grid->groups[0], launch->grid->groups[1]);
    if (!status)
        status = hcy_size_mul(&total, total, launch->grid->groups[2]);
    /* Threads count past the end, each by a range. */
    if (!status && total > SIZE_MAX / 2)
        status = hcy_fail(HCY_ERANGE, "the CPU takes up to %zu groups in a launch, not %zu", SIZE_MAX / 2, total);
    if (status)
        return status;
    /* Eight ranges a thread: enough for groups of different cost, few enough for cheap ones. */
    cpu_pool_for(pool, total, total / (cpu_pool_threads(pool) * 8) + 1, run_groups, &run);
    if (atomic_load(&run.no_memory))
        return hcy_fail(HCY_ENOMEM, "there are no %u bytes of local memory for a group of \"%s\"",
                        (unsigned)launch->grid->local_bytes, run.function->name);
    int result = atomic_load(&run.failure);
    return result ? hcy_fail_vendor(HCY_ELAUNCH, result, "", "the function \"%s\" returned %d",
                                    run.function->name, result)
                  : 0;
}
