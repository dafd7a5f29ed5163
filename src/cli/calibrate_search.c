/* calibrate_search.c - a geometry from rings alone.
 *
 * 1. A small image in which rings of any strength stand out alike.
 * 2. The centre: normals of rings meet there, so each slope of the small image votes along its line.
 * 3. Centre and tilt, where the radial pattern is sharpest.  A tilted detector has its rings at the radius
 *    |d| / (1 + k d) from the beam, to the first order in the tilt, whatever the distance.
 * 4. The distances at which the calibrant's rings are like those of the pattern.
 * 5. All of it at once, where the calibrant's rings are most like the small image; now the tilt is exact.
 * 6. Centre, tilt and distance as a PONI, by a fit to places on these rings. */
#include "calibrate_pattern.h"
#include <stdlib.h>
#include <string.h>

enum { FINE_SIDE = 420, COARSE_SIDE = 210, NEAR = 7, CELL = 3, AROUND = 36, CLIP = 4, DISTANCES = 4 };
#define LIKE 0.05      /* the least correlation that counts as rings */
#define CLEAR 0.3      /* a correlation that leaves no wish */
#define PI 3.14159265358979323846

/* A frame made small: each pixel is the mean of step x step ones, less what is near, over its scatter. */
struct thumbnail {
    size_t height, width, step;
    double aspect;
    float *value; /* NAN: nothing there */
    const double *tangents; /* of 2 theta of the rings that are sought */
    size_t n_tangents;
};

/* Where rings are: the beam in the small image's pixels, the tilt over the distance, 1 / pixels, and that, pixels, once
 * it is known. */
enum { ROW, COLUMN, TILT1, TILT2, DISTANCE, CONE };

/* --- The small image --- */

static void shrink(struct thumbnail *t, const struct powder *p)
{
    for (size_t i = 0; i < t->height * t->width; i++) {
        size_t row = i / t->width * t->step, column = i % t->width * t->step, n = 0;
        double sum = 0;
        for (size_t y = row; y < row + t->step; y++)
            for (size_t x = column; x < column + t->step; x++) {
                float v = p->counts[y * p->width + x];
                sum += isnan(v) ? 0 : v;
                n += !isnan(v);
            }
        /* Roots make the noise of counts alike everywhere. */
        double mean = sum / (double)n;
        t->value[i] = 2 * n >= t->step * t->step ? (float)copysign(sqrt(fabs(mean)), mean) : NAN;
    }
}

/* Takes off the mean of the neighbourhood and divides by its scatter, from sums over all pixels above and left. */
static int stand_out(struct thumbnail *t)
{
    size_t h = t->height, w = t->width, stride = w + 1;
    double *sums = calloc(3 * (h + 1) * stride, sizeof *sums), *n = sums, *x = n + (h + 1) * stride,
           *xx = x + (h + 1) * stride;
    if (!sums)
        return -1;
    for (size_t i = 0; i < h; i++)
        for (size_t j = 0; j < w; j++) {
            double v = t->value[i * w + j], is = !isnan(v);
            size_t at = (i + 1) * stride + j + 1;
            v = is > 0 ? v : 0;
            n[at] = is + n[at - 1] + n[at - stride] - n[at - stride - 1];
            x[at] = v + x[at - 1] + x[at - stride] - x[at - stride - 1];
            xx[at] = v * v + xx[at - 1] + xx[at - stride] - xx[at - stride - 1];
        }
    for (size_t i = 0; i < h; i++)
        for (size_t j = 0; j < w; j++) {
            size_t top = i > NEAR ? i - NEAR : 0, left = j > NEAR ? j - NEAR : 0;
            size_t bottom = i + NEAR < h ? i + NEAR + 1 : h, right = j + NEAR < w ? j + NEAR + 1 : w;
            size_t a = bottom * stride + right, b = top * stride + right, c = bottom * stride + left,
                   d = top * stride + left;
            double count = n[a] - n[b] - n[c] + n[d], mean = (x[a] - x[b] - x[c] + x[d]) / count;
            double scatter = sqrt(fmax((xx[a] - xx[b] - xx[c] + xx[d]) / count - mean * mean, 1e-12));
            double z = (t->value[i * w + j] - mean) / scatter;
            /* Hot pixels and spots are no more than a good ring is. */
            t->value[i * w + j] = (float)(isnan(z) ? z : fmax(-CLIP, fmin(CLIP, z)));
        }
    free(sums);
    return 0;
}

