/* writer.h - what a format of written stacks is.
 *
 * writer.c finds it by the path's suffix, checks arguments and codes frames; `state` is the format's own.
 */
#ifndef HCY_STACK_WRITER_H
#define HCY_STACK_WRITER_H

#include "stack_priv.h"

typedef struct hcy__writer_format {
    int (*open)(void **state, const char *path, const hcy_stack_writer_options *opts, const hcy_bslz4_job *job);
    /* Thread-safe. */
    int (*put)(void *state, uint64_t frame, const void *bytes, size_t size);
    /* Lets the file have its name, or takes it away; frees. */
    int (*close)(void *state, int whole);
} hcy__writer_format;

extern const hcy__writer_format hcy__writer_npy;
extern const hcy__writer_format hcy__writer_h5;
extern const hcy__writer_format hcy__writer_images; /* files that hold no coded frames, and one a frame */

#endif
