/* outliers.c - pixels one by one, through the canonical runs: values that fit no digit, and pixels lost in a
 * frame.
 *
 * Lost pixels are marked while strips run and counted afterwards.  Gaps that the static mask does not know
 * are the same in every frame, so the first frame's pixels, or those learnt, are summed in full and the others as
 * differences from it: the sums are integers, adding and taking off again leaves no trace.
 */
#include "cpu_azint.h"

#include <math.h>
#include <string.h>

/* c * magnitude to the digits' sums of one bin, with the sign. */
static void add_outlier_digits(struct azint_pass *pass, struct azint_space *space, size_t place, uint64_t magnitude,
                               int64_t factor)
{
    for (unsigned d = 0; magnitude; d++, magnitude >>= AZINT_DIGIT_BITS) {
        int64_t digit = (int64_t)(magnitude & ((1u << AZINT_DIGIT_BITS) - 1));
        if (digit)
            azint_sums(pass, space, d)[place] += factor * digit;
    }
}

void azint_slow_pixel(struct azint_pass *pass, struct azint_space *space, unsigned frame, uint64_t pixel,
                      uint64_t bits)
{
    bool negative = pass->type->is_signed && (int64_t)bits < 0;
    uint64_t magnitude = negative ? 0 - bits : bits;
    /* Poisson's variance has the same least value as it has for digits. */
    const unsigned least = azint_least(pass);
    uint64_t variance = negative || bits == 0 ? least : bits;
    const uint8_t *p = azint_pixel_runs(pass->plan, pixel);
    struct azint_run r;
    do {
        r = azint_run_at(p);
        for (uint32_t k = 0; k < r.n; k++) {
            /* A unit plan's weight is multiplied in by the merge. */
            uint32_t c = azint_weight(&r, k);
            int64_t c1 = pass->plan->unit ? 1 : c, c2 = pass->plan->unit ? 1 : azint_square(c);
            size_t place = ((size_t)r.bin + k) * 2 * pass->stride + azint_frame_at(pass, frame);
            add_outlier_digits(pass, space, place, magnitude, negative ? -c1 : c1);
            if (pass->job->flags & HCY_AZINT_WANT_VARIANCE) {
                add_outlier_digits(pass, space, place + pass->stride, variance, c2);
                /* The pixel's digits are zeros, for which the strip adds the least variance: it is taken off again. */
                azint_sums(pass, space, 0)[place + pass->stride] -= least * c2;
            }
        }
        p = azint_run_end(&r);
    } while (r.more);
    if (pass->deviation)
        azint_deviation_pixel(pass, space, frame, pixel, magnitude, negative);
}

static void add_to_words(uint64_t *lo, uint64_t *hi, azint_u128 x, bool back)
{
    azint_u128 sum = (azint_u128)*hi << 64 | *lo;
    sum = back ? sum - x : sum + x;
    *lo = (uint64_t)sum;
    *hi = (uint64_t)(sum >> 64);
}

/* What the plan will take off for one weight of a pixel that is lost. */
static void lose_extra(const struct azint_plan *plan, uint64_t pixel, uint32_t c, bool back, uint64_t *at)
{
    size_t row = plan->n_bins;
    if (plan->darks) {
        double dark = (double)plan->darks[pixel] * (double)(1ull << plan->dark_shift);
        uint64_t d = (uint64_t)fabs(dark);
        azint_u128 half = plan->dark_shift ? (azint_u128)1 << (plan->dark_shift - 1) : 0;
        add_to_words(at + HCY_SUM_SIGNAL_LO * row, at + HCY_SUM_SIGNAL_HI * row,
                     ((azint_u128)c * d + half) >> plan->dark_shift, back != (dark < 0));
    }
    if (plan->variances) {
        uint64_t v = (uint64_t)ldexp((double)plan->variances[pixel], plan->variance_shift);
        add_to_words(at + HCY_SUM_VARIANCE_LO * row, at + HCY_SUM_VARIANCE_HI * row,
                     (azint_u128)azint_square(c) * v, back);
    }
}

