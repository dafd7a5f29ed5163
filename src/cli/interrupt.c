/* interrupt.c - SIGINT, SIGTERM and SIGHUP (a terminal that is closed): the first ends the run and keeps what is
 * written, the second the process.  A SIGHUP that is ignored (nohup) stays so. */
#include "interrupt.h"
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

static atomic_int interrupted; /* threads read it */
static hcy_pipeline *_Atomic running;

static void note(int number)
{
    hcy_pipeline *pipeline = atomic_load(&running);
    (void)number;
    atomic_store(&interrupted, 1);
    if (pipeline)
        hcy_pipeline_cancel(pipeline);
}

static void handle(void (*handler)(int))
{
    struct sigaction action, hangup;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = (int)SA_RESETHAND;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
}

void interrupt_catch(void)
{
    handle(note);
}

void interrupt_release(void)
{
    handle(SIG_DFL);
    atomic_store(&running, NULL);
}

int interrupt_came(void)
{
    return atomic_load(&interrupted);
}

void interrupt_cancels(hcy_pipeline *pipeline)
{
    atomic_store(&running, pipeline);
    if (atomic_load(&interrupted))
        hcy_pipeline_cancel(pipeline);
}
