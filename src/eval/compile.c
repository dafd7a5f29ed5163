/* compile.c - a tree to stages: each reduction a stage of its own before what uses its result, then the statement. */
#include "emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Steps --- */

int hcy__emit_refuse(struct hcy__emitter *e, const char *what, const char *which)
{
    /* The first failure is kept: later ones are mostly its consequences. */
    if (!e->status)
        e->status = hcy__refuse(e->tree, e->column, what, which);
    return -1;
}

int hcy__emit_full(struct hcy__emitter *e, const char *of_what)
{
    char where[HCY__WHERE];
    if (!e->status)
        e->status = hcy_fail(HCY_EUNSUPPORTED, "%s: more %s than a kernel takes: cut it up",
                             hcy__where(where, e->tree->text, e->column), of_what);
    return -1;
}

int hcy__emit_step(struct hcy__emitter *e, hcy_eval_step step)
{
    int i = e->status ? -1 : hcy__step_add(e->steps, step);
    return i < 0 && !e->status ? hcy__emit_full(e, "operations") : i;
}

int hcy__emit(struct hcy__emitter *e, enum hcy_eval_op op, int a, int b, int c)
{
    int arity = hcy__op_infos[op].arity;
    if (a < 0 || (arity > 1 && b < 0) || (arity > 2 && c < 0))
        return -1;
    /* Arguments that an operation has not are 0, so that equal steps are equal in all bytes (hcy__step_add()). */
    return hcy__emit_step(e, (hcy_eval_step){ .op = (uint16_t)op,
                                         .a = (uint16_t)a,
                                         .b = (uint16_t)(arity > 1 ? b : 0),
                                         .c = (uint16_t)(arity > 2 ? c : 0) });
}

int hcy__emit_value(struct hcy__emitter *e, struct hcy__value value, enum hcy_eval_type type)
{
    struct hcy__stage *s = e->stage;
    int i = 0;
    /* A launch has room for few numbers, so that one that is there is used again; bits are compared, which tells
     * -0.0 from 0.0. */
    while (i < s->n_values &&
           (s->values[i].source != value.source || s->values[i].which != value.which ||
            s->values[i].is_integer != value.is_integer || s->values[i].bits != value.bits))
        i++;
    if (i == HCY_EVAL_VALUES)
        return hcy__emit_full(e, "numbers");
    s->values[i] = value;
    if (i == s->n_values)
        s->n_values++;
    return hcy__emit_step(e, (hcy_eval_step){ .op = HCY_EVAL_VALUE, .a = (uint16_t)i, .memory = (uint16_t)type });
}

int hcy__emit_literal(struct hcy__emitter *e, double x, enum hcy_eval_type type)
{
    struct hcy__value value = { .source = HCY__LITERAL };
    int64_t integer = 0;
    value.is_integer = type < HCY_EVAL_F32;
    if (value.is_integer)
        integer = (int64_t)x;
    memcpy(&value.bits, value.is_integer ? (void *)&integer : (void *)&x, sizeof value.bits);
    return hcy__emit_value(e, value, type);
}

/* --- Stages --- */

void hcy__stage_begin(struct hcy__emitter *e)
{
    e->stage = calloc(1, sizeof *e->stage);
    e->steps = calloc(1, sizeof *e->steps);
    if ((!e->stage || !e->steps) && !e->status)
        e->status = hcy_fail(HCY_ENOMEM, "out of memory for an expression");
    if (e->stage)
        e->stage->temporary = e->stage->carries = e->stage->nothing_of = e->stage->stored = -1;
    if (e->steps)
        e->steps->tree = e->tree;
}

void hcy__stage_free(struct hcy__stage *s)
{
    if (s) {
        free(s->again);
        free(s->totals);
    }
    free(s);
}

/* The stage takes its place behind those that it needs; whoever fails frees it. */
static void finish_stage(struct hcy__emitter *e)
{
    struct hcy__compiled *c = e->compiled;
    if (!e->status)
        e->status = hcy__steps_allot(&e->stage->program, e->steps);
    if (!e->status && c->n_stages == HCY__STAGES)
        hcy__emit_full(e, "statements and reductions");
    /* Programs are laid down without it, and it is the same for both. */
    e->stage->program.join = e->stage->join;
    if (e->stage->again)
        e->stage->again->join = e->stage->join;
    /* Some failures show only when the stage runs, and these name the column too. */
    e->stage->column = e->column;
    if (e->status)
        hcy__stage_free(e->stage);
    else
        c->stages[c->n_stages++] = e->stage;
}

