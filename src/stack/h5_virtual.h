/* h5_virtual.h - virtual datasets: which of their sources are there.  The lock of h5.h is held by the caller.
 *
 * HDF5 reads what a missing source should have given as the fill value and says nothing, and it follows mappings that
 * lead back to where they began until its stack is used up.  So whoever reads a dataset asks here first.
 */
#ifndef HCY_STACK_H5_VIRTUAL_H
#define HCY_STACK_H5_VIRTUAL_H

#include "h5.h"

/* Of every frame (of a dataset of less than three dimensions: of its one) what keeps it from being read. */
typedef struct hcy__h5_sources {
    uint32_t *why; /* 0: nothing, or an H5_FRAME_*, or which of the names (from H5_FRAME_NAMES on) */
    hsize_t n;
    hcy__h5_names names; /* of sources, with what is wrong with them: "x.h5 is not there ..." */
} hcy__h5_sources;
#define H5_FRAME_UNMAPPED  1u /* no mapping leads to it */
#define H5_FRAME_UNWRITTEN 2u /* its source has not got it */
#define H5_FRAME_NAMES     3u

/* `file`, `name`: for messages.  HCY_ECORRUPT: it is made of itself; HCY_ERANGE: of more than can be followed.  Not to
 * be freed after a failure. */
int hcy__h5_sources_find(hcy__h5_sources *sources, hid_t dataset, const char *file, const char *name);
void hcy__h5_sources_free(hcy__h5_sources *sources);
/* Refuses a virtual dataset of which something is missing: before all of it is read. */
int hcy__h5_whole(hid_t dataset);
/* All of a dataset that is whole; negative: it cannot be read. */
herr_t hcy__h5_read_whole(hid_t dataset, hid_t type, void *values);

#define H5_NOT_THERE "%s is not there or cannot be opened" /* in those names, of a source's file */

/* The name that a mapping has stored as `from`: with the number of a block for each %b, and % for %%.  -1: it is
 * longer. */
int hcy__h5_source_name(char *to, size_t size, const char *from, uint64_t block);
/* Opens the file that a mapping of the dataset names, where HDF5 looks for it.  Negative: it is not there. */
hid_t hcy__h5_open_source(hid_t dataset, const char *name);
/* HCY_ENOENT: none of the sources is there, with the first of their names. */
int hcy__h5_none_there(const char *file, const char *name, char *const *names, size_t n);

#endif
