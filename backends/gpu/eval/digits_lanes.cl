/* digits_lanes.cl - a tile's elements by a digit, by lanes in step: for digits.cl.
 *
 * All passes' digits of a row are counted in one go (gpu_eval_totals), and become where elements of each begin in it
 * (gpu_eval_bases).  A pass then reads and writes elements once (gpu_eval_sweep): a tile tells how many it has of each
 * digit, and looks back at what those before it tell, until one tells what it and all before it have (Merrill and
 * Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016).  Groups take tiles in their order, so
 * that whom a group waits for has begun, and waits for nobody behind it.  What is told are words of two bits, which
 * say what it is, and of a number; passes by turns call them otherwise, and find nothing told by the pass before.
 * A pass whose digits are all the same, as the upper ones of small integers, is left out.
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
/* shifts: where the elements of a digit go, of where they stand in the tile (rows that are one tile look at none), and
 * have: how many it has; words: when nobody needs tallies. */
struct near_tile {
    union {
        struct near_tallies tallies;
        WORD words[TILE];
    };
    u32 room[ROOM_TO_SUM], shifts[DIGITS], have[DIGITS], ticket;
};

/* What tiles of a row tell in a pass. */
#define TOLD_BITS 30
#define TOLD(how, number) ((u32)(how) << TOLD_BITS | (number))
#define NUMBER_TOLD(word) ((word) & ((1u << TOLD_BITS) - 1))
/* told: words of the row's tiles, NULL_PTR where nobody is told anything; bases: where the row's elements of digits
 * begin; number: of the tile; own: that a number is the tile's own, all: also those before it. */
struct sweep {
    u32 *told;
    const u32 *bases;
    u32 number, own, all;
};

/* Of `size` elements, a lane's k-th: whether there is one, and which. */
#define STEPS(size) (((size) + GROUP_SIZE - 1) / GROUP_SIZE)
#define ELEMENT(k, size) ((ITEM / GPU_LANES * STEPS(size) + (k)) * GPU_LANES + ITEM % GPU_LANES)
#define HAS(k, size) ((k) < STEPS(size) && ELEMENT(k, size) < (size))

/* Digits of this item. */
#define EACH_DIGIT(d) for (u32 d = ITEM * (DIGITS / GROUP_SIZE); d < (ITEM + 1) * (DIGITS / GROUP_SIZE); d++)

/* Each warp's counts of a digit to where its first one stands, behind lower digits and the warps before. */
DEVICE void place_tallies(NEAR struct near_tile *n, const struct sweep *s)
{
    u32 sum = 0, all;
    EACH_DIGIT(d) {
        u32 have = 0;
        for (u32 w = 0; w < WARPS; w++)
            have += n->tallies.counts[w * DIGITS + d];
        sum += have;
        n->have[d] = have;
        /* As early as can be: others wait for it. */
        if (s->told)
            tell(&s->told[s->number * DIGITS + d],
                 s->number ? TOLD(s->own, have) : TOLD(s->all, s->bases[d] + have));
    }
    sum = sum_before(n->room, sum, &all);
    EACH_DIGIT(d) {
        n->shifts[d] = 0 - sum;
        for (u32 w = 0; w < WARPS; w++) {
            const u32 mine = n->tallies.counts[w * DIGITS + d];
            n->tallies.counts[w * DIGITS + d] = (u16)sum;
            sum += mine;
        }
    }
}

/* Where the elements of this lane stand in the order of digits, in which equal ones keep theirs. */
DEVICE void find_stands(NEAR struct near_tile *n, u32 *stands, const WORD *words, const struct gpu_order *o, u32 shift,
                        u32 size, const struct sweep *s)
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
    place_tallies(n, s);
    BARRIER();
    UNROLL
    for (u32 k = 0; k < SHARE; k++)
        if (k < STEPS(size))
            stands[k] = (stands[k] & 0xffff) + counts[stands[k] >> 16];
    BARRIER();
}

#define EACH_OWN(k, size) UNROLL for (u32 k = 0; k < SHARE; k++) if (HAS(k, size))

#define AHEAD 4 /* what tiles tell is read together: far memory takes long to answer */

