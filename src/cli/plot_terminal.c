/* plot_terminal.c - maps and images in a terminal: in characters, in blocks of two pixels each, or as pictures in the
 * protocols of DEC (sixel) and kitty.
 *
 * Whatever the way, the picture is first made as a raster of shares of the range of colours, with rings and the beam's
 * centre on it; then it is written. */
#include "plot.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { APART = 6, MARGIN = 12, LEVELS = 64, CELL_WIDTH = 8, CELL_HEIGHT = 16 };
#define NOTHING (-1.f) /* in a raster: no value; RING: part of a ring, or the beam's centre */
#define RING (-2.f)
enum { GREY = 0x707070, RED = 0xff4040 };

struct raster {
    size_t width, height;
    float *at; /* [height][width], the first row on top */
    double ends[2]; /* of the colours */
};

/* --- The raster --- */

/* The map's cell under a point of the raster, averaged; NaN where there is nothing. */
static double average_point(const struct plot_map *map, size_t x, size_t y, size_t width, size_t height)
{
    double sum = 0, n = 0;
    /* A point covers several cells, or a part of one: then it is that cell. */
    for (size_t j = y * map->height / height;
         j < (y + 1) * map->height / height || j == y * map->height / height; j++)
        for (size_t i = x * map->width / width;
             i < (x + 1) * map->width / width || i == x * map->width / width; i++)
            if (isfinite(map->cells[j * map->width + i])) {
                sum += map->cells[j * map->width + i];
                n++;
            }
    return n > 0 ? sum / n : NAN;
}

/* 0 ... 1 between the ends, NOTHING for nothing; a detector's pixel without counts is no nothing. */
static float share_of_range(const struct plot *p, const double ends[2], double v)
{
    if (!isfinite(v) || (p->log && v <= 0 && p->kind != PLOT_IMAGE))
        return NOTHING;
    if (p->log && v <= ends[0])
        return 0;
    /* Logarithms are subtracted, and halves: quotients and differences of the largest numbers are infinite. */
    double at = p->log ? (log(v) - log(ends[0])) / (log(ends[1]) - log(ends[0]))
                       : (v / 2 - ends[0] / 2) / (ends[1] / 2 - ends[0] / 2);
    if (!(at > 0)) /* or none, of a range of the smallest numbers */
        return 0;
    return at > 1 ? 1 : (float)at;
}

/* Where a place of an axis with these ends of cells is, of n points. */
static double point_of(const double ends[2], size_t cells, double at, size_t n)
{
    double step = cells > 1 ? (ends[1] - ends[0]) / (double)(cells - 1) : 1;
    return (at - ends[0] + step / 2) / (step * (double)cells) * (double)n;
}

static void set_ring_point(struct raster *r, double x, double y)
{
    if (x >= 0 && y >= 0 && x < (double)r->width && y < (double)r->height)
        r->at[(size_t)y * r->width + (size_t)x] = RING;
}

/* Which rings there is room for: those that are a few points outside the one before.  NULL: all. */
static char *choose_rings(const struct plot_map *map, size_t width, size_t height)
{
    double *far = calloc(map->n_rings + 1, 2 * sizeof *far), last = 0;
    char *shown = calloc(map->n_rings + 1, 1);
    for (size_t i = 0; far && i < map->n_segments; i++) {
        const struct plot_segment *s = &map->segments[i];
        far[2 * s->ring] += hypot((s->x[0] - map->centre[0]) / map->x[1] * (double)width,
                                  (s->y[0] - map->centre[1]) / map->y[1] * (double)height);
        far[2 * s->ring + 1]++;
    }
    for (size_t i = 0; shown && far && i < map->n_rings; i++) {
        double at = far[2 * i + 1] > 0 ? far[2 * i] / far[2 * i + 1] : 0;
        shown[i] = at - last >= APART;
        last = shown[i] ? at : last;
    }
    free(far);
    return shown;
}

