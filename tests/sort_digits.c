/* sort_digits - sorting long rows on a GPU by digits (backends/gpu/eval/digits.cl), where there is none: the text, with
 * lanes that are threads (lanes.h), against a stable sort of the host's. */
#include "tap.h"

#ifdef __GNUC__
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wunused-function"
#endif
#include "lanes.h"

#include "eval/digits.cl"

/* Three tiles: of two, all that are before one and the one before it are the same. */
enum { ROWS = 2, LENGTH = 2 * GPU_SORT_TILE + 7, ALL = ROWS * LENGTH, TILES = 3 };

static i64 keys[2][ALL], places[2][ALL], given[ALL];
static u32 counts[ROWS * DIGITS * TILES], totals[ROWS * DIGITS], shift, turn;
static unsigned from;

static void digits_of_all(void)
{
    gpu_eval_digits(ALL, LENGTH, TILES, shift, turn, keys[from], counts);
}
static void starts_of_all(void)
{
    gpu_eval_starts(ROWS * DIGITS, TILES, counts, totals);
}
static void deal_all(void)
{
    gpu_eval_deal(ALL, LENGTH, TILES, shift, turn, keys[1 - from], places[1 - from], keys[from], places[from], counts,
                  totals);
}

static int by_key(const void *a, const void *b)
{
    const i64 x = *(const i64 *)a, y = *(const i64 *)b;
    const i64 p = given[x], q = given[y];
    return p != q ? (p > q) - (p < q) : (x > y) - (x < y);
}

/* Elements by their keys, equal ones by where they were, in what the last pass wrote. */
static int count_wrong(void)
{
    const i64 *by_now = keys[1 - from], *came_from = places[1 - from];
    static i64 order[LENGTH];
    int wrong = 0;
    for (i64 row = 0; row < ALL; row += LENGTH) {
        for (i64 i = 0; i < LENGTH; i++)
            order[i] = row + i;
        qsort(order, LENGTH, sizeof *order, by_key);
        for (i64 i = 0; i < LENGTH; i++)
            wrong += by_now[row + i] != given[order[i]] || came_from[row + i] != order[i] - row;
    }
    return wrong;
}

/* Numbers of the bytes that are set in `mask`: no other one is sorted by. */
static void test_sort(const char *what, i64 mask, i64 most, bool has_sign)
{
    enum { LAST_PASS = 7 };
    static const u32 groups[2] = { 2, 1 }; /* each has several tiles */
    static u64 state = 7;
    int failed = 0;
    for (i64 i = 0; i < ALL; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const i64 size = (i64)(state >> 1) % most;
        given[i] = keys[0][i] = (has_sign && state & 1 ? -size - 1 : size) & mask;
    }
    from = 1;
    for (unsigned pass = 0; pass <= LAST_PASS; pass++) {
        shift = 8 * pass;
        turn = has_sign && pass == LAST_PASS ? 128 : 0;
        if (!(mask >> shift & 255))
            continue;
        from = 1 - from;
        failed |= lanes_run(digits_of_all, groups);
        failed |= lanes_run(starts_of_all, groups);
        failed |= lanes_run(deal_all, groups);
    }
    if (failed)
        bail_out("no threads");
    is_int(count_wrong(), 0, "%s: elements of %d rows that are not where they belong", what, ROWS);
}

int main(void)
{
    test_sort("numbers of 8 bytes, three of which differ", (i64)0xff000000ff0000ff, INT64_MAX, true);
    test_sort("of 2 bytes without a sign", 0xffff, 1 << 16, false);
    test_sort("few different ones", 255, 3, false);
    test_sort("all alike", 255, 1, false);
    return done_testing();
}
