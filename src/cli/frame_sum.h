/* frame_sum.h - a frame of a stack, or the sum of several, and which of its pixels are none.  Threads of frames_run()
 * add to it, under its lock; all else is single-threaded. */
#ifndef HCY_CLI_FRAME_SUM_H
#define HCY_CLI_FRAME_SUM_H

#include "frames.h"
#include <halcyon/azint.h>
#include <halcyon/pipeline.h>

struct frame_sum {
    /* The sum of n = height * width pixels, and 1 where a pixel is invalid in one of the frames or by a mask. */
    double *values;
    uint8_t *bad;
    uint64_t frames; /* that are in the sum */
    /* The run's own. */
    const hcy_stack_info *info;
    hcy_azint_job job; /* the values that are invalid */
    size_t n;
    pthread_mutex_t lock; /* of the arrays and of frames */
};

/* Masks of a sum: a file or NULL, and not the one that the frames' own file has. */
struct frame_masks {
    const char *file;
    int no_file_mask;
};

/* Adds the frames of an open stack; those that are damaged were reported, and are left out.  A pixel is invalid as an
 * integration with its defaults has it; poni NULL: no detector is known.  CLI_OK: at least one frame is in the sum, and
 * the run came to its end.
 * frame_sum_free() in any case. */
int frame_sum_make(struct frame_sum *sum, struct frames *frames, const hcy_poni *poni, const struct frame_masks *masks);
void frame_sum_free(struct frame_sum *sum);

#endif
