/* many_devices.c - one transform on several devices at once.
 *
 * Vectors are independent: with as many of them as devices, devices take them a few at a time, whoever is free (or, in
 * deterministic mode, always the same ones, as devices may differ in the last bits).  With fewer, points are shared
 * out, in proportion to how fast each device was with its last ones (at first, with a few of them): strengths are then
 * a piece a device, and coefficients the sum of all devices' sums, or read by all.  Every device has a thread of its
 * own during a call.  One call at a time.
 */
#include "nufft_priv.h"
#include "sized.h"
#include "thread.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PROBE = 65536 }; /* points at most, to measure a speed */

struct part {
    hcy_nufft_split *split;
    hcy_nufft *plan;
    double speed;          /* points a second; 0: not known yet */
    size_t first, n;       /* points */
    size_t vector;         /* the next one, where shares are fixed */
    bool fresh;            /* nothing was executed with these points yet */
    void *sums;            /* coefficients of one vector, but for the first part */
    int status;
    hcy_error error;
};

struct hcy_nufft_split {
    size_t n_parts, n_transforms, piece; /* piece: vectors that a device takes at a time; 0: points are shared out */
    int type;
    bool fixed;                          /* shares do not depend on speed, nor on who is free */
    size_t n_points, n_targets, n_modes, real;
    /* Of the call at hand: */
    bool adjoint;
    char *c, *f;
    const void *const *points, *const *targets;
    size_t vector;
    atomic_size_t next;
    struct part parts[];
};

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- All devices at once --- */

struct task {
    pthread_t thread;
    int (*work)(struct part *part);
    struct part *part;
    bool running;
};

static void *run_task(void *arg)
{
    struct task *t = arg;
    t->part->status = t->work(t->part);
    if (t->part->status)
        t->part->error = *hcy_last_error();
    return NULL;
}

/* `work` for every part, the first one in this thread; the first failure. */
static int for_all(hcy_nufft_split *s, int (*work)(struct part *part))
{
    struct task *tasks = calloc(s->n_parts, sizeof *tasks);
    if (!tasks)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu threads", s->n_parts);
    for (size_t i = s->n_parts; i-- > 0;) {
        tasks[i] = (struct task){ .work = work, .part = &s->parts[i] };
        tasks[i].running = i && !hcy__thread_create(&tasks[i].thread, run_task, &tasks[i]);
        if (!tasks[i].running) /* the first, or no more threads */
            run_task(&tasks[i]);
    }
    for (size_t i = 0; i < s->n_parts; i++)
        if (tasks[i].running)
            pthread_join(tasks[i].thread, NULL);
    free(tasks);
    for (size_t i = 0; i < s->n_parts; i++)
        if (s->parts[i].status)
            return hcy_fail(s->parts[i].status, "%s", s->parts[i].error.text);
    return 0;
}

/* --- Creating --- */

int hcy_nufft_split_create(hcy_nufft_split **out, hcy_device *const *devices, size_t n_devices,
                           const hcy_nufft_desc *user, const hcy_nufft_options *opts)
{
    hcy_nufft_desc desc = HCY_NUFFT_DESC_INIT;
    if (!out || !devices || !n_devices || n_devices > HCY_NUFFT_MAX_DEVICES)
        return hcy_fail(HCY_EINVAL, "hcy_nufft_split_create: %s",
                        out ? "1 to 64 devices are needed" : "no place for the plan");
    int status = hcy__sized_read(&desc, sizeof desc, user, "hcy_nufft_desc");
    if (status)
        return status;
    hcy_nufft_desc one = desc; /* of each device's plan; none at all is refused there */
    bool by_vectors = n_devices > 1 && desc.n_transforms >= (int64_t)n_devices;
    if (!by_vectors && desc.n_transforms > 1)
        one.n_transforms = 1;
    hcy_nufft_split *s = calloc(1, sizeof *s + n_devices * sizeof *s->parts);
    if (!s)
        return hcy_fail(HCY_ENOMEM, "out of memory for a plan");
    /* Parts know their split from the first, so that it can be destroyed when only some of them have a plan. */
    s->n_parts = n_devices;
    for (size_t i = 0; i < n_devices && !status; i++) {
        s->parts[i].split = s;
        status = hcy_nufft_create(&s->parts[i].plan, devices[i], &one, opts);
    }
    if (status) {
        hcy_nufft_split_destroy(s);
        return status;
    }
    const hcy_nufft *first = s->parts[0].plan;
    s->type = desc.type;
    s->fixed = first->opts.deterministic;
    s->n_transforms = (size_t)desc.n_transforms;
    /* Pieces of a batch, but small enough that every device has one. */
    s->piece = by_vectors ? first->batch : 0;
    if (s->piece > s->n_transforms / n_devices)
        s->piece = by_vectors ? s->n_transforms / n_devices : 0;
    s->n_modes = first->n_modes;
    s->real = hcy__nufft_real(first);
    *out = s;
    return 0;
}

