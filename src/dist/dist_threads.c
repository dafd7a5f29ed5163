/* dist_threads.c - ranks that are threads of one process (dist_run.c): the transport between them.
 *
 * A run has the ranks that began together; a group those of one communicator, and each of its ranks an end.  One lock,
 * the run's, guards all but the bytes, which go straight from one rank's memory to another's while it is open.  What
 * all ranks do at once has two meetings: behind the first each finds what the others have brought, and until the
 * second, which nothing interrupts, nobody's memory goes.  A message is a letter that lies with its group until it is
 * taken.
 *
 * A rank that fails breaks the run: whoever waits for another, or comes to wait, is told, and transports of devices are
 * given up.  So does one that waits for all where another waits for a message of its: neither would ever go on.
 */
#include "dist_priv.h"

#include <halcyon/backend.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Nanoseconds for which a rank looks before it sleeps: about what it takes to be woken; and how often in a row, as a
 * power of two, it does not look at most where that was in vain. */
enum { WATCHED = 10000, MOST_VAIN = 8 };

struct hcy__run {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    atomic_uint n_changes; /* written under the lock */
    bool watches;          /* each rank has a processor, if no other process takes it */
    unsigned n_vain, n_unwatched; /* looks in vain, the last ones; how many waits go without one */
    unsigned refs; /* groups, and hcy__run_new()'s */
    bool is_broken;
    int who, status; /* which rank has broken it, and what its work returned or is told */
    hcy_error why;
    struct end *ends; /* all groups' */
    bool has_ended[]; /* of each rank: its work has returned */
};

/* Of a rank of a group: which it is of the run, and what it has brought to a meeting. */
struct seat {
    int who;
    bool meets; /* it waits for all ranks, in this turn */
    unsigned turn;
    void *data;
    int colour;
    struct group *made;
};

/* What all ranks of a group do at once has to be the same. */
enum deed { BARRIER, BROADCAST, REDUCTION, SPLIT };
struct call {
    enum deed deed;
    int kind; /* the root, or what is reduced and how */
    size_t amount;
};

enum letter_state { LYING, BEING_TAKEN, TAKEN };
struct letter {
    const struct hcy__message *message;
    int from;
    enum letter_state state;
    struct letter *next; /* of those that lie */
};

struct group {
    struct hcy__run *run;
    unsigned refs, turn; /* turn: of meetings */
    int n, n_there, n_exchanging; /* ranks at a meeting, and those in exchanges */
    struct call call; /* of those that are there */
    struct letter *first, **last; /* in the order in which they came */
    struct seat seats[];
};

struct end {
    struct group *group;
    int rank;
    struct letter *letters; /* of the last exchange; room grows */
    size_t room;
    void (*give_up)(void *device_impl); /* NULL: nothing is to be given up */
    void *device_impl;
    struct end *next; /* of the run's */
};

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
static void take_lock(struct hcy__run *run)
{
    for (int i = 0; run->watches && i < 100; i++) {
        if (!pthread_mutex_trylock(&run->lock))
            return;
        rest_processor();
    }
    pthread_mutex_lock(&run->lock);
}

static void tell_others(struct hcy__run *run)
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
    take_lock(run);
    const bool in_vain = atomic_load(&run->n_changes) == seen;
    run->n_vain = !in_vain ? 0 : run->n_vain < MOST_VAIN ? run->n_vain + 1 : MOST_VAIN;
    run->n_unwatched = (1u << run->n_vain) - 1;
}

/* Until something has changed, or for no reason. */
static void wait_for_change(struct hcy__run *run)
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
static void break_run(struct hcy__run *run, int who, int status, const hcy_error *why)
{
    if (run->is_broken)
        return;
    run->is_broken = true;
    run->who = who;
    run->status = status;
    run->why = *why;
    for (struct end *e = run->ends; e; e = e->next)
        if (e->give_up)
            e->give_up(e->device_impl);
    tell_others(run);
}

