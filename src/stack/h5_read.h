/* h5_read.h - small reads of HDF5 files: text attributes, numbers as doubles.  All functions expect the lock
 * of h5.h to be held. */
#ifndef HCY_STACK_H5_READ_H
#define HCY_STACK_H5_READ_H

#include "h5.h"

#define H5_MOST_PACKED 1100 /* deflate packs a thousand bytes into one, not more */

/* Opens an HDF5 file for reading: *file, or HCY_ENOENT, HCY_EIO, HCY_EFORMAT (it is none). */
int hcy__h5_open_file(hid_t *file, const char *path);
/* Is there an HDF5 file?  HDF5 would wait for who writes to a pipe. */
int hcy__h5_is(const char *path);
/* The text in an attribute, of fixed or variable length, cut to size - 1 bytes; 0: there is none. */
int hcy__h5_get_text(char *text, size_t size, hid_t object, const char *name);
/* A scalar text of variable length, likewise; "" if there is none. */
void hcy__h5_get_field(char *text, size_t size, hid_t file, const char *name);
/* Opens a dataset of numbers and says how large it is; < 0: it is not there, is not numbers, or has more
 * dimensions. */
hid_t hcy__h5_open_numbers(hid_t group, const char *name, int *rank, hsize_t dims[4]);
/* All of a dataset of one dimension (or of one value) as doubles, freed by the caller.  `path` is for
 * messages. */
int hcy__h5_get_doubles(double **values, size_t *n, hid_t group, const char *name, const char *path);

#endif
