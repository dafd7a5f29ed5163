/* regions.cl - what is in regions of images: a group takes a piece of a region, then an item all pieces of one.
 *
 * Pieces leave their numbers in scratch memory, so no device needs atomic largest values of 64 bits.  PIXEL_* as
 * sums.cl has them.
 */
#pragma once
#include "azint/sums.cl"

/* Values that compare as unsigned numbers. */
#define REGION_SIGN (PIXEL_SIGNED ? (u64)1 << 63 : (u64)0)

struct region_found {
    struct wide sum;
    u64 valid, invalid, zero, above, max, min;
};

DEVICE struct region_found region_nothing(void)
{
    struct region_found f = { { 0, 0 }, 0, 0, 0, 0, 0, ~(u64)0 };
    return f;
}

DEVICE void region_add_pixel(struct region_found *f, const hcy_azint_job *job, const hcy_azint_region_job *regions,
                             u64 v)
{
    u64 key = v ^ REGION_SIGN;
    if (is_invalid_pixel(job, v)) {
        f->invalid++;
        return;
    }
    wide_add(&f->sum, v, PIXEL_SIGNED ? 0 - (v >> 63) : 0);
    f->valid++;
    f->zero += v == 0;
    f->above += regions->has_above && key > (regions->above ^ REGION_SIGN);
    f->max = key > f->max ? key : f->max;
    f->min = key < f->min ? key : f->min;
}

DEVICE void region_join(struct region_found *f, const struct region_found *other)
{
    wide_add(&f->sum, other->sum.lo, other->sum.hi);
    f->valid += other->valid;
    f->invalid += other->invalid;
    f->zero += other->zero;
    f->above += other->above;
    f->max = other->max > f->max ? other->max : f->max;
    f->min = other->min < f->min ? other->min : f->min;
}

/* To rows and back, `stride` apart from `at` on; not functions, because rows lie in local or in global memory. */
#define REGION_PUT(rows, at, stride, f)                     \
    do {                                                    \
        (rows)[HCY_REGION_SUM_LO * (stride) + (at)] = (f).sum.lo;   \
        (rows)[HCY_REGION_SUM_HI * (stride) + (at)] = (f).sum.hi;   \
        (rows)[HCY_REGION_VALID * (stride) + (at)] = (f).valid;     \
        (rows)[HCY_REGION_INVALID * (stride) + (at)] = (f).invalid; \
        (rows)[HCY_REGION_ZERO * (stride) + (at)] = (f).zero;       \
        (rows)[HCY_REGION_ABOVE * (stride) + (at)] = (f).above;     \
        (rows)[HCY_REGION_MAX * (stride) + (at)] = (f).max;         \
        (rows)[HCY_REGION_MIN * (stride) + (at)] = (f).min;         \
    } while (0)
#define REGION_GET(f, rows, at, stride)                             \
    do {                                                            \
        (f).sum.lo = (rows)[HCY_REGION_SUM_LO * (stride) + (at)];   \
        (f).sum.hi = (rows)[HCY_REGION_SUM_HI * (stride) + (at)];   \
        (f).valid = (rows)[HCY_REGION_VALID * (stride) + (at)];     \
        (f).invalid = (rows)[HCY_REGION_INVALID * (stride) + (at)]; \
        (f).zero = (rows)[HCY_REGION_ZERO * (stride) + (at)];       \
        (f).above = (rows)[HCY_REGION_ABOVE * (stride) + (at)];     \
        (f).max = (rows)[HCY_REGION_MAX * (stride) + (at)];         \
        (f).min = (rows)[HCY_REGION_MIN * (stride) + (at)];         \
    } while (0)

/* A group a piece of a region, `pieces` of each; an item of the grid's second direction a frame. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_regions(hcy_azint_job job, hcy_azint_region_job regions, u32 pieces, u64 table_bytes, BUFFER(const u8, images),
                 BUFFER(const u8, table), BUFFER(const hcy_frame_report, reports), BUFFER(u64, scratch))
{
    OPEN(const u8, images) OPEN(const u8, table) OPEN(const hcy_frame_report, reports) OPEN(u64, scratch)
    LOCAL u64 room[HCY_AZINT_REGION_ROWS * GROUP_SIZE];
    const u32 item = GROUP_Y, piece = GROUP % pieces, number = GROUP / pieces;
    const hcy_azint_region region = ((const hcy_azint_region *)table)[number];
    const u8 *image = images + item * job.n_pixels * PIXEL_BYTES;
    const u64 place = ((u64)item * regions.n_regions + number) * pieces + piece;
    struct region_found f = region_nothing();
    u64 words = region.last > region.first ? (region.last - region.first) / 64 : 0;
    /* A region whose bitmap does not lie in the table, or not in the image, has no pixels. */
    const u64 lies = region.bits <= table_bytes && 8 * words <= table_bytes - region.bits &&
                     region.first <= job.n_pixels && words <= job.n_pixels / 64 + 1;
    if (!lies || region.bits % 8 || reports[item].status)
        words = 0;
    const u64 *bits = (const u64 *)(table + (lies && region.bits % 8 == 0 ? region.bits : 0));
    const u64 first = words * piece / pieces, last = words * (piece + 1) / pieces;
    /* Neighbours read neighbouring pixels. */
    for (u64 i = 64 * first + ITEM; i < 64 * last; i += GROUP_SIZE)
        if (bits[i / 64] >> (i & 63) & 1 && region.first + i < job.n_pixels)
            region_add_pixel(&f, &job, &regions, load_pixel(image, region.first + i));
    REGION_PUT(room, ITEM, GROUP_SIZE, f);
    BARRIER();
    /* One item adds the others': some hundred numbers, where a piece has thousands of pixels. */
    for (u32 k = 1; ITEM == 0 && k < GROUP_SIZE; k++) {
        struct region_found other;
        REGION_GET(other, room, k, GROUP_SIZE);
        region_join(&f, &other);
    }
    if (ITEM == 0)
        REGION_PUT(scratch, place * HCY_AZINT_REGION_ROWS, 1, f);
}

/* One item a region of a frame. */
KERNEL void gpu_regions_merge(u32 n, u32 pieces, BUFFER(const u64, scratch), BUFFER(u64, found))
{
    OPEN(const u64, scratch) OPEN(u64, found)
    const u32 i = ITEM_OF_ALL;
    struct region_found f = region_nothing();
    if (i >= n)
        return;
    for (u32 k = 0; k < pieces; k++) {
        struct region_found other;
        REGION_GET(other, scratch, ((u64)i * pieces + k) * HCY_AZINT_REGION_ROWS, 1);
        region_join(&f, &other);
    }
    REGION_PUT(found, (u64)i * HCY_AZINT_REGION_ROWS, 1, f);
}
