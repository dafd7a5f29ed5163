/* cufft.c - Fourier transforms through cuFFT, loaded when it is first asked for.
 *
 * A plan allocates no working space: that comes with each execution.  A cuFFT plan has one stream and one working
 * space at a time, so both are set, and the transform is handed to the stream, under the plan's lock; on the GPU
 * executions of one plan run side by side.  cuFFT uses the context that is current: the device's.
 * The same GPU, plan and version of cuFFT give the same bits (NVIDIA's promise).
 */
#include "cuda_priv.h"

#include <stdlib.h>

struct cufft_plan {
    struct cuda_device *dev;
    int type, precision;
    size_t workspace, loops, stride; /* transforms one after the other, bytes from one to the next */
    pthread_mutex_t lock; /* of the plan's stream and working space */
    int plan;
};

static const char *cufft_words(int result)
{
    static const char *const words[] = {
        [1] = "CUFFT_INVALID_PLAN",    [2] = "CUFFT_ALLOC_FAILED",        [3] = "CUFFT_INVALID_TYPE",
        [4] = "CUFFT_INVALID_VALUE",   [5] = "CUFFT_INTERNAL_ERROR",      [6] = "CUFFT_EXEC_FAILED",
        [7] = "CUFFT_SETUP_FAILED",    [8] = "CUFFT_INVALID_SIZE",        [9] = "CUFFT_UNALIGNED_DATA",
        [11] = "CUFFT_INVALID_DEVICE", [13] = "CUFFT_NO_WORKSPACE",       [14] = "CUFFT_NOT_IMPLEMENTED",
        [16] = "CUFFT_NOT_SUPPORTED",  [17] = "CUFFT_MISSING_DEPENDENCY",
    };
    size_t n = sizeof words / sizeof words[0];
    return result >= 0 && (size_t)result < n && words[result] ? words[result] : "a cuFFT error";
}

/* cuFFT's codes have no room for a fault: whether the device is lost the stream says, at the next command. */
static int check_cufft(const struct cuda_device *d, int result, const char *what)
{
    int status = HCY_EBACKEND;
    if (!result)
        return 0;
    if (result == 2)
        status = HCY_ENOMEM;
    if (result == 8 || result == 14 || result == 16)
        status = HCY_EUNSUPPORTED;
    return hcy_fail_vendor(status, result, cufft_words(result), "%s: %s failed", hcy_device_get_info(d->dev)->name, what);
}

/* Rows without padding on either side, one transform behind the other; cuFFT takes those that lie side by side as
 * one batch, and then a launch is a transform's. */
static int plan_cufft(const struct cufft_api *fft, struct cufft_plan *f, const hcy_fft_desc *d)
{
    static const int types[][2] = { [HCY_FFT_C2C] = { CUFFT_C2C, CUFFT_Z2Z },
                                    [HCY_FFT_R2C] = { CUFFT_R2C, CUFFT_D2Z },
                                    [HCY_FFT_C2R] = { CUFFT_C2R, CUFFT_Z2D } };
    long long n[3], half[3], full_points = 1, half_points = 1;
    /* Of real transforms the complex side has half of the last dimension, as FFTW has it. */
    for (int i = 0; i < d->rank; i++) {
        n[i] = half[i] = (long long)d->n[i];
        if (i == d->rank - 1)
            half[i] = n[i] / 2 + 1;
        full_points *= n[i];
        half_points *= half[i];
    }
    bool half_in = d->type == HCY_FFT_C2R, half_out = d->type == HCY_FFT_R2C, beside = d->inner > 1;
    long long inner = (long long)d->inner;
    /* cuFFT has one distance between transforms of a batch: where those that lie side by side use it up,
     * batches become a loop. */
    f->loops = beside ? d->batch : 1;
    f->stride = (size_t)(full_points * inner) * (d->precision == HCY_F64 ? 16 : 8);
    long long in_apart = half_in ? half_points : full_points, out_apart = half_out ? half_points : full_points;
    if (beside)
        in_apart = out_apart = 1;
    /* Working space is the caller's: cuFFT would else keep its own for each plan, as large as the data. */
    int status = check_cufft(f->dev, fft->cufftSetAutoAllocation(f->plan, 0), "making an FFT's plan");
    if (status)
        return status;
    int result = fft->cufftMakePlanMany64(f->plan, d->rank, n, half_in ? half : n, inner, in_apart,
                                          half_out ? half : n, inner, out_apart,
                                          types[d->type][d->precision == HCY_F64],
                                          beside ? inner : (long long)d->batch, &f->workspace);
    return check_cufft(f->dev, result, "planning an FFT");
}

