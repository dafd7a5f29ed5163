/* queue.c - queues and events: the checks and references; the work is the backend's.  Thread-safe. */
#include "hal_priv.h"

#include <stdlib.h>

static void destroy_queue(void *object)
{
    hcy_queue *queue = object;
    /* A child of fork has no thread and no driver behind this queue. */
    if (hcy__forked())
        return;
    queue->dev->backend->ops->queue_destroy(queue->impl);
    hcy__notes_remove_queue(&queue->dev->notes);
    pthread_mutex_destroy(&queue->lock);
    hcy_device_release(queue->dev);
    free(queue);
}

static int create_queue(hcy_queue **out, hcy_device *dev, bool is_urgent)
{
    int status = hcy__device_check(dev);
    if (status)
        return status;
    if (!out)
        return hcy_fail(HCY_EINVAL, "hcy_queue_create: no place for the queue");
    const hcy_backend_ops *ops = dev->backend->ops;
    if (!HCY_HAS_OP(ops, queue_create))
        return hcy__unsupported(dev, "queues");
    hcy_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return hcy_fail(HCY_ENOMEM, "out of memory for a queue");
    /* The backend gets the handle before it is complete, to keep and not to use. */
    is_urgent = is_urgent && HCY_HAS_OP(ops, queue_create_urgent);
    status = (is_urgent ? ops->queue_create_urgent : ops->queue_create)(&queue->impl, dev->impl, queue);
    if (status) {
        free(queue);
        return status;
    }
    hcy__object_init(queue, destroy_queue);
    pthread_mutex_init(&queue->lock, NULL);
    queue->dev = hcy_device_retain(dev);
    hcy__trace_begin_queue(queue);
    /* Notes are made now, so that the first commands need not allocate any. */
    hcy__notes_add_queue(&dev->notes);
    *out = queue;
    return 0;
}

int hcy_queue_create(hcy_queue **queue, hcy_device *dev)
{
    return create_queue(queue, dev, false);
}

int hcy_queue_create_urgent(hcy_queue **queue, hcy_device *dev)
{
    return create_queue(queue, dev, true);
}

hcy_queue *hcy_queue_retain(hcy_queue *queue)
{
    return hcy__retain(queue);
}

void hcy_queue_release(hcy_queue *queue)
{
    hcy__release(queue);
}

int hcy_queue_get_i64(int64_t *value, hcy_queue *queue, const char *key)
{
    if (!value || !queue)
        return hcy_fail(HCY_EINVAL, "hcy_queue_get_i64: no %s", value ? "queue" : "place for the value");
    if (!key)
        return hcy_fail(HCY_EINVAL, "hcy_queue_get_i64: no key");
    int status = hcy__device_check(queue->dev);
    if (status)
        return status;
    if (!HCY_HAS_OP(queue->dev->backend->ops, queue_i64))
        return hcy_fail(HCY_ENOENT, "a queue of %s has no number \"%s\"", queue->dev->info.name, key);
    return queue->dev->backend->ops->queue_i64(value, queue->impl, key);
}

hcy_device *hcy_queue_device(const hcy_queue *queue)
{
    return queue ? queue->dev : NULL;
}

static int check_queue_device(hcy_queue *queue)
{
    return queue ? hcy__device_check(queue->dev) : hcy_fail(HCY_EINVAL, "no queue");
}

static int inherited_failure(hcy_queue *queue)
{
    if (!atomic_load_explicit(&queue->has_inherited, memory_order_acquire))
        return 0;
    pthread_mutex_lock(&queue->lock);
    /* A copy, because hcy_fail_again writes to this thread's record alone and needs no lock. */
    hcy_error error = queue->inherited;
    pthread_mutex_unlock(&queue->lock);
    return error.status ? hcy_fail_again(&error) : 0;
}

int hcy__queue_check(hcy_queue *queue)
{
    int status = check_queue_device(queue);
    return status ? status : inherited_failure(queue);
}

