/* args.c - the table of args.h, expanded from the kernels.def files in three passes. */
#include "args.h"

#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

#define BUFFER(name)                                                                                         \
    { #name, HCY_HLS_ADDRESS },                                                                              \
    {                                                                                                        \
#name "_bytes", HCY_HLS_BYTES                                                                        \
    }
#define SCALAR(name)                                                                                         \
    {                                                                                                        \
#name, HCY_HLS_SCALAR                                                                                \
    }
#define ARG_IN(name)      BUFFER(name)
#define ARG_OUT(name)     BUFFER(name)
#define ARG_INOUT(name)   BUFFER(name)
#define ARG_SCRATCH(name) BUFFER(name)
#define ARG_TABLES(name)  BUFFER(name)
#define ARG_STRUCT(name)                                                                                     \
    {                                                                                                        \
#name, HCY_HLS_STRUCT                                                                                \
    }
#define ARG_I32(name) SCALAR(name)
#define ARG_U32(name) SCALAR(name)
#define ARG_I64(name) SCALAR(name)
#define ARG_U64(name) SCALAR(name)
#define ARG_F32(name) SCALAR(name)
#define ARG_F64(name) SCALAR(name)

/* The arguments of each kernel, */
#define FAMILY(stem, version)
#define KERNEL(kernel)        static const hcy_hls_arg args_##kernel[] = { { "items", HCY_HLS_ITEMS },
#define ARG(type, name, size) ARG_##type(name),
#define END(kernel)                                                                                          \
    }                                                                                                        \
    ;
#define END_FAMILY(stem)
#include "families.def"
#undef FAMILY
#undef KERNEL
#undef ARG
#undef END
#undef END_FAMILY

/* the kernels of each family, */
#define FAMILY(stem, version) static const hcy_hls_layout kernels_##stem[] = {
#define KERNEL(kernel)        { #kernel, args_##kernel, COUNT(args_##kernel) },
#define ARG(type, name, size)
#define END(kernel)
#define END_FAMILY(stem)                                                                                     \
    }                                                                                                        \
    ;
#include "families.def"
#undef FAMILY
#undef KERNEL
#undef END_FAMILY

/* and the families. */
#define FAMILY(stem, version) { #stem, version, kernels_##stem, COUNT(kernels_##stem) },
#define KERNEL(kernel)
#define END_FAMILY(stem)
const hcy_hls_family hcy__hls_families[] = {
#include "families.def"
    { NULL, 0, NULL, 0 }
};

const hcy_hls_layout *hcy__hls_layout(const char *kernel)
{
    /* Names of kernels are unlike one another over all families, so the first one found is the one. */
    for (const hcy_hls_family *f = hcy__hls_families; f->stem; f++)
        for (size_t i = 0; i < f->n_kernels; i++)
            if (!strcmp(f->kernels[i].kernel, kernel))
                return &f->kernels[i];
    return NULL;
}
