/* worker.c - one thread a device: pulls ready slots, launches them, hands the sums on.
 *
 * Where kernels read the slots directly, one batch is in flight, and the next is submitted the moment the
 * first is done, before its curves are made.  Elsewhere two are in flight, so that one's copies overlap the
 * other's kernels. A device that fails gives its slots back, and its thread ends.  Frames that a device does not take
 * (their report says HCY_EUNSUPPORTED) go with their slot to another one; when no device is left that has not seen
 * them, they have failed.
 */
#include "pipeline_priv.h"
#include "azint_arguments.h"

#include <stdlib.h>

#include <halcyon/backend.h>

#define IMAGE_MEMORY ((uint64_t)256 << 20) /* bytes of images in the two-stage way, one a lane at least */
#define MANY_BINS    16384                 /* from which on sums are read row by row */

/* --- What a launch takes --- */

/* What makes sums, at once or from images. */
static hcy_kernel *sums_kernel(const struct pipe_worker *w)
{
    return w->fused ? w->fused : w->image;
}

/* Of that kernel; returns how many they are. */
static size_t sums_args(const struct pipe_worker *w, const struct pipe_lane *lane, const struct pipe_part *part,
                        hcy_buffer *chunks, hcy_arg args[HCY_MAX_ARGS])
{
    const hcy_pipeline *p = w->pipeline;
    const struct hcy_azint_arguments all = { .chunks = hcy_arg_buf(chunks),
                                             .frames = hcy_arg_buf(part->frames),
                                             .blocks = hcy_arg_buf(lane->blocks),
                                             .coding = hcy_arg_struct(&p->source.coding, sizeof p->source.coding),
                                             .images = hcy_arg_buf(lane->images),
                                             .plan = hcy_arg_buf(w->tables),
                                             .job = hcy_arg_struct(&p->job, sizeof p->job),
                                             .filter = hcy_arg_struct(&p->filter, sizeof p->filter),
                                             .sums = hcy_arg_buf(part->sums),
                                             .reports = hcy_arg_buf(part->reports),
                                             .scratch = hcy_arg_buf(lane->scratch) };
    return hcy_azint_arguments(args, sums_kernel(w), &all);
}

#define DECODE_AT(name) HCY_ARG_AT(bslz4_decode, name)
#define DECODE_ARGS     HCY_N_ARGS(bslz4_decode)

static void decode_args(const struct pipe_worker *w, const struct pipe_lane *lane,
                        const struct pipe_part *part, hcy_buffer *chunks, hcy_arg args[DECODE_ARGS])
{
    const hcy_bslz4_job *coding = &w->pipeline->source.coding;
    args[DECODE_AT(chunks)] = hcy_arg_buf(chunks);
    args[DECODE_AT(frames)] = hcy_arg_buf(part->frames);
    args[DECODE_AT(blocks)] = hcy_arg_buf(lane->blocks);
    args[DECODE_AT(job)] = hcy_arg_struct(coding, sizeof *coding);
    args[DECODE_AT(images)] = hcy_arg_buf(lane->images);
    args[DECODE_AT(reports)] = hcy_arg_buf(part->reports);
    args[DECODE_AT(scratch)] = hcy_arg_buf(lane->scratch);
}

/* Bytes of scratch that a launch of w->part frames needs. */
static int scratch_size(const struct pipe_worker *w, size_t *size)
{
    const struct pipe_lane nothing = { 0 };
    const struct pipe_part part = { NULL, NULL, NULL };
    hcy_arg args[HCY_MAX_ARGS];
    size_t decode = 0;
    int status = 0;
    if (!w->fused) {
        decode_args(w, &nothing, &part, NULL, args);
        status = hcy_kernel_scratch_size(w->decode, w->part, args, DECODE_ARGS, &decode);
    }
    if (status)
        return status;
    size_t n = sums_args(w, &nothing, &part, NULL, args);
    status = hcy_kernel_scratch_size(sums_kernel(w), w->part, args, n, size);
    if (!status && decode > *size)
        *size = decode; /* one after the other: they share it */
    return status;
}

/* --- Set-up --- */

