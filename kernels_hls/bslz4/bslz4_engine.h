/* bslz4_engine.h - coded blocks to pixels: the stages that bslz4_decode and bslz4_azint share.
 *
 *     list --> fetch --units, coded--> 4 x [ parse --sequences--> copy --chunks--> transpose ] --pieces--> ...
 *
 * Those up to parse stand in bslz4_parse.h, copy and transpose here.  Plane aliasing: a match that repeats whole
 * bit-planes is not copied, the planes are marked equal to the one before (one clock each).  A damaged block goes
 * through as zeros with a mark, so that what comes behind stays in step.
 */
#ifndef HCY_HLS_BSLZ4_ENGINE_H
#define HCY_HLS_BSLZ4_ENGINE_H

#include "bslz4_parse.h"

/* Up to 8 decoded bytes, a plane equal to the one before, or the end. */
struct hls_chunk {
    uint64_t bytes;
    uint8_t n, what;
};

/* Up to 8 pixels (with planes), or 8 bytes; n in bytes.  A block ends with the piece that says so. */
struct hls_pixels {
    uint64_t w[4];
    uint8_t n, last, bad;
};

/* --- copy: sequences to bytes --- */

/* Where a block's copier stands. */
struct hls_copier {
    uint32_t at;              /* decoded bytes so far */
    uint32_t plane, in_plane; /* bytes of a bit-plane (0: none), and so far of this one */
    uint32_t shift;           /* plane = 1 << shift, where planes are looked at; else 0 */
    uint64_t literals;
    uint32_t n, match, offset, from; /* from: where the match began */
    uint8_t end;
    uint32_t wait;   /* clocks until the window may be read: planes were left out */
    uint8_t real[32]; /* of each plane, the plane whose bytes are in the window */
    uint8_t recent[HLS_RECENT]; /* the last bytes, the newest first */
};

/* Where byte `at` of the block is in the window. */
static inline uint32_t hls_copier_place(const hls_copier &c, uint32_t at)
{
    if (!c.shift)
        return at & (HLS_WINDOW - 1);
    return (uint32_t)c.real[at >> c.shift & 31] << c.shift | (at & ((1u << c.shift) - 1));
}

static inline void hls_copier_begin(hls_copier &c, const hls_unit &u)
{
    c.at = c.in_plane = c.n = c.match = c.offset = c.from = 0;
    c.literals = 0;
    c.plane = u.plane;
    c.end = HLS_DATA;
    c.wait = 0;
    c.shift = 0;
    /* Planes of HLS_ALIAS bytes and more, a power of two; others are copied like any bytes. */
    for (uint32_t k = 6; k < 14; k++) {
#pragma HLS UNROLL
        if (u.plane == 1u << k)
            c.shift = k;
    }
    for (uint8_t k = 0; k < 32; k++) {
#pragma HLS UNROLL
        c.real[k] = k;
        c.recent[k] = 0;
    }
}

/* May the plane that begins here be left out: does the match repeat the one before it all along? */
static inline bool hls_copier_same(const hls_copier &c)
{
    /* The offset divides the plane, and the match wrote all of the plane before but its first `offset` bytes:
     * so both repeat the same bytes. */
    bool power = (c.offset & (c.offset - 1)) == 0 && c.offset <= c.plane;
    return c.shift && !c.in_plane && power && c.match >= c.plane && c.at - c.from >= c.plane - c.offset;
}

static inline void hls_copier_next_plane(hls_copier &c, uint32_t n)
{
    c.at += n;
    c.in_plane += n;
    if (c.in_plane == c.plane)
        c.in_plane = 0;
}

