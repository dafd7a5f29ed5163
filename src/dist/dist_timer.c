/* dist_timer.c - how long parts of a program take, by labels: over all ranks, with their devices' work.
 *
 * A timer that is off is one word that is looked at.  Marks are in the order they were first met in, each behind the
 * one that it is inside of.
 */
#include "dist_priv.h"
#include "sized.h"

#include <halcyon/backend.h>
#include <stdlib.h>
#include <string.h>

enum { MARKS = 64, LABEL = 64, NESTED = 16 };

struct mark {
    char label[LABEL];
    int parent, depth; /* parent -1: none */
    int64_t times;
    double seconds;
};

struct hcy_dist_timer {
    hcy_dist *comm; /* NULL: it is off */
    int n, open[NESTED], depth;
    uint64_t began[NESTED];
    struct mark marks[MARKS];
};

int hcy_dist_timer_create(hcy_dist_timer **out, hcy_dist *comm, int on)
{
    int status = hcy__dist_check(comm, 0, "hcy_dist_timer_create");
    if (out)
        *out = NULL;
    if (!status && !out)
        status = hcy_fail(HCY_EINVAL, "hcy_dist_timer_create: no place for the timer");
    if (status)
        return status;
    const char *wish = getenv("HALCYON_DIST_TIMER");
    int32_t wished = wish && !strcmp(wish, "1");
    hcy_dist_timer *timer = calloc(1, sizeof *timer);
    status = hcy_dist_agree(comm, timer ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for a timer"));
    /* Launchers may give the environment to some ranks only, and a timer that is on waits for all. */
    if (!status && on < 0)
        status = hcy_dist_agree(comm, hcy_dist_broadcast_host(&wished, comm, sizeof wished, 0));
    if (status) {
        free(timer);
        return status;
    }
    if (on > 0 || (on < 0 && wished))
        timer->comm = hcy_dist_retain(comm);
    *out = timer;
    return 0;
}

void hcy_dist_timer_destroy(hcy_dist_timer *timer)
{
    if (timer)
        hcy_dist_release(timer->comm);
    free(timer);
}

/* The mark of that label in the one that is open, which may be a new one. */
static int find_mark(int *found, hcy_dist_timer *t, const char *label)
{
    const int parent = t->depth ? t->open[t->depth - 1] : -1;
    if (!*label || strlen(label) >= LABEL || t->depth == NESTED)
        return hcy_fail(HCY_EINVAL, "hcy_dist_timer_begin: a label has 1 to %d bytes, and stands in %d others at most",
                        LABEL - 1, NESTED - 1);
    for (*found = 0; *found < t->n; ++*found)
        if (t->marks[*found].parent == parent && !strcmp(t->marks[*found].label, label))
            return 0;
    if (t->n == MARKS)
        return hcy_fail(HCY_ERANGE, "hcy_dist_timer_begin: a timer has %d labels at most", MARKS);
    struct mark *m = &t->marks[t->n++];
    *m = (struct mark){ .parent = parent, .depth = t->depth };
    strcpy(m->label, label);
    return 0;
}

int hcy_dist_timer_begin(hcy_queue *queue, hcy_dist_timer *timer, const char *label)
{
    int mark = 0;
    if (!timer || !label)
        return hcy_fail(HCY_EINVAL, "hcy_dist_timer_begin: no %s", timer ? "label" : "timer");
    if (!timer->comm)
        return 0;
    int status = find_mark(&mark, timer, label);
    if (!status && queue)
        status = hcy_queue_finish(queue);
    /* All ranks begin together, and each ends by itself: their ends show who is late. */
    if (!status)
        status = hcy_dist_barrier(timer->comm);
    if (status)
        return status;
    timer->open[timer->depth] = mark;
    timer->began[timer->depth++] = hcy_now_ns();
    return 0;
}

int hcy_dist_timer_end(hcy_queue *queue, hcy_dist_timer *timer)
{
    if (!timer)
        return hcy_fail(HCY_EINVAL, "hcy_dist_timer_end: no timer");
    if (!timer->comm)
        return 0;
    if (!timer->depth)
        return hcy_fail(HCY_ESTATE, "hcy_dist_timer_end: nothing was begun");
    int status = queue ? hcy_queue_finish(queue) : 0;
    struct mark *m = &timer->marks[timer->open[--timer->depth]];
    m->seconds += 1e-9 * (double)(hcy_now_ns() - timer->began[timer->depth]);
    m->times++;
    return status;
}

/* What tells marks of two programs apart: their labels, and how often they were met. */
static uint64_t sum_marks(const hcy_dist_timer *t)
{
    uint64_t sum = (uint64_t)t->n;
    for (int i = 0; i < t->n; i++)
        sum = sum * 31 + hcy_cache_sum(t->marks[i].label, strlen(t->marks[i].label)) +
              (uint64_t)(t->marks[i].times * MARKS + t->marks[i].parent);
    return sum >> 1;
}

static int compare_marks(const hcy_dist_timer *t)
{
    int64_t sums[2] = { (int64_t)sum_marks(t), -(int64_t)sum_marks(t) };
    int status = hcy_dist_allreduce_host(sums, t->comm, HCY_INT64, 2, HCY_REDUCE_MIN);
    if (!status && sums[0] != -sums[1])
        status = hcy_fail(HCY_EINVAL, "hcy_dist_timer_read: ranks have timed other labels, or in another order");
    return status;
}

int hcy_dist_timer_read(hcy_dist_mark *marks, size_t *n, size_t capacity, hcy_dist_timer *timer)
{
    double least[MARKS], most[MARKS];
    if (!timer || !n || (capacity && !marks))
        return hcy_fail(HCY_EINVAL, "hcy_dist_timer_read: no %s", timer ? "place for the marks" : "timer");
    *n = 0;
    if (!timer->comm)
        return 0;
    for (int i = 0; i < timer->n; i++)
        least[i] = most[i] = timer->marks[i].seconds;
    int status = compare_marks(timer);
    if (!status)
        status = hcy_dist_allreduce_host(least, timer->comm, HCY_FLOAT64, (size_t)timer->n, HCY_REDUCE_MIN);
    if (!status)
        status = hcy_dist_allreduce_host(most, timer->comm, HCY_FLOAT64, (size_t)timer->n, HCY_REDUCE_MAX);
    for (int i = 0; !status && i < timer->n && (size_t)i < capacity; i++) {
        const struct mark *m = &timer->marks[i];
        const hcy_dist_mark known = { sizeof known, m->label, m->depth, m->parent, m->times, least[i], most[i] };
        status = hcy__sized_write(&marks[i], &known, sizeof known, "hcy_dist_mark");
    }
    *n = status ? 0 : (size_t)timer->n;
    return status;
}
