/* stencil.cl - sums of neighbours along axes (stencil_format.h).
 *
 * A tile is LANES * AT_ONCE reals of the last axis, TILE_ROWS of the axis before it and MARCH of the one before that;
 * a group goes through it along this axis, so that what a step reads ahead is in the multiprocessor's cache for the two
 * or four steps that want it again.  An item has reals LANES apart: lanes beside each other read and write memory as
 * it lies, wherever lines begin.  REAL is float or double, of REAL_BITS; there are RANK axes, at least 3.
 *
 * What nearly all elements do is known when the text is compiled, for looking it up takes longer than the sums: INNER
 * has HCY_STENCIL_TAPS bits an axis, the first axis's lowest, that say which neighbours count; TERMS says which axes
 * are terms, FROM_APART and TO_APART whether these have sources and results of their own.
 */
#pragma once
#define HCY_STENCIL_AXES RANK
#include "dialect.h"
#define HELPER DEVICE
#include "stencil_rows.h"

#define LANES     32
#define AT_ONCE   4
#define TILE_ROWS 8
#define MARCH     16

#if REAL_BITS == 32
#define REAL_OF_BITS(x) AS_FLOAT((u32)(x))
#else
#define REAL_OF_BITS(x) AS_DOUBLE(x)
#endif

/* Of an axis's row. */
DEVICE REAL coefficient_of(const hcy_stencil_axis *a, u32 row, int k)
{
    return row == HCY_STENCIL_EDGE ? REAL_OF_BITS(a->inner[k]) : (REAL)((double)a->rows[row][k] * a->scale);
}

/* Adds neighbour k along an axis to the item's sums, of which `n` are elements. */
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
        if (job->axes[d].is_term)
            outer += coefficient_of(&job->axes[d], rows[d], HCY_STENCIL_REACH);
    UNROLL
    for (u32 e = 0; e < AT_ONCE; e++) {
        const REAL c = last->is_term ? outer + coefficient_of(last, beside[e], HCY_STENCIL_REACH) : outer;
        if (e < n && c != 0)
            sums[e] += c * from[e * LANES];
    }
}

DEVICE void put_sums(REAL *to, REAL *sums, u32 n)
{
    UNROLL
    for (u32 e = 0; e < AT_ONCE; e++) {
        if (e < n)
            to[e * LANES] = sums[e];
        sums[e] = 0;
    }
}

#define IS_TERM(d) (TERMS >> (d) & 1)
#define IS_TAP(d, k) (INNER >> (HCY_STENCIL_TAPS * (d) + (k)) & 1)
#define HAS_MIDDLE (!FROM_APART && !TO_APART)

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

/* Coefficients of most elements: of neighbours, of the element itself but for the last axis's part, and with it. */
struct inner {
    REAL c[RANK][HCY_STENCIL_TAPS], outer, middle;
};
DEVICE void load_inner(struct inner *in, const hcy_stencil_job *job)
{
    in->outer = 0;
    UNROLL
    for (int d = 0; d < RANK; d++) {
        UNROLL
        for (int k = 0; k < HCY_STENCIL_TAPS; k++)
            in->c[d][k] = IS_TAP(d, k) ? REAL_OF_BITS(job->axes[d].inner[k]) : 0;
        if (d < RANK - 1 && IS_TERM(d))
            in->outer += in->c[d][HCY_STENCIL_REACH];
    }
    in->middle = IS_TERM(RANK - 1) ? in->outer + in->c[RANK - 1][HCY_STENCIL_REACH] : in->outer;
}

/* The element itself, number e of the item's. */
DEVICE REAL middle_of(const struct inner *in, const hcy_stencil_job *job, u32 beside, REAL element)
{
    REAL c = in->middle;
    if (IS_TERM(RANK - 1) && beside != HCY_STENCIL_EDGE)
        c = in->outer + coefficient_of(&job->axes[RANK - 1], beside, HCY_STENCIL_REACH);
    return c != 0 ? (REAL)0 + c * element : 0;
}

/* A step where all rows but those beside are most elements': an element at an end of the last axis, which one lane of a
 * warp may have, goes its own way there alone. */
