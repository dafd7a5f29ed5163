/* near.c - a machine of several nodes has memory, and PCI devices, that some of its processors reach sooner: threads
 * that fill and empty a device's slots run there, and so their memory is made there.
 *
 * Linux says of each PCI device which processors these are (local_cpulist), so no library has to be asked.  On a
 * machine of one node they are all there are, which changes nothing.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include "near.h"

#include <halcyon/backend.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* "0-3,8,10-11" */
static void add_list(struct pipe_near *near, const char *list)
{
    for (char *end; *list; list = *end == ',' ? end + 1 : "") {
        unsigned long first = strtoul(list, &end, 10), last = first;

        if (end == list)
            return;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        for (unsigned long i = first; i <= last && i < PIPE_MOST_PROCESSORS; i++) {
            near->n += !near->is_near[i];
            near->is_near[i] = 1;
        }
    }
}

void hcy__near_add_place(struct pipe_near *near, const char *place, const char *sysfs)
{
    char path[PATH_MAX], list[4096] = "";
    FILE *f;

    snprintf(path, sizeof path, "%s/bus/pci/devices/%s/local_cpulist", sysfs, place);
    if (!(f = fopen(path, "r")))
        return;
    if (fgets(list, sizeof list, f))
        add_list(near, list);
    fclose(f);
}

void hcy__near_add(struct pipe_near *near, hcy_device *device, const char *sysfs)
{
    static const char *const keys[3] = { "pci_domain", "pci_bus", "pci_device" };
    const hcy_error before = *hcy_last_error(); /* that a device says no place is nobody's failure */
    int64_t number[3];
    char place[64];

    for (int i = 0; i < 3; i++)
        if (hcy_device_get_i64(&number[i], device, keys[i])) {
            hcy_fail_again(&before);
            return;
        }
    snprintf(place, sizeof place, "%04llx:%02llx:%02llx.0", (unsigned long long)number[0],
             (unsigned long long)number[1], (unsigned long long)number[2]);
    hcy__near_add_place(near, place, sysfs);
}

void hcy__near_stay(const struct pipe_near *near)
{
#ifdef CPU_COUNT_S
    /* A kernel refuses a set that is smaller than its own, and cpu_set_t alone holds 1024. */
    cpu_set_t may[PIPE_MOST_PROCESSORS / CPU_SETSIZE], both[PIPE_MOST_PROCESSORS / CPU_SETSIZE];
    int n = 0;

    if (!near->n || sched_getaffinity(0, sizeof may, may))
        return;
    CPU_ZERO_S(sizeof both, both);
    for (int i = 0; i < PIPE_MOST_PROCESSORS; i++)
        if (near->is_near[i] && CPU_ISSET_S(i, sizeof may, may)) {
            CPU_SET_S(i, sizeof both, both);
            n++;
        }
    /* It may fail where the set has changed meanwhile: then the thread runs where it did. */
    if (n && n < CPU_COUNT_S(sizeof may, may))
        (void)sched_setaffinity(0, sizeof both, both);
#else
    (void)near;
#endif
}
