/* control.h - a pipeline's control (control.c owns it): the one lock, the conditions that threads wait for, and whether
 * the run goes on.
 *
 * Lock rules: `lock` guards what is marked [lock] in every part; it is held for bookkeeping only, never while a frame
 * is read, parsed, launched, finished or handed out, and never around a callback.  Functions marked [lock] are called
 * with it, all others without.  Every wait is a loop that looks at its condition again.  Wake-ups go to all who wait;
 * where one more thing is there for threads that are all alike, to one of them: twenty that wake for one chunk would
 * mostly wait for the lock.  They are noted under the lock and given behind it, for who is woken wants it at once.
 */
#ifndef HCY_PIPELINE_CONTROL_H
#define HCY_PIPELINE_CONTROL_H

#include <halcyon/pipeline.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#define PIPE_TICK_NS 100000000u /* after which whoever waits looks for a cancellation */

/* What threads wait for. */
enum pipe_condition {
    PIPE_SPACE,  /* producers: a slot or a ring entry came free, or the run stops */
    PIPE_CHUNKS, /* the push form's producers: a chunk is in the queue, or the run stops */
    PIPE_ROOM,   /* who submits: there is room in the queue, or the run stops */
    PIPE_DONE,   /* who flushes or finishes: a result was handed out, or the run stops */
    PIPE_WORK,   /* a slot is ready, a device gave up, or the pipeline is being destroyed */
    PIPE_SUMS,   /* who makes curves: a batch's sums are there, or the pipeline is being destroyed */
    PIPE_OUTPUT, /* the ring's front may be ready, a device is set up or idle, or the run stops */
    PIPE_CONDITIONS
};

struct pipe_control {
    pthread_mutex_t lock;
    pthread_cond_t conditions[PIPE_CONDITIONS];
    unsigned owed;                         /* [lock] conditions, a bit each, of which all who wait are to be woken */
    unsigned char owed_one[PIPE_CONDITIONS]; /* [lock] so many of those who wait */
    int stopped; /* [lock] no run is in progress, or it takes no more frames */
    int quit;    /* [lock] the pipeline is being destroyed */
    int busy;    /* [lock] a run or a push is in progress */
    int status;  /* [lock] why the run has stopped, with `error`; 0: it came to its end */
    hcy_error error;
    atomic_int cancelled; /* without the lock: signal handlers set it */
};

int hcy__control_create(struct pipe_control *c);
void hcy__control_destroy(struct pipe_control *c);

static inline void hcy__pipe_lock(struct pipe_control *c)
{
    pthread_mutex_lock(&c->lock);
}
void hcy__pipe_unlock(struct pipe_control *c); /* and wakes whom that is owed */
/* [lock] All who wait for it. */
static inline void hcy__pipe_wake(struct pipe_control *c, enum pipe_condition condition)
{
    c->owed |= 1u << condition;
}
/* [lock] One of those who wait for it, who are all alike. */
static inline void hcy__pipe_wake_one(struct pipe_control *c, enum pipe_condition condition)
{
    if (++c->owed_one[condition] == UCHAR_MAX)
        hcy__pipe_wake(c, condition);
}
/* [lock] Until somebody wakes this thread. */
void hcy__pipe_wait(struct pipe_control *c, enum pipe_condition condition);
/* [lock] The same, until a time at most: 1 when that has passed. */
int hcy__pipe_wait_until(struct pipe_control *c, enum pipe_condition condition, uint64_t until);

/* [lock] */
static inline int hcy__is_stopped(const struct pipe_control *c)
{
    return c->stopped;
}
static inline int hcy__is_quitting(const struct pipe_control *c)
{
    return c->quit;
}
static inline int hcy__is_cancelled(const struct pipe_control *c)
{
    return atomic_load(&c->cancelled);
}

/* [lock] One run or push at a time: 0, or HCY_EBUSY if there is one. */
int hcy__control_claim(struct pipe_control *c);
void hcy__control_give_up(struct pipe_control *c);
/* [lock] A run goes on from here. */
void hcy__control_begin(struct pipe_control *c);
/* [lock] Stops the run with the status and record, unless it has stopped already. */
void hcy__stop(struct pipe_control *c, int status, const hcy_error *error);
/* Stops the run, which needs no reason: it has come to its end, or its caller knows why. */
void hcy__halt(struct pipe_control *c);
/* [lock] The status that a run has stopped with, and its record; 0 where it was halted. */
int hcy__stop_status(hcy_error *error, const struct pipe_control *c);
/* [lock, or after it has stopped] Why a run has stopped, as this thread's failure: never 0. */
int hcy__stopped(const struct pipe_control *c);
/* A run is over: a cancellation that came for it is not the next one's. */
void hcy__control_end(struct pipe_control *c);
/* Sends the devices' threads home. */
void hcy__quit(struct pipe_control *c);

#endif
