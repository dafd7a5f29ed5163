/* own.c - what joins two numbers where a text brings a function for it: reduce(f, x), scan(f, x).  The function becomes
 * steps of its own beside the stage's program (hcy_eval_join), which know the two numbers and no arrays. */
#include "emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum hcy_eval_op hcy__own_reduction(struct hcy__emitter *e, int dtype)
{
    static const enum hcy_eval_op ops[] = { HCY_EVAL_OWN_U64, HCY_EVAL_OWN_I64, HCY_EVAL_OWN_U64, HCY_EVAL_OWN_F32,
                                            HCY_EVAL_OWN_F64 };
    /* A boolean is stored as a byte and computed with as a word: which one a function makes would be a guess. */
    if (dtype == HCY_BOOL)
        hcy__emit_refuse(e, "what a function joins are numbers: write uint8() around these truths", "");
    return ops[hcy__register_of(dtype)];
}

void hcy__emit_nothing(struct hcy__emitter *e, const struct hcy__node *node, int dtype)
{
    const struct hcy__node *nothing = node->kids[2] >= 0 ? &e->tree->nodes[node->kids[2]] : NULL;
    struct hcy__stage *s = e->stage;
    s->is_own = true;
    s->nothing_of = nothing ? nothing->operand : -1;
    if (!nothing)
        return;
    /* A literal as an operand, so that one launch serves both. */
    if (nothing->kind == HCY__INTEGER)
        s->nothing = hcy_op_integer("", nothing->integer);
    else if (nothing->kind == HCY__REAL)
        s->nothing = hcy_op_real("", nothing->real);
    else if (nothing->kind == HCY__IMAGINARY)
        s->nothing = hcy_op_complex("", 0, nothing->real);
    static const enum hcy__kind kinds[] = { [HCY_OPERAND_INTEGER] = HCY__KIND_INTEGER,
                                            [HCY_OPERAND_REAL] = HCY__KIND_REAL,
                                            [HCY_OPERAND_COMPLEX] = HCY__KIND_COMPLEX };
    int kind = s->nothing_of >= 0 ? e->operands[s->nothing_of].kind : s->nothing.kind;
    e->column = nothing->column;
    if ((int)kinds[kind] > hcy__kind_of(dtype))
        hcy__emit_refuse(e, "what no elements make is no number of theirs, which are ", hcy_dtype_name(dtype));
    struct hcy__value value = { .source = s->nothing_of >= 0 ? HCY__SCALAR : HCY__LITERAL,
                                .which = s->nothing_of,
                                .bits = (uint64_t)nothing->integer };
    if (kind == HCY_OPERAND_INTEGER && hcy__kind_of(dtype) == HCY__KIND_INTEGER)
        hcy__emit_fit(e, &value, dtype);
}

static struct hcy__made emit_side(struct hcy__emitter *e, enum hcy_eval_op op, int dtype)
{
    struct hcy__made x = { { dtype, false }, -1, -1 };
    int parts[2] = { -1, -1 };
    for (int k = 0; k < 1 + (hcy__kind_of(dtype) == HCY__KIND_COMPLEX); k++)
        parts[k] = hcy__emit_step(e, (hcy_eval_step){ .op = (uint16_t)op,
                                                      .a = (uint16_t)k,
                                                      .memory = (uint16_t)hcy__register_of(dtype) });
    x.re = parts[0];
    x.im = parts[1];
    return x;
}

static void emit_joined(struct hcy__emitter *e, const struct hcy__node *node, int dtype)
{
    struct hcy__made sides[2] = { emit_side(e, HCY_EVAL_LEFT, dtype), emit_side(e, HCY_EVAL_RIGHT, dtype) };
    char what[80];
    e->sides = sides;
    struct hcy__made x = hcy__emit_node(e, node->kids[1]);
    e->column = node->column;
    if (!e->status && hcy__kind_of(x.type.dtype) > hcy__kind_of(dtype)) {
        snprintf(what, sizeof what, "the function makes %s of two numbers that are ", hcy_dtype_name(x.type.dtype));
        hcy__emit_refuse(e, what, hcy_dtype_name(dtype));
    }
    x = hcy__emit_cast(e, x, dtype);
    const int parts[2] = { x.re, x.im };
    for (int k = 0; k < 2 && parts[k] >= 0; k++)
        hcy__emit_step(e, (hcy_eval_step){ .op = HCY_EVAL_JOINED, .a = (uint16_t)parts[k], .b = (uint16_t)k });
    e->sides = NULL;
}

void hcy__emit_join(struct hcy__emitter *e, const struct hcy__node *node, int dtype)
{
    struct hcy__emitter inner = *e;
    hcy_eval_program *program = malloc(sizeof *program);
    inner.steps = calloc(1, sizeof *inner.steps);
    if (!inner.status && (!program || !inner.steps))
        inner.status = hcy_fail(HCY_ENOMEM, "out of memory for an expression");
    if (!inner.status) {
        inner.steps->tree = e->tree;
        emit_joined(&inner, node, dtype);
    }
    if (!inner.status)
        inner.status = hcy__steps_allot(program, inner.steps);
    if (!inner.status && program->n_steps > HCY_EVAL_JOIN)
        hcy__emit_full(&inner, "operations of a function that joins two numbers");
    if (!inner.status) {
        hcy_eval_join *join = &e->stage->join;
        join->n_steps = program->n_steps;
        join->n_registers = program->n_registers;
        memcpy(join->steps, program->steps, program->n_steps * sizeof *join->steps);
    }
    e->status = inner.status;
    free(inner.steps);
    free(program);
}

void hcy__write_totals(struct hcy__emitter *e, const struct hcy__node *node, int dtype)
{
    /* The scan of the pieces' numbers is an expression of its own, with the same functions, of the same type: small
     * integers lie in memory as large ones here, and would not wrap.  Nobody reads what its first number is, so that 0
     * will do. */
    static const char form[] = "hcy_c = scan(%.*s, %s(hcy_t), 0, axis=1, exclusive=True)";
    const struct hcy__tree *tree = e->tree;
    int length = (int)strspn(node->join, HCY__NAME_LETTERS);
    size_t size = sizeof form + (size_t)length + strlen(hcy_dtype_name(dtype)) + 8, at = 0;
    for (int i = 0; i < tree->n_definitions; i++)
        size += (size_t)(tree->definitions[i].end - tree->definitions[i].begin) + 2;
    char *text = e->stage->totals = malloc(size);
    if (!text && !e->status)
        e->status = hcy_fail(HCY_ENOMEM, "out of memory for an expression");
    if (!text)
        return;
    at = (size_t)snprintf(text, size, "%s", tree->fast ? "fast:" : "");
    /* A definition may end with a remark, which ends with its line. */
    for (int i = 0; i < tree->n_definitions; i++)
        at += (size_t)snprintf(text + at, size - at, "%.*s\n;",
                               (int)(tree->definitions[i].end - tree->definitions[i].begin),
                               tree->definitions[i].begin);
    snprintf(text + at, size - at, form, length, node->join, hcy_dtype_name(dtype));
}
