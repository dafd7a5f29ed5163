/* cufinufft.c - cuFINUFFT beside the benchmarks of transforms (cufinufft.h). */
#include "cufinufft.h"
#include "bench.h"
#include <halcyon/cuda.h>

#include <dlfcn.h>
#include <math.h>
#include <string.h>

/* OUTPUT_DRIVEN, which type 1 alone has, is its fastest method for many points a cell, and not its own choice. */
enum { ROUNDS = 3, OUTPUT_DRIVEN = 3 };

/* cuFINUFFT 2.5's options. */
struct options {
    double upsampling;
    int method, sort, bins[6], subproblem, kernel, only, batch, device;
    void *stream;
    int modeord, np, debug;
    char rest[256];
};

struct cufinufft {
    void (*defaults)(struct options *);
    int (*make)(int, int, const int64_t *, int, int, double, void **, struct options *);
    int (*makef)(int, int, const int64_t *, int, int, float, void **, struct options *);
    int (*set)(void *, int64_t, void *, void *, void *, int64_t, void *, void *, void *);
    int (*setf)(void *, int64_t, void *, void *, void *, int64_t, void *, void *, void *);
    int (*run)(void *, void *, void *);
    int (*runf)(void *, void *, void *);
    int (*destroy)(void *);
    int (*destroyf)(void *);
    int (*synchronize)(void); /* cudaDeviceSynchronize(), of the runtime that the library has brought */
};

/* A status of 1 is a warning: eps is too small for the precision. */
static void need(int code, const char *what)
{
    if (code <= 1)
        return;
    fprintf(stderr, "cuFINUFFT: %s: status %d\n", what, code);
    exit(1);
}

struct cufinufft *cufinufft_open(hcy_device *dev)
{
    const char *file = getenv("CUFINUFFT");
    if (!file)
        return NULL;
    if (strcmp(hcy_device_get_info(dev)->backend, "cuda")) {
        fprintf(stderr, "cuFINUFFT runs on devices of the backend cuda\n");
        exit(1);
    }
    struct cufinufft *lib = bench_need(calloc(1, sizeof *lib));
    const struct {
        void **at;
        const char *name;
    } table[] = { { (void **)&lib->defaults, "cufinufft_default_opts" },
                  { (void **)&lib->make, "cufinufft_makeplan" },
                  { (void **)&lib->makef, "cufinufftf_makeplan" },
                  { (void **)&lib->set, "cufinufft_setpts" },
                  { (void **)&lib->setf, "cufinufftf_setpts" },
                  { (void **)&lib->run, "cufinufft_execute" },
                  { (void **)&lib->runf, "cufinufftf_execute" },
                  { (void **)&lib->destroy, "cufinufft_destroy" },
                  { (void **)&lib->destroyf, "cufinufftf_destroy" },
                  { (void **)&lib->synchronize, "cudaDeviceSynchronize" } };
    void *opened = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (!opened || !(*table[i].at = dlsym(opened, table[i].name))) {
            fprintf(stderr, "cuFINUFFT: %s\n", dlerror());
            exit(1);
        }
    return lib;
}

static void *address_of(hcy_buffer *buf)
{
    uint64_t address = 0;
    if (buf)
        CHECK(hcy_cuda_address(&address, buf));
    return (void *)(uintptr_t)address;
}

struct cufinufft_times cufinufft_time(const struct cufinufft *lib, const struct cufinufft_job *job, int method)
{
    const hcy_nufft_desc *desc = job->desc;
    struct cufinufft_times t = { INFINITY, INFINITY, method };
    struct options o;
    const int single = desc->precision == HCY_F32, n = (int)desc->n_transforms;
    int64_t modes[3] = { 1, 1, 1 };
    void *x[3] = { NULL, NULL, NULL }, *c = address_of(job->strengths), *f = address_of(job->coefficients), *plan;
    /* Its x is the fastest axis, which is the last one here. */
    for (int d = 0; d < desc->dim; d++) {
        modes[d] = desc->modes[desc->dim - 1 - d];
        x[d] = address_of(job->points[desc->dim - 1 - d]);
    }
    lib->defaults(&o);
    o.method = method;
    need(single ? lib->makef(desc->type, desc->dim, modes, desc->sign, n, (float)desc->eps, &plan, &o)
                : lib->make(desc->type, desc->dim, modes, desc->sign, n, desc->eps, &plan, &o),
         "a plan");
    /* The first round compiles and fills caches. */
    for (int round = -1; round < ROUNDS; round++) {
        double start = timer_now();
        need((single ? lib->setf : lib->set)(plan, job->m, x[0], x[1], x[2], 0, NULL, NULL, NULL), "points");
        need(lib->synchronize() ? 2 : 0, "points");
        t.set = round < 0 ? t.set : timer_best(t.set, start);
        start = timer_now();
        need((single ? lib->runf : lib->run)(plan, c, f), "a transform");
        need(lib->synchronize() ? 2 : 0, "a transform");
        t.run = round < 0 ? t.run : timer_best(t.run, start);
    }
    (single ? lib->destroyf : lib->destroy)(plan);
    return t;
}

struct cufinufft_times cufinufft_best(const struct cufinufft *lib, const struct cufinufft_job *job)
{
    struct cufinufft_times best = cufinufft_time(lib, job, 0);
    if (job->desc->type == 1) {
        struct cufinufft_times t = cufinufft_time(lib, job, OUTPUT_DRIVEN);
        best = t.set + t.run < best.set + best.run ? t : best;
    }
    return best;
}
