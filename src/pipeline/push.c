/* push.c - the push form: frames that a host submits from its memory.
 *
 *     submit    appends to a bounded queue; when that is full it waits, drops the oldest frame there, or refuses the
 *               new one
 *     feeders   (threads) take chunks out of the queue, small ones several at once, reserve their slot and take their
 *               tables apart, as the readers of a stack do.  A chunk in the memory that the host has named is used
 *               where it is, held by its slot until a device has read it: by kernels that read the host's memory, by
 *               copies from memory that is registered with their device elsewhere.  Another is copied and given back
 *               at once.  When a push has ended early they give back what nobody will read any more.
 *     delivery  (a thread) hands the ring's front to the sink; without a sink hcy_pipeline_poll() does.
 *
 * Each kind of thread has its own condition (control.h), so that a chunk wakes one feeder, and not who waits for room.
 */
#include "pipeline_priv.h"
#include "sized.h"
#include "thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <halcyon/backend.h>

#define QUEUE     64
#define MAX_QUEUE 65536
#define TOGETHER  16    /* chunks that a feeder takes at once, */
#define FEW_BYTES 65536 /* as long as they have no more than these: with longer ones the lock costs nothing */

struct push_feeder {
    hcy_pipeline *pipeline;
    struct pipe_parser parser;
    struct pipe_seat places[TOGETHER];
    struct pipe_chunk chunks[TOGETHER];
};

/* What a feeder waits for, and since when; begun 0: it does not, or there is no timeline. */
struct push_wait {
    enum pipe_condition condition;
    uint64_t begun;
};

struct pipe_push {
    hcy_pipeline_push_options opts;
    struct pipe_chunk *queue; /* [lock] a ring of opts.queue, `head` the oldest of n */
    size_t head, n;           /* [lock] */
    int finishing;            /* [lock] a finish has come, which alone may end the push */
    int ends;                 /* [lock] it has waited: the push's threads leave */
    size_t inside;            /* [lock] threads that poll or flush: the end waits for them */
    uint64_t dropped;         /* [lock] since the last one that left the queue */
    int lent;                 /* the ring's front is with who polls: */
    hcy_pipeline_frame frame;
    hcy_buffer **views; /* a device: opts.memory as it reads or copies it; NULL where chunks are copied by feeders */
    char copied[sizeof((hcy_error *)0)->text]; /* why there are none; "": they were not asked for, or are there */
    struct push_feeder *feeders;
    pthread_t *threads; /* of feeders, n_threads run */
    size_t n_feeders, n_threads;
    pthread_t delivery;
    int delivers; /* `delivery` runs */
};

/* --- Chunks --- */

void hcy__chunk_give_back(const hcy_pipeline *p, const struct pipe_chunk *chunk, int status)
{
    struct pipe_call call;
    if (!chunk->release)
        return;
    hcy__call_begin(&call, p);
    chunk->release(chunk->payload, chunk->number, status);
    hcy__call_end(&call);
}

size_t hcy__push_offset(const struct pipe_push *push, const uint8_t *chunk)
{
    return (size_t)(chunk - (const uint8_t *)push->opts.memory);
}

hcy_buffer *hcy__push_view(const struct pipe_push *push, size_t device)
{
    return push->views[device];
}

/* The chunk, if devices can read it where it is: all of it must lie in the memory that the host has named. */
static const uint8_t *where_it_is(const struct pipe_push *push, const struct pipe_chunk *chunk)
{
    uintptr_t begin = (uintptr_t)push->opts.memory, at = (uintptr_t)chunk->data;
    if (!push->views || at < begin || at - begin > push->opts.memory_size)
        return NULL;
    return chunk->size <= push->opts.memory_size - (at - begin) ? chunk->data : NULL;
}

/* [lock] */
static struct pipe_chunk pop_chunk(struct pipe_push *push)
{
    struct pipe_chunk chunk = push->queue[push->head];
    push->head = (push->head + 1) % push->opts.queue;
    push->n--;
    return chunk;
}

/* --- Feeders --- */