int hcy_queue_finish(hcy_queue *queue)
{
    int status = check_queue_device(queue); /* not under the lock: others may go on submitting while one waits */
    /* Of a lost device, too: what has begun may read the host's memory until it ends. */
    const int lost = status == HCY_ELOST, ran = status && !lost ? 0 : queue->dev->backend->ops->finish(queue->impl);
    status = lost ? 0 : status ? status : ran;
    return status ? status : hcy__queue_check(queue); /* its device may have been lost meanwhile */
}

int hcy_queue_status(hcy_queue *queue)
{
    int status = check_queue_device(queue);
    if (!status)
        /* The backend's own failure comes before one that was only inherited. */
        status = queue->dev->backend->ops->status(queue->impl);
    return status ? status : inherited_failure(queue);
}

int hcy_queue_keep(hcy_queue *queue, hcy_buffer *const *buffers, size_t n)
{
    int status = check_queue_device(queue);
    for (size_t i = 0; !status && i < n; i++)
        if (!buffers || !buffers[i])
            status = hcy_fail(HCY_EINVAL, "hcy_queue_keep: no buffer %zu of %zu", i, n);
    if (status)
        return status;
    if (!HCY_HAS_OP(queue->dev->backend->ops, queue_keep))
        return hcy_queue_finish(queue);
    hcy_keep *keep = hcy__keep_new(queue->dev, n, 0, NULL);
    if (!keep)
        return hcy_fail(HCY_ENOMEM, "out of memory for a command's record");
    for (size_t i = 0; i < n; i++)
        hcy__keep_add(keep, buffers[i]);
    HCY__ON_QUEUE(status, queue, queue->dev->backend->ops->queue_keep(queue->impl, keep));
    if (status)
        hcy_keep_release(keep);
    return status;
}

/* --- Events --- */

static void destroy_event(void *object)
{
    hcy_event *event = object;
    /* In a child of fork the driver's event is not there. */
    if (hcy__forked())
        return;
    event->dev->backend->ops->event_destroy(event->impl);
    hcy_device_release(event->dev);
    free(event);
}

int hcy_event_record(hcy_event **out, hcy_queue *queue)
{
    int status = check_queue_device(queue);
    if (status)
        return status;
    if (!out)
        return hcy_fail(HCY_EINVAL, "hcy_event_record: no place for the event");
    hcy_event *event = calloc(1, sizeof *event);
    if (!event)
        return hcy_fail(HCY_ENOMEM, "out of memory for an event");
    /* Under the lock, so that the event stands where the caller put it among other threads' commands. */
    HCY__ON_QUEUE(status, queue, queue->dev->backend->ops->record(&event->impl, queue->impl));
    if (status) {
        free(event);
        return status;
    }
    hcy__object_init(event, destroy_event);
    event->dev = hcy_device_retain(queue->dev);
    /* A wait done by the host has left no command behind that could carry its failure, so the event does. */
    pthread_mutex_lock(&queue->lock);
    event->inherited = queue->inherited;
    pthread_mutex_unlock(&queue->lock);
    *out = event;
    return 0;
}

/* For a backend that cannot wait for this event.  What was submitted before goes on meanwhile. */
static void wait_on_host(hcy_queue *queue, hcy_event *event)
{
    /* Not under the lock: other threads may go on submitting, what they submit is not ordered against this
     * wait. */
    if (!hcy_event_wait(event, HCY_FOREVER))
        return;
    pthread_mutex_lock(&queue->lock);
    /* The first failure counts, as everywhere. */
    if (!queue->inherited.status)
        queue->inherited = *hcy_last_error();
    atomic_store_explicit(&queue->has_inherited, true, memory_order_release);
    pthread_mutex_unlock(&queue->lock);
}

