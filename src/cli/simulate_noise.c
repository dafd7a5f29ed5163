/* simulate_noise.c - Poisson numbers for whole frames, exact and fast.
 *
 * The generator is Philox4x32-10 (Salmon et al., SC11): a block cipher of (pixel pair, attempt, frame) under
 * the seed, so that every pixel of every frame has its own numbers and threads share nothing.
 *
 * Means below GRID_MAX: the sum of two independent Poisson numbers, one of the mean rounded down to a grid,
 * by the inverse of its distribution from a table with a guide, and one of the small rest, which is nearly
 * always 0. Above: Hoermann's transformed rejection PTRS (Insurance: Mathematics and Economics 12, 1993).
 */
#include "simulate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846
enum { GRID_PER_ONE = 16, GRID_MAX = 40, GRID = GRID_MAX * GRID_PER_ONE, GUIDE = 256, SPECIAL = 0xfff0 };
enum { LARGE = SPECIAL + 4 }; /* below it: SPECIAL + enum sim_pixel */

/* The distribution of one grid mean: cdf[k] = P(X <= k) in 2^-32, guide[u >> 24] = the first k worth looking
 * at. */
struct inverse {
    uint32_t *cdf;
    uint8_t guide[GUIDE];
};

struct sim_counter {
    size_t n;
    uint64_t seed;
    uint16_t *kind;  /* grid index, or SPECIAL + ..., or LARGE */
    uint32_t *rest0; /* P(rest == 0) in 2^-32 */
    float *mean;
    struct inverse table[GRID];
    uint32_t *cdfs;
};

/* --- Plain random numbers --- */

double sim_uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    /* The highest 53 bits, because the lowest ones of such a generator repeat soon. */
    return (double)(*state >> 11) * 0x1p-53;
}

double sim_coordinate(uint64_t *state, double sigma)
{
    double u = sim_uniform(state);
    /* Box and Muller; 1 - u is never 0, so that the logarithm is finite. */
    return sigma > 0 ? sigma * sqrt(-2 * log(1 - u)) * cos(2 * PI * sim_uniform(state)) : 2 * PI * (u - 0.5);
}

/* --- Philox --- */