/* [lock] Takes the queue's head into a slot, if there is one for it. */
static int reserve_chunk(hcy_pipeline *p, struct pipe_seat *place, struct pipe_chunk *chunk)
{
    struct pipe_push *push = p->push;
    if (!push->n)
        return 0;
    const struct pipe_chunk *next = &push->queue[push->head];
    const int too_long = next->size > p->capacity;
    const uint8_t *in_place = too_long ? NULL : where_it_is(push, next);
    /* It leaves the queue only when it has its place: what waits there can still be dropped. */
    if (!hcy__slot_reserve(p, too_long ? 0 : next->size, in_place, place))
        return 0;
    *chunk = pop_chunk(push);
    hcy__output_begin(place->output, chunk->number);
    /* It takes its turn as a frame that has failed; its bytes are not touched, and go back at once. */
    if (too_long)
        hcy__output_fail(place->output,
                         hcy_fail(HCY_ERANGE, "its %zu bytes are more than any frame was said to have (%zu)",
                                  chunk->size, p->capacity));
    place->output->submitted = chunk->submitted;
    /* Dropped frames are told with the next one that is delivered, where the sink learns of the gap. */
    place->output->dropped = push->dropped;
    push->dropped = 0;
    if (in_place) {
        hcy__slot_hold(place, chunk);
        hcy__stats_in_place(&p->stats);
    }
    return 1;
}

/* [lock] Who submits is woken for some frames at once: one by one would be a change of threads for each.  One thread
 * mostly fills what became free before a second one has woken; only where the queue runs low do all come.  A host that
 * polls may be one thread, and nothing else moves before it has submitted its frame. */
static void tell_room(hcy_pipeline *p, const struct pipe_push *push)
{
    const uint32_t quarter = push->opts.queue / 4;
    if (!push->opts.sink || push->n <= quarter)
        hcy__pipe_wake(&p->control, PIPE_ROOM);
    else if (push->n <= push->opts.queue - quarter)
        hcy__pipe_wake_one(&p->control, PIPE_ROOM);
}

/* [lock] The feeder's share of what is in the queue: several frames a lock where they are small. */
static size_t reserve_share(hcy_pipeline *p, struct push_feeder *f)
{
    struct pipe_push *push = p->push;
    size_t n = 0, bytes = 0, share = (push->n + push->n_feeders - 1) / push->n_feeders;
    share = share < TOGETHER ? share : TOGETHER;
    while (n < share && bytes < FEW_BYTES && reserve_chunk(p, &f->places[n], &f->chunks[n]))
        bytes += f->chunks[n++].size;
    if (n)
        tell_room(p, push);
    return n;
}

/* Without the lock, because the timeline is a file. */
static void draw_wait(struct push_wait *wait)
{
    hcy_trace_end(wait->begun, wait->condition == PIPE_CHUNKS ? "wait for chunks" : "wait for room", 0, 0, 0);
    wait->begun = 0;
}

/* [lock] For room for the queue's head, or for a chunk in it.  It lets go of the lock, so look again. */
static void wait_for_chunk(struct push_wait *wait, hcy_pipeline *p)
{
    const enum pipe_condition condition = p->push->n ? PIPE_SPACE : PIPE_CHUNKS;
    /* Waits for the same are one span, however often this thread wakes; those for something else are another. */
    if (wait->begun && wait->condition != condition) {
        hcy__pipe_unlock(&p->control);
        draw_wait(wait);
        hcy__pipe_lock(&p->control);
        return;
    }
    const uint64_t since = hcy_now_ns();
    wait->condition = condition;
    wait->begun = wait->begun ? wait->begun : hcy_trace_begin();
    hcy__pipe_wait(&p->control, condition);
    if (condition == PIPE_SPACE)
        hcy__stats_waited(&p->stats, since);
}

/* Without the lock: the place is this thread's, and the host is called back.  A chunk that is copied goes back before
 * it is parsed, so that the host has its buffer soon; parsing reads the copy. */
