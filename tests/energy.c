/* energy.c - joules that halcyon compare reports: a sensor that nobody could watch has none, not 0 W. */
#include "../src/cli/compare.h"
#include "tap.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>

enum { GPU_MILLIWATTS = 100000 };
static int no_threads;
static const hcy_device_info gpu = { .kind = HCY_KIND_GPU, .name = "a GPU", .stable = "none" };

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*begin)(void *), void *payload);
/* Seen by sanitizers' libraries, which make threads, too. */
__attribute__((visibility("default"))) int
__wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*begin)(void *), void *payload);
int __wrap_hcy_device_get_i64(int64_t *value, hcy_device *dev, const char *key);
const hcy_device_info *__wrap_hcy_device_get_info(const hcy_device *dev);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*begin)(void *), void *payload)
{
    return no_threads ? EAGAIN : __real_pthread_create(thread, attr, begin, payload);
}

int __wrap_hcy_device_get_i64(int64_t *value, hcy_device *dev, const char *key)
{
    (void)dev, (void)key;
    return *value = GPU_MILLIWATTS, 0;
}

const hcy_device_info *__wrap_hcy_device_get_info(const hcy_device *dev)
{
    (void)dev;
    return &gpu;
}

static const json_t *sensor_of(const json_t *report)
{
    const json_t *source, *found = NULL;
    size_t i;
    /* This machine's processors may have counters beside it. */
    json_array_foreach(value_at(report, "energy.sources"), i, source)
    {
        if (strstr(value_string(source, "source"), "a GPU"))
            found = source;
    }
    return found;
}

/* What is reported of a run that is over at once. */
static json_t *report_run(void)
{
    hcy_device *device = NULL;
    json_t *report = json_object();
    energy_end(report, energy_begin(&device, 1), 10);
    return report;
}

int main(void)
{
    json_t *report = report_run();
    const double watts = value_number(sensor_of(report), "watts");
    ok(watts > 99 && watts < 101, "a sensor of 100 W, however short the run: %g W", watts);
    json_decref(report);
    no_threads = 1;
    report = report_run();
    const char *why = value_string(value_at(report, "energy"), "not_readable");
    ok(!sensor_of(report), "where no thread can watch it, it has no figures");
    ok(why && strstr(why, "a GPU") && strstr(why, "no thread"), "... and the report says why");
    json_decref(report);
    return done_testing();
}
