/* publish.h - curves as a stream: one message a frame, over a ZeroMQ socket that publishes (PUB).
 *
 * A message, all numbers little-endian; halcyon(1) has the same:
 *
 *     0   8 bytes  "HCYCURV1"
 *     8   u32      bytes before the arrays: 64, and more where the units' names do not fit
 *    12   u32      flags: 1 it has sigma; 2 the frame failed, and there is nothing behind the axes
 *    16   u64      the series' number
 *    24   u64      the frame's number in it
 *    32   u32      bins in radius, n
 *    36   u32      bins in azimuth, m; 0: a curve
 *    40            the unit of the radius, "q_nm^-1", and with m > 0 that of azimuth, "chi_deg" (degrees) or another, a 0
 *                  behind each; filled up with 0 to where the arrays begin
 *    64   f64      radius[n], azimuth[m], intensity[n] or [m][n], sigma likewise
 *
 * Whoever connects late gets the frames from then on, and needs nothing from before.  Single-threaded. */
#ifndef HCY_CLI_PUBLISH_H
#define HCY_CLI_PUBLISH_H

#include "wire.h"
#include <halcyon/pipeline.h>

struct publish {
    struct wire *wire; /* the caller's */
    uint8_t *bytes;    /* of a message; its head and axes are those of all */
    size_t room, axes; /* where intensities begin */
    size_t n_bins;
    int with_sigma;
};

/* For the curves of one series; publish->wire is set.  CLI_*. */
int publish_begin(struct publish *publish, const hcy_azint_plan *plan, uint64_t series);
/* 0, or -1 after a message. */
int publish_frame(struct publish *publish, const hcy_pipeline_frame *frame);
void publish_end(struct publish *publish);

#endif
