/* espirit.c - coils' maps from what the central k-space has in common (ESPIRiT).
 *
 * Pieces of k-space as large as a kernel, of all coils together, span few dimensions: those of the eigenvectors V of
 * the pieces' Gram matrix, on the host.  At a place x the coils' maps s, as a piece s_c exp(-i o x) of offsets o, lie
 * in that span, so that P(x) s = s, P(x)[a][b] = sum over o, p of exp(i (o - p) x) (V V^H)[o a][p b] / offsets.  P is
 * the Fourier transform of few numbers, and its eigenvector of the largest eigenvalue is found for all places at once,
 * by powers.
 */
#include "coil_maps_priv.h"
#include "hermitian.h"

#include <halcyon/eval.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NUMBERS = 1024 }; /* of a piece */

struct pieces {
    const struct hcy__calibration *of;
    size_t coils, kernel[3], counts[3]; /* a piece's offsets, and how many pieces there are, of each axis */
    size_t offsets, n;                  /* of a piece: of all axes; times coils */
    size_t numbers;                     /* of all coils' frequencies */
    double complex *data;               /* [coils][frequencies...] */
    double complex *gram, *vectors;     /* [n][n]: of pieces, then the projector */
    double *values;
};

/* --- The central k-space --- */

/* Where `count` small numbers, negative ones first, stand on an axis of n in the FFT's order. */
static int list_places(hcy_array **places, const struct hcy__calibration *c, int64_t count, int64_t n)
{
    int64_t *numbers = malloc((size_t)count * sizeof *numbers);
    if (!numbers)
        return hcy_fail(HCY_ENOMEM, "out of memory for %lld frequencies", (long long)count);
    for (int64_t i = 0; i < count; i++)
        numbers[i] = (i - count / 2 + n) % n;
    int status = hcy_array_from_host(places, hcy_queue_device(c->queue), HCY_INT64, 1, &count, numbers);
    free(numbers);
    return status;
}

/* a along an axis by numbers, in a new array. */
static int take_axis(hcy_array **out, const struct hcy__calibration *c, hcy_array *a, int axis)
{
    int64_t shape[4];
    hcy_array *places = NULL;
    memcpy(shape, a->shape, sizeof shape);
    shape[axis + 1] = c->frequencies[axis];
    int status = list_places(&places, c, c->frequencies[axis], c->sizes[axis]);
    if (!status)
        status = hcy_array_empty(out, hcy_queue_device(c->queue), a->dtype, a->rank, shape);
    if (!status)
        status = hcy_array_take(c->queue, *out, a, places, axis + 1);
    hcy_array_release(places);
    return status;
}

/* Only what numbers are to each other counts, and sums of their squares are to be numbers. */
static int prepare_center(struct pieces *p)
{
    for (size_t i = 0; i < p->numbers; i++)
        if (!isfinite(creal(p->data[i])) || !isfinite(cimag(p->data[i])))
            return hcy_fail(HCY_EINVAL, "hcy_coil_maps: the images have numbers that are none or infinite, or too "
                                        "large for their Fourier transform");
    hcy__bring_near_one(p->data, p->numbers);
    return 0;
}

static int read_center(struct pieces *p)
{
    const struct hcy__calibration *c = p->of;
    hcy_array *spectrum = NULL, *wide = NULL;
    hcy_device *dev = hcy_queue_device(c->queue);
    int status = hcy_array_empty(&spectrum, dev, c->images->dtype, c->images->rank, c->images->shape);
    if (!status)
        status = hcy_array_copy(c->queue, spectrum, c->images);
    if (!status)
        status = hcy__calibration_transform(c, spectrum, HCY_FFT_FORWARD);
    for (int d = 0; d < c->dim && !status; d++) {
        hcy_array *less = NULL;
        status = take_axis(&less, c, spectrum, d);
        hcy_array_release(spectrum);
        spectrum = less;
    }
    if (!status)
        status = hcy_array_empty(&wide, dev, HCY_COMPLEX128, spectrum->rank, spectrum->shape);
    if (!status)
        status = HCY_EVAL(c->queue, "w = s", hcy_op_array("w", wide), hcy_op_array("s", spectrum));
    if (!status)
        status = hcy_array_to_host(p->data, c->queue, wide);
    hcy_array_release(spectrum);
    hcy_array_release(wide);
    return status ? status : prepare_center(p);
}

/* --- Pieces --- */

/* i as places on three axes, of sizes n. */
static void split_number(size_t at[3], size_t i, const size_t n[3])
{
    for (int d = 2; d >= 0; d--) {
        at[d] = i % n[d];
        i /= n[d];
    }
}

