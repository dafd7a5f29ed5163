/* raw.h - options of commands that take raw frames, and their conversion. */
#ifndef HCY_CLI_RAW_H
#define HCY_CLI_RAW_H

#include "cli.h"
#include <halcyon/stack.h>
#include <stdbool.h>

struct cli_raw {
    const char *pedestal, *gain;
    struct cli_real photon_energy;
};

/* Entries of a table of options; `at` is where the struct is in the subcommand's. */
#define CLI_RAW_OPTIONS(at)                                                                                          \
    { "pedestal", 0, CLI_TEXT, (at) + offsetof(struct cli_raw, pedestal), "FILE",                                    \
      "JUNGFRAU's raw frames: three images, one a gain", 0, 0, NULL },                                               \
        { "gain", 0, CLI_TEXT, (at) + offsetof(struct cli_raw, gain), "FILE", "... and its counts for a keV", 0, 0,  \
          NULL },                                                                                                    \
    {                                                                                                                \
        "photon-energy", 0, CLI_REAL, (at) + offsetof(struct cli_raw, photon_energy), "KEV",                         \
            "whole photons of that energy; without it: keV", 1e-3, 1e6, NULL                                         \
    }

/* Converts the stack's frames if it was asked for; CLI_*, after a message. */
int cli_raw_convert(hcy_stack *stack, const struct cli_raw *raw);
/* Are converted pixels photons?  The ends of their type, INT32_MIN and INT32_MAX, are then no numbers of these. */
bool cli_raw_is_photons(const struct cli_raw *raw);
/* The values of converted pixels that are not valid, unless the options say others. */
void cli_raw_invalid(hcy_azint_options *options, const struct cli_raw *raw);

#endif
