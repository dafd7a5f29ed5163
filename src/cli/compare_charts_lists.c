/* compare_charts_lists.c - the pictures of what is measured besides the stack: sizes of detectors, transforms. */
#include "compare_charts.h"
#include "compare_svg.h"
#include <math.h>
#include <string.h>

/* Why a device of a list has no figures, or no more of them. */
static void write_errors(FILE *out, const json_t *list)
{
    const json_t *entry;
    size_t i;
    json_array_foreach(list, i, entry)
    {
        const char *error = value_string(entry, "error"), *detector = value_string(entry, "detector");
        if (!error)
            continue;
        fputs("<p class=\"soft\">", out);
        html_text(out, compare_name(entry));
        fputs(detector ? ", " : "", out);
        html_text(out, detector ? detector : "");
        fputs(": ", out);
        html_text(out, error);
        fputs("</p>\n", out);
    }
}

/* --- Sizes --- */

struct ranges {
    double least, most, few, many; /* pixels a second; pixels */
};

static void add_sizes(struct ranges *r, const json_t *report)
{
    const json_t *size;
    size_t i;
    json_array_foreach(value_at(report, "sizes"), i, size)
    {
        double pixels = value_number(size, "pixels"), rate = pixels * value_number(size, "frames_per_s");
        /* A size whose device failed has no rate, and a logarithmic scale has no place for it. */
        if (!(rate > 0))
            continue;
        r->least = fmin(r->least, rate);
        r->most = fmax(r->most, rate);
        r->few = fmin(r->few, pixels);
        r->many = fmax(r->many, pixels);
    }
}

/* The number of each size that has a rate, once: its entries, one of each device, follow one another. */
static void draw_sizes(FILE *out, const struct scale *x, const json_t *sizes)
{
    const json_t *size;
    double before = NAN;
    size_t i;
    json_array_foreach(sizes, i, size)
    {
        char text[32];
        double pixels = value_number(size, "pixels");
        if (pixels == before || !(pixels * value_number(size, "frames_per_s") > 0))
            continue;
        snprintf(text, sizeof text, "%.2g", 1e-6 * pixels);
        svg_text(out, scale_at(x, 1e-6 * pixels), 192, "mark mid", text);
        before = pixels;
    }
}

void chart_sizes(FILE *out, const json_t *report, const json_t *beside)
{
    const json_t *sizes = value_at(report, "sizes"), *size;
    struct chart_entries e;
    struct ranges r = { INFINITY, 0, INFINITY, 0 };
    size_t i;
    chart_list_entries(&e, report, 0);
    add_sizes(&r, report);
    /* Without rates of its own a report has no such picture, whatever the other one has. */
    if (!(r.most > 0)) {
        write_errors(out, sizes);
        return;
    }
    /* Two reports share their scales, so that heights in pictures side by side can be compared. */
    add_sizes(&r, beside);
    struct scale x = { 0.8e-6 * r.few, 1.25e-6 * r.many, 40, SVG_WIDTH - 50, 1 }, y = { .at = 180, .length = -158 };
    scale_decades(&y, 0.9e-9 * r.least, 1.1e-9 * r.most);
    chart_begin_figure(out, "Sizes of detectors");
    svg_begin(out, 212, "Gigapixels a second over the size of a frame");
    scale_draw_y(out, &y, 40, SVG_WIDTH - 10, "10\xe2\x81\xb9 pixels/s");
    draw_sizes(out, &x, sizes);
    svg_text(out, SVG_WIDTH - 10, 205, "mark end", "megapixels");
    /* The report lists sizes one after the other with all devices in each, so a line is picked out of the whole
     * list. */
    for (size_t d = 0; d < e.n; d++) {
        char path = 'M';
        fprintf(out, "<path class=\"l%d\" d=\"", e.colour[d]);
        json_array_foreach(sizes, i, size)
        {
            double pixels = value_number(size, "pixels"), rate = value_number(size, "frames_per_s");
            if (strcmp(compare_name(size), compare_name(e.at[d])) || !(rate > 0))
                continue;
            fprintf(out, "%c%.1f %.1f", path, scale_at(&x, 1e-6 * pixels), scale_at(&y, 1e-9 * pixels * rate));
            /* The first point that is there begins the path: a device may lack the first sizes. */
            path = 'L';
        }
        fputs("\"/>\n", out);
    }
    svg_end(out);
    chart_draw_legend(out, &e);
    write_errors(out, sizes);
    chart_end_figure(out, "Simulated stacks of EIGER detectors from 500k to 9M.");
}

