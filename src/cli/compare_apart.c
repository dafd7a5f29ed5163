/* compare_apart.c - work in a process of its own, whose result is a JSON object through a pipe.
 *
 * The parent has no device open and no thread, so a fork is all it takes.  A child that a signal ends, or that takes
 * longer than the limit and is killed, leaves an object with an "error", and what it had of it is lost. */
#include "compare.h"
#include "interrupt.h"
#include "timer.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void work_in_child(int to, const struct compare_job *job, compare_work *work, const void *what)
{
    json_t *object = json_object();
    /* The parent cleans up, so signals simply end this process.  Messages of drivers do not belong to the report. */
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    struct sigaction hangup;
    /* Under nohup it is ignored on purpose, here as in the parent. */
    if (!sigaction(SIGHUP, NULL, &hangup) && hangup.sa_handler != SIG_IGN)
        signal(SIGHUP, SIG_DFL);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    /* A trace takes time, and every process would write over the one before. */
    unsetenv("HALCYON_TRACE");
    if (work(object, job, what))
        value_put_text(object, "error", hcy_last_error()->text);
    json_dumpfd(object, to, JSON_COMPACT);
    /* Without exit handlers: what they would do belongs to the parent's state. */
    _exit(0);
}

/* Appends what is there; 1 at the end of it. */
static int take_bytes(char **text, size_t *n, int from)
{
    char piece[65536];
    ssize_t got = read(from, piece, sizeof piece);
    if (got < 0)
        return errno != EINTR;
    char *more = got ? realloc(*text, *n + (size_t)got) : NULL;
    if (!more)
        return 1;
    memcpy(more + *n, piece, (size_t)got);
    *text = more;
    *n += (size_t)got;
    return 0;
}

/* 1 where the child was stopped: by the limit, or as the command was interrupted. */
static int read_child(char **text, size_t *n, int from, double limit)
{
    double end = timer_now() + limit;
    for (;;) {
        struct pollfd waits = { from, POLLIN, 0 };
        double left = end - timer_now();
        if (interrupt_came() || left <= 0)
            return 1;
        /* A signal that comes just before the wait does not end it, so no wait is longer than a second. */
        int ready = poll(&waits, 1, left > 1 ? 1000 : (int)(1000 * left) + 1);
        if (ready > 0 && take_bytes(text, n, from))
            return 0;
    }
}

static json_t *say_failure(const char *fmt, ...) HCY_PRINTF(1, 2);

json_t *compare_apart(const struct compare_job *job, compare_work *work, const void *what)
{
    int ends[2], state = 0;
    char *text = NULL;
    size_t n = 0;
    if (pipe(ends))
        return say_failure("no pipe to a process of its own: errno %d", errno);
    /* What stdio still holds would be in both processes, and might be written twice. */
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        close(ends[0]);
        work_in_child(ends[1], job, work, what);
    }
    close(ends[1]);
    /* As long as this process had its own end of the writing side, the child's end would never show. */
    int stopped = child > 0 && read_child(&text, &n, ends[0], job->values->limit.value);
    close(ends[0]);
    /* A driver that hangs may heed no gentler signal. */
    if (stopped)
        kill(child, SIGKILL);
    while (child > 0 && waitpid(child, &state, 0) < 0 && errno == EINTR)
        ;
    /* Only a child that ended well has written all that it had to say. */
    json_t *object = child > 0 && !stopped && !state ? json_loadb(text, n, 0, NULL) : NULL;
    free(text);
    if (object)
        return object;
    if (child < 0)
        return say_failure("no process of its own: errno %d", errno);
    if (stopped)
        return interrupt_came() ? say_failure("interrupted")
                                : say_failure("stopped after %g s (--limit)", job->values->limit.value);
    if (WIFSIGNALED(state))
        return say_failure("its process was ended by signal %d", WTERMSIG(state));
    return say_failure("its process ended without a result, status %d", WEXITSTATUS(state));
}

static json_t *say_failure(const char *fmt, ...)
{
    char words[200];
    json_t *object = json_object();
    va_list args;
    va_start(args, fmt);
    vsnprintf(words, sizeof words, fmt, args);
    va_end(args);
    value_put_text(object, "error", words);
    return object;
}
