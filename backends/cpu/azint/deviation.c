/* deviation.c - bslz4_azint_deviation: the further sums that a strip adds up, for the variance that the pixels
 * of a bin show; its tables; and complete sums, which are those of azint_filter to the last bit.
 *
 * Squares are sums of digits like the signal's: of value * value, with the variance's weights.  Cross products are the
 * signal's digits with other weights, c2 * n24, which have 48 bits and so come in two parts.  Few pixels have a square
 * beyond one digit where counts are few: those are added one by one.
 */
#include "cpu_filter.h"

#include <stdlib.h>

#define FEW 1024u /* pixels of a strip, all frames together, that are added one by one rather than by a pass */

/* Constants of a bin. */
struct azint_deviation_total {
    azint_u128 norm, norm2, norm24;
    uint64_t count;
};

/* --- Tables --- */

struct builder {
    struct azint_plan *plan;
    struct azint_deviation_strip *strips;
    struct azint_deviation_total *totals;
    const uint64_t *places; /* of each strip, from the blob's start */
};

static size_t column_bytes(const struct azint_strip *strip, size_t bytes)
{
    return azint_up64(bytes * strip->n_entries + 64); /* as prepare.c: whole vectors are read */
}

/* Weight p of an entry, 0 where the pixel is not in it. */
static uint32_t entry_weight(const struct azint_plan *plan, const struct azint_strip *strip, size_t entry, unsigned p)
{
    const uint8_t *w = (const uint8_t *)azint_at(plan, strip->weights) + 12 * entry + p;
    if (plan->unit)
        return ((const uint16_t *)azint_at(plan, strip->index))[entry] >> p & 1 ? HCY_AZINT_ONE : 0;
    return (uint32_t)w[0] | (uint32_t)w[4] << 8 | (uint32_t)w[8] << 16;
}

static void put_weight_digits(uint8_t *entry, unsigned p, uint32_t weight)
{
    for (unsigned d = 0; d < 3; d++)
        entry[4 * d + p] = (uint8_t)(weight >> 8 * d);
}

static void strip_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct builder *b = context;
    const struct azint_plan *plan = b->plan;
    (void)thread;
    for (size_t s = begin; s < end; s++) {
        const struct azint_strip *strip = azint_strip_at(plan, s);
        const uint16_t *index = azint_at(plan, strip->index);
        struct azint_deviation_strip *to = &b->strips[s];
        /* A unit plan's entries carry masks, which weights replace here: such a plan needs an index of groups
         * alone. */
        to->index = plan->unit ? b->places[s] : strip->index;
        to->low = b->places[s] + (plan->unit ? column_bytes(strip, 2) : 0);
        to->high = to->low + column_bytes(strip, 12);
        for (size_t e = 0; e < strip->n_entries; e++) {
            size_t group = plan->unit ? index[e] >> 4 : index[e];
            for (unsigned p = 0; p < 4; p++) {
                uint32_t c = entry_weight(plan, strip, e, p);
                uint64_t pixel = (uint64_t)s * AZINT_STRIP + 4 * group + p;
                /* A pixel that has no weight in this entry gets a product of 0, whatever its norm is; so does one
                 * behind the last, which a file may name (keep.c). */
                uint64_t norm = c && pixel < plan->n_pixels ? azint_norm24(plan->norms[pixel]) : 0;
                uint64_t q = azint_square(c) * norm;
                /* c2 * n24 has 48 bits and takes two parts.  A unit plan's c2 is the same for all and comes in at
                 * the end. */
                put_weight_digits((uint8_t *)plan + to->low + 12 * e, p, (uint32_t)(plan->unit ? norm : q & 0xffffff));
                if (!plan->unit)
                    put_weight_digits((uint8_t *)plan + to->high + 12 * e, p, (uint32_t)(q >> 24));
            }
            if (plan->unit)
                ((uint16_t *)azint_at(plan, to->index))[e] = (uint16_t)group;
        }
    }
}

