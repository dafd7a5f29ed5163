/* cts_device.c - conformance: listing, device strings, kinds, lists, environment, several devices at once.
 *
 * What the environment says is tried in forked children, before this process opens anything. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include "cts.h"

#include <dirent.h>
#include <sched.h>

/* --- In children: an environment, a call, what it answers --- */

enum call { OPEN, OPEN_NULL, OPEN_EMPTY, COUNT_BACKEND, COUNT_OTHERS, FIRST_KIND };
struct question {
    const char *name, *value;
    enum call call;
    const char *arg;
};

static int count_devices(const char *backend, bool of_it)
{
    hcy_device_info *list;
    size_t n;
    int found = 0;
    if (hcy_device_list(&list, &n))
        return 119;
    for (size_t i = 0; i < n; i++)
        found += !strcmp(list[i].backend, backend) == of_it;
    hcy_list_free(list);
    return found;
}

static int open_and_name(const char *spec, const char *want)
{
    hcy_device *dev;
    int status = hcy_device_open(&dev, spec);
    if (status)
        return hcy_last_error()->status == status ? -status : 118;
    int answer = want && strcmp(hcy_device_get_info(dev)->backend, want) ? 117 : 0;
    hcy_device_release(dev);
    return answer;
}

static int answer(void *context)
{
    const struct question *q = context;
    hcy_device *dev;
    if (q->value)
        setenv(q->name, q->value, 1);
    else
        unsetenv(q->name);
    switch (q->call) {
    case OPEN:
        return open_and_name(q->arg, NULL);
    case OPEN_NULL:
        return open_and_name(NULL, q->arg);
    case OPEN_EMPTY:
        return open_and_name("", q->arg);
    case COUNT_BACKEND:
        return count_devices(q->arg, true);
    case COUNT_OTHERS:
        return count_devices(q->arg, false);
    case FIRST_KIND:
        if (hcy_device_open(&dev, q->arg))
            return 116;
        return hcy_device_get_info(dev)->kind;
    }
    return 115;
}

static int ask(const char *name, const char *value, enum call call, const char *arg)
{
    struct question q = { name, value, call, arg };
    return cts_child(answer, &q);
}

static void test_environment(void)
{
    char backend[24], without[32];
    snprintf(backend, sizeof backend, "%s", cts_backend_of(cts_spec));
    snprintf(without, sizeof without, "-%s", backend);

    is_int(ask("HALCYON_DEVICE", cts_spec, OPEN_NULL, backend), 0, "NULL opens what HALCYON_DEVICE says");
    is_int(ask("HALCYON_DEVICE", cts_spec, OPEN_EMPTY, backend), 0, "and so does \"\"");
    is_int(ask("HALCYON_DEVICE", "nosuch", OPEN_NULL, NULL), -HCY_ENODEV,
           "an absent HALCYON_DEVICE is an error");
    is_int(ask("HALCYON_DEVICE", "cpu@", OPEN_NULL, NULL), -HCY_EINVAL, "and so is a malformed one");
    is_int(ask("HALCYON_DEVICE", "nosuch", OPEN, cts_spec), 0,
           "which does not matter where a device is named");

    ok(ask("HALCYON_BACKENDS", backend, COUNT_BACKEND, backend) > 0, "HALCYON_BACKENDS=%s lists its devices",
       backend);
    is_int(ask("HALCYON_BACKENDS", backend, COUNT_OTHERS, backend), 0, "and no others");
    is_int(ask("HALCYON_BACKENDS", backend, OPEN, cts_spec), 0, "they open");
    is_int(ask("HALCYON_BACKENDS", without, COUNT_BACKEND, backend), 0,
           "HALCYON_BACKENDS=%s lists none of it", without);
    is_int(ask("HALCYON_BACKENDS", without, OPEN, cts_spec), -HCY_ENODEV, "and none opens");
    snprintf(without, sizeof without, ",-%s", backend);
    is_int(ask("HALCYON_BACKENDS", without, OPEN, cts_spec), -HCY_ENODEV, "nor behind an empty word");
    is_int(ask("HALCYON_BACKENDS", "nosuch", OPEN, "auto"), -HCY_ENODEV,
           "nothing is left where another is named");
    is_int(ask("HALCYON_BACKENDS", "null", OPEN, "auto"), -HCY_ENODEV,
           "\"auto\" never takes a device that computes nothing");
    is_int(ask("HALCYON_BACKENDS", "null,cpu", FIRST_KIND, "auto"), HCY_KIND_CPU, "\"auto\" passes it over");
    is_int(ask("HALCYON_BACKENDS", NULL, COUNT_BACKEND, "null"), 0,
           "without HALCYON_BACKENDS the null backend is not listed");
    is_int(ask("HALCYON_BACKENDS", NULL, OPEN, "null"), 0, "but it opens where it is asked for outright");
}

