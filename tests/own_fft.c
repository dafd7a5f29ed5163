/* own_fft.c - the CPU's own Fourier transforms against sums, term by term: all short lengths, both precisions, forward
 * and backward, complex and real, lines in rows and in columns; the same bits from every SIMD variant, for any
 * neighbours. */
#include "tap.h"

#include "own_fft.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 2600, LINES = 19 };

static long double cosines[MOST], sines[MOST];
static double random_numbers[2 * MOST * LINES];
static _Alignas(64) char in[16 * MOST * LINES], first[16 * MOST * LINES], out[16 * MOST * LINES];

static double number(const void *at, size_t i, bool is_double)
{
    return is_double ? ((const double *)at)[i] : (double)((const float *)at)[i];
}

static void put(void *at, size_t i, bool is_double, double x)
{
    if (is_double)
        ((double *)at)[i] = x;
    else
        ((float *)at)[i] = (float)x;
}

/* The relative error of one line, in units of the precision's eps; `step` and `pitch` of the output's numbers. */
static double error_of(const struct own_fft *f, const struct own_fft_lines *l, size_t line)
{
    const size_t n = f->n, kept = l->kind == OWN_FFT_FROM_REAL ? n / 2 + 1 : n;
    long double wrong = 0, all = 0;
    for (size_t k = 0; k < kept; k++) {
        long double re = 0, im = 0;
        for (size_t j = 0; j < n; j++) {
            const size_t at = j * l->in_step + line * l->in_pitch, angle = j * k % n;
            const bool real = l->kind == OWN_FFT_FROM_REAL;
            const long double x = number(l->in, real ? at : 2 * at, f->is_double);
            const long double y = real ? 0 : number(l->in, 2 * at + 1, f->is_double);
            const long double c = cosines[angle], s = l->backward ? sines[angle] : -sines[angle];
            re += x * c - y * s;
            im += x * s + y * c;
        }
        const size_t at = k * l->out_step + line * l->out_pitch;
        const long double a = number(l->out, 2 * at, f->is_double) - re;
        const long double b = number(l->out, 2 * at + 1, f->is_double) - im;
        wrong += a * a + b * b;
        all += re * re + im * im;
    }
    return (double)sqrtl(wrong / all) / (f->is_double ? 0x1p-53 : 0x1p-24);
}

static void fill(size_t numbers, bool is_double)
{
    for (size_t i = 0; i < numbers; i++)
        put(in, i, is_double, random_numbers[i]);
}

static void make_roots(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cosines[i] = cosl(2 * acosl(-1) * (long double)i / (long double)n);
        sines[i] = sinl(2 * acosl(-1) * (long double)i / (long double)n);
    }
}

/* Runs it in all variants: 0 if one has other bits than the portable one. */
static int run_all(const struct own_fft *f, const struct own_fft_lines *l, size_t bytes)
{
    void *scratch = aligned_alloc(64, own_fft_scratch(f));
    int same = 1;
    for (int simd = CPU_SIMD_PORTABLE; scratch && simd <= (int)cpu_simd_best(); simd++) {
        if (cpu_simd_built((enum cpu_simd)simd) != (enum cpu_simd)simd)
            continue;
        memset(out, 0x5a, bytes);
        own_fft_run(f, (enum cpu_simd)simd, l, scratch);
        if (simd == CPU_SIMD_PORTABLE)
            memcpy(first, out, bytes);
        same &= !memcmp(first, out, bytes);
    }
    free(scratch);
    return scratch && same;
}

