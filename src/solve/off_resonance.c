/* off_resonance.c - an operator whose signal precesses at another frequency in each place, and may decay there, by
 * segments of time.
 *
 * exp(-z t) is about the sum over segments l of b_l(t) exp(-z s_l), with s_l evenly over the times: as many images as
 * segments go through the operator, whatever it is.  z is i times the frequency, and where the field is complex the
 * field itself, R2* + i w.  The b are those of least squares over the field's histogram (as in J. Fessler et al., IEEE
 * Trans. Signal Process. 53 (2005) 3393), made on the host when the operator is.
 */
#include "hermitian.h"
#include "operator_priv.h"

#include <halcyon/eval.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Decays are smooth, so that few bins of them tell all, if these are close where much of the signal is left. */
enum { BINS = 128, DECAY_BINS = 17, MOST_BINS = BINS * DECAY_BINS, MOST_SEGMENTS = 64 };
#define MOST_DECAY 1e3 /* of an exponent; what decays faster is gone as well */
#define MOST_GROWTH 30 /* of an exponent; beyond it nothing is left of the other places' signal */

struct off_resonance {
    hcy_operator *of;
    hcy_array *field, *factors; /* radians a second, or complex rates; b [segments][points] */
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

/* What a segment's images are, of a field of frequencies and of one of complex rates. */
static const char *const phase_texts[2] = {
    "u = x * complex(cos(w*s), -sin(w*s))",
    "u = x * exp(-real(w)*s) * complex(cos(imag(w)*s), -sin(imag(w)*s))",
};
static const char *const add_texts[2][2] = {
    { "x = u * complex(cos(w*s), sin(w*s))", "x += u * complex(cos(w*s), sin(w*s))" },
    { "x = u * exp(-real(w)*s) * complex(cos(imag(w)*s), sin(imag(w)*s))",
      "x += u * exp(-real(w)*s) * complex(cos(imag(w)*s), sin(imag(w)*s))" },
};
static const char *const back_texts[2] = {
    "u = u * complex(cos(w*s), sin(w*s))",
    "u = u * exp(-real(w)*s) * complex(cos(imag(w)*s), sin(imag(w)*s))",
};

static bool has_decay(const struct off_resonance *o)
{
    return o->field->dtype == HCY_COMPLEX64 || o->field->dtype == HCY_COMPLEX128;
}

static int apply_segments(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    struct off_resonance *o = user;
    int status = hcy__turn_take(&o->turn, queue);
    for (size_t l = 0; l < o->segments && !status; l++) {
        hcy_array *b = NULL;
        status = hcy_array_slice(&b, o->factors, "%d", (int)l);
        if (!status)
            status = HCY_EVAL(queue, phase_texts[has_decay(o)], hcy_op_array("u", o->image),
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
            status = HCY_EVAL(queue, add_texts[has_decay(o)][l > 0], hcy_op_array("x", x),
                              hcy_op_array("u", o->image), hcy_op_array("w", o->field),
                              hcy_op_real("s", o->moments[l]));
        hcy_array_release(b);
    }
    hcy__turn_give(&o->turn);
    return status;
}

/* --- The gradient ---
 *
 * With r = A m - d, and u_l the adjoint of conj(b_l) r, that in m is the sum of exp(i w s_l) u_l, and that in
 * w of s_l Im(m conj(exp(i w s_l) u_l)): one pass over the segments makes both.  With decay exp(i w s_l) is
 * exp(-conj(z) s_l), and the gradient in z, that in its real part and i times that in its imaginary one, the sum of
 * -s_l conj(m) exp(-conj(z) s_l) u_l. */

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
            status = HCY_EVAL(queue, back_texts[has_decay(o)], hcy_op_array("u", u),
                              hcy_op_array("w", o->field), hcy_op_real("s", o->moments[l]));
        if (!status && of_image)
            status = HCY_EVAL(queue, "g += u", hcy_op_array("g", of_image), hcy_op_array("u", u));
        if (!status && of_field)
            status = HCY_EVAL(queue, has_decay(o) ? "g -= s*conj(m)*u" : "g += s*imag(m*conj(u))",
                              hcy_op_array("g", of_field), hcy_op_array("m", image), hcy_op_array("u", u),
                              hcy_op_real("s", o->moments[l]));
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
    if (!has_decay(op->desc.user))
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

/* Bins at first + i step of frequencies, and of log1p((decay - slowest) longest). */
struct axis {
    double first, step;
    int bins;
};

struct fit {
    size_t segments;
    int bins; /* those of frequencies, once for each of the decays */
    struct axis frequencies, decays;
    double slowest, longest; /* 1/s; s */
    double weights[MOST_BINS];
    double complex phases[MOST_BINS][MOST_SEGMENTS];   /* exp(-z s) */
    double complex solution[MOST_SEGMENTS][MOST_BINS]; /* b(t) = solution exp(-z t) */
    double error;
};

/* exp(-z t) of a bin. */
static double complex signal_of_bin(const struct fit *f, int h, double t)
{
    const int n = f->frequencies.bins;
    const double w = f->frequencies.first + h % n * f->frequencies.step,
                 decay = h / n ? f->slowest + expm1(h / n * f->decays.step) / f->longest : f->slowest;
    return exp(-decay * t) * cexp(-I * w * t);
}

/* Where a decay lies on the axis of its bins. */
static double place_decay(const struct fit *f, double decay)
{
    return log1p(fmin((decay - f->slowest) * f->longest, MOST_DECAY));
}

/* Smallest and largest of n numbers, each `step`-th, all finite; HCY_EINVAL. */
static int find_range(double range[2], const double *numbers, size_t n, size_t step, const char *what)
{
    range[0] = range[1] = n ? numbers[0] : 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(numbers[i * step]))
            return hcy_fail(HCY_EINVAL, "hcy_operator_off_resonance: number %zu of the %s is none", i, what);
        range[0] = fmin(range[0], numbers[i * step]);
        range[1] = fmax(range[1], numbers[i * step]);
    }
    return 0;
}

