/* maths.c - exp, sin, pow and so on: 4096 arguments of each within 1 unit in the last place of C's long doubles, and
 * the same bits on every device.
 *
 *     tests/maths [DEVICE [all [FUNCTION [STEP]]]]
 *
 * all: every float there is and 10^8 doubles of each function (or of one, as "exp(x)"), by hand: some minutes each on
 * two cores.  With an odd STEP each STEP-th of them.  C's doubles, some 2^-28 of a float's unit from what they stand
 * for, say which floats may be the worst; long doubles say how far these are.
 */
#include "cts.h"

#include <float.h>
#include <halcyon/eval.h>
#include <math.h>
#include <pthread.h>
#include <unistd.h>

static hcy_device *dev;
static hcy_queue *queue;

enum { N = 4096, GROUP = 8 };

typedef long double wide;
static wide want_rsqrt(wide x)
{
    return 1 / sqrtl(x);
}
static double quick_rsqrt(double x)
{
    return 1 / sqrt(x);
}
static wide want_loghypot(wide x, wide y)
{
    return logl(hypotl(x, y));
}

/* What is computed, C's functions of it, and FNV's hash of the bits of N floats and N doubles: the same everywhere. */
static const struct function {
    const char *call;
    wide (*of_one)(wide);
    double (*quick)(double); /* of one, too */
    wide (*of_two)(wide, wide);
    uint64_t hash[2];
    double float_limit; /* units of the last place, where floats are made of floats; 0: as others */
} functions[] = {
    { "exp(x)", expl, exp, NULL, { 0x672be523a1d18fe7u, 0xce3293aa94b0ecc0u }, 0.53 },
    { "exp2(x)", exp2l, exp2, NULL, { 0xafebe8123a88e8b3u, 0x4a144f2e275ec599u }, 0.76 },
    { "expm1(x)", expm1l, expm1, NULL, { 0x2c90380aace777dcu, 0x4806ae5e3e517bf4u }, 0.58 },
    { "log(x)", logl, log, NULL, { 0xb92e75f22237dddfu, 0x1d66bcebf9f001c6u }, 0.6 },
    { "log2(x)", log2l, log2, NULL, { 0x7f3ecf11112f834au, 0x4c0a3bf8f42d3ccfu }, 0.62 },
    { "log10(x)", log10l, log10, NULL, { 0x833a9f671ecf9400u, 0xae2847b1523f0d53u }, 0.6 },
    { "log1p(x)", log1pl, log1p, NULL, { 0x3e5214eeea7f6cc7u, 0x6e9897d113ad6480u }, 0.65 },
    { "sin(x)", sinl, sin, NULL, { 0xf6a49c3fcc47a72cu, 0xf358e03dcbfb472eu }, 0.79 },
    { "cos(x)", cosl, cos, NULL, { 0x25d87ed3dcad8381u, 0xe09909c2c687433cu }, 0.79 },
    { "tan(x)", tanl, tan, NULL, { 0x563c5aa032780b9du, 0xb67e265414e274e7u }, 0 },
    { "asin(x)", asinl, asin, NULL, { 0xf11b0255d813e730u, 0xaf0ac45d1e946820u }, 0.65 },
    { "acos(x)", acosl, acos, NULL, { 0x3142fb65d597252eu, 0xe9c5a662e5aa1cd0u }, 0.62 },
    { "atan(x)", atanl, atan, NULL, { 0x0ed4f123c95bc2acu, 0x9d40dcfa06d5d500u }, 0.69 },
    { "sinh(x)", sinhl, sinh, NULL, { 0xf77edbcb1e7c40b1u, 0x793ee33619f8a66fu }, 0.74 },
    { "cosh(x)", coshl, cosh, NULL, { 0x1d92aab5c7df44d6u, 0xbe7111be500b5b6du }, 0.53 },
    { "tanh(x)", tanhl, tanh, NULL, { 0x762014d85ac41152u, 0x5cd13f6cd9ad06aeu }, 0.72 },
    { "erf(x)", erfl, erf, NULL, { 0xe98802714fd8c1f9u, 0x4a24697b42807b02u }, 0.81 },
    { "rsqrt(x)", want_rsqrt, quick_rsqrt, NULL, { 0x09f3ae2bd9fd3b12u, 0xb12ae9c150c2095fu }, 0.86 },
    { "x ** y", NULL, NULL, powl, { 0xf7e454334ee6dadeu, 0x414ca0b36a62e34au }, 0 },
    { "atan2(x, y)", NULL, NULL, atan2l, { 0xbf61280d4966ebe7u, 0xe2a0e2450ed25f7fu }, 0.76 },
    { "hypot(x, y)", NULL, NULL, hypotl, { 0x3008814281c21334u, 0xaf172444339a58f5u }, 0 },
    { "fmod(x, y)", NULL, NULL, fmodl, { 0x3d8034bd00fc6440u, 0x2debddd907dce05bu }, 0 },
    { "copysign(x, y)", NULL, NULL, copysignl, { 0xb00615cc1f64692eu, 0x128759828e54f4d0u }, 0 },
    { "real(log(complex(x, y)))", NULL, NULL, want_loghypot, { 0x4b74414f734acf78u, 0x0e8e8d49303860b0u }, 0 },
};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

