/* quirks.c - what platforms are known to do, beyond what they say.  Constant data. */
#include "cl_priv.h"

#include <string.h>

static const struct cl_quirk quirks[] = {
    { "Portable Computing Language", "pocl", .shared = true, .second = true, .options = "" },
    { "NVIDIA CUDA", "nvidia", .second = true, .lazy = true, .options = "-cl-nv-verbose" },
    { "AMD Accelerated Parallel Processing", "amd", .lazy = true, .options = "" },
    { "Intel(R) OpenCL", "intel", .options = "" },
    { "rusticl", "rusticl", .options = "" },
    { "Clover", "clover", .options = "" },
    { "Apple", "apple", .options = "" },
    { "", "other", .lazy = true, .options = "" },
};

const struct cl_quirk *cl_quirk_of(const char *platform)
{
    size_t i = 0;
    while (strncmp(platform, quirks[i].platform, strlen(quirks[i].platform)))
        i++;
    return &quirks[i];
}
