/* kernel.c - kernels on a card, the catalogue's and the user's (program.c): their compute units, tables, launches.
 *
 * A kernel keeps, for each of its compute units, some runs that are used again and again; a launch takes free ones for
 * the ranges of its items.  Runs belong to the launch that took them until they have ended; the lock is of which are
 * free.
 */
#include "azint/azint_format.h"
#include "xrt_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RUNS_PER_UNIT 2 /* one works, the next is there when it ends */
#define MOST_UNITS    16
#define MOST_RUNS     (RUNS_PER_UNIT * MOST_UNITS)
#define ALIGN         64
#define SLICE_MS      50 /* of waiting, so that the end of the process is not held up */
#define MOST_ARGS     (1 + 2 * XRT_MOST_VALUES)

struct unit {
    void *handle;
    uint32_t groups[MOST_ARGS]; /* the memory of each argument that is an address */
    unsigned in_flight;
};

/* A run, and what belongs to it while it is in flight. */
struct run {
    struct xrt_kernel *kernel;
    struct unit *unit;
    void *handle;
    bool busy;
    uint64_t deadline_ns;
    struct xrt_memory
        *own[XRT_MOST_VALUES]; /* where structures are put, and what stands for absent buffers */
    struct piece {
        struct xrt_memory *home, *there; /* the argument's, and where the unit sees it */
        void *view;
        size_t offset, size;
        bool back; /* to be brought home at the end */
    } pieces[XRT_MOST_VALUES];
};

struct xrt_kernel {
    struct xrt_device *device; /* held */
    const char *name;
    const hcy_hls_layout *layout;
    const struct xrt_shape *shape; /* of the catalogue's */
    struct xrt_own *own;           /* of a user's; freed with it */
    size_t n_units, n_runs;
    struct unit units[MOST_UNITS];
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a run is free */
    struct run runs[MOST_RUNS];
};

