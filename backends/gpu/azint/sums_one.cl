/* sums_one.cl - a frame alone, on the shortest way to its curve: all lanes take a block from its coded bytes to its
 * sums and wait for no others.  Eight frames at once (sums_fast.cl) share what is read of the plan and so do more
 * in a second; of one frame, seven eighths of those lanes would be idle.
 *
 * All add to the same few sums, which lie in so few places of the device's cache that these would be what all wait
 * for: so there are GPU_FRAMES copies of them, as many as eight frames would have.
 *
 * Windows hold all planes, so blocks count as heavy only if many of their pixels exceed a byte: those are listed for
 * gpu_azint_heavy.
 */
#pragma once
#include "azint/sums_fast.cl"

/* The window's words of a tile to bytes; those that do not fit one are put apart. */
DEVICE void fill_one(const struct azint_target *t, const NEAR u32 *window, const NEAR struct plane_places *places,
                     u32 new_planes, NEAR u8 *pixels, u32 b, u32 tile, u32 lane)
{
    for (u32 w = lane; w < 64; w += GPU_LANES) {
        u64 first = (u64)b * BLOCK_PIXELS + tile * GPU_TILE + 32 * w;
        u32 masked = ((const u32 *)(t->plan.base + t->plan.at.masked))[first / 32], in = tile * 64 + w, q[8];
        u32 high = high_pixels(window, places, new_planes, in);
        load_eight_planes(window, places, in, 0, q);
        UNROLL
        for (int i = 0; i < 8; i++)
            q[i] &= ~high;
        transpose8x4(q);
        UNROLL
        for (int i = 0; i < 32; i++)
            pixels[i * GPU_PITCH + w] = (u8)(q[i & 7] >> (i & 24));
        /* too_bright() has made sure that these are few. */
        for (high &= ~masked; high; high &= high - 1) {
            u32 bit = (u32)FIRST_BIT(high);
            put_single_pixel(t, 0, first + bit, one_pixel(window, places, in, bit), 1);
        }
    }
    if (lane == 0)
        pixels[GPU_NO_PLACE] = 0;
    LANES_BARRIER();
}

#define SLICE_ROWS (GPU_SEGMENT / 4) /* of quads, at most: all are on their way at once */

/* A slice of a tile of bytes: a lane has a segment, four entries are one step. */
DEVICE void sum_slice_bytes(const struct azint_target *t, const NEAR u8 *pixels, u32 s, u32 first, u32 n, u32 lane)
{
    const struct azint_plan *plan = &t->plan;
    u32 bin = READ_ONLY((const u32 *)(plan->base + plan->at.bins) + s * GPU_LANES + lane), n_bins = plan->at.n_bins;
    const uint4 *quad = (const uint4 *)(plan->base + plan->at.quads) + (u64)first * GPU_QUAD_ROW + lane;
    u32 signal[3] = { 0, 0, 0 }, variance[3] = { 0, 0, 0 };
    /* All loads start before the first is used: one frame has too few warps to hide their latency. */
    uint4 weights[SLICE_ROWS], squares[SLICE_ROWS];
    UNROLL
    for (u32 k = 0; k < SLICE_ROWS; k++)
        if (k < n) {
            weights[k] = READ_ONLY(quad + GPU_QUAD_ROW * k);
            squares[k] = READ_ONLY(quad + GPU_QUAD_ROW * k + GPU_LANES);
        }
    UNROLL
    for (u32 k = 0; k < SLICE_ROWS; k++) {
        if (k >= n)
            break;
        uint4 c = weights[k], c2 = squares[k];
        /* Four pixels become a word, for dot products with four weights' bytes. */
        u32 y = BYTE_PERM(BYTE_PERM(pixels[c.w & GPU_ENTRY_PLACE], pixels[c.w >> 16 & GPU_ENTRY_PLACE], 0x0040),
                          BYTE_PERM(pixels[c2.w & GPU_ENTRY_PLACE], pixels[c2.w >> 16 & GPU_ENTRY_PLACE], 0x0040),
                          0x5410);
        signal[0] = DOT_BYTES(y, c.x, signal[0]);
        signal[1] = DOT_BYTES(y, c.y, signal[1]);
        signal[2] = DOT_BYTES(y, c.z, signal[2]);
        if (VARIANCE) {
            u32 z = LEAST ? one_at_least(y) : y;
            variance[0] = DOT_BYTES(z, c2.x, variance[0]);
            variance[1] = DOT_BYTES(z, c2.y, variance[1]);
            variance[2] = DOT_BYTES(z, c2.z, variance[2]);
        }
    }
    if (bin == GPU_NO_BIN)
        return;
    add_bytes(fast_row(t->fast, n_bins, 0, FAST_SIGNAL) + bin, signal);
    if (VARIANCE)
        add_bytes(fast_row(t->fast, n_bins, 0, FAST_VARIANCE) + bin, variance);
}

/* All slices of a tile, whose heads the lanes read together. */
DEVICE void sum_tile_alone(const struct azint_target *t, const NEAR u8 *pixels, u32 tile, u32 lane)
{
    const u32 *slice_of = (const u32 *)(t->plan.base + t->plan.at.slice_of);
    const struct gpu_slice *slices = (const struct gpu_slice *)(t->plan.base + t->plan.at.slices);
    u32 end = READ_ONLY(slice_of + tile + 1);
    for (u32 s = READ_ONLY(slice_of + tile); s < end; s += GPU_LANES) {
        struct gpu_slice head = { 0, 0 };
        u32 here = end - s < GPU_LANES ? end - s : GPU_LANES;
        /* A load for each slice would be waited for each time. */
        if (lane < here)
            head = slices[s + lane];
        for (u32 k = 0; k < here; k++)
            sum_slice_bytes(t, pixels, s + k, SHUFFLE(head.first, (int)k), SHUFFLE(head.n, (int)k), lane);
    }
    LANES_BARRIER();
}

