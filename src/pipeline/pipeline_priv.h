/* pipeline_priv.h - the pipeline: what it was made for, and its parts, each of which has one owner.
 *
 *     part      what                                                 header     owner's files
 *     control   the lock, who waits for what, stop and status        control.h  control.c
 *     reader    which frames of a stack are next, who reads them     reader.h   reader.c
 *     slots     batches of frames on their way to the devices        slot.h     slot.c
 *     workers   the devices, a thread each; batches in flight        worker.h   worker.c share.c divide.c lane.c
 *                                                                               launch.c outcome.c
 *     ring      frames that wait for their turn                      output.h   output.c
 *     push      frames that a host submits                           push.h     push.c
 *     stats     what the run has done so far                         stats.h    stats.c latency.c
 *
 * A part's members are touched in its owner's files and its header alone; other files call the functions in the header
 * (tests/laws.t looks).  Each header states its lock rules; there is one lock, the control's.  pipeline.c makes and
 * destroys a pipeline, regions.c and sparse.c take the regions and sparse frames that it is asked for, pull.c runs one
 * over a stack and begins and ends runs of both forms, callback.c stands around the host's callbacks.
 *
 * A frame's way: a producer (a thread that reads a stack, reader.c, or takes submitted chunks, push.c) reserves a place
 * for the next ordinal, fills it without the lock, and commits it; the slot's worker makes its curve; the ring's front
 * goes to the sink.  What producers may run ahead of the sink is bounded twice: by the slots, and by the ring.
 * Nothing is allocated between the first frame and the last but the lists of sparse frames, unless chunks have more
 * blocks than the first ones had.
 */
#ifndef HCY_PIPELINE_PRIV_H
#define HCY_PIPELINE_PRIV_H

#include <halcyon/pipeline.h>

#include "callback.h"
#include "control.h"
#include "output.h"
#include "push.h"
#include "reader.h"
#include "slot.h"
#include "stats.h"
#include "worker.h"

struct hcy_pipeline {
    /* What it was made for: set by pipeline.c before the first run, then read by all without the lock. */
    const hcy_azint_plan *plan;
    hcy_pipeline_source source;
    hcy_pipeline_options opts;
    hcy_azint_job job;
    int filtered; /* frames go through azint_filter: */
    hcy_azint_filter filter;
    const char *fused; /* the kernel that takes chunks to sums at once, or NULL: there is none of this kind */
    hcy_azint_region_job region_job; /* n_regions 0: there are none */
    hcy_azint_pick_job pick_job;     /* capacity 0: there are no sparse frames */
    struct pipe_beside beside[PIPE_BESIDE];
    size_t batch, capacity, sums_bytes; /* frames a slot, bytes of its chunks, bytes of one frame's sums */
    size_t n_bins;

    struct pipe_control control;
    struct pipe_reader reader;
    struct pipe_slots slots;
    struct pipe_workers workers;
    struct pipe_ring ring;
    struct pipe_push *push; /* [lock] NULL: frames come from the reader's stack */
    struct pipe_stats stats;
};

/* Of a frame, in all. */
static inline size_t hcy__found_bytes(const hcy_pipeline *p)
{
    return p->beside[PIPE_REGIONS].found + p->beside[PIPE_PICK].found;
}

/* regions.c: the table of options' regions, and their number, to the pipeline; and a frame's as the host sees it. */
int hcy__regions_create(hcy_pipeline *p, size_t height, size_t width);
void hcy__regions_finish(hcy_region_sums *sums, const hcy_pipeline *p, const uint64_t *found);
/* sparse.c: the same of sparse frames.  finish allocates; a status, after a message.  free: also nothing. */
int hcy__sparse_create(hcy_pipeline *p, const hcy_azint_plan_info *info);
int hcy__sparse_finish(hcy_sparse *sparse, const hcy_pipeline *p, const uint64_t *found);
void hcy__sparse_free(hcy_sparse *sparse);

/* What a run is made of (pull.c).  claim, and hcy__control_give_up(): one run at a time.  begin: everything is as it
 * was before the first frame, from a stack or a push; fails if no device is left from earlier runs.  end: after
 * hcy__halt(), when its producers are joined; nothing of the run is left in slots or on devices. */
int hcy__run_claim(hcy_pipeline *p);
int hcy__run_begin(hcy_pipeline *p, struct pipe_push *push, hcy_stack *stack, uint64_t first, uint64_t last);
void hcy__run_end(hcy_pipeline *p);

#endif
