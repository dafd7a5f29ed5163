/* stencil.cl - sums of neighbours along axes (stencil_format.h).
 *
 * A tile is LANES * AT_ONCE reals of the last axis, TILE_ROWS of the axis before it and `march` of the one before that;
 * a group goes through it along this axis, so that what a step reads ahead is in the multiprocessor's cache for the two
 * or four steps that want it again.  Where that axis has one element (ACROSS; most axes without differences are
 * joined), the group goes on along the other, TILE_ROWS a step: what an item finds out about its place takes as long as
 * several steps.  An item has reals LANES apart: lanes beside each other read and write memory as it lies, wherever
 * lines begin.  REAL is float or double, of REAL_BITS; there are RANK axes, at least 3.
 *
 * What nearly all elements do is known when the text is compiled, for looking it up takes longer than the sums: INNER
 * has HCY_STENCIL_TAPS bits an axis, the first axis's lowest, that say which neighbours count, of the last axis also
 * those at its ends; TERMS says which axes are terms, FROM_APART and TO_APART whether these have sources and results of
 * their own, WHOLE that the last axis is at least as long as a tile, BESIDE its stride.  Without INNER the text is
 * GENERAL: for processors, whose compilers take seconds for each, and for coefficients that round to 0.
 */
#pragma once
#include "stencil/coefficient.h"

#define LANES     32
#define AT_ONCE   4
#define TILE_ROWS 8

DEVICE void put_sums(REAL *to, REAL *sums, u32 n)
{
    UNROLL
    for (u32 e = 0; e < AT_ONCE; e++) {
        if (e < n)
            to[e * LANES] = sums[e];
        sums[e] = 0;
    }
}

#ifdef INNER
#define ONE_BY_ONE NO_UNROLL /* few steps come this way: a short text, which takes no registers of the others' */
#define IS_TERM(d) (TERMS >> (d) & 1)
#define IS_TAP(d, k) (INNER >> (HCY_STENCIL_TAPS * (d) + (k)) & 1)
#else
#define GENERAL
#define ONE_BY_ONE UNROLL
#define WHOLE 0
#define TERMS 0
#define IS_TERM(d) (job->axes[d].is_term)
#define FROM_APART (job->from_step != 0)
#define TO_APART (job->to_step != 0)
#endif
#define HAS_MIDDLE (!FROM_APART && !TO_APART)
/* The bit of an element itself, of all axes. */
#define MIDDLE_BITS ((((u64)1 << HCY_STENCIL_TAPS * RANK) - 1) / ((1 << HCY_STENCIL_TAPS) - 1) << HCY_STENCIL_REACH)

/* Neighbour k along an axis but the last is added to an item's sums, of which `n` are elements. */
DEVICE void add_neighbour(REAL *sums, const REAL *from, const hcy_stencil_axis *a, u32 row, int k, u32 n)
{
    if (!a->rows[row][k])
        return;
    const REAL c = coefficient_of(a, row, k), *p = from + (k - HCY_STENCIL_REACH) * a->stride;
    UNROLL
    for (u32 e = 0; e < AT_ONCE; e++)
        if (e < n)
            sums[e] += c * p[e * LANES];
}

/* The same of the last axis, where each element may have its own row. */
DEVICE void add_beside(REAL *sums, const REAL *from, const hcy_stencil_axis *a, const u32 *rows, int k, u32 n)
{
    UNROLL
    for (u32 e = 0; e < AT_ONCE; e++)
        if (e < n && a->rows[rows[e]][k])
            sums[e] += coefficient_of(a, rows[e], k) * from[(i64)(e * LANES) + (k - HCY_STENCIL_REACH) * a->stride];
}

/* The elements themselves, with all terms' coefficients in one. */
DEVICE void add_middle(REAL *sums, const REAL *from, const hcy_stencil_job *job, const u32 *rows,
                       const u32 *beside, u32 n)
{
    const hcy_stencil_axis *last = &job->axes[RANK - 1];
    REAL outer = 0;
    UNROLL
    for (int d = 0; d < RANK - 1; d++)
        if (IS_TERM(d))
            outer += coefficient_of(&job->axes[d], rows[d], HCY_STENCIL_REACH);
    UNROLL
    for (u32 e = 0; e < AT_ONCE; e++) {
        const REAL c = IS_TERM(RANK - 1) ? outer + coefficient_of(last, beside[e], HCY_STENCIL_REACH) : outer;
        if (e < n && c != 0)
            sums[e] += c * from[e * LANES];
    }
}

