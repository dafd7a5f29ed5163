/* gpu_azint.c - the kernels azint_image and bslz4_azint. */
#include "gpu_priv.h"

#include <stdio.h>
#include <string.h>

#define IMAGE_AT(name) HCY_ARG_AT(azint_image, name)
#define CODED_AT(name) HCY_ARG_AT(bslz4_azint, name)

/* A launch of either kernel. */
struct azint {
    const struct gpu_plan *plan;
    const hcy_azint_job *job;
    const struct hcy_pixel_type *pixel;
    const hcy_value *tables, *sums, *reports;
    struct gpu_variant *variant;
    struct gpu_coded coded;
    bool fused;         /* the fast way, with no images; */
    size_t images;      /* in the scratch memory: frames decoded first, */
    size_t fast, pairs; /* or sums of the fast way, up to */
    size_t list;        /* the list of heavy groups, which ends at coded.end */
    bool unit;
};

/* Sums of two frames to a word stay exact up to that many pixels. */
#define UNIT_PIXELS (1u << 24)
/* Rows of the fast way stay below 2^63 for so many: each adds less than 2^36 to a bin's. */
#define FUSED_PIXELS (1u << 27)
/* Values up to here may be counted without being looked at. */
#define BYTE 255

const struct hcy_pixel_type *gpu_job_pixel(const struct gpu_call *call, const struct gpu_plan *plan, bool filter,
                                           const hcy_azint_job *job)
{
    const char *name = gpu_kernel_name(call->kernel);
    int status = plan && plan->filter == filter ? hcy_azint_check_job(name, job, plan->at.n_pixels, plan->at.n_bins)
                                                : hcy_azint_no_plan(name);
    return status ? NULL : hcy_pixel_type(job->pixel_type);
}

int gpu_check_room(size_t *size, const struct gpu_call *call, const hcy_azint_job *job, uint32_t rows,
                   const hcy_value *sums, const hcy_value *reports)
{
    const char *name = gpu_kernel_name(call->kernel);
    int status = hcy_size_mul(size, call->items, rows * sizeof(uint64_t) * (size_t)job->n_bins);
    if (status)
        return status;
    if (!gpu_holds(sums, *size / sizeof(uint64_t), sizeof(uint64_t)) ||
        !gpu_holds(reports, call->items, sizeof(hcy_frame_report)))
        return hcy_fail(HCY_EINVAL, "%s: sums or reports too small for %zu frames, or not at 8 bytes", name, call->items);
    /* Frames are the second direction of the grid, where CUDA has 16 bits. */
    if (call->items > 65535)
        return hcy_fail(HCY_ERANGE, "%s: %zu frames in one launch; 65535 are possible", name, call->items);
    return 0;
}

int gpu_pixel_options(char *options, uint32_t group, const struct hcy_pixel_type *pixel, unsigned variance)
{
    return snprintf(options, GPU_OPTIONS_BYTES,
                    "-DGROUP_SIZE=%u -DPIXEL_BYTES=%u -DPIXEL_SIGNED=%u -DPIXEL_FLOAT=%u -DVARIANCE=%u", group,
                    pixel->bytes, pixel->is_signed, pixel->is_float, variance);
}

/* What texts know as VARIANCE: none, 1 a pixel at least, as the pixel is. */
static unsigned variance_of(const hcy_azint_job *job)
{
    return job->flags & HCY_AZINT_WANT_VARIANCE ? 2 - HCY_AZINT_LEAST_VARIANCE(job->flags) : 0;
}

static int open_azint(struct azint *a, const struct gpu_call *call, const hcy_value *tables,
                      const hcy_value *job)
{
    memset(a, 0, sizeof *a);
    a->tables = tables;
    /* A NULL plan is one that other kernels made, or none; gpu_job_pixel() says so. */
    a->plan = tables->block ? call->kernel->ops->plan(tables->block) : NULL;
    a->job = job->bytes;
    a->pixel = gpu_job_pixel(call, a->plan, false, a->job);
    if (!a->pixel)
        return HCY_EINVAL;
    if (a->pixel->is_float && call->kernel->ops->atomics32)
        return hcy_fail(HCY_EUNSUPPORTED,
                        "%s: float pixels need atomic sums of 64 bits, which this device lacks",
                        gpu_kernel_name(call->kernel));
    return 0;
}

