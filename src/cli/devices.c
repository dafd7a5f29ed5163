/* devices.c - halcyon devices: the strings that -d accepts, and for each backend that is absent, why; it opens nothing.
 * And what other commands ask of devices. */
#include "cli.h"
#include <stdlib.h>
#include <string.h>

struct values {
    int json;
};

bool cli_compiles(const hcy_device *device)
{
    return strcmp(hcy_device_get_info(device)->backend, "cpu") != 0;
}

bool cli_open_processor(hcy_device ***devices, size_t *n, const char *list)
{
    const char *named = getenv("HALCYON_DEVICE");
    return !list && !(named && *named) && !hcy_device_open_list(devices, n, "cpu");
}

static const struct cli_option options[] = {
    { "json", 0, CLI_FLAG, offsetof(struct values, json), NULL, "as one JSON object", 0, 0, NULL },
    { NULL, 0, CLI_FLAG, 0, NULL, NULL, 0, 0, NULL }
};

const struct cli_command cli_devices_command = {
    "devices", "the accelerators there are, as -d takes them", "", 0, 0, options,
    "Options of a device go behind its name: cpu@threads=2@cores=0-1.  Kinds: gpu, fpga.\n"
    "Lists: cpu,gpu; all; auto (a GPU, else an FPGA, else the CPU)."
};

static const char *name_kind(int kind)
{
    static const char *const names[] = { "other", "cpu", "gpu", "fpga" }; /* by enum hcy_device_kind */
    return names[kind >= HCY_KIND_CPU && kind <= HCY_KIND_FPGA ? kind : 0];
}

static void print_device_list(const hcy_device_info *devices, size_t n, const hcy_backend_info *backends, size_t m)
{
    for (size_t i = 0; i < n; i++) {
        const hcy_device_info *d = &devices[i];
        printf("%-16s %s; %u unit%s", d->name, d->description, d->units, d->units == 1 ? "" : "s");
        if (d->memory)
            printf(", %.1f GB", 1e-9 * (double)d->memory);
        printf("\n");
    }
    for (size_t i = 0; i < m; i++)
        if (!backends[i].n_devices)
            printf("%-16s absent: %s\n", backends[i].name,
                   backends[i].reason[0] ? backends[i].reason : "it has no device here");
}

static void print_device_json(const hcy_device_info *devices, size_t n, const hcy_backend_info *backends, size_t m)
{
    struct cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_open(&json, NULL, '{');
    /* Lists that are empty are written too, so that a program finds the same keys everywhere. */
    cli_json_open(&json, "devices", '[');
    for (size_t i = 0; i < n; i++) {
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "device", devices[i].name);
        cli_json_text(&json, "stable", devices[i].stable);
        cli_json_text(&json, "backend", devices[i].backend);
        cli_json_text(&json, "kind", name_kind(devices[i].kind));
        cli_json_text(&json, "description", devices[i].description);
        cli_json_int(&json, "units", devices[i].units);
        cli_json_int(&json, "memory", (int64_t)devices[i].memory);
        cli_json_close(&json, '}');
    }
    cli_json_close(&json, ']');
    /* A backend without a device has a status and a reason, which answer why a device is missing. */
    cli_json_open(&json, "backends", '[');
    for (size_t i = 0; i < m; i++) {
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "backend", backends[i].name);
        cli_json_text(&json, "status", hcy_status_name(backends[i].status));
        cli_json_text(&json, "reason", backends[i].reason[0] ? backends[i].reason : NULL);
        cli_json_text(&json, "origin", backends[i].origin);
        cli_json_int(&json, "devices", (int64_t)backends[i].n_devices);
        cli_json_close(&json, '}');
    }
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
}

int cli_devices(int argc, char **argv)
{
    struct values values = { 0 };
    hcy_device_info *devices = NULL;
    hcy_backend_info *backends = NULL;
    size_t n = 0, m = 0;
    int status;
    if (cli_parse(&cli_devices_command, argc, argv, &values, NULL, &status))
        return status;
    status = hcy_device_list(&devices, &n);
    if (!status)
        status = hcy_backend_list(&backends, &m);
    if (status)
        status = cli_fail(status);
    else
        (values.json ? print_device_json : print_device_list)(devices, n, backends, m);
    if (!status && !m)
        cli_note("there is no backend: neither a module hcy_*.so where HALCYON_BACKEND_PATH or the installation has them, nor "
                 "one that HALCYON_BACKENDS allows");
    hcy_list_free(devices);
    hcy_list_free(backends);
    return status ? status : cli_close_stdout(CLI_OK);
}
