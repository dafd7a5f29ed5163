/* azint_oracle.h - what every integration kernel must give, bit for bit: a straight loop over the canonical
 * tables.
 *
 * For tests only; static functions, libc alone.  oracle_sums() is the definition of azint_format.h in code:
 * pixel after pixel, weight after weight, in 128 bits.  oracle_plan_make() makes tables of every shape that
 * the format allows, also those that no geometry would give.
 */
#ifndef AZINT_ORACLE_H
#define AZINT_ORACLE_H

#include <halcyon/kernel.h>
#include "azint_format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 oracle_i128;
__extension__ typedef unsigned __int128 oracle_u128;

/* The next run at *p: its word; *weights is set to its 3-byte weights, *p moves behind them. */
static inline uint32_t oracle_run(const uint8_t **p, const uint8_t **weights)
{
    const uint8_t *b = *p;
    uint32_t word = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;

    *weights = b + 4;
    *p = b + 4 + 3 * (size_t)HCY_AZINT_RUN_N(word);
    return word;
}

static inline uint32_t oracle_weight(const uint8_t *w, uint32_t k)
{
    return (uint32_t)w[3 * k] | (uint32_t)w[3 * k + 1] << 8 | (uint32_t)w[3 * k + 2] << 16;
}

/* A pixel, widened: `i` of integers (unsigned 64-bit values in `u`), `d` of floats. */
struct oracle_pixel {
    int64_t i;
    uint64_t u;
    double d;
};

static inline int oracle_is_float(uint32_t type)
{
    return type == HCY_PIXEL_F32 || type == HCY_PIXEL_F64;
}

static inline int oracle_is_signed(uint32_t type)
{
    return type >= HCY_PIXEL_I8 && type <= HCY_PIXEL_I64;
}

static inline size_t oracle_pixel_size(uint32_t type)
{
    static const size_t size[] = { 0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8 };

    return size[type];
}

static inline struct oracle_pixel oracle_pixel_get(const void *image, size_t at, uint32_t type)
{
    struct oracle_pixel v = { 0, 0, 0 };

    switch (type) {
    case HCY_PIXEL_U8: v.u = ((const uint8_t *)image)[at]; break;
    case HCY_PIXEL_U16: v.u = ((const uint16_t *)image)[at]; break;
    case HCY_PIXEL_U32: v.u = ((const uint32_t *)image)[at]; break;
    case HCY_PIXEL_U64: v.u = ((const uint64_t *)image)[at]; break;
    case HCY_PIXEL_I8: v.i = ((const int8_t *)image)[at]; break;
    case HCY_PIXEL_I16: v.i = ((const int16_t *)image)[at]; break;
    case HCY_PIXEL_I32: v.i = ((const int32_t *)image)[at]; break;
    case HCY_PIXEL_I64: v.i = ((const int64_t *)image)[at]; break;
    case HCY_PIXEL_F32: v.d = ((const float *)image)[at]; break;
    case HCY_PIXEL_F64: v.d = ((const double *)image)[at]; break;
    }
    return v;
}

static inline int oracle_invalid(const hcy_azint_job *job, struct oracle_pixel v)
{
    for (uint32_t k = 0; k < job->n_invalid; k++) {
        const hcy_azint_range *r = &job->invalid[k];

        if (oracle_is_float(job->pixel_type)) {
            double lo, hi;

            memcpy(&lo, &r->lo, 8);
            memcpy(&hi, &r->hi, 8);
            if (v.d >= lo && v.d <= hi)
                return 1;
        } else if (oracle_is_signed(job->pixel_type)) {
            if (v.i >= (int64_t)r->lo && v.i <= (int64_t)r->hi)
                return 1;
        } else if (v.u >= r->lo && v.u <= r->hi) {
            return 1;
        }
    }
    return oracle_is_float(job->pixel_type) && isnan(v.d);
}

static inline void oracle_add(uint64_t *sums, size_t n_bins, size_t bin, int row, oracle_u128 x)
{
    uint64_t *lo = sums + (size_t)row * n_bins + bin, *hi = lo + n_bins;
    oracle_u128 sum = ((oracle_u128)*hi << 64 | *lo) + x;

    *lo = (uint64_t)sum;
    *hi = (uint64_t)(sum >> 64);
}

