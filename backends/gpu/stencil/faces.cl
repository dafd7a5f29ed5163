/* faces.cl - sums of neighbours around a box inside of a part, whose neighbours may be ghosts (stencil_format.h).
 *
 * A row of groups takes a face.  Where lines of the last axis are long, an item has AT_ONCE reals of one, LANES apart,
 * as what it finds out about their place and coefficients takes as long as several sums; else one real at a time.
 * Faces are thin, and all of them one launch, so that nothing is known when the text is compiled but REAL, REAL_BITS
 * and RANK: one text serves every operator.
 */
#pragma once
#include "stencil/coefficient.h"

#define LANES   32
#define AT_ONCE 4
#define LAST    (RANK - 1)

struct faces_of_axes {
    hcy_stencil_faces of[RANK];
};

/* An item's place: `n` reals LANES apart, of which the first is `x` of the last axis and `at` of the part; its elements
 * along the other axes, and across each axis as place_of_ghost() wants it. */
struct spot {
    i64 index[RANK], x, at;
    u32 rows[RANK], n;
    u64 across[RANK], behind[RANK];
};

/* Reals of a face along the last axis; how many such lines it has. */
DEVICE u32 length_of(const hcy_stencil_job *job, const struct faces_of_axes *faces, u32 face)
{
    u64 first, end;
    find_face(&first, &end, job, faces->of, face / 2, face % 2, LAST);
    return (u32)((end - first) * (u64)job->axes[LAST].stride);
}
DEVICE u32 lines_of(const hcy_stencil_job *job, const struct faces_of_axes *faces, u32 face)
{
    u32 lines = 1;
    UNROLL
    for (int d = 0; d < LAST; d++) {
        u64 first, end;
        find_face(&first, &end, job, faces->of, face / 2, face % 2, d);
        lines *= (u32)(end - first);
    }
    return lines;
}

DEVICE void find_spot(struct spot *s, const hcy_stencil_job *job, const struct faces_of_axes *faces, u32 face, u32 line,
                      u32 x)
{
    u64 first, end, across = 0;
    find_face(&first, &end, job, faces->of, face / 2, face % 2, LAST);
    s->x = s->at = (i64)(first * (u64)job->axes[LAST].stride) + (i64)x;
    UNROLL
    for (int d = LAST - 1; d >= 0; d--) {
        const hcy_stencil_axis *a = &job->axes[d];
        find_face(&first, &end, job, faces->of, face / 2, face % 2, d);
        const u32 size = (u32)(end - first);
        s->index[d] = (i64)(first + line % size);
        line /= size;
        s->behind[d] = (u64)s->at;
        s->at += s->index[d] * a->stride;
        s->rows[d] = row_of_element((u64)s->index[d], a->size, a->head, a->tail);
    }
    UNROLL
    for (int d = 0; d < LAST; d++) {
        s->across[d] = across;
        across = across * job->axes[d].size + (u64)s->index[d];
    }
    s->across[LAST] = across;
}

/* Of real x of the last axis, whose elements may be two each. */
DEVICE i64 element_beside(const hcy_stencil_axis *last, i64 x)
{
    return last->stride == 2 ? x / 2 : x;
}

/* Neighbours k along an axis where all of the item's reals have the same row, and ghosts or none, in `*p`. */
DEVICE void add_all(REAL *sums, const hcy_stencil_axis *a, u32 row, int k, const REAL *p, u32 n, const u32 most)
{
    const REAL c = coefficient_of(a, row, k);
    UNROLL
    for (u32 e = 0; e < most; e++)
        if (e < n)
            sums[e] += c * p[e * LANES];
}

/* The same of the last axis, where each real may have a row of its own. */
DEVICE void add_each(REAL *sums, const REAL *from, const REAL *ghosts, const hcy_stencil_axis *last,
                     const hcy_stencil_faces *faces, const struct spot *s, const u32 *beside, int k, const u32 most)
{
    UNROLL
    for (u32 e = 0; e < most; e++) {
        if (e >= s->n || !last->rows[beside[e]][k])
            continue;
        const i64 x = s->x + e * LANES, here = element_beside(last, x), i = here + k - HCY_STENCIL_REACH;
        const u64 behind = (u64)(x - here * last->stride);
        const REAL *p = is_ghost(i, last->size)
                            ? ghosts + place_of_ghost(i, last, faces, s->across[LAST], behind)
                            : from + s->at + e * LANES + (k - HCY_STENCIL_REACH) * last->stride;
        sums[e] += coefficient_of(last, beside[e], k) * *p;
    }
}

