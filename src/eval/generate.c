/* generate.c - a program of eval_format.h as a kernel's text: straight code for one element, a register a variable.
 * Where the program reduces, a group takes a piece and a work item a lane of the tree. */
#include "room.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Generated from families/eval: eval_format.h and eval_helpers.h; eval_floats.h with what it includes. */
extern const char hcy__eval_text[], hcy__maths_text[];

/* A text that grows; once memory is out it stays as it is. */
struct text {
    char *at;
    size_t used, room;
    int failed;
};

static void append(struct text *t, const char *format, ...) HCY_PRINTF(2, 3);
static void append(struct text *t, const char *format, ...)
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

static const char *type_name(enum hcy_eval_type type)
{
    return hcy__type_names[type];
}

/* The operations that the program uses, as functions. */
static void write_operation(struct text *t, char *written, enum hcy_eval_op op, bool fast)
{
    const struct hcy__op_info *info = &hcy__op_infos[op];
    /* A function that is defined twice does not compile. */
    if (written[op])
        return;
    written[op] = 1;
    append(t, "HELPER %s op_%s(%s a", type_name(info->result), info->name, type_name(info->types[0]));
    for (int k = 1; k < info->arity; k++)
        append(t, ", %s %c", type_name(info->types[k]), 'a' + k);
    /* Of exp_f32(a) the device's own function is exp(a), which is of both types in either language. */
    const char *arguments = strchr(info->text, '('), *own = fast ? hcy__own_function(op) : NULL;
    if (own)
        append(t, ")\n{\n    return %s%s;\n}\n", own, arguments);
    else
        append(t, ")\n{\n    return %s;\n}\n", info->text);
}

static void write_operations_of(struct text *t, char *written, const hcy_eval_step *steps, uint32_t n, bool fast)
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

static void write_operations(struct text *t, const hcy_eval_program *p, bool fast)
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

static void write_head(struct text *t, const struct hcy__eval_dialect *dialect, const hcy_eval_program *p)
{
    /* The dialect and the types come first: the functions that all devices share are written in them. */
    append(t, "%s", dialect->text);
    append(t,
           "typedef int8_t i8; typedef uint8_t u8; typedef int16_t i16; typedef uint16_t u16; typedef "
           "int32_t i32;\n"
           "typedef int32_t b32; typedef uint32_t u32; typedef int64_t i64; typedef uint64_t u64;\n"
           "typedef float f32; typedef double f64;\n%s",
           hcy__eval_text);
    /* Most programs do without, and compile the sooner. */
    if (have_maths(p->steps, p->n_steps) || have_maths(p->join.steps, p->join.n_steps))
        append(t, "%s", hcy__maths_text);
}

static void write_signature(struct text *t, uint32_t n_operands)
{
    append(t, "KERNEL void eval_run(const hcy_eval_job job, const hcy_eval_strides low%s",
           n_operands > 4 ? ", const hcy_eval_strides high" : "");
    for (uint32_t k = 0; k < n_operands; k++)
        append(t, ", GLOBAL u8 *o%u", k);
    append(t, ")\n{\n");
}

/* Where element i of each operand is.  `item` ends the names of an element's variables, where several elements have
 * theirs side by side; "" of a single one. */
static void write_places(struct text *t, const char *item, struct hcy__form form, uint32_t n_operands)
{
    /* Few arrays have 2^31 elements, and GPUs divide 32 bits far faster than 64 and multiply them at once. */
    const char *index = form.wide ? "u64" : "u32", *part = form.wide ? "i64" : "i32";
    append(t, "    %s rest%s = (%s)i%s;\n", index, item, index, item);
    for (int d = form.rank; d-- > 0;)
        if (d)
            append(t,
                   "    const %s x%d%s = (%s)(rest%s %% (%s)job.shape[%d]);\n    rest%s /= (%s)job.shape[%d];\n",
                   part, d, item, part, item, index, d, item, index, d);
        else
            append(t, "    const %s x0%s = (%s)rest%s;\n", part, item, part, item);
    for (uint32_t k = 0; k < n_operands; k++) {
        append(t, "    const i64 p%u%s = (i64)job.offset[%u]", k, item, k);
        for (int d = 0; d < form.rank; d++)
            append(t, " + (i64)x%d%s * (%s)%s.of[%u][%d]", d, item, part, k < 4 ? "low" : "high", k % 4, d);
        append(t, ";\n");
    }
}

