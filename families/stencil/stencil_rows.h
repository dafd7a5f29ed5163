/* stencil_rows.h - which coefficients an element has: for host and devices, whose text says HELPER before. */
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

#endif