/* Is a point one of those of a broken line around the centre: two, then a gap of two? */
static int is_dash(const double centre[2], double x, double y)
{
    double far = hypot(x - centre[0], y - centre[1]), angle = atan2(y - centre[1], x - centre[0]);
    return (long)floor(far * angle / 2) % 2 == 0;
}

/* Rings as lines: where points are as large as blocks only some, and broken, or they would hide what is below. */
static void draw_overlay(struct raster *r, const struct plot_map *map, int coarse)
{
    double centre[2] = { point_of(map->x, map->width, map->centre[0], r->width),
                         point_of(map->y, map->height, map->centre[1], r->height) };
    char *shown = coarse && map->has_centre ? choose_rings(map, r->width, r->height) : NULL;
    for (size_t i = 0; i < map->n_segments; i++) {
        const struct plot_segment *s = &map->segments[i];
        double x[2], y[2];
        for (int k = 0; k < 2; k++) {
            x[k] = point_of(map->x, map->width, s->x[k], r->width);
            y[k] = point_of(map->y, map->height, s->y[k], r->height);
        }
        if (shown && !shown[s->ring])
            continue;
        size_t steps = (size_t)ceil(fmax(fabs(x[1] - x[0]), fabs(y[1] - y[0]))) + 1;
        for (size_t k = 0; k <= steps; k++) {
            double px = x[0] + (x[1] - x[0]) * (double)k / (double)steps,
                   py = y[0] + (y[1] - y[0]) * (double)k / (double)steps;
            if (!coarse || is_dash(centre, px, py))
                set_ring_point(r, px, py);
        }
    }
    /* A cross of an odd number of points, smaller where points are large. */
    for (int k = coarse ? -1 : -6; map->has_centre && k <= (coarse ? 1 : 6); k++) {
        set_ring_point(r, centre[0] + k, centre[1]);
        set_ring_point(r, centre[0], centre[1] + k);
    }
    free(shown);
}

static int make_raster(struct raster *r, const struct plot *p, size_t width, size_t height, int coarse)
{
    *r = (struct raster){ .width = width, .height = height, .at = malloc(width * height * sizeof *r->at) };
    if (!r->at)
        return -1;
    plot_find_colours(r->ends, p);
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            /* Terminals write from the top, where a detector's first row is; the axis of a map goes up. */
            size_t row = p->kind == PLOT_IMAGE ? y : height - 1 - y;
            r->at[y * width + x] = share_of_range(p, r->ends, average_point(&p->map, x, row, width, height));
        }
    draw_overlay(r, &p->map, coarse);
    return 0;
}

/* --- Characters and blocks --- */

static unsigned colour_of_share(float at)
{
    if (at == RING)
        return RED;
    return at < 0 ? GREY : plot_colour((size_t)(at * 1000), 1001);
}

/* The nearest of the 6 x 6 x 6 colours that terminals of 256 have. */
static unsigned cube_colour(unsigned rgb)
{
    unsigned index = 16;
    for (int i = 0; i < 3; i++) {
        unsigned part = rgb >> (16 - 8 * i) & 255;
        /* Their steps: 0, 95, 135, 175 ... */
        unsigned level = part < 48 ? 0 : part < 115 ? 1 : (part - 35) / 40;
        index += level * (i == 0 ? 36 : i == 1 ? 6 : 1);
    }
    return index;
}

/* The colour of what follows (38) or of what is behind it (48). */
static void put_colour(FILE *out, int layer, unsigned rgb, int cube)
{
    if (cube)
        fprintf(out, "\033[%d;5;%um", layer, cube_colour(rgb));
    else
        fprintf(out, "\033[%d;2;%u;%u;%um", layer, rgb >> 16, rgb >> 8 & 255, rgb & 255);
}

