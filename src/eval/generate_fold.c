/* generate_fold.c - kernels that reduce: a group takes a piece and a work item a lane of the tree; or, where what is
 * reduced lies side by side in memory, a group takes a piece each of neighbours and an item several lanes of one. */
#include "generate.h"

#include <stdio.h>

/* The first reduction of the program's last `reduces` steps, in order. */
static const hcy_eval_step *next_reduction(const hcy_eval_program *p, const hcy_eval_step *s)
{
    for (s = s ? s + 1 : p->steps; s < p->steps + p->n_steps; s++)
        if (s->op >= HCY_EVAL_FIRST_REDUCTION)
            return s;
    return NULL;
}

/* The declaration of a variable of each reduction's type; in its name @ is the reduction's number. */
static void declare(struct hcy__text *t, const hcy_eval_program *p, const char *space, const char *name,
                    const char *behind)
{
    const hcy_eval_step *s = NULL;
    for (uint32_t r = 0; (s = next_reduction(p, s)); r++)
        hcy__put(t, "    %s%s %s%u%s;\n", space, hcy__type_name(hcy__op_infos[s->op].result), name, r, behind);
}

/* What an item has found in its place of `partial`, as its span's number. */
static void write_results(struct hcy__text *t, const hcy_eval_program *p)
{
    const hcy_eval_step *s = NULL;
    for (uint32_t r = 0; (s = next_reduction(p, s)); r++) {
        const struct hcy__memory_info *m = &hcy__memory_infos[s->memory];
        hcy__put(t,
                 "    {\n        const %s x = partial%u[ITEM];\n"
                 "        ((GLOBAL %s *)o%u)[number * %u + %u] = %s;\n    }\n",
                 m->reg, r, m->memory, s->to, s->c, s->b, m->stored);
    }
}

void hcy__write_piece(struct hcy__text *t, struct hcy__form form, uint32_t of_lane, bool backwards)
{
    if (!form.spans) {
        hcy__put(t, "    const u64 number = ");
        if (backwards)
            hcy__put(t, "(job.n - 1) / %u - ", HCY_EVAL_PIECE);
        hcy__put(t,
                 "GROUP, start = 0, begin = number * %u;\n    const u32 lane = ITEM;\n"
                 "    const u32 n = (u32)(job.n - begin < %u ? job.n - begin : %u);\n",
                 HCY_EVAL_PIECE, HCY_EVAL_PIECE, HCY_EVAL_PIECE);
        return;
    }
    /* `width` is lanes_of_span(): the launch has as many groups as it makes. */
    hcy__put(t,
             "    u32 width = %u;\n    while (width > 1 && width / 2 * %u >= job.span)\n        width /= 2;\n"
             "    const u32 lane = ITEM %% width;\n    const u64 number = GROUP * (%u / width) + ITEM / width;\n",
             HCY_EVAL_LANES, of_lane, HCY_EVAL_LANES);
    const char *index = form.wide ? "u64" : "u32";
    hcy__put(t,
             "    const %s pieces = (%s)((job.span - 1) / %u + 1), before = (%s)number / pieces;\n"
             "    const u64 begin = (u64)((%s)number - before * pieces) * %u, left = job.span - begin;\n"
             "    const u64 start = before * job.span;\n"
             "    const u32 n = start >= job.n ? 0 : (u32)(left < %u ? left : %u);\n",
             index, index, HCY_EVAL_PIECE, index, index, HCY_EVAL_PIECE, HCY_EVAL_PIECE, HCY_EVAL_PIECE);
}

/* An element's numbers to its lane's.  The first takes the place of 0, which is neutral neither to products and
 * extremes nor to -0.0. */
static void write_new(struct hcy__text *t, const hcy_eval_program *p, const char *item, const char *is_first,
                      const uint32_t *now)
{
    const hcy_eval_step *s = NULL;
    for (uint32_t r = 0; (s = next_reduction(p, s)); r++)
        hcy__put(t, "    const %s new%u = s%u%s;\n", hcy__type_name(hcy__op_infos[s->op].result), r, now[s->a], item);
    hcy__put(t, "    if (%s) {\n", is_first);
    for (uint32_t r = 0; r < p->reduces; r++)
        hcy__put(t, "    sum%u = new%u;\n", r, r);
    hcy__put(t, "    } else {\n");
    hcy__write_join(t, p, next_reduction(p, NULL), "sum@", "sum@", "new@");
    hcy__put(t, "    }\n");
}