/* --- The CPU's threads: those that this process may use --- */

static int first_core(void)
{
    cpu_set_t set;
    int core = 0;
    if (sched_getaffinity(0, sizeof set, &set))
        return 0;
    while (!CPU_ISSET(core, &set))
        core++;
    return core;
}

static int threads_of(void *spec)
{
    hcy_device *dev;
    int64_t n = 0;
    if (hcy_device_open(&dev, spec) || hcy_device_get_i64(&n, dev, "threads") ||
        n != hcy_device_get_info(dev)->units)
        return 120;
    hcy_device_release(dev);
    return (int)n;
}

static int threads_on_one_core(void *spec)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(first_core(), &set);
    return sched_setaffinity(0, sizeof set, &set) ? 119 : threads_of(spec);
}

static void test_threads(void)
{
    char text[64];
    if (!cts_is("cpu"))
        return;
    snprintf(text, sizeof text, "cpu@cores=%d", first_core());
    int n = cts_child(threads_of, (void *)(uintptr_t) "cpu");
    ok(n > 0 && n <= sysconf(_SC_NPROCESSORS_ONLN), "the CPU has a thread for each processor at most (%d)",
       n);
    is_int(cts_child(threads_on_one_core, (void *)(uintptr_t) "cpu"), 1, "and one where the process has one");
    is_int(cts_child(threads_on_one_core, (void *)(uintptr_t) "cpu@threads=3"), 3, "unless it is told");
    is_int(cts_child(threads_of, text), 1, "%s has one", text);
}

/* --- Listing --- */

static size_t count_entries(const char *directory)
{
    size_t n = 0;
    DIR *d = opendir(directory);
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

/* The devices of the backend under test; the null backend is listed where it is named. */
static size_t list_ours(hcy_device_info **ours)
{
    hcy_device_info *list;
    size_t n, kept = 0;
    if (cts_is("null"))
        setenv("HALCYON_BACKENDS", "null,cpu", 1);
    /* A vendor's library may start threads of its own when it is first used, not each time. */
    if (!cts_is("cpu") && !cts_is("null") && !hcy_device_list(&list, &n))
        hcy_list_free(list);
    size_t threads = count_entries("/proc/self/task");
    st_ok(hcy_device_list(&list, &n), "devices can be listed");
    is_int((intmax_t)count_entries("/proc/self/task"), (intmax_t)threads, "listing starts no thread");
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i].backend, cts_backend_of(cts_spec)))
            list[kept++] = list[i];
    *ours = list;
    return kept;
}

static void check_info(const hcy_device_info *info, const hcy_device_info *list, size_t n)
{
    const uint32_t known = HCY_CAP_F64 | HCY_CAP_HOST_MEMORY | HCY_CAP_MAPPED | HCY_CAP_IMPORT_HOST |
                           HCY_CAP_IMPORT_DEVICE | HCY_CAP_FFT | HCY_CAP_PROGRAMS | HCY_CAP_VIRTUAL |
                           HCY_CAP_SECOND | HCY_CAP_TOGETHER;
    size_t same = 0;
    for (size_t i = 0; i < n; i++)
        same += !strcmp(list[i].name, info->name) || !strcmp(list[i].stable, info->stable);
    is_int((intmax_t)same, 1, "%s: its names are its own", info->name);
    ok(*info->name && *info->stable && *info->description,
       "%s: it has a name, a stable name and a description", info->name);
    ok(info->kind >= HCY_KIND_CPU && info->kind <= HCY_KIND_OTHER, "%s: its kind is known", info->name);
    ok(!(info->caps & ~known), "%s: its capabilities are known", info->name);
    ok(info->units > 0, "%s: it has units", info->name);
}

