/* pick.c - the kernel azint_pick: pixels of images that stand out of the curve which azint_filter made of them.
 *
 * First a bin's mean and deviation are one thread's work, then threads take shares of the pixels, in each frame after
 * frame, so that the pixels' places are read from memory once a batch.  Which thread picks a pixel decides only about
 * the order of what is found.  Runs on any thread; a launch owns its scratch memory.
 */
#include "arguments.h"
#include "azint/azint_job.h"
#include "azint/azint_pick.h"
#include "cpu_azint.h"

#include <stdatomic.h>
#include <string.h>

#define AT(name) HCY_ARG_AT(azint_pick, name)

#define SHARE      16384u /* pixels that a thread takes at once */
#define TASK_BINS  256u
#define AT_ONCE    256u /* pixels that are noted before they get their places in the list */

struct picking {
    const hcy_azint_job *job;
    const hcy_azint_pick_job *pick;
    const hcy_azint_place *places;
    const uint8_t *images;
    const uint64_t *sums;
    const hcy_frame_report *reports;
    uint64_t *found;
    struct azint_background *bins; /* [items][n_bins] */
    atomic_uint_least64_t *counts; /* [items] */
    const struct hcy_pixel_type *pixel;
    size_t items, words; /* words: of a pixel in the list */
};

static void find_backgrounds(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct picking *p = context;
    const size_t n = p->job->n_bins;
    (void)thread;
    for (size_t i = begin; i < end; i++)
        if (!p->reports[i / n].status)
            p->bins[i] = azint_background_of(p->pick, p->sums + i / n * HCY_AZINT_FILTERED * n, n, i % n);
}

/* The pixel's 64 bits: sign-extended, or those of a double. */
static int64_t pixel_value(const struct picking *p, const uint8_t *at)
{
    const void *pixel = at;
    int64_t bits;
    switch (p->pixel->bytes) {
    case 1:
        return p->pixel->is_signed ? (int64_t)*(const int8_t *)pixel : (int64_t)*at;
    case 2:
        return p->pixel->is_signed ? (int64_t)*(const int16_t *)pixel : (int64_t)*(const uint16_t *)pixel;
    case 4:
        if (p->pixel->is_float) {
            double x = (double)*(const float *)pixel;
            memcpy(&bits, &x, sizeof bits);
            return bits;
        }
        return p->pixel->is_signed ? (int64_t)*(const int32_t *)pixel : (int64_t)*(const uint32_t *)pixel;
    default:
        return *(const int64_t *)pixel;
    }
}

static double value_of_bits(const struct picking *p, int64_t bits)
{
    if (p->pixel->is_float)
        return azint_as_double((uint64_t)bits);
    return p->pixel->is_signed ? (double)bits : (double)(uint64_t)bits;
}

/* Ranges are compared as what the type is. */
static int is_within(const struct picking *p, const hcy_azint_range *r, int64_t bits)
{
    const double real = p->pixel->is_float ? azint_as_double((uint64_t)bits) : 0;
    if (p->pixel->is_float)
        return real >= azint_as_double(r->lo) && real <= azint_as_double(r->hi);
    if (p->pixel->is_signed)
        return bits >= (int64_t)r->lo && bits <= (int64_t)r->hi;
    return (uint64_t)bits >= r->lo && (uint64_t)bits <= r->hi;
}

static int is_out(const struct picking *p, int64_t bits)
{
    for (uint32_t k = 0; k < p->job->n_invalid; k++)
        if (is_within(p, &p->job->invalid[k], bits))
            return 1;
    return 0;
}

static void put_found(const struct picking *p, size_t item, const uint64_t *noted, size_t n)
{
    uint64_t *list = p->found + item * (1 + p->words * (size_t)p->pick->capacity) + 1;
    uint64_t at = atomic_fetch_add_explicit(&p->counts[item], n, memory_order_relaxed);
    if (at < p->pick->capacity) {
        n = n < p->pick->capacity - at ? n : p->pick->capacity - at;
        memcpy(list + p->words * at, noted, n * p->words * sizeof *noted);
    }
}

