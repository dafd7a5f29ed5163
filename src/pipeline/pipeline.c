/* pipeline.c - making a pipeline and destroying it: what it is for, how large its parts are. */
#include "pipeline_priv.h"
#include "sized.h"

#include <stdlib.h>
#include <string.h>

#include <halcyon/backend.h>

#define MEMORY       ((uint64_t)128 << 20) /* stored frames of all slots, by default */
#define FAR_MEMORY   ((uint64_t)512 << 20) /* where an accelerator wants batches that pay for its launches */
#define SUMS_MEMORY  ((uint64_t)256 << 20) /* sums of all lanes, one frame each at least */
#define BATCH_MEMORY ((uint64_t)128 << 20) /* curves of a batch */
#define CURVE_MEMORY ((uint64_t)96 << 20)  /* curves that wait for their turn; two batches of them at least */
#define CURVES       9                     /* arrays of n_bins in a result */
#define MEANS        2                     /* in one of means */
#define NARROW_SUMS  4                     /* rows of sums that are touched, mostly, where HI rows are not */
#define MUCH_MEMORY  ((uint64_t)64 << 20)  /* less is not asked about */
#define FEW          3                     /* frames of HCY_PIPELINE_FEW */
#define MAX_BATCH    4096
#define LAUNCH_BYTES ((uint64_t)1 << 20) /* decoded, of a launch; with less of them it is the launches that cost */

hcy_pipeline_source hcy_pipeline_source_of(const hcy_stack_info *info)
{
    hcy_pipeline_source source;
    memset(&source, 0, sizeof source);
    if (!info)
        return source;
    source.coding.codec = info->codec;
    source.coding.elem_size = info->elem_size;
    source.coding.image_bytes = info->frame_bytes;
    source.coding.block_bytes = info->block_bytes;
    source.pixel_type = info->pixel_type;
    source.max_chunk = info->max_chunk;
    return source;
}

/* --- Sizes --- */

static size_t lesser_of(uint64_t a, uint64_t b)
{
    return (size_t)(a < b ? a : b);
}

static uint64_t at_least_one(uint64_t n)
{
    return n ? n : 1;
}

/* Bytes of the largest chunk that is taken, whole units of alignment. */
static int choose_chunk(size_t *chunk, const hcy_pipeline *p)
{
    int status = hcy_bslz4_encode_bound(chunk, &p->source.coding);
    if (status)
        return status;
    /* A damaged file may claim anything: what is larger than twice the worst case is refused as it comes. */
    if (p->source.max_chunk)
        *chunk = lesser_of(p->source.max_chunk, 2 * (uint64_t)*chunk);
    status = hcy_size_add(chunk, *chunk, HCY_BSLZ4_ALIGN - 1);
    *chunk -= *chunk % HCY_BSLZ4_ALIGN;
    return status;
}

/* Frames a launch: as many as the caller or the hungriest device wants, as long as what is made of them stays in
 * bounds.  `curve`: bytes of a frame's curve. */
static size_t choose_batch(const hcy_pipeline *p, uint64_t curve)
{
    const int narrow = p->job.flags & HCY_AZINT_NARROW;
    /* Pages of sums that nobody writes take no memory. */
    const uint64_t sums = (narrow ? NARROW_SUMS * sizeof(uint64_t) * p->n_bins : p->sums_bytes) + hcy__found_bytes(p);
    const size_t lanes = 2 * hcy__n_devices(&p->workers);
    size_t batch = p->opts.batch;
    /* Small frames go together, whatever the device wishes; where they come one by one none waits for the others. */
    if (!batch) {
        const size_t small = (size_t)(LAUNCH_BYTES / at_least_one(p->source.coding.image_bytes));
        batch = hcy__preferred_batch(&p->workers);
        batch = batch > small ? batch : small;
    }
    batch = lesser_of(at_least_one(batch), MAX_BATCH);
    batch = lesser_of(batch, at_least_one(SUMS_MEMORY / (sums * lanes)));
    return lesser_of(batch, at_least_one(BATCH_MEMORY / curve));
}

