/* transform_real.c - Fourier transforms of real vectors as operators: half of the frequencies, the others being their
 * conjugates.
 *
 * Along the last axis from real to complex numbers, along up to two before it of the complex ones, side by side.  Those
 * frequencies whose conjugates are left out are multiplied by the square root of 2: they stand for two, so that norms
 * are those of the whole transform, and the adjoint is the inverse times the number of points.  What a transform to
 * real numbers makes of imaginary parts where there can be none is each library's own, so that it gets zeros there.
 */
#include "operator_priv.h"

#include "hal_priv.h"

#include <halcyon/eval.h>
#include <halcyon/fft.h>
#include <math.h>
#include <stdlib.h>

struct real_fft {
    hcy_fft *forward, *backward, *others; /* others: NULL of one axis */
    hcy_buffer *work;                     /* of all of them; NULL: they need none */
    hcy_array *half;                      /* a vector of the range, which `backward` may overwrite */
    hcy_array *factors[3];                /* of a row's frequencies: forward; backward of both parts */
    struct hcy__turn turn;
};

static void free_real_fft(void *user)
{
    struct real_fft *f = user;
    hcy_fft_release(f->forward);
    hcy_fft_release(f->backward);
    hcy_fft_release(f->others);
    hcy_buffer_release(f->work);
    hcy_array_release(f->half);
    for (int i = 0; i < 3; i++)
        hcy_array_release(f->factors[i]);
    hcy__turn_end(&f->turn);
    free(f);
}

/* --- Applying --- */

/* The real vector itself, one reference more; memory of its size in its place where it begins between two complex
 * numbers, as every other part of a stack of odd ones does: transforms take no such view. */
static int find_aligned(hcy_array **aligned, hcy_array *x)
{
    const size_t number = hcy_dtype_size(x->dtype);
    const bool fits = (x->buffer->offset + (size_t)x->offset * number) % (2 * number) == 0;
    *aligned = fits ? hcy_array_retain(x) : NULL;
    return fits ? 0 : hcy_array_empty(aligned, hcy__array_device(x), x->dtype, x->rank, x->shape);
}

static int transform_forward(hcy_queue *queue, hcy_array *y, const struct real_fft *f, hcy_array *x)
{
    int status = hcy__operator_submit_fft(queue, y, f->forward, HCY_FFT_FORWARD, x, f->work);
    if (!status && f->others)
        status = hcy__operator_submit_fft(queue, y, f->others, HCY_FFT_FORWARD, y, f->work);
    return status ? status
                  : HCY_EVAL(queue, "y *= s", hcy_op_array("y", y), hcy_op_array("s", f->factors[0]));
}

static int transform_backward(hcy_queue *queue, hcy_array *x, const struct real_fft *f, hcy_array *y)
{
    hcy_array *from = f->others ? f->half : y;
    int status = f->others ? hcy__operator_submit_fft(queue, f->half, f->others, HCY_FFT_BACKWARD, y, f->work) : 0;
    if (!status)
        status = HCY_EVAL(queue, "z = complex(a * real(y), b * imag(y))", hcy_op_array("z", f->half),
                          hcy_op_array("y", from), hcy_op_array("a", f->factors[1]),
                          hcy_op_array("b", f->factors[2]));
    return status ? status : hcy__operator_submit_fft(queue, x, f->backward, HCY_FFT_BACKWARD, f->half, f->work);
}

static int apply_real_fft(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    struct real_fft *f = user;
    hcy_array *from = NULL;
    int status = find_aligned(&from, x);
    if (!status && from != x)
        status = hcy_array_copy(queue, from, x);
    if (!status) {
        status = hcy__turn_take(&f->turn, queue);
        if (!status)
            status = transform_forward(queue, y, f, from);
        hcy__turn_give(&f->turn);
    }
    hcy_array_release(from);
    return status;
}

static int apply_real_fft_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    struct real_fft *f = user;
    hcy_array *to = NULL;
    int status = find_aligned(&to, x);
    if (!status) {
        status = hcy__turn_take(&f->turn, queue);
        if (!status)
            status = transform_backward(queue, to, f, y);
        hcy__turn_give(&f->turn);
    }
    if (!status && to != x)
        status = hcy_array_copy(queue, x, to);
    hcy_array_release(to);
    return status;
}

/* --- Making --- */

