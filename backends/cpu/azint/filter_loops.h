/* filter_loops.h - what azint_filter does to all pixels of a bin; included by one file a SIMD variant, whose
 * flags turn these loops into its instructions. */
#ifndef HCY_CPU_FILTER_LOOPS_H
#define HCY_CPU_FILTER_LOOPS_H

#include "cpu_filter.h"

#define NO_SIGN(v) 0
#define SIGN(v)    ((int32_t)(v) >> 31) /* all bits of it */

/* The image's pixels one behind the other, in `raw`; then to values and x. */
#define LOAD(type, number, sign)                                                                            \
    do {                                                                                                    \
        const type *restrict image = (const type *)(const void *)bin->image;                                \
        type *restrict raw = (type *)(void *)bin->found;                                                    \
        for (size_t i = 0; i < n; i++) {                                                                    \
            __builtin_prefetch(&image[pixels[i + FILTER_AHEAD]]);                                           \
            raw[i] = image[pixels[i]];                                                                      \
        }                                                                                                   \
        for (size_t i = 0; i < n; i++) {                                                                    \
            number v = raw[i];                                                                              \
            values[i] = v;                                                                                  \
            x[i] = (float)v * inverse[i];                                                                   \
            seen |= (uint32_t)v ^ (uint32_t)sign(v);                                                        \
        }                                                                                                   \
    } while (0)

static uint64_t load_bin(struct filter_bin *bin)
{
    const uint32_t *restrict pixels = bin->pixels;
    const float *restrict inverse = bin->inverse;
    int64_t *restrict values = bin->values;
    float *restrict x = bin->x;
    size_t n = bin->n;
    uint32_t seen = 0;
    /* `found` is not in use yet and takes the gathered pixels, so that the loop that gathers, which no vector
     * speeds up, is apart from the arithmetic. */
    switch (bin->job->pixel_type) {
    case HCY_PIXEL_U8:
        LOAD(uint8_t, int32_t, NO_SIGN);
        break;
    case HCY_PIXEL_U16:
        LOAD(uint16_t, int32_t, NO_SIGN);
        break;
    case HCY_PIXEL_U32:
        LOAD(uint32_t, uint32_t, NO_SIGN);
        break;
    case HCY_PIXEL_I8:
        LOAD(int8_t, int32_t, SIGN);
        break;
    case HCY_PIXEL_I16:
        LOAD(int16_t, int32_t, SIGN);
        break;
    default:
        LOAD(int32_t, int32_t, SIGN);
        break;
    }
    return seen;
}

static size_t find_lost(const struct filter_bin *bin)
{
    const hcy_azint_job *job = bin->job;
    const int64_t *values = bin->values;
    uint64_t lo[HCY_AZINT_MAX_INVALID], span[HCY_AZINT_MAX_INVALID];
    unsigned n = 0;
    size_t count = 0;
    /* The unsigned difference tests both ends of a range at once; one that ends before it begins holds no value. */
    for (unsigned r = 0; r < job->n_invalid; r++) {
        const hcy_azint_range *range = &job->invalid[r];
        lo[n] = range->lo;
        span[n] = range->hi - range->lo;
        n += bin->type->is_signed ? (int64_t)range->lo <= (int64_t)range->hi : range->lo <= range->hi;
    }
    if (!n)
        return 0;
    for (size_t at = 0; at < bin->n; at += FILTER_STEP) {
        size_t end = bin->n - at < FILTER_STEP ? bin->n : at + FILTER_STEP;
        /* A step is tested without branches; one by one only where something was found. */
        uint64_t any = 0;
        for (unsigned r = 0; r < n; r++)
            for (size_t i = at; i < at + FILTER_STEP; i++) /* the padding holds what was there */
                any |= (uint64_t)values[i] - lo[r] <= span[r];
        for (size_t i = at; i < end && any; i++) {
            unsigned is = 0;
            for (unsigned r = 0; r < n; r++)
                is |= (uint64_t)values[i] - lo[r] <= span[r];
            if (is)
                bin->found[count++] = (uint32_t)i;
        }
    }
    return count;
}

/* (A variant may have its own of these.) */
static inline void sum_unit(const struct filter_bin *bin, size_t first, size_t last, struct filter_parts *parts)
{
    const int64_t *values = bin->values;
    const uint32_t *norms = bin->norms24;
    int64_t signal = 0, variance = 0, square = 0, cross = 0;
    for (size_t i = first; i < last; i++) {
        signal += values[i];
        variance += values[i] > 1 ? values[i] : 1;
    }
    for (size_t i = first; i < last && bin->deviation; i++) {
        /* Values are below 2^24; the cast lets compilers multiply 32 bits by 32. */
        int64_t v = (int32_t)values[i];
        square += v * v;
        cross += v * (int32_t)norms[i];
    }
    *parts = (struct filter_parts){ signal, variance, { square, 0 }, { cross, 0 } };
}

