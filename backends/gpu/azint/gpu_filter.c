/* gpu_filter.c - the kernels azint_filter and bslz4_azint_deviation.
 *
 * The second decodes its frames to images in scratch memory, then sums them as the first does without a filter: the
 * sums that it makes need each pixel in three products of up to 94 bits, so that decoding is the smaller part.
 */
#include "gpu_priv.h"

#include <string.h>

#define IMAGE_AT(name) HCY_ARG_AT(azint_filter, name)
#define CODED_AT(name) HCY_ARG_AT(bslz4_azint_deviation, name)

/* Items of a group, for bins of many pixels and of few. */
#define GROUP_LARGE 128u
#define GROUP_SMALL GPU_LANES
#define MANY        1024u
/* Groups of a processor's core; elsewhere each bin has its own. */
#define GROUPS_ALONE 32u

struct filter {
    const struct gpu_plan *plan;
    const hcy_azint_job *job;
    const hcy_azint_filter *how;
    const struct hcy_pixel_type *pixel;
    const hcy_value *tables, *sums, *reports;
    struct gpu_variant *variant;
    uint32_t group;
};

static int open_filter(struct filter *f, const struct gpu_call *call, const hcy_value *tables, const hcy_value *job,
                       const hcy_azint_filter *how)
{
    char options[GPU_OPTIONS_BYTES];
    *f = (struct filter){ .tables = tables, .job = job->bytes, .how = how };
    f->plan = tables->block ? call->kernel->ops->plan(tables->block) : NULL;
    f->pixel = gpu_job_pixel(call, f->plan, true, f->job);
    if (!f->pixel)
        return HCY_EINVAL;
    int status = hcy_azint_check_filter(gpu_kernel_name(call->kernel), how);
    if (status)
        return status;
    /* Items without a pixel of their own only cost time in sums over the group. */
    f->group = gpu_group(call, f->plan->n_entries / f->plan->at.n_bins < MANY ? GROUP_SMALL : GROUP_LARGE);
    gpu_pixel_options(options, f->group, f->pixel, 1); /* Poisson's is summed where the job asks for it */
    return gpu_variant_get(&f->variant, call->kernel, gpu_text_filter, options);
}

static int run_filter(const struct filter *f, const struct gpu_call *call, const hcy_value *images, size_t at)
{
    uint32_t items = (uint32_t)call->items, bins = f->plan->at.n_bins, most = call->kernel->ops->units * GROUPS_ALONE;
    struct gpu_grid reset = gpu_over(call, items, 1), grid = { { bins, items }, f->group, 0 };
    /* On a processor groups follow one another, so there are only as many as keep its cores busy. */
    if (call->kernel->ops->alone && bins > most)
        grid.groups[0] = most;
    int status = GPU_STEP(call, f->variant, "gpu_azint_reset", &reset, GPU_BYTES(items), gpu_at(f->reports, 0));
    return status ? status
                  : GPU_STEP(call, f->variant, "gpu_filter", &grid, GPU_BYTES(*f->job), GPU_BYTES(*f->how),
                             GPU_BYTES(f->plan->at), gpu_at(images, at), gpu_at(f->tables, 0), gpu_at(f->sums, 0),
                             gpu_at(f->reports, 0));
}

/* --- azint_filter --- */

static int open_image(struct filter *f, const struct gpu_call *call)
{
    const hcy_value *v = call->values;
    return open_filter(f, call, &v[IMAGE_AT(plan)], &v[IMAGE_AT(job)], v[IMAGE_AT(filter)].bytes);
}

int gpu_filter_scratch(size_t *size, const struct gpu_call *call)
{
    struct filter f;
    *size = 0;
    return open_image(&f, call);
}

int gpu_filter_launch(const struct gpu_call *call)
{
    struct filter f;
    const hcy_value *v = call->values;
    size_t size;
    int status = open_image(&f, call);
    if (status)
        return status;
    f.sums = &v[IMAGE_AT(sums)];
    f.reports = &v[IMAGE_AT(reports)];
    status = gpu_check_room(&size, call, f.job, HCY_AZINT_FILTERED, f.sums, f.reports);
    if (!status && (v[IMAGE_AT(images)].bytes_left / f.pixel->bytes / f.job->n_pixels < call->items ||
                    !gpu_holds(&v[IMAGE_AT(images)], 0, f.pixel->bytes)))
        status = hcy_fail(HCY_EINVAL, "azint_filter: images too small for %zu frames, or they begin between pixels",
                          call->items);
    return status ? status : run_filter(&f, call, &v[IMAGE_AT(images)], 0);
}

/* --- bslz4_azint_deviation --- */

struct deviation {
    struct filter filter;
    struct gpu_coded coded;
    size_t images; /* in the scratch memory, which ends at coded.end */
};

static int open_deviation(struct deviation *s, const struct gpu_call *call)
{
    static const hcy_azint_filter how = { .flags = HCY_AZINT_WANT_DEVIATION };
    const hcy_value *v = call->values;
    const hcy_bslz4_job *coding = v[CODED_AT(coding)].bytes;
    size_t size;
    memset(s, 0, sizeof *s);
    int status = open_filter(&s->filter, call, &v[CODED_AT(plan)], &v[CODED_AT(job)], &how);
    if (!status && (s->filter.pixel->is_float || s->filter.pixel->bytes > 4))
        status = hcy_fail(HCY_EUNSUPPORTED, "bslz4_azint_deviation: integers of 4 bytes at most");
    if (!status)
        status = hcy_azint_check_coding(gpu_kernel_name(call->kernel), s->filter.job, coding);
    if (!status)
        status = gpu_coded_open(&s->coded, call, coding, gpu_decodes_fast(call, coding));
    if (!status)
        status = gpu_decode_variant(&s->coded, call);
    /* The images stand behind the decoder's own scratch memory, aligned as buffers are. */
    s->images = (s->coded.end + 255) / 256 * 256;
    if (!status)
        status = hcy_size_mul(&size, call->items, coding->image_bytes);
    return status ? status : hcy_size_add(&s->coded.end, s->images, size);
}

int gpu_deviation_scratch(size_t *size, const struct gpu_call *call)
{
    struct deviation s;
    int status = open_deviation(&s, call);
    *size = s.coded.end;
    return status;
}

int gpu_deviation_launch(const struct gpu_call *call)
{
    struct deviation s;
    size_t size;
    int status = open_deviation(&s, call);
    if (!status)
        status = gpu_coded_set(&s.coded, call, GPU_CODED_AT(bslz4_azint_deviation));
    if (status)
        return status;
    s.filter.sums = &call->values[CODED_AT(sums)];
    s.filter.reports = &call->values[CODED_AT(reports)];
    status = gpu_check_room(&size, call, s.filter.job, HCY_AZINT_FILTERED, s.filter.sums, s.filter.reports);
    if (!status)
        status = gpu_coded_decode(&s.coded, call, s.coded.scratch, s.images);
    return status ? status : run_filter(&s.filter, call, s.coded.scratch, s.images);
}

const struct gpu_kernel_kind gpu_filter_kernels[] = {
    { "azint_filter", gpu_filter_launch, gpu_filter_scratch, gpu_filter_tables, GPU_FILTER_BATCH, false },
    { "bslz4_azint_deviation", gpu_deviation_launch, gpu_deviation_scratch, gpu_filter_plain_tables, GPU_FILTER_BATCH,
      false },
    { .name = NULL },
};