static void feed_chunk(struct push_feeder *f, struct pipe_seat *place, const struct pipe_chunk *chunk)
{
    const int failed = place->output->report.status;
    uint64_t since = hcy_trace_begin();
    if (!failed && place->into) {
        memcpy(place->into, chunk->data, chunk->size);
        hcy_trace_end(since, "copy", chunk->number, 1, chunk->size);
    }
    if (failed || place->into)
        hcy__chunk_give_back(f->pipeline, chunk, 0);
    hcy__slot_parse(f->pipeline, place, &f->parser);
}

/* Returns with the lock: its caller asks for the next share. */
static void feed_share(struct push_feeder *f, size_t n)
{
    struct pipe_control *c = &f->pipeline->control;
    size_t done = 0;
    for (size_t i = 0; i < n; i++) {
        feed_chunk(f, &f->places[i], &f->chunks[i]);
        if (!f->places[i].apart && i + 1 < n)
            continue;
        hcy__pipe_lock(c);
        hcy__slot_commit(f->pipeline, f->places + done, i + 1 - done, &f->parser);
        done = i + 1;
        if (done < n)
            hcy__pipe_unlock(c);
    }
}

/* [lock] Of a push that has stopped, until its end: chunks of the queue, and of slots that no device will take.  A host
 * that waits for a buffer would never come to its finish. */
static void give_back_unread(hcy_pipeline *p)
{
    struct pipe_push *push = p->push;
    struct pipe_chunk chunk;
    for (;;) {
        if (push->n) {
            chunk = pop_chunk(push);
        } else if (!hcy__slots_pop_held(&p->slots, &chunk)) {
            if (push->ends)
                return;
            hcy__pipe_wait(&p->control, PIPE_CHUNKS);
            continue;
        }
        hcy__pipe_unlock(&p->control);
        hcy__chunk_give_back(p, &chunk, HCY_ECANCELLED);
        hcy__pipe_lock(&p->control);
    }
}

static void *feed_slots(void *feeder)
{
    struct push_feeder *f = feeder;
    hcy_pipeline *p = f->pipeline;
    struct push_wait wait = { PIPE_CHUNKS, 0 };
    hcy_trace_name_thread("feeder");
    hcy__stay_near_all(&p->workers);
    hcy__pipe_lock(&p->control);
    while (!hcy__is_stopped(&p->control)) {
        const size_t n = reserve_share(p, f);
        if (!n) {
            wait_for_chunk(&wait, p);
            continue;
        }
        hcy__pipe_unlock(&p->control);
        draw_wait(&wait);
        feed_share(f, n);
    }
    hcy__pipe_unlock(&p->control);
    draw_wait(&wait);
    hcy__pipe_lock(&p->control);
    give_back_unread(p);
    hcy__pipe_unlock(&p->control);
    hcy_trace_name_thread(NULL);
    return NULL;
}

/* --- Results --- */

/* [lock] Ends the push if somebody has cancelled it. */
static void heed_cancel(hcy_pipeline *p)
{
    if (!hcy__is_cancelled(&p->control) || hcy__is_stopped(&p->control))
        return;
    hcy_fail(HCY_ECANCELLED, "stopped after %llu of %llu frames",
             (unsigned long long)hcy__ring_emitted(&p->ring), (unsigned long long)hcy__stats_frames(&p->stats));
    hcy__stop(&p->control, HCY_ECANCELLED, hcy_last_error());
}

static void *deliver_results(void *pipeline)
{
    hcy_pipeline *p = pipeline;
    int status = 0, found = 0;
    hcy_trace_name_thread("results");
    while (!status && found >= 0 && !hcy__is_cancelled(&p->control)) {
        found = hcy__front_is_seen(&p->ring) ? 1 : hcy__front_wait(p, hcy_now_ns() + PIPE_TICK_NS);
        if (found > 0)
            status = hcy__front_deliver(p, p->push->opts.sink, p->push->opts.payload);
    }
    hcy__front_settle(p, 0);
    hcy__pipe_lock(&p->control);
    heed_cancel(p);
    hcy__pipe_unlock(&p->control);
    hcy_trace_name_thread(NULL);
    return NULL;
}

