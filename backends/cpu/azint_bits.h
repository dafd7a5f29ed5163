/* azint_bits.h - a block's bit-planes, and which of its pixels do not go into digits; compiled once a SIMD
 * variant.
 *
 * Loops over words that compilers turn into vectors; each variant's translation unit makes azint_beyond() its
 * own.
 */
#ifndef HCY_CPU_AZINT_BITS_H
#define HCY_CPU_AZINT_BITS_H

#include "azint_priv.h"

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

/* struct azint_ops, beyond. */
static inline size_t azint_beyond(const struct azint_block *b, unsigned from, const uint64_t *lost,
                                  uint64_t *out)
{
    const uint8_t *sign = azint_plane(b, b->top);
    size_t n = b->n_words, count = 0;
    memset(out, 0, n * sizeof *out);
    if (from > b->top)
        return 0;
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
    out[n - 1] &= b->last;
    for (size_t i = 0; i < n; i++)
        count += (size_t)__builtin_popcountll(out[i]);
    return count;
}

#endif
