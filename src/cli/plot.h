/* plot.h - what a plot shows (plot.c, plot_frames.c), how gnuplot is told (plot_script.c), and maps in a terminal
 * (plot_terminal.c).  Single-threaded. */
#ifndef HCY_CLI_PLOT_H
#define HCY_CLI_PLOT_H

#include "cli.h"
#include <stdint.h>
#include <stdio.h>

enum plot_kind { PLOT_AUTO, PLOT_CURVES, PLOT_WATERFALL, PLOT_MAP, PLOT_IMAGE };
enum { PLOT_FEW = 8 }; /* curves that are told apart by colours */
enum plot_terminal { PLOT_TEXT, PLOT_SVG, PLOT_PNG, PLOT_PDF };

struct plot_curve {
    char label[256];
    uint64_t frame;
    size_t n;
    const double *x; /* belongs to the results */
    double *y, *sigma;
};

/* How a terminal shows pictures; in the order of --terminal's names. */
enum plot_screen { SCREEN_AUTO, SCREEN_TEXT, SCREEN_BLOCKS, SCREEN_BLOCKS_256, SCREEN_SIXEL, SCREEN_KITTY };

/* A piece of a ring, from one point to the other in the axes' units.  Rings are counted from 0 on, the innermost. */
struct plot_segment {
    double x[2], y[2];
    size_t ring;
};

/* Rows of cells, averages of what falls into them; NaN: nothing does.  Centres of the first and the last. */
struct plot_map {
    size_t width, height;
    double x[2], y[2];
    double *cells;
    /* Of a detector's image alone, whose rows run down. */
    struct plot_segment *segments; /* of rings */
    size_t n_segments, n_rings;
    int has_centre;
    double centre[2]; /* of the beam: x, y */
};

struct plot {
    enum plot_kind kind;
    enum plot_terminal terminal;
    unsigned width, height; /* pixels, or characters */
    int log, has_sigma, has_range;
    double errors;   /* standard errors of the band; 0: none */
    double range[2];    /* of the axis */
    double contrast[2]; /* percentiles at the ends of the colours */
    enum plot_screen screen;
    unsigned cell[2]; /* pixels of the terminal's characters; 0: not known */
    int has_window; /* the terminal's size is known */
    int is_sized;   /* by the user */
    char title[512], x_label[128], y_label[128];
    const char *value_label; /* of a map's colours; NULL: intensities */
    struct plot_curve *curves;
    size_t n_curves;
    struct plot_map map;
};

void plot_write(FILE *script, const struct plot *plot);
int plot_has_band(const struct plot *plot);
/* What a map's colours are. */
const char *plot_value_label(const struct plot *plot);
/* A colour of viridis, 0xRRGGBB, at 0 ... 0.9 of it: what is lighter is lost on white. */
unsigned plot_colour(size_t i, size_t n);
/* Ends of the map's colours, by percentiles of its cells; 0: it has none. */
int plot_find_colours(double ends[2], const struct plot *plot);

/* --- plot_terminal.c --- */

/* A map or an image in the terminal. */
void plot_print_map(FILE *out, const struct plot *plot);
/* What the terminal of stdout can show; asks it, if there is one. */
enum plot_screen plot_find_screen(void);

/* --- plot_frames.c --- */

/* What is wanted of a stack, and of results frames, log and title. */
struct plot_wish {
    const char *path, *dataset, *channel, *poni, *mask, *rings, *calibrant, *title;
    const struct cli_spans *frames;
    struct cli_int sum;
    int no_file_mask, flip, log, linear;
    int part; /* enum plot_part, of an array */
};
/* Reads frames to the plot's map, with masked pixels as NaN, and rings; CLI_*, after a message. */
int plot_read_frames(struct plot *plot, const struct plot_wish *wish);
/* The map of an image, averaged to what a picture shows; what is `bad` (NULL: nothing) does not count.  CLI_*. */
int plot_fill_cells(struct plot_map *map, const double *values, const uint8_t *bad, size_t height, size_t width);

/* --- plot_array.c --- */

enum plot_part { PLOT_PART_AUTO, PLOT_MAGNITUDE, PLOT_PHASE, PLOT_REAL, PLOT_IMAGINARY };
extern const char *const plot_parts[];
/* Is it, by its name, an array of hcy_host_array_read()?  What frames cannot be may be one. */
int plot_is_array(const char *path);
/* Reads an image of an array to the plot's map; CLI_*, after a message. */
int plot_read_array(struct plot *plot, const struct plot_wish *wish);

#endif
