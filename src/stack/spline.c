/* spline.c - FIT2D's files of spatial distortion, from which each pixel gets corners of its own.
 *
 * Two cubic tensor splines (FITPACK's knots and coefficients, those of x outermost) say by how many pixels a place of
 * the image is displaced in x and in y.  Sections stand in any order below their titles, numbers in columns of 14
 * without a blank between them.  Places outside the knots are displaced as the nearest one inside, as FITPACK has it;
 * the shape is the valid region's, and counting begins at 0 wherever that begins, as pyFAI 2026.9 has it.  In double,
 * kept in single precision; built so that products are not fused with sums.  No state; any thread.
 */
#include "spline.h"
#include "stack_priv.h"
#include <azint/plain_locale.h>
#include <ctype.h>
#include <halcyon/backend.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define ORDER         4 /* cubic: so many coefficients count at a place */
#define COLUMN        14
#define MOST_TEXT     (16u << 20)
#define MOST_KNOTS    32768u
#define MOST_SIDE     8192 /* pixels; larger than any detector with a taper */
#define MOST_PIXEL_UM 1e6
#define MOST_SHIFT    1e6 /* pixels */

static const char first_line[] = "SPATIAL DISTORTION";

/* --- Text --- */

struct spline_text {
    const char *path;
    char *next;    /* NULL: at the end */
    int line;      /* of what was taken last */
    size_t length; /* of it */
};

/* The next line without the blanks at its end, or NULL. */
static char *take_line(struct spline_text *t)
{
    char *line = t->next;
    if (!line)
        return NULL;
    char *end = strchr(line, '\n');
    t->next = end ? end + 1 : NULL;
    t->length = end ? (size_t)(end - line) : strlen(line);
    while (t->length && isspace((unsigned char)line[t->length - 1]))
        t->length--;
    line[t->length] = 0;
    t->line++;
    return line;
}

static int is_title(const char *line, const char *title)
{
    return !strcasecmp(line + strspn(line, " \t"), title);
}

/* The numbers of a line that was just taken, behind the *got of n that are known. */
static int read_columns(double *x, size_t *got, size_t n, const struct spline_text *t, const char *line)
{
    for (size_t at = 0; at < t->length; at += COLUMN) {
        char field[COLUMN + 1], *end;
        /* Told how much to look at: of a line of many numbers the rest would be counted for each. */
        snprintf(field, sizeof field, "%.*s", COLUMN, line + at);
        if (*got == n)
            return hcy_fail(HCY_EFORMAT, "%s:%d: more numbers than the %zu that belong there", t->path, t->line, n);
        double value = strtod(field, &end);
        if (end == field || end[strspn(end, " \t")] || !isfinite(value))
            return hcy_fail(HCY_EFORMAT, "%s:%d: '%s' in column %zu is no finite number (columns are of 14 characters)",
                            t->path, t->line, field, at + 1);
        x[(*got)++] = value;
    }
    return 0;
}

static int lacks_numbers(const struct spline_text *t, size_t got, size_t n)
{
    return got == n ? 0 : hcy_fail(HCY_EFORMAT, "%s:%d: %zu numbers, where %zu belong", t->path, t->line, got, n);
}

static int read_header(double *x, size_t n, struct spline_text *t)
{
    const char *line = take_line(t);
    size_t got = 0;
    int st = line ? read_columns(x, &got, n, t, line) : 0;
    return st ? st : lacks_numbers(t, got, n);
}

/* --- A displacement's spline --- */

struct spline_surface {
    size_t nx, ny;
    double *x, *y, *c; /* knots, and c[nx - ORDER][ny - ORDER]; one block, which x is the begin of */
};

static int check_knots(const double *knots, size_t n, const struct spline_text *t, const char *axis)
{
    for (size_t i = 1; i < n; i++)
        if (knots[i] < knots[i - 1])
            return hcy_fail(HCY_EFORMAT, "%s: the knots in %s above line %d fall from %g to %g", t->path, axis, t->line,
                            knots[i - 1], knots[i]);
    if (!(knots[ORDER - 1] < knots[n - ORDER]))
        return hcy_fail(HCY_EFORMAT, "%s: the knots in %s above line %d span nothing", t->path, axis, t->line);
    return 0;
}