void hcy_nufft_split_destroy(hcy_nufft_split *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_parts; i++) {
        hcy_nufft_destroy(s->parts[i].plan);
        free(s->parts[i].sums);
    }
    free(s);
}

/* --- Points --- */

static int set_part_points(struct part *part)
{
    const hcy_nufft_split *s = part->split;
    const hcy_nufft *p = part->plan;
    const void *mine[3] = { NULL, NULL, NULL };
    for (int d = 0; d < p->desc.dim && s->points; d++)
        mine[d] = s->points[d] ? (const char *)s->points[d] + part->first * s->real : NULL;
    part->plan->first_number = part->first;
    part->fresh = true;
    return hcy_nufft_set_points(part->plan, (int64_t)part->n, s->points ? mine : NULL, (int64_t)s->n_targets,
                                s->targets);
}

static size_t sums_of(const hcy_nufft_split *s)
{
    return s->type == 3 ? s->n_targets : s->n_modes;
}

/* A few points there and back, of no strength: how fast the device is. */
static int time_a_few_points(struct part *part)
{
    const hcy_nufft_split *s = part->split;
    void *c = calloc(part->n + 1, 2 * s->real), *f = calloc(sums_of(s) + 1, 2 * s->real);
    int status = c && f ? set_part_points(part) : hcy_fail(HCY_ENOMEM, "out of memory to measure a device's speed");
    for (int i = 0; i < 2 && !status; i++) { /* the first one warms up */
        double start = seconds();
        status = hcy__nufft_execute_some(part->plan, c, f, 1, false);
        part->speed = (double)part->n / (seconds() - start + 1e-9);
    }
    free(c);
    free(f);
    return status;
}

/* What a part counts; one that was slow, or had nothing to do, is given a little, to be measured again. */
static double weight(const hcy_nufft_split *s, size_t i)
{
    double most = 0;
    for (size_t k = 0; k < s->n_parts; k++)
        most = fmax(most, s->parts[k].speed);
    return s->fixed || most == 0 ? 1 : fmax(s->parts[i].speed, 0.01 * most);
}

/* Shares out the points by speed, or evenly. */
static void share_points(hcy_nufft_split *s)
{
    double all = 0, before = 0;
    for (size_t i = 0; i < s->n_parts; i++)
        all += weight(s, i);
    for (size_t i = 0; i < s->n_parts; i++) {
        struct part *part = &s->parts[i];
        part->first = (size_t)(before / all * (double)s->n_points);
        before += weight(s, i);
        part->n = i + 1 == s->n_parts ? s->n_points : (size_t)(before / all * (double)s->n_points);
        part->n -= part->first;
    }
}

static int measure_speeds(hcy_nufft_split *s)
{
    /* A quarter of an equal share at most, so that measuring costs little beside the transform itself. */
    size_t n = s->n_points / (4 * s->n_parts) + 1;
    bool known = s->fixed;
    for (size_t i = 0; i < s->n_parts; i++) {
        known = known || s->parts[i].speed > 0;
        s->parts[i].first = 0;
        s->parts[i].n = n < PROBE ? n : PROBE;
    }
    return known || s->n_parts == 1 || !s->n_points ? 0 : for_all(s, time_a_few_points);
}

int hcy_nufft_split_set_points(hcy_nufft_split *s, int64_t n_points, const void *const *points, int64_t n_targets,
                               const void *const *targets)
{
    int status = s ? hcy__nufft_alive(s->parts[0].plan) : hcy_fail(HCY_EINVAL, "hcy_nufft_split_set_points: no plan");
    if (!status)
        status = hcy__nufft_check_points(s->parts[0].plan, n_points, points, n_targets, targets);
    if (status)
        return status;
    /* The arrays are the caller's and are looked at during this call alone. */
    s->n_points = (size_t)n_points;
    s->n_targets = s->type == 3 ? (size_t)n_targets : 0;
    s->points = points;
    s->targets = targets;
    status = s->piece ? 0 : measure_speeds(s);
    if (!status && !s->piece)
        share_points(s);
    /* Where vectors are shared out every device has all points. */
    for (size_t i = 0; i < s->n_parts && s->piece; i++) {
        s->parts[i].first = 0;
        s->parts[i].n = s->n_points;
    }
    if (!status)
        status = for_all(s, set_part_points);
    s->points = s->targets = NULL;
    return status;
}

