/* rings.h - do the rings of a frame stay where they are, all around the beam?  Single-threaded. */
#ifndef HCY_CLI_RINGS_H
#define HCY_CLI_RINGS_H

#include "cli.h"
#include <halcyon/azint.h>
#include <halcyon/stack.h>

/* What is looked at: a frame of the stack, decoded on `device`; which of its values count is the plan's to say, and
 * `mask`'s, which the plan was made of (NULL: none). */
struct rings_of {
    hcy_stack *stack;
    hcy_device *device;
    const hcy_azint_plan *plan;
    const uint8_t *mask;
    uint64_t frame;
};

/* Looks at it with this geometry and says on stderr if its rings wander over the azimuth, and which orientation would
 * mend it, to somebody who gave --flip or not.  Never fails: what cannot be looked at is left alone. */
void rings_check(const struct rings_of *of, const hcy_poni *poni, int flip);

#endif
