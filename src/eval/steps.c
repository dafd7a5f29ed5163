/* steps.c - steps to programs: the table of operations, common steps, and which register holds what. */
#include "eval_stage.h"

#include "array_priv.h"

#include <string.h>

#define TYPE_b32 HCY_EVAL_B32
#define TYPE_i64 HCY_EVAL_I64
#define TYPE_u64 HCY_EVAL_U64
#define TYPE_f32 HCY_EVAL_F32
#define TYPE_f64 HCY_EVAL_F64

const char *const hcy__type_names[] = { "b32", "i64", "u64", "f32", "f64" };

const struct hcy__op_info hcy__op_infos[HCY_EVAL_END] = {
#define OPERATION(name, t, arity, ta, tb, tc, ...)                                                           \
    [HCY_EVAL_##name] = { #name,          arity,       TYPE_##t, { TYPE_##ta, TYPE_##tb, TYPE_##tc },        \
                          HCY_EVAL_VALUE, #__VA_ARGS__ },
    HCY_EVAL_OPS(OPERATION)
#define SCAN(name, t, join)                                                                                  \
    [HCY_EVAL_##name] = { #name, 3, TYPE_##t, { TYPE_##t, TYPE_##t, TYPE_##t }, HCY_EVAL_##join, "" },
    HCY_EVAL_SCANS(SCAN)
#define REDUCTION(name, t, join)                                                                             \
    [HCY_EVAL_##name] = { #name, 2, TYPE_##t, { TYPE_##t, TYPE_##t, TYPE_##t }, HCY_EVAL_##join, "" },
        HCY_EVAL_REDUCTIONS(REDUCTION)
#define OWN(name, t) [HCY_EVAL_##name] = { #name, 3, TYPE_##t, { TYPE_##t, TYPE_##t, TYPE_##t }, HCY_EVAL_VALUE, "" },
    HCY_EVAL_OWN_SCANS(OWN) HCY_EVAL_OWN_REDUCTIONS(OWN)
#undef OWN
};

const struct hcy__memory_info hcy__memory_infos[HCY_EVAL_MEMORIES] = {
#define MEMORY(name, m, t, loaded, stored) [HCY_EVAL_M_##name] = { #m, #t, #loaded, #stored, TYPE_##t },
    HCY_EVAL_MEMORY(MEMORY)
};

const char *hcy__own_function(enum hcy_eval_op op)
{
#define OWN(OP, name) [HCY_EVAL_##OP##_F32] = name, [HCY_EVAL_##OP##_F64] = name
    static const char *const names[HCY_EVAL_END] = {
        OWN(EXP, "exp"),     OWN(EXP2, "exp2"),   OWN(EXPM1, "expm1"), OWN(LOG, "log"),     OWN(LOG2, "log2"),
        OWN(LOG10, "log10"), OWN(LOG1P, "log1p"), OWN(SIN, "sin"),     OWN(COS, "cos"),     OWN(TAN, "tan"),
        OWN(ASIN, "asin"),   OWN(ACOS, "acos"),   OWN(ATAN, "atan"),   OWN(ATAN2, "atan2"), OWN(SINH, "sinh"),
        OWN(COSH, "cosh"),   OWN(TANH, "tanh"),   OWN(ERF, "erf"),     OWN(RSQRT, "rsqrt"), OWN(POW, "pow"),
        OWN(HYPOT, "hypot"), OWN(FMOD, "fmod"),
    };
    return names[op];
}

static int arity_of(const hcy_eval_step *s)
{
    if (s->op == HCY_EVAL_STORE || s->op == HCY_EVAL_JOINED || s->op >= HCY_EVAL_FIRST_REDUCTION)
        return 1;
    return hcy__op_infos[s->op].arity;
}

/* Whether the step makes a register. */
static bool makes_register(const hcy_eval_step *s)
{
    return s->op != HCY_EVAL_STORE && s->op != HCY_EVAL_JOINED && s->op < HCY_EVAL_FIRST_REDUCTION;
}

int hcy__step_add(struct hcy__steps *all, hcy_eval_step step)
{
    /* What is computed once need not be computed again: steps have no effect but their register. */
    for (int i = 0; makes_register(&step) && i < all->n; i++) {
        /* A step's own register is no part of what it computes, and must not make it differ. */
        step.to = (uint16_t)i;
        if (!memcmp(&all->step[i], &step, sizeof step))
            return i;
    }
    if (all->n == HCY_EVAL_STEPS)
        return -1;
    if (makes_register(&step))
        step.to = (uint16_t)all->n;
    all->step[all->n] = step;
    return all->n++;
}

/* The last step that reads each register. */
static void find_last_uses(int *last, const struct hcy__steps *all)
{
    for (int i = 0; i < all->n; i++) {
        const hcy_eval_step *s = &all->step[i];
        const uint16_t args[3] = { s->a, s->b, s->c };
        last[i] = i;
        for (int k = 0; k < arity_of(s); k++)
            last[args[k]] = i;
    }
}

/* Values come first: their registers are made once for all pieces and are no other's. */
static int allot_values(hcy_eval_program *p, int *reg, const struct hcy__steps *all, const int *last)
{
    for (int i = 0; i < all->n; i++) {
        /* A number that was converted is a value of its own, and nobody reads the one before. */
        if (all->step[i].op != HCY_EVAL_VALUE || last[i] == i)
            continue;
        if (p->n_fixed == HCY_EVAL_REGISTERS)
            return -1;
        reg[i] = (int)p->n_fixed;
        p->steps[p->n_fixed] = all->step[i];
        p->steps[p->n_fixed].to = (uint16_t)p->n_fixed;
        p->n_fixed++;
    }
    p->n_steps = p->n_fixed;
    p->n_registers = p->n_fixed;
    return 0;
}

int hcy__steps_allot(hcy_eval_program *p, const struct hcy__steps *all)
{
    int reg[HCY_EVAL_STEPS] = { 0 }, last[HCY_EVAL_STEPS] = { 0 }, owner[HCY_EVAL_REGISTERS];
    memset(p, 0, sizeof *p);
    find_last_uses(last, all);
    int failed = allot_values(p, reg, all, last);
    /* HCY_EVAL_STEPS is behind every step: such an owner, a value, never gives its register up. */
    for (int k = 0; k < HCY_EVAL_REGISTERS; k++)
        owner[k] = k < (int)p->n_fixed ? HCY_EVAL_STEPS : -1;
    for (int i = 0; !failed && i < all->n; i++) {
        hcy_eval_step s = all->step[i];
        if (s.op == HCY_EVAL_VALUE)
            continue;
        int arity = arity_of(&s), k = 0;
        /* Of loads, stores and reductions b and c are components and their count, and no registers to be renamed. */
        bool has_memory = s.op == HCY_EVAL_LOAD || !makes_register(&s);
        if (arity)
            s.a = (uint16_t)reg[s.a];
        /* Arguments that an operation has not are its first: a loop must not write what it reads. */
        if (!has_memory && arity) {
            s.b = (uint16_t)(arity > 1 ? reg[s.b] : s.a);
            s.c = (uint16_t)(arity > 2 ? reg[s.c] : s.a);
        }
        if (makes_register(&s)) {
            /* A register is free once the step that read it last is past. */
            while (k < HCY_EVAL_REGISTERS && owner[k] >= 0 &&
                   (owner[k] == HCY_EVAL_STEPS || last[owner[k]] >= i))
                k++;
            failed = k == HCY_EVAL_REGISTERS;
            if (failed)
                break;
            owner[k] = i;
            reg[i] = k;
            s.to = (uint16_t)k;
            if (p->n_registers <= (uint32_t)k)
                p->n_registers = (uint32_t)k + 1;
        }
        p->reduces += s.op >= HCY_EVAL_FIRST_REDUCTION;
        p->scans += s.op >= HCY_EVAL_FIRST_SCAN && s.op < HCY_EVAL_FIRST_REDUCTION;
        p->steps[p->n_steps++] = s;
    }
    return failed ? hcy_fail(HCY_EUNSUPPORTED,
                             "\"%.200s\": more than %d numbers are needed at a time: cut it up",
                             all->tree->text, HCY_EVAL_REGISTERS)
                  : 0;
}