/* What is added to begins as zeros, and so does the state; the frame is looked at. */
KERNEL GROUP_OF(GPU_ONE_BEGIN)
void gpu_azint_begin_one(struct gpu_batch batch, u32 n_bins, BUFFER(const hcy_bslz4_frame, frames),
                         BUFFER(hcy_frame_report, reports), BUFFER(struct gpu_state, state), BUFFER(u64, sums),
                         BUFFER(u64, fast), BUFFER(u64, pairs))
{
    OPEN(const hcy_bslz4_frame, frames) OPEN(hcy_frame_report, reports) OPEN(struct gpu_state, state)
    OPEN(u64, sums) OPEN(u64, fast) OPEN(u64, pairs)
    u32 i = ITEM_OF_ALL;
    if (i < HCY_AZINT_SUMS * n_bins)
        sums[i] = 0;
    if (i < FAST_ROWS * GPU_FRAMES * n_bins)
        fast[i] = 0;
    if (UNIT && i < GPU_PAIR_ROWS * n_bins)
        pairs[i] = 0;
    /* The state is few words: the first item does the rest alone. */
    if (i)
        return;
    state->listed = state->heavy = state->loose = 0;
    begin_frame(&batch, frames, reports, state, 0);
}

KERNEL GROUPS_OF(GPU_ONE_BLOCKS * GPU_LANES, 5)
void gpu_azint_one(struct gpu_batch batch, hcy_azint_job job, struct gpu_plan_at at, BUFFER(const u8, chunks),
                   BUFFER(const hcy_bslz4_frame, frames), BUFFER(const hcy_bslz4_block, blocks),
                   BUFFER(struct block_info, infos), BUFFER(struct command, commands), BUFFER(const u8, base),
                   BUFFER(u64, sums), BUFFER(hcy_frame_report, reports), BUFFER(u64, fast),
                   BUFFER(struct gpu_state, state), BUFFER(u32, heavy_list))
{
    OPEN(const u8, chunks) OPEN(const hcy_bslz4_frame, frames) OPEN(const hcy_bslz4_block, blocks)
    OPEN(struct block_info, infos) OPEN(struct command, commands) OPEN(const u8, base)
    OPEN(u64, sums) OPEN(hcy_frame_report, reports) OPEN(u64, fast) OPEN(struct gpu_state, state)
    OPEN(u32, heavy_list)
    DYNAMIC_LOCAL(room, GPU_ONE_BLOCKS * (GPU_BLOCK + GPU_SMALL_COMP));
    LOCAL uint4 queues[GPU_ONE_BLOCKS][QUEUE];
    LOCAL struct plane_places all_places[GPU_ONE_BLOCKS];
    u32 lane = ITEM % GPU_LANES, warp = ITEM / GPU_LANES, b = GROUP * GPU_ONE_BLOCKS + warp, skip;
    if (b >= batch.n_blocks || frame_states(state)->way != GPU_WAY_FAST)
        return;
    NEAR u8 *window = room + warp * (GPU_BLOCK + GPU_SMALL_COMP), *pixels = window + GPU_BLOCK;
    NEAR struct plane_places *places = &all_places[warp];
    /* Neighbouring groups add to different copies of the sums, as they run at the same time. */
    u64 *copy = fast_row(fast, at.n_bins, GROUP % GPU_FRAMES, 0);
    struct azint_target target = { { base, at }, &job, sums, copy, reports };
    struct command *own = commands + (u64)b * (2 * COMMANDS);
    /* The window is free until the block is decoded, so the parser works there. */
    struct block_info info = parse_together(&batch, chunks, frames, blocks, state, 0, b, own,
                                            (NEAR struct lanes_room *)window, lane);
    if (lane == 0)
        infos[b] = info; /* of those listed for `heavy` */
    if (!info.counts)
        return;
    hcy_bslz4_block block = blocks[frames->first_block + b];
    const u8 *coded = chunks + frames->offset + block.offset;
    /* The tile's room takes the coded bytes where they fit; larger blocks are read from where they are. */
    if (block.size <= SMALL_CODED) {
        skip = stage_block(coded, block.size, pixels, lane);
        struct source source = { 0, NULL_PTR, NEAR_ADDRESS(pixels) };
        carry_out(frames, chunks, b, &info, own, &source, skip, window, queues[warp], lane);
    } else {
        struct source source = far_source(coded, &skip);
        LANES_BARRIER();
        carry_out(frames, chunks, b, &info, own, &source, skip, window, queues[warp], lane);
    }
    find_planes(places, info.new_planes, lane);
    LANES_BARRIER();
    /* Commands stay in memory, so `heavy` can do the block again without parsing. */
    if (too_bright(&target, (const NEAR u32 *)window, places, info.new_planes, b, lane)) {
        if (lane == 0)
            heavy_list[ATOMIC_ADD32(&state->heavy, 1)] = b;
        return;
    }
    for (u32 t = 0; t < BLOCK_TILES && b * BLOCK_TILES + t < at.n_tiles; t++) {
        fill_one(&target, (const NEAR u32 *)window, places, info.new_planes, pixels, b, t, lane);
        sum_tile_alone(&target, pixels, b * BLOCK_TILES + t, lane);
    }
}
