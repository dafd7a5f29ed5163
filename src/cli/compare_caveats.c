/* compare_caveats.c - what a reader has to know before a report's figures are believed: that the machine was not idle,
 * that a device was measured too shortly, that two reports are not of the same work.  All of it follows from the
 * report's own keys. */
#include "compare.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* Half of a processor's time taken by others is more than runs differ by; of many processors, one in twenty. */
#define IDLE_LOAD 0.5
#define IDLE_SHARE 0.05
/* Of what is measured twice a tenth may differ, a limit that is passed by more was measured on another machine. */
#define PASSED_LIMIT 1.1
/* A run's beginning and end are some milliseconds. */
#define SHORT_ROUND 0.1
enum { FEW_FRAMES = 8 };

static void add_caveat(json_t *caveats, const char *fmt, ...) HCY_PRINTF(2, 3);

static void add_caveat(json_t *caveats, const char *fmt, ...)
{
    char text[640];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    json_array_append_new(caveats, value_text(text));
}

static void find_busy_machine(json_t *caveats, const json_t *report)
{
    char load[COMPARE_NUMBER], processors[COMPARE_NUMBER];
    double busy = value_number(report, "machine.load_before"), n = value_number(report, "machine.processors_online");
    if (busy >= fmax(IDLE_LOAD, IDLE_SHARE * n))
        add_caveat(caveats, "the machine was not idle (load %s on %s processors before the first measurement): these are the "
                            "rates of what others left; measure again when it is", compare_number(load, busy),
                   compare_number(processors, n));
}

static void find_passed_limit(json_t *caveats, const json_t *device)
{
    double efficiency = value_number(device, "limits.efficiency");
    if (efficiency > PASSED_LIMIT)
        add_caveat(caveats, "%.64s: %.0f %% of its limit: something else took the machine while the one or the other was "
                            "measured; measure again", compare_name(device), 100 * efficiency);
}

/* Frames of a stack that is too short for the device are mostly waited for, however often it is run. */
static void find_short_rounds(json_t *caveats, const json_t *device)
{
    double rate = value_number(device, "frames_per_s"), runs = value_number(device, "runs_of_a_round");
    double frames = value_number(device, "frames_of_a_round") / (runs >= 1 ? runs : 1);
    char ms[COMPARE_NUMBER];
    if (frames >= FEW_FRAMES && !(frames < SHORT_ROUND * rate))
        return;
    if (isfinite(frames) && isfinite(rate))
        add_caveat(caveats, "%.64s: its runs had %.0f frame%s and took %s ms, mostly a run's beginning and end: a stack of "
                            "more frames says more", compare_name(device), frames, frames == 1 ? "" : "s",
                   compare_number(ms, 1e3 * frames / rate));
}

json_t *compare_caveats(const json_t *report)
{
    const json_t *device;
    json_t *caveats = json_array();
    size_t i;
    find_busy_machine(caveats, report);
    json_array_foreach(value_at(report, "devices"), i, device)
    {
        /* Figures of no hardware are marked, and say nothing anyway. */
        if (*compare_mark(device) || value_string(device, "error"))
            continue;
        find_passed_limit(caveats, device);
        find_short_rounds(caveats, device);
    }
    return caveats;
}

/* A value as a reader of the report would write it; "-" where there is none. */
static void name_value(char *text, size_t size, const json_t *value)
{
    if (json_is_string(value))
        snprintf(text, size, "%.64s", json_string_value(value));
    else if (json_is_number(value))
        snprintf(text, size, "%.6g", json_number_value(value));
    else
        snprintf(text, size, "-");
}

/* Appends "; WHAT A and B", without the semicolon at first, as far as there is room. */
static void append_difference(char *text, size_t size, const char *what, const char *of_a, const char *of_b)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s %s and %s", used ? "; " : "", what, of_a, of_b);
}

json_t *compare_differences(const json_t *a, const json_t *b)
{
    /* All that decides how much work a frame is.  The plan's hash has the geometry, the mask and what is corrected; it
     * follows from what stands before it, so it is told only where that does not say why. */
    static const char *const keys[][2] = {
        { "frames", "stack.frames_used" },        { "height", "stack.height" },
        { "width", "stack.width" },               { "bytes a pixel", "stack.pixel_bytes" },
        { "bins", "stack.bins" },                 { "splitting", "stack.split" },
        { "errors", "stack.error_model" },        { "points of the transforms", "nufft.points" },
        { "stored bytes a frame", "stack.stored_bytes" }, { "geometry, mask or corrections: plans", "stack.plan" },
    };
    enum { LAST_BUT = 2 };
    const size_t n = sizeof keys / sizeof keys[0];
    json_t *differences = json_array();
    char text[512] = "";
    for (size_t i = 0; i < n && !(i + LAST_BUT >= n && *text); i++) {
        char of_a[80], of_b[80];
        const json_t *in_a = value_at(a, keys[i][1]), *in_b = value_at(b, keys[i][1]);
        name_value(of_a, sizeof of_a, in_a);
        name_value(of_b, sizeof of_b, in_b);
        /* What only one of them measured is beside nothing. */
        if (in_a && in_b && strcmp(of_a, of_b))
            append_difference(text, sizeof text, keys[i][0], of_a, of_b);
    }
    if (*text)
        add_caveat(differences, "A and B did not do the same work, so B/A is no comparison: %s", text);
    return differences;
}