/* Of all bins; a thread a range of strips would need sums of its own, and this is once a plan. */
static void add_totals(const struct builder *b)
{
    const struct azint_plan *plan = b->plan;
    const uint8_t *p = plan->runs;
    for (uint64_t pixel = 0; pixel < plan->n_pixels; pixel++) {
        uint64_t norm = (uint64_t)((double)plan->norms[pixel] * (double)(1ull << HCY_AZINT_NORM_SHIFT));
        uint64_t norm24 = azint_norm24(plan->norms[pixel]);
        struct azint_run r;
        do {
            r = azint_run_at(p);
            for (uint32_t k = 0; k < r.n; k++) {
                uint32_t c = azint_weight(&r, k);
                /* Rounded as filter_total_add() does it, so that complete sums are those of azint_filter to the
                 * last bit. */
                uint64_t cn = azint_mul_shift(c, norm, 24);
                struct azint_deviation_total *t = &b->totals[r.bin + k];
                t->count += c;
                t->norm += cn;
                t->norm2 += azint_mul_shift(cn, cn, HCY_AZINT_NORM_SHIFT);
                t->norm24 += (azint_u128)(azint_square(c) * norm24) * norm24;
            }
            p = azint_run_end(&r);
        } while (r.more);
    }
}

static int check_plan(const struct azint_plan *plan)
{
    if (plan->darks || plan->variances)
        return hcy_fail(HCY_EUNSUPPORTED, "bslz4_azint_deviation: a plan with a dark current or variances");
    /* n24 must fit the three digits of a weight, which it does for norms up to 1. */
    for (size_t i = 0; i < plan->n_pixels; i++)
        if (plan->norms[i] > 1)
            return hcy_fail(HCY_EINVAL, "bslz4_azint_deviation: the plan has a norm of %g; 1 is the most",
                            (double)plan->norms[i]);
    return 0;
}

/* Makes the common plan, with what this kernel needs behind it. */
int azint_deviation_prepare(void **blob, size_t *size, struct cpu_pool *pool, enum cpu_simd simd,
                            const hcy_span *spans, size_t n)
{
    void *base = NULL;
    size_t base_size = 0;
    (void)simd; /* one layout for all */
    int status = azint_prepare_strips(&base, &base_size, pool, spans, n);
    if (status)
        return status;
    const struct azint_plan *plan = base;
    const struct azint_strip *strips = azint_at(plan, plan->strips);
    /* Only the finished base says whether this is a unit plan, and so how large a strip's columns are. */
    uint64_t *places = calloc(plan->n_strips, sizeof *places);
    struct azint_deviation head = { azint_up64(base_size) + azint_up64(sizeof head), 0 };
    head.strips = head.totals + azint_up64(plan->n_bins * sizeof(struct azint_deviation_total));
    *size = head.strips + azint_up64(plan->n_strips * sizeof(struct azint_deviation_strip));
    for (size_t s = 0; places && s < plan->n_strips; s++) {
        places[s] = *size;
        *size += plan->unit ? column_bytes(&strips[s], 2) + column_bytes(&strips[s], 12)
                            : 2 * column_bytes(&strips[s], 12);
    }
    status = check_plan(plan);
    *blob = status || !places ? NULL : cpu_blob_alloc(*size);
    if (!status && !*blob)
        status = hcy_fail(HCY_ENOMEM, "bslz4_azint_deviation: no memory for a plan of %zu bytes", *size);
    if (!status) {
        /* The base is copied to the start of the larger block, so its offsets stay true. */
        struct builder b = { *blob, NULL, NULL, places };
        memset(*blob, 0, *size);
        memcpy(*blob, base, base_size);
        b.plan->deviation = azint_up64(base_size);
        memcpy((uint8_t *)*blob + b.plan->deviation, &head, sizeof head);
        b.strips = (void *)((uint8_t *)*blob + head.strips);
        b.totals = (void *)((uint8_t *)*blob + head.totals);
        cpu_pool_for(pool, plan->n_strips, 4, strip_range, &b);
        add_totals(&b);
    }
    free(places);
    cpu_blob_free(base, base_size);
    return status;
}

/* --- A strip --- */

static const struct azint_deviation *deviation_of(const struct azint_plan *plan)
{
    return azint_at(plan, plan->deviation);
}

/* The rows; returns how many pixels with weights have a digit that is not 0, if that is asked for. */
static size_t make_rows(struct azint_pass *pass, struct azint_space *space, size_t strip, unsigned digit, size_t n,
                        bool count)
{
    size_t found = 0;
    for (unsigned f = 0; f < pass->n_frames; f++) {
        const uint8_t *rows[AZINT_MAX_DIGITS];
        struct filter_digits of = { rows, space->digits[f], digit, pass->type->is_signed, count,
                                    azint_live(pass, (uint64_t)strip * AZINT_STRIP) };
        for (unsigned d = 0; d < space->digits[f]; d++)
            rows[d] = azint_row(pass, space, d, f);
        /* Every digit of the square is made from the value's digits when its turn comes, so one row a frame is
         * enough. */
        found += pass->filter_ops->square(&of, (n + 63) / 64 * 64, space->vrows + f * (size_t)AZINT_PITCH);
    }
    return found;
}

