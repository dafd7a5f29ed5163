/* generate.c - a program of eval_format.h as a kernel's text: straight code for one element, a register a variable.
 * What reduces and what scans has files of its own. */
#include "generate.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Generated from families/eval: eval_format.h and eval_helpers.h; eval_floats.h with what it includes. */
extern const char hcy__eval_text[], hcy__maths_text[];

void hcy__put(struct hcy__text *t, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(NULL, 0, format, ap);
    va_end(ap);
    if (t->failed || n < 0)
        return;
    if (t->used + (size_t)n + 1 > t->room) {
        /* Room is doubled, so that a text of many small pieces is copied only a few times. */
        size_t room = 2 * t->room + (size_t)n + 1024;
        char *more = realloc(t->at, room);
        t->failed = !more;
        if (!more)
            return;
        t->at = more;
        t->room = room;
    }
    va_start(ap, format);
    vsnprintf(t->at + t->used, (size_t)n + 1, format, ap);
    va_end(ap);
    t->used += (size_t)n;
}

const char *hcy__type_name(enum hcy_eval_type type)
{
    return hcy__type_names[type];
}

/* The operations that the program uses, as functions. */
static void write_operation(struct hcy__text *t, char *written, enum hcy_eval_op op, bool fast)
{
    const struct hcy__op_info *info = &hcy__op_infos[op];
    /* A function that is defined twice does not compile. */
    if (written[op])
        return;
    written[op] = 1;
    hcy__put(t, "HELPER %s op_%s(%s a", hcy__type_name(info->result), info->name, hcy__type_name(info->types[0]));
    for (int k = 1; k < info->arity; k++)
        hcy__put(t, ", %s %c", hcy__type_name(info->types[k]), 'a' + k);
    /* Of exp_f32(a) the device's own function is exp(a), which is of both types in either language. */
    const char *arguments = strchr(info->text, '('), *own = fast ? hcy__own_function(op) : NULL;
    if (own)
        hcy__put(t, ")\n{\n    return %s%s;\n}\n", own, arguments);
    else
        hcy__put(t, ")\n{\n    return %s;\n}\n", info->text);
}

static void write_operations_of(struct hcy__text *t, char *written, const hcy_eval_step *steps, uint32_t n, bool fast)
{
    for (uint32_t i = 0; i < n; i++) {
        enum hcy_eval_op op = steps[i].op;
        /* A reduction's tree is written out, so that of it only the operation that joins two numbers is a
         * function. */
        if (op >= HCY_EVAL_FIRST_SCAN)
            op = hcy__op_infos[op].join;
        /* Values, indices, loads and stores are written where they stand. */
        if (op >= HCY_EVAL_FIRST_OP)
            write_operation(t, written, op, fast);
    }
}

static void write_operations(struct hcy__text *t, const hcy_eval_program *p, bool fast)
{
    char written[HCY_EVAL_END] = { 0 };
    write_operations_of(t, written, p->steps, p->n_steps, fast);
    write_operations_of(t, written, p->join.steps, p->join.n_steps, fast);
}

static bool have_maths(const hcy_eval_step *steps, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (steps[i].op >= HCY_EVAL_FIRST_MATHS && steps[i].op < HCY_EVAL_FIRST_SCAN)
            return true;
    return false;
}

static void write_head(struct hcy__text *t, const struct hcy__eval_dialect *dialect, const hcy_eval_program *p)
{
    /* The dialect and the types come first: the functions that all devices share are written in them. */
    hcy__put(t, "%s", dialect->text);
    hcy__put(t,
             "typedef int8_t i8; typedef uint8_t u8; typedef int16_t i16; typedef uint16_t u16; typedef "
             "int32_t i32;\n"
             "typedef int32_t b32; typedef uint32_t u32; typedef int64_t i64; typedef uint64_t u64;\n"
             "typedef float f32; typedef double f64;\n%s",
             hcy__eval_text);
    /* Most programs do without, and compile the sooner. */
    if (have_maths(p->steps, p->n_steps) || have_maths(p->join.steps, p->join.n_steps))
        hcy__put(t, "%s", hcy__maths_text);
}

static void write_signature(struct hcy__text *t, uint32_t n_operands)
{
    hcy__put(t, "KERNEL void eval_run(const hcy_eval_job job, const hcy_eval_strides low%s",
             n_operands > 4 ? ", const hcy_eval_strides high" : "");
    for (uint32_t k = 0; k < n_operands; k++)
        hcy__put(t, ", GLOBAL u8 *o%u", k);
    hcy__put(t, ")\n{\n");
}

