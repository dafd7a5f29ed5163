/* stencil_rows.h - which coefficients an element has, and where ghosts are: for host and devices, whose text says
 * HELPER before. */
#ifndef HCY_STENCIL_ROWS_H
#define HCY_STENCIL_ROWS_H

#include "stencil_format.h"

/* The row of element i of `extent`. */
HELPER uint32_t row_of_element(uint64_t i, uint64_t extent, uint32_t head, uint32_t tail)
{
    if (i < head)
        return (uint32_t)i;
    return extent - i <= tail ? HCY_STENCIL_ROWS - (uint32_t)(extent - i) : HCY_STENCIL_EDGE;
}

/* Whether neighbour i of an element along an axis is none of the part's own `size`. */
HELPER int is_ghost(int64_t i, uint64_t size)
{
    return i < 0 || i >= (int64_t)size;
}

/* Its place among the ghosts of the axis; across it the element is number `across` along the axes in front, and
 * `behind` reals further along those behind. */
HELPER int64_t place_of_ghost(int64_t i, const hcy_stencil_axis *axis, const hcy_stencil_faces *faces, uint64_t across,
                              uint64_t behind)
{
    const uint64_t row = (uint64_t)(i < 0 ? i + faces->before : i + faces->before - (int64_t)axis->size);
    return faces->ghosts + (int64_t)(row * faces->row + across * (uint64_t)axis->stride + behind);
}

/* Of the faces of axis `of`, those before the box inside or those after: elements [*first, *end) along axis d. */
HELPER void find_face(uint64_t *first, uint64_t *end, const hcy_stencil_job *job, const hcy_stencil_faces *faces,
                      uint32_t of, int is_after, uint32_t d)
{
    const uint64_t size = job->axes[d].size, low = faces[d].front, high = size - faces[d].back;
    *first = d < of ? low : d == of && is_after ? high : 0;
    *end = d < of ? high : d == of && !is_after ? low : size;
}

#endif
