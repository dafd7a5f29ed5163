/* rings.h - do the rings of a frame stay where they are, all around the beam?  Single-threaded. */
#ifndef HCY_CLI_RINGS_H
#define HCY_CLI_RINGS_H

#include "cli.h"
#include <halcyon/stack.h>

/* Looks at a frame of the stack with this geometry and says on stderr if its rings wander over the azimuth, and which
 * orientation would mend it, to somebody who gave --flip or not.  Never fails: what cannot be looked at is left
 * alone. */
void rings_check(hcy_stack *stack, hcy_device *device, const hcy_poni *poni, const hcy_azint_options *options,
                 uint64_t frame, int flip);

#endif
