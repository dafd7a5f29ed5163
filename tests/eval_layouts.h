/* eval_layouts.h - how arrays may lie, for tests of expressions. */
#ifndef HCY_TESTS_EVAL_LAYOUTS_H
#define HCY_TESTS_EVAL_LAYOUTS_H

#include "cts_array.h"

/* How the operands and the result lie: slices of arrays of `shape`, and what the elements' numbers are there. */
static const struct layout {
    const char *what;
    int rank;
    int64_t shape[3];     /* of the arrays that are made */
    const char *slice[4]; /* of a, b, c and the result; NULL: the array itself */
} layouts[] = {
    { "contiguous", 1, { 2500 }, { NULL } },
    { "every third, backwards", 1, { 3000 }, { "::3", "::-3", "2::3", "::-3" } },
    { "planes with gaps",
      3,
      { 7, 11, 13 },
      { "1:, ::2, ::-2", "1:, ::-2, :7", ":-1, 5:, 6:", "1:, ::2, ::2" } },
    { "broadcast", 3, { 5, 6, 40 }, { "3, 2, 7", ":1, :, :1", "4, :, ::-1", NULL } },
    { "one element", 1, { 4 }, { "1:2", "3:", "::4", "2:3" } },
    { "none", 1, { 4 }, { "1:1", "3:3", ":0", ":0" } },
};

/* The place of element (i, j, k) of a view, as its strides say; axes that it lacks in front are passed over. */
static inline size_t place_of(const hcy_array_info *v, int rank, const int64_t *index)
{
    int64_t at = v->offset;
    for (int d = 0; d < v->rank; d++)
        if (v->shape[d] != 1)
            at += v->strides[d] * index[d + rank - v->rank];
    return (size_t)at;
}

#endif
