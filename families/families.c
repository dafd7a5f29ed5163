/* families.c - the tables of families.h, expanded from the kernels.def files in four passes. */
#include "families.h"

#include "azint/azint_format.h"
#include "bslz4/bslz4_format.h"
#include "nufft/nufft_format.h"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* The arguments of each kernel, */
#define FAMILY(stem, version)
#define KERNEL(kernel) static const hcy_arg_decl args_##kernel[] = {
#define ARG(type, name, size) { #name, HCY_ARG_##type, size },
#define END(kernel) };
#define END_FAMILY(stem)
#include "families.def"
#undef FAMILY
#undef KERNEL
#undef ARG
#undef END
#undef END_FAMILY

/* the signatures of each family, */
#define FAMILY(stem, version) static const hcy_signature signatures_##stem[] = {
#define KERNEL(kernel) { #kernel, args_##kernel, COUNT(args_##kernel) },
#define ARG(type, name, size)
#define END(kernel)
#define END_FAMILY(stem) };
#include "families.def"
#undef FAMILY
#undef KERNEL
#undef END_FAMILY

/* the families, */
#define FAMILY(stem, version) \
    static const hcy_family family_##stem = { #stem, version, signatures_##stem, COUNT(signatures_##stem) };
#define KERNEL(kernel)
#define END_FAMILY(stem)
#include "families.def"
#undef FAMILY

/* and their list. */
#define FAMILY(stem, version) &family_##stem,
const hcy_family *const hcy__families[] = {
#include "families.def"
    NULL
};