int hcy__worker_init(struct pipe_worker *w)
{
    const hcy_device_info *info = hcy_device_get_info(w->device);
    const uint32_t flags = w->pipeline->opts.flags, wanted = HCY_CAP_HOST_MEMORY | HCY_CAP_IMPORT_HOST;
    int status = HCY_EUNSUPPORTED;
    w->direct = (info->caps & wanted) == wanted && !(flags & HCY_PIPELINE_COPY);
    w->stats.name = info->name;
    if (!(flags & HCY_PIPELINE_TWO_STAGE) && w->pipeline->fused)
        status = hcy_kernel_get(&w->fused, w->device, w->pipeline->fused);
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
    if (status)
        return status;
    w->stats.two_stage = !w->fused;
    w->stats.variant = hcy_kernel_variant(sums_kernel(w));
    return 0;
}

/* The device's own tables, and what it says of batches with them. */
static int prepare(struct pipe_worker *w)
{
    const struct pipe_lane nothing = { 0 };
    const struct pipe_part part = { NULL, NULL, NULL };
    hcy_kernel *kernel = sums_kernel(w);
    hcy_span spans[HCY_AZINT_SPANS];
    hcy_arg args[HCY_MAX_ARGS];
    hcy_azint_plan_tables(spans, w->pipeline->plan);
    int status = hcy_kernel_prepare(&w->tables, kernel, spans, HCY_AZINT_SPANS);
    if (status)
        return status;
    size_t n = sums_args(w, &nothing, &part, NULL, args);
    return hcy_kernel_preferred_batch(kernel, args, n, &w->preferred);
}

static int create_parts(struct pipe_worker *w, struct pipe_lane *lane)
{
    hcy_pipeline *p = w->pipeline;
    lane->parts = calloc(w->n_parts, sizeof *lane->parts);
    if (!lane->parts)
        return hcy_fail(HCY_ENOMEM, "the parts of a batch");
    for (size_t i = 0, at = 0; i < w->n_parts; i++, at += w->part) {
        struct pipe_part *part = &lane->parts[i];
        size_t n = p->batch - at < w->part ? p->batch - at : w->part;
        int status = hcy_buffer_sub(&part->frames, lane->frames, at * sizeof(hcy_bslz4_frame),
                                    n * sizeof(hcy_bslz4_frame));
        if (!status)
            status = hcy_buffer_sub(&part->sums, lane->sums, at * p->sums_bytes, n * p->sums_bytes);
        if (!status)
            status = hcy_buffer_sub(&part->reports, lane->reports, at * sizeof(hcy_frame_report),
                                    n * sizeof(hcy_frame_report));
        if (status)
            return status;
    }
    return 0;
}

/* Where the host finds sums and reports: in place, or read back. */
static int create_back(struct pipe_worker *w, struct pipe_lane *lane)
{
    size_t sums = w->pipeline->batch * w->pipeline->sums_bytes;
    if (w->direct) {
        lane->host_sums = hcy_buffer_host(lane->sums);
        lane->host_reports = hcy_buffer_host(lane->reports);
        return 0;
    }
    int status =
        hcy__memory_create(&lane->back, w->device, sums + w->pipeline->batch * sizeof(hcy_frame_report));
    if (status)
        return status;
    lane->host_sums = lane->back.host;
    lane->host_reports = (const hcy_frame_report *)((char *)lane->back.host + sums);
    return 0;
}

/* Batches in flight.  Sums outlive their launch by the time it takes to make curves, so there are PIPE_LANES
 * of them. */
static size_t depth(const struct pipe_worker *w)
{
    return w->direct ? 1 : PIPE_LANES;
}

