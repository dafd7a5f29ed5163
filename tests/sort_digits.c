/* sort_digits - sorting rows on a GPU by digits (backends/gpu/eval/digits.cl), where there is none: the text, with
 * lanes that are threads (lanes.h), against a stable sort of the host's.  Built three times: integers of 8 bytes with
 * their places, by lanes in step, whose tiles tell one another what they have; values alone, and smaller ones that
 * share a word with their places (PLACES 0); and floats (FLOATS 1) without places, as devices without such lanes do. */
#include "tap.h"

#include <unistd.h>

#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#include "lanes.h"

#if FLOATS
#undef SHUFFLE
#define WORD u32
#define PLACES 0
#else
#define WORD u64
#endif
#include "eval/digits.cl"

/* Three tiles: of two, all that are before one and the one before it are the same. */
enum { ROWS = 2, LENGTH = 2 * TILE + 7, ALL = ROWS * LENGTH, TILES = 3 };

static WORD words[2][ALL], given[ALL];
static i64 places[2][ALL], length;
static u32 shift;
static struct gpu_order order;
static unsigned from;

#if FLOATS
static u32 counts[ROWS * DIGITS * TILES], totals[ROWS * DIGITS];

static void digits_of_all(void)
{
    gpu_eval_digits(order, shift, words[from], counts);
}
static void starts_of_all(void)
{
    gpu_eval_starts(ROWS * DIGITS, TILES, counts, totals);
}
static void deal_all(void)
{
    gpu_eval_deal(order, shift, words[1 - from], places[1 - from], words[from], places[from], counts, totals);
}
#else
enum { MOST_PASSES = sizeof(WORD) };

/* As they lie in scratch memory. */
static struct {
    u32 totals[MOST_PASSES * ROWS * DIGITS], told[ROWS * TILES * DIGITS], needed[MOST_PASSES], tickets[MOST_PASSES];
} scratch;
/* Bytes of keys are words' last ones where these have places, too. */
static u32 passes, first_shift;
static bool packed;

static void clear_all(void)
{
    gpu_eval_clear(sizeof scratch / sizeof(u32), scratch.totals);
}
static void totals_of_all(void)
{
    gpu_eval_totals(order, first_shift, passes, 2, packed, words[0], (const i64 *)given, scratch.totals);
}
static void bases_of_all(void)
{
    gpu_eval_bases(order, passes, scratch.totals, scratch.needed);
}
/* Words that end are values, from where they are given; others go from words[0] and back. */
static void sweep_all(void)
{
    const bool ends = !PLACES && !packed;
    const u64 place_bits = packed ? ((u64)1 << first_shift) - 1 : 0;
    gpu_eval_sweep(order, shift, (shift - first_shift) / 8, passes, ends, place_bits, ends ? given : words[0], words[1],
                   words[0], places[1], places[0], scratch.totals, scratch.told, scratch.needed, scratch.tickets);
}
#endif

static int by_word(WORD x, WORD y)
{
#if FLOATS
    const float p = lanes_float(x), q = lanes_float(y);
    return isnan(p) || isnan(q) ? !!isnan(p) - !!isnan(q) : (p > q) - (p < q);
#else
    return order.sign ? ((i64)x > (i64)y) - ((i64)x < (i64)y) : (x > y) - (x < y);
#endif
}

static int by_key(const void *a, const void *b)
{
    const i64 x = *(const i64 *)a, y = *(const i64 *)b;
    const int differ = by_word(given[x], given[y]);
    return differ ? differ : (x > y) - (x < y);
}

/* Elements by their keys, equal ones by where they were, in what the last pass wrote. */
static int count_wrong(bool with_words, bool with_places)
{
    const WORD *by_now = words[1 - from];
    static i64 sorted[LENGTH];
    int wrong = 0;
    for (i64 row = 0; row < ROWS * length; row += length) {
        for (i64 i = 0; i < length; i++)
            sorted[i] = row + i;
        qsort(sorted, (size_t)length, sizeof *sorted, by_key);
        for (i64 i = 0; i < length; i++)
            wrong += (with_words && by_now[row + i] != given[sorted[i]]) ||
                     (with_places && places[1 - from][row + i] != sorted[i] - row);
    }
    return wrong;
}

static u64 random64(void)
{
    static u64 state = 7;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 1;
}

static void begin(i64 of)
{
    length = of;
    order.rows = ROWS;
    order.length = (u64)of;
    order.tiles = (order.length - 1) / TILE + 1;
    from = 1;
}

static const u32 groups[2] = { 2, 1 };

#if FLOATS
/* By all bytes: each group has several tiles. */
static void sort_long(void)
{
    int failed = 0;
    memcpy(words[0], given, sizeof given);
    for (shift = 0; shift < 8 * sizeof(WORD); shift += 8) {
        from = 1 - from;
        failed |= lanes_run(digits_of_all, groups);
        failed |= lanes_run(starts_of_all, groups);
        failed |= lanes_run(deal_all, groups);
    }
    if (failed)
        bail_out("no threads");
}
#else
/* By so many bytes, to words[1] and places[1]. */
static void sort_long(u32 bytes)
{
    int failed = 0;
    memset(&scratch, 0xa5, sizeof scratch);
    if (!packed)
        memcpy(words[0], given, sizeof given);
    passes = bytes;
    first_shift = packed ? 64 - 8 * bytes : 0;
    failed |= lanes_run(clear_all, groups);
    failed |= lanes_run(totals_of_all, groups);
    failed |= lanes_run(bases_of_all, groups);
    for (shift = first_shift; shift < first_shift + 8 * bytes; shift += 8)
        failed |= lanes_run(sweep_all, groups);
    from = 0;
    if (failed)
        bail_out("no threads");
}
#endif

