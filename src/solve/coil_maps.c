/* coil_maps.c - coils' maps by their low frequencies, and coils that are combined to fewer. */
#include "coil_maps_priv.h"
#include "hermitian.h"
#include "sized.h"

#include <halcyon/eval.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Low frequencies --- */

int hcy__calibration_transform(const struct hcy__calibration *c, hcy_array *a, int direction)
{
    hcy_fft_desc desc = HCY_FFT_DESC_INIT;
    hcy_fft *fft = NULL;
    hcy_buffer *work = NULL, *data = NULL;
    desc.precision = c->is_double ? HCY_F64 : HCY_F32;
    desc.rank = c->dim;
    for (int d = 0; d < a->rank; d++)
        if (d < a->rank - c->dim)
            desc.batch *= (size_t)a->shape[d];
        else
            desc.n[d - (a->rank - c->dim)] = (size_t)a->shape[d];
    int status = hcy_fft_create(&fft, hcy_queue_device(c->queue), &desc);
    size_t bytes = status ? 0 : hcy_fft_workspace(fft);
    if (bytes)
        status = hcy_buffer_create(&work, hcy_queue_device(c->queue), HCY_MEM_DEVICE, bytes);
    if (!status)
        status = hcy__vector_buffer(&data, a);
    if (!status)
        status = hcy_fft_execute(c->queue, data, fft, direction, data, work);
    hcy_buffer_release(data);
    hcy_buffer_release(work);
    hcy_fft_release(fft);
    return status;
}

/* Hann's window over an axis's low frequencies, in the FFT's order, as an array that is broadcast to images. */
static int make_window(hcy_array **out, const struct hcy__calibration *c, int axis)
{
    const double pi = acos(-1), half = (double)(c->frequencies[axis] + 1) / 2;
    const int64_t n = c->sizes[axis];
    int64_t shape[3] = { 1, 1, 1 };
    shape[axis] = n;
    double *numbers = malloc((size_t)n * sizeof *numbers);
    if (!numbers)
        return hcy_fail(HCY_ENOMEM, "out of memory for a window of %lld numbers", (long long)n);
    for (int64_t i = 0; i < n; i++) {
        const double f = (double)(i <= n / 2 ? i : n - i);
        numbers[i] = f < half ? 0.5 + 0.5 * cos(pi * f / half) : 0;
    }
    int status = hcy_array_from_host(out, hcy_queue_device(c->queue), HCY_FLOAT64, c->dim, shape, numbers);
    free(numbers);
    return status;
}

/* a *= the window of an axis. */
static int narrow_axis(const struct hcy__calibration *c, hcy_array *a, int axis)
{
    hcy_array *window = NULL;
    int status = make_window(&window, c, axis);
    if (!status)
        status = HCY_EVAL(c->queue, c->is_double ? "a *= w" : "a *= float32(w)", hcy_op_array("a", a),
                          hcy_op_array("w", window));
    hcy_array_release(window);
    return status;
}

int hcy__low_maps(const struct hcy__calibration *c, double crop)
{
    hcy_array *root = NULL, *most = NULL;
    hcy_device *dev = hcy_queue_device(c->queue);
    const int real = c->is_double ? HCY_FLOAT64 : HCY_FLOAT32;
    int status = hcy_array_copy(c->queue, c->maps, c->images);
    if (!status)
        status = hcy__calibration_transform(c, c->maps, HCY_FFT_FORWARD);
    for (int d = 0; d < c->dim && !status; d++)
        status = narrow_axis(c, c->maps, d);
    if (!status)
        status = hcy__calibration_transform(c, c->maps, HCY_FFT_BACKWARD);
    if (!status)
        status = hcy_array_empty(&root, dev, real, c->dim, c->sizes);
    if (!status)
        status = hcy_array_empty(&most, dev, real, 0, NULL);
    /* The largest number becomes 1 first: squares of large ones would be infinite in float, those of small ones 0. */
    if (!status)
        status = HCY_EVAL(c->queue,
                          "t = max(abs(m)); m = where(t == 0, 0, m/t); "
                          "r = sqrt(sum(abs2(m), axis=0)); t = max(r); r = where(r > crop*t && r > 0, 1/r, 0); m *= r",
                          hcy_op_array("r", root), hcy_op_array("m", c->maps), hcy_op_array("t", most),
                          hcy_op_real("crop", crop));
    hcy_array_release(root);
    hcy_array_release(most);
    return status;
}

