/* fft.c - the CPU's Fourier transforms as non-uniform FFTs use them: our own lines beside FFTW's, estimated and
 * measured.
 *
 *     bench/fft [SIMD]
 *
 * 16 transforms in place, by one thread, as columns side by side and as rows behind one another; nanoseconds a number,
 * the best of ROUNDS rounds, in each of which all take turns.  SIMD: portable, avx2, avx512 ... (the best one). */
#include "bench.h"
#include "cpu_priv.h"

#include <string.h>

enum { TOGETHER = 16, ROUNDS = 20, NUMBERS = 2000000 };

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

int main(int argc, char **argv)
{
    static const size_t lengths[] = { 128, 240, 256, 512, 768, 1024, 2048 };
    int simd = (int)cpu_simd_best();
    while (argc > 1 && simd >= 0 && strcmp(argv[1], cpu_simd_name((enum cpu_simd)simd)))
        simd--;
    if (argc > 2 || simd < 0 || cpu_simd_built((enum cpu_simd)simd) != (enum cpu_simd)simd) {
        fprintf(stderr, "usage: %s [SIMD], up to %s\n", argv[0], cpu_simd_name(cpu_simd_best()));
        return 2;
    }
    printf("%s, %d transforms at once, one thread, ns a number\n", cpu_simd_name((enum cpu_simd)simd), TOGETHER);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        for (int way = 0; way < 4; way++)
            measure(lengths[i], way & 1, way & 2, (enum cpu_simd)simd);
    return 0;
}
