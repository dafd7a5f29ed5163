/* filter.c - the kernel azint_filter: images to sums over those pixels of each bin that a filter keeps.
 *
 * Threads take ranges of neighbouring bins; in each, frame after frame, so that the tables of the bins are read from
 * memory once a batch.  A bin belongs to one thread: nothing is merged.
 */
#include "arguments.h"
#include "azint/azint_job.h"
#include "cpu_filter.h"

#include <string.h>

#define AT(name) HCY_ARG_AT(azint_filter, name)

#define TASK_ENTRIES 32768u /* about as many a task */
#define TASK_BINS    4096u  /* at most */
#define BATCH        8      /* frames that share one reading of the tables */

#define REFUSED ((uint64_t)1 << 63)   /* in n_lost: a count is too large */

#define WEIGHT (1.0 / 16777216.0)    /* 2^-24 */
#define NORM   (1.0 / 1099511627776.0) /* 2^-40 */

struct launch {
    const struct filter_plan *plan;
    const hcy_azint_job *job;
    const hcy_azint_filter *filter;
    const struct azint_type *type;
    const struct filter_ops *ops;
    const uint8_t *images;
    size_t image_bytes, items;
    uint64_t *sums;
    hcy_frame_report *reports;
    atomic_uint_least64_t *n_lost; /* of each frame */
    uint8_t *spaces;
    size_t padded, space_size; /* entries, bytes of a thread's memory */
};

const struct filter_ops *cpu_filter_ops(enum cpu_simd simd)
{
    switch (cpu_simd_built(simd)) {
#ifdef HCY_CPU_X86
    case CPU_SIMD_AVX512:
        return &filter_ops_avx512;
    case CPU_SIMD_AVX2:
        return &filter_ops_avx2;
#endif
    default:
        return &filter_ops_portable;
    }
}

/* --- One bin's pixels --- */

static bool exceeds_squares(const struct filter_bin *bin, size_t i)
{
    const int64_t top = HCY_AZINT_VALUE_MAX(bin->shift), value = bin->values[i];
    return value > top || (bin->type->is_signed ? value < -top : value < 0);
}

/* A value less the dark current, as squares are made of it; of one that is too large it does not matter. */
static int64_t fine_value(const struct filter_bin *bin, size_t i)
{
    const int64_t most = HCY_AZINT_SQUARE_MAX(bin->shift);
    int64_t value = exceeds_squares(bin, i) ? 0 : bin->values[i] * ((int64_t)1 << bin->shift);
    if (bin->plan->darks) {
        double dark = floor(ldexp((double)bin->plan->darks[bin->pixels[i]], bin->shift) + 0.5), end = (double)most;
        /* The limits come before the conversion, which is not defined for what 64 bits cannot hold. */
        if (dark > end)
            dark = end;
        if (dark < -end)
            dark = -end;
        value -= (int64_t)dark;
    }
    if (value > most)
        return most;
    return value < -most ? -most : value;
}

/* A value of any integer type, extended to 64 bits. */
static int64_t image_value(const struct filter_bin *bin, size_t i)
{
    size_t size = bin->type->elem_size;
    uint64_t value = 0;
    memcpy(&value, bin->image + bin->pixels[i] * size, size);
    unsigned shift = 64 - 8 * (unsigned)size;
    return bin->type->is_signed ? (int64_t)(value << shift) >> shift : (int64_t)value;
}

static bool invalid_float(const hcy_azint_job *job, double value)
{
    bool is = value != value;
    for (unsigned r = 0; r < job->n_invalid; r++) {
        double lo, hi;
        memcpy(&lo, &job->invalid[r].lo, sizeof lo);
        memcpy(&hi, &job->invalid[r].hi, sizeof hi);
        is |= value >= lo && value <= hi;
    }
    return is;
}

