/* plot_rings.c - see plot_rings.h.
 *
 * Rings are lines of equal 2 theta on a coarse grid of pixels, which holds for any detector, also one that is bent:
 * each triangle of three nodes has at most one piece of a ring.  2 theta is smooth, so a hundred nodes a side are exact
 * to a small part of a pixel of the picture. */
#include "plot_rings.h"
#include <halcyon/calibrate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 160, MOST_RINGS = 60 };
#define DEGREE (3.14159265358979323846 / 180)

struct grid {
    size_t step, rows, columns;
    double *angle, *radius, *chi; /* of each node: 2 theta in degrees; in the lab's plane, in mm and degrees */
};

/* --- The grid --- */

static int make_grid(struct grid *g, const hcy_poni *poni, uint32_t height, uint32_t width)
{
    uint32_t side = height > width ? height : width;
    *g = (struct grid){ .step = side / NODES ? side / NODES : 1 };
    g->rows = (height + g->step - 1) / g->step;
    g->columns = (width + g->step - 1) / g->step;
    g->angle = calloc(g->rows * g->columns, 3 * sizeof *g->angle);
    if (!g->angle)
        return cli_error("no memory for the rings of %u x %u pixels", height, width);
    g->radius = g->angle + g->rows * g->columns;
    g->chi = g->radius + g->rows * g->columns;
    int status = hcy_azint_map(g->angle, NULL, poni, height, width, "2th_deg", g->step);
    if (!status)
        status = hcy_azint_map(g->radius, g->chi, poni, height, width, "r_mm", g->step);
    return status ? cli_fail(status) : CLI_OK;
}

/* A node's place in the lab's plane across the beam. */
static void lab_of(double at[2], const struct grid *g, size_t i, size_t j)
{
    double r = g->radius[i * g->columns + j], chi = g->chi[i * g->columns + j] * DEGREE;
    at[0] = r * cos(chi);
    at[1] = r * sin(chi);
}

/* A node's pixel's centre. */
static double pixel_of(const struct grid *g, double node)
{
    return node * (double)g->step + 0.5;
}

/* Where the beam meets the detector.  Across a flat one the lab's coordinates are linear in rows and columns, so a step
 * from the node that is nearest is exact; on a bent one it is good near the beam. */
static void find_centre(struct plot_map *map, const struct grid *g)
{
    size_t best = 0, n = g->rows * g->columns;
    double here[2], right[2], down[2];
    for (size_t i = 1; i < n; i++)
        if (g->radius[i] < g->radius[best] || isnan(g->radius[best]))
            best = i;
    size_t i = best / g->columns, j = best % g->columns;
    if (g->rows < 2 || g->columns < 2)
        return;
    /* The neighbours that give the gradient must be there, so the last row and column look from the one before. */
    i -= i + 1 == g->rows;
    j -= j + 1 == g->columns;
    lab_of(here, g, i, j);
    lab_of(right, g, i, j + 1);
    lab_of(down, g, i + 1, j);
    double a = right[0] - here[0], b = down[0] - here[0], c = right[1] - here[1], d = down[1] - here[1];
    double determinant = a * d - b * c;
    if (!(fabs(determinant) > 0))
        return;
    map->centre[0] = pixel_of(g, (double)j + (b * here[1] - d * here[0]) / determinant);
    map->centre[1] = pixel_of(g, (double)i + (c * here[0] - a * here[1]) / determinant);
    map->has_centre = 1;
}

/* --- Rings --- */

struct node {
    double x, y, angle;
};

/* The piece of the line of equal angle in a triangle; 0: it has none, as one with a pixel that is nowhere: NaN. */
static int cross_triangle(struct plot_segment *piece, const struct node *const corner[3], double angle)
{
    int n = 0;
    if (!isfinite(corner[0]->angle + corner[1]->angle + corner[2]->angle))
        return 0;
    for (int k = 0; k < 3 && n < 2; k++) {
        const struct node *a = corner[k], *b = corner[(k + 1) % 3];
        if ((a->angle < angle) == (b->angle < angle))
            continue;
        double at = (angle - a->angle) / (b->angle - a->angle);
        piece->x[n] = a->x + at * (b->x - a->x);
        piece->y[n++] = a->y + at * (b->y - a->y);
    }
    return n == 2;
}

