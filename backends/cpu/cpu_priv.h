/* cpu_priv.h - the CPU backend's own types: a device, its threads, a kernel and one call of it.
 *
 * A device owns a pool of threads (pool.c); its queues are the HAL's host queues (queue.c), each with a thread of
 * its own that runs one command after the other and spreads kernels over the pool.  A kernel family brings one file
 * <stem>.c with a table of struct cpu_kernel, and its SIMD variants in <stem>_<variant>.c.
 */
#ifndef HCY_CPU_PRIV_H
#define HCY_CPU_PRIV_H

#include <halcyon/backend.h>
#include <stdatomic.h>

/* SIMD variants, worst to best; chosen when the device is opened ("@simd=avx2" forces one). */
enum cpu_simd { CPU_SIMD_PORTABLE, CPU_SIMD_NEON, CPU_SIMD_AVX2, CPU_SIMD_AVX512, CPU_SIMD_COUNT };
/* The best this processor and operating system can run; AVX512 means F, BW, DQ, VL, VBMI, VNNI and GFNI. */
enum cpu_simd cpu_simd_best(void);
const char *cpu_simd_name(enum cpu_simd simd);

/* --- Threads (pool.c) --- */

struct cpu_pool;
/* [begin, end) of n, on thread `thread` of pool_threads(). */
typedef void (*cpu_range_fn)(void *context, size_t begin, size_t end, unsigned thread);
unsigned cpu_pool_threads(const struct cpu_pool *pool);
/* Runs fn over [0, n) in pieces of `grain`, pulled by whichever thread is free; the caller takes part as thread 0.
 * Returns when all is done.  Calls from several queues take turns. */
void cpu_pool_for(struct cpu_pool *pool, size_t n, size_t grain, cpu_range_fn fn, void *context);

/* --- Kernels --- */

/* One launch, or the question how one would run (values' blocks may then be NULL). */
struct cpu_call {
    struct cpu_pool *pool;
    enum cpu_simd simd;
    size_t items;
    const hcy_value *values;
    size_t n_values;
};

/* The bytes of a buffer argument, NULL if absent. */
static inline void *cpu_arg(const struct cpu_call *call, size_t i)
{
    const hcy_value *v = &call->values[i];
    return v->block && v->block->host ? (char *)v->block->host + v->offset : NULL;
}
static inline size_t cpu_arg_size(const struct cpu_call *call, size_t i) { return call->values[i].bytes_left; }

struct cpu_kernel {
    const char *name;                                /* of the signature */
    int (*run)(const struct cpu_call *call);         /* on the queue's thread; spreads itself with cpu_pool_for */
    int (*scratch_size)(const struct cpu_call *call, size_t *size);       /* NULL: none needed */
    int (*preferred_batch)(const struct cpu_call *call, size_t *items);   /* NULL: one item a thread */
    /* NULL: takes no tables.  *blob from cpu_blob_alloc(); freed by the backend. */
    int (*prepare)(struct cpu_pool *pool, enum cpu_simd simd, const hcy_span *spans, size_t n, void **blob, size_t *size);
    /* Best variant not above `simd` that this kernel has. */
    enum cpu_simd (*variant)(enum cpu_simd simd);
};

/* Tables are one block of memory, aligned to a huge page where that pays.  NULL if out of memory. */
void *cpu_blob_alloc(size_t size);
void cpu_blob_free(void *blob, size_t size);

/* The families' tables, NULL name at the end. */
extern const struct cpu_kernel cpu_bslz4_kernels[]; /* bslz4.c */
extern const struct cpu_kernel cpu_azint_kernels[]; /* azint.c */

#endif
