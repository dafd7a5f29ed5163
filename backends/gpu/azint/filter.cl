/* filter.cl - images to sums over those pixels of each bin that a filter keeps: a group takes a bin of a frame.
 *
 * All pixels of a bin are summed once; what a filter takes out is taken off.  Clipping leaves one interval of
 * intensities, percentiles one of intensities and numbers, so nothing is kept for each pixel: bins of any size.  Sums
 * are integers; means and limits are one item's business, in single IEEE operations on them.
 *
 * PIXEL_* as sums.cl has them, and VARIANCE 1: whether Poisson's is wanted is looked up.
 */
#pragma once
#include "azint/sums.cl"
#include "azint/wide.cl"

/* Sums of a bin, in 128 bits each; of float pixels the first three are the bits of doubles.  COUNT is two numbers: of
 * the weights, and of pixels. */
enum { SUM_SIGNAL, SUM_VARIANCE, SUM_SQUARE, SUM_CROSS, SUM_NORM, SUM_NORM2, SUM_NORM24, SUM_COUNT, SUMS };
struct filter_sums {
    struct wide of[SUMS];
};

/* Local memory, in words of 64 bits: sums of all items, or a histogram; then what one item tells the others. */
#define HISTOGRAM 256
#define ROOM_SUMS (2 * SUMS * GROUP_SIZE)
#define ROOM (ROOM_SUMS > 2 * HISTOGRAM ? ROOM_SUMS : 2 * HISTOGRAM)
#define SAID 4

#define ERROR_RANGE (-3)

struct filter_bin {
    struct azint_plan plan;
    const hcy_azint_job *job;
    const u8 *image;
    const uint4 *entries;
    u32 n;
    i32 shift;  /* of `fine`: values times 2^shift */
    u32 deviation; /* SQUARE, CROSS and NORM24 are needed */
    u32 poisson;  /* and Poisson's variance */
    float lo, hi; /* intensities that are in, */
    u64 first, last; /* and keys() */
};

/* An entry and its pixel. */
struct seen {
    u32 pixel, c, first, norm24;
    u64 v;    /* as widen_pixel() makes it */
    i64 fine; /* less the dark current, as squares are made of it */
    float x;  /* the intensity */
    u32 valid;
};

#if !PIXEL_FLOAT
DEVICE u32 is_past_range(const struct filter_bin *b, u64 v)
{
    const i64 top = HCY_AZINT_VALUE_MAX(b->shift), value = (i64)v;
    /* Unsigned ones may look negative. */
    return PIXEL_BYTES == 8 ? value > top || value < (PIXEL_SIGNED ? -top : 0) : 0;
}

DEVICE i64 fine_value(const struct filter_bin *b, u64 v, u32 pixel)
{
    /* Products of this value have room in 128 bits only up to here; what is cut off is refused by the
     * report. */
    const i64 most = HCY_AZINT_SQUARE_MAX(b->shift);
    i64 value = is_past_range(b, v) ? 0 : (i64)v * ((i64)1 << b->shift);
    /* The double is cut to the range before it becomes an integer, as a conversion beyond it has no
     * defined result. */
    if (b->plan.at.has_darks) {
        double dark = (double)((const float *)(b->plan.base + b->plan.at.darks))[pixel], end = (double)most;
        dark = floor(MUL_F64(dark, power_of_two(b->shift)) + 0.5);
        value -= (i64)(dark > end ? end : dark < -end ? -end : dark);
    }
    return value > most ? most : value < -most ? -most : value;
}
#endif

DEVICE double dark_of_pixel(const struct filter_bin *b, u32 pixel)
{
    return b->plan.at.has_darks ? (double)((const float *)(b->plan.base + b->plan.at.darks))[pixel] : 0.0;
}

DEVICE struct seen see_entry(const struct filter_bin *b, u32 i)
{
    uint4 entry = b->entries[i];
    struct seen e;
    e.pixel = entry.x;
    e.c = entry.y & ~GPU_ENTRY_FIRST32;
    e.first = entry.y >> 31;
    e.norm24 = entry.z;
    e.v = load_pixel(b->image, e.pixel);
    e.valid = !is_invalid_pixel(b->job, e.v);
#if PIXEL_FLOAT
    e.fine = 0;
    e.x = (float)MUL_F64(AS_DOUBLE(e.v) - dark_of_pixel(b, e.pixel), (double)AS_FLOAT(entry.w));
    /* A pixel without an intensity can be compared with no limit, so it is lost for the filter. */
    e.valid &= e.x == e.x;
#else
    e.fine = fine_value(b, e.v, e.pixel);
    e.x = (float)e.fine * AS_FLOAT(entry.w);
#endif
    return e;
}

