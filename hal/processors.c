/* processors.c - how many processors are ours: by affinity and by the cgroups' quotas, not by the machine.  No state;
 * any thread. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "hal_priv.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 4096 /* processors; a quota of more is none */

static unsigned count_by_affinity(void)
{
#ifdef CPU_COUNT_S
    /* A kernel refuses a set that is smaller than its own, and cpu_set_t alone holds 1024. */
    cpu_set_t set[MOST / CPU_SETSIZE];
    if (!sched_getaffinity(0, sizeof set, set) && CPU_COUNT_S(sizeof set, set) > 0)
        return (unsigned)CPU_COUNT_S(sizeof set, set);
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

/* quota / period rounded up; 0 for none. */
static unsigned round_quota(double quota, double period)
{
    if (quota <= 0 || period <= 0)
        return 0;
    double n = quota / period;
    if (n < 1)
        return 1;
    return n > MOST ? 0 : (unsigned)n + (n > (unsigned)n);
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

/* Is `name` one of the names with commas, up to the colon?  "cpuset" is another controller than "cpu". */
static bool names_controller(const char *controllers, const char *name)
{
    for (;; controllers++) {
        size_t n = strcspn(controllers, ",:");
        if (n == strlen(name) && !strncmp(controllers, name, n))
            return true;
        controllers += n;
        if (*controllers != ',')
            return false;
    }
}

void hcy__own_cgroup(char group[PATH_MAX], const char *controller)
{
    char line[PATH_MAX];
    bool is_named = false;
    FILE *f = fopen("/proc/self/cgroup", "r");
    *group = 0;
    while (f && fgets(line, sizeof line, f)) {
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        const bool names = path && names_controller(controllers + 1, controller);
        /* Version 2 names no controllers, and has those that no hierarchy of version 1 has: both may be mounted. */
        if (names || (path && path == controllers + 1 && !is_named)) {
            path[strcspn(path, "\n")] = 0;
            memmove(group, path + 1, strlen(path));
            is_named = names;
        }
    }
    if (f)
        fclose(f);
}

/* The tightest quota from this process's group up to the root; 0 for none. */
static unsigned count_by_cgroup(void)
{
    char group[PATH_MAX];
    unsigned least = 0;
    hcy__own_cgroup(group, "cpu");
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

unsigned hcy_processors(void)
{
    unsigned n = count_by_affinity(), quota = count_by_cgroup();
    return quota && quota < n ? quota : n;
}
