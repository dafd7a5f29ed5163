/* views.c - other shapes and orders of the same numbers. */
#include "array_priv.h"

int hcy_array_transpose(hcy_array **out, const hcy_array *a, const int *axes)
{
    bool seen[HCY_ARRAY_MAX_RANK] = { false };
    hcy_array *v = NULL;
    int status = hcy__array_check(a, "hcy_array_transpose");
    /* As many axes as the array has, none of them twice, are all of them. */
    for (int d = 0; !status && axes && d < a->rank; d++) {
        if (axes[d] < 0 || axes[d] >= a->rank || seen[axes[d]])
            status = hcy_fail(HCY_EINVAL,
                              "hcy_array_transpose: axis %d, as number %d of %d, is not one of its axes or comes twice",
                              axes[d], d, a->rank);
        else
            seen[axes[d]] = true;
    }
    if (!status)
        status = hcy__array_view(out ? &v : NULL, a);
    if (status)
        return status;
    for (int d = 0; d < a->rank; d++) {
        int from = axes ? axes[d] : a->rank - 1 - d;
        v->shape[d] = a->shape[from];
        v->strides[d] = a->strides[from];
    }
    *out = v;
    return 0;
}

bool hcy__is_broadcast_to(const hcy_array *a, int rank, const int64_t *shape)
{
    /* Axes meet from the last one on; those that the array lacks in front count as axes of 1. */
    const int more = rank - a->rank;
    bool fits = more >= 0;
    for (int d = 0; fits && d < a->rank; d++)
        fits = a->shape[d] == 1 || a->shape[d] == shape[d + more];
    return fits;
}

int hcy_array_broadcast(hcy_array **out, const hcy_array *a, int rank, const int64_t *shape)
{
    char from[200], to[200];
    int64_t count = 0;
    hcy_array *v = NULL;
    int status = hcy__array_check(a, "hcy_array_broadcast");
    if (!status)
        /* The sizes are the caller's, and the rank is trusted from here on. */
        status = hcy__shape_count(&count, rank, shape);
    if (status)
        return status;
    if (!hcy__is_broadcast_to(a, rank, shape))
        return hcy_fail(HCY_EINVAL, "an array of shape %s is not broadcast to %s",
                        hcy__shape_text(from, a->rank, a->shape), hcy__shape_text(to, rank, shape));
    status = hcy__array_view(out ? &v : NULL, a);
    if (status)
        return status;
    const int more = rank - a->rank;
    /* A stride of 0 shows one element again and again: the view reaches no memory that the array does not. */
    v->rank = rank;
    v->count = count;
    for (int d = 0; d < rank; d++) {
        bool own = d >= more && a->shape[d - more] == shape[d];
        v->strides[d] = own ? a->strides[d - more] : 0;
        v->shape[d] = shape[d];
    }
    *out = v;
    return 0;
}

int hcy_array_part(hcy_array **out, const hcy_array *a, int part)
{
    hcy_array *v = NULL;
    int status = hcy__array_check(a, "hcy_array_part");
    if (!status && ((a->dtype != HCY_COMPLEX64 && a->dtype != HCY_COMPLEX128) || part < 0 || part > 1))
        status = hcy_fail(HCY_EINVAL, "hcy_array_part: %s has no part %d", hcy_dtype_name(a->dtype), part);
    if (!status)
        status = hcy__array_view(out ? &v : NULL, a);
    if (status)
        return status;
    v->dtype = a->dtype == HCY_COMPLEX64 ? HCY_FLOAT32 : HCY_FLOAT64;
    /* A part is half an element, so that there are twice as many of them to anywhere. */
    v->offset = 2 * a->offset + part;
    for (int d = 0; d < a->rank; d++)
        v->strides[d] = 2 * a->strides[d];
    *out = v;
    return 0;
}

