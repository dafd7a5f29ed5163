/* dist_meetings.c - ranks that are threads: the run's lock, failures that all are told of, what all ranks do at once.
 *
 * What all ranks do at once has two meetings: behind the first each finds what the others have brought, and until the
 * second, which nothing interrupts, nobody's memory goes.  A reduction has each rank add up its share in place.
 */
#include "dist_threads.h"

#include <halcyon/backend.h>
#include <string.h>

/* Nanoseconds for which a rank looks before it sleeps: about what it takes to be woken; and how often in a row, as a
 * power of two, it does not look at most where that was in vain. */
enum { WATCHED = 10000, MOST_VAIN = 8 };

/* --- The lock, and waiting under it --- */

static inline void rest_processor(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* It is held for less than a sleep takes, but by who has no processor. */
void hcy__run_lock(struct hcy__run *run)
{
    for (int i = 0; run->watches && i < 100; i++) {
        if (!pthread_mutex_trylock(&run->lock))
            return;
        rest_processor();
    }
    pthread_mutex_lock(&run->lock);
}

void hcy__run_tell(struct hcy__run *run)
{
    atomic_fetch_add(&run->n_changes, 1);
    pthread_cond_broadcast(&run->changed);
}

/* Others most often come within microseconds, and going to sleep takes longer.  Where they do not, since their work is
 * longer or their processor is another's, that is noticed, and tried again ever less often. */
static void watch_changes(struct hcy__run *run, unsigned seen)
{
    const uint64_t began = hcy_now_ns();
    pthread_mutex_unlock(&run->lock);
    do
        for (int i = 0; i < 16 && atomic_load(&run->n_changes) == seen; i++)
            rest_processor();
    while (atomic_load(&run->n_changes) == seen && hcy_now_ns() - began < WATCHED);
    hcy__run_lock(run);
    const bool in_vain = atomic_load(&run->n_changes) == seen;
    run->n_vain = !in_vain ? 0 : run->n_vain < MOST_VAIN ? run->n_vain + 1 : MOST_VAIN;
    run->n_unwatched = (1u << run->n_vain) - 1;
}

/* Until something has changed, or for no reason. */
void hcy__run_wait(struct hcy__run *run)
{
    const unsigned seen = atomic_load(&run->n_changes);
    if (run->n_unwatched)
        run->n_unwatched--;
    else if (run->watches)
        watch_changes(run, seen);
    if (atomic_load(&run->n_changes) == seen)
        pthread_cond_wait(&run->changed, &run->lock);
}

/* --- Failures --- */

/* The first failure counts.  Locked. */
void hcy__run_break(struct hcy__run *run, int who, int status, const hcy_error *why)
{
    if (run->is_broken)
        return;
    run->is_broken = true;
    run->who = who;
    run->status = status;
    run->why = *why;
    for (struct hcy__end *e = run->ends; e; e = e->next)
        if (e->give_up)
            e->give_up(e->device_impl);
    hcy__run_tell(run);
}

/* What this thread has to say for a status; else what it has done. */
hcy_error hcy__run_describe(int status, const char *done)
{
    hcy_error why = { .status = status < 0 ? status : HCY_EBACKEND };
    if (status < 0 && hcy_last_error()->status == status)
        return *hcy_last_error();
    snprintf(why.text, sizeof why.text, "it has %s", done);
    return why;
}

/* A rank that waits for all of its group neither sends nor takes a message before they come.  Locked. */
static void look_for_crossing(struct hcy__group *g, int rank)
{
    const struct hcy__seat *seat = &g->seats[rank];
    const hcy_error why = { .status = HCY_EINVAL,
                            .text = "it waits for all ranks while another one waits for it in an exchange of messages" };
    if (seat->meets && seat->turn == g->turn)
        hcy__run_break(g->run, seat->who, HCY_EINVAL, &why);
}

/* Whether there is no use in waiting for a rank (-1: for all).  Locked. */
int hcy__run_look(const struct hcy__end *e, int rank)
{
    struct hcy__group *g = e->group;
    struct hcy__run *run = g->run;
    if (rank >= 0)
        look_for_crossing(g, rank);
    for (int r = 0; r < g->n; r++)
        if (run->has_ended[g->seats[r].who] && (rank < 0 || rank == r)) {
            const hcy_error why = hcy__run_describe(0, "ended while others wait for it");
            hcy__run_break(run, g->seats[r].who, HCY_EBACKEND, &why);
        }
    return run->is_broken ? hcy_fail(run->why.status, "another rank has failed, rank %d of the run: %.400s", run->who,
                                     run->why.text)
                          : 0;
}

/* --- Meetings --- */

/* Others would read and write memory that is not there, or wait for who goes elsewhere.  Locked. */
static void compare_call(struct hcy__end *e, const struct hcy__call *call)
{
    struct hcy__group *g = e->group;
    const hcy_error why = { .status = HCY_EINVAL,
                            .text = "it calls another function than others, or with other numbers" };
    if (!g->n_there)
        g->call = *call;
    else if (g->call.deed != call->deed || g->call.kind != call->kind || g->call.amount != call->amount)
        hcy__run_break(g->run, g->seats[e->rank].who, HCY_EINVAL, &why);
}

/* All ranks come, or none goes on.  Locked. */
int hcy__threads_meet(struct hcy__end *e, const struct hcy__call *call)
{
    struct hcy__group *g = e->group;
    const unsigned turn = g->turn;
    compare_call(e, call);
    int status = hcy__run_look(e, -1);
    if (status)
        return status;
    if (++g->n_there == g->n) {
        g->n_there = 0;
        g->turn++;
        hcy__run_tell(g->run);
    }
    struct hcy__seat *seat = &g->seats[e->rank];
    seat->meets = true;
    seat->turn = turn;
    if (g->n_exchanging)
        hcy__run_tell(g->run);
    while (g->turn == turn && !(status = hcy__run_look(e, -1)))
        hcy__run_wait(g->run);
    seat->meets = false;
    if (g->turn != turn)
        return 0;
    g->n_there--;
    return status;
}

/* Those who have met part: each of them comes here, whatever has failed since.  Locked. */
void hcy__threads_part(struct hcy__end *e)
{
    struct hcy__group *g = e->group;
    const unsigned turn = g->turn;
    if (++g->n_there == g->n) {
        g->n_there = 0;
        g->turn++;
        hcy__run_tell(g->run);
    }
    while (g->turn == turn)
        hcy__run_wait(g->run);
}

/* Brings memory to a meeting, which is in all ranks' sight until they part. */
static int bring(struct hcy__end *e, void *data, const struct hcy__call *call)
{
    struct hcy__group *g = e->group;
    hcy__run_lock(g->run);
    g->seats[e->rank].data = data;
    const int status = hcy__threads_meet(e, call);
    pthread_mutex_unlock(&g->run->lock);
    return status;
}

static void take_leave(struct hcy__end *e)
{
    hcy__run_lock(e->group->run);
    hcy__threads_part(e);
    pthread_mutex_unlock(&e->group->run->lock);
}

int hcy__threads_barrier(void *impl)
{
    return bring(impl, NULL, &(struct hcy__call){ BARRIER, 0, 0 });
}

int hcy__threads_broadcast(void *data, void *impl, size_t bytes, int root)
{
    struct hcy__end *e = impl;
    int status = bring(e, data, &(struct hcy__call){ BROADCAST, root, bytes });
    if (status)
        return status;
    if (e->rank != root)
        memcpy(data, e->group->seats[root].data, bytes);
    take_leave(e);
    return 0;
}

/* --- Reductions: each rank makes its share of the numbers, in the order of ranks, and writes them to all --- */

#define REDUCE_BY(T, expression)                                                                             \
    for (size_t i = first; i < end; i++) {                                                                   \
        T a = ((const T *)g->seats[0].data)[i];                                                              \
        for (int r = 1; r < g->n; r++) {                                                                     \
            const T b = ((const T *)g->seats[r].data)[i];                                                    \
            a = (T)(expression);                                                                             \
        }                                                                                                    \
        for (int r = 0; r < g->n; r++)                                                                       \
            ((T *)g->seats[r].data)[i] = a;                                                                  \
    }
/* Sums of integers wrap, whatever their sign. */
#define REDUCER(T, SUM_TYPE)                                                                                 \
    static void reduce_##T(const struct hcy__group *g, size_t first, size_t end, int reduction)                   \
    {                                                                                                        \
        if (reduction == HCY__SUM)                                                                           \
            REDUCE_BY(SUM_TYPE, a + b)                                                                       \
        else if (reduction == HCY__MIN)                                                                      \
            REDUCE_BY(T, b < a ? b : a)                                                                      \
        else                                                                                                 \
            REDUCE_BY(T, b > a ? b : a)                                                                      \
    }
REDUCER(int8_t, uint8_t)
REDUCER(uint8_t, uint8_t)
REDUCER(int16_t, uint16_t)
REDUCER(uint16_t, uint16_t)
REDUCER(int32_t, uint32_t)
REDUCER(uint32_t, uint32_t)
REDUCER(int64_t, uint64_t)
REDUCER(uint64_t, uint64_t)
REDUCER(float, float)
REDUCER(double, double)

int hcy__threads_allreduce(void *data, void *impl, size_t count, int dtype, int reduction)
{
    static void (*const reducers[])(const struct hcy__group *, size_t, size_t, int) = {
        [HCY_INT8] = reduce_int8_t,   [HCY_UINT8] = reduce_uint8_t,   [HCY_INT16] = reduce_int16_t,
        [HCY_UINT16] = reduce_uint16_t, [HCY_INT32] = reduce_int32_t, [HCY_UINT32] = reduce_uint32_t,
        [HCY_INT64] = reduce_int64_t, [HCY_UINT64] = reduce_uint64_t, [HCY_FLOAT32] = reduce_float,
        [HCY_FLOAT64] = reduce_double
    };
    struct hcy__end *e = impl;
    const size_t n = (size_t)e->group->n, rank = (size_t)e->rank, each = count / n, more = count % n,
                 first = rank * each + (rank < more ? rank : more);
    const int status = bring(e, data, &(struct hcy__call){ REDUCTION, dtype * 8 + reduction, count });
    if (status)
        return status;
    reducers[dtype](e->group, first, first + each + (rank < more), reduction);
    take_leave(e);
    return 0;
}
