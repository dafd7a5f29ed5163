/* sums_alone.cl - images to sums on a processor: one item a group, which takes a few frames through the plan at once.
 *
 * FRAMES_ALONE, how many, is given when the text is compiled.  Sums of narrow pixels fit 64 bits within a segment;
 * others are added in full, pixel by pixel.
 */
#pragma once
#include "azint/sums.cl"

#if GROUP_SIZE == 1
#define NARROW (PIXEL_BYTES <= 4 && !PIXEL_FLOAT)

/* The plan is far larger than caches and walked in steps of 1 KiB, the images by bins: what comes next is asked for
 * ahead, which makes this kernel a third faster (PoCL, Zen 5).  Such an address may lie behind its memory. */
#if defined __has_builtin
#if __has_builtin(__builtin_prefetch)
#define AHEAD(p) __builtin_prefetch(p)
#endif
#endif
#ifndef AHEAD
#define AHEAD(p)
#endif

/* What the segments of some frames have in common. */
struct alone {
    struct azint_plan plan;
    const hcy_azint_job *job;
    u64 from, span; /* values from here on that are valid, so many */
    u64 tile;
    int shared;  /* other groups add to the same sums */
    const u8 *images[FRAMES_ALONE]; /* at the tile */
    u64 *sums[FRAMES_ALONE];
    u64 lost[FRAMES_ALONE];
};

DEVICE void put_sum(const struct alone *a, u64 *sums, u32 row, u64 bin, const struct wide *x)
{
#if PIXEL_FLOAT
    add_sum(sums, a->plan.at.n_bins, row, bin, x);
#else
    u64 n_bins = a->plan.at.n_bins, *at = sums + row * n_bins + bin;
    if (a->shared) {
        add_sum(sums, n_bins, row, bin, x);
    } else {
        at[0] += x->lo;
        at[n_bins] += x->hi + (at[0] < x->lo);
    }
#endif
}

/* A lost pixel's weight; returns 1 if it is the pixel's first. */
static __attribute__((noinline)) u64 lose_entry(const struct alone *a, u32 j, u32 c, u32 place, u64 bin)
{
    lose_weight(&a->plan, a->sums[j], a->tile * GPU_TILE + place_pixel(place), bin, c);
    return (place & GPU_ENTRY_FIRST) != 0;
}

/* The n quads of a lane, of `frames` frames from the j-th. */
DEVICE void sum_lane(struct alone *a, const uint4 *quads, u32 n, u64 bin, u32 j, u32 frames)
{
#if NARROW
    /* Up to 16 products of 24 and 32 bits need no more than 64. */
    u64 signal[FRAMES_ALONE], variance[FRAMES_ALONE], from = PIXEL_SIGNED ? a->from : 0, span = a->span;
    const u8 *images[FRAMES_ALONE];
    UNROLL
    for (u32 f = 0; f < frames; f++) {
        signal[f] = variance[f] = 0;
        images[f] = a->images[j + f];
    }
    for (u32 q = 0; q < n; q++) {
        const uint4 weights = quads[q * GPU_QUAD_ROW], squares = quads[q * GPU_QUAD_ROW + GPU_LANES];
        /* The next lane's entries follow this one's by as many rows. */
        AHEAD(quads + (q + n) * GPU_QUAD_ROW);
        AHEAD(quads + (q + n) * GPU_QUAD_ROW + GPU_LANES);
        UNROLL
        for (u32 k = 0; k < 4; k++) {
            /* Weight and place are decoded once for all frames. */
            u32 place = quad_place(weights, squares, k), pixel = place_pixel(place);
            u64 c = quad_weight(weights, k), c2 = quad_weight(squares, k);
            if (!(c | (place & GPU_ENTRY_FIRST)))
                continue;
            UNROLL
            for (u32 f = 0; f < frames; f++) {
                u64 v = load_pixel(images[f], pixel);
                /* One comparison answers for most pixels; the job's ranges are asked only beyond it. */
                if (v - from >= span && is_invalid_pixel(a->job, v)) {
                    a->lost[j + f] += lose_entry(a, j + f, (u32)c, place, bin);
                    continue;
                }
                signal[f] += c * v;
                if (VARIANCE)
                    variance[f] += c2 * ((PIXEL_SIGNED ? (i64)v > (i64)LEAST : v != 0) ? v : LEAST);
            }
        }
    }
    UNROLL
    for (u32 f = 0; f < frames; f++) {
        /* Sums over a segment go to memory once, whatever its length. */
        struct wide s = { signal[f], PIXEL_SIGNED ? 0 - (signal[f] >> 63) : 0 }, v = { variance[f], 0 };
        put_sum(a, a->sums[j + f], HCY_SUM_SIGNAL_LO, bin, &s);
        if (VARIANCE)
            put_sum(a, a->sums[j + f], HCY_SUM_VARIANCE_LO, bin, &v);
    }
#else
    for (u32 f = 0; f < frames; f++) {
        /* Other pixels need the full width at each step, and frames gain nothing from one another. */
        struct wide signal = { 0, 0 }, variance = { 0, 0 };
        for (u32 k = 0; k < 4 * n; k++) {
            uint4 weights = quads[k / 4 * GPU_QUAD_ROW];
            u32 c = quad_weight(weights, k % 4),
                place = quad_place(weights, quads[k / 4 * GPU_QUAD_ROW + GPU_LANES], k % 4);
            if (!(c | (place & GPU_ENTRY_FIRST)))
                continue;
            u64 v = load_pixel(a->images[j + f], place_pixel(place));
            if (is_invalid_pixel(a->job, v))
                a->lost[j + f] += lose_entry(a, j + f, c, place, bin);
            else
                add_weight(c, v, &signal, &variance);
        }
        put_sum(a, a->sums[j + f], HCY_SUM_SIGNAL_LO, bin, &signal);
        put_sum(a, a->sums[j + f], HCY_SUM_VARIANCE_LO, bin, &variance);
    }
#endif
}