/* Float pixels; the lost ones to `found`, their number. */
static size_t load_floats(struct filter_bin *bin)
{
    size_t count = 0;
    for (size_t i = 0; i < bin->n; i++) {
        double value, dark = bin->plan->darks ? (double)bin->plan->darks[bin->pixels[i]] : 0;
        float narrow;
        if (bin->type->elem_size == 4) {
            memcpy(&narrow, bin->image + 4ull * bin->pixels[i], sizeof narrow);
            value = (double)narrow;
        } else {
            memcpy(&value, bin->image + 8ull * bin->pixels[i], sizeof value);
        }
        memcpy(&bin->values[i], &value, sizeof value);
        /* The sums use the whole value; x only decides what is in, and may be rounded. */
        bin->x[i] = (float)((value - dark) * (double)bin->inverse[i]);
        if (invalid_float(bin->job, value))
            bin->found[count++] = (uint32_t)i;
    }
    return count;
}

/* Integers that the fast way does not take: large types, a dark current.  Is one too large? */
static bool load_large(struct filter_bin *bin)
{
    bool large = false;
    for (size_t i = 0; i < bin->n; i++) {
        bin->values[i] = image_value(bin, i);
        bin->fine[i] = fine_value(bin, i);
        bin->x[i] = (float)bin->fine[i] * bin->inverse[i];
        large |= exceeds_squares(bin, i);
    }
    return large;
}

/* The sums of all values.  Parts go together in 128 bits. */
static void sum_in_parts(const struct filter_ops *ops, struct filter_bin *bin)
{
    bool unit = !bin->weights, poisson = bin->job->flags & HCY_AZINT_WANT_VARIANCE;
    const azint_i128 c = unit ? HCY_AZINT_ONE : 1, c2 = unit ? azint_square(HCY_AZINT_ONE) : 1;
    struct filter_sums *s = &bin->sums;
    for (size_t at = 0; at < bin->n; at += FILTER_PART) {
        /* FILTER_PART entries fit 64 bits; only their total needs more. */
        struct filter_parts p;
        ops->sum(bin, at, bin->n - at < FILTER_PART ? bin->n : at + FILTER_PART, &p);
        s->signal += p.signal * c;
        s->variance += poisson ? (azint_u128)(p.variance * c2) : 0;
        s->square += (azint_u128)((p.square[0] + ((azint_i128)p.square[1] * (1 << 24))) * c2);
        s->cross += (p.cross[0] + ((azint_i128)p.cross[1] * (1 << 24))) * c2;
    }
}

static void take_found(struct filter_bin *bin, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        filter_take(bin, bin->found[k]);
        bin->x[bin->found[k]] = NAN;
    }
}

/* Everything about the bin with all pixels that are valid; how many are not (counted in their first bin). */
static size_t open_bin(const struct launch *l, struct filter_bin *bin)
{
    const struct filter_total *total = (const struct filter_total *)filter_at(l->plan, l->plan->totals) + bin->number;
    bool fast = !bin->type->is_float && bin->fine == bin->values, large = false;
    uint64_t seen = UINT64_MAX;
    size_t n_lost = 0, firsts = 0;
    bin->sums = (struct filter_sums){ .signal = -total->dark,
                                      .variance = total->variance,
                                      .count = total->count,
                                      .norm = total->norm,
                                      .norm2 = total->norm2,
                                      .norm24 = total->norm24 };
    /* The plan's constants are those of all pixels: what is lost is taken off at the end. */
    if (bin->type->is_float)
        n_lost = load_floats(bin);
    else if (fast)
        seen = l->ops->load(bin);
    else
        large = load_large(bin);
    /* Loops go over whole steps; a NaN is outside of no interval. */
    for (size_t i = bin->n; i < (bin->n + FILTER_STEP - 1) / FILTER_STEP * FILTER_STEP; i++) {
        bin->x[i] = NAN;
        bin->values[i] = 0;
    }
    if (!bin->type->is_float)
        n_lost = l->ops->lost(bin);
    for (size_t k = 0; k < n_lost; k++) {
        bin->values[bin->found[k]] = 0;
        bin->fine[bin->found[k]] = 0;
        /* A pixel in several bins is counted at its first entry, so that it counts once. */
        firsts += !bin->weights || (bin->weights[bin->found[k]] & FILTER_FIRST);
    }
    for (size_t i = 0; large && i < bin->n; i++) /* those that are not lost */
        bin->is_refused |= exceeds_squares(bin, i);
    if (n_lost && fast && seen >> 24) /* sentinels, mostly: what is left decides */
        for (size_t i = seen = 0; i < bin->n; i++)
            seen |= (uint64_t)(bin->values[i] ^ bin->values[i] >> 63);
    /* Below 2^24 products are summed in 64 bits by vectors; larger values go one by one. */
    if (fast && !(seen >> 24))
        sum_in_parts(l->ops, bin);
    else if (!bin->type->is_float)
        filter_sum_each(bin);
    take_found(bin, n_lost);
    return firsts;
}

