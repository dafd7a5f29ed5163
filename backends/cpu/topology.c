/* topology.c - how many processors are ours: by affinity and by the cgroup's quota, not by the machine. */
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

#define MAX_CORES 4096

static unsigned count_by_affinity(void)
{
#ifdef CPU_COUNT
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof set, &set) && CPU_COUNT(&set) > 0)
        return (unsigned)CPU_COUNT(&set);
#endif
    /* The set may be too small for this machine; then the number that is online has to do. */
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

/* The first line of a file; false if there is none. */
static bool read_first_line(const char *path, char *line, int size)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    bool got = fgets(line, size, f) != NULL;
    fclose(f);
    return got;
}

/* quota / period, rounded up; 0 if there is no quota. */
static unsigned round_quota(double quota, double period)
{
    if (quota <= 0 || period <= 0)
        return 0;
    double n = quota / period;
    if (n < 1)
        return 1;
    return n > MAX_CORES ? 0 : (unsigned)n + (n > (unsigned)n);
}

static unsigned quota_of(const char *group)
{
    char path[PATH_MAX + 64], line[128];
    double quota, period;
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
    if (read_first_line(path, line, sizeof line))
        return sscanf(line, "%lf %lf", &quota, &period) == 2 ? round_quota(quota, period) : 0;
    /* Without the file of version 2 the cgroups may be of version 1. */
    snprintf(path, sizeof path, "/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us", group);
    if (!read_first_line(path, line, sizeof line))
        return 0;
    quota = atof(line);
    snprintf(path, sizeof path, "/sys/fs/cgroup/cpu%s/cpu.cfs_period_us", group);
    return read_first_line(path, line, sizeof line) ? round_quota(quota, atof(line)) : 0;
}

/* The tightest quota from this process's group up to the root; 0 for none. */
static unsigned count_by_cgroup(void)
{
    char line[PATH_MAX], group[PATH_MAX] = "";
    FILE *f = fopen("/proc/self/cgroup", "r");
    while (f && fgets(line, sizeof line, f)) {
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        /* Version 2 names no controllers; in version 1 the group with the CPU's is ours. */
        if (path && (path == controllers + 1 || strstr(controllers, "cpu"))) {
            path[strcspn(path, "\n")] = 0;
            memmove(group, path + 1, strlen(path));
        }
    }
    if (f)
        fclose(f);
    unsigned least = 0;
    for (;;) {
        /* A group is bound by the quotas of all groups above it. */
        unsigned n = quota_of(strcmp(group, "/") ? group : "");
        if (n && (!least || n < least))
            least = n;
        char *slash = strrchr(group, '/');
        if (!slash)
            return least;
        *slash = 0;
    }
}

unsigned cpu_usable(void)
{
    unsigned n = count_by_affinity(), quota = count_by_cgroup();
    return quota && quota < n ? quota : n;
}

/* Appends the processors of one "3" or "0-7". */
static int parse_range(const char **at, unsigned *cores, unsigned *n, const char *text)
{
    char *end;
    unsigned long a = strtoul(*at, &end, 10), b = a;
    /* strtoul() takes signs, which a list must not have. */
    bool good = end != *at && **at != '-' && **at != '+';
    if (good && *end == '-') {
        const char *second = end + 1;
        b = strtoul(second, &end, 10);
        good = end != second && *second != '-' && *second != '+';
    }
    if (!good || b < a || b >= MAX_CORES || (*end && *end != '+') || (*end == '+' && !end[1]))
        return hcy_fail(HCY_EINVAL, "cpu@cores=%s: a list like 0-1+4 is wanted (ranges joined by '+')", text);
    for (unsigned long c = a; c <= b && *n < MAX_CORES; c++)
        cores[(*n)++] = (unsigned)c;
    *at = end + (*end == '+');
    return 0;
}

int cpu_parse_cores(unsigned **cores, unsigned *n, const char *text)
{
    unsigned *list = malloc(MAX_CORES * sizeof *list);
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
#ifdef CPU_COUNT
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set))
        return 0; /* more processors than the set holds: pinning will tell */
    for (unsigned i = 0; i < n; i++)
        if (cores[i] >= CPU_SETSIZE || !CPU_ISSET(cores[i], &set))
            return hcy_fail(HCY_EINVAL, "cpu@cores: processor %u is not among those this process may use",
                            cores[i]);
#else
    (void)cores, (void)n;
#endif
    return 0;
}
