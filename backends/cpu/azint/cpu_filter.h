/* cpu_filter.h - azint_filter on the CPU: pixels sorted by bin, so that a bin is an array that stays in a core's cache
 * while it is looked at again and again.
 *
 *   filter_prepare.c   prepare: the canonical runs, sorted by bin
 *   filter.c           the kernel: bins shared out to threads; one bin of one frame, clipped or cut by percentiles
 *   filter_sums.c      what one pixel adds to a bin, in 128 bits
 *   filter_loops.h     what is done to all pixels of a bin: compiled once a SIMD variant
 *
 * A bin's pixels are gathered from the image once a frame.  Neighbouring bins lie in the same cache lines of the
 * image, and a thread takes neighbouring bins.  Sums are made over all pixels; those that a filter leaves out are taken
 * off one by one, as they are few.  All sums are integers (float pixels: doubles, in the order of the pixels), and
 * means and deviations are one IEEE operation each on them, so threads, batches and variants change no bit.
 */
#ifndef HCY_CPU_FILTER_H
#define HCY_CPU_FILTER_H

#include "cpu_azint.h"
#include "azint/azint_wide.h"

#include <string.h>

/* --- The prepared plan: one block of memory, offsets from its start --- */

/* Constants of a bin, over all its pixels. */
struct filter_total {
    azint_u128 norm, norm2, norm24, variance;
    azint_i128 dark; /* of cd */
    uint64_t count;
};

struct filter_plan {
    uint64_t magic;
    uint32_t n_bins;
    uint32_t unit; /* all weights are HCY_AZINT_ONE: there are none in the tables */
    uint64_t n_pixels, n_entries, largest; /* entries of the largest bin */
    uint64_t starts;  /* u64[n_bins + 1]: entries of each bin, in the order of their pixels */
    uint64_t totals;  /* struct filter_total[n_bins] */
    uint64_t pixels;  /* u32 an entry */
    uint64_t inverse; /* float an entry: 1 / N */
    uint64_t norms24; /* u32 an entry */
    uint64_t weights; /* u32 an entry: the weight, FILTER_FIRST; absent from a unit plan */
    const float *norms; /* the canonical spans, still the caller's */
    const float *darks, *variances; /* NULL without */
    int32_t dark_shift, variance_shift;
};
#define FILTER_FIRST 0x80000000u /* the first of the pixel's entries */

int filter_prepare(void **blob, size_t *size, struct cpu_pool *pool, enum cpu_simd simd, const hcy_span *spans,
                   size_t n);
/* The plan in `blob`, or NULL if it is none. */
const struct filter_plan *filter_plan_at(const void *blob, size_t size);

static inline const void *filter_at(const struct filter_plan *plan, uint64_t offset)
{
    return (const uint8_t *)plan + offset;
}

/* --- One bin of one frame --- */

#define FILTER_STEP  64u   /* arrays are padded to a multiple of this many pixels */
#define FILTER_AHEAD 1024u /* entries from a pixel in use to one that is fetched: they lie all over the image */

struct filter_sums {
    azint_i128 signal, cross;
    azint_u128 variance, norm, norm2, square, norm24;
    uint64_t count;
    double float_signal, float_variance, float_deviation; /* of float pixels */
};

struct filter_bin {
    const struct filter_plan *plan;
    const hcy_azint_job *job;
    const hcy_azint_filter *filter;
    const struct azint_type *type;
    const uint8_t *image;
    uint32_t number;
    int shift; /* of `fine`, and so of x: values times 2^shift */
    bool deviation; /* SQUARE, CROSS and NORM24 are needed */
    bool is_refused; /* its frame: a count is too large */
    size_t n;
    const uint32_t *pixels, *norms24, *weights; /* of this bin; weights NULL: unit */
    const float *inverse;
    /* A thread's own memory. */
    int64_t *values;  /* as the image has them (u64: their bits; floats: doubles); 0 where lost */
    int64_t *fine;    /* less the dark current, as squares are made of them; may be `values` */
    float *x;         /* intensities; NaN: out */
    uint32_t *found;  /* entries */
    uint64_t *sorted; /* for percentiles: two arrays */
    struct filter_sums sums;
};

static inline uint32_t filter_weight(const struct filter_bin *bin, size_t i)
{
    return bin->weights ? bin->weights[i] & ~FILTER_FIRST : HCY_AZINT_ONE;
}

/* filter_sums.c: adds what an entry gives to the bin, or takes it off. */
void filter_add(struct filter_bin *bin, size_t i);
void filter_take(struct filter_bin *bin, size_t i);
/* Constants of an entry, as the plan's totals have them. */
void filter_total_add(struct filter_total *total, const struct filter_plan *plan, uint32_t pixel, uint32_t c,
                      uint32_t norm24);
/* Everything of all entries: what is in the values, and the plan's totals. */
void filter_sum_each(struct filter_bin *bin);
/* Of float pixels: SIGNAL and VARIANCE of the entries that are in, and the squares of what they deviate from `mean`. */
void filter_sum_floats(struct filter_bin *bin);
void filter_deviation_floats(struct filter_bin *bin, double mean);

/* What the sums of values below 2^24 come from. */
struct filter_parts {
    int64_t signal, variance; /* of v and max(1, v), times c and c2; in a unit plan not */
    int64_t square[2];        /* low and high 24 bits of v * v */
    int64_t cross[2];         /* low and high 24 bits of c2 * n24, or of n24 */
};
#define FILTER_PART 8192u /* entries: no part overflows */

/* One digit of the squares of values that are digits themselves, rows of bytes. */
struct filter_digits {
    const uint8_t *const *rows;
    unsigned n, digit; /* of the value; of its square */
    bool is_signed, count;
    const uint8_t *live;
};

struct filter_ops {
    /* Integer pixels of up to 4 bytes to values and x (fine is values); returns the values' magnitudes, or'ed. */
    uint64_t (*load)(struct filter_bin *bin);
    /* Entries whose value is in one of the job's ranges, to `found`; their number. */
    size_t (*lost)(const struct filter_bin *bin);
    /* Of entries first to last - 1, at most FILTER_PART, whose values are below 2^24. */
    void (*sum)(const struct filter_bin *bin, size_t first, size_t last, struct filter_parts *parts);
    /* Entries with x below lo or above hi, to `found`; their number. */
    size_t (*outside)(const struct filter_bin *bin, float lo, float hi);
    /* n pixels, a multiple of 64; with `count` how many of the live ones have a digit that is not 0.  What stands in
     * pixels that are not live is not defined. */
    size_t (*square)(const struct filter_digits *of, size_t n, uint8_t *out);
};
const struct filter_ops *cpu_filter_ops(enum cpu_simd simd);
extern const struct filter_ops filter_ops_portable;
#ifdef HCY_CPU_X86
extern const struct filter_ops filter_ops_avx2, filter_ops_avx512;
#endif

#endif
