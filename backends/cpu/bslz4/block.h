/* block.h - one block on the CPU: LZ4 to bit-planes, bit-planes to pixels, or all of it for any codec.
 *
 * Used by the kernels bslz4_decode (whole images) and bslz4_azint (fused).  One implementation a SIMD variant
 * (block_<variant>.c); all give the same bytes and the same verdict on damaged input.  No state, any thread.
 *
 * PLANE ALIASING: in real frames the planes above the data all equal one another (all zero, or the mask of
 * gaps whose pixels are all ones), and LZ4 codes them as one long match.  Decoding stops there: planes
 * same_from .. 8 * elem_size - 1 are equal to plane same_from, and only planes 0 .. same_from are written.  A
 * pixel is then the number of same_from + 1 bits that planes 0 .. same_from make, sign-extended.
 */
#ifndef HCY_CPU_BSLZ4_BLOCK_H
#define HCY_CPU_BSLZ4_BLOCK_H

#include "bslz4/bslz4_bits.h"
#include "bslz4/bslz4_format.h"
#include "cpu_priv.h"

/* Bytes that may be written past a block's decoded bytes, and must be readable before its first. */
#define CPU_BLOCK_SLACK 1280
#define CPU_BLOCK_LEAD  64
/* Bytes that must be readable past a block's coded bytes for the fast paths; the others serve where they are
 * not. */
#define CPU_BLOCK_AHEAD 1088

struct cpu_block_ops {
    /* Decode one LZ4 block of block_bytes (a multiple of 8 * elem_size) into bit-planes of block_bytes / (8 *
     * elem_size) bytes each, plane 0 (the least significant bit) first.  `limit` is the end of the memory
     * that may be read (src + size at least; fast paths that read ahead check it).  Returns 0 and *same_from
     * (8 * elem_size - 1 if no two top planes are equal), or HCY_ECORRUPT without an error record.  `planes`
     * has CPU_BLOCK_LEAD bytes before and CPU_BLOCK_SLACK after. */
    int (*planes)(const uint8_t *src, size_t size, const uint8_t *limit, size_t block_bytes,
                  unsigned elem_size, uint8_t *planes, unsigned *same_from);
    /* Planes to elements of elem_size bytes, block_bytes in all; 64 bytes past the planes are read. */
    void (*pixels)(const uint8_t *planes, unsigned same_from, size_t block_bytes, unsigned elem_size,
                   void *out);
    /* Eight planes, given by address (least significant first, n_bytes each), to 8 * n_bytes bytes: byte i
     * has bit k from bit i of plane k.  n_bytes any, vectors when a multiple of 64. */
    void (*bytes)(const uint8_t *const planes[8], size_t n_bytes, uint8_t *out);
};

/* The best variant there is up to `simd`. */
const struct cpu_block_ops *cpu_block_ops(enum cpu_simd simd);

/* --- Tables of frames and blocks ---
 * They were checked where they were made (src/bslz4/table.c); kernels still read and write nothing outside
 * their buffers whatever the tables say. */

/* Does the codec transpose bits? */
bool cpu_has_planes(const hcy_bslz4_job *job);
/* Does the frame add up to an image, inside a batch of chunks_size bytes and n_blocks blocks? */
bool cpu_frame_fits(const hcy_bslz4_job *job, const hcy_bslz4_frame *frame, size_t chunks_size,
                    size_t n_blocks);
/* Does the block, of `bytes` decoded bytes, lie in the frame's chunk, and has it so many there if it is stored? */
bool cpu_block_fits(const hcy_bslz4_job *job, const hcy_bslz4_frame *frame, const hcy_bslz4_block *block, size_t bytes);

/* Decode one block of `bytes` decoded bytes to pixels at `out`: any codec, elements of any size, stored
 * blocks too.  `coded` is its first coded byte, `size` that of hcy_bslz4_block (HCY_BLOCK_STORED included),
 * `limit` as above.  `work` has CPU_BLOCK_WORK(bytes) bytes, 64-byte aligned, and is left alone by the codecs
 * without bit-planes; out gets `bytes` bytes and not one more.  0 or HCY_ECORRUPT without an error record. */
int cpu_bslz4_block(const struct cpu_block_ops *ops, const hcy_bslz4_job *job, const uint8_t *coded,
                    uint32_t size, const uint8_t *limit, size_t bytes, uint8_t *work, void *out);
#define CPU_BLOCK_WORK(bytes) (CPU_BLOCK_LEAD + (size_t)(bytes) + CPU_BLOCK_SLACK)

/* --- Between the variants --- */

extern const struct cpu_block_ops cpu_block_ops_portable, cpu_block_ops_neon, cpu_block_ops_avx2,
    cpu_block_ops_avx512;

/* LZ4 as liblz4 decodes it, of exactly dst_bytes, offsets of 0 refused: their result is not defined. */
int cpu_lz4_safe(const uint8_t *src, size_t size, uint8_t *dst, size_t dst_bytes);
/* The operation `planes` by way of cpu_lz4_safe(): what the fast paths leave to it. */
int cpu_planes_safe(const uint8_t *src, size_t size, const uint8_t *limit, size_t block_bytes,
                    unsigned elem_size, uint8_t *planes, unsigned *same_from);
/* The lowest plane from which on all are equal. */
unsigned cpu_same_planes(const uint8_t *planes, size_t plane, unsigned n_planes);

#endif
