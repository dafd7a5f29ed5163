/* cpu_azint.h - azimuthal integration on the CPU: the prepared plan, and what a SIMD variant does.
 *
 * THE METHOD.  The detector is cut into STRIPS of 16384 pixels; threads share a batch strip by strip.  In a
 * strip, pixels of several frames become small digits (7 bits), four pixels of a frame to a dword; weights
 * are three 8-bit digits.  So a byte dot product adds four pixels of a frame at once, 16 frames are the lanes
 * of a register, and a strip's entries - (four pixels, bin) with their weights - sorted by bin, need no
 * scatter: a register is the bin.
 *
 * The way of a pass, each file calling those below it:
 *
 *   azint_launch.c    a launch: arguments checked, scratch memory shared out
 *   pass.c            the kernels: passes over a batch, merging
 *   float_pixels.c    float pixels, which have no digits
 *   strip.c           one strip: blocks to rows of digits, digit after digit
 *   digits.c          one block of one frame to digits; pixels that do not fit, or are masked in their frame
 *   planes.h          what its bit-planes say
 *   outliers.c        pixels one by one through the canonical runs: outliers, and what masked ones take off
 *   deviation.c       squares and cross products, for the deviation of pixels from their bin's mean
 *   learn.c           pixels that are masked in every frame
 *   entries.c         rows to tiles, tiles and weights to sums
 *   few.c             rows to sums without them, for a few frames
 *   regions.c         sums and statistics of regions, from the same blocks
 *   tile_<simd>.c     struct azint_ops: what a SIMD variant does
 *
 * prepare.c makes the plan's strips from the canonical runs, before any pass; spans.c checks these, keep.c has them in
 * a file for the next time.
 *
 * WHERE THE TIME GOES (bench/azint, EIGER 4M, 1000 bins, full splitting with variance, one Zen 5 core, AVX-512,
 * 32 frames at once; ms a frame): LZ4 to planes 0.70, planes to digits 0.22, tiles 0.09, expanding weights
 * 0.13, sums 0.24.  One frame alone takes 7: the weights, 14 bytes an entry, are then read for it alone.
 *
 * Everything is an integer until the end, so no order, thread count or variant changes a bit of the result.
 */
#ifndef HCY_CPU_AZINT_H
#define HCY_CPU_AZINT_H

#include "bslz4/block.h"
#include "azint/azint_format.h"
#include "azint/azint_runs.h"
#include "azint/azint_wide.h"
#include "bslz4/bslz4_format.h"

__extension__ typedef __int128 azint_i128;
__extension__ typedef unsigned __int128 azint_u128;

#define AZINT_STRIP 16384u                  /* pixels; a group's number fits 12 bits */
#define AZINT_STRIP_BYTES (AZINT_STRIP / 8) /* of a bitmap */
#define AZINT_PITCH (AZINT_STRIP + 64)      /* of a row of digits: rows start in different cache sets */
#define AZINT_CHUNK 512u                    /* entries expanded at once, to stay in L1; segments end there too */
#define AZINT_EXPANDED 32u                  /* bytes of an expanded entry, at most */
#define AZINT_DIGIT_BITS 7u
#define AZINT_MAX_DIGITS 10u                /* of a 64-bit value */
#define AZINT_MAX_PASS 32u                  /* frames that share one reading of the weights */
#define AZINT_PAD 64u                       /* readable behind tables: kernels read whole vectors */
#define AZINT_BLOCK_BINS 64u                /* bins whose sums a worker zeroes when a strip of its first needs them */

/* --- The prepared plan: one block of memory, offsets from its start --- */

struct azint_plan {
    uint64_t magic;
    uint32_t n_bins, n_strips;
    uint64_t n_pixels;
    uint32_t unit; /* all weights are HCY_AZINT_ONE: entries are masks, the weight comes in at the end */
    uint32_t direct; /* strips have no entries, but for `blocks`: see few.c */
    uint64_t live;   /* a bit a pixel: it has weights; padded with zeros to whole strips and 64 bytes more */
    uint64_t strips; /* struct azint_strip[n_strips] */
    const uint8_t *runs; /* the canonical spans, still the caller's: outliers and lost pixels are looked up there */
    const uint64_t *starts;
    const float *norms;
    const float *darks, *variances; /* NULL without */
    int32_t dark_shift, variance_shift;
    uint64_t deviation; /* struct azint_deviation; 0: none */
    uint64_t learnt;    /* struct azint_learnt; 0: none */
};