int hcy__find_slot(struct hcy__emitter *e, int is_temporary, int which)
{
    struct hcy__stage *s = e->stage;
    /* Kernels take few arrays, so that a name that stands twice in a statement is one of them. */
    for (int i = 0; i < s->n_slots; i++)
        if (s->slots[i].is_temporary == is_temporary && s->slots[i].which == which)
            return i;
    if (s->n_slots == HCY_EVAL_OPERANDS)
        return hcy__emit_full(e, "arrays");
    s->slots[s->n_slots] = (struct hcy__slot){ is_temporary, which };
    return s->n_slots++;
}

static int emit_load(struct hcy__emitter *e, int slot, int component, int memory)
{
    if (slot < 0)
        return -1;
    return hcy__emit_step(e, (hcy_eval_step){ .op = HCY_EVAL_LOAD,
                                         .a = (uint16_t)slot,
                                         .b = (uint16_t)component,
                                         .memory = (uint16_t)memory });
}

/* --- Values --- */

static struct hcy__made emit_array(struct hcy__emitter *e, int operand)
{
    int dtype = e->operands[operand].array->dtype, memory = hcy__memory_of(dtype),
        slot = hcy__find_slot(e, 0, operand);
    /* What this stage has written is not in memory for sure before it ends. */
    if (slot >= 0 && e->stage->writes >> slot & 1)
        return e->written[slot];
    /* Half a float is what is stored; a float is what is computed with. */
    struct hcy__made x = { { dtype == HCY_FLOAT16 ? HCY_FLOAT32 : dtype, false },
                           emit_load(e, slot, 0, memory),
                           -1 };
    if (hcy__kind_of(dtype) == HCY__KIND_COMPLEX)
        x.im = emit_load(e, slot, 1, memory);
    return x;
}

static struct hcy__made emit_operand(struct hcy__emitter *e, int operand)
{
    struct hcy__value value = { .source = HCY__SCALAR, .which = operand };
    struct hcy__made x = { { HCY_FLOAT64, true }, -1, -1 };
    switch (e->operands[operand].kind) {
    case HCY_OPERAND_ARRAY:
        return emit_array(e, operand);
    case HCY_OPERAND_INTEGER:
        x.type.dtype = HCY_INT64;
        value.is_integer = 1;
        x.re = hcy__emit_value(e, value, HCY_EVAL_I64);
        break;
    case HCY_OPERAND_COMPLEX:
        x.type.dtype = HCY_COMPLEX128;
        value.source = HCY__SCALAR_IMAG;
        x.im = hcy__emit_value(e, value, HCY_EVAL_F64);
        value.source = HCY__SCALAR; /* fall through */
    default:
        x.re = hcy__emit_value(e, value, HCY_EVAL_F64);
    }
    return x;
}

static struct hcy__made emit_number(struct hcy__emitter *e, const struct hcy__node *node)
{
    struct hcy__value value = { .source = HCY__LITERAL };
    struct hcy__made x = { { HCY_FLOAT64, true }, -1, -1 };
    if (node->kind == HCY__INTEGER) {
        value.is_integer = 1;
        value.bits = (uint64_t)node->integer;
        x.type.dtype = HCY_INT64;
        x.re = hcy__emit_value(e, value, HCY_EVAL_I64);
        return x;
    }
    x.re = hcy__emit_literal(e, node->real, HCY_EVAL_F64);
    if (node->kind == HCY__IMAGINARY) {
        x.type.dtype = HCY_COMPLEX128;
        x.im = x.re;
        x.re = hcy__emit_literal(e, 0, HCY_EVAL_F64);
    }
    return x;
}

/* --- Reductions --- */

static bool is_reduction(const struct hcy__node *node)
{
    return node->kind == HCY__CALL && node->function >= HCY__FN_SUM && node->function < HCY__FN_CUMSUM;
}

static bool is_scan(const struct hcy__node *node)
{
    return node->kind == HCY__CALL && node->function >= HCY__FN_CUMSUM && node->function < HCY__FN_CAST;
}

static void emit_reduction(struct hcy__emitter *e, const struct hcy__reduction *r, int x, int slot, int component,
                           int components)
{
    if (x >= 0 && slot >= 0)
        hcy__emit_step(e, (hcy_eval_step){ .op = (uint16_t)r->op,
                                      .to = (uint16_t)slot,
                                      .a = (uint16_t)x,
                                      .b = (uint16_t)component,
                                      .c = (uint16_t)components,
                                      .memory = (uint16_t)r->memory });
}

