/* toy.h - the family toy, a family outside of the library. */
#ifndef TOY_H
#define TOY_H

#include "toy_format.h"

#include <halcyon/cpu.h>

/* Its kernels are known from now on, on CPUs and GPUs. */
int toy_register(void);

/* One row, on a processor (toy_cpu.c). */
int toy_sum(const hcy_cpu_group *row, void *const *args);
extern const char toy_text[]; /* toy.cl */

#endif
