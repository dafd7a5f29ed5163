/* gradient.c - the angle of places on the detector, and its derivatives in the geometry.  No state, any thread.
 *
 * A place p of the detector, relative to the point of normal incidence, is at t = R3 R2 R1 p in the lab (geometry.c).
 * Each rotation is in one factor, so its derivative is the same product with that factor's derivative in its place. */
#include <halcyon/calibrate.h>
#include "azint_priv.h"
#include "sized.h"

#include <math.h>
#include <string.h>

typedef double matrix[3][3];

static void multiply(matrix out, const matrix a, const matrix b)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j];
}

/* The rotation by `angle` around axis k, in coordinates y, x, z; derived: its derivative. */
static void rotate_about(matrix out, int k, double angle, int derived)
{
    /* Of the two coordinates that are turned; rot1 and rot2 are left-handed, rot3 is right-handed. */
    static const int turned[3][2] = { { 2, 1 }, { 0, 2 }, { 0, 1 } };
    double c = derived ? -sin(angle) : cos(angle), s = derived ? cos(angle) : sin(angle);
    int a = turned[k][0], b = turned[k][1];

    memset(out, 0, sizeof(matrix));
    for (int i = 0; i < 3 && !derived; i++)
        out[i][i] = 1;
    out[a][a] = out[b][b] = c;
    out[a][b] = -s;
    out[b][a] = s;
}

/* turn[0]: the whole rotation; turn[1 + k]: its derivative in rot1 + k. */
static void turn_and_derive(matrix turn[4], const hcy_poni *poni)
{
    const double angle[3] = { poni->rot1, poni->rot2, poni->rot3 };

    for (int d = 0; d < 4; d++) {
        matrix part[3], both;

        for (int k = 0; k < 3; k++)
            rotate_about(part[k], k, angle[k], d == 1 + k);
        multiply(both, (const double(*)[3])part[1], (const double(*)[3])part[0]);
        multiply(turn[d], (const double(*)[3])part[2], (const double(*)[3])both);
    }
}

/* Between the edges of n pixels, and in a straight line beyond them. */
static double between_edges(const double *edge, size_t n, double at)
{
    size_t i = !(at > 0) ? 0 : at >= (double)n ? n - 1 : (size_t)at;

    return edge[i] + (at - (double)i) * (edge[i + 1] - edge[i]);
}

/* Of pixels with corners of their own: within the pixel's four, or else around their middle. */
static void place_own(double p[3], const struct azint_geometry *g, double row, double column)
{
    double c[AZINT_MOST_CORNERS][3], f1, f2;
    size_t i = !(row > 0) ? 0 : row >= (double)g->height ? g->height - 1 : (size_t)row;
    size_t j = !(column > 0) ? 0 : column >= (double)g->width ? g->width - 1 : (size_t)column;

    hcy__azint_place_pixel(c, g, i, j);
    f1 = g->turn1 ? 1 - (row - (double)i) : row - (double)i;
    f2 = g->turn2 ? 1 - (column - (double)j) : column - (double)j;
    for (int d = 0; d < 3; d++) {
        const double within[3] = { 0, (f1 - 0.5) * g->pixel1, (f2 - 0.5) * g->pixel2 };
        double sum = 0;

        for (unsigned k = 0; k < g->own; k++)
            sum += c[k][d] / g->own;
        /* Corners are (0, 0), (1, 0), (1, 1), (0, 1): a bilinear mean. */
        p[(d + 2) % 3] = g->own == 4 ? (1 - f1) * ((1 - f2) * c[0][d] + f2 * c[3][d]) +
                                           f1 * ((1 - f2) * c[1][d] + f2 * c[2][d])
                                     : sum + within[d];
    }
    p[0] -= g->poni1;
    p[1] -= g->poni2;
}

/* p: y, x, z of the place relative to the point of normal incidence, the distance not yet added. */
static void place_on_detector(double p[3], const struct azint_geometry *g, const double place[2])
{
    if (g->own) {
        place_own(p, g, place[0], place[1]);
    } else {
        p[0] = between_edges(g->corner1, g->height, place[0]);
        p[1] = between_edges(g->corner2, g->width, place[1]);
        p[2] = 0;
    }
    /* How the correction itself changes with the geometry is left out of derivatives: beside them it is as a sensor's
     * thickness beside its distance. */
    if (g->parallax.mu > 0) {
        double s = hcy__azint_parallax_scale(&g->parallax, p[0], p[1]);

        p[0] *= s;
        p[1] *= s;
    }
}

