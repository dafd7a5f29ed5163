/* finufft.h - FINUFFT, and cuFINUFFT, whose functions take the same, beside our transforms: of a library that is opened
 * at run time.  Their axes begin with the fastest one, ours with the slowest.  Single-threaded. */
#ifndef CLI_FINUFFT_H
#define CLI_FINUFFT_H

#include <halcyon/nufft.h>

/* Those of both precisions: double, single. */
struct finufft {
    void (*defaults)(void *options);
    int (*make)(int, int, const int64_t *, int, int, double, void **, void *);
    int (*makef)(int, int, const int64_t *, int, int, float, void **, void *);
    int (*set[2])(void *, int64_t, void *, void *, void *, int64_t, void *, void *, void *);
    int (*run[2])(void *plan, void *strengths, void *coefficients);
    int (*destroy[2])(void *plan);
};

/* `name` is FINUFFT or cuFINUFFT; lib from dlopen(), NULL if that has failed.  HCY_ENOENT, with dlerror()'s words. */
int finufft_find(struct finufft *f, void *lib, const char *name);

/* Status 1 of these is a warning (eps is too small for the precision), and what was asked is done nevertheless. */
int finufft_make(void **plan, const struct finufft *f, const hcy_nufft_desc *desc, void *options);
int finufft_set(void *plan, const struct finufft *f, const hcy_nufft_desc *desc, int64_t m, void *const x[3]);
int finufft_run(void *plan, const struct finufft *f, const hcy_nufft_desc *desc, void *strengths, void *coefficients);
void finufft_destroy(void *plan, const struct finufft *f, const hcy_nufft_desc *desc); /* NULL is fine */

#endif
