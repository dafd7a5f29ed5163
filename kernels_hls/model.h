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
#include "design.h"

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
    uint64_t link_bytes;                         /* chunks and tables, as the host sends them */
    uint64_t sequences, literals, matches;       /* sequences; bytes of literals and of matches */
    uint64_t same_planes;                        /* planes that were not copied */
    uint64_t steps, chunks, pauses, groups;      /* of parse; of copy, and how often it waits; groups of 8 pixels */
    uint64_t engine;                             /* clocks of engines, block by block */
} hls_work;

/* A good frame's blocks. */
void hls_work_frame(hls_work *work, const hcy_bslz4_frame *frame, const hcy_bslz4_block *blocks,
                    const hcy_bslz4_job *job, const uint8_t *chunks);

/* Stages of a compute unit; behind them, what all of them share. */
enum {
    HLS_AT_FETCH, HLS_AT_ENGINES, HLS_AT_WEIGHTS, HLS_AT_INTEGRATE, HLS_AT_NOTE, HLS_AT_SETTLE, HLS_STAGES,
    HLS_AT_LINK = HLS_STAGES, HLS_AT_LINK_BACK, HLS_AT_MEMORY, HLS_LIMITS
};
extern const char *const hls_stage_names[HLS_LIMITS];

typedef struct hls_design {
    const hls_card *card;
    uint32_t units, engines;
    double clock;            /* Hz */
    const hls_piece *pieces; /* of the plan; not owned */
    uint64_t n_pieces;
    uint32_t rows;           /* of sums that are written; of each 8 bytes of a bin */
    uint64_t sums_bytes;     /* of a frame, as the host reads them */
} hls_design;

typedef struct hls_rates {
    double clocks[HLS_STAGES]; /* a frame in one compute unit */
    double frame;              /* from frame to frame: the slowest stage, and what no stage hides */
    double unit, kernels;      /* frames/s: of a compute unit, of all, */
    double link, back, memory; /* of the link from the host, of the one to it, of the card's memory, */
    double all;                /* and the least of them */
    int limit;                 /* HLS_AT_*: what takes longest in a compute unit, */
    int bound;                 /* and in all: `limit`, or HLS_AT_LINK, HLS_AT_LINK_BACK, HLS_AT_MEMORY */
    uint64_t records, bins;    /* of all pieces */
    double weights, coded, sums; /* bytes/s of memory at that rate */
    double lut, bram, uram, dsp; /* of all compute units; LUTs in thousands */
} hls_rates;
void hls_rates_get(hls_rates *rates, const hls_work *work, const hls_design *design);

#ifdef __cplusplus
}
#endif

#endif
