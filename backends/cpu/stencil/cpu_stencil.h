/* cpu_stencil.h - sums of neighbours on the CPU: the loops over consecutive elements. */
#ifndef HCY_CPU_STENCIL_H
#define HCY_CPU_STENCIL_H

#include "cpu_priv.h"

#include "stencil_format.h"

/* All that an element may be a sum of: each axis's neighbours. */
enum { CPU_STENCIL_MOST_TAPS = HCY_STENCIL_AXES * HCY_STENCIL_TAPS };

/* Where neighbours are, in reals from the element, and their coefficients; `any`: in the reals' own type. */
struct cpu_stencil_taps {
    uint32_t n;
    ptrdiff_t offsets[CPU_STENCIL_MOST_TAPS];
    union {
        float f32[CPU_STENCIL_MOST_TAPS];
        double f64[CPU_STENCIL_MOST_TAPS];
    } c;
};
/* n sums; to shares no memory with from. */
typedef void cpu_stencil_sum(void *to, const void *from, const struct cpu_stencil_taps *taps, size_t n);
struct cpu_stencil_loops {
    cpu_stencil_sum *f32, *f64;
};
extern const struct cpu_stencil_loops cpu_stencil_portable, cpu_stencil_avx2, cpu_stencil_avx512;

#endif
