/* pipeline.c - making a pipeline, one run of it in the caller's thread, and what runs and the push form
 * (push.c) have in common: beginning, handing the ring's front out, ending. */
#include "pipeline_priv.h"
#include "sized.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <halcyon/backend.h>

#define MEMORY       ((uint64_t)128 << 20) /* stored frames of all slots, by default */
#define FAR_MEMORY   ((uint64_t)384 << 20) /* where an accelerator wants batches that pay for its launches */
#define SUMS_MEMORY  ((uint64_t)256 << 20) /* sums of all lanes, one frame each at least */
#define BATCH_MEMORY ((uint64_t)128 << 20) /* curves of a batch */
#define CURVE_MEMORY ((uint64_t)96 << 20)  /* curves that wait for their turn; two batches of them at least */
#define CURVES       9                     /* arrays of n_bins in a result */
#define MEANS        2                     /* in one of means */
#define NARROW_SUMS  4                     /* rows of sums that are touched, mostly, where HI rows are not */
#define MAX_BATCH    4096
#define MAX_READERS  64

hcy_pipeline_source hcy_pipeline_source_of(const hcy_stack_info *info)
{
    hcy_pipeline_source source;
    memset(&source, 0, sizeof source);
    if (!info)
        return source;
    source.coding.codec = info->codec;
    source.coding.elem_size = info->elem_size;
    source.coding.image_bytes = info->frame_bytes;
    source.coding.block_bytes = info->block_bytes;
    source.pixel_type = info->pixel_type;
    source.max_chunk = info->max_chunk;
    return source;
}

/* --- Sizes --- */

static size_t least(uint64_t a, uint64_t b)
{
    return (size_t)(a < b ? a : b);
}

static uint64_t at_least_one(uint64_t n)
{
    return n ? n : 1;
}

/* Frames a slot, bytes a slot, slots; *window curves that may wait. */
static int choose_sizes(hcy_pipeline *p, size_t *window)
{
    const int means = p->opts.flags & HCY_PIPELINE_MEANS, narrow = p->job.flags & HCY_AZINT_NARROW;
    const uint64_t curve = (means ? MEANS : CURVES) * sizeof(double) * p->n_bins;
    const uint64_t sums = narrow ? NARROW_SUMS * sizeof(uint64_t) * p->n_bins : p->sums_bytes;
    size_t batch = p->opts.batch, chunk, full;
    int status = hcy_bslz4_encode_bound(&chunk, &p->source.coding);
    if (status)
        return status;
    if (p->source.max_chunk) /* a damaged file may claim anything: what is larger is refused as it comes */
        chunk = least(p->source.max_chunk, 2 * (uint64_t)chunk);
    for (size_t i = 0; i < p->n_workers && !p->opts.batch; i++)
        batch = p->workers[i].preferred > batch ? p->workers[i].preferred : batch;
    batch = least(at_least_one(batch), MAX_BATCH);
    batch = least(batch, at_least_one(SUMS_MEMORY / (sums * PIPE_LANES * p->n_workers)));
    batch = least(batch, at_least_one(BATCH_MEMORY / curve));
    int far = 0; /* a device that frames are copied to */
    for (size_t i = 0; i < p->n_workers; i++) {
        if (p->workers[i].failed)
            continue;
        far |= !p->workers[i].direct;
        p->n_slots += p->workers[i].direct ? 2 : 3; /* one is filled, the others are with the device */
    }
    status = hcy_size_add(&chunk, chunk, HCY_BSLZ4_ALIGN - 1);
    chunk -= chunk % HCY_BSLZ4_ALIGN;
    if (!status)
        status = hcy_size_mul(&full, batch, chunk);
    if (status)
        return status;
    uint64_t memory = p->opts.memory ? p->opts.memory : p->opts.batch ? UINT64_MAX : far ? FAR_MEMORY : MEMORY;
    p->capacity = least(full, memory / p->n_slots);
    if (p->capacity < chunk)
        p->capacity = chunk;
    p->capacity -= p->capacity % HCY_BSLZ4_ALIGN;
    p->batch = batch;
    *window = least(4 * p->n_slots * batch, CURVE_MEMORY / curve);
    if (*window < (1 + p->n_workers) * batch) /* one is read while all devices have theirs */
        *window = (1 + p->n_workers) * batch;
    return 0;
}

