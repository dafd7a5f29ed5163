/* eval_check.c - what a launch of eval_run says is checked before it runs: the kernel is anybody's to launch, and a
 * program is data.  Any thread.  State: programs that were found sound, of each thread. */
#include "cpu_eval.h"

#include "arguments.h"

#include <stddef.h>
#include <string.h>

const unsigned char cpu_eval_bytes[HCY_EVAL_MEMORIES] = {
    [HCY_EVAL_M_BOOL] = 1, [HCY_EVAL_M_I8] = 1,  [HCY_EVAL_M_U8] = 1,  [HCY_EVAL_M_I16] = 2,
    [HCY_EVAL_M_U16] = 2,  [HCY_EVAL_M_I32] = 4, [HCY_EVAL_M_U32] = 4, [HCY_EVAL_M_I64] = 8,
    [HCY_EVAL_M_U64] = 8,  [HCY_EVAL_M_F16] = 2, [HCY_EVAL_M_F32] = 4, [HCY_EVAL_M_F64] = 8,
};

/* What the steps say of an operand. */
struct use {
    bool used;
    unsigned bytes;
    size_t reach; /* elements behind an element's own: components, or numbers of pieces */
    bool whole;   /* it has strides */
};

/* A loop may not write what it reads (its arguments need not exist: these registers are only addresses). */
static bool is_sound_operation(const hcy_eval_step *s, unsigned n)
{
    return s->to < n && s->a < n && s->b < n && s->c < n && s->to != s->a && s->to != s->b && s->to != s->c;
}

/* Registers, types and numbers of values that there are. */
static bool step_is_sound(const hcy_eval_program *p, const hcy_eval_step *s)
{
    unsigned n = p->n_registers;
    switch (s->op) {
    case HCY_EVAL_VALUE:
        return s->to < n && s->a < HCY_EVAL_VALUES && s->memory < HCY_EVAL_TYPES;
    case HCY_EVAL_INDEX:
    case HCY_EVAL_PLACE:
        return s->to < n;
    case HCY_EVAL_LOAD:
        return s->to < n && s->a < HCY_EVAL_OPERANDS && s->b < 2 && s->memory < HCY_EVAL_MEMORIES;
    case HCY_EVAL_STORE:
        return s->to < HCY_EVAL_OPERANDS && s->a < n && s->b < 2 && s->memory < HCY_EVAL_MEMORIES;
    }
    if (s->op == HCY_EVAL_LEFT || s->op == HCY_EVAL_RIGHT || s->op == HCY_EVAL_JOINED)
        return false;
    if (s->op == HCY_EVAL_CARRY)
        return s->to < n && s->a < HCY_EVAL_OPERANDS && s->b < s->c && s->c <= 2 && s->memory < HCY_EVAL_MEMORIES;
    if (s->op >= HCY_EVAL_END)
        return false;
    if (s->op >= HCY_EVAL_FIRST_REDUCTION)
        return s->to < HCY_EVAL_OPERANDS && s->a < n && s->b < s->c && s->c <= 2 &&
               s->memory < HCY_EVAL_MEMORIES;
    return is_sound_operation(s, n);
}

/* Steps on registers of the two numbers and of numbers of the job alone, which come first. */
static bool join_is_sound(const hcy_eval_join *join, unsigned components)
{
    unsigned n = join->n_registers;
    bool sound = join->n_steps <= HCY_EVAL_JOIN && n <= HCY_EVAL_REGISTERS;
    for (uint32_t i = 0; sound && i < join->n_steps; i++) {
        const hcy_eval_step *s = &join->steps[i];
        if (s->op == HCY_EVAL_LEFT || s->op == HCY_EVAL_RIGHT)
            sound = s->to < n && s->a < components;
        else if (s->op == HCY_EVAL_JOINED)
            sound = s->a < n && s->b < components;
        else if (s->op == HCY_EVAL_VALUE)
            sound = s->to < n && s->a < HCY_EVAL_VALUES && s->memory < HCY_EVAL_TYPES &&
                    (!i || s[-1].op == HCY_EVAL_VALUE);
        else
            sound = s->op >= HCY_EVAL_FIRST_OP && s->op < HCY_EVAL_FIRST_SCAN && is_sound_operation(s, n);
    }
    return sound;
}

