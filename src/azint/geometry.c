/* geometry.c - where pixels are: detector positions, and their rotation into the lab.  Read-only once made.
 *
 * A point (p1, p2) of the detector, relative to the point of normal incidence and at the distance L, is in
 * the lab
 *     rot3 * rot2 * rot1 * (p1, p2, L),   rot1 and rot2 left-handed, rot3 right-handed,
 * as y (up), x (towards the ring's centre), z (along the beam).  Axis 1 is slow, axis 2 fast.
 */
#include "azint_priv.h"
#include "detector.h"

#include <math.h>

const hcy_detector *hcy__detector_generic(void)
{
    size_t n;

    return hcy_detector_list(&n);
}

void hcy__azint_place_edges(double *edge, size_t n, double pixel, size_t chip, double wider)
{
    size_t last = chip ? n / chip * chip : 0; /* the edge behind the last chip */
    double wide = 0;

    for (size_t i = 0; i <= n; i++) {
        edge[i] = pixel * ((double)i + wide);
        if (i < last && ((i % chip == 0 && i) || (i % chip == chip - 1 && i + 1 < last)))
            wide += wider;
    }
}

/* Corners and centres along one axis, relative to poni; mirrored if the axis runs the other way. */
static void place_axis(double *corner, double *centre, size_t n, double pixel, size_t chip, double wider, double poni,
                       int mirror)
{
    hcy__azint_place_edges(corner, n, pixel, chip, wider);
    for (size_t i = 0; i < n; i++)
        centre[i] = 0.5 * (corner[i] + corner[i + 1]);
    /* A detector that is read from its other end has the same edges in the other order; distances between
     * them may differ. */
    for (size_t i = 0; mirror && i < n - i; i++) {
        double t = corner[i];

        corner[i] = corner[n - i];
        corner[n - i] = t;
    }
    for (size_t i = 0; mirror && i < n - 1 - i; i++) {
        double t = centre[i];

        centre[i] = centre[n - 1 - i];
        centre[n - 1 - i] = t;
    }
    /* The point of normal incidence becomes the origin. */
    for (size_t i = 0; i <= n; i++)
        corner[i] -= poni;
    for (size_t i = 0; i < n; i++)
        centre[i] -= poni;
}

static void rotate(double m[3][3], const hcy_poni *p)
{
    double s1 = sin(p->rot1), c1 = cos(p->rot1), s2 = sin(p->rot2), c2 = cos(p->rot2), s3 = sin(p->rot3),
           c3 = cos(p->rot3), dist = p->dist;

    /* The third column has the distance in it, so that a point of a flat detector needs two products a
     * coordinate. */
    m[0][0] = c2 * c3;
    m[0][1] = c3 * s1 * s2 - c1 * s3;
    m[0][2] = -dist * (c1 * c3 * s2 + s1 * s3);
    m[1][0] = c2 * s3;
    m[1][1] = c1 * c3 + s1 * s2 * s3;
    m[1][2] = -dist * (c1 * s2 * s3 - c3 * s1);
    m[2][0] = s2;
    m[2][1] = -c2 * s1;
    m[2][2] = dist * c1 * c2;
}

static void place_from_file(double corners[][3], const struct azint_geometry *g, size_t i, size_t j)
{
    const float *from = g->corners + 12 * (i * g->width + j);

    for (int k = 0; k < 12; k++)
        corners[k / 3][k % 3] = from[k];
}

/* Twice the area that a pixel's diagonals span, with the sign of the way its corners go round. */
static double winding_of(const float *c)
{
    double area = ((double)c[7] - c[1]) * ((double)c[11] - c[5]) - ((double)c[8] - c[2]) * ((double)c[10] - c[4]);

    return isfinite(area) ? area : 0;
}

/* Pixels anywhere: each brings its own corners, which most detectors have go round one way. */
static void take_corners(struct azint_geometry *g, const hcy_poni *poni)
{
    size_t n = g->height * g->width;
    double winding = 0;

    g->own = 4;
    g->place = place_from_file;
    g->corners = poni->corners;
    g->areas = poni->areas;
    g->is_flat = 1;
    for (size_t i = 0; i < 4 * n && g->is_flat; i++)
        g->is_flat = g->corners[3 * i] == 0;
    for (size_t i = 0; i < n; i++)
        winding += winding_of(g->corners + 12 * i);
    g->contour = winding < 0 ? -1 : 1;
}

