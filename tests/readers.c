/* readers.c - how many readers a pipeline has by itself: of processors and devices that are none. */
#include "pipeline_priv.h"
#include "tap.h"

#include <halcyon/backend.h>

static uint32_t processors;
static hcy_device_info devices[4];
static bool stands_by[4];

uint32_t __wrap_hcy_processors(void);
const hcy_device_info *__wrap_hcy_device_get_info(const hcy_device *dev);
hcy_device *__wrap_hcy__device_at(const struct pipe_workers *workers, size_t i);
int __wrap_hcy__device_works(const struct pipe_workers *workers, size_t i);

uint32_t __wrap_hcy_processors(void)
{
    return processors;
}

const hcy_device_info *__wrap_hcy_device_get_info(const hcy_device *dev)
{
    return (const hcy_device_info *)dev;
}

hcy_device *__wrap_hcy__device_at(const struct pipe_workers *workers, size_t i)
{
    (void)workers;
    return (hcy_device *)&devices[i];
}

int __wrap_hcy__device_works(const struct pipe_workers *workers, size_t i)
{
    (void)workers;
    return !stands_by[i];
}

/* Devices by letters: c is a CPU of all processors, g an accelerator, s one that stands by. */
static void has_readers(uint32_t of, const char *letters, uint32_t want)
{
    hcy_pipeline p = { 0 };
    processors = of;
    for (; letters[p.workers.n]; p.workers.n++) {
        const char letter = letters[p.workers.n];
        devices[p.workers.n] = (hcy_device_info){ .kind = letter == 'c' ? HCY_KIND_CPU : HCY_KIND_GPU, .units = of };
        stands_by[p.workers.n] = letter == 's';
    }
    uint32_t got = hcy__readers_default(&p);
    ok(got == want, "%u processors and the devices %s: %u readers", of, letters, want);
    if (got != want)
        diag("%u", got);
}

int main(void)
{
    has_readers(1, "c", 1);
    has_readers(16, "c", 8);
    has_readers(15, "c", 8);
    has_readers(128, "c", 16);
    /* Beside accelerators: nobody's are the processor that starts launches and one for each of them. */
    has_readers(16, "g", 14);
    has_readers(32, "g", 20);
    has_readers(32, "gg", 29);
    has_readers(128, "gg", 30);
    has_readers(16, "gc", 14);
    has_readers(32, "gs", 20);
    has_readers(16, "cs", 8);
    for (uint32_t few = 1; few <= 4; few++)
        has_readers(few, "g", 2);
    return done_testing();
}
