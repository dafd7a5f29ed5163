/* bslz4_ref.h - an independent scalar decoder of blocks, and the comparison of a variant with it.
 *
 * Shared by tests/bslz4.c, tests/mutations.c and the fuzz targets.  LZ4 is decoded twice, by the letter of its
 * format and by liblz4; a block is good if both say so.
 */
#ifndef BSLZ4_REF_H
#define BSLZ4_REF_H

#include "bslz4/block.h"
#include <lz4.h>
#include <stdlib.h>
#include <string.h>

/* LZ4 as its format description says, one byte at a time; 0 or -1. */
static inline int ref_lz4(const uint8_t *src, size_t size, uint8_t *dst, size_t n)
{
    size_t ip = 0, op = 0;
    while (ip < size) {
        unsigned token = src[ip++], more;
        size_t literals = token >> 4, match = (token & 15) + 4;
        if (literals == 15)
            do {
                if (ip == size)
                    return -1;
                literals += more = src[ip++];
            } while (more == 255);
        if (literals > size - ip || literals > n - op)
            return -1;
        for (; literals; literals--)
            dst[op++] = src[ip++];
        if (ip == size)
            return op == n ? 0 : -1;
        if (size - ip < 2)
            return -1;
        size_t offset = (size_t)src[ip] | (size_t)src[ip + 1] << 8;
        ip += 2;
        if (match == 19)
            do {
                if (ip == size)
                    return -1;
                match += more = src[ip++];
            } while (more == 255);
        if (!offset || offset > op || match > n - op)
            return -1;
        for (; match; match--, op++)
            dst[op] = dst[op - offset];
    }
    return -1;
}

/* Bit-planes to elements, one bit at a time. */
static inline void ref_pixels(const uint8_t *planes, size_t bytes, unsigned elem_size, uint8_t *out)
{
    size_t plane = bytes / (8 * elem_size), n = bytes / elem_size;
    memset(out, 0, bytes);
    for (size_t e = 0; e < n; e++)
        for (unsigned b = 0; b < 8 * elem_size; b++)
            out[e * elem_size + b / 8] |= (uint8_t)((planes[b * plane + e / 8] >> e % 8 & 1) << b % 8);
}

/* What a block decodes to. */
struct ref_block {
    int status;
    uint8_t *planes, *pixels;
};

static inline void ref_free(struct ref_block *r)
{
    free(r->planes);
    free(r->pixels);
}

/* NULL, or what is wrong with liblz4 or with the decoder above. */
static inline const char *ref_decode(struct ref_block *r, const uint8_t *src, size_t size, size_t bytes,
                                     unsigned elem_size)
{
    uint8_t *again = malloc(bytes);
    const char *wrong = NULL;
    r->planes = malloc(bytes);
    r->pixels = malloc(bytes);
    int strict = ref_lz4(src, size, r->planes, bytes);
    int lz4 =
        LZ4_decompress_safe((const char *)src, (char *)again, (int)size, (int)bytes) == (int)bytes ? 0 : -1;
    r->status = strict || lz4 ? HCY_ECORRUPT : 0;
    if (!r->status && memcmp(r->planes, again, bytes))
        wrong = "liblz4 and the format's letter differ";
    if (!r->status)
        ref_pixels(r->planes, bytes, elem_size, r->pixels);
    free(again);
    return wrong;
}

static inline int all_are(const uint8_t *p, size_t n, uint8_t value)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != value)
            return 0;
    return 1;
}

/* The planes a variant wrote, and those it says are equal to the last of them. */
static inline int same_planes(const uint8_t *planes, unsigned same_from, const uint8_t *want, size_t bytes,
                              unsigned elem_size)
{
    size_t plane = bytes / (8 * elem_size);
    if (same_from >= 8 * elem_size || memcmp(planes, want, (same_from + 1) * plane))
        return 0;
    for (unsigned k = same_from; k < 8 * elem_size; k++)
        if (memcmp(planes + same_from * plane, want + k * plane, plane))
            return 0;
    return 1;
}

/* One variant on one block, with `ahead` readable bytes behind it and guards around everything; NULL or what
 * is wrong. */
static inline const char *ref_compare(const struct ref_block *r, const struct cpu_block_ops *ops,
                                      const uint8_t *src, size_t size, size_t ahead, size_t bytes,
                                      unsigned elem_size)
{
    enum { GUARD = 64, MARK = 0xA5 };
    hcy_bslz4_job job = { HCY_CODEC_BSLZ4, elem_size, bytes, 0, 0 };
    size_t work_size = CPU_BLOCK_WORK(bytes), room = (work_size + GUARD + 63) / 64 * 64;
    uint8_t *in = malloc(size + ahead), *work = aligned_alloc(64, room), *out = malloc(bytes + GUARD);
    const char *wrong = NULL;
    unsigned same_from = 0;
    memcpy(in, src, size);
    memset(in + size, MARK, ahead);
    memset(work, MARK, room);
    memset(out, MARK, bytes + GUARD);
    int st = ops->planes(in, size, in + size + ahead, bytes, elem_size, work + CPU_BLOCK_LEAD, &same_from);
    if (st != r->status)
        wrong = st ? "a good block refused" : "a damaged block accepted";
    else if (!st && !same_planes(work + CPU_BLOCK_LEAD, same_from, r->planes, bytes, elem_size))
        wrong = "wrong planes";
    else if (cpu_bslz4_block(ops, &job, in, (uint32_t)size, in + size + ahead, bytes, work, out) != st)
        wrong = "planes and pixels disagree on a block";
    else if (!st && memcmp(out, r->pixels, bytes))
        wrong = "wrong pixels";
    else if (!all_are(work, CPU_BLOCK_LEAD, MARK) || !all_are(work + work_size, room - work_size, MARK))
        wrong = "written outside the working space";
    else if (!all_are(out + bytes, GUARD, MARK))
        wrong = "written past the pixels";
    free(in);
    free(work);
    free(out);
    return wrong;
}

/* --- The strict decoder: a chunk of filter 32008 with LZ4, by the letter --- */

static inline uint32_t be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline int strict_chunk(uint8_t *image, size_t image_bytes, unsigned elem, const uint8_t *chunk, size_t size)
{
    static const size_t usual = 8192;
    size_t at = 12, done = 0, coded = image_bytes / (8 * elem) * (8 * elem);
    if (size < 12 || be32(chunk) || be32(chunk + 4) != image_bytes)
        return -1;
    size_t block = be32(chunk + 8) ? be32(chunk + 8) : usual;
    if (block % (8 * elem))
        return -1;
    while (done < coded) {
        size_t bytes = block < coded - done ? block : coded - done;
        struct ref_block want;
        if (size - at < 4 || !be32(chunk + at) || be32(chunk + at) > size - at - 4)
            return -1;
        size_t n = be32(chunk + at);
        int bad = ref_decode(&want, chunk + at + 4, n, bytes, elem) != NULL || want.status;
        if (!bad)
            memcpy(image + done, want.pixels, bytes);
        ref_free(&want);
        if (bad)
            return -1;
        at += 4 + n;
        done += bytes;
    }
    if (size - at != image_bytes - coded)
        return -1;
    memcpy(image + coded, chunk + at, image_bytes - coded);
    return 0;
}

#endif
