/* backend.c - the CPU as a device: opened from its string, its queues and launches; the table of it all.
 *
 * A device is "cpu" with options:
 *   threads=N       threads of its pool (default: as many as cores=, else as this process may use)
 *   cores=0-1+4     processors they are tied to
 *   simd=NAME       the SIMD variant, no better than the processor's: portable, neon, dotprod, avx2, avx512
 *   memory=BYTES    a limit for its buffers
 *   discrete=1      device memory cannot be reached by the host, as on an accelerator (for tests of that path)
 * Several may be open at once; each has its own threads.
 */
#include "cpu_device.h"
#include "families.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cpu_kernel_instance {
    struct cpu_device *dev;
    const struct cpu_kernel *kernel; /* NULL: the user's */
    void *function;                  /* of the user's program */
    enum cpu_simd simd;
};

/* --- Opening --- */

struct settings {
    int64_t threads; /* 0: not said */
    uint64_t memory;
    const char *core_list;
    unsigned *cores, n_cores;
    bool discrete;
    int simd; /* enum cpu_simd; -1: not said */
    int fft;  /* enum cpu_fft_choice; -1: not said */
};

#define WORD(name) #name " "
static const hcy_option options[] = {
    { "threads", HCY_OPTION_INT, offsetof(struct settings, threads), "threads of its pool", 1, 4096, NULL },
    { "cores", HCY_OPTION_STRING, offsetof(struct settings, core_list), "processors they are tied to, as in 0-1+4", 0,
      0, NULL },
    { "simd", HCY_OPTION_WORD, offsetof(struct settings, simd), "the variant of its kernels", 0, 0,
      CPU_SIMD_NAMES(WORD) },
    { "fft", HCY_OPTION_WORD, offsetof(struct settings, fft), "whose Fourier transforms", 0, 0, CPU_FFT_NAMES(WORD) },
    { "memory", HCY_OPTION_SIZE, offsetof(struct settings, memory), "a limit for its buffers", 0, 0, NULL },
    { "discrete", HCY_OPTION_BOOL, offsetof(struct settings, discrete), "device memory hidden from the host", 0, 0,
      NULL },
    { .key = NULL },
};

static int check_simd(enum cpu_simd simd)
{
    return simd <= cpu_simd_best() && cpu_simd_built(simd) == simd
               ? 0
               : hcy_fail(HCY_EUNSUPPORTED, "cpu@simd=%s: this processor's best is %s", cpu_simd_name(simd),
                          cpu_simd_name(cpu_simd_best()));
}

/* Asked for by name, it must be what the device has: nobody is given another's transforms in its place. */
static int check_fft(enum cpu_fft_choice choice)
{
#if HAVE_FFTW3
    (void)choice;
    return 0;
#else
    return choice == CPU_FFT_FFTW
               ? hcy_fail(HCY_EUNSUPPORTED, "cpu@fft=fftw: this build of Halcyon was configured without FFTW")
               : 0;
#endif
}

static int parse_settings(const hcy_spec *spec, struct settings *s)
{
    *s = (struct settings){ .simd = -1, .fft = -1 };
    int status = 0;
    if (*spec->selector && strcmp(spec->selector, "0"))
        status = hcy_fail(HCY_ENODEV, "\"%s\": there is one CPU, \"cpu\" (cpu@cores=... takes a part of it)",
                          spec->text);
    if (!status)
        status = hcy_options_read(s, spec, options);
    /* A variant that this processor cannot run must not be taken: it would end the process. */
    if (!status && s->simd >= 0)
        status = check_simd((enum cpu_simd)s->simd);
    if (s->simd < 0)
        s->simd = (int)cpu_simd_best();
    if (s->fft < 0)
        s->fft = CPU_FFT_AUTO;
    if (!status)
        status = check_fft((enum cpu_fft_choice)s->fft);
    if (!status && s->core_list)
        status = cpu_parse_cores(&s->cores, &s->n_cores, s->core_list);
    /* A thread for each core that was named, else for each that this process may use. */
    if (!status && !s->threads)
        s->threads = s->n_cores ? s->n_cores : hcy_processors();
    if (!status)
        status = cpu_check_cores(s->cores, s->n_cores);
    return status;
}

static uint64_t machine_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

