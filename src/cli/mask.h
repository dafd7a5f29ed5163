/* mask.h - static masks from a file and from a frame of the stack.  mask[height * width] of the stack's
 * frames: what is invalid is set to 1, the rest left as it is.  Both return CLI_OK, or CLI_FAILED after a
 * message. */
#ifndef HCY_CLI_MASK_H
#define HCY_CLI_MASK_H

#include "cli.h"
#include <halcyon/azint.h>
#include <halcyon/stack.h>

/* Pixels that are not 0 in FILE.npy, FILE.h5::/path. */
int cli_mask_file(uint8_t *mask, const hcy_stack *stack, const char *path);
/* Pixels of frame `number` that a plan of these options would mask in that frame; decoded on `device`. */
int cli_mask_frame(uint8_t *mask, hcy_stack *stack, hcy_device *device, const hcy_poni *poni,
                   const hcy_azint_options *azint, uint64_t number);

#endif