static int make_thumbnail(struct thumbnail *t, const struct powder *p, size_t side)
{
    size_t longest = p->height > p->width ? p->height : p->width;
    t->step = (longest + side - 1) / side;
    t->height = p->height / t->step;
    t->width = p->width / t->step;
    t->aspect = p->aspect;
    if (t->height < 2 * NEAR || t->width < 2 * NEAR || !(t->value = malloc(t->height * t->width * sizeof *t->value)))
        return -1;
    shrink(t, p);
    return stand_out(t);
}

/* --- The centre --- */

static double smooth_at(const struct thumbnail *t, size_t i, size_t j)
{
    double sum = 0;
    for (size_t y = i - 1; y <= i + 1; y++)
        for (size_t x = j - 1; x <= j + 1; x++)
            sum += t->value[y * t->width + x];
    return sum;
}

/* Every slope votes for the cells along its line, in the image and as far again around it. */
static void vote_line(float *votes, size_t rows, size_t columns, const double from[2], const double along[2],
                      double weight)
{
    double reach = 1 / fmax(fabs(along[0]), fabs(along[1]));
    int steps = (int)(rows + columns);
    for (int k = -steps; k <= steps; k++) {
        double y = from[0] + k * reach * along[0], x = from[1] + k * reach * along[1];
        if (y >= 0 && x >= 0 && y < (double)rows && x < (double)columns)
            votes[(size_t)y * columns + (size_t)x] += (float)weight;
    }
}

/* The cell with most votes, itself and its neighbours. */
static size_t most_voted(const float *votes, size_t rows, size_t columns)
{
    size_t best = columns + 1;
    double most = -1;
    for (size_t i = 1; i + 1 < rows; i++)
        for (size_t j = 1; j + 1 < columns; j++) {
            double sum = 0;
            for (size_t k = 0; k < 9; k++)
                sum += votes[(i + k / 3 - 1) * columns + j + k % 3 - 1];
            if (sum > most) {
                most = sum;
                best = i * columns + j;
            }
        }
    return best;
}

static int vote_centre(double cone[CONE], const struct thumbnail *t)
{
    size_t rows = 3 * t->height / CELL, columns = (size_t)(3 * (double)t->width * t->aspect) / CELL;
    float *votes = calloc(rows * columns + 1, sizeof *votes);
    if (!votes)
        return -1;
    for (size_t i = 2; i + 2 < t->height; i++)
        for (size_t j = 2; j + 2 < t->width; j++) {
            double down = smooth_at(t, i + 1, j) - smooth_at(t, i - 1, j);
            double right = (smooth_at(t, i, j + 1) - smooth_at(t, i, j - 1)) / t->aspect;
            double slope = hypot(down, right);
            /* Weak slopes are noise and point anywhere; NAN is beside a gap. */
            if (!(slope > 6))
                continue;
            double from[2] = { ((double)(i + t->height) + 0.5) / CELL,
                               ((double)(j + t->width) + 0.5) * t->aspect / CELL };
            vote_line(votes, rows, columns, from, (const double[2]){ down / slope, right / slope }, slope);
        }
    size_t best = most_voted(votes, rows, columns);
    cone[ROW] = ((double)(best / columns) + 0.5) * CELL - (double)t->height;
    cone[COLUMN] = ((double)(best % columns) + 0.5) * CELL / t->aspect - (double)t->width;
    free(votes);
    return 0;
}

/* --- Sharpness --- */

/* The radius of a place (row, column) on the cone, in rows; negative: behind it. */
static double radius_on(const double cone[CONE], double aspect, double row, double column)
{
    double y = row - cone[ROW], x = (column - cone[COLUMN]) * aspect;
    return sqrt(y * y + x * x) / (1 + cone[TILT1] * y + cone[TILT2] * x);
}

/* How much of the small image is rings of this cone, with bins of a width: what their means explain. */
static double sharpness(const struct thumbnail *t, const double cone[CONE], double bin)
{
    static double sum[MOST_BINS];
    static unsigned count[MOST_BINS];
    double sharp = 0;
    memset(sum, 0, sizeof sum);
    memset(count, 0, sizeof count);
    for (size_t i = 0; i < t->height; i++)
        for (size_t j = 0; j < t->width; j++) {
            float v = t->value[i * t->width + j];
            double r = radius_on(cone, t->aspect, (double)i + 0.5, (double)j + 0.5) / bin;
            if (isnan(v) || !(r >= 0 && r < MOST_BINS))
                continue;
            sum[(size_t)r] += v;
            count[(size_t)r]++;
        }
    /* A mean of noise explains one pixel's worth, which is taken off, or many small bins would win. */
    for (int k = 0; k < MOST_BINS; k++)
        if (count[k] > 4)
            sharp += sum[k] * sum[k] / count[k] - 1;
    return sharp;
}

