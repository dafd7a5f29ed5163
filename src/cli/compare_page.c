/* compare_page.c - one page of one report, or of two side by side: everything is in the file, nothing is loaded, no
 * script runs.  Light and dark are the reader's choice (prefers-color-scheme); on paper it is light. */
#include "compare_charts.h"
#include "compare_svg.h"
#include <halcyon/backend.h>
#include <math.h>
#include <string.h>

/* Colours of devices tell each other apart for most who see colours otherwise (Okabe and Ito's, darker where they are
 * lines on white). */
static const char light[] =
    "--bg:#fff;--fg:#1b2027;--soft:#59636e;--line:#d7dde3;--panel:#f5f7f9;--good:#0a7d4f;--bad:#b3261e;"
    "--d0:#0072b2;--d1:#d55e00;--d2:#009e73;--d3:#b0568a;--d4:#b8860b;--d5:#3fa0d8;--d6:#4a4f57;--d7:#9aa3ad;"
    "--s0:#8a939c;--s1:#b9c0c7;--s2:#e69f00;--s3:#56b4e9;--s4:#0072b2;--s5:#7b5ea7;--s6:#f0c75e;--s7:#009e73;"
    "--s8:#cc79a7;--s9:#a8795a;--on:#fff";
static const char dark[] =
    "--bg:#12161b;--fg:#e6eaee;--soft:#9aa5b1;--line:#2c343d;--panel:#1a2027;--good:#4cc38a;--bad:#ff8a80;"
    "--d0:#56b4e9;--d1:#f0883e;--d2:#2fc296;--d3:#d98cb8;--d4:#e6c229;--d5:#8ecdf2;--d6:#c3c9d1;--d7:#7f8a96;"
    "--s0:#7c8792;--s1:#525c66;--s2:#e69f00;--s3:#7cc6f0;--s4:#3a8fd0;--s5:#b39ddb;--s6:#a87f1e;--s7:#2fc296;"
    "--s8:#d98cb8;--s9:#c79a7b;--on:#10151a";

static const char style[] =
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,sans-serif}\n"
    "main{max-width:76rem;margin:0 auto;padding:1.2rem 1rem 3rem}\n"
    "h1{font-size:1.6rem;line-height:1.2;margin:.2rem 0 .4rem}h2{font-size:1.2rem;margin:2rem 0 .6rem}\n"
    "h3{font-size:1rem;margin:0 0 .5rem}p{margin:.3rem 0;overflow-wrap:anywhere}.soft{color:var(--soft)}\n"
    ".cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.7rem;margin:1rem 0}\n"
    ".caveat{border-left:.3rem solid var(--bad);padding-left:.6rem}.card{overflow-wrap:anywhere;background:var(--panel);border:1px solid var(--line);border-radius:.5rem;padding:.6rem .8rem}\n"
    ".card b{display:block;font-size:1.45rem;line-height:1.25}.card span{color:var(--soft);font-size:.85rem}\n"
    ".charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,22rem),1fr));gap:1.2rem;align-items:start}\n"
    ".pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:1.2rem;margin-bottom:1.2rem;"
    "align-items:start}\n"
    "figure{margin:0;padding:.9rem;border:1px solid var(--line);border-radius:.5rem;background:var(--panel);"
    "min-width:0;break-inside:avoid}\n"
    "figure svg{display:block;width:100%;max-width:26rem;height:auto;overflow:visible}\n"
    "figcaption{color:var(--soft);font-size:.82rem;line-height:1.4;margin-top:.5rem}\n"
    ".legend{list-style:none;display:flex;flex-wrap:wrap;gap:.1rem .9rem;margin:.5rem 0 0;padding:0;font-size:.85rem}\n"
    ".legend i{display:inline-block;width:.75rem;height:.75rem;border-radius:2px;margin-right:.35rem;vertical-align:-1px}\n"
    ".wide{overflow-x:auto;margin:.4rem 0}table{border-collapse:collapse;width:100%;font-size:.88rem}\n"
    "th,td{text-align:right;padding:.3rem .55rem;border-bottom:1px solid var(--line);font-variant-numeric:tabular-nums;"
    "vertical-align:top}\n"
    "th{font-weight:600;color:var(--soft);vertical-align:bottom}.good{white-space:nowrap}th:first-child,td:first-child,.words{text-align:left}.words{min-width:9rem}\n"
    "td:first-child{font-weight:600}.good{color:var(--good)}.bad{color:var(--bad)}.same{font-size:1.05rem;color:var(--good)}\n"
    ".tag{font-size:.75rem;font-weight:600;color:var(--bad);border:1px solid;border-radius:.3rem;padding:0 .3rem}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:0;font-size:.88rem}dt{color:var(--soft)}"
    "dd{margin:0;overflow-wrap:anywhere}\n"
    "text{font:11px system-ui,sans-serif;fill:var(--fg)}.mark{fill:var(--soft);font-size:10px}.name{font-weight:600}.name,.mark{paint-order:stroke;stroke:var(--panel);stroke-width:3px}\n"
    ".mid{text-anchor:middle}.end{text-anchor:end}.on{fill:var(--on);stroke:none}\n"
    "path{fill:none}.grid{stroke:var(--line)}.axis{stroke:var(--soft)}.limit{stroke:var(--fg);stroke-width:1.6}"
    ".far{stroke-dasharray:2 2}.outline{fill:none;stroke:var(--soft);stroke-dasharray:3 2}.ring{stroke:var(--bg)}"
    ".peer{fill:none;stroke:var(--soft);stroke-width:1.5}\n"
    ".modelled{stroke:var(--bad);stroke-width:2;stroke-dasharray:4 3;fill-opacity:.35}\n";

