/* fft.c - the CPU's Fourier transforms: whose are used for what, and the plans of kernels, which are kept.
 *
 * "auto" takes the faster ones of each kind, never by timing, so that bits do not depend on it.  Columns side by side
 * in vectors of AVX2 or AVX-512 are our own lines' best case (bench/fft shows them beside FFTW's); for rows, for
 * columns beyond the caches, and with shorter vectors, FFTW is taken where the build has it.  Grids, but for small
 * ones, are both: rows are FFTW's and columns our own.  FFTW's estimated plans of whole complex grids take up to 17
 * times longer, powers of two above all (bench/fft).
 */
#include "cpu_fft.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    LONGEST_COLUMN = 4096, /* whose vectors stay in a core's own caches */
    LEAST_INNER = 16       /* transforms side by side that fill vectors */
};

/* --- hcy_fft --- */

struct fft {
    struct own_grid *own; /* or */
    void *fftw;
};

void cpu_fft_strides(size_t *in, size_t *out, const hcy_fft_desc *d)
{
    const size_t real = d->precision == HCY_F32 ? sizeof(float) : sizeof(double), last = d->n[d->rank - 1];
    size_t rows = d->inner;
    for (int i = 0; i + 1 < d->rank; i++)
        rows *= d->n[i];
    /* A real transform keeps half of its complex numbers, as the others are their conjugates. */
    *in = *out = rows * last * 2 * real;
    if (d->type != HCY_FFT_C2C)
        *(d->type == HCY_FFT_R2C ? in : out) = rows * last * real;
    if (d->type != HCY_FFT_C2C)
        *(d->type == HCY_FFT_R2C ? out : in) = rows * (last / 2 + 1) * 2 * real;
}

#if HAVE_FFTW3
/* Points from which on rows of FFTW's and columns of our own are faster than FFTW's whole grids, with AVX2 (bench/fft).
 * Other variants choose alike, for the same bits. */
static size_t least_grid(const hcy_fft_desc *d)
{
    const bool is_complex = d->type == HCY_FFT_C2C;
    /* Real rows of floats alone take FFTW longer than in a grid of them. */
    return is_complex ? (size_t)1 << 12 : d->precision == HCY_F64 ? (size_t)1 << 13 : (size_t)1 << 20;
}

static bool all_fftw(const hcy_fft_desc *d, enum cpu_fft_choice choice)
{
    bool long_columns = false;
    size_t points = 1;
    if (choice != CPU_FFT_AUTO)
        return choice == CPU_FFT_FFTW;
    for (int a = 0; a < d->rank; a++) {
        long_columns |= d->n[a] > LONGEST_COLUMN && (a + 1 < d->rank || d->inner > 1);
        points *= d->n[a];
    }
    if (d->inner > 1)
        return long_columns || d->inner < LEAST_INNER;
    return long_columns || d->rank == 1 || points < least_grid(d);
}
#endif

int cpu_fft_create(void **fimpl, const hcy_fft_desc *desc, enum cpu_fft_choice choice, enum cpu_simd simd)
{
#if HAVE_FFTW3
    const bool fftw_rows = choice != CPU_FFT_OWN && desc->inner == 1;
#else
    const bool fftw_rows = false;
    (void)choice;
#endif
    struct fft *f = calloc(1, sizeof *f);
    int status = f ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for an FFT's plan");
#if HAVE_FFTW3
    if (!status && all_fftw(desc, choice))
        status = cpu_fftw_create(&f->fftw, desc);
    else
#endif
    if (!status)
        status = own_grid_create(&f->own, desc, simd, fftw_rows);
    if (status) {
        free(f);
        return status;
    }
    *fimpl = f;
    return 0;
}

void cpu_fft_release(void *fimpl)
{
    struct fft *f = fimpl;
    own_grid_free(f->own);
#if HAVE_FFTW3
    if (f->fftw)
        cpu_fftw_release(f->fftw);
#endif
    free(f);
}

int cpu_fft_run(struct cpu_pool *pool, void *fimpl, int direction, void *in, void *out)
{
    const struct fft *f = fimpl;
#if HAVE_FFTW3
    if (f->fftw)
        return cpu_fftw_run(pool, f->fftw, direction, in, out);
#endif
    return own_grid_run(pool, f->own, direction, in, out);
}

/* --- Plans of kernels, kept --- */

enum { MAX_IDLE = 64 };

struct cpu_fft_kept {
    struct cpu_fft_many many;
    struct own_fft *own; /* or */
    void *fftw;
    unsigned users;
    struct cpu_fft_kept *next;
};
static pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER;
static struct cpu_fft_kept *kept; /* last used first; under the lock, as is `users` */

static bool same_many(const struct cpu_fft_many *a, const struct cpu_fft_many *b)
{
    return a->is_double == b->is_double && a->aligned == b->aligned && a->measured == b->measured &&
           a->choice == b->choice && a->simd == b->simd && a->sign == b->sign && a->n == b->n &&
           a->howmany == b->howmany && a->stride == b->stride && a->dist == b->dist;
}

