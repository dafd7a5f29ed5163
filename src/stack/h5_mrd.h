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

enum hcy__mrd_member {
    HCY__MRD_DATA,
    HCY__MRD_TRAJ,
    HCY__MRD_NOISE,
    HCY__MRD_COUNTED,
    HCY__MRD_SPACE,
    HCY__MRD_DWELL,
    HCY__MRD_AXES,
    HCY__MRD_NAVIGATED,
    HCY__MRD_PLACES,
    HCY__MRD_STAMPED,
    HCY__MRD_MEMBERS
};
/* The dataset in "/dataset/data/traj", and which of its members that is; negative: there is none. */
hid_t hcy__mrd_open_member(enum hcy__mrd_member *member, hid_t file, const char *name);
int hcy__mrd_is_raw(hid_t dataset);
/* Of all acquisitions that are for the image, of its encoding: samples as complex floats
 * [channels][acquisitions][samples]; coordinates as floats [acquisitions][samples][dimensions], on a grid in cycles; as
 * floats what they are counted by, [acquisitions][HCY__MRD_COUNTERS].  The samples of those of noise.  What the header
 * says of the encoding (hcy__mrd_fill_space).  Doubles [3]: a sample's time in us, of the image's acquisitions and of
 * those of noise, and the header's relativeReceiverNoiseBandwidth; 0 is not said.  A double [1]: how many coordinates
 * the file has of a sample, 0 on a grid.  Doubles [acquisitions][2]: what EPI's navigators say of each (h5_mrd_epi.c);
 * HCY_ENOENT: there are none.  Floats [acquisitions][5][3]: position, read_dir, phase_dir, slice_dir and
 * patient_table_position of each.  Doubles [acquisitions][4]: acquisition_time_stamp and the three of
 * physiology_time_stamp of each, 0 where it has none.  HCY_EFORMAT: they are not all alike, or there are none;
 * HCY_ECORRUPT. */
int hcy__mrd_read(hcy_host_array *array, hid_t dataset, enum hcy__mrd_member member, const char *path);

/* --- The file's header (h5_mrd_grid.c) --- */

/* The text beside the acquisitions, of one encoding alone; to be freed; NULL: no memory or no name, and empty: no
 * text or no such encoding. */
char *hcy__mrd_read_header(hid_t dataset, unsigned encoding);
/* Whether lines for calibration are samples of the image, too: the header says that they are of the same scan. */
bool hcy__mrd_calibrates_image(const char *header);
/* Of a header with what is in front of its encodings; 0: it does not say it. */
double hcy__mrd_noise_bandwidth(const char *header);
/* Doubles [2][2][3]: of the encoded and of the reconstructed space the matrix and the field of view in mm, x first; 0
 * is not said.  HCY_ENOENT: no matrix is. */
int hcy__mrd_fill_space(hcy_host_array *array, const char *header, const char *path);

/* The grid of acquisitions without a trajectory, x first. */
struct hcy__mrd_grid {
    unsigned sizes[3];     /* the encoded matrix */
    unsigned middle[2];    /* which encoding step, of 1 and 2, is frequency 0 */
    unsigned samples, pre; /* of an acquisition; those to be discarded in front: the reader's */
    bool is_epi;
    double dwell, up, flat, down; /* EPI: of a sample, the gradient's ramps and top, us; dwell 0: it is constant; */
    double delay;                 /* and from the ramp's start to the first sample; 0: the centre's is in the middle */
};
/* One's line in it, and what it is counted by: steps 1 and 2, average, slice, contrast, phase, repetition, set,
 * segment. */
enum {
    HCY__MRD_COUNTERS = 9,
    HCY__MRD_SLICE = 3,
    HCY__MRD_CONTRAST,
    HCY__MRD_REPETITION = 6,
    HCY__MRD_SET,
    HCY__MRD_SEGMENT
};
struct hcy__mrd_line {
    uint16_t centre, counters[HCY__MRD_COUNTERS];
    bool is_reversed; /* its first sample is at the end of the line */
    uint64_t row;     /* in the list */
};
/* HCY_ENOENT: the file does not say it; HCY_EFORMAT: it says of EPI's gradient what cannot be. */
int hcy__mrd_find_grid(struct hcy__mrd_grid *grid, const char *header, const char *path);
/* Coordinates in cycles, x first, of as many lines as the array [lines][samples][2 or 3] has; HCY_EFORMAT: lines
 * outside the grid. */
