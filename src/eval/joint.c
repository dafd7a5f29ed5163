/* joint.c - consecutive statements over one shape as one stage: what the first ones write the later ones, and a
 * reduction behind them, have in registers, and what several read is read once.
 *
 * A joint stage stands for stages that are there: those run where shapes differ after all, or memory is shared (run.c).
 * Nothing fails for want of one.
 */
#include "emit.h"

#include <stdlib.h>
#include <string.h>

int hcy__all_stages(const struct hcy__compiled *compiled)
{
    return compiled->n_stages + compiled->n_joints;
}

static bool is_map(const struct hcy__stage *s)
{
    return s->temporary < 0 && s->carries < 0;
}

static const hcy_array *target_of(const struct hcy__emitter *e, const struct hcy__stage *s)
{
    return e->operands[s->slots[s->target].which].array;
}

/* How many stages from `first` on write arrays of one shape, each another one.  A float16 is not read again as it was
 * before it was stored. */
static int count_maps(const struct hcy__emitter *e, int first)
{
    const struct hcy__compiled *c = e->compiled;
    int n = 0;
    for (; first + n < c->n_stages && is_map(c->stages[first + n]); n++) {
        const hcy_array *a = target_of(e, c->stages[first]), *b = target_of(e, c->stages[first + n]);
        bool fits = b->dtype != HCY_FLOAT16 && a->rank == b->rank &&
                    !memcmp(a->shape, b->shape, sizeof *a->shape * (size_t)a->rank);
        for (int i = first; fits && i < first + n; i++)
            fits = target_of(e, c->stages[i]) != b;
        if (!fits)
            break;
    }
    return n;
}

bool hcy__folds_pieces(const struct hcy__axes *axes, const hcy_array *a)
{
    const int axis = axes->of[0] < 0 ? axes->of[0] + a->rank : axes->of[0];
    return axes->n == 1 && axis >= 0 && axis == a->rank - 1 && a->shape[axis] % HCY_EVAL_PIECE == 0;
}

/* Whether stage i makes one number, or one of each row of whole pieces, of what one of the n stages before it has
 * written, and so goes over their shape. */
static bool reduces_these(const struct hcy__emitter *e, int i, int n)
{
    const struct hcy__compiled *c = e->compiled;
    const struct hcy__stage *s = i < c->n_stages ? c->stages[i] : NULL;
    if (!s || s->temporary < 0 || s->carries >= 0 || s->is_own)
        return false;
    if (s->axes.n && !hcy__folds_pieces(&s->axes, target_of(e, c->stages[i - n])))
        return false;
    bool reads = false;
    for (int k = 0; k < s->n_slots; k++)
        for (int before = i - n; before < i; before++) {
            const struct hcy__stage *b = c->stages[before];
            reads = reads || (!s->slots[k].is_temporary && s->slots[k].which == b->slots[b->target].which);
        }
    return reads;
}

static void emit_statement(struct hcy__emitter *e, int i)
{
    const int target = e->tree->statements[i].target;
    /* Operands are read anew: some have been written since. */
    memset(e->steps->is_made, 0, sizeof e->steps->is_made);
    struct hcy__made x = hcy__emit_node(e, e->tree->statements[i].value);
    if (!e->status)
        hcy__emit_stores(e, target, x);
}

/* The reduction of a stage that is there: its temporary, and its way from pieces on. */
static void emit_reduction_of(struct hcy__emitter *e, const struct hcy__stage *s)
{
    const struct hcy__node *node = &e->tree->nodes[s->made_of];
    struct hcy__reduction r = { 0 };
    memset(e->steps->is_made, 0, sizeof e->steps->is_made);
    struct hcy__made x = hcy__emit_node(e, node->kids[0]);
    if (!e->status)
        hcy__choose_reduction(&r, e, node, x.type.dtype);
    if (e->status || !(e->stage->again = malloc(sizeof *s->again))) {
        e->status = HCY_ENOMEM;
        return;
    }
    *e->stage->again = *s->again;
    e->stage->temporary = s->temporary;
    e->stage->axes = s->axes;
    e->stage->target = hcy__find_slot(e, 1, s->temporary);
    hcy__emit_reductions(e, &r, x, e->stage->target);
    e->stage->has_empty = s->has_empty;
    e->stage->empty = s->empty;
    e->stage->stored = s->stored;
    e->stage->column = s->column; /* what has no elements is told of it */
}

