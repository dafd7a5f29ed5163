/* halcyon/pipeline.h - many frames over many devices: stored chunks in, curves out, in frame order.
 *
 *     readers (threads)  pread chunks into slots and take their block tables apart
 *     slots              a batch of frames each; bounded, so memory does not depend on the number of frames
 *     devices            one thread each pulls filled slots when the device is free: a faster one takes more
 *     output             a bounded ring puts the curves back into frame order; the caller's thread gets them
 *
 * A frame that cannot be read or decoded is reported by its number, the others go on.  A device that fails
 * gives its unfinished frames to the others and is reported; the run fails only when none is left.  Frames of a kind
 * that one device does not take are given to another in the same way, and fail only if no device takes them.  The
 * curves have the same bits for any devices, batch and number of threads (for integer pixels).
 *
 * Two forms: hcy_pipeline_run() pulls frames out of a stack; between hcy_pipeline_start() and
 * hcy_pipeline_finish() a host (a detector's receiver) submits the frames it has in memory.
 *
 * Threads: one hcy_pipeline_run() at a time on one pipeline, another is HCY_EBUSY; hcy_pipeline_cancel() from
 * anywhere, signal handlers included.  Plans and devices are shared between pipelines.  A child of fork gets
 * HCY_EFORK for a pipeline that it inherits.
 *
 * Callbacks (sink, progress, normalization, release) are called without locks, and may take their time: the run waits
 * for them.  They may cancel, look at the statistics, submit while the queue has room (HCY_EBUSY when it has none),
 * and use other pipelines; what would wait for their own pipeline is HCY_ESTATE there (flush, finish, poll; destroy
 * does nothing then), HCY_EBUSY or HCY_EINVAL (run, start).  In threads of the library's, and so in what is called
 * there, all signals are blocked but those that a thread's own instructions raise, and SIGPROF: the host's threads get
 * them.
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
    HCY_PIPELINE_COPY = 2,      /* copy to device memory also where kernels could read the slots directly */
    HCY_PIPELINE_ADD_UP = 4,    /* statistics go on from run to run: those of a stack that grows between them */
    HCY_PIPELINE_MEANS = 8,     /* results have intensity and sigma alone, their other arrays are NULL: less memory
                                   and time, above all for images */
    HCY_PIPELINE_FEW = 16       /* three frames or so will come in all: devices prepare less, each frame takes longer */
};

#define HCY_PIPELINE_MAX_REGIONS 256

/* What a frame's curve is divided by, beside the plan's normalization: the count of a monitor.  Called once for
 * each frame whose sums are there, in any thread, in several at once; `number` is the frame's.  0, or what is
 * not finite, is a frame that fails. */
typedef double (*hcy_pipeline_normalization)(void *payload, uint64_t number);

typedef struct hcy_pipeline_options {
    size_t size;      /* sizeof this struct */
    uint32_t flags;   /* HCY_PIPELINE_* */
    uint32_t readers; /* threads that read, 1 to 64; 0: half of a CPU's threads, or most processors */
    uint32_t batch;   /* frames a launch, at most; 0: what the devices prefer, and of small frames a MiB decoded */
    uint64_t memory;  /* bytes of stored frames in all slots (one frame a slot at least); 0: what holds `batch`
                         where that is given, else 128 MiB, 512 MiB where frames are copied to a device */
    hcy_pipeline_normalization normalization; /* NULL: 1 for all frames */
    void *normalization_payload;
    uint64_t device_timeout; /* ns that a batch may take on a device; one that takes longer is given up, and what it may
                                still write to is never freed.  0: devices are waited for */
    uint64_t latency;        /* ns from a frame's coming to its curve that are aimed at: batches are kept so small that
                                the slowest device at work makes one in a third of it.  0: as large as is fastest */
    const hcy_region *regions; /* [n_regions], HCY_PIPELINE_MAX_REGIONS at most; all is copied */
    size_t n_regions;
    const uint8_t *region_mask; /* [height][width]: where it is not 0 a pixel is in no region; NULL: all are.  The
                                   plan's own mask has no part in regions */
    int64_t region_above;       /* INT64_MAX: none are counted for it */
    /* Sparse frames (NULL: none): where pixels are, [height][width], in the plan's unit; NaN: they are never picked.
     * A pixel is picked if its intensity, less the background that is interpolated between the middles of the bins,
     * is above max(noise, cutoff * sqrt(deviation^2 + noise^2)); a bin without pixels is a background of 0.  The
     * curve of a plan with a filter is the background, before `normalization`, and noise is in its unit.  A frame with
     * more pixels than there is room for fails with HCY_ERANGE. */
    const float *sparse_radius; /* is read when the pipeline is made */
    double sparse_cutoff, sparse_noise; /* pyFAI's cutoff_pick and noise */
    uint64_t sparse_room;               /* pixels of a frame; 0: a 32nd of the image's, 1024 at least */
} hcy_pipeline_options;
#define HCY_PIPELINE_OPTIONS_INIT                                                                             \
    { sizeof(hcy_pipeline_options), 0, 0, 0, 0, NULL, NULL, 0, 0, NULL, 0, NULL, INT64_MAX, NULL, 3, 1, 0 }