/* Intensities in their order, then entries in theirs. */
DEVICE u64 intensity_key(const struct seen *e, u32 i)
{
    u32 bits = AS_BITS32(e->x);
    /* Both zeros are one intensity; their order is that of the entries. */
    bits = bits == 0x80000000u ? 0 : bits;
    return (u64)(bits >> 31 ? ~bits : bits | 0x80000000u) << 32 | i;
}

DEVICE int is_in(const struct filter_bin *b, const struct seen *e, u32 i)
{
    u64 key = intensity_key(e, i);
    return e->valid && !(e->x < b->lo) && !(e->x > b->hi) && key >= b->first && key <= b->last;
}

/* --- What an entry adds --- */

DEVICE void wide_take(struct wide *w, u64 lo, u64 hi)
{
    w->hi -= hi + (w->lo < lo);
    w->lo -= lo;
}

/* In units of 2^bits, half up. */
DEVICE void round_sum(struct wide *w, u32 bits)
{
    wide_add(w, (u64)1 << (bits - 1), 0);
    w->lo = w->lo >> bits | w->hi << (64 - bits);
    w->hi >>= bits;
}

DEVICE void put_products(const struct filter_bin *b, const struct seen *e, struct filter_sums *s)
{
#if !PIXEL_FLOAT
    struct wide unwanted = { 0, 0 };
    add_weight(e->c, e->v, &s->of[SUM_SIGNAL], b->poisson ? &s->of[SUM_VARIANCE] : &unwanted);
    if (b->deviation) {
        u64 c2 = square_of(e->c), q = c2 * e->norm24, v = (u64)e->fine, magnitude = e->fine < 0 ? 0 - v : v;
        u64 lo = magnitude * magnitude, hi = MUL_HI64(magnitude, magnitude); /* below 2^104 */
        struct wide square = { lo * c2, MUL_HI64(lo, c2) + hi * c2 };
        /* Only large pixels with a fine dark current need more than 128 bits, so their sums are kept in
         * coarser units. */
        if (PIXEL_BYTES > 2 && b->shift) {
            struct wide cross = { q * magnitude, MUL_HI64(q, magnitude) };
            round_sum(&square, HCY_AZINT_COARSE_SQUARE);
            round_sum(&cross, HCY_AZINT_COARSE_CROSS);
            if (e->fine < 0)
                wide_take(&s->of[SUM_CROSS], cross.lo, cross.hi);
            else
                wide_add(&s->of[SUM_CROSS], cross.lo, cross.hi);
        } else {
            wide_add(&s->of[SUM_CROSS], q * v, MUL_HI64(q, v) - (e->fine < 0 ? q : 0));
        }
        wide_add(&s->of[SUM_SQUARE], square.lo, square.hi);
    }
#endif
}

DEVICE void put_norms(const struct filter_bin *b, const struct seen *e, struct filter_sums *s)
{
    struct wide squared;
    u64 cn = norm_of(&b->plan, e->pixel, e->c, &squared), n24 = e->norm24, q = (u64)square_of(e->c) * n24;
    wide_add(&s->of[SUM_NORM], cn, 0);
    wide_add(&s->of[SUM_NORM2], squared.lo, squared.hi);
    wide_add(&s->of[SUM_NORM24], q * n24, MUL_HI64(q, n24));
    s->of[SUM_COUNT].lo += e->c;
#if !PIXEL_FLOAT
    /* The plan's totals contain this pixel's dark current and variance, which go with it. */
    if (b->plan.at.has_darks | b->plan.at.has_variances) {
        struct extra extra = extra_of(&b->plan, e->pixel, e->c);
        wide_take(&s->of[SUM_SIGNAL], extra.dark.lo, extra.dark.hi);
        wide_add(&s->of[SUM_VARIANCE], extra.variance.lo, extra.variance.hi);
    }
#endif
}

DEVICE void clear_sums(struct filter_sums *s)
{
    UNROLL
    for (int k = 0; k < SUMS; k++)
        s->of[k].lo = s->of[k].hi = 0;
}