static int image_variant(struct azint *a, const struct gpu_call *call)
{
    char options[GPU_OPTIONS_BYTES];
    const struct gpu_row *row = call->kernel->ops->row;
    int n = gpu_pixel_options(options, gpu_group(call, row->image_group), a->pixel,
                              variance_of(a->job));
    /* Frames at once are loops that only unroll if their number is known when the text is compiled. */
    if (call->kernel->ops->alone)
        snprintf(options + n, sizeof options - (size_t)n, " -DFRAMES_ALONE=%u", row->frames_alone);
    return gpu_variant_get(&a->variant, call->kernel, gpu_text_azint, options);
}

/* Room for the sums, which begin as zeros. */
static int open_sums(const struct azint *a, const struct gpu_call *call)
{
    size_t size;
    int status = gpu_check_room(&size, call, a->job, HCY_AZINT_SUMS, a->sums, a->reports);
    return status ? status : call->kernel->ops->zero(call->queue, a->sums, 0, size);
}

/* The same on a processor: a few frames share what is read of the plan; if there are few frames, groups share the
 * tiles, and add to the same sums. */
static int run_image_alone(const struct azint *a, const struct gpu_call *call, const hcy_value *images,
                           size_t at)
{
    uint32_t items = (uint32_t)call->items, units = call->kernel->ops->units, frames = items / units;
    const uint32_t most = call->kernel->ops->row->frames_alone;
    /* Frames that share a pass over the plan read it once, but all cores should have work: that comes
     * first. */
    if (frames < 1)
        frames = 1;
    if (frames > most)
        frames = most;
    /* Four parts a core even out tiles that cost more than others. */
    uint32_t rows = (items + frames - 1) / frames, parts = rows < units ? (4 * units + rows - 1) / rows : 1;
    struct gpu_grid grid = { { parts < a->plan->at.n_tiles ? parts : a->plan->at.n_tiles, rows }, 1, 0 };
    return GPU_STEP(call, a->variant, "gpu_azint_alone", &grid, GPU_BYTES(*a->job), GPU_BYTES(a->plan->at),
                    GPU_BYTES(items), GPU_BYTES(frames), gpu_at(images, at), gpu_at(a->tables, 0),
                    gpu_at(a->sums, 0), gpu_at(a->reports, 0));
}

/* Integrates images from offset `at` on, segment by segment. */
static int run_image_groups(const struct azint *a, const struct gpu_call *call, const hcy_value *images, size_t at)
{
    struct gpu_grid grid = { { a->plan->at.n_tiles, (uint32_t)call->items },
                             call->kernel->ops->row->image_group,
                             0 };
    if (call->kernel->ops->alone)
        return run_image_alone(a, call, images, at);
    return GPU_STEP(call, a->variant, "gpu_azint_image", &grid, GPU_BYTES(*a->job), GPU_BYTES(a->plan->at),
                    gpu_at(images, at), gpu_at(a->tables, 0), gpu_at(a->sums, 0), gpu_at(a->reports, 0));
}

/* --- azint_image --- */

int gpu_image_scratch(size_t *size, const struct gpu_call *call)
{
    struct azint a;
    *size = 0;
    int status = open_azint(&a, call, &call->values[IMAGE_AT(plan)], &call->values[IMAGE_AT(job)]);
    return status ? status : image_variant(&a, call);
}

int gpu_image_launch(const struct gpu_call *call)
{
    struct azint a;
    const hcy_value *v = call->values;
    uint32_t items = (uint32_t)call->items;
    struct gpu_grid grid = gpu_over(call, items, 1);
    int status = open_azint(&a, call, &v[IMAGE_AT(plan)], &v[IMAGE_AT(job)]);
    if (!status)
        status = image_variant(&a, call);
    if (status)
        return status;
    a.sums = &v[IMAGE_AT(sums)];
    a.reports = &v[IMAGE_AT(reports)];
    /* Divisions cannot overflow, as the product of frames and pixels could. */
    if (v[IMAGE_AT(images)].bytes_left / a.pixel->bytes / a.job->n_pixels < call->items ||
        !gpu_holds(&v[IMAGE_AT(images)], 0, a.pixel->bytes))
        return hcy_fail(HCY_EINVAL, "azint_image: images too small for %zu frames, or they begin between pixels",
                        call->items);
    status = open_sums(&a, call);
    if (!status)
        status = GPU_STEP(call, a.variant, "gpu_azint_reset", &grid, GPU_BYTES(items), gpu_at(a.reports, 0));
    return status ? status : run_image_groups(&a, call, &v[IMAGE_AT(images)], 0);
}

/* --- bslz4_azint --- */

