/* families.c - the families of families.def in one table. */
#include "families.h"

#define HCY_KERNELS_DEF "families.def"
#include <halcyon/family.h>

#define FAMILY(stem, version) &family_##stem,
#define KERNEL(kernel)
#define ARG(type, name, size)
#define END(kernel)
#define END_FAMILY(stem)
const hcy_family *const hcy__families[] = {
#include "families.def"
    NULL
};
