/* azint_arguments.h - the arguments of azint's kernels for who launches them, generated from kernels.def: given by
 * name, put where each kernel has them.  What a kernel takes and the structure lacks does not compile. */
#ifndef HCY_AZINT_ARGUMENTS_H
#define HCY_AZINT_ARGUMENTS_H

#include "arguments.h"

#include <halcyon/kernel.h>
#include <string.h>

/* All that the family's kernels take; each has its choice of it. */
struct hcy_azint_arguments {
    hcy_arg chunks, frames, blocks, coding, images, plan, job, filter, regions, region_job, places, pick_job, sums,
        found, reports, scratch;
};

/* Those of a kernel; how many they are, 0 for one of another family. */
static inline size_t hcy_azint_arguments(hcy_arg args[HCY_MAX_ARGS], const hcy_kernel *kernel,
                                         const struct hcy_azint_arguments *all)
{
    const char *name = hcy_kernel_signature(kernel)->name;
    size_t n = 0;
#define FAMILY(stem, version)
#define KERNEL(kernel)            if (!strcmp(name, #kernel)) {
#define ARG(type, argument, size) args[n++] = all->argument;
#define END(kernel)               return n; }
#define END_FAMILY(stem)
#include "azint/kernels.def"
#undef FAMILY
#undef KERNEL
#undef ARG
#undef END
#undef END_FAMILY
    return 0;
}

#endif