static void rows_of_all(void)
{
    gpu_eval_rows(order, 0, words[1 - from], given);
}

static void sort_short(void)
{
    static const u32 one[2] = { 1, 1 };
    if (lanes_run(rows_of_all, one))
        bail_out("no threads");
}

#if FLOATS
/* Of all sizes, many alike, with infinities, NaNs of both signs and both zeros. */
static void test_floats(i64 of)
{
    static const WORD special[8] = { 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00123, 0, 0x80000000, 1, 0x80000001 };
    begin(of);
    order.sign = 0x80000000;
    order.infinity = 0x7f800000;
    order.nan = 0xffc00000;
    for (i64 i = 0; i < ALL; i++)
        given[i] = random64() >> 20 & 1 ? (WORD)(random64() >> 24) : special[random64() >> 30 & 7];
    if (of > TILE)
        sort_long();
    else
        sort_short();
    is_int(count_wrong(true, false), 0, "floats: elements of %d rows of %d that are not where they belong", ROWS, (int)of);
}
#else
/* Numbers of so many bytes, multiples of `step`: bytes below and above are not sorted by. */
static void test_sort(const char *what, i64 of, u32 bytes, i64 most, i64 step, bool has_sign)
{
    begin(of);
    order.sign = has_sign ? (u64)1 << 63 : 0;
    for (i64 i = 0; i < ALL; i++) {
        const u64 drawn = random64();
        const i64 size = (i64)drawn % most * step;
        given[i] = (WORD)(has_sign && drawn >> 40 & 1 ? -size - 1 : size);
    }
    if (of > TILE)
        sort_long(bytes);
    else
        sort_short();
    is_int(count_wrong(of <= TILE || !(PLACES || packed), of > TILE && (PLACES || packed)), 0,
           "%s: elements of %d rows of %d that are not where they belong", what, ROWS, (int)of);
}

/* Passes in which tiles were dealt. */
static int count_passes(void)
{
    int n = 0;
    for (u32 p = 0; p < passes; p++)
        n += scratch.tickets[p] != 0;
    return n;
}

/* Groups run one after another here, and find all told: so here is a tile that waits, in an even pass and in an odd
 * one, for which what stands there is of the pass before. */
enum { BEFORE = 7, LATE = 2, DIGIT = 5 };
static u32 told_of[(BEFORE + 1) * DIGITS];

static void *tell_late(void *own)
{
    usleep(20000);
    tell(&told_of[LATE * DIGITS + DIGIT], TOLD(*(u32 *)own, 100));
    return NULL;
}

static void test_waiting(void)
{
    for (u32 odd = 0; odd < 2; odd++) {
        struct sweep s = { told_of, NULL, BEFORE, odd ? 3 : 1, odd ? 0 : 2 };
        const u32 nothing = odd ? 2 : 0;
        pthread_t late;
        for (u32 t = 0; t <= BEFORE; t++)
            told_of[t * DIGITS + DIGIT] = TOLD(t == 0 ? s.all : t == LATE || t == BEFORE ? nothing : s.own, 10 + t);
        if (pthread_create(&late, NULL, tell_late, &s.own))
            bail_out("no threads");
        const u32 before = look_back(&s, DIGIT, 1000);
        pthread_join(late, NULL);
        is_int(before, 10 + 11 + 100 + 13 + 14 + 15 + 16, "what tiles before it tell, also one that is late");
        ok(told_of[BEFORE * DIGITS + DIGIT] == TOLD(s.all, before + 1000), "... is told with its own");
    }
}
#endif

int main(void)
{
#if FLOATS
    test_floats(LENGTH);
    test_floats(TILE);
    test_floats(77);
    test_floats(1);
#elif !PLACES
    test_sort("values of 8 bytes", LENGTH, 8, INT64_MAX, 1, true);
    test_sort("values of which two bytes differ", LENGTH, 8, 1 << 16, 1 << 24, false);
    is_int(count_passes(), 2, "... which are all that is sorted by");
    test_sort("values of which one does", LENGTH, 8, 256, 1 << 16, false);
    packed = true;
    test_sort("numbers of 3 bytes", LENGTH, 3, 1 << 23, 1, true);
    test_sort("of 4 bytes without a sign", LENGTH, 4, (i64)1 << 32, 1, false);
    test_sort("of a byte", LENGTH, 1, 256, 1, false);
    test_sort("of 4 bytes of which two differ", LENGTH, 4, 1 << 16, 1 << 8, false);
    test_sort("all alike", LENGTH, 4, 1, 1, false);
#else
    test_sort("numbers of 8 bytes", LENGTH, 8, INT64_MAX, 1, true);
    test_sort("of which two differ", LENGTH, 8, 1 << 16, 1 << 16, false);
    test_sort("few different ones", LENGTH, 8, 3, 1, false);
    test_sort("all alike", LENGTH, 8, 1, 1, false);
    test_sort("a tile", TILE, 8, INT64_MAX, 1, true);
    test_sort("less than one", 77, 1, 100, 1, false);
    test_waiting();
#endif
    return done_testing();
}
