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
    return (uint32_t)w[0] | (uint32_t)w[1] << 8 | (uint32_t)w[2] << 16;
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

/* What a segment's pixels have, if each has one run, as most do: a bit a pixel with bins, and from which bin on to
 * before which one these lie. */
struct azint_segment {
    uint32_t live, first, last;
};

/* The segment at `at`, which ends at `end`, if both are within the runs.  0: it is not of this kind, or not sound; its
 * runs then have to be looked at one by one.  A fraction of what that takes. */
static inline int azint_segment_at(struct azint_segment *s, const uint8_t *runs, size_t at, size_t end)
{
    uint32_t live = 0, first = UINT32_MAX, last = 0, more = 0;
    for (unsigned i = 0; i < HCY_AZINT_START_EVERY; i++) {
        if (end < at + 4)
            return 0;
        struct azint_run r = azint_run_at(runs + at);
        at += 4 + 3 * (size_t)r.n;
        more |= r.more;
        live |= (uint32_t)(r.n > 0) << i;
        first = r.n && r.bin < first ? r.bin : first;
        last = r.n && r.bin + r.n > last ? r.bin + r.n : last;
    }
    *s = (struct azint_segment){ live, first, last };
    return !more && at == end;
}
#endif

#endif