void hcy__write_places_of(struct hcy__text *t, const char *item, const char *number, struct hcy__form form,
                          uint32_t n_operands, char place)
{
    /* Few arrays have 2^31 elements, and GPUs divide 32 bits far faster than 64 and multiply them at once. */
    const char *index = form.wide ? "u64" : "u32", *part = form.wide ? "i64" : "i32";
    hcy__put(t, "    %s rest%s = (%s)%s%s;\n", index, item, index, number, item);
    for (int d = form.rank; d-- > 0;)
        if (d)
            hcy__put(t,
                     "    const %s x%d%s = (%s)(rest%s %% (%s)job.shape[%d]);\n"
                     "    rest%s /= (%s)job.shape[%d];\n",
                     part, d, item, part, item, index, d, item, index, d);
        else
            hcy__put(t, "    const %s x0%s = (%s)rest%s;\n", part, item, part, item);
    for (uint32_t k = 0; k < n_operands; k++) {
        hcy__put(t, "    const i64 %c%u%s = (i64)job.offset[%u]", place, k, item, k);
        for (int d = 0; d < form.rank; d++)
            hcy__put(t, " + (i64)x%d%s * (%s)%s.of[%u][%d]", d, item, part, k < 4 ? "low" : "high", k % 4, d);
        hcy__put(t, ";\n");
    }
}

void hcy__write_places(struct hcy__text *t, const char *item, struct hcy__form form, uint32_t n_operands)
{
    hcy__write_places_of(t, item, "i", form, n_operands, 'p');
}

static void write_value(struct hcy__text *t, const char *item, const hcy_eval_step *s, uint32_t i)
{
    static const char *const forms[] = { "(b32)(job.values[%u] != 0)", "(i64)job.values[%u]",
                                         "job.values[%u]", "(f32)DOUBLE_OF_BITS(job.values[%u])",
                                         "DOUBLE_OF_BITS(job.values[%u])" };
    char value[64];
    size_t n = strcspn(forms[s->memory], "%");
    /* The one number of each form is which of the job's values. */
    snprintf(value, sizeof value, "%.*s%u%s", (int)n, forms[s->memory], s->a, forms[s->memory] + n + 2);
    hcy__put(t, "    const %s s%u%s = %s;\n", hcy__type_name(s->memory), i, item, value);
}

/* A step, whose register is variable i; `now` has the variable of each register. */
static void write_step(struct hcy__text *t, const char *item, const hcy_eval_step *s, uint32_t i, const uint32_t *now)
{
    /* Only loads and stores have a memory; for other steps any row will do that is there. */
    const struct hcy__memory_info *m = &hcy__memory_infos[s->memory < HCY_EVAL_MEMORIES ? s->memory : 0];
    const struct hcy__op_info *info = &hcy__op_infos[s->op];
    switch (s->op) {
    case HCY_EVAL_VALUE:
        write_value(t, item, s, i);
        return;
    case HCY_EVAL_INDEX:
        hcy__put(t, "    const i64 s%u%s = (i64)i%s;\n", i, item, item);
        return;
    case HCY_EVAL_PLACE:
        hcy__put(t, "    const i64 s%u = (i64)inside;\n", i);
        return;
    case HCY_EVAL_LOAD:
        /* The table's expressions are of x, which each load may name anew in a block of its own. */
        hcy__put(t,
                 "    %s s%u%s = 0;\n    %s%s%s{\n        const %s x = ((GLOBAL const %s *)o%u)[p%u%s + %u];\n"
                 "        s%u%s = %s;\n    }\n",
                 m->reg, i, item, *item ? "if (in" : "", item, *item ? ") " : "", m->memory, m->memory, s->a, s->a,
                 item, s->b, i, item, m->loaded);
        return;
    case HCY_EVAL_CARRY:
        hcy__put(t,
                 "    %s s%u = 0;\n    if (begin) {\n        const %s x = ((GLOBAL const %s *)o%u)[number * %u + %u];\n"
                 "        s%u = %s;\n    }\n",
                 m->reg, i, m->memory, m->memory, s->a, s->c, s->b, i, m->loaded);
        return;
    case HCY_EVAL_STORE:
        hcy__put(t, "    %s%s%s{\n        const %s x = s%u%s;\n        ((GLOBAL %s *)o%u)[p%u%s + %u] = %s;\n    }\n",
                 *item ? "if (in" : "", item, *item ? ") " : "", m->reg, now[s->a], item, m->memory, s->to, s->to, item,
                 s->b, m->stored);
        return;
    }
    /* Every step makes a variable of its own, even where the program uses a register again: allotting them is the
     * compiler's. */
    const uint16_t args[3] = { s->a, s->b, s->c };
    hcy__put(t, "    const %s s%u%s = op_%s(s%u%s", hcy__type_name(info->result), i, item, info->name, now[s->a], item);
    for (int k = 1; k < info->arity; k++)
        hcy__put(t, ", s%u%s", now[args[k]], item);
    hcy__put(t, ");\n");
}

