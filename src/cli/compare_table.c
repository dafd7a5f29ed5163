/* compare_table.c - a report in the terminal: one line a device and subject, as wide as a terminal is. */
#include "compare.h"
#include <math.h>
#include <string.h>

const char *compare_number(char text[COMPARE_NUMBER], double x)
{
    double size = fabs(x);
    /* About three digits: runs differ by a few in a hundred, and more would pretend to know better. */
    int digits = size >= 100 || x == floor(x) ? 0 : size >= 10 ? 1 : 2;
    if (!isfinite(x))
        return "-";
    if (size > 0 && (size < 0.1 || size >= 1e9))
        snprintf(text, COMPARE_NUMBER, "%.2g", x);
    else
        snprintf(text, COMPARE_NUMBER, "%.*f", digits, x);
    return text;
}

/* One number in a column of ten. */
static void print_cell(FILE *out, const json_t *value, const char *path, double factor)
{
    char text[COMPARE_NUMBER];
    fprintf(out, " %10s", compare_number(text, factor * value_number(value, path)));
}

static void print_name(FILE *out, const char *name, const char *mark)
{
    int room = 27;
    for (; *name && room; room--)
        name = cli_print_character(out, name);
    fprintf(out, "%*s%s", room, "", *mark ? "*" : " ");
}

/* A table of numbers: a line for each entry that has no error. */
static void print_numbers(FILE *out, const char *title, const struct compare_column *columns, size_t n,
                          const json_t *entries, const json_t *together)
{
    fprintf(out, "\n%-28.28s", title);
    for (size_t c = 0; c < n; c++)
        fprintf(out, " %10s", columns[c].head);
    fputc('\n', out);
    for (size_t i = 0; i < json_array_size(entries) + (together != NULL); i++) {
        const json_t *entry = i < json_array_size(entries) ? json_array_get(entries, i) : together;
        /* The table of rates has said why; here it would be a line of dashes. */
        if (value_string(entry, "error"))
            continue;
        print_name(out, entry == together ? "all together" : compare_name(entry), compare_mark(entry));
        for (size_t c = 0; c < n; c++)
            print_cell(out, entry, columns[c].path, columns[c].factor);
        fputc('\n', out);
    }
}

static void print_caveats(FILE *out, json_t *caveats)
{
    const json_t *caveat;
    size_t i;
    json_array_foreach(caveats, i, caveat)
    {
        fputs("! ", out);
        cli_print_words(out, json_string_value(caveat));
        fputc('\n', out);
    }
    json_decref(caveats);
}

/* --- Results --- */

static void print_result(FILE *out, const json_t *entry)
{
    char largest[COMPARE_NUMBER], median[COMPARE_NUMBER];
    double failed = value_number(entry, "failed_frames");
    fprintf(out, "  ");
    if (value_true(entry, "result.equal"))
        fprintf(out, "the reference's bits");
    else
        fprintf(out, "off by %s at most, %s in the median", compare_number(largest, value_number(entry, "result.largest")),
                compare_number(median, value_number(entry, "result.median")));
    if (failed > 0)
        fprintf(out, "; %.0f frames FAILED", failed);
    fputc('\n', out);
}

static void print_rate_line(FILE *out, const json_t *entry, const char *name)
{
    print_name(out, name, compare_mark(entry));
    const char *error = value_string(entry, "error");
    if (error) {
        fputs(" no figures: ", out);
        cli_print_words(out, error);
        fputc('\n', out);
        return;
    }
    print_cell(out, entry, "frames_per_s", 1);
    print_cell(out, entry, "limits.frames_per_s", 1);
    print_cell(out, entry, "limits.efficiency", 100);
    print_result(out, entry);
}

static void print_rates(FILE *out, const json_t *report)
{
    const json_t *devices = value_at(report, "devices"), *together = value_at(report, "together");
    char text[COMPARE_NUMBER];
    fprintf(out, "%-28s %10s %10s %10s  %s\n", "", "frames/s", "its limit", "% of it", "results");
    for (size_t i = 0; i < json_array_size(devices); i++)
        print_rate_line(out, json_array_get(devices, i), compare_name(json_array_get(devices, i)));
    if (together)
        print_rate_line(out, together, "all together");
    if (isfinite(value_number(together, "of_the_sum")))
        fprintf(out, "%-28s %10s   so all together is %.2f of the sum\n", "  the sum of the parts",
                compare_number(text, value_number(together, "sum_of_parts_frames_per_s")),
                value_number(together, "of_the_sum"));
    /* That sum is of things which cannot be had at once. */
    if (value_string(together, "sharing_processors")) {
        fprintf(out, "%-28s %10s   so all together is %.2f of it; these work with the same processors: ",
                "  with the fastest sharer", compare_number(text, value_number(together, "sum_of_shares_frames_per_s")),
                value_number(together, "of_the_shares"));
        cli_print_words(out, value_string(together, "sharing_processors"));
        fputc('\n', out);
    }
    const json_t *pyfai = value_at(report, "pyfai");
    if (pyfai) {
        char name[64];
        const char *version = value_string(pyfai, "version");
        snprintf(name, sizeof name, "pyFAI %s", version ? version : "");
        print_rate_line(out, pyfai, name);
    }
}

