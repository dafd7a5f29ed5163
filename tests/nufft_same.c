/* nufft_same - HCY_NUFFT_SAME_EVERYWHERE: the bits of the CPU's portable variant with one thread, from every
 * variant, for any number of threads and any order of points, and from the device given.  Arguments: a device
 * (default: the CPU's); "few" for one whose compiler is slow; "time": no test, what a transform takes with and
 * without, best of 5; of no more points than a number behind it says. */
#include "nufft_oracle.h"
#include "tap.h"

#include <stdio.h>
#include <time.h>

enum { VECTORS = 2, POINTS = 800 };
static const char *const reference = "cpu@threads=1@simd=portable";

static const struct kind {
    int dim, precision;
    double eps;
    int64_t modes[3];
    bool quick;   /* also where a compiler is slow */
    size_t cells; /* of each axis; 0: whatever is chosen */
} kinds[] = {
    { 1, HCY_F32, 1e-3, { 301 }, false, 0 },         { 1, HCY_F64, 1e-9, { 8000 }, true, 0 },
    { 1, HCY_F64, 1e-6, { 97 }, false, 0 },          { 2, HCY_F32, 1e-5, { 33, 70 }, false, 0 },
    { 2, HCY_F64, 1e-9, { 64, 45 }, false, 0 },      { 2, HCY_F64, 1e-12, { 27, 20 }, false, 0 },
    { 3, HCY_F32, 1e-3, { 14, 25, 11 }, false, 0 },  { 3, HCY_F32, 1e-5, { 16, 12, 31 }, true, 0 },
    { 3, HCY_F64, 1e-6, { 12, 9, 20 }, false, 0 },   { 3, HCY_F64, 1e-9, { 13, 17, 10 }, false, 0 },
    { 3, HCY_F32, 1e-4, { 9, 8, 300 }, false, 0 },   { 2, HCY_F32, 1e-4, { 500, 11 }, false, 0 },
    /* So many cells for so few points that a GPU's slabs share counters when points are sorted (gpu_coarseness()). */
    { 2, HCY_F32, 1e-5, { 31, 20 }, true, 1500 }, { 2, HCY_F64, 1e-5, { 18, 33 }, true, 1500 },
};

static hcy_nufft_options options_for(int deterministic)
{
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    o.deterministic = deterministic;
    o.method = HCY_NUFFT_GRID;
    return o;
}

static hcy_nufft_options options_of_kind(const struct kind *k)
{
    hcy_nufft_options o = options_for(HCY_NUFFT_SAME_EVERYWHERE);
    for (int d = 0; d < k->dim; d++)
        o.grid[d] = k->cells;
    if (k->cells)
        o.width = 7;
    return o;
}

/* Half of the points in a cluster, some of them at the same place. */
static void open_kind(struct problem *p, const struct kind *k, int type)
{
    oracle_state = 7;
    oracle_open(p, k->precision, type, k->dim, k->modes, POINTS, type == 3 ? 200 : 0, VECTORS);
    for (int d = 0; d < k->dim; d++)
        for (size_t i = 0; i < p->m; i++) {
            const double x = oracle_get(p, p->x[d], i);
            oracle_put(p, p->x[d], i, i % 4 == 0 ? 0.02 * x : i % 4 == 1 ? oracle_get(p, p->x[d], i / 64) : x);
        }
}

/* Points and strengths the other way round. */
static void turn_around(struct problem *p)
{
    for (size_t i = 0; i < p->m / 2; i++) {
        const size_t j = p->m - 1 - i;
        for (int d = 0; d < p->dim; d++) {
            const double x = oracle_get(p, p->x[d], i);
            oracle_put(p, p->x[d], i, oracle_get(p, p->x[d], j));
            oracle_put(p, p->x[d], j, x);
        }
        for (size_t v = 0; v < 2 * VECTORS; v++) {
            const size_t a = 2 * (v / 2 * p->m + i) + v % 2, b = 2 * (v / 2 * p->m + j) + v % 2;
            const double c = oracle_get(p, p->c, a);
            oracle_put(p, p->c, a, oracle_get(p, p->c, b));
            oracle_put(p, p->c, b, c);
        }
    }
}

