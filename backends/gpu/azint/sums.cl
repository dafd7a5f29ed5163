/* sums.cl - sums of pixels: the numbers (pixels, weights, 128-bit sums, lost pixels), single pixels through the
 * canonical runs, and whole images segment by segment.
 *
 * PIXEL_TYPE (HCY_PIXEL_*), PIXEL_BYTES, PIXEL_SIGNED, PIXEL_FLOAT and VARIANCE are given when the text is compiled:
 * 0 for none, 1 where a pixel has a variance of 1 at least, 2 where it has what it counts.
 */
#pragma once
#include "bslz4/blocks.cl"
#define AZINT_RUN_FUNCTION DEVICE
#include "azint/azint_runs.h"

#define LEAST (VARIANCE == 1 ? 1u : 0u)

/* A pixel as its job's ranges see it: the bits of a uint64, an int64 or a double. */
DEVICE int is_invalid_pixel(const hcy_azint_job *job, u64 v)
{
    int invalid = 0;
#if PIXEL_FLOAT
    double x = AS_DOUBLE(v);
    invalid = x != x;
    for (u32 k = 0; k < job->n_invalid; k++)
        invalid |= x >= AS_DOUBLE(job->invalid[k].lo) && x <= AS_DOUBLE(job->invalid[k].hi);
#elif PIXEL_SIGNED
    for (u32 k = 0; k < job->n_invalid; k++)
        invalid |= (i64)v >= (i64)job->invalid[k].lo && (i64)v <= (i64)job->invalid[k].hi;
#else
    for (u32 k = 0; k < job->n_invalid; k++)
        invalid |= v >= job->invalid[k].lo && v <= job->invalid[k].hi;
#endif
    return invalid;
}

/* An element's low bytes to the bits that is_invalid_pixel() and the sums take. */
DEVICE u64 widen_pixel(u64 v)
{
#if PIXEL_FLOAT && PIXEL_BYTES == 4
    return AS_BITS64((double)AS_FLOAT((u32)v));
#elif PIXEL_SIGNED && PIXEL_BYTES < 8
    return (u64)((i64)(v << (64 - 8 * PIXEL_BYTES)) >> (64 - 8 * PIXEL_BYTES));
#else
    return v;
#endif
}

/* (c * c + 2^23) >> 24 of a weight, in 32 bits: in 64 the compiler would drag the upper half along. */
DEVICE u32 square_of(u32 c)
{
    return MUL_HI32(c << 4, c << 4) + ((c * c) >> 23 & 1);
}

/* --- Sums --- */

/* x + 2^64 high, two's complement, to rows `row` and `row` + 1; any order gives the same bits. */
DEVICE void add_to_sum(u64 *sums, u64 n_bins, u32 row, u64 bin, u64 x, u64 high)
{
    u64 *at = sums + row * n_bins + bin;
    /* The carry of each addition is known from what was there before, so no lock is needed. */
    high += add_carry(at, x);
    if (high)
        ATOMIC_ADD64(at + n_bins, high);
}

struct wide {
    u64 lo, hi;
};
DEVICE void wide_add(struct wide *w, u64 lo, u64 hi)
{
    w->lo += lo;
    w->hi += hi + (w->lo < lo);
}

/* What one weight of a pixel adds to signal and variance: integers in 128 bits, floats in the bits of a double. */
DEVICE void add_weight(u32 c, u64 v, struct wide *signal, struct wide *variance)
{
#if PIXEL_FLOAT
    double x = AS_DOUBLE(v);
    signal->lo = AS_BITS64(AS_DOUBLE(signal->lo) + MUL_F64((double)c, x));
    if (VARIANCE)
        variance->lo = AS_BITS64(AS_DOUBLE(variance->lo) + MUL_F64((double)square_of(c), x > LEAST ? x : LEAST));
#elif PIXEL_SIGNED
    i64 s = (i64)v;
    u64 positive = s > LEAST ? v : LEAST;
    wide_add(signal, (u64)c * v, MUL_HI64((u64)c, v) - (s < 0 ? c : 0));
    if (VARIANCE)
        wide_add(variance, square_of(c) * positive, MUL_HI64((u64)square_of(c), positive));
#else
    u64 positive = v ? v : LEAST;
    wide_add(signal, (u64)c * v, MUL_HI64((u64)c, v));
    if (VARIANCE)
        wide_add(variance, square_of(c) * positive, MUL_HI64((u64)square_of(c), positive));
#endif
}

