/* azint_feed.h - what azint_engine.h adds up: pixels in groups of eight (collect), and a plan's records (weights).
 *
 * Both come to integrate in the order of the image, eight pixels a clock.  Where pixels lie in memory and how the plan
 * is laid out there nobody behind this file knows, but for those that take lost pixels from the plan's canonical
 * tables.
 */
#ifndef HCY_HLS_AZINT_FEED_H
#define HCY_HLS_AZINT_FEED_H

#include "azint/azint_wide.h"
#include "bslz4/bslz4_engine.h"

struct hls_group {
    uint32_t pixel[HLS_LANES];
};
struct hls_record {
    uint64_t w[HLS_RECORD / 8];
};

/* What the frames of a launch have in common. */
struct hls_sums_task {
    hcy_azint_job job;
    uint64_t span[HLS_SPAN + 1]; /* where the plan's spans begin, in bytes of its tables */
    uint64_t runs_end;
    uint64_t n_pieces;
    uint32_t elem;
    int32_t dark_shift, variance_shift; /* -1: the plan has none */
    bool is_signed;
};

/* --- collect: pieces of whatever size to groups of eight pixels --- */

struct hls_gear {
    uint8_t bytes[64];
    uint32_t fill;
};

static inline void hls_gear_begin(hls_gear &g)
{
    g.fill = 0;
    for (uint32_t k = 0; k < 64; k++) {
#pragma HLS UNROLL
        g.bytes[k] = 0;
    }
}

/* A group's bytes leave; those behind move up, zeros follow. */
static inline hls_group hls_gear_take(hls_gear &g, uint32_t elem)
{
#pragma HLS INLINE
    hls_group out;
    uint32_t size = HLS_LANES * elem;
    for (uint32_t i = 0; i < HLS_LANES; i++) {
#pragma HLS UNROLL
        /* Each way has wiring of its own: an index that depended on `elem` would choose among all bytes. */
        uint32_t two = g.bytes[2 * i] | (uint32_t)g.bytes[2 * i + 1] << 8, four = 0;
        for (uint32_t k = 0; k < 4; k++) {
#pragma HLS UNROLL
            four |= (uint32_t)g.bytes[4 * i + k] << 8 * k;
        }
        out.pixel[i] = elem == 4 ? four : elem == 2 ? two : g.bytes[i];
    }
    /* Zeros follow, so that the last group of a frame is filled up with pixels that no record uses. */
    for (uint32_t k = 0; k < 64; k++) {
#pragma HLS UNROLL
        uint8_t four = k + 32 < 64 ? g.bytes[(k + 32) & 63] : 0, two = k + 16 < 64 ? g.bytes[(k + 16) & 63] : 0,
                one = k + 8 < 64 ? g.bytes[(k + 8) & 63] : 0;
        g.bytes[k] = elem == 4 ? four : elem == 2 ? two : one;
    }
    g.fill = g.fill > size ? g.fill - size : 0;
    return out;
}

static inline void hls_gear_put(hls_gear &g, const hls_pixels &p)
{
#pragma HLS INLINE
    /* There is room: a group leaves as soon as it is whole, so less than 32 bytes stand here before 32 come.  Each
     * register takes the byte that is its own; bytes that choose their registers would stand in a chain. */
    for (uint32_t r = 0; r < 64; r++) {
#pragma HLS UNROLL
        uint32_t k = r - g.fill;
        if (k < p.n)
            g.bytes[r] = (uint8_t)(p.w[k / 8] >> 8 * (k % 8));
    }
    g.fill += p.n;
}

/* The pieces of one unit; *bad: it was damaged. */
static void hls_collect_unit(hls_gear &gear, uint32_t elem, hls::stream<hls_pixels, HLS_PIXEL_DEPTH> &pieces,
                             hls::stream<hls_group, HLS_SMALL_DEPTH> &groups, bool *bad)
{
    bool last = false;
    while (!last) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT min=1 avg=256 max=1048576
        /* A piece is one group at most, so one group a clock keeps the gear from running over. */
        hls_pixels p = pieces.read();
        hls_gear_put(gear, p);
        if (gear.fill >= HLS_LANES * elem)
            groups.write(hls_gear_take(gear, elem));
        last = p.last;
        *bad |= p.bad;
    }
}

