/* off_resonance.c - an operator whose signal precesses at another frequency in each place, by segments of time.
 *
 * exp(-i w t) is about the sum over segments l of b_l(t) exp(-i w s_l), with s_l evenly over the times: as many images
 * as segments go through the operator, whatever it is.  The b are those of least squares over the field's histogram
 * (as in J. Fessler et al., IEEE Trans. Signal Process. 53 (2005) 3393), made on the host when the operator is.
 */
#include "hermitian.h"
#include "operator_priv.h"

#include <halcyon/eval.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 128, MOST_SEGMENTS = 64 };

struct off_resonance {
    hcy_operator *of;
    hcy_array *field, *factors; /* radians a second; b [segments][points] */
    hcy_array *image, *samples; /* of one segment */
    size_t segments;
    double moments[MOST_SEGMENTS]; /* s */
    struct hcy__turn turn;
};

static void free_off_resonance(void *user)
{
    struct off_resonance *o = user;
    hcy_operator_release(o->of);
    hcy_array *const arrays[] = { o->field, o->factors, o->image, o->samples };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        hcy_array_release(arrays[i]);
    hcy__turn_end(&o->turn);
    free(o);
}

/* --- Applying --- */

static int apply_segments(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    struct off_resonance *o = user;
    int status = hcy__turn_take(&o->turn, queue);
    for (size_t l = 0; l < o->segments && !status; l++) {
        hcy_array *b = NULL;
        status = hcy_array_slice(&b, o->factors, "%d", (int)l);
        if (!status)
            status = HCY_EVAL(queue, "u = x * complex(cos(w*s), -sin(w*s))", hcy_op_array("u", o->image),
                              hcy_op_array("x", x), hcy_op_array("w", o->field), hcy_op_real("s", o->moments[l]));
        if (!status)
            status = hcy__operator_run(queue, o->samples, o->of, o->image, false);
        if (!status)
            status = HCY_EVAL(queue, l ? "y += b*v" : "y = b*v", hcy_op_array("y", y), hcy_op_array("b", b),
                              hcy_op_array("v", o->samples));
        hcy_array_release(b);
    }
    hcy__turn_give(&o->turn);
    return status;
}

static int apply_segments_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    struct off_resonance *o = user;
    int status = hcy__turn_take(&o->turn, queue);
    for (size_t l = 0; l < o->segments && !status; l++) {
        hcy_array *b = NULL;
        status = hcy_array_slice(&b, o->factors, "%d", (int)l);
        if (!status)
            status = HCY_EVAL(queue, "v = conj(b)*y", hcy_op_array("v", o->samples), hcy_op_array("b", b),
                              hcy_op_array("y", y));
        if (!status)
            status = hcy__operator_run(queue, o->image, o->of, o->samples, true);
        if (!status)
            status = HCY_EVAL(queue,
                              l ? "x += u * complex(cos(w*s), sin(w*s))" : "x = u * complex(cos(w*s), sin(w*s))",
                              hcy_op_array("x", x), hcy_op_array("u", o->image), hcy_op_array("w", o->field),
                              hcy_op_real("s", o->moments[l]));
        hcy_array_release(b);
    }
    hcy__turn_give(&o->turn);
    return status;
}

/* --- The gradient ---
 *
 * With r = A m - d, and u_l the adjoint of conj(b_l) r, that in m is the sum of exp(i w s_l) u_l, and that in
 * w of s_l Im(m conj(exp(i w s_l) u_l)): one pass over the segments makes both. */

static int derive_segments(hcy_queue *queue, hcy_array *of_image, hcy_array *of_field, struct off_resonance *o,
                           hcy_array *rest, hcy_array *image)
{
    int status = 0;
    if (of_image)
        status = HCY_EVAL(queue, "g = 0", hcy_op_array("g", of_image));
    if (!status && of_field)
        status = HCY_EVAL(queue, "g = 0", hcy_op_array("g", of_field));
    for (size_t l = 0; l < o->segments && !status; l++) {
        hcy_array *b = NULL, *u = o->image;
        status = hcy_array_slice(&b, o->factors, "%d", (int)l);
        if (!status)
            status = HCY_EVAL(queue, "v = conj(b)*r", hcy_op_array("v", o->samples), hcy_op_array("b", b),
                              hcy_op_array("r", rest));
        if (!status)
            status = hcy__operator_run(queue, u, o->of, o->samples, true);
        if (!status)
            status = HCY_EVAL(queue, "u = u * complex(cos(w*s), sin(w*s))", hcy_op_array("u", u),
                              hcy_op_array("w", o->field), hcy_op_real("s", o->moments[l]));
        if (!status && of_image)
            status = HCY_EVAL(queue, "g += u", hcy_op_array("g", of_image), hcy_op_array("u", u));
        if (!status && of_field)
            status = HCY_EVAL(queue, "g += s*imag(m*conj(u))", hcy_op_array("g", of_field),
                              hcy_op_array("m", image), hcy_op_array("u", u), hcy_op_real("s", o->moments[l]));
        hcy_array_release(b);
    }
    return status;
}

