/* queue.c - queues: a stream each, and a thread that releases what commands used when the stream has passed them.
 *
 * Commands go to the stream at once, from the caller's thread.  Behind a wait for an event that no stream has yet
 * (another backend's, or one that is held back itself) they are HELD: the queue's thread waits for the event and
 * then submits them in order; nobody else waits.
 *
 * The first failure is kept; what follows is skipped, events recorded behind it carry it.  The queue belongs to its
 * thread and to the HAL's queue; destroyed, it runs what is left and then frees itself.
 */
#include "cuda_priv.h"
#include "thread.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A command in the stream whose objects are still in use. */
struct cuda_pending {
    struct cuda_pending *next;
    uint64_t number;
    hcy_keep *keep;
    CUevent end, start; /* only if there is a trace */
    const char *name;
    uint64_t bytes;
};

/* A command that is not in the stream yet: a wait, an event to record, or `command`. */
struct cuda_held {
    struct cuda_held *next;
    hcy_event *wait;
    struct cuda_event *record;
    hcy_keep *keep;
    struct cuda_command command;
};

/* The queue whose objects this thread releases, or whose thread it is: a callback there that waited for the queue would
 * wait for itself. */
static _Thread_local const struct cuda_queue *releases_for;

/* A lock is nobody's turn: one thread that submits without a gap would get it again and again.  So who ends something,
 * or asks for it, says that he wants it, and who submits lets him. */
static void lock_first(struct cuda_queue *q)
{
    atomic_fetch_add(&q->wanted, 1);
    pthread_mutex_lock(&q->lock);
    atomic_fetch_sub(&q->wanted, 1);
}

static void lock_to_submit(struct cuda_queue *q)
{
    enum { PATIENCE = 200 }; /* some 100 us */
    for (int i = 0; i < PATIENCE && atomic_load_explicit(&q->wanted, memory_order_relaxed); i++)
        sched_yield();
    pthread_mutex_lock(&q->lock);
}

/* --- To the stream (all under the queue's lock) --- */

/* A record for the next command, from now on; one that is given back in another thread costs malloc() more than a
 * launch's other bookkeeping. */
static void drop_pending(struct cuda_queue *q, struct cuda_pending *p)
{
    enum { MOST_SPARE = 256 };
    if (q->n_spare == MOST_SPARE) {
        free(p);
        return;
    }
    p->next = q->spare;
    q->spare = p;
    q->n_spare++;
}

static struct cuda_pending *take_spare(struct cuda_queue *q)
{
    struct cuda_pending *p = q->spare;
    if (!p)
        return calloc(1, sizeof *p);
    q->spare = p->next;
    q->n_spare--;
    *p = (struct cuda_pending){ .next = NULL };
    return p;
}

static void give_events(struct cuda_queue *q, const struct cuda_pending *p)
{
    cuda_event_give(q->dev, p->end, true);
    cuda_event_give(q->dev, p->start, true);
}

static struct cuda_pending *new_pending(struct cuda_queue *q, const struct cuda_command *c)
{
    struct cuda_pending *p = take_spare(q);
    if (!p) {
        hcy_fail(HCY_ENOMEM, "out of memory for a queue's command");
        return NULL;
    }
    p->name = c->name;
    p->bytes = c->bytes;
    /* Two events cost as much as a short launch, so they are made only while there is a trace; a command that gets
     * none is left out of it. */
    if (hcy_trace_on() && (p->start = cuda_event_take(q->dev, true)) && (p->end = cuda_event_take(q->dev, true)))
        cu.cuEventRecord(p->start, q->stream);
    return p;
}

static void append_pending(struct cuda_queue *q, struct cuda_pending *p, hcy_keep *keep)
{
    p->keep = keep;
    p->number = ++q->submitted;
    /* The thread waits for work only while it has none. */
    if (!q->pending)
        pthread_cond_signal(&q->work);
    *q->pending_end = p;
    q->pending_end = &p->next;
}

