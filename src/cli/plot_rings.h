/* plot_rings.h - where a geometry has rings and the beam on a detector's image.  Single-threaded. */
#ifndef HCY_CLI_PLOT_RINGS_H
#define HCY_CLI_PLOT_RINGS_H

#include "plot.h"
#include <halcyon/azint.h>

/* Puts the rings that are wished for, if any are, and the beam's centre into the map of a height x width image, in
 * columns and rows from its first pixel's outer corner; CLI_*, after a message. */
int plot_add_rings(struct plot_map *map, const hcy_poni *poni, uint32_t height, uint32_t width,
                   const struct plot_wish *wish);

#endif