/* One piece: of all coils, its numbers from `first` on. */
static void take_piece(double complex *piece, const struct pieces *p, const size_t first[3])
{
    const int64_t *f = p->of->frequencies;
    for (size_t o = 0; o < p->offsets; o++) {
        size_t at[3];
        split_number(at, o, p->kernel);
        for (size_t c = 0; c < p->coils; c++)
            piece[o * p->coils + c] =
                p->data[((c * (size_t)f[0] + first[0] + at[0]) * (size_t)f[1] + first[1] + at[1]) * (size_t)f[2] +
                        first[2] + at[2]];
    }
}

/* The sum over pieces of a a^H, above the diagonal. */
static int sum_pieces(struct pieces *p)
{
    double complex *piece = malloc(p->n * sizeof *piece);
    if (!piece)
        return hcy_fail(HCY_ENOMEM, "out of memory for a piece of %zu numbers", p->n);
    for (size_t i = 0; i < p->counts[0] * p->counts[1] * p->counts[2]; i++) {
        size_t first[3];
        split_number(first, i, p->counts);
        take_piece(piece, p, first);
        for (size_t a = 0; a < p->n; a++)
            hcy__add_multiple(p->gram + a * p->n + a, piece[a], piece + a, true, p->n - a);
    }
    free(piece);
    return 0;
}

/* gram = V V^H of the eigenvectors whose singular values are above the threshold. */
static void make_projector(struct pieces *p)
{
    const double least = p->of->opts->threshold * p->of->opts->threshold * p->values[0];
    memset(p->gram, 0, p->n * p->n * sizeof *p->gram);
    for (size_t k = 0; k < p->n && p->values[k] > least; k++)
        for (size_t a = 0; a < p->n; a++)
            hcy__add_multiple(p->gram + a * p->n, p->vectors[k * p->n + a], p->vectors + k * p->n, true, p->n);
}

/* Sums of the projector with the same difference of offsets: [coils][coils][2 kernel - 1 ...]. */
static int sum_differences(double complex **out, const struct pieces *p)
{
    size_t wide[3], differences = 1;
    for (int d = 0; d < 3; d++)
        differences *= wide[d] = 2 * p->kernel[d] - 1;
    double complex *sums = calloc(p->coils * p->coils * differences, sizeof *sums);
    if (!sums)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu coils' products", p->coils);
    for (size_t i = 0; i < p->offsets * p->offsets; i++) {
        size_t o[3], q[3], at = 0;
        split_number(o, i / p->offsets, p->kernel);
        split_number(q, i % p->offsets, p->kernel);
        for (int d = 0; d < 3; d++)
            at = at * wide[d] + o[d] + p->kernel[d] - 1 - q[d];
        for (size_t a = 0; a < p->coils; a++)
            for (size_t b = 0; b < p->coils; b++)
                sums[(a * p->coils + b) * differences + at] +=
                    p->gram[(i / p->offsets * p->coils + a) * p->n + i % p->offsets * p->coils + b] /
                    (double)p->offsets;
    }
    *out = sums;
    return 0;
}

/* --- Places --- */

/* Numbers of an axis of the products at their differences on the whole axis, zeros elsewhere; a new array. */
static int put_axis(hcy_array **out, const struct hcy__calibration *c, hcy_array *a, int axis)
{
    int64_t shape[5];
    hcy_array *places = NULL;
    memcpy(shape, a->shape, sizeof shape);
    shape[axis + 2] = c->sizes[axis];
    int status = list_places(&places, c, a->shape[axis + 2], c->sizes[axis]);
    if (!status)
        status = hcy_array_full(out, c->queue, a->dtype, a->rank, shape, 0);
    if (!status)
        status = hcy_array_put(c->queue, *out, a, places, axis + 2);
    hcy_array_release(places);
    return status;
}

/* P at all places, [coils][coils][sizes...]. */
static int make_products(hcy_array **out, const struct pieces *p)
{
    const struct hcy__calibration *c = p->of;
    int64_t shape[5] = { c->coils, c->coils, 1, 1, 1 };
    double complex *sums = NULL;
    hcy_array *wide = NULL, *products = NULL;
    for (int d = 0; d < c->dim; d++)
        shape[d + 2] = 2 * (int64_t)p->kernel[d] - 1;
    int status = sum_differences(&sums, p);
    if (!status)
        status = hcy_array_from_host(&wide, hcy_queue_device(c->queue), HCY_COMPLEX128, c->dim + 2, shape, sums);
    free(sums);
    if (!status)
        status = hcy_array_empty(&products, hcy_queue_device(c->queue), c->maps->dtype, c->dim + 2, shape);
    if (!status)
        status = HCY_EVAL(c->queue, "p = w", hcy_op_array("p", products), hcy_op_array("w", wide));
    hcy_array_release(wide);
    for (int d = 0; d < c->dim && !status; d++) {
        hcy_array *more = NULL;
        status = put_axis(&more, c, products, d);
        hcy_array_release(products);
        products = more;
    }
    if (!status)
        status = hcy__calibration_transform(c, products, HCY_FFT_BACKWARD);
    if (status)
        hcy_array_release(products);
    else
        *out = products;
    return status;
}

