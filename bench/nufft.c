/* nufft.c - non-uniform FFTs whose points, strengths and coefficients are on the device: the cells that GPU libraries
 * are measured by.
 *
 *     bench/nufft DEVICE [WORD [SIGMA [POINTS]]]
 *
 * A row a cell and type whose name contains WORD; points are uniform, or normal around 0 with SIGMA, as many as the
 * cell says or POINTS.  The last cells, few points on a large grid, are of magnetic resonance; those with 32 vectors at
 * once, which are all the same, take 9 GB, in double 17, and have no time of their stage.  Times are milliseconds of
 * setting points, with their report, of a whole transform, and of the stage between points and grid alone, each the
 * best of three rounds; transforms are queued several at a time.  Errors are those of 16 results against the direct
 * sum.
 *
 * With CUFINUFFT=FILE in the environment (cufinufft.h) a row ends with cuFINUFFT's milliseconds, the method that was
 * its fastest, and how many times as fast Halcyon is, points and transform. */
#include "bench.h"
#include "cufinufft.h"
#include "cli/simulate.h"
#include <halcyon/nufft.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKED = 16, ROUNDS = 3, QUEUED = 4 };

static const struct cell {
    int dim, precision;
    int64_t n, last; /* modes of an axis, of the last one */
    double eps;
    size_t m, vectors;
} cells[] = {
    { 1, HCY_F32, 1000000, 1000000, 1e-6, 10000000, 1 }, { 2, HCY_F32, 1000, 1000, 1e-3, 10000000, 1 },
    { 2, HCY_F32, 1000, 1000, 1e-6, 10000000, 1 },       { 2, HCY_F64, 1000, 1000, 1e-9, 10000000, 1 },
    { 3, HCY_F32, 128, 128, 1e-3, 10000000, 1 },         { 3, HCY_F32, 128, 128, 1e-6, 10000000, 1 },
    { 3, HCY_F64, 128, 128, 1e-12, 10000000, 1 },        { 3, HCY_F64, 256, 256, 1e-6, 16777216, 1 },
    { 3, HCY_F32, 244, 320, 1e-6, 195200, 1 },           { 3, HCY_F64, 244, 320, 1e-7, 195200, 1 },
    { 3, HCY_F32, 320, 320, 1e-6, 100000, 32 },          { 3, HCY_F64, 320, 320, 1e-7, 100000, 32 },
};

struct problem {
    const struct cell *cell;
    int type;
    int64_t modes[3];      /* 1 beyond the cell's axes */
    size_t n, real;        /* modes in all; bytes of a number */
    void *x[3], *c, *f;    /* on the host */
    hcy_buffer *points[3], *strengths, *coefficients, *grid;
    size_t sample[CHECKED];
};

struct thread {
    const struct problem *p;
    int i;
    double bad, all;
};

static hcy_device *dev;
static hcy_queue *queue;
static struct cufinufft *peer; /* or NULL */

static uint64_t state = 20261121;

static double get(const struct problem *p, const void *array, size_t i)
{
    return p->real == 8 ? ((const double *)array)[i] : (double)((const float *)array)[i];
}

/* The same to each vector. */
static void write_vectors(hcy_buffer *buf, const void *array, size_t size, size_t vectors)
{
    for (size_t v = 0; v < vectors; v++)
        CHECK(hcy_buffer_write_now(buf, v * size, array, size));
}

static void *made(const struct problem *p, size_t n, int is_points, double sigma, hcy_buffer **buf)
{
    void *array = bench_need(malloc(n * p->real));
    for (size_t i = 0; i < n; i++) {
        double v = is_points ? sim_coordinate(&state, sigma) : sim_uniform(&state) - 0.5;
        if (p->real == 8)
            ((double *)array)[i] = v;
        else
            ((float *)array)[i] = (float)v;
    }
    size_t vectors = is_points ? 1 : p->cell->vectors;
    CHECK(hcy_buffer_create(buf, dev, HCY_MEM_DEVICE, vectors * n * p->real));
    write_vectors(*buf, array, n * p->real, vectors);
    return array;
}