static void test_length(size_t n, bool is_double, double *worst, int *same)
{
    struct own_fft *f = NULL;
    const size_t number_size = is_double ? 16 : 8;
    if ((n % 3 ? own_fft_create_real : own_fft_create)(&f, n, is_double))
        bail_out("%s", hcy_last_error()->text);
    fill(2 * n * LINES, is_double);
    for (int way = 0; way < 3; way++) {
        const bool columns = way == 1;
        struct own_fft_lines l = { .in = in, .out = out, .lines = LINES, .in_step = columns ? LINES : 1,
                                   .in_pitch = columns ? 1 : n, .out_step = columns ? LINES : 1,
                                   .out_pitch = columns ? 1 : n, .backward = columns, .kind = OWN_FFT_COMPLEX };
        if (way == 2) {
            l.kind = OWN_FFT_FROM_REAL;
            l.out_pitch = n / 2 + 1;
        }
        *same &= run_all(f, &l, LINES * l.out_pitch * (columns ? n : 1) * number_size);
        for (size_t line = 0; line < LINES; line += LINES - 1) {
            const double e = error_of(f, &l, line);
            *worst = e > *worst ? e : *worst;
        }
        /* The last line alone, in the first lane, has the bits that it had among others. */
        if (way == 0) {
            static char among[sizeof first / LINES];
            memcpy(among, out + (LINES - 1) * n * number_size, n * number_size);
            l.lines = 1;
            l.in = in + (LINES - 1) * n * number_size;
            *same &= run_all(f, &l, n * number_size);
            *same &= !memcmp(out, among, n * number_size);
        }
    }
    /* There and back: n times what there was. */
    struct own_fft_lines back = { .in = first, .out = out, .lines = LINES, .in_step = 1, .in_pitch = n / 2 + 1,
                                  .out_step = 1, .out_pitch = n, .backward = true, .kind = OWN_FFT_TO_REAL };
    static char half[sizeof first];
    const struct own_fft_lines there = { .in = in, .out = out, .lines = LINES, .in_step = 1, .in_pitch = n,
                                         .out_step = 1, .out_pitch = n / 2 + 1, .kind = OWN_FFT_FROM_REAL };
    *same &= run_all(f, &there, LINES * (n / 2 + 1) * number_size);
    memcpy(half, out, sizeof half);
    back.in = half;
    *same &= run_all(f, &back, LINES * n * number_size / 2);
    double off = 0;
    for (size_t i = 0; i < n * LINES; i++)
        off = fmax(off, fabs(number(out, i, is_double) / (double)n - number(in, i, is_double)));
    off /= is_double ? 0x1p-53 : 0x1p-24;
    *worst = off > *worst ? off : *worst;
    own_fft_free(f);
}

/* A long line, which is taken alone, has the bits that it has as a column among others; there and back it is what it
 * was. */
static void test_long(size_t n, bool is_double, enum cpu_simd simd)
{
    enum { COLUMNS = 3 };
    const size_t size = is_double ? 16 : 8;
    struct own_fft *f = NULL;
    if (own_fft_create_real(&f, n, is_double))
        bail_out("%s", hcy_last_error()->text);
    char *line = aligned_alloc(64, (n * size + 63) / 64 * 64), *columns = calloc(n * COLUMNS, size),
         *real = calloc(n + 2, size);
    /* A line alone has a scratch of its own, a fraction of what vectors of such lines take. */
    const size_t room = own_fft_scratch_rows(f, 1);
    void *scratch = aligned_alloc(64, own_fft_scratch(f)), *small = aligned_alloc(64, room + 64);
    if (!line || !columns || !real || !scratch || !small)
        bail_out("out of memory");
    memset((char *)small + room, 0x5a, 64);
    for (size_t i = 0; i < 2 * n; i++)
        put(line, i, is_double, random_numbers[i % (2 * MOST * LINES)]);
    for (size_t k = 0; k < n; k++)
        memcpy(columns + (k * COLUMNS + 1) * size, line + k * size, size);
    int same = 1;
    for (int backward = 0; backward < 2; backward++) {
        const struct own_fft_lines alone = { line, line, 1, 1, n, 1, n, backward, OWN_FFT_COMPLEX };
        const struct own_fft_lines among = { columns, columns,  COLUMNS,        COLUMNS, 1, COLUMNS, 1,
                                             backward, OWN_FFT_COMPLEX };
        own_fft_run(f, simd, &alone, small);
        own_fft_run(f, CPU_SIMD_PORTABLE, &among, scratch);
        for (size_t k = 0; k < n; k++)
            same &= !memcmp(columns + (k * COLUMNS + 1) * size, line + k * size, size);
    }
    const struct own_fft_lines there = { line, real, 1, 1, n, 1, n / 2 + 1, false, OWN_FFT_FROM_REAL };
    const struct own_fft_lines back = { real, columns, 1, 1, n / 2 + 1, 1, n, true, OWN_FFT_TO_REAL };
    own_fft_run(f, simd, &there, small);
    own_fft_run(f, simd, &back, small);
    for (size_t i = 0; i < 64; i++)
        same &= ((char *)small)[room + i] == 0x5a;
    /* Beyond what vectors as a whole take it grows as the line does, by some lines. */
    same &= room <= ((size_t)3 << 20) + 16 * n * size;
    double off = 0;
    for (size_t i = 0; i < n; i++)
        off = fmax(off, fabs(number(columns, i, is_double) / (double)n - number(line, i, is_double)));
    /* The line itself was there and back, too, so it is n times as large. */
    off /= (double)n * (is_double ? 0x1p-53 : 0x1p-24);
    ok(same && off < 12, "%zu %s, %s, alone and among others, real ones there and back (%.1f eps)", n,
       is_double ? "doubles" : "floats", cpu_simd_name(simd), off);
    free(line);
    free(columns);
    free(real);
    free(scratch);
    free(small);
    own_fft_free(f);
}

