/* callback.c - around the host's callbacks: which pipelines this thread is in a callback of, and what a sink's status
 * comes to.
 *
 * A callback runs in a thread that the pipeline needs, or under a call that waits for it.  So what would wait for the
 * pipeline is refused there, instead of waiting for ever.  Callbacks nest where one uses another pipeline.
 */
#include "pipeline_priv.h"

#include <halcyon/backend.h>

static _Thread_local const struct pipe_call *innermost;

void hcy__call_begin(struct pipe_call *call, const hcy_pipeline *p)
{
    *call = (struct pipe_call){ p, innermost };
    innermost = call;
}

void hcy__call_end(const struct pipe_call *call)
{
    innermost = call->outer;
}

int hcy__in_callback(const hcy_pipeline *p)
{
    const struct pipe_call *call = innermost;
    while (call && call->pipeline != p)
        call = call->outer;
    return call != NULL;
}

int hcy__check_call(const hcy_pipeline *p, const char *function)
{
    if (!p)
        return hcy_fail(HCY_EINVAL, "%s: no pipeline", function);
    return hcy_fork_check();
}

int hcy__check_outside(const hcy_pipeline *p, const char *function)
{
    int status = hcy__check_call(p, function);
    if (!status && hcy__in_callback(p))
        status = hcy_fail(HCY_ESTATE, "%s in a callback of the same pipeline would wait for itself: call it elsewhere",
                          function);
    return status;
}

/* A record from before the call is not the sink's: it is put aside meanwhile, and is back where the sink returns 0. */
int hcy__call_sink(hcy_pipeline *p, hcy_pipeline_sink sink, void *payload, const hcy_pipeline_frame *frame)
{
    const hcy_error before = *hcy_last_error();
    struct pipe_call call;
    hcy_clear_error();
    hcy__call_begin(&call, p);
    int status = sink(payload, frame);
    hcy__call_end(&call);
    /* A record of the same status was made by the sink's hcy_fail(): those words are kept. */
    if (!status)
        hcy_fail_again(&before);
    else if (hcy_last_error()->status != status)
        hcy_fail(status, "the sink ended it at frame %llu with the status %d (%s), without a word",
                 (unsigned long long)frame->number, status, hcy_status_name(status));
    return status;
}
