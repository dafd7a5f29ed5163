/* compare.h - the parts of halcyon compare.
 *
 * A report is a JSON value from its beginning on: what is measured is put into it, and the table, the page and the file
 * are made of it alone, so that a report that was stored shows what a fresh one does.  doc/compare.md has its keys.
 *
 * Each device is measured in a process of its own, forked before any device is open: its memory is counted alone, and
 * one that crashes or hangs is a line of the report.  Threads: none but those of pipelines.
 */
#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include "cli.h"

/* Digits of a number in a file: more than any time or rate has. */
enum { COMPARE_VERSION = 1, COMPARE_REPORTS = 2, COMPARE_DIGITS = 9 };

struct compare_values {
    const char *poni, *devices, *dataset, *output, *cells, *finufft, *python;
    struct cli_int npt, frames, batch, rounds, points;
    struct cli_real limit;
    int split, errors, nufft, sizes, json, quiet;
};

#ifdef HAVE_JANSSON
#include "stage.h"
#include <jansson.h>
#include <sys/types.h>

/* What all processes share: inherited by fork, `mask` and the curves in shared memory. */
struct compare_job {
    const struct compare_values *values;
    const char *path;
    char folder[256]; /* for files that live as long as a measurement (compare_folder.c) */
    pid_t remover;    /* the process that removes it, when folder_end is closed everywhere; 0: there is none */
    int folder_end;
    const hcy_azint_plan *plan;
    uint8_t *mask;
    double *curves, *reference; /* [n][2][n_bins]: intensity, sigma; NaN: the frame failed */
    size_t n, n_bins;
};

/* --- Values of a report (compare_value.c) --- */

/* A number that is not finite is null, and so is text that is NULL; text that is no UTF-8 has '?' in its place. */
void value_put(json_t *object, const char *key, double number);
void value_put_text(json_t *object, const char *key, const char *text);
void value_put_format(json_t *object, const char *key, const char *fmt, ...) HCY_PRINTF(3, 4);
json_t *value_text(const char *text);
json_t *value_real(double number); /* a finite one */
/* By a path of keys, "limits.efficiency"; NULL: not there, or null. */
const json_t *value_at(const json_t *value, const char *path);
double value_number(const json_t *value, const char *path);      /* NaN: there is none */
const char *value_string(const json_t *value, const char *path); /* NULL: there is none */
int value_true(const json_t *value, const char *path);
/* The sorted numbers' quantile, 0 to 1; NaN of none. */
double value_quantile(const double *sorted, size_t n, double q);
void value_sort(double *numbers, size_t n);

/* --- Measuring --- */

/* The job's folder, CLI_*; its end. */
int compare_make_folder(struct compare_job *job);
void compare_remove_folder(struct compare_job *job);
/* The job's stack, as inputs_open() has it. */
int compare_open(hcy_stack **stack, size_t *n_files, const struct compare_job *job);
/* A whole report of a stack, CLI_*. */
int compare_measure(json_t **report, const struct compare_values *values, const char *path);
/* In a process of its own: `work` fills an object.  What ends the process otherwise becomes its "error". */
typedef int compare_work(json_t *object, const struct compare_job *job, const void *what);
json_t *compare_apart(const struct compare_job *job, compare_work *work, const void *what);
/* What compare_apart() runs for a list of devices, "cpu,cuda:0": rates, curves, latency, stages, memory, energy, limits;
 * the timeline; curves and rate alone; curves alone. */
compare_work compare_devices, compare_timeline, compare_rate, compare_once;
/* How a device's curves in job->curves differ from the reference. */
void compare_curves(json_t *object, const struct compare_job *job);
/* {"host_to_device_gb_per_s": ..., "memory_gb_per_s": ...} of an open device (compare_limits.c). */
int compare_limits(json_t *limits, hcy_device *device);
/* The machine that this runs on (compare_machine.c). */
json_t *compare_machine(void);
/* Whether --nufft can be done as it was asked for. */
compare_work compare_check_nufft;
/* "nufft" and "pyfai" of a report (compare_nufft.c, compare_pyfai.c). */
void compare_nufft(json_t *report, const struct compare_job *job, const json_t *devices);
void compare_pyfai(json_t *report, const struct compare_job *job);

/* --- Energy (compare_energy.c) --- */

struct energy;
/* Starts to watch what can be read of the machine and of these devices; NULL: no memory. */
struct energy *energy_begin(hcy_device *const *devices, size_t n);
int energy_readable(const struct energy *energy);
/* Ends it: the sources with joules for each of `frames`, or the reason why there are none, to object["energy"]. */
void energy_end(json_t *object, struct energy *energy, uint64_t frames);

/* --- What a reader has to know first (compare_caveats.c) --- */

/* Sentences, the caller's: of one report; of what makes two of them no comparison. */
json_t *compare_caveats(const json_t *report);
json_t *compare_differences(const json_t *a, const json_t *b);

/* --- Showing (compare_table.c, compare_page.c) --- */

void compare_print(FILE *out, json_t *const *reports, size_t n);
/* A number as people read it, three digits or all before the point; "-" where there is none. */
enum { COMPARE_NUMBER = 32 };
const char *compare_number(char text[COMPARE_NUMBER], double number);
/* CLI_*: a page of one report, or of two side by side. */
int compare_page(const char *path, json_t *const *reports, size_t n);
/* A column of a table: where its numbers are in an entry, and what they are multiplied by. */
struct compare_column {
    const char *head, *path;
    double factor;
};
/* Hands over each device that is in one of two reports, NULL where it is missing, and last all together. */
typedef void compare_change(FILE *out, const char *name, const json_t *a, const json_t *b);
void compare_each_change(FILE *out, const json_t *a, const json_t *b, compare_change *change);
/* What a device of a report is called, and whether its figures are those of no hardware. */
const char *compare_name(const json_t *device);
const char *compare_mark(const json_t *device);
#endif

#endif
