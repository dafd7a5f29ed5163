/* compare_charts.c - the pictures of a page: rates, times, latency, deviations, roofline, timeline.
 *
 * A colour is a device's in all pictures, but in those of stages, where it is a stage's; what is said by colour is said
 * by words or by its place too.  Figures of no hardware are hatched. */
#include "compare_charts.h"
#include "compare_svg.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- What the pictures share --- */

/* With its name as it is, which may say already that it is virtual. */
static void copy_entry(struct chart_entries *to, const struct chart_entries *from, size_t i)
{
    memcpy(to->names[to->n], from->names[i], sizeof to->names[0]);
    to->colour[to->n] = from->colour[i];
    to->at[to->n++] = from->at[i];
}

void chart_add_entry(struct chart_entries *e, const json_t *entry, const char *name, int colour)
{
    /* More entries than there is room for on a page are left to the table, which has them all. */
    if (e->n == MOST_ENTRIES)
        return;
    snprintf(e->names[e->n], sizeof e->names[0], "%.32s%s", name, *compare_mark(entry) ? " (virtual)" : "");
    e->colour[e->n] = colour % SVG_COLOURS;
    e->at[e->n++] = entry;
}

/* Nothing of an entry that has an error means anything. */
static void add_measured(struct chart_entries *e, const json_t *entry, const char *name, int colour)
{
    if (entry && !value_string(entry, "error"))
        chart_add_entry(e, entry, name, colour);
}

void chart_list_entries(struct chart_entries *e, const json_t *report, int with_others)
{
    const json_t *devices = value_at(report, "devices");
    e->n = 0;
    for (size_t i = 0; i < json_array_size(devices); i++)
        add_measured(e, json_array_get(devices, i), compare_name(json_array_get(devices, i)), (int)i);
    if (!with_others)
        return;
    add_measured(e, value_at(report, "together"), "all together", 6);
    add_measured(e, value_at(report, "pyfai"), "pyFAI", 7);
}

const char *chart_style(char style[32], const struct chart_entries *e, size_t i, const char *kind)
{
    snprintf(style, 32, "%s%d%s", kind, e->colour[i], *compare_mark(e->at[i]) ? " modelled" : "");
    return style;
}

void chart_begin_figure(FILE *out, const char *title)
{
    fprintf(out, "<figure><h3>%s</h3>\n", title);
}

void chart_end_figure(FILE *out, const char *caption)
{
    fprintf(out, "<figcaption>%s</figcaption></figure>\n", caption);
}

void chart_draw_legend(FILE *out, const struct chart_entries *e)
{
    fputs("<ul class=\"legend\">", out);
    for (size_t i = 0; i < e->n; i++) {
        fprintf(out, "<li><i class=\"b%d\"></i>", e->colour[i]);
        html_text(out, e->names[i]);
        fputs("</li>", out);
    }
    fputs("</ul>\n", out);
}

/* The largest of a figure of all entries; 0 where there is none. */
static double largest_of(const struct chart_entries *e, const char *path)
{
    double most = 0;
    for (size_t i = 0; i < e->n; i++)
        most = fmax(most, value_number(e->at[i], path));
    return most;
}

/* --- Rates --- */

/* The mark stands on the bar, its number at the end of the line above, where no name is. */
static void draw_limit(FILE *out, const struct scale *x, double y, double limit)
{
    char number[COMPARE_NUMBER], text[64];
    if (!isfinite(limit))
        return;
    /* scale_at() keeps what is beyond at the edge, so the mark itself cannot say that it is. */
    int beyond = limit > x->to;
    snprintf(text, sizeof text, beyond ? "limit %s \xe2\x86\x92" : "limit %s", compare_number(number, limit));
    svg_line(out, scale_at(x, limit), y - 2, scale_at(x, limit), y + 18, beyond ? "limit far" : "limit");
    svg_text(out, SVG_WIDTH, y - 4, "mark end", text);
}

/* A limit that is far away would leave the bars no room: it is drawn at the edge.  So are figures of no hardware,
 * unless there are no others. */