DEVICE void sum_slice_alone(struct alone *a, u32 s, u32 frames)
{
    const u8 *base = a->plan.base;
    struct gpu_slice slice = ((const struct gpu_slice *)(base + a->plan.at.slices))[s];
    const uint4 *quads = (const uint4 *)(base + a->plan.at.quads) + (u64)slice.first * GPU_QUAD_ROW;
    const u32 *bins = (const u32 *)(base + a->plan.at.bins) + s * GPU_LANES;
    for (u32 lane = 0; lane < GPU_LANES && bins[lane] != GPU_NO_BIN; lane++)
        if (frames == FRAMES_ALONE)
            sum_lane(a, quads + lane, slice.n, bins[lane], 0, FRAMES_ALONE);
        else
            for (u32 j = 0; j < frames; j++)
                sum_lane(a, quads + lane, slice.n, bins[lane], j, 1);
}

/* Values with no invalid one among them: each range is below, or not below their end. */
DEVICE void find_span(struct alone *a, const hcy_azint_job *job)
{
    const i64 ends = (i64)1 << 32;
    i64 from = PIXEL_SIGNED ? -ends : 0, to = ends;
    for (u32 k = 0; k < job->n_invalid; k++) {
        i64 lo = (i64)job->invalid[k].lo, hi = (i64)job->invalid[k].hi;
        if (PIXEL_SIGNED && hi < 0)
            from = hi >= from ? hi + 1 : from;
        else if (PIXEL_SIGNED ? lo < to : (u64)lo < (u64)to)
            to = lo;
    }
    a->from = (u64)from;
    a->span = to > from ? (u64)(to - from) : 0;
}

/* A group takes up to `frames` frames, and every GROUPS-th tile of them. */
KERNEL GROUP_OF(1)
void gpu_azint_alone(hcy_azint_job job, struct gpu_plan_at at, u32 items, u32 frames, BUFFER(const u8, images),
                     BUFFER(const u8, base), BUFFER(u64, all_sums), BUFFER(hcy_frame_report, reports))
{
    OPEN(const u8, images) OPEN(const u8, base) OPEN(u64, all_sums) OPEN(hcy_frame_report, reports)
    u32 first = GROUP_Y * frames, n = items - first < frames ? items - first : frames;
    u32 live = 0, which[FRAMES_ALONE];
    const u32 *slice_of = (const u32 *)(base + at.slice_of);
    struct alone a;
    a.plan.base = base;
    a.plan.at = at;
    a.job = &job;
    a.shared = GROUPS > 1;
    /* Found once for the launch, as each pixel is held against it. */
    find_span(&a, &job);
    for (u32 j = first; j < first + n; j++)
        /* Damaged frames are left out here, so that no loop below asks for them. */
        if (!reports[j].status) {
            a.sums[live] = all_sums + (u64)j * HCY_AZINT_SUMS * at.n_bins;
            a.lost[live] = 0;
            which[live++] = j;
        }
    for (u32 tile = GROUP; tile < at.n_tiles; tile += GROUPS) {
        a.tile = tile;
        for (u32 j = 0; j < live; j++)
            a.images[j] = images + (which[j] * at.n_pixels + (u64)tile * GPU_TILE) * PIXEL_BYTES;
        for (u32 j = 0; j < live; j++)
            for (u32 i = 0; i < GPU_TILE * PIXEL_BYTES; i += 64)
                /* The group's next tile is asked for while this one is summed. */
                AHEAD(a.images[j] + GROUPS * GPU_TILE * PIXEL_BYTES + i);
        for (u32 s = slice_of[tile]; s < slice_of[tile + 1]; s++)
            sum_slice_alone(&a, s, live);
    }
    for (u32 j = 0; j < live; j++)
        /* Other groups count lost pixels of the same frame. */
        if (a.lost[j])
            ATOMIC_ADD64(&reports[which[j]].n_lost, a.lost[j]);
}
#endif