static int create_lane(struct pipe_worker *w, struct pipe_lane *lane)
{
    const hcy_pipeline *p = w->pipeline;
    const int shares = depth(w) == 1 && lane != w->lanes; /* what only a running launch needs */
    const hcy_device_info *info = hcy_device_get_info(w->device);
    /* Rows of sums that nobody writes take no memory then. */
    const int mapped = w->direct && info->kind == HCY_KIND_CPU && info->caps & HCY_CAP_MAPPED;
    const uint64_t zero = 0;
    size_t images = 0, scratch = 0, sums = p->batch * p->sums_bytes;
    int status = scratch_size(w, &scratch);
    if (!status && !w->fused)
        status = hcy_size_mul(&images, w->part, p->source.coding.image_bytes);
    if (!status)
        status = hcy_queue_create(&lane->queue, w->device);
    const struct {
        hcy_buffer **buffer;
        size_t size;
        int mem;
    } table[] = {
        { &lane->chunks, w->direct ? 0 : p->capacity + HCY_BSLZ4_PADDING, HCY_MEM_DEVICE },
        { &lane->frames, p->batch * sizeof(hcy_bslz4_frame), HCY_MEM_DEVICE },
        { &lane->blocks, p->slots[0].blocks.size, HCY_MEM_DEVICE },
        { &lane->images, shares ? 0 : images, HCY_MEM_DEVICE },
        { &lane->sums, sums, mapped ? HCY_MEM_MAPPED : HCY_MEM_DEVICE },
        { &lane->reports, p->batch * sizeof(hcy_frame_report), HCY_MEM_DEVICE },
        { &lane->scratch, shares ? 0 : scratch, HCY_MEM_DEVICE },
    };
    if (!status && shares) {
        lane->images = hcy_buffer_retain(w->lanes->images);
        lane->scratch = hcy_buffer_retain(w->lanes->scratch);
    }
    for (size_t i = 0; !status && i < sizeof table / sizeof table[0]; i++)
        if (table[i].size)
            status = hcy_buffer_create(table[i].buffer, w->device, table[i].mem, table[i].size);
    if (!status && !w->direct) /* all of them are copied, not only what kernels have written */
        status = hcy_buffer_fill(lane->queue, lane->sums, 0, sums, &zero, sizeof zero);
    if (!status)
        status = create_parts(w, lane);
    return status ? status : create_back(w, lane);
}

/* Bytes of device memory, each buffer once. */
static uint64_t memory_of(const struct pipe_worker *w)
{
    uint64_t bytes = hcy_buffer_size(w->tables);
    for (size_t i = 0; i < PIPE_LANES; i++) {
        const struct pipe_lane *lane = &w->lanes[i];
        const hcy_buffer *buffers[] = { lane->chunks,  lane->frames, lane->blocks, lane->sums,
                                        lane->reports, lane->images, lane->scratch };
        size_t n = sizeof buffers / sizeof buffers[0] - (i && depth(w) == 1 ? 2 : 0); /* the last two are shared */
        for (size_t k = 0; k < n; k++)
            bytes += buffers[k] ? hcy_buffer_size(buffers[k]) : 0;
    }
    return bytes;
}

int hcy__worker_create_lanes(struct pipe_worker *w)
{
    const hcy_pipeline *p = w->pipeline;
    int status = 0;
    w->part = p->batch;
    if (!w->fused) {
        uint64_t images = IMAGE_MEMORY / depth(w) / p->source.coding.image_bytes;
        w->part = images < 1 ? 1 : images < p->batch ? (size_t)images : p->batch;
    }
    w->n_parts = (p->batch + w->part - 1) / w->part;
    for (size_t i = 0; !status && i < PIPE_LANES; i++)
        status = create_lane(w, &w->lanes[i]);
    w->stats.memory = status ? 0 : memory_of(w);
    return status;
}

static void destroy_lane(struct pipe_worker *w, struct pipe_lane *lane)
{
    hcy_buffer *buffers[] = { lane->chunks, lane->frames,  lane->blocks, lane->images,
                              lane->sums,   lane->reports, lane->scratch };
    for (size_t i = 0; lane->parts && i < w->n_parts; i++) {
        hcy_buffer_release(lane->parts[i].frames);
        hcy_buffer_release(lane->parts[i].sums);
        hcy_buffer_release(lane->parts[i].reports);
    }
    free(lane->parts);
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        hcy_buffer_release(buffers[i]);
    hcy__memory_free(&lane->back);
    hcy_queue_release(lane->queue);
}

int hcy__worker_leave_out(struct pipe_worker *w, int status)
{
    hcy_pipeline *p = w->pipeline;
    if (status != HCY_EUNSUPPORTED)
        return status;
    pthread_mutex_lock(&p->lock);
    w->stats.error = *hcy_last_error();
    w->failed = 1;
    int none = ++p->n_failed == p->n_workers;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    return none ? hcy_fail_again(&p->workers[0].stats.error) : 0;
}

