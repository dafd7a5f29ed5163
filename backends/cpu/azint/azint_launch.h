/* azint_launch.h - what azint_launch.c finds out of a launch for pass.c, which runs it. */
#ifndef CPU_AZINT_LAUNCH_H
#define CPU_AZINT_LAUNCH_H

#include "arguments.h"
#include "cpu_filter.h"
#include "cpu_regions.h"

/* One of the kernels, and where its arguments stand; of azint_image there are no chunks, of the others no images. */
struct azint_kernel {
    bool coded, deviation, regions;
    size_t images, chunks, frames, blocks, coding;
    size_t plan, job, sums, reports, scratch;
    size_t table, region_job, found; /* with regions */
};

struct azint_launch {
    const struct cpu_call *call;
    const struct azint_plan *plan;
    const hcy_azint_job *job;
    const hcy_bslz4_job *coding; /* NULL: images */
    const struct azint_type *type;
    const struct azint_ops *ops;
    bool deviation; /* bslz4_azint_deviation */
    struct azint_regions regions;
    size_t image_bytes;
};

/* Offsets in the scratch buffer. */
struct azint_layout {
    unsigned frames, workers; /* of a pass */
    size_t n_images;          /* decoded at once */
    size_t spaces, space_size, images, lost, lost_any, plain, lost24, total;
    size_t planes, pixels, masked, rows, vrows, x, v, weights, sums, bits, outliers,
        touched, tallies; /* of a worker, from its start */
};

static inline size_t azint_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Fills `launch` from the call's arguments; HCY_EINVAL, HCY_ERANGE, of bslz4_azint_deviation also HCY_EUNSUPPORTED. */
int azint_launch_open(struct azint_launch *launch, const struct cpu_call *call, const struct azint_kernel *kernel);
/* The lanes that a pass of so many frames takes, and how many numbers a bin then has. */
const struct azint_tiles *azint_tiles_for(const struct azint_launch *launch, size_t n_frames);
size_t azint_stride_of(const struct azint_launch *launch, size_t n_frames);
/* As many frames a pass, then as many workers, as the sums of one digit fit the budgets. */
void azint_choose_pass(const struct azint_launch *launch, size_t items, struct azint_layout *layout);
/* That, and all places. */
void azint_lay_out(const struct azint_launch *launch, size_t items, struct azint_layout *layout);

#endif