/* The best of a square of centres. */
static void scan_centre(double cone[CONE], const struct thumbnail *t, double step, double bin)
{
    double from[2] = { cone[ROW], cone[COLUMN] }, most = -HUGE_VAL;
    double best[2] = { from[0], from[1] };
    for (int i = 0; i < 49; i++) {
        cone[ROW] = from[0] + step * (i / 7 - 3);
        cone[COLUMN] = from[1] + step * (i % 7 - 3);
        double now = sharpness(t, cone, bin);
        if (now > most) {
            most = now;
            best[0] = cone[ROW];
            best[1] = cone[COLUMN];
        }
    }
    cone[ROW] = best[0];
    cone[COLUMN] = best[1];
}

/* How good a cone is, of a small image, with bins or rings of a width. */
typedef double (*merit)(const struct thumbnail *t, const double cone[CONE], double width);

/* Uphill along one direction after the other, with steps that become smaller.  A tilt moves rings by the square of
 * their radius, so part of it looks like a centre elsewhere: some of the directions tilt and move back.  The first
 * `n_ways`: 2 the centre, 6 the tilt, too, 7 the distance. */
static void climb(double cone[CONE], const struct thumbnail *t, merit merit, double width, int n_ways)
{
    double reach = (double)(t->height > t->width ? t->height : t->width) / 2, most = merit(t, cone, width);
    const double tilt = 2 / (reach * reach);
    const double ways[][CONE] = { { 1, 0, 0, 0, 0 }, { 0, 1, 0, 0, 0 }, { 0, 0, tilt, 0, 0 }, { 0, 0, 0, tilt, 0 },
                                  { -1, 0, 2 * tilt, 0, 0 }, { 0, -1 / t->aspect, 0, 2 * tilt, 0 },
                                  { 0, 0, 0, 0, cone[DISTANCE] / reach } };
    for (double step = 2 * width; step > 0.1 * width;) {
        int moved = 0;
        for (int k = 0; k < 2 * n_ways; k++) {
            double tried[CONE], now;
            for (int m = 0; m < CONE; m++)
                tried[m] = cone[m] + (k % 2 ? -step : step) * ways[k / 2][m];
            now = merit(t, tried, width);
            if (now > most) {
                most = now;
                moved = 1;
                memcpy(cone, tried, sizeof tried);
            }
        }
        if (!moved)
            step /= 2;
    }
}

/* --- The pattern (calibrate_pattern.c) --- */

static int make_pattern(struct pattern *f, const struct powder *p, const double cone[CONE], double bin)
{
    struct pattern_sums *s = calloc(1, sizeof *s);
    if (!s)
        return -1;
    for (size_t i = 0; i < p->height * p->width; i++)
        add_to_pattern(s, radius_on(cone, p->aspect, (double)(i / p->width) + 0.5, (double)(i % p->width) + 0.5) / bin,
                       p->counts[i]);
    finish_pattern(f, s, bin);
    free(s);
    return 0;
}

/* --- All at once --- */

/* The tilted detector's axes in the lab, without the first order's errors. */
struct axes {
    double y1, y2, x2, z1, z2;
};

static struct axes tilt_axes(const double cone[CONE])
{
    double a = cone[TILT1] * cone[DISTANCE], b = cone[TILT2] * cone[DISTANCE];
    return (struct axes){ cos(a), -sin(a) * sin(b), cos(b), sin(a), cos(a) * sin(b) };
}

