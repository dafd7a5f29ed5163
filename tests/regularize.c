/* regularize.c - wavelets, proximal maps, and solvers with them, by what their results are known by: filters by their
 * equations, minima by their conditions, total variation by its dual, images by PyNUFFT's own figures.
 *
 *     tests/regularize [DEVICE [few]]        few: one type and some methods, where each text means a compilation
 */
#include "cts.h"

#include <complex.h>
#include <halcyon/eval.h>
#include <halcyon/host_array.h>
#include <halcyon/solve.h>

static hcy_device *dev;
static hcy_queue *queue;
static bool few;

enum { MOST = 512 };

static hcy_space space_of(int dtype, int rank, int64_t n0, int64_t n1, int64_t n2)
{
    hcy_space s = { dtype, rank, { n0, n1, n2 }, NULL };
    return s;
}
static int64_t count_of(const hcy_space *s)
{
    int64_t n = 1;
    for (int d = 0; d < s->rank; d++)
        n *= s->shape[d];
    return n;
}
/* Vectors are complex doubles here, whatever they are on the device. */
static hcy_array *vector_of(const hcy_space *s, const double complex *x)
{
    static float complex single[MOST];
    static double real[MOST];
    static float single_real[MOST];
    hcy_array *a = NULL;
    for (int64_t i = 0; i < count_of(s); i++) {
        single[i] = (float complex)x[i];
        real[i] = creal(x[i]);
        single_real[i] = crealf(single[i]);
    }
    const void *data = s->dtype == HCY_COMPLEX64 ? (const void *)single : x;
    if (s->dtype == HCY_FLOAT64)
        data = real;
    if (s->dtype == HCY_FLOAT32)
        data = single_real;
    if (hcy_array_from_host(&a, dev, s->dtype, s->rank, s->shape, data))
        bail_out("no array: %s", hcy_last_error()->text);
    return a;
}
static hcy_array *empty_of(const hcy_space *s)
{
    hcy_array *a = NULL;
    if (hcy_array_empty(&a, dev, s->dtype, s->rank, s->shape))
        bail_out("no array: %s", hcy_last_error()->text);
    return a;
}
static void read_vector(double complex *x, const hcy_space *s, hcy_array *a)
{
    static double bytes[2 * MOST];
    if (hcy_array_to_host(bytes, queue, a))
        bail_out("not read: %s", hcy_last_error()->text);
    for (int64_t i = 0; i < count_of(s); i++)
        x[i] = s->dtype == HCY_COMPLEX64 ? ((float complex *)bytes)[i]
               : s->dtype == HCY_FLOAT64 ? bytes[i]
               : s->dtype == HCY_FLOAT32 ? ((float *)bytes)[i]
                                         : ((double complex *)bytes)[i];
}
static double next_real(uint64_t *seed)
{
    return (double)(int64_t)cts_random(seed) / 0x1p63;
}
static void fill_vector(double complex *x, const hcy_space *s, uint64_t seed)
{
    for (int64_t i = 0; i < count_of(s); i++) {
        double re = next_real(&seed), im = next_real(&seed);
        x[i] = s->dtype == HCY_FLOAT64 ? re : re + I * im;
    }
}
static double worst_of(const double complex *x, const double complex *y, int64_t n)
{
    double worst = 0;
    for (int64_t i = 0; i < n; i++)
        worst = isnan(cabs(x[i] - y[i])) ? INFINITY : fmax(worst, cabs(x[i] - y[i]));
    return worst;
}
static double bound_of(const hcy_space *s)
{
    return s->dtype == HCY_COMPLEX64 ? 2e-6 : 2e-15;
}

/* --- Wavelets --- */

static double filter[2][8];

/* One level along an axis by the definition: y = smooth numbers, then details. */
static void transform_axis(double complex *x, const hcy_space *s, int axis, int level, int taps)
{
    double complex line[MOST];
    int64_t stride = 1, n = s->shape[axis] >> level;
    for (int d = axis + 1; d < s->rank; d++)
        stride *= s->shape[d];
    /* Lines outside of the level's corner are transformed too by this, so they are left out. */
    for (int64_t i = 0; i < count_of(s); i++) {
        int64_t rest = i;
        bool begins = true;
        for (int d = s->rank - 1; d >= 0; d--) {
            int64_t at = rest % s->shape[d];
            rest /= s->shape[d];
            begins = begins && (d == axis ? at == 0 : d == 0 && s->rank == 3 ? true : at < s->shape[d] >> level);
        }
        if (!begins)
            continue;
        for (int64_t j = 0; j < n; j++) {
            line[j] = 0;
            for (int k = 0; k < taps; k++)
                line[j] += filter[j >= n / 2][k] * x[i + (2 * (j % (n / 2)) + k) % n * stride];
        }
        for (int64_t j = 0; j < n; j++)
            x[i + j * stride] = line[j];
    }
}

/* The filters as the inverse has them, and Daubechies' equations for these. */
static void check_filter(int taps)
{
    hcy_space s = space_of(HCY_FLOAT64, 1, 16, 0, 0);
    hcy_operator *w = NULL;
    st_ok(hcy_operator_wavelet(&w, dev, &s, 1, taps, 1), "a wavelet of %d taps", taps);
    for (int detail = 0; detail < 2; detail++) {
        double complex unit[16] = { 0 }, got[16];
        unit[8 * detail] = 1;
        hcy_array *c = vector_of(&s, unit), *x = empty_of(&s);
        st_ok(hcy_operator_apply_adjoint(queue, x, w, c), "its inverse");
        read_vector(got, &s, x);
        for (int k = 0; k < 8; k++)
            filter[detail][k] = creal(got[k]);
        hcy_array_release(c);
        hcy_array_release(x);
    }
    double off = 0, front = 0;
    for (int m = 0; m < taps / 2; m++) {
        double same = m == 0 ? -1 : 0, cross = 0, moment = 0;
        for (int k = 0; k < taps; k++) {
            same += k + 2 * m < taps ? filter[0][k] * filter[0][k + 2 * m] : 0;
            cross += k + 2 * m < taps ? filter[0][k] * filter[1][k + 2 * m] : 0;
            moment += filter[1][k] * pow(k, m);
            front += m == 0 && k < taps / 2 ? filter[0][k] * filter[0][k] : 0;
        }
        off = fmax(off, fmax(fabs(same), fmax(fabs(cross), fabs(moment) / pow(taps, m))));
    }
    double sum = 0;
    for (int k = 0; k < taps; k++)
        sum += filter[0][k];
    ok(off < 1e-15 && fabs(sum - sqrt(2)) < 1e-15, "%d taps: orthonormal, with all moments that can vanish", taps);
    ok(front >= 0.5 - 1e-15, "of smallest phase");
    if (taps == 4)
        ok(fabs(filter[0][0] - (1 + sqrt(3)) / (4 * sqrt(2))) < 1e-15 &&
               fabs(filter[0][3] - (1 - sqrt(3)) / (4 * sqrt(2))) < 1e-15,
           "as Daubechies wrote them");
    hcy_operator_release(w);
}

