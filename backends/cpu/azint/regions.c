/* regions.c - sums and statistics of regions of the detector: the kernel azint_regions, and what a pass adds up for
 * bslz4_azint_regions while a block's planes are in the L1 cache.
 *
 * Each worker has tallies of its own, which are merged at the end: integers, so the bits do not depend on who counted
 * what.  Runs on any thread; a launch owns its scratch memory.
 */
#include "cpu_regions.h"
#include "azint/azint_job.h"
#include "azint_launch.h"
#include "planes.h"

#include <string.h>

#define PIECE 2048u /* plain pixels that become planes at once */
#define SHARE 65536u /* pixels that a thread takes at once, whole pieces */

void azint_tallies_reset(struct azint_tally *tallies, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tallies[i] = (struct azint_tally){ .min = UINT64_MAX };
}

void azint_tallies_merge(uint64_t *rows, const struct azint_tally *tallies, size_t n_workers, size_t stride)
{
    struct azint_tally all = { .min = UINT64_MAX };
    for (size_t w = 0; w < n_workers; w++) {
        const struct azint_tally *t = &tallies[w * stride];
        all.sum += t->sum;
        all.valid += t->valid;
        all.invalid += t->invalid;
        all.zero += t->zero;
        all.above += t->above;
        all.max = t->max > all.max ? t->max : all.max;
        all.min = t->min < all.min ? t->min : all.min;
    }
    rows[HCY_REGION_SUM_LO] = (uint64_t)all.sum;
    rows[HCY_REGION_SUM_HI] = (uint64_t)(all.sum >> 64);
    rows[HCY_REGION_VALID] = all.valid;
    rows[HCY_REGION_INVALID] = all.invalid;
    rows[HCY_REGION_ZERO] = all.zero;
    rows[HCY_REGION_ABOVE] = all.above;
    rows[HCY_REGION_MAX] = all.max;
    rows[HCY_REGION_MIN] = all.min;
}

/* The region's bitmap; NULL: it does not lie in the table. */
static const uint8_t *region_bits(const struct azint_regions *regions, const hcy_azint_region *region)
{
    const uint64_t size = regions->table_bytes;
    /* A length that is no such number is larger than any table. */
    if (region->last < region->first || region->bits > size ||
        HCY_AZINT_REGION_BYTES(region->first, region->last) > size - region->bits)
        return NULL;
    return regions->table + region->bits;
}

/* The pixels of `block`, which are those of the region from bit 0 of `bits` on. */
static void count_region(struct azint_tally *tally, const struct azint_counting *c, struct azint_block *block,
                         const uint8_t *bits)
{
    const size_t n = block->n_words;
    uint64_t any = 0;
    for (size_t i = 0; i < n; i++)
        any |= c->chosen[i] = azint_load(bits + 8 * i) & (i + 1 < n ? UINT64_MAX : block->last);
    if (!any)
        return;
    block->live = (const uint8_t *)c->chosen;
    c->ops->tally(tally, block, c->chosen, c->ops->lost(block, c->job, c->lost) ? c->lost : NULL, c->regions->job);
}

void azint_count_regions(struct azint_tally *tallies, const struct azint_counting *c, const struct azint_block *block,
                         uint64_t at, size_t n)
{
    const hcy_azint_region *regions = (const void *)c->regions->table;
    for (uint32_t r = 0; r < c->regions->job->n_regions; r++) {
        /* Both ends are multiples of 8 from the block's first pixel, so what they have in common begins at a byte. */
        uint64_t first = regions[r].first > at ? regions[r].first : at;
        uint64_t last = regions[r].last < at + n ? regions[r].last : at + n;
        const uint8_t *bits = first < last && first % 8 == 0 ? region_bits(c->regions, &regions[r]) : NULL;
        if (!bits)
            continue;
        struct azint_block part = *block;
        size_t pixels = (size_t)(last - first);
        part.planes += (first - at) / 8;
        part.n_bytes = (pixels + 7) / 8;
        part.n_words = (pixels + 63) / 64;
        part.last = UINT64_MAX >> (64 * part.n_words - pixels);
        count_region(&tallies[r], c, &part, bits + (first - regions[r].first) / 8);
    }
}

