/* nufft.c - how fast non-uniform FFTs are, beside FINUFFT where its library is given.
 *
 * usage: bench_nufft [-d DEVICE] [-t THREADS] [-s SCALE] [-r ROUNDS] [-c CLUSTER] [-f LIBFINUFFT] [-u
 * UPSAMPLING]
 *                    [-w WIDTH] [CELL...]
 *
 * Cells are those of the table, or the named ones ("3d1-1e-6-single": a part of the name is enough).  Points
 * are uniform random, or normal around 0 with -c SIGMA. LIBFINUFFT is the shared library of a wheel from
 * PyPI (finufft/libfinufft.so).  Both run in turn in this process, each on THREADS threads: setting points,
 * two executions; the best of each counts.  Errors are those of 40 results against the direct sum in double.
 */
#include <complex.h>
#include <dlfcn.h>
#include <halcyon/nufft.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PI 3.14159265358979323846

struct cell {
    int dim, type;
    int64_t n; /* modes of an axis */
    double eps;
    int precision;
};
static const struct cell cells[] = {
    { 1, 1, 1000000, 1e-6, HCY_F32 }, { 1, 2, 1000000, 1e-6, HCY_F32 }, { 1, 1, 1000000, 1e-9, HCY_F64 },
    { 1, 2, 1000000, 1e-9, HCY_F64 }, { 2, 1, 1000, 1e-3, HCY_F32 },    { 2, 2, 1000, 1e-3, HCY_F32 },
    { 2, 1, 1000, 1e-6, HCY_F32 },    { 2, 2, 1000, 1e-6, HCY_F32 },    { 2, 1, 1000, 1e-2, HCY_F64 },
    { 2, 2, 1000, 1e-2, HCY_F64 },    { 2, 1, 1000, 1e-9, HCY_F64 },    { 2, 2, 1000, 1e-9, HCY_F64 },
    { 2, 1, 1000, 1e-12, HCY_F64 },   { 2, 2, 1000, 1e-12, HCY_F64 },   { 3, 1, 128, 1e-3, HCY_F32 },
    { 3, 2, 128, 1e-3, HCY_F32 },     { 3, 1, 128, 1e-6, HCY_F32 },     { 3, 2, 128, 1e-6, HCY_F32 },
    { 3, 1, 128, 1e-2, HCY_F64 },     { 3, 2, 128, 1e-2, HCY_F64 },     { 3, 1, 128, 1e-6, HCY_F64 },
    { 3, 2, 128, 1e-6, HCY_F64 },     { 3, 1, 128, 1e-9, HCY_F64 },     { 3, 2, 128, 1e-9, HCY_F64 },
    { 3, 1, 128, 1e-12, HCY_F64 },    { 3, 2, 128, 1e-12, HCY_F64 },
};
enum { CELLS = sizeof cells / sizeof cells[0], CHECKED = 40 };

/* The beginning of FINUFFT 2.5's options. */
struct peer_options {
    int modeord, spreadinterponly, debug, spread_debug, showwarn, nthreads;
    char rest[256];
};
struct peer {
    void (*defaults)(struct peer_options *);
    int (*make)(int, int, const int64_t *, int, int, double, void **, struct peer_options *);
    int (*makef)(int, int, const int64_t *, int, int, float, void **, struct peer_options *);
    int (*set)(void *, int64_t, void *, void *, void *, int64_t, void *, void *, void *);
    int (*setf)(void *, int64_t, void *, void *, void *, int64_t, void *, void *, void *);
    int (*run)(void *, void *, void *);
    int (*runf)(void *, void *, void *);
    int (*destroy)(void *);
    int (*destroyf)(void *);
};

struct bench {
    const char *device, *library;
    int threads, rounds;
    double scale, cluster, upsampling;
    unsigned width;
    struct peer peer;
    hcy_device *dev;
    double log_sum;
    int n_ratios;
    double least;
};

