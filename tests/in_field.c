/* in_field.c - operators whose signal precesses and decays in a field: segments against a direct sum, gradients against
 * differences, Gram operators against A^H W A.
 *
 *     tests/in_field [DEVICE [few]]        few: less of each, where each text means a compilation
 */
#include "sense.h"

#include <complex.h>

static bool few;

/* --- Off-resonance against a direct sum --- */

enum { ROWS = 6, COLUMNS = 9, SITES = ROWS * COLUMNS };

/* y[j] = sum over x of map[x] image[x] exp(-i k x) exp(-field[x] times[j]) for one coil. */
static void sum_directly(double complex *y, const double complex *coil, const double complex *image,
                         const double complex *field, const double *times)
{
    for (int j = 0; j < POINTS; j++) {
        y[j] = 0;
        for (int i = 0; i < SITES; i++) {
            const double phase = (i / COLUMNS - ROWS / 2) * places[0][j] + (i % COLUMNS - COLUMNS / 2) * places[1][j];
            y[j] += coil[i] * image[i] * cexp(-I * phase - field[i] * times[j]);
        }
    }
}

/* On the device: complex rates, or their imaginary part. */
static int put_field(hcy_array **w, const double complex *field, bool decays)
{
    const int64_t modes[2] = { ROWS, COLUMNS };
    double frequencies[SITES];
    for (int i = 0; i < SITES; i++)
        frequencies[i] = cimag(field[i]);
    return hcy_array_from_host(w, dev, decays ? HCY_COMPLEX128 : HCY_FLOAT64, 2, modes,
                               decays ? (const void *)field : frequencies);
}

typedef int make_in_field(hcy_operator **, double *, hcy_operator *, hcy_array *, hcy_array *, int);

static void check_segments(hcy_operator *a, hcy_array *maps, make_in_field *make, int segments, bool decays,
                           double bound)
{
    static double complex coils[COILS][SITES], image[SITES], got[COILS][POINTS], want[COILS][POINTS];
    static double complex field[SITES];
    static double times[POINTS];
    const int64_t modes[2] = { ROWS, COLUMNS }, points = POINTS;
    hcy_operator *op = NULL;
    hcy_array *w = NULL, *t = NULL, *x = random_array(HCY_COMPLEX128, 2, modes, 52);
    double error = -1, off = 0, norm = 0, mismatch = -1;
    /* Up to 100 Hz off for 10 ms: 6 radians, and a readout that is repeated; T2* is 5 ms at least. */
    for (int i = 0; i < SITES; i++)
        field[i] = 628 * I * sin(i * 0.7) * (i % COLUMNS) / COLUMNS + (decays ? 100 * (1 + cos(i * i * 1.1)) : 0);
    for (int j = 0; j < POINTS; j++)
        times[j] = 0.01 * (j % (POINTS / 3)) / (POINTS / 3 - 1);
    st_ok(put_field(&w, field, decays), decays ? "a field with decay" : "a field");
    st_ok(hcy_array_from_host(&t, dev, HCY_FLOAT64, 1, &points, times), "times");
    st_ok(make(&op, &error, a, w, t, segments), "%d segments of %s", segments,
          make == hcy_operator_multifrequency ? "frequencies" : "time");
    const hcy_operator_info info = info_of(op);
    hcy_array *y = new_array(HCY_COMPLEX128, info.range.rank, info.range.shape);
    st_ok(hcy_operator_apply(queue, y, op, x), "are applied");
    st_ok(hcy_array_to_host(got, queue, y), "to samples");
    st_ok(hcy_array_to_host(image, queue, x), "of an image");
    st_ok(hcy_array_to_host(coils, queue, maps), "and maps");
    for (int c = 0; c < COILS; c++)
        sum_directly(want[c], coils[c], image, field, times);
    for (int c = 0; c < COILS; c++)
        for (int j = 0; j < POINTS; j++) {
            off += pow(cabs(got[c][j] - want[c][j]), 2);
            norm += pow(cabs(want[c][j]), 2);
        }
    diag("%d segments: off by %.2g, said %.2g", segments, sqrt(off / norm), error);
    if (!ok(sqrt(off / norm) < bound, "%d segments are a direct sum within %g", segments, bound))
        diag("off by %g", sqrt(off / norm));
    ok(error >= 0 && error < 10 * bound, "and say how good they are (%.2g)", error);
    st_ok(hcy_operator_dot_test(&mismatch, queue, op, 5, 1), "the dot test");
    ok(mismatch < 1e-12, "finds an adjoint (%.2g)", mismatch);
    hcy_operator_release(op);
    hcy_array *const arrays[] = { w, t, x, y };
    for (size_t i = 0; i < 4; i++)
        hcy_array_release(arrays[i]);
}