static void check_wavelet(const hcy_space *s, int n_axes, int taps, int levels)
{
    double complex x[MOST], wanted[MOST], got[MOST];
    double mismatch = 1;
    hcy_operator *w = NULL;
    fill_vector(x, s, (uint64_t)taps * 10 + (uint64_t)levels);
    memcpy(wanted, x, sizeof wanted);
    for (int l = 0; l < levels; l++)
        for (int d = s->rank - n_axes; d < s->rank; d++)
            transform_axis(wanted, s, d, l, taps);
    hcy_array *a = vector_of(s, x), *c = empty_of(s), *back = empty_of(s);
    int status = hcy_operator_wavelet(&w, dev, s, n_axes, taps, levels);
    status = cts_first(status, hcy_operator_apply(queue, c, w, a));
    status = cts_first(status, hcy_operator_apply_adjoint(queue, back, w, c));
    status = cts_first(status, hcy_operator_dot_test(&mismatch, queue, w, 3, 1));
    st_ok(status, "%d taps, %d levels, %d of %d axes of %s", taps, levels, n_axes, s->rank, hcy_dtype_name(s->dtype));
    read_vector(got, s, c);
    ok(worst_of(got, wanted, count_of(s)) < 2 * bound_of(s), "coefficients are their sums");
    read_vector(got, s, back);
    ok(worst_of(got, x, count_of(s)) < 4 * bound_of(s), "the adjoint is the inverse");
    ok(mismatch < bound_of(s), "and the adjoint");
    hcy_array_release(a);
    hcy_array_release(c);
    hcy_array_release(back);
    hcy_operator_release(w);
}

static void test_wavelets(void)
{
    for (int taps = few ? 8 : 2; taps <= 8; taps += 2) {
        check_filter(taps);
        hcy_space line = space_of(HCY_COMPLEX128, 1, 16, 0, 0), image = space_of(HCY_FLOAT64, 2, 12, 20, 0),
                  block = space_of(HCY_COMPLEX64, 3, 8, 4, 12), frames = space_of(HCY_COMPLEX128, 3, 3, 8, 16);
        check_wavelet(&frames, 2, taps, 3);
        if (few)
            return;
        check_wavelet(&line, 1, taps, 4);
        check_wavelet(&image, 2, taps, 2);
        block.shape[0] = 4;
        check_wavelet(&block, 2, taps, 1);
    }
    hcy_space odd = space_of(HCY_FLOAT64, 2, 16, 12, 0);
    hcy_operator *w = NULL;
    st_says(hcy_operator_wavelet(&w, dev, &odd, 2, 4, 3), HCY_EINVAL, "axis 1 of 12 elements can be halved 2 times",
            "an axis that cannot be halved");
    st_says(hcy_operator_wavelet(&w, dev, &odd, 2, 5, 1), HCY_EINVAL, "5 taps", "taps that there are not");
    st_says(hcy_operator_wavelet(&w, dev, &odd, 3, 4, 1), HCY_EINVAL, "over 3 axes of 2", "too many axes");
}

/* --- Maps --- */

static void check_map(hcy_proximal *p, const hcy_space *s, double t, const double complex *x,
                      const double complex *wanted, const char *name)
{
    double complex got[MOST];
    hcy_array *a = vector_of(s, x), *y = empty_of(s);
    st_ok(hcy_proximal_apply(queue, y, p, a, t, 1), "%s of %s", name, hcy_dtype_name(s->dtype));
    read_vector(got, s, y);
    ok(worst_of(got, wanted, count_of(s)) < bound_of(s), "is what it should be");
    hcy_array_release(a);
    hcy_array_release(y);
    hcy_proximal_release(p);
}

static void test_maps(void)
{
    static const int types[] = { HCY_COMPLEX128, HCY_FLOAT64, HCY_COMPLEX64 };
    for (int k = 0; k < (few ? 1 : 3); k++) {
        hcy_space s = space_of(types[k], 1, 40, 0, 0);
        double complex x[40], wanted[4][40];
        hcy_proximal *p[4] = { NULL };
        fill_vector(x, &s, 77);
        for (int i = 0; i < 40; i++) {
            wanted[0][i] = cabs(x[i]) > 0.6 ? x[i] * (1 - 0.6 / cabs(x[i])) : 0;
            wanted[1][i] = x[i] / (1 + 0.6);
            wanted[2][i] = fmin(fmax(creal(x[i]), 0), 0.25);
            wanted[3][i] = creal(x[i]);
        }
        st_ok(hcy_proximal_l1(&p[0], dev, &s, 0.3), "l1");
        st_ok(hcy_proximal_l2(&p[1], dev, &s, 0.3), "l2");
        st_ok(hcy_proximal_box(&p[2], dev, &s, 0, 0.25), "bounds");
        st_ok(hcy_proximal_box(&p[3], dev, &s, -INFINITY, INFINITY), "no bounds");
        check_map(p[0], &s, 2, x, wanted[0], "the map of l1");
        check_map(p[1], &s, 2, x, wanted[1], "the map of l2");
        check_map(p[2], &s, 2, x, wanted[2], "the map of bounds");
        check_map(p[3], &s, 2, x, wanted[3], "the real part");
    }
}

/* The least sum of |x - v|^2 / 2 + lambda TV(x) over an image, by many iterations of its dual in plain C. */
static void denoise(double complex *x, const double complex *v, int n0, int n1, double lambda, bool together)
{
    static double complex u[2][MOST], ahead[2][MOST], next[2];
    double momentum = 1;
    memset(u, 0, sizeof u);
    memset(ahead, 0, sizeof ahead);
    for (int k = 0; k <= 6000; k++) {
        for (int i = 0; i < n0 * n1; i++) {
            double complex(*from)[MOST] = k == 6000 ? u : ahead;
            x[i] = v[i] - (i / n1 ? from[0][i - n1] : 0) + from[0][i] - (i % n1 ? from[1][i - 1] : 0) + from[1][i];
        }
        double then = (1 + sqrt(1 + 4 * momentum * momentum)) / 2;
        for (int i = 0; k < 6000 && i < n0 * n1; i++) {
            next[0] = ahead[0][i] + (i / n1 < n0 - 1 ? x[i + n1] - x[i] : 0) / 8;
            next[1] = ahead[1][i] + (i % n1 < n1 - 1 ? x[i + 1] - x[i] : 0) / 8;
            double both = hypot(cabs(next[0]), cabs(next[1]));
            for (int d = 0; d < 2; d++) {
                double size = together ? both : cabs(next[d]);
                next[d] /= fmax(1, size / lambda);
                ahead[d][i] = next[d] + (momentum - 1) / then * (next[d] - u[d][i]);
                u[d][i] = next[d];
            }
        }
        momentum = then;
    }
}

static void test_variation(void)
{
    hcy_space image = space_of(HCY_COMPLEX128, 2, 9, 7, 0);
    double complex v[MOST], wanted[MOST], got[MOST];
    fill_vector(v, &image, 3);
    for (int i = 0; i < 63; i++)
        v[i] += i % 7 > 3 && i / 7 > 2;
    for (int kind = HCY_TV_ISOTROPIC; kind <= (few ? HCY_TV_ISOTROPIC : HCY_TV_ANISOTROPIC); kind++) {
        hcy_proximal *tv = NULL;
        hcy_array *a = vector_of(&image, v), *y = empty_of(&image);
        denoise(wanted, v, 9, 7, 0.4, kind == HCY_TV_ISOTROPIC);
        int status = hcy_proximal_tv(&tv, dev, &image, 2, kind, 0.2);
        status = cts_first(status, hcy_proximal_apply(queue, y, tv, a, 2, few ? 300 : 2000));
        st_ok(status, "the map of total variation %d", kind);
        read_vector(got, &image, y);
        double off = worst_of(got, wanted, 63);
        ok(off < (few ? 1e-4 : 1e-6), "is the dual's (%g)", off);
        hcy_array_release(a);
        hcy_array_release(y);
        hcy_proximal_release(tv);
    }
}

