/* calibrate_points.c - the maxima of rings: where in a frame they are.
 *
 * With a geometry that is nearly right each ring is a band of 2 theta.  It is cut into pieces around the beam, and in
 * each piece the middle of what stands above the background is found from all its pixels: every pixel has an angle of
 * its own, so a piece knows its maximum to a small part of a pixel. */
#include "calibrate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_PIECES = 12, MOST_PIECES = 180, STEPS = 6, LEAST_PIXELS = 16, BINS = 12 };
#define SURE 5.0 /* standard deviations above the background */

double ring_angle(double spacing, double wavelength)
{
    return 2 * asin(wavelength / (2 * spacing));
}

/* A piece of a ring. */
struct piece {
    size_t first, n; /* of its pixels in the list */
    double from, to; /* the band, 2 theta */
    size_t ring;
};

struct bands {
    double low[MOST_RINGS], high[MOST_RINGS];
    size_t n_pieces[MOST_RINGS], offset[MOST_RINGS + 1];
    size_t n;
};

size_t find_beam_pixel(const struct powder *p)
{
    size_t best = 0;
    double least = HUGE_VAL;
    for (size_t i = 0; i < p->height * p->width; i++)
        /* The first pixels of a detector's file may have no place: no angle is less than theirs. */
        if (p->angle[i] < least) {
            least = p->angle[i];
            best = i;
        }
    return best;
}

/* --- Bands --- */

/* A band a ring, as wide as is asked for but never into the next ring's; rings too near to one another have none. */
static void make_bands(struct bands *b, const struct powder *p, double wavelength, double reach, double piece,
                       double pixel)
{
    memset(b, 0, sizeof *b);
    b->n = p->n_spacings;
    for (size_t k = 0; k < b->n; k++) {
        double at = ring_angle(p->spacings[k], wavelength), half = reach * pixel;
        double before = k ? ring_angle(p->spacings[k - 1], wavelength) : 0;
        double after = k + 1 < b->n ? ring_angle(p->spacings[k + 1], wavelength) : HUGE_VAL;
        half = fmin(half, 0.45 * fmin(at - before, after - at));
        b->low[k] = at - half;
        b->high[k] = at + half;
        b->offset[k + 1] = b->offset[k];
        if (!(half >= 2.5 * pixel))
            continue;
        size_t pieces = (size_t)(2 * 3.14159265358979 * tan(fmin(at, 1.4)) / pixel / piece);
        if (pieces < LEAST_PIECES)
            pieces = LEAST_PIECES;
        b->n_pieces[k] = pieces < MOST_PIECES ? pieces : MOST_PIECES;
        b->offset[k + 1] += b->n_pieces[k];
    }
}

/* The ring whose band has this angle; n: none. */
static size_t band_of(const struct bands *b, double angle)
{
    size_t low = 0, high = b->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (b->high[middle] < angle)
            low = middle + 1;
        else
            high = middle;
    }
    return low < b->n && angle >= b->low[low] && b->n_pieces[low] ? low : b->n;
}

/* In which piece each pixel is: cell[height * width], -1 for none. */
static void cut_pieces(int *cell, const struct bands *b, const struct powder *p, const double beam[2])
{
    for (size_t i = 0; i < p->height * p->width; i++) {
        size_t k = isnan(p->counts[i]) ? b->n : band_of(b, p->angle[i]);
        cell[i] = -1;
        if (k == b->n)
            continue;
        double around = atan2((double)(i / p->width) - beam[0], ((double)(i % p->width) - beam[1]) * p->aspect);
        size_t at = (size_t)((around / 6.28318530717958648 + 0.5) * (double)b->n_pieces[k]);
        cell[i] = (int)(b->offset[k] + (at < b->n_pieces[k] ? at : b->n_pieces[k] - 1));
    }
}

/* Pixels in the order of their pieces. */
static void sort_pieces(struct piece *pieces, size_t *list, const int *cell, const struct bands *b, size_t n_pixels)
{
    size_t n = b->offset[b->n], first = 0;
    for (size_t i = 0; i < n_pixels; i++)
        if (cell[i] >= 0)
            pieces[cell[i]].n++;
    for (size_t k = 0; k < b->n; k++)
        for (size_t i = b->offset[k]; i < b->offset[k + 1]; i++) {
            pieces[i].from = b->low[k];
            pieces[i].to = b->high[k];
            pieces[i].ring = k;
        }
    for (size_t i = 0; i < n; i++) {
        pieces[i].first = first;
        first += pieces[i].n;
        pieces[i].n = 0;
    }
    for (size_t i = 0; i < n_pixels; i++)
        if (cell[i] >= 0)
            list[pieces[cell[i]].first + pieces[cell[i]].n++] = i;
}