/* --- Checks --- */

static int check_coil_arrays(const hcy_array *a, const hcy_queue *queue, const char *what, const char *function)
{
    int status = queue ? hcy__array_check(a, function) : hcy_fail(HCY_EINVAL, "%s: no queue", function);
    if (!status && a->dtype != HCY_COMPLEX64 && a->dtype != HCY_COMPLEX128)
        status = hcy_fail(HCY_EINVAL, "%s: the %s are %s; complex64 or complex128 is wanted", function, what,
                          hcy_dtype_name(a->dtype));
    if (!status && (a->rank < 2 || !a->count || !hcy__is_contiguous(a)))
        status = hcy_fail(HCY_EINVAL, "%s: the %s have %s", function, what,
                          a->rank < 2 ? "no axis of coils and another one" : "no elements, or gaps between them");
    if (!status && hcy__array_device(a) != hcy_queue_device(queue))
        status = hcy_fail(HCY_EINVAL, "%s: the %s are on another device than the queue", function, what);
    return status;
}

static int check_options(const hcy_coil_maps_options *o)
{
    if (o->method != HCY_COIL_MAPS_LOW && o->method != HCY_COIL_MAPS_ESPIRIT)
        return hcy_fail(HCY_EINVAL, "hcy_coil_maps: %d is no method", o->method);
    if (o->calibration < 2 || o->kernel < 1 || o->kernel > o->calibration || o->iterations < 1)
        return hcy_fail(HCY_EINVAL, "hcy_coil_maps: a calibration of %d frequencies, a kernel of %d, %d iterations; 2 "
                        "or more are wanted, 1 to as many, and 1 or more", o->calibration, o->kernel, o->iterations);
    if (!(o->threshold >= 0 && o->threshold < 1 && o->crop >= 0 && o->crop < 1))
        return hcy_fail(HCY_EINVAL, "hcy_coil_maps: a threshold of %g, a crop of %g; below 1 is wanted", o->threshold,
                        o->crop);
    return 0;
}

int hcy_coil_maps(hcy_queue *queue, hcy_array *maps, hcy_array *images, const hcy_coil_maps_options *user)
{
    static const char name[] = "hcy_coil_maps";
    hcy_coil_maps_options opts = HCY_COIL_MAPS_OPTIONS_INIT;
    int status = user ? hcy__sized_read(&opts, sizeof opts, user, "hcy_coil_maps_options") : 0;
    if (!status)
        status = check_options(&opts);
    if (!status)
        status = check_coil_arrays(images, queue, "images", name);
    if (!status)
        status = check_coil_arrays(maps, queue, "maps", name);
    if (!status && (images->rank > 4 || maps->dtype != images->dtype || maps->rank != images->rank ||
                    memcmp(maps->shape, images->shape, sizeof *maps->shape * (size_t)maps->rank)))
        status = hcy_fail(HCY_EINVAL, "hcy_coil_maps: images have one to three axes, maps their shape and type");
    if (!status && hcy__operator_shares_memory(maps, images))
        status = hcy_fail(HCY_EINVAL, "hcy_coil_maps: maps and images share memory");
    if (status)
        return status;
    struct hcy__calibration c = { .queue = queue, .maps = maps, .images = images, .opts = &opts,
                                  .dim = images->rank - 1, .is_double = images->dtype == HCY_COMPLEX128,
                                  .coils = images->shape[0] };
    for (int d = 0; d < c.dim; d++) {
        c.sizes[d] = images->shape[d + 1];
        c.frequencies[d] = c.sizes[d] < opts.calibration ? c.sizes[d] : opts.calibration;
    }
    return opts.method == HCY_COIL_MAPS_LOW ? hcy__low_maps(&c, opts.crop) : hcy__espirit_maps(&c);
}