/* --- Low rank, by blocks that are made of their singular values --- */

enum { LAYERS = 5, HIGH = 6, WIDE = 7, PIXELS = HIGH * WIDE };

/* `count` orthonormal rows of n numbers. */
static void draw_orthonormal(double complex rows[][PIXELS], int count, int n, bool is_real, uint64_t *seed)
{
    for (int r = 0; r < count; r++) {
        for (int i = 0; i < n; i++) {
            rows[r][i] = next_real(seed);
            rows[r][i] += is_real ? 0 : I * next_real(seed);
        }
        /* Twice, for what the first time leaves. */
        for (int s = 0; s < 2 * r; s++) {
            double complex dot = 0;
            for (int i = 0; i < n; i++)
                dot += conj(rows[s % r][i]) * rows[r][i];
            for (int i = 0; i < n; i++)
                rows[r][i] -= dot * rows[s % r][i];
        }
        double square = 0;
        for (int i = 0; i < n; i++)
            square += pow(cabs(rows[r][i]), 2);
        for (int i = 0; i < n; i++)
            rows[r][i] /= sqrt(square);
    }
}

/* Images whose blocks, which begin at `shifts`, have the singular values 2^(2 - 3 k), and those less `threshold`. */
static void draw_blocks(double complex *x, double complex *wanted, int block, const int shifts[2], double threshold,
                        bool is_real)
{
    double complex left[PIXELS][PIXELS], right[LAYERS][PIXELS];
    int pixels[PIXELS], across = (WIDE + block - 1) / block, down = (HIGH + block - 1) / block;
    uint64_t seed = 5;
    for (int b = 0; b < down * across; b++) {
        int n = 0;
        for (int i = 0; i < PIXELS; i++)
            if ((i / WIDE + HIGH - shifts[0]) % HIGH / block == b / across &&
                (i % WIDE + WIDE - shifts[1]) % WIDE / block == b % across)
                pixels[n++] = i;
        const int rank = n < LAYERS ? n : LAYERS;
        draw_orthonormal(left, rank, n, is_real, &seed);
        draw_orthonormal(right, rank, LAYERS, is_real, &seed);
        for (int i = 0; i < n; i++)
            for (int f = 0; f < LAYERS; f++) {
                double complex *from = &x[f * PIXELS + pixels[i]], *to = &wanted[f * PIXELS + pixels[i]];
                *from = *to = 0;
                for (int k = 0; k < rank; k++) {
                    *from += left[k][i] * right[k][f] * ldexp(4, -3 * k);
                    *to += left[k][i] * right[k][f] * fmax(0, ldexp(4, -3 * k) - threshold);
                }
            }
    }
}

static void check_low_rank(int dtype, int block, bool is_shifted)
{
    /* Where the second map has its blocks: fractions 0.819 and 0.671 of them. */
    const int shifts[2][2] = { { 0, 0 }, { (int)(0.819 * block), (int)(0.671 * block) } };
    const double threshold = 0.06;
    hcy_space s = space_of(dtype, 3, LAYERS, HIGH, WIDE);
    hcy_proximal *p = NULL;
    st_ok(hcy_proximal_low_rank(&p, dev, &s, 2, block, is_shifted, threshold / 2), "blocks of %d pixels", block);
    for (int map = 0; map < 2; map++) {
        double complex x[MOST], wanted[MOST], got[MOST];
        draw_blocks(x, wanted, block, shifts[is_shifted * map], threshold, dtype == HCY_FLOAT64);
        hcy_array *a = vector_of(&s, x), *y = empty_of(&s);
        st_ok(hcy_proximal_apply(queue, y, p, a, 2, 1), "map %d of %s", map, hcy_dtype_name(dtype));
        read_vector(got, &s, y);
        const double off = worst_of(got, wanted, count_of(&s));
        ok(off < (dtype == HCY_COMPLEX64 ? 2e-6 : 1e-14), "has singular values that are smaller by t lambda (%g)", off);
        hcy_array_release(a);
        hcy_array_release(y);
    }
    hcy_proximal_release(p);
}

/* A solver that went wrong is to see that: its numbers that are none do not become 0. */
static void check_no_numbers(void)
{
    hcy_space s = space_of(HCY_COMPLEX128, 3, LAYERS, HIGH, WIDE);
    double complex x[MOST] = { NAN }, got[MOST];
    hcy_proximal *p = NULL;
    hcy_array *a = vector_of(&s, x), *y = empty_of(&s);
    st_ok(hcy_proximal_low_rank(&p, dev, &s, 2, 4, 0, 0.1), "low rank");
    st_ok(hcy_proximal_apply(queue, y, p, a, 1, 1), "of a number that is none");
    read_vector(got, &s, y);
    ok(isnan(creal(got[0])) && got[WIDE - 1] == 0, "is none, and 0 in another block");
    hcy_array_release(a);
    hcy_array_release(y);
    hcy_proximal_release(p);
}

/* The map is of numbers of any size: t and result go with them. */
static void check_low_rank_sizes(void)
{
    static const double sizes[] = { 1, 0x1p-300, 0x1p280, 0x1p-900, 0x1p900 };
    hcy_space s = space_of(HCY_FLOAT64, 3, LAYERS, HIGH, WIDE);
    double complex x[MOST], want[MOST], got[MOST];
    hcy_proximal *p = NULL;
    st_ok(hcy_proximal_low_rank(&p, dev, &s, 2, 4, 0, 0.1), "low rank");
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        size_t wrong = 0, n = LAYERS * HIGH * WIDE;
        for (size_t i = 0; i < n; i++)
            x[i] = sizes[k] * cos((double)(i * i % 97));
        hcy_array *a = vector_of(&s, x), *y = empty_of(&s);
        st_ok(hcy_proximal_apply(queue, y, p, a, 3 * sizes[k], 1), "of numbers near %g", sizes[k]);
        read_vector(k ? got : want, &s, y);
        for (size_t i = 0; k && i < n; i++)
            wrong += creal(got[i]) != sizes[k] * creal(want[i]);
        if (k)
            ok(!wrong, "is as near 1");
        hcy_array_release(a);
        hcy_array_release(y);
    }
    hcy_proximal_release(p);
}

/* Of floats whose squares are no floats: images that are a power of two times others have results that are, too. */
static void test_scales(void)
{
    static const int exponents[] = { 0, -85, 85 };
    static double complex x[MOST], first[MOST], y[MOST];
    for (int k = 0; k < 4; k++) {
        const int dtype = k % 2 ? HCY_COMPLEX64 : HCY_FLOAT32, n_axes = 2 + k / 2;
        const hcy_space image = space_of(dtype, 3, 4, 3, 5), both = { dtype, 4, { 1 + n_axes, 4, 3, 5 }, NULL };
        for (int e = 0; e < 6; e++) {
            const hcy_space *s = e < 3 ? &image : &both;
            const double scale = ldexp(1, exponents[e % 3]);
            hcy_proximal *p = NULL;
            uint64_t seed = 3;
            double off = 0, moved = 0;
            for (int64_t i = 0; i < count_of(s); i++) {
                const double re = next_real(&seed), im = next_real(&seed);
                x[i] = scale * (float complex)(re + (k % 2 ? I * im : 0));
            }
            hcy_array *a = vector_of(s, x), *b = empty_of(s);
            int status = e < 3 ? hcy_proximal_tv(&p, dev, s, n_axes, HCY_TV_ISOTROPIC, 0.1 * scale)
                               : hcy_proximal_tgv(&p, dev, &image, n_axes, 0.1 * scale, 0.2 * scale);
            status = cts_first(status, hcy_proximal_apply(queue, b, p, a, 1, 20));
            read_vector(y, s, b);
            for (int64_t i = 0; i < count_of(s); i++) {
                first[i] = e % 3 ? first[i] : y[i];
                off = fmax(off, cabs(y[i] / scale - first[i]));
                moved = fmax(moved, cabs(y[i] - x[i]) / scale);
            }
            st_ok(status, "%s of %s along %d axes", e < 3 ? "variation" : "generalised variation",
                  hcy_dtype_name(dtype), n_axes);
            ok(off < 1e-5 && moved > 0.05, "times 2^%d as they are (off by %.1e)", exponents[e % 3], off);
            hcy_array_release(a);
            hcy_array_release(b);
            hcy_proximal_release(p);
        }
    }
}

