/* loader.c - finding, loading and checking backends: those linked in, and modules hcy_NAME.so.
 *
 * A backend is loaded when it is first asked for, once, with RTLD_LOCAL, and never unloaded (its threads may outlive
 * us).  Modules are looked for in the directories of HALCYON_BACKEND_PATH (colon-separated) if that is set, else
 * beside this library (DIR/halcyon, and DIR itself in a build tree) and in the installation's directory.  Never in the
 * current directory.  HALCYON_BACKENDS=cuda,-opencl names those wanted, '-' those not.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr */
#endif
#include "hal_priv.h"

#include <dirent.h>
#include <dlfcn.h>
#ifdef __linux__
#include <link.h>
#endif
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef HCY_PLUGINDIR
#define HCY_PLUGINDIR "/usr/local/lib/halcyon"
#endif
#define MAX_BACKENDS 32

struct slot {
    hcy_backend_info info;
    const hcy_backend *backend; /* NULL: info says why */
    bool is_loaded;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot slots[MAX_BACKENDS];
static size_t n_slots;

/* Backends are listed in alphabetical order, but for these: whatever accelerator there is comes before them. */
static const char *const last[] = { "cpu", "null" };

/* --- What may be used --- */

static bool in_list(const char *list, const char *name, char sign)
{
    size_t n = strlen(name);
    for (const char *p = list, *next; p && *p; p = next ? next + 1 : NULL) {
        next = strchr(p, ',');
        if (sign && *p++ != sign)
            continue;
        if (!strncmp(p, name, n) && (p[n] == ',' || !p[n]))
            return true;
    }
    return false;
}

static bool names_any(const char *list)
{
    for (const char *p = list; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
        if (*p != '-' && *p != ',')
            return true;
    return false;
}

static bool allowed(const char *name, bool asked_outright)
{
    const char *list = getenv("HALCYON_BACKENDS");
    if (in_list(list, name, '-'))
        return false;
    if (names_any(list))
        return in_list(list, name, 0);
    return asked_outright || strcmp(name, "null") != 0;
}

/* --- Where modules are --- */

typedef bool (*directory_fn)(void *context, const char *directory);

static bool in_path(const char *path, directory_fn fn, void *context)
{
    char dir[PATH_MAX];
    while (*path) {
        size_t n = strcspn(path, ":");
        if (n && n < sizeof dir) {
            memcpy(dir, path, n);
            dir[n] = 0;
            if (fn(context, dir))
                return true;
        }
        path += n + (path[n] == ':');
    }
    return false;
}

int hcy__own_folder(char folder[PATH_MAX])
{
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)hcy_version, &info) || !info.dli_fname || !realpath(info.dli_fname, folder))
        return -1;
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = 0;
    return slash ? 0 : -1;
}

static bool beside_us(directory_fn fn, void *context)
{
    char dir[PATH_MAX], sub[PATH_MAX + 16];
    if (hcy__own_folder(dir))
        return false;
    snprintf(sub, sizeof sub, "%s/halcyon", dir);
    return fn(context, sub) ||
           (strlen(dir) >= 6 && !strcmp(dir + strlen(dir) - 6, "/.libs") && fn(context, dir));
}

/* Calls fn for each directory until it returns true. */
static bool each_directory(directory_fn fn, void *context)
{
    const char *path = getenv("HALCYON_BACKEND_PATH");
    if (path && *path)
        return in_path(path, fn, context);
    return beside_us(fn, context) || fn(context, HCY_PLUGINDIR);
}

/* --- Names --- */

struct names {
    char (*list)[24];
    size_t n;
    bool full;
};

static void add_name(struct names *names, const char *name, size_t length)
{
    char one[24];
    if (!length || length >= sizeof one)
        return;
    memcpy(one, name, length);
    one[length] = 0;
    for (size_t i = 0; i < names->n; i++)
        if (!strcmp(names->list[i], one))
            return;
    if (names->n < MAX_BACKENDS && allowed(one, false))
        memcpy(names->list[names->n++], one, sizeof one);
}

