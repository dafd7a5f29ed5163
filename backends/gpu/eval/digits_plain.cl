/* digits_plain.cl - a tile's elements by a digit where no lanes go in step: for digits.cl.
 *
 * Their numbers are put in order in local memory, by half a digit after the other: an item takes some that follow one
 * another. */
#define NIBBLES 16

/* order: numbers of the tile's elements; digits: by element; shifts: where the elements of a digit go, of where they
 * stand in the order. */
struct near_tile {
    u32 room[ROOM_TO_SUM], shifts[DIGITS];
    u16 order[TILE], spare[TILE], tally[NIBBLES * GROUP_SIZE];
    u8 digits[TILE];
};

/* Equal ones keep their order. */
DEVICE void order_nibble(NEAR struct near_tile *n, NEAR u16 *to, NEAR const u16 *from, u32 size, u32 shift)
{
    const u32 first = ITEM * SHARE, last = first + SHARE < size ? first + SHARE : size;
    u32 sum = 0, all;
    for (u32 b = 0; b < NIBBLES; b++)
        n->tally[b * GROUP_SIZE + ITEM] = 0;
    for (u32 i = first; i < last; i++)
        n->tally[(n->digits[from[i]] >> shift & (NIBBLES - 1)) * GROUP_SIZE + ITEM]++;
    BARRIER();
    for (u32 b = 0; b < NIBBLES; b++)
        sum += n->tally[ITEM * NIBBLES + b];
    sum = sum_before(n->room, sum, &all);
    for (u32 b = 0; b < NIBBLES; b++) {
        const u32 mine = n->tally[ITEM * NIBBLES + b];
        n->tally[ITEM * NIBBLES + b] = (u16)sum;
        sum += mine;
    }
    BARRIER();
    for (u32 i = first; i < last; i++)
        to[n->tally[(n->digits[from[i]] >> shift & (NIBBLES - 1)) * GROUP_SIZE + ITEM]++] = from[i];
    BARRIER();
}

DEVICE void order_tile(NEAR struct near_tile *n, const struct gpu_order *o, u32 shift, const WORD *words, u32 size)
{
    for (u32 i = ITEM; i < size; i += GROUP_SIZE)
        n->digits[i] = (u8)digit_of(words[i], o, shift);
    BARRIER();
    order_nibble(n, n->spare, n->order, size, 0);
    order_nibble(n, n->order, n->spare, size, 4);
}

/* In n->shifts is where each digit's elements begin to go. */
DEVICE void deal_tile(NEAR struct near_tile *n, const struct gpu_order *o, u32 shift, const struct tile *t,
                      const struct dealt *d)
{
    for (u32 i = ITEM; i < t->size; i += GROUP_SIZE)
        n->order[i] = (u16)i;
    order_tile(n, o, shift, d->words, t->size);
    for (u32 p = ITEM; p < t->size; p += GROUP_SIZE)
        if (p == 0 || n->digits[n->order[p]] != n->digits[n->order[p - 1]])
            n->shifts[n->digits[n->order[p]]] -= p;
    BARRIER();
    for (u32 p = ITEM; p < t->size; p += GROUP_SIZE) {
        const u32 i = n->order[p], to = p + n->shifts[n->digits[i]];
        d->to_words[to] = d->words[i];
#if PLACES
        d->to_places[to] = d->places ? d->places[i] : (i64)(t->first - t->row + i);
#endif
    }
}

DEVICE void sort_row(NEAR struct near_tile *n, const struct gpu_order *o, u32 shift, WORD *to, const WORD *from)
{
    const u32 size = (u32)o->length;
    for (u32 i = ITEM; i < size; i += GROUP_SIZE)
        n->order[i] = (u16)i;
    for (; shift < 8 * sizeof(WORD); shift += 8)
        order_tile(n, o, shift, from, size);
    for (u32 p = ITEM; p < size; p += GROUP_SIZE)
        to[p] = from[n->order[p]];
}
