/* cpu_regions.h - what workers count of regions (regions.c), and the rules that the variants share with it. */
#ifndef HCY_CPU_REGIONS_H
#define HCY_CPU_REGIONS_H

#include "cpu_azint.h"

/* Of one region in one frame, by one worker: integers, so that their order does not matter. */
struct azint_tally {
    azint_i128 sum;
    uint64_t valid, invalid, zero, above;
    uint64_t max, min; /* as HCY_REGION_MAX has it */
};

/* What values of such a type have flipped, so that they compare as unsigned numbers. */
static inline uint64_t azint_region_sign(bool is_signed)
{
    return is_signed ? (uint64_t)1 << 63 : 0;
}

/* Before the first block, and after the last one: n_workers tallies, `stride` apart, to a region's rows. */
void azint_tallies_reset(struct azint_tally *tallies, size_t n);
void azint_tallies_merge(uint64_t *rows, const struct azint_tally *tallies, size_t n_workers, size_t stride);

struct azint_block;
/* Adds n pixels from pixel `at` on, a multiple of 8, to a frame's tallies, one a region.  `block` has their planes; its
 * `live` and numbers of bytes and words are set here.  lost, chosen: room for the words of a strip. */
struct azint_counting {
    const struct azint_regions *regions;
    const struct azint_ops *ops;
    const hcy_azint_job *job;
    uint64_t *lost, *chosen;
};
void azint_count_regions(struct azint_tally *tallies, const struct azint_counting *counting,
                         const struct azint_block *block, uint64_t at, size_t n);

/* The same of a pass, of pixels that went to its rows: planes as azint_put_planes() takes them, or pixels. */
void azint_regions_planes(struct azint_pass *pass, struct azint_space *space, const struct azint_where *where,
                          const uint8_t *planes, size_t stride, unsigned same_from);
void azint_regions_pixels(struct azint_pass *pass, struct azint_space *space, const struct azint_where *where,
                          const uint8_t *pixels);
/* When all strips are done: the frames' rows of pass->found. */
void azint_regions_merge(struct azint_pass *pass);

#endif
