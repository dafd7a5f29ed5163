/* codec.h - a chunk decoded and coded on the calling thread, for the filters. */
#ifndef HCY_H5PLUGIN_CODEC_H
#define HCY_H5PLUGIN_CODEC_H

#include "bslz4_priv.h"

/* What the values of a filter say.  `zstd`: the blocks of HCY_CODEC_BSLZ4 are Zstandard's, of this level. */
typedef struct h5_coding {
    hcy_bslz4_job job; /* image_bytes: not yet known */
    int zstd, level;
} h5_coding;

/* *out (hcy__h5_allocate) has *size bytes.  `limit`: the end of what may be read, at or behind the chunk's.
 * HCY_E* with hcy_last_error(). */
int hcy__h5_decode(void **out, size_t *size, h5_coding *coding, const uint8_t *chunk, size_t chunk_size,
                   const uint8_t *limit);
/* *out has room for *room bytes, of which *size are used. */
int hcy__h5_encode(void **out, size_t *size, size_t *room, h5_coding *coding, const uint8_t *image,
                   size_t image_size);

#endif
