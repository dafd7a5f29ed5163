/* itt.c - tasks for Intel's profilers, through ITT's public interface between a program and a collector.
 *
 * A profiler names the library that collects, in the environment: INTEL_LIBITTNOTIFY64.  Older ones have the functions
 * by their names; newer ones get a table of those that are wanted and write them where it points, and may leave it to
 * the program to make domains and names, which are then structures that they read.  Without a profiler nothing is
 * opened.  Once a process, when a device is first opened.  Any thread; names are added under a lock, read without.
 */
#include "cpu_priv.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The interface's structures, as collectors read them. */
struct itt_domain {
    volatile int enabled;
    const char *name;
    void *wide_name;
    int reserved;
    void *kept;
    struct itt_domain *next;
};
struct itt_string {
    const char *text;
    void *wide_text;
    int reserved;
    void *kept;
    struct itt_string *next;
};
struct itt_id {
    unsigned long long d[3];
};
struct itt_function {
    const char *name;
    void **place, *first, *none;
    int group;
};
struct itt_global {
    unsigned char magic[8];
    unsigned long major, minor, build;
    volatile long is_ready, has_mutex, count;
    pthread_mutex_t mutex;
    void *library, *error_handler;
    const char **path;
    struct itt_function *functions;
    struct itt_global *next;
    void *threads;
    struct itt_domain *domains;
    struct itt_string *strings;
    int state;
    void *counters;
    unsigned events;
    void *histograms, *counter_metadata;
};

/* Tasks, domains and names are of one group; the interface's version; a collector was found and began. */
enum { GROUP_STRUCTURE = 1 << 12, MAJOR = 3, MINOR = 0, BUILD = 20180723, STATE_BEGUN = 4 };
enum { DOMAIN_CREATE, STRING_CREATE, TASK_BEGIN, TASK_END, FUNCTIONS };
static void *functions[FUNCTIONS];
static struct itt_function wanted[FUNCTIONS + 1] = {
    { "__itt_domain_create", &functions[DOMAIN_CREATE], NULL, NULL, GROUP_STRUCTURE },
    { "__itt_string_handle_create", &functions[STRING_CREATE], NULL, NULL, GROUP_STRUCTURE },
    { "__itt_task_begin", &functions[TASK_BEGIN], NULL, NULL, GROUP_STRUCTURE },
    { "__itt_task_end", &functions[TASK_END], NULL, NULL, GROUP_STRUCTURE },
    { NULL, NULL, NULL, NULL, 0 },
};
static struct itt_global global = {
    { 0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30 }, .major = MAJOR, .minor = MINOR, .build = BUILD,
    .has_mutex = 1, .mutex = PTHREAD_MUTEX_INITIALIZER, .functions = wanted, .state = STATE_BEGUN
};

static struct itt_domain own_domain = { .enabled = 1, .name = "halcyon" }, *domain = &own_domain;
static struct itt_string *(*create_string)(const char *text);
static void (*begin_task)(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                          struct itt_string *name);
static void (*end_task)(const struct itt_domain *domain);

/* Names that tasks have had: few, as they are those of kernels and of kinds of commands.  They stay. */
struct task_name {
    struct task_name *next;
    struct itt_string *handle, own;
    char text[];
};
static _Atomic(struct task_name *) task_names;
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;

static struct task_name *find_name(const char *text)
{
    struct task_name *n = atomic_load_explicit(&task_names, memory_order_acquire);
    while (n && strcmp(n->text, text))
        n = n->next;
    return n;
}

/* [names_lock] */
static struct task_name *new_name(const char *text)
{
    const size_t size = strlen(text) + 1;
    struct task_name *n = calloc(1, sizeof *n + size);
    if (!n)
        return NULL;
    memcpy(n->text, text, size);
    n->own.text = n->text;
    n->handle = create_string ? create_string(n->text) : &n->own;
    if (!create_string) {
        n->own.next = global.strings;
        global.strings = &n->own;
    }
    n->next = atomic_load_explicit(&task_names, memory_order_relaxed);
    atomic_store_explicit(&task_names, n, memory_order_release);
    return n;
}

/* Which of this thread's names, the innermost first, were begun: a collector may be switched on or off meanwhile. */
static _Thread_local uint64_t begun;

static void begin_named(const char *what)
{
    const struct itt_id none = { { 0 } };
    struct task_name *n = find_name(what);
    begun = begun << 1 | (domain->enabled != 0);
    if (!(begun & 1))
        return;
    if (!n) {
        pthread_mutex_lock(&names_lock);
        /* Another thread may have come first. */
        if (!(n = find_name(what)))
            n = new_name(what);
        pthread_mutex_unlock(&names_lock);
    }
    /* Without memory for its name it has none, but an end. */
    begin_task(domain, none, none, n ? n->handle : NULL);
}

static void end_named(void)
{
    if (begun & 1)
        end_task(domain);
    begun >>= 1;
}

static void find_functions(void *library)
{
    void (*begin)(struct itt_global *global, int groups) = NULL;
    global.library = library;
    *(void **)&begin = dlsym(library, "__itt_api_init");
    if (begin)
        begin(&global, -1);
    else
        for (int i = 0; i < FUNCTIONS; i++)
            functions[i] = dlsym(library, wanted[i].name);
    global.is_ready = 1;
}

static void attach(void)
{
    static const hcy_trace_sink sink = { sizeof sink, begin_named, end_named };
    struct itt_domain *(*create_domain)(const char *name) = NULL;
    const char *path = getenv(sizeof(void *) == 4 ? "INTEL_LIBITTNOTIFY32" : "INTEL_LIBITTNOTIFY64");
    void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    /* A profiler that does not come is no reason to fail: the program works without it. */
    if (!library)
        return;
    find_functions(library);
    *(void **)&create_domain = functions[DOMAIN_CREATE];
    *(void **)&create_string = functions[STRING_CREATE];
    *(void **)&begin_task = functions[TASK_BEGIN];
    *(void **)&end_task = functions[TASK_END];
    if (create_domain)
        domain = create_domain(own_domain.name);
    else
        global.domains = &own_domain;
    if (domain && begin_task && end_task)
        (void)hcy_trace_attach(&sink);
}

void cpu_itt_attach(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, attach);
}