/* Rows that are taken one by one, and have gaps between them, have the bits that they have side by side: as complex
 * columns, or with their real side's neighbours, which halves ask for, and the other side as columns. */
enum { GAP = 2 };
static int rows_are_same(const struct own_fft *f, enum cpu_simd simd, size_t lines, enum own_fft_kind kind,
                         bool backward, void *scratch)
{
    const size_t n = f->n, size = f->is_double ? 16 : 8, half = n / 2 + 1;
    const size_t in_size = kind == OWN_FFT_FROM_REAL ? size / 2 : size, in_n = kind == OWN_FFT_TO_REAL ? half : n;
    const size_t out_size = kind == OWN_FFT_TO_REAL ? size / 2 : size, out_n = kind == OWN_FFT_FROM_REAL ? half : n;
    const size_t in_pitch = in_n + GAP, out_pitch = out_n + GAP;
    const bool turns_in = kind != OWN_FFT_FROM_REAL, turns_out = kind != OWN_FFT_TO_REAL;
    static char columns[sizeof in];
    for (size_t i = 0; i < lines; i++)
        for (size_t k = 0; k < in_n; k++)
            memcpy(columns + (turns_in ? k * lines + i : i * in_n + k) * in_size, in + (i * in_pitch + k) * in_size,
                   in_size);
    const struct own_fft_lines rows = { in, out, lines, 1, in_pitch, 1, out_pitch, backward, kind };
    const struct own_fft_lines beside = { columns, first, lines, turns_in ? lines : 1, turns_in ? 1 : in_n,
                                          turns_out ? lines : 1, turns_out ? 1 : out_n, backward, kind };
    own_fft_run(f, simd, &rows, scratch);
    own_fft_run(f, CPU_SIMD_PORTABLE, &beside, scratch);
    int same = 1;
    for (size_t i = 0; i < lines; i++)
        for (size_t k = 0; k < out_n; k++)
            same &= !memcmp(out + (i * out_pitch + k) * out_size,
                            first + (turns_out ? k * lines + i : i * out_n + k) * out_size, out_size);
    return same;
}

