/* families.h - the kernel families this library, or this module, was built with, and their formats.
 *
 * families.c is compiled into the library and into each module, so that the two can be compared (hcy_family_hash).  A
 * backend's table of itself says `.families = hcy__families`; the library hands the table to the HAL (hcy__library).
 */
#ifndef HCY_FAMILIES_H
#define HCY_FAMILIES_H

#include <halcyon/backend.h>

/* Every kernels.def begins with its format's header: here they come where declarations may stand, whatever is made of
 * families.def later. */
#define FAMILY(stem, version)
#define KERNEL(kernel)
#define ARG(type, name, size)
#define END(kernel)
#define END_FAMILY(stem)
#include "families.def"
#undef FAMILY
#undef KERNEL
#undef ARG
#undef END
#undef END_FAMILY

extern const hcy_family *const hcy__families[]; /* NULL at the end */

#endif
