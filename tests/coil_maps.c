/* coil_maps.c - coils' maps found in images of coils whose maps are known, and fewer coils that have the same.
 *
 *     tests/coil_maps [DEVICE [few]]
 */
#include "cts.h"

#include <halcyon/coil_maps.h>
#include <halcyon/eval.h>
#include <complex.h>
#include <math.h>

static hcy_device *dev;
static hcy_queue *queue;

enum { COILS = 4, SIDE = 32, PIXELS = SIDE * SIDE };
static double complex maps[COILS][PIXELS], images[COILS][PIXELS], found[COILS][PIXELS];
static bool inside[PIXELS];

/* Smooth coils around a disc with an insert; both have edges. */
static void make_images(void)
{
    const double pi = acos(-1);
    for (int i = 0; i < PIXELS; i++) {
        const double y = (i / SIDE - SIDE / 2) / (SIDE / 2.0), x = (i % SIDE - SIDE / 2) / (SIDE / 2.0);
        double energy = 0;
        inside[i] = y * y + x * x < 0.6;
        for (int c = 0; c < COILS; c++) {
            const double angle = 2 * pi * c / COILS + 0.3;
            maps[c][i] = (1 + 0.6 * cos(pi / 2 * (y - sin(angle))) + 0.6 * cos(pi / 2 * (x - cos(angle)))) *
                         cexp(I * (c + 0.8 * sin(angle) * x - 0.5 * cos(angle) * y));
            energy += creal(maps[c][i] * conj(maps[c][i]));
        }
        for (int c = 0; c < COILS; c++) {
            const bool insert = fabs(x - 0.2) < 0.25 && fabs(y + 0.1) < 0.3;
            images[c][i] = (inside[i] ? 1 + (insert ? 0.7 : 0) : 0) * maps[c][i];
            maps[c][i] /= sqrt(energy);
        }
    }
}

static hcy_array *array_of(int dtype, int rank, const int64_t *shape, const double complex *numbers)
{
    hcy_array *wide = NULL, *a = NULL;
    if (hcy_array_from_host(&wide, dev, HCY_COMPLEX128, rank, shape, numbers) ||
        hcy_array_empty(&a, dev, dtype, rank, shape) ||
        HCY_EVAL(queue, "a = w", hcy_op_array("a", a), hcy_op_array("w", wide)))
        bail_out("no array: %s", hcy_last_error()->text);
    hcy_array_release(wide);
    return a;
}
static hcy_array *empty_of(int dtype, int rank, const int64_t *shape)
{
    hcy_array *a = NULL;
    if (hcy_array_empty(&a, dev, dtype, rank, shape))
        bail_out("no array: %s", hcy_last_error()->text);
    return a;
}
static void read_array(double complex *numbers, hcy_array *a)
{
    hcy_array_info info = HCY_ARRAY_INFO_INIT;
    st_ok(hcy_array_get_info(&info, a), "an array");
    hcy_array *wide = empty_of(HCY_COMPLEX128, info.rank, info.shape);
    st_ok(HCY_EVAL(queue, "w = a", hcy_op_array("w", wide), hcy_op_array("a", a)), "in double");
    st_ok(hcy_array_to_host(numbers, queue, wide), "is read");
    hcy_array_release(wide);
}

/* The mean square over the disc of how far the maps found are from those of the coils, whatever their common phase. */
static double distance_of_maps(void)
{
    double off = 0;
    int n = 0;
    for (int i = 0; i < PIXELS; i++) {
        double complex product = 0;
        double norm = 0;
        for (int c = 0; c < COILS; c++) {
            product += conj(maps[c][i]) * found[c][i];
            norm += creal(found[c][i] * conj(found[c][i]));
        }
        if (inside[i]) {
            off += 1 + norm - 2 * cabs(product);
            n++;
        }
    }
    return sqrt(off / n);
}