/* A sequence's next bytes, up to 8 of one plane. */
static inline hls_chunk hls_copier_bytes(hls_copier &c, uint8_t (&window)[8][HLS_WINDOW / 8])
{
#pragma HLS INLINE
    uint32_t room = c.plane ? c.plane - c.in_plane : 8, want = c.n ? c.n : c.match;
    uint32_t n = want < room ? want : room, lag = 0;
    uint8_t bytes[8];
    uint32_t source = c.at - c.offset;
    uint8_t line[8];
    hls_chunk out = { 0, 0, HLS_DATA };
    /* Eight bytes, but none of the next plane, because a plane begins a bank. */
    n = n < 8 ? n : 8;
    for (uint32_t b = 0; b < 8; b++) {
#pragma HLS UNROLL
        /* Eight neighbouring bytes are in eight banks, wherever they begin: each bank is asked for the one that is its
         * own.  A bank that depends on the address would be one that every byte asks for. */
        line[b] = window[b][hls_copier_place(c, source + ((b - source) & 7)) >> 3];
    }
    for (uint32_t k = 0; k < 8; k++) {
#pragma HLS UNROLL
        /* A match may overlap itself: its bytes repeat with the offset as period.  Only near ones do so. */
        uint32_t back = c.offset - lag;
        if (c.n)
            bytes[k] = (uint8_t)(c.literals >> 8 * k);
        else if (back <= HLS_RECENT)
            bytes[k] = c.recent[(back - 1) & (HLS_RECENT - 1)];
        else
            bytes[k] = line[(source + k) & 7];
        lag = lag + 1 == c.offset ? 0 : lag + 1;
        out.bytes |= k < n ? (uint64_t)bytes[k] << 8 * k : 0;
    }
    for (uint32_t b = 0; b < 8; b++) {
#pragma HLS UNROLL
        uint32_t k = (b - c.at) & 7;
        if (k < n)
            window[b][hls_copier_place(c, c.at + k) >> 3] = bytes[k];
    }
    /* The newest byte stands first, so that a match's offset, less one, is an index. */
    for (uint32_t k = HLS_RECENT; k-- > 0;) {
#pragma HLS UNROLL
        c.recent[k] = k >= n ? c.recent[k - n] : bytes[(n - 1 - k) & 7];
    }
    out.n = (uint8_t)n;
    /* A match that follows begins behind its literals. */
    if (c.n) {
        c.n -= n;
        c.literals = n == 8 ? 0 : c.literals >> 8 * n;
        c.from = c.at + n;
    } else {
        c.match -= n;
    }
    hls_copier_next_plane(c, n);
    return out;
}

/* One block.  A match reads the window more than HLS_RECENT bytes, so four writes, behind the place it writes to;
 * nearer bytes come from registers.  A plane that is left out is many bytes and no write: behind it HLS_PAUSE clocks
 * pass, as what is read next may be what was written last.  `recent` stays right: that plane ends as the one before. */
static void hls_copy_unit(const hls_unit &u, hls::stream<hls_sequence, HLS_SMALL_DEPTH> &sequences,
                          hls::stream<hls_chunk, HLS_SMALL_DEPTH> &chunks)
{
    uint8_t window[8][HLS_WINDOW / 8];
#pragma HLS ARRAY_PARTITION variable=window complete dim=1
#pragma HLS BIND_STORAGE variable=window type=ram_s2p impl=bram
#pragma HLS DEPENDENCE variable=window inter RAW distance=5 true
    hls_copier c;
#pragma HLS ARRAY_PARTITION variable=c.recent complete
#pragma HLS ARRAY_PARTITION variable=c.real complete
    hls_copier_begin(c, u);
    /* One loop for sequences, bytes and planes: an inner one would empty the pipeline each time. */
    while (c.end == HLS_DATA || c.n || c.match) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT min=1 avg=300 max=8192
        hls_chunk out = { 0, 0, HLS_SAME };
        if (!c.n && !c.match) {
            hls_sequence s = sequences.read();
            c.literals = s.literals;
            c.n = s.n;
            c.match = s.match;
            c.offset = s.offset;
            c.from = c.at;
            c.end = s.end;
        }
        if (!c.n && !c.match)
            continue;
        /* Nothing moves: the plane's bytes are those of the plane before, wherever that one has them. */
        if (!c.n && hls_copier_same(c)) {
            uint32_t plane = c.at >> c.shift & 31;
            c.real[plane] = c.real[(plane - 1) & 31];
            c.match -= c.plane;
            c.at += c.plane;
            c.wait = HLS_PAUSE;
        } else if (c.wait) {
            c.wait--;
            continue;
        } else {
            out = hls_copier_bytes(c, window);
        }
        chunks.write(out);
    }
    hls_chunk end = { 0, 0, c.end };
    chunks.write(end);
}