static void test_low_rank(void)
{
    static const int types[] = { HCY_COMPLEX128, HCY_FLOAT64, HCY_COMPLEX64 };
    for (int k = 0; k < (few ? 1 : 3); k++)
        for (int block = 2; block <= 8; block *= 2)
            check_low_rank(types[k], block, block < 8);
    check_low_rank(HCY_COMPLEX128, 4, false);
    check_no_numbers();
    if (!few)
        check_low_rank_sizes();
}

/* --- Total generalised variation, by a dense matrix --- */

enum { MOST_COLUMNS = 4 * 12, MOST_ROWS = 9 * 12 };
static double variation[MOST_ROWS][MOST_COLUMNS];

/* variation[row + pixel][of + pixel] += factor times a difference along an axis: to the next pixel, or from the one
 * before. */
static void add_difference(const hcy_space *s, int row, int of, int axis, bool forward, double factor)
{
    int stride = 1, n = (int)count_of(s);
    for (int d = axis + 1; d < s->rank; d++)
        stride *= (int)s->shape[d];
    for (int i = 0; i < n; i++) {
        const int at = i / stride % (int)s->shape[axis];
        if (forward ? at + 1 == s->shape[axis] : at == 0)
            continue;
        variation[row * n + i][of * n + (forward ? i + stride : i)] += factor;
        variation[row * n + i][of * n + (forward ? i : i - stride)] -= factor;
    }
}

static int fill_variation(const hcy_space *s)
{
    const int n = (int)count_of(s);
    int row = 0;
    memset(variation, 0, sizeof variation);
    for (int d = 0; d < s->rank; d++, row++) {
        add_difference(s, row, 0, d, true, 1);
        for (int i = 0; i < n; i++)
            variation[row * n + i][(1 + d) * n + i] = -1;
    }
    for (int a = 0; a < s->rank; a++)
        for (int b = a; b < s->rank; b++, row++) {
            /* Half of both; twice there, which is a root of two in a length. */
            add_difference(s, row, 1 + a, b, false, a == b ? 1 : sqrt(0.5));
            if (a != b)
                add_difference(s, row, 1 + b, a, false, sqrt(0.5));
        }
    return row;
}

/* u's rows of a pixel, from one on, become no longer than `most` together. */
static void limit_lengths(double complex *u, int n, int first, int end, double most)
{
    for (int i = 0; i < n; i++) {
        double square = 0;
        for (int r = first; r < end; r++)
            square += creal(u[r * n + i] * conj(u[r * n + i]));
        for (int r = first; r < end; r++)
            u[r * n + i] *= square > most * most ? most / sqrt(square) : 1;
    }
}

/* The least |x - b|^2 / 2 + TGV by primal and dual steps with that matrix. */
static void denoise_generalised(double complex *x, const double complex *b, const hcy_space *s, double first,
                                double second, int iterations)
{
    static double complex z[MOST_COLUMNS], ahead[MOST_COLUMNS], u[MOST_ROWS];
    const int n = (int)count_of(s), rows = fill_variation(s) * n, columns = (1 + s->rank) * n;
    const double step = 1 / sqrt(4 * s->rank + 5);
    memset(z, 0, sizeof z);
    memset(ahead, 0, sizeof ahead);
    memset(u, 0, sizeof u);
    for (int k = 0; k < iterations; k++) {
        for (int r = 0; r < rows; r++)
            for (int c = 0; c < columns; c++)
                u[r] += step * variation[r][c] * ahead[c];
        limit_lengths(u, n, 0, s->rank, first);
        limit_lengths(u, n, s->rank, rows / n, second);
        for (int c = 0; c < columns; c++) {
            double complex next = z[c];
            for (int r = 0; r < rows; r++)
                next -= step * variation[r][c] * u[r];
            if (c < n)
                next = (next + step * b[c]) / (1 + step);
            ahead[c] = 2 * next - z[c];
            z[c] = next;
        }
    }
    memcpy(x, z, (size_t)n * sizeof *x);
}

static void check_generalised(const hcy_space *image)
{
    const int n = (int)count_of(image);
    double complex b[MOST], wanted[MOST], got[MOST];
    hcy_operator *identity = NULL, *part = NULL, *a = NULL;
    hcy_proximal *tgv = NULL;
    hcy_solver *solver = NULL;
    hcy_array *data, *x = NULL, *first = NULL;
    hcy_solver_options how = HCY_SOLVER_OPTIONS_INIT;
    double mismatch = NAN;
    fill_vector(b, image, 5);
    for (int i = 0; i < n; i++)
        b[i] = 0.3 * b[i] + 0.2 * i;
    denoise_generalised(wanted, b, image, 0.15, 0.25, 3000);
    data = vector_of(image, b);
    st_ok(hcy_operator_identity(&identity, dev, image), "images of %d axes", image->rank);
    st_ok(hcy_operator_part(&part, dev, image, 1 + image->rank, 0), "of an image and a field");
    st_ok(hcy_operator_dot_test(&mismatch, queue, part, 2, 1), "whose adjoint");
    ok(mismatch < 1e-14, "is one (%g)", mismatch);
    st_ok(hcy_operator_compose(&a, (hcy_operator *[]){ identity, part }, 2), "as an operator");
    st_ok(hcy_proximal_tgv(&tgv, dev, image, image->rank, 0.15, 0.25), "total generalised variation");
    how.method = HCY_SOLVER_PRIMAL_DUAL;
    how.max_iterations = 1500;
    how.proximals = &tgv;
    how.n_proximals = 1;
    st_ok(hcy_solver_create(&solver, queue, a, &how), "a solver");
    st_ok(hcy_solver_start(solver, data, NULL), "is started");
    st_ok(hcy_solver_run(solver, how.max_iterations), "and run");
    st_ok(hcy_solver_get_x(&x, solver), "its result");
    st_ok(hcy_array_slice(&first, x, "0"), "is the image");
    read_vector(got, image, first);
    double off = worst_of(got, wanted, n);
    ok(off < 1e-4 && worst_of(got, b, n) > 0.05, "that the dense matrix makes (%g)", off);
    hcy_array *const arrays[] = { data, x, first };
    for (int i = 0; i < 3; i++)
        hcy_array_release(arrays[i]);
    hcy_solver_destroy(solver);
    hcy_proximal_release(tgv);
    hcy_operator *const ops[] = { identity, part, a };
    for (int i = 0; i < 3; i++)
        hcy_operator_release(ops[i]);
}

