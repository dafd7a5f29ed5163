/* differences.h - the matrices of differences of neighbours along one axis.  Pure functions. */
#ifndef HCY_DIFFERENCES_H
#define HCY_DIFFERENCES_H

#include "stencil_format.h"

#include <halcyon/operator.h>
#include <stdbool.h>

/* Whether there is such a kind, with or without HCY_DIFFERENCE_EDGES. */
bool hcy__difference_is(int kind);
/* Row i of the matrix of n rows, or of its transpose: whole numbers next to the diagonal, of which
 * hcy__difference_divisor() make 1. */
void hcy__difference_row(int8_t row[HCY_STENCIL_TAPS], int kind, int64_t i, int64_t n, bool transposed);
int hcy__difference_divisor(int kind);

#endif
