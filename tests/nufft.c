/* nufft - non-uniform FFTs against direct sums in long double: types, dimensions, accuracies, both
 * precisions; awkward sizes and points; adjoints; the same on every SIMD variant.  Argument: a device
 * (default: several of the CPU); "few" for one whose compiler is slow. */
#include "nufft_oracle.h"
#include "tap.h"

static const int64_t sizes[3][3] = { { 50 }, { 25, 40 }, { 10, 11, 12 } };

/* The worst error over eps in one cell, in units of eps. */
static double worst(hcy_device *dev, int precision, int type, int dim, double least, double upsampling)
{
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    struct problem p;
    double most = 0;
    o.upsampling = upsampling;
    for (double eps = 0.1; eps > 0.9 * least; eps /= 10) {
        oracle_open(&p, precision, type, dim, sizes[dim - 1], 60, type == 3 ? 50 : 0, 1);
        p.sign = eps > 1e-4 ? 1 : -1;
        double error = oracle_run(&p, dev, eps, &o) / eps;
        most = error > most ? error : most;
        oracle_close(&p);
    }
    return most;
}

static void check_accuracy(hcy_device *dev, const char *name)
{
    for (int type = 1; type <= 3; type++)
        for (int dim = 1; dim <= 3; dim++) {
            double wide = worst(dev, HCY_F64, type, dim, 1e-12, 2),
                   single = worst(dev, HCY_F32, type, dim, 1e-5, 2);
            ok(wide <= 2, "%s: type %d, %d-D, double: %.2f eps, 2 allowed", name, type, dim, wide);
            ok(single <= 5, "%s: type %d, %d-D, float: %.2f eps, 5 allowed", name, type, dim, single);
        }
}

static void check_chosen_grids(hcy_device *dev)
{
    for (int type = 1; type <= 3; type++) {
        double chosen = worst(dev, HCY_F64, type, 2, 1e-9, 0),
               coarse = worst(dev, HCY_F64, type, 2, 1e-8, 1.25);
        ok(chosen <= 2 && coarse <= 2, "type %d: a grid that is chosen, %.2f eps, and of 1.25, %.2f eps",
           type, chosen, coarse);
    }
    double single = worst(dev, HCY_F32, 3, 3, 2e-7, 1.25) * 1e-6; /* the last eps is 1e-6 */
    ok(single <= 2e-4, "type 3 in float on a grid of 1.25 stays near what float can: %.1e", single);
}

static void check_sizes(hcy_device *dev)
{
    static const int64_t shapes[][4] = { { 1, 1 },       { 1, 2 },       { 1, 3 },     { 1, 65 },
                                         { 1, 257 },     { 2, 1, 1 },    { 2, 1, 57 }, { 3, 3, 1, 2 },
                                         { 3, 7, 5, 4 }, { 3, 1, 1, 40 } };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int type = 1; type <= 2; type++) {
            struct problem p;
            double error[2];
            for (int order = 0; order < 2; order++) {
                oracle_open(&p, HCY_F64, type, (int)shapes[i][0], shapes[i] + 1, i % 2 ? 1 : 60, 0, 1);
                p.zero_first = order;
                error[order] = oracle_run(&p, dev, 1e-9, NULL);
                oracle_close(&p);
            }
            ok(error[0] <= 1e-8 && error[1] <= 1e-8,
               "%lld-D, %lld %lld %lld modes, type %d: %.1e, zero first %.1e", (long long)shapes[i][0],
               (long long)shapes[i][1], (long long)shapes[i][2], (long long)shapes[i][3], type, error[0],
               error[1]);
        }
}

/* Many vectors, more than are transformed at once. */
static void check_many(hcy_device *dev)
{
    static const int vectors[] = { 7, 1000 };
    for (int i = 0; i < 2; i++) {
        struct problem p;
        oracle_open(&p, HCY_F64, 1 + i, 1, (const int64_t[]){ 9 }, 5, 0, vectors[i]);
        double error = oracle_run(&p, dev, 1e-7, NULL);
        ok(error <= 3e-7, "%d vectors: %.1e", vectors[i], error);
        oracle_close(&p);
    }
}

