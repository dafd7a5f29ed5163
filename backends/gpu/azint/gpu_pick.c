/* gpu_pick.c - the kernel azint_pick: pixels of images that stand out of the curve which azint_filter made of them. */
#include "gpu_priv.h"

#define AT(name) HCY_ARG_AT(azint_pick, name)

static int pick_scratch(size_t *size, const struct gpu_call *call)
{
    const hcy_azint_job *job = call->values[AT(job)].bytes;
    /* A mean and a deviation of each bin. */
    return hcy_size_mul(size, call->items, 2 * sizeof(double) * job->n_bins);
}

static int check_pick(const struct gpu_call *call)
{
    const hcy_value *v = call->values;
    const char *name = gpu_kernel_name(call->kernel);
    const struct hcy_azint_pick_room room = { v[AT(images)].bytes_left, v[AT(places)].bytes_left,
                                              v[AT(sums)].bytes_left, v[AT(found)].bytes_left,
                                              v[AT(reports)].bytes_left };
    const hcy_azint_job *job = v[AT(job)].bytes;
    size_t scratch = 0;
    int status = hcy_azint_check_pick(name, v[AT(pick_job)].bytes, job, call->items, &room);
    if (!status)
        status = pick_scratch(&scratch, call);
    if (status)
        return status;
    /* Frames are the second direction of the grid, where CUDA has 16 bits, and pixels the first, of 32. */
    if (call->items > 65535 || job->n_pixels > UINT32_MAX - GPU_LANES)
        return hcy_fail(HCY_ERANGE, "%s: %zu frames of %llu pixels in one launch; 65535 are possible", name,
                        call->items, (unsigned long long)job->n_pixels);
    /* Sums and what is found are words of 8 bytes, places of 4; images begin at a pixel. */
    if (!gpu_holds(&v[AT(scratch)], scratch / 8, 8) || !gpu_holds(&v[AT(sums)], 0, 8) ||
        !gpu_holds(&v[AT(found)], 0, 8) || !gpu_holds(&v[AT(reports)], 0, 8) || !gpu_holds(&v[AT(places)], 0, 4) ||
        !gpu_holds(&v[AT(images)], 0, hcy_pixel_type(job->pixel_type)->bytes))
        return hcy_fail(HCY_EINVAL, "%s: scratch too small for %zu frames, or buffers not at multiples of 8 bytes", name,
                        call->items);
    return 0;
}

static int launch_pick(const struct gpu_call *call)
{
    const hcy_value *v = call->values;
    char options[GPU_OPTIONS_BYTES];
    struct gpu_variant *variant;
    int status = check_pick(call);
    if (status)
        return status;
    const hcy_azint_job *job = v[AT(job)].bytes;
    const hcy_azint_pick_job *pick = v[AT(pick_job)].bytes;
    const struct gpu_grid bins = gpu_over(call, job->n_bins, (uint32_t)call->items);
    const struct gpu_grid pixels = gpu_over(call, (uint32_t)job->n_pixels, (uint32_t)call->items);
    gpu_pixel_options(options, pixels.group, hcy_pixel_type(job->pixel_type), 0);
    status = gpu_variant_get(&variant, call->kernel, gpu_text_pick, options);
    if (!status)
        status = GPU_STEP(call, variant, "gpu_pick_backgrounds", &bins, GPU_BYTES(*pick), GPU_BYTES(job->n_bins),
                          gpu_at(&v[AT(sums)], 0), gpu_at(&v[AT(reports)], 0), gpu_at(&v[AT(scratch)], 0),
                          gpu_at(&v[AT(found)], 0));
    return status ? status
                  : GPU_STEP(call, variant, "gpu_pick", &pixels, GPU_BYTES(*job), GPU_BYTES(*pick),
                             gpu_at(&v[AT(images)], 0), gpu_at(&v[AT(places)], 0), gpu_at(&v[AT(reports)], 0),
                             gpu_at(&v[AT(scratch)], 0), gpu_at(&v[AT(found)], 0));
}

const struct gpu_kernel_kind gpu_pick_kernels[] = {
    { "azint_pick", launch_pick, pick_scratch, NULL, GPU_FILTER_BATCH, false },
    { .name = NULL },
};