static void write_value(struct text *t, const char *item, const hcy_eval_step *s, uint32_t i)
{
    static const char *const forms[] = { "(b32)(job.values[%u] != 0)", "(i64)job.values[%u]",
                                         "job.values[%u]", "(f32)DOUBLE_OF_BITS(job.values[%u])",
                                         "DOUBLE_OF_BITS(job.values[%u])" };
    char value[64];
    size_t n = strcspn(forms[s->memory], "%");
    /* The one number of each form is which of the job's values. */
    snprintf(value, sizeof value, "%.*s%u%s", (int)n, forms[s->memory], s->a, forms[s->memory] + n + 2);
    append(t, "    const %s s%u%s = %s;\n", type_name(s->memory), i, item, value);
}

/* A step, whose register is variable i; `now` has the variable of each register. */
static void write_step(struct text *t, const char *item, const hcy_eval_step *s, uint32_t i, const uint32_t *now)
{
    /* Only loads and stores have a memory; for other steps any row will do that is there. */
    const struct hcy__memory_info *m = &hcy__memory_infos[s->memory < HCY_EVAL_MEMORIES ? s->memory : 0];
    const struct hcy__op_info *info = &hcy__op_infos[s->op];
    switch (s->op) {
    case HCY_EVAL_VALUE:
        write_value(t, item, s, i);
        return;
    case HCY_EVAL_INDEX:
        append(t, "    const i64 s%u%s = (i64)i%s;\n", i, item, item);
        return;
    case HCY_EVAL_PLACE:
        append(t, "    const i64 s%u = (i64)inside;\n", i);
        return;
    case HCY_EVAL_LOAD:
        /* The table's expressions are of x, which each load may name anew in a block of its own. */
        append(t,
               "    %s s%u%s = 0;\n    %s%s%s{\n        const %s x = ((GLOBAL const %s *)o%u)[p%u%s + %u];\n"
               "        s%u%s = %s;\n    }\n",
               m->reg, i, item, *item ? "if (in" : "", item, *item ? ") " : "", m->memory, m->memory, s->a, s->a,
               item, s->b, i, item, m->loaded);
        return;
    case HCY_EVAL_CARRY:
        append(t,
               "    %s s%u = 0;\n    if (begin) {\n        const %s x = ((GLOBAL const %s *)o%u)[number * %u + %u];\n"
               "        s%u = %s;\n    }\n",
               m->reg, i, m->memory, m->memory, s->a, s->c, s->b, i, m->loaded);
        return;
    case HCY_EVAL_STORE:
        append(t, "    %s%s%s{\n        const %s x = s%u%s;\n        ((GLOBAL %s *)o%u)[p%u%s + %u] = %s;\n    }\n",
               *item ? "if (in" : "", item, *item ? ") " : "", m->reg, now[s->a], item, m->memory, s->to, s->to, item,
               s->b, m->stored);
        return;
    }
    /* Every step makes a variable of its own, even where the program uses a register again: allotting them is the
     * compiler's. */
    const uint16_t args[3] = { s->a, s->b, s->c };
    append(t, "    const %s s%u%s = op_%s(s%u%s", type_name(info->result), i, item, info->name, now[s->a], item);
    for (int k = 1; k < info->arity; k++)
        append(t, ", s%u%s", now[args[k]], item);
    append(t, ");\n");
}