/* The push, which stays until leave_push(). */
static int enter_push(struct pipe_push **push, hcy_pipeline *p, int with_sink, const char *words)
{
    int status = 0;
    hcy__pipe_lock(&p->control);
    *push = p->push;
    if (!*push || !(*push)->opts.sink != !with_sink)
        status = hcy_fail(HCY_EINVAL, "%s", words);
    else if ((*push)->ends)
        status = hcy__stopped(&p->control);
    else
        (*push)->inside++;
    hcy__pipe_unlock(&p->control);
    return status;
}

static void leave_push(hcy_pipeline *p, struct pipe_push *push)
{
    hcy__pipe_lock(&p->control);
    if (!--push->inside && push->ends)
        hcy__pipe_wake(&p->control, PIPE_DONE);
    hcy__pipe_unlock(&p->control);
}

/* 1: the ring's front is with who polls, whose it is from here, unless the push has ended meanwhile. */
static int lend_result(hcy_pipeline *p, struct pipe_push *push)
{
    hcy__pipe_lock(&p->control);
    push->lent = !push->ends;
    hcy__pipe_unlock(&p->control);
    if (push->lent)
        hcy__front_lend(p, &push->frame);
    return push->lent;
}

static int poll_result(const hcy_pipeline_frame **frame, hcy_pipeline *p, struct pipe_push *push, uint64_t timeout_ns)
{
    uint64_t now = hcy_now_ns(), end = timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
    *frame = NULL;
    /* The last one polled was lent until now. */
    if (push->lent)
        hcy__front_retire(p);
    push->lent = 0;
    for (;; now = hcy_now_ns()) {
        hcy__pipe_lock(&p->control);
        heed_cancel(p);
        int nothing_left =
            !hcy__is_stopped(&p->control) && hcy__ring_emitted(&p->ring) == hcy__stats_frames(&p->stats);
        hcy__pipe_unlock(&p->control);
        if (nothing_left)
            return 0;
        /* In steps, so that a cancellation is seen: it cannot wake anybody. */
        int found = hcy__front_wait(p, now >= end || end - now < PIPE_TICK_NS ? end : now + PIPE_TICK_NS);
        if (found < 0 || (found && !lend_result(p, push)))
            return hcy__stopped(&p->control);
        if (found)
            *frame = &push->frame;
        if (found || hcy_now_ns() >= end)
            return 0;
    }
}

int hcy_pipeline_poll(const hcy_pipeline_frame **frame, hcy_pipeline *p, uint64_t timeout_ns)
{
    struct pipe_push *push = NULL;
    int status = hcy__check_outside(p, "hcy_pipeline_poll");
    if (!status && !frame)
        status = hcy_fail(HCY_EINVAL, "hcy_pipeline_poll: no place for the frame");
    if (!status)
        status = enter_push(&push, p, 0, "polling is for a pipeline that was started without a sink");
    if (!status) {
        status = poll_result(frame, p, push, timeout_ns);
        leave_push(p, push);
    }
    return status;
}

/* --- Beginning and end --- */

/* *options are the defaults before. */
static int check_push(hcy_pipeline_push_options *options, const hcy_pipeline *p, const hcy_pipeline_push_options *opts)
{
    int status = hcy__check_call(p, "hcy_pipeline_start");
    if (!status && opts)
        status = hcy__sized_read(options, sizeof *options, opts, "hcy_pipeline_push_options");
    if (status)
        return status;
    if (options->queue > MAX_QUEUE)
        return hcy_fail(HCY_EINVAL, "a queue of %u frames; there are %d at most", options->queue, MAX_QUEUE);
    if (options->overflow > HCY_PIPELINE_REFUSE)
        return hcy_fail(HCY_EINVAL, "hcy_pipeline_push_options.overflow is %u, and none of HCY_PIPELINE_WAIT, "
                        "HCY_PIPELINE_DROP_OLDEST and HCY_PIPELINE_REFUSE", options->overflow);
    /* A size that was forgotten would mean copies of all chunks, which nothing else tells. */
    if (options->memory && !options->memory_size)
        return hcy_fail(HCY_EINVAL, "hcy_pipeline_push_options.memory is given, and memory_size is 0: say how many "
                        "bytes it has");
    /* So would memory that a host has not got, and its size says that it meant to give some. */
    if (!options->memory && options->memory_size)
        return hcy_fail(HCY_EINVAL, "hcy_pipeline_push_options.memory_size is %zu, and memory is NULL: say where it is, "
                        "or 0", options->memory_size);
    if (options->memory_size > UINTPTR_MAX - (uintptr_t)options->memory)
        return hcy_fail(HCY_EINVAL, "%zu bytes of memory at %p end behind all addresses", options->memory_size,
                        options->memory);
    return 0;
}

