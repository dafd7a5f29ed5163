/* thread.h - threads of the library and its backends, which leave a host's signals alone.  No state; any thread. */
#ifndef HCY_THREAD_H
#define HCY_THREAD_H

#include <pthread.h>
#include <signal.h>

/* pthread_create() of a thread that the host knows nothing of.  All signals are blocked in it but those that its own
 * instructions raise and SIGPROF, which measures it: any other could run the host's handler there, or end the process
 * where the host waits for it with sigwait().  0, or the number of what failed. */
static inline int hcy__thread_create(pthread_t *thread, void *(*run)(void *), void *payload)
{
    static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF };
    sigset_t all, before;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&all, own[i]);
    /* A thread begins with the mask of who makes it, so there is no moment in which it could get one. */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(thread, NULL, run, payload);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

#endif
