/* split.c - how a pixel is shared among bins, and how its runs are written.  Pure functions.
 *
 * Positions are counted in bins (0 is the lower edge of bin 0).  The rules are those of pyFAI's sparse
 * engines, but for what of a pixel lies outside the range: of an interval it is left out; of a polygon it is left out
 * with the rest scaled up, so that the shares of a pixel that has any add up to 1.
 */
#define SHARE_LOOPS_TEXT
#include "share_loops.h"

#include <math.h>
#include <string.h>

struct azint_span hcy__azint_span_interval(struct azint_interval *x, size_t n_bins, int open_low, int open_high)
{
    struct azint_span none = { 0, 0 }, span;
    double end = (double)n_bins;

    /* What lies beyond an end that is open counts in the bin at that end. */
    x->from = x->lo > 0 || open_low ? x->lo : 0;
    x->to = x->hi < end || open_high ? x->hi : end;
    /* A point on the lower edge is in; an interval that ends there has nothing in. */
    if (!(x->hi > 0 || x->lo >= 0) || !(x->lo < end) || !isfinite(x->hi - x->lo))
        return none;
    span.first = x->lo > 0 ? (uint32_t)x->lo : 0;
    /* The upper edge belongs to the bin above it, which is how conversion to an integer has it. */
    span.n = (uint32_t)(x->hi < end ? (size_t)x->hi : n_bins - 1) - span.first + 1;
    return span;
}

/* The share of an interval that is in the first k bins of its span. */
static double part(const struct azint_interval *x, struct azint_span span, uint32_t k)
{
    double edge = (double)span.first + k;

    /* The last bin ends where the pixel does, so that a whole pixel's shares end with exactly 1. */
    if (k == span.n)
        return x->from > x->lo || x->to < x->hi ? (x->to - x->from) / (x->hi - x->lo) : 1;
    return k ? (edge - x->from) / (x->hi - x->lo) : 0;
}

/* Of so few bins a loop is not worth the call of its best variant. */
static inline int are_few(size_t n)
{
    return n < 8;
}

void hcy__azint_shares_interval(double *cum, const struct azint_loops *loops, const struct azint_pixel *p,
                                struct azint_span span)
{
    const struct azint_interval *x = &p->radial;
    double inverse = 1.0 / (x->hi - x->lo);

    (are_few(span.n) ? cut_whole_bins : loops->cut_interval)(cum, span.first, span.n - 1, x->from, inverse);
    cum[span.n - 1] = part(x, span, span.n);
}

/* --- Polygons --- */

/* A corner, and an edge between two. */
struct corner {
    double x, y;
};
struct edge {
    struct corner from, to;
};
#define MOST_EDGES AZINT_MOST_CORNERS /* of a pixel; two triangles have as many */

static int crosses(struct corner *at, const struct edge *a, const struct edge *b)
{
    double ax = a->to.x - a->from.x, ay = a->to.y - a->from.y, bx = b->to.x - b->from.x, by = b->to.y - b->from.y;
    double dx = b->from.x - a->from.x, dy = b->from.y - a->from.y, d = ax * by - ay * bx;
    double t = (dx * by - dy * bx) / d, u = (dx * ay - dy * ax) / d;

    *at = (struct corner){ a->from.x + t * ax, a->from.y + t * ay };
    return t > 0 && t < 1 && u > 0 && u < 1;
}

/* A pixel's edges, how many.  Where its corners go round in an eight, as they do where all of a line across it has one
 * radial value and one azimuth, its halves would cancel: they become two triangles that go round alike. */
static int set_edges(struct edge out[MOST_EDGES], const struct azint_pixel *p, double x0, double y0)
{
    struct corner c[AZINT_MOST_CORNERS], at;

    for (unsigned i = 0; i < p->n; i++)
        c[i] = (struct corner){ p->bin[i] - x0, p->chi[i] - y0 };
    for (unsigned i = 0; i < p->n; i++)
        out[i] = (struct edge){ c[i], c[i + 1 < p->n ? i + 1 : 0] };
    /* Opposite edges are the only ones that can cross, of quadrilaterals. */
    for (int i = 0; i < 2 && p->through && p->n == 4; i++) {
        const struct corner *b = &c[i + 1], *d = &c[(i + 3) % 4];

        if (!crosses(&at, &out[i], &out[i + 2]))
            continue;
        const struct edge two[MOST_EDGES] = { { at, *b }, { *b, c[i + 2] }, { c[i + 2], at },
                                              { at, c[i] }, { c[i], *d }, { *d, at } };
        memcpy(out, two, sizeof two);
        return MOST_EDGES;
    }
    return (int)p->n;
}

/* To single precision where the pixel's corners are.  That is pyFAI's rule: chi may be 3 and a pixel's width in chi
 * 0.001, so that is felt in the fourth digit of a small share, and hot pixels would show it in the curve. */
static inline double to_corner_precision(double x, int is_double)
{
    return is_double ? x : (double)(float)x;
}