static inline void oracle_add_double(uint64_t *sum, double x)
{
    double s;

    memcpy(&s, sum, 8);
    s += x;
    memcpy(sum, &s, 8);
}

/* One weight of a good pixel. */
static inline void oracle_count(uint64_t *sums, const hcy_azint_job *job, size_t bin, uint32_t c,
                                struct oracle_pixel v)
{
    size_t n = job->n_bins;
    uint64_t c2 = ((uint64_t)c * c + (1u << 23)) >> 24;
    int variance = (job->flags & HCY_AZINT_WANT_VARIANCE) != 0, least = !(job->flags & HCY_AZINT_PART_OF_SUM);

    if (oracle_is_float(job->pixel_type)) {
        oracle_add_double(&sums[HCY_SUM_SIGNAL_LO * n + bin], c * v.d);
        if (variance)
            oracle_add_double(&sums[HCY_SUM_VARIANCE_LO * n + bin], (double)c2 * (v.d > least ? v.d : least));
    } else if (oracle_is_signed(job->pixel_type)) {
        oracle_add(sums, n, bin, HCY_SUM_SIGNAL_LO, (oracle_u128)((oracle_i128)c * v.i));
        if (variance)
            oracle_add(sums, n, bin, HCY_SUM_VARIANCE_LO, (oracle_u128)c2 * (uint64_t)(v.i > least ? v.i : least));
    } else {
        oracle_add(sums, n, bin, HCY_SUM_SIGNAL_LO, (oracle_u128)c * v.u);
        if (variance)
            oracle_add(sums, n, bin, HCY_SUM_VARIANCE_LO, (oracle_u128)c2 * (v.u > 1 ? v.u : v.u || least));
    }
}

/* One weight of a pixel that is masked in this frame alone; the same terms make a plan's bin norms. */
static inline void oracle_lose(uint64_t *sums, size_t n_bins, size_t bin, uint32_t c, float norm)
{
    uint64_t n = (uint64_t)((double)norm * 1099511627776.0);
    uint64_t cn = (uint64_t)(((oracle_u128)c * n + (1u << 23)) >> 24);

    sums[HCY_SUM_LOST_COUNT * n_bins + bin] += c;
    oracle_add(sums, n_bins, bin, HCY_SUM_LOST_NORM_LO, cn);
    oracle_add(sums, n_bins, bin, HCY_SUM_LOST_NORM2_LO, ((oracle_u128)cn * cn + ((uint64_t)1 << 39)) >> 40);
}

/* And what it adds for the plan's dark current and variance, which will be taken off and added in vain. */
static inline void oracle_lose_arrays(uint64_t *sums, const hcy_span spans[HCY_AZINT_SPANS],
                                      const hcy_azint_job *job, size_t bin, uint32_t c, size_t pixel)
{
    const hcy_azint_head *head = (const hcy_azint_head *)spans[0].data;
    double dark = spans[4].size ? ((const float *)spans[4].data)[pixel] : 0;
    double variance = spans[5].size ? ((const float *)spans[5].data)[pixel] : 0;
    uint64_t c2 = ((uint64_t)c * c + (1u << 23)) >> 24;
    size_t n = job->n_bins;

    if (oracle_is_float(job->pixel_type)) {
        if (spans[4].size)
            oracle_add_double(&sums[HCY_SUM_SIGNAL_LO * n + bin], c * dark);
        if (spans[5].size)
            oracle_add_double(&sums[HCY_SUM_VARIANCE_LO * n + bin], (double)c2 * variance);
    } else {
        oracle_i128 d = (int64_t)(dark * ldexp(1, head->dark_shift)), one = (oracle_i128)1 << head->dark_shift;
        oracle_i128 cd = (c * (d < 0 ? -d : d) + one / 2) / one;

        oracle_add(sums, n, bin, HCY_SUM_SIGNAL_LO, (oracle_u128)(d < 0 ? -cd : cd));
        oracle_add(sums, n, bin, HCY_SUM_VARIANCE_LO,
                   (oracle_u128)c2 * (uint64_t)(variance * ldexp(1, head->variance_shift)));
    }
}