/* Values that need not be looked at, as none of them is invalid: `from` to `to` - 1.  False: some of a byte are. */
struct looked_past {
    int64_t from, to;
};
static bool look_past(struct looked_past *p, const hcy_azint_job *job, const struct hcy_pixel_type *pixel)
{
    const int64_t most = (int64_t)(UINT64_MAX >> (64 - 8 * pixel->bytes + pixel->is_signed));
    /* The ends all are looked at: so a text does for the invalid values of most detectors. */
    *p = (struct looked_past){ pixel->is_signed ? -most : 0, most - 2 };
    for (uint32_t k = 0; k < job->n_invalid; k++) {
        const hcy_azint_range *r = &job->invalid[k];
        const bool below = pixel->is_signed && (int64_t)r->hi < 0;
        if (pixel->is_signed ? (int64_t)r->lo > (int64_t)r->hi : r->lo > r->hi)
            continue;
        if (below && (int64_t)r->hi >= p->from)
            p->from = (int64_t)r->hi + 1;
        else if (!below && (pixel->is_signed ? (int64_t)r->lo <= BYTE : r->lo <= BYTE))
            return false;
        else if (!below && r->lo < (uint64_t)p->to)
            p->to = (int64_t)r->lo;
    }
    return true;
}

/* Eight windows of a group of `heavy` are more than some devices have; there images come between. */
static bool has_local_room(const struct gpu_call *call)
{
    const struct gpu_ops *ops = call->kernel->ops;
    return !ops->local_bytes || ops->local_bytes >= gpu_fast_local_bytes(ops->row);
}

/* Where the fast way's own sums are, or the images. */
static int lay_sums(struct azint *a, const struct gpu_call *call)
{
    size_t groups = (call->items + GPU_FRAMES - 1) / GPU_FRAMES, row = a->job->n_bins * sizeof(uint64_t),
           size;
    a->images = a->fast = a->pairs = a->list = (a->coded.end + 255) / 256 * 256;
    int status;
    /* Where the fused kernels cannot go, whole images come between decoding and summing. */
    if (!a->fused) {
        status = hcy_size_mul(&size, call->items, a->coded.batch.image_bytes);
        return status ? status : hcy_size_add(&a->coded.end, a->images, size);
    }
    /* The rows are of whole groups of eight: a frame alone uses all eight as copies of its sums. */
    status = hcy_size_mul(&size, groups * GPU_FRAMES * GPU_FAST_ROWS, row);
    if (!status)
        status = hcy_size_add(&a->pairs, a->fast, size);
    if (!status)
        status = hcy_size_mul(&size, a->unit ? groups * GPU_PAIR_ROWS : 0, row);
    if (!status)
        status = hcy_size_add(&a->list, a->pairs, size);
    return status ? status
                  : hcy_size_add(&a->coded.end, a->list, groups * a->coded.batch.n_blocks * sizeof(uint32_t));
}

static int fast_variant(struct azint *a, const struct gpu_call *call, const struct looked_past *past)
{
    char options[GPU_OPTIONS_BYTES];
    int n = gpu_pixel_options(options, gpu_rest_group(&a->coded, call), a->pixel,
                              variance_of(a->job));
    n += snprintf(options + n, sizeof options - (size_t)n, " -DELEM=%u -DUNIT=%u -DFIRST_INVALID=%lld%s",
                  a->pixel->bytes, a->unit, (long long)past->to, a->pixel->is_signed ? "" : "u");
    if (a->pixel->is_signed)
        n += snprintf(options + n, sizeof options - (size_t)n, " -DFIRST_VALID=%lld", (long long)past->from);
    gpu_row_options(call, options, n);
    return gpu_variant_get(&a->coded.variant, call->kernel, gpu_text_azint_fast, options);
}

static int open_coded(struct azint *a, const struct gpu_call *call)
{
    const hcy_value *v = call->values;
    const hcy_bslz4_job *coding = v[CODED_AT(coding)].bytes;
    int status = open_azint(a, call, &v[CODED_AT(plan)], &v[CODED_AT(job)]);
    if (status)
        return status;
    status = hcy_azint_check_coding(gpu_kernel_name(call->kernel), a->job, coding);
    if (status)
        return status;
    /* The fused kernels count pixels of a byte without looking at them, so no such value may be invalid.  Images are
     * decoded fast where they can be. */
    struct looked_past past = { 0, 0 };
    a->fused = !a->pixel->is_float && a->pixel->bytes <= 4 && look_past(&past, a->job, a->pixel) &&
               a->job->n_pixels < FUSED_PIXELS && has_local_room(call);
    status = gpu_coded_open(&a->coded, call, coding, a->fused || gpu_decodes_fast(call, coding));
    a->fused = a->fused && a->coded.batch.fast;
    /* Sums of two frames share a word, which more pixels might overflow. */
    a->unit = a->plan->unit && a->job->n_pixels < UNIT_PIXELS;
    if (!status)
        status = lay_sums(a, call);
    if (!status && a->fused)
        return fast_variant(a, call, &past);
    if (!status)
        status = gpu_decode_variant(&a->coded, call);
    return status ? status : image_variant(a, call);
}

