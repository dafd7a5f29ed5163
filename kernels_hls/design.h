/* design.h - the sizes of the FPGA design, on which kernels, the host's tables and the model agree.  C and C++. */
#ifndef HCY_HLS_DESIGN_H
#define HCY_HLS_DESIGN_H

#define HLS_ENGINES 4     /* LZ4 decoders of a compute unit */
#define HLS_LANES   8     /* pixels a clock that a compute unit takes: one byte of each bit-plane */
#define HLS_BLOCK   8192  /* decoded bytes of a block with bit-planes, at most */
#define HLS_WINDOW  65536 /* bytes that an LZ4 match can look back */
#define HLS_RECENT  32    /* of these, the last ones, in registers */
#define HLS_PAUSE   4     /* clocks of copy behind planes that were left out: the window gets what was written last */
#define HLS_ALIAS   64    /* bytes of a bit-plane from which on equal ones are looked for */
#define HLS_BINS    8192  /* bins of a piece of the plan: what a compute unit keeps; even */
#define HLS_LOST    16384 /* groups with lost pixels that a compute unit lists at once */
#define HLS_RECORD  40    /* bytes of a record of weights */

/* Elements of the FIFOs between stages: a burst of the memory where it feeds one, a piece's pairs of bins where sums go
 * to memory while the next piece is added up, else what evens out a few clocks. */
#define HLS_CODED_DEPTH 512
#define HLS_SMALL_DEPTH 16
#define HLS_PIXEL_DEPTH 64
#define HLS_PAIR_DEPTH  (HLS_BINS / 2)

/* A plan for FPGAs is the canonical spans and one more, of RECORDS.  A record is for HLS_LANES neighbouring pixels,
 * five bytes a pixel: a weight w of 24 bits, then 16 bits
 *     0-12 its bin in the piece    13 TWO: the next bin has the rest of the pixel, HCY_AZINT_ONE - w
 *     14 USED    15, of the first pixel: MORE, another record for the same pixels follows
 * The first record of eight pixels uses all those that have weights.
 *
 * The span begins with hls_plan_head, then hls_piece[n_pieces], at multiples of 64 each.  A piece is a row of pixels, a
 * multiple of 8 of them but in the last one; its records stand in a row from a multiple of 64 on, and its bins, in
 * ascending order, are u32.  FIRST with a bin says that no piece before has it, so that its sums need not be read to be
 * added to.  The bins that no pixel falls into stand in pieces without pixels: every bin is FIRST once. */
#define HLS_SPAN     6 /* its number among the spans */
#define HLS_BIN_MASK 0x1fffu
#define HLS_TWO      0x2000u
#define HLS_USED     0x4000u
#define HLS_MORE     0x8000u
#define HLS_FIRST    0x80000000u /* of a bin */

#include <stdint.h>

typedef struct hls_plan_head {
    uint64_t magic, n_pieces, n_records, hash; /* hash: the plan's */
    uint64_t reserved[4];
} hls_plan_head;
#define HLS_PLAN_MAGIC 0x32736e67697363ull

typedef struct hls_piece {
    uint64_t records, bins; /* where, from the span's start */
    uint32_t n_records, n_groups, n_bins, reserved;
    uint64_t reserved2[4];
} hls_piece;

#endif
