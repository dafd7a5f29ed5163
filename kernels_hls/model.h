/* model.h - what the FPGA design would do in each clock, counted from real data.  MODELLED, never measured.
 *
 * The counts of copied pieces, words, pixels and records are those of the kernels (tests/hls_model.cpp holds them
 * against the C simulation's FIFOs); what a clock costs beyond that is an assumption, and stands in model.c.  C; no
 * state.
 */
#ifndef HCY_HLS_MODEL_H
#define HCY_HLS_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "bslz4/bslz4_format.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a card has. */
typedef struct hls_card {
    const char *name;
    uint32_t units; /* compute units of bslz4_azint that are meant for it */
    uint32_t lut, bram, uram, dsp; /* thousands of LUTs; 36 Kbit and 288 Kbit blocks */
    double port, memory, link;     /* bytes/s: of a compute unit's port, of all memory, from the host */
} hls_card;
extern const hls_card hls_cards[]; /* ends with a name of NULL */

/* Work on frames, summed up. */
typedef struct hls_work {
    uint64_t frames, blocks, coded_bytes, words; /* words of 8 bytes that are fetched */
    uint64_t sequences, literals, matches;       /* sequences; bytes of literals and of matches */
    uint64_t same_planes;                        /* planes that were not copied */
    uint64_t steps, chunks, refreshes, groups;   /* of parse; of copy; of its registers; groups of 8 pixels */
    uint64_t engine;                             /* clocks of engines, block by block */
} hls_work;

/* A good frame's blocks. */
void hls_work_frame(hls_work *work, const hcy_bslz4_frame *frame, const hcy_bslz4_block *blocks,
                    const hcy_bslz4_job *job, const uint8_t *chunks);

/* Stages of a compute unit, and what all of them share. */
enum { HLS_AT_FETCH, HLS_AT_ENGINES, HLS_AT_WEIGHTS, HLS_AT_INTEGRATE, HLS_AT_SETTLE, HLS_STAGES };
extern const char *const hls_stage_names[HLS_STAGES + 1]; /* the last: sums, between frames */

typedef struct hls_design {
    const hls_card *card;
    uint32_t units, engines;
    double clock; /* Hz */
    uint64_t n_records, n_bins; /* of the plan; bins in all its pieces */
} hls_design;

typedef struct hls_rates {
    double clocks[HLS_STAGES]; /* a frame in one compute unit */
    double sums;               /* clocks between two frames in which no pixel moves */
    double unit;               /* frames/s: of a compute unit, */
    double kernels, link, all; /* of all, of the link from the host, and the least of both */
    int limit;                 /* what takes longest: a stage, or HLS_STAGES for the sums */
    double weights, coded;     /* bytes/s of memory at that rate */
    double lut, bram, uram, dsp; /* of all compute units; LUTs in thousands */
} hls_rates;
void hls_rates_get(hls_rates *rates, const hls_work *work, const hls_design *design);

#ifdef __cplusplus
}
#endif

#endif
