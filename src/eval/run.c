/* run.c - hcy_eval(): a text's stages, one after the other, on a queue; several as one where arrays let them. */
#include "run.h"

#include "types.h"

#include <string.h>

static const hcy_array *array_of_slot(const struct hcy__evaluation *v, const struct hcy__slot *slot)
{
    return slot->is_temporary ? v->arrays[slot->which] : v->operands[slot->which].array;
}

static uint64_t bits_of_value(const struct hcy__evaluation *v, const struct hcy__value *value)
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

void hcy__fill_values(hcy_eval_job *job, const struct hcy__evaluation *v, const struct hcy__stage *s)
{
    for (int i = 0; i < s->n_values; i++)
        job->values[i] = bits_of_value(v, &s->values[i]);
}

static void list_buffers(hcy_buffer **buffers, const struct hcy__evaluation *v, const struct hcy__stage *s,
                         const struct hcy__operands *o)
{
    for (int k = 0; k < o->n; k++)
        buffers[k] = o->arrays[k] ? o->arrays[k]->buffer : v->temporaries[s->slots[k].which];
}

void hcy__fill_launch(struct hcy__launch *l, const struct hcy__evaluation *v, const struct hcy__stage *s,
                        const struct hcy__operands *o)
{
    hcy__fill_values(&l->job, v, s);
    list_buffers(l->buffers, v, s, o);
}

bool hcy__numbers_elements(const hcy_eval_program *p)
{
    for (uint32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].op == HCY_EVAL_INDEX)
            return true;
    return false;
}

/* --- Stages --- */

static bool has_hazard(const struct hcy__operands *o)
{
    for (int k = 0; k < o->n; k++)
        /* In place each element is read before it is written. */
        if (o->arrays[k] != o->arrays[o->target] && o->arrays[k] && hcy__is_hazard(o->arrays[o->target], o->arrays[k]))
            return true;
    return false;
}

static int launch_map(struct hcy__evaluation *v, struct hcy__expression *x, int i, const struct hcy__operands *o,
                      int rank, const int64_t *shape)
{
    const struct hcy__stage *s = x->compiled.stages[i];
    struct hcy__launch l = { 0 };
    hcy_kernel *kernel = NULL;
    int generated = 0;
    if (s->carries >= 0)
        return hcy__run_scan(v, x, i, o, rank, shape);
    hcy__lay_out(&l, o, rank, shape, hcy__numbers_elements(&s->program) ? hcy__c_order : NULL);
    hcy__fill_launch(&l, v, s, o);
    /* Without elements there is nothing to write. */
    if (!l.job.n)
        return 0;
    int status = hcy__program_ready(&kernel, &generated, &x->programs[i], v->room, &l);
    if (status)
        return status;
    hcy__known_add(x, i, o, &l, kernel, generated);
    return hcy__kernel_launch(v->queue, kernel, generated, &x->programs[i], &l.job, l.strides, l.buffers);
}

/* Of arrays as they were before. */
static int launch_known(struct hcy__evaluation *v, struct hcy__expression *x, int i, const struct hcy__operands *o,
                        const struct hcy__known *known)
{
    const struct hcy__stage *s = x->compiled.stages[i];
    hcy_buffer *buffers[HCY_EVAL_OPERANDS] = { NULL };
    hcy_eval_job job = known->job;
    hcy__set_offsets(&job, o);
    hcy__fill_values(&job, v, s);
    list_buffers(buffers, v, s, o);
    return hcy__kernel_launch(v->queue, known->kernel, known->generated, &x->programs[i], &job, known->strides,
                              buffers);
}

static int run_map(struct hcy__evaluation *v, struct hcy__expression *x, int i, struct hcy__operands *o, int rank,
                   const int64_t *shape)
{
    const struct hcy__stage *s = x->compiled.stages[i];
    hcy_array *target = v->operands[s->slots[s->target].which].array, *aside = NULL;
    /* A scan may go over fewer elements than are written. */
    char where[HCY__WHERE];
    bool fits = target->rank == rank && !memcmp(target->shape, shape, sizeof *shape * (size_t)rank);
    int status = 0;
    /* Several threads would write one place in any order. */
    if (!hcy__is_one_to_one(target))
        return hcy_fail(HCY_EINVAL, "%s: elements of what is written share memory, or its axes step into one another: "
                        "write to an array of its own", hcy__where(where, v->text, s->column));
    /* What would be read after it was written is written to memory of its own first. */
    if (!fits || has_hazard(o)) {
        status = hcy_array_empty(&aside, hcy__room_device(v->room), target->dtype, rank, shape);
        /* Its old numbers, which the statement may use. */
        if (!status && fits)
            status = hcy_array_copy(v->queue, aside, target);
        o->arrays[o->target] = aside;
    }
    if (!status)
        status = launch_map(v, x, i, o, rank, shape);
    if (!status && aside)
        status = hcy_array_copy(v->queue, target, aside);
    hcy_array_release(aside);
    return status;
}

