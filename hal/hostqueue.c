/* hostqueue.c - a queue for devices that have none: one thread that runs commands in order.
 *
 * The queue belongs to its thread and to the handle the backend holds.  Destroying the handle only says that nothing
 * more will come: the thread runs what is left and then frees the queue, so commands never wait for a release.  Only
 * the end of the process waits a little for those that have nothing left to run.
 * The first failure is kept, with its words; what follows is skipped, and events recorded behind it carry it.
 * An event is shared by the command that completes it and by the HAL's event.
 *
 * What a device with an order of its own has been started with (hcy_hostqueue_start) is waited for when something else
 * comes behind it, or nothing: so such commands follow one another there without the host.
 *
 * A short command may run in the thread that brings it, where everything before it has run: then nothing is handed
 * over, and nobody is woken up.
 *
 * A command's time is the host's, from its call to its return, unless the backend says when the device ran it
 * (hcy_hostqueue_ran): then that is the trace's span, and the time of an event that already waited behind it.
 */
#include "hal_priv.h"
#include "thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Objects are released when the commands that used them have been waited for, so that these are not too many. */
#define MOST_STARTED 16

struct hostevent {
    atomic_uint refs;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool done;
    uint64_t recorded, time;
    hcy_error error; /* status 0: none */
};

struct command {
    struct command *next;
    const char *name;
    uint64_t bytes;
    hcy_hostqueue_fn run;      /* NULL: an event to complete or to wait for */
    hcy_hostqueue_fn settle;   /* waits for what `run` has started, and for all that was started before it; or NULL */
    hcy_keep *keep;
    struct hostevent *complete;
    hcy_event *wait;
    max_align_t data[];
};

struct hcy_hostqueue {
    hcy_device *dev;
    const void *lane; /* its row in the trace */
    pthread_mutex_t lock;
    pthread_cond_t work, progress;
    struct command *first, **end;
    struct command *started, **started_end; /* the thread's own: MOST_STARTED at most, in order */
    size_t n_started;
    /* Commands, since ever: submitted, run, and without references any more. */
    uint64_t submitted, done, completed;
    uint64_t awaited; /* the first of them that somebody waits for; UINT64_MAX: nobody does */
    bool closing;
    bool ending;     /* closing, and nothing is left to run */
    hcy_error error; /* the first failure; status 0: none */
    uint64_t ended;  /* when the device ended the last command, if it says so; of whoever runs commands */
};

/* When the device ran the command that is being run in this thread. */
static _Thread_local struct {
    uint64_t start, end;
} ran;

/* Whose commands this thread runs. */
static _Thread_local const struct hcy_hostqueue *served;

/* --- Events --- */

static struct hostevent *new_event(void)
{
    struct hostevent *e = calloc(1, sizeof *e);
    pthread_condattr_t attr;
    if (!e)
        return NULL;
    atomic_init(&e->refs, 2); /* the command and the HAL's event */
    pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_init(&attr);
    /* Timeouts must not depend on somebody setting the clock. */
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&e->changed, &attr);
    pthread_condattr_destroy(&attr);
    return e;
}