int cuda_cufft_create(void **fimpl, size_t *workspace, void *impl, const hcy_fft_desc *desc)
{
    struct cuda_device *d = impl;
    const struct cufft_api *fft = cufft_load();
    if (!fft)
        return hcy_last_error()->status;
    struct cufft_plan *f = calloc(1, sizeof *f);
    if (!f)
        return hcy_fail(HCY_ENOMEM, "out of memory for an FFT's plan");
    f->dev = d;
    f->type = desc->type;
    f->precision = desc->precision;
    int status = cuda_enter(d);
    if (!status) {
        status = check_cufft(d, fft->cufftCreate(&f->plan), "making an FFT's plan");
        /* The handle exists before it is planned, and must be destroyed if that fails. */
        if (!status && (status = plan_cufft(fft, f, desc)))
            fft->cufftDestroy(f->plan);
        cuda_leave();
    }
    if (status) {
        free(f);
        return status;
    }
    pthread_mutex_init(&f->lock, NULL);
    *workspace = f->workspace;
    *fimpl = f;
    return 0;
}

void cuda_cufft_release(void *fimpl)
{
    struct cufft_plan *f = fimpl;
    if (!atomic_load(&f->dev->lost) && !cu.cuCtxPushCurrent(f->dev->context)) {
        cufft_load()->cufftDestroy(f->plan);
        cuda_leave();
    }
    pthread_mutex_destroy(&f->lock);
    free(f);
}

static void *transform_address(const hcy_value *v)
{
    return (void *)(uintptr_t)(v->block ? v->block->address + v->offset : 0);
}

static int execute_cufft(const struct cufft_api *fft, const struct cufft_plan *f, int direction, void *in, void *out)
{
    bool is_double = f->precision == HCY_F64;
    if (f->type == HCY_FFT_R2C)
        return (is_double ? fft->cufftExecD2Z : fft->cufftExecR2C)(f->plan, in, out);
    if (f->type == HCY_FFT_C2R)
        return (is_double ? fft->cufftExecZ2D : fft->cufftExecC2R)(f->plan, in, out);
    return (is_double ? fft->cufftExecZ2Z : fft->cufftExecC2C)(f->plan, in, out, direction);
}

static int run_cufft(struct cuda_queue *q, const struct cuda_command *c)
{
    const struct cufft_api *fft = cufft_load();
    struct cufft_plan *f = c->of.fft.fft;
    /* From here to the last transform nobody may give the plan another stream or working space. */
    pthread_mutex_lock(&f->lock);
    int status = check_cufft(f->dev, fft->cufftSetStream(f->plan, q->stream), "giving an FFT its stream");
    if (!status && f->workspace)
        status = check_cufft(f->dev, fft->cufftSetWorkArea(f->plan, transform_address(c->of.fft.work)),
                             "giving an FFT its working space");
    char *in = transform_address(c->of.fft.in), *out = transform_address(c->of.fft.out);
    for (size_t i = 0; !status && i < f->loops; i++, in += f->stride, out += f->stride)
        status = check_cufft(f->dev, execute_cufft(fft, f, c->of.fft.direction, in, out), "an FFT");
    pthread_mutex_unlock(&f->lock);
    return status;
}

int cuda_cufft_execute(void *qimpl, const hcy_value *out, void *fimpl, int direction, const hcy_value *in,
                       const hcy_value *work, hcy_keep *keep)
{
    struct cuda_command c = { .name = "fft", .bytes = in->bytes_left + out->bytes_left, .run = run_cufft };
    c.of.fft.fft = fimpl;
    c.of.fft.direction = direction;
    /* The HAL keeps these values as long as the command's keep, so they need no copy. */
    c.of.fft.in = in;
    c.of.fft.out = out;
    c.of.fft.work = work;
    return cuda_submit(qimpl, &c, keep);
}
