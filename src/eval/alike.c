/* alike.c - expressions that are written more than once in a text.  Pure functions, any thread. */
#include "emit.h"

#include <string.h>

/* Kids are compared by the first nodes that are like them, so that no tree is walked twice. */
static bool is_like(const struct hcy__tree *t, const struct hcy__node *a, const struct hcy__node *b)
{
    if (a->kind != b->kind || a->function != b->function || a->dtype != b->dtype || a->integer != b->integer ||
        memcmp(&a->real, &b->real, sizeof a->real) || a->operand != b->operand ||
        memcmp(&a->axes, &b->axes, sizeof a->axes))
        return false;
    for (int k = 0; k < 3; k++)
        if (a->kids[k] != b->kids[k] &&
            (a->kids[k] < 0 || b->kids[k] < 0 || t->nodes[a->kids[k]].alike != t->nodes[b->kids[k]].alike))
            return false;
    return true;
}

void hcy__find_alike(struct hcy__tree *t)
{
    /* Nodes stand behind their kids. */
    for (int i = 0; i < t->n_nodes; i++) {
        int first = 0;
        while (first < i && (t->nodes[first].alike != first || !is_like(t, &t->nodes[first], &t->nodes[i])))
            first++;
        t->nodes[i].alike = first;
    }
}

int hcy__made_before(const struct hcy__emitter *e, int index)
{
    const struct hcy__node *nodes = e->tree->nodes;
    const int own = nodes[index].temporary;
    /* A name's, which an earlier statement read, too: it is the same as long as no memory is shared. */
    const bool earlier = own >= 0 && own < e->first_temporary;
    e->compiled->hands_on = e->compiled->hands_on || earlier;
    if (own >= 0 && !(earlier && e->tree->apart))
        return own;
    for (int i = 0; i < e->tree->n_nodes; i++)
        if (nodes[i].alike == nodes[index].alike && nodes[i].temporary >= e->first_temporary)
            return nodes[i].temporary;
    return -1;
}
