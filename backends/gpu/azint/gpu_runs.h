/* gpu_runs.h - what the makers of tables share: a plan's canonical spans (azint_format.h), which may be damaged, and
 * where pieces stand in the tables' memory. */
#ifndef HCY_GPU_RUNS_H
#define HCY_GPU_RUNS_H

#include "azint/azint_runs.h"
#include "gpu.h"

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
