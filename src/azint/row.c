/* row.c - one row of pixels in each of build.c's passes: where its pixels lie, what they are divided by, their runs.
 *
 * A row is one thread's; it reads the build and writes its own places in the tables, and its worker. */
#include "build.h"

#include <math.h>
#include <string.h>

/* The n corners of pixel j: four that rows share, or its own. */
static void load_corners(double *out, unsigned n, const double *upper, const double *lower, const double *own, size_t j)
{
    if (own) {
        memcpy(out, own + n * j, n * sizeof *out);
        return;
    }
    out[0] = upper[j];
    out[1] = lower[j];
    out[2] = lower[j + 1];
    out[3] = upper[j + 1];
}

/* pyFAI keeps corners, not centres, in single precision, and a share of a pixel that is a thousand times narrower
 * than its distance feels that; so does this. */
static void to_single(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)x[i];
}

/* Not so the quadrilateral of a pixel across which a component of q is 0: there its width in azimuth has
 * no digits left in single precision. */
int hcy__azint_keeps_double(const struct build *b)
{
    return b->scale.is_component && b->split == HCY_SPLIT_FULL;
}

/* The interval from the least to the largest of n numbers. */
static void extremes(struct azint_interval *out, const double *x, unsigned n)
{
    out->lo = out->hi = x[0];
    for (unsigned i = 1; i < n; i++) {
        out->lo = x[i] < out->lo ? x[i] : out->lo;
        out->hi = x[i] > out->hi ? x[i] : out->hi;
    }
}

/* Do pixels count by their outline alone?  Then their centres lie nowhere in particular. */
static int is_outlined(const struct build *b)
{
    return b->split == HCY_SPLIT_FULL || b->split == HCY_SPLIT_PSEUDO;
}

/* The box of a pixel: its centre, and to both sides as far as the farthest corner; pyFAI's rule.  Where the unit jumps
 * from one sign to the other within the pixel there is nothing between them that it could be shared among. */
static void set_box(struct azint_interval *out, double c, const double *corners, unsigned n,
                    const struct azint_scale *scale)
{
    double d = 0;

    for (unsigned i = 0; i < n; i++)
        d = fabs(corners[i] - c) > d ? fabs(corners[i] - c) : d;
    for (unsigned i = 1; i < n && scale->jumps; i++)
        d = (corners[i] < 0) != (corners[0] < 0) ? 0 : d;
    out->lo = c - d;
    out->hi = c + d;
}

/* Pixel j of the row at hand: its interval in the scale's values; corners for full splitting, chi if it
 * counts. */
static void load_radial(struct azint_pixel *p, const struct worker *w, size_t j)
{
    double c = is_outlined(w->b) ? 0 : w->centre.radial[j];

    p->n = w->b->g.own ? w->b->g.own : 4;
    if (w->b->split == HCY_SPLIT_NO) {
        p->radial.lo = p->radial.hi = c;
        return;
    }
    if (w->least) {
        p->radial = (struct azint_interval){ w->least[j], w->largest[j], 0, 0 };
        p->through = 0;
        return;
    }
    load_corners(p->bin, p->n, w->upper.radial, w->lower.radial, w->quads.radial, j);
    if (w->b->split == HCY_SPLIT_BBOX) {
        set_box(&p->radial, c, p->bin, p->n, &w->b->scale);
        return;
    }
    extremes(&p->radial, p->bin, p->n);
    /* Only a component of q can change its sign within a pixel. */
    p->through = hcy__azint_keeps_double(w->b) && p->radial.lo < 0 && p->radial.hi > 0;
    if (hcy__azint_keeps_double(w->b) && !p->through)
        to_single(p->bin, p->n);
}

/* The extent of each outline of a row of pixels that share corners, as extremes() has it; many at a time. */
static void find_extents(struct worker *w)
{
    const double *restrict upper = w->upper.radial, *restrict lower = w->lower.radial;
    double *restrict least = w->least, *restrict largest = w->largest;

    for (size_t j = 0; j < w->b->g.width; j++) {
        double a = upper[j], b = lower[j], c = lower[j + 1], d = upper[j + 1], lo = a, hi = a;

        lo = b < lo ? b : lo;
        hi = b > hi ? b : hi;
        lo = c < lo ? c : lo;
        hi = c > hi ? c : hi;
        least[j] = d < lo ? d : lo;
        largest[j] = d > hi ? d : hi;
    }
}

