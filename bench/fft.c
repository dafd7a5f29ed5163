/* fft.c - the CPU's Fourier transforms, our own beside FFTW's: as lines, which non-uniform FFTs use, and as grids,
 * which hcy_fft transforms.
 *
 *     bench/fft [SIMD [lines | grids | points]]
 *     bench/fft DEVICE [MILLIONS]
 *
 * The second form is fft_device.c's: another device's, as cuda:0, grids of up to so many numbers.
 *
 * Lines: 16 transforms in place, by one thread, as columns side by side and as rows behind one another, beside FFTW's
 * estimated plans and measured ones.  Grids: by one thread, what hcy_fft takes beside our own alone and FFTW's alone.
 * Nanoseconds a number, the best of some rounds, in each of which all take turns.  SIMD: portable, avx2, avx512 ...
 * (the best one).  Last, in builds with FFTW, whole non-uniform transforms of uniform points by one thread with what
 * the device chooses and with our own alone: milliseconds of processors' time. */
#include "bench.h"
#include "cpu_priv.h"
#include "fft_device.h"

#include <halcyon/nufft.h>
#include <math.h>
#include <string.h>
#include <time.h>

enum { TOGETHER = 16, ROUNDS = 20, POINTS_ROUNDS = 8, NUMBERS = 2000000 };

struct way {
    const char *name;
    enum cpu_fft_choice choice;
    bool measured;
};
static const struct way ways[] = { { "own", CPU_FFT_OWN, false },
#if HAVE_FFTW3
                                   { "FFTW estimated", CPU_FFT_FFTW, false },
                                   { "FFTW measured", CPU_FFT_FFTW, true },
#endif
};
enum { WAYS = sizeof ways / sizeof ways[0] };

/* Transforms zeros, which keep their size however often they are transformed; a row's `times` are a call's. */
static double time_way(const struct cpu_fft_kept *plan, void *data, size_t n, size_t size, bool rows, void *scratch)
{
    const size_t repeats = NUMBERS / (n * TOGETHER) + 1;
    memset(data, 0, n * TOGETHER * size);
    double start = timer_now();
    for (size_t i = 0; i < repeats; i++)
        cpu_fft_many_run(plan, data, rows ? TOGETHER : 1, rows ? n * size : 0, scratch);
    return (timer_now() - start) / (double)(repeats * n * TOGETHER);
}

static void measure(size_t n, bool is_double, bool rows, enum cpu_simd simd)
{
    const size_t size = is_double ? 16 : 8;
    void *data = bench_need(aligned_alloc(64, n * TOGETHER * size));
    void *scratch = bench_need(aligned_alloc(64, cpu_fft_many_scratch(n)));
    struct cpu_fft_kept *plans[WAYS] = { NULL };
    double best[WAYS];
    for (int i = 0; i < WAYS; i++) {
        struct cpu_fft_many many = { .is_double = is_double, .aligned = true, .measured = ways[i].measured, .sign = -1,
                                     .n = (int)n, .howmany = 1, .stride = 1, .dist = (int)n, .choice = ways[i].choice,
                                     .simd = simd };
        if (!rows)
            many.howmany = TOGETHER, many.stride = TOGETHER, many.dist = 1;
        CHECK(cpu_fft_many_get(&plans[i], &many));
        best[i] = 1;
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < WAYS; i++) {
            const double t = time_way(plans[i], data, n, size, rows, scratch);
            best[i] = t < best[i] ? t : best[i];
        }
    printf("%-6s %5zu %-7s", is_double ? "double" : "float", n, rows ? "rows" : "columns");
    for (int i = 0; i < WAYS; i++) {
        printf("  %s %.2f", ways[i].name, 1e9 * best[i]);
        if (i)
            printf(" (own: %.2f of it)", best[0] / best[i]);
        cpu_fft_many_put(plans[i]);
    }
    printf("\n");
    free(data);
    free(scratch);
}

/* --- Grids --- */

