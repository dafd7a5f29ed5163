/* eval_merge.h - sorting by merging, in C that all devices' compilers take: what a device does of a row at a time.
 *
 * A row is first made of sorted runs of HCY_SORT_RUN elements, which are merged to runs of twice as many until one is
 * left.  An element is a key, an int64, and its place in the row; equal keys keep their order.  Any piece of what is
 * merged can be made alone: where it begins in both runs is found by halving.
 *
 * Whoever includes this has defined HELPER (how a function is declared) and the types i64, u64.
 */
#ifndef HCY_EVAL_MERGE_H
#define HCY_EVAL_MERGE_H

#define HCY_SORT_RUN 8u

/* How many of the first d elements of the merge of two runs, of a and then b elements, are of the first run. */
HELPER u64 split_runs(const i64 *keys, u64 a, u64 b, u64 d)
{
    u64 low = d > b ? d - b : 0, high = d < a ? d : a;
    while (low < high) {
        u64 middle = (low + high) / 2;
        if (keys[middle] <= keys[a + d - 1 - middle])
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Elements `begin` to `end` of a row whose runs of `width` become runs of twice that; they are all of one of these. */
HELPER void merge_runs(i64 *to_keys, i64 *to_places, const i64 *keys, const i64 *places, u64 length, u64 width,
                       u64 begin, u64 end)
{
    u64 start = begin / (2 * width) * (2 * width), left = length - start;
    u64 a = left < width ? left : width, b = left - a < width ? left - a : width;
    u64 i = split_runs(keys + start, a, b, begin - start), j = begin - start - i;
    for (u64 k = begin; k < end; k++) {
        /* Of equal keys the first run's come first. */
        int first = j >= b || (i < a && keys[start + i] <= keys[start + a + j]);
        u64 from = start + (first ? i++ : a + j++);
        to_keys[k] = keys[from];
        to_places[k] = places[from];
    }
}

/* A row's elements `begin` to `end`, a few; to_keys may be `keys`. */
HELPER void sort_run(i64 *to_keys, i64 *to_places, const i64 *keys, u64 begin, u64 end)
{
    for (u64 k = begin; k < end; k++) {
        i64 key = keys[k];
        u64 j = k;
        for (; j > begin && to_keys[j - 1] > key; j--) {
            to_keys[j] = to_keys[j - 1];
            to_places[j] = to_places[j - 1];
        }
        to_keys[j] = key;
        to_places[j] = (i64)k;
    }
}

/* How often runs are merged until a row is one. */
HELPER u64 count_merges(u64 length)
{
    u64 n = 0;
    for (u64 width = HCY_SORT_RUN; width < length; width *= 2)
        n++;
    return n;
}

#endif