static void check_maps(int method, int dtype, double bound, const char *what)
{
    const int64_t shape[3] = { COILS, SIDE, SIDE };
    hcy_array *from = array_of(dtype, 3, shape, images[0]), *to = empty_of(dtype, 3, shape);
    hcy_coil_maps_options how = HCY_COIL_MAPS_OPTIONS_INIT;
    how.method = method;
    how.calibration = 16;
    how.kernel = 4;
    st_ok(hcy_coil_maps(queue, to, from, &how), "%s", what);
    read_array(found[0], to);
    double off = distance_of_maps();
    if (!ok(off < bound, "%s: near those of the coils", what))
        diag("off by %g", off);
    else
        diag("%s: off by %.2g", what, off);
    hcy_array_release(from);
    hcy_array_release(to);
}

static void test_crop(void)
{
    const int64_t shape[3] = { COILS, SIDE, SIDE };
    hcy_array *from = array_of(HCY_COMPLEX128, 3, shape, images[0]), *to = empty_of(HCY_COMPLEX128, 3, shape);
    hcy_coil_maps_options how = HCY_COIL_MAPS_OPTIONS_INIT;
    int outside = 0, disc = 0, unreal = 0;
    how.method = HCY_COIL_MAPS_ESPIRIT;
    how.calibration = 16;
    how.kernel = 4;
    how.crop = 0.9;
    st_ok(hcy_coil_maps(queue, to, from, &how), "maps that are cropped");
    read_array(found[0], to);
    for (int i = 0; i < PIXELS; i++) {
        const bool corner = (i / SIDE < 3 || i / SIDE >= SIDE - 3) && (i % SIDE < 3 || i % SIDE >= SIDE - 3);
        double norm = 0;
        for (int c = 0; c < COILS; c++)
            norm += creal(found[c][i] * conj(found[c][i]));
        outside += corner && norm != 0;
        disc += inside[i] && fabs(norm - 1) > 1e-9;
        unreal += fabs(cimag(found[0][i])) > 1e-12 || creal(found[0][i]) < 0;
    }
    is_int(outside, 0, "are 0 where nothing is");
    is_int(disc, 0, "and of norm 1 in the disc");
    is_int(unreal, 0, "the first coil is real");
    hcy_array_release(from);
    hcy_array_release(to);
}

/* Coils are as loud as they may be, and the first one may be broken: the others' maps are there nevertheless. */
static void test_hostile(int method, int dtype, double factor, const char *what)
{
    static double complex some[COILS][PIXELS];
    const int64_t shape[3] = { COILS, SIDE, SIDE };
    hcy_coil_maps_options how = HCY_COIL_MAPS_OPTIONS_INIT;
    int lost = 0;
    for (int c = 1; c < COILS; c++)
        for (int i = 0; i < PIXELS; i++)
            some[c][i] = images[c][i] * factor;
    hcy_array *from = array_of(dtype, 3, shape, some[0]), *to = empty_of(dtype, 3, shape);
    how.method = method;
    how.calibration = 16;
    how.kernel = 4;
    st_ok(hcy_coil_maps(queue, to, from, &how), "a coil that receives nothing, %s", what);
    read_array(found[0], to);
    for (int i = 0; i < PIXELS; i++) {
        double norm = 0;
        for (int c = 0; c < COILS; c++)
            norm += creal(found[c][i] * conj(found[c][i]));
        lost += inside[i] && !(fabs(norm - 1) < 1e-4);
    }
    is_int(lost, 0, "the others' maps have norm 1");
    hcy_array_release(from);
    hcy_array_release(to);
}

/* Maps of images that went wrong are none: they are no coils that receive nothing. */
static void test_no_numbers(void)
{
    static double complex some[COILS][PIXELS];
    const int64_t shape[3] = { COILS, SIDE, SIDE };
    hcy_coil_maps_options how = HCY_COIL_MAPS_OPTIONS_INIT;
    int numbers = 0;
    memcpy(some, images, sizeof some);
    some[1][PIXELS / 2] = NAN;
    hcy_array *from = array_of(HCY_COMPLEX64, 3, shape, some[0]), *to = empty_of(HCY_COMPLEX64, 3, shape);
    st_ok(hcy_coil_maps(queue, to, from, &how), "an image with a number that is none");
    read_array(found[0], to);
    for (int i = 0; i < PIXELS; i++)
        numbers += !isnan(creal(found[1][i]));
    is_int(numbers, 0, "its maps are none");
    how.method = HCY_COIL_MAPS_ESPIRIT;
    st_says(hcy_coil_maps(queue, to, from, &how), HCY_EINVAL, "none or infinite", "ESPIRiT refuses it");
    hcy_array_release(from);
    hcy_array_release(to);
}

