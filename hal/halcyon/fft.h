/* halcyon/fft.h - Fourier transforms, where a device has them (HCY_CAP_FFT).
 *
 * Unnormalised: forward then backward multiplies by the number of points; forward has exp(-i...).  A plan is
 * immutable and shared by threads and queues; the working space comes with each execution.
 *
 * On the CPU they are FFTW's where the build has it, else Halcyon's own; "cpu@fft=own" and "cpu@fft=fftw" take one of
 * them.  Our own have the same bits on every SIMD variant and for any number of threads.
 *
 * FFTW ends the process when it gets no memory.  So before FFTW plans or executes, as much memory as it
 * may take is allocated and freed again; if that fails, so does the call, with HCY_ENOMEM, executions too.  Only
 * memory that another thread takes in the moment between can still be missing.
 */
#ifndef HALCYON_FFT_H
#define HALCYON_FFT_H

#include <halcyon/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hcy_fft hcy_fft;

enum hcy_fft_type { HCY_FFT_C2C = 1, HCY_FFT_R2C = 2, HCY_FFT_C2R = 3 };
enum hcy_fft_direction { HCY_FFT_FORWARD = -1, HCY_FFT_BACKWARD = +1 };
enum hcy_precision { HCY_F32 = 1, HCY_F64 = 2 };
enum hcy_fft_flag {
    HCY_FFT_DETERMINISTIC = 1 /* the same bits in every run and for any number of threads */
};

typedef struct hcy_fft_desc {
    size_t size;      /* sizeof(hcy_fft_desc) */
    int type;         /* HCY_FFT_C2C ...; R2C (forward) and C2R (backward): n[rank-1]/2+1 complex numbers a row */
    int precision;    /* HCY_F32, HCY_F64 */
    int rank;         /* 1 to 3 */
    size_t n[3];      /* n[rank-1] varies fastest */
    size_t batch;     /* transforms, one behind the other */
    uint32_t flags;
    size_t inner;     /* C2C, rank 1 or 2: transforms side by side; arrays are [batch][n...][inner] */
} hcy_fft_desc;
#define HCY_FFT_DESC_INIT { sizeof(hcy_fft_desc), HCY_FFT_C2C, HCY_F64, 1, { 1, 1, 1 }, 1, 0, 1 }

/* HCY_EUNSUPPORTED: the device has no FFT, or not of this size or precision. */
HCY_API int hcy_fft_create(hcy_fft **fft, hcy_device *dev, const hcy_fft_desc *desc) HCY_MUST_USE;
HCY_API hcy_fft *hcy_fft_retain(hcy_fft *fft);
HCY_API void hcy_fft_release(hcy_fft *fft);
HCY_API size_t hcy_fft_workspace(const hcy_fft *fft); /* bytes of `work` an execution needs, may be 0 */
/* Bytes of input and output of one execution. */
HCY_API void hcy_fft_sizes(size_t *in, size_t *out, const hcy_fft *fft, int direction);
/* in == out is allowed for C2C.  C2R may overwrite its input.  Views begin at multiples of a complex number's size, and
 * on CUDA's and OpenCL's devices all memory does, imported memory too: else HCY_EINVAL. */
HCY_API int hcy_fft_execute(hcy_queue *queue, hcy_buffer *out, hcy_fft *fft, int direction, hcy_buffer *in,
                            hcy_buffer *work) HCY_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
