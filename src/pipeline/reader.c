/* reader.c - threads that read a stack's chunks into slots (the pull form's producers).  Each reserves the
 * next frame under the lock and reads and parses it without; frames enter slots in order, their reading
 * overlaps. */
#include "pipeline_priv.h"

#include <stdlib.h>
#include <unistd.h>

/* On a CPU readers compete with the kernels, where one thread that is interrupted keeps all the others
 * waiting at the end of a launch.  So readers step back, and take what is left over at just those ends (16
 * threads: a fifth more frames).  While kernels wait for frames, nobody is in the readers' way. */
static void step_back(void)
{
#ifdef __linux__ /* elsewhere it would be the whole process that steps back */
    if (nice(10) == -1)
        return; /* then without */
#endif
}

/* [lock] A place for the run's next frame, or 0 if there is none now.  *status says what is known to be
 * wrong. */
static int reserve(hcy_pipeline *p, struct pipe_place *place, uint64_t *number, int *status)
{
    size_t size = 0;
    *number = p->run.next;
    *status = hcy_stack_frame_size(&size, p->run.stack, *number);
    if (!*status && size > p->capacity)
        *status =
            hcy_fail(HCY_ERANGE, "its %zu bytes are more than any frame of the stack was said to have (%zu)",
                     size, p->capacity);
    if (!hcy__slot_reserve(p, *status ? 0 : size, NULL, place))
        return 0;
    if (++p->run.next == p->run.last)
        hcy__slot_close(p);
    return 1;
}

void *hcy__reader(void *pipeline)
{
    hcy_pipeline *p = pipeline;
    struct pipe_parser parser = { NULL, 0 };
    struct pipe_place place;
    uint64_t number;
    int status;
    step_back();
    pthread_mutex_lock(&p->lock);
    while (!p->stopped && p->run.next < p->run.last) {
        if (!reserve(p, &place, &number, &status)) {
            pthread_cond_wait(&p->space, &p->lock);
            continue;
        }
        pthread_mutex_unlock(&p->lock);
        size_t size = 0;
        hcy__output_begin(place.output, number);
        if (!status)
            status = hcy_stack_read(&size, p->run.stack, number, place.into, place.capacity);
        hcy__slot_commit(p, &place, &parser, status, size);
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    free(parser.blocks);
    return NULL;
}
