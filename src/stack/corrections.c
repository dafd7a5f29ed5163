/* corrections.c - the pixel mask and the flat field that a stack's own file has, and what it says of count rates. */
#include "corrections.h"
#include "isolate.h"
#include <halcyon/backend.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The image of that name in the stack's file, of the frames' size. */
static int read_correction_image(hcy_image **image, const hcy_stack *frames, const char *file, const char *name,
                      const char *what)
{
    const hcy_stack_info *stack = hcy_stack_get_info(frames);
    char *path, *words;
    size_t size = strlen(file) + strlen(name) + 3;
    if (!(path = malloc(size)))
        return hcy_fail(HCY_ENOMEM, "no memory to read the %s in %s", what, file);
    snprintf(path, size, "%s::%s", file, name);
    int st = hcy__image_read(image, path, &frames->isolation);
    /* The reason is in the error that hcy_fail() below replaces. */
    words = st ? strdup(hcy_last_error()->text) : NULL;
    if (st)
        st = hcy_fail(st, "%s: its %s cannot be used: %s", file, what, words ? words : path);
    else if ((*image)->height != stack->height || (*image)->width != stack->width) {
        st = hcy_fail(HCY_EFORMAT, "%s: its %s cannot be used: %s is %u x %u pixels, the frames are %u x %u", file,
                      what, name, (*image)->height, (*image)->width, stack->height, stack->width);
        /* An image of another size must not reach the caller, who would go by the frames'. */
        hcy_image_free(*image);
        *image = NULL;
    }
    free(words);
    free(path);
    return st;
}

/* NXdetector: the lower two bytes say that a pixel is not to be used (gap, dead, responding too little or too
 * much, noisy, masked by the user ...), the upper two only tell its kind (interpolated, say).  DECTRIS knows the
 * first five. */
enum { REJECTING_BYTES = 2 };

int hcy__corrections_add_mask(hcy_corrections *c, const hcy_image *image)
{
    size_t n = (size_t)image->height * image->width;
    if (!c->mask && !(c->mask = calloc(n ? n : 1, 1)))
        return hcy_fail(HCY_ENOMEM, "no memory for a pixel mask");
    /* A pixel counts where none of the masks rejects it. */
    hcy__image_add_mask(c->mask, image, REJECTING_BYTES);
    c->n_masked = 0;
    for (size_t i = 0; i < n; i++)
        c->n_masked += c->mask[i];
    return 0;
}

static int read_mask(hcy_corrections *c, const hcy_stack *stack, const char *file,
                     const struct hcy__correction_names *names)
{
    int st = 0;
    size_t n = (size_t)stack->shown.height * stack->shown.width;
    /* pyFAI takes the lowest byte alone for a mask; where that is another mask, saved configurations
     * cannot name ours. */
    uint8_t *pyfai = names->n_masks ? calloc(n, 1) : NULL;
    if (names->n_masks && !pyfai)
        st = hcy_fail(HCY_ENOMEM, "no memory for the pixel mask of %s", file);
    for (int i = 0; !st && i < names->n_masks; i++) {
        hcy_image *image;
        st = read_correction_image(&image, stack, file, names->masks[i], "pixel mask");
        if (st)
            break;
        st = hcy__corrections_add_mask(c, image);
        hcy__image_add_mask(pyfai, image, 1);
        hcy_image_free(image);
    }
    c->mask_is_plain = !st && names->n_masks == 1 && !memcmp(c->mask, pyfai, n);
    free(pyfai);
    return st;
}

int hcy__corrections_set_flat(hcy_corrections *c, const hcy_image *image, int multiplies)
{
    size_t n = (size_t)image->height * image->width;
    int is_one = 1;
    c->flat = malloc((n ? n : 1) * sizeof *c->flat);
    if (!c->flat)
        return hcy_fail(HCY_ENOMEM, "no memory for a flat field");
    hcy_image_to_floats(c->flat, image);
    /* Plans divide by the flat field: one that multiplies is turned over. */
    for (size_t i = 0; i < n; i++) {
        is_one &= c->flat[i] == 1;
        if (multiplies) /* 0 stays what no pixel can be divided by: it is masked */
            c->flat[i] = c->flat[i] > 0 ? 1 / c->flat[i] : 0;
    }
    if (is_one) { /* as detectors have it before they are calibrated */
        free(c->flat);
        c->flat = NULL;
    }
    return 0;
}

static int read_flat(hcy_corrections *c, const hcy_stack *stack, const char *file,
                     const struct hcy__correction_names *names)
{
    hcy_image *image;
    int st = read_correction_image(&image, stack, file, names->flat, "flat field");
    if (st)
        return st;
    st = hcy__corrections_set_flat(c, image, names->flat_multiplies);
    hcy_image_free(image);
    return st;
}

static int find_names(struct hcy__correction_names *names, const hcy_stack *stack, const char *file)
{
    memset(names, 0, sizeof *names);
    names->mask_applied = names->flat_applied = names->countrate_applied = -1;
#ifdef HAVE_HDF5
    return hcy__corrections_find(names, hcy_stack_get_info(stack), &stack->isolation, file);
#else
    (void)stack, (void)file;
    return 0;
#endif
}

int hcy_corrections_read(hcy_corrections **corrections, const hcy_stack *stack, const char *path, unsigned which)
{
    if (!corrections || !stack)
        return hcy_fail(HCY_EINVAL, "hcy_corrections_read: corrections and stack must not be NULL");
    *corrections = NULL;
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    const char *file = path ? path : info->path;
    struct hcy__correction_names *names = malloc(sizeof *names);
    hcy_corrections *c = calloc(1, sizeof *c);
    int st = names && c ? find_names(names, stack, file) : hcy_fail(HCY_ENOMEM, "no memory to read %s", file);
    if (st && names && c && !which) /* nothing of it is wanted: a file that cannot be gone through will do */
        st = 0;
    /* What was found is reported even if it is not read, so that the user is told what was left out. */
    if (!st) {
        snprintf(c->mask_name, sizeof c->mask_name, "%s", names->masks[0]);
        snprintf(c->flat_name, sizeof c->flat_name, "%s", names->flat);
        snprintf(c->countrate_table, sizeof c->countrate_table, "%s", names->table);
        c->n_masks = names->n_masks;
        c->mask_applied = names->mask_applied;
        c->flat_applied = names->flat_applied;
        c->flat_multiplies = *names->flat && names->flat_multiplies;
        c->countrate_applied = names->countrate_applied;
    }
    if (!st && which & HCY_CORRECTION_MASK)
        st = read_mask(c, stack, file, names);
    /* A flat field that the detector has applied already must not be applied twice. */
    int flat_wanted = which & HCY_CORRECTION_FLAT && *names->flat &&
                      (!names->flat_applied || which & HCY_CORRECTION_FLAT_ANYWAY);
    if (!st && flat_wanted)
        st = read_flat(c, stack, file, names);
    free(names);
    if (st)
        hcy_corrections_free(c);
    else
        *corrections = c;
    return st;
}

void hcy_corrections_free(hcy_corrections *corrections)
{
    if (!corrections)
        return;
    free(corrections->mask);
    free(corrections->flat);
    free(corrections);
}

void hcy_corrections_use(hcy_azint_options *options, const hcy_corrections *corrections, const hcy_stack *stack)
{
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    if (!options || !corrections || !info)
        return;
    /* What the user gave goes first. */
    if (corrections->mask && !options->mask) {
        options->mask = corrections->mask;
        options->mask_height = info->height;
        options->mask_width = info->width;
    }
    if (corrections->flat && !options->flat)
        options->flat = corrections->flat;
}