static int check_surface(const struct spline_surface *s, const struct spline_text *t)
{
    int st = check_knots(s->x, s->nx, t, "x");
    if (!st)
        st = check_knots(s->y, s->ny, t, "y");
    /* A spline lies between its coefficients, so that single precision has room for all it gives. */
    for (size_t i = 0; !st && i < (s->nx - ORDER) * (s->ny - ORDER); i++)
        if (fabs(s->c[i]) > MOST_SHIFT)
            st = hcy_fail(HCY_EFORMAT, "%s: a coefficient above line %d is %g pixels", t->path, t->line, s->c[i]);
    return st;
}

/* Below its title: how many knots, and then all numbers up to an empty line. */
static int read_surface(struct spline_surface *s, struct spline_text *t)
{
    const char *line = take_line(t);
    unsigned long nx, ny;
    char *end = NULL;
    if (s->x)
        return hcy_fail(HCY_EFORMAT, "%s:%d: the same distortion for the second time", t->path, t->line);
    nx = line ? strtoul(line, &end, 10) : 0;
    ny = line ? strtoul(end, &end, 10) : 0;
    if (nx < 2 * ORDER || ny < 2 * ORDER || nx > MOST_KNOTS || ny > MOST_KNOTS || *end)
        return hcy_fail(HCY_EFORMAT, "%s:%d: not two numbers of knots, each from %d to %u", t->path, t->line, 2 * ORDER,
                        MOST_KNOTS);
    /* Both counts are small, so the product is none that overflows; a number takes a character at least. */
    size_t n = nx + ny + (nx - ORDER) * (ny - ORDER), got = 0;
    if (!t->next || n > strlen(t->next))
        return hcy_fail(HCY_EFORMAT, "%s:%d: %lu and %lu knots make %zu numbers, which the file is too short for",
                        t->path, t->line, nx, ny, n);
    if (!(s->x = malloc(n * sizeof *s->x)))
        return hcy_fail(HCY_ENOMEM, "no memory for the spline of %s", t->path);
    s->nx = nx;
    s->ny = ny;
    s->y = s->x + nx;
    s->c = s->y + ny;
    int st = 0;
    while (!st && (line = take_line(t)) && *line)
        st = read_columns(s->x, &got, n, t, line);
    if (!st)
        st = lacks_numbers(t, got, n);
    return st ? st : check_surface(s, t);
}

/* A coordinate among the knots: the coefficients that count there begin with `first`. */
struct spline_place {
    double weight[ORDER];
    size_t first;
};

/* De Boor's recurrence: the B-splines of each degree from those of the one below. */
static void place_on_knots(struct spline_place *p, const double *knots, size_t n, double at)
{
    size_t l = ORDER - 1;
    at = fmin(fmax(at, knots[ORDER - 1]), knots[n - ORDER]);
    while (l < n - ORDER - 1 && at >= knots[l + 1])
        l++;
    p->first = l - (ORDER - 1);
    p->weight[0] = 1;
    for (size_t degree = 1; degree < ORDER; degree++) {
        double saved = 0;
        for (size_t i = 0; i < degree; i++) {
            double right = knots[l + i + 1], left = knots[l + 1 + i - degree];
            /* Knots that are the same have nothing between them to share. */
            double share = right > left ? p->weight[i] / (right - left) : 0;
            p->weight[i] = saved + (right - at) * share;
            saved = (at - left) * share;
        }
        p->weight[degree] = saved;
    }
}

static double displace(const struct spline_surface *s, const struct spline_place *x, const struct spline_place *y)
{
    double sum = 0;
    for (size_t i = 0; i < ORDER; i++) {
        const double *c = s->c + (x->first + i) * (s->ny - ORDER) + y->first;
        double row = 0;
        for (size_t j = 0; j < ORDER; j++)
            row += y->weight[j] * c[j];
        sum += x->weight[i] * row;
    }
    return sum;
}

/* --- A file --- */

struct spline {
    double region[4]; /* x and y of its begin, x and y of its end */
    double grid[3];   /* its spacing, which nothing depends on, and pixels in micrometres: x, y */
    struct spline_surface x, y;
};

/* Columns and rows of a regular grid of places, on the knots of both surfaces. */
struct spline_grid {
    size_t columns, rows;
    double begin; /* where its first place is, in pixels, both ways */
    struct spline_place *x_columns, *x_rows, *y_columns, *y_rows; /* one block, which the first is the begin of */
};