/* Of uniform doubles, normal ones, uniform floats. */
#define UNIFORM_HASH 0x07880f9f3bd2f533u
#define NORMAL_HASH  0x47b97523004a0d1fu
#define SINGLE_HASH  0xe5be8e0473a8f1b0u
/* Of Poisson's, of all means. */
#define POISSON_HASH 0x9e76b062b5eed3a7u

static const struct precision {
    int dtype, bits, least; /* of a mantissa; the exponent of the smallest number */
    double most;            /* the largest number */
    double limit;           /* units in the last place */
} precisions[2] = { { HCY_FLOAT32, 24, -149, FLT_MAX, 0.51 }, { HCY_FLOAT64, 53, -1074, DBL_MAX, 1.0 } };

static hcy_array *array_of(int dtype, int64_t n, const void *data)
{
    hcy_array *a = NULL;
    if (hcy_array_from_host(&a, dev, dtype, 1, &n, data))
        bail_out("no array: %s", hcy_last_error()->text);
    return a;
}

static void read_array(void *data, const hcy_array *a)
{
    if (hcy_array_to_host(data, queue, a))
        bail_out("no numbers: %s", hcy_last_error()->text);
}

/* --- Arguments --- */

static double fraction_from(uint64_t *seed)
{
    return (double)(cts_random(seed) >> 11) * 0x1p-53;
}

/* Any bits; near 0, near 1, of the size of angles, of exponents; tiny; and what ends something. */
static double make_argument(uint64_t *seed, size_t i, const struct precision *p)
{
    static const double ends[] = { 0,    -0.0,   1,       -1,       INFINITY, -INFINITY, NAN,     5e-324,  -5e-324,
                                   0.5,  -0.5,   2,       -2,       3,        -3,        709.78,  -745.1,  710.4,
                                   36,   1e-310, 6,       -6,       4,        2.5,       -2.5,    88.72,   -103.9,
                                   1e300, 1e-300, 0x1p53, 0x1p26,   -0x1p26,  0x1p63,    DBL_MAX, FLT_MAX, 1e-40,
                                   0x1p-1022, 0x1p-126, 0x1p-1060, 0.9999999999999999, 1.5, -7,
                                   6381956970095103.0 * 0x1p797 }; /* nearest of all to a multiple of pi/2 */
    double u = fraction_from(seed) - 0.5, x = 0;
    float narrow = 0;
    uint64_t bits = cts_random(seed);
    uint32_t few_bits = (uint32_t)bits;
    switch (i % 8) {
    case 0:
        memcpy(&narrow, &few_bits, sizeof narrow);
        memcpy(&x, &bits, sizeof x);
        return p->bits == 24 ? (double)narrow : x;
    case 1:
        return u * 60;
    case 2:
        return u * 2.2;
    case 3:
        return u * 1600;
    case 4:
        return 1 + ldexp(u, -(int)(bits % 50));
    case 5:
        return ldexp(u, (int)(bits % 40));
    case 6:
        return ldexp(u, -(int)(bits % 60));
    default:
        return ends[bits % (sizeof ends / sizeof ends[0])];
    }
}

static void store_number(void *to, size_t i, const struct precision *p, double x)
{
    if (p->bits == 24)
        ((float *)to)[i] = (float)x;
    else
        ((double *)to)[i] = x;
}

static double number_at(const void *from, size_t i, const struct precision *p)
{
    return p->bits == 24 ? (double)((const float *)from)[i] : ((const double *)from)[i];
}

/* --- Errors --- */

/* What is between the result and the number that it stands for, in units of the latter's last place. */
static double error_of(double y, wide want, const struct precision *p)
{
    double nearest = p->bits == 24 ? (double)(float)want : (double)want;
    int exponent;
    if (isnan(want) || isnan(y))
        return isnan(want) && isnan(y) ? 0 : HUGE_VAL;
    if (y == 0 && nearest == 0)
        return !signbit(y) == !signbit(nearest) ? 0 : HUGE_VAL;
    if (y == nearest && isinf(y))
        return 0;
    /* Where one of them is the largest number and the other infinite both are near the same end. */
    if (isinf(y) || isinf(nearest))
        return !signbit(y) == !signbit(nearest) && (fabs(y) == p->most || fabs(nearest) == p->most) ? 0.5
                                                                                                    : HUGE_VAL;
    frexpl(want, &exponent);
    exponent -= p->bits;
    if (want == 0 || exponent < p->least)
        exponent = p->least;
    return (double)ldexpl(fabsl((wide)y - want), -exponent);
}

static double limit_of(const struct function *f, const struct precision *p)
{
    return p->bits == 24 && f->float_limit > 0 ? f->float_limit : p->limit;
}

static wide want_of(const struct function *f, double x, double y)
{
    return f->of_one ? f->of_one(x) : f->of_two(x, y);
}