static int add_segment(struct plot_map *map, size_t *room, const struct plot_segment *piece)
{
    if (map->n_segments == *room) {
        size_t more = *room ? 2 * *room : 4096;
        struct plot_segment *grown = realloc(map->segments, more * sizeof *grown);
        if (!grown)
            return cli_error("no memory for %zu pieces of rings", more);
        map->segments = grown;
        *room = more;
    }
    map->segments[map->n_segments++] = *piece;
    return CLI_OK;
}

/* The pieces of all rings in the square of four nodes whose first is (i, j). */
static int add_square(struct plot_map *map, size_t *room, const struct grid *g, size_t i, size_t j,
                      const double *angles, size_t n)
{
    struct node at[4];
    for (size_t k = 0; k < 4; k++) {
        size_t row = i + k / 2, column = j + k % 2;
        at[k] = (struct node){ pixel_of(g, (double)column), pixel_of(g, (double)row),
                               g->angle[row * g->columns + column] };
    }
    const struct node *const triangles[2][3] = { { &at[0], &at[1], &at[2] }, { &at[3], &at[2], &at[1] } };
    int status = CLI_OK;
    for (size_t ring = 0; ring < n && !status; ring++)
        for (int t = 0; t < 2 && !status; t++) {
            struct plot_segment piece;
            if (!cross_triangle(&piece, triangles[t], angles[ring]))
                continue;
            piece.ring = ring;
            status = add_segment(map, room, &piece);
        }
    return status;
}

static int draw_rings(struct plot_map *map, const struct grid *g, const double *angles, size_t n)
{
    size_t room = 0;
    int status = CLI_OK;
    for (size_t i = 0; i + 1 < g->rows && !status; i++)
        for (size_t j = 0; j + 1 < g->columns && !status; j++)
            status = add_square(map, &room, g, i, j, angles, n);
    return status;
}

/* --- Which rings --- */

/* "5,7.5,12": degrees of 2 theta. */
static int parse_angles(double *angles, size_t *n, const char *text)
{
    for (*n = 0; *n < MOST_RINGS; text++) {
        char *end;
        double angle = strtod(text, &end);
        if (end == text || !(angle > 0 && angle < 180) || (*end && *end != ','))
            break;
        angles[(*n)++] = angle;
        if (!*end)
            return CLI_OK;
        text = end;
    }
    return cli_usage("--rings: at '%.20s': angles of 2 theta in degrees are needed, between 0 and 180, %d at most: "
                     "5,7.5,12", text, MOST_RINGS);
}

/* The rings of a calibrant up to the largest angle that the image has, from the innermost on. */
static int find_calibrant(double *angles, size_t *n, const struct grid *g, double wavelength, const char *name)
{
    const hcy_calibrant *calibrant;
    double spacings[MOST_RINGS], most = 0;
    for (size_t i = 0; i < g->rows * g->columns; i++)
        most = g->angle[i] > most ? g->angle[i] : most;
    if (!(wavelength > 0))
        return cli_error("--calibrant: the geometry has no wavelength, which decides where rings are: add it, or give "
                         "--rings");
    if (hcy_calibrant_find(&calibrant, name))
        return cli_usage("--calibrant: %s", hcy_last_error()->text);
    int status = hcy_calibrant_spacings(spacings, n, MOST_RINGS, calibrant, wavelength / (2 * sin(most * DEGREE / 2)));
    if (status)
        return cli_fail(status);
    for (size_t i = 0; i < *n; i++)
        angles[i] = 2 * asin(fmin(1, wavelength / (2 * spacings[i]))) / DEGREE;
    return CLI_OK;
}

static int compare_angles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int plot_add_rings(struct plot_map *map, const hcy_poni *poni, uint32_t height, uint32_t width,
                   const struct plot_wish *wish)
{
    struct grid g;
    double angles[2 * MOST_RINGS];
    size_t n = 0, more = 0;
    int status = make_grid(&g, poni, height, width);
    if (!status)
        find_centre(map, &g);
    if (!status && wish->rings)
        status = parse_angles(angles, &n, wish->rings);
    if (!status && wish->calibrant)
        status = find_calibrant(angles + n, &more, &g, poni->wavelength, wish->calibrant);
    if (!status) {
        qsort(angles, n + more, sizeof *angles, compare_angles);
        map->n_rings = n + more;
        status = draw_rings(map, &g, angles, n + more);
    }
    if (!status && n + more && !map->n_segments)
        cli_note("none of the %zu rings is on the image", n + more);
    free(g.angle);
    return status;
}