static void test_generalised(void)
{
    const hcy_space plane = space_of(HCY_COMPLEX128, 2, 4, 3, 0), line = space_of(HCY_FLOAT64, 1, 12, 0, 0),
                    cube = space_of(HCY_COMPLEX128, 3, 2, 3, 2);
    hcy_proximal *tgv = NULL;
    hcy_operator *op = NULL;
    check_generalised(&plane);
    check_generalised(&line);
    check_generalised(&cube);
    st_says(hcy_proximal_tgv(&tgv, dev, &plane, 3, 1, 1), HCY_EINVAL, "3 axes of 2", "more axes than there are");
    st_says(hcy_proximal_tgv(&tgv, dev, &plane, 2, 1, -1), HCY_EINVAL, "-1", "a factor below 0");
    st_says(hcy_operator_part(&op, dev, &plane, 2, 2), HCY_EINVAL, "vector 2 of 2", "a vector that is none");
}

/* --- Minima --- */

#define LAMBDA 1.5
enum { ROWS = 24, COLUMNS = 16 };
static double complex matrix[ROWS * COLUMNS], data[ROWS];

struct problem {
    hcy_space domain, range;
    hcy_operator *a, *gram, *adjoint, *wavelet;
    hcy_array *b, *gram_b;
    hcy_proximal *prox[3];
    hcy_solver *solver;
    double l2, step;
};

static void make_problem(struct problem *p, int dtype, int rows)
{
    hcy_space whole = space_of(dtype, 2, rows, COLUMNS, 0);
    memset(p, 0, sizeof *p);
    p->domain = space_of(dtype, 1, COLUMNS, 0, 0);
    p->range = space_of(dtype, 1, rows, 0, 0);
    fill_vector(matrix, &whole, 41);
    /* Data of steps, and of noise. */
    fill_vector(data, &p->range, 42);
    for (int i = 0; i < rows; i++) {
        data[i] *= rows < COLUMNS ? 0 : 0.1;
        for (int j = 0; j < COLUMNS; j++)
            data[i] += matrix[i * COLUMNS + j] * (j < 5 ? 1 : j < 11 ? -0.5 : 0.25);
    }
    hcy_array *numbers = vector_of(&whole, matrix);
    p->b = vector_of(&p->range, data);
    p->gram_b = empty_of(&p->domain);
    if (hcy_operator_matrix(&p->a, numbers) || hcy_operator_adjoint(&p->adjoint, p->a) ||
        hcy_operator_compose(&p->gram, (hcy_operator *[]){ p->adjoint, p->a }, 2) ||
        hcy_operator_apply(queue, p->gram_b, p->adjoint, p->b) ||
        hcy_operator_wavelet(&p->wavelet, dev, &p->domain, 1, 4, 2))
        bail_out("no operator: %s", hcy_last_error()->text);
    hcy_array_release(numbers);
}
static void free_problem(struct problem *p)
{
    hcy_solver_destroy(p->solver);
    for (int i = 0; i < 3; i++)
        hcy_proximal_release(p->prox[i]);
    hcy_operator *const ops[] = { p->a, p->gram, p->adjoint, p->wavelet };
    for (int i = 0; i < 4; i++)
        hcy_operator_release(ops[i]);
    hcy_array_release(p->b);
    hcy_array_release(p->gram_b);
}
static hcy_solver_info info_of(const hcy_solver *s)
{
    hcy_solver_info info = HCY_SOLVER_INFO_INIT;
    if (hcy_solver_get_info(&info, s))
        bail_out("%s", hcy_last_error()->text);
    return info;
}

/* x = the solution of a method with the problem's first n regularisers. */
static void solve(double complex *x, struct problem *p, int method, size_t n, bool is_gram, int iterations)
{
    hcy_solver_options o = HCY_SOLVER_OPTIONS_INIT;
    hcy_array *a = NULL;
    o.method = method;
    o.proximals = p->prox;
    o.n_proximals = n;
    o.is_gram = is_gram;
    o.l2 = p->l2;
    o.step = p->step;
    o.max_iterations = iterations;
    o.tolerance = 1e-13;
    o.check_every = 100;
    hcy_solver_destroy(p->solver);
    p->solver = NULL;
    int status = hcy_solver_create(&p->solver, queue, is_gram ? p->gram : p->a, &o);
    if (!status)
        status = hcy_solver_start(p->solver, is_gram ? p->gram_b : p->b, NULL);
    if (!status)
        status = hcy_solver_run(p->solver, iterations);
    if (!status)
        status = hcy_solver_get_x(&a, p->solver);
    if (status)
        bail_out("%s", hcy_last_error()->text);
    read_vector(x, &p->domain, a);
    hcy_array_release(a);
}

/* A^H (b - A x) - l2 x. */
static void gradient_of(double complex *g, const struct problem *p, const double complex *x)
{
    for (int j = 0; j < COLUMNS; j++)
        g[j] = -p->l2 * x[j];
    for (int i = 0; i < p->range.shape[0]; i++) {
        double complex r = data[i];
        for (int j = 0; j < COLUMNS; j++)
            r -= matrix[i * COLUMNS + j] * x[j];
        for (int j = 0; j < COLUMNS; j++)
            g[j] += conj(matrix[i * COLUMNS + j]) * r;
    }
}
/* How far v is from lambda c / |c|, or from what is as long at most. */
static double miss_of(double complex v, double complex c, double lambda)
{
    return cabs(c) > 1e-7 ? cabs(v - lambda * c / cabs(c)) : fmax(cabs(v) - lambda, 0);
}

/* The conditions of a minimum with lambda TV in one dimension: sums of the gradient are the dual. */
static double miss_of_variation(const struct problem *p, const double complex *x, double lambda, int *flat)
{
    double complex g[COLUMNS], sum = 0;
    double worst = 0;
    *flat = 0;
    gradient_of(g, p, x);
    for (int j = 0; j + 1 < COLUMNS; j++) {
        sum -= g[j];
        worst = fmax(worst, miss_of(sum, x[j + 1] - x[j], lambda));
        *flat += cabs(x[j + 1] - x[j]) < 1e-7;
    }
    return fmax(worst, cabs(sum - g[COLUMNS - 1]));
}
static double miss_of_wavelet(const struct problem *p, const double complex *x, double lambda, int *zeros)
{
    double complex g[COLUMNS], c[2][COLUMNS];
    double worst = 0;
    *zeros = 0;
    gradient_of(g, p, x);
    for (int i = 0; i < 2; i++) {
        hcy_array *from = vector_of(&p->domain, i ? g : x), *to = empty_of(&p->domain);
        if (hcy_operator_apply(queue, to, p->wavelet, from))
            bail_out("%s", hcy_last_error()->text);
        read_vector(c[i], &p->domain, to);
        hcy_array_release(from);
        hcy_array_release(to);
    }
    for (int j = 0; j < COLUMNS; j++) {
        worst = fmax(worst, miss_of(c[1][j], c[0][j], lambda));
        *zeros += cabs(c[0][j]) < 1e-7;
    }
    return worst;
}

static void check_minimum(int method, int dtype, bool wavelet, bool is_gram, double l2)
{
    struct problem p;
    double complex x[COLUMNS];
    int found = 0;
    make_problem(&p, dtype, ROWS);
    p.l2 = l2;
    st_ok(wavelet ? hcy_proximal_wavelet(&p.prox[0], dev, &p.domain, 1, 4, 2, LAMBDA)
                  : hcy_proximal_tv(&p.prox[0], dev, &p.domain, 1, HCY_TV_ISOTROPIC, LAMBDA),
          "a regulariser");
    solve(x, &p, method, 1, is_gram, 4000);
    hcy_solver_info info = info_of(p.solver);
    double miss = wavelet ? miss_of_wavelet(&p, x, LAMBDA, &found) : miss_of_variation(&p, x, LAMBDA, &found);
    ok(miss < 1e-8 && found > 2 && found < COLUMNS, "%s of %s with %s%s: a minimum (%g, %d at rest)", info.method,
       hcy_dtype_name(dtype), wavelet ? "a wavelet" : "total variation", is_gram ? ", by A^H A" : "", miss, found);
    ok(info.reason == HCY_SOLVER_TOLERANCE || info.last < 1e-9 * info.first,
       "after %lld iterations, %g of the residual", (long long)info.iterations, info.last / info.first);
    free_problem(&p);
}