/* --- Execution --- */

/* The next vectors of a part, at most a piece: of all that are left, or of those that are always its own. */
static size_t next_vectors(struct part *part, size_t *first)
{
    hcy_nufft_split *s = part->split;
    size_t end = s->n_transforms, i = (size_t)(part - s->parts);
    /* A fixed share makes results independent of which device is faster; else who is done takes the next piece. */
    if (s->fixed) {
        *first = part->vector;
        end = (i + 1) * s->n_transforms / s->n_parts;
        part->vector += s->piece;
    } else {
        *first = atomic_fetch_add(&s->next, s->piece);
    }
    size_t left = *first < end ? end - *first : 0;
    return left < s->piece ? left : s->piece;
}

/* Transforms vectors until there are none left. */
static int run_vectors(struct part *part)
{
    hcy_nufft_split *s = part->split;
    size_t c_bytes = s->n_points * 2 * s->real, f_bytes = sums_of(s) * 2 * s->real, first, n;
    int status = 0;
    /* Only fixed shares count from here; others have one counter for all. */
    part->vector = (size_t)(part - s->parts) * s->n_transforms / s->n_parts;
    while (!status && (n = next_vectors(part, &first)) != 0) {
        status = hcy__nufft_execute_some(part->plan, s->c ? s->c + first * c_bytes : NULL,
                                         s->f ? s->f + first * f_bytes : NULL, n, s->adjoint);
    }
    return status;
}

/* Does this part's points of one vector. */
static int run_points(struct part *part)
{
    const hcy_nufft_split *s = part->split;
    /* Sums over points are a part's own until all are added; strengths have places of their own. */
    bool sums = (s->type == 2) == s->adjoint;
    char *c = s->c ? s->c + (s->vector * s->n_points + part->first) * 2 * s->real : NULL;
    char *f = s->f ? s->f + s->vector * sums_of(s) * 2 * s->real : NULL;
    double start = seconds();
    int status = hcy__nufft_execute_some(part->plan, c, sums && part != s->parts ? part->sums : f, 1, s->adjoint);
    if (!status && part->n) {
        double speed = (double)part->n / (seconds() - start + 1e-9);
        /* With new points kernels may have been compiled: once, so the next share shall not be a hundredth. */
        part->speed = part->fresh ? fmax(speed, part->speed / 2) : speed;
        part->fresh = false;
    }
    return status;
}

/* The vectors one after the other; parts are added up in their order. */
static int by_points(hcy_nufft_split *s)
{
    size_t n = 2 * sums_of(s);
    bool sums = (s->type == 2) == s->adjoint;
    int status = 0;
    for (size_t i = 1; i < s->n_parts && sums; i++) {
        free(s->parts[i].sums);
        s->parts[i].sums = malloc((n + 1) * s->real);
        if (!s->parts[i].sums)
            return hcy_fail(HCY_ENOMEM, "out of memory for %zu sums", n);
    }
    for (s->vector = 0; s->vector < s->n_transforms && !status; s->vector++) {
        status = for_all(s, run_points);
        for (size_t i = 1; i < s->n_parts && sums && !status; i++)
            hcy__nufft_add(s->f + s->vector * n * s->real, s->parts[i].sums, n, s->real);
    }
    return status;
}

int hcy_nufft_split_execute(hcy_nufft_split *s, void *c, void *f, int adjoint)
{
    int status = s ? hcy__nufft_ready(s->parts[0].plan) : hcy_fail(HCY_EINVAL, "hcy_nufft_split_execute: no plan");
    if (status)
        return status;
    const bool no_c = !c && s->n_points;
    if (no_c || (!f && sums_of(s)))
        return hcy_fail(HCY_EINVAL, "hcy_nufft_split_execute: no %s", no_c ? "strengths" : "coefficients");
    s->c = c;
    s->f = f;
    s->adjoint = adjoint != 0;
    atomic_store(&s->next, 0);
    status = s->piece ? for_all(s, run_vectors) : by_points(s);
    s->c = s->f = NULL;
    return status;
}

int hcy_nufft_split_share(size_t *n_points, double *speed, const hcy_nufft_split *s, size_t device)
{
    if (!s || device >= s->n_parts)
        return hcy_fail(HCY_EINVAL, "hcy_nufft_split_share: no %s", s ? "such device" : "plan");
    if (n_points)
        *n_points = s->parts[device].n;
    if (speed)
        *speed = s->parts[device].speed;
    return 0;
}
