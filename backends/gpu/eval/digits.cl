/* digits.cl - rows of words by size, a byte of their keys after the other, the lowest first.
 *
 * Each pass keeps the order of equal digits: a row's tiles count theirs (gpu_eval_digits), digit by digit these become
 * where each tile's begin (gpu_eval_starts), and a tile's elements, put in order by their group, go there side by side
 * (gpu_eval_deal).  A row that is one tile is put in order by all its digits at once (gpu_eval_rows).  Keys of few
 * bytes are packed into words with their places, which move along (gpu_eval_pack, gpu_eval_unpack).
 *
 * WORD: the type of a word; FLOATS 1: it is a float's; PLACES 1: where it was in its row goes with each word; TILE: the
 * elements of a tile.
 */
#pragma once
#include "nufft/group_sums.cl"
#define HELPER DEVICE
#include "eval_key.h"

#define DIGITS 256
#define SHARE (TILE / GROUP_SIZE)
#define COUNTED 4
/* Groups that a multiprocessor shall hold: with 64 registers an item, or 85 where there are places to move. */
#define RESIDENT ((PLACES ? 768 : 1024) / GROUP_SIZE)

/* A tile of a row: its row's first element, which of its row's it is, its own first element, and how many it has. */
struct tile {
    u64 row, number, first;
    u32 size;
};
/* Its row where elements go, and its elements; places NULL_PTR: they are where they are. */
struct dealt {
    WORD *to_words;
    i64 *to_places;
    const WORD *words;
    const i64 *places;
};

/* Tile t of all rows. */
DEVICE struct tile find_tile(const struct gpu_order *o, u64 t)
{
    struct tile k;
    k.row = t / o->tiles * o->length;
    k.number = t % o->tiles;
    k.first = k.row + k.number * TILE;
    k.size = o->length - k.number * TILE < TILE ? (u32)(o->length - k.number * TILE) : TILE;
    return k;
}

DEVICE u32 digit_of(WORD word, const struct gpu_order *o, u32 shift)
{
    const WORD key = order_key(word, FLOATS, (WORD)o->sign, (WORD)o->infinity, (WORD)o->nan);
    return (u32)(key >> shift) & (DIGITS - 1);
}

#ifdef SHUFFLE
#include "eval/digits_lanes.cl"
#else
#include "eval/digits_plain.cl"
#endif

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_eval_digits(struct gpu_order o, u32 shift, BUFFER(const WORD, words), BUFFER(u32, counts))
{
    OPEN(const WORD, words) OPEN(u32, counts)
    LOCAL u32 near[DIGITS];
    for (u64 t = GROUP; t < o.rows * o.tiles; t += GROUPS) {
        const struct tile k = find_tile(&o, t);
        for (u32 d = ITEM; d < DIGITS; d += GROUP_SIZE)
            near[d] = 0;
        BARRIER();
        for (u32 at = ITEM; at < k.size; at += COUNTED * GROUP_SIZE) {
            WORD mine[COUNTED]; /* read together: memory is slow to begin */
            UNROLL
            for (u32 c = 0; c < COUNTED; c++)
                mine[c] = at + c * GROUP_SIZE < k.size ? words[k.first + at + c * GROUP_SIZE] : 0;
            UNROLL
            for (u32 c = 0; c < COUNTED; c++)
                if (at + c * GROUP_SIZE < k.size)
                    NEAR_ADD32(&near[digit_of(mine[c], &o, shift)], 1);
        }
        BARRIER();
        for (u32 d = ITEM; d < DIGITS; d += GROUP_SIZE)
            counts[(t / o.tiles * DIGITS + d) * o.tiles + k.number] = near[d];
        BARRIER();
    }
}