/* --- Energy and memory --- */

static void print_energy(FILE *out, const json_t *entry, const char *name)
{
    const json_t *energy = value_at(entry, "energy"), *source;
    const char *why = value_string(energy, "not_readable");
    char joules[COMPARE_NUMBER], watts[COMPARE_NUMBER];
    size_t i;
    if (!energy)
        return;
    json_array_foreach(value_at(energy, "sources"), i, source)
    {
        print_name(out, name, compare_mark(entry));
        fprintf(out, " %10s %10s  ", compare_number(joules, value_number(source, "joules_per_frame")),
                compare_number(watts, value_number(source, "watts")));
        cli_print_words(out, value_string(source, "source") ? value_string(source, "source") : "?");
        fputc('\n', out);
    }
    if (!why)
        return;
    print_name(out, name, compare_mark(entry));
    fputs(" not readable: ", out);
    cli_print_words(out, why);
    fputc('\n', out);
}

static void print_all_energy(FILE *out, const json_t *report)
{
    const json_t *device, *devices = value_at(report, "devices");
    size_t i;
    fprintf(out, "\n%-28s %10s %10s\n", "energy", "J/frame", "W");
    json_array_foreach(devices, i, device)
    {
        print_energy(out, device, compare_name(device));
    }
    print_energy(out, value_at(report, "together"), "all together");
}

/* --- Notes, marks --- */

static void print_notes(FILE *out, const json_t *report)
{
    const json_t *device, *note;
    size_t i, k;
    int any = 0;
    json_array_foreach(value_at(report, "devices"), i, device)
    {
        any |= *compare_mark(device) != '\0';
        json_array_foreach(value_at(device, "notes"), k, note)
        {
            cli_print_words(out, compare_name(device));
            fputs(": not measured: ", out);
            cli_print_words(out, json_string_value(note) ? json_string_value(note) : "?");
            fputc('\n', out);
        }
    }
    if (any)
        fputs("* virtual: functional only, its speed means nothing\n", out);
}

static void print_sizes(FILE *out, const json_t *sizes)
{
    const json_t *entry;
    size_t i;
    fprintf(out, "\n%-28s %10s %10s  result\n", "sizes", "Mpixel", "frames/s");
    json_array_foreach(sizes, i, entry)
    {
        print_name(out, compare_name(entry), compare_mark(entry));
        print_cell(out, entry, "pixels", 1e-6);
        if (value_string(entry, "error")) {
            fputs("  no figures: ", out);
            cli_print_words(out, value_string(entry, "error"));
            fputc('\n', out);
            continue;
        }
        print_cell(out, entry, "frames_per_s", 1);
        print_result(out, entry);
    }
}

static void print_lists(FILE *out, const json_t *report)
{
    static const struct compare_column nufft[] = { { "points ms", "points_ms", 1 },
                                           { "execute ms", "execute_ms", 1 },
                                           { "Mpoints/s", "mpoints_per_s", 1 },
                                           { "error", "error", 1 },
                                           { "FINUFFT:pt", "finufft.points_ms", 1 },
                                           { "execute ms", "finufft.execute_ms", 1 },
                                           { "its error", "finufft.error", 1 } };
    enum { NUFFT = sizeof nufft / sizeof nufft[0] };
    const json_t *device, *cell;
    size_t i, k;
    if (value_at(report, "sizes"))
        print_sizes(out, value_at(report, "sizes"));
    json_array_foreach(value_at(report, "nufft.devices"), i, device)
    {
        fputc('\n', out);
        print_name(out, compare_name(device), "");
        for (size_t c = 0; c < NUFFT; c++)
            fprintf(out, " %10s", nufft[c].head);
        fputc('\n', out);
        json_array_foreach(value_at(device, "cells"), k, cell)
        {
            /* Reports come from files, too, which may lack anything. */
            print_name(out, value_string(cell, "cell") ? value_string(cell, "cell") : "?", compare_mark(device));
            for (size_t c = 0; c < NUFFT; c++)
                print_cell(out, cell, nufft[c].path, nufft[c].factor);
            fputc('\n', out);
        }
        /* A device may fail after some cells, so what it did comes first, and then why there is no more. */
        if (value_string(device, "error")) {
            fputs("  ", out);
            cli_print_words(out, value_string(device, "error"));
            fputc('\n', out);
        }
    }
}

