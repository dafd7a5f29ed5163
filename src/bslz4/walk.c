/* walk.c - where a chunk's blocks are: lengths, one behind the other, followed from several places at once.
 *
 * A block says how long it is, and nothing else says where the next one begins: the way through a chunk is a chain of
 * loads, each of which waits for memory.  So further walks begin at places that look like a block (the lengths behind
 * it look like blocks' too) and all go side by side.  What they find counts only once the true walk has come to one of
 * their places, from where on both are the same walk: a wrong guess costs time and changes nothing.  No state; any
 * thread.
 */
#include "bslz4_priv.h"

#include <stdbool.h>

#define WALKS     16u   /* side by side */
#define ROOM      1024u /* blocks of a walk; the true one goes on alone behind them */
#define WORTH     128u  /* blocks of a chunk for which guessing pays */
#define LOOK      8192u /* bytes in which a walk's first block is looked for */
#define LIKELY    3     /* lengths behind a guess that must be likely too */
#define FAR_AHEAD 3     /* lines fetched where looking will begin */

struct walk {
    uint32_t first, at, n; /* its first block, 0: there is none; where it has come to; blocks so far */
    uint16_t lengths[ROOM];
};

struct chunk {
    const uint8_t *bytes;
    uint32_t size, most; /* most: coded bytes that LZ4 makes of a block at worst */
};

static inline uint32_t load_length(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The length at a place, 0 if none can be there. */
static inline uint32_t length_at(const struct chunk *c, uint32_t at)
{
    if (c->size - at < 4)
        return 0;
    uint32_t n = load_length(c->bytes + at);
    return n > c->size - at - 4 || n >= HCY_BLOCK_STORED ? 0 : n;
}

static bool is_likely(const struct chunk *c, uint32_t at)
{
    /* One length may look right by chance; that others follow where it leads is no chance. */
    for (int i = 0; i <= LIKELY; i++) {
        uint32_t n = length_at(c, at);
        if (!n || n > c->most)
            return false;
        at += 4 + n;
    }
    return true;
}

static uint32_t find_first(const struct chunk *c, uint32_t from)
{
    uint32_t end = c->size - from < LOOK + 4 ? c->size - 4 : from + LOOK;
    /* Lengths below 65536, which alone are stored (struct walk), begin with two bytes of 0: few other places do. */
    for (uint32_t at = from; at < end; at++)
        if (!c->bytes[at] && !c->bytes[at + 1] && is_likely(c, at))
            return at;
    return 0;
}

static void begin_walks(const struct chunk *c, uint32_t at, struct walk walks[WALKS])
{
    uint32_t step = (c->size - at) / WALKS;
    /* The first walk is the true one: its beginning is no guess. */
    walks[0].first = walks[0].at = at;
    walks[0].n = 0;
    /* All places are asked for before the first one is looked at, so that memory is waited for once. */
    for (uint32_t k = 1; k < WALKS; k++)
        for (uint32_t line = 0; line < FAR_AHEAD; line++)
            __builtin_prefetch(c->bytes + at + k * step + 64 * line);
    for (uint32_t k = 1; k < WALKS; k++) {
        walks[k].first = walks[k].at = find_first(c, at + k * step);
        walks[k].n = 0;
    }
}

/* All walks, each up to the next one's first block. */
static void follow_walks(const struct chunk *c, struct walk walks[WALKS])
{
    uint32_t ends[WALKS], end = c->size;
    bool going = true;
    /* A walk ends where the next one that has found a block begins, so the ends are set from the last to the first. */
    for (uint32_t k = WALKS; k-- > 0;) {
        ends[k] = walks[k].first ? end : 0;
        end = walks[k].first ? walks[k].first : end;
    }
    /* One block of each in turn: the loads of a round do not depend on each other, so they wait side by side. */
    while (going) {
        going = false;
        for (uint32_t k = 0; k < WALKS; k++) {
            struct walk *w = &walks[k];
            if (w->at >= ends[k])
                continue;
            uint32_t n = w->n < ROOM ? length_at(c, w->at) : 0;
            /* What ends a guess is no error: only the true walk can tell damage. */
            if (!n || n > UINT16_MAX) {
                ends[k] = 0;
                continue;
            }
            w->lengths[w->n++] = (uint16_t)n;
            w->at += 4 + n;
            going = true;
        }
    }
}

/* --- The true walk --- */

struct found {
    hcy_bslz4_block *blocks;
    const hcy_bslz4_frame *frame;
    uint32_t at, n;
    bool may_be_stored;
};

static inline void note_block(struct found *f, uint32_t n)
{
    /* Filter 32004 stores a block that LZ4 does not shorten; its length says so. */
    uint32_t stored = f->may_be_stored && n == HCY_BLOCK_BYTES(f->frame, f->n) ? HCY_BLOCK_STORED : 0;
    f->blocks[f->n++] = (hcy_bslz4_block){ .offset = f->at + 4, .size = n | stored };
    f->at += 4 + n;
}

/* The true walk goes on alone, up to a place or through all blocks; it fails at what can be no block. */
static int walk_alone(struct found *f, const struct chunk *c, uint32_t until)
{
    while (f->at < until && f->n < f->frame->n_blocks) {
        uint32_t left = c->size - f->at, n = length_at(c, f->at);
        if (left < 4)
            return hcy_fail(HCY_ECORRUPT, "chunk truncated: block %u of %u begins at byte %u, the chunk ends at %u",
                            f->n, f->frame->n_blocks, f->at, c->size);
        if (!n)
            return hcy_fail(HCY_ECORRUPT, "block %u at byte %u: %u coded bytes, where 1 to %u are possible", f->n,
                            f->at, load_length(c->bytes + f->at), left - 4);
        note_block(f, n);
    }
    return 0;
}

/* Takes over what a walk has found from where the true one meets it, if it does. */
static void join_walk(struct found *f, const struct walk *w)
{
    uint32_t i = 0, at = w->first;
    /* A walk that began inside a block has a few wrong lengths before it comes upon a true one, or never does. */
    while (at < f->at && i < w->n)
        at += 4 + w->lengths[i++];
    if (at != f->at)
        return;
    for (; i < w->n && f->n < f->frame->n_blocks; i++)
        note_block(f, w->lengths[i]);
}

int hcy__bslz4_walk(hcy_bslz4_block *blocks, const hcy_bslz4_frame *frame, const hcy_bslz4_job *job,
                    const uint8_t *bytes, uint32_t *at, uint32_t *block)
{
    struct chunk c = { bytes, (uint32_t)frame->size, frame->block_bytes + frame->block_bytes / 255 + 16 };
    struct found f = { blocks, frame, *at, 0, job->codec == HCY_CODEC_LZ4 };
    struct walk walks[WALKS];
    int status = 0;
    /* Walks are placed evenly, and must have room to look for their first block. */
    if (frame->n_blocks >= WORTH && c.most <= UINT16_MAX && c.size - *at >= WALKS * 64 * FAR_AHEAD) {
        begin_walks(&c, *at, walks);
        follow_walks(&c, walks);
        for (uint32_t k = 0; k < WALKS && !status; k++) {
            if (!walks[k].first)
                continue;
            /* Up to this walk's first block; mostly the walk before has come there already. */
            status = walk_alone(&f, &c, walks[k].first);
            if (!status)
                join_walk(&f, &walks[k]);
        }
    }
    if (!status)
        status = walk_alone(&f, &c, UINT32_MAX);
    *at = f.at;
    *block = f.n;
    return status;
}