static double rates_end(const json_t *report)
{
    struct chart_entries all, e = { .n = 0 };
    chart_list_entries(&all, report, 1);
    for (size_t i = 0; i < all.n; i++)
        if (!*compare_mark(all.at[i]))
            copy_entry(&e, &all, i);
    if (!(largest_of(&e, "frames_per_s") > 0))
        chart_list_entries(&e, report, 1);
    double limit = largest_of(&e, "limits.frames_per_s"), end = largest_of(&e, "frames_per_s");
    if (!*compare_mark(value_at(report, "together")))
        end = fmax(end, value_number(report, "together.sum_of_parts_frames_per_s"));
    return fmax(end, limit < 3 * end ? limit : 0);
}

void chart_rates(FILE *out, const json_t *report, const json_t *beside)
{
    struct chart_entries e;
    chart_list_entries(&e, report, 1);
    double sum = value_number(report, "together.sum_of_parts_frames_per_s"), y = 16;
    if (!(largest_of(&e, "frames_per_s") > 0))
        return;
    /* Both reports' ends count, so that bars side by side have one scale. */
    struct scale x = { 0, 1.05 * fmax(rates_end(report), rates_end(beside)), 0, SVG_WIDTH, 0 };
    chart_begin_figure(out, "Frames a second");
    svg_begin(out, 46.0 * (double)e.n + 30, "Bars of the rate of each device, with its limit marked");
    scale_draw_x(out, &x, 8, 46.0 * (double)e.n, "frames/s");
    for (size_t i = 0; i < e.n; i++, y += 46) {
        char style[32], number[COMPARE_NUMBER], text[64];
        double rate = value_number(e.at[i], "frames_per_s"), width = scale_at(&x, rate);
        svg_text(out, 0, y - 4, "name", e.names[i]);
        svg_rect(out, 0, y, width, 16, chart_style(style, &e, i, "b"), NULL);
        /* The part that the sum has more is an outline. */
        if (e.at[i] == value_at(report, "together") && sum > rate)
            svg_rect(out, width, y, scale_at(&x, sum) - width, 16, "outline", "the sum of the parts");
        snprintf(text, sizeof text, rate > x.to ? "%s/s \xe2\x86\x92" : "%s/s", compare_number(number, rate));
        /* Behind a long bar there is no room for its number, and a virtual one is too pale for white letters. */
        int inside = width > 0.7 * SVG_WIDTH;
        const char *letters = !inside ? "name" : *compare_mark(e.at[i]) ? "name end" : "name end on";
        svg_text(out, inside ? width - 5 : width + 5, y + 12, letters, text);
        draw_limit(out, &x, y, value_number(e.at[i], "limits.frames_per_s"));
    }
    svg_end(out);
    chart_end_figure(out, "The best of several warm runs, from the file to curves. A limit is the smaller of copies to the device "
                    "and its kernels alone, both measured here; an outline is the sum of the parts. What is beyond the scale has an arrow.");
}

/* --- Where the time goes --- */

static const char *const stages[][2] = { { "read", "read" },
                                         { "parse", "parse" },
                                         { "copy", "copy" },
                                         { "decode", "decode" },
                                         { "integrate", "integrate" },
                                         { "decode_and_integrate", "decode and integrate in one" },
                                         { "copy_back", "copy back" },
                                         { "divide", "divide" },
                                         { "write", "write" },
                                         { "other", "other" } };
enum { STAGES = sizeof stages / sizeof stages[0] };

static double all_stages_ms(const json_t *entry)
{
    double sum = 0;
    for (size_t s = 0; s < STAGES; s++) {
        double ms = value_number(value_at(entry, "time_ms"), stages[s][0]);
        sum += isfinite(ms) ? ms : 0;
    }
    return sum;
}

static void draw_stages(FILE *out, const struct scale *x, double y, const json_t *entry)
{
    double from = 0;
    for (size_t s = 0; s < STAGES; s++) {
        char style[16], number[COMPARE_NUMBER], tip[96];
        double ms = value_number(value_at(entry, "time_ms"), stages[s][0]);
        if (!isfinite(ms))
            continue;
        snprintf(style, sizeof style, "s%zu", s);
        snprintf(tip, sizeof tip, "%s: %s ms a frame", stages[s][1], compare_number(number, ms));
        double at = scale_at(x, from);
        svg_rect(out, at, y, scale_at(x, from + ms) - at, 16, style, tip);
        from += ms;
    }
}

static double longest_ms(const json_t *report)
{
    struct chart_entries e;
    double most = 0;
    chart_list_entries(&e, report, 0);
    for (size_t i = 0; i < e.n; i++)
        most = fmax(most, all_stages_ms(e.at[i]));
    return most;
}

