/* sort_digits - sorting rows on a GPU by digits (backends/gpu/eval/digits.cl), where there is none: the text, with
 * lanes that are threads (lanes.h), against a stable sort of the host's.  Built twice: integers of 8 bytes with their
 * places, by lanes in step; and floats (FLOATS 1) without, as devices without such lanes do it. */
#include "tap.h"

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
#define PLACES 1
#endif
#include "eval/digits.cl"

/* Three tiles: of two, all that are before one and the one before it are the same. */
enum { ROWS = 2, LENGTH = 2 * TILE + 7, ALL = ROWS * LENGTH, TILES = 3 };

static WORD words[2][ALL], given[ALL];
static i64 places[2][ALL], length;
static u32 counts[ROWS * DIGITS * TILES], totals[ROWS * DIGITS], shift;
static struct gpu_order order;
static unsigned from;

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
static int count_wrong(bool with_places)
{
    const WORD *by_now = words[1 - from];
    static i64 sorted[LENGTH];
    int wrong = 0;
    for (i64 row = 0; row < ROWS * length; row += length) {
        for (i64 i = 0; i < length; i++)
            sorted[i] = row + i;
        qsort(sorted, (size_t)length, sizeof *sorted, by_key);
        for (i64 i = 0; i < length; i++)
            wrong += by_now[row + i] != given[sorted[i]] ||
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

/* By the bytes that are set in `mask`: each group has several tiles. */
static void sort_long(WORD mask)
{
    static const u32 groups[2] = { 2, 1 };
    int failed = 0;
    memcpy(words[0], given, sizeof given);
    for (shift = 0; shift < 8 * sizeof(WORD); shift += 8) {
        if (!(mask >> shift & 255))
            continue;
        from = 1 - from;
        failed |= lanes_run(digits_of_all, groups);
        failed |= lanes_run(starts_of_all, groups);
        failed |= lanes_run(deal_all, groups);
    }
    if (failed)
        bail_out("no threads");
}

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
        sort_long(0xffffffff);
    else
        sort_short();
    is_int(count_wrong(false), 0, "floats: elements of %d rows of %d that are not where they belong", ROWS, (int)of);
}
#else
/* Numbers of the bytes that are set in `mask`: no other one is sorted by. */
static void test_sort(const char *what, i64 of, i64 mask, i64 most, bool has_sign)
{
    begin(of);
    order.sign = has_sign ? (u64)1 << 63 : 0;
    for (i64 i = 0; i < ALL; i++) {
        const u64 drawn = random64();
        const i64 size = (i64)drawn % most;
        given[i] = (WORD)((has_sign && drawn >> 40 & 1 ? -size - 1 : size) & mask);
    }
    if (of > TILE)
        sort_long((WORD)mask);
    else
        sort_short();
    is_int(count_wrong(of > TILE), 0, "%s: elements of %d rows of %d that are not where they belong", what, ROWS,
           (int)of);
}
#endif

int main(void)
{
#if FLOATS
    test_floats(LENGTH);
    test_floats(TILE);
    test_floats(77);
    test_floats(1);
#else
    test_sort("numbers of 8 bytes, three of which differ", LENGTH, (i64)0xff000000ff0000ff, INT64_MAX, true);
    test_sort("of 2 bytes without a sign", LENGTH, 0xffff, 1 << 16, false);
    test_sort("few different ones", LENGTH, 255, 3, false);
    test_sort("all alike", LENGTH, 255, 1, false);
    test_sort("a tile", TILE, -1, INT64_MAX, true);
    test_sort("less than one", 77, 0xff, 100, false);
#endif
    return done_testing();
}