/* `devices` are open already; the pipeline keeps references to them and to the plan.  Every device gets its tables,
 * kernels and buffers.  `source` and `opts` (NULL: defaults) are copied. A device that does not take such frames at
 * all (no kernels, pixels of a type that they lack) is left out, as one that was given up: the statistics say why.
 * HCY_EINVAL: no device, a plan of another number of pixels, a region that is none or leaves the image;
 * HCY_EUNSUPPORTED: no device takes them, in the first one's words, or regions of floats; sparse frames of a plan
 * without a filter or with two dimensions;
 * HCY_ENOMEM; what the devices say. */
HCY_API int hcy_pipeline_create(hcy_pipeline **pipeline, hcy_device *const *devices, size_t n_devices,
                                const hcy_azint_plan *plan, const hcy_pipeline_source *source,
                                const hcy_pipeline_options *opts) HCY_MUST_USE;
/* Must not be called while hcy_pipeline_run() is in progress, nor in a callback.  NULL is fine. */
HCY_API void hcy_pipeline_destroy(hcy_pipeline *pipeline);

/* One frame's outcome.  Everything belongs to the pipeline and is valid during the call. */
typedef struct hcy_pipeline_frame {
    uint64_t number;                /* in its stack */
    const hcy_azint_result *result; /* NULL: the frame failed */
    const hcy_frame_report *report; /* its status, and where it is damaged */
    const char *why;                /* why it failed, in words; "" if it did not */
    size_t device;                  /* which of the pipeline's devices made it */
    uint64_t dropped;               /* push form: submitted frames that were dropped just before this one */
    const hcy_region_sums *regions; /* [n_regions]; NULL: the frame failed, or there are none */
    const hcy_sparse *sparse;       /* NULL: the frame failed, or they were not asked for */
} hcy_pipeline_frame;
/* Called in the thread of hcy_pipeline_run(), in frame order, failed frames too.  Anything but 0, HCY_E* or a number of
 * the host's own, ends the run with that status; the words are those of hcy_fail() in the sink, else they name the
 * sink, frame and status. */
typedef int (*hcy_pipeline_sink)(void *payload, const hcy_pipeline_frame *frame);

/* What one device did in a run. */
typedef struct hcy_pipeline_device {
    const char *name;                /* the string that opens it */
    const char *variant;             /* of its kernel: "avx512" */
    int two_stage;                   /* 1: decoded to images first; 0: fused */
    uint64_t frames, batches, bytes; /* bytes as stored */
    double seconds;                  /* in which it had work */
    hcy_error error;                 /* status 0, or why it was given up */
    uint64_t memory;                 /* bytes of its own memory that the pipeline holds, tables included */
    double idle;                     /* seconds of the run in which it had nothing to do */
    int stands_by;                   /* 1: its processors are another device's: it has frames that others leave */
} hcy_pipeline_device;

