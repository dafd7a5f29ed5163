/* blocks.cl - decoding blocks of compressed pixels: what every batch needs, and the general way of one block.
 *
 * The general way: a group takes a block, all its items walk the LZ4 sequences together and share each copy.  It
 * takes any codec, element size and block size, and its verdict on a damaged block is liblz4's.
 */
#pragma once
#include "dialect.h"
#include "bslz4/bslz4_format.h"
#include "azint/azint_format.h"
#include "gpu_format.h"

#define ERROR_INVALID (-1)
#define ERROR_CORRUPT (-8)

/* --- LZ4 --- */

struct lz4_sequence {
    u32 literals_at, literals; /* in the stream */
    u32 offset, match;         /* match 0: the last sequence */
};

/* No block is longer, so no length need be. */
#define LZ4_LONGEST 0x7e000000

/* Adds a length's further bytes to *length; false past `limit`, or if it is longer than any block. */
DEVICE int lz4_length(const u8 *s, i32 *at, i32 limit, i32 *length)
{
    i32 q = *at;
    /* Long matches have lengths of many bytes of 255, of which four at a time are read. */
    while (q + 4 <= limit && (s[q] & s[q + 1] & s[q + 2] & s[q + 3]) == 255 && *length < LZ4_LONGEST) {
        *length += 4 * 255;
        q += 4;
    }
    for (;;) {
        i32 more = s[q++];
        *length += more;
        /* The verdict must be liblz4's: it stops at the same byte. */
        if (q > limit || *length > LZ4_LONGEST)
            return 0;
        if (more != 255)
            break;
    }
    *at = q;
    return 1;
}

/* The sequence at *at of a stream of n bytes, when *made of `total` bytes are made: *at and *made move behind it.
 * False: the stream is damaged, by the rules of LZ4_decompress_safe(), or has an offset of 0. */
DEVICE int lz4_next(const u8 *s, i32 n, i32 total, i32 *at, i32 *made, struct lz4_sequence *seq)
{
    i32 q = *at;
    u32 token = s[q++];
    i32 literals = (i32)(token >> 4), match = (i32)(token & 15) + 4;
    /* liblz4 does not look closely at a short sequence with enough room before both ends. */
    int roomy = literals < 15 && n - q >= 17 && total - *made >= 32;
    if (literals == 15 && (q >= n - 15 || !lz4_length(s, &q, n - 15, &literals)))
        return 0;
    /* Literals come first in every sequence, and the last one has nothing else. */
    seq->literals_at = (u32)q;
    seq->literals = (u32)literals;
    seq->match = 0;
    seq->offset = 0;
    if (literals > total - *made || literals > n - q)
        return 0;
    q += literals;
    i32 pos = *made + literals;
    /* LZ4 ends with literals: so near to the end no match may begin, and the stream must end exactly here. */
    if (!roomy && (pos > total - 12 || q > n - 8)) {
        *made = pos;
        *at = q;
        return q == n && pos == total;
    }
    u32 offset = s[q] | (u32)s[q + 1] << 8;
    q += 2;
    int is_short = match < 19;
    if (!is_short && !lz4_length(s, &q, n - 4, &match))
        return 0;
    /* A match must begin behind the block's first byte, and leaves at least five bytes to literals. */
    i32 behind = roomy && is_short && offset >= 8 ? 0 : 5;
    if (!offset || offset > (u32)pos || match > total - behind - pos)
        return 0;
    seq->offset = offset;
    seq->match = (u32)match;
    *made = pos + match;
    *at = q;
    return 1;
}

#if GROUP_SIZE == 1
/* Wherever they begin. */
typedef ulong __attribute__((aligned(1))) bytes8;
typedef ulong4 __attribute__((aligned(1))) bytes32;

/* Copies n bytes that do not depend on one another nearer than 8 bytes; eight at a time as long as these are `room`
 * bytes' own, on both sides. */
