/* regions.c - the regions that a pipeline is asked for: from rectangles and masks to the table that kernels take, and
 * from what these find to a host's numbers.  The table is made once, before any device is prepared. */
#include "pipeline_priv.h"
#include "azint_pixels.h"

#include <stdlib.h>

#include <halcyon/backend.h>

/* What is asked of all regions. */
static int check_region_options(const hcy_pipeline *p)
{
    const hcy_pipeline_options *o = &p->opts;
    const struct hcy_pixel_type *pixel = hcy_pixel_type(p->source.pixel_type);
    if (!o->regions || o->n_regions > HCY_PIPELINE_MAX_REGIONS)
        return hcy_fail(HCY_EINVAL, "%zu regions: %d at most, and where they are", o->n_regions,
                        HCY_PIPELINE_MAX_REGIONS);
    if (!pixel || pixel->is_float)
        return hcy_fail(HCY_EUNSUPPORTED, "sums of regions are of integer pixels, and these frames are of floats");
    if (o->region_above < 0 && !pixel->is_signed)
        return hcy_fail(HCY_EINVAL, "pixels above %lld are counted, and these frames have no negative ones",
                        (long long)o->region_above);
    return 0;
}

static int check_region(const hcy_region *region, size_t number, size_t height, size_t width)
{
    if (region->x0 < region->x1 && region->x1 <= width && region->y0 < region->y1 && region->y1 <= height)
        return 0;
    return hcy_fail(HCY_EINVAL, "region %zu is columns %u to %u, rows %u to %u (ends not included) of %zu x %zu pixels",
                    number, region->x0, region->x1, region->y0, region->y1, height, width);
}

/* The pixels between which all of a region's lie, in whole words of its bitmap. */
static hcy_azint_region extent_of(const hcy_region *region, size_t width)
{
    const uint64_t first = (uint64_t)region->y0 * width + region->x0,
                   last = (uint64_t)(region->y1 - 1) * width + region->x1;
    return (hcy_azint_region){ first / 64 * 64, (last + 63) / 64 * 64, 0 };
}

static void set_bits(uint8_t *bits, const hcy_region *region, const hcy_azint_region *extent, const uint8_t *mask,
                     size_t width)
{
    for (size_t y = region->y0; y < region->y1; y++) {
        const size_t first = y * width + region->x0, last = y * width + region->x1;
        for (size_t pixel = first, at = first - (size_t)extent->first; pixel < last; pixel++, at++) {
            const unsigned in = !(mask && mask[pixel]) && (!region->pixels || region->pixels[pixel]);
            bits[at / 8] |= (uint8_t)(in << at % 8);
        }
    }
}

int hcy__regions_create(hcy_pipeline *p, size_t height, size_t width)
{
    const size_t n = p->opts.n_regions;
    size_t bytes = n * sizeof(hcy_azint_region);
    int status = n ? check_region_options(p) : 0;
    if (status || !n)
        return status;
    p->region_job = (hcy_azint_region_job){ (uint32_t)n, p->opts.region_above != INT64_MAX,
                                            (uint64_t)p->opts.region_above, 0 };
    /* A bitmap is an eighth of an image at most, so the sum of them all has room in 64 bits. */
    for (size_t i = 0; i < n && !status; i++) {
        status = check_region(&p->opts.regions[i], i, height, width);
        if (status)
            break;
        const hcy_azint_region extent = extent_of(&p->opts.regions[i], width);
        bytes += HCY_AZINT_REGION_BYTES(extent.first, extent.last);
        if (extent.last - extent.first > p->region_job.longest)
            p->region_job.longest = extent.last - extent.first;
    }
    if (status)
        return status;
    hcy_azint_region *table = calloc(1, bytes);
    if (!table)
        return hcy_fail(HCY_ENOMEM, "%zu bytes for %zu regions", bytes, n);
    uint64_t at = n * sizeof *table;
    for (size_t i = 0; i < n; i++) {
        table[i] = extent_of(&p->opts.regions[i], width);
        table[i].bits = at;
        set_bits((uint8_t *)table + at, &p->opts.regions[i], &table[i], p->opts.region_mask, width);
        at += HCY_AZINT_REGION_BYTES(table[i].first, table[i].last);
    }
    p->beside[PIPE_REGIONS] = (struct pipe_beside){ table, bytes, n * HCY_AZINT_REGION_ROWS * sizeof(uint64_t) };
    /* The caller's arrays need not live as long as the pipeline. */
    p->opts.regions = NULL;
    p->opts.region_mask = NULL;
    return 0;
}

/* A sum of 128 bits to one of 64. */
static int64_t narrow_sum(uint64_t lo, uint64_t hi)
{
    const int64_t high = (int64_t)hi;
    if (high == 0 && lo <= INT64_MAX)
        return (int64_t)lo;
    if (high == -1 && lo > INT64_MAX)
        return (int64_t)lo;
    return high < 0 ? INT64_MIN : INT64_MAX;
}

/* A value that compares as an unsigned number. */
static int64_t value_of_key(uint64_t key, int is_signed)
{
    if (is_signed)
        return (int64_t)(key ^ (uint64_t)1 << 63);
    return key > INT64_MAX ? INT64_MAX : (int64_t)key;
}

void hcy__regions_finish(hcy_region_sums *sums, const hcy_pipeline *p, const uint64_t *found)
{
    const int is_signed = hcy_pixel_type(p->source.pixel_type)->is_signed;
    for (size_t i = 0; i < p->region_job.n_regions; i++, found += HCY_AZINT_REGION_ROWS) {
        const uint64_t valid = found[HCY_REGION_VALID];
        sums[i] = (hcy_region_sums){ .sum = narrow_sum(found[HCY_REGION_SUM_LO], found[HCY_REGION_SUM_HI]),
                                     .min = valid ? value_of_key(found[HCY_REGION_MIN], is_signed) : 0,
                                     .max = valid ? value_of_key(found[HCY_REGION_MAX], is_signed) : 0,
                                     .valid = valid,
                                     .invalid = found[HCY_REGION_INVALID],
                                     .zero = found[HCY_REGION_ZERO],
                                     .above = found[HCY_REGION_ABOVE] };
    }
}