/* Coils that are combinations of three; of many of them eigenvectors are found in another way. */
static void test_compression(int n_coils)
{
    enum { MOST = 90, TRUE = 3, N = 50 };
    static double complex basis[TRUE][N], samples[MOST][N], few[TRUE][N], matrix[TRUE * MOST];
    const int64_t of_samples[2] = { n_coils, N }, of_few[2] = { TRUE, N }, of_matrix[2] = { TRUE, n_coils };
    char text[20];
    memset(samples, 0, sizeof samples);
    uint64_t seed = 5;
    double kept = 0, energy = 0, few_energy = 0, worst = 0;
    for (int t = 0; t < TRUE; t++)
        for (int i = 0; i < N; i++)
            basis[t][i] = (double)(int64_t)cts_random(&seed) / 0x1p63 + I * (double)(cts_random(&seed) >> 40) / 0x1p24;
    for (int c = 0; c < n_coils; c++)
        for (int t = 0; t < TRUE; t++) {
            const double complex factor = cexp(I * (c * 1.1 + t * t)) * (1 + c % (t + 2));
            for (int i = 0; i < N; i++)
                samples[c][i] += factor * basis[t][i];
        }
    hcy_array *from = array_of(HCY_COMPLEX128, 2, of_samples, samples[0]), *m = empty_of(HCY_COMPLEX128, 2, of_matrix),
              *to = empty_of(HCY_COMPLEX128, 2, of_few), *one = empty_of(HCY_COMPLEX128, 2, (int64_t[]){ 1, n_coils });
    st_ok(hcy_coil_compression(&kept, queue, m, from), "three coils of %d", n_coils);
    is_near(kept, 1, 1e-12, 0, "keep all energy of coils that are made of three");
    st_ok(hcy_coil_compress(queue, to, m, from), "samples of them");
    read_array(few[0], to);
    read_array(matrix, m);
    for (int i = 0; i < N; i++) {
        for (int c = 0; c < n_coils; c++) {
            double complex again = 0;
            for (int v = 0; v < TRUE; v++)
                again += conj(matrix[v * n_coils + c]) * few[v][i];
            worst = fmax(worst, cabs(again - samples[c][i]));
            energy += creal(samples[c][i] * conj(samples[c][i]));
        }
        for (int v = 0; v < TRUE; v++)
            few_energy += creal(few[v][i] * conj(few[v][i]));
    }
    is_near(few_energy, energy, 1e-12, 0, "have their energy");
    ok(worst < 1e-12, "and all coils can be made of them again (%g)", worst);
    st_ok(hcy_coil_compression(&kept, queue, one, from), "one coil");
    ok(kept > 1.0 / TRUE && kept < 1, "keeps the most that one can (%g)", kept);
    for (int size = -600; size <= 600; size += 1200) {
        static double complex far[MOST][N];
        double as_much = 0;
        for (int i = 0; i < n_coils * N; i++)
            far[i / N][i % N] = ldexp(1, size) * samples[i / N][i % N];
        hcy_array *other = array_of(HCY_COMPLEX128, 2, of_samples, far[0]);
        st_ok(hcy_coil_compression(&as_much, queue, one, other), "of samples times 2^%d", size);
        is_near(as_much, kept, 1e-12, 0, "it keeps as much");
        hcy_array_release(other);
    }
    st_says(hcy_coil_compress(queue, to, one, from), HCY_EINVAL, "go together", "another matrix is refused");
    snprintf(text, sizeof text, "%d coils", n_coils);
    st_says(hcy_coil_compression(NULL, queue, from, from), HCY_EINVAL, text, "as is one of another shape");
    samples[n_coils - 1][1] = NAN;
    hcy_array *none = array_of(HCY_COMPLEX128, 2, (const int64_t[]){ n_coils, N }, &samples[0][0]);
    snprintf(text, sizeof text, "of coil %d have", n_coils - 1);
    st_says(hcy_coil_compression(&kept, queue, one, none), HCY_EINVAL, text, "and so is a number that is none");
    hcy_array_release(none);
    hcy_array *const all[] = { from, m, to, one };
    for (size_t i = 0; i < 4; i++)
        hcy_array_release(all[i]);
}

