/* point.cl - a point as the sort leaves it (sort.cl) and as it is taken up again (spread_interp.cl).
 *
 * Kept are its places on the axes, in cells and in fixed point as fine as PLACES bits allow, and its number: 16
 * bytes or 32, because the sort writes them in no order, and memory takes parts of 32 bytes several times as slowly.
 * PLACES is 32 in three dimensions of float, unless an axis is so long that too little is left for what is between
 * cells (gpu_nufft.c); in two there is room for 48; else 64.
 */
#pragma once
#include "dialect.h"
#include "nufft/nufft_bits.h"
#include "gpu_format.h"

#if PLACES == 32
struct ALIGNED record {
    u32 high[3], number;
};
#elif PLACES == 48
struct ALIGNED record {
    u32 high[2], rest, number; /* rest: of the first place, and of the second one */
};
#else
struct ALIGNED record {
    u32 high[DIM], low[DIM], number, zero[DIM == 2 ? 3 : 1]; /* all is written: words of 32 bits, four at once */
};
#endif

/* The window's first cell on an axis, and t (nufft_format.h); places begin at the 64th bit. */
DEVICE u32 cell_of(const struct gpu_nufft *job, int axis, u64 place)
{
    return hcy_nufft_cell(place, job->bits[axis], job->n[axis]);
}
DEVICE REAL t_of(const struct gpu_nufft *job, int axis, u64 place)
{
#if PLACES == 32 /* the same, with half of the bits */
    return (REAL)(i32)(((u32)1 << 31) - ((u32)(place >> 32) << job->bits[axis])) * (REAL)0x1p-31;
#else
    return (REAL)hcy_nufft_between(place, job->bits[axis]) * (REAL)0x1p-63;
#endif
}

DEVICE u64 place_on_axis(const struct record *r, int axis)
{
#if PLACES == 32
    return (u64)r->high[axis] << 32;
#elif PLACES == 48
    return (u64)r->high[axis] << 32 | (axis ? r->rest << 16 : r->rest & 0xffff0000u);
#else
    return (u64)r->high[axis] << 32 | r->low[axis];
#endif
}