/* Readers take a CPU's time from its kernels; an accelerator takes all that half of the processors can read. */
static uint32_t choose_readers(const hcy_pipeline *p)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t n = 0, half = processors > 3 ? (uint32_t)(processors + 1) / 2 : 2;
    for (size_t i = 0; i < p->n_workers; i++) {
        const hcy_device_info *info = hcy_device_get_info(p->workers[i].device);
        n += info->kind == HCY_KIND_CPU ? (info->units + 1) / 2 : half;
    }
    return n < 1 ? 1 : n > 16 ? 16 : n;
}

/* --- Making --- */

static int init_sync(hcy_pipeline *p)
{
    pthread_condattr_t attr;
    if (pthread_condattr_init(&attr))
        return hcy_fail(HCY_ENOMEM, "the pipeline's conditions");
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    int bad = pthread_mutex_init(&p->lock, NULL) || pthread_cond_init(&p->space, &attr) ||
              pthread_cond_init(&p->work, &attr) || pthread_cond_init(&p->output, &attr);
    pthread_condattr_destroy(&attr);
    return bad ? hcy_fail(HCY_ENOMEM, "the pipeline's conditions") : 0;
}

static int check_create(hcy_device *const *devices, size_t n, const hcy_azint_plan *plan,
                        const hcy_pipeline_source *source)
{
    int whole = devices && n && plan && source;
    for (size_t i = 0; whole && i < n; i++)
        whole = devices[i] != NULL;
    if (!whole)
        return hcy_fail(HCY_EINVAL, "a pipeline needs a device, a plan and a source");
    return 0;
}

static int read_options(hcy_pipeline_options *to, const hcy_pipeline_options *opts)
{
    int status = opts ? hcy__sized_read(to, sizeof *to, opts, "hcy_pipeline_options") : 0;
    if (!status && to->readers > MAX_READERS)
        return hcy_fail(HCY_EINVAL, "%u readers: at most %d", to->readers, MAX_READERS);
    return status;
}

/* Azimuthal errors without a filter, of what bslz4_azint_spread takes. */
static int is_spread(const hcy_pipeline *p, const hcy_azint_plan_info *info)
{
    return p->filter.kind == HCY_AZINT_FILTER_NONE && !info->has_dark && p->source.coding.elem_size <= 4 &&
           p->source.pixel_type != HCY_PIXEL_F32;
}

static int init(hcy_pipeline *p, hcy_device *const *devices)
{
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    int status = hcy_azint_plan_get_info(&info, p->plan);
    if (!status)
        status = hcy_azint_plan_job(&p->job, p->plan, p->source.pixel_type);
    if (!status)
        status = hcy_azint_plan_narrow(&p->job, p->plan);
    p->filtered = info.filtered;
    if (!status && p->filtered)
        status = hcy_azint_plan_filter(&p->filter, p->plan);
    p->fused = !p->filtered ? "bslz4_azint" : is_spread(p, &info) ? "bslz4_azint_spread" : NULL;
    if (status)
        return status;
    if (p->job.n_pixels * p->source.coding.elem_size != p->source.coding.image_bytes)
        return hcy_fail(HCY_EINVAL, "the plan is for %zu x %zu pixels, frames of %llu bytes are not",
                        info.height, info.width, (unsigned long long)p->source.coding.image_bytes);
    p->n_bins = info.n_bins;
    p->sums_bytes = info.n_sums * info.n_bins * sizeof(uint64_t);
    p->shown_devices = calloc(p->n_workers, sizeof *p->shown_devices);
    if (!p->shown_devices)
        return hcy_fail(HCY_ENOMEM, "the statistics of %zu devices", p->n_workers);
    for (size_t i = 0; i < p->n_workers && !status; i++) {
        p->workers[i].pipeline = p;
        p->workers[i].index = i;
        p->workers[i].device = hcy_device_retain(devices[i]);
        status = hcy__worker_leave_out(&p->workers[i], hcy__worker_init(&p->workers[i]));
    }
    return status;
}

/* Every device prepares its tables in its own thread, all at once. */
static int start_workers(hcy_pipeline *p)
{
    int status = 0;
    for (size_t i = 0; i < p->n_workers && !status; i++)
        if (!p->workers[i].failed)
            status = hcy__worker_start(&p->workers[i]);
    for (size_t i = 0; i < p->n_workers && !status; i++) {
        struct pipe_worker *w = &p->workers[i];
        pthread_mutex_lock(&p->lock);
        while (w->started && !w->ready)
            pthread_cond_wait(&p->output, &p->lock);
        pthread_mutex_unlock(&p->lock);
        if (w->started && w->setup)
            status = hcy__worker_leave_out(w, hcy_fail_again(&w->error));
    }
    return status;
}

