/* fft.c - Fourier transforms: descriptions and buffers checked here, done by a backend.  Plans are immutable. */
#include "hal_priv.h"
#include "sized.h"
#include "thread.h"

#include <stdlib.h>
#include <string.h>

static void destroy_fft(void *object)
{
    hcy_fft *fft = object;
    /* In a child of fork the driver that made the plan is not there. */
    if (hcy__forked())
        return;
    fft->dev->backend->ops->fft_release(fft->impl);
    hcy_device_release(fft->dev);
    free(fft);
}

static int check_desc(const hcy_fft_desc *d)
{
    size_t points = 16; /* bytes of the largest number */
    if (d->type < HCY_FFT_C2C || d->type > HCY_FFT_C2R)
        return hcy_fail(HCY_EINVAL, "FFT: %d is not a type (HCY_FFT_C2C, R2C, C2R)", d->type);
    if (d->precision != HCY_F32 && d->precision != HCY_F64)
        return hcy_fail(HCY_EINVAL, "FFT: %d is not a precision (HCY_F32, HCY_F64)", d->precision);
    if (d->rank < 1 || d->rank > 3)
        return hcy_fail(HCY_EINVAL, "FFT: %d dimensions; 1, 2 and 3 are possible", d->rank);
    /* Flags of later versions must not be passed over in silence. */
    if (d->flags & ~(uint32_t)HCY_FFT_DETERMINISTIC)
        return hcy_fail(HCY_EINVAL, "FFT: 0x%x are not flags (HCY_FFT_DETERMINISTIC)", d->flags);
    /* Transforms side by side are strided ones, which backends have for complex numbers of 1 or 2 dimensions
     * alone. */
    if (!d->inner || (d->inner > 1 && (d->type != HCY_FFT_C2C || d->rank > 2)))
        return hcy_fail(HCY_EINVAL, "FFT: %zu transforms side by side; 1, or complex ones of 1 or 2 dimensions",
                        d->inner);
    /* The product is never used: it shows that whoever computes sizes later cannot wrap. */
    int status = d->batch ? hcy_size_mul(&points, points, d->batch)
                          : hcy_fail(HCY_EINVAL, "FFT: a batch of 0 transforms");
    if (!status)
        status = hcy_size_mul(&points, points, d->inner);
    for (int i = 0; !status && i < d->rank; i++) {
        size_t padded = 0; /* a row of complex numbers that stands for a real one is up to 2 longer */
        status = d->n[i] ? hcy_size_add(&padded, d->n[i], 2)
                         : hcy_fail(HCY_EINVAL, "FFT: dimension %d has 0 points", i);
        if (!status)
            status = hcy_size_mul(&points, points, padded);
    }
    return status;
}

int hcy_fft_create(hcy_fft **out, hcy_device *dev, const hcy_fft_desc *user)
{
    hcy_fft_desc desc = HCY_FFT_DESC_INIT;
    int status = hcy__device_check(dev);
    if (!status && !out)
        status = hcy_fail(HCY_EINVAL, "hcy_fft_create: no place for the plan");
    if (!status)
        status = hcy__sized_read(&desc, sizeof desc, user, "hcy_fft_desc");
    if (!status && !HCY_HAS_OP(dev->backend->ops, fft_create))
        return hcy__unsupported(dev, "FFT");
    if (!status)
        status = check_desc(&desc);
    if (status)
        return status;
    hcy_fft *fft = calloc(1, sizeof *fft);
    if (!fft)
        return hcy_fail(HCY_ENOMEM, "out of memory for an FFT's record");
    fft->desc = desc;
    /* Whoever multiplies all three need not ask for the rank. */
    for (int i = desc.rank; i < 3; i++)
        fft->desc.n[i] = 1;
    fenv_t floats;
    /* A plan's roots are the host's thread's work: their bits must be those of any other thread. */
    hcy__plain_floats(&floats);
    status = dev->backend->ops->fft_create(&fft->impl, &fft->workspace, dev->impl, &fft->desc);
    if (status == HCY_ENOMEM) { /* a plan has memory of its own, which the pool may be holding */
        hcy__pool_trim(dev->pool);
        status = dev->backend->ops->fft_create(&fft->impl, &fft->workspace, dev->impl, &fft->desc);
    }
    fesetenv(&floats);
    /* The object is not counted yet, so hcy_fft_release cannot be used. */
    if (status) {
        free(fft);
        return status;
    }
    hcy__object_init(fft, destroy_fft);
    fft->dev = hcy_device_retain(dev);
    *out = fft;
    return 0;
}

hcy_fft *hcy_fft_retain(hcy_fft *fft)
{
    return hcy__retain(fft);
}

void hcy_fft_release(hcy_fft *fft)
{
    hcy__release(fft);
}

size_t hcy_fft_workspace(const hcy_fft *fft)
{
    return fft ? fft->workspace : 0;
}