/* Submits; takes the keep over unless it fails.  After a failure nothing of the command is left in the stream. */
static int run_now(struct cuda_queue *q, const struct cuda_command *c, hcy_keep *keep)
{
    int status = cuda_enter(q->dev);
    if (status)
        return status;
    /* A profiler shows what the GPU does under the name in which it was submitted. */
    int pushed = hcy_trace_push(c->name);
    struct cuda_pending *p = new_pending(q, c);
    status = p ? c->run(q, c) : hcy_last_error()->status;
    if (!status && p->end)
        status = cuda_check(q->dev, cu.cuEventRecord(p->end, q->stream), "recording an event");
    /* The keep is given to the record only now: after any failure before this line it is still the
     * caller's. */
    if (!status) {
        append_pending(q, p, keep);
    } else if (p) {
        /* A part of the command may have been submitted, and its objects are about to be released. */
        cu.cuStreamSynchronize(q->stream);
        give_events(q, p);
        drop_pending(q, p);
    }
    hcy_trace_pop(pushed);
    cuda_leave();
    return status;
}

static int hold_command(struct cuda_queue *q, const struct cuda_held *like)
{
    struct cuda_held *h = malloc(sizeof *h);
    if (!h)
        return hcy_fail(HCY_ENOMEM, "out of memory for a queue's command");
    *h = *like;
    h->next = NULL;
    *q->held_end = h;
    q->held_end = &h->next;
    pthread_cond_signal(&q->work);
    return 0;
}

/* A skipped command's objects go as others' do, since whoever submits holds the HAL's lock on the queue: the last
 * reference to one may call back. */
static void release_later(struct cuda_queue *q, hcy_keep *keep)
{
    struct cuda_pending *p = take_spare(q);
    if (p)
        append_pending(q, p, keep);
    else
        hcy_keep_release(keep);
}

int cuda_submit(struct cuda_queue *q, const struct cuda_command *c, hcy_keep *keep)
{
    int status = 0;
    lock_to_submit(q);
    /* Nothing may overtake what is held, or commands would run out of order. */
    if (q->held) {
        status = hold_command(q, &(struct cuda_held){ .keep = keep, .command = *c });
    } else {
        status = q->error.status ? 0 : run_now(q, c, keep);
        /* By the command itself: that is the queue's failure, not the call's. */
        if (q->error.status) {
            release_later(q, keep);
            status = 0;
        }
    }
    pthread_mutex_unlock(&q->lock);
    return status;
}

/* --- The thread --- */

static void trace_pending(struct cuda_queue *q, const struct cuda_pending *p)
{
    uint64_t start, end;
    if (p->start && p->end && !cuda_event_when(&start, q->dev, p->start) && !cuda_event_when(&end, q->dev, p->end) &&
        end >= start)
        hcy_trace_span(q->dev->dev, q->lane, p->name, start, end, p->bytes);
}

/* Takes the commands up to `number` off the list; under the lock. */
static struct cuda_pending *take_pending(struct cuda_queue *q, uint64_t number)
{
    struct cuda_pending *first = q->pending, **end = &q->pending;
    while (*end && (*end)->number <= number)
        end = &(*end)->next;
    q->pending = *end;
    if (!q->pending)
        q->pending_end = &q->pending;
    if (end == &q->pending)
        return NULL;
    *end = NULL;
    return first;
}

