/* blocks.c - operators of several: sums, and stacks of vectors that are one behind the other.
 *
 * All are one thing, y = sum of A_i x: where the domain is split, A_i takes its own part of x, else all of it; where
 * the range is split, its result is a part of y, else the results are added up, in order.  The adjoint is the same with
 * domain and range exchanged.
 *
 * Vectors are on the first operator's device.  An operator of another device has a queue there and vectors of its own:
 * what it needs goes there, and its result comes back when its turn in the sum has come.  All others are under way by
 * then, and the order of the sum does not depend on which of them is ready first.
 */
#include "vectors.h"

#include <halcyon/eval.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sides of an operator. */
enum { DOMAIN, RANGE };

/* What an operator of another device works with. */
struct abroad {
    hcy_queue *queue; /* NULL: the operator is of the device that the vectors are on */
    hcy_array *vectors[2];
};

struct blocks {
    size_t n;
    hcy_operator **ops;
    struct abroad *abroad; /* of each operator; NULL: all are of one device */
    bool split[2];
    hcy_array *aside[2]; /* what is added to the first result, of a side that is not split */
    struct hcy__turn turn;
};

static void free_abroad(struct abroad *a)
{
    /* After a failure nobody else waits for what is under way there, and it may use what its maker frees next. */
    if (a->queue)
        (void)!hcy_queue_finish(a->queue);
    hcy_array_release(a->vectors[DOMAIN]);
    hcy_array_release(a->vectors[RANGE]);
    hcy_queue_release(a->queue);
}

static void free_blocks(void *user)
{
    struct blocks *b = user;
    for (size_t i = 0; i < b->n; i++) {
        if (b->abroad)
            free_abroad(&b->abroad[i]);
        hcy_operator_release(b->ops[i]);
    }
    hcy_array_release(b->aside[DOMAIN]);
    hcy_array_release(b->aside[RANGE]);
    hcy__turn_end(&b->turn);
    free(b->abroad);
    free(b->ops);
    free(b);
}

static const hcy_space *side_of(const hcy_operator *op, int side)
{
    return side == DOMAIN ? &op->desc.domain : &op->desc.range;
}

/* The vector that operator i has of `all`, which is `first` elements on, where the side is split. */
static int take_part(hcy_array **part, int64_t *first, const struct blocks *b, size_t i, int side,
                     hcy_array *all)
{
    const hcy_space *space = side_of(b->ops[i], side);
    if (!b->split[side]) {
        *part = hcy_array_retain(all);
        return 0;
    }
    int status = hcy__vector_part(part, all, *first, space);
    *first += hcy__space_count(space);
    return status;
}

/* --- Other devices --- */

static int queue_after(hcy_queue *queue, hcy_queue *before)
{
    hcy_event *event = NULL;
    int status = hcy_event_record(&event, before);
    if (!status)
        status = hcy_queue_wait(queue, event);
    hcy_event_release(event);
    return status;
}

/* This thread's failure, which names the device in front if it does not yet: the caller's own is another one. */
static int fail_abroad(const struct abroad *a)
{
    const char *name = hcy_device_get_info(hcy_queue_device(a->queue))->name, *text = hcy_last_error()->text;
    hcy_error error = *hcy_last_error();
    if (!strstr(text, name))
        snprintf(error.text, sizeof error.text, "%s: %.250s", name, text);
    return hcy_fail_again(&error);
}

/* to = from, one of which is on the queue's device. */
static int copy_vector_across(hcy_queue *queue, hcy_array *to, hcy_array *from)
{
    return to->count ? hcy_array_copy(queue, to, from) : 0;
}

static int begin_one(hcy_queue *queue, struct abroad *a, hcy_operator *op, hcy_array *in, bool adjoint)
{
    const int from = adjoint ? RANGE : DOMAIN;
    int status = 0;
    /* A queue that has failed stays so: what is asked for now begins with a new one. */
    if (hcy_queue_status(a->queue)) {
        hcy_queue *fresh = NULL;
        status = hcy_queue_create(&fresh, op->dev);
        if (!status) {
            hcy_queue_release(a->queue);
            a->queue = fresh;
        }
    }
    if (!status)
        status = queue_after(a->queue, queue);
    if (!status)
        status = copy_vector_across(a->queue, a->vectors[from], in);
    if (!status)
        status = hcy__operator_run(a->queue, a->vectors[!from], op, a->vectors[from], adjoint);
    return status ? fail_abroad(a) : 0;
}

/* Everything that other devices do, before the vectors' own device has anything to do: they wait for x alone. */
static int begin_abroad(hcy_queue *queue, struct blocks *b, hcy_array *x, bool adjoint)
{
    int64_t first = 0;
    int status = 0;
    for (size_t i = 0; b->abroad && !status && i < b->n; i++) {
        hcy_array *in = NULL;
        status = take_part(&in, &first, b, i, adjoint ? RANGE : DOMAIN, x);
        if (!status && b->abroad[i].queue)
            status = begin_one(queue, &b->abroad[i], b->ops[i], in, adjoint);
        hcy_array_release(in);
    }
    return status;
}