/* A phone shows a row as a list: no table of ten columns has room on it. */
static const char phone[] =
    "@media screen and (max-width:40rem){thead{display:none}table,tbody,tr,td{display:block}"
    "tr{border-bottom:2px solid var(--line);padding:.5rem 0}td,.words{text-align:right;border:0;padding:.12rem 0}"
    "td:first-child,td[colspan]{text-align:left}.none{display:none}figure{padding:.7rem .5rem}td[data-head]::before{content:attr(data-head);float:left;color:var(--soft);"
    "font-weight:400;margin-right:1rem}}\n";

/* Close together: a row of pictures that is too tall for the rest of a page leaves it empty. */
static const char paper[] =
    "@media print{main{max-width:none;padding:0}body{font-size:10pt}.charts{grid-template-columns:1fr 1fr;gap:.6rem}"
    ".cards{grid-template-columns:repeat(5,1fr);margin:.5rem 0}.card b{font-size:1.2rem}figure{padding:.5rem}"
    "figcaption,.legend{font-size:7pt}h2{margin:.8rem 0 .4rem}dl{font-size:8pt}"
    "*{print-color-adjust:exact;-webkit-print-color-adjust:exact}h2{break-after:avoid}table{font-size:8pt}"
    "th,td{padding:.15rem .3rem}tr{break-inside:avoid}.wide{overflow:visible}}\n";

static void write_colours(FILE *out)
{
    for (int i = 0; i < SVG_COLOURS; i++)
        fprintf(out, ".b%d{fill:var(--d%d);background:var(--d%d)}.l%d{stroke:var(--d%d);stroke-width:1.6}\n", i, i, i, i, i);
    for (int i = 0; i < 10; i++)
        fprintf(out, ".s%d{fill:var(--s%d);background:var(--s%d)}\n", i, i, i);
}

static void write_head(FILE *out, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\"><title>",
          out);
    html_text(out, title);
    fprintf(out, "</title>\n<style>\n:root{%s}\n@media screen and (prefers-color-scheme:dark){:root{%s}}\n%s", light, dark,
            style);
    write_colours(out);
    fprintf(out, "%s%s</style></head>\n<body><main>\n", phone, paper);
}

/* --- The first view --- */

static void write_card(FILE *out, const char *number, const char *words, const char *who)
{
    fprintf(out, "<div class=\"card\"><b>%s</b><span>", number);
    html_text(out, words);
    if (who)
        html_text(out, who);
    fputs("</span></div>\n", out);
}