struct azint_strip {
    uint64_t index;   /* u16 an entry: its group of four pixels; for a unit plan group << 4 | mask */
    uint64_t weights; /* 12 bytes an entry: digit d of pixel p's weight at 4 d + p; absent from a unit plan */
    uint64_t segs;    /* struct azint_seg[n_segs] */
    uint64_t blocks;  /* a bit for AZINT_BLOCK_BINS bins: it has entries of some; azint_block_words() words */
    uint32_t n_entries, n_segs;
};

/* Entries of one bin up to `end`, sorted by bin; cut at multiples of AZINT_CHUNK, so 32-bit sums cannot
 * overflow. */
struct azint_seg {
    uint32_t bin, end;
};

int azint_prepare(void **blob, size_t *size, struct cpu_pool *pool, enum cpu_simd simd, const hcy_span *spans,
                  size_t n);
/* That, or HCY_ENOMEM where strips do not fit into memory: azint_prepare() then makes none. */
int azint_prepare_strips(void **blob, size_t *size, struct cpu_pool *pool, const hcy_span *spans, size_t n);
/* The same for a few frames: no strips are made. */
int azint_prepare_few(void **blob, size_t *size, struct cpu_pool *pool, enum cpu_simd simd, const hcy_span *spans,
                      size_t n);
/* Are these the spans of a plan?  Everything but the runs, which are checked as they are read. */
int azint_check_spans(const hcy_span *spans, size_t n);
/* The head of a prepared plan of spans that have been checked; `live` stands behind it. */
struct azint_plan azint_plan_of(const hcy_span *spans);
/* Lays out what stands before the strips' tables, of a plan with strips; bytes of it. */
void azint_lay_head(struct azint_plan *plan);
size_t azint_head_size(const struct azint_plan *plan);
/* keep.c: a blob of strips to the file that the spans name, if they do; from there, if what it has is right. */
void azint_keep(struct cpu_pool *pool, const hcy_span *spans, size_t n, void *blob, size_t size);
bool azint_kept(void **blob, size_t *size, struct cpu_pool *pool, const hcy_span *spans, size_t n);
/* The plan in `blob`, or NULL if it is none. */
const struct azint_plan *azint_plan_at(const void *blob, size_t size);

static inline size_t azint_block_words(size_t n_bins)
{
    return (n_bins + 64 * AZINT_BLOCK_BINS - 1) / (64 * AZINT_BLOCK_BINS);
}
static inline const void *azint_at(const struct azint_plan *plan, uint64_t offset)
{
    return (const uint8_t *)plan + offset;
}
static inline const struct azint_strip *azint_strip_at(const struct azint_plan *plan, size_t strip)
{
    return (const struct azint_strip *)azint_at(plan, plan->strips) + strip;
}

static inline const uint8_t *azint_pixel_runs(const struct azint_plan *plan, uint64_t pixel)
{
    return azint_runs_of(plan->runs, plan->starts, pixel);
}

/* What bslz4_azint_deviation needs beside the common plan (deviation.c): weights c2 * n24 of the entries, in two
 * parts of 24 bits, in the form of a strip's weights; of a unit plan n24 alone. */
struct azint_deviation {
    uint64_t totals; /* struct azint_deviation_total[n_bins] */
    uint64_t strips; /* struct azint_deviation_strip[n_strips] */
};
struct azint_deviation_strip {
    uint64_t index, low, high; /* high absent from a unit plan */
};
int azint_deviation_prepare(void **blob, size_t *size, struct cpu_pool *pool, enum cpu_simd simd,
                            const hcy_span *spans, size_t n);