static uint64_t hash_bytes(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < size; i++)
        h = (h ^ bytes[i]) * 1099511628211u;
    return h;
}

/* Whether C has anything that is more than a double, also where a tool emulates the processor. */
static bool has_oracle(void)
{
    volatile wide one = 1;
    return LDBL_MANT_DIG >= 64 && one + 0x1p-60L != one;
}

static void check_function(const struct function *f, const struct precision *p, const void *x, const void *y,
                           const void *got)
{
    const uint64_t hash = hash_bytes(got, N * hcy_dtype_size(p->dtype));
    double worst = 0, at = 0, beside = 0, result = 0;
    for (size_t i = 0; has_oracle() && i < N; i++) {
        double a = number_at(x, i, p), b = number_at(y, i, p), value = number_at(got, i, p),
               error = error_of(value, want_of(f, a, b), p);
        /* Near 1 the oracle's own logarithm has lost what it was to tell. */
        if (f->of_two == want_loghypot && fabsl(want_of(f, a, b)) < 0.25L)
            continue;
        if (error > worst) {
            worst = error;
            at = a;
            beside = b;
            result = value;
        }
    }
    ok(worst <= limit_of(f, p), "%s of %s: %.3f units", f->call, hcy_dtype_name(p->dtype), worst);
    if (worst > limit_of(f, p))
        diag("x = %.17g, y = %.17g: got %.17g", at, beside, result);
    ok(hash == f->hash[p - precisions], "has the bits that it has everywhere");
    if (hash != f->hash[p - precisions])
        diag("0x%016llxu", (unsigned long long)hash);
}

/* Functions in groups of one kernel, as each kernel may be a compilation: part k of y takes function k. */
static void test_group(const struct function *f, int n, const struct precision *p)
{
    static double x[N * GROUP], y[N * GROUP], got[N * GROUP];
    static int64_t which[N * GROUP];
    char text[1000] = "z = ";
    uint64_t seed = 11;
    for (size_t i = 0; i < N; i++) {
        store_number(x, i, p, make_argument(&seed, i, p));
        store_number(y, i, p, make_argument(&seed, i / 8 + i / 64, p));
    }
    size_t size = N * hcy_dtype_size(p->dtype);
    for (int k = 0; k < n; k++) {
        memmove((char *)x + (size_t)k * size, x, size);
        memmove((char *)y + (size_t)k * size, y, size);
        for (size_t i = 0; i < N; i++)
            which[(size_t)k * N + i] = k;
        if (k + 1 < n)
            snprintf(text + strlen(text), sizeof text - strlen(text), "where(k == %d, %s, ", k, f[k].call);
        else
            strcat(text, f[k].call);
    }
    for (int k = 0; k + 1 < n; k++)
        strcat(text, ")");
    hcy_array *a = array_of(p->dtype, n * N, x), *b = array_of(p->dtype, n * N, y),
              *z = array_of(p->dtype, n * N, got), *k = array_of(HCY_INT64, n * N, which);
    st_ok(HCY_EVAL(queue, text, hcy_op_array("x", a), hcy_op_array("y", b), hcy_op_array("z", z),
                   hcy_op_array("k", k)),
          "%s", text);
    read_array(got, z);
    for (int i = 0; i < n; i++)
        check_function(&f[i], p, x, y, (const char *)got + (size_t)i * size);
    hcy_array_release(a);
    hcy_array_release(b);
    hcy_array_release(z);
    hcy_array_release(k);
}

/* --- By hand: all floats, many doubles --- */

/* What is between a float and what C's doubles say, in units of its last place; as error_of(), but for the ends. */
static double quick_error(float y, double want)
{
    int exponent;
    if (isnan(want) || isnan(y) || isinf(want) || isinf(y) || fabs(want) > FLT_MAX)
        return (isnan(want) && isnan(y)) || (y == (float)want && isinf(y)) ? 0 : HUGE_VAL;
    if (y == 0 && (float)want == 0)
        return !signbit(y) == !signbit(want) ? 0 : HUGE_VAL;
    frexp(want, &exponent);
    return ldexp(fabs(y - want), -(exponent - 24 < -149 ? -149 : exponent - 24));
}

/* A thread's part of what is compared, and the largest error so far, with its arguments. */
struct part {
    const struct function *f;
    const struct precision *p;
    const void *x, *y, *got;
    size_t begin, end;
    double worst, at, beside;
};

static void *compare_part(void *context)
{
    struct part *t = context;
    for (size_t i = t->begin; i < t->end; i++) {
        const double u = number_at(t->x, i, t->p), v = number_at(t->y, i, t->p), value = number_at(t->got, i, t->p);
        /* No long doubles for what cannot be the worst. */
        if (t->f->quick && t->p->bits == 24 && quick_error((float)value, t->f->quick(u)) <= t->worst - 1e-6)
            continue;
        const wide want = want_of(t->f, u, v);
        const double error = error_of(value, want, t->p);
        if (error > t->worst && !(t->f->of_two == want_loghypot && fabsl(want) < 0.25L)) {
            t->worst = error;
            t->at = u;
            t->beside = v;
        }
    }
    return NULL;
}