static void write_caveats(FILE *out, json_t *caveats, const char *which)
{
    const json_t *caveat;
    size_t i;
    json_array_foreach(caveats, i, caveat)
    {
        fprintf(out, "<p class=\"caveat\">%s", which);
        html_text(out, json_string_value(caveat));
        fputs("</p>\n", out);
    }
    json_decref(caveats);
}

/* The fastest device that is hardware; NULL if none is. */
static const json_t *find_fastest(const json_t *report)
{
    const json_t *devices = value_at(report, "devices"), *device, *best = NULL;
    size_t i;
    json_array_foreach(devices, i, device)
    {
        double rate = value_number(device, "frames_per_s");
        /* No rate compares as smaller than the NaN of no device, so the first one is taken without a case of its
         * own. */
        if (rate > 0 && !*compare_mark(device) && !(rate <= value_number(best, "frames_per_s")))
            best = device;
    }
    return best;
}

static void write_cards(FILE *out, const json_t *report)
{
    const json_t *devices = value_at(report, "devices"), *device, *best = find_fastest(report);
    size_t i, equal = 0, working = 0;
    char number[COMPARE_NUMBER], text[64];
    /* Devices without figures are told in their own lines; what is equal is counted among the others. */
    json_array_foreach(devices, i, device)
    {
        working += !value_string(device, "error");
        equal += value_true(device, "result.equal");
    }
    fputs("<div class=\"cards\">\n", out);
    if (best) {
        write_card(out, compare_number(number, value_number(best, "frames_per_s")), "frames a second, the fastest device: ",
                   compare_name(best));
        double efficiency = value_number(best, "limits.efficiency");
        snprintf(text, sizeof text, "%.0f %%", 100 * efficiency);
        /* A device whose kernels or link could not be measured has no limit to be held against. */
        if (isfinite(efficiency))
            write_card(out, text, "of that device's own limit: ", value_string(best, "limits.bound_by"));
    }
    /* With one device, or a run of all that failed, there is nothing to tell of all together. */
    if (isfinite(value_number(report, "together.frames_per_s"))) {
        write_card(out, compare_number(number, value_number(report, "together.frames_per_s")),
                   "frames a second, all together", *compare_mark(value_at(report, "together")) ? " (virtual devices in it)" : "");
        snprintf(text, sizeof text, "%.2f", value_number(report, "together.of_the_sum"));
        const char *sharing = value_string(report, "together.sharing_processors");
        write_card(out, text,
                   sharing ? "of the sum of the parts, which share the processors: " : "of the sum of the parts", sharing);
        snprintf(text, sizeof text, "%.2f", value_number(report, "together.of_the_shares"));
        if (sharing)
            write_card(out, text, "of that sum with the fastest of these alone, which is what can be had", NULL);
    }
    snprintf(text, sizeof text, "%zu of %zu", equal, working);
    write_card(out, text, "devices have the reference's bits", NULL);
    fputs("</div>\n", out);
}

/* --- Tables --- */

/* On a phone a row is a list, so each cell brings its head. */
static void write_cell(FILE *out, const json_t *entry, const struct compare_column *column)
{
    char number[COMPARE_NUMBER];
    double value = column->factor * value_number(entry, column->path);
    if (isfinite(value))
        fprintf(out, "<td data-head=\"%s\">%s</td>", column->head, compare_number(number, value));
    else
        fputs("<td class=\"none\">&#8211;</td>", out);
}

static void write_name(FILE *out, const char *name, const json_t *entry)
{
    fputs("<tr><td>", out);
    html_text(out, name);
    if (*compare_mark(entry))
        fputs(" <span class=\"tag\">virtual</span>", out);
    fputs("</td>", out);
}

