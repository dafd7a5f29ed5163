/* toy_format.h - what host and devices share of the family toy: sums of rows. */
#ifndef TOY_FORMAT_H
#define TOY_FORMAT_H

#include <stdint.h>

#define TOY_VERSION 1
#define TOY_LANES   32 /* that share a row where there are lanes */

typedef struct toy_job {
    uint32_t n, factor; /* numbers of a row; what their sum is multiplied by */
} toy_job;

#endif