/* Whether a register that is an array's numbers as they lie is read behind the step that writes them anew; or a NaN's
 * sign is asked for, which memory has lost. */
static bool reads_late(const struct hcy__steps *all)
{
    bool loaded[HCY_EVAL_STEPS] = { false }, stale[HCY_EVAL_STEPS] = { false }, late = false;
    for (int i = 0; i < all->n; i++) {
        const hcy_eval_step *s = &all->step[i];
        const uint16_t args[3] = { s->a, s->b, s->c };
        const bool stores = s->op == HCY_EVAL_STORE, one = stores || s->op >= HCY_EVAL_FIRST_REDUCTION;
        const int arity = one ? 1 : hcy__op_infos[s->op].arity;
        for (int k = 0; k < arity; k++)
            late = late || stale[args[k]];
        late = late || s->op == HCY_EVAL_COPYSIGN_F32 || s->op == HCY_EVAL_COPYSIGN_F64;
        loaded[i] = s->op == HCY_EVAL_LOAD;
        for (int k = 0; stores && k < i; k++)
            stale[k] = stale[k] || (loaded[k] && all->step[k].a == s->to && all->step[k].b == s->b);
    }
    return late;
}

/* NULL: there is no room for all of it in one stage. */
static struct hcy__stage *make_joint(const struct hcy__emitter *like, int first, int n, bool reduces)
{
    const struct hcy__compiled *c = like->compiled;
    struct hcy__emitter e = *like;
    hcy__stage_begin(&e);
    if (!e.status) {
        e.stage->covers = n + reduces;
        e.stage->column = e.column = c->stages[first]->column;
    }
    for (int i = first; !e.status && i < first + n; i++)
        emit_statement(&e, c->stages[i]->made_of);
    if (!e.status && reduces)
        emit_reduction_of(&e, c->stages[first + n]);
    if (!e.status && reads_late(e.steps))
        e.status = HCY_EUNSUPPORTED;
    if (!e.status)
        e.status = hcy__steps_allot(&e.stage->program, e.steps);
    free(e.steps);
    if (!e.status)
        return e.stage;
    hcy__stage_free(e.stage);
    return NULL;
}

/* The stage that stands for this one and those behind it. */
static void add_joint(struct hcy__compiled *c, struct hcy__stage *of, struct hcy__stage *joint)
{
    of->joint = hcy__all_stages(c);
    c->stages[of->joint] = joint;
    c->n_joints++;
}

void hcy__find_joints(struct hcy__emitter *e)
{
    struct hcy__compiled *c = e->compiled;
    const int n_checks = c->n_checks;
    const bool hands_on = c->hands_on;
    const hcy_error before = *hcy_last_error(); /* that there is no room for a joint stage is nobody's failure */
    /* A node that was made for several statements knows what the last one has of it. */
    if (e->tree->apart)
        return;
    for (int i = 0, n; i < c->n_stages; i += n) {
        n = count_maps(e, i);
        bool reduces = n && reduces_these(e, i + n, n);
        struct hcy__stage *joint = NULL;
        /* As many as one stage has room for. */
        while (n + reduces > 1 && hcy__all_stages(c) < HCY__STAGES && !(joint = make_joint(e, i, n, reduces))) {
            n -= !reduces;
            reduces = false;
        }
        if (joint)
            add_joint(c, c->stages[i], joint);
        /* Rows may be others at the next call. */
        if (joint && joint->axes.n && n > 1 && hcy__all_stages(c) < HCY__STAGES) {
            struct hcy__stage *maps = make_joint(e, i, n, false);
            if (maps)
                add_joint(c, joint, maps);
        }
        n = n + reduces > 1 ? n + reduces : 1;
    }
    /* Integers that must fit a type are those of the stages, and so is what they hand on. */
    c->n_checks = n_checks;
    c->hands_on = hands_on;
    hcy_fail_again(&before);
}
