/* encode.c - chunks made from images, for writing stacks: the framing that table.c reads, LZ4 through liblz4.
 *
 * Not in a hurry: one thread, plain C.  No state; any thread.
 */
#include "bslz4_bits.h"
#include "bslz4_priv.h"
#include <lz4.h>
#include <stdlib.h>
#include <string.h>

/* `bytes` of elements to bit-planes: see the bit order in bslz4_format.h.  Eight elements' bytes of one significance
 * make a square of bits, whose transpose holds a byte of each of eight planes. */
static void shuffle_block(uint8_t *planes, const uint8_t *pixels, size_t bytes, unsigned elem_size)
{
    size_t plane = bytes / (8 * elem_size);
    for (size_t j = 0; j < plane; j++) {
        const uint8_t *eight = pixels + j * 8 * elem_size;
        for (unsigned k = 0; k < elem_size; k++) {
            uint64_t x = 0;
            for (unsigned i = 0; i < 8; i++)
                x |= (uint64_t)eight[i * elem_size + k] << 8 * i;
            x = hcy_transpose8(x);
            for (unsigned b = 0; b < 8; b++)
                planes[(8 * k + b) * plane + j] = (uint8_t)(x >> 8 * b);
        }
    }
}

static void store_be(uint8_t *p, uint64_t v, unsigned n)
{
    while (n--) {
        p[n] = (uint8_t)v;
        v >>= 8;
    }
}

/* Where the chunk grows. */
struct writer {
    uint8_t *at, *end;
};

static int fail_for_room(void)
{
    return hcy_fail(HCY_ERANGE, "hcy_bslz4_encode: no room; hcy_bslz4_encode_bound() says what is enough");
}

/* Puts bytes as they are. */
static int put_bytes(struct writer *w, const uint8_t *bytes, size_t n)
{
    if ((size_t)(w->end - w->at) < n)
        return fail_for_room();
    memcpy(w->at, bytes, n);
    w->at += n;
    return 0;
}

static size_t code_lz4(void *to, size_t room, const void *from, size_t n, int level)
{
    (void)level;
    int coded = LZ4_compress_default(from, to, (int)n, (int)room);
    return coded > 0 ? (size_t)coded : 0;
}

static size_t bound_lz4(size_t n)
{
    return (size_t)LZ4_COMPRESSBOUND((unsigned)n);
}

const hcy__bslz4_coder hcy__bslz4_lz4 = { code_lz4, bound_lz4, 0 };

/* A block with its length before it; `stored` if it may be left as it is where the code does not shorten it.
 */
static int put_coded_block(struct writer *w, const hcy__bslz4_coder *coder, const uint8_t *bytes, size_t n,
                           int stored)
{
    if (w->end - w->at < 4)
        return fail_for_room();
    /* Filter 32004 takes a length as long as the block for "stored", so there a code must be shorter to count.  Without
     * that way out the room is what a code may need, which fits into the int that coders take. */
    size_t room = (size_t)(w->end - w->at - 4), most = stored ? n - 1 : coder->bound(n);
    if (room > most)
        room = most;
    size_t coded = room ? coder->code(w->at + 4, room, bytes, n, coder->level) : 0;
    if (coded > 0) {
        store_be(w->at, coded, 4);
        w->at += 4 + coded;
        return 0;
    }
    if (!stored)
        return fail_for_room();
    store_be(w->at, n, 4);
    w->at += 4;
    return put_bytes(w, bytes, n);
}

