/* faces.cl - sums of neighbours around a box inside of a part, whose neighbours may be ghosts (stencil_format.h).
 *
 * A row of groups takes a face, an item one real after the other.  Faces are thin, and all of them one launch, so that
 * nothing is known when the text is compiled but REAL, REAL_BITS and RANK: one text serves every operator.
 */
#pragma once
#include "stencil/coefficient.h"

struct faces_of_axes {
    hcy_stencil_faces of[RANK];
};

/* An element's place: along each axis, in the part, and across each axis as place_of_ghost() wants it. */
struct spot {
    i64 index[RANK], at;
    u32 rows[RANK];
    u64 across[RANK], behind[RANK];
};

/* Real `rest` of a face. */
DEVICE void find_spot(struct spot *s, const hcy_stencil_job *job, const struct faces_of_axes *faces, u32 face, u32 rest)
{
    const u32 width = (u32)job->axes[RANK - 1].stride;
    u64 across = 0;
    s->at = rest % width;
    rest /= width;
    UNROLL
    for (int d = RANK - 1; d >= 0; d--) {
        const hcy_stencil_axis *a = &job->axes[d];
        u64 first, end;
        find_face(&first, &end, job, faces->of, face / 2, face % 2, d);
        const u32 size = (u32)(end - first);
        s->index[d] = (i64)(first + rest % size);
        rest /= size;
        s->behind[d] = (u64)s->at;
        s->at += s->index[d] * a->stride;
        s->rows[d] = row_of_element((u64)s->index[d], a->size, a->head, a->tail);
    }
    UNROLL
    for (int d = 0; d < RANK; d++) {
        s->across[d] = across;
        across = across * job->axes[d].size + (u64)s->index[d];
    }
}

/* Of the element itself, all terms' coefficients in one. */
DEVICE REAL middle_of(const REAL *from, const hcy_stencil_job *job, const struct spot *s)
{
    REAL c = 0;
    UNROLL
    for (int d = 0; d < RANK; d++)
        if (job->axes[d].is_term)
            c += coefficient_of(&job->axes[d], s->rows[d], HCY_STENCIL_REACH);
    return c != 0 ? c * from[s->at] : 0;
}

DEVICE void sum_spot(REAL *to, const REAL *from, const REAL *ghosts, const hcy_stencil_job *job,
                     const struct faces_of_axes *faces, const struct spot *s)
{
    const u32 has_middle = !job->from_step && !job->to_step;
    REAL sum = 0;
    if (has_middle)
        sum += middle_of(from, job, s);
    UNROLL
    for (int d = 0; d < RANK; d++) {
        const hcy_stencil_axis *a = &job->axes[d];
        if (!a->is_term)
            continue;
        UNROLL
        for (int k = 0; k < HCY_STENCIL_TAPS; k++) {
            const i64 i = s->index[d] + k - HCY_STENCIL_REACH;
            if (!a->rows[s->rows[d]][k] || (has_middle && k == HCY_STENCIL_REACH))
                continue;
            const REAL *p = is_ghost(i, a->size)
                                ? ghosts + place_of_ghost(i, a, &faces->of[d], s->across[d], s->behind[d])
                                : from + s->at + (k - HCY_STENCIL_REACH) * a->stride;
            sum += coefficient_of(a, s->rows[d], k) * *p;
        }
        from += job->from_step;
        if (job->to_step) {
            to[s->at] = sum;
            to += job->to_step;
            sum = 0;
        }
    }
    if (!job->to_step)
        to[s->at] = sum;
}

KERNEL GROUP_OF(GROUP_SIZE)
void gpu_stencil_faces(hcy_stencil_job job, struct faces_of_axes faces, BUFFER(const REAL, from),
                       BUFFER(const REAL, ghosts), BUFFER(REAL, to))
{
    OPEN(const REAL, from) OPEN(const REAL, ghosts) OPEN(REAL, to)
    const u32 face = GROUP_Y;
    u32 reals = (u32)job.axes[RANK - 1].stride;
    UNROLL
    for (int d = 0; d < RANK; d++) {
        u64 first, end;
        find_face(&first, &end, &job, faces.of, face / 2, face % 2, d);
        reals *= (u32)(end - first);
    }
    for (u64 i = (u64)GROUP * GROUP_SIZE + ITEM; i < reals; i += (u64)GROUPS * GROUP_SIZE) {
        struct spot s;
        find_spot(&s, &job, &faces, face, (u32)i);
        sum_spot(to + job.to, from + job.from, ghosts, &job, &faces, &s);
    }
}