static void drop_views(const hcy_pipeline *p, struct pipe_push *push)
{
    /* Taking memory back from a device that hangs would wait for it. */
    for (size_t i = 0; push->views && i < hcy__n_devices(&p->workers); i++)
        if (hcy__device_hangs(&p->workers, i))
            hcy__keep_for_ever(push->views[i]);
        else
            hcy_buffer_release(push->views[i]);
    free(push->views);
    push->views = NULL;
}

/* The host's memory as each device sees it.  A slot may go to any device, so one that can neither read nor register the
 * memory means copies for all: slower, no failure, and the statistics say why. */
static int view_memory(hcy_pipeline *p, struct pipe_push *push)
{
    const size_t n = hcy__n_devices(&p->workers);
    int status = 0;
    if (!push->opts.memory)
        return 0;
    push->views = calloc(n, sizeof *push->views);
    if (!push->views)
        return hcy_fail(HCY_ENOMEM, "the devices' views of a host's memory");
    for (size_t i = 0; i < n && !status; i++)
        if (hcy__device_is_used(&p->workers, i))
            status = hcy_buffer_import_host(&push->views[i], hcy__device_at(&p->workers, i), push->opts.memory,
                                            push->opts.memory_size, NULL, NULL);
    if (status) {
        drop_views(p, push);
        snprintf(push->copied, sizeof push->copied, "%s", hcy_last_error()->text);
    }
    return 0;
}

const char *hcy__push_copied(const struct pipe_push *push)
{
    return push && push->copied[0] ? push->copied : NULL;
}

/* All that feeders need, so that nothing is allocated later. */
static int create_feeders(hcy_pipeline *p, struct pipe_push *push)
{
    size_t n = p->opts.readers, blocks;
    int status = hcy_bslz4_block_count(&blocks, &p->source.coding, NULL, 0);
    if (status)
        return status;
    push->queue = calloc(push->opts.queue, sizeof *push->queue);
    push->threads = calloc(n, sizeof *push->threads);
    push->feeders = calloc(n, sizeof *push->feeders);
    if (!push->queue || !push->threads || !push->feeders)
        return hcy_fail(HCY_ENOMEM, "a queue of %u frames", push->opts.queue);
    /* Counted before their tables are there, so that a failure leaves none behind. */
    push->n_feeders = n;
    for (size_t i = 0; i < n; i++) {
        push->feeders[i].pipeline = p;
        push->feeders[i].parser.capacity = blocks;
        /* One more, because a calloc() of nothing may be NULL. */
        push->feeders[i].parser.blocks = calloc(blocks + 1, sizeof(hcy_bslz4_block));
        if (!push->feeders[i].parser.blocks)
            return hcy_fail(HCY_ENOMEM, "a table of %zu blocks", blocks);
    }
    return 0;
}

static int start_push_threads(hcy_pipeline *p, struct pipe_push *push)
{
    /* Those that run are counted, because end_push() joins just them. */
    for (size_t i = 0; i < push->n_feeders; i++, push->n_threads++)
        if (hcy__thread_create(&push->threads[i], feed_slots, &push->feeders[i]))
            return hcy_fail(HCY_ENOMEM, "a thread that takes submitted frames");
    if (!push->opts.sink)
        return 0;
    if (hcy__thread_create(&push->delivery, deliver_results, p))
        return hcy_fail(HCY_ENOMEM, "a thread that hands results out");
    push->delivers = 1;
    return 0;
}