/* Pixels that the first frames have all lost (learn.c), offsets from its start. */
struct azint_learnt {
    atomic_uint state;
    unsigned what;   /* enum azint_loss of `rows` */
    uint64_t n;      /* pixels */
    uint64_t seen;   /* frames they were learnt from */
    uint64_t counts; /* u32[n_strips] */
    uint64_t bits;   /* [n_strips][AZINT_STRIP_BYTES] and AZINT_PAD more */
    uint64_t rows;   /* u64[HCY_AZINT_SUMS][n_bins]: what they take off, as azint_lose_pixel() adds it */
};
static inline struct azint_learnt *azint_learnt_of(const struct azint_plan *plan)
{
    return plan->learnt ? (struct azint_learnt *)((uintptr_t)plan + plan->learnt) : NULL;
}
static inline uint8_t *azint_learnt_bits(const struct azint_learnt *learnt, size_t strip)
{
    return (uint8_t *)((uintptr_t)learnt + learnt->bits + strip * AZINT_STRIP_BYTES);
}
static inline const uint32_t *azint_learnt_counts(const struct azint_learnt *learnt)
{
    return (const uint32_t *)((const uint8_t *)learnt + learnt->counts);
}
/* Bytes in the plan's blob, 0 where learning does not pay; what is learnt at first: nothing. */
size_t azint_learnt_size(const struct azint_plan *plan);
void azint_learnt_init(struct azint_plan *plan);

/* --- SIMD variants --- */

/* Entries handed to a kernel: at most AZINT_CHUNK. */
struct azint_part {
    const uint16_t *index;  /* of the first entry */
    const uint8_t *weights; /* expanded; NULL for a unit plan */
    const struct azint_seg *segs;
    size_t n_segs;
    uint32_t first; /* number of the first entry, as segs count */
};

/* Where the digits of the variance come from. */
enum azint_variance {
    AZINT_V_NONE,
    AZINT_V_MAX,  /* max(1, the signal's digit) */
    AZINT_V_TILE, /* given */
};

/* Frames side by side. */
struct azint_tiles {
    unsigned lanes; /* frames in a tile */
    /* Rows (one a lane) of pixels [first, last) to a tile: dword `lane` of group g is four pixels of that
     * lane's row.  Multiples of 64. */
    void (*tile)(const uint8_t *const *rows, size_t first, size_t last, uint8_t *tile);
    /* Adds a part to `groups` groups of lanes.  Tiles of the groups lie one behind the other; sums of a bin
     * are int64_t [2][groups * lanes], signal and variance, lanes in the order of azint_lane().  With
     * AZINT_V_NONE what is done to the variance's sums is not defined. */
    void (*many)(const struct azint_part *part, const uint8_t *x, const uint8_t *v,
                 enum azint_variance variance, unsigned groups, int64_t *sums);
};

struct azint_block;
struct azint_tally;
struct azint_ops {
    struct azint_tiles tiles;
    const struct azint_tiles *few; /* for no more frames than its lanes; NULL: none such */
    unsigned pass;                 /* frames worth taking at once */
    unsigned few_frames;           /* frames up to which `one` beats tiles that are mostly empty: measured */
    /* A digit of max(1, value) from all the value's digits, rows of a multiple of 64 bytes.  Only the top
     * digit of a negative value is negative. */
    void (*variance)(const uint8_t *const *rows, unsigned digits, unsigned digit, size_t n, uint8_t *out);
    /* n entries of 12 bytes to the form `many` and `one` take, weights and their squares.  Reads and writes
     * up to three entries more. */
    void (*expand)(const uint8_t *weights, size_t n, uint8_t *out);
    /* What many() of struct azint_tiles does, for one frame straight from its row; sums of a bin are
     * int64_t [2][stride]. */
    void (*one)(const struct azint_part *part, const uint8_t *x, const uint8_t *v,
                enum azint_variance variance, size_t stride, int64_t *sums);
    /* Live pixels, the `lost` ones (if any) left out, whose value needs more than the planes below `from`,
     * and a sign: their bits to `out`, their number. */
    size_t (*beyond)(const struct azint_block *block, unsigned from, const uint64_t *lost, uint64_t *out);
    /* Live pixels in one of the job's invalid ranges, to `lost`; whether there are any. */
    bool (*lost)(const struct azint_block *block, const hcy_azint_job *job, uint64_t *lost);
    /* Are the planes from `from` on ones for all these pixels? */
    bool (*ones)(const struct azint_block *block, unsigned from, const uint64_t *pixels);
    /* Adds what the chosen pixels are (region_planes.h); those of them that are lost (NULL: none) leave `chosen`. */
    void (*tally)(struct azint_tally *tally, const struct azint_block *block, uint64_t *chosen, const uint64_t *lost,
                  const hcy_azint_region_job *job);
    /* The block's first n_planes planes copied `to`, where they are its planes from now on, without the pixels of
     * `drop`. */
    void (*drop)(struct azint_block *block, unsigned n_planes, const uint64_t *drop, uint8_t *to);
    /* azint_segments_at() of eight segments, four and four; false also where it cannot be used.  NULL: there is none.
     */
    bool (*look)(struct azint_segments segments[2], const uint8_t *runs, size_t size, const uint64_t *starts);
    /* Pixels to their low digits; nonzero if one that is live does not fit in -128..127 (signed) or 0..127.
     */
    int (*narrow)(const void *pixels, size_t n, unsigned elem_size, bool is_signed, const uint8_t *live,
                  uint8_t *out);
    /* Pixels to bit-planes, `stride` bytes (a multiple of 8) apart.  n a multiple of 64. */
    void (*to_planes)(const void *pixels, size_t n, unsigned elem_size, uint8_t *planes, size_t stride);
};