void chart_times(FILE *out, const json_t *report, const json_t *beside)
{
    struct chart_entries e;
    double y = 16;
    chart_list_entries(&e, report, 0);
    if (!(longest_ms(report) > 0))
        return;
    struct scale x = { 0, 1.02 * fmax(longest_ms(report), longest_ms(beside)), 0, SVG_WIDTH, 0 };
    chart_begin_figure(out, "Where the time goes");
    svg_begin(out, 38.0 * (double)e.n + 34, "For each device the milliseconds a frame spends in each stage");
    scale_draw_x(out, &x, 8, 38.0 * (double)e.n + 4, "ms a frame");
    for (size_t i = 0; i < e.n; i++, y += 38) {
        char number[COMPARE_NUMBER], text[64];
        svg_text(out, 0, y - 4, "name", e.names[i]);
        draw_stages(out, &x, y, e.at[i]);
        snprintf(text, sizeof text, "%s ms", compare_number(number, all_stages_ms(e.at[i])));
        svg_text(out, SVG_WIDTH, y - 4, "mark end", text);
    }
    svg_end(out);
    fputs("<ul class=\"legend\">", out);
    for (size_t s = 0; s < STAGES; s++)
        fprintf(out, "<li><i class=\"s%zu\"></i>%s</li>", s, stages[s][1]);
    fputs("</ul>\n", out);
    chart_end_figure(out, "One frame's work, not its latency: stages of different frames overlap. Read, parse, divide and write: "
                    "alone, in one thread. The device's: what its queues did, by its events. A stage that a device has "
                    "not (no copy where memory is the host's) is missing.");
}

/* --- Latency --- */

static void draw_histogram(FILE *out, const struct scale *x, double base, const json_t *latency, const char *style)
{
    const json_t *edges = value_at(latency, "edges_ms"), *counts = value_at(latency, "counts");
    double most = 1;
    for (size_t k = 0; k < json_array_size(counts); k++)
        most = fmax(most, json_number_value(json_array_get(counts, k)));
    for (size_t k = 0; k + 1 < json_array_size(edges) && k < json_array_size(counts); k++) {
        double count = json_number_value(json_array_get(counts, k));
        double from = scale_at(x, json_number_value(json_array_get(edges, k)));
        double to = scale_at(x, json_number_value(json_array_get(edges, k + 1)));
        char tip[64];
        snprintf(tip, sizeof tip, "%.0f frame%s", count, count == 1 ? "" : "s");
        /* On a scale of several decades bins are narrow, and are to be seen nevertheless. */
        if (count > 0)
            svg_rect(out, from, base - 34 * count / most, fmax(to - from - 0.5, 0.5), 34 * count / most, style, tip);
    }
}

static void draw_quantile(FILE *out, const struct scale *x, double base, const json_t *latency, const char *key)
{
    double ms = value_number(latency, key);
    if (isfinite(ms))
        svg_line(out, scale_at(x, ms), base - 38, scale_at(x, ms), base + 3, "limit");
}

/* Widens least..most by what the report has. */
static void add_latencies(double *least, double *most, const json_t *report)
{
    struct chart_entries e;
    chart_list_entries(&e, report, 1);
    for (size_t i = 0; i < e.n; i++) {
        double first = json_number_value(json_array_get(value_at(e.at[i], "latency_ms.edges_ms"), 0));
        *least = first > 0 ? fmin(*least, first) : *least;
        *most = fmax(*most, value_number(e.at[i], "latency_ms.max"));
    }
}

