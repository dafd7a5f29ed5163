/* toy.c - the family and its code, made known to the library. */
#include "toy.h"

#include <string.h>

#define HCY_KERNELS_DEF "kernels.def"
#include <halcyon/family.h>

static const hcy_cpu_function functions[] = { { "toy_sum", toy_sum } };

int toy_register(void)
{
    static hcy_kernel_code codes[] = {
        { .backend = "cpu", .format = HCY_CPU_FUNCTIONS, .data = functions, .size = sizeof functions },
        { .backend = "opencl", .format = "opencl-c", .data = toy_text, .options = "-DLANES=32", .group = TOY_LANES },
        { .backend = "cuda", .format = "cuda-c", .data = toy_text, .options = "-DLANES=32", .group = TOY_LANES },
    };
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        codes[i].kernel = "toy_sum";
        codes[i].scratch = sizeof(uint64_t);
        if (codes[i].data == toy_text)
            codes[i].size = strlen(toy_text);
    }
    return hcy_family_register(&family_toy, codes, sizeof codes / sizeof codes[0]);
}