static void open_problem(struct problem *p, const struct cell *cell, double sigma)
{
    *p = (struct problem){ .cell = cell, .n = 1, .real = cell->precision == HCY_F64 ? 8 : 4, .modes = { 1, 1, 1 } };
    for (int d = 0; d < cell->dim; d++) {
        p->modes[d] = d == cell->dim - 1 ? cell->last : cell->n;
        p->n *= (size_t)p->modes[d];
        p->x[d] = made(p, cell->m, 1, sigma, &p->points[d]);
    }
    p->c = made(p, 2 * cell->m, 0, 0, &p->strengths);
    p->f = made(p, 2 * p->n, 0, 0, &p->coefficients);
}

static void close_problem(struct problem *p)
{
    hcy_buffer *const buffers[] = { p->points[0], p->points[1], p->points[2], p->strengths, p->coefficients };
    for (int i = 0; i < 5; i++)
        hcy_buffer_release(buffers[i]);
    for (int d = 0; d < 3; d++)
        free(p->x[d]);
    free(p->c);
    free(p->f);
}

/* --- Errors --- */

static void *sum_directly(void *context)
{
    struct thread *t = context;
    const struct problem *p = t->p;
    int to_modes = p->type == 1;
    size_t r = p->sample[t->i], terms = to_modes ? p->cell->m : p->n;
    double re = 0, im = 0, got[2];
    const void *in = to_modes ? p->c : p->f;
    char raw[16];
    for (size_t i = 0; i < terms; i++) {
        size_t mode = to_modes ? r : i, point = to_modes ? i : r;
        double phase = 0;
        for (int d = p->cell->dim - 1; d >= 0; d--) {
            int64_t k = (int64_t)(mode % (size_t)p->modes[d]) - p->modes[d] / 2;
            phase += get(p, p->x[d], point) * (double)k;
            mode /= (size_t)p->modes[d];
        }
        double a = get(p, in, 2 * i), b = get(p, in, 2 * i + 1), c = cos(phase), s = sin(phase);
        re += a * c - b * s;
        im += a * s + b * c;
    }
    CHECK(hcy_buffer_read_now(raw, to_modes ? p->coefficients : p->strengths, 2 * r * p->real, 2 * p->real));
    got[0] = get(p, raw, 0) - re;
    got[1] = get(p, raw, 1) - im;
    t->bad = got[0] * got[0] + got[1] * got[1];
    t->all = re * re + im * im;
    return NULL;
}

static double error_of(struct problem *p)
{
    pthread_t threads[CHECKED];
    struct thread each[CHECKED];
    double bad = 0, all = 0;
    for (int i = 0; i < CHECKED; i++) {
        p->sample[i] = (size_t)(sim_uniform(&state) * (double)(p->type == 1 ? p->n : p->cell->m));
        each[i] = (struct thread){ .p = p, .i = i };
        if (pthread_create(&threads[i], NULL, sum_directly, &each[i]))
            exit(1);
    }
    for (int i = 0; i < CHECKED; i++) {
        pthread_join(threads[i], NULL);
        bad += each[i].bad;
        all += each[i].all;
    }
    return sqrt(bad / all);
}

/* --- Times --- */

static double time_of(const struct problem *p, hcy_nufft *plan, int stage)
{
    double best = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        double start = timer_now();
        for (int i = 0; i < QUEUED; i++) {
            if (stage == HCY_NUFFT_SPREAD)
                CHECK(hcy_nufft_submit_stage(queue, p->grid, plan, stage, p->strengths));
            else if (stage == HCY_NUFFT_INTERPOLATE)
                CHECK(hcy_nufft_submit_stage(queue, p->strengths, plan, stage, p->grid));
            else
                CHECK(hcy_nufft_submit(queue, plan, p->strengths, p->coefficients, 0));
        }
        CHECK(hcy_queue_finish(queue));
        best = timer_best(best, start);
    }
    return best / QUEUED;
}