DEVICE void take_sums(struct filter_sums *s, const struct filter_sums *off)
{
    UNROLL
    for (int k = 0; k < SUMS; k++)
        if (k != SUM_COUNT)
            wide_take(&s->of[k], off->of[k].lo, off->of[k].hi);
    s->of[SUM_COUNT].lo -= off->of[SUM_COUNT].lo;
}

/* --- All items' sums to the first one's --- */

DEVICE void join_sums(u32 k, struct wide *sum, u64 lo, u64 hi)
{
    if (PIXEL_FLOAT && k <= SUM_SQUARE)
        sum->lo = AS_BITS64(AS_DOUBLE(sum->lo) + AS_DOUBLE(lo));
    else if (k == SUM_COUNT)
        sum->lo += lo, sum->hi += hi;
    else
        wide_add(sum, lo, hi);
}

/* (With one item there is nothing to be done.)  Low words stand before high ones, the items' side by side. */
DEVICE void reduce(struct filter_sums *s, NEAR u64 *room)
{
#if GROUP_SIZE > 1
    /* As many items as there are share each sum, so that no item walks over the whole group's. */
    const u32 parts = GROUP_SIZE / SUMS, k = ITEM / parts, part = ITEM % parts;
    NEAR u64 *low = room, *high = room + SUMS * GROUP_SIZE;
    struct wide sum = { 0, 0 };
    UNROLL
    for (int i = 0; i < SUMS; i++) {
        low[i * GROUP_SIZE + ITEM] = s->of[i].lo;
        high[i * GROUP_SIZE + ITEM] = s->of[i].hi;
    }
    BARRIER();
    for (u32 i = part; i < GROUP_SIZE; i += parts)
        join_sums(k, &sum, low[k * GROUP_SIZE + i], high[k * GROUP_SIZE + i]);
    BARRIER();
    low[k * parts + part] = sum.lo;
    high[k * parts + part] = sum.hi;
    BARRIER();
    /* The last few are one item's: it alone has the sums from here on. */
    if (ITEM == 0)
        for (u32 i = 0; i < SUMS; i++) {
            s->of[i].lo = s->of[i].hi = 0;
            for (u32 j = 0; j < parts; j++)
                join_sums(i, &s->of[i], low[i * parts + j], high[i * parts + j]);
        }
    BARRIER();
#endif
}

/* --- Means and limits: one item --- */

struct limits {
    double mean, deviation;
};

/* Of float pixels the sums are those of measure_floats(). */
DEVICE_CALL int bin_statistics(const struct filter_bin *b, const struct filter_sums *s, u32 deviation,
                               struct limits *out)
{
    const double weight = 1.0 / 16777216.0, unit = 1.0 / 1099511627776.0;
    const struct wide *of = s->of;
    double norm = azint_double(of[SUM_NORM].lo, of[SUM_NORM].hi) * unit;
    double norm2 = azint_double(of[SUM_NORM2].lo, of[SUM_NORM2].hi) * unit, variance;
    /* A bin without pixels has no mean, and nothing that could be clipped. */
    if (!(norm > 0 && norm2 > 0 && of[SUM_COUNT].lo))
        return 0;
#if PIXEL_FLOAT
    out->mean = AS_DOUBLE(of[SUM_SIGNAL].lo) * weight / norm;
    variance = AS_DOUBLE(of[deviation ? SUM_SQUARE : SUM_VARIANCE].lo) * weight;
#else
    out->mean = ldexp(azint_signed_double(of[SUM_SIGNAL].lo, of[SUM_SIGNAL].hi) * weight / norm, b->shift);
    if (deviation) {
        u64 square[2] = { of[SUM_SQUARE].lo, of[SUM_SQUARE].hi }, cross[2] = { of[SUM_CROSS].lo, of[SUM_CROSS].hi };
        u64 norm24[2] = { of[SUM_NORM24].lo, of[SUM_NORM24].hi };
        variance = azint_deviation_sum(square, cross, norm24, out->mean, b->shift) * weight;
    } else {
        variance = azint_double(of[SUM_VARIANCE].lo, of[SUM_VARIANCE].hi) * weight;
        variance = ldexp(variance, 2 * b->shift - (b->plan.at.has_variances ? b->plan.at.variance_shift : 0));
    }
#endif
    /* Every operation above is a single IEEE one, so a CPU finds the same limits. */
    out->deviation = sqrt(variance / norm2);
    return 1;
}

