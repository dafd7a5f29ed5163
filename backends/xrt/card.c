/* card.c - XRT's native C API, opened at run time: the one file that uses it.
 *
 * libxrt_coreutil stays open for ever.  It finds the shim for cards in $XILINX_XRT/lib alone, so that variable is asked
 * for first.  A library without these functions is a later XRT, which has them in C++ only.
 */
#include "card.h"

#include <halcyon/backend.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct {
#define X(type, name, parameters) type(*name) parameters;
#include "xrt_syms.def"
#undef X
} xrt;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char missing[300];

enum { TO_DEVICE = 0, FROM_DEVICE = 1 };              /* xclBOSyncDirection */
enum { HOST_ONLY = 1 << 29 };                         /* xrtBufferFlags */
enum { COMPLETED = 4, ABORTED = 6, NO_RESPONSE = 9 }; /* ert_cmd_state; between the last two a run goes on */

static void *find_in_xrt(void *library, const char *symbol)
{
    void *p = dlsym(library, symbol);
    if (!p && !*missing)
        snprintf(missing, sizeof missing, "it is an XRT without its C API (no %s)", symbol);
    return p;
}

static void open_coreutil(void)
{
    const char *root = getenv("XILINX_XRT");
    char path[400];
    if (!root || !*root) {
        snprintf(missing, sizeof missing, "XILINX_XRT is not set: XRT's setup.sh sets it to where XRT is");
        return;
    }
    snprintf(path, sizeof path, "%s/lib/libxrt_coreutil.so.2", root);
    /* The one in XILINX_XRT comes first, as its shim must be of the same version. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = dlopen("libxrt_coreutil.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(missing, sizeof missing, "%s", dlerror());
        return;
    }
#define X(type, name, parameters) *(void **)&xrt.name = find_in_xrt(library, #name);
#include "xrt_syms.def"
#undef X
    /* XRT writes its warnings to the terminal otherwise, and printing is the program's business. */
    if (!*missing)
        xrt.xrtIniStringSet("Runtime.runtime_log", "null");
}

int card_load_library(void)
{
    pthread_once(&once, open_coreutil);
    return *missing ? hcy_fail_vendor(HCY_ENODEV, 0, missing, "there is no usable XRT here") : 0;
}

/* --- The end of the process --- */

/* XRT's own static objects go when the process ends; whoever calls it then, from a thread that still runs, crashes.  So
 * before they go, runs in flight are waited for, for a while, and from then on every call fails here.  What is
 * registered last is called first, and XRT makes its objects one after another: therefore several times. */

static pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER; /* read: a call is under way */
static atomic_bool closed;
static atomic_int in_flight;

#define EXIT_PATIENCE_MS 2000

static void close_gate(void)
{
    const struct timespec tick = { 0, 1000000 };
    for (int i = 0; i < EXIT_PATIENCE_MS && atomic_load(&in_flight) > 0 && !atomic_load(&closed); i++)
        nanosleep(&tick, NULL);
    /* From here on new calls fail; taking the lock for writing waits for those that are still inside. */
    atomic_store(&closed, true);
    pthread_rwlock_wrlock(&gate);
    pthread_rwlock_unlock(&gate);
}

static void close_gate_at_exit(void)
{
    atexit(close_gate);
}

/* Once for each place that it stands in. */
#define AT_EXIT                                                                                              \
    do {                                                                                                     \
        static pthread_once_t registered = PTHREAD_ONCE_INIT;                                                \
        pthread_once(&registered, close_gate_at_exit);                                                       \
    } while (0)

bool card_enter(void)
{
    if (atomic_load(&closed))
        return false;
    /* It may have closed between the first look and the lock. */
    pthread_rwlock_rdlock(&gate);
    if (!atomic_load(&closed))
        return true;
    pthread_rwlock_unlock(&gate);
    return false;
}

void card_leave(void)
{
    pthread_rwlock_unlock(&gate);
}

/* The result of a call, or `otherwise` when the process ends. */
#define CALL(type, otherwise, call)                                                                          \
    type result = otherwise;                                                                                 \
    if (card_enter()) {                                                                                      \
        result = call;                                                                                       \
        card_leave();                                                                                        \
    }

