/* gpu_regions.c - the kernel azint_regions: sums and statistics of regions of images.
 *
 * bslz4_azint_regions is not here: the way with both on a GPU is to decode, then to run this kernel and azint_image on
 * the images, which who launches does where a device lacks the one that does all.
 */
#include "gpu_priv.h"

#define AT(name) HCY_ARG_AT(azint_regions, name)

#define GROUP      128u
#define PIECE      16384u /* pixels of a group, */
#define MAX_PIECES 64u    /* unless a region has more than so many of them */

struct regions {
    const hcy_azint_job *job;
    const hcy_azint_region_job *regions;
    uint32_t pieces; /* of a region */
    size_t scratch;  /* bytes */
};

static int open_regions(struct regions *r, const struct gpu_call *call)
{
    const hcy_value *v = call->values;
    uint64_t pieces;
    *r = (struct regions){ .job = v[AT(job)].bytes, .regions = v[AT(region_job)].bytes };
    pieces = r->regions->longest / PIECE + 1;
    r->pieces = pieces < MAX_PIECES ? (uint32_t)pieces : MAX_PIECES;
    size_t region = r->pieces * HCY_AZINT_REGION_ROWS * sizeof(uint64_t);
    return hcy_size_mul(&r->scratch, call->items, region * r->regions->n_regions);
}

static int regions_scratch(size_t *size, const struct gpu_call *call)
{
    struct regions r;
    int status = open_regions(&r, call);
    *size = r.scratch;
    return status;
}

static int check_regions(const struct regions *r, const struct gpu_call *call)
{
    const hcy_value *v = call->values;
    const char *name = gpu_kernel_name(call->kernel);
    int status = hcy_azint_check_regions(name, r->regions, r->job, call->items, v[AT(regions)].bytes_left,
                                         v[AT(found)].bytes_left);
    if (status)
        return status;
    /* Frames are the second direction of the grid, where CUDA has 16 bits. */
    if (call->items > 65535)
        return hcy_fail(HCY_ERANGE, "%s: %zu frames in one launch; 65535 are possible", name, call->items);
    if (!r->job->n_pixels || r->job->n_invalid > HCY_AZINT_MAX_INVALID ||
        v[AT(images)].bytes_left / hcy_pixel_type(r->job->pixel_type)->bytes / r->job->n_pixels < call->items ||
        !gpu_holds(&v[AT(images)], 0, hcy_pixel_type(r->job->pixel_type)->bytes) ||
        !gpu_holds(&v[AT(reports)], call->items, sizeof(hcy_frame_report)) ||
        (r->scratch && (!gpu_holds(&v[AT(found)], 0, 8) || !gpu_holds(&v[AT(regions)], 0, 8) ||
                        !gpu_holds(&v[AT(scratch)], r->scratch / 8, 8))))
        return hcy_fail(HCY_EINVAL, "%s: images, reports or scratch too small for %zu frames, or not at 8 bytes", name,
                        call->items);
    return 0;
}

static int launch_regions(const struct gpu_call *call)
{
    const hcy_value *v = call->values;
    char options[GPU_OPTIONS_BYTES];
    struct regions r;
    struct gpu_variant *variant;
    int status = open_regions(&r, call);
    if (!status)
        status = check_regions(&r, call);
    if (status)
        return status;
    const uint32_t items = (uint32_t)call->items, group = gpu_group(call, GROUP), n = items * r.regions->n_regions;
    const uint64_t table_bytes = v[AT(regions)].bytes_left;
    const struct gpu_grid grid = { { r.pieces * r.regions->n_regions, items }, group, 0 };
    const struct gpu_grid merge = gpu_over(call, n, 1);
    gpu_pixel_options(options, group, hcy_pixel_type(r.job->pixel_type), 0);
    status = gpu_variant_get(&variant, call->kernel, gpu_text_regions, options);
    if (!status)
        status = GPU_STEP(call, variant, "gpu_regions", &grid, GPU_BYTES(*r.job), GPU_BYTES(*r.regions),
                          GPU_BYTES(r.pieces), GPU_BYTES(table_bytes), gpu_at(&v[AT(images)], 0),
                          gpu_at(&v[AT(regions)], 0), gpu_at(&v[AT(reports)], 0), gpu_at(&v[AT(scratch)], 0));
    return status ? status
                  : GPU_STEP(call, variant, "gpu_regions_merge", &merge, GPU_BYTES(n), GPU_BYTES(r.pieces),
                             gpu_at(&v[AT(scratch)], 0), gpu_at(&v[AT(found)], 0));
}

const struct gpu_kernel_kind gpu_regions_kernels[] = {
    { "azint_regions", launch_regions, regions_scratch, NULL, GPU_FILTER_BATCH, false },
    { .name = NULL },
};
