/* halcyon/pipeline.h - many frames over many devices: stored chunks in, curves out, in frame order.
 *
 *     readers (threads)  pread chunks into slots and take their block tables apart
 *     slots              a batch of frames each; bounded, so memory does not depend on the number of frames
 *     devices            one thread each pulls filled slots when the device is free: a faster one takes more
 *     output             a bounded ring puts the curves back into frame order; the caller's thread gets them
 *
 * A frame that cannot be read or decoded is reported by its number, the others go on.  A device that fails
 * gives its unfinished frames to the others and is reported; the run fails only when none is left.  The
 * curves have the same bits for any devices, batch and number of threads (for integer pixels).
 *
 * Threads: one hcy_pipeline_run() at a time on one pipeline; hcy_pipeline_cancel() from anywhere, signal
 * handlers included.  Plans and devices are shared between pipelines.
 */
#ifndef HALCYON_PIPELINE_H
#define HALCYON_PIPELINE_H

#include <halcyon/azint.h>
#include <halcyon/bslz4.h>
#include <halcyon/stack.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hcy_pipeline hcy_pipeline;

/* What the frames have in common. */
typedef struct hcy_pipeline_source {
    hcy_bslz4_job coding; /* how they are stored */
    uint32_t pixel_type;  /* HCY_PIXEL_* */
    uint64_t max_chunk;   /* bytes of the largest one as stored; 0: not known, the worst case is assumed */
} hcy_pipeline_source;
HCY_API hcy_pipeline_source hcy_pipeline_source_of(const hcy_stack_info *info);

enum hcy_pipeline_flag {
    HCY_PIPELINE_TWO_STAGE = 1, /* decode, then integrate, also where a device could do both at once */
    HCY_PIPELINE_COPY = 2       /* copy to device memory also where kernels could read the slots directly */
};

typedef struct hcy_pipeline_opts {
    size_t size;      /* sizeof this struct */
    uint32_t flags;   /* HCY_PIPELINE_* */
    uint32_t readers; /* threads that read, 1 to 64; 0: one for two processors of this process */
    uint32_t batch;   /* frames a launch, at most; 0: what the devices prefer */
    uint64_t memory;  /* bytes of stored frames in all slots (one frame a slot at least); 0: 128 MiB */
} hcy_pipeline_opts;
#define HCY_PIPELINE_OPTS_INIT { sizeof(hcy_pipeline_opts), 0, 0, 0, 0 }

/* Opens nothing: `devices` are open, and kept; so is the plan.  Every device gets its tables, kernels and
 * buffers.  `source` and `opts` (NULL: defaults) are copied.
 * HCY_EINVAL: no device, a plan of another number of pixels; HCY_EUNSUPPORTED: a device has neither the fused
 * kernel nor the two of the two-stage way; HCY_ENOMEM; what the devices say. */
HCY_API int hcy_pipeline_create(hcy_pipeline **pipeline, hcy_device *const *devices, size_t n_devices,
                                const hcy_azint_plan *plan, const hcy_pipeline_source *source,
                                const hcy_pipeline_opts *opts) HCY_MUST_USE;
/* Not while hcy_pipeline_run() is in progress.  NULL is fine. */
HCY_API void hcy_pipeline_destroy(hcy_pipeline *pipeline);

/* One frame's outcome.  Everything belongs to the pipeline and is valid during the call. */
typedef struct hcy_pipeline_frame {
    uint64_t number;                /* in its stack */
    const hcy_azint_result *result; /* NULL: the frame failed */
    const hcy_frame_report *report; /* its status, and where it is damaged */
    const char *why;                /* why it failed, in words; "" if it did not */
    size_t device;                  /* which of the pipeline's devices made it */
} hcy_pipeline_frame;
/* Called in the thread of hcy_pipeline_run(), in frame order, failed frames too.  Anything but 0 ends the run
 * with that status. */
typedef int (*hcy_pipeline_sink)(void *payload, const hcy_pipeline_frame *frame);

/* What one device did in a run. */
typedef struct hcy_pipeline_device {
    const char *name;                /* the string that opens it */
    const char *variant;             /* of its kernel: "avx512" */
    int two_stage;                   /* 1: decoded to images first; 0: fused */
    uint64_t frames, batches, bytes; /* bytes as stored */
    double seconds;                  /* in which it had work */
    hcy_error error;                 /* status 0, or why it was given up */
} hcy_pipeline_device;

typedef struct hcy_pipeline_stats {
    uint64_t frames;       /* to be done */
    uint64_t done, failed; /* frames handed to the sink; those of them that failed */
    uint64_t bytes_stored; /* read so far */
    uint64_t bytes_raw;    /* decoded bytes of the frames done */
    double seconds;        /* since the run began */
    size_t batch;          /* frames a launch, at most */
    size_t n_devices;
    const hcy_pipeline_device *devices;
} hcy_pipeline_stats;
/* Called in the thread of hcy_pipeline_run() about ten times a second, and at the end. */
typedef void (*hcy_pipeline_progress)(void *payload, const hcy_pipeline_stats *stats);

/* Integrates frames first to last - 1 of a stack.  `progress` may be NULL.  0 also when frames failed: see
 * the stats.  It can be called again, after a failure too; a device that was given up stays so.
 * HCY_ERANGE: no such frames; HCY_EINVAL: a stack coded in another way than the source said; HCY_ECANCELLED;
 * the sink's status; the last device's failure when none is left. */
HCY_API int hcy_pipeline_run(hcy_pipeline *pipeline, hcy_stack *stack, uint64_t first, uint64_t last,
                             hcy_pipeline_sink sink, hcy_pipeline_progress progress,
                             void *payload) HCY_MUST_USE;
/* Ends the run in progress, or the next one, soon: HCY_ECANCELLED.  Async-signal-safe. */
HCY_API void hcy_pipeline_cancel(hcy_pipeline *pipeline);

/* Of the last run, or the one in progress (from the thread that runs it).  Belongs to the pipeline. */
HCY_API const hcy_pipeline_stats *hcy_pipeline_get_stats(const hcy_pipeline *pipeline);

#ifdef __cplusplus
}
#endif
#endif
