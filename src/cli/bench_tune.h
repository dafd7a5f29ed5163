/* bench_tune.h - which of a device's rows of parameters is the fastest here. */
#ifndef CLI_BENCH_TUNE_H
#define CLI_BENCH_TUNE_H

#include <halcyon/device.h>

/* Seconds that a device takes for what it is to be good at, more than 0; HCY_E*. */
typedef int cli_tune_cost(void *context, hcy_device *device, double *seconds);

/* Opens the device once more with each of its rows, measures, has the best one kept for it: *row, of *rows.  Rows that
 * the device refuses are passed over.  *rows 0: the device has no such parameters. */
int cli_tune(hcy_device *device, cli_tune_cost *cost, void *context, int64_t *row, int64_t *rows);

#endif
