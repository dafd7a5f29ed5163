/* sums_fast.cl - from commands to sums, the image nowhere: eight frames a group, so that they share the weights.
 *
 * gpu_azint_small takes blocks whose pixels mostly fit a byte: windows of a few planes, tiles of 8 frames x u8.
 * Pixels that do not fit, as no negative one does, go one by one if they are not masked anyway; in the tile they are
 * zeros.
 * gpu_azint_heavy takes all others, in windows of all planes that become tiles of whole pixels in place.
 * A group's eight blocks go the same way, decided by what the parser noted: the first kernel lists what it leaves
 * to the second, whose groups, few enough to be on the device all at once, share the list.  Planes above a byte that
 * are all alike are one command to the parser, however many pixels are negative: so of signed pixels the first kernel
 * counts those that do not fit, and may still leave its blocks to the second.
 *
 * Sums meet in the rows of sums_rest.cl.
 *
 * UNIT (all weights are one) and FIRST_INVALID (the lowest invalid value, above 255) are given when the text is
 * compiled; where pixels have a sign, also FIRST_VALID, which is above all invalid values that are negative.
 */
#pragma once
#include "azint/sums_rest_kernel.cl"
#include "bslz4/parse_lanes.cl"

#define FRAMES GPU_FRAMES

#define SMALL_COMP GPU_SMALL_COMP /* bytes for the coded block, and then for the tile */
#define SMALL_WINDOW (SMALL_PLANES * PLANE_BYTES)
#define SLICES 64 /* whose heads are kept in local memory */

/* What the group's warps know of their frames. */
struct eight {
    u32 new_planes[FRAMES]; /* 0: the block is not ours */
    struct plane_places places[FRAMES];
};

/* The block of the warp's frame; *heavy: one of the group's eight is.  False: none of them is for the fast kernels. */
DEVICE int own_info(const struct gpu_batch *batch, const struct block_info *infos, u32 group, u32 b, u32 lane,
                    struct block_info *own, u32 *heavy)
{
    struct block_info info = { 0, 0 };
    u32 item = group * FRAMES + lane, warp = ITEM / GPU_LANES;
    /* Eight lanes read what all eight warps need, so every warp comes to the same decision without a
     * barrier. */
    if (lane < FRAMES && item < batch->items)
        info = infos[(u64)item * batch->n_blocks + b];
    *heavy = ANY((info.counts & HEAVY) != 0);
    own->counts = SHUFFLE(info.counts, (int)warp);
    own->new_planes = SHUFFLE(info.new_planes, (int)warp);
    return ANY(info.counts != 0);
}

/* --- Bytes --- */

/* Pixels of word w of a frame's planes that do not fit a byte. */
DEVICE u32 high_pixels(const NEAR u32 *window, const NEAR struct plane_places *places, u32 new_planes, u32 w)
{
    const NEAR u32 *at = window + ((const NEAR u32 *)places)[8] + w;
    u32 high = *at;
    for (u32 late = new_planes >> 9; late; late &= late - 1)
        high |= *(at += PLANE_WORDS);
    return high;
}

/* A pixel from its planes. */
DEVICE u32 one_pixel(const NEAR u32 *window, const NEAR struct plane_places *places, u32 w, u32 bit)
{
    u32 v = 0;
    for (u32 p = 0; p < PLANES; p++)
        v |= (window[((const NEAR u32 *)places)[p] + w] >> bit & 1) << p;
    return pixel_word(v);
}

/* Has a lane too many of a block's pixels that are not masked and do not fit a byte?  They go one by one. */
#define MANY_HIGH 8
DEVICE int too_bright(const struct azint_target *t, const NEAR u32 *window, const NEAR struct plane_places *places,
                      u32 new_planes, u32 b, u32 lane)
{
    u32 n = 0;
    for (u32 w = lane; w < PLANE_WORDS; w += GPU_LANES) {
        u64 first = (u64)b * BLOCK_PIXELS + 32 * w;
        if (first < (u64)t->plan.at.n_tiles * GPU_TILE)
            n += POPCOUNT(high_pixels(window, places, new_planes, w) &
                          ~((const u32 *)(t->plan.base + t->plan.at.masked))[first / 32]);
    }
    return ANY(n > MANY_HIGH);
}

