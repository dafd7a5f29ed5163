/* plot.h - what a plot shows (plot.c), and how gnuplot is told (plot_script.c). */
#ifndef HCY_CLI_PLOT_H
#define HCY_CLI_PLOT_H

#include <stdint.h>
#include <stdio.h>

enum plot_kind { PLOT_AUTO, PLOT_CURVES, PLOT_WATERFALL, PLOT_MAP };
enum plot_terminal { PLOT_TEXT, PLOT_SVG, PLOT_PNG, PLOT_PDF };

struct plot_curve {
    char label[256];
    uint64_t frame;
    size_t n;
    const double *x; /* belongs to the results */
    double *y, *sigma;
};

/* Rows of cells, averages of what falls into them; NaN: nothing does.  Centres of the first and the last. */
struct plot_map {
    size_t width, height;
    double x[2], y[2];
    double *cells;
};

struct plot {
    enum plot_kind kind;
    enum plot_terminal terminal;
    unsigned width, height; /* pixels, or characters */
    int log, has_sigma, has_range;
    double errors;   /* standard errors of the band; 0: none */
    double range[2]; /* of the axis */
    char title[512], x_label[128], y_label[128];
    struct plot_curve *curves;
    size_t n_curves;
    struct plot_map map;
};

void plot_write(FILE *script, const struct plot *plot);
int plot_has_band(const struct plot *plot);
/* A map in characters; with `colour` in those of a terminal. */
void plot_print_map(FILE *out, const struct plot *plot, int colour);

#endif
