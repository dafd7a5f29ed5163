/* points.h - where samples lie, from files: coordinates of any unit and order as one array for each axis, in radians.
 *
 * Files of NumPy's and of HDF5 say neither, so both are the options'.  BART's (.cfl) are in 1/FOV, x first, with three
 * coordinates also where two would do; ISMRMRD's are x first, and their unit is nowhere said, so that their range has
 * to say it, but for a grid's.  Single-threaded.
 */
#ifndef HCY_CLI_POINTS_H
#define HCY_CLI_POINTS_H

#include "arrays.h"

enum points_unit { POINTS_AUTO, POINTS_RADIANS, POINTS_CYCLES, POINTS_FOV };
extern const char *const points_units[];

struct points_options {
    int unit, cycles, planar, xyz;
};

/* The rows of a command's table: `at` is the offset of its struct points_options. */
#define POINTS_OPTIONS(at)                                                                                           \
    { "unit", 0, CLI_CHOICE, (at) + offsetof(struct points_options, unit), "UNIT",                                   \
      "of coordinates: radians, cycles, fov (BART's 1/FOV); auto (default): by the file's kind", 0, 0, points_units }, \
        { "cycles", 0, CLI_FLAG, (at) + offsetof(struct points_options, cycles), NULL,                               \
          "points are in cycles, -0.5 to 0.5 once around: --unit cycles", 0, 0, NULL },                              \
        { "planar", 0, CLI_FLAG, (at) + offsetof(struct points_options, planar), NULL,                               \
          "points and targets are [axes][n]: an axis after the other", 0, 0, NULL },                                 \
        { "xyz", 0, CLI_FLAG, (at) + offsetof(struct points_options, xyz), NULL,                                     \
          "coordinates are x, y, z: of the modes' last axis first", 0, 0, NULL }

/* Points of an array that is there for as long as they are. */
struct points {
    const hcy_host_array *array;
    const char *path, *what;
    int dim;                /* 1 to 3: coordinates that are used */
    size_t n;
    enum points_unit unit;
    bool is_planar, is_xyz;
    bool is_said;           /* the unit, by options */
    bool is_grid;           /* of a list without a trajectory: the unit is known */
    int columns;            /* coordinates that the file has of a point; */
    int dropped;            /* the one that is 0 everywhere and is left out, or -1 */
};

/* "N1,N2,N3", one to three whole numbers above 0: how many, or 0 with words. */
int points_parse_sizes(int64_t sizes[3], const char *text);
/* "X", of all axes, or "X,Y" or "X,Y,Z", each with `us` behind it microseconds, of which a sample takes `dwell` (0: is
 * not said, below: cannot be), else samples: delays in samples, of axes in the image's order (x is the last one).
 * CLI_USAGE with words. */
int points_parse_delays(double delays[3], const char *text, int axes, double dwell);
/* Looks what a file's points are; `axes`: how many coordinates are wanted, 0: as many as there are.  `what`: "points"
 * in words.  CLI_FAILED with words. */
int points_find(struct points *p, const hcy_host_array *a, const char *path, const char *what,
                const struct points_options *options, int axes);
/* The coordinates in radians, one array for each axis, freed by the caller, also after a failure.  sizes: of the
 * image's axes, of which 1/FOV depends; NULL: the unit is another one. */
int points_take(void *axes[3], const struct points *p, const int64_t *sizes, bool is_double);
/* Notes what was chosen without being said, and a range that makes another unit likely. */
void points_note(const struct points *p, const int64_t *sizes);

#endif