/* The pixels of word w of four frames that do not fit a byte, one by one: seldom any, so they are looked for anew
 * rather than kept. */
DEVICE void put_high(const struct azint_target *t, const NEAR u8 *windows, const NEAR struct eight *eight, u32 frame,
                     u32 w, u64 first, u32 wanted)
{
    for (u32 end = frame + 4; frame < end; frame++) {
        const NEAR u32 *window = (const NEAR u32 *)(windows + frame * SMALL_WINDOW);
        u32 planes = eight->new_planes[frame], high = 0;
        if (planes)
            high = high_pixels(window, &eight->places[frame], planes, w) & wanted;
        /* Each is looked up plane by plane, which is slow, and seldom done. */
        for (; high; high &= high - 1) {
            u32 bit = (u32)FIRST_BIT(high);
            put_single_pixel(t, GROUP * FRAMES + frame, first + bit,
                             one_pixel(window, &eight->places[frame], w, bit), 1);
        }
    }
}

/* Windows to the tile's bytes: an item takes a word of the planes for four frames. */
DEVICE void fill_tile(const struct azint_target *t, const NEAR u8 *windows, const NEAR struct eight *eight,
                      NEAR u8 *pixels, u32 b, u32 tile)
{
    u32 w = ITEM & 63, quad = ITEM >> 6, q[4][8], any = 0;
    /* The image's pixel that word w begins with; a mask has a bit for each of the 32. */
    u64 first = (u64)b * BLOCK_PIXELS + tile * GPU_TILE + 32 * w;
    u32 masked = ((const u32 *)(t->plan.base + t->plan.at.masked))[first / 32];
    UNROLL
    for (int k = 0; k < 4; k++) {
        u32 frame = 4 * quad + k, planes = eight->new_planes[frame];
        const NEAR u32 *window = (const NEAR u32 *)(windows + frame * SMALL_WINDOW);
        UNROLL
        for (int i = 0; i < 8; i++)
            q[k][i] = 0;
        /* A frame whose block is not here stays zeros, and its sums are left out later. */
        if (planes) {
            u32 high = high_pixels(window, &eight->places[frame], planes, tile * 64 + w);
            load_eight_planes(window, &eight->places[frame], tile * 64 + w, 0, q[k]);
            UNROLL
            for (int i = 0; i < 8; i++)
                q[k][i] &= ~high;
            transpose8x4(q[k]);
            any |= high;
        }
    }
    UNROLL
    for (int i = 0; i < 8; i++) {
        /* Bytes of the same pixel come together from four frames, so one word is written for them. */
        u32 x0 = BYTE_PERM(q[0][i], q[1][i], 0x5140), x1 = BYTE_PERM(q[0][i], q[1][i], 0x7362);
        u32 y0 = BYTE_PERM(q[2][i], q[3][i], 0x5140), y1 = BYTE_PERM(q[2][i], q[3][i], 0x7362);
        u32 r[4] = { BYTE_PERM(x0, y0, 0x5410), BYTE_PERM(x0, y0, 0x7632), BYTE_PERM(x1, y1, 0x5410),
                     BYTE_PERM(x1, y1, 0x7632) };
        UNROLL
        for (int c = 0; c < 4; c++)
            *(NEAR u32 *)(pixels + ((8 * c + i) * GPU_PITCH + w) * FRAMES + 4 * quad) = r[c];
    }
    /* Gaps of a detector are bright and masked, so most high pixels need no second look. */
    if (any & ~masked)
        put_high(t, windows, eight, 4 * quad, tile * 64 + w, first, ~masked);
}

/* --- Sums of a tile of bytes --- */

struct tile_at {
    u32 first, end;                /* slices */
    const NEAR struct gpu_slice *heads; /* those kept, from the first */
};

DEVICE struct gpu_slice slice_at(const struct azint_plan *plan, const struct tile_at *at, u32 s)
{
    return s - at->first < SLICES ? at->heads[s - at->first]
                                  : ((const struct gpu_slice *)(plan->base + plan->at.slices))[s];
}

/* Bytes that are 0 become 1. */
DEVICE u32 one_at_least(u32 x)
{
    return x + ((~(x | ((x | 0x80808080u) - 0x01010101u)) & 0x80808080u) >> 7);
}

