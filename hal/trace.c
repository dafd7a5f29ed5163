/* trace.c - the timeline HALCYON_TRACE=FILE asks for, in Chrome's trace format (chrome://tracing, perfetto).
 *
 * The file is valid JSON after every span: each one is written over the closing bracket, which is written again
 * behind it.  It has its name from the beginning, as it is wanted most of what did not come to its end.  Of
 * several processes that are given one name, all but the first add their number to it.  One process
 * row a device, one thread row a queue; the host's threads are rows of one process more.  Thread-safe; off, it costs
 * one atomic load.
 *
 * Beside the file a profiler may be attached: it gets the commands' names while they are run, or submitted, since its
 * clock is its own.
 */
#include "hal_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LANES 256
#define HOST      MAX_LANES /* the process of the host's threads; devices have those below it */
static const char tail[] = "\n]\n";

/* A queue's row, and what its spans are about: frames first to first + n - 1, 0: nobody has said. */
struct lane {
    const void *key;
    uint64_t first, n;
};
/* A row of the host's, which threads that do the same have one after the other. */
struct row {
    char name[32];
    bool taken;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool on;
static FILE *file;
static const hcy_device *devices[MAX_LANES];
static char names[MAX_LANES][sizeof ((hcy_device_info *)0)->name]; /* of devices, as they were named */
static struct lane lanes[MAX_LANES];
static struct row rows[MAX_LANES];
static size_t n_devices, n_lanes, n_rows;
static bool first = true;
static _Thread_local size_t own_row; /* from 1 on; 0: the thread has none */

/* Nothing but an earlier trace is written over, whatever the variable names by mistake. */
static bool is_trace_or_new(const char *path)
{
    struct stat is;
    if (stat(path, &is))
        return true;
    if (!S_ISREG(is.st_mode) || !is.st_size)
        return S_ISREG(is.st_mode);
    FILE *earlier = fopen(path, "r");
    bool good = earlier && fgetc(earlier) == '[';
    if (earlier)
        fclose(earlier);
    return good;
}

/* The file, which is this process's as long as it runs; NULL with EAGAIN where it is another one's. */
static FILE *take_file(const char *path)
{
    struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int fd = is_trace_or_new(path) ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
    if (fd < 0)
        return NULL;
    /* File systems without locks have other failures. */
    const bool is_taken = fcntl(fd, F_SETLK, &all) && (errno == EACCES || errno == EAGAIN);
    FILE *taken = is_taken || ftruncate(fd, 0) ? NULL : fdopen(fd, "w");
    if (!taken)
        close(fd);
    if (is_taken)
        errno = EAGAIN;
    return taken;
}

static void open_trace(void)
{
    const char *path = getenv("HALCYON_TRACE");
    char own[PATH_MAX];
    if (!path || !*path)
        return;
    /* A file that cannot be written is no reason to fail: the program works without its timeline. */
    errno = 0;
    file = take_file(path);
    if (!file && errno == EAGAIN && snprintf(own, sizeof own, "%s.%ld", path, (long)getpid()) < (int)sizeof own)
        file = take_file(own);
    if (file && fprintf(file, "[%s", tail) > 0 && !fflush(file))
        atomic_store(&on, true);
}

int hcy_trace_on(void)
{
    pthread_once(&once, open_trace);
    /* Relaxed: pthread_once has ordered what was written before. */
    return atomic_load_explicit(&on, memory_order_relaxed);
}

/* Text as JSON: what a device is called may hold anything. */
static void put_string(const char *s)
{
    fputc('"', file);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            fputc('\\', file);
        /* Control characters are not allowed in JSON, and a name loses nothing by their absence. */
        if ((unsigned char)*s >= ' ')
            fputc(*s, file);
    }
    fputc('"', file);
}

static void open_record(void)
{
    /* The closing bracket is overwritten, and every record writes it again. */
    fseek(file, -(long)(sizeof tail - 1), SEEK_CUR);
    fputs(first ? "\n" : ",\n", file);
    first = false;
}