/* Adds the signed area under one edge of a pixel, bin by bin, to area[0 .. span.n). */
static void add_edge(double *area, const struct azint_loops *loops, struct azint_span span, const struct edge *edge,
                     int is_double)
{
    double x0 = edge->from.x, y0 = edge->from.y, x1 = edge->to.x, y1 = edge->to.y;
    double lo = x0 < x1 ? x0 : x1, hi = x0 < x1 ? x1 : x0, slope = (y1 - y0) / (x1 - x0), y = y0 - slope * x0;
    uint32_t end = span.first + span.n, b, whole;
    struct azint_slant slant = { 0.5 * slope, y };

    /* An edge along the bins' borders has no area under it, and no slope. */
    if (x0 == x1 || !(hi >= span.first) || !(lo < end))
        return;
    /* Right to left, areas have the other sign. */
    if (x0 > x1)
        slant = (struct azint_slant){ -slant.half, -slant.y };
    b = lo > span.first ? (uint32_t)lo : span.first;
    whole = hi < end ? (uint32_t)hi : end;
    for (; b < end && b <= hi; b++) {
        /* All but the first and the last bin are crossed from side to side. */
        if (lo <= b && b + 8 <= whole && !is_double) {
            loops->add_slant(area + (b - span.first), slant, b, whole - b);
            b = whole - 1;
            continue;
        }
        double left = lo > b ? lo : b, right = hi < b + 1.0 ? hi : b + 1.0;

        area[b - span.first] = to_corner_precision(
            area[b - span.first] + (right - left) * (slant.half * (right + left) + slant.y), is_double);
    }
}

/* The same of a pixel in few bins, as most are, in single precision: from border to border. */
static inline void add_short_edge(double *area, double first, double end, double x0, double y0, double x1, double y1)
{
    int forward = x0 < x1;
    double lo = forward ? x0 : x1, hi = forward ? x1 : x0;

    if (!(lo < hi) || !(hi >= first) || !(lo < end))
        return;
    double slope = (y1 - y0) / (x1 - x0), y = y0 - slope * x0, half = 0.5 * slope;
    double left = lo > first ? lo : first, bin = (double)(int32_t)left;

    half = forward ? half : -half;
    y = forward ? y : -y;
    for (area += (int32_t)(bin - first);; area++) {
        double border = bin + 1, right = hi < border ? hi : border;

        *area = (double)(float)(*area + (right - left) * (half * (right + left) + y));
        if (border > hi || border >= end)
            return;
        left = bin = border;
    }
}

/* Turns n areas into cumulated shares of their sum; where the sum is 0, each gets the same share. */
static void accumulate_shares(double *cum, const struct azint_loops *loops, size_t n)
{
    double sum = 0;

    for (size_t k = 0; k < n; k++)
        cum[k] = sum += cum[k];
    if (sum != 0)
        (are_few(n) ? divide_shares : loops->divide)(cum, n, sum);
    for (size_t k = 0; sum == 0 && k < n; k++)
        cum[k] = ((double)k + 1) / (double)n;
}

void hcy__azint_shares_polygon(double *cum, const struct azint_loops *loops, const struct azint_pixel *p,
                               struct azint_span span)
{
    struct edge edges[MOST_EDGES];

    for (uint32_t k = 0; k < span.n; k++)
        cum[k] = 0;
    if (!p->through && are_few(span.n)) {
        for (unsigned i = 0, next = 1; i < p->n; i++, next = next + 1 < p->n ? next + 1 : 0)
            add_short_edge(cum, span.first, span.first + (double)span.n, p->bin[i], p->chi[i], p->bin[next],
                           p->chi[next]);
    } else {
        int n = set_edges(edges, p, 0, p->through ? p->chi[0] : 0);

        for (int i = 0; i < n; i++)
            add_edge(cum, loops, span, &edges[i], p->through);
    }
    accumulate_shares(cum, loops, span.n);
}

/* --- Two dimensions --- */

