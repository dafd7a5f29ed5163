/* planes.h - a block's bit-planes, and which of its pixels do not go into digits; compiled once a
 * variant.
 *
 * Loops over words that compilers turn into vectors of whatever the variant has.
 */
#ifndef HCY_CPU_AZINT_PLANES_H
#define HCY_CPU_AZINT_PLANES_H

#include "cpu_azint.h"

#include <string.h>

/* The block's planes, restricted to its part of the strip. */
struct azint_block {
    const uint8_t *planes;
    size_t stride;
    unsigned same, top; /* planes same.. top are equal */
    bool is_signed;
    size_t n_bytes, n_words; /* of a plane */
    uint64_t last;           /* pixels of the last word that exist */
    const uint8_t *live;     /* pixels that have weights */
};

static inline uint64_t azint_load(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

static inline const uint8_t *azint_plane(const struct azint_block *b, unsigned p)
{
    return b->planes + (size_t)(p < b->same ? p : b->same) * b->stride;
}

/* A pixel's value from its bits in planes 0 to `same`, sign-extended where values are signed. */
static inline uint64_t azint_plane_value(const struct azint_block *b, uint64_t bits)
{
    /* All planes above `same` equal it, so extending its bit restores them; an unsigned value ends at its top
     * plane. */
    unsigned shift = 63 - b->same;
    int64_t extended = (int64_t)(bits << shift) >> shift;
    return b->is_signed ? (uint64_t)extended : (uint64_t)extended & UINT64_MAX >> (63 - b->top);
}

/* struct azint_ops, beyond. */
static inline size_t azint_beyond(const struct azint_block *b, unsigned from, const uint64_t *lost,
                                  uint64_t *out)
{
    const uint8_t *sign = azint_plane(b, b->top);
    size_t n = b->n_words, count = 0;
    /* Callers read `out` whatever is found. */
    memset(out, 0, n * sizeof *out);
    if (from > b->top)
        return 0;
    /* A negative value fits if its upper planes equal its sign; the planes from `same` on do so by definition. */
    if (b->is_signed) {
        for (unsigned p = from; p < b->same; p++)
            for (size_t i = 0; i < n; i++)
                out[i] |= azint_load(b->planes + p * b->stride + 8 * i) ^ azint_load(sign + 8 * i);
    } else {
        for (unsigned p = from < b->same ? from : b->same; p <= b->same; p++)
            for (size_t i = 0; i < n; i++)
                out[i] |= azint_load(b->planes + p * b->stride + 8 * i);
    }
    for (size_t i = 0; i < n; i++)
        out[i] &= azint_load(b->live + 8 * i);
    for (size_t i = 0; lost && i < n; i++)
        out[i] &= ~lost[i];
    /* What stands behind the block's last pixel may belong to the next block. */
    out[n - 1] &= b->last;
    for (size_t i = 0; i < n; i++)
        count += (size_t)__builtin_popcountll(out[i]);
    return count;
}

/* Pixels above `value` and equal to it.  The planes from `same` on, all zeros or all ones, are compared with
 * its upper bits as numbers, the others one by one from the top. */
static inline void azint_compare(const struct azint_block *b, uint64_t value, uint64_t *above,
                                 uint64_t *equal)
{
    const uint8_t *top = azint_plane(b, b->same);
    uint64_t upper = value >> b->same, ones = UINT64_MAX >> (63 - b->top) >> b->same;
    bool zeros_above = false, ones_above = ones > upper, zeros_equal = upper == 0, ones_equal = ones == upper;
    /* As numbers the equal planes are 0 or `ones`; for signed types they are 0 or -1. */
    if (b->is_signed) {
        int64_t signed_upper = (int64_t)value >> b->same;
        zeros_above = 0 > signed_upper;
        ones_above = -1 > signed_upper;
        zeros_equal = 0 == signed_upper;
        ones_equal = -1 == signed_upper;
    }
    /* Masks choose between the two cases, so that the loops have no branches. */
    const uint64_t above0 = zeros_above ? UINT64_MAX : 0, above1 = ones_above ? UINT64_MAX : 0;
    const uint64_t equal0 = zeros_equal ? UINT64_MAX : 0, equal1 = ones_equal ? UINT64_MAX : 0;
    for (size_t i = 0; i < b->n_words; i++) {
        uint64_t bits = azint_load(top + 8 * i);
        above[i] = (above0 & ~bits) | (above1 & bits);
        equal[i] = (equal0 & ~bits) | (equal1 & bits);
    }
    /* From the top bit down a pixel is decided where it first differs from the value.  If neither case can be
     * equal, all pixels are decided already. */
    for (unsigned p = b->same; p-- > 0 && (zeros_equal || ones_equal);) {
        const uint8_t *plane = b->planes + p * b->stride;
        const uint64_t set = value >> p & 1 ? UINT64_MAX : 0;
        for (size_t i = 0; i < b->n_words; i++) {
            uint64_t bits = azint_load(plane + 8 * i);
            above[i] |= equal[i] & bits & ~set;
            equal[i] &= ~(bits ^ set);
        }
    }
}

/* struct azint_ops, lost. */
static inline bool azint_lost(const struct azint_block *b, const hcy_azint_job *job, uint64_t *lost)
{
    uint64_t low[2][AZINT_STRIP / 64], high[2][AZINT_STRIP / 64], any = 0;
    const uint8_t *top = azint_plane(b, b->same);
    bool large = b->is_signed; /* is there a value that fills the planes up to the top? */
    for (size_t i = 0; i < b->n_words && !large; i++)
        large = azint_load(top + 8 * i) & azint_load(b->live + 8 * i) &
                (i + 1 < b->n_words ? UINT64_MAX : b->last);
    memset(lost, 0, b->n_words * sizeof *lost);
    for (unsigned r = 0; r < job->n_invalid; r++) {
        if (!large && job->invalid[r].lo >> b->same)
            continue; /* sentinels, mostly */
        azint_compare(b, job->invalid[r].lo, low[0], low[1]);
        azint_compare(b, job->invalid[r].hi, high[0], high[1]);
        for (size_t i = 0; i < b->n_words; i++)
            lost[i] |= (low[0][i] | low[1][i]) & ~high[0][i];
    }
    /* Pixels that do not exist or have no weights are no loss. */
    lost[b->n_words - 1] &= b->last;
    for (size_t i = 0; i < b->n_words; i++) {
        lost[i] &= azint_load(b->live + 8 * i);
        any |= lost[i];
    }
    return any != 0;
}

/* struct azint_ops, ones. */
static inline bool azint_ones(const struct azint_block *b, unsigned from, const uint64_t *pixels)
{
    uint64_t zeros = 0;
    for (unsigned p = from < b->same ? from : b->same; p <= b->same; p++)
        for (size_t i = 0; i < b->n_words; i++)
            zeros |= pixels[i] & ~azint_load(b->planes + p * b->stride + 8 * i);
    return !zeros;
}

/* struct azint_ops, drop. */
static inline void azint_drop(struct azint_block *b, unsigned n_planes, const uint64_t *drop, uint8_t *to)
{
    size_t stride = 8 * b->n_words;
    for (unsigned p = 0; p < n_planes && p <= b->same; p++)
        for (size_t i = 0; i < b->n_words; i++) {
            uint64_t word = azint_load(b->planes + p * b->stride + 8 * i) & ~drop[i];
            memcpy(to + p * stride + 8 * i, &word, sizeof word);
        }
    /* From here on the block is its copy; nobody asks for the planes that were not copied. */
    b->planes = to;
    b->stride = stride;
}

#endif
