/* integrate_layout.c - the layouts of a computation under pyFAI's names, as devices, readers and processes. */
#include "integrate.h"
#include <halcyon/device.h>
#include <stdlib.h>
#include <string.h>

enum { SERIAL, POOL, PROCESSES, GPU, FPGA, ALL };
const char *const integrate_layouts[] = { "serial", "pool", "processes", "gpu", "fpga", "all", NULL };

size_t integrate_processors(void)
{
    hcy_device_info *list = NULL;
    size_t n = 0, units = 1;
    /* A list that cannot be had is told by whoever opens devices. */
    if (hcy_device_list(&list, &n))
        return 1;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i].name, "cpu"))
            units = list[i].units;
    hcy_list_free(list);
    return units;
}

/* `name` as often as `n` says, with commas. */
static char *repeat_device(const char *name, size_t n)
{
    size_t length = strlen(name) + 1;
    char *text = malloc(n * length + 1);
    for (size_t i = 0; text && i < n; i++)
        snprintf(text + i * length, length + 1, "%s,", name);
    if (text)
        /* The last comma would name a device more. */
        text[n * length - 1] = 0;
    return text;
}

int integrate_layout(struct integrate_values *v)
{
    static const char *const devices[] = { [SERIAL] = "cpu@threads=1", [POOL] = "cpu@threads=1", [GPU] = "gpu",
                                           [FPGA] = "fpga",            [ALL] = "all" };
    /* Processes share whatever devices there are, so this layout alone leaves room for --devices. */
    if (v->layout == PROCESSES) {
        if (!v->processes.given)
            v->processes = (struct cli_int){ 1, (int64_t)integrate_processors() };
        return CLI_OK;
    }
    if (v->devices || v->processes.given)
        return cli_usage("--layout %s says what computes: leave %s", integrate_layouts[v->layout],
                         v->devices ? "--devices" : "--processes");
    v->layout_devices = repeat_device(devices[v->layout], v->layout == POOL ? integrate_processors() : 1);
    if (!v->layout_devices)
        return cli_error("no memory for a list of devices");
    v->devices = v->layout_devices;
    /* One reader feeds all; of the serial layout each frame is a launch. */
    v->readers = v->layout == SERIAL || v->layout == POOL;
    if (v->layout == SERIAL && !v->batch.given)
        v->batch = (struct cli_int){ 1, 1 };
    return CLI_OK;
}