void azint_deviation_rows(struct azint_pass *pass, struct azint_space *space, size_t strip, unsigned digit, size_t n)
{
    make_rows(pass, space, strip, digit, n, false);
    azint_variance_tiles(pass, space, n);
}

void azint_deviation_cross(struct azint_pass *pass, struct azint_space *space, size_t strip, unsigned digit)
{
    const struct azint_plan *plan = pass->plan;
    const struct azint_deviation_strip *at =
        (const struct azint_deviation_strip *)azint_at(plan, deviation_of(plan)->strips) + strip;
    struct azint_source source = { azint_at(plan, at->index), azint_at(plan, at->low), digit,
                                   AZINT_DEVIATION_CROSS + 2 * digit, AZINT_V_NONE };
    azint_add_entries(pass, space, azint_strip_at(plan, strip), &source);
    /* n24 alone fits the first part. */
    if (plan->unit)
        return;
    source.weights = azint_at(plan, at->high);
    source.slot++;
    azint_add_entries(pass, space, azint_strip_at(plan, strip), &source);
}

/* Digit `value` of a pixel's square to the sums of its bins. */
static void add_one(struct azint_pass *pass, struct azint_space *space, unsigned slot, unsigned frame, uint64_t pixel,
                    uint8_t value)
{
    int64_t *sums = azint_sums(pass, space, slot) + pass->stride + azint_frame_at(pass, frame);
    const uint8_t *p = azint_pixel_runs(pass->plan, pixel);
    struct azint_run r;
    do {
        r = azint_run_at(p);
        for (uint32_t k = 0; k < r.n; k++) {
            int64_t c2 = pass->plan->unit ? 1 : azint_square(azint_weight(&r, k));
            sums[((size_t)r.bin + k) * 2 * pass->stride] += c2 * value;
        }
        p = azint_run_end(&r);
    } while (r.more);
}

static void add_few(struct azint_pass *pass, struct azint_space *space, size_t strip, unsigned slot, size_t n)
{
    const uint8_t *live = azint_live(pass, (uint64_t)strip * AZINT_STRIP);
    for (unsigned f = 0; f < pass->n_frames; f++) {
        const uint8_t *row = space->vrows + f * (size_t)AZINT_PITCH;
        for (size_t at = 0; at < n; at += 8) {
            /* Hardly any pixel has a digit here, so eight are looked at together. */
            uint64_t word;
            memcpy(&word, row + at, 8);
            for (size_t i = at; word && live[at / 8] && i < at + 8; i++)
                /* What rows hold for pixels without weights is not defined, so the bit is asked too. */
                if (row[i] && live[i / 8] >> i % 8 & 1)
                    add_one(pass, space, slot, f, (uint64_t)strip * AZINT_STRIP + i, row[i]);
        }
    }
}

void azint_deviation_rest(struct azint_pass *pass, struct azint_space *space, size_t strip, unsigned digits, size_t n)
{
    const struct azint_strip *at = azint_strip_at(pass->plan, strip);
    /* The square of a value of n digits has 2 n, and one more for the most negative value of a signed type.  The
     * first n went along with the signal's digits. */
    for (unsigned k = digits; k < 2 * digits + pass->type->is_signed; k++) {
        struct azint_source source = { azint_at(pass->plan, at->index),
                                       pass->plan->unit ? NULL : azint_at(pass->plan, at->weights), digits - 1,
                                       AZINT_DEVIATION_SQUARES + k, AZINT_V_TILE };
        size_t found = make_rows(pass, space, strip, k, n, true);
        /* High digits of squares are rare where counts are few: then no reading of all entries pays. */
        if (found > FEW) {
            azint_variance_tiles(pass, space, n);
            azint_add_entries(pass, space, at, &source);
        } else if (found) {
            add_few(pass, space, strip, source.slot, n);
        }
    }
}

/* factor * magnitude, digit by digit, to every `step`th slot from `slot` on. */
static void add_deviation_digits(struct azint_pass *pass, struct azint_space *space, unsigned slot, unsigned step,
                                 size_t place, uint64_t magnitude, int64_t factor)
{
    for (; magnitude; slot += step, magnitude >>= AZINT_DIGIT_BITS)
        azint_sums(pass, space, slot)[place] +=
            factor * (int64_t)(magnitude & ((1u << AZINT_DIGIT_BITS) - 1));
}