static void load_chi(struct azint_pixel *p, const struct worker *w, size_t j)
{
    load_corners(p->chi, p->n, w->upper.chi, w->lower.chi, w->quads.chi, j);
    if (hcy__azint_keeps_double(w->b) && !p->through)
        to_single(p->chi, p->n);
}

/* The pixel's interval in azimuth.  Corners are recentred already, or not to be. */
static void set_chi(struct azint_pixel *p, const struct worker *w, size_t j)
{
    double c, farthest = 0;

    if (is_outlined(w->b)) {
        extremes(&p->azimuth, p->chi, p->n);
        return;
    }
    c = w->centre.chi[j];
    if (w->b->grid.is_straight) {
        set_box(&p->azimuth, c, p->chi, w->b->split == HCY_SPLIT_BBOX ? p->n : 0, &w->b->azimuth);
        return;
    }
    for (unsigned i = 0; w->b->split == HCY_SPLIT_BBOX && i < p->n; i++) {
        double d = fabs(p->chi[i] - c);

        /* The shorter way round: a pixel at +-pi is not a whole turn wide. */
        d = d < 2 * AZINT_PI - d ? d : 2 * AZINT_PI - d;
        farthest = d > farthest ? d : farthest;
    }
    p->azimuth.lo = c - farthest;
    p->azimuth.hi = c + farthest;
}

/* A box about the corners' mean in the place of the outline, as large and in the proportions of its extent. */
static void shrink_to_area(struct azint_pixel *p)
{
    struct azint_interval *r = &p->radial, *c = &p->azimuth;
    double area = 0, radial = 0, chi = 0, extent = (r->hi - r->lo) * (c->hi - c->lo);

    for (unsigned i = 0; i < p->n; i++) {
        unsigned next = i + 1 < p->n ? i + 1 : 0;

        /* From a corner, not from 0: what is far away would cancel. */
        area += 0.5 * ((p->bin[i] - p->bin[0]) * (p->chi[next] - p->chi[0]) -
                       (p->bin[next] - p->bin[0]) * (p->chi[i] - p->chi[0]));
        radial += p->bin[i] / p->n;
        chi += p->chi[i] / p->n;
    }
    double side = extent > 0 ? 0.5 * sqrt(fabs(area) / extent) : 0, width = side * (r->hi - r->lo),
           height = side * (c->hi - c->lo);

    *r = (struct azint_interval){ radial - width, radial + width, 0, 0 };
    *c = (struct azint_interval){ chi - height, chi + height, 0, 0 };
}

static void turn_pixel(struct azint_pixel *p, int turns)
{
    p->azimuth.lo += turns * 2 * AZINT_PI;
    p->azimuth.hi += turns * 2 * AZINT_PI;
    for (unsigned i = 0; i < p->n; i++)
        p->chi[i] += turns * 2 * AZINT_PI;
}

static double clip_to_range(double x, double lo, double hi)
{
    if (x < lo)
        return lo;
    return x > hi ? hi : x;
}

/* A polygon on both axes: what is outside the bins is folded onto their edge. */
static struct azint_window place_area(struct azint_pixel *p, const struct azint_grid *grid)
{
    struct azint_window window = { .is_part = 0 };
    struct azint_interval *r = &p->radial, *c = &p->azimuth;

    /* Pixels beyond the bins are left out before they are folded onto the edge, where they would count. */
    if (!(r->hi > grid->min) || !(r->lo < grid->max) || !(c->hi > grid->chi_min) || !(c->lo < grid->chi_max) ||
        !isfinite(r->hi - r->lo))
        return window;
    /* An end that is 0 has no room above it, and the quotient may then be a rounding above the number of bins. */
    for (unsigned i = 0; i < p->n; i++) {
        p->bin[i] = clip_to_range((clip_to_range(p->bin[i], grid->min, grid->max) - grid->min) / grid->delta, 0,
                                  (double)grid->n_bins);
        p->chi[i] = clip_to_range((clip_to_range(p->chi[i], grid->chi_min, grid->chi_max) - grid->chi_min) /
                                      grid->chi_delta, 0, (double)grid->n_azim);
    }
    /* The folded polygon's extent, and not the pixel's, tells which bins it has area in. */
    extremes(r, p->bin, p->n);
    extremes(c, p->chi, p->n);
    window.radial = hcy__azint_span_box(r->lo, r->hi);
    window.chi = hcy__azint_span_box(c->lo, c->hi);
    return window;
}