/* The loop over a lane's elements, as the trees of eval_format.h say, which fix the bits; items without an element
 * stay, as all have to come to the barriers. */
static void write_lanes(struct hcy__text *t, const hcy_eval_program *p, struct hcy__form form, uint32_t n_operands)
{
    uint32_t now[HCY_EVAL_REGISTERS] = { 0 };
    if (p->join.n_steps)
        hcy__put(t,
                 "    const u32 lanes = (n + %u) / %u;\n#pragma unroll\n    for (u32 turn = 0; turn < %u; turn++) {\n"
                 "    const u32 k = lane * %u + turn;\n    if (k >= n)\n        break;\n",
                 HCY_EVAL_RUN - 1, HCY_EVAL_RUN, HCY_EVAL_RUN, HCY_EVAL_RUN);
    else
        hcy__put(t,
                 "    const u32 lanes = n < %u ? n : %u;\n"
                 "#pragma unroll 8\n    for (u32 k = lane; k < n; k += %u) {\n",
                 HCY_EVAL_LANES, HCY_EVAL_LANES, HCY_EVAL_LANES);
    hcy__put(t, "    const u64 inside = begin + k, i = start + inside;\n");
    hcy__write_places(t, "", form, n_operands);
    hcy__write_steps(t, hcy__one_item, p, now, 0, p->n_steps);
    write_new(t, p, "", p->join.n_steps ? "!turn" : "k < lanes", now);
    hcy__put(t, "    }\n");
}

static bool stores(const hcy_eval_program *p)
{
    bool does = false;
    for (uint32_t i = 0; i < p->n_steps; i++)
        does = does || p->steps[i].op == HCY_EVAL_STORE;
    return does;
}

/* The same of a program that stores: a compiler moves no load in front of a store that may be of the same memory, so
 * that a lane's elements are taken some at once, all loads before the first store. */
static void write_lanes_at_once(struct hcy__text *t, const hcy_eval_program *p, struct hcy__form form,
                                uint32_t n_operands)
{
    uint32_t now[HCY_EVAL_REGISTERS] = { 0 };
    hcy__put(t,
             "    const u32 lanes = n < %u ? n : %u;\n"
             "    for (u32 turn = 0; turn < %u; turn += %u) {\n",
             HCY_EVAL_LANES, HCY_EVAL_LANES, HCY_EVAL_PIECE, HCY__EVAL_AT_ONCE * HCY_EVAL_LANES);
    for (uint32_t e = 0; e < HCY__EVAL_AT_ONCE; e++) {
        const char *item = hcy__items_at_once[e];
        hcy__put(t,
                 "    const u32 k%s = turn + lane + %u;\n    const int in%s = k%s < n;\n"
                 "    const u64 i%s = start + begin + k%s;\n",
                 item, e * HCY_EVAL_LANES, item, item, item, item);
        hcy__write_places(t, item, form, n_operands);
    }
    hcy__write_steps(t, hcy__items_at_once, p, now, 0, p->n_steps);
    for (uint32_t e = 0; e < HCY__EVAL_AT_ONCE; e++) {
        const char *item = hcy__items_at_once[e];
        char is_first[32];
        snprintf(is_first, sizeof is_first, "k%s < lanes", item);
        hcy__put(t, "    if (in%s) {\n", item);
        write_new(t, p, item, is_first, now);
        hcy__put(t, "    }\n");
    }
    hcy__put(t, "    }\n");
}

void hcy__write_reduction(struct hcy__text *t, const hcy_eval_program *p, struct hcy__form form,
                          uint32_t n_operands)
{
    const hcy_eval_step *s = NULL;
    const bool own = p->join.n_steps > 0;
    char room[16];
    snprintf(room, sizeof room, "[%u]", HCY_EVAL_LANES);
    /* One of the dialects has local memory only at a kernel's outermost level, so that all of it stands in front. */
    declare(t, p, "LOCAL ", "partial", room);
    declare(t, p, "", "sum", " = 0");
    /* From the end of one span: what another kernel has written last, or is to read first, is then in the cache. */
    hcy__write_piece(t, form, hcy__elements_of_lane(p), true);
    if (stores(p))
        write_lanes_at_once(t, p, form, n_operands);
    else
        write_lanes(t, p, form, n_operands);
    /* Lanes behind the last element write as well; the tree leaves them out, and so keeps short spans apart. */
    for (uint32_t r = 0; (s = next_reduction(p, s)); r++)
        hcy__put(t, "    partial%u[ITEM] = sum%u;\n", r, r);
    /* A lane reads what another one wrote, so that a barrier comes before each width, and outside of the condition,
     * for every item has to meet it. */
    if (own)
        hcy__put(t,
                 "    for (u32 far = 1; far < %u; far *= 2) {\n        BARRIER();\n"
                 "        if (lane %% (2 * far) == 0 && ",
                 HCY_EVAL_LANES);
    else
        hcy__put(t, "    for (u32 far = %u; far; far /= 2) {\n        BARRIER();\n        if (lane < far && ",
                 HCY_EVAL_LANES / 2);
    hcy__put(t, "lane + far < lanes) {\n");
    hcy__write_join(t, p, next_reduction(p, NULL), "partial@[ITEM]", "partial@[ITEM]", "partial@[ITEM + far]");
    hcy__put(t, "        }\n    }\n    if (lane || !n)\n        return;\n");
    write_results(t, p);
}

