/* corrections.h - between corrections.c and h5_corrections.c: where a file has what it says of its pixels. */
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

#endif
