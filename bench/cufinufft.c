/* cufinufft.c - cuFINUFFT beside the benchmarks of transforms (cufinufft.h). */
#include "cufinufft.h"
#include "bench.h"
#include "cli/finufft.h"
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
    struct finufft calls;
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
    void *opened = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    CHECK(finufft_find(&lib->calls, opened, "cuFINUFFT"));
    *(void **)&lib->synchronize = dlsym(opened, "cudaDeviceSynchronize");
    need(lib->synchronize ? 0 : 2, "no cudaDeviceSynchronize()");
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
    void *c = address_of(job->strengths), *f = address_of(job->coefficients), *x[3], *plan = NULL;
    for (int d = 0; d < desc->dim; d++)
        x[d] = address_of(job->points[d]);
    lib->calls.defaults(&o);
    o.method = method;
    need(finufft_make(&plan, &lib->calls, desc, &o), "a plan");
    /* The first round compiles and fills caches. */
    for (int round = -1; round < ROUNDS; round++) {
        double start = timer_now();
        need(finufft_set(plan, &lib->calls, desc, job->m, x), "points");
        need(lib->synchronize() ? 2 : 0, "points");
        t.set = round < 0 ? t.set : timer_best(t.set, start);
        start = timer_now();
        need(finufft_run(plan, &lib->calls, desc, c, f), "a transform");
        need(lib->synchronize() ? 2 : 0, "a transform");
        t.run = round < 0 ? t.run : timer_best(t.run, start);
    }
    finufft_destroy(plan, &lib->calls, desc);
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
