/* halcyon/family.h - kernel families: what the host and all devices agree on, declared once in a kernels.def.
 *
 *   #define HCY_KERNELS_DEF "kernels.def"
 *   #include <halcyon/family.h>
 *
 * expands that file, or one that includes several, to `static const hcy_family family_STEM`.  A kernels.def is
 *
 *   #include "stem_format.h"        its structures
 *   FAMILY(stem, version)
 *   KERNEL(stem_verb)
 *       ARG(IN, name, 0)            a type of HCY_ARG_*, and the size of a structure
 *   END(stem_verb)
 *   END_FAMILY(stem)
 *
 * The library's own families are there from the start.  A program, or a library of its own, adds others with
 * hcy_family_register(), and code of theirs for devices whose backend has no such kernel.
 */
#ifndef HALCYON_FAMILY_H
#define HALCYON_FAMILY_H

#include <halcyon/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A kernel family: its stem, its format's version, the kernels of its kernels.def. */
typedef struct hcy_family {
    const char *stem;
    uint32_t version; /* of <stem>_format.h */
    const hcy_signature *kernels;
    size_t n_kernels;
} hcy_family;
/* What library, modules and programs must agree on: stem, version, every name, type and size. */
HCY_API uint64_t hcy_family_hash(const hcy_family *family);

/* A kernel as code of the family's own, for devices of one backend.  An item is a group of the explicit grid: its
 * number is the group's, and there are as many groups as items.  Arguments are the signature's, as the format passes
 * them. */
typedef struct hcy_kernel_code {
    const char *kernel;  /* of the family; one without HCY_ARG_TABLES, which only a backend can prepare */
    const char *backend; /* "cpu", "opencl", ... */
    const char *format;  /* of hcy_program_create() there, and its data: "c-function", "opencl-c", "cuda-c", ... */
    const void *data;
    size_t size;
    const char *options;  /* for a compiler; NULL: none */
    uint32_t group;       /* lanes that share an item; 0: one */
    uint32_t local_bytes; /* of a group's local memory */
    size_t scratch;       /* bytes of the argument HCY_ARG_SCRATCH that an item takes */
} hcy_kernel_code;

/* From now on devices of this process know the family's kernels.  Family and code are not copied and must stay.  A
 * family that is known already may come again with more code; the code that came first is used, and what a backend has
 * itself before any.  HCY_EABI: it is declared otherwise already, or a kernel's name is taken; HCY_EINVAL: code for a
 * kernel that the family has not. */
HCY_API int hcy_family_register(const hcy_family *family, const hcy_kernel_code *codes, size_t n) HCY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif

#ifdef HCY_KERNELS_DEF
/* The arguments of each kernel, */
#define FAMILY(stem, version)
#define KERNEL(kernel) static const hcy_arg_decl args_##kernel[] = {
#define ARG(type, name, size) { #name, HCY_ARG_##type, size },
#define END(kernel) };
#define END_FAMILY(stem)
#include HCY_KERNELS_DEF
#undef FAMILY
#undef KERNEL
#undef ARG
#undef END
#undef END_FAMILY

/* the signatures of each family, */
#define FAMILY(stem, version) static const hcy_signature signatures_##stem[] = {
#define KERNEL(kernel) { #kernel, args_##kernel, sizeof args_##kernel / sizeof args_##kernel[0] },
#define ARG(type, name, size)
#define END(kernel)
#define END_FAMILY(stem) };
#include HCY_KERNELS_DEF
#undef FAMILY
#undef KERNEL
#undef END_FAMILY

/* and the families. */
#define FAMILY(stem, version)                                                  \
    static const hcy_family family_##stem = { #stem, version, signatures_##stem, \
                                              sizeof signatures_##stem / sizeof signatures_##stem[0] };
#define KERNEL(kernel)
#define END_FAMILY(stem)
#include HCY_KERNELS_DEF
#undef FAMILY
#undef KERNEL
#undef ARG
#undef END
#undef END_FAMILY
#undef HCY_KERNELS_DEF
#endif