/* A record that names a process, or with a `tid` a row of it. */
static void put_name(const char *kind, size_t pid, const size_t *tid, const char *name, size_t number)
{
    open_record();
    fprintf(file, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%zu", kind, pid);
    if (tid)
        fprintf(file, ",\"tid\":%zu", *tid);
    fputs(",\"args\":{\"name\":", file);
    char text[sizeof names[0] + 32];
    if (number > 1)
        snprintf(text, sizeof text, "%s (%zu)", name, number);
    else
        snprintf(text, sizeof text, "%s", name);
    put_string(text);
    fprintf(file, "}}%s", tail);
    /* What is left in the stream would be written by a child of fork() as well, at its exit. */
    fflush(file);
}

/* The device's process, named before its first span. */
static size_t find_device(const hcy_device *dev)
{
    for (size_t i = 0; i < n_devices; i++)
        if (devices[i] == dev)
            return i;
    /* A bound on what is searched for every span; the last place is shared by all that no longer fit. */
    if (n_devices == MAX_LANES)
        return MAX_LANES - 1;
    size_t pid = n_devices++, number = 1;
    devices[pid] = dev;
    snprintf(names[pid], sizeof names[pid], "%s", dev->info.name);
    /* A device may be opened twice, and another one later by the same name. */
    for (size_t i = 0; i < pid; i++)
        number += !strcmp(names[i], names[pid]);
    put_name("process_name", pid, NULL, names[pid], number);
    return pid;
}

static size_t find_lane(const void *key)
{
    for (size_t i = 0; i < n_lanes; i++)
        if (lanes[i].key == key)
            return i;
    /* As with devices: programs that make queues without end still get their spans drawn. */
    if (n_lanes == MAX_LANES)
        return MAX_LANES - 1;
    lanes[n_lanes] = (struct lane){ .key = key };
    return n_lanes++;
}

void hcy__trace_forget(const hcy_device *dev)
{
    if (!hcy_trace_on())
        return;
    pthread_mutex_lock(&lock);
    /* The next device may be allocated at the same address, and would get this one's name. */
    for (size_t i = 0; i < n_devices; i++)
        if (devices[i] == dev)
            devices[i] = NULL;
    pthread_mutex_unlock(&lock);
}

/* With a point, where the program's locale may have a comma. */
static void put_microseconds(const char *key, uint64_t ns)
{
    fprintf(file, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

/* A span's record; `frames`: how many it is about, 0: not known. */
static void put_span(const char *what, size_t pid, size_t tid, uint64_t start_ns, uint64_t end_ns, uint64_t bytes,
                     uint64_t first_frame, uint64_t frames)
{
    open_record();
    fputs("{\"ph\":\"X\",\"name\":", file);
    put_string(what);
    fprintf(file, ",\"pid\":%zu,\"tid\":%zu", pid, tid);
    put_microseconds("ts", start_ns);
    put_microseconds("dur", end_ns - start_ns);
    fputs(",\"args\":{", file);
    if (frames)
        fprintf(file, "\"first\":%" PRIu64 ",\"frames\":%" PRIu64 ",", first_frame, frames);
    fprintf(file, "\"bytes\":%" PRIu64 "}}%s", bytes, tail);
    /* Whatever ends the program later, the file is whole up to here. */
    fflush(file);
}

/* --- Devices --- */

void hcy_trace_span(const hcy_device *dev, const void *lane, const char *what, uint64_t start_ns,
                    uint64_t end_ns, uint64_t bytes)
{
    if (!dev || !what || !hcy_trace_on())
        return;
    /* One lock for tables and file: two records must not be mixed. */
    pthread_mutex_lock(&lock);
    size_t pid = find_device(dev), tid = find_lane(lane);
    put_span(what, pid, tid, start_ns, end_ns, bytes, lanes[tid].first, lanes[tid].n);
    pthread_mutex_unlock(&lock);
}

void hcy__trace_begin_queue(const hcy_queue *queue)
{
    if (!hcy_trace_on())
        return;
    pthread_mutex_lock(&lock);
    /* A queue that has gone may have left its address to this one, and would leave it its frames. */
    lanes[find_lane(queue)].n = 0;
    pthread_mutex_unlock(&lock);
}

void hcy_trace_name_queue(const hcy_queue *queue, const char *name)
{
    if (!queue || !name || !hcy_trace_on())
        return;
    pthread_mutex_lock(&lock);
    size_t pid = find_device(queue->dev), tid = find_lane(queue);
    put_name("thread_name", pid, &tid, name, 1);
    pthread_mutex_unlock(&lock);
}

void hcy_trace_frames(const hcy_queue *queue, uint64_t first_frame, uint64_t n)
{
    if (!queue || !hcy_trace_on())
        return;
    pthread_mutex_lock(&lock);
    struct lane *lane = &lanes[find_lane(queue)];
    lane->first = first_frame;
    lane->n = n;
    pthread_mutex_unlock(&lock);
}

/* --- Who else looks on --- */

static _Atomic(const hcy_trace_sink *) attached;

int hcy_trace_attach(const hcy_trace_sink *sink)
{
    const hcy_trace_sink *none = NULL;
    if (!sink || sink->size < sizeof *sink || !sink->push || !sink->pop)
        return hcy_fail(HCY_EINVAL, "hcy_trace_attach: no table, or one without push and pop");
    /* Never taken away again: a thread may be between its push and its pop. */
    if (!atomic_compare_exchange_strong(&attached, &none, sink))
        return hcy_fail(HCY_ESTATE, "hcy_trace_attach: a profiler is attached already");
    return 0;
}

int hcy_trace_push(const char *what)
{
    const hcy_trace_sink *sink = atomic_load_explicit(&attached, memory_order_acquire);
    if (!sink || !what)
        return 0;
    sink->push(what);
    return 1;
}

void hcy_trace_pop(int pushed)
{
    /* One that was attached in between has not seen the beginning. */
    if (pushed)
        atomic_load_explicit(&attached, memory_order_acquire)->pop();
}

/* --- The host --- */

/* A row of that name that no thread has, or a new one. */
static size_t take_row(const char *name)
{
    for (size_t i = 0; i < n_rows; i++)
        if (!rows[i].taken && !strncmp(rows[i].name, name, sizeof rows[i].name - 1)) {
            rows[i].taken = true;
            return i;
        }
    if (n_rows == MAX_LANES)
        return MAX_LANES - 1;
    if (!n_rows)
        put_name("process_name", HOST, NULL, "host", 1);
    size_t tid = n_rows++, number = 1;
    rows[tid].taken = true;
    snprintf(rows[tid].name, sizeof rows[tid].name, "%s", name);
    for (size_t i = 0; i < tid; i++)
        number += !strcmp(rows[i].name, rows[tid].name);
    put_name("thread_name", HOST, &tid, rows[tid].name, number);
    return tid;
}

void hcy_trace_name_thread(const char *name)
{
    if (!hcy_trace_on())
        return;
    pthread_mutex_lock(&lock);
    if (own_row)
        rows[own_row - 1].taken = false;
    own_row = name ? take_row(name) + 1 : 0;
    pthread_mutex_unlock(&lock);
}

uint64_t hcy_trace_begin(void)
{
    return hcy_trace_on() ? hcy_now_ns() : 0;
}

void hcy_trace_end(uint64_t since, const char *what, uint64_t first_frame, uint64_t n, uint64_t bytes)
{
    if (!since || !what || !hcy_trace_on())
        return;
    uint64_t now = hcy_now_ns();
    pthread_mutex_lock(&lock);
    if (!own_row)
        own_row = take_row("thread") + 1;
    put_span(what, HOST, own_row - 1, since, now, bytes, first_frame, n);
    pthread_mutex_unlock(&lock);
}