/* Steps that the program's own join is for are all that reduce or scan, one for each component. */
static bool owns_are_sound(const hcy_eval_program *p)
{
    const hcy_eval_step *first = NULL;
    uint32_t n = 0, all = p->reduces ? p->reduces : p->scans;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const hcy_eval_step *s = &p->steps[i];
        if (!HCY_EVAL_IS_OWN(s->op))
            continue;
        bool reduces = s->op >= HCY_EVAL_FIRST_REDUCTION;
        first = first ? first : s;
        if (s != first + n || s->op != first->op || reduces != (p->reduces > 0) ||
            (reduces && (s->b != n || s->c != all || s->to != first->to || s->memory != first->memory)) ||
            (!reduces && s->memory != first->memory))
            return false;
        /* Both components are scanned at once: the second has nothing of the first one's yet. */
        if (!reduces && s != first &&
            (s->to == first->to || s->a == first->to || s->b == first->to || s->c == first->to))
            return false;
        n++;
    }
    return !n || (n == all && n <= 2 && join_is_sound(&p->join, n));
}

/* How pieces are numbered, and which of them have a carry, goes by these two: they must be true. */
static bool counts_are_true(const hcy_eval_program *p)
{
    uint32_t reduces = 0, scans = 0, carries = 0;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        uint16_t op = p->steps[i].op;
        reduces += op >= HCY_EVAL_FIRST_REDUCTION;
        scans += op >= HCY_EVAL_FIRST_SCAN && op < HCY_EVAL_FIRST_REDUCTION;
        carries += op == HCY_EVAL_CARRY;
    }
    return reduces == p->reduces && scans == p->scans && (scans || !carries);
}

static bool note_use(struct use *use, const hcy_eval_step *s, size_t pieces, size_t spans)
{
    bool carries = s->op == HCY_EVAL_CARRY, reduces = s->op >= HCY_EVAL_FIRST_REDUCTION || carries,
         loads = s->op == HCY_EVAL_LOAD || carries;
    if (!reduces && !loads && s->op != HCY_EVAL_STORE)
        return true;
    /* The first piece of a span has no carry. */
    if (carries && pieces == spans)
        return true;
    struct use *u = &use[loads ? s->a : s->to];
    size_t reach = reduces ? pieces * s->c - 1 : s->b;
    /* How far an operand reaches is counted by elements or by pieces: it cannot be both. */
    if (u->used && (u->bytes != cpu_eval_bytes[s->memory] || u->whole == reduces))
        return false;
    u->used = true;
    u->whole = !reduces;
    u->bytes = cpu_eval_bytes[s->memory];
    if (u->reach < reach)
        u->reach = reach;
    return true;
}

/* --- Programs that were checked before --- */

/* Short programs that neither reduce nor scan: what they use then depends on nothing but their steps.  A program is
 * known by its bytes, as its buffer may hold another one by now. */
enum { KNOWN_STEPS = 32, KNOWN_PROGRAMS = 4 };
struct known_program {
    size_t size; /* 0: there is none */
    unsigned char bytes[offsetof(hcy_eval_program, steps) + KNOWN_STEPS * sizeof(hcy_eval_step)];
    struct use use[HCY_EVAL_OPERANDS];
};
static _Thread_local struct known_program known_programs[KNOWN_PROGRAMS];

/* Where this program's place is. */
static struct known_program *known_place(const hcy_eval_program *p)
{
    return &known_programs[((uintptr_t)p >> 6 ^ (uintptr_t)p >> 12) % KNOWN_PROGRAMS];
}

static size_t size_of_program(const hcy_eval_program *p)
{
    return offsetof(hcy_eval_program, steps) + p->n_steps * sizeof *p->steps;
}

/* NULL: it has to be checked. */
static const struct use *find_known_program(const hcy_eval_program *p)
{
    const struct known_program *known = known_place(p);
    bool is = p->n_steps <= KNOWN_STEPS && known->size == size_of_program(p) && !memcmp(known->bytes, p, known->size);
    return is ? known->use : NULL;
}

static void know_program(const hcy_eval_program *p, const struct use *use)
{
    if (p->n_steps > KNOWN_STEPS || p->reduces || p->scans)
        return;
    struct known_program *known = known_place(p);
    known->size = size_of_program(p);
    memcpy(known->bytes, p, known->size);
    memcpy(known->use, use, sizeof known->use);
}

/* How far elements reach to one side, `last` steps further; false: beyond `room` elements. */
static bool add_reach(size_t *side, size_t step, size_t last, size_t room)
{
    size_t far = 0;
    /* Strides are anybody's: unchecked, a product or a sum could wrap around and seem to lie inside. */
    if (hcy_size_mul(&far, step, last) || far > room - *side)
        return false;
    *side += far;
    return true;
}