/* The correlation of the small image and the rings of a cone, whose distance is known. */
static double correlation(const struct thumbnail *t, const double cone[CONE], double width)
{
    static float comb[MOST_BINS];
    double reach = hypot((double)t->height, (double)t->width * t->aspect) * 2, bins = MOST_BINS / reach;
    double n = 0, a = 0, b = 0, aa = 0, bb = 0, ab = 0;
    struct axes e = tilt_axes(cone);
    memset(comb, 0, sizeof comb);
    for (size_t k = 0; k < t->n_tangents; k++) {
        double at = cone[DISTANCE] * t->tangents[k] * bins, wide = width * bins;
        for (double i = floor(fmax(0, at - 3 * wide)); i < MOST_BINS && i <= at + 3 * wide; i++)
            comb[(size_t)i] = fmaxf(comb[(size_t)i], expf(-(float)(pow((i + 0.5 - at) / wide, 2) / 2)));
    }
    for (size_t i = 0; i < t->height; i++)
        for (size_t j = 0; j < t->width; j++) {
            double v = t->value[i * t->width + j], y = (double)i + 0.5 - cone[ROW];
            double x = ((double)j + 0.5 - cone[COLUMN]) * t->aspect, up = y * e.y1 + x * e.y2, side = x * e.x2;
            double along = 1 + (y * e.z1 + x * e.z2) / cone[DISTANCE], r = sqrt(up * up + side * side) / along * bins;
            if (isnan(v) || !(r >= 0 && r < MOST_BINS))
                continue;
            double c = comb[(size_t)r];
            n++;
            a += v;
            b += c;
            aa += v * v;
            bb += c * c;
            ab += v * c;
        }
    double scale = (aa - a * a / n) * (bb - b * b / n);
    return n > 100 && scale > 0 ? (ab - a * b / n) / sqrt(scale) : 0;
}

/* --- To a geometry --- */

/* Places where the rings are on this cone, in the frame's pixels. */
static size_t place_rings(hcy_ring_point *points, const struct powder *p, const double cone[CONE], double wavelength)
{
    struct axes e = tilt_axes(cone);
    size_t n = 0;
    for (size_t k = 0; k < p->n_spacings; k++) {
        double angle = ring_angle(p->spacings[k], wavelength), tangent = tan(angle);
        for (int i = 0; i < AROUND && angle < 1.4; i++) {
            double y = sin(2 * PI * i / AROUND), x = cos(2 * PI * i / AROUND);
            /* Along this direction the angle's tangent is r across over (distance + r along). */
            double across = hypot(y * e.y1 + x * e.y2, x * e.x2), along = y * e.z1 + x * e.z2;
            double r = cone[DISTANCE] * tangent / (across - tangent * along);
            if (r > 0 && isfinite(r) && r < 4 * (double)(p->height + p->width))
                points[n++] = (hcy_ring_point){ cone[ROW] + r * y, cone[COLUMN] + r * x / p->aspect, p->spacings[k] };
        }
    }
    return n;
}

/* What is fixed keeps the value that it has. */
static int cone_to_poni(hcy_poni *poni, const struct powder *p, const double cone[CONE], unsigned fixed)
{
    hcy_ring_point *points = malloc((size_t)AROUND * MOST_RINGS * sizeof *points);
    hcy_poni_fit fit = HCY_PONI_FIT_INIT;
    int o = poni->orientation;
    if (!points)
        return -1;
    if (!(fixed & 1u << HCY_PONI_DIST) || !(poni->dist > 0))
        poni->dist = cone[DISTANCE] * poni->pixel1;
    if (!(fixed & 1u << HCY_PONI_PONI1))
        poni->poni1 = poni->pixel1 * (o == 1 || o == 2 ? (double)p->height - cone[ROW] : cone[ROW]);
    if (!(fixed & 1u << HCY_PONI_PONI2))
        poni->poni2 = poni->pixel2 * (o == 1 || o == 4 ? (double)p->width - cone[COLUMN] : cone[COLUMN]);
    poni->rot1 = fixed & 1u << HCY_PONI_ROT1 ? poni->rot1 : 0;
    poni->rot2 = fixed & 1u << HCY_PONI_ROT2 ? poni->rot2 : 0;
    size_t n = place_rings(points, p, cone, poni->wavelength);
    const unsigned kept = fixed | 1u << HCY_PONI_WAVELENGTH, all = (1u << HCY_PONI_PARAMETERS) - 1;
    int status = n ? 0 : -1;
    /* Where nothing else is left, the wavelength's turn comes later. */
    if (n && kept != all)
        status = hcy_poni_refine(poni, &fit, p->height, p->width, points, n, kept);
    free(points);
    return status ? -1 : 0;
}

/* From the small image's pixels to the frame's (by its step), or back (by 1 / step). */
static void scale_cone(double cone[CONE], double by)
{
    cone[ROW] *= by;
    cone[COLUMN] *= by;
    cone[TILT1] /= by;
    cone[TILT2] /= by;
    cone[DISTANCE] *= by;
}

