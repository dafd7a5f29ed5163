/* worker.h - the devices, a thread each, and the batches that they work on.
 *
 * The part belongs to six files: worker.c (a device's thread), share.c (which device takes what), lane.c (what a batch
 * in flight needs on a device), launch.c (its way onto the device and back), outcome.c (from its sums to curves in the
 * ring), divide.c (threads that do this for accelerators).
 *
 * Lock rules: members marked [lock] are under the lock.  `failed` changes only while the pipeline is made or a run is
 * in progress, so whoever has claimed the run reads it before the beginning without the lock.  `direct`, `near`, the
 * device and its name never change once they are set.  All else of a worker belongs to its thread once that runs, and
 * to the pipeline's creator before (its lanes: until the first run).
 */
#ifndef HCY_PIPELINE_WORKER_H
#define HCY_PIPELINE_WORKER_H

#include <halcyon/pipeline.h>
#include <pthread.h>

#include "near.h"
#include "slot.h"

#define PIPE_LANES        3 /* two batches in flight on a device, and one whose curves are made */
#define PIPE_MAX_DIVIDERS 16

/* --- For the pipeline's other parts --- */

/* Threads that make curves of sums (divide.c). */
struct pipe_dividers {
    struct pipe_lane *head; /* [lock] lanes whose batch is done, oldest first */
    pthread_t threads[PIPE_MAX_DIVIDERS];
    size_t n;
};

struct pipe_workers {
    struct pipe_worker *all;
    struct pipe_dividers dividers;
    struct pipe_near near; /* any of the devices */
    size_t n;
    size_t n_failed;  /* [lock] */
    size_t n_running; /* [lock] batches whose outcome is not in the ring yet */
    int in_run;       /* [lock] */
};

/* In this order.  create finds the kernels; start has every device prepare its tables in its own thread, all at once;
 * create_lanes when the sizes of batches and slots are chosen.  A device that does not take such frames is left out as
 * long as there is another: HCY_EUNSUPPORTED when none is left. */
int hcy__workers_create(hcy_pipeline *p, hcy_device *const *devices, size_t n);
int hcy__workers_start(hcy_pipeline *p);
int hcy__workers_create_lanes(hcy_pipeline *p);
/* 1 if one of them hangs: what it may read has to stay. */
int hcy__workers_destroy(hcy_pipeline *p);

/* [lock] goes_on: their statistics are added to.  Fails if earlier runs have left no device. */
int hcy__workers_begin(hcy_pipeline *p, int goes_on);
/* Waits until no device has a batch, in a run that has been stopped, and ends it for them. */
void hcy__workers_end(hcy_pipeline *p);
/* [lock] Copies of their statistics. */
void hcy__workers_show(const struct pipe_workers *workers, hcy_pipeline_device *shown);

static inline size_t hcy__n_devices(const struct pipe_workers *workers)
{
    return workers->n;
}
/* The calling thread serves all devices: it stays on processors near any of them. */
static inline void hcy__stay_near_all(const struct pipe_workers *workers)
{
    hcy__near_stay(&workers->near);
}
hcy_device *hcy__device_at(const struct pipe_workers *workers, size_t i);
/* It is at work; and its kernels read memory of the host where it is. */
int hcy__device_is_used(const struct pipe_workers *workers, size_t i);
int hcy__device_reads_host(const struct pipe_workers *workers, size_t i);
/* Of the devices that work those that read the host's memory (direct), or that need copies: how many there are, and the
 * i-th of them, which must exist. */
size_t hcy__count_devices(const struct pipe_workers *workers, int direct);
hcy_device *hcy__find_device(const struct pipe_workers *workers, int direct, size_t i);
/* [lock] Frames a launch so that all devices at work keep to the latency that is aimed at; the pipeline's batch where
 * none is. */