int hcy__azint_turns(const hcy_poni *poni, int axis)
{
    int has = poni->corners && poni->corners_orientation ? poni->corners_orientation : 3, o = poni->orientation;

    /* Orientations 1 and 2 mirror axis 1, 1 and 4 axis 2; corners may have been mirrored already. */
    return axis == 1 ? (o == 1 || o == 2) != (has == 1 || has == 2) : (o == 1 || o == 4) != (has == 1 || has == 4);
}

/* A plate that is bent is hit under other angles than the model has. */
static int set_parallax(struct azint_geometry *g, const hcy_poni *poni)
{
    if (g->own && !g->is_flat)
        return hcy_fail(HCY_EUNSUPPORTED, "parallax is known of flat detectors, and the %s is not flat",
                        poni->detector->name);
    return hcy__azint_parallax_init(&g->parallax, poni);
}

static int place_pixels(struct azint_geometry *g, const hcy_poni *poni, size_t height, size_t width)
{
    const uint32_t *chip = poni->detector->chip;
    double border = hcy__detector_layout(poni->detector)->border, wider = border > 0 ? border - 1 : 1;
    int turn1 = hcy__azint_turns(poni, 1), turn2 = hcy__azint_turns(poni, 2);

    *g = (struct azint_geometry){ .height = height, .width = width, .dist = poni->dist };
    g->turn1 = turn1;
    g->turn2 = turn2;
    g->poni1 = poni->poni1;
    g->poni2 = poni->poni2;
    rotate(g->m, poni);
    /* Pixels with corners of their own that are in a file have no common edges to be kept. */
    if (poni->corners) {
        take_corners(g, poni);
        return 0;
    }
    g->corner1 = malloc((height + 1) * sizeof(double));
    g->corner2 = malloc((width + 1) * sizeof(double));
    g->centre1 = malloc(height * sizeof(double));
    g->centre2 = malloc(width * sizeof(double));
    if (!g->corner1 || !g->corner2 || !g->centre1 || !g->centre2)
        return hcy_fail(HCY_ENOMEM, "no memory for the positions of %zu x %zu pixels", height, width);
    if (hcy__detector_place(g, poni))
        return 0;
    place_axis(g->corner1, g->centre1, height, poni->pixel1, chip[0], wider, poni->poni1, turn1);
    place_axis(g->corner2, g->centre2, width, poni->pixel2, chip[1], wider, poni->poni2, turn2);
    /* Exactly one mirrored axis turns the order of a pixel's corners round; two turn it back. */
    g->contour = turn1 != turn2 ? -1 : 1;
    return 0;
}

int hcy__azint_geometry_init(struct azint_geometry *g, const hcy_poni *poni, size_t height, size_t width)
{
    int status = place_pixels(g, poni, height, width);

    return status || !poni->parallax ? status : set_parallax(g, poni);
}

void hcy__azint_geometry_free(struct azint_geometry *g)
{
    free(g->corner1);
    free(g->corner2);
    free(g->centre1);
    free(g->centre2);
}

int hcy__azint_row_alloc(struct azint_row *row, size_t width)
{
    size_t n = width + 1;

    /* One block for all five, so that there is one failure and one free(). */
    row->x = malloc(5 * n * sizeof(double));
    if (!row->x)
        return hcy_fail(HCY_ENOMEM, "no memory for a row of %zu pixels", width);
    row->y = row->x + n;
    row->z = row->y + n;
    row->radial = row->z + n;
    row->chi = row->radial + n;
    return 0;
}

void hcy__azint_row_free(struct azint_row *row)
{
    free(row->x);
}

static void eval(struct azint_row *row, const struct azint_geometry *g, const struct azint_scale *scale, size_t n,
                 int want_chi)
{
    if (scale)
        scale->eval(row->radial, row->x, row->y, row->z, n, scale);
    if (want_chi && g->azimuth)
        g->azimuth->eval(row->chi, row->x, row->y, row->z, n, g->azimuth);
    for (size_t i = 0; want_chi && !g->azimuth && i < n; i++)
        row->chi[i] = atan2(row->y[i], row->x[i]);
}

void hcy__azint_row_eval(struct azint_row *row, const struct azint_geometry *g,
                         const struct azint_scale *scale, double p1, const double *p2, size_t n, int want_chi)
{
    double y0 = p1 * g->m[0][0] + g->m[0][2], x0 = p1 * g->m[1][0] + g->m[1][2],
           z0 = p1 * g->m[2][0] + g->m[2][2];

    /* All points of a row share p1: what depends on it alone is computed before the loop.  Not so where each is moved
     * by a length of its own. */
    for (size_t i = 0; g->parallax.mu > 0 && i < n; i++) {
        double s = hcy__azint_parallax_scale(&g->parallax, p1, p2[i]);

        row->y[i] = s * (p1 * g->m[0][0] + p2[i] * g->m[0][1]) + g->m[0][2];
        row->x[i] = s * (p1 * g->m[1][0] + p2[i] * g->m[1][1]) + g->m[1][2];
        row->z[i] = s * (p1 * g->m[2][0] + p2[i] * g->m[2][1]) + g->m[2][2];
    }
    for (size_t i = 0; !(g->parallax.mu > 0) && i < n; i++) {
        row->y[i] = y0 + p2[i] * g->m[0][1];
        row->x[i] = x0 + p2[i] * g->m[1][1];
        row->z[i] = z0 + p2[i] * g->m[2][1];
    }
    eval(row, g, scale, n, want_chi);
}

