/* segments.c - exp(-z t) as a sum over segments of b_l(t) c_l(z), by least squares.
 *
 * Segments of time: c_l is exp(-z s_l), with s_l evenly over the times; the b are those of least squares over the
 * field's histogram (as in J. Fessler et al., IEEE Trans. Signal Process. 53 (2005) 3393), made on the host.
 *
 * Segments of frequencies (multifrequency interpolation, L. Man et al., Magn. Reson. Med. 37 (1997) 785): b_l is
 * exp(-z_l t), with z_l evenly over the field's frequencies and at its slowest decay; the c are those of least squares
 * over moments that lie as Chebyshev's nodes do, which are close where polynomials go astray, at the ends: the largest
 * error is near the least that can be.  A linear function of exp(-z t) at these moments, c is made on the device.
 */
#include "segments.h"
#include "hermitian.h"

#include <halcyon/eval.h>
#include <math.h>
#include <stdlib.h>

/* Decays are smooth, so that few bins of them tell all, if these are close where much of the signal is left. */
enum { BINS = 128, DECAY_BINS = 17, MOST_BINS = BINS * DECAY_BINS, MOST_SEGMENTS = HCY__MOST_SEGMENTS };
#define MOST_DECAY 1e3 /* of an exponent; what decays faster is gone as well */
#define MOST_GROWTH 30 /* of an exponent; beyond it nothing is left of the other places' signal */

void hcy__segments_end(struct hcy__segments *s)
{
    hcy_array_release(s->field);
    hcy_array_release(s->factors);
    hcy_array_release(s->weights);
}

bool hcy__segments_decay(const struct hcy__segments *s)
{
    return s->field->dtype == HCY_COMPLEX64 || s->field->dtype == HCY_COMPLEX128;
}

/* --- Images --- */

/* c of a segment of time times x, of a field of frequencies and of one of complex rates; and its conjugate. */
static const char *const place_texts[2] = {
    "u = x * complex(cos(w*s), -sin(w*s))",
    "u = x * exp(-real(w)*s) * complex(cos(imag(w)*s), -sin(imag(w)*s))",
};
static const char *const return_texts[2][2] = {
    { "x = u * complex(cos(w*s), sin(w*s))", "x += u * complex(cos(w*s), sin(w*s))" },
    { "x = u * exp(-real(w)*s) * complex(cos(imag(w)*s), sin(imag(w)*s))",
      "x += u * exp(-real(w)*s) * complex(cos(imag(w)*s), sin(imag(w)*s))" },
};

/* A text of x and u, and of w and s or c, whichever the segments have. */
static int multiply_segment(hcy_queue *queue, hcy_array *x, const struct hcy__segments *s, size_t l, hcy_array *u,
                            const char *of_time, const char *of_weights)
{
    hcy_array *c = NULL;
    if (!s->weights)
        return HCY_EVAL(queue, of_time, hcy_op_array("x", x), hcy_op_array("u", u), hcy_op_array("w", s->field),
                        hcy_op_real("s", s->moments[l]));
    int status = hcy_array_slice(&c, s->weights, "%d", (int)l);
    if (!status)
        status = HCY_EVAL(queue, of_weights, hcy_op_array("x", x), hcy_op_array("u", u), hcy_op_array("c", c));
    hcy_array_release(c);
    return status;
}

int hcy__segments_place(hcy_queue *queue, hcy_array *u, const struct hcy__segments *s, size_t l, hcy_array *x)
{
    return multiply_segment(queue, x, s, l, u, place_texts[hcy__segments_decay(s)], "u = c*x");
}

int hcy__segments_return(hcy_queue *queue, hcy_array *x, const struct hcy__segments *s, size_t l, hcy_array *u,
                         bool adds)
{
    return multiply_segment(queue, x, s, l, u, return_texts[hcy__segments_decay(s)][adds],
                            adds ? "x += conj(c)*u" : "x = conj(c)*u");
}

