/* digits_lanes.cl - a tile's elements by a digit, by lanes in step: for digits.cl.
 *
 * A lane has its elements in registers, every 32nd of those that follow one another in its warp, so that memory is
 * read side by side.  Local memory is what takes the time: each lane sets its bit in a word of its digit, and what it
 * reads there says how many before it have the same one (ballots, which need no memory, took 1.4 times as long, and a
 * count beside the bits in a word of 64 1.1 times). */
#define WARPS (GROUP_SIZE / GPU_LANES)

/* Of digits in each warp: the lanes that have it now, and how many elements had it, or where its first one stands. */
struct near_tallies {
    u32 lanes[WARPS * DIGITS];
    u16 counts[WARPS * DIGITS];
};
/* shifts: where the elements of a digit go, of where they stand in the tile (rows that are one tile look at none);
 * words: when nobody needs tallies. */
struct near_tile {
    union {
        struct near_tallies tallies;
        WORD words[TILE];
    };
    u32 room[ROOM_TO_SUM], shifts[DIGITS];
};

/* Of `size` elements, a lane's k-th: whether there is one, and which. */
#define STEPS(size) (((size) + GROUP_SIZE - 1) / GROUP_SIZE)
#define ELEMENT(k, size) ((ITEM / GPU_LANES * STEPS(size) + (k)) * GPU_LANES + ITEM % GPU_LANES)
#define HAS(k, size) ((k) < STEPS(size) && ELEMENT(k, size) < (size))

/* Each warp's counts of a digit to where its first one stands, behind lower digits and the warps before. */
DEVICE void place_tallies(NEAR struct near_tile *n)
{
    const u32 share = DIGITS / GROUP_SIZE, first = ITEM * share;
    u32 sum = 0, all;
    for (u32 d = first; d < first + share; d++)
        for (u32 w = 0; w < WARPS; w++)
            sum += n->tallies.counts[w * DIGITS + d];
    sum = sum_before(n->room, sum, &all);
    for (u32 d = first; d < first + share; d++) {
        n->shifts[d] -= sum;
        for (u32 w = 0; w < WARPS; w++) {
            const u32 mine = n->tallies.counts[w * DIGITS + d];
            n->tallies.counts[w * DIGITS + d] = (u16)sum;
            sum += mine;
        }
    }
}

/* Where the elements of this lane stand in the order of digits, in which equal ones keep theirs. */
DEVICE void find_stands(NEAR struct near_tile *n, u32 *stands, const WORD *words, const struct gpu_order *o, u32 shift,
                        u32 size)
{
    NEAR u32 *lanes = n->tallies.lanes + ITEM / GPU_LANES * DIGITS;
    NEAR u16 *counts = n->tallies.counts + ITEM / GPU_LANES * DIGITS;
    const u32 lane = ITEM % GPU_LANES;
    for (u32 i = ITEM; i < WARPS * DIGITS; i += GROUP_SIZE)
        n->tallies.lanes[i] = n->tallies.counts[i] = 0;
    BARRIER();
    UNROLL
    for (u32 k = 0; k < SHARE; k++) {
        if (k >= STEPS(size))
            break;
        const u32 digit = digit_of(words[k], o, shift);
        if (HAS(k, size))
            NEAR_OR32(&lanes[digit], 1u << lane);
        LANES_BARRIER();
        const u32 alike = lanes[digit], rank = counts[digit] + POPCOUNT(alike & ((1u << lane) - 1));
        LANES_BARRIER();
        if (HAS(k, size) && alike >> lane == 1) {
            lanes[digit] = 0;
            counts[digit] = (u16)(rank + 1);
        }
        LANES_BARRIER();
        stands[k] = rank | digit << 16;
    }
    BARRIER();
    place_tallies(n);
    BARRIER();
    UNROLL
    for (u32 k = 0; k < SHARE; k++)
        if (k < STEPS(size))
            stands[k] = (stands[k] & 0xffff) + counts[stands[k] >> 16];
    BARRIER();
}

#define EACH_OWN(k, size) UNROLL for (u32 k = 0; k < SHARE; k++) if (HAS(k, size))

/* Beside one another in local memory, elements of a digit go side by side.  In n->shifts is where they begin to. */
DEVICE void deal_tile(NEAR struct near_tile *n, const struct gpu_order *o, u32 shift, const struct tile *t,
                      const struct dealt *d)
{
    WORD words[SHARE];
    u32 stands[SHARE], to[SHARE];
    UNROLL
    for (u32 k = 0; k < SHARE; k++)
        words[k] = HAS(k, t->size) ? d->words[ELEMENT(k, t->size)] : 0;
    find_stands(n, stands, words, o, shift, t->size);
    EACH_OWN(k, t->size)
        n->words[stands[k]] = words[k];
    BARRIER();
    UNROLL
    for (u32 k = 0; k < SHARE; k++) {
        const u32 p = k * GROUP_SIZE + ITEM;
        if (p < t->size) {
            const WORD word = n->words[p];
            to[k] = p + n->shifts[digit_of(word, o, shift)];
            d->to_words[to[k]] = word;
        }
    }
#if PLACES
    BARRIER();
    EACH_OWN(k, t->size) {
        const u32 i = ELEMENT(k, t->size);
        n->words[stands[k]] = (WORD)(d->places ? d->places[i] : (i64)(t->first - t->row + i));
    }
    BARRIER();
    UNROLL
    for (u32 k = 0; k < SHARE; k++)
        if (k * GROUP_SIZE + ITEM < t->size)
            d->to_places[to[k]] = (i64)n->words[k * GROUP_SIZE + ITEM];
#endif
}

DEVICE void sort_row(NEAR struct near_tile *n, const struct gpu_order *o, u32 shift, WORD *to, const WORD *from)
{
    const u32 size = (u32)o->length;
    WORD words[SHARE];
    u32 stands[SHARE];
    UNROLL
    for (u32 k = 0; k < SHARE; k++)
        words[k] = HAS(k, size) ? from[ELEMENT(k, size)] : 0;
    for (; shift < 8 * sizeof(WORD); shift += 8) {
        find_stands(n, stands, words, o, shift, size);
        EACH_OWN(k, size)
            n->words[stands[k]] = words[k];
        BARRIER();
        EACH_OWN(k, size)
            words[k] = n->words[ELEMENT(k, size)];
        BARRIER();
    }
    EACH_OWN(k, size)
        to[ELEMENT(k, size)] = words[k];
}