static int make_grid(struct spline_grid *g, const struct spline *s, size_t rows, size_t columns, double begin)
{
    *g = (struct spline_grid){ .columns = columns, .rows = rows, .begin = begin };
    if (!(g->x_columns = malloc(2 * (rows + columns) * sizeof *g->x_columns)))
        return -1;
    g->y_columns = g->x_columns + columns;
    g->x_rows = g->y_columns + columns;
    g->y_rows = g->x_rows + rows;
    for (size_t j = 0; j < columns; j++) {
        place_on_knots(&g->x_columns[j], s->x.x, s->x.nx, (double)j + begin);
        place_on_knots(&g->y_columns[j], s->y.x, s->y.nx, (double)j + begin);
    }
    for (size_t i = 0; i < rows; i++) {
        place_on_knots(&g->x_rows[i], s->x.y, s->x.ny, (double)i + begin);
        place_on_knots(&g->y_rows[i], s->y.y, s->y.ny, (double)i + begin);
    }
    return 0;
}

/* Where a place of the grid really is, in pixels. */
static void put_displaced(double yx[2], const struct spline *s, const struct spline_grid *g, size_t i, size_t j)
{
    yx[0] = (double)i + g->begin + displace(&s->y, &g->y_columns[j], &g->y_rows[i]);
    yx[1] = (double)j + g->begin + displace(&s->x, &g->x_columns[j], &g->x_rows[i]);
}

static void fill_corners(hcy_detector_info *info, const struct spline *s, const struct spline_grid *g)
{
    for (size_t i = 0; i < g->rows; i++)
        for (size_t j = 0; j < g->columns; j++) {
            double yx[2];
            put_displaced(yx, s, g, i, j);
            /* One place is the corner of up to four pixels; the first row and column wrap to what is no pixel. */
            for (size_t k = 0; k < 4; k++) {
                size_t row = i - (k == 1 || k == 2), column = j - (k >= 2);
                if (row >= info->height || column >= info->width)
                    continue;
                float *corner = info->corners + 12 * (row * info->width + column) + 3 * k;
                corner[0] = 0;
                corner[1] = (float)(yx[0] * info->pixel1);
                corner[2] = (float)(yx[1] * info->pixel2);
            }
        }
}

static void fill_outside(hcy_detector_info *info, const struct spline *s, const struct spline_grid *g)
{
    for (size_t i = 0; i < g->rows; i++)
        for (size_t j = 0; j < g->columns; j++) {
            double yx[2];
            put_displaced(yx, s, g, i, j);
            info->mask[i * g->columns + j] = yx[1] < s->region[0] || yx[0] < s->region[1] || yx[1] > s->region[2] ||
                                             yx[0] > s->region[3];
        }
}

/* The product of what columns and rows are apart in a pixel's middle, as pyFAI has it. */
static void fill_areas(hcy_detector_info *info, const struct spline *s, const struct spline_grid *corners,
                       const struct spline_grid *centres)
{
    for (size_t i = 0; i < centres->rows; i++)
        for (size_t j = 0; j < centres->columns; j++) {
            const struct spline_place *left = &corners->x_columns[j], *above = &corners->y_rows[i];
            const struct spline_place *row = &centres->x_rows[i], *column = &centres->y_columns[j];
            double wider = displace(&s->x, left + 1, row) - displace(&s->x, left, row);
            double higher = displace(&s->y, column, above + 1) - displace(&s->y, column, above);
            /* A pixel that is folded over counts nothing. */
            info->areas[i * centres->columns + j] = (float)(fmax(1 + wider, 0) * fmax(1 + higher, 0));
        }
}

static int fill_detector(hcy_detector_info *info, const struct spline *s, const char *path)
{
    struct spline_grid corners = { .columns = 0 }, centres = { .columns = 0 };
    size_t height = info->height, width = info->width, n = height * width;
    info->corners = calloc(n, 12 * sizeof *info->corners);
    info->areas = calloc(n, sizeof *info->areas);
    info->mask = malloc(n);
    int lacks = !info->corners || !info->areas || !info->mask || make_grid(&corners, s, height + 1, width + 1, 0) ||
                make_grid(&centres, s, height, width, 0.5);
    if (!lacks) {
        fill_corners(info, s, &corners);
        fill_areas(info, s, &corners, &centres);
        fill_outside(info, s, &centres);
    }
    free(corners.x_columns);
    free(centres.x_columns);
    return lacks ? hcy_fail(HCY_ENOMEM, "no memory for the corners of %zu x %zu pixels of %s", height, width, path) : 0;
}

