/* list.c - which OpenCL devices there are.
 *
 * Asking a platform for its devices loads its driver, starts threads in some, and leaves others unusable after a
 * fork.  So the list is made once, in a child of this process that ends at once; a driver that crashes or hangs does
 * so there.  Only opening a device asks the platforms in this process.  Thread-safe.
 */
#include "cl_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PLATFORMS 16
#define MAX_DEVICES   64
#define PATIENCE_NS   ((uint64_t)30000000000u)

uint64_t cl_number(cl_device_id device, cl_uint what)
{
    union {
        uint64_t large;
        uint32_t small;
    } value = { 0 };
    size_t size = 0;
    /* OpenCL has numbers of 4 and of 8 bytes, and the size that comes back tells which one this is. */
    if (cl.clGetDeviceInfo(device, what, sizeof value, &value, &size))
        return 0;
    return size == sizeof value.small ? value.small : value.large;
}

void cl_text(cl_device_id device, cl_uint what, char *text, size_t size)
{
    size_t needed = 0;
    *text = 0;
    char *all = cl.clGetDeviceInfo(device, what, 0, NULL, &needed) ? NULL : malloc(needed + 1);
    if (all && !cl.clGetDeviceInfo(device, what, needed, all, NULL)) {
        all[needed] = 0;
        snprintf(text, size, "%s", all);
    }
    free(all);
}

static int kind_of_device(cl_device_id device)
{
    uint64_t type = cl_number(device, CL_DEVICE_TYPE);
    if (type & CL_DEVICE_TYPE_GPU)
        return HCY_KIND_GPU;
    return type & CL_DEVICE_TYPE_CPU ? HCY_KIND_CPU : HCY_KIND_OTHER;
}

static uint32_t caps_of(const struct cl_found *f)
{
    uint32_t caps = HCY_CAP_IMPORT_DEVICE | HCY_CAP_PROGRAMS | HCY_CAP_FFT;
    if (cl_number(f->device, CL_DEVICE_DOUBLE_FP_CONFIG))
        caps |= HCY_CAP_F64;
    if (f->quirk->shared)
        caps |= HCY_CAP_HOST_MEMORY | HCY_CAP_MAPPED | HCY_CAP_IMPORT_HOST;
    /* The backend cpu drives the processors, whatever the platform is called. */
    if (f->quirk->second || kind_of_device(f->device) == HCY_KIND_CPU)
        caps |= HCY_CAP_SECOND;
    return caps;
}

/* `number` counts all devices, `of_nick` those of platforms of its name. */
static void describe_found(struct cl_found *f, size_t number, size_t of_nick)
{
    char name[80], version[40];
    hcy_device_info *info = &f->info;
    cl_text(f->device, CL_DEVICE_NAME, name, sizeof name);
    cl_text(f->device, CL_DEVICE_VERSION, version, sizeof version);
    *info = (hcy_device_info){ .backend = "opencl", .kind = kind_of_device(f->device), .caps = caps_of(f) };
    info->units = (uint32_t)cl_number(f->device, CL_DEVICE_MAX_COMPUTE_UNITS);
    info->memory = cl_number(f->device, CL_DEVICE_GLOBAL_MEM_SIZE);
    snprintf(info->name, sizeof info->name, "opencl:%zu", number);
    snprintf(info->stable, sizeof info->stable, "opencl:%s/%zu", f->quirk->nick, of_nick);
    snprintf(info->description, sizeof info->description, "%s (%s, %.10s)", name, f->quirk->nick, version);
}

static size_t count_nick(const struct cl_found *found, size_t n, const struct cl_quirk *quirk)
{
    size_t same = 0;
    for (size_t i = 0; i < n; i++)
        same += found[i].quirk == quirk;
    return same;
}

static void find_of_platform(cl_platform_id platform, struct cl_found *found, size_t *n)
{
    cl_device_id devices[MAX_DEVICES];
    cl_uint count = 0;
    char name[120] = "";
    cl.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
    if (cl.clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &count))
        return; /* a driver without a device, or one that fails: not there */
    /* Numbers count what was found before, so a device keeps its number as long as the drivers are the
     * same. */
    for (cl_uint i = 0; i < count && i < MAX_DEVICES && *n < MAX_DEVICES; i++) {
        struct cl_found *f = &found[*n];
        *f = (struct cl_found){ .platform = platform, .device = devices[i], .quirk = cl_quirk_of(name) };
        describe_found(f, *n, count_nick(found, *n, f->quirk));
        (*n)++;
    }
}