const struct azint_ops *azint_ops(enum cpu_simd simd);
extern const struct azint_ops azint_ops_portable;
#ifdef HCY_CPU_X86
extern const struct azint_ops azint_ops_avx2, azint_ops_avx512;
bool azint_look_avx2(struct azint_segments segments[2], const uint8_t *runs, size_t size, const uint64_t *starts);
extern const struct azint_tiles azint_tiles_few_avx512;
#endif
#ifdef HCY_CPU_ARM64
extern const struct azint_ops azint_ops_neon, azint_ops_dotprod;
#endif

/* Position of a frame in a row of sums: kernels multiply even and odd lanes to 64 bits, and store them so. */
static inline size_t azint_lane(size_t frame, unsigned lanes)
{
    size_t in = frame % lanes;
    return frame - in + (in & 1) * (lanes / 2) + in / 2;
}

/* --- A pass: the frames that share one reading of the plan --- */

struct azint_type {
    uint8_t elem_size, digits; /* digits: of any value's magnitude */
    bool is_signed, is_float;
};
const struct azint_type *azint_type(uint32_t pixel_type); /* NULL: no such type */

/* Where one frame's pixels are. */
struct azint_frame {
    uint32_t item;         /* in the batch */
    const uint8_t *pixels; /* plain; or NULL, and: */
    const uint8_t *chunk;
    const hcy_bslz4_frame *frame;
    const hcy_bslz4_block *blocks;
    size_t block_pixels;
    atomic_uint damaged; /* first damaged block, UINT32_MAX if none */
};

/* A pixel of the strip that did not fit its block's digits. */
struct azint_outlier {
    uint32_t frame, pixel; /* in the strip */
    uint64_t bits;         /* its value, sign-extended */
};
#define AZINT_MAX_OUTLIERS 4096

/* A thread's own memory; pointers into the scratch buffer. */
struct azint_space {
    uint8_t *planes;              /* a decoded block, CPU_BLOCK_LEAD before and CPU_BLOCK_SLACK behind */
    uint8_t *pixels;              /* a block as pixels, where it is not coded as planes */
    uint8_t *masked;              /* planes with the pixels taken out that do not go into digits */
    uint8_t *rows;                /* [digit][frame][AZINT_PITCH] */
    uint8_t *vrows;               /* [frame][AZINT_PITCH]: variance of the digit at hand */
    uint8_t *x, *v;               /* tiles */
    uint8_t *weights;             /* expanded */
    int64_t *sums;                /* [digit][bin][2][stride] */
    uint64_t *lost, *out, *drop;  /* bitmaps of a block */
    struct azint_tally *tallies;    /* [frame][region], where there are regions */
    struct azint_outlier *outliers; /* of the strip: pixels put by until all frames are in */
    size_t n_outliers;
    uint32_t used; /* digits whose sums have been zeroed; the first one's are as far as `touched` says */
    uint64_t *touched;
    atomic_size_t next; /* of its own strips, up to `end`: neighbours, which have bins in common */
    size_t end;
    uint8_t digits[AZINT_MAX_PASS];
};

/* A launch's regions (regions.c). */
struct azint_regions {
    const hcy_azint_region_job *job;
    const uint8_t *table;
    size_t table_bytes;
};