void hcy__azint_shares_boxes(double *cum, const struct azint_pixel *p, struct azint_window w)
{
    double inside = part(&p->radial, w.radial, w.radial.n);

    for (uint32_t row = 0; row < w.chi.n; row++) {
        /* Cumulated over rows of bins: what lies below, and of this row what lies to the left. */
        double below = part(&p->azimuth, w.chi, row), share = part(&p->azimuth, w.chi, row + 1) - below;

        for (uint32_t k = 0; k < w.radial.n; k++)
            *cum++ = below * inside + share * part(&p->radial, w.radial, k + 1);
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
static void pile(double *cell, struct azint_window w, double width, double area, int is_double)
{
    double rest = fabs(area), sign = area < 0 ? -1 : 1;

    for (uint32_t row = 0; row < w.chi.n && rest > 0; row++, cell += w.radial.n) {
        /* A cell that is full passes the rest on to the one above. */
        double piece = width > rest ? rest : width;

        *cell = to_corner_precision(*cell + sign * piece, is_double);
        rest = to_corner_precision(rest - piece, is_double);
    }
}

/* The signed area under one edge, column by column in the edge's direction; coordinates from the window's corner. */
static void pile_edge(double *cells, struct azint_window w, const struct edge *edge, int is_double)
{
    double x0 = edge->from.x, y0 = edge->from.y, x1 = edge->to.x, y1 = edge->to.y;
    double lo = x0 < x1 ? x0 : x1, hi = x0 < x1 ? x1 : x0, slope, y;

    if (x0 == x1)
        return;
    slope = to_corner_precision((y1 - y0) / (x1 - x0), is_double);
    y = to_corner_precision(y1 - slope * x1, is_double);
    for (uint32_t b = (uint32_t)lo; b < w.radial.n && b < hi; b++) {
        double left = lo > b ? lo : b, right = hi < b + 1.0 ? hi : b + 1.0;
        double from = x0 < x1 ? left : right, to = x0 < x1 ? right : left;

        pile(cells + b, w, to_corner_precision(right - left, is_double),
             to_corner_precision((to - from) * (0.5 * slope * (to + from) + y), is_double), is_double);
    }
}

void hcy__azint_shares_area(double *cum, const struct azint_loops *loops, const struct azint_pixel *p,
                            struct azint_window w)
{
    struct edge edges[MOST_EDGES];
    size_t cells = azint_cells(w);
    int n = set_edges(edges, p, w.radial.first, w.chi.first);

    for (size_t k = 0; k < cells; k++)
        cum[k] = 0;
    for (int i = 0; i < n; i++)
        pile_edge(cum, w, &edges[i], p->through);
    accumulate_shares(cum, loops, cells);
}

/* Twice the area, of which the sign counts. */
static double contour_area(const double radial[4], const double chi[4])
{
    return (radial[2] - radial[0]) * (chi[3] - chi[1]) - (chi[2] - chi[0]) * (radial[3] - radial[1]);
}

void hcy__azint_recentre(struct azint_pixel *p, double contour)
{
    double *chi = p->chi, sum = 0, lo = chi[0], hi = chi[0];

    /* Without a contour a width of more than half a turn tells that the pixel lies across the line. */
    for (unsigned i = 1; i < p->n && !contour; i++) {
        lo = chi[i] < lo ? chi[i] : lo;
        hi = chi[i] > hi ? chi[i] : hi;
    }
    /* Corners in pyFAI's order go round clockwise, unless some of them are on the other side of +-pi. */
    if (contour ? !(contour * contour_area(p->bin, chi) > 0) : !(hi - lo > AZINT_PI))
        return;
    for (unsigned i = 0; i < p->n; i++) {
        chi[i] += chi[i] < 0 ? 2 * AZINT_PI : 0;
        sum += chi[i];
    }
    /* The side on which the pixel's mean lies is the one that it is counted on. */
    for (unsigned i = 0; sum > p->n * AZINT_PI && i < p->n; i++)
        chi[i] -= 2 * AZINT_PI;
}

int hcy__azint_in_azimuth(const struct azint_grid *grid, double lo, double hi)
{
    /* The grid's range and a recentred pixel may be a whole turn apart. */
    for (int turn = grid->is_straight ? 0 : -1; turn <= !grid->is_straight; turn++) {
        if (hi + turn * 2 * AZINT_PI >= grid->chi_min && lo + turn * 2 * AZINT_PI <= grid->chi_max)
            return 1;
    }
    return 0;
}

uint8_t *hcy__azint_put_no_run(uint8_t *p)
{
    put_word(p, HCY_AZINT_NO_RUN);
    return p + 4;
}

void hcy__azint_weigh(uint32_t *weights, const struct azint_loops *loops, struct azint_window window, const double *cum)
{
    size_t cells = azint_cells(window);
    uint32_t *so_far = weights + cells;
    int few = are_few(cells);
    /* Weights are differences of rounded sums: they add up to exactly 1, and the last takes what roundings left. */
    (few ? round_shares : loops->round)(so_far, cum, cells - !window.is_part);
    if (!window.is_part)
        so_far[cells - 1] = HCY_AZINT_ONE;
    if (!(few ? subtract_shares : loops->subtract)(weights, so_far, cells))
        return;
    /* Roundings, or parts of a polygon that go back, may leave a sum below the one before: it is lifted to that. */
    for (size_t k = 1; k < cells; k++)
        so_far[k] = so_far[k] < so_far[k - 1] ? so_far[k - 1] : so_far[k];
    (void)loops->subtract(weights, so_far, cells);
}

uint8_t *hcy__azint_put_runs(uint8_t *p, const struct azint_loops *loops, struct azint_window window, size_t n_radial,
                             const uint32_t *weights, int more)
{
    const uint32_t *end = weights + azint_cells(window);

    for (uint32_t row = 0; row < window.chi.n; row++) {
        uint32_t bin = (uint32_t)((window.chi.first + row) * n_radial) + window.radial.first;

        for (uint32_t left = window.radial.n, n; left; left -= n, bin += n) {
            n = left < AZINT_MOST_OF_RUN ? left : AZINT_MOST_OF_RUN;
            put_word(p, run_word(bin, n, weights + n < end || more));
            if (are_few(n))
                pack_weights(p + 4, weights, n);
            else
                loops->pack(p + 4, weights, n);
            p += 4 + 3 * n;
            weights += n;
        }
    }
    return p;
}