/* The maps become P's eigenvectors, from what they are; then the first coil's real, and 0 where eigenvalues are
 * small. */
static int find_eigenvectors(const struct hcy__calibration *c, hcy_array *products)
{
    hcy_array *next = NULL, *norm = NULL, *first = NULL;
    hcy_device *dev = hcy_queue_device(c->queue);
    int status = hcy_array_empty(&next, dev, c->maps->dtype, c->maps->rank, c->maps->shape);
    if (!status)
        status = hcy_array_empty(&norm, dev, c->is_double ? HCY_FLOAT64 : HCY_FLOAT32, c->dim, c->sizes);
    if (!status)
        status = hcy_array_slice(&first, c->maps, "0");
    for (int i = 0; i < c->opts->iterations && !status; i++)
        status = HCY_EVAL(c->queue,
                          "t = sum(p*m, axis=1); n = sqrt(sum(abs2(t), axis=0)); m = t * where(n > 0, 1/n, 0)",
                          hcy_op_array("t", next), hcy_op_array("p", products), hcy_op_array("m", c->maps),
                          hcy_op_array("n", norm));
    if (!status)
        /* Where the first coil receives nothing, as everywhere if it is broken, the others' phases stay. */
        status = HCY_EVAL(c->queue,
                          "n = where(n > crop, n, 0); t = where(abs(f) > 1e-30, conj(f) * (1/abs(f)), complex(1, 0)); "
                          "m = m * where(n > 0, 1.0, 0.0) * t",
                          hcy_op_array("n", norm), hcy_op_real("crop", c->opts->crop), hcy_op_array("t", next),
                          hcy_op_array("f", first), hcy_op_array("m", c->maps));
    hcy_array_release(next);
    hcy_array_release(norm);
    hcy_array_release(first);
    return status;
}

/* --- All --- */

static int set_pieces(struct pieces *p, const struct hcy__calibration *c)
{
    *p = (struct pieces){ .of = c, .coils = (size_t)c->coils, .offsets = 1, .numbers = (size_t)c->coils };
    for (int d = 0; d < 3; d++) {
        const size_t n = d < c->dim ? (size_t)c->frequencies[d] : 1, k = (size_t)c->opts->kernel;
        p->kernel[d] = k < n ? k : n;
        /* Differences of offsets stand once on the axis. */
        if (d < c->dim && 2 * p->kernel[d] - 1 > (size_t)c->sizes[d])
            p->kernel[d] = ((size_t)c->sizes[d] + 1) / 2;
        p->counts[d] = n - p->kernel[d] + 1;
        p->offsets *= p->kernel[d];
        p->numbers *= n;
    }
    p->n = p->offsets * p->coils;
    if (p->coils > MOST_NUMBERS || p->n > MOST_NUMBERS)
        return hcy_fail(HCY_ERANGE,
                        "hcy_coil_maps: a kernel of %zu numbers of %zu coils, where %d numbers are the most: a smaller "
                        "one, or fewer coils by hcy_coil_compression()",
                        p->offsets, p->coils, MOST_NUMBERS);
    p->data = calloc(p->numbers, sizeof *p->data);
    p->gram = calloc(2 * p->n * p->n, sizeof *p->gram);
    p->values = calloc(p->n, sizeof *p->values);
    if (!p->data || !p->gram || !p->values)
        return hcy_fail(HCY_ENOMEM, "out of memory for a matrix of %zu numbers", p->n);
    p->vectors = p->gram + p->n * p->n;
    return 0;
}

int hcy__espirit_maps(const struct hcy__calibration *c)
{
    struct hcy__calibration padded = *c;
    struct pieces p;
    hcy_array *products = NULL;
    for (int d = c->dim; d < 3; d++)
        padded.frequencies[d] = 1;
    int status = set_pieces(&p, &padded);
    /* The low frequencies' maps are near the eigenvectors, where there is a signal. */
    if (!status)
        status = hcy__low_maps(c, 0);
    if (!status)
        status = read_center(&p);
    if (!status)
        status = sum_pieces(&p);
    if (!status) {
        hcy__hermitian_eigen(p.values, p.vectors, p.gram, p.n);
        make_projector(&p);
        status = make_products(&products, &p);
    }
    if (!status)
        status = find_eigenvectors(c, products);
    hcy_array_release(products);
    free(p.data);
    free(p.gram);
    free(p.values);
    return status;
}
