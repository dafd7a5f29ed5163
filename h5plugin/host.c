/* host.c - the HDF5 that loaded this filter, found by the address that called it.
 *
 * Neither RTLD_DEFAULT (h5py's HDF5 is in no global scope) nor a name (there may be two) would do.  Where the
 * functions cannot be found, as in a program with HDF5 linked in and its symbols hidden, filters still run,
 * without words for their failures; creating datasets with parameters then fails.
 */
#define _GNU_SOURCE /* dladdr */
#include "host.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(void *) host;

void hcy__h5_host_is(void *address)
{
    Dl_info where;
    /* The first caller counts: memory must be freed by the library that allocated it. */
    if (atomic_load(&host) || !dladdr(address, &where))
        return;
    /* RTLD_NOLOAD: a second copy of the library would have an allocator and errors of its own. */
    void *found = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!found || !dlsym(found, "H5Pmodify_filter")) { /* the program itself, with HDF5 linked in */
        if (found)
            dlclose(found);
        found = dlopen(NULL, RTLD_LAZY);
    }
    /* NULL is possible, and everything below copes with it. */
    atomic_store(&host, found);
}

/* A function's address in the type it has; POSIX lets an object pointer hold it. */
static void find_symbol(void *function, const char *name)
{
    void *at = atomic_load(&host);
    *(void **)function = at ? dlsym(at, name) : NULL;
}

void hcy__h5_push(const char *function, const char *words)
{
    int (*push)(h5_id stack, const char *file, const char *func, unsigned line, h5_id class, h5_id major,
                h5_id minor, const char *format, ...);
    h5_id *class, *major, *minor;
    find_symbol(&push, "H5Epush2");
    find_symbol(&class, "H5E_ERR_CLS_g");
    find_symbol(&major, "H5E_PLINE_g");
    find_symbol(&minor, "H5E_CALLBACK_g");
    /* The numbers are variables of the library that has been opened, so they are read now, not when this was
     * built. */
    if (push && class && major && minor)
        push(0, __FILE__, function, __LINE__, *class, *major, *minor, "%s", words);
}

void *hcy__h5_allocate(size_t size)
{
    void *(*allocate)(size_t size, _Bool clear);
    /* Without the function HDF5 is linked in hidden, and then it takes memory from malloc too. */
    find_symbol(&allocate, "H5allocate_memory");
    return allocate ? allocate(size, 0) : malloc(size);
}

void hcy__h5_free(void *memory)
{
    int (*give_back)(void *memory);
    find_symbol(&give_back, "H5free_memory");
    if (give_back)
        give_back(memory);
    else
        free(memory);
}

int hcy__h5_get_values(h5_id plist, int filter, unsigned *flags, size_t *n, unsigned *values)
{
    int (*get)(h5_id plist, int filter, unsigned *flags, size_t *n, unsigned *values, size_t name_size,
               char *name, unsigned *config);
    find_symbol(&get, "H5Pget_filter_by_id2");
    return get && get(plist, filter, flags, n, values, 0, NULL, NULL) >= 0 ? 0 : -1;
}

int hcy__h5_set_values(h5_id plist, int filter, unsigned flags, size_t n, const unsigned *values)
{
    int (*modify)(h5_id plist, int filter, unsigned flags, size_t n, const unsigned *values);
    find_symbol(&modify, "H5Pmodify_filter");
    return modify && modify(plist, filter, flags, n, values) >= 0 ? 0 : -1;
}

size_t hcy__h5_type_size(h5_id type)
{
    size_t (*size)(h5_id type);
    find_symbol(&size, "H5Tget_size");
    return size ? size(type) : 0;
}
