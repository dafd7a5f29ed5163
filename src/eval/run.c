/* run.c - hcy_eval(): a text's stages, one after the other, on a queue. */
#include "layout.h"
#include "types.h"

#include <string.h>

/* One call. */
struct evaluation {
    hcy_queue *queue;
    struct hcy__room *room;
    const char *text;
    const hcy_operand *operands;
    const struct hcy__compiled *compiled;
    hcy_buffer *temporaries[HCY__TEMPORARIES];
    uint64_t elements[HCY__TEMPORARIES]; /* that each was made of */
};

static const hcy_array *array_of_slot(const struct evaluation *v, const struct hcy__slot *slot)
{
    return slot->is_temporary ? NULL : v->operands[slot->which].array;
}

static uint64_t bits_of_value(const struct evaluation *v, const struct hcy__value *value)
{
    const hcy_operand *o = value->source == HCY__LITERAL ? NULL : &v->operands[value->which];
    uint64_t bits;
    double x = 0;
    if (value->source == HCY__LITERAL)
        return value->bits;
    if (value->source == HCY__ELEMENTS)
        x = (double)v->elements[value->which];
    else if (value->is_integer)
        return (uint64_t)o->integer;
    else if (value->source == HCY__SCALAR_IMAG)
        x = o->imag;
    else
        /* Where a float is wanted of an integer of the caller's, cast_value() has asked for a double. */
        x = o->kind == HCY_OPERAND_INTEGER ? (double)o->integer : o->real;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The numbers and the buffers of a launch; the layout is there. */
static void fill_launch(struct hcy__launch *l, const struct evaluation *v, const struct hcy__stage *s,
                        const struct hcy__operands *o)
{
    for (int i = 0; i < s->n_values; i++)
        l->job.values[i] = bits_of_value(v, &s->values[i]);
    for (int k = 0; k < o->n; k++)
        l->buffers[k] = o->arrays[k] ? o->arrays[k]->buffer : v->temporaries[s->slots[k].which];
}

static bool numbers_elements(const hcy_eval_program *p)
{
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].op == HCY_EVAL_INDEX)
            return true;
    return false;
}

/* --- Reductions --- */

static size_t bytes_of_temporary(const struct hcy__temporary *t)
{
    return (t->memory == HCY_EVAL_M_F32 ? 4u : 8u) * (size_t)t->components;
}

static int reduce_nothing(const struct evaluation *v, const struct hcy__stage *s, hcy_buffer *to)
{
    size_t bytes = bytes_of_temporary(&v->compiled->temporaries[s->temporary]);
    if (!s->has_empty)
        return hcy_fail(HCY_EINVAL, "\"%.200s\", column %d: there is no smallest or largest of no elements",
                        v->text, s->column);
    /* Only sums and products come here, whose components have 8 bytes all. */
    return hcy_buffer_fill(v->queue, to, 0, bytes, &s->empty, 8);
}

/* One number of each piece, again and again, until one is left: `from` has n, `to` takes the last. */
static int reduce_again(const struct evaluation *v, struct hcy__device_program *again,
                        const struct hcy__temporary *t, hcy_buffer *from, uint64_t n, hcy_buffer *to)
{
    int status = 0;
    /* The caller's buffer is retained, so that each round may release what it has read, the first one too. */
    hcy_buffer_retain(from);
    while (!status && n > 1) {
        struct hcy__launch l = { 0 };
        uint64_t pieces = (n - 1) / HCY_EVAL_PIECE + 1;
        hcy_buffer *next = pieces == 1 ? hcy_buffer_retain(to) : NULL;
        if (!next)
            status = hcy_buffer_create(&next, hcy__room_device(v->room), HCY_MEM_DEVICE,
                                       (size_t)pieces * bytes_of_temporary(t));
        /* A result's place follows from the number of its piece: only what is read has a stride. */
        l.job.n = n;
        l.job.rank = 1;
        l.job.shape[0] = n;
        l.job.n_operands = 2;
        l.strides[0].of[0][0] = t->components;
        l.buffers[0] = from;
        l.buffers[1] = next;
        if (!status)
            status = hcy__program_launch(v->queue, v->room, again, &l);
        /* The launch keeps what it uses. */
        hcy_buffer_release(from);
        from = next;
        n = pieces;
    }
    hcy_buffer_release(from);
    return status;
}

static int run_reduction(struct evaluation *v, const struct hcy__stage *s,
                         struct hcy__device_program *program, struct hcy__device_program *again,
                         struct hcy__launch *l, const struct hcy__operands *o)
{
    const struct hcy__temporary *t = &v->compiled->temporaries[s->temporary];
    hcy_buffer *to = NULL, *partial = NULL;
    uint64_t pieces = l->job.n ? (l->job.n - 1) / HCY_EVAL_PIECE + 1 : 0;
    hcy_device *dev = hcy__room_device(v->room);
    /* The largest result is a complex number of doubles. */
    int status = hcy_buffer_create(&to, dev, HCY_MEM_DEVICE, 16);
    if (status)
        return status;
    /* From here on hcy_eval() releases it with all others. */
    v->temporaries[s->temporary] = to;
    v->elements[s->temporary] = l->job.n;
    if (!pieces)
        return reduce_nothing(v, s, to);
    if (pieces > 1)
        status = hcy_buffer_create(&partial, dev, HCY_MEM_DEVICE, (size_t)pieces * bytes_of_temporary(t));
    fill_launch(l, v, s, o);
    /* fill_launch() took the result's buffer for it, which has room for one piece's number only. */
    l->buffers[s->target] = partial ? partial : to;
    if (!status)
        status = hcy__program_launch(v->queue, v->room, program, l);
    if (!status && partial)
        status = reduce_again(v, again, t, partial, pieces, to);
    hcy_buffer_release(partial);
    return status;
}