enum { MOST_THREADS = 64 };

/* Every thread of `n` compares its part of so many results. */
static void compare_all(struct part *parts, size_t n, size_t count)
{
    pthread_t threads[MOST_THREADS];
    for (size_t i = 0; i < n; i++) {
        parts[i].begin = count * i / n;
        parts[i].end = count * (i + 1) / n;
        if (pthread_create(&threads[i], NULL, compare_part, &parts[i]))
            bail_out("no threads");
    }
    for (size_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
}

/* `step`: of floats each step-th one, so many fewer doubles. */
static void test_all_of(const struct function *f, const struct precision *p, uint64_t step)
{
    enum { BATCH = 1 << 20 };
    static double x[BATCH], y[BATCH], got[BATCH];
    const bool floats = p->bits == 24 && f->of_one;
    const uint64_t all = floats ? (uint64_t)1 << 32 : 100000000, batches = (all / step - 1) / BATCH + 1;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const size_t n = cores < 1 ? 1 : cores > MOST_THREADS ? MOST_THREADS : (size_t)cores,
                 size = BATCH * hcy_dtype_size(p->dtype);
    struct part parts[MOST_THREADS], *worst = parts;
    char text[100];
    uint64_t seed = 1;
    hcy_array *a = array_of(p->dtype, BATCH, x), *b = array_of(p->dtype, BATCH, y),
              *z = array_of(p->dtype, BATCH, got);
    hcy_array_info ia = HCY_ARRAY_INFO_INIT, ib = HCY_ARRAY_INFO_INIT;
    int status = cts_first(hcy_array_get_info(&ia, a), hcy_array_get_info(&ib, b));
    for (size_t i = 0; i < n; i++)
        parts[i] = (struct part){ .f = f, .p = p, .x = x, .y = y, .got = got };
    snprintf(text, sizeof text, "z = %s", f->call);
    for (uint64_t k = 0; !status && k < batches; k++) {
        for (size_t i = 0; i < BATCH; i++) {
            uint32_t bits = (uint32_t)((k * BATCH + i) * step);
            if (floats)
                memcpy((float *)x + i, &bits, sizeof bits);
            else
                store_number(x, i, p, make_argument(&seed, i % 7, p));
            if (f->of_two)
                store_number(y, i, p, make_argument(&seed, i / 7 % 7, p));
        }
        status = cts_first(hcy_buffer_write_now(ia.buffer, 0, x, size), hcy_buffer_write_now(ib.buffer, 0, y, size));
        status = cts_first(status, HCY_EVAL(queue, text, hcy_op_array("x", a), hcy_op_array("y", b),
                                            hcy_op_array("z", z)));
        read_array(got, z);
        compare_all(parts, n, BATCH);
    }
    for (size_t i = 1; i < n; i++)
        worst = parts[i].worst > worst->worst ? &parts[i] : worst;
    ok(!status && worst->worst <= limit_of(f, p), "%s of %llu %s: %.4f units at %.17g, %.17g", f->call,
       (unsigned long long)(batches * BATCH), hcy_dtype_name(p->dtype), worst->worst, worst->at, worst->beside);
    hcy_array_release(a);
    hcy_array_release(b);
    hcy_array_release(z);
}

/* --- Parts of numbers --- */

static void test_parts(void)
{
    static double x[N], y[N], z[N];
    static int64_t n[N], e[N];
    uint64_t seed = 3;
    size_t wrong = 0;
    for (size_t i = 0; i < N; i++) {
        x[i] = make_argument(&seed, i, &precisions[1]);
        n[i] = i % 64 ? (int64_t)(cts_random(&seed) % 4400) - 2200 : (int64_t)cts_random(&seed);
    }
    hcy_array *a = array_of(HCY_FLOAT64, N, x), *b = array_of(HCY_FLOAT64, N, y), *c = array_of(HCY_FLOAT64, N, z),
              *k = array_of(HCY_INT64, N, n), *l = array_of(HCY_INT64, N, e);
    st_ok(HCY_EVAL(queue, "y = ldexp(x, n); z = fraction(x); e = exponent(x)", hcy_op_array("x", a),
                   hcy_op_array("y", b), hcy_op_array("z", c), hcy_op_array("n", k), hcy_op_array("e", l)),
          "ldexp, fraction, exponent");
    read_array(y, b);
    read_array(z, c);
    read_array(e, l);
    for (size_t i = 0; i < N; i++) {
        int exponent = 0, many = n[i] < -9999 ? -9999 : n[i] > 9999 ? 9999 : (int)n[i];
        double scaled = ldexp(x[i], many), fraction = frexp(x[i], &exponent);
        bool finite = isfinite(x[i]);
        wrong += isnan(x[i]) ? !isnan(y[i]) || !isnan(z[i])
                             : memcmp(&y[i], &scaled, sizeof scaled) || memcmp(&z[i], &fraction, sizeof fraction);
        wrong += e[i] != (finite ? exponent : 0);
    }
    is_int((intmax_t)wrong, 0, "are C's ldexp() and frexp()");
    hcy_array_release(a);
    hcy_array_release(b);
    hcy_array_release(c);
    hcy_array_release(k);
    hcy_array_release(l);
}

/* --- Complex numbers: C's functions of complex doubles are the oracle, to a few units of the larger part --- */

struct plane {
    wide re, im;
};

static struct plane plane_exp(struct plane x)
{
    return (struct plane){ expl(x.re) * cosl(x.im), expl(x.re) * sinl(x.im) };
}

static struct plane plane_log(struct plane x)
{
    return (struct plane){ logl(hypotl(x.re, x.im)), atan2l(x.im, x.re) };
}

static struct plane plane_sqrt(struct plane x)
{
    wide size = hypotl(x.re, x.im), re = sqrtl((size + fabsl(x.re)) / 2), im = re == 0 ? 0 : fabsl(x.im) / (2 * re);
    return x.re >= 0 ? (struct plane){ re, copysignl(im, x.im) } : (struct plane){ im, copysignl(re, x.im) };
}

/* x ** (0.5 - 2j) */
static struct plane plane_power(struct plane x)
{
    struct plane l = plane_log(x), p = { 0.5L * l.re + 2 * l.im, 0.5L * l.im - 2 * l.re };
    return plane_exp(p);
}

static struct plane plane_angle(struct plane x)
{
    return (struct plane){ atan2l(x.im, x.re), 0 };
}

static void test_complex(void)
{
    static const struct {
        const char *text;
        struct plane (*want)(struct plane);
        double limit; /* units in the last place of the larger part */
    } cases[] = {
        { "z = exp(x)", plane_exp, 3 },         { "z = log(x)", plane_log, 1.5 },  { "z = sqrt(x)", plane_sqrt, 3 },
        { "z = x ** (0.5 - 2j)", plane_power, 60 }, { "z = angle(x)", plane_angle, 1 },
    };
    static double x[2 * N], z[2 * N];
    uint64_t seed = 8;
    for (size_t i = 0; i < 2 * N; i++)
        x[i] = (fraction_from(&seed) - 0.5) * (i & 16 ? 20 : 2);
    hcy_array *a = array_of(HCY_COMPLEX128, N, x), *b = array_of(HCY_COMPLEX128, N, z);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        double worst = 0;
        st_ok(HCY_EVAL(queue, cases[c].text, hcy_op_array("x", a), hcy_op_array("z", b)), "%s", cases[c].text);
        read_array(z, b);
        for (size_t i = 0; has_oracle() && i < N; i++) {
            struct plane want = cases[c].want((struct plane){ x[2 * i], x[2 * i + 1] });
            wide size = fmaxl(fabsl(want.re), fabsl(want.im)), unit = ldexpl(size, -52);
            wide error = fmaxl(fabsl(z[2 * i] - want.re), fabsl(z[2 * i + 1] - want.im)) / unit;
            if (!(error <= worst))
                worst = (double)error;
        }
        ok(worst <= cases[c].limit, "is within %g units: %.2f", cases[c].limit, worst);
    }
    hcy_array_release(a);
    hcy_array_release(b);
}