static const struct grid {
    int rank;
    size_t n[3], batch, inner;
} grids[] = {
    { 1, { 256, 1, 1 }, 256, 1 },   { 1, { 4096, 1, 1 }, 100, 1 },  { 1, { 65536, 1, 1 }, 8, 1 },
    { 1, { 256, 1, 1 }, 64, 16 },   { 2, { 32, 32, 1 }, 256, 1 },   { 2, { 64, 64, 1 }, 64, 1 },
    { 2, { 100, 100, 1 }, 64, 1 },  { 2, { 128, 128, 1 }, 16, 1 },  { 2, { 256, 256, 1 }, 1, 1 },
    { 2, { 256, 256, 1 }, 16, 1 },  { 2, { 320, 320, 1 }, 8, 1 },   { 2, { 512, 512, 1 }, 4, 1 },
    { 2, { 1000, 1000, 1 }, 1, 1 }, { 2, { 2048, 2048, 1 }, 1, 1 }, { 3, { 64, 64, 64 }, 1, 1 },
    { 3, { 100, 100, 100 }, 1, 1 }, { 3, { 128, 128, 128 }, 1, 1 }, { 3, { 200, 200, 200 }, 1, 1 },
    { 3, { 256, 256, 256 }, 1, 1 }, { 2, { 509, 509, 1 }, 1, 1 },   { 2, { 64, 64, 1 }, 16, 8 },
    { 1, { 10007, 1, 1 }, 1, 1 },   { 1, { 6561, 1, 1 }, 1, 1 },
};
static const char *const type_names[] = { "", "c2c", "r2c", "c2r" };

struct grid_way {
    void *fft;
    double best;
};

static void time_grid(struct cpu_pool *pool, struct grid_way *way, int direction, size_t numbers, void *in, void *out)
{
    double start = timer_now();
    CHECK(cpu_fft_run(pool, way->fft, direction, in, out));
    const double took = (timer_now() - start) / (double)numbers;
    way->best = took < way->best ? took : way->best;
}

static void measure_grid(struct cpu_pool *pool, const struct grid *g, int type, int precision, enum cpu_simd simd)
{
    static const enum cpu_fft_choice choices[] = { CPU_FFT_AUTO, CPU_FFT_OWN, CPU_FFT_FFTW };
    const int n_ways = WAYS > 1 ? 3 : 1;
    struct grid_way way[3] = { { NULL, 1 }, { NULL, 1 }, { NULL, 1 } };
    hcy_fft_desc desc = HCY_FFT_DESC_INIT;
    desc.type = type, desc.precision = precision, desc.rank = g->rank;
    desc.batch = g->batch, desc.inner = g->inner;
    for (int a = 0; a < 3; a++)
        desc.n[a] = g->n[a];
    const size_t numbers = g->n[0] * g->n[1] * g->n[2] * g->batch * g->inner;
    /* Room for complex numbers at both ends, half of them stored or all. */
    const size_t room = (numbers + numbers / g->n[g->rank - 1] * 2) * (precision == HCY_F64 ? 16 : 8);
    void *in = bench_need(aligned_alloc(64, (room + 63) / 64 * 64));
    void *out = bench_need(aligned_alloc(64, (room + 63) / 64 * 64));
    memset(in, 0, room);
    memset(out, 0, room);
    for (int w = 0; w < n_ways; w++)
        CHECK(cpu_fft_create(&way[w].fft, &desc, choices[w], simd));
    for (int round = 0; round < (numbers > 1000000 ? 3 : ROUNDS); round++)
        for (int w = 0; w < n_ways; w++)
            time_grid(pool, &way[w], type == HCY_FFT_C2R ? HCY_FFT_BACKWARD : HCY_FFT_FORWARD, numbers, in, out);
    printf("%-6s %s %zu x %zu x %zu, %zu of them, %zu side by side: %.2f", precision == HCY_F64 ? "double" : "float",
           type_names[type], g->n[0], g->n[1], g->n[2], g->batch, g->inner, 1e9 * way[0].best);
    if (n_ways > 1)
        printf(", own %.2f, FFTW %.2f (%.2f of it)", 1e9 * way[1].best, 1e9 * way[2].best, way[0].best / way[2].best);
    printf("\n");
    for (int w = 0; w < n_ways; w++)
        cpu_fft_release(way[w].fft);
    free(in);
    free(out);
}

#if HAVE_FFTW3
/* --- Whole non-uniform transforms --- */

static const struct cell {
    int dim;
    int64_t modes, points;
} cells[] = { { 1, 2000, 2000 },    { 1, 1000000, 200000 }, { 2, 256, 100000 },
              { 2, 1000, 200000 },  { 3, 64, 100000 },      { 3, 128, 200000 } };

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *fill_numbers(size_t n, int precision, double scale)
{
    void *numbers = bench_need(malloc(n * (precision == HCY_F64 ? 8 : 4)));
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < n; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        const double x = scale * ((double)(state >> 11) * 0x1p-53 - 0.5);
        if (precision == HCY_F64)
            ((double *)numbers)[i] = x;
        else
            ((float *)numbers)[i] = (float)x;
    }
    return numbers;
}