void hcy__write_steps(struct hcy__text *t, const char *const *items, const hcy_eval_program *p, uint32_t *now,
                        uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        const hcy_eval_step *s = &p->steps[i];
        if (s->op >= HCY_EVAL_FIRST_REDUCTION)
            continue;
        for (int k = 0; items[k]; k++)
            write_step(t, items[k], s, i, now);
        /* Of a store this is an operand and no register. */
        if (s->op != HCY_EVAL_STORE)
            now[s->to] = i;
    }
}

const char *const hcy__one_item[] = { "", NULL };
/* HCY__EVAL_AT_ONCE of them. */
const char *const hcy__items_at_once[] = { "_0", "_1", "_2", "_3", NULL };

/* A work item has several elements, a group's width apart, and takes each step for all of them: as many loads are on
 * their way at once, which a single one in each item does not keep memory busy with. */
static void write_map(struct hcy__text *t, const hcy_eval_program *p, struct hcy__form form, uint32_t n_operands)
{
    uint32_t now[HCY_EVAL_REGISTERS] = { 0 };
    hcy__put(t, "    const u64 first = GROUP * (GROUP_ITEMS * %d) + ITEM;\n", HCY__EVAL_AT_ONCE);
    for (int k = 0; k < HCY__EVAL_AT_ONCE; k++) {
        const char *item = hcy__items_at_once[k];
        hcy__put(t, "    const u64 i%s = first + GROUP_ITEMS * %d;\n    const int in%s = i%s < job.n;\n", item, k, item,
                 item);
        hcy__write_places(t, item, form, n_operands);
    }
    hcy__write_steps(t, hcy__items_at_once, p, now, 0, p->n_steps);
}

/* In the names @ is a step's number. */
static void append_name(struct hcy__text *t, const char *name, uint32_t r)
{
    for (; *name; name++)
        if (*name == '@')
            hcy__put(t, "%u", r);
        else
            hcy__put(t, "%c", *name);
}

/* The program's own join reads all its numbers before it writes one: they may be the same variables. */
static void write_own_join(struct hcy__text *t, const hcy_eval_program *p, const char *to, const char *left,
                           const char *right)
{
    const hcy_eval_join *join = &p->join;
    uint32_t now[HCY_EVAL_REGISTERS] = { 0 };
    hcy__put(t, "    {\n");
    for (uint32_t i = 0; i < join->n_steps; i++) {
        const hcy_eval_step *s = &join->steps[i];
        if (s->op == HCY_EVAL_LEFT || s->op == HCY_EVAL_RIGHT) {
            hcy__put(t, "    const %s s%u_j = ", hcy__type_name(s->memory), i);
            append_name(t, s->op == HCY_EVAL_LEFT ? left : right, s->a);
            hcy__put(t, ";\n");
        } else if (s->op == HCY_EVAL_JOINED) {
            hcy__put(t, "    ");
            append_name(t, to, s->b);
            hcy__put(t, " = s%u_j;\n", now[s->a]);
            continue;
        } else
            write_step(t, "_j", s, i, now);
        now[s->to] = i;
    }
    hcy__put(t, "    }\n");
}

void hcy__write_join(struct hcy__text *t, const hcy_eval_program *p, const hcy_eval_step *steps, const char *to,
                       const char *left, const char *right)
{
    uint32_t n = p->reduces ? p->reduces : p->scans;
    if (HCY_EVAL_IS_OWN(steps->op)) {
        write_own_join(t, p, to, left, right);
        return;
    }
    for (uint32_t r = 0; r < n; r++) {
        hcy__put(t, "    ");
        append_name(t, to, r);
        hcy__put(t, " = op_%s(", hcy__op_infos[hcy__op_infos[steps[r].op].join].name);
        append_name(t, left, r);
        hcy__put(t, ", ");
        append_name(t, right, r);
        hcy__put(t, ");\n");
    }
}

char *hcy__generate(const hcy_eval_program *p, const struct hcy__eval_dialect *dialect, struct hcy__form form,
                    uint32_t n_operands, bool fast)
{
    struct hcy__text t = { 0 };
    write_head(&t, dialect, p);
    write_operations(&t, p, fast);
    write_signature(&t, n_operands);
    if (p->reduces && form.columns)
        hcy__write_columns(&t, p, form, n_operands);
    else if (p->reduces)
        hcy__write_reduction(&t, p, form, n_operands);
    else if (p->scans)
        hcy__write_scan(&t, p, form, n_operands);
    else
        write_map(&t, p, form, n_operands);
    hcy__put(&t, "}\n");
    if (t.failed)
        free(t.at);
    return t.failed ? NULL : t.at;
}
