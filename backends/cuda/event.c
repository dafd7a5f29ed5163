/* event.c - events, and the device's clock on the host's.
 *
 * CUDA tells the milliseconds between two events, in a float.  So one event, the base, is recorded and waited for
 * beside the host's clock, again every few seconds: short distances keep a float's microsecond, and drift stays small.
 * What remains is cut to the time in which the event can have completed.  Thread-safe.
 */
#include "cuda_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define BASE_AGE ((uint64_t)4000000000u)

/* --- CUevents to use again: never destroyed before the device, as a queue's thread may still wait for one --- */

static struct cuda_event_pool *pool_of(struct cuda_device *d, bool timed)
{
    return timed ? &d->timed : &d->plain;
}

CUevent cuda_event_take(struct cuda_device *d, bool timed)
{
    struct cuda_event_pool *pool = pool_of(d, timed);
    CUevent event = NULL;
    pthread_mutex_lock(&d->lock);
    if (pool->n)
        event = pool->list[--pool->n];
    pthread_mutex_unlock(&d->lock);
    if (event)
        return event;
    /* A waiting thread sleeps and does not spin: it shares the cores with readers and decoders. */
    unsigned flags = CUDA_EVENT_BLOCKING_SYNC | (timed ? 0u : (unsigned)CUDA_EVENT_DISABLE_TIMING);
    return cuda_check(d, cu.cuEventCreate(&event, flags), "making an event") ? NULL : event;
}

void cuda_event_give(struct cuda_device *d, CUevent event, bool timed)
{
    struct cuda_event_pool *pool = pool_of(d, timed);
    if (!event)
        return;
    pthread_mutex_lock(&d->lock);
    /* If the list cannot grow, the event is left to the context, which frees it in the end; there is
     * nothing to report. */
    if (pool->n == pool->room) {
        size_t room = pool->room ? 2 * pool->room : 32;
        CUevent *list = realloc(pool->list, room * sizeof *list);
        if (list) {
            pool->list = list;
            pool->room = room;
        }
    }
    if (pool->n < pool->room)
        pool->list[pool->n++] = event;
    pthread_mutex_unlock(&d->lock);
}

void cuda_event_pools_free(struct cuda_device *d)
{
    /* No queue is left at this point: each of them retains the device. */
    struct cuda_event_pool *pools[] = { &d->timed, &d->plain };
    for (int i = 0; i < 2; i++)
        while (pools[i]->n)
            cu.cuEventDestroy(pools[i]->list[--pools[i]->n]);
    if (d->base)
        cu.cuEventDestroy(d->base);
}

/* --- The clock --- */

/* The shortest of a few tries says best when the event completed. */
static int set_base(struct cuda_device *d)
{
    uint64_t best = UINT64_MAX;
    int status = 0;
    /* A stream of its own is empty, so that the event completes at once, and not behind the user's work. */
    if (!d->clock)
        status = cuda_check(d, cu.cuStreamCreate(&d->clock, CUDA_STREAM_NON_BLOCKING), "making a stream");
    for (int i = 0; !status && i < 4; i++) {
        CUevent event = NULL;
        status = cuda_check(d, cu.cuEventCreate(&event, 0), "making an event");
        if (status)
            return status;
        /* The event completed somewhere between the two readings; half of a short time is a small error. */
        uint64_t before = hcy_now_ns();
        status = cuda_check(d, cu.cuEventRecord(event, d->clock), "recording an event");
        if (!status)
            status = cuda_check(d, cu.cuEventSynchronize(event), "waiting for an event");
        uint64_t after = hcy_now_ns();
        /* The better of the two is kept, so that a try that was interrupted by the scheduler does no harm. */
        CUevent worse = event;
        if (!status && after - before < best) {
            best = after - before;
            worse = d->base;
            d->base = event;
            d->base_ns = before + best / 2;
        }
        if (worse)
            cu.cuEventDestroy(worse);
    }
    return status;
}

int cuda_event_when(uint64_t *ns, struct cuda_device *d, CUevent event)
{
    float ms = 0;
    int status = 0;
    pthread_mutex_lock(&d->lock);
    /* A float of milliseconds keeps a microsecond for some seconds only. */
    if (!d->base || hcy_now_ns() - d->base_ns > BASE_AGE)
        status = set_base(d);
    if (!status)
        status = cuda_check(d, cu.cuEventElapsedTime(&ms, d->base, event), "asking when an event completed");
    *ns = (uint64_t)((int64_t)d->base_ns + (int64_t)((double)ms * 1e6));
    pthread_mutex_unlock(&d->lock);
    return status;
}

/* --- The HAL's events --- */

struct cuda_event *cuda_event_new(struct cuda_device *d)
{
    struct cuda_event *e = calloc(1, sizeof *e);
    pthread_condattr_t attr;
    if (!e) {
        hcy_fail(HCY_ENOMEM, "out of memory for an event");
        return NULL;
    }
    if (!(e->event = cuda_event_take(d, true))) {
        free(e);
        return NULL;
    }
    atomic_init(&e->refs, 1);
    e->dev = d;
    pthread_mutex_init(&e->lock, NULL);
    /* Waits with a limit must not depend on a wall clock that somebody sets. */
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&e->changed, &attr);
    pthread_condattr_destroy(&attr);
    return e;
}