/* 2 theta at p, and its derivatives but for the wavelength's, which is 0; d NULL: these are not asked for. */
static double derive_angle(double *d, const double p[3], const matrix turn[4])
{
    double t[4][3], r, beam;

    for (int k = 0; k < (d ? 4 : 1); k++)
        for (int i = 0; i < 3; i++)
            t[k][i] = turn[k][i][0] * p[0] + turn[k][i][1] * p[1] + turn[k][i][2] * p[2];
    r = hypot(t[0][0], t[0][1]);
    beam = t[0][2];
    /* d 2 theta = (z dr - r dz) / (r^2 + z^2), along a direction v of the lab. */
#define ALONG(y, x, z) ((beam * (t[0][0] * (y) + t[0][1] * (x)) / r - r * (z)) / (r * r + beam * beam))
    if (d)
        memset(d, 0, HCY_PONI_PARAMETERS * sizeof *d);
    if (d && r > 0) {
        d[HCY_PONI_DIST] = ALONG(turn[0][0][2], turn[0][1][2], turn[0][2][2]);
        d[HCY_PONI_PONI1] = -ALONG(turn[0][0][0], turn[0][1][0], turn[0][2][0]);
        d[HCY_PONI_PONI2] = -ALONG(turn[0][0][1], turn[0][1][1], turn[0][2][1]);
        d[HCY_PONI_ROT1] = ALONG(t[1][0], t[1][1], t[1][2]);
        d[HCY_PONI_ROT2] = ALONG(t[2][0], t[2][1], t[2][2]);
    }
#undef ALONG
    return atan2(r, beam);
}

/* What a unit is of 2 theta, and its derivatives in that and in the wavelength. */
static double convert_angle(double slope[2], const struct azint_scale *scale, double two_theta, double wavelength)
{
    double value, s = sin(two_theta / 2), c = cos(two_theta / 2), whole = scale->scale * scale->factor;

    slope[1] = 0;
    switch (*scale->unit->quantity) {
    case 'q':
        value = whole * s;
        slope[0] = whole * c / 2;
        slope[1] = -value / wavelength;
        return value;
    case 'd':
        value = whole / s;
        slope[0] = -value * c / (2 * s);
        slope[1] = value / wavelength;
        return value;
    default:
        slope[0] = scale->scale;
        return scale->scale * two_theta;
    }
}

int hcy_poni_gradients(double *values, double *gradients, const hcy_poni *given, size_t height, size_t width,
                       const char *unit, const double *places, size_t n)
{
    struct azint_geometry g = { 0 };
    struct azint_scale scale;
    hcy_poni poni = HCY_PONI_INIT;
    matrix turn[4];
    int status;

    if (!given || !unit || (!places && n))
        return hcy_fail(HCY_EINVAL, "hcy_poni_gradients: %s is NULL", given && unit ? "places" : "poni or unit");
    if ((status = hcy__sized_read(&poni, sizeof poni, given, "hcy_poni")) ||
        (status = hcy__azint_resolve_poni(&poni, height, width)) ||
        (status = hcy__azint_scale_init(&scale, unit, poni.wavelength)))
        return status;
    if (strcmp(scale.unit->quantity, "2theta") && strcmp(scale.unit->quantity, "q") &&
        strcmp(scale.unit->quantity, "d"))
        return hcy_fail(HCY_EUNSUPPORTED, "hcy_poni_gradients: units are those of 2 theta, q and d, not %s", unit);
    status = hcy__azint_geometry_init(&g, &poni, height, width);
    turn_and_derive(turn, &poni);
    for (size_t i = 0; i < n && !status; i++) {
        double p[3], d[HCY_PONI_PARAMETERS], slope[2], two_theta;

        place_on_detector(p, &g, places + 2 * i);
        p[2] += poni.dist;
        two_theta = derive_angle(gradients ? d : NULL, p, (const matrix *)turn);
        double value = convert_angle(slope, &scale, two_theta, poni.wavelength);
        if (values)
            values[i] = value;
        /* In the middle of the beam a d-spacing is infinite and so are its slopes, which 0 times would be no number. */
        for (int k = 0; k < HCY_PONI_PARAMETERS && gradients; k++)
            gradients[HCY_PONI_PARAMETERS * i + k] =
                two_theta == 0 ? 0 : slope[0] * d[k] + (k == HCY_PONI_WAVELENGTH ? slope[1] : 0);
    }
    hcy__azint_geometry_free(&g);
    return status;
}
