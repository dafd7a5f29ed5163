/* cpu_fft.h - the CPU's Fourier transforms: FFTW's (fftw.c), where the build has it, our own (own_*.c), and grids of
 * which the rows are FFTW's (own_grid.c); fft.c chooses.  Plans are shared by threads. */
#ifndef HCY_CPU_FFT_H
#define HCY_CPU_FFT_H

#include "cpu_priv.h"
#include "own_fft.h"

/* Bytes from one transform's input, and output, to the next one's. */
void cpu_fft_strides(size_t *in, size_t *out, const hcy_fft_desc *desc);

/* Any desc, one plan an axis (own_grid.c); with fftw_rows, where the build has it, the last axis is FFTW's. */
struct own_grid;
int own_grid_create(struct own_grid **plan, const hcy_fft_desc *desc, enum cpu_simd simd, bool fftw_rows);
void own_grid_free(struct own_grid *plan);
int own_grid_run(struct cpu_pool *pool, const struct own_grid *plan, int direction, void *in, void *out);

#if HAVE_FFTW3
int cpu_fftw_create(void **fimpl, const hcy_fft_desc *desc);
void cpu_fftw_release(void *fimpl);
int cpu_fftw_run(struct cpu_pool *pool, void *fimpl, int direction, void *in, void *out);
/* The same, by whoever shares its batch out: begun once, then cpu_fftw_transforms() by up to so many threads. */
struct cpu_fftw_run {
    const void *fft;
    void *plan;
    char *in, *out;
};
int cpu_fftw_begin(struct cpu_fftw_run *run, size_t threads, void *fimpl, int direction, void *in, void *out);
void cpu_fftw_transforms(void *run, size_t begin, size_t end, unsigned thread); /* a cpu_range_fn */
/* HCY_ENOMEM if FFTW could lack memory in so many threads at once, for an axis of so many bytes. */
int cpu_fftw_check_run(size_t axis, size_t threads);
int cpu_fftw_many_create(void **plan, const struct cpu_fft_many *many);
void cpu_fftw_many_run(void *plan, const struct cpu_fft_many *many, void *data);
void cpu_fftw_many_free(void *plan, const struct cpu_fft_many *many);
#endif

#endif
