/* simulate_image.c - what a detector sees of a powder on average: rings where the lattice puts them, and air.
 *
 * The detector stands untilted, so everything depends on the radius, except for the polarization (horizontal,
 * 0.99).
 */
#include "simulate.h"
#include <halcyon/calibrate.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846
#define ANGSTROM 1e-10
#define POLARIZATION 0.99

/* --- Rings --- */

/* Structure factors squared, with form factors at their atomic numbers. */
static double fluorite(int h, int k, int l)
{
    const double ce = 58, o = 8;
    /* A face-centred lattice has only planes whose indices are all even or all odd. */
    if ((h ^ k) & 1 || (k ^ l) & 1)
        return 0;
    /* Oxygen cancels in the odd planes, and helps or weakens cerium in the even ones. */
    if (h & 1)
        return ce * ce;
    return (h + k + l) % 4 ? (ce - 2 * o) * (ce - 2 * o) : (ce + 2 * o) * (ce + 2 * o);
}

static double diamond(int h, int k, int l)
{
    if ((h ^ k) & 1 || (k ^ l) & 1)
        return 0;
    /* Of the even planes those with h + k + l = 4 n + 2 vanish, and the others have twice the square of the
     * odd ones. */
    if (h & 1)
        return 1;
    return (h + k + l) % 4 ? 0 : 2;
}

static double simple(int h, int k, int l)
{
    (void)h;
    (void)k;
    (void)l;
    return 1;
}

static const struct {
    const char *name; /* a cubic one's, whose cell the library knows */
    double (*factor)(int h, int k, int l);
} calibrants[] = { { "CeO2", fluorite }, { "LaB6", simple }, { "Si", diamond } };

/* How many planes are the same by symmetry: permutations and signs of h >= k >= l >= 0. */
static int multiplicity(int h, int k, int l)
{
    int permutations = h == k || k == l ? 3 : 6;
    if (h == k && k == l)
        permutations = 1;
    return permutations << ((h > 0) + (k > 0) + (l > 0));
}

/* All planes up to h^2 + k^2 + l^2 = 200; those of one d are one ring. */
static void cubic_rings(struct sim_rings *rings, double a, double (*factor)(int, int, int))
{
    enum { MOST = 200 };
    double strength[MOST + 1] = { 0 };
    for (int h = 0; h * h <= MOST; h++)
        for (int k = 0; k <= h; k++)
            for (int l = 0; l <= k; l++)
                if (h * h + k * k + l * l <= MOST)
                    /* Each set of equal planes is counted once, by its largest index first. */
                    strength[h * h + k * k + l * l] += multiplicity(h, k, l) * factor(h, k, l);
    for (int n = 1; n <= MOST; n++) {
        if (!(strength[n] > 0))
            continue;
        rings->d[rings->n] = a * ANGSTROM / sqrt(n);
        rings->strength[rings->n++] = strength[n];
    }
}

static int larger_first(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

int sim_rings_find(struct sim_rings *rings, const char *name, char *why, size_t size)
{
    const hcy_calibrant *known;
    rings->n = 0;
    for (size_t i = 0; i < sizeof calibrants / sizeof calibrants[0]; i++)
        if (!strcmp(name, calibrants[i].name) && !hcy_calibrant_find(&known, name)) {
            cubic_rings(rings, known->a, calibrants[i].factor);
            return 0;
        }
    const char *at = name;
    /* Whatever is no calibrant is a list of distances; a limit keeps the angles reasonable. */
    while (*at && rings->n < SIM_RINGS) {
        char *end;
        double d = strtod(at, &end);
        if (end == at || !(d >= 0.01 && d <= 1e5) || (*end && *end != ','))
            break;
        rings->d[rings->n] = d * ANGSTROM;
        rings->strength[rings->n++] = 1;
        at = *end ? end + 1 : end;
    }
    if (*at || !rings->n) {
        snprintf(why, size, "'%s' is neither CeO2, LaB6, Si nor d-spacings in Angstrom (3.12,2.71)", name);
        return -1;
    }
    /* The largest distance is the innermost ring; sim_place() and rings_at() rely on that order. */
    qsort(rings->d, rings->n, sizeof rings->d[0], larger_first);
    return 0;
}

/* --- Geometry --- */

/* Modules of 514 x 1030 pixels, 37 rows and 10 columns apart. */
void sim_eiger_gaps(uint8_t *gaps, uint32_t height, uint32_t width)
{
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++)
            gaps[y * width + x] = y % (514 + 37) >= 514 || x % (1030 + 10) >= 1030;
}