static void test_minima(void)
{
    static const int methods[] = { HCY_SOLVER_PRIMAL_DUAL, HCY_SOLVER_ADMM, HCY_SOLVER_FISTA };
    for (int i = 0; i < (few ? 1 : 3); i++) {
        check_minimum(methods[i], HCY_FLOAT64, false, false, 0);
        if (few)
            continue;
        check_minimum(methods[i], HCY_COMPLEX128, true, false, 0.2);
        check_minimum(methods[i], HCY_COMPLEX128, false, false, 0.2);
        check_minimum(methods[i], HCY_COMPLEX128, false, true, 0);
    }
}

/* Several regularisers at once: two methods that share little find one minimum, within the bounds. */
static void test_several(void)
{
    struct problem p;
    double complex x[2][COLUMNS];
    int at_bound = 0;
    make_problem(&p, HCY_COMPLEX128, ROWS);
    int status = hcy_proximal_box(&p.prox[0], dev, &p.domain, -0.4, INFINITY);
    status = cts_first(status, hcy_proximal_tv(&p.prox[1], dev, &p.domain, 1, HCY_TV_ANISOTROPIC, 0.3));
    status = cts_first(status, hcy_proximal_wavelet(&p.prox[2], dev, &p.domain, 1, 2, 1, 0.1));
    st_ok(status, "three regularisers");
    solve(x[0], &p, HCY_SOLVER_PRIMAL_DUAL, 3, false, 6000);
    const double step = info_of(p.solver).step;
    solve(x[1], &p, HCY_SOLVER_ADMM, 3, false, 3000);
    double off = worst_of(x[0], x[1], COLUMNS), below = 0;
    for (int j = 0; j < COLUMNS; j++) {
        below = fmax(below, fmax(-0.4 - creal(x[0][j]), fabs(cimag(x[0][j]))));
        at_bound += fabs(creal(x[0][j]) + 0.4) < 1e-8;
    }
    ok(off < 1e-6, "primal_dual and admm find the same (%g)", off);
    ok(below < 1e-9 && at_bound > 0, "real and within the bounds, some at them (%g)", below);
    /* That step takes a half of what there is, and the duals the other one; with a longer one they have the rest. */
    p.step = 1.6 * step;
    solve(x[0], &p, HCY_SOLVER_PRIMAL_DUAL, 3, false, 6000);
    off = worst_of(x[0], x[1], COLUMNS);
    ok(off < 1e-6, "so does primal_dual with a longer step that is given (%g)", off);
    free_problem(&p);
}

/* Fewer equations than unknowns: of all solutions that with the least total variation, which the steps have. */
static void test_bregman(void)
{
    struct problem p;
    double complex x[COLUMNS], steps[COLUMNS];
    for (int j = 0; j < COLUMNS; j++)
        steps[j] = j < 5 ? 1 : j < 11 ? -0.5 : 0.25;
    make_problem(&p, HCY_FLOAT64, 11);
    st_ok(hcy_proximal_tv(&p.prox[0], dev, &p.domain, 1, HCY_TV_ISOTROPIC, 1), "total variation");
    solve(x, &p, HCY_SOLVER_SPLIT_BREGMAN, 1, false, 3000);
    hcy_solver_info info = info_of(p.solver);
    double off = worst_of(x, steps, COLUMNS), norm = 0;
    for (int i = 0; i < 11; i++)
        norm += creal(data[i]) * creal(data[i]);
    ok(off < 1e-7, "split_bregman finds steps in 11 of 16 equations (%g, %lld iterations)", off,
       (long long)info.iterations);
    is_near(info.first, sqrt(norm), 1e-14, 0, "from a residual of the data");
    solve(x, &p, HCY_SOLVER_ADMM, 1, false, 300);
    ok(worst_of(x, steps, COLUMNS) > 1e-3, "which no weight of the misfit gives");
    free_problem(&p);
}

/* --- Gradients of the misfit --- */

enum { POINTS = 40, MODES0 = 10, MODES1 = 7, FRAMES = 2 };

struct sampling {
    double x[2][POINTS];
    double complex m[FRAMES][MODES0 * MODES1], d[FRAMES][POINTS];
};

/* The value, and the gradient in the points and the image, of direct sums. */
static double sum_directly(double g[2][POINTS], double complex gm[FRAMES][MODES0 * MODES1], const struct sampling *s,
                           int order)
{
    double value = 0;
    memset(g, 0, sizeof(double[2][POINTS]));
    memset(gm, 0, sizeof(double complex[FRAMES][MODES0 * MODES1]));
    for (int f = 0; f < FRAMES; f++)
        for (int j = 0; j < POINTS; j++) {
            double complex wave[MODES0 * MODES1], r = -s->d[f][j], slope[2] = { 0, 0 };
            for (int i = 0; i < MODES0 * MODES1; i++) {
                int k[2] = { i / MODES1, i % MODES1 };
                for (int d = 0; d < 2; d++) {
                    int n = d ? MODES1 : MODES0;
                    k[d] = order == HCY_NUFFT_CENTRED ? k[d] - n / 2 : k[d] < n - n / 2 ? k[d] : k[d] - n;
                }
                wave[i] = cexp(-I * (k[0] * s->x[0][j] + k[1] * s->x[1][j]));
                r += s->m[f][i] * wave[i];
                for (int d = 0; d < 2; d++)
                    slope[d] += -I * k[d] * s->m[f][i] * wave[i];
            }
            value += creal(r * conj(r)) / 2;
            for (int d = 0; d < 2; d++)
                g[d][j] += creal(conj(r) * slope[d]);
            for (int i = 0; i < MODES0 * MODES1; i++)
                gm[f][i] += conj(wave[i]) * r;
        }
    return value;
}

/* The value that is computed, and the gradients where they are wanted. */
static int differentiate(double *value, double g[2][POINTS], double complex gm[FRAMES][MODES0 * MODES1],
                         double complex gd[FRAMES][POINTS], const struct sampling *s, int order)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    hcy_nufft_options opts = HCY_NUFFT_OPTIONS_INIT;
    hcy_space modes = space_of(HCY_COMPLEX128, 3, FRAMES, MODES0, MODES1),
              samples = space_of(HCY_COMPLEX128, 2, FRAMES, POINTS, 0), points = space_of(HCY_FLOAT64, 2, 2, POINTS, 0),
              number = space_of(HCY_FLOAT64, 0, 0, 0, 0);
    hcy_nufft *plan = NULL;
    hcy_misfit *misfit = NULL;
    desc.type = desc.dim = 2;
    desc.modes[0] = MODES0;
    desc.modes[1] = MODES1;
    desc.sign = -1;
    desc.n_transforms = FRAMES;
    desc.eps = 1e-13;
    opts.order = order;
    /* A grid in one of both: so few points would be summed directly. */
    opts.upsampling = order == HCY_NUFFT_CENTRED ? 2 : 0;
    int status = hcy_nufft_create(&plan, dev, &desc, &opts);
    if (!status)
        status = hcy_nufft_set_points(plan, POINTS, (const void *[]){ s->x[0], s->x[1] }, 0, NULL);
    if (!status)
        status = hcy_misfit_create(&misfit, plan);
    hcy_array *const a[] = { vector_of(&modes, s->m[0]), vector_of(&samples, s->d[0]), empty_of(&modes),
                             empty_of(&samples), empty_of(&points), empty_of(&number) };
    if (!status)
        status = hcy_misfit_gradient(queue, a[5], gm ? a[2] : NULL, gd ? a[3] : NULL, g ? a[4] : NULL, misfit, a[0],
                                     a[1]);
    if (!status)
        status = hcy_array_to_host(value, queue, a[5]);
    if (!status && g)
        status = hcy_array_to_host(g, queue, a[4]);
    if (!status && gm)
        status = hcy_array_to_host(gm, queue, a[2]);
    if (!status && gd)
        status = hcy_array_to_host(gd, queue, a[3]);
    hcy_misfit_destroy(misfit);
    (void)!hcy_queue_finish(queue);
    hcy_nufft_destroy(plan);
    for (int i = 0; i < 6; i++)
        hcy_array_release(a[i]);
    return status;
}