void chart_latency(FILE *out, const json_t *report, const json_t *beside)
{
    struct chart_entries e;
    double least = INFINITY, most = 0, y = 58;
    chart_list_entries(&e, report, 1);
    add_latencies(&least, &most, report);
    /* A logarithmic scale needs both ends, which only measured latencies give. */
    if (!(most > 0) || !isfinite(least))
        return;
    /* The other report's only widen the scale, which both pictures share. */
    add_latencies(&least, &most, beside);
    struct scale x = { .at = 8, .length = SVG_WIDTH - 16 };
    scale_decades(&x, least, most);
    chart_begin_figure(out, "Latency, from submission to curve");
    /* The height follows from the entries that have latencies: pyFAI, for one, has none. */
    double rows = 0;
    for (size_t i = 0; i < e.n; i++)
        rows += value_at(e.at[i], "latency_ms") != NULL;
    svg_begin(out, 62 * rows + 34, "Histograms of latency for each device");
    scale_draw_x(out, &x, 6, 62 * rows + 4, "ms");
    for (size_t i = 0; i < e.n; i++) {
        const json_t *latency = value_at(e.at[i], "latency_ms");
        char style[32], p50[COMPARE_NUMBER], p99[COMPARE_NUMBER], text[96];
        if (!latency)
            continue;
        /* With less than 100 frames the 99th percentile is not measured, and only the median is told. */
        int told = value_at(latency, "p99") != NULL;
        snprintf(text, sizeof text, "p50 %s%s%s ms", compare_number(p50, value_number(latency, "p50")), told ? ", p99 " : "",
                 told ? compare_number(p99, value_number(latency, "p99")) : "");
        svg_text(out, 0, y - 42, "name", e.names[i]);
        svg_text(out, SVG_WIDTH, y - 42, "mark end", text);
        draw_histogram(out, &x, y, latency, chart_style(style, &e, i, "b"));
        svg_line(out, 0, y, SVG_WIDTH, y, "axis");
        draw_quantile(out, &x, y, latency, "p50");
        draw_quantile(out, &x, y, latency, "p99");
        y += 62;
    }
    svg_end(out);
    chart_end_figure(out, "Frames come evenly at half the device's rate. Lines: the median and the 99th percentile, where there "
                    "are frames enough to tell it.");
}

/* --- Deviations --- */

static void draw_deviations(FILE *out, const struct scale *x, const struct scale *y, const json_t *bins,
                            const char *style)
{
    size_t n = json_array_size(bins), step = n / 340 + 1;
    fprintf(out, "<path class=\"%s\" d=\"", style);
    for (size_t b = 0; b < n; b += step) {
        double worst = 0;
        /* Where a point is several bins it is the worst of them. */
        for (size_t k = b; k < b + step && k < n; k++)
            worst = fmax(worst, json_number_value(json_array_get(bins, k)));
        fprintf(out, "%c%.1f %.1f", b ? 'L' : 'M', scale_at(x, (double)b), scale_at(y, fmax(worst, y->from)));
    }
    fputs("\"/>\n", out);
}

static double largest_deviation(const json_t *report)
{
    struct chart_entries e;
    chart_list_entries(&e, report, 1);
    return largest_of(&e, "result.largest");
}

void chart_bins(FILE *out, const json_t *report, const json_t *beside)
{
    struct chart_entries e, off = { .n = 0 };
    double most = largest_deviation(report);
    size_t equal = 0;
    chart_list_entries(&e, report, 1);
    /* Entries with the reference's bits have no list of bins; a legend with them would promise lines that are not
     * drawn. */
    for (size_t i = 0; i < e.n; i++) {
        if (json_array_size(value_at(e.at[i], "result.per_bin")))
            copy_entry(&off, &e, i);
        equal += (size_t)value_true(e.at[i], "result.equal");
    }
    if (!e.n)
        return;
    chart_begin_figure(out, "Deviation from the reference, bin by bin");
    if (!(most > 0) && equal < e.n) {
        fputs("<p>None of any intensity; but not every device has the reference&#8217;s bits: frames that failed have "
              "none, and errors are not drawn.</p>\n", out);
    } else if (!(most > 0)) {
        fputs("<p class=\"same\">None: every device has the reference&#8217;s bits, in every bin of every frame.</p>\n", out);
    } else {
        struct scale x = { 0, fmax(value_number(report, "stack.bins") - 1, 1), 40, SVG_WIDTH - 46, 0 };
        struct scale y = { .at = 190, .length = -170 };
        /* Below 1e-16 two doubles are the same; what is beyond 1e6 is wrong wherever it is drawn, and would flatten
         * the rest. */
        scale_decades(&y, 1e-16, fmin(fmax(most, largest_deviation(beside)), 1e6));
        svg_begin(out, 222, "The largest relative deviation of each bin");
        scale_draw_y(out, &y, 40, SVG_WIDTH - 6, "relative, largest of all frames");
        scale_draw_x(out, &x, 20, 190, "bin");
        for (size_t i = 0; i < off.n; i++) {
            char style[32];
            snprintf(style, sizeof style, "l%d", off.colour[i]);
            draw_deviations(out, &x, &y, value_at(off.at[i], "result.per_bin"), style);
        }
        svg_end(out);
        chart_draw_legend(out, &off);
    }
    chart_end_figure(out, most > 0 ? "Of intensities. A device that is not drawn has the reference&#8217;s bits." : "Of intensities.");
}