static void to_bins(struct azint_interval *x, double min, double delta)
{
    x->lo = (x->lo - min) / delta;
    x->hi = (x->hi - min) / delta;
}

static struct azint_window place_boxes(struct azint_pixel *p, const struct azint_grid *grid)
{
    struct azint_window window;
    struct azint_interval *r = &p->radial, *c = &p->azimuth;
    int open = !grid->is_sector;

    to_bins(r, grid->min, grid->delta);
    to_bins(c, grid->chi_min, grid->chi_delta);
    window.radial = hcy__azint_span_interval(r, grid->n_bins, grid->open, 0);
    window.chi = hcy__azint_span_interval(c, grid->n_azim, open, open);
    window.is_part = r->from > r->lo || r->to < r->hi || c->from > c->lo || c->to < c->hi;
    return window;
}

static struct azint_window place_line(struct azint_pixel *p, const struct build *b)
{
    struct azint_window window = { { 0, 0 }, { 0, 1 }, 0 };
    struct azint_interval *r = &p->radial;

    to_bins(r, b->grid.min, b->grid.delta);
    if (b->split == HCY_SPLIT_FULL) {
        window.radial = azint_span_polygon(r->lo, r->hi, b->grid.n_bins);
    } else {
        window.radial = hcy__azint_span_interval(r, b->grid.n_bins, b->grid.open, 0);
        window.is_part = r->from > r->lo || r->to < r->hi;
    }
    return window;
}

/* In two dimensions azimuth is known but for whole turns: a polygon is taken where most of it is in the
 * range. */
static unsigned place_turned(struct place at[2], const struct build *b)
{
    const struct azint_grid *grid = &b->grid;
    const struct azint_pixel p = at[0].p;
    double lo = p.azimuth.lo, hi = p.azimuth.hi, most = 0;
    unsigned n = 0;
    int best = 0;

    if (grid->is_straight) {
        at[0].window = place_boxes(&at[0].p, grid);
        return azint_cells(at[0].window) > 0;
    }
    /* Azimuth runs from -pi to 3 pi: ranges and recentred corners both may lie up to a turn above +pi. */
    for (int turns = -1; turns <= 2 && grid->check_chi; turns++) {
        double first = lo + turns * 2 * AZINT_PI, last = hi + turns * 2 * AZINT_PI, centre = 0.5 * (first + last);
        double overlap = fmin(last, grid->chi_max) - fmax(first, grid->chi_min);

        /* A box is taken where its centre is in the range, a polygon where most of it is. */
        if (b->split == HCY_SPLIT_FULL ? overlap > most : centre >= grid->chi_min && centre < grid->chi_end) {
            most = overlap;
            best = turns;
        }
        /* Only a sector has an outside from which a box can reach in at either end. */
        if (b->split == HCY_SPLIT_FULL || !grid->is_sector || last < grid->chi_min || n == 2)
            continue;
        at[n].p = p;
        turn_pixel(&at[n].p, turns);
        at[n].window = place_boxes(&at[n].p, grid);
        n += azint_cells(at[n].window) > 0;
    }
    /* The parts of a box that lie in the sector are all placed by now. */
    if (b->split != HCY_SPLIT_FULL && grid->is_sector)
        return n;
    turn_pixel(&at[0].p, best);
    at[0].window = b->split == HCY_SPLIT_FULL ? place_area(&at[0].p, grid) : place_boxes(&at[0].p, grid);
    return azint_cells(at[0].window) > 0;
}

/* Pixel j of row i in bins, in how many parts; `shape` asks for the corners' azimuth too. */
static unsigned find_windows(struct place at[2], const struct worker *w, size_t i, size_t j, int shape)
{
    const struct build *b = w->b;
    const struct azint_grid *grid = &b->grid;
    struct azint_pixel *p = &at[0].p;
    int use_chi = grid->check_chi || grid->n_azim || b->split == HCY_SPLIT_PSEUDO;

    /* A pixel without a positive norm cannot be divided by it: it counts as masked. */
    if (b->mask[i * b->g.width + j] || !(b->norms[i * b->g.width + j] > 0))
        return 0;
    load_radial(p, w, j);
    if (b->split != HCY_SPLIT_NO && (shape || use_chi))
        load_chi(p, w, j);
    if (w->least && (shape || use_chi))
        load_corners(p->bin, p->n, w->upper.radial, w->lower.radial, NULL, j);
    /* Where a component of q is 0 across the pixel the contour's direction says nothing of the +-pi line. */
    if (is_outlined(b) && (shape || use_chi))
        hcy__azint_recentre(p, hcy__azint_keeps_double(b) ? 0 : b->g.contour);
    if (use_chi)
        set_chi(p, w, j);
    /* In one dimension azimuth only decides whether the pixel counts, as a whole. */
    if (!grid->n_azim && grid->check_chi && !hcy__azint_in_azimuth(grid, p->azimuth.lo, p->azimuth.hi))
        return 0;
    if (b->split == HCY_SPLIT_PSEUDO)
        shrink_to_area(p);
    if (grid->n_azim)
        return place_turned(at, b);
    at[0].window = place_line(p, b);
    return azint_cells(at[0].window) > 0;
}