void cuda_event_destroy(void *eimpl)
{
    struct cuda_event *e = eimpl;
    if (atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
        return;
    /* After a loss the driver frees its events with the context, when the process ends. */
    if (!atomic_load(&e->dev->lost) && !cu.cuCtxPushCurrent(e->dev->context)) {
        cuda_event_give(e->dev, e->event, true);
        cuda_leave();
    }
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

void cuda_event_record(struct cuda_event *e, CUstream stream, const hcy_error *error)
{
    pthread_mutex_lock(&e->lock);
    /* The queue's error is copied, because the queue may be gone when somebody asks the event. */
    e->error = *error;
    /* An event cannot complete before it was recorded: this bounds the time that CUDA's clock tells. */
    e->recorded_ns = hcy_now_ns();
    if (cuda_check(e->dev, cu.cuEventRecord(e->event, stream), "recording an event") && !e->error.status)
        e->error = *hcy_last_error();
    e->recorded = true;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

bool cuda_event_is_recorded(struct cuda_event *e, hcy_error *error)
{
    pthread_mutex_lock(&e->lock);
    bool recorded = e->recorded;
    *error = e->error;
    pthread_mutex_unlock(&e->lock);
    return recorded;
}

/* False when the time is over. */
static bool wait_until_recorded(struct cuda_event *e, uint64_t until)
{
    struct timespec at = { (time_t)(until / 1000000000u), (long)(until % 1000000000u) };
    int timed_out = 0;
    pthread_mutex_lock(&e->lock);
    while (!e->recorded && timed_out != ETIMEDOUT)
        timed_out = pthread_cond_timedwait(&e->changed, &e->lock, &at);
    bool recorded = e->recorded;
    pthread_mutex_unlock(&e->lock);
    return recorded;
}

/* The event completed: its time is noted while it is fresh, its failure passed on. */
static int pass_failure_on(struct cuda_event *e)
{
    return e->error.status ? hcy_fail_again(&e->error) : 0;
}

/* CUDA has no wait with a time limit: ask, more and more seldom. */
static int poll_until(struct cuda_event *e, uint64_t until)
{
    for (long pause = 5000;; pause = pause < 500000 ? pause * 3 / 2 : pause) {
        CUresult r = cu.cuEventQuery(e->event);
        if (r != CUDA_ERROR_NOT_READY)
            return cuda_check(e->dev, r, "waiting for an event");
        if (hcy_now_ns() >= until)
            return HCY_ETIMEOUT;
        nanosleep(&(struct timespec){ 0, pause }, NULL);
    }
}

int cuda_event_wait(void *eimpl, uint64_t timeout_ns)
{
    struct cuda_event *e = eimpl;
    uint64_t now = hcy_now_ns(), until = timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
    /* An event behind a held command has no place in a stream yet, so the wait has two parts with one
     * limit. */
    int status = wait_until_recorded(e, until) ? 0 : HCY_ETIMEOUT;
    if (!status)
        status = cuda_enter(e->dev);
    if (!status) {
        status = timeout_ns == HCY_FOREVER
                     ? cuda_check(e->dev, cu.cuEventSynchronize(e->event), "waiting for an event")
                     : poll_until(e, until);
        cuda_leave();
    }
    if (status == HCY_ETIMEOUT)
        return hcy_fail(HCY_ETIMEOUT, "an event did not complete within %.3f s", (double)timeout_ns / 1e9);
    return status ? status : pass_failure_on(e);
}

int cuda_event_query(int *done, void *eimpl)
{
    struct cuda_event *e = eimpl;
    hcy_error error;
    *done = 0;
    if (!cuda_event_is_recorded(e, &error))
        return 0;
    int status = cuda_enter(e->dev);
    if (status)
        return status;
    /* Not ready is no failure here; any other result than success is the command's. */
    CUresult r = cu.cuEventQuery(e->event);
    cuda_leave();
    if (r == CUDA_ERROR_NOT_READY)
        return 0;
    *done = 1;
    status = cuda_check(e->dev, r, "asking for an event");
    return status ? status : pass_failure_on(e);
}

int cuda_event_time(uint64_t *ns, void *eimpl)
{
    struct cuda_event *e = eimpl;
    int done = 0;
    int status = cuda_event_query(&done, e);
    if (!done)
        return status ? status : hcy_fail(HCY_ESTATE, "the event has not completed: it has no time yet");
    status = cuda_enter(e->dev);
    if (status)
        return status;
    pthread_mutex_lock(&e->lock);
    uint64_t now = hcy_now_ns(), when = e->time_ns;
    if (!when)
        status = cuda_event_when(&when, e->dev, e->event);
    /* The two clocks agree to microseconds only; what cannot be true is cut off, so that times never run
     * backwards. */
    if (when < e->recorded_ns)
        when = e->recorded_ns;
    if (when > now)
        when = now;
    if (!status)
        *ns = e->time_ns = when;
    pthread_mutex_unlock(&e->lock);
    cuda_leave();
    return status;
}
