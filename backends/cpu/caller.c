/* caller.c - whether a kernel may run in the thread of whoever launches it, which is the host's: it may have a small
 * stack, and may round in a way of its own, where the queue's thread has neither.  State: what a thread's stack is, of
 * each thread.  Any thread. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_getattr_np */
#endif
#include "cpu_priv.h"

#include <pthread.h>

#ifdef HCY_CPU_X86
#include <xmmintrin.h>
#else
#include <fenv.h>
#include <float.h>
#endif

/* Small kernels have their registers there: twice those of a program with all that it may have. */
#define STACK_NEEDED ((size_t)512 << 10)

static bool has_plain_floats(void)
{
#ifdef HCY_CPU_X86
    /* All but the flags of what has happened: rounding, subnormal numbers as 0, and which exceptions are raised. */
    return (_mm_getcsr() & 0xffc0u) == 0x1f80u;
#else
    /* A host may take subnormal numbers for 0, which is what its comparison then sees. */
    static const volatile float least = FLT_TRUE_MIN;
    return fegetround() == FE_TONEAREST && least > 0;
#endif
}

#ifdef __linux__
static _Thread_local struct {
    uintptr_t begin, end; /* end 0: not asked yet; 1: not known */
} stack;

static void find_stack(void)
{
    pthread_attr_t attr;
    void *begin;
    size_t size;
    stack.end = 1;
    if (pthread_getattr_np(pthread_self(), &attr))
        return;
    if (!pthread_attr_getstack(&attr, &begin, &size)) {
        stack.begin = (uintptr_t)begin;
        stack.end = stack.begin + size;
    }
    pthread_attr_destroy(&attr);
}

static bool has_stack(void)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    /* Once a thread, as for the first one a file of the system's is read. */
    if (!stack.end)
        find_stack();
    /* A host's coroutine runs on memory of its own, of which nothing is known. */
    return here > stack.begin && here < stack.end && here - stack.begin >= STACK_NEEDED;
}
#else
static bool has_stack(void)
{
    return false; /* nobody says, and a hand-over is only slower */
}
#endif

bool cpu_caller_fits(void)
{
    return has_plain_floats() && has_stack();
}