/* The same of a polygon whose bins are known from the pass before. */
static unsigned take_span(struct place *at, const struct worker *w, size_t i, size_t j)
{
    const struct build *b = w->b;
    uint32_t span = b->spans[i * b->g.width + j];

    if (!span)
        return 0;
    at->window = (struct azint_window){ { span & 0xffffff, span >> 24 }, { 0, 1 }, 0 };
    /* A bin that has all of a pixel has it wherever its corners lie. */
    if (span >> 24 == 1)
        return 1;
    /* Spans are kept only where rows share corners, so there are four. */
    at->p.n = 4;
    load_corners(at->p.bin, 4, w->upper.radial, w->lower.radial, NULL, j);
    load_corners(at->p.chi, 4, w->upper.chi, w->lower.chi, NULL, j);
    hcy__azint_recentre(&at->p, b->g.contour);
    at->p.through = 0;
    return 1;
}

static void range_row(struct worker *w, size_t i)
{
    const struct build *b = w->b;
    struct azint_pixel p;

    for (size_t j = 0; j < b->g.width; j++) {
        if (b->mask[i * b->g.width + j])
            continue;
        if (w->least && !b->grid.n_azim)
            p.radial = (struct azint_interval){ w->least[j], w->largest[j], 0, 0 };
        else
            load_radial(&p, w, j);
        /* d-spacings are infinite at the beam's centre: such a pixel has no bin, and must not set the
         * range. */
        if (!isfinite(p.radial.lo) || !isfinite(p.radial.hi))
            continue;
        w->min = p.radial.lo < w->min ? p.radial.lo : w->min;
        w->max = p.radial.hi > w->max ? p.radial.hi : w->max;
        /* Azimuth has bins in two dimensions alone. */
        if (!b->grid.n_azim)
            continue;
        if (b->split != HCY_SPLIT_NO)
            load_chi(&p, w, j);
        set_chi(&p, w, j);
        w->chi_min = p.azimuth.lo < w->chi_min ? p.azimuth.lo : w->chi_min;
        w->chi_max = p.azimuth.hi > w->chi_max ? p.azimuth.hi : w->chi_max;
    }
}

/* Takes note of a pixel with weights, and of the bins it has in one window. */
static inline void note_norm(struct worker *w, double norm)
{
    w->least_norm = norm < w->least_norm ? norm : w->least_norm;
    w->most_norm = norm > w->most_norm ? norm : w->most_norm;
}
static inline void note_cells(struct worker *w, size_t cells)
{
    w->n_weights += cells;
    w->most = cells > w->most ? cells : w->most;
}

static uint64_t size_windows(struct worker *w, size_t i)
{
    struct build *b = w->b;
    struct place at[2];
    uint64_t bytes = 0;

    for (size_t j = 0; j < b->g.width; j++) {
        unsigned n = find_windows(at, w, i, j, 0);

        if (b->spans)
            b->spans[i * b->g.width + j] = n ? at->window.radial.first | at->window.radial.n << 24 : 0;
        /* A pixel without weight still has a word, so that pixels can be counted along the runs. */
        bytes += n ? 0 : sizeof(uint32_t);
        if (n)
            note_norm(w, b->norms[i * b->g.width + j]);
        for (unsigned k = 0; k < n; k++) {
            bytes += azint_run_bytes(at[k].window);
            note_cells(w, azint_cells(at[k].window));
        }
    }
    return bytes;
}