int gpu_azint_scratch(size_t *size, const struct gpu_call *call)
{
    struct azint a;
    int status = open_coded(&a, call);
    *size = a.coded.end;
    return status;
}

static uint32_t frame_groups(const struct gpu_call *call)
{
    return (uint32_t)((call->items + GPU_FRAMES - 1) / GPU_FRAMES);
}

static int run_small(const struct azint *a, const struct gpu_call *call)
{
    const struct gpu_coded *c = &a->coded;
    /* Local memory decides how many groups a multiprocessor holds, so windows have room for as many planes
     * as small blocks have. */
    uint32_t plane = GPU_BLOCK / (8 * c->batch.elem_size);
    struct gpu_grid grid = { { frame_groups(call), c->batch.n_blocks },
                             GPU_LANES * GPU_FRAMES,
                             GPU_FRAMES * (GPU_SMALL_COMP + GPU_SMALL_PLANES(c->batch.elem_size) * plane) };
    return GPU_STEP(call, c->variant, "gpu_azint_small", &grid, GPU_BYTES(c->batch), GPU_BYTES(*a->job),
                    GPU_BYTES(a->plan->at), gpu_at(c->chunks, 0), gpu_at(c->frames, 0), gpu_at(c->blocks, 0),
                    gpu_at(c->scratch, c->infos), gpu_at(c->scratch, c->commands), gpu_at(a->tables, 0),
                    gpu_at(a->sums, 0), gpu_at(a->reports, 0), gpu_at(c->scratch, a->fast),
                    gpu_at(c->scratch, a->pairs), gpu_at(c->scratch, 0), gpu_at(c->scratch, a->list));
}

/* The same for a single frame. */
static int run_one(const struct azint *a, const struct gpu_call *call)
{
    const struct gpu_coded *c = &a->coded;
    /* A group has four blocks: with one frame there are too few blocks for larger groups to fill a device. */
    struct gpu_grid grid = { { (c->batch.n_blocks + GPU_ONE_BLOCKS - 1) / GPU_ONE_BLOCKS, 1 },
                             GPU_LANES * GPU_ONE_BLOCKS,
                             GPU_ONE_BLOCKS * (GPU_BLOCK + GPU_SMALL_COMP) };
    return GPU_STEP(call, c->variant, "gpu_azint_one", &grid, GPU_BYTES(c->batch), GPU_BYTES(*a->job),
                    GPU_BYTES(a->plan->at), gpu_at(c->chunks, 0), gpu_at(c->frames, 0), gpu_at(c->blocks, 0),
                    gpu_at(c->scratch, c->infos), gpu_at(c->scratch, c->commands), gpu_at(a->tables, 0),
                    gpu_at(a->sums, 0), gpu_at(a->reports, 0), gpu_at(c->scratch, a->fast), gpu_at(c->scratch, 0),
                    gpu_at(c->scratch, a->list));
}

/* Groups of `heavy` that a multiprocessor holds at once. */
#define HEAVY_RESIDENT 3u

static int run_heavy(const struct azint *a, const struct gpu_call *call)
{
    const struct gpu_coded *c = &a->coded;
    /* How many blocks are heavy is known on the device alone, so as many groups as fit take them from the
     * list. */
    uint32_t groups = frame_groups(call), all = groups * c->batch.n_blocks,
             resident = call->kernel->ops->units * HEAVY_RESIDENT;
    struct gpu_grid grid = { { resident < all ? resident : all, 1 },
                             GPU_LANES * GPU_FRAMES,
                             GPU_FRAMES * GPU_BLOCK + 16 };
    return GPU_STEP(call, c->variant, "gpu_azint_heavy", &grid, GPU_BYTES(c->batch), GPU_BYTES(*a->job),
                    GPU_BYTES(a->plan->at), GPU_BYTES(groups), gpu_at(c->chunks, 0), gpu_at(c->frames, 0),
                    gpu_at(c->blocks, 0), gpu_at(c->scratch, c->infos), gpu_at(c->scratch, c->commands),
                    gpu_at(a->tables, 0), gpu_at(a->sums, 0), gpu_at(a->reports, 0),
                    gpu_at(c->scratch, a->fast), gpu_at(c->scratch, 0), gpu_at(c->scratch, a->list));
}

