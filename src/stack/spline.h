/* spline.h - FIT2D's files of spatial distortion, as what a detector's file says. */
#ifndef HCY_STACK_SPLINE_H
#define HCY_STACK_SPLINE_H

#include <halcyon/stack.h>

/* Whether the file behind the descriptor is one, by its name or by its first line. */
int hcy__is_spline(int fd, const char *path);
/* Fills a zeroed info, to be freed also after a failure: shape, pixels, corners, and as its mask the pixels that are
 * placed outside the valid region.  HCY_EFORMAT, with the line; HCY_EIO, HCY_ENOMEM. */
int hcy__spline_read(hcy_detector_info *info, int fd, const char *path);

#endif