/* The same of outlines in one dimension whose azimuth does not matter: how far they reach is all. */
static uint64_t size_outlines(struct worker *w, size_t i)
{
    const struct build *b = w->b;
    const size_t width = b->g.width;
    const uint8_t *mask = b->mask + i * width;
    const float *norms = b->norms + i * width;
    const double min = b->grid.min, delta = b->grid.delta;
    uint64_t bytes = 0;

    for (size_t j = 0; j < width; j++) {
        struct azint_window window = { { 0, 0 }, { 0, 1 }, 0 };

        if (!mask[j] && norms[j] > 0)
            window.radial = azint_span_polygon((w->least[j] - min) / delta, (w->largest[j] - min) / delta,
                                               b->grid.n_bins);
        b->spans[i * width + j] = window.radial.n ? window.radial.first | window.radial.n << 24 : 0;
        if (!window.radial.n) {
            bytes += sizeof(uint32_t);
            continue;
        }
        note_norm(w, norms[j]);
        note_cells(w, window.radial.n);
        bytes += azint_run_bytes(window);
    }
    return bytes;
}

static void size_row(struct worker *w, size_t i, int masked)
{
    struct build *b = w->b;

    /* Norms first: whether a pixel has any decides whether it has runs. */
    hcy__azint_norm_row(w, i);
    if (masked)
        b->row_bytes[i] = b->g.width * sizeof(uint32_t);
    else
        b->row_bytes[i] = b->spans && w->least && !b->grid.check_chi ? size_outlines(w, i) : size_windows(w, i);
}

/* A row without weights: its pixels have HCY_AZINT_NO_RUN, which is 0. */
static void write_masked_row(struct build *b, size_t i)
{
    size_t at = i * b->g.width;
    uint8_t *start = b->runs + b->row_bytes[i];

    memset(start, 0, b->g.width * sizeof(uint32_t));
    for (size_t j = 0; j < b->g.width; j++)
        if ((at + j) % HCY_AZINT_START_EVERY == 0)
            b->starts[(at + j) / HCY_AZINT_START_EVERY] = (uint64_t)(start - b->runs) + j * sizeof(uint32_t);
}

static void hash_row(struct build *b, size_t i)
{
    const uint8_t *start = b->runs + b->row_bytes[i], *end = b->runs + b->row_bytes[i + 1];

    hcy__azint_hash(&b->row_hash[i], start, (size_t)(end - start));
    hcy__azint_hash(&b->row_hash[i], b->norms + i * b->g.width, b->g.width * sizeof(float));
}

/* The runs of pixel j of row i, by itself. */
static uint8_t *write_pixel(uint8_t *p, struct worker *w, size_t i, size_t j)
{
    const struct build *b = w->b;
    struct place parts[2];
    unsigned n = b->spans ? take_span(parts, w, i, j) : find_windows(parts, w, i, j, 1);

    if (!n)
        return hcy__azint_put_no_run(p);
    for (unsigned k = 0; k < n; k++)
        p = hcy__azint_write_window(p, w, &parts[k], b->norms[i * b->g.width + j], k + 1 < n);
    return p;
}

/* Weights of the row's outlines in two or three bins, many at a time, to w->shares; 0: this build or plan has none. */
static int share_outlines(struct worker *w, size_t i)
{
    const struct build *b = w->b;
    struct azint_outlines outlines = { w->upper.radial, w->lower.radial, w->upper.chi, w->lower.chi, NULL,
                                       b->grid.min, b->grid.delta, b->g.contour };

    if (!b->spans || !w->shares || b->unweighted || !b->loops->share_outlines)
        return 0;
    outlines.spans = b->spans + i * b->g.width;
    b->loops->share_outlines(w->shares, w->shares + b->g.width, &outlines, b->g.width);
    return 1;
}

static void write_row(struct worker *w, size_t i)
{
    struct build *b = w->b;
    size_t width = b->g.width, at = i * width;
    uint8_t *p = b->runs + b->row_bytes[i];
    const uint32_t *one = share_outlines(w, i) ? w->shares : NULL;

    for (size_t j = 0; j < width; j++) {
        uint32_t span = one ? b->spans[at + j] : 0, n = span >> 24;
        uint8_t *before = p;

        /* Segments are counted over the image, not over the row, so a row may begin in the middle of one. */
        if ((at + j) % HCY_AZINT_START_EVERY == 0)
            b->starts[(at + j) / HCY_AZINT_START_EVERY] = (uint64_t)(p - b->runs);
        if ((n == 2 || n == 3) && one[j] != AZINT_ALONE)
            p = hcy__azint_write_few(p, w, (struct azint_span){ span & 0xffffff, n }, &one[j], b->norms[at + j], 0);
        else
            p = write_pixel(p, w, i, j);
        /* Those that do not count may have any variance. */
        if (w->extra && azint_run_at(before).n)
            hcy__azint_add_extra(w->extra, b, before, p, at + j);
    }
}

