/* sums_rest.cl - single pixels of coded blocks: those that rest.cl decodes, and those that the fast kernels put apart.
 *
 * Sums meet in scratch memory, FAST_ROWS rows of u64 a frame: no addition waits for an answer.  What is below 2^36
 * goes to one row, larger terms are cut into 32 bits and the rest; `finish` adds all up to 128 bits.  So frames have
 * fewer than 2^27 pixels: a row then stays below 2^63.  Pixels here are integers of 2 or 4 bytes, in words that have
 * their sign.
 */
#pragma once
#include "azint/sums.cl"

enum { FAST_SIGNAL, FAST_SIGNAL_HIGH, FAST_VARIANCE, FAST_VARIANCE_HIGH, FAST_ROWS = GPU_FAST_ROWS };

struct azint_target {
    struct azint_plan plan;
    const hcy_azint_job *job;
    u64 *sums, *fast;
    hcy_frame_report *reports;
};

DEVICE u64 *fast_row(u64 *fast, u32 n_bins, u32 item, u32 row)
{
    return fast + ((u64)item * FAST_ROWS + row) * n_bins;
}

/* A pixel's low bytes as a word. */
DEVICE u32 pixel_word(u32 v)
{
#if PIXEL_SIGNED && PIXEL_BYTES == 2
    return (u32)((i32)(v << 16) >> 16);
#else
    return v;
#endif
}

/* Its variance. */
DEVICE u32 word_variance(u32 v)
{
#if PIXEL_SIGNED
    return (i32)v > (i32)LEAST ? v : LEAST;
#else
    return MAX32(v, LEAST);
#endif
}

/* A product, or a sum of up to GPU_SEGMENT ones, each below 2^56; of either sign where pixels have one, and then both
 * rows have one, too. */
DEVICE void add_wide_sum(u64 *low, u32 n_bins, u64 x)
{
    if ((x + (PIXEL_SIGNED ? (u64)1 << 35 : 0)) >> 36) {
        ATOMIC_ADD64(low + n_bins, PIXEL_SIGNED ? (u64)((i64)x >> 32) : x >> 32);
        x &= 0xffffffffu;
    }
    if (x)
        ATOMIC_ADD64(low, x);
}

DEVICE_CALL void put_pixel_at(const struct azint_target *t, u32 item, u64 pixel, u32 v, int counted)
{
    const struct azint_plan *plan = &t->plan;
    u32 n_bins = plan->at.n_bins;
    if (is_masked(plan, pixel))
        return;
    u64 *signal = fast_row(t->fast, n_bins, item, FAST_SIGNAL);
    u64 *variance = fast_row(t->fast, n_bins, item, FAST_VARIANCE);
    u64 value = PIXEL_SIGNED ? (u64)(i64)(i32)v : v;
    /* What the pixel adds, or what its loss takes off, goes to each bin of its runs. */
    int lost = is_invalid_pixel(t->job, value);
    const u8 *p = runs_of(plan, pixel);
    struct azint_run r;
    do {
        r = azint_run_at(p);
        for (u32 k = 0; k < r.n; k++) {
            u32 c = azint_weight(&r, k);
            u64 square = square_of(c);
            /* The tile had a zero in its place, whose variance was added as one. */
            if (LEAST && counted)
                ATOMIC_ADD64(variance + r.bin + k, 0 - square);
            /* A pixel is lost once, however many bins it falls into. */
            if (lost) {
                lose_weight(plan, t->sums + (u64)item * HCY_AZINT_SUMS * n_bins, pixel, r.bin + k, c);
                continue;
            }
            add_wide_sum(signal + r.bin + k, n_bins, (u64)c * value);
            if (VARIANCE)
                add_wide_sum(variance + r.bin + k, n_bins, square * word_variance(v));
        }
        p = azint_run_end(&r);
    } while (r.more);
    if (lost)
        ATOMIC_ADD64(&t->reports[item].n_lost, 1);
}

/* All of a pixel: its sums, or what its loss takes off.  `counted`: it has been taken for a zero, whose variance
 * is 1.  What the callee sees is copied here, where it is needed: were it the kernel's own, every item would write it
 * to its memory, 300 bytes, whether it comes here or not. */
DEVICE void put_single_pixel(const struct azint_target *t, u32 item, u64 pixel, u32 v, int counted)
{
    struct azint_target own = *t;
    hcy_azint_job job = *t->job;
    own.job = &job;
    put_pixel_at(&own, item, pixel, v, counted);
}

struct rest_target {
    const struct azint_target *azint;
};

DEVICE void rest_pixels(const struct rest_target *target, u32 item, u64 first, const struct decoded *d)
{
    for (u32 i = ITEM; i < (d->n + 7) / 8; i += GROUP_SIZE) {
        u64 v[8];
        eight_elements(d, i, v);
        for (u32 k = 0; k < 8 && 8 * i + k < d->n; k++)
            put_single_pixel(target->azint, item, first + 8 * i + k, pixel_word((u32)v[k]), 0);
    }
}
