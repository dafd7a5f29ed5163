/* gpu_runs.h - what the makers of tables share: a plan's canonical spans (azint_format.h), which may be damaged, and
 * where pieces stand in the tables' memory. */
#ifndef HCY_GPU_RUNS_H
#define HCY_GPU_RUNS_H

#include "gpu.h"

struct gpu_run {
    uint32_t bin, n, more;
    const uint8_t *weights;
};

/* The run at *at, which moves behind it; false if it leaves the runs or the bins. */
static inline bool gpu_run_next(struct gpu_run *run, const hcy_span *runs, size_t *at, uint32_t n_bins)
{
    if (runs->size < *at || runs->size - *at < 4)
        return false;
    const uint8_t *p = (const uint8_t *)runs->data + *at;
    uint32_t word = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    *run = (struct gpu_run){ HCY_AZINT_RUN_BIN(word), HCY_AZINT_RUN_N(word), HCY_AZINT_RUN_MORE(word), p + 4 };
    if (runs->size - *at - 4 < 3 * (size_t)run->n || run->bin + run->n > n_bins)
        return false;
    *at += 4 + 3 * (size_t)run->n;
    return true;
}

static inline uint32_t gpu_run_weight(const struct gpu_run *run, uint32_t k)
{
    const uint8_t *w = run->weights + 3 * (size_t)k;
    return w[0] | (uint32_t)w[1] << 8 | (uint32_t)w[2] << 16;
}

/* Refuses spans whose sizes or head make no sense; says nothing of the runs. */
int gpu_check_spans(const hcy_span *spans, size_t n);

/* A piece of `size` bytes behind *at, which moves on. */
static inline size_t gpu_place(size_t *at, size_t size)
{
    size_t here = *at;
    *at += (size + 255) / 256 * 256;
    return here;
}
/* The head's numbers, and places of spans [3] to [5]; these as pieces, three. */
void gpu_place_arrays(struct gpu_plan_at *y, size_t *at, const hcy_span *spans);
size_t gpu_array_pieces(struct gpu_piece *pieces, const struct gpu_plan_at *at, const hcy_span *spans);

#endif