/* One place whose rate is none that tissue has, as fits of T2* leave them, spoils no other's signal. */
static void check_outlier(hcy_operator *a, hcy_array *maps, double rate)
{
    static double complex coils[COILS][SITES], image[SITES], got[COILS][POINTS], want[POINTS], field[SITES];
    static double times[POINTS];
    const int64_t modes[2] = { ROWS, COLUMNS }, points = POINTS, shape[2] = { COILS, POINTS };
    hcy_operator *op = NULL;
    hcy_array *w = NULL, *t = NULL, *x = NULL, *y = new_array(HCY_COMPLEX128, 2, shape);
    double off = 0, norm = 0, error = -1;
    /* The place itself is dark: its signal is gone before the second segment of time begins. */
    for (int i = 0; i < SITES; i++) {
        image[i] = i ? cexp(I * i) : 0;
        field[i] = i ? 100 * (1 + cos(i * i * 1.1)) : rate;
    }
    for (int j = 0; j < POINTS; j++)
        times[j] = 0.01 * (j % (POINTS / 3)) / (POINTS / 3 - 1);
    st_ok(hcy_array_to_host(coils, queue, maps), "maps");
    st_ok(hcy_array_from_host(&x, dev, HCY_COMPLEX128, 2, modes, image), "an image");
    st_ok(put_field(&w, field, true), "a rate of %g a second among others", rate);
    st_ok(hcy_array_from_host(&t, dev, HCY_FLOAT64, 1, &points, times), "times");
    st_ok(hcy_operator_off_resonance(&op, &error, a, w, t, 8), "segments");
    st_ok(hcy_operator_apply(queue, y, op, x), "are applied");
    st_ok(hcy_array_to_host(got, queue, y), "to samples");
    for (int c = 0; c < COILS; c++) {
        sum_directly(want, coils[c], image, field, times);
        for (int j = 0; j < POINTS; j++) {
            off += pow(cabs(got[c][j] - want[j]), 2);
            norm += pow(cabs(want[j]), 2);
        }
    }
    ok(sqrt(off / norm) < 2e-3, "the others' signal is a direct sum's (%.2g; said %.2g)", sqrt(off / norm), error);
    hcy_operator_release(op);
    hcy_array *const arrays[] = { w, t, x, y };
    for (size_t i = 0; i < 4; i++)
        hcy_array_release(arrays[i]);
}

/* |A m - d|^2 / 2 of the operator in a field, and what of its gradients is wanted. */
static double value_in_field(double complex *of_field, double complex *of_image, double complex *of_samples,
                             hcy_operator *a, const double complex *field, bool decays, const double *times,
                             hcy_array *m, hcy_array *d)
{
    enum { MOMENTS = 4 };
    const int64_t modes[2] = { ROWS, COLUMNS }, points = POINTS, shape[2] = { COILS, POINTS };
    hcy_operator *op = NULL;
    hcy_array *w = NULL, *t = NULL, *gm = new_array(HCY_COMPLEX128, 2, modes),
              *gd = new_array(HCY_COMPLEX128, 2, shape),
              *gw = new_array(decays ? HCY_COMPLEX128 : HCY_FLOAT64, 2, modes),
              *number = new_array(HCY_FLOAT64, 0, NULL);
    double value = NAN, frequencies[SITES];
    int status = put_field(&w, field, decays);
    if (!status)
        status = hcy_array_from_host(&t, dev, HCY_FLOAT64, 1, &points, times);
    if (!status)
        status = hcy_operator_off_resonance(&op, NULL, a, w, t, MOMENTS);
    if (!status)
        status = hcy_off_resonance_gradient(queue, number, of_image ? gm : NULL, of_samples ? gd : NULL,
                                            of_field ? gw : NULL, op, m, d);
    if (!status)
        status = hcy_array_to_host(&value, queue, number);
    if (!status && of_image)
        status = hcy_array_to_host(of_image, queue, gm);
    if (!status && of_samples)
        status = hcy_array_to_host(of_samples, queue, gd);
    if (!status && of_field)
        status = hcy_array_to_host(decays ? (void *)of_field : frequencies, queue, gw);
    for (int i = 0; !status && of_field && !decays && i < SITES; i++)
        of_field[i] = I * frequencies[i];
    if (status)
        bail_out("no value in a field: %s", hcy_last_error()->text);
    hcy_operator_release(op);
    hcy_array *const arrays[] = { w, t, gm, gd, gw, number };
    for (size_t i = 0; i < 6; i++)
        hcy_array_release(arrays[i]);
    return value;
}