/* --- Spans side by side --- */

/* Where the elements of a span are far apart and those of neighbours next to each other, as in a sum along a matrix's
 * first axis, a group takes a piece of each of form.columns spans: neighbours read what memory gives at once.  An item
 * has some lanes of one of them, as far apart as a span has items: the tree's first halves are its own. */
static uint32_t items_of_span(struct hcy__form form)
{
    return HCY_EVAL_LANES / form.columns;
}

/* The group's piece, the item's span, and where the span begins: b0 and so on, of each operand. */
static void write_column(struct hcy__text *t, struct hcy__form form, uint32_t n_operands)
{
    const char *index = form.wide ? "u64" : "u32";
    struct hcy__form kept = form;
    kept.rank--;
    /* Behind the last span an item reads that one again, as all have to come to the barriers. */
    hcy__put(t,
             "    const %s spans = (%s)job.n / (%s)job.span, blocks = (spans - 1) / %u + 1, piece = GROUP / blocks;\n"
             "    const %s before = (GROUP - piece * blocks) * %u + ITEM %% %u;\n"
             "    const %s span = before < spans ? before : spans - 1;\n"
             "    const u64 number = before * ((job.span - 1) / %u + 1) + piece, start = span * job.span;\n"
             "    const u64 begin = (u64)piece * %u, left = job.span - begin;\n"
             "    const u32 n = (u32)(left < %u ? left : %u), lane = ITEM / %u;\n",
             index, index, index, form.columns, index, form.columns, form.columns, index, HCY_EVAL_PIECE,
             HCY_EVAL_PIECE, HCY_EVAL_PIECE, HCY_EVAL_PIECE, form.columns);
    hcy__write_places_of(t, "", "span", kept, n_operands, 'b');
}

static void for_lanes(struct hcy__text *t, uint32_t n)
{
    hcy__put(t, "#pragma unroll\n    for (u32 m = 0; m < %u; m++) {\n", n);
}

/* An element, of number k in its piece; `now` has the registers to be reduced. */
static void write_element(struct hcy__text *t, const hcy_eval_program *p, struct hcy__form form, uint32_t n_operands,
                          uint32_t *now)
{
    const char *part = form.wide ? "i64" : "i32";
    hcy__put(t, "    const u64 inside = begin + k, i = start + inside;\n");
    for (uint32_t o = 0; o < n_operands; o++)
        hcy__put(t, "    const i64 p%u = b%u + (i64)(%s)inside * (%s)%s.of[%u][%d];\n", o, o, part, part,
                 o < 4 ? "low" : "high", o % 4, form.rank - 1);
    hcy__write_steps(t, hcy__one_item, p, now, 0, p->n_steps);
}

/* What is to be reduced of the element, as lane m's in an array for each reduction. */
static void keep_element(struct hcy__text *t, const hcy_eval_program *p, const uint32_t *now, const char *array)
{
    const hcy_eval_step *s = NULL;
    for (uint32_t r = 0; (s = next_reduction(p, s)); r++)
        hcy__put(t, "    %s%u[m] = s%u;\n", array, r, now[s->a]);
}

/* A short span's only turn: a lane without an element takes the last one, which nobody asks for, since without a
 * condition all loads are on their way at once. */
static void write_only_turn(struct hcy__text *t, const hcy_eval_program *p, struct hcy__form form, uint32_t n_operands)
{
    uint32_t now[HCY_EVAL_REGISTERS] = { 0 };
    for_lanes(t, form.lanes);
    hcy__put(t, "    const u32 at = m * %u + lane, k = at < n ? at : n - 1;\n", items_of_span(form));
    write_element(t, p, form, n_operands, now);
    keep_element(t, p, now, "sum");
    hcy__put(t, "    }\n");
}

