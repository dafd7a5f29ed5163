/* h5.h - the one door to HDF5: its lock, its errors as statuses, what a dataset is.
 *
 * HDF5 is not thread-safe (a thread-safe build serialises by itself, but its error settings are still
 * shared), so every HDF5 call in Halcyon stands between hcy__h5_lock() and hcy__h5_unlock().  The lock is not
 * recursive: public functions take it, helpers expect it to be held (hcy__h5_words and all below).  Between
 * the two HDF5 prints nothing.
 */
#ifndef HCY_STACK_H5_H
#define HCY_STACK_H5_H

#include "stack_priv.h"
#include <hdf5.h>

void hcy__h5_lock(void);
void hcy__h5_unlock(void);

/* HDF5's own words for the failure that just happened; static, valid until the lock is given back. */
const char *hcy__h5_words(void);
#define hcy__h5_fail(status, ...) hcy_fail_vendor(status, 0, hcy__h5_words(), __VA_ARGS__)

/* Of reads that failed since the lock was taken: HDF5 tells them from nothing else, and much that a file may lack is
 * only looked for.  The first is noted by its errno; then a status of the file `path`, 0 as well, becomes HCY_EIO. */
void hcy__h5_note_failure(int number);
int hcy__h5_judge(int status, const char *path);

/* What a dataset is, as far as images go. */
typedef struct hcy__h5_shape {
    int rank;                /* of the dataset */
    hsize_t dims[3];         /* frames, height, width: 1 frame for rank 2; height and width 0: no image */
    hsize_t channels;        /* the second of four dimensions, else 1 */
    const hcy__pixel *pixel; /* NULL: no number, or of a size that no pixel has */
    int overgrown;           /* a dimension is larger than the dataset may ever become: the file is damaged */
    int little_endian;       /* 1 also for single bytes */
    char type[48];           /* what it is, in words: "uint32", "a string", "big-endian float32" */
} hcy__h5_shape;
/* 0, or -1 with HDF5's words. */
int hcy__h5_describe(hcy__h5_shape *shape, hid_t dataset);
/* Is it an image, or a stack of images? */
int hcy__h5_is_stack(const hcy__h5_shape *shape);
/* A number that an object of a file has alone: its address.  0, or -1. */
int hcy__h5_address(uint64_t *address, hid_t object);
/* HDF5's type for pixels of this kind in little-endian memory; not to be closed. */
hid_t hcy__h5_pixel_type(const hcy__pixel *pixel);

/* A list of names; hcy__h5_names_free() frees it. */
typedef struct hcy__h5_names {
    char **at;
    size_t n;
} hcy__h5_names;
int hcy__h5_names_add(hcy__h5_names *names, const char *name);
void hcy__h5_names_free(hcy__h5_names *names);
/* The datasets that make up the stack: its `wanted` (a dataset, or a group to look in), or, NULL, what the file
 * offers (hcy_stack_open() says how it is chosen), of the channel asked for. */
int hcy__h5_find(hcy__h5_names *names, hid_t file, hcy_stack *stack);
/* The channel asked for of a dataset with `channels` of them: its number, from 0, and info's; HCY_EINVAL. */
int hcy__h5_channel(hsize_t *channel, hcy_stack *stack, hid_t file, const char *name, hsize_t channels);

#endif