static void test_refusals(void)
{
    const int64_t shape[3] = { COILS, SIDE, SIDE }, other[3] = { COILS, SIDE, 5 }, coils[3] = { 29, 16, 16 };
    hcy_array *a = empty_of(HCY_COMPLEX64, 3, shape), *b = empty_of(HCY_COMPLEX64, 3, other),
              *reals = empty_of(HCY_FLOAT32, 3, shape), *to = empty_of(HCY_COMPLEX64, 3, shape),
              *many = empty_of(HCY_COMPLEX64, 3, coils),
              *many_maps = empty_of(HCY_COMPLEX64, 3, coils);
    hcy_coil_maps_options how = HCY_COIL_MAPS_OPTIONS_INIT;
    st_says(hcy_coil_maps(queue, b, a, &how), HCY_EINVAL, "their shape", "maps of another shape");
    st_says(hcy_coil_maps(queue, a, a, &how), HCY_EINVAL, "share memory", "maps in the images' place");
    st_says(hcy_coil_maps(queue, to, reals, &how), HCY_EINVAL, "float32", "images of reals");
    st_says(hcy_coil_maps(queue, to, NULL, &how), HCY_EINVAL, "hcy_coil_maps", "no images");
    how.kernel = how.calibration + 1;
    st_says(hcy_coil_maps(queue, to, a, &how), HCY_EINVAL, "1 to as many", "a kernel beyond the calibration");
    how = (hcy_coil_maps_options)HCY_COIL_MAPS_OPTIONS_INIT;
    how.method = 7;
    st_says(hcy_coil_maps(queue, to, a, &how), HCY_EINVAL, "no method", "a method that is none");
    how.method = HCY_COIL_MAPS_ESPIRIT;
    how.kernel = 25;
    st_says(hcy_coil_maps(queue, to, a, &how), HCY_EINVAL, "a kernel of 25", "a kernel beyond the calibration");
    how.kernel = 6;
    st_says(hcy_coil_maps(queue, many_maps, many, &how), HCY_ERANGE, "hcy_coil_compression", "too many coils");
    hcy_array *const all[] = { a, b, reals, to, many, many_maps };
    for (size_t i = 0; i < 6; i++)
        hcy_array_release(all[i]);
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    const bool few = argc > 2 && !strcmp(argv[2], "few");
    dev = cts_open();
    queue = cts_queue(dev);
    if (!(hcy_device_get_info(dev)->caps & HCY_CAP_FFT))
        skip_all("%s has no FFT", hcy_device_get_info(dev)->name);
    make_images();
    check_maps(HCY_COIL_MAPS_ESPIRIT, HCY_COMPLEX128, 0.01, "maps by ESPIRiT");
    if (!few) {
        check_maps(HCY_COIL_MAPS_LOW, HCY_COMPLEX128, 0.03, "maps of low frequencies");
        check_maps(HCY_COIL_MAPS_LOW, HCY_COMPLEX64, 0.03, "maps of low frequencies in float");
        check_maps(HCY_COIL_MAPS_ESPIRIT, HCY_COMPLEX64, 0.01, "maps by ESPIRiT in float");
    }
    test_crop();
    test_hostile(HCY_COIL_MAPS_ESPIRIT, HCY_COMPLEX64, 1e20, "and loud ones, ESPIRiT");
    test_hostile(HCY_COIL_MAPS_LOW, HCY_COMPLEX64, 1e-30, "and faint ones, low frequencies");
    test_hostile(HCY_COIL_MAPS_ESPIRIT, HCY_COMPLEX128, 1e200, "and the loudest ones, ESPIRiT");
    test_hostile(HCY_COIL_MAPS_ESPIRIT, HCY_COMPLEX128, 1e-200, "and the faintest ones, ESPIRiT");
    test_no_numbers();
    test_compression(6);
    test_compression(90);
    test_refusals();
    (void)!hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
