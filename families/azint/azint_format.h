/* azint_format.h - an integration plan's canonical tables, a batch's job and its sums, as every device sees them.
 *
 * Plain data, little-endian, no pointers.  The rules as code stand beside it: azint_runs.h, azint_wide.h,
 * azint_pixels.h, azint_job.h.
 * Everything is an integer, so that every device, thread count and order of summation gives the same bits.
 *
 *   weight       c: what share of a pixel falls into a bin, 24-bit fixed point: 1.0 is HCY_AZINT_ONE = 2^24 - 1
 *   its square   c2 = (c * c + 2^23) >> 24; 1.0 is HCY_AZINT_ONE^2 / 2^24
 *   norm         N = solid angle * polarization * flat * ... of a pixel, float32 > 0, made an integer as
 *                n = (u64)(N * 2^40)
 *   bin norms    sum of c * n >> 24 rounded half up, and of its square >> 40 (both in 128 bits)
 *   dark         D, float32, made an integer as d = (i64)(D * 2^dark_shift); what it takes off a bin is
 *                cd = (c * |d| + 2^dark_shift / 2) >> dark_shift with the sign of d, on the scale of c * value
 *   variance     V, float32 >= 0, made an integer as v = (u64)(V * 2^variance_shift); of a bin the sum of c2 * v
 */
#ifndef HCY_AZINT_FORMAT_H
#define HCY_AZINT_FORMAT_H

#include <stdint.h>

#define HCY_AZINT_VERSION 4u
/* The version of a plan with spans [4] or [5], for kernels that know these too; others refuse it. */
#define HCY_AZINT_VERSION_FULL 5u

#define HCY_AZINT_ONE 16777215u    /* fixed-point 1.0 of a weight */
#define HCY_AZINT_NORM_MAX 4095.0f /* norms are below this: a sum of 2^32 of them, squared, fits 128 bits */
#define HCY_AZINT_NORM_SHIFT 40
#define HCY_AZINT_MAX_BINS (1u << 24)

/* The canonical tables are spans handed to hcy_kernel_prepare():
 *   [0] hcy_azint_head
 *   [1] runs, a byte stream, pixel after pixel.  A run is one word, u32 little-endian, then n weights of 3 bytes each:
 *         bits 0-23 first bin, bits 24-30 n (1 to 127), bit 31 "the same pixel has another run".
 *       Weights go to consecutive bins.  A pixel without weight (static mask, out of range) is the single word
 *       HCY_AZINT_NO_RUN.
 *   [2] starts, u64: where the runs of pixels 0, 16, 32 ... begin in [1]; one more entry for the end
 *   [3] norms, float: N of each pixel
 *   [4] darks, float: D of each pixel; empty without a dark current
 *   [5] variances, float: V of each pixel; empty without given variances
 *   [6] which need not be there: a text, the name (with its folder, without a zero) under which a device may keep what
 *       it prepares, with an ending of its own: "-" and letters; empty: nothing is kept
 * The spans must stay where they are as long as what was prepared from them: devices that share the host's memory
 * look single pixels up in them.
 */
#define HCY_AZINT_SPANS 6
#define HCY_AZINT_SPANS_KEPT 7
#define HCY_AZINT_NO_RUN 0u
#define HCY_AZINT_RUN_BIN(word) ((word) & 0xffffffu)
#define HCY_AZINT_RUN_N(word) ((word) >> 24 & 0x7fu)
#define HCY_AZINT_RUN_MORE(word) ((word) >> 31)
#define HCY_AZINT_START_EVERY 16

typedef struct hcy_azint_head {
    uint32_t version;   /* HCY_AZINT_VERSION, or HCY_AZINT_VERSION_FULL if [4] or [5] is not empty */
    uint32_t n_bins;
    uint64_t n_pixels;
    uint32_t height, width;
    uint64_t n_weights; /* in all runs */
    uint64_t hash;      /* of everything that entered the plan */
    int32_t dark_shift; /* 0 to 62; 0 without [4] */
    int32_t variance_shift; /* 0 without [5] */
} hcy_azint_head;

