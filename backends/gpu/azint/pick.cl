/* pick.cl - pixels of images that stand out of the curve which gpu_filter made of them: an item a bin, then an item a
 * pixel.  PIXEL_* as sums.cl has them; the rules are azint_pick.h.
 */
#pragma once
#include "azint/sums.cl"
#include "azint/wide.cl"
#include "azint/azint_pick.h"

#define WORDS HCY_AZINT_PICK_WORDS(PIXEL_BYTES, PIXEL_FLOAT)

/* The frame is the grid's second direction. */
KERNEL void gpu_pick_backgrounds(hcy_azint_pick_job pick, u32 n_bins, BUFFER(const u64, sums),
                                 BUFFER(const hcy_frame_report, reports), BUFFER(struct azint_background, bins),
                                 BUFFER(u64, found))
{
    OPEN(const u64, sums) OPEN(const hcy_frame_report, reports) OPEN(struct azint_background, bins) OPEN(u64, found)
    const u32 bin = ITEM_OF_ALL, item = GROUP_Y;
    if (bin == 0)
        found[item * (1 + WORDS * pick.capacity)] = 0;
    if (bin >= n_bins || reports[item].status)
        return;
    bins[(u64)item * n_bins + bin] =
        azint_background_of(&pick, sums + (u64)item * HCY_AZINT_FILTERED * n_bins, n_bins, bin);
}

DEVICE double value_of(u64 v)
{
#if PIXEL_FLOAT
    return AS_DOUBLE(v);
#else
    return PIXEL_SIGNED ? (double)(i64)v : (double)v;
#endif
}

KERNEL void gpu_pick(hcy_azint_job job, hcy_azint_pick_job pick, BUFFER(const u8, images),
                     BUFFER(const hcy_azint_place, places), BUFFER(const hcy_frame_report, reports),
                     BUFFER(const struct azint_background, bins), BUFFER(u64, found))
{
    OPEN(const u8, images) OPEN(const hcy_azint_place, places) OPEN(const hcy_frame_report, reports)
    OPEN(const struct azint_background, bins) OPEN(u64, found)
    const u64 pixel = ITEM_OF_ALL;
    const u32 item = GROUP_Y;
    if (pixel >= job.n_pixels || reports[item].status)
        return;
    const hcy_azint_place place = places[pixel];
    const u64 v = load_pixel(images + item * job.n_pixels * PIXEL_BYTES, pixel);
    if (!azint_has_place(&place, job.n_bins) ||
        !azint_stands_out(&pick, &place, bins + (u64)item * job.n_bins, value_of(v)) || is_invalid_pixel(&job, v))
        return;
    /* The lower half of the count, which is below 2^32; pixels are few, and their order is the host's to make. */
    u64 *list = found + item * (1 + WORDS * pick.capacity);
    const u32 at = ATOMIC_ADD32((u32 *)list, 1);
    if (at >= pick.capacity)
        return;
    if (WORDS == 1) {
        list[1 + (u64)at] = pixel << 32 | (u32)v;
    } else {
        list[1 + 2 * (u64)at] = pixel;
        list[2 + 2 * (u64)at] = v;
    }
}