/* Releases everything up to `number`, which the stream has passed. */
static void reap(struct cuda_queue *q, uint64_t number)
{
    const struct cuda_queue *before = releases_for;
    lock_first(q);
    /* One thread at a time: when it is another one's turn, all that went before is released. */
    while (q->reaping)
        pthread_cond_wait(&q->changed, &q->lock);
    q->reaping = true;
    releases_for = q;
    struct cuda_pending *first = take_pending(q, number);
    pthread_mutex_unlock(&q->lock);
    /* Without the lock, as keeps may hold last references to buffers, whose release calls this backend again, and
     * may take long. */
    for (struct cuda_pending *p = first; p; p = p->next) {
        if (p->start && !cu.cuCtxPushCurrent(q->dev->context)) {
            trace_pending(q, p);
            cuda_leave();
        }
        give_events(q, p);
        hcy_keep_release(p->keep);
    }
    releases_for = before;
    lock_first(q);
    while (first) {
        struct cuda_pending *p = first;
        first = p->next;
        drop_pending(q, p);
    }
    q->reaping = false;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

/* Puts the mark behind what is in the stream, and returns the last command's number; under the lock.  Many short
 * commands share it: an event for each would cost their submitter half as much as their launch. */
static uint64_t set_mark(struct cuda_queue *q)
{
    if (!cu.cuCtxPushCurrent(q->dev->context)) {
        /* Without a mark there the stream alone can say when nothing of it is in use any more. */
        if (cuda_check(q->dev, cu.cuEventRecord(q->mark, q->stream), "recording an event"))
            cu.cuStreamSynchronize(q->stream);
        cuda_leave();
    }
    return q->submitted;
}

/* Waits until the stream has passed the mark, then releases all commands before it. */
static void reap_to_mark(struct cuda_queue *q, uint64_t number)
{
    if (!cu.cuCtxPushCurrent(q->dev->context)) {
        cuda_check(q->dev, cu.cuEventSynchronize(q->mark), "a command");
        cuda_leave();
    }
    reap(q, number);
}

/* The first held command, outside the lock where it waits; it stays first until it is dealt with, so that others
 * line up behind it. */
static void serve_held(struct cuda_queue *q, struct cuda_held *h)
{
    hcy_keep *drop = h->keep;
    hcy_error failed = { 0 };
    /* Without the lock, because others must be able to line up behind this command meanwhile. */
    if (h->wait && hcy_event_wait(h->wait, HCY_FOREVER))
        failed = *hcy_last_error();
    pthread_mutex_lock(&q->lock);
    /* After a failure commands are skipped, but events are recorded still, so that nobody waits for ever. */
    if (!q->error.status && !h->wait && !h->record) {
        if (run_now(q, &h->command, h->keep))
            failed = *hcy_last_error();
        else
            drop = NULL;
    }
    if (failed.status && !q->error.status)
        q->error = failed;
    if (h->record) {
        /* Without the context this fails, and then says so to who waits. */
        const bool is_entered = !cu.cuCtxPushCurrent(q->dev->context);
        cuda_event_record(h->record, q->stream, &q->error);
        if (is_entered)
            cuda_leave();
    }
    /* Only now does the next command go straight to the stream again. */
    q->held = h->next;
    if (!q->held)
        q->held_end = &q->held;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
    hcy_keep_release(drop);
    hcy_event_release(h->wait);
    if (h->record)
        cuda_event_destroy(h->record);
    free(h);
}

static void free_queue(struct cuda_queue *q)
{
    hcy_device *dev = q->keeps_dev;
    if (!cu.cuCtxPushCurrent(q->dev->context)) {
        cu.cuStreamDestroy(q->stream);
        cuda_event_give(q->dev, q->mark, false);
        cuda_leave();
    }
    while (q->spare) {
        struct cuda_pending *p = q->spare;
        q->spare = p->next;
        free(p);
    }
    pthread_cond_destroy(&q->work);
    pthread_cond_destroy(&q->changed);
    pthread_mutex_destroy(&q->lock);
    free(q);
    hcy_device_release(dev);
}

/* Lets short commands that come one behind the other come: a mark is waited for with an interrupt, and each round
 * takes the queue's lock and the driver's from who submits.  What takes longer is released as soon as ever. */
static void let_come(uint64_t commands, uint64_t ns)
{
    const uint64_t short_ns = 20000;
    const struct timespec pause = { 0, 50000 };
    if (commands > 1 && ns < commands * short_ns)
        nanosleep(&pause, NULL);
}

static void *serve_stream(void *arg)
{
    struct cuda_queue *q = arg;
    uint64_t since = hcy_now_ns(), released = 0;
    releases_for = q;
    for (;;) {
        pthread_mutex_lock(&q->lock);
        /* Closing ends the thread only after all that was submitted is done. */
        while (!q->pending && !q->held && !q->closing)
            pthread_cond_wait(&q->work, &q->lock);
        bool pending = q->pending != NULL;
        uint64_t number = pending ? set_mark(q) : 0;
        struct cuda_held *held = q->held;
        pthread_mutex_unlock(&q->lock);
        if (pending) {
            reap_to_mark(q, number);
            if (!held)
                let_come(number - released, hcy_now_ns() - since);
            released = number;
            since = hcy_now_ns();
        } else if (held)
            serve_held(q, held);
        else
            break;
    }
    free_queue(q);
    return NULL;
}

/* --- The HAL's calls --- */

static int start_thread(struct cuda_queue *q)
{
    pthread_t thread;
    int error = hcy__thread_create(&thread, serve_stream, q);
    if (error)
        return hcy_fail_vendor(HCY_ENOMEM, error, "pthread_create",
                               "no thread for a queue: the system's limit of threads, or of memory for their "
                               "stacks, is reached");
    pthread_detach(thread);
    return 0;
}

/* Streams must not wait for the default stream, or a program's own work there would stop the queue. */
static int create_stream(CUstream *stream, struct cuda_device *d, bool is_urgent)
{
    int least = 0, greatest = 0;
    if (is_urgent && cu.cuCtxGetStreamPriorityRange(&least, &greatest))
        greatest = 0;
    return cuda_check(d, cu.cuStreamCreateWithPriority(stream, CUDA_STREAM_NON_BLOCKING, is_urgent ? greatest : 0),
                      "making a stream");
}

static int create_queue(void **qimpl, void *impl, hcy_queue *queue, bool is_urgent)
{
    struct cuda_device *d = impl;
    struct cuda_queue *q = calloc(1, sizeof *q);
    if (!q)
        return hcy_fail(HCY_ENOMEM, "out of memory for a queue");
    q->dev = d;
    q->lane = queue;
    /* The lists are empty, and both ends point at their heads. */
    q->held_end = &q->held;
    q->pending_end = &q->pending;
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->work, NULL);
    pthread_cond_init(&q->changed, NULL);
    int status = cuda_enter(d);
    if (status) {
        free(q);
        return status;
    }
    status = create_stream(&q->stream, d, is_urgent);
    if (!status && !(q->mark = cuda_event_take(d, false))) {
        status = hcy_last_error()->status;
        cu.cuStreamDestroy(q->stream);
    }
    cuda_leave();
    /* The thread outlives the HAL's queue, and needs the device until its last command is released. */
    q->keeps_dev = hcy_device_retain(d->dev);
    if (!status && (status = start_thread(q)))
        free_queue(q);
    else if (status) {
        hcy_device_release(q->keeps_dev);
        free(q);
    } else {
        *qimpl = q;
    }
    return status;
}

