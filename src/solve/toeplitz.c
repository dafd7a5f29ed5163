/* toeplitz.c - the Gram operator of a non-uniform FFT, by a Fourier transform of twice the modes.
 *
 * Of A, whose samples are sum over n of x_n exp(i s n k_j), A^H W A is a convolution with t_n, the sum over j of
 * w_j exp(-i s n k_j), n = -(N - 1) ... N - 1: points are needed once, for the t.  An image with zeros behind it, of
 * m >= 2 N - 1 numbers an axis, is convolved by the product with t's spectrum, which is real as t_-n = conj(t_n).
 *
 * Two ways: a kernel that leaves out the zeros (nufft_gram, grams.c), or the device's FFT of the whole grid.
 */
#include "grams.h"
#include "nufft_priv.h"
#include "sized.h"

#include <halcyon/eval.h>
#include <halcyon/fft.h>
#include <stdlib.h>

struct toeplitz {
    struct hcy__coils coils;
    struct hcy__spectrum spectrum;
    struct hcy__gram *gram; /* NULL: the device's FFT */
    hcy_fft *fft;
    hcy_buffer *work; /* of the FFT, or NULL */
    hcy_array *grid;  /* [batch][sizes], whose first numbers of all axes are the coils' images */
    struct hcy__turn turn;
};

static void free_toeplitz(void *user)
{
    struct toeplitz *t = user;
    hcy__coils_end(&t->coils);
    hcy__gram_free(t->gram);
    hcy_array_release(t->spectrum.numbers);
    hcy_array_release(t->grid);
    hcy_fft_release(t->fft);
    hcy_buffer_release(t->work);
    hcy__turn_end(&t->turn);
    free(t);
}

/* --- The spectrum --- */

int hcy__spectrum_sizes(struct hcy__spectrum *s, const hcy_nufft_desc *desc)
{
    /* Of no axes until they are known to be some: spaces are made of them. */
    *s = (struct hcy__spectrum){ .is_double = desc->precision == HCY_F64 };
    if (desc->type != 1 && desc->type != 2)
        return hcy_fail(HCY_EUNSUPPORTED, "hcy_operator_toeplitz: of types 1 and 2, not of %d", desc->type);
    if (desc->dim < 1 || desc->dim > 3 || (desc->precision != HCY_F32 && desc->precision != HCY_F64))
        return hcy_fail(HCY_EINVAL, "hcy_operator_toeplitz: %d axes, precision %d", desc->dim, desc->precision);
    s->dim = desc->dim;
    for (int d = 0; d < s->dim; d++) {
        if (desc->modes[d] < 1 || desc->modes[d] > INT32_MAX / 4)
            return hcy_fail(HCY_EINVAL, "hcy_operator_toeplitz: %lld modes on axis %d", (long long)desc->modes[d], d);
        s->modes[d] = desc->modes[d];
        s->sizes[d] = (int64_t)hcy__nufft_smooth(2 * (uint64_t)desc->modes[d] - 1);
    }
    return 0;
}

hcy_space hcy__spectrum_space(const struct hcy__spectrum *s, int dtype, int64_t batch)
{
    hcy_space space = { dtype, 0, { 0 }, NULL };
    if (batch)
        space.shape[space.rank++] = batch;
    for (int d = 0; d < s->dim; d++)
        space.shape[space.rank++] = s->sizes[d];
    return space;
}

int hcy__spectrum_dtype(const struct hcy__spectrum *s)
{
    return s->is_double ? HCY_COMPLEX128 : HCY_COMPLEX64;
}

hcy_space hcy__spectrum_image(const struct hcy__spectrum *s)
{
    hcy_space space = { hcy__spectrum_dtype(s), s->dim, { 0 }, NULL };
    for (int d = 0; d < s->dim; d++)
        space.shape[d] = s->modes[d];
    return space;
}

int hcy__spectrum_fft(hcy_fft **fft, hcy_buffer **work, hcy_device *dev, const struct hcy__spectrum *s, int64_t batch)
{
    hcy_fft_desc desc = HCY_FFT_DESC_INIT;
    desc.precision = s->is_double ? HCY_F64 : HCY_F32;
    desc.rank = s->dim;
    desc.flags = HCY_FFT_DETERMINISTIC;
    desc.batch = (size_t)batch;
    for (int d = 0; d < s->dim; d++)
        desc.n[d] = (size_t)s->sizes[d];
    int status = hcy_fft_create(fft, dev, &desc);
    size_t bytes = status ? 0 : hcy_fft_workspace(*fft);
    return bytes ? hcy_buffer_create(work, dev, HCY_MEM_DEVICE, bytes) : status;
}

int hcy__spectrum_images(hcy_array **images, hcy_array *grids, const struct hcy__spectrum *s)
{
    static const char *const first_numbers[] = { ":, :%lld", ":, :%lld, :%lld", ":, :%lld, :%lld, :%lld" };
    return hcy_array_slice(images, grids, first_numbers[s->dim - 1], (long long)s->modes[0], (long long)s->modes[1],
                           (long long)s->modes[2]);
}