/* Bytes of stored frames in all slots, at most. */
static uint64_t choose_memory(const hcy_pipeline *p)
{
    if (p->opts.memory)
        return p->opts.memory;
    /* Who names a batch gets slots that hold it. */
    if (p->opts.batch)
        return UINT64_MAX;
    return hcy__count_devices(&p->workers, 0) ? FAR_MEMORY : MEMORY;
}

/* Frames a slot and bytes a slot; *n_slots; *window: curves that may wait. */
static int choose_sizes(hcy_pipeline *p, size_t *n_slots, size_t *window)
{
    const int means = p->opts.flags & HCY_PIPELINE_MEANS;
    const uint64_t curve = (means ? MEANS : CURVES) * sizeof(double) * p->n_bins;
    size_t chunk = 0, full = 0;
    p->batch = choose_batch(p, curve);
    int status = choose_chunk(&chunk, p);
    if (!status)
        status = hcy_size_mul(&full, p->batch, chunk);
    if (status)
        return status;
    /* One slot is filled while the others are with the device, which has two batches in flight if it copies them.  Then
     * there is one more, because producers that fill the last places of a slot would keep all others waiting. */
    *n_slots = 2 * hcy__count_devices(&p->workers, 1) + 4 * hcy__count_devices(&p->workers, 0);
    /* Room for a batch of worst chunks would mostly stay empty: real ones are a fraction of the bound, so memory, not
     * the number of frames, ends a batch of chunks that hardly shrink.  One chunk always fits. */
    p->capacity = lesser_of(full, choose_memory(p) / *n_slots);
    if (p->capacity < chunk)
        p->capacity = chunk;
    p->capacity -= p->capacity % HCY_BSLZ4_ALIGN;
    /* The ring must hold a batch for each device and one that is read meanwhile, or devices would wait for each other.
     * What it holds beyond that evens out the sink's pauses, as far as memory goes. */
    *window = lesser_of(4 * *n_slots * p->batch, CURVE_MEMORY / curve);
    if (*window < (1 + hcy__n_devices(&p->workers)) * p->batch)
        *window = (1 + hcy__n_devices(&p->workers)) * p->batch;
    return 0;
}

/* Rows of a frame's sums that its kernels write where it has lost no pixel. */
static uint64_t written_rows(const hcy_pipeline *p)
{
    if (p->filtered)
        return HCY_AZINT_FILTERED;
    if (!(p->job.flags & HCY_AZINT_NARROW))
        return HCY_SUM_LOST_COUNT;
    return p->job.flags & HCY_AZINT_WANT_VARIANCE ? 2 : 1;
}

/* Is there room for what grows with the bins: sums on their way and curves that wait?  Rows that nobody writes are not
 * counted, because their pages take no memory, nor more frames than will come. */
static int check_run_memory(const hcy_pipeline *p, size_t window)
{
    const int means = p->opts.flags & HCY_PIPELINE_MEANS, few = p->opts.flags & HCY_PIPELINE_FEW;
    const uint64_t row = (uint64_t)p->n_bins * sizeof(uint64_t), rows = written_rows(p);
    const uint64_t frames = few ? FEW : UINT64_MAX;
    const uint64_t curves = lesser_of(window, frames) * row * (means ? MEANS : CURVES);
    uint64_t sums = 0;
    for (size_t i = 0; i < hcy__n_devices(&p->workers); i++) {
        /* Beside the batches in flight there is what the threads of a device that reads host memory add up, a signal
         * and a variance at least; other devices have that in memory of their own, and their sums come back whole. */
        if (hcy__device_reads_host(&p->workers, i))
            sums += row * (lesser_of(2 * (uint64_t)p->batch, frames) * rows + 2);
        else if (hcy__device_is_used(&p->workers, i))
            sums += lesser_of(PIPE_LANES * (uint64_t)p->batch, frames) * p->sums_bytes;
    }
    uint64_t left;
    /* Asking the system takes longer than it takes to get so little. */
    if (sums + curves < MUCH_MEMORY || sums + curves <= (left = hcy_memory_left()))
        return 0;
    return hcy_fail(HCY_ENOMEM, "sums of %zu bins take %llu MiB, and curves of them that wait %llu MiB; %llu MiB are left: "
                    "take fewer bins, or fewer devices", p->n_bins, (unsigned long long)(sums >> 20),
                    (unsigned long long)(curves >> 20), (unsigned long long)(left >> 20));
}

