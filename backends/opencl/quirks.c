/* quirks.c - what platforms are known to do, beyond what they say.  Constant data. */
#include "cl_priv.h"

#include <string.h>

static const struct cl_quirk quirks[] = {
    { "Portable Computing Language", "pocl", .shared = true, .second = true, .spaces = 1 },
    { "NVIDIA CUDA", "nvidia", .second = true, .lazy = true, .spaces = 2, .lanes = true },
    { "AMD Accelerated Parallel Processing", "amd", .lazy = true, .spaces = 3 },
    { "Intel(R) OpenCL", "intel", .spaces = 3 },
    { "rusticl", "rusticl", .spaces = 3 },
    { "Clover", "clover", .spaces = 3 },
    { "Apple", "apple", .spaces = 3 },
    { "", "other", .lazy = true, .spaces = 3 },
};

const struct cl_quirk *cl_quirk_of(const char *platform)
{
    size_t i = 0;
    while (strncmp(platform, quirks[i].platform, strlen(quirks[i].platform)))
        i++;
    return &quirks[i];
}
