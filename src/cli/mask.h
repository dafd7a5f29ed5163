/* mask.h - static masks from a file and from a frame of the stack, and corrections from files.
 * mask[height * width] of the stack's frames: cli_mask_file() writes all of it, 1 where a pixel is invalid and else 0,
 * so it comes first; the others set to 1 what is invalid and leave the rest as it is.  All return CLI_OK, or CLI_FAILED
 * after a message. */
#ifndef HCY_CLI_MASK_H
#define HCY_CLI_MASK_H

#include "cli.h"
#include <halcyon/azint.h>
#include <halcyon/stack.h>

/* Pixels that are not 0 in FILE.npy, FILE.h5::/path; of a master file those that its pixel_mask masks.
 * *is_plain: pyFAI would mask the same ones, by the lower 8 bits of integers. */
int cli_mask_file(uint8_t *mask, int *is_plain, const hcy_stack *stack, const char *path);
/* What a plan of these options masks frame by frame, into a job for cli_mask_invalid(); HCY_*.  poni NULL: no detector
 * is known, and the ends of the pixels' type are taken for marks. */
int cli_invalid_values(hcy_azint_job *job, const hcy_stack_info *info, const hcy_poni *poni,
                       const hcy_azint_options *azint);
void cli_mask_invalid(uint8_t *mask, const hcy_azint_job *job, const void *pixels, size_t n);
/* Frame `number` as its pixels are stored, info->frame_bytes of them, decoded on `device`; HCY_*. */
int cli_decode_frame(void *pixels, hcy_stack *stack, hcy_device *device, uint64_t number);
/* Pixels of frame `number` that a plan of these options would mask in that frame; decoded on `device`. */
int cli_mask_frame(uint8_t *mask, hcy_stack *stack, hcy_device *device, const hcy_poni *poni,
                   const hcy_azint_options *azint, uint64_t number);
/* An image, which is freed, as floats, to be freed by the caller; `path` stands in messages. */
int cli_image_floats(float **array, hcy_image *image, const char *path);
/* The image in FILE.npy, FILE.h5::/path as floats, *array[height * width] of the stack's frames, to be freed by
 * the caller; `option` stands in messages. */
int cli_array_file(float **array, const hcy_stack *stack, const char *path, const char *option);
/* The same of a flat field, of a master file its own: what counts are divided by.  *is_plain: it is so in the file. */
int cli_flat_file(float **flat, int *is_plain, const hcy_stack *stack, const char *path);

#endif
