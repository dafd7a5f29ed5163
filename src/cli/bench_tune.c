/* bench_tune.c - halcyon bench --tune: the fastest of a device's rows of parameters, kept for its next opening.
 *
 * What the parameters are, is the device's own affair: it says how many rows there are ("tuning_rows"), takes one by
 * the option row=N, and keeps it with keep=1. */
#include "bench_tune.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The device with another row, also where it was opened with one. */
static int open_row(hcy_device **out, hcy_device *device, int64_t row, const char *more)
{
    char text[sizeof ((hcy_device_info *)0)->name + 40], *end = text;
    for (const char *part = hcy_device_get_info(device)->name, *next; *part; part = next) {
        next = part + 1 + strcspn(part + 1, "@");
        if (strncmp(part, "@row=", 5) && strncmp(part, "@keep=", 6)) {
            memcpy(end, part, (size_t)(next - part));
            end += next - part;
        }
    }
    snprintf(end, sizeof text - (size_t)(end - text), "@row=%lld%s", (long long)row, more);
    return hcy_device_open(out, text);
}

static int measure_row(hcy_device *device, int64_t row, cli_tune_cost *cost, void *context, double *seconds)
{
    hcy_device *with = NULL;
    /* Parameters take effect when a device is opened, so each row has an opening of its own. */
    int status = open_row(&with, device, row, "");
    if (!status)
        status = cost(context, with, seconds);
    hcy_device_release(with);
    return status;
}

static int keep_row(hcy_device *device, int64_t row)
{
    hcy_device *with = NULL;
    int status = open_row(&with, device, row, "@keep=1");
    hcy_device_release(with);
    return status;
}

int cli_tune(hcy_device *device, cli_tune_cost *cost, void *context, int64_t *row, int64_t *rows)
{
    double best = INFINITY;
    int status = hcy_device_get_i64(rows, device, "tuning_rows"), refused = 0;
    /* A device without such parameters is not at fault: there is nothing to tune. */
    if (status) {
        *rows = 0;
        return status == HCY_ENOENT || status == HCY_EUNSUPPORTED ? 0 : status;
    }
    for (int64_t i = 0; i < *rows; i++) {
        double seconds = INFINITY;
        status = measure_row(device, i, cost, context, &seconds);
        /* A lost device fails every row from here on. Any other failure is that of one row, such as a group
         * size that the device refuses. */
        if (status == HCY_ELOST)
            return status;
        refused = status ? status : refused;
        if (seconds < best) {
            best = seconds;
            *row = i;
        }
    }
    /* Only where every row failed is a failure told. */
    return best < INFINITY ? keep_row(device, *row) : refused;
}
