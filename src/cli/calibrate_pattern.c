/* calibrate_pattern.c - radial patterns of frames, and whose rings they are.
 *
 * A pattern is the means of roots of counts by radius, less their neighbourhood, over their noise.  How like a
 * calibrant's rings it is says at which distance these would be (calibrate_search.c), and in a geometry that is found
 * whether another calibrant's would be more like it. */
#include "calibrate_pattern.h"
#include <stdlib.h>
#include <string.h>

/* --- The pattern --- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* From means to what stands out of their neighbours, over the noise, between 0 and 10. */
static void raise_rings(struct pattern *f, const double *mean)
{
    static double high[MOST_BINS], sorted[MOST_BINS];
    enum { WIDE = 24 };
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        double sum = 0, count = 0;
        for (size_t k = i > WIDE ? i - WIDE : 0; k < f->n && k <= i + WIDE; k++) {
            sum += f->known[k] ? mean[k] : 0;
            count += f->known[k];
        }
        high[i] = f->known[i] ? mean[i] - sum / count : 0;
        if (f->known[i])
            sorted[n++] = fabs(high[i]);
    }
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    /* The lower half is background; its middle is the noise. */
    double noise = n ? fmax(sorted[n / 4] * 3, 1e-9) : 1;
    for (size_t i = 0; i < f->n; i++)
        f->value[i] = fmax(0, fmin(10, high[i] / noise));
}

void finish_pattern(struct pattern *f, struct pattern_sums *s, double bin)
{
    f->bin = bin;
    f->n = 0;
    for (size_t i = 0; i < MOST_BINS; i++) {
        f->known[i] = s->count[i] >= 8;
        s->sum[i] = f->known[i] ? s->sum[i] / s->count[i] : 0;
        f->n = f->known[i] ? i + 1 : f->n;
    }
    raise_rings(f, s->sum);
}

/* --- Its rings --- */

double likeness_at(const struct pattern *f, const double *tangents, size_t n, double distance)
{
    static double comb[MOST_BINS];
    double a = 0, b = 0, aa = 0, bb = 0, ab = 0, known = 0;
    int rings = 0;
    memset(comb, 0, f->n * sizeof *comb);
    for (size_t k = 0; k < n; k++) {
        double at = distance * tangents[k], width = fmax(2 / f->bin, 0.003 * at);
        if (!(at < (double)f->n))
            break;
        rings += at >= 0 && f->known[(size_t)at];
        for (double i = floor(fmax(0, at - 3 * width)); i < (double)f->n && i <= at + 3 * width; i++)
            comb[(size_t)i] = fmax(comb[(size_t)i], exp(-pow((i + 0.5 - at) / width, 2) / 2));
    }
    for (size_t i = 0; i < f->n; i++) {
        if (!f->known[i])
            continue;
        known++;
        a += f->value[i];
        b += comb[i];
        aa += f->value[i] * f->value[i];
        bb += comb[i] * comb[i];
        ab += f->value[i] * comb[i];
    }
    double scale = (aa - a * a / known) * (bb - b * b / known);
    /* One ring is at some distance wherever it is. */
    return rings >= 2 && scale > 0 ? (ab - a * b / known) / sqrt(scale) : 0;
}

size_t list_tangents(double *tangents, const double *spacings, size_t n, double wavelength)
{
    size_t kept = 0;
    for (size_t k = 0; k < n; k++) {
        double angle = ring_angle(spacings[k], wavelength);
        if (angle < 1.4)
            tangents[kept++] = tan(angle);
    }
    return kept;
}

/* The likeliest distance between two, in bins. */
static double scan_distance(double *score, const struct pattern *f, const double *tangents, size_t n, double from,
                            double to, double step)
{
    double best = 0;
    *score = 0;
    for (double d = from; d <= to; d *= 1 + step) {
        double now = likeness_at(f, tangents, n, d);
        if (now > *score) {
            *score = now;
            best = d;
        }
    }
    return best;
}

/* --- Whose rings they are --- */

/* The frame's pattern in a geometry: bins of tan 2 theta that are a pixel wide at the distance. */
static int pattern_of(struct pattern *f, const struct powder *p, const hcy_poni *poni, double *distance)
{
    struct pattern_sums *s = calloc(1, sizeof *s);
    double most = 0, bin = 1;
    *distance = poni->dist / poni->pixel1;
    if (!s)
        return -1;
    for (size_t i = 0; i < p->height * p->width; i++)
        if (!isnan(p->counts[i]) && p->angle[i] < 1.4)
            most = fmax(most, p->angle[i]);
    /* Far rings of short distances would need too many bins. */
    if (*distance * tan(most) > MOST_BINS)
        bin = *distance * tan(most) / MOST_BINS;
    *distance /= bin;
    for (size_t i = 0; i < p->height * p->width; i++)
        if (p->angle[i] < 1.4)
            add_to_pattern(s, *distance * tan(p->angle[i]), p->counts[i]);
    finish_pattern(f, s, bin);
    free(s);
    return 0;
}

int judge_likeness(struct likeness *l, const struct powder *p, const hcy_poni *poni, const hcy_calibrant *calibrant)
{
    struct pattern *f = malloc(sizeof *f);
    double distance, tangents[MOST_RINGS], spacings[MOST_RINGS], score;
    size_t count, n;
    const hcy_calibrant *all = hcy_calibrant_list(&count);
    memset(l, 0, sizeof *l);
    if (!f || pattern_of(f, p, poni, &distance)) {
        free(f);
        return -1;
    }
    n = list_tangents(tangents, p->spacings, p->n_spacings, poni->wavelength);
    l->score = likeness_at(f, tangents, n, distance);
    /* Others may fit at another distance, and their rings say so only by being more alike than a little. */
    for (size_t i = 0; i < count; i++) {
        if (&all[i] == calibrant ||
            hcy_calibrant_spacings(spacings, &n, MOST_RINGS, &all[i], p->spacings[p->n_spacings - 1]))
            continue;
        n = list_tangents(tangents, spacings, n, poni->wavelength);
        scan_distance(&score, f, tangents, n, distance / 3, 3 * distance, 2 * STEP);
        if (score > fmax(l->better_score + 0.01, l->score + 0.12)) {
            l->better = &all[i];
            l->better_score = score;
        }
    }
    free(f);
    return 0;
}
