/* group.c - see group.h.
 *
 * A group's curve is that of the image that is the sum of its frames, divided by the sum of their monitors; a group
 * with a frame that failed has failed, as a curve of fewer frames would look like one of less intensity.
 *
 * A running average is that curve of the last frames, divided by their number, for each frame anew: what is subtracted
 * from a sum of doubles would leave its rounding behind.  Frames that failed are left out of it. */
#include "group.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Is it a file, though it may not be there yet? */
static int is_file(const char *text)
{
    static const char *const ends[] = { ".npy", ".txt", ".dat", ".csv" };
    const char *dot = strrchr(text, '.');
    for (size_t i = 0; dot && i < sizeof ends / sizeof ends[0]; i++)
        if (!strcmp(dot, ends[i]))
            return 1;
    return !access(text, F_OK);
}

/* A file's name, or a path in the stack. */
static void name_monitor(struct group *g, const hcy_stack_info *info, const char *text)
{
    size_t size = sizeof g->monitor_path;
    /* A path that is no file can only be a dataset of the stack. */
    if (strstr(text, "::") || !*info->dataset || is_file(text))
        snprintf(g->monitor_path, size, "%s", text);
    else
        snprintf(g->monitor_path, size, "%s::%s", info->path, text);
}

uint64_t group_monitored(void *group, uint64_t n, int rest)
{
    struct group *g = group;
    double *values;
    size_t n_values;
    /* The file is read again only when values are lacking. One that cannot be read now may be so the next
     * time. */
    if (g->n_monitor < n && !hcy_numbers_read(&values, &n_values, g->monitor_path, !rest)) {
        hcy_list_free(g->monitor);
        g->monitor = values;
        g->n_monitor = n_values;
    }
    return n < g->n_monitor ? n : g->n_monitor;
}

int group_read_monitor(struct group *g, const hcy_stack *stack, const char *text, int growing)
{
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    if (!text)
        return CLI_OK;
    name_monitor(g, info, text);
    if (growing) {
        /* Who writes the monitor may begin later than the detector. */
        if (hcy_numbers_read(&g->monitor, &g->n_monitor, g->monitor_path, 1))
            cli_note("--monitor: waiting for it: %s", hcy_last_error()->text);
        if (!g->monitor)
            /* Other functions take a pointer that is not NULL for "there is a monitor". */
            g->monitor = calloc(1, sizeof *g->monitor);
        return g->monitor ? CLI_OK : cli_error("no memory for a monitor");
    }
    int status = hcy_numbers_read(&g->monitor, &g->n_monitor, g->monitor_path, 0);
    if (status)
        return cli_error("--monitor: %s", hcy_last_error()->text);
    /* A list of another length belongs to another stack: frames would be divided by wrong values. */
    if (g->n_monitor == info->frames)
        return CLI_OK;
    return cli_error("--monitor: %s has %zu %s, %s has %llu %s", g->monitor_path, g->n_monitor,
                     g->n_monitor == 1 ? "value" : "values", info->path, (unsigned long long)info->frames,
                     info->frames == 1 ? "frame" : "frames");
}

int group_open(struct group *g, struct failures *failures, const hcy_azint_plan *plan, uint64_t size, uint64_t window)
{
    g->failures = failures;
    g->size = size;
    g->window = window > 1 ? window : 0;
    int status = group_adds(g) ? hcy_azint_result_create(&g->sum, plan) : 0;
    if (!status && g->window && !(g->ring = calloc((size_t)g->window, sizeof *g->ring)))
        status = hcy_fail(HCY_ENOMEM, "no memory for averages of %llu frames", (unsigned long long)g->window);
    for (uint64_t i = 0; !status && i < g->window; i++)
        status = hcy_azint_result_create(&g->ring[i], plan);
    return status ? cli_fail(status) : CLI_OK;
}

int group_adds(const struct group *g)
{
    return g->size > 1 || g->window;
}

double group_monitor(void *group, uint64_t number)
{
    const struct group *g = group;
    return g->monitor[number];
}

