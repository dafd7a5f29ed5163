/* pool.c - a device's threads: one job at a time, cut into pieces that whichever thread is free pulls.
 *
 * The caller works too, as thread 0, so a pool of one thread has no thread of its own.  Callers from several queues
 * take turns.  A piece is claimed with one atomic addition; threads sleep between jobs.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pthread_setaffinity_np */
#endif
#include "cpu_priv.h"
#include "thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

struct worker {
    struct cpu_pool *pool;
    pthread_t thread;
    unsigned index;
};

struct cpu_pool {
    unsigned threads;
    struct worker *workers;
    unsigned *cores;         /* one a thread, NULL: not tied */
    pthread_mutex_t turn;    /* held by the caller whose job runs */
    pthread_mutex_t lock;    /* of what follows */
    pthread_cond_t start, done;
    unsigned long job;       /* number of the current job */
    unsigned busy;           /* workers still on it */
    bool closing;
    cpu_range_fn fn;
    void *context;
    size_t n, grain;
    atomic_size_t next;
};

static void tie_to_core(pthread_t thread, unsigned core)
{
#ifdef CPU_SET_S
    cpu_set_t set[CPU_MOST_CORES / CPU_SETSIZE];
    CPU_ZERO_S(sizeof set, set);
    CPU_SET_S(core, sizeof set, set);
    pthread_setaffinity_np(thread, sizeof set, set); /* it fails only for a core that opening has refused */
#else
    (void)thread;
    (void)core;
#endif
}

void cpu_pool_pin_caller(const struct cpu_pool *pool)
{
    if (pool->cores)
        tie_to_core(pthread_self(), pool->cores[0]);
}

unsigned cpu_pool_threads(const struct cpu_pool *pool)
{
    return pool->threads;
}

/* The pool at whose job the thread is. */
static _Thread_local const struct cpu_pool *at_job_of;

bool cpu_pool_is_inside(const struct cpu_pool *pool)
{
    return at_job_of == pool;
}

static void pull_pieces(struct cpu_pool *pool, unsigned thread)
{
    /* A function of the user's may be at another device's job, whose thread this is. */
    const struct cpu_pool *before = at_job_of;
    at_job_of = pool;
    for (;;) {
        /* Relaxed: the job was handed over under the lock, and pieces do not depend on each other. */
        size_t begin = atomic_fetch_add_explicit(&pool->next, pool->grain, memory_order_relaxed);
        if (begin >= pool->n)
            break;
        size_t end = pool->n - begin > pool->grain ? begin + pool->grain : pool->n;
        pool->fn(pool->context, begin, end, thread);
    }
    at_job_of = before;
}

static void *work_on_jobs(void *arg)
{
    struct worker *self = arg;
    struct cpu_pool *pool = self->pool;
    unsigned long seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        /* Jobs are counted, so a worker that is late neither misses one nor does one twice. */
        while (pool->job == seen && !pool->closing)
            pthread_cond_wait(&pool->start, &pool->lock);
        if (pool->closing)
            break;
        seen = pool->job;
        pthread_mutex_unlock(&pool->lock);
        /* The work itself is done without the lock. */
        pull_pieces(pool, self->index);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0)
            pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

void cpu_pool_for(struct cpu_pool *pool, size_t n, size_t grain, cpu_range_fn fn, void *context)
{
    if (!n)
        return;
    /* Callers of several queues take turns, so that the job below is one at a time. */
    pthread_mutex_lock(&pool->turn);
    pool->fn = fn;
    pool->context = context;
    pool->n = n;
    pool->grain = grain ? grain : 1;
    atomic_store(&pool->next, 0);
    /* A job of one piece is not worth waking anybody for. */
    if (pool->threads > 1 && n > pool->grain) {
        pthread_mutex_lock(&pool->lock);
        pool->busy = pool->threads - 1;
        pool->job++;
        pthread_cond_broadcast(&pool->start);
        pthread_mutex_unlock(&pool->lock);
        pull_pieces(pool, 0);
        pthread_mutex_lock(&pool->lock);
        /* All workers must have left the job before it goes, even those that found nothing to do. */
        while (pool->busy)
            pthread_cond_wait(&pool->done, &pool->lock);
        pthread_mutex_unlock(&pool->lock);
    } else
        pull_pieces(pool, 0);
    pthread_mutex_unlock(&pool->turn);
}

/* Thread i of the pool is tied to core i of the list, round and round. */
static int take_cores(struct cpu_pool *pool, const unsigned *cores, unsigned n)
{
    if (!n)
        return 0;
    pool->cores = malloc(pool->threads * sizeof *pool->cores);
    if (!pool->cores)
        return hcy_fail(HCY_ENOMEM, "out of memory for a pool of threads");
    for (unsigned i = 0; i < pool->threads; i++)
        pool->cores[i] = cores[i % n];
    return 0;
}

static int start_threads(struct cpu_pool *pool)
{
    pool->workers = calloc(pool->threads, sizeof *pool->workers);
    if (!pool->workers)
        return hcy_fail(HCY_ENOMEM, "out of memory for a pool of threads");
    unsigned wanted = pool->threads;
    /* `threads` counts those that run, so that a failure destroys just these. */
    for (pool->threads = 1; pool->threads < wanted; pool->threads++) {
        struct worker *w = &pool->workers[pool->threads];
        *w = (struct worker){ .pool = pool, .index = pool->threads };
        int error = hcy__thread_create(&w->thread, work_on_jobs, w);
        if (error)
            return hcy_fail_vendor(HCY_ENOMEM, error, "pthread_create",
                                   "only %u of %u threads could be started", pool->threads, wanted);
        if (pool->cores)
            tie_to_core(w->thread, pool->cores[pool->threads]);
    }
    return 0;
}

int cpu_pool_create(struct cpu_pool **out, unsigned threads, const unsigned *cores, unsigned n_cores)
{
    struct cpu_pool *pool = calloc(1, sizeof *pool);
    if (!pool)
        return hcy_fail(HCY_ENOMEM, "out of memory for a pool of threads");
    pool->threads = threads;
    pthread_mutex_init(&pool->turn, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->start, NULL);
    pthread_cond_init(&pool->done, NULL);
    int status = take_cores(pool, cores, n_cores);
    if (!status)
        status = start_threads(pool);
    if (status)
        cpu_pool_destroy(pool);
    else
        *out = pool;
    return status;
}

void cpu_pool_destroy(struct cpu_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_cond_broadcast(&pool->start);
    pthread_mutex_unlock(&pool->lock);
    /* Thread 0 is whoever calls. */
    for (unsigned i = 1; pool->workers && i < pool->threads; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->start);
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->turn);
    free(pool->workers);
    free(pool->cores);
    free(pool);
}