/* A single long axis goes another way through the transform. */
static void check_long(hcy_device *dev)
{
    const int64_t n = 20001;
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    for (int type = 1; type <= 2; type++)
        for (int separate = 0; separate < 2; separate++) {
            struct problem p;
            o.separate_fft = separate;
            oracle_open(&p, HCY_F32, type, 1, &n, 20, 0, 2);
            p.zero_first = separate;
            double error = oracle_run(&p, dev, 1e-6, &o);
            ok(error < 4e-6, "%lld modes in float%s, type %d: error %.1e", (long long)n,
               separate ? ", the general FFT" : "", type, error);
            oracle_close(&p);
        }
}

static void check_points(hcy_device *dev)
{
    static const char *const names[] = { "at and around the ends of the period", "on cells of the grid",
                                         "periods away", "all the same", "in one cluster" };
    for (int kind = 0; kind < 5; kind++)
        for (int dim = 1; dim <= 3; dim++) {
            struct problem p;
            hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
            oracle_open(&p, HCY_F64, 1, dim, sizes[dim - 1], 200, 0, 1);
            o.upsampling = 2;
            const double ends[] = { PI,     -PI,    nextafter(PI, 0), nextafter(-PI, 0), 0, nextafter(0, 1),
                                    2 * PI, -2 * PI };
            for (int d = 0; d < dim; d++)
                for (size_t i = 0; i < p.m; i++) {
                    double *x = p.x[d];
                    size_t r = (size_t)(oracle_uniform() * 96);
                    x[i] = kind == 0   ? ends[r % 8]
                           : kind == 1 ? 2 * PI * (double)r / 96
                           : kind == 2 ? x[i] + 2 * PI * ((double)(r % 7) - 3)
                           : kind == 3 ? 1.25
                                       : 1 + 1e-9 * x[i];
                }
            double error = oracle_run(&p, dev, 1e-11, &o);
            ok(error <= 3e-11, "points %s, %d-D: error %.1e", names[kind], dim, error);
            oracle_close(&p);
        }
}

/* The floor that rounding of coordinates sets, as the header has it. */
static void check_far(hcy_device *dev)
{
    double most = 0;
    for (int power = 1; power <= 8; power++)
        for (int type = 1; type <= 2; type++) {
            struct problem p;
            const int64_t n = 100;
            const double periods = pow(10, power);
            oracle_open(&p, HCY_F64, type, 1, &n, 60, 0, 1);
            for (size_t i = 0; i < p.m; i++)
                oracle_put(&p, p.x[0], i, 2 * periods * oracle_get(&p, p.x[0], i));
            most = fmax(most, oracle_run(&p, dev, 1e-14, NULL) / (3.5e-16 * (double)n * periods));
            oracle_close(&p);
        }
    ok(most <= 1, "points up to 10^8 periods away: %.2f of the floor that is stated", most);
}

/* Many points at one place, few modes: what cancels is measured by its terms. */
static void check_cancelling(hcy_device *dev)
{
    double relative = 0, most = 0;
    for (int seed = 0; seed < 200; seed++) {
        struct problem p;
        const int64_t n = 3 + seed % 9;
        const double eps = pow(10, -1 - seed % 9);
        double terms = 0, sums = 0;
        oracle_open(&p, HCY_F64, 2, 1, &n, 50, 0, 1);
        for (size_t i = 1; i < p.m; i++)
            oracle_put(&p, p.x[0], i, oracle_get(&p, p.x[0], 0));
        double error = oracle_run(&p, dev, eps, NULL);
        for (size_t k = 0; k < 2 * p.n; k++)
            terms += pow(oracle_get(&p, p.f, k), 2);
        for (size_t j = 0; j < 2; j++)
            sums += pow(oracle_get(&p, p.c, j), 2);
        relative = fmax(relative, error / eps);
        most = fmax(most, error * sqrt(sums / terms) / eps);
        oracle_close(&p);
    }
    ok(most <= 2 && relative > 2, "50 points at one place: %.2f eps of the terms, %.2f of the sums", most, relative);
}