/* The sums of one image, u64[HCY_AZINT_SUMS][n_bins], all rows written; returns n_lost. */
static inline uint64_t oracle_sums(uint64_t *sums, const hcy_span spans[HCY_AZINT_SPANS],
                                   const hcy_azint_job *job, const void *image)
{
    const uint8_t *p = (const uint8_t *)spans[1].data;
    const float *norms = (const float *)spans[3].data;
    uint64_t n_lost = 0;

    memset(sums, 0, sizeof(*sums) * HCY_AZINT_SUMS * job->n_bins);
    for (size_t i = 0; i < job->n_pixels; i++) {
        struct oracle_pixel v = oracle_pixel_get(image, i, job->pixel_type);
        int lost = oracle_invalid(job, v), more = 1, any = 0;

        while (more) {
            const uint8_t *w;
            uint32_t word = oracle_run(&p, &w);

            for (uint32_t k = 0; k < HCY_AZINT_RUN_N(word); k++) {
                size_t bin = HCY_AZINT_RUN_BIN(word) + k;

                if (lost) {
                    oracle_lose(sums, job->n_bins, bin, oracle_weight(w, k), norms[i]);
                    oracle_lose_arrays(sums, spans, job, bin, oracle_weight(w, k), i);
                } else {
                    oracle_count(sums, job, bin, oracle_weight(w, k), v);
                }
            }
            any |= HCY_AZINT_RUN_N(word) > 0;
            more = (int)HCY_AZINT_RUN_MORE(word);
        }
        n_lost += (uint64_t)(lost && any);
    }
    return n_lost;
}

/* --- Plans out of thin air --- */

struct oracle_plan {
    hcy_azint_head head;
    hcy_span spans[HCY_AZINT_SPANS];
    uint8_t *runs;
    uint64_t *starts;
    float *norms, *darks, *variances;
};

enum oracle_kind {
    ORACLE_WHOLE, /* a pixel is in one bin: no splitting */
    ORACLE_SPLIT, /* in one to three, neighbours in about the same ones: what geometries give */
    ORACLE_WILD   /* several runs a pixel, up to 127 weights each, in any order, any weights, also 0 */
};

static inline uint64_t oracle_random(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static inline uint32_t oracle_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)((oracle_random(state) >> 32) * n >> 32);
}

/* One run: `sum` of the weights is HCY_AZINT_ONE, or anything (wild). */
static inline uint8_t *oracle_put_run(uint8_t *p, uint64_t *state, uint32_t bin, uint32_t n, int more,
                                      int wild)
{
    uint32_t word = bin | n << 24 | (uint32_t)more << 31, left = HCY_AZINT_ONE;

    for (int b = 0; b < 4; b++)
        *p++ = (uint8_t)(word >> 8 * b);
    for (uint32_t k = 0; k < n; k++) {
        uint32_t c = k + 1 == n ? left : oracle_below(state, left + 1);

        if (wild && oracle_below(state, 3) == 0)
            c = oracle_below(state, 2) ? HCY_AZINT_ONE : 0;
        else
            left -= c;
        for (int b = 0; b < 3; b++)
            *p++ = (uint8_t)(c >> 8 * b);
    }
    return p;
}

static inline uint8_t *oracle_put_pixel(uint8_t *p, uint64_t *state, enum oracle_kind kind, uint32_t bin,
                                        uint32_t n_bins)
{
    int runs = kind == ORACLE_WILD ? 1 + (int)oracle_below(state, 3) : 1;
    uint32_t most = kind == ORACLE_WHOLE ? 1 : kind == ORACLE_SPLIT ? 3 : 127;

    while (runs--) {
        uint32_t n = 1 + oracle_below(state, most < n_bins ? most : n_bins);

        if (kind == ORACLE_WILD) {
            bin = oracle_below(state, n_bins);
            if (oracle_below(state, 4))
                n = 1 + n % 4;
        }
        if (n > n_bins)
            n = n_bins;
        if (bin > n_bins - n)
            bin = n_bins - n;
        p = oracle_put_run(p, state, bin, n, runs > 0, kind == ORACLE_WILD);
    }
    return p;
}

/* Tables for height x width pixels; one pixel in `mask_every` is masked (0: none), gaps of whole rows
 * included. Returns 0, or -1 without memory.  Freed by oracle_plan_free(). */