struct azint_pass {
    const struct azint_plan *plan;
    const struct azint_ops *ops;
    const struct azint_tiles *tiles;
    const struct cpu_block_ops *block_ops;
    const struct azint_type *type;
    const hcy_azint_job *job;
    hcy_bslz4_job coding;
    const uint8_t *limit; /* end of the coded bytes */
    struct azint_frame frames[AZINT_MAX_PASS];
    unsigned n_frames;
    bool deviation;             /* squares and cross products too: deviation.c */
    const struct filter_ops *filter_ops;
    bool few_frames;            /* few_frames of `ops` at most: kernel `one`, no tiles */
    size_t stride;              /* frames in a row of sums */
    size_t step;                /* pixels taken from each frame in turn */
    bool small_invalid;         /* an invalid range holds values of one digit */
    const struct azint_learnt *learnt; /* pixels that are lost unless `lost` says otherwise; NULL: none */
    unsigned ones_from;         /* learnt pixels are lost where their planes from this one on are ones */
    uint8_t *lost;              /* [frame][strip][AZINT_STRIP_BYTES]: pixels masked in this frame */
    uint8_t *lost_any;          /* [frame][strip]: 0: those learnt, and no others */
    struct azint_space *spaces; /* one a worker */
    unsigned n_workers;
    atomic_size_t next_strip;
    hcy_frame_report *reports;
    uint64_t *sums;
    struct azint_regions regions; /* job NULL: there are none */
    uint64_t *found;              /* what is in them */
};

static inline const uint8_t *azint_live(const struct azint_pass *pass, uint64_t pixel)
{
    return (const uint8_t *)azint_at(pass->plan, pass->plan->live) + pixel / 8;
}
static inline uint8_t *azint_row(const struct azint_pass *pass, const struct azint_space *space,
                                 unsigned digit, unsigned frame)
{
    return space->rows + ((size_t)digit * pass->n_frames + frame) * AZINT_PITCH;
}
static inline size_t azint_frame_at(const struct azint_pass *pass, unsigned frame)
{
    return pass->few_frames ? frame : azint_lane(frame, pass->tiles->lanes);
}

/* digits.c: n pixels from pixel `at` of the strip on to the frame's rows. */
struct azint_where {
    unsigned frame;
    size_t strip, at, n; /* at a multiple of 8 */
};
void azint_put_planes(struct azint_pass *pass, struct azint_space *space, const struct azint_where *where,
                      const uint8_t *planes, size_t stride, unsigned same_from);
void azint_put_pixels(struct azint_pass *pass, struct azint_space *space, const struct azint_where *where,
                      const uint8_t *pixels);

/* When all frames are in: the strip's outliers one by one, or, if they are too many, to digits after all. */
void azint_settle(struct azint_pass *pass, struct azint_space *space, size_t strip);

/* strip.c */
void azint_strip_run(struct azint_pass *pass, struct azint_space *space, size_t strip);
/* Codes of one block to pixels at `out`; 0 or HCY_ECORRUPT. */
int azint_block_pixels(const struct azint_pass *pass, struct azint_space *space,
                       const struct azint_frame *frame, uint32_t block, uint8_t *out);
/* A block that does not decode: the frame's report will name the first. */
void azint_damaged(struct azint_frame *frame, uint32_t block);

/* entries.c */
/* The sums of a digit, zeroed when they are first asked for; the first one's are not, but by strips and blocks. */
int64_t *azint_sums(struct azint_pass *pass, struct azint_space *space, unsigned digit);
/* Zeroes what the strip adds to and no strip before it has.  A worker has neighbouring strips, which share most of
 * their bins, and with many bins it never touches those of other workers. */
void azint_touch_bins(const struct azint_pass *pass, struct azint_space *space, const struct azint_strip *strip);
/* The rows of a group of lanes, pixels [first, last) of them, to the group's part of `tile`. */
void azint_make_tile(const struct azint_pass *pass, const uint8_t *rows, unsigned group, size_t first, size_t last,
                     uint8_t *tile);

static inline size_t azint_up64(size_t n)
{
    return (n + 63) / 64 * 64;
}
/* The least variance of a pixel. */
static inline unsigned azint_least(const struct azint_pass *pass)
{
    return HCY_AZINT_LEAST_VARIANCE(pass->job->flags);
}
/* Does a digit of the variance, where a strip has several, differ from the signal's?  max(1, value) does in
 * the first one, and for negative values in all. */
static inline bool azint_own_variance(const struct azint_pass *pass, unsigned digit)
{
    return pass->deviation || (digit == 0 && azint_least(pass)) || pass->type->is_signed;
}