void hcy__worker_destroy(struct pipe_worker *w)
{
    if (w->started)
        pthread_join(w->thread, NULL);
    for (size_t i = 0; i < PIPE_LANES; i++)
        destroy_lane(w, &w->lanes[i]);
    hcy_buffer_release(w->tables);
    hcy_kernel_release(w->fused);
    hcy_kernel_release(w->decode);
    hcy_kernel_release(w->image);
    hcy_device_release(w->device);
}

/* --- Work --- */

/* [lock] Is there a device that has not refused anything of this slot? */
static int others_take(const hcy_pipeline *p, const struct pipe_slot *slot, const struct pipe_worker *but)
{
    for (const struct pipe_worker *w = p->workers; w < p->workers + p->n_workers; w++)
        if (w != but && !w->failed && !slot->refused[w->index])
            return 1;
    return 0;
}

/* [lock] Where the first slot for this device is listed: what it has refused it takes if nobody else is left. */
static struct pipe_slot **find_ready(const struct pipe_worker *w)
{
    struct pipe_slot **at = &w->pipeline->ready;
    while (*at && (*at)->refused[w->index] && others_take(w->pipeline, *at, w))
        at = &(*at)->next;
    return at;
}

/* [lock] Is a slot ready?  Frames that are pushed, or that the ring has no room to add to, do not wait for a full
 * batch while a device is idle. */
static int is_ready(const struct pipe_worker *w)
{
    hcy_pipeline *p = w->pipeline;
    if (!*find_ready(w) && (p->push || hcy__ring_is_full(p)) && p->filling && p->filling->n)
        hcy__slot_close(p);
    return *find_ready(w) != NULL;
}

/* A ready slot; NULL if there is none (with `wait`: the pipeline is being destroyed, or goes on without the device). */
static struct pipe_slot *take(struct pipe_worker *w, int wait)
{
    hcy_pipeline *p = w->pipeline;
    struct pipe_slot *slot = NULL;
    pthread_mutex_lock(&p->lock);
    while (wait && !p->quit && !w->failed && (p->stopped || !is_ready(w)))
        pthread_cond_wait(&p->work, &p->lock);
    if (!p->quit && !p->stopped && !w->failed && is_ready(w)) {
        struct pipe_slot **at = find_ready(w);
        slot = *at;
        *at = slot->next;
        slot->state = SLOT_RUNNING;
        p->n_running++;
    }
    pthread_mutex_unlock(&p->lock);
    return slot;
}

static int launch_part(const struct pipe_worker *w, const struct pipe_lane *lane,
                       const struct pipe_part *part, hcy_buffer *chunks, size_t n)
{
    hcy_arg args[HCY_MAX_ARGS];
    int status = 0;
    if (!w->fused) {
        decode_args(w, lane, part, chunks, args);
        status = hcy_launch(lane->queue, w->decode, n, args, DECODE_ARGS);
    }
    if (status)
        return status;
    size_t n_args = sums_args(w, lane, part, chunks, args);
    return hcy_launch(lane->queue, sums_kernel(w), n, args, n_args);
}

/* The slot's chunks and tables to the device; *chunks is what kernels read. */
static int send(const struct pipe_worker *w, struct pipe_lane *lane, const struct pipe_slot *slot,
                hcy_buffer **chunks)
{
    const hcy_pipeline *p = w->pipeline;
    size_t blocks = slot->n_blocks * sizeof(hcy_bslz4_block);
    int status = 0;
    *chunks = slot->in_place ? p->push->views[w->index] : w->direct ? slot->views[w->index] : lane->chunks;
    if (blocks > hcy_buffer_size(lane->blocks)) {
        hcy_buffer_release(lane->blocks);
        lane->blocks = NULL;
        status = hcy_buffer_create(&lane->blocks, w->device, HCY_MEM_DEVICE, slot->blocks.size);
    }
    if (!status && !w->direct && slot->used)
        status = hcy_buffer_write(lane->queue, lane->chunks, 0, slot->chunks.host, slot->used);
    if (!status)
        status = hcy_buffer_write(lane->queue, lane->frames, 0, slot->frames.host,
                                  slot->n * sizeof(hcy_bslz4_frame));
    if (!status && blocks)
        status = hcy_buffer_write(lane->queue, lane->blocks, 0, slot->blocks.host, blocks);
    return status;
}