/* Points (z, y, x) of the detector, as y, x and z of the row, in the lab. */
static void to_lab(struct azint_row *row, const struct azint_geometry *g, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double p1 = row->y[i] - g->poni1, p2 = row->x[i] - g->poni2, l = 1 + row->z[i] / g->dist;

        if (g->parallax.mu > 0) {
            double s = hcy__azint_parallax_scale(&g->parallax, p1, p2);

            p1 *= s;
            p2 *= s;
        }
        row->y[i] = p1 * g->m[0][0] + p2 * g->m[0][1] + l * g->m[0][2];
        row->x[i] = p1 * g->m[1][0] + p2 * g->m[1][1] + l * g->m[1][2];
        row->z[i] = p1 * g->m[2][0] + p2 * g->m[2][1] + l * g->m[2][2];
    }
}

void hcy__azint_place_pixel(double corners[][3], const struct azint_geometry *g, size_t i, size_t j)
{
    g->place(corners, g, g->turn1 ? g->height - 1 - i : i, g->turn2 ? g->width - 1 - j : j);
}

double hcy__azint_area(const struct azint_geometry *g, size_t i, size_t j)
{
    size_t row = g->turn1 ? g->height - 1 - i : i, column = g->turn2 ? g->width - 1 - j : j;

    return g->areas ? g->areas[row * g->width + column] : 1;
}

void hcy__azint_quads_eval(struct azint_row *row, const struct azint_geometry *g, const struct azint_scale *scale,
                           size_t i, int want_chi)
{
    double corners[AZINT_MOST_CORNERS][3];

    /* The row's own coordinates hold the detector's until to_lab() replaces them. */
    for (size_t j = 0; j < g->width; j++) {
        hcy__azint_place_pixel(corners, g, i, j);
        for (unsigned k = 0; k < g->own; k++) {
            row->z[g->own * j + k] = corners[k][0];
            row->y[g->own * j + k] = corners[k][1];
            row->x[g->own * j + k] = corners[k][2];
        }
    }
    to_lab(row, g, g->own * g->width);
    eval(row, g, scale, g->own * g->width, want_chi);
}

void hcy__azint_centres_eval(struct azint_row *row, const struct azint_geometry *g, const struct azint_scale *scale,
                             size_t i, int want_chi)
{
    double c[AZINT_MOST_CORNERS][3];

    if (!g->own) {
        hcy__azint_row_eval(row, g, scale, g->centre1[i], g->centre2, g->width, want_chi);
        return;
    }
    for (size_t j = 0; j < g->width; j++) {
        double sum[3] = { 0, 0, 0 };

        hcy__azint_place_pixel(c, g, i, j);
        for (unsigned k = 0; k < g->own; k++)
            for (int d = 0; d < 3; d++)
                sum[d] += c[k][d];
        row->z[j] = sum[0] / g->own;
        row->y[j] = sum[1] / g->own;
        row->x[j] = sum[2] / g->own;
    }
    to_lab(row, g, g->width);
    eval(row, g, scale, g->width, want_chi);
}

double hcy__azint_incidence(const struct azint_row *centre, const struct azint_row *quads, size_t j)
{
    const double *x = quads->x + 4 * j, *y = quads->y + 4 * j, *z = quads->z + 4 * j;
    double ax = x[2] - x[0], ay = y[2] - y[0], az = z[2] - z[0], bx = x[3] - x[1], by = y[3] - y[1], bz = z[3] - z[1];
    double nx = ay * bz - az * by, ny = az * bx - ax * bz, nz = ax * by - ay * bx;
    double cx = centre->x[j], cy = centre->y[j], cz = centre->z[j];

    /* The diagonals' cross product is normal to the pixel, also where its corners do not lie in one plane. */
    return fabs(nx * cx + ny * cy + nz * cz) /
           sqrt((nx * nx + ny * ny + nz * nz) * (cx * cx + cy * cy + cz * cz));
}
