/* topology.c - the processors that a device's selector names, and where a thread runs. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "cpu_priv.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Appends the processors of one "3" or "0-7". */
static int parse_range(const char **at, unsigned *cores, unsigned *n, const char *text)
{
    char *end;
    unsigned long a = strtoul(*at, &end, 10), b = a;
    /* strtoul() takes blanks and signs, which a list must not have. */
    bool good = is_digit(**at);
    if (good && *end == '-') {
        const char *second = end + 1;
        b = strtoul(second, &end, 10);
        good = is_digit(*second);
    }
    if (!good || b < a || b >= CPU_MOST_CORES || (*end && *end != '+') || (*end == '+' && !end[1]))
        return hcy_fail(HCY_EINVAL, "cpu@cores=%s: a list like 0-1+4 is wanted (ranges joined by '+')", text);
    for (unsigned long c = a; c <= b && *n < CPU_MOST_CORES; c++)
        cores[(*n)++] = (unsigned)c;
    *at = end + (*end == '+');
    return 0;
}

int cpu_parse_cores(unsigned **cores, unsigned *n, const char *text)
{
    unsigned *list = malloc(CPU_MOST_CORES * sizeof *list);
    int status = list ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for a list of cores");
    *n = 0;
    if (!status && !*text)
        status = hcy_fail(HCY_EINVAL, "cpu@cores= names no core");
    for (const char *at = text; !status && *at;)
        status = parse_range(&at, list, n, text);
    if (status)
        free(list);
    else
        *cores = list;
    return status;
}

int cpu_check_cores(const unsigned *cores, unsigned n)
{
#ifdef CPU_COUNT_S
    cpu_set_t set[CPU_MOST_CORES / CPU_SETSIZE];
    if (sched_getaffinity(0, sizeof set, set))
        return 0; /* more processors than the set holds: nobody can tell */
    for (unsigned i = 0; i < n; i++)
        if (!CPU_ISSET_S(cores[i], sizeof set, set))
            return hcy_fail(HCY_EINVAL, "cpu@cores: processor %u is not among those this process may use",
                            cores[i]);
#else
    (void)cores, (void)n;
#endif
    return 0;
}