/* --- The roofline --- */

/* Decoded bytes a second that the device's kernels and its link, or memory, allow. */
static double flat_roof(const json_t *entry, double raw)
{
    return 1e-9 * raw * value_number(entry, "limits.kernels_frames_per_s");
}

static double slope_of(const json_t *entry)
{
    double link = value_number(entry, "limits.host_to_device_gb_per_s");
    return isfinite(link) ? link : value_number(entry, "limits.memory_gb_per_s");
}

static void draw_roof(FILE *out, const struct scale *x, const struct scale *y, double slope, double flat,
                      const char *style)
{
    double corner = fmin(fmax(flat / slope, x->from), x->to);
    fprintf(out, "<path class=\"%s\" d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1f\"/>\n", style, scale_at(x, x->from),
            scale_at(y, fmin(slope * x->from, flat)), scale_at(x, corner), scale_at(y, fmin(slope * corner, flat)),
            scale_at(x, x->to), scale_at(y, fmin(slope * x->to, flat)));
}

static void add_roofs(double *least, double *most, const json_t *report)
{
    double raw = value_number(report, "stack.raw_bytes");
    struct chart_entries e;
    chart_list_entries(&e, report, 0);
    for (size_t i = 0; i < e.n; i++) {
        double rate = 1e-9 * raw * value_number(e.at[i], "frames_per_s");
        /* A device may be faster than its measured limit, by caches or by chance, and its dot must be within the
         * picture. */
        *most = fmax(*most, fmax(flat_roof(e.at[i], raw), rate));
        *least = rate > 0 ? fmin(*least, rate) : *least;
    }
}

void chart_roofline(FILE *out, const json_t *report, const json_t *beside)
{
    struct chart_entries e;
    double raw = value_number(report, "stack.raw_bytes"), ratio = raw / value_number(report, "stack.stored_bytes");
    double most = 0, least = INFINITY;
    chart_list_entries(&e, report, 0);
    add_roofs(&least, &most, report);
    /* Without a rate or a ratio there is no point to draw, and no logarithm to take. */
    if (!(most > 0) || !(least > 0) || !(ratio > 0) || !isfinite(ratio))
        return;
    add_roofs(&least, &most, beside);
    struct scale x = { 1, fmax(100, pow(10, ceil(log10(ratio)))), 40, SVG_WIDTH - 50, 1 };
    struct scale y = { .at = 200, .length = -178 };
    scale_decades(&y, 0.5 * least, 1.5 * most);
    chart_begin_figure(out, "Roofline");
    svg_begin(out, 232, "Decoded gigabytes a second over the ratio of compression, with each device's roof");
    scale_draw_y(out, &y, 40, SVG_WIDTH - 10, "decoded GB/s");
    scale_draw_x(out, &x, 22, 200, "decoded bytes for each stored byte");
    svg_line(out, scale_at(&x, ratio), 22, scale_at(&x, ratio), 200, "axis");
    for (size_t i = 0; i < e.n; i++) {
        char style[32], tip[160], number[COMPARE_NUMBER];
        double rate = 1e-9 * raw * value_number(e.at[i], "frames_per_s"), flat = flat_roof(e.at[i], raw);
        snprintf(style, sizeof style, "l%d", e.colour[i]);
        if (isfinite(flat) && slope_of(e.at[i]) > 0)
            draw_roof(out, &x, &y, slope_of(e.at[i]), flat, style);
        /* Of a device with a link, its memory is a second slope: stored bytes are read from it once at least. */
        double memory = value_number(e.at[i], "limits.memory_gb_per_s");
        snprintf(style, sizeof style, "l%d far", e.colour[i]);
        if (isfinite(flat) && memory > slope_of(e.at[i]))
            draw_roof(out, &x, &y, memory, flat, style);
        snprintf(tip, sizeof tip, "%s: %s GB/s decoded", e.names[i], compare_number(number, rate));
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" class=\"b%d ring\"><title>", scale_at(&x, ratio),
                scale_at(&y, rate), e.colour[i]);
        html_text(out, tip);
        fputs("</title></circle>\n", out);
    }
    svg_end(out);
    chart_draw_legend(out, &e);
    chart_end_figure(out, "Slopes: bytes a second to the device (dashed: of its memory), or of the memory where that is the "
                    "host&#8217;s. Flat: its kernels alone. Dots: this stack, from the file to curves; the upright line is its ratio of compression.");
}