/* What this thread has to say for a status; else what it has done. */
static hcy_error describe_failure(int status, const char *done)
{
    hcy_error why = { .status = status < 0 ? status : HCY_EBACKEND };
    if (status < 0 && hcy_last_error()->status == status)
        return *hcy_last_error();
    snprintf(why.text, sizeof why.text, "it has %s", done);
    return why;
}

/* A rank that waits for all of its group neither sends nor takes a message before they come.  Locked. */
static void look_for_crossing(struct group *g, int rank)
{
    const struct seat *seat = &g->seats[rank];
    const hcy_error why = { .status = HCY_EINVAL,
                            .text = "it waits for all ranks while another one waits for it in an exchange of messages" };
    if (seat->meets && seat->turn == g->turn)
        break_run(g->run, seat->who, HCY_EINVAL, &why);
}

/* Whether there is no use in waiting for a rank (-1: for all).  Locked. */
static int look_for_failure(const struct end *e, int rank)
{
    struct group *g = e->group;
    struct hcy__run *run = g->run;
    if (rank >= 0)
        look_for_crossing(g, rank);
    for (int r = 0; r < g->n; r++)
        if (run->has_ended[g->seats[r].who] && (rank < 0 || rank == r)) {
            const hcy_error why = describe_failure(0, "ended while others wait for it");
            break_run(run, g->seats[r].who, HCY_EBACKEND, &why);
        }
    return run->is_broken ? hcy_fail(run->why.status, "another rank has failed, rank %d of the run: %.400s", run->who,
                                     run->why.text)
                          : 0;
}

/* --- Meetings --- */

/* Others would read and write memory that is not there, or wait for who goes elsewhere.  Locked. */
static void compare_call(struct end *e, const struct call *call)
{
    struct group *g = e->group;
    const hcy_error why = { .status = HCY_EINVAL,
                            .text = "it calls another function than others, or with other numbers" };
    if (!g->n_there)
        g->call = *call;
    else if (g->call.deed != call->deed || g->call.kind != call->kind || g->call.amount != call->amount)
        break_run(g->run, g->seats[e->rank].who, HCY_EINVAL, &why);
}

/* All ranks come, or none goes on.  Locked. */
static int meet_ranks(struct end *e, const struct call *call)
{
    struct group *g = e->group;
    const unsigned turn = g->turn;
    compare_call(e, call);
    int status = look_for_failure(e, -1);
    if (status)
        return status;
    if (++g->n_there == g->n) {
        g->n_there = 0;
        g->turn++;
        tell_others(g->run);
    }
    struct seat *seat = &g->seats[e->rank];
    seat->meets = true;
    seat->turn = turn;
    if (g->n_exchanging)
        tell_others(g->run);
    while (g->turn == turn && !(status = look_for_failure(e, -1)))
        wait_for_change(g->run);
    seat->meets = false;
    if (g->turn != turn)
        return 0;
    g->n_there--;
    return status;
}

/* Those who have met part: each of them comes here, whatever has failed since.  Locked. */
static void part_ranks(struct end *e)
{
    struct group *g = e->group;
    const unsigned turn = g->turn;
    if (++g->n_there == g->n) {
        g->n_there = 0;
        g->turn++;
        tell_others(g->run);
    }
    while (g->turn == turn)
        wait_for_change(g->run);
}

/* Brings memory to a meeting, which is in all ranks' sight until they part. */
static int bring(struct end *e, void *data, const struct call *call)
{
    struct group *g = e->group;
    take_lock(g->run);
    g->seats[e->rank].data = data;
    const int status = meet_ranks(e, call);
    pthread_mutex_unlock(&g->run->lock);
    return status;
}

static void take_leave(struct end *e)
{
    take_lock(e->group->run);
    part_ranks(e);
    pthread_mutex_unlock(&e->group->run->lock);
}

static int threads_barrier(void *impl)
{
    return bring(impl, NULL, &(struct call){ BARRIER, 0, 0 });
}

