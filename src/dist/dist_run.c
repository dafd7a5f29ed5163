/* dist_run.c - a program's function on each rank: once where ranks are processes, else on as many threads. */
#include "dist_priv.h"
#include "thread.h"

#include <stdlib.h>
#include <string.h>

struct work {
    int (*function)(hcy_dist *comm, void *user);
    void *user;
};

struct worker {
    struct hcy__run *run;
    const struct work *work;
    hcy_dist *comm;
    int rank;
    pthread_t thread;
    fenv_t floats; /* the caller's, as its signals: work is the program's, not the library's */
    sigset_t signals;
};

static void *run_rank(void *payload)
{
    struct worker *w = payload;
    hcy__run_end_rank(w->run, w->rank, w->work->function(w->comm, w->work->user));
    hcy_dist_release(w->comm);
    return NULL;
}

static void *run_thread(void *payload)
{
    struct worker *w = payload;
    fesetenv(&w->floats);
    pthread_sigmask(SIG_SETMASK, &w->signals, NULL);
    return run_rank(w);
}

/* The first rank works in the caller's thread, if all have one. */
static void run_ranks(struct worker *workers, int n)
{
    int started = 1, error = 0;
    for (int r = 1; r < n; r++) {
        fegetenv(&workers[r].floats);
        pthread_sigmask(SIG_SETMASK, NULL, &workers[r].signals);
    }
    while (started < n && !(error = hcy__thread_create(&workers[started].thread, run_thread, &workers[started])))
        started++;
    if (!error)
        run_rank(&workers[0]);
    for (int r = 0; error && r < n; r++)
        if (!r || r >= started) {
            const int status = hcy_fail_vendor(HCY_ENOMEM, error, "", "no thread for rank %d of %d", started, n);
            hcy__run_end_rank(workers[r].run, r, status);
            hcy_dist_release(workers[r].comm);
        }
    for (int r = 1; r < started; r++)
        pthread_join(workers[r].thread, NULL);
}

static int run_threads(const struct work *work, int n, struct hcy__ways ways)
{
    struct worker *workers = calloc((size_t)n, sizeof *workers);
    hcy_dist **comms = calloc((size_t)n, sizeof *comms);
    struct hcy__run *run = NULL;
    int status = workers && comms ? hcy__run_new(&run, comms, n, ways)
                                  : hcy_fail(HCY_ENOMEM, "out of memory for %d ranks", n);
    for (int r = 0; !status && r < n; r++)
        workers[r] = (struct worker){ .run = run, .work = work, .comm = comms[r], .rank = r };
    if (!status)
        run_ranks(workers, n);
    for (int r = 0; status && comms && r < n; r++)
        hcy_dist_release(comms[r]);
    const int failed = run ? hcy__run_release(run) : 0;
    free(workers);
    free(comms);
    return status ? status : failed;
}

int hcy_dist_run(int (*work)(hcy_dist *comm, void *user), void *user, const char *text)
{
    struct hcy__wish wish;
    hcy_dist *comm = NULL;
    int status = work ? hcy__dist_wish(&wish, text) : hcy_fail(HCY_EINVAL, "hcy_dist_run: no work");
    const bool by_threads = !status && !strcmp(wish.transport, "threads");
    if (by_threads)
        status = hcy__dist_check_threads();
    if (status)
        return status;
    if (by_threads)
        return run_threads(&(struct work){ work, user }, wish.n_threads ? wish.n_threads : hcy__dist_count_gpus(),
                           wish.ways);
    status = hcy__dist_open(&comm, &wish);
    if (!status)
        status = work(comm, user);
    hcy_dist_release(comm);
    return status;
}