static inline void sum_bin(const struct filter_bin *bin, size_t first, size_t last, struct filter_parts *parts)
{
    const int64_t *values = bin->values;
    const uint32_t *norms = bin->norms24, *weights = bin->weights;
    const int64_t low = (1 << 24) - 1;
    int64_t signal = 0, variance = 0, square[2] = { 0 }, cross[2] = { 0 };
    if (!weights) {
        sum_unit(bin, first, last, parts);
        return;
    }
    for (size_t i = first; i < last; i++) {
        int64_t v = (int32_t)values[i], c = weights[i] & 0xffffff, c2 = (c * c + (1 << 23)) >> 24;
        signal += c * v;
        variance += c2 * (v > 1 ? v : 1);
    }
    for (size_t i = first; i < last && bin->deviation; i++) {
        int64_t v = (int32_t)values[i], c = weights[i] & 0xffffff, c2 = (c * c + (1 << 23)) >> 24;
        /* Products of c2 have 72 bits, so they are summed in two parts. */
        int64_t vv = v * v, q = c2 * (int32_t)norms[i];
        square[0] += c2 * (vv & low);
        square[1] += c2 * (vv >> 24);
        cross[0] += v * (q & low);
        cross[1] += v * (q >> 24);
    }
    *parts = (struct filter_parts){ signal, variance, { square[0], square[1] }, { cross[0], cross[1] } };
}

static inline size_t find_outside(const struct filter_bin *bin, float lo, float hi)
{
    const float *x = bin->x;
    size_t count = 0;
    for (size_t at = 0; at < bin->n; at += FILTER_STEP) {
        /* A NaN, which is out already, compares false. */
        int any = 0;
        for (size_t i = at; i < at + FILTER_STEP; i++)
            any |= (x[i] < lo) | (x[i] > hi);
        for (size_t i = at; any && i < at + FILTER_STEP; i++)
            if (x[i] < lo || x[i] > hi)
                bin->found[count++] = (uint32_t)i;
    }
    return count;
}

/* 64 pixels' digit of the square, for values of one digit, of two, of any number; returns how many are not 0.  A
 * negative value's digit is negative where it is the last that the value's block had, not the frame. */
static inline unsigned square_1(const struct filter_digits *of, size_t at, uint8_t *out)
{
    const uint8_t *row = of->rows[0] + at;
    unsigned shift = AZINT_DIGIT_BITS * of->digit;
    uint8_t count = 0;
    for (size_t i = 0; i < 64; i++) {
        int16_t v = (int8_t)row[i];
        out[i] = (uint8_t)((uint16_t)(v * v) >> shift & 0x7f);
    }
    for (size_t i = 0; i < 64; i++)
        count += out[i] > 0;
    return count;
}

static inline unsigned square_2(const struct filter_digits *of, size_t at, uint8_t *out)
{
    const uint8_t *low = of->rows[0] + at, *high = of->rows[1] + at;
    unsigned shift = AZINT_DIGIT_BITS * of->digit;
    uint8_t count = 0;
    for (size_t i = 0; i < 64; i++) {
        int32_t v = (int8_t)high[i] * 128 + (int8_t)low[i];
        out[i] = (uint8_t)((uint32_t)(v * v) >> shift & 0x7f);
    }
    for (size_t i = 0; i < 64; i++)
        count += out[i] > 0;
    return count;
}

static inline unsigned square_n(const struct filter_digits *of, size_t at, uint8_t *out)
{
    unsigned shift = AZINT_DIGIT_BITS * of->digit, count = 0;
    for (size_t i = at; i < at + 64; i++) {
        int64_t v = 0;
        for (unsigned d = of->n; d-- > 0;)
            v = v * 128 + (int8_t)of->rows[d][i];
        *out = shift < 64 ? (uint8_t)((uint64_t)v * (uint64_t)v >> shift & 0x7f) : 0;
        count += *out++ > 0;
    }
    return count;
}

static size_t square_digits(const struct filter_digits *of, size_t n, uint8_t *out)
{
    unsigned shift = AZINT_DIGIT_BITS * of->digit;
    size_t count = 0;
    for (size_t at = 0; at < n; at += 64) {
        uint64_t live;
        unsigned found;
        memcpy(&live, of->live + at / 8, sizeof live);
        /* Nearly all values have one digit or two, whose squares fit the lanes that vectors have most of. */
        if (of->n == 1 && shift < 16)
            found = square_1(of, at, out + at);
        else if (of->n == 2 && shift < 32)
            found = square_2(of, at, out + at);
        else
            found = square_n(of, at, out + at);
        if (!of->count || !live)
            continue;
        /* Pixels without weights do not count, whatever is in their rows. */
        if (live != UINT64_MAX && found)
            for (size_t i = found = 0; i < 64; i++)
                found += out[at + i] && live >> i & 1;
        count += found;
    }
    return count;
}

#define FILTER_OPS                                                                                          \
    {                                                                                                       \
        load_bin, find_lost, sum_bin, find_outside, square_digits                                           \
    }

#endif