static void print_report(FILE *out, const json_t *report)
{
    static const struct compare_column latency[] = { { "p50 ms", "latency_ms.p50", 1 },   { "p90", "latency_ms.p90", 1 },
                                             { "p99", "latency_ms.p99", 1 },      { "p99.9", "latency_ms.p99_9", 1 },
                                             { "max", "latency_ms.max", 1 },      { "of frames", "latency_ms.frames", 1 } };
    static const struct compare_column times[] = { { "read", "time_ms.read", 1 },       { "parse", "time_ms.parse", 1 },
                                           { "copy", "time_ms.copy", 1 },       { "decode", "time_ms.decode", 1 },
                                           { "integrate", "time_ms.integrate", 1 },
                                           { "both in 1", "time_ms.decode_and_integrate", 1 },
                                           { "divide", "time_ms.divide", 1 },   { "write", "time_ms.write", 1 } };
    static const struct compare_column limits[] = { { "copy GB/s", "limits.host_to_device_gb_per_s", 1 },
                                            { "memory", "limits.memory_gb_per_s", 1 },
                                            { "link fr/s", "limits.link_frames_per_s", 1 },
                                            { "kernels", "limits.kernels_frames_per_s", 1 },
                                            { "host MB", "memory.host_bytes", 1e-6 },
                                            { "device MB", "memory.device_bytes", 1e-6 } };
    const json_t *devices = value_at(report, "devices"), *together = value_at(report, "together");
    const char *host = value_string(report, "machine.host"), *cpu = value_string(report, "machine.processor");
    /* Each number of one call needs a buffer of its own, as all are there before the first is printed. */
    char text[4][COMPARE_NUMBER];
    if (together && value_string(together, "error"))
        together = NULL;
    cli_print_words(out, host ? host : "?");
    fprintf(out, ": %s x ", compare_number(text[0], value_number(report, "machine.processors_online")));
    cli_print_words(out, cpu ? cpu : "?");
    fprintf(out, "\n%s frame%s of %s x %s pixels, %s bins\n",
            compare_number(text[0], value_number(report, "stack.frames_used")),
            value_number(report, "stack.frames_used") == 1 ? "" : "s",
            compare_number(text[1], value_number(report, "stack.height")),
            compare_number(text[2], value_number(report, "stack.width")),
            compare_number(text[3], value_number(report, "stack.bins")));
    print_caveats(out, compare_caveats(report));
    fputc('\n', out);
    print_rates(out, report);
    print_numbers(out, "latency at half that rate", latency, 6, devices, together);
    print_numbers(out, "ms a frame in each stage", times, 8, devices, together);
    print_numbers(out, "limits, and memory", limits, 6, devices, together);
    print_all_energy(out, report);
    print_lists(out, report);
    print_notes(out, report);
}

/* --- Two of them --- */

static void print_change(FILE *out, const char *name, const json_t *a, const json_t *b)
{
    static const struct compare_column columns[] = { { "", "frames_per_s", 1 }, { "", "latency_ms.p50", 1 } };
    char text[COMPARE_NUMBER];
    print_name(out, name, *compare_mark(a) ? compare_mark(a) : compare_mark(b));
    for (size_t c = 0; c < 2; c++) {
        print_cell(out, a, columns[c].path, 1);
        print_cell(out, b, columns[c].path, 1);
        fprintf(out, " %6s", compare_number(text, value_number(b, columns[c].path) / value_number(a, columns[c].path)));
    }
    fputc('\n', out);
}

static void print_changes(FILE *out, const json_t *a, const json_t *b)
{
    fprintf(out, "\n%-28s %10s %10s %6s %10s %10s %6s\n", "B beside A", "frames/s A", "B", "B/A", "p50 ms A", "B", "B/A");
    print_caveats(out, compare_differences(a, b));
    compare_each_change(out, a, b, print_change);
}

void compare_print(FILE *out, json_t *const *reports, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (n > 1) {
            fprintf(out, "%s--- %c, ", i ? "\n" : "", "AB"[i]);
            cli_print_words(out, value_string(reports[i], "date") ? value_string(reports[i], "date") : "?");
            fputs(" ---\n", out);
        }
        print_report(out, reports[i]);
    }
    if (n > 1)
        print_changes(out, reports[0], reports[1]);
}