typedef struct hcy_pipeline_stats {
    uint64_t frames;       /* to be done; push form: submitted, less those dropped */
    uint64_t done, failed; /* frames handed to the sink; those of them that failed */
    uint64_t bytes_stored; /* read so far */
    uint64_t bytes_raw;    /* decoded bytes of the frames done */
    double seconds;        /* since the run began */
    size_t batch;          /* frames a launch, at most */
    size_t n_devices;
    const hcy_pipeline_device *devices;
    /* Push form, else 0: frames dropped; seconds from submission to result, to 2 in 100 (max: exact). */
    uint64_t dropped;
    double latency_p50, latency_p99, latency_max;
    uint64_t in_place;  /* push form: frames that nobody copied on the host */
    const char *copied; /* push form: why no chunks of opts.memory are used where they lie; NULL: they are, or there is
                           no such memory.  Until the next start. */
    /* Where the time went, so far. */
    double waited;     /* seconds in which threads that read, or take submitted frames, found no room; of all threads */
    double delivering; /* seconds in the sink */
    int bound;         /* HCY_PIPELINE_BY_*: what the others mostly waited for */
} hcy_pipeline_stats;

/* What bounds a run. */
enum hcy_pipeline_bound {
    HCY_PIPELINE_BY_READING = 0,   /* reading, or in a push copying, and parsing: devices had room for more */
    HCY_PIPELINE_BY_DEVICES = 1,   /* copies to them, their kernels, or making curves of the sums */
    HCY_PIPELINE_BY_SINK = 2,      /* who takes the curves: writing */
    HCY_PIPELINE_BY_SUBMITTING = 3 /* a push: no more frames came, the queue mostly had room */
};
/* "reading", "devices", "sink", "submitting". */
HCY_API const char *hcy_pipeline_bound_name(int bound);

/* Called in the thread of hcy_pipeline_run() about ten times a second, and at the end. */
typedef void (*hcy_pipeline_progress)(void *payload, const hcy_pipeline_stats *stats);

/* Integrates frames first to last - 1 of a stack.  `progress` may be NULL.  It returns 0 also when frames failed:
 * the statistics count them.  It can be called again, after a failure too; a device that was given up stays so.
 * HCY_ERANGE: no such frames; HCY_EINVAL: a stack coded in another way than the source said; HCY_ECANCELLED; the
 * sink's status; the last device's failure when none is left. */
HCY_API int hcy_pipeline_run(hcy_pipeline *pipeline, hcy_stack *stack, uint64_t first, uint64_t last,
                             hcy_pipeline_sink sink, hcy_pipeline_progress progress,
                             void *payload) HCY_MUST_USE;
/* Ends the run in progress, or the next one, soon: HCY_ECANCELLED.  Async-signal-safe.  NULL is fine. */
HCY_API void hcy_pipeline_cancel(hcy_pipeline *pipeline);

/* The statistics of the last run, or of the one in progress as they were before the last call of `progress`; of a push,
 * as they are now.  Frames are counted once their sink has returned, several at a time where they come fast: in a
 * push's sink `done` lacks the frame at hand and up to 15 before it; it is whole behind hcy_pipeline_flush().  Any
 * thread, in callbacks too, but not beside hcy_pipeline_destroy(): what a thread gets stays as it is until its next
 * call, and goes with the pipeline.  NULL: no pipeline, HCY_ENOMEM or HCY_EFORK. */
HCY_API const hcy_pipeline_stats *hcy_pipeline_get_stats(const hcy_pipeline *pipeline);

/* --- The push form --- */

enum hcy_pipeline_overflow {                               /* when opts.queue frames wait already: */
                             HCY_PIPELINE_WAIT = 0,        /* submit waits, */
                             HCY_PIPELINE_DROP_OLDEST = 1, /* drops the frame that has waited longest, */
                             HCY_PIPELINE_REFUSE = 2       /* or is HCY_EBUSY at once: the host keeps the chunk */
};

/* A submitted chunk goes back to its host, once, unless its submit failed.  status 0: it was read;
 * HCY_ECANCELLED: the frame was dropped, or the push ended before its turn.  Called in any thread, one that
 * submits included.  A push that ends early (its sink's status, a cancellation, no device left) gives all chunks back
 * then, not only at finish: a host may wait for one.  (Without a sink, a poll or a submit sees a cancellation.) */
