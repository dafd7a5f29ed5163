/* bslz4_priv.h - what the files of this room share: the rules of framing that both directions need. */
#ifndef HCY_BSLZ4_PRIV_H
#define HCY_BSLZ4_PRIV_H

#include <halcyon/backend.h>
#include <halcyon/bslz4.h>

#define HCY__BSLZ4_HEADER    12          /* bytes: u64 total, u32 block */
#define HCY__BSLZ4_MAX_IMAGE UINT32_MAX  /* HDF5's limit of a chunk */
#define HCY__BSLZ4_MAX_ELEMENT 65535u
#define HCY__LZ4_MAX         0x7E000000u /* LZ4_MAX_INPUT_SIZE */

static inline int hcy__bslz4_has_header(uint32_t codec)
{
    return codec == HCY_CODEC_BSLZ4 || codec == HCY_CODEC_LZ4;
}

static inline int hcy__bslz4_has_planes(uint32_t codec)
{
    return codec == HCY_CODEC_BSLZ4 || codec == HCY_CODEC_BITSHUFFLE;
}

/* HCY_EINVAL or HCY_EUNSUPPORTED with its reason: what devices take; what a chunk can be at all (elements of
 * any size). */
int hcy__bslz4_check_job(const hcy_bslz4_job *job);
int hcy__bslz4_check_chunk(const hcy_bslz4_job *job);
/* The block size the job asks for, the default where it asks for none. */
uint32_t hcy__bslz4_block_bytes(const hcy_bslz4_job *job);
/* How an image is cut into blocks: n_blocks, block_bytes, last_bytes, tail_bytes. */
void hcy__bslz4_cut(hcy_bslz4_frame *frame, const hcy_bslz4_job *job, uint32_t block_bytes);

/* Blocks that say how long they are.  *at, where the first one is, is left where the walk ended, *block at the one
 * where it failed or behind the last (walk.c). */
int hcy__bslz4_walk(hcy_bslz4_block *blocks, const hcy_bslz4_frame *frame, const hcy_bslz4_job *job,
                    const uint8_t *bytes, uint32_t *at, uint32_t *block);

/* hcy_bslz4_parse(), hcy_bslz4_encode_bound() and hcy_bslz4_encode() for elements of any size. */
int hcy__bslz4_parse(hcy_bslz4_frame *frame, hcy_bslz4_block *blocks, size_t capacity,
                     hcy_frame_report *report, const hcy_bslz4_job *job, const void *chunk, size_t size);
/* How a block of n bytes is coded: LZ4, or another code in the same frame.  Returns its size, 0 if it does
 * not fit in `room`; bound(n): the room that is always enough. */
typedef struct hcy__bslz4_coder {
    size_t (*code)(void *to, size_t room, const void *from, size_t n, int level);
    size_t (*bound)(size_t n);
    int level;
} hcy__bslz4_coder;
extern const hcy__bslz4_coder hcy__bslz4_lz4;
int hcy__bslz4_encode_bound(size_t *bound, const hcy_bslz4_job *job, const hcy__bslz4_coder *coder);
int hcy__bslz4_encode(size_t *size, void *chunk, size_t capacity, const hcy_bslz4_job *job,
                      const hcy__bslz4_coder *coder, const void *image);
/* The image's bytes that a chunk's header promises: HCY_ECORRUPT if it is too short to have one. */
int hcy__bslz4_promised(uint64_t *bytes, const void *chunk, size_t size);

#endif
