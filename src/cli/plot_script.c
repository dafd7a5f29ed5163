/* plot_script.c - a plot as a script of gnuplot's, its numbers inside.
 *
 * Colours: Okabe and Ito's, told apart with any colour vision, for a few curves; viridis for what has an
 * order.
 */
#include "plot.h"
#include "gnuplot.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const few[] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                   "#56b4e9", "#e69f00", "#000000", "#8a6d00" };
enum { N_FEW = sizeof few / sizeof few[0], BANDS = 4, KEY_WIDTH = 32, BESIDE = 14 };

static const char *const viridis[] = { "#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c",
                                       "#28ae80", "#5ec962", "#addc30", "#fde725" };
enum { N_VIRIDIS = sizeof viridis / sizeof viridis[0] };

static unsigned colour_of(const char *name)
{
    return (unsigned)strtoul(name + 1, NULL, 16);
}

/* Between two colours: a at 0, b at 1. */
static unsigned mix_colours(unsigned a, unsigned b, double at)
{
    unsigned mixed = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        double from = (double)(a >> shift & 255), to = (double)(b >> shift & 255);
        mixed |= (unsigned)(from + (to - from) * at + 0.5) << shift;
    }
    return mixed;
}

/* --- The frame of the picture --- */

static void put_terminal(FILE *out, const struct plot *p)
{
    fputs("set encoding utf8\n", out);
    switch (p->terminal) {
    case PLOT_TEXT:
        fprintf(out, "set terminal dumb noenhanced size %u, %u\n", p->width, p->height);
        break;
    case PLOT_SVG:
        fprintf(out, "set terminal svg size %u, %u font 'sans-serif,14' background 'white'\n", p->width,
                p->height);
        break;
    case PLOT_PNG: /* its fonts are in points, at twice a screen's resolution */
        fprintf(
            out,
            "if (strstrt(GPVAL_TERMINALS, 'pngcairo')) {\n"
            "set terminal pngcairo size %u, %u font 'sans,14' background 'white' fontscale 0.8\n} else {\n"
            "set terminal png size %u, %u truecolor background 'white' medium\n}\n",
            p->width, p->height, p->width, p->height);
        break;
    case PLOT_PDF:
        fprintf(out,
                "set terminal pdfcairo size %.3f, %.3f font 'sans,12' background 'white' fontscale 0.7\n",
                p->width / 120., p->height / 120.);
        break;
    }
}

static void put_gnuplot_label(FILE *out, const char *what, const char *text, const char *more)
{
    fprintf(out, "set %s ", what);
    gnuplot_text(out, text);
    fprintf(out, " %s\n", more);
}

static void put_plot_frame(FILE *out, const struct plot *p)
{
    int text = p->terminal == PLOT_TEXT;
    put_gnuplot_label(out, "title", p->title, "noenhanced");
    put_gnuplot_label(out, "xlabel", p->x_label, "noenhanced");
    put_gnuplot_label(out, "ylabel", p->y_label, "noenhanced");
    if (text) {
        /* Turned text does not exist in a terminal, so the label of the axis is left out there. */
        fputs("set ylabel\nset tics nomirror out\nset border 3\n", out);
    } else {
        fputs("set border 3 lw 1 lc rgb '#404040'\nset tics nomirror out textcolor rgb '#202020'\n"
              "set grid xtics ytics back lw 1 dt 1 lc rgb '#dcdcdc'\nset rmargin 4\n",
              out);
    }
    if (p->has_range)
        /* 17 digits give back the same double, so a bin at the end stays inside. */
        fprintf(out, "set xrange [%.17g:%.17g]\n", p->range[0], p->range[1]);
    else
        fputs("set xrange [*:*] noextend\n", out);
}

/* --- Curves --- */

int plot_has_band(const struct plot *p)
{
    return p->kind == PLOT_CURVES && p->terminal != PLOT_TEXT && p->has_sigma && p->errors > 0 &&
           p->n_curves <= BANDS;
}

/* The smallest and largest of what is drawn; on a logarithmic axis, of what is above zero. */
static void find_plot_extent(double ends[2], const struct plot *p)
{
    ends[0] = INFINITY;
    ends[1] = -INFINITY;
    for (size_t c = 0; c < p->n_curves; c++)
        for (size_t i = 0; i < p->curves[c].n; i++) {
            double x = p->curves[c].x[i], y = p->curves[c].y[i];
            if (!isfinite(y) || (p->log && y <= 0) || (p->has_range && (x < p->range[0] || x > p->range[1])))
                continue;
            ends[0] = y < ends[0] ? y : ends[0];
            ends[1] = y > ends[1] ? y : ends[1];
        }
    if (!(ends[0] <= ends[1])) { /* nothing at all */
        ends[0] = p->log ? 0.1 : 0;
        ends[1] = 1;
    }
}