/* Strengths near the end of float: nothing on the way may leave it where the result does not. */
static void check_large(hcy_device *dev)
{
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    o.method = HCY_NUFFT_GRID;
    for (int type = 1; type <= 3; type++) {
        struct problem p;
        oracle_open(&p, HCY_F32, type, 2, sizes[1], 200, type == 3 ? 100 : 0, 1);
        for (size_t i = 0; i < 2 * p.m; i++)
            oracle_put(&p, p.c, i, 1e30 * oracle_get(&p, p.c, i));
        for (size_t i = 0; i < 2 * p.n; i++)
            oracle_put(&p, p.f, i, 1e30 * oracle_get(&p, p.f, i));
        double error = oracle_run(&p, dev, 1e-4, &o);
        ok(error <= 5e-4, "type %d, float, strengths of 1e30: error %.1e", type, error);
        oracle_close(&p);
    }
}

/* A plan's two directions: each right, and <forward c, f> = <c, adjoint f>. */
static void check_adjoint(hcy_device *dev, hcy_device *other, int first)
{
    for (int type = first; type <= 3; type++) {
        struct problem p, q;
        int status, status2;
        double complex left = 0, right = 0;
        double norm = 0;
        oracle_open(&p, HCY_F64, type, 2, sizes[1], 300, type == 3 ? 200 : 0, 1);
        hcy_nufft *plan = oracle_plan(&p, dev, 1e-7, NULL, &status), *plan2;
        double forward = status ? 1 : oracle_execute(&p, plan, false);
        double back = status ? 1 : oracle_execute(&p, plan, true);
        ok(forward <= 3e-7 && back <= 3e-7, "type %d and its adjoint from one plan: errors %.1e, %.1e", type,
           forward, back);
        plan2 = oracle_plan(&p, other, 1e-7, NULL, &status2);
        q = p;
        oracle_fill(&p);
        size_t c_bytes = p.m * 16, f_bytes = p.n * 16;
        q.c = memcpy(malloc(c_bytes), p.c, c_bytes);
        q.f = memcpy(malloc(f_bytes), p.f, f_bytes);
        bool writes_c = type == 2;
        is_int(hcy_nufft_execute(plan, writes_c ? q.c : p.c, writes_c ? p.f : q.f), 0,
               "forward on one device");
        is_int(hcy_nufft_execute_adjoint(plan2, writes_c ? p.c : q.c, writes_c ? q.f : p.f), 0,
               "... back on another");
        const double complex *pc = p.c, *qc = q.c, *pf = p.f, *qf = q.f;
        for (size_t i = 0; i < p.m; i++)
            left += writes_c ? qc[i] * conj(pc[i]) : pc[i] * conj(qc[i]);
        for (size_t i = 0; i < p.n; i++) {
            right += writes_c ? pf[i] * conj(qf[i]) : qf[i] * conj(pf[i]);
            norm += creal(qf[i] * conj(qf[i]));
        }
        ok(cabs(left - right) <= 1e-12 * norm + 1e-9, "type %d: products agree to %.1e", type,
           cabs(left - right));
        hcy_nufft_destroy(plan);
        hcy_nufft_destroy(plan2);
        free(q.c);
        free(q.f);
        oracle_close(&p);
    }
}

/* How far a stage between modes and grid is from that of one general transform of the whole grid, of the same device or
 * of another. */