void hcy_fft_sizes(size_t *in, size_t *out, const hcy_fft *fft, int direction)
{
    if (!fft || !in || !out)
        return;
    const hcy_fft_desc *d = &fft->desc;
    size_t last = d->n[d->rank - 1], rows = d->batch * d->inner, real = d->precision == HCY_F32 ? 4 : 8;
    for (int i = 0; i + 1 < d->rank; i++)
        rows *= d->n[i];
    /* A real row of n has n / 2 + 1 complex numbers: the others are their conjugates. */
    size_t half = rows * (last / 2 + 1) * 2 * real;
    /* For complex transforms both sides are alike, so that the two lines below hold for all three types. */
    size_t complex_row = d->type == HCY_FFT_C2C ? rows * last * 2 * real : half;
    size_t real_row = d->type == HCY_FFT_C2C ? complex_row : rows * last * real;
    (void)direction; /* C2C is symmetric, the others have one direction each */
    *in = d->type == HCY_FFT_C2R ? complex_row : real_row;
    *out = d->type == HCY_FFT_C2R ? real_row : complex_row;
}

static int check_execution(hcy_queue *queue, hcy_fft *fft, int direction, const hcy_buffer *in,
                           const hcy_buffer *out, const hcy_buffer *work)
{
    size_t in_size, out_size;
    if (!queue || !fft || !in || !out)
        return hcy_fail(HCY_EINVAL, "hcy_fft_execute: no queue, plan, input or output");
    int status = hcy__queue_check(queue);
    if (status)
        return status;
    /* The type says the direction already; whoever says another one has mixed up input and output. */
    if (direction != HCY_FFT_FORWARD && direction != HCY_FFT_BACKWARD)
        return hcy_fail(HCY_EINVAL, "FFT: %d is not a direction", direction);
    if ((fft->desc.type == HCY_FFT_R2C && direction != HCY_FFT_FORWARD) ||
        (fft->desc.type == HCY_FFT_C2R && direction != HCY_FFT_BACKWARD))
        return hcy_fail(HCY_EINVAL, "FFT: real to complex is forward, complex to real backward");
    /* Handles of one device mean nothing on another, not even of the same vendor. */
    if (queue->dev != fft->dev || in->dev != fft->dev || out->dev != fft->dev ||
        (work && work->dev != fft->dev))
        return hcy_fail(HCY_EINVAL, "FFT: the plan is on device %s, the queue or a buffer elsewhere",
                        fft->dev->info.name);
    /* Vendors' libraries look at no sizes: what is too small would be overrun. */
    hcy_fft_sizes(&in_size, &out_size, fft, direction);
    if (in->size < in_size || out->size < out_size)
        return hcy_fail(HCY_ERANGE, "FFT: input and output need %zu and %zu bytes, they have %zu and %zu",
                        in_size, out_size, in->size, out->size);
    if (fft->workspace && (!work || work->size < fft->workspace))
        return hcy_fail(HCY_ERANGE, "FFT: the working space needs %zu bytes, it has %zu", fft->workspace,
                        work ? work->size : 0);
    /* Vendors' libraries load whole complex numbers, and may fail for addresses that are not aligned. */
    size_t number = fft->desc.precision == HCY_F32 ? 8 : 16;
    if (in->offset % number || out->offset % number || (work && work->offset % number))
        return hcy_fail(HCY_EINVAL, "FFT: views begin at multiples of a complex number, %zu bytes", number);
    /* In place both sides begin at the same byte; of a shifted overlap something is written before it is
     * read. */
    bool same = hcy__overlap(in, 0, 1, out, 0, 1) && fft->desc.type == HCY_FFT_C2C;
    if (hcy__overlap(in, 0, in_size, out, 0, out_size) && !same)
        return hcy_fail(HCY_EINVAL, "FFT: input and output overlap; only complex transforms work in place");
    return 0;
}

static hcy_value fft_value(const hcy_buffer *buf)
{
    hcy_value v = { .type = HCY_ARG_INOUT };
    if (buf)
        v.block = &buf->block, v.offset = buf->offset, v.bytes_left = buf->size;
    return v;
}

int hcy_fft_execute(hcy_queue *queue, hcy_buffer *out, hcy_fft *fft, int direction, hcy_buffer *in,
                    hcy_buffer *work)
{
    void *storage;
    int status = check_execution(queue, fft, direction, in, out, work);
    if (status)
        return status;
    /* The values lie in the keep, so that they live as long as the command that reads them. */
    hcy_keep *keep = hcy__keep_new(queue->dev, 4, 3 * sizeof(hcy_value), &storage);
    if (!keep)
        return hcy_fail(HCY_ENOMEM, "out of memory for an FFT's record");
    hcy_value *v = storage;
    v[0] = fft_value(in);
    v[1] = fft_value(out);
    v[2] = fft_value(work);
    hcy__keep_add(keep, fft);
    hcy__keep_add(keep, in);
    hcy__keep_add(keep, out);
    /* Without a working space this adds nothing. */
    hcy__keep_add(keep, work);
    /* Plans are immutable; what must not be entered twice is the queue. */
    HCY__ON_QUEUE(
        status, queue,
        queue->dev->backend->ops->fft_execute(queue->impl, &v[1], fft->impl, direction, &v[0], &v[2], keep));
    if (status)
        hcy_keep_release(keep);
    return status;
}