static void check_opens_as_listed(const hcy_device_info *info)
{
    const char *const names[] = { info->name, info->stable };
    for (size_t i = 0; i < 2; i++) {
        hcy_device *dev = NULL;
        st_ok(hcy_device_open(&dev, names[i]), "\"%s\" is accepted as listed", names[i]);
        if (!dev)
            continue;
        const hcy_device_info *opened = hcy_device_get_info(dev);
        is_str(opened->stable, info->stable, "%s: the same device opens", names[i]);
        is_str(opened->name, info->name, "%s: by the same name", names[i]);
        is_int(opened->kind, info->kind, "%s: of the same kind", names[i]);
        is_int(opened->caps, info->caps, "%s: with the same capabilities", names[i]);
        hcy_device_release(dev);
    }
}

/* Another spelling of the one CPU is the same device. */
static void test_spellings(void)
{
    static const char *const same[][2] = {
        { "cpu:0", "cpu" },
        { "cpu:0@threads=1", "cpu@threads=1" },
        { "cpu@threads=1", "cpu@threads=1" },
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0] && cts_is("cpu"); i++) {
        hcy_device *dev = cts_open_spec(same[i][0]);
        is_str(hcy_device_get_info(dev)->stable, same[i][1], "%s: its stable name", same[i][0]);
        is_str(hcy_device_get_info(dev)->name, same[i][0], "%s: opens again by its name", same[i][0]);
        hcy_device_release(dev);
    }
}

static void test_listing(void)
{
    hcy_device_info *list;
    size_t n = list_ours(&list);
    ok(n > 0, "the backend has devices");
    for (size_t i = 0; i < n; i++) {
        check_info(&list[i], list, n);
        check_opens_as_listed(&list[i]);
    }
    hcy_list_free(list);
    hcy_list_free(NULL);
    st_is(hcy_device_list(NULL, &n), HCY_EINVAL, "a list without a place for it is refused");
}

static void test_backends(void)
{
    hcy_backend_info *list;
    size_t n, found = 0;
    st_ok(hcy_backend_list(&list, &n), "backends can be listed");
    for (size_t i = 0; i < n; i++) {
        found += !strcmp(list[i].name, cts_backend_of(cts_spec)) && !list[i].status && list[i].n_devices;
        ok(!list[i].status == !*list[i].reason, "%s: absent with a reason, or there without", list[i].name);
        ok(*list[i].origin || list[i].status, "%s: it says where it comes from", list[i].name);
    }
    is_int((intmax_t)found, 1, "the backend under test is among them, and there");
    hcy_list_free(list);
}

/* --- Device strings --- */

static void refused(int status, const char *word, const char *spec)
{
    hcy_device *dev = NULL;
    st_says(hcy_device_open(&dev, spec), status, word, "\"%s\" is refused and says so", spec);
    ok(!dev, "\"%s\": no device comes of it", spec);
    hcy_device_release(dev);
}

static void test_malformed(void)
{
    static const char *const bad[] = { "@a=b",
                                       ":0",
                                       "Cpu",
                                       "c pu",
                                       "cpu:",
                                       "cpu@",
                                       "cpu@threads",
                                       "cpu@=1",
                                       "cpu@threads=1@",
                                       "cpu@threads=%2",
                                       "cpu@threads=%zz",
                                       "cpu@threads=1%00",
                                       "cpu@threads=1@threads=1" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refused(HCY_EINVAL, bad[i], bad[i]);
    refused(HCY_ENODEV, "nosuch", "nosuch");
    refused(HCY_ENODEV, "nosuch", "nosuch:3@x=y");
    char long_one[400];
    memset(long_one, 'x', sizeof long_one - 1);
    long_one[sizeof long_one - 1] = 0;
    refused(HCY_EINVAL, "long", long_one);
    st_is(hcy_device_open(NULL, cts_spec), HCY_EINVAL, "a device without a place for it is refused");
}

static void test_options(void)
{
    char text[256], name[24];
    hcy_device *dev = NULL;
    int64_t n = 0;
    snprintf(name, sizeof name, "%s", cts_backend_of(cts_spec));
    refused(HCY_EINVAL, "nosuchkey", cts_with(text, sizeof text, name, "@nosuchkey=1"));
    refused(HCY_ENODEV, "99999", cts_with(text, sizeof text, name, ":99999"));
    refused(HCY_ENODEV, "nosuch", cts_with(text, sizeof text, name, ":nosuch"));
    if (cts_is("null")) {
        refused(HCY_EINVAL, "maybe", "null@kernels=maybe");
        refused(HCY_EINVAL, "-1", "null@delay-us=-1");
    }
    if (!cts_is("cpu"))
        return;
    static const char *const values[] = { "0", "-1", "abc", "1x", "", " 1", "99999999999999999999", "1,2" };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        snprintf(text, sizeof text, "cpu@threads=%s", strchr(values[i], ',') ? "1%2C2" : values[i]);
        refused(HCY_EINVAL, values[i], text);
    }
    refused(HCY_EINVAL, "nosuch", "cpu@simd=nosuch");
    refused(HCY_EINVAL, "9-0", "cpu@cores=9-0");
    refused(HCY_EINVAL, "x", "cpu@cores=x");
    refused(HCY_EINVAL, "99999", "cpu@cores=99999");
    snprintf(text, sizeof text, "cpu@cores= %d", first_core());
    refused(HCY_EINVAL, "a list", text);
    snprintf(text, sizeof text, "cpu@cores=%d- %d", first_core(), first_core());
    refused(HCY_EINVAL, "a list", text);
    st_ok(hcy_device_open(&dev, "cpu@threads=%31@simd=port%61ble"), "values are percent-decoded");
    st_ok(hcy_device_get_i64(&n, dev, "threads"), "the number of threads can be asked for");
    is_int(n, 1, "and is the one wanted");
    hcy_device_release(dev);
}