/* --- Cards, units, buffers --- */

void *card_open(const char *bdf)
{
    CALL(void *, NULL, xrt.xrtDeviceOpenByBDF(bdf))
    AT_EXIT;
    return result;
}

bool card_program(void *card, const void *xclbin)
{
    CALL(int, -1, xrt.xrtDeviceLoadXclbin(card, xclbin))
    AT_EXIT;
    return result == 0;
}

void *card_unit_open(void *card, const unsigned char uuid[16], const char *name)
{
    CALL(void *, NULL, xrt.xrtPLKernelOpen(card, uuid, name))
    AT_EXIT;
    return result;
}

void card_unit_close(void *unit)
{
    CALL(int, 0, xrt.xrtKernelClose(unit))
    (void)result;
}

int card_unit_group(void *unit, int argument)
{
    CALL(int, -1, xrt.xrtKernelArgGroupId(unit, argument))
    return result;
}

void *card_buffer(void *card, size_t size, uint32_t group)
{
    CALL(void *, NULL, xrt.xrtBOAlloc(card, size, 0, group))
    AT_EXIT;
    return result;
}

void *card_buffer_of(void *card, void *host, size_t size, uint32_t group)
{
    CALL(void *, NULL, xrt.xrtBOAllocUserPtr(card, host, size, 0, group))
    AT_EXIT;
    return result;
}

void *card_buffer_at_host(void *card, size_t size, uint32_t group)
{
    CALL(void *, NULL, xrt.xrtBOAlloc(card, size, HOST_ONLY, group))
    AT_EXIT;
    return result;
}

void *card_view(void *buffer, size_t size, size_t offset)
{
    CALL(void *, NULL, xrt.xrtBOSubAlloc(buffer, size, offset))
    return result;
}

void card_buffer_free(void *buffer)
{
    CALL(int, 0, xrt.xrtBOFree(buffer))
    (void)result;
}

void *card_buffer_host(void *buffer)
{
    CALL(void *, NULL, xrt.xrtBOMap(buffer))
    return result;
}

bool card_to(void *buffer, size_t offset, size_t size)
{
    CALL(int, -1, xrt.xrtBOSync(buffer, TO_DEVICE, size, offset))
    return result == 0;
}

bool card_from(void *buffer, size_t offset, size_t size)
{
    CALL(int, -1, xrt.xrtBOSync(buffer, FROM_DEVICE, size, offset))
    return result == 0;
}

/* --- Runs --- */

void *card_run_open(void *unit)
{
    CALL(void *, NULL, xrt.xrtRunOpen(unit))
    return result;
}

void card_run_close(void *run)
{
    CALL(int, 0, xrt.xrtRunClose(run))
    (void)result;
}

bool card_run_set_buffer(void *run, int argument, void *buffer)
{
    CALL(int, -1, xrt.xrtRunSetArg(run, argument, buffer))
    return result == 0;
}

bool card_run_set_number(void *run, int argument, uint64_t number)
{
    CALL(int, -1, xrt.xrtRunSetArg(run, argument, number))
    return result == 0;
}

bool card_run_set_real(void *run, int argument, double number)
{
    CALL(int, -1, xrt.xrtRunSetArg(run, argument, number))
    return result == 0;
}

bool card_run_start(void *run)
{
    /* Counted before it starts: a process that ends in between must wait for it. */
    atomic_fetch_add(&in_flight, 1);
    CALL(int, -1, xrt.xrtRunStart(run))
    AT_EXIT;
    /* A run that has not started never ends, and nobody will wait for it. */
    if (result)
        atomic_fetch_sub(&in_flight, 1);
    return result == 0;
}

enum card_state card_run_wait(int *code, void *run, unsigned milliseconds)
{
    CALL(int, ABORTED, xrt.xrtRunWaitFor(run, milliseconds))
    /* At the end of the process the run counts as aborted, so nobody waits for it any longer. */
    *code = result;
    if (result < COMPLETED || (result > ABORTED && result < NO_RESPONSE))
        return CARD_RUNS;
    atomic_fetch_sub(&in_flight, 1);
    return result == COMPLETED ? CARD_DONE : CARD_FAILED;
}