/* One step of an item: `rows` of the axes but the last, `beside` of its elements along that one. */
DEVICE void sum_edge(REAL *to, const REAL *from, const hcy_stencil_job *job, const u32 *rows, const u32 *beside, u32 n)
{
    REAL sums[AT_ONCE];
    UNROLL
    for (u32 e = 0; e < AT_ONCE; e++)
        sums[e] = 0;
    if (HAS_MIDDLE)
        add_middle(sums, from, job, rows, beside, n);
    UNROLL
    for (int d = 0; d < RANK; d++) {
        if (!IS_TERM(d))
            continue;
        ONE_BY_ONE
        for (int k = 0; k < HCY_STENCIL_TAPS; k++)
            if (k != HCY_STENCIL_REACH || !HAS_MIDDLE) {
                if (d < RANK - 1)
                    add_neighbour(sums, from, &job->axes[d], rows[d], k, n);
                else
                    add_beside(sums, from, &job->axes[d], beside, k, n);
            }
        from += FROM_APART ? job->from_step : 0;
        if (TO_APART) {
            put_sums(to, sums, n);
            to += job->to_step;
        }
    }
    if (!TO_APART)
        put_sums(to, sums, n);
}

#ifndef GENERAL
/* What an item's steps have in common where rows but those beside are most elements': coefficients of neighbours along
 * the other axes; along the last axis, and of the elements themselves, those of each of the item's elements, as these
 * keep their places on that axis.  So an element at an end of it costs no branch in a step. */
struct inner {
    REAL c[RANK - 1][HCY_STENCIL_TAPS], beside[AT_ONCE][HCY_STENCIL_TAPS], middle[AT_ONCE];
};
DEVICE void load_beside(struct inner *in, const hcy_stencil_axis *last, REAL outer, const u32 *beside)
{
    UNROLL
    for (u32 e = 0; e < AT_ONCE; e++) {
        UNROLL
        for (int k = 0; k < HCY_STENCIL_TAPS; k++)
            in->beside[e][k] = IS_TAP(RANK - 1, k) ? coefficient_of(last, beside[e], k) : 0;
        in->middle[e] = IS_TERM(RANK - 1) ? outer + coefficient_of(last, beside[e], HCY_STENCIL_REACH) : outer;
    }
}
DEVICE void load_inner(struct inner *in, const hcy_stencil_job *job, const u32 *beside)
{
    REAL outer = 0;
    UNROLL
    for (int d = 0; d < RANK - 1; d++) {
        UNROLL
        for (int k = 0; k < HCY_STENCIL_TAPS; k++)
            in->c[d][k] = IS_TAP(d, k) ? REAL_OF_BITS(job->axes[d].inner[k]) : 0;
        if (IS_TERM(d))
            outer += in->c[d][HCY_STENCIL_REACH];
    }
    const u32 most[AT_ONCE] = { HCY_STENCIL_EDGE, HCY_STENCIL_EDGE, HCY_STENCIL_EDGE, HCY_STENCIL_EDGE };
    u32 at_end = 0;
    UNROLL
    for (u32 e = 0; e < AT_ONCE; e++)
        at_end |= beside[e] != HCY_STENCIL_EDGE;
    /* Few items have elements at an end, whose coefficients take as long to look up as some steps. */
    if (at_end)
        load_beside(in, &job->axes[RANK - 1], outer, beside);
    else
        load_beside(in, &job->axes[RANK - 1], outer, most);
}

/* Neighbours of an item's elements along axis d, those that count. */
struct near {
    REAL x[AT_ONCE][HCY_STENCIL_TAPS];
};
#define IS_READ(d, k) (IS_TERM(d) && IS_TAP(d, k) && ((k) != HCY_STENCIL_REACH || !HAS_MIDDLE))

/* Reads go without branches, so that all of an item's are under way at once, and neighbours beside lie at distances
 * known to the compiler: no instructions for addresses.  What does not count is read too; march_through sees that it
 * is there. */
