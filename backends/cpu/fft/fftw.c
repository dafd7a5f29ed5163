/* fftw.c - Fourier transforms on the CPU through FFTW (float and double), if the build has it.
 *
 * FFTW's planner is not thread-safe: every planner call of the process that goes through here takes one lock; another
 * user of FFTW in the same process must do the same or call fftw_make_planner_thread_safe().  Plans are made for one
 * transform with FFTW_ESTIMATE (kernels may ask otherwise), so they never depend on timings; a batch is shared out to
 * the device's threads, one transform a thread: the same bits for any number of threads.  One plan a direction and
 * placement is made at its first use; executions use FFTW's new-array interface, which is thread-safe.
 *
 * Plans that kernels had measured are remembered as FFTW's wisdom, in the cache's folder fftw from run to run.  All
 * other plans are made with FFTW's wisdom put aside: they must not depend on what was measured before.
 *
 * FFTW ends the process when it gets no memory, for plans and within executions, and nothing can be hung in between.
 * So before either it is tried whether what FFTW may take at most is there.  What others take in the moment between
 * can still be what lacks then.
 */
#include "cpu_fft.h"

#include <stdlib.h>

#if HAVE_FFTW3
#include <complex.h>
#include <fftw3.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

/* --- Memory --- */

static int check_room(size_t bytes)
{
    /* A mapping is refused where malloc() would be, under a limit as well as without overcommitment, and costs no
     * page. */
    void *trial = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (trial == MAP_FAILED)
        return hcy_fail(HCY_ENOMEM, "out of memory for an FFT: FFTW may need %zu bytes, which are not there", bytes);
    munmap(trial, bytes);
    return 0;
}

/* Seen with FFTW 3.3.10, and an axis of s bytes: 3 MiB + 5 s, or 14 s where it is measured, and 6 MiB the first time,
 * in a thread for which malloc() has no heap left, so that every piece takes whole pages.  Wisdom is read, too. */
static int check_plan(size_t axis, bool measured)
{
    return check_room(((size_t)10 << 20) + (measured ? 16 : 6) * axis);
}

/* Buffers up to 256 KiB and 4.3 s in a thread. */
int cpu_fftw_check_run(size_t axis, size_t threads)
{
    const size_t most = (size_t)384 << 10, small = ((size_t)64 << 10) + 16 * axis;
    return check_room((threads ? threads : 1) * ((small < most ? small : most) + 5 * axis));
}

/* What differs between fftw_ and fftwf_: numbers are passed as void *. */
struct precision {
    void *(*plan)(const hcy_fft_desc *desc, int direction, void *in, void *out, unsigned flags);
    void *(*plan_many)(const struct cpu_fft_many *many, void *data, unsigned flags);
    void (*run)(void *plan, int type, void *in, void *out);
    void (*destroy)(void *plan);
    int (*alignment)(void *p);
    void *(*alloc)(size_t bytes);
    void (*free)(void *p);
    char *(*wisdom)(void); /* malloced */
    void (*forget)(void);
    int (*learn)(const char *wisdom);
    size_t real;
    const char *name;
};

