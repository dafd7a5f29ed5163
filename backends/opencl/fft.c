/* fft.c - Fourier transforms: VkFFT's where the build has it (vkfft.c), else, or by @fft=own, our own
 * (backends/gpu/fft). */
#include "cl_priv.h"

#include "fft/gpu_fft.h"

#include <stdlib.h>

struct cl_fft {
    struct cl_device *dev;
    void *vkfft; /* or */
    struct cl_kernel_object *kernel;
    struct gpu_fft *own;
    int precision;
    uint64_t bytes; /* that an execution moves */
};

static int check_bytes(const struct cl_device *d, uint64_t bytes)
{
    if (!d->largest || bytes <= d->largest)
        return 0;
    return hcy_fail(HCY_EUNSUPPORTED, "%s has buffers of at most %llu bytes; this FFT needs %llu",
                    hcy_device_get_info(d->dev)->name, (unsigned long long)d->largest, (unsigned long long)bytes);
}

/* hcy_fft_create() has seen that they can be counted. */
static uint64_t bytes_of_numbers(const hcy_fft_desc *desc)
{
    uint64_t bytes = (uint64_t)desc->batch * desc->inner * (desc->precision == HCY_F64 ? 16 : 8);
    for (int i = 0; i < desc->rank; i++)
        bytes *= desc->n[i];
    return bytes;
}

static int create_own(struct cl_fft *f, size_t *workspace, const hcy_fft_desc *desc)
{
    const hcy_signature signature = { .name = GPU_FFT };
    const char *variant;
    void *kernel = NULL;
    int status = cl_kernel_get(&kernel, &variant, f->dev, &signature);
    f->kernel = kernel;
    /* A plan that no buffer could serve is refused now, with a reason, and not when it runs; one whose numbers alone
     * are too many, before its tables are made, which take as long and as much. */
    if (!status)
        status = check_bytes(f->dev, bytes_of_numbers(desc));
    if (!status)
        status = gpu_fft_create(&f->own, workspace, f->kernel->ours, desc);
    if (!status)
        status = check_bytes(f->dev, *workspace);
    f->bytes = *workspace;
    return status;
}

int cl_fft_create(void **fimpl, size_t *workspace, void *impl, const hcy_fft_desc *desc)
{
    struct cl_device *d = impl;
    if (desc->precision == HCY_F64 && !(d->at.info.caps & HCY_CAP_F64))
        return hcy_fail(HCY_EUNSUPPORTED, "%s has no double precision, and so no FFT in it",
                        hcy_device_get_info(d->dev)->name);
    struct cl_fft *f = calloc(1, sizeof *f);
    if (!f)
        return hcy_fail(HCY_ENOMEM, "out of memory for an FFT's plan");
    f->dev = d;
    f->precision = desc->precision;
    *workspace = 0;
#if HAVE_VKFFT
    int status = d->own_fft ? create_own(f, workspace, desc) : cl_vkfft_create(&f->vkfft, workspace, d, desc);
#else
    int status = create_own(f, workspace, desc);
#endif
    if (status)
        cl_fft_release(f);
    else
        *fimpl = f;
    return status;
}

void cl_fft_release(void *fimpl)
{
    struct cl_fft *f = fimpl;
#if HAVE_VKFFT
    if (f->vkfft)
        cl_vkfft_release(f->vkfft);
#endif
    if (f->own) {
        cl_free(f->dev, HCY_MEM_DEVICE, gpu_fft_tables(f->own));
        gpu_fft_free(f->own);
    }
    if (f->kernel)
        cl_kernel_release(f->kernel);
    free(f);
}

/* The HAL's values live as long as the command's keep. */
struct execution {
    struct cl_lane *lane;
    const struct cl_fft *fft;
    const hcy_value *in, *out, *work;
    int direction;
};

static int run_own(void *command)
{
    const struct execution *e = command;
    /* What was enqueued before a failure runs still, so it is waited for in any case. */
    const struct cl_span span = cl_lane_begin(e->lane);
    int status = gpu_fft_run(e->fft->own, e->lane, e->out, e->direction, e->in, e->work);
    int ran = cl_check_ran(e->lane->dev, cl_lane_finish(e->lane, &span), "an FFT");
    return status ? status : ran;
}

int cl_fft_execute(void *qimpl, const hcy_value *out, void *fimpl, int direction, const hcy_value *in,
                   const hcy_value *work, hcy_keep *keep)
{
    struct cl_queue *q = qimpl;
    struct cl_fft *f = fimpl;
    const struct execution e = { q->lane, f, in, out, work, direction };
    int status = gpu_fft_check_begin(out, in, work, f->precision);
    if (status)
        return status;
#if HAVE_VKFFT
    if (f->vkfft)
        return cl_vkfft_execute(qimpl, out, f->vkfft, direction, in, work, keep);
#endif
    return hcy_hostqueue_submit(q->host, "fft", f->bytes, run_own, &e, sizeof e, keep);
}
