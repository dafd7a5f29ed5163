/* trace.c - the timeline HALCYON_TRACE=FILE asks for, in Chrome's trace format (chrome://tracing, perfetto).
 *
 * The file is valid JSON after every span: each one is written over the closing bracket, which is written again
 * behind it.  It has its name from the beginning, as it is wanted most of what did not come to its end.  One process
 * row a device, one thread row a queue.  Thread-safe; off, it costs one atomic load.
 */
#include "hal_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define MAX_LANES 256
static const char tail[] = "\n]\n";

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool on;
static FILE *file;
static const hcy_device *devices[MAX_LANES];
static const void *lanes[MAX_LANES];
static size_t n_devices, n_lanes;
static bool first = true;

/* Nothing but an earlier trace is written over, whatever the variable names by mistake. */
static bool is_trace_or_new(const char *path)
{
    struct stat is;
    if (stat(path, &is) || !S_ISREG(is.st_mode) || !is.st_size)
        return true;
    FILE *earlier = fopen(path, "r");
    bool good = earlier && fgetc(earlier) == '[';
    if (earlier)
        fclose(earlier);
    return good;
}

static void open_trace(void)
{
    const char *path = getenv("HALCYON_TRACE");
    if (!path || !*path)
        return;
    if (!is_trace_or_new(path))
        return;
    /* A file that cannot be written is no reason to fail: the program works without its timeline. */
    file = fopen(path, "w");
    if (file && fprintf(file, "[%s", tail) > 0)
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

static void name_device(size_t pid, const hcy_device *dev)
{
    open_record();
    fprintf(file, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%zu,\"args\":{\"name\":", pid);
    put_string(dev->info.name);
    fprintf(file, "}}%s", tail);
}

/* Index of `p` in table, added if new; the last place is shared by all that no longer fit. */
static size_t lane_of(const void **table, size_t *n, const void *p, bool *is_new)
{
    *is_new = false;
    for (size_t i = 0; i < *n; i++)
        if (table[i] == p)
            return i;
    /* A bound on what is searched for every span; programs that make queues without end still get their spans
     * drawn. */
    if (*n == MAX_LANES)
        return MAX_LANES - 1;
    *is_new = true;
    table[*n] = p;
    return (*n)++;
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

void hcy_trace_span(const hcy_device *dev, const void *lane, const char *what, uint64_t start_ns,
                    uint64_t end_ns, uint64_t bytes)
{
    if (!dev || !what || !hcy_trace_on())
        return;
    bool new_device, new_lane;
    /* One lock for table and file: two records must not be mixed. */
    pthread_mutex_lock(&lock);
    size_t pid = lane_of((const void **)devices, &n_devices, dev, &new_device);
    size_t tid = lane_of(lanes, &n_lanes, lane, &new_lane);
    /* A device is named by a record of its own before its first span. */
    if (new_device)
        name_device(pid, dev);
    open_record();
    fputs("{\"ph\":\"X\",\"name\":", file);
    put_string(what);
    fprintf(file, ",\"pid\":%zu,\"tid\":%zu", pid, tid);
    put_microseconds("ts", start_ns);
    put_microseconds("dur", end_ns - start_ns);
    fprintf(file, ",\"args\":{\"bytes\":%" PRIu64 "}}%s", bytes, tail);
    /* Whatever ends the program later, the file is whole up to here. */
    fflush(file);
    pthread_mutex_unlock(&lock);
}
