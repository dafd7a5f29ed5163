/* h5_driver.h - HDF5 files that are read through a driver of our own.
 *
 * It is POSIX pread (and takes no file locks, which many network file systems refuse), and can be told not to
 * read pixels but to note where they are.  The lock of h5.h is held by the caller.
 */
#ifndef HCY_STACK_H5_DRIVER_H
#define HCY_STACK_H5_DRIVER_H

#include "h5.h"

/* Opens a file for reading; files behind its external links are opened by the same driver.  Negative: it
 * failed, with HDF5's words. */
hid_t hcy__h5_spy_open(const char *path, const char **words);
/* Where the chunk at `offset` lies in its file, its size and filter mask.  -1: there is none. */
int hcy__h5_spy_chunk(uint64_t *address, uint64_t *size, uint32_t *mask, hid_t dataset,
                      const hsize_t *offset);
/* Of the chunks that begin in a box, from `from` (where a chunk begins) to before `to`: how many there are in the file,
 * of *all looked for, and the bytes that they take.  With `any` the first that is there is enough. */
hsize_t hcy__h5_spy_box(hsize_t *all, uint64_t *bytes, hid_t dataset, int rank, const hsize_t *chunk,
                        const hsize_t *from, const hsize_t *to, int any);

#endif
