/* vectors.h - what operators and solvers do with whole vectors, distributed ones too. */
#ifndef HCY_VECTORS_H
#define HCY_VECTORS_H

#include "operator_priv.h"

/* The type of a space's inner products: complex128, or float64 of real vectors. */
int hcy__dot_type(const hcy_space *space);
/* One number, of hcy__dot_type(), in memory of its own. */
int hcy__new_number(hcy_array **number, hcy_device *dev, int dtype);
/* sum = the sum of conj(x) * y over the vectors of a space, in double; no wait. */
int hcy__vector_dot(hcy_queue *queue, hcy_array *sum, const hcy_space *space, hcy_array *x, hcy_array *y);
/* Whether that is the sum of this process's array and then, where there is one, total(). */
bool hcy__adds_parts(const hcy_space *space);
/* Whether the space's table has eval_square(). */
bool hcy__evaluates_square(const hcy_space *space);
/* Normal numbers of Philox, the same for each seed and stream. */
int hcy__vector_random(hcy_queue *queue, hcy_array *x, const hcy_space *space, uint64_t seed, int64_t stream);
/* stack_space.c: whether the vectors are several in one; then these get their random numbers, with a status. */
bool hcy__vectors_random(int *status, hcy_queue *queue, hcy_array *x, const hcy_vectors *vectors, uint64_t seed,
                         int64_t stream);
/* The table of such vectors, a reference, of which each operator on them has one. */
int hcy__stack_vectors(const hcy_vectors **vectors, hcy_operator *const *ops, size_t n, bool of_range);
int hcy__vector_zero(hcy_queue *queue, hcy_array *x);

#endif