static int fetch_result(hcy_queue *queue, hcy_array *out, const struct abroad *a, int to)
{
    int status = queue_after(queue, a->queue);
    if (!status)
        status = copy_vector_across(queue, out, a->vectors[to]);
    return status ? fail_abroad(a) : 0;
}

static int run_blocks(hcy_queue *queue, hcy_array *y, struct blocks *b, hcy_array *x, bool adjoint)
{
    const int from = adjoint ? RANGE : DOMAIN, to = adjoint ? DOMAIN : RANGE;
    int64_t first_in = 0, first_out = 0;
    int status = hcy__turn_take(&b->turn, queue);
    if (!status)
        status = begin_abroad(queue, b, x, adjoint);
    for (size_t i = 0; !status && i < b->n; i++) {
        const bool is_abroad = b->abroad && b->abroad[i].queue;
        hcy_array *in = NULL, *out = NULL;
        bool adds = !b->split[to] && i;
        status = take_part(&in, &first_in, b, i, from, x);
        if (!status)
            status = take_part(&out, &first_out, b, i, to, adds ? b->aside[to] : y);
        if (!status)
            status = is_abroad ? fetch_result(queue, out, &b->abroad[i], to)
                               : hcy__operator_run(queue, out, b->ops[i], in, adjoint);
        if (!status && adds)
            status = HCY_EVAL(queue, "y += a", hcy_op_array("y", y), hcy_op_array("a", out));
        hcy_array_release(in);
        hcy_array_release(out);
    }
    hcy__turn_give(&b->turn);
    return status;
}

static int apply_blocks(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    return run_blocks(queue, y, user, x, false);
}

static int apply_blocks_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    return run_blocks(queue, x, user, y, true);
}

/* The space of one side: that of all operators, or their elements one behind the other; *made is its table, if it has
 * one that is made here. */
static int find_side(hcy_space *space, const hcy_vectors **made, hcy_operator *const *ops, size_t n, int side,
                     bool split, const char *name)
{
    char one[240], other[240];
    size_t total = 0;
    bool is_distributed = false;
    *space = *side_of(ops[0], side);
    for (size_t i = 0; i < n; i++) {
        const hcy_space *s = side_of(ops[i], side);
        bool fits = split ? s->dtype == space->dtype : hcy__space_same(s, space);
        is_distributed = is_distributed || s->vectors;
        if (!fits)
            return hcy_fail(HCY_EINVAL, "%s: the %s of operator %zu is %s, that of operator 0 %s", name,
                            side == DOMAIN ? "domain" : "range", i, hcy__space_text(one, s),
                            hcy__space_text(other, space));
        if (hcy_size_add(&total, total, (size_t)hcy__space_count(s)))
            return hcy_fail(HCY_ERANGE, "%s: more elements than can be addressed", name);
    }
    if (split) {
        memset(space->shape, 0, sizeof space->shape);
        space->rank = 1;
        space->shape[0] = (int64_t)total;
        space->vectors = NULL;
    }
    int status = split && is_distributed ? hcy__stack_vectors(made, ops, n, side == RANGE) : 0;
    if (*made)
        space->vectors = *made;
    return status;
}

/* Queues and vectors of operators whose device is not the first one's. */
static int make_abroad(struct blocks *b)
{
    hcy_device *home = b->ops[0]->dev;
    bool needed = false;
    for (size_t i = 1; i < b->n; i++)
        needed = needed || b->ops[i]->dev != home;
    if (!needed)
        return 0;
    b->abroad = calloc(b->n, sizeof *b->abroad);
    int status = b->abroad ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for %zu operators", b->n);
    for (size_t i = 1; !status && i < b->n; i++) {
        hcy_operator *op = b->ops[i];
        struct abroad *a = &b->abroad[i];
        if (op->dev == home)
            continue;
        status = hcy_queue_create(&a->queue, op->dev);
        for (int side = DOMAIN; !status && side <= RANGE; side++)
            status = hcy__space_vector(&a->vectors[side], op->dev, side_of(op, side));
    }
    return status;
}

static int new_blocks(struct blocks **out, hcy_operator *const *ops, size_t n, const hcy_operator_desc *desc,
                      bool splits_domain, bool splits_range)
{
    struct blocks *b = calloc(1, sizeof *b);
    if (!b)
        return hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    hcy__turn_init(&b->turn);
    b->split[DOMAIN] = splits_domain;
    b->split[RANGE] = splits_range;
    b->ops = calloc(n, sizeof *b->ops);
    int status = b->ops ? 0 : hcy_fail(HCY_ENOMEM, "out of memory for %zu operators", n);
    b->n = status ? 0 : n;
    for (size_t i = 0; i < b->n; i++)
        b->ops[i] = hcy_operator_retain(ops[i]);
    if (!status)
        status = make_abroad(b);
    /* One operator alone adds nothing, and without an adjoint nothing is added up in the domain. */
    if (!status && n > 1 && !splits_range)
        status = hcy__space_vector(&b->aside[RANGE], ops[0]->dev, &desc->range);
    if (!status && n > 1 && !splits_domain && desc->adjoint)
        status = hcy__space_vector(&b->aside[DOMAIN], ops[0]->dev, &desc->domain);
    if (status)
        free_blocks(b);
    else
        *out = b;
    return status;
}