void azint_lose_pixel(const struct azint_plan *plan, uint64_t pixel, bool back, enum azint_loss what,
                      uint64_t *sums)
{
    const uint8_t *p = azint_pixel_runs(plan, pixel);
    const azint_u128 half = 1u << 23, half_square = (azint_u128)1 << (HCY_AZINT_NORM_SHIFT - 1);
    uint64_t norm = (uint64_t)((double)plan->norms[pixel] * (double)(1ull << HCY_AZINT_NORM_SHIFT));
    struct azint_run r;
    do {
        r = azint_run_at(p);
        for (uint32_t k = 0; k < r.n; k++) {
            uint64_t *at = sums + r.bin + k;
            size_t row = plan->n_bins;
            uint32_t c = azint_weight(&r, k);
            /* Rounded as the plan's norms were, so that what is left of a bin is exact. */
            azint_u128 cn = ((azint_u128)c * norm + half) >> 24;
            azint_u128 square = (cn * cn + half_square) >> HCY_AZINT_NORM_SHIFT;
            at[HCY_SUM_LOST_COUNT * row] += back ? 0 - (uint64_t)c : c;
            add_to_words(at + HCY_SUM_LOST_NORM_LO * row, at + HCY_SUM_LOST_NORM_HI * row, cn, back);
            add_to_words(at + HCY_SUM_LOST_NORM2_LO * row, at + HCY_SUM_LOST_NORM2_HI * row, square, back);
            if (what != AZINT_LOSS_NORMS)
                lose_extra(plan, pixel, c, back, at);
            if (what == AZINT_LOSS_ONE)
                add_to_words(at + HCY_SUM_VARIANCE_LO * row, at + HCY_SUM_VARIANCE_HI * row, azint_square(c),
                             !back);
        }
        p = azint_run_end(&r);
    } while (r.more);
}

/* What the pixels of a reference take off, summed by all workers: those learnt, else the lost ones of the pass's first
 * such frame. */
struct loss {
    struct azint_pass *pass;
    const struct azint_learnt *learnt;
    unsigned frame; /* where nothing is learnt */
    enum azint_loss what;
    const uint64_t *rows; /* the reference's, summed */
};

static uint64_t *rows_of(const struct azint_pass *pass, size_t worker)
{
    return (uint64_t *)pass->spaces[worker].sums; /* merged by now, and of HCY_AZINT_SUMS rows at least */
}

const uint8_t *azint_lost_bits(const struct azint_pass *pass, unsigned frame, size_t strip)
{
    static const uint8_t none[AZINT_STRIP_BYTES];
    size_t place = (size_t)frame * pass->plan->n_strips + strip;
    if (pass->lost_any[place])
        return pass->lost + place * AZINT_STRIP_BYTES;
    return pass->learnt ? azint_learnt_bits(pass->learnt, strip) : none;
}

static const uint8_t *reference_bits(const struct loss *loss, size_t strip)
{
    return loss->learnt ? azint_learnt_bits(loss->learnt, strip) : azint_lost_bits(loss->pass, loss->frame, strip);
}

/* Pixels that are in the bitmap `in` and not in `out`. */
static void lose_strip(const struct loss *loss, size_t strip, const uint8_t *in, const uint8_t *out,
                       bool back, uint64_t *sums)
{
    for (size_t i = 0; i < AZINT_STRIP_BYTES; i += 8) {
        uint64_t a, b;
        memcpy(&a, in + i, 8);
        memcpy(&b, out + i, 8);
        /* Mostly both frames have lost the same pixels, and nothing is left of the word. */
        for (a &= ~b; a; a &= a - 1)
            azint_lose_pixel(loss->pass->plan,
                             (uint64_t)strip * AZINT_STRIP + 8 * i + (unsigned)__builtin_ctzll(a), back,
                             loss->what, sums);
    }
}

static void reference_range(void *context, size_t begin, size_t end, unsigned thread)
{
    struct loss *loss = context;
    struct azint_pass *pass = loss->pass;
    static const uint8_t none[AZINT_STRIP_BYTES];
    (void)thread;
    for (size_t w = begin; w < end; w++) {
        uint64_t *sums = rows_of(pass, w);
        memset(sums, 0, HCY_AZINT_SUMS * (size_t)pass->plan->n_bins * sizeof *sums);
        /* Whoever is free takes the next strip: sums of integers do not depend on who adds them. */
        for (size_t s; (s = atomic_fetch_add(&pass->next_strip, 1)) < pass->plan->n_strips;)
            lose_strip(loss, s, reference_bits(loss, s), none, false, sums);
    }
}