static int add_to_group(struct group *g, const hcy_pipeline_frame *frame)
{
    if (!g->n) {
        g->first = frame->number;
        g->counts = 0;
        *g->why = 0;
    }
    if (!frame->result && !*g->why)
        snprintf(g->why, sizeof g->why, "of its frames %llu failed: %.256s",
                 (unsigned long long)frame->number, frame->why);
    /* Frames after a failed one are counted, so that the next group begins where it should. */
    int status = frame->result && !*g->why ? hcy_azint_result_add(g->sum, frame->result, g->n) : 0;
    g->n++;
    if (g->monitor)
        g->counts += g->monitor[frame->number];
    return status;
}

int group_end(struct group *g, hcy_curves *curves, uint64_t *written)
{
    int status = 0;
    *written = 0;
    if (!g->n)
        return 0;
    /* Division by the sum of monitors fails if that is 0, which is the group's failure and not the run's. */
    if (!*g->why && hcy_azint_result_merge(g->sum, g->n, g->monitor ? g->counts : 1)) {
        snprintf(g->why, sizeof g->why, "%s", hcy_last_error()->text);
        cli_note("the sum of %llu frames from %llu failed: %s", (unsigned long long)g->n,
                 (unsigned long long)g->first, g->why);
        status = failures_add(g->failures, g->first);
    }
    *written = !*g->why;
    g->n = 0;
    return status ? status : hcy_curves_append(curves, g->first, *g->why ? NULL : g->sum, g->why);
}

/* The frames behind `seen` that a running average has, oldest first, come to g->sum; *n: how many are good. */
static int add_window(uint64_t *n, struct group *g)
{
    uint64_t first = g->seen > g->window ? g->seen - g->window : 0;
    int status = 0;
    *n = 0;
    for (uint64_t i = first; !status && i < g->seen; i++) {
        const hcy_azint_result *frame = g->ring[i % g->window];
        /* A frame that failed has marked its place: no result has lost so many pixels. */
        if (frame->n_lost == UINT64_MAX)
            continue;
        status = hcy_azint_result_add(g->sum, frame, (*n)++);
    }
    return status;
}

/* What the average of n frames up to number `last` is divided by: their monitor, or their number. */
static double count_window(const struct group *g, uint64_t last, uint64_t n)
{
    uint64_t frames = g->seen < g->window ? g->seen : g->window;
    double counts = 0;
    if (!g->monitor)
        return (double)n;
    for (uint64_t i = 0; i < frames; i++)
        if (g->ring[(g->seen - 1 - i) % g->window]->n_lost != UINT64_MAX)
            counts += g->monitor[last - i];
    return counts;
}

static int average_frames(uint64_t *written, struct group *g, hcy_curves *curves, const hcy_pipeline_frame *frame)
{
    hcy_azint_result *kept = g->ring[g->seen % g->window];
    uint64_t n = 0;
    int status = 0;
    if (frame->result)
        status = hcy_azint_result_add(kept, frame->result, 0);
    else
        kept->n_lost = UINT64_MAX;
    g->seen++;
    if (!status)
        status = add_window(&n, g);
    if (status)
        return status;
    /* A frame that failed has no curve of its own place, even if others of the average have. */
    *g->why = 0;
    if (!frame->result)
        snprintf(g->why, sizeof g->why, "%s", frame->why);
    else if (hcy_azint_result_merge(g->sum, n, count_window(g, frame->number, n))) {
        snprintf(g->why, sizeof g->why, "%s", hcy_last_error()->text);
        cli_note("the average at frame %llu failed: %s", (unsigned long long)frame->number, g->why);
        status = failures_add(g->failures, frame->number);
    }
    *written = !*g->why;
    return status ? status : hcy_curves_append(curves, frame->number, *g->why ? NULL : g->sum, g->why);
}

int group_take(struct group *g, hcy_curves *curves, const hcy_pipeline_frame *frame, uint64_t *written)
{
    *written = 0;
    if (g->window)
        return average_frames(written, g, curves, frame);
    if (g->size < 2) {
        *written = frame->result != NULL;
        return hcy_curves_append_regions(curves, frame->number, frame->result, frame->regions, frame->why);
    }
    int status = add_to_group(g, frame);
    return status || g->n < g->size ? status : group_end(g, curves, written);
}

void group_close(struct group *g)
{
    hcy_list_free(g->monitor);
    for (uint64_t i = 0; g->ring && i < g->window; i++)
        hcy_azint_result_destroy(g->ring[i]);
    free(g->ring);
    hcy_azint_result_destroy(g->sum);
}