int hcy__mrd_fill_grid(hcy_host_array *array, const struct hcy__mrd_grid *grid, const struct hcy__mrd_line *lines,
                       const char *path);

/* The x of a sample, which is counted with those to be discarded. */
double hcy__mrd_place_of(const struct hcy__mrd_grid *grid, const struct hcy__mrd_line *line, unsigned sample);

/* --- EPI's navigators (h5_mrd_epi.c) --- */

/* What they say of a line: how far along x it is from its coordinates, in cycles, and its phase. */
struct hcy__mrd_ghost {
    double shift, phase;
};
/* Those of one excitation, whose lines are in the order of time. */
enum { HCY__MRD_SHOT_KEYS = 4 };
struct hcy__mrd_shot {
    struct hcy__mrd_line first;
    struct hcy__mrd_ghost reversed, forward; /* NAN: they say nothing */
    bool is_one_segment;                     /* all are of the first one's */
    unsigned keys[HCY__MRD_SHOT_KEYS];       /* hcy__mrd_sort_shots's */
};
struct hcy__mrd_echoes;
/* Room for the echoes of an excitation; its next one, complex samples [channels][samples] of which `pre` and `post` are
 * left out; what all of them say, after which another excitation may follow.  NULL: no memory. */
struct hcy__mrd_echoes *hcy__mrd_begin_echoes(const struct hcy__mrd_grid *grid, unsigned channels);
void hcy__mrd_add_echo(struct hcy__mrd_echoes *echoes, const struct hcy__mrd_line *line, const float *samples,
                       unsigned pre, unsigned post);
void hcy__mrd_end_shot(struct hcy__mrd_shot *shot, struct hcy__mrd_echoes *echoes);
void hcy__mrd_free_echoes(struct hcy__mrd_echoes *echoes);
/* Whether navigators follow others in one excitation: no line of the image is between, and they are of one image. */
bool hcy__mrd_is_one_shot(const struct hcy__mrd_line *navigator, const struct hcy__mrd_line *before,
                          const struct hcy__mrd_line *lines, uint64_t n_lines);
/* Whose navigators a line takes: those of its image (slice, contrast, set); else, as echoes of one excitation may have
 * them in common, those of its slice, set, repetition and segment; else those of its slice and set. */
enum hcy__mrd_kin { HCY__MRD_OF_IMAGE, HCY__MRD_OF_SHOT, HCY__MRD_OF_SLICE, HCY__MRD_KINS };
/* Sorts them such that those of a line are found: the last ones in front of it, or else the first ones behind; NULL:
 * there are none. */
void hcy__mrd_sort_shots(struct hcy__mrd_shot *shots, uint64_t n, enum hcy__mrd_kin kin);
const struct hcy__mrd_shot *hcy__mrd_find_shot(const struct hcy__mrd_shot *shots, uint64_t n, enum hcy__mrd_kin kin,
                                               const struct hcy__mrd_line *line);

/* --- Images (h5_mrd_image.c) --- */

/* HCY_EINVAL, HCY_ERANGE: no array of ISMRMRD's, [[[[images][channels]][z]][y]][x], or no counters of such. */
int hcy__mrd_check_image(const hcy_host_array *array, const char *path);
/* Such an array as the series `name`, a whole path, whose number is N where it ends with image_N, else 0; 0, or -1 with
 * HDF5's words. */
int hcy__mrd_put_image(const hcy_host_array *array, hid_t file, const char *name);

/* The type of an array's numbers, to be closed; how the parts of complex ones are called (host_array_h5.c). */
enum { HCY__H5_COMPLEX_OURS, HCY__H5_COMPLEX_MRD, HCY__H5_COMPLEX_STYLES };
hid_t hcy__h5_array_type(const hcy_host_array *array, int style);

#endif
