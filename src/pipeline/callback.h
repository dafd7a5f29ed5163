/* callback.h - around the host's callbacks (callback.c): whose callback this thread is in, and which calls are refused
 * there.  It owns no part of a pipeline: what it keeps lies on the callers' stacks, one thread's apart from another's.
 *
 * The pipeline's lock is never held around a callback: the host may call back into the pipeline.
 */
#ifndef HCY_PIPELINE_CALLBACK_H
#define HCY_PIPELINE_CALLBACK_H

#include <halcyon/pipeline.h>

/* Around each of them, on the caller's stack. */
struct pipe_call {
    const hcy_pipeline *pipeline;
    const struct pipe_call *outer;
};
void hcy__call_begin(struct pipe_call *call, const hcy_pipeline *p);
void hcy__call_end(const struct pipe_call *call);
/* Calls a sink: 0, or its status, and words in hcy_last_error() that are its own or name it. */
int hcy__call_sink(hcy_pipeline *p, hcy_pipeline_sink sink, void *payload, const hcy_pipeline_frame *frame);
/* Is this thread in one of the pipeline's? */
int hcy__in_callback(const hcy_pipeline *p);
/* For public functions: HCY_EINVAL without a pipeline, HCY_EFORK; _outside: HCY_ESTATE in a callback. */
int hcy__check_call(const hcy_pipeline *p, const char *function);
int hcy__check_outside(const hcy_pipeline *p, const char *function);

#endif
