/* nvml.c - what the driver's management library (NVML) knows: the GPUs without starting CUDA, and their sensors.
 *
 * cuInit() takes long and does not survive a fork; NVML does.  So devices are listed by NVML as long as
 * CUDA has not been started in this process, where CUDA's order can be told: with one kind of GPU, or in the order of
 * the bus.  The library is opened once and stays; each use begins and ends a session of it.  Thread-safe.
 */
#include "cuda_priv.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvmlDevice_st *nvmlDevice_t;
struct nvml_memory {
    unsigned long long total, free, used;
};
enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2 };

static struct {
#define NVML(name, symbol, params) int(*name) params;
#include "nvml_syms.def"
#undef NVML
} nvml;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool there;

static void open_nvml(void)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    /* All symbols or none: with a part of them lists would miss GPUs without a word. */
    there = library != NULL;
#define NVML(name, symbol, params) there = there && (*(void **)&nvml.name = dlsym(library, symbol)) != NULL;
#include "nvml_syms.def"
#undef NVML
}

static bool begin_nvml(void)
{
    pthread_once(&once, open_nvml);
    return there && !nvml.init();
}

/* --- Listing --- */

/* CUDA cores of a multiprocessor. */
static unsigned cores_of(int major, int minor)
{
    bool few = major == 7 || (major == 6 || major == 8 ? minor == 0 : false);
    return few ? 64 : 128;
}

static bool fill_from_nvml(hcy_device_info *info, nvmlDevice_t device)
{
    struct nvml_memory memory;
    unsigned cores, mig, later;
    int major, minor;
    char name[80] = "", uuid[80] = "";
    if (!nvml.mig(device, &mig, &later) && mig)
        return false; /* CUDA sees the slices, not the GPU */
    /* A GPU that does not tell everything would be listed otherwise than the driver does, so the driver is
     * asked instead. */
    if (nvml.name(device, name, sizeof name) || nvml.uuid(device, uuid, sizeof uuid) ||
        nvml.memory(device, &memory) || nvml.capability(device, &major, &minor) || nvml.cores(device, &cores))
        return false;
    cuda_describe(info, name, uuid, cores / cores_of(major, minor), major, minor);
    info->memory = memory.total;
    return true;
}

/* One entry of CUDA_VISIBLE_DEVICES: a number, or the beginning of a UUID. */
static int find_visible(const char *word, const hcy_device_info *all, size_t n)
{
    char *end;
    long number = strtol(word, &end, 10);
    if (end != word && !*end)
        return number >= 0 && (size_t)number < n ? (int)number : -1;
    /* CUDA refuses a beginning that fits several GPUs; -2 is as good as not found. */
    int found = -1;
    for (size_t i = 0; i < n && *word; i++)
        if (!strncmp(all[i].stable + strlen("cuda:"), word, strlen(word)))
            found = found < 0 ? (int)i : -2;
    return found;
}

/* Those of `all` that CUDA_VISIBLE_DEVICES lets through, in its order; up to the first that is none, as CUDA has it. */
static bool keep_visible(hcy_device_info *kept, size_t *n_kept, const hcy_device_info *all, size_t n)
{
    char text[1000], *save = NULL;
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    *n_kept = visible ? 0 : n;
    if (!visible) {
        memcpy(kept, all, n * sizeof *all);
        return true;
    }
    /* Slices of a GPU are named in ways that only CUDA resolves. */
    if (strlen(visible) >= sizeof text || strstr(visible, "MIG"))
        return false;
    snprintf(text, sizeof text, "%s", visible);
    for (char *word = strtok_r(text, ", ", &save); word; word = strtok_r(NULL, ", ", &save)) {
        int i = find_visible(word, all, n);
        if (i < 0 || *n_kept == n)
            break;
        kept[(*n_kept)++] = all[i];
    }
    return true;
}

/* In CUDA's order by default the fastest comes first: which of several kinds that is, only CUDA says. */
static bool order_known(const hcy_device_info *all, size_t n)
{
    const char *order = getenv("CUDA_DEVICE_ORDER");
    bool same = true;
    for (size_t i = 1; i < n; i++)
        same = same && !strcmp(all[i].description, all[0].description);
    return same || (order && !strcmp(order, "PCI_BUS_ID"));
}

bool cuda_nvml_list(hcy_device_info **infos, size_t *n)
{
    unsigned count = 0;
    bool good = begin_nvml();
    if (!good)
        return false;
    good = !nvml.count(&count);
    /* One allocation holds all and behind them those that are kept; the caller frees it as a whole. */
    hcy_device_info *all = calloc(2 * (size_t)count + 1, sizeof *all), *kept = all ? all + count : NULL;
    good = good && all;
    for (unsigned i = 0; good && i < count; i++) {
        nvmlDevice_t device;
        good = !nvml.by_index(i, &device) && fill_from_nvml(&all[i], device);
    }
    /* The session ends at once: the list is complete, and nothing of NVML is needed until a sensor is
     * read. */
    nvml.shutdown();
    good = good && order_known(all, count) && keep_visible(kept, n, all, count);
    if (!good) {
        free(all);
        return false;
    }
    /* The visible ones are numbered in CUDA's order, so that these names open the same GPUs. */
    memmove(all, kept, *n * sizeof *all);
    for (size_t i = 0; i < *n; i++)
        snprintf(all[i].name, sizeof all[i].name, "cuda:%zu", i);
    *infos = all;
    return true;
}

/* --- Sensors --- */

static int read_sensor(unsigned *value, nvmlDevice_t device, const char *key)
{
    if (!strcmp(key, "power_mw"))
        return nvml.power(device, value);
    if (!strcmp(key, "clock_mhz"))
        return nvml.clock(device, NVML_CLOCK_SM, value);
    if (!strcmp(key, "memory_clock_mhz"))
        return nvml.clock(device, NVML_CLOCK_MEMORY, value);
    return nvml.temperature(device, 0, value);
}

bool cuda_nvml_knows(const char *key)
{
    static const char *const keys[] = { "power_mw", "clock_mhz", "memory_clock_mhz", "temperature_c" };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (!strcmp(key, keys[i]))
            return true;
    return false;
}

int cuda_nvml_read(int64_t *value, const char *uuid, const char *key)
{
    nvmlDevice_t device;
    unsigned number = 0;
    if (!begin_nvml())
        return hcy_fail(HCY_EUNSUPPORTED, "the GPU's \"%s\" cannot be read: libnvidia-ml.so.1 is not here",
                        key);
    /* NVML counts GPUs otherwise than CUDA does under CUDA_VISIBLE_DEVICES; the UUID is the same in both. */
    int result = nvml.by_uuid(uuid, &device);
    if (!result)
        result = read_sensor(&number, device, key);
    nvml.shutdown();
    *value = number;
    return result ? hcy_fail_vendor(HCY_EUNSUPPORTED, result, "NVML", "the GPU does not tell its \"%s\"", key)
                  : 0;
}