void hcy__emit_reductions(struct hcy__emitter *e, const struct hcy__reduction *r, struct hcy__made x, int slot)
{
    const enum hcy_eval_type from = hcy__register_of(x.type.dtype), to = hcy__op_infos[r->op].result;
    const int components = x.im >= 0 ? 2 : 1;
    /* The steps that reduce stand behind all others. */
    int re = hcy__emit_reducible(e, x.re, from, to);
    int im = components == 2 ? hcy__emit_reducible(e, x.im, from, to) : -1;
    emit_reduction(e, r, re, slot, 0, components);
    emit_reduction(e, r, im, slot, 1, components);
}

/* The numbers of pieces are reduced again: operand 0 to operand 1, as numbered in a program of these two. */
static void emit_again(struct hcy__emitter *e, const struct hcy__reduction *r, int components)
{
    /* The steps that reduce stand behind all others. */
    int first = emit_load(e, 0, 0, r->memory), second = components == 2 ? emit_load(e, 0, 1, r->memory) : -1;
    emit_reduction(e, r, first, 1, 0, components);
    emit_reduction(e, r, second, 1, 1, components);
}

/* What is scanned to a number of each piece, where carries will be; arrays and numbers have the places that they have
 * in the stage's own program. */
static void emit_totals(struct hcy__emitter *e, const struct hcy__reduction *r, const struct hcy__node *node)
{
    hcy__emit_reductions(e, r, hcy__emit_node(e, node->kids[0]), e->stage->carry_slot);
}

/* The stage's other program, of the scan of this node, or (NULL) of a reduction. */
static void make_again(struct hcy__emitter *e, const struct hcy__reduction *r, int components,
                       const struct hcy__node *scanned)
{
    struct hcy__steps *steps = calloc(1, sizeof *steps), *before = e->steps;
    hcy_eval_program *again = malloc(sizeof *again);
    if ((!steps || !again) && !e->status)
        e->status = hcy_fail(HCY_ENOMEM, "out of memory for an expression");
    /* It is the stage's from here on, so that whoever fails later frees it with the stage. */
    e->stage->again = again;
    if (!e->status) {
        steps->tree = e->tree;
        e->steps = steps;
        if (scanned)
            emit_totals(e, r, scanned);
        else
            emit_again(e, r, components);
        e->steps = before;
    }
    if (!e->status)
        e->status = hcy__steps_allot(again, steps);
    free(steps);
}

static void reduce_value(struct hcy__emitter *e, const struct hcy__node *node, struct hcy__made x)
{
    struct hcy__reduction r = { 0 };
    struct hcy__compiled *c = e->compiled;
    int components = x.im >= 0 ? 2 : 1;
    hcy__choose_reduction(&r, e, node, x.type.dtype);
    /* With neither an array nor a result there is no shape to go over. */
    if (e->stage->n_slots == 0)
        hcy__emit_refuse(e, "there is no array in ", "what is reduced");
    if (c->n_temporaries == HCY__TEMPORARIES)
        hcy__emit_full(e, "reductions");
    if (e->status)
        return;
    e->stage->temporary = c->n_temporaries;
    c->temporaries[c->n_temporaries++] = (struct hcy__temporary){ r.dtype, r.memory, components };
    int slot = e->stage->target = hcy__find_slot(e, 1, e->stage->temporary);
    hcy__emit_reductions(e, &r, x, slot);
    e->stage->has_empty = r.has_empty;
    e->stage->empty = r.empty;
    make_again(e, &r, components, NULL);
}

static void reduce_node(struct hcy__emitter *e, const struct hcy__node *node)
{
    struct hcy__made x = hcy__emit_node(e, node->kids[0]);
    e->column = node->column;
    reduce_value(e, node, x);
}

static void scan_to_temporary(struct hcy__emitter *e, const struct hcy__node *node);