static void destroy_push(const hcy_pipeline *p, struct pipe_push *push)
{
    drop_views(p, push);
    for (size_t i = 0; push->feeders && i < push->n_feeders; i++)
        free(push->feeders[i].parser.blocks);
    free(push->feeders);
    free(push->threads);
    free(push->queue);
    free(push);
}

/* Stops, waits for all threads and devices, gives all chunks back. */
static void end_push(hcy_pipeline *p)
{
    struct pipe_push *push = p->push;
    hcy__pipe_lock(&p->control);
    push->ends = 1;
    hcy__pipe_unlock(&p->control);
    hcy__halt(&p->control);
    /* A poll or a flush that is under way hears that the run has ended. */
    hcy__pipe_lock(&p->control);
    while (push->inside)
        hcy__pipe_wait(&p->control, PIPE_DONE);
    hcy__pipe_unlock(&p->control);
    if (push->delivers)
        pthread_join(push->delivery, NULL);
    /* Who polled has the last frame until here; its result goes back to the idle ones. */
    if (push->lent)
        hcy__front_retire(p);
    for (size_t i = 0; i < push->n_threads; i++)
        pthread_join(push->threads[i], NULL);
    hcy__run_end(p);
    /* No thread takes chunks out of the queue any more, and nobody submits during a finish. */
    while (push->n) {
        struct pipe_chunk chunk = pop_chunk(push);
        hcy__chunk_give_back(p, &chunk, HCY_ECANCELLED);
    }
    hcy__pipe_lock(&p->control);
    p->push = NULL;
    hcy__pipe_unlock(&p->control);
    hcy__control_give_up(&p->control);
    destroy_push(p, push);
}

int hcy_pipeline_start(hcy_pipeline *p, const hcy_pipeline_push_options *opts)
{
    hcy_pipeline_push_options options = HCY_PIPELINE_PUSH_OPTIONS_INIT;
    int status = check_push(&options, p, opts);
    if (!status)
        status = hcy__run_claim(p);
    if (status)
        return status;
    /* Until the push has begun it is taken apart here; from then on there may be threads and chunks, and end_push()
     * does it. */
    struct pipe_push *push = calloc(1, sizeof *push);
    if (!push) {
        hcy__control_give_up(&p->control);
        return hcy_fail(HCY_ENOMEM, "a pipeline's push form");
    }
    push->opts = options;
    push->opts.queue = push->opts.queue ? push->opts.queue : QUEUE;
    status = view_memory(p, push);
    if (!status)
        status = create_feeders(p, push);
    if (status) {
        destroy_push(p, push);
        hcy__control_give_up(&p->control);
        return status;
    }
    status = hcy__run_begin(p, push, NULL, 0, 0);
    if (!status)
        status = start_push_threads(p, push);
    if (status) {
        hcy_error error = *hcy_last_error();
        end_push(p);
        return hcy_fail_again(&error);
    }
    return 0;
}

/* [lock] Room in the queue, made or waited for, `now` at first; *dropped is what had to go. */
static int make_queue_room(hcy_pipeline *p, struct pipe_chunk *dropped, uint64_t now)
{
    struct pipe_push *push = p->push;
    int drops = push->opts.overflow == HCY_PIPELINE_DROP_OLDEST, refuses = push->opts.overflow == HCY_PIPELINE_REFUSE;
    int waits = 0;
    heed_cancel(p);
    while (!hcy__is_stopped(&p->control) && push->n == push->opts.queue && !drops) {
        if (refuses)
            return hcy_fail(HCY_EBUSY, "the queue's %u frames wait: submit this one later", push->opts.queue);
        /* The queue may move on only when this callback returns. */
        if (hcy__in_callback(p))
            return hcy_fail(HCY_EBUSY,
                            "the queue's %u frames wait, and a callback of the pipeline cannot wait for them",
                            push->opts.queue);
        hcy__pipe_wait_until(&p->control, PIPE_ROOM, hcy_now_ns() + PIPE_TICK_NS);
        waits = 1;
        heed_cancel(p);
    }
    if (waits)
        hcy__stats_blocked(&p->stats, now);
    if (hcy__is_stopped(&p->control))
        return hcy__stopped(&p->control);
    /* The oldest one goes, because whoever chose to drop wants to see what is now. */
    if (push->n == push->opts.queue) {
        *dropped = pop_chunk(push);
        push->dropped++;
        hcy__stats_dropped(&p->stats);
    }
    return 0;
}

