/* gpu_nufft_whole.c - which lines a group's local memory has room for, so that all their passes are one launch
 * (whole.cl), and that launch; of non-uniform transforms and of our own FFTs.  Pure functions but for the launch, which
 * any thread may make. */
#include "fft_plan.h"
#include "gpu_priv.h"

enum {
    MOST_PASSES = 8,          /* radices in 32 bits, four each */
    MOST_BYTES = 75 << 10,    /* local memory of a group: three fit a multiprocessor */
    LEAST_BYTES = 32768,      /* what devices have that do not say; WHOLE_BYTES */
    SIDE_BYTES = 128,         /* of lines side by side at most, */
    LEAST_SIDE_BYTES = 32,    /* and at least: what memory reads at once, */
    CACHE_LINE = 64,          /* or a processor's cache */
    MOST_ITEMS = 256
};

bool gpu_whole_lines(struct gpu_nufft_whole *w, const struct gpu_ops *ops, const struct gpu_nufft_pass *pass,
                     size_t number)
{
    unsigned list[HCY_FFT_MOST_PASSES];
    const unsigned passes = hcy_fft_factor(list, (size_t)pass->n);
    const size_t has = ops->local_bytes && !ops->static_local ? ops->local_bytes : LEAST_BYTES;
    const size_t most = has < MOST_BYTES ? has : MOST_BYTES;
    const size_t least = pass->inner == 1 ? 1 : (ops->alone ? CACHE_LINE : LEAST_SIDE_BYTES) / number;
    const uint64_t count = pass->inner > 1 ? pass->ends[0].n * pass->ends[1].n : pass->outer;
    if (passes < 2 || passes > MOST_PASSES || pass->n > MOST_BYTES / number || count > UINT32_MAX)
        return false;
    const size_t line = (size_t)(pass->n + pass->n / 8) + 1;
    size_t lines = SIDE_BYTES / number;
    while (lines > least && (2 * lines * line * number > most || lines / 2 >= count ||
                             (pass->inner == 1 && lines * pass->n / list[0] > MOST_ITEMS)))
        lines /= 2;
    if (2 * lines * line * number > most)
        return false;
    *w = (struct gpu_nufft_whole){ .pass = *pass, .count = count, .lines = (uint32_t)lines,
                                   .step = pass->inner > 1 ? (uint32_t)lines : 1,
                                   .line = pass->inner > 1 ? 1 : (uint32_t)line, .room = (uint32_t)(lines * line),
                                   .passes = passes };
    for (unsigned i = 0; i < passes; i++)
        w->radices |= (uint32_t)list[i] << 4 * i;
    return true;
}

uint64_t gpu_whole_items(const struct gpu_nufft_whole *w)
{
    return w->lines * w->pass.n / (w->radices & 15);
}

int gpu_whole_launch(const struct gpu_call *call, struct gpu_variant *variant, uint32_t group, size_t number,
                     const struct gpu_nufft_whole *w, struct gpu_arg from, struct gpu_arg roots, struct gpu_arg to)
{
    const struct gpu_ops *ops = call->kernel->ops;
    struct gpu_grid grid = gpu_grid_of(ops, (w->count + w->lines - 1) / w->lines, w->pass.inner > 1 ? w->pass.outer : 1,
                                       group);
    grid.local_bytes = ops->static_local ? 0 : (uint32_t)(2 * w->room * number);
    return GPU_STEP(call, variant, "gpu_nufft_whole", &grid, GPU_BYTES(*w), from, roots, to);
}
