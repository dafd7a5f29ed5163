/* integrate.h - what halcyon integrate was asked for: the command line over a configuration file.  Single-threaded. */
#ifndef HCY_CLI_INTEGRATE_H
#define HCY_CLI_INTEGRATE_H

#include "cli.h"
#include "inputs.h"
#include "raw.h"
#include <halcyon/device.h>
#include <halcyon/pipeline.h>
#include <halcyon/stack.h>

/* The command line's, then with the configuration's below them. */
struct integrate_values {
    const char *poni, *output, *devices, *unit, *mask, *dataset, *channel, *detector;
    const char *percentile, *flat, *absorption, *dark, *variance, *plan_cache, *monitor, *config_file, *save_config,
        *shard;
    struct cli_int sample_orientation;
    struct cli_real incident_angle, tilt_angle;
    char unit_names[2][40]; /* of `unit`, whole; "": no second one */
    struct cli_int npt, npt_azim, mask_frame, batch, memory, sum, max_iter, orientation, processes, average;
    struct cli_real latency, device_timeout;
    const char *roi; /* regions, and: */
    int stats;       /* the whole frame as one */
    struct cli_int above;
    const char *sparse; /* the file of sparse frames, and: */
    struct cli_real cutoff_pick, noise, pick_room;
    int split, errors, layout;
    const char *polarization, *threshold; /* a number, or two with a comma */
    struct cli_real dummy, delta_dummy, normalization, follow_timeout;
    struct cli_pair radial, azimuth;
    struct cli_span frames;
    int along_chi, sigma_clip, unweighted, no_solid_angle, no_sentinels, two_stage, json, quiet, follow, uncached;
    int no_file_mask, no_file_flat, flip, sums;
    /* --stream, and what is for it alone */
    const char *stream, *record, *publish, *curve_key, *curve_secret;
    struct cli_int every, queue, series;
    struct cli_real timeout;
    int overflow, watch;
    struct cli_raw raw;
    struct inputs inputs; /* the stack's files, or the stacks if each has its output */
    uint32_t readers;     /* of the layout; 0: the pipeline's choice */
    char *layout_devices; /* what `devices` points at then, or NULL */
    hcy_config *config; /* of config_file, or NULL */
    char command[4096]; /* the line itself, for what is written; cut off if it is longer */
};

/* In the order of enum hcy_azint_split; NULL ends them. */
extern const char *const integrate_splits[];

/* Fills `values`, to be freed with integrate_free(); `inputs`: those too, in place of what the words name, or NULL.
 * Returns 0 to go on, or 1 with *status to leave with. */
int integrate_parse(struct integrate_values *values, const struct inputs *inputs, int argc, char **argv, int *status);
void integrate_free(struct integrate_values *values);
/* The geometry, where there is one; a status of the library's. */
int integrate_has_geometry(const struct integrate_values *values);
int integrate_geometry(hcy_poni *poni, const struct integrate_values *values);
/* What --layout means is filled in: devices, readers, processes.  CLI_*, after a message. */
extern const char *const integrate_layouts[]; /* NULL ends them */
int integrate_layout(struct integrate_values *values);
/* Processors that this process may use. */
size_t integrate_processors(void);
/* The folder where plans are kept, which may be written to `folder`; NULL: they are not. */
const char *integrate_cache(char *folder, size_t size, const struct integrate_values *values);
/* What the command line says of how frames are run, of files and streams alike; over the defaults. */
void integrate_run_options(hcy_pipeline_options *options, const struct integrate_values *values);
/* The strings that open them, with commas. */
void integrate_device_names(char *text, size_t size, hcy_device *const *devices, size_t n);
/* Options of the plan, without arrays. */
void integrate_options(hcy_azint_options *options, const struct integrate_values *values);

#endif