/* The value and the gradient in the field, by direct sums. */
static double value_directly(double complex *of_field, double complex *of_image, const double complex *coils,
                             const double complex *image, const double complex *data, const double complex *field,
                             bool decays, const double *times)
{
    static double complex y[POINTS];
    double value = 0;
    memset(of_field, 0, SITES * sizeof *of_field);
    memset(of_image, 0, SITES * sizeof *of_image);
    for (int c = 0; c < COILS; c++) {
        sum_directly(y, coils + c * SITES, image, field, times);
        for (int j = 0; j < POINTS; j++) {
            const double complex r = y[j] - data[c * POINTS + j];
            value += pow(cabs(r), 2) / 2;
            for (int i = 0; i < SITES; i++) {
                const double phase = (i / COLUMNS - ROWS / 2) * places[0][j] +
                                     (i % COLUMNS - COLUMNS / 2) * places[1][j];
                const double complex wave = coils[c * SITES + i] * cexp(-I * phase - field[i] * times[j]);
                of_image[i] += conj(wave) * r;
                const double complex change = -times[j] * r * conj(image[i] * wave);
                of_field[i] += decays ? change : I * cimag(change);
            }
        }
    }
    return value;
}

/* Times that are the segments' own, where segments leave no error: the gradient is that of direct sums, and of
 * differences of what is computed. */
static void check_field_gradient(hcy_operator *a, hcy_array *maps, bool decays)
{
    static double complex coils[COILS * SITES], image[SITES], data[COILS * POINTS], gm[SITES], wanted_m[SITES],
        gd[COILS * POINTS];
    static double complex field[SITES], moved[SITES], g[SITES], wanted[SITES];
    static double times[POINTS];
    const int64_t modes[2] = { ROWS, COLUMNS }, shape[2] = { COILS, POINTS };
    hcy_array *m = random_array(HCY_COMPLEX128, 2, modes, 61), *d = random_array(HCY_COMPLEX128, 2, shape, 62);
    double off = 0, off_m = 0, scale = 0, scale_m = 0, slope = 0, sum = 0;
    for (int i = 0; i < SITES; i++)
        field[i] = 200 * I * cos(i * i * 0.7) + (decays ? 60 + 50 * sin(i * 1.3) : 0);
    for (int j = 0; j < POINTS; j++)
        times[j] = 0.005 * (j % 4);
    st_ok(hcy_array_to_host(image, queue, m), "an image");
    st_ok(hcy_array_to_host(data, queue, d), "data");
    st_ok(hcy_array_to_host(coils, queue, maps), "and maps");
    const double value = value_in_field(g, gm, gd, a, field, decays, times, m, d),
                 direct = value_directly(wanted, wanted_m, coils, image, data, field, decays, times);
    for (int i = 0; i < SITES; i++) {
        off = fmax(off, cabs(g[i] - wanted[i]));
        scale = fmax(scale, cabs(wanted[i]));
        off_m = fmax(off_m, cabs(gm[i] - wanted_m[i]));
        scale_m = fmax(scale_m, cabs(wanted_m[i]));
    }
    ok(fabs(value / direct - 1) < 1e-10, "a misfit in a field is that of direct sums (%g)", value / direct - 1);
    ok(off < 1e-10 * scale, "so is its gradient in the field (%g)", off / scale);
    ok(off_m < 1e-10 * scale_m, "and that in the image (%g)", off_m / scale_m);
    /* Differences of the sixth order, which are exact to h^6. */
    static const double weights[7] = { -1, 9, -45, 0, 45, -9, 1 };
    for (int k = -3; k <= 3; k++) {
        const double h = 1;
        for (int i = 0; i < SITES; i++)
            moved[i] = field[i] + h * k * (I * sin(i) + (decays ? cos(i) : 0));
        if (k)
            sum += weights[k + 3] / (60 * h) * value_in_field(NULL, NULL, NULL, a, moved, decays, times, m, d);
    }
    for (int i = 0; i < SITES; i++)
        slope += cimag(g[i]) * sin(i) + creal(g[i]) * cos(i);
    ok(fabs(sum - slope) < 1e-10 * scale, "differences of values are the gradient (%g)", (sum - slope) / scale);
    /* Of the samples it is what is left, with the other sign. */
    double rest = 0;
    for (int i = 0; i < COILS * POINTS; i++)
        rest += pow(cabs(gd[i]), 2) / 2;
    ok(fabs(rest / value - 1) < 1e-12, "the gradient in the samples is the rest of them");
    st_says(hcy_off_resonance_gradient(queue, NULL, m, NULL, NULL, a, m, d), HCY_EINVAL,
            "hcy_operator_off_resonance", "another operator");
    hcy_array_release(m);
    hcy_array_release(d);
}

