/* worker.c - one thread a device: pulls ready slots, has them launched, hands the sums on.
 *
 * Where kernels read the slots directly, one batch is in flight, and the next is submitted the moment the
 * first is done, before its curves are made.  Elsewhere two are in flight, so that one's copies overlap the
 * other's kernels.  A device that fails gives its slots back, and its thread ends.  Frames that a device does not take
 * (their report says HCY_EUNSUPPORTED) go with their slot to another one; when no device is left that has not seen
 * them, they have failed.
 */
#include "pipeline_priv.h"
#include "thread.h"

#include <stdio.h>
#include <stdlib.h>

#include <halcyon/backend.h>

#define POLL_NS 30000 /* between looks at a batch: short beside a launch of a single frame */

/* --- Which slots a device takes --- */

/* [lock] The first slot for this device. */
static struct pipe_slot *find_ready_slot(const struct pipe_worker *w)
{
    struct pipe_slot *slot = hcy__slots_ready(&w->pipeline->slots);
    while (slot && !hcy__may_take(w, slot))
        slot = slot->next;
    return slot;
}

/* [lock] The same.  Frames that are pushed, or that the ring has no room to add to, do not wait for a full batch while
 * a device is idle. */
static struct pipe_slot *find_or_close_slot(struct pipe_worker *w)
{
    hcy_pipeline *p = w->pipeline;
    struct pipe_slot *slot = find_ready_slot(w);
    if (slot || !(p->push || hcy__ring_is_full(&p->ring)) || !hcy__may_close(w))
        return slot;
    /* A device that has a batch begins the next in the middle of it.  Two that begin together end together, and
     * neither's copies overlap the other's kernels; then frames wait for both (1.5 ms in place of 1.0 at half of a
     * GPU's rate, as `bench/push` measures it).  At its full rate filled slots come before this. */
    if (w->in_flight && p->push && hcy_now_ns() - w->launched < w->batch_ns / 2)
        return NULL;
    /* Where a producer still has a place in it, its commit makes it ready and wakes this thread.  Until then the device
     * closes no other: batches would become as small as what is taken between two looks, and soon all slots would be
     * with producers that finish, so that the rest of them wait. */
    if (hcy__slot_is_closing(w->closed))
        return NULL;
    w->closed = hcy__slot_close(p);
    return find_ready_slot(w);
}

/* The i-th batch in flight, oldest first; behind the last of them: the lane that comes next. */
static struct pipe_lane *lane_in_flight(struct pipe_worker *w, size_t i)
{
    return &w->lanes[(w->oldest + i) % hcy__worker_lanes(w)];
}

/* [lock] Between runs nobody is idle. */
static void end_idle(struct pipe_worker *w)
{
    if (w->idle_since)
        w->stats.idle += 1e-9 * (double)(hcy_now_ns() - w->idle_since);
    w->idle_since = 0;
}

/* A ready slot; NULL if there is none (with `wait`: the pipeline is being destroyed, or goes on without the device). */
static struct pipe_slot *take_slot(struct pipe_worker *w, int wait)
{
    hcy_pipeline *p = w->pipeline;
    struct pipe_control *c = &p->control;
    struct pipe_slot *slot = NULL;
    uint64_t waits = 0;
    hcy__pipe_lock(c);
    /* Slots of a run that was stopped stay where they are until its end. */
    while (!hcy__is_quitting(c) && !w->failed) {
        if (!hcy__is_stopped(c) && !lane_in_flight(w, w->in_flight)->busy)
            slot = find_or_close_slot(w);
        if (slot || !wait)
            break;
        w->waits = 1;
        w->idle_since = p->workers.in_run ? hcy_now_ns() : 0;
        hcy__pipe_wait(c, PIPE_WORK);
        w->waits = 0;
        waits = !w->idle_since ? 0 : waits ? waits : w->idle_since;
        end_idle(w);
    }
    if (slot) {
        hcy__slot_take(&p->slots, slot);
        hcy__share_taken(w);
        w->launched = hcy_now_ns();
        p->workers.n_running++;
    }
    hcy__pipe_unlock(c);
    /* The waits for one slot are one span, however often somebody else's chunk woke this thread. */
    hcy_trace_end(slot ? waits : 0, "wait for frames", 0, 0, 0);
    return slot;
}

/* --- Batches --- */