/* Where a square, a sum or half of it leaves the numbers that there are. */
static void test_root_ends(const struct precision *p)
{
    static const double sizes[] = { 1, 0x1p-1074, 3 * 0x1p-1074, 1e-310, 1e-290, 0x1p-149, 3 * 0x1p-149, 1e-40, 1e-30,
                                    0x1p-54, 0x1p-24, 1e30, 2e38, FLT_MAX, 1e200, 1.7e308, DBL_MAX };
    enum { SIZES = sizeof sizes / sizeof sizes[0], ENDS = 5 + 4 * SIZES * SIZES };
    static const double known[10] = { 0, 0, -4, -0.0, INFINITY, 0, -1, 0, 1, INFINITY };
    static double x[2 * ENDS], z[2 * ENDS];
    const int dtype = p->bits == 24 ? HCY_COMPLEX64 : HCY_COMPLEX128;
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < 10; i++)
        store_number(x, i, p, known[i]);
    for (size_t i = 0; i < 4 * SIZES * SIZES; i++) {
        double re = fmin(sizes[i / 4 / SIZES], p->most), im = fmin(sizes[i / 4 % SIZES], p->most);
        store_number(x, 10 + 2 * i, p, i & 1 ? -re : re);
        store_number(x, 11 + 2 * i, p, i & 2 ? -im : im);
    }
    hcy_array *a = array_of(dtype, ENDS, x), *b = array_of(dtype, ENDS, z);
    st_ok(HCY_EVAL(queue, "z = sqrt(x)", hcy_op_array("x", a), hcy_op_array("z", b)), "roots of %s at both ends",
          hcy_dtype_name(dtype));
    read_array(z, b);
    static const double roots[10] = { 0, 0, 0, -2, INFINITY, 0, 0, 1, INFINITY, INFINITY };
    for (size_t i = 0; i < 10; i++)
        at += number_at(z, i, p) != roots[i];
    is_int((intmax_t)at, 0, "of 0, -4 and infinities are C's csqrt()");
    for (size_t i = 5; has_oracle() && i < ENDS; i++) {
        wide re = number_at(x, 2 * i, p), im = number_at(x, 2 * i + 1, p);
        struct plane want = plane_sqrt((struct plane){ re, im });
        double error = fmax(error_of(number_at(z, 2 * i, p), want.re, p),
                            error_of(number_at(z, 2 * i + 1, p), want.im, p));
        if (error > worst) {
            worst = error;
            at = i;
        }
    }
    ok(worst <= 3, "each part is within 3 units: %.2f, at %g%+gj", worst, number_at(x, 2 * at, p),
       number_at(x, 2 * at + 1, p));
    hcy_array_release(a);
    hcy_array_release(b);
}

