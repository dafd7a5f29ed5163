/* hostqueue.c - the queue for devices that have none: whose time a command's is, the host's or the device's; and what
 * its thread has not of the host; commands that a device orders itself. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_getattr_np, wait4 */
#endif
#include "tap.h"

#include <halcyon/backend.h>
#include <halcyon/device.h>
#include <fenv.h>
#include <float.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

static sem_t go;
static uint64_t told;

/* Runs once an event waits behind it; `ahead` ns from then it says that the device is done.  0: it says nothing. */
static int run(void *command)
{
    const uint64_t *ahead = command;
    uint64_t start = hcy_now_ns();
    sem_wait(&go);
    if (*ahead) {
        told = hcy_now_ns() + *ahead;
        hcy_hostqueue_ran(start, told);
    }
    usleep(3000);
    return 0;
}

/* The time of an event behind such a command; *end: when all was over. */
static uint64_t time_behind(hcy_hostqueue *hq, uint64_t ahead, uint64_t *end)
{
    void *event = NULL;
    uint64_t ns = 0;
    if (hcy_hostqueue_submit(hq, "work", 0, run, &ahead, sizeof ahead, NULL) || hcy_hostqueue_record(&event, hq))
        bail_out("%s", hcy_last_error()->text);
    sem_post(&go);
    if (hcy_hostqueue_finish(hq) || hcy_hostevent_time(&ns, event))
        bail_out("%s", hcy_last_error()->text);
    *end = hcy_now_ns();
    hcy_hostevent_destroy(event);
    return ns;
}

/* Notes the thread that it ran in; *command: what it returns. */
static pthread_t runner;
static int n_ran;
static int run_short(void *command)
{
    runner = pthread_self();
    n_ran++;
    return *(const int *)command;
}

/* Whether a short command ran here, at once: a command that holds the queue up must not be overtaken. */
static void check_short(hcy_hostqueue *hq)
{
    uint64_t nothing = 0;
    int fine = 0, bad = HCY_ELAUNCH;
    ok(!hcy_hostqueue_run_now(hq, "short", 0, run_short, &fine) && n_ran == 1 && pthread_equal(runner, pthread_self()),
       "a short command of an idle queue runs in the caller's thread");
    if (hcy_hostqueue_submit(hq, "work", 0, run, &nothing, sizeof nothing, NULL))
        bail_out("%s", hcy_last_error()->text);
    ok(hcy_hostqueue_run_now(hq, "short", 0, run_short, &fine) == HCY_EUNSUPPORTED && n_ran == 1,
       "none overtakes what is still to run");
    if (hcy_hostqueue_submit(hq, "short", 0, run_short, &fine, sizeof fine, NULL))
        bail_out("%s", hcy_last_error()->text);
    sem_post(&go);
    ok(!hcy_hostqueue_finish(hq) && n_ran == 2 && !pthread_equal(runner, pthread_self()),
       "it is submitted behind that");
    hcy_fail(HCY_ELAUNCH, "an older failure of this thread");
    ok(!hcy_hostqueue_run_now(hq, "short", 0, run_short, &fine) && n_ran == 3 &&
           hcy_last_error()->status == HCY_ELAUNCH && strstr(hcy_last_error()->text, "older"),
       "one that succeeds leaves what the host knows of an older failure");
    ok(!hcy_hostqueue_run_now(hq, "short", 0, run_short, &bad) && n_ran == 4 &&
           !hcy_hostqueue_run_now(hq, "short", 0, run_short, &fine) && n_ran == 4,
       "behind one that failed without a word nothing runs");
    ok(hcy_hostqueue_finish(hq) == HCY_ELAUNCH && strstr(hcy_last_error()->text, "short failed"),
       "and the queue tells of it, not of the older one: %s", hcy_last_error()->text);
}

/* A device with an order of its own: how many of its commands were started and waited for, and how often. */
static int n_started, n_settled, n_settlings, settled_before;
static int start(void *command)
{
    (void)command;
    n_started++;
    return 0;
}
static int settle(void *command)
{
    n_settlings++;
    n_settled = n_started;
    return *(const int *)command;
}
static int look(void *command)
{
    (void)command;
    settled_before = n_settled;
    return 0;
}

static void check_started(hcy_device *dev)
{
    enum { STARTED = 20, AT_ONCE = 16 };
    hcy_hostqueue *hq = NULL;
    uint64_t nothing = 0;
    int status = hcy_hostqueue_create(&hq, dev, NULL), fine = 0, bad = HCY_ELAUNCH;
    /* The first command holds the queue up until all are submitted. */
    if (!status)
        status = hcy_hostqueue_submit(hq, "work", 0, run, &nothing, sizeof nothing, NULL);
    for (int i = 0; i < STARTED && !status; i++)
        status = hcy_hostqueue_start(hq, "start", 0, start, settle, &fine, sizeof fine, NULL);
    if (status || hcy_hostqueue_submit(hq, "look", 0, look, &fine, sizeof fine, NULL))
        bail_out("%s", hcy_last_error()->text);
    sem_post(&go);
    ok(!hcy_hostqueue_finish(hq) && n_started == STARTED && n_settlings == (STARTED - 1) / AT_ONCE + 1,
       "commands that a device orders are waited for together, %d times for %d", n_settlings, n_started);
    is_int(settled_before, STARTED, "and before anything else runs");
    if (hcy_hostqueue_start(hq, "start", 0, start, settle, &bad, sizeof bad, NULL))
        bail_out("%s", hcy_last_error()->text);
    ok(hcy_hostqueue_finish(hq) == HCY_ELAUNCH && strstr(hcy_last_error()->text, "start failed"),
       "one alone is waited for, too, and its failure is the queue's: %s", hcy_last_error()->text);
    ok(!hcy_hostqueue_start(hq, "start", 0, start, settle, &fine, sizeof fine, NULL) &&
           hcy_hostqueue_finish(hq) == HCY_ELAUNCH && n_started == STARTED + 1,
       "after which none is started");
    hcy_hostqueue_destroy(hq);
}

