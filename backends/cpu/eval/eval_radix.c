/* eval_radix.c - long rows by size on the CPU: a radix sort from the lowest digit on, stable, so that there is one
 * result for any number of threads.
 *
 * Digits are of keys that are made of the words on the way, less the row's smallest one: zeros and NaNs keep their
 * bits, and narrow rows have few digits.  Floats that have neither are keys themselves between the first pass and the
 * last one.  Each pass counts the digits of each part of the row, and then each part writes to where its counts begin.
 * Beside the words there are 4 KiB of counts a thread.
 */
#include "eval_radix.h"

#include <string.h>

/* Bits of the digits of long rows, and of others, whose counts would cost more than the passes that they save.
 * 11 bits take fewer passes, but write to more lines than a core's first cache has: 10^7 floats took longer. */
enum { WIDE = 9, NARROW = 8, WIDE_LEAST = 16384 };
_Static_assert(1 << WIDE == CPU_RADIX_DIGITS, "counts are for the widest digits");
/* Elements of a part that are worth a thread. */
enum { PART_LEAST = 16384 };

/* What a loop goes over. */
struct loops;
struct pass {
    const struct loops *loops;
    const struct hcy__sort_rule *rule;
    struct cpu_radix_lane from, to;
    struct cpu_radix_part *parts;
    size_t n, n_parts;
    uint64_t least, sign; /* sign: of the words that keys become */
    unsigned shift, mask;
    bool numbered; /* places are written that nobody has made: the words' own */
};

#define INLINE static inline __attribute__((always_inline))
#define HELPER INLINE
#define WORD uint64_t
#include "eval_key.h"

INLINE uint64_t load_word(const char *at, size_t i, unsigned bytes)
{
    uint8_t b;
    uint16_t h;
    uint32_t w;
    uint64_t d;
    switch (bytes) {
    case 1:
        memcpy(&b, at + i, 1);
        return b;
    case 2:
        memcpy(&h, at + 2 * i, 2);
        return h;
    case 4:
        memcpy(&w, at + 4 * i, 4);
        return w;
    default:
        memcpy(&d, at + 8 * i, 8);
        return d;
    }
}

INLINE uint64_t make_key(uint64_t word, const struct hcy__sort_rule *r, bool floats)
{
    return order_key(word, floats, r->sign, r->infinity, r->nan);
}

/* The word that a key was made of, where there is only one. */
INLINE uint64_t make_word(uint64_t key, uint64_t sign)
{
    return key & sign ? key - sign : 2 * sign - key;
}

INLINE void store_word(char *at, size_t i, uint64_t word, unsigned bytes)
{
    const uint16_t h = (uint16_t)word;
    const uint32_t w = (uint32_t)word;
    if (bytes == 2)
        memcpy(at + 2 * i, &h, 2);
    else if (bytes == 4)
        memcpy(at + 4 * i, &w, 4);
    else
        memcpy(at + 8 * i, &word, 8);
}

/* The words of one of n_parts. */
static size_t part_begin(const struct pass *p, size_t part)
{
    return part == p->n_parts ? p->n : p->n / p->n_parts * part;
}

INLINE void measure_part(const struct pass *p, size_t part, unsigned bytes, bool floats)
{
    const struct hcy__sort_rule rule = *p->rule;
    const size_t begin = part_begin(p, part), end = part_begin(p, part + 1);
    const uint64_t first = make_key(load_word(p->from.words, begin, bytes), &rule, floats);
    uint64_t least = first, most = first, differ = 0, minus_zeros = 0;
    for (size_t i = begin; i < end; i++) {
        uint64_t word = load_word(p->from.words, i, bytes), key = make_key(word, &rule, floats);
        minus_zeros |= word == rule.sign;
        least = key < least ? key : least;
        most = key > most ? key : most;
        differ |= key ^ first;
    }
    p->parts[part].least = least;
    p->parts[part].most = most;
    p->parts[part].differ = differ;
    p->parts[part].plain = floats && !minus_zeros && most < rule.nan;
}

