/* push.c - the push form: frames that a host submits from its memory.
 *
 *     submit    appends to a bounded queue; when that is full it waits, or drops the oldest frame there
 *     feeders   (threads) take chunks out of the queue, reserve their slot and take their tables apart, as the
 *               readers of a stack do.  A chunk in the memory that the host has named is used where it is, held
 *               by its slot until a device has read it; another is copied and given back at once.
 *     delivery  (a thread) hands the ring's front to the sink; without a sink hcy_pipeline_poll() does.
 *
 * All state is under pipeline.lock; callbacks are called without it.  `space` also says that the queue has
 * changed, and that a result has been handed out.
 */
#include "pipeline_priv.h"
#include "sized.h"

#include <stdlib.h>
#include <string.h>

#include <halcyon/backend.h>

#define QUEUE       64
#define MAX_QUEUE   65536
#define MAX_FEEDERS 4

struct pipe_feeder {
    hcy_pipeline *pipeline;
    struct pipe_parser parser;
};

/* --- Chunks --- */

static void give_back(const hcy_pipeline *p, const struct pipe_chunk *chunk, int status)
{
    struct pipe_call call;
    if (!chunk->release)
        return;
    hcy__call_begin(&call, p);
    chunk->release(chunk->payload, chunk->number, status);
    hcy__call_end(&call);
}

void hcy__held_release(const hcy_pipeline *p, struct pipe_slot *slot, int status)
{
    for (size_t i = 0; i < slot->n_held; i++)
        give_back(p, &slot->held[i], status);
    slot->n_held = 0;
}

size_t hcy__push_offset(const hcy_pipeline *p, const uint8_t *chunk)
{
    return (size_t)(chunk - (const uint8_t *)p->push->opts.memory);
}

/* The chunk, if devices can read it where it is. */
static const uint8_t *where_it_is(const struct pipe_push *push, const struct pipe_chunk *chunk)
{
    uintptr_t begin = (uintptr_t)push->opts.memory, at = (uintptr_t)chunk->data;
    if (!push->views || at < begin || at - begin > push->opts.memory_size)
        return NULL;
    return chunk->size <= push->opts.memory_size - (at - begin) ? chunk->data : NULL;
}

/* [lock] */
static struct pipe_chunk pop(struct pipe_push *push)
{
    struct pipe_chunk chunk = push->queue[push->head];
    push->head = (push->head + 1) % push->opts.queue;
    push->n--;
    return chunk;
}

/* --- Feeders --- */

/* [lock] Takes the queue's head into a slot, if there is one for it.  *status: what is wrong with it. */
static int reserve(hcy_pipeline *p, struct pipe_place *place, struct pipe_chunk *chunk, int *status)
{
    struct pipe_push *push = p->push;
    if (!push->n)
        return 0;
    const struct pipe_chunk *next = &push->queue[push->head];
    const uint8_t *in_place = where_it_is(push, next);
    *status = 0;
    if (next->size > p->capacity) {
        *status = hcy_fail(HCY_ERANGE, "its %zu bytes are more than any frame was said to have (%zu)",
                           next->size, p->capacity);
        in_place = NULL;
    }
    if (!hcy__slot_reserve(p, *status ? 0 : next->size, in_place, place))
        return 0;
    *chunk = pop(push);
    hcy__output_begin(place->output, chunk->number);
    place->output->submitted = chunk->submitted;
    place->output->dropped = push->dropped;
    push->dropped = 0;
    if (in_place)
        place->slot->held[place->slot->n_held++] = *chunk;
    pthread_cond_broadcast(&p->space);
    return 1;
}

