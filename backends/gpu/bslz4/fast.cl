/* fast.cl - the usual blocks fast: parsed by single lanes to copy commands, carried out by GPU_LANES in step.
 *
 * PLANE ALIASING: bit-planes above the data mostly equal the one below, coded as one long match.  A plane that a
 * match makes equal to the plane before it is not written at all: bit p of the block's NEW mask says that plane p is
 * one of its own, and its place in the window is the number of such planes below.  Commands speak of places in that
 * window, so that carrying them out needs no thought.  Where a plane has several gaps (4 modules side by side), LZ4
 * finds the last gap rather than the last plane: no plane is left out, and the block takes two to three times as long.
 *
 * ELEM (2 or 4 bytes) is given when the text is compiled.
 */
#pragma once
#include "bslz4/blocks.cl"

#define PLANES (8 * ELEM)
#define PLANE_BYTES (GPU_BLOCK / PLANES)
#define PLANE_WORDS (PLANE_BYTES / 4)
#define BLOCK_PIXELS (GPU_BLOCK / ELEM)
#define BLOCK_TILES (BLOCK_PIXELS / GPU_TILE)

/* Commands of a block: matches, then literals, two words each.
 *     match: place | bytes << 16, distance      literals: place | offset in the stream << 16, bytes */
#define COMMANDS GPU_COMMANDS
#define command gpu_command

/* Of a block: n matches | literals << 8 | planes of its own << 16 | HEAVY; and its NEW mask.  0: not ours. */
#define block_info gpu_block_info

/* What a block must not exceed to be done in a small window of bytes. */
#define SMALL_PLANES GPU_SMALL_PLANES(ELEM)
#define SMALL_CODED (GPU_SMALL_COMP - 32)
#define SMALL_LATE 24 /* commands that concern planes 8 and up: more of them, and many pixels exceed a byte */
#define HEAVY 0x01000000u

DEVICE u32 place_of_plane(u32 new_planes, u32 plane)
{
    return POPCOUNT(new_planes & ((2u << plane) - 1)) - 1;
}

/* --- Parsing: one lane, one block --- */

/* The last block of a frame may be a partial one: its planes have fewer bytes, but stand as far apart in the window as
 * any block's.  Behind it come the frame's raw elements, up to seven, which become one more byte of each plane; a
 * plane can only be left out if that byte is like its neighbour's, too. */
struct parser {
    struct command *matches, *literals;
    u32 n_matches, n_literals, new_planes, removed;
    u32 plane;  /* bytes of one in the stream */
    u32 differ; /* planes whose byte of raw elements is not the one of the plane before */
};

/* Where a position of the stream is in the window. */
DEVICE u32 place_at(const struct parser *p, u32 pos)
{
    return p->plane == PLANE_BYTES ? pos - p->removed
                                   : place_of_plane(p->new_planes, pos / p->plane) * PLANE_BYTES + pos % p->plane;
}

DEVICE void put_match(struct parser *p, u32 place, u32 bytes, u32 distance)
{
    uint2 c = { place | bytes << 16, distance };
    ((uint2 *)p->matches)[p->n_matches++] = c;
}

/* A match at `pos`, once places are no longer positions: its source is looked up plane by plane.  False: no room. */
DEVICE int put_match_pieces(struct parser *p, u32 pos, u32 bytes, u32 offset)
{
    while (bytes) {
        /* A piece ends where its source's plane does, because the next plane may stand elsewhere in the
         * window. */
        u32 from = pos - offset, in = from % p->plane, n = bytes < p->plane - in ? bytes : p->plane - in;
        if (p->plane != PLANE_BYTES && n > p->plane - pos % p->plane)
            n = p->plane - pos % p->plane;
        if (p->n_matches >= COMMANDS - 2)
            return 0;
        u32 place = place_at(p, pos);
        put_match(p, place, n, place - (place_of_plane(p->new_planes, from / p->plane) * PLANE_BYTES + in));
        pos += n;
        bytes -= n;
    }
    return 1;
}

/* The planes, from *first up to *last, that a match makes equal to the one before each. */
DEVICE u32 planes_alike(u32 plane, u32 pos, u32 bytes, u32 offset, u32 *first, u32 *last)
{
    *first = *last = 0;
    /* The copy repeats with the length of a plane only if its distance divides it.  Runs of zeros often have distances
     * of 2 or 4, which divide the planes of whole blocks and not of most partial ones: these are mostly heavy. */
    if (bytes >= 2 * plane && offset <= plane && plane % offset == 0) {
        *first = (pos + 2 * plane - 1 - offset) / plane;
        *last = (pos + bytes) / plane;
    }
    return *last > *first ? (*last == 32 ? 0u : 1u << *last) - (1u << *first) : 0;
}

