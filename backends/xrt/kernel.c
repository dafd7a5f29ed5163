/* kernel.c - kernels on a card, the catalogue's and the user's (program.c): their compute units, tables, launches.
 *
 * A kernel keeps, for each of its compute units, some runs that are used again and again; a launch takes free ones for
 * the ranges of its items.  Runs belong to the launch that took them until they have ended; the lock is of which are
 * free.
 */
#include "azint/azint_format.h"
#include "xrt_run.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ALIGN    64
#define SLICE_MS 50 /* of waiting, so that the end of the process is not held up */

/* --- Runs --- */

/* A tenth of a second at most: nobody depends on being woken. */
static void wait_a_little(struct xrt_kernel *k)
{
    struct timespec until;
    /* The limit is on the real-time clock, as the condition was made; if that is set, one wait is longer
     * or shorter. */
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 100000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&k->changed, &k->lock, &until);
}

/* A free run of the unit that has the fewest in flight; NULL: none is free and `wait` is false, or the card is lost. */
static struct xrt_run *take_run(struct xrt_kernel *k, bool wait)
{
    struct xrt_run *best = NULL;
    pthread_mutex_lock(&k->lock);
    while (!best && !atomic_load(&k->device->lost)) {
        /* The unit with the fewest in flight comes first: one run works there and one waits. */
        for (size_t i = 0; i < k->n_runs; i++) {
            struct xrt_run *r = &k->runs[i];
            if (!r->busy && (!best || r->unit->in_flight < best->unit->in_flight))
                best = r;
        }
        if (best) {
            best->busy = true;
            best->unit->in_flight++;
        } else if (wait) {
            wait_a_little(k);
        } else {
            break;
        }
    }
    pthread_mutex_unlock(&k->lock);
    return best;
}

static void give_run(struct xrt_run *r)
{
    struct xrt_kernel *k = r->kernel;
    xrt_run_forget(r);
    pthread_mutex_lock(&k->lock);
    r->busy = false;
    r->unit->in_flight--;
    pthread_cond_broadcast(&k->changed);
    pthread_mutex_unlock(&k->lock);
}

/* Until it has ended or is overdue, whatever became of the card in the meantime. */
static int await_run(struct xrt_run *r)
{
    struct xrt_device *d = r->kernel->device;
    enum card_state state = CARD_RUNS;
    int code = 0;
    bool overdue = false;
    /* Waiting in slices lets the end of the process come between.  The last slice begins when the run is overdue: it
     * may have ended long before, while another one's results were brought home or the process was stopped. */
    while (state == CARD_RUNS && !overdue) {
        overdue = hcy_now_ns() >= r->deadline_ns;
        state = card_run_wait(&code, r->handle, SLICE_MS);
    }
    if (state == CARD_DONE)
        return 0;
    if (state == CARD_RUNS)
        /* A unit that hangs may still write: nothing that it can reach is freed from now on. */
        atomic_store(&d->hung, true);
    return xrt_lose(d, state == CARD_RUNS ? "a run did not end in time" : "a run failed", code);
}

/* --- Launches --- */

static int check_sizes(const struct xrt_launch *l)
{
    const hcy_launch_desc *desc = l->desc;
    for (size_t i = 0; i < desc->n_values; i++)
        if (l->item_bytes[i] && desc->values[i].bytes_left / l->item_bytes[i] < desc->items)
            return hcy_fail(HCY_EINVAL, "%s: argument %zu is too small for %zu items", l->kernel->name, i + 1,
                            desc->items);
    return 0;
}

/* The oldest run in flight is waited for, and its results are brought home. */
static int land_oldest(struct xrt_launch *l)
{
    struct xrt_run *r = l->flying[0];
    /* Runs end about in the order in which they started, so the first is waited for. */
    memmove(&l->flying[0], &l->flying[1], --l->n_flying * sizeof l->flying[0]);
    int status = await_run(r);
    if (!status)
        status = xrt_run_home(r, l);
    /* After a hang the run and its memory stay as they are, because the card may still use them. */
    if (!atomic_load(&l->kernel->device->hung))
        give_run(r);
    return status;
}