static void write_result(FILE *out, const json_t *entry)
{
    char largest[COMPARE_NUMBER], median[COMPARE_NUMBER];
    double failed = value_number(entry, "failed_frames");
    if (value_true(entry, "result.equal"))
        fputs("<td data-head=\"results\" class=\"words good\">the same bits", out);
    else
        fprintf(out, "<td data-head=\"results\" class=\"words\">off by %s at most, %s in the median",
                compare_number(largest, value_number(entry, "result.largest")),
                compare_number(median, value_number(entry, "result.median")));
    if (failed > 0)
        fprintf(out, "; <span class=\"bad\">%.0f frame%s failed</span>", failed, failed == 1 ? "" : "s");
    fputs("</td>", out);
}

static void write_device_row(FILE *out, const json_t *entry, const char *name, const struct compare_column *columns,
                             size_t n)
{
    const char *error = value_string(entry, "error");
    write_name(out, name, entry);
    /* The words take the place of all columns and of the result, since a device that failed has none of these. */
    if (error) {
        fprintf(out, "<td class=\"words bad\" colspan=\"%zu\">no figures: ", n + 1);
        html_text(out, error);
        fputs("</td></tr>\n", out);
        return;
    }
    for (size_t c = 0; c < n; c++)
        write_cell(out, entry, &columns[c]);
    write_result(out, entry);
    fputs("</tr>\n", out);
}

static void write_devices(FILE *out, const json_t *report)
{
    static const struct compare_column columns[] = { { "frames/s", "frames_per_s", 1 },
                                             { "% of its limit", "limits.efficiency", 100 },
                                             { "p50 ms", "latency_ms.p50", 1 },
                                             { "p99 ms", "latency_ms.p99", 1 },
                                             { "p99.9 ms", "latency_ms.p99_9", 1 },
                                             { "to it GB/s", "limits.host_to_device_gb_per_s", 1 },
                                             { "memory GB/s", "limits.memory_gb_per_s", 1 },
                                             { "host MB", "memory.host_bytes", 1e-6 },
                                             { "device MB", "memory.device_bytes", 1e-6 } };
    enum { N = sizeof columns / sizeof columns[0] };
    const json_t *devices = value_at(report, "devices");
    fputs("<div class=\"wide\"><table><thead><tr><th>device</th>", out);
    for (size_t c = 0; c < N; c++)
        fprintf(out, "<th>%s</th>", columns[c].head);
    fputs("<th class=\"words\">results</th></tr></thead><tbody>\n", out);
    for (size_t i = 0; i < json_array_size(devices); i++)
        write_device_row(out, json_array_get(devices, i), compare_name(json_array_get(devices, i)), columns, N);
    if (value_at(report, "together"))
        write_device_row(out, value_at(report, "together"), "all together", columns, N);
    if (value_at(report, "pyfai"))
        write_device_row(out, value_at(report, "pyfai"), "pyFAI", columns, N);
    fputs("</tbody></table></div>\n", out);
}

/* Joules where there are any, and why there are not. */
static void write_energy(FILE *out, const json_t *entry, const char *name)
{
    const json_t *source, *energy = value_at(entry, "energy");
    const char *why = value_string(energy, "not_readable");
    char joules[COMPARE_NUMBER], watts[COMPARE_NUMBER];
    size_t i;
    json_array_foreach(value_at(energy, "sources"), i, source)
    {
        write_name(out, name, entry);
        fprintf(out, "<td data-head=\"J a frame\">%s</td><td data-head=\"W\">%s</td><td data-head=\"by\" class=\"words\">",
                compare_number(joules, value_number(source, "joules_per_frame")),
                compare_number(watts, value_number(source, "watts")));
        html_text(out, value_string(source, "source") ? value_string(source, "source") : "?");
        fputs("</td></tr>\n", out);
    }
    if (!why)
        return;
    write_name(out, name, entry);
    fputs("<td colspan=\"3\" class=\"words soft\">not readable: ", out);
    html_text(out, why);
    fputs("</td></tr>\n", out);
}

static void write_all_energy(FILE *out, const json_t *report)
{
    const json_t *device;
    size_t i;
    fputs("<h2>Energy</h2><div class=\"wide\"><table><thead><tr><th>device</th><th>J a frame</th><th>W</th>"
          "<th class=\"words\">by</th></tr></thead><tbody>\n", out);
    json_array_foreach(value_at(report, "devices"), i, device)
    {
        write_energy(out, device, compare_name(device));
    }
    write_energy(out, value_at(report, "together"), "all together");
    fputs("</tbody></table></div>\n", out);
}

