/* memory.c - how much memory this process may still take: of the machine's, of its cgroups', of its own limit.  No
 * state; any thread.  Where a file of Linux's is not there, what it would say is no limit. */
#include "hal_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t smaller_limit(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The number behind `key` at the beginning of one of the file's lines, or else `otherwise`; "max" is no number. */
static uint64_t number_in(const char *path, const char *key, uint64_t otherwise)
{
    FILE *f = fopen(path, "r");
    char line[256], *end;
    uint64_t value = otherwise;

    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, key, strlen(key)))
            continue;
        value = strtoull(line + strlen(key), &end, 10);
        value = end == line + strlen(key) ? otherwise : value;
        break;
    }
    if (f)
        fclose(f);
    return value;
}

/* What a group's limit leaves; the file cache goes when memory is asked for.  Version 2 of cgroups, then 1. */
static uint64_t left_in(const char *group)
{
    static const struct {
        const char *root, *limit, *used, *cache;
    } versions[] = { { "", "memory.max", "memory.current", "inactive_file " },
                     { "/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file " } };
    char path[PATH_MAX + 64];
    uint64_t left = UINT64_MAX;

    for (int k = 0; k < 2; k++) {
        int at = snprintf(path, sizeof path, "/sys/fs/cgroup%s%s/", versions[k].root, group);

        snprintf(path + at, sizeof path - (size_t)at, "%s", versions[k].limit);
        uint64_t limit = number_in(path, "", UINT64_MAX);
        snprintf(path + at, sizeof path - (size_t)at, "%s", versions[k].used);
        uint64_t used = number_in(path, "", 0);
        snprintf(path + at, sizeof path - (size_t)at, "memory.stat");
        if (limit < UINT64_MAX)
            left = smaller_limit(left, less(limit, less(used, number_in(path, versions[k].cache, 0))));
    }
    return left;
}

/* What is left in the tightest of this process's groups, up to the root. */
static uint64_t left_in_groups(void)
{
    char group[PATH_MAX];
    uint64_t left = UINT64_MAX;

    hcy__own_cgroup(group, "memory");
    for (char *slash = group; slash; *slash = 0) {
        left = smaller_limit(left, left_in(strcmp(group, "/") ? group : ""));
        slash = strrchr(group, '/');
        if (!slash)
            break;
    }
    return left;
}

/* What is left of the address space, where that is limited. */
static uint64_t left_in_space(void)
{
    struct rlimit limit;
    long page = sysconf(_SC_PAGESIZE);

    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY || page <= 0)
        return UINT64_MAX;
    return less(limit.rlim_cur, number_in("/proc/self/statm", "", 0) * (uint64_t)page);
}

uint64_t hcy_memory_left(void)
{
    uint64_t kib = number_in("/proc/meminfo", "MemAvailable:", UINT64_MAX / 1024);

    return smaller_limit(smaller_limit(kib * 1024, left_in_groups()), left_in_space());
}
