/* corrections.h - between corrections.c and who reads corrections: h5_corrections.c, which finds them in a file, and
 * src/stream, which has them in a message. */
#ifndef HCY_STACK_CORRECTIONS_H
#define HCY_STACK_CORRECTIONS_H

#include "stack_priv.h"

enum { HCY__CORRECTION_NAME = 640, HCY__CORRECTION_MASKS = 9 };

/* Datasets ("": none), and flags: 1, 0, or -1 where the file does not say. */
struct hcy__correction_names {
    char masks[HCY__CORRECTION_MASKS][HCY__CORRECTION_NAME];
    int n_masks;
    char flat[HCY__CORRECTION_NAME], table[HCY__CORRECTION_NAME];
    int mask_applied, flat_applied, countrate_applied;
    int flat_multiplies; /* DECTRIS': counts are multiplied by it; NeXus': it is the response to even light */
};

/* Fills zeroed names from a file for the stack's frames; one that is no HDF5 file, or says nothing of a detector, has
 * none. */
int hcy__h5_corrections_find(struct hcy__correction_names *names, const hcy_stack_info *stack, const char *path);

/* Adds what a pixel_mask of the frames' size rejects.  HCY_ENOMEM. */
int hcy__corrections_add_mask(hcy_corrections *c, const hcy_image *image);
/* Takes a flat field of the frames' size over, as what counts are divided by; none where it is 1 everywhere. */
int hcy__corrections_set_flat(hcy_corrections *c, const hcy_image *image, int multiplies);

#endif