static double stage_error(hcy_device *dev, hcy_device *general, int precision, int dim, const int64_t *modes,
                          hcy_nufft_options o, int stage)
{
    struct problem p;
    const int type = stage == HCY_NUFFT_TO_MODES ? 1 : 2; /* forward both */
    oracle_open(&p, precision, type, dim, modes, 40, 0, 2);
    p.zero_first = o.order;
    double off = 0, all = 0;
    void *out[2] = { NULL, NULL };
    size_t out_n = 0;
    int status = 0;
    for (o.separate_fft = 0; o.separate_fft < 2; o.separate_fft++) {
        hcy_nufft_info info = HCY_NUFFT_INFO_INIT;
        hcy_nufft *plan = status ? NULL : oracle_plan(&p, o.separate_fft ? general : dev, 1e-2, &o, &status);
        if (!status)
            status = hcy_nufft_get_info(&info, plan);
        size_t grid = 2 * 2, coefficients = 2 * p.n * 2;
        for (int d = 0; d < dim; d++)
            grid *= info.grid[d];
        const size_t in_n = type == 1 ? grid : coefficients;
        out_n = type == 1 ? coefficients : grid;
        void *in = calloc(in_n, p.real);
        out[o.separate_fft] = calloc(out_n, p.real);
        for (size_t i = 0; i < in_n; i++)
            oracle_put(&p, in, i, (double)(i * 7919 % 1000));
        if (!status)
            status = hcy_nufft_execute_stage(out[o.separate_fft], plan, stage, in);
        hcy_nufft_destroy(plan);
        free(in);
    }
    for (size_t i = 0; i < out_n; i++) {
        off += pow(oracle_get(&p, out[0], i) - oracle_get(&p, out[1], i), 2);
        all += pow(oracle_get(&p, out[1], i), 2);
    }
    free(out[0]);
    free(out[1]);
    oracle_close(&p);
    if (status)
        diag("%s", hcy_last_error()->text);
    return !status && all > 0 ? sqrt(off / all) : INFINITY;
}

/* In 3-D a device's FFT leaves out planes without modes, unless all is to be transformed at once: the same numbers. */
static void check_planes(hcy_device *dev)
{
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    o.upsampling = 2;
    for (int stage = HCY_NUFFT_TO_MODES; stage <= HCY_NUFFT_TO_GRID; stage++) {
        double error = stage_error(dev, dev, HCY_F64, 3, (const int64_t[]){ 7, 6, 4 }, o, stage);
        ok(error < 1e-14, "planes that have modes alone, stage %d: %.1e", stage, error);
    }
}

/* GPUs transform lines of a grid by radices up to 32, on slow axes and on the fastest one; no group has room
 * for the longest.  That is not the general transform: its numbers differ.  Processors, which compile for long, take
 * every third, and the general transform but for one of four cases from `cpu`. */
static void check_lines(hcy_device *dev, hcy_device *cpu)
{
    enum { TOO_LONG = 9600 };
    static const size_t lengths[] = { 30,  4,   63,  350, 98,  150, 144,      216, 240,
                                      784, 320, 441, 480, 512, 625, TOO_LONG, 1024 };
    const bool is_gpu = hcy_device_get_info(dev)->kind == HCY_KIND_GPU;
    const size_t step = is_gpu ? 1 : 3;
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    hcy_kernel *axes = NULL;
    const bool is_own = !hcy_kernel_get(&axes, dev, "nufft_axes");
    hcy_kernel_release(axes);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i += step) {
        double worst = 0, beside_own = 0;
        for (int k = 0; k < 4; k++) {
            const int64_t n = (int64_t)lengths[i], other = i % 3 ? 7 : 6;
            const int64_t most = i % 4 == 2 ? n - 1 : n * (i % 2 ? 3 : 4) / 5;
            const int64_t modes[] = { k & 1 ? other : most, k & 1 ? most : other };
            const int precision = k & 2 ? HCY_F64 : HCY_F32;
            o.grid[0] = k & 1 ? 12 : lengths[i];
            o.grid[1] = k & 1 ? lengths[i] : 12;
            o.width = 2;
            o.order = (int)(i / 2 + (size_t)k) % 2;
            for (int stage = HCY_NUFFT_TO_MODES; stage <= HCY_NUFFT_TO_GRID; stage++) {
                hcy_device *general = is_gpu || !k ? dev : cpu;
                const double error = stage_error(dev, general, precision, 2, modes, o, stage) / (k & 2 ? 1e-14 : 3e-6);
                worst = fmax(worst, error);
                beside_own = fmax(beside_own, general == dev ? error : 0);
            }
        }
        ok(worst < 1 && (beside_own > 0 || !is_own || lengths[i] == TOO_LONG), "lines of %zu: %.1g of what is allowed",
           lengths[i], worst);
    }
}

