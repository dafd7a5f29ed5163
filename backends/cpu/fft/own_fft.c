/* own_fft.c - plans of the CPU's own Fourier transforms: the factors of a length, the tables of its passes.  Plans
 * belong to their makers and are not changed. */
#include "own_fft.h"

#include <stdlib.h>
#include <string.h>

static bool is_smooth(size_t n)
{
    unsigned list[HCY_FFT_MOST_PASSES];
    return n == 1 || hcy_fft_factor(list, n) > 0;
}

/* --- Tables --- */

static void put_number(const struct own_fft *f, void *table, size_t i, struct hcy_fft_number x)
{
    if (f->is_double)
        ((struct own_double *)table)[i] = (struct own_double){ x.re, x.im };
    else
        ((struct own_float *)table)[i] = (struct own_float){ (float)x.re, (float)x.im };
}

static size_t number_size(const struct own_fft *f)
{
    return f->is_double ? sizeof(struct own_double) : sizeof(struct own_float);
}

/* Numbers of all passes' tables; fills in the passes. */
static size_t lay_out_passes(struct own_fft *f, const unsigned *list)
{
    size_t numbers = 0, done = 1;
    for (unsigned i = 0; i < f->n_passes; i++) {
        struct own_fft_pass *p = &f->passes[i];
        p->radix = list[i];
        p->done = done;
        done *= list[i];
        p->left = f->n / done;
        numbers += p->left * (p->radix - 1);
    }
    return numbers;
}

static int make_passes(struct own_fft *f)
{
    unsigned list[HCY_FFT_MOST_PASSES];
    f->n_passes = hcy_fft_factor(list, f->n);
    const size_t numbers = lay_out_passes(f, list);
    if (!(f->tables = malloc((numbers ? numbers : 1) * number_size(f))))
        return hcy_fail(HCY_ENOMEM, "out of memory for an FFT of %zu points", f->n);
    size_t at = 0;
    for (unsigned i = 0; i < f->n_passes; i++) {
        struct own_fft_pass *p = &f->passes[i];
        p->twiddles = (char *)f->tables + at * number_size(f);
        for (size_t j = 0; j < p->left; j++)
            for (unsigned k = 1; k < p->radix; k++)
                put_number(f, f->tables, at++, hcy_fft_root(j * k, p->left * p->radix));
    }
    return 0;
}

/* --- Other lengths --- */

/* Numbers that the passes work on: of the length itself, or of the convolution in its place. */
static size_t inner_length(size_t n)
{
    if (is_smooth(n))
        return n;
    size_t length = 2 * n - 1;
    while (!is_smooth(length))
        length++;
    return length;
}

/* Bluestein: jk = (j j + k k - (k - j)^2) / 2 makes the transform a convolution with a chirp, which two transforms of a
 * smooth length do. */
static int make_chirp(struct own_fft *f)
{
    const size_t length = inner_length(f->n);
    int status = own_fft_create(&f->inner, length, f->is_double);
    if (status)
        return status;
    /* The filter is made in double and by the portable variant, so that all machines have the same. */
    struct own_fft *exact = NULL;
    status = own_fft_create(&exact, length, true);
    struct hcy_fft_number *filter = calloc(length, sizeof *filter);
    void *scratch = status ? NULL : aligned_alloc(64, own_fft_scratch(exact));
    f->tables = malloc((f->n + length) * number_size(f));
    if (!status && (!filter || !scratch || !f->tables))
        status = hcy_fail(HCY_ENOMEM, "out of memory for an FFT of %zu points", f->n);
    /* k k is taken modulo 2n: the angle of a large number would have lost its digits. */
    for (size_t k = 0, square = 0; k < f->n && !status; square = (square + 2 * k + 1) % (2 * f->n), k++) {
        const struct hcy_fft_number c = hcy_fft_root(square, 2 * f->n);
        put_number(f, f->tables, k, c);
        filter[k] = (struct hcy_fft_number){ c.re / (double)length, -c.im / (double)length };
        filter[(length - k) % length] = filter[k];
    }
    if (!status) {
        const struct own_fft_lines line = { filter, filter, 1, 1, length, 1, length, false, OWN_FFT_COMPLEX };
        own_fft_run(exact, CPU_SIMD_PORTABLE, &line, scratch);
        f->chirp = f->tables;
        f->filter = (char *)f->tables + f->n * number_size(f);
        for (size_t k = 0; k < length; k++)
            put_number(f, (char *)f->tables + f->n * number_size(f), k, filter[k]);
    }
    free(scratch);
    free(filter);
    own_fft_free(exact);
    return status;
}

int own_fft_create(struct own_fft **plan, size_t n, bool is_double)
{
    /* Of lengths up to this neither tables nor the scratch of all threads overflow a size. */
    if (!n || n > (size_t)1 << (sizeof(size_t) > 4 ? 40 : 16))
        return hcy_fail(HCY_ERANGE, "an FFT of %zu points", n);
    struct own_fft *f = calloc(1, sizeof *f);
    if (!f)
        return hcy_fail(HCY_ENOMEM, "out of memory for an FFT's plan");
    f->n = n;
    f->is_double = is_double;
    int status = is_smooth(n) ? make_passes(f) : make_chirp(f);
    if (status) {
        own_fft_free(f);
        return status;
    }
    *plan = f;
    return 0;
}

void own_fft_free(struct own_fft *plan)
{
    if (!plan)
        return;
    own_fft_free(plan->inner);
    free(plan->tables);
    free(plan);
}

/* --- Running --- */

/* Passes go from one half to the other; a number is two vectors. */
static size_t scratch_for(size_t inner)
{
    enum { WIDEST = 64 }; /* bytes of a vector */
    return 2 * 2 * WIDEST * inner;
}

size_t own_fft_scratch(const struct own_fft *plan)
{
    return scratch_for(plan->inner ? plan->inner->n : plan->n);
}

size_t own_fft_scratch_of(size_t n)
{
    return scratch_for(inner_length(n));
}

void own_fft_run(const struct own_fft *plan, enum cpu_simd simd, const struct own_fft_lines *lines, void *scratch)
{
    const struct own_fft_ops *ops = &own_fft_portable;
#if HCY_CPU_X86
    if (simd >= CPU_SIMD_AVX512)
        ops = &own_fft_avx512;
    else if (simd >= CPU_SIMD_AVX2)
        ops = &own_fft_avx2;
#else
    (void)simd;
#endif
    ops->run[plan->is_double](plan, lines, scratch);
}

unsigned own_fft_lead(size_t *lead, size_t n, size_t most)
{
    unsigned list[HCY_FFT_MOST_PASSES], count = hcy_fft_factor(list, n), passes = 0;
    *lead = 1;
    while (passes + 1 < count && n / *lead > most)
        *lead *= list[passes++];
    return passes;
}