DEVICE void add_sum(u64 *sums, u64 n_bins, u32 row, u64 bin, const struct wide *x)
{
#if PIXEL_FLOAT
    if (x->lo)
        ATOMIC_ADD_F64((double *)(sums + row * n_bins + bin), AS_DOUBLE(x->lo));
#else
    if (x->lo | x->hi)
        add_to_sum(sums, n_bins, row, bin, x->lo, x->hi);
#endif
}

struct azint_plan {
    const u8 *base;
    struct gpu_plan_at at;
};

/* 2^n, of a normal double. */
DEVICE double power_of_two(i32 n)
{
    return AS_DOUBLE((u64)(1023 + n) << 52);
}

/* What a plan has of a pixel's weight: its dark current, signed, and its variance. */
struct extra {
    struct wide dark, variance;
};
DEVICE struct extra extra_of(const struct azint_plan *plan, u64 pixel, u32 c)
{
    double dark = plan->at.has_darks ? (double)((const float *)(plan->base + plan->at.darks))[pixel] : 0.0;
    double variance =
        plan->at.has_variances ? (double)((const float *)(plan->base + plan->at.variances))[pixel] : 0.0;
#if PIXEL_FLOAT
    struct extra e = { { AS_BITS64(MUL_F64((double)c, dark)), 0 },
                       { AS_BITS64(MUL_F64((double)square_of(c), variance)), 0 } };
#else
    /* The magnitude is rounded and then gets its sign, as everywhere else, so that the bits are the same. */
    u32 shift = (u32)plan->at.dark_shift;
    u64 d = (u64)MUL_F64(dark < 0 ? -dark : dark, power_of_two(plan->at.dark_shift));
    u64 v = (u64)MUL_F64(variance, power_of_two(plan->at.variance_shift));
    struct extra e = { { (u64)c * d, MUL_HI64((u64)c, d) }, { square_of(c) * v, MUL_HI64((u64)square_of(c), v) } };
    if (shift) {
        wide_add(&e.dark, (u64)1 << (shift - 1), 0);
        e.dark.lo = e.dark.lo >> shift | e.dark.hi << (64 - shift);
        e.dark.hi >>= shift;
    }
    if (dark < 0) {
        e.dark.hi = ~e.dark.hi + !e.dark.lo;
        e.dark.lo = 0 - e.dark.lo;
    }
#endif
    return e;
}

/* A weight's part of its bin's norm, and the square of that. */
DEVICE u64 norm_of(const struct azint_plan *plan, u64 pixel, u32 c, struct wide *squared)
{
    /* A norm goes to 40 bits behind the point, cut and not rounded, as the host makes the plan's totals. */
    u64 n = (u64)MUL_F64((double)((const float *)(plan->base + plan->at.norms))[pixel], 1099511627776.0);
    u64 lo = (u64)c * n + (1u << 23), hi = MUL_HI64((u64)c, n) + (lo < (1u << 23));
    u64 cn = lo >> 24 | hi << 40;
    u64 square = cn * cn + ((u64)1 << 39), high = MUL_HI64(cn, cn) + (square < ((u64)1 << 39));
    squared->lo = square >> 40 | high << 24;
    squared->hi = high >> 40;
    return cn;
}

/* What a weight of a lost pixel takes off the norms, and what the plan's dark current and variances will take off and
 * add in vain. */
DEVICE_CALL void lose_weight(const struct azint_plan *plan, u64 *sums, u64 pixel, u64 bin, u32 c)
{
    u64 n_bins = plan->at.n_bins;
    struct wide squared;
    u64 cn = norm_of(plan, pixel, c, &squared);
    /* Lost pixels are few, so nothing is gathered before it is added. */
    ATOMIC_ADD64(sums + HCY_SUM_LOST_COUNT * n_bins + bin, c);
    add_to_sum(sums, n_bins, HCY_SUM_LOST_NORM_LO, bin, cn, 0);
    add_to_sum(sums, n_bins, HCY_SUM_LOST_NORM2_LO, bin, squared.lo, squared.hi);
    if (plan->at.has_darks | plan->at.has_variances) {
        struct extra e = extra_of(plan, pixel, c);
        add_sum(sums, n_bins, HCY_SUM_SIGNAL_LO, bin, &e.dark);
        add_sum(sums, n_bins, HCY_SUM_VARIANCE_LO, bin, &e.variance);
    }
}

/* --- Single pixels --- */

DEVICE const u8 *runs_of(const struct azint_plan *plan, u64 pixel)
{
    return azint_runs_of(plan->base + plan->at.runs, (const u64 *)(plan->base + plan->at.starts), pixel);
}

DEVICE int is_masked(const struct azint_plan *plan, u64 pixel)
{
    return ((const u32 *)(plan->base + plan->at.masked))[pixel >> 5] >> (pixel & 31) & 1;
}

