/* launch.c - a batch's way onto its device and back: the kernels' arguments, the copies, the launches.
 *
 * Called in the worker's thread, after its set-up.  Nothing here waits but hcy__await_batch().
 */
#include "pipeline_priv.h"
#include "azint_arguments.h"

#include <string.h>
#include <time.h>

#include <halcyon/backend.h>


/* --- What a launch takes --- */

/* Arguments of the kernel that makes sums, or looks at regions or pixels; returns how many they are. */
static size_t name_azint_args(const struct pipe_worker *w, const struct pipe_lane *lane, const struct pipe_part *part,
                              hcy_buffer *chunks, const hcy_kernel *kernel, hcy_arg args[HCY_MAX_ARGS])
{
    const hcy_pipeline *p = w->pipeline;
    const int picks = kernel == w->beside[PIPE_PICK];
    const struct hcy_azint_arguments all = { .chunks = hcy_arg_buf(chunks),
                                             .frames = hcy_arg_buf(part->frames),
                                             .blocks = hcy_arg_buf(lane->blocks),
                                             .coding = hcy_arg_struct(&p->source.coding, sizeof p->source.coding),
                                             .images = hcy_arg_buf(lane->images),
                                             .plan = hcy_arg_buf(w->tables),
                                             .job = hcy_arg_struct(&p->job, sizeof p->job),
                                             .filter = hcy_arg_struct(&p->filter, sizeof p->filter),
                                             .regions = hcy_arg_buf(w->beside_tables[PIPE_REGIONS]),
                                             .region_job = hcy_arg_struct(&p->region_job, sizeof p->region_job),
                                             .places = hcy_arg_buf(w->beside_tables[PIPE_PICK]),
                                             .pick_job = hcy_arg_struct(&p->pick_job, sizeof p->pick_job),
                                             .found = hcy_arg_buf(part->found[picks ? PIPE_PICK : PIPE_REGIONS]),
                                             .sums = hcy_arg_buf(part->sums),
                                             .reports = hcy_arg_buf(part->reports),
                                             .scratch = hcy_arg_buf(lane->scratch) };
    return hcy_azint_arguments(args, kernel, &all);
}

#define DECODE_AT(name) HCY_ARG_AT(bslz4_decode, name)
#define DECODE_ARGS     HCY_N_ARGS(bslz4_decode)