static int run_rest(const struct azint *a, const struct gpu_call *call)
{
    const struct gpu_coded *c = &a->coded;
    /* The list of what is left is on the device too; the groups share it. */
    struct gpu_grid grid = gpu_rest_grid(c, call);
    return GPU_STEP(call, c->variant, "gpu_azint_rest", &grid, GPU_BYTES(c->batch), GPU_BYTES(*a->job),
                    GPU_BYTES(a->plan->at), gpu_at(c->chunks, 0), gpu_at(c->frames, 0), gpu_at(c->blocks, 0),
                    gpu_at(a->tables, 0), gpu_at(a->sums, 0), gpu_at(a->reports, 0),
                    gpu_at(c->scratch, a->fast), gpu_at(c->scratch, 0), gpu_at(c->scratch, c->slots));
}

static int run_finish(const struct azint *a, const struct gpu_call *call, uint32_t copies)
{
    const struct gpu_coded *c = &a->coded;
    struct gpu_grid grid = gpu_over(call, a->job->n_bins, (uint32_t)call->items);
    return GPU_STEP(call, c->variant, "gpu_azint_finish", &grid, GPU_BYTES(a->job->n_bins), GPU_BYTES(copies),
                    gpu_at(c->frames, 0), gpu_at(c->blocks, 0), gpu_at(a->reports, 0), gpu_at(c->scratch, 0),
                    gpu_at(c->scratch, a->fast), gpu_at(c->scratch, a->pairs), gpu_at(a->sums, 0));
}

/* Looks at the frames, parses them, and sets all sums to zero. */
static int begin_many(const struct azint *a, const struct gpu_call *call)
{
    const struct gpu_coded *c = &a->coded;
    /* The steps are in one queue, in order, so each one sees what those before it wrote. */
    int status = open_sums(a, call);
    if (!status)
        status = gpu_coded_begin(c, call);
    return status ? status : call->kernel->ops->zero(call->queue, c->scratch, a->fast, a->list - a->fast);
}

/* The same of a frame alone, in one step; what parses its blocks then goes on to the sums. */
static int begin_one(const struct azint *a, const struct gpu_call *call)
{
    const struct gpu_coded *c = &a->coded;
    /* Each launch has a cost of its own, which counts for one frame: zeroing and looking at the frame are
     * one step. */
    uint32_t n_bins = a->job->n_bins, zeros = GPU_FAST_ROWS * GPU_FRAMES * n_bins;
    struct gpu_grid grid = { { (zeros + GPU_ONE_BEGIN - 1) / GPU_ONE_BEGIN, 1 }, GPU_ONE_BEGIN, 0 };
    size_t size;
    int status = gpu_check_room(&size, call, a->job, HCY_AZINT_SUMS, a->sums, a->reports);
    return status ? status
                  : GPU_STEP(call, c->variant, "gpu_azint_begin_one", &grid, GPU_BYTES(c->batch), GPU_BYTES(n_bins),
                             gpu_at(c->frames, 0), gpu_at(a->reports, 0), gpu_at(c->scratch, 0), gpu_at(a->sums, 0),
                             gpu_at(c->scratch, a->fast), gpu_at(c->scratch, a->pairs));
}

static int run_fast(const struct azint *a, const struct gpu_call *call)
{
    const bool fast = a->coded.batch.fast, one = fast && call->items == 1;
    /* A frame alone goes another way to the same sums, because integers have the same sum in any order. */
    int status = one ? begin_one(a, call) : begin_many(a, call);
    if (!status && fast)
        status = one ? run_one(a, call) : run_small(a, call);
    if (!status && fast)
        status = run_heavy(a, call);
    if (!status)
        status = run_rest(a, call);
    return status ? status : run_finish(a, call, one ? GPU_FRAMES : 1);
}

int gpu_azint_launch(const struct gpu_call *call)
{
    struct azint a;
    int status = open_coded(&a, call);
    if (!status)
        status = gpu_coded_set(&a.coded, call, GPU_CODED_AT(bslz4_azint));
    if (status)
        return status;
    a.sums = &call->values[CODED_AT(sums)];
    a.reports = &call->values[CODED_AT(reports)];
    if (a.fused)
        return run_fast(&a, call);
    status = open_sums(&a, call);
    if (!status)
        status = gpu_coded_decode(&a.coded, call, a.coded.scratch, a.images);
    return status ? status : run_image_groups(&a, call, a.coded.scratch, a.images);
}

const struct gpu_kernel_kind gpu_azint_kernels[] = {
    { "azint_image", gpu_image_launch, gpu_image_scratch, gpu_tables_make, GPU_BATCH, false },
    { "bslz4_azint", gpu_azint_launch, gpu_azint_scratch, gpu_tables_make, GPU_BATCH, false },
    { .name = NULL },
};