/* --- Compression --- */

enum { MOST_COILS = 1024 };

/* Row i of the samples' covariance: sums of conj(y[i]) y[j], all of them times a unit. */
static int sum_row(hcy_queue *queue, hcy_array *covariance, hcy_array *samples, int64_t i, double unit)
{
    hcy_array *row = NULL, *one = NULL;
    int status = hcy_array_slice(&row, covariance, "%lld", (long long)i);
    if (!status)
        status = hcy_array_slice(&one, samples, "%lld", (long long)i);
    if (!status)
        status = HCY_EVAL(queue, unit == 1 ? "c = sum(complex128(y) * conj(complex128(a)), axis=1)"
                                           : "c = sum(u*complex128(y) * conj(u*complex128(a)), axis=1)",
                          hcy_op_array("c", row), hcy_op_array("y", samples), hcy_op_array("a", one),
                          hcy_op_real("u", unit));
    hcy_array_release(row);
    hcy_array_release(one);
    return status;
}

static int find_covariance(double complex *numbers, hcy_queue *queue, hcy_array *samples, double unit)
{
    const int64_t n = samples->shape[0], flat[2] = { n, -1 }, square[2] = { n, n };
    hcy_array *covariance = NULL, *rows = NULL;
    int status = hcy_array_reshape(&rows, samples, 2, flat);
    if (!status)
        status = hcy_array_empty(&covariance, hcy_queue_device(queue), HCY_COMPLEX128, 2, square);
    for (int64_t i = 0; i < n && !status; i++)
        status = sum_row(queue, covariance, rows, i, unit);
    if (!status)
        status = hcy_array_to_host(numbers, queue, covariance);
    hcy_array_release(covariance);
    hcy_array_release(rows);
    return status;
}

/* Whether squares of the samples may be 0 or infinite where they are not. */
static bool leaves_range(const double complex *covariance, size_t n)
{
    double largest = 0;
    for (size_t i = 0; i < n; i++)
        largest = creal(covariance[i * n + i]) <= largest ? largest : creal(covariance[i * n + i]);
    return !(largest > 0x1p-800 && isfinite(largest));
}

/* A power of two in which the largest number is near 1; 1: there are no such numbers. */
static int find_samples_unit(double *unit, hcy_queue *queue, hcy_array *samples)
{
    hcy_array *most = NULL;
    double largest = 0;
    int status = hcy_array_empty(&most, hcy_queue_device(queue), HCY_FLOAT64, 0, NULL);
    if (!status)
        status = HCY_EVAL(queue, "t = max(abs(y))", hcy_op_array("t", most), hcy_op_array("y", samples));
    if (!status)
        status = hcy_array_to_host(&largest, queue, most);
    hcy_array_release(most);
    /* The reciprocal of a very small number would be infinite. */
    *unit = largest > 0 && isfinite(largest) ? ldexp(1, -(int)fmax(ilogb(largest), -1000)) : 1;
    return status;
}

/* The first eigenvectors, to an array of either type. */
static int write_matrix(hcy_queue *queue, hcy_array *matrix, const double complex *vectors)
{
    hcy_array *rows = NULL;
    int status = hcy_array_from_host(&rows, hcy_queue_device(queue), HCY_COMPLEX128, 2, matrix->shape, vectors);
    if (!status)
        status = HCY_EVAL(queue, "m = v", hcy_op_array("m", matrix), hcy_op_array("v", rows));
    hcy_array_release(rows);
    return status;
}

static int check_compression(const hcy_queue *queue, const hcy_array *matrix, const hcy_array *samples)
{
    int status = check_coil_arrays(samples, queue, "samples", "hcy_coil_compression");
    if (!status)
        status = check_coil_arrays(matrix, queue, "matrix's numbers", "hcy_coil_compression");
    if (!status && (matrix->rank != 2 || matrix->dtype != samples->dtype || matrix->shape[1] != samples->shape[0] ||
                    matrix->shape[0] > matrix->shape[1]))
        status = hcy_fail(HCY_EINVAL, "hcy_coil_compression: a matrix of %lld coils has as many columns, at most as "
                                      "many rows, and the samples' type",
                          (long long)samples->shape[0]);
    if (!status && samples->shape[0] > MOST_COILS)
        status = hcy_fail(HCY_ERANGE, "hcy_coil_compression: %lld coils; %d are the most",
                          (long long)samples->shape[0], MOST_COILS);
    return status;
}

