/* compare_energy.c - joules: counters of the processors (RAPL, /sys/class/powercap), sensors of power of devices.
 *
 * A counter is read at both ends.  A sensor says watts at a moment, so a thread reads it all the time and adds them up.
 * Sensors are a device's own number "power_mw" (NVML's, where the driver has it), or what the kernel shows for its
 * card on the bus (hwmon).  What cannot be read is said, never estimated. */
#include "compare.h"
#include "timer.h"
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SOURCES = 32, PERIOD_NS = 20000000 };

struct source {
    char name[288], file[384]; /* file "": a device's number */
    hcy_device *device;
    int is_counter;
    double range, first, joules; /* a counter's: microjoules where it begins anew, and at the start */
    double last_watts, last_time;
};

struct energy {
    struct source sources[SOURCES];
    size_t n;
    char why[512]; /* what could not be read */
    double start;
    pthread_t thread;
    int has_thread;
    atomic_int stop;
};

/* --- Where there are any --- */

static int read_number_file(double *value, const char *path)
{
    FILE *in = fopen(path, "r");
    int read = in ? fscanf(in, "%lf", value) : 0, number = in ? 0 : errno;
    if (in)
        fclose(in);
    return read == 1 ? 0 : number ? number : EIO;
}

static void say_unreadable(struct energy *e, const char *what, const char *why)
{
    size_t used = strlen(e->why);
    snprintf(e->why + used, sizeof e->why - used, "%s%s: %s", used ? "; " : "", what, why);
}

/* "package-0", where the kernel has a name for it, else the entry's own. */
static void name_counter(struct source *s, const char *folder, const char *entry)
{
    char path[384], name[64] = "";
    snprintf(path, sizeof path, "%s/%.100s/name", folder, entry);
    FILE *in = fopen(path, "r");
    int read = in ? fscanf(in, "%63s", name) : 0;
    if (in)
        fclose(in);
    snprintf(s->name, sizeof s->name, "RAPL %.100s", read == 1 ? name : entry);
}

/* Packages are whole processors; what is inside of one (core, uncore, dram) has a second colon in its name.  The same
 * counters by another way (mmio) are passed over. */
static int is_package(const char *entry)
{
    const char *colon = strchr(entry, ':');
    return colon && !strchr(colon + 1, ':') && !strstr(entry, "mmio") && strlen(entry) < 100;
}

static void find_counters(struct energy *e)
{
    static const char folder[] = "/sys/class/powercap";
    DIR *dir = opendir(folder);
    int found = 0, number = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir)) && e->n < SOURCES;) {
        struct source *s = &e->sources[e->n];
        char range[384];
        if (!is_package(entry->d_name))
            continue;
        *s = (struct source){ .is_counter = 1 };
        name_counter(s, folder, entry->d_name);
        snprintf(s->file, sizeof s->file, "%s/%.100s/energy_uj", folder, entry->d_name);
        snprintf(range, sizeof range, "%s/%.100s/max_energy_range_uj", folder, entry->d_name);
        number = read_number_file(&s->first, s->file);
        found = 1;
        /* Without its range nobody knows what a counter had counted before it began anew. */
        if (!number && !read_number_file(&s->range, range))
            e->n++;
    }
    if (dir)
        closedir(dir);
    /* Since 2020 only root may read the counters, which is the usual reason. */
    if (!found)
        say_unreadable(e, "processors (RAPL)", "no counters in /sys/class/powercap");
    else if (number)
        say_unreadable(e, "processors (RAPL)", number == EACCES ? "energy_uj is for root alone" : "energy_uj cannot be read");
}

/* A card's place on the bus, where its stable name is that: "BACKEND:0000:3b:00.1". */
static int find_card_sensor(struct source *s, const hcy_device_info *info)
{
    static const char *const files[] = { "power1_average", "power1_input" };
    const char *place = strchr(info->stable, ':');
    char folder[256];
    double watts;
    if (!place || strlen(place) != strlen(":0000:00:00.0") || strchr(place, '/'))
        return 0;
    snprintf(folder, sizeof folder, "/sys/bus/pci/devices/%.40s/hwmon", place + 1);
    DIR *dir = opendir(folder);
    int found = 0;
    for (struct dirent *entry; dir && !found && (entry = readdir(dir));)
        for (size_t i = 0; !found && i < 2 && entry->d_name[0] != '.' && strlen(entry->d_name) < 32; i++) {
            snprintf(s->file, sizeof s->file, "%s/%.32s/%s", folder, entry->d_name, files[i]);
            found = !read_number_file(&watts, s->file);
        }
    if (dir)
        closedir(dir);
    return found;
}

