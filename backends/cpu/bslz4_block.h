/* bslz4_block.h - one bitshuffle-LZ4 block on the CPU: LZ4 to bit-planes, bit-planes to pixels.
 *
 * Used by the kernels bslz4_decode (whole images) and bslz4_azint (fused).  One implementation a SIMD variant
 * (bslz4_<variant>.c); all give the same bytes and the same verdict on damaged input.  No state, any thread.
 *
 * PLANE ALIASING: in real frames the planes above the data all equal one another (all zero, or the mask of gaps
 * whose pixels are all ones), and LZ4 codes them as one long match.  Decoding stops there: planes same_from ..
 * 8 * elem_size - 1 are equal to plane same_from, and only planes 0 .. same_from are written.
 */
#ifndef HCY_CPU_BSLZ4_BLOCK_H
#define HCY_CPU_BSLZ4_BLOCK_H

#include "cpu_priv.h"

/* Bytes that may be written past a block's decoded bytes, and must be readable before its first. */
#define CPU_BLOCK_SLACK 1280
#define CPU_BLOCK_LEAD 64

struct cpu_block_ops {
    /* Decode one LZ4 block of block_bytes (a multiple of 8 * elem_size) into bit-planes of block_bytes / (8 * elem_size)
     * bytes each, plane 0 (the least significant bit) first.  `limit` is the end of the memory that may be read
     * (past src + size; fast paths that read ahead check it).  Returns 0 and *same_from (8 * elem_size - 1 if no two
     * top planes are known to be equal), or HCY_ECORRUPT without an error record.  `planes` has CPU_BLOCK_LEAD bytes before and
     * CPU_BLOCK_SLACK after. */
    int (*planes)(const uint8_t *src, size_t size, const uint8_t *limit, size_t block_bytes, unsigned elem_size,
                  uint8_t *planes, unsigned *same_from);
    /* Planes to elements of elem_size bytes, block_bytes in all. */
    void (*pixels)(const uint8_t *planes, unsigned same_from, size_t block_bytes, unsigned elem_size, void *out);
    /* Eight planes, given by address (least significant first, n_bytes each), to 8 * n_bytes bytes: byte i has bit k
     * from bit i of plane k.  n_bytes any, vectors when a multiple of 64. */
    void (*bytes)(const uint8_t *const planes[8], size_t n_bytes, uint8_t *out);
};

const struct cpu_block_ops *cpu_block_ops(enum cpu_simd simd);

/* Decode block `b` of a frame to pixels at `out` (its decoded bytes): any codec, stored blocks too.  `work` is
 * CPU_BLOCK_LEAD + block_bytes + CPU_BLOCK_SLACK bytes, 64-byte aligned.  0 or HCY_ECORRUPT. */
struct hcy_bslz4_job;
struct hcy_bslz4_frame;
struct hcy_bslz4_block;

#endif
