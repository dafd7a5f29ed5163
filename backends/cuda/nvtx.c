/* nvtx.c - ranges for NVIDIA's profilers, through NVTX's public interface between a program and a tool.
 *
 * A profiler names the library that it brings in the environment, NVTX_INJECTION64_PATH.  That library gets a function
 * that answers with tables, and writes its own functions where the tables point; those that begin and end a thread's
 * range are used here.  Without a profiler nothing is opened.  Once a process, when a device is first opened.
 */
#include "cuda_priv.h"

#include <dlfcn.h>
#include <stdlib.h>

/* The interface's numbers: its version, tables, modules of functions, and places in the module of plain calls. */
enum { NVTX_VERSION = 3, TABLE_CALLBACKS = 1, TABLE_VERSION = 3 };
enum { MODULE_PLAIN = 1, MODULES = 7, MOST_PLACES = 16 };
enum { RANGE_PUSH = 9, RANGE_POP = 11 };

typedef void (*function)(void);
static const unsigned n_places[MODULES] = { 0, 16, 9, 15, 7, 16, 7 };
static function functions[MODULES][MOST_PLACES];
static function *places[MODULES][MOST_PLACES + 1]; /* NULL before the first and behind the last */

static int module_table(int module, function ***table, unsigned *n)
{
    if (module < MODULE_PLAIN || module >= MODULES)
        return 0;
    if (n)
        *n = n_places[module];
    if (table)
        *table = places[module];
    return 1;
}

static void note_version(uint32_t version)
{
    (void)version;
}

static const void *export_table(uint32_t which)
{
    static const struct {
        size_t size;
        int (*module_table)(int module, function ***table, unsigned *n);
    } callbacks = { sizeof callbacks, module_table };
    static const struct {
        size_t size;
        uint32_t version, reserved;
        void (*note)(uint32_t version);
    } version = { sizeof version, NVTX_VERSION, 0, note_version };
    if (which == TABLE_CALLBACKS)
        return &callbacks;
    return which == TABLE_VERSION ? (const void *)&version : NULL;
}

static void push(const char *what)
{
    ((int (*)(const char *))functions[MODULE_PLAIN][RANGE_PUSH])(what);
}

static void pop(void)
{
    ((int (*)(void))functions[MODULE_PLAIN][RANGE_POP])();
}

static void attach(void)
{
    static const hcy_trace_sink sink = { sizeof sink, push, pop };
    int (*start)(const void *(*)(uint32_t)) = NULL;
    const char *path = getenv(sizeof(void *) == 4 ? "NVTX_INJECTION32_PATH" : "NVTX_INJECTION64_PATH");
    void *library = path && *path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library)
        *(void **)&start = dlsym(library, "InitializeInjectionNvtx2");
    /* A tool writes to every place that it knows, so all are there, though two are called. */
    for (int m = MODULE_PLAIN; m < MODULES; m++)
        for (unsigned i = 1; i < n_places[m]; i++)
            places[m][i] = &functions[m][i];
    /* A profiler that does not come is no reason to fail: the program works without it. */
    if (start && start(export_table) && functions[MODULE_PLAIN][RANGE_PUSH] && functions[MODULE_PLAIN][RANGE_POP])
        (void)hcy_trace_attach(&sink);
}

void cuda_nvtx_attach(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, attach);
}
