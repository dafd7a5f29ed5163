/* codec.c - a chunk decoded and coded on the calling thread: framing by src/bslz4, blocks by the CPU backend's
 * block functions, Zstandard by libzstd where it was there when this was built.
 *
 * No state; any number of threads.
 */
#include "codec.h"
#include "bslz4/block.h"
#include "host.h"
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

/* LZ4 makes at most 255 bytes of one. */
#define MOST_GROWTH 255u

#ifdef HAVE_ZSTD
static size_t code_zstd(void *to, size_t room, const void *from, size_t n, int level)
{
    size_t coded = ZSTD_compress(to, room, from, n, level);
    return ZSTD_isError(coded) ? 0 : coded;
}

static size_t bound_zstd(size_t n)
{
    return ZSTD_compressBound(n);
}

static int zstd_block(uint8_t *planes, const uint8_t *coded, uint32_t size, size_t bytes)
{
    return ZSTD_decompress(planes, bytes, coded, size) == bytes ? 0 : HCY_ECORRUPT;
}
#else
static int zstd_block(uint8_t *planes, const uint8_t *coded, uint32_t size, size_t bytes)
{
    (void)planes;
    (void)coded;
    (void)size;
    (void)bytes;
    return HCY_EUNSUPPORTED;
}
#endif

static int check_zstd(const h5_coding *coding)
{
#ifndef HAVE_ZSTD
    if (coding->zstd)
        return hcy_fail(HCY_EUNSUPPORTED,
                        "the chunk is coded with Zstandard, and Halcyon was built without it");
#endif
    (void)coding;
    return 0;
}

/* --- Decoding --- */

struct decode {
    const h5_coding *coding;
    const struct cpu_block_ops *ops;
    const uint8_t *chunk, *limit;
    hcy_bslz4_frame frame;
    hcy_bslz4_block *blocks;
    uint8_t *work, *plain;
};

static int decode_h5_block(const struct decode *d, uint32_t b, size_t bytes, uint8_t *out)
{
    const hcy_bslz4_block *block = &d->blocks[b];
    const uint8_t *coded = d->chunk + block->offset;
    /* A copy, since a block that was unpacked here is to the CPU's functions one without compression. */
    hcy_bslz4_job job = d->coding->job;
    if (!d->coding->zstd)
        return cpu_bslz4_block(d->ops, &job, coded, block->size, d->limit, bytes, d->work, out);
    /* Zstandard writes to memory of its own, because the bits are still to be transposed. */
    int st = zstd_block(d->plain, coded, block->size, bytes);
    job.codec = HCY_CODEC_BITSHUFFLE;
    return st ? st
              : cpu_bslz4_block(d->ops, &job, d->plain, (uint32_t)bytes | HCY_BLOCK_STORED, d->plain + bytes,
                                bytes, d->work, out);
}

static int decode_h5_blocks(const struct decode *d, uint8_t *out)
{
    const hcy_bslz4_frame *f = &d->frame;
    for (uint32_t b = 0; b < f->n_blocks; b++) {
        size_t bytes = HCY_BLOCK_BYTES(f, b);
        /* All blocks but the last are of one size, which the parse has checked against the image's. */
        int st = decode_h5_block(d, b, bytes, out + (size_t)b * f->block_bytes);
        if (st)
            return hcy_fail(st, "block %u of %u, at byte %u of the chunk, is damaged", b, f->n_blocks,
                            d->blocks[b].offset);
    }
    /* Elements that do not fill eights are stored as they are, behind the last block. */
    memcpy(out + d->coding->job.image_bytes - f->tail_bytes, d->chunk + f->tail_offset, f->tail_bytes);
    return 0;
}

/* What the chunk promises, before anything is allocated for it. */
static int promised_bytes(h5_coding *coding, const uint8_t *chunk, size_t size)
{
    hcy_bslz4_job *job = &coding->job;
    /* A chunk without a header is not compressed: it decodes to as many bytes. */
    job->image_bytes = size;
    if (!hcy__bslz4_has_header(job->codec))
        return 0;
    int st = hcy__bslz4_promised(&job->image_bytes, chunk, size);
    /* A forged header must not make us allocate what no stream of this size could fill; Zstandard has no such
     * bound. */
    if (!st && !coding->zstd && job->image_bytes / MOST_GROWTH > size)
        st = hcy_fail(HCY_ECORRUPT, "the chunk's %zu bytes cannot hold the %llu that it promises", size,
                      (unsigned long long)job->image_bytes);
    return st;
}