/* A match to commands; planes that it makes equal to the one before are left out. */
DEVICE int parse_match(struct parser *p, u32 pos, u32 bytes, u32 offset)
{
    u32 end = pos + bytes, first, last, equal = planes_alike(p->plane, pos, bytes, offset, &first, &last);
    /* A plane whose byte of raw elements differs has to be written after all. */
    if (p->differ & equal)
        equal = 0;
    u32 before = equal ? first * p->plane - pos : bytes;
    /* As long as no plane is left out, places are positions, and a match is one command. */
    if (before && !p->removed && p->plane == PLANE_BYTES)
        put_match(p, pos, before, offset);
    else if (before && !put_match_pieces(p, pos, before, offset))
        return 0;
    /* What stands before the planes that are alike is copied; what stands behind them follows below. */
    if (!equal)
        return 1;
    p->new_planes &= ~equal;
    p->removed += (last - first) * p->plane;
    /* The rest of the match lies in a plane that begins like the one before it. */
    if (end % p->plane && last < PLANES)
        put_match(p, place_of_plane(p->new_planes, last) * PLANE_BYTES, end % p->plane, PLANE_BYTES);
    return 1;
}

/* Literals at `pos`.  False: no room. */
DEVICE int parse_literals(struct parser *p, u32 pos, u32 from, u32 bytes)
{
    while (bytes) {
        /* In a partial block planes stand apart in the window, so literals end with each of them. */
        u32 n = bytes;
        if (p->plane != PLANE_BYTES && n > p->plane - pos % p->plane)
            n = p->plane - pos % p->plane;
        if (p->n_literals >= COMMANDS - 1)
            return 0;
        uint2 c = { place_at(p, pos) | from << 16, n };
        ((uint2 *)p->literals)[p->n_literals++] = c;
        pos += n;
        from += n;
        bytes -= n;
    }
    return 1;
}

/* Four bytes from any place. */
DEVICE u32 any_word(const u8 *s, u32 at)
{
    u64 address = (u64)s + at;
    const u32 *word = (const u32 *)(address & ~(u64)3);
    return BYTE_PERM(word[0], word[1], 0x3210 + 0x1111 * ((u32)address & 3));
}

/* Of a block of n coded bytes. */
DEVICE struct block_info block_info_of(const struct parser *p, u32 n, u32 late)
{
    u32 planes = POPCOUNT(p->new_planes);
    u32 heavy = planes > SMALL_PLANES || n > SMALL_CODED || late > SMALL_LATE ? HEAVY : 0;
    struct block_info info = { p->n_matches | p->n_literals << 8 | planes << 16 | heavy, p->new_planes };
    return info;
}

/* A block of `total` bytes.  0: done; 1: damaged; 2: for lz4_next() to judge, or too many commands.
 *
 * lz4_next()'s rules, but each sequence's offset, the first byte of its length and the next one's token come with one
 * load: that loads wait for one another is what the time of a batch's longest block consists of. */
DEVICE int parse_block(const u8 *s, i32 n, i32 total, u32 differ, struct command *commands, struct block_info *info)
{
    struct parser p = { commands, commands + COMMANDS, 0, 0, 0xffffffffu >> (32 - PLANES), 0, (u32)total / PLANES,
                        differ };
    i32 q = 1, pos = 0;
    u32 late = 0, token = s[0];
    for (;;) {
        i32 literals = (i32)(token >> 4), match = (i32)(token & 15) + 4;
        if (literals == 15 && (q >= n - 15 || !lz4_length(s, &q, n - 15, &literals)))
            return 1;
        /* These are the rules of lz4_next(), in the same order, so both call the same blocks damaged. */
        if (literals > total - pos || literals > n - q)
            return 1;
        /* A block with more commands goes another way, and is not damaged. */
        if (p.n_matches >= COMMANDS - 4 || !parse_literals(&p, (u32)pos, (u32)q, (u32)literals))
            return 2;
        pos += literals;
        q += literals;
        /* Commands above the eighth plane tell how many pixels exceed a byte. */
        late += (u32)pos >= 8 * p.plane;
        if (pos > total - 12 || q > n - 8)
            break;
        /* Four bytes are there even at the end: a frame has room behind it (is_usual()). */
        u32 word = any_word(s, (u32)q), offset = word & 0xffff;
        q += 2;
        token = word >> 16 & 255;
        if (match == 19 && token != 255) {
            match += (i32)token;
            token = word >> 24;
            q++;
        } else if (match == 19) {
            if (!lz4_length(s, &q, n - 4, &match))
                return 1;
            token = s[q];
        }
        if (!offset || offset > (u32)pos)
            return 1;
        /* Here and at the end lz4_next() knows an exception. */
        if (match > total - 5 - pos || !parse_match(&p, (u32)pos, (u32)match, offset))
            return 2;
        pos += match;
        q++;
    }
    if (q != n || pos != total)
        return 2;
    *info = block_info_of(&p, (u32)n, late);
    return 0;
}