static int check_gradient(const hcy_operator *op, hcy_array *const arrays[6])
{
    static const char *const names[6] = { "image", "data", "gradient in the image", "gradient in the samples",
                                          "gradient in the field", "value" };
    const hcy_space *domain = &op->desc.domain, *range = &op->desc.range;
    const hcy_space value = { HCY_FLOAT64, 0, { 0 }, NULL };
    hcy_space field = *domain;
    field.dtype = hcy__is_single(domain) ? HCY_FLOAT32 : HCY_FLOAT64;
    const hcy_space *const spaces[6] = { domain, range, domain, range, &field, &value };
    return hcy__misfit_check(arrays, op, spaces, names, "hcy_off_resonance_gradient");
}

int hcy_off_resonance_gradient(hcy_queue *queue, hcy_array *value, hcy_array *of_image, hcy_array *of_samples,
                               hcy_array *of_field, hcy_operator *op, hcy_array *image, hcy_array *data)
{
    hcy_array *rest = NULL;
    if (!queue || !op || op->desc.apply != apply_segments)
        return hcy_fail(HCY_EINVAL, "hcy_off_resonance_gradient: no %s",
                        queue ? "operator of hcy_operator_off_resonance()" : "queue");
    int status = check_gradient(op, (hcy_array *[]){ image, data, of_image, of_samples, of_field, value });
    if (!status && !op->desc.adjoint && (of_image || of_field))
        status = hcy_fail(HCY_EUNSUPPORTED, "hcy_off_resonance_gradient: the operator has no adjoint");
    if (!status)
        status = hcy__space_vector(&rest, op->dev, &op->desc.range);
    if (!status)
        status = hcy__operator_run(queue, rest, op, image, false);
    if (!status)
        status = HCY_EVAL(queue, "r -= d", hcy_op_array("r", rest), hcy_op_array("d", data));
    if (!status)
        status = hcy__misfit_of_rest(queue, value, of_samples, rest);
    if (!status && (of_image || of_field)) {
        struct off_resonance *o = op->desc.user;
        status = hcy__turn_take(&o->turn, queue);
        if (!status)
            status = derive_segments(queue, of_image, of_field, o, rest, image);
        hcy__turn_give(&o->turn);
    }
    hcy_array_release(rest);
    return status;
}

/* --- Factors --- */

struct fit {
    size_t segments;
    double first, step;                            /* frequencies of the bins */
    double weights[BINS];
    double complex phases[BINS][MOST_SEGMENTS];    /* exp(-i w s) */
    double complex solution[MOST_SEGMENTS][BINS];  /* b(t) = solution exp(-i w t) */
    double error;
};

/* Smallest and largest of numbers, all finite; HCY_EINVAL. */
static int find_range(double range[2], const double *numbers, size_t n, const char *what)
{
    range[0] = range[1] = n ? numbers[0] : 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(numbers[i]))
            return hcy_fail(HCY_EINVAL, "hcy_operator_off_resonance: number %zu of the %s is none", i, what);
        range[0] = fmin(range[0], numbers[i]);
        range[1] = fmax(range[1], numbers[i]);
    }
    return 0;
}

static void count_field(struct fit *f, const double range[2], const double *field, size_t n)
{
    f->first = range[0];
    f->step = (range[1] - range[0]) / (BINS - 1);
    /* Frequencies that hardly occur still count a little, so that nothing goes astray between those that do. */
    for (int h = 0; h < BINS; h++)
        f->weights[h] = 1e-3 * (double)n / BINS;
    /* A step near the least double is rounded so much that the last bin would be passed. */
    for (size_t i = 0; i < n; i++)
        f->weights[f->step > 0 ? (int)fmin((field[i] - f->first) / f->step + 0.5, BINS - 1) : 0]++;
}