DEVICE void sum_inner(REAL *to, const REAL *from, const hcy_stencil_job *job, const struct inner *in, const u32 *beside,
                      u32 n)
{
    REAL sums[AT_ONCE];
    UNROLL
    for (u32 e = 0; e < AT_ONCE; e++)
        sums[e] = HAS_MIDDLE && e < n ? middle_of(in, job, beside[e], from[e * LANES]) : 0;
    UNROLL
    for (int d = 0; d < RANK; d++) {
        if (!IS_TERM(d))
            continue;
        const hcy_stencil_axis *a = &job->axes[d];
        UNROLL
        for (u32 e = 0; e < AT_ONCE; e++) {
            const REAL *p = from + e * LANES;
            const int at_end = d == RANK - 1 && beside[e] != HCY_STENCIL_EDGE;
            UNROLL
            for (int k = 0; k < HCY_STENCIL_TAPS; k++) {
                if (k == HCY_STENCIL_REACH && HAS_MIDDLE)
                    continue;
                if (IS_TAP(d, k) && !at_end && e < n)
                    sums[e] += in->c[d][k] * p[(k - HCY_STENCIL_REACH) * a->stride];
                if (d == RANK - 1 && at_end && e < n && a->rows[beside[e]][k])
                    sums[e] += coefficient_of(a, beside[e], k) * p[(k - HCY_STENCIL_REACH) * a->stride];
            }
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

DEVICE u32 row_along(const hcy_stencil_axis *a, u64 i)
{
    return a->is_term ? row_of_element(a->first + i, a->extent, a->head, a->tail) : HCY_STENCIL_EDGE;
}

/* What an item does of a tile; the tile's number counts those of the last axes first. */
DEVICE void march_through(REAL *to, const REAL *from, const hcy_stencil_job *job, u32 tile, u32 tiles_x, u32 tiles_y,
                          u32 tiles_z, u32 item)
{
    const hcy_stencil_axis *last = &job->axes[RANK - 1], *across = &job->axes[RANK - 2], *along = &job->axes[RANK - 3];
    const u64 length = last->size * (u64)last->stride, x = (u64)(tile % tiles_x) * (LANES * AT_ONCE) + item % LANES;
    u32 rest = tile / tiles_x, rows[RANK], beside[AT_ONCE], n = 0, is_inner;
    struct inner in;
    const u64 y = (u64)(rest % tiles_y) * TILE_ROWS + item / LANES;
    rest /= tiles_y;
    u64 z = (u64)(rest % tiles_z) * MARCH;
    rest /= tiles_z;
    if (x >= length || y >= across->size)
        return;
    i64 at = (i64)x + (i64)y * across->stride + (i64)z * along->stride;
    rows[RANK - 2] = row_along(across, y);
    is_inner = rows[RANK - 2] == HCY_STENCIL_EDGE;
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
        n += here < length;
        beside[e] = here < length ? row_along(last, last->stride == 2 ? here / 2 : here) : HCY_STENCIL_EDGE;
    }
    load_inner(&in, job);
    const u64 end = z + MARCH < along->size ? z + MARCH : along->size;
    for (; z < end; z++, at += along->stride) {
        rows[RANK - 3] = row_along(along, z);
        if (is_inner && rows[RANK - 3] == HCY_STENCIL_EDGE)
            sum_inner(to + at, from + at, job, &in, beside, n);
        else
            sum_edge(to + at, from + at, job, rows, beside, n);
    }
}

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_stencil(hcy_stencil_job job, u32 tiles_x, u32 tiles_y, u32 tiles_z, u32 tiles, BUFFER(const REAL, from),
                 BUFFER(REAL, to))
{
    OPEN(const REAL, from) OPEN(REAL, to)
    for (u32 tile = GROUP; tile < tiles; tile += GROUPS)
        for (u32 item = ITEM; item < LANES * TILE_ROWS; item += GROUP_SIZE)
            march_through(to + job.to, from + job.from, &job, tile, tiles_x, tiles_y, tiles_z, item);
}