static bool reads_target(const struct hcy__stage *s)
{
    for (uint32_t i = 0; i < s->program.n_steps; i++)
        if (s->program.steps[i].op == HCY_EVAL_LOAD && s->program.steps[i].a == s->target)
            return true;
    return false;
}

/* The shape that the stage goes over, which fits what it writes. */
static int find_stage_shape(int64_t *shape, int *rank, const struct hcy__evaluation *v, const struct hcy__stage *s,
                            const struct hcy__operands *o)
{
    struct hcy__operands read = *o;
    int status = hcy__find_shape(shape, rank, o, v->text);
    if (status || o->target < 0 || s->carries < 0 || reads_target(s))
        return status;
    /* What is broadcast before it is scanned has other sums: a scan goes over what it reads, and its result is
     * broadcast. */
    read.arrays[read.target] = NULL;
    read.target = -1;
    return hcy__find_shape(shape, rank, &read, v->text);
}

static void list_arrays(struct hcy__operands *o, const struct hcy__evaluation *v, const struct hcy__stage *s)
{
    o->n = s->n_slots;
    o->target = s->temporary < 0 ? s->target : -1;
    for (int k = 0; k < s->n_slots; k++)
        o->arrays[k] = array_of_slot(v, &s->slots[k]);
}

static int run_stage(struct hcy__evaluation *v, struct hcy__expression *x, int i)
{
    const struct hcy__stage *s = x->compiled.stages[i];
    struct hcy__operands o;
    int64_t shape[HCY_EVAL_AXES];
    int rank = 0;
    list_arrays(&o, v, s);
    /* Shapes that went together still do; what shares memory is a matter of this call. */
    const struct hcy__known *known = o.target >= 0 && s->carries < 0 ? hcy__known_find(x, i, &o) : NULL;
    if (known && !has_hazard(&o))
        return launch_known(v, x, i, &o, known);
    int status = find_stage_shape(shape, &rank, v, s, &o);
    if (status)
        return status;
    if (s->temporary < 0)
        return run_map(v, x, i, &o, rank, shape);
    if (s->carries < 0)
        return hcy__run_reduction(v, x, i, &o, rank, shape);
    status = hcy__scan_array(&v->arrays[s->temporary], v, s, rank, shape);
    o.target = s->target;
    o.arrays[s->target] = v->arrays[s->temporary];
    return status ? status : launch_map(v, x, i, &o, rank, shape);
}

/* --- Joint stages --- */

static bool is_written(const struct hcy__stage *s, int slot)
{
    return s->writes >> slot & 1;
}

/* Whether what is written lies in memory of its own. */
static bool lies_apart(const struct hcy__stage *s, const struct hcy__operands *o)
{
    for (int w = 0; w < o->n; w++)
        for (int k = 0; is_written(s, w) && k < o->n; k++)
            if (k != w && o->arrays[k] && hcy__shares_memory(o->arrays[w], o->arrays[k]))
                return false;
    return true;
}

/* An array of the one shape that all that is written has, in order, and that nothing that is read is larger than;
 * NULL: there is no such shape. */
static const hcy_array *find_one_shape(const struct hcy__stage *s, const struct hcy__operands *o)
{
    const hcy_array *first = NULL;
    for (int k = 0; k < o->n; k++)
        first = first || !is_written(s, k) ? first : o->arrays[k];
    for (int k = 0; k < o->n; k++) {
        const hcy_array *a = o->arrays[k];
        if (!a)
            continue;
        if (a->rank > first->rank || (is_written(s, k) && (a->rank != first->rank || !hcy__is_contiguous(a))))
            return NULL;
        for (int d = 0; d < a->rank; d++)
            if (a->shape[d] != first->shape[d + first->rank - a->rank] && (a->shape[d] != 1 || is_written(s, k)))
                return NULL;
    }
    return first;
}