/* The normal equations' inverse, without what is lost in rounding. */
static int solve_fit(struct fit *f, const double *moments)
{
    const size_t n = f->segments;
    double complex *gram = calloc(2 * n * n, sizeof *gram), *vectors = gram + n * n;
    double values[MOST_SEGMENTS];
    if (!gram)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu segments", n);
    for (int h = 0; h < BINS; h++)
        for (size_t l = 0; l < n; l++)
            f->phases[h][l] = cexp(-I * (f->first + h * f->step) * moments[l]);
    for (int h = 0; h < BINS; h++)
        for (size_t l = 0; l < n; l++)
            for (size_t m = 0; m < n; m++)
                gram[l * n + m] += f->weights[h] * conj(f->phases[h][l]) * f->phases[h][m];
    hcy__hermitian_eigen(values, vectors, gram, n);
    for (size_t k = 0; k < n && values[k] > 1e-14 * values[0]; k++)
        for (int h = 0; h < BINS; h++) {
            double complex projected = 0;
            for (size_t m = 0; m < n; m++)
                projected += conj(vectors[k * n + m]) * conj(f->phases[h][m]) * f->weights[h];
            for (size_t l = 0; l < n; l++)
                f->solution[l][h] += vectors[k * n + l] * projected / values[k];
        }
    free(gram);
    return 0;
}

/* b at a moment, to every `points`-th number. */
static void fit_moment(double complex *b, struct fit *f, double t, size_t points)
{
    double complex signal[BINS], factors[MOST_SEGMENTS] = { 0 };
    for (int h = 0; h < BINS; h++)
        signal[h] = cexp(-I * (f->first + h * f->step) * t);
    for (size_t l = 0; l < f->segments; l++) {
        for (int h = 0; h < BINS; h++)
            factors[l] += f->solution[l][h] * signal[h];
        b[l * points] = factors[l];
    }
    for (int h = 0; h < BINS; h++) {
        for (size_t l = 0; l < f->segments; l++)
            signal[h] -= factors[l] * f->phases[h][l];
        f->error = fmax(f->error, cabs(signal[h]));
    }
}

static void fit_times(double complex *b, struct fit *f, const double *times, size_t points)
{
    size_t period = 0;
    for (size_t j = 0; j < points; j++) {
        /* Readouts mostly repeat the times of the first one. */
        if (!period && j && times[j] == times[0])
            period = j;
        if (period && times[j] == times[j - period])
            for (size_t l = 0; l < f->segments; l++)
                b[l * points + j] = b[l * points + j - period];
        else
            fit_moment(b + j, f, times[j], points);
    }
}

/* --- Making --- */

/* An array's numbers as doubles of the host's, malloced. */
static int read_reals(double **out, hcy_queue *queue, hcy_array *a)
{
    hcy_array *wide = NULL;
    double *numbers = malloc((size_t)(a->count ? a->count : 1) * sizeof *numbers);
    int status = numbers ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for %lld numbers", (long long)a->count);
    if (!status)
        status = hcy_array_empty(&wide, hcy_queue_device(queue), HCY_FLOAT64, a->rank, a->shape);
    if (!status)
        status = HCY_EVAL(queue, "w = a", hcy_op_array("w", wide), hcy_op_array("a", a));
    if (!status)
        status = hcy_array_to_host(numbers, queue, wide);
    hcy_array_release(wide);
    if (status)
        free(numbers);
    else
        *out = numbers;
    return status;
}

static int make_fit(struct fit *f, double complex *b, struct off_resonance *o, const double *field, const double *times,
                    size_t points)
{
    double frequencies[2], span[2];
    int status = find_range(frequencies, field, (size_t)o->field->count, "field");
    if (!status)
        status = find_range(span, times, points, "times");
    if (status)
        return status;
    for (size_t l = 0; l < o->segments; l++)
        o->moments[l] = span[0] + (span[1] - span[0]) * (o->segments > 1 ? (double)l / (double)(o->segments - 1) : 0.5);
    f->segments = o->segments;
    count_field(f, frequencies, field, (size_t)o->field->count);
    status = solve_fit(f, o->moments);
    if (!status)
        fit_times(b, f, times, points);
    return status;
}

