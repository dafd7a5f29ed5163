/* hls_common.h - what all FPGA kernels share: sizes of the design, memory words, stages that run side by side.
 *
 * Vitis HLS C++ (C++14) that g++ and clang++ compile unchanged.  __SYNTHESIS__ is v++'s; elsewhere the stages of a
 * DATAFLOW function are threads (sim/hls_stream.h).  Rules of the room, which tests/hls_lint.t looks for: no
 * allocation, recursion, virtual call, exception, pointer to pointer; every loop says PIPELINE (with its II), UNROLL or
 * HLS_OUTER, which is a sequence of pipelined loops, and a loop without a constant bound its LOOP_TRIPCOUNT.
 */
#ifndef HCY_HLS_COMMON_H
#define HCY_HLS_COMMON_H

#include <halcyon/status.h>
#include <hls_stream.h>
#include <stdint.h>

#include "azint/azint_format.h"
#include "bslz4/bslz4_format.h"
#include "design.h"

/* --- Stages side by side --- */

#ifdef __SYNTHESIS__
#define HLS_STAGES
#define HLS_STAGE(call) call
#define HLS_STAGE_OF(copy, call) call
#define HLS_STAGES_END
#define HLS_NAMED(stream_array, label)
#define HLS_MEMORY static
#else
#define HLS_STAGES hls_sim::region hls_stages;
#define HLS_STAGE(call) hls_stages.start([&] { call; })
#define HLS_STAGE_OF(copy, call) hls_stages.start([&, copy] { call; }) /* in a loop that is unrolled over `copy` */
#define HLS_STAGES_END hls_stages.join();
#define HLS_NAMED(stream_array, label)                                                                       \
    for (auto &hls_one : stream_array)                                                                       \
        hls_one.name = label;
/* Memory that keeps its contents from call to call: every stage clears what it leaves. */
#define HLS_MEMORY static thread_local
#endif

/* --- Memory --- */

/* What a port of 512 bits moves in a clock; tables are read so. */
struct hls_word {
    uint64_t w[8];
};

static inline uint32_t hls_low(uint64_t x)
{
    return (uint32_t)x;
}
static inline uint32_t hls_high(uint64_t x)
{
    return (uint32_t)(x >> 32);
}

/* Bytes of `mask` alone are written where the host's compiler made this; hardware reads and writes the whole word, so
 * that two runs may not write to the same eight bytes. */
static inline void hls_store_masked(uint64_t *at, uint64_t value, unsigned from, unsigned to)
{
#ifdef __SYNTHESIS__
    uint64_t mask = (to == 8 ? ~(uint64_t)0 : (((uint64_t)1 << 8 * to) - 1)) & ~(((uint64_t)1 << 8 * from) - 1);
    *at = (*at & ~mask) | (value & mask);
#else
    for (unsigned k = from; k < to; k++)
        ((uint8_t *)at)[k] = (uint8_t)(value >> 8 * k);
#endif
}

/* Eight bytes, of which those up to `bytes` are the buffer's. */
static inline uint64_t hls_load(const uint64_t *words, uint64_t i, uint64_t bytes)
{
#ifdef __SYNTHESIS__
    return words[i];
#else
    uint64_t value = 0;
    /* The last word may be cut off by the buffer's end; hardware reads whole words, which memory has. */
    for (unsigned k = 0; k < 8 && 8 * i + k < bytes; k++)
        value |= (uint64_t)((const uint8_t *)words)[8 * i + k] << 8 * k;
    return value;
#endif
}

/* --- The structures of the formats, from their words --- */

static inline void hls_coding_get(hcy_bslz4_job *job, const uint64_t *words)
{
    uint64_t a = words[0], b = words[2];
    job->codec = hls_low(a);
    job->elem_size = hls_high(a);
    job->image_bytes = words[1];
    job->block_bytes = hls_low(b);
    job->reserved = hls_high(b);
}

static inline void hls_frame_get(hcy_bslz4_frame *f, const uint64_t *words, uint64_t item)
{
    const uint64_t *w = words + item * (sizeof(hcy_bslz4_frame) / 8);
    uint64_t c = w[2], d = w[3], e = w[4], s = w[5];
    /* Two numbers of 32 bits share a word, the first one in its low half. */
    f->offset = w[0];
    f->size = w[1];
    f->first_block = hls_low(c);
    f->n_blocks = hls_high(c);
    f->block_bytes = hls_low(d);
    f->last_bytes = hls_high(d);
    f->tail_offset = hls_low(e);
    f->tail_bytes = hls_high(e);
    f->status = (int32_t)hls_low(s);
    f->reserved = hls_high(s);
}

static inline void hls_job_get(hcy_azint_job *job, const uint64_t *words)
{
    uint64_t b = words[1], c = words[2];
    job->n_pixels = words[0];
    job->n_bins = hls_low(b);
    job->pixel_type = hls_high(b);
    job->flags = hls_low(c);
    job->n_invalid = hls_high(c);
    for (unsigned k = 0; k < HCY_AZINT_MAX_INVALID; k++) {
#pragma HLS PIPELINE II=2
        job->invalid[k].lo = words[3 + 2 * k];
        job->invalid[k].hi = words[4 + 2 * k];
    }
}

static inline void hls_report_put(uint64_t *words, uint64_t item, int32_t status, uint32_t block, uint64_t byte,
                                  uint64_t n_lost)
{
    uint64_t *w = words + item * (sizeof(hcy_frame_report) / 8);
    w[0] = (uint64_t)block << 32 | (uint32_t)status;
    w[1] = byte;
    w[2] = n_lost;
}

#endif