static int submit_slot(struct pipe_worker *w, struct pipe_slot *slot)
{
    struct pipe_lane *lane = lane_in_flight(w, w->in_flight);
    /* Noted before anything can fail: who gives a device up finds its slots in the lanes. */
    w->in_flight++;
    lane->slot = slot;
    lane->hands_on = 0;
    lane->first = slot->first;
    lane->n = slot->n;
    lane->bytes = slot->stored;
    lane->started = hcy_now_ns();
    /* Entries of a slot that comes from another device may be other frames' by now. */
    hcy_trace_frames(lane->queue, slot->again ? 0 : hcy__ring_at(&w->pipeline->ring, lane->first)->number,
                     slot->again ? 0 : lane->n);
    return hcy__launch_batch(w, lane);
}

/* The slot of a batch that is done is free, unless some of its frames were or will be another device's. */
static void account_batch(struct pipe_worker *w, struct pipe_lane *lane)
{
    hcy_pipeline *p = w->pipeline;
    uint64_t now = hcy_now_ns(), start = lane->started > w->busy_until ? lane->started : w->busy_until;
    size_t refused = hcy__count_refused(lane);
    /* Batches overlap on the device: this one's time is counted from the end of the one before. */
    w->busy_until = now;
    hcy__pipe_lock(&p->control);
    /* Decided once and kept: a device that fails a moment later must not change whose these frames are. */
    lane->hands_on = refused && hcy__others_take(p, lane->slot, w, 0);
    w->stats.frames += hcy__count_due(lane);
    w->stats.bytes += lane->bytes;
    w->stats.batches++;
    w->stats.seconds += 1e-9 * (double)(now - start);
    /* Of the last few: rates change, and with them the frames of a batch. */
    w->batch_ns = (4 * w->batch_ns + (now - lane->started)) / 5;
    hcy__share_done(w);
    hcy__pipe_unlock(&p->control);
    if (!lane->hands_on && !lane->slot->again) {
        hcy__slot_release(p, lane->slot);
        lane->slot = NULL;
    }
}

/* [lock] One batch less is with the workers. */
static void settle_batch(hcy_pipeline *p)
{
    /* Frames have been handed out one by one: this is for whoever awaits the end of all. */
    if (!--p->workers.n_running)
        hcy__pipe_wake(&p->control, PIPE_OUTPUT);
}

void hcy__hand_slot_on(struct pipe_worker *w, struct pipe_lane *lane)
{
    hcy_pipeline *p = w->pipeline;
    struct pipe_slot *slot = lane->slot;
    lane->slot = NULL;
    /* A slot that has come from another device, and is done now, is released without the lock: its batch counts as
     * running until then. */
    if (slot && !lane->hands_on) {
        hcy__pipe_unlock(&p->control);
        hcy__slot_release(p, slot);
        hcy__pipe_lock(&p->control);
        slot = NULL;
    }
    /* As soon as the slot is listed it may be another device's, so this is the last thing done with it. */
    if (slot) {
        slot->again = slot->refused[w->index] = 1;
        hcy__slot_make_ready(p, slot);
    }
    settle_batch(p);
}

/* Waits for the oldest batch, keeps the device busy with the next, makes the curves. */
static int collect_batch(struct pipe_worker *w)
{
    struct pipe_lane *lane = &w->lanes[w->oldest];
    struct pipe_control *c = &w->pipeline->control;
    uint64_t since = hcy_trace_begin();
    int status = hcy__await_batch(w, lane);
    hcy_trace_end(since, "wait for the device", 0, 0, 0);
    if (status)
        return status;
    account_batch(w, lane);
    w->oldest = (w->oldest + 1) % hcy__worker_lanes(w);
    w->in_flight--;
    if (!w->direct) {
        hcy__divide_lane(w->pipeline, lane);
        return 0;
    }
    /* The device's next batch comes before this one's curves: there is a lane more than batches in flight. */
    struct pipe_slot *slot = take_slot(w, 0);
    if (slot)
        status = submit_slot(w, slot);
    /* These frames are good even if the next batch could not be launched; its error is kept from their words. */
    hcy_error error = *hcy_last_error();
    hcy__finish_batch(w->pipeline, w, lane);
    hcy__pipe_lock(c);
    hcy__hand_slot_on(w, lane);
    hcy__pipe_unlock(c);
    return status ? hcy_fail_again(&error) : 0;
}

/* Until nothing reads the slots any more; what else the wait says is not news.  A device that hangs would let nobody go
 * on: its frames are read by others beside it, and what it may still read or write stays where it is. */
static void leave_lanes(struct pipe_worker *w)
{
    for (size_t i = 0; i < w->in_flight; i++) {
        struct pipe_lane *lane = lane_in_flight(w, i);
        w->hung |= !w->hung && hcy__finish_lane(w, lane) == HCY_ETIMEOUT;
        lane->slot->kept |= w->hung;
    }
}

