/* differences.c - the matrices of differences of neighbours: what stands in a row, and in a row of the transpose. */
#include "differences.h"

#include <string.h>

/* A kind's numbers from two before the element to two behind it; EDGES: those of the first and of the second row, which
 * the last ones mirror: with the other sign if the difference is odd. */
static const struct difference {
    int8_t inner[HCY_STENCIL_TAPS], edges[HCY_STENCIL_REACH][HCY_STENCIL_TAPS];
    int8_t divisor;
    bool odd;
} differences[] = {
    [HCY_DIFFERENCE_FORWARD] = { { 0, 0, -1, 1, 0 }, { { 0 } }, 1, true },
    [HCY_DIFFERENCE_BACKWARD] = { { 0, -1, 1, 0, 0 }, { { 0 } }, 1, true },
    [HCY_DIFFERENCE_CENTRED] = { { 0, -1, 0, 1, 0 }, { { 0, 0, -2, 2, 0 } }, 2, true },
    [HCY_DIFFERENCE_SECOND] = { { 0, 1, -2, 1, 0 }, { { 0, 0, 1, -2, 1 } }, 1, false },
    [HCY_DIFFERENCE_CENTRED_5] = { { 1, -8, 0, 8, -1 }, { { 0, 0, -12, 12, 0 }, { 0, -6, 0, 6, 0 } }, 12, true },
    [HCY_DIFFERENCE_SECOND_FORWARD] = { { 0, 0, 1, -2, 1 }, { { 0 } }, 1, false },
    [HCY_DIFFERENCE_SECOND_BACKWARD] = { { 1, -2, 1, 0, 0 }, { { 0 } }, 1, false },
    [HCY_DIFFERENCE_SECOND_5] = { { -1, 16, -30, 16, -1 },
                                  { { 0, 0, 12, -24, 12 }, { 0, 12, -24, 12, 0 } },
                                  12,
                                  false },
};

bool hcy__difference_is(int kind)
{
    kind &= ~HCY_DIFFERENCE_EDGES;
    return kind >= HCY_DIFFERENCE_FORWARD && kind <= HCY_DIFFERENCE_SECOND_5;
}

int hcy__difference_divisor(int kind)
{
    return differences[kind & ~HCY_DIFFERENCE_EDGES].divisor;
}

/* Whether all neighbours of element i that count are among n. */
static bool lies_inside(const int8_t row[HCY_STENCIL_TAPS], int64_t i, int64_t n)
{
    for (int k = 0; k < HCY_STENCIL_TAPS; k++)
        if (row[k] && (i + k < HCY_STENCIL_REACH || i + k - HCY_STENCIL_REACH >= n))
            return false;
    return true;
}

static void find_row(int8_t row[HCY_STENCIL_TAPS], int kind, int64_t i, int64_t n)
{
    const struct difference *d = &differences[kind & ~HCY_DIFFERENCE_EDGES];
    const bool at_end = n - 1 - i < i;
    const int64_t from_edge = at_end ? n - 1 - i : i;
    memcpy(row, d->inner, HCY_STENCIL_TAPS);
    if (lies_inside(row, i, n))
        return;
    memset(row, 0, HCY_STENCIL_TAPS);
    if (!(kind & HCY_DIFFERENCE_EDGES) || from_edge >= HCY_STENCIL_REACH)
        return;
    for (int k = 0; k < HCY_STENCIL_TAPS; k++) {
        const int8_t number = d->edges[from_edge][at_end ? HCY_STENCIL_TAPS - 1 - k : k];
        row[k] = (int8_t)(at_end && d->odd ? -number : number);
    }
    /* So few elements have no such difference either. */
    if (!lies_inside(row, i, n))
        memset(row, 0, HCY_STENCIL_TAPS);
}

void hcy__difference_row(int8_t row[HCY_STENCIL_TAPS], int kind, int64_t i, int64_t n, bool transposed)
{
    int8_t column[HCY_STENCIL_TAPS];
    if (!transposed) {
        find_row(row, kind, i, n);
        return;
    }
    for (int k = 0; k < HCY_STENCIL_TAPS; k++) {
        const int64_t j = i + k - HCY_STENCIL_REACH;
        row[k] = 0;
        if (j < 0 || j >= n)
            continue;
        find_row(column, kind, j, n);
        row[k] = column[HCY_STENCIL_TAPS - 1 - k];
    }
}