static int parse_chunk(struct decode *d, size_t size)
{
    const hcy_bslz4_job *job = &d->coding->job;
    size_t most = size / 5 + 1; /* a coded block takes 5 bytes at least */
    /* Without a header no block has its size in front, so that a block may be as short as a byte. */
    if (!hcy__bslz4_has_header(job->codec))
        most = size;
    size_t unit = hcy__bslz4_has_planes(job->codec) ? 8 * (size_t)job->elem_size : job->elem_size;
    /* Nor can there be more blocks than the image has of the smallest. */
    if (most > job->image_bytes / unit + 1)
        most = job->image_bytes / unit + 1;
    d->blocks = malloc(most * sizeof *d->blocks);
    if (!d->blocks)
        return hcy_fail(HCY_ENOMEM, "no memory for a table of %zu blocks", most);
    return hcy__bslz4_parse(&d->frame, d->blocks, most, NULL, job, d->chunk, size);
}

static int reserve_work(struct decode *d)
{
    size_t room = (CPU_BLOCK_WORK(d->frame.block_bytes) + 63) / 64 * 64;
    /* Pixels that need no transposition are decoded straight to their place. */
    if (!hcy__bslz4_has_planes(d->coding->job.codec) || !d->frame.n_blocks)
        return 0;
    d->work = aligned_alloc(64, room);
    d->plain = d->coding->zstd ? malloc(d->frame.block_bytes) : NULL;
    if (!d->work || (d->coding->zstd && !d->plain))
        return hcy_fail(HCY_ENOMEM, "no memory for blocks of %u bytes", d->frame.block_bytes);
    return 0;
}

int hcy__h5_decode(void **out, size_t *size, size_t *room, h5_coding *coding, const uint8_t *chunk,
                   size_t chunk_size)
{
    struct decode d = { .coding = coding,
                        .ops = cpu_block_ops(cpu_simd_best()),
                        .chunk = chunk,
                        .limit = chunk + (*room > chunk_size ? *room : chunk_size) };
    size_t most = 0;
    void *image = NULL;
    /* Everything is checked before the image is allocated, from the cheapest on. */
    int st = check_zstd(coding);
    if (!st)
        st = promised_bytes(coding, chunk, chunk_size);
    if (!st)
        st = hcy__bslz4_check_chunk(&coding->job);
    if (!st)
        st = parse_chunk(&d, chunk_size);
    if (!st)
        st = reserve_work(&d);
    if (!st) {
        /* HDF5 may have made its buffer larger than the pixels, and reads all of it. */
        most = *room > coding->job.image_bytes ? *room : coding->job.image_bytes;
        image = hcy__h5_allocate(most);
    }
    if (!st && !image)
        st = hcy_fail(HCY_ENOMEM, "no memory for %zu bytes of pixels", most);
    if (!st)
        st = decode_h5_blocks(&d, image);
    /* The image is HDF5's memory, so HDF5 has to free it; on failure its own buffer stays as it was. */
    if (st && image)
        hcy__h5_free(image);
    free(d.blocks);
    free(d.work);
    free(d.plain);
    if (st)
        return st;
    *out = image;
    *size = coding->job.image_bytes;
    *room = most;
    /* What lies behind the pixels goes to a file or a caller: it must not be what was in memory before. */
    memset((char *)image + *size, 0, most - *size);
    return 0;
}

/* --- Coding --- */

int hcy__h5_encode(void **out, size_t *size, size_t *room, h5_coding *coding, const uint8_t *image,
                   size_t image_size)
{
    hcy__bslz4_coder coder = hcy__bslz4_lz4;
    hcy_bslz4_job *job = &coding->job;
    void *chunk = NULL;
    job->image_bytes = image_size;
#ifdef HAVE_ZSTD
    if (coding->zstd)
        coder = (hcy__bslz4_coder){ code_zstd, bound_zstd, coding->level };
#endif
    if (job->codec == HCY_CODEC_LZ4 && job->block_bytes > image_size)
        job->block_bytes = (uint32_t)image_size; /* as the original filter writes it */
    /* A failure leaves HDF5's buffer as it is: where the filter is optional, HDF5 then stores the chunk without
     * it. */
    int st = check_zstd(coding);
    if (!st)
        st = hcy__bslz4_encode_bound(room, job, &coder);
    if (!st && !(chunk = hcy__h5_allocate(*room)))
        st = hcy_fail(HCY_ENOMEM, "no memory for a chunk of %zu bytes", *room);
    if (!st)
        st = hcy__bslz4_encode(size, chunk, *room, job, &coder, image);
    if (st) {
        if (chunk)
            hcy__h5_free(chunk);
        return st;
    }
    *out = chunk;
    return 0;
}
