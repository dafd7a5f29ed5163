/* reader.h - which frames of a stack are to be read, and the threads that read them (reader.c owns it).
 *
 * Lock rules: `next` is under the lock; the rest is set by hcy__reader_begin() under the lock, before the threads are
 * started, and stays.  `threads` is for the thread of the run alone.
 */
#ifndef HCY_PIPELINE_READER_H
#define HCY_PIPELINE_READER_H

#include <halcyon/pipeline.h>
#include <pthread.h>

#define PIPE_MAX_READERS 64

struct pipe_reader {
    hcy_stack *stack;           /* NULL: frames are pushed */
    uint64_t first, next, last; /* [lock] next: the frame to read next */
    pthread_t threads[PIPE_MAX_READERS];
    size_t n_threads;
};

/* How many threads, where the caller did not say. */
uint32_t hcy__readers_default(const hcy_pipeline *p);
/* [lock] Frames first to last - 1 of a stack; without one: frames that are pushed, as many as may come. */
void hcy__reader_begin(struct pipe_reader *r, hcy_stack *stack, uint64_t first, uint64_t last);
/* HCY_ENOMEM if there is no thread at all. */
int hcy__readers_start(hcy_pipeline *p);
/* After the run has been stopped. */
void hcy__readers_join(struct pipe_reader *r);

/* [lock] Frames that no producer has begun yet, and frames of the run in all. */
static inline uint64_t hcy__frames_left(const struct pipe_reader *r)
{
    return r->last - r->next;
}
static inline uint64_t hcy__frames_of_run(const struct pipe_reader *r)
{
    return r->last - r->first;
}

#endif
