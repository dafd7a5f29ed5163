/* bslz4_priv.h - what the files of this room share: the rules of framing that both directions need. */
#ifndef HCY_BSLZ4_PRIV_H
#define HCY_BSLZ4_PRIV_H

#include <halcyon/backend.h>
#include <halcyon/bslz4.h>

#define HCY__BSLZ4_HEADER    12          /* bytes: u64 total, u32 block */
#define HCY__BSLZ4_MAX_IMAGE UINT32_MAX  /* HDF5's limit of a chunk */
#define HCY__LZ4_MAX         0x7E000000u /* LZ4_MAX_INPUT_SIZE */

static inline int hcy__bslz4_has_header(uint32_t codec)
{
    return codec == HCY_CODEC_BSLZ4 || codec == HCY_CODEC_LZ4;
}

static inline int hcy__bslz4_has_planes(uint32_t codec)
{
    return codec == HCY_CODEC_BSLZ4 || codec == HCY_CODEC_BITSHUFFLE;
}

/* HCY_EINVAL or HCY_EUNSUPPORTED with its reason. */
int hcy__bslz4_check_job(const hcy_bslz4_job *job);
/* The block size the job asks for, the default where it asks for none. */
uint32_t hcy__bslz4_block_bytes(const hcy_bslz4_job *job);
/* How an image is cut into blocks: n_blocks, block_bytes, last_bytes, tail_bytes. */
void hcy__bslz4_cut(hcy_bslz4_frame *frame, const hcy_bslz4_job *job, uint32_t block_bytes);

#endif