/* A row of characters, each of which shows two points of the raster, one above the other. */
static void print_blocks(FILE *out, const struct raster *r, size_t row, int cube)
{
    unsigned before[2] = { ~0u, ~0u };
    for (size_t x = 0; x < r->width; x++) {
        unsigned upper = colour_of_share(r->at[2 * row * r->width + x]),
                 lower = colour_of_share(r->at[(2 * row + 1) * r->width + x]);
        /* Only what changes is written: most neighbours have the same colour. */
        if (upper != before[0])
            put_colour(out, 38, upper, cube);
        if (lower != before[1])
            put_colour(out, 48, lower, cube);
        before[0] = upper;
        before[1] = lower;
        fputs("▀", out);
    }
    fputs("\033[0m", out);
}

/* Without colours the density of the character stands for the value. */
static void print_letters(FILE *out, const struct raster *r, size_t row)
{
    static const char ramp[] = " .:-=+*#%@";
    for (size_t x = 0; x < r->width; x++) {
        float at = r->at[row * r->width + x];
        if (at < 0)
            putc(at == RING ? 'o' : ' ', out);
        else
            putc(ramp[(size_t)(at * 9.999f)], out);
    }
}

/* Rows with the ends of the vertical axis beside them, and a line below. */
static void print_rows(FILE *out, const struct plot *p, const struct raster *r, size_t rows)
{
    const struct plot_map *map = &p->map;
    int down = p->kind == PLOT_IMAGE;
    for (size_t row = 0; row < rows; row++) {
        if (!row || row == rows - 1)
            fprintf(out, "%10.4g |", map->y[down ? row > 0 : !row]);
        else
            fprintf(out, "%10s |", "");
        if (p->screen == SCREEN_TEXT)
            print_letters(out, r, row);
        else
            print_blocks(out, r, row, p->screen == SCREEN_BLOCKS_256);
        fputs("\n", out);
    }
    fprintf(out, "%11s+", "");
    for (size_t x = 0; x < r->width; x++)
        putc('-', out);
    fprintf(out, "\n%12s%-10.4g%*.4g\n", "", map->x[0], r->width > 20 ? (int)r->width - 10 : 10, map->x[1]);
}

/* --- Pictures --- */

static unsigned level_of(float at)
{
    if (at == RING)
        return LEVELS + 1;
    return at < 0 ? LEVELS : (unsigned)(at * (LEVELS - 1) + 0.5f);
}

/* Six rows of one colour: runs of characters whose bits say which of the six have it. */
static void put_sixel_colour(FILE *out, const struct raster *r, size_t top, unsigned level)
{
    size_t run = 0;
    int before = 0;
    fprintf(out, "#%u", level);
    for (size_t x = 0; x <= r->width; x++) {
        int bits = x == r->width ? -1 : 0;
        for (size_t k = 0; bits >= 0 && k < 6 && top + k < r->height; k++)
            bits |= (level_of(r->at[(top + k) * r->width + x]) == level) << k;
        if (x && bits != before) {
            /* Runs of more than three are shorter as a number. */
            if (run > 3)
                fprintf(out, "!%zu", run);
            for (size_t k = 0; k < (run > 3 ? 1 : run); k++)
                putc(63 + before, out);
            run = 0;
        }
        before = bits;
        run++;
    }
}

static void print_sixel(FILE *out, const struct raster *r)
{
    fprintf(out, "\033Pq\"1;1;%zu;%zu", r->width, r->height);
    for (unsigned i = 0; i < LEVELS + 2; i++) {
        unsigned rgb = i < LEVELS ? plot_colour(i, LEVELS) : i == LEVELS ? GREY : RED;
        /* Parts of a hundred. */
        fprintf(out, "#%u;2;%u;%u;%u", i, (rgb >> 16) * 100 / 255, (rgb >> 8 & 255) * 100 / 255,
                (rgb & 255) * 100 / 255);
    }
    for (size_t top = 0; top < r->height; top += 6) {
        char used[LEVELS + 2] = { 0 };
        for (size_t i = top * r->width; i < (top + 6) * r->width && i < r->height * r->width; i++)
            used[level_of(r->at[i])] = 1;
        /* $ goes back to the beginning of the six rows, - on to the next. */
        for (unsigned i = 0; i < LEVELS + 2; i++)
            if (used[i]) {
                put_sixel_colour(out, r, top, i);
                putc('$', out);
            }
        putc('-', out);
    }
    fputs("\033\\\n", out);
}