/* --- Making --- */

static int check_making(hcy_device *const *devices, size_t n, const hcy_azint_plan *plan,
                        const hcy_pipeline_source *source)
{
    if (!devices || !n || !plan || !source)
        return hcy_fail(HCY_EINVAL, "hcy_pipeline_create: no %s", !devices || !n ? "device" : plan ? "source" : "plan");
    for (size_t i = 0; i < n; i++)
        if (!devices[i])
            return hcy_fail(HCY_EINVAL, "hcy_pipeline_create: device %zu of %zu is NULL", i, n);
    return 0;
}

#define ALL_FLAGS                                                                                             \
    (uint32_t)(HCY_PIPELINE_TWO_STAGE | HCY_PIPELINE_COPY | HCY_PIPELINE_ADD_UP | HCY_PIPELINE_MEANS | HCY_PIPELINE_FEW)

/* *options are the defaults before. */
static int read_pipeline_options(hcy_pipeline_options *options, const hcy_pipeline_options *opts)
{
    int status = opts ? hcy__sized_read(options, sizeof *options, opts, "hcy_pipeline_options") : 0;
    if (!status && options->readers > PIPE_MAX_READERS)
        return hcy_fail(HCY_EINVAL, "%u readers: at most %d", options->readers, PIPE_MAX_READERS);
    /* A flag of a later library would be a promise that this one does not keep. */
    if (!status && options->flags & ~ALL_FLAGS)
        return hcy_fail(HCY_EINVAL, "hcy_pipeline_options.flags: 0x%x is none of the flags of this library",
                        options->flags & ~ALL_FLAGS);
    return status;
}

/* The kernel that takes chunks to sums at once, NULL: none.  Azimuthal errors without a filter have one too, for the
 * frames that bslz4_azint_deviation takes. */
static const char *fused_kernel(const hcy_pipeline *p, const hcy_azint_plan_info *info)
{
    /* Pixels are picked of images, once their curve is there. */
    if (p->pick_job.capacity)
        return NULL;
    if (p->region_job.n_regions)
        return p->filtered ? NULL : "bslz4_azint_regions";
    if (!p->filtered)
        return "bslz4_azint";
    if (p->filter.kind == HCY_AZINT_FILTER_NONE && !info->has_dark && p->source.coding.elem_size <= 4 &&
        p->source.pixel_type != HCY_PIXEL_F32)
        return "bslz4_azint_deviation";
    return NULL;
}

/* What the frames have in common, from the plan and how they are stored. */
static int describe_job(hcy_pipeline *p)
{
    hcy_azint_plan_info info = HCY_AZINT_PLAN_INFO_INIT;
    int status = hcy_azint_plan_get_info(&info, p->plan);
    if (!status)
        status = hcy_azint_plan_job(&p->job, p->plan, p->source.pixel_type);
    /* Rows that narrow sums leave unwritten are not looked at: who makes curves asks the job. */
    if (!status)
        status = hcy_azint_plan_narrow(&p->job, p->plan);
    p->filtered = info.filtered;
    if (!status && p->filtered)
        status = hcy_azint_plan_filter(&p->filter, p->plan);
    if (status)
        return status;
    if (p->job.n_pixels * p->source.coding.elem_size != p->source.coding.image_bytes)
        return hcy_fail(HCY_EINVAL, "the plan is for %zu x %zu pixels, which %llu bytes in elements of %u are not "
                                    "(hcy_pipeline_source.coding: image_bytes, elem_size)", info.height, info.width,
                        (unsigned long long)p->source.coding.image_bytes, (unsigned)p->source.coding.elem_size);
    status = hcy__regions_create(p, info.height, info.width);
    if (!status && p->opts.sparse_radius)
        status = hcy__sparse_create(p, &info);
    p->fused = fused_kernel(p, &info);
    p->n_bins = info.n_bins;
    p->sums_bytes = info.n_sums * info.n_bins * sizeof(uint64_t);
    return status;
}