DEVICE void add_bytes(u64 *to, const u32 sums[3])
{
    /* The three sums belong to the weights' three bytes, and are put together at their places. */
    u64 x = sums[0];
    MUL_ADD_64(x, sums[1], 0x100u);
    MUL_ADD_64(x, sums[2], 0x10000u);
    if (sums[0] | sums[1] | sums[2])
        ATOMIC_ADD64(to, x);
}

#if UNIT
/* Sums and numbers of zeros of eight frames, two to a word; frames 0 and 2, 1 and 3, 4 and 6, 5 and 7. */
DEVICE void sum_tile(const struct azint_target *t, const NEAR u8 *pixels, const struct tile_at *at,
                     const NEAR struct eight *eight, u64 *pairs)
{
    const struct azint_plan *plan = &t->plan;
    /* Segments have 16 entries at most, so 16 bits hold their sums of bytes, and two frames share a word. */
    u32 lane = ITEM % GPU_LANES, n_bins = plan->at.n_bins;
    for (u32 s = at->first + ITEM / GPU_LANES; s < at->end; s += FRAMES) {
        struct gpu_slice slice = slice_at(plan, at, s);
        u32 bin = READ_ONLY((const u32 *)(plan->base + plan->at.bins) + s * GPU_LANES + lane), a[4] = { 0, 0, 0, 0 },
            zx = 0, zy = 0;
        const u16 *place = (const u16 *)(plan->base + plan->at.places) + (u64)slice.first * GPU_PLACE_ROW + lane;
        UNROLL_4
        for (u32 k = 0; k < 4 * slice.n; k++) {
            u32 p = READ_ONLY(place + GPU_LANES * k);
            uint2 v = *(const NEAR uint2 *)(pixels + p * FRAMES);
            a[0] += BYTE_PERM(v.x, 0, 0x4240);
            a[1] += BYTE_PERM(v.x, 0, 0x4341);
            a[2] += BYTE_PERM(v.y, 0, 0x4240);
            a[3] += BYTE_PERM(v.y, 0, 0x4341);
            if (LEAST) {
                /* Entries that fill up point to a zero, which must not be counted as a pixel. */
                u32 there = p != GPU_NO_PLACE;
                zx += (~(((v.x & 0x7f7f7f7fu) + 0x7f7f7f7fu) | v.x) >> 7 & 0x01010101u) * there;
                zy += (~(((v.y & 0x7f7f7f7fu) + 0x7f7f7f7fu) | v.y) >> 7 & 0x01010101u) * there;
            }
        }
        /* A lane without a segment has gone along for the shuffles and adds nothing. */
        if (bin == GPU_NO_BIN)
            continue;
        u32 z[4] = { BYTE_PERM(zx, 0, 0x4240), BYTE_PERM(zx, 0, 0x4341), BYTE_PERM(zy, 0, 0x4240),
                     BYTE_PERM(zy, 0, 0x4341) };
        UNROLL
        for (int k = 0; k < 4; k++) {
            int f0 = (k >> 1) * 4 + (k & 1), f1 = f0 + 2;
            u64 *to = pairs + ((u64)GROUP * 8 + k) * n_bins + bin;
            if (a[k])
                ATOMIC_ADD64(to, (u64)(a[k] & 0xffff) | (u64)(a[k] >> 16) << 32);
            u32 z0 = eight->new_planes[f0] ? z[k] & 0xffff : 0, z1 = eight->new_planes[f1] ? z[k] >> 16 : 0;
            if (LEAST && (z0 | z1))
                ATOMIC_ADD64(to + 4 * (u64)n_bins, (u64)z0 | (u64)z1 << 32);
        }
    }
}
#else
/* A lane has a segment; four entries of four frames are one step: dot products of pixels' and weights' bytes. */
DEVICE void sum_tile(const struct azint_target *t, const NEAR u8 *pixels, const struct tile_at *at,
                     const NEAR struct eight *eight, u64 *pairs)
{
    const struct azint_plan *plan = &t->plan;
    u32 lane = ITEM % GPU_LANES, n_bins = plan->at.n_bins;
    /* Four frames at a time: their sums are 24 registers already, and a multiprocessor shall hold four
     * groups. */
    for (u32 i = ITEM / GPU_LANES; i < 2 * (at->end - at->first); i += FRAMES) {
        u32 s = at->first + i / 2, four = i % 2 * 4;
        struct gpu_slice slice = slice_at(plan, at, s);
        u32 bin = READ_ONLY((const u32 *)(plan->base + plan->at.bins) + s * GPU_LANES + lane);
        const uint4 *quad = (const uint4 *)(plan->base + plan->at.quads) + (u64)slice.first * GPU_QUAD_ROW + lane;
        u32 signal[4][3], variance[4][3];
        UNROLL
        for (int j = 0; j < 4; j++)
            for (int b = 0; b < 3; b++)
                signal[j][b] = variance[j][b] = 0;
        for (u32 k = 0; k < slice.n; k++, quad += GPU_QUAD_ROW) {
            uint4 c = READ_ONLY(quad), c2 = READ_ONLY(quad + GPU_LANES);
            const NEAR u8 *of = pixels + four;
            u32 x[4] = { *(const NEAR u32 *)(of + (c.w & GPU_ENTRY_PLACE) * FRAMES),
                         *(const NEAR u32 *)(of + (c.w >> 16 & GPU_ENTRY_PLACE) * FRAMES),
                         *(const NEAR u32 *)(of + (c2.w & GPU_ENTRY_PLACE) * FRAMES),
                         *(const NEAR u32 *)(of + (c2.w >> 16 & GPU_ENTRY_PLACE) * FRAMES) };
            u32 y[4];
            transpose4x4(x, y);
            UNROLL
            for (int j = 0; j < 4; j++) {
                signal[j][0] = DOT_BYTES(y[j], c.x, signal[j][0]);
                signal[j][1] = DOT_BYTES(y[j], c.y, signal[j][1]);
                signal[j][2] = DOT_BYTES(y[j], c.z, signal[j][2]);
                if (VARIANCE) {
                    u32 z = LEAST ? one_at_least(y[j]) : y[j];
                    variance[j][0] = DOT_BYTES(z, c2.x, variance[j][0]);
                    variance[j][1] = DOT_BYTES(z, c2.y, variance[j][1]);
                    variance[j][2] = DOT_BYTES(z, c2.z, variance[j][2]);
                }
            }
        }
        if (bin == GPU_NO_BIN)
            continue;
        u64 *row = fast_row(t->fast, n_bins, GROUP * FRAMES + four, FAST_SIGNAL) + bin;
        UNROLL
        for (int j = 0; j < 4; j++, row += FAST_ROWS * n_bins) {
            if (!eight->new_planes[four + j])
                continue;
            add_bytes(row, signal[j]);
            if (VARIANCE)
                add_bytes(row + FAST_VARIANCE * n_bins, variance[j]);
        }
    }
}
#endif