static int create_memory(hcy_pipeline *p)
{
    size_t window = 0;
    int status = choose_sizes(p, &window);
    if (!status)
        status = hcy__slots_create(p);
    for (size_t i = 0; i < p->n_workers && !status; i++)
        if (!p->workers[i].failed)
            status = hcy__worker_leave_out(&p->workers[i], hcy__worker_create_lanes(&p->workers[i]));
    return status ? status : hcy__output_create(p, window);
}

int hcy_pipeline_create(hcy_pipeline **pipeline, hcy_device *const *devices, size_t n_devices,
                        const hcy_azint_plan *plan, const hcy_pipeline_source *source,
                        const hcy_pipeline_options *opts)
{
    hcy_pipeline_options options = HCY_PIPELINE_OPTIONS_INIT;
    int status = pipeline ? hcy_fork_check() : hcy_fail(HCY_EINVAL, "hcy_pipeline_create: no place for the pipeline");
    if (!status)
        status = check_create(devices, n_devices, plan, source);
    if (!status)
        status = read_options(&options, opts);
    if (status)
        return status;
    hcy_pipeline *p = calloc(1, sizeof *p);
    struct pipe_worker *workers = calloc(n_devices, sizeof *workers);
    if (!p || !workers || init_sync(p)) {
        free(p);
        free(workers);
        return hcy_fail(HCY_ENOMEM, "a pipeline of %zu devices", n_devices);
    }
    p->plan = hcy_azint_plan_retain((hcy_azint_plan *)plan);
    p->source = *source;
    p->opts = options;
    p->workers = workers;
    p->n_workers = n_devices;
    p->stopped = 1; /* until there is a run */
    status = init(p, devices);
    if (!status)
        status = start_workers(p);
    if (!status)
        status = create_memory(p);
    if (status) {
        hcy_error error = *hcy_last_error();
        hcy_pipeline_destroy(p);
        return hcy_fail_again(&error);
    }
    if (!p->opts.readers)
        p->opts.readers = choose_readers(p);
    *pipeline = p;
    return 0;
}

void hcy_pipeline_destroy(hcy_pipeline *p)
{
    if (!p || hcy__check_outside(p, "hcy_pipeline_destroy")) /* in a child nothing can be given back */
        return;
    hcy__push_abandon(p);
    pthread_mutex_lock(&p->lock);
    p->quit = 1;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < p->n_workers; i++)
        hcy__worker_destroy(&p->workers[i]);
    hcy__slots_destroy(p);
    hcy__output_destroy(p);
    hcy_azint_plan_release((hcy_azint_plan *)p->plan);
    pthread_cond_destroy(&p->space);
    pthread_cond_destroy(&p->work);
    pthread_cond_destroy(&p->output);
    pthread_mutex_destroy(&p->lock);
    free(p->shown_devices);
    free(p->workers);
    free(p);
}

/* --- A run --- */

void hcy__stop(hcy_pipeline *p, int status, const hcy_error *error)
{
    if (!p->stopped) {
        p->stopped = 1;
        p->status = status;
        p->error = *error;
        p->error.status = status;
    }
    pthread_cond_broadcast(&p->space);
    pthread_cond_broadcast(&p->output);
}

int hcy__stopped(const hcy_pipeline *p)
{
    return p->status ? hcy_fail_again(&p->error) : hcy_fail(HCY_ESTATE, "the run has ended");
}

void hcy_pipeline_cancel(hcy_pipeline *p)
{
    if (p)
        atomic_store(&p->cancelled, 1);
}

/* A copy of the statistics that stays as it is until the next one. */
static void show_stats(hcy_pipeline *p)
{
    pthread_mutex_lock(&p->lock);
    p->shown = p->stats;
    hcy__latency_show(&p->latency, &p->shown);
    for (size_t i = 0; i < p->n_workers; i++)
        p->shown_devices[i] = p->workers[i].stats;
    pthread_mutex_unlock(&p->lock);
    p->shown.seconds = 1e-9 * (double)(hcy_now_ns() - p->run_start);
    p->shown.batch = p->batch;
    p->shown.n_devices = p->n_workers;
    p->shown.devices = p->shown_devices;
}