int cuda_queue_create(void **qimpl, void *impl, hcy_queue *queue)
{
    return create_queue(qimpl, impl, queue, false);
}

int cuda_queue_create_urgent(void **qimpl, void *impl, hcy_queue *queue)
{
    return create_queue(qimpl, impl, queue, true);
}

void cuda_queue_destroy(void *qimpl)
{
    struct cuda_queue *q = qimpl;
    pthread_mutex_lock(&q->lock);
    q->closing = true;
    pthread_cond_signal(&q->work);
    pthread_mutex_unlock(&q->lock);
}

int cuda_queue_status(void *qimpl)
{
    struct cuda_queue *q = qimpl;
    lock_first(q);
    hcy_error error = q->error;
    pthread_mutex_unlock(&q->lock);
    return error.status ? hcy_fail_again(&error) : 0;
}

int cuda_queue_finish(void *qimpl)
{
    struct cuda_queue *q = qimpl;
    if (q == releases_for)
        return hcy_fail(HCY_ESTATE, "a callback in a queue's thread cannot wait for the queue");
    lock_first(q);
    while (q->held)
        pthread_cond_wait(&q->changed, &q->lock);
    /* What others submit from here on is not waited for. */
    uint64_t number = q->submitted;
    pthread_mutex_unlock(&q->lock);
    int status = cuda_enter(q->dev);
    if (status)
        return status;
    status = cuda_check(q->dev, cu.cuStreamSynchronize(q->stream), "a command");
    cuda_leave();
    if (status)
        return status;
    /* This thread releases, so that memory is free when the call returns and not some time later. */
    reap(q, number);
    return cuda_queue_status(q);
}

