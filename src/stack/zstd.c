/* zstd.c - chunks of filter 32008 whose blocks are Zstandard's: decompressed while they are read, to what the
 * same filter makes without compression, which every device decodes. */
#include "stack_priv.h"
#include "bslz4_priv.h"
#include <halcyon/backend.h>
#include <halcyon/bslz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static int decompress(uint8_t *dst, const hcy_bslz4_frame *frame, const hcy_bslz4_block *blocks,
                      const uint8_t *chunk)
{
    ZSTD_DCtx *context = ZSTD_createDCtx();
    if (!context)
        return hcy_fail(HCY_ENOMEM, "no memory to decompress a chunk");
    int st = 0;
    for (uint32_t b = 0; !st && b < frame->n_blocks; b++) {
        size_t bytes = HCY_BLOCK_BYTES(frame, b);
        size_t done = ZSTD_decompressDCtx(context, dst, bytes, chunk + blocks[b].offset, blocks[b].size);
        if (done != bytes)
            st = hcy_fail(HCY_ECORRUPT, "block %u of %u, at byte %u of the chunk, is damaged", b,
                          frame->n_blocks, blocks[b].offset);
        dst += bytes;
    }
    ZSTD_freeDCtx(context);
    /* What is left after whole blocks is stored plain behind them. */
    if (!st)
        memcpy(dst, chunk + frame->tail_offset, frame->tail_bytes);
    return st;
}

int hcy__zstd_planes(void *dst, const hcy_bslz4_job *job, const void *chunk, size_t size)
{
    /* Both codecs frame their blocks alike, so that the parser of the one reads the other's table. */
    hcy_bslz4_job framing = { HCY_CODEC_BSLZ4, job->elem_size, job->image_bytes, 0, 0 };
    hcy_bslz4_frame frame, want;
    hcy_bslz4_block *blocks = NULL;
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
    /* All frames of a stack are decoded with one block size, that of the first chunk. */
    if (!st && frame.block_bytes != want.block_bytes)
        st = hcy_fail(HCY_EUNSUPPORTED, "a chunk in blocks of %u bytes, in a stack whose blocks have %u",
                      frame.block_bytes, want.block_bytes);
    if (!st)
        st = decompress(dst, &frame, blocks, chunk);
    free(blocks);
    return st;
}
