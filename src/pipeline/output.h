/* output.h - the ring in which frames wait until it is their turn (output.c owns it).
 *
 * Frames of a run are counted by ordinals 0, 1, 2 ...; an ordinal is accepted when its entry of the ring is free,
 * which bounds what producers may run ahead of the sink.
 *
 * Lock rules: the counters, the idle results and each entry's `ready` are under the lock.  The rest of an entry
 * belongs, without the lock, to the frame's producer until it commits, then to the worker that has the frame's slot
 * until it makes the entry ready, then to the thread that hands frames out.  That thread alone moves `emitted`, so it
 * may read it without the lock.
 */
#ifndef HCY_PIPELINE_OUTPUT_H
#define HCY_PIPELINE_OUTPUT_H

#include <halcyon/pipeline.h>

struct pipe_output {
    int ready; /* [lock] */
    uint64_t number, dropped;
    uint64_t submitted, lent; /* ns; submitted 0: it was read */
    size_t device;
    hcy_frame_report report;
    char why[512];
    hcy_azint_result *result; /* while it has one */
    hcy_region_sums *regions; /* room for them; NULL: there are none */
    hcy_sparse sparse;        /* its arrays are the entry's */
};

struct pipe_ring {
    struct pipe_output *entries;
    hcy_region_sums *regions;  /* of all entries */
    size_t window;             /* entries */
    hcy_azint_result **idle;   /* [lock] those of no entry, a stack: the one used last is in a cache, perhaps */
    size_t n_idle;             /* [lock] */
    /* Of the thread that hands frames out: from `emitted` on those that it has handed out, and behind them those that
     * it knows to be ready; when the last one came back, and how long the sink has had them. */
    size_t taken, seen;
    uint64_t ended, delivering;
    uint64_t accepted, emitted; /* [lock] ordinals: the next one that a producer gets, that the sink gets */
};

int hcy__ring_create(hcy_pipeline *p, size_t window);
void hcy__ring_destroy(struct pipe_ring *ring);
/* [lock] As before the first frame. */
void hcy__ring_begin(struct pipe_ring *ring);

static inline struct pipe_output *hcy__ring_at(struct pipe_ring *ring, uint64_t ordinal)
{
    return &ring->entries[ordinal % ring->window];
}
/* [lock] No more frames are accepted before the ring's front is emitted. */
static inline int hcy__ring_is_full(const struct pipe_ring *ring)
{
    return ring->accepted - ring->emitted >= ring->window;
}
static inline uint64_t hcy__ring_accepted(const struct pipe_ring *ring)
{
    return ring->accepted;
}
/* Of the thread that hands frames out: the one that is next is ready. */
static inline int hcy__front_is_seen(const struct pipe_ring *ring)
{
    return ring->seen != 0;
}
/* [lock, or the thread that hands frames out] */
static inline uint64_t hcy__ring_emitted(const struct pipe_ring *ring)
{
    return ring->emitted;
}
/* [lock] The next ordinal's entry, in a ring that is not full. */
static inline struct pipe_output *hcy__ring_accept(struct pipe_ring *ring)
{
    return hcy__ring_at(ring, ring->accepted++);
}
/* [lock] The entry is the sink's now; wake PIPE_OUTPUT. */
static inline void hcy__output_make_ready(struct pipe_output *output)
{
    output->ready = 1;
}

/* A frame's entry, good so far. */
void hcy__output_begin(struct pipe_output *output, uint64_t number);
/* It has failed, for the reason in hcy_last_error(). */
void hcy__output_fail(struct pipe_output *output, int status);
/* [lock] An idle result, for an entry that has none. */
hcy_azint_result *hcy__ring_take_result(struct pipe_ring *ring);

/* Waits for the ring's front, at most until `tick`: 1 it is there, 0 not yet, -1 it will not come. */
int hcy__front_wait(hcy_pipeline *p, uint64_t tick);
/* The ring's front, which is ready: shown to its taker, taken out of the ring; both around a sink, where several leave
 * the ring together, if they are ready.  settle: those leave that have not yet; a sink's status (hcy_last_error()) ends
 * the run with them. */
void hcy__front_lend(hcy_pipeline *p, hcy_pipeline_frame *frame);
void hcy__front_retire(hcy_pipeline *p);
int hcy__front_deliver(hcy_pipeline *p, hcy_pipeline_sink sink, void *payload);
void hcy__front_settle(hcy_pipeline *p, int status);

#endif