/* "model name" of /proc/cpuinfo, or "CPU". */
static void read_model(char *model, size_t size)
{
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");
    snprintf(model, size, "CPU");
    while (f && fgets(line, sizeof line, f)) {
        char *value = strstr(line, ": ");
        if (!strncmp(line, "model name", 10) && value) {
            /* All processors of a machine have the same name here, so the first line is enough. */
            value[strcspn(value, "\n")] = 0;
            snprintf(model, size, "%s", value + 2);
            break;
        }
    }
    if (f)
        fclose(f);
}

/* The stable name is without a selector: "cpu:0" is "cpu", as it is listed; the options stay. */
static void fill_cpu_info(hcy_device_info *info, const char *name, unsigned threads, enum cpu_simd simd,
                          bool discrete, uint64_t memory)
{
    char model[80];
    read_model(model, sizeof model);
    snprintf(info->name, sizeof info->name, "%s", name);
    snprintf(info->stable, sizeof info->stable, "cpu%s", name + strcspn(name, "@"));
    snprintf(info->backend, sizeof info->backend, "cpu");
    snprintf(info->description, sizeof info->description, "%s (%u thread%s, %s)", model, threads,
             threads == 1 ? "" : "s", cpu_simd_name(simd));
    info->kind = HCY_KIND_CPU;
    info->caps =
        HCY_CAP_F64 | HCY_CAP_MAPPED | HCY_CAP_IMPORT_HOST | HCY_CAP_IMPORT_DEVICE | HCY_CAP_PROGRAMS | HCY_CAP_FFT;
    info->caps |= discrete ? 0 : (uint32_t)HCY_CAP_HOST_MEMORY;
    info->units = threads;
    info->memory = memory;
}

static int list_cpu(hcy_device_info **infos, size_t *n)
{
    *infos = calloc(1, sizeof **infos);
    if (!*infos)
        return hcy_fail(HCY_ENOMEM, "out of memory for the list of devices");
    /* What is listed is the device without options. */
    fill_cpu_info(*infos, "cpu", hcy_processors(), cpu_simd_best(), false, machine_memory());
    *n = 1;
    return 0;
}

static int open_device(void **impl, hcy_device_info *info, hcy_device *dev, const hcy_spec *spec)
{
    struct settings s;
    struct cpu_device *d = NULL;
    int status = parse_settings(spec, &s);
    if (!status && !(d = calloc(1, sizeof *d)))
        status = hcy_fail(HCY_ENOMEM, "out of memory for a device");
    if (!status)
        status = cpu_pool_create(&d->pool, (unsigned)s.threads, s.cores, s.n_cores);
    /* The pool has its own copy of the cores. */
    free(s.cores);
    if (status) {
        free(d);
        return status;
    }
    d->dev = dev;
    d->simd = (enum cpu_simd)s.simd;
    d->fft = (enum cpu_fft_choice)s.fft;
    d->discrete = s.discrete;
    d->pinned = s.n_cores != 0;
    d->memory = s.memory ? s.memory : machine_memory();
    fill_cpu_info(info, spec->text, cpu_pool_threads(d->pool), d->simd, s.discrete, d->memory);
    cpu_itt_attach();
    *impl = d;
    return 0;
}

static void close_device(void *impl)
{
    struct cpu_device *d = impl;
    cpu_pool_destroy(d->pool);
    free(d);
}

static int get_i64(int64_t *value, void *impl, const char *key)
{
    struct cpu_device *d = impl;
    if (!strcmp(key, "threads"))
        *value = cpu_pool_threads(d->pool);
    else if (!strcmp(key, "simd"))
        *value = d->simd;
    else
        return hcy_fail(HCY_ENOENT, "the CPU has no number \"%s\" (threads, simd)", key);
    return 0;
}

/* --- Queues --- */

struct cpu_queue {
    struct cpu_device *dev;
    hcy_hostqueue *hq;
};

static int run_pin(void *command)
{
    struct cpu_device **d = command;
    cpu_pool_pin_caller((*d)->pool);
    return 0;
}