/* The heads of a tile's slices to local memory; a barrier must follow. */
DEVICE struct tile_at open_tile(const struct azint_plan *plan, u32 tile, NEAR struct gpu_slice *heads)
{
    const u32 *slice_of = (const u32 *)(plan->base + plan->at.slice_of);
    struct tile_at at = { READ_ONLY(slice_of + tile), READ_ONLY(slice_of + tile + 1), heads };
    if (ITEM < SLICES && at.first + ITEM < at.end)
        heads[ITEM] = ((const struct gpu_slice *)(plan->base + plan->at.slices))[at.first + ITEM];
    return at;
}

KERNEL GROUPS_OF(FRAMES * GPU_LANES, 4)
void gpu_azint_small(struct gpu_batch batch, hcy_azint_job job, struct gpu_plan_at at,
                     BUFFER(const u8, chunks), BUFFER(const hcy_bslz4_frame, frames),
                     BUFFER(const hcy_bslz4_block, blocks), BUFFER(const struct block_info, infos),
                     BUFFER(const struct command, commands), BUFFER(const u8, base), BUFFER(u64, sums),
                     BUFFER(hcy_frame_report, reports), BUFFER(u64, fast), BUFFER(u64, pairs),
                     BUFFER(struct gpu_state, state), BUFFER(u32, heavy_list))
{
    OPEN(const u8, chunks) OPEN(const hcy_bslz4_frame, frames) OPEN(const hcy_bslz4_block, blocks)
    OPEN(const struct block_info, infos) OPEN(const struct command, commands) OPEN(const u8, base)
    OPEN(u64, sums) OPEN(hcy_frame_report, reports) OPEN(u64, fast) OPEN(u64, pairs)
    OPEN(struct gpu_state, state) OPEN(u32, heavy_list)
    DYNAMIC_LOCAL(room, FRAMES * (SMALL_COMP + SMALL_WINDOW));
    LOCAL uint4 queues[FRAMES][QUEUE];
    LOCAL struct gpu_slice heads[SLICES];
    LOCAL struct eight eight;
    u32 lane = ITEM % GPU_LANES, warp = ITEM / GPU_LANES, b = GROUP_Y, item = GROUP * FRAMES + warp, heavy;
    NEAR u8 *windows = room + FRAMES * SMALL_COMP;
    struct block_info info;
    if (!own_info(&batch, infos, GROUP, b, lane, &info, &heavy))
        return;
    /* One heavy block sends the group's eight to the other kernel, as they share every weight. */
    if (heavy) {
        if (ITEM == 0)
            heavy_list[ATOMIC_ADD32(&state->heavy, 1)] = b * GROUPS + GROUP;
        return;
    }
    /* The slices' heads are on their way while the blocks are decoded. */
    struct azint_target target = { { base, at }, &job, sums, fast, reports };
    struct tile_at tile = open_tile(&target.plan, b * BLOCK_TILES, heads);
    if (info.counts) {
        const hcy_bslz4_frame *f = &frames[item];
        hcy_bslz4_block block = blocks[f->first_block + b];
        /* Coded bytes are read in small pieces, for which local memory is the nearest. */
        NEAR u8 *coded = room + warp * SMALL_COMP;
        u32 skip = stage_block(chunks + f->offset + block.offset, block.size, coded, lane);
        struct source source = { 0, NULL_PTR, NEAR_ADDRESS(coded) };
        carry_out(f, chunks, b, &info, commands + ((u64)item * batch.n_blocks + b) * (2 * COMMANDS), &source, skip,
                  windows + warp * SMALL_WINDOW, queues[warp], lane);
    }
    find_planes(&eight.places[warp], info.new_planes, lane);
    if (lane == 0)
        eight.new_planes[warp] = info.counts ? info.new_planes : 0;
#if PIXEL_SIGNED
    LOCAL u32 bright;
    if (ITEM == 0)
        bright = 0;
    BARRIER();
    if (info.counts && too_bright(&target, (const NEAR u32 *)(windows + warp * SMALL_WINDOW), &eight.places[warp],
                                  info.new_planes, b, lane) && lane == 0)
        NEAR_OR32(&bright, 1);
    BARRIER();
    /* All decide alike.  Commands stay in memory, so `heavy` can do the blocks again without parsing. */
    if (bright) {
        if (ITEM == 0)
            heavy_list[ATOMIC_ADD32(&state->heavy, 1)] = b * GROUPS + GROUP;
        return;
    }
#endif
    for (u32 t = 0; t < BLOCK_TILES && b * BLOCK_TILES + t < at.n_tiles; t++) {
        BARRIER();
        if (t)
            tile = open_tile(&target.plan, b * BLOCK_TILES + t, heads);
        /* 128 items fill a tile; one of the others writes the zero that entries without a pixel read. */
        if (ITEM < 128)
            fill_tile(&target, windows, &eight, room, b, t);
        else if (ITEM == 255)
            *(NEAR u64 *)(room + GPU_NO_PLACE * FRAMES) = 0;
        BARRIER();
        sum_tile(&target, room, &tile, &eight, pairs);
    }
}