DEVICE void copy_alone(u8 *to, const u8 *from, u32 n, u32 room)
{
    u32 i = 0;
    for (; i < n && i + 8 <= room; i += 8)
        *(bytes8 *)(to + i) = *(const bytes8 *)(from + i);
    for (; i < n; i++)
        to[i] = from[i];
}

/* The same of whole lines of 32 bytes, as long as source and destination are that far apart. */
DEVICE u32 copy_lines(u8 *to, const u8 *from, u32 n)
{
    u32 i = 0;
    for (; i + 32 <= n; i += 32)
        *(bytes32 *)(to + i) = *(const bytes32 *)(from + i);
    return i;
}

DEVICE void copy_match_alone(u8 *to, u32 offset, u32 n, u32 room)
{
    u32 i = 0;
    /* Whole lines may be copied only where a line's source is written before it is read. */
    if (offset >= 32) {
        i = copy_lines(to, to - offset, n);
    } else if (offset < 8) { /* repeated until it is further away */
        u32 step = offset * ((7 + offset) / offset);
        for (; i < n && i < step; i++)
            to[i] = (to - offset)[i];
        offset = step;
    }
    copy_alone(to + i, to + i - offset, n - i, room - i);
}

/* One block of exactly `total` bytes. */
DEVICE_CALL int lz4_block(const u8 *s, u32 n, u8 *to, u32 total)
{
    i32 at = 0, made = 0;
    struct lz4_sequence seq;
    do {
        u32 begin = (u32)made, room;
        if (!lz4_next(s, (i32)n, (i32)total, &at, &made, &seq))
            return 0;
        /* Copies may write behind their end what later ones write again, but never behind the block's. */
        room = total - begin < n - seq.literals_at ? total - begin : n - seq.literals_at;
        copy_alone(to + begin, s + seq.literals_at, seq.literals, room);
        begin += seq.literals;
        if (seq.match)
            copy_match_alone(to + begin, seq.offset, seq.match, total - begin);
    } while (seq.match);
    return 1;
}
#else
/* One block of exactly `total` bytes by the whole group.  `to` is memory of the group's own. */
DEVICE_CALL int lz4_block(const u8 *s, u32 n, u8 *to, u32 total)
{
    i32 at = 0, made = 0;
    struct lz4_sequence seq;
    do {
        i32 begin = made;
        if (!lz4_next(s, (i32)n, (i32)total, &at, &made, &seq))
            return 0;
        /* All items have parsed the same sequence; each copies its share of the bytes. */
        for (u32 i = ITEM; i < seq.literals; i += GROUP_SIZE)
            to[begin + i] = s[seq.literals_at + i];
        u32 pos = (u32)begin + seq.literals;
        BARRIER();
        /* A match that overlaps itself repeats its first bytes, which are all written: no item waits for
         * another. */
        for (u32 i = ITEM; i < seq.match; i += GROUP_SIZE)
            to[pos + i] = to[pos - seq.offset + (i < seq.offset ? i : i % seq.offset)];
        BARRIER();
    } while (seq.match);
    return 1;
}
#endif

/* --- Bit-planes --- */

/* Bit b of byte i of the result is bit i of byte b of x. */
DEVICE u64 transpose8(u64 x)
{
    u64 t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAul;
    x ^= t ^ (t << 7);
    t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCul;
    x ^= t ^ (t << 14);
    t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0ul;
    return x ^ t ^ (t << 28);
}

/* Byte `digit` of eight elements, from planes of `plane` bytes each: element 8 i + k in byte k. */
DEVICE u64 eight_bytes(const u8 *planes, u32 plane, u32 digit, u32 i)
{
    u64 x = 0;
    for (u32 b = 0; b < 8; b++)
        x |= (u64)planes[(8 * digit + b) * plane + i] << 8 * b;
    return transpose8(x);
}

/* --- Frames and blocks --- */

