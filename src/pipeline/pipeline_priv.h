/* pipeline_priv.h - the pipeline's inner structure: slots, lanes, workers, the output ring.
 *
 * Frames of a run are counted by ordinals 0, 1, 2 ...; a producer (a thread that reads a stack, reader.c, or
 * takes submitted chunks, push.c) reserves a place for the next ordinal, fills it without the lock, and commits
 * it.  What it
 * may run ahead of the sink is bounded twice: by the slots, and by the ring (an ordinal is accepted when its
 * entry of the ring is free).
 *
 * Everything marked [lock] is read and written under pipeline.lock alone; a slot's memory belongs to its
 * producers while it is FILLING, to a worker while it is RUNNING; a ring entry to its producer and then to
 * the slot's worker until it is `ready`, then to the run's thread.  Nothing is allocated between the first
 * frame and the last, unless chunks have more blocks than the first ones had.
 */
#ifndef HCY_PIPELINE_PRIV_H
#define HCY_PIPELINE_PRIV_H

#include <halcyon/pipeline.h>
#include <pthread.h>
#include <stdatomic.h>

#define PIPE_LANES   2          /* batches in flight on a device */
#define PIPE_TICK_NS 100000000u /* after which whoever waits looks for a cancellation */

/* --- The host's callbacks (callback.c) --- */

/* Around each of them, on the caller's stack. */
struct pipe_call {
    const hcy_pipeline *pipeline;
    const struct pipe_call *outer;
};
void hcy__call_begin(struct pipe_call *call, const hcy_pipeline *p);
void hcy__call_end(const struct pipe_call *call);
/* Calls a sink: 0, or its status, and words in hcy_last_error() that are its own or name it. */
int hcy__call_sink(hcy_pipeline *p, hcy_pipeline_sink sink, void *payload, const hcy_pipeline_frame *frame);
/* Is this thread in one of the pipeline's? */
int hcy__in_callback(const hcy_pipeline *p);
/* For public functions: HCY_EINVAL without a pipeline, HCY_EFORK; _outside: HCY_ESTATE in a callback. */
int hcy__check_call(const hcy_pipeline *p, const char *function);
int hcy__check_outside(const hcy_pipeline *p, const char *function);

/* --- Slots (slot.c) --- */

/* Memory of the host that `home`'s copies reach at full speed, or plain memory where it has no such kind. */
struct pipe_memory {
    hcy_buffer *buffer; /* NULL: plain */
    void *host;
    size_t size;
};
int hcy__memory_create(struct pipe_memory *memory, hcy_device *home, size_t size);
void hcy__memory_free(struct pipe_memory *memory);

/* A submitted chunk, until its host has it back. */
struct pipe_chunk {
    const uint8_t *data;
    size_t size;
    uint64_t number, submitted; /* submitted: ns */
    hcy_pipeline_release release;
    void *payload;
};

enum pipe_slot_state { SLOT_FREE, SLOT_FILLING, SLOT_READY, SLOT_RUNNING };

struct pipe_slot {
    enum pipe_slot_state state; /* [lock] */
    int closed;                 /* [lock] takes no more frames */
    size_t pending;             /* [lock] frames whose producer has not committed */
    size_t n, limit;            /* [lock] frames, and how many it takes */
    size_t used, n_blocks;      /* [lock] bytes of chunks, entries of blocks */
    uint64_t first;             /* ordinal of its first frame */
    int in_place;               /* its chunks are not in `chunks` but in the host's memory: */
    unsigned char *refused;     /* a device: it has seen these frames and leaves some of them to others */
    int again;                  /* some device has: frames that are done have a status in `frames` */
    size_t n_held;              /* [lock while FILLING] those to give back when a device has read them */
    struct pipe_chunk *held;
    hcy_device *home;
    struct pipe_memory chunks, frames, blocks; /* hcy_bslz4_frame[], hcy_bslz4_block[] */
    hcy_buffer **views;     /* a device: chunks as its kernels read them, NULL where they must be copied */
    struct pipe_slot *next; /* [lock] in the list of ready slots, by `first` */
};

/* --- Producers --- */

/* Where one frame goes. */
struct pipe_place {
    struct pipe_slot *slot;
    struct pipe_output *output;
    uint8_t *into;     /* NULL: it is already */
    const uint8_t *at; /* there */
    size_t index, offset, capacity;
};
/* A producer's own block table, grown as chunks ask for it. */
struct pipe_parser {
    hcy_bslz4_block *blocks;
    size_t capacity;
};

/* --- Output (output.c) --- */

struct pipe_output {
    int ready; /* [lock] */
    uint64_t number, dropped;
    uint64_t submitted, lent; /* ns; submitted 0: it was read */
    size_t device;
    hcy_frame_report report;
    char why[512];
    hcy_azint_result *result; /* while it has one */
};