/* The stage of a reduction or of a scan, if it is not there yet, and the number of its result. */
static int compile_inner(struct hcy__emitter *e, int index)
{
    struct hcy__node *node = &e->tree->nodes[index];
    /* A node may be come to more than once: mean() has its sum as a value and as a count of elements. */
    node->temporary = hcy__made_before(e, index);
    if (node->temporary >= 0 || e->status)
        return node->temporary;
    /* The stage around it is not finished yet, so that this one is made with steps of its own and comes before
     * it. */
    struct hcy__emitter inner = *e;
    hcy__stage_begin(&inner);
    inner.column = node->column;
    if (!inner.status) {
        inner.stage->axes = node->axes;
        inner.stage->made_of = index;
        if (is_scan(node))
            scan_to_temporary(&inner, node);
        else
            reduce_node(&inner, node);
        node->temporary = inner.stage->temporary;
        finish_stage(&inner);
    } else
        hcy__stage_free(inner.stage);
    free(inner.steps);
    e->status = inner.status;
    return node->temporary;
}

/* --- Scans --- */

/* A register of a reduction, or of a scan, as the type that it is of: sums of floats are doubles, extremes of booleans
 * integers. */
static int emit_narrowed(struct hcy__emitter *e, int x, enum hcy_eval_type from, int dtype)
{
    enum hcy_eval_type to = hcy__register_of(dtype);
    if (from == to)
        return x;
    return hcy__emit(e, to == HCY_EVAL_B32 ? HCY_EVAL_TOB_U64 : HCY_EVAL_TOF32_F64, x, -1, -1);
}

static void emit_first(int first[2], struct hcy__emitter *e, const struct hcy__node *node, int dtype,
                       enum hcy_eval_type t)
{
    if (!node->join) {
        first[0] = first[1] = hcy__emit_first(e, node->function, dtype, t);
        return;
    }
    struct hcy__made x = hcy__emit_cast(e, hcy__emit_node(e, node->kids[2]), dtype);
    first[0] = x.re;
    first[1] = x.im;
    /* It was checked to fit its type.  What cuts it down to that is left out: generated scans write values alone
     * where this is read. */
    for (int k = 0; k < 2; k++)
        while (!e->status && first[k] >= 0 && e->steps->step[first[k]].op != HCY_EVAL_VALUE)
            first[k] = e->steps->step[first[k]].a;
}

static int emit_carry(struct hcy__emitter *e, const struct hcy__reduction *r, int component, int components)
{
    return hcy__emit_step(e, (hcy_eval_step){ .op = HCY_EVAL_CARRY,
                                         .a = (uint16_t)e->stage->carry_slot,
                                         .b = (uint16_t)component,
                                         .c = (uint16_t)components,
                                         .memory = (uint16_t)r->memory });
}

/* The scan in the emitter's stage, which has nothing else yet; what is made has the type of the result. */
static struct hcy__made emit_scan(struct hcy__emitter *e, const struct hcy__node *node)
{
    struct hcy__compiled *c = e->compiled;
    struct hcy__reduction r = { 0 };
    struct hcy__made x = hcy__emit_node(e, node->kids[0]);
    int parts[2] = { x.re, x.im }, carries[2] = { -1, -1 }, first[2] = { -1, -1 }, components = x.im >= 0 ? 2 : 1;
    e->column = node->column;
    hcy__choose_reduction(&r, e, node, x.type.dtype);
    if (e->stage->n_slots == 0)
        hcy__emit_refuse(e, "there is no array in ", "what is scanned");
    if (c->n_temporaries == HCY__TEMPORARIES)
        hcy__emit_full(e, "reductions");
    if (e->status)
        return x;
    enum hcy_eval_type from = hcy__register_of(x.type.dtype), t = hcy__op_infos[r.op].result;
    e->stage->axes = node->axes;
    e->stage->scan = node->function;
    e->stage->carries = c->n_temporaries;
    c->temporaries[c->n_temporaries++] = (struct hcy__temporary){ r.dtype, r.memory, components };
    e->stage->carry_slot = hcy__find_slot(e, 1, e->stage->carries);
    /* Steps that scan stand one behind the other: all that they need comes before the first. */
    if (node->axes.exclusive)
        emit_first(first, e, node, r.dtype, t);
    if (node->join)
        hcy__write_totals(e, node, r.dtype);
    for (int k = 0; k < components; k++) {
        parts[k] = hcy__emit_reducible(e, parts[k], from, t);
        carries[k] = emit_carry(e, &r, k, components);
    }
    /* Scans stand in the same order as reductions. */
    uint16_t op = (uint16_t)(r.op - HCY_EVAL_FIRST_REDUCTION + HCY_EVAL_FIRST_SCAN);
    for (int k = 0; k < components && !e->status; k++)
        parts[k] = hcy__emit_step(e, (hcy_eval_step){ .op = op,
                                                 .a = (uint16_t)parts[k],
                                                 .b = (uint16_t)carries[k],
                                                 .c = (uint16_t)(first[k] >= 0 ? first[k] : parts[k]),
                                                      .memory = (uint16_t)(first[k] >= 0) });
    x = (struct hcy__made){ { r.dtype, false }, emit_narrowed(e, parts[0], t, r.dtype), -1 };
    if (components == 2)
        x.im = emit_narrowed(e, parts[1], t, r.dtype);
    make_again(e, &r, components, node);
    return x;
}

