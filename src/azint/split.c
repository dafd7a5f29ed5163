/* split.c - how a pixel is shared among bins, and how its runs are written.  Pure functions.
 *
 * Positions are counted in bins (0 is the lower edge of bin 0).  The rules are those of pyFAI's sparse
 * engines, down to their edges: what of a pixel lies outside the range is given to the first or last bin
 * (interval), or left out with the rest scaled up (polygon), so that the shares of a pixel add up to 1 either
 * way.
 */
#include "azint_priv.h"

#include <math.h>

struct azint_span hcy__azint_span_interval(const struct azint_pixel *p, size_t n_bins)
{
    struct azint_span none = { 0, 0 }, span;
    double last;

    /* Numbers are cut off towards 0, so up to one bin below the range counts as bin 0. */
    if (!(p->hi > -1) || !(p->lo < (double)n_bins) || !isfinite(p->hi - p->lo))
        return none;
    span.first = p->lo > 0 ? (uint32_t)p->lo : 0;
    last = p->hi > 0 ? p->hi : 0;
    span.n = (uint32_t)(last < (double)n_bins ? (size_t)last : n_bins - 1) - span.first + 1;
    return span;
}

void hcy__azint_shares_interval(double *cum, const struct azint_pixel *p, struct azint_span span)
{
    double inverse = 1.0 / (p->hi - p->lo);

    for (uint32_t k = 0; k + 1 < span.n; k++)
        cum[k] = ((double)span.first + k + 1 - p->lo) * inverse;
}

struct azint_span hcy__azint_span_polygon(const struct azint_pixel *p, size_t n_bins)
{
    struct azint_span none = { 0, 0 }, span;

    if (!(p->hi >= 0) || !(p->lo < (double)n_bins) || !isfinite(p->hi - p->lo))
        return none;
    span.first = p->lo > 0 ? (uint32_t)p->lo : 0;
    span.n = (uint32_t)(p->hi < (double)n_bins ? (size_t)p->hi : n_bins - 1) - span.first + 1;
    return span;
}

/* Adds the signed area under one edge of a pixel, bin by bin, to area[0 .. span.n).  Each sum is rounded to
 * single precision, as pyFAI's is: chi may be 3 and a pixel's width in chi 0.001, so that is felt in the
 * fourth digit of a small share, and hot pixels would show it in the curve. */
static void add_edge(double *area, struct azint_span span, double x0, double y0, double x1, double y1)
{
    double lo = x0 < x1 ? x0 : x1, hi = x0 < x1 ? x1 : x0, slope = (y1 - y0) / (x1 - x0), y = y0 - slope * x0;
    uint32_t end = span.first + span.n;

    if (x0 == x1)
        return;
    for (uint32_t b = lo > span.first ? (uint32_t)lo : span.first; b < end && b <= hi; b++) {
        double left = lo > b ? lo : b, right = hi < b + 1.0 ? hi : b + 1.0;
        double from = x0 < x1 ? left : right, to = x0 < x1 ? right : left;

        area[b - span.first] = (float)(area[b - span.first] + (to - from) * (0.5 * slope * (to + from) + y));
    }
}

void hcy__azint_shares_polygon(double *cum, const struct azint_pixel *p, struct azint_span span)
{
    double whole = 0, sum = 0;

    for (uint32_t k = 0; k < span.n; k++)
        cum[k] = 0;
    for (int i = 0; i < 4; i++)
        add_edge(cum, span, p->bin[i], p->chi[i], p->bin[(i + 1) % 4], p->chi[(i + 1) % 4]);
    for (uint32_t k = 0; k < span.n; k++)
        whole += cum[k];
    for (uint32_t k = 0; k < span.n; k++) {
        sum += cum[k];
        cum[k] = whole != 0 ? sum / whole : (k + 1.0) / span.n;
    }
}

/* --- Two dimensions --- */

/* Of an interval in the first k bins of its span. */
static double part(double lo, double hi, struct azint_span span, uint32_t k)
{
    return !k ? 0 : k == span.n ? 1 : ((double)span.first + k - lo) / (hi - lo);
}

void hcy__azint_shares_boxes(double *cum, const struct azint_pixel *p, struct azint_window w)
{
    for (uint32_t row = 0; row < w.chi.n; row++) {
        double below = part(p->chi_lo, p->chi_hi, w.chi, row), share = part(p->chi_lo, p->chi_hi, w.chi, row + 1);

        share -= below;
        for (uint32_t k = 0; k < w.radial.n; k++)
            *cum++ = below + share * part(p->lo, p->hi, w.radial, k + 1);
    }
}

struct azint_span hcy__azint_span_box(double lo, double hi)
{
    struct azint_span none = { 0, 0 };
    double first = floor(lo), n = ceil(hi) - first;

    return n >= 1 ? (struct azint_span){ (uint32_t)first, (uint32_t)n } : none;
}

/* Piles an area up from the bottom of one column of cells, each of which holds `width`: what is below a slanted
 * edge is not shared among the cells that it crosses.  That, and single precision, is pyFAI's rule. */