#if PIXEL_FLOAT
/* Sums of what is in, as doubles, and about the mean of that if `deviation` is wanted. */
DEVICE void measure_floats(const struct filter_bin *b, struct filter_sums *s, u32 deviation, NEAR u64 *room,
                           NEAR u64 *said)
{
    struct filter_sums own;
    struct limits at;
    double signal = 0, variance = 0, square = 0, mean;
    /* First come the sums that the mean is made of. */
    clear_sums(&own);
    for (u32 i = ITEM; i < b->n; i += GROUP_SIZE) {
        struct seen e = see_entry(b, i);
        double v = AS_DOUBLE(e.v), own_variance = v > 1 ? v : 1;
        if (!is_in(b, &e, i))
            continue;
        signal += MUL_F64((double)e.c, v - dark_of_pixel(b, e.pixel));
        if (!b->poisson && b->plan.at.has_variances)
            own_variance = (double)((const float *)(b->plan.base + b->plan.at.variances))[e.pixel];
        if (b->poisson || b->plan.at.has_variances)
            variance += MUL_F64((double)square_of(e.c), own_variance);
    }
    own.of[SUM_SIGNAL].lo = AS_BITS64(signal);
    own.of[SUM_VARIANCE].lo = AS_BITS64(variance);
    /* Sums of doubles depend on their order, which is the same here for each launch of the same group
     * size. */
    reduce(&own, room);
    /* The mean is one item's work and all items' need: it goes through local memory. */
    if (ITEM == 0) {
        s->of[SUM_SIGNAL].lo = own.of[SUM_SIGNAL].lo;
        s->of[SUM_VARIANCE].lo = own.of[SUM_VARIANCE].lo;
        s->of[SUM_SQUARE].lo = 0;
        at.mean = 0;
        bin_statistics(b, s, 0, &at);
        said[0] = AS_BITS64(at.mean);
    }
    BARRIER();
    mean = AS_DOUBLE(said[0]);
    if (!deviation)
        return;
    clear_sums(&own);
    for (u32 i = ITEM; i < b->n; i += GROUP_SIZE) {
        struct seen e = see_entry(b, i);
        /* The second pass takes squares about the mean: taken about zero they would lose the digits that
         * matter. */
        double norm = (double)((const float *)(b->plan.base + b->plan.at.norms))[e.pixel];
        double r = AS_DOUBLE(e.v) - dark_of_pixel(b, e.pixel) - MUL_F64(mean, norm);
        if (is_in(b, &e, i))
            square += MUL_F64((double)square_of(e.c), MUL_F64(r, r));
    }
    own.of[SUM_SQUARE].lo = AS_BITS64(square);
    reduce(&own, room);
    if (ITEM == 0)
        s->of[SUM_SQUARE].lo = own.of[SUM_SQUARE].lo;
}
#endif

/* --- Clipping --- */

/* The next interval; false if there is none. */
DEVICE_CALL int next_limits(const struct filter_bin *b, const hcy_azint_filter *filter, const struct filter_sums *s,
                            NEAR u64 *said)
{
    struct limits at;
    if (!bin_statistics(b, s, filter->flags & HCY_AZINT_CLIP_DEVIATION, &at))
        return 0;
    double cut = azint_chauvenet(filter, (double)s->of[SUM_COUNT].lo / HCY_AZINT_ONE);
    double below = cut > filter->threshold[0] ? cut : filter->threshold[0];
    double over = cut > filter->threshold[1] ? cut : filter->threshold[1];
    /* A small part of the mean is added, so that bins of equal pixels are not clipped for their rounding. */
    double digits = MUL_F64(fabs(at.mean), 1.0 / 4194304.0);
    said[0] = AS_BITS32((float)(at.mean - (MUL_F64(below, at.deviation) + digits)));
    said[1] = AS_BITS32((float)(at.mean + (MUL_F64(over, at.deviation) + digits)));
    return 1;
}