/* x, y, and the band's ends; on a logarithmic axis the band ends at `least`. */
static void put_data(FILE *out, const struct plot *p, double least)
{
    for (size_t c = 0; c < p->n_curves; c++) {
        const struct plot_curve *curve = &p->curves[c];
        fprintf(out, "$c%zu << EOD\n", c);
        for (size_t i = 0; i < curve->n; i++) {
            double y = curve->y[i], band = p->has_sigma ? p->errors * curve->sigma[i] : 0;
            if (!isfinite(y) || (p->log && y <= 0)) {
                fputs("\n", out); /* a gap in the line */
                continue;
            }
            /* A band down to zero or below has no place on a logarithmic axis. */
            double low = p->log ? fmax(y - band, least) : y - band;
            fprintf(out, "%.9g %.9g %.9g %.9g\n", curve->x[i], y, isfinite(band) ? low : y,
                    isfinite(band) ? y + band : y);
        }
        fputs("EOD\n", out);
    }
}

/* A logarithmic axis from ends[0] to ends[1]: powers of ten, or 1, 2, 5, 10 ... where these would be few. */
static void put_log_axis(FILE *out, const struct plot *p, const char *axis, const double ends[2])
{
    static const int steps[] = { 1, 2, 5 };
    /* Above the largest of what doubles hold there is no room, and gnuplot knows no infinity. */
    fprintf(out, "set logscale %s\nset %srange [%.17g:%.17g]\n", axis, axis, ends[0],
            fmin(ends[1], DBL_MAX));
    /* Over three decades powers of ten are labels enough. */
    if (ends[1] / ends[0] > 1e3) {
        fprintf(out, "set format %s '%s'\n", axis, p->terminal == PLOT_TEXT ? "%.0e" : "10^{%L}");
        return;
    }
    fprintf(out, "set %stics (", axis);
    const char *comma = "";
    /* i counts 1, 2, 5 of each decade, from the one that holds the lower end. */
    for (int i = 3 * (int)floor(log10(ends[0])), top = 3 * (int)ceil(log10(ends[1])); i <= top;
         i++, comma = ", ") {
        double at = steps[((i % 3) + 3) % 3] * pow(10, floor(i / 3.));
        if (isfinite(at))
            fprintf(out, "%s'%.9g' %.9g", comma, at, at);
    }
    fputs(")\n", out);
}

static void put_y_range(FILE *out, const struct plot *p, const double ends[2])
{
    if (p->log) {
        put_log_axis(out, p, "y", (double[]){ ends[0] / 1.15, ends[1] * 1.25 });
    } else if (ends[0] >= 0) {
        fputs("set yrange [0:*]\n", out);
    }
}

/* The frames of one file are their own scale. */
static int bar_is_frames(const struct plot *p)
{
    for (size_t c = 1; c < p->n_curves; c++)
        if (p->curves[c].frame <= p->curves[c - 1].frame)
            return 0;
    return 1;
}

/* Where a curve is on the bar of colours. */
static double bar_value(const struct plot *p, size_t c)
{
    return bar_is_frames(p) ? (double)p->curves[c].frame : (double)c + 1;
}

/* A label's place in a key is limited: of a longer one its end stays, which tells files of a series apart. */
static void put_key_entry(FILE *out, const char *label)
{
    char cut[KEY_WIDTH + 8];
    const char *from = label;
    size_t n = 0;
    for (const char *c = label; *c; c++)
        n += (*c & 0xc0) != 0x80;
    for (; n > KEY_WIDTH; n--)
        /* Whole characters go: those that begin with 10 in binary belong to the one before. */
        do
            from++;
        while ((*from & 0xc0) == 0x80);
    fputs("title ", out);
    if (from == label) {
        gnuplot_text(out, label);
    } else {
        snprintf(cut, sizeof cut, "…%s", from);
        gnuplot_text(out, strlen(from) < sizeof cut - 4 ? cut : from);
    }
}

