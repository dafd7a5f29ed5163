/* azint_job.h - a launch's job held against its plan and its chunks: what every backend refuses, in the same words,
 * behind the name of `who` refuses.  Host side alone. */
#ifndef HCY_AZINT_JOB_H
#define HCY_AZINT_JOB_H

#include "azint_pixels.h"
#include "bslz4/bslz4_format.h"

#include <halcyon/backend.h>

/* The plan's argument is no plan of this kernel's. */
static inline int hcy_azint_no_plan(const char *who)
{
    return hcy_fail(HCY_EINVAL, "%s: the plan's tables are not those of hcy_kernel_prepare()", who);
}

/* Is it a job, and that of a plan of so many pixels and bins? */
static inline int hcy_azint_check_job(const char *who, const hcy_azint_job *job, uint64_t n_pixels, uint32_t n_bins)
{
    if (!hcy_pixel_type(job->pixel_type))
        return hcy_fail(HCY_EINVAL, "%s: pixel type not one of HCY_PIXEL_*", who);
    if (job->n_invalid > HCY_AZINT_MAX_INVALID)
        return hcy_fail(HCY_EINVAL, "%s: too many invalid ranges", who);
    if (job->n_pixels != n_pixels || job->n_bins != n_bins)
        return hcy_fail(HCY_EINVAL, "%s: the job has %llu pixels and %u bins, its plan %llu and %u", who,
                        (unsigned long long)job->n_pixels, job->n_bins, (unsigned long long)n_pixels, n_bins);
    return 0;
}

/* Are chunks of this coding images of a job that was checked? */
static inline int hcy_azint_check_coding(const char *who, const hcy_azint_job *job, const hcy_bslz4_job *coding)
{
    const uint32_t bytes = hcy_pixel_type(job->pixel_type)->bytes;
    if (coding->elem_size == bytes && coding->image_bytes % bytes == 0 && coding->image_bytes / bytes == job->n_pixels)
        return 0;
    return hcy_fail(HCY_EINVAL,
                    "%s: chunks of %llu bytes in elements of %u, where the job's images have %llu pixels of %u", who,
                    (unsigned long long)coding->image_bytes, coding->elem_size, (unsigned long long)job->n_pixels,
                    bytes);
}

static inline int hcy_azint_check_filter(const char *who, const hcy_azint_filter *filter)
{
    return filter->kind <= HCY_AZINT_FILTER_PERCENTILE
               ? 0
               : hcy_fail(HCY_EINVAL, "%s: no filter of kind %u", who, filter->kind);
}

/* Bytes of the arguments of azint_pick. */
struct hcy_azint_pick_room {
    size_t images, places, sums, found, reports;
};

/* Regions of frames of these pixels, in a table of so many bytes, found in so many of others; where the kernel reads
 * the table, it holds each region against it. */
static inline int hcy_azint_check_regions(const char *who, const hcy_azint_region_job *regions,
                                          const hcy_azint_job *job, size_t items, size_t table_bytes,
                                          size_t found_bytes)
{
    const size_t n = regions->n_regions, of_frame = n * HCY_AZINT_REGION_ROWS * sizeof(uint64_t);
    if (!hcy_pixel_type(job->pixel_type) || hcy_pixel_type(job->pixel_type)->is_float)
        return hcy_fail(HCY_EUNSUPPORTED, "%s: regions are of integer pixels", who);
    if (!n || n > HCY_AZINT_MAX_REGIONS)
        return hcy_fail(HCY_EINVAL, "%s: %zu regions; 1 to %d are possible", who, n, HCY_AZINT_MAX_REGIONS);
    if (table_bytes / sizeof(hcy_azint_region) < n || found_bytes / of_frame < items)
        return hcy_fail(HCY_EINVAL, "%s: the regions or the room for them are too small for %zu frames", who, items);
    return 0;
}

/* Picks of frames of these pixels, in arguments of so many bytes. */
static inline int hcy_azint_check_pick(const char *who, const hcy_azint_pick_job *pick, const hcy_azint_job *job,
                                       size_t items, const struct hcy_azint_pick_room *room)
{
    const struct hcy_pixel_type *pixel = hcy_pixel_type(job->pixel_type);
    if (!pixel || !(pick->flags & HCY_AZINT_PICK_FLOAT) != !pixel->is_float)
        return hcy_fail(HCY_EINVAL, "%s: pixels and sums of two kinds", who);
    const uint64_t words = HCY_AZINT_PICK_WORDS(pixel->bytes, pixel->is_float);
    if (!(pick->cutoff >= 0 && pick->noise >= 0) || job->n_invalid > HCY_AZINT_MAX_INVALID || !job->n_pixels ||
        !job->n_bins || pick->capacity >= UINT32_MAX)
        return hcy_fail(HCY_EINVAL, "%s: no job", who);
    const uint64_t sums = (uint64_t)HCY_AZINT_FILTERED * job->n_bins * sizeof(uint64_t);
    if (room->images / pixel->bytes / job->n_pixels < items || room->places / sizeof(hcy_azint_place) < job->n_pixels ||
        room->sums / sums < items || room->found / sizeof(uint64_t) / (1 + words * pick->capacity) < items ||
        room->reports / sizeof(hcy_frame_report) < items)
        return hcy_fail(HCY_EINVAL, "%s: images, places, sums, reports or the room for pixels too small for %zu frames",
                        who, items);
    return 0;
}

#endif