DEVICE void read_near(struct near *near, const REAL *from, const hcy_stencil_job *job, int d, u32 n)
{
    UNROLL
    for (int k = 0; k < HCY_STENCIL_TAPS; k++) {
        if (!IS_READ(d, k))
            continue;
        const REAL *p = from + (k - HCY_STENCIL_REACH) * (d < RANK - 1 ? job->axes[d].stride : BESIDE);
        UNROLL
        for (u32 e = 0; e < AT_ONCE; e++)
            near->x[e][k] = p[e < n ? e * LANES : 0];
    }
}

/* What does not count is taken for 0. */
DEVICE REAL term_of(REAL c, REAL x)
{
    return c * (c != 0 ? x : (REAL)0);
}

DEVICE void add_near(REAL *sums, const struct near *near, const struct inner *in, int d)
{
    UNROLL
    for (u32 e = 0; e < AT_ONCE; e++) {
        UNROLL
        for (int k = 0; k < HCY_STENCIL_TAPS; k++)
            if (IS_READ(d, k))
                sums[e] += d < RANK - 1 ? in->c[d < RANK - 1 ? d : 0][k] * near->x[e][k]
                                        : term_of(in->beside[e][k], near->x[e][k]);
    }
}

/* Such a step. */
DEVICE void sum_inner(REAL *to, const REAL *from, const hcy_stencil_job *job, const struct inner *in, u32 n)
{
    REAL sums[AT_ONCE], middle[AT_ONCE];
    struct near near[RANK];
    UNROLL
    for (u32 e = 0; e < AT_ONCE; e++)
        middle[e] = HAS_MIDDLE && (INNER & MIDDLE_BITS) ? from[e < n ? e * LANES : 0] : 0;
    UNROLL
    for (int d = 0; d < RANK; d++) {
        read_near(&near[d], from, job, d, n);
        from += FROM_APART && IS_TERM(d) ? job->from_step : 0;
    }
    UNROLL
    for (u32 e = 0; e < AT_ONCE; e++)
        sums[e] = HAS_MIDDLE ? (REAL)0 + term_of(in->middle[e], middle[e]) : (REAL)0;
    UNROLL
    for (int d = 0; d < RANK; d++) {
        if (!IS_TERM(d))
            continue;
        add_near(sums, &near[d], in, d);
        if (TO_APART) {
            put_sums(to, sums, n);
            to += job->to_step;
        }
    }
    if (!TO_APART)
        put_sums(to, sums, n);
}

#endif

DEVICE u32 row_along(const hcy_stencil_axis *a, u64 i)
{
    return a->is_term ? row_of_element(a->first + i, a->extent, a->head, a->tail) : HCY_STENCIL_EDGE;
}
/* Of the last axis, whose elements may be two reals each. */
DEVICE u32 row_beside(const hcy_stencil_axis *last, u64 x)
{
    return row_along(last, last->stride == 2 ? x / 2 : x);
}

/* A step of an item whose first real is x of the last axis. */
DEVICE void step_along_edge(REAL *to, const REAL *from, const hcy_stencil_job *job, const u32 *rows, u64 x, u32 n)
{
    u32 beside[AT_ONCE];
    UNROLL
    for (u32 e = 0; e < AT_ONCE; e++)
        beside[e] = e < n ? row_beside(&job->axes[RANK - 1], x + e * LANES) : HCY_STENCIL_EDGE;
    sum_edge(to, from, job, rows, beside, n);
}

/* The first of `end` elements behind those that have most elements' row. */
DEVICE u64 end_of_inner(const hcy_stencil_axis *a, u64 end)
{
    const u64 tail = a->is_term ? a->tail : 0, most = a->extent - a->first > tail ? a->extent - a->first - tail : 0;
    return most < end ? most : end;
}

#define MARCHED (RANK - (ACROSS ? 2 : 3))
#define STILL   (RANK - (ACROSS ? 3 : 2))
#define STEP    (ACROSS ? TILE_ROWS : 1) /* elements of MARCHED */

/* What an item does of a tile; the tile's number counts those of the last axes first.  `span` reals lie from the first
 * element's to behind the last one's. */
