/* finufft.c - FINUFFT and cuFINUFFT beside our transforms (finufft.h). */
#include "finufft.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>

int finufft_find(struct finufft *f, void *lib, const char *name)
{
    const struct {
        void **at;
        const char *name;
    } table[] = { { (void **)&f->defaults, "_default_opts" }, { (void **)&f->make, "_makeplan" },
                  { (void **)&f->makef, "f_makeplan" },       { (void **)&f->set[0], "_setpts" },
                  { (void **)&f->set[1], "f_setpts" },        { (void **)&f->run[0], "_execute" },
                  { (void **)&f->run[1], "f_execute" },       { (void **)&f->destroy[0], "_destroy" },
                  { (void **)&f->destroy[1], "f_destroy" } };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        char symbol[64];
        snprintf(symbol, sizeof symbol, "%s%s", name, table[i].name);
        for (char *c = symbol; *c; c++)
            *c = (char)tolower((unsigned char)*c);
        *table[i].at = lib ? dlsym(lib, symbol) : NULL;
        if (!*table[i].at)
            return hcy_fail(HCY_ENOENT, "%s's library: %s", name, dlerror());
    }
    return 0;
}

static int is_single(const hcy_nufft_desc *desc)
{
    return desc->precision == HCY_F32;
}

int finufft_make(void **plan, const struct finufft *f, const hcy_nufft_desc *desc, void *options)
{
    const int n = (int)desc->n_transforms;
    int64_t modes[3] = { 1, 1, 1 };
    for (int d = 0; d < desc->dim; d++)
        modes[d] = desc->modes[desc->dim - 1 - d];
    return is_single(desc)
               ? f->makef(desc->type, desc->dim, modes, desc->sign, n, (float)desc->eps, plan, options)
               : f->make(desc->type, desc->dim, modes, desc->sign, n, desc->eps, plan, options);
}

int finufft_set(void *plan, const struct finufft *f, const hcy_nufft_desc *desc, int64_t m, void *const x[3])
{
    void *axes[3] = { NULL, NULL, NULL };
    for (int d = 0; d < desc->dim; d++)
        axes[d] = x[desc->dim - 1 - d];
    return f->set[is_single(desc)](plan, m, axes[0], axes[1], axes[2], 0, NULL, NULL, NULL);
}

int finufft_run(void *plan, const struct finufft *f, const hcy_nufft_desc *desc, void *strengths, void *coefficients)
{
    return f->run[is_single(desc)](plan, strengths, coefficients);
}

void finufft_destroy(void *plan, const struct finufft *f, const hcy_nufft_desc *desc)
{
    if (plan)
        f->destroy[is_single(desc)](plan);
}