static void run(struct problem *p, const char *name)
{
    const struct cell *c = p->cell;
    hcy_nufft_options o = HCY_NUFFT_OPTIONS_INIT;
    hcy_nufft_info info = HCY_NUFFT_INFO_INIT;
    hcy_nufft_desc desc = { sizeof desc, p->type, c->precision, c->dim, { p->modes[0], p->modes[1], p->modes[2] },
                            +1,          (int64_t)c->vectors, c->eps };
    hcy_nufft *plan = NULL;
    double set = INFINITY, whole, stage = NAN, error;
    CHECK(hcy_nufft_create(&plan, dev, &desc, &o));
    for (int round = 0; round < ROUNDS + 1; round++) {
        double start = timer_now();
        CHECK(hcy_nufft_set_point_buffers(plan, (int64_t)c->m, p->points));
        set = round ? timer_best(set, start) : INFINITY; /* the first one warms up */
    }
    CHECK(hcy_nufft_get_info(&info, plan));
    write_vectors(p->strengths, p->c, 2 * c->m * p->real, c->vectors); /* the other type wrote there */
    write_vectors(p->coefficients, p->f, 2 * p->n * p->real, c->vectors);
    CHECK(hcy_nufft_submit(queue, plan, p->strengths, p->coefficients, 0));
    CHECK(hcy_queue_finish(queue));
    error = error_of(p);
    whole = time_of(p, plan, 0);
    if (c->vectors == 1) { /* the grids of many take more memory than their plan */
        CHECK(hcy_buffer_create(&p->grid, dev, HCY_MEM_DEVICE, info.grid_bytes));
        stage = time_of(p, plan, p->type == 1 ? HCY_NUFFT_SPREAD : HCY_NUFFT_INTERPOLATE);
        hcy_buffer_release(p->grid);
    }
    hcy_nufft_destroy(plan);
    printf("%-20s %8.3f %8.3f %8.3f %8.1e  %2u %4.2f %6.1f", name, 1e3 * set, 1e3 * whole, 1e3 * stage, error,
           info.width, info.upsampling, (double)info.point_bytes / (double)c->m);
    if (peer) {
        CHECK(hcy_device_pool_trim(dev)); /* it needs room, too */
        const struct cufinufft_job job = { &desc, (int64_t)c->m, { p->points[0], p->points[1], p->points[2] },
                                           p->strengths, p->coefficients };
        struct cufinufft_times t = cufinufft_best(peer, &job);
        printf(" | %8.3f %8.3f %2d %5.2f", 1e3 * t.set, 1e3 * t.run, t.method, (t.set + t.run) / (set + whole));
    }
    printf("\n");
    fflush(stdout);
}

static const char *kind_of(const struct cell *c)
{
    static const char *const kinds[] = { "1d", "2d", "3d" };
    if (c->vectors > 1)
        return "coils";
    return c->last != c->n ? "mri" : kinds[c->dim - 1];
}

int main(int argc, char **argv)
{
    const char *word = argc > 2 ? argv[2] : "";
    double sigma = 0, points = 0;
    bool is_found = false;
    if (argc < 2 || argc > 5 || (argc > 3 && !bench_number(&sigma, argv[3], 0)) ||
        (argc > 4 && !bench_number(&points, argv[4], 1)))
        return fprintf(stderr, "usage: nufft DEVICE [WORD [SIGMA [POINTS]]]\n"), 1;
    CHECK(hcy_device_open(&dev, argv[1]));
    CHECK(hcy_queue_create(&queue, dev));
    peer = cufinufft_open(dev);
    printf("# %s, points %s; ms\n%-20s %8s %8s %8s %8s  %2s %4s %6s%s\n", hcy_device_get_info(dev)->description,
           sigma > 0 ? "clustered" : "uniform", "cell", "points", "execute", "stage", "error", "w", "up", "B/pt",
           peer ? " | cuFINUFFT: points, execute, method, ratio" : "");
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        struct problem p = { .cell = NULL };
        struct cell cell = cells[i];
        cell.m = points > 0 ? (size_t)points : cell.m;
        for (int type = 1; type <= 2; type++) {
            const struct cell *c = &cell;
            char name[40];
            snprintf(name, sizeof name, "%s%d-%lld-%.0e-%s", kind_of(c), type, (long long)c->n, c->eps,
                     c->precision == HCY_F32 ? "single" : "double");
            if (!strstr(name, word))
                continue;
            is_found = true;
            if (!p.cell)
                open_problem(&p, c, sigma);
            p.type = type;
            run(&p, name);
        }
        if (p.cell)
            close_problem(&p);
    }
    free(peer);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    if (!is_found)
        fprintf(stderr, "no cell's name has %s in it: 1d1, mri2, double ...; without a word all are measured\n", word);
    return !is_found;
}