/* --- One piece --- */

/* A straight line under the ring, from the outer pixels of the band, and their scatter around it. */
struct background {
    double level, slope, scatter;
};

static int fit_background(struct background *b, const struct powder *p, const size_t *list, const struct piece *piece,
                          double middle, double inner)
{
    double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    int below = 0, above = 0;
    for (size_t i = 0; i < piece->n; i++) {
        double t = p->angle[list[i]] - middle, v = p->counts[list[i]];
        if (fabs(t) < inner)
            continue;
        below += t < 0;
        above += t > 0;
        n++;
        x += t;
        y += v;
        xx += t * t;
        xy += t * v;
        yy += v * v;
    }
    /* Without pixels on both sides the line would lean on one. */
    if (below < 4 || above < 4 || !(n * xx - x * x > 0))
        return -1;
    b->slope = (n * xy - x * y) / (n * xx - x * x);
    b->level = (y - b->slope * x) / n;
    b->scatter = sqrt(fmax((yy - b->level * y - b->slope * xy) / (n - 2), 0));
    return 0;
}

/* The middle of the band's highest bin: where to begin. */
static double begin_at(const struct powder *p, const size_t *list, const struct piece *piece)
{
    double sum[BINS] = { 0 }, count[BINS] = { 0 }, best = -HUGE_VAL, width = (piece->to - piece->from) / BINS;
    int at = BINS / 2;
    for (size_t i = 0; i < piece->n; i++) {
        int k = (int)((p->angle[list[i]] - piece->from) / width);
        k = k < 0 ? 0 : k < BINS ? k : BINS - 1;
        sum[k] += p->counts[list[i]];
        count[k]++;
    }
    for (int k = 1; k + 1 < BINS; k++) {
        /* Three bins together: a single hot pixel is no ring. */
        double n = count[k - 1] + count[k] + count[k + 1];
        double mean = n > 0 ? (sum[k - 1] + sum[k] + sum[k + 1]) / n : -HUGE_VAL;
        if (mean > best) {
            best = mean;
            at = k;
        }
    }
    return piece->from + (at + 0.5) * width;
}

/* The 2 theta of the piece's maximum, and the mean place (row, column) of the pixels that make it.  0: it has one. */
static int find_maximum(double *angle, double place[2], const struct powder *p, const size_t *list,
                        const struct piece *piece)
{
    struct background b;
    double half = (piece->to - piece->from) / 2, core = 0.5 * half, at = begin_at(p, list, piece), signal = 0, n = 0;
    double left = 0, right = 0;
    if (piece->n < LEAST_PIXELS)
        return -1;
    /* The middle under a window that moves with it: where the ring is as heavy on both of its sides. */
    for (int step = 0; step < STEPS; step++) {
        double moment = 0, weight = 0;
        if (fit_background(&b, p, list, piece, at, core))
            return -1;
        signal = n = left = right = place[0] = place[1] = 0;
        for (size_t i = 0; i < piece->n; i++) {
            double t = p->angle[list[i]] - at, u = t / core;
            if (fabs(u) >= 1)
                continue;
            double above = p->counts[list[i]] - b.level - b.slope * t, w = (1 - u * u) * above;
            moment += w * t;
            weight += w;
            signal += above;
            n++;
            left += t < 0;
            right += t >= 0;
            place[0] += (double)(list[i] / p->width) + 0.5;
            place[1] += (double)(list[i] % p->width) + 0.5;
        }
        if (!(weight > 0))
            return -1;
        at += fmax(-core, fmin(core, 2 * moment / weight));
    }
    place[0] /= n;
    place[1] /= n;
    *angle = at;
    /* A maximum at the band's edge is another ring's flank, one that lies beside a gap has lost a side. */
    if (fabs(at - (piece->from + piece->to) / 2) > half - 0.4 * core || fmin(left, right) < 0.25 * n)
        return -1;
    return signal > SURE * fmax(b.scatter, 1e-30) * sqrt(n * (1 + n / (double)(piece->n - (size_t)n + 1))) ? 0 : -1;
}

/* --- All --- */