void hcy_hostevent_destroy(void *eimpl)
{
    if (!eimpl)
        return;
    struct hostevent *e = eimpl;
    /* The command and the HAL's event let go in either order, each in its own thread. */
    if (atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
        return;
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

static void complete_event(struct hostevent *e, const hcy_error *error, uint64_t ended)
{
    pthread_mutex_lock(&e->lock);
    /* The device's own time counts if the event was recorded before it; else the event waited for nothing that
     * was still running. */
    e->time = ended > e->recorded ? ended : hcy_now_ns();
    e->error = *error;
    e->done = true;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
    /* This was the command's reference; a waiting thread has the other one. */
    hcy_hostevent_destroy(e);
}

static struct timespec deadline(uint64_t timeout_ns)
{
    /* Forever is the largest number, which the sum must not wrap to a moment that is past. */
    uint64_t now = hcy_now_ns(), at = timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
    return (struct timespec){ (time_t)(at / 1000000000u), (long)(at % 1000000000u) };
}

int hcy_hostevent_wait(void *eimpl, uint64_t timeout_ns)
{
    if (!eimpl)
        return hcy_fail(HCY_EINVAL, "hcy_hostevent_wait: no event");
    struct hostevent *e = eimpl;
    struct timespec until = deadline(timeout_ns);
    int timed_out = 0;
    pthread_mutex_lock(&e->lock);
    /* Threads may wake up without a reason, so only these two end the wait. */
    while (!e->done && timed_out != ETIMEDOUT)
        timed_out = pthread_cond_timedwait(&e->changed, &e->lock, &until);
    bool done = e->done;
    pthread_mutex_unlock(&e->lock);
    if (!done)
        return hcy_fail(HCY_ETIMEOUT, "an event did not complete within %.3f s", (double)timeout_ns / 1e9);
    /* Once done, an event does not change, so it is read without the lock. */
    return e->error.status ? hcy_fail_again(&e->error) : 0;
}

int hcy_hostevent_query(int *done, void *eimpl)
{
    if (!eimpl || !done)
        return hcy_fail(HCY_EINVAL, "hcy_hostevent_query: no event, or no place for the answer");
    struct hostevent *e = eimpl;
    pthread_mutex_lock(&e->lock);
    *done = e->done;
    pthread_mutex_unlock(&e->lock);
    return *done && e->error.status ? hcy_fail_again(&e->error) : 0;
}

int hcy_hostevent_time(uint64_t *ns, void *eimpl)
{
    if (!eimpl || !ns)
        return hcy_fail(HCY_EINVAL, "hcy_hostevent_time: no event, or no place for the time");
    struct hostevent *e = eimpl;
    pthread_mutex_lock(&e->lock);
    bool done = e->done;
    *ns = e->time;
    pthread_mutex_unlock(&e->lock);
    return done ? 0 : hcy_fail(HCY_ESTATE, "the event has not completed: it has no time yet");
}

/* --- The thread --- */

/* As a profiler sees it, if there is one. */
static int run_named(const char *name, hcy_hostqueue_fn run, void *data)
{
    int pushed = hcy_trace_push(name);
    int status = run(data);
    hcy_trace_pop(pushed);
    return status;
}

static int run_timed(struct hcy_hostqueue *hq, const char *name, uint64_t bytes, hcy_hostqueue_fn run, void *data)
{
    bool traced = hcy_trace_on(); /* before the command, so that the file is there while the first one runs */
    uint64_t start = hcy_now_ns();
    /* Only a backend that calls hcy_hostqueue_ran in this command has a time to tell. */
    ran.start = ran.end = 0;
    int status = run_named(name, run, data);
    uint64_t end = hcy_now_ns();
    /* A device's time outside of the call shows that its clock was not fitted well to the host's, and is not
     * believed. */
    bool told = ran.end >= start && ran.end <= end;
    hq->ended = told ? ran.end : 0;
    if (traced)
        hcy_trace_span(hq->dev, hq->lane, name,
                       told && ran.start > start && ran.start < ran.end ? ran.start : start, told ? ran.end : end,
                       bytes);
    return status;
}

static int run_command(struct hcy_hostqueue *hq, struct command *c)
{
    int status = hcy__device_check(hq->dev);
    if (status)
        return status;
    /* Events of other devices too: this thread may block, for it serves this queue alone. */
    if (c->wait)
        return hcy_event_wait(c->wait, HCY_FOREVER);
    return c->run ? run_timed(hq, c->name, c->bytes, c->run, c->data) : 0;
}

/* A backend that fails without a word must still fail. */
static void word_failure(const struct hcy_hostqueue *hq, const char *name, int status)
{
    if (status && hcy_last_error()->status != status)
        hcy_fail(status, "%s failed on %s: %s", name, hq->dev->info.name, hcy_status_text(status));
}

void hcy_hostqueue_ran(uint64_t start_ns, uint64_t end_ns)
{
    ran.start = start_ns;
    ran.end = end_ns;
}

static void finish_command(struct command *c, const hcy_error *error, uint64_t ended)
{
    /* Events first: whoever waits for one may go on while references are given back. */
    if (c->complete)
        complete_event(c->complete, error, ended);
    hcy_event_release(c->wait);
    hcy_keep_release(c->keep);
    /* Last, since the note may hold the last reference on the device. */
    hcy__note_free(c);
}

/* A command has run, or has failed, or was skipped: gives up what it refers to. */
static void end_command(struct hcy_hostqueue *hq, struct command *c, const hcy_error *error)
{
    pthread_mutex_lock(&hq->lock);
    if (error && !hq->error.status)
        hq->error = *error;
    /* Before its event: who has waited for that finds the command done. */
    hq->done++;
    pthread_mutex_unlock(&hq->lock);
    finish_command(c, &hq->error, hq->ended);
    pthread_mutex_lock(&hq->lock);
    /* Counted only now, when the command's references are gone: whoever waits for the queue may then free what it
     * used.  Nobody is woken before the command that he waits for. */
    if (++hq->completed >= hq->awaited) {
        hq->awaited = UINT64_MAX;
        pthread_cond_broadcast(&hq->progress);
    }
    pthread_mutex_unlock(&hq->lock);
}

/* Waits for all that was started; a failure is the last one's, as the device does not say whose it is. */
static void settle_started(struct hcy_hostqueue *hq)
{
    struct command *c = hq->started, *last = c, *next;
    hcy_error failed = { 0 };
    if (!c)
        return;
    while (last->next)
        last = last->next;
    int status = last->settle(last->data);
    word_failure(hq, last->name, status);
    if (status)
        failed = *hcy_last_error();
    hq->started = NULL;
    hq->started_end = &hq->started;
    hq->n_started = 0;
    hq->ended = 0; /* events take the time at which they are found complete */
    for (; c; c = next) {
        next = c->next;
        end_command(hq, c, status && c == last ? &failed : NULL);
    }
}

/* Takes the next command; NULL when the queue is closing and empty. */
static struct command *next_command(struct hcy_hostqueue *hq)
{
    pthread_mutex_lock(&hq->lock);
    if (!hq->first || hq->n_started == MOST_STARTED) {
        pthread_mutex_unlock(&hq->lock);
        settle_started(hq);
        pthread_mutex_lock(&hq->lock);
    }
    /* What is left when the handle is destroyed still runs: commands are never dropped. */
    while (!hq->first && !hq->closing)
        pthread_cond_wait(&hq->work, &hq->lock);
    struct command *c = hq->first;
    if (c) {
        hq->first = c->next;
        /* The end points into the command that leaves, so it has to come back to the head. */
        if (!hq->first)
            hq->end = &hq->first;
    }
    pthread_mutex_unlock(&hq->lock);
    return c;
}

/* Without the lock, since nobody else writes `error` while a command is not completed. */
static void serve_command(struct hcy_hostqueue *hq, struct command *c)
{
    /* The host, and other devices, see what a device has done only when it was waited for. */
    if (!c->settle)
        settle_started(hq);
    /* After a failure nothing more runs, but events are completed and references given back as ever. */
    const bool skipped = hq->error.status != 0;
    int status = skipped ? 0 : run_command(hq, c);
    hcy_error failed = { 0 };
    word_failure(hq, c->name, status);
    if (status)
        failed = *hcy_last_error();
    if (c->settle && !skipped && !status) {
        c->next = NULL;
        *hq->started_end = c;
        hq->started_end = &c->next;
        hq->n_started++;
        return;
    }
    /* What was started before it comes first, a failure too. */
    settle_started(hq);
    end_command(hq, c, status ? &failed : NULL);
}

/* --- The end --- */

/* Threads on their way out, that give back what they hold. */
static atomic_uint n_ending;

/* [lock, or the only one who knows the queue] */
static void begin_ending(struct hcy_hostqueue *hq)
{
    if (!hq->ending)
        atomic_fetch_add(&n_ending, 1);
    hq->ending = true;
}

/* A process that ends, or lets go of the library, while they do would find their memory lost, or them without code.
 * Not for long: a driver that hangs must not keep the process.  Those that a child of fork has counted are the
 * parent's. */
__attribute__((destructor)) static void wait_for_ending(void)
{
    const uint64_t most_ns = 1000000000u, began = hcy_now_ns();
    while (!hcy__forked() && atomic_load(&n_ending) && hcy_now_ns() - began < most_ns)
        nanosleep(&(struct timespec){ .tv_nsec = 50000 }, NULL);
}

static void *serve_queue(void *arg)
{
    struct hcy_hostqueue *hq = arg;
    struct command *c;
    served = hq;
    while ((c = next_command(hq)))
        serve_command(hq, c);
    /* The handle is gone, and no command is left: only this thread knows the queue. */
    begin_ending(hq);
    hcy_device *dev = hq->dev;
    pthread_cond_destroy(&hq->work);
    pthread_cond_destroy(&hq->progress);
    pthread_mutex_destroy(&hq->lock);
    free(hq);
    hcy_device_release(dev);
    atomic_fetch_sub(&n_ending, 1);
    return NULL;
}

int hcy_hostqueue_create(hcy_hostqueue **out, hcy_device *dev, const hcy_queue *queue)
{
    if (!out || !dev)
        return hcy_fail(HCY_EINVAL, "hcy_hostqueue_create: no device, or no place for the queue");
    struct hcy_hostqueue *hq = calloc(1, sizeof *hq);
    pthread_t thread;
    if (!hq)
        return hcy_fail(HCY_ENOMEM, "out of memory for a queue");
    /* The thread outlives the handle, so the queue holds the device itself. */
    hq->dev = hcy_device_retain(dev);
    hq->lane = queue ? (const void *)queue : hq;
    hq->end = &hq->first;
    hq->started_end = &hq->started;
    hq->awaited = UINT64_MAX;
    pthread_mutex_init(&hq->lock, NULL);
    pthread_cond_init(&hq->work, NULL);
    pthread_cond_init(&hq->progress, NULL);
    int error = hcy__thread_create(&thread, serve_queue, hq);
    if (error) {
        hcy_device_release(dev);
        free(hq);
        return hcy_fail_vendor(HCY_ENOMEM, error, "pthread_create",
                               "no thread for a queue: the system's limit of threads, or of memory for their "
                               "stacks, is reached");
    }
    /* Nobody joins it: it ends by itself behind the last command. */
    pthread_detach(thread);
    *out = hq;
    return 0;
}

void hcy_hostqueue_destroy(hcy_hostqueue *hq)
{
    if (!hq)
        return;
    pthread_mutex_lock(&hq->lock);
    hq->closing = true;
    if (hq->completed == hq->submitted)
        begin_ending(hq);
    pthread_cond_signal(&hq->work);
    pthread_mutex_unlock(&hq->lock);
}

/* --- Submission --- */

static void append(struct hcy_hostqueue *hq, struct command *c)
{
    pthread_mutex_lock(&hq->lock);
    /* c->next is NULL: commands are cleared when they are made. */
    *hq->end = c;
    hq->end = &c->next;
    hq->submitted++;
    pthread_cond_signal(&hq->work);
    pthread_mutex_unlock(&hq->lock);
}

static struct command *new_command(struct hcy_hostqueue *hq, const char *name, size_t size)
{
    struct command *c = hcy__note_new(hq->dev, sizeof *c + size);
    if (c)
        /* The data behind the head are the caller's to fill; they need not be cleared. */
        *c = (struct command){ .name = name };
    else
        hcy_fail(HCY_ENOMEM, "out of memory for a queue's command");
    return c;
}

int hcy_hostqueue_submit(hcy_hostqueue *hq, const char *name, uint64_t bytes, hcy_hostqueue_fn run,
                         const void *command, size_t size, hcy_keep *keep)
{
    return hcy_hostqueue_start(hq, name, bytes, run, NULL, command, size, keep);
}

int hcy_hostqueue_start(hcy_hostqueue *hq, const char *name, uint64_t bytes, hcy_hostqueue_fn run,
                        hcy_hostqueue_fn settle, const void *command, size_t size, hcy_keep *keep)
{
    if (!hq || !name || !run || (size && !command))
        return hcy_fail(HCY_EINVAL, "hcy_hostqueue_submit: no queue, or nothing to run");
    struct command *c = new_command(hq, name, size);
    if (!c)
        return HCY_ENOMEM;
    c->bytes = bytes;
    c->run = run;
    c->settle = settle;
    /* Taken over only now that nothing can fail. */
    c->keep = keep;
    memcpy(c->data, command, size);
    append(hq, c);
    return 0;
}

int hcy_hostqueue_run_now(hcy_hostqueue *hq, const char *name, uint64_t bytes, hcy_hostqueue_fn run,
                          const void *command)
{
    if (!hq || !name || !run)
        return hcy_fail(HCY_EINVAL, "hcy_hostqueue_run_now: no queue, or nothing to run");
    int status = HCY_EUNSUPPORTED;
    /* The lock is held while it runs: what others submit meanwhile is appended behind it, and who waits sees it done.
     * The queue's thread has let go of all that it ran, or it would still read the error. */
    pthread_mutex_lock(&hq->lock);
    if (hq->completed == hq->submitted) {
        /* Words of an older failure in this thread must not pass for this command's. */
        const int before = hcy__swap_status(0);
        status = hq->error.status ? 0 : hcy__device_check(hq->dev);
        /* Clocks are asked only for the trace, as no event waits for this command yet. */
        if (!hq->error.status && !status)
            status = hcy_trace_on() ? run_timed(hq, name, bytes, run, (void *)command)
                                     : run_named(name, run, (void *)command);
        word_failure(hq, name, status);
        if (status)
            hq->error = *hcy_last_error();
        else if (!hcy_last_error()->status)
            hcy__swap_status(before);
        hq->submitted++, hq->done++, hq->completed++;
        status = 0;
    }
    pthread_mutex_unlock(&hq->lock);
    return status;
}

static int run_host_copy(void *command)
{
    return hcy_host_copy(command);
}

int hcy_hostqueue_copy(hcy_hostqueue *hq, const hcy_copy *copy, hcy_keep *keep)
{
    if (!copy)
        return hcy_fail(HCY_EINVAL, "hcy_hostqueue_copy: no copy");
    uint64_t bytes = (uint64_t)copy->extent[0] * copy->extent[1] * copy->extent[2];
    return hcy_hostqueue_submit(hq, hcy_copy_name(copy), bytes, run_host_copy, copy, sizeof *copy, keep);
}

struct fill {
    hcy_place dst;
    size_t size, pattern_size;
    unsigned char pattern[8];
};

static int run_host_fill(void *command)
{
    const struct fill *f = command;
    return hcy_host_fill(&f->dst, f->size, f->pattern, f->pattern_size);
}

int hcy_hostqueue_fill(hcy_hostqueue *hq, const hcy_place *dst, size_t size, const void *pattern,
                       size_t pattern_size, hcy_keep *keep)
{
    if (!dst || !pattern || pattern_size > 8)
        return hcy_fail(HCY_EINVAL, "hcy_hostqueue_fill: nothing to fill with");
    struct fill f = { .dst = *dst, .size = size, .pattern_size = pattern_size };
    memcpy(f.pattern, pattern, pattern_size);
    return hcy_hostqueue_submit(hq, "fill", size, run_host_fill, &f, sizeof f, keep);
}

int hcy_hostqueue_record(void **eimpl, hcy_hostqueue *hq)
{
    if (!hq || !eimpl)
        return hcy_fail(HCY_EINVAL, "hcy_hostqueue_record: no queue, or no place for the event");
    struct command *c = new_command(hq, "event", 0);
    struct hostevent *e = c ? new_event() : NULL;
    if (!e) {
        hcy__note_free(c);
        return hcy_fail(HCY_ENOMEM, "out of memory for an event");
    }
    c->complete = e;
    /* Set before the thread can see the event, which compares with it. */
    e->recorded = hcy_now_ns();
    *eimpl = e;
    append(hq, c);
    return 0;
}

int hcy_hostqueue_wait(hcy_hostqueue *hq, hcy_event *event)
{
    if (!hq || !event)
        return hcy_fail(HCY_EINVAL, "hcy_hostqueue_wait: no queue, or no event");
    struct command *c = new_command(hq, "wait", 0);
    if (!c)
        return HCY_ENOMEM;
    /* The caller may release the event before the thread comes to it. */
    c->wait = hcy_event_retain(event);
    append(hq, c);
    return 0;
}

int hcy_hostqueue_finish(hcy_hostqueue *hq)
{
    if (!hq)
        return hcy_fail(HCY_EINVAL, "hcy_hostqueue_finish: no queue");
    /* The thread would wait for itself. */
    if (hq == served)
        return hcy_fail(HCY_ESTATE, "a callback in a queue's thread cannot wait for the queue");
    pthread_mutex_lock(&hq->lock);
    uint64_t so_far = hq->submitted; /* others may go on submitting without end */
    while (hq->completed < so_far) {
        hq->awaited = so_far < hq->awaited ? so_far : hq->awaited;
        pthread_cond_wait(&hq->progress, &hq->lock);
    }
    pthread_mutex_unlock(&hq->lock);
    return hcy_hostqueue_status(hq);
}

int hcy_hostqueue_finished(hcy_hostqueue *hq)
{
    if (!hq)
        return hcy_fail(HCY_EINVAL, "hcy_hostqueue_finished: no queue");
    pthread_mutex_lock(&hq->lock);
    bool runs = hq->done < hq->submitted;
    pthread_mutex_unlock(&hq->lock);
    return runs ? HCY_ETIMEOUT : hcy_hostqueue_status(hq);
}

int hcy_hostqueue_status(hcy_hostqueue *hq)
{
    if (!hq)
        return hcy_fail(HCY_EINVAL, "hcy_hostqueue_status: no queue");
    pthread_mutex_lock(&hq->lock);
    /* A copy, so that making it this thread's last error needs no lock. */
    hcy_error error = hq->error;
    pthread_mutex_unlock(&hq->lock);
    return error.status ? hcy_fail_again(&error) : 0;
}
