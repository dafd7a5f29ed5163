/* npz.h - where an array is in a zip archive of NumPy's. */
#ifndef HCY_STACK_NPZ_H
#define HCY_STACK_NPZ_H

#include <stdint.h>

/* The .npy file in the archive that *fd has open: `wanted`, or the only one (NULL).  *start to *end are its bytes in
 * *fd, which becomes another file's where the array is deflated.  HCY_ENOENT: it has none of that name; HCY_EINVAL:
 * several and none is named; HCY_ECORRUPT, HCY_EFORMAT, HCY_EUNSUPPORTED, HCY_EIO, HCY_ENOMEM. */
int hcy__npz_find(uint64_t *start, uint64_t *end, int *fd, const char *path, const char *wanted);

#endif
