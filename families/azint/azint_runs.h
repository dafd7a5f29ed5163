/* azint_runs.h - the canonical runs (azint_format.h) as code: one run, its weights, where a pixel's runs begin.
 *
 * C, and the text of kernels for GPUs, whose compilers want a word of their own before functions (AZINT_RUN_FUNCTION).
 * No state.  Only azint_run_next() looks at whether the bytes are runs at all: whoever takes a plan's tables in reads
 * them by it, once; the others trust that.
 */
#ifndef HCY_AZINT_RUNS_H
#define HCY_AZINT_RUNS_H

#include "azint_format.h"

#ifndef AZINT_RUN_FUNCTION
#include <stddef.h>
#include <string.h>
#define AZINT_RUN_FUNCTION static inline
#define AZINT_RUNS_ON_HOST 1
#endif

struct azint_run {
    uint32_t bin, n, more;  /* the first of n bins; does the pixel have another run? */
    const uint8_t *weights; /* 3 bytes each */
};

AZINT_RUN_FUNCTION struct azint_run azint_run_at(const uint8_t *p)
{
    uint32_t word = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    struct azint_run r = { HCY_AZINT_RUN_BIN(word), HCY_AZINT_RUN_N(word), HCY_AZINT_RUN_MORE(word), p + 4 };
    return r;
}

/* Where the next run begins. */
AZINT_RUN_FUNCTION const uint8_t *azint_run_end(const struct azint_run *r)
{
    return r->weights + 3 * (uint64_t)r->n;
}

AZINT_RUN_FUNCTION uint32_t azint_weight(const struct azint_run *r, uint32_t k)
{
    const uint8_t *w = r->weights + 3 * (uint64_t)k;
#ifdef AZINT_RUNS_ON_HOST
    /* With the byte before it, which is always the run's own: four bytes are one load. */
    uint32_t word;
    memcpy(&word, w - 1, sizeof word);
    return word >> 8;
#else
    return (uint32_t)w[0] | (uint32_t)w[1] << 8 | (uint32_t)w[2] << 16;
#endif
}

/* Of a pixel the first run, in runs and starts that begin at these places. */
AZINT_RUN_FUNCTION const uint8_t *azint_runs_of(const uint8_t *runs, const uint64_t *starts, uint64_t pixel)
{
    const uint8_t *p = runs + starts[pixel / HCY_AZINT_START_EVERY];
    for (uint32_t i = pixel % HCY_AZINT_START_EVERY; i;) {
        struct azint_run r = azint_run_at(p);
        p = azint_run_end(&r);
        i -= !r.more;
    }
    return p;
}

#ifdef AZINT_RUNS_ON_HOST
/* The run at *at of `size` bytes, which moves behind it; 0 if it leaves them, or the bins. */
static inline int azint_run_next(struct azint_run *run, size_t *at, const uint8_t *runs, size_t size,
                                 uint32_t n_bins)
{
    if (size < *at || size - *at < 4)
        return 0;
    *run = azint_run_at(runs + *at);
    if (size - *at - 4 < 3 * (size_t)run->n || run->bin + run->n > n_bins)
        return 0;
    *at += 4 + 3 * (size_t)run->n;
    return 1;
}

/* What the pixels of four segments have, if each pixel has one run, as most do: a bit a pixel with bins, and from which
 * bin on to before which one these lie. */
enum { AZINT_TOGETHER = 4 * HCY_AZINT_START_EVERY };
struct azint_segments {
    uint64_t live;
    uint32_t first, last;
};

/* Of four segments under way: their words, one or the other; the least of them turned, bin before number, less 1, which
 * HCY_AZINT_NO_RUN makes the largest of all. */
struct azint_words {
    uint64_t live;
    uint32_t any, least, last;
};

/* The next run of segment k, at *at of `size` bytes; 0: it leaves these. */
static inline int azint_words_next(struct azint_words *s, uint64_t *at, const uint8_t *runs, size_t size, unsigned k)
{
    if (size < 4 || *at > size - 4)
        return 0;
    uint32_t word, turned, end;
    memcpy(&word, runs + *at, sizeof word);
    turned = (word << 8 | word >> 24) - 1;
    end = HCY_AZINT_RUN_BIN(word) + HCY_AZINT_RUN_N(word);
    *at += 4 + 3 * (uint64_t)HCY_AZINT_RUN_N(word);
    s->any |= word;
    s->live |= (uint64_t)(HCY_AZINT_RUN_N(word) > 0) << (k * HCY_AZINT_START_EVERY + HCY_AZINT_START_EVERY - 1);
    s->least = turned < s->least ? turned : s->least;
    s->last = end > s->last ? end : s->last;
    return 1;
}

/* The segments that begin at the first four of these starts and end at the next ones.  0: they are not of this kind, or
 * not sound, so that their runs have to be looked at one by one.  Bins may be any. */
static inline int azint_segments_at(struct azint_segments *segments, const uint8_t *runs, size_t size,
                                    const uint64_t *starts)
{
    enum { EVERY = HCY_AZINT_START_EVERY };
    struct azint_words s = { 0, 0, UINT32_MAX, 0 };
    uint64_t a = starts[0], b = starts[1], c = starts[2], d = starts[3];
    /* Where a run ends is known when it was read: of four at once none has to wait for the others.  Bits of pixels come
     * in at their segment's last place, and are moved to their own by those that follow. */
    for (unsigned i = 0; i < EVERY; i++) {
        s.live >>= 1;
        if (!azint_words_next(&s, &a, runs, size, 0) || !azint_words_next(&s, &b, runs, size, 1) ||
            !azint_words_next(&s, &c, runs, size, 2) || !azint_words_next(&s, &d, runs, size, 3))
            return 0;
    }
    *segments = (struct azint_segments){ s.live, s.least >> 8, s.last };
    return !HCY_AZINT_RUN_MORE(s.any) && a == starts[1] && b == starts[2] && c == starts[3] && d == starts[4];
}
#endif

#endif
