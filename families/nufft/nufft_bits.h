/* nufft_bits.h - what all devices compute alike, bit by bit: where a point stands, the unit of sums of integers.
 * Inline code for C and for the texts of GPUs, none of whose operations may be contracted.  Pure functions.
 *
 * A PLACE on an axis is the window's first cell and what is between cells, in fixed point: cells begin at the 64th bit
 * and have `bits` of them, and as many bits are kept as hcy_nufft_place_bits() says.
 */
#ifndef HCY_NUFFT_BITS_H
#define HCY_NUFFT_BITS_H

#include "nufft_format.h"

#ifdef GPU_DIALECT_H
#define HCY_NUFFT_INLINE DEVICE
#else
#include <math.h>
#define HCY_NUFFT_INLINE static inline
#endif

/* Bits that number an axis's cells. */
HCY_NUFFT_INLINE uint32_t hcy_nufft_cell_bits(uint64_t cells)
{
    uint32_t bits = 0;
    while ((uint64_t)1 << bits < cells)
        bits++;
    return bits;
}

/* Bits of places: 32 are enough in float for axes of 512 cells, whose phases then err by 1e-7. */
HCY_NUFFT_INLINE uint32_t hcy_nufft_place_bits(uint32_t dim, int is_float, uint64_t longest)
{
    if (is_float && dim == 2)
        return 48;
    return is_float && dim == 3 && longest <= 512 ? 32 : 64;
}

/* A coordinate in periods to its place; one that is no number, or 2^40 away, counts as 0.  `offset` is half a window in
 * periods, `scale` 2^(places - bits).  Rounded up, places stay on their side of a cell: the cell is that of a
 * double. */
HCY_NUFFT_INLINE int hcy_nufft_is_far(double turns)
{
    return !(turns < 1099511627776.0 && turns > -1099511627776.0);
}
HCY_NUFFT_INLINE uint64_t hcy_nufft_place(double turns, double offset, uint32_t cells, double scale, uint32_t places)
{
    turns = (hcy_nufft_is_far(turns) ? 0 : turns) - offset;
    turns -= floor(turns);
    double u = turns * cells;
    return u < cells ? (uint64_t)ceil(u * scale) << (64 - places) : 0;
}

/* The window's first cell. */
HCY_NUFFT_INLINE uint32_t hcy_nufft_cell(uint64_t place, uint32_t bits, uint32_t cells)
{
    uint32_t cell = (uint32_t)(place >> (64 - bits)) + (place << bits != 0);
    return cell < cells ? cell : 0;
}

/* t (nufft_format.h) times 2^63. */
HCY_NUFFT_INLINE int64_t hcy_nufft_between(uint64_t place, uint32_t bits)
{
    return (int64_t)(((uint64_t)1 << 63) - (place << bits));
}

/* The exponent, as in a double, of what a strength is multiplied by where a point's share of a cell is an integer:
 * strengths < 2^(exponent - 1022), weights < 2, shares < 2^51, sums of so many `terms` < 2^62.  0x7ff: a strength is no
 * number, or infinite. */
HCY_NUFFT_INLINE uint64_t hcy_nufft_scale(uint64_t terms, uint32_t exponent)
{
    uint64_t bits = 11, scale;
    while (terms >> bits)
        bits++;
    scale = 2106 - exponent - bits;
    if (exponent == 0x7ff)
        return 0x7ff;
    return scale < 2045 ? scale : 2045;
}

/* The bits of the double that a sum is multiplied by in the end. */
HCY_NUFFT_INLINE uint64_t hcy_nufft_unit(uint64_t scale)
{
    return scale == 0x7ff ? (uint64_t)0xfff << 51 : (2046 - scale) << 52;
}

#endif