static int queue_create(void **qimpl, void *impl, hcy_queue *queue)
{
    struct cpu_device *d = impl;
    struct cpu_queue *q = malloc(sizeof *q);
    if (!q)
        return hcy_fail(HCY_ENOMEM, "out of memory for a queue");
    q->dev = d;
    int status = hcy_hostqueue_create(&q->hq, d->dev, queue);
    if (status) {
        free(q);
        return status;
    }
    /* The queue's thread works as thread 0 of the pool, so it is tied to the same core; it does so itself, as its
     * first command. */
    status = hcy_hostqueue_submit(q->hq, "pin", 0, run_pin, &d, sizeof d, NULL);
    if (status) {
        hcy_hostqueue_destroy(q->hq);
        free(q);
        return status;
    }
    *qimpl = q;
    return 0;
}

static void queue_destroy(void *qimpl)
{
    struct cpu_queue *q = qimpl;
    hcy_hostqueue_destroy(q->hq);
    free(q);
}

static int cpu_queue_copy(void *qimpl, const hcy_copy *c, hcy_keep *keep)
{
    struct cpu_queue *q = qimpl;
    /* Memory of another device may not be addressable here. */
    if ((c->dst.block && c->dst.dev != q->dev->dev) || (c->src.block && c->src.dev != q->dev->dev))
        return hcy_fail(HCY_EUNSUPPORTED, "the CPU cannot reach another device's memory");
    return hcy_hostqueue_copy(q->hq, c, keep);
}

static int cpu_queue_fill(void *qimpl, const hcy_place *dst, size_t size, const void *pattern, size_t pattern_size,
                          hcy_keep *keep)
{
    return hcy_hostqueue_fill(((struct cpu_queue *)qimpl)->hq, dst, size, pattern, pattern_size, keep);
}

struct launch {
    struct cpu_kernel_instance *kernel;
    const hcy_launch_desc *desc; /* lives as long as the command's keep */
};

static struct cpu_call call_of(const struct cpu_kernel_instance *k, size_t items, const hcy_value *values,
                               size_t n)
{
    return (struct cpu_call){ k->dev->pool, k->simd, k->dev->fft, items, values, n };
}

static int run_kernel_command(void *command)
{
    const struct launch *l = command;
    struct cpu_device *d = l->kernel->dev;
    /* Tests let launches fail here, where a real one would. */
    int status = hcy_fault_launch(d->dev);
    if (status)
        return status;
    if (l->kernel->function)
        return cpu_program_run(d->pool, l->kernel->function, l->desc);
    struct cpu_call call = call_of(l->kernel, l->desc->items, l->desc->values, l->desc->n_values);
    return l->kernel->kernel->run(&call);
}

static int cpu_queue_launch(void *qimpl, void *kimpl, const hcy_launch_desc *desc, hcy_keep *keep)
{
    struct cpu_queue *q = qimpl;
    /* The description lives as long as `keep`, which goes with the command. */
    struct launch l = { kimpl, desc };
    const char *name = l.kernel->kernel ? l.kernel->kernel->name : "user's kernel";
    return hcy_hostqueue_submit(q->hq, name, 0, run_kernel_command, &l, sizeof l, keep);
}

static int cpu_launch_now(void *qimpl, void *kimpl, const hcy_launch_desc *desc)
{
    struct cpu_queue *q = qimpl;
    struct launch l = { kimpl, desc };
    const struct cpu_kernel *kernel = l.kernel->kernel;
    /* A device that is tied to cores works on these alone, and the caller may be on another. */
    if (q->dev->pinned || !kernel || !kernel->is_small)
        return HCY_EUNSUPPORTED;
    struct cpu_call call = call_of(l.kernel, desc->items, desc->values, desc->n_values);
    if (!kernel->is_small(&call) || !cpu_caller_fits())
        return HCY_EUNSUPPORTED;
    return hcy_hostqueue_run_now(q->hq, kernel->name, 0, run_kernel_command, &l);
}

static int create_fft(void **fimpl, size_t *workspace, void *impl, const hcy_fft_desc *desc)
{
    const struct cpu_device *d = impl;
    *workspace = 0;
    return cpu_fft_create(fimpl, desc, d->fft, d->simd);
}

struct fft_command {
    struct cpu_pool *pool;
    void *fft, *in, *out;
    int direction;
};

static int run_fft_command(void *command)
{
    const struct fft_command *f = command;
    return cpu_fft_run(f->pool, f->fft, f->direction, f->in, f->out);
}

