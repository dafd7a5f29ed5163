/* decode_fast.cl - the usual blocks to images: GPU_LANES a block, its window and then its pixels in local memory.
 *
 * OUT: words that an item writes at once, 1, 2 or 4, as images are aligned.  DECODE_BLOCKS of a group.
 */
#pragma once
#include "bslz4/decode_rest.cl"
#include "bslz4/parse_lanes.cl"

/* Pixels to words of the image: one of 4 bytes, or two of 2. */
#define ROWS (32 * ELEM / 4)
DEVICE void pack_pixels(u32 a[32])
{
#if ELEM == 2
    UNROLL
    for (int i = 0; i < ROWS; i++)
        a[i] = a[2 * i] | a[2 * i + 1] << 16;
#endif
}

/* Where all planes above the low eight are alike, so that pixels are bytes or of all ones above a byte (gaps between a
 * detector's modules): the bytes in the pixels' order, then a bit a pixel for what is above them.  False, and nothing
 * done, where they are not. */
#define WORDS (PLANE_WORDS / GPU_LANES) /* of a plane, that a lane takes */
DEVICE int bytes_from_planes(NEAR u32 *words, const NEAR struct plane_places *places, u32 new_planes, u32 lane)
{
    u32 q[WORDS][8], above[WORDS], differ = 0;
    UNROLL
    for (u32 h = 0; h < WORDS; h++) {
        const NEAR u32 *at = words + ((const NEAR u32 *)places)[8] + GPU_LANES * h + lane;
        above[h] = *at;
        for (u32 late = new_planes >> 9; late; late &= late - 1)
            differ |= above[h] ^ *(at += PLANE_WORDS);
    }
    /* Nothing has been written so far, so the other way finds the window as it was. */
    if (ANY(differ))
        return 0;
    UNROLL
    for (u32 h = 0; h < WORDS; h++) {
        load_eight_planes(words, places, GPU_LANES * h + lane, 0, q[h]);
        transpose8x4(q[h]);
    }
    /* The bytes take the planes' place, so all lanes must have read theirs before one writes. */
    LANES_BARRIER();
    UNROLL
    for (u32 h = 0; h < WORDS; h++) {
        /* A lane has 32 pixels, of which a transposition gives every eighth; two more bring them into
         * their order. */
        u32 even[4], odd[4];
        transpose4x4(q[h], even);
        transpose4x4(q[h] + 4, odd);
        NEAR uint4 *to = (NEAR uint4 *)words + 2 * (GPU_LANES * h + lane);
        uint4 a = { even[0], odd[0], even[1], odd[1] }, b = { even[2], odd[2], even[3], odd[3] };
        to[0] = a;
        to[1] = b;
        words[PLANE_WORDS * 8 + GPU_LANES * h + lane] = above[h];
    }
    LANES_BARRIER();
    return 1;
}

/* Four words of the image from those bytes.  The bits of four pixels become the signs of four bytes. */
DEVICE void widen_bytes(const NEAR u32 *words, u32 i, u32 x[4])
{
    const NEAR u32 *above = words + PLANE_WORDS * 8;
#if ELEM == 4
    u32 v = words[i / 4], sign = (above[i / 32] >> (i & 31) & 15) * 0x10204080u;
    UNROLL
    for (u32 k = 0; k < 4; k++)
        x[k] = SIGN_PERM(v, sign, 0xccc0 + 0x1111 * k);
#else
    u32 m = above[i / 16] >> (2 * i & 31);
    UNROLL
    for (u32 k = 0; k < 2; k++) {
        u32 v = words[i / 2 + k], sign = (m >> 4 * k & 15) * 0x10204080u;
        x[2 * k] = SIGN_PERM(v, sign, 0xd1c0);
        x[2 * k + 1] = SIGN_PERM(v, sign, 0xf3e2);
    }
#endif
}

/* n words of an image, which may begin at any. */
DEVICE void write_bytes(const NEAR u32 *words, u32 *out, u32 n, u32 lane)
{
    /* Frames whose size is no multiple of 16 bytes begin anywhere: writes are as wide as the address
     * allows. */
    u32 odd = (u32)(u64)out & 15;
    for (u32 i = 4 * lane; i < n; i += 4 * GPU_LANES) {
        u32 x[4];
        widen_bytes(words, i, x);
        uint4 v = { x[0], x[1], x[2], x[3] };
        uint2 a = { x[0], x[1] }, b = { x[2], x[3] };
        if (!odd && i + 4 <= n) {
            *(uint4 *)(out + i) = v;
        } else if (odd == 8 && i + 4 <= n) {
            *(uint2 *)(out + i) = a;
            *(uint2 *)(out + i + 2) = b;
        } else {
            UNROLL
            for (u32 k = 0; k < 4; k++)
                if (i + k < n)
                    out[i + k] = x[k];
        }
    }
}