static void store_parts(struct hcy__emitter *e, int slot, struct hcy__made x, int memory)
{
    const int parts[2] = { x.re, x.im };
    /* A statement's stores stand behind all its loads, so that an element is read before it is written:
     * hcy__is_hazard() relies on it. */
    for (int k = 0; k < 2 && parts[k] >= 0 && slot >= 0; k++)
        hcy__emit_step(e, (hcy_eval_step){ .op = HCY_EVAL_STORE,
                                      .to = (uint16_t)slot,
                                      .a = (uint16_t)parts[k],
                                      .b = (uint16_t)k,
                                      .memory = (uint16_t)memory });
}

static void scan_to_temporary(struct hcy__emitter *e, const struct hcy__node *node)
{
    struct hcy__compiled *c = e->compiled;
    struct hcy__made x = emit_scan(e, node);
    int dtype = x.type.dtype, memory = hcy__memory_of(dtype);
    if (c->n_temporaries == HCY__TEMPORARIES)
        hcy__emit_full(e, "reductions");
    if (e->status)
        return;
    e->stage->temporary = c->n_temporaries;
    c->temporaries[c->n_temporaries++] = (struct hcy__temporary){ dtype, memory, x.im >= 0 ? 2 : 1 };
    e->stage->target = hcy__find_slot(e, 1, e->stage->temporary);
    store_parts(e, e->stage->target, x, memory);
}

static struct hcy__made emit_temporary(struct hcy__emitter *e, int which)
{
    struct hcy__made x = { { HCY_INT64, false }, -1, -1 };
    if (which < 0)
        return x;
    const struct hcy__temporary *t = &e->compiled->temporaries[which];
    int slot = hcy__find_slot(e, 1, which);
    int parts[2] = { -1, -1 };
    for (int k = 0; k < t->components; k++)
        parts[k] = emit_narrowed(e, emit_load(e, slot, k, t->memory), hcy__memory_infos[t->memory].type, t->dtype);
    x.type.dtype = t->dtype;
    x.re = parts[0];
    x.im = parts[1];
    return x;
}

/* --- The tree --- */

static struct hcy__made emit_how_many(struct hcy__emitter *e, const struct hcy__node *node)
{
    struct hcy__value value = { .source = HCY__ELEMENTS, .which = compile_inner(e, node->kids[0]) };
    /* It is weak, so that the mean of float32 is a float32. */
    struct hcy__made x = { { HCY_FLOAT64, true }, -1, -1 };
    x.re = hcy__emit_value(e, value, HCY_EVAL_F64);
    return x;
}

static struct hcy__made emit_call(struct hcy__emitter *e, const struct hcy__node *node)
{
    struct hcy__made args[3];
    for (int k = 0; k < 3; k++)
        args[k] = (struct hcy__made){ { HCY_INT64, true }, -1, -1 };
    const struct hcy__node *power = node->function == HCY__FN_POW ? &e->tree->nodes[node->kids[1]] : NULL;
    /* A few products are quicker than any power, and the same in all types; the exponent is part of the operation. */
    bool multiplies = power && power->kind == HCY__INTEGER && power->integer >= 0 && power->integer <= 16;
    for (int k = 0; k < (multiplies ? 1 : 3) && node->kids[k] >= 0 && !e->status; k++)
        args[k] = hcy__emit_node(e, node->kids[k]);
    /* The arguments have left columns of their own behind; what fails from here on is this operation. */
    e->column = node->column;
    if (e->status)
        return args[0];
    return multiplies ? hcy__emit_power(e, args[0], power->integer) : hcy__emit_call(e, node, args);
}

