/* sized.h - public structs that begin with their size, so that programs may be older or newer than the library.
 *
 * There is one rule for all of them.  Members are only ever added, at the end and not into padding, and a new member
 * is 0 where nothing is asked for.  `known` is the size in this library, the struct's first member is its size in the
 * caller's program.  Pure functions, any thread.
 */
#ifndef HCY_SIZED_H
#define HCY_SIZED_H

#include <stddef.h>

/* What a caller gives, on top of the initial value that *to has: what an older caller does not know stays as it was,
 * and what a newer one knows and this library does not has to be 0.  to's size is `known` afterwards.  HCY_EINVAL:
 * NULL, no size (`name`, the struct's, is in the words), or a member that is not known here. */
int hcy__sized_read(void *to, size_t known, const void *from, const char *name);
/* What a caller gets, whose size is set and stays: an older caller gets what it knows, and what a newer one knows
 * beyond that is 0.  HCY_EINVAL: NULL, or no size. */
int hcy__sized_write(void *to, const void *from, size_t known, const char *name);

#endif