/* A frame's raw element. */
DEVICE u32 raw_element(const u8 *raw, u32 k)
{
    u32 v = 0;
    UNROLL
    for (u32 b = 0; b < ELEM; b++)
        v |= (u32)raw[k * ELEM + b] << 8 * b;
    return v;
}

DEVICE u32 planes_that_differ(const u8 *raw, u32 bytes)
{
    u32 differ = 0;
    for (u32 k = 0; k * ELEM < bytes; k++) {
        u32 v = raw_element(raw, k);
        differ |= v ^ v << 1;
    }
    return differ & ~1u;
}

/* A block of a frame, whatever it is: as parse_block() says. */
DEVICE int parse_alone(const u8 *chunks, const hcy_bslz4_frame *f, hcy_bslz4_block block, u32 bytes,
                       struct command *commands, struct block_info *info)
{
    const u8 *coded = chunks + f->offset + block.offset;
    if (!block_fits(f, block, bytes))
        return 1;
    /* Stored blocks have no LZ4 stream that could be parsed. */
    if (block.size & HCY_BLOCK_STORED)
        return 2;
    if (bytes == GPU_BLOCK)
        return parse_block(coded, (i32)block.size, (i32)GPU_BLOCK, 0, commands, info);
    return parse_block(coded, (i32)block.size, (i32)bytes,
                       planes_that_differ(chunks + f->offset + f->tail_offset, f->tail_bytes), commands, info);
}

/* What became of it. */
DEVICE void note_parsed(const struct gpu_batch *batch, struct gpu_state *state, u32 item, u32 b, u32 bytes, int how,
                        struct block_info *info)
{
    if (how == 1)
        ATOMIC_MIN32(&frame_states(state)[item].damaged, b);
    else if (how == 2)
        list_block(state, batch, item, b);
    /* The raw elements behind a partial block go with it, or else `rest` has to write them. */
    if (bytes != GPU_BLOCK && !how)
        frame_states(state)[item].tail = 1;
    else if (bytes != GPU_BLOCK)
        ATOMIC_MAX32(&state->loose, 1);
    if (how)
        info->counts = 0;
}

/* GPU_LANES take `lanes` blocks of a frame: more would wait for one another, as each goes its own way. */
KERNEL GROUP_OF(GPU_PARSE_GROUP)
void gpu_parse(struct gpu_batch batch, u32 lanes, BUFFER(const u8, chunks), BUFFER(const hcy_bslz4_frame, frames),
               BUFFER(const hcy_bslz4_block, blocks), BUFFER(struct gpu_state, state),
               BUFFER(struct block_info, infos), BUFFER(struct command, commands))
{
    OPEN(const u8, chunks) OPEN(const hcy_bslz4_frame, frames) OPEN(const hcy_bslz4_block, blocks)
    OPEN(struct gpu_state, state) OPEN(struct block_info, infos) OPEN(struct command, commands)
    u32 item = GROUP_Y, lane = ITEM % GPU_LANES,
        b = (GROUP * (GPU_PARSE_GROUP / GPU_LANES) + ITEM / GPU_LANES) * lanes + lane;
    const hcy_bslz4_frame *f = &frames[item];
    struct block_info info = { 0, 0 };
    u64 block_at = (u64)item * batch.n_blocks + b;
    /* Lanes without a block leave: nothing below needs them all. */
    if (lane >= lanes || b >= batch.n_blocks)
        return;
    if (frame_states(state)[item].way == GPU_WAY_FAST) {
        u32 bytes = decoded_bytes(f, b);
        struct command *own = commands + block_at * (2 * COMMANDS);
        int how = parse_alone(chunks, f, blocks[f->first_block + b], bytes, own, &info);
        note_parsed(&batch, state, item, b, bytes, how, &info);
    }
    infos[block_at] = info;
}