/* The reals themselves, all terms' coefficients in one. */
DEVICE void add_middle(REAL *sums, const REAL *from, const hcy_stencil_job *job, const struct spot *s,
                       const u32 *beside, const u32 most)
{
    const hcy_stencil_axis *last = &job->axes[LAST];
    REAL outer = 0;
    UNROLL
    for (int d = 0; d < LAST; d++)
        if (job->axes[d].is_term)
            outer += coefficient_of(&job->axes[d], s->rows[d], HCY_STENCIL_REACH);
    UNROLL
    for (u32 e = 0; e < most; e++) {
        const REAL c = last->is_term ? outer + coefficient_of(last, beside[e], HCY_STENCIL_REACH) : outer;
        if (e < s->n && c != 0)
            sums[e] += c * from[s->at + e * LANES];
    }
}

/* The rows of the item's reals along the last axis; whether they are most elements', far from ghosts. */
DEVICE u32 find_beside(u32 *beside, const hcy_stencil_axis *last, const struct spot *s, const u32 most)
{
    u32 is_plain = 1;
    UNROLL
    for (u32 e = 0; e < most; e++) {
        const i64 i = element_beside(last, s->x + e * LANES);
        beside[e] = e < s->n ? row_of_element((u64)i, last->size, last->head, last->tail) : HCY_STENCIL_EDGE;
        is_plain &= beside[e] == HCY_STENCIL_EDGE &&
                    (e >= s->n || (i >= HCY_STENCIL_REACH && i + HCY_STENCIL_REACH < (i64)last->size));
    }
    return is_plain;
}

/* Of the item's up to `most` reals. */
DEVICE void sum_spot(REAL *to, const REAL *from, const REAL *ghosts, const hcy_stencil_job *job,
                     const struct faces_of_axes *faces, const struct spot *s, const u32 most)
{
    const u32 has_middle = !job->from_step && !job->to_step;
    REAL sums[AT_ONCE];
    u32 beside[AT_ONCE];
    const u32 is_plain = find_beside(beside, &job->axes[LAST], s, most);
    UNROLL
    for (u32 e = 0; e < most; e++)
        sums[e] = 0;
    if (has_middle)
        add_middle(sums, from, job, s, beside, most);
    UNROLL
    for (int d = 0; d < RANK; d++) {
        const hcy_stencil_axis *a = &job->axes[d];
        if (!a->is_term)
            continue;
        UNROLL
        for (int k = 0; k < HCY_STENCIL_TAPS; k++) {
            if (has_middle && k == HCY_STENCIL_REACH)
                continue;
            if (d == LAST && !is_plain) {
                add_each(sums, from, ghosts, a, &faces->of[d], s, beside, k, most);
                continue;
            }
            const u32 row = d == LAST ? HCY_STENCIL_EDGE : s->rows[d];
            const i64 i = d == LAST ? 0 : s->index[d] + k - HCY_STENCIL_REACH;
            if (a->rows[row][k])
                add_all(sums, a, row, k,
                        is_ghost(i, a->size) ? ghosts + place_of_ghost(i, a, &faces->of[d], s->across[d], s->behind[d])
                                             : from + s->at + (k - HCY_STENCIL_REACH) * a->stride,
                        s->n, most);
        }
        from += job->from_step;
        if (job->to_step) {
            UNROLL
            for (u32 e = 0; e < most; e++) {
                if (e < s->n)
                    to[s->at + e * LANES] = sums[e];
                sums[e] = 0;
            }
            to += job->to_step;
        }
    }
    UNROLL
    for (u32 e = 0; e < most; e++)
        if (!job->to_step && e < s->n)
            to[s->at + e * LANES] = sums[e];
}

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_stencil_faces(hcy_stencil_job job, struct faces_of_axes faces, BUFFER(const REAL, from),
                       BUFFER(const REAL, ghosts), BUFFER(REAL, to))
{
    OPEN(const REAL, from) OPEN(const REAL, ghosts) OPEN(REAL, to)
    const u32 face = GROUP_Y, length = length_of(&job, &faces, face), lines = lines_of(&job, &faces, face);
    const u32 side = LANES * AT_ONCE, is_long = length >= side;
    /* Items of a line. */
    const u32 width = is_long ? (length - 1) / side * LANES + LANES : length;
    const u64 items = (u64)lines * width;
    for (u64 i = (u64)GROUP * GROUP_SIZE + ITEM; i < items; i += (u64)GROUPS * GROUP_SIZE) {
        struct spot s;
        const u32 line = (u32)i / width, item = (u32)i - line * width;
        const u32 x = is_long ? item / LANES * side + item % LANES : item;
        if (x >= length)
            continue;
        s.n = is_long ? (length - 1 - x) / LANES + 1 : 1;
        s.n = s.n < AT_ONCE ? s.n : AT_ONCE;
        find_spot(&s, &job, &faces, face, line, x);
        if (is_long)
            sum_spot(to + job.to, from + job.from, ghosts, &job, &faces, &s, AT_ONCE);
        else
            sum_spot(to + job.to, from + job.from, ghosts, &job, &faces, &s, 1);
    }
}
