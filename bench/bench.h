/* bench.h - what benchmarks share: the clock, and calls that must succeed. */
#ifndef BENCH_H
#define BENCH_H

#include "cli/timer.h"
#include <halcyon/status.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) bench_check((call), #call, __LINE__)
static inline void bench_check(int status, const char *what, int line)
{
    if (!status)
        return;
    fprintf(stderr, "line %d: %s: %s (%s) %s\n", line, what, hcy_status_name(status), hcy_last_error()->text,
            hcy_last_error()->vendor);
    exit(1);
}

/* A number of the command line, at least this; what was there before stays if the text is none. */
static inline bool bench_number(double *number, const char *text, double least)
{
    char *end;
    const double read = strtod(text, &end);
    if (end == text || *end || !(read >= least && read <= 1e15))
        return false;
    *number = read;
    return true;
}

/* Memory that must be there. */
static inline void *bench_need(void *memory)
{
    if (memory)
        return memory;
    fprintf(stderr, "out of memory\n");
    exit(1);
}

#endif
