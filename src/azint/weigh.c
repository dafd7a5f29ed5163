/* weigh.c - a pixel's weights in its bins: its shares, rounded, written as runs, and added to the norms of the bins.
 *
 * A pixel is one thread's, which adds to sums of its own (struct worker). */
#define SHARE_LOOPS_TEXT
#include "build.h"

#include <math.h>

static void shares(double *cum, struct azint_pixel *p, const struct build *b, struct azint_window window)
{
    struct azint_span span = window.radial;

    /* The one bin of a whole pixel has all of it, and put_runs writes that without looking. */
    if (azint_cells(window) < 2 && !window.is_part)
        return;
    if (b->grid.n_azim && b->split == HCY_SPLIT_FULL) {
        hcy__azint_shares_area(cum, b->loops, p, window);
    } else if (b->grid.n_azim) {
        hcy__azint_shares_boxes(cum, p, window);
    } else if (b->split == HCY_SPLIT_FULL) {
        for (unsigned k = 0; k < p->n; k++)
            p->bin[k] = (p->bin[k] - b->grid.min) / b->grid.delta;
        hcy__azint_shares_polygon(cum, b->loops, p, span);
    } else {
        hcy__azint_shares_interval(cum, b->loops, p, span);
    }
}

/* For an unweighted mean: shares are divided by the pixel's norm, times the least one so that they stay below 1.  In
 * sum(w v) / sum(w N) the norm then cancels. */
static void unweigh(double *cum, struct azint_window *window, const struct build *b, float norm)
{
    size_t cells = azint_cells(*window);

    if (cells < 2 && !window->is_part)
        cum[0] = 1;
    for (size_t k = 0; k < cells; k++)
        cum[k] *= b->least_norm / norm;
    window->is_part = 1;
}

/* A norm in the fixed point of the bins' sums. */
static uint64_t to_fixed_norm(float norm)
{
    return (uint64_t)((double)norm * ((uint64_t)1 << HCY_AZINT_NORM_SHIFT));
}

/* Bins `first` to end - 1 have got weights of one pixel more. */
static inline void note_added(struct worker *w, size_t first, size_t end)
{
    w->sums_from = first < w->sums_from ? first : w->sums_from;
    w->sums_to = end > w->sums_to ? end : w->sums_to;
    if (++w->n_added == AZINT_MOST_ADDED)
        hcy__azint_empty_sums(w);
}

/* Adds a pixel's weights to the norms of their bins. */
static void add_norms(struct worker *w, struct azint_window window, const uint32_t *weights, float norm)
{
    const size_t n_radial = w->b->grid.n_bins, n = window.radial.n;
    const size_t first = window.chi.first * n_radial + window.radial.first;
    const uint64_t n40 = to_fixed_norm(norm);

    for (uint32_t row = 0; row < window.chi.n; row++, weights += n) {
        size_t at = first + row * n_radial;

        if (n >= 4)
            w->b->loops->add_weights(&w->sums, at, weights, n, n40);
        for (size_t k = 0; n < 4 && k < n; k++)
            add_weight(&w->sums, at + k, weights[k], n40);
    }
    note_added(w, first, first + (window.chi.n - 1) * n_radial + n);
}

uint8_t *hcy__azint_write_few(uint8_t *p, struct worker *w, struct azint_span span, const uint32_t *so_far, float norm,
                              int more)
{
    const uint64_t n40 = to_fixed_norm(norm);
    const uint32_t one = so_far[0], two = span.n < 3 ? HCY_AZINT_ONE : so_far[w->b->g.width];
    /* Parts of a polygon that go back may leave a sum below the one before: it is lifted to that. */
    const uint32_t weights[3] = { one, two > one ? two - one : 0, HCY_AZINT_ONE - (two > one ? two : one) };

    for (uint32_t k = 0; k < span.n; k++)
        add_weight(&w->sums, span.first + k, weights[k], n40);
    note_added(w, span.first, span.first + span.n);
    put_word(p, run_word(span.first, span.n, more));
    pack_weights(p + 4, weights, span.n);
    return p + 4 + 3 * (size_t)span.n;
}

uint8_t *hcy__azint_write_window(uint8_t *p, struct worker *w, struct place *part, float norm, int more)
{
    const struct build *b = w->b;
    struct azint_window *window = &part->window;

    /* With few bins most pixels lie in one, as a whole. */
    if (azint_cells(*window) == 1 && !window->is_part && !b->unweighted) {
        size_t bin = window->chi.first * b->grid.n_bins + window->radial.first;

        add_weight(&w->sums, bin, HCY_AZINT_ONE, to_fixed_norm(norm));
        note_added(w, bin, bin + 1);
        return put_whole(p, (uint32_t)bin, more);
    }
    shares(w->cum, &part->p, b, *window);
    if (window->radial.n == 2 && window->chi.n == 1 && !window->is_part && !b->unweighted) {
        const uint32_t first = (uint32_t)(window->chi.first * b->grid.n_bins) + window->radial.first;

        round_shares(w->weights, w->cum, 1);
        return hcy__azint_write_few(p, w, (struct azint_span){ first, 2 }, w->weights, norm, more);
    }
    if (b->unweighted)
        unweigh(w->cum, window, b, norm);
    hcy__azint_weigh(w->weights, b->loops, *window, w->cum);
    /* The norms' sums are of the weights as written, in fixed point, and not of the shares. */
    add_norms(w, *window, w->weights, norm);
    return hcy__azint_put_runs(p, b->loops, *window, b->grid.n_bins, w->weights, more);
}

void hcy__azint_add_extra(struct azint_bin_extra *extra, const struct build *b, const uint8_t *runs, const uint8_t *end,
                          size_t i)
{
    double dark = b->dark ? b->dark[i] * b->dark_scale : 0;
    uint64_t d = (uint64_t)fabs(dark), v = b->variance ? (uint64_t)(b->variance[i] * b->variance_scale) : 0;

    while (runs < end) {
        struct azint_run run = azint_run_at(runs);
        struct azint_bin_extra *bin = extra + run.bin;

        runs = azint_run_end(&run);
        for (uint32_t k = 0; k < run.n; k++, bin++) {
            uint32_t c = azint_weight(&run, k);
            uint64_t fine[2] = { 0, 0 }, cd[2] = { 0, 0 };

            /* The magnitude is rounded and the sign put on after that, as devices do it. */
            azint_add_product(fine, c, d);
            azint_dark_round(cd, fine, b->dark_shift);
            if (dark < 0) {
                azint_negate(fine);
                azint_negate(cd);
            }
            azint_add(bin->dark, cd[0], cd[1]);
            azint_add(bin->dark_fine, fine[0], fine[1]);
            azint_add_product(bin->variance, azint_square(c), v);
        }
    }
}