static int fft_execute(void *qimpl, const hcy_value *out, void *fimpl, int direction, const hcy_value *in,
                       const hcy_value *work, hcy_keep *keep)
{
    struct cpu_queue *q = qimpl;
    struct fft_command f = { q->dev->pool, fimpl, (char *)in->block->handle + in->offset,
                             (char *)out->block->handle + out->offset, direction };
    (void)work;
    return hcy_hostqueue_submit(q->hq, "fft", in->bytes_left, run_fft_command, &f, sizeof f, keep);
}

static int cpu_queue_finished(void *qimpl)
{
    return hcy_hostqueue_finished(((struct cpu_queue *)qimpl)->hq);
}

static int cpu_queue_finish(void *qimpl)
{
    return hcy_hostqueue_finish(((struct cpu_queue *)qimpl)->hq);
}

static int cpu_queue_status(void *qimpl)
{
    return hcy_hostqueue_status(((struct cpu_queue *)qimpl)->hq);
}

static int cpu_queue_record(void **eimpl, void *qimpl)
{
    return hcy_hostqueue_record(eimpl, ((struct cpu_queue *)qimpl)->hq);
}

static int cpu_queue_wait(void *qimpl, hcy_event *event)
{
    return hcy_hostqueue_wait(((struct cpu_queue *)qimpl)->hq, event);
}

/* --- Kernels --- */

static const struct cpu_kernel *find_cpu_kernel(const char *name)
{
    for (const struct cpu_kernel *const *table = cpu_kernel_tables; *table; table++)
        for (const struct cpu_kernel *k = *table; k->name; k++)
            if (!strcmp(k->name, name))
                return k;
    return NULL;
}

static int new_instance(struct cpu_device *d, const struct cpu_kernel *kernel, void *function, void **kimpl)
{
    struct cpu_kernel_instance *k = malloc(sizeof *k);
    if (!k)
        return hcy_fail(HCY_ENOMEM, "out of memory for a kernel");
    /* A kernel may have fewer variants than the processor: its name for the user is that of the one that runs. */
    *k = (struct cpu_kernel_instance){ d, kernel, function,
                                       kernel && kernel->variant ? kernel->variant(d->simd) : d->simd };
    *kimpl = k;
    return 0;
}

static int kernel_get(void **kimpl, const char **variant, void *impl, const hcy_signature *signature)
{
    const struct cpu_kernel *kernel = find_cpu_kernel(signature->name);
    if (!kernel)
        return hcy_fail(HCY_EUNSUPPORTED, "the CPU has no kernel \"%s\"", signature->name);
    int status = new_instance(impl, kernel, NULL, kimpl);
    if (!status)
        *variant = cpu_simd_name(((struct cpu_kernel_instance *)*kimpl)->simd);
    return status;
}

static void kernel_release(void *kimpl)
{
    free(kimpl);
}

static int make_tables(hcy_block *tables, struct cpu_kernel_instance *k, cpu_prepare_fn make, const hcy_span *spans,
                       size_t n)
{
    void *blob = NULL;
    size_t size = 0;
    if (!make)
        return hcy_fail(HCY_EUNSUPPORTED, "kernel %s takes no tables",
                        k->kernel ? k->kernel->name : "of the user's");
    if (cpu_pool_is_inside(k->dev->pool))
        return hcy_fail(HCY_ESTATE, "hcy_kernel_prepare: a function that the device runs, whose threads wait for it, "
                                    "cannot have tables prepared there; do that before its launch");
    /* Tables of a device that is tied to cores are its own, in memory near those; others share them. */
    int status = k->dev->pinned ? make(&blob, &size, k->dev->pool, k->simd, spans, n)
                                : cpu_tables_prepare(&blob, &size, make, k->dev->pool, k->simd, spans, n);
    if (status)
        return status;
    return cpu_memory_take_tables(tables, k->dev, blob, size);
}

static int prepare_tables(hcy_block *tables, void *kimpl, const hcy_span *spans, size_t n)
{
    struct cpu_kernel_instance *k = kimpl;
    return make_tables(tables, k, k->kernel ? k->kernel->prepare : NULL, spans, n);
}

static int prepare_few(hcy_block *tables, void *kimpl, const hcy_span *spans, size_t n)
{
    struct cpu_kernel_instance *k = kimpl;
    if (!k->kernel || !k->kernel->prepare_few)
        return prepare_tables(tables, kimpl, spans, n);
    return make_tables(tables, k, k->kernel->prepare_few, spans, n);
}

