/* float_pixels.c - float pixels: one frame a thread, in the order of its pixels, in doubles, so that the sums
 * do not depend on threads or batches.  A straightforward kernel: floats are rare, and integers they are not.
 */
#include "cpu_azint.h"

#include <string.h>

/* Where the walk through a frame's pixels stands. */
struct walk {
    const struct azint_pass *pass;
    const uint8_t *runs;
    uint64_t pixel, n_lost;
    uint64_t *sums;
};

static double as_double(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static bool is_invalid_float(const hcy_azint_job *job, double value)
{
    bool is = value != value;
    for (unsigned r = 0; r < job->n_invalid; r++)
        is |= value >= as_double(job->invalid[r].lo) && value <= as_double(job->invalid[r].hi);
    return is;
}

static void add_double(uint64_t *place, double x)
{
    x += as_double(*place);
    memcpy(place, &x, sizeof x);
}

/* Adds one pixel, and goes on to the next one's runs. */
static void put_float(struct walk *walk, double value)
{
    const struct azint_pass *pass = walk->pass;
    size_t n_bins = pass->plan->n_bins;
    bool want_variance = pass->job->flags & HCY_AZINT_WANT_VARIANCE, skip = is_invalid_float(pass->job, value),
         live = false;
    /* The host applies the plan's dark current and variance to whole bins, so a lost pixel's part in them is undone
     * here. */
    double dark = skip && pass->plan->darks ? (double)pass->plan->darks[walk->pixel] : 0;
    double variance = skip && pass->plan->variances ? (double)pass->plan->variances[walk->pixel] : 0;
    const double least = azint_least(pass);
    struct azint_run r;
    /* The runs are read even of a pixel that is skipped, because they lead to those of the next. */
    do {
        r = azint_run_at(walk->runs);
        live |= r.n > 0;
        for (uint32_t k = 0; k < r.n && skip && (dark != 0 || variance != 0); k++) {
            uint32_t c = azint_weight(&r, k);
            add_double(&walk->sums[HCY_SUM_SIGNAL_LO * n_bins + r.bin + k], c * dark);
            add_double(&walk->sums[HCY_SUM_VARIANCE_LO * n_bins + r.bin + k], azint_square(c) * variance);
        }
        for (uint32_t k = 0; k < r.n && !skip; k++) {
            uint32_t c = azint_weight(&r, k);
            add_double(&walk->sums[HCY_SUM_SIGNAL_LO * n_bins + r.bin + k], c * value);
            if (want_variance)
                add_double(&walk->sums[HCY_SUM_VARIANCE_LO * n_bins + r.bin + k],
                           azint_square(c) * (value > least ? value : least));
        }
        walk->runs = azint_run_end(&r);
    } while (r.more);
    if (skip && live) {
        /* The LOST rows are read only if a pixel is lost, so the first one zeroes them. */
        if (!walk->n_lost++)
            memset(walk->sums + HCY_SUM_LOST_COUNT * n_bins, 0,
                   (HCY_AZINT_SUMS - HCY_SUM_LOST_COUNT) * n_bins * 8);
        azint_lose_pixel(pass->plan, walk->pixel, false, AZINT_LOSS_NORMS, walk->sums);
    }
    walk->pixel++;
}

static void put_floats(struct walk *walk, const uint8_t *pixels, size_t n)
{
    if (walk->pass->type->elem_size == 4)
        for (size_t i = 0; i < n; i++) {
            float value;
            memcpy(&value, pixels + 4 * i, sizeof value);
            put_float(walk, (double)value);
        }
    else
        for (size_t i = 0; i < n; i++) {
            double value;
            memcpy(&value, pixels + 8 * i, sizeof value);
            put_float(walk, value);
        }
}

static void put_float_blocks(struct walk *walk, struct azint_space *space, struct azint_frame *frame)
{
    size_t elem_size = walk->pass->type->elem_size;
    const hcy_bslz4_frame *f = frame->frame;
    for (uint32_t b = 0; b < f->n_blocks; b++) {
        if (azint_block_pixels(walk->pass, space, frame, b, space->pixels)) {
            /* What comes after the first damaged block would not change the report. */
            azint_damaged(frame, b);
            return;
        }
        put_floats(walk, space->pixels, HCY_BLOCK_BYTES(f, b) / elem_size);
    }
    put_floats(walk, frame->chunk + f->tail_offset, f->tail_bytes / elem_size);
}

void azint_float_run(struct azint_pass *pass, struct azint_space *space, unsigned number)
{
    struct azint_frame *frame = &pass->frames[number];
    size_t n_bins = pass->plan->n_bins;
    struct walk walk = { .pass = pass,
                         .runs = pass->plan->runs,
                         .sums = pass->sums + (size_t)frame->item * HCY_AZINT_SUMS * n_bins };
    walk.runs += pass->plan->starts[0];
    memset(walk.sums, 0, HCY_SUM_LOST_COUNT * n_bins * sizeof *walk.sums);
    if (frame->pixels)
        put_floats(&walk, frame->pixels, (size_t)pass->plan->n_pixels);
    else
        put_float_blocks(&walk, space, frame);
    pass->reports[frame->item].n_lost = walk.n_lost;
}
