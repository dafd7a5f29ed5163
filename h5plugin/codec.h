/* codec.h - a chunk decoded and coded on the calling thread, for the filters. */
#ifndef HCY_H5PLUGIN_CODEC_H
#define HCY_H5PLUGIN_CODEC_H

#include "bslz4_priv.h"

/* What the values of a filter say.  `zstd`: the blocks of HCY_CODEC_BSLZ4 are Zstandard's, of this level. */
typedef struct h5_coding {
    hcy_bslz4_job job; /* image_bytes: not yet known */
    int zstd, level;
} h5_coding;

/* *out (hcy__h5_allocate) has *size bytes, and zeros up to *room.  *room is the chunk's buffer's before, and never
 * becomes less: HDF5 2.1 and later make that buffer as large as the decoded chunk must be, and what a damaged one
 * lacks is there to be read.  HCY_E* with hcy_last_error(). */
int hcy__h5_decode(void **out, size_t *size, size_t *room, h5_coding *coding, const uint8_t *chunk,
                   size_t chunk_size);
/* *out has room for *room bytes, of which *size are used. */
int hcy__h5_encode(void **out, size_t *size, size_t *room, h5_coding *coding, const uint8_t *image,
                   size_t image_size);

#endif