/* Pixel types: hcy_azint_job.pixel_type. */
#define HCY_PIXEL_U8 1u
#define HCY_PIXEL_U16 2u
#define HCY_PIXEL_U32 3u
#define HCY_PIXEL_U64 4u
#define HCY_PIXEL_I8 5u
#define HCY_PIXEL_I16 6u
#define HCY_PIXEL_I32 7u
#define HCY_PIXEL_I64 8u
#define HCY_PIXEL_F32 9u
#define HCY_PIXEL_F64 10u

/* A pixel value in [lo, hi] is masked in its frame: the dummy, the detector's sentinels.  The bits of an int64 for
 * signed types, of a uint64 for unsigned ones, of a double for floats.  (NaN is always masked.) */
#define HCY_AZINT_MAX_INVALID 4
typedef struct hcy_azint_range {
    uint64_t lo, hi;
} hcy_azint_range;

#define HCY_AZINT_WANT_VARIANCE 1u /* Poisson: the variance of a pixel is max(1, value) */
/* The plan's bins are so small that SIGNAL and VARIANCE stay below 2^63: nobody reads SIGNAL_HI and VARIANCE_HI, nor
 * VARIANCE_LO if it is not wanted, so they need not be written.  Unsigned pixels, no dark current, no filter. */
#define HCY_AZINT_NARROW 2u
/* With WANT_VARIANCE: the variance of a pixel is max(0, value).  Of frames that are to be added, whose sum is no better
 * known for having come in parts. */
#define HCY_AZINT_PART_OF_SUM 4u

/* What the frames of a batch have in common. */
typedef struct hcy_azint_job {
    uint64_t n_pixels;
    uint32_t n_bins;
    uint32_t pixel_type; /* HCY_PIXEL_* */
    uint32_t flags;      /* HCY_AZINT_WANT_*, HCY_AZINT_NARROW */
    uint32_t n_invalid;
    hcy_azint_range invalid[HCY_AZINT_MAX_INVALID];
} hcy_azint_job;

/* The least variance of a pixel in the job. */
#define HCY_AZINT_LEAST_VARIANCE(job_flags) \
    (((job_flags) & (HCY_AZINT_WANT_VARIANCE | HCY_AZINT_PART_OF_SUM)) == HCY_AZINT_WANT_VARIANCE ? 1u : 0u)

/* The sums of one frame: HCY_AZINT_SUMS rows of n_bins u64.  128-bit values are two rows, low then high, two's
 * complement.  For float pixels the rows SIGNAL_LO and VARIANCE_LO hold the bits of doubles, SIGNAL_HI and
 * VARIANCE_HI are zero.  The LOST rows are what pixels masked in this frame alone must be taken off the plan's
 * constant norms; they are written only if the frame's report says n_lost > 0.
 *
 * The plan's dark current and variances are constants too, taken into account when the curve is made, for all
 * pixels that have weights.  So a pixel masked in this frame adds to SIGNAL the cd that will be taken off in
 * vain, and to VARIANCE the c2 * v (a plan with variances has no HCY_AZINT_WANT_VARIANCE; VARIANCE holds nothing
 * else).  With float pixels these are c * D and c2 * V, in doubles. */
enum {
    HCY_SUM_SIGNAL_LO,    /* sum of c * value */
    HCY_SUM_SIGNAL_HI,
    HCY_SUM_VARIANCE_LO,  /* sum of c2 * variance; zero without HCY_AZINT_WANT_VARIANCE */
    HCY_SUM_VARIANCE_HI,
    HCY_SUM_LOST_COUNT,   /* sum of c */
    HCY_SUM_LOST_NORM_LO, /* sum of cn = (c * n + 2^23) >> 24 */
    HCY_SUM_LOST_NORM_HI,
    HCY_SUM_LOST_NORM2_LO, /* sum of (cn * cn + 2^39) >> 40 */
    HCY_SUM_LOST_NORM2_HI,
    HCY_AZINT_SUMS
};
/* Bins from which on a frame's sums are copied row by row, as far as they were written; below, all in one copy. */
#define HCY_AZINT_BY_ROWS 16384u