/* --- Carrying out: all lanes, one block --- */

/* Lane k's 4096 / k, rounded up: (lane * it) >> 12 is lane / k for lanes below GPU_LANES. */
DEVICE u32 reciprocal(u32 lane)
{
    return lane ? 4096u / lane + 1 : 0;
}

/* Local memory goes by its own 32-bit addresses here: from pointers the compiler makes each address anew, six
 * instructions a byte.
 *
 * Where bytes come from: local memory, or (FAR, known when this is compiled) any other; `base` is a multiple of 4. */
struct source {
    int far;
    const u8 *base;
    u32 near_base;
};
DEVICE u32 source_byte(const struct source *s, u32 at)
{
    return s->far ? s->base[at] : near_byte(s->near_base + at);
}
DEVICE u32 source_word(const struct source *s, u32 at)
{
    return s->far ? *(const u32 *)(s->base + at) : near_word(s->near_base + at);
}

/* n > 8 bytes, none of which is another's source, by words of the destination; those at its ends byte by byte.  Sources
 * that begin as far from a word as their destination are read as they are, others with up to three bytes behind
 * them. */
DEVICE void copy_apart(u32 to, const struct source *s, u32 from, u32 n, u32 lane)
{
    u32 head = 0u - to & 3, whole = (n - head) & ~3u, skew = from + head & 3, pick = 0x3210 + 0x1111 * skew;
    /* The first four lanes have the bytes before whole words, the next four those behind them. */
    u32 edge = lane < 4 ? lane : head + whole + lane - 4, next = skew ? 4 : 0;
    if (lane < 4 ? lane < head : lane < 8 && edge < n)
        near_put_byte(to + edge, source_byte(s, from + edge));
    from = (from + head & ~3u) + 4 * lane;
    for (u32 i = 4 * lane; i < whole; i += 4 * GPU_LANES, from += 4 * GPU_LANES) {
        /* Two neighbouring words hold any four bytes, and a permutation picks them. */
        u32 low = source_word(s, from), high = source_word(s, from + next);
        near_put_word(to + head + i, BYTE_PERM(low, high, pick));
    }
}

/* Literals do not depend on one another: the short ones a lane each, the others by all lanes in turn. */
DEVICE void carry_out_literals(const struct command *literals, u32 n, const struct source *coded, u32 skip, u32 window,
                               u32 lane)
{
    for (u32 first = 0; first < n; first += GPU_LANES) {
        uint2 c = { 0, 0 };
        if (first + lane < n)
            c = ((const uint2 *)literals)[first + lane];
        /* Each lane loads all of its short literals before it writes any, so that the loads do not wait
         * for one another. */
        u32 to = window + (c.x & 0xffff), from = skip + (c.x >> 16), few = c.y <= 8 ? c.y : 0, v[8];
        UNROLL
        for (u32 j = 0; j < 8; j++)
            if (j < few)
                v[j] = source_byte(coded, from + j);
        UNROLL
        for (u32 j = 0; j < 8; j++)
            if (j < few)
                near_put_byte(to + j, v[j]);
        /* Long ones are worth all lanes, one after another. */
        for (u32 m = BALLOT(c.y > 8); m; m &= m - 1) {
            int k = FIRST_BIT(m);
            u32 bytes = SHUFFLE(c.y, k), at = SHUFFLE(to, k), source = SHUFFLE(from, k);
            copy_apart(at, coded, source, bytes, lane);
        }
    }
}

/* A match of more bytes than lanes; the barriers of carry_out_matches() stand before and behind it. */
DEVICE void carry_out_long_match(u32 to, u32 bytes, u32 distance, u32 inverse, u32 lane)
{
    struct source window = { 0, NULL_PTR, 0 };
    u32 at = to + lane;
    i32 left = (i32)(bytes - lane);
    if (distance >= bytes + (distance & 3 ? 3 : 0)) { /* nothing is read that is written here */
        copy_apart(to, &window, to - distance, bytes, lane);
    } else if (distance >= GPU_LANES) {
        for (i32 c = 0; c < (i32)bytes; c += GPU_LANES, left -= GPU_LANES, at += GPU_LANES) {
            /* No source is nearer than a step is long, so lanes of one step do not read what it writes. */
            if (left > 0)
                near_put_byte(at, near_byte(at - distance));
            LANES_BARRIER();
        }
    } else {
        /* The match repeats its first bytes: r is the lane's place in the period, kept without a division. */
        u32 r = lane - distance * (lane * inverse >> 12), step = GPU_LANES - distance * (GPU_LANES * inverse >> 12);
        u32 from = to - distance;
        for (i32 c = 0; c < (i32)bytes; c += GPU_LANES, left -= GPU_LANES, at += GPU_LANES) {
            if (left > 0)
                near_put_byte(at, near_byte(from + r));
            r += step;
            r = r >= distance ? r - distance : r;
        }
    }
}