/* --- Kinds, lists --- */

static size_t count_kind(int kind)
{
    hcy_device_info *list;
    size_t n, found = 0;
    if (hcy_device_list(&list, &n))
        return 0;
    for (size_t i = 0; i < n; i++)
        found += list[i].kind == kind;
    hcy_list_free(list);
    return found;
}

static void test_kinds(void)
{
    static const struct {
        const char *word;
        int kind;
    } kinds[] = { { "gpu", HCY_KIND_GPU }, { "fpga", HCY_KIND_FPGA } };
    for (size_t i = 0; i < 2; i++) {
        hcy_device *dev = NULL;
        if (!count_kind(kinds[i].kind)) {
            refused(HCY_ENODEV, kinds[i].word, kinds[i].word);
            continue;
        }
        st_ok(hcy_device_open(&dev, kinds[i].word), "\"%s\" opens where there is one", kinds[i].word);
        is_int(dev ? hcy_device_get_info(dev)->kind : 0, kinds[i].kind, "%s: it is of that kind",
               kinds[i].word);
        hcy_device_release(dev);
    }
    refused(HCY_EINVAL, "all", "all");
    refused(HCY_EINVAL, "stands alone", "all@threads=1");
}

static void close_list(hcy_device **devs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hcy_device_release(devs[i]);
    hcy_list_free(devs);
}

static void test_lists(void)
{
    char text[512];
    hcy_device **devs = NULL;
    size_t n = 0;
    snprintf(text, sizeof text, "%s,%s,cpu", cts_spec, cts_spec2);
    st_ok(hcy_device_open_list(&devs, &n, text), "\"%s\" opens", text);
    is_int((intmax_t)n, 3, "as three devices");
    if (n == 3) {
        ok(devs[0] != devs[1] && devs[1] != devs[2], "each its own");
        is_str(hcy_device_get_info(devs[0])->backend, cts_backend_of(cts_spec), "in the order of the list");
        is_str(hcy_device_get_info(devs[2])->backend, "cpu", "up to its end");
    }
    close_list(devs, n);
    st_ok(hcy_device_open_list(&devs, &n, cts_spec), "a list of one opens");
    is_int((intmax_t)n, 1, "as one device");
    close_list(devs, n);

    static const char *const bad[] = { "%s,", ",%s", "%s,,cpu" };
    for (size_t i = 0; i < 3; i++) {
        snprintf(text, sizeof text, bad[i], cts_spec);
        st_is(hcy_device_open_list(&devs, &n, text), HCY_EINVAL, "\"%s\" is refused", text);
    }
    snprintf(text, sizeof text, "%s,nosuch", cts_spec);
    st_says(hcy_device_open_list(&devs, &n, text), HCY_ENODEV, "nosuch", "\"%s\": all or none", text);
    ok(!devs && !n, "none is left open");
    refused(HCY_EINVAL, "several", cts_with(text, sizeof text, cts_spec, ",cpu"));
}

