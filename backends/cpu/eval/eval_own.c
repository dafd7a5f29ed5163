/* eval_own.c - reductions and scans whose numbers a program's own steps join (hcy_eval_join), by the rules of
 * eval_format.h: the steps run on as many pairs of numbers at once as the tree joins side by side. */
#include "cpu_eval.h"

#include <string.h>

/* Registers of the steps, and where they are. */
struct work {
    const struct cpu_eval_own *own;
    const void *at[HCY_EVAL_REGISTERS];
    uint64_t room[HCY_EVAL_REGISTERS][HCY_EVAL_LANES];
};
/* Numbers of each component. */
typedef uint64_t parts[2][HCY_EVAL_LANES];

static void begin_work(struct work *w, const struct cpu_eval_own *own)
{
    const hcy_eval_join *join = own->join;
    w->own = own;
    for (uint32_t i = 0; i < join->n_registers; i++)
        w->at[i] = w->room[i];
    for (uint32_t i = 0; i < join->n_steps; i++)
        if (join->steps[i].op == HCY_EVAL_VALUE)
            cpu_eval_spread(own->loops, w->room[join->steps[i].to], own->values[join->steps[i].a],
                            join->steps[i].memory, HCY_EVAL_LANES);
}

static const char *number_at(const void *numbers, size_t i, size_t bytes)
{
    return (const char *)numbers + i * bytes;
}

/* n pairs; `to` may be either side. */
static void join_pairs(struct work *w, void *const to[2], const void *const left[2], const void *const right[2],
                       size_t n)
{
    const size_t bytes = w->own->bytes;
    for (uint32_t i = 0; i < w->own->join->n_steps; i++) {
        const hcy_eval_step *s = &w->own->join->steps[i];
        switch (s->op) {
        case HCY_EVAL_VALUE:
            break;
        case HCY_EVAL_LEFT:
        case HCY_EVAL_RIGHT:
            /* Copied, as a result may be written to where a number was that is still wanted. */
            memcpy(w->room[s->to], (s->op == HCY_EVAL_LEFT ? left : right)[s->a], n * bytes);
            break;
        case HCY_EVAL_JOINED:
            memcpy(to[s->b], w->at[s->a], n * bytes);
            break;
        default:
            w->own->loops->op[s->op](w->room[s->to], w->at[s->a], w->at[s->b], w->at[s->c], n);
        }
    }
}

/* A piece with its runs side by side: element k of run r is number r of turn k. */
struct turns {
    parts turn[HCY_EVAL_RUN];
    parts total, carry;
    size_t runs, last; /* elements of the last run */
};

/* Runs that have an element k. */
static size_t runs_with(const struct turns *t, size_t k)
{
    return k < t->last ? t->runs : t->runs - 1;
}

/* Numbers r on of one row: of both components. */
struct row {
    void *at[2];
};
static struct row row_of(parts of, size_t r, size_t bytes)
{
    return (struct row){ { (char *)of[0] + r * bytes, (char *)of[1] + r * bytes } };
}

static void join_rows(struct work *w, struct row to, struct row left, struct row right, size_t n)
{
    if (n)
        join_pairs(w, to.at, (const void *const *)left.at, (const void *const *)right.at, n);
}

static void copy_row(struct row to, struct row from, size_t bytes)
{
    memmove(to.at[0], from.at[0], bytes);
    memmove(to.at[1], from.at[1], bytes);
}

/* Where element i is. */
static char *turn_at(struct turns *t, unsigned component, size_t i, size_t bytes)
{
    return (char *)t->turn[i % HCY_EVAL_RUN][component] + i / HCY_EVAL_RUN * bytes;
}

/* Each run by itself, and its total. */
static void join_runs(struct turns *t, struct work *w)
{
    size_t bytes = w->own->bytes;
    for (size_t k = 1; k < HCY_EVAL_RUN; k++)
        join_rows(w, row_of(t->turn[k], 0, bytes), row_of(t->turn[k - 1], 0, bytes), row_of(t->turn[k], 0, bytes),
                  runs_with(t, k));
    size_t whole = t->runs - 1;
    copy_row(row_of(t->total, 0, bytes), row_of(t->turn[HCY_EVAL_RUN - 1], 0, bytes), whole * bytes);
    copy_row(row_of(t->total, whole, bytes), row_of(t->turn[t->last - 1], whole, bytes), bytes);
}

