/* stencil_portable.c - the loops of sums of neighbours, compiled for any processor. */
#define LOOPS cpu_stencil_portable
#include "stencil_loops.h"