/* Each part, in an order that each finds what it asks of the others. */
static int create_all_parts(hcy_pipeline *p, hcy_device *const *devices, size_t n)
{
    size_t n_slots = 0, window = 0;
    int status = hcy__stats_create(&p->stats, n);
    if (!status)
        status = hcy__workers_create(p, devices, n);
    if (!status)
        status = hcy__workers_start(p);
    /* What a device prefers is known only when its tables are there. */
    if (!status)
        status = choose_sizes(p, &n_slots, &window);
    if (!status)
        status = check_run_memory(p, window);
    if (!status)
        status = hcy__slots_create(p, n_slots);
    if (!status)
        status = hcy__workers_create_lanes(p);
    return status ? status : hcy__ring_create(p, window);
}

int hcy_pipeline_create(hcy_pipeline **pipeline, hcy_device *const *devices, size_t n_devices,
                        const hcy_azint_plan *plan, const hcy_pipeline_source *source,
                        const hcy_pipeline_options *opts)
{
    hcy_pipeline_options options = HCY_PIPELINE_OPTIONS_INIT;
    int status = pipeline ? hcy_fork_check() : hcy_fail(HCY_EINVAL, "hcy_pipeline_create: no place for the pipeline");
    if (!status)
        status = check_making(devices, n_devices, plan, source);
    if (!status)
        status = read_pipeline_options(&options, opts);
    if (status)
        return status;
    hcy_pipeline *p = calloc(1, sizeof *p);
    if (!p || hcy__control_create(&p->control)) {
        free(p);
        return hcy_fail(HCY_ENOMEM, "a pipeline of %zu devices", n_devices);
    }
    p->plan = hcy_azint_plan_retain((hcy_azint_plan *)plan);
    p->source = *source;
    p->opts = options;
    status = describe_job(p);
    if (!status)
        status = create_all_parts(p, devices, n_devices);
    /* Destroying takes a pipeline of which some parts are not there yet; its error stays the one of the making. */
    if (status) {
        hcy_error error = *hcy_last_error();
        hcy_pipeline_destroy(p);
        return hcy_fail_again(&error);
    }
    if (!p->opts.readers)
        p->opts.readers = hcy__readers_default(p);
    *pipeline = p;
    return 0;
}

void hcy_pipeline_destroy(hcy_pipeline *p)
{
    if (!p || hcy__check_outside(p, "hcy_pipeline_destroy")) /* in a child nothing can be given back */
        return;
    hcy__push_abandon(p);
    hcy__quit(&p->control);
    /* Their threads end first: they use all the other parts. */
    int hangs = hcy__workers_destroy(p);
    hcy__slots_destroy(p);
    hcy__ring_destroy(&p->ring);
    /* A processor reads the plan's tables in place, and one that hangs may come back to them. */
    if (hangs)
        hcy__keep_for_ever((hcy_azint_plan *)p->plan);
    else
        hcy_azint_plan_release((hcy_azint_plan *)p->plan);
    hcy__control_destroy(&p->control);
    hcy__stats_destroy(&p->stats);
    for (int k = 0; k < PIPE_BESIDE; k++)
        free(p->beside[k].table);
    free(p);
}