/* --- Its Gram operator against A^H W A --- */

/* Frequencies that turn by 5 radians, and decays to a tenth and more. */
static hcy_array *draw_field(int precision, int dim, const int64_t *modes, bool decays)
{
    const bool is_double = precision == HCY_F64;
    hcy_array *w = new_array(decays ? (is_double ? HCY_COMPLEX128 : HCY_COMPLEX64)
                                    : (is_double ? HCY_FLOAT64 : HCY_FLOAT32), dim, modes);
    st_ok(HCY_EVAL(queue, decays ? "w = complex(150 * uniform(61, index), 500 * (uniform(62, index) - 0.3))"
                                 : "w = 500 * (uniform(62, index) - 0.3)", hcy_op_array("w", w)), "a field");
    return w;
}

/* functions: the type of those of time around it, two of three frames; 0: there are none. */
static void check_gram(make_in_field *make, int type, int precision, int dim, const int64_t *modes, bool coils,
                       bool weighted, bool decays, int functions)
{
    const bool is_double = precision == HCY_F64;
    const int dtype = is_double ? HCY_COMPLEX128 : HCY_COMPLEX64, real = is_double ? HCY_FLOAT64 : HCY_FLOAT32;
    const int64_t points = POINTS;
    const void *const in_double[] = { places[0], places[1], places[2] },
                      *const in_single[] = { places32[0], places32[1], places32[2] };
    int64_t shape[4] = { coils ? COILS : 1 };
    memcpy(shape + 1, modes, sizeof *modes * (size_t)dim);
    const hcy_nufft_desc desc = desc_of(type, precision, dim, modes);
    hcy_nufft *plan = plan_of(type, precision, dim, modes, 2, desc.eps);
    hcy_array *maps = random_array(dtype, dim + 1, shape, 31), *roots = NULL,
              *weights = weighted ? random_array(real, 1, &points, 32) : NULL,
              *w = draw_field(precision, dim, modes, decays), *t = random_array(real, 1, &points, 33);
    hcy_operator *op = NULL, *a = NULL, *in_field = NULL, *back = NULL, *gram = NULL;
    double error = -1;
    char what[160];
    snprintf(what, sizeof what, "Toeplitz in a field, %d-D type %d in %s, segments of %s%s%s%s%s%s", dim, type,
             is_double ? "double" : "float", make == hcy_operator_multifrequency ? "frequencies" : "time",
             coils ? ", coils" : "", weighted ? ", weighted" : "", decays ? ", decays" : "",
             functions ? ", functions of " : "", functions ? hcy_dtype_name(functions) : "");
    if (!coils)
        st_ok(HCY_EVAL(queue, "m = 1", hcy_op_array("m", maps)), "a map of 1");
    st_ok(HCY_EVAL(queue, "t = 0.01*t", hcy_op_array("t", t)), "ten milliseconds");
    if (weighted) {
        roots = random_array(real, 1, &points, 0);
        st_ok(HCY_EVAL(queue, "r = sqrt(w)", hcy_op_array("r", roots), hcy_op_array("w", weights)), "roots of weights");
    }
    st_ok(hcy_queue_finish(queue), "that are there");
    st_ok(hcy_operator_sense(&a, plan, maps, roots), "an operator of coils");
    st_ok(make(&in_field, &error, a, w, t, 5), "in a field");
    if (functions) {
        const int64_t frames[2] = { 2, 3 };
        hcy_operator *one = in_field;
        hcy_array *basis = random_array(functions, 2, frames, 34);
        st_ok(hcy_operator_subspace(&in_field, one, basis), "functions of time");
        hcy_operator_release(one);
        hcy_array_release(basis);
    }
    st_ok(hcy_operator_adjoint(&back, in_field), "its adjoint");
    st_ok(hcy_operator_compose(&gram, (hcy_operator *[]){ back, in_field }, 2), "and both");
    st_ok(hcy_operator_toeplitz_field(&op, in_field, &desc, POINTS, is_double ? in_double : in_single,
                                      coils ? maps : NULL, weights),
          "%s", what);
    check_same(op, gram, is_double ? 1e-10 : 1e-4, what);
    hcy_operator *const ops[] = { op, a, in_field, back, gram };
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        hcy_operator_release(ops[i]);
    hcy_array *const arrays[] = { maps, roots, weights, w, t };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        hcy_array_release(arrays[i]);
    (void)!hcy_queue_finish(queue);
    hcy_nufft_destroy(plan);
}