const hcy_pipeline_stats *hcy_pipeline_get_stats(const hcy_pipeline *p)
{
    if (hcy__check_call(p, "hcy_pipeline_get_stats"))
        return NULL;
    if (p->push) /* nobody else makes copies then */
        show_stats((hcy_pipeline *)p);
    return &p->shown;
}

static int check_run(const hcy_pipeline *p, const hcy_stack *stack, uint64_t first, uint64_t last)
{
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    const hcy_bslz4_job *coding = &p->source.coding;
    if (info->codec != coding->codec || info->elem_size != coding->elem_size ||
        info->frame_bytes != coding->image_bytes || info->pixel_type != p->source.pixel_type)
        return hcy_fail(HCY_EINVAL, "%s: its frames are stored in another way than the pipeline was made for",
                        info->path);
    if (first >= last || last > info->frames)
        return hcy_fail(HCY_ERANGE, "frames %llu to %llu (not included): %s has %llu, counted from 0",
                        (unsigned long long)first, (unsigned long long)last, info->path,
                        (unsigned long long)info->frames);
    return 0;
}

int hcy__run_claim(hcy_pipeline *p)
{
    pthread_mutex_lock(&p->lock);
    int busy = p->busy, push = p->push != NULL;
    p->busy = 1;
    pthread_mutex_unlock(&p->lock);
    if (push)
        return hcy_fail(HCY_EINVAL, "the pipeline takes submitted frames: finish that first");
    return busy ? hcy_fail(HCY_EBUSY, "another run of this pipeline is in progress") : 0;
}

void hcy__run_give_up(hcy_pipeline *p)
{
    pthread_mutex_lock(&p->lock);
    p->busy = 0;
    pthread_mutex_unlock(&p->lock);
}

/* Everything as it was before the first frame; fails if no device is left from earlier runs. */
int hcy__run_begin(hcy_pipeline *p, struct pipe_push *push, const struct pipe_run *run)
{
    int status = 0, goes_on = !push && p->run_start && p->opts.flags & HCY_PIPELINE_ADD_UP;
    pthread_mutex_lock(&p->lock);
    p->run = *run;
    p->push = push;
    if (!goes_on)
        p->stats = (hcy_pipeline_stats){ 0 };
    p->stats.frames += push ? 0 : run->last - run->first;
    memset(&p->latency, 0, sizeof p->latency);
    p->accepted = p->emitted = 0;
    for (size_t i = 0; i < p->window; i++)
        hcy__output_clear(p, &p->ring[i]);
    for (size_t i = 0; i < p->n_workers; i++) {
        hcy_pipeline_device *d = &p->workers[i].stats;
        if (!goes_on) {
            d->frames = d->batches = d->bytes = 0;
            d->seconds = 0;
        }
        p->workers[i].busy_until = 0;
    }
    p->status = 0;
    p->stopped = 0;
    if (p->n_failed == p->n_workers) {
        status = p->workers[0].stats.error.status;
        hcy__stop(p, status, &p->workers[0].stats.error);
        hcy_fail_again(&p->error);
    }
    pthread_mutex_unlock(&p->lock);
    p->run_start = goes_on ? p->run_start : hcy_now_ns();
    return status;
}

void hcy__front_lend(hcy_pipeline *p, hcy_pipeline_frame *frame)
{
    struct pipe_output *output = hcy__output_at(p, p->emitted);
    *frame = (hcy_pipeline_frame){ output->number,  output->report.status ? NULL : output->result,
                                   &output->report, output->why,
                                   output->device,  output->dropped };
    output->lent = hcy_now_ns();
}

void hcy__front_retire(hcy_pipeline *p)
{
    struct pipe_output *output = hcy__output_at(p, p->emitted);
    int failed = output->report.status != 0;
    pthread_mutex_lock(&p->lock);
    if (output->submitted)
        hcy__latency_add(&p->latency, output->lent - output->submitted);
    hcy__output_clear(p, output);
    p->emitted++;
    p->stats.done++;
    p->stats.failed += failed;
    p->stats.bytes_raw += failed ? 0 : p->source.coding.image_bytes;
    pthread_cond_broadcast(&p->space);
    pthread_mutex_unlock(&p->lock);
}

