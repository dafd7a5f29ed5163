/* control.c - one run at a time, and how it is stopped; the lock and the conditions of all the pipeline's threads. */
#include "pipeline_priv.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include <halcyon/backend.h>

int hcy__control_create(struct pipe_control *c)
{
    pthread_condattr_t attr;
    /* Until there is a run, workers that are set up find it stopped and wait. */
    c->stopped = 1;
    if (pthread_condattr_init(&attr))
        return hcy_fail(HCY_ENOMEM, "the pipeline's conditions");
    /* Limits of waits come from hcy_now_ns(), which is monotonic: a clock that is set must not prolong them. */
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    int bad = pthread_mutex_init(&c->lock, NULL);
    for (int i = 0; i < PIPE_CONDITIONS; i++)
        bad |= pthread_cond_init(&c->conditions[i], &attr);
    pthread_condattr_destroy(&attr);
    return bad ? hcy_fail(HCY_ENOMEM, "the pipeline's conditions") : 0;
}

void hcy__control_destroy(struct pipe_control *c)
{
    for (int i = 0; i < PIPE_CONDITIONS; i++)
        pthread_cond_destroy(&c->conditions[i]);
    pthread_mutex_destroy(&c->lock);
}

/* What is owed, taken under the lock, and given with or without it. */
struct owed {
    unsigned all;
    unsigned char one[PIPE_CONDITIONS];
};

static struct owed take_owed(struct pipe_control *c)
{
    struct owed owed = { c->owed, { 0 } };
    memcpy(owed.one, c->owed_one, sizeof owed.one);
    c->owed = 0;
    memset(c->owed_one, 0, sizeof c->owed_one);
    return owed;
}

static void give_owed(struct pipe_control *c, const struct owed *owed)
{
    for (int i = 0; i < PIPE_CONDITIONS; i++) {
        if (owed->all >> i & 1)
            pthread_cond_broadcast(&c->conditions[i]);
        for (unsigned k = 0; !(owed->all >> i & 1) && k < owed->one[i]; k++)
            pthread_cond_signal(&c->conditions[i]);
    }
}

void hcy__pipe_unlock(struct pipe_control *c)
{
    const struct owed owed = take_owed(c);
    pthread_mutex_unlock(&c->lock);
    give_owed(c, &owed);
}

/* Waiting lets go of the lock, so nobody may be left waiting for what this thread has done. */
void hcy__pipe_wait(struct pipe_control *c, enum pipe_condition condition)
{
    const struct owed owed = take_owed(c);
    give_owed(c, &owed);
    pthread_cond_wait(&c->conditions[condition], &c->lock);
}

int hcy__pipe_wait_until(struct pipe_control *c, enum pipe_condition condition, uint64_t until)
{
    const struct owed owed = take_owed(c);
    give_owed(c, &owed);
    struct timespec t = { (time_t)(until / 1000000000u), (long)(until % 1000000000u) };
    return pthread_cond_timedwait(&c->conditions[condition], &c->lock, &t) == ETIMEDOUT;
}

int hcy__control_claim(struct pipe_control *c)
{
    if (c->busy)
        return hcy_fail(HCY_EBUSY, "another run of this pipeline is in progress");
    c->busy = 1;
    return 0;
}

void hcy__control_give_up(struct pipe_control *c)
{
    hcy__pipe_lock(c);
    c->busy = 0;
    hcy__pipe_unlock(c);
}

void hcy__control_begin(struct pipe_control *c)
{
    c->status = 0;
    c->stopped = 0;
}

/* [lock] All who wait in a run; threads of the devices wait for the next one. */
static void wake_run(struct pipe_control *c)
{
    for (int i = 0; i < PIPE_CONDITIONS; i++)
        if (i != PIPE_WORK && i != PIPE_SUMS)
            hcy__pipe_wake(c, (enum pipe_condition)i);
}

void hcy__stop(struct pipe_control *c, int status, const hcy_error *error)
{
    /* The first reason is the one that the caller hears: later failures are often its consequences. */
    if (!c->stopped) {
        c->stopped = 1;
        c->status = status;
        c->error = *error;
        c->error.status = status;
    }
    wake_run(c);
}

void hcy__halt(struct pipe_control *c)
{
    hcy__pipe_lock(c);
    c->stopped = 1;
    wake_run(c);
    hcy__pipe_unlock(c);
}

int hcy__stop_status(hcy_error *error, const struct pipe_control *c)
{
    *error = c->error;
    return c->stopped ? c->status : 0;
}

int hcy__stopped(const struct pipe_control *c)
{
    return c->status ? hcy_fail_again(&c->error) : hcy_fail(HCY_ESTATE, "the run has ended");
}

void hcy__control_end(struct pipe_control *c)
{
    atomic_store(&c->cancelled, 0);
}

void hcy__quit(struct pipe_control *c)
{
    hcy__pipe_lock(c);
    c->quit = 1;
    hcy__pipe_wake(c, PIPE_WORK);
    hcy__pipe_wake(c, PIPE_SUMS);
    hcy__pipe_unlock(c);
}

void hcy_pipeline_cancel(hcy_pipeline *p)
{
    /* A signal handler may do nothing but set this; those who wait look every PIPE_TICK_NS. */
    if (p)
        atomic_store(&p->control.cancelled, 1);
}