static int find_all(struct cl_found **found, size_t *n)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint count = 0;
    *n = 0;
    /* The loader without drivers is usual on machines without GPUs, and gets a reason of its own. */
    cl_int code = cl.clGetPlatformIDs(MAX_PLATFORMS, platforms, &count);
    if (code == CL_PLATFORM_NOT_FOUND_KHR || (!code && !count))
        return hcy_fail(HCY_ENODEV, "OpenCL's loader is here, and no driver for it (/etc/OpenCL/vendors)");
    int status = cl_check(NULL, code, "asking for the platforms");
    if (status)
        return status;
    *found = calloc(MAX_DEVICES, sizeof **found);
    if (!*found)
        return hcy_fail(HCY_ENOMEM, "out of memory for the list of devices");
    for (cl_uint i = 0; i < count && i < MAX_PLATFORMS; i++)
        find_of_platform(platforms[i], *found, n);
    return 0;
}

/* Drivers that are asked for the first time by two threads at once crash, or say that they have no device. */
int cl_find(struct cl_found **found, size_t *n)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    const int status = find_all(found, n);
    pthread_mutex_unlock(&lock);
    return status;
}

/* --- In a child --- */

struct listed {
    hcy_error error; /* status 0: none */
    size_t n;
    hcy_device_info infos[MAX_DEVICES];
};

/* Drivers may print of their own accord; here they shall not. */
static void be_quiet(void)
{
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3 && null >= 0; fd++)
        dup2(null, fd);
}

static void tell_parent(int to)
{
    struct listed *l = calloc(1, sizeof *l);
    struct cl_found *found = NULL;
    if (!l)
        return;
    if (find_all(&found, &l->n))
        l->error = *hcy_last_error();
    for (size_t i = 0; i < l->n; i++)
        l->infos[i] = found[i].info;
    /* The structure goes through the pipe as it is, because the child is the same program. */
    const char *p = (const char *)l;
    for (size_t left = sizeof *l; left;) {
        ssize_t written = write(to, p, left);
        if (written <= 0)
            return;
        p += written;
        left -= (size_t)written;
    }
}

/* The child's answer, or what it lacks of one at its end. */
static size_t hear_child(int from, struct listed *l)
{
    uint64_t until = hcy_now_ns() + PATIENCE_NS;
    size_t got = 0;
    while (got < sizeof *l) {
        uint64_t now = hcy_now_ns();
        struct pollfd fd = { .fd = from, .events = POLLIN };
        /* A driver may hang for ever; the limit is far above what slow ones take to start. */
        int ready = now < until ? poll(&fd, 1, (int)((until - now) / 1000000 + 1)) : 0;
        if (ready < 0 && errno == EINTR)
            continue;
        ssize_t n = ready > 0 ? read(from, (char *)l + got, sizeof *l - got) : 0;
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    return sizeof *l - got;
}

static int ask_child(struct listed *l)
{
    int ends[2], low[2];
    if (pipe(low))
        return hcy_fail_vendor(HCY_EBACKEND, errno, "pipe",
                               "OpenCL's devices cannot be listed: no more files can be opened");
    /* Above the numbers that be_quiet() takes: where the host has closed its own they are the first that are free. */
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1); /* others' programs would keep the pipe open */
        close(low[i]);
    }
    if (ends[0] < 0 || ends[1] < 0) {
        for (int i = 0; i < 2; i++)
            if (ends[i] >= 0)
                close(ends[i]);
        return hcy_fail(HCY_EBACKEND, "OpenCL's devices cannot be listed: no more files can be opened");
    }
    pid_t child = fork();
    /* The child leaves without exit handlers, because those of the parent's libraries are not its own. */
    if (child == 0) {
        be_quiet();
        tell_parent(ends[1]);
        _Exit(0);
    }
    /* The reader hears the end only once nobody else holds this one. */
    close(ends[1]);
    size_t lacks = child < 0 ? sizeof *l : hear_child(ends[0], l);
    close(ends[0]);
    if (child > 0) {
        /* A driver that hangs would keep the child, and waitpid() would then wait for ever. */
        if (lacks)
            kill(child, SIGKILL);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (lacks)
        return hcy_fail(HCY_EBACKEND,
                        child < 0 ? "OpenCL's devices cannot be listed: no process can be made"
                                  : "an OpenCL driver crashes or hangs when it is asked for its devices");
    return l->error.status ? hcy_fail_again(&l->error) : 0;
}

int cl_list(hcy_device_info **infos, size_t *n)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct listed *answer; /* of the first time that there was one */
    int status = 0;
    pthread_mutex_lock(&lock);
    /* Only a good answer is kept: a failure may be gone at the next call. */
    struct listed *l = answer ? answer : calloc(1, sizeof *l);
    if (!l)
        status = hcy_fail(HCY_ENOMEM, "out of memory for the list of devices");
    else if (!answer && (status = ask_child(l)))
        free(l);
    else
        answer = l;
    pthread_mutex_unlock(&lock);
    if (status)
        return status;
    *infos = malloc((l->n + 1) * sizeof **infos);
    if (!*infos)
        return hcy_fail(HCY_ENOMEM, "out of memory for the list of devices");
    /* The caller frees its list, so it gets a copy. */
    memcpy(*infos, l->infos, l->n * sizeof **infos);
    *n = l->n;
    return 0;
}