static void check_gradients(int order)
{
    static struct sampling s;
    static double g[2][POINTS], wanted[2][POINTS];
    static double complex gm[FRAMES][MODES0 * MODES1], wanted_m[FRAMES][MODES0 * MODES1], gd[FRAMES][POINTS];
    uint64_t seed = 17;
    double value = 0, off = 0, scale = 0, ends[2];
    hcy_space modes = space_of(HCY_COMPLEX128, 3, FRAMES, MODES0, MODES1),
              samples = space_of(HCY_COMPLEX128, 2, FRAMES, POINTS, 0);
    fill_vector(s.m[0], &modes, 5);
    fill_vector(s.d[0], &samples, 6);
    for (int j = 0; j < 2 * POINTS; j++)
        s.x[j % 2][j / 2] = 3.14 * next_real(&seed);
    int status = differentiate(&value, g, gm, gd, &s, order);
    if (status == HCY_EUNSUPPORTED) {
        skip(1, "%s", hcy_last_error()->text);
        return;
    }
    st_ok(status, "gradients of a misfit, modes in order %d", order);
    double direct = sum_directly(wanted, wanted_m, &s, order);
    ok(fabs(value / direct - 1) < 1e-11, "the value is that of direct sums");
    for (int j = 0; j < 2 * POINTS; j++) {
        off = fmax(off, fabs(g[j % 2][j / 2] - wanted[j % 2][j / 2]));
        scale = fmax(scale, fabs(wanted[j % 2][j / 2]));
    }
    ok(off < 1e-10 * scale, "so is the gradient in the points (%g)", off / scale);
    off = worst_of(gm[0], wanted_m[0], FRAMES * MODES0 * MODES1);
    ok(off < 1e-10 * POINTS, "and that in the image (%g)", off);
    /* Fourth-order differences of what is computed itself, along one direction in all that there is. */
    double slope = 0, sum = 0;
    static const double at[4] = { -2, -1, 1, 2 }, weights[4] = { 1, -8, 8, -1 };
    for (int i = 0; i < 4; i++) {
        static struct sampling moved;
        const double h = 1e-3 * at[i];
        moved = s;
        for (int j = 0; j < POINTS; j++) {
            moved.x[0][j] += h * (j % 3 - 1);
            moved.x[1][j] += h * (j % 2 - 0.5);
            moved.d[1][j] += h * (j % 4 + I);
        }
        for (int k = 0; k < MODES0 * MODES1; k++)
            moved.m[0][k] += h * (1 - I * (k % 3));
        status = cts_first(status, differentiate(&ends[0], NULL, NULL, NULL, &moved, order));
        sum += weights[i] * ends[0] / 12e-3;
    }
    for (int j = 0; j < POINTS; j++)
        slope += g[0][j] * (j % 3 - 1) + g[1][j] * (j % 2 - 0.5) + creal(conj(gd[1][j]) * (j % 4 + I));
    for (int k = 0; k < MODES0 * MODES1; k++)
        slope += creal(conj(gm[0][k]) * (1 - I * (k % 3)));
    st_ok(status, "values around it");
    ok(fabs(sum / slope - 1) < 1e-7, "differences are the gradients' sum (%g)", sum / slope - 1);
}

static void test_gradients(void)
{
    check_gradients(HCY_NUFFT_CENTRED);
    if (!few)
        check_gradients(HCY_NUFFT_ZERO_FIRST);
}

/* --- PyNUFFT's phantom from its trajectory --- */

enum { SIDE = 256 };

static bool read_data(hcy_host_array *a, const char *name)
{
    const char *path = test_data(name);
    if (path && access(path, R_OK) == 0 && hcy_host_array_read(a, path) == 0)
        return true;
    skip(1, "no %s in HALCYON_TEST_DATA, or no zlib", name);
    return false;
}

static int make_plan(hcy_nufft **plan, const hcy_host_array *points)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    size_t n = points->shape[0];
    const double *both = points->data;
    float *of[2] = { malloc(n * sizeof(float)), malloc(n * sizeof(float)) };
    if (!of[0] || !of[1])
        bail_out("out of memory");
    for (size_t i = 0; i < 2 * n; i++)
        of[i % 2][i / 2] = (float)both[i];
    desc.type = desc.dim = 2;
    desc.precision = HCY_F32;
    desc.modes[0] = desc.modes[1] = SIDE;
    desc.eps = 1e-4;
    int status = hcy_nufft_create(plan, dev, &desc, NULL);
    if (!status)
        status = hcy_nufft_set_points(*plan, n, (const void *[]){ of[0], of[1] }, 0, NULL);
    free(of[0]);
    free(of[1]);
    return status;
}

/* The relative norm of the magnitudes' difference, as PyNUFFT has it. */
static double error_of(hcy_solver *solver, const double *phantom)
{
    static float complex x[SIDE * SIDE];
    double off = 0, norm = 0;
    hcy_array *a = NULL;
    if (hcy_solver_get_x(&a, solver) || hcy_array_to_host(x, queue, a))
        bail_out("%s", hcy_last_error()->text);
    hcy_array_release(a);
    for (int i = 0; i < SIDE * SIDE; i++) {
        off += pow(cabsf(x[i]) - fabs(phantom[i]), 2);
        norm += phantom[i] * phantom[i];
    }
    return sqrt(off / norm);
}

static double reconstruct(hcy_operator *op, hcy_array *b, const hcy_solver_options *o, const double *phantom)
{
    hcy_solver *solver = NULL;
    int status = hcy_solver_create(&solver, queue, op, o);
    if (!status)
        status = hcy_solver_start(solver, b, NULL);
    if (!status)
        status = hcy_solver_run(solver, o->max_iterations);
    if (status)
        bail_out("%s", hcy_last_error()->text);
    double error = error_of(solver, phantom);
    hcy_solver_destroy(solver);
    return error;
}