/* --- Whole pixels --- */

/* The value in word w, bit i of a tile that whole_pixels() has made. */
DEVICE u32 whole_pixel(const NEAR u32 *words, u32 w, u32 i)
{
#if ELEM == 4
    return words[i * PLANE_WORDS + w];
#elif PIXEL_SIGNED
    return pixel_word(words[(i & 15) * PLANE_WORDS + w] >> (i & 16));
#else
    return words[(i & 15) * PLANE_WORDS + w] >> (i & 16) & 0xffff;
#endif
}

/* May it be invalid? */
DEVICE int is_looked_at(u32 v)
{
#if PIXEL_SIGNED
    return (i32)v < (FIRST_VALID) || (i32)v >= FIRST_INVALID;
#else
    return v >= FIRST_INVALID;
#endif
}

/* A window to pixels, in place: a lane has its own columns.  Invalid pixels become zeros and are put apart. */
DEVICE void whole_pixels(const struct azint_target *t, NEAR u32 *words, const NEAR struct plane_places *places,
                        u32 new_planes, u32 b, u32 item, u32 lane)
{
    for (u32 w = lane; w < PLANE_WORDS; w += GPU_LANES) {
        /* 32 pixels of a word fit a lane's registers, so the window itself can take them. */
        u32 a[32], masked = 0xffffffffu, lost = 0;
        u64 first = (u64)b * BLOCK_PIXELS + 32 * w;
        UNROLL
        for (int i = 0; i < 32; i++)
            a[i] = 0;
        if (new_planes) {
            load_pixels(words, places, new_planes, w, a);
            if (first < (u64)t->plan.at.n_tiles * GPU_TILE)
                masked = ((const u32 *)(t->plan.base + t->plan.at.masked))[first / 32];
        }
        UNROLL
        for (int i = 0; i < 32; i++)
            lost |= is_looked_at(pixel_word(a[i])) ? 1u << i : 0;
#if ELEM == 4
        UNROLL
        for (int i = 0; i < 32; i++)
            words[i * PLANE_WORDS + w] = a[i];
#else
        UNROLL
        for (int i = 0; i < 16; i++)
            words[i * PLANE_WORDS + w] = a[i] | a[i + 16] << 16;
#endif
        for (lost &= ~masked; lost; lost &= lost - 1) {
            u32 i = (u32)FIRST_BIT(lost), v = whole_pixel(words, w, i);
            /* Values beyond the nearest invalid ones may still be valid. */
            if (!is_invalid_pixel(t->job, PIXEL_SIGNED ? (u64)(i64)(i32)v : v))
                continue;
            words[i % (32 * ELEM / 4) * PLANE_WORDS + w] &= ELEM == 4 ? 0u : 0xffff0000u >> (i & 16);
            put_single_pixel(t, item, first + i, v, 1);
        }
    }
}