static void hls_collect(hls_task task, hls::stream<hls_pixels, HLS_PIXEL_DEPTH> (&pieces)[HLS_ENGINES],
                        hls::stream<hls_group, HLS_SMALL_DEPTH> &groups, uint32_t *damaged)
{
    hls_gear gear;
#pragma HLS ARRAY_PARTITION variable=gear.bytes complete
    uint32_t first = UINT32_MAX;
    hls_gear_begin(gear);
    /* In the turn in which fetch dealt the blocks to the engines: the image's order. */
    for (uint32_t unit = 0; unit < task.n_units; unit++) { /* HLS_OUTER */
#pragma HLS LOOP_TRIPCOUNT min=1 avg=2191 max=16384
        bool bad = false;
        hls_collect_unit(gear, task.elem, pieces[unit % HLS_ENGINES], groups, &bad);
        /* Damaged blocks come as zeros: counting goes on, and the first one is reported. */
        if (bad && first == UINT32_MAX)
            first = unit;
    }
    /* The number of pixels need not be a multiple of eight. */
    if (gear.fill)
        groups.write(hls_gear_take(gear, task.elem));
    *damaged = first;
}

/* The words that an image of so many bytes from byte `at` on lies in. */
static void hls_read_words(const uint64_t *images, uint64_t images_bytes, uint64_t at, uint64_t bytes,
                           hls::stream<uint64_t, HLS_PIXEL_DEPTH> &words)
{
    uint64_t first = at / 8, n = bytes ? ((at & 7) + bytes + 7) / 8 : 0;
    for (uint64_t i = 0; i < n; i++) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT min=0 avg=2242845 max=16777216
        words.write(hls_load(images, first + i, images_bytes));
    }
}

/* The same from an image, which may begin anywhere: two neighbouring words make one of ours. */
static void hls_read_image(uint64_t at, uint64_t bytes, hls::stream<uint64_t, HLS_PIXEL_DEPTH> &words,
                           hls::stream<hls_pixels, HLS_PIXEL_DEPTH> &pieces)
{
    uint32_t skip = (uint32_t)(at & 7);
    uint64_t word = bytes ? words.read() : 0, left = bytes;
    while (left) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT min=0 avg=2242845 max=16777216
        hls_pixels p = { { 0, 0, 0, 0 }, (uint8_t)(left < 8 ? left : 8), left <= 8, 0 };
        /* Behind the image's last word there is none. */
        bool more = left + skip > 8;
        uint64_t next = more ? words.read() : 0;
        p.w[0] = skip ? word >> 8 * skip | next << (64 - 8 * skip) : word;
        word = next;
        left -= p.n;
        pieces.write(p);
    }
}

static void hls_collect_image(uint32_t elem, uint64_t bytes, hls::stream<hls_pixels, HLS_PIXEL_DEPTH> &pieces,
                              hls::stream<hls_group, HLS_SMALL_DEPTH> &groups)
{
    hls_gear gear;
#pragma HLS ARRAY_PARTITION variable=gear.bytes complete
    bool bad = false;
    hls_gear_begin(gear);
    /* Of no pixels there is no piece, not even the last one. */
    if (bytes)
        hls_collect_unit(gear, elem, pieces, groups, &bad);
    if (gear.fill)
        groups.write(hls_gear_take(gear, elem));
}

/* --- weights: the plan's records, end to end --- */

static inline uint64_t hls_table_u64(const hls_word *plan, uint64_t at)
{
    return plan[at / 64].w[at / 8 % 8];
}

/* Four bytes from anywhere. */
static inline uint32_t hls_table_u32(const hls_word *plan, uint64_t at)
{
    uint32_t shift = 8 * (uint32_t)(at & 7);
    /* The second word is read only where the four bytes reach into it: there may be none. */
    uint64_t low = hls_table_u64(plan, at), high = shift > 32 ? hls_table_u64(plan, at + 4) : 0;
    return (uint32_t)(low >> shift | (shift > 32 ? high << (64 - shift) : 0));
}

static inline hls_piece hls_piece_get(const hls_word *plan, uint64_t span, uint64_t number)
{
    hls_word w = plan[span / 64 + 1 + number];
    hls_piece p = { w.w[0], w.w[1], hls_low(w.w[2]), hls_high(w.w[2]), hls_low(w.w[3]), 0, { 0, 0, 0, 0 } };
    return p;
}