static void *feed(void *feeder)
{
    struct pipe_feeder *f = feeder;
    hcy_pipeline *p = f->pipeline;
    struct pipe_place place;
    struct pipe_chunk chunk;
    int status;
    pthread_mutex_lock(&p->lock);
    while (!p->stopped) {
        if (!reserve(p, &place, &chunk, &status)) {
            pthread_cond_wait(&p->space, &p->lock);
            continue;
        }
        int copied = status || place.into;
        pthread_mutex_unlock(&p->lock);
        if (!status && place.into)
            memcpy(place.into, chunk.data, chunk.size);
        if (copied)
            give_back(p, &chunk, 0);
        hcy__slot_commit(p, &place, &f->parser, status, chunk.size);
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* --- Results --- */

/* [lock] Ends the push if somebody has cancelled it. */
static void heed_cancel(hcy_pipeline *p)
{
    if (!atomic_load(&p->cancelled) || p->stopped)
        return;
    hcy_fail(HCY_ECANCELLED, "stopped after %llu of %llu frames", (unsigned long long)p->emitted,
             (unsigned long long)p->stats.frames);
    hcy__stop(p, HCY_ECANCELLED, hcy_last_error());
}

static void *deliver(void *pipeline)
{
    hcy_pipeline *p = pipeline;
    int status = 0, found = 0;
    while (!status && found >= 0 && !atomic_load(&p->cancelled)) {
        found = hcy__front_wait(p, hcy_now_ns() + PIPE_TICK_NS);
        if (found > 0)
            status = hcy__deliver(p, p->push->opts.sink, p->push->opts.payload);
    }
    pthread_mutex_lock(&p->lock);
    if (status)
        hcy__stop(p, status, hcy_last_error());
    heed_cancel(p);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

int hcy_pipeline_poll(const hcy_pipeline_frame **frame, hcy_pipeline *p, uint64_t timeout_ns)
{
    int status = hcy__check_outside(p, "hcy_pipeline_poll");
    if (status)
        return status;
    if (!frame || !p->push || p->push->opts.sink)
        return hcy_fail(HCY_EINVAL, "polling is for a pipeline that was started without a sink");
    uint64_t now = hcy_now_ns(), end = timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
    *frame = NULL;
    if (p->push->lent)
        hcy__front_retire(p);
    p->push->lent = 0;
    for (;; now = hcy_now_ns()) {
        pthread_mutex_lock(&p->lock);
        heed_cancel(p);
        int nothing_left = !p->stopped && p->emitted == p->stats.frames;
        pthread_mutex_unlock(&p->lock);
        if (nothing_left)
            return 0;
        int found = hcy__front_wait(p, end - now < PIPE_TICK_NS ? end : now + PIPE_TICK_NS);
        if (found < 0)
            return hcy__stopped(p);
        if (found) {
            hcy__front_lend(p, &p->push->frame);
            p->push->lent = 1;
            *frame = &p->push->frame;
        }
        if (found || hcy_now_ns() >= end)
            return 0;
    }
}

/* --- Beginning and end --- */

/* *options are the defaults before. */
static int check_start(hcy_pipeline_push_options *options, const hcy_pipeline *p, const hcy_pipeline_push_options *opts)
{
    int status = hcy__check_call(p, "hcy_pipeline_start");
    if (!status && opts)
        status = hcy__sized_read(options, sizeof *options, opts, "hcy_pipeline_push_options");
    if (!status && (options->queue > MAX_QUEUE || options->overflow > HCY_PIPELINE_DROP_OLDEST))
        return hcy_fail(HCY_EINVAL, "a queue of %u frames (at most %d), overflow %u", options->queue, MAX_QUEUE,
                        options->overflow);
    return status;
}

/* The host's memory as each device sees it, if all can read it where it is. */
static int import_memory(hcy_pipeline *p, struct pipe_push *push)
{
    int direct = push->opts.memory && push->opts.memory_size, status = 0;
    for (size_t i = 0; i < p->n_workers; i++)
        direct &= p->workers[i].failed || p->workers[i].direct;
    if (!direct)
        return 0;
    push->views = calloc(p->n_workers, sizeof *push->views);
    if (!push->views)
        return hcy_fail(HCY_ENOMEM, "the devices' views of a host's memory");
    for (size_t i = 0; i < p->n_workers && !status; i++)
        if (!p->workers[i].failed)
            status = hcy_buffer_import_host(&push->views[i], p->workers[i].device, push->opts.memory,
                                            push->opts.memory_size, NULL, NULL);
    return status;
}

/* All that feeders need, so that nothing is allocated later. */
static int create_feeders(hcy_pipeline *p, struct pipe_push *push)
{
    size_t n = p->opts.readers < MAX_FEEDERS ? p->opts.readers : MAX_FEEDERS, blocks;
    int status = hcy_bslz4_block_count(&blocks, &p->source.coding, NULL, 0);
    if (status)
        return status;
    push->queue = calloc(push->opts.queue, sizeof *push->queue);
    push->threads = calloc(n, sizeof *push->threads);
    push->feeders = calloc(n, sizeof *push->feeders);
    if (!push->queue || !push->threads || !push->feeders)
        return hcy_fail(HCY_ENOMEM, "a queue of %u frames", push->opts.queue);
    for (size_t i = 0; i < n; i++) {
        push->feeders[i].pipeline = p;
        push->feeders[i].parser.capacity = blocks;
        push->feeders[i].parser.blocks = calloc(blocks + 1, sizeof(hcy_bslz4_block));
        if (!push->feeders[i].parser.blocks)
            return hcy_fail(HCY_ENOMEM, "a table of %zu blocks", blocks);
    }
    push->n_feeders = n;
    return 0;
}

static int start_threads(hcy_pipeline *p, struct pipe_push *push)
{
    for (size_t i = 0; i < push->n_feeders; i++, push->n_threads++)
        if (pthread_create(&push->threads[i], NULL, feed, &push->feeders[i]))
            return hcy_fail(HCY_ENOMEM, "a thread that takes submitted frames");
    if (!push->opts.sink)
        return 0;
    if (pthread_create(&push->delivery, NULL, deliver, p))
        return hcy_fail(HCY_ENOMEM, "a thread that hands results out");
    push->delivers = 1;
    return 0;
}

static void destroy(hcy_pipeline *p, struct pipe_push *push)
{
    for (size_t i = 0; push->views && i < p->n_workers; i++)
        hcy_buffer_release(push->views[i]);
    for (size_t i = 0; push->feeders && i < push->n_feeders; i++)
        free(push->feeders[i].parser.blocks);
    free(push->views);
    free(push->feeders);
    free(push->threads);
    free(push->queue);
    free(push);
}

/* Stops, waits for all threads and devices, gives all chunks back. */
static void end(hcy_pipeline *p)
{
    struct pipe_push *push = p->push;
    pthread_mutex_lock(&p->lock);
    p->stopped = 1;
    pthread_cond_broadcast(&p->output);
    pthread_mutex_unlock(&p->lock);
    if (push->delivers)
        pthread_join(push->delivery, NULL);
    if (push->lent)
        hcy__front_retire(p);
    hcy__run_end(p, push->threads, push->n_threads);
    while (push->n) {
        struct pipe_chunk chunk = pop(push);
        give_back(p, &chunk, HCY_ECANCELLED);
    }
    pthread_mutex_lock(&p->lock);
    p->push = NULL;
    p->busy = 0;
    pthread_mutex_unlock(&p->lock);
    destroy(p, push);
}

int hcy_pipeline_start(hcy_pipeline *p, const hcy_pipeline_push_options *opts)
{
    hcy_pipeline_push_options options = HCY_PIPELINE_PUSH_OPTIONS_INIT;
    int status = check_start(&options, p, opts);
    if (!status)
        status = hcy__run_claim(p);
    if (status)
        return status;
    struct pipe_push *push = calloc(1, sizeof *push);
    if (!push) {
        hcy__run_give_up(p);
        return hcy_fail(HCY_ENOMEM, "a pipeline's push form");
    }
    push->opts = options;
    push->opts.queue = push->opts.queue ? push->opts.queue : QUEUE;
    status = import_memory(p, push);
    if (!status)
        status = create_feeders(p, push);
    if (status) {
        destroy(p, push);
        hcy__run_give_up(p);
        return status;
    }
    status = hcy__run_begin(p, push, &(struct pipe_run){ NULL, 0, 0, UINT64_MAX / 2 });
    if (!status)
        status = start_threads(p, push);
    if (status) {
        hcy_error error = *hcy_last_error();
        end(p);
        return hcy_fail_again(&error);
    }
    return 0;
}

/* [lock] Room in the queue, made or waited for; *dropped is what had to go. */
static int make_room(hcy_pipeline *p, struct pipe_chunk *dropped)
{
    struct pipe_push *push = p->push;
    int drops = push->opts.overflow == HCY_PIPELINE_DROP_OLDEST;
    heed_cancel(p);
    while (!p->stopped && push->n == push->opts.queue && !drops) {
        if (hcy__in_callback(p))
            return hcy_fail(HCY_EBUSY, "the queue's %u frames wait, and a callback of the pipeline cannot wait for them",
                            push->opts.queue);
        hcy__wait(p, &p->space, hcy_now_ns() + PIPE_TICK_NS);
        heed_cancel(p);
    }
    if (p->stopped)
        return hcy__stopped(p);
    if (push->n == push->opts.queue) {
        *dropped = pop(push);
        push->dropped++;
        p->stats.dropped++;
        p->stats.frames--;
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
    uint64_t now = hcy_now_ns();
    pthread_mutex_lock(&p->lock);
    struct pipe_push *push = p->push;
    status = push ? make_room(p, &dropped) : hcy_fail(HCY_EINVAL, "hcy_pipeline_submit: the pipeline was not started");
    if (!status) {
        push->queue[(push->head + push->n++) % push->opts.queue] =
            (struct pipe_chunk){ chunk, size, number, now, release, payload };
        p->stats.frames++;
        pthread_cond_broadcast(&p->space);
    }
    pthread_mutex_unlock(&p->lock);
    give_back(p, &dropped, HCY_ECANCELLED);
    return status;
}

int hcy_pipeline_flush(hcy_pipeline *p)
{
    int status = hcy__check_outside(p, "hcy_pipeline_flush");
    if (status)
        return status;
    if (!p->push || !p->push->opts.sink)
        return hcy_fail(HCY_EINVAL, "flushing is for a pipeline that was started with a sink");
    pthread_mutex_lock(&p->lock);
    uint64_t target = p->stats.frames; /* dropping one means that another was submitted: it never shrinks */
    while (!p->stopped && p->emitted < target)
        pthread_cond_wait(&p->space, &p->lock);
    status = p->stopped ? hcy__stopped(p) : 0;
    pthread_mutex_unlock(&p->lock);
    return status;
}

int hcy_pipeline_finish(hcy_pipeline *p)
{
    int status = hcy__check_outside(p, "hcy_pipeline_finish");
    if (status)
        return status;
    if (!p->push)
        return hcy_fail(HCY_EINVAL, "there is no push to finish");
    pthread_mutex_lock(&p->lock);
    while (p->push->opts.sink && !p->stopped && p->emitted < p->stats.frames)
        pthread_cond_wait(&p->space, &p->lock);
    hcy_error error = p->error;
    status = p->stopped ? p->status : 0;
    pthread_mutex_unlock(&p->lock);
    end(p);
    return status ? hcy_fail_again(&error) : 0;
}

void hcy__push_abandon(hcy_pipeline *p)
{
    if (p->push)
        end(p);
}