static int make_factors(struct off_resonance *o, double *error, hcy_array *times)
{
    const size_t points = (size_t)times->count;
    const int64_t shape[2] = { (int64_t)o->segments, times->count };
    hcy_queue *queue = NULL;
    hcy_array *wide = NULL;
    double *field = NULL, *moments = NULL;
    struct fit *fit = calloc(1, sizeof *fit);
    double complex *b = calloc(points * o->segments + 1, sizeof *b);
    int status = fit && b ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for %zu segments of %zu points", o->segments, points);
    if (!status)
        status = hcy_queue_create(&queue, o->of->dev);
    if (!status)
        status = read_reals(&field, queue, o->field);
    if (!status)
        status = read_reals(&moments, queue, times);
    if (!status)
        status = make_fit(fit, b, o, field, moments, points);
    if (!status)
        status = hcy_array_from_host(&wide, o->of->dev, HCY_COMPLEX128, 2, shape, b);
    if (!status)
        status = hcy_array_empty(&o->factors, o->of->dev, o->of->desc.range.dtype, 2, shape);
    if (!status)
        status = HCY_EVAL(queue, "b = w", hcy_op_array("b", o->factors), hcy_op_array("w", wide));
    if (!status && error)
        *error = fit->error;
    int finished = queue ? hcy_queue_finish(queue) : 0;
    hcy_array_release(wide);
    hcy_queue_release(queue);
    free(field);
    free(moments);
    free(fit);
    free(b);
    return status ? status : finished;
}

static int check_reals(const hcy_array *a, const hcy_operator *of, const char *what)
{
    int status = hcy__array_check(a, "hcy_operator_off_resonance");
    if (!status && a->dtype != HCY_FLOAT32 && a->dtype != HCY_FLOAT64)
        status = hcy_fail(HCY_EINVAL, "hcy_operator_off_resonance: the %s are %s; float32 or float64 is wanted", what,
                          hcy_dtype_name(a->dtype));
    if (!status && hcy__array_device(a) != of->dev)
        status = hcy_fail(HCY_EINVAL, "hcy_operator_off_resonance: the %s are on another device", what);
    return status;
}

static int check_off_resonance(const hcy_operator *a, const hcy_array *field, const hcy_array *times, int segments)
{
    if (!a)
        return hcy_fail(HCY_EINVAL, "hcy_operator_off_resonance: no operator");
    if (segments < 1 || segments > MOST_SEGMENTS)
        return hcy_fail(HCY_EINVAL, "hcy_operator_off_resonance: %d segments; 1 to %d are possible", segments,
                        MOST_SEGMENTS);
    const hcy_space *domain = &a->desc.domain, *range = &a->desc.range;
    int status = check_reals(field, a, "frequencies");
    if (!status)
        status = check_reals(times, a, "times");
    if (!status && !(hcy__space_is_complex(domain) && hcy__space_is_complex(range)))
        status = hcy_fail(HCY_EINVAL, "hcy_operator_off_resonance: of complex vectors only");
    if (!status && (field->rank != domain->rank ||
                    memcmp(field->shape, domain->shape, sizeof *field->shape * (size_t)field->rank)))
        status = hcy_fail(HCY_EINVAL, "hcy_operator_off_resonance: the field is one number for each of the image's");
    if (!status && (times->rank != 1 || range->rank < 1 || times->shape[0] != range->shape[range->rank - 1]))
        status = hcy_fail(HCY_EINVAL, "hcy_operator_off_resonance: times are one for each of the last axis of samples");
    return status;
}

int hcy_operator_off_resonance(hcy_operator **op, double *error, hcy_operator *a, hcy_array *field, hcy_array *times,
                               int segments)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    int status = check_off_resonance(a, field, times, segments);
    if (status)
        return status;
    struct off_resonance *o = calloc(1, sizeof *o);
    if (!o)
        return hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    hcy__turn_init(&o->turn);
    o->of = hcy_operator_retain(a);
    o->field = hcy_array_retain(field);
    o->segments = (size_t)segments;
    status = make_factors(o, error, times);
    if (!status)
        status = hcy__space_vector(&o->image, a->dev, &a->desc.domain);
    if (!status)
        status = hcy__space_vector(&o->samples, a->dev, &a->desc.range);
    if (status) {
        free_off_resonance(o);
        return status;
    }
    desc.name = "off-resonance";
    desc.domain = a->desc.domain;
    desc.range = a->desc.range;
    desc.apply = apply_segments;
    desc.adjoint = a->desc.adjoint ? apply_segments_adjoint : NULL;
    desc.destroy = free_off_resonance;
    desc.user = o;
    return hcy__operator_make(op, a->dev, &desc);
}