/* --- Filters: clipping outliers, percentiles, and the variance that a bin's pixels show --- */

enum { HCY_AZINT_FILTER_NONE, HCY_AZINT_FILTER_CLIP, HCY_AZINT_FILTER_PERCENTILE }; /* hcy_azint_filter.kind */

/* Where pixels get their variance from while they are clipped, and what is wanted at the end. */
#define HCY_AZINT_CLIP_DEVIATION 1u /* their deviation from the bin's mean; else Poisson's, or the plan's */
#define HCY_AZINT_WANT_DEVIATION 2u /* the rows SQUARE, CROSS and NORM24 */

#define HCY_AZINT_LOG_STEPS 16

typedef struct hcy_azint_filter {
    uint32_t kind, flags;
    uint32_t max_iter; /* of clipping */
    uint32_t reserved;
    double threshold[2]; /* pixels this many standard deviations below, above the mean go; Chauvenet's if larger */
    uint64_t quantile[2]; /* of 2^32: from and to */
    double log[HCY_AZINT_LOG_STEPS + 1]; /* ln(1 + i / LOG_STEPS) */
    double log_root;                     /* ln(sqrt(2 pi)) */
} hcy_azint_filter;

/* The sums of one frame that was filtered: HCY_AZINT_FILTERED rows.  They are complete: sums over the pixels that were
 * kept in each bin, with nothing of the plan to add or take off.  SIGNAL is that of c * value - cd; VARIANCE that of
 * c2 * max(1, value), or of c2 * v in a plan with variances; LOST_COUNT, LOST_NORM and LOST_NORM2 are what the bin has,
 * not what it lost.  And for the deviation of pixels from the bin's mean, with v = value * 2^s -
 * floor(dark * 2^s + 0.5), where s is 0 without a dark current, else HCY_AZINT_SQUARE_SHIFT, and the second term and
 * then v are limited to SQUARE_MAX(s), either sign; and norms of 24 bits, n24 = (u32)(N * HCY_AZINT_ONE + 0.5):
 *
 *   SQUARE  sum of c2 * v * v      CROSS  sum of c2 * v * n24, signed      NORM24  sum of c2 * n24 * n24
 *
 * Where s is HCY_AZINT_COARSE_SHIFT, each term of SQUARE is rounded (half up) to units of 2^COARSE_SQUARE, the
 * magnitude of each of CROSS to those of 2^COARSE_CROSS.  A valid value above HCY_AZINT_VALUE_MAX(s), either sign,
 * has no place in them: its frame gets the status HCY_ERANGE, and its sums mean nothing.
 *
 * Of float pixels SIGNAL_LO and VARIANCE_LO hold doubles; SQUARE_LO that of c2 * (value - dark - mean * N)^2, the
 * other two are zero. */
enum {
    HCY_SUM_SQUARE_LO = HCY_AZINT_SUMS,
    HCY_SUM_SQUARE_HI,
    HCY_SUM_CROSS_LO,
    HCY_SUM_CROSS_HI,
    HCY_SUM_NORM24_LO,
    HCY_SUM_NORM24_HI,
    HCY_AZINT_FILTERED
};
#define HCY_AZINT_COARSE_SHIFT 19 /* of pixels of 4 and 8 bytes less a dark current */
#define HCY_AZINT_SQUARE_SHIFT(pixel_bytes) ((pixel_bytes) <= 2 ? 16 : HCY_AZINT_COARSE_SHIFT)
#define HCY_AZINT_SQUARE_MAX(shift) (((int64_t)1 << ((shift) == HCY_AZINT_COARSE_SHIFT ? 52 : 35)) - 1)
#define HCY_AZINT_VALUE_MAX(shift) ((shift) ? (int64_t)1 << 32 : HCY_AZINT_SQUARE_MAX(0))
#define HCY_AZINT_COARSE_SQUARE 33
#define HCY_AZINT_COARSE_CROSS 8