/* --- Stages --- */

static bool has_hazard(const struct hcy__operands *o)
{
    for (int k = 0; k < o->n; k++)
        if (k != o->target && o->arrays[k] && hcy__is_hazard(o->arrays[o->target], o->arrays[k]))
            return true;
    return false;
}

static int run_map(struct evaluation *v, const struct hcy__stage *s, struct hcy__device_program *program,
                   struct hcy__operands *o, int rank, const int64_t *shape)
{
    struct hcy__launch l = { 0 };
    hcy_array *target = v->operands[s->slots[s->target].which].array, *aside = NULL;
    int status = 0;
    /* Several threads would write one place in any order. */
    if (!hcy__is_one_to_one(target))
        return hcy_fail(HCY_EINVAL, "\"%.200s\", column %d: elements of what is written share memory",
                        v->text, s->column);
    /* What would be read after it was written is written to memory of its own first. */
    if (has_hazard(o)) {
        status =
            hcy_array_empty(&aside, hcy__room_device(v->room), target->dtype, target->rank, target->shape);
        /* Its old numbers, which the statement may use. */
        if (!status)
            status = hcy_array_copy(v->queue, aside, target);
        o->arrays[o->target] = aside;
    }
    if (!status) {
        hcy__lay_out(&l, o, rank, shape, numbers_elements(&s->program));
        fill_launch(&l, v, s, o);
        status = hcy__program_launch(v->queue, v->room, program, &l);
    }
    if (!status && aside)
        status = hcy_array_copy(v->queue, target, aside);
    hcy_array_release(aside);
    return status;
}

static int run_stage(struct evaluation *v, struct hcy__expression *x, int i)
{
    const struct hcy__stage *s = x->compiled.stages[i];
    struct hcy__operands o = { .n = s->n_slots, .target = s->temporary < 0 ? s->target : -1 };
    struct hcy__launch l = { 0 };
    int64_t shape[HCY_EVAL_AXES];
    int rank = 0;
    for (int k = 0; k < s->n_slots; k++)
        o.arrays[k] = array_of_slot(v, &s->slots[k]);
    int status = hcy__find_shape(shape, &rank, &o, v->text);
    if (status || s->temporary < 0)
        return status ? status : run_map(v, s, &x->programs[i], &o, rank, shape);
    /* The order of elements decides a sum's bits, so that it must not depend on how arrays lie in memory. */
    hcy__lay_out(&l, &o, rank, shape, true);
    return run_reduction(v, s, &x->programs[i], &x->again[i], &l, &o);
}

static int check_integers(const struct evaluation *v)
{
    for (int i = 0; i < v->compiled->n_checks; i++) {
        const struct hcy__check *c = &v->compiled->checks[i];
        const hcy_operand *o = &v->operands[c->operand];
        if (!hcy__fits(c->dtype, o->integer))
            return hcy_fail(HCY_ERANGE, "\"%.200s\": %s is %lld, which does not fit %s", v->text, o->name,
                            (long long)o->integer, hcy_dtype_name(c->dtype));
    }
    return 0;
}

/* The room of the queue's device, which all arrays must be of. */
static int find_room(struct evaluation *v, size_t n)
{
    hcy_device *dev = hcy_queue_device(v->queue);
    for (size_t i = 0; i < n; i++) {
        /* Names and kinds are checked when a text is parsed, which needs the room: nothing is taken for granted
         * here. */
        const hcy_operand *o = &v->operands[i];
        if (o->kind != HCY_OPERAND_ARRAY || !o->array)
            continue;
        if (hcy__array_device(o->array) != dev)
            return hcy_fail(
                HCY_EINVAL,
                "hcy_eval: the array %s is not on the queue's device; hcy_array_to_device() copies",
                o->name ? o->name : "without a name");
        /* The caller's arrays keep the room while this call runs. */
        v->room = o->array->room;
    }
    return v->room ? 0 : hcy_fail(HCY_EINVAL, "hcy_eval: no array to write to");
}

int hcy_eval(hcy_queue *queue, const char *text, const hcy_operand *operands, size_t n)
{
    struct evaluation v = { .queue = queue, .text = text, .operands = operands };
    struct hcy__expression *x = NULL;
    if (!queue || !text || (n && !operands))
        return hcy_fail(HCY_EINVAL, "hcy_eval: no %s", !queue ? "queue" : text ? "operands" : "text");
    int status = hcy_fork_check();
    if (!status)
        status = find_room(&v, n);
    if (!status)
        status = hcy__expression_get(&x, v.room, text, operands, n);
    if (status)
        return status;
    v.compiled = &x->compiled;
    /* Integers are checked before the first stage runs, so that one that does not fit leaves nothing half done. */
    status = check_integers(&v);
    for (int i = 0; !status && i < x->compiled.n_stages; i++)
        status = run_stage(&v, x, i);
    /* Launches that have not run yet keep the buffers that they use. */
    for (int i = 0; i < HCY__TEMPORARIES; i++)
        hcy_buffer_release(v.temporaries[i]);
    hcy__expression_put(v.room, x);
    return status;
}