static void hls_copy(hls_task task, uint32_t engine, hls::stream<hls_unit, 2> &copies,
                     hls::stream<hls_sequence, HLS_SMALL_DEPTH> &sequences, hls::stream<hls_unit, 2> &turns,
                     hls::stream<hls_chunk, HLS_SMALL_DEPTH> &chunks)
{
    uint32_t n = hls_units_of(task, engine);
    for (uint32_t i = 0; i < n; i++) { /* HLS_OUTER */
#pragma HLS LOOP_TRIPCOUNT min=1 avg=548 max=4096
        hls_unit u = copies.read();
        turns.write(u);
        hls_copy_unit(u, sequences, chunks);
    }
}

/* --- transpose: bytes to pixels --- */

/* A block's planes: bank b has bytes 256 b to 256 b + 255 of them, plane p begins in bank p * 4 / elem. */
struct hls_planes {
    uint8_t bank[32][8][32];
    bool same[32]; /* the plane is equal to the one before */
};

/* Chunks of a block with planes to the banks; true if it is damaged. */
static bool hls_planes_fill(hls_planes &planes, uint32_t plane, uint32_t elem,
                            hls::stream<hls_chunk, HLS_SMALL_DEPTH> &chunks)
{
    /* With fewer planes each one is longer and takes more banks. */
    uint32_t shift = elem == 4 ? 0 : elem == 2 ? 1 : 2, p = 0, at = 0;
    uint8_t what = HLS_DATA;
    for (uint32_t k = 0; k < 32; k++) {
#pragma HLS UNROLL
        planes.same[k] = false;
    }
    while (what == HLS_DATA || what == HLS_SAME) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT min=1 avg=300 max=8192
        hls_chunk c = chunks.read();
        what = c.what;
        /* Only the mark is kept; the pixels' wiring takes the plane before. */
        if (what == HLS_SAME)
            planes.same[p++ & 31] = true;
        for (uint32_t m = 0; m < 8; m++) {
#pragma HLS UNROLL
            /* Eight bytes go to eight memories of a bank, or of two, in one clock: each takes the one that is its
             * own. */
            uint32_t k = (m - at) & 7, byte = at + k;
            if (k < c.n)
                planes.bank[((p << shift) + (byte >> 8)) & 31][m][byte >> 3 & 31] = (uint8_t)(c.bytes >> 8 * k);
        }
        at += c.n;
        /* Chunks end where planes do, so this is never passed by. */
        if (c.n && at == plane) {
            at = 0;
            p++;
        }
    }
    return what == HLS_BAD;
}

