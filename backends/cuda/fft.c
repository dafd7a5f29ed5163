/* fft.c - Fourier transforms: cuFFT's (cufft.c), or, where that is not there and by @fft=own, our own
 * (backends/gpu/fft). */
#include "cuda_priv.h"

#include "fft/gpu_fft.h"

#include <stdlib.h>

struct cuda_fft {
    struct cuda_device *dev;
    void *cufft; /* or */
    struct cuda_kernel *kernel;
    struct gpu_fft *own;
    int precision;
};

static int create_own(struct cuda_fft *f, size_t *workspace, const hcy_fft_desc *desc)
{
    const hcy_signature signature = { .name = GPU_FFT };
    const char *variant;
    void *kernel = NULL;
    int status = cuda_kernel_get(&kernel, &variant, f->dev, &signature);
    f->kernel = kernel;
    return status ? status : gpu_fft_create(&f->own, workspace, cuda_own_kernel(kernel), desc);
}

int cuda_fft_create(void **fimpl, size_t *workspace, void *impl, const hcy_fft_desc *desc)
{
    struct cuda_device *d = impl;
    struct cuda_fft *f = calloc(1, sizeof *f);
    if (!f)
        return hcy_fail(HCY_ENOMEM, "out of memory for an FFT's plan");
    f->dev = d;
    f->precision = desc->precision;
    int status = d->own_fft ? create_own(f, workspace, desc) : cuda_cufft_create(&f->cufft, workspace, d, desc);
    if (status)
        cuda_fft_release(f);
    else
        *fimpl = f;
    return status;
}

void cuda_fft_release(void *fimpl)
{
    struct cuda_fft *f = fimpl;
    if (f->cufft)
        cuda_cufft_release(f->cufft);
    if (f->own) {
        cuda_free(f->dev, HCY_MEM_DEVICE, gpu_fft_tables(f->own));
        gpu_fft_free(f->own);
    }
    if (f->kernel)
        cuda_kernel_release(f->kernel);
    free(f);
}

static int run_own(struct cuda_queue *q, const struct cuda_command *c)
{
    const struct cuda_fft *f = c->of.fft.fft;
    return gpu_fft_run(f->own, q, c->of.fft.out, c->of.fft.direction, c->of.fft.in, c->of.fft.work);
}

int cuda_fft_execute(void *qimpl, const hcy_value *out, void *fimpl, int direction, const hcy_value *in,
                     const hcy_value *work, hcy_keep *keep)
{
    struct cuda_fft *f = fimpl;
    int status = gpu_fft_check_begin(out, in, work, f->precision);
    if (status)
        return status;
    if (f->cufft)
        return cuda_cufft_execute(qimpl, out, f->cufft, direction, in, work, keep);
    struct cuda_command c = { .name = "fft", .bytes = in->bytes_left + out->bytes_left, .run = run_own };
    c.of.fft.fft = f;
    c.of.fft.direction = direction;
    /* The HAL keeps these values as long as the command's keep, so they need no copy. */
    c.of.fft.in = in;
    c.of.fft.out = out;
    c.of.fft.work = work;
    return cuda_submit(qimpl, &c, keep);
}
