/* bslz4.cpp - the kernel bslz4_decode: chunks to images, a frame after the other, HLS_ENGINES blocks at a time. */
#include "bslz4_engine.h"

/* Bytes on their way to the image: those that do not fill a word yet. */
struct hls_packer {
    uint64_t word;
    uint32_t fill;
};

static inline void hls_packer_put(hls_packer &w, hls::stream<uint64_t, HLS_PIXEL_DEPTH> &words, uint64_t bytes,
                                  uint32_t n)
{
    /* Shifting by 64 is not defined, so an empty word needs its own case. */
    uint64_t rest = w.fill ? bytes >> (64 - 8 * w.fill) : 0;
    w.word |= bytes << 8 * w.fill;
    w.fill += n;
    if (w.fill < 8)
        return;
    words.write(w.word);
    w.word = rest;
    w.fill -= 8;
}

/* The blocks' pixels in their order, as the words of an image that begins `skip` bytes behind a word's start; *damaged:
 * the first damaged block. */
static void hls_pack(hls_task task, hls::stream<hls_pixels, HLS_PIXEL_DEPTH> (&pieces)[HLS_ENGINES], uint32_t skip,
                     hls::stream<uint64_t, HLS_PIXEL_DEPTH> &words, uint32_t *damaged)
{
    hls_packer w = { 0, skip };
    uint32_t bad = UINT32_MAX;
    for (uint32_t unit = 0; unit < task.n_units; unit++) { /* HLS_OUTER */
#pragma HLS LOOP_TRIPCOUNT min=1 avg=2191 max=16384
        hls_pixels p = { { 0, 0, 0, 0 }, 0, 0, 0 };
        uint32_t done = 0;
        while (done < p.n || !p.last) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT min=1 avg=1024 max=1048576
            /* A piece of up to 32 bytes leaves in words, one a clock; only then the next one is taken. */
            if (done >= p.n) {
                p = pieces[unit % HLS_ENGINES].read();
                done = 0;
            }
            uint32_t left = p.n - done, n = left < 8 ? left : 8;
            if (n)
                hls_packer_put(w, words, p.w[done / 8], n);
            done += 8;
            /* A damaged block comes as zeros, so the others stay in their places. */
            if (p.bad && bad == UINT32_MAX)
                bad = unit;
        }
    }
    if (w.fill)
        words.write(w.word);
    *damaged = bad;
}

/* An image of so many bytes from byte `at` on.  Whole words are one row of writes, whose length is known before: v++ makes
 * bursts of these alone.  The first and the last word may be shared with other images, which other frames have written. */
static void hls_store(uint64_t *images, uint64_t at, uint64_t bytes, hls::stream<uint64_t, HLS_PIXEL_DEPTH> &words)
{
    uint64_t first = at / 8, end = (at + bytes) / 8;
    uint32_t skip = (uint32_t)(at & 7), rest = (uint32_t)((at + bytes) & 7);
    if (skip) {
        hls_store_masked(&images[first], words.read(), skip, first == end ? rest : 8);
        first++;
    }
    for (uint64_t i = first; i < end; i++) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT min=0 avg=2242845 max=16777216
        images[i] = words.read();
    }
    if (first <= end && rest)
        hls_store_masked(&images[end], words.read(), 0, rest);
}

static void hls_decode_frame(const uint64_t *chunks, const uint64_t *blocks, uint64_t *images, uint64_t at,
                             uint64_t bytes, hls_task task, uint32_t *damaged)
{
#pragma HLS DATAFLOW
    hls::stream<hls_unit, HLS_SMALL_DEPTH> listed("listed");
    hls::stream<hls_unit, 2> units[HLS_ENGINES], copies[HLS_ENGINES], turns[HLS_ENGINES];
    hls::stream<uint64_t, HLS_CODED_DEPTH> coded[HLS_ENGINES];
    hls::stream<hls_sequence, HLS_SMALL_DEPTH> sequences[HLS_ENGINES];
    hls::stream<hls_chunk, HLS_SMALL_DEPTH> decoded[HLS_ENGINES];
    hls::stream<hls_pixels, HLS_PIXEL_DEPTH> pieces[HLS_ENGINES];
    hls::stream<uint64_t, HLS_PIXEL_DEPTH> words("words");
    HLS_NAMED(units, "units")
    HLS_NAMED(copies, "copies")
    HLS_NAMED(turns, "turns")
    HLS_NAMED(coded, "coded")
    HLS_NAMED(sequences, "sequences")
    HLS_NAMED(decoded, "decoded")
    HLS_NAMED(pieces, "pieces")
    HLS_STAGES
    /* The engines' stages are copied HLS_ENGINES times: each has its own FIFOs and blocks. */
    HLS_STAGE(hls_list(blocks, task, listed));
    HLS_STAGE(hls_fetch(chunks, task, listed, units, coded));
    for (uint32_t e = 0; e < HLS_ENGINES; e++) {
#pragma HLS UNROLL
        HLS_STAGE_OF(e, hls_parse(task, e, units[e], coded[e], copies[e], sequences[e]));
        HLS_STAGE_OF(e, hls_copy(task, e, copies[e], sequences[e], turns[e], decoded[e]));
        HLS_STAGE_OF(e, hls_transpose(task, e, turns[e], decoded[e], pieces[e]));
    }
    /* It takes blocks in the turn in which they were dealt, so the image is written from front to back. */
    HLS_STAGE(hls_pack(task, pieces, (uint32_t)(at & 7), words, damaged));
    HLS_STAGE(hls_store(images, at, bytes, words));
    HLS_STAGES_END
}