static int make_blocks(hcy_operator **op, hcy_operator *const *ops, size_t n, bool splits_domain,
                       bool splits_range, const char *name)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    const hcy_vectors *made[2] = { NULL, NULL };
    struct blocks *b = NULL;
    int status = hcy__operators_check(ops, n, true, name);
    if (!status)
        status = find_side(&desc.domain, &made[DOMAIN], ops, n, DOMAIN, splits_domain, name);
    if (!status)
        status = find_side(&desc.range, &made[RANGE], ops, n, RANGE, splits_range, name);
    desc.apply = apply_blocks;
    desc.adjoint = apply_blocks_adjoint;
    for (size_t i = 0; !status && i < n; i++)
        if (!ops[i]->desc.adjoint)
            desc.adjoint = NULL;
    if (!status)
        status = new_blocks(&b, ops, n, &desc, splits_domain, splits_range);
    desc.name = name + strlen("hcy_operator_");
    desc.destroy = free_blocks;
    desc.user = b;
    if (!status)
        status = hcy__operator_make(op, ops[0]->dev, &desc);
    /* The operator has references of its own. */
    hcy__vectors_release(made[DOMAIN]);
    hcy__vectors_release(made[RANGE]);
    return status;
}

int hcy_operator_sum(hcy_operator **op, hcy_operator *const *ops, size_t n)
{
    return make_blocks(op, ops, n, false, false, "hcy_operator_sum");
}

int hcy_operator_vstack(hcy_operator **op, hcy_operator *const *ops, size_t n)
{
    return make_blocks(op, ops, n, false, true, "hcy_operator_vstack");
}

int hcy_operator_hstack(hcy_operator **op, hcy_operator *const *ops, size_t n)
{
    return make_blocks(op, ops, n, true, false, "hcy_operator_hstack");
}

int hcy_operator_block_diagonal(hcy_operator **op, hcy_operator *const *ops, size_t n)
{
    return make_blocks(op, ops, n, true, true, "hcy_operator_block_diagonal");
}

/* --- One of several vectors --- */

struct part {
    hcy_space space;
    int64_t first; /* element */
};

static int apply_part(hcy_queue *queue, hcy_array *y, void *user, hcy_array *x)
{
    const struct part *p = user;
    hcy_array *part = NULL;
    int status = hcy__vector_part(&part, x, p->first, &p->space);
    if (!status)
        status = hcy_array_copy(queue, y, part);
    hcy_array_release(part);
    return status;
}

static int apply_part_adjoint(hcy_queue *queue, hcy_array *x, void *user, hcy_array *y)
{
    const struct part *p = user;
    hcy_array *part = NULL;
    int status = hcy__vector_part(&part, x, p->first, &p->space);
    if (!status)
        status = hcy__vector_zero(queue, x);
    if (!status)
        status = hcy_array_copy(queue, part, y);
    hcy_array_release(part);
    return status;
}

int hcy_operator_part(hcy_operator **op, hcy_device *dev, const hcy_space *space, int64_t n, int64_t index)
{
    hcy_operator_desc desc = HCY_OPERATOR_DESC_INIT;
    int status = dev ? hcy__space_check(space, "hcy_operator_part")
                     : hcy_fail(HCY_EINVAL, "hcy_operator_part: no device");
    if (!status && (index < 0 || index >= n || space->rank == HCY_ARRAY_MAX_RANK))
        status = hcy_fail(HCY_EINVAL, "hcy_operator_part: vector %lld of %lld, of %d axes", (long long)index,
                          (long long)n, space->rank);
    if (!status && space->vectors)
        status = hcy_fail(HCY_EUNSUPPORTED, "hcy_operator_part: of vectors that are distributed");
    if (status)
        return status;
    desc.name = "part";
    desc.range = desc.domain = *space;
    memcpy(desc.domain.shape + 1, space->shape, sizeof *space->shape * (size_t)space->rank);
    desc.domain.shape[0] = n;
    desc.domain.rank++;
    status = hcy__space_check(&desc.domain, "hcy_operator_part");
    struct part *p = status ? NULL : malloc(sizeof *p);
    if (!p)
        return status ? status : hcy_fail(HCY_ENOMEM, "out of memory for an operator");
    *p = (struct part){ *space, index * hcy__space_count(space) };
    desc.apply = apply_part;
    desc.adjoint = apply_part_adjoint;
    desc.destroy = free;
    desc.user = p;
    return hcy__operator_make(op, dev, &desc);
}