/* The first ring at 0.3 of the way to the nearest edge. */
void sim_place(hcy_poni *poni, const struct sim_rings *rings)
{
    double d = rings->d[0];
    double height = poni->height * poni->pixel1, width = poni->width * poni->pixel2;
    poni->wavelength = fmin(0.5 * ANGSTROM, 0.5 * d);
    /* A beam that is a little off the middle shows mistakes that symmetry would hide. */
    poni->poni1 = 0.52 * height;
    poni->poni2 = 0.47 * width;
    double first = 0.3 * fmin(height - poni->poni1, poni->poni2);
    double two_theta = 2 * asin(poni->wavelength / (2 * d));
    poni->dist = round(1e4 * first / tan(two_theta)) / 1e4; /* whole tenths of a millimetre */
    if (!(poni->dist > 0))
        poni->dist = first / tan(two_theta);
}

/* --- The image --- */

/* Counts by radius, in steps of a quarter of a pixel. */
struct profile {
    double step;
    size_t n;
    double *at;
};

/* Rings are Gaussians in 2 theta, of a width that the pixel also has its share in. */
static double rings_at(double two_theta, const struct sim_rings *rings, const hcy_poni *poni)
{
    double pixel = atan(poni->pixel1 / poni->dist), width = sqrt(3.4e-4 * 3.4e-4 + pixel * pixel), sum = 0;
    for (size_t i = 0; i < rings->n; i++) {
        double s = poni->wavelength / (2 * rings->d[i]);
        /* Planes this close do not diffract at this wavelength, nor do any further on. */
        if (s >= 1)
            break;
        double off = (two_theta - 2 * asin(s)) / width;
        /* A Gaussian is below 1e-10 there. */
        if (fabs(off) > 7)
            continue;
        /* Lorentz factor and thermal motion, B = 0.3 A^2 */
        double lorentz = 1 / (s * s * sqrt(1 - s * s));
        double thermal = exp(-2 * 0.3 * ANGSTROM * ANGSTROM / (4 * rings->d[i] * rings->d[i]));
        sum += rings->strength[i] * lorentz * thermal * exp(-0.5 * off * off) / width;
    }
    return sum;
}

static int make_profile(struct profile *p, const hcy_poni *poni, const struct sim_rings *rings)
{
    double y = fmax(poni->poni1, poni->height * poni->pixel1 - poni->poni1);
    double x = fmax(poni->poni2, poni->width * poni->pixel2 - poni->poni2);
    p->step = 0.25 * fmin(poni->pixel1, poni->pixel2);
    /* The furthest corner, and two steps more, as intensity() interpolates. */
    p->n = (size_t)(hypot(x, y) / p->step) + 3;
    p->at = malloc(p->n * sizeof *p->at);
    if (!p->at)
        return -1;
    double highest = 0;
    for (size_t i = 0; i < p->n; i++) {
        p->at[i] = rings_at(atan((double)i * p->step / poni->dist), rings, poni);
        highest = fmax(highest, p->at[i]);
    }
    for (size_t i = 0; i < p->n; i++) {
        double two_theta = atan((double)i * p->step / poni->dist);
        /* The strongest ring is 20 times as high as the air near the beam. */
        double air = 0.35 + 0.65 * exp(-two_theta / 0.12);
        p->at[i] = air + (highest > 0 ? 20 * p->at[i] / highest : 0);
    }
    return 0;
}

static double intensity(const struct profile *p, const hcy_poni *poni, double y, double x)
{
    double r2 = y * y + x * x, r = sqrt(r2) / p->step, length2 = poni->dist * poni->dist + r2;
    /* Steps of a quarter of a pixel are fine enough for a line between them. */
    size_t i = (size_t)r;
    double value = p->at[i] + (r - (double)i) * (p->at[i + 1] - p->at[i]);
    double cos2 = poni->dist * poni->dist / length2;  /* of 2 theta, squared */
    double cos_2chi_sin2 = (x * x - y * y) / length2; /* cos(2 chi) sin^2(2 theta) */
    double polarization = 0.5 * (1 + cos2 - POLARIZATION * cos_2chi_sin2);
    return value * polarization * cos2 * sqrt(cos2); /* solid angle: cos^3 */
}

int sim_mean(float *mean, const hcy_poni *poni, const struct sim_rings *rings, double counts)
{
    struct profile profile;
    size_t n = (size_t)poni->height * poni->width;
    double sum = 0;
    if (make_profile(&profile, poni, rings))
        return -1;
    for (uint32_t i = 0; i < poni->height; i++)
        for (uint32_t j = 0; j < poni->width; j++) {
            double value = intensity(&profile, poni, (i + 0.5) * poni->pixel1 - poni->poni1,
                                     (j + 0.5) * poni->pixel2 - poni->poni2);
            mean[(size_t)i * poni->width + j] = (float)value;
            sum += value;
        }
    /* The mean over all pixels is what the user asked for, gaps included. */
    double scale = counts * (double)n / sum;
    for (size_t i = 0; i < n; i++)
        mean[i] = (float)(mean[i] * scale);
    free(profile.at);
    return 0;
}
