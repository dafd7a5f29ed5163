/* cpu_stencil.h - sums of neighbours on the CPU: the loops over consecutive elements, what an element is a sum of. */
#ifndef HCY_CPU_STENCIL_H
#define HCY_CPU_STENCIL_H

#include "cpu_priv.h"

#include "stencil_format.h"

/* All that an element may be a sum of: each axis's neighbours. */
enum { CPU_STENCIL_MOST_TAPS = HCY_STENCIL_AXES * HCY_STENCIL_TAPS };

/* Where neighbours are, in reals from the element, and along which axis how far; their coefficients, in the reals' own
 * type. */
struct cpu_stencil_taps {
    uint32_t n;
    ptrdiff_t offsets[CPU_STENCIL_MOST_TAPS];
    union {
        float f32[CPU_STENCIL_MOST_TAPS];
        double f64[CPU_STENCIL_MOST_TAPS];
    } c;
    uint8_t axes[CPU_STENCIL_MOST_TAPS];
    int8_t shifts[CPU_STENCIL_MOST_TAPS];
};
/* n sums; from: where each of the taps begins; to shares no memory with these. */
typedef void cpu_stencil_sum(void *to, const void *const *from, const struct cpu_stencil_taps *taps, size_t n);
struct cpu_stencil_loops {
    cpu_stencil_sum *f32, *f64;
};
extern const struct cpu_stencil_loops cpu_stencil_portable, cpu_stencil_avx2, cpu_stencil_avx512;

/* --- cpu_stencil.c --- */

/* What a launch makes sums of. */
struct cpu_stencil_sums {
    const hcy_stencil_job *job;
    const char *from;
    char *to;
    cpu_stencil_sum *sum;
    uint32_t terms, results;
    bool has_middle;
};
void cpu_stencil_begin(struct cpu_stencil_sums *sums, const struct cpu_call *call, const hcy_stencil_job *job,
                       size_t from, size_t to);

/* What one thread knows of the lines that it is at. */
struct cpu_stencil_lines {
    uint64_t index[HCY_STENCIL_AXES]; /* of all axes but the last, as `rows` are */
    uint8_t rows[HCY_STENCIL_AXES];
    bool known;
    struct cpu_stencil_taps taps[HCY_STENCIL_ROWS][HCY_STENCIL_AXES]; /* of the last axis's rows; of each result */
};
/* The taps of the lines at this index; those of the lines before are the same mostly. */
void cpu_stencil_know(struct cpu_stencil_lines *l, const struct cpu_stencil_sums *sums);
enum {
    CPU_STENCIL_TASKS = 4,         /* of each thread, so that all end at a time */
    CPU_STENCIL_TASK_REALS = 16384 /* what is less is not worth waking a thread for */
};

/* --- cpu_faces.c --- */

int cpu_stencil_run_faces(const struct cpu_call *call);

#endif
