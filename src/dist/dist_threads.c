/* dist_threads.c - ranks that are threads of one process (dist_run.c): the transport between them.
 *
 * A run has the ranks that began together; a group those of one communicator, and each of its ranks an end.  One lock,
 * the run's, guards all but the bytes, which go straight from one rank's memory to another's while it is open.  What
 * all ranks do at once is in dist_meetings.c.  A message is a letter that lies with its group until it is taken.
 *
 * A rank that fails breaks the run: whoever waits for another, or comes to wait, is told, and transports of devices are
 * given up.  So does one that waits for all where another waits for a message of its: neither would ever go on.
 */
#include "dist_threads.h"

#include <halcyon/backend.h>
#include <stdlib.h>
#include <string.h>

/* --- Messages --- */

static int need_letters(struct hcy__end *e, size_t n)
{
    if (n <= e->room)
        return 0;
    struct hcy__letter *grown = realloc(e->letters, n * sizeof *grown);
    if (!grown)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu messages", n);
    e->letters = grown;
    e->room = n;
    return 0;
}

/* Locked, as all that follows. */
static void post_letters(struct hcy__end *e, const struct hcy__message *messages, size_t n)
{
    struct hcy__group *g = e->group;
    struct hcy__letter *letter = e->letters;
    for (size_t i = 0; i < n; i++)
        if (messages[i].sends) {
            *letter = (struct hcy__letter){ &messages[i], e->rank, LYING, NULL };
            *g->last = letter;
            g->last = &letter++->next;
        }
    hcy__run_tell(g->run);
}

static void take_out(struct hcy__group *g, struct hcy__letter *letter)
{
    struct hcy__letter **at = &g->first;
    while (*at != letter)
        at = &(*at)->next;
    *at = letter->next;
    if (!*at)
        g->last = at;
}

/* The oldest from a rank to this one; NULL: none lies there. */
static struct hcy__letter *find_letter(const struct hcy__end *e, int from)
{
    struct hcy__letter *letter = e->group->first;
    while (letter && (letter->from != from || letter->message->rank != e->rank))
        letter = letter->next;
    return letter;
}

static int take_letter(struct hcy__end *e, const struct hcy__message *m)
{
    struct hcy__run *run = e->group->run;
    struct hcy__letter *letter = NULL;
    int status = 0;
    while (!(letter = find_letter(e, m->rank)) && !(status = hcy__run_look(e, m->rank)))
        hcy__run_wait(run);
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
    hcy__run_lock(run);
    letter->state = TAKEN;
    hcy__run_tell(run);
    return status;
}

