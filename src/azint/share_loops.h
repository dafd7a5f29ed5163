/* share_loops.h - the loops over the bins of one pixel, of which it may have thousands: areas under an edge, shares,
 * weights, and the weights' part in the norms of the bins; and those over a row of pixels in few bins each.
 *
 * With SHARE_LOOPS_TEXT comes their text.  Each file of a variant (struct azint_loops) compiles it for instructions of
 * its own; others have it for a few bins, without a call.  All give the same bits: single operations of IEEE doubles in
 * the same order, and integers.  No state; any thread.
 */
#ifndef HCY_SHARE_LOOPS_H
#define HCY_SHARE_LOOPS_H

#include "azint_priv.h"

/* What a thread has added up, bin by bin: [n_bins] each.  Whoever adds empties them into the plan's before a sum of
 * AZINT_MOST_ADDED terms, below 2^40 each, would leave 64 bits. */
struct azint_sums {
    uint64_t *count, *norm, *norm2;
};
#define AZINT_MOST_ADDED ((size_t)1 << 24)

/* Under an edge that crosses bins from one side to the other, the area of bin k is half * (2 k + 1) + y. */
struct azint_slant {
    double half, y;
};

/* A row of outlines that share corners, [n + 1] above and below them, in single precision; which bins each reaches
 * into: first bin | how many << 24.  Radial values become bins by `min` and `delta`; the contour is the geometry's. */
struct azint_outlines {
    const double *upper, *lower, *upper_chi, *lower_chi;
    const uint32_t *spans;
    double min, delta, contour;
};
#define AZINT_ALONE UINT32_MAX

struct azint_loops {
    /* Adds those areas of bins `first` to first + n - 1; to single precision. */
    void (*add_slant)(double *area, struct azint_slant edge, uint32_t first, size_t n);
    /* The shares of an interval that begins at `from` in the first k + 1 bins; `inverse` of its width. */
    void (*cut_interval)(double *cum, uint32_t first, size_t n, double from, double inverse);
    void (*divide)(double *cum, size_t n, double whole);
    /* Cumulated shares to 24 bits, cut off at 0 and 1. */
    void (*round)(uint32_t *out, const double *cum, size_t n);
    /* out[k] = cum[k] - cum[k - 1], cum[-1] being 0; not 0 if one is negative. */
    int (*subtract)(uint32_t *out, const uint32_t *cum, size_t n);
    /* n weights of three bytes each to p. */
    void (*pack)(uint8_t *p, const uint32_t *weights, size_t n);
    /* Adds weights to the sums of bins `first` to first + n - 1, of a pixel whose norm is n40 <= 2^40. */
    void (*add_weights)(const struct azint_sums *sums, size_t first, const uint32_t *weights, size_t n, uint64_t n40);
    /* Of n outlines, those in two or three bins: what hcy__azint_shares_polygon() and `round` make of them, in the
     * first bin and in the first two.  AZINT_ALONE: it has to be taken by itself, as one without an area.  NULL: they
     * all have. */
    void (*share_outlines)(uint32_t *one, uint32_t *two, const struct azint_outlines *outlines, size_t n);
    /* Before which bin the runs of eight segments end (azint_segments_at()), that begin at the first of `starts`.
     * UINT32_MAX: they have to be looked at in another way.  NULL: there is none such. */
    uint32_t (*end_of_eight)(const uint8_t *runs, size_t size, const uint64_t *starts);
    /* atan2(), to single precision. */
    void (*azimuths)(double *chi, const double *y, const double *x, size_t n);
};
/* Without instructions of its own; and the best that this processor has. */
extern const struct azint_loops hcy__azint_loops_portable, hcy__azint_loops_avx2;
const struct azint_loops *hcy__azint_loops(void);

#endif

#ifdef SHARE_LOOPS_TEXT
static inline void put_word(uint8_t *p, uint32_t x)
{
    p[0] = (uint8_t)x;
    p[1] = (uint8_t)(x >> 8);
    p[2] = (uint8_t)(x >> 16);
    p[3] = (uint8_t)(x >> 24);
}

static inline void add_slant_area(double *area, struct azint_slant edge, uint32_t first, size_t n)
{
    /* Bins are below 2^24, and integers with a sign become doubles in one instruction. */
    for (size_t k = 0; k < n; k++) {
        double under = edge.half * (double)(int32_t)(2 * (first + (uint32_t)k) + 1) + edge.y;

        area[k] = (double)(float)(area[k] + under);
    }
}

static inline void cut_whole_bins(double *cum, uint32_t first, size_t n, double from, double inverse)
{
    for (size_t k = 0; k < n; k++)
        cum[k] = ((double)(int32_t)(first + (uint32_t)k + 1) - from) * inverse;
}

static inline void divide_shares(double *cum, size_t n, double whole)
{
    for (size_t k = 0; k < n; k++)
        cum[k] /= whole;
}

static inline void round_shares(uint32_t *out, const double *cum, size_t n)
{
    const double one = HCY_AZINT_ONE;

    for (size_t k = 0; k < n; k++) {
        double w = cum[k] * one + 0.5;

        /* What is no number becomes 0. */
        w = w > 0 ? w : 0;
        out[k] = (uint32_t)(int32_t)(w < one ? w : one);
    }
}

static inline int subtract_shares(uint32_t *restrict out, const uint32_t *restrict cum, size_t n)
{
    uint32_t signs = 0;

    out[0] = cum[0];
    for (size_t k = 1; k < n; k++) {
        out[k] = cum[k] - cum[k - 1];
        signs |= out[k];
    }
    /* Differences of 24 bits: the topmost of 32 is the sign. */
    return signs >> 31;
}

/* A run's length has 7 bits; the topmost bit says that the pixel goes on. */
static inline uint32_t run_word(uint32_t bin, uint32_t n, int more)
{
    return bin | n << 24 | (uint32_t)more << 31;
}

static inline void pack_weights(uint8_t *p, const uint32_t *weights, size_t n)
{
    size_t k = 0;

    /* Four bytes as one store: what lies behind a weight's three is written over by the next. */
    for (; k + 1 < n; k++, p += 3)
        put_word(p, weights[k]);
    /* Behind the last one may be another thread's. */
    for (int byte = 0; k < n && byte < 3; byte++)
        *p++ = (uint8_t)(weights[k] >> 8 * byte);
}

/* The only run of a pixel's window. */
static inline uint8_t *put_whole(uint8_t *p, uint32_t bin, int more)
{
    const uint32_t one = HCY_AZINT_ONE;

    put_word(p, run_word(bin, 1, more));
    pack_weights(p + 4, &one, 1);
    return p + 7;
}

/* Fixed point as the devices compute it for pixels that are lost (azint_format.h): both cancel to the last bit. */
static inline void add_weight(const struct azint_sums *sums, size_t bin, uint32_t c, uint64_t n40)
{
    /* 24 bits by 40 and then 40 by 40: the second in two halves of 20 bits, so that nothing has more than 64. */
    uint64_t cn = (c * n40 + (1u << 23)) >> 24, high = cn >> 20, low = cn & 0xfffff;

    sums->count[bin] += c;
    sums->norm[bin] += cn;
    sums->norm2[bin] += high * high + ((((high * low) << 21) + low * low + ((uint64_t)1 << 39)) >> 40);
}
#endif