static int kernel_scratch_size(size_t *size, void *kimpl, size_t items, const hcy_value *values, size_t n)
{
    struct cpu_kernel_instance *k = kimpl;
    struct cpu_call call = call_of(k, items, values, n);
    *size = 0;
    return k->kernel && k->kernel->scratch_size ? k->kernel->scratch_size(size, &call) : 0;
}

static int kernel_preferred_batch(size_t *items, void *kimpl, const hcy_value *values, size_t n)
{
    struct cpu_kernel_instance *k = kimpl;
    struct cpu_call call = call_of(k, 0, values, n);
    /* A kernel that has no opinion is best served by an item for each thread. */
    *items = cpu_pool_threads(k->dev->pool);
    return k->kernel && k->kernel->preferred_batch ? k->kernel->preferred_batch(items, &call) : 0;
}

/* A program remembers its device, so that its kernels find their threads. */
struct cpu_program {
    struct cpu_device *dev;
    void *functions;
};

static int program_create(void **pimpl, char **log, void *impl, const char *format, const void *data, size_t size,
                          const char *options)
{
    struct cpu_program *p = malloc(sizeof *p);
    if (!p)
        return hcy_fail(HCY_ENOMEM, "out of memory for a program");
    p->dev = impl;
    int status = cpu_program_create(&p->functions, log, impl, format, data, size, options);
    if (status)
        free(p);
    else
        *pimpl = p;
    return status;
}

static void program_release(void *pimpl)
{
    struct cpu_program *p = pimpl;
    cpu_program_release(p->functions);
    free(p);
}

static int program_kernel(void **kimpl, void *pimpl, const char *name, const hcy_signature *signature)
{
    struct cpu_program *p = pimpl;
    void *function;
    (void)signature;
    int status = cpu_program_find(p->functions, name, &function);
    return status ? status : new_instance(p->dev, NULL, function, kimpl);
}

/* --- The table --- */

static const hcy_backend_ops ops = {
    .size = sizeof ops,
    .list = list_cpu,
    .open = open_device,
    .close = close_device,
    .get_i64 = get_i64,
    .mem_info = cpu_memory_info,
    .alloc = cpu_memory_alloc,
    .free = cpu_memory_free,
    .import_host = cpu_memory_import_host,
    .import_device = cpu_memory_import_device,
    .share_create = cpu_memory_share_create,
    .share_name = cpu_memory_share_name,
    .share_open = cpu_memory_share_open,
    .share_close = cpu_memory_share_close,
    .queue_create = queue_create,
    .queue_destroy = queue_destroy,
    .copy = cpu_queue_copy,
    .fill = cpu_queue_fill,
    .launch = cpu_queue_launch,
    .launch_now = cpu_launch_now,
    .fft_execute = fft_execute,
    .finish = cpu_queue_finish,
    .finished = cpu_queue_finished,
    .status = cpu_queue_status,
    .record = cpu_queue_record,
    .wait = cpu_queue_wait,
    .event_wait = hcy_hostevent_wait,
    .event_query = hcy_hostevent_query,
    .event_time = hcy_hostevent_time,
    .event_destroy = hcy_hostevent_destroy,
    .kernel_get = kernel_get,
    .kernel_release = kernel_release,
    .prepare = prepare_tables,
    .prepare_few = prepare_few,
    .scratch_size = kernel_scratch_size,
    .preferred_batch = kernel_preferred_batch,
    .program_create = program_create,
    .program_release = program_release,
    .program_kernel = program_kernel,
    .fft_create = create_fft,
    .fft_release = cpu_fft_release,
};

HCY_BACKEND_HEAD(cpu);

HCY_BACKEND_HEAD(cpu)
{
    static const hcy_backend cpu = { HCY_BACKEND_ABI, sizeof cpu, "cpu", &ops, hcy__families };
    /* The library may be older or newer than this backend, which is a file of its own. */
    if (host_abi != HCY_BACKEND_ABI)
        return hcy_fail(HCY_EABI, "the CPU backend has interface %u, the library wants %u", HCY_BACKEND_ABI,
                        host_abi);
    *backend = &cpu;
    return 0;
}