typedef void (*hcy_pipeline_release)(void *payload, uint64_t number, int status);

typedef struct hcy_pipeline_push_options {
    size_t size;            /* sizeof this struct */
    uint32_t queue;         /* frames that wait for a slot, at most; 0: 64 */
    uint32_t overflow;      /* HCY_PIPELINE_WAIT, HCY_PIPELINE_DROP_OLDEST or HCY_PIPELINE_REFUSE */
    hcy_pipeline_sink sink; /* gets results in a thread of the pipeline's; NULL: they are polled for */
    void *payload;          /* of the sink */
    void *memory;           /* where most chunks will lie (a receiver's ring), or NULL */
    size_t memory_size;     /* its bytes; until finish all of it stays readable, and after that as long as a device that
                               was given up (device_timeout) may still read there: its error is HCY_ETIMEOUT */
} hcy_pipeline_push_options;
#define HCY_PIPELINE_PUSH_OPTIONS_INIT { sizeof(hcy_pipeline_push_options), 0, 0, NULL, NULL, NULL, 0 }

/* Makes ready for submitted frames; `opts` (NULL: defaults) are copied.  Chunks inside opts.memory are not copied by
 * the host where every device reads host memory (HCY_CAP_HOST_MEMORY) or can register it (HCY_CAP_IMPORT_HOST: DMA
 * from where they lie; a ring in HCY_MEM_PINNED memory is as good); chunks that follow one another at distances of
 * whole 64 bytes go in one copy.  Other chunks are copied once, by several threads, and released right after.  From
 * here to finish the pipeline allocates nothing, unless chunks have smaller blocks than the format's default; nor do
 * the HAL's queues, which use their records of commands again.  A batch is what has come while the devices were busy,
 * the pipeline's batch at most.
 * HCY_EINVAL: another push or bad options, as memory without its size; HCY_ENOMEM; what the devices say. */
HCY_API int hcy_pipeline_start(hcy_pipeline *pipeline, const hcy_pipeline_push_options *opts) HCY_MUST_USE;

/* One frame's chunk as stored, any alignment, unchanged until `release` (NULL: until its result came, or finish
 * returns).  `number` is the host's name for it.  Results come in the order of submission: who wants frame order
 * submits in frame order.  No padding is needed; a last chunk in opts.memory is a little faster if
 * HCY_BSLZ4_PADDING bytes of that memory follow it.  Any thread; where there is no sink, in another one than polls, or
 * with HCY_PIPELINE_REFUSE: it would wait for itself.  A damaged chunk is a frame that fails, not a failure of
 * submit; but no format here has a checksum, and damage that leaves a chunk readable is not seen: a host that has one
 * checks it.
 * On failure the chunk stays the host's: HCY_EINVAL: no push, no chunk; HCY_EBUSY: no room, in a callback or with
 * HCY_PIPELINE_REFUSE; HCY_ECANCELLED; the sink's status, or the last device's, if one of these has ended the push;
 * HCY_ESTATE: a finish is at its end, and gives chunks back. */
HCY_API int hcy_pipeline_submit(hcy_pipeline *pipeline, const void *chunk, size_t size, uint64_t number,
                                hcy_pipeline_release release, void *payload) HCY_MUST_USE;

/* The next result, where there is no sink; valid until the next poll or finish.  NULL: none came within
 * timeout_ns (UINT64_MAX: no limit), or nothing that was submitted is left.  One thread at a time. */
HCY_API int hcy_pipeline_poll(const hcy_pipeline_frame **frame, hcy_pipeline *pipeline,
                              uint64_t timeout_ns) HCY_MUST_USE;

/* Waits until the sink has had everything submitted so far. */
HCY_API int hcy_pipeline_flush(hcy_pipeline *pipeline) HCY_MUST_USE;

/* Flushes, where there is a sink (results nobody polled for are lost), and ends the push: all chunks are back
 * when it returns.  Not while others submit; another thread's poll, flush or finish hears HCY_ESTATE.  The status is
 * what ended the push early, or 0; either way it has ended. */
HCY_API int hcy_pipeline_finish(hcy_pipeline *pipeline) HCY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
