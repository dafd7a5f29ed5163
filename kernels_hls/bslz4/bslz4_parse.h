/* bslz4_parse.h - coded blocks to sequences: the first stages of bslz4_engine.h, list, fetch and parse.
 *
 * list reads the table of blocks ahead.  fetch deals blocks to the engines in turn, a burst of the memory each, and
 * whoever takes the pieces takes them in the same turn, so the order of the image is kept and no engine can wait for
 * another for ever.  parse checks everything that LZ4 can get wrong, by liblz4's rules; what comes behind it can trust
 * it.
 */
#ifndef HCY_HLS_BSLZ4_PARSE_H
#define HCY_HLS_BSLZ4_PARSE_H

#include "hls_common.h"

enum hls_mode { HLS_LZ4, HLS_STORED, HLS_BROKEN };

/* A block, or the raw tail, for one engine. */
struct hls_unit {
    uint64_t at;           /* in the batch's buffer */
    uint32_t coded, bytes; /* stored and decoded */
    uint32_t plane;        /* bytes of a bit-plane; 0: the bytes are pixels */
    uint8_t mode, skip;    /* skip: bytes of the first word that are not the block's */
};

/* What of a block comes next: bytes, a plane equal to the one before, its end, its end if it is damaged. */
enum hls_what { HLS_DATA, HLS_SAME, HLS_END, HLS_BAD };

/* Up to 8 literals, then a match. */
struct hls_sequence {
    uint64_t literals;
    uint32_t match, offset; /* match 0: none */
    uint8_t n, end;         /* end: HLS_END or HLS_BAD */
};

/* What a frame's stages have in common: by value to each. */
struct hls_task {
    hcy_bslz4_frame frame;
    uint64_t chunks_bytes;
    uint32_t n_units; /* blocks, and the tail if there is one */
    uint32_t codec, elem;
};

static inline bool hls_has_planes(uint32_t codec)
{
    return codec == HCY_CODEC_BSLZ4 || codec == HCY_CODEC_BITSHUFFLE;
}

/* Decoded bytes of a unit. */
static inline uint32_t hls_unit_bytes(const hls_task &task, uint32_t unit)
{
    if (unit == task.frame.n_blocks)
        return task.frame.tail_bytes;
    return unit + 1 == task.frame.n_blocks ? task.frame.last_bytes : task.frame.block_bytes;
}

static inline uint32_t hls_units_of(const hls_task &task, uint32_t engine)
{
    return (task.n_units + HLS_ENGINES - 1 - engine) / HLS_ENGINES;
}

/* The rules of backends/cpu's cpu_frame_fits(), and what these engines can hold: 0 or the frame's status. */
static inline int32_t hls_frame_check(const hcy_bslz4_frame &f, const hcy_bslz4_job &job, uint64_t chunks_bytes,
                                      uint64_t n_blocks)
{
    bool planes = hls_has_planes(job.codec), sized = job.elem_size == 1 || job.elem_size == 2 || job.elem_size == 4;
    uint32_t unit = planes ? 8 * job.elem_size : 1;
    uint64_t bytes = f.tail_bytes;
    if (f.status)
        return f.status;
    if (f.n_blocks)
        bytes += (uint64_t)(f.n_blocks - 1) * f.block_bytes + f.last_bytes;
    /* Differences instead of sums, which could wrap; every comparison before the one that relies on it. */
    bool fits = f.offset <= chunks_bytes && f.size <= chunks_bytes - f.offset && f.first_block <= n_blocks &&
                f.n_blocks <= n_blocks - f.first_block && bytes == job.image_bytes &&
                (!f.n_blocks || (f.block_bytes && f.last_bytes <= f.block_bytes)) &&
                (!planes || ((f.block_bytes & (unit - 1)) == 0 && (f.last_bytes & (unit - 1)) == 0)) &&
                (uint64_t)f.tail_offset + f.tail_bytes <= f.size;
    if (!fits || job.codec > HCY_CODEC_BITSHUFFLE)
        return HCY_EINVAL;
    /* The engines hold blocks of 8 KiB with planes; a frame of larger ones is good, but for another device. */
    return planes && (!sized || (f.n_blocks && f.block_bytes > HLS_BLOCK)) ? HCY_EUNSUPPORTED : 0;
}

