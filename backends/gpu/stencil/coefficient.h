/* coefficient.h - the coefficients of an axis, in the type REAL of REAL_BITS; of RANK axes. */
#pragma once
#define HCY_STENCIL_AXES RANK
#include "dialect.h"
#define HELPER DEVICE
#include "stencil_rows.h"

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
