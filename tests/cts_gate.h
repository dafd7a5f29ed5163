/* cts_gate.h - commands that run as long as a test wants, and commands that fail: to test asynchrony with.
 *
 * Both come from CPU devices of their own, through the user's C functions, and reach the device under test by
 * events: so they work for every backend.  A gate that nobody opens opens by itself after a while, and a hang
 * becomes a failure.
 */
#ifndef HCY_TESTS_CTS_GATE_H
#define HCY_TESTS_CTS_GATE_H

#include "cts.h"

#include <halcyon/cpu.h>

#include <errno.h>
#include <pthread.h>
#include <time.h>

#define CTS_GATE_S 10

/* A device that is known to wait on the host need not be waited for that long. */
static inline bool cts_waits_on_host(void)
{
    return strstr(cts_spec, "wait=host") != NULL;
}

struct cts_gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool entered, open, expired;
    hcy_device *dev;
    hcy_queue *queue;
    hcy_program *program;
    hcy_kernel *kernel;
    hcy_event *event; /* completes when the gate is opened */
};

static inline uint64_t cts_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * CTS_SECOND + (uint64_t)t.tv_nsec;
}
static inline void cts_sleep_ms(long ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000 };
    while (nanosleep(&t, &t) && errno == EINTR)
        ;
}

static int cts_gate_stand(const hcy_cpu_group *group, void *const *args)
{
    struct cts_gate *g = (struct cts_gate *)(uintptr_t) * (const uint64_t *)args[0];
    struct timespec until;
    (void)group;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += cts_waits_on_host() ? 1 : CTS_GATE_S;
    pthread_mutex_lock(&g->lock);
    g->entered = true;
    pthread_cond_broadcast(&g->changed);
    while (!g->open && !g->expired)
        g->expired = pthread_cond_timedwait(&g->changed, &g->lock, &until) == ETIMEDOUT;
    pthread_mutex_unlock(&g->lock);
    return 0;
}

static inline int cts_launch_function(hcy_queue *queue, hcy_kernel *kernel, void *context)
{
    const hcy_grid grid = { { 1, 1, 1 }, { 1, 1, 1 }, 0 };
    hcy_arg arg = hcy_arg_u64((uint64_t)(uintptr_t)context);
    return hcy_launch_grid(queue, kernel, &grid, &arg, 1);
}

/* A C function as a kernel of `dev`, a CPU. */
static inline int cts_function(hcy_kernel **kernel, hcy_device *dev, hcy_cpu_fn fn)
{
    const hcy_cpu_function table = { "f", fn };
    hcy_program *program = NULL;
    int status = hcy_program_create(&program, dev, HCY_CPU_FUNCTIONS, &table, sizeof table, NULL);
    if (!status)
        status = hcy_program_kernel(kernel, program, "f", NULL);
    hcy_program_release(program);
    return status;
}

/* A closed gate; opened by cts_gate_open(). */
static inline struct cts_gate *cts_gate_new(void)
{
    struct cts_gate *g = calloc(1, sizeof *g);
    if (!g)
        bail_out("out of memory");
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
    g->dev = cts_open_spec("cpu@threads=1");
    g->queue = cts_queue(g->dev);
    if (cts_function(&g->kernel, g->dev, cts_gate_stand) || cts_launch_function(g->queue, g->kernel, g) ||
        hcy_event_record(&g->event, g->queue))
        bail_out("no gate: %s", hcy_last_error()->text);
    pthread_mutex_lock(&g->lock);
    if (g->expired)
        bail_out("a launch on the CPU does not return before it has run");
    pthread_mutex_unlock(&g->lock);
    return g;
}

/* What is submitted to `queue` from now on waits for the gate.  False if this call itself waited for it: the
 * HAL does that for a device that cannot wait for another's events, and then there is nothing to see. */
static inline bool cts_gate_hold(struct cts_gate *g, hcy_queue *queue)
{
    if (hcy_queue_wait(queue, g->event))
        bail_out("a queue cannot wait for an event: %s", hcy_last_error()->text);
    pthread_mutex_lock(&g->lock);
    bool asynchronous = !g->expired;
    pthread_mutex_unlock(&g->lock);
    if (!asynchronous && (cts_is("cpu") || cts_is("null")) && !cts_waits_on_host())
        ok(false, "%s waits for events of other devices in its queue", cts_spec);
    return asynchronous;
}
#define CTS_GATE_SKIP "this device waits on the host for events of other devices"

static inline void cts_gate_open(struct cts_gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->open = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

/* True if nobody opened it in time: something waited that should not have. */
static inline bool cts_gate_expired(struct cts_gate *g)
{
    pthread_mutex_lock(&g->lock);
    bool expired = g->expired;
    pthread_mutex_unlock(&g->lock);
    return expired;
}

static inline void cts_gate_free(struct cts_gate *g)
{
    cts_gate_open(g);
    if (hcy_queue_finish(g->queue))
        bail_out("a gate failed: %s", hcy_last_error()->text);
    hcy_event_release(g->event);
    hcy_kernel_release(g->kernel);
    hcy_queue_release(g->queue);
    hcy_device_release(g->dev);
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

/* --- Failures --- */

static int cts_return(const hcy_cpu_group *group, void *const *args)
{
    (void)group;
    return (int)*(const uint64_t *)args[0];
}

/* An event that carries HCY_ELAUNCH, and `code` in its words. */
static inline hcy_event *cts_failed_event(int code)
{
    hcy_device *dev = cts_open_spec("cpu@threads=1");
    hcy_queue *queue = cts_queue(dev);
    hcy_kernel *kernel = NULL;
    hcy_event *event = NULL;
    if (cts_function(&kernel, dev, cts_return) ||
        cts_launch_function(queue, kernel, (void *)(uintptr_t)code) || hcy_event_record(&event, queue))
        bail_out("no failing command: %s", hcy_last_error()->text);
    hcy_kernel_release(kernel);
    hcy_queue_release(queue);
    hcy_device_release(dev);
    return event;
}

#endif