static int threads_broadcast(void *data, void *impl, size_t bytes, int root)
{
    struct end *e = impl;
    int status = bring(e, data, &(struct call){ BROADCAST, root, bytes });
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
    static void reduce_##T(const struct group *g, size_t first, size_t end, int reduction)                   \
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

static int threads_allreduce(void *data, void *impl, size_t count, int dtype, int reduction)
{
    static void (*const reducers[])(const struct group *, size_t, size_t, int) = {
        [HCY_INT8] = reduce_int8_t,   [HCY_UINT8] = reduce_uint8_t,   [HCY_INT16] = reduce_int16_t,
        [HCY_UINT16] = reduce_uint16_t, [HCY_INT32] = reduce_int32_t, [HCY_UINT32] = reduce_uint32_t,
        [HCY_INT64] = reduce_int64_t, [HCY_UINT64] = reduce_uint64_t, [HCY_FLOAT32] = reduce_float,
        [HCY_FLOAT64] = reduce_double
    };
    struct end *e = impl;
    const size_t n = (size_t)e->group->n, rank = (size_t)e->rank, each = count / n, more = count % n,
                 first = rank * each + (rank < more ? rank : more);
    const int status = bring(e, data, &(struct call){ REDUCTION, dtype * 8 + reduction, count });
    if (status)
        return status;
    reducers[dtype](e->group, first, first + each + (rank < more), reduction);
    take_leave(e);
    return 0;
}

/* --- Messages --- */

static int need_letters(struct end *e, size_t n)
{
    if (n <= e->room)
        return 0;
    struct letter *grown = realloc(e->letters, n * sizeof *grown);
    if (!grown)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu messages", n);
    e->letters = grown;
    e->room = n;
    return 0;
}

/* Locked, as all that follows. */
static void post_letters(struct end *e, const struct hcy__message *messages, size_t n)
{
    struct group *g = e->group;
    struct letter *letter = e->letters;
    for (size_t i = 0; i < n; i++)
        if (messages[i].sends) {
            *letter = (struct letter){ &messages[i], e->rank, LYING, NULL };
            *g->last = letter;
            g->last = &letter++->next;
        }
    tell_others(g->run);
}

static void take_out(struct group *g, struct letter *letter)
{
    struct letter **at = &g->first;
    while (*at != letter)
        at = &(*at)->next;
    *at = letter->next;
    if (!*at)
        g->last = at;
}

/* The oldest from a rank to this one; NULL: none lies there. */
static struct letter *find_letter(const struct end *e, int from)
{
    struct letter *letter = e->group->first;
    while (letter && (letter->from != from || letter->message->rank != e->rank))
        letter = letter->next;
    return letter;
}

static int take_letter(struct end *e, const struct hcy__message *m)
{
    struct hcy__run *run = e->group->run;
    struct letter *letter = NULL;
    int status = 0;
    while (!(letter = find_letter(e, m->rank)) && !(status = look_for_failure(e, m->rank)))
        wait_for_change(run);
    if (!letter)
        return status;
    const struct hcy__message *sent = letter->message;
    take_out(e->group, letter);
    letter->state = BEING_TAKEN;
    if (sent->bytes != m->bytes)
        status = hcy_fail(HCY_EINVAL, "rank %d sends %zu bytes where %zu are to come", m->rank, sent->bytes, m->bytes);
    pthread_mutex_unlock(&run->lock);
    if (!status)
        memcpy(m->data, sent->data, m->bytes);
    take_lock(run);
    letter->state = TAKEN;
    tell_others(run);
    return status;
}

/* Until it is taken, or nobody will take it. */
static int wait_for_letter(struct end *e, struct letter *letter)
{
    struct hcy__run *run = e->group->run;
    int status = 0;
    while (letter->state == LYING && !(status = look_for_failure(e, letter->message->rank)))
        wait_for_change(run);
    if (letter->state == LYING) {
        take_out(e->group, letter);
        return status;
    }
    while (letter->state == BEING_TAKEN)
        wait_for_change(run);
    return 0;
}

/* The first failure, with its words. */
static void keep_first(hcy_error *first, int status)
{
    if (status && !first->status)
        *first = *hcy_last_error();
}

static int threads_exchange(void *impl, const struct hcy__message *messages, size_t n)
{
    struct end *e = impl;
    struct hcy__run *run = e->group->run;
    hcy_error first = { .status = 0 };
    size_t n_sent = 0;
    int status = need_letters(e, n);
    if (status)
        return status;
    take_lock(run);
    e->group->n_exchanging++;
    post_letters(e, messages, n);
    /* After a failure as well: who has sent waits until it is taken. */
    for (size_t i = 0; i < n; i++) {
        n_sent += messages[i].sends != 0;
        if (!messages[i].sends)
            keep_first(&first, take_letter(e, &messages[i]));
    }
    for (size_t i = 0; i < n_sent; i++)
        keep_first(&first, wait_for_letter(e, &e->letters[i]));
    e->group->n_exchanging--;
    pthread_mutex_unlock(&run->lock);
    return first.status ? hcy_fail_again(&first) : 0;
}

/* --- Groups and ends --- */

static struct group *new_group(struct hcy__run *run, int n)
{
    struct group *g = calloc(1, sizeof *g + (size_t)n * sizeof g->seats[0]);
    if (!g)
        return NULL;
    g->run = run;
    g->n = n;
    g->refs = 1;
    g->last = &g->first;
    run->refs++;
    return g;
}

/* Locked; the lock is open on return, and may be gone. */
static void release_run(struct hcy__run *run)
{
    const bool is_last = !--run->refs;
    pthread_mutex_unlock(&run->lock);
    if (!is_last)
        return;
    pthread_cond_destroy(&run->changed);
    pthread_mutex_destroy(&run->lock);
    free(run);
}

static void release_group(struct group *g)
{
    struct hcy__run *run = g->run;
    if (--g->refs) {
        pthread_mutex_unlock(&run->lock);
        return;
    }
    free(g);
    release_run(run);
}

static void threads_close(void *impl)
{
    struct end *e = impl;
    struct hcy__run *run = e->group->run;
    struct end **at = &run->ends;
    take_lock(run);
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    release_group(e->group);
    free(e->letters);
    free(e);
}

/* Locked. */
static void sit_down(struct hcy__place *place, struct end *e, struct group *g, int rank)
{
    e->group = g;
    e->rank = rank;
    e->next = g->run->ends;
    g->run->ends = e;
    *place = (struct hcy__place){ rank, g->n, rank, g->n };
}

/* The group of the ranks of this colour, which have met: the first one makes it, before all meet once more; NULL: it
 * has no memory. */
static struct group *find_colour(int *rank, struct end *e, int colour)
{
    struct group *g = e->group;
    int n = 0, first = -1;
    for (int r = 0; r < g->n; r++) {
        const bool is_one = colour >= 0 && g->seats[r].colour == colour;
        first = is_one && first < 0 ? r : first;
        *rank += is_one && r < e->rank;
        n += is_one;
    }
    struct group *new = first == e->rank ? new_group(g->run, n) : NULL;
    for (int r = first, i = 0; new && r < g->n; r++)
        if (g->seats[r].colour == colour)
            new->seats[i++].who = g->seats[r].who;
    g->seats[e->rank].made = new;
    part_ranks(e);
    struct group *made = first < 0 ? NULL : g->seats[first].made;
    if (made)
        made->refs += first != e->rank;
    part_ranks(e);
    return made;
}

/* An end with room for what so many ranks send to one another at once, so that nobody waits for one that has none. */
static struct end *new_end(int n)
{
    struct end *e = calloc(1, sizeof *e);
    if (e && !need_letters(e, 2 * (size_t)n))
        return e;
    free(e);
    return NULL;
}

static int threads_split(void **part_of, struct hcy__place *place, void *impl, int colour)
{
    struct end *e = impl, *made = new_end(e->group->n);
    struct group *g = e->group, *joined = NULL;
    int rank = 0;
    *part_of = NULL;
    take_lock(g->run);
    /* The others wait for this rank, also where it has no memory to join them. */
    g->seats[e->rank].colour = made ? colour : -1;
    int status = meet_ranks(e, &(struct call){ SPLIT, 0, 0 });
    if (!status)
        joined = find_colour(&rank, e, g->seats[e->rank].colour);
    if (joined)
        sit_down(place, made, joined, rank);
    pthread_mutex_unlock(&g->run->lock);
    if (joined) {
        *part_of = made;
    } else if (made) {
        free(made->letters);
        free(made);
    }
    return status || joined || colour < 0 ? status : hcy_fail(HCY_ENOMEM, "out of memory for a communicator");
}

/* Processes stay: the one that there is belongs to its program.  The thread's last failure is most often why. */
static void threads_end_all(void *impl, int code)
{
    struct end *e = impl;
    struct hcy__run *run = e->group->run;
    hcy_error why = { .status = HCY_EBACKEND };
    if (hcy_last_error()->status)
        snprintf(why.text, sizeof why.text, "it has given up, after its last failure: %.400s", hcy_last_error()->text);
    else
        snprintf(why.text, sizeof why.text, "it has given up");
    take_lock(run);
    break_run(run, e->group->seats[e->rank].who, code, &why);
    pthread_mutex_unlock(&run->lock);
}

static void threads_watch(void *impl, void (*give_up)(void *device_impl), void *device_impl)
{
    struct end *e = impl;
    struct hcy__run *run = e->group->run;
    take_lock(run);
    e->give_up = give_up;
    e->device_impl = device_impl;
    if (give_up && run->is_broken)
        give_up(device_impl);
    pthread_mutex_unlock(&run->lock);
}

static const struct hcy_transport threads_transport = {
    sizeof threads_transport, HCY_TRANSPORT_ABI, "threads",         NULL,            threads_split,   threads_close,
    threads_barrier,          threads_broadcast, threads_allreduce, threads_exchange, threads_end_all, NULL, NULL,
    threads_watch
};

bool hcy__are_threads(const hcy_dist *comm)
{
    return comm->transport->close == threads_close;
}

/* --- Runs --- */

/* A communicator for each rank.  On failure some have none. */
static int make_ranks(hcy_dist **comms, struct hcy__run *run, int n, struct hcy__ways ways)
{
    struct group *g = new_group(run, n);
    int status = g ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for %d ranks", n);
    for (int r = 0; !status && r < n; r++) {
        struct hcy__place place;
        struct end *e = new_end(n);
        status = e ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for %d ranks", n);
        if (!e)
            break;
        g->refs++;
        g->seats[r].who = r;
        sit_down(&place, e, g, r);
        status = hcy__dist_new(&comms[r], &threads_transport, e, &place, ways);
    }
    take_lock(run);
    if (g)
        release_group(g);
    else
        pthread_mutex_unlock(&run->lock);
    return status;
}

int hcy__run_new(struct hcy__run **out, hcy_dist **comms, int n, struct hcy__ways ways)
{
    struct hcy__run *run = calloc(1, sizeof *run + (size_t)n * sizeof run->has_ended[0]);
    if (!run)
        return hcy_fail(HCY_ENOMEM, "out of memory for %d ranks", n);
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->changed, NULL);
    run->refs = 1;
    run->watches = (unsigned)n <= hcy_processors();
    *out = run;
    return make_ranks(comms, run, n, ways);
}

void hcy__run_end_rank(struct hcy__run *run, int rank, int status)
{
    const hcy_error why = describe_failure(status, "failed");
    take_lock(run);
    run->has_ended[rank] = true;
    if (status)
        break_run(run, rank, status, &why);
    tell_others(run);
    pthread_mutex_unlock(&run->lock);
}

int hcy__run_release(struct hcy__run *run)
{
    take_lock(run);
    const int status = run->is_broken ? run->status : 0;
    if (status)
        hcy_fail_again(&run->why);
    release_run(run);
    return status;
}
