/* filter_portable.c - azint_filter's loops for any processor. */
#include "filter_loops.h"

const struct filter_ops filter_ops_portable = FILTER_OPS;
