/* families.h - the kernel families this library, or this module, was built with.
 *
 * families.c expands every kernels.def into argument tables, signatures and families; it is compiled into the library
 * and into each module, so that the two can be compared (hcy_family_hash).  A backend's table of itself says
 * `.families = hcy__families`.
 */
#ifndef HCY_FAMILIES_H
#define HCY_FAMILIES_H

#include <halcyon/backend.h>

extern const hcy_family *const hcy__families[]; /* NULL at the end */

#endif