/* --- Images --- */

DEVICE u64 load_pixel(const u8 *image, u64 i)
{
#if PIXEL_BYTES == 1
    return widen_pixel(image[i]);
#elif PIXEL_BYTES == 2
    return widen_pixel(((const u16 *)image)[i]);
#elif PIXEL_BYTES == 4
    return widen_pixel(((const u32 *)image)[i]);
#else
    return widen_pixel(((const u64 *)image)[i]);
#endif
}

/* Entry k of a quad: its weight, what its place says, and the pixel in its tile. */
DEVICE u32 quad_weight(uint4 weights, u32 k)
{
    return (weights.x >> 8 * k & 255) | (weights.y >> 8 * k & 255) << 8 | (weights.z >> 8 * k & 255) << 16;
}
DEVICE u32 quad_place(uint4 weights, uint4 squares, u32 k)
{
    return (k < 2 ? weights.w : squares.w) >> 16 * (k & 1) & 0xffff;
}
DEVICE u32 place_pixel(u32 place)
{
    u32 at = place & GPU_ENTRY_PLACE, row = GPU_PITCHES(at);
    return (at - row * GPU_PITCH) * 32 + row;
}

#if GROUP_SIZE != 1
/* A group takes a tile of an item; GPU_LANES a slice, a lane a segment. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_azint_image(hcy_azint_job job, struct gpu_plan_at at, BUFFER(const u8, images),
                     BUFFER(const u8, base), BUFFER(u64, all_sums), BUFFER(hcy_frame_report, reports))
{
    OPEN(const u8, images) OPEN(const u8, base) OPEN(u64, all_sums) OPEN(hcy_frame_report, reports)
    u32 tile = GROUP, item = GROUP_Y;
    u64 n_bins = at.n_bins;
    u64 *sums = all_sums + item * HCY_AZINT_SUMS * n_bins;
    const u8 *image = images + item * at.n_pixels * PIXEL_BYTES;
    const u32 *slice_of = (const u32 *)(base + at.slice_of), *bins = (const u32 *)(base + at.bins);
    struct azint_plan plan = { base, at };
    u32 lane = ITEM % GPU_LANES, lost = 0;
    /* A damaged frame has no pixels to add; its sums stay zeros. */
    if (reports[item].status)
        return;
    for (u32 s = slice_of[tile] + ITEM / GPU_LANES; s < slice_of[tile + 1]; s += GROUP_SIZE / GPU_LANES) {
        struct gpu_slice slice = ((const struct gpu_slice *)(base + at.slices))[s];
        const uint4 *quads = (const uint4 *)(base + at.quads) + (u64)slice.first * GPU_QUAD_ROW + lane;
        u64 bin = bins[s * GPU_LANES + lane];
        struct wide signal = { 0, 0 }, variance = { 0, 0 };
        /* All lanes of a slice have as many entries: those that fill up have no weight and are passed
         * over. */
        for (u32 k = 0; k < 4 * slice.n; k++) {
            uint4 weights = quads[k / 4 * GPU_QUAD_ROW],
                  squares = quads[k / 4 * GPU_QUAD_ROW + GPU_LANES]; /* in the cache, all but the first */
            u32 c = quad_weight(weights, k % 4), place = quad_place(weights, squares, k % 4);
            u32 first = place & GPU_ENTRY_FIRST;
            /* The first entry of a pixel counts even without a weight, as it says that the pixel is lost. */
            if (!(c | first))
                continue;
            u64 pixel = (u64)tile * GPU_TILE + place_pixel(place), v = load_pixel(image, pixel);
            if (is_invalid_pixel(&job, v)) {
                lost += first != 0;
                lose_weight(&plan, sums, pixel, bin, c);
            } else {
                add_weight(c, v, &signal, &variance);
            }
        }
        if (bin == GPU_NO_BIN)
            continue;
        /* A segment is of one bin, so its sums are added once. */
        add_sum(sums, n_bins, HCY_SUM_SIGNAL_LO, bin, &signal);
        add_sum(sums, n_bins, HCY_SUM_VARIANCE_LO, bin, &variance);
    }
    if (lost)
        ATOMIC_ADD64(&reports[item].n_lost, lost);
}
#endif

/* One item a frame. */
KERNEL void gpu_azint_reset(u32 items, BUFFER(hcy_frame_report, reports))
{
    OPEN(hcy_frame_report, reports)
    u32 i = ITEM_OF_ALL;
    if (i < items && !reports[i].status)
        reports[i].n_lost = 0;
}