/* Few curves have names; many have colours in their order, and a bar that says which. */
static void put_key(FILE *out, const struct plot *p)
{
    size_t longest = 0;
    for (size_t c = 0; c < p->n_curves; c++)
        longest = strlen(p->curves[c].label) > longest ? strlen(p->curves[c].label) : longest;
    if (p->n_curves == 1 || (p->n_curves > PLOT_FEW && p->terminal == PLOT_TEXT)) {
        fputs("set key off\n", out);
    } else if (p->n_curves <= PLOT_FEW) {
        /* Long names beside the plot would take its width. */
        int below = longest > BESIDE || p->terminal == PLOT_TEXT;
        fprintf(out, "set rmargin -1\nset key %s noenhanced samplen 1.5 spacing 1.2\n",
                below ? "below center horizontal reverse Left" : "outside right top reverse Left");
    } else {
        fputs("set key off\nset rmargin -1\nset palette defined (", out);
        for (size_t i = 0; i < N_VIRIDIS; i++)
            fprintf(out, "%s%zu '#%06x'", i ? ", " : "", i, plot_colour(i, N_VIRIDIS));
        fprintf(out, ")\nset cbrange [%.17g:%.17g]\n", bar_value(p, 0), bar_value(p, p->n_curves - 1));
        put_gnuplot_label(out, "cblabel", bar_is_frames(p) ? "Frame" : "Curve, in the order given",
                          "noenhanced offset 0.5, 0");
    }
}

static void put_curve(FILE *out, const struct plot *p, size_t c)
{
    if (p->terminal == PLOT_TEXT) {
        fprintf(out, "$c%zu using 1:2 with lines ", c);
        put_key_entry(out, p->curves[c].label);
    } else if (p->n_curves > PLOT_FEW) {
        fprintf(out, "$c%zu using 1:2:(%.17g) with lines lw 1.2 lc palette notitle", c, bar_value(p, c));
    } else {
        fprintf(out, "$c%zu using 1:2 with lines lw 1.5 lc rgb '%s' ", c, few[c % N_FEW]);
        put_key_entry(out, p->curves[c].label);
    }
}

/* A single band needs no transparency, which some viewers draw badly; several are the fainter the more they are, or
 * they would add up to one that hides the lines. */
static void put_band(FILE *out, const struct plot *p, size_t c)
{
    unsigned colour = colour_of(few[c % N_FEW]);
    fprintf(out, "$c%zu using 1:3:4 with filledcurves fs ", c);
    if (p->n_curves > 1)
        fprintf(out, "transparent solid %.3f noborder lc rgb '#%06x' notitle, ", 0.5 / (double)p->n_curves, colour);
    else
        fprintf(out, "solid 1 noborder lc rgb '#%06x' notitle, ", mix_colours(colour, 0xffffff, 0.65));
}

static void write_curves(FILE *out, const struct plot *p)
{
    double ends[2];
    int bands = plot_has_band(p);
    find_plot_extent(ends, p);
    put_y_range(out, p, ends);
    put_data(out, p, ends[0] / 1.15);
    put_key(out, p);
    fputs("plot ", out);
    /* Bands are drawn first, behind all lines. */
    for (size_t c = 0; bands && c < p->n_curves; c++)
        put_band(out, p, c);
    for (size_t c = 0; c < p->n_curves; c++) {
        fputs(c ? ", " : "", out);
        put_curve(out, p, c);
    }
    fputs("\n", out);
}

/* --- One above the other --- */