static void pick_share(const struct picking *p, size_t item, size_t first, size_t last)
{
    const size_t n_pixels = (size_t)p->job->n_pixels, n_bins = p->job->n_bins;
    const size_t elem_size = p->pixel->bytes;
    const uint8_t *image = p->images + item * n_pixels * elem_size;
    uint64_t noted[2 * AT_ONCE];
    size_t n = 0;
    for (size_t i = first; i < last; i++) {
        const int64_t value = pixel_value(p, image + i * elem_size);
        if (!azint_has_place(&p->places[i], n_bins) ||
            !azint_stands_out(p->pick, &p->places[i], p->bins + item * n_bins, value_of_bits(p, value)) ||
            is_out(p, value))
            continue;
        if (p->words == 1)
            noted[n] = (uint64_t)i << 32 | (uint32_t)value;
        else
            memcpy(noted + 2 * n, (const uint64_t[]){ i, (uint64_t)value }, 2 * sizeof *noted);
        n++;
        if (n == AT_ONCE) {
            put_found(p, item, noted, n);
            n = 0;
        }
    }
    put_found(p, item, noted, n);
}

static void pick_shares(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct picking *p = context;
    const size_t n = (size_t)p->job->n_pixels;
    (void)thread;
    for (size_t s = begin; s < end; s++)
        for (size_t item = 0; item < p->items; item++)
            if (!p->reports[item].status)
                pick_share(p, item, s * SHARE, (s + 1) * SHARE < n ? (s + 1) * SHARE : n);
}

static int pick_scratch(size_t *size, const struct cpu_call *call)
{
    const hcy_azint_job *job = call->values[AT(job)].bytes;
    const size_t frame = job->n_bins * sizeof(struct azint_background) + sizeof(atomic_uint_least64_t);
    int status = hcy_size_mul(size, call->items ? call->items : 1, frame);
    /* The buffer may start anywhere. */
    return status ? status : hcy_size_add(size, *size, 64);
}

static int check_pick_call(const struct cpu_call *call, const struct picking *p)
{
    const struct hcy_azint_pick_room room = { cpu_arg_size(call, AT(images)), cpu_arg_size(call, AT(places)),
                                              cpu_arg_size(call, AT(sums)), cpu_arg_size(call, AT(found)),
                                              cpu_arg_size(call, AT(reports)) };
    size_t scratch = 0;
    int status = hcy_azint_check_pick("azint_pick", p->pick, p->job, call->items, &room);
    if (!status)
        status = pick_scratch(&scratch, call);
    if (!status && cpu_arg_size(call, AT(scratch)) < scratch)
        status = hcy_fail(HCY_EINVAL, "azint_pick: scratch too small for %zu frames", call->items);
    return status;
}

static int run_pick(const struct cpu_call *call)
{
    const hcy_value *v = call->values;
    struct picking p = { .job = v[AT(job)].bytes, .pick = v[AT(pick_job)].bytes, .items = call->items };
    int status = check_pick_call(call, &p);
    if (status)
        return status;
    uint8_t *scratch = cpu_arg(call, AT(scratch));
    p.places = cpu_arg(call, AT(places));
    p.images = cpu_arg(call, AT(images));
    p.sums = cpu_arg(call, AT(sums));
    p.found = cpu_arg(call, AT(found));
    p.reports = cpu_arg(call, AT(reports));
    p.pixel = hcy_pixel_type(p.job->pixel_type);
    p.words = HCY_AZINT_PICK_WORDS(p.pixel->bytes, p.pixel->is_float);
    p.bins = (void *)(scratch + (64 - (uintptr_t)scratch % 64) % 64);
    p.counts = (void *)(p.bins + p.items * p.job->n_bins);
    for (size_t i = 0; i < p.items; i++)
        atomic_init(&p.counts[i], 0);
    cpu_pool_for(call->pool, p.items * p.job->n_bins, TASK_BINS, find_backgrounds, &p);
    cpu_pool_for(call->pool, ((size_t)p.job->n_pixels + SHARE - 1) / SHARE, 1, pick_shares, &p);
    for (size_t i = 0; i < p.items; i++)
        p.found[i * (1 + p.words * (size_t)p.pick->capacity)] = atomic_load(&p.counts[i]);
    return 0;
}

const struct cpu_kernel cpu_pick_kernels[] = {
    { .name = "azint_pick", .run = run_pick, .scratch_size = pick_scratch, .variant = cpu_simd_built },
    { .name = NULL },
};