DEVICE void clip_bin(struct filter_bin *b, const hcy_azint_filter *filter, struct filter_sums *s, NEAR u64 *room,
                     NEAR u64 *said)
{
    u64 gone = 1; /* of the first item */
    for (u32 turn = 0; turn < filter->max_iter; turn++) {
        struct filter_sums off;
#if PIXEL_FLOAT
        measure_floats(b, s, filter->flags & HCY_AZINT_CLIP_DEVIATION, room, said);
        BARRIER();
#endif
        /* Only the first item has the sums; all others read its decision, and leave together. */
        if (ITEM == 0)
            said[2] = (u64)(gone && next_limits(b, filter, s, said));
        BARRIER();
        if (!said[2])
            break;
        float lo = AS_FLOAT((u32)said[0]), hi = AS_FLOAT((u32)said[1]);
        clear_sums(&off);
        for (u32 i = ITEM; i < b->n; i += GROUP_SIZE) {
            struct seen e = see_entry(b, i);
            /* What is taken off was in before and is not any more; pixels that stay are not summed again. */
            if (!(e.x < lo || e.x > hi) || !is_in(b, &e, i))
                continue;
            put_products(b, &e, &off);
            put_norms(b, &e, &off);
            off.of[SUM_COUNT].hi++;
        }
        /* Intervals only shrink, so a pixel once out stays out without a mark of its own. */
        b->lo = lo > b->lo ? lo : b->lo;
        b->hi = hi < b->hi ? hi : b->hi;
        reduce(&off, room);
        gone = off.of[SUM_COUNT].hi;
        if (ITEM == 0)
            take_sums(s, &off);
        BARRIER();
    }
}

/* --- Percentiles --- */

/* The first key up to which the pixels' norms add up to `want` or more, to said[0]: digit by digit, from histograms of
 * norms, whose low and high words are summed apart.  All bits set if there is none. */
DEVICE void find_key(const struct filter_bin *b, struct wide want, NEAR u64 *room, NEAR u64 *said)
{
    NEAR u64 *low = room, *high = room + HISTOGRAM;
    u64 key = 0;
    struct wide below = { 0, 0 }; /* of the first item */
    for (i32 shift = 56; shift >= 0; shift -= 8) {
        /* Eight bits at a time: the lower half of a key is the entry's number, of which small bins have
         * few digits. */
        if (shift < 32 && !((b->n - 1) >> shift))
            continue; /* entries have no such digit */
        for (u32 i = ITEM; i < 2 * HISTOGRAM; i += GROUP_SIZE)
            room[i] = 0;
        BARRIER();
        for (u32 i = ITEM; i < b->n; i += GROUP_SIZE) {
            struct seen e = see_entry(b, i);
            struct wide unused;
            u64 own = intensity_key(&e, i);
            /* Only keys that begin with the digits found so far count. */
            if (!e.valid || (shift < 56 && (own ^ key) >> (shift + 8)))
                continue;
            u64 cn = norm_of(&b->plan, e.pixel, e.c, &unused);
            NEAR_ADD64(low + (own >> shift & 255), cn & 0xffffffffu);
            NEAR_ADD64(high + (own >> shift & 255), cn >> 32);
        }
        BARRIER();
        /* One item walks over the histogram, which is shorter than what all have just read. */
        if (ITEM == 0) {
            u64 digit = 0;
            for (; digit < HISTOGRAM; digit++) {
                struct wide to = below;
                wide_add(&to, low[digit], 0);
                wide_add(&to, high[digit] << 32, high[digit] >> 32);
                if (to.hi > want.hi || (to.hi == want.hi && to.lo >= want.lo))
                    break;
                below = to;
            }
            said[0] = digit < HISTOGRAM ? key | digit << shift : ~(u64)0;
        }
        BARRIER();
        /* All items go on with the same digits, or stop together. */
        key = said[0];
        if (key == ~(u64)0)
            break;
    }
}

/* (q * all + more) / 2^32, rounded up: where the pixels' norms reach a quantile. */
DEVICE struct wide quantile(u64 q, struct wide all, u32 more)
{
    struct wide product = { q * all.lo, MUL_HI64(q, all.lo) + q * all.hi };
    wide_add(&product, more, 0);
    wide_add(&product, 0xffffffffu, 0);
    struct wide at = { product.lo >> 32 | product.hi << 32, product.hi >> 32 };
    return at;
}