/* --- list, fetch --- */

static inline hls_unit hls_unit_get(const hls_task &task, uint32_t unit, uint64_t entry)
{
    hls_unit u;
    uint32_t offset = hls_low(entry), size = hls_high(entry) & ~HCY_BLOCK_STORED;
    bool tail = unit == task.frame.n_blocks, stored = hls_high(entry) >> 31 || task.codec == HCY_CODEC_NONE;
    uint32_t shift = task.elem == 4 ? 5 : task.elem == 2 ? 4 : 3; /* of a plane's bytes against the block's */
    u.bytes = hls_unit_bytes(task, unit);
    u.plane = tail || !hls_has_planes(task.codec) ? 0 : u.bytes >> shift;
    u.mode = stored || tail ? HLS_STORED : HLS_LZ4;
    /* The tail is not in the table of blocks; it is one more unit, of stored bytes. */
    if (tail) {
        offset = task.frame.tail_offset;
        size = u.bytes;
    }
    /* Marked instead of refused: the engines stay in turn, and the report names the block. */
    if (!size || (uint64_t)offset + size > task.frame.size || (u.mode == HLS_STORED && size != u.bytes))
        u.mode = HLS_BROKEN;
    /* Of a broken block nothing is fetched, wherever it is said to be. */
    u.coded = u.mode == HLS_BROKEN ? 0 : size;
    u.at = u.mode == HLS_BROKEN ? 0 : task.frame.offset + offset;
    u.skip = (uint8_t)(u.at & 7);
    return u;
}

static void hls_list(const uint64_t *blocks, hls_task task, hls::stream<hls_unit, HLS_SMALL_DEPTH> &listed)
{
    for (uint32_t unit = 0; unit < task.frame.n_blocks; unit++) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT min=0 avg=2191 max=16384
        listed.write(hls_unit_get(task, unit, blocks[task.frame.first_block + unit]));
    }
    /* The tail has no entry: a read that depended on it would make single words of the burst. */
    if (task.n_units > task.frame.n_blocks)
        listed.write(hls_unit_get(task, task.frame.n_blocks, 0));
}

static void hls_fetch(const uint64_t *chunks, hls_task task, hls::stream<hls_unit, HLS_SMALL_DEPTH> &listed,
                      hls::stream<hls_unit, 2> (&units)[HLS_ENGINES],
                      hls::stream<uint64_t, HLS_CODED_DEPTH> (&coded)[HLS_ENGINES])
{
    for (uint32_t unit = 0; unit < task.n_units; unit++) { /* HLS_OUTER */
#pragma HLS LOOP_TRIPCOUNT min=1 avg=2191 max=16384
        hls_unit u = listed.read();
        uint32_t words = (u.skip + u.coded + 7) / 8;
        /* In turn, not to whoever is idle: whoever collects can then know whose piece comes next. */
        units[unit % HLS_ENGINES].write(u);
        for (uint32_t i = 0; i < words; i++) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT min=1 avg=110 max=1028
            coded[unit % HLS_ENGINES].write(hls_load(chunks, u.at / 8 + i, task.chunks_bytes));
        }
    }
}

/* --- parse: the bytes of a block to sequences --- */

/* The next bytes of a block: 8 at least while that many are left. */
struct hls_input {
    uint64_t low, high;
    uint32_t have, words; /* bytes in these two; words still to come */
};

static inline void hls_input_fill(hls_input &in, hls::stream<uint64_t, HLS_CODED_DEPTH> &coded)
{
    if (in.have > 8 || !in.words)
        return;
    /* `have` is at most 8, so one word fits; a shift by 64 has to be kept out of both cases. */
    uint64_t word = coded.read();
    in.low = in.have == 8 ? in.low : in.low | word << 8 * in.have;
    in.high = in.have == 8 ? word : in.have == 0 ? 0 : word >> (64 - 8 * in.have);
    in.have += 8;
    in.words--;
}

static inline void hls_input_drop(hls_input &in, uint32_t n) /* up to 8 */
{
    if (n == 8) {
        in.low = in.high;
        in.high = 0;
    } else if (n) {
        in.low = in.low >> 8 * n | in.high << (64 - 8 * n);
        in.high >>= 8 * n;
    }
    in.have -= n;
}