static void name_decode_args(const struct pipe_worker *w, const struct pipe_lane *lane,
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

int hcy__launch_scratch(const struct pipe_worker *w, size_t *size)
{
    /* No buffer is there yet: sizes follow from the number of items, the jobs and the tables. */
    const struct pipe_lane nothing = { 0 };
    const struct pipe_part part = { 0 };
    hcy_arg args[HCY_MAX_ARGS];
    size_t decode = 0;
    int status = 0;
    if (!w->fused) {
        name_decode_args(w, &nothing, &part, NULL, args);
        status = hcy_kernel_scratch_size(&decode, w->decode, w->part, args, DECODE_ARGS);
    }
    if (status)
        return status;
    size_t n = name_azint_args(w, &nothing, &part, NULL, hcy__sums_kernel(w), args);
    status = hcy_kernel_scratch_size(size, hcy__sums_kernel(w), w->part, args, n);
    /* One kernel runs after the other, so they share it. */
    if (!status && decode > *size)
        *size = decode;
    for (int k = 0; !status && k < PIPE_BESIDE; k++) {
        size_t beside = 0;
        if (!w->beside[k])
            continue;
        n = name_azint_args(w, &nothing, &part, NULL, w->beside[k], args);
        status = hcy_kernel_scratch_size(&beside, w->beside[k], w->part, args, n);
        *size = beside > *size ? beside : *size;
    }
    return status;
}

int hcy__prepare_tables(struct pipe_worker *w)
{
    const struct pipe_lane nothing = { 0 };
    const struct pipe_part part = { 0 };
    hcy_kernel *kernel = hcy__sums_kernel(w);
    hcy_span spans[HCY_AZINT_SPANS_KEPT];
    hcy_arg args[HCY_MAX_ARGS];
    hcy_azint_plan_tables_kept(spans, w->pipeline->plan);
    /* A backend need not know the name of files, so it is told where there is one alone. */
    const size_t n_spans = spans[HCY_AZINT_SPANS].size ? HCY_AZINT_SPANS_KEPT : HCY_AZINT_SPANS;
    const int few = w->pipeline->opts.flags & HCY_PIPELINE_FEW;
    int status = (few ? hcy_kernel_prepare_few : hcy_kernel_prepare)(&w->tables, kernel, spans, n_spans);
    if (status)
        return status;
    size_t n = name_azint_args(w, &nothing, &part, NULL, kernel, args);
    return hcy_kernel_preferred_batch(&w->preferred, kernel, args, n);
}

/* --- To the device --- */

static int launch_part(const struct pipe_worker *w, const struct pipe_lane *lane,
                       const struct pipe_part *part, hcy_buffer *chunks, size_t n)
{
    hcy_arg args[HCY_MAX_ARGS];
    int status = 0;
    if (!w->fused) {
        name_decode_args(w, lane, part, chunks, args);
        status = hcy_launch(lane->queue, w->decode, n, args, DECODE_ARGS);
    }
    if (status)
        return status;
    size_t n_args = name_azint_args(w, lane, part, chunks, hcy__sums_kernel(w), args);
    status = hcy_launch(lane->queue, hcy__sums_kernel(w), n, args, n_args);
    /* The images are still there. */
    for (int k = 0; !status && k < PIPE_BESIDE; k++)
        if (w->beside[k]) {
            n_args = name_azint_args(w, lane, part, chunks, w->beside[k], args);
            status = hcy_launch(lane->queue, w->beside[k], n, args, n_args);
        }
    return status;
}

/* Where the device's kernels read the chunks of a slot. */
static hcy_buffer *chunks_to_read(const struct pipe_worker *w, const struct pipe_lane *lane)
{
    if (!w->direct)
        return lane->chunks;
    /* The frames' offsets count from the beginning of the host's memory then, of which each device has one view. */
    return lane->slot->in_place ? hcy__push_view(w->pipeline->push, w->index) : lane->slot->views[w->index];
}

/* Chunks from the host's memory, which the device has registered, straight to their places.  What lies there as it will
 * lie on the device goes in one copy. */
static int send_held(const struct pipe_lane *lane)
{
    const struct pipe_held *held = lane->slot->held, *end = held + lane->slot->n_held;
    int status = 0;
    while (held < end && !status) {
        const struct pipe_held *last = held;
        while (last + 1 < end && last[1].chunk.data - held->chunk.data == (ptrdiff_t)(last[1].offset - held->offset))
            last++;
        status = hcy_buffer_write(lane->queue, lane->chunks, held->offset, held->chunk.data,
                                  last->offset - held->offset + last->chunk.size);
        held = last + 1;
    }
    return status;
}

/* A device that reads the host's memory needs no copies of chunks. */
static int send_chunks(const struct pipe_worker *w, const struct pipe_lane *lane)
{
    const struct pipe_slot *slot = lane->slot;
    if (w->direct || !slot->used)
        return 0;
    if (slot->in_place)
        return send_held(lane);
    return hcy_buffer_write(lane->queue, lane->chunks, 0, slot->chunks.host, slot->used);
}

/* A table of the slot's.  The lane's last batch is done, so where the host reaches the device's memory it writes there
 * itself: a command costs more than so few bytes. */
static int send_table(const struct pipe_worker *w, const struct pipe_lane *lane, hcy_buffer *to, const void *table,
                      size_t bytes)
{
    if (!w->direct)
        return hcy_buffer_write(lane->queue, to, 0, table, bytes);
    memcpy(hcy_buffer_host(to), table, bytes);
    return 0;
}

/* Sends the slot's chunks and tables to the device. */
static int send_slot(const struct pipe_worker *w, struct pipe_lane *lane)
{
    struct pipe_slot *slot = lane->slot;
    size_t blocks = slot->n_blocks * sizeof(hcy_bslz4_block);
    int status = hcy__slot_join_tables(slot);
    if (slot->in_place)
        hcy__slot_point(w->pipeline, slot, !w->direct);
    /* The slot's table has grown.  The lane's last batch is done, so nothing reads the old one. */
    if (!status && blocks > hcy_buffer_size(lane->blocks)) {
        hcy_buffer_release(lane->blocks);
        lane->blocks = NULL;
        status = hcy_buffer_create(&lane->blocks, w->device, HCY_MEM_DEVICE, slot->blocks.size);
    }
    if (!status)
        status = send_chunks(w, lane);
    if (!status)
        status = send_table(w, lane, lane->frames, slot->frames.host, slot->n * sizeof(hcy_bslz4_frame));
    if (!status && blocks)
        status = send_table(w, lane, lane->blocks, slot->blocks.host, blocks);
    return status;
}

/* --- Its end --- */

int hcy__is_overdue(const struct pipe_worker *w, const struct pipe_lane *lane)
{
    const uint64_t limit = w->pipeline->opts.device_timeout, now = hcy_now_ns();
    /* A batch behind another one begins where that ended. */
    const uint64_t since = lane->started > w->busy_until ? lane->started : w->busy_until;
    if (!limit || now - since < limit)
        return 0;
    hcy_fail(HCY_ETIMEOUT, "%s has not answered for %.1f s: given up, its frames go to others", w->stats.name,
             1e-9 * (double)limit);
    return 1;
}

/* With a limit the queue is asked, more and more seldom, because a wait could not be ended. */
int hcy__finish_lane(const struct pipe_worker *w, const struct pipe_lane *lane)
{
    if (!w->pipeline->opts.device_timeout)
        return hcy_queue_finish(lane->queue);
    for (long pause = 20000;; pause = pause < 1000000 ? pause * 3 / 2 : pause) {
        int status = hcy_queue_finish_within(lane->queue, 0);
        if (status != HCY_ETIMEOUT)
            return status;
        if (hcy__is_overdue(w, lane))
            return HCY_ETIMEOUT;
        nanosleep(&(struct timespec){ 0, pause }, NULL);
    }
}

/* --- And back --- */

/* Receives rows of a frame's sums. */
static int receive_rows(const struct pipe_worker *w, const struct pipe_lane *lane, size_t frame, size_t row, size_t n)
{
    size_t bytes = w->pipeline->n_bins * sizeof(uint64_t), at = frame * w->pipeline->sums_bytes + row * bytes;
    return hcy_buffer_read(lane->queue, (char *)lane->back.host + at, lane->sums, at, n * bytes);
}

/* Of frames with many bins only those rows are read that hold something; rows of lost pixels are asked for when it is
 * known that there are any. */
static int reads_by_rows(const struct pipe_worker *w)
{
    return !w->direct && !w->pipeline->filtered && w->pipeline->n_bins >= HCY_AZINT_BY_ROWS;
}

static int receive_sums(const struct pipe_worker *w, const struct pipe_lane *lane)
{
    const uint32_t flags = w->pipeline->job.flags;
    int narrow = flags & HCY_AZINT_NARROW, status = 0;
    if (!reads_by_rows(w))
        return hcy_buffer_read(lane->queue, lane->back.host, lane->sums, 0, lane->n * w->pipeline->sums_bytes);
    /* Of a narrow plan nobody reads the high words, nor variances that are not wanted. */
    for (size_t i = 0; i < lane->n && !status; i++) {
        status = receive_rows(w, lane, i, HCY_SUM_SIGNAL_LO, narrow ? 1 : HCY_SUM_LOST_COUNT);
        if (!status && narrow && flags & HCY_AZINT_WANT_VARIANCE)
            status = receive_rows(w, lane, i, HCY_SUM_VARIANCE_LO, 1);
    }
    return status;
}

/* The rows of lost pixels, of frames that have some. */
static int receive_lost(const struct pipe_worker *w, const struct pipe_lane *lane)
{
    int status = 0, some = 0;
    for (size_t i = 0; i < lane->n && !status && reads_by_rows(w); i++)
        if (!lane->host_reports[i].status && lane->host_reports[i].n_lost) {
            some = 1;
            status = receive_rows(w, lane, i, HCY_SUM_LOST_COUNT, HCY_AZINT_SUMS - HCY_SUM_LOST_COUNT);
        }
    return status || !some ? status : hcy__finish_lane(w, lane);
}

static int receive_outcome(const struct pipe_worker *w, const struct pipe_lane *lane)
{
    if (w->direct)
        return 0;
    int status = receive_sums(w, lane);
    for (int k = 0; !status && k < PIPE_BESIDE; k++)
        if (lane->found[k])
            status = hcy_buffer_read(lane->queue, (void *)lane->host_found[k], lane->found[k], 0,
                                     lane->n * w->pipeline->beside[k].found);
    if (status)
        return status;
    return hcy_buffer_read(lane->queue, (void *)lane->host_reports, lane->reports, 0,
                           lane->n * sizeof(hcy_frame_report));
}

/* --- A batch --- */

int hcy__launch_batch(const struct pipe_worker *w, struct pipe_lane *lane)
{
    const uint64_t zero = 0;
    hcy_buffer *chunks = chunks_to_read(w, lane);
    int status = send_slot(w, lane);
    /* A kernel that leaves a frame alone leaves its report alone, and the last batch's is still there. */
    if (!status && w->direct)
        memset(hcy_buffer_host(lane->reports), 0, lane->n * sizeof(hcy_frame_report));
    else if (!status)
        status = hcy_buffer_fill(lane->queue, lane->reports, 0, lane->n * sizeof(hcy_frame_report), &zero,
                                 sizeof zero);
    for (size_t i = 0, at = 0; !status && at < lane->n; i++, at += w->part)
        status =
            launch_part(w, lane, &lane->parts[i], chunks, lane->n - at < w->part ? lane->n - at : w->part);
    return status ? status : receive_outcome(w, lane);
}

int hcy__await_batch(const struct pipe_worker *w, const struct pipe_lane *lane)
{
    int status = hcy__finish_lane(w, lane);
    return status ? status : receive_lost(w, lane);
}
