/* pixels.h - which pixels of a run are masked and corrected, by what, and how that is said.  Single-threaded. */
#ifndef HCY_CLI_PIXELS_H
#define HCY_CLI_PIXELS_H

#include "cli.h"
#include <halcyon/pipeline.h>
#include <halcyon/stack.h>

enum { PIXELS_TEXT = 4096 };

struct pixels {
    /* What the caller sets. */
    int no_file_mask, no_file_flat; /* options */
    const char *whose;              /* "file", "stream": where the corrections are from */
    const char *other_flat;         /* what takes the place of the file's flat field ("--flat"), or NULL */
    /* From pixels_read() on. */
    hcy_corrections *own;                /* what the stack's file says; to be freed */
    char file_mask[2048], file_flat[2048]; /* FILE::/path of those that are used, FILE from the root on; "" */
    /* Are those of --mask and --flat what pyFAI reads in their files? */
    int mask_is_plain, flat_is_plain;
    /* Pixels masked in every frame, by source (a pixel may have several) and in all. */
    uint64_t by_mask, by_frame, by_detector, masked, pixels;
    int use_dummy, sentinels; /* of the options: what masks in single frames */
    int has_marks;            /* floats of a detector whose marks are -3.5 to -0.5, which may be values, too */
    /* And in single frames. */
    uint64_t frames, least, most, total;
};

/* Before frames of so many pixels are counted, by whoever has `own` from elsewhere than pixels_read(). */
void pixels_begin(struct pixels *pixels, uint64_t n, const char *whose);
/* HCY_CORRECTION_*: what is not to be used is not read, for a flat field is as large as a frame. */
unsigned pixels_wanted(const struct pixels *pixels);
/* Reads the corrections that the stack's file has. */
int pixels_read(struct pixels *pixels, const hcy_stack *stack);
/* Counts what a frame had masked for itself. */
void pixels_take(struct pixels *pixels, const hcy_pipeline_frame *frame);
/* How many are set. */
uint64_t pixels_count(const uint8_t *mask, uint64_t n);
/* What was done with the file's corrections, a line each; "" where it has none. */
void pixels_corrections(char text[PIXELS_TEXT], const struct pixels *pixels);
void pixels_summary(const struct pixels *pixels);
void pixels_json(struct cli_json *json, const struct pixels *pixels);

#endif