/* --- What it was made of --- */

static void write_fact(FILE *out, const char *what, const json_t *report, const char *path)
{
    const json_t *value = value_at(report, path);
    char number[COMPARE_NUMBER];
    if (!value)
        return;
    fprintf(out, "<dt>%s</dt><dd>", what);
    /* Counts are exact, so they are not rounded as measured figures are. */
    if (json_is_integer(value))
        fprintf(out, "%lld", (long long)json_integer_value(value));
    else
        html_text(out, json_is_string(value) ? json_string_value(value)
                                             : compare_number(number, json_number_value(value)));
    fputs("</dd>\n", out);
}

static void write_facts(FILE *out, const json_t *report)
{
    static const char *const facts[][2] = {
        { "made", "date" },                    { "halcyon", "halcyon" },
        { "machine", "machine.host" },         { "system", "machine.system" },
        { "processor", "machine.processor" },  { "processors", "machine.processors_online" },
        { "governor", "machine.governor" },    { "load before", "machine.load_before" },
        { "stack", "stack.path" },             { "frames", "stack.frames_used" },
        { "height", "stack.height" },          { "width", "stack.width" },
        { "stored bytes", "stack.stored_bytes" }, { "bins", "stack.bins" },
        { "splitting", "stack.split" },        { "errors", "stack.error_model" },
        { "rounds", "stack.rounds" },          { "plan", "stack.plan" },
        { "reference", "reference" },          { "pyFAI", "pyfai.version" },
    };
    const json_t *device, *note, *devices = value_at(report, "devices");
    size_t i, k;
    fputs("<dl>\n", out);
    for (i = 0; i < sizeof facts / sizeof facts[0]; i++)
        write_fact(out, facts[i][0], report, facts[i][1]);
    json_array_foreach(devices, i, device)
    {
        /* Why a device has no figures stands in its line of the table already. */
        if (value_string(device, "error"))
            continue;
        fputs("<dt>", out);
        /* Names and notes may come from any file, so none of them is written as it is. */
        html_text(out, compare_name(device));
        fputs("</dt><dd>", out);
        html_text(out, value_string(device, "description") ? value_string(device, "description") : "");
        if (*compare_mark(device))
            fputs(" <span class=\"tag\">virtual: its speed means nothing</span>", out);
        json_array_foreach(value_at(device, "notes"), k, note)
        {
            fputs("; not measured: ", out);
            html_text(out, json_string_value(note) ? json_string_value(note) : "?");
        }
        fputs("</dd>\n", out);
    }
    fputs("</dl>\n", out);
}

/* --- Changes from one report to the other --- */

static void write_change(FILE *out, const char *name, const json_t *a, const json_t *b)
{
    static const struct compare_column columns[] = { { "A, then B: frames/s", "frames_per_s", 1 },
                                             { "A, then B: p50 ms", "latency_ms.p50", 1 } };
    char number[COMPARE_NUMBER];
    write_name(out, name, *compare_mark(a) ? a : b);
    for (size_t c = 0; c < 2; c++) {
        double ratio = value_number(b, columns[c].path) / value_number(a, columns[c].path);
        /* More frames are better, more milliseconds are not; 2 in 100 is what runs differ by. */
        int better = c ? ratio < 0.98 : ratio > 1.02, worse = c ? ratio > 1.02 : ratio < 0.98;
        write_cell(out, a, &columns[c]);
        write_cell(out, b, &columns[c]);
        fprintf(out, "<td data-head=\"B/A\" class=\"%s\">%s</td>", better ? "good" : worse ? "bad" : "",
                isfinite(ratio) ? compare_number(number, ratio) : "&#8211;");
    }
    fputs("</tr>\n", out);
}

static void write_changes(FILE *out, const json_t *a, const json_t *b)
{
    fputs("<h2>B beside A</h2><div class=\"wide\"><table><thead><tr><th>device</th><th>frames/s A</th><th>B</th><th>B/A</th>"
          "<th>p50 ms A</th><th>B</th><th>B/A</th></tr></thead><tbody>\n", out);
    compare_each_change(out, a, b, write_change);
    fputs("</tbody></table></div>\n", out);
}

