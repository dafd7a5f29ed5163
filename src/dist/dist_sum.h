/* dist_sum.h - what sums over ranks send, for dist_sum.c and for what models it (halcyon scale-model). */
#ifndef HCY_DIST_SUM_H
#define HCY_DIST_SUM_H

#include "eval_format.h"

/* Elements of a piece, which are added up on one rank; how many numbers every rank gets, and adds up for
 * itself; how many of them where a device's messages carry them in the time of some launches. */
enum { HCY_SUM_PIECE = HCY_EVAL_PIECE, HCY_SUM_FEW = 4096, HCY_SUM_GATHERED = 1 << 16 };

#endif