/* Elements of a piece side by side. */
static void begin_turns(struct turns *t, const struct work *w, const void *const from[2], size_t n)
{
    t->runs = (n - 1) / HCY_EVAL_RUN + 1;
    t->last = n - (t->runs - 1) * HCY_EVAL_RUN;
    for (unsigned k = 0; k < w->own->components; k++)
        for (size_t i = 0; i < n; i++)
            memcpy(turn_at(t, k, i, w->own->bytes), number_at(from[k], i, w->own->bytes), w->own->bytes);
}

/* Every other number of a row, of n that there are. */
static void take_every_other(struct row to, struct row from, unsigned components, size_t n, size_t bytes)
{
    for (unsigned k = 0; k < components; k++)
        for (size_t i = 0; i < n; i++)
            memcpy((char *)to.at[k] + i * bytes, (char *)from.at[k] + 2 * i * bytes, bytes);
}

void cpu_eval_reduce_own(void *const to[2], const struct cpu_eval_own *own, const void *const from[2], size_t n)
{
    struct work w;
    struct turns t;
    size_t bytes = own->bytes;
    begin_work(&w, own);
    begin_turns(&t, &w, from, n);
    join_runs(&t, &w);
    struct row total = row_of(t.total, 0, bytes), left = row_of(t.turn[0], 0, bytes),
               right = row_of(t.turn[1], 0, bytes);
    /* Neighbours in pairs, again and again; one that is left over waits in the last place. */
    for (size_t runs = t.runs, pairs; runs > 1; runs = pairs + runs % 2) {
        pairs = runs / 2;
        take_every_other(left, total, own->components, runs - pairs, bytes);
        take_every_other(right, row_of(t.total, 1, bytes), own->components, pairs, bytes);
        copy_row(total, left, (runs - pairs) * bytes);
        join_rows(&w, total, left, right, pairs);
    }
    for (unsigned k = 0; k < own->components; k++)
        memcpy(to[k], t.total[k], bytes);
}

/* Turn k with what was before its runs, and before the piece. */
static void join_before(struct turns *t, struct work *w, size_t k, bool shifted, bool carried)
{
    size_t bytes = w->own->bytes, n = runs_with(t, k), first = shifted && !k;
    struct row behind = row_of(t->turn[k], 1, bytes), all = row_of(t->turn[k], first, bytes);
    if (first && n > 1)
        copy_row(behind, row_of(t->total, 0, bytes), (n - 1) * bytes);
    else if (n > 1)
        join_rows(w, behind, row_of(t->total, 0, bytes), behind, n - 1);
    if (carried && n > first)
        join_rows(w, all, row_of(t->carry, 0, bytes), all, n - first);
}

static void spread_number(void *to, const void *number, size_t bytes)
{
    for (size_t i = 0; i < HCY_EVAL_LANES; i++)
        memcpy((char *)to + i * bytes, number, bytes);
}

static void scan_own_span(void *const to[2], struct work *w, const void *const from[2],
                          const void *const carry[2], const void *const first[2], size_t n)
{
    struct turns t;
    size_t bytes = w->own->bytes;
    unsigned components = w->own->components;
    begin_turns(&t, w, from, n);
    for (unsigned k = 0; k < components && carry; k++)
        spread_number(t.carry[k], carry[k], bytes);
    join_runs(&t, w);
    for (size_t far = 1; far < t.runs; far *= 2)
        join_rows(w, row_of(t.total, far, bytes), row_of(t.total, 0, bytes), row_of(t.total, far, bytes),
                  t.runs - far);
    /* An exclusive scan's elements are their predecessors' in the run; its first one is none of theirs. */
    for (size_t k = HCY_EVAL_RUN; first && --k > 0;)
        copy_row(row_of(t.turn[k], 0, bytes), row_of(t.turn[k - 1], 0, bytes), t.runs * bytes);
    for (size_t k = 0; k < HCY_EVAL_RUN; k++)
        join_before(&t, w, k, first, carry);
    for (unsigned k = 0; k < components; k++) {
        if (first)
            memcpy(t.turn[0][k], carry ? carry[k] : first[k], bytes);
        for (size_t i = 0; i < n; i++)
            memcpy((char *)to[k] + i * bytes, turn_at(&t, k, i, bytes), bytes);
    }
}

void cpu_eval_scan_own(void *const to[2], const struct cpu_eval_own *own, const void *const from[2],
                       const void *const carry[2], const void *const first[2], size_t span, size_t n)
{
    struct work w;
    begin_work(&w, own);
    for (size_t done = 0; done < n; done += span) {
        void *const there[2] = { (char *)to[0] + done * own->bytes, (char *)to[1] + done * own->bytes };
        const void *const here[2] = { number_at(from[0], done, own->bytes), number_at(from[1], done, own->bytes) };
        scan_own_span(there, &w, here, carry, first, span);
    }
}