/* --- Clipping --- */

struct limits {
    double mean, deviation; /* in units of x */
};

/* Mean and standard deviation of what is in; false if nothing is. */
static bool find_limits(struct filter_bin *bin, bool deviation, struct limits *out)
{
    const struct filter_sums *s = &bin->sums;
    double norm = azint_double((uint64_t)s->norm, (uint64_t)(s->norm >> 64)) * NORM;
    double norm2 = azint_double((uint64_t)s->norm2, (uint64_t)(s->norm2 >> 64)) * NORM, signal, variance;
    if (!(norm > 0 && norm2 > 0 && s->count))
        return false;
    /* Floats are summed anew each time, because taking pixels off would leave rounding errors behind. */
    if (bin->type->is_float) {
        filter_sum_floats(bin);
        out->mean = s->float_signal * WEIGHT / norm;
        if (deviation)
            filter_deviation_floats(bin, out->mean);
        variance = (deviation ? s->float_deviation : s->float_variance) * WEIGHT;
        out->deviation = sqrt(variance / norm2);
        return true;
    }
    /* Exact integers are rounded once, so the limits are the same on every device. */
    signal = azint_signed_double((uint64_t)s->signal, (uint64_t)(s->signal >> 64)) * WEIGHT;
    out->mean = ldexp(signal / norm, bin->shift);
    if (deviation) {
        const uint64_t square[2] = { (uint64_t)s->square, (uint64_t)(s->square >> 64) };
        const uint64_t cross[2] = { (uint64_t)s->cross, (uint64_t)(s->cross >> 64) };
        const uint64_t norm24[2] = { (uint64_t)s->norm24, (uint64_t)(s->norm24 >> 64) };
        variance = azint_deviation_sum(square, cross, norm24, out->mean, bin->shift) * WEIGHT;
    } else {
        variance = azint_double((uint64_t)s->variance, (uint64_t)(s->variance >> 64)) * WEIGHT;
        variance = ldexp(variance, 2 * bin->shift - (bin->plan->variances ? bin->plan->variance_shift : 0));
    }
    out->deviation = sqrt(variance / norm2);
    return true;
}

/* Takes off what lies outside, until nothing does.  Intensities are rounded to float: what differs from the
 * mean by a few of its last digits does not differ. */
static void clip_bin(const struct launch *l, struct filter_bin *bin)
{
    const hcy_azint_filter *filter = bin->filter;
    struct limits at;
    for (uint32_t turn = 0; turn < filter->max_iter; turn++) {
        if (!find_limits(bin, filter->flags & HCY_AZINT_CLIP_DEVIATION, &at))
            return;
        /* Chauvenet's limit follows the number of pixels that are left; the given threshold is the least. */
        double cut = azint_chauvenet(filter, (double)bin->sums.count / HCY_AZINT_ONE);
        double below = cut > filter->threshold[0] ? cut : filter->threshold[0];
        double over = cut > filter->threshold[1] ? cut : filter->threshold[1];
        /* 2^-22 of the mean are the last digits of a float, in which equal pixels may differ. */
        double digits = fabs(at.mean) * (1.0 / 4194304.0);
        size_t n = l->ops->outside(bin, (float)(at.mean - (below * at.deviation + digits)),
                                   (float)(at.mean + (over * at.deviation + digits)));
        if (!n)
            return;
        take_found(bin, n);
    }
}

/* --- Percentiles --- */

