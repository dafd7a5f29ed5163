/* user_kernels.c - a user's own kernels for the virtual board, which no family of the catalogue has: tests/xrt.c runs
 * them.  Their registers are not those of the catalogue's kernels, numbers of 4 bytes among them.
 */
#include "../../kernels_hls/args.h"

#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* y[i] = factor * x[i] + shift from `first` on; what lies before it stays as it is. */
static void run_scale(unsigned char *memory, const uint64_t *args)
{
    float *y = (float *)(void *)(memory + args[0]), factor;
    const float *x = (const float *)(const void *)(memory + args[1]);
    double shift;
    memcpy(&factor, &args[2], sizeof factor);
    memcpy(&shift, &args[3], sizeof shift);
    for (uint64_t i = (uint32_t)args[4]; i < args[5]; i++)
        y[i] = (float)(factor * (double)x[i] + shift);
}

static void run_count(unsigned char *memory, const uint64_t *args)
{
    uint32_t *counts = (uint32_t *)(void *)(memory + args[0]);
    counts[(uint32_t)args[1]]++;
}

EXPORT extern const hcy_hls_kernel hcy_hls_kernels[];
EXPORT extern const char *const hcy_hls_arguments[];

const hcy_hls_kernel hcy_hls_kernels[] = { { "user_scale", run_scale }, { "user_count", run_count }, { NULL, NULL } };

const char *const hcy_hls_arguments[] = {
    "user_scale y float*", "user_scale x float*", "user_scale factor float", "user_scale shift double",
    "user_scale first uint", "user_scale n ulong", "user_count counts uint*", "user_count which int", NULL
};