/* --- Types, powers, refusals --- */

static void test_powers(void)
{
    int32_t i[6] = { -3, -1, 0, 1, 2, 7 }, n[6] = { 3, -2, -1, -5, 30, -1 }, got[6];
    static const int32_t want[6] = { -27, 1, 0, 1, 1 << 30, 0 };
    double x[6] = { 0.25, 1, 4, 9, 0, 100 }, z[6];
    size_t wrong = 0;
    hcy_array *a = array_of(HCY_INT32, 6, i), *b = array_of(HCY_INT32, 6, n), *c = array_of(HCY_INT32, 6, got),
              *d = array_of(HCY_FLOAT64, 6, x), *e = array_of(HCY_FLOAT64, 6, z);
    st_ok(HCY_EVAL(queue, "c = pow(a, b); e = d ** 0.5 + d ** -1 * d ** 17.0 * 0.0 + a ** 0.0 - 1", hcy_op_array("a", a),
                   hcy_op_array("b", b), hcy_op_array("c", c), hcy_op_array("d", d), hcy_op_array("e", e)),
          "powers of integers, and by numbers of all kinds");
    read_array(got, c);
    read_array(z, e);
    for (int k = 0; k < 6; k++)
        wrong += got[k] != want[k] || (x[k] != 0 ? z[k] != sqrt(x[k]) : !isnan(z[k]));
    is_int((intmax_t)wrong, 0, "are right");
    st_ok(HCY_EVAL(queue, "e = exp(a) + log(2) - log(2)", hcy_op_array("a", a), hcy_op_array("e", e)),
          "integers are made float64");
    read_array(z, e);
    ok(fabs(z[5] / exp(7) - 1) < 1e-15 && fabs(z[0] / exp(-3) - 1) < 1e-14, "and are right");
    static const struct {
        const char *text, *words;
    } cases[] = {
        { "e = sin(1j*d)", "column 5: complex numbers have no sin" },
        { "e = ldexp(d, d)", "a real number and an integer are wanted for ldexp" },
        { "e = (a > 0) ** (a > 0)", "there is no ** of bool" },
        { "e = atan2(d)", "too few arguments for atan2" },
        { "c = exp(a)", "float64 is not assigned to int32" },
        { "fast = d", "no array to write to is called fast" },
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
        st_says(HCY_EVAL(queue, cases[k].text, hcy_op_array("a", a), hcy_op_array("c", c), hcy_op_array("d", d),
                         hcy_op_array("e", e)),
                HCY_EINVAL, cases[k].words, "\"%s\" is refused", cases[k].text);
    hcy_array_release(a);
    hcy_array_release(b);
    hcy_array_release(c);
    hcy_array_release(d);
    hcy_array_release(e);
}

/* --- Random numbers --- */

/* The three of Philox 4x32-10 in Random123's file kat_vectors: key, counter, and the first two words of the result. */
static void test_philox(void)
{
    static const uint64_t seed[3] = { 0, UINT64_MAX, 0x299f31d0a4093822u };
    static const uint64_t index[3] = { 0, UINT64_MAX, 0x85a308d3243f6a88u };
    static const uint64_t stream[3] = { 0, UINT64_MAX, 0x0370734413198a2eu };
    static const uint64_t want[3] = { 0xe169c58d6627e8d5u, 0x41c83b0e408f276du, 0x94fdccebd16cfe09u };
    uint64_t got[3] = { 0 };
    hcy_array *s = array_of(HCY_UINT64, 3, seed), *i = array_of(HCY_UINT64, 3, index),
              *k = array_of(HCY_UINT64, 3, stream), *z = array_of(HCY_UINT64, 3, got);
    st_ok(HCY_EVAL(queue, "z = random(s, i, k)", hcy_op_array("s", s), hcy_op_array("i", i), hcy_op_array("k", k),
                   hcy_op_array("z", z)),
          "Philox");
    read_array(got, z);
    for (int n = 0; n < 3; n++)
        is_int((intmax_t)got[n], (intmax_t)want[n], "known answer %d", n);
    st_says(HCY_EVAL(queue, "z = random(0.5, i)", hcy_op_array("i", i), hcy_op_array("z", z)), HCY_EINVAL,
            "integers are wanted for random", "a seed is an integer");
    hcy_array_release(s);
    hcy_array_release(i);
    hcy_array_release(k);
    hcy_array_release(z);
}

/* Moments within five of their deviations, and bits that are the same everywhere. */
static void test_distributions(void)
{
    enum { MANY = 100000 };
    static double u[MANY], g[MANY];
    static float v[MANY];
    double sums[6] = { 0 };
    size_t outside = 0;
    hcy_array *a = array_of(HCY_FLOAT64, MANY, u), *b = array_of(HCY_FLOAT64, MANY, g),
              *c = array_of(HCY_FLOAT32, MANY, v);
    st_ok(HCY_EVAL(queue, "u = uniform(7, index); g = normal(7, index, 1); v = uniform32(7, index, 2)",
                   hcy_op_array("u", a), hcy_op_array("g", b), hcy_op_array("v", c)),
          "uniform and normal numbers");
    read_array(u, a);
    read_array(g, b);
    read_array(v, c);
    for (size_t i = 0; i < MANY; i++) {
        outside += !(u[i] >= 0 && u[i] < 1) + !(v[i] >= 0 && v[i] < 1);
        sums[0] += u[i] - 0.5;
        sums[1] += (u[i] - 0.5) * (u[i] - 0.5) - 1.0 / 12;
        sums[2] += v[i] - 0.5;
        sums[3] += g[i];
        sums[4] += g[i] * g[i] - 1;
        sums[5] += g[i] * g[i] * g[i] * g[i] - 3;
    }
    static const double variances[6] = { 1.0 / 12, 1.0 / 180, 1.0 / 12, 1, 2, 96 };
    is_int((intmax_t)outside, 0, "are from 0 to 1");
    for (int k = 0; k < 6; k++)
        ok(fabs(sums[k]) < 5 * sqrt(variances[k] * MANY), "moment %d", k);
    ok(hash_bytes(u, sizeof u) == UNIFORM_HASH && hash_bytes(g, sizeof g) == NORMAL_HASH &&
           hash_bytes(v, sizeof v) == SINGLE_HASH,
       "have the bits that they have everywhere");
    hcy_array_release(a);
    hcy_array_release(b);
    hcy_array_release(c);
}

/* How far what was drawn is from Poisson's distribution: chi^2 over its degrees of freedom, of bins with 5 or more. */
static double poisson_distance(const int64_t *k, int n, double mean)
{
    double chi2 = 0, rest = n, bins = 0;
    int64_t first = (int64_t)fmax(0, mean - 8 * sqrt(mean) - 8), last = (int64_t)(mean + 8 * sqrt(mean) + 20);
    int64_t width = 1 + (int64_t)(sqrt(mean) / 8), seen = 0;
    for (int64_t low = first; low < last; low += width) {
        double wanted = 0;
        int64_t got = 0;
        for (int64_t i = low; i < low + width; i++)
            wanted += n * exp((double)i * log(mean) - mean - lgamma((double)i + 1));
        for (int i = 0; i < n; i++)
            got += k[i] >= low && k[i] < low + width;
        if (wanted < 5)
            continue;
        chi2 += ((double)got - wanted) * ((double)got - wanted) / wanted;
        rest -= wanted;
        seen += got;
        bins++;
    }
    /* What is in none of these bins is one of its own. */
    double others = (double)(n - seen) - rest;
    return (chi2 + others * others / fmax(rest, 1)) / bins;
}

static void test_draws(void)
{
    enum { MANY = 20000 };
    static const double means[] = { 0.25, 9.5, 10, 33.3, 1e4, 1e15 };
    static int64_t k[MANY];
    static uint64_t bits[MANY];
    uint64_t hash = 0;
    hcy_array *a = array_of(HCY_INT64, MANY, k), *b = array_of(HCY_UINT64, MANY, bits);
    for (size_t m = 0; m < sizeof means / sizeof means[0]; m++) {
        double sum = 0, squares = 0;
        st_ok(HCY_EVAL(queue, "k = poisson(mean, random(3, index))", hcy_op_array("k", a),
                       hcy_op_real("mean", means[m])),
              "counts of %g", means[m]);
        read_array(k, a);
        hash = hash * 31 + hash_bytes(k, sizeof k);
        for (int i = 0; i < MANY; i++) {
            sum += (double)k[i] - means[m];
            squares += ((double)k[i] - means[m]) * ((double)k[i] - means[m]);
        }
        ok(fabs(sum) < 5 * sqrt(means[m] * MANY), "their mean is off by %g", sum / MANY);
        ok(fabs(squares / MANY / means[m] - 1) < 5 * sqrt((2 + 1 / means[m]) / MANY), "their variance is %g of it",
           squares / MANY / means[m]);
        double distance = means[m] < 1e9 ? poisson_distance(k, MANY, means[m]) : 0;
        ok(distance < 2.2, "they are Poisson's: %g", distance);
    }
    ok(hash == POISSON_HASH, "all have the bits that they have everywhere: %#" PRIx64, hash);
    st_ok(HCY_EVAL(queue, "k = below(1000003, random(3, index)); b = random(3, index)", hcy_op_array("k", a),
                   hcy_op_array("b", b)),
          "integers below a million");
    read_array(k, a);
    read_array(bits, b);
    size_t wrong = 0;
    for (int i = 0; i < MANY; i++)
        wrong += (uint64_t)k[i] != (((bits[i] >> 32) * 1000003 + ((bits[i] & 0xffffffffu) * 1000003 >> 32)) >> 32);
    is_int((intmax_t)wrong, 0, "are the share of 2^64 that the bits are");
    st_ok(HCY_EVAL(queue, "k = below(n, random(3, index)) + below(0, b) + poisson(-1, b) + poisson(0, b)",
                   hcy_op_array("k", a), hcy_op_array("b", b), hcy_op_integer("n", INT64_MAX)),
          "integers of all sizes");
    read_array(k, a);
    /* Of one less than 2^63 the share is half of the bits, or one less. */
    for (int i = 0; i < MANY; i++)
        wrong += (bits[i] >> 1) - (uint64_t)k[i] > 1;
    is_int((intmax_t)wrong, 0, "are right");
    st_says(HCY_EVAL(queue, "k = below(2.5, k)", hcy_op_array("k", a)), HCY_EINVAL, "integers are wanted for below",
            "of a fraction");
    hcy_array_release(a);
    hcy_array_release(b);
}

/* Where a stretch of arguments is near, CPUs take a shorter way than where one of them is far: the same results, which
 * groups of all kinds of arguments would not show. */
static void test_near(const struct precision *p)
{
    static const char *const texts[] = { "z = exp(x)", "z = log(x)", "z = sin(x)", "z = cos(x)", "z = tan(x)",
                                         "z = rsqrt(x)" };
    static double x[2][N], z[2][N];
    const size_t size = hcy_dtype_size(p->dtype);
    uint64_t seed = 5;
    for (size_t i = 0; i < N; i++) {
        const double near = 80 * fraction_from(&seed) + 1e-3;
        store_number(x[0], i, p, near);
        store_number(x[1], i, p, i % 64 ? near : NAN);
    }
    hcy_array *a[2] = { array_of(p->dtype, N, x[0]), array_of(p->dtype, N, x[1]) }, *b = array_of(p->dtype, N, z[0]);
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        size_t wrong = 0;
        for (int far = 0; far < 2; far++) {
            st_ok(HCY_EVAL(queue, texts[k], hcy_op_array("x", a[far]), hcy_op_array("z", b)), "%s", texts[k]);
            read_array(z[far], b);
        }
        for (size_t i = 0; i < N; i++)
            wrong += i % 64 && memcmp((char *)z[0] + i * size, (char *)z[1] + i * size, size);
        is_int((intmax_t)wrong, 0, "... of near %s, beside far ones too", hcy_dtype_name(p->dtype));
    }
    hcy_array_release(a[0]);
    hcy_array_release(a[1]);
    hcy_array_release(b);
}