KERNEL GROUPS_OF(DECODE_BLOCKS * GPU_LANES, 24 / DECODE_BLOCKS)
void gpu_decode_fast(struct gpu_batch batch, BUFFER(const u8, chunks), BUFFER(const hcy_bslz4_frame, frames),
                     BUFFER(const hcy_bslz4_block, blocks), BUFFER(const struct block_info, infos),
                     BUFFER(const struct command, commands), BUFFER(u8, images))
{
    OPEN(const u8, chunks) OPEN(const hcy_bslz4_frame, frames) OPEN(const hcy_bslz4_block, blocks)
    OPEN(const struct block_info, infos) OPEN(const struct command, commands) OPEN(u8, images)
    DYNAMIC_LOCAL(room, DECODE_BLOCKS * GPU_BLOCK);
    LOCAL uint4 queues[DECODE_BLOCKS][QUEUE];
    LOCAL struct plane_places places[DECODE_BLOCKS];
    u32 lane = ITEM % GPU_LANES, warp = ITEM / GPU_LANES, b = GROUP * DECODE_BLOCKS + warp, item = GROUP_Y;
    if (b >= batch.n_blocks)
        return;
    u64 block_at = (u64)item * batch.n_blocks + b;
    struct block_info info = infos[block_at];
    /* This block is `rest`'s, or its frame is not decoded at all. */
    if (!info.counts)
        return;
    const hcy_bslz4_frame *f = &frames[item];
    NEAR u8 *window = room + warp * GPU_BLOCK;
    NEAR u32 *words = (NEAR u32 *)window;
    u32 skip;
    struct source source = far_source(chunks + f->offset + blocks[f->first_block + b].offset, &skip);
    /* Each warp has a window and a queue of its own, so warps never wait for one another. */
    carry_out(f, chunks, b, &info, commands + block_at * (2 * COMMANDS), &source, skip, window, queues[warp], lane);
    find_planes(&places[warp], info.new_planes, lane);
    LANES_BARRIER();
    u32 *out = (u32 *)(images + item * batch.image_bytes + (u64)b * GPU_BLOCK);
    u64 left = (batch.image_bytes - (u64)b * GPU_BLOCK) / 4;
    u32 n = left < GPU_BLOCK / 4 ? (u32)left : GPU_BLOCK / 4;
    /* Most detectors' pixels fit a byte, and this way is the shorter one. */
    if (bytes_from_planes(words, &places[warp], info.new_planes, lane)) {
        write_bytes(words, out, n, lane);
        return;
    }
    /* In place, a column a lane: row i of column w goes to column w ^ i, so that rows are read without
     * conflict. */
    for (u32 w = lane; w < PLANE_WORDS; w += GPU_LANES) {
        u32 a[32];
        load_pixels(words, &places[warp], info.new_planes, w, a);
        pack_pixels(a);
        LANES_BARRIER();
        UNROLL
        for (u32 i = 0; i < ROWS; i++)
            words[i * PLANE_WORDS + (w ^ i)] = a[i];
    }
    LANES_BARRIER();
    /* What a lane writes next is a multiple of the rows further on, so its row stays the same. */
    u32 row = lane * OUT % ROWS; /* of all that the lane writes */
    const NEAR u32 *from = words + row * PLANE_WORDS;
    for (u32 i = lane * OUT; i < n; i += GPU_LANES * OUT) {
        u32 at = (i / ROWS) ^ row;
#if OUT == 4
        uint4 v = { from[at], from[PLANE_WORDS + (at ^ 1)], from[2 * PLANE_WORDS + (at ^ 2)],
                    from[3 * PLANE_WORDS + (at ^ 3)] };
        *(uint4 *)(out + i) = v;
#elif OUT == 2
        uint2 v = { from[at], from[PLANE_WORDS + (at ^ 1)] };
        *(uint2 *)(out + i) = v;
#else
        out[i] = from[at];
#endif
    }
}