/* The results of a problem, forward and of the adjoint, one behind the other; NULL: failed. */
static void *results_of(const struct kind *k, int type, const char *name, bool turned, double *error)
{
    struct problem p;
    hcy_device *dev;
    int status;
    open_kind(&p, k, type);
    const size_t c = VECTORS * p.m * 2 * p.real, f = VECTORS * p.n * 2 * p.real;
    char *both = malloc(c + f);
    if (hcy_device_open(&dev, name))
        bail_out("%s: %s", name, hcy_last_error()->text);
    if (turned)
        turn_around(&p);
    const hcy_nufft_options o = options_of_kind(k);
    hcy_nufft *plan = oracle_plan(&p, dev, k->eps, &o, &status);
    if (!status)
        status = hcy_nufft_execute(plan, p.c, p.f);
    if (!status && error)
        *error = oracle_error(&p, type == 2 ? p.f : p.c, type != 2);
    memcpy(both, type == 2 ? p.c : p.f, type == 2 ? c : f);
    /* The adjoint takes what was the result, and overwrites what was the input. */
    if (!status)
        status = hcy_nufft_execute_adjoint(plan, p.c, p.f);
    if (turned)
        turn_around(&p);
    memcpy(both + (type == 2 ? c : f), type == 2 ? p.f : p.c, type == 2 ? f : c);
    if (status)
        diag("%s, type %d: %s", name, type, hcy_last_error()->text);
    hcy_nufft_destroy(plan);
    hcy_device_release(dev);
    oracle_close(&p);
    if (status) {
        free(both);
        return NULL;
    }
    return both;
}

static size_t results_bytes(const struct kind *k, int type)
{
    size_t modes = 1;
    for (int d = 0; d < k->dim; d++)
        modes *= (size_t)k->modes[d];
    return VECTORS * (POINTS + (type == 3 ? 200 : modes)) * (k->precision == HCY_F64 ? 16 : 8);
}

/* How many of the bytes differ. */
static size_t differing(const unsigned char *a, const unsigned char *b, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += a[i] != b[i];
    return count;
}

static void check_kind(const struct kind *k, int type, const char *const *names, size_t n)
{
    double error = INFINITY;
    const size_t bytes = results_bytes(k, type);
    void *expected = results_of(k, type, reference, false, &error);
    /* Rounding decides below this: strengths of some thousand points, in float. */
    const double most = fmax(3 * k->eps, k->precision == HCY_F32 ? 5e-6 : 1e-13);
    ok(expected && error <= most, "type %d, %d-D, %s, eps %g: an error of %.1e", type, k->dim,
       k->precision == HCY_F32 ? "float" : "double", k->eps, error);
    for (size_t i = 0; expected && i < n; i++) {
        /* Every other device has its points in another order, which type 1 sums and type 2 does not. */
        const bool turned = type == 1 && i % 2;
        void *got = results_of(k, type, names[i], false, NULL);
        void *other = turned ? results_of(k, type, names[i], true, NULL) : NULL;
        const size_t wrong = got ? differing(expected, got, bytes) : bytes;
        const size_t forward = bytes - VECTORS * POINTS * (k->precision == HCY_F64 ? 16 : 8);
        ok(got && !wrong, "%s: the same bits (%zu of %zu bytes differ)", names[i], wrong, bytes);
        if (turned)
            ok(other && !differing(expected, other, forward), "%s: and with the points in another order", names[i]);
        free(got);
        free(other);
    }
    free(expected);
}

/* --- Numbers and points that are hard on sums of integers --- */

enum hard { ZEROS, HUGE_ONES, ONE_HUGE, TINY, ONE_PLACE, BAD_POINTS, ALONE, NONE, NOT_A_NUMBER, N_HARD };
static const char *const hard_names[N_HARD] = {
    "strengths of 0", "huge strengths", "one huge strength among small ones", "tiny strengths",
    "all points at one place", "points that are none", "one point", "no points", "a strength that is no number"
};

static void open_hard(struct problem *p, enum hard hard, int precision)
{
    const double huge = precision == HCY_F32 ? 1e30 : 1e300, tiny = precision == HCY_F32 ? 1e-33 : 1e-200;
    const double bad[] = { NAN, INFINITY, -INFINITY, precision == HCY_F32 ? 3e38 : 1e308, 1e20 };
    const size_t points = hard == ALONE ? 1 : POINTS;
    oracle_state = 11;
    oracle_open(p, precision, 1, 2, (const int64_t[]){ 12, 17 }, hard == NONE ? 0 : points, 0, VECTORS);
    for (size_t i = 0; i < 2 * VECTORS * p->m; i++) {
        const double c = oracle_get(p, p->c, i);
        const double scale[N_HARD] = { 0, huge, i == 9 ? huge : 1e-5, tiny, huge, 1, 1, 1, 1 };
        oracle_put(p, p->c, i, hard == ONE_PLACE ? huge : c * scale[hard]);
    }
    for (size_t i = 0; i < p->m && (hard == ONE_PLACE || hard == BAD_POINTS); i++)
        for (int d = 0; d < p->dim; d++)
            if (hard == ONE_PLACE)
                oracle_put(p, p->x[d], i, 1.25);
            else if (i % 9 == (size_t)d)
                oracle_put(p, p->x[d], i, bad[i / 9 % 5]);
    if (hard == NOT_A_NUMBER)
        oracle_put(p, p->c, 5, NAN);
}