void azint_deviation_pixel(struct azint_pass *pass, struct azint_space *space, unsigned frame, uint64_t pixel,
                           uint64_t magnitude, bool negative)
{
    const uint8_t *p = azint_pixel_runs(pass->plan, pixel);
    uint64_t norm = azint_norm24(pass->plan->norms[pixel]), square = magnitude * magnitude;
    int64_t sign = negative ? -1 : 1;
    struct azint_run r;
    do {
        r = azint_run_at(p);
        for (uint32_t k = 0; k < r.n; k++) {
            uint64_t c2 = azint_square(azint_weight(&r, k)), q = c2 * norm;
            size_t place = ((size_t)r.bin + k) * 2 * pass->stride + azint_frame_at(pass, frame);
            /* The first digit goes where the strip's rows put it; the others go to slots of the squares alone,
             * which sums_range() adds to the slots that they share with the signal. */
            bool unit = pass->plan->unit;
            add_deviation_digits(pass, space, AZINT_DEVIATION_SQUARES + 1, 1, place + pass->stride,
                                 square >> AZINT_DIGIT_BITS, unit ? 1 : (int64_t)c2);
            azint_sums(pass, space, 0)[place + pass->stride] += (int64_t)(square & 0x7f) * (unit ? 1 : (int64_t)c2);
            add_deviation_digits(pass, space, AZINT_DEVIATION_CROSS, 2, place, magnitude,
                                 sign * (int64_t)(unit ? norm : q & 0xffffff));
            if (!unit)
                add_deviation_digits(pass, space, AZINT_DEVIATION_CROSS + 1, 2, place, magnitude,
                                     sign * (int64_t)(q >> 24));
        }
        p = azint_run_end(&r);
    } while (r.more);
}

/* --- After a pass --- */

struct finish {
    struct azint_pass *pass;
    uint64_t *out;
    azint_u128 *lost24; /* [frames][n_bins] */
};

/* NORM24 of the pixels that a frame lost. */
static void lost_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct finish *to = context;
    const struct azint_pass *pass = to->pass;
    const struct azint_plan *plan = pass->plan;
    (void)thread;
    for (size_t f = begin; f < end; f++) {
        azint_u128 *lost = to->lost24 + f * plan->n_bins;
        for (size_t s = 0; s < plan->n_strips; s++) {
            size_t place = f * plan->n_strips + s;
            const uint8_t *bits = pass->lost + place * AZINT_STRIP_BYTES;
            /* The bits are left from earlier passes where the strip has lost nothing, so lost_any decides. */
            for (size_t i = 0; pass->lost_any[place] && i < AZINT_STRIP; i++) {
                if (!(bits[i / 8] >> i % 8 & 1))
                    continue;
                uint64_t pixel = (uint64_t)s * AZINT_STRIP + i, norm = azint_norm24(plan->norms[pixel]);
                const uint8_t *p = azint_pixel_runs(plan, pixel);
                struct azint_run r;
                do {
                    r = azint_run_at(p);
                    for (uint32_t k = 0; k < r.n; k++)
                        lost[r.bin + k] += (azint_u128)(azint_square(azint_weight(&r, k)) * norm) * norm;
                    p = azint_run_end(&r);
                } while (r.more);
            }
        }
    }
}

/* The workers' slots first, first + step ... as one number; place: of a bin and frame. */
static azint_i128 gather_slots(const struct azint_pass *pass, unsigned first, unsigned step, unsigned n, size_t place)
{
    size_t slot_size = (size_t)pass->plan->n_bins * 2 * pass->stride;
    azint_i128 sum = 0;
    /* Horner's rule from the top digit down.  A slot that a worker never asked for is not zeroed and must not be
     * read. */
    for (unsigned k = n; k-- > 0;) {
        unsigned slot = first + k * step;
        int64_t digit = 0;
        for (unsigned w = 0; w < pass->n_workers; w++)
            if (pass->spaces[w].used >> slot & 1)
                digit += pass->spaces[w].sums[slot_size * slot + place];
        sum = sum * (1 << AZINT_DIGIT_BITS) + digit;
    }
    return sum;
}

static void put_sum_words(uint64_t *at, size_t n_bins, int row, azint_u128 x)
{
    at[(size_t)row * n_bins] = (uint64_t)x;
    at[((size_t)row + 1) * n_bins] = (uint64_t)(x >> 64);
}