static void pile(double *cell, struct azint_window w, float width, float area)
{
    float rest = fabsf(area), sign = area < 0 ? -1.0f : 1.0f;

    for (uint32_t row = 0; row < w.chi.n && rest > 0; row++, cell += w.radial.n) {
        float piece = width > rest ? rest : width;

        *cell = (float)(*cell + (double)(sign * piece));
        rest -= piece;
    }
}

/* The signed area under one edge, column by column in the edge's direction; coordinates from the window's corner. */
static void pile_edge(double *cells, struct azint_window w, double x0, double y0, double x1, double y1)
{
    double lo = x0 < x1 ? x0 : x1, hi = x0 < x1 ? x1 : x0;
    float slope, y;

    if (x0 == x1)
        return;
    slope = (float)((y1 - y0) / (x1 - x0));
    y = (float)(y1 - slope * x1);
    for (uint32_t b = (uint32_t)lo; b < w.radial.n && b < hi; b++) {
        double left = lo > b ? lo : b, right = hi < b + 1.0 ? hi : b + 1.0;
        double from = x0 < x1 ? left : right, to = x0 < x1 ? right : left;

        pile(cells + b, w, (float)(right - left), (float)((to - from) * (0.5 * slope * (to + from) + y)));
    }
}

void hcy__azint_shares_area(double *cum, const struct azint_pixel *p, struct azint_window w)
{
    size_t n = azint_cells(w);
    double whole = 0, sum = 0;

    for (size_t k = 0; k < n; k++)
        cum[k] = 0;
    for (int i = 0; i < 4; i++) {
        int j = (i + 1) % 4;

        pile_edge(cum, w, p->bin[i] - w.radial.first, p->chi[i] - w.chi.first, p->bin[j] - w.radial.first,
                  p->chi[j] - w.chi.first);
    }
    for (size_t k = 0; k < n; k++)
        whole += cum[k];
    for (size_t k = 0; k < n; k++) {
        sum += cum[k];
        cum[k] = whole != 0 ? sum / whole : ((double)k + 1) / (double)n;
    }
}

static double contour_area(const double radial[4], const double chi[4])
{
    return 0.5 * ((radial[2] - radial[0]) * (chi[3] - chi[1])) - (chi[2] - chi[0]) * (radial[3] - radial[1]);
}

void hcy__azint_recentre(double chi[4], const double radial[4], double contour)
{
    double sum = 0;

    /* Corners in pyFAI's order go round clockwise, unless some of them are on the other side of +-pi. */
    if (!(contour * contour_area(radial, chi) > 0))
        return;
    for (int i = 0; i < 4; i++) {
        chi[i] += chi[i] < 0 ? 2 * AZINT_PI : 0;
        sum += chi[i];
    }
    for (int i = 0; sum > 4 * AZINT_PI && i < 4; i++)
        chi[i] -= 2 * AZINT_PI;
}

int hcy__azint_in_azimuth(const struct azint_grid *grid, double lo, double hi)
{
    for (int turn = -1; turn <= 1; turn++) {
        if (hi + turn * 2 * AZINT_PI >= grid->chi_min && lo + turn * 2 * AZINT_PI <= grid->chi_max)
            return 1;
    }
    return 0;
}

#define MOST 127u /* weights of a run */

size_t hcy__azint_run_bytes(struct azint_window window)
{
    size_t n = window.radial.n;

    return azint_cells(window) ? window.chi.n * ((n + MOST - 1) / MOST * 4 + n * 3) : 4;
}

static inline uint8_t *put(uint8_t *p, uint32_t x, int bytes)
{
    for (int b = 0; b < bytes; b++)
        *p++ = (uint8_t)(x >> 8 * b);
    return p;
}

/* A share as a weight: between those already given and 1. */
static inline uint32_t to_weight(double share, uint32_t least)
{
    double w = share * HCY_AZINT_ONE + 0.5;

    if (!(w > least))
        return least;
    return w < HCY_AZINT_ONE ? (uint32_t)w : HCY_AZINT_ONE;
}

uint8_t *hcy__azint_put_runs(uint8_t *p, struct azint_window window, size_t n_radial, const double *cum)
{
    size_t cells = azint_cells(window), cell = 0;
    uint32_t before = 0;

    if (!cells)
        return put(p, HCY_AZINT_NO_RUN, 4);
    for (uint32_t row = 0; row < window.chi.n; row++) {
        uint32_t first = (uint32_t)((window.chi.first + row) * n_radial) + window.radial.first;

        for (uint32_t k = 0; k < window.radial.n; k++, cell++) {
            uint32_t left = window.radial.n - k, n = left < MOST ? left : MOST;
            uint32_t so_far = cell + 1 == cells ? HCY_AZINT_ONE : to_weight(cum[cell], before);

            if (k % MOST == 0)
                p = put(p, (first + k) | n << 24 | (uint32_t)(cell + n < cells) << 31, 4);
            p = put(p, so_far - before, 3);
            before = so_far;
        }
    }
    return p;
}
