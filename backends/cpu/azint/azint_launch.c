/* azint_launch.c - one launch of azint_image, bslz4_azint or its kin (deviation, regions): its arguments checked, its
 * scratch buffer shared out.  No state; any thread. */
#include "azint_launch.h"

#include "azint/azint_job.h"
#include "bslz4/bslz4_job.h"

#include <string.h>

/* Bytes of sums, of a worker and of all together, beyond which a pass takes fewer frames, or fewer workers take part;
 * images decoded at once. */
#define WORKER_BUDGET ((size_t)64 << 20)
#define SUMS_BUDGET   ((size_t)1 << 30)
#define IMAGES_BUDGET ((size_t)128 << 20)

/* Digits of any value's magnitude, of 7 bits each; floats have none. */
#define DIGITS(kind, bytes) (kind == 'f' ? 0 : bytes + 1 + bytes / 8)
#define TYPE(NAME, name, c_type, kind, bytes) \
    [HCY_PIXEL_##NAME] = { bytes, DIGITS(kind, bytes), kind != 'u', kind == 'f' },
static const struct azint_type types[] = { HCY_PIXEL_TYPES(TYPE) };

const struct azint_type *azint_type(uint32_t pixel_type)
{
    return pixel_type && pixel_type < sizeof types / sizeof types[0] ? &types[pixel_type] : NULL;
}

const struct azint_ops *azint_ops(enum cpu_simd simd)
{
    switch (cpu_simd_built(simd)) {
#ifdef HCY_CPU_X86
    case CPU_SIMD_AVX512:
        return &azint_ops_avx512;
    case CPU_SIMD_AVX2:
        return &azint_ops_avx2;
#endif
#ifdef HCY_CPU_ARM64
    case CPU_SIMD_DOTPROD:
        return &azint_ops_dotprod;
    case CPU_SIMD_NEON:
        return &azint_ops_neon;
#endif
    default:
        return &azint_ops_portable;
    }
}

const struct azint_tiles *azint_tiles_for(const struct azint_launch *l, size_t n_frames)
{
    const struct azint_ops *ops = l->ops;
    return ops->few && n_frames <= ops->few->lanes ? ops->few : &ops->tiles;
}

size_t azint_stride_of(const struct azint_launch *l, size_t n_frames)
{
    return n_frames <= l->ops->few_frames ? n_frames : azint_up(n_frames, azint_tiles_for(l, n_frames)->lanes);
}

void azint_choose_pass(const struct azint_launch *l, size_t items, struct azint_layout *y)
{
    /* The budgets are for the sums of one digit of up to five; the deviation has five slots for each of these. */
    size_t bin = 2 * sizeof(int64_t) * l->plan->n_bins * (l->deviation ? AZINT_DEVIATION_SLOTS / 5 : 1);
    y->workers = cpu_pool_threads(l->call->pool);
    y->frames = items < l->ops->pass ? (unsigned)items : l->ops->pass;
    /* A float frame is summed straight into the caller's rows, so workers need no sums of their own. */
    if (l->type->is_float)
        return;
    size_t most = SUMS_BUDGET / y->workers < WORKER_BUDGET ? SUMS_BUDGET / y->workers : WORKER_BUDGET;
    while (y->frames > 1 && bin * azint_stride_of(l, y->frames) > most)
        y->frames--;
    /* With very many bins even the sums of one frame are too much memory for all workers, so fewer take part. */
    while (y->workers > 1 && bin * y->workers > SUMS_BUDGET / 4)
        y->workers--;
}

static size_t place_part(size_t *at, size_t size)
{
    size_t start = *at;
    *at = azint_up(start + size, 64);
    return start;
}

/* A worker's memory; with a skew so that the same tables of two workers do not share cache sets. */
static void lay_space(const struct azint_launch *l, struct azint_layout *y)
{
    size_t at = 0, elem_size = l->type->elem_size, block = AZINT_STRIP * elem_size;
    /* Float frames have no rows, and up to few_frames frames have no tiles, because the kernel `one` reads their
     * rows. */
    size_t n = l->type->is_float ? 0 : y->frames, stride = azint_stride_of(l, n),
           tiles = n > l->ops->few_frames ? stride : 0;
    size_t slots = l->deviation ? AZINT_DEVIATION_SLOTS : l->type->digits;
    /* After the merge azint_lost_run() keeps HCY_AZINT_SUMS rows in the same memory, which may be more than a
     * pass's. */
    size_t sums = 2 * stride * slots < HCY_AZINT_SUMS ? HCY_AZINT_SUMS : 2 * stride * slots;
    y->planes = place_part(&at, CPU_BLOCK_WORK(block)) + CPU_BLOCK_LEAD;
    y->pixels = place_part(&at, block + 64);
    y->masked = place_part(&at, block + 64);
    y->rows = place_part(&at, n * l->type->digits * AZINT_PITCH);
    y->vrows = place_part(&at, n * AZINT_PITCH);
    y->x = place_part(&at, tiles * AZINT_STRIP);
    y->v = place_part(&at, tiles * AZINT_STRIP);
    y->weights = place_part(&at, (AZINT_CHUNK + 4) * AZINT_EXPANDED);
    y->bits = place_part(&at, 3 * (AZINT_STRIP_BYTES + 64));
    y->outliers = place_part(&at, AZINT_MAX_OUTLIERS * sizeof(struct azint_outlier));
    y->touched = place_part(&at, azint_block_words(l->plan->n_bins) * sizeof(uint64_t));
    y->tallies = place_part(&at, l->regions.job ? n * l->regions.job->n_regions * sizeof(struct azint_tally) : 0);
    y->sums = place_part(&at, l->type->is_float ? 0 : sums * l->plan->n_bins * sizeof(int64_t));
    /* The 1024 bytes are the skew between two workers' tables. */
    y->space_size = azint_up(at, 4096) + 1024;
}

void azint_lay_out(const struct azint_launch *l, size_t items, struct azint_layout *y)
{
    size_t at = 0;
    azint_choose_pass(l, items, y);
    lay_space(l, y);
    /* Which frames must be decoded to images is not known before a pass, so there is room for all that the budget
     * allows. */
    y->n_images = 0;
    if (l->coding && l->coding->codec != HCY_CODEC_NONE) {
        y->n_images = IMAGES_BUDGET / l->image_bytes ? IMAGES_BUDGET / l->image_bytes : 1;
        y->n_images = y->n_images < y->frames ? y->n_images : y->frames;
    }
    place_part(&at, y->workers * sizeof(struct azint_space));
    y->spaces = place_part(&at, y->workers * y->space_size);
    y->lost_any = place_part(&at, (size_t)y->frames * l->plan->n_strips);
    y->lost = place_part(&at, l->type->is_float ? 0 : (size_t)y->frames * l->plan->n_strips * AZINT_STRIP_BYTES);
    y->plain = place_part(&at, l->deviation ? items * HCY_AZINT_SUMS * sizeof(uint64_t) * l->plan->n_bins : 0);
    y->lost24 = place_part(&at, l->deviation ? y->frames * sizeof(azint_u128) * l->plan->n_bins : 0);
    y->images = place_part(&at, y->n_images * (l->image_bytes + 64));
    y->total = at + 64; /* the buffer itself may start anywhere */
}

/* What bslz4_azint_deviation wants beyond what bslz4_azint does. */
static int check_deviation(const struct azint_launch *l)
{
    if (!l->plan->deviation)
        return hcy_fail(HCY_EINVAL, "bslz4_azint_deviation: the plan's tables are those of another kernel");
    /* A value's square must fit 64 bits, and floats have no digits. */
    if (l->type->is_float || l->type->elem_size > 4)
        return hcy_fail(HCY_EUNSUPPORTED, "bslz4_azint_deviation: pixels that are not integers of 4 bytes at most");
    /* Squares are added up in the place of Poisson's variance, and all rows are wide. */
    if (l->job->flags & (HCY_AZINT_WANT_VARIANCE | HCY_AZINT_NARROW))
        return hcy_fail(HCY_EUNSUPPORTED, "bslz4_azint_deviation: Poisson's variance, or narrow sums");
    return 0;
}

int azint_launch_open(struct azint_launch *l, const struct cpu_call *call, const struct azint_kernel *kernel)
{
    memset(l, 0, sizeof *l);
    l->call = call;
    l->deviation = kernel->deviation;
    l->plan = azint_plan_at(cpu_arg(call, kernel->plan), cpu_arg_size(call, kernel->plan));
    l->job = call->values[kernel->job].bytes;
    if (kernel->regions)
        l->regions = (struct azint_regions){ call->values[kernel->region_job].bytes, cpu_arg(call, kernel->table),
                                             cpu_arg_size(call, kernel->table) };
    l->coding = kernel->coded ? call->values[kernel->coding].bytes : NULL;
    l->type = azint_type(l->job->pixel_type);
    l->ops = azint_ops(call->simd);
    /* The job is checked against the plan, so the plan comes first. */
    if (!l->plan)
        return hcy_azint_no_plan("azint");
    int status = hcy_azint_check_job("azint", l->job, l->plan->n_pixels, l->plan->n_bins);
    if (status)
        return status;
    status = hcy_size_mul(&l->image_bytes, (size_t)l->plan->n_pixels, l->type->elem_size);
    if (status)
        return hcy_fail(status, "azint: an image of %llu pixels", (unsigned long long)l->plan->n_pixels);
    if (l->coding) {
        status = hcy_bslz4_check_launch("azint", l->coding, UINT64_MAX);
        if (!status)
            status = hcy_azint_check_coding("azint", l->job, l->coding);
    }
    if (status)
        return status;
    return kernel->deviation ? check_deviation(l) : 0;
}
