/* h5_layout.h - an HDF5 dataset of frames while it is being taken in.  The lock of h5.h is held by the caller. */
#ifndef HCY_STACK_H5_LAYOUT_H
#define HCY_STACK_H5_LAYOUT_H

#include "h5_read.h"

struct hcy__h5_layout {
    hid_t dataset, space, plist;
    hcy__h5_shape shape;
    H5D_layout_t kind;
    hsize_t chunk[4]; /* as many as dimensions */
    hsize_t channel;  /* of four dimensions: which, from 0 */
    int one_a_chunk;  /* chunks are frames */
    uint32_t codec, block_bytes;
    int coded;     /* there are filters */
    int decodable; /* we know the codec */
    int zstd;      /* codec HCY_CODEC_BITSHUFFLE, below Zstandard */
};

/* Opens it, and refuses what is no stack of images.  To be closed in any case. */
int hcy__h5_layout_open(struct hcy__h5_layout *l, hcy_stack *stack, hid_t file, const char *name);
void hcy__h5_layout_close(struct hcy__h5_layout *l);
/* Can its frames be read without HDF5? */
int hcy__h5_is_as_stored(const struct hcy__h5_layout *l);
/* The first element of a frame in a dataset of two, three or four dimensions. */
void hcy__h5_origin(hsize_t offset[4], int rank, uint64_t frame, hsize_t channel);
/* Where its frames are, which are in the stack from frame `at` on.  -1: HDF5 has the pixels, but not at one place of
 * this file (compact, or in other files). */
int hcy__h5_addresses(hcy__location *places, const struct hcy__h5_layout *l, const hcy_stack *stack, uint64_t at);
/* Of frames that HDF5 has to read, which ones were written. */
void hcy__h5_written_frames(hcy__location *places, const struct hcy__h5_layout *l, const hcy_stack *stack);

#endif