DEVICE void march_through(REAL *to, const REAL *from, const hcy_stencil_job *job, u32 tile, u32 tiles_x, u32 tiles_y,
                          u32 tiles_z, u32 march, u64 span, u32 item)
{
    const hcy_stencil_axis *last = &job->axes[RANK - 1], *along = &job->axes[MARCHED], *still = &job->axes[STILL];
    const u64 length = last->size * (u64)last->stride, side = LANES * AT_ONCE, begin = tile % tiles_x * side;
    /* Where a tile is no longer than the axis, the last one ends with it, and some elements are made twice. */
    const u64 x = (WHOLE && begin + side > length ? length - side : begin) + item % LANES;
    u32 rest = tile / tiles_x, rows[RANK], n = 0, is_inner;
#ifndef GENERAL
    u32 beside[AT_ONCE];
    struct inner in;
#endif
    const u64 at_y = rest % tiles_y, at_z = rest / tiles_y % tiles_z, row = item / LANES;
    const u64 first = (ACROSS ? at_y : at_z) * march * STEP, fixed = ACROSS ? at_z : at_y * TILE_ROWS + row;
    const u64 whole_end = first + (u64)march * STEP, end = whole_end < along->size ? whole_end : along->size;
    u64 m = first + (ACROSS ? row : 0);
    rest = rest / tiles_y / tiles_z;
    if (x >= length || fixed >= still->size || m >= end)
        return;
    i64 at = (i64)x + (i64)fixed * still->stride + (i64)m * along->stride;
    rows[STILL] = row_along(still, fixed);
    is_inner = rows[STILL] == HCY_STENCIL_EDGE;
    UNROLL
    for (int d = RANK - 4; d >= 0; d--) {
        const u32 i = rest % (u32)job->axes[d].size;
        rest /= (u32)job->axes[d].size;
        rows[d] = row_along(&job->axes[d], i);
        is_inner &= rows[d] == HCY_STENCIL_EDGE;
        at += (i64)i * job->axes[d].stride;
    }
    UNROLL
    for (u32 e = 0; e < AT_ONCE; e++) {
        const u64 here = x + e * LANES;
        n += WHOLE || here < length;
#ifndef GENERAL
        beside[e] = WHOLE || here < length ? row_beside(last, here) : HCY_STENCIL_EDGE;
#endif
    }
#ifndef GENERAL
    load_inner(&in, job, beside);
    /* All that an item may read beside its elements has to be there. */
    is_inner &= at >= HCY_STENCIL_REACH * BESIDE &&
                (u64)at + (end - 1 - m) / STEP * STEP * (u64)along->stride + (AT_ONCE - 1) * LANES +
                        HCY_STENCIL_REACH * BESIDE < span;
#endif
    const u64 inner_end = is_inner ? end_of_inner(along, end) : 0;
    const i64 step = (i64)STEP * along->stride;
    (void)inner_end;
    for (; m < end; m += STEP, at += step) {
        rows[MARCHED] = row_along(along, m);
#ifndef GENERAL
        if (rows[MARCHED] == HCY_STENCIL_EDGE && m < inner_end) {
            /* A loop of its own: what the other steps need takes none of its registers. */
            for (; m < inner_end; m += STEP, at += step)
                sum_inner(to + at, from + at, job, &in, WHOLE ? AT_ONCE : n);
            if (m >= end)
                return;
            rows[MARCHED] = row_along(along, m);
        }
#endif
        step_along_edge(to + at, from + at, job, rows, x, WHOLE ? AT_ONCE : n);
    }
}

/* Groups whose reads are under way in a multiprocessor: the last axis's coefficients take registers.  400^3, one H200:
 * the Laplacian of floats 0.226 ms with 4 and 0.238 with 3, the gradient of doubles 0.740 and 0.612. */
#ifdef GENERAL
#define RESIDENT 3
#else
#define RESIDENT (!IS_TERM(RANK - 1) ? 5 : TO_APART ? 3 : 4)
#endif
KERNEL GROUPS_OF(GROUP_SIZE, RESIDENT)
void gpu_stencil(hcy_stencil_job job, u32 tiles_x, u32 tiles_y, u32 tiles_z, u32 tiles, u32 march, u64 span,
                 BUFFER(const REAL, from), BUFFER(REAL, to))
{
    OPEN(const REAL, from) OPEN(REAL, to)
    for (u32 tile = GROUP; tile < tiles; tile += GROUPS)
        for (u32 item = ITEM; item < LANES * TILE_ROWS; item += GROUP_SIZE)
            march_through(to + job.to, from + job.from, &job, tile, tiles_x, tiles_y, tiles_z, march, span, item);
}