/* The likeliest distances, best first, no two within 4 percent of one another; how many.  `given` 0: any. */
static int list_distances(double found[DISTANCES], const double cone[CONE], struct pattern *f, const struct powder *p,
                          const struct thumbnail *t, double given)
{
    double bin = fmax(1, 2 * hypot((double)p->height, (double)p->width) / MOST_BINS), scores[DISTANCES] = { 0 };
    int n = 0;
    /* Without a pixel that can be used near the beam there is no pattern, nor a distance to begin with. */
    if (make_pattern(f, p, cone, bin) || !f->n)
        return 0;
    double from = given > 0 ? 0.97 * given / bin : (double)f->n / 5;
    double to = given > 0 ? 1.03 * given / bin : 400.0 * (double)f->n;
    for (double d = from; d <= to; d *= 1 + STEP) {
        double now = likeness_at(f, t->tangents, t->n_tangents, d);
        int at;
        /* Where rings are not alike at all there is no distance, and no place is taken for one. */
        if (!(now > 0))
            continue;
        /* A neighbour of the last one is the same maximum. */
        for (at = 0; at < n && fabs(found[at] / (d * bin) - 1) > 0.04; at++)
            ;
        if (at == n && n < DISTANCES)
            n++;
        else if (at == n)
            at = DISTANCES - 1;
        if (now <= scores[at])
            continue;
        for (; at > 0 && scores[at - 1] < now; at--) {
            scores[at] = scores[at - 1];
            found[at] = found[at - 1];
        }
        scores[at] = now;
        found[at] = d * bin;
    }
    return n;
}

/* The best cone of one small image, in the frame's pixels, and how like its rings are. */
static double search_thumbnail(double best[CONE], const struct thumbnail *t, const struct powder *p, struct pattern *f,
                               const double *centre, double distance)
{
    double begin[CONE] = { 0 }, most = -1;
    if (centre) {
        begin[ROW] = centre[0] / (double)t->step;
        begin[COLUMN] = centre[1] / (double)t->step;
        scan_centre(begin, t, 4, 4);
    } else if (vote_centre(begin, t)) {
        return -1;
    }
    /* Few rings can be sharp with a tilt that is none, so cones with and without are asked for their rings. */
    for (int n_ways = 2; n_ways <= 6; n_ways += 4) {
        double cone[CONE];
        memcpy(cone, begin, sizeof cone);
        for (double bin = 4; bin >= 1; bin /= 2)
            climb(cone, t, sharpness, bin, n_ways);
        scale_cone(cone, (double)t->step);
        double distances[DISTANCES];
        int n = list_distances(distances, cone, f, p, t, distance);
        scale_cone(cone, 1 / (double)t->step);
        /* A pattern that is not sharp yet is like several distances: the image itself decides. */
        for (int i = 0; i < n; i++) {
            double tried[CONE];
            memcpy(tried, cone, sizeof tried);
            tried[DISTANCE] = distances[i] / (double)t->step;
            climb(tried, t, correlation, 4, 7);
            double score = correlation(t, tried, 2);
            if (!(score > most))
                continue;
            most = score;
            memcpy(best, tried, sizeof tried);
        }
    }
    if (most > 0) {
        for (double width = 2; width >= 1; width /= 2)
            climb(best, t, correlation, width, 7);
        most = correlation(t, best, 1);
        scale_cone(best, (double)t->step);
    }
    return most;
}

int search_geometry(hcy_poni *poni, const struct powder *p, const double *centre, double distance,
                    unsigned fixed)
{
    static const size_t sides[] = { COARSE_SIDE, FINE_SIDE };
    struct pattern *f = malloc(sizeof *f);
    double best[CONE] = { 0 }, tangents[MOST_RINGS], most = LIKE;
    int found = 0;
    size_t n = list_tangents(tangents, p->spacings, p->n_spacings, poni->wavelength);
    /* Weak rings are seen in the coarser image, narrow ones that are near to one another in the finer one, which takes
     * longer. */
    for (int i = 0; f && i < 2 && most < CLEAR; i++) {
        struct thumbnail t = { .tangents = tangents, .n_tangents = n };
        double cone[CONE], score = -1;
        if (!make_thumbnail(&t, p, sides[i]))
            score = search_thumbnail(cone, &t, p, f, centre, distance / poni->pixel1);
        if (score > most) {
            most = score;
            found = 1;
            memcpy(best, cone, sizeof best);
        }
        free(t.value);
    }
    free(f);
    return found ? cone_to_poni(poni, p, best, fixed) : -1;
}
