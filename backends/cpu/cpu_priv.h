/* cpu_priv.h - the CPU backend's own types: a device, its threads, a kernel and one call of it.
 *
 * A device owns a pool of threads (pool.c); its queues are the HAL's host queues (queue.c), each with a thread of
 * its own that runs one command after the other and shares kernels out to the pool.  A kernel family brings a folder
 * with tables of struct cpu_kernel, and its SIMD variants in files that end in the variant's name.
 */
#ifndef HCY_CPU_PRIV_H
#define HCY_CPU_PRIV_H

#include <halcyon/backend.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/* SIMD variants, of each architecture worst to best; chosen when the device is opened ("@simd=avx2" forces one).
 * DOTPROD is NEON with ARMv8.2's dot product; AVX512 means F, BW, DQ, VL, VBMI, VNNI, VPOPCNTDQ and GFNI. */
enum cpu_simd {
    CPU_SIMD_PORTABLE,
    CPU_SIMD_NEON,
    CPU_SIMD_DOTPROD,
    CPU_SIMD_AVX2,
    CPU_SIMD_AVX512,
    CPU_SIMD_COUNT
};
#define CPU_SIMD_NAMES(NAME) NAME(portable) NAME(neon) NAME(dotprod) NAME(avx2) NAME(avx512)
/* The best this processor and operating system can run. */
enum cpu_simd cpu_simd_best(void);
/* The best variant that kernels are compiled for, up to `simd`. */
enum cpu_simd cpu_simd_built(enum cpu_simd simd);
const char *cpu_simd_name(enum cpu_simd simd);

/* --- Threads (pool.c) --- */

struct cpu_pool;
/* [begin, end) of n, on thread `thread` of pool_threads(). */
typedef void (*cpu_range_fn)(void *context, size_t begin, size_t end, unsigned thread);
unsigned cpu_pool_threads(const struct cpu_pool *pool);
/* The calling thread is at a piece of the pool's job: another job would wait for this one, which waits for it. */
bool cpu_pool_is_inside(const struct cpu_pool *pool);
/* Runs fn over [0, n) in pieces of `grain`, pulled by whichever thread is free; the caller takes part as thread 0.
 * One piece is the caller's.  Returns when all is done.  Calls from several queues take turns. */
void cpu_pool_for(struct cpu_pool *pool, size_t n, size_t grain, cpu_range_fn fn, void *context);

/* --- Kernels --- */

/* Whose Fourier transforms ("@fft=own"). */
#define CPU_FFT_NAMES(NAME) NAME(auto) NAME(own) NAME(fftw)
enum cpu_fft_choice { CPU_FFT_AUTO, CPU_FFT_OWN, CPU_FFT_FFTW };

/* One launch, or the question how one would run (values' blocks may then be NULL). */
struct cpu_call {
    struct cpu_pool *pool;
    enum cpu_simd simd;
    enum cpu_fft_choice fft;
    size_t items;
    const hcy_value *values;
    size_t n_values;
};

/* The bytes of a buffer argument, NULL if absent. */
static inline void *cpu_arg(const struct cpu_call *call, size_t i)
{
    const hcy_value *v = &call->values[i];
    return v->block ? (char *)v->block->handle + v->offset : NULL;
}
static inline size_t cpu_arg_size(const struct cpu_call *call, size_t i)
{
    return call->values[i].bytes_left;
}

/* *blob from cpu_blob_alloc(); freed by the backend. */
typedef int (*cpu_prepare_fn)(void **blob, size_t *size, struct cpu_pool *pool, enum cpu_simd simd,
                              const hcy_span *spans, size_t n);

struct cpu_kernel {
    const char *name;                        /* of the signature */
    int (*run)(const struct cpu_call *call); /* on the queue's thread; shared out by cpu_pool_for() */
    int (*scratch_size)(size_t *size, const struct cpu_call *call);     /* NULL: none needed */
    int (*preferred_batch)(size_t *items, const struct cpu_call *call); /* NULL: one item a thread */
    cpu_prepare_fn prepare; /* NULL: takes no tables */
    /* Best variant not above `simd` that this kernel has. */
    enum cpu_simd (*variant)(enum cpu_simd simd);
    cpu_prepare_fn prepare_few; /* for a few items in all; NULL: as for many */
    /* Whether it takes less time than a hand-over to the queue's thread; it may then run in any thread, beside other
     * launches, and must not use the pool.  Buffers may not be read yet.  NULL: never. */
    bool (*is_small)(const struct cpu_call *call);
};

/* caller.c: this thread has the stack that small kernels need, and computes as the library's own threads do. */
bool cpu_caller_fits(void);

/* itt.c: from here on a profiler of Intel's sees commands, if one has come with the process. */
void cpu_itt_attach(void);

/* pages.c; to be freed with free().  Huge pages pay for tables, which are read from end to end for every batch; not for
 * mapped memory, results mostly, which may have rows that nothing touches. */