static void test_phantom(void)
{
    hcy_host_array points = HCY_HOST_ARRAY_INIT, phantom = HCY_HOST_ARRAY_INIT;
    hcy_solver_options o = HCY_SOLVER_OPTIONS_INIT;
    hcy_nufft *plan = NULL;
    hcy_operator *op = NULL;
    hcy_proximal *tv = NULL;
    hcy_array *x = NULL, *b = NULL;
    hcy_space image = space_of(HCY_COMPLEX64, 2, SIDE, SIDE, 0);
    if (!read_data(&points, "nufft/om2D.npz") || !read_data(&phantom, "nufft/phantom_256_256.npz")) {
        hcy_host_array_free(&points);
        return;
    }
    int status = make_plan(&plan, &points);
    if (status == HCY_EUNSUPPORTED)
        skip(1, "%s", hcy_last_error()->text);
    else {
        static float complex numbers[SIDE * SIDE];
        for (int i = 0; i < SIDE * SIDE; i++)
            numbers[i] = (float)((const double *)phantom.data)[i];
        status = cts_first(status, hcy_array_from_host(&x, dev, HCY_COMPLEX64, 2, image.shape, numbers));
        status = cts_first(
            status, hcy_array_empty(&b, dev, HCY_COMPLEX64, 1, (int64_t[]){ (int64_t)points.shape[0] }));
        status = cts_first(status, hcy_operator_nufft(&op, plan));
        status = cts_first(status, hcy_operator_apply(queue, b, op, x));
        /* lambda is a small part of A^H A's eigenvalues, whose mean is the number of points. */
        status = cts_first(status, hcy_proximal_tv(&tv, dev, &image, 2, HCY_TV_ISOTROPIC, 500));
        st_ok(status, "PyNUFFT's phantom at its points");
        o.method = HCY_SOLVER_CG_NORMAL;
        o.max_iterations = 20;
        double error = reconstruct(op, b, &o, phantom.data);
        ok(error <= 0.108, "20 iterations of CG: %.4f", error);
        o.method = HCY_SOLVER_ADMM;
        o.proximals = &tv;
        o.n_proximals = 1;
        error = reconstruct(op, b, &o, phantom.data);
        ok(error <= 0.039, "20 iterations of ADMM with total variation: %.4f", error);
        o.method = HCY_SOLVER_SPLIT_BREGMAN;
        o.add_back = 1;
        error = reconstruct(op, b, &o, phantom.data);
        ok(error <= 0.039, "and of split Bregman: %.4f", error);
    }
    (void)!hcy_queue_finish(queue);
    hcy_operator_release(op);
    hcy_proximal_release(tv);
    hcy_nufft_destroy(plan);
    hcy_array_release(x);
    hcy_array_release(b);
    hcy_host_array_free(&points);
    hcy_host_array_free(&phantom);
}

/* --- What is refused --- */

static void test_refusals(void)
{
    struct problem p;
    hcy_proximal *bad = NULL;
    hcy_solver *s = NULL;
    hcy_solver_options o = HCY_SOLVER_OPTIONS_INIT;
    make_problem(&p, HCY_FLOAT64, ROWS);
    st_says(hcy_proximal_l1(&bad, dev, &p.domain, -1), HCY_EINVAL, "lambda of -1", "a lambda below 0");
    st_says(hcy_proximal_l2(&bad, dev, &p.domain, NAN), HCY_EINVAL, "lambda", "one that is no number");
    st_says(hcy_proximal_box(&bad, dev, &p.domain, 2, 1), HCY_EINVAL, "from 2 to 1", "bounds the wrong way round");
    st_says(hcy_proximal_tv(&bad, dev, &p.domain, 2, HCY_TV_ISOTROPIC, 1), HCY_EINVAL, "along 2 axes",
            "more axes than there are");
    st_says(hcy_proximal_tv(&bad, dev, &p.domain, 1, 7, 1), HCY_EINVAL, "7 is no kind", "no total variation");
    hcy_space frames = space_of(HCY_FLOAT64, 2, 3, 8, 0);
    st_says(hcy_proximal_low_rank(&bad, dev, &frames, 2, 4, 0, 1), HCY_EINVAL, "with frames in front", "no frames");
    st_says(hcy_proximal_low_rank(&bad, dev, &frames, 1, 0, 0, 1), HCY_EINVAL, "blocks of 0", "blocks of nothing");
    st_says(hcy_proximal_low_rank(&bad, dev, &frames, 1, 4, 0, -1), HCY_EINVAL, "lambda of -1", "a lambda below 0");
    hcy_proximal_desc desc = HCY_PROXIMAL_DESC_INIT;
    st_says(hcy_proximal_create(&bad, dev, &desc), HCY_EINVAL, "no function", "no map");
    st_ok(hcy_proximal_l1(&p.prox[0], dev, &p.range, 1), "l1 of the range");
    st_ok(hcy_proximal_l1(&p.prox[1], dev, &p.domain, 1), "l1 of the domain");
    st_says(hcy_proximal_apply(queue, p.gram_b, p.prox[1], p.b, 1, 1), HCY_EINVAL, "float64 (24,)",
            "a vector of another");
    st_says(hcy_proximal_apply(queue, p.gram_b, p.prox[1], p.gram_b, 1, 1), HCY_EINVAL, "share memory",
            "one vector twice");
    st_says(hcy_proximal_apply(queue, p.gram_b, p.prox[1], p.gram_b, 0, 1), HCY_EINVAL, "a t of 0", "a t of 0");
    o.proximals = p.prox;
    o.n_proximals = 1;
    st_says(hcy_solver_create(&s, queue, p.a, &o), HCY_EINVAL, "cgls has no l1", "CGLS with a regulariser");
    o.method = HCY_SOLVER_FISTA;
    st_says(hcy_solver_create(&s, queue, p.a, &o), HCY_EINVAL, "regulariser 0 (l1) is of float64 (24,)",
            "a regulariser of other vectors");
    o.n_proximals = 2;
    st_says(hcy_solver_create(&s, queue, p.a, &o), HCY_EINVAL, "1 regularisers at most", "FISTA with two");
    o.proximals = p.prox + 1;
    o.n_proximals = 1;
    o.l1 = 1;
    st_says(hcy_solver_create(&s, queue, p.a, &o), HCY_EINVAL, "l1 among them", "FISTA with l1 and another");
    o.l1 = 0;
    o.is_gram = 1;
    st_says(hcy_solver_create(&s, queue, p.a, &o), HCY_EINVAL, "domain is their range", "no Gram operator");
    o.is_gram = 0;
    o.method = HCY_SOLVER_ADMM;
    o.rho = NAN;
    st_says(hcy_solver_create(&s, queue, p.a, &o), HCY_EINVAL, "rho", "a rho that is no number");
    o.method = HCY_SOLVER_PRIMAL_DUAL;
    o.rho = 0;
    o.step = 1e3;
    st_says(hcy_solver_create(&s, queue, p.a, &o), HCY_EINVAL, "a step of 1000 leaves none", "a step that is too long");
    hcy_operator *nothing = NULL;
    st_ok(hcy_operator_scale(&nothing, p.a, 0, 0), "an operator that makes 0 of all");
    st_ok(hcy_solver_create(&s, queue, nothing, &o), "has steps of any length");
    hcy_solver_destroy(s);
    s = NULL;
    hcy_operator_release(nothing);
    o.step = 0;
    o.method = HCY_SOLVER_ADMM;
    o.add_back = 0;
    st_says(hcy_solver_create(&s, queue, p.a, &o), HCY_EINVAL, "every 0", "nothing ever added back");
    free_problem(&p);
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    few = argc > 2 && !strcmp(argv[2], "few");
#ifdef IS_SANITIZED /* a minute of the same lines with other numbers */
    few = true;
#endif
    dev = cts_open();
    queue = cts_queue(dev);
    test_wavelets();
    test_maps();
    test_variation();
    test_low_rank();
    test_minima();
    if (!few) {
        test_scales();
        test_generalised();
        test_several();
        test_bregman();
        test_phantom();
        test_gradients();
        test_refusals();
    }
    (void)!hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
