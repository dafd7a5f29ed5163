/* saved_config.h - --save-config: a configuration that gives pyFAI the same curve.  Single-threaded. */
#ifndef HCY_CLI_SAVED_CONFIG_H
#define HCY_CLI_SAVED_CONFIG_H

#include "pixels.h"

/* Writes it to `path`, with the mask and the flat field (NULL: none) of the run; `opts` name --mask, --flat and the
 * file's own mask.  What pyFAI cannot read from one of these files is written beside it. */
int saved_config_write(const char *path, const hcy_azint_plan *plan, const hcy_curves_options *opts,
                       const struct pixels *pixels, const uint8_t *mask, const float *flat);

#endif