/* --- Workers (worker.c) --- */

/* What one launch of a batch works on: all of it, or, in two stages, as many frames as there are images for.
 */
struct pipe_part {
    hcy_buffer *frames, *sums, *reports;
};

struct pipe_lane {
    hcy_queue *queue;
    hcy_buffer *chunks; /* NULL where every slot is read directly */
    hcy_buffer *frames, *blocks, *images, *sums, *reports, *scratch;
    struct pipe_part *parts;
    struct pipe_memory back; /* sums and reports read back; unused where the host reads them in place */
    const uint64_t *host_sums;
    const hcy_frame_report *host_reports;
    struct pipe_slot *slot; /* in flight */
    int hands_on;           /* the frames that the device has refused go to another one */
    uint64_t first, bytes, started;
    size_t n;
};

struct pipe_worker {
    hcy_pipeline *pipeline;
    hcy_device *device;
    size_t index;
    int direct; /* its kernels read the slots where they are */
    int failed; /* [lock] given up, or not taking frames of this kind at all */
    int ready;  /* [lock] its tables are prepared, or that failed: */
    int setup;  /* [lock] status */
    hcy_error error;
    hcy_kernel *fused, *decode, *image; /* fused, or the other two; `image` may be azint_filter */
    hcy_buffer *tables;
    struct pipe_lane lanes[PIPE_LANES];
    size_t preferred, part, n_parts;
    size_t oldest, in_flight; /* lanes */
    uint64_t busy_until;
    hcy_pipeline_device stats; /* [lock] */
    pthread_t thread;
    int started;
};

/* --- The pipeline --- */

/* Times in buckets, 32 to a power of two: percentiles are right to 2 in 100. */
#define PIPE_LATENCY_STEPS   32
#define PIPE_LATENCY_BUCKETS (PIPE_LATENCY_STEPS * 44)
struct pipe_latency {
    uint64_t counts[PIPE_LATENCY_BUCKETS], n, max;
};

/* What the push form adds (push.c). */
struct pipe_push {
    hcy_pipeline_push_options opts;
    struct pipe_chunk *queue; /* [lock] a ring of opts.queue, `head` the oldest of n */
    size_t head, n;
    uint64_t dropped; /* [lock] since the last one that left the queue */
    int lent;         /* the ring's front is with who polls: */
    hcy_pipeline_frame frame;
    hcy_buffer **views; /* a device: opts.memory, NULL where chunks are copied */
    struct pipe_feeder *feeders;
    pthread_t *threads; /* of feeders, n_threads run */
    size_t n_feeders, n_threads;
    pthread_t delivery;
    int delivers; /* `delivery` runs */
};

struct pipe_run {
    hcy_stack *stack;
    uint64_t first, next, last; /* [lock] next: the frame to read next */
};

struct hcy_pipeline {
    const hcy_azint_plan *plan;
    hcy_pipeline_source source;
    hcy_pipeline_options opts;
    hcy_azint_job job;
    int filtered; /* frames go through azint_filter: */
    hcy_azint_filter filter;
    const char *fused; /* the kernel that takes chunks to sums at once, or NULL: there is none of this kind */
    size_t batch, capacity, sums_bytes; /* frames a slot, bytes of its chunks, bytes of one frame's sums */
    size_t n_bins;

    pthread_mutex_t lock;
    pthread_cond_t space;  /* a slot or a ring entry came free, or the run stops */
    pthread_cond_t work;   /* a slot is ready, or stop, or quit */
    pthread_cond_t output; /* the ring's front may be ready, a worker is set up or idle, all have failed */

    struct pipe_slot *slots;
    size_t n_slots;
    struct pipe_slot *filling, *ready; /* [lock] */
    struct pipe_output *ring;
    size_t window;
    hcy_azint_result **idle; /* [lock] those of no entry, a stack: the one used last is in a cache, perhaps */
    size_t n_idle;
    uint64_t accepted, emitted; /* [lock] ordinals */

    struct pipe_worker *workers;
    size_t n_workers, n_failed, n_running; /* [lock] n_running: slots on devices */
    int stopped, quit;                     /* [lock] */
    int busy;                              /* [lock] a run or a push is in progress */
    int status;                            /* [lock] of the run, with `error` */
    hcy_error error;
    atomic_int cancelled;

    struct pipe_run run;
    struct pipe_push *push;      /* [lock] NULL: frames come from run.stack */
    struct pipe_latency latency; /* [lock] */
    uint64_t run_start;
    hcy_pipeline_stats stats; /* [lock] while a run is in progress; `shown` is a copy */
    hcy_pipeline_stats shown;
    hcy_pipeline_device *shown_devices;
};