void *cpu_pages_alloc(size_t size, bool huge);
/* share.c: memory that other processes can have, as the backend's table has it.  Closing returns how many bytes of this
 * process's that were: none of what was opened. */
int cpu_share_create(void **share, void **bytes, size_t size);
int cpu_share_name(unsigned char name[HCY_SHARE_NAME], void *share);
int cpu_share_open(void **share, void **bytes, const unsigned char name[HCY_SHARE_NAME], size_t size);
size_t cpu_share_close(void *share);
/* Tables are one block of memory, aligned to a huge page where that pays.  NULL if out of memory. */
void *cpu_blob_alloc(size_t size);
void cpu_blob_free(void *blob, size_t size);
/* A blob whose size is known at the end: `room` bytes of zeros, of which those that nobody writes to take no memory;
 * then cut to its size. */
void *cpu_blob_map(size_t room);
void cpu_blob_trim(void *blob, size_t size);
/* A blob that is a part of a file; what is written to it the file does not get. */
void *cpu_blob_map_file(int fd, off_t at, size_t size);
/* What `prepare` makes of these spans, shared with others who ask for the same; tables.c. */
int cpu_tables_prepare(void **blob, size_t *size, cpu_prepare_fn prepare, struct cpu_pool *pool,
                       enum cpu_simd simd, const hcy_span *spans, size_t n);
/* Gives such tables back; false: they are none. */
bool cpu_tables_release(void *blob);

/* --- The rest of the backend --- */

/* Processors are numbered up to here, and sets of them hold so many: a kernel refuses a set that is smaller than its
 * own, and cpu_set_t alone holds 1024. */
enum { CPU_MOST_CORES = 4096 };
/* "0-1+4" as a list of processor numbers, malloced; HCY_EINVAL with the reason. */
int cpu_parse_cores(unsigned **cores, unsigned *n, const char *text);
/* HCY_EINVAL if one of them is not ours to use. */
int cpu_check_cores(const unsigned *cores, unsigned n);
int cpu_pool_create(struct cpu_pool **pool, unsigned threads, const unsigned *cores, unsigned n_cores);
void cpu_pool_destroy(struct cpu_pool *pool);
/* Ties the calling thread to the pool's first core, where cores were given. */
void cpu_pool_pin_caller(const struct cpu_pool *pool);

int cpu_program_create(void **pimpl, char **log, void *impl, const char *format, const void *data, size_t size,
                       const char *options);
void cpu_program_release(void *pimpl);
/* The function of that name; it is called for every group of the grid. */
int cpu_program_find(void *pimpl, const char *name, void **function);
int cpu_program_run(struct cpu_pool *pool, void *function, const hcy_launch_desc *launch);

/* hcy_fft's.  FFTW's are chosen only where the build has it. */
int cpu_fft_create(void **fimpl, const hcy_fft_desc *desc, enum cpu_fft_choice choice, enum cpu_simd simd);
void cpu_fft_release(void *fimpl);
int cpu_fft_run(struct cpu_pool *pool, void *fimpl, int direction, void *in, void *out);

/* For kernels with transforms inside: `howmany` in place, numbers `stride` apart, transforms `dist`.  Plans are
 * kept and shared by the process; every one got is given back. */
struct cpu_fft_many {
    bool is_double, aligned; /* aligned: data are at multiples of 64 bytes */
    bool measured;           /* by trying what is fastest: costs time once, and bits may differ from run to run */
    int sign, n, howmany, stride, dist;
    enum cpu_fft_choice choice;
    enum cpu_simd simd;
};
struct cpu_fft_kept;
int cpu_fft_many_get(struct cpu_fft_kept **plan, const struct cpu_fft_many *many); /* HCY_ENOMEM, HCY_EUNSUPPORTED */
/* Before plans (NULL: none) are run: HCY_ENOMEM if so many threads at once could lack memory for one of them. */
int cpu_fft_many_check(const struct cpu_fft_kept *const *plans, size_t n, size_t threads);
/* Bytes that a thread needs, at a multiple of 64, to run a plan for n numbers. */
size_t cpu_fft_many_scratch(size_t n);
/* `times` times, `pitch` bytes apart; any thread. */
void cpu_fft_many_run(const struct cpu_fft_kept *plan, void *data, size_t times, size_t pitch, void *scratch);
void cpu_fft_many_put(struct cpu_fft_kept *plan);
/* A long line whose single passes threads share, by a plan of the CPU's own for a row of it (own_fft.h). */
unsigned cpu_fft_lead(size_t *lead, size_t n, size_t most);
size_t cpu_fft_part(const struct cpu_fft_kept *plan, unsigned pass); /* short transforms of a pass */
void cpu_fft_pass(const struct cpu_fft_kept *plan, unsigned pass, const void *in, void *out, size_t begin, size_t end);

/* The families' tables of kernels, each with a NULL name at its end: generated from what the families' folders add to
 * cpu_kernel_tables (local.mk).  NULL at the end. */
extern const struct cpu_kernel *const cpu_kernel_tables[];

#endif
