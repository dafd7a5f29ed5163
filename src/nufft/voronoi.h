/* voronoi.h - what lies nearest to each of many points of a period: weights of density.c.  Any thread. */
#ifndef HCY_VORONOI_H
#define HCY_VORONOI_H

#include <stddef.h>

/* volumes[n]: the part of the period's volume, 1, that lies nearer to point i than to any other, shared out among
 * points that are at one place.  turns[i][dim]: coordinates in periods, -1/2 to 1/2; dim 1 to 3.  reach[dim], in
 * periods, at most 1/2: what is farther than that along an axis is no point's.  The same bits for any number of
 * threads.  HCY_ENOMEM, HCY_ERANGE. */
int hcy__voronoi_volumes(double *volumes, const double *turns, int dim, const double reach[3], size_t n,
                         unsigned threads);

#endif
