/* merge.h - totals of parts, for halcyon merge; they are added as halcyon sum adds frames (sum.c). */
#ifndef HCY_CLI_MERGE_H
#define HCY_CLI_MERGE_H

#include <stddef.h>

/* Adds up files of `kind`, "sum" or "max", which were checked to be all parts of one stack.  CLI_*, after a message. */
int merge_totals(const char *output, const char *const *parts, size_t n, const char *kind);

#endif