/* Those asked for by name, which may be misspelt: why there is none is told as of any that cannot be loaded. */
static void add_wanted(struct names *names)
{
    for (const char *p = getenv("HALCYON_BACKENDS"); p && *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
        if (*p != '-')
            add_name(names, p, strcspn(p, ","));
}

static bool add_modules(void *context, const char *directory)
{
    DIR *d = opendir(directory);
    struct dirent *e;
    while (d && (e = readdir(d))) {
        size_t n = strlen(e->d_name);
        if (n > 7 && !strncmp(e->d_name, "hcy_", 4) && !strcmp(e->d_name + n - 3, ".so"))
            add_name(context, e->d_name + 4, n - 7);
    }
    if (d)
        closedir(d);
    return false;
}

static size_t rank_of(const char *name)
{
    size_t n = sizeof last / sizeof last[0];
    while (n && strcmp(last[n - 1], name))
        n--;
    return n; /* 0: not among them */
}

static int accelerators_first(const void *a, const void *b)
{
    size_t x = rank_of(a), y = rank_of(b);
    return x != y ? (x < y ? -1 : 1) : strcmp(a, b);
}

int hcy__backend_names(char (**list)[24], size_t *n)
{
    struct names names = { calloc(MAX_BACKENDS, 24), 0, false };
    if (!names.list)
        return hcy_fail(HCY_ENOMEM, "out of memory for the list of backends");
    for (const hcy__static_backend *s = hcy__library.backends; s->name; s++)
        add_name(&names, s->name, strlen(s->name));
    each_directory(add_modules, &names);
    add_wanted(&names);
    qsort(names.list, names.n, sizeof names.list[0], accelerators_first);
    *list = names.list;
    *n = names.n;
    return 0;
}

/* --- Loading --- */

struct search {
    char path[PATH_MAX];
    const char *prefix, *name;
};

static bool find_module(void *context, const char *directory)
{
    struct search *s = context;
    int n = snprintf(s->path, sizeof s->path, "%s/%s%s.so", directory, s->prefix, s->name);
    if (n > 0 && (size_t)n < sizeof s->path) {
        struct stat is; /* a pipe of that name would be waited for */
        if (!stat(s->path, &is) && S_ISREG(is.st_mode) && !access(s->path, R_OK))
            return true;
    }
    s->path[0] = 0;
    return false;
}

int hcy__module_path(char path[PATH_MAX], const char *prefix, const char *name)
{
    struct search search = { .prefix = prefix, .name = name };
    if (!each_directory(find_module, &search))
        return -1;
    snprintf(path, PATH_MAX, "%s", search.path);
    return 0;
}

/* Whether the file ends before what it says is loaded of it: dlopen() would map pages that are not there, and the
 * process ends with SIGBUS.  All other damage dlopen() finds, and tells. */
static bool is_cut_short(const char *path)
{
    bool cut = false;
#ifdef __linux__
    ElfW(Ehdr) head;
    ElfW(Phdr) part;
    struct stat is;
    FILE *f = fopen(path, "rbe");
    bool known = f && !fstat(fileno(f), &is) && fread(&head, sizeof head, 1, f) == 1 &&
                 !memcmp(head.e_ident, ELFMAG, SELFMAG) && head.e_phentsize == sizeof part &&
                 head.e_phoff <= LONG_MAX / 2;
    for (unsigned i = 0; known && !cut && i < head.e_phnum; i++) {
        known = !fseek(f, (long)(head.e_phoff + i * sizeof part), SEEK_SET) && fread(&part, sizeof part, 1, f) == 1;
        const uint64_t size = (uint64_t)is.st_size;
        cut = known && part.p_type == PT_LOAD && (part.p_offset > size || part.p_filesz > size - part.p_offset);
    }
    if (f)
        fclose(f);
#else
    (void)path;
#endif
    return cut;
}

static hcy_backend_entry_fn find_entry(const char *name, char *origin, size_t size)
{
    for (const hcy__static_backend *s = hcy__library.backends; s->name; s++)
        if (!strcmp(s->name, name)) {
            snprintf(origin, size, "built in");
            return s->entry;
        }
    /* What is built in comes first: a module of the same name cannot take its place. */
    char path[PATH_MAX];
    if (hcy__module_path(path, "hcy_", name)) {
        hcy_fail(
            HCY_ENODEV,
            "there is no backend \"%s\": no module hcy_%s.so where modules are looked for"
            " (HALCYON_BACKEND_PATH names other directories; `halcyon devices` lists the backends there are)",
            name, name);
        return NULL;
    }
    snprintf(origin, size, "%.*s", (int)size - 1, path);
    if (is_cut_short(path)) {
        hcy_fail(HCY_EBACKEND, "module %s cannot be loaded: it is cut short", path);
        return NULL;
    }
    /* Modules are never closed: threads and vendor libraries may hold addresses in them. */
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module) {
        hcy_fail_vendor(HCY_EBACKEND, 0, dlerror(), "module %s cannot be loaded", path);
        return NULL;
    }
    hcy_backend_entry_fn entry;
    /* POSIX lets an object pointer hold a function's address; C has no conversion for it. */
    *(void **)&entry = dlsym(module, HCY_BACKEND_ENTRY);
    if (!entry)
        hcy_fail(HCY_EABI, "%s is not a backend of Halcyon: it has no " HCY_BACKEND_ENTRY "()", path);
    return entry;
}