static void sums_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct finish *to = context;
    const struct azint_pass *pass = to->pass;
    size_t n = pass->plan->n_bins;
    const azint_i128 c2 = pass->plan->unit ? azint_square(HCY_AZINT_ONE) : 1;
    unsigned digits = pass->type->digits, squares = 2 * digits + pass->type->is_signed;
    (void)thread;
    for (unsigned f = 0; f < pass->n_frames; f++) {
        uint64_t *out = to->out + (size_t)pass->frames[f].item * HCY_AZINT_FILTERED * n;
        for (size_t b = begin; b < end; b++) {
            size_t place = b * 2 * pass->stride + azint_frame_at(pass, f);
            /* The first digits of squares stand beside digits of the signal, the later ones (and those of outliers)
             * in slots of their own: a digit may be in both. */
            azint_i128 square = gather_slots(pass, 0, 1, digits, place + pass->stride);
            square += gather_slots(pass, AZINT_DEVIATION_SQUARES + 1, 1, squares - 1, place + pass->stride) *
                      (1 << AZINT_DIGIT_BITS);
            /* Cross products have two parts a digit, which stand in every other slot. */
            azint_i128 cross = gather_slots(pass, AZINT_DEVIATION_CROSS, 2, digits, place);
            cross += gather_slots(pass, AZINT_DEVIATION_CROSS + 1, 2, digits, place) * (1 << 24);
            put_sum_words(out + b, n, HCY_SUM_SQUARE_LO, (azint_u128)(square * c2));
            put_sum_words(out + b, n, HCY_SUM_CROSS_LO, (azint_u128)(cross * c2));
        }
    }
}

/* Completes the sums: the plan's constants less what was lost. */
static void constants_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct finish *to = context;
    const struct azint_pass *pass = to->pass;
    size_t n = pass->plan->n_bins;
    const struct azint_deviation_total *totals = azint_at(pass->plan, deviation_of(pass->plan)->totals);
    (void)thread;
    for (unsigned f = 0; f < pass->n_frames; f++) {
        uint32_t item = pass->frames[f].item;
        uint64_t *out = to->out + (size_t)item * HCY_AZINT_FILTERED * n;
        const uint64_t *from = pass->sums + (size_t)item * HCY_AZINT_SUMS * n;
        bool lost = pass->reports[item].n_lost > 0;
        for (size_t b = begin; b < end; b++) {
            const uint64_t *at = from + b;
            azint_u128 norm = totals[b].norm, norm2 = totals[b].norm2;
            for (int row = HCY_SUM_SIGNAL_LO; row < HCY_SUM_LOST_COUNT; row++)
                out[(size_t)row * n + b] = at[(size_t)row * n];
            /* In a frame that lost nothing the LOST rows are not written at all. */
            if (lost) {
                norm -= (azint_u128)at[HCY_SUM_LOST_NORM_HI * n] << 64 | at[HCY_SUM_LOST_NORM_LO * n];
                norm2 -= (azint_u128)at[HCY_SUM_LOST_NORM2_HI * n] << 64 | at[HCY_SUM_LOST_NORM2_LO * n];
            }
            out[HCY_SUM_LOST_COUNT * n + b] = totals[b].count - (lost ? at[HCY_SUM_LOST_COUNT * n] : 0);
            put_sum_words(out + b, n, HCY_SUM_LOST_NORM_LO, norm);
            put_sum_words(out + b, n, HCY_SUM_LOST_NORM2_LO, norm2);
            put_sum_words(out + b, n, HCY_SUM_NORM24_LO, totals[b].norm24 - to->lost24[f * n + b]);
        }
    }
}

void azint_deviation_sums(struct azint_pass *pass, struct cpu_pool *pool, uint64_t *out)
{
    struct finish to = { pass, out, NULL };
    cpu_pool_for(pool, pass->plan->n_bins, 64, sums_range, &to);
}

void azint_deviation_finish(struct azint_pass *pass, struct cpu_pool *pool, uint64_t *out, azint_u128 *lost24)
{
    struct finish to = { pass, out, lost24 };
    memset(lost24, 0, pass->n_frames * (size_t)pass->plan->n_bins * sizeof *lost24);
    cpu_pool_for(pool, pass->n_frames, 1, lost_range, &to);
    cpu_pool_for(pool, pass->plan->n_bins, 64, constants_range, &to);
}