/* kitty takes red, green and blue in base64, in pieces of 4096 characters at most: 1024 points. */
static void print_kitty(FILE *out, const struct raster *r)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    enum { PIECE = 1024 };
    size_t n = r->width * r->height;
    for (size_t i = 0; i < n; i++) {
        if (i % PIECE == 0) {
            fputs(i ? "\033\\\033_G" : "\033_G", out);
            if (!i)
                fprintf(out, "a=T,q=2,f=24,s=%zu,v=%zu,", r->width, r->height);
            fprintf(out, "m=%d;", n - i > PIECE);
        }
        unsigned rgb = colour_of_share(r->at[i]);
        /* Three bytes are exactly four digits. */
        for (int shift = 18; shift >= 0; shift -= 6)
            putc(digits[rgb >> shift & 63], out);
    }
    fputs("\033\\\n", out);
}

/* --- The whole --- */

/* The largest width x height of a detector's shape within that room, points being so much higher than wide. */
static void keep_shape(size_t *width, size_t *height, const struct plot_map *map, double tall)
{
    double shape = (double)map->height / (double)map->width / tall; /* rows of points for one in a row */
    if ((double)*width * shape > (double)*height)
        *width = (size_t)fmax(1, (double)*height / shape + 0.5);
    else
        *height = (size_t)fmax(1, (double)*width * shape + 0.5);
}

static void print_picture(FILE *out, const struct plot *p, struct raster *r, size_t columns, size_t rows)
{
    /* Without the window's size in pixels, that of usual characters. */
    size_t width = columns * (p->cell[0] ? p->cell[0] : CELL_WIDTH),
           height = rows * (p->cell[1] ? p->cell[1] : CELL_HEIGHT);
    if (p->kind == PLOT_IMAGE)
        keep_shape(&width, &height, &p->map, 1);
    if (make_raster(r, p, width, height, 0))
        return;
    if (p->screen == SCREEN_KITTY)
        print_kitty(out, r);
    else
        print_sixel(out, r);
    fprintf(out, "across: %.4g to %.4g, %s: %.4g to %.4g\n", p->map.x[0], p->map.x[1],
            p->kind == PLOT_IMAGE ? "down" : "up", p->map.y[0], p->map.y[1]);
}

static void print_characters(FILE *out, const struct plot *p, struct raster *r, size_t columns, size_t rows)
{
    size_t points = p->screen == SCREEN_TEXT ? 1 : 2; /* that a character has, one above the other */
    /* A character is twice as high as it is wide. */
    if (p->kind == PLOT_IMAGE)
        keep_shape(&columns, &rows, &p->map, 2);
    if (!make_raster(r, p, columns, points * rows, 1))
        print_rows(out, p, r, rows);
}

void plot_print_map(FILE *out, const struct plot *p)
{
    struct raster r = { 0 };
    int is_picture = p->screen == SCREEN_SIXEL || p->screen == SCREEN_KITTY;
    /* The margins are for the labels of the axes, and a tiny terminal still gets a picture. */
    size_t width = p->width > 32 ? p->width - MARGIN : 20, height = p->height > 12 ? p->height - 5 : 7;
    fprintf(out, "%*s%s\n", is_picture ? 0 : MARGIN, "", p->title);
    if (is_picture)
        print_picture(out, p, &r, width, height);
    else
        print_characters(out, p, &r, width, height);
    int left = is_picture ? 0 : MARGIN;
    /* The ends of both axes and of the colours are enough to read the map roughly. */
    fprintf(out, "%*s%s; %s: %s\n%*s%s %.4g to %.4g%s\n", left, "", p->x_label, p->kind == PLOT_IMAGE ? "down" : "up",
            p->y_label, left, "", plot_value_label(p), r.ends[0], r.ends[1], p->log ? " (log)" : "");
    free(r.at);
}
