/* stencil_format.h - sums of neighbours along axes: what a launch says.  Plain data.
 *
 * A result's element is a sum of its neighbours' products with coefficients.  Along an axis these reach
 * HCY_STENCIL_REACH to either side; a few first and last elements have coefficients of their own, all others have the
 * same.  Each axis with coefficients is a TERM; terms are added up, or each is a result of its own, and they have one
 * source or one each.
 *
 * Numbers are reals of 4 or 8 bytes; complex ones are two, that is a last stride of 2.  A coefficient is a whole
 * number times the axis's scale, rounded to the reals' type.  A sum begins at 0 and is rounded after each product and
 * each addition, in this order: the element itself, if all terms are of one source and one result (its coefficient is
 * the sum of theirs, from 0 on); then axis by axis from the lowest neighbour to the highest.  What has a coefficient
 * of 0 is not read: it may be outside, or infinite.  So bits depend on the numbers alone.
 *
 * A part of an array lacks neighbours, its GHOSTS, which lie in memory of their own: of an axis some rows before the
 * part's and some after, one behind the other, each of all elements across the axis in their order.  Where terms have
 * sources of their own, an axis's ghosts are of its own term's.  What needs ghosts is FACES around a box inside, all of
 * which are one launch: for each axis elements before the box and those after, inside along the axes in front of it,
 * whole along those behind.
 */
#ifndef HCY_STENCIL_FORMAT_H
#define HCY_STENCIL_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#ifndef HCY_STENCIL_AXES /* a text that is compiled for fewer says so */
#define HCY_STENCIL_AXES  8
#endif
#define HCY_STENCIL_REACH 2
#define HCY_STENCIL_TAPS  5  /* from -REACH to REACH */
#define HCY_STENCIL_EDGE  4  /* first or last elements that may differ */
#define HCY_STENCIL_ROWS  9  /* EDGE first ones, the one of all others, EDGE last ones */

typedef struct hcy_stencil_axis {
    uint64_t size;    /* elements that are computed */
    uint64_t first;   /* the number of the first of these among `extent` */
    uint64_t extent;
    int64_t stride;   /* reals from one to the next, in sources and results */
    double scale;
    uint64_t inner[HCY_STENCIL_TAPS]; /* most elements' coefficients, as bits of a real: no GPU has to make them */
    int8_t rows[HCY_STENCIL_ROWS][HCY_STENCIL_TAPS];
    uint8_t head, tail; /* how many first and last elements differ */
    uint8_t is_term;
} hcy_stencil_axis;

/* A launch says this in pieces: what stands before the axes, then two axes each, of which some may not be used. */
typedef struct hcy_stencil_job {
    uint32_t rank, bytes;           /* 1 to HCY_STENCIL_AXES; of a real */
    int64_t from, to;               /* places of the first element that is computed, in reals */
    uint64_t from_step, to_step;    /* reals from a term's source or result to the next one's; 0: they are one */
    hcy_stencil_axis axes[HCY_STENCIL_AXES];
} hcy_stencil_job;

/* Of an axis, beside a job for a whole part, that is contiguous in each source and result. */
typedef struct hcy_stencil_faces {
    int64_t ghosts;         /* place of the first one, in reals */
    uint64_t row;           /* reals of a row of ghosts: of all elements across the axis */
    uint32_t before, after; /* rows of ghosts, up to HCY_STENCIL_REACH */
    uint32_t front, back;   /* first and last elements that are not inside */
} hcy_stencil_faces;

#endif
