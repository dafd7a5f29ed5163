/* calibrate_frame.h - the options of halcyon calibrate, and what a run begins with.  Single-threaded. */
#ifndef HCY_CLI_CALIBRATE_FRAME_H
#define HCY_CLI_CALIBRATE_FRAME_H

#include "calibrate.h"
#include <halcyon/stack.h>

struct calibrate_values {
    const char *frame, *calibrant, *poni, *detector, *pixel, *centre, *fix, *mask, *dataset, *channel, *devices;
    const char *output, *plot;
    struct cli_real wavelength, energy, distance;
    struct cli_int orientation;
    struct cli_span frames;
    int no_file_mask, force, quiet;
};

struct calibrate_frame {
    const hcy_calibrant *calibrant; /* the caller sets it */
    struct powder powder;           /* counts, angle: to be freed */
    hcy_poni poni;                  /* begins with HCY_PONI_INIT */
    int has_start;                  /* poni is a geometry; else a detector and a wavelength */
    hcy_detector_info *detector_file; /* or NULL; to be freed */
};

/* Reads and masks the frame, and completes the geometry as far as it is known; CLI_*, after a message. */
int calibrate_frame_read(struct calibrate_frame *frame, const struct calibrate_values *values);
/* Nothing that is written is what is read (calibrate.c). */
int guard_calibration(const struct calibrate_values *values, const hcy_stack *stack);

#endif
