/* generate_scan.c - kernels that scan: a group takes a piece and a work item a run of it. */
#include "generate.h"

/* Whether a scan in doubles begins with floats and ends as floats: they are what lanes exchange then, which is half the
 * traffic of local memory, by which a scan on an H200 was bound. */
static bool is_of_floats(const hcy_eval_program *p, uint32_t first, uint32_t r)
{
    const hcy_eval_step *scan = &p->steps[first + r];
    uint32_t made = first;
    while (made && p->steps[made - 1].to != scan->a)
        made--;
    if (!made || p->steps[made - 1].op != HCY_EVAL_TOF64_F32)
        return false;
    for (uint32_t i = first + p->scans; i < p->n_steps; i++)
        if (p->steps[i].a == scan->to && p->steps[i].op != HCY_EVAL_TOF32_F64)
            return false;
    return true;
}

/* A group's numbers lie beside each other for all lanes: loads and stores take them a width of lanes at a time, which
 * is how memory gives them, runs take them one after the other.  A gap after each `GAP_BYTES` keeps lanes on banks of
 * their own either way.  Totals are there twice, as a step of their doubling reads those of the step before. */
enum { GAP_BYTES = 128 };

static uint32_t write_scan_room(struct hcy__text *t, const hcy_eval_program *p, uint32_t first)
{
    const hcy_eval_step *scans = &p->steps[first];
    uint32_t gap = GAP_BYTES / 4;
    for (uint32_t r = 0; r < p->scans; r++)
        if (hcy__op_infos[scans[r].op].result != HCY_EVAL_F32 && !is_of_floats(p, first, r))
            gap = GAP_BYTES / 8;
    for (uint32_t r = 0; r < p->scans; r++) {
        const char *type = hcy__type_name(hcy__op_infos[scans[r].op].result);
        hcy__put(t, "    LOCAL %s total%u[%u];\n    LOCAL %s numbers%u[%u];\n", type, r, 2 * HCY_EVAL_LANES,
                 is_of_floats(p, first, r) ? "f32" : type, r, HCY_EVAL_PIECE + HCY_EVAL_PIECE / gap);
    }
    for (uint32_t r = 0; r < p->scans; r++) {
        const char *type = hcy__type_name(hcy__op_infos[scans[r].op].result);
        hcy__put(t, "    %s own%u[%u], sum%u = 0;\n", type, r, HCY_EVAL_RUN, r);
    }
    return gap;
}

/* A loop over the elements that a lane takes: its run, or every one a width of lanes behind the other.  `at` is an
 * element's place in the piece, `slot` its room.  In a whole piece of all lanes places are constants but for the
 * lane's, and no element is missing, so that its loads are all on their way before the first is used. */
static void begin_elements(struct hcy__text *t, uint32_t gap, bool whole, bool in_run)
{
    hcy__put(t, "#pragma unroll\n    for (u32 k = 0; k < %u; k++) {\n", HCY_EVAL_RUN);
    if (in_run)
        hcy__put(t, "    const u32 at = lane * %u + k;\n", HCY_EVAL_RUN);
    else if (whole)
        hcy__put(t, "    const u32 at = lane + k * %u;\n", HCY_EVAL_LANES);
    else
        hcy__put(t, "    const u32 at = lane + k * width;\n");
    if (!whole)
        hcy__put(t, "    if (at >= n)\n        break;\n");
    if (in_run)
        hcy__put(t, "    const u32 slot = ITEM * %u + ITEM / %u + k;\n", HCY_EVAL_RUN, gap / HCY_EVAL_RUN);
    else if (whole)
        hcy__put(t, "    const u32 slot = lane + lane / %u + k * %u;\n", gap, HCY_EVAL_LANES + HCY_EVAL_LANES / gap);
    else
        hcy__put(t, "    const u32 place = (ITEM - lane) * %u + at, slot = place + place / %u;\n", HCY_EVAL_RUN, gap);
    hcy__put(t, "    const u64 inside = begin + at, i = start + inside;\n");
}

static void end_elements(struct hcy__text *t)
{
    hcy__put(t, "    }\n");
}

/* Each lane's elements, one after the other, which leaves their own numbers and the run's total. */
static void write_runs(struct hcy__text *t, const hcy_eval_program *p, uint32_t first, uint32_t gap,
                       bool whole)
{
    begin_elements(t, gap, whole, true);
    hcy__put(t, "    if (k) {\n");
    hcy__write_join(t, p, &p->steps[first], "own@[k]", "own@[k ? k - 1 : 0]", "numbers@[slot]");
    hcy__put(t, "    } else {\n");
    for (uint32_t r = 0; r < p->scans; r++)
        hcy__put(t, "    own%u[k] = numbers%u[slot];\n", r, r);
    hcy__put(t, "    }\n");
    for (uint32_t r = 0; r < p->scans; r++)
        hcy__put(t, "    sum%u = own%u[k];\n", r, r);
    end_elements(t);
}