/* What the headers say, before memory is asked for by it. */
static int take_sizes(hcy_detector_info *info, const struct spline *s, const char *path)
{
    double width = s->region[2] - s->region[0], height = s->region[3] - s->region[1];
    /* The comparisons are written so that NaN fails them. */
    if (!(width >= 1 && width <= MOST_SIDE) || !(height >= 1 && height <= MOST_SIDE))
        return hcy_fail(HCY_EFORMAT, "%s: its VALID REGION has %g x %g pixels, not 1 to %d each way", path, height, width,
                        MOST_SIDE);
    for (int i = 1; i < 3; i++)
        if (!(s->grid[i] > 0 && s->grid[i] <= MOST_PIXEL_UM))
            return hcy_fail(HCY_EFORMAT, "%s: its pixels are %g x %g, which are to be micrometres", path, s->grid[2],
                            s->grid[1]);
    info->height = (uint32_t)height;
    info->width = (uint32_t)width;
    info->pixel1 = s->grid[2] * 1e-6;
    info->pixel2 = s->grid[1] * 1e-6;
    return 0;
}

static int read_sections(struct spline *s, struct spline_text *t)
{
    int st = 0, has_region = 0, has_grid = 0;
    for (const char *line; !st && (line = take_line(t));) {
        if (is_title(line, "VALID REGION")) {
            st = read_header(s->region, 4, t);
            has_region = 1;
        } else if (is_title(line, "GRID SPACING, X-PIXEL SIZE, Y-PIXEL SIZE")) {
            st = read_header(s->grid, 3, t);
            has_grid = 1;
        } else if (is_title(line, "X-DISTORTION")) {
            st = read_surface(&s->x, t);
        } else if (is_title(line, "Y-DISTORTION")) {
            st = read_surface(&s->y, t);
        }
    }
    if (st)
        return st;
    const char *missing = has_region ? NULL : "VALID REGION";
    if (!has_grid)
        missing = "GRID SPACING, X-PIXEL SIZE, Y-PIXEL SIZE";
    if (!s->x.x || !s->y.x)
        missing = s->x.x ? "Y-DISTORTION" : "X-DISTORTION";
    return missing ? hcy_fail(HCY_EFORMAT, "%s: no %s: not a distortion file of FIT2D's, or not all of one", t->path,
                              missing)
                   : 0;
}

int hcy__is_spline(int fd, const char *path)
{
    char head[sizeof first_line + 64] = "";
    const char *suffix = strrchr(path, '.');
    int number;
    (void)hcy__read_at(fd, head, sizeof head - 1, 0, &number);
    return (suffix && !strcasecmp(suffix, ".spline")) ||
           !strncasecmp(head + strspn(head, " \t\r\n"), first_line, sizeof first_line - 1);
}

int hcy__spline_read(hcy_detector_info *info, int fd, const char *path)
{
    struct spline s = { .x = { 0, 0, NULL, NULL, NULL }, .y = { 0, 0, NULL, NULL, NULL } };
    struct stat is;
    int number;
    if (fstat(fd, &is) || (uint64_t)is.st_size > MOST_TEXT)
        return hcy_fail(HCY_EFORMAT, "%s: too large for a distortion file of FIT2D's", path);
    char *text = malloc((size_t)is.st_size + 1);
    if (!text)
        return hcy_fail(HCY_ENOMEM, "no memory to read %s", path);
    uint64_t got = hcy__read_at(fd, text, (uint64_t)is.st_size, 0, &number);
    int st = number ? hcy__read_failed(path, number) : 0;
    text[got] = 0;
    /* A zero would end the text early, and the rest would be passed over without a word. */
    if (!st && strlen(text) != got)
        st = hcy_fail(HCY_EFORMAT, "%s is no text, so no distortion file of FIT2D's", path);
    struct spline_text t = { path, text, 0, 0 };
    hcy__plain plain = hcy__plain_enter();
    if (!st)
        st = read_sections(&s, &t);
    hcy__plain_leave(plain);
    if (!st)
        st = take_sizes(info, &s, path);
    if (!st)
        st = fill_detector(info, &s, path);
    info->is_spline = !st;
    free(s.x.x);
    free(s.y.x);
    free(text);
    return st;
}