/* Points that are none count as 0, which the direct sum has to be told. */
static double error_of_hard(struct problem *p, enum hard hard)
{
    for (size_t i = 0; i < p->m && hard == BAD_POINTS; i++)
        for (int d = 0; d < p->dim; d++)
            if (!(fabs(oracle_get(p, p->x[d], i)) < 2 * PI * 0x1p40))
                oracle_put(p, p->x[d], i, 0);
    return oracle_error(p, p->c, true);
}

static int run_hard(struct problem *p, hcy_device *dev)
{
    int status;
    hcy_nufft_options o = options_for(HCY_NUFFT_SAME_EVERYWHERE);
    o.check_points = 0;
    o.width = 7;
    o.upsampling = 2;
    hcy_nufft *plan = oracle_plan(p, dev, 1e-5, &o, &status);
    status = status ? status : hcy_nufft_execute(plan, p->c, p->f);
    hcy_nufft_destroy(plan);
    return status;
}

/* The same bits, but that one NaN is as good as another. */
static bool is_same_number(const struct problem *a, const struct problem *b, size_t i)
{
    const double x = oracle_get(a, a->f, i), y = oracle_get(b, b->f, i);
    return (isnan(x) && isnan(y)) || !memcmp((char *)a->f + i * a->real, (char *)b->f + i * b->real, a->real);
}

static void check_hard(hcy_device *first, hcy_device *dev, const char *name, int precision)
{
    for (int hard = 0; hard < N_HARD; hard++) {
        struct problem p, q;
        open_hard(&p, (enum hard)hard, precision);
        open_hard(&q, (enum hard)hard, precision);
        int status = run_hard(&p, first);
        status = status ? status : run_hard(&q, dev);
        if (status)
            diag("%s", hcy_last_error()->text);
        size_t differ = 0, numbers = 0, all = 2 * p.n * VECTORS;
        for (size_t i = 0; i < all; i++) {
            differ += !is_same_number(&p, &q, i);
            numbers += !isnan(oracle_get(&p, p.f, i));
        }
        ok(!status && !differ, "%s, %s: %s: the same numbers (%zu of %zu differ)", name,
           precision == HCY_F32 ? "float" : "double", hard_names[hard], differ, all);
        if (hard == NOT_A_NUMBER) {
            ok(numbers == all / 2, "and none in that vector, all in the other one (%zu of %zu)", numbers, all);
        } else {
            const double error = status ? INFINITY : error_of_hard(&p, (enum hard)hard);
            ok(error <= 3e-5, "and an error of %.1e", error);
        }
        oracle_close(&p);
        oracle_close(&q);
    }
}

static void check_all_hard(const char *name)
{
    hcy_device *first, *dev = NULL;
    if (hcy_device_open(&first, reference) || hcy_device_open(&dev, name))
        bail_out("%s: %s", name, hcy_last_error()->text);
    check_hard(first, dev, name, HCY_F32);
    check_hard(first, dev, name, HCY_F64);
    hcy_device_release(first);
    hcy_device_release(dev);
}

/* --- What it costs --- */

