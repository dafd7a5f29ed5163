/* info_arrays.h - what halcyon info says of files that hold neither frames nor curves.  Single-threaded. */
#ifndef HCY_CLI_INFO_ARRAYS_H
#define HCY_CLI_INFO_ARRAYS_H

#include "cli.h"

/* One line of what is said about a file (info.c). */
void info_say(const char *what, const char *fmt, ...) HCY_PRINTF(2, 3);

/* Whether the file is of the kind, with what is said about it: sparse frames or k-space in HDF5; an array of
 * hcy_host_array_read(). */
int tell_kind(const char *path);
/* The regions that curves in HDF5 have beside them, if any. */
void tell_regions(const char *path);
int tell_array(const char *path);

#endif