/* Where elements of a digit go, behind those of the tiles before this one, which all that come after it are told. */
DEVICE u32 look_back(const struct sweep *s, u32 d, u32 have)
{
    u32 sum = 0, seen[AHEAD];
    int on_the_way = 1;
    for (u32 at = s->number; on_the_way;) {
        UNROLL
        for (u32 k = 0; k < AHEAD; k++)
            seen[k] = k < at ? heard(&s->told[(at - 1 - k) * DIGITS + d]) : 0;
        UNROLL
        for (u32 k = 0; k < AHEAD; k++) {
            const u32 how = seen[k] >> TOLD_BITS;
            /* The first tile tells all at once, so that what stands before it is not looked at. */
            if (!on_the_way || (how != s->own && how != s->all))
                break;
            sum += NUMBER_TOLD(seen[k]);
            on_the_way = how != s->all;
            at--;
        }
    }
    tell(&s->told[s->number * DIGITS + d], TOLD(s->all, sum + have));
    return sum;
}

/* Beside one another in local memory, elements of a digit go side by side. */
DEVICE void deal_tile(NEAR struct near_tile *n, const struct gpu_order *o, u32 shift, const struct tile *t,
                      const struct dealt *d, const struct sweep *s)
{
    WORD words[SHARE];
    u32 stands[SHARE], to[SHARE];
    UNROLL
    for (u32 k = 0; k < SHARE; k++)
        words[k] = HAS(k, t->size) ? d->words[ELEMENT(k, t->size)] : 0;
    find_stands(n, stands, words, o, shift, t->size, s);
    EACH_OWN(k, t->size)
        n->words[stands[k]] = words[k];
    EACH_DIGIT(b)
        n->shifts[b] += s->number ? look_back(s, b, n->have[b]) : s->bases[b];
    BARRIER();
    UNROLL
    for (u32 k = 0; k < SHARE; k++) {
        const u32 p = k * GROUP_SIZE + ITEM;
        if (p < t->size) {
            const WORD word = n->words[p];
            to[k] = p + n->shifts[digit_of(word, o, shift)];
            if (d->to_words)
                d->to_words[to[k]] = word;
            else if (!PLACES)
                d->to_places[to[k]] = (i64)(word & (WORD)d->place_bits);
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
    const struct sweep nobody = { NULL_PTR, NULL_PTR, 0, 0, 0 };
    const u32 size = (u32)o->length;
    WORD words[SHARE];
    u32 stands[SHARE];
    UNROLL
    for (u32 k = 0; k < SHARE; k++)
        words[k] = HAS(k, size) ? from[ELEMENT(k, size)] : 0;
    for (; shift < 8 * sizeof(WORD); shift += 8) {
        find_stands(n, stands, words, o, shift, size, &nobody);
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

/* Nothing is counted or told yet. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_eval_clear(u64 n, BUFFER(u32, words))
{
    OPEN(u32, words)
    for (u64 i = ITEM_OF_ALL; i < n; i += (u64)GROUPS * GROUP_SIZE)
        words[i] = 0;
}

/* How many elements of a row have each digit, of each pass; rows are counted in `parts`.  pack: words are made on the
 * way, of a key above its place. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_eval_totals(struct gpu_order o, u32 shift, u32 passes, u64 parts, u32 pack, BUFFER(WORD, words),
                     BUFFER(const i64, keys), BUFFER(u32, totals))
{
    OPEN(WORD, words) OPEN(const i64, keys) OPEN(u32, totals)
    LOCAL u32 near[sizeof(WORD) * DIGITS];
    for (u64 g = GROUP; g < o.rows * parts; g += GROUPS) {
        const u64 row = g / parts, first = row * o.length, end = first + (g % parts + 1) * o.length / parts;
        for (u32 d = ITEM; d < passes * DIGITS; d += GROUP_SIZE)
            near[d] = 0;
        BARRIER();
        for (u64 at = first + g % parts * o.length / parts + ITEM; at < end; at += COUNTED * GROUP_SIZE) {
            WORD mine[COUNTED]; /* read together: memory is slow to begin */
            UNROLL
            for (u32 c = 0; c < COUNTED; c++) {
                const u64 i = at + c * GROUP_SIZE < end ? at + c * GROUP_SIZE : at;
                mine[c] = pack ? (WORD)keys[i] << shift | (WORD)(i - first) : words[i];
            }
            UNROLL
            for (u32 c = 0; c < COUNTED; c++) {
                if (at + c * GROUP_SIZE >= end)
                    break;
                if (pack)
                    words[at + c * GROUP_SIZE] = mine[c];
                for (u32 p = 0; p < passes; p++)
                    NEAR_ADD32(&near[p * DIGITS + digit_of(mine[c], &o, shift + 8 * p)], 1);
            }
        }
        BARRIER();
        for (u32 d = ITEM; d < passes * DIGITS; d += GROUP_SIZE)
            if (near[d])
                ATOMIC_ADD32(&totals[row * passes * DIGITS + d], near[d]);
        BARRIER();
    }
}

/* Of each row's and pass's digits: how many have each to where they begin; `needed`: passes of which a row has several
 * digits. */
KERNEL GROUP_OF(GROUP_SIZE)
void gpu_eval_bases(struct gpu_order o, u32 passes, BUFFER(u32, totals), BUFFER(u32, needed))
{
    OPEN(u32, totals) OPEN(u32, needed)
    LOCAL u32 room[ROOM_TO_SUM];
    for (u64 r = GROUP; r < o.rows * passes; r += GROUPS) {
        u32 *mine = totals + r * DIGITS, sum = 0, all;
        EACH_DIGIT(d)
            sum += mine[d];
        sum = sum_before(room, sum, &all);
        EACH_DIGIT(d) {
            const u32 have = mine[d];
            if (have && have < o.length)
                tell(&needed[r % passes], 1);
            mine[d] = sum;
            sum += have;
        }
    }
}

/* Where a pass stands among those that are needed: how many are before it, and which is the last; -1: it is not. */
DEVICE int find_turn(u32 *last, const u32 *needed, u32 pass, u32 passes)
{
    u32 n = 0, before = 0;
    for (u32 p = 0; p < passes; p++) {
        before += p < pass && needed[p];
        n += needed[p];
    }
    /* Elements that are all alike move once, too. */
    *last = n ? n - 1 : 0;
    return needed[pass] || (pass == 0 && n == 0) ? (int)before : -1;
}

/* Pass number `pass` of `passes`: words go from words0 to words1 and words2 by turns, to words1 in the last one if
 * `ends`, else in the first one; places, which the first one makes, to places1 in the last one.  Of words that have
 * places, or of which place_bits are their places, the last pass writes these alone.  `told` is what tiles tell, and of
 * `tickets` the pass's says which tile is next. */
KERNEL GROUPS_OF(GROUP_SIZE, RESIDENT)
void gpu_eval_sweep(struct gpu_order o, u32 shift, u32 pass, u32 passes, u32 ends, u64 place_bits,
                    BUFFER(WORD, words0), BUFFER(WORD, words1), BUFFER(WORD, words2), BUFFER(i64, places1),
                    BUFFER(i64, places2), BUFFER(const u32, bases), BUFFER(u32, told), BUFFER(const u32, needed),
                    BUFFER(u32, tickets))
{
    OPEN(WORD, words0) OPEN(WORD, words1) OPEN(WORD, words2) OPEN(i64, places1) OPEN(i64, places2)
    OPEN(const u32, bases) OPEN(u32, told) OPEN(const u32, needed) OPEN(u32, tickets)
    LOCAL struct near_tile near;
    u32 last;
    const int turn = find_turn(&last, needed, pass, passes);
    if (turn < 0)
        return;
    const u32 turned = (last - (u32)turn) % 2, other = ends ? turned : (u32)turn % 2;
    WORD *to_words = other ? words2 : words1;
    const WORD *words = turn == 0 ? words0 : other ? words1 : words2;
    i64 *to_places = turned ? places2 : places1;
    const i64 *places = turned ? places1 : places2;
    if ((u32)turn == last && !ends)
        to_words = NULL_PTR;
    for (;;) {
        if (ITEM == 0)
            near.ticket = ATOMIC_ADD32(&tickets[pass], 1);
        BARRIER();
        if (near.ticket >= o.rows * o.tiles)
            break;
        const struct tile k = find_tile(&o, near.ticket);
        const u64 row = near.ticket / o.tiles;
        const struct dealt d = { to_words ? to_words + k.row : NULL_PTR, to_places + k.row, words + k.first,
                                 turn ? places + k.first : NULL_PTR, place_bits };
        /* 0 says nothing in an even turn, and all in an odd one, which has nothing said by what the even one left. */
        const struct sweep s = { told + row * o.tiles * DIGITS, bases + (row * passes + pass) * DIGITS, (u32)k.number,
                                 turn % 2 ? 3 : 1, turn % 2 ? 0 : 2 };
        deal_tile(&near, &o, shift, &k, &d, &s);
        BARRIER();
    }
}
