/* direct.c - reductions whose result is an operand as it is, "s = sum(x)": they write it themselves, and the stage that
 * would store it is left out, which takes as long as a short reduction. */
#include "run.h"

#include <string.h>

/* Whether a program does nothing but load components of one operand and store them where another has them. */
static bool is_copy(const hcy_eval_program *p, int from, int to)
{
    uint16_t loaded[2] = { 0, 0 }, memory[2] = { 0, 0 };
    uint32_t loads = 0, stores = 0;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const hcy_eval_step *s = &p->steps[i];
        if (s->op == HCY_EVAL_LOAD && s->a == from && s->b == loads && loads < 2) {
            loaded[loads] = s->to;
            memory[loads++] = s->memory;
        } else if (s->op == HCY_EVAL_STORE && s->to == to && s->b == stores && stores < loads &&
                   s->a == loaded[stores] && s->memory == memory[stores]) {
            stores++;
        } else
            return false;
    }
    return loads && loads == stores && (loads == 1 || loaded[0] != loaded[1]);
}

static int slot_of_temporary(const struct hcy__stage *s, int temporary)
{
    for (int k = 0; k < s->n_slots; k++)
        if (s->slots[k].is_temporary && s->slots[k].which == temporary)
            return k;
    return -1;
}

/* The operand that the stage behind this one stores its result in; -1: it does something else, or others load it. */
static int find_stored(const struct hcy__compiled *c, int i)
{
    const struct hcy__stage *s = c->stages[i], *next = i + 1 < c->n_stages ? c->stages[i + 1] : NULL;
    if (s->temporary < 0 || s->carries >= 0 || s->is_own || !next || next->temporary >= 0 || next->carries >= 0)
        return -1;
    const int from = slot_of_temporary(next, s->temporary);
    if (from < 0 || next->n_slots != 2 || next->slots[next->target].is_temporary ||
        !is_copy(&next->program, from, next->target))
        return -1;
    for (int j = i + 2; j < c->n_stages; j++)
        if (slot_of_temporary(c->stages[j], s->temporary) >= 0)
            return -1;
    return next->slots[next->target].which;
}

void hcy__find_direct(struct hcy__compiled *c)
{
    for (int i = 0; i < c->n_stages; i++)
        c->stages[i]->stored = find_stored(c, i);
}

void hcy__direct_result(hcy_buffer **to, const struct hcy__evaluation *v, const struct hcy__stage *s,
                       const struct hcy__fold *f, const struct hcy__operands *o)
{
    if (s->stored < 0 || !f->span || !f->outer)
        return;
    const hcy_array *target = v->operands[s->stored].array;
    const int dtype = hcy__type_in_memory(&v->compiled->temporaries[s->temporary]);
    /* A reduction writes from its buffer's beginning on; views of buffers may not begin anywhere on every device. */
    bool fits = target->dtype == dtype && target->rank == f->rank && !target->offset && hcy__is_contiguous(target) &&
                !memcmp(target->shape, f->shape, sizeof *f->shape * (size_t)f->rank);
    /* Pieces are written while others are still read. */
    for (int k = 0; fits && k < o->n; k++)
        fits = !o->arrays[k] || !hcy__shares_memory(target, o->arrays[k]);
    if (fits)
        *to = hcy_buffer_retain(target->buffer);
}