/* What the queue's thread makes of 1 / 3 and of half the smallest normal number, and the room on its stack. */
static float third, half;
static size_t stack;
static int compute(void *command)
{
    volatile float three = 3, small = FLT_MIN;
    pthread_attr_t attr;
    void *begin;
    (void)command;
    third = 1 / three;
    half = small / 2;
#ifdef __linux__
    if (!pthread_getattr_np(pthread_self(), &attr)) {
        pthread_attr_getstack(&attr, &begin, &stack);
        pthread_attr_destroy(&attr);
    }
#else
    (void)attr, (void)begin;
    stack = SIZE_MAX;
#endif
    return 0;
}

/* In a host that rounds down and takes subnormal numbers for 0, where threads have small stacks by default. */
static void check_thread(hcy_device *dev)
{
    hcy_hostqueue *hq = NULL;
    const int nothing = 0;
    fesetround(FE_DOWNWARD);
    feraiseexcept(FE_DIVBYZERO);
#ifdef __SSE__
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);
#endif
#ifdef __linux__
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, (size_t)256 << 10);
    pthread_setattr_default_np(&attr);
    pthread_attr_destroy(&attr);
#endif
    int status = hcy_hostqueue_create(&hq, dev, NULL);
    ok(fegetround() == FE_DOWNWARD && fetestexcept(FE_DIVBYZERO), "making a queue leaves the host's floats as they are");
#ifdef __SSE__
    ok((_mm_getcsr() & 0x8040) == 0x8040, "... and its subnormal numbers");
    _mm_setcsr(before);
#endif
    feclearexcept(FE_ALL_EXCEPT);
    fesetround(FE_TONEAREST);
    if (status || hcy_hostqueue_submit(hq, "work", 0, compute, &nothing, sizeof nothing, NULL) ||
        hcy_hostqueue_finish(hq))
        bail_out("%s", hcy_last_error()->text);
    ok(third == 1.0f / 3 && half > 0, "the queue rounds to the nearest, and keeps subnormal numbers (%a, %a)",
       (double)third, (double)half);
    ok(stack >= (size_t)1 << 20, "and has a stack that kernels fit on (%zu KiB)", stack >> 10);
    hcy_hostqueue_destroy(hq);
}

/* How often the process sleeps that exit() ends in a child, while queues of this one may be on their way out. */
static long sleeps_of_child(hcy_device *dev)
{
    struct rusage used = { 0 };
    for (int i = 0; i < 6; i++) {
        hcy_hostqueue *hq = NULL;
        if (hcy_hostqueue_create(&hq, dev, NULL) || hcy_hostqueue_finish(hq))
            bail_out("no queue: %s", hcy_last_error()->text);
        hcy_hostqueue_destroy(hq);
    }
    fflush(NULL);
    pid_t child = fork();
    if (!child)
        exit(0);
    if (child < 0 || wait4(child, NULL, 0, &used) != child)
        bail_out("no child");
    return used.ru_nvcsw;
}

/* Nobody ends a queue in a child, so it does not wait for that, which it would do by sleeping again and again. */
static void check_forked(hcy_device *dev)
{
    enum { TIMES = 40, MANY = 100 };
    long sleeps = 0;
    if (TAP_ADDRESS_SANITIZER || TAP_THREAD_SANITIZER) {
        skip(1, "a sanitizer's own work at the end of a child may wait for threads that are not there");
        return;
    }
    for (int i = 0; i < TIMES && sleeps < MANY; i++)
        sleeps = sleeps_of_child(dev);
    ok(sleeps < MANY, "a child that ends does not wait for its parent's queues (it slept %ld times)", sleeps);
}

int main(void)
{
    hcy_device *dev = NULL;
    hcy_hostqueue *hq = NULL;
    void *event = NULL;
    uint64_t end, ns, before;
    if (hcy_device_open(&dev, "cpu@threads=1") || hcy_hostqueue_create(&hq, dev, NULL) || sem_init(&go, 0, 0))
        bail_out("no queue: %s", hcy_last_error()->text);
    ns = time_behind(hq, 1, &end);
    ok(ns == told && ns < end, "an event behind a command has the time at which the device ended it");
    before = hcy_now_ns();
    if (hcy_hostqueue_record(&event, hq) || hcy_hostqueue_finish(hq) || hcy_hostevent_time(&ns, event))
        bail_out("%s", hcy_last_error()->text);
    ok(ns >= before, "one that is recorded later, that of its turn");
    hcy_hostevent_destroy(event);
    before = hcy_now_ns();
    ns = time_behind(hq, 0, &end);
    ok(ns >= before && ns <= end && ns != told, "and the host's where the next command says nothing");
    ns = time_behind(hq, 3600000000000u, &end);
    ok(ns >= before && ns <= end, "or what cannot be");
    check_started(dev);
    check_short(hq);
    hcy_hostqueue_destroy(hq);
    check_thread(dev);
    check_forked(dev);
    hcy_device_release(dev);
    return done_testing();
}