size_t hcy__batch_in_time(const hcy_pipeline *p);
/* Is there a device that does not work with the processors? */
int hcy__has_accelerators(const struct pipe_workers *workers);
/* It is at work and does not stand by. */
int hcy__device_works(const struct pipe_workers *workers, size_t i);
/* It did not answer in time, and may still use what it was given. */
int hcy__device_hangs(const struct pipe_workers *workers, size_t i);
/* Memory that such a device may still use, or that says where it is: never freed, and known not to be lost. */
void hcy__keep_for_ever(void *memory);
/* Frames a launch, as the device says that wants most. */
size_t hcy__preferred_batch(const struct pipe_workers *workers);

/* --- For the part's own files --- */

/* What is asked for beside sums: the table that the kernel takes, and bytes of it and of what is found in a frame. */
enum { PIPE_REGIONS, PIPE_PICK, PIPE_BESIDE };
struct pipe_beside {
    void *table;
    size_t bytes, found; /* found 0: not asked for */
};

/* What one launch of a batch works on: all of it, or, in two stages, as many frames as there are images for.
 */
struct pipe_part {
    hcy_buffer *frames, *sums, *reports, *found[PIPE_BESIDE];
};

/* What a batch in flight needs. */
struct pipe_lane {
    hcy_queue *queue;
    hcy_buffer *chunks; /* NULL where every slot is read directly */
    hcy_buffer *frames, *blocks, *images, *sums, *reports, *scratch;
    hcy_buffer *found[PIPE_BESIDE]; /* NULL: not asked for */
    struct pipe_part *parts;
    struct pipe_memory back; /* what is read back: sums, reports, regions; unused where the host reads them in place */
    const uint64_t *host_sums;
    const hcy_frame_report *host_reports;
    const uint64_t *host_found[PIPE_BESIDE];
    struct pipe_slot *slot; /* in flight */
    int hands_on;           /* the frames that the device has refused go to another one */
    uint64_t first, bytes, started;
    size_t n;
    struct pipe_worker *worker;
    int busy;                /* [lock] its curves are being made: */
    size_t divided, left;    /* [lock] frames that somebody has taken, and that are not done */
    struct pipe_lane *queued; /* [lock] the next one in the queue for that */
};

/* What the accelerators have done in a time. */
struct pipe_period {
    double frames, ns;
};

/* Of a device that works with the processors, beside accelerators: what they did alone, and while it worked; since when
 * the period lasts that is not in there yet, and their frames then. */
struct pipe_gate {
    struct pipe_period alone, beside;
    uint64_t since, frames;
    uint64_t closed_until, pause; /* ns */
};

struct pipe_worker {
    hcy_pipeline *pipeline;
    hcy_device *device;
    size_t index;
    struct pipe_near near;
    int direct; /* its kernels read the slots where they are */
    int on_processors; /* they run its kernels; set before the first run, as is: */
    int stands_by;     /* it takes what no other device does */
    struct pipe_gate gate; /* [lock] */
    int failed; /* [lock] given up, or not taking frames of this kind at all */
    int ready;  /* [lock] its tables are prepared, or that failed: */
    int setup;  /* [lock] status */
    hcy_error error;
    hcy_kernel *fused, *decode, *image; /* fused, or the other two; `image` may be azint_filter */
    hcy_kernel *beside[PIPE_BESIDE]; /* behind the other two, where they are asked for */
    hcy_buffer *tables, *beside_tables[PIPE_BESIDE];
    struct pipe_lane lanes[PIPE_LANES];
    size_t preferred, part, n_parts;
    size_t oldest, in_flight; /* lanes */
    uint64_t busy_until;
    struct pipe_slot *closed;    /* [lock] the last one that it has closed before that was full, or what became of it */
    uint64_t launched, batch_ns; /* [lock] the last batch's beginning; about how long batches take */
    hcy_pipeline_device stats; /* [lock] */
    int waits;                 /* [lock] its thread waits for a slot, */
    uint64_t idle_since;       /* [lock] in a run since then; 0: between runs */
    pthread_t thread;
    int hung;    /* it did not answer in time: what it may still write to is kept, for ever */
    int started;
};