int hcy__deliver(hcy_pipeline *p, hcy_pipeline_sink sink, void *payload)
{
    hcy_pipeline_frame frame;
    hcy__front_lend(p, &frame);
    int status = hcy__call_sink(p, sink, payload, &frame);
    hcy__front_retire(p);
    return status;
}

int hcy__wait(hcy_pipeline *p, pthread_cond_t *condition, uint64_t until)
{
    struct timespec t = { (time_t)(until / 1000000000u), (long)(until % 1000000000u) };
    return pthread_cond_timedwait(condition, &p->lock, &t) == ETIMEDOUT;
}

int hcy__front_wait(hcy_pipeline *p, uint64_t tick)
{
    struct pipe_output *front = hcy__output_at(p, p->emitted);
    int late = 0;
    pthread_mutex_lock(&p->lock);
    while (!front->ready && !p->stopped && !late)
        late = hcy__wait(p, &p->output, tick);
    int found = front->ready ? 1 : p->stopped ? -1 : 0;
    pthread_mutex_unlock(&p->lock);
    return found;
}

static void report(hcy_pipeline *p, hcy_pipeline_progress progress, void *payload)
{
    struct pipe_call call;
    hcy__call_begin(&call, p);
    progress(payload, &p->shown);
    hcy__call_end(&call);
}

static int deliver_all(hcy_pipeline *p, hcy_pipeline_sink sink, hcy_pipeline_progress progress, void *payload)
{
    uint64_t tick = hcy_now_ns() + PIPE_TICK_NS, frames = p->run.last - p->run.first;
    while (p->emitted < frames) {
        int status = 0, found = hcy__front_wait(p, tick);
        if (found < 0)
            return hcy__stopped(p);
        if (found)
            status = hcy__deliver(p, sink, payload);
        if (status)
            return status;
        if (atomic_load(&p->cancelled))
            return hcy_fail(HCY_ECANCELLED, "stopped after %llu of %llu frames",
                            (unsigned long long)p->stats.done, (unsigned long long)p->stats.frames);
        if (hcy_now_ns() < tick)
            continue;
        tick = hcy_now_ns() + PIPE_TICK_NS;
        if (progress) {
            show_stats(p);
            report(p, progress, payload);
        }
    }
    return 0;
}

void hcy__run_end(hcy_pipeline *p, const pthread_t *readers, size_t n)
{
    pthread_mutex_lock(&p->lock);
    p->stopped = 1;
    pthread_cond_broadcast(&p->space);
    pthread_cond_broadcast(&p->output);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < n; i++)
        pthread_join(readers[i], NULL);
    pthread_mutex_lock(&p->lock);
    while (p->n_running)
        pthread_cond_wait(&p->output, &p->lock);
    pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < p->n_slots; i++)
        hcy__held_release(p, &p->slots[i], HCY_ECANCELLED);
    pthread_mutex_lock(&p->lock);
    p->filling = p->ready = NULL;
    for (size_t i = 0; i < p->n_slots; i++)
        hcy__slot_release(p, &p->slots[i]);
    pthread_mutex_unlock(&p->lock);
    atomic_store(&p->cancelled, 0);
    show_stats(p);
}

int hcy_pipeline_run(hcy_pipeline *p, hcy_stack *stack, uint64_t first, uint64_t last, hcy_pipeline_sink sink,
                     hcy_pipeline_progress progress, void *payload)
{
    pthread_t readers[MAX_READERS];
    size_t n = 0;
    int status = hcy__check_call(p, "hcy_pipeline_run");
    if (!status && (!stack || !sink))
        status = hcy_fail(HCY_EINVAL, "a run needs a stack and a sink");
    if (!status)
        status = check_run(p, stack, first, last);
    if (!status)
        status = hcy__run_claim(p);
    if (status)
        return status;
    status = hcy__run_begin(p, NULL, &(struct pipe_run){ stack, first, first, last });
    if (status) {
        hcy__run_give_up(p);
        return status;
    }
    while (n < p->opts.readers && n < last - first && !pthread_create(&readers[n], NULL, hcy__reader, p))
        n++;
    status = n ? deliver_all(p, sink, progress, payload) : hcy_fail(HCY_ENOMEM, "a thread that reads");
    hcy_error error = *hcy_last_error();
    hcy__run_end(p, readers, n);
    if (progress)
        report(p, progress, payload);
    hcy__run_give_up(p);
    return status ? hcy_fail_again(&error) : 0;
}