DEVICE void keep_percentiles(struct filter_bin *b, const hcy_azint_filter *filter, struct filter_sums *s,
                             NEAR u64 *room, NEAR u64 *said)
{
    struct wide all, from, to;
    /* The norms are the first item's and the quantiles everybody's. */
    if (ITEM == 0) {
        said[0] = s->of[SUM_NORM].lo;
        said[1] = s->of[SUM_NORM].hi;
    }
    BARRIER();
    all.lo = said[0];
    all.hi = said[1];
    /* Each item calculates the same bounds, which is cheaper than telling them. */
    from = quantile(filter->quantile[0], all, 0);
    to = quantile(filter->quantile[1], all, 1);
    BARRIER();
    find_key(b, from, room, said);
    u64 first = said[0];
    /* Of a median both keys are one, and the search is all this costs. */
    if (from.lo != to.lo || from.hi != to.hi) {
        BARRIER();
        find_key(b, to, room, said);
    }
    b->first = first;
    b->last = said[0];
    BARRIER();
    /* What is left may be far less than what is out, so it is summed anew. */
    clear_sums(s);
    for (u32 i = ITEM; i < b->n; i += GROUP_SIZE) {
        struct seen e = see_entry(b, i);
        if (!is_in(b, &e, i))
            continue;
        put_products(b, &e, s);
        put_norms(b, &e, s);
    }
    reduce(s, room);
}

/* --- A bin --- */

/* The sums of all that is valid: the plan's constants less those of lost pixels, and the values.  Has this item seen a
 * count that is too large? */
DEVICE u32 sum_all(const struct filter_bin *b, u64 bin, struct filter_sums *s, NEAR u64 *room)
{
    struct filter_sums off, own;
    u32 refused = 0;
    clear_sums(&off);
    clear_sums(&own);
    for (u32 i = ITEM; i < b->n; i += GROUP_SIZE) {
        struct seen e = see_entry(b, i);
        /* Constants of all pixels are in the plan's totals already: only lost ones cost something. */
        if (e.valid) {
            put_products(b, &e, &own);
#if !PIXEL_FLOAT
            refused |= is_past_range(b, e.v);
#endif
        } else {
            put_norms(b, &e, &off);
            off.of[SUM_COUNT].hi += e.first;
        }
    }
#if !PIXEL_FLOAT
    UNROLL
    for (int k = SUM_SIGNAL; k <= SUM_CROSS; k++)
        /* One reduction serves for both: values are summed with their sign turned round, and taken off. */
        wide_take(&off.of[k], own.of[k].lo, own.of[k].hi);
#endif
    reduce(&off, room);
    if (ITEM == 0) {
        /* Only the first item has all items' sums, so it alone ends with the bin's. */
        const struct gpu_total *total = (const struct gpu_total *)(b->plan.base + b->plan.at.totals) + bin;
        clear_sums(s);
#if !PIXEL_FLOAT
        wide_take(&s->of[SUM_SIGNAL], total->dark[0], total->dark[1]);
        wide_add(&s->of[SUM_VARIANCE], total->variance[0], total->variance[1]);
#endif
        wide_add(&s->of[SUM_NORM], total->norm[0], total->norm[1]);
        wide_add(&s->of[SUM_NORM2], total->norm2[0], total->norm2[1]);
        wide_add(&s->of[SUM_NORM24], total->norm24[0], total->norm24[1]);
        s->of[SUM_COUNT].lo = total->count[0];
        take_sums(s, &off);
        s->of[SUM_COUNT].hi = off.of[SUM_COUNT].hi;
    }
    return refused;
}

DEVICE void put_wide_row(u64 *sums, u64 n_bins, u32 row, u64 lo, u64 hi)
{
    sums[row * n_bins] = lo;
    sums[(row + 1) * n_bins] = hi;
}

