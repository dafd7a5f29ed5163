/* point.cl - a point as the sort leaves it (sort.cl) and as it is taken up again (spread_interp.cl).
 *
 * Kept are its places on the axes, in cells and in fixed point as fine as PLACES bits allow, and its number, in WORDS
 * of 8 bytes, as gpu_nufft.c says.  Of float PLACES is 32 in three dimensions, unless an axis is so long that too
 * little is left for what is between cells, and 48 in two.  Else it is 53 in three, which is what a double tells of a
 * period, 52 in two where the window errs by more, or 64.
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
/* Places in the upper bits of a word each; the number has another word, or what is left of these. */
#define LEFT (64 - PLACES)
#define MOST_OF_LEFT (((u64)1 << LEFT) - 1)
#if WORDS == 3
struct ALIGNED_TO(8) record {
#else
struct ALIGNED record {
#endif
    u64 word[WORDS];
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
    return r->word[axis] & ~MOST_OF_LEFT;
#endif
}

DEVICE u32 number_of(const struct record *r)
{
#if PLACES >= 52 && PLACES < 64
    u32 number = 0;
    for (int d = 0; d < DIM; d++)
        number |= (u32)(r->word[d] & MOST_OF_LEFT) << LEFT * d;
    return number;
#elif PLACES == 64
    return (u32)r->word[DIM];
#else
    return r->number;
#endif
}

DEVICE struct record record_of(const u64 *place, u32 number)
{
    struct record r;
#if PLACES >= 52 && PLACES < 64
    for (int d = 0; d < DIM; d++)
        r.word[d] = place[d] | (number >> LEFT * d & MOST_OF_LEFT);
#elif PLACES == 64
    for (int d = 0; d < DIM; d++)
        r.word[d] = place[d];
    for (int d = DIM; d < WORDS; d++) /* all is written */
        r.word[d] = number;
#else
    for (int d = 0; d < DIM; d++)
        r.high[d] = (u32)(place[d] >> 32);
#if PLACES == 48
    r.rest = (u32)place[0] | (u32)place[1] >> 16;
#endif
    r.number = number;
#endif
    return r;
}