int hcy_coil_compression(double *kept, hcy_queue *queue, hcy_array *matrix, hcy_array *samples)
{
    int status = check_compression(queue, matrix, samples);
    if (status)
        return status;
    const size_t n = (size_t)samples->shape[0], rows = (size_t)matrix->shape[0];
    double complex *covariance = calloc(2 * n * n, sizeof *covariance), *vectors = covariance + n * n;
    double *values = calloc(n, sizeof *values), some = 0, all = 0, unit = 1;
    if (!covariance || !values)
        status = hcy_fail(HCY_ENOMEM, "out of memory for a matrix of %zu coils", n);
    if (!status)
        status = find_covariance(covariance, queue, samples, 1);
    /* Only what samples are to each other counts. */
    if (!status && leaves_range(covariance, n))
        status = find_samples_unit(&unit, queue, samples);
    if (!status && unit != 1)
        status = find_covariance(covariance, queue, samples, unit);
    /* Sums of squares: what is no number shows in the coil that has it. */
    for (size_t i = 0; !status && i < n; i++)
        if (!isfinite(creal(covariance[i * n + i])))
            status = hcy_fail(HCY_EINVAL, "hcy_coil_compression: the samples of coil %zu have numbers that are none or "
                                          "infinite", i);
    if (!status) {
        hcy__hermitian_eigen(values, vectors, covariance, n);
        /* A combination m has the energy m^H C m, C[i][j] = sum of conj(y[i]) y[j]: rows are the eigenvectors. */
        for (size_t i = 0; i < n; i++) {
            some += i < rows ? values[i] : 0;
            all += values[i];
        }
        status = write_matrix(queue, matrix, vectors);
    }
    if (!status && kept)
        *kept = all > 0 ? some / all : 1;
    free(covariance);
    free(values);
    return status;
}

int hcy_coil_compress(hcy_queue *queue, hcy_array *out, hcy_array *matrix, hcy_array *in)
{
    static const char name[] = "hcy_coil_compress";
    int status = check_coil_arrays(in, queue, "samples", name);
    if (!status)
        status = check_coil_arrays(out, queue, "results", name);
    if (!status)
        status = check_coil_arrays(matrix, queue, "matrix's numbers", name);
    if (!status && (matrix->rank != 2 || matrix->shape[1] != in->shape[0] || matrix->shape[0] != out->shape[0] ||
                    out->rank != in->rank || out->dtype != in->dtype ||
                    memcmp(out->shape + 1, in->shape + 1, sizeof *in->shape * (size_t)(in->rank - 1))))
        status = hcy_fail(HCY_EINVAL, "hcy_coil_compress: matrix, samples and results do not go together");
    if (!status && hcy__operator_shares_memory(out, in))
        status = hcy_fail(HCY_EINVAL, "hcy_coil_compress: samples and results share memory");
    const int64_t flat[2] = { in ? in->shape[0] : 0, -1 };
    hcy_array *from = NULL;
    if (!status)
        status = hcy_array_reshape(&from, in, 2, flat);
    for (int64_t v = 0; !status && v < out->shape[0]; v++) {
        const int64_t all = -1;
        hcy_array *row = NULL, *to = NULL, *line = NULL;
        status = hcy_array_slice(&row, matrix, "%lld, :, new", (long long)v);
        if (!status)
            status = hcy_array_slice(&line, out, "%lld", (long long)v);
        if (!status)
            status = hcy_array_reshape(&to, line, 1, &all);
        if (!status)
            status = HCY_EVAL(queue, "o = sum(m*y, axis=0)", hcy_op_array("o", to), hcy_op_array("m", row),
                              hcy_op_array("y", from));
        hcy_array_release(row);
        hcy_array_release(to);
        hcy_array_release(line);
    }
    hcy_array_release(from);
    return status;
}