/* Totals of runs by doubling; an item whose lane is none of its span's gets in nobody's way. */
static void write_doubling(struct hcy__text *t, const hcy_eval_program *p, const hcy_eval_step *scans)
{
    for (uint32_t r = 0; r < p->scans; r++)
        hcy__put(t, "    total%u[ITEM] = sum%u;\n", r, r);
    hcy__put(t,
             "    u32 read = 0;\n    for (u32 far = 1; far < %u; far *= 2) {\n        BARRIER();\n"
             "        if (lane >= far) {\n",
             HCY_EVAL_LANES);
    hcy__write_join(t, p, scans, "sum@", "total@[read + ITEM - far]", "sum@");
    hcy__put(t, "        }\n        read = %u - read;\n", HCY_EVAL_LANES);
    for (uint32_t r = 0; r < p->scans; r++)
        hcy__put(t, "        total%u[read + ITEM] = sum%u;\n", r, r);
    hcy__put(t, "    }\n    BARRIER();\n");
    for (uint32_t r = 0; r < p->scans; r++)
        hcy__put(t, "    sum%u = lane ? total%u[read + ITEM - 1] : 0;\n", r, r);
}

/* An element's number, from its run's own, from what was before the run, from the carry: y, of each scan. */
static void write_scanned(struct hcy__text *t, const hcy_eval_program *p, const hcy_eval_step *scans,
                          const uint32_t *now)
{
    const bool excludes = scans->memory;
    const char *element = excludes ? "k ? k - 1 : 0" : "k";
    for (uint32_t r = 0; r < p->scans; r++) {
        const char *type = hcy__type_name(hcy__op_infos[scans[r].op].result);
        hcy__put(t, "    %s y%u = own%u[%s];\n    const %s c%u = s%u;\n", type, r, r, element, type, r,
                 now[scans[r].b]);
    }
    hcy__put(t, "    if (lane) {\n");
    hcy__write_join(t, p, scans, "y@", "sum@", "y@");
    hcy__put(t, "    }\n");
    /* An exclusive scan's first element of a run has no number of its own there. */
    for (uint32_t r = 0; r < p->scans && excludes; r++)
        hcy__put(t,
                 "    if (!k)\n        y%u = sum%u;\n    if (!k && !lane)\n        y%u = begin ? c%u : s%u;\n",
                 r, r, r, r, now[scans[r].c]);
    hcy__put(t, "    if (begin%s) {\n", excludes ? " && (k || lane)" : "");
    hcy__write_join(t, p, scans, "y@", "c@", "y@");
    hcy__put(t, "    }\n");
}

/* What is the same for all elements, for each block of text that uses it. */
static void write_common(struct hcy__text *t, const hcy_eval_program *p, uint32_t *now, uint32_t first)
{
    for (uint32_t i = 0; i < first; i++)
        if (p->steps[i].op == HCY_EVAL_VALUE || p->steps[i].op == HCY_EVAL_CARRY)
            hcy__write_steps(t, hcy__one_item, p, now, i, i + 1);
}

static void write_scan_piece(struct hcy__text *t, const hcy_eval_program *p, struct hcy__form form, uint32_t n_operands,
                             uint32_t first, uint32_t gap, bool whole)
{
    uint32_t now[HCY_EVAL_REGISTERS] = { 0 };
    const hcy_eval_step *scans = &p->steps[first];
    /* What is scanned, */
    begin_elements(t, gap, whole, false);
    hcy__write_places(t, "", form, n_operands);
    hcy__write_steps(t, hcy__one_item, p, now, 0, first);
    for (uint32_t r = 0; r < p->scans; r++)
        hcy__put(t, "    numbers%u[slot] = s%u;\n", r, now[scans[r].a]);
    end_elements(t);
    hcy__put(t, "    BARRIER();\n");
    /* its scan, in the same room, of which nobody else touches a lane's run, */
    write_runs(t, p, first, gap, whole);
    write_doubling(t, p, scans);
    begin_elements(t, gap, whole, true);
    write_common(t, p, now, first);
    write_scanned(t, p, scans, now);
    for (uint32_t r = 0; r < p->scans; r++)
        hcy__put(t, "    numbers%u[slot] = y%u;\n", r, r);
    end_elements(t);
    hcy__put(t, "    BARRIER();\n");
    /* and what is made of it. */
    begin_elements(t, gap, whole, false);
    hcy__write_places(t, "", form, n_operands);
    write_common(t, p, now, first);
    for (uint32_t r = 0; r < p->scans; r++) {
        hcy__put(t, "    const %s s%u = numbers%u[slot];\n", hcy__type_name(hcy__op_infos[scans[r].op].result),
                 first + r, r);
        now[scans[r].to] = first + r;
    }
    hcy__write_steps(t, hcy__one_item, p, now, first + p->scans, p->n_steps);
    end_elements(t);
}

/* Nearly all groups of a long scan have a whole piece; which it has is the same for all of a group's items. */
void hcy__write_scan(struct hcy__text *t, const hcy_eval_program *p, struct hcy__form form, uint32_t n_operands)
{
    uint32_t first = 0;
    while (p->steps[first].op < HCY_EVAL_FIRST_SCAN)
        first++;
    const uint32_t gap = write_scan_room(t, p, first);
    hcy__write_piece(t, form, HCY_EVAL_RUN, false);
    if (!form.spans)
        hcy__put(t, "    const u32 width = %u;\n", HCY_EVAL_LANES);
    hcy__put(t, "    if (width == %u && n == %u) {\n", HCY_EVAL_LANES, HCY_EVAL_PIECE);
    write_scan_piece(t, p, form, n_operands, first, gap, true);
    hcy__put(t, "    } else {\n");
    write_scan_piece(t, p, form, n_operands, first, gap, false);
    hcy__put(t, "    }\n");
}