/* Steps from one to another, but those that reduce, each for all `items`. */
static void write_steps(struct text *t, const char *const *items, const hcy_eval_program *p, uint32_t *now,
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

static const char *const one_item[] = { "", NULL };
/* HCY__EVAL_AT_ONCE of them. */
static const char *const items_at_once[] = { "_0", "_1", "_2", "_3", NULL };

/* A work item has several elements, a group's width apart, and takes each step for all of them: as many loads are on
 * their way at once, which a single one in each item does not keep memory busy with. */
static void write_map(struct text *t, const hcy_eval_program *p, struct hcy__form form, uint32_t n_operands)
{
    uint32_t now[HCY_EVAL_REGISTERS] = { 0 };
    append(t, "    const u64 first = GROUP * (GROUP_ITEMS * %d) + ITEM;\n", HCY__EVAL_AT_ONCE);
    for (int k = 0; k < HCY__EVAL_AT_ONCE; k++) {
        const char *item = items_at_once[k];
        append(t, "    const u64 i%s = first + GROUP_ITEMS * %d;\n    const int in%s = i%s < job.n;\n", item, k, item,
               item);
        write_places(t, item, form, n_operands);
    }
    write_steps(t, items_at_once, p, now, 0, p->n_steps);
}

/* "TO = LEFT joined with RIGHT" of each of the n steps that reduce or scan.  In the names @ is a step's number r. */
static void append_name(struct text *t, const char *name, uint32_t r)
{
    for (; *name; name++)
        if (*name == '@')
            append(t, "%u", r);
        else
            append(t, "%c", *name);
}

/* The program's own join reads all its numbers before it writes one: they may be the same variables. */
static void write_own_join(struct text *t, const hcy_eval_program *p, const char *to, const char *left,
                           const char *right)
{
    const hcy_eval_join *join = &p->join;
    uint32_t now[HCY_EVAL_REGISTERS] = { 0 };
    append(t, "    {\n");
    for (uint32_t i = 0; i < join->n_steps; i++) {
        const hcy_eval_step *s = &join->steps[i];
        if (s->op == HCY_EVAL_LEFT || s->op == HCY_EVAL_RIGHT) {
            append(t, "    const %s s%u_j = ", type_name(s->memory), i);
            append_name(t, s->op == HCY_EVAL_LEFT ? left : right, s->a);
            append(t, ";\n");
        } else if (s->op == HCY_EVAL_JOINED) {
            append(t, "    ");
            append_name(t, to, s->b);
            append(t, " = s%u_j;\n", now[s->a]);
            continue;
        } else
            write_step(t, "_j", s, i, now);
        now[s->to] = i;
    }
    append(t, "    }\n");
}

static void write_join(struct text *t, const hcy_eval_program *p, const hcy_eval_step *steps, const char *to,
                       const char *left, const char *right)
{
    uint32_t n = p->reduces ? p->reduces : p->scans;
    if (HCY_EVAL_IS_OWN(steps->op)) {
        write_own_join(t, p, to, left, right);
        return;
    }
    for (uint32_t r = 0; r < n; r++) {
        append(t, "    ");
        append_name(t, to, r);
        append(t, " = op_%s(", hcy__op_infos[hcy__op_infos[steps[r].op].join].name);
        append_name(t, left, r);
        append(t, ", ");
        append_name(t, right, r);
        append(t, ");\n");
    }
}

/* The first reduction of the program's last `reduces` steps, in order. */
static const hcy_eval_step *next_reduction(const hcy_eval_program *p, const hcy_eval_step *s)
{
    for (s = s ? s + 1 : p->steps; s < p->steps + p->n_steps; s++)
        if (s->op >= HCY_EVAL_FIRST_REDUCTION)
            return s;
    return NULL;
}

/* Which elements a group's items take: a piece of them all, or of a span, or each a part of several short spans. */
static void write_piece(struct text *t, struct hcy__form form, uint32_t of_lane)
{
    if (!form.spans) {
        append(t,
               "    const u64 number = GROUP, start = 0, begin = GROUP * %u;\n    const u32 lane = ITEM;\n"
               "    const u32 n = (u32)(job.n - begin < %u ? job.n - begin : %u);\n",
               HCY_EVAL_PIECE, HCY_EVAL_PIECE, HCY_EVAL_PIECE);
        return;
    }
    /* `width` is lanes_of_span(): the launch has as many groups as it makes. */
    append(t,
           "    u32 width = %u;\n    while (width > 1 && width / 2 * %u >= job.span)\n        width /= 2;\n"
           "    const u32 lane = ITEM %% width;\n    const u64 number = GROUP * (%u / width) + ITEM / width;\n",
           HCY_EVAL_LANES, of_lane, HCY_EVAL_LANES);
    const char *index = form.wide ? "u64" : "u32";
    append(t,
           "    const %s pieces = (%s)((job.span - 1) / %u + 1), before = (%s)number / pieces;\n"
           "    const u64 begin = (u64)((%s)number - before * pieces) * %u, left = job.span - begin;\n"
           "    const u64 start = before * job.span;\n"
           "    const u32 n = start >= job.n ? 0 : (u32)(left < %u ? left : %u);\n",
           index, index, HCY_EVAL_PIECE, index, index, HCY_EVAL_PIECE, HCY_EVAL_PIECE, HCY_EVAL_PIECE);
}

/* The loop over a lane's elements, as the trees of eval_format.h say, which fix the bits; items without an element
 * stay, as all have to come to the barriers. */
static void write_lanes(struct text *t, const hcy_eval_program *p)
{
    if (p->join.n_steps)
        append(t,
               "    const u32 lanes = (n + %u) / %u;\n#pragma unroll\n    for (u32 turn = 0; turn < %u; turn++) {\n"
               "    const u32 k = lane * %u + turn;\n    if (k >= n)\n        break;\n",
               HCY_EVAL_RUN - 1, HCY_EVAL_RUN, HCY_EVAL_RUN, HCY_EVAL_RUN);
    else
        append(t,
               "    const u32 lanes = n < %u ? n : %u;\n"
               "#pragma unroll 8\n    for (u32 k = lane; k < n; k += %u) {\n",
               HCY_EVAL_LANES, HCY_EVAL_LANES, HCY_EVAL_LANES);
    append(t, "    const u64 inside = begin + k, i = start + inside;\n");
}

static void write_reduction(struct text *t, const hcy_eval_program *p, struct hcy__form form,
                            uint32_t n_operands)
{
    uint32_t now[HCY_EVAL_REGISTERS] = { 0 };
    const hcy_eval_step *s = NULL;
    const bool own = p->join.n_steps > 0;
    /* One of the dialects has local memory only at a kernel's outermost level, so that all of it stands in front. */
    for (uint32_t r = 0; (s = next_reduction(p, s)); r++)
        append(t, "    LOCAL %s partial%u[%u];\n", type_name(hcy__op_infos[s->op].result), r, HCY_EVAL_LANES);
    for (uint32_t r = 0; (s = next_reduction(p, s)); r++)
        append(t, "    %s sum%u = 0;\n", type_name(hcy__op_infos[s->op].result), r);
    write_piece(t, form, hcy__elements_of_lane(p));
    write_lanes(t, p);
    write_places(t, "", form, n_operands);
    write_steps(t, one_item, p, now, 0, p->n_steps);
    for (uint32_t r = 0; (s = next_reduction(p, s)); r++)
        append(t, "    const %s new%u = s%u;\n", type_name(hcy__op_infos[s->op].result), r, now[s->a]);
    /* A lane's first element takes the place of its 0, which is neutral neither to products and extremes nor to
     * -0.0. */
    append(t, own ? "    if (!turn) {\n" : "    if (k < %u) {\n", HCY_EVAL_LANES);
    for (uint32_t r = 0; r < p->reduces; r++)
        append(t, "    sum%u = new%u;\n", r, r);
    append(t, "    } else {\n");
    write_join(t, p, next_reduction(p, NULL), "sum@", "sum@", "new@");
    append(t, "    }\n    }\n");
    /* Lanes behind the last element write as well; the tree leaves them out, and so keeps short spans apart. */
    for (uint32_t r = 0; (s = next_reduction(p, s)); r++)
        append(t, "    partial%u[ITEM] = sum%u;\n", r, r);
    /* A lane reads what another one wrote, so that a barrier comes before each width, and outside of the condition,
     * for every item has to meet it. */
    if (own)
        append(t,
               "    for (u32 far = 1; far < %u; far *= 2) {\n        BARRIER();\n"
               "        if (lane %% (2 * far) == 0 && ",
               HCY_EVAL_LANES);
    else
        append(t, "    for (u32 far = %u; far; far /= 2) {\n        BARRIER();\n        if (lane < far && ",
               HCY_EVAL_LANES / 2);
    append(t, "lane + far < lanes) {\n");
    write_join(t, p, next_reduction(p, NULL), "partial@[ITEM]", "partial@[ITEM]", "partial@[ITEM + far]");
    append(t, "        }\n    }\n    if (lane || !n)\n        return;\n");
    for (uint32_t r = 0; (s = next_reduction(p, s)); r++) {
        const struct hcy__memory_info *m = &hcy__memory_infos[s->memory];
        append(t,
               "    {\n        const %s x = partial%u[ITEM];\n        ((GLOBAL %s *)o%u)[number * %u + %u] = "
               "%s;\n    }\n",
               m->reg, r, m->memory, s->to, s->c, s->b, m->stored);
    }
}

/* --- Scans --- */

/* A group's numbers lie beside each other for all lanes: loads and stores take them a width of lanes at a time, which
 * is how memory gives them, runs take them one after the other.  A gap after each run keeps lanes on banks of their
 * own.  Totals are there twice, as a step of their doubling reads those of the step before. */
static void write_scan_room(struct text *t, const hcy_eval_step *scans, uint32_t n)
{
    for (uint32_t r = 0; r < n; r++) {
        const char *type = type_name(hcy__op_infos[scans[r].op].result);
        append(t, "    LOCAL %s total%u[%u], numbers%u[%u];\n", type, r, 2 * HCY_EVAL_LANES,
               r, HCY_EVAL_LANES * (HCY_EVAL_RUN + 1));
    }
    for (uint32_t r = 0; r < n; r++) {
        const char *type = type_name(hcy__op_infos[scans[r].op].result);
        append(t, "    %s own%u[%u], sum%u = 0;\n", type, r, HCY_EVAL_RUN, r);
    }
}

/* A loop over the elements that a lane takes: its run, or every one a width of lanes behind the other.  `at` is an
 * element's place in the piece, `slot` its room.  In a whole piece of all lanes places are constants but for the
 * lane's, and no element is missing, so that its loads are all on their way before the first is used. */
static void begin_elements(struct text *t, bool whole, bool in_run)
{
    append(t, "#pragma unroll\n    for (u32 k = 0; k < %u; k++) {\n", HCY_EVAL_RUN);
    if (in_run)
        append(t, "    const u32 at = lane * %u + k;\n", HCY_EVAL_RUN);
    else if (whole)
        append(t, "    const u32 at = lane + k * %u;\n", HCY_EVAL_LANES);
    else
        append(t, "    const u32 at = lane + k * width;\n");
    if (!whole)
        append(t, "    if (at >= n)\n        break;\n");
    if (in_run)
        append(t, "    const u32 slot = ITEM * %u + k;\n", HCY_EVAL_RUN + 1);
    else if (whole)
        append(t, "    const u32 slot = lane + lane / %u + k * %u;\n", HCY_EVAL_RUN,
               HCY_EVAL_LANES + HCY_EVAL_LANES / HCY_EVAL_RUN);
    else
        append(t, "    const u32 slot = (ITEM - lane) * %u + at + at / %u;\n", HCY_EVAL_RUN + 1, HCY_EVAL_RUN);
    append(t, "    const u64 inside = begin + at, i = start + inside;\n");
}

static void end_elements(struct text *t)
{
    append(t, "    }\n");
}

/* Each lane's elements, one after the other, which leaves their own numbers and the run's total. */
static void write_runs(struct text *t, const hcy_eval_program *p, uint32_t first, bool whole)
{
    begin_elements(t, whole, true);
    append(t, "    if (k) {\n");
    write_join(t, p, &p->steps[first], "own@[k]", "own@[k ? k - 1 : 0]", "numbers@[slot]");
    append(t, "    } else {\n");
    for (uint32_t r = 0; r < p->scans; r++)
        append(t, "    own%u[k] = numbers%u[slot];\n", r, r);
    append(t, "    }\n");
    for (uint32_t r = 0; r < p->scans; r++)
        append(t, "    sum%u = own%u[k];\n", r, r);
    end_elements(t);
}

/* Totals of runs by doubling; an item whose lane is none of its span's gets in nobody's way. */
static void write_doubling(struct text *t, const hcy_eval_program *p, const hcy_eval_step *scans)
{
    for (uint32_t r = 0; r < p->scans; r++)
        append(t, "    total%u[ITEM] = sum%u;\n", r, r);
    append(t,
           "    u32 read = 0;\n    for (u32 far = 1; far < %u; far *= 2) {\n        BARRIER();\n"
           "        if (lane >= far) {\n",
           HCY_EVAL_LANES);
    write_join(t, p, scans, "sum@", "total@[read + ITEM - far]", "sum@");
    append(t, "        }\n        read = %u - read;\n", HCY_EVAL_LANES);
    for (uint32_t r = 0; r < p->scans; r++)
        append(t, "        total%u[read + ITEM] = sum%u;\n", r, r);
    append(t, "    }\n    BARRIER();\n");
    for (uint32_t r = 0; r < p->scans; r++)
        append(t, "    sum%u = lane ? total%u[read + ITEM - 1] : 0;\n", r, r);
}

/* An element's number, from its run's own, from what was before the run, from the carry: y, of each scan. */
static void write_scanned(struct text *t, const hcy_eval_program *p, const hcy_eval_step *scans, const uint32_t *now)
{
    const bool excludes = scans->memory;
    const char *element = excludes ? "k ? k - 1 : 0" : "k";
    for (uint32_t r = 0; r < p->scans; r++) {
        const char *type = type_name(hcy__op_infos[scans[r].op].result);
        append(t, "    %s y%u = own%u[%s];\n    const %s c%u = s%u;\n", type, r, r, element, type, r, now[scans[r].b]);
    }
    append(t, "    if (lane) {\n");
    write_join(t, p, scans, "y@", "sum@", "y@");
    append(t, "    }\n");
    /* An exclusive scan's first element of a run has no number of its own there. */
    for (uint32_t r = 0; r < p->scans && excludes; r++)
        append(t,
               "    if (!k)\n        y%u = sum%u;\n    if (!k && !lane)\n        y%u = begin ? c%u : s%u;\n",
               r, r, r, r, now[scans[r].c]);
    append(t, "    if (begin%s) {\n", excludes ? " && (k || lane)" : "");
    write_join(t, p, scans, "y@", "c@", "y@");
    append(t, "    }\n");
}

/* What is the same for all elements, for each block of text that uses it. */
static void write_common(struct text *t, const hcy_eval_program *p, uint32_t *now, uint32_t first)
{
    for (uint32_t i = 0; i < first; i++)
        if (p->steps[i].op == HCY_EVAL_VALUE || p->steps[i].op == HCY_EVAL_CARRY)
            write_steps(t, one_item, p, now, i, i + 1);
}

static void write_scan_piece(struct text *t, const hcy_eval_program *p, struct hcy__form form, uint32_t n_operands,
                             uint32_t first, bool whole)
{
    uint32_t now[HCY_EVAL_REGISTERS] = { 0 };
    const hcy_eval_step *scans = &p->steps[first];
    /* What is scanned, */
    begin_elements(t, whole, false);
    write_places(t, "", form, n_operands);
    write_steps(t, one_item, p, now, 0, first);
    for (uint32_t r = 0; r < p->scans; r++)
        append(t, "    numbers%u[slot] = s%u;\n", r, now[scans[r].a]);
    end_elements(t);
    append(t, "    BARRIER();\n");
    /* its scan, in the same room, of which nobody else touches a lane's run, */
    write_runs(t, p, first, whole);
    write_doubling(t, p, scans);
    begin_elements(t, whole, true);
    write_common(t, p, now, first);
    write_scanned(t, p, scans, now);
    for (uint32_t r = 0; r < p->scans; r++)
        append(t, "    numbers%u[slot] = y%u;\n", r, r);
    end_elements(t);
    append(t, "    BARRIER();\n");
    /* and what is made of it. */
    begin_elements(t, whole, false);
    write_places(t, "", form, n_operands);
    write_common(t, p, now, first);
    for (uint32_t r = 0; r < p->scans; r++) {
        append(t, "    const %s s%u = numbers%u[slot];\n", type_name(hcy__op_infos[scans[r].op].result), first + r, r);
        now[scans[r].to] = first + r;
    }
    write_steps(t, one_item, p, now, first + p->scans, p->n_steps);
    end_elements(t);
}

/* Nearly all groups of a long scan have a whole piece; which it has is the same for all of a group's items. */
static void write_scan(struct text *t, const hcy_eval_program *p, struct hcy__form form, uint32_t n_operands)
{
    uint32_t first = 0;
    while (p->steps[first].op < HCY_EVAL_FIRST_SCAN)
        first++;
    form.spans = true; /* the only form that scans have */
    write_scan_room(t, &p->steps[first], p->scans);
    write_piece(t, form, HCY_EVAL_RUN);
    append(t, "    if (width == %u && n == %u) {\n", HCY_EVAL_LANES, HCY_EVAL_PIECE);
    write_scan_piece(t, p, form, n_operands, first, true);
    append(t, "    } else {\n");
    write_scan_piece(t, p, form, n_operands, first, false);
    append(t, "    }\n");
}

char *hcy__generate(const hcy_eval_program *p, const struct hcy__eval_dialect *dialect, struct hcy__form form,
                    uint32_t n_operands, bool fast)
{
    struct text t = { 0 };
    write_head(&t, dialect, p);
    write_operations(&t, p, fast);
    write_signature(&t, n_operands);
    if (p->reduces)
        write_reduction(&t, p, form, n_operands);
    else if (p->scans)
        write_scan(&t, p, form, n_operands);
    else
        write_map(&t, p, form, n_operands);
    append(&t, "}\n");
    if (t.failed)
        free(t.at);
    return t.failed ? NULL : t.at;
}