/* Adds the rows that lost pixels change. */
static void add_rows(uint64_t *sums, const uint64_t *other, size_t n_bins)
{
    static const unsigned char wide[] = { HCY_SUM_SIGNAL_LO, HCY_SUM_VARIANCE_LO, HCY_SUM_LOST_NORM_LO,
                                          HCY_SUM_LOST_NORM2_LO };
    /* The count is one word, the other rows are two. */
    for (size_t b = 0; b < n_bins; b++)
        sums[HCY_SUM_LOST_COUNT * n_bins + b] += other[HCY_SUM_LOST_COUNT * n_bins + b];
    for (size_t i = 0; i < sizeof wide; i++)
        for (size_t b = wide[i] * n_bins; b < (wide[i] + 1) * n_bins; b++)
            add_to_words(&sums[b], &sums[b + n_bins], (azint_u128)other[b + n_bins] << 64 | other[b], false);
}

static void frames_range(void *context, size_t begin, size_t end, unsigned thread)
{
    struct loss *loss = context;
    struct azint_pass *pass = loss->pass;
    size_t n_bins = pass->plan->n_bins;
    (void)thread;
    for (size_t f = begin; f < end; f++) {
        uint32_t item = pass->frames[f].item;
        uint64_t *sums = pass->sums + (size_t)item * HCY_AZINT_SUMS * n_bins;
        if (!pass->reports[item].n_lost)
            continue;
        /* Signal and variance are there already; the LOST rows are not written before. */
        memset(sums + HCY_SUM_LOST_COUNT * n_bins, 0,
               (HCY_AZINT_SUMS - HCY_SUM_LOST_COUNT) * n_bins * sizeof *sums);
        add_rows(sums, loss->rows, n_bins);
        /* Then only the pixels in which this frame differs from the reference. */
        for (size_t s = 0; s < pass->plan->n_strips; s++) {
            const uint8_t *mine = azint_lost_bits(pass, (unsigned)f, s), *other = reference_bits(loss, s);
            if (mine != other && memcmp(mine, other, AZINT_STRIP_BYTES) != 0) {
                lose_strip(loss, s, mine, other, false, sums);
                lose_strip(loss, s, other, mine, true, sums);
            }
        }
    }
}

static uint64_t count_lost(const struct azint_pass *pass, unsigned frame)
{
    uint64_t n = 0;
    for (size_t s = 0; s < pass->plan->n_strips; s++) {
        if (!pass->lost_any[(size_t)frame * pass->plan->n_strips + s]) {
            n += pass->learnt ? azint_learnt_counts(pass->learnt)[s] : 0;
            continue;
        }
        const uint8_t *bits = azint_lost_bits(pass, frame, s);
        for (size_t i = 0; i < AZINT_STRIP_BYTES; i += 8) {
            uint64_t word;
            memcpy(&word, bits + i, 8);
            n += (uint64_t)__builtin_popcountll(word);
        }
    }
    return n;
}

/* The reference's rows, by all workers. */
static void sum_reference(struct loss *loss, struct cpu_pool *pool)
{
    struct azint_pass *pass = loss->pass;
    atomic_store(&pass->next_strip, 0);
    cpu_pool_for(pool, pass->n_workers, 1, reference_range, loss);
    for (unsigned w = 1; w < pass->n_workers; w++)
        add_rows(rows_of(pass, 0), rows_of(pass, w), pass->plan->n_bins);
    loss->rows = rows_of(pass, 0);
}

void azint_sum_learnt(struct azint_learnt *learnt, struct azint_pass *pass, struct cpu_pool *pool)
{
    struct loss loss = { .pass = pass, .learnt = learnt, .what = (enum azint_loss)learnt->what };
    sum_reference(&loss, pool);
    memcpy((uint8_t *)learnt + learnt->rows, loss.rows, HCY_AZINT_SUMS * (size_t)pass->plan->n_bins * sizeof(uint64_t));
}

void azint_lost_run(struct azint_pass *pass, struct cpu_pool *pool)
{
    struct loss loss = { pass, pass->learnt, pass->n_frames, azint_loss_of(pass), NULL };
    /* From the last frame down, so that `frame` ends as the first one that has lost a pixel. */
    for (unsigned f = pass->n_frames; f-- > 0;) {
        hcy_frame_report *report = &pass->reports[pass->frames[f].item];
        report->n_lost = count_lost(pass, f);
        if (report->n_lost)
            loss.frame = f;
    }
    if (loss.frame == pass->n_frames)
        return;
    /* The reference is summed by all workers, where it is not learnt, the differences by a thread a frame. */
    if (pass->learnt)
        loss.rows = (const uint64_t *)((const uint8_t *)pass->learnt + pass->learnt->rows);
    else
        sum_reference(&loss, pool);
    cpu_pool_for(pool, pass->n_frames, 1, frames_range, &loss);
    azint_learn(pass, pool);
}