/* Joint stage i, if these arrays let it stand for the others. */
static int run_joint(bool *is_done, struct hcy__evaluation *v, struct hcy__expression *x, int i)
{
    const struct hcy__stage *s = x->compiled.stages[i];
    struct hcy__operands o;
    list_arrays(&o, v, s);
    *is_done = lies_apart(s, &o);
    if (!*is_done)
        return 0;
    const struct hcy__known *known = o.target >= 0 ? hcy__known_find(x, i, &o) : NULL;
    if (known)
        return launch_known(v, x, i, &o, known);
    const hcy_array *a = find_one_shape(s, &o);
    *is_done = a && (!s->axes.n || hcy__folds_pieces(&s->axes, a));
    if (!*is_done)
        return 0;
    return o.target >= 0 ? launch_map(v, x, i, &o, a->rank, a->shape)
                         : hcy__run_reduction(v, x, i, &o, a->rank, a->shape);
}

/* Stage i, or the joint stage that stands for it and others; how many stages that was. */
static int run_next(int *n, struct hcy__evaluation *v, struct hcy__expression *x, int i)
{
    struct hcy__stage *const *stages = x->compiled.stages;
    bool is_done = false;
    int status = 0;
    v->is_stored = false;
    *n = 1;
    for (int joint = stages[i]->joint; !status && !is_done && joint; joint = stages[joint]->joint) {
        status = run_joint(&is_done, v, x, joint);
        *n = is_done ? stages[joint]->covers : 1;
    }
    if (!status && !is_done)
        status = run_stage(v, x, i);
    *n += v->is_stored;
    return status;
}

static int check_integers(const struct hcy__evaluation *v)
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
static int find_room(struct hcy__evaluation *v, size_t n)
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

/* Whether a statement writes memory that another of the arrays shows. */
static bool writes_shared(const struct hcy__evaluation *v, const struct hcy__compiled *c)
{
    for (int i = 0; i < c->n_stages; i++) {
        const struct hcy__stage *s = c->stages[i];
        const int target = s->temporary < 0 ? s->slots[s->target].which : -1;
        for (size_t k = 0; target >= 0 && k < v->n_operands; k++)
            if ((int)k != target && v->operands[k].kind == HCY_OPERAND_ARRAY &&
                hcy__shares_memory(v->operands[target].array, v->operands[k].array))
                return true;
    }
    return false;
}

/* A name's reduction is made once for all statements that read it, unless what it reads may be written between them
 * under another name: each makes its own then. */
static int choose_expression(struct hcy__expression **x, const struct hcy__evaluation *v, struct hcy__expression *kept)
{
    *x = kept;
    if (!kept->compiled.hands_on || !writes_shared(v, &kept->compiled))
        return 0;
    return hcy__expression_apart(x, v->room, kept, v->text, v->operands, v->n_operands);
}

int hcy_eval(hcy_queue *queue, const char *text, const hcy_operand *operands, size_t n)
{
    struct hcy__evaluation v;
    struct hcy__expression *x = NULL, *kept = NULL;
    if (!queue || !text || (n && !operands))
        return hcy_fail(HCY_EINVAL, "hcy_eval: no %s", !queue ? "queue" : text ? "operands" : "text");
    v.queue = queue;
    v.room = NULL;
    v.text = text;
    v.operands = operands;
    v.n_operands = n;
    int status = hcy_fork_check();
    if (!status)
        status = find_room(&v, n);
    if (!status)
        status = hcy__expression_get(&kept, v.room, text, operands, n);
    if (status)
        return status;
    status = choose_expression(&x, &v, kept);
    if (status) {
        hcy__expression_put(v.room, text, kept);
        return status;
    }
    v.compiled = &x->compiled;
    /* As many as the text has: most have none, and clearing all of them takes as long as a short loop. */
    for (int i = 0; i < x->compiled.n_temporaries; i++) {
        v.temporaries[i] = NULL;
        v.arrays[i] = NULL;
        v.elements[i] = 0;
    }
    /* Integers are checked before the first stage runs, so that one that does not fit leaves nothing half done. */
    status = check_integers(&v);
    for (int i = 0, n = 0; !status && i < x->compiled.n_stages; i += n)
        status = run_next(&n, &v, x, i);
    /* Launches that have not run yet keep the buffers that they use. */
    for (int i = 0; i < x->compiled.n_temporaries; i++) {
        hcy_buffer_release(v.temporaries[i]);
        hcy_array_release(v.arrays[i]);
    }
    hcy__expression_put(v.room, text, kept);
    return status;
}