/* --- Regions: sums and statistics of pixels as they are stored, beside a frame's curve --- */

#define HCY_AZINT_MAX_REGIONS 256

/* A table of regions is hcy_azint_region[n], then their bitmaps: bit p - first of a region's is pixel p's.  Pixels
 * `first` to `last` - 1 have all of the region's, both numbers are multiples of 64; the bitmap has
 * HCY_AZINT_REGION_BYTES() from byte `bits` of the table on, a multiple of 8.  No bit is set of a pixel that the image
 * has not. */
typedef struct hcy_azint_region {
    uint64_t first, last, bits;
} hcy_azint_region;
#define HCY_AZINT_REGION_BYTES(first, last) (((last) - (first)) / 8 + 8) /* words are read at any byte of it */

/* What the regions of a launch have in common.  Pixels of the job's invalid ranges are counted, and take no part in
 * anything else. */
typedef struct hcy_azint_region_job {
    uint32_t n_regions;
    uint32_t has_above; /* pixels above `above` are counted */
    uint64_t above;     /* bits of an int64 for signed types, of a uint64 for unsigned ones */
    uint64_t longest;   /* last - first of the region that has most */
} hcy_azint_region_job;

/* What becomes of a region in a frame: HCY_AZINT_REGION_ROWS u64 of integer pixels.  Values in MAX and MIN have bit 63
 * flipped where the type is signed, so that they compare as unsigned numbers; without a valid pixel MAX is 0 and MIN
 * UINT64_MAX. */
enum {
    HCY_REGION_SUM_LO, /* of the valid pixels' values, 128 bits in two's complement */
    HCY_REGION_SUM_HI,
    HCY_REGION_VALID,  /* pixels */
    HCY_REGION_INVALID,
    HCY_REGION_ZERO,   /* of the valid ones */
    HCY_REGION_ABOVE,  /* likewise */
    HCY_REGION_MAX,
    HCY_REGION_MIN,
    HCY_AZINT_REGION_ROWS
};

/* --- Picking: pixels that stand out of the background, which is the curve that a filter made --- */

#define HCY_AZINT_NOWHERE 0xffffffffu

/* Where a pixel lies between the middles of bins: `share` (0 to below 1) of the way from that of `bin` to the next
 * one's, which there is if it is not 0.  `bin` HCY_AZINT_NOWHERE: the pixel is never picked.  norm > 0, dark: the
 * plan's. */
typedef struct hcy_azint_place {
    uint32_t bin;
    float share, norm, dark;
} hcy_azint_place;

#define HCY_AZINT_PICK_DEVIATION 1u /* a bin's deviation is that of its pixels from the mean; else of VARIANCE */
#define HCY_AZINT_PICK_FLOAT 2u     /* the sums are those of float pixels */

/* 64-bit words that a pixel has in a list of what was found. */
#define HCY_AZINT_PICK_WORDS(pixel_bytes, is_float) ((is_float) || (pixel_bytes) > 4 ? 2u : 1u)

/* What the picks of a launch have in common; the rules are azint_pick.h. */
typedef struct hcy_azint_pick_job {
    double cutoff, noise; /* >= 0 */
    uint64_t capacity;    /* pixels of a frame that there is room for */
    uint32_t flags;       /* HCY_AZINT_PICK_* */
    int32_t dark_shift;   /* of values in SQUARE and CROSS: HCY_AZINT_SQUARE_SHIFT, 0 without a dark current */
    int32_t variance_shift; /* of VARIANCE: the plan's, 0 without given variances */
    uint32_t reserved;
} hcy_azint_pick_job;

/* What is found in a frame is u64[1 + PICK_WORDS * capacity]: how many pixels were picked, which may be more than there
 * is room for; then those that have a place, in any order: one word, their index << 32, and the 32 lower bits of their
 * value; or two, their index, and their value, of floats the bits of a double. */

#endif