static void test_grams(void)
{
    const int64_t mixed[3] = { 6, 9, 5 }, odd[3] = { 7, 11, 3 }, even[3] = { 8, 2, 16 };
    check_gram(hcy_operator_multifrequency, 2, HCY_F64, 2, mixed, true, true, false, 0);
    check_gram(hcy_operator_off_resonance, 2, HCY_F64, 2, odd, true, true, true, 0);
    check_gram(hcy_operator_multifrequency, 2, HCY_F64, 2, mixed, true, true, false, HCY_FLOAT64);
    if (few)
        return;
    check_gram(hcy_operator_multifrequency, 2, HCY_F64, 3, mixed, true, false, true, 0);
    check_gram(hcy_operator_multifrequency, 2, HCY_F64, 1, odd, false, true, false, 0);
    check_gram(hcy_operator_multifrequency, 2, HCY_F64, 3, even, true, true, false, 0);
    check_gram(hcy_operator_multifrequency, 2, HCY_F32, 3, odd, true, true, true, 0);
    check_gram(hcy_operator_multifrequency, 2, HCY_F32, 2, even, false, false, false, 0);
    check_gram(hcy_operator_off_resonance, 2, HCY_F64, 3, mixed, true, true, false, 0);
    check_gram(hcy_operator_off_resonance, 2, HCY_F32, 2, mixed, true, false, true, 0);
    check_gram(hcy_operator_off_resonance, 2, HCY_F64, 1, even + 2, false, false, true, 0);
    check_gram(hcy_operator_multifrequency, 2, HCY_F64, 2, odd, true, true, true, HCY_COMPLEX128);
    check_gram(hcy_operator_multifrequency, 2, HCY_F32, 3, mixed, false, true, false, HCY_FLOAT32);
    check_gram(hcy_operator_multifrequency, 2, HCY_F64, 1, odd, false, false, false, HCY_COMPLEX64);
    check_gram(hcy_operator_off_resonance, 2, HCY_F64, 2, mixed, true, true, true, HCY_COMPLEX128);
    check_gram(hcy_operator_off_resonance, 2, HCY_F32, 2, even, true, false, false, HCY_FLOAT32);
}