static int fly_range(struct xrt_launch *l, const size_t range[2])
{
    struct xrt_kernel *k = l->kernel;
    struct xrt_run *r = NULL;
    int status = 0;
    /* Waiting for others with runs of our own in flight could be for ever: two launches might wait for
     * each other. */
    while (!status && !(r = take_run(k, l->n_flying == 0)) && l->n_flying)
        status = land_oldest(l);
    if (status || !r)
        return status ? status : xrt_lose(k->device, "the card is lost", 0);
    status = xrt_run_set(r, l, range);
    /* Counted from when it is handed over, so the time of a run before it on the same unit is in it. */
    r->deadline_ns = hcy_now_ns() + (uint64_t)k->device->timeout_ms * 1000000;
    if (!status && !card_run_start(r->handle))
        status = xrt_lose(k->device, "a run cannot be started", 0);
    if (!status)
        l->flying[l->n_flying++] = r;
    else if (!atomic_load(&k->device->hung))
        give_run(r);
    return status;
}

/* Items from which on cutting leaves every address a multiple of 8. */
static size_t granule_of(const struct xrt_launch *l)
{
    size_t granule = 1;
    for (size_t i = 0; i < l->desc->n_values; i++)
        /* Powers of two are enough, since the addresses must be multiples of one. */
        while (l->item_bytes[i] * granule % 8)
            granule *= 2;
    return granule;
}

static int fly_all(struct xrt_launch *l)
{
    /* A user's kernel is one run, whose arguments say how much there is to do. */
    size_t granule = granule_of(l), items = l->kernel->own ? 1 : l->desc->items, all = (items + granule - 1) / granule,
           n = all < l->kernel->n_runs ? all : l->kernel->n_runs;
    int status = 0;
    for (size_t i = 0, first = 0; !status && i < n; i++) {
        /* Runs differ by one granule at most, so that units end together. */
        size_t end = (all / n * (i + 1) + (i + 1 < all % n ? i + 1 : all % n)) * granule;
        end = end < items ? end : items;
        status = fly_range(l, (size_t[2]){ first, end - first });
        first = end;
    }
    /* Also after a failure: what flies uses the caller's buffers. */
    while (l->n_flying) {
        int landed = land_oldest(l);
        status = status ? status : landed;
    }
    return status;
}

static int run_xrt_launch(void *command)
{
    struct xrt_launch *l = command;
    int status = hcy_fault_launch(l->kernel->device->dev);
    if (!status && l->kernel->shape)
        /* The check is the command's and not the call's, so that its failure comes in order. */
        status = l->kernel->shape->look(l->desc->values, l->item_bytes);
    if (!status)
        status = check_sizes(l);
    return status ? status : fly_all(l);
}

int xrt_launch(void *qimpl, void *kimpl, const hcy_launch_desc *desc, hcy_keep *keep)
{
    struct xrt_queue *q = qimpl;
    struct xrt_launch l = { .kernel = kimpl, .desc = desc };
    int status = l.kernel->own ? xrt_own_check(l.kernel->own, desc) : 0;
    return status ? status : hcy_hostqueue_submit(q->host, l.kernel->name, 0, run_xrt_launch, &l, sizeof l, keep);
}

/* --- Tables --- */

