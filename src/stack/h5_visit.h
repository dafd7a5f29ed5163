/* h5_visit.h - all objects below a group of an HDF5 file.  The lock of h5.h is held by the caller. */
#ifndef HCY_STACK_H5_VISIT_H
#define HCY_STACK_H5_VISIT_H

#include "h5.h"

/* What became of an object: `path` is relative to the group where the visit began.  `object` is negative where HDF5
 * does not open it; its words for that are there until it is called again.  Not 0 ends the visit. */
typedef int (*hcy__h5_look)(void *data, hid_t object, const char *path);
/* Looks at every object once that hard links lead to, groups before what is in them, in the order of names: 0, what
 * `look` ended it with, HCY_ENOMEM, HCY_ERANGE (more groups in one another, or more objects, than a sound file has), or
 * at its end HCY_ECORRUPT (the links of a group cannot be read; all that can be was looked at).  `file` is for
 * messages. */
int hcy__h5_visit(hid_t group, hcy__h5_look look, void *data, const char *file);

#endif
