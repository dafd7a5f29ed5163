/* family.c - the kernel families that are known: the library's, and those registered since.  Thread-safe.
 *
 * The library hands its own over as data (hcy__library), so nothing depends on the order in which objects are linked or
 * start.  Others are appended to a list that only grows: what was found stays.
 */
#include "hal_priv.h"

#include <stdlib.h>
#include <string.h>

struct registered {
    struct registered *next;
    const hcy_family *family;
    const hcy_kernel_code *codes;
    size_t n_codes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct registered *first, **end = &first;

uint64_t hcy_family_hash(const hcy_family *family)
{
    if (!family)
        return 0;
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    const uint64_t prime = 1099511628211u;
#define MIX_STRING(s)                                                     \
    for (const char *c = (s);; c++) {                                     \
        h = (h ^ (unsigned char)*c) * prime;                              \
        if (!*c)                                                          \
            break;                                                        \
    }
#define MIX_NUMBER(x)                                                     \
    for (unsigned shift = 0; shift < 32; shift += 8)                      \
        h = (h ^ ((uint32_t)(x) >> shift & 255u)) * prime;
    MIX_STRING(family->stem)
    MIX_NUMBER(family->version)
    for (size_t k = 0; k < family->n_kernels; k++) {
        const hcy_signature *s = &family->kernels[k];
        MIX_STRING(s->name)
        MIX_NUMBER(s->n_args)
        for (size_t i = 0; i < s->n_args; i++) {
            MIX_STRING(s->args[i].name)
            MIX_NUMBER(s->args[i].type)
            MIX_NUMBER(s->args[i].size)
        }
    }
#undef MIX_STRING
#undef MIX_NUMBER
    return h;
}

static const hcy_signature *kernel_of(const hcy_family *family, const char *kernel)
{
    for (size_t i = 0; i < family->n_kernels; i++)
        if (!strcmp(family->kernels[i].name, kernel))
            return &family->kernels[i];
    return NULL;
}

/* [lock] Calls fn for each family until it returns true; that family, or NULL. */
typedef bool (*family_fn)(const hcy_family *family, const void *context);
static const hcy_family *find(family_fn fn, const void *context)
{
    for (const hcy_family *const *f = hcy__library.families; *f; f++)
        if (fn(*f, context))
            return *f;
    for (const struct registered *r = first; r; r = r->next)
        if (fn(r->family, context))
            return r->family;
    return NULL;
}

static bool has_stem(const hcy_family *family, const void *stem)
{
    return !strcmp(family->stem, stem);
}

static bool has_kernel(const hcy_family *family, const void *kernel)
{
    return kernel_of(family, kernel) != NULL;
}

const hcy_signature *hcy__signature_find(const char *kernel)
{
    pthread_mutex_lock(&lock);
    const hcy_family *family = find(has_kernel, kernel);
    pthread_mutex_unlock(&lock);
    return family ? kernel_of(family, kernel) : NULL;
}

const hcy_kernel_code *hcy__code_find(const char *kernel, const char *backend)
{
    const hcy_kernel_code *found = NULL;
    pthread_mutex_lock(&lock);
    for (const struct registered *r = first; !found && r; r = r->next)
        for (size_t i = 0; !found && i < r->n_codes; i++)
            if (!strcmp(r->codes[i].kernel, kernel) && !strcmp(r->codes[i].backend, backend))
                found = &r->codes[i];
    pthread_mutex_unlock(&lock);
    return found;
}

/* --- Registering --- */

static int check_code(const hcy_family *family, const hcy_kernel_code *code)
{
    const hcy_signature *s = code->kernel ? kernel_of(family, code->kernel) : NULL;
    if (!s)
        return hcy_fail(HCY_EINVAL, "code for a kernel \"%s\", which the family \"%s\" has not",
                        code->kernel ? code->kernel : "", family->stem);
    if (!code->backend || !code->format || !code->data || !code->size)
        return hcy_fail(HCY_EINVAL, "code for kernel %s without a backend, a format or any code", code->kernel);
    for (size_t i = 0; i < s->n_args; i++)
        if (s->args[i].type == HCY_ARG_TABLES)
            return hcy_fail(HCY_EINVAL, "code for kernel %s, whose argument %s is tables: only a backend prepares them",
                            code->kernel, s->args[i].name);
    return 0;
}

static int check_family(const hcy_family *family, const hcy_kernel_code *codes, size_t n)
{
    if (!family || !family->stem || (family->n_kernels && !family->kernels) || (n && !codes))
        return hcy_fail(HCY_EINVAL, "hcy_family_register: no family, or one without stem or kernels");
    int status = 0;
    for (size_t k = 0; !status && k < family->n_kernels; k++) {
        const hcy_signature *s = &family->kernels[k];
        bool named = s->name && (!s->n_args || s->args);
        for (size_t i = 0; named && i < s->n_args; i++)
            named = s->args[i].name;
        if (!named)
            status = hcy_fail(HCY_EINVAL,
                              "hcy_family_register: kernel %zu of the family \"%s\" has no name, or an argument of "
                              "it has none", k, family->stem);
    }
    for (size_t i = 0; !status && i < n; i++)
        status = check_code(family, &codes[i]);
    return status;
}

/* [lock] Whether it fits to those there are; *known: it is one of them. */
static int compare(const hcy_family *family, bool *known)
{
    const hcy_family *same = find(has_stem, family->stem), *other = NULL;
    *known = same != NULL;
    if (same && hcy_family_hash(same) != hcy_family_hash(family))
        return hcy_fail(HCY_EABI, "the family \"%s\" (version %u) is known with other kernels (version %u)", family->stem,
                        family->version, same->version);
    for (size_t i = 0; !same && i < family->n_kernels; i++)
        if ((other = find(has_kernel, family->kernels[i].name)))
            return hcy_fail(HCY_EABI, "family \"%s\": the family \"%s\" has a kernel \"%s\" already", family->stem,
                            other->stem, family->kernels[i].name);
    return 0;
}

int hcy_family_register(const hcy_family *family, const hcy_kernel_code *codes, size_t n)
{
    bool known = false;
    int status = check_family(family, codes, n);
    if (status)
        return status;
    struct registered *r = malloc(sizeof *r);
    if (!r)
        return hcy_fail(HCY_ENOMEM, "out of memory for a family's record");
    *r = (struct registered){ NULL, family, codes, n };
    pthread_mutex_lock(&lock);
    status = compare(family, &known);
    bool taken = !status && (!known || n);
    if (taken) {
        *end = r;
        end = &r->next;
    }
    pthread_mutex_unlock(&lock);
    if (!taken)
        free(r);
    return status;
}