static struct hcy__made make_node(struct hcy__emitter *e, int index)
{
    struct hcy__made x = { { HCY_INT64, false }, -1, -1 };
    const struct hcy__node *node = &e->tree->nodes[index];
    bool reads = node->kind == HCY__OPERAND && e->operands[node->operand].kind == HCY_OPERAND_ARRAY;
    e->column = node->column;
    /* Two numbers are joined at any place of a tree, where there is neither an element nor its number. */
    if (e->sides && (reads || node->kind == HCY__INDEX || is_reduction(node) || is_scan(node)))
        hcy__emit_refuse(e, "what joins two numbers knows these two and numbers alone", "");
    if (e->status)
        return x;
    switch (node->kind) {
    case HCY__OPERAND:
        return emit_operand(e, node->operand);
    case HCY__LEFT:
    case HCY__RIGHT:
        return e->sides[node->kind == HCY__RIGHT];
    case HCY__HOW_MANY:
        return emit_how_many(e, node);
    case HCY__INDEX:
    case HCY__PLACE:
        x.re = hcy__emit_step(e, (hcy_eval_step){ .op = node->kind == HCY__INDEX ? HCY_EVAL_INDEX : HCY_EVAL_PLACE });
        return x;
    case HCY__CALL:
        return is_reduction(node) || is_scan(node) ? emit_temporary(e, compile_inner(e, index))
                                                   : emit_call(e, node);
    default:
        return emit_number(e, node);
    }
}

struct hcy__made hcy__emit_node(struct hcy__emitter *e, int index)
{
    /* Locals and arguments are read in many places, and within one another: each walk anew would double with each. */
    if (e->steps->is_made[index] && !e->status) {
        e->column = e->tree->nodes[index].column;
        return e->steps->made[index];
    }
    struct hcy__made x = make_node(e, index);
    e->steps->is_made[index] = !e->status;
    e->steps->made[index] = x;
    return x;
}

void hcy__emit_stores(struct hcy__emitter *e, int target, struct hcy__made x)
{
    int dtype = e->operands[target].array->dtype, memory = hcy__memory_of(dtype);
    char what[64];
    /* Within a kind numbers may become narrower; a part or a fraction is given up only if the text says so. */
    if (hcy__kind_of(x.type.dtype) > hcy__kind_of(dtype)) {
        snprintf(what, sizeof what, "%s is not assigned to %s without ", hcy_dtype_name(x.type.dtype),
                 hcy_dtype_name(dtype));
        hcy__emit_refuse(e, what, "the name of a type around it");
    }
    x = hcy__emit_cast(e, x, dtype);
    e->stage->target = hcy__find_slot(e, 0, target);
    store_parts(e, e->stage->target, x, memory);
    if (e->status)
        return;
    e->stage->writes |= 1u << e->stage->target;
    e->written[e->stage->target] = x;
}

static void compile_statement(struct hcy__emitter *e, int i)
{
    e->column = e->tree->statements[i].column;
    e->first_temporary = e->compiled->n_temporaries;
    hcy__stage_begin(e);
    if (!e->status) {
        e->stage->made_of = i;
        const struct hcy__node *value = &e->tree->nodes[e->tree->statements[i].value];
        /* A scan that is all there is writes to the array, and needs no room of its own. */
        struct hcy__made x = is_scan(value) ? emit_scan(e, value) : hcy__emit_node(e, e->tree->statements[i].value);
        e->column = e->tree->statements[i].column;
        if (!e->status)
            hcy__emit_stores(e, e->tree->statements[i].target, x);
        finish_stage(e);
    } else
        hcy__stage_free(e->stage);
    /* The steps have become the stage's program by now. */
    free(e->steps);
}

int hcy__compile(struct hcy__compiled *compiled, struct hcy__tree *tree, const hcy_operand *operands,
                 size_t n)
{
    struct hcy__emitter e = { .tree = tree, .operands = operands, .compiled = compiled };
    (void)n;
    memset(compiled, 0, sizeof *compiled);
    compiled->fast = tree->fast;
    hcy__find_alike(tree);
    for (int i = 0; i < tree->n_statements && !e.status; i++)
        compile_statement(&e, i);
    if (e.status) {
        hcy__compiled_free(compiled);
        return e.status;
    }
    hcy__find_direct(compiled);
    hcy__find_joints(&e);
    return 0;
}

void hcy__compiled_free(struct hcy__compiled *compiled)
{
    for (int i = 0; i < hcy__all_stages(compiled); i++)
        hcy__stage_free(compiled->stages[i]);
    compiled->n_stages = compiled->n_joints = 0;
}
