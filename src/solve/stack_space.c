/* stack_space.c - vectors that stand one behind the other, some of them distributed: their sums and random numbers.
 *
 * A part has these as its own space does, so that one which all ranks have counts once, and sums are added up in the
 * parts' order.  The table is shared by the operators between such spaces, which are the same if their parts are.
 */
#include "vectors.h"

#include <halcyon/eval.h>
#include <stdlib.h>

struct part {
    hcy_space space;
    const hcy_vectors *kept; /* the reference of a stack in the stack */
};

struct stack {
    hcy_vectors vectors;
    atomic_uint refs;
    size_t n;
    struct part parts[];
};

static int sum_parts(hcy_queue *queue, hcy_array *sum, void *user, hcy_array *x, hcy_array *y)
{
    const struct stack *s = user;
    hcy_array *one = NULL;
    int64_t first = 0;
    int status = hcy_array_empty(&one, hcy_queue_device(queue), sum->dtype, 0, NULL);
    for (size_t i = 0; !status && i < s->n; i++) {
        hcy_array *of_x = NULL, *of_y = NULL;
        const hcy_space *space = &s->parts[i].space;
        status = hcy__vector_part(&of_x, x, first, space);
        if (!status)
            status = hcy__vector_part(&of_y, y, first, space);
        if (!status)
            status = hcy__vector_dot(queue, i ? one : sum, space, of_x, of_y);
        if (!status && i)
            status = HCY_EVAL(queue, "sum += one", hcy_op_array("sum", sum), hcy_op_array("one", one));
        first += hcy__space_count(space);
        hcy_array_release(of_x);
        hcy_array_release(of_y);
    }
    hcy_array_release(one);
    return status;
}

static struct stack *stack_of(const hcy_vectors *vectors)
{
    return vectors && vectors->dot == sum_parts ? vectors->user : NULL;
}

int hcy__stack_vectors(const hcy_vectors **vectors, hcy_operator *const *ops, size_t n, bool of_range)
{
    size_t bytes = 0;
    int status = hcy_size_mul(&bytes, n, sizeof(struct part));
    if (!status)
        status = hcy_size_add(&bytes, bytes, sizeof(struct stack));
    struct stack *s = status ? NULL : calloc(1, bytes);
    if (!s)
        return hcy_fail(HCY_ENOMEM, "out of memory for %zu operators", n);
    s->vectors = (hcy_vectors)HCY_VECTORS_INIT;
    s->vectors.dot = sum_parts;
    s->vectors.user = s;
    atomic_init(&s->refs, 1);
    s->n = n;
    for (size_t i = 0; i < n; i++) {
        s->parts[i].space = of_range ? ops[i]->desc.range : ops[i]->desc.domain;
        s->parts[i].kept = hcy__vectors_retain(s->parts[i].space.vectors);
    }
    *vectors = &s->vectors;
    return 0;
}

const hcy_vectors *hcy__vectors_retain(const hcy_vectors *vectors)
{
    struct stack *s = stack_of(vectors);
    if (s)
        atomic_fetch_add(&s->refs, 1);
    return s ? vectors : NULL;
}

void hcy__vectors_release(const hcy_vectors *kept)
{
    struct stack *s = stack_of(kept);
    if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    for (size_t i = 0; i < s->n; i++)
        hcy__vectors_release(s->parts[i].kept);
    free(s);
}

bool hcy__vectors_same(const hcy_vectors *a, const hcy_vectors *b)
{
    if (a == b)
        return true;
    const struct stack *of_a = stack_of(a), *of_b = stack_of(b);
    bool same = of_a && of_b && of_a->n == of_b->n;
    for (size_t i = 0; same && i < of_a->n; i++)
        same = hcy__space_same(&of_a->parts[i].space, &of_b->parts[i].space);
    return same;
}

bool hcy__vectors_random(int *status, hcy_queue *queue, hcy_array *x, const hcy_vectors *vectors, uint64_t seed,
                         int64_t stream)
{
    const struct stack *s = stack_of(vectors);
    int64_t first = 0;
    *status = 0;
    for (size_t i = 0; s && !*status && i < s->n; i++) {
        /* Streams of their own, also of parts in parts. */
        const uint64_t mixed = ((uint64_t)stream * 1000003 + 4 * (i + 1)) % (UINT64_C(1) << 60);
        const hcy_space *space = &s->parts[i].space;
        hcy_array *part = NULL;
        *status = hcy__vector_part(&part, x, first, space);
        if (!*status)
            *status = hcy__vector_random(queue, part, space, seed, (int64_t)mixed);
        first += hcy__space_count(space);
        hcy_array_release(part);
    }
    return s != NULL;
}