static struct azint_block block_of(const struct azint_type *type, const uint8_t *planes, size_t stride, unsigned same)
{
    return (struct azint_block){ .planes = planes,
                                 .stride = stride,
                                 .same = same,
                                 .top = 8u * type->elem_size - 1,
                                 .is_signed = type->is_signed };
}

/* Plain pixels, PIECE of them at most, to planes at `planes`; the ones that lack to 64 are zeros.  pad: room for a
 * piece. */
static size_t make_planes(const struct azint_ops *ops, unsigned elem_size, const uint8_t *pixels, size_t n,
                          uint8_t *planes, uint8_t *pad)
{
    size_t whole = azint_up64(n);
    if (whole != n) {
        memcpy(pad, pixels, n * elem_size);
        memset(pad + n * elem_size, 0, (whole - n) * elem_size);
        pixels = pad;
    }
    ops->to_planes(pixels, whole, elem_size, planes, whole / 8);
    return whole / 8;
}

/* --- In a pass --- */

void azint_regions_planes(struct azint_pass *pass, struct azint_space *space, const struct azint_where *where,
                          const uint8_t *planes, size_t stride, unsigned same_from)
{
    const struct azint_counting counting = { &pass->regions, pass->ops, pass->job, space->lost, space->out };
    const struct azint_block block = block_of(pass->type, planes, stride, same_from);
    azint_count_regions(space->tallies + (size_t)where->frame * pass->regions.job->n_regions, &counting, &block,
                        (uint64_t)where->strip * AZINT_STRIP + where->at, where->n);
}

void azint_regions_pixels(struct azint_pass *pass, struct azint_space *space, const struct azint_where *where,
                          const uint8_t *pixels)
{
    const unsigned elem_size = pass->type->elem_size;
    struct azint_where piece = *where;
    for (size_t done = 0; done < where->n; done += piece.n) {
        piece.at = where->at + done;
        piece.n = where->n - done < PIECE ? where->n - done : PIECE;
        size_t stride = make_planes(pass->ops, elem_size, pixels + done * elem_size, piece.n, space->planes,
                                    space->masked);
        azint_regions_planes(pass, space, &piece, space->planes, stride,
                             cpu_same_planes(space->planes, stride, 8 * elem_size));
    }
}

void azint_regions_merge(struct azint_pass *pass)
{
    const size_t n = pass->regions.job->n_regions;
    /* Workers' tallies are in their own memory, which lies at equal distances. */
    const size_t stride = pass->n_workers > 1 ? (size_t)(pass->spaces[1].tallies - pass->spaces[0].tallies) : 0;
    for (unsigned f = 0; f < pass->n_frames; f++)
        for (size_t r = 0; r < n; r++)
            azint_tallies_merge(pass->found + (pass->frames[f].item * n + r) * HCY_AZINT_REGION_ROWS,
                                &pass->spaces[0].tallies[f * n + r], pass->n_workers, stride);
}

/* --- azint_regions --- */

#define AT(name) HCY_ARG_AT(azint_regions, name)

struct counted {
    struct azint_regions regions;
    const struct azint_type *type;
    const struct azint_ops *ops;
    const hcy_azint_job *job;
    const uint8_t *images;
    const hcy_frame_report *reports;
    struct azint_tally *tallies; /* [threads][items][n_regions] */
    size_t items, shares;        /* shares of an image */
};