DEVICE void sum_whole(const struct azint_target *t, const NEAR u8 *windows, const struct tile_at *at,
                     const NEAR struct eight *eight, u32 first, u32 tile)
{
    const struct azint_plan *plan = &t->plan;
    u32 lane = ITEM % GPU_LANES, n_bins = plan->at.n_bins;
    for (u32 s = at->first + ITEM / GPU_LANES; s < at->end; s += FRAMES) {
        struct gpu_slice slice = slice_at(plan, at, s);
        u32 bin = READ_ONLY((const u32 *)(plan->base + plan->at.bins) + s * GPU_LANES + lane);
        const uint4 *quad = (const uint4 *)(plan->base + plan->at.quads) + (u64)slice.first * GPU_QUAD_ROW + lane;
        /* A weight is decoded once and serves all eight frames. */
        u64 signal[FRAMES], variance[FRAMES];
        UNROLL
        for (int j = 0; j < FRAMES; j++)
            signal[j] = variance[j] = 0;
        for (u32 n = 0; n < slice.n; n++, quad += GPU_QUAD_ROW) {
            uint4 weights = READ_ONLY(quad), squares = READ_ONLY(quad + GPU_LANES);
            for (u32 k = 0; k < 4; k++) {
                u32 c = quad_weight(weights, k), c2 = quad_weight(squares, k);
                u32 place = quad_place(weights, squares, k) & GPU_ENTRY_PLACE, row = GPU_PITCHES(place);
                /* The place of a tile of bytes is turned into row and column of whole pixels. */
                u32 column = tile * 64 + place - row * GPU_PITCH;
                UNROLL
                for (int j = 0; j < FRAMES; j++) {
                    u32 x = whole_pixel((const NEAR u32 *)(windows + j * GPU_BLOCK), column, row);
#if PIXEL_SIGNED
                    MUL_ADD_SIGNED_64(signal[j], c, x);
#else
                    MUL_ADD_64(signal[j], c, x);
#endif
                    if (VARIANCE)
                        MUL_ADD_64(variance[j], c2, word_variance(x));
                }
            }
        }
        if (bin == GPU_NO_BIN)
            continue;
        UNROLL
        for (int j = 0; j < FRAMES; j++) {
            /* A frame without this block has zeros here, whose variance would count as one. */
            if (!eight->new_planes[j])
                continue;
            add_wide_sum(fast_row(t->fast, n_bins, first + j, FAST_SIGNAL) + bin, n_bins, signal[j]);
            if (VARIANCE)
                add_wide_sum(fast_row(t->fast, n_bins, first + j, FAST_VARIANCE) + bin, n_bins, variance[j]);
        }
    }
}