static void test_all(void)
{
    hcy_device_info *list;
    hcy_device **devs = NULL;
    size_t n, n_devs = 0, wanted = 0, same = 0;
    st_ok(hcy_device_list(&list, &n), "listed");
    st_ok(hcy_device_open_list(&devs, &n_devs, "all"), "\"all\" opens");
    for (size_t i = 0; i < n; i++) {
        if (list[i].kind == HCY_KIND_OTHER || list[i].caps & HCY_CAP_SECOND)
            continue;
        same += wanted < n_devs && !strcmp(hcy_device_get_info(devs[wanted])->name, list[i].name);
        wanted++;
    }
    is_int((intmax_t)n_devs, (intmax_t)wanted,
           "as many as are listed, without those that compute nothing or are there twice");
    is_int((intmax_t)same, (intmax_t)wanted, "the same ones, in the same order");
    close_list(devs, n_devs);
    hcy_list_free(list);
}

/* --- Open devices --- */

static void test_open(void)
{
    hcy_device *dev = cts_open();
    const hcy_device_info *info = hcy_device_get_info(dev);
    int64_t n;
    uint64_t free_bytes = 1, total = 0;
    is_str(info->backend, cts_backend_of(cts_spec), "the device is of the backend wanted");
    st_ok(hcy_device_status(dev), "it is not lost");
    st_says(hcy_device_get_i64(&n, dev, "no such key"), HCY_ENOENT, "no such key",
            "an unknown key is said to be so");
    st_is(hcy_device_get_i64(&n, dev, NULL), HCY_EINVAL, "no key is refused");
    st_is(hcy_device_get_i64(NULL, dev, "threads"), HCY_EINVAL, "no place for the value is refused");
    int status = hcy_device_mem_info(&free_bytes, &total, dev);
    if (status == HCY_EUNSUPPORTED)
        skip(2, "%s cannot count its memory", cts_spec);
    else {
        st_ok(status, "it counts its memory");
        ok(free_bytes <= total && total >= info->memory / 2, "and not more of it is free than there is");
    }
    ok(hcy_device_retain(dev) == dev, "retain gives the device back");
    hcy_device_release(dev);
    st_ok(hcy_device_status(dev), "one of two references is enough");
    hcy_device_release(dev);
    hcy_device_release(NULL);
    ok(!hcy_device_get_info(NULL), "no device, no information");
    st_is(hcy_device_status(NULL), HCY_EINVAL, "no device, no status");
}

/* Each open is a device of its own, with its own options, memory and queues. */
static void test_several(void)
{
    enum { N = 4 };
    hcy_device *devs[N];
    unsigned char got[16], data[16];
    size_t right = 0;
    for (size_t i = 0; i < N; i++)
        devs[i] = cts_open_spec(i % 2 ? cts_spec2 : cts_spec);
    hcy_buffer *bufs[N];
    for (size_t i = 0; i < N; i++) {
        bufs[i] = cts_buffer(devs[i], sizeof data);
        memset(data, (int)i + 1, sizeof data);
        right += !hcy_buffer_write_now(bufs[i], 0, data, sizeof data);
    }
    for (size_t i = N; i-- > 0;) {
        memset(data, (int)i + 1, sizeof data);
        right += !hcy_buffer_read_now(got, bufs[i], 0, sizeof got) && !memcmp(got, data, sizeof got);
        hcy_device_release(devs[i]);
        hcy_buffer_release(bufs[i]);
    }
    is_int((intmax_t)right, 2 * N, "%d devices open at once work side by side", N);
    if (!cts_is("cpu"))
        return;
    hcy_device *one = cts_open_spec("cpu@threads=1"), *two = cts_open_spec("cpu@threads=2");
    int64_t a = 0, b = 0;
    st_ok(hcy_device_get_i64(&a, one, "threads"), "threads of the first");
    st_ok(hcy_device_get_i64(&b, two, "threads"), "threads of the second");
    ok(a == 1 && b == 2, "each has the threads its string says");
    hcy_device_release(one);
    hcy_device_release(two);
}

int main(int argc, char **argv)
{
    cts_begin(argc, argv);
    test_environment();
    test_threads();
    test_listing();
    test_spellings();
    test_backends();
    test_malformed();
    test_options();
    test_kinds();
    test_lists();
    test_all();
    test_open();
    test_several();
    return done_testing();
}