/* The operand's elements lie in its buffer, each where its type may. */
static bool operand_fits(const struct cpu_eval_call *e, unsigned k, const struct use *u, size_t bytes)
{
    /* Small launches have little else to do, and two divisions an operand would be a good part of it. */
    static const unsigned char shifts[] = { [1] = 0, [2] = 1, [4] = 2, [8] = 3 };
    const struct cpu_eval_operand *o = &e->operands[k];
    const size_t offset = (size_t)e->job->offset[k], room = bytes >> shifts[u->bytes];
    size_t below = 0, above = 0;
    bool fits = ((uintptr_t)o->at & (u->bytes - 1)) == 0;
    /* No axis is 0 here. */
    for (uint32_t d = 0; fits && u->whole && d < e->job->rank; d++) {
        const size_t stride = (size_t)o->strides[d], last = (size_t)e->job->shape[d] - 1;
        fits = o->strides[d] < 0 ? add_reach(&below, (size_t)0 - stride, last, room)
                                 : add_reach(&above, stride, last, room);
    }
    return fits && below <= offset && offset < room && above < room - offset && u->reach < room - offset - above;
}

static int check_steps(struct use *use, const struct cpu_eval_call *e)
{
    size_t span = (size_t)e->job->span, spans = (size_t)e->job->n / span,
           pieces = ((span - 1) / HCY_EVAL_PIECE + 1) * spans;
    for (uint32_t i = 0; i < e->program->n_steps; i++) {
        const hcy_eval_step *s = &e->program->steps[i];
        /* Leading steps run once for all pieces, so that only those may stand there whose number is the same for
         * all. */
        bool sound = step_is_sound(e->program, s) && (i >= e->program->n_fixed || s->op == HCY_EVAL_VALUE);
        if (!sound || !note_use(use, s, pieces, spans))
            return hcy_fail(HCY_EINVAL, "eval_run: step %u of the program is none", i);
    }
    int status = cpu_eval_check_held(e->program);
    if (!status)
        know_program(e->program, use);
    return status;
}

static int check_operands(struct cpu_eval_call *e, const struct cpu_call *call, const struct use *use)
{
    const hcy_eval_strides *const strides[2] = { call->values[HCY_ARG_AT(eval_run, strides)].bytes,
                                                 call->values[HCY_ARG_AT(eval_run, more_strides)].bytes };
    for (unsigned k = 0; k < HCY_EVAL_OPERANDS; k++) {
        struct cpu_eval_operand *o = &e->operands[k];
        /* In the place of an operand that no step uses a launch has any buffer. */
        if (!use[k].used)
            continue;
        o->at = cpu_arg(call, HCY_ARG_AT(eval_run, operand0) + k);
        o->strides = strides[k / 4]->of[k % 4];
        if (!operand_fits(e, k, &use[k], cpu_arg_size(call, HCY_ARG_AT(eval_run, operand0) + k)))
            return hcy_fail(HCY_ERANGE, "eval_run: operand %u does not lie in its buffer", k);
        /* The place moves only now that it is known to lie in the buffer. */
        o->at += (size_t)e->job->offset[k] * use[k].bytes;
    }
    return 0;
}

static bool numbers_are_sound(const hcy_eval_program *p)
{
    return p->n_steps <= HCY_EVAL_STEPS && p->n_registers <= HCY_EVAL_REGISTERS && p->n_fixed <= p->n_steps &&
           counts_are_true(p) && owns_are_sound(p);
}

int cpu_eval_open(struct cpu_eval_call *e, const struct cpu_call *call)
{
    size_t n = 1;
    int status = 0;
    e->program = cpu_arg(call, HCY_ARG_AT(eval_run, program));
    e->job = call->values[HCY_ARG_AT(eval_run, job)].bytes;
    if (cpu_arg_size(call, HCY_ARG_AT(eval_run, program)) < sizeof *e->program ||
        e->job->rank > HCY_EVAL_AXES)
        return hcy_fail(HCY_EINVAL, "eval_run: no program, or too many axes");
    for (uint32_t d = 0; !status && d < e->job->rank; d++)
        status = hcy_size_mul(&n, n, (size_t)e->job->shape[d]);
    const hcy_eval_program *p = e->program;
    /* Loops go by the count in one place and by the shape in another, so that the two must agree. */
    bool has_spans = !n || e->job->span == n || (e->job->span && n % e->job->span == 0);
    const struct use *known = find_known_program(p);
    if (status || n != e->job->n || !has_spans || (!known && !numbers_are_sound(p)))
        return hcy_fail(HCY_EINVAL, "eval_run: a program or a job whose numbers do not fit");
    struct use use[HCY_EVAL_OPERANDS];
    if (n && !known) {
        memset(use, 0, sizeof use);
        status = check_steps(use, e);
        known = use;
    }
    return n && !status ? check_operands(e, call, known) : status;
}