/* Turns of all lanes, whose loads come before what is joined, and the last one, which may have fewer. */
static void write_turns(struct hcy__text *t, const hcy_eval_program *p, struct hcy__form form, uint32_t n_operands)
{
    char room[16];
    uint32_t now[HCY_EVAL_REGISTERS] = { 0 };
    const hcy_eval_step *s = NULL;
    snprintf(room, sizeof room, "[%u]", form.lanes);
    hcy__put(t, "    u32 turn = 0;\n    for (; turn + %u <= n; turn += %u) {\n", HCY_EVAL_LANES, HCY_EVAL_LANES);
    declare(t, p, "", "new", room);
    for_lanes(t, form.lanes);
    hcy__put(t, "    const u32 k = turn + m * %u + lane;\n", items_of_span(form));
    write_element(t, p, form, n_operands, now);
    keep_element(t, p, now, "new");
    hcy__put(t, "    }\n    if (turn) {\n");
    for_lanes(t, form.lanes);
    hcy__write_join(t, p, next_reduction(p, NULL), "sum@[m]", "sum@[m]", "new@[m]");
    hcy__put(t, "    }\n    } else {\n");
    for_lanes(t, form.lanes);
    for (uint32_t r = 0; r < p->reduces; r++)
        hcy__put(t, "    sum%u[m] = new%u[m];\n", r, r);
    hcy__put(t, "    }\n    }\n    }\n    if (turn < n) {\n");
    for_lanes(t, form.lanes);
    hcy__put(t, "    const u32 k = turn + m * %u + lane;\n    if (k < n) {\n", items_of_span(form));
    write_element(t, p, form, n_operands, now);
    for (uint32_t r = 0; (s = next_reduction(p, s)); r++)
        hcy__put(t, "    const %s new%u = s%u;\n", hcy__type_name(hcy__op_infos[s->op].result), r, now[s->a]);
    hcy__put(t, "    if (turn) {\n");
    hcy__write_join(t, p, next_reduction(p, NULL), "sum@[m]", "sum@[m]", "new@");
    hcy__put(t, "    } else {\n");
    for (uint32_t r = 0; r < p->reduces; r++)
        hcy__put(t, "    sum%u[m] = new%u;\n", r, r);
    hcy__put(t, "    }\n    }\n    }\n    }\n");
}

/* The tree's halves that an item has both sides of, and those that it shares with its neighbours in the span, each
 * form.columns further. */
static void write_halves(struct hcy__text *t, const hcy_eval_program *p, struct hcy__form form)
{
    const uint32_t items = items_of_span(form);
    char behind[40];
    for (uint32_t far = form.lanes / 2; far; far /= 2) {
        for_lanes(t, far);
        hcy__put(t, "    if ((m + %u) * %u + lane < n) {\n", far, items);
        snprintf(behind, sizeof behind, "sum@[m + %u]", far);
        hcy__write_join(t, p, next_reduction(p, NULL), "sum@[m]", "sum@[m]", behind);
        hcy__put(t, "    }\n    }\n");
    }
    for (uint32_t r = 0; r < p->reduces; r++)
        hcy__put(t, "    partial%u[ITEM] = sum%u[0];\n", r, r);
    hcy__put(t, "    for (u32 far = %u; far; far /= 2) {\n        BARRIER();\n"
             "        if (lane < far && lane + far < n) {\n", items / 2);
    snprintf(behind, sizeof behind, "partial@[ITEM + far * %u]", form.columns);
    hcy__write_join(t, p, next_reduction(p, NULL), "partial@[ITEM]", "partial@[ITEM]", behind);
    hcy__put(t, "        }\n    }\n");
}

void hcy__write_columns(struct hcy__text *t, const hcy_eval_program *p, struct hcy__form form, uint32_t n_operands)
{
    char room[16];
    snprintf(room, sizeof room, "[%u]", HCY_EVAL_LANES);
    declare(t, p, "LOCAL ", "partial", room);
    snprintf(room, sizeof room, "[%u]", form.lanes);
    declare(t, p, "", "sum", room);
    write_column(t, form, n_operands);
    if (form.turns)
        write_turns(t, p, form, n_operands);
    else
        write_only_turn(t, p, form, n_operands);
    write_halves(t, p, form);
    hcy__put(t, "    if (lane || before >= spans)\n        return;\n");
    write_results(t, p);
}