/* Moves places along the slope of 2 theta to where it is what was found: by differences, as pixels may run any way. */
static int settle_places(hcy_ring_point *points, double *angles, size_t n, const struct powder *p, const hcy_poni *poni)
{
    double *places = malloc(9 * n * sizeof *places + 1), *values = places + 6 * n;
    int status = places ? 0 : hcy_fail(HCY_ENOMEM, "no memory for %zu points", n);
    for (int step = 0; step < 2 && !status; step++) {
        for (size_t i = 0; i < 3 * n; i++) {
            places[2 * i] = points[i / 3].row + (i % 3 == 1 ? 0.5 : 0);
            places[2 * i + 1] = points[i / 3].column + (i % 3 == 2 ? 0.5 : 0);
        }
        status = hcy_poni_gradients(values, NULL, poni, p->height, p->width, "2th_rad", places, 3 * n);
        for (size_t i = 0; i < n && !status; i++) {
            double here = values[3 * i], down = 2 * (values[3 * i + 1] - here), along = 2 * (values[3 * i + 2] - here);
            double by = (angles[i] - here) / fmax(down * down + along * along, 1e-30);
            points[i].row += by * down;
            points[i].column += by * along;
        }
    }
    free(places);
    return status;
}

/* Leaves out points that have come to pixels without a place, which have no angle to be fitted. */
static int drop_lost(struct ring_points *found, const struct powder *p, const hcy_poni *poni)
{
    double *places = malloc(3 * found->n * sizeof *places + 1), *values = places + 2 * found->n;
    int status = places ? 0 : hcy_fail(HCY_ENOMEM, "no memory for %zu points", found->n);
    size_t n = found->n;
    for (size_t i = 0; i < n && !status; i++) {
        places[2 * i] = found->points[i].row;
        places[2 * i + 1] = found->points[i].column;
    }
    if (!status)
        status = hcy_poni_gradients(values, NULL, poni, p->height, p->width, "2th_rad", places, n);
    found->n = status ? n : 0;
    for (size_t i = 0; i < n && !status; i++) {
        if (isfinite(values[i]))
            found->points[found->n++] = found->points[i];
        for (size_t k = 0; k < p->n_spacings && !isfinite(values[i]); k++)
            found->found[k] -= p->spacings[k] == found->points[i].spacing;
    }
    free(places);
    return status;
}

/* The size of a pixel in 2 theta, near the beam. */
static double pixel_angle(const hcy_poni *poni)
{
    return fmin(poni->pixel1, poni->pixel2) / poni->dist;
}

static int take_points(struct ring_points *found, double *angles, const struct piece *pieces, const size_t *list,
                       const struct bands *b, const struct powder *p)
{
    for (size_t i = 0; i < b->offset[b->n]; i++) {
        double place[2];
        found->sought[pieces[i].ring] += pieces[i].n >= LEAST_PIXELS;
        if (find_maximum(&angles[found->n], place, p, list + pieces[i].first, &pieces[i]))
            continue;
        found->points[found->n++] = (hcy_ring_point){ place[0], place[1], p->spacings[pieces[i].ring] };
        found->found[pieces[i].ring]++;
    }
    return 0;
}

int find_ring_points(struct ring_points *found, struct powder *p, const hcy_poni *poni, double reach,
                     double piece)
{
    struct bands *b = malloc(sizeof *b);
    size_t n = p->height * p->width, *list = malloc(n * sizeof *list), all = 0;
    int *cell = malloc(n * sizeof *cell), status = b && list && cell ? 0 : -1;
    struct piece *pieces = NULL;
    double *angles = NULL;
    memset(found, 0, sizeof *found);
    if (!status)
        status = hcy_azint_map(p->angle, NULL, poni, p->height, p->width, "2th_rad", 1);
    if (!status) {
        size_t beam = find_beam_pixel(p);
        make_bands(b, p, poni->wavelength, reach, piece, pixel_angle(poni));
        all = b->offset[b->n];
        cut_pieces(cell, b, p, (const double[2]){ (double)(beam / p->width), (double)(beam % p->width) });
        pieces = calloc(all + 1, sizeof *pieces);
        angles = malloc((all + 1) * sizeof *angles);
        found->points = malloc((all + 1) * sizeof *found->points);
        status = pieces && angles && found->points ? 0 : -1;
    }
    if (!status) {
        sort_pieces(pieces, list, cell, b, n);
        take_points(found, angles, pieces, list, b, p);
        status = settle_places(found->points, angles, found->n, p, poni);
    }
    if (!status)
        status = drop_lost(found, p, poni);
    free(angles);
    free(pieces);
    free(cell);
    free(list);
    free(b);
    return status ? -1 : 0;
}