int cuda_queue_finished(void *qimpl)
{
    struct cuda_queue *q = qimpl;
    lock_first(q);
    /* The stream does not know of held commands yet. */
    bool held = q->held != NULL;
    pthread_mutex_unlock(&q->lock);
    if (held)
        return HCY_ETIMEOUT;
    int status = cuda_enter(q->dev);
    if (status)
        return status;
    CUresult r = cu.cuStreamQuery(q->stream);
    status = r == CUDA_ERROR_NOT_READY ? HCY_ETIMEOUT : cuda_check(q->dev, r, "a command");
    cuda_leave();
    return status ? status : cuda_queue_status(q);
}

int cuda_queue_record(void **eimpl, void *qimpl)
{
    struct cuda_queue *q = qimpl;
    int status = cuda_enter(q->dev);
    if (status)
        return status;
    struct cuda_event *e = cuda_event_new(q->dev);
    if (!e) {
        cuda_leave();
        return hcy_last_error()->status;
    }
    pthread_mutex_lock(&q->lock);
    /* Behind a held command the event is recorded by the queue's thread, which then has a reference of its
     * own. */
    if (q->held) {
        atomic_fetch_add(&e->refs, 1);
        status = hold_command(q, &(struct cuda_held){ .record = e });
        if (status)
            atomic_fetch_sub(&e->refs, 1);
    } else {
        /* The error is that of all commands before the event, so it is read under the lock. */
        cuda_event_record(e, q->stream, &q->error);
    }
    pthread_mutex_unlock(&q->lock);
    cuda_leave();
    if (status)
        cuda_event_destroy(e);
    else
        *eimpl = e;
    return status;
}

static int run_nothing(struct cuda_queue *q, const struct cuda_command *c)
{
    (void)q;
    (void)c;
    return 0;
}

int cuda_queue_keep(void *qimpl, hcy_keep *keep)
{
    const struct cuda_command c = { .name = "others' commands", .run = run_nothing };
    return cuda_submit(qimpl, &c, keep);
}

int cuda_queue_i64(int64_t *value, void *qimpl, const char *key)
{
    struct cuda_queue *q = qimpl;
    /* The second is for who knows no vendor, as a buffer's "address". */
    if (strcmp(key, "cu_stream") && strcmp(key, "stream"))
        return hcy_fail(HCY_ENOENT, "a GPU's queue has no number \"%s\" (cu_stream, stream)", key);
    /* What the caller puts there must not overtake what is held. */
    pthread_mutex_lock(&q->lock);
    while (q->held && q != releases_for)
        pthread_cond_wait(&q->changed, &q->lock);
    pthread_mutex_unlock(&q->lock);
    *value = (int64_t)(intptr_t)q->stream;
    return 0;
}

/* Lets the stream wait, if the event has been recorded in a stream already. */
static bool wait_in_stream(struct cuda_queue *q, hcy_event *event)
{
    hcy_error error;
    if (strcmp(hcy_device_get_info(hcy_event_device(event))->backend, "cuda"))
        return false;
    struct cuda_event *e = hcy_event_impl(event);
    if (!cuda_event_is_recorded(e, &error))
        return false;
    /* What the event waited for has failed: commands behind it would read what was never written. */
    if (error.status) {
        q->error = error;
        return true;
    }
    bool waits = !cu.cuStreamWaitEvent(q->stream, e->event, 0);
    return waits;
}

int cuda_queue_wait(void *qimpl, hcy_event *event)
{
    struct cuda_queue *q = qimpl;
    int status = cuda_enter(q->dev), done = 0;
    if (status)
        return status;
    pthread_mutex_lock(&q->lock);
    if (!q->held && (q->error.status || wait_in_stream(q, event)))
        goto out;
    /* An event of another backend that has completed already needs no thread to wait for it. */
    if (!q->held && hcy_event_query(&done, event)) {
        q->error = *hcy_last_error();
        goto out;
    }
    if (!done) {
        status = hold_command(q, &(struct cuda_held){ .wait = hcy_event_retain(event) });
        if (status)
            hcy_event_release(event);
    }
out:
    pthread_mutex_unlock(&q->lock);
    cuda_leave();
    return status;
}
