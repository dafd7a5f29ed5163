/* h5_detector.h - what the readers of detectors in HDF5 share.  The lock of h5.h is held. */
#ifndef HCY_STACK_H5_DETECTOR_H
#define HCY_STACK_H5_DETECTOR_H

#include "h5_read.h"

/* Metres of a unit of length; 0: none is called so. */
double hcy__h5_metres(const char *unit);
/* The group of class NXdetector that the frames `dataset` ("": any) are of; "": there is none.  A negative status where
 * the file, `name` in messages, cannot be gone through; HCY_EINVAL: several entries have one. */
int hcy__h5_detector_find(char path[512], int *is_pyfai, hid_t file, const char *dataset, const char *name);
/* Is there such a path, whether or not its last link leads anywhere?  (H5Lexists fails where a group is missing.) */
int hcy__h5_has(hid_t at, const char *path);
/* The text of a scalar dataset; -1: there is none. */
int hcy__h5_text_of(char *text, size_t size, hid_t group, const char *name);
/* The axes of the NXdetector group at `path`, into info's frame or frame_problem; nothing, where it has none. */
void hcy__h5_axes_read(hcy_detector_info *info, hid_t file, const char *path);

#endif
