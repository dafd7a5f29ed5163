/* known.c - launches that were seen before: where arrays have the shapes and strides of then, neither is checked or
 * laid out again.
 *
 * What a layout depends on beside them, types and the device, is the expression's own.  Offsets, buffers and numbers
 * are each launch's, and so is what shares memory.  A record does not change once others can see it, and goes with
 * its expression: it is read without a lock.
 */
#include "layout.h"

#include <stdlib.h>
#include <string.h>

/* Of a stage: whoever comes with more layouts than these has them made each time. */
enum { MOST_KNOWN = 4 };

static bool lies_so(const struct hcy__lie *lie, const hcy_array *a)
{
    if (!a || a->rank != lie->rank)
        return !a && lie->rank < 0;
    for (int d = 0; d < a->rank; d++)
        if (a->shape[d] != lie->shape[d] || a->strides[d] != lie->strides[d])
            return false;
    return true;
}

const struct hcy__known *hcy__known_find(struct hcy__expression *x, int stage, const struct hcy__operands *o)
{
    const struct hcy__known *known = atomic_load_explicit(&x->known[stage], memory_order_acquire);
    for (int k = 0; known && k < o->n;)
        if (lies_so(&known->lies[k], o->arrays[k])) {
            k++;
        } else {
            known = known->next;
            k = 0;
        }
    return known;
}

void hcy__known_add(struct hcy__expression *x, int stage, const struct hcy__operands *o,
                    const struct hcy__launch *launch, hcy_kernel *kernel, int generated)
{
    struct hcy__known *head = atomic_load_explicit(&x->known[stage], memory_order_acquire);
    if (hcy__known_find(x, stage, o) || (head && head->depth == MOST_KNOWN))
        return;
    struct hcy__known *known = calloc(1, sizeof *known);
    /* Nothing fails without it: the next call is laid out as this one was. */
    if (!known)
        return;
    known->job = launch->job;
    memcpy(known->strides, launch->strides, sizeof known->strides);
    known->kernel = kernel;
    known->generated = generated;
    known->depth = head ? head->depth + 1 : 1;
    known->next = head;
    for (int k = 0; k < o->n; k++) {
        const hcy_array *a = o->arrays[k];
        known->lies[k].rank = a ? a->rank : -1;
        if (a) {
            memcpy(known->lies[k].shape, a->shape, sizeof a->shape);
            memcpy(known->lies[k].strides, a->strides, sizeof a->strides);
        }
    }
    /* Where another thread was first, this one's may go. */
    if (!atomic_compare_exchange_strong_explicit(&x->known[stage], &head, known, memory_order_acq_rel,
                                                 memory_order_relaxed))
        free(known);
}

void hcy__known_free(struct hcy__expression *x)
{
    for (int i = 0; i < hcy__all_stages(&x->compiled); i++) {
        struct hcy__known *known = atomic_load_explicit(&x->known[i], memory_order_relaxed), *next;
        for (; known; known = next) {
            next = known->next;
            free(known);
        }
    }
}
