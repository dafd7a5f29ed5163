/* stencil_arguments.h - where kernels of the family have the arguments that all of them have. */
#ifndef HCY_STENCIL_ARGUMENTS_H
#define HCY_STENCIL_ARGUMENTS_H

#include "arguments.h"
#include "stencil_format.h"

struct hcy__stencil_at {
    size_t job, pairs[HCY_STENCIL_AXES / 2], from, to;
};
#define HCY__STENCIL_AT(kernel)                                                                              \
    {                                                                                                        \
        HCY_ARG_AT(kernel, job),                                                                             \
            { HCY_ARG_AT(kernel, axes0), HCY_ARG_AT(kernel, axes2), HCY_ARG_AT(kernel, axes4),               \
              HCY_ARG_AT(kernel, axes6) },                                                                   \
            HCY_ARG_AT(kernel, from), HCY_ARG_AT(kernel, to)                                                 \
    }

#endif
