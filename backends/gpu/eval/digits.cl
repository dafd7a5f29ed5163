/* digits.cl - rows of words by size, a byte of their keys after the other, the lowest first.
 *
 * Each pass keeps the order of equal digits: a tile's elements, put in order by their group, go side by side to where
 * the row's elements of their digits begin, behind those of the tiles before it.  How many these have, tiles tell one
 * another while they run (digits_lanes.cl), or it is counted in a launch of its own (digits_plain.cl).  A row that is
 * one tile is put in order by all its digits at once (gpu_eval_rows).  Keys of few bytes are packed into words with
 * their places, which move along (gpu_eval_pack, gpu_eval_unpack).
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
/* Its row where elements go, and its elements; to_words NULL_PTR: only places do, which are place_bits of words that do
 * not have them beside; places NULL_PTR: they are where they are. */
struct dealt {
    WORD *to_words;
    i64 *to_places;
    const WORD *words;
    const i64 *places;
    u64 place_bits;
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

/* And places back. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_eval_unpack(struct gpu_order o, u32 shift, BUFFER(i64, places), BUFFER(const u64, words))
{
    OPEN(i64, places) OPEN(const u64, words)
    for (u64 t = GROUP; t < o.rows * o.tiles; t += GROUPS) {
        const struct tile k = find_tile(&o, t);
        for (u32 i = ITEM; i < k.size; i += GROUP_SIZE)
            places[k.first + i] = (i64)(words[k.first + i] & (((u64)1 << shift) - 1));
    }
}
