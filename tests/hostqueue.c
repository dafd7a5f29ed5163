/* hostqueue.c - the queue for devices that have none: whose time a command's is, the host's or the device's. */
#include "tap.h"

#include <halcyon/backend.h>
#include <halcyon/device.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

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
    check_short(hq);
    hcy_hostqueue_destroy(hq);
    hcy_device_release(dev);
    return done_testing();
}
