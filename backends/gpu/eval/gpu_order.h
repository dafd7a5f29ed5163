/* gpu_order.h - sorting on GPUs: what gpu_eval.c asks of gpu_order.c. */
#ifndef HCY_GPU_ORDER_H
#define HCY_GPU_ORDER_H

#include "gpu_priv.h"

int gpu_sort(const struct gpu_call *call);
int gpu_sort_scratch(size_t *size, const struct gpu_call *call);
int gpu_sort_values(const struct gpu_call *call);
int gpu_sort_values_scratch(size_t *size, const struct gpu_call *call);

#endif
