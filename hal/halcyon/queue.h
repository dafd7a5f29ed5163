/* halcyon/queue.h - in-order asynchronous queues, and the events that order them.
 *
 * Commands of one queue run in the order in which they were submitted; queues run side by side.  The first failure
 * sticks: what follows on that queue is skipped, events recorded behind it carry the same failure, a queue that
 * waits for such an event fails with it, and hcy_queue_finish() returns it, with its cause, until the queue is
 * released.  A queue may be used from several threads (their commands interleave); an event from any thread.
 */
#ifndef HALCYON_QUEUE_H
#define HALCYON_QUEUE_H

#include <halcyon/buffer.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hcy_event hcy_event;

/* *queue is to be released, and keeps its device open.  HCY_ENOMEM, HCY_ELOST, HCY_EBACKEND. */
HCY_API int hcy_queue_create(hcy_queue **queue, hcy_device *dev) HCY_MUST_USE;
/* The same, of which commands go before those of other queues that wait for the device, where it has such queues
 * (CUDA); elsewhere one like any other.  For what is short and others wait for: messages beside a long kernel. */
HCY_API int hcy_queue_create_urgent(hcy_queue **queue, hcy_device *dev) HCY_MUST_USE;
HCY_API hcy_queue *hcy_queue_retain(hcy_queue *queue);
/* What was submitted still runs; the last release does not wait for it. */
HCY_API void hcy_queue_release(hcy_queue *queue);
HCY_API hcy_device *hcy_queue_device(const hcy_queue *queue);
/* A number by its key; the vendor's handles are such numbers (halcyon/cuda.h, halcyon/opencl.h).  HCY_ENOENT: no
 * such key here. */
HCY_API int hcy_queue_get_i64(int64_t *value, hcy_queue *queue, const char *key) HCY_MUST_USE;

/* Waits until everything submitted has run, or is skipped; returns 0 or the queue's first failure.  Of a lost device,
 * whose HCY_ELOST comes before others, what had begun has ended then, and no longer reads or writes the host's
 * memory. */
HCY_API int hcy_queue_finish(hcy_queue *queue) HCY_MUST_USE;
/* The same, but waits for timeout_ns at most: HCY_ETIMEOUT if that was not enough, as when a device hangs.  What was
 * submitted goes on, and keeps what it uses. */
HCY_API int hcy_queue_finish_within(hcy_queue *queue, uint64_t timeout_ns) HCY_MUST_USE;
/* The same without waiting: 0 while nothing has failed yet. */
HCY_API int hcy_queue_status(hcy_queue *queue) HCY_MUST_USE;

/* For a program that has put commands of its own into the vendor's stream (hcy_queue_get_i64()): keeps n buffers until
 * that has passed them, and all that was submitted before; waits for that where a backend cannot know.  HCY_EINVAL,
 * HCY_ENOMEM, and what hcy_queue_finish() returns. */
HCY_API int hcy_queue_keep(hcy_queue *queue, hcy_buffer *const *buffers, size_t n) HCY_MUST_USE;

/* An event that completes when everything submitted to `queue` so far has run. */
HCY_API int hcy_event_record(hcy_event **event, hcy_queue *queue) HCY_MUST_USE;
/* What is submitted to `queue` from now on waits for `event`, of any device. */
HCY_API int hcy_queue_wait(hcy_queue *queue, hcy_event *event) HCY_MUST_USE;
HCY_API hcy_event *hcy_event_retain(hcy_event *event);
HCY_API void hcy_event_release(hcy_event *event);

#define HCY_FOREVER UINT64_MAX
/* Waits for the event: 0 when it is complete, HCY_ETIMEOUT, or the failure that it carries. */
HCY_API int hcy_event_wait(hcy_event *event, uint64_t timeout_ns) HCY_MUST_USE;
/* *done = 0 or 1; returns the failure it carries, if any. */
HCY_API int hcy_event_query(int *done, hcy_event *event) HCY_MUST_USE;
/* When it completed, in ns of the host's CLOCK_MONOTONIC (device clocks are mapped onto it).  HCY_ESTATE: it has not
 * completed yet. */
HCY_API int hcy_event_time(uint64_t *ns, hcy_event *event) HCY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
