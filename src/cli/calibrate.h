/* calibrate.h - the parts of halcyon calibrate: a frame of a powder, a geometry found from nothing, places on rings, a
 * picture.  Single-threaded; what returns an int gives CLI_*, after a message, or as it says. */
#ifndef HCY_CLI_CALIBRATE_H
#define HCY_CLI_CALIBRATE_H

#include "cli.h"
#include <halcyon/calibrate.h>

enum { MOST_RINGS = 256 };

/* A frame, and what its rings are of. */
struct powder {
    size_t height, width;
    float *counts; /* [height][width]; NAN: masked */
    double *angle; /* [height][width]: 2 theta of pixels' middles, as last asked for */
    double aspect; /* a pixel's width over its height */
    double spacings[MOST_RINGS];
    size_t n_spacings;
};

/* 2 theta of a ring; NAN: there is none at this wavelength. */
double ring_angle(double spacing, double wavelength);

/* --- From nothing (calibrate_search.c), and whose rings they are (calibrate_pattern.c) --- */

/* How well a calibrant's rings are those of a pattern: 1 wholly, 0 not at all. */
struct likeness {
    double score;
    const hcy_calibrant *better; /* whose rings are clearly more like these, or NULL */
    double better_score;
};
/* The geometry of a frame from its rings alone: centre, distance and tilt to within some pixels.  *poni has the
 * detector and the wavelength; centre (row, column) and distance (0: not known) are where to begin; parameters whose
 * bit is in `fixed` keep the value in *poni.  0, or -1: no rings are seen. */
int search_geometry(hcy_poni *poni, const struct powder *powder, const double *centre, double distance,
                    unsigned fixed);
/* Of the frame's rings in a geometry, whether they are those of this calibrant.  -1: no memory. */
int judge_likeness(struct likeness *likeness, const struct powder *powder, const hcy_poni *poni,
                   const hcy_calibrant *calibrant);

/* --- Places on rings (calibrate_points.c) --- */

struct ring_points {
    hcy_ring_point *points;
    size_t n;
    size_t sought[MOST_RINGS], found[MOST_RINGS]; /* pieces of each ring that are on the frame, and that show it */
};
/* The pixel with the smallest angle is nearest to the beam: pieces of rings are counted around it. */
size_t find_beam_pixel(const struct powder *powder);
/* The rings' maxima in a geometry, looked for up to `reach` pixels from where they should be, in pieces of rings of so
 * many pixels.  0, or -1 with the library's
 * error.  Points are to be freed. */
int find_ring_points(struct ring_points *found, struct powder *powder, const hcy_poni *poni, double reach,
                     double piece);

/* --- A picture (calibrate_plot.c) --- */

/* CLI_USAGE with a message: pictures of that suffix are not drawn. */
int check_picture(const char *path);
int plot_calibration(const char *path, const struct powder *powder, const hcy_poni *poni,
                     const struct ring_points *points);

#endif