static void count_shares(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct counted *c = context;
    const unsigned elem_size = c->type->elem_size;
    _Alignas(64) uint8_t planes[PIECE * 8 + 64], pad[PIECE * 8];
    uint64_t lost[PIECE / 64], chosen[PIECE / 64];
    const struct azint_counting counting = { &c->regions, c->ops, c->job, lost, chosen };
    for (size_t s = begin; s < end; s++) {
        const size_t item = s / c->shares;
        uint64_t at = (uint64_t)(s % c->shares) * SHARE, stop = at + SHARE;
        const uint8_t *image = c->images + item * (size_t)c->job->n_pixels * elem_size;
        stop = stop < c->job->n_pixels ? stop : c->job->n_pixels;
        for (; !c->reports[item].status && at < stop; at += PIECE) {
            size_t n = stop - at < PIECE ? (size_t)(stop - at) : PIECE;
            size_t stride = make_planes(c->ops, elem_size, image + at * elem_size, n, planes, pad);
            const struct azint_block block =
                block_of(c->type, planes, stride, cpu_same_planes(planes, stride, 8 * elem_size));
            azint_count_regions(c->tallies + (thread * c->items + item) * c->regions.job->n_regions, &counting, &block,
                                at, n);
        }
    }
}

static int regions_scratch(size_t *size, const struct cpu_call *call)
{
    const hcy_azint_region_job *job = call->values[AT(region_job)].bytes;
    size_t n = (size_t)job->n_regions * cpu_pool_threads(call->pool) * sizeof(struct azint_tally);
    int status = hcy_size_mul(size, call->items ? call->items : 1, n);
    /* The buffer may start anywhere. */
    return status ? status : hcy_size_add(size, *size, 64);
}

static int check_regions_call(const struct cpu_call *call, const struct counted *c)
{
    size_t size = 0, scratch = 0;
    int status = hcy_azint_check_regions("azint_regions", c->regions.job, c->job, call->items, c->regions.table_bytes,
                                         cpu_arg_size(call, AT(found)));
    if (!status)
        status = hcy_size_mul(&size, (size_t)c->job->n_pixels, c->type->elem_size);
    if (!status)
        status = hcy_size_mul(&size, size, call->items);
    if (!status)
        status = regions_scratch(&scratch, call);
    if (!status && (c->job->n_invalid > HCY_AZINT_MAX_INVALID || cpu_arg_size(call, AT(images)) < size ||
                    cpu_arg_size(call, AT(reports)) / sizeof(hcy_frame_report) < call->items ||
                    cpu_arg_size(call, AT(scratch)) < scratch))
        status = hcy_fail(HCY_EINVAL, "azint_regions: images, reports or scratch are too small for %zu frames",
                          call->items);
    return status;
}

static int run_regions(const struct cpu_call *call)
{
    const hcy_value *v = call->values;
    struct counted c = { .regions = { v[AT(region_job)].bytes, cpu_arg(call, AT(regions)),
                                      cpu_arg_size(call, AT(regions)) },
                         .job = v[AT(job)].bytes,
                         .ops = azint_ops(call->simd),
                         .images = cpu_arg(call, AT(images)),
                         .reports = cpu_arg(call, AT(reports)),
                         .items = call->items };
    c.type = azint_type(c.job->pixel_type);
    int status = check_regions_call(call, &c);
    if (status)
        return status;
    const size_t n = c.regions.job->n_regions, threads = cpu_pool_threads(call->pool);
    uint8_t *scratch = cpu_arg(call, AT(scratch));
    uint64_t *found = cpu_arg(call, AT(found));
    c.tallies = (void *)(scratch + (64 - (uintptr_t)scratch % 64) % 64);
    c.shares = (size_t)((c.job->n_pixels + SHARE - 1) / SHARE);
    azint_tallies_reset(c.tallies, threads * c.items * n);
    cpu_pool_for(call->pool, c.items * c.shares, 1, count_shares, &c);
    for (size_t i = 0; i < c.items * n; i++)
        azint_tallies_merge(found + i * HCY_AZINT_REGION_ROWS, &c.tallies[i], threads, c.items * n);
    return 0;
}

const struct cpu_kernel cpu_regions_kernels[] = {
    { .name = "azint_regions", .run = run_regions, .scratch_size = regions_scratch, .variant = cpu_simd_built },
    { .name = NULL },
};