/* The table was checked where it was made; a kernel still reads and writes nothing outside its buffers. */
DEVICE int frame_fits(const hcy_bslz4_frame *f, const struct gpu_batch *batch)
{
    /* Planes have whole bytes, so blocks have multiples of eight elements. */
    u32 unit =
        batch->codec == HCY_CODEC_BSLZ4 || batch->codec == HCY_CODEC_BITSHUFFLE ? 8 * batch->elem_size : 1;
    u64 bytes = f->tail_bytes;
    if (f->n_blocks)
        bytes += (u64)(f->n_blocks - 1) * f->block_bytes + f->last_bytes;
    return f->offset <= batch->chunks_size && f->size <= batch->chunks_size - f->offset &&
           f->first_block <= batch->table_blocks && f->n_blocks <= batch->table_blocks - f->first_block &&
           bytes == batch->image_bytes && (!f->n_blocks || (f->block_bytes && f->last_bytes <= f->block_bytes)) &&
           f->block_bytes % unit == 0 && f->last_bytes % unit == 0 && (u64)f->tail_offset + f->tail_bytes <= f->size;
}

DEVICE u32 decoded_bytes(const hcy_bslz4_frame *f, u32 block)
{
    return block + 1 == f->n_blocks ? f->last_bytes : f->block_bytes;
}

DEVICE int block_fits(const hcy_bslz4_frame *f, hcy_bslz4_block block, u32 bytes)
{
    u32 size = block.size & ~HCY_BLOCK_STORED;
    return size && (u64)block.offset + size <= f->size && (!(block.size & HCY_BLOCK_STORED) || size == bytes);
}

DEVICE struct gpu_frame_state *frame_states(struct gpu_state *state)
{
    return (struct gpu_frame_state *)(state + 1);
}

DEVICE struct gpu_listed *list_of(struct gpu_state *state, u32 items)
{
    return (struct gpu_listed *)(frame_states(state) + items);
}

DEVICE void list_block(struct gpu_state *state, const struct gpu_batch *batch, u32 item, u32 block)
{
    u32 at = ATOMIC_ADD32(&state->listed, 1);
    struct gpu_listed listed = { item, block };
    /* The count goes on beyond the room, but nothing is written there. */
    if (at < batch->list_room)
        list_of(state, batch->items)[at] = listed;
}

/* A frame for the fast kernels: the usual blocks, fewer than eight elements behind them, which go with the last one,
 * and bytes behind it that they may read together with its own. */
DEVICE int is_usual(const hcy_bslz4_frame *f, const struct gpu_batch *batch)
{
    return batch->fast && f->block_bytes == GPU_BLOCK && f->n_blocks == batch->n_blocks && f->last_bytes &&
           f->tail_bytes < 8 * batch->elem_size &&
           batch->chunks_size - f->offset - f->size >= 64 && f->offset % 16 == 0;
}

/* A frame's report as it is before any block, and its way. */
DEVICE void begin_frame(const struct gpu_batch *batch, const hcy_bslz4_frame *f, hcy_frame_report *reports,
                        struct gpu_state *state, u32 item)
{
    hcy_frame_report report = { f->status, 0, 0, 0 };
    /* What the host has refused keeps its status. */
    if (!f->status && !frame_fits(f, batch))
        report.status = ERROR_INVALID;
    struct gpu_frame_state s = { 0xffffffffu, GPU_WAY_REST, 0, 0 };
    if (report.status)
        s.way = GPU_WAY_NONE;
    else if (is_usual(f, batch))
        s.way = GPU_WAY_FAST;
    /* `rest` looks at the frames one by one only if there is something for it. */
    if (s.way == GPU_WAY_REST || (s.way == GPU_WAY_FAST && f->tail_bytes && f->last_bytes == f->block_bytes))
        ATOMIC_MAX32(&state->loose, 1);
    reports[item] = report;
    frame_states(state)[item] = s;
}