/* Words of the plan, one behind the other. */
static void hls_read_row(const hls_word *plan, uint64_t at, uint64_t n, hls::stream<hls_word, HLS_PIXEL_DEPTH> &words)
{
    for (uint64_t i = 0; i < n; i++) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT min=0 avg=350445 max=2621440
        words.write(plan[at + i]);
    }
}

/* All pieces, and behind each the words of its records and of its bins: rows whose length is known before, so that the
 * memory gives bursts; whoever takes them may wait between two. */
static void hls_read_plan(const hls_word *plan, hls_sums_task task, hls::stream<hls_piece, 2> &to_weights,
                          hls::stream<hls_piece, 2> &to_integrate, hls::stream<hls_piece, 2> &to_note,
                          hls::stream<hls_piece, 2> &to_settle, hls::stream<hls_word, HLS_PIXEL_DEPTH> &words)
{
    uint64_t span = task.span[HLS_SPAN];
    for (uint64_t i = 0; i < task.n_pieces; i++) { /* HLS_OUTER */
#pragma HLS LOOP_TRIPCOUNT min=1 avg=1 max=4096
        hls_piece p = hls_piece_get(plan, span, i);
        /* Each stage gets the piece in a FIFO of its own, since they are at different pieces at one moment. */
        to_weights.write(p);
        to_integrate.write(p);
        to_note.write(p);
        to_settle.write(p);
        hls_read_row(plan, (span + p.records) / 64, (HLS_RECORD * (uint64_t)p.n_records + 63) / 64, words);
        hls_read_row(plan, (span + p.bins) / 64, (4 * (uint64_t)p.n_bins + 63) / 64, words);
    }
}

/* A piece's records: 40 bytes a clock, for which a word of 64 comes in less than that. */
static void hls_weights_piece(uint32_t n_records, hls::stream<hls_word, HLS_PIXEL_DEPTH> &words,
                              hls::stream<hls_record, HLS_PIXEL_DEPTH> &records)
{
    uint64_t buffer[13] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
#pragma HLS ARRAY_PARTITION variable=buffer complete
    uint32_t have = 0; /* words of eight bytes */
    for (uint32_t r = 0; r < n_records; r++) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT min=1 avg=560712 max=4194304
        hls_record out;
        /* At most 4 words are left then, so 13 are room enough for 8 more. */
        if (have < 5) {
            hls_word w = words.read();
            for (uint32_t k = 0; k < 13; k++) {
#pragma HLS UNROLL
                if (k - have < 8)
                    buffer[k] = w.w[(k - have) & 7];
            }
            have += 8;
        }
        for (uint32_t k = 0; k < 5; k++) {
#pragma HLS UNROLL
            out.w[k] = buffer[k];
        }
        for (uint32_t k = 0; k < 8; k++) {
#pragma HLS UNROLL
            buffer[k] = buffer[k + 5];
        }
        have -= 5;
        records.write(out);
    }
}

/* And its bins, two in a word of 64. */
static void hls_weights_bins(uint32_t n_bins, hls::stream<hls_word, HLS_PIXEL_DEPTH> &words,
                             hls::stream<uint64_t, HLS_PAIR_DEPTH> &bins)
{
    hls_word w = { { 0, 0, 0, 0, 0, 0, 0, 0 } };
    for (uint32_t k = 0; 2 * k < n_bins; k++) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT min=1 avg=500 max=4096
        if (k % 8 == 0)
            w = words.read();
        bins.write(w.w[k % 8]);
    }
}

static void hls_weights(hls_sums_task task, hls::stream<hls_piece, 2> &pieces,
                        hls::stream<hls_word, HLS_PIXEL_DEPTH> &words,
                        hls::stream<hls_record, HLS_PIXEL_DEPTH> &records,
                        hls::stream<uint64_t, HLS_PAIR_DEPTH> &bins)
{
    for (uint64_t i = 0; i < task.n_pieces; i++) { /* HLS_OUTER */
#pragma HLS LOOP_TRIPCOUNT min=1 avg=1 max=4096
        hls_piece p = pieces.read();
        hls_weights_piece(p.n_records, words, records);
        hls_weights_bins(p.n_bins, words, bins);
    }
}

#endif
