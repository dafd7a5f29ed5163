/* saved_config.h - --save-config: a configuration that gives pyFAI the same curve.  Single-threaded. */
#ifndef HCY_CLI_SAVED_CONFIG_H
#define HCY_CLI_SAVED_CONFIG_H

#include "integrate.h"
#include "pixels.h"

/* Writes it to --save-config, with the mask (NULL: none), the flat field and the absorption of the run; `opts` name
 * --mask, --flat and the file's own mask.  What pyFAI cannot read from one of these files is written beside it; of
 * options that it has no place for a line says that they have to be given again. */
int saved_config_write(const struct integrate_values *values, const hcy_azint_plan *plan,
                       const hcy_curves_options *opts, const struct pixels *pixels, const uint8_t *mask,
                       const hcy_azint_options *azint);

#endif