static inline uint64_t hls_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Registers and buffers: args.h.  `scratch` is not used. */
extern "C" void bslz4_decode(uint64_t items, const uint64_t *chunks, uint64_t chunks_bytes, const uint64_t *frames,
                             uint64_t frames_bytes, const uint64_t *blocks, uint64_t blocks_bytes, const uint64_t *job,
                             uint64_t *images, uint64_t images_bytes, uint64_t *reports, uint64_t reports_bytes,
                             uint64_t *scratch, uint64_t scratch_bytes)
{
#pragma HLS INTERFACE m_axi port=chunks bundle=gmem0 max_widen_bitwidth=64 \
    max_read_burst_length=64 num_read_outstanding=32
#pragma HLS INTERFACE m_axi port=frames bundle=gmem1 max_widen_bitwidth=64
#pragma HLS INTERFACE m_axi port=blocks bundle=gmem1 max_widen_bitwidth=64
#pragma HLS INTERFACE m_axi port=job bundle=gmem1 max_widen_bitwidth=64
#pragma HLS INTERFACE m_axi port=images bundle=gmem2 max_widen_bitwidth=64 \
    max_write_burst_length=64 num_write_outstanding=32
#pragma HLS INTERFACE m_axi port=reports bundle=gmem3 max_widen_bitwidth=64
#pragma HLS INTERFACE m_axi port=scratch bundle=gmem3 max_widen_bitwidth=64
#pragma HLS INTERFACE s_axilite port=items
#pragma HLS INTERFACE s_axilite port=chunks_bytes
#pragma HLS INTERFACE s_axilite port=frames_bytes
#pragma HLS INTERFACE s_axilite port=blocks_bytes
#pragma HLS INTERFACE s_axilite port=images_bytes
#pragma HLS INTERFACE s_axilite port=reports_bytes
#pragma HLS INTERFACE s_axilite port=scratch_bytes
#pragma HLS INTERFACE s_axilite port=return
    hcy_bslz4_job coding;
    (void)scratch;
    (void)scratch_bytes;
    hls_coding_get(&coding, job);
    /* The registers may say anything: no more frames are taken than the tables have. */
    uint64_t n = hls_least(hls_least(items, reports_bytes / sizeof(hcy_frame_report)),
                           frames_bytes / sizeof(hcy_bslz4_frame));
    uint64_t at = 0;
    for (uint64_t i = 0; i < n; i++) { /* HLS_OUTER */
#pragma HLS LOOP_TRIPCOUNT min=1 avg=32 max=1024
        hls_task task;
        uint32_t damaged = UINT32_MAX;
        hls_frame_get(&task.frame, frames, i);
        int32_t status = hls_frame_check(task.frame, coding, chunks_bytes, blocks_bytes / sizeof(hcy_bslz4_block));
        /* The image's place, which the check of the frame knows nothing of; where one has none, none behind it has. */
        bool fits = coding.image_bytes <= images_bytes - at;
        if (!status && !fits)
            status = HCY_EINVAL;
        task.chunks_bytes = chunks_bytes;
        task.n_units = task.frame.n_blocks + (task.frame.tail_bytes > 0);
        task.codec = coding.codec;
        task.elem = coding.elem_size;
        if (!status)
            hls_decode_frame(chunks, blocks, images, at, coding.image_bytes, task, &damaged);
        at += fits ? coding.image_bytes : 0;
        /* A damaged frame's report says where the block begins in the chunk. */
        if (damaged == UINT32_MAX)
            hls_report_put(reports, i, status, 0, 0, 0);
        else
            hls_report_put(reports, i, HCY_ECORRUPT, damaged, hls_low(blocks[task.frame.first_block + damaged]), 0);
    }
}

#ifndef __SYNTHESIS__
#include "call.h"
HCY_HLS_KERNEL(bslz4_decode)
#endif
