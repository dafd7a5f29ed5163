/* calibrant.c - calibrants known by name, and the distances between their lattice planes.  Constant tables, any thread.
 *
 * A cell and the rule of its space group give every ring there can be; lists of rings would end somewhere, and carry
 * their authors' roundings.  tests/peers.t holds the rings against pyFAI's lists.
 */
#include <halcyon/calibrate.h>
#include "azint_priv.h"
#include "detector.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ANGSTROM 1e-10
#define MOST_REFLECTIONS (1u << 22) /* that are looked at: 32 MiB of distances */
#define SAME 1e-6                   /* distances that are nearer to one another are one ring */

/* --- Which reflections there are: the conditions of the International Tables --- */

static int is_even(int n)
{
    return !(n & 1);
}

static int allow_primitive(int h, int k, int l)
{
    (void)h;
    (void)k;
    (void)l;
    return 1;
}

static int allow_layers(int h, int k, int l)
{
    (void)l;
    return !h && !k;
}

static int allow_body_centred(int h, int k, int l)
{
    return is_even(h + k + l);
}

static int allow_face_centred(int h, int k, int l)
{
    return is_even(h + k) && is_even(k + l);
}

/* Fd-3m with atoms in 8a alone: even indices add up to a multiple of 4, which is more than the space group asks. */
static int allow_diamond(int h, int k, int l)
{
    return allow_face_centred(h, k, l) && (!is_even(h) || (h + k + l) % 4 == 0);
}

static int allow_pn3(int h, int k, int l)
{
    return (h || is_even(k + l)) && (k || is_even(h + l)) && (l || is_even(h + k));
}

static int allow_p42mnm(int h, int k, int l)
{
    return (h || is_even(k + l)) && (k || is_even(h + l));
}

static int allow_p41212(int h, int k, int l)
{
    if (!h && !k)
        return l % 4 == 0;
    return l || ((h || is_even(k)) && (k || is_even(h)));
}

static int allow_p21a(int h, int k, int l)
{
    return (k || is_even(h)) && (h || l || is_even(k));
}

static int allow_p3221(int h, int k, int l)
{
    return h || k || l % 3 == 0;
}

static int allow_p63m(int h, int k, int l)
{
    return h || k || is_even(l);
}

/* The glide plane c of hexagonal axes: hh-2hl and its equivalents. */
static int allow_p63mc(int h, int k, int l)
{
    return is_even(l) || (h != k && 2 * h + k && h + 2 * k);
}

/* In obverse setting. */
static int allow_rhombohedral(int h, int k, int l)
{
    return (-h + k + l) % 3 == 0;
}

/* The glide plane c of rhombohedral axes: h-h0l and its equivalents. */
static int allow_r3c(int h, int k, int l)
{
    return allow_rhombohedral(h, k, l) && (is_even(l) || (h && k && h + k));
}

/* --- By name --- */

#define CALIBRANT(name, title, a, b, c, beta, gamma, rule) { name, title, a, b, c, beta, gamma, allow_##rule },
static const hcy_calibrant calibrants[] = {
#include "calibrants.def"
};
#undef CALIBRANT
enum { N_CALIBRANTS = sizeof calibrants / sizeof calibrants[0] };

const hcy_calibrant *hcy_calibrant_list(size_t *n)
{
    if (n)
        *n = N_CALIBRANTS;
    return calibrants;
}