/* A launch while it runs. */
struct launch {
    struct xrt_kernel *kernel;
    const hcy_launch_desc *desc; /* lives as long as the command's keep */
    size_t item_bytes[XRT_MOST_VALUES];
    struct run *flying[MOST_RUNS];
    size_t n_flying;
};

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
static struct run *take_run(struct xrt_kernel *k, bool wait)
{
    struct run *best = NULL;
    pthread_mutex_lock(&k->lock);
    while (!best && !atomic_load(&k->device->lost)) {
        /* The unit with the fewest in flight comes first: one run works there and one waits. */
        for (size_t i = 0; i < k->n_runs; i++) {
            struct run *r = &k->runs[i];
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

static void give_run(struct run *r)
{
    struct xrt_kernel *k = r->kernel;
    for (size_t i = 0; i < XRT_MOST_VALUES; i++)
        /* Views are the launch's own; the buffers behind them stay with their owners. */
        if (r->pieces[i].view)
            card_buffer_free(r->pieces[i].view);
    memset(r->pieces, 0, sizeof r->pieces);
    pthread_mutex_lock(&k->lock);
    r->busy = false;
    r->unit->in_flight--;
    pthread_cond_broadcast(&k->changed);
    pthread_mutex_unlock(&k->lock);
}

/* Until it has ended or is overdue, whatever became of the card in the meantime. */
static int await_run(struct run *r)
{
    struct xrt_device *d = r->kernel->device;
    enum card_state state = CARD_RUNS;
    int code = 0;
    /* Waiting in slices lets the end of the process come between. */
    while (state == CARD_RUNS && hcy_now_ns() < r->deadline_ns)
        state = card_run_wait(&code, r->handle, SLICE_MS);
    if (state == CARD_DONE)
        return 0;
    if (state == CARD_RUNS)
        /* A unit that hangs may still write: nothing that it can reach is freed from now on. */
        atomic_store(&d->hung, true);
    return xrt_lose(d, state == CARD_RUNS ? "a run did not end in time" : "a run failed", code);
}

/* --- Arguments --- */

/* Memory of the run's own for a structure, or in place of no buffer. */
static int own_memory(struct run *r, size_t value, uint32_t group)
{
    /* It is kept from launch to launch, because a run is used again for the same arguments. */
    return r->own[value] ? 0 : xrt_memory_new(&r->own[value], r->kernel->device, XRT_PAGE, group);
}

static int set_failed(const struct xrt_kernel *k, size_t argument)
{
    return hcy_fail(HCY_EBACKEND, "%s: XRT refuses argument %zu (%s) of kernel %s",
                    hcy_device_get_info(k->device->dev)->name, argument, k->layout->args[argument].name,
                    k->name);
}

static int set_structure(struct run *r, size_t argument, size_t value, const hcy_value *v)
{
    int status = own_memory(r, value, r->unit->groups[argument]);
    if (status)
        return status;
    /* Structures are written anew for each run, as launches of different jobs share the runs. */
    status = xrt_put(r->own[value], 0, v->bytes, v->size);
    if (!status)
        status = xrt_transfer(r->own[value], 0, v->size, true);
    if (status)
        return status;
    return card_run_set_buffer(r->handle, (int)argument, r->own[value]->buffer)
               ? 0
               : set_failed(r->kernel, argument);
}

/* The part of a buffer that belongs to items [first, first + n). */
static void take_piece(struct piece *p, const struct xrt_kernel *k, const hcy_value *v, size_t item_bytes, size_t first,
                       size_t n)
{
    p->home = v->block->handle;
    p->offset = v->offset + item_bytes * first;
    /* What does not belong to items is wanted whole by every run. */
    p->size = item_bytes ? item_bytes * n : v->bytes_left;
    p->back = (k->own && !k->own->typed) || v->type == HCY_ARG_OUT || v->type == HCY_ARG_INOUT;
}

static int set_part(struct run *r, size_t argument, struct piece *p, const hcy_value *v)
{
    /* The catalogue's kernels write all of an OUT buffer; a user's need not. */
    int status = xrt_memory_in(&p->there, p->home, r->unit->groups[argument], p->offset, p->size,
                               v->type != HCY_ARG_OUT || r->kernel->own);
    /* The message says which argument has no room, because units see few of the card's memories. */
    if (status == HCY_ENOMEM) {
        hcy_error why = *hcy_last_error();
        return hcy_fail(status, "kernel %s, argument %s: %s", r->kernel->name,
                        r->kernel->layout->args[argument].name, why.text);
    }
    if (status)
        return status;
    /* XRT passes on the address of a buffer alone, so a part needs a buffer of its own. */
    p->view = card_view(p->there->buffer, p->size, p->offset);
    return p->view && card_run_set_buffer(r->handle, (int)argument, p->view)
               ? 0
               : set_failed(r->kernel, argument);
}

static int set_buffer(struct run *r, size_t argument, size_t value, const hcy_value *v, size_t item_bytes,
                      const size_t range[2])
{
    struct piece *p = &r->pieces[value];
    bool absent = !v->block || !v->bytes_left;
    int status;
    /* Every register must have a value, so an empty page stands in for the address, with size 0. */
    if (absent) {
        status = own_memory(r, value, r->unit->groups[argument]);
        if (!status && !card_run_set_buffer(r->handle, (int)argument, r->own[value]->buffer))
            status = set_failed(r->kernel, argument);
    } else if (v->offset % 8) {
        status = hcy_fail(
            HCY_EINVAL,
            "kernel %s: argument %s is a view at byte %zu of its buffer; FPGA kernels want multiples of 8",
            r->kernel->name, r->kernel->layout->args[argument].name, v->offset);
    } else {
        take_piece(p, r->kernel, v, item_bytes, range[0], range[1]);
        status = set_part(r, argument, p, v);
    }
    return status;
}

static int set_number(struct run *r, size_t argument, uint64_t number)
{
    return card_run_set_number(r->handle, (int)argument, number) ? 0 : set_failed(r->kernel, argument);
}

static int set_scalar(struct run *r, size_t argument, const hcy_value *v)
{
    uint64_t bits = 0;
    memcpy(&bits, v->bytes, v->size);
    /* The catalogue's registers have bits alone; XRT takes as a number what a user's metadata call one. */
    if (!r->kernel->own || !r->kernel->own->arguments[argument].is_real)
        return set_number(r, argument, bits);
    float single;
    memcpy(&single, v->bytes, sizeof single);
    double real = single;
    if (v->size == sizeof real)
        memcpy(&real, v->bytes, sizeof real);
    return card_run_set_real(r->handle, (int)argument, real) ? 0 : set_failed(r->kernel, argument);
}

/* What is brought home of two copies of the same bytes, in different memories of the card, would be the last one's. */
static int check_copies(const struct run *r)
{
    for (size_t i = 0; i < XRT_MOST_VALUES; i++)
        for (size_t j = 0; j < i; j++) {
            const struct piece *a = &r->pieces[j], *b = &r->pieces[i];
            if (a->view && b->view && a->home == b->home && a->there != b->there && a->back && b->back &&
                a->offset < b->offset + b->size && b->offset < a->offset + a->size)
                return hcy_fail(HCY_EINVAL,
                                "kernel %s: arguments %zu and %zu share memory, but are connected to different memories of "
                                "the card: give the kernel a signature, which says which one is written",
                                r->kernel->name, j + 1, i + 1);
        }
    return 0;
}

/* All arguments for items [range[0], range[0] + range[1]). */
static int set_run_arguments(struct run *r, const struct launch *l, const size_t range[2])
{
    const hcy_hls_layout *layout = l->kernel->layout;
    const hcy_value *v = l->desc->values;
    int status = 0;
    /* The catalogue's buffers have their size in an argument behind their address, 0 of one that is not there. */
    for (size_t i = 0, value = 0; !status && i < layout->n_args; i++)
        switch (layout->args[i].kind) {
        case HCY_HLS_ITEMS:
            status = set_number(r, i, range[1]);
            break;
        case HCY_HLS_ADDRESS:
            status = set_buffer(r, i, value, &v[value], l->item_bytes[value], range);
            value++;
            break;
        case HCY_HLS_BYTES:
            status = set_number(r, i, r->pieces[value - 1].size);
            break;
        case HCY_HLS_STRUCT:
            status = set_structure(r, i, value, &v[value]);
            value++;
            break;
        default:
            status = set_scalar(r, i, &v[value]);
            value++;
        }
    return status ? status : check_copies(r);
}

/* --- Launches --- */

static int check_sizes(const struct launch *l)
{
    const hcy_launch_desc *desc = l->desc;
    for (size_t i = 0; i < desc->n_values; i++)
        if (l->item_bytes[i] && desc->values[i].bytes_left / l->item_bytes[i] < desc->items)
            return hcy_fail(HCY_EINVAL, "%s: argument %zu is too small for %zu items", l->kernel->name, i + 1,
                            desc->items);
    return 0;
}

/* The oldest run in flight is waited for, and its results are brought home. */
static int land_oldest(struct launch *l)
{
    struct run *r = l->flying[0];
    /* Runs end about in the order in which they started, so the first is waited for. */
    memmove(&l->flying[0], &l->flying[1], --l->n_flying * sizeof l->flying[0]);
    int status = await_run(r);
    for (size_t i = 0; !status && i < l->desc->n_values; i++)
        if (r->pieces[i].back)
            status = xrt_memory_back(r->pieces[i].home, r->pieces[i].there, r->pieces[i].offset,
                                     r->pieces[i].size);
    /* After a hang the run and its memory stay as they are, because the card may still use them. */
    if (!atomic_load(&l->kernel->device->hung))
        give_run(r);
    return status;
}

static int fly_range(struct launch *l, const size_t range[2])
{
    struct xrt_kernel *k = l->kernel;
    struct run *r = NULL;
    int status = 0;
    /* Waiting for others with runs of our own in flight could be for ever: two launches might wait for
     * each other. */
    while (!status && !(r = take_run(k, l->n_flying == 0)) && l->n_flying)
        status = land_oldest(l);
    if (status || !r)
        return status ? status : xrt_lose(k->device, "the card is lost", 0);
    status = set_run_arguments(r, l, range);
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
static size_t granule_of(const struct launch *l)
{
    size_t granule = 1;
    for (size_t i = 0; i < l->desc->n_values; i++)
        /* Powers of two are enough, since the addresses must be multiples of one. */
        while (l->item_bytes[i] * granule % 8)
            granule *= 2;
    return granule;
}

static int fly_all(struct launch *l)
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
    struct launch *l = command;
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
    struct launch l = { .kernel = kimpl, .desc = desc };
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
    struct unit *u = &k->units[k->n_units];
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

static int open_runs(struct xrt_kernel *k)
{
    for (; k->n_runs < RUNS_PER_UNIT * k->n_units; k->n_runs++) {
        struct run *r = &k->runs[k->n_runs];
        /* Runs are dealt to the units in turn, so that the first ones of a launch go to different
         * units. */
        *r = (struct run){ .kernel = k, .unit = &k->units[k->n_runs % k->n_units] };
        r->handle = card_run_open(r->unit->handle);
        if (!r->handle)
            return hcy_fail(HCY_ENOMEM, "XRT has no more runs of kernel %s", k->name);
    }
    return 0;
}

static int open_units(struct xrt_kernel *k)
{
    char names[MOST_UNITS][80];
    size_t n = xclbin_instances(&k->device->xclbin, k->name, names, MOST_UNITS);
    int status = 0;
    if (!xclbin_connects(&k->device->xclbin, k->name, k->layout->n_args))
        return hcy_fail(HCY_EFORMAT, "the program connects kernel %s to memories by arguments that it does not have",
                        k->name);
    for (size_t i = 0; !status && i < n; i++)
        status = open_unit(k, names[i]);
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
        for (size_t v = 0; v < XRT_MOST_VALUES; v++)
            xrt_memory_free(k->runs[i].own[v]);
    pthread_cond_destroy(&k->changed);
    pthread_mutex_destroy(&k->lock);
    xrt_let_go(k->device);
    free(k->own);
    free(k);
}
