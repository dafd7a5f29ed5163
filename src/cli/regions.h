/* regions.h - halcyon integrate --roi and --stats: which regions, and what became of them over a run.
 * Single-threaded. */
#ifndef HCY_CLI_REGIONS_H
#define HCY_CLI_REGIONS_H

#include "integrate.h"
#include <halcyon/pipeline.h>

struct regions {
    size_t n; /* 0: none */
    hcy_region boxes[HCY_PIPELINE_MAX_REGIONS];
    const char *names[HCY_PIPELINE_MAX_REGIONS];
    char *text; /* what names point into */
    int stats;  /* the last one is the whole frame, whose size comes later */
    uint8_t *mask; /* pixels that are in no region; NULL: none */
    int64_t above;
    struct regions_total *totals; /* [n] */
};

/* From the command line, into zeroed regions, to be freed in any case: CLI_*, after a message. */
int regions_parse(struct regions *regions, const struct integrate_values *values);
/* With the images' size and pixels (0: not known yet), and what masks these: `mask` (NULL: nothing) and the plan's
 * geometry, which is `poni`.  What cannot be done is said here, before there is an output.  CLI_*. */
int regions_prepare(struct regions *regions, const hcy_azint_plan *plan, const hcy_poni *poni, uint32_t pixel_type,
                    const uint8_t *mask);
/* What the pipeline and the file are told. */
void regions_ask(hcy_pipeline_options *options, const struct regions *regions);
void regions_name(hcy_curves_options *options, const struct regions *regions);
/* Each frame, and at the end a member "regions" of the summary; nothing where there are none. */
void regions_take(struct regions *regions, const hcy_pipeline_frame *frame);
void regions_json(struct cli_json *json, const struct regions *regions);
void regions_free(struct regions *regions);

#endif
