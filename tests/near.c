/* near - threads that stay near a device: what Linux says of a place on the PCI bus, here in a folder of the test's,
 * and what becomes of a thread's affinity, which never grows. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "near.h"
#include "tap.h"

#include <errno.h>
#include <halcyon/backend.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/halcyon_near_XXXXXX";

/* A machine with a device at this place, and the processors near it. */
static void put_device(const char *place, const char *list)
{
    static const char *const folders[] = { "bus", "bus/pci", "bus/pci/devices" };
    char path[256];

    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        mkdir(path, 0755);
    }
    snprintf(path, sizeof path, "%s/bus/pci/devices/%s", root, place);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/bus/pci/devices/%s/local_cpulist", root, place);
    FILE *f = fopen(path, "w");
    if (!f || fputs(list, f) < 0 || fclose(f))
        bail_out("no file %s", path);
}

static void remove_all(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -r %s", root);
    if (system(command))
        diag("%s is left behind", root);
}

static size_t count_near(const char *list, int first, int last)
{
    struct pipe_near near = { 0 };
    size_t in = 0;

    put_device("0000:3b:00.0", list);
    hcy__near_add_place(&near, "0000:3b:00.0", root);
    for (int i = first; i <= last; i++)
        in += near.is_near[i];
    return in == near.n ? in : 9999;
}

static void test_lists(void)
{
    is_int(count_near("0-3,8,10-11\n", 0, 11), 7, "a list of ranges and single processors");
    is_int(count_near("5\n", 5, 5), 1, "one processor");
    is_int(count_near("1-2,2-3\n", 1, 3), 3, "processors named twice count once");
    is_int(count_near("\n", 0, 0), 0, "an empty list, as of a virtual machine");
    is_int(count_near("x-3\n", 0, 3), 0, "what is no list");
    is_int(count_near("1000-18446744073709551615,70000\n", 1000, PIPE_MOST_PROCESSORS - 1),
           PIPE_MOST_PROCESSORS - 1000, "numbers beyond all");
    struct pipe_near near = { 0 };
    hcy__near_add_place(&near, "0000:ff:00.0", root);
    is_int((int64_t)near.n, 0, "a place where nothing is");
}

struct stay {
    const struct pipe_near *near;
    cpu_set_t before, after;
    int moved;
};

/* In a thread of its own, whose affinity ends with it. */
static void *stay_near(void *arg)
{
    struct stay *s = arg;

    s->moved = sched_setaffinity(0, sizeof s->before, &s->before);
    hcy__near_stay(s->near);
    sched_getaffinity(0, sizeof s->after, &s->after);
    return NULL;
}

/* Which processors are left to a thread that may use the first `n_may` of `own`, near to a device with `list`. */
static cpu_set_t left_of(const int *own, int n_may, const struct pipe_near *near)
{
    struct stay s = { .near = near };
    pthread_t thread;

    CPU_ZERO(&s.before);
    for (int i = 0; i < n_may; i++)
        CPU_SET(own[i], &s.before);
    if (pthread_create(&thread, NULL, stay_near, &s))
        bail_out("no thread");
    pthread_join(thread, NULL);
    if (s.moved)
        bail_out("this thread cannot be given its own processors");
    return s.after;
}

static void test_threads(void)
{
    struct pipe_near first = { 0 }, both = { 0 }, none = { 0 };
    int own[2], n = 0;
    cpu_set_t may, left;
    char list[64];

    sched_getaffinity(0, sizeof may, &may);
    for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
        if (CPU_ISSET(i, &may))
            own[n++] = i;
    if (n < 2) {
        skip(5, "this process may use one processor alone");
        return;
    }
    snprintf(list, sizeof list, "%d\n", own[0]);
    put_device("0000:3b:00.0", list);
    hcy__near_add_place(&first, "0000:3b:00.0", root);
    snprintf(list, sizeof list, "%d\n", own[1]);
    put_device("0000:af:00.0", list);
    hcy__near_add_place(&both, "0000:3b:00.0", root);
    hcy__near_add_place(&both, "0000:af:00.0", root);

    left = left_of(own, 2, &first);
    ok(CPU_COUNT(&left) == 1 && CPU_ISSET(own[0], &left), "of two processors the one that is near");
    left = left_of(own, 2, &both);
    is_int(CPU_COUNT(&left), 2, "where devices of two nodes are served, those of both");
    left = left_of(own, 2, &none);
    is_int(CPU_COUNT(&left), 2, "a device that says no place changes nothing");
    left = left_of(own + 1, 1, &first);
    ok(CPU_COUNT(&left) == 1 && CPU_ISSET(own[1], &left), "a user's affinity without any near one stays");
    left = left_of(own, 1, &both);
    ok(CPU_COUNT(&left) == 1 && CPU_ISSET(own[0], &left), "and one with some does not grow");
}

/* --- A machine of 2048 processors, of which this process may use two --- */

enum { PROCESSORS = 2048, OURS = 1500 };
static int is_large, n_tied, n_staying;
int __real_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __real_pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set);
int __wrap_pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set);

/* As Linux does, which takes no smaller set than its own. */
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    if (!is_large)
        return __real_sched_getaffinity(pid, size, set);
    errno = EINVAL;
    if (size < PROCESSORS / 8)
        return -1;
    CPU_ZERO_S(size, set);
    CPU_SET_S(OURS, size, set);
    CPU_SET_S(OURS + 1, size, set);
    return 0;
}

int __real_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set);
int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set);
int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
    if (!is_large)
        return __real_sched_setaffinity(pid, size, set);
    n_staying += CPU_COUNT_S(size, set) == 1 && CPU_ISSET_S(OURS, size, set);
    return 0;
}

int __wrap_pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set)
{
    if (!is_large)
        return __real_pthread_setaffinity_np(thread, size, set);
    n_tied += CPU_COUNT_S(size, set) == 1 && CPU_ISSET_S(OURS, size, set);
    return 0;
}

static void test_large_machine(void)
{
    struct pipe_near near = { .n = 1 };
    hcy_device *cpu = NULL;

    is_large = 1;
    is_int(hcy_processors(), 2, "of 2048 processors this process may use two");
    near.is_near[OURS] = 1;
    hcy__near_stay(&near);
    is_int(n_staying, 1, "a thread stays on the one that is near a device");
    is_int(hcy_device_open(&cpu, "cpu@cores=7"), HCY_EINVAL, "others are refused");
    is_int(hcy_device_open(&cpu, "cpu@cores=1500@threads=2"), 0, "its own is taken");
    is_int(n_tied, 1, "and the pool's thread is tied to it");
    hcy_device_release(cpu);
    is_large = 0;
}

static void test_device_without_place(void)
{
    struct pipe_near near = { 0 };
    hcy_device *cpu = NULL;
    ok(!hcy_device_open(&cpu, "cpu"), "a device without a place");
    hcy_fail(HCY_EIO, "before");
    hcy__near_add(&near, cpu, root);
    ok(!near.n && hcy_last_error()->status == HCY_EIO, "adds none, and leaves the last failure as it was");
    hcy_device_release(cpu);
}

int main(void)
{
    if (!mkdtemp(root))
        bail_out("no folder in /tmp");
    test_lists();
    test_threads();
    test_large_machine();
    test_device_without_place();
    remove_all();
    return done_testing();
}
