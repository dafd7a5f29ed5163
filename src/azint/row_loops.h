/* row_loops.h - the loops over a row of pixels for AVX2: members of hcy__azint_loops_avx2 (share_loops.h says what they
 * do). */
#ifndef HCY_ROW_LOOPS_H
#define HCY_ROW_LOOPS_H

#include "share_loops.h"

void hcy__azint_outlines_avx2(uint32_t *one, uint32_t *two, const struct azint_outlines *outlines, size_t n);
void hcy__azint_azimuths_avx2(double *chi, const double *y, const double *x, size_t n);

#endif