INLINE void count_part(const struct pass *of, size_t part, unsigned bytes, bool floats)
{
    const struct pass p = *of;
    const struct hcy__sort_rule rule = *of->rule;
    const size_t begin = part_begin(of, part), end = part_begin(of, part + 1);
    size_t *counts = of->parts[part].counts;
    memset(counts, 0, ((size_t)p.mask + 1) * sizeof *counts);
    for (size_t i = begin; i < end; i++)
        counts[(make_key(load_word(p.from.words, i, bytes), &rule, floats) - p.least) >> p.shift & p.mask]++;
}

/* What a pass makes of the words that it moves: plain floats are keys from the first pass to the last one. */
enum change { AS_THEY_ARE, TO_KEYS, TO_WORDS };

INLINE void move_part(const struct pass *of, size_t part, unsigned bytes, bool floats, bool placed,
                      enum change change)
{
    const struct pass p = *of;
    const struct hcy__sort_rule rule = *of->rule;
    const size_t begin = part_begin(of, part), end = part_begin(of, part + 1);
    size_t *next = of->parts[part].counts;
    for (size_t i = begin; i < end; i++) {
        uint64_t word = load_word(p.from.words, i, bytes);
        uint64_t key = change == TO_WORDS ? word : make_key(word, &rule, floats);
        size_t to = next[(key - p.least) >> p.shift & p.mask]++;
        if (change)
            store_word(p.to.words, to, change == TO_KEYS ? key : make_word(word, p.sign), bytes);
        else
            memcpy(p.to.words + to * bytes, p.from.words + i * bytes, bytes);
        if (placed)
            p.to.places[to] = p.numbered ? (int64_t)i : p.from.places[i];
    }
}

/* --- The loops of each kind of words --- */

struct loops {
    void (*measure)(const struct pass *p, size_t part), (*count)(const struct pass *p, size_t part),
        (*move)(const struct pass *p, size_t part);
};
#define MOVES(name, bytes, floats, placed, change)                                                           \
    static void move_##name(const struct pass *p, size_t part)                                               \
    {                                                                                                        \
        move_part(p, part, bytes, floats, placed, change);                                                   \
    }
#define LOOPS(name, bytes, floats, placed)                                                                   \
    static void measure_##name(const struct pass *p, size_t part) { measure_part(p, part, bytes, floats); }  \
    static void count_##name(const struct pass *p, size_t part) { count_part(p, part, bytes, floats); }      \
    MOVES(name, bytes, floats, placed, AS_THEY_ARE)                                                          \
    static const struct loops loops_##name = { measure_##name, count_##name, move_##name };
LOOPS(8, 1, false, false)
LOOPS(16, 2, false, false)
LOOPS(32, 4, false, false)
LOOPS(64, 8, false, false)
LOOPS(placed, 8, false, true)
LOOPS(f16, 2, true, false)
LOOPS(f32, 4, true, false)
LOOPS(f64, 8, true, false)

/* Plain floats: the first pass, those between, the last one. */
MOVES(from_f32, 4, true, false, TO_KEYS)
MOVES(from_f64, 8, true, false, TO_KEYS)
MOVES(to_f32, 4, false, false, TO_WORDS)
MOVES(to_f64, 8, false, false, TO_WORDS)
static const struct loops plain_f32[] = { { NULL, count_f32, move_from_f32 },
                                          { NULL, count_32, move_32 },
                                          { NULL, count_32, move_to_f32 } };
static const struct loops plain_f64[] = { { NULL, count_f64, move_from_f64 },
                                          { NULL, count_64, move_64 },
                                          { NULL, count_64, move_to_f64 } };

static const struct loops *find_loops(const struct hcy__sort_rule *r, bool placed)
{
    switch (r->bytes) {
    case 1:
        return &loops_8;
    case 2:
        return r->infinity ? &loops_f16 : &loops_16;
    case 4:
        return r->infinity ? &loops_f32 : &loops_32;
    default:
        return placed ? &loops_placed : r->infinity ? &loops_f64 : &loops_64;
    }
}

static void measure_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct pass *p = context;
    (void)thread;
    for (size_t part = begin; part < end; part++)
        p->loops->measure(p, part);
}