/* --- The timeline --- */

static int stage_colour(const char *name)
{
    static const char *const table[] = { "write", "copy", "read", "bslz4_decode", "bslz4_azint", "azint_" };
    static const int colours[] = { 2, 2, 6, 3, 5, 4 }; /* places in `stages` */
    for (size_t i = 0; name && i < sizeof table / sizeof table[0]; i++)
        if (!strncmp(name, table[i], strlen(table[i])))
            return colours[i];
    return STAGES - 1;
}

/* The row of a span's device and queue, new ones at the end. */
struct rows {
    char device[MOST_ENTRIES][64];
    double queue[MOST_ENTRIES];
    size_t n;
};

static size_t find_row(struct rows *rows, const json_t *span)
{
    const char *device = compare_name(span);
    double queue = value_number(span, "queue");
    size_t i = 0;
    while (i < rows->n && (rows->queue[i] != queue || strncmp(rows->device[i], device, 63)))
        i++;
    if (i == rows->n && i < MOST_ENTRIES) {
        snprintf(rows->device[i], sizeof rows->device[i], "%.63s", device);
        rows->queue[i] = queue;
        rows->n++;
    }
    return i < MOST_ENTRIES ? i : MOST_ENTRIES - 1;
}

static void draw_spans(FILE *out, const json_t *timeline, struct rows *rows)
{
    const json_t *span, *spans = value_at(timeline, "spans");
    double from = value_number(timeline, "from_ms");
    struct scale x = { from, from + value_number(timeline, "ms"), 0, SVG_WIDTH, 0 };
    size_t i;
    /* All rows are found before the first box, since the picture's height is the number of them. */
    json_array_foreach(spans, i, span)
    {
        find_row(rows, span);
    }
    svg_begin(out, 26.0 * (double)rows->n + 36, "Copies and kernels of each queue over time");
    scale_draw_x(out, &x, 2, 26.0 * (double)rows->n + 6, "ms");
    for (size_t r = 0; r < rows->n; r++)
        svg_text(out, 0, 26.0 * (double)r + 10, "mark", rows->device[r]);
    json_array_foreach(spans, i, span)
    {
        char style[8], tip[160], number[COMPARE_NUMBER];
        double start = value_number(span, "start_ms"), at = scale_at(&x, start);
        const char *name = value_string(span, "name");
        snprintf(style, sizeof style, "s%d", stage_colour(name));
        snprintf(tip, sizeof tip, "%s, %s ms", name ? name : "?", compare_number(number, value_number(span, "ms")));
        svg_rect(out, at, 26.0 * (double)find_row(rows, span) + 13,
                 fmax(scale_at(&x, start + value_number(span, "ms")) - at, 0.4), 11, style, tip);
    }
    svg_end(out);
}

void chart_timeline(FILE *out, const json_t *report, const json_t *beside)
{
    const json_t *of = value_at(report, "together"), *device;
    struct rows rows = { .n = 0 };
    size_t i;
    (void)beside; /* moments of two runs have nothing in common */
    /* Of one device alone its own timeline is all there is. */
    json_array_foreach(value_at(report, "devices"), i, device)
    {
        of = value_at(of, "timeline") ? of : device;
    }
    const json_t *timeline = value_at(of, "timeline");
    if (!json_array_size(value_at(timeline, "spans")))
        return;
    chart_begin_figure(out, *compare_mark(of) ? "Some milliseconds (of virtual devices too)" : "Some milliseconds of a run");
    draw_spans(out, timeline, &rows);
    fputs("<ul class=\"legend\">", out);
    /* Those of the host are in no queue. */
    for (size_t s = 2; s < STAGES; s++)
        if (s != 7 && s != 8)
            fprintf(out, "<li><i class=\"s%zu\"></i>%s</li>", s, stages[s][1]);
    fputs("</ul>\n", out);
    chart_end_figure(out, "A row is a queue of a device, a box a copy or a launch of a batch, from the middle of a run with "
                    "HALCYON_TRACE on.");
}
