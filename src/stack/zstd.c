/* zstd.c - chunks of filter 32008 whose blocks are Zstandard's: decompressed while they are read, to what the
 * same filter makes without compression, which every device decodes. */
#include "stack_priv.h"
#include "bslz4_priv.h"
#include <halcyon/backend.h>
#include <halcyon/bslz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

/* What a block of `bytes` decodes to, the image's from byte `at` on, to blocks of another size. */
static void spread_planes(uint8_t *dst, const hcy_bslz4_frame *want, const uint8_t *planes, size_t at, size_t bytes,
                          uint32_t elem_size)
{
    size_t unit = 8 * (size_t)elem_size, n = bytes / unit, run;
    /* No block cuts eight elements, which have a byte in each plane: so planes are parted and joined by whole bytes. */
    for (size_t i = 0; i < n; i += run) {
        size_t whole = at + i * unit, b = whole / want->block_bytes, from = whole % want->block_bytes / unit;
        size_t length = HCY_BLOCK_BYTES(want, b) / unit;
        run = n - i < length - from ? n - i : length - from;
        for (size_t plane = 0; plane < unit; plane++)
            memcpy(dst + b * want->block_bytes + plane * length + from, planes + plane * n + i, run);
    }
}

/* All blocks of a chunk, to those of `want`; `apart`: room for one where their sizes differ, else NULL. */
static int decompress(uint8_t *dst, const hcy_bslz4_frame *want, uint8_t *apart, const hcy_bslz4_frame *frame,
                      const hcy_bslz4_block *blocks, const uint8_t *chunk, uint32_t elem_size)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    size_t at = 0;
    if (!context)
        return hcy_fail(HCY_ENOMEM, "no memory to decompress a chunk");
    int st = 0;
    for (uint32_t b = 0; !st && b < frame->n_blocks; b++) {
        size_t bytes = HCY_BLOCK_BYTES(frame, b);
        size_t done = ZSTD_decompressDCtx(context, apart ? apart : dst + at, bytes, chunk + blocks[b].offset,
                                          blocks[b].size);
        if (done != bytes)
            st = hcy_fail(HCY_ECORRUPT, "block %u of %u, at byte %u of the chunk, is damaged", b,
                          frame->n_blocks, blocks[b].offset);
        else if (apart)
            spread_planes(dst, want, apart, at, bytes, elem_size);
        at += bytes;
    }
    ZSTD_freeDCtx(context);
    /* What is left after whole blocks is stored plain behind them. */
    if (!st)
        memcpy(dst + at, chunk + frame->tail_offset, frame->tail_bytes);
    return st;
}

int hcy__zstd_planes(void *dst, const hcy_bslz4_job *job, const void *chunk, size_t size)
{
    /* Both codecs frame their blocks alike, so that the parser of the one reads the other's table. */
    hcy_bslz4_job framing = { HCY_CODEC_BSLZ4, job->elem_size, job->image_bytes, 0, 0 };
    hcy_bslz4_frame frame, want;
    hcy_bslz4_block *blocks = NULL;
    uint8_t *apart = NULL;
    size_t n;
    int st = hcy_bslz4_block_count(&n, &framing, chunk, size);
    /* Checked before the table is allocated, for the count comes from the chunk. */
    if (!st && n > size / 4) /* a block has a length of 4 bytes */
        st = hcy_fail(HCY_ECORRUPT, "%zu blocks in a chunk of %zu bytes", n, size);
    if (!st && !(blocks = malloc((n + 1) * sizeof *blocks)))
        st = hcy_fail(HCY_ENOMEM, "no memory for a table of %zu blocks", n);
    if (!st)
        st = hcy_bslz4_parse(&frame, blocks, n, NULL, &framing, chunk, size);
    hcy__bslz4_cut(&want, job, hcy__bslz4_block_bytes(job));
    /* All frames of a stack or a stream are decoded with one block size, whatever each chunk has: Jungfraujoch's blocks
     * are of 4096 pixels, whose bytes are the default's for pixels of 2 bytes alone. */
    if (!st && frame.n_blocks && frame.block_bytes != want.block_bytes && !(apart = malloc(frame.block_bytes)))
        st = hcy_fail(HCY_ENOMEM, "no memory for a block of %u bytes", frame.block_bytes);
    if (!st)
        st = decompress(dst, &want, apart, &frame, blocks, chunk, job->elem_size);
    free(apart);
    free(blocks);
    return st;
}