static void narrow_corners(struct azint_row *row, const struct build *b, size_t n, int want_chi)
{
    if (hcy__azint_keeps_double(b))
        return;
    to_single(row->radial, n);
    if (want_chi)
        to_single(row->chi, n);
}

/* Is no pixel of row i left by the mask?  Then nobody asks for its corners. */
static int is_masked_row(const struct build *b, size_t i)
{
    const uint8_t *mask = b->mask + i * b->g.width;
    size_t j = 0;

    while (j < b->g.width && mask[j])
        j++;
    return j == b->g.width;
}

/* Row i of the corners that rows of pixels share.  Of two threads that meet at a row only the one with the pixels
 * above it, if these are not all masked, keeps it (`to_keep`). */
static void eval_corners(struct azint_row *row, const struct build *b, size_t i, int pass, int to_keep, int want_chi)
{
    size_t n = b->g.width + 1;
    float *kept = b->kept ? b->kept + i * n : NULL;
    int is_kept = kept && pass != b->first_pass;

    int single = want_chi && !b->g.azimuth && !hcy__azint_keeps_double(b);

    if (!is_kept || want_chi)
        hcy__azint_row_eval(row, &b->g, is_kept ? NULL : &b->scale, b->g.corner1[i], b->g.corner2, n,
                            want_chi && !single);
    if (single)
        b->loops->azimuths(row->chi, row->y, row->x, n);
    for (size_t j = 0; is_kept && j < n; j++)
        row->radial[j] = kept[j];
    narrow_corners(row, b, n, want_chi && !single);
    for (size_t j = 0; kept && !is_kept && to_keep && j < n; j++)
        kept[j] = (float)row->radial[j];
}

/* Makes the corners above and below row i of pixels the worker's, or the pixels' own corners. */
static void next_corners(struct worker *w, size_t i, int want_chi)
{
    const struct build *b = w->b;
    struct azint_row old = w->upper;

    if (b->g.own) {
        hcy__azint_quads_eval(&w->quads, &b->g, &b->scale, i, want_chi);
        narrow_corners(&w->quads, b, b->g.own * b->g.width, want_chi);
        return;
    }
    /* Mostly the row above was this thread's too, and its lower corners are this one's upper ones. */
    if (w->lower_at != i) {
        eval_corners(&w->upper, b, i, w->pass, !i || is_masked_row(b, i - 1), want_chi);
    } else {
        w->upper = w->lower;
        w->lower = old;
    }
    eval_corners(&w->lower, b, i + 1, w->pass, 1, want_chi);
    w->lower_at = i + 1;
}

void hcy__azint_do_row(struct worker *w, size_t i)
{
    const struct build *b = w->b;
    int corners = b->split != HCY_SPLIT_NO, full = is_outlined(b), two = b->grid.n_azim > 0,
        check = b->grid.check_chi || two;
    /* Which points a pass needs, and whether in azimuth. */
    int want_chi = w->pass == PASS_RANGE ? two : check;
    if (full && (w->pass == PASS_WRITE || (b->split == HCY_SPLIT_PSEUDO && w->pass == PASS_SIZE)))
        want_chi = 1;
    const struct azint_scale *scale = full ? NULL : &b->scale;
    int masked = is_masked_row(b, i);

    if (masked && w->pass == PASS_RANGE)
        return;
    /* Where no pixel counts nobody looks at where they lie; the norms are parts of the tables all the same. */
    if (masked) {
        corners = check = 0;
        scale = NULL;
    }
    if (corners || (w->pass == PASS_SIZE && b->g.own && !b->g.is_flat)) /* the second: for their solid angle */
        next_corners(w, i, want_chi);
    if (w->least && corners && !(b->spans && w->pass == PASS_WRITE))
        find_extents(w);
    /* Outlines need centres for the norms alone. */
    if (w->pass == PASS_SIZE || !(full || masked))
        hcy__azint_centres_eval(&w->centre, &b->g, scale, i, check && !full);
    if (w->pass == PASS_RANGE)
        range_row(w, i);
    else if (w->pass == PASS_SIZE)
        size_row(w, i, masked);
    else if (masked)
        write_masked_row(w->b, i);
    else
        write_row(w, i);
    /* The row's bytes are complete and still in the cache. */
    if (w->pass == PASS_WRITE)
        hash_row(w->b, i);
}