/* Matches in order: a short one takes one step, its command read by all lanes at once.  These steps are most of the
 * kernels' time, so nothing in them branches or is computed twice: lanes behind a match's end repeat its last byte.
 * The barriers between steps are needed: without them lanes were seen to run apart and fail. */
DEVICE void carry_out_matches(const struct command *matches, u32 n, u32 window, NEAR uint4 *queue, u32 lane)
{
    u32 inverse = reciprocal(lane), commands = NEAR_ADDRESS(queue);
    for (u32 first = 0; first < n; first += GPU_LANES) {
        uint2 c = { 0, 1 };
        if (first + lane < n)
            c = ((const uint2 *)matches)[first + lane];
        u32 own = SHUFFLE(inverse, c.y & (GPU_LANES - 1)), bytes = c.x >> 16;
        /* A lane prepares a match: all that does not depend on the lanes is computed here, once. */
        uint4 q;
        q.x = window + (c.x & 0xffff);
        q.y = bytes - 1;
        q.z = 0u - c.y;
        q.w = c.y < GPU_LANES ? own : 0;
        LANES_BARRIER();
        /* The queue is local memory that all lanes read at one address, which is a single access. */
        queue[lane] = q;
        u32 slow = BALLOT(bytes > GPU_LANES), at = commands,
            end = commands + 16 * (n - first < GPU_LANES ? n - first : GPU_LANES);
        LANES_BARRIER();
        /* The next command is read while this one is carried out. */
        uint4 e = near_quad(at);
        for (;; slow &= slow - 1) {
            /* Up to the next long match all are short, so the loop does not ask. */
            u32 until = settled(slow ? commands + 16 * (u32)FIRST_BIT(slow) : end);
            while (at < until) {
                u32 in = lane < e.y ? lane : e.y, to = e.x + in, from = to + e.z * ((in * e.w + 4096) >> 12);
                at += 16;
                e = near_quad(at);
                near_put_byte(to, near_byte(from));
                LANES_BARRIER();
            }
            if (!slow)
                break;
            carry_out_long_match(e.x, e.y + 1, 0u - e.z, e.w, lane);
            at += 16;
            e = near_quad(at);
            LANES_BARRIER();
        }
    }
}
#define QUEUE (GPU_LANES + 1) /* commands kept for the lanes, and one read ahead */

/* The raw elements behind a partial block. */
DEVICE void put_raw(const u8 *raw, u32 bytes, u32 plane, u32 new_planes, u32 window, u32 lane)
{
    u32 x = 0;
    for (u32 k = 0; k * ELEM < bytes; k++)
        x |= (raw_element(raw, k) >> (lane & (PLANES - 1)) & 1) << k;
    if (lane < PLANES && new_planes >> lane & 1)
        near_put_byte(window + place_of_plane(new_planes, lane) * PLANE_BYTES + plane, x);
}

/* A block's planes to its window.  The source begins `skip` bytes before the coded ones. */
DEVICE void carry_out(const hcy_bslz4_frame *f, const u8 *chunks, u32 b, const struct block_info *info,
                      const struct command *commands, const struct source *coded, u32 skip, NEAR u8 *window,
                      NEAR uint4 *queue, u32 lane)
{
    u32 to = NEAR_ADDRESS(window), bytes = decoded_bytes(f, b);
    carry_out_literals(commands + COMMANDS, info->counts >> 8 & 255, coded, skip, to, lane);
    LANES_BARRIER();
    carry_out_matches(commands, info->counts & 255, to, queue, lane);
    if (bytes != GPU_BLOCK)
        put_raw(chunks + f->offset + f->tail_offset, f->tail_bytes, bytes / PLANES, info->new_planes, to, lane);
    LANES_BARRIER();
}