static int encode_blocks(struct writer *w, const hcy_bslz4_job *job, const hcy_bslz4_frame *frame,
                         const hcy__bslz4_coder *coder, const uint8_t *image, uint8_t *planes)
{
    for (uint32_t b = 0; b < frame->n_blocks; b++) {
        size_t n = HCY_BLOCK_BYTES(frame, b);
        const uint8_t *bytes = image + (size_t)b * frame->block_bytes;
        /* Bit-planes have their zeros side by side, which is what makes photon counts short. */
        if (planes) {
            shuffle_block(planes, bytes, n, job->elem_size);
            bytes = planes;
        }
        int st;
        if (hcy__bslz4_has_header(job->codec))
            st = put_coded_block(w, coder, bytes, n, job->codec == HCY_CODEC_LZ4);
        else
            st = put_bytes(w, bytes, n);
        if (st)
            return st;
    }
    return put_bytes(w, image + job->image_bytes - frame->tail_bytes, frame->tail_bytes);
}

int hcy__bslz4_encode_bound(size_t *bound, const hcy_bslz4_job *job, const hcy__bslz4_coder *coder)
{
    hcy_bslz4_frame frame = { 0 };
    size_t coded = 0;
    int st = hcy__bslz4_check_chunk(job);
    if (st)
        return st;
    hcy__bslz4_cut(&frame, job, hcy__bslz4_block_bytes(job));
    /* The image's own bytes, and on top what its blocks may become longer, with their lengths and the header. */
    if (hcy__bslz4_has_header(job->codec)) {
        size_t longer = coder->bound(frame.block_bytes) - frame.block_bytes;
        st = hcy_size_mul(&coded, frame.n_blocks, longer + 4);
        if (!st)
            st = hcy_size_add(&coded, coded, HCY__BSLZ4_HEADER);
    }
    return st ? st : hcy_size_add(bound, coded, job->image_bytes);
}

int hcy_bslz4_encode_bound(size_t *bound, const hcy_bslz4_job *job)
{
    int st = hcy__bslz4_check_job(job);
    if (!st && !bound)
        st = hcy_fail(HCY_EINVAL, "hcy_bslz4_encode_bound: nowhere to put the number");
    return st ? st : hcy__bslz4_encode_bound(bound, job, &hcy__bslz4_lz4);
}

int hcy__bslz4_encode(size_t *size, void *chunk, size_t capacity, const hcy_bslz4_job *job,
                      const hcy__bslz4_coder *coder, const void *image)
{
    hcy_bslz4_frame frame = { 0 };
    struct writer w = { chunk, (uint8_t *)chunk + capacity };
    uint8_t *planes = NULL, header[HCY__BSLZ4_HEADER];
    int st = hcy__bslz4_check_chunk(job);
    if (st)
        return st;
    uint32_t block_bytes = hcy__bslz4_block_bytes(job);
    hcy__bslz4_cut(&frame, job, block_bytes);
    /* An image smaller than eight elements has no block and needs no planes. */
    if (hcy__bslz4_has_planes(job->codec) && frame.n_blocks) {
        planes = malloc(frame.block_bytes);
        if (!planes)
            return hcy_fail(HCY_ENOMEM, "hcy_bslz4_encode: no memory for a block of %u bytes",
                            frame.block_bytes);
    }
    /* The size that was asked for, not the one that a small image was cut to: who reads it cuts it in the same way. */
    if (hcy__bslz4_has_header(job->codec)) {
        store_be(header, job->image_bytes, 8);
        store_be(header + 8, block_bytes, 4);
        st = put_bytes(&w, header, sizeof header);
    }
    if (!st)
        st = encode_blocks(&w, job, &frame, coder, image, planes);
    if (!st)
        *size = (size_t)(w.at - (uint8_t *)chunk);
    free(planes);
    return st;
}

int hcy_bslz4_encode(size_t *size, void *chunk, size_t capacity, const hcy_bslz4_job *job, const void *image)
{
    int st = hcy__bslz4_check_job(job);
    if (!st && (!size || !chunk || !image))
        st = hcy_fail(HCY_EINVAL, "hcy_bslz4_encode: size, chunk and image are needed");
    return st ? st : hcy__bslz4_encode(size, chunk, capacity, job, &hcy__bslz4_lz4, image);
}