/* Rows of a frame's sums. */
static int receive_rows(const struct pipe_worker *w, const struct pipe_lane *lane, size_t frame, size_t row, size_t n)
{
    size_t bytes = w->pipeline->n_bins * sizeof(uint64_t), at = frame * w->pipeline->sums_bytes + row * bytes;
    return hcy_buffer_read(lane->queue, (char *)lane->back.host + at, lane->sums, at, n * bytes);
}

/* Of frames with many bins the rows alone that hold something: what is lost is asked for when that is known. */
static int by_rows(const struct pipe_worker *w)
{
    return !w->direct && !w->pipeline->filtered && w->pipeline->n_bins >= MANY_BINS;
}

static int receive_sums(const struct pipe_worker *w, const struct pipe_lane *lane)
{
    const uint32_t flags = w->pipeline->job.flags;
    int narrow = flags & HCY_AZINT_NARROW, status = 0;
    if (!by_rows(w))
        return hcy_buffer_read(lane->queue, lane->back.host, lane->sums, 0, lane->n * w->pipeline->sums_bytes);
    for (size_t i = 0; i < lane->n && !status; i++) {
        status = receive_rows(w, lane, i, HCY_SUM_SIGNAL_LO, narrow ? 1 : HCY_SUM_LOST_COUNT);
        if (!status && narrow && flags & HCY_AZINT_WANT_VARIANCE)
            status = receive_rows(w, lane, i, HCY_SUM_VARIANCE_LO, 1);
    }
    return status;
}

static int receive_lost(const struct pipe_worker *w, const struct pipe_lane *lane)
{
    int status = 0, some = 0;
    for (size_t i = 0; i < lane->n && !status && by_rows(w); i++)
        if (!lane->host_reports[i].status && lane->host_reports[i].n_lost) {
            some = 1;
            status = receive_rows(w, lane, i, HCY_SUM_LOST_COUNT, HCY_AZINT_SUMS - HCY_SUM_LOST_COUNT);
        }
    return status || !some ? status : hcy_queue_finish(lane->queue);
}

static int receive(const struct pipe_worker *w, const struct pipe_lane *lane)
{
    if (w->direct)
        return 0;
    int status = receive_sums(w, lane);
    if (status)
        return status;
    return hcy_buffer_read(lane->queue, (void *)lane->host_reports, lane->reports, 0,
                           lane->n * sizeof(hcy_frame_report));
}

static int submit(struct pipe_worker *w, struct pipe_slot *slot)
{
    struct pipe_lane *lane = &w->lanes[(w->oldest + w->in_flight) % PIPE_LANES];
    const uint64_t zero = 0;
    hcy_buffer *chunks;
    w->in_flight++;
    lane->slot = slot;
    lane->hands_on = 0;
    lane->first = slot->first;
    lane->n = slot->n;
    lane->bytes = slot->used;
    lane->started = hcy_now_ns();
    int status = send(w, lane, slot, &chunks);
    if (!status) /* a kernel that leaves a frame alone leaves its report alone */
        status = hcy_buffer_fill(lane->queue, lane->reports, 0, lane->n * sizeof(hcy_frame_report), &zero,
                                 sizeof zero);
    for (size_t i = 0, at = 0; !status && at < lane->n; i++, at += w->part)
        status =
            launch_part(w, lane, &lane->parts[i], chunks, lane->n - at < w->part ? lane->n - at : w->part);
    return status ? status : receive(w, lane);
}

/* The slot of a batch goes to the readers. */
static void free_slot(hcy_pipeline *p, struct pipe_lane *lane)
{
    hcy__held_release(p, lane->slot, 0);
    pthread_mutex_lock(&p->lock);
    hcy__slot_release(p, lane->slot);
    pthread_mutex_unlock(&p->lock);
    lane->slot = NULL;
}