/* A block's coded bytes to local memory, by all lanes; where they begin there. */
DEVICE u32 stage_block(const u8 *coded, u32 bytes, NEAR u8 *to, u32 lane)
{
    u32 before = (u32)((u64)coded & 15);
    const uint4 *from = (const uint4 *)(coded - before);
    for (u32 i = lane; i * 16 < before + bytes; i += GPU_LANES)
        ((NEAR uint4 *)to)[i] = READ_ONLY(from + i);
    LANES_BARRIER();
    return before;
}

/* A block's coded bytes where they are, with *skip bytes before them. */
DEVICE struct source far_source(const u8 *coded, u32 *skip)
{
    *skip = (u32)((u64)coded & 3);
    struct source s = { 1, coded - *skip, 0 };
    return s;
}

/* --- Bits to pixels --- */

/* 8 x 8 bits in each of 4 columns of bytes: bit j of word i becomes bit i of word j. */
DEVICE void transpose8x4(u32 p[8])
{
    UNROLL
    for (int i = 0; i < 4; i++) {
        u32 t = ((p[i] >> 4) ^ p[i + 4]) & 0x0f0f0f0fu;
        p[i + 4] ^= t;
        p[i] ^= t << 4;
    }
    UNROLL
    for (int i = 0; i < 8; i++)
        if (!(i & 2)) {
            u32 t = ((p[i] >> 2) ^ p[i + 2]) & 0x33333333u;
            p[i + 2] ^= t;
            p[i] ^= t << 2;
        }
    UNROLL
    for (int i = 0; i < 8; i++)
        if (!(i & 1)) {
            u32 t = ((p[i] >> 1) ^ p[i + 1]) & 0x55555555u;
            p[i + 1] ^= t;
            p[i] ^= t << 1;
        }
}

/* The same byte of four words, for each of the four. */
DEVICE void transpose4x4(const u32 x[4], u32 y[4])
{
    u32 a = BYTE_PERM(x[0], x[1], 0x5140), b = BYTE_PERM(x[0], x[1], 0x7362);
    u32 c = BYTE_PERM(x[2], x[3], 0x5140), d = BYTE_PERM(x[2], x[3], 0x7362);
    y[0] = BYTE_PERM(a, c, 0x5410);
    y[1] = BYTE_PERM(a, c, 0x7632);
    y[2] = BYTE_PERM(b, d, 0x5410);
    y[3] = BYTE_PERM(b, d, 0x7632);
}

/* Where each plane begins in a window, in words: the same for all its pixels, so looked up once. */
struct plane_places {
    uint4 of[8];
};
DEVICE void find_planes(NEAR struct plane_places *places, u32 new_planes, u32 lane)
{
    ((NEAR u32 *)places)[lane] = place_of_plane(new_planes, lane) * PLANE_WORDS;
}

/* Word w of planes 8 d to 8 d + 7, transposed. */
DEVICE void load_eight_planes(const NEAR u32 *window, const NEAR struct plane_places *places, u32 w, int d, u32 q[8])
{
    uint4 a = places->of[2 * d], b = places->of[2 * d + 1];
    q[0] = window[a.x + w];
    q[1] = window[a.y + w];
    q[2] = window[a.z + w];
    q[3] = window[a.w + w];
    q[4] = window[b.x + w];
    q[5] = window[b.y + w];
    q[6] = window[b.z + w];
    q[7] = window[b.w + w];
}

/* Word w of every plane, as 32 pixels: byte by byte as far as planes differ; above that all have the last one's
 * bits. */
DEVICE void load_pixels(const NEAR u32 *window, const NEAR struct plane_places *places, u32 new_planes, u32 w,
                        u32 a[32])
{
    UNROLL
    for (int i = 0; i < 32; i++)
        a[i] = 0;
    UNROLL
    for (int d = 0; d < ELEM; d++) {
        u32 q[8];
        if (d && !(new_planes >> (8 * d + 1))) {
            const u32 above = (0xffffffffu << 8 * d) & (0xffffffffu >> (32 - PLANES));
            u32 word = window[((const NEAR u32 *)places)[8 * d] + w];
            if (word) {
                UNROLL
                for (int i = 0; i < 32; i++)
                    a[i] |= (u32)((i32)(word << (31 - i)) >> 31) & above;
            }
            break;
        }
        load_eight_planes(window, places, w, d, q);
        transpose8x4(q);
        UNROLL
        for (int i = 0; i < 32; i++)
            a[i] = BYTE_PERM(a[i], q[i & 7], (0x3210 & ~(15 << 4 * d)) | (4 + (i >> 3)) << 4 * d);
    }
}
