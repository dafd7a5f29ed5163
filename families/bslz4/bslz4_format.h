/* bslz4_format.h - how a batch of compressed frames is described to every device (host, GPU, FPGA).
 *
 * Plain data, little-endian, no pointers.  The rules as code stand beside it: bslz4_bits.h, bslz4_job.h.
 * The host parses and bounds-checks the chunks (src/bslz4/table.c), so a device gets offsets it can
 * trust to lie inside the batch's buffer, but nothing about the LZ4 streams themselves.
 *
 * Formats: HDF5 filter 32008 (bitshuffle, github.com/kiyo-masui/bitshuffle), 32004 (LZ4), plain pixels.
 */
#ifndef HCY_BSLZ4_FORMAT_H
#define HCY_BSLZ4_FORMAT_H

#include <stdint.h>

#define HCY_BSLZ4_VERSION 1u

/* The bit order of a transposed block of E elements: plane b, of E / 8 bytes, holds bit b of every element (b
 * counts from the least significant bit of the first byte), eight elements a byte, the first in the lowest
 * bit.  LZ4: an offset of 0 is damage, whatever a decoder might make of it. */

/* How the bytes of a chunk are coded: hcy_bslz4_job.codec. */
#define HCY_CODEC_NONE       0u /* plain pixels */
#define HCY_CODEC_BSLZ4      1u /* filter 32008 with LZ4: blocks bit-transposed, then LZ4 */
#define HCY_CODEC_LZ4        2u /* filter 32004: blocks of LZ4, or stored */
#define HCY_CODEC_BITSHUFFLE 3u /* filter 32008 without compression: blocks bit-transposed */

/* One frame of the batch. */
typedef struct hcy_bslz4_frame {
    uint64_t offset;      /* of the chunk in the batch's buffer */
    uint64_t size;        /* of the chunk in bytes */
    uint32_t first_block; /* index of its first block in the batch's block table */
    uint32_t n_blocks;    /* blocks, a partial last one included */
    uint32_t block_bytes; /* decoded bytes of every block but the last: whole elements, eights with planes */
    uint32_t last_bytes;  /* decoded bytes of the last block, 1 to block_bytes: the same */
    uint32_t tail_offset; /* of the raw tail, from the chunk's start */
    uint32_t tail_bytes;  /* 0 to 7 elements, copied as they are */
    int32_t status;       /* 0, or the HCY_E* of its parse: the device leaves the frame alone */
    uint32_t reserved;
} hcy_bslz4_frame;

/* One block: where its coded bytes are, from the chunk's start.  Blocks follow one another in the image. */
typedef struct hcy_bslz4_block {
    uint32_t offset;
    uint32_t size; /* HCY_BLOCK_STORED set: not LZ4 (with BITSHUFFLE still to be transposed) */
} hcy_bslz4_block;
#define HCY_BLOCK_STORED 0x80000000u
/* Decoded bytes of block b of a frame. */
#define HCY_BLOCK_BYTES(frame, b) ((b) + 1 == (frame)->n_blocks ? (frame)->last_bytes : (frame)->block_bytes)

/* What the frames of a batch have in common. */
typedef struct hcy_bslz4_job {
    uint32_t codec;       /* HCY_CODEC_* */
    uint32_t elem_size;   /* 1, 2, 4, 8 */
    uint64_t image_bytes; /* of one decoded frame */
    uint32_t block_bytes; /* of a decoded block: BITSHUFFLE, encoding (else the chunk says); 0: default */
    uint32_t reserved;    /* 0 */
} hcy_bslz4_job;

/* A batch's buffer: every chunk begins at a multiple of ALIGN, and PADDING readable bytes end it. */
#define HCY_BSLZ4_ALIGN   64u
#define HCY_BSLZ4_PADDING 2048u

/* What became of a frame. */
typedef struct hcy_frame_report {
    int32_t status;  /* 0, or HCY_ECORRUPT ... */
    uint32_t block;  /* the first damaged block; n_blocks: the tail, or what follows it */
    uint64_t byte;   /* where in the chunk it begins */
    uint64_t n_lost; /* integration: pixels outside the static mask that were masked in this frame alone */
} hcy_frame_report;

#endif
