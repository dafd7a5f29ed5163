/* detector_pixels.c - where the pixels of detectors are that are no grid: gaps in metres, bent plates, modules around
 * the sample, hexagons.  Computed for each pixel when it is asked for, so that none of it takes memory.  No state; any
 * thread.
 *
 * Positions are pyFAI's (its get_pixel_corners()), in double: z along the normal of the detector's plane, away from the
 * sample, y along its rows' axis, x along its columns'.
 */
#include "azint_priv.h"
#include "detector.h"

#include <math.h>

#define ROUND_ROWS 560 /* of a module of the Cirpad, */
#define ROUND_TURN (6.74 * AZINT_PI / 180) /* and the angle to the next one */
#define SQRT3      1.7320508075688772

/* Corners of a rectangle, in the order that all have. */
static void put_rectangle(double c[][3], const double y[2], const double x[2])
{
    for (int k = 0; k < 4; k++) {
        c[k][0] = 0;
        c[k][1] = y[k == 1 || k == 2];
        c[k][2] = x[k >= 2];
    }
}

static void place_apart(double c[][3], const struct azint_geometry *g, size_t i, size_t j)
{
    double shift = g->gap * (double)(i / g->period), y[2] = { g->corner1[i] + shift, g->corner1[i + 1] + shift };

    put_rectangle(c, y, g->corner2 + j);
}

static void place_bent(double c[][3], const struct azint_geometry *g, size_t i, size_t j)
{
    const double y[2] = { (double)i * g->pixel1, (double)(i + 1) * g->pixel1 };

    put_rectangle(c, y, y);
    for (int k = 0; k < 4; k++) {
        double angle = (double)(j + (k >= 2)) * g->pixel2 / g->radius;

        c[k][0] = g->radius * (cos(angle) - 1);
        c[k][2] = g->radius * sin(angle);
    }
}

/* Each module begins where the one before ends, 10 pixels further, and is turned against it. */
static void place_round(double c[][3], const struct azint_geometry *g, size_t i, size_t j)
{
    const double length = (ROUND_ROWS + 18 + 20) * 130e-6;
    size_t module = i / ROUND_ROWS, row = i % ROUND_ROWS;
    double sine = sin(ROUND_TURN * (double)module), cosine = cos(ROUND_TURN * (double)module), z = 0, y = 0;

    for (size_t k = 0; k < module; k++) {
        z += sin(ROUND_TURN * (double)k);
        y += cos(ROUND_TURN * (double)k);
    }
    put_rectangle(c, g->corner1 + row, g->corner2 + j);
    for (int k = 0; k < 4; k++) {
        c[k][0] = sine * c[k][1] + length * z;
        c[k][1] = cosine * c[k][1] + length * y;
    }
}

static void place_hexagon(double c[][3], const struct azint_geometry *g, size_t i, size_t j)
{
    double pitch = g->pixel2, x = (double)j + 0.5 + 0.5 * (double)(i % 2), y = (double)i * 0.5 * SQRT3 + 1 / SQRT3;

    /* From the lower point on, against the clock. */
    for (int k = 0; k < 6; k++) {
        double angle = AZINT_PI * (k / 3.0 - 0.5);

        c[k][0] = 0;
        c[k][1] = pitch * (y + sin(angle) / SQRT3);
        c[k][2] = pitch * (x + cos(angle) / SQRT3);
    }
}

unsigned hcy__detector_place(struct azint_geometry *g, const hcy_poni *poni)
{
    static const struct {
        void (*place)(double c[][3], const struct azint_geometry *g, size_t i, size_t j);
        unsigned own;
        int is_flat;
        double contour;
    } kinds[] = {
        [DETECTOR_APART] = { place_apart, 4, 1, 1 },
        [DETECTOR_BENT] = { place_bent, 4, 0, 1 },
        [DETECTOR_ROUND] = { place_round, 4, 0, 1 },
        [DETECTOR_HEXAGONS] = { place_hexagon, 6, 1, 0 },
    };
    const struct hcy__detector_layout *layout = hcy__detector_layout(poni->detector);
    double wider = layout->border - 1;
    size_t rows = layout->pixels == DETECTOR_ROUND && g->height > ROUND_ROWS ? ROUND_ROWS : g->height;

    if (layout->pixels == DETECTOR_GRID)
        return 0;
    g->place = kinds[layout->pixels].place;
    g->own = kinds[layout->pixels].own;
    g->is_flat = kinds[layout->pixels].is_flat;
    g->contour = kinds[layout->pixels].contour;
    g->pixel1 = poni->pixel1;
    g->pixel2 = poni->pixel2;
    g->radius = poni->radius > 0 ? poni->radius : layout->radius;
    g->gap = layout->gap;
    g->period = layout->period[0];
    /* What rectangles share: edges counted from the detector's corner. */
    hcy__azint_place_edges(g->corner1, rows, poni->pixel1, poni->detector->chip[0], wider);
    hcy__azint_place_edges(g->corner2, g->width, poni->pixel2, poni->detector->chip[1], wider);
    return g->own;
}