static size_t aligned_up(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static int lay_out_spans(hcy_hls_tables *head, const hcy_span *spans, size_t n, size_t *size)
{
    int status = 0;
    *size = aligned_up(sizeof *head);
    *head = (hcy_hls_tables){ .n_spans = n };
    for (size_t i = 0; !status && i < n; i++) {
        /* Spans begin at whole words of the card's memory bus. */
        head->span[i].offset = *size;
        head->span[i].size = spans[i].size;
        status = hcy_size_add(size, *size, aligned_up(spans[i].size));
    }
    return status;
}

static int put_span_tables(const struct xrt_kernel *k, const hcy_hls_tables *head, const hcy_span *spans,
                           size_t size, hcy_block *tables)
{
    struct xrt_memory *m = tables->handle;
    void *first = spans[0].size ? malloc(spans[0].size) : NULL;
    int status = first ? xrt_put(m, 0, head, sizeof *head)
                       : hcy_fail(HCY_EINVAL, "a plan without a head, or no memory for it");
    for (size_t i = 0; !status && i < head->n_spans; i++)
        if (spans[i].size)
            status = xrt_put(m, head->span[i].offset, spans[i].data, spans[i].size);
    if (!status)
        status = xrt_transfer(m, 0, size, true);
    /* A copy of the head stays on the host: launches are checked against it. */
    if (first)
        m->tables = (hcy_span){ memcpy(first, spans[0].data, spans[0].size), spans[0].size };
    if (status)
        xrt_free(k->device, HCY_MEM_DEVICE, tables);
    return status;
}

/* Of a user's kernel nobody knows what it wants besides its arguments. */
static int need_shape(const struct xrt_kernel *k)
{
    return k->shape ? 0 : hcy_fail(HCY_EUNSUPPORTED, "%s is a program's own kernel, without tables or scratch memory",
                                   k->name);
}

/* The canonical spans, and what the kernel wants besides, behind one head. */
int xrt_prepare(hcy_block *tables, void *kimpl, const hcy_span *spans, size_t n)
{
    const struct xrt_kernel *k = kimpl;
    hcy_span all[HCY_HLS_MAX_SPANS];
    hcy_hls_tables head;
    void *more = NULL;
    size_t size = 0;
    int status = need_shape(k);
    /* One more says where a device may keep what it makes of them; of a card's nothing is kept. */
    if (n == HCY_AZINT_SPANS_KEPT)
        n = HCY_AZINT_SPANS;
    if (!status && (!k->shape->more || n != HCY_HLS_MAX_SPANS - 1))
        status = hcy_fail(HCY_EINVAL, "%s: %zu tables are not a plan's", k->name, n);
    if (!status)
        status = k->shape->more(&more, &size, spans, n);
    if (status)
        return status;
    /* The kernel's own records follow as one more span, so one head describes everything. */
    memcpy(all, spans, n * sizeof *spans);
    all[n] = (hcy_span){ more, size };
    status = lay_out_spans(&head, all, n + 1, &size);
    if (!status)
        status = xrt_alloc(tables, k->device, HCY_MEM_DEVICE, size);
    if (!status)
        status = put_span_tables(k, &head, all, size, tables);
    free(more);
    return status;
}

int xrt_scratch_size(size_t *size, void *kimpl, size_t items, const hcy_value *values, size_t n)
{
    const struct xrt_kernel *k = kimpl;
    size_t item_bytes[XRT_MOST_VALUES] = { 0 };
    (void)items;
    (void)n;
    *size = 0; /* FPGA kernels have their own memory */
    int status = need_shape(k);
    return status ? status : k->shape->look(values, item_bytes);
}

int xrt_preferred_batch(size_t *items, void *kimpl, const hcy_value *values, size_t n)
{
    const struct xrt_kernel *k = kimpl;
    size_t item_bytes[XRT_MOST_VALUES] = { 0 };
    (void)n;
    *items = 8 * k->n_runs;
    int status = need_shape(k);
    return status ? status : k->shape->look(values, item_bytes);
}

/* --- Kernels --- */

static int open_unit(struct xrt_kernel *k, const char *name)
{
    struct xrt_unit *u = &k->units[k->n_units];
    u->handle = card_unit_open(k->device->card, k->device->xclbin.head->uuid, name);
    if (!u->handle)
        return hcy_fail(HCY_EBUSY,
                        "XRT does not give compute unit %s: another process may hold it for itself", name);
    k->n_units++;
    /* Where each argument's memory is was decided when the program was linked. */
    for (size_t i = 0; i < k->layout->n_args; i++)
        if (k->layout->args[i].kind == HCY_HLS_ADDRESS || k->layout->args[i].kind == HCY_HLS_STRUCT) {
            int group = card_unit_group(u->handle, (int)i);
            if (group < 0)
                return hcy_fail(HCY_EBACKEND, "compute unit %s: argument %s is connected to no memory", name,
                                k->layout->args[i].name);
            u->groups[i] = (uint32_t)group;
        }
    return 0;
}

/* Which argument a value's register is, and whether units have it in different memories: a buffer of the user's kernel,
 * which is one run, stays in that of the first one that uses it. */
static void look_at_arguments(struct xrt_kernel *k)
{
    for (size_t i = 0, value = 0; i < k->layout->n_args; i++) {
        const int kind = k->layout->args[i].kind;
        if (kind != HCY_HLS_ITEMS && kind != HCY_HLS_BYTES)
            k->argument_of[value++] = i;
        for (size_t u = 1; u < k->n_units; u++)
            k->spread[i] |= !k->own && k->units[u].groups[i] != k->units[0].groups[i];
    }
}

static int open_runs(struct xrt_kernel *k)
{
    for (; k->n_runs < XRT_RUNS_PER_UNIT * k->n_units; k->n_runs++) {
        struct xrt_run *r = &k->runs[k->n_runs];
        /* Runs are dealt to the units in turn, so that the first ones of a launch go to different
         * units. */
        *r = (struct xrt_run){ .kernel = k, .unit = &k->units[k->n_runs % k->n_units] };
        r->handle = card_run_open(r->unit->handle);
        if (!r->handle)
            return hcy_fail(HCY_ENOMEM, "XRT has no more runs of kernel %s", k->name);
    }
    return 0;
}

static int open_units(struct xrt_kernel *k)
{
    char names[XRT_MOST_UNITS][80];
    size_t n = xclbin_instances(&k->device->xclbin, k->name, names, XRT_MOST_UNITS);
    int status = 0;
    if (!xclbin_connects(&k->device->xclbin, k->name, k->layout->n_args))
        return hcy_fail(HCY_EFORMAT, "the program connects kernel %s to memories by arguments that it does not have",
                        k->name);
    for (size_t i = 0; !status && i < n; i++)
        status = open_unit(k, names[i]);
    look_at_arguments(k);
    return status ? status : open_runs(k);
}

int xrt_kernel_open(void **kimpl, struct xrt_device *d, const struct xrt_shape *shape, struct xrt_own *own)
{
    struct xrt_kernel *k = calloc(1, sizeof *k);
    if (!k) {
        free(own);
        return hcy_fail(HCY_ENOMEM, "out of memory for a kernel");
    }
    xrt_hold(d);
    k->device = d;
    k->shape = shape;
    k->own = own;
    k->layout = own ? &own->layout : hcy__hls_layout(shape->kernel);
    k->name = k->layout->kernel;
    pthread_mutex_init(&k->lock, NULL);
    pthread_cond_init(&k->changed, NULL);
    int status = open_units(k);
    if (status)
        xrt_kernel_release(k);
    else
        *kimpl = k;
    return status;
}

int xrt_kernel_get(void **kimpl, const char **variant, void *impl, const hcy_signature *signature)
{
    struct xrt_device *d = impl;
    const struct xrt_shape *shape = xrt_shape_of(signature->name);
    xrt_hold(d);
    int status = shape && xclbin_has(&d->xclbin, signature->name)
                     ? xrt_kernel_open(kimpl, d, shape, NULL)
                     : hcy_fail(HCY_EUNSUPPORTED, "%s has no kernel \"%s\" in its program",
                                hcy_device_get_info(d->dev)->name, signature->name);
    xrt_let_go(d);
    *variant = hcy_device_get_info(d->dev)->caps & HCY_CAP_VIRTUAL ? "virtual" : "fpga";
    return status;
}

void xrt_kernel_release(void *kimpl)
{
    struct xrt_kernel *k = kimpl;
    /* What hangs cannot be closed: runs and units of such a card are left until the process ends. */
    if (!atomic_load(&k->device->hung)) {
        for (size_t i = 0; i < k->n_runs; i++)
            card_run_close(k->runs[i].handle);
        for (size_t i = 0; i < k->n_units; i++)
            card_unit_close(k->units[i].handle);
    }
    for (size_t i = 0; i < k->n_runs; i++)
        xrt_run_free(&k->runs[i]);
    pthread_cond_destroy(&k->changed);
    pthread_mutex_destroy(&k->lock);
    xrt_let_go(k->device);
    free(k->own);
    free(k);
}