enum hls_state { HLS_TOKEN, HLS_LITERAL_LENGTH, HLS_LITERALS, HLS_OFFSET, HLS_MATCH_LENGTH, HLS_DONE, HLS_DAMAGED };

/* Where a block's parser stands. */
struct hls_parser {
    uint8_t state;
    bool final, relaxed;    /* of the sequence: it has no match; its match may touch the last bytes */
    uint32_t left;          /* coded bytes to come */
    uint32_t out, bytes;    /* decoded so far, and in all */
    uint32_t literals, match, offset;
};

/* liblz4's rules for the literals of a sequence, whose length is known now.  A short sequence with enough room before
 * both ends it does not look at closely. */
static inline void hls_parser_literals(hls_parser &p)
{
    uint64_t end = (uint64_t)p.out + p.literals;
    int64_t after = (int64_t)p.left - p.literals;
    bool roomy = p.literals < 15 && p.left >= 17 && (uint64_t)p.out + 32 <= p.bytes;
    p.relaxed = roomy;
    p.final = !roomy && (end + 12 > p.bytes || after < 8);
    if (p.final && (after || end != p.bytes))
        p.state = HLS_DAMAGED;
    else
        p.state = p.literals ? HLS_LITERALS : p.final ? HLS_DONE : HLS_OFFSET;
}

/* And for a match whose length is known.  True: it may be copied. */
static inline bool hls_parser_match(hls_parser &p)
{
    uint64_t end = (uint64_t)p.out + p.match;
    /* liblz4 lets a match end only 5 bytes before the block does, except for its quick way for short
     * sequences. */
    bool good = p.offset && p.offset <= p.out && end <= p.bytes &&
                ((p.relaxed && p.match < 19 && p.offset >= 8) || end + 5 <= p.bytes);
    p.state = !good ? HLS_DAMAGED : HLS_TOKEN;
    return good;
}

/* A byte of a length; true if it was the last. */
static inline bool hls_parser_length(hls_parser &p, uint32_t &length, uint8_t byte)
{
    length += byte;
    p.left--;
    if (length <= p.bytes) /* else it cannot become right any more */
        return byte != 255;
    p.state = HLS_DAMAGED;
    return false;
}

static inline void hls_parser_offset(hls_parser &p, uint32_t bytes2)
{
    p.offset = bytes2 & 0xffff;
    p.left -= 2;
}

/* One step: takes bytes of the input, perhaps gives a sequence.  Returns the bytes taken. */
static inline uint32_t hls_parser_step(hls_parser &p, uint64_t low, uint32_t have, hls_sequence &s, bool &put)
{
    uint32_t taken = 0;
    put = false;
    s.literals = low;
    s.match = s.offset = 0;
    s.n = s.end = 0;
    /* A step handles one state, except for the usual short sequence, which it takes whole. */
    if (p.state == HLS_TOKEN) {
        uint32_t token = low & 0xff;
        p.literals = token >> 4;
        p.match = (token & 15) + 4;
        p.left--;
        taken = 1;
        /* Fifteen and four say that the length goes on in further bytes. */
        if (p.literals == 15) {
            p.state = p.left ? HLS_LITERAL_LENGTH : HLS_DAMAGED;
            return taken;
        }
        hls_parser_literals(p);
        if (p.state == HLS_DAMAGED || p.final || p.literals > 5 || have < 3 + p.literals)
            return taken;
        s.literals = low >> 8; /* the usual: a short sequence at once */
        s.n = (uint8_t)p.literals;
        p.out += p.literals;
        p.left -= p.literals;
        taken += p.literals + 2;
        hls_parser_offset(p, (uint32_t)(low >> 8 * (1 + p.literals)));
        p.literals = 0;
        /* The match's length is not known yet; its literals can leave already. */
        if (p.match == 19) {
            p.state = HLS_MATCH_LENGTH;
            put = s.n > 0;
            return taken;
        }
        put = hls_parser_match(p);
    } else if (p.state == HLS_LITERAL_LENGTH) {
        taken = 1;
        if (hls_parser_length(p, p.literals, (uint8_t)low))
            hls_parser_literals(p);
        else if (!p.left)
            p.state = HLS_DAMAGED;
        return taken;
    } else if (p.state == HLS_LITERALS) {
        /* A sequence carries eight literals at most, so a step takes no more. */
        taken = p.literals < 8 ? p.literals : 8;
        s.n = (uint8_t)taken;
        p.literals -= taken;
        p.out += taken;
        p.left -= taken;
        put = true;
        if (!p.literals)
            p.state = p.final ? HLS_DONE : HLS_OFFSET;
        return taken;
    } else if (p.state == HLS_OFFSET) {
        taken = 2;
        hls_parser_offset(p, (uint32_t)low);
        if (p.match == 19)
            p.state = HLS_MATCH_LENGTH;
        else
            put = hls_parser_match(p);
    } else { /* HLS_MATCH_LENGTH */
        taken = 1;
        if (hls_parser_length(p, p.match, (uint8_t)low))
            put = hls_parser_match(p);
        else if (!p.left)
            p.state = HLS_DAMAGED;
    }
    /* Only matches that were found good come here: the copier checks nothing. */
    if (put && p.match) {
        s.match = p.match;
        s.offset = p.offset;
        p.out += p.match;
    }
    if (p.state == HLS_TOKEN && !p.left) /* a match is never the end */
        p.state = HLS_DAMAGED;
    if (p.state == HLS_MATCH_LENGTH && !p.left)
        p.state = HLS_DAMAGED;
    return taken;
}

