/* azint_fast.cl - from commands to sums, the image nowhere: eight frames a group, so that they share the weights.
 *
 * gpu_azint_small takes blocks whose pixels mostly fit a byte: windows of a few planes, tiles of 8 frames x u8.
 * Pixels that do not fit, if they are not masked anyway, go one by one; in the tile they are zeros.
 * gpu_azint_wide takes all others, in windows of all planes that become tiles of whole pixels in place.
 * A group's eight blocks go the same way, decided by what the parser noted; each kernel leaves the other's alone.
 *
 * Sums meet in scratch memory, FAST_ROWS rows of u64 a frame: what a byte can give fits 64 bits, larger sums are cut
 * into 32 bits and the rest; `finish` adds all up to 128 bits.
 *
 * UNIT (all weights are one) and FIRST_INVALID (the lowest invalid value, above 255) are given when the text is
 * compiled.
 */
#define FRAMES GPU_FRAMES
enum { FAST_SIGNAL, FAST_SIGNAL_HIGH, FAST_VARIANCE, FAST_VARIANCE_HIGH, FAST_ROWS = GPU_FAST_ROWS };

#define SMALL_COMP GPU_SMALL_COMP /* bytes for the coded block, and then for the tile */
#define SMALL_WINDOW (SMALL_PLANES * PLANE_BYTES)
#define SLICES 64 /* whose heads are kept in local memory */

/* What the group's warps know of their frames. */
struct eight {
    u32 new_planes[FRAMES]; /* 0: the block is not ours */
};

DEVICE u64 *fast_row(u64 *fast, u32 n_bins, u32 item, u32 row)
{
    return fast + ((u64)item * FAST_ROWS + row) * n_bins;
}

/* The frame's block if this kernel shall do it: the group is wide if one of its blocks is. */
DEVICE struct block_info own_info(const struct gpu_batch *batch, const struct block_info *infos, u32 b,
                                  u32 lane, u32 want)
{
    struct block_info info = { 0, 0 };
    u32 item = GROUP * FRAMES + lane, warp = ITEM / 32;
    if (lane < FRAMES && item < batch->items)
        info = infos[(u64)item * batch->n_blocks + b];
    u32 wide = ANY((info.counts & WIDE) != 0) ? WIDE : 0;
    struct block_info own = { SHUFFLE(info.counts, (int)warp), SHUFFLE(info.new_planes, (int)warp) };
    if (wide != want || !ANY(info.counts != 0))
        own.counts = 0xffffffffu; /* nothing for this kernel */
    return own;
}

/* --- Bytes --- */

/* 8 x 8 bits in each of 4 columns of bytes: bit j of word i becomes bit i of word j. */
DEVICE void transpose8x4(u32 p[8])
{
    UNROLL
    for (int i = 0; i < 4; i++) {
        u32 t = ((p[i] >> 4) ^ p[i + 4]) & 0x0f0f0f0fu;
        p[i + 4] ^= t;
        p[i] ^= t << 4;
    }
    UNROLL
    for (int i = 0; i < 8; i++)
        if (!(i & 2)) {
            u32 t = ((p[i] >> 2) ^ p[i + 2]) & 0x33333333u;
            p[i + 2] ^= t;
            p[i] ^= t << 2;
        }
    UNROLL
    for (int i = 0; i < 8; i++)
        if (!(i & 1)) {
            u32 t = ((p[i] >> 1) ^ p[i + 1]) & 0x55555555u;
            p[i + 1] ^= t;
            p[i] ^= t << 1;
        }
}

/* Word w of a frame's planes: the low eight in q, with pixels that do not fit a byte zeroed; these are returned. */
DEVICE u32 low_planes(const NEAR u32 *window, u32 new_planes, u32 w, u32 q[8])
{
    const NEAR u32 *at = window + w;
    u32 high = 0, late = new_planes >> 9, last = place_of(new_planes, 8);
    UNROLL
    for (int i = 0; i < 8; i++)
        q[i] = at[place_of(new_planes, (u32)i) * PLANE_WORDS];
    high = at[last * PLANE_WORDS];
    for (u32 c = 1; c <= (u32)POPCOUNT(late); c++)
        high |= at[(last + c) * PLANE_WORDS];
    UNROLL
    for (int i = 0; i < 8; i++)
        q[i] &= ~high;
    transpose8x4(q);
    return high;
}

/* A pixel from its planes. */
DEVICE u32 one_pixel(const NEAR u32 *window, u32 new_planes, u32 w, u32 bit)
{
    u32 v = 0;
    for (u32 p = 0; p < PLANES; p++)
        v |= (window[place_of(new_planes, p) * PLANE_WORDS + w] >> bit & 1) << p;
    return v;
}