/* The device's unfinished frames go back to the others. */
static void give_device_up(struct pipe_worker *w, int status)
{
    hcy_pipeline *p = w->pipeline;
    hcy_error error = *hcy_last_error();
    error.status = status;
    w->hung = status == HCY_ETIMEOUT;
    leave_lanes(w);
    hcy__pipe_lock(&p->control);
    /* Lanes whose curves are being made are not among them: those frames are done. */
    for (size_t i = 0; i < w->in_flight; i++) {
        struct pipe_lane *lane = lane_in_flight(w, i);
        hcy__slot_make_ready(p, lane->slot);
        lane->slot = NULL;
        settle_batch(p);
    }
    w->failed = 1;
    w->stats.error = error;
    if (++p->workers.n_failed == p->workers.n)
        hcy__stop(&p->control, error.status, &error);
    /* Slots that this device was to take, because others had refused them, are the others' again. */
    hcy__pipe_wake(&p->control, PIPE_WORK);
    hcy__pipe_unlock(&p->control);
}

/* A batch is in flight, and another one could be: whichever comes first, the end of the one or frames for the other.
 * Without this, frames that come singly would wait for a whole batch before they begin. */
static int await_either(struct pipe_worker *w)
{
    struct pipe_control *c = &w->pipeline->control;
    int status = hcy_queue_finish_within(w->lanes[w->oldest].queue, 0);
    if (status != HCY_ETIMEOUT)
        return status ? status : collect_batch(w);
    if (hcy__is_overdue(w, &w->lanes[w->oldest]))
        return hcy_last_error()->status;
    hcy__pipe_lock(c);
    hcy__pipe_wait_until(c, PIPE_WORK, hcy_now_ns() + POLL_NS);
    hcy__pipe_unlock(c);
    return 0;
}

static void serve_device(struct pipe_worker *w)
{
    int status = 0;
    while (!status) {
        struct pipe_slot *slot = NULL;
        /* Lanes are filled first. */
        if (w->in_flight < hcy__worker_depth(w)) {
            slot = take_slot(w, !w->in_flight);
            if (!slot && !w->in_flight)
                return;
        }
        if (slot)
            status = submit_slot(w, slot);
        else if (w->in_flight < hcy__worker_depth(w))
            status = await_either(w);
        else
            status = collect_batch(w);
    }
    give_device_up(w, status);
}

static void *run_worker(void *worker)
{
    struct pipe_worker *w = worker;
    struct pipe_control *c = &w->pipeline->control;
    char name[32];
    snprintf(name, sizeof name, "worker %s", w->stats.name);
    hcy_trace_name_thread(name);
    hcy__near_stay(&w->near);
    uint64_t since = hcy_trace_begin();
    int status = hcy__prepare_tables(w);
    hcy_trace_end(since, "prepare tables", 0, 0, 0);
    /* The record is this thread's, so it is left where the thread that creates the pipeline finds it. */
    hcy__pipe_lock(c);
    w->ready = 1;
    w->setup = status;
    w->error = *hcy_last_error();
    hcy__pipe_wake(c, PIPE_OUTPUT);
    hcy__pipe_unlock(c);
    if (!status)
        serve_device(w);
    hcy_trace_name_thread(NULL);
    return NULL;
}

/* --- Set-up --- */

static int find_kernels(struct pipe_worker *w)
{
    const hcy_device_info *info = hcy_device_get_info(w->device);
    const uint32_t flags = w->pipeline->opts.flags, wanted = HCY_CAP_HOST_MEMORY | HCY_CAP_IMPORT_HOST;
    int status = HCY_EUNSUPPORTED;
    w->direct = (info->caps & wanted) == wanted && !(flags & HCY_PIPELINE_COPY);
    w->stats.name = info->name;
    if (!(flags & HCY_PIPELINE_TWO_STAGE) && w->pipeline->fused)
        status = hcy_kernel_get(&w->fused, w->device, w->pipeline->fused);
    /* Every device that takes stored frames decodes and integrates them; doing both at once is an extra. */
    if (status == HCY_EUNSUPPORTED) {
        status = hcy_kernel_get(&w->decode, w->device, "bslz4_decode");
        if (!status)
            status = hcy_kernel_get(&w->image, w->device, w->pipeline->filtered ? "azint_filter" : "azint_image");
        if (status == HCY_EUNSUPPORTED && w->pipeline->filtered)
            return hcy_fail(status,
                            "%s has no azimuthal errors, sigma clipping and percentiles (the kernel azint_filter): "
                            "use another device, cpu has them",
                            info->name);
    }
    static const char *const beside[PIPE_BESIDE][2] = { [PIPE_REGIONS] = { "azint_regions", "sums of regions" },
                                                        [PIPE_PICK] = { "azint_pick", "sparse frames" } };
    /* A kernel that does all at once looks at regions, too. */
    for (int k = 0; !status && !w->fused && k < PIPE_BESIDE; k++) {
        if (!w->pipeline->beside[k].found)
            continue;
        status = hcy_kernel_get(&w->beside[k], w->device, beside[k][0]);
        if (status == HCY_EUNSUPPORTED)
            return hcy_fail(status, "%s has no %s (the kernel %s): use another device, cpu has them", info->name,
                            beside[k][1], beside[k][0]);
    }
    if (status)
        return status;
    w->stats.two_stage = !w->fused;
    w->stats.variant = hcy_kernel_variant(hcy__sums_kernel(w));
    return 0;
}

