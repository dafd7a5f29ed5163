/* stage.h - the stages of a frame's way, each alone: what `halcyon bench` and `halcyon compare` measure.
 * Single-threaded; all return 0 or HCY_E*. */
#ifndef CLI_STAGE_H
#define CLI_STAGE_H

#include <halcyon/pipeline.h>

/* Frames of a stack, read before anything is timed. */
struct stage_frames {
    /* What the caller sets, and keeps. */
    hcy_stack *stack;
    const hcy_stack_info *info;
    hcy_pipeline_source source;
    const hcy_azint_plan *plan;
    hcy_azint_job job;
    size_t n, n_bins; /* the stack's first n frames */
    size_t batch;     /* frames a launch; 0: the device's wish */
    int64_t rounds;   /* of which the best counts */
    /* What stage_load() makes. */
    uint8_t *chunks; /* all frames' chunks, as a batch's buffer */
    size_t chunk_bytes;
    size_t *sizes;
    hcy_bslz4_frame *frames;
    hcy_bslz4_block *blocks;
    size_t n_blocks, room;
};

/* Reads and parses the frames; seconds of each, for all of them in one thread.  stage_unload() in any case. */
int stage_load(double *read, double *parse, struct stage_frames *frames);
void stage_unload(struct stage_frames *frames);
/* Seconds of a kernel ("bslz4_decode", "azint_image", "bslz4_azint") for all frames, and the frames of a launch.
 * HCY_EUNSUPPORTED: the device has none of it. */
int stage_kernel(double *seconds, size_t *batch, const struct stage_frames *frames, hcy_device *device,
                 const char *name);
/* Seconds of one frame's division, from sums to a curve, in one thread of the host; `device` makes the sums. */
int stage_divide(double *seconds, const struct stage_frames *frames, hcy_device *device);

#endif