/* Of a CPU the processors' time, on which others of the machine have less of a say. */
static double seconds_now(const hcy_device *dev)
{
    struct timespec t;
    clock_gettime(hcy_device_get_info(dev)->kind == HCY_KIND_CPU ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ms of a transform from and to the device's memory, the points set before. */
static double best_ms(const struct problem *p, hcy_device *dev, double eps, int deterministic)
{
    hcy_buffer *c = NULL, *f = NULL;
    hcy_queue *q = NULL;
    double best = INFINITY;
    int status;
    const hcy_nufft_options o = options_for(deterministic);
    hcy_nufft *plan = oracle_plan(p, dev, eps, &o, &status);
    status = status ? status : hcy_buffer_create(&c, dev, HCY_MEM_DEVICE, p->m * 2 * p->real);
    status = status ? status : hcy_buffer_create(&f, dev, HCY_MEM_DEVICE, p->n * 2 * p->real);
    status = status ? status : hcy_buffer_write_now(c, 0, p->c, p->m * 2 * p->real);
    status = status ? status : hcy_buffer_write_now(f, 0, p->f, p->n * 2 * p->real);
    status = status ? status : hcy_queue_create(&q, dev);
    for (int i = 0; i < 6 && !status; i++) {
        const double begin = seconds_now(dev);
        status = hcy_nufft_submit(q, plan, c, f, false);
        status = status ? status : hcy_queue_finish(q);
        const double took = 1e3 * (seconds_now(dev) - begin);
        best = i && took < best ? took : best; /* the first one compiles */
    }
    if (status)
        diag("%s", hcy_last_error()->text);
    hcy_queue_release(q);
    hcy_buffer_release(c);
    hcy_buffer_release(f);
    hcy_nufft_destroy(plan);
    return status ? INFINITY : best;
}

/* Of no more points than `most`. */
static void show_times(const char *name, size_t most)
{
    static const struct {
        struct kind kind;
        size_t points;
    } rows[] = {
        { { 1, HCY_F32, 1e-5, { 1000000 }, false, 0 }, 10000000 },
        { { 1, HCY_F64, 1e-9, { 1000000 }, false, 0 }, 10000000 },
        { { 2, HCY_F32, 1e-5, { 1000, 1000 }, false, 0 }, 10000000 },
        { { 2, HCY_F64, 1e-9, { 1000, 1000 }, false, 0 }, 10000000 },
        { { 3, HCY_F32, 1e-5, { 128, 128, 128 }, false, 0 }, 10000000 },
        { { 3, HCY_F64, 1e-9, { 128, 128, 128 }, false, 0 }, 10000000 },
        { { 3, HCY_F32, 1e-5, { 256, 256, 256 }, false, 0 }, 1000000 },
    };
    hcy_device *dev;
    if (hcy_device_open(&dev, name))
        bail_out("%s: %s", name, hcy_last_error()->text);
    printf("%s: ms of a transform: fastest, the same in every run, the same everywhere\n", hcy_device_get_info(dev)->name);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int type = 1; type <= 2; type++) {
            const struct kind *k = &rows[i].kind;
            const size_t points = rows[i].points < most ? rows[i].points : most;
            struct problem p;
            oracle_open(&p, k->precision, type, k->dim, k->modes, points, 0, 1);
            printf("type %d, %d-D, %s, eps %g, %lld modes an axis, %zu points: %.2f %.2f %.2f\n", type, k->dim,
                   k->precision == HCY_F32 ? "float" : "double", k->eps, (long long)k->modes[0], points,
                   best_ms(&p, dev, k->eps, 0), best_ms(&p, dev, k->eps, HCY_NUFFT_SAME_RUNS),
                   best_ms(&p, dev, k->eps, HCY_NUFFT_SAME_EVERYWHERE));
            fflush(stdout);
            oracle_close(&p);
        }
    hcy_device_release(dev);
}

/* Those of the names that can be opened here. */
static size_t keep_present(const char **present, const char *const *names, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        hcy_device *dev;
        if (hcy_device_open(&dev, names[i])) {
            diag("%s: %s", names[i], hcy_last_error()->text);
            continue;
        }
        hcy_device_release(dev);
        present[kept++] = names[i];
    }
    return kept;
}

int main(int argc, char **argv)
{
    static const char *const cpus[] = { "cpu@threads=4", "cpu@threads=3@simd=portable", "cpu@threads=2@simd=avx2",
                                        "cpu@threads=1@simd=avx512" };
    const char *const given[] = { argc > 1 ? argv[1] : "", argc > 1 ? argv[1] : "" }, *names[4];
    const bool few = argc > 2 && !strcmp(argv[2], "few");
    const size_t n = argc > 1 ? keep_present(names, given, 2) : keep_present(names, cpus, TAP_THREAD_SANITIZER ? 1 : 4);
    if (!n)
        skip_all("%s: %s", given[0], hcy_last_error()->text);
    if (argc > 2 && !strcmp(argv[2], "time")) {
        show_times(argv[1], argc > 3 ? strtoull(argv[3], NULL, 10) : SIZE_MAX);
        return 0;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        /* Where a grid is given, type 3 has none, and the adjoint of type 1 is as type 2. */
        for (int type = 1; type <= (kinds[i].cells ? 1 : 3); type++)
            if (!(few || TAP_THREAD_SANITIZER) || kinds[i].quick)
                check_kind(&kinds[i], type, few ? names + 1 : names, few || kinds[i].cells ? 1 : n);
    check_all_hard(names[0]);
    return done_testing();
}