unsigned plot_colour(size_t i, size_t n)
{
    double at = n > 1 ? 0.9 * (double)i / (double)(n - 1) * (N_VIRIDIS - 1) : 0;
    size_t k = (size_t)at < N_VIRIDIS - 1 ? (size_t)at : N_VIRIDIS - 2;
    return mix_colours(colour_of(viridis[k]), colour_of(viridis[k + 1]), at - (double)k);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The middle one of what is drawn of a curve: where its label stands. */
static double middle_of(const struct plot *p, const struct plot_curve *curve)
{
    double *sorted = malloc(curve->n * sizeof *sorted), middle = 0;
    size_t n = 0;
    for (size_t i = 0; sorted && i < curve->n; i++)
        if (isfinite(curve->y[i]) && (!p->log || curve->y[i] > 0))
            sorted[n++] = curve->y[i];
    if (n) {
        qsort(sorted, n, sizeof *sorted, by_size);
        middle = sorted[n / 2];
    }
    free(sorted);
    return middle;
}

/* At its curve's right end, as many as there is room for. */
static void put_curve_label(FILE *out, const struct plot *p, size_t c, double step)
{
    double y = middle_of(p, &p->curves[c]);
    fputs("set label ", out);
    gnuplot_text(out, p->curves[c].label);
    fprintf(out, " at graph 1.01, first %.9g left noenhanced font ',11' textcolor rgb '#%06x'\n",
            p->log ? y * pow(step, (double)c) : y + (double)c * step, plot_colour(c, p->n_curves));
}

/* Each curve is lifted above the one before, and hides what is behind it. */
static void write_waterfall(FILE *out, const struct plot *p)
{
    double ends[2], step, n = (double)p->n_curves;
    int text = p->terminal == PLOT_TEXT;
    char label[192];
    find_plot_extent(ends, p);
    /* The lowest point of the axis: white areas reach down to it. */
    double floor_ = p->log ? ends[0] / 1.15 : fmin(ends[0], 0);
    /* Many curves overlap more, so that the picture is not all lift. The factors are chosen by eye. */
    step = p->log ? pow(fmin(ends[1] / ends[0], DBL_MAX), fmin(0.4, 3 / n)) : (ends[1] - floor_) * fmin(0.5, 4 / n);
    /* Curves without any height are still lifted apart. */
    if (!(step > (p->log ? 1 : 0)))
        step = p->log ? 2 : 1;
    /* The highest one stays within what doubles hold. */
    step = fmin(step, p->log ? pow(DBL_MAX / ends[1], 1 / n) : (DBL_MAX - fmax(ends[1], 0)) / n);
    put_data(out, p, floor_);
    snprintf(label, sizeof label, p->log ? "%s, times %.3g a curve" : "%s, plus %.3g a curve", p->y_label,
             step);
    if (!text)
        put_gnuplot_label(out, "ylabel", label, "noenhanced");
    fprintf(out, "set rmargin %d\nset key off\n", text ? 2 : 14);
    /* A curve that is flat, at 0 or below, has the height of a step: gnuplot refuses an empty range. */
    double top = ends[1] + (n - 1) * step;
    if (p->log)
        put_log_axis(out, p, "y", (double[]){ floor_, ends[1] * pow(step, n - 1) * 1.25 });
    else
        fprintf(out, "set yrange [%.9g:%.9g]\n", floor_, top > floor_ ? top : floor_ + step);
    /* Labels for 24 curves have room beside the picture. */
    for (size_t c = 0; !text && c < p->n_curves; c += p->n_curves / 24 + 1)
        put_curve_label(out, p, c, step);
    fputs("plot ", out);
    /* The highest curve is drawn first: each later one hides what is behind it. */
    for (size_t c = p->n_curves; c-- > 0;) {
        double lift = p->log ? pow(step, (double)c) : (double)c * step;
        char lifted[64];
        snprintf(lifted, sizeof lifted, p->log ? "($2*%.17g)" : "($2+%.17g)", lift);
        if (!text)
            fprintf(out, "$c%zu using 1:%s with filledcurves y1=%.9g fs solid 1 lc rgb 'white', ", c, lifted,
                    p->log ? floor_ * lift : floor_ + lift);
        fprintf(out, "$c%zu using 1:%s with lines", c, lifted);
        if (!text)
            fprintf(out, " lw 1.2 lc rgb '#%06x'", plot_colour(c, p->n_curves));
        fputs(c ? ", " : "\n", out);
    }
}

/* --- Maps --- */

/* What a cell has on the scale of colours; NaN: nothing.  A detector's pixel without counts has the lowest colour, and
 * bins without light, of which there may be many, none. */
static double cell_value(const struct plot *p, size_t i)
{
    double v = p->map.cells[i];
    if (p->log && v <= 0)
        return p->kind == PLOT_IMAGE ? 0 : NAN;
    return v;
}

/* A few hot cells shall not leave the rest dark, so colours reach from one percentile to another. */
const char *plot_value_label(const struct plot *p)
{
    return p->value_label ? p->value_label : "Mean intensity per pixel";
}

int plot_find_colours(double ends[2], const struct plot *p)
{
    size_t n = 0, all = p->map.width * p->map.height;
    double *sorted = malloc(all * sizeof *sorted);
    for (size_t i = 0; sorted && i < all; i++) {
        double v = cell_value(p, i);
        /* On a linear scale 0 is what bins without light have, and many of them would make the rest dark. */
        if (isfinite(v) && (v > 0 || (!p->log && (v != 0 || p->kind == PLOT_IMAGE))))
            sorted[n++] = v;
    }
    ends[0] = p->log ? 0.1 : 0;
    ends[1] = 1;
    if (n) {
        qsort(sorted, n, sizeof *sorted, by_size);
        ends[0] = sorted[(size_t)((double)(n - 1) * p->contrast[0] / 100 + 0.5)];
        ends[1] = sorted[(size_t)((double)(n - 1) * p->contrast[1] / 100 + 0.5)];
    }
    free(sorted);
    /* gnuplot refuses an empty range of colours, and what rounding left of equal numbers is none either. */
    if (!(ends[1] - ends[0] > 1e-9 * fabs(ends[1]))) {
        ends[0] = fmin(ends[0], DBL_MAX / 1.002); /* so that there is something above it */
        ends[1] = ends[0] + fmax(fabs(ends[0]), 1) * 1e-3;
    }
    return n > 0;
}

static double cell_step(const double ends[2], size_t n)
{
    return n > 1 && ends[0] != ends[1] ? (ends[1] - ends[0]) / (double)(n - 1) : 1;
}

static void put_ring_data(FILE *out, const struct plot_map *map)
{
    if (!map->n_segments)
        return;
    fputs("$r << EOD\n", out);
    for (size_t i = 0; i < map->n_segments; i++)
        fprintf(out, "%.7g %.7g\n%.7g %.7g\n\n", map->segments[i].x[0], map->segments[i].y[0], map->segments[i].x[1],
                map->segments[i].y[1]);
    fputs("EOD\n", out);
}

static void write_map(FILE *out, const struct plot *p)
{
    const struct plot_map *map = &p->map;
    double ends[2], dx = cell_step(map->x, map->width), dy = cell_step(map->y, map->height);
    plot_find_colours(ends, p);
    /* The palette goes with the script, as older versions of gnuplot do not have it. */
    fputs("set palette defined (", out);
    for (size_t i = 0; i < N_VIRIDIS; i++)
        fprintf(out, "%s%zu '%s'", i ? ", " : "", i, viridis[i]);
    fputs(")\n", out);
    put_gnuplot_label(out, "cblabel", plot_value_label(p), "noenhanced offset 0.5, 0");
    /* A detector's pixels are as long as they are wide, and its first row is the highest. */
    if (p->kind == PLOT_IMAGE)
        fputs("set size ratio -1\n", out);
    /* Cells without a value show the grey behind them, which no colour of the palette resembles. */
    fputs("set key off\nunset grid\nset border 15\nset rmargin -1\n"
          "set object rectangle from graph 0, 0 to graph 1, 1 behind fs solid 1 noborder fc rgb '#dcdcdc'\n",
          out);
    if (p->log)
        put_log_axis(out, p, "cb", ends);
    else
        fprintf(out, "set cbrange [%.17g:%.17g]\n", ends[0], ends[1]);
    if (!p->has_range)
        /* The range ends at the cells' edges, half a step from their centres. */
        fprintf(out, "set xrange [%.17g:%.17g]\n", map->x[0] - dx / 2, map->x[1] + dx / 2);
    int down = p->kind == PLOT_IMAGE;
    fprintf(out, "set yrange [%.17g:%.17g]\n", map->y[down] + (down ? dy : -dy) / 2,
            map->y[!down] + (down ? -dy : dy) / 2);
    fputs("$m << EOD\n", out);
    for (size_t i = 0; i < map->width * map->height; i++) {
        double v = cell_value(p, i);
        if (isfinite(v))
            /* On a logarithmic scale what is below its end has the colour of the end, not none. */
            fprintf(out, "%.9g", p->log ? fmax(v, ends[0]) : v);
        else
            fputs("NaN", out);
        putc((i + 1) % map->width ? ' ' : '\n', out);
    }
    fputs("EOD\n", out);
    put_ring_data(out, map);
    fprintf(out, "plot $m matrix using (%.17g+$1*%.17g):(%.17g+$2*%.17g):3 with image", map->x[0], dx, map->y[0], dy);
    if (map->n_segments)
        fputs(", $r using 1:2 with lines lw 1.2 lc rgb '#ff2020'", out);
    if (map->has_centre)
        fprintf(out, ", '+' using (%.9g):(%.9g) every ::0::0 with points pt 1 ps 2 lw 1.5 lc rgb '#ff2020'",
                map->centre[0], map->centre[1]);
    fputs("\n", out);
}

void plot_write(FILE *script, const struct plot *plot)
{
    put_terminal(script, plot);
    put_plot_frame(script, plot);
    if (plot->kind == PLOT_MAP || plot->kind == PLOT_IMAGE)
        write_map(script, plot);
    else if (plot->kind == PLOT_WATERFALL)
        write_waterfall(script, plot);
    else
        write_curves(script, plot);
}