static void test_rows(bool is_double, enum cpu_simd simd)
{
    /* 8 first, and each radix after it; parts that vectors do not divide (200, 1000); the longest one, and the longest
     * of real numbers, whose halves fill the scratch.  Two others first: 4 x 4, 4 x 3, 3 x 3, 5 x 5, 5 x 4, 5 x 3.  A
     * long odd one, without halves, and a convolution, of which two are taken alone. */
    static const size_t lengths[] = { 64,  128, 192, 200, 320, 448, 512, 1000, 2048, 4096, 8192,
                                      144, 324, 162, 400, 720, 270, 864, 800, 6561, 1009 };
    int same = 1;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct own_fft *f = NULL;
        if (own_fft_create_real(&f, lengths[i], is_double))
            bail_out("%s", hcy_last_error()->text);
        void *scratch = aligned_alloc(64, own_fft_scratch(f));
        fill(2 * 5 * (lengths[i] + GAP), is_double);
        for (size_t lines = 2; lines <= 5 && scratch; lines += 3) {
            same &= rows_are_same(f, simd, lines, OWN_FFT_COMPLEX, false, scratch);
            same &= rows_are_same(f, simd, lines, OWN_FFT_COMPLEX, true, scratch);
            same &= rows_are_same(f, simd, lines, OWN_FFT_FROM_REAL, false, scratch);
            same &= rows_are_same(f, simd, lines, OWN_FFT_TO_REAL, true, scratch);
        }
        /* An infinity that comes first meets roots of 1 alone: these multiply nothing, or there were NaNs. */
        put(in, 0, is_double, f->inner ? 1 : INFINITY);
        same &= scratch && rows_are_same(f, simd, 2, OWN_FFT_COMPLEX, false, scratch);
        same &= scratch && rows_are_same(f, simd, 2, OWN_FFT_COMPLEX, true, scratch);
        same &= !!scratch;
        free(scratch);
        own_fft_free(f);
    }
    ok(same, "rows of %s, %s: the bits that they have side by side", is_double ? "doubles" : "floats",
       cpu_simd_name(simd));
}

int main(void)
{
    /* Of small factors, with each radix alone and all together; primes, for which the transform is a convolution. */
    static const size_t more[] = { 128, 144, 210, 243, 343, 360, 512, 625, 1024, 1201, 2520 };
    /* Long ones, odd ones that have no halves, and convolutions: of a row, of passes, of a long line; twice a prime. */
    static const size_t lone[] = { 4480, 4608, 5000, 5040, 16384, 40960, 65536, 243, 6561, 37, 1009, 2311, 2 * 2311 };
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < sizeof random_numbers / sizeof random_numbers[0]; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        random_numbers[i] = (double)(state >> 11) * 0x1p-53 - 0.5;
    }
    for (int is_double = 0; is_double < 2; is_double++) {
        double worst = 0;
        int same = 1;
        for (size_t n = 1; n <= 70; n++) {
            make_roots(n);
            test_length(n, is_double, &worst, &same);
        }
        ok(worst < 12, "%s, lengths 1 to 70: within %.2f eps", is_double ? "double" : "float", worst);
        double longest = 0;
        for (size_t i = 0; i < sizeof more / sizeof more[0] - (TAP_THREAD_SANITIZER ? 3 : 0); i++) {
            make_roots(more[i]);
            test_length(more[i], is_double, &longest, &same);
        }
        ok(longest < 24, "%s, lengths to %d: within %.2f eps", is_double ? "double" : "float", MOST, longest);
        ok(same, "the same bits from every variant, alone and among others");
    }
    for (int is_double = 0; is_double < 2; is_double++)
        for (int simd = CPU_SIMD_PORTABLE; simd <= (int)cpu_simd_best(); simd++)
            if (cpu_simd_built((enum cpu_simd)simd) == (enum cpu_simd)simd)
                test_rows(is_double, (enum cpu_simd)simd);
    for (int is_double = 0; is_double < 2; is_double++)
        for (int simd = CPU_SIMD_PORTABLE; simd <= (int)cpu_simd_best(); simd++)
            for (size_t i = 0; i < sizeof lone / sizeof lone[0]; i++)
                if (cpu_simd_built((enum cpu_simd)simd) == (enum cpu_simd)simd)
                    test_long(lone[i], is_double, (enum cpu_simd)simd);
    struct own_fft *f = NULL;
    is_int(own_fft_create(&f, SIZE_MAX / 2, true), HCY_ERANGE, "more numbers than there is memory");
    is_int(own_fft_create(&f, 0, true), HCY_ERANGE, "no numbers");
    return done_testing();
}