int hcy_pipeline_submit(hcy_pipeline *p, const void *chunk, size_t size, uint64_t number,
                        hcy_pipeline_release release, void *payload)
{
    struct pipe_chunk dropped = { .release = NULL };
    if (!chunk || !size)
        return hcy_fail(HCY_EINVAL, "hcy_pipeline_submit: no chunk");
    int status = hcy__check_call(p, "hcy_pipeline_submit");
    if (status)
        return status;
    /* The latency that is told includes the wait for room. */
    uint64_t now = hcy_now_ns();
    hcy__pipe_lock(&p->control);
    struct pipe_push *push = p->push;
    if (push)
        status = make_queue_room(p, &dropped, now);
    else
        status = hcy_fail(HCY_EINVAL, "hcy_pipeline_submit: the pipeline was not started");
    if (!status) {
        push->queue[(push->head + push->n++) % push->opts.queue] =
            (struct pipe_chunk){ chunk, size, number, now, release, payload };
        hcy__stats_submitted(&p->stats);
        hcy__pipe_wake_one(&p->control, PIPE_CHUNKS);
    }
    hcy__pipe_unlock(&p->control);
    /* The host is called without the lock. */
    hcy__chunk_give_back(p, &dropped, HCY_ECANCELLED);
    return status;
}

int hcy_pipeline_flush(hcy_pipeline *p)
{
    struct pipe_push *push;
    hcy_error error;
    int status = hcy__check_outside(p, "hcy_pipeline_flush");
    if (!status)
        status = enter_push(&push, p, 1, "flushing is for a pipeline that was started with a sink");
    if (status)
        return status;
    hcy__pipe_lock(&p->control);
    /* Dropping a frame means that another was submitted, so this number never shrinks. */
    uint64_t target = hcy__stats_frames(&p->stats);
    while (!hcy__is_stopped(&p->control) && hcy__ring_emitted(&p->ring) < target)
        hcy__pipe_wait(&p->control, PIPE_DONE);
    status = hcy__stop_status(&error, &p->control);
    if (status || hcy__ring_emitted(&p->ring) < target)
        status = hcy__stopped(&p->control);
    hcy__pipe_unlock(&p->control);
    leave_push(p, push);
    return status;
}

int hcy_pipeline_finish(hcy_pipeline *p)
{
    int status = hcy__check_outside(p, "hcy_pipeline_finish");
    if (status)
        return status;
    hcy_error error;
    hcy__pipe_lock(&p->control);
    if (!p->push)
        status = hcy_fail(HCY_EINVAL, "there is no push to finish");
    else if (p->push->finishing)
        status = hcy_fail(HCY_ESTATE, "hcy_pipeline_finish: another thread finishes this push");
    if (status) {
        hcy__pipe_unlock(&p->control);
        return status;
    }
    p->push->finishing = 1;
    while (p->push->opts.sink && !hcy__is_stopped(&p->control) &&
           hcy__ring_emitted(&p->ring) < hcy__stats_frames(&p->stats))
        hcy__pipe_wait(&p->control, PIPE_DONE);
    /* Where results are polled for nobody else may have looked. */
    if (hcy__ring_emitted(&p->ring) < hcy__stats_frames(&p->stats))
        heed_cancel(p);
    /* Asked before the end, which stops what has come to its end, too. */
    status = hcy__stop_status(&error, &p->control);
    hcy__pipe_unlock(&p->control);
    end_push(p);
    return status ? hcy_fail_again(&error) : 0;
}

void hcy__push_abandon(hcy_pipeline *p)
{
    if (p->push)
        end_push(p);
}
