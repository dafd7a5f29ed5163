/* arguments.h - where each argument of a kernel stands, generated from the kernels.def files.
 *
 *     args[HCY_ARG_AT(bslz4_decode, images)] = hcy_arg_buf(images);                 who launches
 *     const hcy_value *images = &values[HCY_ARG_AT(bslz4_decode, images)];          who is launched
 *
 * Both sides name an argument, so one that is put into the middle of a kernels.def moves the others on both, and a
 * name that went does not compile.  An argument that nobody set has no type, which the launch refuses by its name.
 */
#ifndef HCY_ARGUMENTS_H
#define HCY_ARGUMENTS_H

#include <stddef.h>

/* Of any kernel. */
#define HCY_MAX_ARGS 12

/* A kernel's arguments as members of one byte each: a member's offset is the argument's place. */
#define FAMILY(stem, version)
#define KERNEL(kernel)        struct hcy__arguments_of_##kernel {
#define ARG(type, name, size) char name;
#define END(kernel)           char end_of_arguments; };                                                      \
    _Static_assert(sizeof(struct hcy__arguments_of_##kernel) <= HCY_MAX_ARGS + 1, "HCY_MAX_ARGS is too small");
#define END_FAMILY(stem)
#include "families.def"
#undef FAMILY
#undef KERNEL
#undef ARG
#undef END
#undef END_FAMILY

#define HCY_ARG_AT(kernel, name) offsetof(struct hcy__arguments_of_##kernel, name)
#define HCY_N_ARGS(kernel) HCY_ARG_AT(kernel, end_of_arguments)

#endif
