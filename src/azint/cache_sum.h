/* cache_sum.h - the sum by which a cached plan's tables are known to be what was written: of each piece of the file,
 * then of these sums.  Inline, no state. */
#ifndef HCY_AZINT_CACHE_SUM_H
#define HCY_AZINT_CACHE_SUM_H

#include "azint_priv.h"

#include <string.h>

#define AZINT_PIECE ((size_t)1 << 20) /* bytes that are read or written, and summed, at once */
#define AZINT_LINE  64u

struct azint_lines {
    uint64_t lane[AZINT_LINE / sizeof(uint64_t)];
};

/* The number of the piece is its seed, so that pieces which change places are noticed. */
static inline struct azint_lines azint_lines_of(uint64_t piece)
{
    struct azint_lines l;

    for (unsigned k = 0; k < AZINT_LINE / sizeof(uint64_t); k++)
        l.lane[k] = piece + k;
    return l;
}

/* Whole lines; any change of one word changes the sum.  Eight sums that do not wait for one another keep up with
 * memory, each in a register of its own: compilers would make vectors of an array, and few processors multiply those.
 * Processors do not look ahead over the end of a page by themselves. */
static inline void azint_lines_add(struct azint_lines *lines, const uint8_t *p, size_t size)
{
    enum { AHEAD = 4096 };
    uint64_t *l = lines->lane, w[AZINT_LINE / sizeof(uint64_t)];
    uint64_t a = l[0], b = l[1], c = l[2], d = l[3], e = l[4], f = l[5], g = l[6], h = l[7];

#define ADD(lane, i) lane = (lane ^ w[i]) * 0x9e3779b97f4a7c15u
    for (; size >= sizeof w; p += sizeof w, size -= sizeof w) {
        if (size > AHEAD)
            __builtin_prefetch(p + AHEAD);
        memcpy(w, p, sizeof w);
        ADD(a, 0), ADD(b, 1), ADD(c, 2), ADD(d, 3), ADD(e, 4), ADD(f, 5), ADD(g, 6), ADD(h, 7);
    }
#undef ADD
    memcpy(l, (const uint64_t[]){ a, b, c, d, e, f, g, h }, sizeof lines->lane);
}

/* The lanes are mixed in order, so that words which change places between lanes change the sum. */
static inline uint64_t azint_lines_sum(const struct azint_lines *lines)
{
    uint64_t sum = lines->lane[0];

    for (unsigned k = 1; k < AZINT_LINE / sizeof(uint64_t); k++)
        sum = (sum ^ lines->lane[k] >> 29) * 0x9e3779b97f4a7c15u + lines->lane[k];
    return sum;
}

/* Of all pieces' sums, in their order: the same for any number of threads. */
static inline uint64_t azint_pieces_sum(const uint64_t *sums, size_t n)
{
    struct azint_hash hash = AZINT_HASH_INIT;

    hcy__azint_hash(&hash, sums, n * sizeof *sums);
    return hash.a;
}

#endif