/* `sums` begins at the bin. */
DEVICE void put_bin_sums(const struct filter_bin *b, const struct filter_sums *s, u64 *sums, u32 wanted)
{
    u64 n = b->plan.at.n_bins;
    const struct wide *of = s->of;
    /* Floats have neither squares nor norms as integers: their rows are zeros. */
    const int exact = PIXEL_FLOAT ? 0 : wanted != 0;
#if PIXEL_FLOAT
    struct limits unused;
    const int any = bin_statistics(b, s, 0, &unused);
#else
    const int any = 1; /* or else all are zeros */
#endif
    put_wide_row(sums, n, HCY_SUM_SIGNAL_LO, any ? of[SUM_SIGNAL].lo : 0, PIXEL_FLOAT ? 0 : of[SUM_SIGNAL].hi);
    put_wide_row(sums, n, HCY_SUM_VARIANCE_LO, any ? of[SUM_VARIANCE].lo : 0, PIXEL_FLOAT ? 0 : of[SUM_VARIANCE].hi);
    sums[HCY_SUM_LOST_COUNT * n] = of[SUM_COUNT].lo;
    put_wide_row(sums, n, HCY_SUM_LOST_NORM_LO, of[SUM_NORM].lo, of[SUM_NORM].hi);
    put_wide_row(sums, n, HCY_SUM_LOST_NORM2_LO, of[SUM_NORM2].lo, of[SUM_NORM2].hi);
    put_wide_row(sums, n, HCY_SUM_SQUARE_LO, (wanted ? any : 0) ? of[SUM_SQUARE].lo : 0, exact ? of[SUM_SQUARE].hi : 0);
    put_wide_row(sums, n, HCY_SUM_CROSS_LO, exact ? of[SUM_CROSS].lo : 0, exact ? of[SUM_CROSS].hi : 0);
    put_wide_row(sums, n, HCY_SUM_NORM24_LO, exact ? of[SUM_NORM24].lo : 0, exact ? of[SUM_NORM24].hi : 0);
}

/* Groups share the bins of an item. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_filter(hcy_azint_job job, hcy_azint_filter filter, struct gpu_plan_at at, BUFFER(const u8, images),
                BUFFER(const u8, base), BUFFER(u64, all_sums), BUFFER(hcy_frame_report, reports))
{
    OPEN(const u8, images) OPEN(const u8, base) OPEN(u64, all_sums) OPEN(hcy_frame_report, reports)
    LOCAL u64 room[ROOM];
    LOCAL u64 said[SAID];
    const u64 *starts = (const u64 *)(base + at.starts_of);
    u32 item = GROUP_Y;
    u64 lost = 0;
    u32 refused = 0;
    if (ITEM == 0) /* one reads it for all: other groups of the frame may write it */
        said[0] = (u64)reports[item].status;
    BARRIER();
    u64 status = said[0];
    BARRIER();
    if (status)
        return;
    /* A bin needs nothing of another one, so groups never meet. */
    for (u32 bin = GROUP; bin < at.n_bins; bin += GROUPS) {
        struct filter_sums sums;
        struct filter_bin b;
        b.plan.base = base;
        b.plan.at = at;
        b.job = &job;
        b.image = images + item * at.n_pixels * PIXEL_BYTES;
        b.entries = (const uint4 *)(base + at.entries) + starts[bin];
        b.n = (u32)(starts[bin + 1] - starts[bin]);
        b.shift = PIXEL_FLOAT || !at.has_darks ? 0 : HCY_AZINT_SQUARE_SHIFT(PIXEL_BYTES);
        b.deviation = filter.flags & (HCY_AZINT_CLIP_DEVIATION | HCY_AZINT_WANT_DEVIATION);
        b.poisson = job.flags & HCY_AZINT_WANT_VARIANCE;
        b.lo = AS_FLOAT(0xff800000u);
        b.hi = AS_FLOAT(0x7f800000u);
        b.first = 0;
        b.last = ~(u64)0;
        /* Without a filter this is all, and with one it is what the filter takes from. */
        refused |= sum_all(&b, bin, &sums, room);
        if (ITEM == 0)
            lost += sums.of[SUM_COUNT].hi;
        BARRIER();
        if (filter.kind == HCY_AZINT_FILTER_CLIP)
            clip_bin(&b, &filter, &sums, room, said);
        else if (filter.kind == HCY_AZINT_FILTER_PERCENTILE)
            keep_percentiles(&b, &filter, &sums, room, said);
#if PIXEL_FLOAT
        BARRIER();
        measure_floats(&b, &sums, filter.flags & HCY_AZINT_WANT_DEVIATION, room, said);
#endif
        if (ITEM == 0)
            put_bin_sums(&b, &sums, all_sums + (u64)item * HCY_AZINT_FILTERED * at.n_bins + bin,
                         filter.flags & HCY_AZINT_WANT_DEVIATION);
        BARRIER();
    }
    if (lost)
        ATOMIC_ADD64(&reports[item].n_lost, lost);
    /* Several items may write it: all write the same. */
    if (refused)
        reports[item].status = ERROR_RANGE;
}