/* Batches in flight; and lanes: sums outlive their launch by the time it takes to make curves, in which the device has
 * its next batch already. */
static inline size_t hcy__worker_depth(const struct pipe_worker *w)
{
    return w->direct ? 1 : 2;
}
static inline size_t hcy__worker_lanes(const struct pipe_worker *w)
{
    return hcy__worker_depth(w) + 1;
}

/* share.c: who stands by, when it is known who is left out; and, with the lock, whether the device takes this ready
 * slot, or the one that is being filled; whether there is another device that has not refused it (and that works). */
void hcy__share_processors(struct pipe_workers *workers);
int hcy__may_take(const struct pipe_worker *w, const struct pipe_slot *slot);
int hcy__may_close(const struct pipe_worker *w);
/* A run begins; the device has taken a slot; a batch of it is done. */
void hcy__share_begin(struct pipe_worker *w);
void hcy__share_taken(struct pipe_worker *w);
void hcy__share_done(struct pipe_worker *w);
int hcy__others_take(const hcy_pipeline *p, const struct pipe_slot *slot, const struct pipe_worker *but, int working);

/* lane.c */
int hcy__lanes_create(struct pipe_worker *w);
void hcy__lanes_destroy(struct pipe_worker *w);

/* launch.c: the kernel that makes sums, at once or from images; the device's own tables, and what it says of batches
 * with them; scratch of a launch of w->part frames. */
static inline hcy_kernel *hcy__sums_kernel(const struct pipe_worker *w)
{
    return w->fused ? w->fused : w->image;
}
int hcy__prepare_tables(struct pipe_worker *w);
int hcy__launch_scratch(const struct pipe_worker *w, size_t *size);
/* A lane's slot onto the device, its kernels, and its outcome on the way back; waiting for that. */
int hcy__launch_batch(const struct pipe_worker *w, struct pipe_lane *lane);
int hcy__await_batch(const struct pipe_worker *w, const struct pipe_lane *lane);
/* Until all that was submitted for the lane has run: HCY_ETIMEOUT after its device's time. */
int hcy__finish_lane(const struct pipe_worker *w, const struct pipe_lane *lane);
/* Its batch has taken longer than devices may: 1, and hcy_last_error() is HCY_ETIMEOUT. */
int hcy__is_overdue(const struct pipe_worker *w, const struct pipe_lane *lane);

/* worker.c */
/* [lock] The lane's curves are made: what its device has refused goes to another one. */
void hcy__hand_slot_on(struct pipe_worker *w, struct pipe_lane *lane);

/* divide.c: threads that divide, as many as the devices ask for; they end when the pipeline is being destroyed.  A lane
 * is theirs until it is no longer busy. */
int hcy__dividers_start(hcy_pipeline *p);
void hcy__dividers_join(struct pipe_dividers *dividers);
void hcy__divide_lane(hcy_pipeline *p, struct pipe_lane *lane);

/* outcome.c */
/* Frames whose curves are handed on together. */
size_t hcy__frames_together(const hcy_pipeline *p);
/* The outcome of the lane's frames first to last - 1, at most so many, to the ring. */
void hcy__finish_frames(hcy_pipeline *p, const struct pipe_worker *w, const struct pipe_lane *lane, size_t first,
                        size_t last);
/* The outcome of n frames from the lane's sums, to the ring; a lane that still has its slot: of those that no other
 * device has done, or will do. */
void hcy__finish_batch(hcy_pipeline *p, const struct pipe_worker *w, const struct pipe_lane *lane);
/* How many frames of a lane with its slot that is; how many of those the device does not take. */
size_t hcy__count_due(const struct pipe_lane *lane);
size_t hcy__count_refused(const struct pipe_lane *lane);

#endif