/* One block of eight frames. */
DEVICE void heavy_group(const struct azint_target *t, const struct gpu_batch *batch, const u8 *chunks,
                       const hcy_bslz4_frame *frames, const hcy_bslz4_block *blocks,
                       const struct block_info *infos, const struct command *commands, u32 b, u32 group,
                       NEAR u8 *room, NEAR uint4 *queue, NEAR struct gpu_slice *heads, NEAR struct eight *eight)
{
    u32 lane = ITEM % GPU_LANES, warp = ITEM / GPU_LANES, item = group * FRAMES + warp, heavy;
    NEAR u8 *window = room + warp * GPU_BLOCK;
    struct block_info info;
    /* Who is in was decided when the block was listed; here each warp learns of its own frame. */
    own_info(batch, infos, group, b, lane, &info, &heavy);
    u32 new_planes = info.counts ? info.new_planes : 0;
    if (info.counts) {
        const hcy_bslz4_frame *f = &frames[item];
        u32 skip;
        struct source source = far_source(chunks + f->offset + blocks[f->first_block + b].offset, &skip);
        carry_out(f, chunks, b, &info, commands + ((u64)item * batch->n_blocks + b) * (2 * COMMANDS), &source, skip,
                  window, queue, lane);
    }
    find_planes(&eight->places[warp], new_planes, lane);
    /* Warps prepare their windows alone and meet only before the sums, which read all of them. */
    LANES_BARRIER();
    whole_pixels(t, (NEAR u32 *)window, &eight->places[warp], new_planes, b, item, lane);
    if (lane == 0)
        eight->new_planes[warp] = new_planes;
    for (u32 k = 0; k < BLOCK_TILES && b * BLOCK_TILES + k < t->plan.at.n_tiles; k++) {
        BARRIER();
        struct tile_at tile = open_tile(&t->plan, b * BLOCK_TILES + k, heads);
        BARRIER();
        sum_whole(t, room, &tile, eight, group * FRAMES, k);
    }
    BARRIER();
}

KERNEL GROUPS_OF(FRAMES * GPU_LANES, 3)
void gpu_azint_heavy(struct gpu_batch batch, hcy_azint_job job, struct gpu_plan_at at, u32 groups,
                    BUFFER(const u8, chunks), BUFFER(const hcy_bslz4_frame, frames),
                    BUFFER(const hcy_bslz4_block, blocks), BUFFER(const struct block_info, infos),
                    BUFFER(const struct command, commands), BUFFER(const u8, base), BUFFER(u64, sums),
                    BUFFER(hcy_frame_report, reports), BUFFER(u64, fast),
                    BUFFER(const struct gpu_state, state), BUFFER(const u32, heavy_list))
{
    OPEN(const u8, chunks) OPEN(const hcy_bslz4_frame, frames) OPEN(const hcy_bslz4_block, blocks)
    OPEN(const struct block_info, infos) OPEN(const struct command, commands) OPEN(const u8, base)
    OPEN(u64, sums) OPEN(hcy_frame_report, reports) OPEN(u64, fast) OPEN(const struct gpu_state, state)
    OPEN(const u32, heavy_list)
    DYNAMIC_LOCAL(room, FRAMES * GPU_BLOCK + 16); /* entries that are none read one word behind, times 0 */
    LOCAL uint4 queues[FRAMES][QUEUE];
    LOCAL struct gpu_slice heads[SLICES];
    LOCAL struct eight eight;
    struct azint_target target = { { base, at }, &job, sums, fast, reports };
    for (u32 i = GROUP; i < state->heavy; i += GROUPS)
        heavy_group(&target, &batch, chunks, frames, blocks, infos, commands, heavy_list[i] / groups,
                   heavy_list[i] % groups, room, queues[ITEM / GPU_LANES], heads, &eight);
}