/* --- Bins and least squares --- */

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
            return hcy_fail(HCY_EINVAL, "operator in a field: number %zu of the %s is none", i, what);
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
static int solve_fit(struct fit *f)
{
    const size_t n = f->segments;
    double complex *gram = calloc(2 * n * n, sizeof *gram);
    double values[MOST_SEGMENTS];
    if (!gram)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu segments", n);
    double complex *const vectors = gram + n * n;
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

/* --- What is given --- */

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
            return hcy_fail(HCY_EINVAL, "operator in a field: a decay rate of %g a second makes the signal grow "
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

/* --- Segments of time --- */

static int fit_factors(double complex *b, struct hcy__segments *s, struct fit *f, const double *field,
                       const double *times, size_t points, const double span[2])
{
    for (size_t l = 0; l < s->n; l++)
        s->moments[l] = span[0] + (span[1] - span[0]) * (s->n > 1 ? (double)l / (double)(s->n - 1) : 0.5);
    for (int h = 0; h < f->bins; h++)
        for (size_t l = 0; l < s->n; l++)
            f->phases[h][l] = signal_of_bin(f, h, s->moments[l]);
    count_field(f, field, (size_t)s->field->count, 1 + hcy__segments_decay(s));
    int status = solve_fit(f);
    if (!status)
        fit_times(b, f, times, points);
    return status;
}

/* b, on the host, then on the device. */
static int make_factors(struct hcy__segments *s, hcy_queue *queue, struct fit *f, const double *field,
                        const double *times, size_t points, const double span[2])
{
    const int64_t shape[2] = { (int64_t)s->n, (int64_t)points };
    hcy_array *wide = NULL;
    double complex *b = calloc(points * s->n + 1, sizeof *b);
    int status = b ? fit_factors(b, s, f, field, times, points, span)
                   : hcy_fail(HCY_ENOMEM, "out of memory for %zu segments of %zu points", s->n, points);
    if (!status)
        status = hcy_array_from_host(&wide, hcy_queue_device(queue), HCY_COMPLEX128, 2, shape, b);
    if (!status)
        status = HCY_EVAL(queue, "b = w", hcy_op_array("b", s->factors), hcy_op_array("w", wide));
    hcy_array_release(wide);
    free(b);
    return status;
}

/* --- Segments of frequencies --- */

/* Moments of the least squares; so many for each segment, and some, are as good as more.  Frequencies closer than this
 * many radians over the times tell the same, but for decays they must be apart. */
enum { MOST_MOMENTS = 2 * MOST_SEGMENTS + 16, CHECKED = 257 };
#define APART 1.5
#define PI 3.14159265358979323846

struct frequencies {
    struct fit fit; /* its bins are the moments */
    double complex rates[MOST_SEGMENTS];
    double moments[MOST_MOMENTS];
};

/* The rates z of the segments and the moments, for what choose_bins() has found. */
static void place_frequencies(struct frequencies *w, const struct fit *f, size_t n, const double span[2])
{
    const double length = span[1] - span[0], last = f->decays.step * (f->decays.bins - 1),
                 decayed = last > 0 ? expm1(last) / f->longest * length : 0,
                 extent = f->frequencies.step * (f->frequencies.bins - 1),
                 middle = f->frequencies.first + extent / 2,
                 least = length > 0 ? fmin(decayed, APART) * (double)(n - 1) / length : 0,
                 all = fmax(extent, least);
    for (size_t l = 0; l < n; l++)
        w->rates[l] = f->slowest + I * (middle + all * (n > 1 ? (double)l / (double)(n - 1) - 0.5 : 0));
    w->fit.segments = n;
    w->fit.bins = 2 * (int)n + 16;
    for (int h = 0; h < w->fit.bins; h++) {
        w->moments[h] = span[0] + length / 2 * (1 + cos(PI * (h + 0.5) / w->fit.bins));
        w->fit.weights[h] = 1;
        for (size_t l = 0; l < n; l++)
            w->fit.phases[h][l] = cexp(-w->rates[l] * w->moments[h]);
    }
}

/* The largest error of the field's bins, at moments evenly over the times. */
static double check_frequencies(const struct frequencies *w, const struct fit *f, const double span[2])
{
    double error = 0;
    for (int h = 0; h < f->bins; h++) {
        double complex c[MOST_SEGMENTS] = { 0 };
        for (int k = 0; k < w->fit.bins; k++) {
            const double complex signal = signal_of_bin(f, h, w->moments[k]);
            for (size_t l = 0; l < w->fit.segments; l++)
                c[l] += w->fit.solution[l][k] * signal;
        }
        for (int i = 0; i < CHECKED; i++) {
            const double t = span[0] + (span[1] - span[0]) * i / (CHECKED - 1);
            double complex rest = signal_of_bin(f, h, t);
            for (size_t l = 0; l < w->fit.segments; l++)
                rest -= c[l] * cexp(-w->rates[l] * t);
            error = fmax(error, cabs(rest));
        }
    }
    return error;
}

/* A slab of images along their first axis, whose signals at all moments take little memory. */
enum { SLAB_NUMBERS = 1 << 22 };

static const char *const signal_texts[2] = { "e = complex(cos(w*t), -sin(w*t))", "e = exp(-w*t)" };

/* Rows of c from the field's, by signals [moments][rows...]; solution [segments][moments][1...], moments
 * [moments][1...]. */
static int weigh_rows(hcy_queue *queue, const struct hcy__segments *s, hcy_array *signals, hcy_array *solution,
                      hcy_array *moments, int64_t first, int64_t n)
{
    hcy_array *field = NULL, *weights = NULL, *some = NULL;
    int status = hcy__vector_rows(&field, s->field, 0, first, n);
    if (!status)
        status = hcy__vector_rows(&weights, s->weights, 1, first, n);
    if (!status)
        status = hcy__vector_rows(&some, signals, 1, 0, n);
    if (!status)
        status = HCY_EVAL(queue, signal_texts[hcy__segments_decay(s)], hcy_op_array("e", some),
                          hcy_op_array("w", field), hcy_op_array("t", moments));
    if (!status)
        status = HCY_EVAL(queue, "c = sum(m*e, axis=1)", hcy_op_array("c", weights), hcy_op_array("m", solution),
                          hcy_op_array("e", some));
    hcy_array_release(field);
    hcy_array_release(weights);
    hcy_array_release(some);
    return status;
}

/* Rates [segments][1], moments and solution of `image_rank` more axes, on the device. */
static int put_frequencies(hcy_array *out[3], hcy_device *dev, const struct frequencies *w, int image_rank)
{
    const size_t n = w->fit.segments, bins = (size_t)w->fit.bins;
    int64_t shape[HCY_ARRAY_MAX_RANK];
    double complex *solution = calloc(n * bins, sizeof *solution);
    if (!solution)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu segments", n);
    for (size_t l = 0; l < n; l++)
        for (size_t h = 0; h < bins; h++)
            solution[l * bins + h] = w->fit.solution[l][h];
    for (int d = 0; d < HCY_ARRAY_MAX_RANK; d++)
        shape[d] = 1;
    shape[0] = (int64_t)n;
    int status = hcy_array_from_host(&out[0], dev, HCY_COMPLEX128, 2, shape, w->rates);
    shape[0] = (int64_t)bins;
    if (!status)
        status = hcy_array_from_host(&out[1], dev, HCY_FLOAT64, 1 + image_rank, shape, w->moments);
    shape[0] = (int64_t)n;
    shape[1] = (int64_t)bins;
    if (!status)
        status = hcy_array_from_host(&out[2], dev, HCY_COMPLEX128, 2 + image_rank, shape, solution);
    free(solution);
    return status;
}

/* b and c, on the device. */
static int put_weights(struct hcy__segments *s, hcy_queue *queue, const struct frequencies *w, hcy_array *times)
{
    hcy_device *dev = hcy_queue_device(queue);
    const int rank = s->field->rank;
    const int64_t rows = s->field->shape[0], row = rows ? s->field->count / rows : 1,
                  most = SLAB_NUMBERS / (row * w->fit.bins + 1), slab = most < 1 ? 1 : most < rows ? most : rows;
    int64_t shape[HCY_ARRAY_MAX_RANK] = { w->fit.bins, slab };
    hcy_array *arrays[3] = { NULL }, *signals = NULL;
    for (int d = 1; d < rank; d++)
        shape[1 + d] = s->field->shape[d];
    int status = put_frequencies(arrays, dev, w, rank);
    if (!status)
        status = HCY_EVAL(queue, "b = exp(-z*t)", hcy_op_array("b", s->factors), hcy_op_array("z", arrays[0]),
                          hcy_op_array("t", times));
    if (!status)
        status = hcy_array_empty(&signals, dev, HCY_COMPLEX128, 1 + rank, shape);
    for (int64_t first = 0; first < rows && !status; first += slab)
        status = weigh_rows(queue, s, signals, arrays[2], arrays[1], first, rows - first < slab ? rows - first : slab);
    for (int i = 0; i < 3; i++)
        hcy_array_release(arrays[i]);
    hcy_array_release(signals);
    return status;
}

static int make_frequencies(struct hcy__segments *s, double *error, const hcy_operator *a, hcy_queue *queue,
                            const struct fit *f, hcy_array *times, const double span[2])
{
    hcy_space all = a->desc.domain;
    if (!all.rank || all.rank + 2 > HCY_ARRAY_MAX_RANK)
        return hcy_fail(HCY_EUNSUPPORTED, "operator in a field: segments of frequencies are of images of 1 to %d axes",
                        HCY_ARRAY_MAX_RANK - 2);
    struct frequencies *w = calloc(1, sizeof *w);
    if (!w)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu segments", s->n);
    all.rank++;
    all.shape[0] = (int64_t)s->n;
    for (int d = 1; d < all.rank; d++)
        all.shape[d] = a->desc.domain.shape[d - 1];
    place_frequencies(w, f, s->n, span);
    int status = solve_fit(&w->fit);
    if (!status)
        status = hcy__space_vector(&s->weights, a->dev, &all);
    if (!status)
        status = put_weights(s, queue, w, times);
    if (!status && error)
        *error = check_frequencies(w, f, span);
    free(w);
    return status;
}

/* --- Making --- */

static int make_segments(struct hcy__segments *s, double *error, const hcy_operator *a, hcy_queue *queue,
                         struct fit *f, hcy_array *times, enum hcy__segments_kind kind)
{
    const size_t parts = 1 + hcy__segments_decay(s), points = (size_t)times->count;
    double *field = NULL, *moments = NULL, span[2];
    int status = read_doubles(&field, queue, s->field, parts);
    if (!status)
        status = read_doubles(&moments, queue, times, 1);
    if (!status)
        status = find_range(span, moments, points, 1, "times");
    if (!status)
        status = choose_bins(f, field, (size_t)s->field->count, parts, span);
    if (!status && kind == HCY__OF_TIME) {
        status = make_factors(s, queue, f, field, moments, points, span);
        if (!status && error)
            *error = f->error;
    } else if (!status) {
        status = make_frequencies(s, error, a, queue, f, times, span);
    }
    free(field);
    free(moments);
    return status;
}

int hcy__segments_make(struct hcy__segments *s, double *error, const hcy_operator *a, hcy_array *field,
                       hcy_array *times, size_t n, enum hcy__segments_kind kind)
{
    const int64_t shape[2] = { (int64_t)n, times->count };
    hcy_queue *queue = NULL;
    struct fit *fit = calloc(1, sizeof *fit);
    *s = (struct hcy__segments){ .field = hcy_array_retain(field), .n = n };
    int status = fit ? hcy_queue_create(&queue, a->dev) : hcy_fail(HCY_ENOMEM, "out of memory for %zu segments", n);
    if (!status)
        status = hcy_array_empty(&s->factors, a->dev, a->desc.range.dtype, 2, shape);
    if (!status) {
        fit->segments = n;
        status = make_segments(s, error, a, queue, fit, times, kind);
    }
    int finished = queue ? hcy_queue_finish(queue) : 0;
    hcy_queue_release(queue);
    free(fit);
    return status ? status : finished;
}