struct azint_target {
    struct azint_plan plan;
    const hcy_azint_job *job;
    u64 *sums, *fast;
    hcy_frame_report *reports;
};

/* One pixel of `item` for which a zero stands in the tile. */
DEVICE_CALL void put_apart(const struct azint_target *t, u32 item, u64 pixel, u32 v)
{
    u32 n_bins = t->plan.at.n_bins;
    put_pixel(&t->plan, t->job, pixel, v, t->sums + (u64)item * HCY_AZINT_SUMS * n_bins, &t->reports[item],
              fast_row(t->fast, n_bins, item, FAST_VARIANCE));
}

/* Windows to the tile's bytes: an item takes a word of the planes for four frames. */
DEVICE void fill_tile(const struct azint_target *t, const NEAR u8 *windows, const NEAR struct eight *eight,
                      NEAR u8 *pixels, u32 b, u32 tile)
{
    u32 w = ITEM & 63, quad = ITEM >> 6, q[4][8], high[4];
    u64 first = (u64)b * BLOCK_PIXELS + tile * GPU_TILE + 32 * w;
    u32 masked = ((const u32 *)(t->plan.base + t->plan.at.masked))[first / 32];
    UNROLL
    for (int k = 0; k < 4; k++) {
        u32 planes = eight->new_planes[4 * quad + k];
        high[k] = 0;
        UNROLL
        for (int i = 0; i < 8; i++)
            q[k][i] = 0;
        if (planes)
            high[k] = low_planes((const NEAR u32 *)(windows + (4 * quad + k) * SMALL_WINDOW), planes,
                                 tile * 64 + w, q[k]) &
                      ~masked;
    }
    UNROLL
    for (int i = 0; i < 8; i++) {
        u32 x0 = BYTE_PERM(q[0][i], q[1][i], 0x5140), x1 = BYTE_PERM(q[0][i], q[1][i], 0x7362);
        u32 y0 = BYTE_PERM(q[2][i], q[3][i], 0x5140), y1 = BYTE_PERM(q[2][i], q[3][i], 0x7362);
        u32 r[4] = { BYTE_PERM(x0, y0, 0x5410), BYTE_PERM(x0, y0, 0x7632), BYTE_PERM(x1, y1, 0x5410),
                     BYTE_PERM(x1, y1, 0x7632) };
        UNROLL
        for (int c = 0; c < 4; c++)
            *(NEAR u32 *)(pixels + ((8 * c + i) * GPU_PITCH + w) * FRAMES + 4 * quad) = r[c];
    }
    for (int k = 0; k < 4; k++)
        for (u32 m = high[k]; m; m &= m - 1) {
            u32 bit = (u32)FIRST_BIT(m), frame = 4 * quad + k;
            u32 v = one_pixel((const NEAR u32 *)(windows + frame * SMALL_WINDOW), eight->new_planes[frame],
                              tile * 64 + w, bit);
            put_apart(t, GROUP * FRAMES + frame, first + bit, v);
        }
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

#if UNIT
/* Sums and numbers of zeros of eight frames, two to a word; frames 0 and 2, 1 and 3, 4 and 6, 5 and 7. */
DEVICE void sum_tile(const struct azint_target *t, const NEAR u8 *pixels, const struct tile_at *at,
                     const NEAR struct eight *eight, u64 *pairs)
{
    const struct azint_plan *plan = &t->plan;
    u32 lane = ITEM % 32, n_bins = plan->at.n_bins;
    for (u32 s = at->first + ITEM / 32; s < at->end; s += FRAMES) {
        struct gpu_slice slice = slice_at(plan, at, s);
        u32 bin = READ_ONLY((const u32 *)(plan->base + plan->at.bins) + s * 32 + lane), a[4] = { 0, 0, 0, 0 },
            zx = 0, zy = 0;
        const u16 *place = (const u16 *)(plan->base + plan->at.places) + (u64)slice.first * 32 + lane;
        UNROLL_4
        for (u32 k = 0; k < slice.n; k++) {
            u32 p = READ_ONLY(place + 32 * k);
            uint2 v = *(const NEAR uint2 *)(pixels + p * FRAMES);
            a[0] += BYTE_PERM(v.x, 0, 0x4240);
            a[1] += BYTE_PERM(v.x, 0, 0x4341);
            a[2] += BYTE_PERM(v.y, 0, 0x4240);
            a[3] += BYTE_PERM(v.y, 0, 0x4341);
            if (VARIANCE) {
                u32 there = p != GPU_NO_PLACE;
                zx += (~(((v.x & 0x7f7f7f7fu) + 0x7f7f7f7fu) | v.x) >> 7 & 0x01010101u) * there;
                zy += (~(((v.y & 0x7f7f7f7fu) + 0x7f7f7f7fu) | v.y) >> 7 & 0x01010101u) * there;
            }
        }
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
            if (VARIANCE && (z0 | z1))
                ATOMIC_ADD64(to + 4 * (u64)n_bins, (u64)z0 | (u64)z1 << 32);
        }
    }
}
#else
DEVICE void sum_tile(const struct azint_target *t, const NEAR u8 *pixels, const struct tile_at *at,
                     const NEAR struct eight *eight, u64 *pairs)
{
    const struct azint_plan *plan = &t->plan;
    u32 lane = ITEM % 32, n_bins = plan->at.n_bins;
    for (u32 s = at->first + ITEM / 32; s < at->end; s += FRAMES) {
        struct gpu_slice slice = slice_at(plan, at, s);
        u32 bin = READ_ONLY((const u32 *)(plan->base + plan->at.bins) + s * 32 + lane);
        const uint2 *entry = (const uint2 *)(plan->base + plan->at.entries) + (u64)slice.first * 32 + lane;
        u64 signal[FRAMES], variance[FRAMES];
        UNROLL
        for (int j = 0; j < FRAMES; j++)
            signal[j] = variance[j] = 0;
        UNROLL_4
        for (u32 k = 0; k < slice.n; k++) {
            uint2 e = READ_ONLY(entry + 32 * k);
            uint2 v = *(const NEAR uint2 *)(pixels + (e.y & 0xffff) * FRAMES);
            u32 c = e.x & 0xffffffu, c2 = square_of(c);
            UNROLL
            for (int j = 0; j < FRAMES; j++) {
                u32 x = ((j < 4 ? v.x : v.y) >> 8 * (j & 3)) & 255;
                signal[j] += (u64)c * x;
                if (VARIANCE)
                    variance[j] += (u64)c2 * (x ? x : 1);
            }
        }
        if (bin == GPU_NO_BIN)
            continue;
        UNROLL
        for (int j = 0; j < FRAMES; j++) {
            if (!eight->new_planes[j])
                continue;
            if (signal[j])
                ATOMIC_ADD64(fast_row(t->fast, n_bins, GROUP * FRAMES + j, FAST_SIGNAL) + bin, signal[j]);
            if (VARIANCE)
                ATOMIC_ADD64(fast_row(t->fast, n_bins, GROUP * FRAMES + j, FAST_VARIANCE) + bin, variance[j]);
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

/* The coded bytes to local memory; where they begin there. */
DEVICE u32 stage_block(const u8 *coded, u32 bytes, NEAR u8 *to, u32 lane)
{
    u32 before = (u32)((u64)coded & 15);
    const uint4 *from = (const uint4 *)(coded - before);
    for (u32 i = lane; i * 16 < before + bytes; i += 32)
        ((NEAR uint4 *)to)[i] = READ_ONLY(from + i);
    LANES_BARRIER();
    return before;
}

KERNEL GROUPS_OF(FRAMES * 32, 4)
void gpu_azint_small(struct gpu_batch batch, hcy_azint_job job, struct gpu_plan_at at,
                     BUFFER(const u8, chunks), BUFFER(const hcy_bslz4_frame, frames),
                     BUFFER(const hcy_bslz4_block, blocks), BUFFER(const struct block_info, infos),
                     BUFFER(const struct command, commands), BUFFER(const u8, base), BUFFER(u64, sums),
                     BUFFER(hcy_frame_report, reports), BUFFER(u64, fast), BUFFER(u64, pairs))
{
    OPEN(const u8, chunks) OPEN(const hcy_bslz4_frame, frames) OPEN(const hcy_bslz4_block, blocks)
    OPEN(const struct block_info, infos) OPEN(const struct command, commands) OPEN(const u8, base)
    OPEN(u64, sums) OPEN(hcy_frame_report, reports) OPEN(u64, fast) OPEN(u64, pairs)
    DYNAMIC_LOCAL(room, FRAMES * (SMALL_COMP + SMALL_WINDOW));
    LOCAL uint4 queues[FRAMES][QUEUE];
    LOCAL struct gpu_slice heads[SLICES];
    LOCAL struct eight eight;
    u32 lane = ITEM % 32, warp = ITEM / 32, b = GROUP_Y, item = GROUP * FRAMES + warp;
    NEAR u8 *windows = room + FRAMES * SMALL_COMP;
    struct block_info info = own_info(&batch, infos, b, lane, 0);
    if (info.counts == 0xffffffffu)
        return;
    struct azint_target target = { { base, at }, &job, sums, fast, reports };
    struct tile_at tile = open_tile(&target.plan, b * BLOCK_TILES, heads);
    if (info.counts) {
        const hcy_bslz4_frame *f = &frames[item];
        hcy_bslz4_block block = blocks[f->first_block + b];
        NEAR u8 *coded = room + warp * SMALL_COMP;
        u32 skip = stage_block(chunks + f->offset + block.offset, block.size, coded, lane);
        carry_out(commands + ((u64)item * batch.n_blocks + b) * (2 * COMMANDS), info.counts,
                  ANY_SPACE(const u8, coded + skip),
                  windows + warp * SMALL_WINDOW, queues[warp], lane);
    }
    if (lane == 0)
        eight.new_planes[warp] = info.counts ? info.new_planes : 0;
    for (u32 t = 0; t < BLOCK_TILES; t++) {
        BARRIER();
        if (t)
            tile = open_tile(&target.plan, b * BLOCK_TILES + t, heads);
        if (ITEM < 128)
            fill_tile(&target, windows, &eight, room, b, t);
        else if (ITEM == 255)
            *(NEAR u64 *)(room + GPU_NO_PLACE * FRAMES) = 0;
        BARRIER();
        sum_tile(&target, room, &tile, &eight, pairs);
    }
}

/* --- Whole pixels --- */

/* The value in word w, bit i of a tile that wide_pixels() has made. */
DEVICE u32 wide_pixel(const NEAR u32 *words, u32 w, u32 i)
{
#if ELEM == 4
    return words[i * PLANE_WORDS + w];
#else
    return words[(i & 15) * PLANE_WORDS + w] >> (i & 16) & 0xffff;
#endif
}

/* A window to pixels, in place: a lane has its own columns.  Invalid pixels become zeros and are put apart. */
DEVICE void wide_pixels(const struct azint_target *t, NEAR u32 *words, u32 new_planes, u32 b, u32 item, u32 lane)
{
    for (u32 w = lane; w < PLANE_WORDS; w += 32) {
        u32 a[32], masked = 0xffffffffu, lost = 0;
        u64 first = (u64)b * BLOCK_PIXELS + 32 * w;
        UNROLL
        for (int i = 0; i < 32; i++)
            a[i] = 0;
        if (new_planes) {
            load_pixels(words, new_planes, w, a);
            masked = ((const u32 *)(t->plan.base + t->plan.at.masked))[first / 32];
        }
        UNROLL
        for (int i = 0; i < 32; i++)
            lost |= a[i] >= FIRST_INVALID ? 1u << i : 0;
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
            u32 i = (u32)FIRST_BIT(lost), v = wide_pixel(words, w, i);
            if (!is_invalid(t->job, v))
                continue;
            words[i % (32 * ELEM / 4) * PLANE_WORDS + w] &= ELEM == 4 ? 0u : 0xffff0000u >> (i & 16);
            put_apart(t, item, first + i, v);
        }
    }
}

/* A sum of up to GPU_SEGMENT products, each below 2^56. */
DEVICE void add_wide_sum(u64 *low, u32 n_bins, u64 x)
{
    if (x >> 36) {
        ATOMIC_ADD64(low + n_bins, x >> 32);
        x &= 0xffffffffu;
    }
    if (x)
        ATOMIC_ADD64(low, x);
}

DEVICE void sum_wide(const struct azint_target *t, const NEAR u8 *windows, const struct tile_at *at,
                     const NEAR struct eight *eight, u32 tile)
{
    const struct azint_plan *plan = &t->plan;
    u32 lane = ITEM % 32, n_bins = plan->at.n_bins;
    for (u32 s = at->first + ITEM / 32; s < at->end; s += FRAMES) {
        struct gpu_slice slice = slice_at(plan, at, s);
        u32 bin = READ_ONLY((const u32 *)(plan->base + plan->at.bins) + s * 32 + lane);
        const uint2 *entry = (const uint2 *)(plan->base + plan->at.entries) + (u64)slice.first * 32 + lane;
        u64 signal[FRAMES], variance[FRAMES];
        UNROLL
        for (int j = 0; j < FRAMES; j++)
            signal[j] = variance[j] = 0;
        for (u32 k = 0; k < slice.n; k++) {
            uint2 e = READ_ONLY(entry + 32 * k);
            u32 c = e.x & 0xffffffu, c2 = square_of(c), pixel = e.y >> 16;
            UNROLL
            for (int j = 0; j < FRAMES; j++) {
                u32 x = wide_pixel((const NEAR u32 *)(windows + j * GPU_BLOCK), tile * 64 + (pixel >> 5),
                                   pixel & 31);
                signal[j] += (u64)c * x;
                if (VARIANCE)
                    variance[j] += (u64)c2 * (x ? x : 1);
            }
        }
        if (bin == GPU_NO_BIN)
            continue;
        UNROLL
        for (int j = 0; j < FRAMES; j++) {
            if (!eight->new_planes[j])
                continue;
            add_wide_sum(fast_row(t->fast, n_bins, GROUP * FRAMES + j, FAST_SIGNAL) + bin, n_bins, signal[j]);
            if (VARIANCE)
                add_wide_sum(fast_row(t->fast, n_bins, GROUP * FRAMES + j, FAST_VARIANCE) + bin, n_bins,
                             variance[j]);
        }
    }
}

KERNEL GROUPS_OF(FRAMES * 32, 3)
void gpu_azint_wide(struct gpu_batch batch, hcy_azint_job job, struct gpu_plan_at at,
                    BUFFER(const u8, chunks), BUFFER(const hcy_bslz4_frame, frames),
                    BUFFER(const hcy_bslz4_block, blocks), BUFFER(const struct block_info, infos),
                    BUFFER(const struct command, commands), BUFFER(const u8, base), BUFFER(u64, sums),
                    BUFFER(hcy_frame_report, reports), BUFFER(u64, fast))
{
    OPEN(const u8, chunks) OPEN(const hcy_bslz4_frame, frames) OPEN(const hcy_bslz4_block, blocks)
    OPEN(const struct block_info, infos) OPEN(const struct command, commands) OPEN(const u8, base)
    OPEN(u64, sums) OPEN(hcy_frame_report, reports) OPEN(u64, fast)
    DYNAMIC_LOCAL(room, FRAMES * GPU_BLOCK);
    LOCAL uint4 queues[FRAMES][QUEUE];
    LOCAL struct gpu_slice heads[SLICES];
    LOCAL struct eight eight;
    u32 lane = ITEM % 32, warp = ITEM / 32, b = GROUP_Y, item = GROUP * FRAMES + warp;
    NEAR u8 *window = room + warp * GPU_BLOCK;
    struct block_info info = own_info(&batch, infos, b, lane, WIDE);
    if (info.counts == 0xffffffffu)
        return;
    struct azint_target target = { { base, at }, &job, sums, fast, reports };
    u32 new_planes = info.counts ? info.new_planes : 0;
    if (info.counts) {
        const hcy_bslz4_frame *f = &frames[item];
        carry_out(commands + ((u64)item * batch.n_blocks + b) * (2 * COMMANDS), info.counts,
                  chunks + f->offset + blocks[f->first_block + b].offset, window, queues[warp], lane);
    }
    wide_pixels(&target, (NEAR u32 *)window, new_planes, b, item, lane);
    if (lane == 0)
        eight.new_planes[warp] = new_planes;
    for (u32 t = 0; t < BLOCK_TILES; t++) {
        BARRIER();
        struct tile_at tile = open_tile(&target.plan, b * BLOCK_TILES + t, heads);
        BARRIER();
        sum_wide(&target, room, &tile, &eight, t);
    }
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

/* One item a bin of a frame. */
KERNEL void gpu_azint_finish(u32 n_bins, BUFFER(const u64, fast), BUFFER(const u64, pairs),
                             BUFFER(u64, all_sums))
{
    OPEN(const u64, fast) OPEN(const u64, pairs) OPEN(u64, all_sums)
    u32 bin = ITEM_OF_ALL, item = GROUP_Y;
    if (bin >= n_bins)
        return;
    u64 *sums = all_sums + (u64)item * HCY_AZINT_SUMS * n_bins;
    const u64 *row = fast + (u64)item * FAST_ROWS * n_bins + bin;
    u64 low = row[FAST_SIGNAL * n_bins], high = row[FAST_SIGNAL_HIGH * n_bins];
    struct wide signal = { low, 0 }, variance = { 0, 0 };
    wide_add(&signal, high << 32, high >> 32);
    low = row[FAST_VARIANCE * n_bins];
    high = row[FAST_VARIANCE_HIGH * n_bins];
    wide_add(&variance, low, 0 - (low >> 63));
    wide_add(&variance, high << 32, high >> 32);
#if UNIT
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