/* A module built with other kernel declarations than ours would misread every argument.  Families that nobody has
 * told us of yet are the module's own, and known from now on. */
static int check_families(const hcy_backend *backend)
{
    int status = 0;
    for (const hcy_family *const *f = backend->families; !status && f && *f; f++)
        status = hcy_family_register(*f, NULL, 0);
    if (!status)
        return 0;
    const hcy_error e = *hcy_last_error();
    return hcy_fail(status, "backend \"%s\" was built with other kernels than this library (%s): rebuild it; %s",
                    backend->name, hcy_version(), e.text);
}

/* Slots may be missing (unsupported), but not the ones that belong to a slot that is there. */
static int check_ops(const hcy_backend *backend)
{
    const hcy_backend_ops *o = backend->ops;
#define HAS(op) HCY_HAS_OP(o, op)
    const struct {
        const char *slot;
        bool there, complete;
    } groups[] = {
        { "open", true, o && HAS(open) && HAS(close) },
        { "alloc", o && HAS(alloc), o && HAS(free) },
        { "prepare", o && HAS(prepare), o && HAS(free) },
        { "queue_create", o && HAS(queue_create),
          o && HAS(queue_destroy) && HAS(finish) && HAS(status) && HAS(record) && HAS(event_wait) &&
              HAS(event_query) && HAS(event_time) && HAS(event_destroy) },
        { "program_create", o && HAS(program_create), o && HAS(program_release) && HAS(program_kernel) },
        { "fft_create", o && HAS(fft_create), o && HAS(fft_release) && HAS(fft_execute) },
    };
#undef HAS
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        if (groups[i].there && !groups[i].complete)
            return hcy_fail(HCY_EABI, "backend \"%s\" lacks functions that belong to \"%s\"", backend->name,
                            groups[i].slot);
    return 0;
}

static int enter(struct slot *slot, const char *name)
{
    hcy_backend_entry_fn entry = find_entry(name, slot->info.origin, sizeof slot->info.origin);
    if (!entry)
        return hcy_last_error()->status;
    slot->is_loaded = true;
    const hcy_backend *b = NULL;
    int status = entry(&b, HCY_BACKEND_ABI);
    if (status)
        return status;
    if (b && b->abi == HCY_BACKEND_ABI && b->size >= sizeof *b && strcmp(b->name, name))
        return hcy_fail(HCY_EABI, "%s is the backend \"%s\": name the file hcy_%s.so", slot->info.origin, b->name,
                        b->name);
    if (!b || b->abi != HCY_BACKEND_ABI || b->size < sizeof *b)
        return hcy_fail(HCY_EABI, "backend \"%s\" has interface %u, this library (%s) wants %u: rebuild it",
                        name, b ? b->abi : 0, hcy_version(), HCY_BACKEND_ABI);
    status = check_ops(b);
    if (!status)
        status = check_families(b);
    if (!status)
        slot->backend = b;
    return status;
}

static struct slot *find_slot(const char *name)
{
    for (size_t i = 0; i < n_slots; i++)
        if (!strcmp(slots[i].info.name, name))
            return &slots[i];
    return NULL;
}

static int load_locked(const hcy_backend **backend, const char *name, hcy_backend_info *info)
{
    struct slot *slot = find_slot(name);
    if (!slot) {
        if (n_slots == MAX_BACKENDS)
            return hcy_fail(HCY_ERANGE, "more than %d backends", MAX_BACKENDS);
        slot = &slots[n_slots];
        memset(slot, 0, sizeof *slot);
        snprintf(slot->info.name, sizeof slot->info.name, "%s", name);
        slot->info.status = enter(slot, name);
        if (slot->info.status) {
            const hcy_error *e = hcy_last_error();
            snprintf(slot->info.reason, sizeof slot->info.reason, "%s%s%s", e->text, *e->vendor ? ": " : "",
                     e->vendor);
        }
        /* What was not found, or could not be loaded, is looked for again: it may be installed meanwhile, or what that
         * takes (a descriptor, memory) may be there. */
        n_slots += slot->is_loaded;
    }
    if (info)
        *info = slot->info;
    if (slot->info.status)
        return hcy_fail(slot->info.status, "%s", slot->info.reason);
    *backend = slot->backend;
    return 0;
}

int hcy__backend_load(const hcy_backend **backend, const char *name, hcy_backend_info *info)
{
    if (!allowed(name, true))
        return hcy_fail(HCY_ENODEV, "backend \"%s\" is switched off by HALCYON_BACKENDS=%s", name,
                        getenv("HALCYON_BACKENDS"));
    pthread_mutex_lock(&lock);
    int status = load_locked(backend, name, info);
    pthread_mutex_unlock(&lock);
    return status;
}
