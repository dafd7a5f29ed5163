/* thread.h - threads of the library and its backends, which leave a host's signals alone and compute as if there were
 * no host.  No state; any thread. */
#ifndef HCY_THREAD_H
#define HCY_THREAD_H

#include <fenv.h>
#include <pthread.h>
#include <signal.h>

/* What kernels need of a stack, with room: a host may have set its limit (ulimit -s) to less. */
#define HCY__THREAD_STACK ((size_t)2 << 20)

/* From here on this thread rounds to the nearest, keeps subnormal numbers and raises no exception; fesetenv(before)
 * brings back what the host has set, the flags of what has happened among it. */
static inline void hcy__plain_floats(fenv_t *before)
{
    fegetenv(before);
    fesetenv(FE_DFL_ENV);
}

/* pthread_create() of a thread that the host knows nothing of.  All signals are blocked in it but those that its own
 * instructions raise and SIGPROF, which measures it: any other could run the host's handler there, or end the process
 * where the host waits for it with sigwait().  Its floats are plain, whatever the host's are: results have the same
 * bits in every process.  0, or the number of what failed. */
static inline int hcy__thread_create(pthread_t *thread, void *(*run)(void *), void *payload)
{
    static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF };
    sigset_t all, before;
    pthread_attr_t attr;
    size_t stack = 0;
    fenv_t floats;
    int error = pthread_attr_init(&attr);
    if (error)
        return error;
    if (!pthread_attr_getstacksize(&attr, &stack) && stack < HCY__THREAD_STACK)
        pthread_attr_setstacksize(&attr, HCY__THREAD_STACK);
    sigfillset(&all);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&all, own[i]);
    /* A thread begins with the mask and the floats of who makes it, so there is no moment in which it has others. */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    hcy__plain_floats(&floats);
    error = pthread_create(thread, &attr, run, payload);
    fesetenv(&floats);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return error;
}

#endif