static void find_sensor(struct energy *e, hcy_device *device)
{
    const hcy_device_info *info = hcy_device_get_info(device);
    struct source *s = &e->sources[e->n];
    int64_t milliwatts;
    /* The processors' counters are the CPU's own. */
    if (info->kind == HCY_KIND_CPU || e->n == SOURCES)
        return;
    *s = (struct source){ .device = device };
    snprintf(s->name, sizeof s->name, "%s, its sensor of power", info->name);
    if (!hcy_device_get_i64(&milliwatts, device, "power_mw") || find_card_sensor(s, info))
        e->n++;
    else
        say_unreadable(e, info->name, "no sensor of power that can be read");
}

/* --- Watching --- */

static double read_watts(const struct source *s)
{
    int64_t milliwatts = 0;
    double microwatts = 0;
    if (*s->file)
        return read_number_file(&microwatts, s->file) ? NAN : 1e-6 * microwatts;
    return hcy_device_get_i64(&milliwatts, s->device, "power_mw") ? NAN : 1e-3 * (double)milliwatts;
}

static void add_sample(struct source *s)
{
    double now = timer_now(), watts = read_watts(s);
    /* Between two samples the power is taken as a straight line. */
    if (s->last_time > 0)
        s->joules += 0.5 * (watts + s->last_watts) * (now - s->last_time);
    s->last_time = now;
    s->last_watts = watts;
}

static void add_samples(struct energy *e)
{
    for (size_t i = 0; i < e->n; i++)
        if (!e->sources[i].is_counter)
            add_sample(&e->sources[i]);
}

static void *watch_power(void *payload)
{
    struct energy *e = payload;
    const struct timespec period = { 0, PERIOD_NS };
    while (!atomic_load(&e->stop)) {
        add_samples(e);
        nanosleep(&period, NULL);
    }
    return NULL;
}

/* A sensor that is not looked at all the time says nothing of what went on in between. */
static void leave_out_sensors(struct energy *e, const char *why)
{
    size_t kept = 0;
    for (size_t i = 0; i < e->n; i++)
        if (e->sources[i].is_counter)
            e->sources[kept++] = e->sources[i];
        else
            say_unreadable(e, e->sources[i].name, why);
    e->n = kept;
}

struct energy *energy_begin(hcy_device *const *devices, size_t n)
{
    struct energy *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    find_counters(e);
    for (size_t i = 0; i < n; i++)
        find_sensor(e, devices[i]);
    e->start = timer_now();
    /* The first sample is this thread's, so that the last one has another before it. */
    add_samples(e);
    e->has_thread = e->n && !pthread_create(&e->thread, NULL, watch_power, e);
    if (!e->has_thread)
        leave_out_sensors(e, "no thread that would watch it could be started");
    return e;
}

int energy_readable(const struct energy *e)
{
    return e && e->n;
}

static void end_counter(struct source *s)
{
    double last;
    s->joules = read_number_file(&last, s->file) ? NAN : 1e-6 * (last - s->first);
    /* The counter has begun anew meanwhile, which happens at most once in the seconds of a run. */
    if (s->joules < 0)
        s->joules += 1e-6 * s->range;
}

void energy_end(json_t *object, struct energy *e, uint64_t frames)
{
    json_t *energy = json_object(), *sources = json_array();
    if (e)
        atomic_store(&e->stop, 1);
    /* The thread adds to the same sums, so they are looked at only when it has ended. */
    if (e && e->has_thread)
        pthread_join(e->thread, NULL);
    /* Until now the thread has watched, and counters count. */
    const double seconds = e ? timer_now() - e->start : 0;
    for (size_t i = 0; e && i < e->n; i++) {
        struct source *s = &e->sources[i];
        json_t *one = json_object();
        if (s->is_counter)
            end_counter(s);
        else
            add_sample(s);
        value_put_text(one, "source", s->name);
        value_put(one, "joules_per_frame", frames ? s->joules / (double)frames : NAN);
        value_put(one, "watts", s->joules / seconds);
        json_array_append_new(sources, one);
    }
    json_object_set_new(energy, "sources", sources);
    value_put_text(energy, "not_readable", !e ? "no memory for what is watched" : *e->why ? e->why : NULL);
    json_object_set_new(object, "energy", energy);
    free(e);
}