/* A step near the least double is rounded so much that the last bin would be passed. */
static int bin_of(const struct axis *axis, double number)
{
    return axis->step > 0 ? (int)fmin((number - axis->first) / axis->step + 0.5, axis->bins - 1) : 0;
}

static struct axis make_axis(double first, double last, int bins)
{
    return (struct axis){ first, bins > 1 ? (last - first) / (bins - 1) : 0, bins };
}

/* Pairs (decay, frequency), or frequencies alone where `parts` is 1. */
static void count_field(struct fit *f, const double *field, size_t n, size_t parts)
{
    /* Rates that hardly occur still count a little, so that nothing goes astray between those that do. */
    for (int h = 0; h < f->bins; h++)
        f->weights[h] = 1e-3 * (double)n / f->bins;
    for (size_t i = 0; i < n; i++) {
        const int decay = parts > 1 ? bin_of(&f->decays, place_decay(f, field[i * parts])) : 0;
        f->weights[decay * f->frequencies.bins + bin_of(&f->frequencies, field[i * parts + parts - 1])]++;
    }
}

/* The normal equations' inverse, without what is lost in rounding. */
static int solve_fit(struct fit *f, const double *moments)
{
    const size_t n = f->segments;
    double complex *gram = calloc(2 * n * n, sizeof *gram);
    double values[MOST_SEGMENTS];
    if (!gram)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu segments", n);
    double complex *const vectors = gram + n * n;
    for (int h = 0; h < f->bins; h++)
        for (size_t l = 0; l < n; l++)
            f->phases[h][l] = signal_of_bin(f, h, moments[l]);
    for (int h = 0; h < f->bins; h++)
        for (size_t l = 0; l < n; l++)
            for (size_t m = 0; m < n; m++)
                gram[l * n + m] += f->weights[h] * conj(f->phases[h][l]) * f->phases[h][m];
    hcy__hermitian_eigen(values, vectors, gram, n);
    for (size_t k = 0; k < n && values[k] > 1e-14 * values[0]; k++)
        for (int h = 0; h < f->bins; h++) {
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
    double complex signal[MOST_BINS], factors[MOST_SEGMENTS] = { 0 };
    for (int h = 0; h < f->bins; h++)
        signal[h] = signal_of_bin(f, h, t);
    for (size_t l = 0; l < f->segments; l++) {
        for (int h = 0; h < f->bins; h++)
            factors[l] += f->solution[l][h] * signal[h];
        b[l * points] = factors[l];
    }
    for (int h = 0; h < f->bins; h++) {
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

/* An array's numbers as doubles of the host's, malloced; a complex one's are two. */
static int read_doubles(double **out, hcy_queue *queue, hcy_array *a, size_t parts)
{
    hcy_array *wide = NULL;
    double *numbers = malloc((size_t)(a->count ? a->count : 1) * parts * sizeof *numbers);
    int status = numbers ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for %lld numbers", (long long)a->count);
    if (!status)
        status = hcy_array_empty(&wide, hcy_queue_device(queue), parts > 1 ? HCY_COMPLEX128 : HCY_FLOAT64, a->rank,
                                 a->shape);
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

/* The bins of the field; at the times of `span` no place's signal may be all that is left. */
static int choose_bins(struct fit *f, const double *field, size_t n, size_t parts, const double span[2])
{
    double frequencies[2], decays[2] = { 0, 0 };
    int status = find_range(frequencies, field + parts - 1, n, parts, "field");
    if (!status && parts > 1)
        status = find_range(decays, field, n, parts, "decay rates");
    if (status)
        return status;
    for (int i = 0; i < 4; i++)
        if (-decays[i & 1] * span[i >> 1] > MOST_GROWTH)
            return hcy_fail(HCY_EINVAL, "hcy_operator_off_resonance: a decay rate of %g a second makes the signal grow "
                                        "by exp(%g) at a time of %g s; rates are 1/s, times in seconds",
                            decays[i & 1], -decays[i & 1] * span[i >> 1], span[i >> 1]);
    f->slowest = decays[0];
    f->longest = fmax(fabs(span[0]), fabs(span[1]));
    /* A fit of T2* leaves rates of 1e5 here and there, from which even steps would take what tissue has for one bin. */
    const double fastest = place_decay(f, decays[1]);
    f->decays = make_axis(0, fastest, fastest > 0 ? DECAY_BINS : 1);
    f->frequencies = make_axis(frequencies[0], frequencies[1],
                               parts > 1 && frequencies[0] == frequencies[1] ? 1 : BINS);
    f->bins = f->frequencies.bins * f->decays.bins;
    return 0;
}

static int make_fit(struct fit *f, double complex *b, struct off_resonance *o, const double *field, const double *times,
                    size_t points)
{
    const size_t parts = 1 + has_decay(o), pixels = (size_t)o->field->count;
    double span[2];
    int status = find_range(span, times, points, 1, "times");
    if (!status)
        status = choose_bins(f, field, pixels, parts, span);
    if (status)
        return status;
    for (size_t l = 0; l < o->segments; l++)
        o->moments[l] = span[0] + (span[1] - span[0]) * (o->segments > 1 ? (double)l / (double)(o->segments - 1) : 0.5);
    f->segments = o->segments;
    count_field(f, field, pixels, parts);
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
        status = read_doubles(&field, queue, o->field, 1 + has_decay(o));
    if (!status)
        status = read_doubles(&moments, queue, times, 1);
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

static int check_floats(const hcy_array *a, const hcy_operator *of, bool may_be_complex, const char *what)
{
    int status = hcy__array_check(a, "hcy_operator_off_resonance");
    const bool is_complex = !status && (a->dtype == HCY_COMPLEX64 || a->dtype == HCY_COMPLEX128);
    if (!status && a->dtype != HCY_FLOAT32 && a->dtype != HCY_FLOAT64 && !(is_complex && may_be_complex))
        status = hcy_fail(HCY_EINVAL, "hcy_operator_off_resonance: the %s are %s; float32 or float64%s is wanted", what,
                          hcy_dtype_name(a->dtype), may_be_complex ? ", or complex rates," : "");
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
    int status = check_floats(field, a, true, "frequencies");
    if (!status)
        status = check_floats(times, a, false, "times");
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