/* Takes the status of each step: a device that does not take such frames is left out as long as there is another. */
static int leave_out(struct pipe_worker *w, int status)
{
    hcy_pipeline *p = w->pipeline;
    if (status != HCY_EUNSUPPORTED)
        return status;
    hcy__pipe_lock(&p->control);
    w->stats.error = *hcy_last_error();
    w->failed = 1;
    int none = ++p->workers.n_failed == p->workers.n;
    /* Its thread, if it has one, waits for slots, and ends. */
    hcy__pipe_wake(&p->control, PIPE_WORK);
    hcy__pipe_unlock(&p->control);
    return none ? hcy_fail_again(&p->workers.all[0].stats.error) : 0;
}

int hcy__workers_create(hcy_pipeline *p, hcy_device *const *devices, size_t n)
{
    int status = 0;
    p->workers.all = calloc(n, sizeof *p->workers.all);
    if (!p->workers.all)
        return hcy_fail(HCY_ENOMEM, "a pipeline of %zu devices", n);
    p->workers.n = n;
    for (size_t i = 0; i < n && !status; i++) {
        struct pipe_worker *w = &p->workers.all[i];
        w->pipeline = p;
        w->index = i;
        w->device = hcy_device_retain(devices[i]);
        hcy__near_add(&w->near, w->device, PIPE_SYSFS);
        status = leave_out(w, find_kernels(w));
        if (!status && !w->failed)
            hcy__near_add(&p->workers.near, w->device, PIPE_SYSFS);
    }
    return status;
}

static int start_worker_thread(struct pipe_worker *w)
{
    if (hcy__thread_create(&w->thread, run_worker, w))
        return hcy_fail(HCY_ENOMEM, "a thread for the device %s", w->stats.name);
    w->started = 1;
    return 0;
}

int hcy__workers_start(hcy_pipeline *p)
{
    int status = 0;
    /* All are started before one is waited for, so that the devices prepare side by side. */
    for (size_t i = 0; i < p->workers.n && !status; i++)
        if (!p->workers.all[i].failed)
            status = start_worker_thread(&p->workers.all[i]);
    for (size_t i = 0; i < p->workers.n && !status; i++) {
        struct pipe_worker *w = &p->workers.all[i];
        hcy__pipe_lock(&p->control);
        while (w->started && !w->ready)
            hcy__pipe_wait(&p->control, PIPE_OUTPUT);
        hcy__pipe_unlock(&p->control);
        if (w->started && w->setup)
            status = leave_out(w, hcy_fail_again(&w->error));
    }
    /* Only those that are left share anything. */
    hcy__pipe_lock(&p->control);
    hcy__share_processors(&p->workers);
    hcy__pipe_unlock(&p->control);
    return status;
}

int hcy__workers_create_lanes(hcy_pipeline *p)
{
    int status = 0;
    for (size_t i = 0; i < p->workers.n && !status; i++)
        if (!p->workers.all[i].failed)
            status = leave_out(&p->workers.all[i], hcy__lanes_create(&p->workers.all[i]));
    return status ? status : hcy__dividers_start(p);
}

