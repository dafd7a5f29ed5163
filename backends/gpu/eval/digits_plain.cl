/* digits_plain.cl - a tile's elements by a digit where no lanes go in step: for digits.cl.
 *
 * In each pass a row's tiles count theirs (gpu_eval_digits), digit by digit these become where each tile's begin
 * (gpu_eval_starts), and elements go there (gpu_eval_deal): that a group may wait for another one is not said of such
 * devices.
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
                                 shift ? places + k.first : NULL_PTR, 0 };
        const u64 row = t / o.tiles * DIGITS;
        find_bases(near.shifts, near.room, counts + row * o.tiles + k.number, totals + row, o.tiles);
        deal_tile(&near, &o, shift, &k, &d);
        BARRIER();
    }
}
