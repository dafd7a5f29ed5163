/* interrupt.c - SIGINT, SIGTERM and SIGHUP (a terminal that is closed): while they are caught the first ends the run,
 * which cleans up, and the second the process; else the first one does, as SIGPIPE always does.  Either way nothing
 * unfinished stays behind. */
#include "interrupt.h"
#include <halcyon/backend.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static atomic_int interrupted; /* threads read it */
static hcy_pipeline *_Atomic running;
static const char *_Atomic own_files[2];
static pid_t owner; /* a child's end is not that of its parent's files */
static int on_terminal;

/* The end that the signal means; what is unfinished beside outputs goes first. */
static void end_by_signal(int number)
{
    static const char words[] = "halcyon: interrupted\n";
    hcy_output_abandon();
    for (size_t i = 0; i < sizeof own_files / sizeof own_files[0]; i++) {
        const char *path = atomic_load(&own_files[i]);
        if (path && getpid() == owner)
            unlink(path);
    }
    /* Below the line of progress, which is left as it stands: only write() is allowed here. */
    if (number != SIGPIPE && write(STDERR_FILENO, on_terminal ? "\n" : "", (size_t)on_terminal) >= 0)
        (void)!write(STDERR_FILENO, words, sizeof words - 1);
    signal(number, SIG_DFL);
    raise(number);
}

static void note_signal(int number)
{
    hcy_pipeline *pipeline = atomic_load(&running);
    /* Atomics and hcy_pipeline_cancel() are all that is allowed in a handler. */
    if (atomic_exchange(&interrupted, 1))
        end_by_signal(number);
    else if (pipeline)
        hcy_pipeline_cancel(pipeline);
}

/* A SIGHUP that is ignored stays so, with `polite` every signal. */
static void handle(void (*handler)(int), int polite)
{
    /* SIGPIPE ends the process, as it does without us: whoever reads what is printed has enough. */
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
    const size_t n = sizeof numbers / sizeof numbers[0] - (handler != end_by_signal);
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    for (size_t i = 0; i < n; i++)
        /* nohup and shells' background jobs ignore signals on purpose. */
        if (!sigaction(numbers[i], NULL, &before) &&
            (before.sa_handler != SIG_IGN || (!polite && numbers[i] != SIGHUP)))
            sigaction(numbers[i], &action, NULL);
}

void interrupt_catch(void)
{
    handle(note_signal, 0);
}

void interrupt_begin(void)
{
    on_terminal = isatty(STDERR_FILENO);
    handle(end_by_signal, 1);
}

void interrupt_removes(const char *path, const char *other)
{
    owner = getpid();
    atomic_store(&own_files[0], path);
    atomic_store(&own_files[1], other);
}

void interrupt_release(void)
{
    handle(end_by_signal, 1);
    atomic_store(&running, NULL);
}

int interrupt_came(void)
{
    return atomic_load(&interrupted);
}

void interrupt_cancels(hcy_pipeline *pipeline)
{
    atomic_store(&running, pipeline);
    /* A signal between the two may have found no pipeline to cancel. */
    if (atomic_load(&interrupted))
        hcy_pipeline_cancel(pipeline);
}