/* --- Transforms --- */

static void draw_dot(FILE *out, const struct scale *x, double y, double value, const char *style, const char *who)
{
    char tip[160], number[COMPARE_NUMBER];
    if (!(value > 0))
        return;
    snprintf(tip, sizeof tip, "%s: %s million points a second", who, compare_number(number, value));
    fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" class=\"%s\"><title>", scale_at(x, value), y, style);
    html_text(out, tip);
    fputs("</title></circle>\n", out);
}

/* The devices that did transforms, and their rates, FINUFFT's among them; how many cells there are. */
static size_t list_transforms(struct chart_entries *e, double *least, double *most, const json_t *report)
{
    const json_t *devices = value_at(report, "nufft.devices"), *cell;
    size_t rows = 0, k;
    e->n = 0;
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *device = json_array_get(devices, i), *cells = value_at(device, "cells");
        /* A device that failed on the way has fewer cells; the picture has as many rows as the one with most. */
        if (json_array_size(cells))
            chart_add_entry(e, device, compare_name(device), (int)i);
        rows = json_array_size(cells) > rows ? json_array_size(cells) : rows;
        json_array_foreach(cells, k, cell)
        {
            double ours = value_number(cell, "mpoints_per_s"), peer = value_number(cell, "finufft.mpoints_per_s");
            *least = ours > 0 ? fmin(*least, fmin(ours, peer > 0 ? peer : ours)) : *least;
            *most = fmax(*most, fmax(ours, peer));
        }
    }
    return rows;
}

void chart_nufft(FILE *out, const json_t *report, const json_t *beside)
{
    struct chart_entries e, others;
    struct scale x = { .at = 118, .length = SVG_WIDTH - 126 };
    double least = INFINITY, most = 0;
    size_t rows = list_transforms(&e, &least, &most, report);
    int has_peer = 0;
    if (!rows || !isfinite(least)) {
        write_errors(out, value_at(report, "nufft.devices"));
        return;
    }
    /* Only the range counts of the other report, so that both pictures have one scale. */
    (void)list_transforms(&others, &least, &most, beside);
    scale_decades(&x, least, most);
    chart_begin_figure(out, "Non-uniform Fourier transforms");
    svg_begin(out, 15.0 * (double)rows + 40, "Millions of points a second for each cell and device");
    scale_draw_x(out, &x, 2, 15.0 * (double)rows + 6, "million points a second");
    for (size_t k = 0; k < rows; k++) {
        double y = 15.0 * (double)k + 11;
        int is_named = 0;
        for (size_t d = 0; d < e.n; d++) {
            const json_t *cell = json_array_get(value_at(e.at[d], "cells"), k);
            const char *name = value_string(cell, "cell");
            char style[32];
            if (!is_named && name)
                svg_text(out, 0, y + 3.5, "mark", name);
            /* It runs on the processors whatever the device, so once is enough: beside the first that came so far. */
            if (!is_named)
                draw_dot(out, &x, y, value_number(cell, "finufft.mpoints_per_s"), "peer", "FINUFFT");
            is_named |= cell != NULL;
            has_peer |= isfinite(value_number(cell, "finufft.mpoints_per_s"));
            draw_dot(out, &x, y, value_number(cell, "mpoints_per_s"), chart_style(style, &e, d, "b"), e.names[d]);
        }
    }
    svg_end(out);
    chart_draw_legend(out, &e);
    write_errors(out, value_at(report, "nufft.devices"));
    chart_end_figure(out, has_peer ? "A row is dimension and type, eps, precision. Hollow dots: FINUFFT, all processors."
                             : "A row is dimension and type, eps, precision.");
}
