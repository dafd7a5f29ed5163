/* bench.h - what benchmarks share: a call that must succeed, and the clock. */
#ifndef BENCH_H
#define BENCH_H

#include <halcyon/status.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CHECK(call) check((call), #call, __LINE__)
static inline void check(int status, const char *what, int line)
{
    if (!status)
        return;
    fprintf(stderr, "line %d: %s: %s (%s) %s\n", line, what, hcy_status_name(status), hcy_last_error()->text,
            hcy_last_error()->vendor);
    exit(1);
}

/* Seconds. */
static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