/* Entries of a strip, and which digit of the pixels they take to which sums. */
struct azint_source {
    const uint16_t *index;
    const uint8_t *weights; /* NULL: a unit plan's masks */
    unsigned digit, slot;
    enum azint_variance variance;
};
void azint_add_entries(struct azint_pass *pass, struct azint_space *space, const struct azint_strip *strip,
                       const struct azint_source *source);
/* few.c: the same of a plan without entries, the strip's first n pixels. */
void azint_add_runs(struct azint_pass *pass, struct azint_space *space, size_t strip, size_t n,
                    const struct azint_source *source);
/* space->vrows of all frames to the variance's tiles, where there are tiles. */
void azint_variance_tiles(const struct azint_pass *pass, struct azint_space *space, size_t n);

/* deviation.c: sums are in slots.  0 to 4: the signal's digits, and the first of the squares' in the variance's
 * place; then the others of these, then two a digit of the cross products. */
#define AZINT_DEVIATION_SQUARES 4u /* square digit k that no digit of the signal goes with is in slot 4 + k */
#define AZINT_DEVIATION_CROSS   15u
#define AZINT_DEVIATION_SLOTS   25u
/* vrows and their tiles with digit `digit` of the squares. */
void azint_deviation_rows(struct azint_pass *pass, struct azint_space *space, size_t strip, unsigned digit, size_t n);
/* After digit `digit` of the signal, whose tile is still there. */
void azint_deviation_cross(struct azint_pass *pass, struct azint_space *space, size_t strip, unsigned digit);
/* After the last of `digits`: the squares' other digits. */
void azint_deviation_rest(struct azint_pass *pass, struct azint_space *space, size_t strip, unsigned digits, size_t n);
/* One pixel as azint_slow_pixel() adds it. */
void azint_deviation_pixel(struct azint_pass *pass, struct azint_space *space, unsigned frame, uint64_t pixel,
                           uint64_t magnitude, bool negative);
/* After a pass, before its slots are used for other things: squares and cross products to `out`,
 * u64[items][HCY_AZINT_FILTERED][n_bins]; then, from the plain sums, all other rows.  lost24: [frames][n_bins]. */
void azint_deviation_sums(struct azint_pass *pass, struct cpu_pool *pool, uint64_t *out);
void azint_deviation_finish(struct azint_pass *pass, struct cpu_pool *pool, uint64_t *out, azint_u128 *lost24);

/* outliers.c */
/* One pixel whose value did not go into digits (they hold zero, so its variance was taken for 1). */
void azint_slow_pixel(struct azint_pass *pass, struct azint_space *space, unsigned frame, uint64_t pixel,
                      uint64_t bits);
/* After the merge: the LOST rows of all frames, and the variance that their zeros were given. */
void azint_lost_run(struct azint_pass *pass, struct cpu_pool *pool);
/* What a lost pixel changes beside the LOST rows. */
enum azint_loss {
    AZINT_LOSS_NORMS, /* nothing */
    AZINT_LOSS_PLAN,  /* the plan's dark current and variance, in fixed point */
    AZINT_LOSS_ONE    /* and its zero was given a variance of 1, which goes */
};
static inline enum azint_loss azint_loss_of(const struct azint_pass *pass)
{
    return azint_least(pass) ? AZINT_LOSS_ONE : AZINT_LOSS_PLAN;
}
/* A pixel's part in the rows of `sums` that lost pixels change, added or taken back. */
void azint_lose_pixel(const struct azint_plan *plan, uint64_t pixel, bool back, enum azint_loss what,
                      uint64_t *sums);

/* The bitmap of the strip's pixels that are lost in frame `frame` of the pass. */
const uint8_t *azint_lost_bits(const struct azint_pass *pass, unsigned frame, size_t strip);
/* After azint_lost_run(), whose memory it uses: learnt->rows. */
void azint_sum_learnt(struct azint_learnt *learnt, struct azint_pass *pass, struct cpu_pool *pool);

/* learn.c: before a pass, whether it may use what was learnt; after azint_lost_run(), what there is to learn of it. */
void azint_learnt_use(struct azint_pass *pass);
void azint_learn(struct azint_pass *pass, struct cpu_pool *pool);

/* float_pixels.c: frame `frame` of the pass, all of it. */
void azint_float_run(struct azint_pass *pass, struct azint_space *space, unsigned frame);

#endif
