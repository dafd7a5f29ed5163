/* gpu_fft.h - Halcyon's own Fourier transforms on GPUs, for devices that have no library of them, and where they are
 * asked for (@fft=own).  A plan is immutable; any thread may run it. */
#ifndef HCY_GPU_FFT_H
#define HCY_GPU_FFT_H

#include "gpu.h"

#define GPU_FFT "fft" /* the kernel's name, for gpu_kernel_get(); the HAL knows of none */

struct gpu_fft;
/* Compiles.  The kernel must live as long as the plan.  HCY_ENOMEM, HCY_ERANGE, what compiling says. */
int gpu_fft_create(struct gpu_fft **fft, size_t *workspace, struct gpu_kernel *kernel, const hcy_fft_desc *desc);
/* Device memory of the plan's, which the backend frees before the plan. */
hcy_block *gpu_fft_tables(struct gpu_fft *fft);
void gpu_fft_free(struct gpu_fft *fft);
/* Submits the steps.  What is transformed stays as it was, unless it is the result's place. */
int gpu_fft_run(const struct gpu_fft *fft, void *queue, const hcy_value *out, int direction, const hcy_value *in,
                const hcy_value *work);

/* Kernels and libraries read complex numbers as a whole: HCY_EINVAL where one of these begins amid one of that
 * precision, as memory that was imported may.  The HAL has looked at the offsets of views alone. */
int gpu_fft_check_begin(const hcy_value *out, const hcy_value *in, const hcy_value *work, int precision);

#endif