static void test_no_points(void)
{
    const int64_t modes[2] = { 6, 8 }, none = 0;
    const hcy_nufft_desc desc = desc_of(2, HCY_F64, 2, modes);
    const void *const at[] = { places[0], places[1] };
    hcy_nufft *plan = NULL;
    hcy_array *field = draw_field(HCY_F64, 2, modes, false), *times = NULL;
    hcy_operator *a = NULL, *in_field = NULL, *gram = NULL;
    double error;
    st_ok(hcy_nufft_create(&plan, dev, &desc, NULL), "a plan");
    st_ok(hcy_nufft_set_points(plan, 0, at, 0, NULL), "of no points");
    st_ok(hcy_array_empty(&times, dev, HCY_FLOAT64, 1, &none), "at no time");
    st_ok(hcy_operator_nufft(&a, plan), "an operator");
    st_ok(hcy_operator_off_resonance(&in_field, &error, a, field, times, 4), "in a field");
    st_ok(hcy_operator_toeplitz_field(&gram, in_field, &desc, 0, at, NULL, NULL), "has a Gram operator");
    hcy_operator *const ops[] = { gram, in_field, a };
    for (size_t i = 0; i < 3; i++)
        hcy_operator_release(ops[i]);
    hcy_array_release(times);
    hcy_array_release(field);
    hcy_nufft_destroy(plan);
}

/* CG with it finds the image that was sampled in the field. */
static void test_inverse(void)
{
    enum { SIDE = 6 };
    const int64_t modes[2] = { SIDE, SIDE }, shape[3] = { COILS, SIDE, SIDE }, points = POINTS;
    const hcy_nufft_desc desc = desc_of(2, HCY_F64, 2, modes);
    const void *const at[] = { places[0], places[1] };
    hcy_nufft *plan = plan_of(2, HCY_F64, 2, modes, 2, desc.eps);
    hcy_array *maps = random_array(HCY_COMPLEX128, 3, shape, 41), *x = random_array(HCY_COMPLEX128, 2, modes, 42),
              *w = draw_field(HCY_F64, 2, modes, false), *t = random_array(HCY_FLOAT64, 1, &points, 43),
              *b = new_array(HCY_COMPLEX128, 2, modes), *y = NULL, *found = NULL;
    hcy_operator *a = NULL, *in_field = NULL, *gram = NULL;
    hcy_solver *solver = NULL;
    hcy_solver_options how = HCY_SOLVER_OPTIONS_INIT;
    double error = -1;
    st_ok(HCY_EVAL(queue, "t = 0.01*t", hcy_op_array("t", t)), "ten milliseconds");
    st_ok(hcy_queue_finish(queue), "are there");
    st_ok(hcy_operator_sense(&a, plan, maps, NULL), "an operator of coils");
    st_ok(hcy_operator_multifrequency(&in_field, &error, a, w, t, 8), "in a field");
    st_ok(hcy_operator_toeplitz_field(&gram, in_field, &desc, POINTS, at, maps, NULL), "its Gram operator");
    const hcy_operator_info info = info_of(in_field);
    y = new_array(HCY_COMPLEX128, info.range.rank, info.range.shape);
    st_ok(hcy_operator_apply(queue, y, in_field, x), "samples");
    st_ok(hcy_operator_apply_adjoint(queue, b, in_field, y), "the normal equations' right side");
    how.method = HCY_SOLVER_CG;
    st_ok(hcy_solver_create(&solver, queue, gram, &how), "CG");
    st_ok(hcy_solver_start(solver, b, NULL), "is started");
    st_ok(hcy_solver_run(solver, 80), "runs");
    st_ok(hcy_solver_get_x(&found, solver), "and has a result");
    const double off = distance_of(found, x);
    ok(off < 1e-7, "CG finds the image (%.2g)", off);
    hcy_array_release(found);
    hcy_solver_destroy(solver);
    st_says(hcy_operator_toeplitz_field(&gram, a, &desc, POINTS, at, maps, NULL), HCY_EINVAL, "no operator in a field",
            "another operator");
    st_says(hcy_operator_toeplitz_field(&gram, in_field, &desc, POINTS - 1, at, maps, NULL), HCY_EINVAL, "times of 90",
            "fewer points");
    st_says(hcy_operator_toeplitz_field(&gram, in_field, &desc, POINTS, at, maps, x), HCY_EINVAL,
            "complex128", "weights that are complex");
    hcy_nufft_desc larger = desc;
    larger.modes[0]++;
    st_says(hcy_operator_toeplitz_field(&gram, in_field, &larger, POINTS, at, NULL, NULL), HCY_EINVAL,
            "where images are", "other modes");
    st_says(hcy_off_resonance_gradient(queue, NULL, NULL, NULL, w, in_field, x, y), HCY_EUNSUPPORTED,
            "segments of time only", "a gradient in the field of segments of frequencies");
    hcy_operator_release(a);
    hcy_operator_release(in_field);
    hcy_operator_release(gram);
    hcy_array *const arrays[] = { maps, x, w, t, b, y };
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        hcy_array_release(arrays[i]);
    (void)!hcy_queue_finish(queue);
    hcy_nufft_destroy(plan);
}