/* Arrays of doubles that are complex need not begin at multiples of a complex number. */
static void check_apart(hcy_device *dev)
{
    const int64_t modes[] = { 24, 20 };
    for (int type = 1; type <= 2; type++) {
        struct problem p;
        oracle_open(&p, HCY_F64, type, 2, modes, 50, 0, 1);
        double *c = malloc(p.m * 16 + 24), *f = malloc(p.n * 16 + 24), *const own[] = { p.c, p.f };
        p.c = memcpy((char *)c + 8 + (uintptr_t)c % 16, p.c, p.m * 16);
        p.f = memcpy((char *)f + 8 + (uintptr_t)f % 16, p.f, p.n * 16);
        double error = oracle_run(&p, dev, 1e-9, NULL);
        ok(error < 3e-9, "numbers that begin 8 bytes behind a multiple of 16, type %d: %.1e", type, error);
        p.c = own[0];
        p.f = own[1];
        free(c);
        free(f);
        oracle_close(&p);
    }
}

/* A sample of it all: type 3 is a spread and a type 2, its adjoint a type 1 and an interpolation. */
static void check_some(hcy_device *dev)
{
    hcy_device *cpu;
    if (hcy_device_open(&cpu, "cpu@threads=1"))
        bail_out("no CPU");
    if (hcy_device_get_info(cpu)->caps & HCY_CAP_FFT)
        check_adjoint(dev, cpu, 3);
    else
        skip(1, "the CPU has no FFT to compare with");
    check_planes(dev);
    check_lines(dev, cpu);
    check_apart(dev);
    hcy_device_release(cpu);
}

/* A device without FFT may have the kernel that does. */
static bool has_transforms(hcy_device *dev)
{
    const int64_t one = 16;
    hcy_nufft *plan = NULL;
    int status = oracle_create(&plan, dev, 1, 1, &one, 1, 1, 1e-6, NULL);
    hcy_nufft_destroy(plan);
    return status != HCY_EUNSUPPORTED;
}

int main(int argc, char **argv)
{
    static const char *const variants[] = { "cpu@simd=portable@threads=1", "cpu@simd=avx2@threads=2",
                                            "cpu@threads=3", "cpu@discrete=1@threads=2" };
    size_t n = argc > 1 ? 1 : sizeof variants / sizeof variants[0];
    for (size_t i = 0; i < n; i++) {
        const char *name = argc > 1 ? argv[1] : variants[i];
        hcy_device *dev, *other;
        if (hcy_device_open(&dev, name)) {
            skip(1, "%s: %s", name, hcy_last_error()->text);
            continue;
        }
        if (!strstr(name, "fft=own") && !has_transforms(dev)) {
            skip(1, "%s", hcy_last_error()->text);
            hcy_device_release(dev);
            continue;
        }
        if (argc > 2 && !strcmp(argv[2], "few")) {
            check_some(dev);
            hcy_device_release(dev);
            break;
        }
        if (i < 3)
            check_accuracy(dev, name);
        if (i == 0)
            check_sizes(dev);
        if (i != 1)
            check_long(dev);
        if (i == 2 || n == 1) {
            check_chosen_grids(dev);
            check_points(dev);
            check_far(dev);
            check_cancelling(dev);
            check_large(dev);
            check_many(dev);
            check_apart(dev);
        }
        if (hcy_device_open(&other, "cpu@threads=1"))
            bail_out("no CPU");
        check_adjoint(dev, other, 1);
        hcy_device_release(other);
        hcy_device_release(dev);
    }
    return done_testing();
}
