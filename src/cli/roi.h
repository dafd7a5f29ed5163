/* roi.h - halcyon sum --roi: sums over regions of interest, frame by frame. */
#ifndef HCY_CLI_ROI_H
#define HCY_CLI_ROI_H

#include "frames.h"

enum { ROI_MOST = 64, ROI_VALUES = 4 };

struct roi {
    uint32_t x0, y0, x1, y1; /* columns x0 to x1 - 1, rows y0 to y1 - 1 */
};

/* "X0,Y0,X1,Y1", several parted by commas, from the command line: how many, 0 after a message. */
size_t roi_parse(struct roi *rois, const char *text);
/* Runs over the frames of `f`, which is open, and writes `path`. */
int roi_run(struct frames *f, const struct roi *rois, size_t n, const char *path);

#endif