static void test_off_resonance(void)
{
    const int64_t modes[2] = { ROWS, COLUMNS }, shape[3] = { COILS, ROWS, COLUMNS }, points = POINTS;
    hcy_nufft *plan = plan_of(2, HCY_F64, 2, modes, 2, 1e-12);
    hcy_array *maps = random_array(HCY_COMPLEX128, 3, shape, 51), *times = random_array(HCY_FLOAT64, 1, &points, 1),
              *field = random_array(HCY_FLOAT64, 2, modes, 1);
    hcy_operator *a = NULL, *op = NULL;
    st_ok(hcy_operator_sense(&a, plan, maps, NULL), "coils");
    check_segments(a, maps, hcy_operator_off_resonance, 8, false, 1e-6);
    check_segments(a, maps, hcy_operator_off_resonance, 10, true, 1e-6);
    check_segments(a, maps, hcy_operator_multifrequency, 8, false, 1e-6);
    check_segments(a, maps, hcy_operator_multifrequency, 12, true, 1e-6);
    check_outlier(a, maps, 2e3);
    check_outlier(a, maps, 1e6);
    check_field_gradient(a, maps, false);
    check_field_gradient(a, maps, true);
    if (!few)
        check_segments(a, maps, hcy_operator_off_resonance, 4, false, 0.05);
    st_says(hcy_operator_off_resonance(&op, NULL, a, field, times, 65), HCY_EINVAL, "1 to 64", "too many segments");
    st_says(hcy_operator_off_resonance(&op, NULL, a, times, times, 3), HCY_EINVAL, "one number for each",
            "a field of another shape");
    st_says(hcy_operator_off_resonance(&op, NULL, a, field, field, 3), HCY_EINVAL, "last axis",
            "times of another shape");
    st_says(hcy_operator_off_resonance(&op, NULL, a, maps, times, 3), HCY_EINVAL, "one number for each",
            "a complex field of another shape");
    hcy_array *rates = random_array(HCY_COMPLEX128, 2, modes, 1);
    st_says(hcy_operator_off_resonance(&op, NULL, a, field, rates, 3), HCY_EINVAL, "complex128",
            "times that are complex");
    st_ok(HCY_EVAL(queue, "f = f - 1e6", hcy_op_array("f", rates)),
          "rates by which a signal grows");
    st_ok(HCY_EVAL(queue, "t = 1 + abs(t)", hcy_op_array("t", times)), "for a second and more");
    st_ok(hcy_queue_finish(queue), "are written");
    st_says(hcy_operator_off_resonance(&op, NULL, a, rates, times, 3), HCY_EINVAL, "rates are 1/s", "are refused");
    hcy_array_release(rates);
    st_ok(HCY_EVAL(queue, "f = 0/(f - f)", hcy_op_array("f", field)), "a field that is no number");
    st_ok(hcy_queue_finish(queue), "is written");
    st_says(hcy_operator_off_resonance(&op, NULL, a, field, times, 3), HCY_EINVAL, "number 0 of the field",
            "is refused");
    hcy_operator_release(a);
    hcy_array_release(maps);
    hcy_array_release(times);
    hcy_array_release(field);
    (void)!hcy_queue_finish(queue);
    hcy_nufft_destroy(plan);
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    few = argc > 2 && !strcmp(argv[2], "few");
    dev = cts_open();
    queue = cts_queue(dev);
    draw_places();
    test_off_resonance();
    if (has_transforms()) {
        test_grams();
        test_inverse();
    test_no_points();
    }
    (void)!hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