int hcy__workers_destroy(hcy_pipeline *p)
{
    int hangs = 0;
    hcy__dividers_join(&p->workers.dividers);
    for (size_t i = 0; i < p->workers.n; i++) {
        struct pipe_worker *w = &p->workers.all[i];
        /* The thread uses all that follows. */
        if (w->started)
            pthread_join(w->thread, NULL);
        /* Releasing what a hanging device uses would wait for it. */
        hangs |= w->hung;
        if (w->hung)
            continue;
        hcy__lanes_destroy(w);
        hcy_buffer_release(w->tables);
        hcy_kernel_release(w->fused);
        hcy_kernel_release(w->decode);
        hcy_kernel_release(w->image);
        for (int k = 0; k < PIPE_BESIDE; k++) {
            hcy_buffer_release(w->beside_tables[k]);
            hcy_kernel_release(w->beside[k]);
        }
        hcy_device_release(w->device);
    }
    if (hangs)
        hcy__keep_for_ever(p->workers.all);
    else
        free(p->workers.all);
    return hangs;
}

/* --- For a run --- */

int hcy__workers_begin(hcy_pipeline *p, int goes_on)
{
    for (size_t i = 0; i < p->workers.n; i++) {
        hcy_pipeline_device *d = &p->workers.all[i].stats;
        if (!goes_on) {
            d->frames = d->batches = d->bytes = 0;
            d->seconds = d->idle = 0;
        }
        p->workers.all[i].busy_until = 0;
    }
    for (size_t i = 0; i < p->workers.n; i++)
        hcy__share_begin(&p->workers.all[i]);
    /* A device that was given up stays so, and its first reason is what the caller hears. */
    if (p->workers.n_failed == p->workers.n)
        return hcy_fail_again(&p->workers.all[0].stats.error);
    p->workers.in_run = 1;
    for (size_t i = 0; i < p->workers.n; i++)
        p->workers.all[i].idle_since = p->workers.all[i].waits ? hcy_now_ns() : 0;
    return 0;
}

void hcy__workers_end(hcy_pipeline *p)
{
    hcy__pipe_lock(&p->control);
    while (p->workers.n_running)
        hcy__pipe_wait(&p->control, PIPE_OUTPUT);
    /* Threads may still wait, and go on to do so until the next run. */
    for (size_t i = 0; i < p->workers.n; i++)
        end_idle(&p->workers.all[i]);
    p->workers.in_run = 0;
    hcy__pipe_unlock(&p->control);
}

void hcy__workers_show(const struct pipe_workers *workers, hcy_pipeline_device *shown)
{
    for (size_t i = 0; i < workers->n; i++) {
        const struct pipe_worker *w = &workers->all[i];
        shown[i] = w->stats;
        if (w->idle_since)
            shown[i].idle += 1e-9 * (double)(hcy_now_ns() - w->idle_since);
    }
}

/* --- What is never freed --- */

void hcy__keep_for_ever(void *memory)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct kept {
        struct kept *next;
        void *memory;
    } *all;
    struct kept *kept = malloc(sizeof *kept);
    /* Without the memory for it the note is missing, and nothing else. */
    if (!kept)
        return;
    pthread_mutex_lock(&lock);
    *kept = (struct kept){ all, memory };
    all = kept;
    pthread_mutex_unlock(&lock);
}

/* --- What others ask --- */

hcy_device *hcy__device_at(const struct pipe_workers *workers, size_t i)
{
    return workers->all[i].device;
}

int hcy__device_is_used(const struct pipe_workers *workers, size_t i)
{
    return !workers->all[i].failed;
}

int hcy__device_works(const struct pipe_workers *workers, size_t i)
{
    return !workers->all[i].failed && !workers->all[i].stands_by;
}

int hcy__device_hangs(const struct pipe_workers *workers, size_t i)
{
    return workers->all[i].hung;
}

int hcy__device_reads_host(const struct pipe_workers *workers, size_t i)
{
    return workers->all[i].direct && !workers->all[i].failed;
}

size_t hcy__count_devices(const struct pipe_workers *workers, int direct)
{
    size_t n = 0;
    for (size_t i = 0; i < workers->n; i++)
        n += hcy__device_works(workers, i) && workers->all[i].direct == direct;
    return n;
}

hcy_device *hcy__find_device(const struct pipe_workers *workers, int direct, size_t i)
{
    size_t at = 0;
    while (!hcy__device_works(workers, at) || workers->all[at].direct != direct || i) {
        i -= hcy__device_works(workers, at) && workers->all[at].direct == direct;
        at++;
    }
    return workers->all[at].device;
}

size_t hcy__preferred_batch(const struct pipe_workers *workers)
{
    size_t batch = 0;
    for (size_t i = 0; i < workers->n; i++)
        if (!workers->all[i].stands_by && workers->all[i].preferred > batch)
            batch = workers->all[i].preferred;
    return batch;
}