/* What became of it. */
DEVICE void end_frame(const hcy_bslz4_frame *f, const hcy_bslz4_block *blocks, hcy_frame_report *reports,
                      struct gpu_state *state, u32 item)
{
    u32 damaged = frame_states(state)[item].damaged;
    /* The lowest damaged block is reported, so that the report does not depend on which group came first. */
    if (damaged == 0xffffffffu)
        return;
    reports[item].status = ERROR_CORRUPT;
    reports[item].block = damaged;
    reports[item].byte = blocks[f->first_block + damaged].offset;
    reports[item].n_lost = 0; /* of its good blocks */
}

/* One item a frame. */
KERNEL void gpu_begin(struct gpu_batch batch, BUFFER(const hcy_bslz4_frame, frames),
                      BUFFER(hcy_frame_report, reports), BUFFER(struct gpu_state, state))
{
    OPEN(const hcy_bslz4_frame, frames) OPEN(hcy_frame_report, reports) OPEN(struct gpu_state, state)
    u32 i = ITEM_OF_ALL;
    if (i < batch.items)
        begin_frame(&batch, &frames[i], reports, state, i);
}

/* One item a frame. */
KERNEL void gpu_end(struct gpu_batch batch, BUFFER(const hcy_bslz4_frame, frames),
                    BUFFER(const hcy_bslz4_block, blocks), BUFFER(hcy_frame_report, reports),
                    BUFFER(struct gpu_state, state))
{
    OPEN(const hcy_bslz4_frame, frames) OPEN(const hcy_bslz4_block, blocks) OPEN(hcy_frame_report, reports)
    OPEN(struct gpu_state, state)
    u32 i = ITEM_OF_ALL;
    if (i < batch.items)
        end_frame(&frames[i], blocks, reports, state, i);
}

/* --- The general way --- */

/* Decoded blocks up to this size are kept in local memory, larger ones in the group's slot. */
#define LOCAL_BLOCK 8192

/* Where pixels come from once a block is decoded. */
struct decoded {
    const u8 *bytes; /* elements, or bit-planes of `plane` bytes */
    u32 plane, n, elem_size;
};

/* Elements 8 i to 8 i + 7 (or as many as there are). */
DEVICE void eight_elements(const struct decoded *d, u32 i, u64 values[8])
{
    u32 es = d->elem_size;
    for (u32 k = 0; k < 8; k++)
        values[k] = 0;
    /* Elements are put together byte by byte, whatever their size is. */
    for (u32 digit = 0; digit < es; digit++) {
        u64 x = d->plane ? eight_bytes(d->bytes, d->plane, digit, i) : 0;
        for (u32 k = 0; k < 8 && 8 * i + k < d->n; k++)
            values[k] |= (d->plane ? x >> 8 * k & 255 : (u64)d->bytes[(8 * i + k) * es + digit]) << 8 * digit;
    }
}

/* Decodes a block into `memory` where it has to be: false if it is damaged. */
DEVICE int decode_any(const u8 *coded, u32 size, u32 bytes, const struct gpu_batch *batch, u8 *memory,
                      struct decoded *d)
{
    int planes = batch->codec == HCY_CODEC_BSLZ4 || batch->codec == HCY_CODEC_BITSHUFFLE;
    /* Plain pixels are stored, whether or not their block says so. */
    int plain = batch->codec == HCY_CODEC_NONE, stored = plain || (size & HCY_BLOCK_STORED) != 0;
    d->elem_size = batch->elem_size;
    d->n = bytes / batch->elem_size;
    d->plane = planes ? bytes / (8 * batch->elem_size) : 0;
    /* Stored blocks are used where they are, without a copy. */
    d->bytes = stored ? coded : memory;
    if (stored)
        return !plain || (size & ~HCY_BLOCK_STORED) == bytes;
    return lz4_block(coded, size, memory, bytes);
}
