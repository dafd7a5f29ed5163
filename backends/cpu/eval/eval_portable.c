/* eval_portable.c - the loops of expressions, with what any processor has. */
#define LOOPS cpu_eval_portable
#include "eval_loops.h"