/* A float's bits in the order of its value. */
static uint32_t order_key(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/* The entries that are in, by x and then in their order: their numbers in the low words.  Returns where. */
static const uint64_t *sort_bin(struct filter_bin *bin, size_t *n)
{
    enum { BITS = 11, SIZE = 1 << BITS };
    uint64_t *from = bin->sorted, *to = bin->sorted + (bin->n + FILTER_STEP);
    size_t count = 0;
    for (size_t i = 0; i < bin->n; i++)
        /* Adding 0 makes -0 equal to 0. */
        if (bin->x[i] == bin->x[i])
            from[count++] = (uint64_t)order_key(bin->x[i] + 0.0f) << 32 | i;
    /* Only the upper word is sorted by, stably: pixels of equal intensity stay in their order, on every device. */
    for (unsigned shift = 32; shift < 64; shift += BITS) {
        size_t places[SIZE + 1] = { 0 };
        for (size_t i = 0; i < count; i++)
            places[1 + (from[i] >> shift & (SIZE - 1))]++;
        for (size_t i = 0; i < SIZE; i++)
            places[i + 1] += places[i];
        for (size_t i = 0; i < count; i++)
            to[places[from[i] >> shift & (SIZE - 1)]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    *n = count;
    return from;
}

/* Of n sorted entries those whose share of the norms' sum touches the two quantiles or lies between: all else goes. */
static void keep_percentiles(struct filter_bin *bin)
{
    size_t n;
    const uint64_t *order = sort_bin(bin, &n);
    const azint_u128 last = bin->sums.norm;
    azint_u128 lower = 0;
    size_t kept = 0;
    for (size_t k = 0; k < n; k++) {
        struct filter_total t = { 0 };
        uint32_t i = (uint32_t)order[k];
        uint64_t norm = (uint64_t)((double)bin->plan->norms[bin->pixels[i]] * (double)(1ull << HCY_AZINT_NORM_SHIFT));
        t.norm = azint_mul_shift(filter_weight(bin, i), norm, 24);
        azint_u128 upper = lower + t.norm;
        /* Shares are compared as integers, so that no device rounds them differently. */
        if (upper << 32 >= bin->filter->quantile[0] * last && lower << 32 <= bin->filter->quantile[1] * last)
            bin->found[kept++] = i;
        else
            bin->x[i] = NAN;
        lower = upper;
    }
    /* Few may be left of many, so they are added anew instead of taking the others off. */
    bin->sums = (struct filter_sums){ .signal = 0 };
    for (size_t k = 0; k < kept; k++)
        filter_add(bin, bin->found[k]);
}

/* --- A launch --- */

static void put_bin_row(uint64_t *sums, size_t n_bins, int row, azint_u128 x)
{
    sums[(size_t)row * n_bins] = (uint64_t)x;
    sums[((size_t)row + 1) * n_bins] = (uint64_t)(x >> 64);
}

static azint_u128 double_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static void put_bin_sums(const struct launch *l, struct filter_bin *bin, size_t frame)
{
    size_t n = l->plan->n_bins;
    uint64_t *at = l->sums + frame * HCY_AZINT_FILTERED * n + bin->number;
    bool wanted = l->filter->flags & HCY_AZINT_WANT_DEVIATION, is_float = bin->type->is_float;
    struct filter_sums *s = &bin->sums;
    struct limits unused;
    /* The sums of floats are by-products of the limits; without any pixel there are none. */
    if (is_float && !find_limits(bin, wanted, &unused))
        s->float_signal = s->float_variance = s->float_deviation = 0;
    put_bin_row(at, n, HCY_SUM_SIGNAL_LO, is_float ? double_bits(s->float_signal) : (azint_u128)s->signal);
    put_bin_row(at, n, HCY_SUM_VARIANCE_LO, is_float ? double_bits(s->float_variance) : s->variance);
    at[HCY_SUM_LOST_COUNT * n] = s->count;
    put_bin_row(at, n, HCY_SUM_LOST_NORM_LO, s->norm);
    put_bin_row(at, n, HCY_SUM_LOST_NORM2_LO, s->norm2);
    put_bin_row(at, n, HCY_SUM_SQUARE_LO, !wanted ? 0 : is_float ? double_bits(s->float_deviation) : s->square);
    put_bin_row(at, n, HCY_SUM_CROSS_LO, wanted && !is_float ? (azint_u128)s->cross : 0);
    put_bin_row(at, n, HCY_SUM_NORM24_LO, wanted && !is_float ? s->norm24 : 0);
}

/* Cuts up the memory of one thread. */
static void set_space(const struct launch *l, struct filter_bin *bin, unsigned thread)
{
    uint8_t *at = l->spaces + thread * l->space_size;
    bool fast = !l->plan->darks && l->type->elem_size <= 4 && !l->type->is_float;
    bin->sorted = (void *)at;
    at += l->filter->kind == HCY_AZINT_FILTER_PERCENTILE ? 2 * l->padded * sizeof(uint64_t) : 0;
    bin->values = (void *)at;
    /* Without a dark current a value and its fine value are the same, and so is their memory. */
    bin->fine = fast ? bin->values : bin->values + l->padded;
    bin->x = (void *)(bin->values + (fast ? 1 : 2) * l->padded);
    bin->found = (void *)(bin->x + l->padded);
}

static void run_bin(const struct launch *l, struct filter_bin *bin, size_t frame, uint32_t number, uint64_t *n_lost)
{
    const uint64_t *starts = filter_at(l->plan, l->plan->starts);
    bin->number = number;
    bin->n = (size_t)(starts[number + 1] - starts[number]);
    bin->pixels = (const uint32_t *)filter_at(l->plan, l->plan->pixels) + starts[number];
    bin->norms24 = (const uint32_t *)filter_at(l->plan, l->plan->norms24) + starts[number];
    bin->inverse = (const float *)filter_at(l->plan, l->plan->inverse) + starts[number];
    bin->weights = l->plan->unit ? NULL : (const uint32_t *)filter_at(l->plan, l->plan->weights) + starts[number];
    *n_lost += open_bin(l, bin);
    if (l->filter->kind == HCY_AZINT_FILTER_CLIP)
        clip_bin(l, bin);
    else if (l->filter->kind == HCY_AZINT_FILTER_PERCENTILE)
        keep_percentiles(bin);
    put_bin_sums(l, bin, frame);
}

static void run_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct launch *l = context;
    struct filter_bin bin = { .plan = l->plan, .job = l->job, .filter = l->filter, .type = l->type };
    bin.deviation = l->filter->flags & (HCY_AZINT_CLIP_DEVIATION | HCY_AZINT_WANT_DEVIATION);
    /* A dark current has a fraction, for which values are scaled up. */
    bin.shift = l->plan->darks && !l->type->is_float ? HCY_AZINT_SQUARE_SHIFT(l->type->elem_size) : 0;
    set_space(l, &bin, thread);
    for (size_t f = 0; f < l->items; f++) {
        uint64_t n_lost = 0;
        if (l->reports[f].status)
            continue;
        bin.is_refused = false;
        bin.image = l->images + f * l->image_bytes;
        for (size_t b = begin; b < end; b++)
            run_bin(l, &bin, f, (uint32_t)b, &n_lost);
        /* A frame has its bins on several threads. */
        atomic_fetch_add(&l->n_lost[f], n_lost);
        if (bin.is_refused)
            atomic_fetch_or(&l->n_lost[f], REFUSED);
    }
}

static int open_filter_launch(struct launch *l, const struct cpu_call *call)
{
    memset(l, 0, sizeof *l);
    l->plan = filter_plan_at(cpu_arg(call, AT(plan)), cpu_arg_size(call, AT(plan)));
    l->job = call->values[AT(job)].bytes;
    l->filter = call->values[AT(filter)].bytes;
    l->type = azint_type(l->job->pixel_type);
    l->ops = cpu_filter_ops(call->simd);
    if (!l->plan)
        return hcy_azint_no_plan("azint_filter");
    int status = hcy_azint_check_job("azint_filter", l->job, l->plan->n_pixels, l->plan->n_bins);
    if (!status)
        status = hcy_azint_check_filter("azint_filter", l->filter);
    if (status)
        return status;
    l->items = call->items;
    /* The largest bin decides how much memory each thread needs. */
    l->padded = (size_t)(l->plan->largest + 2 * FILTER_STEP - 1) / FILTER_STEP * FILTER_STEP;
    l->space_size = l->padded * (2 * sizeof(int64_t) + sizeof(float) + sizeof(uint32_t));
    if (l->filter->kind == HCY_AZINT_FILTER_PERCENTILE)
        l->space_size += 2 * l->padded * sizeof(uint64_t);
    l->space_size = (l->space_size + 4095) / 4096 * 4096 + 1024; /* not the same cache sets for all */
    status = hcy_size_mul(&l->image_bytes, (size_t)l->plan->n_pixels, l->type->elem_size);
    return status ? hcy_fail(status, "azint_filter: an image of %llu pixels", (unsigned long long)l->plan->n_pixels)
                  : 0;
}

static int filter_scratch(size_t *size, const struct cpu_call *call)
{
    struct launch l;
    int status = open_filter_launch(&l, call);
    if (!status)
        status = hcy_size_mul(size, l.space_size, cpu_pool_threads(call->pool));
    if (!status)
        status = hcy_size_add(size, *size, (call->items ? call->items : 1) * sizeof *l.n_lost + 128);
    return status;
}

static int filter_batch(size_t *items, const struct cpu_call *call)
{
    struct launch l;
    *items = BATCH;
    return open_filter_launch(&l, call);
}

static int run_filter(const struct cpu_call *call)
{
    struct launch l;
    size_t need = 0, sums = 0;
    int status = open_filter_launch(&l, call);
    if (!status)
        status = filter_scratch(&need, call);
    if (!status)
        status = hcy_size_mul(&sums, l.items, HCY_AZINT_FILTERED * sizeof(uint64_t) * (size_t)l.plan->n_bins);
    if (status)
        return status;
    if (cpu_arg_size(call, AT(images)) / l.image_bytes < l.items || cpu_arg_size(call, AT(sums)) < sums ||
        cpu_arg_size(call, AT(reports)) / sizeof(hcy_frame_report) < l.items ||
        cpu_arg_size(call, AT(scratch)) < need)
        return hcy_fail(HCY_ERANGE, "azint_filter: images, sums, reports or scratch are too small for %zu frames",
                        l.items);
    /* The scratch buffer holds the frames' counters and then a part for each thread, all from a cache line's start. */
    uint8_t *scratch = cpu_arg(call, AT(scratch));
    scratch += (64 - (uintptr_t)scratch % 64) % 64;
    l.images = cpu_arg(call, AT(images));
    l.sums = cpu_arg(call, AT(sums));
    l.reports = cpu_arg(call, AT(reports));
    l.n_lost = (void *)scratch;
    l.spaces = scratch + (l.items * sizeof *l.n_lost + 63) / 64 * 64;
    for (size_t f = 0; f < l.items; f++)
        atomic_init(&l.n_lost[f], 0);
    /* Bins differ in size, so a task is measured in entries: small enough that all threads end together. */
    uint64_t grain = TASK_ENTRIES * (uint64_t)l.plan->n_bins / (l.plan->n_entries + 1);
    if (grain < 1)
        grain = 1;
    if (grain > TASK_BINS)
        grain = TASK_BINS;
    cpu_pool_for(call->pool, l.plan->n_bins, (size_t)grain, run_range, &l);
    for (size_t f = 0; f < l.items; f++)
        /* One count that is too large makes the sums of its frame worthless, and the report says so. */
        if (!l.reports[f].status) {
            uint64_t n_lost = atomic_load(&l.n_lost[f]);
            l.reports[f].n_lost = n_lost & ~REFUSED;
            l.reports[f].status = n_lost & REFUSED ? HCY_ERANGE : 0;
        }
    return 0;
}

const struct cpu_kernel cpu_filter_kernels[] = {
    { "azint_filter", run_filter, filter_scratch, filter_batch, filter_prepare, cpu_simd_built, NULL, NULL },
    { .name = NULL },
};