static void philox(uint32_t out[4], uint64_t pair, uint32_t attempt, uint64_t frame, uint64_t seed)
{
    uint32_t c0 = (uint32_t)pair, c1 = (uint32_t)(pair >> 32) ^ attempt << 16, c2 = (uint32_t)frame,
             c3 = (uint32_t)(frame >> 32), k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    /* Seven rounds pass the authors' tests; ten are what they recommend. */
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void sim_normals(double normal[2], uint64_t seed, uint64_t number)
{
    uint32_t r[4];
    /* Attempt 0xffff: no pixel's numbers are these. */
    philox(r, number, 0xffff, 0, seed);
    double u = ((double)((uint64_t)r[0] << 21 | r[1] >> 11) + 0.5) * 0x1p-53;
    double angle = 2 * PI * (double)((uint64_t)r[2] << 21 | r[3] >> 11) * 0x1p-53, length = sqrt(-2 * log(u));
    normal[0] = length * cos(angle);
    normal[1] = length * sin(angle);
}

/* --- Tables --- */

/* Enough for every k whose probability 2^-32 resolves. */
enum { CDF_MAX = GRID_MAX + 16 + 10 * 7 };

static void fill_inverse(struct inverse *to, uint32_t *cdf, double mean)
{
    double p = exp(-mean), sum = p;
    for (int k = 0; k < CDF_MAX; k++) {
        double scaled = sum * 4294967296.0;
        /* The last entry is the largest number, so every search ends. */
        cdf[k] = k == CDF_MAX - 1 || scaled >= 4294967295.0 ? UINT32_MAX : (uint32_t)scaled;
        p *= mean / (k + 1);
        sum += p;
    }
    to->cdf = cdf;
    /* The guide starts a search close to its end: one step is usual. */
    for (int g = 0, k = 0; g < GUIDE; g++) {
        while (cdf[k] < (uint32_t)g << 24)
            k++;
        to->guide[g] = (uint8_t)k;
    }
}

static void fill_pixel(struct sim_counter *c, size_t i, float mean, uint8_t kind)
{
    c->mean[i] = mean;
    if (kind != SIM_GOOD) {
        c->kind[i] = (uint16_t)(SPECIAL + kind);
    } else if (mean >= GRID_MAX) {
        c->kind[i] = LARGE;
    } else {
        /* The mean rounded down leaves a rest that is never negative. */
        uint16_t grid = mean > 0 ? (uint16_t)(mean * GRID_PER_ONE) : 0;
        double rest = mean > 0 ? mean - (double)grid / GRID_PER_ONE : 0;
        c->kind[i] = grid;
        c->rest0[i] = rest > 0 ? (uint32_t)fmin(exp(-rest) * 4294967296.0, 4294967295.0) : UINT32_MAX;
    }
}

struct sim_counter *sim_counter_create(const float *mean, const uint8_t *kinds, size_t n, uint64_t seed)
{
    struct sim_counter *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->n = n;
    c->seed = seed;
    c->kind = malloc(n * sizeof *c->kind);
    c->rest0 = calloc(n, sizeof *c->rest0);
    c->mean = malloc(n * sizeof *c->mean);
    c->cdfs = malloc((size_t)GRID * CDF_MAX * sizeof *c->cdfs);
    if (!c->kind || !c->rest0 || !c->mean || !c->cdfs) {
        sim_counter_destroy(c);
        return NULL;
    }
    for (int g = 0; g < GRID; g++)
        fill_inverse(&c->table[g], c->cdfs + (size_t)g * CDF_MAX, (double)g / GRID_PER_ONE);
    for (size_t i = 0; i < n; i++)
        fill_pixel(c, i, mean[i], kinds[i]);
    return c;
}

void sim_counter_destroy(struct sim_counter *c)
{
    if (!c)
        return;
    free(c->kind);
    free(c->rest0);
    free(c->mean);
    free(c->cdfs);
    free(c);
}

/* --- Drawing --- */

/* The rest is not 0: its inverse distribution, given that u >= P(0). */
static uint32_t draw_rest(double rest, uint32_t u)
{
    double p = exp(-rest), sum = p, at = (u + 0.5) / 4294967296.0;
    uint32_t k = 0;
    while (at > sum && k < 32) {
        k++;
        p *= rest / k;
        sum += p;
    }
    return k ? k : 1;
}

static uint32_t draw_small(const struct sim_counter *c, size_t i, uint32_t u, uint32_t v)
{
    const struct inverse *table = &c->table[c->kind[i]];
    uint32_t k = table->guide[u >> 24];
    while (table->cdf[k] < u)
        k++;
    if (v >= c->rest0[i] && c->rest0[i] != UINT32_MAX)
        k += draw_rest(c->mean[i] - (double)c->kind[i] / GRID_PER_ONE, v);
    return k;
}

/* log(k!), to a relative 1e-13 for k >= 9. */
static double log_factorial(double k)
{
    if (k < 9) {
        double f = 1;
        for (double i = 2; i <= k; i++)
            f *= i;
        return log(f);
    }
    /* Stirling's series; below 9 its first terms are not exact enough. */
    double x = k + 1, r = 1 / (x * x);
    return (x - 0.5) * log(x) - x + 0.91893853320467274 +
           (1. / 12 - r * (1. / 360 - r * (1. / 1260 - r * (1. / 1680 - r / 1188)))) / x;
}

/* Numbers for attempt 1, 2 ... of this one pixel: the high bit of the pair tells them from the shared ones.
 */
static double draw_large(const struct sim_counter *c, size_t i, uint64_t frame)
{
    double mean = c->mean[i], root = sqrt(mean), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2), log_mean = log(mean);
    for (uint32_t attempt = 1;; attempt++) {
        uint32_t r[4];
        philox(r, (uint64_t)1 << 47 | i, attempt, frame, c->seed);
        double u = (r[0] + 0.5) / 4294967296.0 - 0.5, v = (r[1] + 0.5) / 4294967296.0, us = 0.5 - fabs(u);
        double k = floor((2 * a / us + b) * u + mean + 0.43);
        /* Most numbers are accepted by this test, which needs no logarithm. */
        if (us >= 0.07 && v <= v_r)
            return k;
        if (k < 0 || (us < 0.013 && v > us))
            continue;
        if (log(v * inverse_alpha / (a / (us * us) + b)) <= k * log_mean - mean - log_factorial(k))
            return k;
    }
}

static uint32_t draw_pixel(const struct sim_counter *c, size_t i, uint64_t frame, uint32_t u, uint32_t v,
                           uint32_t top)
{
    uint16_t kind = c->kind[i];
    if (kind < GRID)
        return draw_small(c, i, u, v); /* at most CDF_MAX + 32: below every top */
    if (kind == LARGE)
        return (uint32_t)fmin(draw_large(c, i, frame), top - 2.0);
    if (kind == SPECIAL + SIM_GAP)
        return top;
    return kind == SPECIAL + SIM_HOT ? top - 1 : 0;
}

void sim_draw(void *frame, unsigned elem_size, const struct sim_counter *c, uint64_t number)
{
    uint16_t *out16 = frame;
    uint32_t *out32 = frame, top = elem_size == 2 ? UINT16_MAX : UINT32_MAX;
    for (size_t i = 0; i < c->n; i += 2) {
        uint32_t r[4], value[2] = { 0 };
        /* One block of the cipher has numbers for two pixels; the last pixel may be alone. */
        size_t both = i + 1 < c->n;
        philox(r, i / 2, 0, number, c->seed);
        for (size_t k = 0; k <= both; k++)
            value[k] = draw_pixel(c, i + k, number, r[2 * k], r[2 * k + 1], top);
        for (size_t k = 0; k <= both; k++) {
            if (elem_size == 2)
                out16[i + k] = (uint16_t)value[k];
            else
                out32[i + k] = value[k];
        }
    }
}
