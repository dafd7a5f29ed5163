/* h5_mrd.h - ISMRMRD's HDF5 files: raw acquisitions read as arrays, arrays written as images.
 *
 * The layout is that of ISMRMRD's library (libsrc/dataset.c, include/ismrmrd/ismrmrd.h of github.com/ismrmrd/ismrmrd):
 * acquisitions are a list of { head, traj, data } at /dataset/data, an image series is a group of header, data and
 * attributes.  The lock of h5.h is held by the caller.
 */
#ifndef HCY_STACK_H5_MRD_H
#define HCY_STACK_H5_MRD_H

#include "h5.h"
#include <halcyon/host_array.h>
#include <stdbool.h>

#define HCY__MRD_RAW "/dataset/data"

enum hcy__mrd_member { HCY__MRD_DATA, HCY__MRD_TRAJ };
/* The dataset in "/dataset/data/traj", and which of its members that is; negative: there is none. */
hid_t hcy__mrd_open_member(enum hcy__mrd_member *member, hid_t file, const char *name);
int hcy__mrd_is_raw(hid_t dataset);
/* Samples as complex floats [channels][acquisitions][samples], or coordinates as floats
 * [acquisitions][samples][dimensions], of all that are for the image, on a grid in cycles; HCY_EFORMAT: they are not
 * all alike; HCY_ECORRUPT. */
int hcy__mrd_read(hcy_host_array *array, hid_t dataset, enum hcy__mrd_member member, const char *path);

/* The grid of acquisitions without a trajectory, x first (h5_mrd_grid.c). */
struct hcy__mrd_grid {
    unsigned sizes[3];     /* the encoded matrix */
    unsigned middle[2];    /* which encoding step, of 1 and 2, is frequency 0 */
    unsigned samples, pre; /* of an acquisition; those to be discarded in front: the reader's */
};
/* Whether lines for calibration are samples of the image, too: the header says that they are of the same scan. */
bool hcy__mrd_calibrates_image(hid_t dataset);
/* One's line in it, and the image that it is of: slice, contrast, phase, set. */
struct hcy__mrd_line {
    uint16_t centre, step[2], image[4];
};
/* HCY_ENOENT: the file does not say it. */
int hcy__mrd_find_grid(struct hcy__mrd_grid *grid, hid_t dataset, const char *path);
/* Coordinates in cycles, x first, of as many lines as the array [lines][samples][2 or 3] has; HCY_EFORMAT: lines of
 * several images, or outside the grid. */
int hcy__mrd_fill_grid(hcy_host_array *array, const struct hcy__mrd_grid *grid, const struct hcy__mrd_line *lines,
                       const char *path);

/* HCY_EINVAL, HCY_ERANGE: no array of ISMRMRD's, [[[[images][channels]][z]][y]][x]. */
int hcy__mrd_check_image(const hcy_host_array *array, const char *path);
/* Such an array as the series `name`, a whole path; 0, or -1 with HDF5's words. */
int hcy__mrd_put_image(const hcy_host_array *array, hid_t file, const char *name);

/* The type of an array's numbers, to be closed; how the parts of complex ones are called (host_array_h5.c). */
enum { HCY__H5_COMPLEX_OURS, HCY__H5_COMPLEX_MRD, HCY__H5_COMPLEX_STYLES };
hid_t hcy__h5_array_type(const hcy_host_array *array, int style);

#endif