static void open_plan(hcy_device **dev, hcy_nufft **plan, const struct cell *cell, int type, int precision,
                      const void *points, const char *simd, const char *choice)
{
    char name[80];
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    const size_t axis = (size_t)cell->points * (precision == HCY_F64 ? 8 : 4);
    desc.type = type, desc.dim = cell->dim, desc.precision = precision;
    desc.eps = precision == HCY_F64 ? 1e-9 : 1e-6;
    for (int d = 0; d < cell->dim; d++)
        desc.modes[d] = cell->modes;
    snprintf(name, sizeof name, "cpu@threads=1@simd=%s@fft=%s", simd, choice);
    CHECK(hcy_device_open(dev, name));
    CHECK(hcy_nufft_create(plan, *dev, &desc, NULL));
    CHECK(hcy_nufft_set_points(*plan, cell->points,
                               (const void *[]){ points, (const char *)points + axis, (const char *)points + 2 * axis },
                               0, NULL));
}

static void measure_cell(const struct cell *cell, int type, int precision, const char *simd)
{
    size_t modes = 1;
    for (int d = 0; d < cell->dim; d++)
        modes *= (size_t)cell->modes;
    void *points = fill_numbers(3 * (size_t)cell->points, precision, 6.28), *c, *f;
    c = fill_numbers(2 * (size_t)cell->points, precision, 1);
    f = fill_numbers(2 * modes, precision, 1);
    hcy_device *dev[2];
    hcy_nufft *plan[2];
    double best[2] = { 1e9, 1e9 };
    for (int i = 0; i < 2; i++)
        open_plan(&dev[i], &plan[i], cell, type, precision, points, simd, i ? "own" : "auto");
    for (int round = 0; round < POINTS_ROUNDS; round++)
        for (int i = 0; i < 2; i++) {
            const double start = processor_seconds();
            CHECK(hcy_nufft_execute(plan[i], c, f));
            const double took = processor_seconds() - start;
            best[i] = took < best[i] ? took : best[i];
        }
    printf("%-6s %d-D, %lld modes an axis, %lld points, type %d: %.3f ms, own %.3f (%.2f of it)\n",
           precision == HCY_F64 ? "double" : "float", cell->dim, (long long)cell->modes, (long long)cell->points, type,
           1e3 * best[0], 1e3 * best[1], best[1] / best[0]);
    for (int i = 0; i < 2; i++) {
        hcy_nufft_destroy(plan[i]);
        hcy_device_release(dev[i]);
    }
    free(points);
    free(c);
    free(f);
}
#endif

int main(int argc, char **argv)
{
    static const size_t lengths[] = { 128, 240, 256, 400, 512, 720, 768, 1024, 2048 };
    int simd = (int)cpu_simd_best();
    char *end = "";
    const double millions = argc == 3 ? strtod(argv[2], &end) : INFINITY;
    if (argc > 1 && argc < 4 && strchr(argv[1], ':') && !*end && millions > 0) {
        bench_fft_device(argv[1], millions);
        return 0;
    }
    while (argc > 1 && simd >= 0 && strcmp(argv[1], cpu_simd_name((enum cpu_simd)simd)))
        simd--;
    const char *part = argc > 2 ? argv[2] : "all";
    const bool all = !strcmp(part, "all"), lines = all || !strcmp(part, "lines"),
               whole = all || !strcmp(part, "grids"), points = all || !strcmp(part, "points");
    if (argc > 3 || !(lines || whole || points) || simd < 0 ||
        cpu_simd_built((enum cpu_simd)simd) != (enum cpu_simd)simd) {
        fprintf(stderr, "usage: %s [SIMD [lines | grids | points]], up to %s; or %s DEVICE [MILLIONS]\n", argv[0],
                cpu_simd_name(cpu_simd_best()), argv[0]);
        return 2;
    }
    printf("%s, %d transforms at once, one thread, ns a number\n", cpu_simd_name((enum cpu_simd)simd), TOGETHER);
    for (size_t i = 0; lines && i < sizeof lengths / sizeof lengths[0]; i++)
        for (int way = 0; way < 4; way++)
            measure(lengths[i], way & 1, way & 2, (enum cpu_simd)simd);
    struct cpu_pool *pool;
    CHECK(cpu_pool_create(&pool, 1, NULL, 0));
    for (size_t i = 0; whole && i < sizeof grids / sizeof grids[0]; i++)
        for (int way = 0; way < 6; way++)
            if (!(way % 3) || grids[i].inner == 1)
                measure_grid(pool, &grids[i], HCY_FFT_C2C + way % 3, way < 3 ? HCY_F32 : HCY_F64, (enum cpu_simd)simd);
    cpu_pool_destroy(pool);
#if HAVE_FFTW3
    for (size_t i = 0; points && i < sizeof cells / sizeof cells[0]; i++)
        for (int way = 0; way < 4; way++)
            measure_cell(&cells[i], 1 + way % 2, way < 2 ? HCY_F32 : HCY_F64, cpu_simd_name((enum cpu_simd)simd));
#else
    (void)points;
#endif
    return 0;
}