int hcy_calibrant_find(const hcy_calibrant **calibrant, const char *name)
{
    char known[1024];
    size_t used = 0;

    if (!calibrant || !name)
        return hcy_fail(HCY_EINVAL, "hcy_calibrant_find: %s is NULL", calibrant ? "name" : "calibrant");
    for (size_t i = 0; i < N_CALIBRANTS; i++) {
        if (hcy__is_same_name(calibrants[i].name, name)) {
            *calibrant = &calibrants[i];
            return 0;
        }
    }
    for (size_t i = 0; i < N_CALIBRANTS && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", calibrants[i].name);
    return hcy_fail(HCY_ENOENT, "no calibrant is called '%.80s': there are %s", name, known);
}

/* --- Distances --- */

/* 1 / d^2 = q . (h, k, l) as a quadratic form, in 1 / Angstrom^2. */
struct metric {
    double hh, kk, ll, hk, hl;
};

static struct metric invert_cell(const hcy_calibrant *c)
{
    double sb = sin(c->beta * AZINT_PI / 180), cb = cos(c->beta * AZINT_PI / 180), sg = sin(c->gamma * AZINT_PI / 180),
           cg = cos(c->gamma * AZINT_PI / 180);
    struct metric m = { 0, 0, 1 / (c->c * c->c), 0, 0 };

    if (!(c->a > 0))
        return m;
    /* Of beta and gamma one is 90 degrees, so the reciprocal cell has at most one angle that is not. */
    m.hh = 1 / (c->a * c->a * sb * sb * sg * sg);
    m.kk = 1 / (c->b * c->b * sg * sg);
    m.ll = 1 / (c->c * c->c * sb * sb);
    m.hk = -2 * cg / (c->a * c->b * sg * sg);
    m.hl = -2 * cb / (c->a * c->c * sb * sb);
    return m;
}

static int compare_falling(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x < y) - (x > y);
}

/* Distances of all reflections, in Angstrom, into d; how many. */
static size_t list_reflections(double *d, const hcy_calibrant *c, const int most[3], double shortest)
{
    struct metric m = invert_cell(c);
    size_t n = 0;

    /* (-h, -k, -l) is the same ring, so one half of the indices is enough. */
    for (int h = -most[0]; h <= most[0]; h++)
        for (int k = -most[1]; k <= most[1]; k++)
            for (int l = 0; l <= most[2]; l++) {
                double q = m.hh * h * h + m.kk * k * k + m.ll * l * l + m.hk * h * k + m.hl * h * l;

                if ((h || k || l) && q * shortest * shortest <= 1 && c->is_allowed(h, k, l))
                    d[n++] = 1 / sqrt(q);
            }
    return n;
}

int hcy_calibrant_spacings(double *spacings, size_t *n, size_t capacity, const hcy_calibrant *calibrant,
                           double shortest)
{
    double *d, down_to = shortest / ANGSTROM * (1 - 1e-12), most[3];
    size_t all, kept = 0;

    if (!n || !calibrant || (!spacings && capacity))
        return hcy_fail(HCY_EINVAL, "hcy_calibrant_spacings: %s is NULL",
                        n && calibrant ? "spacings" : "n or calibrant");
    if (!(shortest > 0) || !isfinite(shortest))
        return hcy_fail(HCY_EINVAL, "hcy_calibrant_spacings: the shortest distance is %g m, which is not positive",
                        shortest);
    /* An index is at most the cell's edge over the distance, whatever the cell's angles. */
    most[0] = floor(calibrant->a / down_to);
    most[1] = floor(calibrant->b / down_to);
    most[2] = floor(calibrant->c / down_to);
    if (!((2 * most[0] + 1) * (2 * most[1] + 1) * (most[2] + 1) <= MOST_REFLECTIONS))
        return hcy_fail(HCY_ERANGE, "hcy_calibrant_spacings: %s has millions of reflections down to %g m",
                        calibrant->name, shortest);
    all = (size_t)((2 * most[0] + 1) * (2 * most[1] + 1) * (most[2] + 1));
    if (!(d = malloc(all * sizeof *d)))
        return hcy_fail(HCY_ENOMEM, "no memory for %zu reflections", all);
    all = list_reflections(d, calibrant, (const int[3]){ (int)most[0], (int)most[1], (int)most[2] }, down_to);
    qsort(d, all, sizeof *d, compare_falling);
    for (size_t i = 0; i < all && kept < capacity; i++)
        if (!kept || spacings[kept - 1] - d[i] * ANGSTROM > SAME * spacings[kept - 1])
            spacings[kept++] = d[i] * ANGSTROM;
    *n = kept;
    free(d);
    return 0;
}