static int finish_by_event(hcy_queue *queue, uint64_t timeout_ns)
{
    hcy_event *event = NULL;
    int status = hcy_event_record(&event, queue);
    if (!status)
        status = hcy_event_wait(event, timeout_ns);
    /* Also if it has not completed: the queue holds what it still needs. */
    hcy_event_release(event);
    return status;
}

/* Whether everything has run, without an event: nothing is allocated for the question. */
static int finished_by_now(hcy_queue *queue)
{
    int status = queue->dev->backend->ops->finished(queue->impl);
    return status == HCY_ETIMEOUT ? hcy_fail(status, "the queue has not run all its commands yet") : status;
}

/* A lost device records no events, but what has begun there goes on. */
static int finish_lost(hcy_queue *queue, uint64_t timeout_ns)
{
    const uint64_t begin = hcy_now_ns();
    while (HCY_HAS_OP(queue->dev->backend->ops, finished) && finished_by_now(queue) == HCY_ETIMEOUT) {
        if (hcy_now_ns() - begin >= timeout_ns)
            return HCY_ETIMEOUT;
        nanosleep(&(struct timespec){ 0, 100000 }, NULL);
    }
    return check_queue_device(queue);
}

int hcy_queue_finish_within(hcy_queue *queue, uint64_t timeout_ns)
{
    int status = check_queue_device(queue);
    if (status == HCY_ELOST)
        return finish_lost(queue, timeout_ns);
    if (!status && !timeout_ns && HCY_HAS_OP(queue->dev->backend->ops, finished))
        status = finished_by_now(queue);
    else if (!status)
        status = finish_by_event(queue, timeout_ns);
    return status ? status : hcy__queue_check(queue);
}

int hcy_queue_wait(hcy_queue *queue, hcy_event *event)
{
    int status = check_queue_device(queue);
    if (status)
        return status;
    if (!event)
        return hcy_fail(HCY_EINVAL, "hcy_queue_wait: no event");
    /* A backend without this slot, or with one that does not know such events, leaves the wait to the host. */
    status = HCY_EUNSUPPORTED;
    if (HCY_HAS_OP(queue->dev->backend->ops, wait))
        HCY__ON_QUEUE(status, queue, queue->dev->backend->ops->wait(queue->impl, event));
    if (status != HCY_EUNSUPPORTED)
        return status;
    wait_on_host(queue, event);
    return 0;
}

hcy_event *hcy_event_retain(hcy_event *event)
{
    return hcy__retain(event);
}

void hcy_event_release(hcy_event *event)
{
    hcy__release(event);
}

void *hcy_event_impl(const hcy_event *event)
{
    return event ? event->impl : NULL;
}

hcy_device *hcy_event_device(const hcy_event *event)
{
    return event ? event->dev : NULL;
}

static int check_event(hcy_event *event)
{
    return event ? hcy__device_check(event->dev) : hcy_fail(HCY_EINVAL, "no event");
}

int hcy_event_wait(hcy_event *event, uint64_t timeout_ns)
{
    int status = check_event(event);
    if (!status)
        status = event->dev->backend->ops->event_wait(event->impl, timeout_ns);
    /* The backend knows nothing of what the queue inherited before the event was recorded. */
    return status || !event->inherited.status ? status : hcy_fail_again(&event->inherited);
}

int hcy_event_query(int *done, hcy_event *event)
{
    int status = check_event(event);
    if (!status && !done)
        status = hcy_fail(HCY_EINVAL, "hcy_event_query: no place for the answer");
    if (!status)
        status = event->dev->backend->ops->event_query(done, event->impl);
    /* An event that has not completed has no failure yet, whatever its queue inherited. */
    return status || !*done || !event->inherited.status ? status : hcy_fail_again(&event->inherited);
}

int hcy_event_time(uint64_t *ns, hcy_event *event)
{
    int status = check_event(event);
    if (!status && !ns)
        status = hcy_fail(HCY_EINVAL, "hcy_event_time: no place for the answer");
    return status ? status : event->dev->backend->ops->event_time(ns, event->impl);
}