int hcy__spectrum_plan(hcy_nufft **plan, hcy_device *dev, const struct hcy__spectrum *s, const hcy_nufft_desc *of,
                       int64_t n_points, const void *const *points)
{
    hcy_nufft_desc desc = *of;
    hcy_nufft_options options = HCY_NUFFT_OPTIONS_INIT;
    /* The sign of A is the type 2's; a type 1 is its adjoint. */
    desc.sign = (of->sign < 0) == (of->type == 2) ? 1 : -1;
    desc.type = 1;
    desc.n_transforms = 1;
    for (int d = 0; d < s->dim; d++)
        desc.modes[d] = s->sizes[d];
    options.order = HCY_NUFFT_ZERO_FIRST;
    /* It is made once, and what is convolved with it has the same bits in every run. */
    options.deterministic = HCY_NUFFT_SAME_RUNS;
    int status = hcy_nufft_create(plan, dev, &desc, &options);
    return status ? status : hcy_nufft_set_points(*plan, n_points, points, 0, NULL);
}

/* t by a transform of type 1, whose strengths are the weights. */
static int sum_points(hcy_queue *queue, hcy_array *t, const struct hcy__spectrum *s, const hcy_nufft_desc *of,
                      int64_t n_points, const void *const *points, hcy_array *weights)
{
    hcy_nufft *plan = NULL;
    hcy_array *strengths = NULL;
    hcy_device *dev = hcy_queue_device(queue);
    int status = hcy__spectrum_plan(&plan, dev, s, of, n_points, points);
    if (!status)
        status = hcy_array_empty(&strengths, dev, hcy__spectrum_dtype(s), 1, &n_points);
    if (!status)
        status = weights ? HCY_EVAL(queue, "c = w", hcy_op_array("c", strengths), hcy_op_array("w", weights))
                         : HCY_EVAL(queue, "c = 1", hcy_op_array("c", strengths));
    if (!status)
        status = hcy__operator_submit_nufft(queue, plan, strengths, t, 1, false);
    /* The plan must outlive what was submitted. */
    int finished = hcy_queue_finish(queue);
    hcy_array_release(strengths);
    hcy_nufft_destroy(plan);
    return status ? status : finished;
}

static int make_spectrum(struct hcy__spectrum *s, hcy_device *dev, const hcy_nufft_desc *desc, int64_t n_points,
                         const void *const *points, hcy_array *weights)
{
    hcy_queue *queue = NULL;
    hcy_array *t = NULL;
    hcy_fft *fft = NULL;
    hcy_buffer *work = NULL;
    const hcy_space all = hcy__spectrum_space(s, hcy__spectrum_dtype(s), 0),
                    reals = hcy__spectrum_space(s, s->is_double ? HCY_FLOAT64 : HCY_FLOAT32, 0);
    int status = hcy_queue_create(&queue, dev);
    if (!status)
        status = hcy__space_vector(&t, dev, &all);
    if (!status)
        status = sum_points(queue, t, s, desc, n_points, points, weights);
    if (!status)
        status = hcy__spectrum_fft(&fft, &work, dev, s, 1);
    if (!status)
        status = hcy_fft_execute(queue, t->buffer, fft, HCY_FFT_FORWARD, t->buffer, work);
    if (!status)
        status = hcy__space_vector(&s->numbers, dev, &reals);
    /* The one number of an even axis that nobody reads has no partner: taking the real part makes it its own.  The
     * transforms' factors are here, so that nothing is divided later. */
    if (!status)
        status = HCY_EVAL(queue, "s = real(t) * k", hcy_op_array("s", s->numbers), hcy_op_array("t", t),
                          hcy_op_real("k", 1.0 / (double)t->count));
    int finished = queue ? hcy_queue_finish(queue) : 0;
    hcy_array_release(t);
    hcy_fft_release(fft);
    hcy_buffer_release(work);
    hcy_queue_release(queue);
    return status ? status : finished;
}

/* --- The device's FFT --- */

static int convolve_batch(hcy_queue *queue, hcy_array *y, struct toeplitz *t, hcy_array *x, int64_t first, int64_t n)
{
    /* The last batch may have fewer coils; the grids of the others are transformed with it, and not read. */
    int status = HCY_EVAL(queue, "g = 0", hcy_op_array("g", t->grid));
    if (!status)
        status = hcy__coils_multiply(queue, &t->coils, x, first, n);
    if (!status)
        status = hcy_fft_execute(queue, t->grid->buffer, t->fft, HCY_FFT_FORWARD, t->grid->buffer, t->work);
    if (!status)
        status = HCY_EVAL(queue, "g *= s", hcy_op_array("g", t->grid), hcy_op_array("s", t->spectrum.numbers));
    if (!status)
        status = hcy_fft_execute(queue, t->grid->buffer, t->fft, HCY_FFT_BACKWARD, t->grid->buffer, t->work);
    return status ? status : hcy__coils_combine(queue, y, &t->coils, first, n);
}

