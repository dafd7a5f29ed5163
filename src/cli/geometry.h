/* geometry.h - where the geometry comes from: a PONI file, a detector's file, or the stack itself. */
#ifndef HCY_CLI_GEOMETRY_H
#define HCY_CLI_GEOMETRY_H

#include "cli.h"
#include <halcyon/stack.h>

struct cli_geometry {
    int given;            /* poni is filled in already */
    const char *detector; /* a name or a file, or NULL */
    int quiet;
    int orientation;      /* 1 to 4 instead of the geometry's; 0: that */
    int flip;             /* rows run the other way than it has them */
    hcy_detector_info *file;   /* of the detector, or NULL; poni->corners lie in it.  To be freed */
    double saturation;         /* that the stack's own file says; 0 */
    int has_underload;         /* likewise */
    double underload;
};

/* What the file of the frames says of their detector, to be freed; NULL: nothing, or hcy_last_error() has why. */
hcy_detector_info *cli_own_detector(const hcy_stack_info *stack);
/* Completes poni; CLI_*, after a message. */
int cli_geometry_read(hcy_poni *poni, struct cli_geometry *geometry, const hcy_stack *stack);
/* The second half of it, of a geometry that is known, for frames of that size and path: --detector, the orientation. */
int cli_geometry_complete(hcy_poni *poni, struct cli_geometry *geometry, const hcy_stack_info *frames);
/* " (is Eiger4M meant?)" where a detector has nearly that name, else "". */
const char *cli_detector_meant(char words[80], const char *name);
/* A detector's file; `given`: --detector named it, and might have meant a detector's name.  CLI_*, after a message. */
int cli_detector_read(hcy_detector_info **file, const char *path, int given);
/* Values that the files say are not valid, in options that may say others. */
void cli_geometry_invalid(hcy_azint_options *options, const struct cli_geometry *geometry);

#endif
