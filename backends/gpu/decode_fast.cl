/* decode_fast.cl - the usual blocks to images: 32 lanes a block, its window and then its pixels in local memory.
 *
 * OUT: words that an item writes at once, 1, 2 or 4, as images are aligned.  DECODE_BLOCKS of a group.
 */

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

KERNEL GROUPS_OF(DECODE_BLOCKS * 32, 24 / DECODE_BLOCKS)
void gpu_decode_fast(struct gpu_batch batch, BUFFER(const u8, chunks), BUFFER(const hcy_bslz4_frame, frames),
                     BUFFER(const hcy_bslz4_block, blocks), BUFFER(const struct block_info, infos),
                     BUFFER(const struct command, commands), BUFFER(u8, images))
{
    OPEN(const u8, chunks) OPEN(const hcy_bslz4_frame, frames) OPEN(const hcy_bslz4_block, blocks)
    OPEN(const struct block_info, infos) OPEN(const struct command, commands) OPEN(u8, images)
    DYNAMIC_LOCAL(room, DECODE_BLOCKS * GPU_BLOCK);
    LOCAL uint4 queues[DECODE_BLOCKS][QUEUE];
    LOCAL struct plane_places places[DECODE_BLOCKS];
    u32 lane = ITEM % 32, warp = ITEM / 32, b = GROUP * DECODE_BLOCKS + warp, item = GROUP_Y;
    if (b >= batch.n_blocks)
        return;
    u64 block_at = (u64)item * batch.n_blocks + b;
    struct block_info info = infos[block_at];
    if (!info.counts)
        return;
    const hcy_bslz4_frame *f = &frames[item];
    NEAR u8 *window = room + warp * GPU_BLOCK;
    NEAR u32 *words = (NEAR u32 *)window;
    u32 skip;
    struct source source = far_source(chunks + f->offset + blocks[f->first_block + b].offset, &skip);
    carry_out(f, chunks, b, &info, commands + block_at * (2 * COMMANDS), &source, skip, window, queues[warp], lane);
    find_planes(&places[warp], info.new_planes, lane);
    LANES_BARRIER();
    /* In place, 32 columns at a time: row i of column w goes to column w ^ i, so that rows are read without
     * conflict. */
    for (u32 w = lane; w < PLANE_WORDS; w += 32) {
        u32 a[32];
        load_pixels(words, &places[warp], info.new_planes, w, a);
        pack_pixels(a);
        LANES_BARRIER();
        UNROLL
        for (u32 i = 0; i < ROWS; i++)
            words[i * PLANE_WORDS + (w ^ i)] = a[i];
    }
    LANES_BARRIER();
    u32 *out = (u32 *)(images + item * batch.image_bytes + (u64)b * GPU_BLOCK);
    u32 row = lane * OUT % ROWS; /* of all that the lane writes */
    const NEAR u32 *from = words + row * PLANE_WORDS;
    u64 left = (batch.image_bytes - (u64)b * GPU_BLOCK) / 4;
    u32 n = left < GPU_BLOCK / 4 ? (u32)left : GPU_BLOCK / 4;
    for (u32 i = lane * OUT; i < n; i += 32 * OUT) {
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