/* The shape with the size in place of -1. */
static int find_shape(int64_t *full, const hcy_array *a, int rank, const int64_t *shape)
{
    char from[200], to[200];
    int64_t known = 1, count = 0;
    int open = -1;
    if (rank < 0 || rank > HCY_ARRAY_MAX_RANK || (rank && !shape))
        return hcy_fail(HCY_EINVAL, "hcy_array_reshape: 0 to %d axes, not %d", HCY_ARRAY_MAX_RANK, rank);
    for (int d = 0; d < rank; d++) {
        full[d] = shape[d];
        if (shape[d] != -1)
            continue;
        if (open >= 0)
            return hcy_fail(HCY_EINVAL, "hcy_array_reshape: axes %d and %d are -1, and one size is found", open, d);
        open = d;
        full[d] = 1;
    }
    int status = hcy__shape_count(&known, rank, full);
    if (status)
        return status;
    /* Beside an axis of 0 any size would be right, and 1 is taken. */
    if (open >= 0 && known && a->count % known == 0)
        full[open] = a->count / known;
    status = hcy__shape_count(&count, rank, full);
    if (!status && count != a->count)
        status = hcy_fail(HCY_EINVAL, "hcy_array_reshape: %s has not as many elements as %s",
                          hcy__shape_text(from, a->rank, a->shape), hcy__shape_text(to, rank, shape));
    return status;
}

/* Strides of a new shape, found group by group: axes of the old one and of the new one with as many elements. */
static bool find_strides(int64_t *strides, const hcy_array *a, int rank, const int64_t *shape)
{
    int64_t old_shape[HCY_ARRAY_MAX_RANK], old_strides[HCY_ARRAY_MAX_RANK];
    int n = 0, i = 0, j = 0;
    for (int d = 0; d < a->rank; d++)
        if (a->shape[d] != 1) {
            old_shape[n] = a->shape[d];
            old_strides[n++] = a->strides[d];
        }
    while (i < n && j < rank) {
        int64_t old_count = old_shape[i], new_count = shape[j];
        int old_end = i + 1, new_end = j + 1;
        /* Both shapes have as many elements, and some, so that the products meet before either runs out of axes. */
        while (old_count != new_count)
            if (new_count < old_count)
                new_count *= shape[new_end++];
            else
                old_count *= old_shape[old_end++];
        /* Axes that become one must follow one another without gaps. */
        for (int d = i; d + 1 < old_end; d++)
            if (old_strides[d] != old_shape[d + 1] * old_strides[d + 1])
                return false;
        strides[new_end - 1] = old_strides[old_end - 1];
        for (int d = new_end - 1; d > j; d--)
            strides[d - 1] = strides[d] * shape[d];
        i = old_end;
        j = new_end;
    }
    /* What is left has one element. */
    for (; j < rank; j++)
        strides[j] = 1;
    return true;
}

int hcy_array_reshape(hcy_array **out, const hcy_array *a, int rank, const int64_t *shape)
{
    int64_t full[HCY_ARRAY_MAX_RANK], strides[HCY_ARRAY_MAX_RANK];
    char from[200], to[200];
    hcy_array *v = NULL;
    int status = hcy__array_check(a, "hcy_array_reshape");
    if (!status)
        status = find_shape(full, a, rank, shape);
    if (status)
        return status;
    /* An empty array shows nothing, so that any strides will do, and axes of 0 have no groups. */
    if (!a->count)
        hcy__c_strides(strides, rank, full);
    else if (!find_strides(strides, a, rank, full))
        return hcy_fail(HCY_ESTATE,
                        "hcy_array_reshape: as its elements lie, %s is not a view of %s; copy it first",
                        hcy__shape_text(to, rank, full), hcy__shape_text(from, a->rank, a->shape));
    status = hcy__array_view(out ? &v : NULL, a);
    if (status)
        return status;
    v->rank = rank;
    for (int d = 0; d < rank; d++) {
        v->shape[d] = full[d];
        v->strides[d] = strides[d];
    }
    *out = v;
    return 0;
}