/* Of each of n rows' digits: its tiles' counts to what is before them; `totals`: how many there are. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_eval_starts(u64 n, u64 tiles, BUFFER(u32, counts), BUFFER(u32, totals))
{
    OPEN(u32, counts) OPEN(u32, totals)
    LOCAL u32 room[ROOM_TO_SUM];
    /* A few tiles are an item's, where a group would be idle. */
    const int few = tiles <= GROUP_SIZE / 4;
    for (u64 r = ITEM_OF_ALL; few && r < n; r += (u64)GROUPS * GROUP_SIZE) {
        u32 before = 0;
        for (u64 t = 0; t < tiles; t++) {
            const u32 mine = counts[r * tiles + t];
            counts[r * tiles + t] = before;
            before += mine;
        }
        totals[r] = before;
    }
    for (u64 r = GROUP; !few && r < n; r += GROUPS) {
        u32 *mine = counts + r * tiles, before = 0, all;
        for (u64 at = 0; at < tiles; at += COUNTED * GROUP_SIZE) {
            const u64 first = at + ITEM * COUNTED;
            u32 counted[COUNTED], sum = 0;
            UNROLL
            for (u32 c = 0; c < COUNTED; c++) {
                counted[c] = first + c < tiles ? mine[first + c] : 0;
                sum += counted[c];
            }
            sum = before + sum_before(room, sum, &all);
            UNROLL
            for (u32 c = 0; c < COUNTED; c++) {
                if (first + c < tiles)
                    mine[first + c] = sum;
                sum += counted[c];
            }
            before += all;
        }
        if (ITEM == 0)
            totals[r] = before;
    }
}

/* Where this tile's elements of each digit go, in its row. */
DEVICE void find_bases(NEAR u32 *bases, NEAR u32 *room, const u32 *counts, const u32 *totals, u64 tiles)
{
    const u32 share = DIGITS / GROUP_SIZE, first = ITEM * share;
    u32 sum = 0, all;
    for (u32 d = first; d < first + share; d++)
        sum += totals[d];
    sum = sum_before(room, sum, &all);
    for (u32 d = first; d < first + share; d++) {
        bases[d] = sum + counts[d * tiles];
        sum += totals[d];
    }
}

/* In the first pass, of shift 0 where there are places, these are where elements are. */
KERNEL GROUPS_OF(GROUP_SIZE, RESIDENT)
void gpu_eval_deal(struct gpu_order o, u32 shift, BUFFER(WORD, to_words), BUFFER(i64, to_places),
                   BUFFER(const WORD, words), BUFFER(const i64, places), BUFFER(const u32, counts),
                   BUFFER(const u32, totals))
{
    OPEN(WORD, to_words) OPEN(i64, to_places) OPEN(const WORD, words) OPEN(const i64, places)
    OPEN(const u32, counts) OPEN(const u32, totals)
    LOCAL struct near_tile near;
    for (u64 t = GROUP; t < o.rows * o.tiles; t += GROUPS) {
        const struct tile k = find_tile(&o, t);
        const struct dealt d = { to_words + k.row, to_places + k.row, words + k.first,
                                 shift ? places + k.first : NULL_PTR };
        const u64 row = t / o.tiles * DIGITS;
        find_bases(near.shifts, near.room, counts + row * o.tiles + k.number, totals + row, o.tiles);
        deal_tile(&near, &o, shift, &k, &d);
        BARRIER();
    }
}

KERNEL GROUPS_OF(GROUP_SIZE, RESIDENT)
void gpu_eval_rows(struct gpu_order o, u32 shift, BUFFER(WORD, to_words), BUFFER(const WORD, words))
{
    OPEN(WORD, to_words) OPEN(const WORD, words)
    LOCAL struct near_tile near;
    for (u64 r = GROUP; r < o.rows; r += GROUPS) {
        sort_row(&near, &o, shift, to_words + r * o.length, words + r * o.length);
        BARRIER();
    }
}

/* Keys to words: each above its place, which takes `shift` bits. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_eval_pack(struct gpu_order o, u32 shift, BUFFER(u64, words), BUFFER(const i64, keys))
{
    OPEN(u64, words) OPEN(const i64, keys)
    for (u64 t = GROUP; t < o.rows * o.tiles; t += GROUPS) {
        const struct tile k = find_tile(&o, t);
        for (u32 i = ITEM; i < k.size; i += GROUP_SIZE)
            words[k.first + i] = (u64)keys[k.first + i] << shift | (k.first - k.row + i);
    }
}

/* And back; `words` may be the keys. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_eval_unpack(struct gpu_order o, u32 shift, BUFFER(i64, keys), BUFFER(i64, places), BUFFER(const u64, words))
{
    OPEN(i64, keys) OPEN(i64, places) OPEN(const u64, words)
    for (u64 t = GROUP; t < o.rows * o.tiles; t += GROUPS) {
        const struct tile k = find_tile(&o, t);
        for (u32 i = ITEM; i < k.size; i += GROUP_SIZE) {
            const u64 word = words[k.first + i];
            keys[k.first + i] = o.sign ? (i64)word >> shift : (i64)(word >> shift);
            places[k.first + i] = (i64)(word & (((u64)1 << shift) - 1));
        }
    }
}