struct problem {
    const struct cell *cell;
    size_t m, n, real;
    void *x[3];
    void *c, *f;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *need(void *p)
{
    if (p)
        return p;
    fprintf(stderr, "bench_nufft: out of memory\n");
    exit(1);
}

static void check(int status)
{
    if (!status)
        return;
    fprintf(stderr, "bench_nufft: %s\n", hcy_last_error()->text);
    exit(1);
}

static uint64_t state = 20261121;
static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

static void put(const struct problem *p, void *array, size_t i, double v)
{
    if (p->real == 8)
        ((double *)array)[i] = v;
    else
        ((float *)array)[i] = (float)v;
}

static double get(const struct problem *p, const void *array, size_t i)
{
    return p->real == 8 ? ((const double *)array)[i] : (double)((const float *)array)[i];
}

static void open_peer(struct bench *b)
{
    void *lib = dlopen(b->library, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        fprintf(stderr, "bench_nufft: %s\n", dlerror());
        exit(1);
    }
    const struct {
        void **at;
        const char *name;
    } table[] = { { (void **)&b->peer.defaults, "finufft_default_opts" },
                  { (void **)&b->peer.make, "finufft_makeplan" },
                  { (void **)&b->peer.makef, "finufftf_makeplan" },
                  { (void **)&b->peer.set, "finufft_setpts" },
                  { (void **)&b->peer.setf, "finufftf_setpts" },
                  { (void **)&b->peer.run, "finufft_execute" },
                  { (void **)&b->peer.runf, "finufftf_execute" },
                  { (void **)&b->peer.destroy, "finufft_destroy" },
                  { (void **)&b->peer.destroyf, "finufftf_destroy" } };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        *table[i].at = need(dlsym(lib, table[i].name));
}

static void make(struct problem *p, const struct cell *cell, const struct bench *b)
{
    p->cell = cell;
    p->real = cell->precision == HCY_F64 ? 8 : 4;
    p->m = (size_t)(b->scale * 1e7);
    p->n = 1;
    for (int d = 0; d < cell->dim; d++) {
        p->n *= (size_t)cell->n;
        p->x[d] = need(malloc(p->m * p->real));
        for (size_t i = 0; i < p->m; i++) {
            double normal = b->cluster > 0 ? sqrt(-2 * log(1 - uniform())) * cos(2 * PI * uniform()) : 0;
            put(p, p->x[d], i, b->cluster > 0 ? b->cluster * normal : 2 * PI * (uniform() - 0.5));
        }
    }
    p->c = need(malloc(2 * p->m * p->real));
    p->f = need(malloc(2 * p->n * p->real));
    for (size_t i = 0; i < 2 * p->m; i++)
        put(p, p->c, i, uniform() - 0.5);
    for (size_t i = 0; i < 2 * p->n; i++)
        put(p, p->f, i, uniform() - 0.5);
}

static void drop(struct problem *p)
{
    for (int d = 0; d < p->cell->dim; d++)
        free(p->x[d]);
    free(p->c);
    free(p->f);
}

/* Relative error of some results. */
static double error_of(const struct problem *p, const void *in, const void *out)
{
    double bad = 0, all = 0;
    size_t results = p->cell->type == 1 ? p->n : p->m, terms = p->cell->type == 1 ? p->m : p->n;
    for (int i = 0; i < CHECKED; i++) {
        size_t r = (size_t)(uniform() * (double)results);
        double complex sum = 0;
        for (size_t t = 0; t < terms; t++) {
            size_t mode = p->cell->type == 1 ? r : t, point = p->cell->type == 1 ? t : r;
            double phase = 0;
            for (int d = p->cell->dim - 1; d >= 0; d--) {
                phase +=
                    get(p, p->x[d], point) * (double)((int64_t)(mode % (size_t)p->cell->n) - p->cell->n / 2);
                mode /= (size_t)p->cell->n;
            }
            sum += (get(p, in, 2 * t) + I * get(p, in, 2 * t + 1)) * (cos(phase) + I * sin(phase));
        }
        double complex got = get(p, out, 2 * r) + I * get(p, out, 2 * r + 1);
        bad += creal((got - sum) * conj(got - sum));
        all += creal(sum * conj(sum));
    }
    return sqrt(bad / all);
}

struct figures {
    double set, run, error;
    hcy_nufft_info info;
};

static void keep_best(double *best, double time)
{
    if (*best == 0 || time < *best)
        *best = time;
}

static void round_ours(const struct bench *b, const struct problem *p, hcy_nufft *plan, struct figures *f)
{
    const void *const x[3] = { p->x[0], p->x[1], p->x[2] };
    (void)b;
    double t0 = now();
    check(hcy_nufft_set_points(plan, (int64_t)p->m, x, 0, NULL));
    double t1 = now();
    check(hcy_nufft_execute(plan, p->c, p->f));
    double t2 = now();
    check(hcy_nufft_execute(plan, p->c, p->f));
    double t3 = now();
    keep_best(&f->set, t1 - t0);
    keep_best(&f->run, t2 - t1);
    keep_best(&f->run, t3 - t2);
}

static void round_peer(const struct bench *b, const struct problem *p, void *plan, struct figures *f)
{
    bool single = p->real == 4;
    int last = p->cell->dim - 1;
    void *x = p->x[last], *y = last > 0 ? p->x[last - 1] : NULL, *z = last > 1 ? p->x[0] : NULL;
    double t0 = now();
    (single ? b->peer.setf : b->peer.set)(plan, (int64_t)p->m, x, y, z, 0, NULL, NULL, NULL);
    double t1 = now();
    (single ? b->peer.runf : b->peer.run)(plan, p->c, p->f);
    double t2 = now();
    (single ? b->peer.runf : b->peer.run)(plan, p->c, p->f);
    double t3 = now();
    keep_best(&f->set, t1 - t0);
    keep_best(&f->run, t2 - t1);
    keep_best(&f->run, t3 - t2);
}

static void print_row(struct bench *b, const char *name, const struct problem *p, const struct figures *ours,
                      const struct figures *peer)
{
    printf("%-18s %9.2f %9.2f %8.2f %8.1e  %2u %4.2f", name, 1e3 * ours->set, 1e3 * ours->run,
           1e-6 * (double)p->m / ours->run, ours->error, ours->info.width, ours->info.upsampling);
    if (b->library) {
        double ratio = (peer->set + peer->run) / (ours->set + ours->run);
        printf(" | %9.2f %9.2f %8.1e | %5.2f %5.2f", 1e3 * peer->set, 1e3 * peer->run, peer->error,
               peer->run / ours->run, ratio);
        b->log_sum += log(ratio);
        b->n_ratios++;
        b->least = b->n_ratios == 1 || ratio < b->least ? ratio : b->least;
    }
    printf("\n");
    fflush(stdout);
}

static void run_cell(struct bench *b, const struct cell *cell, const char *name)
{
    struct problem p;
    struct figures ours = { 0 }, peer = { 0 };
    hcy_nufft_options options = HCY_NUFFT_OPTIONS_INIT;
    hcy_nufft *plan;
    void *peer_plan = NULL;
    int64_t modes[3] = { cell->n, cell->n, cell->n };
    make(&p, cell, b);
    options.precision = cell->precision;
    options.upsampling = b->upsampling;
    options.width = b->width;
    check(hcy_nufft_create(&plan, b->dev, cell->type, cell->dim, modes, +1, 1, cell->eps, &options));
    if (b->library) {
        struct peer_options o;
        b->peer.defaults(&o);
        o.nthreads = b->threads;
        o.showwarn = 0;
        if (p.real == 4)
            b->peer.makef(cell->type, cell->dim, modes, 1, 1, (float)cell->eps, &peer_plan, &o);
        else
            b->peer.make(cell->type, cell->dim, modes, 1, 1, cell->eps, &peer_plan, &o);
    }
    const void *in = cell->type == 1 ? p.c : p.f, *out = cell->type == 1 ? p.f : p.c;
    for (int i = 0; i < b->rounds; i++) {
        if (peer_plan)
            round_peer(b, &p, peer_plan, &peer);
        if (peer_plan && i + 1 == b->rounds)
            peer.error = error_of(&p, in, out);
        round_ours(b, &p, plan, &ours);
    }
    ours.error = error_of(&p, in, out);
    ours.info = (hcy_nufft_info)HCY_NUFFT_INFO_INIT;
    check(hcy_nufft_info_get(&ours.info, plan));
    print_row(b, name, &p, &ours, &peer);
    if (peer_plan)
        (p.real == 4 ? b->peer.destroyf : b->peer.destroy)(peer_plan);
    hcy_nufft_destroy(plan);
    drop(&p);
}

static bool wanted(const char *name, char **names, int n)
{
    for (int i = 0; i < n; i++)
        if (strstr(name, names[i]))
            return true;
    return n == 0;
}

int main(int argc, char **argv)
{
    struct bench b = { .device = NULL, .threads = 1, .rounds = 3, .scale = 0.2 };
    char device[64];
    for (int o; (o = getopt(argc, argv, "d:t:s:r:c:f:u:w:")) != -1;)
        switch (o) {
        case 'd':
            b.device = optarg;
            break;
        case 't':
            b.threads = atoi(optarg);
            break;
        case 's':
            b.scale = atof(optarg);
            break;
        case 'r':
            b.rounds = atoi(optarg);
            break;
        case 'c':
            b.cluster = atof(optarg);
            break;
        case 'f':
            b.library = optarg;
            break;
        case 'u':
            b.upsampling = atof(optarg);
            break;
        case 'w':
            b.width = (unsigned)atoi(optarg);
            break;
        default:
            return 2;
        }
    snprintf(device, sizeof device, "cpu@threads=%d", b.threads);
    check(hcy_device_open(&b.dev, b.device ? b.device : device));
    if (b.library)
        open_peer(&b);
    printf("# %s; %.3g points, %s; ms\n", hcy_device_get_info(b.dev)->description, b.scale * 1e7,
           b.cluster > 0 ? "clustered" : "uniform");
    printf("%-18s %9s %9s %8s %8s  %2s %4s%s\n", "cell", "points", "execute", "Mpt/s", "error", "w", "up",
           b.library ? " | FINUFFT:points execute    error | ratio  total" : "");
    for (int i = 0; i < CELLS; i++) {
        char name[40];
        const char *single = cells[i].precision == HCY_F32 ? "single" : "double";
        snprintf(name, sizeof name, "%dd%d-%.0e-%s", cells[i].dim, cells[i].type, cells[i].eps, single);
        if (wanted(name, argv + optind, argc - optind))
            run_cell(&b, &cells[i], name);
    }
    if (b.n_ratios)
        printf("# times FINUFFT's speed, points and execution: %.2f at least, %.2f in the geometric mean\n",
               b.least, exp(b.log_sum / b.n_ratios));
    hcy_device_release(b.dev);
    return 0;
}