/* Pixels 8 g to 8 g + 7, by wiring: bit i of plane p is bit p of pixel i. */
static inline hls_pixels hls_planes_pixels(const hls_planes &planes, uint32_t g, uint32_t plane, uint32_t elem)
{
#pragma HLS INLINE
    uint32_t shift = elem == 4 ? 0 : elem == 2 ? 1 : 2;
    uint8_t row = 0;
    uint8_t bits[32], rows[32];
#pragma HLS ARRAY_PARTITION variable=bits complete
#pragma HLS ARRAY_PARTITION variable=rows complete
    hls_pixels out = { { 0, 0, 0, 0 }, (uint8_t)(8 * elem), g + 1 == plane, 0 };
    for (uint32_t b = 0; b < 32; b++) {
#pragma HLS UNROLL
        /* Each bank is read once; which planes these bytes are of depends on the element's size. */
        rows[b] = planes.bank[b][g & 7][g >> 3 & 31];
    }
    for (uint32_t p = 0; p < 32; p++) {
#pragma HLS UNROLL
        /* Ascending: a plane equal to the one before has its row at hand. */
        if (p < 8 * elem)
            row = planes.same[p] ? row : rows[((p << shift) + (g >> 8)) & 31];
        bits[p] = p < 8 * elem ? row : 0;
    }
    for (uint32_t i = 0; i < 8; i++) {
#pragma HLS UNROLL
        uint32_t pixel = 0, at = i * 8 * elem;
        for (uint32_t p = 0; p < 32; p++) {
#pragma HLS UNROLL
            pixel |= (uint32_t)(bits[p] >> i & 1) << p;
        }
        out.w[at / 64] |= (uint64_t)pixel << at % 64;
    }
    return out;
}

static void hls_planes_unit(const hls_unit &u, uint32_t elem, hls::stream<hls_chunk, HLS_SMALL_DEPTH> &chunks,
                            hls::stream<hls_pixels, HLS_PIXEL_DEPTH> &pieces)
{
    hls_planes planes;
#pragma HLS ARRAY_PARTITION variable=planes.bank complete dim=1
#pragma HLS ARRAY_PARTITION variable=planes.bank complete dim=2
#pragma HLS ARRAY_PARTITION variable=planes.same complete
#pragma HLS BIND_STORAGE variable=planes.bank type=ram_s2p impl=lutram
    bool bad = hls_planes_fill(planes, u.plane, elem, chunks);
    /* Two passes over one memory: the block has to be there before its first pixel is. */
    for (uint32_t g = 0; g < u.plane; g++) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT min=1 avg=256 max=1024
        hls_pixels none = { { 0, 0, 0, 0 }, (uint8_t)(8 * elem), g + 1 == u.plane, 1 };
        pieces.write(bad ? none : hls_planes_pixels(planes, g, u.plane, elem));
    }
}

/* Bytes that are pixels already; zeros for what a damaged block lacks. */
static void hls_bytes_unit(const hls_unit &u, hls::stream<hls_chunk, HLS_SMALL_DEPTH> &chunks,
                           hls::stream<hls_pixels, HLS_PIXEL_DEPTH> &pieces)
{
    uint32_t left = u.bytes;
    hls_pixels out = { { 0, 0, 0, 0 }, 0, 0, 0 };
    while (!out.last) {
#pragma HLS PIPELINE II=1
#pragma HLS LOOP_TRIPCOUNT min=1 avg=1024 max=1048576
        /* A damaged block ends early; zeros fill it up, because collect counts bytes. */
        if (!out.bad) {
            hls_chunk c = chunks.read();
            out.w[0] = c.bytes;
            out.n = c.n;
            out.bad = c.what == HLS_BAD;
            out.last = c.what == HLS_END;
        } else {
            out.w[0] = 0;
            out.n = (uint8_t)(left < 8 ? left : 8);
            out.last = left <= 8;
        }
        left -= out.n;
        pieces.write(out);
    }
}

static void hls_transpose(hls_task task, uint32_t engine, hls::stream<hls_unit, 2> &turns,
                          hls::stream<hls_chunk, HLS_SMALL_DEPTH> &chunks,
                          hls::stream<hls_pixels, HLS_PIXEL_DEPTH> &pieces)
{
    uint32_t n = hls_units_of(task, engine);
    for (uint32_t i = 0; i < n; i++) { /* HLS_OUTER */
#pragma HLS LOOP_TRIPCOUNT min=1 avg=548 max=4096
        hls_unit u = turns.read();
        if (u.plane)
            hls_planes_unit(u, task.elem, chunks, pieces);
        else
            hls_bytes_unit(u, chunks, pieces);
    }
}

#endif