static inline int oracle_plan_make(struct oracle_plan *plan, uint64_t seed, enum oracle_kind kind,
                                   uint32_t height, uint32_t width, uint32_t n_bins, uint32_t mask_every)
{
    size_t n = (size_t)height * width, room = kind == ORACLE_WILD ? 3 * (4 + 3 * 127) : 4 + 3 * 3;
    double most = kind == ORACLE_WILD ? 4000 : 1;
    uint64_t state = seed;
    uint8_t *p;

    memset(plan, 0, sizeof(*plan));
    p = plan->runs = (uint8_t *)malloc(n * room + 1);
    plan->starts = (uint64_t *)malloc(((n + HCY_AZINT_START_EVERY - 1) / HCY_AZINT_START_EVERY + 1) * 8);
    plan->norms = (float *)malloc(n * sizeof(float) + 1);
    if (!p || !plan->starts || !plan->norms)
        return -1;
    for (size_t i = 0; i < n; i++) {
        double y = (double)(i / width) - height * 0.4, x = (double)(i % width) - width * 0.6;
        double r = sqrt((x * x + y * y) / ((double)height * height + (double)width * width));
        uint32_t bin = (uint32_t)(r * n_bins);

        if (i % HCY_AZINT_START_EVERY == 0)
            plan->starts[i / HCY_AZINT_START_EVERY] = (uint64_t)(p - plan->runs);
        plan->norms[i] = (float)(0.05 + (double)(oracle_random(&state) >> 40) / 16777216.0 * most);
        if (mask_every && (oracle_below(&state, mask_every) == 0 || i / width % 97 == 31)) {
            memset(p, 0, 4);
            p += 4;
        } else {
            p = oracle_put_pixel(p, &state, kind, bin, n_bins);
        }
    }
    plan->starts[(n + HCY_AZINT_START_EVERY - 1) / HCY_AZINT_START_EVERY] = (uint64_t)(p - plan->runs);
    plan->head.version = HCY_AZINT_VERSION;
    plan->head.n_bins = n_bins;
    plan->head.n_pixels = n;
    plan->head.height = height;
    plan->head.width = width;
    plan->head.hash = oracle_random(&state);
    for (const uint8_t *q = plan->runs, *w; q < p;)
        plan->head.n_weights += HCY_AZINT_RUN_N(oracle_run(&q, &w));
    plan->spans[0].data = &plan->head;
    plan->spans[0].size = sizeof(plan->head);
    plan->spans[1].data = plan->runs;
    plan->spans[1].size = (size_t)(p - plan->runs);
    plan->spans[2].data = plan->starts;
    plan->spans[2].size = ((n + HCY_AZINT_START_EVERY - 1) / HCY_AZINT_START_EVERY + 1) * 8;
    plan->spans[3].data = plan->norms;
    plan->spans[3].size = n * sizeof(float);
    return 0;
}

/* A dark current, and variances if asked for. */
static inline int oracle_plan_add_arrays(struct oracle_plan *plan, uint64_t seed, int variances)
{
    size_t n = (size_t)plan->head.n_pixels;
    uint64_t state = seed;

    plan->darks = (float *)malloc(n * sizeof(float) + 1);
    plan->variances = (float *)malloc(n * sizeof(float) + 1);
    if (!plan->darks || !plan->variances)
        return -1;
    for (size_t i = 0; i < n; i++) {
        plan->darks[i] = (float)((double)oracle_random(&state) / 18446744073709551616.0 * 3000 - 500);
        plan->variances[i] = (float)((double)oracle_random(&state) / 18446744073709551616.0 * 40);
    }
    plan->head.version = HCY_AZINT_VERSION_FULL;
    plan->head.dark_shift = (int)oracle_below(&state, 51);
    plan->head.variance_shift = variances ? (int)oracle_below(&state, 57) : 0;
    plan->spans[4].data = plan->darks;
    plan->spans[4].size = n * sizeof(float);
    plan->spans[5].data = plan->variances;
    plan->spans[5].size = variances ? n * sizeof(float) : 0;
    return 0;
}

static inline void oracle_plan_free(struct oracle_plan *plan)
{
    free(plan->darks);
    free(plan->variances);
    free(plan->runs);
    free(plan->starts);
    free(plan->norms);
}

#endif
