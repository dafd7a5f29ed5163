/* digits.cl - long rows of keys by size, a byte of the key after the other, the lowest first.
 *
 * Each pass keeps the order of equal digits: a row's tiles count theirs (gpu_eval_digits), digit by digit these become
 * where each tile's begin (gpu_eval_starts), and a tile's elements, put in order in local memory, go there side by side
 * (gpu_eval_deal).  `turn` is xored to a digit: 128 where its highest bit is a sign.
 */
#pragma once
#include "nufft/group_sums.cl"

#define DIGITS 256
#define SHARE (GPU_SORT_TILE / GROUP_SIZE)
#define NIBBLES 16

/* Tile t of all rows; a row has so many. */
struct tile {
    u64 row, number, first; /* first: of its elements, among all */
    u32 size;
};
DEVICE struct tile find_tile(u64 length, u64 tiles, u64 t)
{
    struct tile k;
    k.row = t / tiles;
    k.number = t % tiles;
    k.first = k.row * length + k.number * GPU_SORT_TILE;
    k.size = length - k.number * GPU_SORT_TILE < GPU_SORT_TILE ? (u32)(length - k.number * GPU_SORT_TILE)
                                                               : GPU_SORT_TILE;
    return k;
}

DEVICE u32 digit_of(i64 key, u32 shift, u32 turn)
{
    return ((u32)((u64)key >> shift) & (DIGITS - 1)) ^ turn;
}

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_eval_digits(u64 n, u64 length, u64 tiles, u32 shift, u32 turn, BUFFER(const i64, keys), BUFFER(u32, counts))
{
    OPEN(const i64, keys) OPEN(u32, counts)
    LOCAL u32 near[DIGITS];
    for (u64 t = GROUP; t < n / length * tiles; t += GROUPS) {
        const struct tile k = find_tile(length, tiles, t);
        for (u32 d = ITEM; d < DIGITS; d += GROUP_SIZE)
            near[d] = 0;
        BARRIER();
        for (u32 i = ITEM; i < k.size; i += GROUP_SIZE)
            NEAR_ADD32(&near[digit_of(keys[k.first + i], shift, turn)], 1);
        BARRIER();
        for (u32 d = ITEM; d < DIGITS; d += GROUP_SIZE)
            counts[(k.row * DIGITS + d) * tiles + k.number] = near[d];
        BARRIER();
    }
}

/* Of each of n rows' digits: its tiles' counts to what is before them; `totals`: how many there are. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_eval_starts(u64 n, u64 tiles, BUFFER(u32, counts), BUFFER(u32, totals))
{
    OPEN(u32, counts) OPEN(u32, totals)
    LOCAL u32 room[ROOM_TO_SUM];
    for (u64 r = GROUP; r < n; r += GROUPS) {
        u32 *mine = counts + r * tiles, before = 0, all;
        for (u64 at = 0; at < tiles; at += GROUP_SIZE) {
            const u64 i = at + ITEM;
            const u32 sum = sum_before(room, i < tiles ? mine[i] : 0, &all);
            if (i < tiles)
                mine[i] = before + sum;
            before += all;
        }
        if (ITEM == 0)
            totals[r] = before;
    }
}

/* Where this tile's elements of each digit go, in its row. */
DEVICE void find_bases(NEAR u32 *bases, NEAR u32 *room, const struct tile *k, u64 tiles, const u32 *counts,
                       const u32 *totals)
{
    const u32 share = DIGITS / GROUP_SIZE, first = ITEM * share;
    u32 sum = 0, all;
    for (u32 d = first; d < first + share; d++)
        sum += totals[k->row * DIGITS + d];
    sum = sum_before(room, sum, &all);
    for (u32 d = first; d < first + share; d++) {
        bases[d] = sum + counts[(k->row * DIGITS + d) * tiles + k->number];
        sum += totals[k->row * DIGITS + d];
    }
}

/* Elements from one order to that of half a digit, in which equal ones keep theirs: an item takes some that follow one
 * another. */
DEVICE void order_nibble(NEAR u16 *to, NEAR u16 *tally, NEAR u32 *room, NEAR const u16 *from, NEAR const u8 *digits,
                         u32 size, u32 shift)
{
    const u32 first = ITEM * SHARE, last = first + SHARE < size ? first + SHARE : size;
    u32 sum = 0, all;
    for (u32 b = 0; b < NIBBLES; b++)
        tally[b * GROUP_SIZE + ITEM] = 0;
    for (u32 i = first; i < last; i++)
        tally[(digits[from[i]] >> shift & (NIBBLES - 1)) * GROUP_SIZE + ITEM]++;
    BARRIER();
    for (u32 b = 0; b < NIBBLES; b++)
        sum += tally[ITEM * NIBBLES + b];
    sum = sum_before(room, sum, &all);
    for (u32 b = 0; b < NIBBLES; b++) {
        const u32 mine = tally[ITEM * NIBBLES + b];
        tally[ITEM * NIBBLES + b] = (u16)sum;
        sum += mine;
    }
    BARRIER();
    for (u32 i = first; i < last; i++)
        to[tally[(digits[from[i]] >> shift & (NIBBLES - 1)) * GROUP_SIZE + ITEM]++] = from[i];
    BARRIER();
}

/* In the first pass places are where elements are. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_eval_deal(u64 n, u64 length, u64 tiles, u32 shift, u32 turn, BUFFER(i64, to_keys), BUFFER(i64, to_places),
                   BUFFER(const i64, keys), BUFFER(const i64, places), BUFFER(const u32, counts),
                   BUFFER(const u32, totals))
{
    OPEN(i64, to_keys) OPEN(i64, to_places) OPEN(const i64, keys) OPEN(const i64, places)
    OPEN(const u32, counts) OPEN(const u32, totals)
    LOCAL u32 room[ROOM_TO_SUM], bases[DIGITS], starts[DIGITS];
    LOCAL u16 order[GPU_SORT_TILE], spare[GPU_SORT_TILE], tally[NIBBLES * GROUP_SIZE];
    LOCAL u8 digits[GPU_SORT_TILE];
    for (u64 t = GROUP; t < n / length * tiles; t += GROUPS) {
        const struct tile k = find_tile(length, tiles, t);
        for (u32 i = ITEM; i < k.size; i += GROUP_SIZE) {
            digits[i] = (u8)digit_of(keys[k.first + i], shift, turn);
            order[i] = (u16)i;
        }
        find_bases(bases, room, &k, tiles, counts, totals);
        BARRIER();
        order_nibble(spare, tally, room, order, digits, k.size, 0);
        order_nibble(order, tally, room, spare, digits, k.size, 4);
        for (u32 p = ITEM; p < k.size; p += GROUP_SIZE)
            if (p == 0 || digits[order[p]] != digits[order[p - 1]])
                starts[digits[order[p]]] = p;
        BARRIER();
        for (u32 p = ITEM; p < k.size; p += GROUP_SIZE) {
            const u32 i = order[p], d = digits[i];
            const u64 from = k.first + i, to = k.row * length + bases[d] + (p - starts[d]);
            to_keys[to] = keys[from];
            to_places[to] = shift ? places[from] : (i64)(from - k.row * length);
        }
        BARRIER();
    }
}