#define PRECISION(X, T, name)                                                                                \
    static void *name##_plan(const hcy_fft_desc *d, int direction, void *in, void *out, unsigned flags)      \
    {                                                                                                        \
        int n[3] = { (int)d->n[0], (int)d->n[1], (int)d->n[2] };                                             \
        if (d->type == HCY_FFT_R2C)                                                                          \
            return X##_plan_dft_r2c(d->rank, n, in, out, flags);                                             \
        if (d->type == HCY_FFT_C2R)                                                                          \
            return X##_plan_dft_c2r(d->rank, n, in, out, flags);                                             \
        return X##_plan_many_dft(d->rank, n, (int)d->inner, in, NULL, (int)d->inner, 1, out, NULL,           \
                                 (int)d->inner, 1, direction, flags);                                        \
    }                                                                                                        \
    static void *name##_plan_many(const struct cpu_fft_many *m, void *data, unsigned flags)                  \
    {                                                                                                        \
        return X##_plan_many_dft(1, &m->n, m->howmany, data, NULL, m->stride, m->dist, data, NULL,           \
                                 m->stride, m->dist, m->sign, flags);                                        \
    }                                                                                                        \
    static void name##_run(void *plan, int type, void *in, void *out)                                        \
    {                                                                                                        \
        if (type == HCY_FFT_R2C)                                                                             \
            X##_execute_dft_r2c(plan, in, out);                                                              \
        else if (type == HCY_FFT_C2R)                                                                        \
            X##_execute_dft_c2r(plan, in, out);                                                              \
        else                                                                                                 \
            X##_execute_dft(plan, in, out);                                                                  \
    }                                                                                                        \
    static void name##_destroy(void *plan)                                                                   \
    {                                                                                                        \
        X##_destroy_plan(plan);                                                                              \
    }                                                                                                        \
    static int name##_alignment(void *p)                                                                     \
    {                                                                                                        \
        return X##_alignment_of(p);                                                                          \
    }                                                                                                        \
    static const struct precision name = { name##_plan,      name##_plan_many, name##_run, name##_destroy,   \
                                           name##_alignment, X##_malloc,       X##_free,                     \
                                           X##_export_wisdom_to_string, X##_forget_wisdom,                   \
                                           X##_import_wisdom_from_string, sizeof(T), #T };

PRECISION(fftw, double, f64)
PRECISION(fftwf, float, f32)

/* --- Wisdom; under the planner's lock --- */

enum { WISDOM_HEAD = 25, MOST_WISDOM = 16 << 20 }; /* bytes */

static char *put_wisdom_aside(const struct precision *p)
{
    char *wisdom = p->wisdom();
    if (wisdom)
        p->forget();
    return wisdom;
}

static void take_wisdom_back(const struct precision *p, char *wisdom)
{
    /* Learning adds to what is known, which put_wisdom_aside() has emptied. */
    if (wisdom)
        p->learn(wisdom);
    free(wisdom);
}

static bool wisdom_path(const struct precision *p, char *path, size_t size)
{
    char folder[PATH_MAX];
    return !hcy_cache_folder(folder, sizeof folder, "fftw") &&
           (size_t)snprintf(path, size, "%s/%s-%s", folder, p->name, fftw_version) < size;
}

/* What stands before the text: FFTW would take a damaged one for what somebody measured. */
static void wisdom_head(char head[WISDOM_HEAD + 1], const char *text)
{
    snprintf(head, WISDOM_HEAD + 1, "halcyon %016llx\n", (unsigned long long)hcy_cache_sum(text, strlen(text)));
}

/* Reads what earlier runs measured; once in a process. */
static void learn_wisdom(const struct precision *p)
{
    static bool known[2];
    char path[PATH_MAX + 64], head[WISDOM_HEAD + 1];
    void *read = NULL;
    size_t size = 0;
    /* Marked before it is read: a damaged file is not tried again. */
    if (known[p->real == sizeof(float)] || !wisdom_path(p, path, sizeof path))
        return;
    known[p->real == sizeof(float)] = true;
    if (hcy_cache_read(&read, &size, path, MOST_WISDOM))
        return;
    const char *text = read;
    if (size > WISDOM_HEAD) {
        wisdom_head(head, text + WISDOM_HEAD);
        if (!memcmp(text, head, WISDOM_HEAD))
            p->learn(text + WISDOM_HEAD); /* or not: it is another version's */
    }
    free(read);
}

/* Writes what has been measured since, if that is possible. */
static void keep_wisdom(const struct precision *p, const char *before)
{
    char path[PATH_MAX + 64], head[WISDOM_HEAD + 1], *now = p->wisdom();
    /* Writing the same again would only wear the disk and race with others. */
    bool same = !now || (before && !strcmp(before, now));
    if (!same && wisdom_path(p, path, sizeof path)) {
        wisdom_head(head, now);
        (void)hcy_cache_write(path, head, WISDOM_HEAD, now, strlen(now));
    }
    free(now);
}

enum { PLACES = 2, ALIGNMENTS = 2, DIRECTIONS = 2 };

struct fft {
    hcy_fft_desc desc;
    const struct precision *p;
    size_t in_stride, out_stride; /* bytes from transform to transform */
    void *plans[DIRECTIONS][PLACES][ALIGNMENTS]; /* under the planner's lock */
};

int cpu_fftw_create(void **fimpl, const hcy_fft_desc *desc)
{
    if (desc->inner > INT32_MAX)
        return hcy_fail(HCY_EUNSUPPORTED, "FFTW takes up to %d transforms side by side, not %zu", INT32_MAX, desc->inner);
    /* FFTW counts in int. */
    for (int i = 0; i < desc->rank; i++)
        if (desc->n[i] > INT32_MAX)
            return hcy_fail(HCY_EUNSUPPORTED, "FFTW takes up to %d points a dimension, not %zu", INT32_MAX,
                            desc->n[i]);
    struct fft *f = calloc(1, sizeof *f);
    if (!f)
        return hcy_fail(HCY_ENOMEM, "out of memory for an FFT's plan");
    f->desc = *desc;
    f->p = desc->precision == HCY_F32 ? &f32 : &f64;
    cpu_fft_strides(&f->in_stride, &f->out_stride, desc);
    *fimpl = f;
    return 0;
}

void cpu_fftw_release(void *fimpl)
{
    struct fft *f = fimpl;
    pthread_mutex_lock(&planner);
    for (int i = 0; i < DIRECTIONS * PLACES * ALIGNMENTS; i++)
        if ((&f->plans[0][0][0])[i])
            f->p->destroy((&f->plans[0][0][0])[i]);
    pthread_mutex_unlock(&planner);
    free(f);
}

/* FFTW_ESTIMATE touches no array, but their alignment and whether they are one decide on the plan. */
static void *plan_transform(struct fft *f, int direction, bool in_place, bool aligned)
{
    unsigned flags = FFTW_ESTIMATE | (aligned ? 0 : FFTW_UNALIGNED);
    char *in = f->p->alloc(f->in_stride), *out = in_place ? in : f->p->alloc(f->out_stride);
    /* Nothing that was measured before may change this plan, or the bits would depend on it. */
    char *wisdom = put_wisdom_aside(f->p);
    void *plan = in && out ? f->p->plan(&f->desc, direction, in, out, flags) : NULL;
    take_wisdom_back(f->p, wisdom);
    if (out != in)
        f->p->free(out);
    f->p->free(in);
    return plan;
}

static size_t longest_axis(const struct fft *f)
{
    size_t n = 1;
    for (int i = 0; i < f->desc.rank; i++)
        n = f->desc.n[i] > n ? f->desc.n[i] : n;
    return n * 2 * f->p->real;
}

static int plan_for(void **found, struct fft *f, int direction, bool in_place, bool aligned)
{
    int status = 0;
    pthread_mutex_lock(&planner);
    void **plan = &f->plans[direction == HCY_FFT_FORWARD][in_place][aligned];
    /* FFTW would end the process where memory lacks, so it is tried whether it is there. */
    if (!*plan)
        status = check_plan(longest_axis(f), false);
    if (!*plan && !status && !(*plan = plan_transform(f, direction, in_place, aligned)))
        status = hcy_fail(HCY_EUNSUPPORTED, "FFTW cannot plan this transform, or is out of memory");
    *found = *plan;
    pthread_mutex_unlock(&planner);
    return status;
}

int cpu_fftw_begin(struct cpu_fftw_run *run, size_t threads, void *fimpl, int direction, void *in, void *out)
{
    struct fft *f = fimpl;
    bool aligned = true;
    /* every other transform lies like one of the first two, or better */
    for (size_t i = 0; i < f->desc.batch && i < 2; i++)
        aligned = aligned && !f->p->alignment((char *)in + i * f->in_stride) &&
                  !f->p->alignment((char *)out + i * f->out_stride);
    *run = (struct cpu_fftw_run){ f, NULL, in, out };
    /* A plan for aligned data needs all transforms of the batch to be aligned alike. */
    int status = plan_for(&run->plan, f, direction, in == out, aligned);
    return status ? status : cpu_fftw_check_run(longest_axis(f), threads < f->desc.batch ? threads : f->desc.batch);
}

void cpu_fftw_transforms(void *context, size_t begin, size_t end, unsigned thread)
{
    const struct cpu_fftw_run *r = context;
    const struct fft *f = r->fft;
    (void)thread;
    for (size_t i = begin; i < end; i++)
        f->p->run(r->plan, f->desc.type, r->in + i * f->in_stride, r->out + i * f->out_stride);
}

int cpu_fftw_run(struct cpu_pool *pool, void *fimpl, int direction, void *in, void *out)
{
    const size_t threads = cpu_pool_threads(pool), batch = ((const struct fft *)fimpl)->desc.batch;
    struct cpu_fftw_run run;
    int status = cpu_fftw_begin(&run, threads, fimpl, direction, in, out);
    if (!status)
        cpu_pool_for(pool, batch, batch / (threads * 4) + 1, cpu_fftw_transforms, &run);
    return status;
}

/* --- Plans of kernels --- */

/* Under the planner's lock. */
static int plan_many(void **plan, const struct precision *p, const struct cpu_fft_many *many)
{
    /* The planner overwrites its data when it measures, so it gets memory of its own, of the same shape. */
    size_t span = (size_t)(many->n - 1) * (size_t)many->stride + (size_t)(many->howmany - 1) * (size_t)many->dist + 1;
    void *data = p->alloc(span * 2 * p->real);
    unsigned flags = (many->measured ? FFTW_MEASURE : FFTW_ESTIMATE) | (many->aligned ? 0 : FFTW_UNALIGNED);
    /* A measured plan learns from earlier runs; an estimated one must not know of them. */
    char *wisdom = many->measured ? NULL : put_wisdom_aside(p);
    if (many->measured)
        learn_wisdom(p);
    char *before = many->measured ? p->wisdom() : NULL;
    *plan = data ? p->plan_many(many, data, flags) : NULL;
    take_wisdom_back(p, wisdom);
    if (many->measured)
        keep_wisdom(p, before);
    free(before);
    /* The plan remains valid without the data it was made with. */
    p->free(data);
    if (*plan)
        return 0;
    return data ? hcy_fail(HCY_EUNSUPPORTED, "FFTW cannot plan these transforms")
                : hcy_fail(HCY_ENOMEM, "out of memory to plan an FFT");
}

int cpu_fftw_many_create(void **plan, const struct cpu_fft_many *many)
{
    const struct precision *p = many->is_double ? &f64 : &f32;
    pthread_mutex_lock(&planner);
    /* Nothing of FFTW's is called before it is known that its memory is there. */
    int status = check_plan((size_t)many->n * 2 * p->real, many->measured);
    if (!status)
        status = plan_many(plan, p, many);
    pthread_mutex_unlock(&planner);
    return status;
}

void cpu_fftw_many_run(void *plan, const struct cpu_fft_many *many, void *data)
{
    const struct precision *p = many->is_double ? &f64 : &f32;
    p->run(plan, HCY_FFT_C2C, data, data);
}

void cpu_fftw_many_free(void *plan, const struct cpu_fft_many *many)
{
    pthread_mutex_lock(&planner);
    (many->is_double ? &f64 : &f32)->destroy(plan);
    pthread_mutex_unlock(&planner);
}

#endif