/* The slot of a batch that is done is free, unless some of its frames were or will be another device's. */
static void account(struct pipe_worker *w, struct pipe_lane *lane)
{
    hcy_pipeline *p = w->pipeline;
    uint64_t now = hcy_now_ns(), start = lane->started > w->busy_until ? lane->started : w->busy_until;
    size_t refused = hcy__output_refused(lane);
    w->busy_until = now;
    pthread_mutex_lock(&p->lock);
    lane->hands_on = refused && others_take(p, lane->slot, w);
    w->stats.frames += hcy__output_due(lane);
    w->stats.bytes += lane->bytes;
    w->stats.batches++;
    w->stats.seconds += 1e-9 * (double)(now - start);
    pthread_mutex_unlock(&p->lock);
    if (!lane->hands_on && !lane->slot->again)
        free_slot(p, lane);
}

/* [lock] One batch less is with the workers. */
static void settle(hcy_pipeline *p)
{
    p->n_running--;
    pthread_cond_broadcast(&p->output);
}

/* What the device has refused goes to another one; what it was handed is done. */
static void hand_on(struct pipe_worker *w, struct pipe_lane *lane)
{
    hcy_pipeline *p = w->pipeline;
    struct pipe_slot *slot = lane->slot;
    if (slot && !lane->hands_on)
        free_slot(p, lane);
    pthread_mutex_lock(&p->lock);
    if (lane->slot) {
        slot->again = slot->refused[w->index] = 1;
        lane->slot = NULL;
        hcy__slot_make_ready(p, slot);
    }
    settle(p);
    pthread_mutex_unlock(&p->lock);
}

/* Waits for the oldest batch, keeps the device busy with the next, makes the curves. */
static int collect(struct pipe_worker *w)
{
    hcy_pipeline *p = w->pipeline;
    struct pipe_lane *lane = &w->lanes[w->oldest];
    int status = hcy_queue_finish(lane->queue);
    if (!status)
        status = receive_lost(w, lane);
    if (status)
        return status;
    account(w, lane);
    w->oldest = (w->oldest + 1) % PIPE_LANES;
    w->in_flight--;
    struct pipe_slot *slot =
        w->in_flight + 1 < PIPE_LANES ? take(w, 0) : NULL; /* the oldest is still in use */
    if (slot)
        status = submit(w, slot);
    hcy_error error = *hcy_last_error();
    hcy__output_finish(p, w, lane);
    hand_on(w, lane);
    return status ? hcy_fail_again(&error) : 0;
}

/* The device's unfinished frames go back to the others. */
static void give_up(struct pipe_worker *w, int status)
{
    hcy_pipeline *p = w->pipeline;
    hcy_error error = *hcy_last_error();
    error.status = status;
    for (size_t i = 0; i < PIPE_LANES; i++)
        if (w->lanes[i].slot)
            (void)!hcy_queue_finish(w->lanes[i].queue); /* until nothing reads the slot any more */
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < PIPE_LANES; i++)
        if (w->lanes[i].slot) {
            hcy__slot_make_ready(p, w->lanes[i].slot);
            w->lanes[i].slot = NULL;
            settle(p);
        }
    w->failed = 1;
    w->stats.error = error;
    if (++p->n_failed == p->n_workers)
        hcy__stop(p, error.status, &error);
    pthread_cond_broadcast(&p->work); /* what was to be its own may be another's now */
    pthread_mutex_unlock(&p->lock);
}

static void work(struct pipe_worker *w)
{
    int status = 0;
    while (!status) {
        if (w->in_flight < depth(w)) {
            struct pipe_slot *slot = take(w, !w->in_flight);
            if (slot) {
                status = submit(w, slot);
                continue;
            }
            if (!w->in_flight)
                return;
        }
        status = collect(w);
    }
    give_up(w, status);
}

static void *worker_main(void *worker)
{
    struct pipe_worker *w = worker;
    int status = prepare(w);
    pthread_mutex_lock(&w->pipeline->lock);
    w->ready = 1;
    w->setup = status;
    w->error = *hcy_last_error();
    pthread_cond_broadcast(&w->pipeline->output);
    pthread_mutex_unlock(&w->pipeline->lock);
    if (!status)
        work(w);
    return NULL;
}

int hcy__worker_start(struct pipe_worker *w)
{
    if (pthread_create(&w->thread, NULL, worker_main, w))
        return hcy_fail(HCY_ENOMEM, "a thread for the device %s", w->stats.name);
    w->started = 1;
    return 0;
}