int hcy__slots_create(hcy_pipeline *p);
void hcy__slots_destroy(hcy_pipeline *p);
/* [lock] A place for the next ordinal, for a chunk of `size` bytes that will be written to it or is at
 * `in_place` (in the push form's memory): 0 if there is none now (wait for `space`). */
int hcy__slot_reserve(hcy_pipeline *p, size_t size, const uint8_t *in_place, struct pipe_place *place);
/* [lock] No more frames go into the slot being filled. */
void hcy__slot_close(hcy_pipeline *p);
/* Takes the chunk of `size` bytes in its place apart, or notes `status` (with hcy_last_error()) for the
 * frame. */
void hcy__slot_commit(hcy_pipeline *p, const struct pipe_place *place, struct pipe_parser *parser, int status,
                      size_t size);
/* [lock] */
void hcy__slot_make_ready(hcy_pipeline *p, struct pipe_slot *slot);
void hcy__slot_release(hcy_pipeline *p, struct pipe_slot *slot);

void *hcy__reader(void *pipeline);

/* Where a chunk lies in the push form's memory; gives chunks of a slot back; forgets a push that nobody
 * finished. */
size_t hcy__push_offset(const hcy_pipeline *p, const uint8_t *chunk);
void hcy__held_release(const hcy_pipeline *p, struct pipe_slot *slot, int status);
void hcy__push_abandon(hcy_pipeline *p);

/* [lock] latency.c: one time more, and what they come to. */
void hcy__latency_add(struct pipe_latency *latency, uint64_t ns);
void hcy__latency_show(const struct pipe_latency *latency, hcy_pipeline_stats *stats);

int hcy__output_create(hcy_pipeline *p, size_t window);
void hcy__output_destroy(hcy_pipeline *p);
/* [lock] Nothing is in the entry any more. */
void hcy__output_clear(hcy_pipeline *p, struct pipe_output *output);
static inline struct pipe_output *hcy__output_at(hcy_pipeline *p, uint64_t ordinal)
{
    return &p->ring[ordinal % p->window];
}
/* [lock] No more frames are accepted before the ring's front is emitted. */
static inline int hcy__ring_is_full(const hcy_pipeline *p)
{
    return p->accepted - p->emitted >= p->window;
}
/* A frame's entry, good so far. */
void hcy__output_begin(struct pipe_output *output, uint64_t number);
/* The outcome of n frames from the lane's sums, to the ring; a lane that still has its slot: of those that no other
 * device has done, or will do. */
void hcy__output_finish(hcy_pipeline *p, const struct pipe_worker *worker, const struct pipe_lane *lane);
/* How many frames of a lane with its slot that is; how many of those the device does not take. */
size_t hcy__output_due(const struct pipe_lane *lane);
size_t hcy__output_refused(const struct pipe_lane *lane);
/* [lock] Stops the run with the status and record, unless it has stopped already. */
void hcy__stop(hcy_pipeline *p, int status, const hcy_error *error);
/* [lock] Why a run has stopped: never 0. */
int hcy__stopped(const hcy_pipeline *p);

/* What a run is made of (pipeline.c).  claim and give_up: one run at a time.  begin: everything as it was before the
 * first frame, from a stack or a push; fails if no device is left from earlier runs.  end: nothing of the run is left
 * in slots or on devices. */
int hcy__run_claim(hcy_pipeline *p);
void hcy__run_give_up(hcy_pipeline *p);
int hcy__run_begin(hcy_pipeline *p, struct pipe_push *push, const struct pipe_run *run);
void hcy__run_end(hcy_pipeline *p, const pthread_t *readers, size_t n);
/* [lock] Waits for a condition until a time: 1 when that has passed. */
int hcy__wait(hcy_pipeline *p, pthread_cond_t *condition, uint64_t until);
/* Waits for the ring's front, at most until `tick`: 1 it is there, 0 not yet, -1 it will not come. */
int hcy__front_wait(hcy_pipeline *p, uint64_t tick);
/* The ring's front, which is ready: shown to its taker, taken out of the ring; both around a sink. */
void hcy__front_lend(hcy_pipeline *p, hcy_pipeline_frame *frame);
void hcy__front_retire(hcy_pipeline *p);
int hcy__deliver(hcy_pipeline *p, hcy_pipeline_sink sink, void *payload);

/* In this order: finds the kernels; starts the thread, which prepares the tables and then waits for slots;
 * makes the lanes, when the sizes of batches and slots are chosen.  leave_out takes the status of each: a device
 * that does not take such frames is left out as long as there is another. */
int hcy__worker_init(struct pipe_worker *worker);
int hcy__worker_start(struct pipe_worker *worker);
int hcy__worker_create_lanes(struct pipe_worker *worker);
int hcy__worker_leave_out(struct pipe_worker *worker, int status);
void hcy__worker_destroy(struct pipe_worker *worker);

#endif
