/* proximal_priv.h - a regulariser as solvers see it, and the memory that they have for its map. */
#ifndef HCY_PROXIMAL_PRIV_H
#define HCY_PROXIMAL_PRIV_H

#include "vectors.h"

#include <halcyon/proximal.h>

struct hcy_proximal {
    atomic_uint refs;
    hcy_device *dev;
    hcy_proximal_desc desc; /* its name is this regulariser's own */
    const hcy_vectors *kept; /* its reference of a stack's vectors */
};

/* The space of x. */
const hcy_space *hcy__proximal_domain(const hcy_proximal *p);
/* y = K x; without K it is a copy. */
int hcy__proximal_analyse(hcy_queue *queue, hcy_array *y, const hcy_proximal *p, hcy_array *x);
/* y += factor * K^H z, with an `aside` of the domain that is written. */
int hcy__proximal_add_back(hcy_queue *queue, hcy_array *y, const hcy_proximal *p, double factor, hcy_array *z,
                           hcy_array *aside);
/* The operand "u", a unit in which lengths are taken that are held against t, and t in it: their squares are then
 * numbers of `dtype` wherever it matters. */
hcy_operand hcy__proximal_unit(double *limit, double t, int dtype);
/* |K|; waits where that is not known. */
int hcy__proximal_norm(double *norm, hcy_queue *queue, const hcy_proximal *p);

/* The map of the whole g(K x), with its memory; one user at a time. */
struct hcy__prox_map {
    hcy_proximal *p;
    double norm;
    hcy_array *analysed, *mapped; /* vectors of K's range; NULL: without K */
    hcy_array *dual, *ahead;      /* where the dual is, and where its momentum takes it; NULL: K is orthogonal */
};
int hcy__prox_map_make(struct hcy__prox_map *map, hcy_queue *queue, hcy_proximal *p);
void hcy__prox_map_free(struct hcy__prox_map *map);
/* The next map's dual begins at 0; else it begins where the last one's ended. */
int hcy__prox_map_reset(hcy_queue *queue, struct hcy__prox_map *map);
int hcy__prox_map_run(hcy_queue *queue, hcy_array *y, struct hcy__prox_map *map, hcy_array *x, double t,
                      int iterations);

#endif