static inline hls_parser hls_parser_begin(const hls_unit &u)
{
    hls_parser p;
    p.state = u.mode == HLS_BROKEN ? HLS_DAMAGED : u.mode == HLS_STORED ? HLS_LITERALS : HLS_TOKEN;
    p.final = u.mode == HLS_STORED;
    p.relaxed = false;
    p.left = u.coded;
    p.out = 0;
    p.bytes = u.bytes;
    p.literals = u.mode == HLS_STORED ? u.coded : 0;
    p.match = p.offset = 0;
    return p;
}

/* One block.  Its words are all taken, whatever is in them. */
static void hls_parse_unit(const hls_unit &u, hls::stream<uint64_t, HLS_CODED_DEPTH> &coded,
                           hls::stream<hls_sequence, HLS_SMALL_DEPTH> &sequences)
{
    hls_parser p = hls_parser_begin(u);
    hls_input in = { 0, 0, 0, (u.skip + u.coded + 7) / 8 };
    uint32_t drop = u.skip;
    /* A block that is damaged is read to its end, else its words would be taken for the next one's. */
    while ((p.state != HLS_DONE && p.state != HLS_DAMAGED) || in.words) {
#pragma HLS PIPELINE II=2
#pragma HLS LOOP_TRIPCOUNT min=1 avg=80 max=2048
        hls_sequence s;
        bool put = false;
        hls_input_fill(in, coded);
        /* Bytes of the first word that are not this block's. */
        if (drop) {
            hls_input_drop(in, drop);
            drop = 0;
        } else if (p.state == HLS_DONE || p.state == HLS_DAMAGED) {
            in.have = 0;
        } else {
            uint32_t taken = hls_parser_step(p, in.low, in.have, s, put);
            hls_input_drop(in, taken);
        }
        if (put)
            sequences.write(s);
    }
    hls_sequence end = { 0, 0, 0, 0, (uint8_t)(p.state == HLS_DONE ? HLS_END : HLS_BAD) };
    sequences.write(end);
}

static void hls_parse(hls_task task, uint32_t engine, hls::stream<hls_unit, 2> &units,
                      hls::stream<uint64_t, HLS_CODED_DEPTH> &coded, hls::stream<hls_unit, 2> &copies,
                      hls::stream<hls_sequence, HLS_SMALL_DEPTH> &sequences)
{
    uint32_t n = hls_units_of(task, engine);
    for (uint32_t i = 0; i < n; i++) { /* HLS_OUTER */
#pragma HLS LOOP_TRIPCOUNT min=1 avg=548 max=4096
        hls_unit u = units.read();
        /* Before the block is parsed, so that copy can begin with the first sequence. */
        copies.write(u);
        hls_parse_unit(u, coded, sequences);
    }
}

#endif
