/* stack_read.h - for the tests that read stacks: do frames read as they were made, does opening fail as it
 * should. */
#ifndef STACK_READ_H
#define STACK_READ_H

#include "stack_make.h"
#include <halcyon/bslz4.h>

static inline hcy_bslz4_job job_of(const hcy_stack_info *info)
{
    return (hcy_bslz4_job){ .codec = info->codec,
                            .elem_size = info->elem_size,
                            .image_bytes = info->frame_bytes,
                            .block_bytes = info->block_bytes };
}

/* The bytes that reading this frame should give; freed by the caller. */
static inline void *expected_bytes(size_t *size, const hcy_stack_info *info, uint64_t frame)
{
    void *pixels = malloc(info->frame_bytes);
    make_frame(pixels, info, frame);
    *size = info->frame_bytes;
    if (info->codec == HCY_CODEC_NONE)
        return pixels;
    hcy_bslz4_job job = job_of(info);
    size_t bound = 0;
    void *chunk = hcy_bslz4_encode_bound(&bound, &job) ? NULL : malloc(bound);
    if (!chunk || hcy_bslz4_encode(size, chunk, bound, &job, pixels))
        bail_out("the expected chunk cannot be made: %s", hcy_last_error()->text);
    free(pixels);
    return chunk;
}

/* Does this frame read as expected? */
static inline int frame_is_right(hcy_stack *stack, uint64_t frame)
{
    const hcy_stack_info *info = hcy_stack_get_info(stack);
    size_t want_size, need = 0, size = 0;
    void *want = expected_bytes(&want_size, info, frame);
    char *got = malloc(info->max_chunk);
    int right = !hcy_stack_frame_size(&need, stack, frame) && need <= info->max_chunk &&
                !hcy_stack_read(&size, got, info->max_chunk, stack, frame) && size == want_size &&
                size <= need && !memcmp(got, want, size);
    free(got);
    free(want);
    return right;
}

static inline int all_frames_are_right(hcy_stack *stack)
{
    for (uint64_t i = 0; i < hcy_stack_get_info(stack)->frames; i++)
        if (!frame_is_right(stack, i))
            return 0;
    return 1;
}

static inline void open_fails(const char *path, const char *dataset, int want, const char *parts,
                              const char *what)
{
    hcy_stack *stack = NULL;
    hcy_clear_error();
    int st = hcy_stack_open(&stack, path, dataset);
    fails(st, want, parts, what);
    ok(!stack, "%s: no stack", what);
    hcy_stack_close(stack);
}

#endif
