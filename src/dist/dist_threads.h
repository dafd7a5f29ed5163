/* dist_threads.h - what ranks that are threads of one process share: a run, its groups, and each rank's end of one.
 * dist_threads.c makes them and has their messages; dist_meetings.c has the lock, and what all ranks do at once.
 */
#ifndef HCY_DIST_THREADS_H
#define HCY_DIST_THREADS_H

#include "dist_priv.h"

#include <pthread.h>

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
    struct hcy__end *ends; /* all groups' */
    bool has_ended[]; /* of each rank: its work has returned */
};

/* Of a rank of a group: which it is of the run, and what it has brought to a meeting. */
struct hcy__seat {
    int who;
    bool meets; /* it waits for all ranks, in this turn */
    unsigned turn;
    void *data;
    int colour;
    struct hcy__group *made;
};

/* What all ranks of a group do at once has to be the same. */
enum deed { BARRIER, BROADCAST, REDUCTION, SPLIT };
struct hcy__call {
    enum deed deed;
    int kind; /* the root, or what is reduced and how */
    size_t amount;
};

enum letter_state { LYING, BEING_TAKEN, TAKEN };
struct hcy__letter {
    const struct hcy__message *message;
    int from;
    enum letter_state state;
    struct hcy__letter *next; /* of those that lie */
};

struct hcy__group {
    struct hcy__run *run;
    unsigned refs, turn; /* turn: of meetings */
    int n, n_there, n_exchanging; /* ranks at a meeting, and those in exchanges */
    struct hcy__call call; /* of those that are there */
    struct hcy__letter *first, **last; /* in the order in which they came */
    struct hcy__seat seats[];
};

struct hcy__end {
    struct hcy__group *group;
    int rank;
    struct hcy__letter *letters; /* of the last exchange; room grows */
    size_t room;
    void (*give_up)(void *device_impl); /* NULL: nothing is to be given up */
    void *device_impl;
    struct hcy__end *next; /* of the run's */
};

void hcy__run_lock(struct hcy__run *run);
/* From here on all under the lock. */
void hcy__run_tell(struct hcy__run *run);
/* Until something has changed, or for no reason. */
void hcy__run_wait(struct hcy__run *run);
/* The first failure counts. */
void hcy__run_break(struct hcy__run *run, int who, int status, const hcy_error *why);
/* Whether there is no use in waiting for a rank (-1: for all). */
int hcy__run_look(const struct hcy__end *e, int rank);
/* All ranks come, or none goes on; and those who have met part, whatever has failed since. */
int hcy__threads_meet(struct hcy__end *e, const struct hcy__call *call);
void hcy__threads_part(struct hcy__end *e);

/* What this thread has to say for a status; else what it has done.  Without the lock. */
hcy_error hcy__run_describe(int status, const char *done);
int hcy__threads_barrier(void *impl);
int hcy__threads_broadcast(void *data, void *impl, size_t bytes, int root);
int hcy__threads_allreduce(void *data, void *impl, size_t count, int dtype, int reduction);

#endif