/* Until it is taken, or nobody will take it. */
static int wait_for_letter(struct hcy__end *e, struct hcy__letter *letter)
{
    struct hcy__run *run = e->group->run;
    int status = 0;
    while (letter->state == LYING && !(status = hcy__run_look(e, letter->message->rank)))
        hcy__run_wait(run);
    if (letter->state == LYING) {
        take_out(e->group, letter);
        return status;
    }
    while (letter->state == BEING_TAKEN)
        hcy__run_wait(run);
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
    struct hcy__end *e = impl;
    struct hcy__run *run = e->group->run;
    hcy_error first = { .status = 0 };
    size_t n_sent = 0;
    int status = need_letters(e, n);
    if (status)
        return status;
    hcy__run_lock(run);
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

static struct hcy__group *new_group(struct hcy__run *run, int n)
{
    struct hcy__group *g = calloc(1, sizeof *g + (size_t)n * sizeof g->seats[0]);
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

static void release_group(struct hcy__group *g)
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
    struct hcy__end *e = impl;
    struct hcy__run *run = e->group->run;
    struct hcy__end **at = &run->ends;
    hcy__run_lock(run);
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    release_group(e->group);
    free(e->letters);
    free(e);
}

/* Locked. */
static void sit_down(struct hcy__place *place, struct hcy__end *e, struct hcy__group *g, int rank)
{
    e->group = g;
    e->rank = rank;
    e->next = g->run->ends;
    g->run->ends = e;
    *place = (struct hcy__place){ rank, g->n, rank, g->n };
}

/* The group of the ranks of this colour, which have met: the first one makes it, before all meet once more; NULL: it
 * has no memory. */
static struct hcy__group *find_colour(int *rank, struct hcy__end *e, int colour)
{
    struct hcy__group *g = e->group;
    int n = 0, first = -1;
    for (int r = 0; r < g->n; r++) {
        const bool is_one = colour >= 0 && g->seats[r].colour == colour;
        first = is_one && first < 0 ? r : first;
        *rank += is_one && r < e->rank;
        n += is_one;
    }
    struct hcy__group *new = first == e->rank ? new_group(g->run, n) : NULL;
    for (int r = first, i = 0; new && r < g->n; r++)
        if (g->seats[r].colour == colour)
            new->seats[i++].who = g->seats[r].who;
    g->seats[e->rank].made = new;
    hcy__threads_part(e);
    struct hcy__group *made = first < 0 ? NULL : g->seats[first].made;
    if (made)
        made->refs += first != e->rank;
    hcy__threads_part(e);
    return made;
}

/* An end with room for what so many ranks send to one another at once, so that nobody waits for one that has none. */
static struct hcy__end *new_end(int n)
{
    struct hcy__end *e = calloc(1, sizeof *e);
    if (e && !need_letters(e, 2 * (size_t)n))
        return e;
    free(e);
    return NULL;
}

static int threads_split(void **part_of, struct hcy__place *place, void *impl, int colour)
{
    struct hcy__end *e = impl, *made = new_end(e->group->n);
    struct hcy__group *g = e->group, *joined = NULL;
    int rank = 0;
    *part_of = NULL;
    hcy__run_lock(g->run);
    /* The others wait for this rank, also where it has no memory to join them. */
    g->seats[e->rank].colour = made ? colour : -1;
    int status = hcy__threads_meet(e, &(struct hcy__call){ SPLIT, 0, 0 });
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
    struct hcy__end *e = impl;
    struct hcy__run *run = e->group->run;
    hcy_error why = { .status = HCY_EBACKEND };
    if (hcy_last_error()->status)
        snprintf(why.text, sizeof why.text, "it has given up, after its last failure: %.400s", hcy_last_error()->text);
    else
        snprintf(why.text, sizeof why.text, "it has given up");
    hcy__run_lock(run);
    hcy__run_break(run, e->group->seats[e->rank].who, code, &why);
    pthread_mutex_unlock(&run->lock);
}

static void threads_watch(void *impl, void (*give_up)(void *device_impl), void *device_impl)
{
    struct hcy__end *e = impl;
    struct hcy__run *run = e->group->run;
    hcy__run_lock(run);
    e->give_up = give_up;
    e->device_impl = device_impl;
    if (give_up && run->is_broken)
        give_up(device_impl);
    pthread_mutex_unlock(&run->lock);
}

static const struct hcy_transport threads_transport = {
    sizeof threads_transport, HCY_TRANSPORT_ABI, "threads", NULL, threads_split, threads_close, hcy__threads_barrier,
    hcy__threads_broadcast, hcy__threads_allreduce, threads_exchange, threads_end_all, NULL, NULL, threads_watch
};

bool hcy__are_threads(const hcy_dist *comm)
{
    return comm->transport->close == threads_close;
}

/* --- Runs --- */

/* A communicator for each rank.  On failure some have none. */
static int make_ranks(hcy_dist **comms, struct hcy__run *run, int n, struct hcy__ways ways)
{
    struct hcy__group *g = new_group(run, n);
    int status = g ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for %d ranks", n);
    for (int r = 0; !status && r < n; r++) {
        struct hcy__place place;
        struct hcy__end *e = new_end(n);
        status = e ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for %d ranks", n);
        if (!e)
            break;
        g->refs++;
        g->seats[r].who = r;
        sit_down(&place, e, g, r);
        status = hcy__dist_new(&comms[r], &threads_transport, e, &place, ways);
    }
    hcy__run_lock(run);
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
    const hcy_error why = hcy__run_describe(status, "failed");
    hcy__run_lock(run);
    run->has_ended[rank] = true;
    if (status)
        hcy__run_break(run, rank, status, &why);
    hcy__run_tell(run);
    pthread_mutex_unlock(&run->lock);
}

int hcy__run_release(struct hcy__run *run)
{
    hcy__run_lock(run);
    const int status = run->is_broken ? run->status : 0;
    if (status)
        hcy_fail_again(&run->why);
    release_run(run);
    return status;
}