/* --- All together --- */

DEVICE void add_to_rows(u64 *sums, u64 n_bins, u32 row, u64 bin, struct wide x)
{
    u64 *at = sums + row * n_bins + bin;
    struct wide sum = { at[0], at[n_bins] };
    wide_add(&sum, x.lo, x.hi);
    at[0] = sum.lo;
    at[n_bins] = sum.hi;
}

/* One item a bin of a frame, whose sums are in some copies; one of them ends the frame. */
KERNEL void gpu_azint_finish(u32 n_bins, u32 copies, BUFFER(const hcy_bslz4_frame, frames),
                             BUFFER(const hcy_bslz4_block, blocks), BUFFER(hcy_frame_report, reports),
                             BUFFER(struct gpu_state, state), BUFFER(const u64, fast), BUFFER(const u64, pairs),
                             BUFFER(u64, all_sums))
{
    OPEN(const hcy_bslz4_frame, frames) OPEN(const hcy_bslz4_block, blocks) OPEN(hcy_frame_report, reports)
    OPEN(struct gpu_state, state) OPEN(const u64, fast) OPEN(const u64, pairs) OPEN(u64, all_sums)
    u32 bin = ITEM_OF_ALL, item = GROUP_Y;
    /* Every frame has an item with bin 0, and it writes the report. */
    if (bin == 0)
        end_frame(&frames[item], blocks, reports, state, item);
    if (bin >= n_bins)
        return;
    u64 *sums = all_sums + (u64)item * HCY_AZINT_SUMS * n_bins;
    const u64 *row = fast + (u64)item * FAST_ROWS * n_bins + bin;
    /* Integers have one sum in any order, so copies can be added as they come. */
    u64 x[FAST_ROWS] = { 0, 0, 0, 0 };
    UNROLL
    for (u32 copy = 0; copy < FRAMES; copy++) {
        UNROLL
        for (u32 r = 0; r < FAST_ROWS; r++)
            x[r] += copy < copies ? row[(copy * FAST_ROWS + r) * n_bins] : 0;
    }
    /* Low terms may have been taken off the variance, so its row counts as signed; signed pixels' signal is. */
    struct wide signal = { x[FAST_SIGNAL], PIXEL_SIGNED ? 0 - (x[FAST_SIGNAL] >> 63) : 0 }, variance = { 0, 0 };
    wide_add(&signal, x[FAST_SIGNAL_HIGH] << 32,
             PIXEL_SIGNED ? (u64)((i64)x[FAST_SIGNAL_HIGH] >> 32) : x[FAST_SIGNAL_HIGH] >> 32);
    wide_add(&variance, x[FAST_VARIANCE], 0 - (x[FAST_VARIANCE] >> 63));
    wide_add(&variance, x[FAST_VARIANCE_HIGH] << 32, x[FAST_VARIANCE_HIGH] >> 32);
#if UNIT
    /* Pairs hold plain numbers of counts, which get the weight of one here. */
    u32 in = item % FRAMES, upper = in >> 1 & 1;
    const u64 *pair = pairs + ((u64)(item / FRAMES) * 8 + (in >> 2) * 2 + (in & 1)) * n_bins + bin;
    u64 sum = pair[0] >> 32 * upper & 0xffffffffu, zeros = pair[4 * (u64)n_bins] >> 32 * upper & 0xffffffffu;
    wide_add(&signal, sum * HCY_AZINT_ONE, 0);
    wide_add(&variance, (sum + zeros) * square_of(HCY_AZINT_ONE), 0);
#endif
    add_to_rows(sums, n_bins, HCY_SUM_SIGNAL_LO, bin, signal);
    if (VARIANCE)
        add_to_rows(sums, n_bins, HCY_SUM_VARIANCE_LO, bin, variance);
}