static void count_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct pass *p = context;
    (void)thread;
    for (size_t part = begin; part < end; part++)
        p->loops->count(p, part);
}

static void move_range(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct pass *p = context;
    (void)thread;
    for (size_t part = begin; part < end; part++)
        p->loops->move(p, part);
}

/* --- Rows --- */

/* Without a pool the caller is one of its threads, which sorts its row alone. */
static void for_parts(const struct cpu_radix *r, struct pass *p, cpu_range_fn range)
{
    if (p->n_parts > 1)
        cpu_pool_for(r->pool, p->n_parts, 1, range, p);
    else
        range(p, 0, 1, 0);
}

/* Counts become where each part's words of each digit begin: by digit and then by part, which keeps their order. */
static void place_counts(const struct pass *p)
{
    size_t at = 0;
    for (size_t digit = 0; digit <= p->mask; digit++)
        for (size_t part = 0; part < p->n_parts; part++) {
            size_t n = p->parts[part].counts[digit];
            p->parts[part].counts[digit] = at;
            at += n;
        }
}

static struct pass begin_row(const struct cpu_radix *r, struct cpu_radix_lane from, size_t n)
{
    struct pass p = { .rule = r->rule, .from = from, .parts = r->parts, .n = n };
    size_t most = n / PART_LEAST;
    p.loops = find_loops(r->rule, from.places);
    p.n_parts = r->pool && most > 1 ? cpu_pool_threads(r->pool) : 1;
    if (p.n_parts > most && most)
        p.n_parts = most;
    return p;
}

struct cpu_radix_span cpu_radix_measure(const struct cpu_radix *r, struct cpu_radix_lane from, size_t n)
{
    struct pass p = begin_row(r, from, n);
    for_parts(r, &p, measure_range);
    const struct cpu_radix_part *first = p.parts;
    uint64_t least = first->least, most = first->most, differ = 0;
    for (size_t i = 0; i < p.n_parts; i++) {
        least = p.parts[i].least < least ? p.parts[i].least : least;
        most = p.parts[i].most > most ? p.parts[i].most : most;
        /* Two parts differ where their smallest keys do, or one of them does within itself. */
        differ |= p.parts[i].differ | (p.parts[i].least ^ first->least);
    }
    struct cpu_radix_span span = { .least = least, .plain = true };
    for (size_t i = 0; i < p.n_parts; i++)
        span.plain = span.plain && p.parts[i].plain;
    while (differ && !(differ >> span.low & 1))
        span.low++;
    while (span.low + span.bits < 64 && (most - least) >> span.low >> span.bits)
        span.bits++;
    return span;
}

unsigned cpu_radix_passes(const struct cpu_radix_span *span, size_t n)
{
    unsigned width = n < WIDE_LEAST ? NARROW : WIDE;
    return (span->bits + width - 1) / width;
}

void cpu_radix_sort(const struct cpu_radix *r, struct cpu_radix_lane to, struct cpu_radix_lane other,
                    struct cpu_radix_lane from, size_t n, const struct cpu_radix_span *span, unsigned passes)
{
    struct pass p = begin_row(r, from, n);
    const struct hcy__sort_rule keys = { .bytes = r->rule->bytes };
    const struct loops *plain = r->rule->bytes == 4 ? plain_f32 : plain_f64;
    const bool changes = span->plain && passes > 1 && r->rule->bytes > 2;
    p.least = span->least;
    p.sign = r->rule->sign;
    p.numbered = true;
    /* Digits of about the same width: counts that are fewer stay nearer. */
    unsigned width = passes ? (span->bits + passes - 1) / passes : 0;
    p.mask = (1u << width) - 1;
    for (unsigned i = 0; i < passes; i++) {
        /* No more than the word has. */
        p.shift = span->low + i * width < 64 ? span->low + i * width : 63;
        p.to = (passes - i) % 2 ? to : other;
        if (changes) {
            p.loops = &plain[i ? 1 + (i + 1 == passes) : 0];
            p.rule = i ? &keys : r->rule;
        }
        for_parts(r, &p, count_range);
        place_counts(&p);
        for_parts(r, &p, move_range);
        p.from = p.to;
        p.numbered = false;
    }
}