/* The device's own functions: near enough for anybody who asks for them. */
static void test_fast(void)
{
    static float x[N], z[N];
    size_t wrong = 0;
    for (size_t i = 0; i < N; i++)
        x[i] = (float)i / N + 0.25f;
    hcy_array *a = array_of(HCY_FLOAT32, N, x), *b = array_of(HCY_FLOAT32, N, z);
    st_ok(HCY_EVAL(queue, "fast: z = exp(x) * sin(x) + x ** 1.5 - rsqrt(x) + atan2(x, 2*x)", hcy_op_array("x", a),
                   hcy_op_array("z", b)),
          "the device's own functions");
    read_array(z, b);
    for (size_t i = 0; i < N; i++)
        wrong += !(fabs(z[i] - (exp(x[i]) * sin(x[i]) + pow(x[i], 1.5) - 1 / sqrt(x[i]) + atan2(1, 2))) < 1e-5);
    is_int((intmax_t)wrong, 0, "are about right");
    hcy_array_release(a);
    hcy_array_release(b);
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    bool all = argc > 2 && !strcmp(argv[2], "all");
    long step = argc > 4 ? strtol(argv[4], NULL, 10) : 1;
    dev = cts_open();
    queue = cts_queue(dev);
    for (int p = 0; p < 2; p++)
        for (int k = 0; k < FUNCTIONS; k++)
            if (all && (argc < 4 || !strcmp(argv[3], functions[k].call)))
                test_all_of(&functions[k], &precisions[p], step > 0 ? (uint64_t)step : 1);
            else if (!all && k % GROUP == 0)
                test_group(&functions[k], FUNCTIONS - k < GROUP ? FUNCTIONS - k : GROUP, &precisions[p]);
    if (!all) {
        test_parts();
        test_complex();
        test_root_ends(&precisions[0]);
        test_root_ends(&precisions[1]);
        test_near(&precisions[0]);
        test_near(&precisions[1]);
        test_powers();
        test_philox();
        test_distributions();
        test_draws();
        test_fast();
    }
    if (!has_oracle())
        diag("no long double of 64 bits: nothing was held against it");
    /* A driver that still compiles for the last command must not meet the end of the process. */
    (void)!hcy_queue_finish(queue);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return done_testing();
}