/* Grids of so many coils as are worth a launch, in bytes at most if one is less. */
enum { GRID_BYTES = 256 << 20 };

static int make_grid(struct toeplitz *t, hcy_device *dev)
{
    hcy_space one = hcy__spectrum_space(&t->spectrum, hcy__spectrum_dtype(&t->spectrum), 1);
    const int64_t bytes = hcy__space_count(&one) * (int64_t)hcy_dtype_size(one.dtype);
    const int64_t most = bytes < GRID_BYTES ? GRID_BYTES / bytes : 1;
    t->coils.batch = most < t->coils.n ? most : t->coils.n;
    one.shape[0] = t->coils.batch;
    int status = hcy__spectrum_fft(&t->fft, &t->work, dev, &t->spectrum, t->coils.batch);
    if (!status)
        status = hcy__space_vector(&t->grid, dev, &one);
    if (!status)
        status = hcy__spectrum_images(&t->coils.images, t->grid, &t->spectrum);
    return status;
}

/* --- The operator --- */

static int apply_toeplitz(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    struct toeplitz *t = user;
    int status = hcy__turn_take(&t->turn, queue);
    for (int64_t first = 0; !status && first < t->coils.n; first += t->coils.batch)
        status = t->gram ? hcy__gram_launch(queue, y, t->gram, x, first, hcy__coils_now(&t->coils, first))
                         : convolve_batch(queue, y, t, x, first, hcy__coils_now(&t->coils, first));
    hcy__turn_give(&t->turn);
    return status;
}

int hcy__spectrum_check(hcy_device *dev, int64_t n_points, hcy_array *weights)
{
    if (!dev)
        return hcy_fail(HCY_EINVAL, "hcy_operator_toeplitz: no device");
    if (!weights)
        return 0;
    int status = hcy__array_check(weights, "hcy_operator_toeplitz");
    if (!status && weights->dtype != HCY_FLOAT32 && weights->dtype != HCY_FLOAT64)
        status = hcy_fail(HCY_EINVAL, "hcy_operator_toeplitz: weights are float32 or float64, not %s",
                          hcy_dtype_name(weights->dtype));
    if (!status && (weights->rank != 1 || weights->shape[0] != n_points))
        status = hcy_fail(HCY_EINVAL, "hcy_operator_toeplitz: weights are one a point, %lld, along one axis",
                          (long long)n_points);
    if (!status && hcy__array_device(weights) != dev)
        status = hcy_fail(HCY_EINVAL, "hcy_operator_toeplitz: the weights are on another device");
    return status;
}

static int make_toeplitz(struct toeplitz *t, hcy_device *dev, const hcy_nufft_desc *desc, int64_t n_points,
                         const void *const *points, hcy_array *maps, hcy_array *weights)
{
    const hcy_space image = hcy__spectrum_image(&t->spectrum);
    int status = hcy__coils_init(&t->coils, dev, maps, &image, "hcy_operator_toeplitz");
    if (!status)
        status = make_spectrum(&t->spectrum, dev, desc, n_points, points, weights);
    if (!status)
        status = hcy__gram_make(&t->gram, dev, &t->spectrum, &t->coils);
    if (t->gram) {
        /* It has its own, in another order. */
        hcy_array_release(t->spectrum.numbers);
        t->spectrum.numbers = NULL;
    }
    return status || t->gram ? status : make_grid(t, dev);
}

int hcy_operator_toeplitz(hcy_operator **op, hcy_device *dev, const hcy_nufft_desc *user, int64_t n_points,
                          const void *const *points, hcy_array *maps, hcy_array *weights)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    hcy_nufft_desc of = HCY_NUFFT_DESC_INIT;
    struct toeplitz *t = NULL;
    int status = hcy__spectrum_check(dev, n_points, weights);
    if (!status)
        status = hcy__sized_read(&of, sizeof of, user, "hcy_nufft_desc");
    if (!status && !(t = calloc(1, sizeof *t)))
        status = hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    if (status)
        return status;
    hcy__turn_init(&t->turn);
    status = hcy__spectrum_sizes(&t->spectrum, &of);
    if (!status)
        status = make_toeplitz(t, dev, &of, n_points, points, maps, weights);
    if (status) {
        free_toeplitz(t);
        return status;
    }
    desc.name = "toeplitz";
    desc.domain = desc.range = t->coils.image;
    /* It is its own adjoint, but for rounding. */
    desc.apply = desc.adjoint = apply_toeplitz;
    desc.destroy = free_toeplitz;
    desc.user = t;
    return hcy__operator_make(op, dev, &desc);
}
