/* fail_alloc.c - LD_PRELOAD: the allocation of number $FAIL_ALLOC_AT fails, once; the others go through.
 *
 * Allocations are counted from the first one that Halcyon's own files make (the loader's and HDF5's before it are
 * not ours to survive), over all threads.  At the end the count is written to $FAIL_ALLOC_COUNT, if that is set.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *malloc(size_t size);
void *calloc(size_t n, size_t size);
void *realloc(void *old, size_t size);
void *aligned_alloc(size_t align, size_t size);
int posix_memalign(void **out, size_t align, size_t size);

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t align, size_t size);

static atomic_long count, wanted = -1;

/* Is the caller one of Halcyon's own objects: the command, libhalcyon.so, hcy_*.so? */
static int is_ours(void *caller)
{
    Dl_info where;
    if (!dladdr(caller, &where) || !where.dli_fname)
        return 0;
    const char *name = strrchr(where.dli_fname, '/');
    name = name ? name + 1 : where.dli_fname;
    return strstr(name, "halcyon") || !strncmp(name, "hcy_", 4);
}

static int fails(void *caller)
{
    static _Thread_local int inside;
    if (inside)
        return 0;
    inside = 1;
    int ours = is_ours(caller);
    inside = 0;
    if (!ours || atomic_fetch_add(&count, 1) + 1 != atomic_load(&wanted))
        return 0;
    errno = ENOMEM;
    return 1;
}

static __attribute__((constructor)) void begin(void)
{
    const char *n = getenv("FAIL_ALLOC_AT");
    atomic_store(&wanted, n ? atol(n) : 0);
}

static __attribute__((destructor)) void end(void)
{
    const char *path = getenv("FAIL_ALLOC_COUNT");
    FILE *out = path && atomic_load(&count) ? fopen(path, "w") : NULL; /* not by shells on the way */
    if (out) {
        fprintf(out, "%ld\n", atomic_load(&count));
        fclose(out);
    }
}

void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(align, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
    void *p = fails(__builtin_return_address(0)) ? NULL : __libc_memalign(align, size);
    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}