/* What frequencies of a row are multiplied by; the first, and the last of an even number, stand for themselves. */
static int make_factors(struct real_fft *f, hcy_device *dev, bool is_single, int64_t n)
{
    const int64_t half = n / 2 + 1;
    float *single = malloc((size_t)half * sizeof *single);
    double *factors = malloc((size_t)half * sizeof *factors);
    int status = single && factors ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for %lld factors", (long long)half);
    for (int i = 0; !status && i < 3; i++) {
        for (int64_t k = 0; k < half; k++) {
            const bool alone = k == 0 || 2 * k == n;
            factors[k] = alone ? i < 2 : i ? sqrt(0.5) : sqrt(2);
            single[k] = (float)factors[k];
        }
        status = hcy_array_from_host(&f->factors[i], dev, is_single ? HCY_FLOAT32 : HCY_FLOAT64, 1, &half,
                                     is_single ? (void *)single : factors);
    }
    free(single);
    free(factors);
    return status;
}

static int make_plan(hcy_fft **plan, size_t *work, hcy_device *dev, const hcy_fft_desc *desc)
{
    int status = hcy_fft_create(plan, dev, desc);
    const size_t bytes = status ? 0 : hcy_fft_workspace(*plan);
    *work = bytes > *work ? bytes : *work;
    return status;
}

static int make_plans(struct real_fft *f, hcy_device *dev, const hcy_space *space, int n_axes)
{
    hcy_fft_desc desc = HCY_FFT_DESC_INIT, others = HCY_FFT_DESC_INIT;
    const int last = space->rank - 1;
    size_t work = 0;
    others.precision = desc.precision = hcy__is_single(space) ? HCY_F32 : HCY_F64;
    others.flags = desc.flags = HCY_FFT_DETERMINISTIC;
    desc.n[0] = (size_t)space->shape[last];
    others.inner = desc.n[0] / 2 + 1;
    others.rank = n_axes - 1;
    for (int d = 0; d < last; d++) {
        desc.batch *= (size_t)space->shape[d];
        if (d <= last - n_axes)
            others.batch *= (size_t)space->shape[d];
        else
            others.n[d - (last - n_axes) - 1] = (size_t)space->shape[d];
    }
    desc.type = HCY_FFT_R2C;
    int status = make_plan(&f->forward, &work, dev, &desc);
    desc.type = HCY_FFT_C2R;
    if (!status)
        status = make_plan(&f->backward, &work, dev, &desc);
    if (!status && n_axes > 1)
        status = make_plan(&f->others, &work, dev, &others);
    if (!status && work)
        status = hcy_buffer_create(&f->work, dev, HCY_MEM_DEVICE, work);
    return status;
}

static int check_real_fft(const hcy_device *dev, const hcy_space *space, int n_axes)
{
    int status = dev ? hcy__space_check(space, "hcy_operator_fft_real")
                     : hcy_fail(HCY_EINVAL, "hcy_operator_fft_real: no device");
    if (status)
        return status;
    if (hcy__space_is_complex(space))
        return hcy_fail(HCY_EINVAL, "hcy_operator_fft_real: of real vectors, not of %s; see hcy_operator_fft()",
                        hcy_dtype_name(space->dtype));
    if (n_axes < 1 || n_axes > 3 || n_axes > space->rank)
        return hcy_fail(HCY_EINVAL, "hcy_operator_fft_real: over %d axes of %d; 1 to 3 are possible", n_axes,
                        space->rank);
    /* The range has other shapes than the domain, and so another layout, which a space cannot say. */
    if (space->vectors)
        return hcy_fail(HCY_EUNSUPPORTED, "hcy_operator_fft_real: of vectors that are distributed; hcy_dist_fft_real() "
                                          "is for these");
    return hcy__space_count(space) ? 0 : hcy_fail(HCY_EINVAL, "hcy_operator_fft_real: of vectors without elements");
}

int hcy_operator_fft_real(hcy_operator **op, hcy_device *dev, const hcy_space *space, int n_axes)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    if (!op)
        return hcy_fail(HCY_EINVAL, "hcy_operator_fft_real: no place for the operator");
    *op = NULL;
    int status = check_real_fft(dev, space, n_axes);
    if (status)
        return status;
    struct real_fft *f = calloc(1, sizeof *f);
    if (!f)
        return hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    hcy__turn_init(&f->turn);
    const bool is_single = hcy__is_single(space);
    const int64_t n = space->shape[space->rank - 1];
    desc.domain = desc.range = *space;
    desc.range.dtype = is_single ? HCY_COMPLEX64 : HCY_COMPLEX128;
    desc.range.shape[space->rank - 1] = n / 2 + 1;
    status = make_plans(f, dev, space, n_axes);
    if (!status)
        status = make_factors(f, dev, is_single, n);
    if (!status)
        status = hcy__space_vector(&f->half, dev, &desc.range);
    if (status) {
        free_real_fft(f);
        return status;
    }
    desc.name = "fft_real";
    desc.apply = apply_real_fft;
    desc.adjoint = apply_real_fft_adjoint;
    desc.destroy = free_real_fft;
    desc.user = f;
    return hcy__operator_make(op, dev, &desc);
}
