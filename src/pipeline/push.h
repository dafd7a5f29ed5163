/* push.h - frames that a host submits from its memory (push.c owns the part; nobody else sees its members).
 *
 * Lock rules: the queue is under the lock, the rest is made before the push begins and stays.  `hcy_pipeline.push` is
 * set and taken away under the lock, so whoever holds the lock, or has a frame of the push, may use it.
 */
#ifndef HCY_PIPELINE_PUSH_H
#define HCY_PIPELINE_PUSH_H

#include <halcyon/pipeline.h>

struct pipe_push;

/* A submitted chunk, until its host has it back. */
struct pipe_chunk {
    const uint8_t *data;
    size_t size;
    uint64_t number, submitted; /* submitted: ns */
    hcy_pipeline_release release;
    void *payload;
};
/* Calls the host's release: without the lock, once for each chunk. */
void hcy__chunk_give_back(const hcy_pipeline *p, const struct pipe_chunk *chunk, int status);

/* Where a chunk lies in the host's memory, and that memory as a device's kernels read it. */
size_t hcy__push_offset(const struct pipe_push *push, const uint8_t *chunk);
hcy_buffer *hcy__push_view(const struct pipe_push *push, size_t device);
/* Why chunks in the host's memory are copied: NULL where they are not, or none is named. */
const char *hcy__push_copied(const struct pipe_push *push);
/* Ends a push that nobody has finished. */
void hcy__push_abandon(hcy_pipeline *p);

#endif