/* --- The page --- */

static compare_chart *const charts[] = { chart_rates,    chart_times,    chart_latency, chart_roofline,
                                         chart_timeline, chart_bins, chart_sizes,   chart_nufft };
enum { CHARTS = sizeof charts / sizeof charts[0] };

static void write_title(FILE *out, const json_t *report, const char *which)
{
    const char *host = value_string(report, "machine.host"), *cpu = value_string(report, "machine.processor");
    const char *date = value_string(report, "date");
    char text[4][COMPARE_NUMBER];
    fprintf(out, "<p class=\"soft\">%s", which);
    html_text(out, host ? host : "?");
    fprintf(out, " &#183; %s &#215; ", compare_number(text[0], value_number(report, "machine.processors_online")));
    html_text(out, cpu ? cpu : "?");
    fprintf(out, " &#183; %s frame%s of %s &#215; %s pixels, %s bins &#183; ",
            compare_number(text[0], value_number(report, "stack.frames_used")),
            value_number(report, "stack.frames_used") == 1 ? "" : "s",
            compare_number(text[1], value_number(report, "stack.height")),
            compare_number(text[2], value_number(report, "stack.width")),
            compare_number(text[3], value_number(report, "stack.bins")));
    html_text(out, date ? date : "?");
    fputs("</p>\n", out);
}

static void write_one(FILE *out, const json_t *report)
{
    write_title(out, report, "");
    write_caveats(out, compare_caveats(report), "");
    write_cards(out, report);
    write_devices(out, report);
    fputs("<h2>Pictures</h2><div class=\"charts\">\n", out);
    for (size_t i = 0; i < CHARTS; i++)
        charts[i](out, report, report);
    fputs("</div>\n", out);
    write_all_energy(out, report);
    fputs("<h2>What it was made of</h2>\n", out);
    write_facts(out, report);
}

static void write_two(FILE *out, json_t *const *reports)
{
    static const char *const which[] = { "<b>A</b> ", "<b>B</b> " };
    for (size_t r = 0; r < 2; r++) {
        write_title(out, reports[r], which[r]);
        write_caveats(out, compare_caveats(reports[r]), which[r]);
    }
    write_caveats(out, compare_differences(reports[0], reports[1]), "");
    write_changes(out, reports[0], reports[1]);
    for (size_t i = 0; i < CHARTS; i++) {
        fputs("<div class=\"pair\">\n", out);
        for (size_t r = 0; r < 2; r++) {
            fprintf(out, "<div>%s\n", which[r]);
            /* Each picture gets the other report as well, which its scales make room for. */
            charts[i](out, reports[r], reports[1 - r]);
            fputs("</div>\n", out);
        }
        fputs("</div>\n", out);
    }
    for (size_t r = 0; r < 2; r++) {
        fprintf(out, "<h2>%s</h2>\n", which[r]);
        write_devices(out, reports[r]);
        write_all_energy(out, reports[r]);
        write_facts(out, reports[r]);
    }
}

int compare_page(const char *path, json_t *const *reports, size_t n)
{
    hcy_output *output;
    int status = hcy_output_open(&output, path, 0);
    if (status)
        return cli_fail(status);
    FILE *out = hcy_output_stream(output);
    if (out) {
        write_head(out, n > 1 ? "Halcyon: two reports side by side" : "Halcyon: what each device is worth");
        fprintf(out, "<h1>%s</h1>\n", n > 1 ? "Two reports side by side" : "What each device is worth");
        if (n > 1)
            write_two(out, reports);
        else
            write_one(out, reports[0]);
        fputs("</main></body></html>\n", out);
    }
    /* The file takes its name only here, so a page that is cut short never replaces a whole one. */
    status = hcy_output_commit(output, out ? 0 : hcy_fail(HCY_ENOMEM, "a buffer for %s", path));
    return status ? cli_fail(status) : CLI_OK;
}