#if HAVE_FFTW3
static bool is_own(const struct cpu_fft_many *many)
{
    if (many->choice != CPU_FFT_AUTO)
        return many->choice == CPU_FFT_OWN;
    return many->howmany > 1 && many->n <= LONGEST_COLUMN && many->simd >= CPU_SIMD_AVX2;
}
#endif

static int make_kept(struct cpu_fft_kept **made, const struct cpu_fft_many *many)
{
    struct cpu_fft_kept *k = calloc(1, sizeof *k);
    int status = k ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for an FFT's plan");
#if HAVE_FFTW3
    if (!status && !is_own(many))
        status = cpu_fftw_many_create(&k->fftw, many);
    else
#endif
    if (!status)
        status = own_fft_create(&k->own, (size_t)many->n, many->is_double);
    if (status) {
        free(k);
        return status;
    }
    k->many = *many;
    *made = k;
    return 0;
}

int cpu_fft_many_get(struct cpu_fft_kept **plan, const struct cpu_fft_many *many)
{
    struct cpu_fft_kept **at = &kept, *k;
    int status = 0;
    pthread_mutex_lock(&keeping);
    while (*at && !same_many(&(*at)->many, many))
        at = &(*at)->next;
    /* A plan that is found moves to the front, so that the list is in the order of use. */
    k = *at;
    if (k)
        *at = k->next;
    else
        status = make_kept(&k, many);
    if (!status) {
        k->users++;
        k->next = kept;
        *plan = kept = k;
    }
    pthread_mutex_unlock(&keeping);
    return status;
}

int cpu_fft_many_check(const struct cpu_fft_kept *const *plans, size_t n, size_t threads)
{
    int status = 0;
#if HAVE_FFTW3
    for (size_t i = 0; i < n && !status; i++)
        if (plans[i] && plans[i]->fftw)
            status = cpu_fftw_check_run((size_t)plans[i]->many.n * (plans[i]->many.is_double ? 16 : 8), threads);
#else
    (void)plans, (void)n, (void)threads; /* our own have their scratch */
#endif
    return status;
}

size_t cpu_fft_many_scratch(size_t n)
{
    return own_fft_scratch_of(n);
}

void cpu_fft_many_run(const struct cpu_fft_kept *plan, void *data, size_t times, size_t pitch, void *scratch)
{
    const struct cpu_fft_many *m = &plan->many;
#if HAVE_FFTW3
    if (plan->fftw) {
        for (size_t i = 0; i < times; i++)
            cpu_fftw_many_run(plan->fftw, m, (char *)data + i * pitch);
        return;
    }
#endif
    const size_t number = m->is_double ? 16 : 8, step = (size_t)m->stride;
    /* Rows are one run's lines, which takes them side by side or one by one; columns are so many each time. */
    const bool rows = m->howmany == 1;
    for (size_t i = 0; i < (rows ? 1 : times); i++) {
        void *at = (char *)data + i * pitch;
        const size_t lines = rows ? times : (size_t)m->howmany, apart = rows ? pitch / number : (size_t)m->dist;
        const struct own_fft_lines l = { at, at, lines, step, apart, step, apart, m->sign > 0, OWN_FFT_COMPLEX };
        own_fft_run(plan->own, m->simd, &l, scratch);
    }
}

unsigned cpu_fft_lead(size_t *lead, size_t n, size_t most)
{
    return own_fft_lead(lead, n, most);
}

size_t cpu_fft_part(const struct cpu_fft_kept *plan, unsigned pass)
{
    return plan->own->n / plan->own->passes[pass].radix;
}

void cpu_fft_pass(const struct cpu_fft_kept *plan, unsigned pass, const void *in, void *out, size_t begin, size_t end)
{
    own_fft_pass_run(plan->own, pass, plan->many.sign > 0, in, out, begin, end);
}

static void free_kept(struct cpu_fft_kept *k)
{
    own_fft_free(k->own);
#if HAVE_FFTW3
    if (k->fftw)
        cpu_fftw_many_free(k->fftw, &k->many);
#endif
    free(k);
}

/* Gives a plan back; of those that nobody uses the latest ones stay. */
void cpu_fft_many_put(struct cpu_fft_kept *plan)
{
    int idle = 0;
    if (!plan)
        return;
    pthread_mutex_lock(&keeping);
    plan->users--;
    for (struct cpu_fft_kept **at = &kept; *at;) {
        struct cpu_fft_kept *k = *at;
        /* Plans in use may stand anywhere and do not count as idle. */
        if (k->users || ++idle <= MAX_IDLE) {
            at = &k->next;
            continue;
        }
        *at = k->next;
        free_kept(k);
    }
    pthread_mutex_unlock(&keeping);
}
